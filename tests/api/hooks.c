/* hooks.c - hooks and gradients: what forward's hooks change is what backward reads, and no slope of theirs is in it. A hook that
 * adds a constant has none, so that differences say what the gradients are. Hooks in backward run in PyTorch's order, which
 * tests/api/hooks.txt has (tests/oracle/hooks.py); what they make of gradients is in tests/vectors, too. */
#include "bare.h"
#include "check.h"
#include "hooked.h"

#include <math.h>
#include <string.h>

enum { BATCH = 3, IN = BATCH * 3, WIDE = BATCH * 4, LOGITS = BATCH * 2, COUNT = 10 };

static const char *const keys[COUNT] = {"inner.weight", "inner.bias", "block.fc.weight", "block.fc.bias",
                                        "twice.weight", "twice.bias", "norm.weight",     "norm.bias",
                                        "head.weight",  "head.bias"};
static const int counts[COUNT] = {12, 4, 16, 4, 16, 4, 4, 4, 8, 2};

static struct hooked_params params;
static struct hooked net;
static struct hooked_training training;
static MODC_ALIGNED char block[HOOKED_PARAM_BYTES], packed[HOOKED_PACKED_BYTES],
    gradients[HOOKED_TRAINING_BYTES],
    workspace[HOOKED_FENCED_BACKWARD_WORKSPACE_BYTES +
              HOOKED_LOSS_FENCED_BACKWARD_WORKSPACE_BYTES]; /* the larger of both */
static double x[IN], logits[LOGITS], shares[WIDE], dlogits[LOGITS], dshares[WIDE], dx[IN], target[LOGITS];
static bool mask[WIDE];

/* ---- hooks ------------------------------------------------------------------------------------------------------ */

/* Adds to the first input of a pre-hook, or the first output: in place, or in memory of its own. */
struct shift {
    struct modc_hook hook;
    bool own;
    double memory[2][WIDE]; /* by call */
    int calls;
};

static enum modc_status add_constant(struct modc_hook_call *call)
{
    struct shift *shift = call->user;
    struct modc_tensor *tensor = call->outputs != NULL ? call->outputs : call->inputs;
    int count = tensor->dims[0] * tensor->dims[1];
    double *to = shift->own ? shift->memory[shift->calls++ % 2] : tensor->data;

    for (int i = 0; i < count; i++)
        to[i] = ((const double *)tensor->data)[i] + 0.3 + 0.1 * (i % 5);
    tensor->data = to;
    return MODC_OK;
}

static enum modc_status refuse(struct modc_hook_call *call)
{
    (void)call;
    return MODC_HOOK_ERROR;
}

static enum modc_status look(struct modc_hook_call *call)
{
    ++*(int *)call->user;
    return MODC_OK;
}

/* Calls with the context that it runs in, of which nothing may change, and with one of its own. */
struct inside {
    struct modc_hook hook;
    struct hooked own;
    struct hooked_training own_training;
    MODC_ALIGNED char workspace[HOOKED_FENCED_BACKWARD_WORKSPACE_BYTES], gradients[HOOKED_TRAINING_BYTES];
    double logits[LOGITS], shares[WIDE], dx[IN];
    int calls;
};

static enum modc_status call_inside(struct modc_hook_call *call)
{
    struct inside *inside = call->user;
    double loss, dropped_logits[LOGITS], dropped_shares[WIDE], dropped_dx[IN];
    static char state[4096];
    size_t length = 0;

