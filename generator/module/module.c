/* module.c - expands a spec into the tree of modules, with checked arguments and the shapes of all tensors, and numbers what
 * came out. Apart from lowering, because what a module has does not depend on how it is called. How its parts are built is
 * said in module_build.c and the files beside it. */
#include "module/module.h"

#include <string.h>

#include "base/backend.h"
#include "graph/graph.h"
#include "module/module_builder.h"
#include "module/module_paths.h"

/* ---- lookup ---- */

const char *module_extra_repr(const struct module *module)
{
    return module->extra_repr ? module->extra_repr : "";
}

/* ---- constants and sizes ---- */

int module_limit_sizes(struct arena *arena, const struct module_tree *tree, struct size *sizes)
{
    struct size_limits *limits = ARENA_NEW(arena, struct size_limits);

    for (int i = 0; i < tree->size_count; i++) {
        sizes[i].limits = NULL;
        sizes[i].min = 0;
    }
    for (int i = 0; i < tree->requirement_count; i++)
        ARENA_PUSH(arena, limits->gaps, limits->count, dim_over(arena, tree->requirements[i].gap, sizes));
    for (int i = 0; i < tree->size_count; i++)
        sizes[i].limits = limits->count > 0 ? limits : NULL;
    for (int i = 0; i < tree->size_count; i++)
        sizes[i].min = dim_lower(dim_size(arena, &sizes[i]));
    for (int i = 0; i < limits->count; i++)
        if (dim_upper(limits->gaps[i]) < 0 || dim_upper(dim_over(arena, limits->gaps[i], sizes)) < 0)
            return i;
    return -1;
}

/* One side of a requirement: an integer over sizes that fits 32 bits, or else 64 without a division. NULL after a fault. */
static const struct dim *requirement_side(struct builder *build, struct scope *scope, const struct expr *expr)
{
    struct ev value = eval_expr(&build->eval, scope, expr);

    if (value.kind == EV_BAD)
        return NULL;
    if (value.kind != EV_INT) {
        diag_error(build->cx, expr->loc, "a requirement compares integers over sizes, found %s",
                   ev_kind_text(&value));
        return NULL;
    }
    if (!dim_fits(value.dim, INT64_MAX - 1) ||
        (!dim_fits(value.dim, INT32_MAX) && !dim_is_polynomial(value.dim))) {
        diag_error(build->cx, expr->loc, "%s may be too large to be compared at the maxima of its sizes",
                   dim_text(&build->cx->arena, value.dim));
        return NULL;
    }
    return value.dim;
}

static void read_requirement(struct builder *build, struct scope *scope, const struct spec_requirement *spec)
{
    struct arena *arena = &build->cx->arena;
    struct module_tree *tree = build->tree;
    struct requirement requirement = {.loc = spec->loc,
                                      .op = expr_op_text(spec->op),
                                      .left = requirement_side(build, scope, spec->left),
                                      .right = requirement_side(build, scope, spec->right)};
    bool less = spec->op == OP_LT || spec->op == OP_LE, strict = spec->op == OP_LT || spec->op == OP_GT;

    if (!requirement.left || !requirement.right)
        return;
    requirement.gap = less ? dim_sub(arena, requirement.right, requirement.left)
                           : dim_sub(arena, requirement.left, requirement.right);
    if (strict)
        requirement.gap = dim_sub(arena, requirement.gap, dim_const(arena, 1));
    if (dim_is_const(requirement.gap, NULL)) {
        diag_error(build->cx, spec->loc, "no size decides whether this requirement is met");
        diag_hint(build->cx, "leave it out; sizes are those that are declared above");
        return;
    }
    ARENA_PUSH(arena, tree->requirements, tree->requirement_count, requirement);
}

static void read_requirements(struct builder *build)
{
    struct module_tree *tree = build->tree;
    const struct spec *spec = tree->spec;
    struct scope *scope = module_global_scope(&build->eval, tree, true);
    int unmet;

    for (int i = 0; i < spec->requirement_count; i++)
        read_requirement(build, scope, &spec->requirements[i]);
    unmet = module_limit_sizes(&build->cx->arena, tree, tree->sizes);
    if (unmet < 0)
        return;
    diag_error(build->cx, tree->requirements[unmet].loc, "no sizes meet %s%s",
               requirement_text(&build->cx->arena, &tree->requirements[unmet]),
               tree->requirement_count > 1 ? ", beside the other requirements" : "");
    tree->requirement_count = 0;
    module_limit_sizes(&build->cx->arena, tree, tree->sizes);
}

