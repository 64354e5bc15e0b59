/* text.c - growing texts, JSON strings, numbers as Python prints them, and files read and written whole.
 * Apart, since it is the one place of the generator that touches the file system: what is half written
 * never shows. */
#define _POSIX_C_SOURCE 200809L

#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Texts -------------------------------------------------------------------------------------------------- */

struct text text_new(struct arena *arena)
{
    struct text text = {.arena = arena, .capacity = 64};

    text.data = arena_alloc(arena, text.capacity);
    return text;
}

/* Leaves room for `more` bytes and the 0 behind them. */
static void reserve(struct text *text, size_t more)
{
    if (more > SIZE_MAX / 4 || text->length > SIZE_MAX / 4)
        arena_out_of_memory();

    size_t needed = text->length + more + 1;

    if (needed <= text->capacity)
        return;

    size_t capacity = text->capacity ? text->capacity : 64;

    while (capacity < needed)
        capacity *= 2;
    text->data = arena_grow(text->arena, text->data, text->capacity, capacity, 1);
    text->capacity = capacity;
}

void text_add_bytes(struct text *text, const void *bytes, size_t count)
{
    reserve(text, count);
    if (count > 0)
        memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = 0;
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_printf(struct text *text, const char *format, ...)
{
    size_t room = text->capacity - text->length; /* mostly enough */
    va_list args;

    va_start(args, format);

    int length = vsnprintf(room > 0 ? text->data + text->length : NULL, room, format, args);

    va_end(args);
    if (length >= 0 && (size_t)length >= room) {
        reserve(text, (size_t)length);
        va_start(args, format);
        vsnprintf(text->data + text->length, (size_t)length + 1, format, args);
        va_end(args);
    }
    text->length += length > 0 ? (size_t)length : 0;
}

void text_style(struct text *text, enum style style)
{
    static const char *const codes[] = {
        [STYLE_PLAIN] = "0",      [STYLE_BOLD] = "1",     [STYLE_QUIET] = "2",    [STYLE_ERROR] = "1;31",
        [STYLE_WARNING] = "1;35", [STYLE_NOTE] = "1;36",  [STYLE_CARET] = "1;32", [STYLE_ADDED] = "32",
        [STYLE_REMOVED] = "31",   [STYLE_CHANGED] = "33",
    };

    if (text->color)
        text_printf(text, "\033[%sm", codes[style]);
}

void text_styled(struct text *text, enum style style, const char *string)
{
    text_style(text, style);
    text_add(text, string);
    text_style(text, STYLE_PLAIN);
}

/* Never reads behind the terminating 0: each byte is looked at only after the one before was in range. */
int text_utf8_length(const char *string)
{
    const unsigned char *s = (const unsigned char *)string;

    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4 || (s[1] & 0xc0) != 0x80)
        return 0;
    if (s[0] < 0xe0)
        return 2;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[2] & 0xc0) != 0x80)
        return 0;
    if (s[0] < 0xf0)
        return 3;
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f) || (s[3] & 0xc0) != 0x80)
        return 0;
    return 4;
}

void text_c_string(struct text *text, const char *string)
{
    text_add(text, "\"");
    for (; *string; string++) {
        if (*string == '"' || *string == '\\')
            text_printf(text, "\\%c", *string);
        else if (*string == '\n')
            text_add(text, "\\n");
        else
            text_add_bytes(text, string, 1);
    }
    text_add(text, "\"");
}

const char *text_in_comment(struct arena *arena, const char *string)
{
    struct text text = text_new(arena);

    if (!strstr(string, "*/") && !strstr(string, "/*"))
        return string;
    for (const char *c = string; *c; c++) {
        text_add_bytes(&text, c, 1);
        if ((c[0] == '*' && c[1] == '/') || (c[0] == '/' && c[1] == '*'))
            text_add(&text, " ");
    }
    return text.data;
}

