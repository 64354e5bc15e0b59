/* plan_pack.c - packed entries: which loop nest makes them from parameters. Apart from plan.c, which decides who needs
 * one. All extents are constants here. */
#include "plan/plan_pack.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "passes/toolkit.h"
#include "plan/algorithm.h"

static const struct dim *number(struct cx *cx, int64_t value)
{
    return dim_const(&cx->arena, value);
}

/* An axis of the loops: where it goes in the entry, and what it is of the source. */
struct loop {
    int64_t extent;
    bool is_n;
    int64_t unit; /* in n, or in k */
    int axis;     /* of the source's dims */
};

/* The stride of `operand`, broadcast to `dims` of the source, along an axis. */
static const struct dim *operand_stride(struct cx *cx, const struct value *operand, int ndim, int axis)
{
    int at = axis - (ndim - operand->ndim);

    if (at < 0 || dim_equals(operand->dims[at], 1))
        return number(cx, 0);
    return operand->strides[at];
}

/* The loops over what `value` is made of. `n_axis` of value is n (-1: none), all others are k in their order. The
 * source is the prepared map that owns the value, if its axes each lie in one axis of the value, else the value. */
static int make_loops(const struct value *value, int n_axis, const struct value *source, struct loop *loops)
{
    int64_t unit[MAX_DIMS], k = 1;
    int count = 0;

    for (int j = value->ndim - 1; j >= 0; j--) {
        unit[j] = j == n_axis ? 1 : k;
        if (j != n_axis)
            k *= dim_constant(value->dims[j]);
    }
    if (source == value) {
        for (int j = 0; j < value->ndim; j++)
            loops[count++] = (struct loop){dim_constant(value->dims[j]), j == n_axis, unit[j], j};
        return count;
    }
    for (int a = 0; a < source->ndim; a++) {
        int64_t extent = dim_constant(source->dims[a]), stride = dim_constant(source->strides[a]);
        int found = -1;

        if (extent == 1)
            continue;
        for (int j = 0; j < value->ndim; j++) {
            int64_t step = dim_constant(value->strides[j]), size = dim_constant(value->dims[j]);

            if (size > 1 && step > 0 && stride % step == 0 && stride / step < size &&
                stride / step * (extent - 1) < size)
                found = found < 0 || dim_constant(value->strides[found]) < step ? j : found;
        }
        if (found < 0)
            return -1;

        int64_t part = stride / dim_constant(value->strides[found]);

        if (found == n_axis && (part != 1 || extent != dim_constant(value->dims[n_axis])))
            return -1;
        loops[count++] = (struct loop){extent, found == n_axis, part * unit[found], a};
    }
    return count;
}

