/* summary.h - `modc summary`: what a model consists of and what it needs. */
#ifndef MODC_SUMMARY_H
#define MODC_SUMMARY_H

#include "plan.h"

void summary_print(struct cx *cx, struct text *text, const struct plan *plan);

#endif
