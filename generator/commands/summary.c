/* summary.c - `modc summary`: one row a module, then totals and memory. */
#include "commands/summary.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "commands/launches.h"
#include "commands/options.h"
#include "modc.h"
#include "module/module.h"
#include "plan/target.h"
#include "plan/weights.h"

enum { LONGEST = 48 }; /* of a cell with shapes */

const struct summary_kind_row summary_kinds[SUMMARY_KINDS] = {
    [SUMMARY_COUNT] = {"elements", NULL}, [SUMMARY_MACS] = {"macs", NULL},
    [SUMMARY_RAM] = {"ram", "RAM"},       [SUMMARY_GPU] = {"gpu", "GPU"},
    [SUMMARY_FLASH] = {"flash", "flash"},
};

/* ---- gathering -------------------------------------------------------------------------------------------- */

static void add_value(struct summary *s, struct text *text, int *count, const struct value *value,
                      bool complex)
{
    text_printf(text, "%s%s", (*count)++ ? ", " : "",
                shape_text(&s->cx->arena, value->ndim - complex, value->dims));
}

/* The shapes, or how many there are. */
static const char *shape_cell(struct summary *s, const struct text *text, int count)
{
    return text->length > LONGEST && count > 1 ? arena_format(&s->cx->arena, "%d values", count) : text->data;
}

static void note_shape(struct summary *s, int module, struct value *const *results, const bool *complex,
                       int result_count)
{
    struct text text = text_new(&s->cx->arena);
    int count = 0;

    if (s->rows[module].shape)
        return;
    for (int i = 0; i < result_count; i++)
        add_value(s, &text, &count, results[i], complex[i]);
    if (count > 0)
        s->rows[module].shape = shape_cell(s, &text, count);
}

/* `moved`: how far the modules of this graph lie from the instance that is looked at, in the tree's order. A region's
 * instances are equal, so that their parts stand in the same order. */
static void gather(struct summary *s, const struct graph *graph, int moved, bool count_macs)
{
    for (int i = 0; i < graph->call_count; i++)
        note_shape(s, graph->calls[i]->module->index + moved, graph->calls[i]->results,
                   graph->calls[i]->complex, graph->calls[i]->result_count);
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = graph->ops[i];
        const struct module *module = op->call ? op->call->module : graph->root,
                            *instance = op->invoke.instance;

        if (op->code != GRAPH_OP_CALL) {
            s->rows[module->index + moved].macs += count_macs ? op_macs(op) : 0;
            continue;
        }
        for (int k = 0; k < op->invoke.count; k++) {
            const struct graph *inner = op->invoke.region->graph;
            int at = instance->index + moved + k * (instance->subtree + 1);

            note_shape(s, at, inner->outputs, inner->complex, inner->result_count);
            gather(s, inner, at - inner->root->index, count_macs);
        }
    }
}

/* A parameter; what is tied counts where it lies, as parameters() has it once. */
static bool counts(const struct module_tensor *tensor)
{
    return tensor->kind == MODULE_PARAMETER && !tensor->none && tensor->first == tensor;
}

static void gather_all(struct summary *s)
{
    const struct program *program = s->plan->program;

    for (int i = 0; i < s->tree->module_count; i++) {
        const struct module *module = s->tree->modules[i];

        for (int k = 0; k < module->tensor_count; k++)
            if (counts(module->tensors[k]))
                s->rows[i].parameters += module_tensor_count(module->tensors[k]);
    }
    for (int i = 0; i < program->entry_count; i++) {
        const struct graph *graph = program->entries[i].graphs[0][0];
        struct text shape = text_new(&s->cx->arena);
        int count = 0;

        gather(s, graph, 0, i == 0);
        for (int k = 0; k < graph->output_count; k++)
            add_value(s, &shape, &count, graph->outputs[k], graph->complex[k]);
        if (i == 0)
            s->rows[0].shape = shape_cell(s, &shape, count);
    }
    for (int i = s->tree->module_count - 1; i > 0; i--) { /* pre-order: children stand behind their parents */
        struct summary_row *parent = &s->rows[s->tree->modules[i]->parent->index];

        parent->parameters += s->rows[i].parameters;
        parent->macs += s->rows[i].macs;
    }
}