void text_json_bytes(struct text *text, const char *bytes, size_t count)
{
    static const char *const shorts[32] = {
        ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t"};

    text_add(text, "\"");
    for (const unsigned char *s = (const unsigned char *)bytes, *end = s + count; s < end;) {
        int length = *s ? text_utf8_length((const char *)s) : 1;

        if (length == 0) { /* file names need not be UTF-8, JSON must be */
            text_add(text, "\\ufffd");
            length = 1;
        } else if (*s < 0x20 && shorts[*s]) {
            text_add(text, shorts[*s]);
        } else if (*s < 0x20 || *s == 0x7f) {
            text_printf(text, "\\u%04x", (unsigned)*s);
        } else {
            if (*s == '"' || *s == '\\')
                text_add(text, "\\");
            text_add_bytes(text, s, (size_t)length);
        }
        s += length;
    }
    text_add(text, "\"");
}

void text_json_string(struct text *text, const char *string)
{
    text_json_bytes(text, string, strlen(string));
}

bool text_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}

const char *text_upper(struct arena *arena, const char *text)
{
    char *out = arena_string(arena, text);

    for (char *c = out; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return out;
}

const char *text_bytes(struct arena *arena, int64_t bytes)
{
    const int64_t kilo = 1024, mega = kilo * kilo;
    int64_t unit = bytes < mega ? kilo : mega;

    if (bytes < kilo)
        return arena_format(arena, "%lld byte%s", (long long)bytes, bytes == 1 ? "" : "s");
    return arena_format(arena, bytes % unit == 0 ? "%.0f %cB" : "%.1f %cB", (double)bytes / (double)unit,
                        unit == kilo ? 'K' : 'M');
}

void text_double(struct text *text, double value)
{
    char digits[32];

    if (isnan(value) || isinf(value)) {
        text_add(text, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    for (int precision = 0; precision < 17; precision++) {
        snprintf(digits, sizeof digits, "%.*e", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }

    char *e = strchr(digits, 'e');
    int exponent = (int)strtol(e + 1, NULL, 10);

    if (exponent < -4 || exponent >= 16) {
        text_add_bytes(text, digits, (size_t)(e - digits));
        text_printf(text, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }

    /* The digits without sign and point, at most 17 of them, laid out around the point. */
    char plain[24] = {0};
    int count = 0;

    for (const char *d = digits; d < e; d++) {
        if (*d >= '0' && *d <= '9')
            plain[count++] = *d;
    }
    if (digits[0] == '-')
        text_add(text, "-");
    if (exponent < 0) {
        text_add(text, "0.");
        for (int i = -1; i > exponent; i--)
            text_add(text, "0");
        text_add(text, plain);
        return;
    }
    for (int i = 0; i <= exponent; i++)
        text_printf(text, "%c", i < count ? plain[i] : '0');
    text_printf(text, ".%s", count > exponent + 1 ? plain + exponent + 1 : "0");
}

uint64_t text_hash(const void *bytes, size_t count)
{
    const unsigned char *s = bytes;
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ s[i]) * 0x100000001b3u;
    return hash;
}

uint64_t text_hash_large(const void *bytes, size_t count)
{
    enum { lanes = 4, step = lanes * 8 };
    const char *s = bytes;
    uint64_t hashes[lanes + 1] = {1, 2, 3, 4, count};
    size_t i = 0;

    for (; i + step <= count; i += step) {
        for (int j = 0; j < lanes; j++) {
            uint64_t word;

            memcpy(&word, s + i + (size_t)j * 8, 8);
            hashes[j] = (hashes[j] ^ word) * 0x9e3779b97f4a7c15u;
            hashes[j] ^= hashes[j] >> 32;
        }
    }
    hashes[lanes] ^= text_hash(s + i, count - i);
    return text_hash(hashes, sizeof hashes);
}

/* Reading ------------------------------------------------------------------------------------------------ */

struct source *source_read(struct cx *cx, const char *path, size_t limit, const char **error)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    struct stat info;

    if (!file && errno == ENOMEM)
        arena_out_of_memory();
    if (!file) {
        *error = arena_format(&cx->arena, "cannot read '%s': %s", path, strerror(errno));
        return NULL;
    }
    if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
        *error = arena_format(&cx->arena, "cannot read '%s': it is a folder", path);
        if (!standard)
            fclose(file);
        return NULL;
    }

    struct text text = text_new(&cx->arena);
    size_t got = 0;

    do {
        reserve(&text, 64 * 1024);
        got = fread(text.data + text.length, 1, 64 * 1024, file);
        text.length += got;
    } while (got > 0 && text.length <= limit);
    text.data[text.length] = 0; /* reserve left room for it */

    int fault = ferror(file) ? (errno ? errno : EIO) : 0;

    if (!standard)
        fclose(file);
    if (fault || text.length > limit) {
        *error = fault ? arena_format(&cx->arena, "cannot read '%s': %s", path, strerror(fault))
                       : arena_format(&cx->arena, "'%s' is larger than %zu bytes", path, limit);
        return NULL;
    }

    struct source *source = ARENA_NEW(&cx->arena, struct source);

    source->name = arena_string(&cx->arena, path);
    source->text = text.data;
    source->length = text.length;
    return source;
}

void source_hint_pipe(struct cx *cx, const char *path)
{
    struct stat info;

    if (stat(path, &info) == 0 && S_ISFIFO(info.st_mode))
        diag_hint(cx, "what comes from a pipe can be written to a file first: its size is needed");
}

const char *source_beside(struct cx *cx, const struct source *source, const char *path)
{
    const char *slash = strrchr(source->name, '/');

    if (path[0] == '/')
        return path;
    if (slash)
        return arena_format(&cx->arena, "%.*s%s", (int)(slash - source->name) + 1, source->name, path);
    return strcmp(path, "-") == 0 ? "./-" : path; /* a file of that name, not standard input again */
}

void source_depend(struct cx *cx, const char *path)
{
    for (int i = 0; i < cx->read_count; i++)
        if (strcmp(cx->read[i], path) == 0)
            return;
    ARENA_PUSH(&cx->arena, cx->read, cx->read_count, path);
}

bool source_same(const char *path, const char *other)
{
    struct stat a, b;

    return strcmp(path, "-") != 0 && strcmp(other, "-") != 0 && stat(path, &a) == 0 && stat(other, &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Writing ------------------------------------------------------------------------------------------------ */

/* One file on its way. Names are NULL where there is no such file (any more). */
struct pending {
    const char *path;
    const char *temporary; /* the new bytes */
    const char *backup;    /* the old file, from the first rename on until all are done */
    bool placed;           /* the new bytes lie at `path` */
};

struct output {
    struct cx *cx;
    struct pending *files;
    int count;
    const char **folders; /* those that were made, outer before inner */
    int folder_count;
    const char **error;
};

static bool fault(struct output *out, const char *what, const char *path)
{
    *out->error = arena_format(&out->cx->arena, "cannot %s '%s': %s", what, path, strerror(errno));
    return false;
}

static bool make_folders(struct output *out, const char *path)
{
    char *part = arena_string(&out->cx->arena, path);

    for (char *s = part;; s++) {
        if ((*s != '/' && *s != 0) || s == part)
            continue;

        char end = *s;
        struct stat info;

        *s = 0;
        if (stat(part, &info) == 0) {
            if (!S_ISDIR(info.st_mode)) {
                *out->error = arena_format(&out->cx->arena,
                                           "cannot write into '%s': it is a file, not a folder", part);
                return false;
            }
        } else {
            const char *made = arena_string(&out->cx->arena, part);

            ARENA_PUSH(&out->cx->arena, out->folders, out->folder_count, made);
            if (mkdir(part, 0777) != 0) {
                out->folder_count--; /* another run may have made it just now */
                if (errno != EEXIST)
                    return fault(out, "make the folder", part);
            }
        }
        if (end == 0)
            return true;
        *s = end;
    }
}

/* Whether the file at `path` holds exactly these bytes. */
static bool holds(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "rb");
    const unsigned char *expected = bytes;
    unsigned char chunk[16 * 1024];
    size_t at = 0, got;
    bool same = file != NULL;

    while (same && (got = fread(chunk, 1, sizeof chunk, file)) > 0) {
        same = got <= length - at && memcmp(chunk, expected + at, got) == 0;
        at += got;
    }
    same = same && !ferror(file) && at == length;
    if (file)
        fclose(file);
    return same;
}

/* A name in the folder of `path` that no file has. The process id keeps two runs of modc apart. */
static const char *free_name(struct output *out, const char *path, const char *kind, int attempt)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;

    return arena_format(&out->cx->arena, "%.*s.%s.%s-%ld-%d", folder, path, path + folder, kind,
                        (long)getpid(), attempt);
}

static bool write_temporary(struct output *out, struct pending *pending, const void *bytes, size_t length,
                            mode_t mode)
{
    const char *name = NULL;
    int handle = -1;

    for (int attempt = 0; handle < 0 && attempt < 100; attempt++) {
        name = free_name(out, pending->path, "new", attempt);
        handle = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (handle < 0 && errno != EEXIST)
            break;
    }
    if (handle < 0)
        return fault(out, "write", pending->path);
    pending->temporary = name;

    const char *data = bytes;
    bool good = mode == 0 || fchmod(handle, mode) == 0;

    while (good && length > 0) {
        ssize_t wrote = write(handle, data, length);

        if (wrote < 0 && errno == EINTR)
            continue;
        good = wrote > 0;
        if (good) {
            data += wrote;
            length -= (size_t)wrote;
        }
    }

    int reason = errno;

    if (close(handle) != 0 && good) {
        good = false;
        reason = errno;
    }
    errno = reason;
    return good ? true : fault(out, "write", pending->path);
}

/* Puts the new bytes in place; the old file keeps its contents and times under the backup's name. */
static bool place(struct output *out, struct pending *pending)
{
    struct stat info;

    if (lstat(pending->path, &info) == 0) {
        const char *backup = free_name(out, pending->path, "old", 0);

        unlink(backup); /* of a run that was killed and had the same process id */
        if (link(pending->path, backup) != 0 && rename(pending->path, backup) != 0)
            return fault(out, "replace", pending->path);
        pending->backup = backup;
    }
    if (rename(pending->temporary, pending->path) != 0)
        return fault(out, "write", pending->path);
    pending->temporary = NULL;
    pending->placed = true;
    return true;
}

/* After a fault: everything as it was. */
static void undo(void *data)
{
    struct output *out = data;

    for (int i = out->count - 1; i >= 0; i--) {
        struct pending *pending = &out->files[i];

        if (pending->temporary)
            unlink(pending->temporary);
        if (pending->backup) {
            if (rename(pending->backup, pending->path) == 0) /* which leaves both where both name one file */
                unlink(pending->backup);
        } else if (pending->placed) {
            unlink(pending->path);
        }
    }
    for (int i = out->folder_count - 1; i >= 0; i--)
        rmdir(out->folders[i]);
}

/* Writes the new bytes under a temporary name, if the file at `path` has others. */
static bool prepare(struct output *out, const char *path, const struct output_file *file)
{
    struct arena *arena = &out->cx->arena;
    struct pending pending = {.path = path};
    const char *slash = strrchr(path, '/');
    struct stat info;
    bool exists;

    if (slash > path && !make_folders(out, arena_copy(arena, path, (size_t)(slash - path))))
        return false;
    exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        *out->error = arena_format(arena, "cannot write '%s': it is a folder", path);
        return false;
    }
    if (exists && holds(path, file->bytes, file->length))
        return true;
    ARENA_PUSH(arena, out->files, out->count, pending);
    return write_temporary(out, &out->files[out->count - 1], file->bytes, file->length,
                           exists ? info.st_mode & 0777 : 0);
}

static bool write_all(struct output *out, const char *folder, const struct output_file *files, int count,
                      const struct output_file *beside)
{
    if (!make_folders(out, folder))
        return false;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < i; k++)
            assert(strcmp(files[k].path, files[i].path) != 0);
        if (!prepare(out, arena_format(&out->cx->arena, "%s/%s", folder, files[i].path), &files[i]))
            return false;
    }
    if (beside && !prepare(out, beside->path, beside))
        return false;
    for (int i = 0; i < out->count; i++) {
        if (!place(out, &out->files[i]))
            return false;
    }
    return true;
}

bool output_write(struct cx *cx, const char *folder, const struct output_file *files, int count,
                  const char **error)
{
    return output_write_beside(cx, folder, files, count, NULL, error);
}

bool output_write_beside(struct cx *cx, const char *folder, const struct output_file *files, int count,
                         const struct output_file *beside, const char **error)
{
    struct output out = {.cx = cx, .error = error};
    struct arena_guard guard = {.run = undo, .data = &out};
    sigset_t ending, old;
    bool good;

    assert(folder[0] != 0);
    sigemptyset(&ending); /* whoever ends modc waits these milliseconds */
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigprocmask(SIG_BLOCK, &ending, &old);
    arena_guard(&guard);
    good = write_all(&out, folder, files, count, beside);
    arena_unguard(!good);
    for (int i = 0; good && i < out.count; i++)
        if (out.files[i].backup)
            unlink(out.files[i].backup);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return good;
}
