/* einsum.c - products that letters describe, and tensordot, as matrix products.
 *
 * note [einsum]
 * An operand is a tensor whose axes have labels. Two operands are joined at a time, from the left: what neither the result
 * nor a later operand needs is summed; what both have and somebody needs is a batch; the rest is rows of the one, columns of
 * the other. So each pair is one batched matrix product, or where nothing is summed a product of elements. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

enum {
    LETTERS = 52,
    LABELS = LETTERS + MAX_DIMS
}; /* the dimensions of an ellipsis have the last ones, from the right */

struct operand {
    struct value *x;
    int labels[MAX_DIMS];
};

struct product {
    struct eval *eval;
    struct loc loc;
    const char *what;
};

static int axis_of(const struct operand *operand, int label)
{
    for (int i = 0; i < operand->x->ndim; i++)
        if (operand->labels[i] == label)
            return i;
    return -1;
}

static char label_name(int label)
{
    return (char)(label >= LETTERS ? '.' : label < 26 ? 'A' + label : 'a' + label - 26);
}

/* The axes in another order. */
static bool reorder(const struct product *p, struct operand *operand, const int *perm)
{
    struct operand old = *operand;

    for (int i = 0; i < old.x->ndim; i++)
        operand->labels[i] = old.labels[perm[i]];
    operand->x = build_permute(p->eval, p->loc, old.x, perm);
    return operand->x != NULL;
}

static bool drop(const struct product *p, struct operand *operand, const bool *axes, bool sum)
{
    const struct dim *dims[MAX_DIMS];
    struct value *x = operand->x;
    int n = 0;

    for (int i = 0; i < x->ndim; i++) {
        if (axes[i])
            continue;
        dims[n] = x->dims[i];
        operand->labels[n++] = operand->labels[i];
    }
    if (n == x->ndim)
        return true;
    operand->x = sum ? build_reduce(p->eval, p->loc, x, REDUCE_SUM, axes, false)
                     : build_reshape(p->eval, p->loc, x, n, dims);
    if (operand->x && sum)
        operand->x = build_cast(p->eval, p->loc, operand->x, x->dtype);
    return operand->x != NULL;
}

/* A letter twice in one operand is its diagonal. */
static bool take_diagonals(const struct product *p, struct operand *operand)
{
    for (int i = 0; i < operand->x->ndim; i++) {
        for (int j = i + 1; j < operand->x->ndim; j++) {
            int perm[MAX_DIMS], n = 0, ndim = operand->x->ndim;

            if (operand->labels[i] != operand->labels[j])
                continue;
            if (!dim_equal(operand->x->dims[i], operand->x->dims[j])) {
                diag_error(p->eval->cx, p->loc, "%s: subscript %c is repeated but the sizes %s and %s differ",
                           p->what, label_name(operand->labels[i]),
                           dim_text(&p->eval->cx->arena, operand->x->dims[i]),
                           dim_text(&p->eval->cx->arena, operand->x->dims[j]));
                return false;
            }
            for (int k = 0; k < ndim; k++)
                if (k != i && k != j)
                    perm[n++] = k;
            perm[n++] = i;
            perm[n] = j;
            if (!reorder(p, operand, perm))
                return false;
            operand->x = build_diagonal(p->eval, p->loc, operand->x, 0);
            if (!operand->x)
                return false;
            return take_diagonals(p, operand);
        }
    }
    return true;
}

/* Sums over what nobody needs. */
static bool sum_unneeded(const struct product *p, struct operand *operand, const bool *needed)
{
    bool axes[MAX_DIMS] = {false};

    for (int i = 0; i < operand->x->ndim; i++)
        axes[i] = !needed[operand->labels[i]];
    return drop(p, operand, axes, true);
}

/* A dimension of 1 in one of two is left to the other; else they are the same. */
static bool broadcast(const struct product *p, struct operand *a, struct operand *b)
{
    struct operand *both[2] = {a, b};
    bool axes[2][MAX_DIMS] = {{false}};

    for (int i = 0; i < a->x->ndim; i++) {
        int j = axis_of(b, a->labels[i]);

        if (j < 0 || dim_equal(a->x->dims[i], b->x->dims[j]))
            continue;
        if (dim_equals(a->x->dims[i], 1)) {
            axes[0][i] = true;
        } else if (dim_equals(b->x->dims[j], 1)) {
            axes[1][j] = true;
        } else {
            diag_error(p->eval->cx, p->loc, "%s: subscript %c has sizes %s and %s, which do not broadcast",
                       p->what, label_name(a->labels[i]), dim_text(&p->eval->cx->arena, a->x->dims[i]),
                       dim_text(&p->eval->cx->arena, b->x->dims[j]));
            return false;
        }
    }
    return drop(p, both[0], axes[0], false) && drop(p, both[1], axes[1], false);
}