static void add_total(struct summary *s, enum summary_kind kind, const char *name, double value,
                      const char *at)
{
    ARENA_PUSH(&s->cx->arena, s->totals, s->total_count, ((struct summary_total){kind, name, value, at}));
}

static void count_elements(struct summary *s)
{
    int64_t trainable = 0, frozen = 0, buffers = 0;

    for (int i = 0; i < s->tree->key_count; i++) {
        const struct module_tensor *tensor = s->tree->keys[i];

        if (tensor->kind == MODULE_BUFFER)
            buffers += module_tensor_count(tensor);
        else if (counts(tensor))
            *(tensor->requires_grad ? &trainable : &frozen) += module_tensor_count(tensor);
    }
    add_total(s, SUMMARY_COUNT, "parameters", (double)s->rows[0].parameters, "");
    if (frozen > 0)
        add_total(s, SUMMARY_COUNT, "frozen parameters", (double)frozen,
                  arena_format(&s->cx->arena, ", %s are trained", summary_number(s->cx, (double)trainable)));
    if (buffers > 0)
        add_total(s, SUMMARY_COUNT, "elements of buffers", (double)buffers, "");
}

static void count_macs(struct summary *s)
{
    const struct program *program = s->plan->program;

    for (int i = 0; i < program->entry_count; i++) {
        const struct entry *entry = &program->entries[i];
        struct text at = text_new(&s->cx->arena);

        for (int k = 0; k < s->tree->size_count; k++)
            text_printf(&at, "%s%s %lld", k ? ", " : " at ", s->tree->sizes[k].name,
                        (long long)entry->sizes[k].max);
        add_total(s, SUMMARY_MACS, arena_format(&s->cx->arena, "MACs of %s", entry->name),
                  plan_variant(s->plan, entry->graphs[0][0])->macs, at.data);
    }
}

/* Large ones go with the weights, and lie in the code without --weights; small ones are in it anyway. */
static void count_constants(struct summary *s)
{
    double small = 0, large = 0;

    for (int i = 0; i < s->plan->constant_count; i++) {
        const struct tensor *tensor = s->plan->constants[i]->constant;

        *(constant_is_large(tensor) ? &large : &small) += (double)constant_length(tensor);
    }
    if (large > 0)
        add_total(s, SUMMARY_FLASH, "large constants, which these hold", large, "");
    if (small > 0)
        add_total(s, SUMMARY_FLASH, "constants in the code", small, "");
}

/* A device with memory of its own has all but the parameters, whose mirror is at the head of the packed block. */
static void count_bytes(struct summary *s)
{
    const struct plan *plan = s->plan;
    const enum summary_kind memory = plan->backend->apart ? SUMMARY_GPU : SUMMARY_RAM;

    add_total(s, SUMMARY_RAM, "parameters and buffers", (double)plan->param_bytes, "");
    if (s->tree->generation && target_of(s->cx)->pointer == 8)
        add_total(s, SUMMARY_RAM, "block of a generator", (double)plan_generator_bytes(plan), "");
    add_total(s, memory, plan->backend->apart ? "parameters, packed block" : "packed block",
              (double)plan_packed_block(plan), "");
    for (int i = 0; i < plan->program->entry_count; i++) {
        const struct entry *entry = &plan->program->entries[i];

        for (int v = 0; v < 8; v++) {
            const bool training = v & 1, fenced = v >> 1 & 1, saves = v >> 2;
            const struct graph *graph = (saves ? entry->saving : entry->graphs)[training][fenced];

            if (graph)
                add_total(s, memory,
                          arena_format(&s->cx->arena, "workspace of %s%s, %s%s", entry->name,
                                       saves ? " and backward" : "", training ? "training" : "eval",
                                       fenced ? ", hooks" : ""),
                          (double)(plan_variant(plan, graph)->peak + plan->state_bytes), "");
        }
    }
    if (plan->gradient_count > 0)
        add_total(s, memory, "gradients", (double)plan->gradient_block, "");
    if (s->tree->training)
        add_total(s, memory, "states of the optimizer", (double)plan->optimizer_bytes, "");
    if (plan->state_bytes > 0)
        add_total(s, memory, "state, in each workspace", (double)plan->state_bytes, "");
    for (int i = 0; i < plan->program->entry_count && plan->backend->apart; i++) {
        const struct entry *entry = &plan->program->entries[i];

        add_total(s, memory, arena_format(&s->cx->arena, "more for %s_host", entry->name),
                  (double)plan_host_bytes(plan, entry), "");
    }
    if (plan->backend->apart) /* whose parameters are no constants of a program */
        return;
    add_total(s, SUMMARY_FLASH, "weights",
              (double)weights_length(s->cx, plan->embedded ? plan->embedded : plan), "");
    count_constants(s);
}

