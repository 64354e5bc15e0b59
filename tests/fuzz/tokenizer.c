/* tokenizer.c - the fuzz target of tokenizers: any bytes as a tokenizer.json, and behind a 0 a text for it. Whatever is refused is
 * said; what is read encodes any text in the workspace that it asks for, and decodes any ids, token by token as well. */
#include "fuzz.h"

#include "base/options.h"
#include "modc_tokenizer.h"
#include "tokenizer/tokenizer.h"

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "it does not hold that %s\n", what);
    abort();
}

/* A block of its own size at a multiple of MODC_ALIGN. */
static void *block(size_t bytes)
{
    void *memory;

    if (posix_memalign(&memory, MODC_ALIGN, bytes > 0 ? bytes : 1) != 0)
        abort();
    return memory;
}

static void decode(const struct modc_tokenizer *t, const struct modc_tokens *tokens, unsigned flags)
{
    struct modc_decoder decoder;
    size_t bytes, own;
    char *text, *piece = block((size_t)t->decode_token_bytes);

    modc_decode(t, tokens->ids, tokens->count, flags, NULL, 0, &bytes);
    text = block(bytes);
    check(modc_decode(t, tokens->ids, tokens->count, flags, text, bytes, &own) == MODC_OK && own == bytes,
          "a text has the bytes that were counted");
    modc_decoder_init(&decoder, t, flags);
    for (int i = 0; i < tokens->count; i++)
        check(modc_decoder_push(&decoder, tokens->ids[i], piece, (size_t)t->decode_token_bytes, &own) ==
                  MODC_OK,
              "what a token completes has the room that is promised");
    check(modc_decoder_end(&decoder, piece, (size_t)t->decode_token_bytes, &own) == MODC_OK, "a text ends");
    free(text);
    free(piece);
}

static void encode(const struct modc_tokenizer *t, const char *text, size_t bytes, unsigned flags)
{
    struct modc_tokens tokens = {NULL, NULL, 0, 0};
    const size_t room = modc_encode_bytes(t, bytes);
    void *workspace;
    enum modc_status status;

    if (room > (size_t)64 << 20)
        return;
    workspace = block(room);
    status = modc_encode(t, text, bytes, flags, &tokens, workspace, room);
    check(status == (tokens.count > 0 ? MODC_SIZE : MODC_OK),
          "the workspace is as large as it was said to be");
    tokens.room = tokens.count;
    tokens.ids = block((size_t)tokens.room * sizeof *tokens.ids);
    tokens.spans = block((size_t)tokens.room * sizeof *tokens.spans);
    check(modc_encode(t, text, bytes, flags, &tokens, workspace, room) == MODC_OK, "a text is encoded");
    for (int i = 0; i < tokens.count; i++)
        check(tokens.ids[i] >= 0 && tokens.ids[i] < t->vocabulary &&
                  tokens.spans[i].start <= tokens.spans[i].end && tokens.spans[i].end <= bytes,
              "ids and spans are in their ranges");
    decode(t, &tokens, flags);
    free(tokens.ids);
    free(tokens.spans);
    free(workspace);
}

/* Patterns that a text can make slow, as they do in other engines: many parts that take the same characters. */
static bool is_slow(const char *json)
{
    int parts = 0;

    for (; *json; json++)
        parts += *json == '*' || *json == '+' || *json == '{';
    return parts > 40;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
    const size_t length = end ? (size_t)(end - data) : size, rest = end ? size - length - 1 : 0;
    char *json = fuzz_copy(data, length, 1), *text = fuzz_copy(end ? end + 1 : data, rest, 0);
    struct source source = {.name = "fuzz/tokenizer.json", .text = json, .length = length};
    struct options options = {0};
    struct cx cx = {.options = &options};
    const struct tokenizer *tokenizer = NULL;

    if (!is_slow(json)) {
        tokenizer = tokenizer_of_source(&cx, &source);
        check(!tokenizer == (diag_errors(&cx) > 0), "what is refused is said");
    }
    for (unsigned flags = 0; tokenizer && flags < 16; flags += 5)
        encode(tokenizer->table, text, rest, flags);
    diag_print(&cx, fuzz_sink(), DIAG_PLAIN);
    arena_free(&cx.arena);
    free(json);
    free(text);
    return 0;
}
