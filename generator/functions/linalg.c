/* linalg.c - linear algebra of small matrices: the op of note [factors], and what is made of it in statements. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

/* A tensor of matrices in float32 or float64, with `square` of as many rows as columns. */
static bool need_matrices(struct eval *eval, struct loc loc, const struct ev *arg, bool square)
{
    const char *what = outer(eval, "this");
    const struct value *x = arg->tensor;

    if (!need_tensor(eval, what, arg))
        return false;
    if (x->ndim < 2) {
        diag_error(eval->cx, loc, "%s takes matrices, of at least two dimensions, found %s", what,
                   shape_text(&eval->cx->arena, x->ndim, x->dims));
        return false;
    }
    if (x->dtype != DTYPE_FLOAT32 && x->dtype != DTYPE_FLOAT64) {
        diag_error(eval->cx, loc, "%s takes float32 or float64, found %s", what, dtype_rows[x->dtype].name);
        diag_hint(eval->cx, "convert first, as x.float()");
        return false;
    }
    if (square && !dim_equal(x->dims[x->ndim - 2], x->dims[x->ndim - 1])) {
        diag_error(eval->cx, loc, "%s takes square matrices, found %s", what,
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

    if (!need_matrices(eval, loc, &args[0], ev_get_bool(&args[1], &square) && square))
        return BAD;
    return args[0];
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

/* input, matrices of a shape that is known. */
static struct ev fn_known_matrices(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x = args[0].tensor;
    (void)count;

    if (!need_matrices(eval, loc, &args[0], false))
        return BAD;
    if (dim_is_const(x->dims[x->ndim - 2], NULL) && dim_is_const(x->dims[x->ndim - 1], NULL))
        return args[0];
    diag_error(eval->cx, loc, "%s takes matrices of a shape that is known while generating, found %s",
               outer(eval, "svd"), shape_text(&eval->cx->arena, x->ndim, x->dims));
    return BAD;
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

    if (!need_matrices(eval, loc, &args[0], true) || !need_tensor(eval, what, &args[1]))
        return BAD;
    a = args[0].tensor;
    b = args[1].tensor;
    if (a->dtype != b->dtype) {
        diag_error(eval->cx, loc, "%s: the matrix is %s, what it is to give %s", what,
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
        diag_error(eval->cx, loc, "%s takes square matrices, found %s", what,
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
        square = build_matmul(eval, loc, "matrix_power", square, square, NULL);
        return ev_tensor(loc, square ? build_matmul(eval, loc, "matrix_power", square, args[0].tensor, NULL)
                                     : NULL);
    }
    for (; n > 0; n /= 2) {
        if (n % 2 == 1)
            power = power ? build_matmul(eval, loc, "matrix_power", power, square, NULL) : square;
        if (n > 1)
            square = build_matmul(eval, loc, "matrix_power", square, square, NULL);
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

static struct ev fn_check_pivot(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool pivot;
    (void)count;

    if (!need_bool(eval, outer(eval, "lu"), &args[0], &pivot))
        return BAD;
    if (!pivot) {
        diag_error(eval->cx, args[0].loc, "%s: pivot=False is not supported yet by this version of modc",
                   outer(eval, "lu"));
        return BAD;
    }
    return ev_bool(loc, true); /* square */
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
    {"linalg.lu(A, pivot=True)", TORCH,
     .body = "f = _lu(_matrices(A, _check_pivot(pivot)))\n"
             "n = A.shape[-1]\n"
             "P = (torch.arange(n, dtype=A.dtype)[:, None] == f[..., n].detach()[..., None, :]).to(A.dtype)\n"
             "U = f[..., :n].triu()\n"
             "return P, f[..., :n].tril(-1) + _eye(A), U"},
    {"_check_pivot(pivot)", HIDDEN, .build = fn_check_pivot},
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
    {"linalg.solve_triangular(A, B, upper, left=True, unitriangular=False)", TORCH,
     .body = "x = _matrices(A, True)\n"
             "y = _matrices(B, False)\n"
             "return (_triangular(x, y, not upper, unitriangular) if left else"
             " _triangular(x.mT, y.mT, upper, unitriangular).mT)"},
    {"triangular_solve(b, A, upper=True, transpose=False, unitriangular=False)", TORCH,
     .body = "x = _triangular(A.mT if transpose else A, b, upper == transpose, unitriangular)\n"
             "return _named(x, 'solution', A, 'cloned_coefficient')"},
    /* of full rank */
    {"linalg.pinv(A)", TORCH, .body = "return _least(_known_matrices(A), eye(A.shape[-2], dtype=A.dtype))"},
    {"pinverse(input)", TORCH | METHOD, .body = "return torch.linalg.pinv(input)"},
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
         "solution = _least(x, b)\n"
         "how = _driver(driver)\n"
         "none = zeros(0, dtype=A.dtype)\n"
         "away = (x @ solution - b).square().sum(-2) if m > n and how != 'gelsy' else none\n"
         "rank = torch.full(A.shape[:-2] if how != 'gels' else (0,), min(m, n), dtype=torch.int64)\n"
         "values = torch.linalg.svdvals(x.detach()) if how == 'gelsd' or how == 'gelss' else none\n"
         "return _named(solution[..., 0] if vector else solution, 'solution', away, 'residuals', rank, 'rank',"
         " values, 'singular_values')"},
    {"_driver(driver)", HIDDEN, .build = fn_driver},
    /* by singular values */
    {"linalg.svd(A, full_matrices=True, *, driver=None)", TORCH,
     .body = "U, S, V = _singular(_known_matrices(A), full_matrices)\n"
             "return _named(U, 'U', S, 'S', V.mT, 'Vh')"},
    {"svd(input, some=True, compute_uv=True)", TORCH | METHOD,
     .body =
         "U, S, V = _singular(_known_matrices(input), not some)\n"
         "return _named(U if compute_uv else torch.zeros_like(U), 'U', S, 'S', V if compute_uv else torch.zeros_like(V), 'V')"},
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
     .body = "return (_stretch(torch.linalg.svdvals(A)) if p is None or p == 2 else"
             " 1 / _stretch(torch.linalg.svdvals(A)) if p == -2 else"
             " torch.linalg.matrix_norm(A, p) * torch.linalg.matrix_norm(torch.linalg.inv(A), p))"},
    {"_stretch(S)", HIDDEN, .body = "return S[..., 0] / S[..., -1]"},
    {"linalg.matrix_exp(A)", TORCH, .body = "return _matrix_exp(_matrices(A, True))"},
    {"matrix_exp(input)", TORCH | METHOD, .body = "return _matrix_exp(_matrices(input, True))"},
    /* with their pivots, and what says where these fail */
    {"linalg.lu_factor(A, *, pivot=True)", TORCH,
     .body = "f = _lu(_matrices(A, _check_pivot(pivot)))\n"
             "n = A.shape[-1]\n"
             "return _named(f[..., :n], 'LU', f[..., n + 1].detach().int() + 1, 'pivots')"},
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
     .body = "return where(faults.any(-1), faults.int().argmax(-1) + 1, 0).int()"},
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
    {"_eye(input)", HIDDEN,
     .body = "i = arange(input.shape[-1], dtype=torch.int32)\n"
             "return (i[:, None] == i).to(input.dtype)"},
    /* 1, or -1 where rows were exchanged an odd number of times */
    {"_turned(f, n)", HIDDEN,
     .body = "at = arange(n, dtype=torch.int32).to(f.dtype)\n"
             "return where(f[..., n + 1].detach() == at, 1.0, -1.0).to(f.dtype).prod(-1)"},
    {"_known_matrices(input)", HIDDEN, .build = fn_known_matrices},
    {"_svd(A, complete)", HIDDEN, .build = fn_svd},
    {"_matrix_exp(A)", HIDDEN, .build = fn_matrix_exp},
    {"_matrices(input, square)", HIDDEN, .build = fn_matrices},
    {"_lu(A)", HIDDEN, .build = fn_lu},
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
