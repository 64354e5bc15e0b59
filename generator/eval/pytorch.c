/* pytorch.c - PyTorch's names as plain lists, since most of them have no row in any table yet. Apart from layers.c and
 * functions/: these are words for messages, and nothing is compiled from them. */
#include "eval/pytorch.h"

#include <string.h>

/* Each name has a blank before and behind it. */
static const struct {
    unsigned space;
    const char *names;
} lists[] = {
    {PYTORCH_MODULE,
     " AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss AdaptiveMaxPool1d "
     "AdaptiveMaxPool2d AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss "
     "BatchNorm1d BatchNorm2d BatchNorm3d Bilinear Buffer CELU CTCLoss ChannelShuffle CircularPad1d CircularPad2d "
     "CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d Container Conv1d Conv2d Conv3d ConvTranspose1d "
     "ConvTranspose2d ConvTranspose3d CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss CrossMapLRN2d DataParallel "
     "Dropout Dropout1d Dropout2d Dropout3d ELU Embedding EmbeddingBag FeatureAlphaDropout Flatten Fold "
     "FractionalMaxPool2d FractionalMaxPool3d GELU GLU GRU GRUCell GaussianNLLLoss GroupNorm Hardshrink Hardsigmoid "
     "Hardswish Hardtanh HingeEmbeddingLoss HuberLoss Identity InstanceNorm1d InstanceNorm2d InstanceNorm3d KLDivLoss "
     "L1Loss LPPool1d LPPool2d LPPool3d LSTM LSTMCell LayerNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d "
     "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d "
     "LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear LeakyReLU Linear LinearCrossEntropyLoss LocalResponseNorm "
     "LogSigmoid LogSoftmax MSELoss MarginRankingLoss MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d "
     "Mish Module ModuleDict ModuleList MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss "
     "MultiheadAttention NLLLoss NLLLoss2d PReLU PairwiseDistance Parameter ParameterDict ParameterList PixelShuffle "
     "PixelUnshuffle PoissonNLLLoss RMSNorm RNN RNNBase RNNCell RNNCellBase RReLU ReLU ReLU6 ReflectionPad1d "
     "ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d SELU Sequential SiLU Sigmoid "
     "SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin Softplus Softshrink Softsign SyncBatchNorm Tanh Tanhshrink "
     "Threshold Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer "
     "TripletMarginLoss TripletMarginWithDistanceLoss Unflatten Unfold UninitializedBuffer UninitializedParameter "
     "Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d ZeroPad2d ZeroPad3d "},
    {PYTORCH_FUNCTIONAL,
     " adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d "
     "adaptive_max_pool3d affine_grid alpha_dropout avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear "
     "binary_cross_entropy binary_cross_entropy_with_logits celu celu_ channel_shuffle conv1d conv2d conv3d "
     "conv_transpose1d conv_transpose2d conv_transpose3d cosine_embedding_loss cosine_similarity cross_entropy "
     "ctc_loss dropout dropout1d dropout2d dropout3d elu elu_ embedding embedding_bag feature_alpha_dropout fold "
     "fractional_max_pool2d fractional_max_pool3d gaussian_nll_loss gelu glu grid_sample group_norm gumbel_softmax "
     "hardshrink hardsigmoid hardswish hardtanh hardtanh_ hinge_embedding_loss huber_loss instance_norm interpolate "
     "kl_div l1_loss layer_norm leaky_relu leaky_relu_ linear local_response_norm log_softmax logsigmoid lp_pool1d "
     "lp_pool2d lp_pool3d margin_ranking_loss max_pool1d max_pool2d max_pool3d max_unpool1d max_unpool2d "
     "max_unpool3d mish mse_loss multi_head_attention_forward multi_margin_loss multilabel_margin_loss "
     "multilabel_soft_margin_loss native_channel_shuffle nll_loss normalize one_hot pad pairwise_distance pdist "
     "pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu relu6 relu_ rms_norm rrelu rrelu_ scaled_addmm_ "
     "scaled_dot_product_attention selu selu_ sigmoid silu smooth_l1_loss soft_margin_loss softmax softmin softplus "
     "softshrink softsign tanh tanhshrink threshold threshold_ triplet_margin_loss triplet_margin_with_distance_loss "
     "unfold upsample upsample_bilinear upsample_nearest "},
    {PYTORCH_TORCH,
     " abs abs_ absolute acos acos_ acosh acosh_ add addbmm addcdiv addcmul addmm addmv addmv_ addr all allclose "
     "alpha_dropout alpha_dropout_ amax amin aminmax angle any arange arccos arccos_ arccosh arccosh_ arcsin arcsin_ "
     "arcsinh arcsinh_ arctan arctan2 arctan_ arctanh arctanh_ argmax argmin argsort argwhere as_strided as_strided_ "
     "as_tensor asin asin_ asinh asinh_ atan atan2 atan_ atanh atanh_ atleast_1d atleast_2d atleast_3d baddbmm "
     "bartlett_window batch_norm bernoulli bilinear bincount bitwise_and bitwise_left_shift bitwise_not bitwise_or "
     "bitwise_right_shift bitwise_xor blackman_window block_diag bmm broadcast_shapes broadcast_tensors broadcast_to "
     "bucketize cartesian_prod cat cdist ceil ceil_ celu celu_ chain_matmul channel_shuffle cholesky "
     "cholesky_inverse cholesky_solve chunk clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ clone "
     "column_stack combinations complex concat concatenate conj conj_physical conj_physical_ constant_pad_nd conv1d "
     "conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d copysign corrcoef cos cos_ cosh cosh_ "
     "cosine_similarity count_nonzero cov cross cummax cummin cumprod cumsum cumulative_trapezoid deg2rad deg2rad_ "
     "dequantize det detach detach_ diag diag_embed diagflat diagonal diagonal_scatter diff digamma dist div divide "
     "dot dropout dropout_ dsplit dstack einsum embedding embedding_renorm_ empty empty_like empty_permuted "
     "empty_strided eq equal erf erf_ erfc erfc_ erfinv exp exp2 exp2_ exp_ expm1 expm1_ eye feature_alpha_dropout_ "
     "feature_dropout_ fill_ fix fix_ flatten flip fliplr flipud float_power floor floor_ floor_divide fmax fmin "
     "fmod frac frac_ frexp from_file from_numpy frombuffer full full_like gather gcd gcd_ ge geqrf ger gradient "
     "greater greater_equal group_norm gt hamming_window hann_window hardshrink heaviside histc histogram "
     "histogramdd hsplit hspmm hstack hypot i0 i0_ igamma igammac imag index_add index_copy index_fill index_put "
     "index_put_ index_reduce index_select inner instance_norm int_repr inverse isclose isfinite isin isinf isnan "
     "isneginf isposinf isreal istft "},
    {PYTORCH_TORCH,
     " kaiser_window kl_div kron kthvalue layer_norm lcm lcm_ ldexp ldexp_ le lerp less less_equal lgamma linspace "
     "log log10 log10_ log1p log1p_ log2 log2_ log_ log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and "
     "logical_not logical_or logical_xor logit logit_ logspace logsumexp lstm lt lu_solve lu_unpack manual_seed "
     "masked_fill masked_scatter masked_select matmul matrix_exp matrix_power max max_pool1d max_pool2d maximum mean "
     "median meshgrid min minimum mm mode moveaxis movedim msort mul multinomial multiply mv mvlgamma nan_to_num "
     "nan_to_num_ nanmean nanmedian nanquantile nansum narrow narrow_copy ne neg neg_ negative negative_ nextafter "
     "nonzero nonzero_static norm normal not_equal numel ones ones_like orgqr ormqr outer pca_lowrank permute "
     "pinverse pixel_shuffle pixel_unshuffle poisson polar polygamma positive pow prelu prod qr quantile "
     "quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic rad2deg rad2deg_ rand rand_like randint "
     "randint_like randn randn_like randperm range ravel real reciprocal reciprocal_ relu relu_ remainder renorm "
     "repeat_interleave reshape resize_as_ resolve_conj resolve_neg result_type rms_norm roll rot90 round round_ "
     "row_stack rrelu rrelu_ rsqrt rsqrt_ rsub saddmm scalar_tensor scatter scatter_add scatter_reduce searchsorted "
     "select select_scatter selu selu_ sgn sigmoid sigmoid_ sign signbit sin sin_ sinc sinc_ sinh sinh_ "
     "slice_scatter smm softmax sort sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor "
     "sparse_csc_tensor sparse_csr_tensor split split_with_sizes spmm sqrt sqrt_ square square_ squeeze sspaddmm "
     "stack std std_mean stft sub subtract sum svd svd_lowrank swapaxes swapdims t take take_along_dim tan tan_ tanh "
     "tanh_ tensor tensor_split tensordot threshold threshold_ tile topk trace transpose trapezoid trapz "
     "triangular_solve tril tril_indices triu triu_indices true_divide trunc trunc_ unbind unflatten unfold_copy "
     "unique unique_consecutive unravel_index unsqueeze vander var var_mean vdot view_as_complex view_as_real vmap "
     "vsplit vstack where xlogy xlogy_ zero_ zeros zeros_like "},
    {PYTORCH_METHOD,
     " H T abs_ absolute_ acos_ acosh_ add_ addbmm_ addcdiv_ addcmul_ addmm_ addmv_ addr_ adjoint apply_ arccos_ "
     "arccosh_ arcsin_ arcsinh_ arctan2_ arctan_ arctanh_ as_strided_ as_strided_scatter as_subclass asin_ asinh_ "
     "atan2_ atan_ atanh_ backward baddbmm_ bernoulli_ bfloat16 bitwise_and_ bitwise_left_shift_ bitwise_not_ "
     "bitwise_or_ bitwise_right_shift_ bitwise_xor_ bool byte cauchy_ ccol_indices cdouble ceil_ cfloat chalf char "
     "clamp_ clamp_max_ clamp_min_ clip_ coalesce col_indices conj_physical_ const_data_ptr contiguous copy_ "
     "copysign_ cos_ cosh_ cpu crow_indices cuda cumprod_ cumsum_ data data_ptr deg2rad_ dense_dim dequantize "
     "detach_ device digamma_ dim dim_order div_ divide_ double eig element_size eq_ erf_ erfc_ erfinv_ exp2_ exp_ "
     "expand expand_as expm1_ exponential_ fill_ fill_diagonal_ fix_ float float_power_ floor_ floor_divide_ fmod_ "
     "frac_ gcd_ ge_ geometric_ get_device grad grad_fn greater_ greater_equal_ gt_ half hash_tensor heaviside_ hypot_ i0_ "
     "igamma_ igammac_ index index_add_ index_copy_ index_fill_ index_put_ index_reduce_ indices int int_repr ipu "
     "is_coalesced is_complex is_conj is_contiguous is_cuda is_distributed is_floating_point is_inference is_leaf "
     "is_neg is_nonzero is_pinned is_same_size is_set_to is_shared is_signed item itemsize lcm_ ldexp_ le_ lerp_ "
     "less_ less_equal_ lgamma_ log10_ log1p_ log2_ log_ log_normal_ logical_and_ logical_not_ logical_or_ "
     "logical_xor_ logit_ long lstsq lt_ lu mH mT map2_ map_ masked_fill_ masked_scatter_ module_load mtia mul_ "
     "multiply_ mvlgamma_ nan_to_num_ narrow nbytes ndim ndimension ne_ neg_ negative_ nelement new new_empty "
     "new_empty_strided new_full new_ones new_tensor new_zeros nextafter_ normal_ not_equal_ numpy permute "
     "pin_memory polygamma_ pow_ put put_ q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale "
     "q_zero_point qscheme rad2deg_ random_ reciprocal_ record_stream register_hook "
     "register_post_accumulate_grad_hook reinforce relu_ remainder_ renorm_ repeat requires_grad requires_grad_ "
     "reshape_as resize resize_ resize_as resize_as_ resize_as_sparse_ retain_grad retains_grad round_ row_indices rsqrt_ "
     "scatter_ scatter_add_ scatter_reduce_ set_ sgn_ shape share_memory_ short sigmoid_ sign_ sin_ sinc_ sinh_ size "
     "slice_inverse slogdet smm solve sparse_dim sparse_mask sparse_resize_ sparse_resize_and_clear_ sqrt_ square_ "
     "squeeze_ sspaddmm storage storage_offset storage_type stride sub_ subtract_ sum_to_size swapaxes_ swapdims_ "
     "symeig t_ tan_ tanh_ to to_dense to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr "
     "to_sparse_coo to_sparse_csc to_sparse_csr tolist transpose_ tril_ triu_ true_divide_ trunc_ type type_as "
     "unfold uniform_ unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze_ untyped_storage values view "
     "view_as xlogy_ xpu zero_ "},
    {PYTORCH_INIT,
     " constant_ dirac_ eye_ kaiming_normal_ kaiming_uniform_ normal_ ones_ orthogonal_ sparse_ trunc_normal_ uniform_ "
     "xavier_normal_ xavier_uniform_ zeros_ "},
    {PYTORCH_DTYPE,
     " bfloat16 bool cdouble cfloat chalf complex128 complex32 complex64 double float float16 float32 float64 "
     "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz half int int16 int32 int64 int8 long short uint16 uint32 "
     "uint64 uint8 "},
};

static bool is_in(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = strstr(list, name); at && length > 0; at = strstr(at + 1, name))
        if (at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

bool pytorch_has(unsigned spaces, const char *name)
{
    if (strchr(name, ' '))
        return false;
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
        if ((lists[i].space & spaces) && is_in(lists[i].names, name))
            return true;
    return false;
}
