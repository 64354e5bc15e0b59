/* pack.c - kernels that fill packed entries from parameters, and that give back what lies only packed. */
#include "plan/kernels/draft.h"

/* One of several parts is named by which it is: the panels that are whole, or what is left. NULL: there is but one. */
static const char *part_name(const struct packed *entry, int part)
{
    int of_group = entry->part_count / entry->groups;

    return of_group < 2 ? NULL : part % of_group == 0 ? "whole" : "rest";
}

static const struct kernel *pack_kernel(struct cx *cx, struct plan *plan, const struct packed *entry,
                                        int part)
{
    static const char *const formats[] = {"",       "panels",    "rows",  "columns",
                                          "vector", "winograd4", "dense", "winograd2"};
    struct kernel *kernel = new_nest(cx, plan, NEST_MAP, entry->parts[part].nest);
    const char *how = dag_is_identity(entry->dag) ? ""
                      : entry->storage ? arena_format(&cx->arena, "_%s", dtype_rows[entry->dtype].name)
                                       : "_folded";
    const char *stem;

    kernel->dag = entry->dag;
    kernel->before = "pack";
    kernel->role = part_name(entry, part);
    kernel->shape = arena_format(&cx->arena, "in %s", entry->comment);
    kernel->comment = dag_text(cx, entry->dag);
    stem = arena_format(&cx->arena, "pack_%s_%lldx%lld%s_%s", formats[entry->format],
                        (long long)entry->n / entry->groups, (long long)entry->k, how,
                        kernel->role ? kernel->role : "");
    if (!map_takes_function(cx, kernel)) /* its loops are no other weight's */
        return keep_nest(cx, plan, kernel, stem);
    return keep_map(cx, plan, kernel, NULL, stem);
}

struct operand passing_operand(const struct step *step, int64_t elements)
{
    const enum dtype dtype = step_packed(step, 1)->dtype;

    return (struct operand){.kind = OPERAND_SCRATCH,
                            .dtype = dtype,
                            .offset = step->packed_offset + elements * dtype_rows[dtype].bytes};
}

/* The tensor that it is made of, so many elements in. */
static struct operand passing_source(const struct step *step, int64_t elements)
{
    const struct packed *entry = step_packed(step, 1);
    struct operand operand = passing_operand(step, 0);

    operand.dtype = entry->source.entry->dtype;
    operand.offset += entry->source_offset + elements * dtype_rows[operand.dtype].bytes;
    return operand;
}

/* The entry, so many elements in. */
static struct operand entry_operand(const struct making *making, const struct packed *entry, int64_t elements)
{
    if (entry->passing)
        return passing_operand(making->step, elements);
    if (!entry->read)
        return (struct operand){.kind = OPERAND_SCRATCH,
                                .dtype = entry->dtype,
                                .offset = entry->offset + elements * dtype_rows[entry->dtype].bytes};
    return (struct operand){.kind = OPERAND_ENTRY, .packed.entry = entry, .offset = elements};
}

/* What the entry is made of, from so many elements on. */
static struct operand source_operand(const struct making *making, const struct packed *entry, int index,
                                     int64_t from)
{
    struct cx *cx = making->cx;
    struct value *operand = entry->operands[index];
    const struct op *op = operand->base->op;
    struct operand out = {0};
    int64_t offset = 0;

    dim_is_const(operand->offset, &offset);
    out.offset = offset + from;
    if (entry->passing && entry->source.entry)
        return passing_source(making->step, out.offset);
    if (entry->passing) { /* seen from a step */
        struct value *shown = ARENA_NEW(&cx->arena, struct value);

        *shown = *operand;
        shown->offset = dim_const(&cx->arena, out.offset);
        return (struct operand){.kind = OPERAND_VALUE, .value = shown};
    }
    if (entry->operand_entries[index])
        return entry_operand(making, entry->operand_entries[index], out.offset);
    if (op->code == GRAPH_OP_TENSOR) {
        out.kind = OPERAND_TENSOR;
        out.tensor = op->tensor.tensor;
    } else {
        out.kind = OPERAND_CONSTANT;
        out.name = plan_constant(cx, making->plan, operand->base); /* it is there */
    }
    return out;
}

struct operand packing_operand(const struct making *making, const struct value *value)
{
    const struct packed *entry = making->entry;

