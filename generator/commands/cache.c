/* cache.c - the compiled runtime of `modc run`; see cache.h.
 *
 * note [cached objects]
 * A folder of the cache is named for a hash of all that its objects are made of: the texts of the runtime, the words of the
 * compiler and which program that is, the machine where the words say `native`. Its file `stamp` has the same in full and, once all
 * objects are there, their sizes: so what somebody removed or cut is compiled again. Who reads objects shares a lock on the stamp, who
 * writes them or removes the folder has it alone, and nobody waits: who does not get it does without the cache. */
#define _POSIX_C_SOURCE 200809L

#include "commands/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { KEPT = 16 }; /* folders: some 1 MB each */

/* Flags that name files, which may change, or that make more than an object. */
static const char *const uncached[] = {"-I",
                                       "-i",
                                       "@",
                                       "-B",
                                       "-M",
                                       "-specs",
                                       "--specs",
                                       "-fprofile",
                                       "-fplugin",
                                       "-ftest-coverage",
                                       "--coverage",
                                       "-save-temps",
                                       "--sysroot",
                                       "-fsanitize-",
                                       "-fdump",
                                       "-Wp,",
                                       "-Xpreprocessor"};

/* ---- what objects are made of ----------------------------------------------------------------------------- */

/* modc_main.c has the model's name in it. */
bool cache_takes(const struct output_file *file)
{
    return (text_ends_with(file->path, ".c") || text_ends_with(file->path, ".cu")) &&
           strcmp(file->path, "modc_main.c") != 0;
}

static bool cacheable(const struct process *compilers, int compiler_count)
{
    for (int c = 0; c < compiler_count; c++)
        for (int i = 1; compilers[c].words[i]; i++)
            for (int k = 0; k < COUNT(uncached); k++)
                if (strncmp(compilers[c].words[i], uncached[k], strlen(uncached[k])) == 0)
                    return false;
    return true;
}