/* One nest: n from `first`, `n_count` of them, in steps of `panel` if `split`; `to` is where they go. */
static void make_part(struct cx *cx, struct packed *entry, const struct loop *loops, int loop_count,
                      int source_ndim, int64_t first, int64_t n_count, int64_t panel, bool split, int64_t to)
{
    struct packed_part *part;
    struct nest *nest;
    int side = winograd_side(entry->format);
    bool winograd = side > 0, panels = entry->format == PACKED_PANELS || winograd;
    int64_t depth = winograd ? entry->k / 9 : entry->k; /* of a panel */
    int64_t row = panel * (entry->woven ? entry->groups : 1);
    int operands = entry->operand_count;

    ARENA_PUSH(&cx->arena, entry->parts, entry->part_count, (struct packed_part){.to = to});
    part = &entry->parts[entry->part_count - 1];
    nest = &part->nest;
    nest->operand_count = operands + 1;
    nest->operands = ARENA_ARRAY(&cx->arena, operands + 1, struct nest_operand);
    nest->operands[0].dtype = entry->dtype;
    part->from = ARENA_ARRAY(&cx->arena, operands + 1, int64_t);
    for (int i = 0; i < operands; i++)
        nest->operands[1 + i].dtype = entry->operands[i]->dtype;
    for (int l = 0; l < loop_count; l++) {
        const struct loop *loop = &loops[l];
        int pieces = loop->is_n && split ? 2 : 1;

        for (int piece = 0; piece < pieces; piece++) {
            int d = nest->ndim++;
            int64_t extent = loop->extent, step, scale = 1;

            if (loop->is_n) {
                extent = !split ? n_count : piece == 0 ? n_count / panel : panel;
                scale = split && piece == 0 ? panel : 1;
                if (panels)
                    step = split && piece == 0 ? depth * row : 1;
                else
                    step = entry->format == PACKED_ROWS ? entry->k : 1;
            } else if (winograd && loop->unit >= depth) { /* of a line or pixel of the kernel: by planes */
                step = loop->unit / depth * (entry->count / (side * side));
            } else {
                step = panels                            ? loop->unit * row
                       : entry->format == PACKED_COLUMNS ? loop->unit * entry->n
                                                         : loop->unit;
            }
            nest->dims[d] = number(cx, extent);
            nest->operands[0].strides[d] = number(cx, step);
            for (int i = 0; i < operands; i++) {
                const struct dim *stride = operand_stride(cx, entry->operands[i], source_ndim, loop->axis);

                nest->operands[1 + i].strides[d] = number(cx, dim_constant(stride) * scale);
                if (loop->is_n && piece == 0)
                    part->from[i] = first * dim_constant(stride);
            }
        }
    }
}

/* What an entry is made of, and the loops over it; computed on the way, where a prepared map can be. What another op makes
 * is that op's own entry, without loops. */
struct made {
    const struct value *source; /* whose axes the loops are of */
    struct loop loops[MAX_DIMS];
    int loop_count;
};

/* What it is, `entry` if that is made before, and where its elements lie: by loop, of which those of one step are none. */
static const char *operand_key(struct cx *cx, const struct module *root, const struct value *operand,
                               const struct packed *entry, const struct made *made)
{
    struct text text = text_new(&cx->arena);
    const struct op *op = operand->base->op;

    if (entry)
        text_printf(&text, "(%s)", entry->name);
    else if (op->code == GRAPH_OP_TENSOR)
        text_add(&text, relative_path(root, op->tensor.tensor->path));
    else
        text_printf(&text, "%s#%d", op_rows[op->code]->name, operand->base->id);
    text_printf(&text, "+%s", dim_text(&cx->arena, operand->offset));
    for (int l = 0; l < made->loop_count; l++)
        if (made->loops[l].extent > 1)
            text_printf(
                &text, ",%s",
                dim_text(&cx->arena, operand_stride(cx, operand, made->source->ndim, made->loops[l].axis)));
    for (int i = 0; i < operand->ndim && made->loop_count < 0; i++) /* in the order of its own axes */
        text_printf(&text, ",%s*%s", dim_text(&cx->arena, operand->dims[i]),
                    dim_text(&cx->arena, operand->strides[i]));
    return text.data;
}

bool is_folded(const struct packed *entry)
{
    return entry->dag && !dag_is_identity(entry->dag) && !entry->storage && entry->format != PACKED_DENSE;
}

/* A gradient sums over what forward puts out: its rows are the columns of a matrix, in whatever form they are packed. */
static bool is_transposed(const struct value *value, int n_axis)
{
    return n_axis >= 0 && value->ndim == 2 && value->base->ndim == 2 &&
           value->base->op->code == GRAPH_OP_TENSOR && !dim_equals(value->base->dims[1], 1) &&
           dim_equals(value->strides[n_axis], 1);
}

