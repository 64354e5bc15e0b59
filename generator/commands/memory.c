/* memory.c - adds up what a model needs of RAM and flash, and holds it against the limits of a target. */
#include "commands/memory.h"

#include <string.h>

#include "commands/options.h"
#include "grammar/grammar.h"
#include "modc.h"
#include "module/module.h"
#include "plan/target.h"
#include "plan/weights.h"
#include "tokenizer/tokenizer.h"
#include "tree/generation.h"

/* sizeof struct modc_params and modc_context where pointers have 4 bytes and 64-bit integers are aligned by 8;
 * tests/api/firmware.c holds them to it. */
enum { PARAMS_32 = 56, CONTEXT_32 = 96 };

/* ---- adding up -------------------------------------------------------------------------------------------- */

static const char constants_part[] = "constants";

/* 0 bytes add nothing. */
static void add(struct cx *cx, struct memory_sum *sum, const char *what, int64_t bytes)
{
    if (bytes <= 0)
        return;
    ARENA_PUSH(&cx->arena, sum->parts, sum->count, ((struct memory_part){what, bytes}));
    sum->bytes += bytes;
}

static int64_t value_bytes(const struct graph *graph, const struct value *value)
{
    return dtype_rows[value->dtype].bytes * dims_most(&graph->cx->arena, value->ndim, value->dims);
}

static int64_t inputs_and_outputs(const struct entry *entry)
{
    const struct graph *graph = entry->graphs[0][0];
    int64_t bytes = 0;

    for (int i = 0; i < graph->input_count; i++)
        bytes += value_bytes(graph, graph->inputs[i]);
    for (int i = 0; i < graph->output_count; i++)
        bytes += value_bytes(graph, graph->outputs[i]);
    return bytes;
}

static int64_t workspace(const struct plan *plan, const struct entry *entry, int training, int fenced)
{
    const struct graph *graph = entry->graphs[training][fenced];

    return graph ? plan_variant(plan, graph)->peak + plan->state_bytes : 0;
}

/* struct NAME_params and struct NAME. */
static int64_t structs(const struct cx *cx, const struct plan *plan)
{
    bool small = target_of(cx)->pointer == 4;
    int64_t params = small ? PARAMS_32 : (int64_t)sizeof(struct modc_params);

    return (params + plan->program->tree->key_count * target_of(cx)->pointer + 7) / 8 * 8 +
           (small ? CONTEXT_32 : (int64_t)sizeof(struct modc_context)) +
           (cx->options->dispatch ? (int64_t)sizeof(const struct modc_isa *) : 0);
}

static int64_t initial_values(struct module_tensor *const *tensors, int count)
{
    int64_t bytes = 0;

    for (int i = 0; i < count; i++)
        if (tensors[i]->init == INIT_VALUE)
            bytes += module_tensor_count(tensors[i]) * dtype_rows[tensors[i]->dtype].bytes;
    return bytes;
}

/* Arrays that the emitted code has. */
static int64_t constants(const struct plan *plan)
{
    const struct module_tree *tree = plan->program->tree;
    int64_t bytes = initial_values(tree->keys, tree->key_count) +
                    initial_values(tree->states, tree->state_count);

    bytes += tree->tokenizer ? tokenizer_bytes(tree->tokenizer) : 0;
    for (int i = 0; tree->generation && i < tree->generation->grammar_count; i++)
        bytes += grammar_bytes(tree->generation->grammars[i]);
    for (int i = 0; i < plan->constant_count; i++)
        bytes += tensor_count(plan->constants[i]->constant) * dtype_rows[plan->constants[i]->dtype].bytes;
    return bytes;
}

static const char parameters_part[] = "parameters, packed block";

/* A step of training on a GPU, or forward and backward in training mode where there are no steps. */
static void add_training(struct cx *cx, const struct plan *plan, struct memory_sum *sum)
{
    const struct program *program = plan->program;
    const struct entry *entry = &program->entries[program->tree->training ? program->entry_count - 1 : 0];

    if (program->entry_count == 0 || !entry->saving[1][0])
        return;
    add(cx, sum, parameters_part, plan_packed_block(plan));
    add(cx, sum, "gradients", plan->gradient_block);
    add(cx, sum, "states of the optimizer", program->tree->training ? plan->optimizer_bytes : 0);
    add(cx, sum, arena_format(&cx->arena, "workspace of %s and backward", entry->name),
        plan_variant(plan, entry->saving[1][0])->peak + plan->state_bytes);
    add(cx, sum, arena_format(&cx->arena, "inputs and outputs of %s", entry->name),
        inputs_and_outputs(entry));
}

