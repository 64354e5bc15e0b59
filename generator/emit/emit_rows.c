/* emit_rows.c - the tables of keys, states, gradients, draws and modules. Apart from emit_tables.c, because the rows of modules
 * that are equal but for their place, the children of `N x Call`, are written once: as a macro of that place. */
#include <ctype.h>
#include <string.h>

#include "base/emitted.h"
#include "emit/emit_room.h"
#include "emit/template.h"
#include "module/module.h"

/* One of several equal children of a list, and where its rows begin; NULL stands for rows of their own. */
struct unit {
    const struct module *module;
    int key;                 /* of its first tensor with one, or state */
    int64_t block, gradient; /* of that tensor, and of its first gradient */
};

/* A table: what stands in row i, as it is or, of a unit, behind where its rows begin. */
struct table {
    const char *name, *head; /* "KEYS", its declaration */
    const char *parameters;  /* of the macro */
    int count;
    const struct module *(*owner)(const struct emit *e, int i);
    void (*print)(struct emit *e, struct text *out, int i, const struct unit *unit);
    void (*arguments)(struct emit *e, struct text *out, const struct unit *unit);
};

/* ---- what differs between units ------------------------------------------------------------------------------------- */

/* "key + 3" of a unit whose rows begin there. */
static const char *behind(struct emit *e, const char *name, int64_t number, int64_t first, bool relative)
{
    if (!relative)
        return arena_format(&e->cx->arena, "%lld", (long long)number);
    return number == first ? name
                           : arena_format(&e->cx->arena, "%s + %lld", name, (long long)(number - first));
}

static bool is_inside(const struct unit *unit, const struct module *module)
{
    return unit && module->index >= unit->module->index &&
           module->index <= unit->module->index + unit->module->subtree;
}

static const char *number_of(struct emit *e, const struct unit *unit, const struct module *module)
{
    return unit ? behind(e, "at_module", module->index, unit->module->index, true)
                : module_constant(e, module);
}

/* The path as C, of which a unit's own part is the macro's. */
static void print_path(struct text *out, const struct unit *unit, const char *path)
{
    const char *rest = unit ? path + strlen(unit->module->path) : path;

    if (unit)
        text_add(out, "at_path");
    if (!unit || *rest) {
        text_add(out, unit ? " " : "");
        text_c_string(out, rest);
    }
}

static const char *member_of(struct emit *e, const struct unit *unit, const struct module_tensor *tensor)
{
    const char *member = tensor_member(e->cx, unit ? unit->module : e->tree->root, tensor);

    return !unit ? member : arena_format(&e->cx->arena, "at_member%s%s", member[0] == '[' ? "" : ".", member);
}

static int64_t block_of(const struct emit *e, const struct module_tensor *tensor)
{
    return tensor->kind == MODULE_STATE ? e->plan->state_offsets[tensor->key]
                                        : e->plan->param_offsets[tensor->key];
}

/* ---- keys and states ------------------------------------------------------------------------------------------------ */

static const char *const init_kinds[] = {[INIT_CONSTANT] = "MODC_INIT_CONSTANT",
                                         [INIT_UNIFORM] = "MODC_INIT_UNIFORM",
                                         [INIT_NORMAL] = "MODC_INIT_NORMAL",
                                         [INIT_WITHIN] = "MODC_INIT_NORMAL",
                                         [INIT_VALUE] = "MODC_INIT_VALUE"};

static bool same_value(const struct tensor *a, const struct tensor *b)
{
    return a->dtype == b->dtype && tensor_count(a) == tensor_count(b) &&
           memcmp(a->data, b->data, (size_t)tensor_count(a) * sizeof *a->data) == 0;
}

/* The first tensor with the value, which is printed once. */
static const struct module_tensor *value_owner(const struct emit *e, const struct module_tensor *tensor)
{
    for (int i = 0; i < e->tree->key_count; i++)
        if (e->tree->keys[i]->init == INIT_VALUE && !e->tree->keys[i]->source &&
            same_value(e->tree->keys[i]->value, tensor->value))
            return e->tree->keys[i];
    for (int i = 0; i < e->tree->state_count; i++)
        if (e->tree->states[i]->init == INIT_VALUE && same_value(e->tree->states[i]->value, tensor->value))
            return e->tree->states[i];
    return tensor;
}