static const char *entry_name(struct cx *cx, const struct pack_group *group, const struct packed *entry,
                              const struct value *value, int n_axis)
{
    const char *name = value->name ? value->name : "prepared", *suffix = "";
    const struct value *biggest = NULL;
    bool taken;

    for (int i = 0; i < entry->operand_count; i++) { /* the tensor that it is mostly made of */
        const struct value *operand = entry->operands[i];

        if (operand->base->op->code == GRAPH_OP_TENSOR &&
            (!biggest || module_tensor_count(operand->base->op->tensor.tensor) >
                             module_tensor_count(biggest->base->op->tensor.tensor)))
            biggest = operand;
    }
    if (biggest)
        name = emitted_flat(cx, relative_path(entry->root, biggest->base->op->tensor.tensor->path));
    if (!biggest && entry->operand_entries[0] &&
        entry->operand_entries[0]->op) { /* what an op made, in another form */
        name = entry->operand_entries[0]->name;
        suffix = "packed";
    }
    if (entry->op)
        suffix = op_words(cx, entry->op);
    else if (is_folded(entry))
        suffix = "folded";
    else if (!dag_is_identity(entry->dag) && !entry->storage)
        suffix = !biggest && suffix[0] ? op_words(cx, value->base->op) : "prepared";
    else if (is_transposed(value, n_axis))
        suffix = "transposed";
    if (winograd_side(entry->format) > 0)
        suffix = arena_format(&cx->arena, "%s%swinograd", suffix, suffix[0] ? "_" : "");
    for (int round = 0;; round++) {
        const char *full;

        if (round == 1 &&
            entry->format == PACKED_ROWS) /* what tells it from another one of the same tensor */
            suffix = "rows";
        full = arena_format(&cx->arena, "%s%s%s", name, suffix[0] ? "_" : "", suffix);
        if (round > 1) /* in yet another order: the second, the third of this tensor */
            full = arena_format(&cx->arena, "%s_%d", full, round);
        taken = false;
        for (int i = 0; i < group->entry_count; i++)
            taken |= strcmp(group->entries[i]->name, full) == 0;
        if (!taken)
            return full;
    }
}

static bool is_scaled(const struct packed *entry)
{
    return storage_is_scaled(entry->storage);
}

static bool is_coded(const struct packed *entry)
{
    return storage_is_coded(entry->storage) && entry->format == PACKED_PANELS;
}

static bool is_in_bytes(const struct packed *entry)
{
    return is_scaled(entry) || is_coded(entry);
}

static const char *scaled_comment(struct cx *cx, const struct packed *entry)
{
    const struct storage *storage = entry->storage;

    if (entry->format == PACKED_ROWS)
        return arena_format(&cx->arena, "%s, %s [%lld][%lld] and %s scales [%lld][%lld]",
                            storage_text(&cx->arena, storage),
                            storage->bits < 8 ? "bytes of two integers" : "integers", (long long)entry->n,
                            (long long)storage_row_bytes(storage, entry->k), dtype_rows[storage->scale].name,
                            (long long)entry->n, (long long)storage_groups(storage, entry->k));

    const int64_t panels = (entry->n + entry->panel - 1) / entry->panel;
    const int steps = storage_steps(storage);

    return arena_format(&cx->arena, "%s, panels [%lld] of %s scales [%lld][%d] and %s [%lld][%d]",
                        storage_text(&cx->arena, storage), (long long)panels, dtype_rows[storage->scale].name,
                        (long long)storage_groups(storage, entry->k), entry->panel,
                        steps == 8   ? "words of eight integers"
                        : steps == 4 ? "words of four integers"
                                     : "integers",
                        (long long)((entry->k + steps - 1) / steps), entry->panel);
}

