/* module_paths.c - tie:, freeze:, eval: and checkpoint:, which name modules and parameters by their paths. Apart from
 * module.c, because the tree is whole before they say something of its parts.
 *
 * note [ties]
 * PyTorch ties after building, `lm_head.weight = embed.weight`: lm_head has drawn a weight of its own by then, which is
 * dropped. So what is tied keeps its place in every table, and `source` leads to the tensor whose initial value the tie
 * has. Memory belongs to `first`, the first in state_dict order: graph, packing and flash know no other. All pointers of
 * struct MODEL_params to a tie are equal. */
#include "module/module_paths.h"

#include <string.h>

#include "base/storage.h"

/* ---- paths ------------------------------------------------------------------------------------------------ */

/* `*` stands for any characters, dots too. */
static bool glob(const char *pattern, const char *text)
{
    const char *star = NULL, *end = NULL; /* the last `*`, and where in the text what it stands for ends */

    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            end = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++end;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == 0;
}

/* Whether a pattern names this module or one around it. */
static bool names_module(const char *pattern, const struct module *module)
{
    for (; module; module = module->parent)
        if (glob(pattern, module->path))
            return true;
    return false;
}

static bool is_parameter(const struct module_tensor *tensor)
{
    return tensor->kind == MODULE_PARAMETER && !tensor->none;
}

static void hint_parameter(struct cx *cx, const struct module_tree *tree, const char *path)
{
    const char **known = NULL;
    int count = 0;

    for (int i = 0; i < tree->key_count; i++)
        if (is_parameter(tree->keys[i]))
            ARENA_PUSH(&cx->arena, known, count, tree->keys[i]->path);
    diag_hint_nearest(cx, path, known, count);
}

void module_hint_pattern(struct cx *cx, const struct module_tree *tree, const char *pattern, bool parameters)
{
    const char **known = NULL;
    int count = 0;

    for (int i = 1; i < tree->module_count; i++) {
        const char *path = tree->modules[i]->path;

        ARENA_PUSH(&cx->arena, known, count, path);
        if (strchr(pattern, '*') && (parameters || tree->modules[i]->child_count > 0))
            ARENA_PUSH(&cx->arena, known, count, arena_format(&cx->arena, "%s.*", path));
    }
    for (int i = 0; parameters && i < tree->key_count; i++)
        if (is_parameter(tree->keys[i]))
            ARENA_PUSH(&cx->arena, known, count, tree->keys[i]->path);
    if (tree->root->child_count > 0 && !diag_nearest(pattern, known, count))
        diag_hint(cx, "paths are those of `modc summary`, as '%s'", tree->root->children[0]->path);
    diag_hint_nearest(cx, pattern, known, count);
}

/* ---- tie -------------------------------------------------------------------------------------------------- */

static void refuse_tensor(struct cx *cx, const struct module_tensor *tensor, struct loc loc)
{
    const struct module *owner = tensor->owner;

    if (tensor->parametrization) {
        diag_error(cx, loc, "'%s' is computed by %s; a tie shares parameters", tensor->path,
                   tensor->parametrization->text);
        diag_hint(cx, "it is computed of '%s'", tensor->parametrization->original->path);
    } else if (tensor->none) {
        diag_error(cx, loc, "'%s' is None: there is nothing to share", tensor->path);
        diag_note(cx, owner->loc, "'%s' is %s", owner->path, owner->text);
    } else {
        diag_error(cx, loc, "'%s' is %s; a tie shares parameters", tensor->path,
                   tensor->kind == MODULE_BUFFER ? "a buffer" : "state");
        diag_note(cx, tensor->loc, "'%s' is made here", tensor->path);
    }
}

static void refuse_module(struct cx *cx, const struct module *module, struct loc loc)
{
    diag_error(cx, loc, "'%s' is a module; a tie shares parameters", module->path);
    for (int i = 0; i < module->tensor_count; i++) {
        if (is_parameter(module->tensors[i])) {
            diag_hint(cx, "as '%s'", module->tensors[i]->path);
            return;
        }
    }
}

/* The parameter of a key. NULL after a fault; it is not said where parts of the tree are missing through another. */
static struct module_tensor *find_parameter(struct cx *cx, const struct module_tree *tree, const char *path,
                                            struct loc loc)
{
    const struct module *module = tree->root, *child;
    struct module_tensor *tensor = NULL;
    const char *rest = path;

