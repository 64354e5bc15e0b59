/* failing.c - a library to be loaded before a program (LD_PRELOAD), in which one call of the system fails.
 *
 *     FAIL_CALLS=memory|files   which calls are counted: those that allocate, or those that write
 *     FAIL_AT=N                 the N-th of them fails, counted from 1 in each process
 *     FAIL_ON=1                 so do all behind it; files: of those that need room on a disk, and no others count
 *     FAIL_WITH=ERRNO           how it fails; memory: ENOMEM
 *     FAIL_LOG=FILE             gets the name of every call that failed
 *     FAIL_IN=NAME              in programs whose path ends so; else in all */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc's own names, so that nothing has to be looked up while memory fails. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

static long calls, fail_at;
static bool files, memory, on;
static int fail_with = ENOMEM;
static char log_path[4096];

static const char *given(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

__attribute__((constructor)) static void start(void)
{
    const char *in = given("FAIL_IN");
    char own[4096];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    size_t tail = strlen(in);

    if (length < 0 || (size_t)length < tail || strncmp(own + (size_t)length - tail, in, tail) != 0)
        return;
    files = strcmp(given("FAIL_CALLS"), "files") == 0;
    memory = strcmp(given("FAIL_CALLS"), "memory") == 0;
    fail_at = atol(given("FAIL_AT"));
    on = given("FAIL_ON")[0] == '1';
    if (files)
        fail_with = atoi(given("FAIL_WITH"));
    snprintf(log_path, sizeof log_path, "%s", given("FAIL_LOG"));
}

/* Whether this call fails; says so in the log, by calls that cannot. */
static bool fails(bool counted, const char *name)
{
    int handle;

    if (!counted || fail_at == 0)
        return false;
    calls++;
    if (on ? calls < fail_at : calls != fail_at)
        return false;
    handle = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (handle >= 0) {
        syscall(SYS_write, handle, name, strlen(name));
        syscall(SYS_write, handle, "\n", (size_t)1);
        syscall(SYS_close, handle);
    }
    errno = fail_with;
    return true;
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

void *malloc(size_t bytes)
{
    return fails(memory, "malloc") ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails(memory, "calloc") ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return fails(memory, "realloc") ? NULL : __libc_realloc(block, bytes);
}

int posix_memalign(void **block, size_t align, size_t bytes)
{
    void *made = fails(memory, "posix_memalign") ? NULL : __libc_memalign(align, bytes);

    if (!made)
        return ENOMEM;
    *block = made;
    return 0;
}

/* ---- files ------------------------------------------------------------------------------------------------ */

/* What fails before it does something; RESULT is what it returns then. */
#define FAILS_IF(counted, type, name, failure, parameters, arguments)                                        \
    type name parameters                                                                                     \
    {                                                                                                        \
        type(*real) parameters;                                                                              \
                                                                                                             \
        if (fails(counted, #name))                                                                           \
            return failure;                                                                                  \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                                           \
        return real arguments;                                                                               \
    }

#define GROWS(type, name, failure, parameters, arguments)                                                    \
    FAILS_IF(files, type, name, failure, parameters, arguments)
#define CHANGES(type, name, failure, parameters, arguments)                                                  \
    FAILS_IF(files && !on, type, name, failure, parameters, arguments)

GROWS(ssize_t, write, -1, (int file, const void *bytes, size_t count), (file, bytes, count))
GROWS(ssize_t, pwrite, -1, (int file, const void *bytes, size_t count, off_t at), (file, bytes, count, at))
CHANGES(int, rename, -1, (const char *from, const char *to), (from, to))
GROWS(int, link, -1, (const char *from, const char *to), (from, to))
CHANGES(int, unlink, -1, (const char *path), (path))
CHANGES(int, unlinkat, -1, (int folder, const char *path, int flags), (folder, path, flags))
GROWS(int, mkdir, -1, (const char *path, mode_t mode), (path, mode))
CHANGES(int, rmdir, -1, (const char *path), (path))
CHANGES(int, ftruncate, -1, (int file, off_t length), (file, length))
CHANGES(int, fchmod, -1, (int file, mode_t mode), (file, mode))
CHANGES(int, fsync, -1, (int file), (file))
GROWS(int, mkstemp, -1, (char *path), (path))
GROWS(char *, mkdtemp, NULL, (char *path), (path))

/* Standard output alone: what cannot be said on stderr cannot be said. */
size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file)
{
    size_t (*real)(const void *, size_t, size_t, FILE *);

    if (fails(files && file == stdout, "fwrite"))
        return 0;
    *(void **)&real = dlsym(RTLD_NEXT, "fwrite");
    return real(bytes, size, count, file);
}

int fflush(FILE *file)
{
    int (*real)(FILE *);

    if (fails(files && file == stdout, "fflush"))
        return EOF;
    *(void **)&real = dlsym(RTLD_NEXT, "fflush");
    return real(file);
}

int open(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...);
    va_list arguments;
    mode_t mode;

    if ((flags & O_ACCMODE) != O_RDONLY && fails(files, "open"))
        return -1;
    va_start(arguments, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    *(void **)&real = dlsym(RTLD_NEXT, "open");
    return real(path, flags, mode);
}

/* A close that fails has closed all the same. */
int close(int file)
{
    int (*real)(int);
    bool failed = fails(files, "close");

    *(void **)&real = dlsym(RTLD_NEXT, "close");
    if (real(file) != 0)
        return -1;
    if (failed)
        errno = fail_with;
    return failed ? -1 : 0;
}
