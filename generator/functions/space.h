/* space.h - axes of space: what pools and interpolation share. Private to functions/.
 *
 * A plane is one channel of one image: (lead, space...) with all images and channels in the first dimension. A tensor of
 * cells (1, out, cells) says for each of `out` places along an axis which elements of the input it is made of. */
#ifndef MODC_FUNCTIONS_SPACE_H
#define MODC_FUNCTIONS_SPACE_H

#include "functions/rows.h"
#include "graph/graph.h"

#define MAX_RANK 3 /* axes of space, the last ones */

struct value *as_planes(struct eval *eval, struct loc loc, struct value *x, int rank);

/* The images of x with the space of y (lead, space...), which may be NULL. */
struct value *as_images(struct eval *eval, struct loc loc, struct value *y, const struct value *x, int rank);

int dag_dim(struct arena *arena, struct dag *dag, const struct dim *dim); /* int64 */
int dag_int64(struct arena *arena, struct dag *dag, enum prim prim, int a, int b);
int dag_where(struct arena *arena, struct dag *dag, enum prim comparison, int a, int b, int yes, int no);

/* A map (1, out, cells): input 0 of the dag is the int64 number of the place, input 1 that of the cell. Input 2 is `each`
 * (lead, 1, 1), where that is given: then it is (lead, out, cells). */
struct value *map_cells(struct eval *eval, struct loc loc, const char *label, struct dag *dag,
                        const struct dim *out, const struct dim *cells, struct value *each);

/* x with (out, cells) for an axis. */
struct value *gather_cells(struct eval *eval, struct loc loc, const char *what, struct value *x, int axis,
                           struct value *cells);

/* int(in * scale), as Python computes it. False after an error: of sizes, no fraction is that for all of their values. */
bool scaled_dim(struct eval *eval, struct loc loc, const char *what, const struct dim *in, double scale,
                const struct dim **out);

/* adaptive_avg_poolNd: x (lead, space...) or images. */
struct value *adaptive_mean(struct eval *eval, struct loc loc, const char *what, int rank, struct value *x,
                            const struct dim *const *out);

#endif
