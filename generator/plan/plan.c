/* plan.c - the whole: the blocks of parameters, gradients and optimiser, then every variant; what is asked of a plan. */
#include "plan/plan.h"

#include <string.h>

#include "base/emitted.h"
#include "base/names.h"
#include "base/options.h"
#include "modc_device.h"
#include "modc_generation.h"
#include "modc_optim.h"
#include "module/training.h"
#include "plan/kernel.h"
#include "plan/plan_halves.h"
#include "plan/planner.h"
#include "plan/target.h"
#include "plan/weights.h"
#include "tokenizer/tokenizer.h"
#include "tree/generation.h"

int64_t plan_aligned(const struct plan *plan, int64_t bytes)
{
    return (bytes + plan->align - 1) / plan->align * plan->align;
}

int64_t plan_packed_block(const struct plan *plan)
{
    const int64_t bytes = plan->groups[0]->bytes, work = plan->groups[0]->work_bytes;

    if (plan->backend->apart) /* no call looks into it to see whose it is */
        return bytes + work;
    return bytes > 0 ? bytes + work + plan_aligned(plan, MODC_OWNER_BYTES) : 0;
}

static int64_t most_bytes(const struct value *value)
{
    int64_t bytes = dtype_rows[value->dtype].bytes;

    for (int d = 0; d < value->ndim; d++)
        bytes *= dim_upper(value->dims[d]);
    return bytes;
}

static int64_t upper_bytes(const struct plan *plan, const struct value *value)
{
    return plan_aligned(plan, most_bytes(value));
}

int64_t plan_encoded_bytes(const struct plan *plan)
{
    const int encoder = program_encoder(plan->program);

    return encoder < 0 ? 0 : most_bytes(plan->program->entries[encoder].graphs[0][0]->outputs[0]);
}

int64_t plan_generator_bytes(const struct plan *plan)
{
    const struct module_tree *tree = plan->program->tree;
    const struct generation *generation = tree->generation;
    const struct graph *graph = plan->program->entries[0].graphs[0][0];
    const struct value *token = graph->inputs[0], *logits = graph->outputs[0];

    return (int64_t)MODC_GENERATOR_BYTES(dim_upper(token->dims[0]), dim_upper(logits->dims[0]),
                                         generation->sequences, generation->context, generation->per,
                                         dim_upper(logits->dims[1]),
                                         tree->tokenizer ? tree->tokenizer->table->decode_token_bytes : 0,
                                         dtype_rows[logits->dtype].bytes, plan_encoded_bytes(plan));
}

int64_t plan_host_bytes(const struct plan *plan, const struct entry *entry)
{
    const struct graph *graph = entry->graphs[0][0];
    const bool gradients = plan->program->settings.backward && !plan->program->settings.fused;
    int64_t bytes = 0;

    for (int i = 0; i < graph->input_count; i++)
        bytes += upper_bytes(plan, graph->inputs[i]);
    for (int i = 0; i < graph->result_count; i++)
        bytes += upper_bytes(plan, graph->outputs[i]);
    return bytes * (gradients ? 2 : 1);
}

bool plan_uses(const struct plan *plan, enum packed_format format)
{
    for (int g = 0; g < plan->group_count; g++)
        for (int i = 0; i < plan->groups[g]->entry_count; i++)
            if (plan->groups[g]->entries[i]->format == format)
                return true;
    return false;
}

int plan_most_kept(const struct plan *plan)
{
    int most = 0;

    for (int i = 0; i < plan->variant_count; i++)
        if (plan->variants[i]->kept_count > most)
            most = plan->variants[i]->kept_count;
    return most;
}

const struct variant *plan_variant(const struct plan *plan, const struct graph *graph)
{
    for (int i = 0; i < plan->variant_count; i++)
        if (plan->variants[i]->graph == graph)
            return plan->variants[i];
    return NULL;
}

int plan_first_gradient(const struct plan *plan, const struct module *module)
{
    for (int i = 0; i < plan->gradient_count; i++)
        if (plan->gradients[i]->owner->index >= module->index &&
            plan->gradients[i]->owner->index <= module->index + module->subtree)
            return i;
    return 0;
}

enum part variant_part(const struct variant *variant, int step)
{
    if (variant->commit >= 0 && step > variant->commit)
        return PART_COMMIT;
    return variant->yield >= 0 && step > variant->yield ? PART_BACKWARD : PART_FORWARD;
}

