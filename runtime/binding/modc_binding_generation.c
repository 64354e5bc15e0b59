/* modc_binding_generation.c - a model that writes, as a shared library; see modc_binding.h. */
#include "modc_binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct modc_generation *table_of(void)
{
    return modc_binding_model()->generation;
}

static const struct modc_tokenizer *tokenizer_of(void)
{
    return table_of() != NULL ? table_of()->tokenizer : NULL;
}

static size_t rounded(size_t bytes)
{
    return (bytes + MODC_ALIGN - 1) / MODC_ALIGN * MODC_ALIGN;
}

/* ---- generators ------------------------------------------------------------------------------------------ */

enum modc_status modc_binding_generator_create(struct modc_context *net, struct modc_generator **gen)
{
    *gen = NULL;
    return table_of() != NULL ? modc_generator_create(table_of(), net, gen) : MODC_UNSUPPORTED;
}

void modc_binding_generator_destroy(struct modc_generator *gen)
{
    modc_generator_destroy(gen);
}

const char *modc_binding_generator_message(const struct modc_generator *gen)
{
    return gen->message;
}

/* Bytes for beams of the longest prompt. */
static size_t find_beam_bytes(const struct modc_generator *gen, const struct modc_prompts *prompts,
                              const struct modc_generation_options *options)
{
    const int context = gen->table->context;
    size_t bytes = 0;

    for (int i = 0; options->num_beams > 1 && i < prompts->count; i++) {
        const int count = prompts->ids == NULL ? 1 : prompts->offsets[i + 1] - prompts->offsets[i];
        const int most = modc_generation_length(options, count);
        const size_t own = modc_beams_bytes(options, count, most < context ? most : context,
                                            gen->table->vocabulary);

        bytes = own > bytes ? own : bytes;
    }
    return bytes;
}

enum modc_status modc_binding_write(struct modc_generator *gen, const struct modc_prompts *prompts,
                                    const struct modc_generation_options *options, struct modc_responses *out,
                                    modc_listener *listener, void *user)
{
    const size_t bytes = find_beam_bytes(gen, prompts, options);
    void *memory = NULL;
    enum modc_status status;

    if (bytes > SIZE_MAX / 2)
        return MODC_MEMORY;
    if (bytes > 0) {
        memory = aligned_alloc(MODC_ALIGN, rounded(bytes));
        if (memory == NULL)
            return MODC_MEMORY;
    }
    status = modc_generator_write(gen, prompts, options, out, listener, user, memory, bytes);
    free(memory);
    return status;
}

/* ---- options --------------------------------------------------------------------------------------------- */

/* Lists and texts of one value; options point into it. */
struct piece {
    struct piece *next;
    int64_t room[];
};

struct modc_binding_options {
    struct modc_generation_options options; /* first: it is what others are given */
    struct piece *pieces;
};

/* Room for what a text of so many bytes lists, and for the text: an id takes two bytes of it at least. */
static struct piece *add_piece(struct modc_binding_options *all, size_t bytes, size_t text)
{
    struct piece *piece = malloc(sizeof *piece + bytes + text);

    if (piece != NULL) {
        piece->next = all->pieces;
        all->pieces = piece;
    }
    return piece;
}

static size_t list_bytes(size_t text)
{
    return 64 + (text / 2 + 1) * (sizeof(int64_t) + sizeof(struct modc_biased));
}

void modc_binding_options_destroy(struct modc_generation_options *options)
{
    struct modc_binding_options *all = (struct modc_binding_options *)(void *)options;

    while (all != NULL && all->pieces != NULL) {
        struct piece *next = all->pieces->next;

        free(all->pieces);
        all->pieces = next;
    }
    free(all);
}

enum modc_status modc_binding_options_create(struct modc_generation_options **options)
{
    const struct modc_generation *t = table_of();
    struct modc_binding_options *all;
    struct modc_option_memory memory;
    enum modc_status status;
    struct piece *piece;
    size_t bytes = 0;

    *options = NULL;
    if (t == NULL)
        return MODC_UNSUPPORTED;
    all = calloc(1, sizeof *all);
    if (all == NULL)
        return MODC_MEMORY;
    for (int i = 0; i < t->default_count; i++) /* texts of `stop` are in a list that is made anew for each */
        bytes += list_bytes(strlen(t->defaults[i].value)) + (size_t)t->default_count * sizeof(char *);
    piece = add_piece(all, bytes, 0);
    if (piece == NULL) {
        free(all);
        return MODC_MEMORY;
    }
    memory = (struct modc_option_memory){piece->room, bytes, 0};
    status = modc_generation_options_of(t, &all->options, &memory);
    if (status == MODC_OK)
        *options = &all->options;
    else
        modc_binding_options_destroy(&all->options);
    return status;
}

