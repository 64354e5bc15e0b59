/* emit_reduce.c - loop nests that sum or the like, in the form that the plan has found (nest_form.h). */
#include "emit/emit_loops.h"

#include <math.h>

struct kind_row {
    const char *one, *many;           /* accumulator: of one, of several lanes or streams */
    const char *neutral;              /* what vectors of them start from; NULL: there are none */
    const char *combine, *horizontal; /* functions of modc_simd.h; NULL: an operator, none */
    const char *operator;
};

static const struct kind_row kind_rows[] = {
    [REDUCE_SUM] = {"sum", "sums", "zero", NULL, "sum", "+"},
    [REDUCE_PROD] = {"product", "products", "one", NULL, NULL, "*"},
    [REDUCE_MAX] = {"largest", "maxima", "least", "max", "hmax", ">"},
    [REDUCE_MIN] = {"smallest", "minima", "most", "min", "hmin", "<"},
    [REDUCE_ANY] = {"any", NULL, NULL, NULL, NULL, "||"},
    [REDUCE_ALL] = {"all", NULL, NULL, NULL, NULL, "&&"},
    [REDUCE_ARGMAX] = {"index", "maxima", "least", "max", "hmax", ">"},
    [REDUCE_ARGMIN] = {"index", "minima", "most", "min", "hmin", "<"},
};

struct reduction {
    enum reduce_kind kind;
    struct nest_form form;
    struct value_source head, tail; /* tail.dag may be NULL */
    enum dtype dtype;               /* of what is reduced */
    struct row row;                 /* ROWS: along the last axis; COLUMNS: of outputs */
    const char *neutral;            /* vector that accumulators start from */
    const char *accumulator;        /* that the loops at hand add to */
    const char *part;               /* COLUMNS: how many outputs there are in the vector, or NULL */
    const char *best;               /* ARGMAX, ARGMIN: the value at the index */
    const char *flat; /* the position along the flattened reduced axes, where loops know it; else NULL */
};

/* What an accumulator starts from, as the type of the elements. */
static const char *neutral_text(struct loops *k, const struct reduction *r)
{
    static const int64_t least[] = {
        [DTYPE_BOOL] = 0,          [DTYPE_UINT8] = 0,         [DTYPE_INT8] = INT8_MIN,
        [DTYPE_INT16] = INT16_MIN, [DTYPE_INT32] = INT32_MIN, [DTYPE_INT64] = INT64_MIN};
    static const int64_t most[] = {
        [DTYPE_BOOL] = 1,          [DTYPE_UINT8] = UINT8_MAX, [DTYPE_INT8] = INT8_MAX,
        [DTYPE_INT16] = INT16_MAX, [DTYPE_INT32] = INT32_MAX, [DTYPE_INT64] = INT64_MAX};
    bool real = dtype_is_float(r->dtype);
    double number = 0;
    int64_t integer = 0;

    switch (r->kind) {
    case REDUCE_PROD:
        number = 1;
        integer = 1;
        break;
    case REDUCE_MAX:
    case REDUCE_ARGMAX:
        number = -INFINITY;
        integer = real ? 0 : least[r->dtype];
        break;
    case REDUCE_MIN:
    case REDUCE_ARGMIN:
        number = INFINITY;
        integer = real ? 0 : most[r->dtype];
        break;
    case REDUCE_ALL:
        integer = 1;
        break;
    default:
        break;
    }
    if (r->kind == REDUCE_ANY || r->kind == REDUCE_ALL)
        return integer ? "true" : "false";
    return expr_number(k->cx, r->dtype, number, integer);
}

static bool wraps(const struct reduction *r)
{
    return reduce_wraps(r->kind, r->dtype);
}

static const char *scalar_accumulator_type(const struct reduction *r)
{
    if (r->kind == REDUCE_ANY || r->kind == REDUCE_ALL)
        return "bool";
    return wraps(r) ? "uint64_t" : dtype_rows[r->dtype].c;
}

static const char *stream_name(struct loops *k)
{
    return names_new(&k->names, "s");
}

