/* process.h - child processes and temporary folders, so that neither outlives modc: compilers and the program of
 * `modc run`, and Clang for --validate. */
#ifndef MODC_PROCESS_H
#define MODC_PROCESS_H

#include <dirent.h>
#include <sys/types.h>

#include "base/diag.h"

struct process {
    const char **words; /* program (found in PATH) and arguments; ends with NULL */
    const char *said;   /* file that takes stdout and stderr; NULL: ours */
    const char *from;   /* of a compiler: what says which one it is, "$CC and $CFLAGS" */
    /* Filled: */
    int error;  /* errno where it could not be started, else 0 */
    int status; /* exit status; meaningless after a signal */
    int signal; /* that ended it, or 0 */
    pid_t pid;  /* while it runs, else 0 */
};

/* Adds a word. */
void process_word(struct cx *cx, struct process *process, const char *word);

/* Splits as a shell would: blanks, quotes and backslashes, nothing else. */
void process_words(struct cx *cx, struct process *process, const char *text);

/* The program that a word names, as PATH has it; NULL: there is none. */
const char *process_find(struct cx *cx, const char *word);

/* Runs all of them, at most `at_once` at a time. False where modc was told to end (SIGINT, SIGTERM, SIGHUP), which the
 * processes were told too: clean up, then call process_end. */
bool process_run(struct process *list, int count, int at_once);

/* Ends modc by the signal that made process_run return false. */
void process_end(void);

int process_cores(void);

/* Exit status 0, started, no signal. */
bool process_succeeded(const struct process *process);

/* Puts what it wrote to `said` behind the last diagnostic: as it is or, in JSON, as a note. */
void process_quote(struct cx *cx, const struct process *process);

/* A new folder below $TMPDIR or /tmp, or in one of these, to be removed with process_remove_folder, which removes what lies in it
 * too: the one made last, as a guard of the arena does when memory ends. From now on signals that end modc are held back until
 * process_run. NULL: *error says why. */
const char *process_make_folder(struct cx *cx, const char **error);
const char *process_make_inner(struct cx *cx, const char *outer, const char *name, const char **error);
void process_remove_folder(void);

/* Removes what lies in a folder. */
void process_clear_folder(DIR *folder);

#endif
