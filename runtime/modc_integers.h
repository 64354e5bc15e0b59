/* modc_integers.h - weights that files hold as integers with scales (docs/language.md, storage): note [integers] in modc.h. */
#ifndef MODC_INTEGERS_H
#define MODC_INTEGERS_H

#include "modc.h"

#define MODC_SCALE_SUFFIX "_scale" /* of the tensor beside the integers */
enum { MODC_STORAGE_TEXT = 96 };   /* room for the longest text, with its 0 byte */

/* As files and specs have it: "int4(group=32)", and " transposed" behind it. */
void modc_storage_text(const struct modc_storage *storage, char out[MODC_STORAGE_TEXT]);
/* The reverse; false where no storage of integers has such a text. */
bool modc_storage_parse(const char *text, struct modc_storage *storage);
bool modc_storage_equal(const struct modc_storage *a, const struct modc_storage *b);

/* A weight of a file: n rows of k integers, of four bits two in a byte, each row with `groups` scales. */
struct modc_held {
    struct modc_storage storage;
    int64_t n, k, groups;
    const unsigned char *integers, *scales; /* wherever they lie */
};

/* modc_report.c: of a report's text. */
struct modc_printer {
    void (*write)(void *user, const char *text, size_t length);
    void *user;
};
void modc_print_text(const struct modc_printer *printer, const char *text);
void modc_print_size(const struct modc_printer *printer, int ndim, const uint64_t *dims);

/* What modc_integers.c does. Programs for chips have it where their model packs integers, 5 KB, and take files of floats alone
 * elsewhere; others have it always. Rows are those of a key, or of the first of its tie. */
struct modc_integer_code {
    /* Whether an item is integers with scales, where the key has floats. */
    bool (*is_held)(const struct modc_reader *reader, const struct modc_key *key,
                    const struct modc_item *item);
    /* As what it is held; own: as what the model packs the key, NULL: as no integers. After a fault *wrong is the item that is, and
     * held->storage is known where the fault is not of the text. */
    enum modc_integers_fault (*read)(const struct modc_reader *reader, const struct modc_key *key,
                                     const struct modc_integers *own, const struct modc_item *item,
                                     struct modc_held *held, struct modc_item *wrong);
    bool (*equal)(const struct modc_held *a, const struct modc_held *b);
    /* The numbers that it stands for, in the order of the parameter, which has this type. */
    void (*numbers)(const struct modc_held *held, enum modc_dtype dtype, void *out);
    /* Keeps the scales of what was loaded to a key; held NULL: it came without. */
    void (*keep)(struct modc_params *params, int key, const struct modc_held *held);
    void (*forget)(struct modc_params *params); /* those of all */
    void (*copy)(const struct modc_params *from, struct modc_params *to);
    const struct modc_integers *(*row_of)(const struct modc_model *model, int key); /* NULL: it has none */
    /* Whether all of a parameter still are multiples of the scales that it came with; then what a file has of it, the integers
     * without data. */
    bool (*has)(const struct modc_params *params, const struct modc_integers *row);
    void (*tensor)(const struct modc_params *params, const struct modc_integers *row, bool scales,
                   struct modc_tensor *tensor);
    void (*get)(const struct modc_params *params, const struct modc_integers *row, void *out);
    /* What a report says of a fault. */
    void (*print)(const struct modc_printer *printer, const struct modc_report *report,
                  const struct modc_fault *fault);
};

static inline const struct modc_integer_code *modc_integer_code_of(const struct modc_model *model)
{
    return MODC_SMALL ? model->integer_code : &modc_integer_code;
}

#endif
