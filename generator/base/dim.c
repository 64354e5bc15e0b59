/* dim.c - makes dims in canonical form, and answers what is asked of them. Apart from all rooms, because shapes, sizes of
 * memory and emitted loop bounds are all written with dims; dim_poly.c has the ring that they are taken from, dim_bounds.c
 * how large they can be, dim_print.c their text.
 *
 * note [canonical form]
 * A dim is a sum of terms; a term is a factor times atoms, sorted. Only three kinds of atom are kept:
 *   size          one of the model's sizes
 *   floordiv      a // b, reduced: see divide_const and divide
 *   positive      max(a, 0), where the leading factor of a is positive and the factors have no common divisor
 * All else is said with these, so that identities hold by construction:
 *   a % b     is  a - b * (a // b)
 *   max(a, b) is  b + max(a - b, 0)
 *   min(a, b) is  a - max(a - b, 0)
 * For a constant divisor, (x + c) // b and (-x + b - 1 - c) // b add up to a polynomial: only one of such partners is
 * kept (`is_preferred`), so that n - n // 2 is (n + 1) // 2. Sums and products are then those of a polynomial ring.
 * What is printed, and what bounds are computed from, turns back into %, min, max and the shorter partner.
 *
 * note [overflow]
 * A factor that overflows makes the whole dim the constant INT64_MAX or INT64_MIN, and every dim made of such a one is
 * one too (except 0 * it). Whoever looks at dim_upper or dim_lower sees it. So it is with a dim that would print more
 * than MAX_WEIGHT atoms: a few statements can square a sum again and again. */
#include "base/dim.h"

#include <assert.h>

#include "base/dim_poly.h"

/* ---- making dims ------------------------------------------------------------------------------------- */

static const struct dim *divide_const(struct arena *arena, const struct dim *a, int64_t b);

/* Which of (a) // b and its partner is kept: the one with the smaller leading factor, or else constant. */
static bool is_preferred(struct poly a, int64_t b)
{
    for (int i = 0; i < a.count; i++) {
        int64_t factor = a.terms[i].factor;

        if (a.terms[i].degree > 0 && factor != b - factor)
            return factor < b - factor;
    }
    return poly_constant(a) <= b - 1 - poly_constant(a);
}

static bool overflowed(const struct dim *dim)
{
    return poly_overflowed(dim->poly);
}

/* Most dims are numbers, and most numbers are small. */
#define TERM_1(n)                                                                                            \
    {                                                                                                        \
        .factor = (n)                                                                                        \
    }
#define TERM_4(n) TERM_1(n), TERM_1((n) + 1), TERM_1((n) + 2), TERM_1((n) + 3)
#define TERM_16(n) TERM_4(n), TERM_4((n) + 4), TERM_4((n) + 8), TERM_4((n) + 12)
#define TERM_64(n) TERM_16(n), TERM_16((n) + 16), TERM_16((n) + 32), TERM_16((n) + 48)
static const struct term small_terms[] = {TERM_64(0), TERM_64(64)};

#define DIM_1(n)                                                                                             \
    {                                                                                                        \
        .poly = {(n) != 0, (struct term *)&small_terms[n]}, .range = {(n), (n) }                             \
    }
#define DIM_4(n) DIM_1(n), DIM_1((n) + 1), DIM_1((n) + 2), DIM_1((n) + 3)
#define DIM_16(n) DIM_4(n), DIM_4((n) + 4), DIM_4((n) + 8), DIM_4((n) + 12)
#define DIM_64(n) DIM_16(n), DIM_16((n) + 16), DIM_16((n) + 32), DIM_16((n) + 48)
static const struct dim small_dims[] = {DIM_64(0), DIM_64(64)};

const struct dim *dim_const(struct arena *arena, int64_t value)
{
    struct number {
        struct dim dim;
        struct term term;
    } * number;

    if (value >= 0 && value < COUNT(small_dims))
        return &small_dims[value];
    number = ARENA_NEW(arena, struct number);
    number->term.factor = value;
    number->dim.poly = (struct poly){1, &number->term};
    number->dim.range = (struct range){value, value};
    return &number->dim;
}

/* Both are numbers, which fit. */
static bool are_numbers(const struct dim *a, const struct dim *b, int64_t *x, int64_t *y)
{
    return dim_is_const(a, x) && dim_is_const(b, y) && !is_saturated(*x) && !is_saturated(*y);
}

