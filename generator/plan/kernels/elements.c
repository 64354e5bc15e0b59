/* elements.c - functions of elements: what tails and maps compute of each, which their cores take as an argument. */
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/kernels/draft.h"

bool dag_knows_sizes(const struct dag *dag)
{
    for (int i = 0; i < dag->count; i++)
        if (dag->nodes[i].prim == PRIM_DIM)
            return true;
    return false;
}

static bool same_inputs(const struct element_function *a, const struct element_function *b)
{
    return a->input_count == b->input_count &&
           memcmp(a->inputs, b->inputs, (size_t)a->input_count * sizeof *a->inputs) == 0;
}

/* What the runtime computes of one number: the name of its function, else NULL. */
static const char *runtime_name(const struct dag *dag)
{
    static const enum prim own[] = {PRIM_ABS,   PRIM_EXP,   PRIM_EXP_UP, PRIM_EXP_DOWN, PRIM_EXPM1,
                                    PRIM_LOG,   PRIM_LOG1P, PRIM_TANH,   PRIM_ERF,      PRIM_SQRT,
                                    PRIM_RSQRT, PRIM_SIN,   PRIM_COS,    PRIM_FLOOR};
    const struct dag_node *node = dag ? &dag->nodes[dag->result] : NULL;

    if (!node)
        return "as_is";
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (node->prim == own[i] && dag->input_count == 1 && dtype_is_float(node->dtype) &&
            dag->nodes[node->args[0]].prim == PRIM_LOAD && dag->nodes[node->args[0]].dtype == node->dtype)
            return prim_rows[node->prim].name;
    return NULL;
}

static bool is_taken(const struct plan *plan, const char *name)
{
    for (int i = 0; i < plan->function_count; i++)
        if (!plan->functions[i]->runtime && plan->functions[i]->name &&
            strcmp(plan->functions[i]->name, name) == 0)
            return true;
    return false;
}

/* Sizes of the spec are parameters of kernels, and what users call begins with the model's name. */
static bool is_hidden(struct cx *cx, const struct plan *plan, const char *name)
{
    static const char *const forms[] = {"s", "v"};
    const size_t length = strlen(plan->model);

    for (int i = 0; i < 2; i++) {
        const char *own = arena_format(&cx->arena, "%s_%s", name, forms[i]);

        if (strcmp(size_name(cx, plan->program->tree, own), own) != 0 ||
            (strncmp(own, plan->model, length) == 0 && own[length] == '_'))
            return true;
    }
    return false;
}

const char *dag_words(struct cx *cx, const struct dag *dag)
{
    const bool *needed = dag_needed(&cx->arena, dag);
    struct text words = text_new(&cx->arena);

    for (int i = 0; i < dag->count; i++)
        if (needed[i] && prim_rows[dag->nodes[i].prim].arity > 0 && dag->nodes[i].prim != PRIM_CAST)
            text_printf(&words, "%s%s", words.length > 0 ? "_" : "", prim_rows[dag->nodes[i].prim].name);
    return words.length > 0 ? outer_words(cx, words.data) : "as_is";
}

/* Its numbers, where these are few: "0_2" of leaky_relu(0.2); else "". */
static const char *number_words(struct cx *cx, const struct dag *dag)
{
    const bool *needed = dag_needed(&cx->arena, dag);
    struct text words = text_new(&cx->arena);
    int count = 0;

    for (int i = 0; i < dag->count; i++) {
        const struct dag_node *node = &dag->nodes[i];

        if (!needed[i] || node->prim != PRIM_CONST || !dtype_is_float(node->dtype) ||
            fabs(node->number) == 1 || node->number == 0)
            continue;
        count++;
        for (const char *c = arena_format(&cx->arena, "%s%.6g", count > 1 ? "_" : "", node->number); *c; c++)
            text_printf(&words, "%c", isalnum((unsigned char)*c) ? *c : '_');
    }
    return count > 0 && count < 3 ? words.data : "";
}

