/* toolkit.h - what passes share; plan asks some of it, too. */
#ifndef MODC_TOOLKIT_H
#define MODC_TOOLKIT_H

#include "graph/graph.h"

/* Written, but as BatchNorm's statistics are: by a layer, and by no forward in eval mode, where the tensor is static. */
bool tensor_changes_in_training(const struct module_tensor *tensor);

/* Computed from parameters, unwritten buffers and constants alone, perhaps through views: known to MODEL_pack. */
bool value_is_static(const struct graph *graph, struct value *value);

bool value_has_constant_dims(const struct value *value);

/* Whether it lies where the caller keeps it. */
bool value_is_input(struct value *value);

/* As what the spec's `storage` has the weight of a product packed, and so rounded: a matrix that is a parameter, perhaps through
 * views. NULL: as it is; weights that are computed from parameters are. */
const struct storage *op_storage(const struct graph *graph, const struct op *op);

/* Whether the plan may pack the op's weight and bias. */
bool op_is_packed(const struct graph *graph, const struct op *op);

/* What a value of `activations: calibrated` is: int8 of some steps, of which it is made; NULL: another value. */
struct value *value_whole(const struct value *value);
static inline const struct steps *value_steps(const struct value *value) /* of such a value */
{
    return value->op->steps;
}

/* The op that made the value of int8, or what it was moved and picked from; NULL: none did. */
const struct op *value_rounded(const struct value *value);

/* Whether the product is to become one of integers: its input is such a value. */
bool op_is_calibrated(const struct op *op);

/* A map of one input that only bounds it: the bounds, which may be infinite. */
bool op_bounds(const struct op *map, double *least, double *most);

/* What reads the value, and no more than once; NULL: none, or others do. What hooks only look at does not count. */
struct op *pass_only_reader(const struct value *value);

/* Boundaries of the fenced variant: ops of different module calls stay apart where hooks may look. */
bool pass_may_join(const struct graph *graph, const struct op *a, const struct op *b);

/* Does an op between the two positions change what `op` reads? Then op cannot move from one to the other. */
bool pass_write_between(struct graph *graph, const struct op *op, int from, int to);

/* Forgets inputs from `first` up to the tail's that the op's dag does not read. They are its last loads; those before are of
 * the type of input 0. */
void pass_drop_unread(struct graph *graph, struct op *op, struct dag **dag, int first);

/* ---- dags by hand ---- */

struct nodes {
    struct arena *arena;
    struct dag *dag;
};

struct nodes nodes_new(struct graph *graph, int inputs);

/* A primitive of two nodes of a type, which is the result's but for comparisons; of one and a number. */
int node_two(struct nodes n, enum prim prim, int a, int b);
int node_with(struct nodes n, enum prim prim, int a, int64_t number);

/* pass_prepare of the ops from `first` up to `end`; NULL: to the last. */
void pass_prepare_from(struct graph *graph, int first, const struct op *end);

/* Of a resolved value. Dense: row-major without gaps. Rows: the last axis is contiguous and the others collapse to one
 * stride. Axes of size 1 have no say. */
bool value_is_dense(struct arena *arena, const struct value *value);
bool value_is_rows(struct arena *arena, const struct value *value);

/* Whether the op's kernels can read the input from where it lies. */
bool pass_reads(struct graph *graph, const struct op *op, int input);

/* A convolution of channels-last images whose groups are the channels, one output for each. */
bool op_is_depthwise(const struct op *op);

/* Whether a convolution may read its input 0 through a head, line by line: from any strides, in another type. Its channels
 * fill no vectors, as those of a camera's image, or each is computed apart, so that no other way to compute it is faster. */
bool pass_takes_head(const struct graph *graph, const struct op *op);

/* How the tail of an op reads an operand over its output of (rows, columns): the stride of a row and of a column. Columns
 * are the last axis, of a norm those that it normalises over; rows all others together. False: these do not collapse to
 * one stride. */
bool tail_strides(struct arena *arena, const struct value *operand, const struct op *op,
                  const struct dim **row, const struct dim **column);

#endif
