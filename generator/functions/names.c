/* names.c - second names of functions that are there: of torch for what torch.nn.functional or another name has, of what copies
 * where views would do as well, of what hands places out beside values. Those of torch.linalg and torch.special stand in
 * their families. */
#include "functions/rows.h"
#include "graph/graph.h"

static struct ev fn_is_signed(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    enum dtype dtype;
    (void)count;

    if (!need_tensor(eval, "is_signed", &args[0]))
        return BAD;
    dtype = args[0].tensor->dtype;
    return ev_bool(loc, dtype != DTYPE_BOOL && dtype != DTYPE_UINT8);
}

static struct ev fn_is_same_size(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x = args[0].tensor, *y = args[1].tensor;
    bool same;
    (void)count;

    if (!need_tensor(eval, "is_same_size", &args[0]) || !need_tensor(eval, "is_same_size", &args[1]))
        return BAD;
    same = x->ndim == y->ndim;
    for (int i = 0; i < x->ndim && same; i++)
        same = dim_equal(x->dims[i], y->dims[i]);
    return ev_bool(loc, same);
}

extern const struct function_row second_names[];

/* return_indices is taken, and means nothing. */
#define WITH_PLACES(name, args, given)                                                                       \
    {                                                                                                        \
        name "_with_indices(input, " args ")", FUNCTIONAL, .body = "return F." name "(input, " given ")"     \
    }
#define MAX_POOL(name)                                                                                       \
    WITH_PLACES(name,                                                                                        \
                "kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False",    \
                "kernel_size, stride, padding, dilation, ceil_mode, True")
#define ADAPTIVE(name) WITH_PLACES(name, "output_size, return_indices=False", "output_size, True")
#define FRACTIONAL(name)                                                                                     \
    WITH_PLACES(                                                                                             \
        name,                                                                                                \
        "kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None",      \
        "kernel_size, output_size, output_ratio, True, _random_samples")

const struct function_row second_names[] = {
    /* what copies */
    {"alias_copy(input)", TORCH, .body = "return input.clone()"},
    {"detach_copy(input)", TORCH, .body = "return input.detach().clone()"},
    {"diagonal_copy(input, offset=0, dim1=0, dim2=1)", TORCH,
     .body = "return input.diagonal(offset, dim1, dim2)"},
    {"expand_copy(input, size, *, implicit=False)", TORCH, .body = "return input.expand(size)"},
    {"narrow_copy(input, dim, start, length)", TORCH | METHOD,
     .body = "return input.narrow(dim, start, length)"},
    {"permute_copy(input, dims)", TORCH, .body = "return input.permute(dims)"},
    {"select_copy(input, dim, index)", TORCH, .body = "return input.select(dim, index)"},
    {"slice_copy(input, dim=0, start=None, end=None, step=1)", TORCH,
     .body = "return input.movedim(dim, 0)[start:end:step].movedim(0, dim)"},
    {"split_copy(input, split_size, dim=0)", TORCH, .body = "return input.split(split_size, dim)"},
    {"split_with_sizes_copy(input, split_sizes, dim=0)", TORCH,
     .body = "return input.split_with_sizes(split_sizes, dim)"},
    {"squeeze_copy(input, dim=None)", TORCH, .body = "return input.squeeze(dim)"},
    {"t_copy(input)", TORCH, .body = "return input.t()"},
    {"transpose_copy(input, dim0, dim1)", TORCH, .body = "return input.transpose(dim0, dim1)"},
    {"unbind_copy(input, dim=0)", TORCH, .body = "return input.unbind(dim)"},
    {"unfold_copy(input, dimension, size, step)", TORCH,
     .body = "return input.unfold(dimension, size, step)"},
    {"unsqueeze_copy(input, dim)", TORCH, .body = "return input.unsqueeze(dim)"},
    {"view_copy(input, size=None, dtype=None)", TORCH, .body = "return input.view(size, dtype)"},
    {"as_strided_copy(input, size, stride, storage_offset=None)", TORCH,
     .body = "return input.as_strided(size, stride, storage_offset)"},
    {"unsafe_chunk(input, chunks, dim=0)", TORCH | METHOD, .body = "return input.chunk(chunks, dim)"},
    {"unsafe_split(tensor, split_size, dim=0)", TORCH | METHOD,
     .body = "return tensor.split(split_size, dim)"},
    {"unsafe_split_with_sizes(input, split_sizes, dim=0)", TORCH | METHOD,
     .body = "return input.split_with_sizes(split_sizes, dim)"},
    /* what torch.nn.functional has */
    {"layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True)", TORCH,
     .body = "return F.layer_norm(input, normalized_shape, weight, bias, eps)"},
    {"group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True)", TORCH,
     .body = "return F.group_norm(input, num_groups, weight, bias, eps)"},
    {"embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False)", TORCH,
     .body = "return F.embedding(indices, weight, None if padding_idx < 0 else padding_idx, None, 2.0,"
             " scale_grad_by_freq, sparse)"},
    {"constant_pad_nd(input, pad, value=0)", TORCH, .body = "return F.pad(input, pad, 'constant', value)"},
    {"native_channel_shuffle(input, groups)", FUNCTIONAL | TORCH,
     .body = "return F.channel_shuffle(input, groups)"},
    MAX_POOL("max_pool1d"),
    MAX_POOL("max_pool2d"),
    MAX_POOL("max_pool3d"),
    {"max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False)",
     TORCH, .body = "return F.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)"},
    ADAPTIVE("adaptive_max_pool1d"),
    ADAPTIVE("adaptive_max_pool2d"),
    ADAPTIVE("adaptive_max_pool3d"),
    FRACTIONAL("fractional_max_pool2d"),
    FRACTIONAL("fractional_max_pool3d"),
    {"broadcast_shapes(*shapes)", TORCH,
     .body = "return torch.broadcast_tensors([zeros(shape) for shape in shapes])[0].shape"},
    /* tensors from what they hold */
    {"asarray(obj, *, dtype=None, copy=None)", TORCH, .body = "return torch.as_tensor(obj, dtype)"},
    {"scalar_tensor(s, *, dtype=None)", TORCH,
     .body = "return torch.full((), s, dtype=torch.get_default_dtype() if dtype is None else dtype)"},
    {"diagflat(input, offset=0)", TORCH | METHOD, .body = "return input.flatten().diag_embed(offset)"},
    {"triangular_solve(input, A, upper=True, transpose=False, unitriangular=False)", METHOD,
     .body = "return torch.triangular_solve(input, A, upper, transpose, unitriangular)"},
    {"istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, "
     "onesided=None, length=None, return_complex=False)",
     METHOD,
     .body = "return torch.istft(input, n_fft, hop_length, win_length, window, center, normalized, onesided,"
             " length, return_complex)"},
    {"sum_to_size(input, size)", METHOD | VARARGS, .body = "return _summed_to(input, size)"},
    {"_summed_to(input, size)", HIDDEN,
     .body = "more = input.ndim - len(size)\n"
             "x = input.sum(list(range(more))) if more > 0 else input\n"
             "at = [i for i in range(len(size)) if size[i] == 1 and not _equal(x.shape[i], 1)]\n"
             "return (x.sum(at, True) if at else x).expand(size)"},
    /* what is known of tensors */
    {"get_default_dtype()", TORCH, .body = "return zeros(1).dtype"},
    {"is_signed(input)", TORCH | METHOD, .build = fn_is_signed},
    {"is_same_size(input, other)", TORCH | METHOD, .build = fn_is_same_size},
    {.signature = NULL},
};
