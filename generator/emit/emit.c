/* emit.c - the files of a model. What they consist of is printed by the files beside this one, kernels by kernel.c. */
#include "emit/emit.h"

#include <string.h>

#include "base/options.h"
#include "emit/bundle.h"
#include "emit/dispatch.h"
#include "emit/emit_chat.h"
#include "emit/emit_generation.h"
#include "emit/emit_rollout.h"
#include "emit/emit_room.h"
#include "emit/emit_tokenizer.h"
#include "emit/emit_training.h"
#include "emit/template.h"
#include "plan/weights.h"
#include "tree/generation.h"

static void print_constants(struct emit *e, struct text *out, const bool *which)
{
    for (int i = 0; i < e->plan->constant_count; i++) {
        const struct tensor *tensor = e->plan->constants[i]->constant;
        const int64_t at = weights_constant(e->weights, i);

        if (which[i] && at < 0 && constant_is_large(tensor)) {
            const char *words = plan_constant_words(e->cx, e->plan, i);

            print_array(e, out, words, tensor);
            text_printf(out, "static const %s *const %s = %s;\n\n", dtype_rows[tensor->dtype].c,
                        e->plan->constant_names[i], array_values(e, words, tensor));
        } else if (which[i] && at < 0)
            print_array(e, out, e->plan->constant_names[i], tensor);
        else if (which[i])
            text_printf(out,
                        "static const %s *const %s = (const void *)(%s%s_weights + %lld); /* %lld */\n\n",
                        dtype_rows[tensor->dtype].c, e->plan->constant_names[i],
                        weights_are_array(e->cx) ? "(const char *)" : "", e->m, (long long)at,
                        (long long)tensor_count(tensor));
    }
}

/* Behind the functions of elements that they call. */
static void print_kernels(struct emit *e, struct text *out, int from, int until)
{
    struct text kernels = text_new(&e->cx->arena);

    if (from == until && from > 0)
        return;
    if (e->plan->backend->apart) /* in a file of their own */
        return;
    for (int i = from; i < until; i++)
        if (e->plan->kernels[i]->form != KERNEL_LIBRARY)
            text_printf(&kernels, "%s\n", kernel_text(e->kernels, e->plan->kernels[i]));
    text_printf(out, "MODC_KERNELS_BEGIN\n\n%s%sMODC_KERNELS_END\n\n", kernel_functions(e->kernels),
                kernels.data);
}

/* What the functions begin with: the blocks of the context that they work on, and where each one's tensors lie. */
static void print_memory(struct emit *e, struct text *out)
{
    text_add(
        out,
        "/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at their bytes of the workspace. */\n");
    for (int i = 0; i < e->plan->program->entry_count; i++) {
        const struct entry *entry = &e->plan->program->entries[i];

        text_printf(out, "#define %s ", macs_constant(e, entry));
        text_double(out, entry_variant(e, entry, 0, EMITTED_FUSED)->macs);
        text_add(out, "\n");
    }
    text_printf(
        out, "#define RTOL_OF_%s %s /* what Winograd's products add to a few last places */\n\n%s", e->M,
        plan_uses(e->plan, PACKED_WINOGRAD4) || plan_uses(e->plan, PACKED_WINOGRAD2) ? "1e-4f" : "0.0f",
        e->tensors.data);
    text_printf(out, "/* What a context works with. */\n#define CONTEXT_OF_%s \\\n", e->M);
    if (!e->plan->backend->apart)
        text_printf(out,
                    "    const struct %s_params *const p MODC_UNUSED = (const void *)net->base.params; \\\n",
                    e->m);
    else if (e->tree->key_count > 0)
        text_printf(out,
                    "    const struct %s_tensors *const p MODC_UNUSED = \\\n"
                    "        &((const struct %s_params *)(const void *)net->base.params)->device; \\\n",
                    e->m, e->m);
    if (e->plan->groups[0]->bytes > 0)
        text_printf(out, "    const struct %s_packed *const k MODC_UNUSED = net->base.params->packed; \\\n",
                    e->m);
    if (e->tree->state_count > 0)
        text_printf(out, "    struct %s_state *const s MODC_UNUSED = (void *)net->base.workspace; \\\n",
                    e->m);
    text_printf(out, "    char *const ws MODC_UNUSED = net->base.workspace");
    if (e->plan->state_bytes > 0)
        text_printf(out, " + %s_STATE_BYTES", e->M);
    text_add(out, "\n\n");
}