/* A loop over the streams of an array; all of it unrolled. */
static const char *open_streams(struct loops *k, int streams)
{
    const char *name;

    open_block(k, "%s", "");
    name = stream_name(k);
    k->block->head = arena_format(k->arena, "for (int %s = 0; %s < %s; %s++)", name, name,
                                  streams_text(k, streams), name);
    k->block->unrolled = true;
    return name;
}

/* accumulator = accumulator combined with value, both vectors or both float scalars. */
static void combine(struct loops *k, const struct reduction *r, bool vector, const char *accumulator,
                    const char *value)
{
    const struct kind_row *row = &kind_rows[r->kind];

    if (!row->combine)
        statement(k, "%s %s= %s;", accumulator, row->operator, value);
    else
        statement(k, "%s = %s%s_%s(%s, %s);", accumulator, vector_type(k), vector ? "" : "s", row->combine,
                  accumulator, value);
}

/* Declares an accumulator of so many vectors, or of one scalar for 0, at its neutral value. */
static const char *declare_accumulator(struct loops *k, const struct reduction *r, int streams,
                                       const char *name)
{
    const char *type = vector_type(k), *neutral = r->neutral;

    name = names_new(&k->names, name);
    if (streams == 0) {
        declare(k, "%s %s = %s;", scalar_accumulator_type(r), name, neutral_text(k, r));
    } else if (streams == 1) {
        declare(k, "%s %s = %s;", type, name, neutral);
    } else if (k->vectors) {
        const char *stream;

        declare(k, "%s %s[%d];", type, name, streams);
        stream = open_streams(k, streams);
        statement(k, "%s[%s] = %s;", name, stream, neutral);
        close_block(k);
    } else {
        struct text list = text_new(k->arena);

        for (int i = 0; i < streams; i++)
            text_printf(&list, "%s%s", i > 0 ? ", " : "", neutral);
        declare(k, "%s %s[%d] = {%s};", type, name, streams, list.data);
    }
    return name;
}

/* The index expression of one of several vectors. */
static const char *stream_index(struct loops *k, const char *base, const char *stream)
{
    return arena_format(k->arena, "%s + %s * %s", base, stream, width_name(k));
}

/* NEST_ROWS: adds vectors of the row to the accumulators. */
static void add_row_vectors(struct loops *k, void *data, int streams, const char *part)
{
    struct reduction *r = data;
    int axis = k->nest.ndim - 1;
    const char *base = k->index[axis], *accumulator = r->accumulator, *value;

    if (streams > 1) {
        const char *stream = open_streams(k, streams);

        k->index[axis] = stream_index(k, base, stream);
        value = vector_value(k, &r->head, axis, NULL);
        combine(k, r, true, arena_format(k->arena, "%s[%s]", accumulator, stream), value);
        close_block(k);
        k->index[axis] = base;
        return;
    }
    if (r->row.streams > 1)
        accumulator = arena_format(k->arena, "%s[0]", accumulator);
    value = vector_value(k, &r->head, axis, part);
    if (part && !(r->kind == REDUCE_SUM && dag_is_identity(r->head.dag)))
        value = arena_format(k->arena, "%s_first(%s, %s, %s)", vector_type(k), value, part, r->neutral);
    combine(k, r, true, accumulator, value);
}

/* All lanes of the accumulators in one. */
static const char *horizontal(struct loops *k, const struct reduction *r, const char *name)
{
    const struct kind_row *row = &kind_rows[r->kind];
    const char *type = vector_type(k);

    if (r->row.streams == 1)
        return arena_format(k->arena, "%s_%s(%s)", type, row->horizontal, name);
    if (!row->combine)
        return arena_format(k->arena, "%s_%s((%s[0] %s %s[1]) %s (%s[2] %s %s[3]))", type, row->horizontal,
                            name, row->operator, name, row->operator, name, row->operator, name);
    return arena_format(k->arena, "%s_%s(%s_%s(%s_%s(%s[0], %s[1]), %s_%s(%s[2], %s[3])))", type,
                        row->horizontal, type, row->combine, type, row->combine, name, name, type,
                        row->combine, name, name);
}

