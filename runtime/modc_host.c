/* modc_host.c - what needs an operating system: files, maps, allocation. POSIX, or Windows.
 *
 * Thin shells over the core, so that firmware can leave this file out. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* madvise; and with it all of POSIX */
#endif
#include "modc_device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined _WIN32
#include <malloc.h>
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

enum { LONGEST_PATH = 4096, LONGEST_ENDING = 64 };

#if defined _WIN32
/* ---- files of Windows ------------------------------------------------------------------------------------ */

/* errno for what the system said last. */
static void tell_error(void)
{
    static const struct {
        DWORD code;
        int error;
    } errors[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},    {ERROR_PATH_NOT_FOUND, ENOENT},
        {ERROR_INVALID_NAME, ENOENT},      {ERROR_ACCESS_DENIED, EACCES},
        {ERROR_SHARING_VIOLATION, EACCES}, {ERROR_WRITE_PROTECT, EACCES},
        {ERROR_DISK_FULL, ENOSPC},         {ERROR_HANDLE_DISK_FULL, ENOSPC},
        {ERROR_FILE_EXISTS, EEXIST},       {ERROR_ALREADY_EXISTS, EEXIST},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM}, {ERROR_OUTOFMEMORY, ENOMEM},
        {ERROR_COMMITMENT_LIMIT, ENOMEM},  {ERROR_BUFFER_OVERFLOW, ENAMETOOLONG},
    };
    const DWORD code = GetLastError();

    errno = EIO;
    for (int i = 0; i < MODC_ROWS(errors); i++)
        if (errors[i].code == code)
            errno = errors[i].error;
}

static bool is_folder(const char *path)
{
    const DWORD attributes = GetFileAttributesA(path);

    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

enum modc_status modc_map(const char *path, const void **bytes, size_t *length)
{
    HANDLE file, map = NULL;
    LARGE_INTEGER size;
    bool good;

    if (is_folder(path)) {
        errno = EINVAL;
        return MODC_FILE;
    }
    file = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                       FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        tell_error();
        return MODC_FILE;
    }
    *bytes = "";
    *length = 0;
    if (GetFileType(file) != FILE_TYPE_DISK) {
        CloseHandle(file);
        errno = EINVAL;
        return MODC_FILE;
    }
    good = GetFileSizeEx(file, &size) != 0;
    if (good && size.QuadPart > 0) { /* which an empty map cannot be made of */
        const void *view = NULL;

        map = CreateFileMappingA(file, NULL, PAGE_READONLY, 0, 0, NULL);
        if (map != NULL)
            view = MapViewOfFile(map, FILE_MAP_READ, 0, 0, 0);
        good = view != NULL;
        if (good) {
            *bytes = view;
            *length = (size_t)size.QuadPart;
        }
    }
    if (!good)
        tell_error();
    if (map != NULL)
        CloseHandle(map);
    CloseHandle(file);
    return good ? MODC_OK : MODC_FILE;
}

void modc_unmap(const void *bytes, size_t length)
{
    if (length > 0)
        UnmapViewOfFile(bytes);
}

/* False: errno says why. */
static bool write_all(HANDLE file, const char *bytes, size_t length)
{
    enum { MOST = 1 << 30 }; /* of what a call counts in 32 bits */

    while (length > 0) {
        DWORD written;

        if (!WriteFile(file, bytes, length < MOST ? (DWORD)length : MOST, &written, NULL) || written == 0) {
            tell_error();
            return false;
        }
        bytes += written;
        length -= written;
    }
    return true;
}

/* Where the file lies that a link leads to, so that it stays a link; of a console or a pipe that it was written. False: errno says
 * why. */
