/* show.c - see show.h. */
#include "show.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int usage(void)
{
    fprintf(stderr, "usage: cartpole [--seed N | --seeds N] [--updates N] [--save FILE] [--record FILE]\n");
    exit(2);
}

/* From `least` to `most`, or the usage. */
static int whole(const char *text, long least, long most)
{
    char *end;
    long number = strtol(text, &end, 10);

    return *text && !*end && number >= least && number <= most ? (int)number : usage();
}

struct command command_read(int count, char **arguments)
{
    struct command command = {.seeds = 1, .updates = UPDATES, .save = "agent.safetensors"};
    static char buffer[BUFSIZ];

    setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
    for (int i = 1; i < count; i += 2) {
        const char *name = arguments[i], *value = i + 1 < count ? arguments[i + 1] : "";

        if (strcmp(name, "--seed") == 0)
            command.seed = whole(value, 0, 1000000);
        else if (strcmp(name, "--seeds") == 0)
            command.seeds = whole(value, 1, MOST_SEEDS);
        else if (strcmp(name, "--updates") == 0)
            command.updates = whole(value, 0, 1000000);
        else if (strcmp(name, "--save") == 0 && *value)
            command.save = value;
        else if (strcmp(name, "--record") == 0 && *value)
            command.recording = value;
        else
            usage();
    }
    if (command.recording && !(command.record = fopen(command.recording, "wb"))) {
        perror(command.recording);
        exit(1);
    }
    return command;
}

bool command_close(struct command *command)
{
    bool written = !command->record || !ferror(command->record);

    if (command->record && fclose(command->record) != 0)
        written = false;
    if (!written)
        perror(command->recording);
    return written;
}

bool command_save(const struct command *command, const void *bytes, size_t length)
{
    const int file = open(command->save, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    const char *at = (const char *)bytes;

    for (ssize_t done = 1; file >= 0 && length > 0 && done > 0; at += done, length -= (size_t)done)
        done = write(file, at, length);
    if (file < 0 || length > 0 || close(file) != 0) {
        perror(command->save);
        return false;
    }
    printf("saved: %s\n", command->save);
    return true;
}

/* ---- progress ------------------------------------------------------------------------------------------------- */

void progress_episode(struct progress *progress, int steps)
{
    progress->last[progress->episodes++ % LAST] = steps;
}

void progress_update(struct progress *progress, int steps)
{
    const int known = progress->episodes < LAST ? progress->episodes : LAST;
    int sum = 0;

    progress->update++;
    if (!isatty(2) || (progress->update % 20 != 0 && progress->update < progress->updates))
        return;
    for (int i = 0; i < known; i++)
        sum += progress->last[i];
    fprintf(stderr,
            "\rseed %llu: %4d of %d updates, %6d steps, %5d episodes, mean return of the last %d: %5.1f ",
            (unsigned long long)progress->seed, progress->update, progress->updates, progress->update * steps,
            progress->episodes, known, known ? (double)sum / known : 0);
}

double progress_end(const struct progress *progress, double score, int steps)
{
    if (isatty(2))
        fputs("\r\033[K", stderr);
    printf("seed %llu: mean return of %d episodes %.1f, after %d steps and %d episodes\n",
           (unsigned long long)progress->seed, TESTS, score, progress->update * steps, progress->episodes);
    return score;
}

/* ---- at the end ----------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void show_median(double *scores, int count)
{
    if (count < 2)
        return;
    qsort(scores, (size_t)count, sizeof *scores, by_size);
    printf("median of %d seeds: %.1f\n", count, (scores[(count - 1) / 2] + scores[count / 2]) / 2);
}

void show_task(const struct cart_pole *task, bool last)
{
    const bool terminal = isatty(1);
    char line[64];

    if (!terminal && task->steps % 50 != 0 && !last)
        return;
    cart_pole_draw(task, line);
    printf(terminal ? "\r%s %3d" : "%s %3d\n", line, task->steps);
    if (terminal && last)
        putchar('\n');
    fflush(stdout);
    if (terminal)
        usleep(10000);
}
