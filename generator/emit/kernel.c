/* kernel.c - fills templates and prints loop nests for the steps of a plan. Apart from emit.c, which prints functions and
 * tables. */
#include "emit/kernel.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "emit/emit_kernel.h"
#include "emit/emit_names.h"
#include "emit/template.h"
#include "passes/pass.h"
#include "plan/plan_join.h"

/* ---- operands --------------------------------------------------------------------------------------------- */

bool module_is_array(const struct module *module)
{
    if (module->child_count < 2)
        return false;
    for (int i = 0; i < module->child_count; i++)
        if (!module->children[i]->array || strcmp(module->children[i]->text, module->children[0]->text) != 0)
            return false;
    return true;
}

static void module_member(struct cx *cx, struct text *text, const struct module *root,
                          const struct module *module)
{
    if (module == root)
        return;
    module_member(cx, text, root, module->parent);
    if (module_is_array(module->parent)) {
        text_printf(text, "[%s]", module->name);
        return;
    }
    if (text->length > 0)
        text_add(text, ".");
    text_add(text, c_path(cx, module->name));
}

const char *tensor_member(struct cx *cx, const struct module *root, const struct module_tensor *tensor)
{
    struct text text = text_new(&cx->arena);

    module_member(cx, &text, root, tensor->owner);
    if (text.length > 0)
        text_add(&text, ".");
    text_add(&text, spec_c_name(cx, tensor->name));
    return text.data;
}

static bool is_shadowed(const struct variant *variant, const struct module_tensor *tensor)
{
    for (int i = 0; i < variant->shadow_count; i++)
        if (variant->shadows[i] == tensor)
            return true;
    return false;
}

static const char *packed_text(struct cx *cx, struct packed_at at)
{
    return arena_format(&cx->arena, "k->%s%s", at.inside, at.entry->name);
}

static const char *base_pointer(struct cx *cx, const struct variant *variant, const struct value *base)
{
    const struct place *place = &variant->places[base->id];

    switch (place->kind) {
    case PLACE_TENSOR:
    case PLACE_STATE:
        if (is_shadowed(variant, place->tensor))
            return arena_format(&cx->arena, "%s_shadow", emitted_flat(cx, place->tensor->path));
        if (place->kind == PLACE_STATE)
            return arena_format(&cx->arena, "s->%s", emitted_flat(cx, place->tensor->path));
        return arena_format(&cx->arena, "p->%s", tensor_member(cx, variant->graph->root, place->tensor));
    case PLACE_PACKED:
        return packed_text(cx, place->packed);
    case PLACE_GRADIENT:
        return arena_format(&cx->arena, "gradients->%s",
                            tensor_member(cx, variant->graph->root, place->tensor));
    case PLACE_PRESENT:
        return arena_format(&cx->arena, "modc_present(&training->base, %s)", place->name);
    case PLACE_NONE:
        assert(!"a value without a place");
        return "?";
    default:
        return place->name;
    }
}

/* The result is added to what lies in its own memory. */
static bool accumulates(const struct variant *variant, const struct op *op)
{
    const struct place *place = &variant->places[op->outputs[0]->base->id];

    for (int i = op->tail_first; i < op->input_count && op->tail; i++) {
        const struct place *own = &variant->places[op->inputs[i]->base->id];

        if (own->kind == PLACE_GRADIENT && place->kind == PLACE_GRADIENT && own->index == place->index)
            return true;
    }
    return false;
}

/* Of the call behind the YIELD. */
static bool is_backward(const struct variant *variant, const struct op *op)
{
    for (int s = 0; s < variant->yield; s++)
        if (variant->steps[s].op == op)
            return false;
    return variant->yield >= 0;
}

static const char *add_offset(struct cx *cx, const char *pointer, const struct dim *offset)
{
    if (dim_equals(offset, 0))
        return pointer;
    return arena_format(&cx->arena, "%s + %s", pointer, dim_c_text(cx, offset, false));
}

const char *value_pointer(struct cx *cx, const struct variant *variant, const struct value *value)
{
    return add_offset(cx, base_pointer(cx, variant, value->base), value->offset);
}

/* ---- the registry ----------------------------------------------------------------------------------------- */

/* Prints the kernel under a name; the same text is printed for two names that only differ in the name. */
typedef void printer(struct kernels *kernels, struct text *out, const char *name, const void *data);

static const char *shorten(struct cx *cx, const char *stem)
{
    size_t length = strlen(stem);

    if (length <= 56)
        return stem;
    return arena_format(&cx->arena, "%.*s_%04x", 48, stem, (unsigned)(text_hash(stem, length) & 0xffff));
}

/* A local of some function: it would hide a kernel of that name. Or like a type of C: int32_t. */
static bool is_other(const struct plan *plan, const char *name)
{
    size_t length = strlen(name);

    if (length > 2 && strcmp(name + length - 2, "_t") == 0)
        return true;
    for (int i = 0; i < plan->variant_count; i++) {
        const struct variant *variant = plan->variants[i];

        for (int id = 0; id < variant->graph->value_count; id++) {
            const char *own = variant->places[id].name;

            if (own && *own == *name && strcmp(own, name) == 0) /* most differ at once */
                return true;
        }
    }
    return false;
}

/* A kernel is found by its name; two that would share one get the hash of their text behind it. */
static const char *register_kernel(struct kernels *kernels, const char *stem, printer *print,
                                   const void *data)
{
    struct cx *cx = kernels->cx;
    const char *name = shorten(cx, stem);
    struct text text = text_new(&cx->arena);

    print(kernels, &text, name, data);
    for (;;) {
        bool taken = false;

        for (int i = 0; i < kernels->count; i++) {
            if (strcmp(kernels->list[i].name, name) != 0)
                continue;
            if (strcmp(kernels->list[i].text, text.data) == 0)
                return name;
            taken = true;
        }
        if (!taken && !is_other(kernels->plan, name))
            break;
        name = arena_format(&cx->arena, "%s_%04x", name,
                            (unsigned)(text_hash(text.data, text.length) & 0xffff));
        text = text_new(&cx->arena);
        print(kernels, &text, name, data);
    }
    ARENA_PUSH(&cx->arena, kernels->list, kernels->count, ((struct kernel){name, text.data}));
    return name;
}

/* What a kernel was printed from: another step that wants the same needs no text to find it. */
struct printed {
    const char *stem, *name;
    printer *print;
    const void *data;
};

typedef bool comparer(const void *a, const void *b);

/* register_kernel, unless this printer was given the same stem and data before. */
static const char *register_once(struct kernels *kernels, const char *stem, printer *print, const void *data,
                                 size_t size, comparer *same)
{
    struct arena *arena = &kernels->cx->arena;
    struct printed own = {.stem = stem, .print = print};

    for (int i = 0; i < kernels->printed_count; i++) {
        const struct printed *other = &kernels->printed[i];

        if (other->print == print && strcmp(other->stem, stem) == 0 && same(other->data, data))
            return other->name;
    }
    own.name = register_kernel(kernels, stem, print, data);
    own.data = memcpy(arena_alloc(arena, size), data, size);
    ARENA_PUSH(arena, kernels->printed, kernels->printed_count, own);
    return own.name;
}

/* ---- names ------------------------------------------------------------------------------------------------ */

static void name_dim(struct cx *cx, struct text *text, const struct dim *dim)
{
    const char *source = dim_text(&cx->arena, dim);
    bool gap = false;

    for (; *source; source++) {
        if (isalnum((unsigned char)*source)) {
            if (gap)
                text_add(text, "_");
            text_printf(text, "%c", *source);
            gap = false;
        } else {
            gap = true;
        }
    }
}

static void name_dims(struct cx *cx, struct text *text, int ndim, const struct dim *const *dims)
{
    if (ndim == 0)
        text_add(text, "_scalar");
    for (int i = 0; i < ndim; i++) {
        text_add(text, i ? "x" : "_");
        name_dim(cx, text, dims[i]);
    }
}

/* What is fused behind the op's own function: "linear_tanh" -> "_tanh". */
static const char *tail_name(const struct op *op, const char *base)
{
    size_t length = strlen(base);

    return op->tail && op->label && strncmp(op->label, base, length) == 0 ? op->label + length : "";
}

static const char *kernel_stem(struct cx *cx, const struct op *op)
{
    struct text text = text_new(&cx->arena);
    const struct value *y = op->outputs[0], *x = op->input_count > 0 ? op->inputs[0] : NULL;
    const char *base;

    switch (op->code) {
    case GRAPH_OP_CONTRACT:
        base = strncmp(op->label, "linear", 6) == 0 ? "linear" : "matmul";
        text_add(&text, base);
        name_dims(cx, &text, x->ndim, x->dims);
        text_add(&text, "_to_");
        name_dim(cx, &text, y->dims[y->ndim - 1]);
        text_add(&text, tail_name(op, base));
        return text.data;
    case GRAPH_OP_ATTENTION:
        base = "attention";
        text_add(&text, base);
        name_dims(cx, &text, x->ndim, x->dims);
        text_add(&text, "_over_");
        name_dim(cx, &text, op->inputs[1]->dims[op->inputs[1]->ndim - 1]);
        text_add(&text, tail_name(op, base));
        return text.data;
    case GRAPH_OP_RECURRENT:
    case GRAPH_OP_RECURRENT_GRADIENT:
        text_add(&text, op->label);
        name_dims(cx, &text, 2, y->dims);
        text_add(&text, "x");
        name_dim(cx, &text, recurrent_width(&cx->arena, op));
        if (op->recurrent.has[RECURRENT_PROJECTION]) {
            text_add(&text, "_to_");
            name_dim(cx, &text, recurrent_input(op, RECURRENT_WEIGHT)->dims[1]);
        }
        if (op->recurrent.has[RECURRENT_INPUT_WEIGHT]) {
            text_add(&text, "_of_");
            name_dim(cx, &text, x->dims[2]);
        }
        text_printf(&text, "%s%s", op->recurrent.reverse ? "_reverse" : "",
                    op->recurrent.saves ? "_saving" : "");
        return text.data;
    case GRAPH_OP_CONV:
    case GRAPH_OP_POOL:
        base = op->code == GRAPH_OP_CONV     ? "conv2d"
               : op->window.kind == POOL_MAX ? "max_pool2d"
                                             : "avg_pool2d";
        text_add(&text, base);
        name_dims(cx, &text, 3, x->dims + 1);
        text_add(&text, "_to");
        name_dims(cx, &text, 3, y->dims + 1);
        text_printf(&text, "_k%d", op->window.kernel[0]);
        if (op->window.kernel[1] != op->window.kernel[0])
            text_printf(&text, "x%d", op->window.kernel[1]);
        text_add(&text, tail_name(op, base));
        return text.data;
    case GRAPH_OP_NORM:
    case GRAPH_OP_SOFTMAX:
        base = op->code == GRAPH_OP_NORM ? "layer_norm" : op->softmax.log ? "log_softmax" : "softmax";
        text_add(&text, base);
        name_dims(cx, &text, x->ndim, x->dims);
        text_add(&text, tail_name(op, base));
        return text.data;
    case GRAPH_OP_CTC:
        text_add(&text, op->label);
        name_dims(cx, &text, x->ndim, x->dims);
        text_add(&text, "_to_");
        name_dim(cx, &text, op->ctc.labels);
        if (op->ctc.blank != 0)
            text_printf(&text, "_blank_%lld", (long long)op->ctc.blank);
        return text.data;
    default:
        text_add(&text, op->label ? op->label : op_rows[op->code]->name);
        name_dims(cx, &text,
                  op->code == GRAPH_OP_WRITE         ? op->inputs[1]->ndim
                  : x && op->code == GRAPH_OP_REDUCE ? x->ndim
                                                     : y->ndim,
                  op->code == GRAPH_OP_WRITE         ? op->inputs[1]->dims
                  : x && op->code == GRAPH_OP_REDUCE ? x->dims
                                                     : y->dims);
        if (op->code == GRAPH_OP_REDUCE) {
            text_add(&text, "_over");
            for (int i = 0; i < x->ndim; i++)
                if (op->reduce.axes[i])
                    text_printf(&text, "_%d", i);
        }
        return text.data;
    }
}

/* ---- loop nests ------------------------------------------------------------------------------------------- */

static const struct size **entry_sizes(struct cx *cx, const struct plan *plan)
{
    const struct module_tree *tree = plan->program->tree;
    const struct size **sizes = ARENA_ARRAY(&cx->arena, tree->size_count + 2,
                                            const struct size *); /* and one of a slice */

    for (int i = 0; i < tree->size_count; i++)
        sizes[i] = &tree->sizes[i];
    return sizes;
}

/* Sizes that a kernel over a block of ATTENTION may take behind those of the spec: how many queries are in it, how many keys
 * these see, and how many the first of them. */
enum { BLOCK_QUERIES, BLOCK_SEEN, BLOCK_REACH, BLOCK_SIZES };

/* By size: none. */
static bool *new_used(struct kernels *kernels)
{
    return ARENA_ARRAY(&kernels->cx->arena, kernels->plan->program->tree->size_count + BLOCK_SIZES, bool);
}

/* A nest of which one axis is dealt out to threads: its kernel runs over `count` elements of that axis. */
struct slicing {
    int slices, axis;
    int unit; /* slices begin at multiples of it */
    struct size count;
    const struct dim *extent; /* of the whole axis */
    bool *used;               /* sizes that the whole needs */
    const char *enough;       /* the condition under which threads pay, or NULL */
};

struct nest_job {
    const struct op *op; /* NULL: packing */
    struct nest nest;
    const struct dag *dag, *tail;
    const struct dim *step; /* GATHER, SCATTER: between neighbours along the axis */
    struct line line;       /* SCAN, SORT */
    const char *comment;
    struct slicing *slicing; /* NULL: not split */
};

static void mark_nest(const struct nest *nest, bool *used)
{
    for (int i = 0; i < nest->ndim; i++) {
        dim_mark_sizes(nest->dims[i], used);
        for (int j = 0; j < nest->operand_count; j++)
            dim_mark_sizes(nest->operands[j].strides[i], used);
    }
}

/* ---- slices: what threads run ---- */

static const char *size_name(struct cx *cx, const struct module_tree *tree, const char *name)
{
    for (int i = 0; i < tree->size_count; i++)
        if (strcmp(tree->sizes[i].c_name, name) == 0)
            return size_name(cx, tree, arena_format(&cx->arena, "%s_", name));
    return name;
}

/* What is emitted behind a kernel that is split: a struct of its arguments, a function that takes it and computes one slice,
 * and one with the kernel's own arguments that the step calls. */
struct split_call {
    struct text members, parameters, arguments;
    const char *type; /* of the last member */
};

