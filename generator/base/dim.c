/* dim.c - dimensions in canonical form. Apart from all rooms, because shapes, sizes of memory and emitted loop bounds
 * are all written with it.
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
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

struct poly { /* sorted by compare_monomials, largest first; no factor is 0 */
    int count;
    struct term *terms;
};

struct range {
    int64_t lower, upper;
};

struct dim {
    struct poly poly;
    struct range range;
    int weight; /* atoms that are printed */
};

#define MAX_WEIGHT 500
#define EFFORT 3 /* how many atoms deep bounds are refined; the work doubles with each */

static const struct dim *finish(struct arena *arena, struct poly poly, int effort);
static const struct dim *divide_const(struct arena *arena, const struct dim *a, int64_t b);

/* ---- saturating integers and ranges ------------------------------------------------------------------ */

static bool is_saturated(int64_t value)
{
    return value == INT64_MAX || value == INT64_MIN;
}

static int64_t saturated(bool negative)
{
    return negative ? INT64_MIN : INT64_MAX;
}

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;

    if (is_saturated(a))
        return a;
    if (is_saturated(b))
        return b;
    return __builtin_add_overflow(a, b, &sum) ? saturated(a < 0) : sum;
}

static int64_t multiply(int64_t a, int64_t b)
{
    int64_t product;

    if (a == 0 || b == 0)
        return 0;
    if (is_saturated(a) || is_saturated(b) || __builtin_mul_overflow(a, b, &product))
        return saturated((a < 0) != (b < 0));
    return product;
}

static int64_t negate(int64_t a)
{
    return a == INT64_MIN ? INT64_MAX : a == INT64_MAX ? INT64_MIN : -a;
}

/* As Python's //, but 0 for a divisor of 0. */
static int64_t floor_divide(int64_t a, int64_t b)
{
    if (b == 0 || a == 0)
        return 0;
    if (is_saturated(a))
        return saturated((a < 0) != (b < 0));
    if (b == -1)
        return -a;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t ceil_divide(int64_t a, int64_t b)
{
    return negate(floor_divide(negate(a), b));
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    a = a < 0 ? negate(a) : a;
    b = b < 0 ? negate(b) : b;
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct range range_add(struct range a, struct range b)
{
    return (struct range){add(a.lower, b.lower), add(a.upper, b.upper)};
}

static struct range range_multiply(struct range a, struct range b)
{
    int64_t ll = multiply(a.lower, b.lower), lu = multiply(a.lower, b.upper);
    int64_t ul = multiply(a.upper, b.lower), uu = multiply(a.upper, b.upper);

    return (struct range){least(least(ll, lu), least(ul, uu)), most(most(ll, lu), most(ul, uu))};
}

static struct range range_intersect(struct range a, struct range b)
{
    return (struct range){most(a.lower, b.lower), least(a.upper, b.upper)};
}

/* A quotient is largest or smallest at the ends of both ranges, or beside a divisor of 0. */
static struct range range_floor_divide(struct range a, struct range b)
{
    const int64_t tops[] = {a.lower, a.upper};
    int64_t bottoms[4];
    int count = 0;
    struct range result = {INT64_MAX, INT64_MIN};

    if (b.upper > 0) {
        bottoms[count++] = most(b.lower, 1);
        bottoms[count++] = b.upper;
    }
    if (b.lower < 0) {
        bottoms[count++] = b.lower;
        bottoms[count++] = least(b.upper, -1);
    }
    if (count == 0)
        return (struct range){0, 0};
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < 2; j++) {
            int64_t quotient = floor_divide(tops[j], bottoms[i]);

            result.lower = least(result.lower, quotient);
            result.upper = most(result.upper, quotient);
        }
    }
    return result;
}

static struct range range_mod(struct range a, struct range b)
{
    struct range result = {b.lower < 0 ? add(b.lower, 1) : 0, b.upper > 0 ? add(b.upper, -1) : 0};

    if (a.lower >= 0 && b.lower >= 0)
        result.upper = least(result.upper, a.upper);
    return result;
}

/* ---- order ------------------------------------------------------------------------------------------- */

static int compare_dims(const struct dim *a, const struct dim *b);

static int compare_atoms(const struct atom *a, const struct atom *b)
{
    int order;

    if (a == b)
        return 0;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == ATOM_SIZE)
        return (a->size->index > b->size->index) - (a->size->index < b->size->index);
    order = compare_dims(a->a, b->a);
    return order != 0 || !a->b ? order : compare_dims(a->b, b->b);
}

