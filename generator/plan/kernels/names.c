/* names.c - what kernels are called in C. */
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "base/c_names.h"
#include "base/emitted.h"
#include "base/names.h"
#include "plan/kernels/draft.h"
#include "plan/plan_pack.h"

/* ---- words -------------------------------------------------------------------------------------------------- */

void name_dim(struct cx *cx, struct text *text, const struct dim *dim)
{
    const char *source = dim_text(&cx->arena, dim);
    bool gap = false;

    for (; *source; source++) {
        if (isalnum((unsigned char)*source)) {
            if (gap)
                text_add(text, "_");
            text_printf(text, "%c", *source);
            gap = false;
        } else {
            gap = true;
        }
    }
}

void name_dims(struct cx *cx, struct text *text, int ndim, const struct dim *const *dims)
{
    if (ndim == 0)
        text_add(text, "_scalar");
    for (int i = 0; i < ndim; i++) {
        text_add(text, i ? "x" : "_");
        name_dim(cx, text, dims[i]);
    }
}

const char *tail_name(const struct op *op, const char *base)
{
    size_t length = strlen(base);

    return op->tail && op->label && strncmp(op->label, base, length) == 0 ? op->label + length : "";
}

/* Behind an underscore, where something is before. */
static void add_words(struct text *text, const char *words)
{
    words += words[0] == '_';
    if (words[0])
        text_printf(text, "%s%s", text->length > 0 ? "_" : "", words);
}

const char *few_words(struct cx *cx, const char *words)
{
    const char *end = words;

    for (int i = 0; i < 4 && end; i++)
        end = *end ? strchr(end + 1, '_') : NULL;
    return end ? arena_copy(&cx->arena, words, (size_t)(end - words)) : words;
}

const char *outer_words(struct cx *cx, const char *words)
{
    const char *first = few_words(cx, words);

    if (!words[strlen(first)])
        return words;
    return arena_format(&cx->arena, "%.*s%s", (int)(strrchr(first, '_') - first), first, strrchr(words, '_'));
}

/* What is fused, in words: "_relu" of "linear_relu", "_add_dtanh" of "dlinear_add_dtanh". */
static const char *tail_words(const struct op *op)
{
    const char *label = op->label ? op->label : "";
    const size_t length = op->first ? strlen(op->first) : 0;

    return length > 0 && strncmp(label, op->first, length) == 0 && label[length] == '_' ? label + length
                                                                                        : "_then";
}

/* Flags that make one core another one, and the words for them, in the order in which they stand. */
static const struct flag_word {
    const char *hole;
    int64_t value;
    const char *word;
} flag_words[] = {
    {"T_lstm", 1, "lstm"},
    {"T_gru", 1, "gru"},
    {"T_relu", 1, "relu"},
    {"T_form", 2, "dot"},
    {"T_form", 0, "plain"},
    {"T_form", 3, "rows"},
    {"T_packs_x", 1, "x"},
    {"T_packs_w", 1, "w"},
    {"T_windowed", 1, "windowed"},
    {"T_capped", 1, "capped"},
    {"T_bias", 1, "bias"},
    {"T_weight", 1, "weight"},
    {"T_fixed_m", 1, "fixed"},
    {"T_fixed_ow", 0, "any"},
    {"T_fixed_tiles", 1, "fixed"},
    {"T_fixed_n", 0, "any"},
    {"T_cached", 1, "cached"},
    {"T_streams", 1, "streams"},
    {"T_log", 1, "log"},
    {"T_wide", 1, "wide"},
    {"T_in_place", 1, "in_place"},
    {"T_scaled", 1, "scaled"},
    {"T_causal", 1, "causal"},
    {"T_is_max", 1, "max"},
    {"T_is_max", 0, "mean"},
    {"T_clipped_h", 1, "clipped_h"},
    {"T_clipped_w", 1, "clipped_w"},
    {"T_dilated", 1, "dilated"},
    {"T_uneven", 1, "uneven"},
    {"T_count_include_pad", 1, "with_padding"},
    {"T_compact", 1, "compact"},
    {"T_rest", 1, "with_rest"},
    {"T_part", 1, "with_parts"},
    {"T_few", 0, "large"},
    {"T_step", 1, "step_1"},
    {"T_step", 3, "steps"},
    {"T_safe", 1, "safe"},
    {"T_from_real", 1, "from_real"},
    {"T_to_real", 1, "to_real"},
    {"T_inverse", 1, "inverse"},
    {"T_odd", 1, "odd"},
    {"T_split", 1, "split"},
    {"T_gathers", 1, "gathers"},
    {"T_turned", 1, "turned"},
    {"T_even", 1, "even"},
    {"T_gradient", 1, "gradient"},
    {"T_lengths", 1, "lengths"},
    {"T_projects", 1, "projects"},
    {"T_state", 1, "from_state"},
    {"T_h0", 1, "from_h"},
    {"T_c0", 1, "from_c"},
    {"T_saves", 1, "saves"},
    {"T_last", 1, "last"},
    {"T_cell", 1, "cell"},
    {"T_to_state", 1, "to_state"},
    {"T_across", 1, "across"},
    {"T_head", 1, "convert"},
    {"T_apart", 1, "apart"},
    {"T_by_rows", 1, "slice"},
    {"T_by_columns", 1, "slice_of_columns"},
    {"T_by_groups", 1, "slice_of_groups"},
    {"T_by_batches", 1, "slice_of_batches"},
};

