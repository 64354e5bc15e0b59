/* modc_driver_chat.c - modc chat: lines of standard input, answered by the model. */
#include "modc_driver_generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TURNS = 4096, TEXT = 1 << 20 };

/* What was said so far. */
struct talk {
    struct generation *g;
    struct modc_turn turns[MOST_TURNS];
    int count;
    char *prompt; /* TEXT bytes: of all turns */
    int64_t *ids; /* of it, `context` */
    int sequence; /* -1: none yet */
    char *answer; /* TEXT bytes */
    size_t answer_bytes;
};

static int add_turn(struct talk *t, const char *role, const char *text, size_t bytes)
{
    char *own;

    if (t->count == MOST_TURNS)
        return modc_driver_fail(EXIT_USAGE, "modc chat", "there are more than %d turns", MOST_TURNS);
    own = modc_driver_zeroed(bytes + 1, 1);
    memcpy(own, text, bytes);
    t->turns[t->count++] = (struct modc_turn){.role = {role, strlen(role)}, .content = {own, bytes}};
    return EXIT_OK;
}

/* All turns as the text that the model continues; without a template one behind the other. */
static int make_prompt(struct run *run, struct talk *t, size_t *bytes)
{
    const time_t seconds = time(NULL);
    const struct modc_date now = MODC_DATE_OF(localtime(&seconds));
    struct modc_chat chat = {.add_generation_prompt = true, .now = &now};
    enum modc_status status = MODC_OK;
    void *workspace = NULL;
    int failed = EXIT_OK;

    *bytes = 0;
    for (int i = 0; i < t->count && t->g->table->chat == NULL; i++) {
        const struct modc_text text = t->turns[i].content;

        if (*bytes + text.bytes > TEXT)
            return modc_driver_fail(EXIT_USAGE, run->model->name, "the conversation is too long");
        memcpy(t->prompt + *bytes, text.data, text.bytes);
        *bytes += text.bytes;
    }
    if (t->g->table->chat == NULL)
        return EXIT_OK;
    do {
        free(workspace);
        chat.workspace_bytes = chat.workspace_needed;
        workspace = chat.workspace = modc_driver_zeroed(chat.workspace_bytes + 1, 1);
        status = t->g->table->chat(t->turns, t->count, &chat, t->prompt, TEXT, bytes);
    } while (status == MODC_WORKSPACE && chat.workspace_needed > chat.workspace_bytes);
    if (status == MODC_ARGUMENT) /* its words may lie in the workspace */
        failed = modc_driver_fail(EXIT_USAGE, "the template", "%.*s", (int)chat.refusal.bytes,
                                  chat.refusal.data);
    else if (status != MODC_OK)
        failed = modc_driver_fail(EXIT_USAGE, run->model->name, "%s", modc_status_text(status));
    free(workspace);
    return failed;
}

/* The sequence has these tokens and goes on behind them; those that it had already are not computed again. */
static enum modc_status continue_with(struct talk *t, int count)
{
    struct modc_generator *gen = t->g->gen;
    int had = 0, same = 0;
    const int64_t *ids = t->sequence >= 0 ? modc_generator_ids(gen, t->sequence, &had, NULL) : NULL;
    enum modc_status status;

    while (same < had && same < count - 1 && ids[same] == t->ids[same])
        same++;
    if (t->sequence < 0)
        return modc_generator_begin(gen, t->ids, count, &t->g->options, 0, &t->sequence);
    status = modc_generator_keep(gen, t->sequence, same);
    if (status == MODC_UNSUPPORTED) { /* a recurrent model reads all again */
        same = 0;
        status = modc_generator_keep(gen, t->sequence, 0);
    }
    return status == MODC_OK ? modc_generator_extend(gen, t->sequence, t->ids + same, count - same) : status;
}

static void print(struct talk *t, const char *text, int bytes)
{
    fwrite(text, 1, (size_t)bytes, stdout);
    fflush(stdout);
    if (t->answer_bytes + (size_t)bytes > TEXT)
        return;
    memcpy(t->answer + t->answer_bytes, text, (size_t)bytes);
    t->answer_bytes += (size_t)bytes;
}

