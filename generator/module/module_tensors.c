/* module_tensors.c - parameters, buffers and states of a module, from a row of the layer table or from a class of the spec:
 * shape, dtype, value. */
#include "module/module_builder.h"

#include <assert.h>
#include <string.h>

/* What dtype= says to the constructor, or to that of a layer whose part it is; else the model's. */
static enum dtype tensor_dtype(const struct builder *build, const struct module *module)
{
    for (; module && module->layer; module = module->parent)
        if (module->typed)
            return module->dtype;
    return build->tree->complex ? dtype_of_parts(build->tree->dtype) : build->tree->dtype;
}

struct module_tensor *module_add_tensor(struct builder *build, struct module *module,
                                        enum module_tensor_kind kind, const char *name, struct loc loc)
{
    struct module_tensor *tensor = ARENA_NEW(&build->cx->arena, struct module_tensor);

    tensor->kind = kind;
    tensor->name = name;
    tensor->path = module->path[0] ? arena_format(&build->cx->arena, "%s.%s", module->path, name) : name;
    tensor->loc = loc;
    tensor->owner = module;
    tensor->dtype = tensor_dtype(build, module);
    tensor->persistent = kind != MODULE_STATE;
    tensor->requires_grad = kind == MODULE_PARAMETER;
    tensor->key = tensor->zero_row = -1;
    tensor->first = tensor;
    ARENA_PUSH(&build->cx->arena, module->tensors, module->tensor_count, tensor);
    for (int i = module->tensor_index.count;
         module->tensor_count >= NAMES_INDEXED_FROM && i < module->tensor_count; i++)
        names_add(&build->cx->arena, &module->tensor_index, module->tensors[i]->name, "", loc);
    return tensor;
}

struct module_tensor *module_add_cache(struct cx *cx, struct module_tree *tree, struct module *module,
                                       const char *name, enum module_cache kind, const struct value *like,
                                       int64_t rows, struct loc loc)
{
    struct builder build = {.cx = cx, .tree = tree};
    struct module_tensor *tensor = module_add_tensor(&build, module, MODULE_STATE, name, loc);

    tensor->dtype = like->dtype;
    tensor->cache = kind;
    tensor->ndim = like->ndim;
    for (int i = 0; i < like->ndim; i++) {
        tensor->dims[i] = i == 0 ? rows : dim_upper(like->dims[i]);
        tensor->shape[i] = dim_const(&cx->arena, tensor->dims[i]);
    }
    return tensor;
}

/* Dimensions from a tuple of integers, or from one integer. */
bool module_set_shape(struct builder *build, struct module_tensor *tensor, const struct ev *shape)
{
    const struct ev *items = shape->kind == EV_TUPLE ? shape->items : shape;
    int count = shape->kind == EV_TUPLE ? shape->count : 1;
    const int pair = dtype_is_complex(tensor->dtype); /* graphs have one more: the parts */
    int64_t elements = 1;

    if (shape->kind == EV_BAD)
        return false;
    if (count > MAX_DIMS - pair) {
        diag_error(build->cx, shape->loc, "'%s' has more than %d dimensions", tensor->path, MAX_DIMS - pair);
        return false;
    }
    for (int i = 0; i < count; i++) {
        int64_t extent;

        if (!ev_get_int(&items[i], &extent)) {
            diag_error(build->cx, items[i].loc, "a dimension must be an integer, found %s",
                       ev_text(&build->eval, &items[i]));
            eval_hint_integer(&build->eval, &items[i]);
            return false;
        }
        if (extent < 0 || extent > INT32_MAX) {
            diag_error(build->cx, items[i].loc, "'%s' has a dimension that is %s: %lld", tensor->path,
                       extent < 0 ? "negative" : "larger than 2**31 - 1", (long long)extent);
            return false;
        }
        if (__builtin_mul_overflow(elements, extent > 0 ? extent : 1, &elements) || elements > (int64_t)1
                                                                                                   << 40) {
            diag_error(build->cx, shape->loc, "'%s' has more than 2**40 elements: its shape is %s",
                       tensor->path, ev_text(&build->eval, shape));
            return false;
        }
        tensor->dims[i] = extent;
        tensor->shape[i] = dim_const(&build->cx->arena, extent);
    }
    tensor->ndim = count;
    return true;
}

