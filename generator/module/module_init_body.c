/* module_init_body.c - classes with an __init__ of their own. Apart from module_build.c, where `modules:` and its like say what a class
 * is made of.
 *
 * note [__init__]
 * Its statements run while the tree is built, over what is known then; modules are values until they have a place (note [made
 * modules] in module_made.c). What `self.NAME = value` is depends on the value: a module is a child, an nn.Parameter a
 * parameter, a tensor a constant buffer, all else a constant of the instance. What changes initial values behind that
 * (nn.init.NAME_, self.apply, x.data.NAME_) is drawn in its turn.
 *
 * note [tensors of __init__]
 * The tree is built in a graph of its own, so that what changes in place does so under all its names: locals, items of lists,
 * attributes, parameters and buffers. A tensor of the tree is a value there (`computed`); when the tree is whole, what that
 * has become is what the tensor begins with (module_settle). One that is drawn is a value without elements: its shape is known,
 * and a change of it by other means than torch.nn.init's is left out, with a warning. */
#include "module/module_builder.h"

#include <string.h>

#include "graph/graph.h"

#define PARAMETER "Parameter"

static struct builder *builder_of(struct eval *eval)
{
    return (struct builder *)eval;
}

/* ---- attributes ---- */

/* Whether a child or tensor of that name, in C, is there; said. */
static bool is_taken(struct builder *build, const struct module *self, const char *name, struct loc loc)
{
    const char *upper = emitted_upper(build->cx, name), *other = NULL;
    struct loc first = loc;

    for (int i = 0; i < self->child_count; i++) {
        if (strcmp(emitted_upper(build->cx, self->children[i]->name), upper) != 0)
            continue;
        other = self->children[i]->name;
        first = self->children[i]->name_loc;
    }
    for (int i = 0; i < self->tensor_count; i++) {
        if (strcmp(emitted_upper(build->cx, self->tensors[i]->name), upper) != 0)
            continue;
        other = self->tensors[i]->name;
        first = self->tensors[i]->loc;
    }
    if (!other)
        return false;
    if (strcmp(other, name) == 0)
        diag_error(build->cx, loc, "'self.%s' is given a second time", name);
    else
        diag_error(build->cx, loc, "'%s' and '%s' give one name in C, %s", other, name, upper);
    diag_note(build->cx, first, "'%s' is defined here", other);
    return true;
}

static void set_constant(struct builder *build, struct module *self, const char *name, struct ev value)
{
    for (int i = 0; i < self->constant_count; i++) {
        if (strcmp(self->constants[i].name, name) != 0)
            continue;
        self->constants[i].value = value;
        return;
    }
    ARENA_PUSH(&build->cx->arena, self->constants, self->constant_count, ((struct binding){name, value}));
}

static void set_buffer(struct builder *build, struct module_tensor *tensor, const struct ev *value)
{
    tensor->none = value->kind == EV_NONE;
    if (!tensor->none)
        tensor->faulty = !module_set_value(build, tensor, *value, false);
    tensor->is_constant = !tensor->persistent && !tensor->none && !tensor->written;
}

static void add_buffer(struct builder *build, struct module *self, const char *name, struct loc loc,
                       const struct ev *value, bool persistent)
{
    struct module_tensor *tensor = module_add_tensor(build, self, MODULE_BUFFER, name, loc);

    tensor->persistent = persistent;
    tensor->written = module_writes(build, self, name);
    set_buffer(build, tensor, value);
}

/* randn(2, 3) * 0.02: which function draws, its arguments, and the factor. NULL: nothing is drawn. */
static const struct expr *find_draw(const struct expr *expr, const struct expr **factor)
{
    *factor = NULL;
    if (expr->kind == EXPR_BINARY && expr->op == OP_MUL) {
        const struct expr *inner, *nothing;

        for (int side = 0; side < 2; side++) {
            inner = find_draw(side ? expr->b : expr->a, &nothing);
            if (!inner || nothing)
                continue;
            *factor = side ? expr->a : expr->b;
            return inner;
        }
        return NULL;
    }
    if (expr->kind != EXPR_CALL || (expr->a->kind != EXPR_NAME && expr->a->kind != EXPR_ATTR))
        return NULL;
    return strcmp(expr->a->text, "randn") == 0 || strcmp(expr->a->text, "rand") == 0 ||
                   strcmp(expr->a->text, "empty") == 0 || strcmp(expr->a->text, "Tensor") == 0
               ? expr
               : NULL;
}

