/* emit_map.c - loop nests that write each element once: map, write, copy, gather; and scatter, which adds to some. */
#include "emit/emit_loops.h"

#include <string.h>

/* ---- map ---------------------------------------------------------------------------------------------- */

static void map_vectors(struct loops *k, void *data, int streams, const char *part)
{
    const struct value_source *source = data;
    int axis = k->nest.ndim - 1;

    (void)streams;
    store_vector(k, vector_value(k, source, axis, part), part);
}

static void map_rows(struct loops *k, struct value_source *source)
{
    int last = k->nest.ndim - 1;
    struct row row = whole_row(k, last, 1);

    row.body = map_vectors;
    row.data = source;
    if (row.count < 0 || row.count % widest(k) != 0)
        make_function(k, source, "lanes", "computes");
    mark_loaded(k, source);
    k->loaded[0] = true;
    declare_splats(k, last);
    for (int axis = 0; axis < last; axis++)
        open_loop(k, axis);
    declare_splats(k, last);
    declare_rows(k);
    vector_row(k, &row);
    close_blocks(k, last);
}

/* Rows of bytes that are copied, or all 0. */
static void map_bytes(struct loops *k, bool zeros)
{
    int last = k->nest.ndim - 1;
    const char *count = dim_c_text(k->cx, k->nest.dims[last], true),
               *copy = zeros ? "memset" : copy_of_elements(k->nest.operands[0].dtype);

    for (int axis = 0; axis < last; axis++)
        open_loop(k, axis);
    statement(k, "%s(%s, %s, %s%s * sizeof *%s);", copy, address(k, 0), zeros ? "0" : address(k, 1),
              dim_is_const(k->nest.dims[last], NULL) ? "" : "(size_t)", count, k->parameter[0]);
    close_blocks(k, last);
}

static void map_turned(struct loops *k, int turned)
{
    int last = k->nest.ndim - 1;

    for (int axis = 0; axis < last; axis++)
        if (axis != turned)
            open_loop(k, axis);
    statement(k, "modc_f32_transpose(%s, %s, %s, %s, %s, %s);", address(k, 0),
              dim_c(k, k->nest.operands[0].strides[turned]), address(k, 1),
              dim_c(k, k->nest.operands[1].strides[last]), dim_c(k, k->nest.dims[turned]),
              dim_c(k, k->nest.dims[last]));
    close_blocks(k, last - 1);
}

static void map_scalars(struct loops *k, const struct value_source *source)
{
    open_all_places(k, k->nest.ndim);
    {
        struct piece value = scalar_value(k, source);

        statement(k, "%s = %s;", element(k, 0), stored_value(k, value.text));
    }
    close_all_places(k, k->nest.ndim);
}

/* Whether threads take twice four neighbours each: of so many that fewer threads keep a device as busy, all side by side. */
static bool in_fours(struct loops *k)
{
    enum { MANY = 1 << 21 };
    const struct nest *nest = &k->nest;

    if (k->scene->device != DEVICE_CUDA || nest->ndim != 1 || dim_upper(nest->dims[0]) < MANY ||
        !dim_divides(k->arena, nest->dims[0], dim_const(k->arena, 8), &k->threads))
        return false;
    for (int i = 0; i < nest->operand_count; i++)
        if (!(stride_is(k, i, 0, 1) && dtype_is_float(nest->operands[i].dtype)) &&
            (i == 0 || !stride_is(k, i, 0, 0)))
            return false;
    return true;
}

/* The second four is a block's reach behind the first, where there are so many left, or the first again: both are read before one is
 * written. */
