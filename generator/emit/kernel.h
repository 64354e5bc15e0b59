/* kernel.h - the plan's kernels and calls of them as C. */
#ifndef MODC_KERNEL_H
#define MODC_KERNEL_H

#include "emit/uses.h"
#include "plan/kernel.h"

/* Texts of a plan's kernels, while they are made: which functions of elements they call. */
struct kernel_texts;
struct kernel_texts *kernel_texts_new(struct cx *cx, const struct plan *plan);

/* CUDA: what C calls of the texts so far, as declarations. */
const char *kernel_launchers(const struct kernel_texts *texts);
struct text *kernel_launcher_texts(struct kernel_texts *texts); /* to which others add theirs */

/* The functions of a kernel, and what stands before and behind them; of a core before those of its wrappers. */
const char *kernel_text(struct kernel_texts *texts, const struct kernel *kernel);

/* What a function of elements is called in C: of values, or of vectors. */
const char *function_name(struct cx *cx, const struct element_function *function, bool vector);

/* The functions of elements that the texts so far call, but for those that an earlier call gave. */
const char *kernel_functions(struct kernel_texts *texts);

/* The C text of a pointer to the first element of `value`. What functions name in it, and below, is noted in `uses`. */
const char *value_pointer(struct cx *cx, const struct variant *variant, struct uses *uses,
                          const struct value *value);

/* The number of a parameter's gradient, by which its cell and flag are found; the place is that of a gradient. */
const char *gradient_number(const struct variant *variant, struct uses *uses, const struct place *place);

/* p->trunk._0.weight of a tensor, relative to the variant's root. */
const char *tensor_member(struct cx *cx, const struct module *root, const struct module_tensor *tensor);

/* A pointer to the array that a call writes instead of a buffer until it is sure that it succeeds. */
const char *shadow_name(struct cx *cx, const struct module_tensor *tensor);

/* CUDA: what starts kernels in this part of a variant; see MODC_RUN in modc_device.h. */
const char *run_macro(const struct variant *variant, enum part part);

/* Statements that run the step, indented by four; empty for what emit.c prints itself (calls, boundaries). */
const char *kernel_step(struct cx *cx, const struct variant *variant, struct uses *uses,
                        const struct step *step);

/* The statements that fill a packed entry; `k` is the packed struct, `p` the parameters of the group's root, on a GPU `params` the
 * model's. */
const char *kernel_pack(struct cx *cx, const struct plan *plan, const struct packed *entry);

/* The statements that copy a permuted entry back into PyTorch's layout: out[] from the packed struct `k`; `inside` is "" or
 * the instance that holds the entry. */
const char *kernel_unpack(struct cx *cx, const struct plan *plan, const struct packed *entry,
                          const char *inside);

/* Does an array of the parameter struct hold this module's children (`N x Call`)? */
bool module_is_array(const struct module *module);

#endif
