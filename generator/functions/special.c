/* special.c - torch.special: lines of elementwise.c under PyTorch's names and checks, and second names of what torch has. */
#include <string.h>

#include "functions/rows.h"

/* The order of a polygamma function. */
static struct ev fn_check_degree(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const char *what = outer(eval, "polygamma");
    int64_t n;
    (void)count;

    if (!need_int(eval, what, &args[0], &n))
        return BAD;
    if (n < 0) {
        diag_error(eval->cx, args[0].loc, "%s does not support negative n, found %lld", what, (long long)n);
        return BAD;
    }
    return ev_none(loc);
}

static struct ev fn_check_multigamma(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const char *what = outer(eval, "mvlgamma");
    int64_t p;
    (void)count;

    if (!need_int(eval, what, &args[0], &p))
        return BAD;
    if (p < 1) {
        diag_error(eval->cx, args[0].loc, "%s: p has to be greater than or equal to 1, found %lld", what,
                   (long long)p);
        return BAD;
    }
    return ev_none(loc);
}

/* Polynomials of degree 1, and k + 1 by those of degrees k, p, and k - 1, q. */
static const struct polynomial {
    const char *name, *first, *next;
} polynomials[] = {
    {"chebyshev_polynomial_t", "x", "2 * x * p - q"},
    {"chebyshev_polynomial_u", "2 * x", "2 * x * p - q"},
    {"chebyshev_polynomial_v", "2 * x - 1", "2 * x * p - q"},
    {"chebyshev_polynomial_w", "2 * x + 1", "2 * x * p - q"},
    {"hermite_polynomial_h", "2 * x", "2 * x * p - 2 * k * q"},
    {"hermite_polynomial_he", "x", "x * p - k * q"},
    {"laguerre_polynomial_l", "1 - x", "((2 * k + 1 - x) * p - k * q) / (k + 1)"},
    {"legendre_polynomial_p", "x", "((2 * k + 1) * x * p - k * q) / (k + 1)"},
};

/* The polynomial of that name of degree n, 0 where that is below 0: of x, or of 2 x - 1 where it is shifted. */
static struct ev fn_polynomial(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    enum { MOST = 64 };
    static const char shifted[] = "shifted_";
    struct arena *arena = &eval->cx->arena;
    const char *name = args[2].text, *what = outer(eval, name);
    const bool shift = strncmp(name, shifted, strlen(shifted)) == 0;
    const struct polynomial *row = polynomials;
    struct dag *dag = dag_new(arena, 1);
    struct value *x;
    enum dtype dtype;
    int64_t n;
    int before, last, z;
    (void)count;

    if (!need_tensor(eval, what, &args[0]) || !need_int(eval, what, &args[1], &n))
        return BAD;
    if (n > MOST) {
        diag_error(eval->cx, args[1].loc, "%s of degree %lld: modc has degrees up to %d", what, (long long)n,
                   MOST);
        return BAD;
    }
    x = args[0].tensor;
    if (!dtype_is_float(x->dtype))
        x = build_cast(eval, loc, x, eval->default_dtype);
    while (strcmp(row->name, shift ? name + strlen(shifted) : name) != 0)
        row++;
    dtype = x->dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    z = dag_cast(arena, dag, dag_load(arena, dag, 0, x->dtype), dtype);
    if (shift)
        z = elementwise_expr(eval->cx, dag, dtype, "2 * x - 1", (struct elementwise_name[]){{"x", z}}, 1);
    before = last = dag_const(arena, dag, dtype, n < 0 ? 0 : 1);
    for (int k = 0; k < n; k++) {
        struct elementwise_name names[] = {
            {"x", z}, {"p", last}, {"q", before}, {"k", dag_const(arena, dag, dtype, k)}};

        before = last;
        last = elementwise_expr(eval->cx, dag, dtype, k == 0 ? row->first : row->next, names, COUNT(names));
    }
    dag->result = dag_cast(arena, dag, last, x->dtype);
    return ev_tensor(loc, build_map(eval, loc, name, dag, &x, 1));
}

#define POLYNOMIAL(name) "return _polynomial(input, n, '" name "').detach()"

extern const struct function_row special_functions[];