const struct dim *dim_size(struct arena *arena, const struct size *size)
{
    struct atom *atom = ARENA_NEW(arena, struct atom);

    atom->kind = ATOM_SIZE;
    atom->size = size;
    return dim_of_poly(arena, poly_of_term(arena, term_of_atom(arena, atom)), DIM_EFFORT);
}

const struct dim *dim_add(struct arena *arena, const struct dim *a, const struct dim *b)
{
    int64_t x, y;

    if (are_numbers(a, b, &x, &y))
        return dim_const(arena, sat_add(x, y));
    return dim_of_poly(arena, poly_add(arena, a->poly, &term_one, b->poly), DIM_EFFORT);
}

const struct dim *dim_sub(struct arena *arena, const struct dim *a, const struct dim *b)
{
    int64_t x, y;

    if (are_numbers(a, b, &x, &y))
        return dim_const(arena, sat_add(x, sat_negate(y)));
    return dim_of_poly(arena, poly_add_times(arena, a->poly, -1, b->poly), DIM_EFFORT);
}

const struct dim *dim_mul(struct arena *arena, const struct dim *a, const struct dim *b)
{
    int64_t x, y;

    if (are_numbers(a, b, &x, &y))
        return dim_const(arena, sat_multiply(x, y));
    return dim_of_poly(arena, poly_multiply(arena, a->poly, b->poly), DIM_EFFORT);
}

/* The dim with what is known of its value besides. */
static const struct dim *narrowed(struct arena *arena, const struct dim *dim, struct range range)
{
    struct dim *copy;

    range = range_intersect(dim->range, range);
    if (range.lower == range.upper)
        return dim_const(arena, range.lower);
    copy = ARENA_NEW(arena, struct dim);
    *copy = (struct dim){.poly = dim->poly, .range = range, .weight = dim->weight};
    return copy;
}

static const struct dim *times(struct arena *arena, const struct dim *a, int64_t factor)
{
    return dim_of_poly(arena, poly_times(arena, a->poly, factor), DIM_EFFORT);
}

static const struct dim *floordiv_atom(struct arena *arena, const struct dim *a, const struct dim *b)
{
    return dim_of_poly(arena, poly_of_term(arena, term_of_atom(arena, atom_new(arena, ATOM_FLOORDIV, a, b))),
                       DIM_EFFORT);
}

/* rest // b, where the rest holds x // c or its negative, as one division: (p + x // c) // b is (c * p + x) // (c * b),
 * and -(x // c) is (c - 1 - x) // c. NULL where there is none. Modulo 2 it is both; then the sign in `whole`, which the
 * rest comes from, decides. */
static const struct dim *divide_nested(struct arena *arena, struct poly rest, int64_t b, struct poly whole)
{
    int64_t inner = 1;
    const struct term *nested = poly_nested_division(rest, 1, &inner);
    bool negative = !nested || (b == 2 && poly_factor(whole, nested) < 0);
    struct poly joined, added = {0};

    if (!nested)
        nested = poly_nested_division(rest, b - 1, &inner);
    if (!nested || is_saturated(sat_multiply(inner, b)))
        return NULL;
    joined = poly_times(arena, poly_without(arena, rest, nested), inner);
    joined = poly_add_times(arena, joined, negative ? -1 : 1, nested->atoms[0]->a->poly);
    if (negative) { /* b - 1 times x // c: -1 times, and once in the result */
        struct term term = *nested;

        term.factor = 1;
        added = poly_of_term(arena, term);
        joined = poly_add(arena, joined, &term_one, poly_const(arena, inner - 1));
    }
    if (poly_overflowed(joined))
        return NULL;
    return dim_add(arena, divide_const(arena, dim_of_poly(arena, joined, DIM_EFFORT), sat_multiply(inner, b)),
                   dim_of_poly(arena, added, DIM_EFFORT));
}