struct memory memory_of(struct cx *cx, const struct plan *plan, bool embedded)
{
    const struct program *program = plan->program;
    const bool apart = plan->backend->apart;
    struct memory memory = {.embedded = embedded && !apart};
    int64_t most = -1;

    for (int i = 0; i < program->entry_count; i++) {
        int64_t bytes = workspace(plan, &program->entries[i], 0, 0) +
                        inputs_and_outputs(&program->entries[i]);

        if (bytes > most) {
            most = bytes;
            memory.entry = &program->entries[i];
        }
    }
    if (memory.embedded) {
        add(cx, &memory.flash, "weights", weights_length(cx, plan));
    } else {
        add(cx, &memory.ram, "parameters and buffers", plan->param_bytes);
        add(cx, apart ? &memory.gpu : &memory.ram, apart ? parameters_part : "packed block",
            plan_packed_block(plan));
    }
    if (memory.entry) {
        const char *name = memory.entry->name;
        struct memory_sum *sum = apart ? &memory.gpu : &memory.ram;

        add(cx, sum, arena_format(&cx->arena, "workspace of %s", name), workspace(plan, memory.entry, 0, 0));
        add(cx, sum, arena_format(&cx->arena, "inputs and outputs of %s", name),
            inputs_and_outputs(memory.entry));
    }
    if (apart)
        add_training(cx, plan, &memory.training);
    add(cx, &memory.ram, "structs", structs(cx, plan));
    add(cx, &memory.flash, constants_part, constants(plan));
    return memory;
}

void memory_add_code(struct cx *cx, struct memory *memory, const struct memory_code *code)
{
    struct memory_sum *flash = &memory->flash;

    if (flash->count > 0 && flash->parts[flash->count - 1].what == constants_part)
        flash->bytes -= flash->parts[--flash->count].bytes;
    add(cx, flash, "code", code->text);
    add(cx, flash, constants_part, code->rodata);
    add(cx, flash, "initial values of data", code->data);
    add(cx, &memory->ram, "data", code->data + code->bss);
    add(cx, &memory->ram, arena_format(&cx->arena, "stack of %s", code->stack_of), code->stack);
    memory->measured = true;
}

/* ---- limits ----------------------------------------------------------------------------------------------- */

/* "workspace of forward 60 KB, packed block 12.5 KB", the largest first. */
static const char *parts_text(struct cx *cx, const struct memory_sum *memory)
{
    bool *said = ARENA_ARRAY(&cx->arena, memory->count + 1, bool);
    struct text text = text_new(&cx->arena);

    for (int n = 0; n < memory->count; n++) {
        int best = -1;

        for (int i = 0; i < memory->count; i++)
            if (!said[i] && (best < 0 || memory->parts[i].bytes > memory->parts[best].bytes))
                best = i;
        said[best] = true;
        text_printf(&text, "%s%s %s", n ? ", " : "", memory->parts[best].what,
                    text_bytes(&cx->arena, memory->parts[best].bytes));
    }
    return text.data;
}

static void say_too_much(struct cx *cx, const struct plan *plan, const struct memory_sum *memory,
                         const char *kind, int64_t limit)
{
    struct arena *arena = &cx->arena;

    diag_error(cx, plan->program->tree->spec->model_loc, "%s needs %s of %s, %s has %s: %s too much",
               plan->model, text_bytes(arena, memory->bytes), kind, target_of(cx)->name,
               text_bytes(arena, limit), text_bytes(arena, memory->bytes - limit));
    diag_note(cx, (struct loc){0}, "that is %s", parts_text(cx, memory));
}

/* "batch (256), tokens (32)" of the entry; "" where all are 1 at most. */
static const char *sizes_text(struct cx *cx, const struct plan *plan, const struct entry *entry)
{
    struct text text = text_new(&cx->arena);

    for (int i = 0; entry && i < plan->program->tree->size_count; i++)
        if (entry->sizes[i].max > 1)
            text_printf(&text, "%s%s (%lld)", text.length ? ", " : "", entry->sizes[i].name,
                        (long long)entry->sizes[i].max);
    return text.data;
}

static void hint_dtype(struct cx *cx, const struct plan *plan)
{
    if (plan->program->tree->dtype == DTYPE_FLOAT64)
        diag_hint(cx, "--dtype float32 takes half of it");
}

static void hint_sizes(struct cx *cx, const struct plan *plan, const struct entry *entry)
{
    const char *sizes = sizes_text(cx, plan, entry);

    if (sizes[0])
        diag_hint(
            cx,
            "workspace, inputs and outputs grow with the maxima of the sizes: %s; --set NAME=VALUE lowers one",
            sizes);
}