static const char *entry_comment(struct cx *cx, const struct packed *entry, const struct value *value)
{
    int planes = winograd_side(entry->format) * winograd_side(entry->format);

    if (is_scaled(entry))
        return scaled_comment(cx, entry);
    if (is_coded(entry))
        return arena_format(&cx->arena, "%s, panels [%lld] for [%lld][8][%d], with room for 16 bits",
                            storage_text(&cx->arena, entry->storage),
                            (long long)((entry->n + entry->panel - 1) / entry->panel),
                            (long long)((entry->k + 7) / 8), entry->panel);
    switch (entry->format) {
    case PACKED_PANELS:
        if (entry->woven)
            return arena_format(&cx->arena, "panels [%lld][%lld][%d][%d]",
                                (long long)(entry->count / entry->k / entry->groups / entry->panel),
                                (long long)entry->k, entry->groups, entry->panel);
        return arena_format(&cx->arena, "panels [%lld][%lld][%d]",
                            (long long)(entry->count / entry->k / entry->panel), (long long)entry->k,
                            entry->panel);
    case PACKED_WINOGRAD4:
    case PACKED_WINOGRAD2:
        return arena_format(&cx->arena, "planes [%d] of panels [%lld][%lld][%d], G g G^T", planes,
                            (long long)(entry->count / planes / (entry->k / 9) / entry->panel),
                            (long long)entry->k / 9, entry->panel);
    case PACKED_ROWS:
        return arena_format(&cx->arena, "[%lld][%lld]", (long long)entry->n, (long long)entry->k);
    case PACKED_COLUMNS:
        return arena_format(&cx->arena, "[%lld][%lld]", (long long)entry->k, (long long)entry->n);
    case PACKED_VECTOR:
        return entry->zero ? "zero padded" : arena_format(&cx->arena, "[%lld]", (long long)entry->n);
    default:
        return shape_text(&cx->arena, value->ndim, value->dims);
    }
}

/* y = x, rounded to a narrower type. */
static const struct dag *narrowing(struct cx *cx, enum dtype from, enum dtype to)
{
    struct dag *dag = dag_new(&cx->arena, 1);

    dag->result = dag_cast(&cx->arena, dag, dag_load(&cx->arena, dag, 0, from), to);
    return dag;
}

/* The loops over K, the innermost first, as at most two axes that lie evenly: pixels, and channels inside of them. */
static struct panel_source *even_panels(struct cx *cx, const struct packed *entry, const struct loop *loops,
                                        int count, int ndim)
{
    enum { PANEL = 16 };
    struct panel_source *out = ARENA_NEW(&cx->arena, struct panel_source);
    int64_t extents[2] = {1, 1}, steps[2] = {0, 0}, unit = 1;
    int axes = 0;

    if ((entry->format == PACKED_PANELS ? entry->panel != PANEL
                                        : entry->format != PACKED_ROWS || !is_scaled(entry)) ||
        entry->groups > 1 || entry->woven ||
        (!is_in_bytes(entry) && (entry->dtype != DTYPE_FLOAT32 || !dag_is_identity(entry->dag))) ||
        entry->operand_count != 1 || entry->operands[0]->dtype != DTYPE_FLOAT32 || entry->n == 0 ||
        entry->k == 0)
        return NULL;
    for (int l = 0; l < count; l++)
        if (loops[l].is_n)
            out->row = dim_constant(operand_stride(cx, entry->operands[0], ndim, loops[l].axis));
    for (bool found = true; found;) {
        found = false;
        for (int l = 0; l < count && !found; l++) {
            const int64_t step = dim_constant(operand_stride(cx, entry->operands[0], ndim, loops[l].axis));

            if (loops[l].is_n || loops[l].unit != unit || loops[l].extent == 1)
                continue;
            found = true;
            unit *= loops[l].extent;
            if (axes > 0 && step == steps[axes - 1] * extents[axes - 1]) {
                extents[axes - 1] *= loops[l].extent;
            } else if (axes < 2) {
                extents[axes] = loops[l].extent;
                steps[axes++] = step;
            } else {
                return NULL;
            }
        }
    }
    if (unit != entry->k)
        return NULL;
    *out = axes < 2 ? (struct panel_source){out->row, 1, 0, extents[0], steps[0]}
                    : (struct panel_source){out->row, extents[0], steps[0], extents[1], steps[1]};
    return out;
}

/* The first that takes operands as they lie. NULL: the op is loops, and needs none. */
static const struct algorithm *first_algorithm(const struct backend *backend, const struct op *op)
{
    const struct algorithm *row;

    for (int i = 0; (row = algorithm_of(backend, i)); i++)
        if (row->op == op->code && row->weight == PACKED_NONE && row->fits(NULL, op))
            return row;
    return NULL;
}