static void add_flags(struct text *text, const struct kernel *kernel)
{
    for (size_t f = 0; f < sizeof flag_words / sizeof *flag_words; f++)
        for (int i = 0; i < kernel->hole_count; i++)
            if (kernel->holes[i].kind == HOLE_INT && strcmp(kernel->holes[i].name, flag_words[f].hole) == 0 &&
                kernel->holes[i].integer == flag_words[f].value)
                text_printf(text, "_%s", flag_words[f].word);
}

const char *core_part_stem(const struct draft *draft, const struct kernel *parts)
{
    struct cx *cx = draft->cx;
    struct text text = text_new(&cx->arena);

    text_printf(&text, "%s_%s", draft->step->algorithm->name, parts->role);
    add_flags(&text, parts);
    return text.data;
}

const char *core_stem(const struct draft *draft, bool shared)
{
    struct cx *cx = draft->cx;
    const struct kernel *kernel = draft->kernel;
    struct text text = text_new(&cx->arena);

    text_add(&text, draft->step->algorithm->name);
    if (draft->narrow)
        text_printf(&text, "_%s", storage_word(&cx->arena, draft->narrow));
    add_flags(&text, kernel);
    if (!shared)
        text_add(&text, few_words(cx, tail_words(draft->op)));
    else if (kernel->extra_count > 0)
        text_printf(&text, "_reads_%d", kernel->extra_count);
    if (!kernel->parameters[0].restricted)
        text_add(&text, "_onto");
    return text.data;
}

const char *op_label(const struct op *op)
{
    return op->label ? op->label : op_rows[op->code]->name;
}

const char *tail_label(struct cx *cx, const struct op *op)
{
    return outer_words(cx, tail_words(op)) + 1;
}

/* ---- whom kernels serve ------------------------------------------------------------------------------------------ */

/* A kernel is called after the first that it serves, so that none is renamed where others come to share it. */
static void add_user(struct kernel *kernel, const struct kernel_users *user)
{
    if (!kernel->users.known) {
        kernel->users = *user;
        kernel->users.known = true;
    }
}

/* A kernel and those that it calls. */
static void add_user_of_all(const struct kernel *kernel, const struct kernel_users *user)
{
    add_user((struct kernel *)kernel, user); /* the plan's own */
    if (kernel->parts)
        add_user_of_all(kernel->parts, user);
    if (kernel->core)
        add_user_of_all(kernel->core, user);
    for (int i = 0; i < kernel->hole_count; i++)
        if (kernel->holes[i].kind == HOLE_KERNEL)
            add_user_of_all(kernel->holes[i].kernel, user);
}