    for (int i = 0; i < entry->operand_count; i++)
        if (entry->operands[i] == value)
            return source_operand(making, entry, i, 0);
    return entry_operand(making, entry, 0);
}

static void add_number(struct making *making, struct kernel_call *call, int64_t number)
{
    add_operand(making, call, (struct operand){.kind = OPERAND_NUMBER, .offset = number});
}

/* A function of one weight that states its numbers, so that its callers do not: there is one in each mode. */
static const struct kernel *panels_kernel(const struct making *making, const struct packed *entry,
                                          const struct kernel *core, const int64_t *numbers, int count)
{
    struct cx *cx = making->cx;
    struct kernel *kernel = new_kernel(cx, making->plan, KERNEL_WRAPPER);
    struct draft draft = {.cx = cx, .plan = making->plan, .kernel = kernel};
    const struct element element = element_of(&draft, entry->dtype);

    kernel->core = core;
    kernel->computed = element.computed;
    kernel->before = "pack";
    kernel->comment = arena_format(&cx->arena, "y in %s = %s", entry->comment, dag_text(cx, entry->dag));
    kernel->stem = arena_format(&cx->arena, "pack_panels_%lldx%lld", (long long)entry->n,
                                (long long)entry->k);
    add_parameter(&draft, element, true, "y");
    add_parameter(&draft, element, false, "x");
    for (int i = 0; i < count; i++)
        ARENA_PUSH(&cx->arena, kernel->shapes, kernel->shape_count,
                   ((struct kernel_shape){.name = "", .dim = dim_const(&cx->arena, numbers[i])}));
    return keep_kernel(cx, making->plan, kernel);
}

static void add_word(struct making *making, struct kernel_call *call, const char *word)
{
    add_operand(making, call, (struct operand){.kind = OPERAND_WORD, .name = word});
}

/* The scales that what the entry is made of came with. */
static void add_scales(struct making *making, struct kernel_call *call, const struct packed *entry)
{
    struct operand operand = source_operand(making, entry, 0, 0);

    operand.scales = true;
    add_operand(making, call, operand);
}

/* The same as integers with scales, on a GPU by rows. */
static void call_scaled_rows(struct making *making, const struct packed *entry)
{
    const struct storage *storage = entry->storage;
    const struct panel_source *source = entry->panels;
    struct kernel_call *call = add_call(making,
                                        library_kernel(making->cx, making->plan, "modc_cuda_pack_rows"));
    const int64_t numbers[] = {entry->n,      entry->k,      source->row,
                               source->pixel, storage->bits, storage_group(storage, entry->k)};

    add_operand(making, call, entry_operand(making, entry, 0));
    add_operand(making, call, source_operand(making, entry, 0, 0));
    for (int i = 0; i < COUNT(numbers); i++)
        add_number(making, call, numbers[i]);
    add_word(making, call, dtype_rows[storage->scale].modc);
    add_number(making, call, storage->gguf);
    add_scales(making, call, entry);
}

/* The same in panels. */
static void call_scaled(struct making *making, const struct packed *entry)
{
    static const char *const scales[] = {[DTYPE_FLOAT32] = "MODC_SCALE_F32",
                                         [DTYPE_FLOAT16] = "MODC_SCALE_F16",
                                         [DTYPE_BFLOAT16] = "MODC_SCALE_BF16"};
    const struct storage *storage = entry->storage;
    const struct panel_source *source = entry->panels;
    struct kernel_call *call = add_call(making,
                                        library_kernel(making->cx, making->plan, "modc_f32_pack_scaled"));
    const int64_t numbers[] = {entry->n,
                               entry->k,
                               source->row,
                               source->pixel,
                               storage->bits,
                               storage_steps(storage),
                               storage_group(storage, entry->k)};

    add_operand(making, call, entry_operand(making, entry, 0));
    add_operand(making, call, source_operand(making, entry, 0, 0));
    for (int i = 0; i < COUNT(numbers); i++)
        add_number(making, call, numbers[i]);
    add_word(making, call, scales[storage->scale]);
    add_word(making, call, storage->gguf ? "MODC_GGUF" : "MODC_SYMMETRIC");
    add_scales(making, call, entry);
}