static const struct dim *extent(struct arena *arena, const struct value *x, int first, int end)
{
    const struct dim *product = dim_const(arena, 1);

    for (int i = first; i < end; i++)
        product = dim_mul(arena, product, x->dims[i]);
    return product;
}

/* The axes in three groups: batch, own, summed; `counts` of each. `b` has its own ones last. */
static bool arrange(const struct product *p, struct operand *operand, const struct operand *other,
                    const bool *needed, bool own_last, int *counts)
{
    int perm[MAX_DIMS], n = 0;

    for (int group = 0; group < 3; group++) {
        int wanted = own_last && group > 0 ? 3 - group : group, start = n;

        for (int i = 0; i < operand->x->ndim; i++) {
            int label = operand->labels[i];
            bool shared = axis_of(other, label) >= 0;
            int kind = !shared ? 1 : needed[label] ? 0 : 2;

            if (kind == wanted)
                perm[n++] = i;
        }
        counts[wanted] = n - start;
    }
    if (own_last) { /* shared ones in the order of the other, which is arranged already */
        int at = 0;

        for (int i = 0; i < other->x->ndim; i++) {
            int axis = axis_of(operand, other->labels[i]);

            if (axis >= 0)
                perm[at++] = axis;
        }
    }
    return reorder(p, operand, perm);
}

/* a and b joined in a. */
static bool join(const struct product *p, struct operand *a, struct operand *b, const bool *needed)
{
    struct arena *arena = &p->eval->cx->arena;
    const struct dim *dims[3 * MAX_DIMS], *flat[3];
    struct value *x = a->x, *y = b->x, *out;
    int ca[3], cb[3], n = 0, labels[3 * MAX_DIMS];

    if (!arrange(p, a, b, needed, false, ca) || !arrange(p, b, a, needed, true, cb))
        return false;
    x = a->x;
    y = b->x;
    for (int i = 0; i < ca[0] + ca[1]; i++) {
        dims[n] = x->dims[i];
        labels[n++] = a->labels[i];
    }
    for (int i = cb[0] + cb[2]; i < y->ndim; i++) {
        dims[n] = y->dims[i];
        labels[n++] = b->labels[i];
    }
    if (n > MAX_DIMS) {
        diag_error(p->eval->cx, p->loc, "a tensor has at most %d dimensions", MAX_DIMS);
        return false;
    }
    flat[0] = extent(arena, x, 0, ca[0]);
    flat[1] = extent(arena, x, ca[0], ca[0] + ca[1]);
    flat[2] = extent(arena, x, ca[0] + ca[1], x->ndim);
    x = build_reshape(p->eval, p->loc, x, 3, flat);
    flat[1] = flat[2];
    flat[2] = extent(arena, y, cb[0] + cb[2], y->ndim);
    y = build_reshape(p->eval, p->loc, y, 3, flat);
    if (!x || !y)
        return false;
    if (ca[2] == 0) {
        struct ev left = ev_tensor(p->loc, x), right = ev_tensor(p->loc, y);
        struct ev made = build_binary(p->eval, p->loc, PRIM_MUL, p->what, &left, &right);

        out = made.kind == EV_TENSOR ? made.tensor : NULL;
    } else {
        out = eval_matmul(p->eval, p->loc, "matmul", x, y);
    }
    a->x = out ? build_reshape(p->eval, p->loc, out, n, dims) : NULL;
    memcpy(a->labels, labels, (size_t)(n < MAX_DIMS ? n : MAX_DIMS) * sizeof *labels);
    return a->x != NULL;
}