/* ---- memory of training ----------------------------------------------------------------------------------- */

static int64_t tensor_bytes(const struct summary *s, const struct module_tensor *tensor)
{
    return plan_aligned(s->plan, module_tensor_count(tensor) * dtype_rows[tensor->dtype].bytes);
}

static void add_memory(struct summary *s, const struct module *module, enum summary_memory kind,
                       int64_t bytes)
{
    s->rows[module->index].memory[kind] += bytes;
}

static const struct module *owner_of(const struct packed *entry)
{
    for (int i = 0; i < entry->operand_count; i++) {
        const struct op *op = entry->operands[i]->base->op;

        if (op->code == GRAPH_OP_TENSOR)
            return op->tensor.tensor->owner;
        if (entry->operand_entries[i])
            return owner_of(entry->operand_entries[i]);
    }
    return entry->root;
}

/* Of an instance of the group's class, which has this index in the tree. */
static void gather_packed(struct summary *s, const struct pack_group *group, int instance)
{
    int64_t left = group->bytes; /* children come behind the entries */

    for (int i = 0; i < group->child_count; i++) {
        const struct pack_child *child = &group->children[i];
        int first = instance + child->first->index - group->root->index;

        for (int k = 0; k < (child->count > 0 ? child->count : 1); k++) {
            gather_packed(s, child->group, first + k * (child->first->subtree + 1));
            left -= child->group->bytes;
        }
    }
    for (int i = group->entry_count - 1; i >= 0; i--) {
        const struct packed *entry = group->entries[i];

        if (!entry->read)
            continue;
        s->rows[instance + owner_of(entry)->index - entry->root->index].memory[SUMMARY_PACKED] +=
            left - entry->offset;
        left = entry->offset;
    }
}

/* The first step where most of the workspace is live. */
static int fullest_step(const struct variant *variant)
{
    int64_t most = -1;
    int fullest = 0;

    for (int step = 0; step < variant->step_count; step++) {
        int64_t live = 0;

        for (int i = 0; i < variant->interval_count; i++)
            if (variant->intervals[i].first <= step && step <= variant->intervals[i].last)
                live += variant->intervals[i].bytes;
        if (live > most) {
            most = live;
            fullest = step;
        }
    }
    return fullest;
}

static void gather_workspace(struct summary *s)
{
    const struct variant *variant = s->training;
    const struct module *root = s->tree->modules[0];
    int64_t left = variant->peak + s->plan->state_bytes; /* state, and what lies between buffers */

    s->fullest = fullest_step(variant);
    for (int i = 0; i < variant->interval_count; i++) {
        const struct interval *own = &variant->intervals[i];
        const struct module_call *call = own->op ? own->op->call : NULL;

        if (own->first > s->fullest || own->last < s->fullest)
            continue;
        add_memory(s, call ? call->module : root,
                   own->first < variant->yield && own->last > variant->yield ? SUMMARY_SAVED
                                                                             : SUMMARY_WORKING,
                   own->bytes);
        left -= own->bytes;
    }
    add_memory(s, root, SUMMARY_WORKING, left);
}

