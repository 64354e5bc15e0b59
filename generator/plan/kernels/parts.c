/* parts.c - kernels that another kernel calls for a part of its work: products of one head or one step, and the like. */
#include "plan/kernels/draft.h"

struct value *of_head(struct cx *cx, const struct value *value, const struct dim *rows,
                      const struct dim *columns)
{
    struct value *part = ARENA_NEW(&cx->arena, struct value);
    int drop = value->ndim > 2 ? value->ndim - 2 : 0;

    *part = *value;
    part->ndim -= drop;
    for (int i = 0; i < part->ndim; i++) {
        part->dims[i] = value->dims[i + drop];
        part->strides[i] = value->strides[i + drop];
    }
    if (rows && part->ndim == 2 && !dim_equals(part->dims[0], 1))
        part->dims[0] = rows;
    if (columns && part->ndim > 0 && !dim_equals(part->dims[part->ndim - 1], 1))
        part->dims[part->ndim - 1] = columns;
    return part;
}

struct value *in_scratch(struct cx *cx, enum dtype dtype, const struct dim *rows, const struct dim *columns,
                         int64_t stride)
{
    struct value *value = ARENA_NEW(&cx->arena, struct value);

    *value = (struct value){.dtype = dtype, .ndim = 2, .dims = {rows, columns}};
    value->strides[0] = dim_const(&cx->arena, stride);
    value->strides[1] = dim_const(&cx->arena, 1);
    return value;
}

void part_kernel(struct draft *draft, struct op *op, const char *algorithm, const struct size *block,
                 const char *name, const char *role, struct passed *passed, int count)
{
    struct draft own = {.cx = draft->cx,
                        .plan = draft->plan,
                        .role = role,
                        .block = block,
                        .causal = block && draft->op->attention.causal};
    struct step step = {.op = op,
                        .algorithm = algorithm_named(draft->plan->backend, algorithm),
                        .split = {.slices = 1},
                        .scratch_offset = -1};
    const struct kernel *kernel;

    op->output_count = 1;
    for (int i = op->tail_first; i < op->input_count && op->tail; i++)
        own.over_y |= op->inputs[i] == op->outputs[0];
    kernel = template_kernel(&own, &step);
    hole_kernel(draft, name, kernel);
    pass_sizes(draft, &passed, &count, kernel->used, block);
    hole_passed(draft, arena_format(&draft->cx->arena, "%s_PASS", name), passed, count);
}