    CHECK(call->context == &net.base);
    CHECK(hooked_forward(&net, BATCH, x, mask, dropped_logits, dropped_shares) == MODC_BUSY);
    CHECK(hooked_loss(&net, BATCH, x, mask, target, &loss) == MODC_BUSY);
    CHECK(hooked_backward(&net, BATCH, dlogits, dshares, dropped_dx) == MODC_BUSY);
    CHECK(hooked_loss_backward(&net, BATCH) == MODC_BUSY);
    CHECK(hooked_train_step(&training, BATCH, x, mask, target, &loss) == MODC_BUSY);
    CHECK(hooked_step(&training) == MODC_BUSY);
    CHECK(hooked_training_init(&training, &net, gradients, sizeof gradients) == MODC_BUSY);
    CHECK(hooked_requires_grad_(&training, "", false) == MODC_BUSY);
    CHECK(hooked_training_save_bytes(&training, state, sizeof state, &length) == MODC_BUSY && length == 0);
    CHECK(hooked_training_load_bytes(&training, state, sizeof state, NULL) == MODC_BUSY);
    CHECK(hooked_seed(&net, 1) == MODC_BUSY && modc_reset_state(&net.base) == MODC_BUSY);

    CHECK_OK(hooked_forward(&inside->own, BATCH, x, mask, inside->logits, inside->shares));
    CHECK_OK(hooked_backward(&inside->own, BATCH, dlogits, dshares, inside->dx));
    inside->calls++;
    return MODC_OK;
}

static enum modc_status draw_weights(struct modc_hook_call *call)
{
    (void)call;
    return hooked_reset(&params, 4);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static void forward(void)
{
    CHECK_OK(hooked_forward(&net, BATCH, x, mask, logits, shares));
}

static void backward(void)
{
    CHECK_OK(hooked_backward(&net, BATCH, dlogits, dshares, dx));
}

static double *gradient(int i)
{
    const void *found;

    CHECK_OK(hooked_get_gradient(&training, keys[i], &found));
    return (double *)(uintptr_t)found;
}

/* What the gradients are of. */
static double value(void)
{
    double sum = 0;

    CHECK_OK(hooked_pack(&params, NULL, 0));
    hooked_set_grad_enabled(&net, false);
    forward();
    hooked_set_grad_enabled(&net, true);
    for (int i = 0; i < LOGITS; i++)
        sum += logits[i] * dlogits[i];
    for (int i = 0; i < WIDE; i++)
        sum += shares[i] * dshares[i];
    return sum;
}

static void check_slope(double *number, double slope)
{
    const double step = 1e-6, before = *number;
    double above, below;

    *number = before + step;
    above = value();
    *number = before - step;
    below = value();
    *number = before;
    if (fabs((above - below) / (2 * step) - slope) > 1e-7 * (1 + fabs(slope)))
        fprintf(stderr, "found %.10g, differences say %.10g\n", slope, (above - below) / (2 * step));
    CHECK(fabs((above - below) / (2 * step) - slope) <= 1e-7 * (1 + fabs(slope)));
}

static double *parameter(int i)
{
    double *const all[COUNT] = {params.inner.weight,  params.inner.bias,   params.block.fc.weight,
                                params.block.fc.bias, params.twice.weight, params.twice.bias,
                                params.norm.weight,   params.norm.bias,    params.head.weight,
                                params.head.bias};
    return all[i];
}

/* Backward against differences, under the hooks that there are. */
static void check_gradients(void)
{
    double found[COUNT][16], slopes[IN];

    CHECK_OK(hooked_pack(&params, NULL, 0));
    hooked_zero_grad(&training, true);
    forward();
    backward();
    memcpy(slopes, dx, sizeof slopes);
    for (int i = 0; i < COUNT; i++)
        memcpy(found[i], gradient(i), (size_t)counts[i] * sizeof(double));
    for (int i = 0; i < IN; i++)
        check_slope(&x[i], slopes[i]);
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < counts[i]; k++)
            check_slope(&parameter(i)[k], found[i][k]);
    CHECK_OK(hooked_pack(&params, NULL, 0));
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

/* Each module in turn, before it and behind it, in place and elsewhere; then several at once. */
static void test_values(void)
{
    static struct shift shift, others[3];

    check_gradients();
    for (int i = 0; i < 4 * HOOKED_MODULES; i++) {
        memset(&shift, 0, sizeof shift);
        shift.hook.call = add_constant;
        shift.hook.user = &shift;
        shift.own = i % 2 != 0;
        CHECK_OK((i & 2 ? hooked_register_forward_pre_hook : hooked_register_forward_hook)(&net, i / 4,
                                                                                           &shift.hook, 0));
        check_gradients();
        modc_hook_remove(&shift.hook);
    }
    for (int i = 0; i < 3; i++)
        others[i] = (struct shift){.hook = {.call = add_constant, .user = &others[i]}, .own = i == 1};
    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_BLOCK_ACT, &others[0].hook, 0));
    CHECK_OK(hooked_register_forward_pre_hook(&net, HOOKED_TWICE, &others[1].hook, 0));
    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_TWICE, &others[2].hook, 0));
    check_gradients();
    for (int i = 0; i < 3; i++)
        modc_hook_remove(&others[i].hook);
}