/* With backward: the blocks of a step in training mode, of the loss or, without one, of the first entry. */
static void gather_memory(struct summary *s)
{
    const struct plan *plan = s->plan;
    const struct program *program = plan->program;
    const struct module *root = s->tree->modules[0];
    const struct entry *entry = &program->entries[s->tree->training ? program->entry_count - 1 : 0];

    if (program->entry_count == 0 || !entry->saving[1][0])
        return;
    s->training = plan_variant(plan, entry->saving[1][0]);
    for (int i = 0; i < s->tree->key_count; i++)
        if (s->tree->keys[i]->first == s->tree->keys[i])
            add_memory(s, s->tree->keys[i]->owner, SUMMARY_PARAMETERS, tensor_bytes(s, s->tree->keys[i]));
    gather_packed(s, plan->groups[0], 0);
    add_memory(s, root, SUMMARY_PACKED,
               plan_packed_block(plan) - plan->groups[0]->bytes); /* whose it is, and where packing works */
    for (int i = 0; i < plan->gradient_count; i++) {
        if (!s->tree->spec->fused)
            add_memory(s, plan->gradients[i]->owner, SUMMARY_GRADIENTS, tensor_bytes(s, plan->gradients[i]));
        add_memory(s, plan->gradients[i]->owner, SUMMARY_OPTIMIZER, plan->optimizer_places[i].bytes);
    }
    add_memory(s, root, SUMMARY_GRADIENTS, plan->gradient_block - plan->gradient_bytes); /* which there are */
    gather_workspace(s);
    for (int i = s->tree->module_count - 1; i > 0; i--)
        for (int k = 0; k < SUMMARY_MEMORIES; k++)
            add_memory(s, s->tree->modules[i]->parent, (enum summary_memory)k, s->rows[i].memory[k]);
}

struct summary *summary_make(struct cx *cx, const struct plan *plan)
{
    struct summary *s = ARENA_NEW(&cx->arena, struct summary);

    s->cx = cx;
    s->plan = plan;
    s->tree = plan->program->tree;
    s->rows = ARENA_ARRAY(&cx->arena, s->tree->module_count + 1, struct summary_row);
    gather_all(s);
    count_elements(s);
    count_macs(s);
    count_bytes(s);
    gather_memory(s);
    return s;
}

/* ---- printing --------------------------------------------------------------------------------------------- */

const char *summary_number(struct cx *cx, double value)
{
    const char *digits = arena_format(&cx->arena, "%.0f", value);
    struct text text = text_new(&cx->arena);
    size_t length = strlen(digits);

    for (size_t i = 0; i < length; i++)
        text_printf(&text, "%s%c", i > 0 && (length - i) % 3 == 0 ? "," : "", digits[i]);
    return text.data;
}

static int depth_of(const struct module *module)
{
    int depth = 0;

    for (; module->parent; module = module->parent)
        depth++;
    return depth;
}

enum { COLUMNS = 5, MEMORY_COLUMNS = 1 + SUMMARY_MEMORIES, MOST_COLUMNS = 8 };

struct table {
    const char *(*cells)[MOST_COLUMNS]; /* by row; the first has titles */
    int rows, columns, left;            /* left: so many columns stand at the left, numbers at the right */
};

static struct table table_new(struct cx *cx, int most, const char *const *titles, int columns, int left)
{
    struct table table = {arena_array(&cx->arena, (size_t)most + 1, sizeof *table.cells), 1, columns, left};

    memcpy(table.cells[0], titles, (size_t)columns * sizeof *titles);
    return table;
}

static void print_row(struct text *text, const struct table *table, int row, const int *widths)
{
    size_t start = text->length;

    for (int i = 0; i < table->columns; i++) {
        /* UTF-8 in a name would move what stands behind it: names are ASCII */
        if (i >= table->left)
            text_printf(text, "%s%*s", i ? "  " : "", widths[i], table->cells[row][i]);
        else
            text_printf(text, "%s%-*s", i ? "  " : "", widths[i], table->cells[row][i]);
    }
    while (text->length > start && text->data[text->length - 1] == ' ')
        text->data[--text->length] = 0;
    text_add(text, "\n");
}

static void print_table(struct text *text, const struct table *table)
{
    int widths[MOST_COLUMNS] = {0};

    for (int i = 0; i < table->rows; i++)
        for (int c = 0; c < table->columns; c++)
            widths[c] = (int)strlen(table->cells[i][c]) > widths[c] ? (int)strlen(table->cells[i][c])
                                                                    : widths[c];
    text_style(text, STYLE_BOLD);
    print_row(text, table, 0, widths);
    text_style(text, STYLE_PLAIN);
    for (int i = 1; i < table->rows; i++)
        print_row(text, table, i, widths);
}

