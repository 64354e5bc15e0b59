/* emit_loops.c - kernels that are loop nests: map, write, copy, gather, scatter, scan, sort, reduce, random. Apart from the
 * printers of emit_expr.c, which know values but no loops.
 *
 * note [one text at every width]
 * Vector loops are written over MODC_LANES and hold at every width, 1 included. What is left of a row is one more vector
 * of which only a part is loaded and stored, so that an element has the same bits wherever it stands in a row. Small
 * constant rows, other types and other strides take scalar loops, which compilers unroll.
 *
 * note [exact sums]
 * A float sum that runs over more than SUM_LIMIT elements in one accumulator would lose digits. So one of its loops is
 * cut into blocks: `part` sums a block, `sum` the parts. */
#include "emit/emit_names.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emit/template.h"

#define MAX_DEPTH 32   /* of parentheses that lines break in */
#define LONG_LOADS 60  /* loads that are longer together get names */
#define SCALAR_ROW 8   /* rows that are shorter at their maximum stay scalar */
#define LONG_VALUE 64  /* vector text that is longer and stands in several places becomes a function */
#define STREAMS 4      /* accumulators of a row */
#define COLUMNS 8      /* vectors of columns at a time, at most */
#define SUM_LIMIT 1024 /* per accumulator of one lane */

/* ---- the text of a kernel ----------------------------------------------------------------------------- */

/* Braces, or the function's body. */
struct block {
    struct block *outer;
    struct text text;
    const char *head; /* "for (...)" */
    bool unrolled;    /* MODC_UNROLL stands before it */
    bool declared;    /* the last line is a declaration */
    int names;        /* how many were taken outside */
};

struct loops {
    struct cx *cx;
    struct arena *arena;
    const char *name;
    struct nest nest; /* normalised */
    struct names names;
    const char **parameter; /* of each operand: "y", "x0", ... */
    const char **pointer;   /* the same, or the pointer to the row that the loops are at */
    bool *in_row;           /* pointer[i] includes the axes before the last */
    const char
        *index[MAX_DIMS]; /* where each axis is: a loop's variable, or an expression; NULL: not inside */
    bool *loaded;         /* which operands have vectors in the innermost loop */
    const char **splat;   /* of each operand: the vector that holds its one value, or NULL */
    struct block *block;
    int depth;
    struct text helpers; /* functions above the kernel */
    const struct size *const *sizes;
    int size_count;
    bool *used; /* by size->index */
    int used_count;
    enum dtype lanes; /* of vectors */
};

static const char *indent_text(const struct loops *k)
{
    return arena_format(k->arena, "%*s", 4 * k->depth, "");
}

/* Where a long line may break, and in which columns the parentheses stand that are open there. */
struct break_place {
    size_t position; /* of the space; 0: nowhere */
    int score;       /* the lower the better: outer commas, then outer operators; last resort: = */
    int depth;
    size_t columns[MAX_DEPTH];
};

/* The best place before the line is full. `at` is the start: `column` is where that stands, at->columns what is open. */
static struct break_place find_break(const char *line, const struct break_place *at, size_t column)
{
    struct break_place here = *at, best = {.score = 1000};
    size_t margin = strspn(line, " ");

    for (size_t i = at->position; line[i] && column < EMITTED_WIDTH; i++, column++) {
        if ((line[i] == '(' || line[i] == '[') && here.depth + 1 < MAX_DEPTH)
            here.columns[++here.depth] = column + 1;
        if ((line[i] == ')' || line[i] == ']') && here.depth > 0)
            here.depth--;
        if (here.depth == 0 && i > 0 && line[i] == '=' && line[i + 1] == ' ' && !strchr("=!<>", line[i - 1]))
            here.columns[0] = column + 2;
        if (i == at->position || line[i] != ' ' || !strchr(",+-*/=?:&|", line[i - 1]))
            continue;
        here.score = line[i - 1] == '=' ? 100 : 2 * here.depth + (line[i - 1] != ',');
        if (here.score > best.score)
            continue;
        best = here;
        best.position = i;
        if (line[i - 1] == '=')
            best.columns[0] = margin + 4;
    }
    return best;
}

void emit_line(struct text *text, const char *line)
{
    size_t margin = strspn(line, " "), column = margin;
    struct break_place at = {.position = margin, .columns = {margin + 4}};

    text_add_bytes(text, line, margin);
    while (column + strlen(line + at.position) > EMITTED_WIDTH) {
        struct break_place next = find_break(line, &at, column);

        if (next.position == 0)
            break;
        text_add_bytes(text, line + at.position, next.position - at.position);
        column = next.columns[next.depth];
        text_printf(text, "\n%*s", (int)column, "");
        at = next;
        at.position++;
    }
    text_printf(text, "%s\n", line + at.position);
}

/* A line of the innermost block. */
static void add_text(struct loops *k, const char *line)
{
    emit_line(&k->block->text, arena_format(k->arena, "%s%s", indent_text(k), line));
}

static void add_lines(struct text *text, const char *lines)
{
    for (; *lines; lines += strcspn(lines, "\n") + 1)
        emit_line(text, arena_copy(text->arena, lines, strcspn(lines, "\n")));
}

