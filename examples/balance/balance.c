/* balance.c - balances a pole on a cart with the policy of specs/cartpole/policy.yaml. */
#include <math.h>
#include <stdio.h>

#include "policy.h"

static struct policy_params params;
static struct policy net;
static MODC_ALIGNED char workspace[POLICY_ACT_WORKSPACE_BYTES];

int main(void)
{
    float x = 0.0f, v = 0.0f, angle = 0.05f, spin = 0.0f; /* of the cart, of the pole */
    int step;

    if (policy_bind_embedded(&params) != MODC_OK ||
        policy_init(&net, &params, workspace, sizeof workspace) != MODC_OK)
        return 1;
    for (step = 0; step < 500 && fabsf(x) < 2.4f && fabsf(angle) < 0.2f; step++) {
        const float observation[4] = {x, v, angle, spin};
        float logits[2];

        if (policy_act(&net, 1, observation, logits) != MODC_OK)
            return 1;

        const float push = logits[1] > logits[0] ? 10.0f : -10.0f;
        const float along = (push + 0.05f * spin * spin * sinf(angle)) / 1.1f;
        const float turn = (9.8f * sinf(angle) - cosf(angle) * along) /
                           (0.5f * (4.0f / 3.0f - 0.1f * cosf(angle) * cosf(angle) / 1.1f));

        x += 0.02f * v;
        v += 0.02f * (along - 0.05f * turn * cosf(angle) / 1.1f);
        angle += 0.02f * spin;
        spin += 0.02f * turn;
    }
    printf("%s %d steps\n", step == 500 ? "balanced for" : "lost after", step);
    return step == 500 ? 0 : 1;
}