static const char *name_cell(struct summary *s, const struct module *module)
{
    return module->parent ? arena_format(&s->cx->arena, "%*s%s", 2 * depth_of(module), "", module->path)
                          : s->plan->model;
}

static const char *number_cell(struct summary *s, double value)
{
    return value > 0 ? summary_number(s->cx, value) : "-";
}

static void print_modules(struct summary *s, struct text *text)
{
    static const char *const titles[COLUMNS] = {"module", "class", "output shape", "parameters", "MACs"};
    struct table table = table_new(s->cx, s->tree->module_count, titles, COLUMNS, 3);

    for (int i = 0; i < s->tree->module_count; i++) {
        const char **cells = table.cells[table.rows++];

        cells[0] = name_cell(s, s->tree->modules[i]);
        cells[1] = s->tree->modules[i]->class_name;
        cells[2] = s->rows[i].shape ? s->rows[i].shape : "-";
        cells[3] = number_cell(s, (double)s->rows[i].parameters);
        cells[4] = number_cell(s, s->rows[i].macs);
    }
    print_table(text, &table);
}

static void print_memory(struct summary *s, struct text *text)
{
    static const char *const names[SUMMARY_MEMORIES] = {"parameters", "packed", "gradients",
                                                        "optimizer",  "saved",  "working"};
    bool step = s->tree->training != NULL;
    const char *titles[MEMORY_COLUMNS] = {step ? "bytes of a training step"
                                               : "bytes of forward and backward"};
    enum summary_memory columns[SUMMARY_MEMORIES];
    const struct variant *variant = s->training;
    const struct module_call *call;
    struct table table;
    int count = 0;

    if (!variant)
        return;
    for (int k = 0; k < SUMMARY_MEMORIES; k++) {
        if (k == SUMMARY_OPTIMIZER && !step)
            continue;
        titles[1 + count] = names[k];
        columns[count++] = (enum summary_memory)k;
    }
    table = table_new(s->cx, s->tree->module_count, titles, 1 + count, 1);
    for (int i = 0; i < s->tree->module_count; i++) {
        const char **cells = table.cells[table.rows];
        int64_t sum = 0;

        cells[0] = name_cell(s, s->tree->modules[i]);
        for (int k = 0; k < count; k++) {
            cells[1 + k] = number_cell(s, (double)s->rows[i].memory[columns[k]]);
            sum += s->rows[i].memory[columns[k]];
        }
        table.rows += sum > 0;
    }
    text_add(text, "\n");
    print_table(text, &table);
    call = s->fullest < variant->step_count ? variant->steps[s->fullest].op->call : NULL;
    text_printf(text, "saved, working: the workspace of %s and backward, training, at its fullest, in %s",
                variant->entry->name, s->fullest > variant->yield ? "backward" : "forward");
    text_printf(text, call && call->module->path[0] ? " of %s\n" : "\n", call ? call->module->path : "");
}

enum { NAME_WIDTH = 38 };

static void print_bytes(struct cx *cx, struct text *text, int width, const char *name, double bytes,
                        const char *more)
{
    text_printf(text, "  %-*s %12s%s\n", width, name, summary_number(cx, bytes), more);
}

static int name_width(const struct summary *s)
{
    int width = NAME_WIDTH;

    for (int i = 0; i < s->total_count; i++)
        if (summary_kinds[s->totals[i].kind].title && (int)strlen(s->totals[i].name) > width)
            width = (int)strlen(s->totals[i].name);
    return width;
}

