/* process.c - starts and waits for child processes; see process.h.
 *
 * note [signals]
 * Ctrl-C reaches modc and its children alike; kill reaches modc alone. Either way modc has a folder to remove, so a
 * handler remembers the signal, and process_run passes it on and waits until the children are gone. All signals that
 * matter are blocked but for the one sigsuspend, so that none can come between a look and the sleep behind it. */
#define _POSIX_C_SOURCE 200809L

#include "commands/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/text.h"
#include "commands/options.h"

static volatile sig_atomic_t told_to_end; /* the signal */

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

static void remember(int number)
{
    if (number != SIGCHLD)
        told_to_end = number;
}

static void hold_signals(void)
{
    struct sigaction action, old;

    memset(&action, 0, sizeof action);
    action.sa_handler = remember;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < COUNT(ending); i++)
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
    sigaction(SIGCHLD, &action, NULL);
}

void process_end(void)
{
    struct sigaction action;

    progress_end();
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    sigemptyset(&action.sa_mask);
    sigaction(told_to_end, &action, NULL);
    raise(told_to_end);
    _exit(128 + told_to_end);
}

/* ---- words ------------------------------------------------------------------------------------------------ */

static int word_count(const struct process *process)
{
    int count = 0;

    while (process->words && process->words[count])
        count++;
    return count;
}

void process_word(struct cx *cx, struct process *process, const char *word)
{
    int count = word_count(process);

    process->words = arena_grow(&cx->arena, process->words, (size_t)count, (size_t)count + 2,
                                sizeof *process->words);
    process->words[count] = word;
}

void process_words(struct cx *cx, struct process *process, const char *text)
{
    char *word = arena_alloc(&cx->arena, strlen(text) + 1);
    size_t length = 0;
    bool inside = false;
    char quote = 0;

    for (;; text++) {
        if (!*text || (!quote && strchr(" \t\n", *text))) {
            if (inside) {
                process_word(cx, process, arena_copy(&cx->arena, word, length));
                length = 0;
                inside = false;
            }
            if (!*text)
                return;
            continue;
        }
        inside = true;
        if (*text == quote)
            quote = 0;
        else if (!quote && (*text == '"' || *text == '\''))
            quote = *text;
        else if (*text == '\\' && quote != '\'' && text[1])
            word[length++] = *++text;
        else
            word[length++] = *text;
    }
}

const char *process_find(struct cx *cx, const char *word)
{
    const char *path = getenv("PATH");

    if (strchr(word, '/'))
        return access(word, X_OK) == 0 ? word : NULL;
    for (const char *end; path; path = end ? end + 1 : NULL) {
        end = strchr(path, ':');

        const int length = end ? (int)(end - path) : (int)strlen(path);
        const char *whole = arena_format(&cx->arena, "%.*s/%s", length, path, word);

        if (access(whole, X_OK) == 0)
            return whole;
    }
    return NULL;
}

/* ---- children --------------------------------------------------------------------------------------------- */

/* In the child; returns with errno where it cannot go on. */
static void become(const struct process *process, const sigset_t *mask)
{
    if (process->said) {
        int file = open(process->said, O_WRONLY | O_CREAT | O_TRUNC, 0666);

        if (file < 0 || dup2(file, 1) < 0 || dup2(file, 2) < 0)
            return;
        if (file > 2)
            close(file);
    }
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(process->words[0], (char *const *)(uintptr_t)process->words);
}

