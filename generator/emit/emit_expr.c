/* emit_expr.c - expression DAGs as C text, scalar and over vectors. Apart from the loops around them, because templates
 * print fused tails with it too.
 *
 * In vector text, a node that is uniform (note [uniform] in plan_dag.h) stays scalar: it is an operand of + - * / as it is,
 * and anything else through modc_f32_set. So integers may occur there. */
#include "emit/emit_names.h"
#include "plan/plan_dag.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LONG_LINE 72 /* operands that are longer together get names */

/* ---- names ------------------------------------------------------------------------------------------- */

const char *size_identifier(const struct size *size)
{
    return size->c_name;
}

static bool is_taken(const struct identifiers *names, const char *name)
{
    for (int i = 0; i < names->count; i++)
        if (strcmp(names->taken[i], name) == 0)
            return true;
    return false;
}

void names_take(struct identifiers *names, const char *name)
{
    ARENA_PUSH(names->arena, names->taken, names->count, name);
}

const char *names_new(struct identifiers *names, const char *wish)
{
    const char *name = arena_string(names->arena, wish);

    for (int i = 2; is_taken(names, name); i++)
        name = arena_format(names->arena, "%s%d", wish, i);
    names_take(names, name);
    return name;
}

static bool is_identifier(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && *text != '_')
            return false;
    return true;
}

/* How many characters of an identifier, number or keyword stand here. */
static size_t word_length(const char *text)
{
    size_t length = 0;

    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return length;
}

/* The identifiers that occur in a piece of C. */
static void take_identifiers(struct identifiers *names, const char *text)
{
    while (*text) {
        size_t length = word_length(text);

        if (length > 0 && !isdigit((unsigned char)*text))
            names_take(names, arena_copy(names->arena, text, length));
        text += length > 0 ? length : 1;
    }
}

const char *dim_c_text(struct cx *cx, const struct dim *dim, bool tight)
{
    struct text text = text_new(&cx->arena);

    dim_print_c(&text, dim, tight, size_identifier);
    return text.data;
}

/* ---- pieces ------------------------------------------------------------------------------------------ */

struct printer {
    struct cx *cx;
    struct arena *arena;
    const struct dag *dag;
    const struct expr_place *place;
    bool vector;
    enum dtype lanes;
    int *
        bytes_of; /* of a cast: the int32 of which it takes the nearest int8, bounds left out; -1: it is no such */
    const bool *
        cut_off; /* of a RESCALE or a sum: results below 0, or below the number that is added, need not be told apart */
    int *uses;          /* how often the text of a node will stand somewhere; 0: not needed for the result */
    bool *uniform;      /* note [uniform]; all of them in scalar text */
    struct piece *done; /* by node */
};

static struct piece print_node(struct printer *p, int index);

const char *piece_text(struct arena *arena, struct piece piece, enum rank rank)
{
    return piece.rank <= rank ? piece.text : arena_format(arena, "(%s)", piece.text);
}

static struct piece format(struct printer *p, enum rank rank, const char *text, ...)
    __attribute__((format(printf, 3, 4)));

static struct piece format(struct printer *p, enum rank rank, const char *text, ...)
{
    struct piece piece = {.rank = rank};
    va_list args;

    va_start(args, text);
    piece.text = arena_vformat(p->arena, text, args);
    va_end(args);
    return piece;
}

static const char *at(const struct printer *p, struct piece piece, enum rank rank)
{
    return piece_text(p->arena, piece, rank);
}

/* a operator b, which groups from the left; comparisons do not group. */
static struct piece infix(struct printer *p, struct piece a, const char *operator, struct piece b,
                          enum rank rank)
{
    enum rank tighter = (enum rank)(rank - 1);

    return format(p, rank, "%s %s %s", at(p, a, rank == RANK_COMPARE ? tighter : rank), operator,
                  at(p, b, tighter));
}

static struct piece number_piece(struct printer *p, enum dtype dtype, double number, int64_t integer)
{
    struct piece piece = {expr_number(p->cx, dtype, number, integer), RANK_PRIMARY};

    if (piece.text[0] == '-')
        piece.rank = RANK_UNARY;
    return piece;
}

static const struct dag_node *argument(const struct printer *p, const struct dag_node *node, int i)
{
    return &p->dag->nodes[node->args[i]];
}

static bool is_float_const(const struct dag_node *node)
{
    return node->prim == PRIM_CONST && dtype_is_float(node->dtype);
}

/* ---- names of nodes ---------------------------------------------------------------------------------- */