static struct made find_source(struct cx *cx, const struct backend *backend, struct packed *entry,
                               struct packing packing, struct value *value)
{
    struct op *map = value->base->op;
    struct made made = {.source = value->base, .loop_count = -1};

    if (value->base->prepared && value->base == value && map->code != GRAPH_OP_MAP &&
        packing.format == PACKED_DENSE) {
        entry->op = map;
        entry->algorithm = first_algorithm(backend, map);
        entry->operands = map->inputs;
        entry->operand_count = map->input_count;
        entry->operand_entries = ARENA_ARRAY(&cx->arena, entry->operand_count + 1, const struct packed *);
        return made;
    }
    if (value->base->prepared && map->code == GRAPH_OP_MAP)
        made.loop_count = make_loops(value, packing.n_axis, made.source, made.loops);
    if (made.loop_count >= 0) {
        entry->dag = map->dag;
        entry->operands = map->inputs;
        entry->operand_count = map->input_count;
    } else {
        made.source = value;
        made.loop_count = make_loops(value, packing.n_axis, value, made.loops);
        entry->dag = dag_identity(&cx->arena, value->dtype);
        entry->operands = ARENA_ARRAY(&cx->arena, 1, struct value *);
        entry->operands[0] = value;
        entry->operand_count = 1;
    }
    if (packing.storage) {
        assert(dag_is_identity(entry->dag) && "op_storage has parameters alone");
        entry->dag = narrowing(cx, value->dtype, packing.storage->dtype);
        entry->storage = packing.storage;
    }
    entry->operand_entries = ARENA_ARRAY(&cx->arena, entry->operand_count + 1, const struct packed *);
    return made;
}

void pack_entry_text(struct text *text, const struct packed *entry)
{
    const struct op *op = entry->op;

    if (!op) {
        dag_print(text, entry->dag);
        return;
    }
    text_add(text, op->label);
    if (op_rows[op->code]->dump)
        op_rows[op->code]->dump(text, op);
    if (op->head) {
        text_add(text, " of ");
        dag_print(text, op->head);
    }
    if (op->tail) {
        text_add(text, " then ");
        dag_print(text, op->tail);
    }
}

/* Equal where all that is said of two ops of one code beside operands and dags is. */
static uint64_t attributes_of(const struct op *op)
{
    const size_t first = offsetof(struct op, input);

    return text_hash_large((const char *)op + first, sizeof *op - first);
}

/* What its elements are: entries with equal texts are one. */
static const char *entry_key(struct cx *cx, const struct packed *entry, const struct module *root,
                             const struct made *made)
{
    struct text key = text_new(&cx->arena);

    text_printf(&key, "%d %d %lld %lld %d%s %s ", entry->format, entry->dtype, (long long)entry->n,
                (long long)entry->k, entry->groups, entry->woven ? "w" : "",
                entry->storage ? storage_text(&cx->arena, entry->storage) : "");
    for (int l = 0; l < made->loop_count; l++)
        if (made->loops[l].extent > 1)
            text_printf(&key, "%s%lld*%lld ", made->loops[l].is_n ? "n" : "k",
                        (long long)made->loops[l].extent, (long long)made->loops[l].unit);
    if (entry->op)
        text_printf(&key, "%d %llx ", (int)entry->op->code, (unsigned long long)attributes_of(entry->op));
    pack_entry_text(&key, entry);
    for (int i = 0; i < entry->operand_count; i++)
        text_printf(&key, " %s", operand_key(cx, root, entry->operands[i], entry->operand_entries[i], made));
    return key.data;
}

/* With the zeros that fill whole panels. */
static void count_elements(struct packed *entry, int planes)
{
    const int panel = entry->panel, groups = entry->groups;

    entry->count = entry->n * entry->k;
    if (entry->format == PACKED_PANELS || entry->format == PACKED_VECTOR) {
        int64_t padded = (entry->n / groups + panel - 1) / panel * panel * groups;

        entry->zero = padded != entry->n;
        entry->count = padded * entry->k;
    }
    if (is_in_bytes(entry))
        entry->count = entry->format == PACKED_ROWS ? storage_rows(entry->storage, entry->n, entry->k)
                                                    : storage_panels(entry->storage, entry->n, entry->k);
    if (planes > 0) {
        entry->zero = entry->n % panel != 0;
        entry->count = (entry->n + panel - 1) / panel * panel * (entry->k / 9) * planes;
    }
}

