/* pool.h - what the files of pooling share. Private to pool.c and pool_uneven.c. */
#ifndef MODC_FUNCTIONS_POOL_H
#define MODC_FUNCTIONS_POOL_H

#include "functions/space.h"

struct pool {
    const char *what; /* in messages */
    int rank;         /* axes of space */
    enum pool_kind kind;
    int kernel[MAX_RANK], stride[MAX_RANK], padding[MAX_RANK], dilation[MAX_RANK];
    bool ceil_mode, count_include_pad;
    int divisor; /* avg: 0 is the window */
};

/* ---- pool.c ---- */

enum pool_integers { POOL_NO_INTEGERS, POOL_INTEGERS, POOL_INT64 };

/* An image, or several: floating, or of such integers too. There may be 0 images, with `channels` of 0 channels. */
bool pool_check_image(struct eval *eval, struct loc loc, const char *what, const struct ev *arg, int rank,
                      enum pool_integers integers, bool channels);
/* Whole numbers for each axis, at least `least`. */
bool pool_read_sizes(struct eval *eval, const struct pool *pool, const char *name, const struct ev *arg,
                     int least, int *out);
/* Of those elements of a window that are as large, the first gets the gradient. */
bool pool_takes_first(const struct eval *eval, const struct pool *pool);

/* By the op: the numbers of all windows. With `planes` each channel is an image of its own, so that elements keep their order in
 * memory; else channels come last there, as neighbours want it. */
struct value *pool_values(struct eval *eval, struct loc loc, const struct pool *pool, struct value *x,
                          bool planes);
struct value *pool_zeros(struct eval *eval, struct loc loc, enum dtype dtype, int ndim,
                         const struct dim *const *dims);

/* By windows as a tensor: see note [places] in pool.c. */
/* Where the largest element of each window is, counted in its plane: `most` (lead, o...), cells[i] (lead or 1, o, k). The
 * first of them, but of NaNs the last one. That is the largest score: of NaNs count + place, of the largest elements
 * count - 1 - place, of others -1. */
struct value *pool_places(struct eval *eval, struct loc loc, int rank, struct value *windows,
                          struct value *most, struct value *const *cells, const struct dim *const *space);
/* The largest element of each window. */
struct value *pool_reduce_windows(struct eval *eval, struct loc loc, struct value *windows, int rank);
/* Integers, which the op does not know, and places. */
struct ev pool_max_by_windows(struct eval *eval, struct loc loc, const struct pool *pool, struct value *x,
                              bool with_places);
struct ev pool_with_indices(struct eval *eval, struct loc loc, struct value *values, struct value *indices);

/* ---- pool_uneven.c: builders of rows, which pool.c lists ---- */

typedef struct ev pool_builder(struct eval *eval, struct ev *args, int count, struct loc loc);

pool_builder fn_adaptive_max_pool1d, fn_adaptive_max_pool2d, fn_adaptive_max_pool3d;
pool_builder fn_adaptive_avg_pool1d, fn_adaptive_avg_pool2d, fn_adaptive_avg_pool3d;
pool_builder fn_fractional_max_pool;

#endif