/* A hook that does nothing changes nothing, and a step of training is the same step. */
static void test_steps(void)
{
    double plain[COUNT][16], before[COUNT][16], loss, same;
    int calls = 0;
    struct modc_hook looking = {.call = look, .user = &calls};

    for (int i = 0; i < COUNT; i++)
        memcpy(before[i], parameter(i), (size_t)counts[i] * sizeof(double));
    CHECK_OK(hooked_train_step(&training, BATCH, x, mask, target, &loss));
    for (int i = 0; i < COUNT; i++) {
        memcpy(plain[i], parameter(i), (size_t)counts[i] * sizeof(double));
        memcpy(parameter(i), before[i], (size_t)counts[i] * sizeof(double));
    }
    CHECK_OK(hooked_pack(&params, NULL, 0));
    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_TWICE, &looking, 0));
    CHECK_OK(hooked_train_step(&training, BATCH, x, mask, target, &same));
    CHECK(calls == 2 && fabs(same - loss) < 1e-12);
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < counts[i]; k++)
            CHECK(fabs(parameter(i)[k] - plain[i][k]) < 1e-12 && (i > 0 || parameter(i)[k] != before[i][k]));
        memcpy(parameter(i), before[i], (size_t)counts[i] * sizeof(double));
    }
    modc_hook_remove(&looking);
    CHECK_OK(hooked_pack(&params, NULL, 0));
}

/* ---- hooks in backward ------------------------------------------------------------------------------------------- */

static FILE *expected; /* the lines that are still to come */

struct listener {
    struct modc_hook hook;
    const char *tag;
};

static const char *letters(const struct modc_tensor *tensors, int count, char *out)
{
    char *end = out;

    *end++ = ' ';
    for (int i = 0; i < count; i++) {
        const size_t bytes = tensors[i].data != NULL ? modc_tensor_bytes(&tensors[i]) : 0;
        bool any = false;

        for (size_t k = 0; k < bytes; k++)
            any |= ((const unsigned char *)tensors[i].data)[k] != 0;
        *end++ = tensors[i].data == NULL ? '-' : any ? '+' : '0';
    }
    *end = '\0';
    return out;
}

static const char *current; /* the call */

static enum modc_status hear(struct modc_hook_call *call)
{
    static const char *const kinds[] = {"forward_pre", "forward", "backward_pre", "backward"};
    const struct listener *own = call->user;
    const enum modc_hook_kind kind = own->hook.kind;
    char line[128], said[128], inputs[16] = "", outputs[16] = "";

    if (kind == MODC_HOOK_BACKWARD)
        letters(call->grad_inputs, call->grad_input_count, inputs);
    if (kind >= MODC_HOOK_BACKWARD_PRE)
        letters(call->grad_outputs, call->grad_output_count, outputs);
    CHECK((call->inputs != NULL) == (kind <= MODC_HOOK_FORWARD) &&
          (call->outputs != NULL) == (kind == MODC_HOOK_FORWARD));
    snprintf(said, sizeof said, "%s %s %s %s%s%s\n", current, kinds[kind],
             call->path[0] != '\0' ? call->path : ".", own->tag, inputs, outputs);
    CHECK(fgets(line, sizeof line, expected) != NULL);
    if (strcmp(line, said) != 0)
        fprintf(stderr, "found    %sexpected %s", said, line);
    CHECK(strcmp(line, said) == 0);
    return MODC_OK;
}

