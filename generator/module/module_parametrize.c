/* module_parametrize.c - `weight_norm(Linear(4, 2))`: functions of torch.nn.utils that take a module and compute one of its parameters
 * of others from then on. Apart from module_layers.c, since any module may be what they take.
 *
 * note [parametrizations]
 * The parameter leaves the module: what its name means is computed where it is read (lower_slots.c), of tensors that take its
 * place. The functions of torch.nn.utils.parametrizations keep these in a child, `parametrizations`, whose modules are called,
 * and have hooks; the older ones of torch.nn.utils in the module itself. */
#include "module/module_builder.h"

#include <string.h>

#define WEIGHT_NORM "weight_norm(module, name='weight', dim=0)"
#define SPECTRAL_NORM "spectral_norm(module, name='weight', n_power_iterations=1, eps=1e-12, dim=None)"

#define ORTHOGONAL "orthogonal(module, name='weight', orthogonal_map=None, *, use_trivialization=True)"
#define REGISTER "register_parametrization(module, tensor_name, parametrization, *, unsafe=False)"

typedef bool apply_function(struct builder *build, struct module *module, struct module_tensor *tensor,
                            const struct scope *args, bool older, struct parametrization *p);
static apply_function apply_weight_norm, apply_spectral_norm, apply_orthogonal, apply_registered;

static const struct {
    const char *name, *own; /* as it is written, and without what stands in front */
    const char *signature;
    apply_function *apply;
    bool older;
    bool joins; /* it may be a further one of a parameter */
} functions[] = {
    {"weight_norm", "weight_norm", WEIGHT_NORM, apply_weight_norm, false, false},
    {"utils.weight_norm", "weight_norm", WEIGHT_NORM, apply_weight_norm, true, false},
    {"spectral_norm", "spectral_norm", SPECTRAL_NORM, apply_spectral_norm, false, true},
    {"utils.spectral_norm", "spectral_norm", SPECTRAL_NORM, apply_spectral_norm, true, false},
    {"orthogonal", "orthogonal", ORTHOGONAL, apply_orthogonal, false, true},
    {"register_parametrization", "register_parametrization", REGISTER, apply_registered, false, true},
};

struct wrap {
    int function;
    const struct expr *expr;
    struct scope args;
};

/* "nn.utils.weight_norm" of the expression; "": it is no such name. */
static const char *dotted(struct builder *build, const struct expr *expr)
{
    if (expr->kind == EXPR_NAME)
        return expr->text;
    if (expr->kind != EXPR_ATTR)
        return "";
    return arena_format(&build->cx->arena, "%s.%s", dotted(build, expr->a), expr->text);
}

static int find_function(struct builder *build, const struct expr *expr)
{
    static const char *const spaces[] = {
        "torch.",      "nn.", "utils.parametrizations.", "parametrizations.", "utils.parametrize.",
        "parametrize."};
    const char *name = expr->kind == EXPR_CALL ? dotted(build, expr->a) : "";

    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strncmp(name, spaces[i], strlen(spaces[i])) == 0)
            name += strlen(spaces[i]);
    for (int i = 0; i < COUNT(functions); i++)
        if (strcmp(functions[i].name, name) == 0)
            return i;
    return -1;
}

bool module_is_wrapped(struct builder *build, const struct expr *expr)
{
    return find_function(build, expr) >= 0;
}

bool module_unwrap(struct builder *build, struct scope *scope, const struct expr *expr, struct wrap **wraps,
                   int *count, struct ev *inner)
{
    const struct signature *signature;
    struct wrap wrap = {.function = find_function(build, expr), .expr = expr};
    struct call call;

    signature = eval_signature(&build->eval, functions[wrap.function].signature);
    module_eval_args(build, scope, expr, NULL, &call);
    if (!module_bind_args(build, &wrap.args, signature->name, signature->args, signature->count, &call))
        return false;
    *inner = *module_arg(&wrap.args, "module");
    if ((inner->kind != EV_CONSTRUCTOR || !inner->made) && inner->kind != EV_MODULE) {
        diag_error(build->cx, inner->loc, "%s takes a module, as Linear(4, 2), found %s", signature->name,
                   ev_text(&build->eval, inner));
        return false;
    }
    ARENA_PUSH(&build->cx->arena, *wraps, *count, wrap);
    return true;
}

