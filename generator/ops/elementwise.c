/* elementwise.c - the table of elementwise functions, one line each. Apart from elementwise_build.c, which reads the lines: a new
 * function changes this file alone. */
#include "ops/elementwise.h"

#include <string.h>

#define INPLACE ELEMENTWISE_INPLACE
#define FLOAT ELEMENTWISE_FLOAT
#define ONLY_FLOAT ELEMENTWISE_ONLY_FLOAT
#define NO_BOOL ELEMENTWISE_NO_BOOL
#define HIDDEN ELEMENTWISE_HIDDEN
#define TORCH (ELEMENTWISE_TORCH | ELEMENTWISE_METHOD)
#define NO_METHOD (ELEMENTWISE_TORCH | ELEMENTWISE_FUNCTIONAL)
#define BOTH (NO_METHOD | ELEMENTWISE_METHOD)
#define TINY "2 ** -32"
#define PLACE "[inplace?inplace=True]"
#define MORE_PLACE "[inplace?, inplace=True]"

/* name, arguments, tensors, forward, backward, module, extra_repr, flags. NaN stays NaN throughout; where a line can
 * tell it by y alone, backward reads y, so that x need not be kept. */
const struct elementwise_row elementwise_rows[] = {
    /* torch.nn.functional */
    {"relu", "input", 1, "where(x <= 0, 0, x)", "where(y <= 0, 0, g)", "ReLU", PLACE,
     BOTH | INPLACE | NO_BOOL},
    {"relu6", "input", 1, "minimum(maximum(x, 0), 6)", "where((y > 0) & (y < 6), g, 0)", "ReLU6", PLACE,
     INPLACE | NO_BOOL},
    {"leaky_relu", "input, negative_slope=0.01", 1, "where(x > 0, x, x * negative_slope)",
     "where(where(negative_slope >= 0, y, x) > 0, g, g * negative_slope)", "LeakyReLU",
     "negative_slope={negative_slope}" MORE_PLACE, INPLACE | ONLY_FLOAT},
    {"elu", "input, alpha=1.0", 1, "where(x > 0, x, alpha * expm1(x))",
     "where(x <= 0, g * alpha * exp(x), g)", "ELU", "alpha={alpha}" MORE_PLACE, INPLACE | ONLY_FLOAT},
    {"selu", "input", 1, "where(x > 0, 1.0507009873554804934 * x, 1.7580993408473768599 * expm1(x))",
     "1.0507009873554804934 * where(x <= 0, g * 1.6732632423543772848 * exp(x), g)", "SELU", PLACE,
     NO_METHOD | INPLACE | ONLY_FLOAT},
    {"celu", "input, alpha=1.0", 1, "where(x > 0, x, alpha * expm1(x / alpha))",
     "where(x <= 0, g * exp(x / alpha), g)", "CELU", "alpha={alpha}" MORE_PLACE,
     NO_METHOD | INPLACE | ONLY_FLOAT},
    {"gelu", "input", 1, "0.5 * x * (1 + erf(x * sqrt(0.5)))",
     "g * (0.5 * (1 + erf(x * sqrt(0.5))) + x * exp(-0.5 * x * x) * (1 / sqrt(2 * pi)))", NULL, NULL,
     ONLY_FLOAT},
    {"gelu_tanh", "input", 1, "0.5 * x * (1 + _gelu_tanh(x))",
     "g * (0.5 * (1 + _gelu_tanh(x))"
     " + 0.5 * x * (1 - _gelu_tanh(x) * _gelu_tanh(x)) * (sqrt(2 / pi) * (1 + 3 * 0.044715 * x * x)))",
     NULL, NULL, ONLY_FLOAT | HIDDEN},
    {"_gelu_tanh", "input", 1, "tanh(sqrt(2 / pi) * (x + 0.044715 * (x * x * x)))", NULL, NULL, NULL,
     HIDDEN | ONLY_FLOAT},
    /* with 2^-32 for 1, since exp(-x) is infinite before the result is 0 */
    {"sigmoid", "input", 1, TINY " / (" TINY " + exp_down(-x))", "g * y * (1 - y)", "Sigmoid", "",
     BOTH | FLOAT},
    {"hardsigmoid", "input", 1, "minimum(maximum(x + 3, 0), 6) / 6",
     "where((x > -3) & (x < 3), g * 0.1666666716337204, 0)", /* float32's sixth, in float64 too */
     "Hardsigmoid", "", INPLACE | ONLY_FLOAT},
    {"tanh", "input", 1, "tanh(x)", "g * (1 - y * y)", "Tanh", "", BOTH | FLOAT},
    /* x times sigmoid(x), or for x < 2^-32 their 2^32-fold first: neither is rounded to a denormal before the product is */
    {"silu", "input", 1, "minimum(x, " TINY ") / (" TINY " + exp_down(-x)) * maximum(x, " TINY ")",
     "g * sigmoid(x) * (1 + x * (1 - sigmoid(x)))", "SiLU", PLACE, INPLACE | ONLY_FLOAT},
    {"mish", "input", 1, "where(x > 20, x, _mish_of(x, exp_up(x)))",
     "where(x > 20, g, g * (_mish_tanh(x) + x * sigmoid(x) * (1 - _mish_tanh(x) * _mish_tanh(x))))", "Mish",
     PLACE, INPLACE | ONLY_FLOAT},
    /* x n / (n + 2) with n = e e + 2 e, by 2^32 e and then 2^32 n */
    {"_mish_of", "input, e", 2, "_mish_by(x, e * (" TINY " * e) + 2 * e)", NULL, NULL, NULL,
     HIDDEN | ONLY_FLOAT},
    {"_mish_by", "input, n", 2, "x * n / (" TINY " * n + 2) * " TINY, NULL, NULL, NULL, HIDDEN | ONLY_FLOAT},
    /* tanh(log1p(exp(x))) by one exp, for x <= 20 */
    {"_mish_tanh", "input", 1, "exp(x) * (exp(x) + 2) / (exp(x) * (exp(x) + 2) + 2)", NULL, NULL, NULL,
     HIDDEN | ONLY_FLOAT},
    {"softplus", "input, beta=1.0, threshold=20.0", 1,
     "where(x * beta > threshold, x, log1p(exp(x * beta)) / beta)",
     "where(x * beta > threshold, g, g / (1 + exp(-(x * beta))))", "Softplus",
     "beta={beta}, threshold={threshold}", ONLY_FLOAT},
    {"hardtanh", "input, min_val=-1.0, max_val=1.0", 1, "minimum(maximum(x, min_val), max_val)",
     "where((y > min_val) & (y < max_val), g, 0)", NULL, NULL, INPLACE | NO_BOOL},
    {"hardswish", "input", 1, "x * minimum(maximum(x + 3, 0), 6) / 6",
     "where(x <= -3, 0, where(x < 3, g * (x / 3 + 0.5), g))", "Hardswish", "", INPLACE | ONLY_FLOAT},
    {"softsign", "input", 1, "x / (1 + abs(x))", "g / ((1 + abs(x)) * (1 + abs(x)))", "Softsign", "", FLOAT},
    {"tanhshrink", "input", 1, "x - tanh(x)", "g * (tanh(x) * tanh(x))", "Tanhshrink", "", FLOAT},
    {"hardshrink", "input, lambd=0.5", 1, "where((x >= -lambd) & (x <= lambd), 0, x)",
     "where((x < -lambd) | (x > lambd), g, 0)", "Hardshrink", "{lambd}", BOTH | ONLY_FLOAT},
    {"softshrink", "input, lambd=0.5", 1, "where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * 0))",
     "where((x < -lambd) | (x > lambd), g, 0)", "Softshrink", "{lambd}", ONLY_FLOAT},
    {"logsigmoid", "input", 1, "minimum(x, 0) - log1p(exp(-abs(x)))", "g / (1 + exp(x))", "LogSigmoid", "",
     ONLY_FLOAT},
    {"threshold", "input, threshold, value", 1, "where(x <= threshold, value, x)",
     "where(x <= threshold, 0, g)", "Threshold", "threshold={threshold}, value={value}" MORE_PLACE,
     NO_METHOD | INPLACE | NO_BOOL},
    /* prelu with its weight brought to the shape of the input */
    {"_prelu_kernel", "input, weight", 2, "where(x > 0, x, weight * x)",
     "where(x > 0, g, weight * g); d_weight = where(x > 0, 0, x * g)", NULL, NULL, HIDDEN | ONLY_FLOAT},
    /* rrelu in training, with a slope for each element */
    {"_rrelu", "input, slope", 2, "where(x <= 0, slope * x, x)", "where(x <= 0, slope * g, g)", NULL, NULL,
     HIDDEN | ONLY_FLOAT},
    /* losses; a target to which PyTorch gives no gradient has none */
    {"_mse_loss", "input, target", 2, "(x - target) * (x - target)",
     "g * (2 * (x - target)); d_target = g * (2 * (target - x))", NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_smooth_l1_loss", "input, target, beta", 2,
     "where(abs(x - target) < beta, 0.5 * (x - target) * (x - target) / beta, abs(x - target) - 0.5 * beta)",
     "g * hardtanh(x - target, -beta, beta) / beta; d_target = g * hardtanh(target - x, -beta, beta) / beta",
     NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_huber_loss", "input, target, delta", 2,
     "where(abs(x - target) <= delta, 0.5 * (x - target) * (x - target), delta * (abs(x - target) - 0.5 * delta))",
     "g * hardtanh(x - target, -delta, delta); d_target = g * hardtanh(target - x, -delta, delta)", NULL,
     NULL, HIDDEN | ONLY_FLOAT},
    {"_soft_margin_loss", "input, target", 2, "log1p(exp(-target * x))",
     "-g * target * (exp(-target * x) / (1 + exp(-target * x)))", NULL, NULL, HIDDEN | ONLY_FLOAT},
    /* with float32's 1e-12, in float64 too */
    {"_bce_loss", "input, target", 2,
     "(target - 1) * maximum(log1p(-x), -100) - target * maximum(log(x), -100)",
     "g * ((x - target) / maximum((1 - x) * x, 9.999999960041972e-13)); d_target = g * (log1p(-x) - log(x))",
     NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_logits_loss", "input, target", 2, "(1 - target) * x - logsigmoid(x)",
     "g * (sigmoid(x) - target); d_target = -g * x", NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_weighted_logits_loss", "input, target, pos_weight", 3,
     "(1 - target) * x - (1 + (pos_weight - 1) * target) * logsigmoid(x)",
     "g * ((pos_weight * target + 1 - target) * sigmoid(x) - pos_weight * target);"
     " d_target = g * (logsigmoid(-x) - pos_weight * logsigmoid(x))",
     NULL, NULL, HIDDEN | ONLY_FLOAT},
    /* target / target: the slope at 0 is NaN */
    {"_kl_div", "input, target", 2, "where(target == 0, 0, target * log(target)) - target * x",
     "-g * target; d_target = g * (log(target) + target / target - x)", NULL, NULL, HIDDEN | ONLY_FLOAT},
    /* NaN is no violation */
    {"_margin_loss", "input, p", 1, "where(x > 0, where(p == 1, x, x * x), 0)",
     "where(x > 0, where(p == 1, g, g * (2 * x)), 0)", NULL, NULL, HIDDEN | ONLY_FLOAT},
    /* a bound that no gradient sees */
    {"_no_less", "input, least", 1, "maximum(x, least)", "g", NULL, NULL, HIDDEN | ONLY_FLOAT},
    /* note [fake quantisation] in functions/quantization.c: numbers that integers stand for */
    {"_within", "input, low, high", 1, "where(x >= low, where(x <= high, x, high), low)", NULL, NULL, NULL,
     HIDDEN | ONLY_FLOAT},
    {"is_within", "input, low, high", 1, "(x >= low) & (x <= high)", NULL, NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_fake_quantize", "input, scale, inverse, zero_point, low, high", 4,
     "(_within(round(x * inverse) + zero_point, low, high) - zero_point) * scale",
     "g * where(is_within(round(x * inverse) + zero_point, low, high), 1, 0)", NULL, NULL,
     HIDDEN | ONLY_FLOAT},
    {"_fake_quantize_channels", "input, scale, inverse, zero_point, low, high", 4,
     "(_within(_by_int64(round(x * inverse) + zero_point, low), low, high) - zero_point) * scale",
     "g * where(is_within(round(x * inverse) + zero_point, low, high), 1, 0)", NULL, NULL,
     HIDDEN | ONLY_FLOAT},
    {"_by_int64", "input, low", 1, "where(x >= 2 ** 63, low, x)", NULL, NULL, NULL, HIDDEN | ONLY_FLOAT},
    /* what dropout multiplies by, from a uniform number */
    {"_dropped", "input, p, kept", 1, "where(x < p, 0, kept)", NULL, NULL, NULL, HIDDEN | ONLY_FLOAT},

    /* what clamp to numbers is made of: at a bound there is no gradient */
    {"_maximum", "input, other", 2, "maximum(x, other)", "where(x > other, g, 0)", NULL, NULL, HIDDEN},
    {"_minimum", "input, other", 2, "minimum(x, other)", "where(x < other, g, 0)", NULL, NULL, HIDDEN},
    /* The values of one tensor whose gradients another gets; gradients that are scaled on their way back */
    {"_instead", "input, other", 2, "other", "g", NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_graded", "input, scale", 2, "x", "g * scale", NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_with_sign", "input, negative", 2, "where(negative != 0, -abs(x), abs(x))",
     "where(x == 0, 0, g * (y / x))", NULL, NULL, HIDDEN | FLOAT},
    {"_fmod", "input, other", 2, "copysign(abs(x) % abs(other), x)", "g; d_other = -g * trunc(x / other)",
     NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_xlogy", "input, other", 2, "where(isnan(other), other, where(x == 0, 0, x * log(other)))",
     "where((x == 0) & (other <= 0), 0, g * log(other)); d_other = g * (x / other)", NULL, NULL,
     HIDDEN | FLOAT},
    /* of a sum of squares: a deviation or a norm, which have no gradient where they are 0 */
    {"_sqrt", "input", 1, "sqrt(x)", "where(y == 0, 0, g / (2 * y))", NULL, NULL, HIDDEN | FLOAT},
    /* of a norm of another order p: |x| to the p, and their sum to 1 / p */
    {"_to_order", "input, p", 1, "pow(abs(x), p)",
     "where((x == 0) & (p < 1), 0, g * p * pow(abs(x), p - 1) * sign(x))", NULL, NULL, HIDDEN | FLOAT},
    {"_from_order", "input, p", 1, "pow(x, 1 / p)", "where(y == 0, 0, g * pow(y, 1 - p) / p)", NULL, NULL,
     HIDDEN | FLOAT},
    /* values that come with another, to which no gradient flows */
    {"_beside", "input, other", 2, "x", "g", NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_sinc", "input", 1, "where(x == 0, 1, sin(pi * x) / (pi * x))",
     "where(pi * x * x == 0, 0, g * ((cos(pi * x) * pi * x - sin(pi * x)) / (pi * x * x)))", NULL, NULL,
     HIDDEN | FLOAT},
    {"_logit", "input", 1, "log(x / (1 - x))", "where(isnan(y), y, g / (x * (1 - x)))", NULL, NULL,
     HIDDEN | FLOAT},
    {"_logit_within", "input, eps", 1, "_logit(minimum(maximum(x, eps), 1 - eps))",
     "where((x < eps) | (x > 1 - eps), 0, g / (x * (1 - x)))", NULL, NULL, HIDDEN | FLOAT},
    /* torch.special; where a function has no gradient for its first argument, that stands behind */
    {"_i1", "input", 1, "_i_by(exp_down(abs(x)), i1e(x))",
     "where(abs(x) > 1e-20, g * (i0(x) - y / x), 0.5 * g)", NULL, NULL, HIDDEN | FLOAT},
    {"_i_by", "input, scaled", 2, "x * (scaled / " TINY ")", NULL, NULL, NULL, HIDDEN | FLOAT},
    {"_i0e", "input", 1, "i0e(x)", "g * (i1e(x) - sign(x) * y)", NULL, NULL, HIDDEN | FLOAT},
    {"_i1e", "input", 1, "i1e(x)", "where(abs(x) > 1e-20, g * (i0e(x) - y * (sign(x) + 1 / x)), 0.5 * g)",
     NULL, NULL, HIDDEN | FLOAT},
    {"_k0", "input", 1, "exp(-x) * k0e(x)", "-g * _k1(x)", NULL, NULL, HIDDEN | FLOAT},
    {"_k1", "input", 1, "exp(-x) * k1e(x)", "-g * (_k0(x) + y / x)", NULL, NULL, HIDDEN | FLOAT},
    {"_k0e", "input", 1, "k0e(x)", NULL, NULL, NULL, HIDDEN | FLOAT},
    {"_k1e", "input", 1, "k1e(x)", NULL, NULL, NULL, HIDDEN | FLOAT},
    {"_bessel_j0", "input", 1, "bessel_j0(x)", "-g * bessel_j1(x)", NULL, NULL, HIDDEN | FLOAT},
    {"_bessel_j1", "input", 1, "bessel_j1(x)", "where(abs(x) > 1e-20, g * (bessel_j0(x) - y / x), 0.5 * g)",
     NULL, NULL, HIDDEN | FLOAT},
    {"_bessel_y0", "input", 1, "bessel_y0(x)", "-g * bessel_y1(x)", NULL, NULL, HIDDEN | FLOAT},
    {"_bessel_y1", "input", 1, "bessel_y1(x)", "where(x == 0, inf, g * (bessel_y0(x) - y / x))", NULL, NULL,
     HIDDEN | FLOAT},
    {"_spherical_bessel_j0", "input", 1, "where(abs(x) == inf, 0, where(x == 0, 1, sin(x) / x))", NULL, NULL,
     NULL, HIDDEN | FLOAT},
    {"_airy_ai", "input", 1, "airy_ai(x)", NULL, NULL, NULL, HIDDEN | FLOAT},
    {"_erfcx", "input", 1, "erfcx(x)", "g * (2 * x * y - 2 / sqrt(pi))", NULL, NULL, HIDDEN | FLOAT},
    {"_ndtr", "input", 1, "ndtr(x)", "g * (1 / sqrt(2 * pi)) * exp(-0.5 * (x * x))", NULL, NULL,
     HIDDEN | FLOAT},
    {"_ndtri", "input", 1, "ndtri(x)", "g * sqrt(2 * pi) * exp(0.5 * (y * y))", NULL, NULL, HIDDEN | FLOAT},
    {"_log_ndtr", "input", 1, "log_ndtr(x)", "g * (sqrt(2 / pi) / erfcx(-sqrt(0.5) * x))", NULL, NULL,
     HIDDEN | FLOAT},
    {"_entr", "input", 1, "where(x > 0, -x * log(x), where(x == 0, 0, where(isnan(x), x, -inf)))",
     "-g * (1 + log(x))", NULL, NULL, HIDDEN | FLOAT},
    {"_xlog1py", "input, other", 2, "where(isnan(other), other, where(x == 0, 0, x * log1p(other)))",
     "where((x == 0) & (other <= -1), 0, g * log1p(other)); d_other = g * (x / (other + 1))", NULL, NULL,
     HIDDEN | FLOAT},
    {"_polygamma", "input, n", 1, "where(n % 2 == 1, 1, -1) * exp(lgamma(n + 1)) * zeta(n + 1, x)",
     "-g * where(n % 2 == 1, 1, -1) * exp(lgamma(n + 2)) * zeta(n + 2, x)", NULL, NULL, HIDDEN | FLOAT},
    {"_zeta", "q, s", 2, "zeta(s, x)", "-g * s * zeta(s + 1, x)", NULL, NULL, HIDDEN | FLOAT},
    {"_gammainc", "input, a", 2, "gammainc(a, x)", "g * exp((a - 1) * log(x) - x - lgamma(a))", NULL, NULL,
     HIDDEN | ONLY_FLOAT},
    {"_gammaincc", "input, a", 2, "gammaincc(a, x)", "-g * exp((a - 1) * log(x) - x - lgamma(a))", NULL, NULL,
     HIDDEN | ONLY_FLOAT},
    /* a quotient that is rounded has no slope, not even where it is infinite */
    {"_trunc_div", "input, other", 2, "trunc(x / other)", NULL, NULL, NULL, HIDDEN | FLOAT},

    /* torch */
    {"exp", "input", 1, "exp(x)", "g * y", NULL, NULL, TORCH | FLOAT},
    {"exp2", "input", 1, "pow(2, x)", "g * y * log(2)", NULL, NULL, TORCH | FLOAT},
    {"expm1", "input", 1, "expm1(x)", "g * (y + 1)", NULL, NULL, TORCH | FLOAT},
    {"log", "input", 1, "log(x)", "g / x", NULL, NULL, TORCH | FLOAT},
    {"log1p", "input", 1, "log1p(x)", "g / (x + 1)", NULL, NULL, TORCH | FLOAT},
    {"log2", "input", 1, "log(x) / log(2)", "g / (x * log(2))", NULL, NULL, TORCH | FLOAT},
    {"log10", "input", 1, "log(x) / log(10)", "g / (x * log(10))", NULL, NULL, TORCH | FLOAT},
    {"sqrt", "input", 1, "sqrt(x)", "g / (2 * y)", NULL, NULL, TORCH | FLOAT},
    {"rsqrt", "input", 1, "rsqrt(x)", "-0.5 * g * (y * y * y)", NULL, NULL, TORCH | FLOAT},
    {"reciprocal", "input", 1, "1 / x", "-g * (y * y)", NULL, NULL, TORCH | FLOAT},
    {"square", "input", 1, "x * x", "g * (2 * x)", NULL, NULL, TORCH | NO_BOOL},
    {"abs", "input", 1, "abs(x)", "g * sign(x)", NULL, NULL, TORCH | NO_BOOL},
    {"neg", "input", 1, "-x", "-g", NULL, NULL, TORCH | NO_BOOL},
    {"sign", "input", 1, "where(x > 0, 1, where(x < 0, -1, 0))", NULL, NULL, NULL, TORCH},
    {"floor", "input", 1, "floor(x)", NULL, NULL, NULL, TORCH | NO_BOOL | ELEMENTWISE_ROUNDING},
    {"ceil", "input", 1, "-floor(-x)", NULL, NULL, NULL, TORCH | NO_BOOL | ELEMENTWISE_ROUNDING},
    {"trunc", "input", 1, "where(x < 0, -floor(-x), floor(x))", NULL, NULL, NULL,
     TORCH | NO_BOOL | ELEMENTWISE_ROUNDING},
    /* Ties to even, on either side of 0 so that -0.5 gives -0.0; an infinity fails both comparisons. */
    {"round", "input", 1,
     "where(x - floor(x) < 0.5, floor(x), where(x - floor(x) > 0.5, -floor(-x),"
     " where(x < 0, -2 * floor(0.5 - 0.5 * x), 2 * floor(0.5 + 0.5 * x))))",
     NULL, NULL, NULL, TORCH | NO_BOOL | ELEMENTWISE_ROUNDING},
    {"frac", "input", 1, "x - trunc(x)", "g", NULL, NULL, TORCH | ONLY_FLOAT},
    {"sin", "input", 1, "sin(x)", "g * cos(x)", NULL, NULL, TORCH | FLOAT},
    {"cos", "input", 1, "cos(x)", "-g * sin(x)", NULL, NULL, TORCH | FLOAT},
    {"tan", "input", 1, "sin(x) / cos(x)", "g * (1 + y * y)", NULL, NULL, TORCH | FLOAT},
    /* of half the number, since e^x overflows before the results do */
    {"sinh", "input", 1, "copysign(_sinh_by(_expm1_half(expm1(0.5 * abs(x)))), x)", "g * cosh(x)", NULL, NULL,
     TORCH | FLOAT},
    /* half of expm1(2 x) by expm1(x), and sinh by half of expm1 */
    {"_expm1_half", "input", 1, "0.5 * x * x + x", NULL, NULL, NULL, HIDDEN | FLOAT},
    {"_sinh_by", "input", 1, "x + x / (2 * minimum(x, 1e38) + 1)", NULL, NULL, NULL, HIDDEN | FLOAT},
    {"cosh", "input", 1, "_cosh_of(exp(0.5 * abs(x)))", "g * sinh(x)", NULL, NULL, TORCH | FLOAT},
    {"_cosh_of", "input", 1, "0.5 * x * x + 0.5 / (x * x)", NULL, NULL, NULL, HIDDEN | FLOAT},
    {"atan", "input", 1, "copysign(_atan_positive(abs(x)), x)", "g / (1 + x * x)", NULL, NULL, TORCH | FLOAT},
    /* of x > sqrt(2) + 1 as of -1 / x, of x > 0.66 as of (x - 1) / (x + 1): a quotient of polynomials for -0.42 .. 0.66 */
    {"_atan_positive", "input", 1,
     "where(x > 2.41421356237309504880, pi / 2, where(x > 0.66, pi / 4, 0))"
     " + _atan_small(where(x > 2.41421356237309504880, -1, where(x > 0.66, x - 1, x))"
     " / where(x > 2.41421356237309504880, x, where(x > 0.66, x + 1, 1)))",
     NULL, NULL, NULL, HIDDEN | FLOAT},
    {"_atan_small", "input", 1, "x + x * (x * x * _atan_series(x * x))", NULL, NULL, NULL, HIDDEN | FLOAT},
    {"_atan_series", "input", 1,
     "((((-0.875060860003190412 * x - 16.1575371873336507664) * x - 75.0085579231470466734) * x"
     " - 122.886668449013617341) * x - 64.8502190494202537177)"
     " / (((((x + 24.8584649014230629796) * x + 165.027009831698854205) * x + 432.881060491290266895) * x"
     " + 485.390399635913696487) * x + 194.550657148261396443)",
     NULL, NULL, NULL, HIDDEN | FLOAT},
    {"asin", "input", 1, "atan(x / sqrt((1 - x) * (1 + x)))", "g * rsqrt((1 - x) * (1 + x))", NULL, NULL,
     TORCH | FLOAT},
    {"acos", "input", 1, "2 * atan(sqrt((1 - x) / (1 + x)))", "-g * rsqrt((1 - x) * (1 + x))", NULL, NULL,
     TORCH | FLOAT},
    /* The sign of a zero says from which side it was reached. */
    {"atan2", "input, other", 2,
     "where((abs(x) == inf) & (abs(other) == inf), where(other > 0, pi / 4, 3 * pi / 4) * sign(x),"
     " where(other > 0, atan(x / other), where((x == 0) & (other == 0) & (1 / other > 0), x,"
     " where((x < 0) | (1 / x < 0), -pi, pi) * where(other == 0, where(x == 0, 1, where(isnan(x), x, 0.5)), 1)"
     " + where(other == 0, other * 0, atan(x / other)))))",
     "g * _over_square(other, x * x + other * other); d_other = -g * _over_square(x, x * x + other * other)",
     NULL, NULL, TORCH | FLOAT},
    /* 0 at the origin */
    {"_over_square", "input, square", 2, "where(square == 0, 0, x / square)", NULL, NULL, NULL,
     HIDDEN | FLOAT},
    /* beyond 1e9 as log(2 x), whose square might overflow */
    {"asinh", "input", 1, "copysign(_asinh_positive(abs(x)), x)", "g * rsqrt(x * x + 1)", NULL, NULL,
     TORCH | FLOAT},
    {"_asinh_positive", "input", 1,
     "where(x > 1e9, log(2), 0) + log1p(where(x > 1e9, x - 1, x + x * x / (1 + sqrt(x * x + 1))))", NULL,
     NULL, NULL, HIDDEN | FLOAT},
    {"acosh", "input", 1,
     "where(x > 1e9, log(2), 0) + log1p(where(x > 1e9, x - 1, x - 1 + sqrt(x - 1) * sqrt(x + 1)))",
     "g * rsqrt((x - 1) * (x + 1))", NULL, NULL, TORCH | FLOAT},
    {"atanh", "input", 1, "copysign(0.5 * log1p(2 * abs(x) / (1 - abs(x))), x)", "g / ((1 - x) * (1 + x))",
     NULL, NULL, TORCH | FLOAT},
    {"erf", "input", 1, "erf(x)", "g * (2 / sqrt(pi)) * exp(-(x * x))", NULL, NULL, TORCH | FLOAT},
    {"erfc", "input", 1, "where(abs(x) < 0.59, 1 - erf(x), _erfc_side(x, _erfc_beyond(minimum(abs(x), 30))))",
     "g * (-2 / sqrt(pi)) * exp(-(x * x))", NULL, NULL, TORCH | FLOAT},
    {"_erfc_side", "input, beyond", 2, "where(x < 0, 2 - beyond, beyond)", NULL, NULL, NULL, HIDDEN | FLOAT},
    /* of x from 0.59 to 30, where it is 0 in every type: exp(-(x * x)) by a part of x whose square is exact, and what is left of
     * the square */
    {"_erfc_beyond", "input", 1, "_erfc_by_part(x, floor(256 * x) / 256)", NULL, NULL, NULL, HIDDEN | FLOAT},
    {"_erfc_by_part", "input, part", 2,
     "exp(-(part * part)) * _exp_more(_erfc_scaled(x), expm1((part - x) * (x + part)))", NULL, NULL, NULL,
     HIDDEN | FLOAT},
    {"_exp_more", "input, more", 2, "x + x * more", NULL, NULL, NULL, HIDDEN | FLOAT},
    /* erfc(x) exp(x * x): x times it, less what is between the ends of each half, so that little of the quotient's rounding is
     * left */
    {"_erfc_scaled", "input", 1,
     "(where(x < 8, 0.5, 0.564189612865447998)"
     " + where(x < 8, _erfc_over(x), _erfc_far_over(x)) / where(x < 8, _erfc_under(x), _erfc_far_under(x))) / x",
     NULL, NULL, NULL, HIDDEN | FLOAT},
    /* for 0.59 .. 8, of 0.5 */
    {"_erfc_over", "input", 1,
     "((((((((0.0641895806355462975691 * x + 0.8440048168613016442112) * x + 5.2153182683890035774470) * x"
     " + 18.655379966449699356846) * x + 37.368349855753463824575) * x + 20.850591197470028197895) * x"
     " - 94.46207568528077870170) * x - 262.5932412093732617792) * x - 265.8687820622930835676)",
     NULL, NULL, NULL, HIDDEN | FLOAT},
    {"_erfc_under", "input", 1,
     "((((((((x + 13.1486227628877523271) * x + 85.6434805173090234886) * x"
     " + 348.41186878510456218) * x + 951.969703082419348367) * x + 1769.03661285390725951) * x"
     " + 2166.24430521781821306) * x + 1588.66159092919971659) * x + 531.737565728070223472)",
     NULL, NULL, NULL, HIDDEN | FLOAT},
    /* of 1 / sqrt(pi) as a float, so that it is not rounded */
    {"_erfc_far_over", "input", 1,
     "((((((-2.9317692898046875e-8 * x - 6.62730592544051766e-8) * x - 0.282095067306008800) * x"
     " - 0.637683701936068008) * x - 2.22743118440484445) * x - 2.44241333336959355) * x - 1.90079793860424730)",
     NULL, NULL, NULL, HIDDEN | FLOAT},
    {"_erfc_far_under", "input", 1,
     "((((((x + 2.26052863220117276590) * x + 9.39603524938001434673) * x + 12.0489539808096656605) * x"
     " + 17.0814450747565897222) * x + 9.60896809063285878198) * x + 3.36907645100081516050)",
     NULL, NULL, NULL, HIDDEN | FLOAT},
    {"erfinv", "input", 1, "erfinv(x)", "g * (0.5 * sqrt(pi)) * exp(y * y)", NULL, NULL, TORCH | FLOAT},
    {"lgamma", "input", 1, "lgamma(x)", "g * digamma(x)", NULL, NULL, TORCH | FLOAT},
    {"digamma", "input", 1, "digamma(x)", "g * zeta(2, x)", NULL, NULL, TORCH | FLOAT},
    {"i0", "input", 1, "_i_by(exp_down(abs(x)), i0e(x))", "g * _i1(x)", NULL, NULL, TORCH | FLOAT},
    {"hypot", "input, other", 2,
     "where((abs(x) == inf) | (abs(other) == inf), inf, _hypot(maximum(abs(x), abs(other)), minimum(abs(x), abs(other))))",
     "g * (x / y); d_other = g * (other / y)", NULL, NULL, TORCH | ONLY_FLOAT},
    /* of a complex number, whose gradient is 0 at the origin */
    {"_complex_abs", "input, other", 2, "hypot(x, other)",
     "g * where(y == 0, 0, x / y); d_other = g * where(y == 0, 0, other / y)", NULL, NULL,
     HIDDEN | ONLY_FLOAT},
    {"_hypot", "input, other", 2, "where(x == 0, x, x * sqrt(1 + (other / x) * (other / x)))", NULL, NULL,
     NULL, HIDDEN | ONLY_FLOAT},
    {"logaddexp", "input, other", 2,
     "where((x == other) & (abs(x) == inf), x, maximum(x, other) + log1p(exp(-abs(x - other))))",
     "g * sigmoid(x - other); d_other = g * sigmoid(other - x)", NULL, NULL, TORCH | ONLY_FLOAT},
    {"isnan", "input", 1, "isnan(x)", NULL, NULL, NULL, TORCH},
    {"isinf", "input", 1, "abs(x) == inf", NULL, NULL, NULL, TORCH | FLOAT},
    {"isfinite", "input", 1, "abs(x) < inf", NULL, NULL, NULL, TORCH | FLOAT},
    {"logical_not", "input", 1, "x == 0", NULL, NULL, NULL, TORCH},
    {"minimum", "input, other", 2, "minimum(x, other)",
     "where(x > other, 0, where(x == other, g * 0.5, g)); d_other = where(x < other, 0, where(x == other, g * 0.5, g))",
     NULL, NULL, TORCH},
    {"maximum", "input, other", 2, "maximum(x, other)",
     "where(x < other, 0, where(x == other, g * 0.5, g)); d_other = where(x > other, 0, where(x == other, g * 0.5, g))",
     NULL, NULL, TORCH},
    {"fmin", "input, other", 2, "where(isnan(x) | (x > other), other, x)",
     "where((x > other) | (isnan(x) & (other == other)), 0, where(x == other, g * 0.5, g));"
     " d_other = where(isnan(other) | (x < other), 0, where(x == other, g * 0.5, g))",
     NULL, NULL, TORCH},
    {"fmax", "input, other", 2, "where(isnan(x) | (x < other), other, x)",
     "where((x < other) | (isnan(x) & (other == other)), 0, where(x == other, g * 0.5, g));"
     " d_other = where(isnan(other) | (x > other), 0, where(x == other, g * 0.5, g))",
     NULL, NULL, TORCH},
    {"pow", "input, exponent", 2, "pow(x, exponent)",
     "where(exponent == 0, 0, g * (exponent * pow(x, exponent - 1)));"
     " d_exponent = where((x == 0) & (exponent >= 0), 0, g * (y * log(x)))",
     NULL, NULL, TORCH},
};

