/* dim_bounds.c - makes dims of polynomials, and says between which numbers one lies. Apart from dim_poly.c, because bounds
 * come from writing a polynomial in other ways: with the shorter of two partners, with remainders, with minima and maxima.
 * Two of these ways are also how it is printed (dim_print.c). */
#include "base/dim_poly.h"

#include <assert.h>

/* Atoms that a dim prints at most: note [overflow] in dim.c. */
#define MAX_WEIGHT 500

/* ---- partners: two ways to write one quotient --------------------------------------------------------- */

struct poly poly_partner(struct arena *arena, struct poly a, int64_t b)
{
    struct poly partner = poly_const(arena, b - 1 - poly_constant(a));

    for (int i = 0; i < a.count; i++) {
        struct term term = a.terms[i];

        if (term.degree == 0)
            continue;
        term.factor = b - term.factor;
        partner = poly_add(arena, partner, &term_one, poly_of_term(arena, term));
    }
    return partner;
}

/* How long a sum is to read: terms, then signs, then digits, then subtracted quotients. */
struct length {
    int terms, negatives, negative_quotients;
    int64_t digits;
};

static struct length length_of(struct poly poly)
{
    struct length length = {.terms = poly.count};

    for (int i = 0; i < poly.count; i++) {
        const struct term *term = &poly.terms[i];
        bool negative = term->factor < 0;

        length.negatives += negative;
        length.negative_quotients += negative && term_only_atom(term, ATOM_FLOORDIV) >= 0;
        length.digits = sat_add(length.digits, negative ? sat_negate(term->factor) : term->factor);
    }
    return length;
}

static bool is_shorter(struct poly a, struct poly b)
{
    struct length x = length_of(a), y = length_of(b);

    if (x.terms != y.terms)
        return x.terms < y.terms;
    if (x.negatives != y.negatives)
        return x.negatives < y.negatives;
    if (x.digits != y.digits)
        return x.digits < y.digits;
    return x.negative_quotients < y.negative_quotients;
}

/* The same value with one term's x // b said by its partner, where that is shorter. True if *poly changed. */
static bool shorten(struct arena *arena, struct poly *poly, const struct term *term)
{
    int position = term_only_atom(term, ATOM_FLOORDIV);
    int64_t divisor;
    const struct atom *atom;
    struct term rest, single;
    struct poly said, partner;

    if (position < 0 || !atom_divides_by_const(term->atoms[position], &divisor))
        return false;
    atom = term->atoms[position];
    rest = term_without_atom(arena, term, position);
    rest.factor = term->factor;
    partner = poly_partner(arena, atom->a->poly, divisor);
    single = term_of_atom(arena, atom_new(arena, ATOM_FLOORDIV, dim_of_poly(arena, partner, 0), atom->b));
    said = poly_add_times(arena, poly_monomials(arena, atom->a->poly), -1, poly_of_term(arena, single));
    said = poly_add(arena, poly_without(arena, *poly, term), &rest, said);
    if (poly_overflowed(said) || !is_shorter(said, *poly))
        return false;
    *poly = said;
    return true;
}

struct poly poly_shortened(struct arena *arena, struct poly poly)
{
    for (int i = 0; i < poly.count; i++)
        if (shorten(arena, &poly, &poly.terms[i]))
            i = -1;
    return poly;
}

/* ---- bounds ------------------------------------------------------------------------------------------ */

static struct range atom_range(const struct atom *atom)
{
    switch (atom->kind) {
    case ATOM_SIZE:
        return (struct range){atom->size->min, atom->size->max};
    case ATOM_FLOORDIV:
        return range_floor_divide(atom->a->range, atom->b->range);
    case ATOM_POSITIVE:
        return (struct range){most(atom->a->range.lower, 0), most(atom->a->range.upper, 0)};
    default: /* only while printing */
        assert(false);
        return (struct range){INT64_MIN, INT64_MAX};
    }
}

static struct range term_range(const struct term *term)
{
    struct range range = {term->factor, term->factor};

