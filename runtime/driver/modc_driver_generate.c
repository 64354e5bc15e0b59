/* modc_driver_generate.c - prompts of the command line, continued by the model: modc run --generate, --tokens. */
#include "modc_driver_generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double modc_driver_seconds(void *user)
{
    struct timespec now;

    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int set_grammar(struct generation *g, const char *name)
{
    char known[200] = "";
    size_t length = 0;

    if (strcmp(name, "none") == 0) {
        g->options.grammar = NULL;
        return EXIT_OK;
    }
    g->options.grammar = modc_generation_grammar(g->table, name);
    if (g->options.grammar != NULL)
        return EXIT_OK;
    for (int i = 0; i < g->table->grammar_count && length < sizeof known; i++)
        length += (size_t)snprintf(known + length, sizeof known - length, "%s%s", i ? ", " : "",
                                   g->table->grammars[i]->name);
    return modc_driver_fail(EXIT_USAGE, "--option", "grammar cannot be '%s': %s%s", name,
                            length > 0 ? "the model has " : "the model has no 'grammars:'", known);
}

int modc_driver_read_options(struct run *run, struct generation *g)
{
    struct modc_option_memory memory = {g->lists, OPTION_LISTS, 0};
    char message[300];
    enum modc_status status = modc_generation_options_of(g->table, &g->options, &memory);

    if (status != MODC_OK)
        return modc_driver_fail(EXIT_BUG, run->model->name, "%s", modc_status_text(status));
    g->options.seed = run->options.seed;
    for (int i = 0; i < run->options.setting_count; i++) {
        char name[64];
        const char *text = run->options.settings[i], *equals = strchr(text, '=');
        const size_t length = equals != NULL ? (size_t)(equals - text) : 0;

        if (equals == NULL || length == 0 || length >= sizeof name)
            return modc_driver_fail(EXIT_USAGE, "modc", "--option takes NAME=VALUE, found '%s'", text);
        memcpy(name, text, length);
        name[length] = 0;
        if (strcmp(name, "grammar") == 0) {
            const int found = set_grammar(g, equals + 1);

            if (found != EXIT_OK)
                return found;
            continue;
        }
        if (modc_generation_set(&g->options, name, equals + 1, &memory, message, sizeof message) != MODC_OK)
            return modc_driver_fail(EXIT_USAGE, "--option", "%s", message);
    }
    if (modc_generation_check(&g->options, g->table->vocabulary, message, sizeof message) != MODC_OK)
        return modc_driver_fail(EXIT_USAGE, "--option", "%s", message);
    return EXIT_OK;
}

/* "1 15043 3186", with or without commas. */
static int read_ids(const char *text, int64_t **ids, int *count, int room)
{
    while (*text != 0) {
        char *end;
        const long long id = strtoll(text, &end, 10);

        if (end == text)
            return modc_driver_fail(EXIT_USAGE, "modc",
                                    "--tokens takes ids such as '1 15043 3186', found '%s'", text);
        if (*count == room)
            return modc_driver_fail(EXIT_USAGE, "modc", "--tokens: the model takes %d tokens at most", room);
        (*ids)[(*count)++] = id;
        text = end + strspn(end, " ,\t\n");
    }
    return EXIT_OK;
}

int modc_driver_encode(const struct run *run, const struct modc_generation *table, const char *text,
                       size_t length, unsigned flags, int64_t *ids, int *count, int room)
{
    const size_t bytes = modc_encode_bytes(table->tokenizer, length);
    struct modc_tokens tokens = {.ids = ids, .room = room};
    void *workspace = NULL;
    enum modc_status status;

    if (posix_memalign(&workspace, 64, bytes > 0 ? bytes : 64) != 0)
        return modc_driver_fail(EXIT_BUG, "modc", "out of memory");
    status = modc_encode(table->tokenizer, text, length, flags, &tokens, workspace, bytes);
    free(workspace);
    if (status == MODC_SIZE)
        return modc_driver_fail(EXIT_USAGE, run->model->name,
                                "the prompt has %d tokens, and there is room for %d", tokens.count, room);
    if (status != MODC_OK)
        return modc_driver_fail(EXIT_USAGE, run->model->name, "%s", modc_status_text(status));
    *count = tokens.count;
    return EXIT_OK;
}

static int read_prompts(struct run *run, struct generation *g)
{
    const struct options *o = &run->options;
    const int context = g->table->encoder >= 0 ? g->table->source + 1 : g->table->context;
    int status = EXIT_OK;

    g->ids = modc_driver_zeroed((size_t)o->prompt_count * (size_t)context, sizeof *g->ids);
    g->offsets = modc_driver_zeroed((size_t)o->prompt_count + 1, sizeof *g->offsets);
    for (int i = 0; i < o->prompt_count && status == EXIT_OK; i++) {
        int64_t *to = g->ids + g->offsets[i];
        int count = 0;

        if (!o->prompts[i].ids && g->table->tokenizer == NULL)
            return modc_driver_fail(EXIT_USAGE, run->model->name,
                                    "--generate needs a 'tokenizer:' in the spec; --tokens takes ids");
        status = o->prompts[i].ids ? read_ids(o->prompts[i].text, &to, &count, context)
                                   : modc_driver_encode(run, g->table, o->prompts[i].text,
                                                        strlen(o->prompts[i].text), 0, to, &count, context);
        if (status == EXIT_OK && (count == 0 || count >= context))
            return modc_driver_fail(EXIT_USAGE, run->model->name,
                                    "a prompt has from 1 to %d tokens here, found %d", context - 1, count);
        g->texts = !o->prompts[i].ids;
        g->offsets[i + 1] = g->offsets[i] + count;
    }
    for (int i = 0; i < g->offsets[o->prompt_count] && status == EXIT_OK; i++)
        if (g->ids[i] < 0 || g->ids[i] >= g->table->vocabulary)
            return modc_driver_fail(EXIT_USAGE, run->model->name, "there is no token %lld: ids are below %d",
                                    (long long)g->ids[i], g->table->vocabulary);
    return status;
}

/* Tokens that a response stands behind: one where the prompt is what an encoder reads. */
static int prompt_length(const struct generation *g, int prompt)
{
    return g->table->encoder >= 0 ? 1 : g->offsets[prompt + 1] - g->offsets[prompt];
}

/* Room for all that is written. */
static void make_responses(struct run *run, struct generation *g)
{
    struct modc_responses *out = &g->responses;
    int most = 0;

    for (int i = 0; i < run->options.prompt_count; i++) {
        const int count = prompt_length(g, i), more = modc_generation_length(&g->options, count) - count;

        most = more > most ? more : most;
    }
    g->rows = run->options.prompt_count * g->options.num_return_sequences;
    out->room = most;
    out->pad = g->options.pad_token_id >= 0 ? g->options.pad_token_id : 0;
    out->ids = modc_driver_zeroed((size_t)g->rows * (size_t)most, sizeof *out->ids);
    out->log_probs = modc_driver_zeroed((size_t)g->rows * (size_t)most, sizeof *out->log_probs);
    out->lengths = modc_driver_zeroed((size_t)g->rows, sizeof *out->lengths);
    out->finishes = modc_driver_zeroed((size_t)g->rows, sizeof *out->finishes);
    out->scores = modc_driver_zeroed((size_t)g->rows, sizeof *out->scores);
    g->said = modc_driver_zeroed((size_t)g->rows, sizeof *g->said);
}

static int tell(void *user, int row, const struct modc_event *event)
{
    struct generation *g = user;
    struct said *said = &g->said[row];

    if (event->text == NULL || event->bytes == 0)
        return 0;
    if (row == g->told) {
        fwrite(event->text, 1, (size_t)event->bytes, stdout);
        fflush(stdout);
        return 0;
    }
    if (said->bytes + (size_t)event->bytes > said->room) {
        const size_t room = 2 * (said->bytes + (size_t)event->bytes);
        char *text = realloc(said->text, room);

        if (text == NULL)
            exit(modc_driver_fail(EXIT_BUG, "modc", "out of memory"));
        said->text = text;
        said->room = room;
    }
    memcpy(said->text + said->bytes, event->text, (size_t)event->bytes);
    said->bytes += (size_t)event->bytes;
    return 0;
}

static void print_ids(const int64_t *ids, int count)
{
    for (int i = 0; i < count; i++)
        printf("%s%lld", i ? " " : "", (long long)ids[i]);
    printf("\n");
}

static void print_responses(const struct generation *g)
{
    for (int row = 0; row < g->rows; row++) {
        const int64_t *ids = g->responses.ids + (size_t)row * (size_t)g->responses.room;

        if (g->told == row) {
            printf("\n");
            continue;
        }
        if (g->rows > 1)
            printf("[%d] ", row);
        if (!g->texts) {
            print_ids(ids, g->responses.lengths[row]);
            continue;
        }
        if (g->said[row].bytes > 0)
            fwrite(g->said[row].text, 1, g->said[row].bytes, stdout);
        printf("\n");
    }
}

static int write_responses(const struct run *run, const struct generation *g)
{
    const int rows = g->rows, room = g->responses.room;
    int64_t *numbers = modc_driver_zeroed(2 * (size_t)rows, sizeof *numbers);
    const struct modc_named_tensor list[] = {
        {"response", {g->responses.ids, MODC_INT64, 2, {rows, room}}},
        {"log_probs", {g->responses.log_probs, MODC_FLOAT32, 2, {rows, room}}},
        {"lengths", {numbers, MODC_INT64, 1, {rows}}},
        {"finish", {numbers + rows, MODC_INT64, 1, {rows}}},
        {"scores", {g->responses.scores, MODC_FLOAT32, 1, {rows}}},
    };
    int status;

    for (int i = 0; i < rows; i++) {
        numbers[i] = g->responses.lengths[i];
        numbers[rows + i] = (int64_t)g->responses.finishes[i];
    }
    status = modc_driver_write_tensors(run->options.outputs, list, (int)(sizeof list / sizeof *list));
    free(numbers);
    return status;
}

int modc_driver_start(struct run *run, struct generation *g)
{
    const enum modc_status status = modc_generator_create(g->table, run->net, &g->gen);

    return status == MODC_OK ? EXIT_OK
                             : modc_driver_fail(EXIT_BUG, run->model->name, "%s", modc_status_text(status));
}

int modc_driver_write_failed(const struct run *run, const struct modc_generator *gen, const char *option,
                             enum modc_status status)
{
    return gen->message[0] != 0 ? modc_driver_fail(EXIT_USAGE, option, "%s", gen->message)
                                : modc_driver_call_failed(run, status);
}

static int write_all(struct run *run, struct generation *g)
{
    const bool encodes = g->table->encoder >= 0;
    const struct modc_prompts prompts = {.ids = encodes ? NULL : g->ids,
                                         .offsets = encodes ? NULL : g->offsets,
                                         .count = run->options.prompt_count,
                                         .sources = encodes ? g->ids : NULL,
                                         .source_offsets = encodes ? g->offsets : NULL};
    size_t bytes = 0;
    enum modc_status status;

    for (int i = 0; i < run->options.prompt_count && g->options.num_beams > 1; i++) {
        const int count = prompt_length(g, i), most = modc_generation_length(&g->options, count);
        const size_t own = modc_beams_bytes(
            &g->options, count, most < g->table->context ? most : g->table->context, g->table->vocabulary);

        bytes = own > bytes ? own : bytes;
    }
    if (bytes > 0 && posix_memalign(&g->beams, 64, bytes) != 0)
        return modc_driver_fail(EXIT_BUG, "modc", "out of memory");
    status = modc_generator_write(g->gen, &prompts, &g->options, &g->responses, tell, g, g->beams, bytes);
    return status == MODC_OK ? EXIT_OK : modc_driver_write_failed(run, g->gen, "--option", status);
}

void modc_driver_free_generation(struct generation *g)
{
    free(g->ids);
    free(g->offsets);
    free(g->responses.ids);
    free(g->responses.log_probs);
    free(g->responses.lengths);
    free(g->responses.finishes);
    free(g->responses.scores);
    for (int row = 0; row < g->rows && g->said != NULL; row++)
        free(g->said[row].text);
    free(g->said);
    modc_generator_destroy(g->gen);
    free(g->beams);
    free(g->lists);
    free(g);
}

int modc_driver_generate(struct run *run)
{
    struct generation *g = modc_driver_zeroed(1, sizeof *g);
    const double begun = modc_driver_seconds(NULL);
    int status, tokens = 0;

    if (run->model->generation == NULL) {
        modc_driver_free_generation(g);
        return modc_driver_fail(EXIT_USAGE, run->model->name,
                                "the spec has no 'generation:' by which it could write");
    }
    g->table = run->model->generation;
    g->lists = modc_driver_zeroed(OPTION_LISTS, 1);
    status = modc_driver_read_options(run, g);
    if (status == EXIT_OK)
        status = read_prompts(run, g);
    if (status == EXIT_OK) {
        make_responses(run, g);
        g->told = g->rows == 1 && g->texts ? 0 : -1;
        status = modc_driver_start(run, g);
    }
    if (status == EXIT_OK)
        status = write_all(run, g);
    if (status == EXIT_OK)
        print_responses(g);
    if (status == EXIT_OK && run->options.outputs != NULL)
        status = write_responses(run, g);
    for (int i = 0; i < g->rows; i++)
        tokens += g->responses.lengths[i];
    if (status == EXIT_OK && run->options.time)
        fprintf(stderr, "%d tokens in %.3g s\n", tokens, modc_driver_seconds(NULL) - begun);
    modc_driver_free_generation(g);
    return status;
}