static void map_fours(struct loops *k, const struct value_source *source)
{
    const char *type = place_type(k->nest.dims[0]), *count = dim_c(k, k->nest.dims[0]);
    const char *at = place_name(k, type, 1, "at"), *next = names_new(&k->names, "next"), *each;

    open_block(k, "for (%s %s = MODC_FIRST_FOUR; %s < %s; %s += 8 * MODC_THREADS(256))", type, at, at, count,
               at);
    declare(k, "const %s %s = %s + 4 * 256 < %s ? %s + 4 * 256 : %s;", type, next, at, count, at, at);
    for (int i = 0; i < k->nest.operand_count; i++)
        if (stride_is(k, i, 0, 1)) {
            k->pointer[i] = names_new(&k->names, arena_format(k->arena, "%s_fours", k->parameter[i]));
            declare(k, "%s %s[8];", dtype_rows[k->nest.operands[i].dtype].c, k->pointer[i]);
        }
    for (int i = 1; i < k->nest.operand_count; i++)
        if (stride_is(k, i, 0, 1))
            statement(k, "modc_get_fours(%s, %s + %s, %s + %s);", k->pointer[i], k->parameter[i], at,
                      k->parameter[i], next);
    statement(k, "MODC_UNROLL");
    k->index[0] = at; /* so that the loop's name is another one */
    each = loop_name(k);
    open_block(k, "for (int %s = 0; %s < 8; %s++)", each, each, each);
    k->index[0] = each;
    {
        struct piece value = scalar_value(k, source);

        statement(k, "%s = %s;", element(k, 0), stored_value(k, value.text));
    }
    close_block(k);
    statement(k, "modc_put_fours(%s + %s, %s + %s, %s);", k->parameter[0], at, k->parameter[0], next,
              k->pointer[0]);
    close_block(k);
    k->index[0] = NULL;
}

void emit_map_kernel(struct cx *cx, struct text *out, const char *name, const char *comment, struct nest nest,
                     struct nest_form form, const struct dag *dag, bool takes_function,
                     const struct nest_scene *scene)
{
    struct loops k = begin_kernel(cx, name, nest, dag, NULL, NULL, 0, scene);
    struct value_source source = {.dag = dag, .first = 1, .function = takes_function ? "F" : NULL};

    for (int i = 0; i < dag->input_count; i++)
        compute_input(&k, 1 + i, dag, i);
    compute_result(&k, dag);
    k.lanes = form.lanes;
    k.core = form.core;
    if (takes_function)
        k.callee = function_type(&k, source.function, dag, vector_type(&k));
    if (form.way == NEST_BYTES || form.way == NEST_ZEROS)
        map_bytes(&k, form.way == NEST_ZEROS);
    else if (form.way == NEST_TURNED)
        map_turned(&k, form.turned);
    else if (form.way == NEST_ROWS)
        map_rows(&k, &source);
    else if (in_fours(&k))
        map_fours(&k, &source);
    else
        map_scalars(&k, &source);
    end_kernel(&k, out, comment, NULL);
}

/* ---- gather ------------------------------------------------------------------------------------------- */

/* Declares where the row of x0 starts that the index at hand names. */
static const char *gather_row(struct loops *k, const struct dim *step)
{
    const char *from = names_new(&k->names, "from"), *offset = dim_c_text(k->cx, step, true);

    declare(k, "const %s *%s = %s + (ptrdiff_t)%s%s%s;", dtype_rows[k->nest.operands[1].dtype].c, from,
            address(k, 1), element(k, 2), dim_equals(step, 1) ? "" : " * ",
            dim_equals(step, 1) ? "" : offset);
    return from;
}

void emit_gather_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                        struct nest nest, const struct dim *step, const struct nest_scene *scene)
{
    struct loops k = begin_kernel(cx, name, nest, NULL, NULL, &step, 1, scene);
    int last = k.nest.ndim - 1;
    bool rows = scene->device == DEVICE_CPU && last >= 0 &&
                stride_is(&k, 2, last, 0); /* one index for each */
    int outer = rows ? last : k.nest.ndim;
    const bool converts = nest.operands[0].dtype != nest.operands[1].dtype;

    if (converts) /* the one that is not narrow says in what */
        k.computed[0] = k.computed[1] = DTYPE_FLOAT32;
    open_all_places(&k, outer);
    if (rows) {
        const char *from = gather_row(&k, step);

        if (stride_is(&k, 0, last, 1) && stride_is(&k, 1, last, 1) && !converts) {
            statement(&k, "%s(%s, %s, (size_t)%s * sizeof *%s);", copy_of_elements(nest.operands[0].dtype),
                      address(&k, 0), from, dim_c_text(cx, k.nest.dims[last], true), from);
        } else {
            open_loop(&k, last);
            k.pointer[1] = from;
            k.in_row[1] = true;
            statement(&k, "%s = %s;", element(&k, 0), stored_value(&k, element_value(&k, 1)));
            close_loop(&k, last);
        }
    } else {
        const char *from = gather_row(&k, step);

        statement(
            &k, "%s = %s;", element(&k, 0),
            stored_value(&k, element_read(cx, operand_element(&k, 1), arena_format(k.arena, "*%s", from))));
    }
    close_all_places(&k, outer);
    end_kernel(&k, out, comment, NULL);
}