/* The position along the flattened reduced axes. */
static const char *flat_index(struct loops *k)
{
    struct text text = text_new(k->arena);
    const struct dim *stride = dim_const(k->arena, 1);

    for (int axis = k->nest.ndim - 1; axis >= 0; axis--) {
        struct text term = text_new(k->arena);

        if (!k->nest.reduced[axis] || stays(k, axis))
            continue;
        if (dim_equals(stride, 1))
            text_add(&term, k->index[axis]);
        else
            text_add(&term, times_c(k, k->index[axis], stride));
        if (text.length > 0)
            text_printf(&term, " + %s", text.data);
        text = term;
        stride = dim_mul(k->arena, stride, k->nest.dims[axis]);
    }
    return text.length > 0 ? text.data : "0";
}

/* NEST_ELEMENTS: adds the element that the loops are at. */
static void add_element(struct loops *k, const struct reduction *r)
{
    struct piece value = scalar_value(k, &r->head);
    const char *name, *accumulator = r->accumulator, *operator= kind_rows[r->kind].operator;
    bool real = dtype_is_float(r->dtype);

    if (r->kind == REDUCE_ANY || r->kind == REDUCE_ALL) {
        struct piece test = {value.text, value.rank};

        if (r->dtype != DTYPE_BOOL)
            test = (struct piece){arena_format(k->arena, "%s != %s", piece_text(k->arena, value, RANK_SUM),
                                               expr_number(k->cx, r->dtype, 0, 0)),
                                  RANK_COMPARE};
        statement(k, "%s = %s %s %s;", accumulator, accumulator, operator,
                  piece_text(k->arena, test, RANK_COMPARE));
        return;
    }
    if (wraps(r)) {
        statement(k, "%s %s= (uint64_t)%s;", accumulator, operator, piece_text(k->arena, value, RANK_UNARY));
        return;
    }
    if (!reduce_is_arg(r->kind) && real) {
        combine(k, r, false, accumulator, value.text);
        return;
    }
    name = names_new(&k->names, "value");
    declare(k, "const %s %s = %s;", dtype_rows[r->dtype].c, name, value.text);
    if (!reduce_is_arg(r->kind)) {
        open_block(k, "if (%s %s %s)", name, operator, accumulator);
        statement(k, "%s = %s;", accumulator, name);
    } else {
        if (real) /* the first NaN wins */
            open_block(k, "if (%s %s %s || (%s != %s && %s == %s))", name, operator, r->best, name, name,
                       r->best, r->best);
        else
            open_block(k, "if (%s %s %s)", name, operator, r->best);
        statement(k, "%s = %s;", r->best, name);
        statement(k, "%s = %s;", accumulator, r->flat ? r->flat : flat_index(k));
    }
    close_block(k);
}

/* NEST_COLUMNS: adds the elements that the loops are at to vectors of outputs. */
static void add_column_vectors(struct loops *k, const struct reduction *r, int streams)
{
    int axis = k->nest.ndim - 1;
    const char *base = k->index[axis], *stream;

    if (streams == 1) {
        combine(k, r, true, r->accumulator, vector_value(k, &r->head, axis, r->part));
        return;
    }
    stream = open_streams(k, streams);
    k->index[axis] = stream_index(k, base, stream);
    combine(k, r, true, arena_format(k->arena, "%s[%s]", r->accumulator, stream),
            vector_value(k, &r->head, axis, NULL));
    close_block(k);
    k->index[axis] = base;
}

/* The loops over reduced axes behind `after`, around what adds to the accumulator. */
static void add_loops(struct loops *k, struct reduction *r, int after, int streams)
{
    int last = k->nest.ndim - 1, opened[MAX_DIMS], count = 0;

    for (int axis = after + 1; axis <= last; axis++) {
        if (!k->nest.reduced[axis] || (r->form.way == NEST_ROWS && axis == last))
            continue;
        open_loop(k, axis);
        opened[count++] = axis;
    }
    if (r->form.way == NEST_ROWS) {
        declare_splats(k, last);
        declare_rows(k);
        vector_row(k, &r->row);
        forget_rows(k);
    } else if (r->form.way == NEST_COLUMNS) {
        add_column_vectors(k, r, streams);
    } else {
        add_element(k, r);
    }
    while (count > 0)
        close_loop(k, opened[--count]);
}

