/* emit_rollout.h - what `rollout:` adds to a model's files: the struct of its tensors, n-step returns over it, windows. */
#ifndef MODC_EMIT_ROLLOUT_H
#define MODC_EMIT_ROLLOUT_H

#include "base/text.h"
#include "module/rollout.h"

/* The model's name and the same in upper case; `rollout` is never NULL. The header includes modc_rollout.h. */
struct rollout_names {
    const char *m, *M;
    const char *gammas; /* an array of the powers of gamma that stands before; NULL: none does */
};

/* MODEL_ROLLOUT_BYTES, struct MODEL_rollout, MODEL_n_step, struct MODEL_window; its functions, which are inline. */
void emit_rollout_header(struct cx *cx, struct text *out, struct rollout_names names,
                         const struct rollout *rollout);

/* MODEL_rollout_table and MODEL_n_step. */
void emit_rollout_source(struct cx *cx, struct text *out, struct rollout_names names,
                         const struct rollout *rollout);

#endif
