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
                          struct scope *scope, const struct expr *expr)
{
    struct module_tensor *tensor = module_add_tensor(build, module, MODULE_PARAMETER, name, loc);
    struct ev value = eval_expr(&build->eval, scope, expr);

    tensor->faulty = true;
    if (value.kind != EV_TENSOR && value.kind != EV_TUPLE) {
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
            add_parameter(build, module, entries[i].name, entries[i].loc, scope, entries[i].item);
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
        add_parameter(build, parent, name, expr->loc, scope, expr);
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

void module_build_items(struct builder *build, struct module *parent, struct scope *scope,
                        const struct spec_module *spec)
{
    for (int i = 0; i < spec->count; i++) {
        const struct spec_module *item = spec->children[i];

        if (item->kind == SPEC_MODULE_CALL && item->call->kind == EXPR_REPEAT)
            build_repeat(build, parent, scope, item, item->call);
        else if (item->kind == SPEC_MODULE_CALL && item->call->kind == EXPR_FOR)
            build_for(build, parent, scope, item, item->call);
        else if (module_holds_parameters(parent))
            build_item(build, parent, scope, item, item->call, false);
        else
            module_build_place(build, parent, number_name(build, parent->child_count), scope, item);
    }
}