int variant_parts(const struct variant *variant)
{
    return variant->commit >= 0 ? 3 : variant->yield >= 0 ? 2 : 1;
}

int variant_first(const struct variant *variant, enum part part)
{
    return part == PART_FORWARD ? 0 : part == PART_BACKWARD ? variant->yield + 1 : variant->commit + 1;
}

int variant_end(const struct variant *variant, enum part part)
{
    if (part == PART_FORWARD && variant->yield >= 0)
        return variant->yield;
    return part == PART_BACKWARD && variant->commit >= 0 ? variant->commit : variant->step_count;
}

const struct value *call_block(const struct op *call)
{
    return call->invoke.part == CALL_WHOLE     ? NULL
           : call->invoke.part == CALL_FORWARD ? call->outputs[call->invoke.region->graph->result_count]
                                               : call->inputs[0];
}

const struct value *call_between(const struct op *call)
{
    const struct value *last = NULL;

    if (call->invoke.part == CALL_FORWARD)
        last = call->outputs[call->output_count - 1];
    if (call->invoke.part == CALL_BACKWARD)
        last = call->inputs[call->input_count - 1];
    return call->invoke.count > 1 && last && last->op->code == GRAPH_OP_CALL &&
                   last->op->invoke.part == CALL_FORWARD &&
                   last->result > last->op->invoke.region->graph->result_count
               ? last
               : NULL;
}

bool call_turns(const struct op *call)
{
    return call->invoke.count > 1 && call->output_count > 0 &&
           (call->invoke.part != CALL_FORWARD || !call_between(call));
}

enum part call_part_of(const struct op *call)
{
    return call->invoke.part == CALL_BACKWARD ? PART_BACKWARD
           : call->invoke.part == CALL_COMMIT ? PART_COMMIT
                                              : PART_FORWARD;
}

/* ---- the whole -------------------------------------------------------------------------------------------- */

static void lay_out_tensors(struct cx *cx, struct plan *plan)
{
    const struct module_tree *tree = plan->program->tree;
    struct text text = text_new(&cx->arena);

    plan->param_offsets = ARENA_ARRAY(&cx->arena, tree->key_count + 1, int64_t);
    plan->state_offsets = ARENA_ARRAY(&cx->arena, tree->state_count + 1, int64_t);
    for (int i = 0; i < tree->key_count; i++) {
        const struct module_tensor *tensor = tree->keys[i], *first = tensor->first;

        text_printf(&text, "%s %s", tensor->path, dtype_rows[tensor->dtype].name);
        for (int d = 0; d < tensor->ndim; d++)
            text_printf(&text, " %lld", (long long)tensor->dims[d]);
        if (first == tensor) {
            plan->param_offsets[i] = plan->param_bytes;
            plan->param_bytes += plan_aligned(plan,
                                              module_tensor_count(tensor) * dtype_rows[tensor->dtype].bytes);
        } else {
            plan->param_offsets[i] = plan->param_offsets[first->key];
            text_printf(&text, " as %s", first->path);
        }
        text_add(&text, "\n");
    }
    for (int i = 0; i < tree->state_count; i++) {
        plan->state_offsets[i] = plan->state_bytes;
        plan->state_bytes += plan_aligned(plan, module_tensor_count(tree->states[i]) > 0
                                                    ? module_tensor_count(tree->states[i]) *
                                                          dtype_rows[tree->states[i]->dtype].bytes
                                                    : 1);
    }
    if (plan->backend->apart)
        plan->state_bytes += plan_aligned(plan, MODC_DEVICE_HEAD);
    plan->schema = text_hash(text.data, text.length);
}

static bool packs_integers(const struct plan *plan)
{
    for (int i = 0; i < plan->group_count; i++)
        for (int j = 0; j < plan->groups[i]->entry_count; j++)
            if (storage_is_scaled(plan->groups[i]->entries[j]->storage))
                return true;
    return false;
}

/* Behind all tensors: the scales with which files have what is packed as integers. */
static void lay_out_scales(struct cx *cx, struct plan *plan)
{
    const struct module_tree *tree = plan->program->tree;

    if (!packs_integers(plan))
        return;
    plan->uses = weights_uses(cx, plan);
    plan->scale_offsets = ARENA_ARRAY(&cx->arena, tree->key_count + 1, int64_t);
    for (int i = 0; i < tree->key_count; i++) {
        const struct weights_use *use = &plan->uses[i];
        const bool integers = tree->keys[i]->first == tree->keys[i] && storage_is_scaled(use->storage);

        plan->scale_offsets[i] = integers ? plan->param_bytes : -1;
        if (integers && !use->apart)
            plan->param_bytes += plan_aligned(
                plan, tree->keys[i]->dims[use->transposed] *
                          storage_groups(use->storage, tree->keys[i]->dims[!use->transposed]) *
                          dtype_rows[use->storage->scale].bytes);
    }
}