/* rest // b, for factors of `rest` in [0, b) that share no divisor with b; `whole` is what it is the rest of. */
static const struct dim *divide_rest(struct arena *arena, struct poly rest, int64_t b, struct poly whole)
{
    const struct dim *top = dim_of_poly(arena, rest, DIM_EFFORT), *other, *nested, *quotient;
    struct poly monomials = poly_monomials(arena, rest);

    if (sat_floor_divide(top->range.lower, b) == sat_floor_divide(top->range.upper, b))
        return dim_const(arena, sat_floor_divide(top->range.lower, b));

    nested = divide_nested(arena, rest, b, whole);
    if (nested)
        return nested;
    other = dim_of_poly(arena, poly_partner(arena, rest, b), DIM_EFFORT);
    if (sat_floor_divide(other->range.lower, b) == sat_floor_divide(other->range.upper, b))
        quotient = dim_const(arena, sat_floor_divide(other->range.lower, b));
    else if (is_preferred(rest, b))
        return floordiv_atom(arena, top, dim_const(arena, b));
    else
        quotient = floordiv_atom(arena, other, dim_const(arena, b));
    return dim_of_poly(arena, poly_add_times(arena, monomials, -1, quotient->poly), DIM_EFFORT);
}

static const struct dim *divide_const(struct arena *arena, const struct dim *a, int64_t b)
{
    struct poly whole = {0}, rest = {0};
    int64_t shared;

    assert(b != 0);
    if (b < 0) {
        a = times(arena, a, -1);
        b = sat_negate(b);
    }
    if (b == 1)
        return a;
    for (int i = 0; i < a->poly.count; i++) { /* max(x, c) // b is max(x // b, c // b) */
        struct dim_choice choice;

        if (!dim_as_choice(arena, a->poly, &a->poly.terms[i], DIM_EFFORT, &choice) ||
            !(poly_is_const(choice.first->poly) || poly_is_const(choice.second->poly)))
            continue;
        choice.first = divide_const(arena, choice.first, b);
        choice.second = divide_const(arena, choice.second, b);
        return choice.larger ? dim_max(arena, choice.first, choice.second)
                             : dim_min(arena, choice.first, choice.second);
    }
    whole.terms = ARENA_ARRAY(arena, a->poly.count + 1, struct term);
    rest.terms = ARENA_ARRAY(arena, a->poly.count + 1, struct term);
    for (int i = 0; i < a->poly.count; i++) {
        struct term term = a->poly.terms[i];
        int64_t quotient = sat_floor_divide(term.factor, b), remainder = term.factor - quotient * b;

        term.factor = quotient;
        if (quotient != 0)
            whole.terms[whole.count++] = term;
        term.factor = remainder;
        if (remainder != 0)
            rest.terms[rest.count++] = term;
    }
    if (poly_is_const(rest))
        return dim_of_poly(arena, whole, DIM_EFFORT);
    shared = poly_common_divisor(rest, b);
    rest = poly_divide_factors(arena, rest, shared);
    return dim_add(arena, dim_of_poly(arena, whole, DIM_EFFORT),
                   divide_rest(arena, rest, b / shared, a->poly));
}

/* The atoms that every term of both has. */
static struct term common_atoms(struct arena *arena, struct poly a, struct poly b)
{
    struct term common = {.factor = 1,
                          .atoms = ARENA_ARRAY(arena, b.terms[0].degree + 1, const struct atom *)};

    for (int i = 0; i < b.terms[0].degree; i++) {
        bool everywhere = true;
        struct term rest;

        common.atoms[common.degree++] = b.terms[0].atoms[i];
        for (int j = 0; j < a.count + b.count && everywhere; j++)
            everywhere = term_without(arena, j < a.count ? &a.terms[j] : &b.terms[j - a.count], &common,
                                      &rest);
        if (!everywhere)
            common.degree--;
    }
    return common;
}

static struct poly without_atoms(struct arena *arena, struct poly poly, const struct term *atoms)
{
    struct poly result = {0};

    for (int i = 0; i < poly.count; i++) {
        struct term rest;

        if (term_without(arena, &poly.terms[i], atoms, &rest)) {
            rest.factor = poly.terms[i].factor;
            result = poly_add(arena, result, &term_one, poly_of_term(arena, rest));
        }
    }
    return result;
}