/* sum += part, at the end of a block; note [exact sums]. */
static void add_part(struct loops *k, struct reduction *r, const char *sum, const char *part, int streams)
{
    const char *stream;

    if (r->form.way == NEST_ROWS) {
        statement(k, "%s += %s;", sum, horizontal(k, r, part));
    } else if (streams <= 1) {
        statement(k, "%s += %s;", sum, part);
    } else {
        stream = open_streams(k, streams);
        statement(k, "%s[%s] += %s[%s];", sum, stream, part, stream);
        close_block(k);
    }
}

/* The loop over the axis that is cut, around blocks that `part` sums. */
static void add_blocks(struct loops *k, struct reduction *r, const char *sum, int streams)
{
    const struct dim *dim = k->nest.dims[r->form.split];
    const char *name = streams > 1 || r->form.way == NEST_ROWS ? "parts" : "part", *part;
    struct row row = r->row;
    int64_t count;

    if (r->form.block == 1) {
        open_loop(k, r->form.split);
        part = declare_accumulator(k, r, streams, name);
        r->accumulator = part;
        add_loops(k, r, r->form.split, streams);
        add_part(k, r, sum, part, streams);
        close_loop(k, r->form.split);
        return;
    }
    {
        const char *start = names_new(&k->names, "start"), *stop;
        bool row_cut = r->form.way == NEST_ROWS && r->form.split == k->nest.ndim - 1;
        const char *end = row_cut ? r->row.stop : length_word(k, r->form.split);

        open_block(k, "for (int %s = 0; %s < %s; %s += %lld)", start, start, end, start,
                   (long long)r->form.block);
        if (dim_is_const(dim, &count) && count % r->form.block == 0) {
            stop = arena_format(k->arena, "%s + %lld", start, (long long)r->form.block);
            r->row.count = r->form.block;
        } else {
            stop = names_new(&k->names, "stop");
            declare(k, "const int %s = %s - %s < %lld ? %s : %s + %lld;", stop, end, start,
                    (long long)r->form.block, end, start, (long long)r->form.block);
            r->row.count = -1;
        }
        part = declare_accumulator(k, r, streams, name);
        r->accumulator = part;
        if (row_cut) {
            r->row.start = start;
            r->row.stop = stop;
            r->row.upper = r->form.block;
            add_loops(k, r, r->form.split, streams);
        } else {
            r->row = row;
            open_block(k, "%s", "");
            k->index[r->form.split] = loop_name(k);
            k->block->head = arena_format(k->arena, "for (int %s = %s; %s < %s; %s++)",
                                          k->index[r->form.split], start, k->index[r->form.split], stop,
                                          k->index[r->form.split]);
            add_loops(k, r, r->form.split, streams);
            close_loop(k, r->form.split);
        }
        add_part(k, r, sum, part, streams);
        close_block(k);
        r->row = row;
    }
}

/* The position of the best of a row: every element before it is worse, or, where the best is NaN, a number. The last
 * element needs no look. */
static const char *find_in_row(struct loops *k, const struct reduction *r, const char *best)
{
    int axis = k->nest.ndim - 1;
    const char *name = names_new(&k->names, "best"), *index = names_new(&k->names, "index"), *value, *last;

    if (r->row.count >= 0)
        last = arena_format(k->arena, "%lld", (long long)r->row.count - 1);
    else
        last = arena_format(k->arena, "%s - 1", r->row.stop);
    declare(k, "const %s %s = %s;", dtype_rows[r->dtype].c, name, best);
    declare(k, "int %s = 0;", index);
    k->index[axis] = index;
    value = element_value(k, 1);
    open_block(k, "while (%s < %s && (%s %s %s || (%s != %s && %s == %s)))", index, last, name,
               kind_rows[r->kind].operator, value, name, name, value, value);
    statement(k, "%s++;", index);
    close_loop(k, axis);
    return index;
}

