/* decode.c - what a token takes by rows of sequences and by a spec for one token, and what rows of several sequences take; see
 * bench/decode. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gpt2.h"
#include "gpt2_step.h"
#include "process.h"

enum { MOST = 16, HUGE_PAGE = 2 << 20 };

static struct gpt2 *rows;
static struct gpt2_step *step;
static float *logits, *cache, *kept;
static int64_t *page_table, token[MOST], position[MOST], sequence[MOST], wanted[MOST];

/* In huge pages, as the runtime has its own. */
static void *room(size_t bytes)
{
    void *block;

    if (posix_memalign(&block, HUGE_PAGE, bytes) != 0)
        exit(1);
    (void)madvise(block, bytes, MADV_HUGEPAGE);
    return memset(block, 0, bytes);
}

/* What an input or output takes at most. */
static void *room_of(const struct modc_io *io)
{
    size_t bytes = io->dtype == MODC_INT64 ? sizeof(int64_t) : sizeof(float);

    for (int i = 0; i < io->ndim; i++)
        bytes *= (size_t)io->max_dims[i];
    return room(bytes);
}

/* Milliseconds of a token of each of so many sequences, behind `past` others. */
static double by_rows(int count, int past)
{
    const double begun = now();

    for (int i = 0; i < count; i++)
        position[i] = past;
    check(gpt2_forward(rows, count, count, token, position, sequence, page_table, wanted, logits));
    return 1e3 * (now() - begun);
}

static double by_step(int past)
{
    const double begun = now();

    check(gpt2_step_forward(step, past, token, cache, logits, kept));
    return 1e3 * (now() - begun);
}

static void compare(int past, int rounds)
{
    double least[2] = {1e9, 1e9};

    for (int i = 0; i < rounds; i++) {
        const double found[2] = {by_rows(1, past), by_step(past)};

        for (int k = 0; k < 2; k++)
            least[k] = found[k] < least[k] ? found[k] : least[k];
    }
    printf("a token behind %-4d  rows %6.2f ms, one-token spec %6.2f ms: %.2f of its speed\n", past, least[0],
           least[1], least[1] / least[0]);
}

int main(int argc, char **argv)
{
    const int pasts[] = {0, 256, 1000}, counts[] = {1, 2, 3, 4, 7, 8, 16};
    const int rounds = argc > 1 ? atoi(argv[1]) : 15;
    struct modc_params *params[2];
    double alone = 0;

    check(modc_params_create(&gpt2_model, &params[0]));
    check(modc_params_create(&gpt2_step_model, &params[1]));
    for (int i = 0; i < 2; i++) {
        check(modc_reset(params[i], 1));
        check(modc_pack(params[i], NULL, 0));
    }
    check(gpt2_create((struct gpt2_params *)(void *)params[0], &rows));
    check(gpt2_step_create((struct gpt2_step_params *)(void *)params[1], &step));
    page_table = room_of(&gpt2_model.entries[0].inputs[3]);
    logits = room_of(&gpt2_model.entries[0].outputs[0]);
    cache = room_of(&gpt2_step_model.entries[0].inputs[1]);
    kept = room_of(&gpt2_step_model.entries[0].outputs[1]);
    for (int i = 0; i < MOST; i++) {
        token[i] = 37 * i + 5;
        sequence[i] = wanted[i] = page_table[i] = i; /* a page is a whole sequence */
    }
    for (int i = 0; i < 3; i++)
        compare(pasts[i], rounds);
    for (int i = 0; i < 7; i++) {
        double least = 1e9;

        for (int k = 0; k < rounds; k++) {
            const double took = by_rows(counts[i], 128);

            least = took < least ? took : least;
        }
        alone = i == 0 ? least : alone;
        printf("%2d sequences behind 128  %6.2f ms: %.2f times the tokens of one\n", counts[i], least,
               counts[i] * alone / least);
    }
    return 0;
}