/* What `cast` makes of a value: a tensor of that type, or of another one; complex where either is. */
static struct ev as_dtype(struct builder *build, const struct module_tensor *tensor, struct ev value)
{
    struct eval *eval = &build->eval;
    const enum dtype part = dtype_part(tensor->dtype);

    if (dtype_is_complex(tensor->dtype))
        return ev_complex(value.loc, eval_pairs(eval, value.loc, &value, part));
    if (value.kind == EV_TENSOR)
        return ev_tensor(value.loc, build_cast(eval, value.loc, value.tensor, tensor->dtype));
    diag_error(build->cx, value.loc, "the value of '%s' is complex, and its dtype is %s", tensor->path,
               dtype_rows[tensor->dtype].name);
    return ev_bad(value.loc);
}

bool module_set_value(struct builder *build, struct module_tensor *tensor, struct ev value, bool cast)
{
    enum dtype dtype = dtype_part(tensor->dtype);

    if (value.kind == EV_BAD)
        return false;
    if (value.kind == EV_COMPLEX && value.integer) /* a number of Python */
        value = ev_complex(value.loc,
                           build_cast(&build->eval, value.loc, value.tensor, build->eval.default_dtype));
    if (value.kind != EV_TENSOR &&
        value.kind != EV_COMPLEX) { /* a number, or a list, which stands for a tensor */
        struct ev made = build_tensor(&build->eval, value.loc, &value, cast ? &dtype : NULL);

        value = made.kind == EV_NONE ? value : made;
    }
    if ((value.kind != EV_TENSOR && value.kind != EV_COMPLEX) || !value.tensor->constant) {
        diag_error(build->cx, value.loc,
                   "the value of '%s' must be a tensor that is known while generating, found %s",
                   tensor->path, ev_kind_text(&value));
        if (value.kind == EV_TENSOR || value.kind == EV_COMPLEX)
            diag_hint(
                build->cx,
                "what begins with draws is an nn.Parameter; what is made of one is computed in forward");
        if (value.kind == EV_TUPLE)
            diag_hint(build->cx, "lists of numbers that are all of one length make one");
        return false;
    }
    if (cast)
        value = as_dtype(build, tensor, value);
    if (value.kind == EV_BAD)
        return false;
    tensor->init = INIT_VALUE;
    tensor->value = value.tensor->constant;
    tensor->computed = build->eval.graph ? value.tensor : NULL;
    tensor->dtype = value.kind == EV_COMPLEX ? dtype_of_parts(value.tensor->dtype) : value.tensor->dtype;
    tensor->ndim = value.tensor->ndim - (value.kind == EV_COMPLEX);
    for (int i = 0; i < tensor->ndim; i++) {
        tensor->dims[i] = tensor->value->dims[i];
        tensor->shape[i] = value.tensor->dims[i];
    }
    return true;
}

/* A value has its own shape: what the spec says besides is checked. */
static bool has_shape(struct builder *build, struct scope *scope, const struct module_tensor *tensor,
                      const struct expr *expr)
{
    struct module_tensor wanted = {.path = tensor->path};
    struct ev shape = eval_expr(&build->eval, scope, expr);

    if (!module_set_shape(build, &wanted, &shape))
        return false;
    if (wanted.ndim == tensor->ndim &&
        memcmp(wanted.dims, tensor->dims, sizeof wanted.dims[0] * (size_t)wanted.ndim) == 0)
        return true;
    diag_error(build->cx, expr->loc, "'%s' is to have shape %s, and its value has %s", tensor->path,
               shape_text(&build->cx->arena, wanted.ndim, wanted.shape),
               shape_text(&build->cx->arena, tensor->ndim, tensor->shape));
    if (tensor->ndim == 0)
        diag_hint(build->cx, "one number for all elements is written init: constant_(0.5)");
    return false;
}

