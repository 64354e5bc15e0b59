/* tokenizer.c - what a tokenizer says of its arguments, and a model that takes its ids (tests/specs/tokenizer.yaml). That ids are
 * right, tests/support/tokens.py looks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "reader.h"

static const char text[] = "The model's names.";
enum { BYTES = sizeof text - 1, ROOM = 64 };

static MODC_ALIGNED char workspace[READER_TOKENIZER_BYTES(BYTES)];
static int64_t ids[ROOM];
static struct modc_span spans[ROOM];

static void test_arguments(void)
{
    struct modc_tokens tokens = {ids, spans, ROOM, 0};
    int whole;

    CHECK(reader_encode_text(text, BYTES, 0, NULL, workspace, sizeof workspace) == MODC_POINTER);
    CHECK(reader_encode_text(NULL, BYTES, 0, &tokens, workspace, sizeof workspace) == MODC_POINTER);
    CHECK(reader_encode_text(text, BYTES, 0, &tokens, workspace + 1, sizeof workspace - 1) == MODC_ALIGNMENT);
    CHECK(reader_encode_text(text, BYTES, 0, &tokens, workspace, 8) == MODC_WORKSPACE);
    CHECK(reader_encode_text(text, BYTES, 0, &tokens, NULL, 0) == MODC_WORKSPACE);
    CHECK(reader_encode_text(text, (size_t)INT32_MAX + 1, 0, &tokens, workspace, sizeof workspace) ==
          MODC_SIZE);
    CHECK(reader_encode_text(text, BYTES, 0, &tokens, workspace, sizeof workspace) == MODC_OK);
    whole = tokens.count;
    CHECK(whole > 4 && ids[0] == reader_token_id("[CLS]", 5) &&
          ids[whole - 1] == reader_token_id("[SEP]", 5));
    CHECK(spans[1].start == 0 && spans[whole - 1].end == 0 && spans[whole - 2].end == BYTES);
    tokens.room = 3;
    CHECK(reader_encode_text(text, BYTES, 0, &tokens, workspace, sizeof workspace) == MODC_SIZE &&
          tokens.count == whole);
    tokens.room = -1;
    CHECK(reader_encode_text(text, BYTES, 0, &tokens, workspace, sizeof workspace) == MODC_SIZE);
    tokens = (struct modc_tokens){NULL, NULL, 3, 0};
    CHECK(reader_encode_text(text, BYTES, 0, &tokens, workspace, sizeof workspace) == MODC_POINTER);
    tokens = (struct modc_tokens){ids, NULL, ROOM, 0};
    CHECK(reader_encode_text(NULL, 0, MODC_NO_TEMPLATE, &tokens, NULL, 0) == MODC_OK && tokens.count == 0);
    CHECK(reader_encode_text("[SEP]", 5, MODC_NO_TEMPLATE, &tokens, workspace, sizeof workspace) == MODC_OK &&
          tokens.count == 1);
    CHECK(reader_encode_text("[SEP]", 5, MODC_NO_TEMPLATE | MODC_ALL_TEXT, &tokens, workspace,
                             sizeof workspace) == MODC_OK &&
          tokens.count > 1);
    CHECK(modc_encode_bytes(&reader_tokenizer, BYTES) == sizeof workspace);
    CHECK(modc_encode_bytes(&reader_tokenizer, SIZE_MAX) == SIZE_MAX);
}

static void test_decoding(void)
{
    struct modc_tokens tokens = {ids, NULL, ROOM, 0};
    char out[256], piece[READER_TOKENIZER_TEXT];
    size_t bytes, own, count = 0;
    struct modc_decoder decoder;

    CHECK(reader_encode_text(text, BYTES, 0, &tokens, workspace, sizeof workspace) == MODC_OK);
    CHECK(reader_decode_text(ids, tokens.count, 0, out, sizeof out, NULL) == MODC_POINTER);
    CHECK(reader_decode_text(NULL, tokens.count, 0, out, sizeof out, &bytes) == MODC_POINTER);
    CHECK(reader_decode_text(ids, tokens.count, 0, NULL, 5, &bytes) == MODC_POINTER);
    CHECK(reader_decode_text(ids, tokens.count, 0, out, 4, &bytes) == MODC_SIZE && bytes > 4 &&
          memcmp(out, "the ", 4) == 0);
    CHECK(reader_decode_text(ids, tokens.count, 0, out, sizeof out, &bytes) == MODC_OK &&
          strlen(out) == bytes);
    reader_decoder_init(&decoder, 0);
    for (int i = 0; i < tokens.count; i++) {
        struct modc_decoder before = decoder;

        CHECK(modc_decoder_push(&decoder, ids[i], piece, 0, &own) == (own > 0 ? MODC_SIZE : MODC_OK));
        decoder = before;
        CHECK(modc_decoder_push(&decoder, ids[i], piece, sizeof piece, &own) == MODC_OK);
        CHECK(count + own <= bytes && memcmp(out + count, piece, own) == 0);
        count += own;
    }
    CHECK(modc_decoder_push(&decoder, -1, piece, sizeof piece, &own) == MODC_OK && own == 0);
    CHECK(modc_decoder_push(&decoder, READER_TOKENIZER_VOCABULARY, piece, sizeof piece, &own) == MODC_OK &&
          own == 0);
    CHECK(modc_decoder_end(&decoder, piece, sizeof piece, &own) == MODC_OK && count + own == bytes);
}

static void test_tokens(void)
{
    size_t bytes;

    CHECK(reader_token_text(-1, &bytes) == NULL &&
          reader_token_text(READER_TOKENIZER_VOCABULARY, &bytes) == NULL);
    for (int i = 0; i < READER_TOKENIZER_VOCABULARY; i++) {
        const char *token = reader_token_text(i, &bytes);

        CHECK(token && reader_token_id(token, bytes) == i);
    }
    CHECK(reader_token_id("no such token", 13) == -1);
    CHECK(reader_token_id("[UNK]", 5) == READER_TOKENIZER_UNK &&
          modc_token_is_special(&reader_tokenizer, READER_TOKENIZER_UNK));
}

static void test_model(void)
{
    static MODC_ALIGNED char params_block[READER_PARAM_BYTES], packed[READER_PACKED_BYTES + 1],
        net_block[READER_WORKSPACE_BYTES + 1];
    struct modc_tokens tokens = {ids, NULL, ROOM, 0};
    struct reader_params params;
    struct reader net;
    float output[2];

    CHECK(reader_encode_text(text, BYTES, 0, &tokens, workspace, sizeof workspace) == MODC_OK);
    CHECK(reader_bind(&params, params_block, sizeof params_block) == MODC_OK);
    CHECK(reader_reset(&params, 0) == MODC_OK);
    CHECK(reader_pack(&params, packed, sizeof packed) == MODC_OK);
    CHECK(reader_init(&net, &params, net_block, sizeof net_block) == MODC_OK);
    CHECK(reader_forward(&net, tokens.count, ids, output) == MODC_OK);
}

int main(void)
{
    test_arguments();
    test_decoding();
    test_tokens();
    test_model();
    return 0;
}