static struct split_call split_call_new(struct cx *cx)
{
    return (struct split_call){text_new(&cx->arena), text_new(&cx->arena), text_new(&cx->arena), NULL};
}

static void add_argument(struct split_call *call, const char *type, const char *name)
{
    const char *gap = type[strlen(type) - 1] == '*' ? "" : " ";

    if (call->type && strcmp(call->type, type) == 0)
        text_printf(&call->members, ", %s%s", *gap ? "" : "*", name);
    else
        text_printf(&call->members, "%s    %s%s%s", call->type ? ";\n" : "", type, gap, name);
    text_printf(&call->parameters, ", %s%s%s", type, gap, name);
    text_printf(&call->arguments, "%s%s", call->type ? ", " : "", name);
    call->type = type;
}

static void add_size_arguments(struct kernels *kernels, struct split_call *call, const bool *used)
{
    const struct module_tree *tree = kernels->plan->program->tree;

    for (int i = 0; i < tree->size_count; i++)
        if (used[i])
            add_argument(call, "int", tree->sizes[i].c_name);
}

/* `body`: of the function that computes one slice, from its arguments c. `enough`: the condition under which other threads are
 * asked for help, or NULL. */
static void print_split(struct kernels *kernels, struct text *out, const char *name,
                        const struct split_call *call, int slices, const char *enough, const char *body)
{
    struct cx *cx = kernels->cx;
    const char *threading = size_name(cx, kernels->plan->program->tree, "threading");
    const char *own = size_name(cx, kernels->plan->program->tree, "call");

    text_printf(out, "\nstruct %s_call {\n%s;\n};\n\n", name, call->members.data);
    text_printf(
        out, "static void %s_slice(const void *%s, int slice)\n{\n    const struct %s_call *c = %s;\n%s}\n\n",
        name, own, name, own, body);
    text_printf(out, "static void %s_split(const struct modc_threading *%s%s)\n{\n", name, threading,
                call->parameters.data);
    text_printf(out, "    const struct %s_call %s = {%s};\n\n", name, own, call->arguments.data);
    if (enough)
        threading = arena_format(&cx->arena, "%s ? %s : NULL", enough, threading);
    text_printf(out, "    modc_split(%s, %d, %s_slice, &%s);\n}\n", threading, slices, name, own);
}

static const struct dim *result_count(struct cx *cx, const struct value *y)
{
    const struct dim *count = dim_const(&cx->arena, 1);

    for (int i = 0; i < y->ndim; i++)
        count = dim_mul(&cx->arena, count, y->dims[i]);
    return count;
}

/* The condition, over the sizes of a call, that a step has so many results; NULL: always. */
static const char *enough_values(struct cx *cx, const struct value *y, struct split split)
{
    const struct dim *count = result_count(cx, y);
    int64_t one = 1;

    for (int i = 0; i < y->ndim; i++) {
        int64_t constant = 1;

        dim_is_const(y->dims[i], &constant);
        one *= constant;
    }
    return one >= split.values ? NULL
                               : arena_format(&cx->arena, "%s >= %lld", dim_c_text(cx, count, false),
                                              (long long)split.values);
}

/* A call of the kernel. */
static void print_call(struct text *out, const char *name, int slices, const char *arguments)
{
    text_printf(out, "    %s%s(%s%s);\n", name, slices > 1 ? "_split" : "",
                slices > 1 ? "&net->threading, " : "", arguments);
}

/* Deals an axis out that is not reduced: the outermost one that has a tile for each slice whatever the sizes are, else that
 * with the most. Tiles of a contiguous axis are whole cache lines. Does nothing where there is none. */
static void slice_nest(struct kernels *kernels, struct nest_job *job, const struct value *target,
                       struct split split)
{
    struct cx *cx = kernels->cx;
    const struct module_tree *tree = kernels->plan->program->tree;
    struct slicing *slicing;
    int64_t most = 0;
    int axis = -1, unit = 1;

    for (int i = 0; i < job->nest.ndim; i++) {
        int line = dim_equals(job->nest.operands[0].strides[i], 1) ? 64 : 1;
        int64_t tiles = (dim_upper(job->nest.dims[i]) + line - 1) / line;
        bool fixed = dim_is_const(job->nest.dims[i], NULL) && tiles >= split.slices;

        if (job->nest.reduced[i] || (!fixed && tiles <= most))
            continue;
        most = tiles;
        axis = i;
        unit = line;
        if (fixed)
            break;
    }
    if (split.slices < 2 || axis < 0)
        return;
    slicing = ARENA_NEW(&cx->arena, struct slicing);
    slicing->slices = split.slices;
    slicing->axis = axis;
    slicing->unit = unit;
    slicing->extent = job->nest.dims[axis];
    slicing->count.name = slicing->count.c_name = size_name(cx, tree, "count");
    slicing->count.index = tree->size_count;
    slicing->count.max = (most + split.slices - 1) / split.slices * unit;
    slicing->used = ARENA_ARRAY(&cx->arena, tree->size_count + 2, bool);
    slicing->enough = enough_values(cx, target, split);
    if (slicing->enough)
        dim_mark_sizes(result_count(cx, target), slicing->used);
    mark_nest(&job->nest, slicing->used);
    dag_mark_sizes(job->dag, slicing->used);
    if (job->tail)
        dag_mark_sizes(job->tail, slicing->used);
    job->nest.dims[axis] = dim_size(&cx->arena, &slicing->count);
    job->comment = arena_format(&cx->arena, "%s; a slice: %s of %s", job->comment, slicing->count.c_name,
                                dim_text(&cx->arena, slicing->extent));
    job->slicing = slicing;
}

static void print_nest_split(struct kernels *kernels, struct text *out, const char *name,
                             const struct nest_job *job)
{
    struct cx *cx = kernels->cx;
    const struct slicing *own = job->slicing;
    const struct module_tree *tree = kernels->plan->program->tree;
    const char *extent = dim_c_text(cx, own->extent, true), *count = own->count.c_name;
    struct split_call call = split_call_new(cx);
    struct text body = text_new(&cx->arena), arguments = text_new(&cx->arena);
    bool *used = ARENA_ARRAY(&cx->arena, tree->size_count + 2, bool);
    bool *named = ARENA_ARRAY(&cx->arena, tree->size_count + 2, bool);

    dim_mark_sizes(own->extent, named);
    for (int i = 0; i < job->nest.operand_count; i++) {
        const char *operand = size_name(cx, tree, i ? arena_format(&cx->arena, "x%d", i - 1) : "y");
        const struct dim *stride = job->nest.operands[i].strides[own->axis];

        add_argument(
            &call,
            arena_format(&cx->arena, "%s%s *", i ? "const " : "", dtype_rows[job->nest.operands[i].dtype].c),
            operand);
        text_printf(&arguments, "%sc->%s", i ? ", " : "", operand);
        if (dim_equals(stride, 1))
            text_add(&arguments, " + from");
        else if (!dim_equals(stride, 0))
            text_printf(&arguments, " + from * %s", dim_c_text(cx, stride, true));
        dim_mark_sizes(stride, named);
    }
    add_size_arguments(kernels, &call, own->used);
    mark_nest(&job->nest, used);
    dag_mark_sizes(job->dag, used);
    if (job->tail)
        dag_mark_sizes(job->tail, used);
    for (int i = 0; i < tree->size_count; i++) {
        const char *size = tree->sizes[i].c_name;

        if (used[i] || named[i])
            text_printf(&body, "    const int %s = c->%s;\n", size, size);
        if (used[i])
            text_printf(&arguments, ", %s", size);
    }
    if (own->unit > 1) {
        const char *units = arena_format(&cx->arena, "(%s + %d) / %d", extent, own->unit - 1, own->unit);

        text_printf(&body, "    const int from = modc_share(%s, slice, %d) * %d;\n", units, own->slices,
                    own->unit);
        text_printf(&body, "    const int %s = modc_min(modc_share(%s, slice + 1, %d) * %d, %s) - from;\n\n",
                    count, units, own->slices, own->unit, extent);
    } else {
        text_printf(&body, "    const int from = modc_share(%s, slice, %d);\n", extent, own->slices);
        text_printf(&body, "    const int %s = modc_share(%s, slice + 1, %d) - from;\n\n", count, extent,
                    own->slices);
    }
    text_printf(&body, "    %s(%s, %s);\n", name, arguments.data, count);
    print_split(kernels, out, name, &call, own->slices, own->enough, body.data);
}

static void print_nest(struct kernels *kernels, struct text *out, const char *name, const void *data)
{
    const struct nest_job *job = data;
    const struct size **sizes = entry_sizes(kernels->cx, kernels->plan);
    int count = kernels->plan->program->tree->size_count;

    if (job->slicing)
        sizes[count++] = &job->slicing->count;
    if (job->op && job->op->code == GRAPH_OP_REDUCE)
        emit_reduce_kernel(kernels->cx, out, name, job->comment, job->nest, job->op->reduce.kind, job->dag,
                           job->tail, sizes, count);
    else if (job->op && job->op->code == GRAPH_OP_GATHER)
        emit_gather_kernel(kernels->cx, out, name, job->comment, job->nest, job->step, sizes, count);
    else if (job->op && job->op->code == GRAPH_OP_SCATTER)
        emit_scatter_kernel(kernels->cx, out, name, job->comment, job->nest, job->dag, job->step, sizes,
                            count);
    else if (job->op && job->op->code == GRAPH_OP_SCAN)
        emit_scan_kernel(kernels->cx, out, name, job->comment, job->nest, job->line, job->op->dag,
                         job->op->scan.kind == SCAN_PRODUCT, job->op->scan.given, sizes, count);
    else if (job->op && job->op->code == GRAPH_OP_SORT)
        emit_sort_kernel(kernels->cx, out, name, job->comment, job->nest, job->line, job->op->sort.descending,
                         sizes, count);
    else if (job->op && job->op->code == GRAPH_OP_RANDOM)
        emit_random_kernel(kernels->cx, out, name, job->comment, job->nest, job->tail, sizes, count);
    else
        emit_map_kernel(kernels->cx, out, name, job->comment, job->nest, job->dag, sizes, count);
    if (job->slicing)
        print_nest_split(kernels, out, name, job);
}

/* Does the same text come of both? The comment says what is computed, of which shapes. Slices are not compared. */
static bool same_nest(const void *one, const void *other)
{
    const struct nest_job *a = one, *b = other;
    enum op_code code = a->op ? a->op->code : GRAPH_OP_MAP;

    if (a->slicing || b->slicing || code != (b->op ? b->op->code : GRAPH_OP_MAP) ||
        (code != GRAPH_OP_MAP && code != GRAPH_OP_REDUCE) ||
        (a->op && a->op->reduce.kind != b->op->reduce.kind) || !a->dag != !b->dag ||
        (a->dag && !dag_equal(a->dag, b->dag)) || !a->tail != !b->tail ||
        (a->tail && !dag_equal(a->tail, b->tail)) || strcmp(a->comment, b->comment) != 0 ||
        a->nest.ndim != b->nest.ndim || a->nest.operand_count != b->nest.operand_count ||
        a->nest.reorder != b->nest.reorder)
        return false;
    for (int i = 0; i < a->nest.ndim; i++)
        if (!dim_equal(a->nest.dims[i], b->nest.dims[i]) || a->nest.reduced[i] != b->nest.reduced[i])
            return false;
    for (int i = 0; i < a->nest.operand_count; i++) {
        const struct nest_operand *x = &a->nest.operands[i], *y = &b->nest.operands[i];

        if (x->dtype != y->dtype)
            return false;
        for (int j = 0; j < a->nest.ndim; j++)
            if (!dim_equal(x->strides[j], y->strides[j]))
                return false;
    }
    return true;
}

static void add_sizes(struct kernels *kernels, struct text *call, const bool *used)
{
    const struct module_tree *tree = kernels->plan->program->tree;

    for (int i = 0; i < tree->size_count; i++)
        if (used[i])
            text_printf(call, ", %s", tree->sizes[i].c_name);
}

/* `operand` along the axes of `whole` (broadcast: 0). */
static struct nest_operand nest_operand(struct cx *cx, const struct value *operand, const struct value *whole)
{
    struct nest_operand out = {.dtype = operand->dtype};

    for (int i = 0; i < whole->ndim; i++) {
        int at = i - (whole->ndim - operand->ndim);

        out.strides[i] = at < 0 || dim_equals(operand->dims[at], 1) ? dim_const(&cx->arena, 0)
                                                                    : operand->strides[at];
    }
    return out;
}

static const char *shapes_comment(struct cx *cx, const struct value *y, const char *what)
{
    return arena_format(&cx->arena, "y %s = %s", shape_text(&cx->arena, y->ndim, y->dims), what);
}

static const char *dag_text(struct cx *cx, const struct dag *dag)
{
    struct text text = text_new(&cx->arena);

    dag_print(&text, dag);
    return text.data;
}

/* A map of `inputs` into `target`. */
static struct nest_job map_job(struct cx *cx, const struct value *target, const struct dag *dag,
                               struct value *const *inputs, int count)
{
    struct nest_job job = {.dag = dag};

    job.nest.ndim = target->ndim;
    memcpy(job.nest.dims, target->dims, sizeof job.nest.dims);
    job.nest.operand_count = count + 1;
    job.nest.operands = ARENA_ARRAY(&cx->arena, count + 1, struct nest_operand);
    job.nest.operands[0] = nest_operand(cx, target, target);
    for (int i = 0; i < target->ndim; i++) /* a size-1 axis of the target has stride, but one step */
        job.nest.operands[0].strides[i] = target->strides[i];
    for (int i = 0; i < count; i++)
        job.nest.operands[1 + i] = nest_operand(cx, inputs[i], target);
    job.comment = shapes_comment(cx, target, dag_text(cx, dag));
    nest_normalise(&cx->arena, &job.nest);
    return job;
}

/* The dag over the inputs that lie somewhere, which become *inputs: the others are numbers in it. */
static const struct dag *with_numbers(struct cx *cx, const struct variant *variant, const struct dag *dag,
                                      struct value *const **inputs, int *count)
{
    struct arena *arena = &cx->arena;
    struct dag *own = dag_new(arena, *count);
    struct value **left = ARENA_ARRAY(arena, *count + 1, struct value *);
    int *nodes = ARENA_ARRAY(arena, *count + 1, int), used = 0;

    for (int i = 0; i < *count; i++) {
        const struct value *base = (*inputs)[i]->base;
        struct dag_node number = {.prim = PRIM_CONST, .dtype = base->dtype, .args = {-1, -1, -1}};

        if (variant->places[base->id].kind != PLACE_NUMBER) {
            nodes[i] = dag_load(arena, own, used, base->dtype);
            left[used++] = (*inputs)[i];
            continue;
        }
        if (dtype_is_float(base->dtype))
            number.number = base->constant->data[0].f;
        else
            number.integer = base->constant->data[0].i;
        nodes[i] = dag_add(arena, own, number);
    }
    if (used == *count)
        return dag;
    own->result = dag_inline(arena, own, dag, nodes);
    own->input_count = used;
    *inputs = left;
    *count = used;
    return own;
}