typedef enum modc_status add_to_module(struct modc_context *net, int module, struct modc_hook *hook,
                                       unsigned flags);
typedef enum modc_status add_to_set(struct modc_hook_set *set, struct modc_hook *hook, unsigned flags);

/* Global ones, those of modules, and those that come before them: which run, in which order, with which gradients. */
static void test_order(void)
{
    static add_to_module *const own[] = {modc_register_forward_pre_hook, modc_register_forward_hook,
                                         modc_register_full_backward_pre_hook,
                                         modc_register_full_backward_hook};
    static add_to_set *const global[] = {
        modc_register_module_forward_pre_hook, modc_register_module_forward_hook,
        modc_register_module_full_backward_pre_hook, modc_register_module_full_backward_hook};
    static struct listener listeners[4][HOOKED_MODULES][2], all[4];
    struct modc_hook_set set = {0};
    double loss;

    expected = fopen("tests/api/hooks.txt", "r");
    CHECK(expected != NULL);
    for (int kind = 0; kind < 4; kind++) {
        for (int module = 0; module < HOOKED_MODULES; module++) {
            for (int i = 0; i < 2; i++) {
                struct listener *listener = &listeners[kind][module][i];

                *listener = (struct listener){.hook = {.call = hear, .user = listener}, .tag = i ? "b" : "a"};
                CHECK_OK(own[kind](&net.base, module, &listener->hook, i ? MODC_PREPEND : 0));
            }
        }
        all[kind] = (struct listener){.hook = {.call = hear, .user = &all[kind]}, .tag = "g"};
        CHECK_OK(global[kind](&set, &all[kind].hook, 0));
    }
    CHECK_OK(modc_attach(&net.base, &set));
    hooked_zero_grad(&training, true);
    current = "forward";
    forward();
    backward();
    current = "loss";
    CHECK_OK(hooked_loss(&net, BATCH, x, mask, target, &loss));
    CHECK_OK(hooked_loss_backward(&net, BATCH));
    CHECK(fgetc(expected) == EOF);
    fclose(expected);
    CHECK_OK(modc_attach(&net.base, NULL));
    for (int kind = 0; kind < 4; kind++)
        for (int module = 0; module < HOOKED_MODULES; module++)
            for (int i = 0; i < 2; i++)
                modc_hook_remove(&listeners[kind][module][i].hook);
    CHECK(net.base.hooks == NULL);
}

/* Doubles the gradient of the first input, or of a pre-hook the first output. */
static enum modc_status twofold(struct modc_hook_call *call)
{
    struct shift *shift = call->user;
    struct modc_tensor *tensor = shift->hook.kind == MODC_HOOK_BACKWARD ? call->grad_inputs
                                                                        : call->grad_outputs;
    double *to = shift->own ? shift->memory[shift->calls++ % 2] : tensor->data;

    for (int i = 0; i < tensor->dims[0] * tensor->dims[1]; i++)
        to[i] = 2 * ((const double *)tensor->data)[i];
    tensor->data = to;
    return MODC_OK;
}

struct gradients {
    double of[COUNT][16], dx[IN];
};

/* Behind no others: of this call alone. */
static void take_gradients(struct gradients *found)
{
    hooked_zero_grad(&training, true);
    memset(found, 0, sizeof *found);
    forward();
    backward();
    memcpy(found->dx, dx, sizeof found->dx);
    for (int i = 0; i < COUNT; i++)
        memcpy(found->of[i], gradient(i), (size_t)counts[i] * sizeof(double));
}

static bool same_gradients(const struct gradients *a, const struct gradients *b)
{
    const double *const x_a = a->of[0], *const x_b = b->of[0];

    for (size_t i = 0; i < sizeof *a / sizeof(double); i++)
        if (fabs(x_a[i] - x_b[i]) > 1e-12 * (1 + fabs(x_a[i])))
            return false;
    return true;
}

