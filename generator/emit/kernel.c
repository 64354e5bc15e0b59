/* kernel.c - renders the plan's kernels and the calls of them. Apart from emit.c, which prints functions and tables. */
#include "emit/kernel.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "emit/elements.h"
#include "emit/emit_kernel.h"
#include "emit/emit_names.h"
#include "emit/printer.h"
#include "emit/template.h"
#include "plan/algorithm.h"

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
    text_add(&text, emitted_name(cx, tensor->name));
    return text.data;
}

const char *shadow_name(struct cx *cx, const struct module_tensor *tensor)
{
    return arena_format(&cx->arena, "%s_shadow", emitted_flat(cx, tensor->path));
}

static bool is_shadowed(const struct variant *variant, const struct module_tensor *tensor)
{
    for (int i = 0; i < variant->shadow_count; i++)
        if (variant->shadows[i] == tensor)
            return true;
    return false;
}

static const char *packed_text(struct cx *cx, struct uses *uses, struct packed_at at)
{
    use(uses, "k");
    return arena_format(&cx->arena, "k->%s%s", at.inside, at.entry->name);
}

const char *gradient_number(const struct variant *variant, struct uses *uses, const struct place *place)
{
    if (variant->graph->region) /* it is behind that of the region's own first */
        use(uses, "gradient");
    return place->name;
}

/* A constant lies in the packed block, which `owner` knows. */
static const char *constant_on_device(struct cx *cx, const char *name, const char *owner)
{
    return arena_format(&cx->arena, "PACKED_OF(%s)->%s", owner, name);
}

static const char *base_pointer(struct cx *cx, const struct variant *variant, struct uses *uses,
                                const struct value *base)
{
    const struct place *place = &variant->places[base->id];

    switch (place->kind) {
    case PLACE_TENSOR:
    case PLACE_STATE:
        if (is_shadowed(variant, place->tensor))
            return arena_format(&cx->arena, "*%s", use(uses, shadow_name(cx, place->tensor)));
        if (place->kind == PLACE_STATE)
            return arena_format(&cx->arena, "%s->%s", use(uses, "s"), emitted_flat(cx, place->tensor->path));
        return arena_format(&cx->arena, "%s->%s", use(uses, "p"),
                            tensor_member(cx, variant->graph->root, place->tensor));
    case PLACE_PACKED:
        return packed_text(cx, uses, place->packed);
    case PLACE_GRADIENT:
        return arena_format(&cx->arena, "%s->%s", use(uses, "gradients"),
                            tensor_member(cx, variant->graph->root, place->tensor));
    case PLACE_FENCE:
        return arena_format(&cx->arena, "%s.data", use(uses, place->name));
    case PLACE_WORKSPACE:
        use(uses, place->name);
        return place->shown ? arena_format(&cx->arena, "%s.data", place->name) : place->name;
    case PLACE_PRESENT:
        return arena_format(&cx->arena, "modc_present(&%s->base, %s)", use(uses, "training"),
                            gradient_number(variant, uses, place));
    case PLACE_CONST:
        if (!variant->graph->program->settings.backend->apart)
            return use(uses, place->name);
        use(uses, "net");
        return constant_on_device(cx, place->name, "net->base.params");
    case PLACE_NONE:
        assert(!"a value without a place");
        return "?";
    default:
        return use(uses, place->name);
    }
}

static const char *add_offset(struct cx *cx, struct uses *uses, const char *pointer, const struct dim *offset)
{
    if (dim_equals(offset, 0))
        return pointer;
    return arena_format(&cx->arena, "%s + %s", pointer, dim_c_text(cx, use_dim(uses, offset), false));
}

const char *value_pointer(struct cx *cx, const struct variant *variant, struct uses *uses,
                          const struct value *value)
{
    const char *pointer = base_pointer(cx, variant, uses, value->base);
    const struct place *place = &variant->places[value->base->id];

    if ((place->kind == PLACE_FENCE || place->shown) && !dim_equals(value->offset, 0)) /* it is void * */
        pointer = arena_format(&cx->arena, "(%s *)%s", dtype_rows[value->dtype].c, pointer);
    return add_offset(cx, uses, pointer, value->offset);
}

