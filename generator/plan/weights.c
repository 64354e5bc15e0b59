/* weights.c - `generate --weights`; see weights.h.
 *
 * The packed block is computed by running each packed part as the loop nest that it is, and what an op makes by its interpreter, in
 * double, rounded to the types of the entries. Integers with scales are the runtime's own rounding, or those of the file. */
#include "plan/weights.h"

#include <assert.h>
#include <string.h>

#include "base/options.h"
#include "modc.h"
#include "modc_simd.h"
#include "plan/algorithm.h"
#include "plan/kernel.h"
#include "plan/target.h"
#include "plan/weights_file.h"

struct embedding {
    struct cx *cx;
    const struct plan *plan;
    const struct module_tree *tree;
    struct weights_file file;
    char *packed; /* the block of plan->groups[0] */
    char *work;   /* what of its entries no step reads: plan->groups[0]->work_bytes */
    struct embedded_weights *weights;
    bool *read_raw;           /* by key: some kernel reads it in PyTorch's layout */
    struct weights_use *uses; /* by key */
    const char *path;
    bool faulty; /* what the file holds does not fit the entries, which was said */
};

/* ---- elements --------------------------------------------------------------------------------------------- */

static void store(enum dtype dtype, char *to, union scalar value)
{
    int32_t four = (int32_t)value.i;
    int16_t two = (int16_t)value.i;

    if (dtype_is_float(dtype))
        modc_store(to, (enum modc_dtype)dtype, value.f);
    else if (dtype_rows[dtype].bytes == 8)
        memcpy(to, &value.i, 8);
    else if (dtype_rows[dtype].bytes == 4)
        memcpy(to, &four, 4);
    else if (dtype_rows[dtype].bytes == 2)
        memcpy(to, &two, 2);
    else
        *to = (char)value.i;
}

const char *constant_bytes(struct arena *arena, const struct tensor *tensor)
{
    int64_t count = tensor_count(tensor);
    int bytes = dtype_rows[tensor->dtype].bytes;
    char *out = arena_alloc(arena, (size_t)(count * bytes) + 1);

    for (int64_t i = 0; i < count; i++)
        store(tensor->dtype, out + i * bytes, tensor->data[i]);
    return out;
}

/* ---- instances of groups ---------------------------------------------------------------------------------- */

static int find_key(const struct embedding *e, const char *path)
{
    for (int i = 0; i < e->tree->key_count; i++)
        if (strcmp(e->tree->keys[i]->path, path) == 0)
            return i;
    return -1;
}

/* A path at `owner` or in it, a part of one instance of the group's class, in another instance. */
static const char *moved_path(struct cx *cx, const struct pack_group *group, const struct module *instance,
                              const struct module *owner, const char *path)
{
    const struct module *own = owner;
    const char *rest;

    if (!group->name[0])
        return path;
    while (own && (!own->signature || strcmp(own->signature, group->root->signature) != 0))
        own = own->parent;
    if (!own)
        return path;
    rest = relative_path(own, path);
    return rest[0] ? arena_format(&cx->arena, "%s.%s", instance->path, rest) : instance->path;
}

bool is_moved(struct cx *cx, const struct pack_group *group, const struct module *instance,
              const struct module *part, const struct module *module)
{
    return strcmp(module->path, moved_path(cx, group, instance, part, part->path)) == 0;
}

static int moved_key(const struct embedding *e, const struct pack_group *group, const struct module *instance,
                     const struct module_tensor *tensor)
{
    return find_key(e, moved_path(e->cx, group, instance, tensor->owner, tensor->path));
}

static const struct module *find_module(const struct embedding *e, const char *path)
{
    for (int i = 0; i < e->tree->module_count; i++)
        if (strcmp(e->tree->modules[i]->path, path) == 0)
            return e->tree->modules[i];
    assert(!"an instance of a region is in the tree");
    return NULL;
}

typedef void visit_group(struct embedding *e, const struct pack_group *group, const struct module *instance,
                         int64_t at);

/* Calls `visit` for the model's group and for every instance of the others inside; `at`: offset in the block. */
static void each_instance(struct embedding *e, const struct pack_group *group, const struct module *instance,
                          int64_t at, visit_group *visit)
{
    visit(e, group, instance, at);
    for (int i = 0; i < group->child_count; i++) {
        const struct pack_child *child = &group->children[i];
        const char *path = moved_path(e->cx, group, instance, child->first->parent, child->first->path);
        const struct module *first = find_module(e, path);

        for (int k = 0; k < (child->count > 0 ? child->count : 1); k++) {
            const struct module *own = child->count > 0 ? first->parent->children[k] : first;

            each_instance(e, child->group, own, at + child->offset + k * child->group->bytes, visit);
        }
    }
}