static void make_parts(struct cx *cx, struct packed *entry, const struct made *made, int planes)
{
    const int panel = entry->panel, groups = entry->groups, ndim = made->source->ndim;

    for (int g = 0; g < groups; g++) {
        bool by_panels = entry->format == PACKED_PANELS || planes > 0;
        int64_t n = entry->n / groups, whole = by_panels ? n / panel * panel : 0;
        int64_t depth = planes > 0 ? entry->k / 9 : entry->k;
        int64_t to = planes > 0 ? entry->count / planes * (planes - 9)
                                : g * (entry->woven ? panel : entry->count / groups);

        if (whole > 0)
            make_part(cx, entry, made->loops, made->loop_count, ndim, g * n, whole, panel, true, to);
        if (n > whole || entry->n == 0)
            make_part(cx, entry, made->loops, made->loop_count, ndim, g * n + whole, n - whole, panel, false,
                      to + whole * depth * (entry->woven ? groups : 1));
    }
    for (int p = 0; p < entry->part_count; p++)
        nest_normalise(&cx->arena, &entry->parts[p].nest);
}

/* A value that an entry holds, packed so. */
struct recent_pack {
    const struct module *root;
    struct packing packing;
    const struct value *value;
    struct packed *entry;
};

enum { RECENT_PACKS = 8 };

static bool same_packing(struct packing a, struct packing b)
{
    return a.format == b.format && storage_equal(a.storage, b.storage) && a.n_axis == b.n_axis &&
           a.groups == b.groups && a.woven == b.woven;
}

/* Whether the values, of one owner of memory, are the same elements in the same order. */
static bool same_elements(const struct value *a, const struct value *b)
{
    if (a->base != b->base || a->dtype != b->dtype || a->ndim != b->ndim || !dim_equal(a->offset, b->offset))
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (!dim_equal(a->dims[i], b->dims[i]) || !dim_equal(a->strides[i], b->strides[i]))
            return false;
    return true;
}

static struct packed *find_recent(const struct pack_group *group, const struct module *root,
                                  struct packing packing, const struct value *value)
{
    for (int i = 0; group->recent && i < RECENT_PACKS; i++) {
        const struct recent_pack *recent = &group->recent[i];

        if (recent->entry && recent->root == root && same_packing(recent->packing, packing) &&
            same_elements(recent->value, value))
            return recent->entry;
    }
    return NULL;
}

static struct packed *note_recent(struct cx *cx, struct pack_group *group, const struct module *root,
                                  struct packing packing, const struct value *value, struct packed *entry)
{
    if (!group->recent)
        group->recent = ARENA_ARRAY(&cx->arena, RECENT_PACKS, struct recent_pack);
    group->recent[group->recent_at++ % RECENT_PACKS] = (struct recent_pack){root, packing, value, entry};
    return entry;
}

/* What becomes of an entry that the group has not. */
enum unknown { NOT_MADE, ADDED, PASSING };

static struct packed *find_or_make(struct cx *cx, struct pack_group *group, const struct module *root,
                                   struct packing packing, struct value *value, enum unknown unknown)
{
    const enum packed_format format = packing.format;
    const int planes = winograd_side(format) * winograd_side(format);
    const int panel = backend_lanes(group->backend, value->dtype);
    const bool whole = format == PACKED_DENSE && value->base == value && !packing.storage;
    struct packed *entry;
    const struct name_entry *known;
    struct made made;