const int elementwise_row_count = COUNT(elementwise_rows);

const struct elementwise_check elementwise_checks[] = {
    {"hardtanh", "min_val <= max_val", "min_val cannot be greater than max_val"},
    {"celu", "alpha != 0", "alpha cannot be 0 for CELU"},
    {"softshrink", "lambd >= 0", "lambd must not be negative"},
    {NULL, NULL, NULL},
};

const struct elementwise_row *elementwise_find(const char *name)
{
    for (int i = 0; i < elementwise_row_count; i++)
        if (elementwise_rows[i].name[0] == name[0] && strcmp(elementwise_rows[i].name, name) == 0)
            return &elementwise_rows[i];
    return NULL;
}

const struct elementwise_row *elementwise_module(const char *class_name)
{
    for (int i = 0; i < elementwise_row_count; i++)
        if (elementwise_rows[i].module && strcmp(elementwise_rows[i].module, class_name) == 0)
            return &elementwise_rows[i];
    return NULL;
}

const char *elementwise_refuses(struct cx *cx, const struct elementwise_row *row, enum dtype dtype)
{
    bool refused = dtype_is_complex(dtype) || (dtype == DTYPE_BOOL && (row->flags & ELEMENTWISE_NO_BOOL)) ||
                   (!dtype_is_float(dtype) && (row->flags & ELEMENTWISE_ONLY_FLOAT));

    if (!refused)
        return NULL;
    return arena_format(&cx->arena, "%s is not defined for %s", row->name + (row->name[0] == '_'),
                        dtype_rows[dtype].name);
}