const struct function_row special_functions[] = {
    {"special.airy_ai(input)", TORCH, .body = "return _airy_ai(input)"},
    {"special.bessel_j0(input)", TORCH, .body = "return _bessel_j0(input)"},
    {"special.bessel_j1(input)", TORCH, .body = "return _bessel_j1(input)"},
    {"special.bessel_y0(input)", TORCH, .body = "return _bessel_y0(input)"},
    {"special.bessel_y1(input)", TORCH, .body = "return _bessel_y1(input)"},
    {"special.modified_bessel_i0(input)", TORCH, .body = "return i0(input)"},
    {"special.modified_bessel_i1(input)", TORCH, .body = "return _i1(input)"},
    {"special.modified_bessel_k0(input)", TORCH, .body = "return _k0(input)"},
    {"special.modified_bessel_k1(input)", TORCH, .body = "return _k1(input)"},
    {"special.scaled_modified_bessel_k0(input)", TORCH, .body = "return _k0e(input)"},
    {"special.scaled_modified_bessel_k1(input)", TORCH, .body = "return _k1e(input)"},
    {"special.spherical_bessel_j0(input)", TORCH, .body = "return _spherical_bessel_j0(input)"},
    {"special.i0(input)", TORCH, .body = "return i0(input)"},
    {"special.i0e(input)", TORCH, .body = "return _i0e(input)"},
    {"special.i1(input)", TORCH, .body = "return _i1(input)"},
    {"special.i1e(input)", TORCH, .body = "return _i1e(input)"},
    {"special.erf(input)", TORCH, .body = "return erf(input)"},
    {"special.erfc(input)", TORCH, .body = "return erfc(input)"},
    {"special.erfcx(input)", TORCH, .body = "return _erfcx(input)"},
    {"special.erfinv(input)", TORCH, .body = "return erfinv(input)"},
    {"special.ndtr(input)", TORCH, .body = "return _ndtr(input)"},
    {"special.ndtri(input)", TORCH, .body = "return _ndtri(input)"},
    {"special.log_ndtr(input)", TORCH, .body = "return _log_ndtr(input)"},
    {"special.entr(input)", TORCH, .body = "return _entr(input)"},
    {"special.exp2(input)", TORCH, .body = "return exp2(input)"},
    {"special.expit(input)", TORCH, .body = "return sigmoid(input)"},
    {"special.expm1(input)", TORCH, .body = "return expm1(input)"},
    {"special.log1p(input)", TORCH, .body = "return log1p(input)"},
    {"special.logit(input, eps=None)", TORCH, .body = "return logit(input, eps)"},
    {"special.log_softmax(input, dim, dtype=None)", TORCH,
     .body = "return log_softmax(input, dim, dtype=dtype)"},
    {"special.softmax(input, dim, dtype=None)", TORCH, .body = "return softmax(input, dim, dtype=dtype)"},
    {"special.logsumexp(input, dim, keepdim=False)", TORCH, .body = "return logsumexp(input, dim, keepdim)"},
    {"special.round(input, decimals=0)", TORCH, .body = "return round(input, decimals=decimals)"},
    {"special.sinc(input)", TORCH, .body = "return sinc(input)"},
    {"special.xlogy(input, other)", TORCH, .body = "return xlogy(input, other)"},
    {"special.xlog1py(input, other)", TORCH,
     .body = "return _xlog1py(_met(input, other), _met(other, input))"},
    {"special.gammaln(input)", TORCH, .body = "return lgamma(input)"},
    {"special.digamma(input)", TORCH, .body = "return digamma(input)"},
    {"special.psi(input)", TORCH, .body = "return digamma(input)"},
    {"special.polygamma(n, input)", TORCH, .body = "return polygamma(n, input)"},
    {"special.multigammaln(input, p)", TORCH, .body = "return mvlgamma(input, p)"},
    {"special.zeta(input, other)", TORCH, .body = "return _zeta(_met(other, input), _met(input, other))"},
    {"special.gammainc(input, other)", TORCH, .body = "return igamma(input, other)"},
    {"special.gammaincc(input, other)", TORCH, .body = "return igammac(input, other)"},
    {"special.chebyshev_polynomial_t(input, n)", TORCH, .body = POLYNOMIAL("chebyshev_polynomial_t")},
    {"special.chebyshev_polynomial_u(input, n)", TORCH, .body = POLYNOMIAL("chebyshev_polynomial_u")},
    {"special.chebyshev_polynomial_v(input, n)", TORCH, .body = POLYNOMIAL("chebyshev_polynomial_v")},
    {"special.chebyshev_polynomial_w(input, n)", TORCH, .body = POLYNOMIAL("chebyshev_polynomial_w")},
    {"special.hermite_polynomial_h(input, n)", TORCH, .body = POLYNOMIAL("hermite_polynomial_h")},
    {"special.hermite_polynomial_he(input, n)", TORCH, .body = POLYNOMIAL("hermite_polynomial_he")},
    {"special.laguerre_polynomial_l(input, n)", TORCH, .body = POLYNOMIAL("laguerre_polynomial_l")},
    {"special.legendre_polynomial_p(input, n)", TORCH, .body = POLYNOMIAL("legendre_polynomial_p")},
    {"special.shifted_chebyshev_polynomial_t(input, n)", TORCH,
     .body = POLYNOMIAL("shifted_chebyshev_polynomial_t")},
    {"special.shifted_chebyshev_polynomial_u(input, n)", TORCH,
     .body = POLYNOMIAL("shifted_chebyshev_polynomial_u")},
    {"special.shifted_chebyshev_polynomial_v(input, n)", TORCH,
     .body = POLYNOMIAL("shifted_chebyshev_polynomial_v")},
    {"special.shifted_chebyshev_polynomial_w(input, n)", TORCH,
     .body = POLYNOMIAL("shifted_chebyshev_polynomial_w")},
    {"_polynomial(input, n, name)", HIDDEN, .build = fn_polynomial},
    {"igamma(input, other)", TORCH | METHOD,
     .body = "return _gammainc(_met(other, input), _met(input, other))"},
    {"igammac(input, other)", TORCH | METHOD,
     .body = "return _gammaincc(_met(other, input), _met(input, other))"},
    {"polygamma(n, input)", TORCH,
     .body = "_check_degree(n)\n"
             "return digamma(input) if n == 0 else _polygamma(input, n)"},
    {"polygamma(input, n)", METHOD, .body = "return torch.polygamma(n, input)"},
    {"mvlgamma(input, p)", TORCH | METHOD,
     .body = "_check_multigamma(p)\n"
             "x = input * 1.0\n"
             "each = lgamma(x.unsqueeze(-1) - 0.5 * torch.arange(p).to(x.dtype))\n"
             "return each.sum(-1) + 0.25 * p * (p - 1) * log(pi)"},
    {"_check_degree(n)", HIDDEN, .build = fn_check_degree},
    {"_check_multigamma(p)", HIDDEN, .build = fn_check_multigamma},
    {.signature = NULL},
};