/* Everything for one output, or for vectors of outputs: declares the accumulator, fills it, and returns its name. */
static const char *reduce_all(struct loops *k, struct reduction *r, int streams)
{
    const struct kind_row *kind = &kind_rows[r->kind];
    const char *sum, *result;
    int opened[MAX_DIMS], count = 0;

    if (r->form.split < 0) {
        sum = declare_accumulator(k, r, streams,
                                  streams > 1 || r->form.way == NEST_ROWS ? kind->many : kind->one);
        r->accumulator = sum;
        add_loops(k, r, -1, streams);
        if (r->form.way != NEST_ROWS)
            return sum;
        if (reduce_is_arg(r->kind))
            return find_in_row(k, r, horizontal(k, r, sum));
        if (dag_is_identity(r->tail.dag))
            return horizontal(k, r, sum);
        result = names_new(&k->names, kind->one);
        declare(k, "const %s %s = %s;", dtype_rows[r->dtype].c, result, horizontal(k, r, sum));
        return result;
    }
    if (r->form.way == NEST_ROWS)
        sum = declare_accumulator(k, r, 0, kind->one);
    else
        sum = declare_accumulator(k, r, streams, streams > 1 ? kind->many : kind->one);
    for (int axis = 0; axis < r->form.split; axis++) {
        if (!k->nest.reduced[axis])
            continue;
        open_loop(k, axis);
        opened[count++] = axis;
    }
    add_blocks(k, r, sum, streams);
    while (count > 0)
        close_loop(k, opened[--count]);
    return sum;
}

static void store_columns(struct loops *k, struct reduction *r, const char *accumulator, const char *part)
{
    r->tail.reduced = accumulator;
    store_vector(k, vector_value(k, &r->tail, k->nest.ndim - 1, part), part);
}

/* NEST_COLUMNS: the outputs from index[last] on. */
static void reduce_columns(struct loops *k, void *data, int streams, const char *part)
{
    struct reduction *r = data;
    int axis = k->nest.ndim - 1;
    const char *base = k->index[axis], *accumulator, *stream;

    r->part = part;
    accumulator = reduce_all(k, r, streams);
    if (streams == 1) {
        store_columns(k, r, accumulator, part);
        return;
    }
    stream = open_streams(k, streams);
    k->index[axis] = stream_index(k, base, stream);
    store_columns(k, r, arena_format(k->arena, "%s[%s]", accumulator, stream), NULL);
    close_block(k);
    k->index[axis] = base;
}

static void store_scalar(struct loops *k, struct reduction *r, const char *accumulator)
{
    struct piece value;

    r->tail.reduced = wraps(r) ? arena_format(k->arena, "(int64_t)%s", accumulator) : accumulator;
    value = r->tail.function ? scalar_call(k, &r->tail) : scalar_value(k, &r->tail);
    statement(k, "%s = %s;", element(k, 0), stored_value(k, value.text));
}

static void reduce_vectors(struct loops *k, struct reduction *r)
{
    int last = k->nest.ndim - 1, kept = 0;
    bool columns = r->form.way == NEST_COLUMNS;
    int steps;

    r->row = whole_row(k, last, r->form.streams);
    r->row.body = columns ? reduce_columns : add_row_vectors;
    r->row.data = r;
    steps = r->row.streams * widest(k);
    mark_loaded(k, &r->head);
    if (columns)
        mark_loaded(k, &r->tail);
    if (r->row.count < 0 || r->row.count % steps != 0) {
        make_function(k, &r->head, "head", "reduces");
        if (columns)
            make_function(k, &r->tail, "tail", "stores");
    }
    r->neutral = names_new(&k->names, kind_rows[r->kind].neutral);
    declare(k, "const %s %s = %s_set(%s);", vector_type(k), r->neutral, vector_type(k), neutral_text(k, r));
    declare_splats(k, last);
    for (int axis = 0; axis < last; axis++) {
        if (k->nest.reduced[axis])
            continue;
        open_loop(k, axis);
        kept++;
    }
    declare_splats(k, last);
    if (columns)
        vector_row(k, &r->row);
    else
        store_scalar(k, r, reduce_all(k, r, r->row.streams));
    close_blocks(k, kept);
}