static bool find_target(const char *path, const void *bytes, size_t length, char target[LONGEST_PATH],
                        bool *done)
{
    HANDLE file = CreateFileA(path, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                              NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    bool good = true;

    *done = false;
    if (strlen(path) >= LONGEST_PATH) {
        errno = ENAMETOOLONG;
        good = false;
    } else if (file == INVALID_HANDLE_VALUE) {
        tell_error();
        good = errno == ENOENT; /* a new file */
        strcpy(target, path);
    } else if (GetFileType(file) != FILE_TYPE_DISK) {
        *done = good = write_all(file, bytes, length);
    } else {
        const DWORD count = GetFinalPathNameByHandleA(file, target, LONGEST_PATH, 0);

        if (count == 0 || count >= LONGEST_PATH) /* of file systems without such names */
            strcpy(target, path);
    }
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    return good;
}

/* Through another name, so that nobody sees half a file, and a full disk or a machine that stops leaves the old one. */
enum modc_status modc_write_file(const char *path, const void *bytes, size_t length)
{
    char target[LONGEST_PATH], other[LONGEST_PATH + LONGEST_ENDING];
    HANDLE file = INVALID_HANDLE_VALUE;
    bool good, done;
    int error;

    if (is_folder(path)) {
        errno = EISDIR;
        return MODC_FILE;
    }
    if (!find_target(path, bytes, length, target, &done))
        return MODC_FILE;
    if (done)
        return MODC_OK;
    for (int i = 0; file == INVALID_HANDLE_VALUE && i < 10000; i++) {
        snprintf(other, sizeof other, "%s.%lu-%d.new", target, (unsigned long)GetCurrentProcessId(), i);
        file = CreateFileA(other, GENERIC_WRITE, 0, NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
        if (file == INVALID_HANDLE_VALUE && GetLastError() != ERROR_FILE_EXISTS)
            break;
    }
    if (file == INVALID_HANDLE_VALUE) {
        tell_error();
        return MODC_FILE;
    }
    good = write_all(file, bytes, length);
    if (good && !FlushFileBuffers(file)) {
        tell_error();
        good = false;
    }
    CloseHandle(file);
    if (good && MoveFileExA(other, target, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
        return MODC_OK;
    if (good)
        tell_error();
    error = errno;
    DeleteFileA(other);
    errno = error;
    return MODC_FILE;
}

static void *allocate(size_t align, size_t bytes)
{
    return _aligned_malloc(bytes > 0 ? bytes : align, align);
}

static void release(void *block)
{
    _aligned_free(block);
}

#else
/* ---- files of POSIX -------------------------------------------------------------------------------------- */

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

static void release(void *block)
{
    free(block);
}
#endif

/* ---- files of weights ------------------------------------------------------------------------------------ */

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

enum modc_status modc_params_create_over(const struct modc_model *model, void *block, size_t bytes,
                                         struct modc_params **params)
{
    if (model->device != NULL)
        return model->device->params_create(model, block, bytes, params);

    size_t align = align_of(model), head = rounded_up(model->params_bytes, align);
    size_t own = block == NULL ? rounded_up(model->param_block, align) : 0;
    char *all = allocate(align, head + own + model->packed_block);

    if (all == NULL)
        return MODC_MEMORY;
    memset(all, 0, head + own);

    struct modc_params *made = (struct modc_params *)(void *)all;
    enum modc_status status = block == NULL ? modc_bind(made, model, all + head, own)
                                            : modc_bind(made, model, block, bytes);

    if (status != MODC_OK) {
        release(all);
        return status;
    }
    made->packed = model->packed_block > 0 ? all + head + own : NULL;
    *params = made;
    return MODC_OK;
}

enum modc_status modc_params_create(const struct modc_model *model, struct modc_params **params)
{
    return modc_params_create_over(model, NULL, 0, params);
}

void modc_params_destroy(struct modc_params *params)
{
    if (params != NULL && params->model != NULL && params->model->device != NULL)
        params->model->device->params_destroy(params);
    else
        release(params);
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
    if (model->device != NULL)
        return model->device->create(model, params, workspace, net);

    size_t align = align_of(model), head = rounded_up(model->context_bytes, align);
    size_t bytes = workspace > 0 ? workspace : modc_workspace(model);
    char *all = allocate(align, head + bytes);

    if (all == NULL)
        return MODC_MEMORY;

    struct modc_context *made = (struct modc_context *)(void *)all;
    enum modc_status status = modc_init(made, model, params, all + head, bytes);

    if (status != MODC_OK) {
        release(all);
        return status;
    }
    *net = made;
    return MODC_OK;
}

void modc_destroy(struct modc_context *net)
{
    if (net != NULL && net->model != NULL && net->model->device != NULL)
        net->model->device->destroy(net);
    else
        release(net);
}

enum modc_status modc_training_create(struct modc_context *net, struct modc_training **training)
{
    const struct modc_model *model = net->model;
    size_t align = align_of(model), head = rounded_up(model->training_bytes, align);
    size_t bytes = model->training_init != NULL ? model->training_block : model->gradient_block;
    char *all;
    enum modc_status status;

    if (model->training_bytes == 0)
        return MODC_UNSUPPORTED;
    if (model->device != NULL)
        return model->device->training_create(net, training);
    all = allocate(align, head + bytes);
    if (all == NULL)
        return MODC_MEMORY;
    memset(all, 0, head + bytes);

    struct modc_training *made = (struct modc_training *)(void *)all;

    status = model->training_init != NULL ? model->training_init(made, net, all + head, bytes)
                                          : modc_training_init(made, net, all + head, bytes);
    if (status != MODC_OK) {
        release(all);
        return status;
    }
    *training = made;
    return MODC_OK;
}

void modc_training_destroy(struct modc_training *training)
{
    if (training != NULL && training->net->trainer == training) {
        training->net->trainer = NULL;
        training->net->saved = 0;
    }
    if (training != NULL && training->model->device != NULL)
        training->model->device->training_destroy(training);
    else
        release(training);
}
