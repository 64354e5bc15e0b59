/* settings.h - what --set, --dtype and --model change in a spec that has been read. */
#ifndef MODC_SETTINGS_H
#define MODC_SETTINGS_H

#include "spec/spec.h"

/* False after a fault of the command line, which was said. */
bool settings_apply(struct cx *cx, struct spec *spec);

/* Whether a fault that was said lies in a value of --set. */
bool settings_at_fault(const struct cx *cx);

#endif
