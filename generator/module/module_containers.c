/* module_containers.c - what Sequential, ModuleList, ModuleDict, ParameterList and ParameterDict hold, in every way that PyTorch
 * and a spec can write it, and repetitions: `12 x Block(256)`, `Block(i) for i in range(4)`. */
#include "module/module_builder.h"

#include <stdlib.h>
#include <string.h>

/* How many modules one repetition makes. */
#define MAX_REPEAT 10000

/* ---- containers ---- */

/* What a container holds under a name. */
struct entry_of_dict {
    const char *name;
    struct loc loc;
    const struct expr *item;
};

/* OrderedDict(...), with Python's name space or without. */
static bool is_ordered(const struct expr *expr)
{
    return expr->kind == EXPR_CALL && (expr->a->kind == EXPR_NAME || expr->a->kind == EXPR_ATTR) &&
           strcmp(expr->a->text, "OrderedDict") == 0;
}

/* ('act', ReLU()) */
static bool is_pair(const struct expr *expr)
{
    return (expr->kind == EXPR_TUPLE || expr->kind == EXPR_LIST) && expr->count == 2 &&
           expr->items[0]->kind == EXPR_STRING;
}

static void names_needed(struct builder *build, const struct module *module, struct loc loc)
{
    bool parameters = module_holds_parameters(module);

    diag_error(build->cx, loc, "%s takes its %s with names", module->class_name,
               parameters ? "parameters" : "modules");
    diag_hint(build->cx,
              parameters ? "write ParameterDict(scale=[1.0, 2.0])" : "write ModuleDict(act=ReLU())");
}

/* What stands in (a=A, b=B), ({'a': A, 'b': B}), ([('a', A), ('b', B)]) and (OrderedDict(...)), by name in the order of the
 * text. False after a fault. */
static bool read_named(struct builder *build, const struct module *module, const struct expr *call,
                       struct entry_of_dict **entries, int *count)
{
    const struct expr *from = call->count == 1 && !call->names[0] ? call->items[0] : call;

    if (from != call && is_ordered(from))
        return read_named(build, module, from, entries, count);
    if (from->kind == EXPR_BAD)
        return false;
    if (from != call && from->kind != EXPR_DICT && from->kind != EXPR_LIST && from->kind != EXPR_TUPLE) {
        names_needed(build, module, from->loc);
        return false;
    }
    for (int i = 0; i < from->count; i++) {
        const struct expr *item = from->items[i];
        struct entry_of_dict entry = {.loc = item->loc, .item = item};

        if (from == call || from->kind == EXPR_DICT) {
            entry.name = from->names[i];
            entry.loc = entry.name ? from->name_locs[i] : item->loc;
        } else if (is_pair(item)) {
            entry = (struct entry_of_dict){item->items[0]->text, item->items[0]->loc, item->items[1]};
        }
        if (!entry.name) {
            names_needed(build, module, item->loc);
            return false;
        }
        ARENA_PUSH(&build->cx->arena, *entries, *count, entry);
    }
    return true;
}

/* ParameterDict sorts a mapping; an OrderedDict, or pairs, keep their order. */
static bool sorts(const struct module *module, const struct expr *call)
{
    const struct expr *first = call->count > 0 ? call->items[0] : NULL;

    return module->layer->container == LAYER_PARAMETER_DICT && first &&
           (call->names[0] || (first->kind == EXPR_DICT && !is_ordered(first)));
}

static int by_name(const void *a, const void *b)
{
    const struct entry_of_dict *left = a, *right = b;
    int order = strcmp(left->name, right->name);

    return order != 0 ? order : left->loc.offset < right->loc.offset ? -1 : 1;
}

