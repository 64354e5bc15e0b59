/* dim_poly.c - order among atoms, monomials and polynomials, and the ring that they form: sums, products, long division.
 * Apart from dim.c, which says what is kept as an atom, and from dim_bounds.c, which says how large it can be. */
#include "base/dim_poly.h"

#include <assert.h>
#include <stdlib.h>

/* ---- order ------------------------------------------------------------------------------------------- */

static int compare_polys(struct poly a, struct poly b);

static int compare_atoms(const struct atom *a, const struct atom *b)
{
    int order;

    if (a == b)
        return 0;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == ATOM_SIZE)
        return (a->size->index > b->size->index) - (a->size->index < b->size->index);
    order = dim_compare(a->a, b->a);
    return order != 0 || !a->b ? order : dim_compare(a->b, b->b);
}

int term_compare(const struct term *a, const struct term *b)
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
        int order = term_compare(&a.terms[i], &b.terms[i]);

        if (order != 0)
            return order;
        if (a.terms[i].factor != b.terms[i].factor)
            return a.terms[i].factor < b.terms[i].factor ? -1 : 1;
    }
    return (a.count > b.count) - (a.count < b.count);
}

int dim_compare(const struct dim *a, const struct dim *b)
{
    return a == b ? 0 : compare_polys(a->poly, b->poly);
}

static int larger_first(const void *a, const void *b)
{
    return -term_compare(a, b);
}

/* ---- polynomials ------------------------------------------------------------------------------------- */

const struct term term_one = {.factor = 1};

int64_t poly_constant(struct poly poly)
{
    const struct term *last = poly.count > 0 ? &poly.terms[poly.count - 1] : NULL;

    return last && last->degree == 0 ? last->factor : 0;
}

bool poly_is_const(struct poly poly)
{
    return poly.count == 0 || (poly.count == 1 && poly.terms[0].degree == 0);
}

bool poly_overflowed(struct poly poly)
{
    for (int i = 0; i < poly.count; i++)
        if (is_saturated(poly.terms[i].factor))
            return true;
    return false;
}

struct poly poly_const(struct arena *arena, int64_t value)
{
    struct poly poly = {0};

    if (value != 0) {
        poly.terms = ARENA_ARRAY(arena, 1, struct term);
        poly.terms[0].factor = value;
        poly.count = 1;
    }
    return poly;
}

struct poly poly_of_term(struct arena *arena, struct term term)
{
    struct poly poly = {.count = 1, .terms = ARENA_ARRAY(arena, 1, struct term)};

    poly.terms[0] = term;
    return poly;
}

struct term term_of_atom(struct arena *arena, const struct atom *atom)
{
    struct term term = {.factor = 1, .degree = 1, .atoms = ARENA_ARRAY(arena, 1, const struct atom *)};

    term.atoms[0] = atom;
    return term;
}

struct term term_multiply(struct arena *arena, const struct term *a, const struct term *b)
{
    struct term product = {.factor = sat_multiply(a->factor, b->factor), .degree = a->degree + b->degree};
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

bool term_without(struct arena *arena, const struct term *a, const struct term *b, struct term *rest)
{
    int j = 0;

    *rest = term_one;
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

struct poly poly_add(struct arena *arena, struct poly a, const struct term *scale, struct poly b)
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

        while (i < count && term_compare(&term, &sum.terms[i]) == 0)
            term.factor = sat_add(term.factor, sum.terms[i++].factor);
        if (term.factor != 0)
            sum.terms[sum.count++] = term;
    }
    return sum;
}

struct poly poly_add_times(struct arena *arena, struct poly a, int64_t factor, struct poly b)
{
    struct term scale = {.factor = factor};

    return poly_add(arena, a, &scale, b);
}

struct poly poly_times(struct arena *arena, struct poly a, int64_t factor)
{
    return poly_add_times(arena, (struct poly){0}, factor, a);
}