static const char *const nouns[PRIM_COUNT] = {
    [PRIM_LOAD] = "v",
    [PRIM_CONST] = "number",
    [PRIM_DIM] = "size",
    [PRIM_CAST] = "converted",
    [PRIM_BITS] = "bits",
    [PRIM_GCD] = "divisor",
    [PRIM_MUL_HIGH] = "high",
    [PRIM_SHIFT_NEAR] = "shifted",
    [PRIM_RESCALE] = "rescaled",
    [PRIM_ADD] = "sum",
    [PRIM_SUB] = "difference",
    [PRIM_MUL] = "product",
    [PRIM_DIV] = "quotient",
    [PRIM_FLOORDIV] = "quotient",
    [PRIM_MOD] = "remainder",
    [PRIM_POW] = "power",
    [PRIM_MIN] = "least",
    [PRIM_MAX] = "most",
    [PRIM_NEG] = "negative",
    [PRIM_ABS] = "magnitude",
    [PRIM_EXP] = "exponential",
    [PRIM_EXP_UP] = "exponential",
    [PRIM_EXP_DOWN] = "exponential",
    [PRIM_EXPM1] = "exponential",
    [PRIM_LOG] = "logarithm",
    [PRIM_LOG1P] = "logarithm",
    [PRIM_TANH] = "tangent",
    [PRIM_ERF] = "error",
    [PRIM_SQRT] = "root",
    [PRIM_RSQRT] = "inverse_root",
    [PRIM_COPYSIGN] = "with_sign",
    [PRIM_SIN] = "sine",
    [PRIM_COS] = "cosine",
    [PRIM_FLOOR] = "whole",
    [PRIM_AS_FLOAT16] = "rounded",
    [PRIM_AS_BFLOAT16] = "rounded",
    [PRIM_ISNAN] = "is_nan",
    [PRIM_EQ] = "equal",
    [PRIM_NE] = "unequal",
    [PRIM_LT] = "less",
    [PRIM_LE] = "at_most",
    [PRIM_GT] = "greater",
    [PRIM_GE] = "at_least",
    [PRIM_AND] = "both",
    [PRIM_OR] = "either",
    [PRIM_XOR] = "one_of",
    [PRIM_NOT] = "inverse",
    [PRIM_SELECT] = "chosen",
};

/* The type that the node's text has. */
static const char *node_type(const struct printer *p, int index)
{
    enum dtype dtype = p->dag->nodes[index].dtype;
    bool wide = p->lanes == DTYPE_FLOAT64;

    if (!p->vector || p->uniform[index])
        return dtype_rows[dtype].c;
    if (dtype == DTYPE_BOOL)
        return wide ? "modc_m64" : "modc_m32";
    return wide ? "modc_f64" : "modc_f32";
}

static void name_node(struct printer *p, int index)
{
    const struct dag_node *node = &p->dag->nodes[index];
    const char *wish = prim_is_special(node->prim) ? "value" : nouns[node->prim];
    struct piece *piece = &p->done[index];

    if (node->prim == PRIM_LOAD)
        wish = arena_format(p->arena, "v%d", node->input);
    wish = names_new(p->place->names, wish);
    text_printf(p->place->before, "%sconst %s %s = %s;\n", p->place->indent, node_type(p, index), wish,
                piece->text);
    *piece = (struct piece){wish, RANK_PRIMARY};
}

/* Prints the arguments of a node; names the longest ones while the line would grow too long. */
static void print_arguments(struct printer *p, const struct dag_node *node, struct piece *pieces)
{
    int arity = prim_rows[node->prim].arity;

    for (int i = 0; i < arity; i++)
        print_node(p, node->args[i]);
    for (;;) {
        size_t total = 0, most = 0;
        int longest = 0;

        for (int i = 0; i < arity; i++) {
            size_t length = strlen(p->done[node->args[i]].text);

            total += length;
            if (length > most) {
                most = length;
                longest = i;
            }
        }
        if (!p->place->before || total <= LONG_LINE || most <= LONG_LINE / 4)
            break;
        if (is_identifier(p->done[node->args[longest]].text))
            break;
        name_node(p, node->args[longest]);
    }
    for (int i = 0; i < arity; i++)
        pieces[i] = p->done[node->args[i]];
}

/* ---- arithmetic that both printers write alike -------------------------------------------------------- */

/* How often the text of an argument stands in the text of its node. */
static int argument_uses(const struct dag_node *node)
{
    bool integer = !dtype_is_float(node->dtype);

    switch (node->prim) {
    case PRIM_ISNAN:
        return 2;
    case PRIM_ABS:
    case PRIM_MIN:
    case PRIM_MAX:
        return integer && node->dtype != DTYPE_BOOL ? 2 : 1;
    default:
        return 1;
    }
}

/* The argument of a NEG that stands nowhere else, so that a + -b can be said as a - b. */
static bool is_negation(const struct printer *p, int index)
{
    return p->dag->nodes[index].prim == PRIM_NEG && p->uses[index] == 1;
}

/* a + b and a - b of floats, without signs behind the operator. */
static struct piece sum_piece(struct printer *p, const struct dag_node *node, struct piece a, struct piece b)
{
    const struct dag_node *right = argument(p, node, 1);
    bool minus = node->prim == PRIM_SUB;