/* Behind what packing makes: the parameters once more, which stand at the head of the block, and the constants. */
static void lay_out_mirror(struct plan *plan)
{
    plan->groups[0]->bytes += plan->param_bytes;
    for (int i = 0; i < plan->constant_count; i++)
        plan->groups[0]->bytes += plan_aligned(plan, constant_length(plan->constants[i]->constant) + 1);
    for (int v = 0; v < plan->variant_count; v++)
        plan->variants[v]->uses_packed = plan->groups[0]->bytes > 0;
}

/* Those of parameters that are trained, each once. */
static void lay_out_gradients(struct cx *cx, struct plan *plan)
{
    const struct module_tree *tree = plan->program->tree;
    struct names taken = {0};
    const bool kept = !tree->spec->fused;
    int named = 0;

    for (int i = 0; i < emitted_constant_count(tree->spec->generation != NULL); i++)
        names_add(&cx->arena, &taken, emitted_constants[i], "", tree->root->loc);
    for (int i = 0; i < tree->module_count; i++)
        names_add(&cx->arena, &taken, emitted_module(cx, tree->modules[i]->path), "", tree->root->loc);
    plan->gradient_offsets = ARENA_ARRAY(&cx->arena, tree->key_count + 1, int64_t);
    for (int i = 0; i < tree->key_count && tree->spec->backward; i++) {
        const struct module_tensor *tensor = tree->keys[i];

        if (tensor->kind != MODULE_PARAMETER || !tensor->requires_grad || tensor->first != tensor ||
            !dtype_is_float(dtype_part(tensor->dtype)))
            continue;
        plan->gradient_offsets[plan->gradient_count] = plan->gradient_bytes;
        if (kept)
            plan->gradient_bytes += plan_aligned(plan, module_tensor_count(tensor) *
                                                           dtype_rows[tensor->dtype].bytes);
        ARENA_PUSH(&cx->arena, plan->gradients, plan->gradient_count, tensor);
        ARENA_PUSH(&cx->arena, plan->gradient_names, named, planner_gradient_name(cx, plan, &taken, tensor));
    }
    plan->gradient_block = plan->gradient_bytes;
    if (kept) /* which of them there are */
        plan->gradient_block += plan_aligned(plan, 8 * (int64_t)plan->gradient_count);
    if (!plan->backend->apart) /* which are wanted; on a machine of its own this is the host's */
        plan->gradient_block += plan_aligned(plan, plan->gradient_count);
    else if (kept) /* a number of each: its norm, or whether it is finite */
        plan->gradient_block += plan_aligned(plan, 8 * (int64_t)plan->gradient_count);
}

static void lay_out_optimizer(struct cx *cx, struct plan *plan)
{
    const struct training *training = plan->program->tree->training;

    plan->optimizer_places = ARENA_ARRAY(&cx->arena, plan->gradient_count + 1, struct optimizer_place);
    for (int i = 0; i < plan->gradient_count && training; i++) {
        const struct module_tensor *tensor = plan->gradients[i];
        struct optimizer_place *place = &plan->optimizer_places[i];
        const struct optim_state *states[OPTIM_MAX_STATES];
        int count = optim_states(cx, training->groups[training_group_of(training, tensor)].optim, states);
        int64_t bytes = plan_aligned(plan, module_tensor_count(tensor) *
                                               dtype_rows[training_state_dtype(training, tensor)].bytes);

        if (training_copies(training, tensor)) {
            place->copy = plan->optimizer_bytes;
            place->bytes += bytes;
        }
        for (int j = 0; j < count; j++) {
            place->states[j] = plan->optimizer_bytes + place->bytes;
            place->bytes += states[j]->scalar ? plan_aligned(plan, 8) : bytes;
        }
        if (training->averages) {
            place->average = plan->optimizer_bytes + place->bytes;
            place->bytes += bytes;
        }
        plan->optimizer_bytes += place->bytes;
    }
    plan->scalars_at = plan->optimizer_bytes;
    if (plan->backend->apart && training)
        plan->optimizer_bytes += plan_aligned(plan, 8 * MODC_MAX_SCALARS * (int64_t)plan->gradient_count);
}