static void call_map(struct kernels *kernels, struct text *out, const struct variant *variant,
                     struct split split, const char *stem, const struct value *target,
                     const char *target_pointer, const struct dag *dag, struct value *const *inputs,
                     int count)
{
    struct cx *cx = kernels->cx;
    const struct dag *own = with_numbers(cx, variant, dag, &inputs, &count);
    struct nest_job job = map_job(cx, target, own, inputs, count);
    bool *used = new_used(kernels);
    struct text arguments = text_new(&cx->arena);
    const char *name;

    if (own->nodes[own->result].prim == PRIM_CONST && strncmp(stem, "copy_", 5) == 0)
        stem = arena_format(&cx->arena, "fill_%s", stem + 5);
    mark_nest(&job.nest, used);
    dag_mark_sizes(own, used);
    slice_nest(kernels, &job, target, split);
    name = register_once(kernels, stem, print_nest, &job, sizeof job, same_nest);
    text_add(&arguments, target_pointer);
    for (int i = 0; i < count; i++)
        text_printf(&arguments, ", %s", value_pointer(cx, variant, inputs[i]));
    add_sizes(kernels, &arguments, job.slicing ? job.slicing->used : used);
    print_call(out, name, job.slicing ? split.slices : 1, arguments.data);
}

static void call_concat(struct kernels *kernels, struct text *out, const struct variant *variant,
                        const struct op *op)
{
    struct cx *cx = kernels->cx;

    for (int i = 0; i < op->input_count; i++) {
        struct value part = join_part(&cx->arena, op, i);
        struct text stem = text_new(&cx->arena);

        if (join_is_done(&cx->arena, op, i))
            continue;
        text_add(&stem, "copy");
        name_dims(cx, &stem, part.ndim, part.dims);
        call_map(kernels, out, variant, (struct split){.slices = 1}, stem.data, &part,
                 value_pointer(cx, variant, &part), dag_identity(&cx->arena, part.dtype), &op->inputs[i], 1);
    }
}

/* Operands: `indexed` where its index is 0, what comes from there or goes there, the index; all along the axes of `over`. */
static struct nest indexed_nest(struct cx *cx, const struct value *indexed, const struct value *other,
                                const struct value *index, const struct value *over, int axis, bool along)
{
    struct nest nest = {.ndim = over->ndim, .operand_count = 3};
    const struct dim *zero = dim_const(&cx->arena, 0);
    int more = along ? 0 : index->ndim - 1; /* axes of `over` for the one that is indexed */

    nest.operands = ARENA_ARRAY(&cx->arena, 3, struct nest_operand);
    nest.operands[0].dtype = indexed->dtype;
    nest.operands[1] = nest_operand(cx, other, over);
    nest.operands[2].dtype = index->dtype;
    for (int i = 0; i < over->ndim; i++) {
        bool at_index = i >= axis && i <= axis + more;

        nest.dims[i] = over->dims[i];
        nest.operands[0].strides[i] = at_index ? zero : indexed->strides[i < axis ? i : i - more];
        nest.operands[1].strides[i] = other->strides[i];
        nest.operands[2].strides[i] = along ? index->strides[i] : at_index ? index->strides[i - axis] : zero;
    }
    return nest;
}

static void call_gather(struct kernels *kernels, struct text *out, const struct variant *variant,
                        const struct op *op)
{
    struct cx *cx = kernels->cx;
    const struct value *y = op->outputs[0], *x = op->inputs[0], *index = op->inputs[1];
    struct nest_job job = {.op = op,
                           .nest = indexed_nest(cx, x, y, index, y, op->gather.axis, op->gather.along)};
    bool *used = new_used(kernels);
    struct nest_operand from = job.nest.operands[0];

    job.nest.operands[0] = job.nest.operands[1]; /* y comes first */
    job.nest.operands[1] = from;
    nest_normalise(&cx->arena, &job.nest);
    job.step = x->ndim > 0 ? x->strides[op->gather.axis] : dim_const(&cx->arena, 0);
    job.comment = shapes_comment(cx, y,
                                 arena_format(&cx->arena, "x0 %s at x1 %s along dimension %d",
                                              shape_text(&cx->arena, x->ndim, x->dims),
                                              shape_text(&cx->arena, index->ndim, index->dims),
                                              op->gather.axis));
    mark_nest(&job.nest, used);
    dim_mark_sizes(job.step, used);
    text_printf(out, "    %s(%s, %s, %s",
                register_once(kernels, kernel_stem(cx, op), print_nest, &job, sizeof job, same_nest),
                value_pointer(cx, variant, y), value_pointer(cx, variant, x),
                value_pointer(cx, variant, index));
    add_sizes(kernels, out, used);
    text_add(out, ");\n");
}

static const char *scatter_way(const struct op *op)
{
    switch (op->dag->nodes[op->dag->result].prim) {
    case PRIM_ADD:
        return ", and is added";
    case PRIM_MUL:
        return ", as a factor";
    case PRIM_MAX:
        return ", where it is larger";
    case PRIM_MIN:
        return ", where it is smaller";
    default:
        return "";
    }
}

/* A copy of input 0, then what goes into it. */
static void call_scatter(struct kernels *kernels, struct text *out, const struct variant *variant,
                         const struct op *op)
{
    struct cx *cx = kernels->cx;
    const struct value *y = op->outputs[0], *index = op->inputs[1], *source = op->inputs[2];
    struct nest_job job = {.op = op, .dag = op->dag};
    bool *used = new_used(kernels);
    struct text stem = text_new(&cx->arena);

    text_add(&stem, "copy");
    name_dims(cx, &stem, y->ndim, y->dims);
    call_map(kernels, out, variant, (struct split){.slices = 1}, stem.data, y, value_pointer(cx, variant, y),
             dag_identity(&cx->arena, y->dtype), op->inputs, 1);
    job.nest = indexed_nest(cx, y, source, index, op->scatter.along ? index : source, op->scatter.axis,
                            op->scatter.along);
    nest_normalise(&cx->arena, &job.nest);
    job.step = y->ndim > 0 ? y->strides[op->scatter.axis] : dim_const(&cx->arena, 0);
    job.comment = arena_format(
        &cx->arena, "y %s: x0 %s goes to x1 %s along dimension %d%s",
        shape_text(&cx->arena, y->ndim, y->dims), shape_text(&cx->arena, source->ndim, source->dims),
        shape_text(&cx->arena, index->ndim, index->dims), op->scatter.axis, scatter_way(op));
    mark_nest(&job.nest, used);
    dim_mark_sizes(job.step, used);
    text_printf(out, "    %s(%s, %s, %s",
                register_once(kernels, kernel_stem(cx, op), print_nest, &job, sizeof job, same_nest),
                value_pointer(cx, variant, y), value_pointer(cx, variant, source),
                value_pointer(cx, variant, index));
    add_sizes(kernels, out, used);
    text_add(out, ");\n");
}

/* SCAN and SORT: what runs along one axis, for all others. */
static void call_line(struct kernels *kernels, struct text *out, const struct variant *variant,
                      const struct op *op, int axis, bool reverse, const char *what)
{
    struct cx *cx = kernels->cx;
    const struct value *y = op->outputs[0];
    const struct dim **steps = ARENA_ARRAY(&cx->arena, op->input_count + 1, const struct dim *);
    struct nest_job job = {.op = op, .line = {y->dims[axis], steps, reverse}};
    bool *used = new_used(kernels);

    job.nest.operand_count = op->input_count + 1;
    job.nest.operands = ARENA_ARRAY(&cx->arena, op->input_count + 1, struct nest_operand);
    for (int i = 0; i < y->ndim; i++)
        if (i != axis)
            job.nest.dims[job.nest.ndim++] = y->dims[i];
    dim_mark_sizes(y->dims[axis], used);
    if (op->dag)
        dag_mark_sizes(op->dag, used);
    for (int k = 0; k < op->input_count + 1; k++) {
        struct nest_operand *own = &job.nest.operands[k];
        int count = 0;

        if (k == 1 && op->code == GRAPH_OP_SCAN && op->scan.given) { /* it has all axes but this one */
            own->dtype = op->inputs[0]->dtype;
            memcpy(own->strides, op->inputs[0]->strides, sizeof own->strides);
            steps[k] = dim_const(&cx->arena, 0);
            continue;
        }
        *own = nest_operand(cx, k > 0 ? op->inputs[k - 1] : y, y);
        steps[k] = own->strides[axis];
        for (int i = 0; i < y->ndim; i++)
            if (i != axis)
                own->strides[count++] = own->strides[i];
        dim_mark_sizes(steps[k], used);
    }
    nest_normalise(&cx->arena, &job.nest);
    job.comment = shapes_comment(cx, y, what);
    mark_nest(&job.nest, used);
    text_printf(out, "    %s(%s",
                register_once(kernels, kernel_stem(cx, op), print_nest, &job, sizeof job, same_nest),
                value_pointer(cx, variant, y));
    for (int i = 0; i < op->input_count; i++)
        text_printf(out, ", %s", value_pointer(cx, variant, op->inputs[i]));
    add_sizes(kernels, out, used);
    text_add(out, ");\n");
}

/* "sums of x0 along dimension 1", or the dag, in which the element before is called so. */
static const char *scan_text(struct cx *cx, const struct op *op)
{
    static const char *const kinds[] = {"sums", "products"};
    struct arena *arena = &cx->arena;
    const char *end = op->scan.reverse ? ", from its end" : "",
               *before = arena_format(arena, "x%d", op->input_count);
    struct dag *own = dag_new(arena, op->input_count + 1);
    int *nodes = ARENA_ARRAY(arena, op->input_count + 1, int);
    struct text text = text_new(arena);

    if (op->scan.kind != SCAN_DECAYED && op->dag->count == 3)
        return arena_format(arena, "%s of x0 along dimension %d%s", kinds[op->scan.kind], op->scan.axis, end);
    nodes[0] = dag_load(arena, own, op->input_count, op->outputs[0]->dtype);
    for (int i = op->scan.given; i < op->input_count; i++)
        nodes[1 + i - op->scan.given] = dag_load(arena, own, i, op->inputs[i]->dtype);
    own->result = dag_inline(arena, own, op->dag, nodes);
    for (const char *at = dag_text(cx, own); *at; at++) {
        if (strncmp(at, before, strlen(before)) == 0) {
            text_add(&text, "before");
            at += strlen(before) - 1;
        } else {
            text_printf(&text, "%c", *at);
        }
    }
    return arena_format(arena, "%s along dimension %d%s%s", text.data, op->scan.axis, end,
                        op->scan.given ? " and x0" : "");
}

static void call_reduce(struct kernels *kernels, struct text *out, const struct variant *variant,
                        const struct op *op, struct split split)
{
    struct cx *cx = kernels->cx;
    struct value *y = op->outputs[0], whole = {0};
    struct nest_job job = {.op = op, .tail = op->tail};
    bool *used = new_used(kernels);
    const struct value *x = op->inputs[0];
    struct text arguments = text_new(&cx->arena);
    const char *name;
    int axis = 0;

    job.dag = op->head ? op->head : dag_identity(&cx->arena, x->dtype);
    /* the loops run over the head's whole shape */
    for (int i = 0; i < op->tail_first; i++)
        if (op->inputs[i]->ndim > whole.ndim)
            whole.ndim = op->inputs[i]->ndim;
    for (int i = 0; i < whole.ndim; i++) {
        whole.dims[i] = dim_const(&cx->arena, 1);
        for (int j = 0; j < op->tail_first; j++) {
            int at = i - (whole.ndim - op->inputs[j]->ndim);

            if (at >= 0 && !dim_equals(op->inputs[j]->dims[at], 1))
                whole.dims[i] = op->inputs[j]->dims[at];
        }
        job.nest.dims[i] = whole.dims[i];
        job.nest.reduced[i] = op->reduce.axes[i];
    }
    job.nest.ndim = whole.ndim;
    job.nest.operand_count = 1 + op->input_count;
    job.nest.operands = ARENA_ARRAY(&cx->arena, 1 + op->input_count, struct nest_operand);
    job.nest.operands[0].dtype = y->dtype;
    for (int i = 0; i < whole.ndim; i++) {
        job.nest.operands[0].strides[i] = op->reduce.axes[i] ? dim_const(&cx->arena, 0) : y->strides[axis];
        if (!op->reduce.axes[i] || op->reduce.keepdim)
            axis++;
    }
    for (int j = 0; j < op->input_count; j++) {
        const struct value *operand = op->inputs[j];

        if (j < op->tail_first) {
            job.nest.operands[1 + j] = nest_operand(cx, operand, &whole);
            continue;
        }
        struct nest_operand over = nest_operand(cx, operand, y); /* along the output's axes */

        job.nest.operands[1 + j].dtype = operand->dtype;
        for (int i = 0, n = 0; i < whole.ndim; i++) {
            job.nest.operands[1 + j].strides[i] = op->reduce.axes[i] ? dim_const(&cx->arena, 0)
                                                                     : over.strides[n];
            if (!op->reduce.axes[i] || op->reduce.keepdim)
                n++;
        }
    }
    job.comment = shapes_comment(cx, y,
                                 arena_format(&cx->arena, "%.*s of %s%s%s",
                                              (int)strcspn(op->label, op->tail ? "_" : ""), op->label,
                                              dag_text(cx, job.dag), op->tail ? ", then " : "",
                                              op->tail ? dag_text(cx, op->tail) : ""));
    nest_normalise(&cx->arena, &job.nest);
    mark_nest(&job.nest, used);
    dag_mark_sizes(job.dag, used);
    if (op->tail)
        dag_mark_sizes(op->tail, used);
    slice_nest(kernels, &job, y, split);
    name = register_once(kernels, kernel_stem(cx, op), print_nest, &job, sizeof job, same_nest);
    text_add(&arguments, value_pointer(cx, variant, y));
    for (int j = 0; j < op->input_count; j++)
        text_printf(&arguments, ", %s", value_pointer(cx, variant, op->inputs[j]));
    add_sizes(kernels, &arguments, job.slicing ? job.slicing->used : used);
    print_call(out, name, job.slicing ? split.slices : 1, arguments.data);
}