static void read_sizes(struct builder *build)
{
    const struct spec *spec = build->tree->spec;
    struct module_tree *tree = build->tree;
    struct scope *scope = module_spec_scope(&build->eval, tree, module_find_fixed);

    for (int i = 0; i < spec->constant_count; i++) {
        struct ev value = eval_expr(&build->eval, scope, spec->constants[i].value);

        ARENA_PUSH(&build->cx->arena, tree->constants, tree->constant_count,
                   ((struct binding){spec->constants[i].name, value}));
    }
    tree->sizes = ARENA_ARRAY(&build->cx->arena, spec->size_count + 1, struct size);
    for (int i = 0; i < spec->size_count; i++) {
        struct ev max = eval_expr(&build->eval, scope, spec->sizes[i].max);
        int64_t value = 1;

        if (max.kind != EV_BAD && (!ev_get_int(&max, &value) || value < 1 || value > 1 << 30)) {
            diag_error(build->cx, spec->sizes[i].max->loc,
                       "the maximum of '%s' must be an integer from 1 to 2**30, found %s",
                       spec->sizes[i].name, ev_text(&build->eval, &max));
            value = 1;
        }
        tree->sizes[i] = (struct size){.name = spec->sizes[i].name,
                                       .c_name = emitted_size(build->cx, spec->sizes[i].name),
                                       .max = value,
                                       .index = i};
    }
    tree->size_count = spec->size_count;
    read_requirements(build);
    tree->sizes_used = ARENA_ARRAY(&build->cx->arena, spec->size_count + 1, bool);
}

/* ---- dtypes and devices ---- */

static enum dtype variant_dtype(const struct spec *spec, int variant)
{
    enum dtype dtype = DTYPE_FLOAT32;

    dtype_find(spec_variant_dtype(spec, variant), &dtype);
    return dtype;
}

/* ---- numbers and order ---- */

static void number_modules(struct builder *build, struct module *module)
{
    struct module_tree *tree = build->tree;
    struct arena *arena = &build->cx->arena;

    module->index = tree->module_count;
    ARENA_PUSH(arena, tree->modules, tree->module_count, module);
    module_mark_array(module);
    for (int i = 0; i < module->child_count; i++)
        number_modules(build, module->children[i]);
    module->subtree = tree->module_count - module->index - 1;
}

static void number_tensors(struct builder *build, struct module *module)
{
    struct module_tree *tree = build->tree;
    struct arena *arena = &build->cx->arena;

    for (enum module_tensor_kind kind = MODULE_PARAMETER; kind <= MODULE_BUFFER; kind++) {
        for (int i = 0; i < module->tensor_count; i++) {
            struct module_tensor *tensor = module->tensors[i];

            if (tensor->none || tensor->is_constant || tensor->kind != kind)
                continue;
            tensor->key = tree->key_count;
            ARENA_PUSH(arena, tree->keys, tree->key_count, tensor);
        }
    }
    for (int i = 0; i < module->tensor_count; i++) {
        struct module_tensor *tensor = module->tensors[i];

        if (tensor->kind != MODULE_STATE)
            continue;
        tensor->key = tree->state_count;
        ARENA_PUSH(arena, tree->states, tree->state_count, tensor);
    }
    for (int i = 0; i < module->child_count; i++)
        number_tensors(build, module->children[i]);
    module_complete_signature(build, module);
}

/* ---- the whole ---- */

struct module *module_criterion(struct cx *cx, struct module_tree *tree)
{
    struct builder building = {.cx = cx, .tree = tree, .step = -1}, *build = &building;
    const struct spec_training *training = tree->spec->training;
    const struct spec_module place = {.loc = training->loss_loc};
    struct module *nothing, *module;

    build->eval = (struct eval){
        .cx = cx, .default_dtype = tree->dtype, .partial = tree->spec->partial, .building = &module_building};
    module_find_changes(build);
    nothing = module_new(build, NULL, "", training->loss_loc);
    module = module_build_call(build, nothing, "(loss)",
                               module_spec_scope(&build->eval, tree, module_find_fixed), &place,
                               training->criterion);

    if (module->faulty)
        return module;
    for (int i = 0; i < module->tensor_count; i++) {
        struct module_tensor *tensor = module->tensors[i];

        tensor->first = tensor;
        tensor->is_constant = tensor->kind == MODULE_BUFFER && tensor->value;
        module->faulty |= !tensor->none && !tensor->is_constant;
    }
    if (!module->layer || module->layer->container != LAYER_PLAIN || module->child_count > 0)
        module->faulty = true;
    if (module->faulty) {
        diag_error(cx, training->criterion->loc, "%s is not a loss of an output and a target",
                   module->class_name);
        diag_hint(cx, "write statements, which may call modules of the model");
    }
    return module;
}