/* ---- scatter ------------------------------------------------------------------------------------------ */

/* Places that an index sends to the same line of y go in their order; lines, on a GPU, in any. */
static int lines_of(const struct loops *k, int axes[MAX_DIMS])
{
    int count = 0;

    for (int axis = 0; axis < k->nest.ndim; axis++)
        if (!stride_is(k, 0, axis, 0))
            axes[count++] = axis;
    return count;
}

static void open_lines(struct loops *k, int outer)
{
    int axes[MAX_DIMS], count = lines_of(k, axes);

    if (k->scene->device == DEVICE_CUDA)
        open_places(k, axes, count);
    for (int axis = 0; axis < outer; axis++)
        if (k->scene->device == DEVICE_CPU || stride_is(k, 0, axis, 0))
            open_loop(k, axis);
}

static void close_lines(struct loops *k, int outer)
{
    int axes[MAX_DIMS], count = lines_of(k, axes);

    if (k->scene->device == DEVICE_CPU) {
        close_blocks(k, outer);
        return;
    }
    close_blocks(k, outer - count);
    close_places(k, axes, count);
}

/* Whether what is there and what comes are added as they are stored: integers wrap, and are not. */
static bool adds_up(const struct loops *k, const struct dag *dag)
{
    const struct dag_node *sum = &dag->nodes[dag->result];

    return sum->prim == PRIM_ADD && dtype_is_float(sum->dtype) && k->nest.operands[0].dtype == sum->dtype &&
           dag->nodes[sum->args[0]].prim == PRIM_LOAD && dag->nodes[sum->args[0]].input == 0 &&
           dag->nodes[sum->args[1]].prim == PRIM_LOAD && dag->nodes[sum->args[1]].input == 1;
}

void emit_scatter_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                         struct nest nest, const struct dag *dag, const struct dim *step,
                         const struct nest_scene *scene)
{
    struct loops k = begin_kernel(cx, name, nest, dag, NULL, &step, 1, scene);
    int last = k.nest.ndim - 1;
    bool rows = scene->device == DEVICE_CPU && last >= 0 &&
                stride_is(&k, 2, last, 0); /* one index for each */
    int outer = rows ? last : k.nest.ndim;
    const char *to = names_new(&k.names, "to"), *place, *inputs[2];

    compute_input(&k, 1, dag, 1);
    compute_result(&k, dag);
    open_lines(&k, outer);
    declare(&k, "%s *%s = %s + (ptrdiff_t)%s%s%s;", dtype_rows[k.nest.operands[0].dtype].c, to,
            address(&k, 0), element(&k, 2), dim_equals(step, 1) ? "" : " * ",
            dim_equals(step, 1) ? "" : dim_c_text(cx, step, true));
    if (rows) {
        open_loop(&k, last);
        k.pointer[0] = to;
        k.in_row[0] = true;
        place = element(&k, 0);
    } else {
        place = arena_format(k.arena, "%s[0]", to);
    }
    inputs[0] = element_read(cx, operand_element(&k, 0), place);
    inputs[1] = element_value(&k, 1);
    if (adds_up(&k, dag))
        statement(&k, "%s += %s;", place, inputs[1]);
    else
        statement(&k, "%s = %s;", place, stored_value(&k, expr_scalar(cx, dag, inputs, NULL, "")));
    if (rows)
        close_loop(&k, last);
    close_lines(&k, outer);
    end_kernel(&k, out, comment, NULL);
}
