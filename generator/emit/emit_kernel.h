/* emit_kernel.h - text of the kernels that are loop nests: map, write, copy, gather, scatter, scan, sort, reduce, random.
 *
 * A kernel is a static function
 *     static MODC_KERNEL void NAME(OUT *y, const IN0 *x0, const IN1 *x1, ... , int size, ...)
 * whose pointers point at the first element of each view (the caller adds offsets), and whose `int` parameters are the
 * model's sizes that occur in dims, strides and DIM nodes, in the order of the spec. Equal texts mean equal kernels. On a GPU it is
 *     static __global__ void __launch_bounds__(256, 1) NAME(... the same ...)
 * where the 1 lets it have the registers that it needs: else nvcc may spill some so that more blocks run at once. */
#ifndef MODC_EMIT_KERNEL_H
#define MODC_EMIT_KERNEL_H

#include "base/text.h"
#include "plan/kernel.h"
#include "plan/plan_dag.h"

/* C text of the result of `dag`, scalar form. `inputs[i]` is the C text that reads input i (already loaded: an
 * identifier or an expression without side effects). Nodes that are used more than once are declared in `before`, one
 * `const TYPE name = ...;` a line with `indent`; with before == NULL everything is written in place. Names of
 * temporaries come from their primitive (`t0`-like running numbers are taken only inside one kernel). */
const char *expr_scalar(struct cx *cx, const struct dag *dag, const char *const *inputs, struct text *before,
                        const char *indent);

/* The same over vectors modc_f32 / modc_f64 of runtime/modc_simd.h; inputs are vectors. */
const char *expr_vector(struct cx *cx, const struct dag *dag, enum dtype lanes, const char *const *inputs,
                        struct text *before, const char *indent);

/* For what a nest is printed: the sizes that it may name, the spec's and the one of a slice, and the machine. On a GPU the places of
 * the result are dealt out to threads, and behind the kernel stands what starts it: a function of the same arguments behind the
 * stream, called PREFIX_NAME, that returns 0 or CUDA's error. */
struct nest_scene {
    const struct size *const *sizes;
    int size_count;
    enum device device;
    const char *prefix;     /* CUDA: of what the linker sees */
    struct text *launchers; /* and its declarations; NULL: nobody wants them */
    bool guarded;           /* and it does nothing behind a check that failed */
};

/* Kernels. takes_function: the dag stands for any over its inputs, and the kernel's last argument computes it. `comment` is printed above. Operand 0 of the nest is the output; x_i is operand i + 1 and input i of dag.
 * Overlap rule: the output may be exactly one of the inputs (same strides), so y is not restrict. */
void emit_map_kernel(struct cx *cx, struct text *out, const char *name, const char *comment, struct nest nest,
                     struct nest_form form, const struct dag *dag, bool takes_function,
                     const struct nest_scene *scene);

/* Inputs of `head` are operands 1 .. head->input_count; `tail` has the reduced value as input 0 and
 * further operands behind head's. Means are sums with a tail. max and min propagate NaN; argmax and argmin give the
 * first index, int64, along the flattened reduced axes. takes_head, takes_tail: it is a core, and these are its arguments. */
void emit_reduce_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                        struct nest nest, struct nest_form form, enum reduce_kind kind,
                        const struct dag *head, const struct dag *tail, bool takes_head, bool takes_tail,
                        const struct nest_scene *scene);

/* y = x0[x1 * step]: operands y, x0 (where its index is 0) and x1, integers of any type, inside the bounds. */
void emit_gather_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                        struct nest nest, const struct dim *step, const struct nest_scene *scene);

/* y[x1 * step] = dag(y[x1 * step], x0): operands y (where its index is 0), x0 and x1 as above. */
void emit_scatter_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                         struct nest nest, const struct dag *dag, const struct dim *step,
                         const struct nest_scene *scene);

/* y = dag of the element before it on the line and of the operands behind y. Before the first element stands `start`; with
 * `given` it is operand 1, which the dag does not count. */
void emit_scan_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                      struct nest nest, struct line line, const struct dag *dag, int start, bool given,
                      const struct nest_scene *scene);

/* y = the order of x0's elements along the line, by a heap in y itself: no memory, and n log n steps always. */
void emit_sort_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                      struct nest nest, struct line line, bool descending, const struct nest_scene *scene);

/* y = tail(uniform [0, 1)); kernel parameters after the operands: uint64_t seed, uint64_t counter, uint32_t stream, then
 * sizes. Philox 4x32-10 (modc_philox in runtime/modc_simd.h: to be added there as static inline
 * `void modc_philox(uint64_t key, uint64_t block, uint64_t stream, uint32_t out[4])`); element e uses word e % 4 of
 * block e / 4 of stream `counter ^ stream << 32` under the key seed; u = (word >> 8) * 2^-24. The output is dense; tail
 * NULL: u itself. function: what computes the tail, or NULL. */
void emit_random_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                        struct nest nest, const struct dag *tail, const char *function,
                        const struct nest_scene *scene);

/* CUDA: the head of what starts a kernel of the parameters "float *y, ...", which is added to the declarations, too. */
const char *launcher_head(struct cx *cx, struct text *launchers, const char *prefix, const char *name,
                          const char *stream, const char *parameters);

/* The names of such parameters: "y, x0, batch". */
const char *parameter_names(struct cx *cx, const char *parameters);

#endif