/* A name that no sibling has, in C neither. */
static bool is_free(struct builder *build, struct names *taken, const struct entry_of_dict *entry)
{
    const char *upper;
    const struct name_entry *first;

    if (!entry->name[0] || strpbrk(entry->name, ". ")) {
        diag_error(build->cx, entry->loc, "'%s' cannot be a name: it %s", entry->name,
                   entry->name[0] ? "has a '.' or a blank in it" : "is empty");
        return false;
    }
    upper = emitted_upper(build->cx, entry->name);
    first = names_add(&build->cx->arena, taken, upper, entry->name, entry->loc);
    if (!first)
        return true;
    if (strcmp(first->name, entry->name) == 0)
        diag_error(build->cx, entry->loc, "the name '%s' is taken", entry->name);
    else
        diag_error(build->cx, entry->loc, "'%s' and '%s' give one name in C, %s", first->name, entry->name,
                   upper);
    diag_note(build->cx, first->loc, "'%s' is defined here", first->name);
    return false;
}

/* A parameter of ParameterList or ParameterDict: a tensor that is known while generating; a list stands for one of the
 * model's dtype. */
static void add_parameter(struct builder *build, struct module *module, const char *name, struct loc loc,
                          struct ev value)
{
    struct module_tensor *tensor = module_add_tensor(build, module, MODULE_PARAMETER, name, loc);

    tensor->faulty = true;
    if (value.kind != EV_TENSOR && value.kind != EV_COMPLEX && value.kind != EV_TUPLE) {
        if (value.kind != EV_BAD) {
            diag_error(build->cx, value.loc, "%s holds tensors, found %s", module->class_name,
                       ev_text(&build->eval, &value));
            diag_hint(build->cx,
                      "a list stands for a tensor, as [1.0, 2.0]; zeros(3) and ones(2, 3) make one");
        }
        return;
    }
    tensor->faulty = !module_set_value(build, tensor, value, value.kind == EV_TUPLE) ||
                     !module_may_require_grad(build, tensor, value.loc);
}

static void build_named(struct builder *build, struct module *module, struct scope *scope,
                        const struct expr *call)
{
    struct entry_of_dict *entries = NULL;
    struct names taken = {0};
    int count = 0;

    module->faulty = !read_named(build, module, call, &entries, &count);
    if (sorts(module, call) && count > 1)
        qsort(entries, (size_t)count, sizeof *entries, by_name);
    for (int i = 0; i < count && !module->faulty; i++) {
        struct spec_module item = {
            .kind = SPEC_MODULE_CALL, .loc = entries[i].loc, .call = (struct expr *)entries[i].item};

        if (!is_free(build, &taken, &entries[i]))
            module->faulty = true;
        else if (module_holds_parameters(module))
            add_parameter(build, module, entries[i].name, entries[i].loc,
                          eval_expr(&build->eval, scope, entries[i].item));
        else
            module_build_place(build, module, entries[i].name, scope, &item);
    }
}

void module_build_container(struct builder *build, struct module *module, struct scope *scope,
                            const struct expr *call)
{
    enum layer_container kind = module->layer->container;
    const struct expr *only = call->count == 1 && !call->names[0] ? call->items[0] : NULL;
    bool brackets = (kind == LAYER_MODULE_LIST || kind == LAYER_PARAMETER_LIST) && only &&
                    only->kind == EXPR_LIST;
    const struct expr *items = brackets ? only : call;

    if (kind == LAYER_MODULE_DICT || kind == LAYER_PARAMETER_DICT ||
        (kind == LAYER_SEQUENTIAL && only && is_ordered(only))) {
        build_named(build, module, scope, call);
        return;
    }
    for (int i = 0; i < items->count; i++) {
        struct spec_module item = {
            .kind = SPEC_MODULE_CALL, .loc = items->items[i]->loc, .call = items->items[i]};
        struct spec_module *children[1] = {&item};
        struct spec_module list = {.kind = SPEC_MODULE_LIST, .children = children, .count = 1};

        if (!brackets && call->names[i]) {
            diag_error(build->cx, call->name_locs[i], "%s takes its %s without names", module->class_name,
                       module_holds_parameters(module) ? "parameters" : "modules");
            if (kind == LAYER_SEQUENTIAL)
                diag_hint(build->cx, "names are given by Sequential(OrderedDict(act=ReLU()))");
            module->faulty = true;
        } else {
            module_build_items(build, module, scope, &list);
        }
    }
}