/* Graded lexicographic: an order that multiplication keeps, which long division needs. */
static int compare_monomials(const struct term *a, const struct term *b)
{
    if (a->degree != b->degree)
        return a->degree < b->degree ? -1 : 1;
    for (int i = 0; i < a->degree; i++) {
        int order = compare_atoms(a->atoms[i], b->atoms[i]);

        if (order != 0)
            return -order;
    }
    return 0;
}

static int compare_polys(struct poly a, struct poly b)
{
    for (int i = 0; i < a.count && i < b.count; i++) {
        int order = compare_monomials(&a.terms[i], &b.terms[i]);

        if (order != 0)
            return order;
        if (a.terms[i].factor != b.terms[i].factor)
            return a.terms[i].factor < b.terms[i].factor ? -1 : 1;
    }
    return (a.count > b.count) - (a.count < b.count);
}

static int compare_dims(const struct dim *a, const struct dim *b)
{
    return a == b ? 0 : compare_polys(a->poly, b->poly);
}

static int larger_first(const void *a, const void *b)
{
    return -compare_monomials(a, b);
}

/* ---- polynomials ------------------------------------------------------------------------------------- */

static const struct term one = {.factor = 1};

static int64_t constant_of(struct poly poly)
{
    const struct term *last = poly.count > 0 ? &poly.terms[poly.count - 1] : NULL;

    return last && last->degree == 0 ? last->factor : 0;
}

static bool poly_is_const(struct poly poly)
{
    return poly.count == 0 || (poly.count == 1 && poly.terms[0].degree == 0);
}

static bool poly_overflowed(struct poly poly)
{
    for (int i = 0; i < poly.count; i++)
        if (is_saturated(poly.terms[i].factor))
            return true;
    return false;
}

static struct poly poly_const(struct arena *arena, int64_t value)
{
    struct poly poly = {0};

    if (value != 0) {
        poly.terms = ARENA_ARRAY(arena, 1, struct term);
        poly.terms[0].factor = value;
        poly.count = 1;
    }
    return poly;
}

static struct poly poly_of_term(struct arena *arena, struct term term)
{
    struct poly poly = {.count = 1, .terms = ARENA_ARRAY(arena, 1, struct term)};

    poly.terms[0] = term;
    return poly;
}

static struct term term_of_atom(struct arena *arena, const struct atom *atom)
{
    struct term term = {.factor = 1, .degree = 1, .atoms = ARENA_ARRAY(arena, 1, const struct atom *)};

    term.atoms[0] = atom;
    return term;
}

static struct term term_multiply(struct arena *arena, const struct term *a, const struct term *b)
{
    struct term product = {.factor = multiply(a->factor, b->factor), .degree = a->degree + b->degree};
    int i = 0, j = 0;

    if (a->degree == 0 || b->degree == 0) {
        product.atoms = a->degree == 0 ? b->atoms : a->atoms;
        return product;
    }
    product.atoms = ARENA_ARRAY(arena, product.degree, const struct atom *);
    while (i < a->degree || j < b->degree) {
        bool left = j == b->degree || (i < a->degree && compare_atoms(a->atoms[i], b->atoms[j]) <= 0);

        product.atoms[i + j] = left ? a->atoms[i] : b->atoms[j];
        *(left ? &i : &j) += 1;
    }
    return product;
}

/* The atoms of `a` without those of `b`; false where some of b's are not in a. The factor is left at 1. */
static bool term_without(struct arena *arena, const struct term *a, const struct term *b, struct term *rest)
{
    int j = 0;

    *rest = one;
    if (b->degree > a->degree)
        return false;
    rest->atoms = ARENA_ARRAY(arena, a->degree - b->degree + 1, const struct atom *);
    for (int i = 0; i < a->degree; i++) {
        if (j < b->degree && compare_atoms(a->atoms[i], b->atoms[j]) == 0)
            j++;
        else if (rest->degree < a->degree - b->degree)
            rest->atoms[rest->degree++] = a->atoms[i];
        else
            return false;
    }
    return true;
}

/* a + scale * b */
static struct poly poly_add(struct arena *arena, struct poly a, const struct term *scale, struct poly b)
{
    struct poly sum = {.terms = ARENA_ARRAY(arena, a.count + b.count + 1, struct term)};
    int count = 0;

    for (int i = 0; i < a.count; i++)
        sum.terms[count++] = a.terms[i];
    for (int i = 0; i < b.count; i++)
        sum.terms[count++] = term_multiply(arena, scale, &b.terms[i]);
    qsort(sum.terms, (size_t)count, sizeof *sum.terms, larger_first);
    for (int i = 0; i < count;) {
        struct term term = sum.terms[i++];

        while (i < count && compare_monomials(&term, &sum.terms[i]) == 0)
            term.factor = add(term.factor, sum.terms[i++].factor);
        if (term.factor != 0)
            sum.terms[sum.count++] = term;
    }
    return sum;
}

