// cpp.cc - an emitted header and its functions from C++17.
#include "cnn.h"

#include <cmath>
#include <cstdio>
#include <vector>

#include "policy.h"

static_assert(CNN_MODULES == 12, "the modules are constants of C++ too");

int main()
{
    alignas(MODC_ALIGN) static char block[POLICY_PARAM_BYTES], packed[POLICY_PACKED_BYTES], workspace[POLICY_WORKSPACE_BYTES];
    policy_params params;
    policy net;
    std::vector<float> observation(5 * 4, 0.25f), logits(5 * 2), value(5);

    if (policy_bind(&params, block, sizeof block) != MODC_OK ||
        policy_load(&params, "specs/cartpole/weights.safetensors", MODC_STRICT, nullptr) != MODC_OK ||
        policy_pack(&params, packed, sizeof packed) != MODC_OK ||
        policy_init(&net, &params, workspace, sizeof workspace) != MODC_OK ||
        policy_forward(&net, 5, observation.data(), logits.data(), value.data()) != MODC_OK)
        return 1;
    for (float one : value)
        if (!std::isfinite(one) || one == 0.0f || std::fabs(one - value[0]) > 1e-4f * std::fabs(value[0]))
            return 2;

    cnn_params *other = nullptr;
    modc_params *base = nullptr;
    cnn *context = nullptr;
    std::vector<float> image(64, 0.5f), output(10);

    if (modc_params_create(&cnn_model, &base) != MODC_OK)
        return 3;
    other = reinterpret_cast<cnn_params *>(base);
    if (cnn_reset(other, 1) != MODC_OK || cnn_pack(other, nullptr, 0) != MODC_OK ||
        cnn_create(other, &context) != MODC_OK || cnn_forward(context, 1, image.data(), output.data()) != MODC_OK)
        return 4;
    cnn_destroy(context);
    modc_params_destroy(base);
    return 0;
}