static bool calls(const struct graph *graph, const struct region *region)
{
    for (int i = 0; graph && i < graph->op_count; i++)
        if (graph->ops[i]->code == GRAPH_OP_CALL && graph->ops[i]->invoke.region == region)
            return true;
    return false;
}

/* Whether an entry calls the region, itself or by way of others: of what nothing uses the calls were removed. */
static bool is_called(const struct program *program, const struct region *region)
{
    for (int i = 0; i < program->entry_count; i++)
        for (int training = 0; training < 2; training++)
            for (int fenced = 0; fenced < 2; fenced++)
                if (calls(program->entries[i].graphs[training][fenced], region) ||
                    calls(program->entries[i].saving[training][fenced], region))
                    return true;
    for (int i = 0; i < program->region_count; i++)
        if (calls(program->regions[i]->graph, region) && is_called(program, program->regions[i]))
            return true;
    return false;
}

static unsigned *written_at(struct plan *plan, const struct module_tensor *tensor)
{
    return &(tensor->kind == MODULE_STATE ? plan->written_states : plan->written_keys)[tensor->key];
}

unsigned plan_written(const struct plan *plan, const struct module_tensor *tensor)
{
    return tensor->key < 0
               ? 0
               : (tensor->kind == MODULE_STATE ? plan->written_states : plan->written_keys)[tensor->key];
}

static void share_writes(struct plan *plan, const struct module *a, const struct module *b)
{
    for (int i = 0; i < a->tensor_count; i++) {
        unsigned both = plan_written(plan, a->tensors[i]) | plan_written(plan, b->tensors[i]);

        if (a->tensors[i]->key >= 0 && b->tensors[i]->key >= 0)
            *written_at(plan, a->tensors[i]) = *written_at(plan, b->tensors[i]) = both;
    }
    for (int i = 0; i < a->child_count; i++)
        share_writes(plan, a->children[i], b->children[i]);
}

/* Elements of an array have one type in C, in which a tensor is const or not, whichever of them is written. */
static void share_in_arrays(struct plan *plan, const struct module_tree *tree)
{
    for (int i = 0; i < 2 * tree->module_count; i++) { /* to the first, and from it to the others */
        const struct module *list = tree->modules[i % tree->module_count];

        for (int k = 1; k < list->child_count; k++)
            if (list->children[0]->array && list->children[k]->array &&
                strcmp(list->children[0]->text, list->children[k]->text) == 0)
                share_writes(plan, list->children[0], list->children[k]);
    }
}

static unsigned *find_writes(struct cx *cx, struct module_tensor *const *tensors, int count)
{
    unsigned *written = ARENA_ARRAY(&cx->arena, count + 1, unsigned);

    for (int i = 0; i < count; i++)
        written[i] = (tensors[i]->written ? WRITTEN : 0u) |
                     (tensors[i]->written_in_eval ? WRITTEN_IN_EVAL : 0u);
    return written;
}

/* Where training might choose another algorithm, or pack a weight in another way: it is seldom run, and no product is bound. */
static void part_modes(struct graph *graph, void *data)
{
    bool may_differ = false;

    (void)data;
    for (int i = 0; graph->evaluation && !graph->fenced && i < graph->op_count; i++)
        may_differ |= op_rows[graph->ops[i]->code]->weighted || op_rows[graph->ops[i]->code]->packs;
    if (may_differ)
        graph_part_modes(graph);
}

/* What is planned already, by another name. */
static void plan_again(struct cx *cx, struct plan *plan, struct graph *graph, const char *function)
{
    const struct variant *evaluation = plan_variant(plan, graph->evaluation);
    struct variant *variant = ARENA_NEW(&cx->arena, struct variant);

    *variant = *evaluation;
    graph->called = graph->evaluation->called; /* named when that was planned */
    variant->graph = graph;
    variant->function = function;
    variant->same = evaluation;
    ARENA_PUSH(&cx->arena, plan->variants, plan->variant_count, variant);
    names_add(&cx->arena, &plan->functions_taken, function, "", (struct loc){0});
}