    for (int i = 0; i < term->degree; i++)
        range = range_multiply(range, atom_range(term->atoms[i]));
    return range;
}

static struct range poly_range(struct poly poly)
{
    struct range range = {0, 0};

    for (int i = 0; i < poly.count; i++)
        range = range_add(range, term_range(&poly.terms[i]));
    return range;
}

bool dim_as_choice(struct arena *arena, struct poly poly, const struct term *term, int effort,
                   struct dim_choice *choice)
{
    struct poly rest;

    if (term->degree != 1 || term->atoms[0]->kind != ATOM_POSITIVE)
        return false;
    rest = poly_without(arena, poly, term);
    choice->first = dim_of_poly(arena, poly_add_times(arena, rest, term->factor, term->atoms[0]->a->poly),
                                effort);
    choice->second = dim_of_poly(arena, rest, effort);
    choice->larger = term->factor > 0;
    return true;
}

bool dim_as_remainder(struct arena *arena, struct poly poly, const struct term *term,
                      struct dim_remainder *out)
{
    int position = term_only_atom(term, ATOM_FLOORDIV);
    const struct atom *atom;
    const struct term *lead;
    struct term others, negated, single;

    if (position < 0)
        return false;
    atom = term->atoms[position];
    lead = &atom->b->poly.terms[0];
    others = term_without_atom(arena, term, position);
    if (term->factor % lead->factor != 0 || !term_without(arena, &others, lead, &out->scale))
        return false;
    out->scale.factor = -(term->factor / lead->factor);
    out->atom = atom;
    /* rest = poly - scale * a + scale * b * (a // b) */
    negated = out->scale;
    negated.factor = -negated.factor;
    single = term_of_atom(arena, atom);
    single = term_multiply(arena, &out->scale, &single);
    out->rest = poly_add(arena, poly, &negated, atom->a->poly);
    out->rest = poly_add(arena, out->rest, &single, atom->b->poly);
    return out->rest.count + 1 < poly.count && !poly_overflowed(out->rest);
}

/* k * rest * (x // b), with rest >= 0, lies between k * rest * (x - b + 1) / b and k * rest * x / b. */
static bool relax(struct arena *arena, struct poly poly, const struct term *term, int effort,
                  struct range *range)
{
    int position = term_only_atom(term, ATOM_FLOORDIV);
    int64_t divisor;
    struct term scale;
    struct poly others, low, high;
    const struct dim *lower, *upper;

    if (position < 0 || !atom_divides_by_const(term->atoms[position], &divisor))
        return false;
    scale = term_without_atom(arena, term, position);
    if (term_range(&scale).lower < 0)
        return false;
    scale.factor = term->factor;
    others = poly_times(arena, poly_without(arena, poly, term), divisor);
    high = term->atoms[position]->a->poly;
    low = poly_add(arena, high, &term_one, poly_const(arena, 1 - divisor));
    if (term->factor < 0) {
        struct poly swap = low;

        low = high;
        high = swap;
    }
    lower = dim_of_poly(arena, poly_add(arena, others, &scale, low), effort);
    upper = dim_of_poly(arena, poly_add(arena, others, &scale, high), effort);
    if (poly_overflowed(lower->poly) || poly_overflowed(upper->poly))
        return false;
    *range = (struct range){lower->range.lower, upper->range.upper};
    range->lower = is_saturated(range->lower) ? INT64_MIN : sat_ceil_divide(range->lower, divisor);
    range->upper = is_saturated(range->upper) ? INT64_MAX : sat_floor_divide(range->upper, divisor);
    return true;
}

const struct size_limits *poly_limits(struct poly poly)
{
    for (int i = 0; i < poly.count; i++)
        for (int j = 0; j < poly.terms[i].degree; j++)
            if (poly.terms[i].atoms[j]->kind == ATOM_SIZE)
                return poly.terms[i].atoms[j]->size->limits;
    return NULL;
}