static void declare(struct loops *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void statement(struct loops *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void open_block(struct loops *k, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Declarations stand in groups with blank lines around. */
static void begin_declaration(struct loops *k)
{
    if (!k->block->declared && k->block->text.length > 0)
        text_add(&k->block->text, "\n");
    k->block->declared = true;
}

static void begin_statement(struct loops *k)
{
    if (k->block->declared)
        text_add(&k->block->text, "\n");
    k->block->declared = false;
}

static void declare(struct loops *k, const char *format, ...)
{
    va_list args;

    begin_declaration(k);
    va_start(args, format);
    add_text(k, arena_vformat(k->arena, format, args));
    va_end(args);
}

/* Lines that are ready, each a declaration. */
static void declare_lines(struct loops *k, const struct text *lines)
{
    if (lines->length == 0)
        return;
    begin_declaration(k);
    add_lines(&k->block->text, lines->data);
}

static void statement(struct loops *k, const char *format, ...)
{
    va_list args;

    begin_statement(k);
    va_start(args, format);
    add_text(k, arena_vformat(k->arena, format, args));
    va_end(args);
}

static void open_block(struct loops *k, const char *format, ...)
{
    struct block *block = ARENA_NEW(k->arena, struct block);
    va_list args;

    va_start(args, format);
    block->head = arena_vformat(k->arena, format, args);
    va_end(args);
    block->outer = k->block;
    block->text = text_new(k->arena);
    block->names = k->names.count;
    k->block = block;
    k->depth++;
}

/* Braces around more than one line, and below a head of more than one. */
static void close_block(struct loops *k)
{
    struct block *block = k->block;
    const char *end = strchr(block->text.data, '\n');
    bool single = end && end[1] == 0;

    k->block = block->outer;
    k->depth--;
    single = single && strlen(indent_text(k)) + strlen(block->head) <= EMITTED_WIDTH;
    k->names.count = block->names;
    begin_statement(k);
    if (block->unrolled)
        add_text(k, "MODC_UNROLL");
    add_text(k, arena_format(k->arena, "%s%s", block->head, single ? "" : " {"));
    text_add(&k->block->text, block->text.data);
    if (!single)
        add_text(k, "}");
}

static void close_blocks(struct loops *k, int count)
{
    while (count-- > 0)
        close_block(k);
}

static const char *dim_c(struct loops *k, const struct dim *dim)
{
    return dim_c_text(k->cx, dim, false);
}

/* index * dim; a product needs no parentheses there. */
static const char *times_c(struct loops *k, const char *index, const struct dim *dim)
{
    const char *factor = dim_c(k, dim);

    if (strpbrk(factor, "+-/%,"))
        factor = dim_c_text(k->cx, dim, true);
    if (strchr(index, ' '))
        index = arena_format(k->arena, "(%s)", index);
    return arena_format(k->arena, "%s * %s", index, factor);
}

/* ---- beginning and end -------------------------------------------------------------------------------- */

/* `a` and `b` may be NULL; `steps`: what else has sizes. */
static struct loops begin_kernel(struct cx *cx, const char *name, struct nest nest, const struct dag *a,
                                 const struct dag *b, const struct dim *const *steps, int step_count,
                                 const struct size *const *sizes, int size_count)
{
    struct loops k = {.cx = cx, .arena = &cx->arena, .name = name, .sizes = sizes, .size_count = size_count};

    k.nest = nest_normal(k.arena, nest);
    for (int i = 0; i < size_count; i++)
        k.used_count = sizes[i]->index >= k.used_count ? sizes[i]->index + 1 : k.used_count;
    k.used = ARENA_ARRAY(k.arena, k.used_count + 1, bool);
    nest_mark_sizes(k.arena, k.nest, k.used);
    if (a)
        dag_mark_sizes(a, k.used);
    if (b)
        dag_mark_sizes(b, k.used);
    for (int i = 0; i < step_count; i++)
        dim_mark_sizes(steps[i], k.used);

    k.names.arena = k.arena;
    for (int i = 0; i < size_count; i++)
        if (k.used[sizes[i]->index])
            names_take(&k.names, size_identifier(sizes[i]));
    k.parameter = ARENA_ARRAY(k.arena, nest.operand_count, const char *);
    k.pointer = ARENA_ARRAY(k.arena, nest.operand_count, const char *);
    k.in_row = ARENA_ARRAY(k.arena, nest.operand_count, bool);
    k.splat = ARENA_ARRAY(k.arena, nest.operand_count, const char *);
    k.loaded = ARENA_ARRAY(k.arena, nest.operand_count, bool);
    for (int i = 0; i < nest.operand_count; i++) {
        k.parameter[i] = names_new(&k.names, i == 0 ? "y" : arena_format(k.arena, "x%d", i - 1));
        k.pointer[i] = k.parameter[i];
    }
    k.helpers = text_new(k.arena);
    k.block = ARENA_NEW(k.arena, struct block);
    k.block->text = text_new(k.arena);
    k.depth = 1;
    return k;
}

static bool is_word_char(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether an identifier occurs in a text. */
static bool mentions(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *found = strstr(text, word); found; found = strstr(found + 1, word))
        if ((found == text || !is_word_char(found[-1])) && !is_word_char(found[length]))
            return true;
    return false;
}

static void add_parameter(struct text *parameters, const char *type, const char *name)
{
    bool pointer = type[strlen(type) - 1] == '*';

    text_printf(parameters, "%s%s%s%s", parameters->length > 0 ? ", " : "", type, pointer ? "" : " ", name);
}

/* A parameter, and a line for it if the body does not use it after all. */
static void declare_parameter(struct loops *k, struct text *parameters, struct text *unused, const char *type,
                              const char *name)
{
    add_parameter(parameters, type, name);
    if (!mentions(k->block->text.data, name))
        text_printf(unused, "    (void)%s;\n", name);
}

static void add_comment(struct text *out, const char *comment)
{
    struct text line = text_new(out->arena);

    text_add(&line, "/*");
    while (*comment) {
        size_t length = strcspn(comment, " \n");

        if (line.length + 1 + length > EMITTED_WIDTH - 1) {
            text_printf(out, "%s\n", line.data);
            line = text_new(out->arena);
            text_add(&line, " *");
        }
        text_add(&line, " ");
        text_add_bytes(&line, comment, length);
        if (comment[length] == '\n') {
            text_printf(out, "%s\n", line.data);
            line = text_new(out->arena);
            text_add(&line, " *");
        }
        comment += length + (comment[length] != 0);
    }
    text_printf(out, "%s */\n", line.data);
}

/* Names of the parameters between operands and sizes; NULL: none. */
struct random_names {
    const char *seed, *counter, *stream;
};

static void end_kernel(struct loops *k, struct text *out, const char *comment,
                       const struct random_names *random)
{
    struct text parameters = text_new(k->arena), unused = text_new(k->arena);

    for (int i = 0; i < k->nest.operand_count; i++) {
        const char *type = dtype_rows[k->nest.operands[i].dtype].c;

        declare_parameter(k, &parameters, &unused,
                          arena_format(k->arena, "%s%s *", i > 0 ? "const " : "", type), k->parameter[i]);
    }
    if (random) {
        declare_parameter(k, &parameters, &unused, "uint64_t", random->seed);
        declare_parameter(k, &parameters, &unused, "uint64_t", random->counter);
        declare_parameter(k, &parameters, &unused, "uint32_t", random->stream);
    }
    for (int i = 0; i < k->size_count; i++)
        if (k->used[k->sizes[i]->index])
            declare_parameter(k, &parameters, &unused, "int", size_identifier(k->sizes[i]));

    text_add(out, k->helpers.data);
    add_comment(out, comment);
    emit_line(out, arena_format(k->arena, "static MODC_KERNEL void %s(%s)", k->name, parameters.data));
    text_printf(out, "{\n%s%s}\n", k->block->text.data, unused.data);
}

/* ---- addresses ---------------------------------------------------------------------------------------- */

static bool stride_is(const struct loops *k, int operand, int axis, int64_t stride)
{
    return dim_equals(k->nest.operands[operand].strides[axis], stride);
}

/* The sum of index * stride over the axes whose index is known: "" for 0. */
static const char *offset_text(struct loops *k, int operand, int first, int last)
{
    struct text text = text_new(k->arena);

    for (int axis = first; axis <= last; axis++) {
        if (!k->index[axis] || stride_is(k, operand, axis, 0))
            continue;
        text_add(&text, text.length > 0 ? " + " : "");
        if (stride_is(k, operand, axis, 1))
            text_add(&text, k->index[axis]);
        else
            text_add(&text, times_c(k, k->index[axis], k->nest.operands[operand].strides[axis]));
    }
    return text.data;
}

static const char *operand_offset(struct loops *k, int operand)
{
    int last = k->nest.ndim - 1;

    return offset_text(k, operand, k->in_row[operand] ? last : 0, last);
}

static const char *address(struct loops *k, int operand)
{
    const char *offset = operand_offset(k, operand);

    return *offset ? arena_format(k->arena, "%s + %s", k->pointer[operand], offset) : k->pointer[operand];
}

static const char *element(struct loops *k, int operand)
{
    const char *offset = operand_offset(k, operand);

    return arena_format(k->arena, "%s[%s]", k->pointer[operand], *offset ? offset : "0");
}

/* ---- loops -------------------------------------------------------------------------------------------- */

static const char *loop_name(struct loops *k)
{
    static const char *const letters[] = {"i", "j", "k", "l", "m", "n", "o", "p", "q"};
    int letter = 0;

    for (int axis = 0; axis < k->nest.ndim; axis++)
        if (k->index[axis])
            letter++;
    return names_new(&k->names, letters[letter]);
}

static void open_loop(struct loops *k, int axis)
{
    const char *end = dim_c(k, k->nest.dims[axis]);
    const char *name;

    open_block(k, "%s", "");
    name = loop_name(k);
    k->block->head = arena_format(k->arena, "for (int %s = 0; %s < %s; %s++)", name, name, end, name);
    k->index[axis] = name;
}

static void close_loop(struct loops *k, int axis)
{
    close_block(k);
    k->index[axis] = NULL;
}

static int64_t axis_upper(const struct loops *k, int axis)
{
    return dim_upper(k->nest.dims[axis]);
}

/* ---- values ------------------------------------------------------------------------------------------- */

/* A dag over operands of the nest: input i is operand first + i, or, where `reduced` is set, input 0 is that text and
 * input i operand first + i - 1. */
struct value_source {
    const struct dag *dag;
    int first;
    const char *reduced;
    const char *function; /* that computes a vector of it, or NULL */
};

/* Which sizes it reads, by index. */
static bool *sizes_of(struct loops *k, const struct dag *dag)
{
    bool *used = ARENA_ARRAY(k->arena, k->used_count + 1, bool);

    dag_mark_sizes(dag, used);
    return used;
}

static struct text *before_text(struct loops *k)
{
    struct text *text = ARENA_NEW(k->arena, struct text);

    *text = text_new(k->arena);
    return text;
}

static int operand_of(const struct value_source *source, int input)
{
    return source->first + input - (source->reduced ? 1 : 0);
}

/* Names that it needs are declared in the block. */
static struct piece scalar_value(struct loops *k, const struct value_source *source)
{
    const char **inputs = ARENA_ARRAY(k->arena, source->dag->input_count + 1, const char *);
    struct text *before = before_text(k);
    struct expr_place place = {inputs, before, indent_text(k), &k->names, NULL};
    struct piece piece;

    for (int i = 0; i < source->dag->input_count; i++)
        inputs[i] = source->reduced && i == 0 ? source->reduced : element(k, operand_of(source, i));
    piece = expr_scalar_piece(k->cx, source->dag, &place);
    declare_lines(k, before);
    return piece;
}

static const char *vector_type(const struct loops *k)
{
    return k->lanes == DTYPE_FLOAT64 ? "modc_f64" : "modc_f32";
}

static const char *width_name(const struct loops *k)
{
    return k->lanes == DTYPE_FLOAT64 ? "MODC_LANES64" : "MODC_LANES";
}

static int widest(const struct loops *k)
{
    return k->lanes == DTYPE_FLOAT64 ? 8 : 16;
}

/* The vector of an operand at the current place along `axis`; `count`: how many of its elements there are, NULL all. */
static const char *load_text(struct loops *k, int operand, int axis, const char *count)
{
    if (k->splat[operand])
        return k->splat[operand];
    if (stride_is(k, operand, axis, 0))
        return arena_format(k->arena, "%s_set(%s)", vector_type(k), element(k, operand));
    if (count)
        return arena_format(k->arena, "%s_load_part(%s, %s)", vector_type(k), address(k, operand), count);
    return arena_format(k->arena, "%s_load(%s)", vector_type(k), address(k, operand));
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

static const char *vector_value(struct loops *k, const struct value_source *source, int axis,
                                const char *count)
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

/* Gives the source a function of its own, where its text is long and would stand in several places. */
static void make_function(struct loops *k, struct value_source *source, const char *suffix)
{
    const struct dag *dag = source->dag;
    const char **inputs = ARENA_ARRAY(k->arena, dag->input_count + 1, const char *), *value;
    bool *loads = dag_loads(k->arena, dag), *used = sizes_of(k, dag);
    struct names names = {.arena = k->arena};
    struct text *before = before_text(k), parameters = text_new(k->arena);
    struct expr_place place = {inputs, before, "    ", &names, NULL};

    for (int i = 0; i < k->size_count; i++)
        names_take(&names, size_identifier(k->sizes[i]));
    for (int i = 0; i < dag->input_count; i++) {
        bool reduced = source->reduced && i == 0;

        inputs[i] = names_new(&names,
                              reduced ? "value" : arena_format(k->arena, "x%d", operand_of(source, i) - 1));
        if (loads[i])
            add_parameter(&parameters, vector_type(k), inputs[i]);
    }
    for (int i = 0; i < k->size_count; i++)
        if (used[k->sizes[i]->index])
            add_parameter(&parameters, "int", size_identifier(k->sizes[i]));
    value = expr_vector_lanes(k->cx, dag, k->lanes, &place);
    if (before->length == 0 && strlen(value) <= LONG_VALUE)
        return;

    source->function = arena_format(k->arena, "%s_%s", k->name, suffix);
    text_printf(&k->helpers, "/* One vector of what %s %s. */\n", k->name,
                source->reduced                                     ? "stores"
                : source->first == 1 && strcmp(suffix, "head") == 0 ? "reduces"
                                                                    : "computes");
    emit_line(&k->helpers, arena_format(k->arena, "MODC_INLINE %s %s(%s)", vector_type(k), source->function,
                                        parameters.data));
    text_add(&k->helpers, "{\n");
    add_lines(&k->helpers, before->data);
    text_add(&k->helpers, before->length > 0 ? "\n" : "");
    emit_line(&k->helpers, arena_format(k->arena, "    return %s;", value));
    text_add(&k->helpers, "}\n\n");
}

/* ---- rows of vectors ---------------------------------------------------------------------------------- */

/* A row that vectors run along: elements start .. stop - 1 of an axis. `body` prints what happens to `streams` vectors
 * from index[axis] on, or to one of which `part` says how many elements there are (NULL: all). */
struct row {
    int axis, streams;
    const char *start, *stop;
    int64_t count; /* -1: known at run time only */
    int64_t upper; /* what it is at most */
    void (*body)(struct loops *k, void *data, int streams, const char *part);
    void *data;
};

static const char *step_text(const struct loops *k, int streams)
{
    return streams > 1 ? arena_format(k->arena, "%d * %s", streams, width_name(k)) : width_name(k);
}

/* One loop where the count is a multiple of every step; else loops with ever smaller steps, then the part. */
static void vector_row(struct loops *k, const struct row *row)
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
static const char *length_word(struct loops *k, int axis)
{
    const struct dim *dim = k->nest.dims[axis];
    const char *length = dim_c(k, dim), *name;

    if (dim_is_const(dim, NULL) || dim_is_size(dim, NULL))
        return length;
    name = names_new(&k->names, "count");
    declare(k, "const int %s = %s;", name, length);
    return name;
}

static struct row whole_row(struct loops *k, int axis, int streams)
{
    struct row row = {.axis = axis, .streams = streams, .start = "0", .upper = axis_upper(k, axis)};

    row.stop = length_word(k, axis);
    if (!dim_is_const(k->nest.dims[axis], &row.count))
        row.count = -1;
    return row;
}

/* Pointers to the row that the loops outside are at, for operands that are found by several of them. */
static void declare_rows(struct loops *k)
{
    for (int i = 0; i < k->nest.operand_count; i++) {
        const char *type = dtype_rows[k->nest.operands[i].dtype].c, *name;
        int last = k->nest.ndim - 1, terms = 0;

        for (int axis = 0; axis < last; axis++)
            terms += k->index[axis] && !stride_is(k, i, axis, 0);
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
static void forget_rows(struct loops *k)
{
    for (int i = 0; i < k->nest.operand_count; i++) {
        k->pointer[i] = k->parameter[i];
        k->in_row[i] = false;
    }
}

static void mark_loaded(struct loops *k, const struct value_source *source)
{
    const bool *loads = dag_loads(k->arena, source->dag);

    for (int i = source->reduced ? 1 : 0; i < source->dag->input_count; i++)
        if (loads[i])
            k->loaded[operand_of(source, i)] = true;
}

/* Vectors of inputs that have one value in the whole row, as soon as the loops know where it is. */
static void declare_splats(struct loops *k, int axis)
{
    for (int i = 1; i < k->nest.operand_count; i++) {
        const char *name;
        bool known = true;

        for (int other = 0; other < k->nest.ndim; other++)
            known = known && (k->index[other] || stride_is(k, i, other, 0));
        if (!k->loaded[i] || !known || k->splat[i] || !stride_is(k, i, axis, 0))
            continue;
        name = names_new(&k->names, arena_format(k->arena, "v%d", i - 1));
        declare(k, "const %s %s = %s_set(%s);", vector_type(k), name, vector_type(k), element(k, i));
        k->splat[i] = name;
    }
}

/* Whether a dag has vectors along the last axis: types and strides of `count` operands from `first` on. */
static bool operands_vectorise(struct loops *k, const struct dag *dag, int first, int count)
{
    int axis = k->nest.ndim - 1;
    enum dtype lanes;

    if (axis < 0 || axis_upper(k, axis) < SCALAR_ROW || !dag_vectorises(dag, &lanes))
        return false;
    for (int i = first; i < first + count; i++)
        if (!stride_is(k, i, axis, 0) && !stride_is(k, i, axis, 1))
            return false;
    k->lanes = lanes;
    return true;
}

/* ---- map ---------------------------------------------------------------------------------------------- */

static void map_vectors(struct loops *k, void *data, int streams, const char *part)
{
    const struct value_source *source = data;
    int axis = k->nest.ndim - 1;
    const char *value = vector_value(k, source, axis, part);

    (void)streams;
    if (part)
        statement(k, "%s_store_part(%s, %s, %s);", vector_type(k), address(k, 0), value, part);
    else
        statement(k, "%s_store(%s, %s);", vector_type(k), address(k, 0), value);
}

static void map_rows(struct loops *k, struct value_source *source)
{
    int last = k->nest.ndim - 1;
    struct row row = whole_row(k, last, 1);

    row.body = map_vectors;
    row.data = source;
    if (row.count < 0 || row.count % widest(k) != 0)
        make_function(k, source, "lanes");
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
    const char *count = dim_c_text(k->cx, k->nest.dims[last], true);

    for (int axis = 0; axis < last; axis++)
        open_loop(k, axis);
    statement(k, "%s(%s, %s, %s%s * sizeof *%s);", zeros ? "memset" : "memcpy", address(k, 0),
              zeros ? "0" : address(k, 1), dim_is_const(k->nest.dims[last], NULL) ? "" : "(size_t)", count,
              k->parameter[0]);
    close_blocks(k, last);
}

static bool is_zero(const struct dag *dag)
{
    const struct dag_node *node = &dag->nodes[dag->result];

    return node->prim == PRIM_CONST &&
           (dtype_is_float(node->dtype) ? node->number == 0 && !signbit(node->number) : node->integer == 0);
}

/* The axis along which the one operand of a copy is contiguous, where the copy is a transposition of at least a vector
 * each way, or -1. */
static int turned_axis(struct loops *k, const struct dag *dag)
{
    enum { LEAST = 8 };
    int last = k->nest.ndim - 1;

    if (last < 1 || !dag_is_identity(dag) || !stride_is(k, 0, last, 1) || stride_is(k, 1, last, 1) ||
        stride_is(k, 1, last, 0) || k->nest.operands[0].dtype != DTYPE_FLOAT32 ||
        k->nest.operands[1].dtype != DTYPE_FLOAT32 || axis_upper(k, last) < LEAST)
        return -1;
    for (int axis = 0; axis < last; axis++)
        if (stride_is(k, 1, axis, 1) && axis_upper(k, axis) >= LEAST)
            return axis;
    return -1;
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
    for (int axis = 0; axis < k->nest.ndim; axis++)
        open_loop(k, axis);
    {
        struct piece value = scalar_value(k, source);

        statement(k, "%s = %s;", element(k, 0), value.text);
    }
    close_blocks(k, k->nest.ndim);
}

void emit_map_kernel(struct cx *cx, struct text *out, const char *name, const char *comment, struct nest nest,
                     const struct dag *dag, const struct size *const *sizes, int size_count)
{
    struct loops k = begin_kernel(cx, name, nest, dag, NULL, NULL, 0, sizes, size_count);
    struct value_source source = {.dag = dag, .first = 1};
    int last = k.nest.ndim - 1;

    if (last >= 0 && dag_is_identity(dag) && stride_is(&k, 0, last, 1) && stride_is(&k, 1, last, 1))
        map_bytes(&k, false);
    else if (last >= 0 && is_zero(dag) && stride_is(&k, 0, last, 1))
        map_bytes(&k, true);
    else if (turned_axis(&k, dag) >= 0)
        map_turned(&k, turned_axis(&k, dag));
    else if (operands_vectorise(&k, dag, 1, k.nest.operand_count - 1) && stride_is(&k, 0, last, 1))
        map_rows(&k, &source);
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
                        struct nest nest, const struct dim *step, const struct size *const *sizes,
                        int size_count)
{
    struct loops k = begin_kernel(cx, name, nest, NULL, NULL, &step, 1, sizes, size_count);
    int last = k.nest.ndim - 1;
    bool rows = last >= 0 && stride_is(&k, 2, last, 0); /* one index for each row */
    int outer = rows ? last : k.nest.ndim;

    for (int axis = 0; axis < outer; axis++)
        open_loop(&k, axis);
    if (rows) {
        const char *from = gather_row(&k, step);

        if (stride_is(&k, 0, last, 1) && stride_is(&k, 1, last, 1)) {
            statement(&k, "memcpy(%s, %s, (size_t)%s * sizeof *%s);", address(&k, 0), from,
                      dim_c_text(cx, k.nest.dims[last], true), from);
        } else {
            open_loop(&k, last);
            k.pointer[1] = from;
            k.in_row[1] = true;
            statement(&k, "%s = %s;", element(&k, 0), element(&k, 1));
            close_loop(&k, last);
        }
    } else {
        const char *from = gather_row(&k, step);

        statement(&k, "%s = *%s;", element(&k, 0), from);
    }
    close_blocks(&k, outer);
    end_kernel(&k, out, comment, NULL);
}

/* ---- scatter ------------------------------------------------------------------------------------------ */

void emit_scatter_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                         struct nest nest, const struct dag *dag, const struct dim *step,
                         const struct size *const *sizes, int size_count)
{
    struct loops k = begin_kernel(cx, name, nest, dag, NULL, &step, 1, sizes, size_count);
    int last = k.nest.ndim - 1;
    bool rows = last >= 0 && stride_is(&k, 2, last, 0); /* one index for each row */
    int outer = rows ? last : k.nest.ndim;
    const char *to = names_new(&k.names, "to"), *inputs[2];

    for (int axis = 0; axis < outer; axis++)
        open_loop(&k, axis);
    declare(&k, "%s *%s = %s + (ptrdiff_t)%s%s%s;", dtype_rows[k.nest.operands[0].dtype].c, to,
            address(&k, 0), element(&k, 2), dim_equals(step, 1) ? "" : " * ",
            dim_equals(step, 1) ? "" : dim_c_text(cx, step, true));
    if (rows) {
        open_loop(&k, last);
        k.pointer[0] = to;
        k.in_row[0] = true;
        inputs[0] = element(&k, 0);
    } else {
        inputs[0] = arena_format(k.arena, "%s[0]", to);
    }
    inputs[1] = element(&k, 1);
    statement(&k, "%s = %s;", inputs[0], expr_scalar(cx, dag, inputs, NULL, ""));
    if (rows)
        close_loop(&k, last);
    close_blocks(&k, outer);
    end_kernel(&k, out, comment, NULL);
}

/* ---- scan, sort --------------------------------------------------------------------------------------- */

static struct loops begin_line(struct cx *cx, const char *name, struct nest nest, struct line line,
                               const struct dag *dag, const struct size *const *sizes, int size_count)
{
    int count = nest.operand_count;
    const struct dim **steps = ARENA_ARRAY(&cx->arena, count + 1, const struct dim *);

    memcpy(steps, line.steps, (size_t)count * sizeof *steps);
    steps[count] = line.length;
    return begin_kernel(cx, name, nest, dag, NULL, steps, count + 1, sizes, size_count);
}

/* An element of the line, beside what the loops around are at. */
static const char *line_element(struct loops *k, int operand, const char *index, const struct dim *step)
{
    const char *offset = operand_offset(k, operand),
               *place = dim_equals(step, 1) ? index : times_c(k, index, step);

    if (dim_equals(step, 0))
        place = *offset ? "" : "0";
    return arena_format(k->arena, "%s[%s%s%s]", k->pointer[operand], offset, *offset && *place ? " + " : "",
                        place);
}

/* What the dag makes of `before` and of the line's elements at `index`, those of operands from `first` on. */
static const char *line_value(struct loops *k, struct line line, const struct dag *dag, const char *before,
                              const char *index, int first)
{
    const char **inputs = ARENA_ARRAY(k->arena, dag->input_count + 1, const char *);
    struct text *names = before_text(k);
    struct expr_place place = {inputs, names, indent_text(k), &k->names, NULL};
    struct piece value;

    inputs[0] = before;
    for (int i = 1; i < dag->input_count; i++)
        inputs[i] = line_element(k, first + i - 1, index, line.steps[first + i - 1]);
    value = expr_scalar_piece(k->cx, dag, &place);
    declare_lines(k, names);
    return value.text;
}

static const char *scan_start(struct loops *k, struct line line, int start, bool given)
{
    return given ? line_element(k, 1, "0", line.steps[1]) : arena_format(k->arena, "%d", start);
}

void emit_scan_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                      struct nest nest, struct line line, const struct dag *dag, int start, bool given,
                      const struct size *const *sizes, int size_count)
{
    struct loops k = begin_line(cx, name, nest, line, dag, sizes, size_count);
    int last = k.nest.ndim - 1;
    bool columns = last >= 0 && stride_is(&k, 0, last, 1); /* rows run beside each other, as vectors */
    const char *type = dtype_rows[k.nest.operands[0].dtype].c, *end = dim_c(&k, line.length);

    for (int axis = 0; axis < last + !columns; axis++)
        open_loop(&k, axis);

    const char *i = names_new(&k.names, "n"), *sum = names_new(&k.names, start ? "product" : "sum");

    if (!columns)
        declare(&k, "%s %s = %s;", type, sum, scan_start(&k, line, start, given));
    if (line.reverse)
        open_block(&k, "for (int %s = %s - 1; %s >= 0; %s--)", i, end, i, i);
    else
        open_block(&k, "for (int %s = 0; %s < %s; %s++)", i, i, end, i);
    if (columns) {
        const char *before = names_new(&k.names, "before"), *row = names_new(&k.names, "row");
        const char *first = operand_offset(&k, 0), *step = dim_c_text(cx, line.steps[0], true);

        declare(&k, "%s *%s = %s%s%s + %s;", type, row, k.pointer[0], *first ? " + " : "", first,
                times_c(&k, i, line.steps[0]));
        if (line.reverse)
            declare(&k, "const %s *%s = %s < %s - 1 ? %s + %s : NULL;", type, before, i, end, row, step);
        else
            declare(&k, "const %s *%s = %s > 0 ? %s - %s : NULL;", type, before, i, row, step);
        open_loop(&k, last);

        const char *j = k.index[last];
        const char *held = arena_format(k.arena, "(%s ? %s[%s] : %s)", before, before, j,
                                        scan_start(&k, line, start, given));
        const char *value = line_value(&k, line, dag, held, i, 1 + given);

        statement(&k, "%s[%s] = %s;", row, j, value);
        close_loop(&k, last);
    } else {
        const char *value = line_value(&k, line, dag, sum, i, 1 + given);

        statement(&k, "%s = %s;", sum, value);
        statement(&k, "%s = %s;", line_element(&k, 0, i, line.steps[0]), sum);
    }
    close_block(&k);
    close_blocks(&k, last + !columns);
    end_kernel(&k, out, comment, NULL);
}

/* " * step", where that is not 1. */
static const char *times_step(struct loops *k, const struct dim *step)
{
    return dim_equals(step, 1) ? "" : arena_format(k->arena, " * %s", dim_c_text(k->cx, step, true));
}

/* The functions that a sort needs: which of two stands first, and how a heap gets in order below a place. */
static void sort_helpers(struct loops *k, struct line line, bool descending, const char *sizes,
                         const char *pass)
{
    enum dtype dtype = k->nest.operands[1].dtype;
    const char *type = dtype_rows[dtype].c, *y = times_step(k, line.steps[0]),
               *x = times_step(k, line.steps[1]);
    const char *next = *y ? arena_format(k->arena, "(below + 1)%s", y) : "below + 1";
    struct text *out = &k->helpers;

    text_printf(out, "/* Whether x[a] stands behind x[b]%s; equal ones as they are. */\n",
                dtype_is_float(dtype) ? ", NaN above all" : "");
    text_printf(out, "static inline int %s_behind(const %s *x, int64_t a, int64_t b%s)\n{\n", k->name, type,
                sizes);
    text_printf(out, "    const %s u = x[a%s], v = x[b%s];\n\n", type, x, x);
    text_printf(out, "    if (u %s v)\n        return 1;\n    if (u %s v)\n        return 0;\n",
                descending ? "<" : ">", descending ? ">" : "<");
    if (dtype_is_float(dtype))
        text_printf(out, "    if ((u != u) != (v != v))\n        return %s != %s;\n", descending ? "v" : "u",
                    descending ? "v" : "u");
    text_add(out, "    return a > b;\n}\n\n");
    text_add(out, "/* Puts y[at] where it belongs in the heap below, of n: what stands last is above. */\n");
    text_printf(out, "static void %s_sift(int64_t *y, const %s *x, int at, int n%s)\n{\n", k->name, type,
                sizes);
    text_printf(out, "    const int64_t held = y[at%s];\n\n", y);
    text_add(out, "    for (int below = 2 * at + 1; below < n; below = 2 * at + 1) {\n");
    text_printf(out,
                "        if (below + 1 < n && %s_behind(x, y[%s], y[below%s]%s))\n            below++;\n",
                k->name, next, y, pass);
    text_printf(out, "        if (!%s_behind(x, y[below%s], held%s))\n            break;\n", k->name, y,
                pass);
    text_printf(out, "        y[at%s] = y[below%s];\n        at = below;\n    }\n    y[at%s] = held;\n}\n\n",
                y, y, y);
}

void emit_sort_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                      struct nest nest, struct line line, bool descending, const struct size *const *sizes,
                      int size_count)
{
    struct loops k = begin_line(cx, name, nest, line, NULL, sizes, size_count);
    struct text declared = text_new(k.arena), passed = text_new(k.arena);
    bool *needed = ARENA_ARRAY(k.arena, k.used_count + 1, bool);

    dim_mark_sizes(line.steps[1], needed);
    dim_mark_sizes(line.steps[0], needed);
    for (int i = 0; i < size_count; i++) {
        if (!needed[sizes[i]->index])
            continue;
        text_printf(&declared, ", int %s", size_identifier(sizes[i]));
        text_printf(&passed, ", %s", size_identifier(sizes[i]));
    }
    sort_helpers(&k, line, descending, declared.data, passed.data);
    for (int axis = 0; axis < k.nest.ndim; axis++)
        open_loop(&k, axis);

    const char *y = names_new(&k.names, "order"), *x = names_new(&k.names, "row"),
               *n = names_new(&k.names, "n");
    const char *i = names_new(&k.names, "i"), *first = names_new(&k.names, "first"),
               *step = times_step(&k, line.steps[0]);

    declare(&k, "int64_t *const %s = %s;", y, address(&k, 0));
    declare(&k, "const %s *const %s = %s;", dtype_rows[k.nest.operands[1].dtype].c, x, address(&k, 1));
    declare(&k, "const int %s = %s;", n, dim_c(&k, line.length));
    open_block(&k, "for (int %s = 0; %s < %s; %s++)", i, i, n, i);
    statement(&k, "%s[%s%s] = %s;", y, i, step, i);
    close_block(&k);
    open_block(&k, "for (int %s = %s / 2 - 1; %s >= 0; %s--)", i, n, i, i);
    statement(&k, "%s_sift(%s, %s, %s, %s%s);", name, y, x, i, n, passed.data);
    close_block(&k);
    open_block(&k, "for (int %s = %s - 1; %s > 0; %s--)", i, n, i, i);
    declare(&k, "const int64_t %s = %s[0];", first, y);
    statement(&k, "%s[0] = %s[%s%s];", y, y, i, step);
    statement(&k, "%s[%s%s] = %s;", y, i, step, first);
    statement(&k, "%s_sift(%s, %s, 0, %s%s);", name, y, x, i, passed.data);
    close_block(&k);
    close_blocks(&k, k.nest.ndim);
    end_kernel(&k, out, comment, NULL);
}

/* ---- reduce ------------------------------------------------------------------------------------------- */

/* How a reduction runs: over vectors along the last reduced axis, over vectors of outputs, or element by element. */
enum reduce_way { REDUCE_ROWS, REDUCE_COLUMNS, REDUCE_ELEMENTS };

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
    enum reduce_way way;
    struct value_source head, tail; /* tail.dag may be NULL */
    enum dtype dtype;               /* of what is reduced */
    int split;                      /* note [exact sums]: the axis that is cut into blocks; -1: none */
    int64_t block;
    struct row row;          /* ROWS: along the last axis; COLUMNS: of outputs */
    const char *neutral;     /* vector that accumulators start from */
    const char *accumulator; /* that the loops at hand add to */
    const char *part;        /* COLUMNS: how many outputs there are in the vector, or NULL */
    const char *best;        /* ARGMAX, ARGMIN: the value at the index */
};

static bool is_arg(enum reduce_kind kind)
{
    return kind == REDUCE_ARGMAX || kind == REDUCE_ARGMIN;
}

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

/* Sums and products of integers wrap in 64 bits. */
static bool wraps(const struct reduction *r)
{
    return (r->kind == REDUCE_SUM || r->kind == REDUCE_PROD) && !dtype_is_float(r->dtype);
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
    k->block->head = arena_format(k->arena, "for (int %s = 0; %s < %d; %s++)", name, name, streams, name);
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

/* REDUCE_ROWS: adds vectors of the row to the accumulators. */
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

        if (!k->nest.reduced[axis])
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

/* REDUCE_ELEMENTS: adds the element that the loops are at. */
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
    if (!is_arg(r->kind) && real) {
        combine(k, r, false, accumulator, value.text);
        return;
    }
    name = names_new(&k->names, "value");
    declare(k, "const %s %s = %s;", dtype_rows[r->dtype].c, name, value.text);
    if (!is_arg(r->kind)) {
        open_block(k, "if (%s %s %s)", name, operator, accumulator);
        statement(k, "%s = %s;", accumulator, name);
    } else {
        if (real) /* the first NaN wins */
            open_block(k, "if (%s %s %s || (%s != %s && %s == %s))", name, operator, r->best, name, name,
                       r->best, r->best);
        else
            open_block(k, "if (%s %s %s)", name, operator, r->best);
        statement(k, "%s = %s;", r->best, name);
        statement(k, "%s = %s;", accumulator, flat_index(k));
    }
    close_block(k);
}

/* REDUCE_COLUMNS: adds the elements that the loops are at to vectors of outputs. */
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
        if (!k->nest.reduced[axis] || (r->way == REDUCE_ROWS && axis == last))
            continue;
        open_loop(k, axis);
        opened[count++] = axis;
    }
    switch (r->way) {
    case REDUCE_ROWS:
        declare_splats(k, last);
        declare_rows(k);
        vector_row(k, &r->row);
        forget_rows(k);
        break;
    case REDUCE_COLUMNS:
        add_column_vectors(k, r, streams);
        break;
    case REDUCE_ELEMENTS:
        add_element(k, r);
        break;
    }
    while (count > 0)
        close_loop(k, opened[--count]);
}

