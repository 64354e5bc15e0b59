/* build.c - the builders of graph/make.h where the spec's statements run: at the end of the graph that is being lowered, with the
 * user's place in messages. Those with checks of their own stand here too; numbers and types of the spec are build_map.c's. */
#include <assert.h>
#include <string.h>

#include "eval/evaluator.h"
#include "graph/make.h"

struct site build_site(const struct eval *eval, struct loc loc)
{
    return (struct site){
        .cx = eval->cx, .graph = eval->graph, .loc = loc, .call = eval->call, .lowers = true};
}

struct op *op_new(struct eval *eval, enum op_code code, const char *label, struct value *const *inputs,
                  int count)
{
    return make_op(build_site(eval, (struct loc){0}), code, label, inputs, count);
}

struct value *build_op(struct eval *eval, struct loc loc, struct op *op)
{
    return make_result(build_site(eval, loc), op);
}

void build_outputs(struct eval *eval, struct loc loc, struct op *op, int count)
{
    make_results(build_site(eval, loc), op, count);
}

struct value *build_const(struct eval *eval, struct loc loc, const struct tensor *tensor)
{
    return make_const(build_site(eval, loc), tensor);
}

struct value *build_map(struct eval *eval, struct loc loc, const char *label, struct dag *dag,
                        struct value *const *tensors, int count)
{
    return make_map(build_site(eval, loc), label, dag, tensors, count);
}

struct value *build_cast(struct eval *eval, struct loc loc, struct value *value, enum dtype dtype)
{
    return make_cast(build_site(eval, loc), value, dtype);
}

struct value *build_copy(struct eval *eval, struct loc loc, struct value *value)
{
    return make_copy(build_site(eval, loc), value);
}

struct value *build_permute(struct eval *eval, struct loc loc, struct value *value, const int *perm)
{
    return make_permute(build_site(eval, loc), value, perm);
}

struct value *build_slice(struct eval *eval, struct loc loc, struct value *value, int axis,
                          const struct dim *start, const struct dim *step, const struct dim *length)
{
    return make_slice(build_site(eval, loc), value, axis, start, step, length);
}

struct value *build_reshape(struct eval *eval, struct loc loc, struct value *value, int ndim,
                            const struct dim *const *dims)
{
    return make_reshape(build_site(eval, loc), value, ndim, dims);
}

struct value *build_expand(struct eval *eval, struct loc loc, struct value *value, int ndim,
                           const struct dim *const *dims)
{
    return make_expand(build_site(eval, loc), value, ndim, dims);
}

struct value *build_flip(struct eval *eval, struct loc loc, struct value *value, int axis)
{
    return make_flip(build_site(eval, loc), value, axis);
}

struct value *build_concat(struct eval *eval, struct loc loc, const char *label, struct value *const *values,
                           int count, int axis)
{
    return make_concat(build_site(eval, loc), label, values, count, axis);
}

struct value *build_reduce(struct eval *eval, struct loc loc, struct value *value, enum reduce_kind kind,
                           const bool *axes, bool keepdim)
{
    return make_reduce(build_site(eval, loc), value, kind, axes, keepdim);
}

struct value *build_gather_inside(struct eval *eval, struct loc loc, const char *label, struct value *x,
                                  int axis, struct value *index, bool along)
{
    return make_gather(build_site(eval, loc), label, x, axis, index, along);
}

struct value *build_scatter_inside(struct eval *eval, struct loc loc, const char *label, struct value *x,
                                   int axis, struct value *index, struct value *source, enum prim prim,
                                   bool along)
{
    return make_scatter(build_site(eval, loc), label, x, axis, index, source, prim, along);
}

struct value *build_scan(struct eval *eval, struct loc loc, struct value *x, int axis, enum scan_kind kind,
                         bool reverse)
{
    return make_scan(build_site(eval, loc), x, axis, kind, reverse);
}

struct value *build_largest(struct eval *eval, struct loc loc, struct value *first, struct value *x, int axis)
{
    return make_largest(build_site(eval, loc), first, x, axis);
}

struct value *build_decayed(struct eval *eval, struct loc loc, struct value *before, struct value *x,
                            struct value *cut, struct value *factor, double number, int axis, bool reverse)
{
    return make_decayed(build_site(eval, loc), before, x, cut, factor, number, axis, reverse);
}

struct value *build_argsort(struct eval *eval, struct loc loc, struct value *x, int axis, bool descending)
{
    return make_argsort(build_site(eval, loc), x, axis, descending);
}

/* ---- with checks --------------------------------------------------------------------------------------------------- */

void build_need(struct eval *eval, const struct dim *dim)
{
    if (eval->graph)
        graph_need(eval->graph, (struct need){.dim = dim});
}

void build_need_several(struct eval *eval, const struct dim *count)
{
    if (eval->graph)
        graph_need(eval->graph, (struct need){.dim = count, .not_one = true});
}

bool build_is_full(struct eval *eval, struct loc loc)
{
    if (!eval->full && !eval->backward && eval->graph && eval->graph->op_count > GRAPH_MAX_OPS) {
        diag_error(eval->cx, loc, "%s has more than %d operations", eval->graph->name, GRAPH_MAX_OPS);
        eval->full = true;
        if (eval->graph->program)
            eval->graph->program->full = true;
    }
    return eval->full;
}

bool build_type_fits(struct eval *eval, struct loc loc, const char *name, enum dtype dtype,
                     enum dtype written)
{
    if (dtype_category(written) <= dtype_category(dtype) || dtype_category(dtype) == 2)
        return true;
    diag_error(eval->cx, loc, "result type %s can't be cast to '%s' of type %s", dtype_rows[written].name,
               name, dtype_rows[dtype].name);
    diag_hint(eval->cx, "convert the value first, with .to(torch.%s)", dtype_rows[dtype].name);
    return false;
}

struct value *build_window(struct eval *eval, struct loc loc, const char *label, struct value *value,
                           int axis, int64_t size, int64_t step, int64_t dilation)
{
    struct arena *arena = &eval->cx->arena;
    int64_t reach = size > 0 ? (size - 1) * dilation + 1 : 0;

    if (value->ndim == MAX_DIMS) {
        diag_error(eval->cx, loc, "a tensor has at most %d dimensions", MAX_DIMS);
        return NULL;
    }
    if (dim_upper(dim_sub(arena, value->dims[axis], dim_const(arena, reach))) < 0) {
        diag_error(eval->cx, loc, "%s: dimension %d of %s is too short for windows of %lld", label, axis,
                   shape_text(arena, value->ndim, value->dims), (long long)reach);
        return NULL;
    }
    return make_window(build_site(eval, loc), value, axis, size, step, dilation);
}