/* nn.Parameter(...), as a value that gets a place like a module does. */
static struct ev make_parameter(struct builder *build, struct scope *scope, const struct expr *expr)
{
    struct ev out = {.kind = EV_CONSTRUCTOR, .loc = expr->loc, .text = PARAMETER, .constructor = expr};
    struct made_module *made = ARENA_NEW(&build->cx->arena, struct made_module);
    const struct expr *factor, *draw = expr->count > 0 ? find_draw(expr->items[0], &factor) : NULL;
    double number = 1;

    made->moment = build->moment++;
    made->call.expr = expr;
    made->call.loc = expr->loc;
    out.made = made;
    if (!draw) {
        module_eval_args(build, scope, expr, NULL, &made->call);
        return out;
    }
    if (factor) {
        struct ev value = eval_expr(&build->eval, scope, factor);

        if (value.kind == EV_BAD)
            return value;
        if (!ev_get_number(&value, &number)) {
            diag_error(build->cx, factor->loc, "a parameter begins with draws times a number, found %s",
                       ev_text(&build->eval, &value));
            return ev_bad(expr->loc);
        }
    }
    module_eval_args(build, scope, draw, NULL, &made->call); /* the shape */
    made->draw = draw->a->text;
    made->factor = number;
    for (int i = 1; i < expr->count; i++)
        if (expr->names[i] && strcmp(expr->names[i], "requires_grad") == 0) {
            struct ev grad = eval_expr(&build->eval, scope, expr->items[i]);

            ev_get_bool(&grad, &made->frozen);
            made->frozen = !made->frozen;
        }
    return out;
}

bool module_is_parameter(const struct ev *value)
{
    return value->kind == EV_CONSTRUCTOR && value->made && strcmp(value->text, PARAMETER) == 0;
}

/* The arguments of what is drawn but for its dtype, which is the tensor's then. False after an error. */
static bool take_dtype(struct builder *build, struct module_tensor *tensor, struct call *call)
{
    struct ev *args = ARENA_ARRAY(&build->cx->arena, call->count + 1, struct ev);
    int count = 0;

    for (int i = 0; i < call->count; i++) {
        const struct ev *dtype = &call->args[i];

        if (!call->names[i] || strcmp(call->names[i], "dtype") != 0) {
            args[count++] = *dtype;
        } else if (dtype->kind == EV_DTYPE || dtype->kind == EV_COMPLEX_DTYPE) {
            tensor->dtype = dtype->kind == EV_DTYPE ? dtype->dtype : dtype_of_parts(dtype->dtype);
        } else {
            if (dtype->kind != EV_BAD)
                diag_error(build->cx, dtype->loc, "a dtype is needed here, found %s",
                           ev_text(&build->eval, dtype));
            return false;
        }
    }
    call->args = args;
    call->count = count;
    return true;
}

void module_add_parameter(struct builder *build, struct module *self, const char *name, struct loc loc,
                          const struct ev *value)
{
    const struct made_module *made = value->made;
    const struct call *call = &made->call;
    struct module_tensor *tensor = module_add_tensor(build, self, MODULE_PARAMETER, name, loc);
    struct call drawn = *call;
    struct ev shape;
    bool grad = !made->frozen;

    tensor->moment = made->moment;
    tensor->requires_grad = grad;
    tensor->faulty = true;
    if (!made->draw) {
        if (call->count == 0 || call->args[0].kind == EV_BAD)
            return;
        for (int i = 1; i < call->count; i++)
            ev_get_bool(&call->args[i], &grad);
        tensor->requires_grad = grad;
        tensor->faulty = !module_set_value(build, tensor, call->args[0], false) ||
                         !module_may_require_grad(build, tensor, loc);
        return;
    }
    tensor->dtype = build->tree->dtype;
    if (!take_dtype(build, tensor, &drawn))
        return;
    call = &drawn;
    shape = call->count == 1 && call->args[0].kind == EV_TUPLE
                ? call->args[0]
                : ev_tuple(&build->eval, call->loc, call->args, call->count);
    if (!module_set_shape(build, tensor, &shape))
        return;
    tensor->faulty = false;
    if (strcmp(made->draw, "randn") != 0 && strcmp(made->draw, "rand") != 0)
        return;
    tensor->init = strcmp(made->draw, "randn") == 0 ? INIT_NORMAL : INIT_UNIFORM;
    tensor->a = 0;
    tensor->b = made->factor;
}