/* ---- packing ---------------------------------------------------------------------------------------------- */

struct packed_operand {
    const char *bytes; /* of its first element */
    enum dtype dtype;
    int size;
};

/* Where the entry lies, of the instance whose struct does `at` bytes in. */
static char *entry_bytes(const struct embedding *e, const struct packed *entry, int64_t at)
{
    return (entry->read ? e->packed + at : e->work) + entry->offset;
}

static struct packed_operand find_operand(struct embedding *e, const struct pack_group *group,
                                          const struct module *instance, int64_t at,
                                          const struct packed *entry, int index)
{
    const struct value *value = entry->operands[index];
    const struct op *op = value->base->op;
    struct packed_operand operand = {.dtype = value->dtype, .size = dtype_rows[value->dtype].bytes};

    if (entry->operand_entries[index]) {
        operand.bytes = entry_bytes(e, entry->operand_entries[index], at);
    } else if (op->code == GRAPH_OP_CONST) {
        operand.bytes = constant_bytes(&e->cx->arena, value->base->constant);
    } else {
        int key = moved_key(e, group, instance, op->tensor.tensor);

        assert(op->code == GRAPH_OP_TENSOR && key >= 0);
        operand.bytes = e->file.tensors + e->plan->param_offsets[key];
    }
    operand.bytes += dim_constant(value->offset) * operand.size;
    return operand;
}

/* One loop nest over an entry at `out`; see struct packed_part. */
struct part_run {
    const struct dag *dag;
    enum dtype dtype; /* of what is written */
    int operand_count, ndim;
    int64_t dims[MAX_DIMS * 2], to[MAX_DIMS * 2];
    int64_t *from; /* by operand, then axis */
    struct packed_operand *operands;
    int64_t *at; /* by operand: offset of its element of now */
    union scalar *inputs, *values;
    char *out;
    enum {
        BY_DAG,
        STORED,
        COPIED,
        MULTIPLIED
    } way; /* the others are what BY_DAG does, for the most of a large file */
};

static void run_element(struct part_run *run, int64_t to)
{
    char *out = run->out + to * dtype_rows[run->dtype].bytes;

    if (run->way == STORED) {
        modc_store(out, (enum modc_dtype)run->dtype,
                   modc_number(run->operands[0].bytes + run->at[0] * run->operands[0].size,
                               (enum modc_dtype)run->operands[0].dtype));
        return;
    }
    for (int i = 0; i < run->operand_count; i++)
        run->inputs[i] = scalar_load(run->operands[i].dtype,
                                     run->operands[i].bytes + run->at[i] * run->operands[i].size);
    store(run->dtype, out, dag_eval_in(run->dag, run->inputs, NULL, run->values));
}

/* The last axis, of elements of four bytes. */
static void run_line(struct part_run *run, int64_t to)
{
    const int axis = run->ndim - 1;
    const int64_t count = run->dims[axis], step = run->to[axis] * 4;
    char *out = run->out + to * 4;
    const char *in[2];
    int64_t steps[2];

    for (int i = 0; i < run->operand_count; i++) {
        in[i] = run->operands[i].bytes + run->at[i] * 4;
        steps[i] = run->from[i * run->ndim + axis] * 4;
    }
    for (int64_t i = 0; i < count; i++) {
        if (run->way == COPIED) {
            memcpy(out + i * step, in[0] + i * steps[0], 4);
        } else {
            float factors[2];

            memcpy(&factors[0], in[0] + i * steps[0], 4);
            memcpy(&factors[1], in[1] + i * steps[1], 4);
            factors[0] *= factors[1];
            memcpy(out + i * step, &factors[0], 4);
        }
    }
}

static void run_axis(struct part_run *run, int axis, int64_t to)
{
    if (axis == run->ndim) {
        run_element(run, to);
        return;
    }
    if (axis == run->ndim - 1 && run->way >= COPIED) {
        run_line(run, to);
        return;
    }
    for (int64_t i = 0; i < run->dims[axis]; i++) {
        run_axis(run, axis + 1, to + i * run->to[axis]);
        for (int k = 0; k < run->operand_count; k++)
            run->at[k] += run->from[k * run->ndim + axis];
    }
    for (int k = 0; k < run->operand_count; k++)
        run->at[k] -= run->dims[axis] * run->from[k * run->ndim + axis];
}