static const char *value_name(struct emit *e, const struct module_tensor *tensor)
{
    return arena_format(&e->cx->arena, "%s_value", emitted_flat(e->cx, value_owner(e, tensor)->path));
}

static void print_value(struct emit *e, struct text *out, const struct module_tensor *tensor)
{
    if (tensor->init == INIT_VALUE && !tensor->source && value_owner(e, tensor) == tensor)
        print_array(e, out, value_name(e, tensor), tensor->value);
}

void print_values(struct emit *e, struct text *out)
{
    for (int i = 0; i < e->tree->key_count; i++)
        print_value(e, out, e->tree->keys[i]);
    for (int i = 0; i < e->tree->state_count; i++)
        print_value(e, out, e->tree->states[i]);
}

static const char *flags_of(struct emit *e, const struct module_tensor *tensor)
{
    struct text flags = text_new(&e->cx->arena);

    if (tensor->kind == MODULE_PARAMETER)
        text_add(&flags, "MODC_KEY_PARAMETER");
    else if (tensor->persistent)
        text_add(&flags, "MODC_KEY_PERSISTENT");
    if (tensor->optional)
        text_printf(&flags, "%sMODC_KEY_OPTIONAL", flags.length ? " | " : "");
    if (tensor->kind == MODULE_PARAMETER && !tensor->requires_grad)
        text_printf(&flags, "%sMODC_KEY_FROZEN", flags.length ? " | " : "");
    return flags.length ? flags.data : "0";
}

static void print_tensor(struct emit *e, struct text *out, struct module_tensor *tensor,
                         const struct unit *unit)
{
    const struct module_tensor *origin = module_tensor_origin(tensor);
    const struct module_tensor *first = tensor->kind == MODULE_STATE ? tensor : tensor->first;
    struct text a = text_new(&e->cx->arena), b = text_new(&e->cx->arena);
    const bool inside = is_inside(unit, first->owner);

    print_double(e, &a, origin->a);
    print_double(e, &b, origin->b);
    text_add(out, "    {");
    print_path(out, unit, tensor->path);
    text_printf(out, ", %s, %d, {", dtype_rows[tensor->dtype].modc, tensor->ndim);
    for (int d = 0; d < tensor->ndim; d++)
        text_printf(out, "%s%lld", d ? ", " : "", (long long)tensor->dims[d]);
    text_printf(out, "%s}, %s, %s, ", tensor->ndim == 0 ? "0" : "", flags_of(e, tensor),
                number_of(e, unit, tensor->owner));
    if (tensor->kind == MODULE_STATE)
        text_add(out, "0");
    else
        text_printf(out, "offsetof(struct %s_params, %s)", e->m, member_of(e, unit, tensor));
    text_printf(out, ", %s, %s, %s, %s, %s, %s},\n",
                behind(e, "at_block", block_of(e, tensor), unit ? unit->block : 0, unit != NULL),
                behind(e, "at_key", first->key, unit ? unit->key : 0, inside), init_kinds[origin->init],
                a.data, b.data, origin->init == INIT_VALUE ? value_name(e, origin) : "NULL");
}

static const struct module *key_owner(const struct emit *e, int i)
{
    return e->tree->keys[i]->owner;
}

static void print_key(struct emit *e, struct text *out, int i, const struct unit *unit)
{
    print_tensor(e, out, e->tree->keys[i], unit);
}

static void key_arguments(struct emit *e, struct text *out, const struct unit *unit)
{
    text_c_string(out, unit->module->path);
    text_printf(out, ", %s, %s, %d, %lld", module_constant(e, unit->module),
                module_path_c(e, e->tree->root, unit->module), unit->key, (long long)unit->block);
}

static const struct module *state_owner(const struct emit *e, int i)
{
    return e->tree->states[i]->owner;
}

static void print_state(struct emit *e, struct text *out, int i, const struct unit *unit)
{
    print_tensor(e, out, e->tree->states[i], unit);
}

static void state_arguments(struct emit *e, struct text *out, const struct unit *unit)
{
    text_c_string(out, unit->module->path);
    text_printf(out, ", %s, %d, %lld", module_constant(e, unit->module), unit->key, (long long)unit->block);
}

