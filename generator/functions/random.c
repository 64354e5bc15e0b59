/* random.c - what draws random numbers. */
#include <string.h>

#include "../graph.h"
#include "rows.h"

static struct ev fn_dropout(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    bool training;
    double p;
    struct value *x, *uniform;
    struct op *op;
    struct dag *dag;
    (void)count;

    if (!need_tensor(eval, "dropout", &args[0]) || !need_bool(eval, "training", &args[2], &training))
        return BAD;
    if (!ev_get_number(&args[1], &p) || !(p >= 0 && p <= 1)) {
        diag_error(eval->cx, args[1].loc, "dropout probability has to be between 0 and 1, but got %s",
                   ev_text(eval, &args[1]));
        return BAD;
    }
    x = args[0].tensor;
    if (!training || p == 0)
        return args[0];
    if (!eval->graph) {
        diag_error(eval->cx, loc, "random numbers are not known while generating");
        return BAD;
    }
    if (!dtype_is_float(x->dtype)) {
        diag_error(eval->cx, loc, "dropout takes a floating tensor, not %s", dtype_rows[x->dtype].name);
        return BAD;
    }
    op = op_new(eval, GRAPH_OP_RANDOM, "random", NULL, 0);
    op->random.module = eval->call ? eval->call->module : NULL;
    op->loc = loc;
    op->outputs[0] = ARENA_NEW(arena, struct value);
    *op->outputs[0] = (struct value){
        .id = eval->graph->value_count++, .dtype = DTYPE_FLOAT32, .op = op, .loc = loc, .ndim = x->ndim};
    memcpy(op->outputs[0]->dims, x->dims, sizeof x->dims);
    op->output_count = 1;
    ARENA_PUSH(arena, eval->graph->ops, eval->graph->op_count, op);
    uniform = op->outputs[0];

    /* where(u < p, 0, x * 1 / (1 - p)) */
    dag = dag_new(arena, 2);
    int drop = dag_prim(arena, dag, PRIM_LT, DTYPE_BOOL, dag_load(arena, dag, 1, DTYPE_FLOAT32),
                        dag_const(arena, dag, DTYPE_FLOAT32, p), -1);
    int kept = dag_prim(arena, dag, PRIM_MUL, x->dtype, dag_load(arena, dag, 0, x->dtype),
                        dag_const(arena, dag, x->dtype, p == 1 ? 0 : dtype_round(x->dtype, 1 / (1 - p))), -1);

    dag->result = dag_prim(arena, dag, PRIM_SELECT, x->dtype, drop, dag_const(arena, dag, x->dtype, 0), kept);
    return ev_tensor(loc, build_map(eval, loc, "dropout", dag, (struct value *[]){x, uniform}, 2));
}

extern const struct function_row random_functions[];

const struct function_row random_functions[] = {
    {"dropout(input, p=0.5, training=True, inplace=False)", F, .build = fn_dropout},
    {.signature = NULL},
};
