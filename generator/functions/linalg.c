/* linalg.c - linear algebra of small matrices: the op of note [factors], and what is made of it in statements. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

/* A tensor of matrices in float32 or float64, with `square` of as many rows as columns. */
static bool need_matrices(struct eval *eval, const struct ev *arg, bool square)
{
    const char *what = outer(eval, "this");
    const struct value *x = arg->tensor;

    if (!need_tensor(eval, what, arg))
        return false;
    if (x->ndim < 2) {
        diag_error(eval->cx, arg->loc, "%s takes matrices, of at least two dimensions, found %s", what,
                   shape_text(&eval->cx->arena, x->ndim, x->dims));
        return false;
    }
    if (x->dtype != DTYPE_FLOAT32 && x->dtype != DTYPE_FLOAT64) {
        diag_error(eval->cx, arg->loc, "%s takes float32 or float64, found %s", what,
                   dtype_rows[x->dtype].name);
        diag_hint(eval->cx, "convert first, as x.float()");
        return false;
    }
    if (square && !dim_equal(x->dims[x->ndim - 2], x->dims[x->ndim - 1])) {
        diag_error(eval->cx, arg->loc, "%s takes square matrices, found %s", what,
                   shape_text(&eval->cx->arena, x->ndim, x->dims));
        return false;
    }
    return true;
}

/* input, checked. */
static struct ev fn_matrices(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool square;
    (void)count;

    if (!need_matrices(eval, &args[0], ev_get_bool(&args[1], &square) && square))
        return BAD;
    return args[0];
}

/* pivots of LU, checked: int32, one for each row or column of which there are fewer. */
static struct ev fn_pivots(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const char *what = outer(eval, "this");
    const struct value *lu = args[0].tensor, *pivots = args[1].tensor;
    const int last = lu->ndim - 2; /* axes of a batch before it */
    bool fits;
    (void)count;
    (void)loc;

    if (!need_tensor(eval, what, &args[1]))
        return BAD;
    if (pivots->dtype != DTYPE_INT32) {
        diag_error(eval->cx, args[1].loc, "%s takes pivots in int32, found %s", what,
                   dtype_rows[pivots->dtype].name);
        diag_hint(eval->cx, "torch.linalg.lu_factor gives them; others are converted by .int()");
        return BAD;
    }
    fits = pivots->ndim == last + 1 && (dim_equal(pivots->dims[last], lu->dims[last]) ||
                                        dim_equal(pivots->dims[last], lu->dims[last + 1]));
    for (int i = 0; fits && i < last; i++)
        fits = dim_equal(pivots->dims[i], lu->dims[i]);
    if (!fits) {
        diag_error(eval->cx, args[1].loc, "%s takes as many pivots as %s has rows or columns, found %s", what,
                   shape_text(&eval->cx->arena, lu->ndim, lu->dims),
                   shape_text(&eval->cx->arena, pivots->ndim, pivots->dims));
        return BAD;
    }
    return args[1];
}

static struct ev factor(struct eval *eval, struct loc loc, enum factor_kind kind, const char *label,
                        struct value *const *inputs, int count, bool first, bool second)
{
    struct op *op = op_new(eval, GRAPH_OP_FACTOR, label, inputs, count);

    op->factor.kind = kind;
    op->factor.complete = (kind == FACTOR_QR || kind == FACTOR_SVD) && first;
    op->factor.lower = kind == FACTOR_TRIANGULAR && first;
    op->factor.unit = kind == FACTOR_TRIANGULAR && second;
    return ev_tensor(loc, build_op(eval, loc, op));
}

static struct ev fn_lu(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return factor(eval, loc, FACTOR_LU, "lu", &args[0].tensor, 1, false, false);
}

static struct ev fn_order_of(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return factor(eval, loc, FACTOR_ORDER, "lu_order", &args[0].tensor, 1, false, false);
}

static struct ev fn_cholesky(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return factor(eval, loc, FACTOR_CHOLESKY, "cholesky", &args[0].tensor, 1, false, false);
}

static struct ev fn_eigh(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return factor(eval, loc, FACTOR_EIGH, "eigh", &args[0].tensor, 1, false, false);
}

static struct ev fn_matrix_exp(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return factor(eval, loc, FACTOR_EXP, "matrix_exp", &args[0].tensor, 1, false, false);
}

/* Of a matrix that is not wider than high. */
static struct ev fn_svd(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool complete = false;
    (void)count;

    ev_get_bool(&args[1], &complete);
    return factor(eval, loc, FACTOR_SVD, complete ? "svd_complete" : "svd", &args[0].tensor, 1, complete,
                  false);
}

static struct ev known_matrices(struct eval *eval, const struct ev *arg)
{
    const struct value *x = arg->tensor;

    if (dim_is_const(x->dims[x->ndim - 2], NULL) && dim_is_const(x->dims[x->ndim - 1], NULL))
        return *arg;
    diag_error(eval->cx, arg->loc, "%s takes matrices of a shape that is known while generating, found %s",
               outer(eval, "svd"), shape_text(&eval->cx->arena, x->ndim, x->dims));
    return ev_bad(arg->loc);
}

/* input, matrices of a shape that is known. */
static struct ev fn_known_matrices(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return need_matrices(eval, &args[0], false) ? known_matrices(eval, &args[0]) : BAD;
}

static struct ev fn_qr(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool complete = false;
    (void)count;

    ev_get_bool(&args[1], &complete);
    return factor(eval, loc, FACTOR_QR, complete ? "qr_complete" : "qr", &args[0].tensor, 1, complete, false);
}