/* ---- the same of values ---- */

static void hold(struct builder *build, struct module *module, const char *name, struct loc loc,
                 const struct ev *value)
{
    if (module_holds_parameters(module) && module_is_parameter(value))
        module_add_parameter(build, module, name, loc, value);
    else if (module_holds_parameters(module))
        add_parameter(build, module, name, loc, *value);
    else
        module_place_value(build, module, name, loc, value);
}

void module_hold_next(struct builder *build, struct module *module, const struct ev *value)
{
    int count = module_holds_parameters(module) ? module->tensor_count : module->child_count;

    if (value->kind != EV_BAD)
        hold(build, module, arena_format(&build->cx->arena, "%d", count), value->loc, value);
    else
        module->faulty = true;
}

/* What a dict holds, pairs, or arguments with names. */
static void hold_named(struct builder *build, struct module *module, const struct call *call)
{
    struct names taken = {0};
    const struct ev *from = call->count > 0 && !call->names[0] ? &call->args[0] : NULL;
    const bool pairs = from && from->kind == EV_TUPLE;
    int count = from ? from->count : call->count;

    if (from && (call->count > 1 || (from->kind != EV_DICT && !pairs))) {
        if (from->kind != EV_BAD)
            names_needed(build, module, from->loc);
        count = 0;
        module->faulty = true;
    }
    for (int i = 0; i < count && !module->faulty; i++) {
        const struct ev *item = from ? &from->items[i] : &call->args[i];
        struct entry_of_dict entry = {.name = pairs  ? NULL
                                              : from ? from->fields[i]
                                                     : call->names[i],
                                      .loc = item->loc};

        if (pairs && item->kind == EV_TUPLE && item->count == 2 && item->items[0].kind == EV_STRING) {
            entry.name = item->items[0].text;
            item = &item->items[1];
        }
        if (!entry.name) {
            names_needed(build, module, item->loc);
            module->faulty = true;
        } else if (is_free(build, &taken, &entry)) {
            hold(build, module, entry.name, entry.loc, item);
        } else {
            module->faulty = true;
        }
    }
}

void module_hold_in(struct builder *build, struct module *module, const struct layer_row *row,
                    const struct call *call)
{
    enum layer_container kind = row->container;
    const struct ev *only = call->count == 1 && !call->names[0] ? &call->args[0] : NULL;
    const bool list = kind == LAYER_MODULE_LIST || kind == LAYER_PARAMETER_LIST;

    if (kind == LAYER_MODULE_DICT || kind == LAYER_PARAMETER_DICT ||
        (kind == LAYER_SEQUENTIAL && only && only->kind == EV_DICT)) {
        hold_named(build, module, call);
        return;
    }
    for (int i = 0; i < call->count; i++) {
        const struct ev *value = &call->args[i];

        if (call->names[i]) {
            diag_error(build->cx, call->locs[i], "%s takes its %s without names", row->name,
                       module_holds_parameters(module) ? "parameters" : "modules");
            module->faulty = true;
        } else if (value->kind == EV_TUPLE && (list ? only != NULL : !value->list)) {
            for (int k = 0; k < value->count; k++)
                module_hold_next(build, module, &value->items[k]);
        } else {
            module_hold_next(build, module, value);
        }
    }
}

void module_hold_values(struct builder *build, struct module *module, const struct call *call)
{
    module_hold_in(build, module, module->layer, call);
}