/* The axes that are reduced, or those that are kept. */
static int axes_of(const struct loops *k, bool reduced, int axes[MAX_DIMS])
{
    int count = 0;

    for (int axis = 0; axis < k->nest.ndim; axis++)
        if (k->nest.reduced[axis] == reduced)
            axes[count++] = axis;
    return count;
}

static void declare_best(struct loops *k, struct reduction *r)
{
    r->best = names_new(&k->names, "best");
    declare(k, "%s %s = %s;", dtype_rows[r->dtype].c, r->best, neutral_text(k, r));
    r->accumulator = names_new(&k->names, kind_rows[r->kind].one);
    declare(k, "int64_t %s = 0;", r->accumulator);
}

/* ---- CUDA: the threads of a block share what is reduced, in an order that never changes ----------------------------- */

/* A cell in shared memory is a word at least, since a bank holds one. */
static bool widens(const struct reduction *r)
{
    return r->kind == REDUCE_ANY || r->kind == REDUCE_ALL || (!wraps(r) && dtype_rows[r->dtype].bytes < 4);
}

static const char *cell_type(const struct reduction *r)
{
    return widens(r) ? "int" : reduce_is_arg(r->kind) ? dtype_rows[r->dtype].c : scalar_accumulator_type(r);
}

struct shared {
    const char *cells,
        *indices; /* in shared memory: what each thread has found; ARGMAX, ARGMIN: and where; else NULL */
    const char *thread, *at; /* the number of the thread in its block, and of its output */
    const char *outside;     /* "at < 100", where a block may have threads without an output; else "" */
};

/* The loop of a thread over its places, which are as far apart as there are threads for an output. */
static void share_places(struct loops *k, struct reduction *r, const char *from, const char *stop,
                         const char *type)
{
    int reduced[MAX_DIMS], count = axes_of(k, true, reduced);
    const char *at;

    open_block(k, "%s", "");
    at = place_name(k, type, count, "place");
    k->block->head = arena_format(k->arena, "for (%s %s = %s; %s < %s; %s += %d)", type, at, from, at, stop,
                                  at, r->form.threads / r->form.outputs);
    declare_places(k, at, type, reduced, count);
    r->flat = at;
    add_element(k, r);
    for (int i = 0; i < count; i++)
        k->index[reduced[i]] = NULL;
    close_block(k);
}

/* What one thread adds up; note [exact sums]. */
static void share_elements(struct loops *k, struct reduction *r, const struct shared *shared)
{
    int reduced[MAX_DIMS], count = axes_of(k, true, reduced);
    const struct dim *length = places_of(k, reduced, count);
    const char *type = place_type(length), *all = dim_c(k, length), *sum, *from, *stop;
    const char *first = r->form.outputs > 1
                            ? arena_format(k->arena, "%s / %d", shared->thread, r->form.outputs)
                            : shared->thread;

    if (reduce_is_arg(r->kind))
        declare_best(k, r);
    else
        r->accumulator = declare_accumulator(k, r, 0, kind_rows[r->kind].one);
    sum = r->accumulator;
    if (*shared->outside)
        open_block(k, "if (%s)", shared->outside);
    if (r->form.block == 0) {
        share_places(k, r, first, all, type);
    } else {
        from = names_new(&k->names, "from");
        open_block(k, "for (%s %s = %s; %s < %s; %s += %lld)", type, from, first, from, all, from,
                   (long long)r->form.block);
        stop = names_new(&k->names, "stop");
        declare(k, "const %s %s = %s - %s < %lld ? %s : %s + %lld;", type, stop,
                dim_c_text(k->cx, length, true), from, (long long)r->form.block, all, from,
                (long long)r->form.block);
        r->accumulator = declare_accumulator(k, r, 0, "part");
        share_places(k, r, from, stop, type);
        statement(k, "%s += %s;", sum, r->accumulator);
        close_block(k);
    }
    if (*shared->outside)
        close_block(k);
    r->accumulator = sum;
}