/* a // b for a divisor with sizes in it, whose leading factor is positive. */
static const struct dim *divide(struct arena *arena, const struct dim *a, const struct dim *b)
{
    struct poly whole, rest;
    struct term common;
    int64_t shared;
    const struct dim *quotient, *top, *gap;

    if (!poly_divide(arena, a->poly, b->poly, &whole, &rest))
        return floordiv_atom(arena, a, b);
    quotient = dim_of_poly(arena, whole, DIM_EFFORT);
    if (rest.count == 0)
        return quotient;

    shared = poly_common_divisor(rest, poly_common_divisor(b->poly, poly_constant(b->poly)));
    common = common_atoms(arena, rest, b->poly);
    if (shared > 1 || common.degree > 0) {
        struct poly upper = without_atoms(arena, poly_divide_factors(arena, rest, shared), &common);
        struct poly lower = without_atoms(arena, poly_divide_factors(arena, b->poly, shared), &common);

        return dim_add(arena, quotient,
                       dim_floordiv(arena, dim_of_poly(arena, upper, DIM_EFFORT),
                                    dim_of_poly(arena, lower, DIM_EFFORT)));
    }

    top = dim_of_poly(arena, rest, DIM_EFFORT);
    gap = dim_sub(arena, b, top);
    if (b->range.lower >= 1 && top->range.lower >= 0 && gap->range.lower >= 1)
        return quotient;
    if (rest.terms[0].factor < 0 && b->range.lower >= 0) { /* r // b is -1 - (-r - 1) // b */
        top = dim_sub(arena, times(arena, top, -1), dim_const(arena, 1));
        quotient = dim_sub(arena, quotient, dim_const(arena, 1));
        return dim_sub(arena, quotient, divide(arena, top, b));
    }
    if (rest.count == 1 && rest.terms[0].factor == 1 && rest.terms[0].degree == 1 && b->range.lower >= 0) {
        const struct atom *inner = rest.terms[0].atoms[0];

        if (inner->kind == ATOM_FLOORDIV && inner->b->range.lower >= 0)
            return dim_add(arena, quotient, dim_floordiv(arena, inner->a, dim_mul(arena, inner->b, b)));
    }
    return dim_add(arena, quotient, floordiv_atom(arena, top, b));
}

const struct dim *dim_floordiv(struct arena *arena, const struct dim *a, const struct dim *b)
{
    int64_t divisor, x, y;
    const struct dim *quotient;

    assert(!dim_equals(b, 0));
    if (are_numbers(a, b, &x, &y))
        return dim_const(arena, sat_floor_divide(x, y));
    if (overflowed(a) || overflowed(b))
        return overflowed(a) ? a : b;
    if (dim_is_const(b, &divisor))
        quotient = divide_const(arena, a, divisor);
    else if (b->poly.terms[0].factor < 0)
        quotient = divide(arena, times(arena, a, -1), times(arena, b, -1));
    else
        quotient = divide(arena, a, b);
    return narrowed(arena, quotient, range_floor_divide(a->range, b->range));
}

const struct dim *dim_mod(struct arena *arena, const struct dim *a, const struct dim *b)
{
    const struct dim *rest = dim_sub(arena, a, dim_mul(arena, b, dim_floordiv(arena, a, b)));

    return overflowed(rest) ? rest : narrowed(arena, rest, range_mod(a->range, b->range));
}

/* max(a, 0) */
static const struct dim *positive_part(struct arena *arena, const struct dim *a)
{
    int64_t shared = poly_common_divisor(a->poly, poly_constant(a->poly));
    const struct dim *whole = dim_const(arena, 0);
    struct term term;

    if (a->poly.terms[0].factor < 0) { /* max(a, 0) is a + max(-a, 0) */
        whole = a;
        a = times(arena, a, -1);
    }
    a = dim_of_poly(arena, poly_divide_factors(arena, a->poly, shared), DIM_EFFORT);
    term = term_of_atom(arena, atom_new(arena, ATOM_POSITIVE, a, NULL));
    term.factor = shared;
    return dim_of_poly(arena, poly_add(arena, whole->poly, &term_one, poly_of_term(arena, term)), DIM_EFFORT);
}

static bool always_at_most(struct arena *arena, const struct dim *a, const struct dim *b)
{
    return dim_sub(arena, a, b)->range.upper <= 0;
}

/* max(a, b) where `a` is itself a max or min of two, and one of the three can be left out or moved; else NULL. */
static const struct dim *max_of_choice(struct arena *arena, const struct dim *a, const struct dim *b)
{
    for (int i = 0; i < a->poly.count; i++) {
        struct dim_choice choice;
        const struct dim *pair[2];

        if (!dim_as_choice(arena, a->poly, &a->poly.terms[i], DIM_EFFORT, &choice))
            continue;
        pair[0] = choice.first;
        pair[1] = choice.second;
        for (int j = 0; j < 2; j++) {
            const struct dim *x = pair[j], *y = pair[1 - j];

            if (choice.larger && always_at_most(arena, x, b))
                return dim_max(arena, y, b);
            if (choice.larger && always_at_most(arena, b, x))
                return a;
            if (!choice.larger && always_at_most(arena, b, x)) /* max(min(x, y), b) is min(x, max(y, b)) */
                return dim_min(arena, x, dim_max(arena, y, b));
        }
    }
    return NULL;
}