/* Is it weight * f(others)? f, or NULL; *weight: the operand. */
static const struct dag *scale_of(struct arena *arena, const struct part_run *run, int *weight)
{
    const struct dag_node *product = &run->dag->nodes[run->dag->result];
    struct dag *scale = ARENA_NEW(arena, struct dag);

    if (product->prim != PRIM_MUL || product->dtype != DTYPE_FLOAT32 || run->dtype != DTYPE_FLOAT32)
        return NULL;
    for (int k = 0; k < 2; k++) {
        const struct dag_node *own = &run->dag->nodes[product->args[k]];

        *scale = *run->dag;
        scale->result = product->args[1 - k];
        if (own->prim == PRIM_LOAD && !dag_loads(arena, scale)[own->input]) {
            *weight = own->input;
            dag_trim(arena, scale);
            return scale;
        }
    }
    return NULL;
}

/* Folded weights: f of the channels' norms is computed once for each channel, not for each weight. */
static void scale_first(struct arena *arena, struct part_run *run)
{
    int weight;
    const struct dag *scale = scale_of(arena, run, &weight);
    struct part_run scales = *run;
    int64_t *from = ARENA_ARRAY(arena, 2 * run->ndim, int64_t), count = 1;

    if (!scale)
        return;
    for (int d = run->ndim - 1; d >= 0; d--) {
        bool varies = false;

        for (int i = 0; i < run->operand_count; i++)
            varies |= i != weight && run->from[i * run->ndim + d] != 0;
        from[d] = run->from[weight * run->ndim + d];
        from[run->ndim + d] = varies ? count : 0;
        scales.to[d] = count;
        scales.dims[d] = varies ? run->dims[d] : 1;
        count *= scales.dims[d];
    }
    scales.dag = scale;
    scales.out = (char *)ARENA_ARRAY(arena, count, float);
    run_axis(&scales, 0, 0);
    run->operands[0] = run->operands[weight];
    run->at[0] = run->at[weight];
    run->operands[1] = (struct packed_operand){scales.out, DTYPE_FLOAT32, 4};
    run->at[1] = 0;
    run->from = from;
    run->operand_count = 2;
    run->way = MULTIPLIED;
}

/* The elements of an operand, in the order of its dims. */
static struct tensor *read_operand(struct arena *arena, const struct packed_operand *operand,
                                   const struct value *value)
{
    struct tensor *tensor = ARENA_NEW(arena, struct tensor);
    int64_t count, index[MAX_DIMS] = {0}, strides[MAX_DIMS], at = 0;

    tensor->dtype = value->dtype;
    tensor->ndim = value->ndim;
    for (int d = 0; d < value->ndim; d++) {
        tensor->dims[d] = dim_constant(value->dims[d]);
        strides[d] = dim_constant(value->strides[d]);
    }
    count = tensor_count(tensor);
    tensor->data = ARENA_ARRAY(arena, count + 1, union scalar);
    for (int64_t i = 0; i < count; i++) {
        tensor->data[i] = scalar_load(operand->dtype, operand->bytes + at * operand->size);
        for (int d = value->ndim - 1; d >= 0; d--) {
            at += strides[d];
            if (++index[d] < tensor->dims[d])
                break;
            at -= strides[d] * tensor->dims[d];
            index[d] = 0;
        }
    }
    return tensor;
}

/* What an op makes: by its interpreter. */
static void interpret_entry(struct embedding *e, const struct pack_group *group,
                            const struct module *instance, int64_t at, const struct packed *entry)
{
    const int size = dtype_rows[entry->dtype].bytes;
    const struct value *result = entry->op->outputs[0];
    struct arena own = {0};
    const struct tensor **inputs = ARENA_ARRAY(&own, entry->operand_count, const struct tensor *);
    struct tensor output = {.dtype = result->dtype, .ndim = result->ndim};

    for (int i = 0; i < entry->operand_count; i++) {
        const struct packed_operand operand = find_operand(e, group, instance, at, entry, i);

        inputs[i] = read_operand(&own, &operand, entry->operands[i]);
    }
    for (int d = 0; d < result->ndim; d++)
        output.dims[d] = dim_constant(result->dims[d]);
    output.data = ARENA_ARRAY(&own, entry->count + 1, union scalar);
    op_rows[entry->op->code]->interpret(entry->op, inputs, &output);
    for (int64_t i = 0; i < entry->count; i++)
        store(entry->dtype, entry_bytes(e, entry, at) + i * size, output.data[i]);
    arena_free(&own);
}

