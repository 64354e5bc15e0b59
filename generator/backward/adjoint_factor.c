/* adjoint_factor.c - gradients of factors and of what they solve: products, and triangles that solve again. */
#include "backward/adjoint_rows.h"

/* What comes to the parts of the result, and where they are: note [factors] in ops.h. */
static const char *const texts[] = {
    /* A[order] = L U, of which the first columns and rows are square: what others of U (`wide`) or of L (`high`) are made of, they
     * hand on to these. A pivot of 0 lets nothing through, as in PyTorch. */
    [FACTOR_LU] =
        "k = _lesser(x)\n"
        "wide = not _equal(k, n)\n"
        "high = not _equal(k, m)\n"
        "L = y[..., :k, :k].tril(-1) + _eye(y[..., :k, :k])\n"
        "U = y[..., :k, :k].triu()\n"
        "zero = U.diagonal(0, -2, -1) == 0\n"
        "safe = U + torch.diag_embed(zero.to(y.dtype))\n"
        "d = g[..., :k, :k]\n"
        "right = _triangular(L.mT, g[..., :k, k:n], False, True) if wide else None\n"
        "below = _triangular(safe, g[..., k:, :k].mT, False, False).mT if high else None\n"
        "dL = d - right @ y[..., :k, k:n].mT if wide else d\n"
        "dU = d - y[..., k:, :k].mT @ below if high else d\n"
        "inner = (L.mT @ dL.tril(-1)).tril(-1) + (dU.triu() @ U.mT).triu()\n"
        "square = _triangular(L.mT, _triangular(safe, inner.mT, False, False).mT, False, True)\n"
        "rows = torch.cat((square, right), -1) if wide else torch.cat((square, below), -2) if high else square\n"
        "order = y[..., n].detach().long().argsort(-1)\n"
        "return rows.gather(-2, order[..., None].expand(rows.shape))",
    [FACTOR_CHOLESKY] = "inner = (y.mT @ g).tril()\n"
                        "half = inner - 0.5 * torch.diag_embed(inner.diagonal(0, -2, -1))\n"
                        "left = _triangular(y.mT, half, False, False)\n"
                        "d = _triangular(y.mT, left.mT, False, False)\n"
                        "return 0.5 * (d + d.mT)",
    /* Of a wide A the last columns are Q R too, and the first are square. */
    [FACTOR_QR] = "Q = y[..., :m, :]\n"
                  "R = y[..., m:, :].mT\n"
                  "dR = g[..., m:, :].mT\n"
                  "k = m if m < n else n\n"
                  "rest = x[..., k:]\n"
                  "dQ = g[..., :m, :] + rest @ dR[..., k:].mT\n"
                  "inner = (dR[..., :k] @ R[..., :k].mT - Q.mT @ dQ).triu()\n"
                  "both = inner + inner.mT - torch.diag_embed(inner.diagonal(0, -2, -1))\n"
                  "first = _triangular(R[..., :k], (Q @ both + dQ).mT, False, False).mT\n"
                  "return torch.cat((first, Q @ dR[..., k:]), -1)",
    [FACTOR_EIGH] = "V = y[..., 1:, :]\n"
                    "values = y[..., 0, :]\n"
                    "gap = values[..., None, :] - values[..., None]\n"
                    "one = _eye(x)\n"
                    "turned = (V.mT @ g[..., 1:, :]) * (1 - one)\n"
                    "inner = where(turned == 0, 0, turned / (gap + one))\n"
                    "return V @ (inner + torch.diag_embed(g[..., 0, :])) @ V.mT",
    /* Equal values have no vectors of their own: what does not ask for these has a gradient all the same. */
    [FACTOR_SVD] = "U = y[..., :m, :n]\n"
                   "S = y[..., m, :n]\n"
                   "V = y[..., m + 1:, :n]\n"
                   "dU = g[..., :m, :n]\n"
                   "dV = g[..., m + 1:, :n]\n"
                   "one = _eye(x)\n"
                   "gap = S[..., None, :] * S[..., None, :] - S[..., None] * S[..., None] + one\n"
                   "left = U.mT @ dU\n"
                   "right = V.mT @ dV\n"
                   "turned = (left - left.mT) * S[..., None, :] + S[..., None] * (right - right.mT)\n"
                   "inner = where(turned == 0, 0, turned / gap) + torch.diag_embed(g[..., m, :n])\n"
                   "away = dU - U @ left\n"
                   "outside = where(away == 0, 0, away / S[..., None, :])\n"
                   "return (U @ inner + (outside if m > n else 0)) @ V.mT",
    [FACTOR_EXP] = "top = torch.cat((x.mT, g), -1)\n"
                   "low = torch.cat((torch.zeros_like(x), x.mT), -1)\n"
                   "return _matrix_exp(torch.cat((top, low), -2))[..., :n, n:]",
};

static void give_factor(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0], *y = op->outputs[0], *b = op->input_count > 1 ? op->inputs[1] : NULL;
    const struct adjoint_name names[] = {{"x", x, NULL},
                                         {"y", y, NULL},
                                         {"g", g, NULL},
                                         {"m", NULL, x->dims[x->ndim - 2]},
                                         {"n", NULL, x->dims[x->ndim - 1]},
                                         {NULL, NULL, NULL}};
    struct value *d, *solution = y;

    if (!b) {
        a->give(a, x, adjoint_run(a, op, texts[op->factor.kind], names));
        return;
    }
    if (op->factor.kind == FACTOR_SOLVE) {
        const struct adjoint_name parts[] = {{"x", x, NULL},
                                             {"y", y, NULL},
                                             {"g", g, NULL},
                                             {"k", NULL, b->dims[b->ndim - 1]},
                                             {NULL, NULL, NULL}};

        d = adjoint_run(a, op, "return _solved(x.mT, g[..., :k])[..., :k]", parts);
        solution = adjoint_run(a, op, "return y[..., :k]", parts);
    } else {
        const struct adjoint_name parts[] = {{"x", x, NULL},
                                             {"g", g, NULL},
                                             {"upper", NULL, adjoint_number(a, !op->factor.lower)},
                                             {"unit", NULL, adjoint_number(a, op->factor.unit)},
                                             {NULL, NULL, NULL}};

        d = adjoint_run(a, op, "return _triangular(x.mT, g, upper == 1, unit == 1)", parts);
    }
    if (a->wants(a, b))
        a->give(a, b, d);
    if (!a->wants(a, x))
        return;

    const struct adjoint_name parts[] = {{"d", d, NULL},
                                         {"y", solution, NULL},
                                         {"whole", NULL, adjoint_number(a, op->factor.kind == FACTOR_SOLVE)},
                                         {"lower", NULL, adjoint_number(a, op->factor.lower)},
                                         {"unit", NULL, adjoint_number(a, op->factor.unit)},
                                         {NULL, NULL, NULL}};

    a->give(a, x,
            adjoint_run(a, op,
                        "full = -(d @ y.mT)\n"
                        "return full if whole == 1 else full.tril(-unit) if lower == 1 else full.triu(unit)",
                        parts));
}

const struct adjoint_row factor_adjoint = {.one = give_factor};
