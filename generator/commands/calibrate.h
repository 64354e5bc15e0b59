/* calibrate.h - `modc quantize --ranges`: from where to where inputs and what modules return are, and what int8 costs then. */
#ifndef MODC_CALIBRATE_H
#define MODC_CALIBRATE_H

#include "plan/plan.h"

struct spec;

/* plain: of the spec in float32. calibrated: makes the plan with the ranges in the file, once that is written; NULL after faults. Text
 * for stdout goes to `out`; returns the exit status. */
int calibrate(struct cx *cx, const struct plan *plain,
              struct plan *(*calibrated)(struct cx *cx, struct spec *spec), struct text *out);

#endif