/* The first key of the tie of what an entry of a storage is made of; -1: it has none, or is made of no parameter. */
static int stored_key(const struct embedding *e, const struct pack_group *group,
                      const struct module *instance, const struct packed *entry)
{
    const struct op *op = entry->storage ? entry->operands[0]->base->op : NULL;

    if (!op || op->code != GRAPH_OP_TENSOR)
        return -1;
    return e->tree->keys[moved_key(e, group, instance, op->tensor.tensor)]->first->key;
}

/* Where row i of an entry begins in the parameter's matrix, rows of which are `width` apart, or stand in it as columns. */
struct matrix_place {
    int64_t row, step;
};

static struct matrix_place place_in(const struct packed *entry, int64_t width, bool transposed, int64_t i)
{
    const int64_t at = dim_constant(entry->operands[0]->offset) + i * entry->panels->row;

    return transposed ? (struct matrix_place){at % width, at / width}
                      : (struct matrix_place){at / width, at % width};
}

/* Rows of the entry are rows of the matrix (n, k), or parts of them, and what shares a scale in it shares one there. */
static bool scales_fit(const struct packed *entry, bool transposed, int64_t n, int64_t k)
{
    const int64_t width = transposed ? n : k, group = entry->storage->group;

    if (entry->k > 1 && entry->panels->pixel != (transposed ? width : 1))
        return false;
    for (int64_t i = 0; i < entry->n; i++) {
        const struct matrix_place at = place_in(entry, width, transposed, i);

        if (at.step + entry->k > k || (group > 0 && at.step % group != 0))
            return false;
    }
    return true;
}

/* The integers and scales of the file, as they are. */
static void take_scaled(const struct packed *entry, const struct scaled_weight *weight, char *out)
{
    const struct storage *storage = entry->storage;
    const int64_t width = weight->transposed ? weight->n : weight->k,
                  group = storage_group(storage, entry->k);
    const int64_t head = storage_head(storage, entry->k), panel = storage_panel(storage, entry->k);
    const int size = dtype_rows[storage->scale].bytes, lanes = entry->panel;

    for (int64_t i = 0; i < entry->n; i++) {
        const struct matrix_place at = place_in(entry, width, weight->transposed, i);
        char *to = out + i / lanes * panel;
        const int64_t lane = i % lanes;

        for (int64_t j = 0; j < entry->k; j++) {
            const int whole = scaled_integer(weight, at.row, at.step + j);

            if (j % group == 0)
                memcpy(to + (j / group * lanes + lane) * size, scaled_scale(weight, at.row, at.step + j),
                       (size_t)size);
            modc_panel_set((modc_int8 *)to + head, (int)j, (int)lane, storage_steps(storage), whole);
        }
    }
}

/* From what the file holds as integers. */
static void pack_from_scaled(struct embedding *e, int key, const struct packed *entry,
                             const struct scaled_weight *weight, char *out)
{
    const struct module_tensor *tensor = e->tree->keys[key];
    struct arena *arena = &e->cx->arena;
    const char *held = storage_text(arena, &weight->storage);

    if (e->faulty)
        return;
    if (storage_holds(entry->storage, &weight->storage) &&
        scales_fit(entry, weight->transposed, weight->n, weight->k)) {
        take_scaled(entry, weight, out);
        return;
    }
    e->faulty = true;
    if (!storage_holds(entry->storage, &weight->storage)) {
        diag_error(e->cx, tensor->storage_loc, "%s holds %s as %s, not as %s", e->path, tensor->path, held,
                   storage_text(arena, entry->storage));
        diag_hint(e->cx,
                  "'%s: %s' here takes it as it is; from its floats `modc quantize` makes a file of %s",
                  tensor->path, held, storage_text(arena, entry->storage));
    } else {
        diag_error(e->cx, tensor->storage_loc,
                   "%s holds %s by scales that do not go with a product that has it", e->path, tensor->path);
        diag_hint(e->cx, "it multiplies by another part of it, or by its transpose: embed its floats");
    }
}

