/* summary.c - `modc summary`: one row a module, then totals and memory. */
#include "summary.h"

#include <string.h>

#include "modc.h"
#include "options.h"
#include "target.h"
#include "weights.h"

enum { LONGEST = 48 }; /* of a cell with shapes */

/* ---- gathering -------------------------------------------------------------------------------------------- */

static void add_value(struct summary *s, struct text *text, int *count, const struct value *value)
{
    text_printf(text, "%s%s", (*count)++ ? ", " : "", shape_text(&s->cx->arena, value->ndim, value->dims));
}

static void add_shape(struct summary *s, struct text *text, int *count, const struct ev *result)
{
    if (result->kind == EV_TENSOR)
        add_value(s, text, count, result->tensor);
    for (int i = 0; result->kind == EV_TUPLE && i < result->count; i++)
        add_shape(s, text, count, &result->items[i]);
}

/* The shapes, or how many there are. */
static const char *shape_cell(struct summary *s, const struct text *text, int count)
{
    return text->length > LONGEST && count > 1 ? arena_format(&s->cx->arena, "%d values", count) : text->data;
}

static void note_shape(struct summary *s, int module, const struct ev *result)
{
    struct text text = text_new(&s->cx->arena);
    int count = 0;

    if (s->rows[module].shape)
        return;
    add_shape(s, &text, &count, result);
    if (count > 0)
        s->rows[module].shape = shape_cell(s, &text, count);
}

/* `moved`: how far the modules of this graph lie from the instance that is looked at, in the tree's order. A region's
 * instances are equal, so that their parts stand in the same order. */
static void gather(struct summary *s, const struct graph *graph, int moved, bool count_macs)
{
    for (int i = 0; i < graph->call_count; i++)
        note_shape(s, graph->calls[i]->module->index + moved, &graph->calls[i]->result);
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = graph->ops[i];
        const struct module *module = op->call ? op->call->module : graph->root, *instance = op->invoke.instance;

        if (op->code != GRAPH_OP_CALL) {
            s->rows[module->index + moved].macs += count_macs ? op_macs(op) : 0;
            continue;
        }
        for (int k = 0; k < op->invoke.count; k++) {
            const struct graph *inner = op->invoke.region->graph;
            int at = instance->index + moved + k * (instance->subtree + 1);

            note_shape(s, at, &op->invoke.region->result);
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
            add_value(s, &shape, &count, graph->outputs[k]);
        if (i == 0)
            s->rows[0].shape = shape_cell(s, &shape, count);
    }
    for (int i = s->tree->module_count - 1; i > 0; i--) { /* pre-order: children stand behind their parents */
        struct summary_row *parent = &s->rows[s->tree->modules[i]->parent->index];

        parent->parameters += s->rows[i].parameters;
        parent->macs += s->rows[i].macs;
    }
}

static void add_total(struct summary *s, enum summary_kind kind, const char *name, double value, const char *at)
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
            text_printf(&at, "%s%s %lld", k ? ", " : " at ", s->tree->sizes[k].name, (long long)entry->sizes[k].max);
        add_total(s, SUMMARY_MACS, arena_format(&s->cx->arena, "MACs of %s", entry->name),
                  plan_variant(s->plan, entry->graphs[0][0])->macs, at.data);
    }
}

