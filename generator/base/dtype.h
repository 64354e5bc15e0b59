/* dtype.h - element types: their names in specs, C and safetensors, and PyTorch's type promotion. */
#ifndef MODC_DTYPE_H
#define MODC_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

/* In the order of promotion inside a category; the same numbers as enum modc_dtype of the runtime. */
enum dtype {
    DTYPE_BOOL,
    DTYPE_UINT8,
    DTYPE_INT8,
    DTYPE_INT16,
    DTYPE_INT32,
    DTYPE_INT64,
    DTYPE_FLOAT16,
    DTYPE_BFLOAT16,
    DTYPE_FLOAT32,
    DTYPE_FLOAT64,
    DTYPE_COMPLEX64, /* of tensors of the tree, and of what callers see: a graph has pairs of parts, note [pairs] in eval_complex.c */
    DTYPE_COMPLEX128,
    DTYPE_COUNT
};

struct dtype_row {
    const char *name;   /* PyTorch's: "float32" */
    const char *alias;  /* PyTorch's second name: "float", or NULL */
    const char *c;      /* the type in C; of a complex one its parts' */
    const char *modc;   /* MODC_FLOAT32 */
    const char *stored; /* in safetensors: "F32"; of complex128, which is not there, its parts */
    int bytes;
};

extern const struct dtype_row dtype_rows[DTYPE_COUNT];

/* What an element is held in, and what is computed with it: of half types that is wider. */
struct element {
    enum dtype stored, computed;
};

/* By PyTorch's name or alias, with or without `torch.`; false if there is none. */
bool dtype_find(const char *name, enum dtype *out);

static inline bool dtype_is_float(enum dtype dtype)
{
    return dtype >= DTYPE_FLOAT16 && dtype <= DTYPE_FLOAT64;
}

/* Of 16 bits: computed in float32, note [halves] in plan/plan_halves.h. */
static inline bool dtype_is_half(enum dtype dtype)
{
    return dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
}

static inline bool dtype_is_int(enum dtype dtype) /* bool is not one */
{
    return dtype >= DTYPE_UINT8 && dtype <= DTYPE_INT64;
}

static inline bool dtype_is_complex(enum dtype dtype)
{
    return dtype == DTYPE_COMPLEX64 || dtype == DTYPE_COMPLEX128;
}

/* The type of its real and of its imaginary part; of what is not complex itself. */
static inline enum dtype dtype_part(enum dtype dtype)
{
    return dtype == DTYPE_COMPLEX64 ? DTYPE_FLOAT32 : dtype == DTYPE_COMPLEX128 ? DTYPE_FLOAT64 : dtype;
}

/* The complex type of parts that are float32 or float64. */
static inline enum dtype dtype_of_parts(enum dtype part)
{
    return part == DTYPE_FLOAT64 ? DTYPE_COMPLEX128 : DTYPE_COMPLEX64;
}

/* False for what this version has a row of, but no arithmetic yet; of complex types that is of pairs. */
static inline bool dtype_is_supported(enum dtype dtype)
{
    return !dtype_is_complex(dtype);
}

/* The type of an operation over two tensors of these types with at least one dimension each
 * (torch.promote_types). */
enum dtype dtype_promote(enum dtype a, enum dtype b);

/* 0 bool, 1 integer, 2 floating, 3 complex: a scalar or 0-dim operand changes the type only where it is of a
 * higher category. */
int dtype_category(enum dtype dtype);

#endif
