/* terminal.c - what a terminal may be shown; see terminal.h.
 *
 * note [progress]
 * The line is written by a signal handler, one second after the start, and by the steps behind that, so that what is
 * quick shows nothing and what is slow need not look at a clock. Hence the state below: a handler has no argument. */
#define _POSIX_C_SOURCE 200809L

#include "base/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Able to obey escape sequences. */
static bool is_terminal(FILE *file)
{
    const char *term = getenv("TERM");

    return isatty(fileno(file)) && term && term[0] && strcmp(term, "dumb") != 0;
}

bool terminal_wants_color(FILE *file, const char *when)
{
    const char *none = getenv("NO_COLOR");

    if (when && strcmp(when, "always") == 0)
        return true;
    return (!when || strcmp(when, "never") != 0) && !(none && none[0]) && is_terminal(file);
}

/* ---- progress --------------------------------------------------------------------------------------------- */

static const char erase[] = "\r\033[K";

static struct {
    bool on;
    volatile sig_atomic_t due, shown;
    /* begins with `erase`; changed while SIGALRM is blocked; no longer than a narrow terminal */
    char line[80];
} progress;

static void show(const char *text)
{
    int error = errno;
    ssize_t written = write(STDERR_FILENO, text, strlen(text));

    (void)written; /* it is no loss */
    errno = error;
}

static void second_is_over(int number)
{
    (void)number;
    progress.due = 1;
    if (progress.line[0]) {
        progress.shown = 1;
        show(progress.line);
    }
}

void progress_start(void)
{
    struct sigaction action;

    if (!is_terminal(stderr))
        return;
    memset(&action, 0, sizeof action);
    action.sa_handler = second_is_over;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    progress.on = sigaction(SIGALRM, &action, NULL) == 0;
    if (progress.on)
        alarm(1);
}

/* Text without control characters; NULL: none. Takes away what is shown, or shows the text where it is time. */
static void change(const char *text)
{
    sigset_t blocked, old;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGALRM);
    sigprocmask(SIG_BLOCK, &blocked, &old);
    if (progress.shown)
        show(erase);
    progress.shown = 0;
    progress.line[0] = 0;
    if (text) {
        snprintf(progress.line, sizeof progress.line, "%s%s", erase, text);
        for (char *c = progress.line + strlen(erase); *c; c++)
            *c = (unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f ? '?' : *c;
        if (progress.due)
            second_is_over(SIGALRM);
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
}

void progress_step(const char *format, ...)
{
    char text[sizeof progress.line];
    va_list args;

    if (!progress.on)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    change(text);
}

void progress_end(void)
{
    if (progress.on)
        change(NULL);
}
