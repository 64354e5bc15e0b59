/* modc_host.c - what needs an operating system: files, maps, allocation. POSIX.
 *
 * Thin shells over the core, so that firmware can leave this file out. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* madvise; and with it all of POSIX */
#endif
#include "modc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files --------------------------------------------------------------------------------------------- */

enum modc_status modc_map(const char *path, const void **bytes, size_t *length)
{
    struct stat info;
    enum modc_status status = MODC_FILE;

    /* before it is opened: a pipe would wait for a writer, and a device do something */
    if (stat(path, &info) != 0)
        return MODC_FILE;
    if (!S_ISREG(info.st_mode)) {
        errno = EINVAL;
        return MODC_FILE;
    }

    int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return MODC_FILE;
    *bytes = "";
    *length = 0;
    if (fstat(file, &info) == 0) {
        if (!S_ISREG(info.st_mode)) {
            errno = EINVAL;
        } else if (info.st_size == 0) {
            status = MODC_OK; /* which no map can have */
        } else {
            void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);

            if (map != MAP_FAILED) {
                *bytes = map;
                *length = (size_t)info.st_size;
                status = MODC_OK;
            }
        }
    }

    int error = errno;

    close(file);
    errno = error;
    return status;
}

void modc_unmap(const void *bytes, size_t length)
{
    if (length > 0)
        munmap((void *)(uintptr_t)bytes, length);
}