/* Whether one of the kernels serves nobody yet; then those that it calls may not either. */
static bool wants_user(const struct kernel_calls *calls)
{
    for (int i = 0; i < calls->count; i++)
        if (!calls->list[i].kernel->users.known)
            return true;
    return false;
}

/* The class of a region, without what tells it from others of the class: "block" of "block_64". */
static const char *class_name(struct cx *cx, const char *region)
{
    size_t length = 0;

    while (region[length] && !(region[length] == '_' && isdigit((unsigned char)region[length + 1])))
        length++;
    return arena_copy(&cx->arena, region, length);
}

/* The module that an op is of. What adds up the gradient of a parameter is of the parameter's. */
static const struct module *served_module(const struct variant *variant, const struct op *op)
{
    const struct place *place = op->output_count > 0 ? &variant->places[op->outputs[0]->base->id] : NULL;

    if (op->call)
        return op->call->module;
    return place && place->kind == PLACE_GRADIENT ? place->tensor->owner : NULL;
}

static void serve_module(struct cx *cx, const struct variant *variant, const struct op *op,
                         struct kernel_users *user)
{
    const struct graph *graph = variant->graph;
    const struct module *module = served_module(variant, op);
    const char *path = module ? emitted_flat(cx, relative_path(graph->root, module->path)) : "";

    user->module = module && module->parent ? module->index : INT_MAX - 1;
    if (user->backward && op->last &&
        op->last->module->child_count == 0) /* where that one's own kernels stand */
        user->module = op->last->module->index;
    if (graph->region)
        user->path = arena_format(&cx->arena, "%s%s%s", class_name(cx, graph->region->name),
                                  path[0] && path[0] != '_' ? "_" : "", path);
    else
        user->path = path[0] == '_' ? arena_format(&cx->arena, "y%s", path) : path;
}

/* In backward a product is the gradient of its input where it reads the weight, else that of the weight. */
static const char *product_words(const struct step *step)
{
    const struct value *weight = step->op->inputs[1]->base;

    return step_packed(step, 1) || weight->prepared || weight->op->code == GRAPH_OP_TENSOR ? "_dinput"
                                                                                           : "_dweight";
}

/* A module without tensors that is one function of each element: another one in its place is to change no name. */
static bool is_plain_function(const struct op *op)
{
    const struct module *module = op->call ? op->call->module : NULL;

    if (!module || module->child_count > 0 || module->tensor_count > 0)
        return false;
    return op->code == GRAPH_OP_RANDOM || (op->code == GRAPH_OP_MAP && !dag_is_identity(op->dag));
}

/* dweight, dbias, ...: there is one in every module, and a module that comes or goes is not to change how they are called. */
static bool is_own_gradient(const struct module *module, const char *name)
{
    for (int i = 0; i < module->tensor_count; i++)
        if (name[0] == 'd' && strcmp(name + 1, module->tensors[i]->name) == 0)
            return true;
    return false;
}

/* What a step computes first, and that it does more behind that. */
static const char *step_words(struct cx *cx, const struct step *step)
{
    const char *called = step->algorithm ? step->algorithm->called : NULL;

    if (!called)
        return op_words(cx, step->op);
    return step->op->first ? arena_format(&cx->arena, "%s_fused", called) : called;
}

/* What a step makes, where there is a word for it: the gradient of a parameter or of an input, a buffer; else what it computes
 * first, and that it does more behind that. */