/* "a, b" as a tuple; "" as the empty one. */
static struct ev shape_of_text(struct builder *build, struct scope *scope, const char *text)
{
    struct arena *arena = &build->cx->arena;

    if (text[0] == '*') /* *normalized_shape */
        return eval_text(&build->eval, scope, text + 1);
    return eval_text(&build->eval, scope, text[0] ? arena_format(arena, "(%s,)", text) : "()");
}

bool module_add_row_tensor(struct builder *build, struct module *module, struct scope *scope,
                           const struct layer_tensor *row, enum module_tensor_kind kind)
{
    const char *name = eval_fill(&build->eval, scope, row->name);
    struct module_tensor *tensor = module_add_tensor(build, module, kind, name, module->loc);
    bool present = true;

    tensor->optional = row->optional;
    if (row->dtype)
        dtype_find(row->dtype, &tensor->dtype);
    if (row->when) {
        struct ev when = eval_text(&build->eval, scope, row->when);

        if (!ev_get_bool(&when, &present))
            present = false;
    }
    tensor->none = !present;
    if (!present)
        return true;
    if (row->value) {
        tensor->faulty = !module_set_value(build, tensor, eval_text(&build->eval, scope, row->value), false);
        return !tensor->faulty;
    }

    struct ev shape = shape_of_text(build, scope, row->shape);

    tensor->faulty = !module_set_shape(build, tensor, &shape) ||
                     (row->with && eval_body(&build->eval, scope, row->with).kind == EV_BAD);
    if (tensor->faulty)
        return false;

    struct source *source = ARENA_NEW(&build->cx->arena, struct source);

    *source = (struct source){.name = "<init>", .text = row->init, .length = strlen(row->init)};
    module_set_init(build, scope, tensor, expr_parse(build->cx, source, 0, source->length));
    if (row->zero_row) {
        struct ev at = eval_text(&build->eval, scope, row->zero_row);

        if (ev_get_int(&at, &tensor->zero_row) && tensor->zero_row < 0)
            tensor->zero_row += tensor->dims[0];
    }
    return true;
}

/* Is self.NAME, or a part of it, one of the targets? */
static void add_written(struct arena *arena, struct names *written, const struct expr *target)
{
    switch (target->kind) {
    case EXPR_TUPLE:
    case EXPR_LIST:
        for (int i = 0; i < target->count; i++)
            add_written(arena, written, target->items[i]);
        return;
    case EXPR_INDEX:
        add_written(arena, written, target->a);
        return;
    case EXPR_ATTR:
        if (target->a->kind == EXPR_NAME && strcmp(target->a->text, "self") == 0)
            names_add(arena, written, target->text, target->text, target->loc);
        return;
    default:
        return;
    }
}

static void add_all_written(struct arena *arena, struct names *written, struct stmt *const *statements,
                            int count)
{
    for (int i = 0; i < count; i++) {
        const struct stmt *stmt = statements[i];

        for (int k = 0; k < stmt->target_count; k++)
            add_written(arena, written, stmt->targets[k]);
        for (int k = 0; k < stmt->block_count; k++)
            add_all_written(arena, written, stmt->blocks[k].list, stmt->blocks[k].count);
    }
}

/* What the statements of a class write. */
static void add_class_written(struct builder *build, const struct spec_class *class, bool root,
                              struct names *written)
{
    const struct spec *spec = build->tree->spec;
    struct arena *arena = &build->cx->arena;