/* In place or elsewhere is the same, whatever else reads the gradient; before a module it reaches the module's parameters,
 * behind it not. */
static void test_changes(void)
{
    static struct shift shift;
    static struct gradients plain, changed, elsewhere;

    take_gradients(&plain);
    for (int i = 0; i < 2 * HOOKED_MODULES; i++) {
        add_to_module *const add = i % 2 ? modc_register_full_backward_pre_hook
                                         : modc_register_full_backward_hook;

        for (int own = 0; own < 2; own++) {
            shift = (struct shift){.hook = {.call = twofold, .user = &shift}, .own = own};
            CHECK_OK(add(&net.base, i / 2, &shift.hook, 0));
            take_gradients(own ? &elsewhere : &changed);
            modc_hook_remove(&shift.hook);
        }
        CHECK(same_gradients(&changed, &elsewhere) && !same_gradients(&changed, &plain));
        if (i / 2 == HOOKED_HEAD)
            CHECK((fabs(changed.of[9][0] - plain.of[9][0]) > 1e-6) == (i % 2 != 0));
        if (i / 2 == HOOKED_ROOT && i % 2 == 0)
            CHECK(memcmp(changed.of, plain.of, sizeof plain.of) == 0 && changed.dx[0] == 2 * plain.dx[0]);
    }
    take_gradients(&changed);
    CHECK(same_gradients(&changed, &plain));

    /* gradients of inputs that nobody wants are there for hooks; what is not wanted of a parameter is not computed */
    shift = (struct shift){.hook = {.call = twofold, .user = &shift}};
    CHECK_OK(hooked_register_full_backward_hook(&net, HOOKED_INNER, &shift.hook, 0));
    hooked_zero_grad(&training, true);
    CHECK_OK(hooked_requires_grad_(&training, "inner.bias", false));
    forward();
    CHECK_OK(hooked_backward(&net, BATCH, dlogits, dshares, NULL));
    CHECK(gradient(1) == NULL && fabs(gradient(0)[0] - plain.of[0][0]) < 1e-12);
    CHECK_OK(hooked_requires_grad_(&training, "", true));
    modc_hook_remove(&shift.hook);
}

static enum modc_status flatten(struct modc_hook_call *call)
{
    struct modc_tensor *tensor = call->grad_inputs != NULL ? call->grad_inputs : call->grad_outputs;

    tensor->dims[0] *= tensor->dims[1];
    tensor->dims[1] = 1;
    return MODC_OK;
}

static enum modc_status forget(struct modc_hook_call *call)
{
    call->grad_outputs[0].data = NULL;
    return MODC_OK;
}

/* Whatever fails, wherever: no gradient changes. */
static void test_failures(void)
{
    static const struct {
        enum modc_status (*call)(struct modc_hook_call *call), status;
    } ways[] = {{refuse, MODC_HOOK_ERROR}, {flatten, MODC_HOOK_SHAPE}, {forget, MODC_HOOK_SHAPE}};
    static struct gradients plain, again;
    double kept[IN];

    take_gradients(&plain);
    for (int i = 0; i < 6 * HOOKED_MODULES; i++) {
        struct modc_hook failing = {.call = ways[i % 3].call};
        const int module = i / 6;

        CHECK_OK((i % 2 ? hooked_register_full_backward_pre_hook
                        : hooked_register_full_backward_hook)(&net, module, &failing, 0));
        forward();
        memcpy(kept, dx, sizeof kept);
        CHECK(hooked_backward(&net, BATCH, dlogits, dshares, dx) == ways[i % 3].status);
        CHECK(net.base.fault_module == module && memcmp(kept, dx, sizeof kept) == 0);
        for (int k = 0; k < COUNT; k++)
            CHECK(memcmp(plain.of[k], gradient(k), (size_t)counts[k] * sizeof(double)) == 0);
        CHECK(hooked_backward(&net, BATCH, dlogits, dshares, dx) == MODC_CONSUMED);
        modc_hook_remove(&failing);
    }
    take_gradients(&again);
    CHECK(same_gradients(&plain, &again));
}