/* With gap >= 0 and a monomial m >= 0, poly is at most poly + m * gap, and at least poly - m * gap: so with the m that takes away
 * one of its terms, for each term of the gap that divides it. */
static struct range limited_by(struct arena *arena, struct poly poly, const struct dim *gap, int effort)
{
    struct range range = {INT64_MIN, INT64_MAX};

    for (int i = 0; i < poly.count; i++) {
        for (int j = 0; j < gap->poly.count; j++) {
            const struct term *term = &poly.terms[i], *lead = &gap->poly.terms[j];
            struct term scale;
            struct poly other;
            const struct dim *bound;

            if (lead->degree == 0 || term->factor % lead->factor != 0 ||
                !term_without(arena, term, lead, &scale) || term_range(&scale).lower < 0)
                continue;
            scale.factor = -(term->factor / lead->factor);
            other = poly_add(arena, poly, &scale, gap->poly);
            if (poly_overflowed(other))
                continue;
            bound = dim_of_poly(arena, other, effort);
            if (scale.factor > 0 && !is_saturated(bound->range.upper))
                range.upper = least(range.upper, bound->range.upper);
            if (scale.factor < 0 && !is_saturated(bound->range.lower))
                range.lower = most(range.lower, bound->range.lower);
        }
    }
    return range;
}

static struct range refined_range(struct arena *arena, struct poly poly, int effort)
{
    struct range range = poly_range(poly), other;
    const struct size_limits *limits = effort > 0 ? poly_limits(poly) : NULL;

    for (int i = 0; limits && i < limits->count; i++)
        range = range_intersect(range, limited_by(arena, poly, limits->gaps[i], effort - 1));
    if (effort == 0 || poly.count < 2)
        return range;
    range = range_intersect(range, poly_range(poly_shortened(arena, poly)));
    for (int i = 0; i < poly.count; i++) {
        const struct term *term = &poly.terms[i];
        struct dim_choice choice;
        struct dim_remainder remainder;

        if (dim_as_choice(arena, poly, term, effort - 1, &choice)) {
            struct range a = choice.first->range, b = choice.second->range;

            if (choice.larger)
                other = (struct range){most(a.lower, b.lower), most(a.upper, b.upper)};
            else
                other = (struct range){least(a.lower, b.lower), least(a.upper, b.upper)};
            range = range_intersect(range, other);
        }
        if (dim_as_remainder(arena, poly, term, &remainder)) {
            other = range_mod(remainder.atom->a->range, remainder.atom->b->range);
            other = range_multiply(other, term_range(&remainder.scale));
            other = range_add(other, dim_of_poly(arena, remainder.rest, effort - 1)->range);
            range = range_intersect(range, other);
        }
        if (relax(arena, poly, term, effort - 1, &other))
            range = range_intersect(range, other);
    }
    return range;
}

/* Of each dim at most MAX_WEIGHT, so the sum fits. */
static int poly_weight(struct poly poly)
{
    int weight = 0;

    for (int i = 0; i < poly.count && weight <= MAX_WEIGHT; i++) {
        for (int j = 0; j < poly.terms[i].degree && weight <= MAX_WEIGHT; j++) {
            const struct atom *atom = poly.terms[i].atoms[j];

            weight += 1 + (atom->a ? atom->a->weight : 0) + (atom->b ? atom->b->weight : 0);
        }
    }
    return weight;
}

const struct dim *dim_of_poly(struct arena *arena, struct poly poly, int effort)
{
    struct dim *dim = ARENA_NEW(arena, struct dim);

    for (int i = 0; i < poly.count; i++)
        if (is_saturated(poly.terms[i].factor))
            poly = poly_const(arena, poly.terms[i].factor);
    dim->weight = poly_weight(poly);
    if (dim->weight > MAX_WEIGHT) {
        poly = poly_const(arena, INT64_MAX);
        dim->weight = 0;
    }
    dim->poly = poly;
    dim->range = refined_range(arena, poly, effort);
    return dim;
}