struct poly poly_without(struct arena *arena, struct poly poly, const struct term *term)
{
    return poly_add_times(arena, poly, -1, poly_of_term(arena, *term));
}

struct poly poly_multiply(struct arena *arena, struct poly a, struct poly b)
{
    struct poly product = {0};

    for (int i = 0; i < a.count; i++)
        product = poly_add(arena, product, &a.terms[i], b);
    return product;
}

struct poly poly_monomials(struct arena *arena, struct poly a)
{
    struct poly sum = {0};

    for (int i = 0; i < a.count; i++) {
        struct term term = a.terms[i];

        term.factor = 1;
        if (term.degree > 0)
            sum = poly_add(arena, sum, &term_one, poly_of_term(arena, term));
    }
    return sum;
}

int64_t poly_factor(struct poly poly, const struct term *monomial)
{
    for (int i = 0; i < poly.count; i++)
        if (term_compare(&poly.terms[i], monomial) == 0)
            return poly.terms[i].factor;
    return 0;
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    a = a < 0 ? sat_negate(a) : a;
    b = b < 0 ? sat_negate(b) : b;
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

int64_t poly_common_divisor(struct poly poly, int64_t divisor)
{
    for (int i = 0; i < poly.count; i++)
        if (poly.terms[i].degree > 0)
            divisor = greatest_divisor(divisor, poly.terms[i].factor);
    return divisor;
}

struct poly poly_divide_factors(struct arena *arena, struct poly poly, int64_t divisor)
{
    struct poly quotient = {.terms = ARENA_ARRAY(arena, poly.count + 1, struct term)};

    for (int i = 0; i < poly.count; i++) {
        struct term term = poly.terms[i];

        term.factor = sat_floor_divide(term.factor, divisor);
        if (term.factor != 0)
            quotient.terms[quotient.count++] = term;
    }
    return quotient;
}

bool poly_divide(struct arena *arena, struct poly a, struct poly b, struct poly *quotient, struct poly *rest)
{
    const struct term *lead = &b.terms[0];
    int at = 0;

    *quotient = (struct poly){0};
    *rest = a;
    while (at < rest->count) {
        struct term step;
        int64_t factor = sat_floor_divide(rest->terms[at].factor, lead->factor);

        if (factor == 0 || !term_without(arena, &rest->terms[at], lead, &step)) {
            at++;
            continue;
        }
        step.factor = factor;
        *quotient = poly_add(arena, *quotient, &term_one, poly_of_term(arena, step));
        step.factor = sat_negate(factor);
        *rest = poly_add(arena, *rest, &step, b);
        if (poly_overflowed(*rest) || poly_overflowed(*quotient))
            return false;
        /* What stood before `at` is larger than all that was added; the term at `at` may have stayed or gone. */
    }
    return true;
}

/* ---- atoms of a term --------------------------------------------------------------------------------- */

const struct atom *atom_new(struct arena *arena, enum atom_kind kind, const struct dim *a,
                            const struct dim *b)
{
    struct atom *atom = ARENA_NEW(arena, struct atom);

    atom->kind = kind;
    atom->a = a;
    atom->b = b;
    return atom;
}

bool atom_divides_by_const(const struct atom *atom, int64_t *divisor)
{
    return atom->kind == ATOM_FLOORDIV && dim_is_const(atom->b, divisor);
}

int term_only_atom(const struct term *term, enum atom_kind kind)
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

struct term term_without_atom(struct arena *arena, const struct term *term, int position)
{
    struct term single = {.factor = 1, .degree = 1, .atoms = &term->atoms[position]};
    struct term rest;
    bool found = term_without(arena, term, &single, &rest);

    assert(found);
    (void)found;
    return rest;
}

const struct term *poly_nested_division(struct poly poly, int64_t factor, int64_t *divisor)
{
    for (int i = 0; i < poly.count; i++) {
        const struct term *term = &poly.terms[i];

        if (term->factor == factor && term->degree == 1 && atom_divides_by_const(term->atoms[0], divisor))
            return term;
    }
    return NULL;
}
