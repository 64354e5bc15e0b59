/* dim_poly.h - what a dim is inside: a polynomial whose atoms are sizes, quotients and positive parts. For the files of
 * dims alone; everybody else sees dim.h. */
#ifndef MODC_DIM_POLY_H
#define MODC_DIM_POLY_H

#include "base/dim.h"
#include "base/dim_range.h"

enum atom_kind {
    ATOM_SIZE,
    ATOM_FLOORDIV, /* a // b */
    ATOM_POSITIVE, /* max(a, 0) */
    ATOM_MOD,      /* a % b; this and the next two only while printing */
    ATOM_MAX,
    ATOM_MIN,
};

struct atom {
    enum atom_kind kind;
    const struct size *size;
    const struct dim *a, *b;
};

struct term {
    int64_t factor;
    int degree;
    const struct atom **atoms; /* sorted by compare_atoms; equal ones stand side by side */
};

struct poly { /* sorted by term_compare, largest first; no factor is 0 */
    int count;
    struct term *terms;
};

struct dim {
    struct poly poly;
    struct range range;
    int weight; /* atoms that are printed */
};

extern const struct term term_one; /* the monomial 1 */

/* ---- dim_poly.c: order, and the ring of polynomials ---- */

/* Graded lexicographic: an order that multiplication keeps, which long division needs. */
int term_compare(const struct term *a, const struct term *b);
int dim_compare(const struct dim *a, const struct dim *b);

int64_t poly_constant(struct poly poly);
bool poly_is_const(struct poly poly);
bool poly_overflowed(struct poly poly);
struct poly poly_const(struct arena *arena, int64_t value);
struct poly poly_of_term(struct arena *arena, struct term term);
/* a + scale * b */
struct poly poly_add(struct arena *arena, struct poly a, const struct term *scale, struct poly b);
struct poly poly_add_times(struct arena *arena, struct poly a, int64_t factor, struct poly b);
struct poly poly_times(struct arena *arena, struct poly a, int64_t factor);
struct poly poly_without(struct arena *arena, struct poly poly, const struct term *term);
struct poly poly_multiply(struct arena *arena, struct poly a, struct poly b);
int64_t poly_factor(struct poly poly, const struct term *monomial);
/* Each of its terms that is not constant, with the factor 1. */
struct poly poly_monomials(struct arena *arena, struct poly a);
/* The first term `factor * (x // c)` with constant c, or NULL. */
const struct term *poly_nested_division(struct poly poly, int64_t factor, int64_t *divisor);

/* The greatest common divisor of `divisor` and the factors, that of the constant left out. */
int64_t poly_common_divisor(struct poly poly, int64_t divisor);
/* Every factor divided, that of the constant rounded down. */
struct poly poly_divide_factors(struct arena *arena, struct poly poly, int64_t divisor);
/* Long division: a = quotient * b + rest, where a factor of the rest at a multiple of b's leading monomial lies
 * in [0, leading factor), which makes it unique. b is not 0 and its leading factor is positive. False after an
 * overflow. */
bool poly_divide(struct arena *arena, struct poly a, struct poly b, struct poly *quotient, struct poly *rest);

const struct atom *atom_new(struct arena *arena, enum atom_kind kind, const struct dim *a,
                            const struct dim *b);
struct term term_of_atom(struct arena *arena, const struct atom *atom);
struct term term_multiply(struct arena *arena, const struct term *a, const struct term *b);
/* The atoms of `a` without those of `b`; false where some of b's are not in a. The factor is left at 1. */
bool term_without(struct arena *arena, const struct term *a, const struct term *b, struct term *rest);
struct term term_without_atom(struct arena *arena, const struct term *term, int position);
/* The position of the only atom of `kind` in a term; -1 where there is none, or more than one. */
int term_only_atom(const struct term *term, enum atom_kind kind);
/* A floor division by a constant, which goes into *divisor. */
bool atom_divides_by_const(const struct atom *atom, int64_t *divisor);

/* ---- dim_bounds.c: the dim of a polynomial, and other ways to write one ---- */

/* How many atoms deep bounds are refined; the work doubles with each. */
#define DIM_EFFORT 3

/* The dim of a polynomial: the one place where a struct dim is made. */
const struct dim *dim_of_poly(struct arena *arena, struct poly poly, int effort);

/* The limits of the sizes in it: all sizes of a model have the same. NULL: none. */
const struct size_limits *poly_limits(struct poly poly);

/* For a // b with factors of `a` in [0, b): (partner) // b + a // b = sum of a's monomials. */
struct poly poly_partner(struct arena *arena, struct poly a, int64_t b);
/* The same value, with quotients said by their partners where that is shorter to read. */
struct poly poly_shortened(struct arena *arena, struct poly poly);

/* rest + k * max(a, 0) is the larger (k > 0) or smaller (k < 0) of rest and rest + k * a. */
struct dim_choice {
    const struct dim *first, *second;
    bool larger;
};

/* `poly` as such a choice by its `term`; false where that term is none. */
bool dim_as_choice(struct arena *arena, struct poly poly, const struct term *term, int effort,
                   struct dim_choice *choice);

/* rest + scale * (a % b), found at a term of scale * (a - b * (a // b)), where that is shorter. */
struct dim_remainder {
    struct poly rest;
    struct term scale;
    const struct atom *atom; /* of a // b */
};

bool dim_as_remainder(struct arena *arena, struct poly poly, const struct term *term,
                      struct dim_remainder *out);

#endif