const struct dim *dim_max(struct arena *arena, const struct dim *a, const struct dim *b)
{
    const struct dim *result;

    if (always_at_most(arena, b, a))
        return a;
    if (always_at_most(arena, a, b))
        return b;
    if (dim_compare(a, b) < 0) { /* one form, whichever came first */
        const struct dim *swap = a;

        a = b;
        b = swap;
    }
    result = max_of_choice(arena, a, b);
    if (!result)
        result = max_of_choice(arena, b, a);
    return result ? result : dim_add(arena, b, positive_part(arena, dim_sub(arena, a, b)));
}

const struct dim *dim_min(struct arena *arena, const struct dim *a, const struct dim *b)
{
    if (always_at_most(arena, a, b)) /* also where the sum below would overflow */
        return a;
    if (always_at_most(arena, b, a))
        return b;
    return dim_sub(arena, dim_add(arena, a, b), dim_max(arena, a, b));
}

static const struct dim *atom_over(struct arena *arena, const struct atom *atom, const struct size *sizes)
{
    if (atom->kind == ATOM_SIZE)
        return dim_size(arena, &sizes[atom->size->index]);

    const struct dim *a = dim_over(arena, atom->a, sizes);

    if (atom->kind == ATOM_FLOORDIV)
        return dim_floordiv(arena, a, dim_over(arena, atom->b, sizes));
    assert(atom->kind == ATOM_POSITIVE);
    return dim_max(arena, a, dim_const(arena, 0));
}

const struct dim *dim_over(struct arena *arena, const struct dim *dim, const struct size *sizes)
{
    const struct dim *sum = dim_const(arena, 0);

    for (int i = 0; i < dim->poly.count; i++) {
        const struct term *term = &dim->poly.terms[i];
        const struct dim *product = dim_const(arena, term->factor);

        for (int j = 0; j < term->degree; j++)
            product = dim_mul(arena, product, atom_over(arena, term->atoms[j], sizes));
        sum = dim_add(arena, sum, product);
    }
    return sum;
}

int64_t dims_most(struct arena *arena, int count, const struct dim *const *dims)
{
    const struct dim *product = dim_const(arena, 1);
    int64_t most = 1;
    bool limited = false;

    for (int i = 0; i < count; i++) {
        most = sat_multiply(most, dim_upper(dims[i]));
        limited |= poly_limits(dims[i]->poly) != NULL;
    }
    if (!limited)
        return most;
    for (int i = 0; i < count; i++)
        product = dim_mul(arena, product, dims[i]);
    return least(most, dim_upper(product));
}

/* ---- asking ------------------------------------------------------------------------------------------ */

bool dim_is_const(const struct dim *dim, int64_t *value)
{
    if (!poly_is_const(dim->poly))
        return false;
    if (value)
        *value = poly_constant(dim->poly);
    return true;
}

int64_t dim_constant(const struct dim *dim)
{
    assert(poly_is_const(dim->poly) && "a dim of one value");
    return poly_constant(dim->poly);
}

bool dim_equal(const struct dim *a, const struct dim *b)
{
    return dim_compare(a, b) == 0;
}

bool dim_equals(const struct dim *a, int64_t value)
{
    return poly_is_const(a->poly) && poly_constant(a->poly) == value;
}

bool dim_divides(struct arena *arena, const struct dim *a, const struct dim *b, const struct dim **quotient)
{
    struct poly top = a->poly, bottom = b->poly, whole, rest;

    if (bottom.count == 0 || overflowed(a) || overflowed(b))
        return false;
    if (bottom.terms[0].factor < 0) {
        top = poly_times(arena, top, -1);
        bottom = poly_times(arena, bottom, -1);
    }
    if (!poly_divide(arena, top, bottom, &whole, &rest) || rest.count > 0)
        return false;
    *quotient = dim_of_poly(arena, whole, DIM_EFFORT);
    return true;
}