/* Which program a word is, if it is one: an update has another size or time. */
static void add_program(struct cx *cx, struct text *text, const char *word)
{
    const char *program = word[0] == '-' ? NULL : process_find(cx, word);
    struct stat info;

    if (!program && word[0] != '-') /* a file */
        program = word;
    if (program && stat(program, &info) == 0 && S_ISREG(info.st_mode))
        text_printf(text, "%s %lld %lld.%09ld\n", program, (long long)info.st_size,
                    (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

/* What -march=native depends on. */
static void add_processor(struct cx *cx, struct text *text)
{
    static const char *const rows[] = {"model name",      "flags",    "Features",
                                       "CPU implementer", "CPU part", "isa"};
    const char *error = NULL;
    const struct source *info = source_read(cx, "/proc/cpuinfo", (size_t)1 << 24, &error);
    struct utsname machine;

    if (!info && uname(&machine) == 0) /* as good as there is */
        text_printf(text, "%s\n", machine.nodename);
    for (int i = 0; info && i < COUNT(rows); i++) {
        const char *row = strstr(info->text, rows[i]);

        if (row)
            text_printf(text, "%.*s\n", (int)strcspn(row, "\n"), row);
    }
}

/* And nvcc's -arch=native. */
static void add_gpus(struct cx *cx, struct text *text)
{
    static const char gpus[] = "/proc/driver/nvidia/gpus";
    DIR *folder = opendir(gpus);
    const struct dirent *entry;

    while (folder && (entry = readdir(folder)) != NULL) {
        const char *path = arena_format(&cx->arena, "%s/%s/information", gpus, entry->d_name), *error = NULL;
        const struct source *info = source_read(cx, path, (size_t)1 << 20, &error);

        text_printf(text, "%.*s\n", info ? (int)strcspn(info->text, "\n") : 0, info ? info->text : "");
    }
    if (folder)
        closedir(folder);
}

static const char *make_stamp(struct cx *cx, const struct output_file *runtime, int count,
                              const struct process *compilers, int compiler_count)
{
    static const char *const variables[] = {
        "CPATH",           "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH",
        "GCC_EXEC_PREFIX", "NVCC_CCBIN",     "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"};
    struct text text = text_new(&cx->arena);
    struct utsname machine;
    bool native = false, gpu = false;

    for (int c = 0; c < compiler_count; c++) {
        for (int i = 0; compilers[c].words[i]; i++) {
            text_printf(&text, "%s\n", compilers[c].words[i]);
            add_program(cx, &text, compilers[c].words[i]);
            native = native || strstr(compilers[c].words[i], "native");
            gpu = gpu || strcmp(compilers[c].words[i], "-arch=native") == 0;
        }
    }
    for (int i = 0; i < COUNT(variables); i++)
        if (getenv(variables[i]))
            text_printf(&text, "%s=%s\n", variables[i], getenv(variables[i]));
    if (uname(&machine) == 0)
        text_printf(&text, "%s %s\n", machine.sysname, machine.machine);
    if (native)
        add_processor(cx, &text);
    if (gpu)
        add_gpus(cx, &text);
    for (int i = 0; i < count; i++)
        text_printf(&text, "%016llx %s\n", (unsigned long long)text_hash(runtime[i].bytes, runtime[i].length),
                    runtime[i].path);
    return text.data;
}

/* ---- the folder ------------------------------------------------------------------------------------------- */

/* NULL: the user has none. */
static const char *find_root(struct cx *cx)
{
    const char *own = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (own && own[0] == '/')
        return arena_format(&cx->arena, "%s/modc", own);
    return home && home[0] == '/' ? arena_format(&cx->arena, "%s/.cache/modc", home) : NULL;
}

static bool try_lock(int file, short type)
{
    struct flock wish = {.l_type = type, .l_whence = SEEK_SET};

    return fcntl(file, F_SETLK, &wish) == 0;
}

/* The stamp of a folder whose objects are there. */
static const char *whole_stamp(struct cx *cx, const struct cache *cache)
{
    struct text text = text_new(&cx->arena);

    text_add(&text, cache->stamp);
    for (int i = 0; i < cache->count; i++) {
        struct stat info;

        if (stat(cache->objects[i], &info) != 0)
            return "";
        text_printf(&text, "%lld bytes\n", (long long)info.st_size);
    }
    return text.data;
}

static bool is_fresh(struct cx *cx, const struct cache *cache)
{
    const char *expected = whole_stamp(cx, cache);
    size_t length = strlen(expected);
    char *found = arena_alloc(&cx->arena, length + 1);

    return length > 0 && pread(cache->file, found, length + 1, 0) == (ssize_t)length &&
           memcmp(found, expected, length) == 0;
}

const char *cache_object(struct cx *cx, const struct cache *cache, const struct output_file *file)
{
    return arena_format(&cx->arena, "%s/%s.o", cache->folder, file->path);
}

struct cache cache_open(struct cx *cx, const struct output_file *runtime, int count, int included,
                        const struct process *compilers, int compiler_count)
{
    const char *root = cacheable(compilers, compiler_count) ? find_root(cx) : NULL, *error = NULL;
    struct cache cache = {.file = -1};
    uint64_t key;

    if (!root)
        return cache;
    cache.stamp = make_stamp(cx, runtime, count, compilers, compiler_count);
    key = text_hash(cache.stamp, strlen(cache.stamp));
    cache.folder = arena_format(&cx->arena, "%s/%016llx", root, (unsigned long long)key);
    for (int i = included; i < count; i++)
        if (cache_takes(&runtime[i]))
            ARENA_PUSH(&cx->arena, cache.objects, cache.count, cache_object(cx, &cache, &runtime[i]));

    if (output_write(cx, cache.folder, NULL, 0, &error))
        cache.file = open(arena_format(&cx->arena, "%s/stamp", cache.folder), O_RDWR | O_CREAT | O_CLOEXEC,
                          0666);
    if (cache.file >= 0 && try_lock(cache.file, F_RDLCK)) {
        cache.fresh = is_fresh(cx, &cache);
        if (cache.fresh)
            futimens(cache.file, NULL); /* it was used */
        else if (!try_lock(cache.file, F_WRLCK) || ftruncate(cache.file, 0) != 0 ||
                 !output_write(cx, cache.folder, runtime, count, &error))
            cache_close(&cache);
    } else {
        cache_close(&cache);
    }
    return cache;
}

void cache_close(struct cache *cache)
{
    if (cache->file >= 0)
        close(cache->file);
    cache->file = -1;
    cache->folder = NULL;
}

/* ---- keeping ---------------------------------------------------------------------------------------------- */

/* All of a folder whose stamp nobody has locked. */
static void remove_folder(struct cx *cx, const char *path)
{
    const char *stamp = arena_format(&cx->arena, "%s/stamp", path);
    int file = open(stamp, O_RDWR | O_CLOEXEC);
    DIR *folder = file >= 0 && try_lock(file, F_WRLCK) ? opendir(path) : NULL;

    if (folder) {
        process_clear_folder(folder);
        closedir(folder);
    }
    rmdir(path);
    if (file >= 0)
        close(file);
}

/* The folder that was used last stands first. */
static void remove_oldest(struct cx *cx, const char *root)
{
    struct {
        const char *path;
        struct timespec used;
    } found[KEPT], other;
    DIR *folder = opendir(root);
    const struct dirent *entry;
    int count = 0;

    while (folder && (entry = readdir(folder)) != NULL) {
        struct stat info;

        other.path = arena_format(&cx->arena, "%s/%s", root, entry->d_name);
        if (strlen(entry->d_name) != 16 || stat(arena_format(&cx->arena, "%s/stamp", other.path), &info) != 0)
            continue;
        other.used = info.st_mtim;
        for (int i = 0; i < count; i++) {
            if (found[i].used.tv_sec > other.used.tv_sec ||
                (found[i].used.tv_sec == other.used.tv_sec && found[i].used.tv_nsec >= other.used.tv_nsec))
                continue;

            const char *path = found[i].path;
            struct timespec used = found[i].used;

            found[i].path = other.path;
            found[i].used = other.used;
            other.path = path;
            other.used = used;
        }
        if (count < KEPT) {
            found[count].path = other.path;
            found[count++].used = other.used;
        } else {
            remove_folder(cx, other.path);
        }
    }
    if (folder)
        closedir(folder);
}

void cache_keep(struct cx *cx, struct cache *cache)
{
    const char *stamp = whole_stamp(cx, cache);
    size_t length = strlen(stamp);

    if (pwrite(cache->file, stamp, length, 0) != (ssize_t)length && ftruncate(cache->file, 0) != 0)
        unlink(arena_format(&cx->arena, "%s/stamp", cache->folder));
    remove_oldest(
        cx, arena_copy(&cx->arena, cache->folder, (size_t)(strrchr(cache->folder, '/') - cache->folder)));
}
