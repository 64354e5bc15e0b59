/* modc_safetensors.h - reads and writes safetensors in memory, for any tensors. A part of modc.h, which includes it: models load and
 * save through it, and programs their inputs and results. */
#ifndef MODC_SAFETENSORS_H
#define MODC_SAFETENSORS_H

#include "modc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file in memory that passed every check of module-semantics 7.3. */
struct modc_reader {
    const unsigned char *bytes;  /* the whole file */
    size_t length, header, data; /* header: bytes of JSON after the first 8; data: where tensors start */
    bool duplicates;             /* a name stands there twice; the last one counts */
    size_t count;                /* tensors */
    const struct modc_place
        *index; /* NULL, or all that stands there, by name: in the memory of modc_reader_open_indexed */
    size_t indexed;
    const unsigned char
        *marked; /* names of tensors that are complex128, as the metadata have them; or NULL */
    size_t marked_length;
    const unsigned char
        *stored; /* lines of what is held as integers with scales, as the metadata have them; or NULL */
    size_t stored_length;
};

/* Of the metadata of a file: the names of its complex128 tensors, a line each, which are float64 with a last dimension of 2 there;
 * and of its weights that are integers what they are, a line "fc.weight: int4(group=32)" each. */
#define MODC_COMPLEX128_KEY "modc.complex128"
#define MODC_STORAGE_KEY "modc.storage"

/* Where something stands, and what it is sorted by. */
struct modc_place {
    uint64_t first, second;
    size_t at;
};

struct modc_item {
    const char *name; /* as it stands in the JSON, between the quotes */
    size_t name_length;
    const char *dtype_name; /* "F32"; of what is marked as complex128, "C128" */
    int dtype;              /* enum modc_dtype, or -1: one that modc does not have */
    int ndim;               /* may be over MODC_MAX_DIMS; dims has the first ones */
    uint64_t dims[MODC_MAX_DIMS];
    const void *data;
    size_t bytes;
};

/* MODC_FORMAT; report may be NULL. */
enum modc_status modc_reader_open(struct modc_reader *reader, const void *bytes, size_t length,
                                  struct modc_report *report);
/* The same with memory, aligned for struct modc_place, that lasts as long as the reader: of modc_reader_index_bytes(bytes, length) all
 * takes n log n steps for n tensors, with less or none (NULL) it may take n squared. */
enum modc_status modc_reader_open_indexed(struct modc_reader *reader, const void *bytes, size_t length,
                                          void *memory, size_t memory_bytes, struct modc_report *report);
size_t modc_reader_index_bytes(const void *bytes, size_t length);
/* *at: 0 at first. In the order of the JSON; false at the end. */
bool modc_reader_next(const struct modc_reader *reader, size_t *at, struct modc_item *item);
bool modc_reader_find(const struct modc_reader *reader, const char *name, struct modc_item *item);
/* The same of a name that is made of two parts: "fc.weight", "_scale". */
bool modc_reader_find_joined(const struct modc_reader *reader, const char *name, const char *suffix,
                             struct modc_item *item);
/* What the metadata say under MODC_STORAGE_KEY of a tensor, cut to capacity with its 0 byte; returns the whole length, 0: nothing. */
size_t modc_reader_stored(const struct modc_reader *reader, const char *name, char *out, size_t capacity);
/* Decodes the name (JSON escapes), cut to capacity with its 0 byte; returns the whole length. */
size_t modc_item_name(const struct modc_item *item, char *out, size_t capacity);

bool modc_item_is(const struct modc_item *item, const char *name); /* without decoding it first */
bool modc_item_is_joined(const struct modc_item *item, const char *name, const char *suffix);
bool modc_item_has_shape(const struct modc_item *item, int ndim, const int *dims);

/* How a file calls a type (complex128: that of its parts), and where in its order tensors of it stand: the highest rank first. */
const char *modc_file_dtype(enum modc_dtype dtype, int *rank);

struct modc_named_tensor {
    const char *name;
    struct modc_tensor tensor;
};

/* Tensors to write, wherever they lie: get may leave name NULL (not in the file), copy gives the bytes. Where they are not NULL,
 * suffix gives what stands behind the name, and stored as what integers the tensor is held (false: it is none). */
struct modc_writer {
    int count;
    const void *user;
    void (*get)(const struct modc_writer *writer, int index, struct modc_named_tensor *named);
    enum modc_status (*copy)(const struct modc_writer *writer, int index, void *out);
    const char *(*suffix)(const struct modc_writer *writer, int index);
    bool (*stored)(const struct modc_writer *writer, int index, struct modc_storage *storage);
};

/* As modc_save_bytes. MODC_ARGUMENT: a name stands there twice with one dtype. */
enum modc_status modc_writer_run(const struct modc_writer *writer, void *out, size_t capacity,
                                 size_t *length);
enum modc_status modc_write_tensors(const struct modc_named_tensor *tensors, int count, void *out,
                                    size_t capacity, size_t *length);

#ifdef __cplusplus
}
#endif
#endif
