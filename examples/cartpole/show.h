/* show.h - the command line of cartpole, and what it shows: progress, scores, an episode. */
#ifndef SHOW_H
#define SHOW_H

#include <stdio.h>

#include "cart_pole.h"

enum { UPDATES = 600, TESTS = 100, MOST_SEEDS = 100, LAST = 100 };

struct command {
    int seed, seeds, updates;
    const char *save, *recording;
    FILE *record; /* NULL: nothing is recorded */
};

/* Ends the program where it makes no sense (2), or a file cannot be written (1). Gives stdout a buffer that is not allocated. */
struct command command_read(int count, char **arguments);
bool command_close(struct command *command); /* false: the recording could not be written, which was said */
bool command_save(const struct command *command, const void *bytes,
                  size_t length); /* the same of the policy; nothing is allocated */

struct progress {
    uint64_t seed;
    int updates, update;      /* how many there will be, and were */
    int last[LAST], episodes; /* the last ones' lengths, which are their returns */
};

void progress_episode(struct progress *progress, int steps);
void progress_update(struct progress *progress, int steps); /* a line on a terminal */
double progress_end(const struct progress *progress, double score,
                    int steps); /* prints the score, and is it */

void show_median(double *scores, int count); /* of more than one; they change places */
void show_task(const struct cart_pole *task,
               bool last); /* on a terminal each step in place of the one before, else some */

#endif