    for (int i = 0; whole && i < group->dense_count; i++) /* many may be made of it */
        if (group->dense[i].value == value)
            return group->dense[i].entry;
    entry = find_recent(group, root, packing, value);
    if (entry)
        return entry;
    entry = ARENA_NEW(&cx->arena, struct packed);
    entry->root = root;
    entry->format = format;
    entry->dtype = storage_is_coded(packing.storage) && format == PACKED_PANELS ? DTYPE_INT8
                   : packing.storage                                            ? packing.storage->dtype
                                                                                : value->dtype;
    entry->panel = panel;
    entry->k = 1;
    entry->n = packing.n_axis >= 0 ? dim_constant(value->dims[packing.n_axis]) : 1;
    for (int i = 0; i < value->ndim; i++)
        if (i != packing.n_axis)
            entry->k *= dim_constant(value->dims[i]);
    made = find_source(cx, group->backend, entry, packing, value);
    entry->woven = packing.woven && packing.groups > 1;
    entry->groups = packing.groups;
    if ((format != PACKED_PANELS && format != PACKED_VECTOR) ||
        (entry->n / packing.groups % panel == 0 && !entry->woven))
        entry->groups = 1; /* without padding they lie one behind the other */
    for (int i = 0; i < entry->operand_count; i++) {
        struct value *operand = entry->operands[i];

        if (!operand->base->prepared)
            continue;
        entry->operand_entries[i] = find_or_make(/* made before */
                                                 cx, group, root, (struct packing){PACKED_DENSE, NULL, -1, 1},
                                                 operand->base, unknown);
        if (!entry->operand_entries[i])
            return NULL;
    }
    entry->key = entry_key(cx, entry, root, &made);
    known = names_find(&group->keys, entry->key);
    if (known || unknown == NOT_MADE) {
        if (known && whole)
            ARENA_PUSH(&cx->arena, group->dense, group->dense_count,
                       ((struct dense_value){value, group->entries[known->index]}));
        return known ? note_recent(cx, group, root, packing, value, group->entries[known->index]) : NULL;
    }

    count_elements(entry, planes);
    if (!entry->op) {
        if (!is_in_bytes(entry))
            make_parts(cx, entry, &made, planes);
        entry->panels = even_panels(cx, entry, made.loops, made.loop_count, made.source->ndim);
        assert((entry->panels || !is_in_bytes(entry)) && "op_storage has views of matrices");
    }
    entry->comment = entry_comment(cx, entry, value);
    entry->name = entry_name(cx, group, entry, value, packing.n_axis);
    if (planes == 0 && !entry->op && entry->operand_count == 1 && dag_is_identity(entry->dag) &&
        !entry->operand_entries[0] && entry->operands[0]->base->op->code == GRAPH_OP_TENSOR &&
        !dtype_is_complex(entry->operands[0]->base->op->tensor.tensor->dtype) &&
        entry->n * entry->k == module_tensor_count(entry->operands[0]->base->op->tensor.tensor))
        entry->permutes = entry->operands[0]->base->op->tensor.tensor;
    entry->passing = unknown == PASSING;
    if (entry->passing)
        return entry;
    ARENA_PUSH(&cx->arena, group->entries, group->entry_count, entry);
    names_add(&cx->arena, &group->keys, entry->key, "", (struct loc){0});
    if (whole)
        ARENA_PUSH(&cx->arena, group->dense, group->dense_count, ((struct dense_value){value, entry}));
    return note_recent(cx, group, root, packing, value, entry);
}

const struct packed *pack_entry(struct cx *cx, struct pack_group *group, const struct module *root,
                                struct packing packing, struct value *value)
{
    struct packed *entry = find_or_make(cx, group, root, packing, value, ADDED);

    entry->read = true;
    return entry;
}

struct packed *pack_passing(struct cx *cx, struct pack_group *group, const struct module *root,
                            struct packing packing, struct value *value)
{
    return find_or_make(cx, group, root, packing, value, PASSING);
}

const struct packed *pack_find(struct cx *cx, struct pack_group *group, const struct module *root,
                               struct packing packing, struct value *value)
{
    return find_or_make(cx, group, root, packing, value, NOT_MADE);
}