    if (is_float_const(right) && (right->number < 0 || (right->number == 0 && signbit(right->number)))) {
        b = number_piece(p, right->dtype, -right->number, 0);
        minus = !minus;
    } else if (b.rank == RANK_UNARY && b.text[0] == '-' && is_negation(p, node->args[1])) {
        b = p->done[right->args[0]];
        minus = !minus;
    } else if (!minus && a.rank == RANK_UNARY && a.text[0] == '-' && is_negation(p, node->args[0])) {
        struct piece swap = p->done[argument(p, node, 0)->args[0]];

        a = b;
        b = swap;
        minus = true;
    }
    return infix(p, a, minus ? "-" : "+", b, RANK_SUM);
}

/* A function of modc_simd.h over floats of that type. */
static struct piece call(struct printer *p, enum dtype dtype, const char *function, int count,
                         const struct piece *a)
{
    const char *prefix = dtype == DTYPE_FLOAT64 ? (p->vector ? "modc_f64" : "modc_f64s")
                                                : (p->vector ? "modc_f32" : "modc_f32s");

    if (count == 1)
        return format(p, RANK_PRIMARY, "%s_%s(%s)", prefix, function, a[0].text);
    if (count == 2)
        return format(p, RANK_PRIMARY, "%s_%s(%s, %s)", prefix, function, a[0].text, a[1].text);
    return format(p, RANK_PRIMARY, "%s_%s(%s, %s, %s)", prefix, function, a[0].text, a[1].text, a[2].text);
}

/* Whether a node is never positive: the negative of a magnitude or of a square. */
static bool is_negated_size(const struct printer *p, const struct dag_node *node)
{
    const struct dag_node *size;

    if (node->prim == PRIM_NEG)
        size = argument(p, node, 0);
    else if (node->prim == PRIM_MUL && is_float_const(argument(p, node, 0)) &&
             argument(p, node, 0)->number < 0)
        size = argument(p, node, 1);
    else if (node->prim == PRIM_MUL && is_float_const(argument(p, node, 1)) &&
             argument(p, node, 1)->number < 0)
        size = argument(p, node, 0);
    else
        return false;
    return size->prim == PRIM_ABS || (size->prim == PRIM_MUL && size->args[0] == size->args[1]);
}

/* Everything over floats that is no operator. A bound that is a number needs no care for NaN in it. */
static struct piece function_piece(struct printer *p, const struct dag_node *node, const struct piece *a)
{
    const char *name = prim_rows[node->prim].name;

    if (node->prim == PRIM_MIN || node->prim == PRIM_MAX) {
        bool max = node->prim == PRIM_MAX;

        name = max ? "max" : "min";
        for (int i = 0; i < 2 && node->dtype == DTYPE_FLOAT32; i++) {
            const struct dag_node *bound = argument(p, node, i);

            if (is_float_const(bound) && !isnan(bound->number))
                return call(p, node->dtype, max ? "atleast" : "atmost", 2, (struct piece[]){a[1 - i], a[i]});
        }
    }
    if (node->prim == PRIM_EXP && node->dtype == DTYPE_FLOAT32 && is_negated_size(p, argument(p, node, 0)))
        name = "exp_negative";
    return call(p, node->dtype, name, prim_rows[node->prim].arity, a);
}

static const char *comparison(enum prim prim)
{
    switch (prim) {
    case PRIM_EQ:
        return "==";
    case PRIM_NE:
        return "!=";
    case PRIM_LT:
        return "<";
    case PRIM_LE:
        return "<=";
    case PRIM_GT:
        return ">";
    case PRIM_GE:
        return ">=";
    default:
        return NULL;
    }
}

/* ---- scalar ------------------------------------------------------------------------------------------ */

/* x / 0 is said as a product, for a compiler that would take it for a mistake: every value has the same. */
static struct piece quotient(struct printer *p, const struct dag_node *node, const struct piece *a)
{
    const struct dag_node *by = argument(p, node, 1);

    if (is_float_const(by) && by->number == 0)
        return infix(p, a[0], "*", number_piece(p, by->dtype, copysign((double)INFINITY, by->number), 0),
                     RANK_PRODUCT);
    return infix(p, a[0], "/", a[1], RANK_PRODUCT);
}

static struct piece scalar_float(struct printer *p, const struct dag_node *node, const struct piece *a)
{
    switch (node->prim) {
    case PRIM_ADD:
    case PRIM_SUB:
        return sum_piece(p, node, a[0], a[1]);
    case PRIM_MUL:
        return infix(p, a[0], "*", a[1], RANK_PRODUCT);
    case PRIM_DIV:
        return quotient(p, node, a);
    case PRIM_NEG:
        return format(p, RANK_UNARY, "-%s", at(p, a[0], RANK_PRIMARY));
    default:
        return function_piece(p, node, a);
    }
}

