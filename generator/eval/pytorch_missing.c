/* pytorch_missing.c - what PyTorch has and modc has not, and why, class by class: for messages, and for the page of them in
 * docs/layers. tests/support/names.py holds it against all names of PyTorch. Apart from pytorch.c, whose lists say nothing of why. */
#include "eval/pytorch.h"

#include <string.h>

/* Each name has a blank before and behind it; one that only one name space lacks stands with that space: F.NAME, and x.NAME of
 * a tensor. */
const struct pytorch_class pytorch_classes[] = {
    {"Shapes that depend on values", "would give a shape that depends on the values",
     "where(mask, a, b), masked_fill and cumsum keep the shape",
     " argwhere masked_select nonzero segment_reduce unique unique_consecutive "},
    {"Values that are not known while generating", "gives values that are not known while generating",
     "return the tensor, or choose by it, as where(condition, a, b) does",
     " allclose equal hash_tensor is_nonzero item numpy tolist "},
    {"Complex numbers", "is about complex numbers as modc has none",
     "of a complex tensor z, of complex64 or complex128, z.imag and torch.view_as_real(z) are there",
     " chalf x.imag view_as_complex_copy view_as_real_copy "},
    {"Eigenvalues of what is not symmetric", "gives complex numbers by an algorithm that modc has not",
     "torch.linalg.eigh takes symmetric matrices", " eig linalg.eig linalg.eigvals symeig "},
    {"Sparse, nested and named tensors", "is about sparse tensors, which modc has none of",
     "a dense tensor has the same elements",
     " ccol_indices ccol_indices_copy coalesce col_indices col_indices_copy crow_indices crow_indices_copy "
     "dense_dim dsmm hsmm hspmm indices indices_copy is_coalesced layout "
     "resize_as_sparse_ row_indices row_indices_copy saddmm smm sparse_bsc_tensor sparse_bsr_tensor "
     "sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor sparse_dim sparse_mask "
     "sparse_resize_ sparse_resize_and_clear_ spmm sspaddmm to_dense to_padded_tensor to_sparse to_sparse_bsc "
     "to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr values values_copy "},
    {"Quantised tensors", "is about quantised tensors, which modc has none of",
     "'storage:' keeps weights in narrow types",
     " choose_qparams_optimized dequantize empty_quantized "
     "fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation "
     "fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight "
     "fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix int_repr "
     "q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme "
     "quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_gru "
     "quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d "
     "quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell F.scaled_addmm F.scaled_addmm_ "
     "F.scaled_grouped_mm F.scaled_mm "},
    {"Devices", "is about where a tensor lies, where all are the model's",
     "leave it out: where a model runs is said by 'device:'",
     " cpu cuda get_default_device get_device get_device_module ipu is_ipu is_maia "
     "is_pinned is_shared is_vulkan is_vulkan_available mtia pin_memory "
     "record_stream set_default_device share_memory_ to_mkldnn xpu "},
    {"Memory", "is about memory, which modc lays out", "reshape, expand and as_strided name elements",
     " as_strided_scatter const_data_ptr data_ptr dim_order embedding_renorm_ empty_permuted "
     "empty_strided from_dlpack from_file frombuffer is_set_to is_storage new_empty_strided "
     "slice_inverse storage storage_offset storage_type to_dlpack "
     "untyped_storage "},
    {"Memory of another size", "would give a tensor memory of another size",
     "x = x.reshape(...) has the same elements, x = y.clone() those of another",
     " resize resize_ resize_as resize_as_ set_ "},
    {"Gradients", "belongs to training, which a spec only describes",
     "leave it out: 'backward: true' computes gradients",
     " backward grad grad_dtype grad_fn is_anomaly_check_nan_enabled is_anomaly_enabled "
     "is_grad_enabled is_inference is_inference_mode_enabled is_leaf output_nr register_hook "
     "register_post_accumulate_grad_hook reinforce retain_grad retains_grad "
     "set_anomaly_enabled volatile "},
    {"Which tensors want gradients", "says which tensors want gradients, and is no matter of a call",
     "'requires_grad: false' stands at an input or parameter, 'freeze:' names parameters, x.detach() has none",
     " requires_grad requires_grad_ "},
    {"Settings of PyTorch", "is a setting of PyTorch's process, which a model has none of",
     "types, seeds and threads are the spec's and the caller's",
     " are_deterministic_algorithms_enabled autocast_decrement_nesting autocast_increment_nesting can_cast "
     "clear_autocast_cache compiled_with_cxx11_abi get_autocast_cpu_dtype get_autocast_dtype "
     "get_autocast_gpu_dtype get_autocast_ipu_dtype get_autocast_xla_dtype get_deterministic_debug_mode "
     "get_float32_matmul_precision get_num_interop_threads get_num_threads get_rng_state init_num_threads "
     "initial_seed is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled is_autocast_ipu_enabled "
     "is_autocast_xla_enabled is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled manual_seed "
     "profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 seed set_autocast_cache_enabled set_autocast_cpu_dtype "
     "set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype "
     "set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled "
     "set_default_dtype set_default_tensor_type set_deterministic_debug_mode set_float32_matmul_precision "
     "set_flush_denormal set_num_interop_threads set_num_threads set_printoptions set_rng_state set_warn_always "
     "use_deterministic_algorithms "},
    {"Programs", "is about the program around a model", "leave it out: a spec says what a model computes",
     " as_subclass classproperty compile cond fork from_numpy get_file_path import_ir_module "
     "import_ir_module_from_buffer load merge_type_from_type_comment module_load name new parse_ir parse_schema "
     "parse_type_comment prepare_multiprocessing_environment save thread_safe_generator typename unify_type_list "
     "vmap wait while_loop "},
    {"Python functions of elements", "calls Python for each element", "write it with functions of tensors",
     " apply_ map2_ map_ "},
    {"Tracing", "is for tracing, which a spec needs none of", "Python's own function says the same",
     " sym_constrain_range sym_constrain_range_for_size sym_float sym_fresh_size sym_int sym_ite sym_max sym_min "
     "sym_not sym_sqrt sym_sum "},
    {"Inner functions of PyTorch", "is an inner function of PyTorch",
     "write the function of torch or torch.nn.functional that calls it",
     " affine_grid_generator F.assert_int_or_pair x.index batch_norm_backward_elemt batch_norm_backward_reduce "
     "batch_norm_elemt batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats "
     "batch_norm_update_stats convolution cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution "
     "cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler "
     "cudnn_is_acceptable frobenius_norm grid_sampler grid_sampler_2d grid_sampler_3d is_conj is_distributed "
     "is_neg miopen_batch_norm miopen_convolution miopen_convolution_add_relu miopen_convolution_relu "
     "miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn "
     "mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d "
     "mkldnn_max_pool3d mkldnn_rnn_layer native_batch_norm native_dropout native_group_norm native_layer_norm "
     "native_norm norm_except_dim "},
    {"Forms of torch.nn.functional", "takes flags and reductions as numbers, as PyTorch's inner forms do",
     "write the function of torch.nn.functional, as F.batch_norm",
     " batch_norm binary_cross_entropy_with_logits cosine_embedding_loss ctc_loss embedding_bag "
     "hinge_embedding_loss instance_norm kl_div margin_ranking_loss poisson_nll_loss triplet_margin_loss "},
    {"Recurrent and attention layers as functions", "takes a list of weights",
     "declare the module under 'modules:', as GRU(8, 16)",
     " gru gru_cell lstm lstm_cell F.multi_head_attention_forward rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell "},
    {"Gone from PyTorch", "is gone from PyTorch", "torch.linalg has it",
     " cholesky lstsq matrix_rank qr solve "},
    {"In place, of what has no memory", "is for tensors that others see",
     "assign the result: x = F.dropout(x, 0.1, self.training)",
     " alpha_dropout_ dropout_ feature_alpha_dropout_ feature_dropout_ "},
    {"Random numbers", "draws from a distribution that modc has not",
     "rand, randn, randint, bernoulli, multinomial and exponential_ draw", " binomial poisson "},
    {"Factors as LAPACK packs them", "gives factors in a form that LAPACK alone reads again",
     "torch.linalg.qr, lu_factor with lu_solve, and eigh of symmetric matrices solve the same",
     " geqrf linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve "},
    {"Factors that begin with draws", "is not supported yet by this version of modc",
     "torch.linalg.svd and eigh give all of what it approximates", " lobpcg pca_lowrank svd_lowrank "},
    {"Others", "is not supported yet by this version of modc", "a function under 'functions:' can compute it",
     " gradient F.grouped_mm histogramdd range "},
    {0}};

static bool is_in(const char *names, const char *space, const char *name)
{
    const size_t lead = strlen(space), length = strlen(name);

    for (const char *word = names + 1; *word; word += strcspn(word, " ") + 1) {
        const size_t whole = strcspn(word, " ");
        const bool own = whole == lead + 1 + length && strncmp(word, space, lead) == 0 && word[lead] == '.';

        if ((own && strncmp(word + lead + 1, name, length) == 0) ||
            (whole == length && strncmp(word, name, length) == 0 && strcmp(space, "linalg") != 0))
            return true;
    }
    return false;
}

const struct pytorch_class *pytorch_why(const char *space, const char *name)
{
    if (strchr(name, ' '))
        return NULL;
    for (const struct pytorch_class *row = pytorch_classes; row->title; row++)
        if (is_in(row->names, space, name))
            return row;
    return NULL;
}