/* One of the model's grammars by its name, or none. */
static enum modc_status set_grammar(struct modc_generation_options *options, const char *name, char *message,
                                    size_t room)
{
    const struct modc_generation *t = table_of();
    size_t length;

    options->grammar = strcmp(name, "none") != 0 ? modc_generation_grammar(t, name) : NULL;
    if (options->grammar != NULL || strcmp(name, "none") == 0)
        return MODC_OK;
    length = (size_t)snprintf(message, room, "grammar cannot be '%s': %s", name,
                              t->grammar_count > 0 ? "the model has " : "the model has no 'grammars:'");
    for (int i = 0; i < t->grammar_count && length < room; i++)
        length += (size_t)snprintf(message + length, room - length, "%s%s", i > 0 ? ", " : "",
                                   t->grammars[i]->name);
    return MODC_ARGUMENT;
}

enum modc_status modc_binding_options_set(struct modc_generation_options *options, const char *name,
                                          const char *value, char *message, size_t room)
{
    const size_t text = strlen(value) + 1;
    const size_t bytes = list_bytes(text) + ((size_t)options->stop_count + 1) * sizeof(char *);
    struct modc_option_memory memory;
    struct piece *piece;
    char *copy;

    if (strcmp(name, "grammar") == 0)
        return set_grammar(options, value, message, room);
    piece = add_piece((struct modc_binding_options *)(void *)options, bytes, text);
    if (piece == NULL)
        return MODC_MEMORY;
    copy = (char *)piece->room + bytes;
    memcpy(copy, value, text);
    memory = (struct modc_option_memory){piece->room, bytes, 0};
    return modc_generation_set(options, name, copy, &memory, message, room);
}

void modc_binding_options_about(const struct modc_generation_options *options, int64_t about[6])
{
    const struct modc_ids eos = options->eos_token_id;

    about[0] = options->num_return_sequences;
    about[1] = options->num_beams;
    about[2] = options->skip_special_tokens;
    about[3] = options->include_stop_str_in_output;
    about[4] = options->pad_token_id;
    about[5] = eos.count > 0 ? eos.ids[0] : -1;
}

/* ---- texts ----------------------------------------------------------------------------------------------- */

enum modc_status modc_binding_encode(const char *text, size_t bytes, unsigned flags, int64_t *ids,
                                     struct modc_span *spans, int room, int *count)
{
    const struct modc_tokenizer *t = tokenizer_of();
    struct modc_tokens tokens = {.ids = ids, .spans = spans, .room = room};
    enum modc_status status;
    void *workspace;
    size_t needed;

    *count = 0;
    if (t == NULL)
        return MODC_UNSUPPORTED;
    needed = rounded(modc_encode_bytes(t, bytes) + 1);
    workspace = aligned_alloc(MODC_ALIGN, needed);
    if (workspace == NULL)
        return MODC_MEMORY;
    status = modc_encode(t, text, bytes, flags, &tokens, workspace, needed);
    free(workspace);
    *count = tokens.count;
    return status;
}

enum modc_status modc_binding_decode(const int64_t *ids, int count, unsigned flags, char *out, size_t room,
                                     size_t *bytes)
{
    *bytes = 0;
    return tokenizer_of() != NULL ? modc_decode(tokenizer_of(), ids, count, flags, out, room, bytes)
                                  : MODC_UNSUPPORTED;
}

enum modc_status modc_binding_chat(const struct modc_turn *turns, int count, struct modc_chat *chat,
                                   char *out, size_t room, size_t *bytes, char *message, size_t message_room)
{
    enum modc_status status;
    void *workspace = NULL;

    *bytes = 0;
    if (table_of() == NULL || table_of()->chat == NULL)
        return MODC_UNSUPPORTED;
    do {
        free(workspace);
        chat->workspace_bytes = chat->workspace_needed;
        workspace = malloc(chat->workspace_bytes + 1);
        if (workspace == NULL)
            return MODC_MEMORY;
        chat->workspace = workspace;
        status = table_of()->chat(turns, count, chat, out, room, bytes);
    } while (status == MODC_WORKSPACE && chat->workspace_needed > chat->workspace_bytes);
    if (message_room > 0) { /* which may lie in the workspace */
        const size_t most = message_room - 1, length = status == MODC_ARGUMENT ? chat->refusal.bytes : 0;

        if (length > 0)
            memcpy(message, chat->refusal.data, length < most ? length : most);
        message[length < most ? length : most] = 0;
    }
    free(workspace);
    chat->workspace = NULL;
    return status;
}