static struct piece scalar_bool(struct printer *p, const struct dag_node *node, const struct piece *a)
{
    switch (node->prim) {
    case PRIM_AND:
    case PRIM_MUL:
    case PRIM_MIN:
        return format(p, RANK_LOGIC, "%s && %s", at(p, a[0], RANK_COMPARE), at(p, a[1], RANK_COMPARE));
    case PRIM_OR:
    case PRIM_ADD:
    case PRIM_MAX:
        return format(p, RANK_LOGIC, "%s || %s", at(p, a[0], RANK_COMPARE), at(p, a[1], RANK_COMPARE));
    case PRIM_XOR:
    case PRIM_SUB:
        return infix(p, a[0], "!=", a[1], RANK_COMPARE);
    case PRIM_NOT:
        return format(p, RANK_UNARY, "!%s", at(p, a[0], RANK_UNARY));
    default: /* ABS, FLOOR */
        return a[0];
    }
}

/* An argument of an operation that wraps: as the unsigned type of its width. */
static const char *as_unsigned(struct printer *p, const struct dag_node *node, int i, struct piece piece)
{
    const struct dag_node *arg = argument(p, node, i);
    const char *type = node->dtype == DTYPE_INT64 ? "uint64_t" : "uint32_t";

    if (arg->prim == PRIM_CONST && arg->integer >= 0)
        return arena_format(p->arena, "%su", piece.text);
    return arena_format(p->arena, "(%s)%s", type, at(p, piece, RANK_UNARY));
}

/* Types narrower than int are computed in int, which holds the result, and narrowed; int32 and int64 wrap as
 * unsigned. */
static struct piece wrapping(struct printer *p, const struct dag_node *node, const char *operator,
                             const struct piece * a)
{
    const char *type = dtype_rows[node->dtype].c;
    enum rank rank = operator[0] == '*' ? RANK_PRODUCT : RANK_SUM;

    if (dtype_rows[node->dtype].bytes < 4)
        return format(p, RANK_UNARY, "(%s)(%s)", type, infix(p, a[0], operator, a[1], rank).text);
    return format(p, RANK_UNARY, "(%s)(%s %s %s)", type, as_unsigned(p, node, 0, a[0]), operator,
                  as_unsigned(p, node, 1, a[1]));
}

static struct piece integer_call(struct printer *p, const struct dag_node *node, const char *function,
                                 const struct piece *a)
{
    const char *type = dtype_rows[node->dtype].c;
    bool wide = node->dtype == DTYPE_INT64 || node->prim == PRIM_POW || node->prim == PRIM_GCD;

    if (dtype_rows[node->dtype].bytes == (wide ? 8 : 4))
        return format(p, RANK_PRIMARY, "%s_i%d(%s, %s)", function, wide ? 64 : 32, a[0].text, a[1].text);
    return format(p, RANK_UNARY, "(%s)%s_i%d(%s, %s)", type, function, wide ? 64 : 32, a[0].text, a[1].text);
}

/* condition ? a : b; narrow types are narrowed again. */
static struct piece choice(struct printer *p, enum dtype dtype, const char *condition, struct piece a,
                           struct piece b)
{
    struct piece piece = format(p, RANK_CHOICE, "%s ? %s : %s", condition, at(p, a, RANK_SUM),
                                at(p, b, RANK_SUM));

    if (!dtype_is_int(dtype) || dtype_rows[dtype].bytes >= 4)
        return piece;
    return format(p, RANK_UNARY, "(%s)(%s)", dtype_rows[dtype].c, piece.text);
}

static struct piece integer_abs(struct printer *p, enum dtype dtype, struct piece a)
{
    const char *text = at(p, a, RANK_UNARY), *type = dtype_rows[dtype].c;

    if (dtype == DTYPE_UINT8)
        return a;
    if (dtype_rows[dtype].bytes < 4)
        return format(p, RANK_UNARY, "(%s)(%s < 0 ? -%s : %s)", type, text, text, text);
    return format(p, RANK_UNARY, "(%s)(%s < 0 ? 0u - (u%s)%s : (u%s)%s)", type, text, type, text, type, text);
}

/* The bool that an integer is cast from; -1: it is another number. */
static int truth_of(const struct printer *p, int index)
{
    while (p->dag->nodes[index].prim == PRIM_CAST && p->dag->nodes[index].dtype != DTYPE_BOOL)
        index = p->dag->nodes[index].args[0];
    return p->dag->nodes[index].dtype == DTYPE_BOOL ? index : -1;
}

/* Whether the node is x + number, or x - number: of integers. */
static bool adds_number(const struct printer *p, const struct dag_node *node, int64_t *number)
{
    const struct dag_node *by = (node->prim == PRIM_ADD || node->prim == PRIM_SUB) ? argument(p, node, 1)
                                                                                   : NULL;

    if (!by || by->prim != PRIM_CONST || dtype_is_float(node->dtype))
        return false;
    *number = node->prim == PRIM_ADD ? by->integer : -by->integer;
    return true;
}

