/* tokenize.c - texts and ids of the command line and of standard input; see tokenize.h. */
#include "commands/tokenize.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/options.h"
#include "modc_tokenizer.h"
#include "tokenizer/tokenizer.h"

static const struct loc nowhere = {0};

/* What lines share: memory that grows with them. */
struct lines {
    struct cx *cx;
    const struct modc_tokenizer *t;
    struct text *out;
    unsigned flags;
    bool json;
    char *workspace, *text;
    size_t workspace_bytes, text_bytes;
    int64_t *ids;
    struct modc_span *spans;
    int room;
};

/* Memory at a multiple of MODC_ALIGN, twice what was there. */
static void *more(struct lines *l, size_t bytes)
{
    char *block = arena_alloc(&l->cx->arena, bytes + MODC_ALIGN);

    return block + (MODC_ALIGN - (uintptr_t)block % MODC_ALIGN) % MODC_ALIGN;
}

static void grow(struct lines *l, size_t bytes, int room)
{
    const size_t needed = modc_encode_bytes(l->t, bytes);

    if (needed > l->workspace_bytes) {
        l->workspace_bytes = 2 * needed;
        l->workspace = more(l, l->workspace_bytes);
    }
    if (room > l->room) {
        l->room = 2 * room;
        l->ids = ARENA_ARRAY(&l->cx->arena, l->room, int64_t);
        l->spans = ARENA_ARRAY(&l->cx->arena, l->room, struct modc_span);
    }
}

static void print_ids(struct lines *l, const char *text, size_t bytes)
{
    struct modc_tokens tokens;

    grow(l, bytes, (int)(bytes < 1 << 20 ? bytes : 1 << 20) + 64);
    for (;;) {
        enum modc_status status;

        tokens = (struct modc_tokens){.ids = l->ids, .spans = l->json ? l->spans : NULL, .room = l->room};
        status = modc_encode(l->t, text, bytes, l->flags, &tokens, l->workspace, l->workspace_bytes);
        if (status == MODC_OK)
            break;
        assert(status == MODC_SIZE && tokens.count > l->room);
        grow(l, bytes, tokens.count);
    }
    text_add(l->out, l->json ? "{\"ids\": [" : "");
    for (int i = 0; i < tokens.count; i++)
        text_printf(l->out, "%s%lld", i == 0 ? "" : l->json ? ", " : " ", (long long)tokens.ids[i]);
    if (l->json) {
        text_add(l->out, "], \"offsets\": [");
        for (int i = 0; i < tokens.count; i++)
            text_printf(l->out, "%s[%u, %u]", i ? ", " : "", (unsigned)tokens.spans[i].start,
                        (unsigned)tokens.spans[i].end);
        text_add(l->out, "]}");
    }
    text_add(l->out, "\n");
}

static void print_text(struct lines *l, const int64_t *ids, int count)
{
    size_t bytes;

    while (modc_decode(l->t, ids, count, l->flags, l->text, l->text_bytes, &bytes) != MODC_OK ||
           bytes >= l->text_bytes) {
        l->text_bytes = 2 * bytes + 64;
        l->text = more(l, l->text_bytes);
    }
    if (l->json)
        text_json_bytes(l->out, l->text, bytes);
    else
        text_add_bytes(l->out, l->text, bytes);
    text_add(l->out, "\n");
}

/* "1 15043 3186", or with commas */
static int print_listed(struct lines *l, const char *list)
{
    int64_t *ids = NULL;
    int count = 0;

    for (const char *at = list + strspn(list, " ,"); *at; at += strspn(at, " ,")) {
        char *end;
        long long id;

        errno = 0;
        id = strtoll(at, &end, 10);
        if (end == at || errno != 0 || !strchr(" ,", *end)) {
            diag_error(l->cx, nowhere, "--ids takes numbers with spaces between them, found '%s'", at);
            return EXIT_COMMAND_LINE;
        }
        ARENA_PUSH(&l->cx->arena, ids, count, (int64_t)id);
        at = end;
    }
    print_text(l, ids, count);
    return EXIT_DONE;
}

/* A line of JSON. */
static bool print_json(struct lines *l, const struct source *source, size_t from, size_t until)
{
    const struct json *json = json_read_part(l->cx, source, from, until);
    int64_t *ids;

    if (!json)
        return false;
    if (json->kind == JSON_STRING) {
        print_ids(l, json->text, json->bytes);
        return true;
    }
    ids = ARENA_ARRAY(&l->cx->arena, json->count + 1, int64_t);
    for (int i = 0; json->kind == JSON_LIST && i < json->count; i++) {
        ids[i] = json->items[i].number >= 0 && json->items[i].number < 1e18 ? (int64_t)json->items[i].number
                                                                            : -1;
        if (json->items[i].kind != JSON_NUMBER)
            ids = NULL;
        if (!ids)
            break;
    }
    if (json->kind != JSON_LIST || !ids) {
        diag_error(l->cx, diag_loc(l->cx, source, json->at, 1), "a line is a text, or a list of ids");
        return false;
    }
    print_text(l, ids, json->count);
    return true;
}

static int print_lines(struct lines *l)
{
    const char *error = NULL;
    const struct source *source = source_read(l->cx, "-", TOKENIZER_MAX_BYTES, &error);

    if (!source) {
        diag_error(l->cx, nowhere, "%s", error);
        return EXIT_FILE;
    }
    for (size_t at = 0, end; at < source->length; at = end + 1) {
        const char *feed = memchr(source->text + at, '\n', source->length - at);

        end = feed ? (size_t)(feed - source->text) : source->length;
        if (!l->json)
            print_ids(l, source->text + at, end - at);
        else if (end > at && !print_json(l, source, at, end))
            return EXIT_FILE;
    }
    return EXIT_DONE;
}

int tokenize_print(struct cx *cx, struct text *out)
{
    const struct options *options = cx->options;
    struct lines l = {.cx = cx, .out = out};
    const struct tokenizer *tokenizer = tokenizer_read(cx, nowhere, options->argument);

    if (!tokenizer)
        return EXIT_FILE;
    l.t = tokenizer->table;
    l.json = options->format && strcmp(options->format, "json") == 0;
    l.flags = (options->no_template ? MODC_NO_TEMPLATE : 0u) | (options->all_text ? MODC_ALL_TEXT : 0u) |
              (options->keep_special ? MODC_KEEP_SPECIAL : 0u);
    if (options->ids)
        return print_listed(&l, options->ids);
    if (options->text)
        print_ids(&l, options->text, strlen(options->text));
    return options->text ? EXIT_DONE : print_lines(&l);
}
