/* tokenizer.h - a tokenizer.json becomes the tables of the runtime, in memory: the command works with them as they are, and emit
 * prints them. What is in the file and not known here is refused, with its path in the file. */
#ifndef MODC_TOKENIZER_READ_H
#define MODC_TOKENIZER_READ_H

#include "base/diag.h"

#include <stdint.h>

struct modc_tokenizer; /* modc_tokenizer.h */

/* A tokenizer as it was read, with what its tables do not say themselves. */
struct tokenizer {
    const struct modc_tokenizer *table;
    const char *path;
    uint64_t hash;     /* of the file */
    int kind_pages;    /* of 128 characters each, in table.kinds */
    int added_bytes;   /* of table.added_bytes */
    int order_bytes;   /* of table.order, where there is one */
    const char *model; /* "BPE" */
};

#define TOKENIZER_MAX_BYTES ((size_t)256 << 20)

/* NULL after an error: at a place of the file, or at `loc` where it cannot be read. A tokenizer_config.json beside it says which
 * tokens begin and end texts. */
const struct tokenizer *tokenizer_read(struct cx *cx, struct loc loc, const char *path);

/* The same of a text that was read. */
const struct tokenizer *tokenizer_of_source(struct cx *cx, const struct source *source);

/* The same with its tokens in order, as grammars want them. */
const struct tokenizer *tokenizer_sorted(struct cx *cx, const struct tokenizer *tokenizer);

/* Bytes of its tables, as constants of a program. */
int64_t tokenizer_bytes(const struct tokenizer *tokenizer);

#endif
