/* autocast.c - in which types functions compute under `autocast:`, as torch.autocast('cpu') has it. Apart from eval_call.c, which
 * asks for each call of the tables.
 *
 * note [autocast]
 * PyTorch changes the types of what is given to the operators that it lists, and those run without it; all others take what comes.
 * What it makes of several operators is under it operator by operator. So is a body of the tables that calls what PyTorch calls
 * there (`through`); any other runs without it, since it may be made of products that PyTorch does not have. Integers, complex
 * numbers and float64 stay. Gradients go the same way back: that of a cast is a cast. */
#include "eval/evaluator.h"

#include <string.h>

#include "graph/graph.h"
#include "layers/layers.h"

/* In the narrow type. */
static const char lower[] =
    " conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc linear matmul"
    " mm bmm addmm addbmm baddbmm linalg.vecdot prelu scaled_dot_product_attention _attention_mask ";

/* In float32. */
static const char wide[] =
    " avg_pool3d max_pool3d adaptive_avg_pool3d adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d max_unpool2d"
    " max_unpool3d grid_sample polar view_as_complex prod quantile nanquantile stft cdist trace cholesky cholesky_inverse"
    " cholesky_solve inverse lu_solve orgqr ormqr geqrf pinverse qr svd triangular_solve binary_cross_entropy"
    " binary_cross_entropy_with_logits mse_loss cosine_embedding_loss nll_loss hinge_embedding_loss poisson_nll_loss"
    " smooth_l1_loss cross_entropy l1_loss huber_loss margin_ranking_loss soft_margin_loss triplet_margin_loss"
    " multi_margin_loss multilabel_margin_loss ctc_loss kl_div fft.fft fft.ifft fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.rfft"
    " fft.irfft fft.rfft2 fft.irfft2 fft.rfftn fft.irfftn fft.hfft fft.ihfft linalg.cond linalg.matrix_rank linalg.solve"
    " linalg.cholesky linalg.cholesky_ex linalg.svd linalg.svdvals linalg.eig linalg.eigvals linalg.eigh linalg.eigvalsh"
    " linalg.inv linalg.inv_ex linalg.householder_product linalg.tensorinv linalg.tensorsolve linalg.qr linalg.lstsq ";

/* In the widest type that is given. */
static const char widest[] = " index_copy ";

/* Of an input of 16 bits with a float32 weight, as PyTorch's kernels take them: in float32, and the result has the input's type. */
static const char mixed[] = " layer_norm rms_norm group_norm batch_norm instance_norm ";

/* Made of what PyTorch makes them of. */
static const char through[] =
    " einsum tensordot inner cov corrcoef chain_matmul linalg.multi_dot linalg.matmul matrix_power"
    " linalg.matrix_power linalg.pinv affine_grid linear_cross_entropy lp_pool3d linalg.matrix_norm"
    " linalg.norm norm triplet_margin_with_distance_loss ";

static bool is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if (at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

/* What torch.autocast changes the type of. */
static bool is_eligible(const struct ev *value)
{
    return value->kind == EV_TENSOR && dtype_is_float(value->tensor->dtype) &&
           value->tensor->dtype != DTYPE_FLOAT64;
}

struct value *eval_lowered(struct eval *eval, struct loc loc, struct value *value)
{
    struct ev tensor = ev_tensor(loc, value);

    return eval->casts && value && is_eligible(&tensor) ? build_cast(eval, loc, value, eval->cast_dtype)
                                                        : value;
}

struct value *eval_matmul(struct eval *eval, struct loc loc, const char *label, struct value *a,
                          struct value *b)
{
    a = eval_lowered(eval, loc, a);
    b = eval_lowered(eval, loc, b);
    return build_matmul(eval, loc, label, a, b, NULL);
}

static void cast_all(struct eval *eval, struct ev *args, int count, enum dtype dtype)
{
    for (int i = 0; i < count; i++)
        if (is_eligible(&args[i]) && args[i].tensor->dtype != dtype)
            args[i].tensor = build_cast(eval, args[i].loc, args[i].tensor, dtype);
}

static bool any_float32(const struct ev *args, int count)
{
    for (int i = 0; i < count; i++)
        if (is_eligible(&args[i]) && args[i].tensor->dtype == DTYPE_FLOAT32)
            return true;
    return false;
}

/* pad(input, pad, mode): reflection of two dimensions at most and replication are listed. */
static bool pads_in_float32(const struct ev *args)
{
    if (args[2].kind != EV_STRING)
        return false;
    return strcmp(args[2].text, "replicate") == 0 ||
           (strcmp(args[2].text, "reflect") == 0 && args[1].kind == EV_TUPLE && args[1].count <= 4);
}

/* torch.inner of vectors is torch.dot, which is not listed. */
static bool is_dot(const char *name, const struct ev *args)
{
    return strcmp(name, "inner") == 0 && args[0].kind == EV_TENSOR && args[0].tensor->ndim == 1 &&
           args[1].kind == EV_TENSOR && args[1].tensor->ndim == 1;
}

bool eval_autocast(struct eval *eval, const struct function_row *row, const struct signature *signature,
                   struct ev *args, enum dtype *back)
{
    const size_t length = strcspn(row->signature, "(");
    const char *name = arena_format(&eval->cx->arena, "%.*s", (int)length, row->signature);
    const int count = signature->count;

    *back = eval->cast_dtype;
    if (is_listed(lower, name)) {
        cast_all(eval, args, count, eval->cast_dtype);
    } else if (is_listed(wide, name) || (strcmp(name, "pad") == 0 && pads_in_float32(args))) {
        cast_all(eval, args, count, DTYPE_FLOAT32);
    } else if (is_listed(widest, name)) {
        cast_all(eval, args, count, any_float32(args, count) ? DTYPE_FLOAT32 : eval->cast_dtype);
    } else if (is_listed(mixed, name)) {
        if (is_eligible(&args[0]) && dtype_is_half(args[0].tensor->dtype) && any_float32(args, count)) {
            *back = args[0].tensor->dtype;
            cast_all(eval, args, count, DTYPE_FLOAT32);
            return true;
        }
    } else {
        eval->casts = ((row->flags & FUNCTION_HIDDEN) || is_listed(through, name)) && !is_dot(name, args);
        return false;
    }
    eval->casts = false;
    return false;
}
