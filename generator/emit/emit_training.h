/* emit_training.h - what `training:` adds to a model's files beside its loss: the object of the optimiser and its tables. */
#ifndef MODC_EMIT_TRAINING_H
#define MODC_EMIT_TRAINING_H

#include "emit/emit_kernel.h"

/* MODEL_OPTIMIZER_BYTES, struct MODEL_optimizer, and the declaration of MODEL_optimizer_table; the header includes
 * modc_optim.h. The plan has gradients. */
void emit_training_header(struct cx *cx, struct text *out, const struct plan *plan);

/* The kernels of the steps, between MODC_KERNELS_BEGIN and _END; then the tables. */
void emit_training_kernels(struct cx *cx, struct text *out, const struct plan *plan,
                           const struct nest_scene *scene, struct text *kernels); /* see emit_optim_step */
void emit_training_tables(struct cx *cx, struct text *out, const struct plan *plan);

#endif
