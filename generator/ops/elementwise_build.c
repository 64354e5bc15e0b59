/* elementwise_build.c - from the text of a line to the nodes of a DAG. Apart from the table, and from dag.c, which knows neither
 * names nor text. */
#include "ops/elementwise.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "ops/dag_parts.h"
#include "spec/expr.h"

#define MAX_ARGS 16 /* of a line, or of a call in one */

/* A number known now, computed in double, or a node of the DAG. */
struct operand {
    bool known;
    double number;
    int node;
};

struct binding {
    const char *name;
    struct operand value;
};

/* The text of one line being built, with what its names mean. */
struct line {
    struct cx *cx;
    struct dag *dag;
    enum dtype dtype; /* in which it is computed */
    struct binding *names;
    int count;
};

static struct operand build_expr(struct line *line, const struct expr *expr);

static struct operand known(double number)
{
    return (struct operand){.known = true, .number = number};
}

static struct operand node(int index)
{
    return (struct operand){.node = index};
}

static const struct source *table_source(struct cx *cx, const char *text)
{
    struct source *source = ARENA_NEW(&cx->arena, struct source);

    *source = (struct source){.name = "elementwise.c", .text = text, .length = strlen(text)};
    return source;
}

static struct operand build_text(struct line *line, const char *text)
{
    const struct source *source = table_source(line->cx, text);

    return build_expr(line, expr_parse(line->cx, source, 0, source->length));
}

static int to_node(struct line *line, struct operand operand, enum dtype dtype)
{
    return operand.known ? dag_const(&line->cx->arena, line->dag, dtype, operand.number) : operand.node;
}

/* A primitive over operands of which those that are known take the type of those that are not. */
static struct operand build_prim(struct line *line, enum prim prim, const struct operand *args)
{
    int arity = prim_rows[prim].arity, first = prim == PRIM_SELECT ? 1 : 0, nodes[3] = {0, 0, 0};
    bool all_known = true;
    enum dtype operands = line->dtype;

    for (int k = first; k < arity; k++) {
        all_known = all_known && args[k].known;
        if (!args[k].known)
            operands = line->dag->nodes[args[k].node].dtype;
    }
    if (prim == PRIM_SELECT && args[0].known)
        return args[args[0].number != 0 ? 1 : 2];
    if (all_known && prim != PRIM_SELECT) {
        bool logic = prim >= PRIM_AND && prim <= PRIM_NOT;
        enum dtype dtype = logic ? DTYPE_BOOL : DTYPE_FLOAT64;
        bool truth = logic || prim_is_comparison(prim) || prim == PRIM_ISNAN;
        union scalar values[3] = {{0}, {0}, {0}};

        for (int k = 0; k < arity; k++) {
            if (logic)
                values[k].i = args[k].number != 0;
            else
                values[k].f = args[k].number;
        }

        union scalar result = prim_eval(prim, truth ? DTYPE_BOOL : dtype, dtype, values);

        return known(truth ? (double)result.i : result.f);
    }
    if (prim == PRIM_SELECT)
        nodes[0] = to_node(line, args[0], DTYPE_BOOL);
    for (int k = first; k < arity; k++)
        nodes[k] = to_node(line, args[k], operands);

    enum dtype result = prim_is_comparison(prim) || prim == PRIM_ISNAN ? DTYPE_BOOL : operands;

    return node(dag_prim(&line->cx->arena, line->dag, prim, result, nodes[0], nodes[1], nodes[2]));
}

/* The arguments of a line get their values: tensors from `values`, numbers behind them, missing ones by default. */
static void bind_args(struct line *line, const struct elementwise_row *row, const struct operand *values,
                      int count)
{
    struct signature signature;
    const char *text = arena_format(&line->cx->arena, "%s(%s)", row->name, row->args);
    const struct source *source = table_source(line->cx, text);
    bool parsed = signature_parse(line->cx, source, 0, source->length, &signature);

    assert(parsed && count >= row->tensors && count <= signature.count);
    (void)parsed;
    line->names = ARENA_ARRAY(&line->cx->arena, signature.count + 3, struct binding);
    for (int i = 0; i < signature.count; i++) {
        assert(i < count || signature.args[i].value);
        struct operand value = i < count ? values[i] : build_expr(line, signature.args[i].value);

        line->names[line->count++] = (struct binding){signature.args[i].name, value};
        if (i == 0)
            line->names[line->count++] = (struct binding){"x", value};
    }
}