/* x with the batches of both. */
static struct value *with_batches(struct eval *eval, struct loc loc, struct value *x,
                                  const struct value *other)
{
    struct value lead = *other;
    const struct dim *dims[MAX_DIMS];
    int ndim = x->ndim - 2;

    memcpy(dims, x->dims, sizeof dims);
    lead.ndim -= 2;
    if (!dims_broadcast(eval->cx, dims, &ndim, &lead))
        return NULL;
    dims[ndim] = x->dims[x->ndim - 2];
    dims[ndim + 1] = x->dims[x->ndim - 1];
    return build_expand(eval, loc, x, ndim + 2, dims);
}

/* The op over square matrices and what they are to give, whose types and rows are checked. */
static struct ev solved(struct eval *eval, struct ev *args, struct loc loc, enum factor_kind kind,
                        const char *label, bool lower, bool unit)
{
    struct arena *arena = &eval->cx->arena;
    const char *what = outer(eval, label);
    struct value *a, *b, *both[2];

    if (!need_matrices(eval, &args[0], true) || !need_tensor(eval, what, &args[1]))
        return BAD;
    a = args[0].tensor;
    b = args[1].tensor;
    if (a->dtype != b->dtype) {
        diag_error(eval->cx, args[1].loc, "%s: the matrix is %s, what it is to give %s", what,
                   dtype_rows[a->dtype].name, dtype_rows[b->dtype].name);
        diag_hint(eval->cx, "convert one of them, with .to(torch.%s)", dtype_rows[a->dtype].name);
        return BAD;
    }
    both[0] = b->ndim < 2 ? NULL : with_batches(eval, loc, a, b);
    both[1] = both[0] ? with_batches(eval, loc, b, a) : NULL;
    if (!both[1] || !dim_equal(a->dims[a->ndim - 1], b->dims[b->ndim - 2])) {
        diag_error(eval->cx, loc,
                   "%s: the shapes %s and %s of the matrix and of what it is to give do not fit", what,
                   shape_text(arena, a->ndim, a->dims), shape_text(arena, b->ndim, b->dims));
        return BAD;
    }
    return factor(eval, loc, kind, label, both, 2, lower, unit);
}

static struct ev fn_solved(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return solved(eval, args, loc, FACTOR_SOLVE, "solve", false, false);
}

static struct ev fn_triangular(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool lower, unit;
    (void)count;

    if (!need_bool(eval, outer(eval, "solve_triangular"), &args[2], &lower) ||
        !need_bool(eval, outer(eval, "solve_triangular"), &args[3], &unit))
        return BAD;
    return solved(eval, args, loc, FACTOR_TRIANGULAR, "solve_triangular", lower, unit);
}

/* Whether B has vectors: one, or one for each matrix of A. */
static struct ev fn_is_vector(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *a = args[0].tensor, *b = args[1].tensor;
    bool vector;
    (void)count;

    if (!need_tensor(eval, outer(eval, "solve"), &args[0]) ||
        !need_tensor(eval, outer(eval, "solve"), &args[1]))
        return BAD;
    vector = b->ndim == 1 || (b->ndim > 0 && b->ndim == a->ndim - 1);
    for (int i = 0; i < b->ndim && vector && b->ndim > 1; i++)
        vector = dim_equal(a->dims[i], b->dims[i]);
    return ev_bool(loc, vector);
}

/* input, of which matrices of any type are as wide as they are high. */
static struct ev fn_squares(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const char *what = outer(eval, "matrix_power");
    const struct value *x = args[0].tensor;
    (void)count;

    if (!need_tensor(eval, what, &args[0]))
        return BAD;
    if (x->ndim < 2 || !dim_equal(x->dims[x->ndim - 2], x->dims[x->ndim - 1])) {
        diag_error(eval->cx, args[0].loc, "%s takes square matrices, found %s", what,
                   shape_text(&eval->cx->arena, x->ndim, x->dims));
        return BAD;
    }
    return args[0];
}

/* input to the power n: by squares, as PyTorch orders them. */
static struct ev fn_power(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *square = args[0].tensor, *power = NULL;
    int64_t n;
    (void)count;

    if (!need_int(eval, outer(eval, "matrix_power"), &args[1], &n))
        return BAD;
    if (n > 1 << 20) {
        diag_error(eval->cx, args[1].loc, "%s: %lld is a power too large", outer(eval, "matrix_power"),
                   (long long)n);
        return BAD;
    }
    if (n == 3) { /* one product less to round */
        square = eval_matmul(eval, loc, "matrix_power", square, square);
        return ev_tensor(loc, square ? eval_matmul(eval, loc, "matrix_power", square, args[0].tensor) : NULL);
    }
    for (; n > 0; n /= 2) {
        if (n % 2 == 1)
            power = power ? eval_matmul(eval, loc, "matrix_power", power, square) : square;
        if (n > 1)
            square = eval_matmul(eval, loc, "matrix_power", square, square);
        if (!square || (n % 2 == 1 && !power))
            return BAD;
    }
    return ev_tensor(loc, power);
}

static struct ev fn_qr_mode(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const modes[] = {"reduced", "complete", "r"};
    (void)count;

    for (int i = 0; i < COUNT(modes) && args[0].kind == EV_STRING; i++)
        if (strcmp(args[0].text, modes[i]) == 0)
            return args[0];
    diag_error(eval->cx, args[0].loc, "%s: mode is 'reduced', 'complete' or 'r', found %s", outer(eval, "qr"),
               ev_text(eval, &args[0]));
    return BAD;
}

