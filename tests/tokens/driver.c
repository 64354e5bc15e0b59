/* driver.c - a model's tokenizer over texts of standard input, for tests/support/tokens.py: each is its length in bytes, a line
 * feed, the bytes. Of each it prints ids, spans, ids without the template, and what is decoded, with and without special tokens, in
 * hexadecimal; and looks whether token by token gives the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "m.h"

enum { MOST = 1 << 20 };

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "it does not hold that %s\n", what);
    exit(1);
}

static void print_hex(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        printf("%02x", (unsigned char)text[i]);
    printf("\n");
}

/* A block of its own size: a sanitizer sees what goes beyond. */
static void *block(size_t bytes)
{
    void *memory = NULL;

    check(posix_memalign(&memory, MODC_ALIGN, bytes > 0 ? bytes : 1) == 0, "there is memory");
    return memory;
}

static struct modc_tokens encode(const char *text, size_t bytes, unsigned flags)
{
    struct modc_tokens tokens = {NULL, NULL, 0, 0}, less;
    const size_t room = M_TOKENIZER_BYTES(bytes);
    void *workspace = block(room);
    enum modc_status status = m_encode_text(text, bytes, flags, &tokens, workspace, room);

    check(room == modc_encode_bytes(&m_tokenizer, bytes),
          "the header and the runtime count the workspace alike");
    check(status == (tokens.count > 0 ? MODC_SIZE : MODC_OK), "tokens are counted where there is no room");
    tokens.room = tokens.count;
    tokens.ids = block((size_t)tokens.room * sizeof *tokens.ids);
    tokens.spans = block((size_t)tokens.room * sizeof *tokens.spans);
    check(m_encode_text(text, bytes, flags, &tokens, workspace, room) == MODC_OK &&
              tokens.count == tokens.room,
          "a text is encoded");
    less = tokens;
    less.spans = NULL;
    less.ids = block((size_t)tokens.room * sizeof *less.ids);
    check(m_encode_text(text, bytes, flags, &less, workspace, room) == MODC_OK &&
              less.count == tokens.count &&
              memcmp(less.ids, tokens.ids, (size_t)tokens.count * sizeof *less.ids) == 0,
          "they are the same where nobody asks for spans");
    free(less.ids);
    less.room = tokens.room / 2;
    less.ids = block((size_t)less.room * sizeof *less.ids);
    check(m_encode_text(text, bytes, flags, &less, workspace, room) ==
                  (tokens.count > less.room ? MODC_SIZE : MODC_OK) &&
              less.count == tokens.count &&
              memcmp(less.ids, tokens.ids, (size_t)less.room * sizeof *less.ids) == 0,
          "the first of them are there where not all have room");
    free(less.ids);
    free(workspace);
    for (int i = 0; i < tokens.count; i++)
        check(tokens.spans[i].start <= tokens.spans[i].end && tokens.spans[i].end <= bytes,
              "spans lie in the text");
    return tokens;
}

/* Text of ids, all at once; token by token it is the same. */
static void decode(const struct modc_tokens *tokens, unsigned flags)
{
    static char stream[MOST], piece[M_TOKENIZER_TEXT];
    size_t bytes, count = 0, own;
    struct modc_decoder decoder;
    char *text;

    m_decode_text(tokens->ids, tokens->count, flags, NULL, 0, &bytes);
    text = block(bytes + 1);
    check(m_decode_text(tokens->ids, tokens->count, flags, text, bytes + 1, &own) == MODC_OK &&
              own == bytes && text[bytes] == 0,
          "a text is decoded");
    print_hex(text, bytes);
    m_decoder_init(&decoder, flags);
    for (int i = 0; i < tokens->count; i++) {
        check(modc_decoder_push(&decoder, tokens->ids[i], piece, sizeof piece, &own) == MODC_OK &&
                  count + own <= MOST,
              "what a token completes has the room that is promised");
        memcpy(stream + count, piece, own);
        count += own;
    }
    check(modc_decoder_end(&decoder, piece, sizeof piece, &own) == MODC_OK, "a text ends");
    memcpy(stream + count, piece, own);
    count += own;
    if (getenv("STREAMS"))
        check(count == bytes && memcmp(stream, text, bytes) == 0, "token by token gives the same");
    free(text);
}

int main(void)
{
    static char text[MOST];
    size_t bytes;

    while (scanf("%zu", &bytes) == 1 && getchar() == '\n' && bytes < MOST) {
        struct modc_tokens tokens, plain;
        char *own = block(bytes);

        check(fread(text, 1, bytes, stdin) == bytes, "a text is there");
        memcpy(own, text, bytes);
        tokens = encode(own, bytes, 0);
        plain = encode(own, bytes, MODC_NO_TEMPLATE | MODC_ALL_TEXT);
        free(plain.ids);
        free(plain.spans);
        plain = encode(own, bytes, MODC_NO_TEMPLATE);
        for (int i = 0; i < tokens.count; i++)
            printf("%lld ", (long long)tokens.ids[i]);
        printf("\n");
        for (int i = 0; i < tokens.count; i++)
            printf("%u %u ", (unsigned)tokens.spans[i].start, (unsigned)tokens.spans[i].end);
        printf("\n");
        for (int i = 0; i < plain.count; i++)
            printf("%lld ", (long long)plain.ids[i]);
        printf("\n");
        decode(&tokens, 0);
        decode(&tokens, MODC_KEEP_SPECIAL);
        decode(&tokens, MODC_KEEP_SPECIAL | MODC_RAW_BYTES);
        for (int i = 0; i < tokens.count; i++) {
            size_t length;
            const char *token = m_token_text(tokens.ids[i], &length);

            check(token && m_token_id(token, length) >= 0, "a token is found by its text");
        }
        free(tokens.ids);
        free(tokens.spans);
        free(plain.ids);
        free(plain.spans);
        free(own);
    }
    return 0;
}