/* Operands to a tensor whose axes have the labels `wanted`. */
static struct value *contract(const struct product *p, struct operand *operands, int count, const int *wanted,
                              int ndim)
{
    int perm[MAX_DIMS];

    for (int k = 0; k < count; k++)
        if (!take_diagonals(p, &operands[k]))
            return NULL;
    for (int k = 0; k < count; k++) {
        bool needed[LABELS] = {false}, apart[LABELS];

        for (int i = 0; i < ndim; i++)
            needed[wanted[i]] = true;
        for (int later = k + 1; later < count; later++)
            for (int i = 0; i < operands[later].x->ndim; i++)
                needed[operands[later].labels[i]] = true;
        if (k > 0 && !broadcast(p, &operands[0], &operands[k]))
            return NULL;
        for (int side = 0; side < (k > 0 ? 2 : 1); side++) {
            struct operand *own = &operands[side ? k : 0], *other = k == 0 ? NULL : &operands[side ? 0 : k];

            memcpy(apart, needed, sizeof apart);
            for (int i = 0; other && i < other->x->ndim; i++)
                apart[other->labels[i]] = true;
            if (!sum_unneeded(p, own, apart))
                return NULL;
        }
        if (k > 0 && !join(p, &operands[0], &operands[k], needed))
            return NULL;
    }
    for (int i = 0; i < ndim; i++)
        perm[i] = axis_of(&operands[0], wanted[i]);
    return build_permute(p->eval, p->loc, operands[0].x, perm);
}

/* The same of tensors that may be complex, of which operands have the labels: each combination of their parts is a product of its
 * own, and as many factors i as there are imaginary parts in it say what it is added to. All are complex, or none is. */
static struct ev contract_any(const struct product *p, const struct ev *tensors, struct operand *operands,
                              int count, const int *wanted, int ndim)
{
    struct eval *eval = p->eval;
    struct operand *own = ARENA_ARRAY(&eval->cx->arena, count, struct operand);
    struct ev parts[2] = {{.kind = EV_NONE}, {.kind = EV_NONE}}, term;
    struct value *both[2];

    if (tensors[0].kind != EV_COMPLEX)
        return ev_tensor(p->loc, contract(p, operands, count, wanted, ndim));
    for (unsigned choice = 0; choice < 1u << count; choice++) {
        int imaginary = 0;

        memcpy(own, operands, sizeof *own * (size_t)count);
        for (int k = 0; k < count; k++) {
            const bool second = choice >> k & 1;

            imaginary += second;
            term = eval_complex_part(eval, p->loc, tensors[k].tensor, second);
            if (term.kind == EV_BAD)
                return term;
            own[k].x = term.tensor;
        }
        term = ev_tensor(p->loc, contract(p, own, count, wanted, ndim));
        if (term.kind != EV_BAD && parts[imaginary % 2].kind == EV_TENSOR)
            term = build_binary(eval, p->loc, imaginary % 4 < 2 ? PRIM_ADD : PRIM_SUB, p->what,
                                &parts[imaginary % 2], &term);
        if (term.kind == EV_BAD)
            return term;
        parts[imaginary % 2] = term;
    }
    for (int i = 0; i < 2; i++) {
        both[i] = insert_axis(eval, p->loc, parts[i].tensor, ndim);
        if (!both[i])
            return ev_bad(p->loc);
    }
    return ev_complex(p->loc, build_concat(eval, p->loc, p->what, both, 2, ndim));
}

/* An operand of these products: the tensor, or one part of it, whose shape is that of all. */
static bool take_operand(const struct product *p, const struct ev *first, const struct ev *arg,
                         struct operand *operand)
{
    struct ev part = *arg;

    if (arg->kind == EV_COMPLEX && first->kind == EV_COMPLEX)
        part = eval_complex_part(p->eval, p->loc, arg->tensor, false);
    if ((arg->kind == EV_COMPLEX) != (first->kind == EV_COMPLEX)) {
        diag_error(p->eval->cx, arg->loc, "%s expects all tensors to have the same dtype, found %s and %s",
                   p->what, ev_text(p->eval, first), ev_text(p->eval, arg));
        diag_hint(p->eval->cx, "x.to(torch.cfloat) is x as a complex tensor");
        return false;
    }
    operand->x = part.tensor;
    return part.kind != EV_BAD && need_tensor(p->eval, p->what, &part);
}

/* ---- the equation -------------------------------------------------------------------------------------------- */

static int letter(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1;
}

