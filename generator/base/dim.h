/* dim.h - dimensions: integer polynomials over the model's sizes, with quotients, minima and maxima.
 *
 * A dimension is kept in one canonical form (note [canonical form] in dim.c), so that equal means equal form. Division and
 * remainder that come out even are simplified: (4 * n) // 4 is n, (4 * n + 3) // 4 is n, (4 * n + 6) % 4 is 2, for
 * divisors that are positive constants; n * m // m is n (sizes are at least 0; a quotient by a size has that size at
 * least 1). */
#ifndef MODC_DIM_H
#define MODC_DIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"

#define MAX_DIMS 8 /* of a tensor */

/* Immutable; NULL never occurs. Two dims are equal exactly when dim_equal says so. */
struct dim;

/* What every call requires of its sizes: each of these is at least 0. Bounds of dims take it into account. */
struct size_limits {
    const struct dim **gaps;
    int count;
};

/* One of the model's sizes. Its value at run time lies between `min` and `max`. */
struct size {
    const char *name;
    int64_t max;
    int index;                        /* in the order of the spec */
    const char *c_name;               /* as emitted code calls it; the plan says so, NULL until then */
    int64_t min;                      /* 0, or what the limits make of it */
    const struct size_limits *limits; /* NULL: none */
};

const struct dim *dim_const(struct arena *arena, int64_t value);
const struct dim *dim_size(struct arena *arena, const struct size *size);
const struct dim *dim_add(struct arena *arena, const struct dim *a, const struct dim *b);
const struct dim *dim_sub(struct arena *arena, const struct dim *a, const struct dim *b);
const struct dim *dim_mul(struct arena *arena, const struct dim *a, const struct dim *b);
const struct dim *dim_floordiv(struct arena *arena, const struct dim *a,
                               const struct dim *b); /* b not const 0 */
const struct dim *dim_mod(struct arena *arena, const struct dim *a, const struct dim *b);
const struct dim *dim_max(struct arena *arena, const struct dim *a, const struct dim *b);
const struct dim *dim_min(struct arena *arena, const struct dim *a, const struct dim *b);

/* The same over other sizes, with the indices of these. */
const struct dim *dim_over(struct arena *arena, const struct dim *dim, const struct size *sizes);

bool dim_is_const(const struct dim *dim, int64_t *value); /* value may be NULL */
int64_t dim_constant(const struct dim *dim); /* of a dim that is one, as those of parameters are */
bool dim_equal(const struct dim *a, const struct dim *b);
bool dim_equals(const struct dim *a, int64_t value);

/* a == b * q for a dim q: true, with *quotient set. Used by reshape, which needs exact division. */
bool dim_divides(struct arena *arena, const struct dim *a, const struct dim *b, const struct dim **quotient);

/* Bounds by interval arithmetic over min..max of each size and by its limits; saturates at INT64_MIN/MAX (then an overflow). */
int64_t dim_lower(const struct dim *dim);
int64_t dim_upper(const struct dim *dim);

/* The most elements that a shape may have, which limits of sizes may make less than the product of the dimensions' bounds. */
int64_t dims_most(struct arena *arena, int count, const struct dim *const *dims);

/* The value for sizes given by index. Floor division and remainder as in Python; a divisor of 0 gives 0. */
int64_t dim_eval(const struct dim *dim, const int64_t *sizes);

/* Where a and b differ by max(x, 0) or its negative, they agree as long as x <= 0: "past + tokens <= 128". NULL: they are not such. */
const char *dim_agreement(struct arena *arena, const struct dim *a, const struct dim *b);

/* No value lies further from 0 than this. */
bool dim_fits(const struct dim *dim, int64_t most);
/* Nothing but sums and products of sizes. */
bool dim_is_polynomial(const struct dim *dim);

/* True where the dim is exactly one size, which is returned in *size (may be NULL). */
bool dim_is_size(const struct dim *dim, const struct size **size);

/* What is above 0 exactly where the dim is, in as few words as there are: n of min(n, 1). */
const struct dim *dim_some(struct arena *arena, const struct dim *dim);

/* Marks every size in the dim, used[size->index]; returns how many were not marked before. */
int dim_mark_sizes(const struct dim *dim, bool *used);

/* As the spec would write it: `batch * tokens + 1`, `(tokens - 3) // 2 + 1`. */
void dim_print(struct text *text, const struct dim *dim);

/* As a C expression over `int` identifiers named like the sizes (through `name`, which may add an underscore), with
 * floor division written as calls of modc_floordiv(a, b) and modc_mod(a, b) where an operand may be negative and as
 * plain / and % where neither can. Parenthesised only where `tight` asks for an operand of * / %. */
void dim_print_c(struct text *text, const struct dim *dim, bool tight,
                 const char *(*name)(const struct size *));

const char *dim_text(struct arena *arena, const struct dim *dim); /* dim_print into the arena */

#endif