struct wrap *module_join_wraps(struct builder *build, const struct wrap *outer, int count,
                               const struct wrap *inner, int inner_count)
{
    struct wrap *out = ARENA_ARRAY(&build->cx->arena, count + inner_count + 1, struct wrap);

    for (int i = 0; i < count; i++)
        out[i] = outer[i];
    for (int i = 0; i < inner_count; i++)
        out[count + i] = inner[i];
    return out;
}

/* ---- what becomes of the tensors ---- */

/* A tensor like another one, in a place of its own. */
static struct module_tensor *add_like(struct builder *build, struct module *owner, const char *name,
                                      const struct module_tensor *like)
{
    struct module_tensor *tensor = module_add_tensor(build, owner, like->kind, name, like->loc),
                         own = *tensor;

    *tensor = *like;
    tensor->name = own.name;
    tensor->path = own.path;
    tensor->owner = owner;
    tensor->first = tensor;
    return tensor;
}

/* Of the given dimensions, of which the draws of a parametrization make the values. */
static struct module_tensor *add_drawn(struct builder *build, struct module *owner,
                                       enum module_tensor_kind kind, const char *name,
                                       const struct module_tensor *like, int ndim, const int64_t *dims,
                                       double std)
{
    struct module_tensor *tensor = module_add_tensor(build, owner, kind, name, like->loc);

    tensor->dtype = like->dtype;
    tensor->requires_grad = kind == MODULE_PARAMETER && like->requires_grad;
    tensor->init = INIT_NORMAL;
    tensor->b = std;
    tensor->moved = true;
    tensor->ndim = ndim;
    for (int i = 0; i < ndim; i++) {
        tensor->dims[i] = dims[i];
        tensor->shape[i] = dim_const(&build->cx->arena, dims[i]);
    }
    return tensor;
}

/* A module that the function makes. */
static struct module *add_part(struct builder *build, struct module *parent, const char *name,
                               const char *class, const struct layer_row *row)
{
    struct module *part = module_new(build, parent, name, parent->loc);

    part->layer = row;
    part->class_name = class;
    part->extra_repr = "";
    part->text = arena_format(&build->cx->arena, "%s()", class);
    return part;
}

static const struct layer_row *row_of(struct builder *build, const char *name, enum layer_container container,
                                      const char *forward)
{
    struct layer_row *row = ARENA_NEW(&build->cx->arena, struct layer_row);

    row->name = name;
    row->container = container;
    row->forward = forward;
    return row;
}

/* The list that the tensor gets below the module's `parametrizations`. */
static struct module *add_list(struct builder *build, struct module *module, const char *name,
                               const char *args)
{
    struct module *all = module->child_count > 0 ? module->children[module->child_count - 1] : NULL;

    if (!all || !all->computes) {
        all = add_part(build, module, "parametrizations", "ModuleDict", layer_find("ModuleDict"));
        all->computes = true;
        module->class_name = arena_format(&build->cx->arena, "Parametrized%s", module->class_name);
    }
    return add_part(build, all, name, "ParametrizationList",
                    row_of(build, "ParametrizationList", LAYER_MODULE_LIST,
                           arena_format(&build->cx->arena, "forward(): return self[0](%s)", args)));
}

/* The place of one more in the list of the parameter, whose original is there where it has a list. */
static struct module *add_holder(struct builder *build, struct module *module, struct module_tensor *tensor,
                                 const char *class, struct parametrization *p)
{
    const struct parametrization *first = tensor->parametrization;
    const char *computed = first && first->norm ? "original0, original1" : "original";
    struct module *holder;

    p->list = first ? first->list : add_list(build, module, tensor->name, computed);
    p->original = first ? first->original : add_like(build, p->list, computed, tensor);
    holder = add_part(build, p->list, arena_format(&build->cx->arena, "%d", p->list->child_count), class,
                      NULL);
    for (int i = 0; i < p->list->child_count; i++)
        computed = arena_format(&build->cx->arena, "self[%d](%s)", i, computed);
    p->list->layer = row_of(build, "ParametrizationList", LAYER_MODULE_LIST,
                            arena_format(&build->cx->arena, "forward(): return %s", computed));
    return holder;
}