/* One term, up to `end`: its labels, with the `dims` dimensions of an ellipsis. The number of labels, or -1 after an error. */
static int read_term(const struct product *p, const char *text, const char *end, int dims, bool *ellipsis,
                     int *labels, int most)
{
    int n = 0;

    *ellipsis = false;
    for (; text < end; text++) {
        if (*text == ' ')
            continue;
        if (*text == '.' && end - text >= 3 && strncmp(text, "...", 3) == 0 && !*ellipsis) {
            *ellipsis = true;
            for (int i = dims; i > 0 && n < most; i--)
                labels[n++] = LABELS - i;
            text += 2;
            continue;
        }
        if (letter(*text) < 0 || n == most) {
            diag_error(p->eval->cx, p->loc,
                       letter(*text) < 0 ? "%s: invalid subscript '%c', subscripts must be in [a-zA-Z]"
                                         : "%s: too many subscripts, from '%c' on",
                       p->what, *text);
            return -1;
        }
        labels[n++] = letter(*text);
    }
    return n;
}

static int letters_in(const char *text, const char *end)
{
    int n = 0;

    for (; text < end; text++)
        n += letter(*text) >= 0;
    return n;
}

/* The labels of each operand; *dims becomes the largest number that an ellipsis stands for. */
static bool read_operands(const struct product *p, const char *text, const char *end,
                          struct operand *operands, int count, int *dims)
{
    *dims = 0;
    for (int k = 0; k < count; k++) {
        const char *stop = text;
        int labels[MAX_DIMS], n, rest;
        bool ellipsis;

        while (stop < end && *stop != ',')
            stop++;
        rest = operands[k].x->ndim - letters_in(text, stop);
        n = read_term(p, text, stop, rest > 0 ? rest : 0, &ellipsis, labels, MAX_DIMS);
        if (n < 0)
            return false;
        if (n != operands[k].x->ndim) {
            diag_error(
                p->eval->cx, p->loc,
                "%s: the number of subscripts in the equation (%d) does not match the number of dimensions (%d) for "
                "operand %d%s",
                p->what, n, operands[k].x->ndim, k, ellipsis ? "" : " and no ellipsis was given");
            return false;
        }
        memcpy(operands[k].labels, labels, sizeof labels);
        *dims = ellipsis && rest > *dims ? rest : *dims;
        if ((k + 1 < count) != (stop < end)) {
            diag_error(p->eval->cx, p->loc, "%s: the equation has %s operands than there are, %d", p->what,
                       stop < end ? "more" : "fewer", count);
            return false;
        }
        text = stop + 1;
    }
    return true;
}

/* Without an arrow: the ellipsis, then what occurs once, in the order of the alphabet. */
static int implicit_output(const struct operand *operands, int count, int dims, int *wanted)
{
    int n = 0, seen[LABELS] = {0};

    for (int k = 0; k < count; k++)
        for (int i = 0; i < operands[k].x->ndim; i++)
            seen[operands[k].labels[i]]++;
    for (int i = dims; i > 0; i--)
        wanted[n++] = LABELS - i;
    for (int label = 0; label < LETTERS && n < MAX_DIMS; label++)
        if (seen[label] == 1)
            wanted[n++] = label;
    return n;
}

static bool check_output(const struct product *p, const struct operand *operands, int count,
                         const int *wanted, int n)
{
    for (int i = 0; i < n; i++) {
        bool found = wanted[i] >= LETTERS;

        for (int k = 0; k < count; k++)
            found |= axis_of(&operands[k], wanted[i]) >= 0;
        if (!found) {
            diag_error(p->eval->cx, p->loc,
                       "%s: output subscript %c does not appear in the equation for any input operand",
                       p->what, label_name(wanted[i]));
            return false;
        }
        for (int j = 0; j < i; j++) {
            if (wanted[j] != wanted[i])
                continue;
            diag_error(p->eval->cx, p->loc, "%s: output subscript %c appears more than once in the output",
                       p->what, label_name(wanted[i]));
            return false;
        }
    }
    return true;
}