static void call_random(struct kernels *kernels, struct text *out, const struct variant *variant,
                        const struct op *op)
{
    struct cx *cx = kernels->cx;
    struct value *y = op->outputs[0];
    struct nest_job job = {.op = op, .tail = op->tail};
    bool *used = new_used(kernels);

    job.nest.ndim = y->ndim;
    memcpy(job.nest.dims, y->dims, sizeof job.nest.dims);
    job.nest.operand_count = 1 + op->input_count;
    job.nest.operands = ARENA_ARRAY(&cx->arena, 1 + op->input_count, struct nest_operand);
    job.nest.operands[0] = nest_operand(cx, y, y);
    for (int i = 0; i < op->input_count; i++)
        job.nest.operands[1 + i] = nest_operand(cx, op->inputs[i], y);
    job.comment = shapes_comment(cx, y, op->tail ? dag_text(cx, op->tail) : "uniform [0, 1)");
    nest_normalise(&cx->arena, &job.nest);
    mark_nest(&job.nest, used);
    if (op->tail)
        dag_mark_sizes(op->tail, used);
    text_printf(out, "    %s(%s",
                register_once(kernels, kernel_stem(cx, op), print_nest, &job, sizeof job, same_nest),
                value_pointer(cx, variant, y));
    for (int i = 0; i < op->input_count; i++)
        text_printf(out, ", %s", value_pointer(cx, variant, op->inputs[i]));
    /* a stream for each draw of each module */
    text_printf(out, ", net->base.seed, net->base.counter%s, %du", is_backward(variant, op) ? " - 1" : "",
                (op->random.module ? op->random.module->index : 0) +
                    op->random.draw * kernels->plan->program->tree->module_count);
    add_sizes(kernels, out, used);
    text_add(out, ");\n");
}

const char *kernel_pack(struct kernels *kernels, const struct packed *entry)
{
    struct cx *cx = kernels->cx;
    struct text out = text_new(&cx->arena);
    static const char *const formats[] = {"",       "panels",    "rows",  "columns",
                                          "vector", "winograd4", "dense", "winograd2"};
    int side = winograd_side(entry->format);

    if (entry->zero)
        text_printf(&out, "    memset(k->%s, 0, sizeof k->%s);\n", entry->name, entry->name);
    for (int i = 0; i < entry->part_count; i++) {
        const struct packed_part *part = &entry->parts[i];
        int of_group = entry->part_count / entry->groups;
        struct nest_job job = {.nest = part->nest, .dag = entry->dag};
        struct text stem = text_new(&cx->arena);

        const char *storage = arena_format(&cx->arena, "_%s", dtype_rows[entry->dtype].name);

        job.comment = arena_format(&cx->arena, "y in %s = %s", entry->comment, dag_text(cx, entry->dag));
        text_printf(&stem, "pack_%s_%lldx%lld%s", formats[entry->format], (long long)entry->n / entry->groups,
                    (long long)entry->k,
                    dag_is_identity(entry->dag) ? ""
                    : entry->narrow             ? storage
                                                : "_folded");
        if (of_group > 1)
            text_add(&stem, i % of_group == 0 ? "_whole" : "_rest");
        text_printf(&out, "    %s(k->%s", register_kernel(kernels, stem.data, print_nest, &job), entry->name);
        if (part->to > 0)
            text_printf(&out, " + %lld", (long long)part->to);
        for (int j = 0; j < entry->operand_count; j++) {
            const struct value *operand = entry->operands[j];
            const struct op *op = operand->base->op;
            const char *pointer;
            int64_t offset = 0;

            if (entry->operand_entries[j])
                pointer = arena_format(&cx->arena, "k->%s", entry->operand_entries[j]->name);
            else if (op->code == GRAPH_OP_TENSOR)
                pointer = arena_format(&cx->arena, "p->%s",
                                       tensor_member(cx, entry->root, op->tensor.tensor));
            else
                pointer = plan_constant(cx, (struct plan *)kernels->plan, operand->base); /* it is there */
            dim_is_const(operand->offset, &offset);
            text_printf(&out, ", %s", pointer);
            if (offset + part->from[j] > 0)
                text_printf(&out, " + %lld", (long long)(offset + part->from[j]));
        }
        text_add(&out, ");\n");
    }
    if (side > 0)
        text_printf(&out, "    modc_winograd_weights(k->%s, %d, %lld);\n", entry->name, side,
                    (long long)entry->count / (side * side));
    return out.data;
}

const char *kernel_unpack(struct kernels *kernels, const struct packed *entry, const char *inside)
{
    struct cx *cx = kernels->cx;
    struct text out = text_new(&cx->arena);
    int64_t offset = 0;

    dim_is_const(entry->operands[0]->offset, &offset);
    for (int i = 0; i < entry->part_count; i++) {
        const struct packed_part *part = &entry->parts[i];
        int of_group = entry->part_count / entry->groups;
        struct nest_job job = {.nest = part->nest, .dag = entry->dag};
        struct text stem = text_new(&cx->arena);

        job.nest.operands = ARENA_ARRAY(&cx->arena, 2, struct nest_operand);
        job.nest.operands[0] = part->nest.operands[1];
        job.nest.operands[1] = part->nest.operands[0];
        nest_normalise(&cx->arena, &job.nest);
        job.comment = arena_format(&cx->arena, "y = x0 in %s", entry->comment);
        text_printf(&stem, "unpack_%lldx%lld", (long long)entry->n / entry->groups, (long long)entry->k);
        if (of_group > 1)
            text_add(&stem, i % of_group == 0 ? "_whole" : "_rest");
        text_printf(&out, "        %s((%s *)out", register_kernel(kernels, stem.data, print_nest, &job),
                    dtype_rows[entry->dtype].c);
        if (offset + part->from[0] > 0)
            text_printf(&out, " + %lld", (long long)(offset + part->from[0]));
        text_printf(&out, ", k->%s%s", inside, entry->name);
        if (part->to > 0)
            text_printf(&out, " + %lld", (long long)part->to);
        text_add(&out, ");\n");
    }
    return out.data;
}

/* ---- templates -------------------------------------------------------------------------------------------- */

#define MAX_HOLES 96

struct template_job {
    struct cx *cx;
    const struct op *op;
    const char *template, *comment;
    const char *parts; /* a second template, whose functions the first one calls, or NULL */
    bool apart;        /* that is a kernel of its own; else it is printed before each one that calls it */
    struct hole holes[MAX_HOLES];
    const struct dim *dims[MAX_HOLES]; /* of the holes that are sizes, else NULL */
    int hole_count;
    bool *used; /* sizes */
    const struct dag *tail;
    const struct dim *rows[MAX_DIMS + 8], *columns[MAX_DIMS + 8]; /* strides of the tail's operands */
    int extra_count;
    const char *name, *real, *vector, *weights;
    enum dtype dtype, lanes;
    bool shared_tail;                  /* printed as a function, since parts of it are used twice */
    const char *tail_args, *tail_pass; /* the sizes that it takes */
    struct split split;
    struct parameter {
        const char *type, *name; /* "const float *", "x" */
    } parameters[32];            /* those of the template's text, then operands of the tail; sizes follow */
    int parameter_count, extra_first;
    bool over_y;              /* an operand of the tail lies where y does: neither is restrict */
    int head_count;           /* what a convolution's head reads beside x */
    const struct size *block; /* what differs by block of ATTENTION, BLOCK_SIZES of them; or NULL */
    bool causal;              /* of a softmax over such a block */
};

static void add_parameter(struct template_job *job, const char *type, bool written, const char *name)
{
    assert(job->parameter_count < (int)(sizeof job->parameters / sizeof *job->parameters));
    job->parameters[job->parameter_count++] = (struct parameter){
        arena_format(&job->cx->arena, "%s%s *", written ? "" : "const ", type), name};
}

static const struct size *job_size(const struct kernels *kernels, const struct template_job *job, int index)
{
    const struct module_tree *tree = kernels->plan->program->tree;

    return index < tree->size_count ? &tree->sizes[index] : &job->block[index - tree->size_count];
}

static void hole(struct template_job *job, const char *name, const char *text)
{
    assert(job->hole_count < MAX_HOLES);
    job->holes[job->hole_count++] = (struct hole){name, text};
}

static void hole_int(struct template_job *job, const char *name, int64_t value)
{
    hole(job, name, arena_format(&job->cx->arena, "%lld", (long long)value));
}

static void hole_dim(struct template_job *job, const char *name, const struct dim *dim)
{
    dim_mark_sizes(dim, job->used);
    job->dims[job->hole_count] = dim;
    hole(job, name, dim_c_text(job->cx, dim, false));
}

/* T_m and T_fixed_m. */
static void hole_extent(struct template_job *job, const char *name, const struct dim *dim)
{
    hole_dim(job, name, dim);
    hole_int(job, arena_format(&job->cx->arena, "T_fixed_%s", name + 2), dim_is_const(dim, NULL));
}

/* Loads of the tail's operands at (row, column), as inputs of its printer. */
static const char *tail_operand(const struct template_job *job, int index, bool vector, const char *row,
                                const char *column)
{
    struct arena *arena = &job->cx->arena;
    const struct dim *row_stride = job->rows[index], *column_stride = job->columns[index];
    struct text at = text_new(arena);
    bool splat = dim_equals(column_stride, 0);

    if (!dim_equals(row_stride, 0)) {
        text_printf(&at, "(%s)", row);
        if (!dim_equals(row_stride, 1))
            text_printf(&at, " * %s", dim_c_text(job->cx, row_stride, true));
    }
    if (!splat)
        text_printf(&at, "%s(%s)", at.length ? " + " : "", column);
    if (at.length == 0)
        text_add(&at, "0");
    if (!vector)
        return arena_format(arena, "e%d[%s]", index, at.data);
    if (splat)
        return arena_format(arena, "%s_set(e%d[%s])", job->vector, index, at.data);
    return arena_format(arena, "%s_load(e%d + %s)", job->vector, index, at.data);
}

static const char *epilogue(void *data, bool vector, const char *value, const char *row, const char *column)
{
    struct template_job *job = data;
    const char *inputs[32];

    if (!job->tail)
        return value;
    inputs[0] = value;
    for (int i = 0; i < job->extra_count; i++)
        inputs[1 + i] = tail_operand(job, i, vector, row, column);
    if (job->shared_tail) {
        struct text call = text_new(&job->cx->arena);

        text_printf(&call, "%s_tail%s(", job->name, vector ? "_v" : "");
        for (int i = 0; i <= job->extra_count; i++)
            text_printf(&call, "%s%s", i ? ", " : "", inputs[i]);
        text_printf(&call, "%s)", job->tail_pass);
        return call.data;
    }
    return vector ? expr_vector(job->cx, job->tail, job->lanes, inputs, NULL, "")
                  : expr_scalar(job->cx, job->tail, inputs, NULL, "");
}

/* Would parts be written twice? */
static bool tail_is_shared(const struct dag *dag)
{
    int uses[256] = {0};

    for (int i = 0; i < dag->count && dag->count <= 256; i++) {
        const struct dag_node *node = &dag->nodes[i];

        for (int a = 0; a < prim_rows[node->prim].arity; a++)
            uses[node->args[a]]++;
    }
    for (int i = 0; i < dag->count && dag->count <= 256; i++) {
        enum prim prim = dag->nodes[i].prim;

        if (uses[i] > 1 && prim != PRIM_CONST && prim != PRIM_DIM)
            return true;
    }
    return false;
}

static void print_tail(struct template_job *job, struct text *out, bool vector)
{
    const char *inputs[32];
    const char *type = vector ? job->vector : job->real;
    const struct op *op = job->op;
    struct text before = text_new(&job->cx->arena);
    const char *result;

    text_printf(out, "MODC_INLINE %s %s_tail%s(%s x", type, job->name, vector ? "_v" : "", type);
    inputs[0] = "x";
    for (int i = 0; i < job->extra_count; i++) {
        inputs[1 + i] = arena_format(&job->cx->arena, "e%d", i);
        text_printf(out, ", %s e%d", vector ? type : dtype_rows[op->inputs[op->tail_first + i]->dtype].c, i);
    }
    text_printf(out, "%s)\n{\n", job->tail_args);
    result = vector ? expr_vector(job->cx, job->tail, job->lanes, inputs, &before, "    ")
                    : expr_scalar(job->cx, job->tail, inputs, &before, "    ");
    text_printf(out, "%s%s    return %s;\n}\n\n", before.data, before.length ? "\n" : "", result);
}

static void print_template_split(struct kernels *kernels, struct text *out, const struct template_job *job)
{
    struct cx *cx = kernels->cx;
    const struct module_tree *tree = kernels->plan->program->tree;
    struct split_call call = split_call_new(cx);
    struct text body = text_new(&cx->arena);

    text_printf(&body, "\n    %s(", job->name);
    for (int i = 0; i < job->parameter_count; i++) {
        add_argument(&call, job->parameters[i].type, job->parameters[i].name);
        text_printf(&body, "%sc->%s", i ? ", " : "", job->parameters[i].name);
    }
    add_size_arguments(kernels, &call, job->used);
    for (int i = 0; i < tree->size_count; i++)
        if (job->used[i])
            text_printf(&body, ", c->%s", tree->sizes[i].c_name);
    text_add(&body, ", slice);\n");
    print_split(kernels, out, job->name, &call, job->split.slices,
                enough_values(cx, job->op->outputs[0], job->split), body.data);
}

/* "c/conv_direct_line.c" -> "_line" */
static const char *parts_suffix(struct cx *cx, const char *file)
{
    const char *from = strrchr(file, '_');

    return arena_copy(&cx->arena, from, strcspn(from, "."));
}

/* The parameters that a kernel's functions have beside those of its template, and what they hand on. */
struct extras {
    struct text args, pass;
};

static struct extras extras_new(struct cx *cx)
{
    return (struct extras){text_new(&cx->arena), text_new(&cx->arena)};
}

static void add_sizes_to(struct extras *extras, struct kernels *kernels, const struct template_job *job,
                         const bool *used)
{
    int count = kernels->plan->program->tree->size_count + (job->block ? BLOCK_SIZES : 0);

    for (int i = 0; i < count; i++) {
        if (used[i]) {
            text_printf(&extras->args, ", int %s", job_size(kernels, job, i)->c_name);
            text_printf(&extras->pass, ", %s", job_size(kernels, job, i)->c_name);
        }
    }
}

/* Fills a template of the job. `parts`: T_PARTS, which takes `to_parts` of the extras. */
static void fill_template(struct template_job *job, struct text *out, const char *file, const char *name,
                          const char *parts, const struct extras *extras, const char *to_parts)
{
    const char *text = template_find(file);
    int count = job->hole_count;

    assert(text && "a row of the algorithm table names its templates");
    hole(job, "T_ARGS", extras->args.data);
    hole(job, "T_PASS", extras->pass.data);
    hole(job, "T_TO_PARTS", to_parts);
    template_fill(job->cx, out, text,
                  &(struct fill){.name = name,
                                 .parts = parts,
                                 .vector = job->vector,
                                 .weights = job->weights,
                                 .holes = job->holes,
                                 .count = job->hole_count,
                                 .epilogue = epilogue,
                                 .data = job});
    job->hole_count = count;
}