/* The parts of a source file that are not kernels. */
struct parts {
    struct text functions, packs, entries, tables; /* entries call functions */
};

static void print_plain(struct emit *e, struct text *out, const struct parts *parts)
{
    bool *all = ARENA_ARRAY(&e->cx->arena, e->plan->constant_count + 1, bool);

    memset(all, true, (size_t)e->plan->constant_count * sizeof *all);
    print_constants(e, out, all);
    print_kernels(e, out, 0, e->plan->kernel_count);
    print_memory(e, out);
    print_packed_structs(e, out);
    text_add(out, parts->packs.data);
    text_add(out, parts->functions.data);
    text_add(out, parts->entries.data);
}

static void mark_constant(const struct plan *plan, const struct variant *variant, const struct value *value,
                          bool *read)
{
    const struct place *place = &variant->places[value->base->id];

    for (int i = 0; place->kind == PLACE_CONST && i < plan->constant_count; i++)
        read[i] |= plan->constant_names[i] == place->name;
}

/* The constants that functions read: in calls of kernels, and in what is printed from the op itself. */
static void mark_constants(const struct plan *plan, const struct variant *variant, bool *read)
{
    for (int s = 0; s < variant->step_count; s++) {
        const struct step *step = &variant->steps[s];

        for (int c = 0; c < step->calls.count; c++)
            for (int i = 0; i < step->calls.list[c].operand_count; i++)
                if (step->calls.list[c].operands[i].kind == OPERAND_VALUE)
                    mark_constant(plan, variant, step->calls.list[c].operands[i].value, read);
        for (int i = 0; step->calls.count == 0 && i < step->op->input_count; i++)
            mark_constant(plan, variant, step->op->inputs[i], read);
    }
}

/* note [once]
 * With --dispatch the functions, with what they call and read, are compiled for several instruction sets, and all else
 * once. Packing is among that: packed weights are the same bytes then, whatever runs. */
static void print_dispatched(struct emit *e, struct text *out, const struct parts *parts)
{
    int count = e->plan->constant_count;
    bool *shared = ARENA_ARRAY(&e->cx->arena, count + 1, bool),
         *once = ARENA_ARRAY(&e->cx->arena, count + 1, bool);
    struct text kernels = text_new(&e->cx->arena);

    print_kernels(e, &kernels, 0, e->plan->function_kernels);
    for (int i = 0; i < e->plan->variant_count; i++)
        mark_constants(e->plan, e->plan->variants[i], shared);
    for (int i = 0; i < count; i++)
        once[i] = !shared[i];
    print_constants(e, out, shared);
    text_add(out, kernels.data);
    print_memory(e, out);
    print_packed_structs(e, out);
    text_add(out, parts->functions.data);
    print_code(e, out);
    text_add(out, "#ifdef MODC_ONCE /* packing, what users call, tables */\n\n");
    print_choice(e, out);
    print_constants(e, out, once);
    print_kernels(e, out, e->plan->function_kernels, e->plan->kernel_count);
    text_add(out, parts->packs.data);
    text_add(out, parts->entries.data);
}

/* Whether elements are computed by a function of modc_special.h. */
static bool is_special(const struct dag *dag)
{
    for (int i = 0; dag && i < dag->count; i++)
        if (prim_is_special(dag->nodes[i].prim))
            return true;
    return false;
}

static bool has_special(const struct plan *plan)
{
    for (int i = 0; i < plan->variant_count; i++) {
        const struct graph *graph = plan->variants[i]->graph;

        for (int j = 0; j < graph->op_count + graph->pack_count; j++) {
            const struct op *op = j < graph->op_count ? graph->ops[j] : graph->pack_ops[j - graph->op_count];

            if (is_special(op->dag) || is_special(op->head) || is_special(op->tail))
                return true;
        }
    }
    return false;
}

