/* emit_loops.c - kernels that are loop nests: their text, blocks, loops, addresses and scalar values; see emit_loops.h. Apart from
 * emit_expr.c, which knows values but no loops. */
#include "emit/emit_loops.h"

#include <stdarg.h>
#include <string.h>

#include "emit/template.h"

/* ---- the text of a kernel ----------------------------------------------------------------------------- */

const char *indent_text(const struct loops *k)
{
    return arena_format(k->arena, "%*s", 4 * k->depth, "");
}

/* A line of the innermost block. */
static void add_text(struct loops *k, const char *line)
{
    emit_line(&k->block->text, arena_format(k->arena, "%s%s", indent_text(k), line));
}

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

void declare(struct loops *k, const char *format, ...)
{
    va_list args;

    begin_declaration(k);
    va_start(args, format);
    add_text(k, arena_vformat(k->arena, format, args));
    va_end(args);
}

/* Lines that are ready, each a declaration. */
void declare_lines(struct loops *k, const struct text *lines)
{
    if (lines->length == 0)
        return;
    begin_declaration(k);
    emit_lines(&k->block->text, lines->data);
}

void statement(struct loops *k, const char *format, ...)
{
    va_list args;

    begin_statement(k);
    va_start(args, format);
    add_text(k, arena_vformat(k->arena, format, args));
    va_end(args);
}

void open_block(struct loops *k, const char *format, ...)
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
void close_block(struct loops *k)
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

void close_blocks(struct loops *k, int count)
{
    while (count-- > 0)
        close_block(k);
}

const char *dim_c(struct loops *k, const struct dim *dim)
{
    return dim_c_text(k->cx, dim, false);
}