/* "policy", "policy_float64", "policy_cuda", "policy_float64_cuda". */
static const char *variant_name(struct cx *cx, const struct spec *spec, int variant)
{
    const char *name = spec->model;

    if (variant % spec->dtype_count > 0)
        name = arena_format(&cx->arena, "%s_%s", name, spec_variant_dtype(spec, variant));
    if (variant / spec->dtype_count > 0)
        name = arena_format(&cx->arena, "%s_%s", name, spec_variant_device(spec, variant));
    return name;
}

/* What errors of a further variant are said with. */
static void note_variant(struct cx *cx, const struct spec *spec, int variant)
{
    const int dtype = variant % spec->dtype_count, device = variant / spec->dtype_count;

    cx->variant.loc = device > 0 ? spec->device_locs[device] : spec->dtype_locs[dtype];
    cx->variant.text = device > 0 ? arena_format(&cx->arena, "in the variant for the device %s",
                                                 spec->devices[device])
                       : dtype > 0
                           ? arena_format(&cx->arena, "in the variant of dtype %s", spec->dtypes[dtype])
                           : NULL;
}

struct module_tree *module_build(struct cx *cx, struct spec *spec, int variant)
{
    struct module_tree *tree = ARENA_NEW(&cx->arena, struct module_tree);
    struct builder build = {.cx = cx, .tree = tree};
    enum dtype dtype;

    tree->spec = spec;
    tree->variant = variant;
    tree->name = variant_name(cx, spec, variant);
    dtype = variant_dtype(spec, variant);
    tree->dtype = dtype_part(dtype);
    tree->complex = dtype_is_complex(dtype);
    note_variant(cx, spec, variant);
    build.eval.cx = cx;
    build.eval.default_dtype = tree->dtype;
    build.eval.partial = spec->partial;
    build.eval.building = &module_building;
    build.eval.module_scope = module_init_scope;
    build.eval.class_attribute = module_build_class_attribute;
    build.eval.graph = graph_of_tree(cx);
    module_find_changes(&build);
    module_check_class_names(cx, spec);
    read_sizes(&build);
    tree->root = module_new(&build, NULL, "", spec->root.loc);
    module_build_class(&build, tree->root, &spec->root, NULL);
    if (!tree->root->layer && strcmp(tree->root->class_name, "Sequential") != 0)
        tree->root->class_name = spec->model;
    module_settle(&build);
    number_modules(&build, tree->root);
    module_check_changes(&build);
    tree->partial = spec->partial;
    for (int i = 0; i < tree->module_count; i++) {
        tree->partial |= tree->modules[i]->faulty;
        for (int j = 0; j < tree->modules[i]->tensor_count; j++)
            tree->partial |= tree->modules[i]->tensors[j]->faulty;
    }
    module_name_constants(&build);
    module_fix_modes(cx, tree);
    if (tree->lazy_count == 0 && !spec->generation)
        module_finish(cx, tree);
    if (variant == 0)
        module_check_variant_names(cx, tree);
    return tree;
}

static void count_instances(struct cx *cx, struct module_tree *tree)
{
    struct names signatures = {0};
    int *counts = ARENA_ARRAY(&cx->arena, tree->module_count + 1, int);

    for (int i = 1; i < tree->module_count; i++) { /* behind the root */
        const char *signature = tree->modules[i]->signature;
        const struct name_entry *known;

        if (!signature)
            continue;
        known = names_add(&cx->arena, &signatures, signature, "", tree->modules[i]->loc);
        counts[known ? known->index : signatures.count - 1]++;
    }
    for (int i = 1; i < tree->module_count; i++)
        if (tree->modules[i]->signature)
            tree->modules[i]->instances = counts[names_find(&signatures, tree->modules[i]->signature)->index];
}

void module_finish(struct cx *cx, struct module_tree *tree)
{
    struct builder build = {.cx = cx, .tree = tree, .eval = {.cx = cx, .default_dtype = tree->dtype}};

    for (int i = 0; i < tree->lazy_count; i++)
        tree->partial |= tree->lazy[i]->faulty || !tree->lazy[i]->resolved;
    number_tensors(&build, tree->root);
    count_instances(cx, tree);
    module_apply_paths(cx, tree);
    module_order_draws(&build);
}
