/* order.c - in which order kernels stand in the emitted file: cores first, by their names, then those of each module, in the
 * order of the modules, so that a change of one module changes one place and moves nothing else. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "plan/kernels/draft.h"

/* Kernels to be put in order, each behind those that it calls. */
struct ordering {
    struct kernel **list;
    int count;
    bool *done; /* by index of what was there before */
    const struct kernel *const *before;
};

static int rank_of(const struct kernel *kernel)
{
    return kernel->own_name ? -1 : kernel->users.module;
}

static void place(struct ordering *ordering, const struct kernel *kernel, int all)
{
    int at = 0;

    while (at < all && ordering->before[at] != kernel)
        at++;
    if (at == all || ordering->done[at]) /* or it is one of those that packing alone calls */
        return;
    ordering->done[at] = true;
    if (kernel->parts)
        place(ordering, kernel->parts, all);
    if (kernel->core)
        place(ordering, kernel->core, all);
    for (int i = 0; i < kernel->hole_count; i++)
        if (kernel->holes[i].kind == HOLE_KERNEL)
            place(ordering, kernel->holes[i].kernel, all);
    ordering->list[ordering->count++] = (struct kernel *)kernel; /* the plan's own */
}

/* By rank; of a module what forward calls before what backward calls; by name: in which order a pass calls them is no matter of
 * the module alone. */
static int compare(const void *a, const void *b)
{
    const struct kernel *x = *(const struct kernel *const *)a, *y = *(const struct kernel *const *)b;
    const int first = rank_of(x), second = rank_of(y);

    if (first != second)
        return first < second ? -1 : 1;
    if (first >= 0 && x->users.backward != y->users.backward)
        return x->users.backward - y->users.backward;
    return strcmp(x->name, y->name);
}

void order_kernels(struct cx *cx, struct plan *plan)
{
    const int all = plan->function_kernels;
    const struct kernel **before = ARENA_ARRAY(&cx->arena, all + 1, const struct kernel *);
    struct ordering ordering = {
        .list = plan->kernels, .done = ARENA_ARRAY(&cx->arena, all + 1, bool), .before = before};

    for (int i = 0; i < all; i++)
        before[i] = plan->kernels[i];
    qsort(before, (size_t)all, sizeof *before, compare);
    for (int i = 0; i < all; i++)
        if (before[i]->own_name ||
            !before[i]->role) /* a part that is no core stands before the kernel that calls it */
            place(&ordering, before[i], all);
    for (int i = 0; i < all; i++)
        place(&ordering, before[i], all);
}