/* Those of memory alone, for a second dtype. */
static void print_totals(struct summary *s, struct text *text, bool memory)
{
    enum summary_kind kind = SUMMARY_COUNT;
    int width = name_width(s);

    text_add(text, memory ? "" : "\n");
    for (int i = 0; i < s->total_count; i++) {
        const struct summary_total *total = &s->totals[i];
        const char *title = summary_kinds[total->kind].title;
        bool bytes = title != NULL;

        if (memory && !bytes)
            continue;
        if (total->kind != kind && total->kind == SUMMARY_RAM) {
            text_add(text, "\n");
            text_styled(text, STYLE_BOLD, arena_format(&s->cx->arena, "%s%*s", title, width + 13, "bytes"));
            text_add(text, "\n");
        } else if (total->kind != kind && bytes) {
            text_styled(text, STYLE_BOLD, title);
            text_add(text, total->kind == SUMMARY_GPU
                               ? "\n"
                               : ", with --weights (no RAM for parameters and packed block then)\n");
        }
        kind = total->kind;
        if (bytes)
            print_bytes(s->cx, text, width, total->name, total->value, total->at);
        else
            text_printf(text, "%-40s %12s%s\n", total->name, summary_number(s->cx, total->value), total->at);
    }
}

void summary_print(struct text *text, struct summary *summary)
{
    bool again = summary->tree->variant > 0;

    if (again) {
        text_add(text, "\n");
        text_styled(text, STYLE_BOLD, summary->plan->model);
    } else {
        print_modules(summary, text);
    }
    print_totals(summary, text, again);
    print_memory(summary, text);
}

static void add_bytes(void *user, const char *text, size_t length)
{
    text_add_bytes(user, text, length);
}

void summary_print_repr(struct text *text, const struct module_tree *tree)
{
    struct modc_module *modules = ARENA_ARRAY(text->arena, tree->module_count, struct modc_module);
    struct modc_model model = {.modules = modules, .module_count = tree->module_count};

    for (int i = 0; i < tree->module_count; i++) {
        const struct module *module = tree->modules[i];

        modules[i] = (struct modc_module){.name = module->name ? module->name : "",
                                          .class_name = module->class_name,
                                          .extra_repr = module_extra_repr(module),
                                          .subtree = module->subtree,
                                          .folds = module_folds(module)};
    }
    modc_print(&model, add_bytes, text);
    text_add(text, "\n");
}

/* Of one kind of memory; limit 0: none. */
static void print_kind(struct cx *cx, struct text *text, const struct memory_sum *memory, const char *title,
                       int64_t limit)
{
    text_styled(text, STYLE_BOLD, title);
    text_add(text, "\n");
    for (int i = 0; i < memory->count; i++)
        print_bytes(cx, text, NAME_WIDTH, memory->parts[i].what, (double)memory->parts[i].bytes, "");
    print_bytes(cx, text, NAME_WIDTH, "in all", (double)memory->bytes,
                limit > 0 ? arena_format(&cx->arena, "  of %s, %.0f%%", summary_number(cx, (double)limit),
                                         100.0 * (double)memory->bytes / (double)limit)
                          : "");
}

void summary_print_target(struct cx *cx, struct text *text, const struct memory *memory)
{
    const struct target *target = target_of(cx);
    const char *stack = memory->measured ? "" : ", without stack",
               *code = memory->measured ? "" : ", without code";

    if (!cx->options->target || target->gpu)
        return;
    text_add(text, "\n");
    print_kind(cx, text, &memory->ram, arena_format(&cx->arena, "RAM of %s%s", target->name, stack),
               target->ram);
    print_kind(cx, text, &memory->flash, arena_format(&cx->arena, "flash of %s%s", target->name, code),
               target->flash);
}

/* ---- a GPU ------------------------------------------------------------------------------------------------ */

/* How many blocks of it a multiprocessor has room for, as far as registers allow. */
static int64_t blocks_at_once(const struct gpu *gpu, const struct launch *launch)
{
    const int64_t by_threads = gpu->threads / ((launch->threads + 31) / 32 * 32),
                  by_shared = gpu->shared / (launch->shared + GPU_BLOCK_RESERVED),
                  least = by_threads < by_shared ? by_threads : by_shared;

    return least < gpu->blocks ? least : gpu->blocks;
}

/* What no GPU runs is no kernel of modc's. */
static int64_t fitting_blocks(const struct gpu *gpu, const struct launch *launch)
{
    assert(launch->threads <= GPU_BLOCK_THREADS && launch->shared <= gpu->shared_block);
    return blocks_at_once(gpu, launch);
}

