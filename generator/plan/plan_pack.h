/* plan_pack.h - packed entries, for plan.c. */
#ifndef MODC_PLAN_PACK_H
#define MODC_PLAN_PACK_H

#include "base/storage.h"
#include "plan/plan.h"

/* How an entry holds a value. */
struct packing {
    enum packed_format format;
    const struct storage *storage; /* as what it is rounded; NULL: as it is */
    int n_axis;                    /* the axis of the value that panels and rows run over; -1 for DENSE */
    int groups;                    /* so many parts of that axis are padded apart */
    bool woven; /* panels: the rows of the groups lie together, those of one panel of each */
};

/* The entry of `group` that holds `value` so; made if there is none. `root` is the instance of the group's class that the
 * tensors belong to. */
const struct packed *pack_entry(struct cx *cx, struct pack_group *group, const struct module *root,
                                struct packing packing, struct value *value);

/* The same, but an entry that is `passing`. */
struct packed *pack_passing(struct cx *cx, struct pack_group *group, const struct module *root,
                            struct packing packing, struct value *value);

/* The same, but NULL where there is none yet. */
const struct packed *pack_find(struct cx *cx, struct pack_group *group, const struct module *root,
                               struct packing packing, struct value *value);

/* Whether more than the weight is in it: the norm behind its module, a factor. */
bool is_folded(const struct packed *entry);

/* What it computes of its operands: "x0 * x1". */
void pack_entry_text(struct text *text, const struct packed *entry);

#endif