void module_hold_later(struct builder *build, const struct ev *container, const struct ev *item)
{
    struct arena *arena = &build->cx->arena;
    struct call *call = &container->made->call;
    const bool list = strcmp(container->text, "ModuleList") == 0 ||
                      strcmp(container->text, "ParameterList") == 0;
    struct ev *items = NULL;
    const char **names = NULL;
    struct loc *locs = NULL;
    int count = 0, name_count = 0, loc_count = 0;

    for (int i = 0; i < call->count; i++) { /* taken apart, as *xs */
        const struct ev *value = &call->args[i];
        const bool several = list && value->kind == EV_TUPLE;

        for (int k = 0; k < (several ? value->count : 1); k++)
            ARENA_PUSH(arena, items, count, several ? value->items[k] : *value);
    }
    ARENA_PUSH(arena, items, count, *item);
    if (list) {
        struct ev all = ev_tuple(&build->eval, item->loc, items, count);

        items = NULL;
        count = 0;
        ARENA_PUSH(arena, items, count, all);
    }
    for (int i = 0; i < count; i++) {
        ARENA_PUSH(arena, names, name_count, NULL);
        ARENA_PUSH(arena, locs, loc_count, items[i].loc);
    }
    call->args = items;
    call->names = names;
    call->locs = locs;
    call->count = count;
}

void module_hold_pair(struct builder *build, const struct ev *container, const struct call *pair)
{
    struct arena *arena = &build->cx->arena;
    struct call *call = &container->made->call;
    const struct ev *held = call->count == 1 && call->args[0].kind == EV_DICT ? &call->args[0] : NULL;
    const char **keys = NULL;
    struct ev *items = NULL, dict;
    int count = 0, key_count = 0;

    if (pair->count != 2 || pair->args[0].kind != EV_STRING || (call->count > 0 && !held)) {
        diag_error(build->cx, pair->loc,
                   "add_module takes a name and a module, of what holds modules by names");
        return;
    }
    for (int i = 0; held && i < held->count; i++) {
        ARENA_PUSH(arena, keys, key_count, held->fields[i]);
        ARENA_PUSH(arena, items, count, held->items[i]);
    }
    ARENA_PUSH(arena, keys, key_count, pair->args[0].text);
    ARENA_PUSH(arena, items, count, pair->args[1]);
    dict = ev_frozen(&build->eval, ev_dict(&build->eval, pair->loc, keys, items, count));
    call->args = ARENA_ARRAY(arena, 1, struct ev);
    call->args[0] = dict;
    call->names = ARENA_ARRAY(arena, 1, const char *);
    call->locs = ARENA_ARRAY(arena, 1, struct loc);
    call->count = 1;
}

const char *module_parameters_repr(struct builder *build, const struct module *module)
{
    struct text text = text_new(&build->cx->arena);

    for (int i = 0; i < module->tensor_count; i++) {
        const struct module_tensor *tensor = module->tensors[i];

        text_printf(&text, "%s  (%s): Parameter containing: [torch.%s of size ", i ? "\n" : "", tensor->name,
                    module->layer->container == LAYER_PARAMETER_LIST ? dtype_rows[tensor->dtype].name
                    : tensor->dtype == DTYPE_FLOAT64                 ? "DoubleTensor"
                                                                     : "FloatTensor");
        for (int d = 0; d < tensor->ndim; d++)
            text_printf(&text, "%s%lld", d ? "x" : "", (long long)tensor->dims[d]);
        text_add(&text, "]");
    }
    return text.data;
}

/* ---- lists and repetitions ---- */

static const char *number_name(struct builder *build, int number)
{
    return arena_format(&build->cx->arena, "%d", number);
}

/* The next of a list. */
static void build_item(struct builder *build, struct module *parent, struct scope *scope,
                       const struct spec_module *spec, const struct expr *expr, bool array)
{
    const char *name = number_name(build, module_holds_parameters(parent) ? parent->tensor_count
                                                                          : parent->child_count);

    if (module_holds_parameters(parent))
        add_parameter(build, parent, name, expr->loc, eval_expr(&build->eval, scope, expr));
    else if (!module_build_set(build, parent, name))
        module_build_call(build, parent, name, scope, spec, expr)->array = array;
}