/* How each file of --dispatch is compiled. */
static void print_compilers(struct emit *e, struct text *out)
{
    const struct isa_row *const *rows;
    const int count = dispatch_rows(e->cx, e->plan, &rows);

    text_printf(out, " *     cc -O3 %s -c %s.c\n", isa_machines[0].flags, e->m);
    for (int i = 0; i < count; i++) {
        if (i > 0 && rows[i]->machine != rows[i - 1]->machine)
            text_printf(out, " *\n * On %s %s.c with no such flag, and\n *\n", rows[i]->machine->name, e->m);
        text_printf(out, " *     cc -O3 %s -c %s\n", rows[i]->flags, dispatch_path(e->cx, e->m, rows[i]));
    }
}

static void print_source_head(struct emit *e, struct text *out)
{
    text_printf(
        out,
        "/* %s.c - written by modc from %s; change the spec, not this file. It is yours, under any terms.",
        e->m, spec_name(e));
    if (is_dispatched(e)) {
        text_add(
            out,
            "\n *\n * Compiled for several instruction sets, of which each context takes the best that its machine has:\n *\n");
        print_compilers(e, out);
    }
    text_printf(out, " */\n#include \"%s.h\"\n\n#include <string.h>\n\n", e->m);
    if (is_dispatched(e))
        text_printf(
            out,
            "#ifndef MODC_CODE /* else this is included by a file for one instruction set */\n#define MODC_CODE %s_code\n"
            "#define MODC_ONCE\n#if defined MODC_X86_64 && defined __AVX__\n"
            "#error \"compile %s.c with %s: it is for machines without AVX, too\"\n#endif\n#endif\n\n",
            e->m, e->m, isa_machines[0].flags);
    if (e->cx->options->isa)
        text_printf(out, "#define MODC_WIDTHS %d /* --isa %s: the vectors to choose from, in floats */\n",
                    e->cx->options->isa_widths, e->cx->options->isa);
    if (e->tree->generation && e->tree->generation->invariant)
        text_add(out, "#define MODC_INVARIANT /* a row is the same bits whatever rows are beside it */\n");
    if (e->plan->backend->apart) /* modc_simd.h: what sizes are computed with */
        text_printf(out, "#include \"%s_kernels.h\"\n#include \"modc_simd.h\"\n\n", e->m);
    else
        text_printf(out, "#include \"modc_simd.h\"\n%s\n",
                    has_special(e->plan) ? "#include \"modc_special.h\"\n" : "");
    if (e->plan->align < HOSTED_ALIGN)
        text_printf(
            out,
            "#if MODC_ALIGN > %d\n#error \"%s lays its blocks out at multiples of %d; MODC_ALIGN may not be more\"\n"
            "#endif\n\n",
            e->plan->align, e->m, e->plan->align);
}

/* In front of what points into them. */
static void print_weights_head(struct emit *e, struct text *out)
{
    bool constants = false;

    if (!e->weights)
        return;
    for (int i = 0; i < e->plan->constant_count; i++)
        constants |= weights_constant(e->weights, i) >= 0;
    text_printf(out,
                "/* %s: the packed block, then tensors that it cannot give back%s. */\n"
                "extern const %s %s_weights[];\n\n",
                weights_are_array(e->cx) ? weights_source(e->cx, e->m)
                                         : arena_format(&e->cx->arena, "%s_weights.bin", e->m),
                constants ? ", then large constants" : "", weights_are_array(e->cx) ? "uint64_t" : "char",
                e->m);
}