static void print_launches(struct summary *s, struct text *text)
{
    const struct program *program = s->plan->program;

    text_styled(text, STYLE_BOLD, "kernels that a call starts");
    text_add(text, "\n");
    for (int i = 0; i < program->entry_count; i++) {
        const struct entry *entry = &program->entries[i];
        const struct graph *const graphs[] = {entry->graphs[0][0], entry->saving[1][0]};
        static const char *const calls[] = {"%s, eval", "%s and backward, training"};

        for (int k = 0; k < COUNT(graphs); k++) {
            int64_t count = 0;

            for (int part = 0; graphs[k] && part < PARTS; part++)
                if (part < variant_parts(plan_variant(s->plan, graphs[k])))
                    count += launches_count(s->plan, plan_variant(s->plan, graphs[k]), (enum part)part);
            if (graphs[k])
                print_bytes(s->cx, text, NAME_WIDTH, arena_format(&s->cx->arena, calls[k], entry->name),
                            (double)count, "");
        }
    }
}

/* Kernels that ask for the same, of which `launch` is the first. */
struct alike {
    struct launch launch;
    int count;
};

static int compare_alike(const void *a, const void *b)
{
    const struct launch *x = &((const struct alike *)a)->launch, *y = &((const struct alike *)b)->launch;
    const int64_t order[] = {x->sized - y->sized, y->shared - x->shared, y->threads - x->threads};

    for (int i = 0; i < COUNT(order); i++)
        if (order[i] != 0)
            return order[i] < 0 ? -1 : 1;
    return strcmp(x->kernel, y->kernel);
}

/* Those that share most stand first. */
static struct alike *alike_of(struct summary *s, const char *kernels, int *count)
{
    int launch_count;
    const struct launch *list = launches_read(s->cx, kernels, &launch_count);
    struct alike *all = NULL;

    *count = 0;
    for (int i = 0; i < launch_count; i++) {
        int k = 0;

        while (k < *count && (all[k].launch.threads != list[i].threads ||
                              all[k].launch.shared != list[i].shared || all[k].launch.sized != list[i].sized))
            k++;
        if (k == *count)
            ARENA_PUSH(&s->cx->arena, all, *count, ((struct alike){list[i], 0}));
        all[k].count++;
    }
    if (*count > 0)
        qsort(all, (size_t)*count, sizeof *all, compare_alike);
    return all;
}

static void print_kernels(struct summary *s, struct text *text, const char *kernels)
{
    static const char *const titles[] = {"a block of", "threads", "shared bytes", "blocks at once",
                                         "threads at once"};
    const struct gpu *gpu = target_of(s->cx)->gpu;
    struct arena *arena = &s->cx->arena;
    int count;
    const struct alike *all = alike_of(s, kernels, &count);
    struct table table = table_new(s->cx, count, titles, COUNT(titles), 1);

    for (int i = 0; i < count; i++) {
        const struct launch *launch = &all[i].launch;
        const int64_t blocks = fitting_blocks(gpu, launch);
        const char **cells = table.cells[table.rows++];

        cells[0] = all[i].count == 1
                       ? launch->kernel
                       : arena_format(arena, "%s and %d more", launch->kernel, all[i].count - 1);
        cells[1] = number_cell(s, (double)launch->threads);
        cells[2] = launch->sized ? number_cell(s, (double)launch->shared) : "by call";
        cells[3] = number_cell(s, (double)blocks);
        cells[4] = number_cell(s, (double)(blocks * launch->threads));
    }
    text_add(text, "\n");
    print_table(text, &table);
    text_printf(
        text,
        "at once: on a multiprocessor of %s, which has %s threads and %s of shared memory, if registers allow\n",
        gpu->name, summary_number(s->cx, gpu->threads), text_bytes(arena, gpu->shared));
}

void summary_print_gpu(struct text *text, struct summary *s, const struct memory *memory, const char *kernels)
{
    const struct target *target = target_of(s->cx);

    text_add(text, "\n");
    print_kind(s->cx, text, &memory->gpu, arena_format(&s->cx->arena, "GPU memory of %s", target->name),
               target->memory);
    if (memory->training.count > 0)
        print_kind(s->cx, text, &memory->training,
                   arena_format(&s->cx->arena, "GPU memory of %s, training", target->name), target->memory);
    print_launches(s, text);
    print_kernels(s, text, kernels);
}