/* What the older functions call a tensor, or `own`. */
static const char *named(struct builder *build, const char *name, const char *suffix, const char *own)
{
    return own ? own : arena_format(&build->cx->arena, "%s_%s", name, suffix);
}

/* ---- weight_norm ---- */

/* v * (g / norm), where the norm is over all dimensions but dim. */
static const char *normed(struct builder *build, const struct parametrization *p, const char *g,
                          const char *v)
{
    const int ndim = p->original->ndim;
    struct text axes = text_new(&build->cx->arena);

    for (int i = 0; i < ndim; i++)
        if (i != p->dim)
            text_printf(&axes, "%d, ", i);
    return p->dim < 0  ? arena_format(&build->cx->arena, "return %s * (%s / %s.norm(2))", v, g, v)
           : ndim == 1 ? arena_format(&build->cx->arena, "return %s * (%s / %s.abs())", v, g, v)
                       : arena_format(&build->cx->arena, "return %s * (%s / %s.norm(2, (%s), True))", v, g, v,
                                      axes.data);
}

static bool apply_weight_norm(struct builder *build, struct module *module, struct module_tensor *tensor,
                              const struct scope *args, bool older, struct parametrization *p)
{
    const struct ev *dim = module_arg(args, "dim");
    const char *g = named(build, tensor->name, "g", older ? NULL : "original0");
    const char *v = named(build, tensor->name, "v", older ? NULL : "original1");
    int64_t dims[MAX_DIMS];

    p->dim = -1;
    if (dim->kind != EV_NONE &&
        (!ev_get_int(dim, &p->dim) || p->dim < -tensor->ndim || p->dim >= tensor->ndim)) {
        diag_error(build->cx, dim->loc, "dim must be None or a dimension of '%s', which has %d, found %s",
                   tensor->path, tensor->ndim, ev_text(&build->eval, dim));
        return false;
    }
    if (p->dim < -1)
        p->dim += tensor->ndim;
    for (int i = 0; i < tensor->ndim; i++)
        dims[i] = i == p->dim ? tensor->dims[i] : 1;
    p->text = arena_format(&build->cx->arena, "weight_norm(dim=%lld)", (long long)p->dim);
    if (!older)
        p->list = add_list(build, module, tensor->name, "original0, original1");
    p->norm = add_drawn(build, older ? module : p->list, MODULE_PARAMETER, g, tensor,
                        p->dim < 0 ? 0 : tensor->ndim, dims, 0);
    p->original = add_like(build, older ? module : p->list, v, tensor);
    if (older)
        p->body = normed(build, p, g, v);
    else
        add_part(build, p->list, "0", "_WeightNorm",
                 row_of(build, "_WeightNorm", LAYER_PLAIN,
                        arena_format(&build->cx->arena, "forward(weight_g, weight_v): %s",
                                     normed(build, p, "weight_g", "weight_v"))));
    return true;
}

/* ---- spectral_norm ---- */

/* The weight over its largest singular value, of which each call in training mode takes `times` steps of the power method. */
static const char *spectral(struct builder *build, const struct parametrization *p, const char *weight,
                            int64_t times, bool older)
{
    const struct module_tensor *original = p->original;
    struct text text = text_new(&build->cx->arena);
    const char *left = "u = F.normalize(m @ v, dim=0, eps=eps) if self.training else u\n";
    const char *right = "v = F.normalize(m.T @ u, dim=0, eps=eps) if self.training else v\n";

    text_printf(&text, "eps = %.17g\n", p->eps);
    if (original->ndim == 1 && !older) {
        text_printf(&text, "return F.normalize(%s, dim=0, eps=eps)", weight);
        return text.data;
    }
    text_printf(&text, "w = %s", weight);
    for (int i = 0; i < original->ndim && p->dim > 0; i++)
        text_printf(&text, "%s%lld", i ? ", " : ".permute(",
                    (long long)(i == 0        ? p->dim
                                : i <= p->dim ? i - 1
                                              : i));
    text_printf(&text, "%s.reshape(%lld, -1)\nm = w.detach()\nu, v = %s, %s\n", p->dim > 0 ? ")" : "",
                (long long)original->dims[p->dim], p->left->name, p->right->name);
    for (int64_t i = 0; i < times; i++)
        text_printf(&text, "%s%s", older ? right : left, older ? left : right);
    text_printf(&text, "self.%s = u if self.training else None\nself.%s = v if self.training else None\n",
                p->left->name, p->right->name);
    text_printf(&text, "return %s / torch.dot(u, w @ v)", weight);
    return text.data;
}

