/* rows.h - what the families of functions share: their flags in short, and the checks of their arguments. Private to
 * functions/, and to the adjoints of passes/, which make gradients of the same parts.
 *
 * A row is a body in the spec's statements where that says it; else a builder that checks its arguments and makes ops. A
 * check says what is wrong at the argument's place, in the name of what the user called, and returns false. */
#ifndef MODC_FUNCTIONS_ROWS_H
#define MODC_FUNCTIONS_ROWS_H

#include "eval/eval.h"
#include "layers/layers.h"

/* Where PyTorch has a row's function: flags of layers.h. */
enum {
    TORCH = FUNCTION_TORCH,
    FUNCTIONAL = FUNCTION_FUNCTIONAL,
    METHOD = FUNCTION_METHOD,
    VARARGS = FUNCTION_VARARGS,
    VIEW = FUNCTION_VIEW,
    IN_PLACE = FUNCTION_IN_PLACE,
    HIDDEN = FUNCTION_HIDDEN,
    TORCHRL = FUNCTION_RETURNS,
    ROWS = FUNCTION_ROWS,
    OWN = FUNCTION_OWN,
    QUANTIZATION = FUNCTION_QUANTIZATION
};

#define BAD ev_bad(loc)

/* conv.c: the product of rows and a weight (n, k) in int8, as a convolution: note [int8 terms] there; NULL: they are none such, or an
 * error was said. */
struct value *int8_linear(struct eval *eval, struct loc loc, struct value *x, struct value *weight,
                          struct value *bias);

/* What the user called: the function of the spec or of the tables. */
const char *outer(const struct eval *eval, const char *what);

bool need_tensor(struct eval *eval, const char *what, const struct ev *arg);
bool need_int(struct eval *eval, const char *what, const struct ev *arg,
              int64_t *out); /* known while generating */
bool need_bool(struct eval *eval, const char *what, const struct ev *arg, bool *out);

/* None is `absent`. */
bool need_dtype(struct eval *eval, const struct ev *arg, enum dtype absent, enum dtype *out);

/* A dimension number, -ndim .. ndim - 1 (at least -1 .. 0). */
bool need_axis(struct eval *eval, const char *what, const struct ev *arg, int ndim, int *out);

/* None, a number or a tuple of numbers, as a set of axes. Empty tuple and None: all. */
bool need_axes(struct eval *eval, const char *what, const struct ev *arg, int ndim, bool *axes);
bool need_one_axis(struct eval *eval, const char *what, const struct ev *arg); /* no tuple */

/* An int or a tuple of `count`, none below 0. */
bool need_ints(struct eval *eval, const char *what, const struct ev *arg, int count, int *out);

/* A shape: a tuple of integers over sizes; of `x`, where that is given: then one -1 is worked out. */
bool need_shape(struct eval *eval, const char *what, const struct ev *arg, const struct value *x,
                const struct dim **dims, int *ndim);

/* x with a dimension of 1 more. */
struct value *insert_axis(struct eval *eval, struct loc loc, struct value *x, int axis);

/* The elements of the last two dimensions, a matrix, that lie `offset` columns right of its diagonal. */
struct value *build_diagonal(struct eval *eval, struct loc loc, struct value *x, int64_t offset);

/* A tensor of int64, or with `any_width` of int32. */
bool need_index(struct eval *eval, const char *what, const struct ev *arg, bool any_width);

/* ---- parts of several functions ------------------------------------------------------------------------------ */

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

/* x with `before` and `after` more elements along an axis, which crop below 0; each is known to be one or the other. fill:
 * of PAD_CONSTANT, 0-dim. The caller has seen to it that x has what the mode repeats. NULL after an error, as all. */
struct value *pad_axis(struct eval *eval, struct loc loc, enum pad_mode mode, struct value *x, int axis,
                       const struct dim *before, const struct dim *after, struct value *fill);

/* 0-dim, of the type: the number `value`, or 0 for None. */
struct value *pad_fill(struct eval *eval, struct loc loc, const struct ev *value, enum dtype dtype);

/* x has windows l along `rank` axes from `axis` on, behind them their elements k, and any other axes around; these become
 * `rank` axes of `lengths`, where element k of window l is added at l * stride + k * dilation - before. */
struct value *sum_windows(struct eval *eval, struct loc loc, struct value *x, int axis, int rank,
                          const int *stride, const int *dilation, const int *before,
                          const struct dim *const *lengths);

/* GRAPH_OP_FFT, of a length that fft_is_smooth; scale: one element, of x's type. */
struct value *build_fft(struct eval *eval, struct loc loc, const char *label, enum fft_kind kind,
                        struct value *x, int axis, int64_t length, bool inverse, struct value *scale);

/* Pairs of the half spectrum of a real row of that length, those that stand for two of the whole times `factor`. */
struct value *build_half_spectrum(struct eval *eval, struct loc loc, struct value *x, int axis,
                                  int64_t length, double factor);

/* Gradients of a convolution, with respect to its input and to its weight, from that of its result. */
struct value *conv_input_gradient(struct eval *eval, struct loc loc, const struct op *op, struct value *g);
struct value *conv_weight_gradient(struct eval *eval, struct loc loc, const struct op *op, struct value *g);

#endif