static const char *source_text(struct emit *e)
{
    struct arena *arena = &e->cx->arena;
    struct text out = text_new(arena);
    struct parts parts = {text_new(arena), text_new(arena), text_new(arena), text_new(arena)};

    for (int i = 0; i < e->plan->variant_count; i++) {
        const struct variant *variant = e->plan->variants[i];

        if (variant->same)
            continue;
        if (variant->graph->region)
            print_region(e, &parts.functions, variant);
        else
            print_variant(e, &parts.functions, variant);
    }
    if (has_optimizer(e)) {
        const struct nest_scene scene = {.device = backend_device(e->plan->backend),
                                         .prefix = e->m,
                                         .launchers = kernel_launcher_texts(e->kernels)};
        const bool apart = e->plan->backend->apart;

        text_add(&parts.entries, apart ? "" : "MODC_KERNELS_BEGIN\n\n");
        emit_training_kernels(e->cx, &parts.entries, e->plan, apart ? &scene : NULL, &e->steps);
        text_add(&parts.entries, apart ? "" : "MODC_KERNELS_END\n\n");
    }
    for (int i = 0; i < e->plan->program->entry_count; i++) {
        print_entry(e, &parts.entries, &e->plan->program->entries[i]);
        if (e->plan->program->entries[i].saving[0][0])
            print_backward(e, &parts.entries, &e->plan->program->entries[i]);
    }
    if (has_optimizer(e))
        print_train_step(e, &parts.entries);
    print_pack_functions(e, &parts.packs);
    e->unpacks = print_unpack(e, &parts.packs);
    print_values(e, &parts.tables);
    if (e->tree->rollout)
        emit_rollout_source(e->cx, &parts.tables,
                            (struct rollout_names){e->m, e->M, gammas_name(e, e->tree->rollout)},
                            e->tree->rollout);
    print_tables(e, &parts.tables);
    if (program_generates(e->plan->program))
        emit_generation_source(e, &parts.tables);
    if (has_optimizer(e)) {
        text_add(&parts.tables, "\n");
        emit_training_tables(e->cx, &parts.tables, e->plan);
    }

    print_source_head(e, &out);
    print_weights_head(e, &out);
    if (is_dispatched(e))
        print_dispatched(e, &out, &parts);
    else
        print_plain(e, &out, &parts);
    print_embedded(e, &out);
    text_add(&out, parts.tables.data);
    if (is_dispatched(e))
        text_add(&out, "#endif\n");
    return emit_fit(arena, out.data);
}

/* The kernels for a GPU, and what starts them. */
static const char *kernels_text(struct emit *e)
{
    struct text kernels = text_new(&e->cx->arena), out = text_new(&e->cx->arena);

    for (int i = 0; i < e->plan->kernel_count; i++)
        if (e->plan->kernels[i]->form != KERNEL_LIBRARY)
            text_printf(&kernels, "%s\n", kernel_text(e->kernels, e->plan->kernels[i]));
    text_printf(
        &out,
        "/* %s.%s - written by modc from %s; change the spec, not this file. It is yours, under any terms. */\n"
        "#include \"%s_kernels.h\"\n\n%s#include \"modc_cuda.h\"\n%s\nMODC_KERNELS_BEGIN\n\n%s%s%sMODC_KERNELS_END\n",
        e->m, e->plan->backend->suffix, spec_name(e), e->m,
        e->plan->program->settings.flushes
            ? "#define MODC_FLUSHES /* denormals: nvcc compiles this with -ftz=true */\n"
            : "",
        has_special(e->plan) ? "#include \"modc_special.h\"\n" : "", kernel_functions(e->kernels),
        kernels.data ? kernels.data : "", e->steps.length > 0 ? e->steps.data : "");
    return emit_fit(&e->cx->arena, out.data);
}

/* Behind the text of the kernels. */
static const char *launchers_text(struct emit *e)
{
    struct text out = text_new(&e->cx->arena);

    text_printf(
        &out,
        "/* %s_kernels.h - written by modc: what %s.c starts of %s.%s. Each gives 0, or CUDA's error. */\n"
        "#ifndef MODC_KERNELS_%s_H\n#define MODC_KERNELS_%s_H\n\n#include \"modc_device.h\"\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n%s\n#ifdef __cplusplus\n}\n#endif\n#endif\n",
        e->m, e->m, e->m, e->plan->backend->suffix, e->M, e->M, kernel_launchers(e->kernels));
    return emit_fit(&e->cx->arena, out.data);
}

static void add_file(struct emit *e, struct output_file **files, int *count, const char *name,
                     const void *bytes, size_t length)
{
    ARENA_PUSH(&e->cx->arena, *files, *count, ((struct output_file){name, bytes, length}));
}