/* "dropped_mul"; another one of that name tells in turn its numbers, what it computes, and of how many values: "dropped_mul_0_2". */
static const char *free_name(struct cx *cx, const struct plan *plan, const char *label, const struct dag *dag)
{
    const char *name = *label ? label : dag_words(cx, dag);
    const char *const told[] = {number_words(cx, dag), dag_words(cx, dag),
                                arena_format(&cx->arena, "of_%d", dag->input_count)};

    while (is_hidden(cx, plan, name))
        name = arena_format(&cx->arena, "of_%s", name);
    for (int i = 0; i < 3 && is_taken(plan, name); i++)
        if (*told[i])
            name = arena_format(&cx->arena, "%s_%s", name, told[i]);
    for (const char *first = name; is_taken(plan, name);)
        name = arena_format(&cx->arena, "%s_again", name == first ? first : name);
    return name;
}

const struct element_function *element_function(struct cx *cx, struct plan *plan, const struct dag *dag,
                                                enum dtype computed, const char *label, const struct op *op)
{
    const int count = dag ? dag->input_count : 1, module = op && op->call ? op->call->module->index : INT_MAX;
    struct element_function *function = ARENA_NEW(&cx->arena, struct element_function);

    *function = (struct element_function){.dag = dag,
                                          .label = label,
                                          .module = module,
                                          .number = plan->function_count,
                                          .computed = computed,
                                          .inputs = ARENA_ARRAY(&cx->arena, count + 1, enum dtype),
                                          .input_count = count};
    for (int i = 0; i < count; i++)
        function->inputs[i] = dag ? dag_input_type(dag, i, dag->nodes[dag->result].dtype) : computed;
    for (int i = 0; i < plan->function_count; i++) {
        struct element_function *other = plan->functions[i];

        if (other->computed != computed || !same_dag(other->dag, dag) || !same_inputs(other, function))
            continue;
        if (module < other->module) {
            other->label = label;
            other->module = module;
        }
        return other;
    }
    function->runtime = runtime_name(dag) != NULL;
    function->comment = dag ? dag_text(cx, dag) : "x0";
    ARENA_PUSH(&cx->arena, plan->functions, plan->function_count, function);
    return function;
}

static int compare_modules(const void *a, const void *b)
{
    const struct element_function *x = *(const struct element_function *const *)a,
                                  *y = *(const struct element_function *const *)b;

    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return x->number - y->number;
}

static int compare_names(const void *a, const void *b)
{
    const struct element_function *x = *(const struct element_function *const *)a,
                                  *y = *(const struct element_function *const *)b;

    return strcmp(x->name, y->name);
}

void name_functions(struct cx *cx, struct plan *plan)
{
    if (plan->function_count == 0)
        return;
    qsort(plan->functions, (size_t)plan->function_count, sizeof *plan->functions, compare_modules);
    for (int i = 0; i < plan->function_count; i++) {
        struct element_function *function = plan->functions[i];

        if (!function->name)
            function->name = function->runtime ? runtime_name(function->dag)
                                               : free_name(cx, plan, function->label, function->dag);
    }
    qsort(plan->functions, (size_t)plan->function_count, sizeof *plan->functions, compare_names);
}

/* "tanh(x0)" */
static const char *element_call(struct cx *cx, const struct element_function *function)
{
    struct text text = text_new(&cx->arena);

    text_printf(&text, "%s(", function->name);
    for (int i = 0; i < function->input_count; i++)
        text_printf(&text, "%sx%d", i ? ", " : "", i);
    text_add(&text, ")");
    return text.data;
}

void complete_comment(struct cx *cx, struct kernel *kernel)
{
    if (kernel->shape)
        kernel->comment = arena_format(&cx->arena, "y %s = %s", kernel->shape,
                                       *kernel->comment ? kernel->comment
                                                        : element_call(cx, kernel->function));
    if (kernel->call_at > 0)
        kernel->comment = arena_format(&cx->arena, "%.*s%s%s", kernel->call_at, kernel->comment,
                                       element_call(cx, kernel->function), kernel->comment + kernel->call_at);
    kernel->shape = NULL;
    kernel->call_at = 0;
}