void module_assign(struct eval *eval, struct module *self, const char *name, struct loc loc, struct ev value)
{
    struct builder *build = builder_of(eval);
    struct module_tensor *mine;

    mine = module_find_tensor(self, name);
    if (ev_has_value(&value) && value.own && value.own == mine)
        return;
    if (ev_has_value(&value) && value.own && value.own->kind == MODULE_PARAMETER) {
        diag_error(eval->cx, loc, "this parameter has a place already, '%s': it cannot be '%s' too",
                   value.own->path, name);
        diag_hint(eval->cx, "`tie:` shares parameters; what is read alone may stand in a list");
        return;
    }
    switch (value.kind) {
    case EV_BAD:
        self->faulty = true;
        eval->partial = true; /* what it would have been is not known */
        return;
    case EV_CONSTRUCTOR:
        if (is_taken(build, self, name, loc))
            return;
        if (module_is_parameter(&value))
            module_add_parameter(build, self, name, loc, &value);
        else
            module_place_value(build, self, name, loc, &value);
        return;
    case EV_TENSOR:
        if (value.own && !mine) /* another name of a buffer */
            set_constant(build, self, name, value);
        else if (mine && mine->kind == MODULE_BUFFER && !mine->faulty)
            set_buffer(build, mine, &value);
        else if (!is_taken(build, self, name, loc))
            add_buffer(build, self, name, loc, &value, false);
        return;
    case EV_MODULE:
        if (value.module->parent == self && strcmp(value.module->name, name) == 0)
            return;
        diag_error(eval->cx, loc, "this module has a place already, '%s': it cannot be '%s' too",
                   value.module->path, name);
        diag_hint(eval->cx, "make one for each, and `tie:` their parameters where they are shared");
        return;
    default:
        set_constant(build, self, name, value);
    }
}

/* ---- calls ---- */

static struct module *self_of(const struct scope *scope)
{
    while (scope && !scope->self)
        scope = scope->outer;
    return scope ? scope->self : NULL;
}

static bool is_named(const struct expr *expr, const char *name)
{
    return expr->kind == EXPR_NAME && strcmp(expr->text, name) == 0;
}

static bool run_body(struct builder *build, struct module *module, const struct spec_function *init,
                     struct scope *own)
{
    const int errors = diag_errors(build->cx);

    struct module *outer = build->running;

    own->outer = module_init_scope(&build->eval, module);
    own->self = module;
    build->running = module;
    eval_statements(&build->eval, own, init->statements, init->count);
    build->running = outer;
    return diag_errors(build->cx) == errors;
}

bool module_run_init(struct builder *build, struct module *module, const struct scope *args)
{
    struct scope *own = ARENA_NEW(&build->cx->arena, struct scope);
    const struct spec_class *class = module->spec_class;

    for (int i = 0; i < args->count; i++)
        scope_bind(&build->eval, own, args->items[i].name, ev_frozen(&build->eval, args->items[i].value));
    if (run_body(build, module, class->init, own))
        return true;
    if (module->parent && module->arg_count > 0)
        diag_note(build->cx, module->loc, "in '%s', which is %s", module->path, module->text);
    return false;
}

/* super().__init__(...) and super().NAME(...) */
static struct ev call_super(struct builder *build, struct scope *scope, const struct expr *expr)
{
    struct module *self = self_of(scope);
    const struct spec_class *class = self ? eval_class_of(self, scope) : NULL;
    const struct spec_class *base = class ? class->base : NULL;
    struct call call;
    struct scope *own = ARENA_NEW(&build->cx->arena, struct scope);