static void add_text(struct emit *e, struct output_file **files, int *count, const char *name,
                     const char *text)
{
    add_file(e, files, count, name, text, strlen(text));
}

static void set_flags(struct output_file *file, const char *flags, const struct isa_machine *machine)
{
    file->flags = flags;
    file->machine = machine->name;
}

/* Behind NAME.c the files that include it, each with its flags. */
static void add_isas(struct emit *e, struct output_file **files, int *count)
{
    const struct isa_row *const *rows;
    const int row_count = dispatch_rows(e->cx, e->plan, &rows);

    set_flags(&(*files)[*count - 1], isa_machines[0].flags, &isa_machines[0]);
    for (int i = 0; i < row_count; i++) {
        add_text(e, files, count, dispatch_path(e->cx, e->m, rows[i]),
                 emit_fit(&e->cx->arena, dispatch_text(e->cx, e->m, rows[i], spec_name(e))));
        set_flags(&(*files)[*count - 1], rows[i]->flags, rows[i]->machine);
    }
}

static void add_model(struct cx *cx, const struct plan *plan, struct output_file **files, int *count)
{
    struct emit e = {.cx = cx,
                     .plan = plan,
                     .tree = plan->program->tree,
                     .target = target_of(cx),
                     .m = plan->model,
                     .weights = plan->weights};
    struct text header = text_new(&cx->arena);

    e.M = text_upper(&cx->arena, plan->model);
    e.tensors = text_new(&cx->arena);
    e.steps = text_new(&cx->arena);
    e.kernels = kernel_texts_new(cx, plan);
    e.quoted = ARENA_ARRAY(&cx->arena, plan->program->tree->module_count + 1, bool);
    print_header(&e, &header);
    add_text(&e, files, count, arena_format(&cx->arena, "%s.h", e.m), emit_fit(&cx->arena, header.data));
    add_text(&e, files, count, arena_format(&cx->arena, "%s.c", e.m), source_text(&e));
    if (e.tree->tokenizer)
        add_text(&e, files, count, arena_format(&cx->arena, "%s_tokenizer.c", e.m),
                 emit_tokenizer_source(cx, e.m, spec_name(&e), e.tree->tokenizer));
    if (e.tree->chat)
        add_text(&e, files, count, arena_format(&cx->arena, "%s_template.c", e.m),
                 emit_chat_source(cx, e.m, spec_name(&e), e.tree->chat));
    if (plan->backend->apart) {
        add_text(&e, files, count, arena_format(&cx->arena, "%s.%s", e.m, plan->backend->suffix),
                 kernels_text(&e));
        add_text(&e, files, count, arena_format(&cx->arena, "%s_kernels.h", e.m), launchers_text(&e));
    }
    if (is_dispatched(&e))
        add_isas(&e, files, count);
    if (e.weights && weights_are_array(cx)) {
        struct text array = weights_array(&e);

        add_file(&e, files, count, weights_source(cx, e.m), array.data, array.length);
    } else if (e.weights) {
        add_text(&e, files, count, weights_source(cx, e.m), weights_assembly(&e));
        add_file(&e, files, count, arena_format(&cx->arena, "%s_weights.bin", e.m), e.weights->bytes,
                 e.weights->length);
    }
    if (bundle_is_arduino(cx->options) && plan->program->entry_count > 0) {
        struct text sketch = text_new(&cx->arena);

        print_sketch(&e, &sketch);
        add_text(&e, files, count, bundle_sketch(cx, e.m), emit_fit(&cx->arena, sketch.data));
    }
}

struct output_file *emit_files(struct cx *cx, const struct plan *plan, int *count)
{
    struct output_file *files = NULL;
    const char *cmake;

    *count = 0;
    for (const struct plan *variant = plan; variant; variant = variant->next)
        add_model(cx, variant, &files, count);
    if (bundle_is_arduino(cx->options))
        return files;
    cmake = bundle_cmake(cx, plan);
    ARENA_PUSH(
        &cx->arena, files, *count,
        ((struct output_file){arena_format(&cx->arena, "%s.cmake", plan->model), cmake, strlen(cmake)}));
    return files;
}
