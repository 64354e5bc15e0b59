/* make_steps.c - numbers as integers of some steps, and back: note [steps] in base/steps.h. */
#include "graph/make.h"

int make_nearest(struct arena *arena, struct dag *dag, int size, int sign)
{
    const enum dtype dtype = dag->nodes[size].dtype;
    const int floor = dag_prim(arena, dag, PRIM_FLOOR, dtype, size, -1, -1);
    const int up = dag_prim(arena, dag, PRIM_GE, DTYPE_BOOL,
                            dag_prim(arena, dag, PRIM_SUB, dtype, size, floor, -1),
                            dag_const(arena, dag, dtype, 0.5), -1);
    const int more = dag_prim(arena, dag, PRIM_SELECT, dtype, up, dag_const(arena, dag, dtype, 1.0),
                              dag_const(arena, dag, dtype, 0.0));

    return dag_prim(arena, dag, PRIM_COPYSIGN, dtype, dag_prim(arena, dag, PRIM_ADD, dtype, floor, more, -1),
                    sign, -1);
}

static struct dag *to_steps(struct arena *arena, const struct steps *steps)
{
    const enum dtype real = DTYPE_FLOAT32, whole = DTYPE_INT32;
    struct dag *dag = dag_new(arena, 1);
    const int x = dag_prim(arena, dag, PRIM_DIV, real, dag_load(arena, dag, 0, real),
                           dag_const(arena, dag, real, steps->scale), -1);
    /* far outside of int8, and yet an integer */
    const int size = dag_prim(arena, dag, PRIM_MIN, real, dag_prim(arena, dag, PRIM_ABS, real, x, -1, -1),
                              dag_const(arena, dag, real, 512.0), -1);
    int q = dag_cast(arena, dag, make_nearest(arena, dag, size, x), whole);

    q = dag_prim(arena, dag, PRIM_ADD, whole, q, dag_integer(arena, dag, whole, steps->zero), -1);
    dag->result = make_int8(arena, dag, q, INT8_MIN, INT8_MAX);
    return dag;
}

int make_int8(struct arena *arena, struct dag *dag, int node, int least, int most)
{
    const enum dtype whole = DTYPE_INT32;

    node = dag_prim(arena, dag, PRIM_MAX, whole, node, dag_integer(arena, dag, whole, least), -1);
    node = dag_prim(arena, dag, PRIM_MIN, whole, node, dag_integer(arena, dag, whole, most), -1);
    return dag_cast(arena, dag, node, DTYPE_INT8);
}

int make_from_zero(struct arena *arena, struct dag *dag, int input, const struct steps *steps)
{
    return dag_prim(arena, dag, PRIM_SUB, DTYPE_INT32,
                    dag_cast(arena, dag, dag_load(arena, dag, input, DTYPE_INT8), DTYPE_INT32),
                    dag_integer(arena, dag, DTYPE_INT32, steps->zero), -1);
}

static struct dag *from_steps(struct arena *arena, const struct steps *steps)
{
    struct dag *dag = dag_new(arena, 1);

    dag->result = dag_prim(arena, dag, PRIM_MUL, DTYPE_FLOAT32,
                           dag_cast(arena, dag, make_from_zero(arena, dag, 0, steps), DTYPE_FLOAT32),
                           dag_const(arena, dag, DTYPE_FLOAT32, steps->scale), -1);
    return dag;
}

static struct value *put(struct site site, const char *label, struct dag *dag, struct value *value,
                         const struct steps *steps)
{
    struct op *op = make_op(site, GRAPH_OP_MAP, label, &value, 1);

    op->dag = dag;
    op->steps = steps;
    return make_result(site, op);
}

struct value *make_quantized(struct site site, struct value *value, const struct steps *steps)
{
    return put(site, "quantize", to_steps(&site.cx->arena, steps), value, steps);
}

struct value *make_dequantized(struct site site, struct value *value, const struct steps *steps)
{
    return put(site, "dequantize", from_steps(&site.cx->arena, steps), value, steps);
}