/* The sizes that parts need which are a kernel of their own. */
static struct extras parts_extras(struct kernels *kernels, const struct template_job *job)
{
    bool *used = new_used(kernels);
    struct extras extras = extras_new(kernels->cx);

    for (int i = 0; i < job->hole_count; i++)
        if (job->dims[i] && !dim_is_const(job->dims[i], NULL) &&
            template_has(template_find(job->parts), job->holes[i].name))
            dim_mark_sizes(job->dims[i], used);
    add_sizes_to(&extras, kernels, job, used);
    return extras;
}

/* Parts that are a kernel of their own: they know neither tail nor slices. */
static void print_parts(struct kernels *kernels, struct text *out, const char *name, const void *data)
{
    struct template_job job = *(const struct template_job *)data;
    struct extras extras = parts_extras(kernels, &job);

    job.tail = NULL;
    fill_template(&job, out, job.parts, name, NULL, &extras, "");
}

/* Named by what it has in common with others: those of recurrent layers are the same for all of a kind. */
static const char *register_parts(struct kernels *kernels, const struct template_job *job)
{
    struct cx *cx = job->cx;
    static const char *const gates[] = {"tanh_units", "relu_units", "gates", "gates"};
    struct op shape = *job->op;

    shape.tail = NULL;
    return register_kernel(
        kernels,
        op_is_recurrent(job->op)
            ? gates[job->op->recurrent.kind]
            : arena_format(&cx->arena, "%s%s", kernel_stem(cx, &shape), parts_suffix(cx, job->parts)),
        print_parts, job);
}

/* Of the result alone, "*restrict y". */
static void drop_restrict(struct cx *cx, struct text *body)
{
    static const char qualified[] = "*restrict y,";
    struct text out = text_new(&cx->arena);
    const char *from = body->data;

    for (const char *at; (at = strstr(from, qualified)) != NULL; from = at + sizeof qualified - 1) {
        text_add_bytes(&out, from, (size_t)(at - from));
        text_add(&out, "*y,");
    }
    text_add(&out, from);
    *body = out;
}

static void print_template(struct kernels *kernels, struct text *out, const char *name, const void *data)
{
    struct cx *cx = kernels->cx;
    struct template_job job = *(const struct template_job *)data;
    struct extras extras = extras_new(cx), tail = extras_new(cx);
    bool *in_tail = new_used(kernels);
    const char *parts = NULL, *to_parts = "";
    struct text body = text_new(&cx->arena);
    const char *kernel;

    job.name = name;
    for (int i = job.extra_first; i < job.parameter_count; i++) {
        text_printf(&extras.args, ", %s%s%s", job.parameters[i].type, job.over_y ? "" : "restrict ",
                    job.parameters[i].name);
        text_printf(&extras.pass, ", %s", job.parameters[i].name);
    }
    if (job.tail)
        dag_mark_sizes(job.tail, in_tail);
    add_sizes_to(&extras, kernels, &job, job.used);
    add_sizes_to(&tail, kernels, &job, in_tail);
    job.tail_args = tail.args.data;
    job.tail_pass = tail.pass.data;
    if (job.split.slices > 1) {
        text_add(&extras.args, ", const int slice");
        text_add(&extras.pass, ", slice");
    }
    if (job.apart) {
        parts = register_parts(kernels, &job);
        to_parts = parts_extras(kernels, &job).pass.data;
    } else if (job.parts) { /* the tail is in them, and wants to know where it is */
        struct extras inner = extras_new(cx);

        text_printf(&inner.args, ", const int row, const int channel%s", extras.args.data);
        text_printf(&inner.pass, ", row, channel%s", extras.pass.data);
        to_parts = inner.pass.data;
        parts = arena_format(&cx->arena, "%s%s", name, parts_suffix(cx, job.parts));
        fill_template(&job, &body, job.parts, parts, NULL, &inner, "");
        text_add(&body, "\n");
    }
    fill_template(&job, &body, job.template, name, parts, &extras, to_parts);
    if (job.over_y)
        drop_restrict(cx, &body);
    if (strstr(body.data, arena_format(&cx->arena, "%s_tail(", name)))
        print_tail(&job, out, false);
    if (strstr(body.data, arena_format(&cx->arena, "%s_tail_v(", name)))
        print_tail(&job, out, true);
    kernel = strstr(body.data,
                    "static MODC_KERNEL"); /* the comment stands above the kernel, its helpers before */
    if (!kernel)
        kernel = body.data;
    text_add_bytes(out, body.data, (size_t)(kernel - body.data));
    text_printf(out, "/* %s */\n%s", job.comment, kernel);
    if (job.split.slices > 1)
        print_template_split(kernels, out, &job);
}

static const struct dim *product(struct cx *cx, const struct value *value, int first, int last)
{
    const struct dim *out = dim_const(&cx->arena, 1);

    for (int i = first; i < last; i++)
        out = dim_mul(&cx->arena, out, value->dims[i]);
    return out;
}

/* The stride between rows of a value that legalise accepted as rows. */
static const struct dim *row_stride(struct cx *cx, const struct value *value)
{
    for (int i = value->ndim - 2; i >= 0; i--)
        if (!dim_equals(value->dims[i], 1))
            return value->strides[i];
    return value->ndim > 0 ? value->dims[value->ndim - 1] : dim_const(&cx->arena, 1);
}

/* Of an operand along one of the two batch axes that stand before its last two; 0 where it has but one there. */
static const struct dim *batch_stride(struct cx *cx, const struct value *operand, int batch)
{
    int axis = operand->ndim - 4 + batch;

    return axis >= 0 && !dim_equals(operand->dims[axis], 1) ? operand->strides[axis]
                                                            : dim_const(&cx->arena, 0);
}

static void holes_strided(struct template_job *job)
{
    struct cx *cx = job->cx;
    const struct value *x = job->op->inputs[0], *w = job->op->inputs[1], *y = job->op->outputs[0];
    static const char *const batches[2] = {"T_batch0", "T_batch1"}, *const ys[2] = {"T_y0", "T_y1"};
    static const char *const xs[2] = {"T_x0", "T_x1"}, *const ws[2] = {"T_w0", "T_w1"};
    const struct dim *zero = dim_const(&cx->arena, 0), *one = dim_const(&cx->arena, 1);

    for (int b = 0; b < 2; b++) {
        int axis = y->ndim - 4 + b; /* of y */

        hole_dim(job, batches[b], axis >= 0 ? y->dims[axis] : one);
        hole_dim(job, ys[b], axis >= 0 ? y->strides[axis] : zero);
        hole_dim(job, xs[b], batch_stride(cx, x, b));
        hole_dim(job, ws[b], batch_stride(cx, w, b));
    }
    hole_extent(job, "T_m", y->dims[y->ndim - 2]);
    hole_extent(job, "T_n", y->dims[y->ndim - 1]);
    hole_extent(job, "T_k", x->dims[x->ndim - 1]);
    hole_dim(job, "T_ym", y->strides[y->ndim - 2]);
    hole_dim(job, "T_xm", x->strides[x->ndim - 2]);
    hole_dim(job, "T_xk", x->strides[x->ndim - 1]);
    hole_dim(job, "T_wk", w->strides[w->ndim - 2]);
    hole_dim(job, "T_wn", w->strides[w->ndim - 1]);
    hole_int(job, "T_form",
             dim_equals(w->strides[w->ndim - 1], 1)                                             ? 1
             : dim_equals(x->strides[x->ndim - 1], 1) && dim_equals(w->strides[w->ndim - 2], 1) ? 2
                                                                                                : 0);
    job->comment = arena_format(&cx->arena, "y %s = x %s . w %s", shape_text(&cx->arena, y->ndim, y->dims),
                                shape_text(&cx->arena, x->ndim, x->dims),
                                shape_text(&cx->arena, w->ndim, w->dims));
}

/* Its weights are stored in fewer bits than it computes with. */
static bool is_narrow(const struct step *step)
{
    return step_packed(step, 1) && step_packed(step, 1)->narrow;
}

static void holes_contract(struct template_job *job, const struct step *step)
{
    struct cx *cx = job->cx;
    const struct op *op = job->op;
    const struct value *x = op->inputs[0], *w = op->inputs[1], *y = op->outputs[0];
    const struct dim *k = x->dims[x->ndim - 1], *n = y->dims[y->ndim - 1];
    const struct packed *packed = step_packed(step, 1);
    int64_t bytes = packed ? packed->count * dtype_rows[packed->dtype].bytes : 0;

    hole_int(job, "T_bias", op->contract.bias);
    if (step->algorithm->weight == PACKED_NONE) {
        holes_strided(job);
        return;
    }
    hole_extent(job, "T_m", product(cx, y, 0, y->ndim - 1));
    hole_extent(job, "T_n", n);
    hole_extent(job, "T_k", k);
    hole_dim(job, "T_ldx", row_stride(cx, x));
    hole_dim(job, "T_ldy", row_stride(cx, y));
    hole_dim(job, "T_ldw", packed ? k : w->strides[1]);
    hole_int(job, "T_cached", bytes <= 512 * 1024);
    hole_int(job, "T_streams", bytes > 1024 * 1024);
    job->comment = arena_format(&cx->arena, "y %s = x %s . weight (%s, %s)^T%s%s",
                                shape_text(&cx->arena, y->ndim, y->dims),
                                shape_text(&cx->arena, x->ndim, x->dims), dim_text(&cx->arena, n),
                                dim_text(&cx->arena, k), op->contract.bias ? " + bias" : "",
                                is_narrow(step) ? arena_format(&cx->arena, ", weight in %s",
                                                               dtype_rows[step_packed(step, 1)->dtype].name)
                                                : "");
}

/* `joined`: so many lines are one, of x and of y. */
static void holes_image(struct template_job *job, int joined)
{
    const struct op *op = job->op;
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    struct arena *arena = &job->cx->arena;
    const struct dim *count = dim_const(arena, joined);
    int lines = op->window.channels_last ? 1 : 2;

    hole_extent(job, "T_n", y->dims[0]);
    hole_extent(job, "T_h", dim_floordiv(arena, x->dims[lines], count));
    hole_extent(job, "T_w", dim_mul(arena, x->dims[lines + 1], count));
    hole_extent(job, "T_oh", dim_floordiv(arena, y->dims[lines], count));
    hole_dim(job, "T_ow", dim_mul(arena, y->dims[lines + 1], count));
    hole_int(job, "T_kh", op->window.kernel[0]);
    hole_int(job, "T_kw", op->window.kernel[1]);
    hole_int(job, "T_sh", op->window.stride[0]);
    hole_int(job, "T_sw", op->window.stride[1]);
    hole_int(job, "T_ph", op->window.padding[0]);
    hole_int(job, "T_pw", op->window.padding[1]);
    hole_int(job, "T_dh", op->window.dilation[0]);
    hole_int(job, "T_dw", op->window.dilation[1]);
}

static void holes_conv(struct template_job *job, const struct step *step)
{
    struct cx *cx = job->cx;
    const struct op *op = job->op;
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    const struct dim *groups = dim_const(&cx->arena, op->window.groups);
    bool by_channel = step->algorithm->weight == PACKED_COLUMNS, turned = conv_is_turned(op);
    int joined = step->algorithm->weight == PACKED_PANELS ? conv_joined_lines(op) : 1;

    holes_image(job, joined);
    hole_int(job, "T_fixed_ow", dim_is_const(y->dims[2], NULL) && dim_is_const(x->dims[2], NULL));
    hole_extent(job, "T_c", by_channel ? x->dims[3] : dim_floordiv(&cx->arena, x->dims[3], groups));
    hole_dim(job, "T_ldx", op->head ? x->dims[3] : row_stride(cx, x));
    hole_int(job, "T_turned", turned);
    if (turned) {
        hole_dim(job, "T_yn", y->strides[0]);
        hole_dim(job, "T_yc", y->strides[3]);
        hole_dim(job, "T_yh", y->strides[1]);
        hole_int(job, "T_ldv", conv_band(op));
        hole(job, "T_OUT", arena_format(&cx->arena, ", v + %lld", (long long)conv_band_offset(op)));
    } else {
        hole_dim(job, "T_ldy", row_stride(cx, y));
        hole(job, "T_OUT", "");
    }
    hole(job, "T_WORK", turned ? arena_format(&cx->arena, ", %s *restrict v", job->real) : "");
    hole_extent(job, "T_oc", dim_floordiv(&cx->arena, y->dims[3], groups));
    if (step->algorithm->weight == PACKED_NONE) {
        static const char *const strides[] = {"T_wo", "T_wh", "T_ww", "T_wc"};
        const struct value *weight = op->inputs[1];

        for (int i = 0; i < 4; i++)
            hole_dim(job, strides[i], weight->strides[i]);
        hole_int(job, "T_across", dim_equals(weight->strides[0], 1));
    }
    if (winograd_side(step->algorithm->weight) > 0) {
        struct winograd plan = winograd_of(op, step->algorithm->weight);

        hole_int(job, "T_side", plan.side);
        hole_int(job, "T_out", plan.outputs);
        hole_int(job, "T_planes", plan.planes);
        hole_int(job, "T_block", plan.block);
        hole_int(job, "T_chunk", plan.chunk);
        hole_int(job, "T_stream", plan.stream);
        hole_int(job, "T_fixed_tiles",
                 dim_is_const(y->dims[0], NULL) && dim_is_const(y->dims[1], NULL) &&
                     dim_is_const(y->dims[2], NULL));
    }
    hole_int(job, "T_apart", conv_is_apart(op));
    hole_int(job, "T_groups", op->window.groups);
    hole_int(job, "T_bias", op->window.bias);
    hole_int(job, "T_head", op->head != NULL);
    hole_int(job, "T_ring", conv_lines(op));
    job->comment = arena_format(
        &cx->arena, "y %s = conv2d(x %s, weight (%s, %d, %d, %s))%s, channels last%s%s",
        shape_text(&cx->arena, 4, y->dims), shape_text(&cx->arena, 4, x->dims),
        dim_text(&cx->arena, y->dims[3]), op->window.kernel[0], op->window.kernel[1],
        dim_text(&cx->arena, dim_floordiv(&cx->arena, x->dims[3], groups)), op->window.bias ? " + bias" : "",
        turned ? "; those of y are planes in memory" : "",
        joined > 1 ? arena_format(&cx->arena, "; %d lines are one", joined) : "");
}