static struct ev fn_driver(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const drivers[] = {"gelsy", "gels", "gelsd", "gelss"};
    (void)count;

    if (args[0].kind == EV_NONE)
        return (struct ev){.kind = EV_STRING, .loc = loc, .text = drivers[0]};
    for (int i = 0; i < COUNT(drivers) && args[0].kind == EV_STRING; i++)
        if (strcmp(args[0].text, drivers[i]) == 0)
            return args[0];
    diag_error(eval->cx, args[0].loc, "%s: driver is 'gels', 'gelsy', 'gelsd' or 'gelss', found %s",
               outer(eval, "lstsq"), ev_text(eval, &args[0]));
    return BAD;
}

static struct ev fn_check_powers(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (args[0].kind == EV_INT && dim_lower(args[0].dim) > 1)
        return args[0];
    diag_error(eval->cx, args[0].loc, "%s: N must be greater than 1, found %s", outer(eval, "vander"),
               ev_text(eval, &args[0]));
    return BAD;
}

/* input, of which matrices are not wider than high. */
static struct ev fn_no_wider(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x = args[0].tensor;
    (void)count;

    if (dim_lower(dim_sub(&eval->cx->arena, x->dims[x->ndim - 2], x->dims[x->ndim - 1])) >= 0)
        return args[0];
    diag_error(eval->cx, args[0].loc, "%s takes matrices that are no wider than high, found %s",
               outer(eval, "polar"), shape_text(&eval->cx->arena, x->ndim, x->dims));
    return BAD;
}

/* A, matrices that are square or of a known shape. */
static struct ev fn_factorable(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x = args[0].tensor;
    bool pivot;
    (void)count;

    if (!need_matrices(eval, &args[0], false) || !need_bool(eval, outer(eval, "lu"), &args[1], &pivot))
        return BAD;
    if (!pivot) {
        diag_error(eval->cx, args[1].loc, "%s: LU without pivoting is not implemented on the CPU",
                   outer(eval, "lu"));
        return BAD;
    }
    return dim_equal(x->dims[x->ndim - 2], x->dims[x->ndim - 1]) ? args[0] : known_matrices(eval, &args[0]);
}

/* The lesser of rows and columns. */
static struct ev fn_lesser(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x = args[0].tensor;
    int64_t m, n;
    (void)eval, (void)count;

    return ev_dim(loc, x->dims[x->ndim - (dim_is_const(x->dims[x->ndim - 2], &m) &&
                                                  dim_is_const(x->dims[x->ndim - 1], &n) && m < n
                                              ? 2
                                              : 1)]);
}

/* tau, if it fits the columns of reflections that A has. */
static struct ev fn_reflections(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const char *what = outer(eval, "householder_product");
    const struct value *x = args[0].tensor, *tau = args[1].tensor;
    bool fits;
    (void)count;

    if (!need_matrices(eval, &args[0], false) || !need_tensor(eval, what, &args[1]))
        return BAD;
    fits = tau->ndim == x->ndim - 1 && tau->dtype == x->dtype &&
           dim_lower(dim_sub(arena, x->dims[x->ndim - 1], tau->dims[tau->ndim - 1])) >= 0 &&
           dim_lower(dim_sub(arena, x->dims[x->ndim - 2], x->dims[x->ndim - 1])) >= 0;
    for (int i = 0; i < tau->ndim - 1 && fits; i++)
        fits = dim_equal(tau->dims[i], x->dims[i]);
    if (fits)
        return args[1];
    diag_error(eval->cx, args[1].loc,
               "%s takes matrices that are no wider than high, and of their type as many scales as they have "
               "columns, or fewer, found %s of %s and %s of %s",
               what, shape_text(arena, x->ndim, x->dims), dtype_rows[x->dtype].name,
               shape_text(arena, tau->ndim, tau->dims), dtype_rows[tau->dtype].name);
    return BAD;
}

/* A chain of products, in the order of the fewest multiply-adds as PyTorch finds it: where two orders take as many, the one that
 * splits first; of three matrices the one that begins on the left. Sizes that are not known count as the largest. */
struct chain {
    struct eval *eval;
    struct loc loc;
    struct value **matrices;
    int count;
    double *cost; /* of the product of matrices i to j, at [i * count + j] */
    int *split;   /* behind which of them it is split */
};

static double chain_rows(const struct chain *chain, int i)
{
    return (double)dim_upper(chain->matrices[i]->dims[0]);
}

static void chain_plan(struct chain *chain)
{
    const int n = chain->count;

    for (int length = 1; length < n; length++) {
        for (int i = 0; i + length < n; i++) {
            const int j = i + length;
            const double ends = chain_rows(chain, i) * (double)dim_upper(chain->matrices[j]->dims[1]);
            double *best = &chain->cost[i * n + j];

            for (int k = i; k < j; k++) {
                const double cost = chain->cost[i * n + k] + chain->cost[(k + 1) * n + j] +
                                    ends * chain_rows(chain, k + 1);

                if (k > i && (cost > *best || (cost == *best && n > 3)))
                    continue;
                *best = cost;
                chain->split[i * n + j] = k;
            }
        }
    }
}

static struct value *chain_product(const struct chain *chain, int i, int j)
{
    const int k = chain->split[i * chain->count + j];
    struct value *left, *right;

    if (i == j)
        return chain->matrices[i];
    left = chain_product(chain, i, k);
    right = chain_product(chain, k + 1, j);
    return left && right ? eval_matmul(chain->eval, chain->loc, "multi_dot", left, right) : NULL;
}

