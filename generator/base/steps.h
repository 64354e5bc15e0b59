/* steps.h - numbers as int8: so many steps of a scale from a zero point; and fixed-point numbers, by which integers are scaled. */
#ifndef MODC_STEPS_H
#define MODC_STEPS_H

#include <stdbool.h>
#include <stdint.h>

/* note [steps]
 * The integer q stands for (q - zero) * scale, and x becomes round(x / scale) + zero, of two the one further from 0, within -128 and
 * 127: what TensorFlow Lite's kernels QUANTIZE and DEQUANTIZE compute. */
struct steps {
    double scale; /* a float32 */
    int zero;
};

static inline bool steps_equal(const struct steps *a, const struct steps *b)
{
    return a->scale == b->scale && a->zero == b->zero;
}

/* Those of numbers from `least` to `most`: torch.ao's observers' for qint8 with qscheme per_tensor_affine, so that 0 is one of them
 * (`MinMaxObserver.calculate_qparams`). */
struct steps steps_of_range(double least, double most);

/* As TensorFlow Lite's QuantizeMultiplier has a number above 0: multiplier / 2^31 * 2^shift, the multiplier from 2^30 to 2^31 - 1; both 0
 * of what is below 2^-32. */
struct fixed {
    int32_t multiplier;
    int shift;
};
struct fixed fixed_of(double number);

#endif