/* Convolutions read packed weights alone, and what is stored in fewer bits is packed. */
static bool does_without_pack(const struct plan *plan)
{
    if (plan->program->tree->narrow)
        return false;
    for (int i = 0; i < plan->variant_count; i++)
        for (int s = 0; s < plan->variants[i]->step_count; s++)
            if (op_reads_packed(plan->variants[i]->steps[s].op))
                return false;
    return true;
}

static void hint_ram(struct cx *cx, const struct plan *plan, const struct memory *memory)
{
    const struct target *target = target_of(cx);
    int64_t packed = plan_packed_block(plan), weights = weights_length(cx, plan);

    hint_sizes(cx, plan, memory->entry);
    if (!memory->embedded && weights > 0 && (target->flash == 0 || weights <= target->flash))
        diag_hint(cx, "with --weights FILE the parameters lie in flash (%s): %s of RAM then",
                  text_bytes(&cx->arena, weights),
                  text_bytes(&cx->arena, memory->ram.bytes - plan->param_bytes - packed));
    if (!memory->embedded && packed > 0 && does_without_pack(plan))
        diag_hint(cx, "`pack: none` in the spec does without the packed block (%s)",
                  text_bytes(&cx->arena, packed));
    hint_dtype(cx, plan);
}

static void hint_flash(struct cx *cx, const struct plan *plan, const struct memory *memory)
{
    int64_t plain = plan->param_bytes;

    if (memory->embedded && plan_packed_block(plan) > 0 && plain < weights_length(cx, plan) &&
        does_without_pack(plan))
        diag_hint(cx, "`pack: none` in the spec leaves PyTorch's layout alone (%s)",
                  text_bytes(&cx->arena, plain));
    hint_dtype(cx, plan);
}

/* Training mode and hooks are choices at run time: the model is of use without. */
static void warn_of_variants(struct cx *cx, const struct plan *plan, const struct memory *memory)
{
    static const char *const names[] = {NULL, "in training mode", "with hooks",
                                        "in training mode with hooks"}; /* by train + 2 * fenced */
    const struct target *target = target_of(cx);
    const struct program *program = plan->program;
    int64_t fixed = memory->ram.bytes - workspace(plan, memory->entry, 0, 0) -
                    inputs_and_outputs(memory->entry);

    for (int i = 0; i < program->entry_count; i++) {
        const struct entry *entry = &program->entries[i];

        for (int v = 1; v < COUNT(names); v++) {
            int64_t bytes = fixed + workspace(plan, entry, v & 1, v >> 1) + inputs_and_outputs(entry);

            if (entry->graphs[v & 1][v >> 1] && bytes > target->ram)
                diag_warning(cx, plan->program->tree->spec->model_loc, "%s %s needs %s of RAM, %s has %s",
                             entry->name, names[v], text_bytes(&cx->arena, bytes), target->name,
                             text_bytes(&cx->arena, target->ram));
        }
    }
}

/* Training is a choice at run time, too. */
static bool fits_gpu(struct cx *cx, const struct plan *plan, const struct memory *memory)
{
    const struct target *target = target_of(cx);

    if (target->memory == 0)
        return true;
    if (memory->gpu.bytes <= target->memory) {
        if (memory->training.bytes > target->memory)
            diag_warning(cx, plan->program->tree->spec->model_loc,
                         "training needs %s of GPU memory, %s has %s",
                         text_bytes(&cx->arena, memory->training.bytes), target->name,
                         text_bytes(&cx->arena, target->memory));
        return true;
    }
    say_too_much(cx, plan, &memory->gpu, "GPU memory", target->memory);
    hint_sizes(cx, plan, memory->entry);
    hint_dtype(cx, plan);
    return false;
}

bool memory_fits(struct cx *cx, const struct plan *plan, const struct memory *memory)
{
    const struct target *target = target_of(cx);
    bool fits = true;

    if (target->gpu)
        return !plan->backend->apart || fits_gpu(cx, plan, memory);
    if (target->ram > 0 && memory->ram.bytes > target->ram) {
        say_too_much(cx, plan, &memory->ram, "RAM", target->ram);
        hint_ram(cx, plan, memory);
        fits = false;
    } else if (target->ram > 0) {
        warn_of_variants(cx, plan, memory);
    }
    if (target->flash > 0 && memory->flash.bytes > target->flash) {
        say_too_much(cx, plan, &memory->flash, "flash", target->flash);
        hint_flash(cx, plan, memory);
        fits = false;
    }
    if (!fits && !memory->measured)
        diag_hint(cx, "code and stack come on top: 'modc summary --measure'");
    return fits;
}