/* tensors, of which the first may be a row and the last a column. */
static struct ev fn_chain(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    enum { MOST = 64 };
    struct arena *arena = &eval->cx->arena;
    const char *what = outer(eval, "multi_dot");
    const struct ev *list = &args[0];
    const int n = list->count;
    const struct dim *ends[2];
    struct chain chain = {eval, loc, NULL, n, NULL, NULL};
    struct value *product;
    int64_t least;
    int ndim = 0;
    (void)count;

    if (!need_int(eval, what, &args[1], &least))
        return BAD;
    if (list->kind != EV_TUPLE || n < least || n > MOST) {
        diag_error(eval->cx, list->loc, "%s takes a list of %d to %d matrices, found %s", what, (int)least,
                   MOST, list->kind == EV_TUPLE ? arena_format(arena, "%d", n) : ev_kind_text(list));
        return BAD;
    }
    chain.matrices = ARENA_ARRAY(arena, n, struct value *);
    chain.cost = ARENA_ARRAY(arena, n * n, double);
    chain.split = ARENA_ARRAY(arena, n * n, int);
    for (int i = 0; i < n; i++) {
        const bool end = least == 2 && (i == 0 || i == n - 1);
        struct value *x = list->items[i].tensor;

        if (!need_tensor(eval, what, &list->items[i]))
            return BAD;
        if (x->ndim != 2 && (x->ndim != 1 || !end)) {
            diag_error(eval->cx, list->items[i].loc, "%s: tensor %d must be a matrix%s, found %s", what, i,
                       end ? " or a vector" : "", shape_text(arena, x->ndim, x->dims));
            return BAD;
        }
        if (x->ndim == 1)
            x = insert_axis(eval, loc, x, i == 0 ? 0 : 1);
        else if (i == 0 || i == n - 1)
            ends[ndim++] = x->dims[i == 0 ? 0 : 1];
        if (!x || (i > 0 && (x->dtype != chain.matrices[i - 1]->dtype ||
                             !dim_equal(x->dims[0], chain.matrices[i - 1]->dims[1])))) {
            diag_error(eval->cx, list->items[i].loc, "%s: %s of %s and %s of %s cannot be multiplied", what,
                       shape_text(arena, 2, chain.matrices[i - 1]->dims),
                       dtype_rows[chain.matrices[i - 1]->dtype].name, shape_text(arena, 2, x->dims),
                       dtype_rows[x->dtype].name);
            return BAD;
        }
        chain.matrices[i] = x;
    }
    if (n == 1)
        return list->items[0];
    chain_plan(&chain);
    product = chain_product(&chain, 0, n - 1);
    return ev_tensor(loc, product && ndim < 2 ? build_reshape(eval, loc, product, ndim, ends) : product);
}

/* Whether the lower half is read. */
static struct ev fn_lower(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (args[0].kind == EV_STRING && strlen(args[0].text) == 1 && strchr("LlUu", args[0].text[0]))
        return ev_bool(loc, strchr("Ll", args[0].text[0]) != NULL);
    diag_error(eval->cx, args[0].loc, "%s: UPLO is 'L' or 'U', found %s", outer(eval, "eigh"),
               ev_text(eval, &args[0]));
    return BAD;
}

extern const struct function_row linalg_functions[];