/* The lines of a body, indented below its signature. */
static const char *indented(struct builder *build, const char *signature, const char *body)
{
    struct text text = text_new(&build->cx->arena);

    text_printf(&text, "%s:\n    ", signature);
    for (const char *c = body; *c; c++)
        text_printf(&text, *c == '\n' ? "\n    " : "%c", *c);
    return text.data;
}

static bool spectral_arguments(struct builder *build, const struct module *module,
                               const struct module_tensor *tensor, const struct scope *args,
                               struct parametrization *p, int64_t *times)
{
    const struct ev *dim = module_arg(args, "dim"), *power = module_arg(args, "n_power_iterations"),
                    *eps = module_arg(args, "eps");

    p->dim = strncmp(module->layer ? module->layer->name : "", "ConvTranspose", 13) == 0;
    if (tensor->ndim == 0 || (dim->kind != EV_NONE && (!ev_get_int(dim, &p->dim) || p->dim < -tensor->ndim ||
                                                       p->dim >= tensor->ndim))) {
        diag_error(build->cx, dim->loc, "dim must be None or a dimension of '%s', which has %d, found %s",
                   tensor->path, tensor->ndim, ev_text(&build->eval, dim));
        return false;
    }
    p->dim += p->dim < 0 ? tensor->ndim : 0;
    if (!ev_get_int(power, times) || *times < 1 || *times > 100) {
        diag_error(build->cx, power->loc, "n_power_iterations must be an integer from 1 to 100, found %s",
                   ev_text(&build->eval, power));
        return false;
    }
    if (ev_get_number(eps, &p->eps))
        return true;
    diag_error(build->cx, eps->loc, "eps must be a number, found %s", ev_text(&build->eval, eps));
    return false;
}

static bool apply_spectral_norm(struct builder *build, struct module *module, struct module_tensor *tensor,
                                const struct scope *args, bool older, struct parametrization *p)
{
    struct module *holder = module;
    const char *name;
    int64_t times, width = 1;

    if (!spectral_arguments(build, module, tensor, args, p, &times))
        return false;
    p->text = arena_format(&build->cx->arena, "spectral_norm(n_power_iterations=%lld, eps=%s, dim=%lld)",
                           (long long)times, ev_text(&build->eval, module_arg(args, "eps")),
                           (long long)p->dim);
    name = named(build, tensor->name, "orig", older ? NULL : "original");
    if (older)
        p->original = add_like(build, module, name, tensor);
    else
        holder = add_holder(build, module, tensor, "_SpectralNorm", p);
    for (int i = 0; i < tensor->ndim; i++)
        width *= i == p->dim ? 1 : tensor->dims[i];
    if (older || tensor->ndim > 1) {
        p->left = add_drawn(build, holder, MODULE_BUFFER,
                            named(build, tensor->name, "u", older ? NULL : "_u"), tensor, 1,
                            &tensor->dims[p->dim], 1);
        p->right = add_drawn(build, holder, MODULE_BUFFER,
                             named(build, tensor->name, "v", older ? NULL : "_v"), tensor, 1, &width, 1);
        if (!older && !tensor->parametrization)
            p->iterations = 15 + times; /* with those of a first call, in training mode */
    }
    if (older)
        p->body = spectral(build, p, name, times, true);
    else
        holder->layer = row_of(
            build, "_SpectralNorm", LAYER_PLAIN,
            indented(build, "forward(weight)", spectral(build, p, "weight", times, false)));
    return true;
}

/* ---- orthogonal ---- */

/* note [orthogonal]
 * Of a matrix (rows, columns) that is not wide, or is turned, X. By an exponential or a quotient of what is skew-symmetric; or by
 * reflections I - 2 v v^T / (v^T v), whose v are the columns of V, X below its diagonal and 1 there. Their product is
 * I - V T V^T, where the inverse of T is V^T V above its diagonal, and half of it there. */