/* By the function that a model calls, or as the file has it. */
static void pack_scaled(struct embedding *e, const struct pack_group *group, const struct module *instance,
                        int64_t at, const struct packed *entry)
{
    const struct storage *storage = entry->storage;
    const struct packed_operand source = find_operand(e, group, instance, at, entry, 0);

    modc_f32_pack_scaled((modc_int8 *)entry_bytes(e, entry, at), (const float *)(const void *)source.bytes,
                         (int)entry->n, (int)entry->k, (int)entry->panels->row, (int)entry->panels->pixel,
                         storage->bits, storage_steps(storage), (int)storage_group(storage, entry->k),
                         (enum modc_scale)scaled_type(storage), storage->gguf ? MODC_GGUF : MODC_SYMMETRIC,
                         (struct modc_scales){0});
}

static void pack_coded(struct embedding *e, const struct pack_group *group, const struct module *instance,
                       int64_t at, const struct packed *entry)
{
    const struct packed_operand source = find_operand(e, group, instance, at, entry, 0);

    modc_f32_pack_coded((modc_int8 *)entry_bytes(e, entry, at), (const float *)(const void *)source.bytes,
                        (int)entry->n, (int)entry->k, (int)entry->panels->row, (int)entry->panels->pixel,
                        true);
}

static void pack_entry_of(struct embedding *e, const struct pack_group *group, const struct module *instance,
                          int64_t at, const struct packed *entry)
{
    struct arena *arena = &e->cx->arena;
    int count = entry->operand_count, side = winograd_side(entry->format);
    const int key = stored_key(e, group, instance, entry);

    if (key >= 0 && e->file.scaled[key].storage.name) {
        pack_from_scaled(e, key, entry, &e->file.scaled[key], entry_bytes(e, entry, at));
        return;
    }
    if (storage_is_scaled(entry->storage)) {
        pack_scaled(e, group, instance, at, entry);
        return;
    }
    if (storage_is_coded(entry->storage) && entry->panels) {
        pack_coded(e, group, instance, at, entry);
        return;
    }
    if (entry->op)
        interpret_entry(e, group, instance, at, entry);
    for (int p = 0; p < entry->part_count; p++) {
        const struct packed_part *part = &entry->parts[p];
        const struct nest *nest = &part->nest;
        struct part_run run = {
            .dag = entry->dag, .dtype = entry->dtype, .operand_count = count, .ndim = 1, .dims = {1}};

        if (nest->ndim > 0) /* else a single element: a line of one */
            run.ndim = nest->ndim;
        run.operands = ARENA_ARRAY(arena, count + 2, struct packed_operand);
        run.at = ARENA_ARRAY(arena, count + 2, int64_t);
        run.from = ARENA_ARRAY(arena, count * run.ndim + 1, int64_t);
        run.inputs = ARENA_ARRAY(arena, entry->dag->input_count + count + 1, union scalar);
        run.values = ARENA_ARRAY(arena, entry->dag->count + 1, union scalar);
        run.out = entry_bytes(e, entry, at) + part->to * dtype_rows[entry->dtype].bytes;
        for (int d = 0; d < nest->ndim; d++) {
            run.dims[d] = dim_constant(nest->dims[d]);
            run.to[d] = dim_constant(nest->operands[0].strides[d]);
            for (int i = 0; i < count; i++)
                run.from[i * nest->ndim + d] = dim_constant(nest->operands[1 + i].strides[d]);
        }
        for (int i = 0; i < count; i++) {
            run.operands[i] = find_operand(e, group, instance, at, entry, i);
            run.at[i] = part->from[i];
        }
        if (dag_is_identity(entry->dag) && count == 1 && run.operands[0].dtype == entry->dtype &&
            run.operands[0].size == 4)
            run.way = COPIED;
        else if (entry->storage)
            run.way = STORED;
        else
            scale_first(arena, &run);
        run_axis(&run, 0, 0);
    }
    if (side > 0)
        modc_winograd_weights((float *)(void *)entry_bytes(e, entry, at), side,
                              (size_t)entry->count / (size_t)(side * side));
}

/* The block is zero before: padding stays 0. */
static void pack_group_of(struct embedding *e, const struct pack_group *group, const struct module *instance,
                          int64_t at)
{
    for (int i = 0; i < group->entry_count; i++)
        pack_entry_of(e, group, instance, at, group->entries[i]);
}