static struct poly poly_add_times(struct arena *arena, struct poly a, int64_t factor, struct poly b)
{
    struct term scale = {.factor = factor};

    return poly_add(arena, a, &scale, b);
}

static struct poly poly_times(struct arena *arena, struct poly a, int64_t factor)
{
    return poly_add_times(arena, (struct poly){0}, factor, a);
}

static struct poly poly_without(struct arena *arena, struct poly poly, const struct term *term)
{
    return poly_add_times(arena, poly, -1, poly_of_term(arena, *term));
}

static struct poly poly_multiply(struct arena *arena, struct poly a, struct poly b)
{
    struct poly product = {0};

    for (int i = 0; i < a.count; i++)
        product = poly_add(arena, product, &a.terms[i], b);
    return product;
}

/* The greatest common divisor of `divisor` and the factors, that of the constant left out. */
static int64_t common_divisor(struct poly poly, int64_t divisor)
{
    for (int i = 0; i < poly.count; i++)
        if (poly.terms[i].degree > 0)
            divisor = greatest_divisor(divisor, poly.terms[i].factor);
    return divisor;
}

/* Every factor divided, that of the constant rounded down. */
static struct poly divide_factors(struct arena *arena, struct poly poly, int64_t divisor)
{
    struct poly quotient = {.terms = ARENA_ARRAY(arena, poly.count + 1, struct term)};

    for (int i = 0; i < poly.count; i++) {
        struct term term = poly.terms[i];

        term.factor = floor_divide(term.factor, divisor);
        if (term.factor != 0)
            quotient.terms[quotient.count++] = term;
    }
    return quotient;
}

/* Long division: a = quotient * b + rest, where a factor of the rest at a multiple of b's leading monomial lies
 * in [0, leading factor), which makes it unique. b is not 0 and its leading factor is positive. False after an
 * overflow. */
static bool poly_divide(struct arena *arena, struct poly a, struct poly b, struct poly *quotient,
                        struct poly *rest)
{
    const struct term *lead = &b.terms[0];
    int at = 0;

    *quotient = (struct poly){0};
    *rest = a;
    while (at < rest->count) {
        struct term step;
        int64_t factor = floor_divide(rest->terms[at].factor, lead->factor);

        if (factor == 0 || !term_without(arena, &rest->terms[at], lead, &step)) {
            at++;
            continue;
        }
        step.factor = factor;
        *quotient = poly_add(arena, *quotient, &one, poly_of_term(arena, step));
        step.factor = negate(factor);
        *rest = poly_add(arena, *rest, &step, b);
        if (poly_overflowed(*rest) || poly_overflowed(*quotient))
            return false;
        /* What stood before `at` is larger than all that was added; the term at `at` may have stayed or gone. */
    }
    return true;
}

/* ---- partners: two ways to write one quotient --------------------------------------------------------- */

static const struct atom *make_atom(struct arena *arena, enum atom_kind kind, const struct dim *a,
                                    const struct dim *b)
{
    struct atom *atom = ARENA_NEW(arena, struct atom);

    atom->kind = kind;
    atom->a = a;
    atom->b = b;
    return atom;
}

/* A floor division by a constant, which goes into *divisor. */
static bool divides_by_const(const struct atom *atom, int64_t *divisor)
{
    return atom->kind == ATOM_FLOORDIV && dim_is_const(atom->b, divisor);
}