    if (strcmp(expr->a->text, "__init__") != 0 || !self) {
        diag_error(build->cx, expr->loc, "while a module is made, super() has __init__ alone");
        return ev_bad(expr->loc);
    }
    module_eval_args(build, scope, expr, NULL, &call);
    if (base && base->init) {
        if (module_bind_args(build, own, base->name, base->init->args, base->init->arg_count, &call))
            run_body(build, self, base->init, own);
    } else if (class && class->container) {
        const struct layer_row *row = layer_find(class->container);

        module_hold_in(build, self, row, &call);
    }
    return ev_none(expr->loc);
}

/* The arguments of a call by the names of its function. NULL after a fault. */
static struct scope *arguments(struct builder *build, struct scope *scope, const struct expr *expr,
                               const char *text)
{
    const struct signature *signature = eval_signature(&build->eval, text);
    struct scope *own = ARENA_NEW(&build->cx->arena, struct scope);
    struct call call;

    module_eval_args(build, scope, expr, NULL, &call);
    return module_bind_args(build, own, signature->name, signature->args, signature->count, &call) ? own
                                                                                                   : NULL;
}

static void no_name(struct builder *build, const struct ev *name)
{
    diag_error(build->cx, name->loc, "a name is a string, found %s", ev_text(&build->eval, name));
}

static void register_buffer(struct builder *build, struct module *self, struct scope *scope,
                            const struct expr *expr)
{
    struct scope *args = arguments(build, scope, expr, "register_buffer(name, tensor, persistent=True)");
    const struct ev *name = args ? module_arg(args, "name") : NULL;
    bool persistent = true;

    if (!name)
        return;
    ev_get_bool(module_arg(args, "persistent"), &persistent);
    if (name->kind != EV_STRING)
        no_name(build, name);
    else if (!is_taken(build, self, name->text, name->loc))
        add_buffer(build, self, name->text, name->loc, module_arg(args, "tensor"), persistent);
}

static void register_parameter(struct builder *build, struct module *self, struct scope *scope,
                               const struct expr *expr)
{
    struct scope *args = arguments(build, scope, expr, "register_parameter(name, param)");
    const struct ev *name = args ? module_arg(args, "name") : NULL;

    if (name && name->kind != EV_STRING)
        no_name(build, name);
    else if (name)
        module_assign(&build->eval, self, name->text, name->loc, *module_arg(args, "param"));
}

static void add_module(struct builder *build, struct module *self, struct scope *scope,
                       const struct expr *expr)
{
    struct scope *args = arguments(build, scope, expr, "add_module(name, module)");
    const struct ev *name = args ? module_arg(args, "name") : NULL;

    if (name && name->kind != EV_STRING)
        no_name(build, name);
    else if (name && !is_taken(build, self, name->text, name->loc))
        module_place_value(build, self, name->text, name->loc, module_arg(args, "module"));
}

/* ---- initial values ---- */

/* What modc does not follow: said once for each place. */
static void leave_out(struct builder *build, struct loc loc)
{
    if (diag_said(build->cx, loc))
        return;
    diag_warning(build->cx, loc, "initial values are those of the constructors: this is left out");
}

/* A value of the tensor's shape, of which nothing else is known. */
static struct value *unknown(struct eval *eval, struct module_tensor *tensor, struct loc loc)
{
    struct op *op = op_new(eval, GRAPH_OP_TENSOR, tensor->name, NULL, 0);
    struct value *value;

    op->tensor.tensor = tensor;
    op->loc = loc;
    value = graph_value_of(eval->graph, op, tensor);
    graph_append(eval->graph, op);
    return value;
}

struct ev module_read_tensor(struct eval *eval, struct module_tensor *tensor, struct loc loc)
{
    struct ev out;

    if (!tensor->computed)
        tensor->computed = unknown(eval, tensor, loc);
    out = ev_fresh(eval, ev_of_tensor(loc, tensor, tensor->computed));
    out.own = tensor;
    return out;
}

void module_change_tensor(struct eval *eval, const struct module_tensor *tensor, struct loc loc)
{
    (void)tensor;
    leave_out(builder_of(eval), loc);
}