/* The argument 0 that the node's own text computes, too, where nothing else reads it: of a number that is added to a RESCALE that, of a
 * quotient the product in front of it. NULL: there is none such. */
static const struct dag_node *joined_argument(const struct printer *p, const struct dag_node *node)
{
    const struct dag_node *inner = prim_rows[node->prim].arity > 0 ? argument(p, node, 0) : NULL;
    int64_t number;

    if (!inner || p->uses[node->args[0]] != 1)
        return NULL;
    if (inner->prim == PRIM_RESCALE ? adds_number(p, node, &number)
                                    : inner->prim == PRIM_MUL_HIGH && node->prim == PRIM_SHIFT_NEAR)
        return inner;
    return NULL;
}

/* A RESCALE, and `zero` more, as the node or a part of it. */
static struct piece rescaled(struct printer *p, const struct dag_node *node, const struct dag_node *rescale,
                             int64_t zero)
{
    const int *args = rescale->args;

    return format(p, RANK_PRIMARY, "modc_rescale(%s, %s, %s, %d, %d)", p->done[args[0]].text,
                  p->done[args[1]].text, p->done[args[2]].text, (int)zero, !p->cut_off[node - p->dag->nodes]);
}

/* A node and what it joins. */
static struct piece joined_piece(struct printer *p, const struct dag_node *node, const struct dag_node *inner)
{
    struct piece unread[3];
    int64_t zero = 0;

    print_arguments(p, inner, unread);
    print_node(p, node->args[1]);
    if (inner->prim == PRIM_RESCALE) {
        adds_number(p, node, &zero);
        return rescaled(p, node, inner, (int32_t)zero);
    }
    return format(p, RANK_PRIMARY, "modc_requantize(%s, %s, %s)", p->done[inner->args[0]].text,
                  p->done[inner->args[1]].text, p->done[node->args[1]].text);
}

static struct piece scalar_integer(struct printer *p, const struct dag_node *node, const struct piece *a)
{
    const char *type = dtype_rows[node->dtype].c;
    bool narrow = dtype_rows[node->dtype].bytes < 4;
    int truth;

    switch (node->prim) {
    case PRIM_ADD:
        return wrapping(p, node, "+", a);
    case PRIM_RESCALE:
        return rescaled(p, node, node, 0);
    case PRIM_SUB:
        return wrapping(p, node, "-", a);
    case PRIM_MUL:
        return wrapping(p, node, "*", a);
    case PRIM_NEG:
        if (narrow)
            return format(p, RANK_UNARY, "(%s)-%s", type, at(p, a[0], RANK_PRIMARY));
        return format(p, RANK_UNARY, "(%s)(0u - %s)", type, as_unsigned(p, node, 0, a[0]));
    case PRIM_FLOORDIV:
        return integer_call(p, node, "modc_floordiv", a);
    case PRIM_MOD:
        return integer_call(p, node, "modc_mod", a);
    case PRIM_POW:
        return integer_call(p, node, "modc_pow", a);
    case PRIM_GCD:
        return integer_call(p, node, "modc_gcd", a);
    case PRIM_MUL_HIGH:
        return format(p, RANK_PRIMARY, "modc_mul_high(%s, %s)", a[0].text, a[1].text);
    case PRIM_SHIFT_NEAR:
        return format(p, RANK_PRIMARY, "modc_shift_near(%s, %s)", a[0].text, a[1].text);
    case PRIM_MIN:
    case PRIM_MAX: {
        const char *test = node->prim == PRIM_MIN ? "<" : ">";

        if (node->dtype == DTYPE_INT32)
            return format(p, RANK_PRIMARY, "modc_%s(%s, %s)", node->prim == PRIM_MIN ? "min" : "max",
                          a[0].text, a[1].text);
        return choice(p, node->dtype, infix(p, a[0], test, a[1], RANK_COMPARE).text, a[0], a[1]);
    }
    case PRIM_ABS:
        return integer_abs(p, node->dtype, a[0]);
    case PRIM_AND:
    case PRIM_OR:
    case PRIM_XOR: {
        const char *operator= node->prim == PRIM_AND ? "&" : node->prim == PRIM_OR ? "|" : "^";
        const char *x = at(p, a[0], RANK_UNARY), *y = at(p, a[1], RANK_UNARY);

        if (narrow)
            return format(p, RANK_UNARY, "(%s)(%s %s %s)", type, x, operator, y);
        return format(p, RANK_BITS, "%s %s %s", x, operator, y);
    }
    case PRIM_NOT:
        truth = truth_of(p, node->args[0]);
        if (truth >= 0) /* of a truth that was made a number compilers warn */
            return choice(p, node->dtype, at(p, p->done[truth], RANK_COMPARE),
                          number_piece(p, node->dtype, 0, dtype_wrap(node->dtype, ~1)),
                          number_piece(p, node->dtype, 0, dtype_wrap(node->dtype, ~0)));
        if (narrow)
            return format(p, RANK_UNARY, "(%s)~%s", type, at(p, a[0], RANK_UNARY));
        return format(p, RANK_UNARY, "~%s", at(p, a[0], RANK_UNARY));
    default: /* FLOOR */
        return a[0];
    }
}

