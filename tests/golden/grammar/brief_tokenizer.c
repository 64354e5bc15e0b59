/* brief_tokenizer.c - written by modc from small_tokenizer.json, which grammar_small.yaml names.
 * Change these, not this file. It is yours, under any terms. */
#include "brief.h"

/* The 10 tokens, one behind the other: 25 bytes. */
static const uint8_t token_bytes[25] = {
    60, 117, 110, 107, 62, 60, 115, 62, 226, 150, 129, 97, 98, 99, 226, 150, 129, 97, 98, 99, 97,
    98, 99, 97, 98,
};

/* Where each of them begins. */
static const uint32_t token_starts[11] = {
    0u, 5u, 8u, 11u, 12u, 13u, 14u, 18u, 20u, 23u, 25u,
};

/* What each of them is: MODC_TOKEN_WHOLE and so on. */
static const uint8_t token_flags[10] = {
    3, 2, 1, 1, 1, 1, 1, 1, 1, 1,
};

/* The model's tokens by their bytes: a double array. */
static const uint32_t token_trie[484] = {
    2049u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 6u, 8u, 0u, 0u,
    0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u,
    0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 18u, 0u, 0u, 0u, 0u, 4u, 4217u, 0u, 0u, 0u, 0u, 3709u, 1661u,
    0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u,
    0u, 0u, 0u, 0u, 0u, 0u, 41667u, 43717u, 11975u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u,
    0u, 0u, 0u, 0u, 8423u, 115397u, 90347u, 16071u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u,
    0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 55597u, 102621u,
    18119u, 125699u, 10455u, 14019u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u,
    0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u,
    0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u,
    0u, 0u, 0u, 0u, 6597u,
};

/* A bit for each hash of two characters that stand beside each other in a token. */
static const uint8_t joints[512] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    1, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0,
};

/* For grammars: tokens sorted by what they are behind others. */
static const uint32_t order_ids[8] = {
    2u, 6u, 3u, 9u, 8u, 4u, 7u, 5u,
};

/* Bytes that each of these shares with the one before it. */
static const uint8_t order_shared[8] = {
    0, 1, 0, 1, 2, 0, 1, 0,
};

/* How many it has behind those. */
static const uint8_t order_more[8] = {
    1, 1, 1, 1, 1, 1, 1, 1,
};

/* These. */
static const uint8_t order_bytes[8] = {
    32, 97, 97, 98, 99, 98, 99, 99,
};

static const struct modc_token_order order = {
    .ids = order_ids,
    .shared = order_shared,
    .more = order_more,
    .bytes = order_bytes,
    .count = 8,
};

/* Tokens that are looked for in texts, one behind the other. */
static const uint8_t added_bytes[8] = {
    60, 115, 62, 60, 117, 110, 107, 62,
};

/* Those that are looked for in the text as it is, sorted: where their bytes are, how many, id, flags. */
static const struct modc_added added[2] = {
    {0, 3, 1, 8}, /* <s> */
    {3, 5, 0, 8}, /* <unk> */
};

const struct modc_tokenizer brief_tokenizer = {
    .name = "small_tokenizer.json",
    .vocabulary = 10,
    .bytes = token_bytes,
    .starts = token_starts,
    .flags = token_flags,
    .trie = token_trie,
    .trie_units = 484,
    .longest = 5,
    .model = MODC_BPE,
    .fuse_unknown = true,
    .unknown = 0,
    .joints = joints,
    .joint_bits = 12,
    .added = {added, 2, {0x0u, 0x10000000u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u}},
    .added_bytes = (const char *)added_bytes,
    .steps = {
        {.kind = MODC_STEP_PREPEND,
         .growth = 1,
         .to = "\342\226\201",
         .to_bytes = 3,
        },
        {.kind = MODC_STEP_REPLACE,
         .growth = 3,
         .from = " ",
         .from_bytes = 1,
         .to = "\342\226\201",
         .to_bytes = 3,
        },
    },
    .step_count = 2,
    .workspace_rate = 159,
    .workspace_rest = 1203,
    .before = (const int64_t[]){1},
    .before_count = 1,
    .decode_replace = {.kind = MODC_STEP_REPLACE,
         .growth = 1,
         .from = "\342\226\201",
         .from_bytes = 3,
         .to = " ",
         .to_bytes = 1,
        },
    .decode_strip = " ",
    .decode_strip_bytes = 1,
    .decode_strip_count = 1,
    .order = &order,
    .decode_token_bytes = 34,
    .bos = -1,
    .eos = -1,
    .pad = -1,
    .unk = 0,
};