    if (class->forward)
        add_all_written(arena, written, class->forward->statements, class->forward->count);
    for (int i = 0; i < class->method_count; i++)
        add_all_written(arena, written, class->methods[i]->statements, class->methods[i]->count);
    for (int i = 0; root && i < spec->entry_count; i++)
        add_all_written(arena, written, spec->entries[i]->statements, spec->entries[i]->count);
}

static bool set_spec_dtype(struct builder *build, struct module_tensor *tensor,
                           const struct spec_tensor *spec)
{
    struct ev dtype;

    if (!spec->dtype)
        return true;
    dtype = eval_stored_dtype(&build->eval, spec->dtype);
    tensor->dtype = dtype.kind == EV_DTYPE ? dtype.dtype : tensor->dtype;
    return dtype.kind == EV_DTYPE;
}

bool module_may_require_grad(struct builder *build, const struct module_tensor *tensor, struct loc loc)
{
    if (!tensor->requires_grad || dtype_is_float(dtype_part(tensor->dtype)))
        return true;
    diag_error(build->cx, loc, "only floating and complex tensors can require gradients; '%s' is %s",
               tensor->path, dtype_rows[tensor->dtype].name);
    return false;
}

bool module_writes(struct builder *build, const struct module *module, const char *name)
{
    const struct spec_class *class = module->spec_class;
    struct names written = {0};

    add_class_written(build, class, !module->parent, &written);
    return names_find(&written, name) != NULL;
}

static void add_spec_tensor(struct builder *build, struct module *module, const struct spec_tensor *spec,
                            bool written)
{
    struct scope *scope = module_argument_scope(
        build, module, spec->kind == SPEC_PARAMETER ? module_find_fixed : module_find_maximum);
    enum module_tensor_kind kind = spec->kind == SPEC_PARAMETER ? MODULE_PARAMETER
                                   : spec->kind == SPEC_BUFFER  ? MODULE_BUFFER
                                                                : MODULE_STATE;
    struct module_tensor *tensor = module_add_tensor(build, module, kind, spec->name, spec->loc);

    tensor->persistent = kind != MODULE_STATE && spec->persistent;
    tensor->requires_grad = kind == MODULE_PARAMETER && spec->requires_grad;
    tensor->written = written;
    if (!set_spec_dtype(build, tensor, spec) || (spec->shape && spec->shape->kind == EXPR_BAD)) {
        tensor->faulty = true;
    } else if (spec->value) {
        tensor->faulty = !module_set_value(build, tensor, eval_expr(&build->eval, scope, spec->value),
                                           spec->dtype != NULL) ||
                         (spec->shape && !has_shape(build, scope, tensor, spec->shape));
    } else {
        struct ev shape = eval_expr(&build->eval, scope, spec->shape);

        tensor->faulty = !module_set_shape(build, tensor, &shape);
        if (!tensor->faulty && spec->init)
            module_set_init(build, scope, tensor, spec->init);
    }
    if (!tensor->faulty &&
        !module_may_require_grad(build, tensor, spec->dtype ? spec->dtype->loc : spec->loc))
        diag_hint(build->cx, "declare it under 'buffers:', or write requires_grad: false");
    tensor->is_constant = kind == MODULE_BUFFER && !tensor->persistent && tensor->value && !tensor->written;
}

void module_add_spec_tensors(struct builder *build, struct module *module)
{
    static const enum spec_tensor_kind kinds[] = {SPEC_PARAMETER, SPEC_BUFFER, SPEC_STATE};
    const struct spec_class *class = module->spec_class;
    struct names written = {0};

    if (class->tensor_count > 0)
        add_class_written(build, class, !module->parent, &written);
    for (int k = 0; k < COUNT(kinds); k++)
        for (int i = 0; i < class->tensor_count; i++)
            if (class->tensors[i]->kind == kinds[k])
                add_spec_tensor(build, module, class->tensors[i],
                                names_find(&written, class->tensors[i]->name) != NULL);
}