/* cells[thread] = that combined with what the thread `d` further on has. */
static void combine_cells(struct loops *k, const struct reduction *r, const struct shared *shared,
                          const char *d)
{
    const char *operator= kind_rows[r->kind].operator;
    const char *own = arena_format(k->arena, "%s[%s]", shared->cells, shared->thread);
    const char *other = arena_format(k->arena, "%s[%s + %s]", shared->cells, shared->thread, d);

    if (r->kind == REDUCE_ANY || r->kind == REDUCE_ALL) {
        statement(k, "%s = %s %s %s;", own, own, operator, other);
    } else if (reduce_is_arg(r->kind)) { /* the first of equal ones, and the first NaN, wins */
        const char *index = arena_format(k->arena, "%s[%s]", shared->indices, shared->thread);
        const char *further = arena_format(k->arena, "%s[%s + %s]", shared->indices, shared->thread, d);
        const char *best = names_new(&k->names, "a"), *second = names_new(&k->names, "b"),
                   *type = cell_type(r);

        declare(k, "const %s %s = %s, %s = %s;", type, best, own, second, other);
        if (dtype_is_float(r->dtype))
            open_block(k,
                       "if (%s %s %s || (%s != %s && %s == %s) || "
                       "((%s == %s || (%s != %s && %s != %s)) && %s < %s))",
                       second, operator, best, second, second, best, best, second, best, second, second, best,
                       best, further, index);
        else
            open_block(k, "if (%s %s %s || (%s == %s && %s < %s))", second, operator, best, second, best,
                       further, index);
        statement(k, "%s = %s;", own, second);
        statement(k, "%s = %s;", index, further);
        close_block(k);
    } else if (kind_rows[r->kind].combine && !dtype_is_float(r->dtype)) {
        open_block(k, "if (%s %s %s)", other, operator, own);
        statement(k, "%s = %s;", own, other);
        close_block(k);
    } else {
        combine(k, r, false, own, other);
    }
}

/* What the threads of an output have found, in the cell of the first. */
static void share_cells(struct loops *k, const struct reduction *r, const struct shared *shared)
{
    const char *d = names_new(&k->names, "d");

    statement(k, "%s[%s] = %s;", shared->cells, shared->thread,
              reduce_is_arg(r->kind) ? r->best : r->accumulator);
    if (shared->indices)
        statement(k, "%s[%s] = %s;", shared->indices, shared->thread, r->accumulator);
    open_block(k, "for (int %s = %d; %s %s; %s /= 2)", d, r->form.threads / 2, d,
               r->form.outputs > 1 ? arena_format(k->arena, ">= %d", r->form.outputs) : "> 0", d);
    statement(k, "__syncthreads();");
    open_block(k, "if (%s < %s)", shared->thread, d);
    combine_cells(k, r, shared, d);
    close_block(k);
    close_block(k);
}

