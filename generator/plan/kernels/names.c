/* names.c - what kernels are called in C. */
#include <ctype.h>
#include <string.h>

#include "base/names.h"
#include "plan/kernels/draft.h"

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

/* What is fused behind the op's own word: "_relu". A softmax has it before. */
static const char *tail_words(const struct op *op)
{
    static const char *const words[] = {"linear", "matmul", "layer_norm", "softmax", "log_softmax"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tail_name(op, words[i])[0])
            return tail_name(op, words[i]);
    return op->head ? "_of" : "_then";
}

const char *size_name(struct cx *cx, const struct module_tree *tree, const char *name)
{
    for (int i = 0; i < tree->size_count; i++)
        if (strcmp(tree->sizes[i].c_name, name) == 0)
            return size_name(cx, tree, arena_format(&cx->arena, "%s_", name));
    return name;
}

/* Flags that make one core another one, and the words for them, in the order in which they stand. */
static const struct flag_word {
    const char *hole;
    int64_t value;
    const char *word;
} flag_words[] = {
    {"T_form", 2, "dot"},
    {"T_form", 0, "plain"},
    {"T_bias", 1, "bias"},
    {"T_weight", 1, "weight"},
    {"T_fixed_m", 1, "rows"},
    {"T_fixed_n", 0, "any"},
    {"T_small", 0, "bands"},
    {"T_cached", 1, "cached"},
    {"T_streams", 1, "streams"},
    {"T_log", 1, "log"},
    {"T_wide", 1, "wide"},
    {"T_in_place", 1, "in_place"},
    {"T_scaled", 1, "scaled"},
    {"T_causal", 1, "causal"},
    {"T_safe", 1, "safe"},
    {"T_by_rows", 1, "slice"},
    {"T_by_columns", 1, "slice_of_columns"},
    {"T_by_batches", 1, "slice_of_batches"},
};

const char *core_stem(const struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct kernel *kernel = draft->kernel;
    const char *label = draft->op->label ? draft->op->label : "";
    struct text text = text_new(&cx->arena);

    text_add(&text, draft->step->algorithm->name);
    if (draft->narrow)
        text_printf(&text, "_%s", dtype_rows[step_packed(draft->step, 1)->dtype].name);
    for (size_t f = 0; f < sizeof flag_words / sizeof *flag_words; f++)
        for (int i = 0; i < kernel->hole_count; i++)
            if (strcmp(kernel->holes[i].name, flag_words[f].hole) == 0 &&
                kernel->holes[i].integer == flag_words[f].value)
                text_printf(&text, "_%s", flag_words[f].word);
    if (kernel->tail && strchr(label, '_'))
        text_add(&text, tail_words(draft->op));
    if (!kernel->parameters[0].restricted)
        text_add(&text, "_onto");
    return text.data;
}

/* ---- the names of all kernels --------------------------------------------------------------------------------- */

/* Like a type of C: int32_t. */
static bool is_type(const char *name)
{
    return text_ends_with(name, "_t") && name[2];
}

/* Locals of functions would hide a kernel of their name. */
static struct names taken_names(struct cx *cx, const struct plan *plan)
{
    struct names taken = {0};

    for (int i = 0; i < plan->variant_count; i++)
        for (int id = 0; id < plan->variants[i]->graph->value_count; id++)
            if (plan->variants[i]->places[id].name)
                names_add(&cx->arena, &taken, plan->variants[i]->places[id].name, "", (struct loc){0});
    for (int i = 0; i < plan->kernel_count; i++)
        if (plan->kernels[i]->name)
            names_add(&cx->arena, &taken, plan->kernels[i]->name, "", (struct loc){0});
    return taken;
}

/* What tells a kernel from another one of its stem, the more the higher `round` is: the module that it serves, the function
 * that calls it, all strides; NULL: there is nothing more. */
static const char *other_words(struct cx *cx, const struct kernel *kernel, int round)
{
    const char *module = kernel->module ? emitted_flat(cx, kernel->module) : "";
    struct text text = text_new(&cx->arena);

    text_add(&text, kernel->stem);
    if (round > 0 && module[0])
        text_printf(&text, "%s%s", module[0] == '_' ? "" : "_", module);
    if (round > 1 && kernel->function)
        text_printf(&text, "_%s", kernel->function);
    for (int i = 0; round > 2 && i < kernel->nest.operand_count; i++)
        name_dims(cx, &text, kernel->nest.ndim, kernel->nest.operands[i].strides);
    for (int i = 3; i < round; i++)
        text_add(&text, "_");
    return text.data;
}

static const char *kernel_name(struct cx *cx, struct names *taken, const struct kernel *kernel)
{
    const char *name;

    for (int round = 0;; round++) {
        name = other_words(cx, kernel, round);
        if (!is_type(name) && !names_add(&cx->arena, taken, name, "", (struct loc){0}))
            return name;
    }
}

void name_kernels(struct cx *cx, struct plan *plan)
{
    struct names taken = taken_names(cx, plan);

    for (int i = 0; i < plan->kernel_count; i++)
        if (!plan->kernels[i]->name)
            plan->kernels[i]->name = kernel_name(cx, &taken, plan->kernels[i]);
}