static void test_registration(void)
{
    static struct bare_params bare_params;
    static struct bare bare;
    static MODC_ALIGNED char bare_block[BARE_PARAM_BYTES], bare_workspace[BARE_FENCED_WORKSPACE_BYTES];
    int calls = 0;
    struct modc_hook looking = {.call = look, .user = &calls}, other = looking;

    CHECK(hooked_register_full_backward_hook(&net, 0, &looking, MODC_ALWAYS_CALL) == MODC_ARGUMENT);
    CHECK(hooked_register_full_backward_pre_hook(&net, 0, &looking, MODC_WITH_KWARGS) == MODC_ARGUMENT);
    CHECK(hooked_register_full_backward_hook(&net, HOOKED_MODULES, &looking, 0) == MODC_INDEX);
    forward();
    CHECK_OK(hooked_register_full_backward_hook(&net, HOOKED_HEAD, &looking,
                                                0)); /* for the next call: this one had no hook */
    CHECK(hooked_register_full_backward_hook(&net, HOOKED_HEAD, &looking, 0) == MODC_ARGUMENT);
    backward();
    CHECK(calls == 0);
    forward();
    CHECK_OK(hooked_register_full_backward_pre_hook(&net, HOOKED_HEAD, &other, 0)); /* that one had */
    backward();
    CHECK(calls == 2);
    modc_hook_remove(&looking);
    modc_hook_remove(&other);

    CHECK_OK(bare_bind(&bare_params, bare_block, sizeof bare_block));
    CHECK_OK(bare_init(&bare, &bare_params, bare_workspace, sizeof bare_workspace));
    CHECK(modc_register_full_backward_hook(&bare.base, BARE_ROOT, &looking, 0) == MODC_UNSUPPORTED);
    CHECK_OK(bare_register_forward_hook(&bare, BARE_ROOT, &looking, 0));
}

/* What was kept with hooks is read so, whatever is registered then. */
static void test_refusals(void)
{
    int calls = 0;
    struct modc_hook looking = {.call = look, .user = &calls}, refusing = {.call = refuse};
    struct hooked_training small;

    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_HEAD, &looking, 0));
    forward();
    modc_hook_remove(&looking);
    backward();
    CHECK(hooked_backward(&net, BATCH, dlogits, dshares, dx) == MODC_CONSUMED);
    forward();
    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_HEAD, &looking, 0));
    backward();

    hooked_set_grad_enabled(&net, false);
    forward();
    hooked_set_grad_enabled(&net, true);
    CHECK(hooked_backward(&net, BATCH, dlogits, dshares, dx) == MODC_CONSUMED && calls == 2);

    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_NORM, &refusing, 0));
    CHECK(hooked_forward(&net, BATCH, x, mask, logits, shares) == MODC_HOOK_ERROR &&
          net.base.fault_module == HOOKED_NORM);
    CHECK(hooked_backward(&net, BATCH, dlogits, dshares, dx) == MODC_CONSUMED);
    modc_hook_remove(&refusing);

    forward();
    CHECK(hooked_backward(&net, BATCH - 1, dlogits, dshares, dx) == MODC_SIZE);
    backward();
    modc_hook_remove(&looking);

    CHECK_OK(hooked_init(&net, &params, workspace, HOOKED_FENCED_BACKWARD_WORKSPACE_BYTES - 1));
    CHECK_OK(hooked_training_init(&small, &net, gradients, sizeof gradients));
    forward();
    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_HEAD, &looking, 0));
    CHECK(hooked_forward(&net, BATCH, x, mask, logits, shares) == MODC_WORKSPACE);
    modc_hook_remove(&looking);
}