static const char *result_words(struct cx *cx, const struct variant *variant, const struct step *step)
{
    const struct op *op = step->op;
    const struct place *place = op->output_count > 0 ? &variant->places[op->outputs[0]->base->id] : NULL;
    const struct value *y = op->output_count > 0 ? op->outputs[0]->base : NULL;
    bool backward = variant->yield >= 0 && step - variant->steps > variant->yield;

    if (op->code == GRAPH_OP_WRITE)
        return arena_format(&cx->arena, "_%s", emitted_name(cx, op->write.tensor->name));
    if (place && place->kind == PLACE_GRADIENT)
        return arena_format(&cx->arena, "_d%s%s", emitted_name(cx, place->tensor->name),
                            op->call ? "" : "_accumulate");
    if (backward && op_rows[op->code]->weighted)
        return product_words(step);
    if (backward && y && y->name && op->call && is_own_gradient(op->call->module, y->name))
        return arena_format(&cx->arena, "_%s", y->name);
    if (op->first && y && y->name && (op->code == GRAPH_OP_MAP || op->code == GRAPH_OP_REDUCE))
        return arena_format(&cx->arena, "_%s", emitted_name(cx, y->name));
    if (is_plain_function(op))
        return arena_format(&cx->arena, "_%s%s", backward ? "dinput" : "forward",
                            op->first && !(op->last && op->last->module == op->call->module) ? "_fused" : "");
    if (!op->first && step_packed(step, 1) && is_folded(step_packed(step, 1)))
        return arena_format(&cx->arena, "_%s_folded", step_words(cx, step));
    return op->first ? arena_format(&cx->arena, "_%s", step_words(cx, step)) : "";
}

/* What the spec calls its result; "": nothing. */
static const char *value_words(struct cx *cx, const struct op *op)
{
    const struct value *y = op->output_count > 0 ? op->outputs[0] : NULL; /* of a part of a kernel no base */
    const char *name = y && y->base ? y->base->name : NULL;

    return name ? emitted_name(cx, name) : "";
}

/* What it reads, as the spec calls it: "x_mask". */
static const char *read_words(struct cx *cx, const struct op *op)
{
    struct text words = text_new(&cx->arena);

    for (int i = 0; i < op->input_count; i++) {
        const char *name = op->inputs[i]->base->name;
        bool told = !name;

        for (int j = 0; j < i && !told; j++)
            told = op->inputs[j]->base->name && strcmp(op->inputs[j]->base->name, name) == 0;
        if (!told)
            add_words(&words, emitted_name(cx, name));
    }
    return few_words(cx, words.data ? words.data : "");
}

void note_users(struct cx *cx, const struct variant *variant, const struct step *step)
{
    const struct op *op = step->op;
    struct kernel_users user = {.function = variant->function};

    if (step->calls.count == 0 || !(wants_user(&step->calls) || wants_user(&step->packings)))
        return;
    user.backward = variant->yield >= 0 && step - variant->steps > variant->yield;
    serve_module(cx, variant, op, &user);
    user.words = result_words(cx, variant, step);
    user.label = step->algorithm && step->algorithm->called ? step->algorithm->called : op_label(op);
    user.value = value_words(cx, op);
    user.reads = read_words(cx, op);
    for (int i = 0; i < step->calls.count; i++)
        add_user_of_all(step->calls.list[i].kernel, &user);
    user = (struct kernel_users){.module = user.module,
                                 .path = arena_format(&cx->arena, "%s_weight", user.path),
                                 .words = "",
                                 .label = "values",
                                 .value = "",
                                 .reads = "",
                                 .function = ""};
    for (int i = 0; i < step->packings.count; i++)
        add_user_of_all(step->packings.list[i].kernel, &user);
}

void note_entry(const struct kernel_calls *calls, const struct packed *entry)
{
    const struct kernel_users user = {
        .path = entry->name, .words = "", .label = "values", .value = "", .reads = "", .function = ""};

    for (int i = 0; i < calls->count; i++)
        add_user_of_all(calls->list[i].kernel, &user);
}

/* ---- the names of all kernels --------------------------------------------------------------------------------- */

/* Like a type of C, int32_t, a function of a header, lgamma_r, or a table of the model, keys_table. */
static bool is_of_others(const char *name)
{
    static const char *const ends[] = {"_t", "_table", "_io", "_call"};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (text_ends_with(name, ends[i]) && name[strlen(ends[i])])
            return true;
    return c_is_function(name);
}

