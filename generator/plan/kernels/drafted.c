/* drafted.c - which kernel a step has when one was drawn up before for one like it: models repeat ops, and all that a draft
 * reads of a step takes less time to compare than the draft to make. */
#include "plan/kernels/draft.h"

#include <stddef.h>
#include <string.h>

enum { DRAFTED_LISTS = 4096 };

/* By what tells them apart mostly. */
struct drafted {
    struct drafted_kernel *lists[DRAFTED_LISTS];
};

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Node by node: comments number them. */
static bool alike(const struct dag *a, const struct dag *b)
{
    if (a == b || !a || !b)
        return a == b;
    for (int i = 0; i < a->count && i < b->count; i++)
        if (memcmp(a->nodes[i].args, b->nodes[i].args, sizeof a->nodes[i].args) != 0)
            return false;
    return dag_equal(a, b);
}

static bool same_dims(const struct dim *const *a, const struct dim *const *b, int count)
{
    for (int i = 0; i < count; i++)
        if (a[i] != b[i] && !dim_equal(a[i], b[i]))
            return false;
    return true;
}

static bool same_values(struct value *const *a, struct value *const *b, int count)
{
    for (int i = 0; i < count; i++)
        if (a[i]->dtype != b[i]->dtype || a[i]->ndim != b[i]->ndim ||
            !same_dims(a[i]->dims, b[i]->dims, a[i]->ndim) ||
            !same_dims(a[i]->strides, b[i]->strides, a[i]->ndim))
            return false;
    return true;
}

/* Which entry it is does not matter, but what is in it. */
static bool same_packed(const struct step *a, const struct step *b)
{
    for (int i = 0; i < a->op->input_count; i++) {
        const struct packed *x = step_packed(a, i), *y = step_packed(b, i);

        if (x != y &&
            (!x || !y || x->format != y->format || x->dtype != y->dtype || x->n != y->n || x->k != y->k ||
             x->count != y->count || x->panel != y->panel || x->groups != y->groups || x->woven != y->woven ||
             !storage_equal(x->storage, y->storage) || x->passing != y->passing))
            return false;
    }
    return true;
}

static const struct module *module_of(const struct op *op)
{
    return op->call ? op->call->module : NULL;
}

/* Functions of elements are named for modules, so that is compared too. */
static bool same_op(const struct op *a, const struct op *b)
{
    const size_t attributes = offsetof(struct op, input);

    return a->code == b->code && module_of(a) == module_of(b) && a->input_count == b->input_count &&
           a->output_count == b->output_count && a->tail_first == b->tail_first &&
           same_text(a->label, b->label) && same_text(a->first, b->first) && alike(a->dag, b->dag) &&
           alike(a->head, b->head) && alike(a->tail, b->tail) &&
           memcmp((const char *)a + attributes, (const char *)b + attributes, sizeof *a - attributes) == 0 &&
           same_values(a->inputs, b->inputs, a->input_count) &&
           same_values(a->outputs, b->outputs, a->output_count);
}

static bool same_step(const struct step *a, const struct step *b)
{
    return a->algorithm == b->algorithm && a->split.axis == b->split.axis &&
           a->split.slices == b->split.slices && a->split.values == b->split.values &&
           (a->scratch_offset < 0) == (b->scratch_offset < 0) && same_op(a->op, b->op) && same_packed(a, b);
}

static int list_of(const struct step *step)
{
    const struct op *op = step->op;
    const struct value *const ends[] = {op->inputs[0], op->outputs[0]};
    uint64_t hash = (uint64_t)op->code;

    hash = hash * 31 + (uint64_t)(module_of(op) ? module_of(op)->index : -1);
    for (int i = 0; i < COUNT(ends); i++) {
        hash = hash * 31 + (uint64_t)ends[i]->dtype;
        for (int k = 0; k < ends[i]->ndim; k++)
            hash = hash * 31 + (uint64_t)dim_upper(ends[i]->dims[k]);
    }
    return (int)((hash * 0x9E3779B97F4A7C15u) >> 32) & (DRAFTED_LISTS - 1);
}

static struct drafted_kernel **list_in(struct making *making)
{
    struct plan *plan = making->plan;

    if (!plan->drafted)
        plan->drafted = ARENA_NEW(&making->cx->arena, struct drafted);
    return &plan->drafted->lists[list_of(making->step)];
}

struct drafted_kernel *drafted_like(struct making *making, bool over_y)
{
    struct drafted_kernel **list = list_in(making), *own = *list;

    while (own && !(own->over_y == over_y && same_step(own->step, making->step)))
        own = own->next;
    if (!own) {
        own = ARENA_NEW(&making->cx->arena, struct drafted_kernel);
        *own = (struct drafted_kernel){.step = making->step, .next = *list, .over_y = over_y};
        *list = own;
    }
    return own;
}

const struct kernel *drafted_kernel(struct making *making, bool over_y, int *head_count)
{
    struct drafted_kernel *own = drafted_like(making, over_y);

    if (!own->kernel) {
        struct draft draft = {.cx = making->cx, .plan = making->plan, .over_y = over_y};

        own->kernel = template_kernel(&draft, making->step);
        own->head_count = draft.head_count;
    }
    *head_count = own->head_count;
    return own->kernel;
}