/* What the function of torch.nn.init gives a tensor of that form; the scalars are those of its draws. */
static struct module_tensor initial_form(struct builder *build, struct scope *scope, const struct ev *x,
                                         const struct expr *init)
{
    struct module_tensor form = {.kind = MODULE_BUFFER, .path = "the tensor"};

    if (x->own)
        form = *x->own;
    form.dtype = x->kind == EV_COMPLEX ? dtype_of_parts(x->tensor->dtype) : x->tensor->dtype;
    form.ndim = x->tensor->ndim - (x->kind == EV_COMPLEX);
    form.zero_row = -1;
    form.a = form.b = 0;
    for (int i = 0; i < form.ndim; i++) {
        form.shape[i] = x->tensor->dims[i];
        dim_is_const(form.shape[i], &form.dims[i]);
    }
    module_set_init(build, scope, &form, init);
    return form;
}

/* normal_(std=0.02) of a tensor: what is known of it changes in place; a tensor of the tree is drawn again, in its place among the
 * draws of the __init__ that runs. */
static void begin_again(struct builder *build, struct scope *scope, const struct ev *x,
                        const struct expr *init)
{
    struct eval *eval = &build->eval;
    const struct module_tensor form = initial_form(build, scope, x, init);
    const struct module_draw draw = {.tensor = x->own,
                                     .init = form.init,
                                     .a = form.a,
                                     .b = form.b,
                                     .low = form.low,
                                     .high = form.high,
                                     .zero_row = -1,
                                     .moment = build->moment++};
    struct ev number = ev_float(init->loc, form.a);
    struct value *to = NULL;

    if (x->kind == EV_COMPLEX)
        number = ev_tensor(init->loc, eval_pairs(eval, init->loc, &number, x->tensor->dtype));

    if (x->tensor->constant && form.init == INIT_VALUE)
        to = build_const(eval, init->loc, form.value);
    else if (x->tensor->constant && form.init == INIT_CONSTANT)
        to = build_filling(eval, init->loc, init->a->text, x->tensor, &number);
    else if (!x->own || form.init > INIT_WITHIN || !build->running || x->own->parametrization)
        leave_out(build, init->loc);
    else
        ARENA_PUSH(&build->cx->arena, build->running->resets, build->running->reset_count, draw);
    if (x->own && x->tensor->constant && init_draws(form.init))
        to = unknown(eval, x->own, init->loc);
    if (to)
        build_in_place(eval, init->loc, init->a->text, x->tensor, to);
}

/* The call `name` of the arguments from `first` on. */
static const struct expr *call_of(struct builder *build, const struct expr *expr, const char *name, int first)
{
    struct expr *out = ARENA_NEW(&build->cx->arena, struct expr),
                *callee = ARENA_NEW(&build->cx->arena, struct expr);

    *out = *expr;
    *callee = *expr->a;
    callee->kind = EXPR_NAME;
    callee->text = name;
    out->a = callee;
    out->items += first;
    out->names += first;
    out->name_locs += first;
    out->count -= first;
    return out;
}

/* nn.init.normal_(self.weight, std=0.02), trunc_normal_(...): the callee ends in '_'. */
static void call_initial(struct builder *build, struct scope *scope, const struct expr *expr)
{
    struct ev tensor = expr->count > 0 ? eval_expr(&build->eval, scope, expr->items[0]) : ev_none(expr->loc);
    bool known = false;

    for (int i = 0; module_inits[i]; i++)
        known |= strncmp(module_inits[i], expr->a->text, strlen(expr->a->text)) == 0;
    if (tensor.kind == EV_BAD || tensor.kind == EV_NONE)
        return;
    if (known && ev_has_value(&tensor))
        begin_again(build, scope, &tensor, call_of(build, expr, expr->a->text, 1));
    else
        leave_out(build, expr->loc);
}

/* Methods of tensors that begin again by a function of torch.nn.init; NULL: there is none. */
static const struct {
    const char *method, *function;
} changes[] = {{"normal_", "normal_"}, {"uniform_", "uniform_"}, {"zero_", "zeros_"},
               {"fill_", "constant_"}, {"bernoulli_", NULL},     {"cauchy_", NULL},
               {"exponential_", NULL}, {"geometric_", NULL},     {"log_normal_", NULL},
               {"random_", NULL}};

