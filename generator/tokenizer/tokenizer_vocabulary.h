/* tokenizer_vocabulary.h - the tokens of a tokenizer by id, as they come from the model and from `added_tokens`. */
#ifndef MODC_TOKENIZER_VOCABULARY_H
#define MODC_TOKENIZER_VOCABULARY_H

#include "tokenizer/tokenizer_reader.h"

/* Takes a token of the model; false after an error. */
bool vocabulary_add(struct tokenizer_reader *r, const struct json *at, const char *path,
                    const struct json *token, int64_t id);

/* Room for ids below `count`, with a table by which they are found. */
bool vocabulary_start(struct tokenizer_reader *r, const struct json *at, const char *path, int64_t count);

/* The section `added_tokens`, which ids may be above the model's. */
bool vocabulary_read_added(struct tokenizer_reader *r, const struct json *root);

/* The most ids that a tokenizer may have. */
enum { VOCABULARY_MOST = 1 << 22 };

/* The tables of tokens: their bytes, flags, and a trie of the model's; false after an error. */
bool vocabulary_finish(struct tokenizer_reader *r);

/* The bytes that characters of byte-level BPE stand for; false: one of them stands for none. */
bool vocabulary_bytes(const char *token, size_t length, unsigned char *bytes, size_t *count);

#endif
