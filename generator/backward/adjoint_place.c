/* adjoint_place.c - gradients of what takes and puts elements: concatenations, gather, scatter. */
#include <string.h>

#include "backward/adjoint_rows.h"

static void give_concat(const struct adjoint *a, struct op *op, struct value *g)
{
    struct arena *arena = &a->eval->cx->arena;
    const struct dim *start = adjoint_number(a, 0);
    int axis = op->concat.axis;

    for (int i = 0; i < op->input_count; i++) {
        const struct dim *length = op->inputs[i]->dims[axis];

        if (a->wants(a, op->inputs[i]))
            a->give(a, op->inputs[i],
                    build_slice(a->eval, op->loc, g, axis, start, adjoint_number(a, 1), length));
        start = dim_add(arena, start, length);
    }
}

const struct adjoint_row concat_adjoint = {.one = give_concat};

static void give_gather(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0];

    a->give(a, x,
            build_scatter_inside(a->eval, op->loc, arena_format(&a->eval->cx->arena, "d%s", op->label),
                                 adjoint_zeros_like(a, x), op->gather.axis, op->inputs[1], g, PRIM_ADD,
                                 op->gather.along));
}

const struct adjoint_row gather_adjoint = {.one = give_gather};

/* What a scatter would take from x. */
static struct value *taken(const struct adjoint *a, const struct op *op, struct value *x)
{
    return build_gather_inside(a->eval, op->loc, "taken", x, op->scatter.axis, op->inputs[1],
                               op->scatter.along);
}

/* The part of a scatter's source that is taken: the index may be smaller. */
static struct value *source_of(const struct adjoint *a, const struct op *op)
{
    struct value *source = op->inputs[2];
    const struct value *index = op->inputs[1];

    for (int i = 0; i < source->ndim && op->scatter.along; i++)
        if (!dim_equal(source->dims[i], index->dims[i]))
            source = build_slice(a->eval, op->loc, source, i, adjoint_number(a, 0), adjoint_number(a, 1),
                                 index->dims[i]);
    return source;
}

/* The gradient of that part; the rest has none. */
static void give_source(const struct adjoint *a, const struct op *op, struct value *g)
{
    struct value *source = op->inputs[2];

    for (int i = 0; i < source->ndim; i++) {
        struct value *parts[2] = {g};
        const struct dim *dims[MAX_DIMS];

        if (dim_equal(source->dims[i], g->dims[i]))
            continue;
        memcpy(dims, g->dims, sizeof dims);
        dims[i] = dim_sub(&a->eval->cx->arena, source->dims[i], g->dims[i]);
        parts[1] = adjoint_zeros(a->eval, op->loc, g->dtype, g->ndim, dims);
        g = build_concat(a->eval, op->loc, "concat", parts, 2, i);
    }
    a->give(a, source, g);
}

static struct value *put(const struct adjoint *a, const struct op *op, struct value *x, struct value *source,
                         enum prim prim)
{
    return build_scatter_inside(a->eval, op->loc, "put", x, op->scatter.axis, op->inputs[1], source, prim,
                                op->scatter.along);
}

/* Products: each factor gets the product of the others, which is the result without it where it is not 0; that of a 0 that is
 * alone is made with a 1 in its place. */
