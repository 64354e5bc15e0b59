/* space.c - axes of space: what pools and interpolation share. */
#include "functions/space.h"

#include <math.h>
#include <string.h>

struct value *as_planes(struct eval *eval, struct loc loc, struct value *x, int rank)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[1 + MAX_RANK] = {dim_const(arena, 1)};

    for (int i = 0; i < x->ndim - rank; i++)
        dims[0] = dim_mul(arena, dims[0], x->dims[i]);
    memcpy(dims + 1, x->dims + x->ndim - rank, (size_t)rank * sizeof *dims);
    return build_reshape(eval, loc, x, 1 + rank, dims);
}

struct value *as_images(struct eval *eval, struct loc loc, struct value *y, const struct value *x, int rank)
{
    const struct dim *dims[MAX_DIMS];

    if (!y)
        return NULL;
    memcpy(dims, x->dims, sizeof dims);
    memcpy(dims + x->ndim - rank, y->dims + 1, (size_t)rank * sizeof *dims);
    return build_reshape(eval, loc, y, x->ndim, dims);
}

int dag_dim(struct arena *arena, struct dag *dag, const struct dim *dim)
{
    int64_t known;

    if (dim_is_const(dim, &known))
        return dag_integer(arena, dag, DTYPE_INT64, known);
    return dag_add(
        arena, dag,
        (struct dag_node){.prim = PRIM_DIM, .dtype = DTYPE_INT64, .args = {-1, -1, -1}, .dim = dim});
}

int dag_int64(struct arena *arena, struct dag *dag, enum prim prim, int a, int b)
{
    return dag_prim(arena, dag, prim, DTYPE_INT64, a, b, -1);
}

int dag_where(struct arena *arena, struct dag *dag, enum prim comparison, int a, int b, int yes, int no)
{
    return dag_prim(arena, dag, PRIM_SELECT, dag->nodes[yes].dtype,
                    dag_prim(arena, dag, comparison, DTYPE_BOOL, a, b, -1), yes, no);
}

struct value *map_cells(struct eval *eval, struct loc loc, const char *label, struct dag *dag,
                        const struct dim *out, const struct dim *cells, struct value *each)
{
    const struct dim *one = dim_const(&eval->cx->arena, 1);
    struct value *inputs[3] = {build_arange(eval, loc, out), build_arange(eval, loc, cells), each};

    inputs[0] = inputs[0] ? build_reshape(eval, loc, inputs[0], 3, (const struct dim *[]){one, out, one})
                          : NULL;
    inputs[1] = inputs[1] ? build_reshape(eval, loc, inputs[1], 3, (const struct dim *[]){one, one, cells})
                          : NULL;
    return inputs[0] && inputs[1] ? build_map(eval, loc, label, dag, inputs, each ? 3 : 2) : NULL;
}

struct value *gather_cells(struct eval *eval, struct loc loc, const char *what, struct value *x, int axis,
                           struct value *cells)
{
    struct value *index = cells ? build_reshape(eval, loc, cells, 2, cells->dims + 1) : NULL;

    return index ? build_gather(eval, loc, what, x, axis, index, false, false) : NULL;
}

/* Small fractions are tried, against all values that the dimension can have. */
bool scaled_dim(struct eval *eval, struct loc loc, const char *what, const struct dim *in, double scale,
                const struct dim **out)
{
    struct arena *arena = &eval->cx->arena;
    int64_t known, most = dim_upper(in);

    if (dim_is_const(in, &known)) {
        *out = dim_const(arena, (int64_t)((double)known * scale));
        return true;
    }
    for (int64_t below = 1; below <= 64 && most <= 1 << 20; below++) {
        int64_t above = llround(scale * (double)below), n = most;

        while (n >= 0 && (int64_t)((double)n * scale) == n * above / below)
            n--;
        if (n >= 0)
            continue;
        *out = dim_floordiv(arena, dim_mul(arena, in, dim_const(arena, above)), dim_const(arena, below));
        return true;
    }
    diag_error(eval->cx, loc, "%s: %g times the size %s is not known while generating", outer(eval, what),
               scale, dim_text(arena, in));
    diag_hint(eval->cx, "give the output's size, as an expression over sizes");
    return false;
}