static bool write_all(int file, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(file, bytes, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

/* A device or a pipe cannot be replaced by renaming. */
static bool write_through(const char *path, const void *bytes, size_t length)
{
    int file = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

    if (file < 0)
        return false;

    bool good = write_all(file, bytes, length);

    return close(file) == 0 && good;
}

enum { LONGEST_PATH = 4096, LONGEST_ENDING = 64 };

/* Length of the folder of a path with its slash; 0: it is a name alone. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* Where symbolic links lead, so that they stay links; the file need not be there. False: errno says why. */
static bool follow_links(const char *path, char target[LONGEST_PATH])
{
    char link[LONGEST_PATH];
    size_t length = strlen(path);

    if (length >= LONGEST_PATH) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(target, path, length + 1);
    for (int links = 0; links < 40; links++) {
        ssize_t got = readlink(target, link, sizeof link);
        size_t folder = got > 0 && link[0] == '/' ? 0 : folder_length(target);

        if (got < 0)
            return errno == EINVAL || errno == ENOENT; /* no link, or nothing */
        if (folder + (size_t)got >= LONGEST_PATH) {
            errno = ENAMETOOLONG;
            return false;
        }
        memcpy(target + folder, link, (size_t)got);
        target[folder + (size_t)got] = '\0';
    }
    errno = ELOOP;
    return false;
}

/* A new file beside `path`, of a name that nobody else has, for other threads and processes write too. A new file gets the mode that
 * the process gives to files; what replaces one is for its owner alone until keep_mode. */
static int open_beside(const char *path, bool replaces, char other[LONGEST_PATH + LONGEST_ENDING])
{
    int file = -1;

    for (int i = 0; file < 0 && i < 10000; i++) {
        snprintf(other, LONGEST_PATH + LONGEST_ENDING, "%s.%ld-%d.new", path, (long)getpid(), i);
        file = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? 0600 : 0666);
        if (file < 0 && errno != EEXIST)
            break;
    }
    return file;
}

/* Mode and owner of the file that this one takes the place of. Of a group that cannot be given, its members get no more than all. */
static bool keep_mode(int file, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;
    struct stat own;

    if (fstat(file, &own) != 0)
        return false;
    if ((own.st_uid != old->st_uid || own.st_gid != old->st_gid) &&
        fchown(file, old->st_uid, old->st_gid) != 0)
        mode = (mode & 0707) | (mode & 7) << 3;
    return fchmod(file, mode) == 0;
}

/* What renaming changed is on the disk when the folder is. Some file systems know no such thing. */
static bool sync_folder(char *path)
{
    path[folder_length(path)] = '\0';

    int folder = open(path[0] != '\0' ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0)
        return errno == EACCES; /* files may be made in it, but it may not be read */

    bool good = fsync(folder) == 0 || errno == EINVAL || errno == ENOTSUP;
    int error = errno;

    close(folder);
    errno = error;
    return good;
}

/* Through another name, so that nobody sees half a file, and a full disk or a machine that stops leaves the old one. */
static bool write_renamed(char *path, const struct stat *old, const void *bytes, size_t length)
{
    char other[LONGEST_PATH + LONGEST_ENDING];
    int file = open_beside(path, old != NULL, other);

    if (file < 0)
        return false;

    bool good = write_all(file, bytes, length) && (old == NULL || keep_mode(file, old)) && fsync(file) == 0;
    int error = errno;

    if (close(file) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && rename(other, path) == 0)
        return sync_folder(path);
    if (good)
        error = errno;
    unlink(other);
    errno = error;
    return false;
}

enum modc_status modc_write_file(const char *path, const void *bytes, size_t length)
{
    char target[LONGEST_PATH];
    struct stat info;
    bool there = stat(path, &info) == 0;

    if (!there && errno != ENOENT)
        return MODC_FILE;
    if (there && !S_ISREG(info.st_mode))
        return write_through(path, bytes, length) ? MODC_OK : MODC_FILE;
    if (!follow_links(path, target))
        return MODC_FILE;
    if (there && stat(target, &info) != 0) {
        errno = EINVAL; /* a link of /proc to what has no name any more */
        return MODC_FILE;
    }
    return write_renamed(target, there ? &info : NULL, bytes, length) ? MODC_OK : MODC_FILE;
}

enum modc_status modc_load(struct modc_params *params, const char *path, unsigned flags,
                           struct modc_report *report)
{
    const void *bytes;
    size_t length;
    enum modc_status status = (flags & MODC_ASSIGN) != 0 ? MODC_ARGUMENT : modc_map(path, &bytes, &length);

    if (status != MODC_OK) {
        if (report != NULL) {
            memset(report, 0, sizeof *report);
            report->status = status;
        }
        return status;
    }

    size_t memory_bytes = modc_reader_index_bytes(bytes, length);
    void *memory = malloc(memory_bytes); /* what is NULL makes it slower */

    status = modc_load_indexed(params, bytes, length, flags, memory, memory_bytes, report);
    free(memory);
    modc_unmap(bytes, length);
    return status;
}

enum modc_status modc_write_made(const char *path, modc_make_file *make, const void *of)
{
    size_t length;
    enum modc_status status = make(of, NULL, 0, &length);

    if (status != MODC_OK)
        return status;

    char *bytes = malloc(length);

    if (bytes == NULL)
        return MODC_MEMORY;
    status = make(of, bytes, length, &length);
    if (status == MODC_OK)
        status = modc_write_file(path, bytes, length);
    free(bytes);
    return status;
}

static enum modc_status make_weights(const void *params, void *out, size_t capacity, size_t *length)
{
    return modc_save_bytes(params, out, capacity, length);
}

enum modc_status modc_save(const struct modc_params *params, const char *path)
{
    return modc_write_made(path, make_weights, params);
}

/* ---- allocation ---------------------------------------------------------------------------------------- */

static size_t rounded_up(size_t bytes, size_t align)
{
    return (bytes + align - 1) / align * align;
}

static size_t align_of(const struct modc_model *model)
{
    return model->align > MODC_ALIGN ? model->align : MODC_ALIGN;
}

enum { HUGE_PAGE = 2 << 20 };

/* What is large lies in huge pages, where the system has them for who asks: weights that are read once a call come a quarter
 * faster from these, since a small page is another walk through the tables every 4 KiB. */
static void *allocate(size_t align, size_t bytes)
{
    bool large = bytes >= 2 * (size_t)HUGE_PAGE;
    void *block;

    if (posix_memalign(&block, large && align < HUGE_PAGE ? HUGE_PAGE : align, bytes > 0 ? bytes : align) !=
        0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (large)
        (void)madvise(block, bytes, MADV_HUGEPAGE); /* a kernel without them refuses, and all is as it was */
#endif
    return block;
}

enum modc_status modc_params_create(const struct modc_model *model, struct modc_params **params)
{
    size_t align = align_of(model);
    size_t head = rounded_up(model->params_bytes, align), block = rounded_up(model->param_block, align);
    char *all = allocate(align, head + block + model->packed_block);

    if (all == NULL)
        return MODC_MEMORY;
    memset(all, 0, head + block);

    struct modc_params *made = (struct modc_params *)(void *)all;
    enum modc_status status = modc_bind(made, model, all + head, block);

    if (status != MODC_OK) {
        free(all);
        return status;
    }
    made->packed = model->packed_block > 0 ? all + head + block : NULL;
    *params = made;
    return MODC_OK;
}

void modc_params_destroy(struct modc_params *params)
{
    free(params);
}

size_t modc_workspace(const struct modc_model *model)
{
    size_t most = model->state_block;

    for (int i = 0; i < model->entry_count; i++) {
        for (int mode = 0; mode < MODC_MODES; mode++) {
            const struct modc_entry *entry = &model->entries[i];

            most = entry->workspace[mode] > most ? entry->workspace[mode] : most;
            most = entry->fenced_workspace[mode] > most ? entry->fenced_workspace[mode] : most;
            most = entry->backward_workspace[mode] > most ? entry->backward_workspace[mode] : most;
            most = entry->backward_workspace[MODC_MODES + mode] > most
                       ? entry->backward_workspace[MODC_MODES + mode]
                       : most;
        }
    }
    return most;
}

enum modc_status modc_create(const struct modc_model *model, struct modc_params *params, size_t workspace,
                             struct modc_context **net)
{
    size_t align = align_of(model), head = rounded_up(model->context_bytes, align);
    size_t bytes = workspace > 0 ? workspace : modc_workspace(model);
    char *all = allocate(align, head + bytes);

    if (all == NULL)
        return MODC_MEMORY;

    struct modc_context *made = (struct modc_context *)(void *)all;
    enum modc_status status = modc_init(made, model, params, all + head, bytes);

    if (status != MODC_OK) {
        free(all);
        return status;
    }
    *net = made;
    return MODC_OK;
}

void modc_destroy(struct modc_context *net)
{
    free(net);
}