const struct function_row linalg_functions[] = {
    /* with one matrix */
    {"linalg.det(A)", TORCH,
     .body = "f = _lu(_matrices(A, True))\n"
             "n = A.shape[-1]\n"
             "return f[..., :n].diagonal(0, -2, -1).prod(-1) * _turned(f, n)"},
    {"linalg.slogdet(A)", TORCH,
     .body =
         "f = _lu(_matrices(A, True))\n"
         "n = A.shape[-1]\n"
         "pivots = f[..., :n].diagonal(0, -2, -1)\n"
         "turned = _turned(f, n)\n"
         "return _named(pivots.detach().sign().prod(-1) * turned, 'sign', pivots.abs().log().sum(-1), 'logabsdet')"},
    {"det(input)", TORCH | METHOD, .body = "return torch.linalg.det(input)"},
    {"slogdet(input)", TORCH | METHOD, .body = "return torch.linalg.slogdet(input)"},
    {"logdet(input)", TORCH | METHOD,
     .body = "sign, value = torch.linalg.slogdet(input)\n"
             "return where(sign == -1, float('nan'), value)"},
    {"linalg.inv(A)", TORCH, .body = "return _solution(_matrices(A, True), _eye(A))"},
    {"inverse(input)", TORCH | METHOD, .body = "return torch.linalg.inv(input)"},
    {"linalg.cholesky(A, upper=False)", TORCH,
     .body = "x = _matrices(A, True)\n"
             "L = _cholesky(x.mT if upper else x)\n"
             "_check_holds(L.diagonal(0, -2, -1) > 0, 'A', 'positive-definite matrices')\n"
             "return L.mT if upper else L"},
    {"cholesky_solve(B, L, upper=False)", TORCH,
     .body = "return _cholesky_solve(B, _matrices(L, True), upper)"},
    {"cholesky_solve(input, input2, upper=False)", METHOD,
     .body = "return _cholesky_solve(input, _matrices(input2, True), upper)"},
    {"_cholesky_solve(B, L, upper)", HIDDEN,
     .body = "l = L.mT if upper else L\n"
             "return _triangular(l.mT, _triangular(l, B, True, False), False, False)"},
    {"cholesky_inverse(input, upper=False)", TORCH | METHOD,
     .body = "return _cholesky_solve(_eye(input), _matrices(input, True), upper)"},
    {"linalg.qr(A, mode='reduced')", TORCH,
     .body = "how = _qr_mode(mode)\n"
             "m, n = _known_matrices(A).shape[-2:]\n"
             "f = _qr(A, how == 'complete')\n"
             "known = f.detach() if how == 'complete' and m > n else f\n"
             "Q = known[..., :m, :]\n"
             "return _named(zeros(0, dtype=A.dtype) if how == 'r' else Q, 'Q', known[..., m:, :].mT, 'R')"},
    {"linalg.lu(A, *, pivot=True)", TORCH,
     .body = "f = _lu(_factorable(A, pivot))\n"
             "n = A.shape[-1]\n"
             "L, U = _unpacked(f[..., :n])\n"
             "return _named(_permutation(f[..., n].detach()), 'P', L, 'L', U, 'U')"},
    {"_unpacked(LU)", HIDDEN,
     .body = "k = _lesser(LU)\n"
             "L = LU[..., :k]\n"
             "return L.tril(-1) + _eye(L, LU.shape[-2]), LU[..., :k, :].triu()"},
    {"_permutation(order)", HIDDEN,
     .body = "rows = torch.arange(order.shape[-1], dtype=order.dtype)\n"
             "return (rows[:, None] == order[..., None, :]).to(order.dtype)"},
    {"_factorable(A, pivot)", HIDDEN, .build = fn_factorable},
    {"_lesser(input)", HIDDEN, .build = fn_lesser},
    {"linalg.eigh(A, UPLO='L')", TORCH,
     .body = "x = _matrices(A, True)\n"
             "f = _eigh(x if _lower(UPLO) else x.mT)\n"
             "_check_holds(f[..., 0, :] == f[..., 0, :], 'eigenvalues', 'numbers')\n"
             "return _named(f[..., 0, :], 'eigenvalues', f[..., 1:, :], 'eigenvectors')"},
    {"linalg.eigvalsh(A, UPLO='L')", TORCH, .body = "return torch.linalg.eigh(A, UPLO)[0]"},
    {"linalg.matrix_power(A, n)", TORCH, .body = "return torch.matrix_power(A, n)"},
    {"matrix_power(input, n)", TORCH | METHOD,
     .body = "x = _squares(input)\n"
             "return (_power(x, n) if n > 0 else _eye(x).expand(x.shape) if n == 0 else"
             " _power(torch.linalg.inv(x), -n))"},
    /* with two */
    {"linalg.solve(A, B, left=True)", TORCH,
     .body = "vector = left and _is_vector(A, B)\n"
             "b = B[..., None] if vector else B\n"
             "x = _solution(A, b) if left else _solution(_matrices(A, True).mT, _matrices(B, False).mT).mT\n"
             "return x[..., 0] if vector else x"},
    {"linalg.solve_ex(A, B, *, left=True, check_errors=False)", TORCH,
     .body = "vector = left and _is_vector(A, B)\n"
             "b = B[..., None] if vector else B\n"
             "f = _solved(A, b) if left else _solved(_matrices(A, True).mT, _matrices(B, False).mT)\n"
             "k = f.shape[-1] - 1\n"
             "pivots = f[..., k].detach()\n"
             "_check_holds(pivots != 0, 'A', 'invertible matrices') if check_errors else None\n"
             "x = f[..., 0] if vector else f[..., :k] if left else f[..., :k].mT\n"
             "return _named(x, 'result', _first_fault(pivots == 0), 'info')"},
    {"linalg.tensorsolve(A, B, dims=None)", TORCH,
     .body = "x = A if dims is None else A.movedim(dims, range(-len(dims), 0))\n"
             "shape = x.shape[B.ndim:]\n"
             "return torch.linalg.solve(x.flatten(0, B.ndim - 1).flatten(1), B.flatten()).reshape(shape)"},
    {"linalg.solve_triangular(A, B, upper, left=True, unitriangular=False)", TORCH,
     .body = "x = _matrices(A, True)\n"
             "y = _matrices(B, False)\n"
             "return (_triangular(x, y, not upper, unitriangular) if left else"
             " _triangular(x.mT, y.mT, upper, unitriangular).mT)"},
    {"triangular_solve(b, A, upper=True, transpose=False, unitriangular=False)", TORCH,
     .body = "x = _triangular(A.mT if transpose else A, b, upper == transpose, unitriangular)\n"
             "return _named(x, 'solution', A, 'cloned_coefficient')"},
    /* of any rank */
    {"linalg.pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None)", TORCH,
     .body = "x = _matrices(A, hermitian)\n"
             "relative = rcond if rtol is None else rtol\n"
             "P = (_pinv_of(*_symmetric(A), atol, relative) if hermitian else"
             " _pinv_of(*_singular(_known_matrices(A).detach(), False), atol, relative))\n"
             "return _pinv_graded(A, A.detach(), P.detach()) if _saves() else P"},
    {"pinverse(input, rcond=1e-15)", TORCH | METHOD, .body = "return torch.linalg.pinv(input, rcond)"},
    {"_symmetric(A)", HIDDEN,
     .body = "values, vectors = torch.linalg.eigh(A.detach())\n"
             "return vectors, values, vectors"},
    {"_pinv_of(U, S, V, atol, rtol)", HIDDEN,
     .body = "return (V * where(_above(abs(S), U, V, atol, rtol), 1 / S, 0)[..., None, :]) @ U.mT"},
    /* what is above a tolerance: values of a matrix of as many rows and columns as U and V have rows */
    {"_above(S, U, V, atol, rtol)", HIDDEN,
     .body =
         "m, n = U.shape[-2], V.shape[-2]\n"
         "least = finfo(S.dtype).eps * (m if m > n else n)\n"
         "relative = (rtol if rtol is not None else least if atol is None else _pick(atol > 0, 0.0, least))\n"
         "above = S > (0.0 if atol is None else _with_axis(atol))\n"
         "return above if _is_empty(S, -1) else above & (S > _with_axis(relative) * S.amax(-1, keepdim=True))"},
    {"_with_axis(input)", HIDDEN, .body = "return input[..., None] if _is_tensor(input) else input"},
    /* P, the pseudoinverse of the constant a, with the slope that it has as one of A; whatever values are equal, that exists while
     * the rank stays */
    {"_pinv_graded(A, a, P)", HIDDEN,
     .body = "left = (P @ P.mT) @ (A.mT - (A.mT @ a) @ P)\n"
             "right = (A.mT - P @ (a @ A.mT)) @ (P.mT @ P)\n"
             "return _instead(left + right - P @ A @ P, P)"},
    {"linalg.matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None)", TORCH,
     .body = "x = _matrices(A, hermitian).detach()\n"
             "S = torch.linalg.eigvalsh(x).abs() if hermitian else torch.linalg.svdvals(x)\n"
             "absolute = atol if tol is None else tol\n"
             "relative = rtol if tol is None else 0.0\n"
             "return _above(S, x, x.mT, absolute, relative).sum(-1)"},
    {"_least(A, B)", HIDDEN,
     .body =
         "m, n = A.shape[-2:]\n"
         "tall = m >= n\n"
         "f = _qr(A if tall else A.mT, False)\n"
         "rows = m if tall else n\n"
         "Q = f[..., :rows, :]\n"
         "R = f[..., rows:, :].mT\n"
         "size = R.diagonal(0, -2, -1).detach().abs()\n"
         "least = size.amax(-1, keepdim=True) * (rows * finfo(A.dtype).eps)\n"
         "_check_holds(~(size <= least), 'A', 'of full rank')\n"
         "return _triangular(R, Q.mT @ B, False, False) if tall else Q @ _triangular(R.mT, B, True, False)"},
    {"linalg.lstsq(A, B, rcond=None, *, driver=None)", TORCH,
     .body =
         "x = _known_matrices(A)\n"
         "m, n = x.shape[-2:]\n"
         "vector = _is_vector(A, B)\n"
         "b = B[..., None] if vector else B\n"
         "how = _driver(driver)\n"
         "full = how == 'gels'\n"
         "none = zeros(0, dtype=A.dtype)\n"
         "values = none if full else torch.linalg.svdvals(x.detach())\n"
         "solution = _least(x, b) if full else torch.linalg.pinv(x, rcond) @ b\n"
         "away = (x @ solution - b).square().sum(-2) if m > n and how != 'gelsy' else none\n"
         "rank = (zeros(0, dtype=torch.int64) if full else _above(values, x, x.mT, None, rcond).sum(-1))\n"
         "return _named(solution[..., 0] if vector else solution, 'solution', away, 'residuals', rank, 'rank',"
         " none if how == 'gelsy' else values, 'singular_values')"},
    {"_driver(driver)", HIDDEN, .build = fn_driver},
    /* by singular values */
    {"linalg.svd(A, full_matrices=True, *, driver=None)", TORCH,
     .body = "U, S, V = _singular(_known_matrices(A), full_matrices)\n"
             "return _named(U, 'U', S, 'S', V.mT, 'Vh')"},
    {"svd(input, some=True, compute_uv=True)", TORCH | METHOD,
     .body =
         "U, S, V = _singular(_known_matrices(input), not some)\n"
         "return _named(U if compute_uv else torch.zeros_like(U), 'U', S, 'S', V if compute_uv else torch.zeros_like(V), 'V')"},
    {"_no_wider(input)", HIDDEN, .build = fn_no_wider},
    {"_singular(A, complete)", HIDDEN,
     .body = "m, n = A.shape[-2:]\n"
             "U, S, V = _singular_tall(A if m >= n else A.mT, complete)\n"
             "return (U, S, V) if m >= n else (V, S, U)"},
    {"_singular_tall(A, complete)", HIDDEN,
     .body = "m, n = A.shape[-2:]\n"
             "f = _svd(A, complete)\n"
             "S = f[..., m, :n]\n"
             "_check_holds(S == S, 'singular values', 'numbers')\n"
             "return f[..., :m, :], S, f[..., m + 1:, :n]"},
    {"linalg.svdvals(A, *, driver=None)", TORCH, .body = "return _singular(_known_matrices(A), False)[1]"},
    {"linalg.cond(A, p=None)", TORCH,
     .body = "return (_ratio(torch.linalg.svdvals(A), 0, -1) if p is None or p == 2 else"
             " _ratio(torch.linalg.svdvals(A), -1, 0) if p == -2 else _cond(A, p))"},
    {"_ratio(S, over, under)", HIDDEN,
     .body = "return S.sum(-1) if _is_empty(S, -1) else S[..., over] / S[..., under]"},
    {"_cond(A, p)", HIDDEN,
     .body = "inverse, info = torch.linalg.inv_ex(A)\n"
             "known = where(info[..., None, None] == 0, inverse, 0)\n"
             "size = torch.linalg.matrix_norm(A, p) * torch.linalg.matrix_norm(known, p)\n"
             "return where(info == 0, size, inf)"},
    {"linalg.polar(A)", TORCH,
     .body = "x = _known_matrices(A)\n"
             "P, S, Q = _singular_tall(_no_wider(A).detach(), False)\n"
             "U = P @ Q.mT\n"
             "H = (Q * S[..., None, :]) @ Q.mT\n"
             "return _polar_graded(x, P, S, Q, U, H) if _saves() else _named(U, 'U', H, 'H')"},
    /* with the slopes that U and H have as those of A, whatever values are equal */
    {"_polar_graded(A, P, S, Q, U, H)", HIDDEN,
     .body = "turned = A @ Q\n"
             "M = P.mT @ turned\n"
             "both = S[..., None, :] + S[..., None]\n"
             "outside = ((turned - P @ M) / S[..., None, :]) @ Q.mT\n"
             "inside = P @ ((M - M.mT) / both) @ Q.mT\n"
             "stretch = Q @ ((M.mT * S[..., None, :] + S[..., None] * M) / both) @ Q.mT\n"
             "return _named(_instead(inside + outside, U), 'U', _instead(stretch, H), 'H')"},
    {"linalg.matrix_sqrth(A)", TORCH,
     .body =
         "values, Q = torch.linalg.eigh(A.detach())\n"
         "root = values.clamp(min=0).sqrt()\n"
         "X = (Q * root[..., None, :]) @ Q.mT\n"
         "return (_instead(Q @ ((Q.mT @ A @ Q) / (root[..., None, :] + root[..., None])) @ Q.mT, X) if _saves()"
         " else X)"},
    /* ---- with reflections: their product is 1 - V T V^T ---- */
    {"linalg.householder_product(A, tau)", TORCH,
     .body = "V, T = _reflected(A, _reflections(A, tau))\n"
             "n = A.shape[-1]\n"
             "return _eye(A, A.shape[-2]) - V @ (T @ V[..., :n, :].mT)"},
    {"orgqr(input, input2)", TORCH | METHOD,
     .body = "return torch.linalg.householder_product(input, input2)"},
    {"ormqr(input, tau, other, left=True, transpose=False)", TORCH | METHOD,
     .body = "V, T = _reflected(input, _reflections(input, tau))\n"
             "turn = T.mT if transpose else T\n"
             "return other - (V @ (turn @ (V.mT @ other)) if left else ((other @ V) @ turn) @ V.mT)"},
    {"_reflected(A, tau)", HIDDEN,
     .body = "k = tau.shape[-1]\n"
             "V = A[..., :k].tril(-1) + _eye(A[..., :k], A.shape[-2])\n"
             "steps = _eye(V.mT @ V) + tau[..., None] * (V.mT @ V).triu(1)\n"
             "return V, _triangular(steps, torch.diag_embed(tau), False, True)"},
    {"_reflections(A, tau)", HIDDEN, .build = fn_reflections},
    /* ---- chains of products ---- */
    {"linalg.multi_dot(tensors)", TORCH, .body = "return _chain(tensors, 2)"},
    {"chain_matmul(matrices)", TORCH | FUNCTION_SIZES, .body = "return _chain(matrices, 1)"},
    {"_chain(tensors, least)", HIDDEN, .build = fn_chain},
    {"linalg.vander(x, *, N=None)", TORCH,
     .body = "y = x if x.is_floating_point() else x.long()\n"
             "n = _check_powers(x.shape[-1] if N is None else N)\n"
             "powers = y[..., None].expand(*y.shape, n - 1).cumprod(-1)\n"
             "return cat((torch.ones_like(y)[..., None], powers), -1)"},
    {"_check_powers(N)", HIDDEN, .build = fn_check_powers},
    {"linalg.matrix_exp(A)", TORCH, .body = "return _matrix_exp(_matrices(A, True))"},
    {"matrix_exp(input)", TORCH | METHOD, .body = "return _matrix_exp(_matrices(input, True))"},
    /* with their pivots, and what says where these fail */
    {"linalg.lu_factor(A, *, pivot=True)", TORCH,
     .body = "LU, pivots, info = torch.linalg.lu_factor_ex(A, pivot=pivot)\n"
             "return _named(LU, 'LU', pivots, 'pivots')"},
    {"linalg.lu_factor_ex(A, *, pivot=True, check_errors=False)", TORCH,
     .body =
         "f = _lu(_factorable(A, pivot))\n"
         "n = A.shape[-1]\n"
         "k = _lesser(A)\n"
         "LU = f[..., :n]\n"
         "faults = LU.detach().diagonal(0, -2, -1) == 0\n"
         "_check_holds(~faults, 'A', 'of full rank') if check_errors else None\n"
         "return _named(LU, 'LU', f[..., :k, n + 1].detach().int() + 1, 'pivots', _first_fault(faults), 'info')"},
    {"lu(A, pivot=True, get_infos=False)", TORCH,
     .body = "LU, pivots, info = torch.linalg.lu_factor_ex(A, pivot=pivot, check_errors=not get_infos)\n"
             "return (LU, pivots, info) if get_infos else (LU, pivots)"},
    {"lu(input, pivot=True, get_infos=False)", METHOD, .body = "return torch.lu(input, pivot, get_infos)"},
    {"lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True)", TORCH,
     .body = "none = zeros(0, dtype=LU_data.dtype)\n"
             "L, U = _unpacked(_factorable(LU_data, True)) if unpack_data else (none, none)\n"
             "P = _permutation(_rows_by(_matrices(LU_data, False), LU_pivots)) if unpack_pivots else none\n"
             "return _named(P, 'P', L, 'L', U, 'U')"},
    {"_rows_by(LU, pivots)", HIDDEN,
     .body = "m = LU.shape[-2]\n"
             "k = _lesser(LU)\n"
             "pivots = _pivots_of(LU, pivots)\n"
             "_check_holds((pivots > 0) & (pivots <= m), 'pivots', 'numbers of rows, which count from 1')\n"
             "own = pivots.to(LU.dtype) - 1\n"
             "rest = torch.arange(k, m, dtype=LU.dtype).expand(*LU.shape[:-2], -1)\n"
             "return _order_of((own if _equal(k, m) else cat((own, rest), -1))[..., None])[..., 0]"},
    {"linalg.lu_solve(LU, pivots, B, *, left=True, adjoint=False)", TORCH,
     .body = "x = _matrices(LU, True)\n"
             "order = _rows_by(x, pivots).long()\n"
             "return (_lu_solve(x, order, _matrices(B, False), adjoint) if left else"
             " _lu_solve(x, order, _matrices(B, False).mT, not adjoint).mT)"},
    {"_lu_solve(LU, order, B, adjoint)", HIDDEN,
     .body = "x = _triangular(LU.mT, B, True, False) if adjoint else _rows_of(B, order)\n"
             "y = _triangular(LU.mT, x, False, True) if adjoint else _triangular(LU, x, True, True)\n"
             "return _rows_of(y, order.argsort(-1)) if adjoint else _triangular(LU, y, False, False)"},
    {"_rows_of(input, order)", HIDDEN,
     .body = "lead = torch.broadcast_tensors(input.sum((-2, -1)), order.sum(-1))[0].shape\n"
             "at = order[..., None].expand(*lead, -1, input.shape[-1])\n"
             "return input.expand(*lead, -1, -1).gather(-2, at)"},
    {"lu_solve(b, LU_data, LU_pivots)", TORCH, .body = "return torch.linalg.lu_solve(LU_data, LU_pivots, b)"},
    {"lu_solve(input, LU_data, LU_pivots)", METHOD,
     .body = "return torch.linalg.lu_solve(LU_data, LU_pivots, input)"},
    {"linalg.cholesky_ex(A, *, upper=False, check_errors=False)", TORCH,
     .body =
         "x = _matrices(A, True)\n"
         "L = torch.linalg.cholesky(A) if check_errors and not upper else _cholesky(x.mT if upper else x)\n"
         "return _named(L.mT if upper else L, 'L', _first_fault(~(L.detach().diagonal(0, -2, -1) > 0)), 'info')"},
    {"linalg.inv_ex(A, *, check_errors=False)", TORCH,
     .body = "x = _matrices(A, True)\n"
             "n = A.shape[-1]\n"
             "f = _solved(x, _eye(x))\n"
             "return _named(torch.linalg.inv(x) if check_errors else f[..., :n], 'inverse',"
             " _first_fault(f[..., n].detach() == 0), 'info')"},
    {"_first_fault(faults)", HIDDEN,
     .body = "some = faults.any(-1)\n"
             "return (some if _is_empty(faults, -1) else where(some, faults.int().argmax(-1) + 1, 0)).int()"},
    {"linalg.tensorinv(A, ind=2)", TORCH,
     .body = "x = A.flatten(0, ind - 1).flatten(1)\n"
             "return torch.linalg.inv(x).reshape(A.shape[ind:] + A.shape[:ind])"},
    {"linalg.matmul(input, other)", TORCH, .body = "return input @ other"},
    {"linalg.diagonal(A, offset=0, dim1=-2, dim2=-1)", TORCH,
     .body = "return A.diagonal(offset, dim1, dim2)"},
    {"linalg.vecdot(x, y, dim=-1)", TORCH, .body = "return (x * y).sum(dim)"},
    /* parts */
    {"_solution(A, B)", HIDDEN,
     .body = "f = _solved(A, B)\n"
             "k = B.shape[-1]\n"
             "_check_holds(f[..., k] != 0, 'A', 'invertible matrices')\n"
             "return f[..., :k]"},
    /* of as many columns */
    {"_eye(input, rows=None)", HIDDEN,
     .body = "i = arange(input.shape[-1], dtype=torch.int32)\n"
             "j = i if rows is None else arange(rows, dtype=torch.int32)\n"
             "return (j[:, None] == i).to(input.dtype)"},
    /* 1, or -1 where rows were exchanged an odd number of times */
    {"_turned(f, n)", HIDDEN,
     .body = "at = arange(n, dtype=torch.int32).to(f.dtype)\n"
             "return where(f[..., n + 1].detach() == at, 1.0, -1.0).to(f.dtype).prod(-1)"},
    {"_known_matrices(input)", HIDDEN, .build = fn_known_matrices},
    {"_svd(A, complete)", HIDDEN, .build = fn_svd},
    {"_matrix_exp(A)", HIDDEN, .build = fn_matrix_exp},
    {"_matrices(input, square)", HIDDEN, .build = fn_matrices},
    {"_pivots_of(LU, pivots)", HIDDEN, .build = fn_pivots},
    {"_lu(A)", HIDDEN, .build = fn_lu},
    {"_order_of(exchanged)", HIDDEN, .build = fn_order_of},
    {"_cholesky(A)", HIDDEN, .build = fn_cholesky},
    {"_eigh(A)", HIDDEN, .build = fn_eigh},
    {"_qr(A, complete)", HIDDEN, .build = fn_qr},
    {"_solved(A, B)", HIDDEN, .build = fn_solved},
    {"_triangular(A, B, lower, unit)", HIDDEN, .build = fn_triangular},
    {"_is_vector(A, B)", HIDDEN, .build = fn_is_vector},
    {"_squares(input)", HIDDEN, .build = fn_squares},
    {"_power(input, n)", HIDDEN, .build = fn_power},
    {"_qr_mode(mode)", HIDDEN, .build = fn_qr_mode},
    {"_lower(UPLO)", HIDDEN, .build = fn_lower},
    {.signature = NULL},
};
