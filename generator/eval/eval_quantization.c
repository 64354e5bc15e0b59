/* eval_quantization.c - names of torch.ao.quantization: types of integers and schemes, which are told apart and no more, and the classes
 * with arguments that have names of their own there. */
#include "eval/evaluator.h"

#include <string.h>

/* What torch has of them; a value is its text. */
static const char *const schemes[] = {
    "torch.qint8",
    "torch.quint8",
    "torch.per_tensor_affine",
    "torch.per_tensor_symmetric",
    "torch.per_channel_affine",
    "torch.per_channel_symmetric",
};

bool eval_find_scheme(const char *name, struct loc loc, struct ev *out)
{
    for (int i = 0; i < COUNT(schemes); i++) {
        if (strcmp(schemes[i] + strlen("torch."), name) != 0)
            continue;
        *out = ev_string(loc, schemes[i]);
        return true;
    }
    return false;
}

#define AVERAGES "observer=MovingAverageMinMaxObserver"
#define CHANNELS "observer=MovingAveragePerChannelMinMaxObserver"
#define BYTES "quant_min=0, quant_max=255, dtype=torch.quint8"
#define SIGNED "quant_min=-128, quant_max=127, dtype=torch.qint8"
#define EVEN "quant_min=-127, quant_max=127, dtype=torch.qint8"
#define SYMMETRIC "qscheme=torch.per_tensor_symmetric"
#define SYMMETRIC_CHANNELS "qscheme=torch.per_channel_symmetric"

/* As fake_quantize.py, observer.py and qconfig.py have them. */
static const struct {
    const char *name, *value;
} defaults[] = {
    {"default_observer", "MinMaxObserver.with_args(quant_min=0, quant_max=127)"},
    {"default_weight_observer", "MinMaxObserver.with_args(dtype=torch.qint8, " SYMMETRIC ")"},
    {"default_per_channel_weight_observer",
     "PerChannelMinMaxObserver.with_args(dtype=torch.qint8, " SYMMETRIC_CHANNELS ")"},
    {"default_fake_quant",
     "FakeQuantize.with_args(" AVERAGES ", " BYTES ", qscheme=torch.per_tensor_affine, reduce_range=True)"},
    {"default_weight_fake_quant",
     "FakeQuantize.with_args(" AVERAGES ", " SIGNED ", " SYMMETRIC ", reduce_range=False)"},
    {"default_per_channel_weight_fake_quant", "FakeQuantize.with_args(" CHANNELS ", " SIGNED
                                              ", " SYMMETRIC_CHANNELS ", reduce_range=False, ch_axis=0)"},
    {"default_dynamic_fake_quant",
     "FakeQuantize.with_args(" AVERAGES ", " BYTES ", is_dynamic=True, averaging_constant=1)"},
    {"default_fused_act_fake_quant", "FusedMovingAvgObsFakeQuantize.with_args(" AVERAGES ", " BYTES ")"},
    {"default_fused_wt_fake_quant",
     "FusedMovingAvgObsFakeQuantize.with_args(" AVERAGES ", " SIGNED ", " SYMMETRIC ")"},
    {"default_fused_per_channel_wt_fake_quant",
     "FusedMovingAvgObsFakeQuantize.with_args(" CHANNELS ", " SIGNED ", " SYMMETRIC_CHANNELS ")"},
    {"fused_wt_fake_quant_range_neg_127_to_127",
     "FusedMovingAvgObsFakeQuantize.with_args(" AVERAGES ", " EVEN ", " SYMMETRIC ", eps=2 ** -12)"},
    {"fused_per_channel_wt_fake_quant_range_neg_127_to_127",
     "FusedMovingAvgObsFakeQuantize.with_args(" CHANNELS ", " EVEN ", " SYMMETRIC_CHANNELS ", eps=2 ** -12)"},
    {"default_qat_qconfig", "QConfig(activation=default_fake_quant, weight=default_weight_fake_quant)"},
    {"default_qat_qconfig_v2",
     "QConfig(activation=default_fused_act_fake_quant, weight=default_fused_wt_fake_quant)"},
};

bool eval_is_quantization_default(const char *name)
{
    for (int i = 0; i < COUNT(defaults); i++)
        if (strcmp(defaults[i].name, name) == 0)
            return true;
    return false;
}

bool eval_find_quantization(struct eval *eval, const char *name, struct loc loc, struct ev *out)
{
    const struct loc at = eval->at;
    struct scope none = {0};

    for (int i = 0; eval->building && i < COUNT(defaults); i++) {
        if (strcmp(defaults[i].name, name) != 0)
            continue;
        eval->at = loc;
        *out = eval_text(eval, &none, defaults[i].value);
        eval->at = at;
        return true;
    }
    return false;
}