/* index * dim; a product needs no parentheses there. */
const char *times_c(struct loops *k, const char *index, const struct dim *dim)
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
struct loops begin_kernel(struct cx *cx, const char *name, struct nest nest, const struct dag *a,
                          const struct dag *b, const struct dim *const *steps, int step_count,
                          const struct nest_scene *scene)
{
    const struct size *const *sizes = scene->sizes;
    const int size_count = scene->size_count;
    struct loops k = {.cx = cx,
                      .arena = &cx->arena,
                      .name = name,
                      .scene = scene,
                      .sizes = sizes,
                      .size_count = size_count};

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
    k.computed = ARENA_ARRAY(k.arena, nest.operand_count, enum dtype);
    for (int i = 0; i < nest.operand_count; i++) {
        k.parameter[i] = names_new(&k.names, i == 0 ? "y" : arena_format(k.arena, "x%d", i - 1));
        k.pointer[i] = k.parameter[i];
        k.computed[i] = nest.operands[i].dtype;
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

void list_parameter(struct text *parameters, const char *type, const char *name)
{
    bool pointer = type[strlen(type) - 1] == '*';

    text_printf(parameters, "%s%s%s%s", parameters->length > 0 ? ", " : "", type, pointer ? "" : " ", name);
}

/* A parameter, and a line for it if the body does not use it after all. */
static void declare_parameter(struct loops *k, struct text *parameters, struct text *unused, const char *type,
                              const char *name)
{
    list_parameter(parameters, type, name);
    if (!mentions(k->block->text.data, name))
        text_printf(unused, "    (void)%s;\n", name);
}

enum { THREADS = 256 }; /* of a block */

static int block_threads(const struct loops *k)
{
    return k->block_size > 0 ? k->block_size : THREADS;
}

static const char *kernel_head(const struct loops *k)
{
    if (k->scene->device == DEVICE_CUDA)
        return arena_format(k->arena, "static __global__ void __launch_bounds__(%d, 1)", block_threads(k));
    return k->core ? "MODC_INLINE void" : "static MODC_KERNEL void";
}

const char *parameter_names(struct cx *cx, const char *parameters)
{
    struct text names = text_new(&cx->arena);
    const char *end;

    for (const char *at = parameters; *at; at = *end ? end + 2 : end) {
        const char *name;

        end = at + strcspn(at, ",");
        for (name = end; name > at && is_word_char(name[-1]); name--)
            ;
        text_printf(&names, "%s%.*s", names.length > 0 ? ", " : "", (int)(end - name), name);
    }
    return names.data;
}

const char *launcher_head(struct cx *cx, struct text *launchers, const char *prefix, const char *name,
                          const char *stream, const char *parameters)
{
    struct text head = text_new(&cx->arena);

    text_printf(&head, "int %s_%s(void *%s, ", prefix, name, stream);
    while (*parameters) {
        static const struct { /* what the linker sees is spelled as C and C++ have it without modc_simd.h */
            const char *word, *plain;
        } own[] = {{"restrict ", ""},
                   {"*restrict ", "*"},
                   {"modc_bfloat16 ", "uint16_t "},
                   {"modc_half ", "uint16_t "}};
        const size_t word = strcspn(parameters, " ") + strspn(parameters + strcspn(parameters, " "), " ");
        const char *plain = NULL;

        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            if (strlen(own[i].word) == word && strncmp(parameters, own[i].word, word) == 0)
                plain = own[i].plain;
        text_add_bytes(&head, plain ? plain : parameters, plain ? strlen(plain) : word);
        parameters += word;
    }
    text_add(&head, ")");
    if (launchers)
        text_printf(launchers, "%s;\n", head.data);
    return head.data;
}

/* What starts the kernel: the host's part, which C calls. */
static void print_launcher(struct loops *k, struct text *out, const char *parameters)
{
    const char *stream = names_new(&k->names, "stream");
    const char *places = k->threads ? dim_c_text(k->cx, k->threads, false) : "1";

    text_add(out, "\n");
    emit_line(out, launcher_head(k->cx, k->scene->launchers, k->scene->prefix, k->name, stream, parameters));
    text_add(out, "{\n");
    if (k->each > 1)
        places = arena_format(k->arena, "%s%d * %s",
                              dim_fits(k->threads, INT32_MAX / k->each) ? "" : "(int64_t)", k->each,
                              dim_c_text(k->cx, k->threads, true));
    emit_line(out, arena_format(k->arena, "    return MODC_LAUNCH_OVER(%s, %s, %d, %s, %s);", k->name, places,
                                block_threads(k), stream, parameter_names(k->cx, parameters)));
    text_add(out, "}\n");
}

void end_kernel(struct loops *k, struct text *out, const char *comment, const struct random_names *random)
{
    struct text parameters = text_new(k->arena), unused = text_new(k->arena);
    const char *guard = "";

    for (int i = 0; i < k->nest.operand_count; i++) {
        const char *type = dtype_rows[k->nest.operands[i].dtype].c;

        declare_parameter(k, &parameters, &unused,
                          arena_format(k->arena, "%s%s *", i > 0 ? "const " : "", type), k->parameter[i]);
    }
    if (random) {
        const bool cuda = k->scene->device == DEVICE_CUDA;

        declare_parameter(k, &parameters, &unused, cuda ? "const struct modc_random *" : "uint64_t",
                          random->seed);
        declare_parameter(k, &parameters, &unused, cuda ? "uint32_t" : "uint64_t", random->counter);
        declare_parameter(k, &parameters, &unused, "uint32_t", random->stream);
    }
    for (int i = 0; i < k->size_count; i++)
        if (k->used[k->sizes[i]->index])
            declare_parameter(k, &parameters, &unused, k->core ? "const int" : "int",
                              size_identifier(k->sizes[i]));
    if (k->callee)
        text_printf(&parameters, ", %s", k->callee);
    if (k->scene->guarded) {
        const char *fault = names_new(&k->names, "fault");

        list_parameter(&parameters, "const struct modc_device_fault *", fault);
        guard = arena_format(k->arena, "    if (modc_faulty(%s))\n        return;\n", fault);
    }

    text_add(out, k->helpers.data);
    emit_comment(out, comment);
    emit_line(out, arena_format(k->arena, "%s %s(%s)", kernel_head(k), k->name, parameters.data));
    text_printf(out, "{\n%s%s%s}\n", guard, k->block->text.data, unused.data);
    if (k->scene->device == DEVICE_CUDA)
        print_launcher(k, out, parameters.data);
}

/* ---- addresses ---------------------------------------------------------------------------------------- */

bool stride_is(const struct loops *k, int operand, int axis, int64_t stride)
{
    return dim_equals(k->nest.operands[operand].strides[axis], stride);
}

bool stays(const struct loops *k, int axis)
{
    return strcmp(k->index[axis], "0") == 0;
}

/* The sum of index * stride over the axes whose index is known: "" for 0. */
const char *offset_text(struct loops *k, int operand, int first, int last)
{
    struct text text = text_new(k->arena);

    for (int axis = first; axis <= last; axis++) {
        if (!k->index[axis] || stays(k, axis) || stride_is(k, operand, axis, 0))
            continue;
        text_add(&text, text.length > 0 ? " + " : "");
        if (stride_is(k, operand, axis, 1))
            text_add(&text, k->index[axis]);
        else
            text_add(&text, times_c(k, k->index[axis], k->nest.operands[operand].strides[axis]));
    }
    return text.data;
}

const char *operand_offset(struct loops *k, int operand)
{
    int last = k->nest.ndim - 1;

    return offset_text(k, operand, k->in_row[operand] ? last : 0, last);
}

const char *address(struct loops *k, int operand)
{
    const char *offset = operand_offset(k, operand);

    return *offset ? arena_format(k->arena, "%s + %s", k->pointer[operand], offset) : k->pointer[operand];
}

const char *element(struct loops *k, int operand)
{
    const char *offset = operand_offset(k, operand);

    return arena_format(k->arena, "%s[%s]", k->pointer[operand], *offset ? offset : "0");
}

void compute_input(struct loops *k, int operand, const struct dag *dag, int input)
{
    for (int i = 0; i < dag->count; i++)
        if (dag->nodes[i].prim == PRIM_LOAD && dag->nodes[i].input == input)
            k->computed[operand] = dag->nodes[i].dtype;
}

void compute_result(struct loops *k, const struct dag *dag)
{
    k->computed[0] = dag->nodes[dag->result].dtype;
}

struct element operand_element(const struct loops *k, int operand)
{
    return (struct element){k->nest.operands[operand].dtype, k->computed[operand]};
}

const char *element_value(struct loops *k, int operand)
{
    return element_read(k->cx, operand_element(k, operand), element(k, operand));
}

const char *stored_value(struct loops *k, const char *value)
{
    return element_written(k->cx, operand_element(k, 0), value);
}

/* ---- loops -------------------------------------------------------------------------------------------- */

const char *loop_name(struct loops *k)
{
    static const char *const letters[] = {"i", "j", "k", "l", "m", "n", "o", "p", "q"};
    int letter = 0;

    for (int axis = 0; axis < k->nest.ndim; axis++)
        if (k->index[axis] && !stays(k, axis))
            letter++;
    return names_new(&k->names, letters[letter]);
}

/* Whether the axis has one element or none, as sizes will have it. */
static bool is_single(const struct loops *k, int axis)
{
    return dim_upper(k->nest.dims[axis]) == 1;
}

void open_loop(struct loops *k, int axis)
{
    const char *end = dim_c(k, k->nest.dims[axis]);
    const char *name;

    if (is_single(k, axis)) {
        open_block(k, "if (%s > 0)", dim_c(k, dim_some(k->arena, k->nest.dims[axis])));
        k->index[axis] = "0";
        return;
    }
    open_block(k, "%s", "");
    name = loop_name(k);
    k->block->head = arena_format(k->arena, "for (int %s = 0; %s < %s; %s++)", name, name, end, name);
    k->index[axis] = name;
}

void close_loop(struct loops *k, int axis)
{
    close_block(k);
    k->index[axis] = NULL;
}

/* Where the axis is, of a place whose number among all is `at`: those of the axes behind it run faster. */
static const char *axis_of_place(struct loops *k, const char *at, const int *axes, int count, int which)
{
    const struct dim *inner = dim_const(k->arena, 1);
    const char *index = at;
    int outer = 0;

    for (int i = which + 1; i < count; i++)
        if (!is_single(k, axes[i])) /* of no elements there are no places */
            inner = dim_mul(k->arena, inner, k->nest.dims[axes[i]]);
    for (int i = 0; i < which; i++)
        outer += !is_single(k, axes[i]);
    if (!dim_equals(inner, 1))
        index = arena_format(k->arena, "%s / %s", index, dim_c_text(k->cx, inner, true));
    if (outer > 0)
        index = arena_format(k->arena, "%s %% %s", index, dim_c_text(k->cx, k->nest.dims[axes[which]], true));
    return index;
}

/* Is another element of some operand where the axis goes on? */
static bool moves(const struct loops *k, int axis)
{
    for (int i = 0; i < k->nest.operand_count; i++)
        if (!stride_is(k, i, axis, 0))
            return true;
    return false;
}

const struct dim *places_of(struct loops *k, const int *axes, int count)
{
    const struct dim *places = dim_const(k->arena, 1);

    for (int i = 0; i < count; i++)
        places = dim_mul(k->arena, places, k->nest.dims[axes[i]]);
    return places;
}

/* A step behind the last place must fit, too. */
const char *place_type(const struct dim *places)
{
    return dim_upper(places) > INT32_MAX / 2 ? "int64_t" : "int";
}

const char *place_name(struct loops *k, const char *type, int count, const char *name)
{
    return count == 1 && strcmp(type, "int") == 0 ? loop_name(k) : names_new(&k->names, name);
}

void declare_places(struct loops *k, const char *at, const char *type, const int *axes, int count)
{
    const bool wide = strcmp(type, "int") != 0, none = dim_equals(places_of(k, axes, count), 0);
    struct text declared = text_new(k->arena);

    if (count == 1 && !wide) {
        k->index[axes[0]] = at;
        return;
    }
    for (int i = 0; i < count; i++) {
        const char *name, *index = axis_of_place(k, at, axes, count, i);

        if (!moves(k, axes[i]) || is_single(k, axes[i]) || none) { /* nothing to divide by */
            k->index[axes[i]] = "0";
            continue;
        }
        if (strcmp(index, at) == 0 && !wide) {
            k->index[axes[i]] = at;
            continue;
        }
        name = loop_name(k);
        text_printf(&declared, wide ? "%s%s = (int)(%s)" : "%s%s = %s", declared.length > 0 ? ", " : "", name,
                    index);
        k->index[axes[i]] = name;
    }
    if (declared.length > 0)
        declare(k, "const int %s;", declared.data);
}

static void open_threads(struct loops *k, const int *axes, int count)
{
    const char *at, *type;

    k->threads = places_of(k, axes, count);
    if (dim_equals(k->threads, 1)) {
        open_block(k, "if (MODC_THREAD(%d) == 0)", THREADS);
        return;
    }
    type = place_type(k->threads);
    open_block(k, "%s", "");
    at = place_name(k, type, count, "at");
    k->block->head = arena_format(k->arena, "for (%s %s = MODC_THREAD(%d); %s < %s; %s += MODC_THREADS(%d))",
                                  type, at, THREADS, at, dim_c(k, k->threads), at, THREADS);
    declare_places(k, at, type, axes, count);
}

void open_places(struct loops *k, const int *axes, int count)
{
    if (k->scene->device == DEVICE_CUDA)
        open_threads(k, axes, count);
    else
        for (int i = 0; i < count; i++)
            open_loop(k, axes[i]);
}

void close_places(struct loops *k, const int *axes, int count)
{
    const bool threads = k->scene->device == DEVICE_CUDA;

    for (int i = count - 1; i >= 0; i--) {
        if (!threads)
            close_block(k);
        k->index[axes[i]] = NULL;
    }
    if (threads)
        close_block(k);
}

static const int first_axes[MAX_DIMS] = {0, 1, 2, 3, 4, 5, 6, 7};

void open_all_places(struct loops *k, int count)
{
    open_places(k, first_axes, count);
}

void close_all_places(struct loops *k, int count)
{
    close_places(k, first_axes, count);
}

int64_t axis_upper(const struct loops *k, int axis)
{
    return dim_upper(k->nest.dims[axis]);
}

/* ---- values ------------------------------------------------------------------------------------------- */

struct text *before_text(struct loops *k)
{
    struct text *text = ARENA_NEW(k->arena, struct text);

    *text = text_new(k->arena);
    return text;
}

int operand_of(const struct value_source *source, int input)
{
    return source->first + input - (source->reduced ? 1 : 0);
}

/* Names that it needs are declared in the block. */
struct piece scalar_value(struct loops *k, const struct value_source *source)
{
    const char **inputs = ARENA_ARRAY(k->arena, source->dag->input_count + 1, const char *);
    struct text *before = before_text(k);
    struct expr_place place = {inputs, before, indent_text(k), &k->names, NULL};
    struct piece piece;

    for (int i = 0; i < source->dag->input_count; i++)
        inputs[i] = source->reduced && i == 0 ? source->reduced : element_value(k, operand_of(source, i));
    piece = expr_scalar_piece(k->cx, source->dag, &place);
    declare_lines(k, before);
    return piece;
}

struct piece scalar_call(struct loops *k, const struct value_source *source)
{
    struct text call = text_new(k->arena);

    text_printf(&call, "%s(", source->function);
    for (int i = 0; i < source->dag->input_count; i++)
        text_printf(&call, "%s%s", i ? ", " : "",
                    source->reduced && i == 0 ? source->reduced : element_value(k, operand_of(source, i)));
    text_add(&call, ")");
    return (struct piece){call.data, RANK_PRIMARY};
}

const char *function_type(struct loops *k, const char *name, const struct dag *dag, const char *type)
{
    struct text text = text_new(k->arena);

    text_printf(&text, "%s (*%s)(", type, name);
    for (int i = 0; i < dag->input_count; i++)
        text_printf(&text, "%s%s x%d", i ? ", " : "", type, i);
    text_add(&text, ")");
    return text.data;
}