static struct piece cast_piece(struct printer *p, enum dtype from, enum dtype to, struct piece a)
{
    const char *type = dtype_rows[to].c;

    if (from == to)
        return a;
    if (to == DTYPE_BOOL)
        return infix(p, a, "!=", number_piece(p, from, 0.0, 0), RANK_COMPARE);
    if (dtype_is_float(from) && dtype_is_int(to)) {
        int bits = from == DTYPE_FLOAT64 ? 64 : 32;
        const char *name = to == DTYPE_INT64 ? "i64" : "i32";

        if (dtype_rows[to].bytes >= 4)
            return format(p, RANK_PRIMARY, "modc_f%d_to_%s(%s)", bits, name, a.text);
        return format(p, RANK_UNARY, "(%s)modc_f%d_to_%s(%s)", type, bits, name, a.text);
    }
    if (from == DTYPE_FLOAT32 && (to == DTYPE_FLOAT16 || to == DTYPE_BFLOAT16))
        return format(p, RANK_PRIMARY, "modc_f32_to_%s(%s)", to == DTYPE_FLOAT16 ? "half" : "bfloat16",
                      a.text);
    return format(p, RANK_UNARY, "(%s)%s", type, at(p, a, RANK_UNARY));
}

/* Of types of one width, of which one is floating. */
static struct piece bits_piece(struct printer *p, enum dtype from, enum dtype to, struct piece a)
{
    const int bits = 8 * dtype_rows[from].bytes;

    return format(p, RANK_PRIMARY, "modc_%c%d_as_%c%d(%s)", dtype_is_float(from) ? 'f' : 'i', bits,
                  dtype_is_float(to) ? 'f' : 'i', bits, a.text);
}

/* The value of a dim, which is an int, as another type. */
static struct piece dim_piece(struct printer *p, const struct dim *dim, enum dtype dtype)
{
    const char *text = dim_c_text(p->cx, dim, true);

    if (dtype == DTYPE_INT32)
        return (struct piece){text, RANK_PRIMARY};
    return format(p, RANK_UNARY, "(%s)%s", dtype_rows[dtype].c, text);
}

/* Whether a text is a name with subscripts and calls behind it, and nothing else. */
static bool is_primary(const char *text)
{
    int depth = 0;

    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    for (; *text; text++) {
        if (strchr("[(", *text))
            depth++;
        else if (strchr("])", *text))
            depth--;
        else if (depth == 0 && !isalnum((unsigned char)*text) && *text != '_')
            return false;
    }
    return true;
}

/* Whether a test of a value with itself has a known result, which compilers warn about; all but of floats have. */
static bool is_self_test(const struct printer *p, const struct dag_node *node, bool *result)
{
    bool unequal = node->prim == PRIM_XOR && node->dtype == DTYPE_BOOL;

    if (!(comparison(node->prim) || unequal) || node->args[0] != node->args[1])
        return false;
    *result = node->prim == PRIM_EQ || node->prim == PRIM_LE || node->prim == PRIM_GE;
    return !dtype_is_float(argument(p, node, 0)->dtype);
}

static struct piece scalar_node(struct printer *p, const struct dag_node *node)
{
    const char *test = comparison(node->prim);
    struct piece a[3] = {0};
    const int within = p->bytes_of[node - p->dag->nodes];
    const struct dag_node *inner;
    bool known;

    if (is_self_test(p, node, &known))
        return number_piece(p, DTYPE_BOOL, 0, known);

    if (within >= 0)
        return format(p, RANK_PRIMARY, "modc_int8_of(%s)", print_node(p, within).text);
    if (node->prim == PRIM_CAST && argument(p, node, 0)->prim == PRIM_DIM && node->dtype != DTYPE_BOOL)
        return dim_piece(p, argument(p, node, 0)->dim, node->dtype);
    inner = joined_argument(p, node);
    if (inner)
        return joined_piece(p, node, inner);
    print_arguments(p, node, a);
    if (test)
        return format(p, RANK_COMPARE, "%s %s %s", at(p, a[0], RANK_SUM), test, at(p, a[1], RANK_SUM));
    switch (node->prim) {
    case PRIM_LOAD: {
        const char *text = p->place->inputs[node->input];

        return (struct piece){text, is_primary(text) ? RANK_PRIMARY : RANK_CHOICE};
    }
    case PRIM_CONST:
        return number_piece(p, node->dtype, node->number, node->integer);
    case PRIM_DIM:
        return dim_piece(p, node->dim, node->dtype);
    case PRIM_CAST:
        return cast_piece(p, argument(p, node, 0)->dtype, node->dtype, a[0]);
    case PRIM_BITS:
        return bits_piece(p, argument(p, node, 0)->dtype, node->dtype, a[0]);
    case PRIM_ISNAN:
        if (!dtype_is_float(argument(p, node, 0)->dtype))
            return number_piece(p, DTYPE_BOOL, 0.0, 0);
        return format(p, RANK_COMPARE, "%s != %s", at(p, a[0], RANK_SUM), at(p, a[0], RANK_SUM));
    case PRIM_SELECT:
        return choice(p, node->dtype, at(p, a[0], RANK_COMPARE), a[1], a[2]);
    default:
        if (node->dtype == DTYPE_BOOL)
            return scalar_bool(p, node, a);
        return dtype_is_float(node->dtype) ? scalar_float(p, node, a) : scalar_integer(p, node, a);
    }
}

