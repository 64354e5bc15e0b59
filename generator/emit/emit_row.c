/* emit_row.c - vectors: their values, and the rows that they run along. */
#include "emit/emit_loops.h"

#include <assert.h>
#include <string.h>

#define LONG_LOADS 60 /* loads that are longer together get names */
#define LONG_VALUE 64 /* vector text that is longer and stands in several places becomes a function */

/* ---- values ------------------------------------------------------------------------------------------- */

const char *vector_type(const struct loops *k)
{
    return k->lanes == DTYPE_FLOAT64 ? "modc_f64" : "modc_f32";
}

const char *width_name(const struct loops *k)
{
    return k->lanes == DTYPE_FLOAT64 ? "MODC_LANES64" : "MODC_LANES";
}

int widest(const struct loops *k)
{
    return k->lanes == DTYPE_FLOAT64 ? 8 : 16;
}

void store_vector(struct loops *k, const char *value, const char *part)
{
    const char *prefix = element_vector(operand_element(k, 0));

    if (part)
        statement(k, "%s_store_part(%s, %s, %s);", prefix, address(k, 0), value, part);
    else
        statement(k, "%s_store(%s, %s);", prefix, address(k, 0), value);
}

/* Which sizes it reads, by index. */
static bool *sizes_of(struct loops *k, const struct dag *dag)
{
    bool *used = ARENA_ARRAY(k->arena, k->used_count + 1, bool);

    dag_mark_sizes(dag, used);
    return used;
}

/* The vector of an operand at the current place along `axis`; `count`: how many of its elements there are, NULL all. */
static const char *load_text(struct loops *k, int operand, int axis, const char *count)
{
    if (k->splat[operand])
        return k->splat[operand];
    if (stride_is(k, operand, axis, 0))
        return arena_format(k->arena, "%s_set(%s)", vector_type(k), element_value(k, operand));
    if (count)
        return arena_format(k->arena, "%s_load_part(%s, %s)", element_vector(operand_element(k, operand)),
                            address(k, operand), count);
    return arena_format(k->arena, "%s_load(%s)", element_vector(operand_element(k, operand)),
                        address(k, operand));
}

/* Names for loads that would make a line long. */
static void name_loads(struct loops *k, const struct value_source *source, const char **inputs,
                       const bool *loads)
{
    size_t length = 0;
    int count = 0;

    for (int i = 0; i < source->dag->input_count; i++) {
        length += loads[i] ? strlen(inputs[i]) : 0;
        count += loads[i];
    }
    if (count < 2 || length <= LONG_LOADS)
        return;
    for (int i = source->reduced ? 1 : 0; i < source->dag->input_count; i++) {
        int operand = operand_of(source, i);

        if (!loads[i] || k->splat[operand])
            continue;

        const char *name = names_new(&k->names, arena_format(k->arena, "v%d", operand - 1));

        declare(k, "const %s %s = %s;", vector_type(k), name, inputs[i]);
        inputs[i] = name;
    }
}

const char *vector_value(struct loops *k, const struct value_source *source, int axis, const char *count)
{
    const struct dag *dag = source->dag;
    const char **inputs = ARENA_ARRAY(k->arena, dag->input_count + 1, const char *), *value;
    bool *loads = dag_loads(k->arena, dag), *used = sizes_of(k, dag);
    struct text *before = before_text(k), call;
    struct expr_place place = {inputs, before, indent_text(k), &k->names, NULL};

    for (int i = 0; i < dag->input_count; i++)
        inputs[i] = source->reduced && i == 0 ? source->reduced
                                              : load_text(k, operand_of(source, i), axis, count);
    name_loads(k, source, inputs, loads);
    if (!source->function) {
        value = expr_vector_lanes(k->cx, dag, k->lanes, &place);
        declare_lines(k, before);
        return value;
    }
    call = text_new(k->arena);
    for (int i = 0; i < dag->input_count; i++)
        if (loads[i])
            text_printf(&call, "%s%s", call.length > 0 ? ", " : "", inputs[i]);
    for (int i = 0; i < k->size_count; i++)
        if (used[k->sizes[i]->index])
            text_printf(&call, "%s%s", call.length > 0 ? ", " : "", size_identifier(k->sizes[i]));
    return arena_format(k->arena, "%s(%s)", source->function, call.data);
}

/* Gives a source without a function one of its own, where its text is long and would stand in several places. */
void make_function(struct loops *k, struct value_source *source, const char *suffix, const char *verb)
{
    const struct dag *dag = source->dag;
    const char **inputs = ARENA_ARRAY(k->arena, dag->input_count + 1, const char *), *value;
    bool *loads = dag_loads(k->arena, dag), *used = sizes_of(k, dag);
    struct identifiers names = {.arena = k->arena};
    struct text *before = before_text(k), parameters = text_new(k->arena);
    struct expr_place place = {inputs, before, "    ", &names, NULL};

    if (source->function)
        return;
    for (int i = 0; i < k->size_count; i++)
        names_take(&names, size_identifier(k->sizes[i]));
    for (int i = 0; i < dag->input_count; i++) {
        bool reduced = source->reduced && i == 0;

        inputs[i] = names_new(&names,
                              reduced ? "value" : arena_format(k->arena, "x%d", operand_of(source, i) - 1));
        if (loads[i])
            list_parameter(&parameters, vector_type(k), inputs[i]);
    }
    for (int i = 0; i < k->size_count; i++)
        if (used[k->sizes[i]->index])
            list_parameter(&parameters, "int", size_identifier(k->sizes[i]));
    value = expr_vector_lanes(k->cx, dag, k->lanes, &place);
    if (before->length == 0 && strlen(value) <= LONG_VALUE)
        return;

    source->function = arena_format(k->arena, "%s_%s", k->name, suffix);
    text_printf(&k->helpers, "/* One vector of what %s %s. */\n", k->name, verb);
    emit_line(&k->helpers, arena_format(k->arena, "MODC_INLINE %s %s(%s)", vector_type(k), source->function,
                                        parameters.data));
    text_add(&k->helpers, "{\n");
    emit_lines(&k->helpers, before->data);
    text_add(&k->helpers, before->length > 0 ? "\n" : "");
    emit_line(&k->helpers, arena_format(k->arena, "    return %s;", value));
    text_add(&k->helpers, "}\n\n");
}

