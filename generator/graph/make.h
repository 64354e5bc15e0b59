/* make.h - makes ops in a graph: what lowering and passes build of it, they build here. An op has its attributes and inputs from
 * the maker, its result what infer says, and stands where the site says. Checks of what users wrote, with their messages, are
 * eval's; what never fits here is a fault of modc, or is said at the site. */
#ifndef MODC_MAKE_H
#define MODC_MAKE_H

#include "graph/graph.h"

/* Where ops go, and what they say of where they come from. */
struct site {
    struct cx *cx;
    struct graph *graph; /* NULL: while the module tree is built, of which only constants are made */
    int *at; /* in front of what stands there, which is behind what was made then; NULL: behind all */
    struct loc loc;
    struct module_call *call;
    /* Of lowering: what constants alone decide is computed at once, what has nothing to compute is its number, and the graph
     * gets the needs of a call. */
    bool lowers;
};

/* In front of `*at`, as a part of what the op does. */
struct site site_by(struct graph *graph, int *at, const struct op *op);

/* An op that stands nowhere yet, over these inputs. */
struct op *make_op(struct site site, enum op_code code, const char *label, struct value *const *inputs,
                   int count);

/* A copy of one that stands nowhere yet, with its inputs and without results. */
struct op *make_like(struct graph *graph, const struct op *like);

/* Puts the op there and gives it its one result. NULL after an error: infer refuses it, which is said at the site. */
struct value *make_result(struct site site, struct op *op);

/* The same of a view, which has the dims that it is given. */
struct value *make_view(struct site site, struct op *op, int ndim, const struct dim *const *dims);

/* The same with `count` results, and never refused. */
void make_results(struct site site, struct op *op, int count);

struct value *make_const(struct site site, const struct tensor *tensor);

/* A map over tensors that broadcast; dag input i is tensors[i]. While lowering, what has one element and is known is a number in
 * the dag. */
struct value *make_map(struct site site, const char *label, struct dag *dag, struct value *const *tensors,
                       int count);
struct value *make_cast(struct site site, struct value *value, enum dtype dtype);
struct value *make_copy(struct site site, struct value *value);

/* ---- make_steps.c: note [steps] in base/steps.h ---- */

/* float32 as int8 and int8 as float32, by maps that know the steps, which outlive the graph. */
struct value *make_quantized(struct site site, struct value *value, const struct steps *steps);
struct value *make_dequantized(struct site site, struct value *value, const struct steps *steps);

/* The integer that is nearest to a number whose size and sign the nodes have, of two the one further from 0. */
int make_nearest(struct arena *arena, struct dag *dag, int size, int sign);

/* Nodes of a dag: input `input`, int8, as int32 less its zero point; an int32 within bounds as int8. */
int make_from_zero(struct arena *arena, struct dag *dag, int input, const struct steps *steps);
int make_int8(struct arena *arena, struct dag *dag, int node, int least, int most);

/* ---- make_ops.c ---- */

/* Views that change nothing are the value; passes read a permutation of one, and a reshape of one, in one step. */
struct value *make_permute(struct site site, struct value *value, const int *perm);
struct value *make_slice(struct site site, struct value *value, int axis, const struct dim *start,
                         const struct dim *step, const struct dim *length);
struct value *make_reshape(struct site site, struct value *value, int ndim, const struct dim *const *dims);
struct value *make_expand(struct site site, struct value *value, int ndim, const struct dim *const *dims);
struct value *make_flip(struct site site, struct value *value, int axis);
/* Windows of `size` elements, `dilation` apart, along an axis, from one to the next `step`; a last axis for their elements.
 * A call needs room for one. */
struct value *make_window(struct site site, struct value *value, int axis, int64_t size, int64_t step,
                          int64_t dilation);

/* One value is itself. */
struct value *make_concat(struct site site, const char *label, struct value *const *values, int count,
                          int axis);
/* Sums and products of integers: int64. */
struct value *make_reduce(struct site site, struct value *value, enum reduce_kind kind, const bool *axes,
                          bool keepdim);
/* The elements of x at `index`, integers that are inside, along an axis: GRAPH_OP_GATHER's dims. */
struct value *make_gather(struct site site, const char *label, struct value *x, int axis, struct value *index,
                          bool along);
/* x with the elements of `source`, of its type, at `index`, which is inside: GRAPH_OP_SCATTER's dims. `prim` joins what stands
 * there and what comes: PRIM_ADD, PRIM_MUL, PRIM_MAX, PRIM_MIN; PRIM_LOAD takes what comes. */
struct value *make_scatter(struct site site, const char *label, struct value *x, int axis,
                           struct value *index, struct value *source, enum prim prim, bool along);
/* Sums, or products, up to each element; integers and bool: int64. */
struct value *make_scan(struct site site, struct value *x, int axis, enum scan_kind kind, bool reverse);
/* SCAN_LARGEST: the largest so far. x is floating or int64, `first` what it begins with, of x's dims but the axis. */
struct value *make_largest(struct site site, struct value *first, struct value *x, int axis);
/* SCAN_DECAYED. x, cut and factor (NULL: that number) have one shape, `before`, what stands before the first element, all of it
 * but the axis (NULL: 0); all but cut are floating, of one type. */
struct value *make_decayed(struct site site, struct value *before, struct value *x, struct value *cut,
                           struct value *factor, double number, int axis, bool reverse);
/* The int64 order of the elements along an axis; equal ones stay as they stand, NaN is above all. */
struct value *make_argsort(struct site site, struct value *x, int axis, bool descending);

#endif