static void count_bytes(struct summary *s)
{
    const struct plan *plan = s->plan;

    add_total(s, SUMMARY_RAM, "parameters and buffers", (double)plan->param_bytes, "");
    add_total(s, SUMMARY_RAM, "packed block", (double)plan->groups[0]->bytes, "");
    for (int i = 0; i < plan->program->entry_count; i++) {
        const struct entry *entry = &plan->program->entries[i];

        for (int v = 0; v < 8; v++) {
            const bool training = v & 1, fenced = v >> 1 & 1, saves = v >> 2;
            const struct graph *graph = (saves ? entry->saving : entry->graphs)[training][fenced];

            if (graph)
                add_total(s, SUMMARY_RAM,
                          arena_format(&s->cx->arena, "workspace of %s%s, %s%s", entry->name, saves ? " and backward" : "",
                                       training ? "training" : "eval", fenced ? ", hooks" : ""),
                          (double)(plan_variant(plan, graph)->peak + plan->state_bytes), "");
        }
    }
    if (plan->gradient_count > 0)
        add_total(s, SUMMARY_RAM, "gradients", (double)plan->gradient_bytes, "");
    if (plan->state_bytes > 0)
        add_total(s, SUMMARY_RAM, "state, in each workspace", (double)plan->state_bytes, "");
    add_total(s, SUMMARY_FLASH, "weights", (double)weights_length(s->cx, plan), "");
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

enum { COLUMNS = 5 };

static void print_cells(struct text *text, const char *const cells[COLUMNS], const int widths[COLUMNS])
{
    static const bool right[COLUMNS] = {[3] = true, [4] = true};
    size_t start = text->length;

    for (int i = 0; i < COLUMNS; i++) {
        /* UTF-8 in a name would move what stands behind it: names are ASCII */
        if (right[i])
            text_printf(text, "%s%*s", i ? "  " : "", widths[i], cells[i]);
        else
            text_printf(text, "%s%-*s", i ? "  " : "", widths[i], cells[i]);
    }
    while (text->length > start && text->data[text->length - 1] == ' ')
        text->data[--text->length] = 0;
    text_add(text, "\n");
}

static void print_modules(struct summary *s, struct text *text)
{
    static const char *const titles[COLUMNS] = {"module", "class", "output shape", "parameters", "MACs"};
    const char *(*cells)[COLUMNS] = arena_array(&s->cx->arena, (size_t)s->tree->module_count + 1, sizeof *cells);
    int widths[COLUMNS] = {0};

    memcpy(cells[0], titles, sizeof titles);
    for (int i = 0; i < s->tree->module_count; i++) {
        const struct module *module = s->tree->modules[i];
        const struct summary_row *row = &s->rows[i];

        cells[i + 1][0] = module->parent ? arena_format(&s->cx->arena, "%*s%s", 2 * depth_of(module), "", module->path)
                                         : s->plan->model;
        cells[i + 1][1] = module->class_name;
        cells[i + 1][2] = row->shape ? row->shape : "-";
        cells[i + 1][3] = row->parameters > 0 ? summary_number(s->cx, (double)row->parameters) : "-";
        cells[i + 1][4] = row->macs > 0 ? summary_number(s->cx, row->macs) : "-";
    }
    for (int i = 0; i <= s->tree->module_count; i++)
        for (int c = 0; c < COLUMNS; c++)
            widths[c] = (int)strlen(cells[i][c]) > widths[c] ? (int)strlen(cells[i][c]) : widths[c];
    text_style(text, STYLE_BOLD);
    print_cells(text, cells[0], widths);
    text_style(text, STYLE_PLAIN);
    for (int i = 1; i <= s->tree->module_count; i++)
        print_cells(text, cells[i], widths);
}

static void print_bytes(struct cx *cx, struct text *text, const char *name, double bytes, const char *more)
{
    text_printf(text, "  %-38s %12s%s\n", name, summary_number(cx, bytes), more);
}

/* Those of memory alone, for a second dtype. */
static void print_totals(struct summary *s, struct text *text, bool memory)
{
    enum summary_kind kind = SUMMARY_COUNT;

    text_add(text, memory ? "" : "\n");
    for (int i = 0; i < s->total_count; i++) {
        const struct summary_total *total = &s->totals[i];
        bool bytes = total->kind == SUMMARY_RAM || total->kind == SUMMARY_FLASH;

        if (memory && !bytes)
            continue;
        if (total->kind != kind && total->kind == SUMMARY_RAM) {
            text_add(text, "\n");
            text_styled(text, STYLE_BOLD, "RAM                                              bytes");
            text_add(text, "\n");
        } else if (total->kind != kind && total->kind == SUMMARY_FLASH) {
            text_styled(text, STYLE_BOLD, "flash, with --weights");
            text_add(text, " (no RAM for parameters and packed block then)\n");
        }
        kind = total->kind;
        if (bytes)
            print_bytes(s->cx, text, total->name, total->value, total->at);
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
static void print_kind(struct cx *cx, struct text *text, const struct memory_sum *memory, const char *title, int64_t limit)
{
    text_styled(text, STYLE_BOLD, title);
    text_add(text, "\n");
    for (int i = 0; i < memory->count; i++)
        print_bytes(cx, text, memory->parts[i].what, (double)memory->parts[i].bytes, "");
    print_bytes(cx, text, "in all", (double)memory->bytes,
                limit > 0 ? arena_format(&cx->arena, "  of %s, %.0f%%", summary_number(cx, (double)limit),
                                         100.0 * (double)memory->bytes / (double)limit)
                          : "");
}

void summary_print_target(struct cx *cx, struct text *text, const struct memory *memory)
{
    const struct target *target = target_of(cx);
    const char *stack = memory->measured ? "" : ", without stack", *code = memory->measured ? "" : ", without code";

    if (!cx->options->target)
        return;
    text_add(text, "\n");
    print_kind(cx, text, &memory->ram, arena_format(&cx->arena, "RAM of %s%s", target->name, stack), target->ram);
    print_kind(cx, text, &memory->flash, arena_format(&cx->arena, "flash of %s%s", target->name, code), target->flash);
}