/* The same as codes. */
static void call_coded(struct making *making, const struct packed *entry)
{
    const struct panel_source *source = entry->panels;
    struct kernel_call *call = add_call(making,
                                        library_kernel(making->cx, making->plan, "modc_f32_pack_coded"));
    const int64_t numbers[] = {entry->n, entry->k, source->row, source->pixel};

    add_operand(making, call, entry_operand(making, entry, 0));
    add_operand(making, call, source_operand(making, entry, 0, 0));
    for (int i = 0; i < COUNT(numbers); i++)
        add_number(making, call, numbers[i]);
    add_word(making, call, "MODC_LOOKS_UP");
}

/* One call of the runtime. */
static void call_panels(struct making *making, const struct packed *entry)
{
    const struct panel_source *source = entry->panels;
    const bool pixels = source->channels > 1;
    const struct kernel *core = library_kernel(making->cx, making->plan,
                                               pixels ? "modc_f32_pack_pixels" : "modc_f32_pack");
    struct kernel_call *call;
    int64_t numbers[6];
    int count = 0;

    numbers[count++] = entry->n;
    if (pixels)
        numbers[count++] = source->channels;
    numbers[count++] = source->pixels;
    numbers[count++] = source->row;
    if (pixels)
        numbers[count++] = source->channel;
    numbers[count++] = source->pixel;
    call = add_call(making, entry->passing ? panels_kernel(making, entry, core, numbers, count) : core);
    add_operand(making, call, entry_operand(making, entry, 0));
    add_operand(making, call, source_operand(making, entry, 0, 0));
    for (int i = 0; i < count && !entry->passing; i++)
        add_number(making, call, numbers[i]);
}

/* The part as a copy of one run of elements, or of a matrix that is turned; false: it is neither. */
static bool call_copy(struct making *making, const struct packed *entry, const struct packed_part *part)
{
    const struct nest *nest = &part->nest;
    const struct nest_operand *y = &nest->operands[0], *x = &nest->operands[1];
    const struct dim *one = dim_const(&making->cx->arena, 1);
    struct kernel_call *call;
    bool run;

    if (entry->operand_count != 1 || !dag_is_identity(entry->dag) || y->dtype != x->dtype || nest->ndim > 2)
        return false;
    run = nest->ndim == 0 ||
          (nest->ndim == 1 && dim_equals(y->strides[0], 1) && dim_equals(x->strides[0], 1));
    if (!run && !making->plan->backend->vectors)
        return false; /* the runtime turns matrices on the processor alone */
    if (!run && (nest->ndim != 2 || y->dtype != DTYPE_FLOAT32 || !dim_equals(y->strides[1], 1) ||
                 !dim_equals(x->strides[0], 1) || dim_equals(x->strides[1], 0)))
        return false;
    call = add_call(making, library_kernel(making->cx, making->plan,
                                           run ? making->plan->backend->copy : "modc_f32_transpose"));
    add_operand(making, call, entry_operand(making, entry, part->to));
    if (!run)
        add_number(making, call, dim_constant(y->strides[0]));
    add_operand(making, call, source_operand(making, entry, 0, part->from[0]));
    if (run) {
        add_operand(making, call,
                    (struct operand){.kind = OPERAND_BYTES,
                                     .dtype = entry->dtype,
                                     .count = nest->ndim > 0 ? nest->dims[0] : one});
        return true;
    }
    add_number(making, call, dim_constant(x->strides[1]));
    add_number(making, call, dim_constant(nest->dims[0]));
    add_number(making, call, dim_constant(nest->dims[1]));
    return true;
}

/* Of what maps make. */
static void make_parts(struct making *making, const struct packed *entry)
{
    if (entry->panels) {
        (storage_is_coded(entry->storage)     ? call_coded
         : !storage_is_scaled(entry->storage) ? call_panels
         : entry->format == PACKED_ROWS       ? call_scaled_rows
                                              : call_scaled)(making, entry);
        return;
    }
    for (int i = 0; i < entry->part_count; i++) {
        const struct packed_part *part = &entry->parts[i];
        struct kernel_call *call;

        if (!entry->passing && call_copy(making, entry, part)) /* it says its numbers */
            continue;
        call = add_call(making, pack_kernel(making->cx, making->plan, entry, i));
        add_operand(making, call, entry_operand(making, entry, part->to));
        for (int j = 0; j < entry->operand_count; j++)
            add_operand(making, call, source_operand(making, entry, j, part->from[j]));
        if (call->kernel->guarded)
            add_operand(making, call, (struct operand){.kind = OPERAND_FAULT});
    }
}

