/* plan_pack.h - packed entries, for plan.c. */
#ifndef MODC_PLAN_PACK_H
#define MODC_PLAN_PACK_H

#include "plan.h"

/* The entry of `group` that holds `value` in that format; made if there is none. `n_axis` is the axis of value that
 * panels and rows run over; -1 for DENSE. `groups`: so many parts of that axis are padded apart. `root` is the instance of the group's class that the tensors belong to. */
const struct packed *pack_entry(struct cx *cx, struct pack_group *group, const struct module *root,
                                enum packed_format format, struct value *value, int n_axis, int groups);

/* The same, but NULL where there is none yet. */
const struct packed *pack_find(struct cx *cx, struct pack_group *group, const struct module *root,
                               enum packed_format format, struct value *value, int n_axis, int groups);

#endif