/* ---- gradients ------------------------------------------------------------------------------------------------------ */

static const struct module *gradient_owner(const struct emit *e, int i)
{
    return e->plan->gradients[i]->owner;
}

static void print_gradient(struct emit *e, struct text *out, int i, const struct unit *unit)
{
    const struct module_tensor *tensor = e->plan->gradients[i];

    text_printf(out, "    {%s, %s}, /* %s */\n",
                behind(e, "at_key", tensor->key, unit ? unit->key : 0, unit != NULL),
                behind(e, "at_block", e->plan->gradient_offsets[i], unit ? unit->gradient : 0, unit != NULL),
                unit ? relative_path(unit->module, tensor->path) : tensor->path);
}

static void gradient_arguments(struct emit *e, struct text *out, const struct unit *unit)
{
    (void)e;
    text_printf(out, "%d, %lld", unit->key, (long long)unit->gradient);
}

/* ---- draws ---------------------------------------------------------------------------------------------------------- */

static const struct module *draw_owner(const struct emit *e, int i)
{
    return e->tree->draws[i]->owner;
}

static void print_numbers(struct emit *e, struct text *out, const char *key, const char *kind, double a,
                          double b)
{
    text_printf(out, "    {%s, %s, ", key, kind);
    print_double(e, out, a);
    text_add(out, ", ");
    print_double(e, out, b);
    text_add(out, "},");
}

/* What a tensor draws; nothing where its values are not drawn. */
static void print_draw(struct emit *e, struct text *out, int i, const struct unit *unit)
{
    const struct module_tensor *tensor = e->tree->draws[i];
    const char *key = behind(e, "at_key", tensor->key, unit ? unit->key : 0, unit != NULL);

    if (!init_draws(tensor->init))
        return;
    print_numbers(e, out, tensor->source ? arena_format(&e->cx->arena, "-1 - (%s)", key) : key,
                  init_kinds[tensor->init], tensor->a, tensor->b);
    text_printf(out, " /* %s%s */\n", unit ? relative_path(unit->module, tensor->path) : tensor->path,
                tensor->source ? "; dropped, since it is tied" : "");
    if (tensor->init == INIT_WITHIN) {
        print_numbers(e, out, key, "MODC_INIT_WITHIN", tensor->low, tensor->high);
        text_add(out, "\n");
    }
    if (tensor->zero_row >= 0 && !tensor->source)
        text_printf(out, "    {%s, MODC_INIT_ROW, 0.0, %lld},\n", key, (long long)tensor->zero_row);
}

static void draw_arguments(struct emit *e, struct text *out, const struct unit *unit)
{
    (void)e;
    text_printf(out, "%d", unit->key);
}

/* Whether its row among the keys says random values of its own. */
static bool is_drawn(struct module_tensor *key, int at)
{
    return key->first->key == at && init_draws(module_tensor_origin(key)->init);
}

/* Whether each key that has random values draws them once, in the order of keys: then these say all. */
static bool draws_are_keys(const struct emit *e)
{
    const struct module_tree *tree = e->tree;
    int at = 0;

    for (int i = 0; i < tree->draw_count; i++) {
        const struct module_tensor *tensor = tree->draws[i];

        if (!init_draws(tensor->init))
            continue;
        while (at < tree->key_count && !is_drawn(tree->keys[at], at))
            at++;
        if (at == tree->key_count || tree->keys[at++] != tensor || tensor->source || tensor->zero_row >= 0 ||
            tensor->init == INIT_WITHIN)
            return false;
    }
    while (at < tree->key_count && !is_drawn(tree->keys[at], at))
        at++;
    return at == tree->key_count;
}

int count_draws(const struct emit *e)
{
    int count = 0;

    if (draws_are_keys(e))
        return 0;

    for (int i = 0; i < e->tree->draw_count; i++) {
        const struct module_tensor *tensor = e->tree->draws[i];

        if (init_draws(tensor->init))
            count += 1 + (tensor->init == INIT_WITHIN) + (tensor->zero_row >= 0 && !tensor->source);
    }
    return count;
}

/* ---- modules -------------------------------------------------------------------------------------------------------- */