/* Is it a number of whole vectors, however wide they are? */
static bool is_whole(const struct op *op, const struct dim *dim)
{
    int64_t extent;

    return dim_is_const(dim, &extent) && extent % (64 / dtype_rows[op->outputs[0]->dtype].bytes) == 0;
}

static void holes_pool(struct template_job *job)
{
    struct cx *cx = job->cx;
    const struct op *op = job->op;
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    const struct dim *channels = x->dims[op->window.channels_last ? 3 : 1];
    bool is_max = op->window.kind == POOL_MAX;

    holes_image(job, 1);
    hole_extent(job, "T_c", channels);
    hole_int(job, "T_whole_c", is_whole(op, channels));
    if (op->window.channels_last) {
        hole_dim(job, "T_ldx", row_stride(cx, x));
        hole_dim(job, "T_ldy", row_stride(cx, y));
    }
    hole_int(job, "T_is_max", is_max);
    hole_int(job, "T_clipped_h", window_is_clipped(op, 0, false));
    hole_int(job, "T_clipped_w", window_is_clipped(op, 1, false));
    hole_int(job, "T_uneven", pool_is_uneven(op));
    hole_int(job, "T_count_include_pad", op->window.count_include_pad);
    hole_int(job, "T_area",
             op->window.divisor ? op->window.divisor : op->window.kernel[0] * op->window.kernel[1]);
    if (!op->window.channels_last) {
        struct pool_plan plan = pool_plan_of(op);

        hole_int(job, "T_compact", plan.compact);
        hole_int(job, "T_lines", plan.lines);
        hole_int(job, "T_room", plan.room);
        if (plan.compact)
            hole_int(job, "T_wide", plan.wide);
        else
            hole_dim(job, "T_wide", x->dims[3]);
        hole_int(job, "T_whole_wide",
                 is_whole(op, plan.compact ? dim_const(&cx->arena, plan.wide) : x->dims[3]));
        hole_int(job, "T_whole_ow", !plan.compact && is_whole(op, y->dims[3]));
    }
    job->comment = arena_format(
        &cx->arena, "y %s = %s of windows of %d x %d of x %s%s", shape_text(&cx->arena, 4, y->dims),
        is_max ? "maximum" : "mean", op->window.kernel[0], op->window.kernel[1],
        shape_text(&cx->arena, 4, x->dims), op->window.channels_last ? ", channels last" : "");
}

static void holes_norm(struct template_job *job)
{
    struct cx *cx = job->cx;
    const struct op *op = job->op;
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    struct text eps = text_new(&cx->arena);

    hole_extent(job, "T_m", product(cx, x, 0, x->ndim - op->norm.axes));
    hole_extent(job, "T_k", product(cx, x, x->ndim - op->norm.axes, x->ndim));
    hole_dim(job, "T_ldx",
             op->norm.axes == 1 ? row_stride(cx, x) : product(cx, x, x->ndim - op->norm.axes, x->ndim));
    hole_dim(job, "T_ldy",
             op->norm.axes == 1 ? row_stride(cx, y) : product(cx, x, x->ndim - op->norm.axes, x->ndim));
    hole_int(job, "T_weight", op->norm.weight);
    hole_int(job, "T_bias", op->norm.bias);
    hole_int(job, "T_scale", op->norm.weight);
    hole_int(job, "T_shift", op->norm.bias);
    text_add(&eps, expr_number(cx, x->dtype, op->norm.eps, 0));
    hole(job, "T_eps", eps.data);
    job->comment = arena_format(
        &cx->arena, "y %s = (x - mean) / sqrt(variance + %s)%s%s by rows of the last %s",
        shape_text(&cx->arena, x->ndim, x->dims), eps.data, op->norm.weight ? " * weight" : "",
        op->norm.bias ? " + bias" : "",
        op->norm.axes == 1 ? "dimension" : arena_format(&cx->arena, "%d dimensions", op->norm.axes));
}

/* x * scale, of which the maximum is that of x? */
static bool head_is_scale(const struct dag *head, double *scale)
{
    const struct dag_node *product = head ? &head->nodes[head->result] : NULL, *a, *b;

    if (!product || product->prim != PRIM_MUL)
        return false;
    a = &head->nodes[product->args[0]];
    b = &head->nodes[product->args[1]];
    if (a->prim != PRIM_LOAD || b->prim != PRIM_CONST || !(b->number > 0) || isinf(b->number))
        return false;
    *scale = b->number;
    return true;
}

static void holes_ctc(struct template_job *job)
{
    struct cx *cx = job->cx;
    const struct op *op = job->op;
    const struct value *x = op->inputs[0];
    const struct dim *states = dim_add(
        &cx->arena, dim_mul(&cx->arena, dim_const(&cx->arena, 2), op->ctc.labels), dim_const(&cx->arena, 1));

    hole_dim(job, "T_n", x->dims[1]);
    hole_dim(job, "T_k", x->dims[2]);
    hole_int(job, "T_gradient", op->ctc.gradient);
    hole_int(job, "T_blank", op->ctc.blank);
    if (op->ctc.gradient) {
        hole_dim(job, "T_m", x->dims[0]);
        hole_dim(job, "T_states", states);
    } else {
        hole_int(job, "T_m", 0);
        hole_int(job, "T_states", 0);
    }
    job->comment = arena_format(&cx->arena, "y %s = %s of labels under x %s",
                                shape_text(&cx->arena, op->outputs[0]->ndim, op->outputs[0]->dims),
                                op->ctc.gradient ? "slope of -log of the probability"
                                                 : "-log of the probability",
                                shape_text(&cx->arena, x->ndim, x->dims));
}

static void holes_softmax(struct template_job *job)
{
    struct cx *cx = job->cx;
    const struct op *op = job->op;
    const struct value *x = op->inputs[0];
    int axis = op->softmax.axis;
    const char *along = "the last dimension";
    const char *inner = op->outputs[0] == x ? "y" : "x";
    double scale = 1;

    hole_extent(job, "T_m", product(cx, x, 0, axis));
    if (job->causal) {
        hole(job, "T_k", "width");
        hole_dim(job, "T_all", x->dims[axis]);
        hole_dim(job, "T_reach", dim_size(&cx->arena, &job->block[BLOCK_REACH]));
        along = "the last dimension, row r over reach + r values";
    } else {
        hole_extent(job, "T_k", x->dims[axis]);
    }
    if (softmax_is_last(op)) {
        hole_int(job, "T_causal", job->causal);
        hole_int(job, "T_head", job->tail && job->tail == op->head);
        hole_int(job, "T_first",
                 job->tail && job->tail == op->head && job->lanes && x->dtype == DTYPE_FLOAT32);
        hole_int(job, "T_scaled", head_is_scale(op->head, &scale));
        hole(job, "T_scale", expr_number(cx, x->dtype, scale, 0));
        hole_dim(job, "T_ldx", row_stride(cx, x));
        hole_dim(job, "T_ldy", row_stride(cx, op->outputs[0]));
        hole_int(job, "T_wide", dim_upper(x->dims[axis]) >= 128);
        hole_int(job, "T_in_place", op->outputs[0] == x);
    } else {
        const struct dim *columns = product(cx, x, axis + 1, x->ndim);

        hole_dim(job, "T_n", columns);
        hole_int(job, "T_whole_n", is_whole(op, columns));
        along = arena_format(&cx->arena, "dimension %d", axis);
    }
    hole_int(job, "T_log", op->softmax.log);
    hole_int(job, "T_safe", op->softmax.safe);
    hole_int(job, "T_vector_math", x->dtype == DTYPE_FLOAT32);
    if (scale < 1 || scale > 1)
        inner = arena_format(&cx->arena, "%s * %s", inner, expr_number(cx, x->dtype, scale, 0));
    job->comment = arena_format(&cx->arena, "y %s = %ssoftmax(%s) along %s%s",
                                shape_text(&cx->arena, x->ndim, x->dims), op->softmax.log ? "log " : "",
                                inner, along, op->softmax.safe ? ", 0 where all is -inf" : "");
}

/* Parameters that are not always there: as text, behind what the template has. */
static void hole_parameters(struct template_job *job, const char *name, int first)
{
    struct text text = text_new(&job->cx->arena);

    for (int i = first; i < job->parameter_count; i++)
        text_printf(&text, ", %srestrict %s", job->parameters[i].type, job->parameters[i].name);
    hole(job, name, text.data ? text.data : "");
}

/* The parameters of a recurrent kernel behind y: the other outputs, then the inputs in their order and what it works in, those
 * from the role `given` on in T_GIVEN. */
static void add_operands(struct template_job *job, const struct step *step, const char *const *outputs,
                         enum recurrent_input given)
{
    static const char *const names[RECURRENT_INPUTS] = {"x",       "w",       "bias",    "h",          "c",
                                                        "project", "lengths", "w_input", "bias_input", "kept",
                                                        "states",  "dy",      "dlast",   "dcell_last"};
    const struct op *op = job->op;
    int first = job->parameter_count;

    for (int i = 1; i < op->output_count; i++)
        add_parameter(job, job->real, true, outputs[i]);
    hole_parameters(job, "T_KEPT", first);
    for (int i = 0; i < RECURRENT_INPUTS; i++) {
        if (i == (int)given)
            first = job->parameter_count;
        if (op->recurrent.has[i])
            add_parameter(job,
                          i == RECURRENT_LENGTHS                     ? "int64_t"
                          : i == RECURRENT_WEIGHT && is_narrow(step) ? job->weights
                                                                     : job->real,
                          false, names[i]);
    }
    if (step->scratch_offset >= 0)
        add_parameter(job, job->real, true, "v");
    hole_parameters(job, "T_GIVEN", first);
}

/* What both directions of time are told alike. y: the states, or their gradient. */
static void holes_steps(struct template_job *job, const struct value *y)
{
    struct cx *cx = job->cx;
    const struct op *op = job->op;
    enum recurrent_kind kind = op->recurrent.kind;
    const struct dim *units = recurrent_width(&cx->arena, op),
                     *saved = dim_const(&cx->arena, recurrent_saved(kind));

    hole_int(job, "T_lstm", kind == RECURRENT_LSTM);
    hole_int(job, "T_gru", kind == RECURRENT_GRU);
    hole_int(job, "T_relu", kind == RECURRENT_RELU);
    hole_int(job, "T_gates", recurrent_gates(kind));
    hole_int(job, "T_reverse", op->recurrent.reverse);
    hole_int(job, "T_projects", op->recurrent.has[RECURRENT_PROJECTION]);
    hole_int(job, "T_lengths", op->recurrent.has[RECURRENT_LENGTHS]);
    hole_int(job, "T_vector_math", y->dtype == DTYPE_FLOAT32);
    hole_dim(job, "T_h", units);
    hole_dim(job, "T_kept", dim_mul(&cx->arena, saved, units));
    hole_dim(job, "T_k", y->dims[2]);
    hole_dim(job, "T_l", y->dims[0]);
    hole_extent(job, "T_m", y->dims[1]);
}

static const char *recurrent_text(struct cx *cx, const struct op *op)
{
    static const char *const kinds[] = {"an Elman network", "an Elman network of relu", "an LSTM", "a GRU"};

    return arena_format(&cx->arena, "%s%s", kinds[op->recurrent.kind],
                        op->recurrent.reverse ? " from the end back" : "");
}

static void holes_recurrent(struct template_job *job, const struct step *step)
{
    struct cx *cx = job->cx;
    const struct op *op = job->op;
    const bool *has = op->recurrent.has;
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    const struct dim *units = recurrent_width(&cx->arena, op), *gate_count = op->inputs[1]->dims[0];
    bool ahead = has[RECURRENT_INPUT_WEIGHT];
    bool lstm = op->recurrent.kind == RECURRENT_LSTM, panels = step->algorithm->weight == PACKED_PANELS;
    int made = 1, gates = recurrent_gates(op->recurrent.kind);
    int64_t panel = 64 / dtype_rows[y->dtype].bytes, width = dim_upper(units);
    const char *outputs[4];

    hole_dim(job, "T_lastm", has[RECURRENT_LENGTHS] ? op->outputs[made]->strides[0] : y->dims[2]);
    if (has[RECURRENT_LENGTHS])
        outputs[made++] = "last";
    hole_dim(job, "T_cellm", lstm ? op->outputs[made]->strides[0] : units);
    if (lstm)
        outputs[made++] = "cell";
    outputs[made] = "kept";
    add_operands(job, step, outputs, RECURRENT_BIAS);
    holes_steps(job, y);
    hole_int(job, "T_saves", op->recurrent.saves);
    hole_int(job, "T_wide", gates == 1 ? 8 : 2);
    hole_int(job, "T_across", gates == 1 ? 2 : 1);
    hole_int(job, "T_bias", has[RECURRENT_BIAS]);
    hole_int(job, "T_state", has[RECURRENT_STATE]);
    hole_int(job, "T_panels", panels);
    hole_int(job, "T_pitch", panels ? (width + panel - 1) / panel * panel : width);
    hole_int(job, "T_ahead", ahead);
    hole(job, "T_BESIDE", ahead ? ", const int rows_ahead, const int vector" : "");
    hole_int(job, "T_input_bias", has[RECURRENT_INPUT_BIAS]);
    hole_dim(job, "T_in", x->dims[2]);
    hole_dim(job, "T_inl", x->strides[0]);
    hole_dim(job, "T_xl", ahead ? gate_count : x->strides[0]);
    hole_dim(job, "T_xm", ahead ? gate_count : x->strides[1]);
    hole_dim(job, "T_yl", y->strides[0]);
    hole_dim(job, "T_ym", y->strides[1]);
    job->comment = arena_format(
        &cx->arena, "y %s = the states of %s over %s%s%s%s, weight (%s, %s)%s",
        shape_text(&cx->arena, 3, y->dims), recurrent_text(cx, op),
        arena_format(&cx->arena, "x %s%s%s", shape_text(&cx->arena, 3, x->dims), ahead ? " . w_input^T" : "",
                     has[RECURRENT_INPUT_BIAS] ? " + bias_input" : ""),
        has[RECURRENT_STATE] ? ", from a state" : "",
        has[RECURRENT_LENGTHS] ? ", rows of their own lengths" : "",
        has[RECURRENT_PROJECTION] ? ", projected" : "", dim_text(&cx->arena, op->inputs[1]->dims[0]),
        dim_text(&cx->arena, y->dims[2]),
        is_narrow(step) ? arena_format(&cx->arena, " in %s", dtype_rows[step_packed(step, 1)->dtype].name)
                        : "");
}