/* self.fc.weight.data.zero_(). False: it is none. */
static bool call_change(struct builder *build, struct scope *scope, const struct expr *expr, struct ev *out)
{
    const struct expr *callee = expr->a;
    const size_t length = strlen(callee->text);
    struct ev base;

    if (callee->kind != EXPR_ATTR || length < 2 || callee->text[length - 1] != '_' ||
        callee->text[length - 2] == '_')
        return false;
    if (callee->a->kind == EXPR_ATTR)
        base = eval_expr(&build->eval, scope, callee->a);
    else if (callee->a->kind != EXPR_NAME || !eval_find_name(&build->eval, scope, callee->a, &base))
        return false;
    if (!ev_has_value(&base) || !base.own)
        return base.kind == EV_NONE || base.kind == EV_BAD;
    for (int i = 0; i < COUNT(changes); i++) {
        if (strcmp(changes[i].method, callee->text) != 0)
            continue;
        if (changes[i].function)
            begin_again(build, scope, &base, call_of(build, expr, changes[i].function, 0));
        else
            leave_out(build, expr->loc);
        *out = ev_fresh(&build->eval, base);
        return true;
    }
    return false;
}

/* self.fc.weight.data = x, self.fc.weight.requires_grad = False */
bool module_assign_to(struct eval *eval, const struct ev *base, const struct expr *target, struct ev value)
{
    struct builder *build = builder_of(eval);

    if (value.kind == EV_BAD)
        return true;
    if (base->kind == EV_MODULE && module_find_tensor(base->module, target->text)) {
        diag_error(build->cx, target->loc, "a module that is there keeps its parameters and buffers");
        diag_hint(build->cx,
                  "`tie:` shares a parameter; nn.init.NAME_(x) and x.data.NAME_() say how it begins");
        return true;
    }
    if (!ev_has_value(base) || !base->own)
        return false;
    if (strcmp(target->text, "requires_grad") == 0 && ev_get_bool(&value, &base->own->requires_grad))
        return true;
    if (strcmp(target->text, "data") != 0)
        return false;
    eval_become(eval, target->loc, base->own->name, base, &value);
    return true;
}

static void want_gradients(struct module *module, bool wanted)
{
    for (int i = 0; i < module->tensor_count; i++)
        if (module->tensors[i]->kind == MODULE_PARAMETER)
            module->tensors[i]->requires_grad = wanted;
    for (int i = 0; i < module->child_count; i++)
        want_gradients(module->children[i], wanted);
}

/* self.fc.requires_grad_(False), self.fc.weight.requires_grad_(False). False: it is none of a module or tensor of the tree. */
static bool call_requires_grad(struct builder *build, struct scope *scope, const struct expr *expr,
                               struct ev *out)
{
    struct ev base, truth = ev_bool(expr->loc, true);
    bool wanted;

    if (expr->a->kind != EXPR_ATTR || strcmp(expr->a->text, "requires_grad_") != 0 || expr->count > 1)
        return false;
    base = eval_expr(&build->eval, scope, expr->a->a);
    if (expr->count == 1)
        truth = eval_expr(&build->eval, scope, expr->items[0]);
    if (base.kind == EV_SPACE && base.module)
        base = ev_module(base.loc, base.module);
    if (!ev_get_bool(&truth, &wanted) || !(base.kind == EV_MODULE || (ev_has_value(&base) && base.own)))
        return base.kind == EV_BAD;
    if (base.kind == EV_MODULE)
        want_gradients(base.module, wanted);
    else
        base.own->requires_grad = wanted;
    *out = base;
    return true;
}

static void apply_to(struct builder *build, struct scope *scope, struct module *module, struct ev *function,
                     const struct expr *expr)
{
    struct ev argument = ev_module(expr->loc, module);
    const char *name = NULL;
    struct call call = {
        .loc = expr->loc, .args = &argument, .names = &name, .locs = &argument.loc, .count = 1, .expr = expr};

    for (int i = 0; i < module->child_count; i++)
        apply_to(build, scope, module->children[i], function, expr);
    if (!module->faulty)
        eval_call_value(&build->eval, scope, function, &call);
}