static void build_repeat(struct builder *build, struct module *parent, struct scope *scope,
                         const struct spec_module *spec, const struct expr *expr)
{
    struct ev times = eval_expr(&build->eval, scope, expr->a);
    int64_t count = 0;

    if (times.kind != EV_BAD && (!ev_get_int(&times, &count) || count < 0 || count > MAX_REPEAT)) {
        diag_error(build->cx, expr->a->loc, "the number of modules must be an integer from 0 to %d, found %s",
                   MAX_REPEAT, ev_text(&build->eval, &times));
        times.kind = EV_BAD;
    }
    if (times.kind == EV_BAD)
        parent->faulty = true;
    for (int64_t i = 0; i < count && times.kind != EV_BAD && module_fits_limits(build, expr->loc); i++)
        build_item(build, parent, scope, spec, expr->b, true);
}

/* The names of a rule take the parts of one item of its sequence. */
static bool bind_names(struct builder *build, struct scope *scope, const struct expr *rule,
                       const struct expr *target, const struct ev *item)
{
    if (target->kind == EXPR_NAME) {
        scope_bind(&build->eval, scope, target->text, *item);
        return true;
    }
    if (item->kind != EV_TUPLE || item->count != target->count) {
        diag_error(build->cx, rule->b->loc, "%s cannot be taken apart into %d name%s",
                   ev_text(&build->eval, item), target->count, target->count == 1 ? "" : "s");
        return false;
    }
    for (int i = 0; i < target->count; i++)
        if (!bind_names(build, scope, rule, target->items[i], &item->items[i]))
            return false;
    return true;
}

static void build_for(struct builder *build, struct module *parent, struct scope *scope,
                      const struct spec_module *spec, const struct expr *expr)
{
    struct ev sequence = eval_expr(&build->eval, scope, expr->b);

    if (sequence.kind != EV_BAD && sequence.kind != EV_TUPLE)
        diag_error(build->cx, expr->b->loc, "'for' takes a tuple or list, found %s",
                   ev_text(&build->eval, &sequence));
    if (sequence.kind != EV_TUPLE)
        parent->faulty = true;
    for (int i = 0; sequence.kind == EV_TUPLE && i < sequence.count && module_fits_limits(build, expr->loc);
         i++) {
        struct scope *own = ARENA_NEW(&build->cx->arena, struct scope);

        own->outer = scope;
        if (!bind_names(build, own, expr, expr->c, &sequence.items[i])) {
            parent->faulty = true;
            return;
        }
        build_item(build, parent, own, spec, expr->a, false);
    }
}

/* *layers, and rules with conditions. */
static void build_several(struct builder *build, struct module *parent, struct scope *scope,
                          const struct expr *expr)
{
    struct ev *items = NULL;
    int count = 0;

    if (!eval_several(&build->eval, scope, expr, &items, &count))
        parent->faulty = true;
    if (count == 1 && expr->kind == EXPR_FOR) { /* of which the value is one tuple */
        count = items[0].kind == EV_TUPLE ? items[0].count : 0;
        items = items[0].items;
    }
    for (int i = 0; i < count && module_fits_limits(build, expr->loc); i++)
        module_hold_next(build, parent, &items[i]);
}

void module_build_items(struct builder *build, struct module *parent, struct scope *scope,
                        const struct spec_module *spec)
{
    for (int i = 0; i < spec->count; i++) {
        const struct spec_module *item = spec->children[i];

        if (item->kind == SPEC_MODULE_CALL && item->call->kind == EXPR_REPEAT)
            build_repeat(build, parent, scope, item, item->call);
        else if (item->kind == SPEC_MODULE_CALL &&
                 (item->call->kind == EXPR_STAR ||
                  (item->call->kind == EXPR_FOR && (item->call->count > 0 || item->call->tuple))))
            build_several(build, parent, scope, item->call);
        else if (item->kind == SPEC_MODULE_CALL && item->call->kind == EXPR_FOR)
            build_for(build, parent, scope, item, item->call);
        else if (module_holds_parameters(parent))
            build_item(build, parent, scope, item, item->call, false);
        else
            module_build_place(build, parent, number_name(build, parent->child_count), scope, item);
    }
}
