/* loss.c - rows of torch/nn/modules/loss.py. Each is its function of torch.nn.functional; `weight` and `pos_weight`, which
 * are tensors in PyTorch, are lists of numbers here and buffers of the module. */
#include "layers/layers.h"

extern const struct layer_row loss_rows[];

#define LEGACY_ARGS                                                                                          \
    {"size_average", ARG_OPTION, "None"},                                                                    \
    {                                                                                                        \
        "reduce", ARG_OPTION, "None"                                                                         \
    }
#define REDUCTION_ARG                                                                                        \
    {                                                                                                        \
        "reduction", ARG_STRING, "'mean'"                                                                    \
    }
#define WEIGHT_ARG                                                                                           \
    {                                                                                                        \
        "weight", ARG_ANY, "None"                                                                            \
    }
#define CLASS_ARGS                                                                                           \
    WEIGHT_ARG, {"size_average", ARG_OPTION, "None"}, {"ignore_index", ARG_INT, "-100"},                     \
        {"reduce", ARG_OPTION, "None"}, REDUCTION_ARG
#define WEIGHT_BUFFER(name)                                                                                  \
    {                                                                                                        \
        name, .value = "_as_float(torch.tensor(" name "))", .when = name " is not None"                      \
    }

const struct layer_row loss_rows[] = {
    {
        .name = "L1Loss",
        .args = {LEGACY_ARGS, REDUCTION_ARG},
        .forward = "forward(input, target): return l1_loss(input, target, size_average, reduce, reduction)",
        .doc = "absolute error",
    },
    {
        .name = "MSELoss",
        .args = {LEGACY_ARGS, REDUCTION_ARG},
        .forward = "forward(input, target): return mse_loss(input, target, size_average, reduce, reduction)",
        .doc = "squared error",
    },
    {
        .name = "SmoothL1Loss",
        .args = {LEGACY_ARGS, REDUCTION_ARG, {"beta", ARG_FLOAT, "1.0"}},
        .forward =
            "forward(input, target): return smooth_l1_loss(input, target, size_average, reduce, reduction, beta)",
        .doc = "squared error below beta, absolute error above",
    },
    {
        .name = "HuberLoss",
        .args = {REDUCTION_ARG, {"delta", ARG_FLOAT, "1.0"}},
        .forward = "forward(input, target): return huber_loss(input, target, reduction, delta)",
        .doc = "squared error below delta, delta times the absolute error above",
    },
    {
        .name = "SoftMarginLoss",
        .args = {LEGACY_ARGS, REDUCTION_ARG},
        .forward =
            "forward(input, target): return soft_margin_loss(input, target, size_average, reduce, reduction)",
        .doc = "log(1 + exp(-y x)), of targets 1 and -1",
    },
    {
        .name = "NLLLoss",
        .args = {CLASS_ARGS},
        .buffers = {WEIGHT_BUFFER("weight")},
        .forward =
            "forward(input, target): return nll_loss(input, target, weight, size_average, ignore_index, reduce, "
            "reduction)",
        .doc = "minus the log-probability of the target class, of (N, C, ...)",
    },
    {
        .name = "NLLLoss2d",
        .args = {CLASS_ARGS},
        .buffers = {WEIGHT_BUFFER("weight")},
        .forward =
            "forward(input, target): return nll_loss(input, target, weight, size_average, ignore_index, reduce, "
            "reduction)",
        .doc = "NLLLoss, by its name of before",
    },
    {
        .name = "CrossEntropyLoss",
        .args = {CLASS_ARGS, {"label_smoothing", ARG_FLOAT, "0.0"}},
        .buffers = {WEIGHT_BUFFER("weight")},
        .forward =
            "forward(input, target): return cross_entropy(input, target, weight, size_average, ignore_index, reduce, "
            "reduction, label_smoothing)",
        .doc = "cross entropy of the softmax of (N, C, ...) with class indices or probabilities",
    },
    {
        .name = "BCELoss",
        .args = {WEIGHT_ARG, LEGACY_ARGS, REDUCTION_ARG},
        .buffers = {WEIGHT_BUFFER("weight")},
        .forward =
            "forward(input, target): return binary_cross_entropy(input, target, weight, size_average, reduce, "
            "reduction)",
        .doc = "cross entropy of probabilities",
    },
    {
        .name = "BCEWithLogitsLoss",
        .args = {WEIGHT_ARG, LEGACY_ARGS, REDUCTION_ARG, {"pos_weight", ARG_ANY, "None"}},
        .buffers = {WEIGHT_BUFFER("weight"), WEIGHT_BUFFER("pos_weight")},
        .forward =
            "forward(input, target): return binary_cross_entropy_with_logits(input, target, weight, size_average, "
            "reduce, reduction, pos_weight)",
        .doc = "cross entropy of the sigmoid of the input",
    },
    {
        .name = "KLDivLoss",
        .args = {LEGACY_ARGS, REDUCTION_ARG, {"log_target", ARG_BOOL, "False"}},
        .forward = "forward(input, target): how = _reduction(reduction, size_average, reduce, True)\n"
                   "return kl_div(input, target, reduction=how, log_target=log_target)",
        .doc = "Kullback-Leibler divergence of probabilities from log-probabilities",
    },
    {
        .name = "PoissonNLLLoss",
        .args = {{"log_input", ARG_BOOL, "True"},
                 {"full", ARG_BOOL, "False"},
                 {"size_average", ARG_OPTION, "None"},
                 {"eps", ARG_FLOAT, "1e-8"},
                 {"reduce", ARG_OPTION, "None"},
                 REDUCTION_ARG},
        .forward =
            "forward(log_input, target): return poisson_nll_loss(log_input, target, self.log_input, full, size_average, "
            "eps, reduce, reduction)",
        .doc = "negative log-likelihood of counts",
    },
    {
        .name = "GaussianNLLLoss",
        .args = {{"full", ARG_BOOL, "False", .keyword = true},
                 {"eps", ARG_FLOAT, "1e-6", .keyword = true},
                 {"reduction", ARG_STRING, "'mean'", .keyword = true}},
        .forward =
            "forward(input, target, var): return gaussian_nll_loss(input, target, var, full, eps, reduction)",
        .doc = "negative log-likelihood under a normal distribution",
    },
    {
        .name = "HingeEmbeddingLoss",
        .args = {{"margin", ARG_FLOAT, "1.0"}, LEGACY_ARGS, REDUCTION_ARG},
        .forward =
            "forward(input, target): return hinge_embedding_loss(input, target, margin, size_average, reduce, "
            "reduction)",
        .doc = "x where y is 1, max(0, margin - x) where it is -1",
    },
    {
        .name = "MarginRankingLoss",
        .args = {{"margin", ARG_FLOAT, "0.0"}, LEGACY_ARGS, REDUCTION_ARG},
        .forward =
            "forward(input1, input2, target): return margin_ranking_loss(input1, input2, target, margin, size_average, "
            "reduce, reduction)",
        .doc = "max(0, -y (x1 - x2) + margin)",
    },
    {
        .name = "CosineEmbeddingLoss",
        .args = {{"margin", ARG_FLOAT, "0.0"}, LEGACY_ARGS, REDUCTION_ARG},
        .forward =
            "forward(input1, input2, target): return cosine_embedding_loss(input1, input2, target, margin, "
            "size_average, reduce, reduction)",
        .doc = "1 - cos(x1, x2) where y is 1, max(0, cos(x1, x2) - margin) where it is -1",
    },
    {
        .name = "MultiMarginLoss",
        .args = {{"p", ARG_INT, "1"}, {"margin", ARG_FLOAT, "1.0"}, WEIGHT_ARG, LEGACY_ARGS, REDUCTION_ARG},
        .buffers = {WEIGHT_BUFFER("weight")},
        .checks = {{"p == 1 or p == 2", "only p == 1 and p == 2 supported, found {p}"}},
        .forward =
            "forward(input, target): return multi_margin_loss(input, target, p, margin, weight, size_average, reduce, "
            "reduction)",
        .doc = "margins between the target class and the others",
    },
    {
        .name = "MultiLabelMarginLoss",
        .args = {LEGACY_ARGS, REDUCTION_ARG},
        .forward =
            "forward(input, target): return multilabel_margin_loss(input, target, size_average, reduce, reduction)",
        .doc = "margins between the target classes, up to the first -1, and the others",
    },
    {
        .name = "MultiLabelSoftMarginLoss",
        .args = {WEIGHT_ARG, LEGACY_ARGS, REDUCTION_ARG},
        .buffers = {WEIGHT_BUFFER("weight")},
        .forward =
            "forward(input, target): return multilabel_soft_margin_loss(input, target, weight, size_average, reduce, "
            "reduction)",
        .doc = "cross entropy of the sigmoids of the classes, their mean",
    },
    {
        .name = "TripletMarginLoss",
        .args = {{"margin", ARG_FLOAT, "1.0"},
                 {"p", ARG_FLOAT, "2.0"},
                 {"eps", ARG_FLOAT, "1e-6"},
                 {"swap", ARG_BOOL, "False"},
                 LEGACY_ARGS,
                 REDUCTION_ARG},
        .checks = {{"margin > 0", "expected margin to be greater than 0, got {margin}"}},
        .forward =
            "forward(anchor, positive, negative): return triplet_margin_loss(anchor, positive, negative, margin, p, "
            "eps, swap, size_average, reduce, reduction)",
        .doc = "max(0, margin + |anchor - positive| - |anchor - negative|)",
    },
    {
        .name = "TripletMarginWithDistanceLoss",
        .args = {{"distance_function", ARG_ANY, "None", .keyword = true},
                 {"margin", ARG_FLOAT, "1.0", .keyword = true},
                 {"swap", ARG_BOOL, "False", .keyword = true},
                 {"reduction", ARG_STRING, "'mean'", .keyword = true}},
        .children = {{"distance_function", "PairwiseDistance()", .when = "distance_function is None"}},
        .checks = {{"margin > 0", "expected margin to be greater than 0, got {margin}"}},
        .forward =
            "forward(anchor, positive, negative): return triplet_margin_with_distance_loss(anchor, positive, negative, "
            "distance_function=distance_function, margin=margin, swap=swap, reduction=reduction)",
        .doc = "TripletMarginLoss by any function of two tensors",
    },
    {
        .name = "LinearCrossEntropyLoss",
        .args = {{"in_features", ARG_INT, NULL},
                 {"num_classes", ARG_INT, NULL},
                 {"out_features", ARG_TUPLE, "()", .keyword = true},
                 {"bias", ARG_BOOL, "False", .keyword = true},
                 {"reduction", ARG_STRING, "'mean'", .keyword = true},
                 {"weight", ARG_ANY, "None", .keyword = true},
                 {"ignore_index", ARG_OPTION, "None", .keyword = true},
                 {"label_smoothing", ARG_FLOAT, "0.0", .keyword = true},
                 {"options", ARG_OPTION, "None", .keyword = true}},
        .buffers = {WEIGHT_BUFFER("weight")},
        .children = {{"linear", "Linear(in_features, num_classes * _product(out_features), bias)"}},
        .checks = {{"weight is None or len(weight) == num_classes",
                    "expected weight shape to be ({num_classes},), got {weight}"},
                   {"label_smoothing >= 0 and label_smoothing <= 1",
                    "label_smoothing must be between 0 and 1, found {label_smoothing}"},
                   {"options is None", "options choose how PyTorch evaluates it; leave them out"}},
        .forward =
            "forward(input, target): shape = (num_classes,) + tuple(out_features)\n"
            "return linear_cross_entropy(input, linear.weight.reshape(shape + (in_features,)), target, linear_bias="
            "linear.bias.reshape(shape) if bias else None, weight=weight, reduction=reduction, "
            "ignore_index=ignore_index, label_smoothing=label_smoothing)",
        .extra_repr =
            "in_features={in_features}, num_classes={num_classes}, out_features={out_features}, bias={bias}, "
            "reduction={reduction}, ignore_index={ignore_index}, label_smoothing={label_smoothing}, options={options}",
        .doc = "CrossEntropyLoss of a Linear of its own",
    },
    {
        .name = "CTCLoss",
        .args = {{"blank", ARG_INT, "0"},
                 {"reduction", ARG_STRING, "'mean'"},
                 {"zero_infinity", ARG_BOOL, "False"}},
        .forward =
            "forward(log_probs, targets, input_lengths, target_lengths): return ctc_loss(log_probs, targets, input_lengths, "
            "target_lengths, blank, reduction, zero_infinity)",
        .doc = "negative log-likelihood of labels over all alignments, of (T, N, C)",
    },
    {
        .name = "AdaptiveLogSoftmaxWithLoss",
        .args = {{"in_features", ARG_INT, NULL},
                 {"n_classes", ARG_INT, NULL},
                 {"cutoffs", ARG_TUPLE, NULL},
                 {"div_value", ARG_FLOAT, "4.0"},
                 {"head_bias", ARG_BOOL, "False"}},
        .children =
            {{"head", "Linear(in_features, cutoffs[0] + len(cutoffs), head_bias)"},
             {"tail",
              "ModuleList(Sequential(Linear(in_features, width, bias=False), Linear(width, size, bias=False)) "
              "for width, size in _clusters(in_features, n_classes, cutoffs, div_value))"}},
        .checks =
            {{"div_value > 0", "div_value must be positive, found {div_value}"},
             {"_is_rising(cutoffs, n_classes)",
              "cutoffs must be unique, positive integers in increasing order, each between 1 and n_classes-1, found "
              "{cutoffs}"}},
        .forward =
            "forward(input, target): _check_adaptive(input, target, n_classes)\n"
            "x = input if target.ndim == 1 else input[None]\n"
            "y = target if target.ndim == 1 else target[None]\n"
            "first = log_softmax(head(x), 1)\n"
            "found = _adaptive_output(x, y, first, tail, (0,) + tuple(cutoffs) + (n_classes,), len(cutoffs))\n"
            "return _named(found if target.ndim == 1 else found[0], 'output', (-found).mean(), 'loss')",
        .methods = {"log_prob(input): _check_ndim(input, 2, 2)\n"
                    "return _adaptive_log_prob(input, head(input), tail, cutoffs[0])",
                    "predict(input): _check_ndim(input, 2, 2)\n"
                    "scores = head(input)\n"
                    "best = scores.argmax(1)\n"
                    "all = _adaptive_log_prob(input, scores, tail, cutoffs[0]).argmax(1)\n"
                    "return where(best < cutoffs[0], best, all)"},
        .doc = "log-probabilities of many classes, of which rare ones lie in clusters",
    },
    {.name = NULL},
};