static const char *orthogonal_body(struct builder *build, const struct parametrization *p)
{
    const struct module_tensor *original = p->original;
    const long long rows = original->dims[original->ndim - 2], columns = original->dims[original->ndim - 1];
    const long long n = rows < columns ? columns : rows, k = rows < columns ? rows : columns;
    struct text text = text_new(&build->cx->arena);

    text_printf(&text, "X = weight%s\n", rows < columns ? ".mT" : "");
    if (p->map == ORTHOGONAL_HOUSEHOLDER) {
        text_printf(&text,
                    "V = X.tril(-1) + eye(%lld, %lld, dtype=X.dtype)\n"
                    "G = V.mT @ V\n"
                    "S = G.triu() - G * (eye(%lld, dtype=X.dtype) / 2)\n"
                    "Q = eye(%lld, %lld, dtype=X.dtype) -"
                    " V @ torch.linalg.solve_triangular(S, V[..., :%lld, :].mT, upper=True)\n"
                    "Q = Q * X.detach().diagonal(0, -2, -1).trunc()[..., None, :]\n",
                    n, k, k, n, k, k);
    } else {
        text_printf(&text, n == k ? "X = X.tril()\n" : "X = F.pad(X.tril(), (0, %lld))\n", n - k);
        text_add(&text, "A = X - X.mT\n");
        if (p->map == ORTHOGONAL_CAYLEY)
            text_printf(&text,
                        "I = eye(%lld, dtype=A.dtype)\n"
                        "Q = torch.linalg.solve(I - 0.5 * A, I + 0.5 * A)\n",
                        n);
        else
            text_add(&text, "Q = torch.matrix_exp(A)\n");
        if (n > k)
            text_printf(&text, "Q = Q[..., :%lld]\n", k);
    }
    if (p->base)
        text_add(&text, "Q = base @ Q\n");
    text_printf(&text, "return Q%s", rows < columns ? ".mT" : "");
    return text.data;
}

/* False after an error. */
static bool find_map(struct builder *build, const struct module_tensor *tensor, const struct ev *name,
                     struct parametrization *p)
{
    static const char *const maps[] = {[ORTHOGONAL_EXPONENTIAL] = "matrix_exp",
                                       [ORTHOGONAL_CAYLEY] = "cayley",
                                       [ORTHOGONAL_HOUSEHOLDER] = "householder"};

    p->map = tensor->dims[tensor->ndim - 2] == tensor->dims[tensor->ndim - 1] ? ORTHOGONAL_EXPONENTIAL
                                                                              : ORTHOGONAL_HOUSEHOLDER;
    if (name->kind == EV_NONE)
        return true;
    for (int i = 0; i < COUNT(maps); i++)
        if (name->kind == EV_STRING && strcmp(name->text, maps[i]) == 0) {
            p->map = (enum orthogonal_map)i;
            return true;
        }
    diag_error(build->cx, name->loc,
               "orthogonal_map must be 'matrix_exp', 'cayley', 'householder' or None, found %s",
               ev_text(&build->eval, name));
    return false;
}

static bool apply_orthogonal(struct builder *build, struct module *module, struct module_tensor *tensor,
                             const struct scope *args, bool older, struct parametrization *p)
{
    const struct ev *map = module_arg(args, "orthogonal_map"),
                    *trivial = module_arg(args, "use_trivialization");
    struct module *holder;
    bool based;

    (void)older;
    if (tensor->ndim < 2) {
        diag_error(build->cx, module->loc,
                   "orthogonal takes a matrix or a batch of matrices; '%s' has %d dimension%s", tensor->path,
                   tensor->ndim, tensor->ndim == 1 ? "" : "s");
        return false;
    }
    if (!find_map(build, tensor, map, p))
        return false;
    if (!ev_get_bool(trivial, &based)) {
        diag_error(build->cx, trivial->loc, "use_trivialization must be True or False, found %s",
                   ev_text(&build->eval, trivial));
        return false;
    }
    if (based && tensor->parametrization) { /* which PyTorch cannot call */
        diag_error(build->cx, module->loc, "'%s' is parametrized already: orthogonal makes no base of it",
                   tensor->path);
        diag_hint(build->cx, "write use_trivialization=False, or orthogonal inside the other");
        return false;
    }
    p->text = "orthogonal()";
    p->orthogonal = !tensor->parametrization; /* its values begin with an orthogonal matrix */
    holder = add_holder(build, module, tensor, "_Orthogonal", p);
    if (based) {
        int64_t dims[MAX_DIMS];
        const int64_t rows = tensor->dims[tensor->ndim - 2], columns = tensor->dims[tensor->ndim - 1];

        memcpy(dims, tensor->dims, sizeof dims);
        dims[tensor->ndim - 2] = dims[tensor->ndim - 1] = rows < columns ? columns : rows;
        p->base = add_drawn(build, holder, MODULE_BUFFER, "base", tensor, tensor->ndim, dims, 1);
    }
    holder->layer = row_of(build, "_Orthogonal", LAYER_PLAIN,
                           indented(build, "forward(weight)", orthogonal_body(build, p)));
    return true;
}