/* Whom it serves, and what it does there: "fc_relu", "fc_dweight", "trunk_linear_tanh" of several of a list. */
static void add_service(struct cx *cx, struct text *text, const struct kernel *kernel)
{
    const struct kernel_users *users = &kernel->users;

    add_words(text, kernel->before ? kernel->before : "");
    add_words(text, users->path[0] || kernel->before ? users->path : "root"); /* exp alone is the library's */
    if (users->words[0] && !(kernel->role && users->path[0]))
        add_words(text, few_words(cx, users->words));
    else if (!kernel->before && (!kernel->role || !users->path[0]))
        add_words(text, few_words(cx, users->label));
    add_words(text, kernel->role ? kernel->role : "");
}

static const char *kernel_name(struct cx *cx, const struct kernel *kernel)
{
    struct text text = text_new(&cx->arena);

    if (kernel->own_name)
        text_add(&text, kernel->stem);
    else
        add_service(cx, &text, kernel);
    return emitted_name(cx, text.data);
}

/* What tells kernels apart that would have one name, in the order in which it is tried. */
enum { TELL_LABEL, TELL_TEMPLATE, TELL_VALUE, TELL_READS, TELL_FUNCTION, TELL_SHAPE, TELL_COUNT };

static const char *telling(struct cx *cx, const struct kernel *kernel, int what)
{
    const struct kernel_users *users = &kernel->users;
    const char *file = kernel->core ? kernel->core->template : kernel->template;
    bool same = strncmp(kernel->stem, users->label, strlen(users->label)) == 0; /* that is told already */

    switch (what) {
    case TELL_VALUE:
        return users->value;
    case TELL_READS:
        return users->reads;
    case TELL_LABEL:
        return users->words[0] ? few_words(cx, users->label) : "";
    case TELL_TEMPLATE:
        return file && !kernel->own_name ? file : "";
    case TELL_FUNCTION:
        return users->function;
    default:
        return kernel->own_name ? "" : kernel->stem + (same ? strlen(users->label) : 0);
    }
}

/* Locals of functions would hide a kernel of their name, and other functions of the model have theirs; kernels that are named
 * already keep what they have. */
static struct names taken_names(struct cx *cx, const struct plan *plan)
{
    const struct module_tree *tree = plan->program->tree;
    struct names taken = {0};

    for (int i = 0; i < plan->variant_count; i++)
        for (int id = 0; id < plan->variants[i]->graph->value_count && !plan->variants[i]->same; id++)
            if (plan->variants[i]->places[id].name)
                names_add(&cx->arena, &taken, plan->variants[i]->places[id].name, "", (struct loc){0});
    for (int i = 0; i < tree->size_count; i++)
        names_add(&cx->arena, &taken, tree->sizes[i].c_name, "", (struct loc){0});
    for (int i = 0; i < plan->variant_count; i++)
        names_add(&cx->arena, &taken, plan->variants[i]->function, "", (struct loc){0});
    for (int i = 0; emitted_functions[i]; i++)
        names_add(&cx->arena, &taken, arena_format(&cx->arena, "%s_%s", plan->model, emitted_functions[i]),
                  "", (struct loc){0});
    for (int i = 0; i < plan->program->entry_count; i++)
        names_add(&cx->arena, &taken,
                  arena_format(&cx->arena, "%s_%s", plan->model, plan->program->entries[i].name), "",
                  (struct loc){0});
    for (int i = 0; i < plan->function_count; i++) {
        const char *name = plan->functions[i]->name;

        names_add(&cx->arena, &taken, arena_format(&cx->arena, "%s_s", name), "", (struct loc){0});
        names_add(&cx->arena, &taken, arena_format(&cx->arena, "%s_v", name), "", (struct loc){0});
    }
    for (int i = 0; i < plan->kernel_count; i++)
        if (plan->kernels[i]->name)
            names_add(&cx->arena, &taken, plan->kernels[i]->name, "", (struct loc){0});
    return taken;
}

/* Kernels that are to be named, and what they are called so far. */
struct naming {
    struct cx *cx;
    const struct names *taken;
    struct kernel **list;
    const char **names;
    int count;
    int *next; /* another one of the same name, or -1 */
};