/* ---- what must lie in PyTorch's layout too ---------------------------------------------------------------- */

static void mark_value(struct embedding *e, const struct pack_group *group, const struct module *instance,
                       const struct value *value)
{
    const struct op *op = value->base->op;
    int key;

    if (op->code != GRAPH_OP_TENSOR)
        return;
    key = moved_key(e, group, instance, op->tensor.tensor);
    if (key >= 0)
        e->read_raw[key] = true; /* a graph reads the first of a tie */
}

/* Where it lies, by the step or by what packs it in passing. */
static bool reads_raw(const struct step *step, int input)
{
    const struct packed *packed = step_packed(step, input);

    return !packed || (packed->passing && !packed->source.entry);
}

static void mark_reads(struct embedding *e, const struct pack_group *group, const struct module *instance,
                       int64_t at)
{
    (void)at;
    for (int v = 0; v < e->plan->variant_count; v++) {
        const struct variant *variant = e->plan->variants[v];

        if (variant->group != group)
            continue;
        for (int s = 0; s < variant->step_count; s++)
            for (int j = 0; j < variant->steps[s].op->input_count; j++)
                if (reads_raw(&variant->steps[s], j))
                    mark_value(e, group, instance, variant->steps[s].op->inputs[j]);
        for (int i = 0; i < variant->graph->output_count; i++)
            mark_value(e, group, instance, variant->graph->outputs[i]);
    }
}

static void mark_uses(struct embedding *e, const struct pack_group *group, const struct module *instance,
                      int64_t at)
{
    (void)at;
    for (int i = 0; i < group->entry_count; i++) {
        const struct packed *entry = group->entries[i];
        const int key = stored_key(e, group, instance, entry);
        const struct module_tensor *tensor = key >= 0 ? e->tree->keys[key] : NULL;
        struct weights_use *use = &e->uses[key >= 0 ? key : 0];

        if (!tensor)
            continue;
        if (!storage_is_scaled(entry->storage)) {
            use->storage = entry->storage;
            continue;
        }
        use->apart |= tensor->ndim != 2;
        if (!use->storage && !use->apart)
            use->transposed = !scales_fit(entry, false, tensor->dims[0], tensor->dims[1]);
        use->apart = use->apart || !scales_fit(entry, use->transposed, tensor->dims[use->transposed],
                                               tensor->dims[!use->transposed]);
        use->storage = entry->storage;
    }
}

const struct weights_use *weights_uses(struct cx *cx, const struct plan *plan)
{
    struct embedding e = {.cx = cx, .plan = plan, .tree = plan->program->tree};

    e.uses = ARENA_ARRAY(&cx->arena, e.tree->key_count + 1, struct weights_use);
    each_instance(&e, plan->groups[0], e.tree->root, 0, mark_uses);
    return e.uses;
}

/* Tensors that an entry holds, in another order. */
static void mark_permutations(struct embedding *e, const struct pack_group *group,
                              const struct module *instance, int64_t at)
{
    for (int i = 0; i < group->entry_count; i++) {
        const struct packed *entry = group->entries[i];
        int key = entry->permutes ? moved_key(e, group, instance, entry->permutes) : -1;

        if (key < 0 || !entry->read || e->weights->packed[key] || e->read_raw[key] ||
            plan_written(e->plan, e->tree->keys[key]) || e->tree->keys[key]->first->key != key)
            continue;
        e->weights->packed[key] = entry;
        e->weights->packed_at[key] = at + entry->offset;
    }
}

static int64_t tensor_bytes(const struct module_tensor *tensor)
{
    return module_tensor_count(tensor) * dtype_rows[tensor->dtype].bytes;
}

int64_t constant_length(const struct tensor *tensor)
{
    return tensor_count(tensor) * dtype_rows[tensor->dtype].bytes;
}

bool constant_is_large(const struct tensor *tensor)
{
    return constant_length(tensor) > 16384;
}

/* Behind `length` bytes; how many there are then. */
static int64_t lay_out_constants(struct cx *cx, const struct plan *plan, struct embedded_weights *weights,
                                 int64_t length)
{
    weights->constant_count = plan->constant_count;
    weights->constants = ARENA_ARRAY(&cx->arena, plan->constant_count + 1, int64_t);
    for (int i = 0; i < plan->constant_count; i++) {
        const struct tensor *tensor = plan->constants[i]->constant;
        const bool large = constant_is_large(tensor);

        weights->constants[i] = large ? length : -1;
        if (large)
            length += plan_aligned(plan, constant_length(tensor));
    }
    return length;
}

