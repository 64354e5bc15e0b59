/* modc_host.c - what needs an operating system: files, maps, allocation. POSIX.
 *
 * Thin shells over the core, so that firmware can leave this file out. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
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
    int file = open(path, O_RDONLY | O_CLOEXEC);
    enum modc_status status = MODC_FILE;

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
    int file = open(path, O_WRONLY | O_CLOEXEC);

    if (file < 0)
        return false;

    bool good = write_all(file, bytes, length);

    return close(file) == 0 && good;
}

/* Through another name, so that nobody sees half a file and a full disk leaves the old one. */
static bool write_renamed(const char *path, char *other, const void *bytes, size_t length)
{
    mode_t mask = umask(0);

    umask(mask);

    int file = mkstemp(other);

    if (file < 0)
        return false;

    bool good = write_all(file, bytes, length) && fchmod(file, 0666 & ~mask) == 0;

    good = close(file) == 0 && good;
    good = good && rename(other, path) == 0;
    if (!good) {
        int error = errno;

        unlink(other);
        errno = error;
    }
    return good;
}

enum modc_status modc_write_file(const char *path, const void *bytes, size_t length)
{
    static const char ending[] = ".XXXXXX";
    struct stat info;

    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return write_through(path, bytes, length) ? MODC_OK : MODC_FILE;

    size_t path_length = strlen(path);
    char *other = malloc(path_length + sizeof ending);

    if (other == NULL)
        return MODC_MEMORY;
    memcpy(other, path, path_length);
    memcpy(other + path_length, ending, sizeof ending);

    bool good = write_renamed(path, other, bytes, length);

    free(other);
    return good ? MODC_OK : MODC_FILE;
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
    status = modc_load_bytes(params, bytes, length, flags, report);
    modc_unmap(bytes, length);
    return status;
}

enum modc_status modc_save(const struct modc_params *params, const char *path)
{
    size_t length;
    enum modc_status status = modc_save_bytes(params, NULL, 0, &length);

    if (status != MODC_OK)
        return status;

    char *bytes = malloc(length);

    if (bytes == NULL)
        return MODC_MEMORY;
    status = modc_save_bytes(params, bytes, length, &length);
    if (status == MODC_OK)
        status = modc_write_file(path, bytes, length);
    free(bytes);
    return status;
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

static void *allocate(size_t align, size_t bytes)
{
    void *block;

    return posix_memalign(&block, align, bytes > 0 ? bytes : align) == 0 ? block : NULL;
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