/* Finds who has which name: `next` links them; returns which is the first of its name. */
static bool *group_names(struct naming *naming)
{
    struct arena *arena = &naming->cx->arena;
    struct names seen = {0};
    int *last = ARENA_ARRAY(arena, naming->count + 1, int);
    bool *first = ARENA_ARRAY(arena, naming->count + 1, bool);

    for (int i = 0; i < naming->count; i++) {
        const struct name_entry *other = names_add(arena, &seen, naming->names[i], "", (struct loc){0});

        naming->next[i] = -1;
        first[i] = !other;
        if (other)
            naming->next[last[other->index]] = i;
        last[other ? other->index : seen.count - 1] = i;
    }
    return first;
}

static bool is_free(const struct naming *naming, int i)
{
    return !is_of_others(naming->names[i]) && !names_find(naming->taken, naming->names[i]);
}

static bool has_word(const char *words, const char *word, size_t length)
{
    for (; *words; words += strcspn(words, "_"), words += *words == '_')
        if (strncmp(words, word, length) == 0 && (!words[length] || words[length] == '_'))
            return true;
    return false;
}

/* Of "forward_eval_saving" behind "forward_eval_fenced", "saving". */
static const char *further_words(struct cx *cx, const char *words, const char *first)
{
    struct text text = text_new(&cx->arena);

    for (size_t length; *words; words += length, words += *words == '_') {
        length = strcspn(words, "_");
        if (!has_word(first, words, length))
            text_printf(&text, "_%.*s", (int)length, words);
    }
    return text.data ? text.data : "";
}

/* The first of one name keeps it, unless something else has it; the others tell what they differ from it in. So no kernel
 * changes its name where another one comes behind it. */
static void tell_apart(struct naming *naming, int first, int what)
{
    struct cx *cx = naming->cx;
    const char *own = telling(cx, naming->list[first], what);

    for (int i = is_free(naming, first) ? naming->next[first] : first; i >= 0; i = naming->next[i]) {
        const char *words = telling(cx, naming->list[i], what);
        struct text text = text_new(&cx->arena);

        if (i != first && strcmp(words, own) == 0)
            continue;
        text_add(&text, naming->names[i]);
        add_words(&text, what == TELL_FUNCTION && i != first ? further_words(cx, words, own) : words);
        naming->names[i] = text.data;
    }
}

/* What no words tell apart gets letters. */
static void add_letters(struct naming *naming, int first)
{
    int letter = 1;

    for (int i = is_free(naming, first) ? naming->next[first] : first; i >= 0; i = naming->next[i], letter++)
        naming->names[i] = arena_format(&naming->cx->arena, "%s_%c", naming->names[i], 'a' + letter % 26);
}

void name_kernels(struct cx *cx, struct plan *plan)
{
    struct naming naming = {.cx = cx};
    struct names taken;
    bool again = true;

    name_functions(cx, plan);
    taken = taken_names(cx, plan);
    naming.taken = &taken;
    naming.list = ARENA_ARRAY(&cx->arena, plan->kernel_count + 1, struct kernel *);
    naming.names = ARENA_ARRAY(&cx->arena, plan->kernel_count + 1, const char *);
    naming.next = ARENA_ARRAY(&cx->arena, plan->kernel_count + 1, int);
    for (int i = 0; i < plan->kernel_count; i++)
        if (!plan->kernels[i]->name)
            naming.list[naming.count++] = plan->kernels[i];
    for (int i = 0; i < naming.count; i++)
        naming.names[i] = kernel_name(cx, naming.list[i]);
    for (int what = 0; again; what++) {
        const bool *first = group_names(&naming);

        again = false;
        for (int i = 0; i < naming.count; i++) {
            if (!first[i] || (naming.next[i] < 0 && is_free(&naming, i)))
                continue;
            again = true;
            if (what < TELL_COUNT)
                tell_apart(&naming, i, what);
            else
                add_letters(&naming, i);
        }
    }
    for (int i = 0; i < naming.count; i++)
        naming.list[i]->name = naming.names[i];
    for (int i = 0; i < plan->kernel_count; i++)
        complete_comment(cx, plan->kernels[i]);
}