int64_t weights_constant(const struct embedded_weights *weights, int constant)
{
    return weights && constant < weights->constant_count ? weights->constants[constant] : -1;
}

/* Decides where each key lies; what is in the file has no part in it. */
static struct embedding lay_out(struct cx *cx, const struct plan *plan)
{
    struct arena *arena = &cx->arena;
    struct embedding e = {.cx = cx, .plan = plan, .tree = plan->program->tree};
    const struct pack_group *model = plan->groups[0];
    struct embedded_weights *weights = ARENA_NEW(arena, struct embedded_weights);
    int keys = e.tree->key_count;
    bool kept = e.plan->program->settings.state_dict; /* what no kernel reads, for saving */
    int64_t length = plan_aligned(plan, model->bytes);

    e.weights = weights;
    e.read_raw = ARENA_ARRAY(arena, keys + 1, bool);
    weights->raw = ARENA_ARRAY(arena, keys + 1, int64_t);
    weights->packed = ARENA_ARRAY(arena, keys + 1, const struct packed *);
    weights->packed_at = ARENA_ARRAY(arena, keys + 1, int64_t);
    for (int i = 0; i < keys; i++)
        weights->packed_at[i] = -1;
    each_instance(&e, model, e.tree->root, 0, mark_reads);
    each_instance(&e, model, e.tree->root, 0, mark_permutations);
    for (int i = 0; i < keys; i++) {
        int first = e.tree->keys[i]->first->key;

        if (first < i) {
            weights->packed[i] = weights->packed[first];
            weights->packed_at[i] = weights->packed_at[first];
            weights->raw[i] = weights->raw[first];
            continue;
        }
        bool held = !weights->packed[i] && (kept || e.read_raw[i] || plan_written(plan, e.tree->keys[i]));

        weights->raw[i] = held ? length : -1;
        if (held)
            length += plan_aligned(plan, tensor_bytes(e.tree->keys[i]));
    }
    weights->length = (size_t)lay_out_constants(cx, plan, weights, length);
    return e;
}

int64_t weights_length(struct cx *cx, const struct plan *plan)
{
    struct embedding e = lay_out(cx, plan);

    return (int64_t)e.weights->length;
}

struct embedded_weights *weights_embed(struct cx *cx, const struct plan *plan, const char *path, int *status)
{
    struct embedding e = lay_out(cx, plan);
    const struct pack_group *model = plan->groups[0];
    char *bytes;

    e.path = path;
    *status = EXIT_FILE;
    if (!weights_read(cx, plan, path, weights_uses(cx, plan), &e.file))
        return NULL;
    bytes = arena_alloc(&cx->arena, e.weights->length + 1);
    e.packed = bytes;
    e.work = arena_alloc(&cx->arena, (size_t)model->work_bytes + 1);
    each_instance(&e, model, e.tree->root, 0, pack_group_of);
    if (e.faulty)
        return NULL;
    *status = EXIT_DONE;
    for (int i = 0; i < e.tree->key_count; i++)
        if (e.weights->raw[i] >= 0)
            memcpy(bytes + e.weights->raw[i], e.file.tensors + plan->param_offsets[i],
                   (size_t)tensor_bytes(e.tree->keys[i]));
    for (int i = 0; i < e.weights->constant_count; i++) {
        const struct tensor *tensor = plan->constants[i]->constant;

        if (e.weights->constants[i] >= 0)
            memcpy(bytes + e.weights->constants[i], constant_bytes(&cx->arena, tensor),
                   (size_t)constant_length(tensor));
    }
    e.weights->bytes = bytes;
    return e.weights;
}

/* Tensors that lie only packed are given back to those who ask for a state_dict. */
void weights_attach(struct cx *cx, struct plan *plan, const struct embedded_weights *weights)
{
    const struct module_tree *tree = plan->program->tree;

    plan->weights = weights;
    for (int i = 0; i < tree->key_count && plan->program->settings.state_dict; i++)
        if (weights->raw[i] < 0 && tree->keys[i]->first == tree->keys[i])
            plan_unpacking(cx, plan, weights->packed[i]);
}

bool weights_are_array(const struct cx *cx)
{
    return cx->options->weights_as && strcmp(cx->options->weights_as, "c") == 0;
}