/* The position of the only atom of `kind` in a term; -1 where there is none, or more than one. */
static int only_atom(const struct term *term, enum atom_kind kind)
{
    int found = -1;

    for (int i = 0; i < term->degree; i++) {
        if (term->atoms[i]->kind != kind)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

static struct term without_atom(struct arena *arena, const struct term *term, int position)
{
    struct term single = {.factor = 1, .degree = 1, .atoms = &term->atoms[position]};
    struct term rest;
    bool found = term_without(arena, term, &single, &rest);

    assert(found);
    (void)found;
    return rest;
}

/* For a // b with factors of `a` in [0, b): (partner) // b + a // b = sum of a's monomials. */
static struct poly partner_of(struct arena *arena, struct poly a, int64_t b)
{
    struct poly partner = poly_const(arena, b - 1 - constant_of(a));

    for (int i = 0; i < a.count; i++) {
        struct term term = a.terms[i];

        if (term.degree == 0)
            continue;
        term.factor = b - term.factor;
        partner = poly_add(arena, partner, &one, poly_of_term(arena, term));
    }
    return partner;
}

static struct poly monomials_of(struct arena *arena, struct poly a)
{
    struct poly sum = {0};

    for (int i = 0; i < a.count; i++) {
        struct term term = a.terms[i];

        term.factor = 1;
        if (term.degree > 0)
            sum = poly_add(arena, sum, &one, poly_of_term(arena, term));
    }
    return sum;
}

static int64_t factor_of(struct poly poly, const struct term *monomial)
{
    for (int i = 0; i < poly.count; i++)
        if (compare_monomials(&poly.terms[i], monomial) == 0)
            return poly.terms[i].factor;
    return 0;
}

/* Which of (a) // b and its partner is kept: the one with the smaller leading factor, or else constant. */
static bool is_preferred(struct poly a, int64_t b)
{
    for (int i = 0; i < a.count; i++) {
        int64_t factor = a.terms[i].factor;

        if (a.terms[i].degree > 0 && factor != b - factor)
            return factor < b - factor;
    }
    return constant_of(a) <= b - 1 - constant_of(a);
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
        length.negative_quotients += negative && only_atom(term, ATOM_FLOORDIV) >= 0;
        length.digits = add(length.digits, negative ? negate(term->factor) : term->factor);
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
    int position = only_atom(term, ATOM_FLOORDIV);
    int64_t divisor;
    const struct atom *atom;
    struct term rest, single;
    struct poly said, partner;

    if (position < 0 || !divides_by_const(term->atoms[position], &divisor))
        return false;
    atom = term->atoms[position];
    rest = without_atom(arena, term, position);
    rest.factor = term->factor;
    partner = partner_of(arena, atom->a->poly, divisor);
    single = term_of_atom(arena, make_atom(arena, ATOM_FLOORDIV, finish(arena, partner, 0), atom->b));
    said = poly_add_times(arena, monomials_of(arena, atom->a->poly), -1, poly_of_term(arena, single));
    said = poly_add(arena, poly_without(arena, *poly, term), &rest, said);
    if (poly_overflowed(said) || !is_shorter(said, *poly))
        return false;
    *poly = said;
    return true;
}

static struct poly shortened(struct arena *arena, struct poly poly)
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
        return (struct range){0, atom->size->max};
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

/* rest + k * max(a, 0) is the larger (k > 0) or smaller (k < 0) of rest and rest + k * a. */
struct choice {
    const struct dim *first, *second;
    bool larger;
};

static bool as_choice(struct arena *arena, struct poly poly, const struct term *term, int effort,
                      struct choice *choice)
{
    struct poly rest;

    if (term->degree != 1 || term->atoms[0]->kind != ATOM_POSITIVE)
        return false;
    rest = poly_without(arena, poly, term);
    choice->first = finish(arena, poly_add_times(arena, rest, term->factor, term->atoms[0]->a->poly), effort);
    choice->second = finish(arena, rest, effort);
    choice->larger = term->factor > 0;
    return true;
}

/* rest + scale * (a % b), found at a term of scale * (a - b * (a // b)), where that is shorter. */
struct remainder {
    struct poly rest;
    struct term scale;
    const struct atom *atom; /* of a // b */
};

static bool as_remainder(struct arena *arena, struct poly poly, const struct term *term,
                         struct remainder *out)
{
    int position = only_atom(term, ATOM_FLOORDIV);
    const struct atom *atom;
    const struct term *lead;
    struct term others, negated, single;

    if (position < 0)
        return false;
    atom = term->atoms[position];
    lead = &atom->b->poly.terms[0];
    others = without_atom(arena, term, position);
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
    int position = only_atom(term, ATOM_FLOORDIV);
    int64_t divisor;
    struct term scale;
    struct poly others, low, high;
    const struct dim *lower, *upper;

    if (position < 0 || !divides_by_const(term->atoms[position], &divisor))
        return false;
    scale = without_atom(arena, term, position);
    if (term_range(&scale).lower < 0)
        return false;
    scale.factor = term->factor;
    others = poly_times(arena, poly_without(arena, poly, term), divisor);
    high = term->atoms[position]->a->poly;
    low = poly_add(arena, high, &one, poly_const(arena, 1 - divisor));
    if (term->factor < 0) {
        struct poly swap = low;

        low = high;
        high = swap;
    }
    lower = finish(arena, poly_add(arena, others, &scale, low), effort);
    upper = finish(arena, poly_add(arena, others, &scale, high), effort);
    if (poly_overflowed(lower->poly) || poly_overflowed(upper->poly))
        return false;
    *range = (struct range){lower->range.lower, upper->range.upper};
    range->lower = is_saturated(range->lower) ? INT64_MIN : ceil_divide(range->lower, divisor);
    range->upper = is_saturated(range->upper) ? INT64_MAX : floor_divide(range->upper, divisor);
    return true;
}

static struct range refined_range(struct arena *arena, struct poly poly, int effort)
{
    struct range range = poly_range(poly), other;

    if (effort == 0 || poly.count < 2)
        return range;
    range = range_intersect(range, poly_range(shortened(arena, poly)));
    for (int i = 0; i < poly.count; i++) {
        const struct term *term = &poly.terms[i];
        struct choice choice;
        struct remainder remainder;

        if (as_choice(arena, poly, term, effort - 1, &choice)) {
            struct range a = choice.first->range, b = choice.second->range;

            if (choice.larger)
                other = (struct range){most(a.lower, b.lower), most(a.upper, b.upper)};
            else
                other = (struct range){least(a.lower, b.lower), least(a.upper, b.upper)};
            range = range_intersect(range, other);
        }
        if (as_remainder(arena, poly, term, &remainder)) {
            other = range_mod(remainder.atom->a->range, remainder.atom->b->range);
            other = range_multiply(other, term_range(&remainder.scale));
            other = range_add(other, finish(arena, remainder.rest, effort - 1)->range);
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

/* The dim of a polynomial: the one place where a struct dim is made. */
static const struct dim *finish(struct arena *arena, struct poly poly, int effort)
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

/* ---- making dims ------------------------------------------------------------------------------------- */

static bool overflowed(const struct dim *dim)
{
    return poly_overflowed(dim->poly);
}

const struct dim *dim_const(struct arena *arena, int64_t value)
{
    return finish(arena, poly_const(arena, value), 0);
}

const struct dim *dim_size(struct arena *arena, const struct size *size)
{
    struct atom *atom = ARENA_NEW(arena, struct atom);

    atom->kind = ATOM_SIZE;
    atom->size = size;
    return finish(arena, poly_of_term(arena, term_of_atom(arena, atom)), 0);
}

const struct dim *dim_add(struct arena *arena, const struct dim *a, const struct dim *b)
{
    return finish(arena, poly_add(arena, a->poly, &one, b->poly), EFFORT);
}

const struct dim *dim_sub(struct arena *arena, const struct dim *a, const struct dim *b)
{
    return finish(arena, poly_add_times(arena, a->poly, -1, b->poly), EFFORT);
}

const struct dim *dim_mul(struct arena *arena, const struct dim *a, const struct dim *b)
{
    return finish(arena, poly_multiply(arena, a->poly, b->poly), EFFORT);
}

/* The dim with what is known of its value besides. */
static const struct dim *narrowed(struct arena *arena, const struct dim *dim, struct range range)
{
    struct dim *copy = ARENA_NEW(arena, struct dim);

    copy->poly = dim->poly;
    copy->weight = dim->weight;
    copy->range = range_intersect(dim->range, range);
    return copy->range.lower == copy->range.upper ? dim_const(arena, copy->range.lower) : copy;
}

static const struct dim *times(struct arena *arena, const struct dim *a, int64_t factor)
{
    return finish(arena, poly_times(arena, a->poly, factor), EFFORT);
}

static const struct dim *floordiv_atom(struct arena *arena, const struct dim *a, const struct dim *b)
{
    return finish(arena, poly_of_term(arena, term_of_atom(arena, make_atom(arena, ATOM_FLOORDIV, a, b))),
                  EFFORT);
}

/* The first term `factor * (x // c)` with constant c, or NULL. */
static const struct term *nested_division(struct poly poly, int64_t factor, int64_t *divisor)
{
    for (int i = 0; i < poly.count; i++) {
        const struct term *term = &poly.terms[i];

        if (term->factor == factor && term->degree == 1 && divides_by_const(term->atoms[0], divisor))
            return term;
    }
    return NULL;
}

/* rest // b, where the rest holds x // c or its negative, as one division: (p + x // c) // b is (c * p + x) // (c * b),
 * and -(x // c) is (c - 1 - x) // c. NULL where there is none. Modulo 2 it is both; then the sign in `whole`, which the
 * rest comes from, decides. */
static const struct dim *divide_nested(struct arena *arena, struct poly rest, int64_t b, struct poly whole)
{
    int64_t inner = 1;
    const struct term *nested = nested_division(rest, 1, &inner);
    bool negative = !nested || (b == 2 && factor_of(whole, nested) < 0);
    struct poly joined, added = {0};

    if (!nested)
        nested = nested_division(rest, b - 1, &inner);
    if (!nested || is_saturated(multiply(inner, b)))
        return NULL;
    joined = poly_times(arena, poly_without(arena, rest, nested), inner);
    joined = poly_add_times(arena, joined, negative ? -1 : 1, nested->atoms[0]->a->poly);
    if (negative) { /* b - 1 times x // c: -1 times, and once in the result */
        struct term term = *nested;

        term.factor = 1;
        added = poly_of_term(arena, term);
        joined = poly_add(arena, joined, &one, poly_const(arena, inner - 1));
    }
    if (poly_overflowed(joined))
        return NULL;
    return dim_add(arena, divide_const(arena, finish(arena, joined, EFFORT), multiply(inner, b)),
                   finish(arena, added, EFFORT));
}

/* rest // b, for factors of `rest` in [0, b) that share no divisor with b; `whole` is what it is the rest of. */
static const struct dim *divide_rest(struct arena *arena, struct poly rest, int64_t b, struct poly whole)
{
    const struct dim *top = finish(arena, rest, EFFORT), *other, *nested, *quotient;
    struct poly monomials = monomials_of(arena, rest);

    if (floor_divide(top->range.lower, b) == floor_divide(top->range.upper, b))
        return dim_const(arena, floor_divide(top->range.lower, b));

    nested = divide_nested(arena, rest, b, whole);
    if (nested)
        return nested;
    other = finish(arena, partner_of(arena, rest, b), EFFORT);
    if (floor_divide(other->range.lower, b) == floor_divide(other->range.upper, b))
        quotient = dim_const(arena, floor_divide(other->range.lower, b));
    else if (is_preferred(rest, b))
        return floordiv_atom(arena, top, dim_const(arena, b));
    else
        quotient = floordiv_atom(arena, other, dim_const(arena, b));
    return finish(arena, poly_add_times(arena, monomials, -1, quotient->poly), EFFORT);
}

static const struct dim *divide_const(struct arena *arena, const struct dim *a, int64_t b)
{
    struct poly whole = {0}, rest = {0};
    int64_t shared;

    assert(b != 0);
    if (b < 0) {
        a = times(arena, a, -1);
        b = negate(b);
    }
    if (b == 1)
        return a;
    for (int i = 0; i < a->poly.count; i++) { /* max(x, c) // b is max(x // b, c // b) */
        struct choice choice;

        if (!as_choice(arena, a->poly, &a->poly.terms[i], EFFORT, &choice) ||
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
        int64_t quotient = floor_divide(term.factor, b), remainder = term.factor - quotient * b;

        term.factor = quotient;
        if (quotient != 0)
            whole.terms[whole.count++] = term;
        term.factor = remainder;
        if (remainder != 0)
            rest.terms[rest.count++] = term;
    }
    if (poly_is_const(rest))
        return finish(arena, whole, EFFORT);
    shared = common_divisor(rest, b);
    rest = divide_factors(arena, rest, shared);
    return dim_add(arena, finish(arena, whole, EFFORT), divide_rest(arena, rest, b / shared, a->poly));
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
            result = poly_add(arena, result, &one, poly_of_term(arena, rest));
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
    quotient = finish(arena, whole, EFFORT);
    if (rest.count == 0)
        return quotient;

    shared = common_divisor(rest, common_divisor(b->poly, constant_of(b->poly)));
    common = common_atoms(arena, rest, b->poly);
    if (shared > 1 || common.degree > 0) {
        struct poly upper = without_atoms(arena, divide_factors(arena, rest, shared), &common);
        struct poly lower = without_atoms(arena, divide_factors(arena, b->poly, shared), &common);

        return dim_add(arena, quotient,
                       dim_floordiv(arena, finish(arena, upper, EFFORT), finish(arena, lower, EFFORT)));
    }

    top = finish(arena, rest, EFFORT);
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
    int64_t divisor;
    const struct dim *quotient;

    assert(!dim_equals(b, 0));
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
    int64_t shared = common_divisor(a->poly, constant_of(a->poly));
    const struct dim *whole = dim_const(arena, 0);
    struct term term;

    if (a->poly.terms[0].factor < 0) { /* max(a, 0) is a + max(-a, 0) */
        whole = a;
        a = times(arena, a, -1);
    }
    a = finish(arena, divide_factors(arena, a->poly, shared), EFFORT);
    term = term_of_atom(arena, make_atom(arena, ATOM_POSITIVE, a, NULL));
    term.factor = shared;
    return finish(arena, poly_add(arena, whole->poly, &one, poly_of_term(arena, term)), EFFORT);
}

static bool always_at_most(struct arena *arena, const struct dim *a, const struct dim *b)
{
    return dim_sub(arena, a, b)->range.upper <= 0;
}

/* max(a, b) where `a` is itself a max or min of two, and one of the three can be left out or moved; else NULL. */
static const struct dim *max_of_choice(struct arena *arena, const struct dim *a, const struct dim *b)
{
    for (int i = 0; i < a->poly.count; i++) {
        struct choice choice;
        const struct dim *pair[2];

        if (!as_choice(arena, a->poly, &a->poly.terms[i], EFFORT, &choice))
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
    if (compare_dims(a, b) < 0) { /* one form, whichever came first */
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

/* ---- asking ------------------------------------------------------------------------------------------ */

bool dim_is_const(const struct dim *dim, int64_t *value)
{
    if (!poly_is_const(dim->poly))
        return false;
    if (value)
        *value = constant_of(dim->poly);
    return true;
}

bool dim_equal(const struct dim *a, const struct dim *b)
{
    return compare_dims(a, b) == 0;
}

bool dim_equals(const struct dim *a, int64_t value)
{
    return poly_is_const(a->poly) && constant_of(a->poly) == value;
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
    *quotient = finish(arena, whole, EFFORT);
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

static int64_t atom_eval(const struct atom *atom, const int64_t *sizes)
{
    if (atom->kind == ATOM_SIZE)
        return sizes[atom->size->index];
    if (atom->kind == ATOM_FLOORDIV)
        return floor_divide(dim_eval(atom->a, sizes), dim_eval(atom->b, sizes));
    assert(atom->kind == ATOM_POSITIVE);
    return most(dim_eval(atom->a, sizes), 0);
}

int64_t dim_eval(const struct dim *dim, const int64_t *sizes)
{
    int64_t sum = 0;

    for (int i = 0; i < dim->poly.count; i++) {
        int64_t product = dim->poly.terms[i].factor;

        for (int j = 0; j < dim->poly.terms[i].degree; j++)
            product = multiply(product, atom_eval(dim->poly.terms[i].atoms[j], sizes));
        sum = add(sum, product);
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

/* ---- printing ---------------------------------------------------------------------------------------- */

struct printer {
    struct text *text;
    bool c; /* else as the spec would write it */
    const char *(*name)(const struct size *);
};

/* A sum as it is printed: remainders as %, the rest of what can be a min or max inside that. */
static struct poly shown_form(struct arena *arena, struct poly poly)
{
    struct poly shown = {0};

    poly = shortened(arena, poly);
    for (int i = 0; i < poly.count; i++) {
        struct remainder remainder;

        if (as_remainder(arena, poly, &poly.terms[i], &remainder)) {
            struct term single = term_of_atom(
                arena, make_atom(arena, ATOM_MOD, remainder.atom->a, remainder.atom->b));

            single = term_multiply(arena, &remainder.scale, &single);
            shown = poly_add(arena, shown, &one, poly_of_term(arena, single));
            poly = remainder.rest;
            i = -1;
        }
    }
    for (int i = 0; i < poly.count && shown.count == 0; i++) {
        const struct term *term = &poly.terms[i];
        struct choice choice;
        struct term single;
        enum atom_kind kind;

        if (!as_choice(arena, poly, term, 0, &choice) ||
            choice.first->poly.count + choice.second->poly.count >
                term->atoms[0]->a->poly.count + poly.count - 1)
            continue;
        kind = choice.larger ? ATOM_MAX : ATOM_MIN;
        if (dim_is_const(choice.first, NULL)) /* min(n, 3), not min(3, n) */
            single = term_of_atom(arena, make_atom(arena, kind, choice.second, choice.first));
        else
            single = term_of_atom(arena, make_atom(arena, kind, choice.first, choice.second));
        return poly_of_term(arena, single);
    }
    return poly_add(arena, shown, &one, poly);
}

enum strength { SUM, PRODUCT, PRIMARY }; /* what may stand without parentheses */

static void print_dim(struct printer *printer, const struct dim *dim, enum strength needed);

static void print_pair(struct printer *printer, const char *function, const struct dim *a,
                       const struct dim *b)
{
    text_printf(printer->text, "%s(", function);
    print_dim(printer, a, SUM);
    text_add(printer->text, ", ");
    if (b)
        print_dim(printer, b, SUM);
    else
        text_add(printer->text, "0");
    text_add(printer->text, ")");
}

static void print_quotient(struct printer *printer, const struct atom *atom)
{
    bool divides = atom->kind == ATOM_FLOORDIV;

    if (printer->c && (atom->a->range.lower < 0 || atom->b->range.lower <= 0)) {
        print_pair(printer, divides ? "modc_floordiv" : "modc_mod", atom->a, atom->b);
        return;
    }
    print_dim(printer, atom->a, PRODUCT);
    text_add(printer->text, !divides ? " % " : printer->c ? " / " : " // ");
    print_dim(printer, atom->b, PRIMARY);
}

static void print_atom(struct printer *printer, const struct atom *atom)
{
    const char *smaller = printer->c ? "modc_min" : "min", *larger = printer->c ? "modc_max" : "max";

    switch (atom->kind) {
    case ATOM_SIZE:
        text_add(printer->text, printer->name ? printer->name(atom->size) : atom->size->name);
        break;
    case ATOM_FLOORDIV:
    case ATOM_MOD:
        print_quotient(printer, atom);
        break;
    case ATOM_POSITIVE:
    case ATOM_MAX:
        print_pair(printer, larger, atom->a, atom->b);
        break;
    case ATOM_MIN:
        print_pair(printer, smaller, atom->a, atom->b);
        break;
    }
}

/* Whether an atom is printed as `a / b`, not as a call or a name. */
static bool is_quotient(const struct printer *printer, const struct atom *atom)
{
    if (atom->kind != ATOM_FLOORDIV && atom->kind != ATOM_MOD)
        return false;
    return !printer->c || (atom->a->range.lower >= 0 && atom->b->range.lower > 0);
}

/* The term without its sign; `grouped` where a quotient needs parentheses. */
static void print_term(struct printer *printer, const struct term *term, bool grouped)
{
    int64_t factor = term->factor;
    bool first = true;

    if (term->degree == 0 || (factor != 1 && factor != -1)) {
        text_printf(printer->text, "%" PRIu64, factor < 0 ? 0 - (uint64_t)factor : (uint64_t)factor);
        first = false;
    }
    for (int i = 0; i < term->degree; i++) {
        bool group = is_quotient(printer, term->atoms[i]) && (grouped || !first || term->degree > 1);

        if (!first)
            text_add(printer->text, " * ");
        if (group)
            text_add(printer->text, "(");
        print_atom(printer, term->atoms[i]);
        if (group)
            text_add(printer->text, ")");
        first = false;
    }
}

static enum strength strength_of(const struct printer *printer, struct poly shown)
{
    const struct term *term = shown.terms;

    if (shown.count == 0)
        return PRIMARY;
    if (shown.count > 1 || term->factor < 0)
        return SUM;
    if (term->degree == 0)
        return PRIMARY;
    return term->factor == 1 && term->degree == 1 && !is_quotient(printer, term->atoms[0]) ? PRIMARY
                                                                                           : PRODUCT;
}

/* `x // b + k` as people write it: (x + k * b) // b; and so for a term that makes a smaller factor in x. */
static struct poly absorb_into_quotient(struct arena *arena, struct poly shown)
{
    int64_t divisor;
    const struct term *term = nested_division(shown, 1, &divisor);
    struct poly top, rest;
    struct term single;

    if (!term)
        return shown;
    top = term->atoms[0]->a->poly;
    rest = poly_without(arena, shown, term);
    for (int i = 0; i < rest.count; i++) {
        struct term whole = rest.terms[i];
        int64_t factor = factor_of(top, &whole), sum;

        whole.factor = multiply(whole.factor, divisor);
        sum = add(factor, whole.factor);
        if (whole.degree > 0 && (sum < 0 ? negate(sum) : sum) >= factor)
            continue;
        top = poly_add(arena, top, &one, poly_of_term(arena, whole));
        rest = poly_without(arena, rest, &rest.terms[i--]);
    }
    single = term_of_atom(arena, make_atom(arena, ATOM_FLOORDIV, finish(arena, top, 0), term->atoms[0]->b));
    return poly_add(arena, rest, &one, poly_of_term(arena, single));
}

static void print_dim(struct printer *printer, const struct dim *dim, enum strength needed)
{
    struct poly shown = shown_form(printer->text->arena, dim->poly);
    bool group, first = true;

    if (!printer->c)
        shown = absorb_into_quotient(printer->text->arena, shown);
    group = strength_of(printer, shown) < needed;
    if (group)
        text_add(printer->text, "(");
    if (shown.count == 0)
        text_add(printer->text, "0");
    for (int sign = 1; sign >= -1; sign -= 2) { /* `4 - n`, not `-n + 4` */
        for (int i = 0; i < shown.count; i++) {
            if ((shown.terms[i].factor < 0) != (sign < 0))
                continue;
            if (!first || sign < 0)
                text_add(printer->text, first ? "-" : sign < 0 ? " - " : " + ");
            print_term(printer, &shown.terms[i], first && sign < 0); /* -(n // 4), which -n // 4 is not */
            first = false;
        }
    }
    if (group)
        text_add(printer->text, ")");
}

void dim_print(struct text *text, const struct dim *dim)
{
    struct printer printer = {.text = text};

    print_dim(&printer, dim, SUM);
}

void dim_print_c(struct text *text, const struct dim *dim, bool tight,
                 const char *(*name)(const struct size *))
{
    struct printer printer = {.text = text, .c = true, .name = name};

    print_dim(&printer, dim, tight ? PRIMARY : SUM);
}

const char *dim_text(struct arena *arena, const struct dim *dim)
{
    struct text text = text_new(arena);

    dim_print(&text, dim);
    return text.data;
}