static const char *add_elements(struct cx *cx, const char *pointer, int64_t offset)
{
    return offset > 0 ? arena_format(&cx->arena, "%s + %lld", pointer, (long long)offset) : pointer;
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

/* Where operands are: a variant, or packing, where tensors are those of a module; an entry to unpack is in `inside`. */
struct scene {
    const struct backend *backend;
    const struct variant *variant;
    struct uses *uses;
    const struct module *root;
    const char *inside;
    const char *model, *run; /* see struct call_place */
};

/* A region's numbers are those of the module and of the call that its caller says. */
static const char *stream_text(struct cx *cx, const struct variant *variant, struct uses *uses,
                               const struct operand *operand)
{
    const long long behind = operand->offset - variant->graph->root->index;

    use(uses, "net");
    if (variant->graph->program->settings.backend->apart) {
        if (!variant->graph->region)
            return arena_format(&cx->arena, "&net->cuda.head->random, %d, %lldu", operand->earlier,
                                (long long)operand->offset);
        use(uses, "behind");
        use(uses, "module");
        return arena_format(&cx->arena, "&net->cuda.head->random, behind, (uint32_t)(module + %lld)", behind);
    }
    if (!variant->graph->region)
        return arena_format(&cx->arena, "net->base.seed, net->base.counter%s, %lldu",
                            operand->earlier ? " - 1" : "", (long long)operand->offset);
    use(uses, "counter");
    use(uses, "module");
    if (behind == 0)
        return "net->base.seed, counter, (uint32_t)module";
    return arena_format(&cx->arena, "net->base.seed, counter, (uint32_t)(module + %lld)", behind);
}

static const char *pointer_text(struct cx *cx, const struct scene *scene, const struct operand *operand)
{
    struct arena *arena = &cx->arena;

    switch (operand->kind) {
    case OPERAND_VALUE:
        return value_pointer(cx, scene->variant, scene->uses, operand->value);
    case OPERAND_PACKED:
        return add_elements(cx, packed_text(cx, scene->uses, operand->packed), operand->offset);
    case OPERAND_SCRATCH:
        return arena_format(arena, "(void *)(%s + %lld)", use(scene->uses, "ws"), (long long)operand->offset);
    case OPERAND_SIZE:
        return use(scene->uses, operand->size->c_name);
    case OPERAND_NUMBER:
        return arena_format(arena, "%lld", (long long)operand->offset);
    case OPERAND_BYTES:
        if (operand->value)
            return arena_format(arena, "modc_tensor_bytes(&%s)",
                                use(scene->uses, scene->variant->places[operand->value->id].name));
        return arena_format(arena, "sizeof(%s) * %s%s", dtype_rows[operand->dtype].c,
                            dim_is_const(operand->count, NULL) ? "" : "(size_t)",
                            dim_c_text(cx, use_dim(scene->uses, operand->count), true));
    case OPERAND_WORD:
        return operand->name;
    case OPERAND_NULL:
        return "NULL";
    case OPERAND_FAULT:
        if (!scene->variant)
            return "NULL";
        use(scene->uses, "net");
        return "&net->cuda.head->fault";
    case OPERAND_STREAM:
        return stream_text(cx, scene->variant, scene->uses, operand);
    case OPERAND_ENTRY:
        return add_elements(cx, arena_format(arena, "k->%s%s", scene->inside, operand->packed.entry->name),
                            operand->offset);
    case OPERAND_TENSOR:
        return add_elements(cx, arena_format(arena, "p->%s", tensor_member(cx, scene->root, operand->tensor)),
                            operand->offset);
    case OPERAND_CONSTANT:
        return add_elements(
            cx, scene->backend->apart ? constant_on_device(cx, operand->name, "params") : operand->name,
            operand->offset);
    case OPERAND_OUT:
        return add_elements(cx, arena_format(arena, "(%s *)out", dtype_rows[operand->dtype].c),
                            operand->offset);
    }
    return "";
}

static const char *operand_text(struct cx *cx, const struct scene *scene, const struct operand *operand)
{
    const char *text = pointer_text(cx, scene, operand);

    if (!operand->scales)
        return text;
    if (scene->variant)
        use(scene->uses, "net");
    return arena_format(&cx->arena, "modc_scales_of(%s, %s)", scene->variant ? "net->base.params" : "params",
                        text);
}

static void print_call(struct cx *cx, struct text *out, const char *indent, const struct scene *scene,
                       const struct kernel_call *call)
{
    struct text arguments = text_new(&cx->arena);

    for (int i = 0; i < call->operand_count; i++)
        text_printf(&arguments, "%s%s", i ? ", " : "", operand_text(cx, scene, &call->operands[i]));
    if (call->kernel->split.slices > 1 || (scene->backend->apart && scene->variant))
        use(scene->uses, "net");
    printer_of(scene->backend)
        ->call(out, &(struct call_place){indent, scene->model, scene->run}, call->kernel, arguments.data);
}

static void print_calls(struct cx *cx, struct text *out, const char *indent, const struct scene *scene,
                        const struct kernel_calls *calls)
{
    for (int i = 0; i < calls->count; i++)
        print_call(cx, out, indent, scene, &calls->list[i]);
}

const char *run_macro(const struct variant *variant, enum part part)
{
    return !variant->graph->fenced ? "MODC_RUN"
           : part == PART_FORWARD  ? "MODC_RUN_HOOKED"
                                   : "MODC_RUN_BACKWARD";
}

const char *kernel_step(struct cx *cx, const struct variant *variant, struct uses *uses,
                        const struct step *step)
{
    struct text out = text_new(&cx->arena);
    const struct program *program = variant->graph->program;
    const struct scene scene = {
        .backend = program->settings.backend,
        .variant = variant,
        .uses = uses,
        .model = program->tree->name,
        .run = run_macro(variant, variant_part(variant, (int)(step - variant->steps)))};

    print_calls(cx, &out, "    ", &scene, &step->packings);
    print_calls(cx, &out, "    ", &scene, &step->calls);
    return out.data;
}

const char *kernel_pack(struct cx *cx, const struct plan *plan, const struct packed *entry)
{
    struct text out = text_new(&cx->arena);
    int side = winograd_side(entry->format);

    if (entry->zero && !entry->panels)
        text_printf(&out,
                    plan->backend->apart ? "    MODC_RUN_PACK(modc_cuda_zero, k->%s, 0, sizeof k->%s);\n"
                                         : "    memset(k->%s, 0, sizeof k->%s);\n",
                    entry->name, entry->name);
    print_calls(cx, &out, "    ",
                &(struct scene){.backend = plan->backend,
                                .uses = uses_new(&cx->arena, plan->program->tree),
                                .root = entry->root,
                                .inside = "",
                                .model = plan->model,
                                .run = "MODC_RUN_PACK"},
                &entry->calls);
    if (side > 0)
        text_printf(&out, "    modc_winograd_weights(k->%s, %d, %lld);\n", entry->name, side,
                    (long long)entry->count / (side * side));
    return out.data;
}

const char *kernel_unpack(struct cx *cx, const struct plan *plan, const struct packed *entry,
                          const char *inside)
{
    struct text out = text_new(&cx->arena);

    print_calls(cx, &out, "        ",
                &(struct scene){.backend = plan->backend,
                                .uses = uses_new(&cx->arena, plan->program->tree),
                                .inside = inside},
                &plan_find_unpacking(plan, entry)->calls);
    return out.data;
}

/* ---- slices: what threads run ------------------------------------------------------------------------------- */

/* A kernel that is being rendered. */
struct rendering {
    struct cx *cx;
    struct kernel_texts *texts;
    const struct module_tree *tree;
    const struct backend *backend;
    const struct kernel *kernel;
    const char *tail_args, *tail_pass;   /* the sizes that a tail of its own takes */
    const char *score_args, *score_pass; /* and those that scores take */
    struct forms tails;                  /* that are called as functions */
};

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

static void add_size_arguments(const struct rendering *r, struct split_call *call, const bool *used)
{
    const struct module_tree *tree = r->tree;

    for (int i = 0; i < tree->size_count; i++)
        if (used[i])
            add_argument(call, "int", tree->sizes[i].c_name);
}

/* `body`: of the function that computes one slice, from its arguments c. `enough`: the condition under which other threads are
 * asked for help, or NULL. */
static void print_split(const struct rendering *r, struct text *out, const char *name,
                        const struct split_call *call, int slices, const char *enough, const char *body)
{
    struct cx *cx = r->cx;
    const char *threading = size_name(cx, r->tree, "threading");
    const char *own = size_name(cx, r->tree, "call");

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

/* The condition, over the sizes of a call, under which threads pay; NULL: they always do. */
static const char *enough_text(struct cx *cx, const struct kernel *kernel)
{
    return kernel->enough ? arena_format(&cx->arena, "%s >= %lld", dim_c_text(cx, kernel->enough, false),
                                         (long long)kernel->split.values)
                          : NULL;
}

/* "const float *" */
static const char *pointer_type(struct cx *cx, const struct kernel_parameter *parameter)
{
    return arena_format(&cx->arena, "%s%s *", parameter->written ? "" : "const ",
                        dtype_rows[parameter->element.stored].c);
}

/* ---- loop nests --------------------------------------------------------------------------------------------- */

static void print_nest_split(const struct rendering *r, struct text *out)
{
    struct cx *cx = r->cx;
    const struct kernel *kernel = r->kernel;
    const struct slicing *own = kernel->slicing;
    const struct module_tree *tree = r->tree;
    const char *extent = dim_c_text(cx, own->extent, true), *count = own->count.c_name;
    struct split_call call = split_call_new(cx);
    struct text body = text_new(&cx->arena), arguments = text_new(&cx->arena);
    bool *named = ARENA_ARRAY(&cx->arena, kernel->used_count, bool);

    dim_mark_sizes(own->extent, named);
    for (int i = 0; i < kernel->parameter_count; i++) {
        const char *operand = size_name(cx, tree, kernel->parameters[i].name);
        const struct dim *stride = kernel->nest.operands[i].strides[own->axis];

        add_argument(&call, pointer_type(cx, &kernel->parameters[i]), operand);
        text_printf(&arguments, "%sc->%s", i ? ", " : "", operand);
        if (dim_equals(stride, 1))
            text_add(&arguments, " + from");
        else if (!dim_equals(stride, 0))
            text_printf(&arguments, " + from * %s", dim_c_text(cx, stride, true));
        dim_mark_sizes(stride, named);
    }
    add_size_arguments(r, &call, own->used);
    for (int i = 0; i < tree->size_count; i++) {
        const char *size = tree->sizes[i].c_name;

        if (kernel->used[i] || named[i])
            text_printf(&body, "    const int %s = c->%s;\n", size, size);
        if (kernel->used[i])
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
    text_printf(&body, "    %s(%s, %s);\n", kernel->name, arguments.data, count);
    print_split(r, out, kernel->name, &call, own->slices, enough_text(cx, kernel), body.data);
}

static bool reduces_rows(const struct kernel *kernel)
{
    return kernel->kind == NEST_REDUCE && kernel->loops.way == NEST_ROWS;
}

static void print_nest(const struct rendering *r, struct text *out)
{
    const struct kernel *kernel = r->kernel;
    const int most = kernel->length_count + r->tree->size_count + 1;
    const struct size **sizes = ARENA_ARRAY(&r->cx->arena, most, const struct size *);
    struct nest_scene scene = {.sizes = sizes,
                               .device = backend_device(r->backend),
                               .prefix = r->texts->plan->model,
                               .launchers = &r->texts->launchers,
                               .guarded = kernel->guarded};

    for (int i = 0; i < kernel->length_count; i++)
        sizes[scene.size_count++] = kernel->lengths[i];
    for (int i = 0; i < r->tree->size_count; i++)
        sizes[scene.size_count++] = &r->tree->sizes[i];
    if (kernel->slicing)
        sizes[scene.size_count++] = &kernel->slicing->count;
    if (kernel->takes_function) /* random numbers and sums of rows come one by one, all else in vectors */
        keep_forms(r->texts, kernel,
                   (struct forms){.vector = !reduces_rows(kernel), .scalar = reduces_rows(kernel)});
    else if (kernel->function)
        call_function(r->texts, kernel->function, (struct forms){.scalar = true});
    printer_of(r->backend)->nests[kernel->kind](r->cx, out, kernel, &scene);
    if (kernel->slicing)
        print_nest_split(r, out);
}

/* ---- the tail of a template ---------------------------------------------------------------------------------- */

/* A template's index as an operand: a sum gets parentheses. */
static const char *index_text(struct arena *arena, const char *index)
{
    const char *c = index;

    while (isalnum((unsigned char)*c) || *c == '_')
        c++;
    return *c ? arena_format(arena, "(%s)", index) : index;
}

/* Loads of the tail's operands at (row, column), as inputs of its printer. count: of how many lanes; NULL: of all. */
static const char *tail_operand(const struct rendering *r, int index, bool vector, const char *row,
                                const char *column, const char *count)
{
    struct arena *arena = &r->cx->arena;
    const struct tail_operand *operand = &r->kernel->extras[index];
    struct text at = text_new(arena);
    bool splat = dim_equals(operand->column, 0);
    const char *value;

    for (int i = 0; i < 2; i++)
        if (operand->batch[i] && !dim_equals(operand->batch[i], 0))
            text_printf(&at, "%sbatch%d * %s", at.length ? " + " : "", i,
                        dim_c_text(r->cx, operand->batch[i], true));
    if (operand->row_name) {
        text_printf(&at, "%s * %s", index_text(arena, row), operand->row_name);
    } else if (!dim_equals(operand->row, 0)) {
        text_printf(&at, "%s%s", at.length ? " + " : "", index_text(arena, row));
        if (!dim_equals(operand->row, 1))
            text_printf(&at, " * %s", dim_c_text(r->cx, operand->row, true));
    }
    if (!splat)
        text_printf(&at, "%s%s", at.length ? " + " : "", index_text(arena, column));
    if (at.length == 0)
        text_add(&at, "0");
    if (vector && !splat)
        return arena_format(arena, count ? "%s_load_part(e%d + %s, %s)" : "%s_load(e%d + %s)",
                            element_vector(operand->element), index, at.data, count);
    value = element_read(r->cx, operand->element, arena_format(arena, "e%d[%s]", index, at.data));
    return vector ? arena_format(arena, "%s_set(%s)", vector_prefix(r->kernel->computed), value) : value;
}

/* In which a function of its own computes the tail. */
static const char *epilogue_type(const struct kernel *kernel, bool vector)
{
    return vector ? vector_prefix(kernel->computed) : dtype_rows[kernel->computed].c;
}

/* What a core calls the function that it takes. */
static const char *function_argument(bool vector)
{
    return vector ? "TAIL_V" : "TAIL";
}

static const char *epilogue(void *data, bool vector, const char *value, const char *row, const char *column,
                            const char *count)
{
    struct rendering *r = data;
    const struct kernel *kernel = r->kernel;
    const char *inputs[32];

    if (!kernel->tail && !kernel->takes_function)
        return value;
    inputs[0] = value;
    for (int i = kernel->score_count; i < kernel->extra_count; i++)
        inputs[1 + i - kernel->score_count] = tail_operand(r, i, vector, row, column, count);
    if (kernel->tail_shared || kernel->takes_function) {
        struct text call = text_new(&r->cx->arena);

        *(vector ? &r->tails.vector : &r->tails.scalar) = true;
        if (kernel->takes_function)
            text_add(&call, function_argument(vector));
        else
            text_printf(&call, "%s_tail%s", kernel->name, vector ? "_v" : "");
        for (int i = 0; i <= kernel->extra_count - kernel->score_count; i++)
            text_printf(&call, "%s%s", i ? ", " : "(", inputs[i]);
        text_printf(&call, "%s)", kernel->takes_function ? "" : r->tail_pass);
        return call.data;
    }
    return vector ? expr_vector(r->cx, kernel->tail, kernel->lanes, inputs, NULL, "")
                  : expr_scalar(r->cx, kernel->tail, inputs, NULL, "");
}

/* The operand of the tail that the last factor of a RESCALE is, counted from 0; -1: there is none, or a core does not know its tail. */
static int rescaling_operand(const struct kernel *kernel)
{
    for (int i = 0; kernel->tail && i < kernel->tail->count; i++) {
        const struct dag_node *node = &kernel->tail->nodes[i];

        if (node->prim == PRIM_RESCALE && kernel->tail->nodes[node->args[2]].prim == PRIM_LOAD)
            return kernel->tail->nodes[node->args[2]].input - 1 + kernel->score_count;
    }
    return -1;
}

static const char *factor(void *data, const char *row, const char *column)
{
    const struct rendering *r = data;

    return tail_operand(r, rescaling_operand(r->kernel), false, row, column, NULL);
}

/* "float x, float e0": what a function of a tail takes, of which these extras are the operands; their names are `inputs`. */
static void tail_parameters(const struct rendering *r, struct text *out, bool vector, int first, int end,
                            const char **inputs)
{
    const struct kernel *kernel = r->kernel;
    const char *type = epilogue_type(kernel, vector);

    text_printf(out, "%s x", type);
    inputs[0] = "x";
    for (int i = first; i < end; i++) {
        inputs[1 + i - first] = arena_format(&r->cx->arena, "e%d", i);
        text_printf(out, ", %s e%d", vector ? type : dtype_rows[kernel->extras[i].element.computed].c, i);
    }
}

/* Of a core whose tail is its own: the function that computes it. */
static void print_tail(const struct rendering *r, struct text *out, bool vector)
{
    const struct kernel *kernel = r->kernel;
    const enum dtype made = kernel->tail->nodes[kernel->tail->result].dtype;
    const char *inputs[32], *result;
    struct text before = text_new(&r->cx->arena);

    text_printf(out, "MODC_INLINE %s %s_tail%s(",
                dtype_is_int(made) ? dtype_rows[made].c : epilogue_type(kernel, vector), kernel->name,
                vector ? "_v" : ""); /* integers are stored in as few bytes as the tail makes of them */
    tail_parameters(r, out, vector, kernel->score_count, kernel->extra_count, inputs);
    text_printf(out, "%s)\n{\n", r->tail_args);
    result = vector ? expr_vector(r->cx, kernel->tail, kernel->lanes, inputs, &before, "    ")
                    : expr_scalar(r->cx, kernel->tail, inputs, &before, "    ");
    text_printf(out, "%s%s    return %s;\n}\n\n", before.data, before.length ? "\n" : "", result);
}

/* What a score goes through: a function of its own. */
static void print_scores(const struct rendering *r, struct text *out)
{
    const struct kernel *kernel = r->kernel;
    const char *inputs[32], *result;
    struct text before = text_new(&r->cx->arena);

    text_printf(out, "MODC_INLINE %s %s_score(", epilogue_type(kernel, false), kernel->name);
    tail_parameters(r, out, false, 0, kernel->score_count, inputs);
    result = expr_scalar(r->cx, kernel->scores, inputs, &before, "    ");
    text_printf(out, "%s)\n{\n%s%s    return %s;\n}\n\n", r->score_args, before.data,
                before.length ? "\n" : "", result);
}

static const char *score(void *data, const char *value, const char *row, const char *column)
{
    const struct rendering *r = data;
    const struct kernel *kernel = r->kernel;
    struct text call = text_new(&r->cx->arena);

    if (!kernel->scores)
        return value;
    text_printf(&call, "%s_score(%s", kernel->name, value);
    for (int i = 0; i < kernel->score_count; i++)
        text_printf(&call, ", %s", tail_operand(r, i, false, row, column, NULL));
    text_printf(&call, "%s)", r->score_pass);
    return call.data;
}

/* "float (*TAIL)(float x, float e0)": of a template's core, which knows what its tail reads. */
static const char *function_declaration(const struct rendering *r, bool vector)
{
    struct cx *cx = r->cx;
    const struct kernel *core = r->kernel;
    const char *type = epilogue_type(core, vector);
    struct text text = text_new(&cx->arena);

    text_printf(&text, "%s (*%s)(%s x", type, function_argument(vector), type);
    for (int i = 0; i < core->extra_count; i++)
        text_printf(&text, ", %s e%d", vector ? type : dtype_rows[core->extras[i].element.computed].c, i);
    text_add(&text, ")");
    return text.data;
}

/* ---- templates ---------------------------------------------------------------------------------------------- */

/* What a kernel's functions take beside the parameters of its template, and what they hand on. */
struct extras {
    struct text args, pass;
    const char **sizes; /* those of them that are sizes of the spec, or of a block */
    int size_count;
};

static struct extras extras_new(struct cx *cx)
{
    return (struct extras){.args = text_new(&cx->arena), .pass = text_new(&cx->arena)};
}

static void add_sizes(const struct rendering *r, struct extras *extras, const struct kernel *kernel,
                      const bool *used)
{
    for (int i = 0; i < r->tree->size_count + (kernel->block ? BLOCK_SIZES : 0); i++) {
        const struct size *size = i < r->tree->size_count ? &r->tree->sizes[i]
                                                          : &kernel->block[i - r->tree->size_count];

        if (used[i]) {
            text_printf(&extras->args, ", int %s", size->c_name);
            text_printf(&extras->pass, ", %s", size->c_name);
            ARENA_PUSH(&r->cx->arena, extras->sizes, extras->size_count, size->c_name);
        }
    }
}

static void add_parameter(struct cx *cx, struct text *text, const struct kernel_parameter *parameter)
{
    switch (parameter->kind) {
    case PARAMETER_VALUES:
        text_printf(text, ", %s%s%s", pointer_type(cx, parameter), parameter->restricted ? "restrict " : "",
                    parameter->name);
        break;
    case PARAMETER_LINES:
        text_printf(text, ", %sconst *%s", pointer_type(cx, parameter), parameter->name);
        break;
    case PARAMETER_COUNT:
        text_printf(text, ", const int %s", parameter->name);
    }
}

static const char *parameters_text(struct cx *cx, const struct kernel *kernel, int first, int count)
{
    struct text text = text_new(&cx->arena);

    for (int i = first; i < first + count; i++)
        add_parameter(cx, &text, &kernel->parameters[i]);
    return text.data;
}

static const char *passed_text(struct cx *cx, const struct hole *hole)
{
    struct text text = text_new(&cx->arena);

    for (int i = 0; i < hole->count; i++) {
        const struct passed *passed = &hole->passed[i];

        text_printf(&text, ", %s", passed->name);
        for (int j = 0; j < passed->step_count; j++) {
            const struct passed_step *step = &passed->steps[j];

            if (!step->name && dim_equals(step->stride, 0))
                continue;
            text_printf(&text, " + %s", step->index);
            if (step->name)
                text_printf(&text, " * %s", step->name);
            else if (!dim_equals(step->stride, 1))
                text_printf(&text, " * %s", dim_c_text(cx, step->stride, true));
        }
        if (passed->at)
            text_printf(&text, " + %lld", (long long)passed->offset);
    }
    return text.data;
}

static const char *hole_value(struct cx *cx, const struct kernel *kernel, const struct hole *hole)
{
    switch (hole->kind) {
    case HOLE_INT:
    case HOLE_SOME:
        return arena_format(&cx->arena, "%lld", (long long)hole->integer);
    case HOLE_DIM:
        return dim_c_text(cx, hole->dim, false);
    case HOLE_NUMBER:
        return expr_number(cx, hole->dtype, hole->number, 0);
    case HOLE_TYPE:
        return dtype_rows[hole->dtype].c;
    case HOLE_VECTOR:
        return vector_prefix(hole->dtype);
    case HOLE_WORD:
        return hole->word;
    case HOLE_KERNEL:
        return hole->kernel->name;
    case HOLE_PARAMETERS:
        return parameters_text(cx, kernel, hole->first, hole->count);
    case HOLE_PASSED:
        return passed_text(cx, hole);
    }
    return "";
}

static struct fill_pointer fill_pointer(struct cx *cx, const char *name, struct element element)
{
    return (struct fill_pointer){.name = name,
                                 .type = dtype_rows[element.stored].c,
                                 .vector = element_vector(element),
                                 .get = element_get(cx, element),
                                 .put = element_put(cx, element)};
}

/* How the kernel's pointers are read and written. */
static struct fill_pointer *fill_pointers(struct cx *cx, const struct kernel *kernel)
{
    struct fill_pointer *list = ARENA_ARRAY(&cx->arena, kernel->parameter_count + kernel->pointer_count + 1,
                                            struct fill_pointer);
    int count = 0;

    for (int i = 0; i < kernel->parameter_count; i++, count++)
        list[count] = fill_pointer(cx, kernel->parameters[i].name, kernel->parameters[i].element);
    for (int i = 0; i < kernel->pointer_count; i++, count++)
        list[count] = fill_pointer(cx, kernel->pointers[i].name, kernel->pointers[i].element);
    return list;
}

/* Does what is filled in call something of the template so? That cannot give way to a size: note [sizes in templates]. */
static bool says_word(const struct kernel *kernel, const char *word)
{
    for (int i = 0; i < kernel->parameter_count; i++)
        if (strcmp(kernel->parameters[i].name, word) == 0)
            return true;
    for (int i = 0; i < kernel->hole_count; i++) {
        const struct hole *hole = &kernel->holes[i];

        if (hole->kind == HOLE_WORD && strcmp(hole->word, word) == 0 && !kernel->block)
            return true;
        for (int j = 0; hole->kind == HOLE_PASSED && j < hole->count; j++) {
            const struct passed *passed = &hole->passed[j];

            if (passed->name != word && strcmp(passed->name, word) == 0) /* else it is the size */
                return true;
            for (int k = 0; k < passed->step_count; k++)
                if (strcmp(passed->steps[k].index, word) == 0)
                    return true;
        }
    }
    return (kernel->split.slices > 1 && strcmp(word, "slice") == 0) ||
           (kernel->parts_template && (strcmp(word, "row") == 0 || strcmp(word, "channel") == 0));
}

/* Behind all other parameters: what checks have noted. */
static void add_head_parameter(const struct rendering *r, struct text *parameters)
{
    if (r->kernel->guarded)
        text_printf(parameters, ", const struct modc_device_fault *%s", size_name(r->cx, r->tree, "fault"));
}

/* What templates for a GPU have of their own: the kernel's parameters, and the function that starts it. */
static int fill_launch(const struct rendering *r, const char *file, struct filling *holes,
                       const struct extras *extras)
{
    struct cx *cx = r->cx;
    const struct kernel *kernel = r->kernel;
    const char *stream = size_name(cx, r->tree, "stream");
    struct text parameters = text_new(&cx->arena);
    int count = 0;

    if (!strstr(template_find(r->backend, file), "T_LAUNCHER")) /* a core: what starts it is its wrapper */
        return 0;
    text_add(&parameters, parameters_text(cx, kernel, 0, kernel->extra_first) + 2);
    text_add(&parameters, extras->args.data);
    add_head_parameter(r, &parameters);
    holes[count++] = (struct filling){"T_PARAMETERS", parameters.data};
    holes[count++] = (struct filling){"T_guarded", kernel->guarded ? "1" : "0"};
    holes[count++] = (struct filling){"T_fault", size_name(cx, r->tree, "fault")};
    holes[count++] = (struct filling){"T_ARGUMENTS", parameter_names(cx, parameters.data)};
    holes[count++] = (struct filling){"T_STREAM", stream};
    holes[count++] = (struct filling){"T_LAUNCHER",
                                      launcher_head(cx, &r->texts->launchers, r->texts->plan->model,
                                                    kernel->name, stream, parameters.data)};
    return count;
}

/* Fills a template of the kernel under a name. `parts`: what T_PARTS names, which takes `to_parts` of the extras. */
static void fill_template(struct rendering *r, struct text *out, const char *file, const char *name,
                          const char *parts, const struct extras *extras, const char *to_parts)
{
    const struct kernel *kernel = r->kernel;
    struct filling *holes = ARENA_ARRAY(&r->cx->arena, kernel->hole_count + 11, struct filling);
    int count = 0;

    for (int i = 0; i < extras->size_count; i++)
        assert(!says_word(kernel, extras->sizes[i]));
    for (int i = 0; i < kernel->hole_count; i++)
        holes[count++] = (struct filling){kernel->holes[i].name,
                                          hole_value(r->cx, kernel, &kernel->holes[i])};
    holes[count++] = (struct filling){"T_ARGS", extras->args.data};
    holes[count++] = (struct filling){"T_PASS", extras->pass.data};
    holes[count++] = (struct filling){"T_TO_PARTS", to_parts};
    holes[count++] = (struct filling){"T_factored", rescaling_operand(kernel) >= 0 ? "1" : "0"};
    holes[count++] = (struct filling){
        "T_RESTRICT", kernel->parameter_count > 0 && !kernel->parameters[0].restricted ? "" : "restrict"};
    if (r->backend->apart)
        count += fill_launch(r, file, holes + count, extras);
    template_fill(r->cx, out, template_find(r->backend, file),
                  &(struct fill){.name = name,
                                 .parts = parts,
                                 .comment = kernel->comment,
                                 .vector = vector_prefix(kernel->computed),
                                 .holes = holes,
                                 .count = count,
                                 .pointers = fill_pointers(r->cx, kernel),
                                 .pointer_count = kernel->parameter_count + kernel->pointer_count,
                                 .sizes = extras->sizes,
                                 .size_count = extras->size_count,
                                 .epilogue = epilogue,
                                 .factor = factor,
                                 .score = score,
                                 .data = r});
}

static void print_template_split(const struct rendering *r, struct text *out)
{
    const struct kernel *kernel = r->kernel;
    struct split_call call = split_call_new(r->cx);
    struct text body = text_new(&r->cx->arena);

    text_printf(&body, "\n    %s(", kernel->name);
    for (int i = 0; i < kernel->parameter_count; i++) {
        add_argument(&call, pointer_type(r->cx, &kernel->parameters[i]), kernel->parameters[i].name);
        text_printf(&body, "%sc->%s", i ? ", " : "", kernel->parameters[i].name);
    }
    add_size_arguments(r, &call, kernel->used);
    for (int i = 0; i < r->tree->size_count; i++)
        if (kernel->used[i])
            text_printf(&body, ", c->%s", r->tree->sizes[i].c_name);
    text_add(&body, ", slice);\n");
    print_split(r, out, kernel->name, &call, kernel->split.slices, enough_text(r->cx, kernel), body.data);
}

/* "const int M", or the type of a kernel that is called, which says no more than what it reads and writes. */
static const char *shape_declaration(const struct rendering *r, const struct kernel_shape *shape)
{
    struct cx *cx = r->cx;
    struct text text = text_new(&cx->arena);
    struct extras sizes = extras_new(cx);

    if (!shape->kernel)
        return arena_format(&cx->arena, "const int %s", shape->name);
    add_sizes(r, &sizes, shape->kernel, shape->kernel->used);
    text_printf(&text, "void (*const %s)(", shape->name);
    text_printf(&text, "%s%s)", parameters_text(cx, shape->kernel, 0, shape->kernel->parameter_count) + 2,
                sizes.args.data);
    return text.data;
}

/* The text of a template's kernel, which takes the functions in these forms. */
static const char *fill_kernel(struct rendering *r, struct forms takes)
{
    struct cx *cx = r->cx;
    const struct kernel *kernel = r->kernel;
    struct extras extras = extras_new(cx), tail = extras_new(cx), scores = extras_new(cx);
    bool *in_tail = ARENA_ARRAY(&cx->arena, kernel->used_count, bool);
    bool *in_scores = ARENA_ARRAY(&cx->arena, kernel->used_count, bool);
    const char *parts = NULL, *to_parts = "";
    const struct kernel *own_parts = kernel->handed ? kernel->handed : kernel->parts;
    struct text body = text_new(&cx->arena);

    for (int i = kernel->extra_first; i < kernel->parameter_count; i++)
        text_printf(&extras.pass, ", %s", kernel->parameters[i].name);
    text_add(&extras.args,
             parameters_text(cx, kernel, kernel->extra_first, kernel->parameter_count - kernel->extra_first));
    if (kernel->tail)
        dag_mark_sizes(kernel->tail, in_tail);
    if (kernel->scores)
        dag_mark_sizes(kernel->scores, in_scores);
    for (int i = 0; i < kernel->shape_count; i++) {
        text_printf(&extras.args, ", %s", shape_declaration(r, &kernel->shapes[i]));
        text_printf(&extras.pass, ", %s", kernel->shapes[i].name);
    }
    add_sizes(r, &extras, kernel, kernel->used);
    add_sizes(r, &tail, kernel, in_tail);
    add_sizes(r, &scores, kernel, in_scores);
    r->tail_args = tail.args.data;
    r->tail_pass = tail.pass.data;
    r->score_args = scores.args.data;
    r->score_pass = scores.pass.data;
    for (int vector = 0; vector < 2; vector++) {
        if (vector ? !takes.vector : !takes.scalar)
            continue;
        text_printf(&extras.args, ", %s", function_declaration(r, vector));
        text_printf(&extras.pass, ", %s", function_argument(vector));
    }
    if (kernel->split.slices > 1) {
        text_add(&extras.args, ", const int slice");
        text_add(&extras.pass, ", slice");
    }
    if (own_parts) {
        struct extras inner = extras_new(cx);

        add_sizes(r, &inner, own_parts, own_parts->used);
        to_parts = inner.pass.data;
        parts = kernel->handed ? text_upper(&cx->arena, own_parts->role) : own_parts->name;
    } else if (kernel->parts_template) { /* the tail is in them, and wants to know where it is */
        struct extras inner = extras;

        inner.args = text_new(&cx->arena);
        inner.pass = text_new(&cx->arena);
        text_printf(&inner.args, ", const int row, const int channel%s", extras.args.data);
        text_printf(&inner.pass, ", row, channel%s", extras.pass.data);
        to_parts = inner.pass.data;
        parts = arena_format(&cx->arena, "%s%s", kernel->name, strrchr(kernel->parts_template, '_'));
        fill_template(r, &body, kernel->parts_template, parts, NULL, &inner, "");
        text_add(&body, "\n");
    }
    fill_template(r, &body, kernel->template, kernel->name, parts, &extras, to_parts);
    return body.data;
}

static void print_template(struct rendering *r, struct text *out)
{
    const struct kernel *kernel = r->kernel;
    const char *body = fill_kernel(r, (struct forms){0});

    if (kernel->takes_function && (r->tails.scalar || r->tails.vector))
        body = fill_kernel(r, r->tails); /* now it is known what it calls */
    if (kernel->takes_function)
        keep_forms(r->texts, kernel, r->tails);
    else if (r->tails.scalar)
        print_tail(r, out, false);
    if (!kernel->takes_function && r->tails.vector)
        print_tail(r, out, true);
    if (kernel->scores)
        print_scores(r, out);
    text_add(out, body);
    if (kernel->split.slices > 1 && kernel->shape_count == 0)
        print_template_split(r, out);
}

/* On a GPU the core is run by as many threads as there are slices, of which each computes one. */
static void print_cuda_wrapper(const struct rendering *r, struct text *out, const char *parameters,
                               const char *call)
{
    enum { THREADS = 64 }; /* of a block: few, since each does much */
    struct cx *cx = r->cx;
    const struct kernel *kernel = r->kernel;
    const int slices = kernel->split.slices, threads = slices < THREADS ? slices : THREADS;
    const char *stream = size_name(cx, r->tree, "stream");

    text_printf(out, "static __global__ void __launch_bounds__(%d, 1) %s(%s)\n{\n", threads, kernel->name,
                parameters);
    if (kernel->guarded)
        text_printf(out, "    if (modc_faulty(%s))\n        return;\n", size_name(cx, r->tree, "fault"));
    if (slices > 1)
        text_printf(
            out,
            "    for (int slice = MODC_THREAD(%d); slice < %d; slice += MODC_THREADS(%d))\n        %s(%s);\n}\n",
            threads, slices, threads, kernel->core->name, call);
    else
        text_printf(out, "    %s(%s);\n}\n", kernel->core->name, call);
    text_printf(
        out, "\n%s\n{\n    return MODC_LAUNCH_OVER(%s, %d, %d, %s, %s);\n}\n",
        launcher_head(cx, &r->texts->launchers, r->texts->plan->model, kernel->name, stream, parameters),
        kernel->name, slices, threads, stream, parameter_names(cx, parameters));
}

/* A function of one statement: see note [cores]. */
static void print_wrapper(const struct rendering *r, struct text *out)
{
    struct cx *cx = r->cx;
    const struct kernel *kernel = r->kernel, *core = kernel->core;
    struct extras sizes = extras_new(cx), tail = extras_new(cx);
    const struct printer *printer = printer_of(r->backend);
    const char *slice = kernel->split.slices > 1 ? ", const int slice" : "";
    const char *parameters = parameters_text(cx, kernel, 0, kernel->parameter_count);
    const struct forms takes = core_forms(r->texts, core);
    struct text call = text_new(&cx->arena);

    add_sizes(r, &sizes, kernel, kernel->used);
    add_sizes(r, &tail, core, core->used);
    for (int i = 0; i < kernel->parameter_count; i++)
        text_printf(&call, "%s%s", i ? ", " : "", kernel->parameters[i].name);
    for (int i = 0; i < kernel->shape_count; i++)
        text_printf(&call, ", %s",
                    kernel->shapes[i].kernel ? kernel->shapes[i].kernel->name
                                             : dim_c_text(cx, kernel->shapes[i].dim, false));
    text_add(&call, tail.pass.data);
    if (core->takes_head) {
        call_function(r->texts, kernel->head, (struct forms){.vector = true});
        text_printf(&call, ", %s", function_name(cx, kernel->head, true));
    }
    if (core->takes_function) {
        call_function(r->texts, kernel->function, takes);
        for (int vector = 0; vector < 2; vector++)
            if (vector ? takes.vector : takes.scalar)
                text_printf(&call, ", %s",
                            core->needs_function || kernel->function->dag
                                ? function_name(cx, kernel->function, vector)
                                : "NULL");
    }
    text_add(&call, *slice ? ", slice" : "");
    text_printf(out, "/* %s */\n", kernel->comment);
    if (r->backend->apart) {
        struct text all = text_new(&cx->arena);

        text_printf(&all, "%s%s", parameters + 2, sizes.args.data);
        add_head_parameter(r, &all);
        print_cuda_wrapper(r, out, all.data, call.data);
        return;
    }
    text_printf(out, "%s %s(%s%s%s)\n{\n    %s(%s);\n}\n", kernel->alone ? printer->alone : printer->function,
                kernel->name, parameters + 2, sizes.args.data, slice, core->name, call.data);
    if (kernel->split.slices > 1)
        print_template_split(r, out);
}

struct text *kernel_launcher_texts(struct kernel_texts *texts)
{
    return &texts->launchers;
}

const char *kernel_launchers(const struct kernel_texts *texts)
{
    return texts->launchers.length > 0 ? texts->launchers.data : "";
}

const char *kernel_text(struct kernel_texts *texts, const struct kernel *kernel)
{
    const struct plan *plan = texts->plan;
    struct text out = text_new(&texts->cx->arena);
    struct rendering r = {.cx = texts->cx,
                          .texts = texts,
                          .tree = plan->program->tree,
                          .backend = plan->backend,
                          .kernel = kernel};

    if (kernel->form == KERNEL_TEMPLATE)
        print_template(&r, &out);
    else if (kernel->form == KERNEL_WRAPPER)
        print_wrapper(&r, &out);
    else
        print_nest(&r, &out);
    return out.data;
}