/* ---- vectors ----------------------------------------------------------------------------------------- */

/* The text of a node as a vector. */
static struct piece lanes_of(struct printer *p, int index, struct piece piece)
{
    return p->uniform[index] ? call(p, p->lanes, "set", 1, &piece) : piece;
}

/* Masks: all bits of a lane, or none. */
static struct piece vector_mask(struct printer *p, const struct dag_node *node, const struct piece *a)
{
    switch (node->prim) {
    case PRIM_AND:
    case PRIM_OR:
    case PRIM_XOR: {
        const char *operator= node->prim == PRIM_AND ? "&" : node->prim == PRIM_OR ? "|" : "^";

        return format(p, RANK_BITS, "%s %s %s", at(p, a[0], RANK_UNARY), operator, at(p, a[1], RANK_UNARY));
    }
    case PRIM_NOT:
        return format(p, RANK_UNARY, "~%s", at(p, a[0], RANK_UNARY));
    case PRIM_ISNAN:
        return call(p, p->lanes, "ne", 2, (struct piece[]){a[0], a[0]});
    case PRIM_CAST: {
        struct piece zero = number_piece(p, p->lanes, 0.0, 0);

        return call(p, p->lanes, "ne", 2, (struct piece[]){a[0], call(p, p->lanes, "set", 1, &zero)});
    }
    default:
        return call(p, p->lanes, prim_rows[node->prim].name, 2,
                    (struct piece[]){lanes_of(p, node->args[0], a[0]), lanes_of(p, node->args[1], a[1])});
    }
}

static struct piece vector_node(struct printer *p, const struct dag_node *node)
{
    struct piece a[3] = {0}, all[3];

    print_arguments(p, node, a);
    if (node->prim == PRIM_LOAD)
        return scalar_node(p, node);
    if (node->dtype == DTYPE_BOOL)
        return vector_mask(p, node, a);
    for (int i = 0; i < prim_rows[node->prim].arity; i++)
        all[i] = dtype_is_float(argument(p, node, i)->dtype) ? lanes_of(p, node->args[i], a[i]) : a[i];
    switch (node->prim) {
    case PRIM_CAST: { /* of a mask */
        struct piece one = number_piece(p, p->lanes, 1.0, 0), zero = number_piece(p, p->lanes, 0.0, 0);

        return call(
            p, p->lanes, "select", 3,
            (struct piece[]){a[0], call(p, p->lanes, "set", 1, &one), call(p, p->lanes, "set", 1, &zero)});
    }
    case PRIM_SELECT:
        if (p->uniform[node->args[0]])
            return choice(p, node->dtype, at(p, a[0], RANK_COMPARE), all[1], all[2]);
        return call(p, p->lanes, "select", 3, all);
    case PRIM_ADD:
    case PRIM_SUB:
    case PRIM_MUL:
    case PRIM_DIV:
    case PRIM_NEG:
        return scalar_float(p, node, a);
    default:
        return function_piece(p, node, all);
    }
}

/* ---- walking ----------------------------------------------------------------------------------------- */

static struct piece print_node(struct printer *p, int index)
{
    const struct dag_node *node = &p->dag->nodes[index];

    if (p->done[index].text)
        return p->done[index];
    if (p->vector && p->uniform[index]) {
        p->vector = false;
        p->done[index] = scalar_node(p, node);
        p->vector = true;
    } else {
        p->done[index] = p->vector ? vector_node(p, node) : scalar_node(p, node);
    }
    if (p->place->before && p->uses[index] > 1 && node->prim != PRIM_CONST && node->prim != PRIM_DIM &&
        !is_identifier(p->done[index].text))
        name_node(p, index);
    return p->done[index];
}

/* The node that `index` bounds by a number from above or below (`prim`), where one node alone reads it; -1: it is no such. */
static int bounded_by(const struct printer *p, const int *readers, int index, enum prim prim, int64_t bound)
{
    const struct dag_node *node = &p->dag->nodes[index];

    if (node->prim != prim || node->dtype != DTYPE_INT32 || readers[index] != 1)
        return -1;
    for (int i = 0; i < 2; i++)
        if (argument(p, node, i)->prim == PRIM_CONST && argument(p, node, i)->integer == bound)
            return node->args[1 - i];
    return -1;
}

