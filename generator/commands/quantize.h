/* quantize.h - `modc quantize`: weights rounded as the spec's `storage` says, what that costs, and a file of them. */
#ifndef MODC_QUANTIZE_H
#define MODC_QUANTIZE_H

#include "plan/plan.h"

/* plan: of the spec; plain: of the same spec without `storage`, for what is measured, or NULL. Text for stdout goes to `out`; returns
 * the exit status. */
int quantize(struct cx *cx, const struct plan *plan, const struct plan *plain, struct text *out);

#endif