/* What converts one line of a convolution's input, (w, c), with its head: a loop nest of its own. */
static void holes_head(struct kernels *kernels, struct template_job *job)
{
    struct cx *cx = kernels->cx;
    const struct op *op = job->op;
    const struct value *x = op->inputs[0];
    const struct dim *zero = dim_const(&cx->arena, 0);
    struct nest_job line = {.dag = op->head, .nest = {.ndim = 2, .operand_count = 1 + op->head->input_count}};
    bool *used = new_used(kernels);
    struct text stem = text_new(&cx->arena), arguments = text_new(&cx->arena), pass = text_new(&cx->arena);
    struct nest_operand *operands = ARENA_ARRAY(&cx->arena, 1 + op->head->input_count, struct nest_operand);

    line.nest.operands = operands;
    for (int i = 0; i < 2; i++) {
        line.nest.dims[i] = x->dims[2 + i];
        operands[1].strides[i] = x->strides[2 + i];
    }
    operands[0] = (struct nest_operand){job->dtype, {x->dims[3], dim_const(&cx->arena, 1)}};
    operands[1].dtype = x->dtype;
    for (int i = conv_head_first(op); i < op->tail_first; i++) {
        const struct value *operand = op->inputs[i];
        bool varies = operand->ndim > 0 && !dim_equals(operand->dims[operand->ndim - 1], 1);

        operands[2 + job->head_count] = (struct nest_operand){
            operand->dtype, {zero, varies ? operand->strides[operand->ndim - 1] : zero}};
        add_parameter(job, dtype_rows[operand->dtype].c, false,
                      arena_format(&cx->arena, "h%d", job->head_count));
        text_printf(&arguments, ", const %s *h%d", dtype_rows[operand->dtype].c, job->head_count);
        text_printf(&pass, ", h%d", job->head_count++);
    }
    line.comment = arena_format(&cx->arena, "a line of an image, y %s = %s",
                                shape_text(&cx->arena, 2, x->dims + 2), dag_text(cx, op->head));
    nest_normalise(&cx->arena, &line.nest);
    mark_nest(&line.nest, used);
    dag_mark_sizes(op->head, used);
    add_sizes(kernels, &pass, used);
    for (int i = 0; i < kernels->plan->program->tree->size_count; i++)
        job->used[i] |= used[i];
    text_add(&stem, "line");
    name_dims(cx, &stem, 2, x->dims + 2);
    hole(job, "T_CONVERT", register_kernel(kernels, stem.data, print_nest, &line));
    hole(job, "T_HEAD_ARGS", arguments.data ? arguments.data : "");
    hole(job, "T_HEAD_PASS", pass.data ? pass.data : "");
    hole_dim(job, "T_xn", x->strides[0]);
    hole_dim(job, "T_xh", x->strides[1]);
    job->comment = arena_format(&cx->arena, "%s;\n * x is converted line by line: %s", job->comment,
                                dag_text(cx, op->head));
}

/* Does the same text come of both? The comment says the op and its shapes, the holes how it is computed. */
static bool same_job(const void *one, const void *other)
{
    const struct template_job *a = one, *b = other;

    if (a->template != b->template || a->hole_count != b->hole_count || a->split.values != b->split.values ||
        a->extra_count != b->extra_count || !a->tail != !b->tail ||
        (a->tail && !dag_equal(a->tail, b->tail)) || strcmp(a->comment, b->comment) != 0)
        return false;
    for (int i = 0; i < a->hole_count; i++)
        if (strcmp(a->holes[i].text, b->holes[i].text) != 0)
            return false;
    for (int i = 0; i < a->extra_count; i++)
        if (!dim_equal(a->rows[i], b->rows[i]) || !dim_equal(a->columns[i], b->columns[i]))
            return false;
    return true;
}

static void holes_attention(struct kernels *kernels, struct template_job *job, const struct step *step);
static void holes_recurrent_gradient(struct kernels *kernels, struct template_job *job,
                                     const struct step *step);

/* The first of the inputs that a template knows as operands behind its own. */
static int first_extra(const struct op *op, const struct dag *tail)
{
    if (op->code == GRAPH_OP_CTC)
        return 1;
    return op->code == GRAPH_OP_ATTENTION ? 3 : tail ? op->tail_first : op->input_count;
}

/* Fills the job of a step and registers its kernel, whose name it returns. */
static const char *template_kernel(struct kernels *kernels, struct template_job *job, const struct step *step)
{
    struct cx *cx = kernels->cx;
    const struct op *op = step->op;
    const struct value *y = op->outputs[0];
    const char *stem, *stored, *raw = dtype_rows[op->inputs[0]->dtype].c;
    bool single = y->dtype == DTYPE_FLOAT32, simple = true;
    double scale;

    job->cx = cx;
    job->op = op;
    job->template = step->algorithm->template;
    job->parts = step->algorithm->parts;
    job->split = step->split;
    job->used = new_used(kernels);
    job->dtype = y->dtype;
    job->real = dtype_rows[y->dtype].c;
    job->vector = single ? "modc_f32" : "modc_f64";
    if (op->code != GRAPH_OP_ATTENTION)
        job->tail = op->code == GRAPH_OP_SOFTMAX && op->head && !head_is_scale(op->head, &scale) ? op->head
                                                                                                 : op->tail;
    if (job->tail) {
        enum dtype lanes;

        simple = dag_vectorises(job->tail, &lanes) && lanes == y->dtype;
        job->lanes = simple ? lanes : 0;
        job->shared_tail = tail_is_shared(job->tail);
        for (int i = op->tail_first; i < op->input_count; i++) {
            bool fits = tail_strides(&cx->arena, op->inputs[i], op, &job->rows[job->extra_count],
                                     &job->columns[job->extra_count]);

            assert(fits && "legalise copied what does not fit");
            (void)fits;
            dim_mark_sizes(job->rows[job->extra_count], job->used);
            job->extra_count++;
        }
        dag_mark_sizes(job->tail, job->used);
    }
    job->weights = is_narrow(step) ? dtype_rows[step_packed(step, 1)->dtype].c : job->vector;
    stored = is_narrow(step) ? job->weights : job->real;
    hole(job, "T_real", job->real);
    hole(job, "T_stored", stored);
    hole(job, "T_raw", raw);
    hole_int(job, "T_line", 64 / dtype_rows[is_narrow(step) ? step_packed(step, 1)->dtype : y->dtype].bytes);
    hole(job, "T_vec", job->vector);
    hole(job, "T_LANES", single ? "MODC_LANES" : "MODC_LANES64");
    hole_int(job, "T_P", 64 / dtype_rows[y->dtype].bytes);
    hole_int(job, "T_vector_tail", simple);
    hole_int(job, "T_tail", job->tail != NULL);
    hole_int(job, "T_pure_tail", simple && job->extra_count == 0);
    hole(job, "T_ROWS", "MODC_DOT_ROWS");
    hole(job, "T_OUTPUTS", "MODC_DOT_OUTPUTS");
    hole_int(job, "T_slices", job->split.slices);
    for (int axis = SPLIT_NONE + 1; axis < SPLIT_AXES; axis++)
        hole_int(job, arena_format(&cx->arena, "T_by_%s", split_names[axis]), (int)job->split.axis == axis);
    if (step->scratch_offset >= 0)
        hole_int(job, "T_scratch", step->algorithm->scratch(op) / dtype_rows[y->dtype].bytes);

    add_parameter(job, job->real, true, "y");
    if (op->code == GRAPH_OP_ATTENTION) {
        static const char *const names[] = {"q", "k", "v"};

        for (int i = 0; i < 3; i++)
            add_parameter(job, job->real, false, names[i]);
    } else if (!op_is_recurrent(op)) {
        add_parameter(job, raw, false, "x");
    }
    if (op->code == GRAPH_OP_CONTRACT || op->code == GRAPH_OP_CONV || op->code == GRAPH_OP_NORM) {
        add_parameter(job, stored, false, "w");
        add_parameter(job, job->real, false, "bias");
    }
    if (step->scratch_offset >= 0 && !op_is_recurrent(op))
        add_parameter(job, job->real, true, op->code == GRAPH_OP_ATTENTION ? "s" : "v");
    if (op->code == GRAPH_OP_CONTRACT)
        holes_contract(job, step);
    else if (op->code == GRAPH_OP_RECURRENT)
        holes_recurrent(job, step);
    else if (op->code == GRAPH_OP_RECURRENT_GRADIENT)
        holes_recurrent_gradient(kernels, job, step);
    else if (op->code == GRAPH_OP_ATTENTION)
        holes_attention(kernels, job, step);
    else if (op->code == GRAPH_OP_SOFTMAX)
        holes_softmax(job);
    else if (op->code == GRAPH_OP_NORM)
        holes_norm(job);
    else if (op->code == GRAPH_OP_POOL)
        holes_pool(job);
    else if (op->code == GRAPH_OP_CTC)
        holes_ctc(job);
    else
        holes_conv(job, step);
    if (op->code == GRAPH_OP_CONV && op->head)
        holes_head(kernels, job);
    job->extra_first = job->parameter_count;
    for (int i = first_extra(op, job->tail); i < op->input_count; i++)
        add_parameter(job, dtype_rows[op->inputs[i]->dtype].c, false,
                      arena_format(&cx->arena, "e%d", job->parameter_count - job->extra_first));
    if (job->tail)
        job->comment = arena_format(&cx->arena, "%s;\n * %s %s", job->comment,
                                    job->tail == op->tail ? "then" : "before that y is",
                                    dag_text(cx, job->tail));
    job->comment = arena_format(&cx->arena, "%s.\n * %c%s", job->comment,
                                toupper((unsigned char)*step->algorithm->how), step->algorithm->how + 1);
    if (job->split.slices > 1)
        job->comment = arena_format(&cx->arena, "%s;\n * one of %d slices, by %s", job->comment,
                                    job->split.slices, split_names[job->split.axis]);

    job->apart = job->parts &&
                 (winograd_side(step->algorithm->weight) > 0 || op_is_recurrent(op) || conv_is_apart(op));
    stem = kernel_stem(cx, op);
    if (!value_is_dense(&cx->arena, y)) {
        stem = arena_format(&cx->arena, "%s_part", stem);
        job->comment = arena_format(&cx->arena, "%s;\n * y is a part of a larger value", job->comment);
    }
    if (is_narrow(step))
        stem = arena_format(&cx->arena, "%s_%s", stem, dtype_rows[step_packed(step, 1)->dtype].name);
    return register_once(kernels, stem, print_template, job, sizeof *job, same_job);
}

/* ---- attention: kernels over a block of rows of one head ---- */