static int answer(struct run *run, struct talk *t)
{
    struct modc_generator *gen = t->g->gen;
    const struct modc_generation *table = t->g->table;
    struct modc_event *events = modc_driver_zeroed((size_t)table->sequences, sizeof *events);
    enum modc_status status;
    size_t bytes;
    int count = 0, n, result = make_prompt(run, t, &bytes);

    if (result == EXIT_OK) /* the template has its own tokens at the ends */
        result = modc_driver_encode(run, table, t->prompt, bytes, table->chat != NULL ? MODC_NO_TEMPLATE : 0,
                                    t->ids, &count, table->context - 1);
    status = result == EXIT_OK ? continue_with(t, count) : MODC_OK;
    t->answer_bytes = 0;
    while (result == EXIT_OK && status == MODC_OK && modc_generator_active(gen) > 0) {
        status = modc_generator_step(gen, events, table->sequences, &n);
        for (int i = 0; i < n && status == MODC_OK; i++) {
            print(t, events[i].text, events[i].bytes);
            if (events[i].finish == MODC_FINISH_FULL)
                fprintf(stderr, "\n(the context of %d tokens is full)", table->context);
            if (events[i].finish == MODC_FINISH_FAULT)
                status = events[i].status;
        }
    }
    free(events);
    if (status != MODC_OK)
        result = modc_driver_write_failed(run, gen, run->model->name, status);
    if (result == EXIT_OK) {
        printf("\n");
        result = add_turn(t, "assistant", t->answer, t->answer_bytes);
    }
    return result;
}

static int answer_lines(struct run *run, struct talk *t)
{
    const bool asks = isatty(STDIN_FILENO) != 0;
    char *line = NULL;
    size_t room = 0;
    int status = EXIT_OK;

    if (run->options.system != NULL)
        status = add_turn(t, "system", run->options.system, strlen(run->options.system));
    while (status == EXIT_OK) {
        ssize_t length;

        if (asks) {
            printf("> ");
            fflush(stdout);
        }
        length = getline(&line, &room, stdin);
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
            length--;
        if (length <= 0)
            break;
        status = add_turn(t, "user", line, (size_t)length);
        if (status == EXIT_OK)
            status = answer(run, t);
    }
    free(line);
    return status;
}

int modc_driver_chat(struct run *run)
{
    struct talk *t = modc_driver_zeroed(1, sizeof *t);
    struct generation *g = t->g = modc_driver_zeroed(1, sizeof *g);
    int status = EXIT_OK;

    g->table = run->model->generation;
    g->lists = modc_driver_zeroed(OPTION_LISTS, 1);
    t->sequence = -1;
    if (g->table == NULL || g->table->tokenizer == NULL)
        status = modc_driver_fail(EXIT_USAGE, run->model->name,
                                  g->table == NULL
                                      ? "the spec has no 'generation:' by which it could write"
                                      : "the spec has no 'tokenizer:'; --tokenizer FILE names one");
    else if (g->table->encoder >= 0)
        status = modc_driver_fail(EXIT_USAGE, run->model->name,
                                  "a model with an encoder does not talk: modc run --generate");
    if (status == EXIT_OK)
        status = modc_driver_read_options(run, g);
    if (status == EXIT_OK)
        status = modc_driver_start(run, g);
    if (status == EXIT_OK) {
        t->prompt = modc_driver_zeroed(TEXT, 1);
        t->answer = modc_driver_zeroed(TEXT, 1);
        t->ids = modc_driver_zeroed((size_t)g->table->context, sizeof *t->ids);
        status = answer_lines(run, t);
    }
    for (int i = 0; i < t->count; i++)
        free((void *)(uintptr_t)t->turns[i].content.data);
    free(t->prompt);
    free(t->answer);
    free(t->ids);
    free(t);
    modc_driver_free_generation(g);
    return status;
}