static void product_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0], *source = source_of(a, op), *y = op->outputs[0], *filled, *zero, *zeros;

    filled = adjoint_run(a, op, "return torch.where(x == 0, 1, x)",
                         (struct adjoint_name[]){{"x", x, NULL}, {NULL, NULL, NULL}});
    a->give(a, x,
            adjoint_run(a, op, "return g * whole / x",
                        (struct adjoint_name[]){{"g", g, NULL},
                                                {"whole", put(a, op, filled, source, PRIM_MUL), NULL},
                                                {"x", filled, NULL},
                                                {NULL, NULL, NULL}}));
    if (!a->wants(a, op->inputs[2]))
        return;
    zero = adjoint_run(a, op, "return (x == 0).to(x.dtype)",
                       (struct adjoint_name[]){{"x", source, NULL}, {NULL, NULL, NULL}});
    zeros = taken(a, op, put(a, op, adjoint_zeros_like(a, x), zero, PRIM_ADD));
    filled = adjoint_run(
        a, op, "return torch.where((n == 1) & (x == 0), 1, x)",
        (struct adjoint_name[]){{"x", source, NULL}, {"n", zeros, NULL}, {NULL, NULL, NULL}});
    give_source(
        a, op,
        adjoint_run(
            a, op,
            "return torch.where((n == 1) & (x == 0), g * alone, g * whole / torch.where(x == 0, 1, x))",
            (struct adjoint_name[]){{"x", source, NULL},
                                    {"n", zeros, NULL},
                                    {"g", taken(a, op, g), NULL},
                                    {"alone", taken(a, op, put(a, op, x, filled, PRIM_MUL)), NULL},
                                    {"whole", taken(a, op, y), NULL},
                                    {NULL, NULL, NULL}}));
}

/* In equal parts to all that are the least, or the most. */
static void extreme_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0], *source = source_of(a, op), *y = op->outputs[0], *held, *came, *share;

    held = adjoint_same(a, x, y, false);
    came = adjoint_same(a, source, taken(a, op, y), false);
    share = adjoint_run(a, op, "return g / n",
                        (struct adjoint_name[]){{"g", g, NULL},
                                                {"n", put(a, op, held, came, PRIM_ADD), NULL},
                                                {NULL, NULL, NULL}});
    a->give(
        a, x,
        adjoint_run(a, op, "return same * g",
                    (struct adjoint_name[]){{"same", held, NULL}, {"g", share, NULL}, {NULL, NULL, NULL}}));
    give_source(a, op,
                adjoint_run(a, op, "return same * g",
                            (struct adjoint_name[]){
                                {"same", came, NULL}, {"g", taken(a, op, share), NULL}, {NULL, NULL, NULL}}));
}

static void give_scatter(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0], *source = op->inputs[2];

    switch (op->dag->nodes[op->dag->result].prim) {
    case PRIM_LOAD:
        if (a->wants(a, x))
            a->give(a, x, put(a, op, g, adjoint_zeros_like(a, source), PRIM_LOAD));
        if (a->wants(a, source))
            give_source(a, op, taken(a, op, g));
        break;
    case PRIM_ADD:
        a->give(a, x, g);
        if (a->wants(a, source))
            give_source(a, op, taken(a, op, g));
        break;
    case PRIM_MUL:
        product_adjoint(a, op, g);
        break;
    default:
        extreme_adjoint(a, op, g);
        break;
    }
}

const struct adjoint_row scatter_adjoint = {.one = give_scatter};

static struct value *sample_slopes(const struct adjoint *a, const struct op *op, struct value *const *inputs,
                                   int count, enum sample_part part)
{
    const struct value *x = op->inputs[0];
    struct op *slopes = op_new(a->eval, GRAPH_OP_SAMPLE, arena_format(&a->eval->cx->arena, "d%s", op->label),
                               inputs, count);

    slopes->sample = op->sample;
    slopes->sample.part = part;
    memcpy(slopes->sample.dims, x->dims, (size_t)x->ndim * sizeof *x->dims);
    return build_op(a->eval, op->loc, slopes);
}

/* Those of boxes are none. Of an image in half precision sums are made in full. */
static void give_sample(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0], *places = op->inputs[1];
    enum dtype wide = x->dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32;

    if (a->wants(a, places) && op->sample.of == SAMPLE_GRID)
        a->give(a, places, sample_slopes(a, op, (struct value *[]){x, places, g}, 3, SAMPLE_TO_PLACES));
    if (a->wants(a, x))
        a->give(a, x,
                build_cast(a->eval, op->loc,
                           sample_slopes(a, op,
                                         (struct value *[]){build_cast(a->eval, op->loc, g, wide),
                                                            build_cast(a->eval, op->loc, places, wide)},
                                         2, SAMPLE_TO_IMAGES),
                           x->dtype));
}

const struct adjoint_row sample_adjoint = {.one = give_sample};

/* Integers have no gradients. */
const struct adjoint_row sort_adjoint = {0};