/* A value of one head: its last two axes, of them so many rows and columns, or all (NULL). */
static struct value *of_head(struct cx *cx, const struct value *value, const struct dim *rows,
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

static const struct size *block_sizes(struct kernels *kernels, int64_t queries, int64_t keys)
{
    const struct module_tree *tree = kernels->plan->program->tree;
    static const char *const names[BLOCK_SIZES] = {"queries", "seen", "reach"};
    struct size *sizes = ARENA_ARRAY(&kernels->cx->arena, BLOCK_SIZES, struct size);

    for (int i = 0; i < BLOCK_SIZES; i++) {
        const char *name = size_name(kernels->cx, tree, names[i]);

        sizes[i] = (struct size){name, i == BLOCK_QUERIES ? queries : keys, tree->size_count + i, name};
    }
    return sizes;
}

/* Rows of scratch. */
static struct value *in_scratch(struct cx *cx, enum dtype dtype, const struct dim *rows,
                                const struct dim *columns, int64_t stride)
{
    struct value *value = ARENA_NEW(&cx->arena, struct value);

    *value = (struct value){.dtype = dtype, .ndim = 2, .dims = {rows, columns}};
    value->strides[0] = dim_const(&cx->arena, stride);
    value->strides[1] = dim_const(&cx->arena, 1);
    return value;
}

/* Operands of ATTENTION from `first` on, as arguments of a kernel over a block: where its first row is. */
static void pass_operands(struct template_job *job, struct text *pass, int first, int end)
{
    struct cx *cx = job->cx;

    for (int i = first; i < end; i++) {
        const struct value *operand = job->op->inputs[i];
        const struct dim *strides[] = {batch_stride(cx, operand, 0), batch_stride(cx, operand, 1),
                                       batch_stride(cx, operand, 2)};
        static const char *const indices[] = {"batch0", "batch1", "row"};

        text_printf(pass, ", e%d", i - 3);
        for (int axis = 0; axis < 3; axis++) {
            if (dim_equals(strides[axis], 0))
                continue;
            text_printf(pass, " + %s", indices[axis]);
            if (!dim_equals(strides[axis], 1))
                text_printf(pass, " * %s", dim_c_text(cx, strides[axis], true));
            dim_mark_sizes(strides[axis], job->used);
        }
    }
}

/* The sizes that a kernel over a block takes. */
static void pass_sizes(struct kernels *kernels, struct template_job *job, struct text *pass, const bool *used,
                       const struct size *block)
{
    const struct module_tree *tree = kernels->plan->program->tree;

    add_sizes(kernels, pass, used);
    for (int i = 0; i < tree->size_count; i++)
        job->used[i] |= used[i];
    for (int i = 0; block && i < BLOCK_SIZES; i++)
        if (used[block[i].index])
            text_printf(pass, ", %s", block[i].c_name);
}

static const struct algorithm *algorithm_named(const char *name)
{
    for (int i = 0; i < algorithm_count; i++)
        if (strcmp(algorithms[i].name, name) == 0)
            return &algorithms[i];
    return NULL;
}

/* Registers the kernel of an op that is a part of the job's and fills the holes of its name and of what it gets behind its
 * operands, which are in `pass` by now. block: what the part is over, or NULL. */
static void part_kernel(struct kernels *kernels, struct template_job *job, struct op *op,
                        const char *algorithm, const struct size *block, const char *name, struct text *pass)
{
    struct template_job own = {.block = block, .causal = block && job->op->attention.causal};
    struct step step = {
        .op = op, .algorithm = algorithm_named(algorithm), .split = {.slices = 1}, .scratch_offset = -1};

    op->output_count = 1;
    for (int i = op->tail_first; i < op->input_count && op->tail; i++)
        own.over_y |= op->inputs[i] == op->outputs[0];
    hole(job, name, template_kernel(kernels, &own, &step));
    pass_sizes(kernels, job, pass, own.used, block);
    hole(job, arena_format(&job->cx->arena, "%s_PASS", name), pass->data);
}

/* The same of the kernel that transposes the keys of a head into y. */
static void keys_kernel(struct kernels *kernels, struct template_job *job, struct value *y,
                        struct value *keys)
{
    struct cx *cx = kernels->cx;
    struct nest_job nest = map_job(cx, y, dag_identity(&cx->arena, y->dtype), &keys, 1);
    bool *used = new_used(kernels);
    struct text stem = text_new(&cx->arena), pass = text_new(&cx->arena);

    text_add(&stem, "keys");
    name_dims(cx, &stem, y->ndim, y->dims);
    mark_nest(&nest.nest, used);
    hole(job, "T_KEYS", register_kernel(kernels, stem.data, print_nest, &nest));
    pass_sizes(kernels, job, &pass, used, NULL);
    hole(job, "T_KEYS_PASS", pass.data);
}

static void holes_attention(struct kernels *kernels, struct template_job *job, const struct step *step)
{
    struct cx *cx = job->cx;
    const struct op *op = job->op;
    const struct value *q = op->inputs[0], *k = op->inputs[1], *v = op->inputs[2], *y = op->outputs[0];
    static const char *const batches[] = {"T_batch0", "T_batch1"}, *const ys[] = {"T_y0", "T_y1", "T_ym"};
    static const char *const qs[] = {"T_q0", "T_q1", "T_qm"}, *const ks[] = {"T_k0", "T_k1"},
                             *const vs[] = {"T_v0", "T_v1"};
    struct attention plan = attention_of(op, strcmp(step->algorithm->name, "attention_heads") == 0);
    const struct dim *keys = k->dims[k->ndim - 1], *inner = q->dims[q->ndim - 1], *queries, *seen;
    const struct size *block = block_sizes(kernels, plan.rows, dim_upper(keys));
    struct value *s, *parts[32], *key = of_head(cx, k, NULL, NULL);
    struct text pass = text_new(&cx->arena);
    struct op part;

    queries = plan.even ? dim_const(&cx->arena, plan.rows) : dim_size(&cx->arena, &block[BLOCK_QUERIES]);
    seen = op->attention.causal ? dim_size(&cx->arena, &block[BLOCK_SEEN]) : keys;
    for (int i = 0; i < 2; i++) {
        int axis = y->ndim - 4 + i;

        hole_dim(job, batches[i], axis >= 0 ? y->dims[axis] : dim_const(&cx->arena, 1));
        hole_dim(job, ks[i], batch_stride(cx, k, i));
        hole_dim(job, vs[i], batch_stride(cx, v, i));
    }
    for (int i = 0; i < 3; i++) {
        hole_dim(job, ys[i], batch_stride(cx, y, i));
        hole_dim(job, qs[i], batch_stride(cx, q, i));
    }
    hole_dim(job, "T_m", y->dims[y->ndim - 2]);
    hole_int(job, "T_rows", plan.rows);
    hole_int(job, "T_even", plan.even);
    hole_int(job, "T_turned", plan.turned);
    hole_int(job, "T_room", plan.room);
    hole_int(job, "T_causal", op->attention.causal);
    hole_int(job, "T_ahead", op->attention.ahead);
    hole_dim(job, "T_keys", keys);
    hole(job, "T_queries", block[BLOCK_QUERIES].c_name);
    hole(job, "T_seen", block[BLOCK_SEEN].c_name);
    hole(job, "T_reach", block[BLOCK_REACH].c_name);
    hole(job, "T_count", dim_c_text(cx, queries, false));
    s = in_scratch(cx, y->dtype, queries, seen, plan.stride);
    if (plan.turned) {
        struct value *turned = in_scratch(cx, y->dtype, inner, keys, plan.stride);

        keys_kernel(kernels, job, turned, key);
        key = turned;
    }

    /* the scores */
    parts[0] = of_head(cx, q, queries, NULL);
    parts[1] = of_head(cx, key, NULL, seen);
    part = (struct op){
        .code = GRAPH_OP_CONTRACT, .label = "matmul", .inputs = parts, .input_count = 2, .outputs = &s};
    part.tail_first = part.input_count;
    part_kernel(kernels, job, &part, "matmul_strided", block, "T_SCORES", &pass);

    /* the weights, in their place */
    parts[0] = s;
    for (int i = 3; i < op->tail_first; i++)
        parts[i - 2] = of_head(cx, op->inputs[i], queries, seen);
    part = (struct op){
        .code = GRAPH_OP_SOFTMAX, .label = "softmax", .inputs = parts, .tail_first = 1, .outputs = &s};
    part.input_count = op->tail_first - 2;
    part.head = dag_is_identity(op->head) ? NULL : op->head;
    part.softmax.axis = 1;
    part.softmax.safe = op->attention.safe;
    pass = text_new(&cx->arena);
    pass_operands(job, &pass, 3, op->tail_first);
    part_kernel(kernels, job, &part, "softmax", block, "T_SOFTMAX", &pass);

    /* the values */
    parts[0] = s;
    parts[1] = of_head(cx, v, seen, NULL);
    for (int i = op->tail_first; i < op->input_count; i++)
        parts[2 + i - op->tail_first] = of_head(cx, op->inputs[i], queries, NULL);
    part = (struct op){.code = GRAPH_OP_CONTRACT, .inputs = parts, .tail_first = 2, .tail = op->tail};
    part.label = arena_format(&cx->arena, "matmul%s", op->label + strlen("attention"));
    part.input_count = 2 + op->input_count - op->tail_first;
    part.outputs = (struct value *[]){of_head(cx, y, queries, NULL)};
    pass = text_new(&cx->arena);
    pass_operands(job, &pass, op->tail_first, op->input_count);
    part_kernel(kernels, job, &part, "matmul_strided", block, "T_VALUES", &pass);

    job->comment = arena_format(
        &cx->arena, "y %s = softmax(s) . v %s, s = q %s . k %s", shape_text(&cx->arena, y->ndim, y->dims),
        shape_text(&cx->arena, v->ndim, v->dims), shape_text(&cx->arena, q->ndim, q->dims),
        shape_text(&cx->arena, k->ndim, k->dims));
    if (!dag_is_identity(op->head))
        job->comment = arena_format(&cx->arena, "%s;\n * s is then %s", job->comment, dag_text(cx, op->head));
    if (op->attention.causal)
        job->comment = arena_format(
            &cx->arena, "%s;\n * query i sees keys 0 to %s", job->comment,
            op->attention.ahead ? arena_format(&cx->arena, "i + %lld", (long long)op->attention.ahead) : "i");
    if (op->tail)
        job->comment = arena_format(&cx->arena, "%s;\n * y is then %s", job->comment, dag_text(cx, op->tail));
}

/* A part that is a product: y = x . w, or y + x . w. */
static void product_kernel(struct kernels *kernels, struct template_job *job, struct value *y,
                           struct value *x, struct value *w, bool adds, const char *name, const char *over)
{
    struct arena *arena = &kernels->cx->arena;
    struct value *operands[] = {x, w, y};
    struct text pass = text_new(arena);
    struct op part = {.code = GRAPH_OP_CONTRACT,
                      .label = "matmul",
                      .inputs = operands,
                      .input_count = 2 + adds,
                      .tail_first = 2,
                      .outputs = &y};

    if (adds) {
        part.label = "matmul_add";
        part.tail = dag_new(arena, 2);
        part.tail->result = dag_prim(arena, part.tail, PRIM_ADD, y->dtype,
                                     dag_load(arena, part.tail, 0, y->dtype),
                                     dag_load(arena, part.tail, 1, y->dtype), 0);
        text_printf(&pass, ", %s", over);
    }
    part_kernel(kernels, job, &part, "matmul_strided", NULL, name, &pass);
}

static void holes_recurrent_gradient(struct kernels *kernels, struct template_job *job,
                                     const struct step *step)
{
    struct cx *cx = job->cx;
    const struct op *op = job->op;
    const bool *has = op->recurrent.has;
    const struct value *dy = recurrent_input(op, RECURRENT_D_STATES),
                       *states = recurrent_input(op, RECURRENT_STATES);
    struct value *weight = recurrent_input(op, RECURRENT_WEIGHT),
                 *projection = recurrent_input(op, RECURRENT_PROJECTION);
    bool gru = op->recurrent.kind == RECURRENT_GRU;
    const char *outputs[5];
    int made = 1;

    if (gru)
        outputs[made++] = "dhidden";
    outputs[made++] = "dstate";
    if (op->recurrent.kind == RECURRENT_LSTM)
        outputs[made++] = "dcell";
    outputs[made] = "dsum";
    add_operands(job, step, outputs, RECURRENT_GATES);
    holes_steps(job, dy);
    hole_int(job, "T_to_state", op->recurrent.to_state);
    hole_int(job, "T_last", has[RECURRENT_D_LAST]);
    hole_int(job, "T_cell", has[RECURRENT_D_CELL]);
    hole_int(job, "T_h0", has[RECURRENT_STATE]);
    hole_int(job, "T_c0", has[RECURRENT_CELL]);
    hole_dim(job, "T_dyl", dy->strides[0]);
    hole_dim(job, "T_dym", dy->strides[1]);
    hole_dim(job, "T_sl", states ? states->strides[0] : dy->dims[2]);
    hole_dim(job, "T_sm", states ? states->strides[1] : dy->dims[2]);
    product_kernel(kernels, job, op->outputs[1 + gru], of_head(cx, op->outputs[0], NULL, NULL), weight, true,
                   "T_CARRY", "dstate");
    if (projection)
        product_kernel(
            kernels, job,
            in_scratch(cx, dy->dtype, dy->dims[1], projection->dims[1], dim_upper(projection->dims[1])),
            of_head(cx, op->outputs[op->output_count - 1], NULL, NULL), projection, false, "T_PROJECT", NULL);
    job->comment = arena_format(
        &cx->arena,
        "y %s = the gradients of what the input adds to the gates of %s, from dy %s, those of its states",
        shape_text(&cx->arena, 3, op->outputs[0]->dims), recurrent_text(cx, op),
        shape_text(&cx->arena, 3, dy->dims));
}

/* Where the kernel reads the op's input: packed or where it lies. */
static const char *input_pointer(struct cx *cx, const struct variant *variant, const struct step *step,
                                 int input)
{
    if (step_packed(step, input))
        return packed_text(cx, step->packed[input]);
    return value_pointer(cx, variant, step->op->inputs[input]);
}

/* What the call of a recurrent kernel passes behind y: see add_operands. */
static void add_recurrent(struct kernels *kernels, struct text *arguments, const struct variant *variant,
                          const struct step *step)
{
    struct cx *cx = kernels->cx;
    const struct op *op = step->op;

    for (int i = 1; i < op->output_count; i++)
        text_printf(arguments, ", %s", value_pointer(cx, variant, op->outputs[i]));
    for (int i = 0; i < op->input_count; i++)
        text_printf(arguments, ", %s", input_pointer(cx, variant, step, i));
}

static void call_template(struct kernels *kernels, struct text *out, const struct variant *variant,
                          const struct step *step)
{
    struct cx *cx = kernels->cx;
    const struct op *op = step->op;
    struct template_job job = {.over_y = accumulates(variant, op)};
    const char *name = template_kernel(kernels, &job, step);
    struct text arguments = text_new(&cx->arena);
    int next = 1; /* operand behind x */

    text_add(&arguments, value_pointer(cx, variant, op->outputs[0]));
    if (op_is_recurrent(op))
        add_recurrent(kernels, &arguments, variant, step);
    else
        text_printf(&arguments, ", %s", value_pointer(cx, variant, op->inputs[0]));
    if (op->code == GRAPH_OP_CONTRACT || op->code == GRAPH_OP_CONV) {
        int bias = op_bias_at(op);

        text_printf(&arguments, ", %s", input_pointer(cx, variant, step, 1));
        text_printf(&arguments, ", %s", bias < 0 ? "NULL" : input_pointer(cx, variant, step, bias));
    } else if (op->code == GRAPH_OP_NORM) {
        text_printf(&arguments, ", %s",
                    op->norm.weight ? value_pointer(cx, variant, op->inputs[next++]) : "NULL");
        text_printf(&arguments, ", %s",
                    op->norm.bias ? value_pointer(cx, variant, op->inputs[next]) : "NULL");
    } else if (op->code == GRAPH_OP_ATTENTION) {
        for (; next < 3; next++)
            text_printf(&arguments, ", %s", value_pointer(cx, variant, op->inputs[next]));
    }
    if (step->scratch_offset >= 0)
        text_printf(&arguments, ", (%s *)(void *)(ws + %lld)", job.real, (long long)step->scratch_offset);
    for (int i = op->input_count - (job.parameter_count - job.extra_first) - job.head_count;
         i < op->input_count; i++)
        text_printf(&arguments, ", %s", value_pointer(cx, variant, op->inputs[i]));
    add_sizes(kernels, &arguments, job.used);
    print_call(out, name, job.split.slices, arguments.data);
}

const char *kernel_step(struct kernels *kernels, const struct variant *variant, const struct step *step)
{
    struct cx *cx = kernels->cx;
    struct text out = text_new(&cx->arena);
    const struct op *op = step->op;

    switch (op->code) {
    case GRAPH_OP_MAP:
        call_map(kernels, &out, variant, step->split, kernel_stem(cx, op), op->outputs[0],
                 value_pointer(cx, variant, op->outputs[0]), op->dag, op->inputs, op->input_count);
        break;
    case GRAPH_OP_WRITE:
        call_map(kernels, &out, variant, step->split, kernel_stem(cx, op), op->inputs[1],
                 value_pointer(cx, variant, op->inputs[1]), op->dag, op->inputs + 2, op->input_count - 2);
        break;
    case GRAPH_OP_CONCAT:
        call_concat(kernels, &out, variant, op);
        break;
    case GRAPH_OP_GATHER:
        call_gather(kernels, &out, variant, op);
        break;
    case GRAPH_OP_SCATTER:
        call_scatter(kernels, &out, variant, op);
        break;
    case GRAPH_OP_SCAN:
        call_line(kernels, &out, variant, op, op->scan.axis, op->scan.reverse, scan_text(kernels->cx, op));
        break;
    case GRAPH_OP_SORT:
        call_line(kernels, &out, variant, op, op->sort.axis, false,
                  arena_format(&kernels->cx->arena, "%s of x0 along dimension %d",
                               op->sort.descending ? "descending order" : "order", op->sort.axis));
        break;
    case GRAPH_OP_REDUCE:
        call_reduce(kernels, &out, variant, op, step->split);
        break;
    case GRAPH_OP_RANDOM:
        call_random(kernels, &out, variant, op);
        break;
    case GRAPH_OP_CONTRACT:
    case GRAPH_OP_CONV:
    case GRAPH_OP_POOL:
    case GRAPH_OP_NORM:
    case GRAPH_OP_SOFTMAX:
    case GRAPH_OP_ATTENTION:
    case GRAPH_OP_CTC:
    case GRAPH_OP_RECURRENT:
    case GRAPH_OP_RECURRENT_GRADIENT:
        call_template(kernels, &out, variant, step);
        break;
    default:
        break;
    }
    return out.data;
}