/* Casts that take the nearest integer of 8 bits. */
static void find_bytes(struct printer *p, const int *readers)
{
    for (int i = 0; i < p->dag->count; i++) {
        const struct dag_node *node = &p->dag->nodes[i];
        int inside = -1;

        if (readers[i] > 0 && node->prim == PRIM_CAST && node->dtype == DTYPE_INT8)
            inside = bounded_by(p, readers, node->args[0], PRIM_MIN, INT8_MAX);
        if (inside >= 0)
            inside = bounded_by(p, readers, inside, PRIM_MAX, INT8_MIN);
        p->bytes_of[i] = inside;
    }
}

/* What a lower bound alone reads that cuts off all that is less than 0, or than the number that is added there. The sum of a number so
 * low that it could wrap is none: rescaled numbers are from -2^30 on. */
static const bool *find_cut_off(const struct printer *p, const int *readers)
{
    bool *cut_off = ARENA_ARRAY(p->arena, p->dag->count, bool);

    for (int i = 0; i < p->dag->count; i++) {
        const struct dag_node *node = &p->dag->nodes[i], *read, *bound;
        int64_t number = 0;

        if (readers[i] == 0 || node->prim != PRIM_MAX || node->dtype != DTYPE_INT32)
            continue;
        read = argument(p, node, 0);
        bound = argument(p, node, 1);
        if (bound->prim == PRIM_CONST && readers[node->args[0]] == 1 &&
            (read->prim == PRIM_RESCALE || adds_number(p, read, &number)))
            cut_off[node->args[0]] = number >= -(1 << 30) && bound->integer >= number;
    }
    return cut_off;
}

static void count_uses(struct printer *p)
{
    p->uses[p->dag->result] = 1;
    for (int i = p->dag->count - 1; i >= 0; i--) {
        const struct dag_node *node = &p->dag->nodes[i];

        if (p->uses[i] == 0)
            continue;
        if (p->bytes_of[i] >= 0) {
            p->uses[p->bytes_of[i]]++;
            continue;
        }
        for (int j = 0; j < prim_rows[node->prim].arity; j++)
            p->uses[node->args[j]] += argument_uses(node);
    }
}

static struct piece print_dag(struct printer *p)
{
    int count = p->dag->count;
    const int *readers;

    p->arena = &p->cx->arena;
    p->uses = ARENA_ARRAY(p->arena, count, int);
    p->uniform = ARENA_ARRAY(p->arena, count, bool);
    p->done = ARENA_ARRAY(p->arena, count, struct piece);
    dag_uniform(p->dag, p->place->scalars, p->uniform);
    p->bytes_of = ARENA_ARRAY(p->arena, count, int);
    readers = dag_count_uses(p->arena, p->dag);
    find_bytes(p, readers);
    p->cut_off = find_cut_off(p, readers);
    count_uses(p);
    return print_node(p, p->dag->result);
}

/* For callers without names of their own: what the inputs and sizes are called is taken. */
static struct identifiers *names_of(struct cx *cx, const struct dag *dag, const char *const *inputs)
{
    struct identifiers *names = ARENA_NEW(&cx->arena, struct identifiers);
    const bool *needed = dag_needed(&cx->arena, dag);

    names->arena = &cx->arena;
    for (int i = 0; i < dag->count; i++) {
        const struct dag_node *node = &dag->nodes[i];

        if (!needed[i])
            continue;
        if (node->prim == PRIM_LOAD)
            take_identifiers(names, inputs[node->input]);
        if (node->prim == PRIM_DIM)
            take_identifiers(names, dim_c_text(cx, node->dim, false));
    }
    return names;
}

struct piece expr_scalar_piece(struct cx *cx, const struct dag *dag, const struct expr_place *place)
{
    const struct dag_node *result = &dag->nodes[dag->result];
    struct printer printer = {.cx = cx, .dag = dag, .place = place, .lanes = result->dtype};

    return print_dag(&printer);
}

const char *expr_vector_lanes(struct cx *cx, const struct dag *dag, enum dtype lanes,
                              const struct expr_place *place)
{
    struct printer printer = {.cx = cx, .dag = dag, .place = place, .vector = true, .lanes = lanes};
    struct piece piece = print_dag(&printer);

    return lanes_of(&printer, dag->result, piece).text;
}

const char *expr_scalar(struct cx *cx, const struct dag *dag, const char *const *inputs, struct text *before,
                        const char *indent)
{
    struct expr_place place = {inputs, before, indent, names_of(cx, dag, inputs), NULL};

    return expr_scalar_piece(cx, dag, &place).text;
}

const char *expr_vector(struct cx *cx, const struct dag *dag, enum dtype lanes, const char *const *inputs,
                        struct text *before, const char *indent)
{
    struct expr_place place = {inputs, before, indent, names_of(cx, dag, inputs), NULL};

    return expr_vector_lanes(cx, dag, lanes, &place);
}