static const struct module *module_itself(const struct emit *e, int i)
{
    return e->tree->modules[i];
}

static void print_module_row(struct emit *e, struct text *out, int i, const struct unit *unit)
{
    const struct module *module = e->tree->modules[i];

    text_add(out, "    {");
    print_path(out, unit, module->path);
    text_add(out, ", ");
    if (unit && unit->module == module)
        text_add(out, "at_name");
    else
        text_c_string(out, module->name ? module->name : "");
    text_add(out, ", ");
    text_c_string(out, module->class_name);
    text_add(out, ", ");
    text_c_string(out, module_extra_repr(module));
    text_printf(out, ", %s, %d, %s},\n",
                behind(e, "at_module", module->parent ? module->parent->index : -1,
                       unit ? unit->module->index : 0, unit && module != unit->module),
                module->subtree, module_folds(module) ? "true" : "false");
}

static void module_arguments(struct emit *e, struct text *out, const struct unit *unit)
{
    text_c_string(out, unit->module->path);
    text_add(out, ", ");
    text_c_string(out, unit->module->name);
    text_printf(out, ", %s", module_constant(e, unit->module));
}

/* ---- tables --------------------------------------------------------------------------------------------------------- */

/* Whether the macro's parameters would stand in the paths of its members. */
static bool has_parameter(const struct module *module)
{
    for (int i = 0; i < module->tensor_count; i++)
        if (strncmp(module->tensors[i]->name, "at_", 3) == 0)
            return true;
    for (int i = 0; i < module->child_count; i++)
        if (strncmp(module->children[i]->name, "at_", 3) == 0 || has_parameter(module->children[i]))
            return true;
    return false;
}

/* The outermost child of a list, this module or around it, that has siblings of its words. */
static const struct module *unit_module(const struct module *module)
{
    const struct module *found = NULL;

    for (; module->parent; module = module->parent) {
        int alike = 0;

        for (int i = 0; i < module->parent->child_count && isdigit((unsigned char)module->name[0]); i++)
            alike += strcmp(module->parent->children[i]->text, module->text) == 0 &&
                     module->parent->children[i]->subtree == module->subtree;
        if (alike > 1 && !has_parameter(module))
            found = module;
    }
    return found;
}

static struct unit unit_of(const struct emit *e, const struct module *module)
{
    struct unit unit = {.module = module, .key = -1};

    for (int kind = 0; kind < 2 && unit.key < 0; kind++) { /* keys, then states */
        const int count = kind ? e->tree->state_count : e->tree->key_count;

        for (int i = 0; i < count && unit.key < 0; i++) {
            const struct module_tensor *tensor = kind ? e->tree->states[i] : e->tree->keys[i];

            if (!is_inside(&unit, tensor->owner))
                continue;
            unit.key = tensor->key;
            unit.block = block_of(e, tensor);
        }
    }
    for (int i = e->plan->gradient_count - 1; i >= 0; i--)
        if (is_inside(&unit, e->plan->gradients[i]->owner))
            unit.gradient = e->plan->gradient_offsets[i];
    return unit;
}

/* A macro that was written: the rows of the units of one list. */
struct macro {
    const char *name, *body;
};

struct macros {
    struct macro *list;
    int count;
};

/* The name of the macro with the body, "LAYER_KEYS", which is written to `out` if there is none yet. */
static const char *macro_of(struct emit *e, struct text *out, struct macros *macros,
                            const struct table *table, const struct module *unit, const char *body)
{
    struct arena *arena = &e->cx->arena;
    const char *list = unit->parent->path[0] ? emitted_flat(e->cx, unit->parent->path) : "list";
    const char *stem = arena_format(arena, "%s_OF_%s", table->name, text_upper(arena, list)), *name = stem;
    struct text lines = text_new(arena), wide = text_new(arena);
    int same = 1;

    for (int i = 0; i < macros->count; i++) {
        if (strncmp(macros->list[i].name, stem, strlen(stem)) != 0)
            continue;
        if (strcmp(macros->list[i].body, body) == 0)
            return macros->list[i].name;
        name = arena_format(arena, "%s_%d", stem, ++same);
    }
    for (const char *line = body; *line;
         line += strcspn(line, "\n") + 1) /* two columns are for what ends the line */
        text_printf(&wide, "  %.*s\n", (int)strcspn(line, "\n"), line);
    text_printf(&lines, "#define %s(%s)", name, table->parameters);
    for (const char *line = emit_fit(arena, wide.data); *line; line += strcspn(line, "\n") + 1)
        text_printf(&lines, " \\\n%.*s", (int)strcspn(line, "\n") - 2, line + 2);
    text_printf(out, "%s\n\n", lines.data);
    ARENA_PUSH(arena, macros->list, macros->count, ((struct macro){name, body}));
    return name;
}