/* The child's id, or -1 with process->error set. The pipe tells of an exec that failed: it closes if it did not. */
static pid_t start(struct process *process, const sigset_t *mask)
{
    int ends[2];
    pid_t pid;

    process->error = process->signal = process->status = 0;
    if (pipe(ends) != 0) {
        process->error = errno;
        return -1;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid = fork();
    if (pid == 0) {
        int reason;

        become(process, mask);
        reason = errno;
        while (write(ends[1], &reason, sizeof reason) < 0 && errno == EINTR)
            continue;
        _exit(127);
    }
    if (pid < 0)
        process->error = errno;
    close(ends[1]);
    if (pid > 0) {
        ssize_t got;

        do
            got = read(ends[0], &process->error, sizeof process->error);
        while (got < 0 && errno == EINTR);
        if (got == (ssize_t)sizeof process->error) {
            waitpid(pid, NULL, 0);
            pid = -1;
        } else {
            process->error = 0;
        }
    }
    close(ends[0]);
    return pid;
}

/* Takes the end of any child of the list; false if all go on. */
static bool reap(struct process *list, int count)
{
    for (int i = 0; i < count; i++) {
        int status;

        if (list[i].pid <= 0 || waitpid(list[i].pid, &status, WNOHANG) != list[i].pid)
            continue;
        list[i].pid = 0;
        list[i].signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        list[i].status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        return true;
    }
    return false;
}

bool process_run(struct process *list, int count, int at_once)
{
    sigset_t blocked, old;
    int next = 0, running = 0, passed_on = 0;

    hold_signals();
    sigemptyset(&blocked);
    for (int i = 0; i < COUNT(ending); i++)
        sigaddset(&blocked, ending[i]);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &old);
    while (running > 0 || (next < count && !told_to_end)) {
        if (next < count && running < at_once && !told_to_end) {
            list[next].pid = start(&list[next], &old);
            running += list[next].pid > 0;
            next++;
        } else if (reap(list, count)) {
            running--;
        } else if (told_to_end != passed_on) {
            passed_on = told_to_end;
            for (int i = 0; i < count; i++)
                if (list[i].pid > 0)
                    kill(list[i].pid, passed_on);
        } else {
            sigsuspend(&old);
        }
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    return !told_to_end;
}

bool process_succeeded(const struct process *process)
{
    return process->error == 0 && process->signal == 0 && process->status == 0;
}

void process_quote(struct cx *cx, const struct process *process)
{
    const char *error = NULL;
    const struct source *said = process->said ? source_read(cx, process->said, (size_t)1 << 20, &error)
                                              : NULL;

    if (!said || said->length == 0)
        return;
    if (cx->options->diagnostics == DIAG_JSON || cx->options->diagnostics == DIAG_SARIF) {
        diag_note(cx, (struct loc){0}, "%s", said->text);
        return;
    }
    progress_end();
    diag_print(cx, stderr, cx->options->diagnostics);
    cx->item_count = 0;
    fwrite(said->text, 1, said->length, stderr);
    if (said->text[said->length - 1] != '\n')
        fputc('\n', stderr);
}

int process_cores(void)
{
#ifdef _SC_NPROCESSORS_ONLN
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 1 ? 1 : cores > 64 ? 64 : (int)cores;
#else
    return 2;
#endif
}

/* ---- folders ---------------------------------------------------------------------------------------------- */

struct temporary {
    struct arena_guard guard;
    const char *path;
    DIR *entries; /* opened when it was made, since that takes memory */
};

/* Removes it with what lies in it, if it is a folder. */
static void remove_inner(int outer, const char *name)
{
    const int file = openat(outer, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *inner = file >= 0 ? fdopendir(file) : NULL;

    if (inner) {
        process_clear_folder(inner);
        closedir(inner);
        unlinkat(outer, name, AT_REMOVEDIR);
    } else if (file >= 0) {
        close(file);
    }
}

void process_clear_folder(DIR *folder)
{
    const struct dirent *entry;

    rewinddir(folder);
    while ((entry = readdir(folder)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(dirfd(folder), entry->d_name, 0) != 0)
            remove_inner(dirfd(folder), entry->d_name);
}

static void remove_folder(void *data)
{
    struct temporary *folder = data;

    process_clear_folder(folder->entries);
    closedir(folder->entries);
    rmdir(folder->path);
}

/* To be removed, if it could be made. */
static const char *keep_folder(struct cx *cx, struct temporary *folder, const char *path, bool made,
                               const char **error)
{
    if (made) {
        folder->path = path;
        folder->entries = opendir(path);
        if (folder->entries) {
            folder->guard = (struct arena_guard){.run = remove_folder, .data = folder};
            arena_guard(&folder->guard);
            return path;
        }

        int reason = errno;

        rmdir(path);
        errno = reason;
    }
    if (errno == ENOMEM)
        arena_out_of_memory();
    *error = arena_format(&cx->arena, "cannot make a folder '%s': %s", path, strerror(errno));
    return NULL;
}

const char *process_make_folder(struct cx *cx, const char **error)
{
    struct temporary *folder = ARENA_NEW(&cx->arena,
                                         struct temporary); /* before there is anything to remove */
    const char *parent = getenv("TMPDIR");
    char *path = arena_format(&cx->arena, "%s/modc-XXXXXX", parent && parent[0] ? parent : "/tmp");

    hold_signals();
    return keep_folder(cx, folder, path, mkdtemp(path) != NULL, error);
}

const char *process_make_inner(struct cx *cx, const char *outer, const char *name, const char **error)
{
    struct temporary *folder = ARENA_NEW(&cx->arena, struct temporary);
    const char *path = arena_format(&cx->arena, "%s/%s", outer, name);

    return keep_folder(cx, folder, path, mkdir(path, 0777) == 0, error);
}

void process_remove_folder(void)
{
    arena_unguard(true);
}