static void reduce_blocks(struct loops *k, struct reduction *r)
{
    int kept[MAX_DIMS], count = axes_of(k, false, kept), outputs = r->form.outputs;
    const struct dim *places = places_of(k, kept, count);
    const char *all = dim_c(k, places), *first, *found;
    const bool single = dim_equals(places, 1); /* and one block */
    struct shared shared = {.cells = names_new(&k->names, "cells"), .outside = ""};
    int64_t extent;

    k->threads = places;
    k->block_size = r->form.threads;
    k->each = r->form.threads / outputs;
    declare(k, "__shared__ %s %s[%d];", cell_type(r), shared.cells, r->form.threads);
    if (reduce_is_arg(r->kind)) {
        shared.indices = names_new(&k->names, "indices");
        declare(k, "__shared__ int64_t %s[%d];", shared.indices, r->form.threads);
    }
    shared.thread = names_new(&k->names, "thread");
    declare(k, "const int %s = (int)threadIdx.x;", shared.thread);
    first = single ? "0" : names_new(&k->names, outputs > 1 ? "first" : "at");
    if (outputs > 1) {
        open_block(k, "for (int %s = (int)blockIdx.x * %d; %s < %s; %s += (int)gridDim.x * %d)", first,
                   outputs, first, all, first, outputs);
        shared.at = names_new(&k->names, "at");
        declare(k, "const int %s = %s + %s %% %d;", shared.at, first, shared.thread, outputs);
        if (!dim_is_const(places, &extent) || extent % outputs != 0)
            shared.outside = arena_format(k->arena, "%s < %s", shared.at, all);
    } else {
        if (!single)
            open_block(k, "for (int %s = (int)blockIdx.x; %s < %s; %s += (int)gridDim.x)", first, first, all,
                       first);
        shared.at = first;
    }
    if (count > 0)
        declare_places(k, shared.at, "int", kept, count);
    share_elements(k, r, &shared);
    share_cells(k, r, &shared);
    if (outputs == 1)
        open_block(k, "if (%s == 0)", shared.thread);
    else
        open_block(k, "if (%s < %d%s%s)", shared.thread, outputs, *shared.outside ? " && " : "",
                   shared.outside);
    found = arena_format(k->arena, "%s[%s]", reduce_is_arg(r->kind) ? shared.indices : shared.cells,
                         shared.thread);
    if (!reduce_is_arg(r->kind) && widens(r))
        found = arena_format(k->arena, "(%s)%s", scalar_accumulator_type(r), found);
    store_scalar(k, r, found);
    close_block(k);
    for (int i = 0; i < count; i++)
        k->index[kept[i]] = NULL;
    if (single)
        return;
    statement(k, "__syncthreads();"); /* before cells are written again */
    close_block(k);
}

static void reduce_elements(struct loops *k, struct reduction *r)
{
    int kept[MAX_DIMS], count = axes_of(k, false, kept);

    open_places(k, kept, count);
    if (reduce_is_arg(r->kind)) {
        declare_best(k, r);
        add_loops(k, r, -1, 0);
        store_scalar(k, r, r->accumulator);
    } else {
        store_scalar(k, r, reduce_all(k, r, 0));
    }
    close_places(k, kept, count);
}

/* "modc_f32 (*HEAD)(modc_f32 x0), float (*TAIL)(float x0)": what a core takes. */
static const char *reduce_callees(struct loops *k, const struct reduction *r)
{
    const struct value_source *sources[] = {&r->head, &r->tail};
    struct text text = text_new(k->arena);

    for (int i = 0; i < 2; i++) {
        const bool vector = i == 0 || r->form.way == NEST_COLUMNS;

        if (sources[i]->function)
            text_printf(&text, "%s%s", text.length > 0 ? ", " : "",
                        function_type(k, sources[i]->function, sources[i]->dag,
                                      vector ? vector_type(k) : dtype_rows[r->dtype].c));
    }
    return text.data;
}

void emit_reduce_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                        struct nest nest, struct nest_form form, enum reduce_kind kind,
                        const struct dag *head, const struct dag *tail, bool takes_head, bool takes_tail,
                        const struct nest_scene *scene)
{
    struct reduction r = {.kind = kind, .form = form, .dtype = head->nodes[head->result].dtype};
    struct loops k = begin_kernel(cx, name, nest, head, tail, &form.vectors, form.vectors != NULL, scene);

    if (form.vectors)
        k.vectors = dim_c(&k, form.vectors);
    r.head = (struct value_source){.dag = head, .first = 1, .function = takes_head ? "HEAD" : NULL};
    r.tail = (struct value_source){
        .dag = tail, .first = 1 + head->input_count, .reduced = "", .function = takes_tail ? "TAIL" : NULL};
    for (int i = 0; i < head->input_count; i++)
        compute_input(&k, r.head.first + i, head, i);
    for (int i = 1; i < tail->input_count; i++)
        compute_input(&k, r.tail.first + i - 1, tail, i);
    compute_result(&k, tail);
    k.lanes = form.lanes;
    k.core = form.core;
    if (takes_head || takes_tail)
        k.callee = reduce_callees(&k, &r);
    if (form.way == NEST_BLOCKS)
        reduce_blocks(&k, &r);
    else if (form.way == NEST_ELEMENTS)
        reduce_elements(&k, &r);
    else
        reduce_vectors(&k, &r);
    end_kernel(&k, out, comment, NULL);
}