/* By mode, then without and with hooks; NULL: there is none. */
static bool plan_variants(struct cx *cx, struct plan *plan, const struct entry *entry,
                          struct graph *const graphs[2][2], const char *kind)
{
    for (int i = 0; i < 4; i++) {
        const int training = i / 2, fenced = i % 2;
        struct graph *graph = graphs[training][fenced];
        const char *function = arena_format(&cx->arena, "%s_%s%s%s", entry->name, training ? "train" : "eval",
                                            kind, fenced ? "_fenced" : "");

        if (graph && graph->evaluation)
            plan_again(cx, plan, graph, function);
        else if (graph && !plan_one(cx, plan, graph, entry, function))
            return false;
    }
    return true;
}

/* What forward reads in PyTorch's layout: no products, which can have it packed. */
static void find_readers(struct graph *graph, void *data)
{
    struct plan *plan = data;

    for (int i = 0; i < graph->op_count && graph->ops[i]->code != GRAPH_OP_YIELD; i++) {
        const struct op *op = graph->ops[i];
        const bool reads = op_is_step(op) && op_rows[op->code]->pure;

        for (int j = 0; reads && j < op->input_count; j++) {
            const struct op *source = op->inputs[j]->base->op;

            if (source->code == GRAPH_OP_TENSOR && !(op_rows[op->code]->weighted && j == 1) &&
                source->tensor.tensor->kind != MODULE_STATE && source->tensor.tensor->key >= 0)
                plan->read_in_place[source->tensor.tensor->first->key] = true;
        }
    }
}

struct plan *plan_make(struct cx *cx, struct program *program)
{
    struct plan *plan = ARENA_NEW(&cx->arena, struct plan);
    struct pack_group *root = ARENA_NEW(&cx->arena, struct pack_group);
    struct names arguments;

    plan_tell_halves(program);
    plan->program = program;
    plan->backend = program->settings.backend;
    plan->templates.backend = plan->backend;
    plan->align = cx->options && cx->options->target && !plan->backend->apart ? cx->options->target->align
                                                                              : plan->backend->align;
    plan->model = program->tree->name;
    root->name = "";
    root->root = program->tree->root;
    root->backend = plan->backend;
    ARENA_PUSH(&cx->arena, plan->groups, plan->group_count, root);
    plan->written_keys = find_writes(cx, program->tree->keys, program->tree->key_count);
    plan->written_states = find_writes(cx, program->tree->states, program->tree->state_count);
    share_in_arrays(plan, program->tree);
    if (program->settings.packs_once) {
        plan->read_in_place = ARENA_ARRAY(&cx->arena, program->tree->key_count + 1, bool);
        program_each(program, find_readers, plan);
    }
    program_each_mode(program, part_modes, NULL);
    planner_bound_rounding(cx, plan);
    arguments = planner_argument_names(cx, program);
    lay_out_tensors(cx, plan);
    lay_out_gradients(cx, plan);
    lay_out_optimizer(cx, plan);
    for (int i = 0; i < program->region_count; i++) {
        struct region *region = program->regions[i];
        struct pack_group *group;

        if (!region->graph || !is_called(program, region))
            continue;
        group = planner_find_group(plan, region->graph->root);
        if (!group) {
            group = ARENA_NEW(&cx->arena, struct pack_group);
            group->name = region->name;
            group->root = region->graph->root;
            group->backend = plan->backend;
            ARENA_PUSH(&cx->arena, plan->groups, plan->group_count, group);
        }
        if (!plan_one(cx, plan, region->graph, NULL, planner_region_function(cx, plan, &arguments, region)))
            return NULL;
    }
    for (int i = 0; i < program->entry_count; i++) {
        const struct entry *entry = &program->entries[i];

        if (!plan_variants(cx, plan, entry, entry->graphs, "") ||
            !plan_variants(cx, plan, entry, entry->saving, "_saving"))
            return NULL;
    }
    planner_order_groups(cx, plan);
    for (int i = 0; i < plan->group_count; i++) {
        planner_lay_out_group(cx, plan, plan->groups[i]);
        for (int j = 0; j < plan->groups[i]->entry_count; j++) {
            const struct packed *entry = plan->groups[i]->entries[j];

            for (int k = 0; k < entry->operand_count; k++)
                if (entry->operands[k]->base->op->code == GRAPH_OP_CONST)
                    plan_constant(cx, plan, entry->operands[k]->base);
        }
    }
    lay_out_scales(cx, plan);
    if (plan->backend->apart)
        lay_out_mirror(plan);
    plan_kernels(cx, plan);
    planner_find_same(plan);
    return plan;
}
