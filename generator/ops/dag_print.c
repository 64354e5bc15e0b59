/* dag_print.c - DAGs as text, for dumps and comments. */
#include "ops/dag_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVEL_ANY, LEVEL_COMPARE, LEVEL_OR, LEVEL_XOR, LEVEL_AND, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_UNARY };

static const struct {
    const char *text;
    int level; /* 0: printed as a call */
} operators[PRIM_COUNT] = {
    [PRIM_ADD] = {" + ", LEVEL_SUM},           [PRIM_SUB] = {" - ", LEVEL_SUM},
    [PRIM_MUL] = {" * ", LEVEL_PRODUCT},       [PRIM_DIV] = {" / ", LEVEL_PRODUCT},
    [PRIM_FLOORDIV] = {" // ", LEVEL_PRODUCT}, [PRIM_MOD] = {" % ", LEVEL_PRODUCT},
    [PRIM_EQ] = {" == ", LEVEL_COMPARE},       [PRIM_NE] = {" != ", LEVEL_COMPARE},
    [PRIM_LT] = {" < ", LEVEL_COMPARE},        [PRIM_LE] = {" <= ", LEVEL_COMPARE},
    [PRIM_GT] = {" > ", LEVEL_COMPARE},        [PRIM_GE] = {" >= ", LEVEL_COMPARE},
    [PRIM_AND] = {" & ", LEVEL_AND},           [PRIM_OR] = {" | ", LEVEL_OR},
    [PRIM_XOR] = {" ^ ", LEVEL_XOR},           [PRIM_NEG] = {"-", LEVEL_UNARY},
    [PRIM_NOT] = {"~", LEVEL_UNARY},
};

static void print_node(struct text *text, const struct dag *dag, const int *uses, int index, int level,
                       bool whole);

static void print_operator(struct text *text, const struct dag *dag, const int *uses,
                           const struct dag_node *node, int level)
{
    int own = operators[node->prim].level;
    bool comparison = own == LEVEL_COMPARE; /* does not chain: both sides need a higher level */

    if (own < level)
        text_add(text, "(");
    if (own == LEVEL_UNARY) {
        text_add(text, operators[node->prim].text);
        print_node(text, dag, uses, node->args[0], LEVEL_UNARY, false);
    } else {
        print_node(text, dag, uses, node->args[0], comparison ? own + 1 : own, false);
        text_add(text, operators[node->prim].text);
        print_node(text, dag, uses, node->args[1], own + 1, false);
    }
    if (own < level)
        text_add(text, ")");
}

/* In as few digits as tell it from all others of its type: 0.1, whatever a float32 makes of that. */
static void print_number(struct text *text, enum dtype dtype, double number)
{
    char digits[32];
    double shown = number;

    for (int precision = 1; precision <= 17 && isfinite(number); precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, number);
        shown = strtod(digits, NULL);
        if (dtype_round(dtype, shown) == number)
            break;
    }
    text_double(text, shown);
}

/* whole: the node itself, although it has a name. */
static void print_node(struct text *text, const struct dag *dag, const int *uses, int index, int level,
                       bool whole)
{
    const struct dag_node *node = &dag->nodes[index];

    if (!whole && uses[index] > 1 && prim_rows[node->prim].arity > 0) {
        text_printf(text, "t%d", index);
        return;
    }
    switch (node->prim) {
    case PRIM_LOAD:
        text_printf(text, "x%d", node->input);
        return;
    case PRIM_CONST:
        if (dtype_is_float(node->dtype))
            print_number(text, node->dtype, node->number);
        else if (node->dtype == DTYPE_BOOL)
            text_add(text, node->integer ? "True" : "False");
        else
            text_printf(text, "%lld", (long long)node->integer);
        return;
    case PRIM_DIM:
        text_add(text, "dim(");
        dim_print(text, node->dim);
        text_add(text, ")");
        return;
    default:
        break;
    }
    if (operators[node->prim].level > 0) {
        print_operator(text, dag, uses, node, level);
        return;
    }
    text_printf(text, "%s%s(", node->prim == PRIM_BITS ? "bits_as_" : "",
                node->prim == PRIM_CAST || node->prim == PRIM_BITS ? dtype_rows[node->dtype].name
                                                                   : prim_rows[node->prim].name);
    for (int k = 0; k < prim_rows[node->prim].arity; k++) {
        text_add(text, k > 0 ? ", " : "");
        print_node(text, dag, uses, node->args[k], LEVEL_ANY, false);
    }
    text_add(text, ")");
}

/* Nodes that are used more than once stand before the result: "t1 = exp(x0); t1 / (t1 + 1.0)". */
void dag_print(struct text *text, const struct dag *dag)
{
    const int *uses = dag_count_uses(text->arena, dag);

    for (int i = 0; i < dag->result; i++) {
        if (uses[i] < 2 || prim_rows[dag->nodes[i].prim].arity == 0)
            continue;
        text_printf(text, "t%d = ", i);
        print_node(text, dag, uses, i, LEVEL_ANY, true);
        text_add(text, "; ");
    }
    print_node(text, dag, uses, dag->result, LEVEL_ANY, true);
}