/* self.apply(function): of all modules, the outer ones last. */
static void apply(struct builder *build, struct module *self, struct scope *scope, const struct expr *expr)
{
    struct scope *args = arguments(build, scope, expr, "apply(fn)");
    struct ev function;

    if (!args)
        return;
    function = *module_arg(args, "fn");
    if (function.kind == EV_METHOD || function.kind == EV_FUNCTION)
        apply_to(build, scope, self, &function, expr);
    else
        leave_out(build, expr->loc);
}

static const struct {
    const char *name;
    void (*call)(struct builder *build, struct module *self, struct scope *scope, const struct expr *expr);
} own_calls[] = {
    {"register_buffer", register_buffer},
    {"register_parameter", register_parameter},
    {"add_module", add_module},
    {"register_module", add_module},
    {"apply", apply},
};

/* The container that a value is: one with a place, or one that was made. */
static bool call_container(struct builder *build, struct scope *scope, const struct expr *expr)
{
    const char *name = expr->a->text;
    const bool several = strcmp(name, "extend") == 0, named = strcmp(name, "add_module") == 0;
    struct ev base, *items;
    struct call call;
    int count;

    if (!several && !named && strcmp(name, "append") != 0)
        return false;
    if (!module_is_value(build, scope, expr->a->a) || expr->a->a->kind == EXPR_CALL)
        return false;
    base = eval_expr(&build->eval, scope, expr->a->a);
    if (base.kind != EV_MODULE && !(base.kind == EV_CONSTRUCTOR && base.made))
        return false;
    if (named && base.kind == EV_MODULE) {
        add_module(build, base.module, scope, expr);
        return true;
    }
    module_eval_args(build, scope, expr, NULL, &call);
    items = call.args;
    count = call.count;
    if (several && count == 1 && items[0].kind == EV_TUPLE) {
        count = items[0].count;
        items = items[0].items;
    }
    if (named) {
        module_hold_pair(build, &base, &call);
        return true;
    }
    for (int i = 0; i < count; i++) {
        if (base.kind == EV_MODULE)
            module_hold_next(build, base.module, &items[i]);
        else
            module_hold_later(build, &base, &items[i]);
    }
    return true;
}

/* nn.init.NAME_(...), trunc_normal_(...) */
static bool is_initial(const struct expr *callee)
{
    const size_t length = strlen(callee->text);

    if (length < 2 || callee->text[length - 1] != '_' || callee->text[length - 2] == '_')
        return false;
    return callee->kind == EXPR_NAME || is_named(callee->a, "init") ||
           (callee->a->kind == EXPR_ATTR && strcmp(callee->a->text, "init") == 0);
}

bool module_call_init(struct eval *eval, struct scope *scope, const struct expr *expr, struct ev *out)
{
    struct builder *build = builder_of(eval);
    const struct expr *callee = expr->a;
    struct module *self = self_of(scope);

    *out = ev_none(expr->loc);
    if (callee->kind != EXPR_NAME && callee->kind != EXPR_ATTR)
        return false;
    if (callee->kind == EXPR_ATTR && callee->a->kind == EXPR_CALL && is_named(callee->a->a, "super")) {
        *out = call_super(build, scope, expr);
        return true;
    }
    if (strcmp(callee->text, PARAMETER) == 0 &&
        (callee->kind == EXPR_NAME || is_named(callee->a, "nn") || callee->a->kind == EXPR_ATTR)) {
        *out = make_parameter(build, scope, expr);
        return true;
    }
    if (is_initial(callee)) {
        call_initial(build, scope, expr);
        return true;
    }
    if (call_requires_grad(build, scope, expr, out) || call_change(build, scope, expr, out))
        return true;
    if (self && is_named(callee, "setattr") && expr->count == 3 && is_named(expr->items[0], "self")) {
        struct ev name = eval_expr(eval, scope, expr->items[1]);

        if (name.kind == EV_STRING)
            module_assign(eval, self, name.text, name.loc, eval_expr(eval, scope, expr->items[2]));
        else if (name.kind != EV_BAD)
            no_name(build, &name);
        return true;
    }
    if (callee->kind != EXPR_ATTR)
        return false;
    for (int i = 0; self && is_named(callee->a, "self") && i < COUNT(own_calls); i++) {
        if (strcmp(own_calls[i].name, callee->text) != 0)
            continue;
        own_calls[i].call(build, self, scope, expr);
        return true;
    }
    return call_container(build, scope, expr);
}