void make_packing(struct cx *cx, struct plan *plan, struct packed *entry)
{
    struct making making = {.cx = cx, .plan = plan, .calls = &entry->calls};

    if (entry->op) {
        struct step *step = ARENA_NEW(&cx->arena, struct step);

        *step = (struct step){.op = entry->op,
                              .algorithm = entry->algorithm,
                              .split.slices = 1,
                              .scratch_offset = entry->scratch_offset,
                              .packed_offset = -1};
        making.step = step;
        making.entry = entry;
        kernel_rows[entry->op->code]->make(&making);
        return;
    }
    make_parts(&making, entry);
}

static const struct kernel *unpack_kernel(struct cx *cx, struct plan *plan, const struct packed *entry,
                                          int part)
{
    struct nest nest = entry->parts[part].nest;
    const struct nest_operand *operands = nest.operands;
    struct kernel *kernel;

    nest.operands = ARENA_ARRAY(&cx->arena, 2, struct nest_operand);
    nest.operands[0] = operands[1];
    nest.operands[1] = operands[0];
    kernel = new_nest(cx, plan, NEST_MAP, nest);
    kernel->dag = entry->dag;
    kernel->before = "unpack";
    kernel->role = part_name(entry, part);
    kernel->comment = arena_format(&cx->arena, "y = x0 in %s", entry->comment);
    return keep_nest(cx, plan, kernel,
                     arena_format(&cx->arena, "unpack_%lldx%lld_%s", (long long)entry->n / entry->groups,
                                  (long long)entry->k, kernel->role ? kernel->role : ""));
}

/* The tensor that an entry holds, in PyTorch's layout: out, with so many elements in front. */
static struct kernel_call *call_unpacking(struct making *making, const struct packed *entry, int part,
                                          int64_t *offset)
{
    dim_is_const(entry->operands[0]->offset, offset);
    *offset += entry->parts[part].from[0];
    return add_call(making, unpack_kernel(making->cx, making->plan, entry, part));
}

void make_passing(struct cx *cx, struct plan *plan, const struct variant *variant, struct step *step)
{
    const struct packed *entry = step_packed(step, 1);
    struct making making = {
        .cx = cx, .plan = plan, .variant = variant, .step = step, .calls = &step->packings};

    for (int i = 0; entry->source.entry && i < entry->source.entry->part_count; i++) {
        int64_t offset = 0;
        struct kernel_call *call = call_unpacking(&making, entry->source.entry, i, &offset);

        add_operand(&making, call, passing_source(step, offset));
        add_operand(&making, call,
                    (struct operand){.kind = OPERAND_PACKED,
                                     .packed = entry->source,
                                     .offset = entry->source.entry->parts[i].to});
    }
    if (entry->zero && !entry->panels) {
        struct kernel_call *call = add_call(&making, library_kernel(cx, plan, plan->backend->zeros));

        add_operand(&making, call, passing_operand(step, 0));
        add_number(&making, call, 0);
        add_operand(&making, call,
                    (struct operand){.kind = OPERAND_BYTES,
                                     .dtype = entry->dtype,
                                     .count = dim_const(&cx->arena, entry->count)});
    }
    make_parts(&making, entry);
}

/* ---- and back --------------------------------------------------------------------------------------------------- */

void plan_unpacking(struct cx *cx, struct plan *plan, const struct packed *entry)
{
    struct unpacking unpacking = {.entry = entry};
    struct making making = {.cx = cx, .plan = plan, .calls = &unpacking.calls};

    for (int i = 0; i < entry->part_count; i++) {
        int64_t offset = 0;
        struct kernel_call *call = call_unpacking(&making, entry, i, &offset);

        add_operand(&making, call,
                    (struct operand){.kind = OPERAND_OUT, .dtype = entry->dtype, .offset = offset});
        add_operand(
            &making, call,
            (struct operand){.kind = OPERAND_ENTRY, .packed.entry = entry, .offset = entry->parts[i].to});
    }
    ARENA_PUSH(&cx->arena, plan->unpackings, plan->unpacking_count, unpacking);
    note_entry(&unpacking.calls, entry);
    name_kernels(cx, plan);
}

const struct unpacking *plan_find_unpacking(const struct plan *plan, const struct packed *entry)
{
    for (int i = 0; i < plan->unpacking_count; i++)
        if (plan->unpackings[i].entry == entry)
            return &plan->unpackings[i];
    return NULL;
}