static struct operand build_name(struct line *line, const char *name)
{
    for (int i = 0; i < line->count; i++)
        if (strcmp(line->names[i].name, name) == 0)
            return line->names[i].value;
    if (strcmp(name, "inf") == 0)
        return known(INFINITY);
    assert(strcmp(name, "pi") == 0);
    return known(3.14159265358979323846);
}

/* The primitive that a line may name; arithmetic is written with operators. */
static bool find_prim(const char *name, enum prim *out)
{
    for (int i = 0; i < PRIM_COUNT; i++) {
        if (i != PRIM_CAST && i != PRIM_BITS && prim_rows[i].arity > 0 &&
            strcmp(prim_rows[i].name, name) == 0) {
            *out = (enum prim)i;
            return true;
        }
    }
    return false;
}

static struct operand build_call(struct line *line, const struct expr *call)
{
    struct operand args[MAX_ARGS];
    enum prim prim;

    assert(call->a->kind == EXPR_NAME && call->count <= MAX_ARGS);
    for (int i = 0; i < call->count; i++)
        args[i] = build_expr(line, call->items[i]);
    if (find_prim(call->a->text, &prim)) {
        assert(call->count == prim_rows[prim].arity);
        return build_prim(line, prim, args);
    }

    const struct elementwise_row *row = elementwise_find(call->a->text);
    struct line inner = {.cx = line->cx, .dag = line->dag, .dtype = line->dtype};

    assert(row);
    bind_args(&inner, row, args, call->count);
    return build_text(&inner, row->forward);
}

static struct operand build_expr(struct line *line, const struct expr *expr)
{
    static const enum prim prims[] = {
        [OP_ADD] = PRIM_ADD,
        [OP_SUB] = PRIM_SUB,
        [OP_MUL] = PRIM_MUL,
        [OP_DIV] = PRIM_DIV,
        [OP_FLOORDIV] = PRIM_FLOORDIV,
        [OP_MOD] = PRIM_MOD,
        [OP_POW] = PRIM_POW,
        [OP_EQ] = PRIM_EQ,
        [OP_NE] = PRIM_NE,
        [OP_LT] = PRIM_LT,
        [OP_LE] = PRIM_LE,
        [OP_GT] = PRIM_GT,
        [OP_GE] = PRIM_GE,
        [OP_BITAND] = PRIM_AND,
        [OP_BITOR] = PRIM_OR,
        [OP_BITXOR] = PRIM_XOR,
        [OP_NEG] = PRIM_NEG,
        [OP_INVERT] = PRIM_NOT,
    };
    struct operand args[2];

    switch (expr->kind) {
    case EXPR_BOOL:
    case EXPR_INT:
        return known((double)expr->integer);
    case EXPR_FLOAT:
        return known(expr->number);
    case EXPR_NAME:
        return build_name(line, expr->text);
    case EXPR_CALL:
        return build_call(line, expr);
    case EXPR_UNARY:
        args[0] = build_expr(line, expr->a);
        return build_prim(line, prims[expr->op], args);
    case EXPR_BINARY:
        args[0] = build_expr(line, expr->a);
        args[1] = build_expr(line, expr->b);
        return build_prim(line, prims[expr->op], args);
    case EXPR_TUPLE: /* parentheses around one expression */
        assert(expr->count == 1);
        return build_expr(line, expr->items[0]);
    default:
        assert(!"a line that does not parse");
        return known(0);
    }
}

static enum dtype computed_in(const struct elementwise_row *row, enum dtype dtype)
{
    if (dtype_is_half(dtype))
        return DTYPE_FLOAT32;
    return !dtype_is_float(dtype) && (row->flags & ELEMENTWISE_FLOAT) ? DTYPE_FLOAT32 : dtype;
}

static struct operand load(struct line *line, int input, enum dtype dtype)
{
    struct arena *arena = &line->cx->arena;

    return node(dag_cast(arena, line->dag, dag_load(arena, line->dag, input, dtype), line->dtype));
}

/* How many arguments of the line are numbers. */
static int count_numbers(const struct elementwise_row *row)
{
    int count = *row->args ? 1 : 0;

    for (const char *c = row->args; *c; c++)
        count += *c == ',';
    return count - row->tensors;
}

/* The line's arguments, from its inputs and the numbers. */
static void bind_inputs(struct line *line, const struct elementwise_row *row, enum dtype dtype,
                        const double *numbers)
{
    struct operand values[MAX_ARGS];
    const int count = row->tensors + count_numbers(row);

    assert(count <= MAX_ARGS);
    for (int i = 0; i < row->tensors; i++)
        values[i] = load(line, i, dtype);
    for (int i = row->tensors; i < count; i++)
        values[i] = known(numbers[i - row->tensors]);
    bind_args(line, row, values, count);
}

