/* tokenizer_reader.h - what the files share that read a tokenizer.json; nobody else includes it. */
#ifndef MODC_TOKENIZER_READER_H
#define MODC_TOKENIZER_READER_H

#include "base/json.h"
#include "base/text.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode.h"

struct modc_stage; /* modc_tokenizer.h */
struct modc_charsmap;

/* A set of characters of a pattern, whose mask of kinds is written when all sets are known (note [kinds] in modc_tokenizer.h). */
struct kind_set {
    const struct characters *characters;
    uint64_t *mask;
};

struct tokenizer_reader {
    struct cx *cx;
    const struct source *source;
    struct tokenizer *own;
    struct modc_tokenizer *t;
    const struct json *root;
    bool byte_level; /* the pre-tokenizer makes bytes of pieces */
    struct kind_set *sets;
    int set_count;
    const char **vocabulary; /* by id, as the file has them; NULL: none */
    size_t *lengths;
    uint32_t *slots; /* of their hash table: 1 + id */
    uint32_t slot_count;
};

/* Says what is wrong with a value at a path of the file. Gives false. */
bool tokenizer_refuse(struct tokenizer_reader *r, const struct json *at, const char *path, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));

/* "pre_tokenizer.pretokenizers[1]", of a path, a key and (not below 0) an index. */
const char *tokenizer_path(struct tokenizer_reader *r, const char *path, const char *key, int index);

/* Members of an object; false after an error. What is missing or null is the default. */
bool tokenizer_bool(struct tokenizer_reader *r, const struct json *object, const char *path, const char *key,
                    bool *value);
bool tokenizer_text(struct tokenizer_reader *r, const struct json *object, const char *path, const char *key,
                    const struct json **value);
bool tokenizer_whole(struct tokenizer_reader *r, const struct json *object, const char *path, const char *key,
                     int64_t most, int64_t *value);

/* An object whose keys are all among these words, with spaces between them. */
bool tokenizer_keys(struct tokenizer_reader *r, const struct json *object, const char *path,
                    const char *keys);

/* The list of a Sequence, which has no other key than this and its type; NULL after an error. */
const struct json *tokenizer_sequence(struct tokenizer_reader *r, const struct json *object, const char *path,
                                      const char *key);

/* The value of `type`; NULL after an error. */
const char *tokenizer_type(struct tokenizer_reader *r, const struct json *object, const char *path);

/* The mask of a set is written by tokenizer_kinds. */
void tokenizer_add_set(struct tokenizer_reader *r, const struct characters *characters, uint64_t *mask);
bool tokenizer_kinds(struct tokenizer_reader *r, const struct json *root);

/* ---- the parts ---------------------------------------------------------------------------------------------- */

/* tokenizer_regex.c: the pattern of a stage; its masks and `firsts` are complete after tokenizer_kinds and regex_finish. */
bool regex_read(struct tokenizer_reader *r, const struct json *pattern, const char *path, const char *text,
                size_t bytes, struct modc_stage *stage);
void regex_finish(struct tokenizer_reader *r, struct modc_stage *stage);

/* How many characters a match has at least. */
int regex_least(struct tokenizer_reader *r, const struct modc_stage *stage);

/* A pattern that matches one character of the first of these sets, or of the next ones; runs: as many as there are. */
void regex_of_sets(struct tokenizer_reader *r, const struct characters *const *sets, int count, bool runs,
                   struct modc_stage *stage);

/* tokenizer_text.c: normalisers, and steps of decoders */
bool normalizer_read(struct tokenizer_reader *r, const struct json *json, const char *path);

/* What rows of steps make of plain characters, when kinds are known. */
void normalizer_finish(struct tokenizer_reader *r);

/* tokenizer_charsmap.c: the map of a Precompiled, and how many bytes a byte becomes at most */
bool charsmap_read(struct tokenizer_reader *r, const struct json *json, const char *path,
                   const struct modc_charsmap **charsmap, int *growth);

/* tokenizer_split.c */
bool pre_tokenizer_read(struct tokenizer_reader *r, const struct json *json, const char *path);

/* tokenizer_model.c: the vocabulary, with added tokens, and the model over it */
bool model_read(struct tokenizer_reader *r, const struct json *root);

/* The id of a token as the file has it, or -1. */
int64_t vocabulary_find(const struct tokenizer_reader *r, const char *text, size_t bytes);

/* tokenizer_post.c: what stands around texts, and how ids become text */
bool post_processor_read(struct tokenizer_reader *r, const struct json *json, const char *path);
bool decoder_read(struct tokenizer_reader *r, const struct json *json, const char *path);

#endif