static void test_busy(void)
{
    static struct inside inside;
    static const int modules[] = {HOOKED_ROOT, HOOKED_BLOCK_FC, HOOKED_TWICE};
    static struct gradients plain, now;
    double logits_before[LOGITS], shares_before[WIDE], dx_before[IN];
    int calls = 0;
    struct modc_hook looking = {.call = look, .user = &calls};

    CHECK_OK(hooked_init(&inside.own, &params, inside.workspace, sizeof inside.workspace));
    CHECK_OK(
        hooked_training_init(&inside.own_training, &inside.own, inside.gradients, sizeof inside.gradients));
    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_ROOT, &looking, 0));
    take_gradients(&plain);
    memcpy(logits_before, logits, sizeof logits);
    memcpy(shares_before, shares, sizeof shares);
    memcpy(dx_before, dx, sizeof dx);
    modc_hook_remove(&looking);
    for (int i = 0; i < 12; i++) {
        inside.hook = (struct modc_hook){.call = call_inside, .user = &inside};
        inside.calls = 0;
        switch (i % 4) {
        case 0:
            CHECK_OK(hooked_register_forward_pre_hook(&net, modules[i / 4], &inside.hook, 0));
            break;
        case 1:
            CHECK_OK(hooked_register_forward_hook(&net, modules[i / 4], &inside.hook, 0));
            break;
        case 2:
            CHECK_OK(hooked_register_full_backward_pre_hook(&net, modules[i / 4], &inside.hook, 0));
            break;
        default:
            CHECK_OK(hooked_register_full_backward_hook(&net, modules[i / 4], &inside.hook, 0));
        }
        take_gradients(&now);
        modc_hook_remove(&inside.hook);
        CHECK(inside.calls == (modules[i / 4] == HOOKED_TWICE ? 2 : 1));
        CHECK(same_gradients(&plain, &now));
        CHECK(memcmp(logits_before, logits, sizeof logits) == 0 &&
              memcmp(shares_before, shares, sizeof shares) == 0 && memcmp(dx_before, dx, sizeof dx) == 0);
    }
}

/* A call of which half would be of other weights; the next one is as if there had been none. */
static void test_weights_inside(void)
{
    struct modc_hook drawing = {.call = draw_weights};
    double before[LOGITS];

    forward();
    memcpy(before, logits, sizeof before);
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            CHECK_OK(hooked_register_forward_hook(&net, HOOKED_BLOCK, &drawing, 0));
        else
            CHECK_OK(hooked_register_full_backward_hook(&net, HOOKED_BLOCK, &drawing, 0));
        if (i == 0) {
            CHECK(hooked_forward(&net, BATCH, x, mask, logits, shares) == MODC_STALE);
        } else {
            forward();
            CHECK(hooked_backward(&net, BATCH, dlogits, dshares, dx) == MODC_STALE);
        }
        CHECK(net.base.fault_module == HOOKED_BLOCK);
        CHECK(hooked_backward(&net, BATCH, dlogits, dshares, dx) == MODC_CONSUMED);
        modc_hook_remove(&drawing);
        CHECK_OK(hooked_reset(&params, 3));
        CHECK_OK(hooked_pack(&params, NULL, 0));
        forward();
        CHECK(memcmp(before, logits, sizeof before) == 0);
    }
}

int main(void)
{
    CHECK_OK(hooked_bind(&params, block, sizeof block));
    CHECK_OK(hooked_reset(&params, 3));
    CHECK_OK(hooked_pack(&params, packed, sizeof packed));
    CHECK_OK(hooked_init(&net, &params, workspace, sizeof workspace));
    CHECK_OK(hooked_training_init(&training, &net, gradients, sizeof gradients));
    for (int i = 0; i < IN; i++)
        x[i] = sin(i * 1.7);
    for (int i = 0; i < LOGITS; i++) {
        dlogits[i] = cos(i * 2.3);
        target[i] = sin(i * 0.7);
    }
    for (int i = 0; i < WIDE; i++) {
        dshares[i] = sin(i * 0.9 + 1);
        mask[i] = i % 3 != 1;
    }
    test_values();
    test_steps();
    test_order();
    test_changes();
    test_failures();
    test_registration();
    test_busy();
    test_weights_inside();
    test_refusals();
    return 0;
}