static struct ev fn_einsum(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct product p = {eval, loc, "einsum"};
    struct ev list = args[1];
    struct operand *operands;
    const char *arrow, *text = args[0].text;
    int wanted[MAX_DIMS], ndim, dims;
    bool ellipsis;
    (void)count;

    if (args[0].kind != EV_STRING) {
        diag_error(eval->cx, args[0].loc, "einsum takes an equation as a string, found %s",
                   ev_kind_text(&args[0]));
        return BAD;
    }
    if (list.kind == EV_TUPLE && list.count == 1 && list.items[0].kind == EV_TUPLE)
        list = list.items[0];
    if (list.kind != EV_TUPLE || list.count == 0) {
        diag_error(eval->cx, loc, "einsum takes tensors behind the equation, found %s", ev_kind_text(&list));
        return BAD;
    }
    operands = ARENA_ARRAY(&eval->cx->arena, list.count, struct operand);
    for (int k = 0; k < list.count; k++)
        if (!take_operand(&p, &list.items[0], &list.items[k], &operands[k]))
            return BAD;
    if (list.items[0].kind == EV_COMPLEX && list.count > 4) {
        diag_error(eval->cx, loc, "einsum takes at most four complex tensors, found %d", list.count);
        return BAD;
    }
    arrow = strstr(text, "->");
    if (!read_operands(&p, text, arrow ? arrow : text + strlen(text), operands, list.count, &dims))
        return BAD;
    if (arrow)
        ndim = read_term(&p, arrow + 2, arrow + strlen(arrow), dims, &ellipsis, wanted, MAX_DIMS);
    else
        ndim = implicit_output(operands, list.count, dims, wanted);
    if (ndim < 0 || !check_output(&p, operands, list.count, wanted, ndim))
        return BAD;
    return contract_any(&p, list.items, operands, list.count, wanted, ndim);
}

/* Dimensions of one operand that are summed along: the first `n`, the last `n`, or a list. */
static bool summed_axes(struct eval *eval, const struct ev *dims, int side, int ndim, int *axes, int *count)
{
    int64_t n;

    if (dims->kind != EV_TUPLE) {
        if (!need_int(eval, "tensordot", dims, &n))
            return false;
        if (n < 0 || n > ndim) {
            diag_error(eval->cx, dims->loc, "tensordot expects dims >= 0 and at most %d, but got dims=%lld",
                       ndim, (long long)n);
            return false;
        }
        *count = (int)n;
        for (int i = 0; i < *count; i++)
            axes[i] = side ? i : ndim - *count + i;
        return true;
    }
    if (dims->count != 2) {
        diag_error(eval->cx, dims->loc, "tensordot takes dims as an integer or two lists, found %s",
                   ev_text(eval, dims));
        return false;
    }
    const struct ev *list = &dims->items[side];

    *count = list->kind == EV_TUPLE ? list->count : 1;
    if (*count > ndim) {
        diag_error(eval->cx, dims->loc, "tensordot: %s has more dimensions than the tensor, %d",
                   ev_text(eval, list), ndim);
        return false;
    }
    for (int i = 0; i < *count; i++)
        if (!need_axis(eval, "tensordot", list->kind == EV_TUPLE ? &list->items[i] : list, ndim, &axes[i]))
            return false;
    return true;
}

static struct ev fn_tensordot(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct product p = {eval, loc, "tensordot"};
    struct operand operands[2];
    int wanted[2 * MAX_DIMS], axes[2][MAX_DIMS], counts[2], n = 0, next = 0;
    (void)count;

    for (int side = 0; side < 2; side++) {
        if (!take_operand(&p, &args[0], &args[side], &operands[side]) ||
            !summed_axes(eval, &args[2], side, operands[side].x->ndim, axes[side], &counts[side]))
            return BAD;
    }
    if (counts[0] != counts[1]) {
        diag_error(eval->cx, args[2].loc,
                   "tensordot: both dimension lists should have the same length, found %d and %d", counts[0],
                   counts[1]);
        return BAD;
    }
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < operands[side].x->ndim; i++) {
            int label = -1;

            for (int k = 0; k < counts[side]; k++)
                label = axes[side][k] == i ? LETTERS - 1 - k : label;
            operands[side].labels[i] = label >= 0 ? label : next;
            if (label < 0)
                wanted[n++] = next++;
        }
    }
    if (n > MAX_DIMS) {
        diag_error(eval->cx, loc, "a tensor has at most %d dimensions", MAX_DIMS);
        return BAD;
    }
    return contract_any(&p, args, operands, 2, wanted, n);
}

extern const struct function_row einsum_functions[];

const struct function_row einsum_functions[] = {
    {"einsum(equation, operands)", TORCH | FUNCTION_REST | FUNCTION_COMPLEX, .build = fn_einsum},
    {"tensordot(a, b, dims=2)", TORCH | FUNCTION_COMPLEX, .build = fn_tensordot},
    {"inner(input, other)", TORCH | METHOD | FUNCTION_COMPLEX,
     .body =
         "return input * other if input.ndim == 0 or other.ndim == 0 else torch.tensordot(input, other, ((-1,), (-1,)))"},
    {.signature = NULL},
};