/* ---- classes of the spec ---- */

static bool apply_registered(struct builder *build, struct module *module, struct module_tensor *tensor,
                             const struct scope *args, bool older, struct parametrization *p)
{
    const struct ev *value = module_arg(args, "parametrization");

    (void)older;
    p->made = add_holder(build, module, tensor, "?", p);
    module_become(build, p->made, value);
    p->text = arena_format(&build->cx->arena, "register_parametrization(%s)", ev_text(&build->eval, value));
    for (int i = 0; p->made->spec_class && i < p->made->spec_class->method_count; i++)
        if (strcmp(p->made->spec_class->methods[i]->name, "right_inverse") == 0)
            diag_warning(build->cx, p->made->spec_class->methods[i]->loc,
                         "initial values are those of the constructors: this is left out");
    return !p->made->faulty;
}

/* ---- the parameter ---- */

/* NULL after an error. */
static struct module_tensor *find_parameter(struct builder *build, const struct module *module,
                                            const char *function, bool joins, const struct ev *name)
{
    struct module_tensor *tensor = name->kind == EV_STRING ? module_find_tensor(module, name->text) : NULL;

    if (module->lazy) { /* which PyTorch refuses too */
        diag_error(build->cx, module->loc,
                   "%s needs parameters that are there: %s makes its own in its first call", function,
                   module->lazy->name);
        diag_hint(build->cx, "write %s with all its arguments", module->lazy->becomes);
    } else if (tensor && tensor->parametrization && !(joins && tensor->parametrization->list)) {
        diag_error(build->cx, module->loc, "'%s' is parametrized already, by %s", tensor->path,
                   tensor->parametrization->text);
    } else if (!tensor || tensor->kind != MODULE_PARAMETER || (tensor->none && !tensor->parametrization) ||
               !dtype_is_float(tensor->dtype)) {
        diag_error(build->cx, name->loc.source == module->loc.source ? name->loc : module->loc,
                   "%s has no floating parameter %s for %s", module->class_name, ev_text(&build->eval, name),
                   function);
    } else {
        return tensor;
    }
    return NULL;
}

bool module_parametrize(struct builder *build, struct module *module, const struct wrap *wraps, int count)
{
    while (count-- > 0) {
        const struct wrap *wrap = &wraps[count];
        struct parametrization *p = ARENA_NEW(&build->cx->arena, struct parametrization);
        const bool registers = functions[wrap->function].apply == apply_registered;
        struct module_tensor *tensor = find_parameter(
            build, module, functions[wrap->function].own, functions[wrap->function].joins,
            module_arg(&wrap->args, registers ? "tensor_name" : "name"));
        struct parametrization *last = tensor ? tensor->parametrization : NULL;

        if (!tensor || !functions[wrap->function].apply(build, module, tensor, &wrap->args,
                                                        functions[wrap->function].older, p))
            return false;
        if (last) {
            last->text = arena_format(&build->cx->arena, "%s, %s", last->text, p->text);
            while (last->further)
                last = last->further;
            last->further = p;
        } else {
            tensor->parametrization = p;
        }
        p->original->moved = true;
        tensor->none = true;
        module->text = expr_source(build->cx, wrap->expr);
    }
    return true;
}