const char *elementwise_refuses_numbers(struct cx *cx, const struct elementwise_row *row,
                                        const double *numbers)
{
    struct line line = {.cx = cx, .dag = dag_new(&cx->arena, row->tensors), .dtype = DTYPE_FLOAT64};
    bool bound = false;

    for (const struct elementwise_check *check = elementwise_checks; check->line; check++) {
        if (strcmp(check->line, row->name) != 0)
            continue;
        if (!bound)
            bind_inputs(&line, row, DTYPE_FLOAT64, numbers);
        bound = true;
        if (build_text(&line, check->condition).number == 0)
            return check->message;
    }
    return NULL;
}

static struct dag *finish(struct line *line, struct operand result, enum dtype dtype)
{
    struct arena *arena = &line->cx->arena;
    struct dag *dag = line->dag;
    int index = to_node(line, result, line->dtype);

    if (dag->nodes[index].dtype != DTYPE_BOOL && dtype_is_half(dtype))
        index = dag_cast(arena, dag, index, dtype);
    dag->result = index;
    dag_trim(arena, dag);
    return dag;
}

/* Of each line what was built last: models repeat lines, and nobody changes it. */
struct elementwise_built {
    struct dag *dag;
    enum dtype dtype;
    double numbers[MAX_ARGS];
};

static struct dag *build_dag(struct cx *cx, const struct elementwise_row *row, enum dtype dtype,
                             const double *numbers)
{
    struct line line = {.cx = cx, .dag = dag_new(&cx->arena, row->tensors), .dtype = computed_in(row, dtype)};

    if (!dtype_is_float(dtype) && (row->flags & ELEMENTWISE_ROUNDING))
        return dag_identity(&cx->arena, dtype);
    bind_inputs(&line, row, dtype, numbers);
    return finish(&line, build_text(&line, row->forward), dtype);
}

struct dag *elementwise_dag(struct cx *cx, const struct elementwise_row *row, enum dtype dtype,
                            const double *numbers)
{
    const size_t bytes = (size_t)count_numbers(row) * sizeof *numbers;
    struct elementwise_built *built;

    if (!cx->built)
        cx->built = ARENA_ARRAY(&cx->arena, elementwise_row_count, struct elementwise_built);
    built = &cx->built[row - elementwise_rows];
    if (built->dag && built->dtype == dtype && (bytes == 0 || memcmp(built->numbers, numbers, bytes) == 0))
        return built->dag;
    built->dag = build_dag(cx, row, dtype, numbers);
    built->dtype = dtype;
    if (bytes > 0)
        memcpy(built->numbers, numbers, bytes);
    return built->dag;
}

/* The text of gradient `tensor` of a line, or NULL. */
static const char *gradient_text(struct cx *cx, const struct elementwise_row *row, int tensor)
{
    const char *text = row->backward;

    for (int i = 0; text && i < tensor; i++) {
        text = strstr(text, "; d_");
        text = text ? strstr(text, " = ") : NULL;
        text = text ? text + 3 : NULL;
    }
    return text ? arena_copy(&cx->arena, text, strcspn(text, ";")) : NULL;
}

struct dag *elementwise_gradient(struct cx *cx, const struct elementwise_row *row, enum dtype dtype,
                                 const double *numbers, int tensor)
{
    struct line line = {
        .cx = cx, .dag = dag_new(&cx->arena, row->tensors + 2), .dtype = computed_in(row, dtype)};
    const char *text = gradient_text(cx, row, tensor);

    assert(dtype_is_float(dtype) && tensor < row->tensors);
    if (!text)
        return NULL;
    bind_inputs(&line, row, dtype, numbers);
    line.names[line.count++] = (struct binding){"y", load(&line, row->tensors, dtype)};
    line.names[line.count++] = (struct binding){"g", load(&line, row->tensors + 1, dtype)};
    return finish(&line, build_text(&line, text), dtype);
}

int elementwise_expr(struct cx *cx, struct dag *dag, enum dtype dtype, const char *text,
                     const struct elementwise_name *names, int count)
{
    struct line line = {.cx = cx, .dag = dag, .dtype = dtype};

    line.names = ARENA_ARRAY(&cx->arena, count + 1, struct binding);
    for (int i = 0; i < count; i++)
        line.names[line.count++] = (struct binding){names[i].name, node(names[i].node)};
    return to_node(&line, build_text(&line, text), dtype);
}