    while (module && !tensor) {
        size_t length = strcspn(rest, ".");
        const char *name = arena_copy(&cx->arena, rest, length);

        child = module_child(module, name);
        if (!rest[length] && child) {
            refuse_module(cx, child, loc);
            return NULL;
        }
        if (!rest[length])
            tensor = module_find_tensor(module, name);
        if (!tensor && !child && (module->faulty || tree->spec->partial))
            return NULL;
        module = rest[length] ? child : NULL;
        rest += length + 1;
    }
    if (!tensor) {
        diag_error(cx, loc, "there is no parameter '%s'", path);
        hint_parameter(cx, tree, path);
    } else if (!is_parameter(tensor)) {
        refuse_tensor(cx, tensor, loc);
    } else if (!tensor->faulty) {
        return tensor;
    }
    return NULL;
}

static bool same_shape(const struct module_tensor *a, const struct module_tensor *b)
{
    return a->ndim == b->ndim && memcmp(a->dims, b->dims, (size_t)a->ndim * sizeof *a->dims) == 0;
}

static void note_made(struct cx *cx, const struct module_tensor *tensor)
{
    diag_note(cx, tensor->loc, "'%s' is made here", tensor->path);
}

/* Where the spec ties this tensor. */
static struct loc tie_place(const struct spec *spec, const struct module_tensor *tensor)
{
    int i = 0;

    while (i < spec->tie_count - 1 && strcmp(spec->ties[i].path, tensor->path) != 0)
        i++;
    return spec->ties[i].loc;
}

/* The parametrization whose further tensors begin with what was drawn for this one; NULL: there is none. */
static const struct parametrization *begun_from(const struct module_tensor *tensor)
{
    for (const struct module *at = tensor->owner; at; at = at->parent)
        for (int i = 0; i < at->tensor_count; i++) {
            const struct parametrization *p = at->tensors[i]->parametrization;

            if (p && p->original == tensor && (p->norm || p->base || p->left))
                return p;
        }
    return NULL;
}

static void tie(struct cx *cx, const struct module_tree *tree, const struct spec_tie *spec)
{
    struct module_tensor *tensor = find_parameter(cx, tree, spec->path, spec->loc);
    struct module_tensor *source = find_parameter(cx, tree, spec->source, spec->source_loc);

    if (!tensor || !source)
        return;
    if (tensor == source) {
        diag_error(cx, spec->source_loc, "'%s' is tied to itself", tensor->path);
    } else if (module_tensor_origin(source) == tensor) {
        diag_error(cx, spec->source_loc, "'%s' and '%s' are tied in a circle", tensor->path, source->path);
        diag_note(cx, tie_place(tree->spec, source), "'%s' is tied here", source->path);
    } else if (!same_shape(tensor, source)) {
        diag_error(cx, spec->loc, "'%s' has shape %s and cannot share '%s' of shape %s", tensor->path,
                   shape_text(&cx->arena, tensor->ndim, tensor->shape), source->path,
                   shape_text(&cx->arena, source->ndim, source->shape));
        note_made(cx, tensor);
        note_made(cx, source);
    } else if (tensor->dtype != source->dtype) {
        diag_error(cx, spec->loc, "'%s' is %s and cannot share '%s', which is %s", tensor->path,
                   dtype_rows[tensor->dtype].name, source->path, dtype_rows[source->dtype].name);
        note_made(cx, tensor);
        note_made(cx, source);
    } else if (begun_from(tensor)) { /* whose own values are dropped when the model is reset */
        diag_error(
            cx, spec->loc,
            "'%s' gives tensors of %s their initial values, and to tie it is not supported yet by this version of modc",
            tensor->path, begun_from(tensor)->text);
        note_made(cx, tensor);
        diag_hint(cx, "tie '%s' to it", source->path);
    } else if (tensor->init == INIT_WITHIN) { /* how many numbers are dropped depends on what they are */
        diag_error(
            cx, spec->loc,
            "'%s' is drawn by trunc_normal_, and to tie it is not supported yet by this version of modc",
            tensor->path);
        note_made(cx, tensor);
        diag_hint(cx, "'init: normal_' draws once, or tie '%s' to it", source->path);
    } else {
        tensor->source = source;
        tensor->tied = source->tied = true;
    }
}