int64_t dim_lower(const struct dim *dim)
{
    return dim->range.lower;
}

int64_t dim_upper(const struct dim *dim)
{
    return dim->range.upper;
}

bool dim_fits(const struct dim *dim, int64_t most)
{
    return dim->range.lower >= -most && dim->range.upper <= most;
}

bool dim_is_polynomial(const struct dim *dim)
{
    for (int i = 0; i < dim->poly.count; i++)
        for (int j = 0; j < dim->poly.terms[i].degree; j++)
            if (dim->poly.terms[i].atoms[j]->kind != ATOM_SIZE)
                return false;
    return true;
}

/* "past + tokens <= 128", for x <= 0 */
static const char *at_most_zero(struct arena *arena, struct poly x)
{
    const struct dim *above = dim_const(arena, 0), *below = above;

    for (int i = 0; i < x.count; i++) {
        struct term part = x.terms[i];

        if (part.factor > 0) {
            above = dim_add(arena, above, dim_of_poly(arena, poly_of_term(arena, part), 0));
        } else {
            part.factor = sat_negate(part.factor);
            below = dim_add(arena, below, dim_of_poly(arena, poly_of_term(arena, part), 0));
        }
    }
    return arena_format(arena, "%s <= %s", dim_text(arena, above), dim_text(arena, below));
}

const char *dim_agreement(struct arena *arena, const struct dim *a, const struct dim *b)
{
    const struct dim *gap = dim_sub(arena, a, b);

    for (int i = 0; i < gap->poly.count; i++) {
        struct dim_choice choice;
        const struct dim *other;

        if (!dim_as_choice(arena, gap->poly, &gap->poly.terms[i], DIM_EFFORT, &choice) ||
            (!dim_equals(choice.first, 0) && !dim_equals(choice.second, 0)))
            continue;
        other = dim_equals(choice.first, 0) ? choice.second : choice.first;
        return at_most_zero(arena, choice.larger ? other->poly : poly_times(arena, other->poly, -1));
    }
    return NULL;
}

static int64_t atom_eval(const struct atom *atom, const int64_t *sizes)
{
    if (atom->kind == ATOM_SIZE)
        return sizes[atom->size->index];
    if (atom->kind == ATOM_FLOORDIV)
        return sat_floor_divide(dim_eval(atom->a, sizes), dim_eval(atom->b, sizes));
    assert(atom->kind == ATOM_POSITIVE);
    return most(dim_eval(atom->a, sizes), 0);
}

int64_t dim_eval(const struct dim *dim, const int64_t *sizes)
{
    int64_t sum = 0;

    for (int i = 0; i < dim->poly.count; i++) {
        int64_t product = dim->poly.terms[i].factor;

        for (int j = 0; j < dim->poly.terms[i].degree; j++)
            product = sat_multiply(product, atom_eval(dim->poly.terms[i].atoms[j], sizes));
        sum = sat_add(sum, product);
    }
    return sum;
}

bool dim_is_size(const struct dim *dim, const struct size **size)
{
    const struct term *term = dim->poly.terms;

    if (dim->poly.count != 1 || term->factor != 1 || term->degree != 1 || term->atoms[0]->kind != ATOM_SIZE)
        return false;
    if (size)
        *size = term->atoms[0]->size;
    return true;
}

const struct dim *dim_some(struct arena *arena, const struct dim *dim)
{
    for (int i = 0; i < dim->poly.count; i++) {
        struct dim_choice choice;

        if (!dim_as_choice(arena, dim->poly, &dim->poly.terms[i], DIM_EFFORT, &choice) || choice.larger)
            continue;
        if (dim_lower(choice.first) > 0)
            return dim_some(arena, choice.second);
        if (dim_lower(choice.second) > 0)
            return dim_some(arena, choice.first);
    }
    return dim;
}

int dim_mark_sizes(const struct dim *dim, bool *used)
{
    int count = 0;

    for (int i = 0; dim && i < dim->poly.count; i++) {
        for (int j = 0; j < dim->poly.terms[i].degree; j++) {
            const struct atom *atom = dim->poly.terms[i].atoms[j];

            if (atom->kind != ATOM_SIZE) {
                count += dim_mark_sizes(atom->a, used) + dim_mark_sizes(atom->b, used);
            } else {
                count += !used[atom->size->index];
                used[atom->size->index] = true;
            }
        }
    }
    return count;
}