/* The rows from `first` to before `end`. */
static const char *rows_text(struct emit *e, const struct table *table, int first, int end,
                             const struct unit *unit)
{
    struct text rows = text_new(&e->cx->arena);

    for (int i = first; i < end; i++)
        table->print(e, &rows, i, unit);
    return rows.data;
}

static int count_lines(const char *text)
{
    int count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* The rows of a table, in runs of one unit each, and those units whose rows are others' too. */
struct run {
    int first, end;
    struct unit unit;
    const char *rows; /* relative; NULL: it is no unit */
};

static struct run *find_runs(struct emit *e, const struct table *table, int *count)
{
    struct run *runs = NULL;

    *count = 0;
    for (int i = 0; i < table->count;) {
        const struct module *module = unit_module(table->owner(e, i));
        struct run run = {.first = i};

        while (i < table->count && unit_module(table->owner(e, i)) == module)
            i++;
        run.end = i;
        if (module) {
            run.unit = unit_of(e, module);
            run.rows = rows_text(e, table, run.first, run.end, &run.unit);
        }
        ARENA_PUSH(&e->cx->arena, runs, *count, run);
    }
    return runs;
}

/* Whether it takes fewer lines to write the rows once. */
static bool pays(const struct run *runs, int count, const struct run *run)
{
    const int lines = run->rows ? count_lines(run->rows) : 0;
    int units = 0;

    for (int i = 0; i < count && lines > 0; i++)
        units += runs[i].rows && runs[i].unit.module->parent == run->unit.module->parent &&
                 strcmp(runs[i].rows, run->rows) == 0;
    return units * lines > units + lines + 2;
}

static void print_table(struct emit *e, struct text *out, const struct table *table)
{
    struct text macros = text_new(&e->cx->arena), rows = text_new(&e->cx->arena);
    struct macros written = {0};
    int count;
    struct run *runs = find_runs(e, table, &count);

    for (int i = 0; i < count; i++) {
        const struct run *run = &runs[i];

        if (!pays(runs, count, run)) {
            text_add(&rows, rows_text(e, table, run->first, run->end, NULL));
            continue;
        }
        text_printf(&rows, "    %s(", macro_of(e, &macros, &written, table, run->unit.module, run->rows));
        table->arguments(e, &rows, &run->unit);
        text_add(&rows, ")\n");
    }
    if (rows.length > 0)
        text_printf(out, "%s%s%s};\n\n", macros.data, table->head, rows.data);
}

void print_row_tables(struct emit *e, struct text *out)
{
    const struct table tables[] = {
        {"KEYS", "static const struct modc_key keys_table[] = {\n",
         "at_path, at_module, at_member, at_key, at_block", e->tree->key_count, key_owner, print_key,
         key_arguments},
        {"STATES", "static const struct modc_key states_table[] = {\n",
         "at_path, at_module, at_key, at_block", e->tree->state_count, state_owner, print_state,
         state_arguments},
        {"DRAWS",
         "/* in the order in which PyTorch draws */\nstatic const struct modc_draw draws_table[] = {\n",
         "at_key", count_draws(e) > 0 ? e->tree->draw_count : 0, draw_owner, print_draw, draw_arguments},
        {"MODULES", "static const struct modc_module modules_table[] = {\n", "at_path, at_name, at_module",
         e->tree->module_count, module_itself, print_module_row, module_arguments},
        {"GRADIENTS", "static const struct modc_gradient gradients_table[] = {\n", "at_key, at_block",
         e->plan->gradient_count, gradient_owner, print_gradient, gradient_arguments},
    };

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        print_table(e, out, &tables[i]);
}