/* What is one tensor agrees on where it lies and whether it requires gradients; see note [ties]. */
static void settle_ties(struct module_tree *tree)
{
    for (int i = 0; i < tree->key_count; i++)
        if (tree->keys[i]->tied)
            tree->keys[i]->first = NULL;
    for (int i = 0; i < tree->key_count; i++) {
        struct module_tensor *origin = module_tensor_origin(tree->keys[i]);

        if (!origin->first)
            origin->first = tree->keys[i];
    }
    for (int i = 0; i < tree->key_count; i++) {
        const struct module_tensor *origin = module_tensor_origin(tree->keys[i]);

        tree->keys[i]->first = origin->first;
        tree->keys[i]->requires_grad = origin->requires_grad;
    }
}

/* ---- patterns --------------------------------------------------------------------------------------------- */

bool module_names_parameter(const char *pattern, const struct module_tensor *tensor)
{
    return is_parameter(tensor) && (glob(pattern, tensor->path) || names_module(pattern, tensor->owner));
}

/* requires_grad_(False) on what the pattern names; of a tie, on the tensor that all share. */
static bool freeze(struct module_tree *tree, const char *pattern)
{
    bool found = false;

    for (int i = 0; i < tree->key_count; i++) {
        struct module_tensor *tensor = tree->keys[i];

        if (!module_names_parameter(pattern, tensor))
            continue;
        module_tensor_origin(tensor)->requires_grad = false;
        found = true;
    }
    return found;
}

static bool fix_in_eval(struct module_tree *tree, const char *pattern)
{
    bool found = false;

    for (int i = 0; i < tree->module_count; i++) {
        if (!names_module(pattern, tree->modules[i]))
            continue;
        tree->modules[i]->always_eval = true;
        found = true;
    }
    return found;
}

void module_fix_modes(struct cx *cx, struct module_tree *tree)
{
    const struct spec *spec = tree->spec;

    for (int i = 0; i < tree->module_count; i++) /* ranges are those of evaluation */
        tree->modules[i]->always_eval |= spec->calibrated;
    for (int i = 0; i < spec->eval.count; i++) {
        if (fix_in_eval(tree, spec->eval.list[i]) || tree->partial)
            continue;
        diag_error(cx, spec->eval.locs[i], "'%s' matches no module", spec->eval.list[i]);
        module_hint_pattern(cx, tree, spec->eval.list[i], false);
    }
}

/* Whether the variant packs its weights so. */
static bool check_storage(struct cx *cx, const struct module_tree *tree, const struct spec_storage *own)
{
    const struct spec *spec = tree->spec;

    if (strcmp(own->dtype, dtype_rows[tree->dtype].name) == 0 && !storage_is_coded(own->kind))
        return true;
    if (tree->dtype != DTYPE_FLOAT32 || tree->complex || !own->kind) {
        diag_error(cx, own->value_loc, "a model that computes in %s does not pack its weights as %s",
                   dtype_rows[tree->complex ? dtype_of_parts(tree->dtype) : tree->dtype].name,
                   own->kind ? storage_text(&cx->arena, own->kind) : own->dtype);
        diag_hint(cx, "bfloat16, float16, int8 and int4 are for the dtype float32");
        return false;
    }
    if (spec->pack == SPEC_OFF) {
        diag_error(cx, own->value_loc, "with `pack: none` there are no packed weights to store as %s",
                   storage_text(&cx->arena, own->kind));
        diag_hint(cx, "leave one of the two out");
        return false;
    }
    if (storage_is_scaled(own->kind) && (spec->backward || spec->training)) {
        diag_error(cx, own->value_loc,
                   "weights in %s are for inference: what trains them needs all of their bits",
                   own->kind->name);
        diag_hint(cx, "train in float32, and pack what came of it");
        return false;
    }
    return true;
}

static bool store(struct cx *cx, struct module_tree *tree, const struct spec_storage *own)
{
    const bool narrow = own->kind && own->kind->dtype != tree->dtype;
    const struct spec *spec = tree->spec;
    const struct storage *kind = narrow ? own->kind : NULL;
    bool found = false;

    if (spec->backward || spec->training)
        kind = storage_plain(kind); /* the same numbers; they are packed in each step */
    if (storage_is_scaled(kind) && tree->spec->dynamic) {
        struct storage *dynamic = ARENA_NEW(&cx->arena, struct storage);

        *dynamic = *kind;
        dynamic->dynamic = true;
        kind = dynamic;
    }
    for (int i = 0; i < tree->key_count; i++) {
        struct module_tensor *tensor = tree->keys[i];

        if (!is_parameter(tensor) || (own->pattern && !module_names_parameter(own->pattern, tensor)))
            continue;
        tensor->storage = kind;
        tensor->stored |= own->pattern != NULL;
        tensor->storage_at = (int)(own - tree->spec->storages);
        tensor->storage_loc = own->value_loc;
        found = true;
    }
    return found;
}