/* ---- rows --------------------------------------------------------------------------------------------- */

const char *streams_text(const struct loops *k, int streams)
{
    return streams > 1 && k->vectors ? k->vectors : arena_format(k->arena, "%d", streams);
}

static const char *step_text(const struct loops *k, int streams)
{
    return streams > 1 ? arena_format(k->arena, "%s * %s", streams_text(k, streams), width_name(k))
                       : width_name(k);
}

/* One loop where the count is a multiple of every step; else loops with ever smaller steps, then the part. */
void vector_row(struct loops *k, const struct row *row)
{
    const char *name = NULL, *step;
    bool counted = false; /* the variable is declared outside */

    for (int streams = row->streams; streams >= 1; streams = streams > 1 ? 1 : 0) {
        bool whole = row->count >= 0 && row->count % (streams * widest(k)) == 0;

        if (streams > 1 && row->upper < streams * widest(k))
            continue;
        step = step_text(k, streams);
        if (whole && !counted) {
            open_block(k, "%s", "");
            name = loop_name(k);
            k->block->head = arena_format(k->arena, "for (int %s = %s; %s < %s; %s += %s)", name, row->start,
                                          name, row->stop, name, step);
            k->index[row->axis] = name;
            row->body(k, row->data, streams, NULL);
            close_loop(k, row->axis);
            return;
        }
        if (!counted) {
            name = loop_name(k);
            declare(k, "int %s = %s;", name, row->start);
            counted = true;
        }
        open_block(k, "for (; %s <= %s - %s; %s += %s)", name, row->stop, step, name, step);
        k->index[row->axis] = name;
        row->body(k, row->data, streams, NULL);
        close_loop(k, row->axis);
    }
    if (row->count >= 0 && row->count % widest(k) == 0)
        return;
    assert(name);
    open_block(k, "if (%s < %s)", name, row->stop);
    k->index[row->axis] = name;
    row->body(k, row->data, 1, arena_format(k->arena, "%s - %s", row->stop, name));
    close_loop(k, row->axis);
}

/* The length of an axis as a word, which is declared where it is none yet. */
const char *length_word(struct loops *k, int axis)
{
    const struct dim *dim = k->nest.dims[axis];
    const char *length = dim_c(k, dim), *name;

    if (dim_is_const(dim, NULL) || dim_is_size(dim, NULL))
        return length;
    name = names_new(&k->names, "count");
    declare(k, "const int %s = %s;", name, length);
    return name;
}

struct row whole_row(struct loops *k, int axis, int streams)
{
    struct row row = {.axis = axis, .streams = streams, .start = "0", .upper = axis_upper(k, axis)};

    row.stop = length_word(k, axis);
    if (!dim_is_const(k->nest.dims[axis], &row.count))
        row.count = -1;
    return row;
}

/* Pointers to the row that the loops outside are at, for operands that are found by several of them. */
void declare_rows(struct loops *k)
{
    for (int i = 0; i < k->nest.operand_count; i++) {
        const char *type = dtype_rows[k->nest.operands[i].dtype].c, *name;
        int last = k->nest.ndim - 1, terms = 0;

        for (int axis = 0; axis < last; axis++)
            terms += k->index[axis] && !stays(k, axis) && !stride_is(k, i, axis, 0);
        if (terms < 2 || k->splat[i] || !k->loaded[i])
            continue;
        name = names_new(&k->names, arena_format(k->arena, "%s_row", k->parameter[i]));
        declare(k, "%s%s *%s = %s + %s;", i > 0 ? "const " : "", type, name, k->pointer[i],
                offset_text(k, i, 0, last - 1));
        k->pointer[i] = name;
        k->in_row[i] = true;
    }
}

/* Behind the block of the rows. */
void forget_rows(struct loops *k)
{
    for (int i = 0; i < k->nest.operand_count; i++) {
        k->pointer[i] = k->parameter[i];
        k->in_row[i] = false;
    }
}

void mark_loaded(struct loops *k, const struct value_source *source)
{
    const bool *loads = dag_loads(k->arena, source->dag);

    for (int i = source->reduced ? 1 : 0; i < source->dag->input_count; i++)
        if (loads[i])
            k->loaded[operand_of(source, i)] = true;
}

/* Vectors of inputs that have one value in the whole row, as soon as the loops know where it is. */
void declare_splats(struct loops *k, int axis)
{
    for (int i = 1; i < k->nest.operand_count; i++) {
        const char *name;
        bool known = true;

        for (int other = 0; other < k->nest.ndim; other++)
            known = known && (k->index[other] || stride_is(k, i, other, 0));
        if (!k->loaded[i] || !known || k->splat[i] || !stride_is(k, i, axis, 0))
            continue;
        name = names_new(&k->names, arena_format(k->arena, "v%d", i - 1));
        declare(k, "const %s %s = %s_set(%s);", vector_type(k), name, vector_type(k), element_value(k, i));
        k->splat[i] = name;
    }
}
