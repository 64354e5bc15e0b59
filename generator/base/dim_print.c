/* dim_print.c - dims as text, as the spec would write them and as C. Apart from dim.c, because what is printed is not what
 * is kept: it turns back into %, min, max and the shorter of two partners. */
#include "base/dim_poly.h"

#include <inttypes.h>
#include <string.h>

struct printer {
    struct text *text;
    bool c; /* else as the spec would write it */
    const char *(*name)(const struct size *);
};

/* A sum as it is printed: remainders as %, the rest of what can be a min or max inside that. */
static struct poly shown_form(struct arena *arena, struct poly poly)
{
    struct poly shown = {0};

    poly = poly_shortened(arena, poly);
    for (int i = 0; i < poly.count; i++) {
        struct dim_remainder remainder;

        if (dim_as_remainder(arena, poly, &poly.terms[i], &remainder)) {
            struct term single = term_of_atom(
                arena, atom_new(arena, ATOM_MOD, remainder.atom->a, remainder.atom->b));

            single = term_multiply(arena, &remainder.scale, &single);
            shown = poly_add(arena, shown, &term_one, poly_of_term(arena, single));
            poly = remainder.rest;
            i = -1;
        }
    }
    for (int i = 0; i < poly.count && shown.count == 0; i++) {
        const struct term *term = &poly.terms[i];
        struct dim_choice choice;
        struct term single;
        enum atom_kind kind;

        if (!dim_as_choice(arena, poly, term, 0, &choice) ||
            choice.first->poly.count + choice.second->poly.count >
                term->atoms[0]->a->poly.count + poly.count - 1)
            continue;
        kind = choice.larger ? ATOM_MAX : ATOM_MIN;
        if (dim_is_const(choice.first, NULL)) /* min(n, 3), not min(3, n) */
            single = term_of_atom(arena, atom_new(arena, kind, choice.second, choice.first));
        else
            single = term_of_atom(arena, atom_new(arena, kind, choice.first, choice.second));
        return poly_of_term(arena, single);
    }
    return poly_add(arena, shown, &term_one, poly);
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
    const struct term *term = poly_nested_division(shown, 1, &divisor);
    struct poly top, rest;
    struct term single;

    if (!term)
        return shown;
    top = term->atoms[0]->a->poly;
    rest = poly_without(arena, shown, term);
    for (int i = 0; i < rest.count; i++) {
        struct term whole = rest.terms[i];
        int64_t factor = poly_factor(top, &whole), sum;

        whole.factor = sat_multiply(whole.factor, divisor);
        sum = sat_add(factor, whole.factor);
        if (whole.degree > 0 && (sum < 0 ? sat_negate(sum) : sum) >= factor)
            continue;
        top = poly_add(arena, top, &term_one, poly_of_term(arena, whole));
        rest = poly_without(arena, rest, &rest.terms[i--]);
    }
    single = term_of_atom(arena,
                          atom_new(arena, ATOM_FLOORDIV, dim_of_poly(arena, top, 0), term->atoms[0]->b));
    return poly_add(arena, rest, &term_one, poly_of_term(arena, single));
}

static void print_dim(struct printer *printer, const struct dim *dim, enum strength needed)
{
    const bool number = poly_is_const(dim->poly);
    struct poly shown = number ? dim->poly : shown_form(printer->text->arena, dim->poly);
    bool group, first = true;

    if (!printer->c && !number)
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