/* What patterns say of a tie is said of all that share it. */
static void share_storage(struct cx *cx, struct module_tree *tree, struct module_tensor *tensor)
{
    struct module_tensor *first = tensor->first;
    const struct spec_storage *list = tree->spec->storages;

    if (first == tensor || !tensor->stored)
        return;
    if (first->stored && !storage_equal(first->storage, tensor->storage)) {
        diag_error(cx, list[tensor->storage_at].loc, "%s is tied to %s, which is packed as %s", tensor->path,
                   first->path, first->storage ? storage_text(&cx->arena, first->storage) : "it is");
        diag_note(cx, list[first->storage_at].loc, "said here");
        return;
    }
    first->storage = tensor->storage;
    first->stored = true;
    first->storage_at = tensor->storage_at;
    first->storage_loc = tensor->storage_loc;
}

/* Later patterns say it anew, and all of them what is said of those that none names. */
static void apply_storages(struct cx *cx, struct module_tree *tree)
{
    const struct spec *spec = tree->spec;
    bool integers = false, refused = false;

    for (int named = 0; named < 2; named++) {
        for (int i = 0; i < spec->storage_count; i++) {
            const struct spec_storage *own = &spec->storages[i];

            if ((own->pattern != NULL) != named)
                continue;
            if (!check_storage(cx, tree, own)) {
                refused = true;
                continue;
            }
            if (store(cx, tree, own) || tree->partial || !named)
                continue;
            diag_error(cx, own->loc, "'%s' matches no parameter", own->pattern);
            module_hint_pattern(cx, tree, own->pattern, true);
        }
    }
    for (int i = 0; i < tree->key_count; i++)
        share_storage(cx, tree, tree->keys[i]);
    for (int i = 0; i < tree->key_count; i++) {
        struct module_tensor *tensor = tree->keys[i];

        tensor->storage = tensor->first->storage;
        tensor->stored = tensor->first->stored || (tensor->storage && tensor->tied);
        tree->narrow |= tensor->storage != NULL;
        integers |= storage_is_scaled(tensor->storage);
    }
    if (spec->dynamic && !integers && !refused && !tree->partial) {
        diag_error(cx, spec->activations_loc,
                   "'activations: int8' is for products of weights in integers, of which there are none");
        diag_hint(cx, "say `storage: int8` too");
    }
}

/* What `autocast` does not stand beside. */
static void check_autocast(struct cx *cx, const struct spec *spec)
{
    if (spec->storage_count > 0) {
        diag_error(cx, spec->autocast_loc,
                   "under 'autocast' weights of products are %s, as which they are packed", spec->autocast);
        diag_note(cx, spec->storages[0].loc, "another way to pack them is asked for here");
        diag_hint(cx, "leave one of the two out");
    }
    if (spec->generation) {
        diag_error(cx, spec->autocast_loc, "a model with 'generation' has no 'autocast'");
        diag_hint(cx, "dtype: %s computes in 16 bits, and 'storage' packs weights in it", spec->autocast);
    }
}

void module_apply_paths(struct cx *cx, struct module_tree *tree)
{
    const struct spec *spec = tree->spec;

    if (spec->autocast)
        check_autocast(cx, spec);
    for (int i = 0; i < spec->tie_count; i++)
        tie(cx, tree, &spec->ties[i]);
    for (int i = 0; i < spec->freeze.count; i++) {
        if (freeze(tree, spec->freeze.list[i]) || tree->partial)
            continue;
        diag_error(cx, spec->freeze.locs[i], "'%s' matches no parameter", spec->freeze.list[i]);
        module_hint_pattern(cx, tree, spec->freeze.list[i], true);
    }
    settle_ties(tree);
    apply_storages(cx, tree);
    module_read_ranges(cx, tree);
    for (int i = 0; i < spec->checkpoint.count; i++) {
        bool found = tree->partial;

        for (int j = 0; j < tree->module_count; j++) {
            if (!names_module(spec->checkpoint.list[i], tree->modules[j]))
                continue;
            tree->modules[j]->checkpoint = true;
            found = true;
        }
        if (found)
            continue;
        diag_error(cx, spec->checkpoint.locs[i], "'%s' matches no module", spec->checkpoint.list[i]);
        module_hint_pattern(cx, tree, spec->checkpoint.list[i], false);
    }
}