/* sum += part, at the end of a block; note [exact sums]. */
static void add_part(struct loops *k, struct reduction *r, const char *sum, const char *part, int streams)
{
    const char *stream;

    if (r->way == REDUCE_ROWS) {
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
    const struct dim *dim = k->nest.dims[r->split];
    const char *name = streams > 1 || r->way == REDUCE_ROWS ? "parts" : "part", *part;
    struct row row = r->row;
    int64_t count;

    if (r->block == 1) {
        open_loop(k, r->split);
        part = declare_accumulator(k, r, streams, name);
        r->accumulator = part;
        add_loops(k, r, r->split, streams);
        add_part(k, r, sum, part, streams);
        close_loop(k, r->split);
        return;
    }
    {
        const char *start = names_new(&k->names, "start"), *stop;
        bool row_cut = r->way == REDUCE_ROWS && r->split == k->nest.ndim - 1;
        const char *end = row_cut ? r->row.stop : length_word(k, r->split);

        open_block(k, "for (int %s = 0; %s < %s; %s += %lld)", start, start, end, start, (long long)r->block);
        if (dim_is_const(dim, &count) && count % r->block == 0) {
            stop = arena_format(k->arena, "%s + %lld", start, (long long)r->block);
            r->row.count = r->block;
        } else {
            stop = names_new(&k->names, "stop");
            declare(k, "const int %s = %s - %s < %lld ? %s : %s + %lld;", stop, end, start,
                    (long long)r->block, end, start, (long long)r->block);
            r->row.count = -1;
        }
        part = declare_accumulator(k, r, streams, name);
        r->accumulator = part;
        if (row_cut) {
            r->row.start = start;
            r->row.stop = stop;
            r->row.upper = r->block;
            add_loops(k, r, r->split, streams);
        } else {
            r->row = row;
            open_block(k, "%s", "");
            k->index[r->split] = loop_name(k);
            k->block->head = arena_format(k->arena, "for (int %s = %s; %s < %s; %s++)", k->index[r->split],
                                          start, k->index[r->split], stop, k->index[r->split]);
            add_loops(k, r, r->split, streams);
            close_loop(k, r->split);
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
    value = element(k, 1);
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

    if (r->split < 0) {
        sum = declare_accumulator(k, r, streams,
                                  streams > 1 || r->way == REDUCE_ROWS ? kind->many : kind->one);
        r->accumulator = sum;
        add_loops(k, r, -1, streams);
        if (r->way != REDUCE_ROWS)
            return sum;
        if (is_arg(r->kind))
            return find_in_row(k, r, horizontal(k, r, sum));
        if (dag_is_identity(r->tail.dag))
            return horizontal(k, r, sum);
        result = names_new(&k->names, kind->one);
        declare(k, "const %s %s = %s;", dtype_rows[r->dtype].c, result, horizontal(k, r, sum));
        return result;
    }
    if (r->way == REDUCE_ROWS)
        sum = declare_accumulator(k, r, 0, kind->one);
    else
        sum = declare_accumulator(k, r, streams, streams > 1 ? kind->many : kind->one);
    for (int axis = 0; axis < r->split; axis++) {
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

static void store_vector(struct loops *k, struct reduction *r, const char *accumulator, const char *part)
{
    const char *value;

    r->tail.reduced = accumulator;
    value = vector_value(k, &r->tail, k->nest.ndim - 1, part);
    if (part)
        statement(k, "%s_store_part(%s, %s, %s);", vector_type(k), address(k, 0), value, part);
    else
        statement(k, "%s_store(%s, %s);", vector_type(k), address(k, 0), value);
}

/* REDUCE_COLUMNS: the outputs from index[last] on. */
static void reduce_columns(struct loops *k, void *data, int streams, const char *part)
{
    struct reduction *r = data;
    int axis = k->nest.ndim - 1;
    const char *base = k->index[axis], *accumulator, *stream;

    r->part = part;
    accumulator = reduce_all(k, r, streams);
    if (streams == 1) {
        store_vector(k, r, accumulator, part);
        return;
    }
    stream = open_streams(k, streams);
    k->index[axis] = stream_index(k, base, stream);
    store_vector(k, r, arena_format(k->arena, "%s[%s]", accumulator, stream), NULL);
    close_block(k);
    k->index[axis] = base;
}

static void store_scalar(struct loops *k, struct reduction *r, const char *accumulator)
{
    struct piece value;

    r->tail.reduced = wraps(r) ? arena_format(k->arena, "(int64_t)%s", accumulator) : accumulator;
    value = scalar_value(k, &r->tail);
    statement(k, "%s = %s;", element(k, 0), value.text);
}

/* note [exact sums]: which axis is cut, so that one accumulator has at most `limit` elements. */
static void find_split(const struct loops *k, struct reduction *r)
{
    int64_t limit = SUM_LIMIT * (r->way == REDUCE_ROWS ? r->row.streams : 1);

    r->split = -1;
    if (r->kind != REDUCE_SUM || r->dtype != DTYPE_FLOAT32)
        return;
    for (int axis = k->nest.ndim - 1; axis >= 0; axis--) {
        int64_t upper = axis_upper(k, axis);

        if (!k->nest.reduced[axis])
            continue;
        if (upper > limit) {
            r->split = axis;
            r->block = limit;
            return;
        }
        if (upper > 1)
            limit /= upper;
    }
}

static bool has_reduced(const struct loops *k)
{
    for (int axis = 0; axis < k->nest.ndim; axis++)
        if (k->nest.reduced[axis])
            return true;
    return false;
}

/* argmax of a row as it is: its maximum, then where that stands. */
static bool finds_in_row(const struct loops *k, const struct reduction *r)
{
    int count = 0;

    for (int axis = 0; axis < k->nest.ndim; axis++)
        count += k->nest.reduced[axis];
    return count == 1 && dag_is_identity(r->head.dag);
}

static enum reduce_way choose_way(struct loops *k, const struct reduction *r)
{
    const struct kind_row *kind = &kind_rows[r->kind];
    int last = k->nest.ndim - 1, heads = r->head.dag->input_count, count = k->nest.operand_count;
    enum dtype lanes;

    if (!kind->neutral || !has_reduced(k) || !operands_vectorise(k, r->head.dag, 1, heads))
        return REDUCE_ELEMENTS;
    if (k->nest.reduced[last])
        return kind->horizontal && (!is_arg(r->kind) || finds_in_row(k, r)) ? REDUCE_ROWS : REDUCE_ELEMENTS;
    if (is_arg(r->kind) || !operands_vectorise(k, r->tail.dag, 1 + heads, count - 1 - heads) ||
        !stride_is(k, 0, last, 1) || !dag_vectorises(r->head.dag, &lanes) || lanes != k->lanes)
        return REDUCE_ELEMENTS;
    return REDUCE_COLUMNS;
}

/* How many vectors of outputs at a time: what divides the row, else what is best where it is long. */
static int column_streams(const struct loops *k)
{
    int axis = k->nest.ndim - 1;
    int64_t upper = axis_upper(k, axis), count;

    for (int streams = COLUMNS; streams > 1; streams--)
        if (dim_is_const(k->nest.dims[axis], &count) && count % (streams * widest(k)) == 0)
            return streams;
    return upper >= 2 * COLUMNS * widest(k) ? COLUMNS : upper >= COLUMNS / 2 * widest(k) ? COLUMNS / 2 : 1;
}

static void reduce_vectors(struct loops *k, struct reduction *r)
{
    int last = k->nest.ndim - 1, kept = 0;
    bool columns = r->way == REDUCE_COLUMNS;
    int streams = columns ? column_streams(k) : axis_upper(k, last) >= STREAMS * widest(k) ? STREAMS : 1;
    int steps;

    r->row = whole_row(k, last, streams);
    r->row.body = columns ? reduce_columns : add_row_vectors;
    r->row.data = r;
    find_split(k, r);
    steps = r->row.streams * widest(k);
    mark_loaded(k, &r->head);
    if (columns)
        mark_loaded(k, &r->tail);
    if (r->row.count < 0 || r->row.count % steps != 0) {
        make_function(k, &r->head, "head");
        if (columns)
            make_function(k, &r->tail, "tail");
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

static void reduce_elements(struct loops *k, struct reduction *r)
{
    int kept = 0;

    find_split(k, r);
    for (int axis = 0; axis < k->nest.ndim; axis++) {
        if (k->nest.reduced[axis])
            continue;
        open_loop(k, axis);
        kept++;
    }
    if (is_arg(r->kind)) {
        r->best = names_new(&k->names, "best");
        declare(k, "%s %s = %s;", dtype_rows[r->dtype].c, r->best, neutral_text(k, r));
        r->accumulator = names_new(&k->names, kind_rows[r->kind].one);
        declare(k, "int64_t %s = 0;", r->accumulator);
        add_loops(k, r, -1, 0);
        store_scalar(k, r, r->accumulator);
    } else {
        store_scalar(k, r, reduce_all(k, r, 0));
    }
    close_blocks(k, kept);
}

/* The type of the reduced value before its tail. */
static enum dtype value_dtype(const struct reduction *r)
{
    if (r->kind == REDUCE_ANY || r->kind == REDUCE_ALL)
        return DTYPE_BOOL;
    return is_arg(r->kind) || wraps(r) ? DTYPE_INT64 : r->dtype;
}

void emit_reduce_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                        struct nest nest, enum reduce_kind kind, const struct dag *head,
                        const struct dag *tail, const struct size *const *sizes, int size_count)
{
    struct reduction r = {.kind = kind, .split = -1};
    struct loops k;

    nest.reorder = !is_arg(kind);
    if (!head)
        head = dag_identity(&cx->arena, nest.operands[1].dtype);
    r.dtype = head->nodes[head->result].dtype;
    if (!tail) { /* as it is, but in the type of the output */
        struct dag *cast = dag_identity(&cx->arena, value_dtype(&r));

        cast->result = dag_cast(&cx->arena, cast, cast->result, nest.operands[0].dtype);
        tail = cast;
    }
    r.head = (struct value_source){.dag = head, .first = 1};
    r.tail = (struct value_source){.dag = tail, .first = 1 + head->input_count, .reduced = ""};
    k = begin_kernel(cx, name, nest, head, tail, NULL, 0, sizes, size_count);

    r.way = choose_way(&k, &r);
    if (r.way == REDUCE_ELEMENTS) {
        k.lanes = r.dtype;
        reduce_elements(&k, &r);
    } else {
        reduce_vectors(&k, &r);
    }
    end_kernel(&k, out, comment, NULL);
}

/* ---- random ------------------------------------------------------------------------------------------- */

/* y = tail(u) at the index that the loops are at, for the word of its element. */
static void store_random(struct loops *k, struct value_source *tail, const char *word)
{
    const char *number = arena_format(k->arena, "(float)(%s >> 8) * 5.96046448e-08f", word);
    struct piece value;

    tail->reduced = number;
    if (!dag_is_identity(tail->dag)) {
        tail->reduced = names_new(&k->names, "uniform");
        declare(k, "const float %s = %s;", tail->reduced, number);
    }
    value = scalar_value(k, tail);
    statement(k, "%s = %s;", element(k, 0), value.text);
}

void emit_random_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                        struct nest nest, const struct dag *tail, const struct size *const *sizes,
                        int size_count)
{
    const struct dag *dag = tail ? tail : dag_identity(&cx->arena, DTYPE_FLOAT32);
    struct loops k = begin_kernel(cx, name, nest, dag, NULL, NULL, 0, sizes, size_count);
    struct value_source source = {.dag = dag, .first = 1, .reduced = ""};
    struct random_names random = {names_new(&k.names, "seed"), names_new(&k.names, "counter"),
                                  names_new(&k.names, "stream")};
    const char *words = names_new(&k.names, "words"), *key;
    int64_t count;

    key = arena_format(k.arena, "%s ^ ((uint64_t)%s << 32)", random.counter, random.stream);
    if (k.nest.ndim == 1 && stride_is(&k, 0, 0, 1)) {
        const char *end = dim_c(&k, k.nest.dims[0]), *i, *j;

        open_block(&k, "%s", "");
        i = names_new(&k.names, "i");
        k.block->head = arena_format(k.arena, "for (int %s = 0; %s < %s; %s += 4)", i, i, end, i);
        declare(&k, "uint32_t %s[4];", words);
        statement(&k, "modc_philox(%s, (uint64_t)%s / 4, %s, %s);", random.seed, i, key, words);
        open_block(&k, "%s", "");
        j = names_new(&k.names, "j");
        if (dim_is_const(k.nest.dims[0], &count) && count % 4 == 0)
            k.block->head = arena_format(k.arena, "for (int %s = 0; %s < 4; %s++)", j, j, j);
        else
            k.block->head = arena_format(k.arena, "for (int %s = 0; %s < 4 && %s < %s - %s; %s++)", j, j, j,
                                         end, i, j);
        k.index[0] = arena_format(k.arena, "%s + %s", i, j);
        store_random(&k, &source, arena_format(k.arena, "%s[%s]", words, j));
        close_blocks(&k, 2);
    } else { /* an input that is broadcast, or one element */
        const char *position = NULL, *offset;

        for (int axis = 0; axis < k.nest.ndim; axis++)
            open_loop(&k, axis);
        offset = operand_offset(&k, 0);
        if (*offset) {
            position = names_new(&k.names, "position");
            declare(&k, "const int %s = %s;", position, offset);
        }
        declare(&k, "uint32_t %s[4];", words);
        if (position)
            statement(&k, "modc_philox(%s, (uint64_t)%s / 4, %s, %s);", random.seed, position, key, words);
        else
            statement(&k, "modc_philox(%s, 0, %s, %s);", random.seed, key, words);
        store_random(&k, &source,
                     position ? arena_format(k.arena, "%s[%s %% 4]", words, position)
                              : arena_format(k.arena, "%s[0]", words));
        close_blocks(&k, k.nest.ndim);
    }
    end_kernel(&k, out, comment, &random);
}
