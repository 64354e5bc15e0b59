/* emit_rows.c - the tables of keys, states, gradients, draws and modules. Apart from emit_tables.c, because the rows of modules
 * that are equal but for their place, the children of `N x Call`, are written once: as a macro of that place. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/emitted.h"
#include "emit/emit_room.h"
#include "emit/template.h"
#include "module/module.h"
#include "module/rollout.h"

/* One of several equal children of a list, and where its rows begin; NULL stands for rows of their own. */
struct unit {
    const struct module *module;
    int key; /* of its first tensor with one */
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

/* ---- keys and states ------------------------------------------------------------------------------------------------ */

static const char *const init_kinds[] = {
    [INIT_CONSTANT] = "MODC_INIT_CONSTANT", [INIT_UNIFORM] = "MODC_INIT_UNIFORM",
    [INIT_NORMAL] = "MODC_INIT_NORMAL",     [INIT_WITHIN] = "MODC_INIT_NORMAL",
    [INIT_VALUE] = "MODC_INIT_VALUE",       [INIT_NORMS] = "MODC_INIT_NORMS",
    [INIT_UNIT] = "MODC_INIT_UNIT",         [INIT_POWER] = "MODC_INIT_POWER",
    [INIT_BASE] = "MODC_INIT_BASE",         [INIT_REFLECTIONS] = "MODC_INIT_REFLECTIONS"};

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

static const char *value_elements(struct emit *e, const struct module_tensor *tensor)
{
    return array_values(e, value_name(e, tensor), value_owner(e, tensor)->value);
}

static void print_value(struct emit *e, struct text *out, const struct module_tensor *tensor)
{
    if (tensor->init == INIT_VALUE && !tensor->source && value_owner(e, tensor) == tensor)
        print_array(e, out, value_name(e, tensor), tensor->value);
}

const char *gammas_name(struct emit *e, const struct rollout *rollout)
{
    const struct module *multi_step = rollout->multi_step;

    for (int i = 0; multi_step && i < multi_step->tensor_count; i++) {
        const struct module_tensor *tensor = multi_step->tensors[i];

        if (tensor->key >= 0 && strcmp(tensor->name, "gammas") == 0 && tensor->init == INIT_VALUE &&
            tensor->dtype == DTYPE_FLOAT32 && module_tensor_count(tensor) == rollout->n_steps + 1)
            return value_elements(e, tensor); /* n_steps=0 has one, and counts as one step here */
    }
    return NULL;
}

void print_values(struct emit *e, struct text *out)
{
    for (int i = 0; i < e->tree->key_count; i++)
        print_value(e, out, e->tree->keys[i]);
    for (int i = 0; i < e->tree->state_count; i++)
        print_value(e, out, e->tree->states[i]);
}

/* MODC_FLAGS_OF_... */
static const char *kind_of(const struct module_tensor *tensor)
{
    if (tensor->kind == MODULE_PARAMETER)
        return tensor->requires_grad ? "PARAMETER" : "FROZEN";
    return !tensor->persistent ? "UNSAVED" : tensor->optional ? "OPTIONAL" : "BUFFER";
}

/* The bound of a uniform distribution, in as many digits as what is drawn of the type depends on. */
static const char *bound_text(struct emit *e, enum dtype dtype, double bound)
{
    struct text exact = text_new(&e->cx->arena);

    for (int digits = 1; digits <= 9 && dtype_part(dtype) != DTYPE_FLOAT64 && isfinite(bound); digits++) {
        const char *text = arena_format(&e->cx->arena, "%.*g", digits, bound);

        if ((float)strtod(text, NULL) == (float)bound)
            return strpbrk(text, ".e") ? text : arena_format(&e->cx->arena, "%s.0", text);
    }
    print_double(e, &exact, bound);
    return exact.data;
}

/* MODC_START_... */
static void print_start(struct emit *e, struct text *out, const struct module_tensor *origin)
{
    switch (origin->init) {
    case INIT_UNIFORM:
        if (origin->a == -origin->b)
            text_printf(out, "UNIFORM(%s)", bound_text(e, origin->dtype, origin->b));
        else
            text_printf(out, "BETWEEN(%s, %s)", bound_text(e, origin->dtype, origin->a),
                        bound_text(e, origin->dtype, origin->b));
        break;
    case INIT_VALUE:
        text_printf(out, "VALUE(%s)", value_elements(e, origin));
        break;
    case INIT_CONSTANT:
        text_add(out, "CONSTANT(");
        print_double(e, out, origin->a);
        text_add(out, ")");
        break;
    default:
        text_add(out, "NORMAL(");
        print_double(e, out, origin->a);
        text_add(out, ", ");
        print_double(e, out, origin->b);
        text_add(out, ")");
        break;
    }
}

static void print_tensor(struct emit *e, struct text *out, struct module_tensor *tensor,
                         const struct unit *unit)
{
    const int tied = tensor->kind == MODULE_STATE ? 0 : tensor->key - tensor->first->key;

    if (tied > 0)
        text_printf(out, "    MODC_TIED(%s, %d, ", kind_of(tensor), tied);
    else
        text_printf(out, "    MODC_%s(", kind_of(tensor));
    print_path(out, unit, tensor->path);
    text_printf(out, ", %s, %s, ", number_of(e, unit, tensor->owner),
                dtype_rows[tensor->dtype].modc + strlen("MODC_"));
    print_start(e, out, module_tensor_origin(tensor));
    text_printf(out, ", %d, {", tensor->ndim);
    for (int d = 0; d < tensor->ndim; d++)
        text_printf(out, "%s%lld", d ? ", " : "", (long long)tensor->dims[d]);
    text_printf(out, "%s}),\n", tensor->ndim == 0 ? "0" : "");
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
    text_printf(out, ", %s", module_constant(e, unit->module));
}

static const struct module *state_owner(const struct emit *e, int i)
{
    return e->tree->states[i]->owner;
}

static void print_state(struct emit *e, struct text *out, int i, const struct unit *unit)
{
    print_tensor(e, out, e->tree->states[i], unit);
}

/* ---- gradients ------------------------------------------------------------------------------------------------------ */

bool lists_gradients(const struct emit *e)
{
    for (int i = 0; i < e->plan->gradient_count; i++)
        if (e->plan->gradients[i]->key != i)
            return true;
    return false;
}

static void print_gradients(struct emit *e, struct text *out)
{
    size_t column = 3;

    if (!lists_gradients(e))
        return;
    text_add(out, "static const int gradients_table[] = { /* keys */\n   ");
    for (int i = 0; i < e->plan->gradient_count; i++) {
        const char *number = arena_format(&e->cx->arena, " %d,", e->plan->gradients[i]->key);

        if (column + strlen(number) > EMITTED_WIDTH) {
            text_add(out, "\n   ");
            column = 3;
        }
        text_add(out, number);
        column += strlen(number);
    }
    text_add(out, "\n};\n\n");
}

/* ---- draws ---------------------------------------------------------------------------------------------------------- */

static const struct module *draw_owner(const struct emit *e, int i)
{
    return e->tree->draws[i].tensor->owner;
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

static void print_draw(struct emit *e, struct text *out, int i, const struct unit *unit)
{
    const struct module_draw *draw = &e->tree->draws[i];
    const struct module_tensor *tensor = draw->tensor;
    const bool dropped = tensor->source;
    const char *key = behind(e, "at_key", tensor->key, unit ? unit->key : 0, unit != NULL);

    if (dropped && !init_draws(draw->init))
        return;
    if (draw->from)
        print_numbers(e, out, key, "MODC_INIT_COPY", 0.0, tensor->key - draw->from->key);
    else
        print_numbers(e, out, dropped ? arena_format(&e->cx->arena, "-1 - (%s)", key) : key,
                      init_kinds[draw->init], draw->a, draw->of ? draw->of->key - tensor->key : draw->b);
    text_printf(out, " /* %s%s */\n", unit ? relative_path(unit->module, tensor->path) : tensor->path,
                dropped ? "; dropped, since it is tied" : "");
    if (draw->from)
        return;
    if (draw->init == INIT_WITHIN) {
        print_numbers(e, out, key, "MODC_INIT_WITHIN", draw->low, draw->high);
        text_add(out, "\n");
    }
    if (draw->zero_row >= 0 && !dropped)
        text_printf(out, "    {%s, MODC_INIT_ROW, 0.0, %lld},\n", key, (long long)draw->zero_row);
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
        const struct module_draw *draw = &tree->draws[i];

        while (at < tree->key_count && !is_drawn(tree->keys[at], at))
            at++;
        if (at == tree->key_count || tree->keys[at++] != draw->tensor || draw->from || draw->tensor->source ||
            draw->zero_row >= 0 || draw->init == INIT_WITHIN || !init_draws(draw->init))
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
        const struct module_draw *draw = &e->tree->draws[i];

        if (!draw->tensor->source || init_draws(draw->init))
            count += 1 + (draw->init == INIT_WITHIN) + (draw->zero_row >= 0 && !draw->tensor->source);
    }
    return count;
}

/* ---- modules -------------------------------------------------------------------------------------------------------- */

static const struct module *module_itself(const struct emit *e, int i)
{
    return e->tree->modules[i];
}

/* A constant where it is not the root, so that what is inserted in front changes no row. */
static const char *parent_of(struct emit *e, const struct unit *unit, const struct module *module)
{
    if (!module->parent)
        return "-1";
    if (module->parent == e->tree->root)
        return "0";
    return number_of(e, is_inside(unit, module->parent) ? unit : NULL, module->parent);
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
    text_printf(out, ", %s, %d, %s},\n", parent_of(e, unit, module), module->subtree,
                module_folds(module) ? "true" : "false");
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

    for (int i = 0; i < e->tree->key_count && unit.key < 0; i++)
        if (is_inside(&unit, e->tree->keys[i]->owner))
            unit.key = i;
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
    struct text row;
    size_t width = 0; /* of the line of the last rows, where these were a unit's */
    int count;
    struct run *runs = find_runs(e, table, &count);

    for (int i = 0; i < count; i++) {
        const struct run *run = &runs[i];

        if (!pays(runs, count, run)) {
            text_add(&rows, rows_text(e, table, run->first, run->end, NULL));
            width = 0;
            continue;
        }
        row = text_new(&e->cx->arena);
        text_printf(&row, "%s(", macro_of(e, &macros, &written, table, run->unit.module, run->rows));
        table->arguments(e, &row, &run->unit);
        text_add(&row, ")");
        if (width > 0 && width + row.length < EMITTED_WIDTH) { /* several of one list in a line */
            rows.data[--rows.length] = 0;
            text_printf(&rows, " %s\n", row.data);
            width += row.length + 1;
        } else {
            text_printf(&rows, "    %s\n", row.data);
            width = row.length + 4;
        }
    }
    if (rows.length > 0)
        text_printf(out, "%s%s%s};\n\n", macros.data, table->head, rows.data);
}

void print_row_tables(struct emit *e, struct text *out)
{
    const struct table tables[] = {
        {"STATES", "static const struct modc_key states_table[] = {\n", "at_path, at_module",
         e->tree->state_count, state_owner, print_state, key_arguments},
        {"DRAWS",
         "/* in the order in which PyTorch draws */\nstatic const struct modc_draw draws_table[] = {\n",
         "at_key", count_draws(e) > 0 ? e->tree->draw_count : 0, draw_owner, print_draw, draw_arguments},
        {"MODULES", "static const struct modc_module modules_table[] = {\n", "at_path, at_name, at_module",
         e->tree->module_count, module_itself, print_module_row, module_arguments},
        {"KEYS", "static const struct modc_key keys_table[] = {\n", "at_path, at_module", e->tree->key_count,
         key_owner, print_key, key_arguments},
    };

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        print_table(e, out, &tables[i]);
    print_gradients(e, out);
}
