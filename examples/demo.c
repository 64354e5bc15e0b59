/* demo.c - three networks that PyTorch trained, compiled to C: does the C give PyTorch's numbers, how fast is it, and
 * how large? scripts/demo_run.sh builds and runs it.
 *
 *     demo SPECS FLASH...     the folder specs/; for cnn, mlp and policy the bytes of weights and of code
 *
 * It uses the emitted functions as any program would: blocks in static memory, weights that are part of the program, no
 * allocation. The exit status is 1 where one number is wrong. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cnn.h"
#include "mlp.h"
#include "policy.h"

enum { IMAGES = 360, PIXELS = 64, DIGITS = 10, OBSERVATIONS = 256, STATES = 4, ACTIONS = 2 };
enum { SHOWN = 3, SHADES = 5, BAR = 14, GAP = 10 };

static const double tolerance = 1e-5; /* relative to the largest expected value */

/* ---- the models ------------------------------------------------------------------------------------------------ */

static struct cnn_params cnn_params;
static struct mlp_params mlp_params;
static struct policy_params policy_params;

static struct cnn cnn;
static struct mlp mlp;
static struct policy policy, actor; /* two contexts over the same weights */

static MODC_ALIGNED char cnn_workspace[CNN_WORKSPACE_BYTES];
static MODC_ALIGNED char mlp_workspace[MLP_WORKSPACE_BYTES];
static MODC_ALIGNED char policy_workspace[POLICY_WORKSPACE_BYTES];
static MODC_ALIGNED char actor_workspace[POLICY_ACT_WORKSPACE_BYTES];

static float policy_value[OBSERVATIONS];

static enum modc_status run_cnn(int batch, const float *image, float *logits)
{
    return cnn_forward(&cnn, batch, image, logits);
}

static enum modc_status run_mlp(int batch, const float *image, float *logits)
{
    return mlp_forward(&mlp, batch, image, logits);
}

static enum modc_status run_policy(int batch, const float *observation, float *logits)
{
    return policy_forward(&policy, batch, observation, logits, policy_value);
}

static enum modc_status run_act(int batch, const float *observation, float *logits)
{
    return policy_act(&actor, batch, observation, logits);
}

static void must(enum modc_status status, const char *what)
{
    if (status == MODC_OK)
        return;
    fprintf(stderr, "demo: %s: %s\n", what, modc_status_text(status));
    exit(1);
}

static void start_models(void)
{
    must(cnn_bind_embedded(&cnn_params), "weights of cnn");
    must(mlp_bind_embedded(&mlp_params), "weights of mlp");
    must(policy_bind_embedded(&policy_params), "weights of policy");
    must(cnn_init(&cnn, &cnn_params, cnn_workspace, sizeof cnn_workspace), "cnn");
    must(mlp_init(&mlp, &mlp_params, mlp_workspace, sizeof mlp_workspace), "mlp");
    must(policy_init(&policy, &policy_params, policy_workspace, sizeof policy_workspace), "policy");
    must(policy_init(&actor, &policy_params, actor_workspace, sizeof actor_workspace), "policy, entry act");
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

/* Stays mapped until the program ends. */
static struct modc_reader open_file(const char *folder, const char *name)
{
    struct modc_reader reader;
    const void *bytes;
    size_t length;
    char path[4096];

    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    must(modc_map(path, &bytes, &length), path);
    must(modc_reader_open(&reader, bytes, length, NULL), path);
    return reader;
}

/* A tensor of so many elements of that type; safetensors files hold numbers as the machine does. */
static const void *tensor(const struct modc_reader *reader, const char *name, enum modc_dtype dtype,
                          size_t count)
{
    struct modc_item item;

    if (modc_reader_find(reader, name, &item) && item.dtype == (int)dtype &&
        item.bytes == count * modc_dtype_bytes(dtype))
        return item.data;
    fprintf(stderr, "demo: the tensor %s is missing or of another shape\n", name);
    exit(1);
}

/* ---- one row of the table -------------------------------------------------------------------------------------- */

struct network {
    const char *name;
    enum modc_status (*run)(int batch, const float *input, float *output);
    int count, batch; /* inputs in the file; most of them in a call */
    int width, outputs;
    const float *input, *expected;
    const int64_t *labels; /* NULL: right is what PyTorch would choose */
    int right;             /* as many are right in PyTorch */
    long weights, code, workspace;
    float *output;
};

static int largest(const float *row, int count)
{
    int best = 0;

    for (int i = 1; i < count; i++)
        if (row[i] > row[best])
            best = i;
    return best;
}

/* The largest error, relative to the largest expected value; NaN where a value is NaN. */
static double error_of(const float *found, const float *expected, int count)
{
    double error = 0, scale = 0;

    for (int i = 0; i < count; i++) {
        const double difference = fabs((double)found[i] - (double)expected[i]);

        if (isnan(difference))
            return NAN;
        error = fmax(error, difference);
        scale = fmax(scale, fabs((double)expected[i]));
    }
    return error / scale;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Microseconds of one call: the median of samples of a millisecond or more each. */
static double time_of(const struct network *net, int batch)
{
    enum { SAMPLES = 31 };
    double samples[SAMPLES];
    float *scratch = net->output;
    int calls = 1;

    for (int i = 0; i < SAMPLES;) {
        const double start = now();

        for (int call = 0; call < calls; call++)
            must(net->run(batch, net->input, scratch), net->name);
        samples[i] = (now() - start) / calls;
        if (samples[i] * calls < 1000)
            calls *= 2; /* too short for the clock: measured again */
        else
            i++;
    }
    qsort(samples, SAMPLES, sizeof *samples, by_value);
    return samples[SAMPLES / 2];
}

static bool show_network(struct network *net)
{
    const double many = time_of(net, net->batch) / net->batch, one = net->batch > 1 ? time_of(net, 1) : many;
    double error;
    int right = 0;

    for (int at = 0; at < net->count; at += net->batch) {
        const int batch = net->count - at < net->batch ? net->count - at : net->batch;

        must(net->run(batch, net->input + at * net->width, net->output + at * net->outputs), net->name);
    }
    for (int i = 0; i < net->count; i++) {
        const int label = net->labels ? (int)net->labels[i]
                                      : largest(net->expected + i * net->outputs, net->outputs);

        right += largest(net->output + i * net->outputs, net->outputs) == label;
    }
    error = error_of(net->output, net->expected, net->count * net->outputs);

    char batch[24] = "-";

    if (net->batch > 1)
        snprintf(batch, sizeof batch, "%.3f (%d)", many, net->batch);
    printf("%-10s %3d of %3d right %8.1e %12s %6.3f %8ld %6ld %7ld\n", net->name, right, net->count, error,
           batch, one, net->weights, net->code, net->workspace);
    if (right != net->right)
        printf("            WRONG: %d of them are right in PyTorch\n", net->right);
    if (!(error <= tolerance))
        printf("            WRONG: the error is over %.0e\n", tolerance);
    return right == net->right && error <= tolerance;
}

/* ---- pictures -------------------------------------------------------------------------------------------------- */

static const char *const unicode_shades[SHADES] = {"  ", "░░", "▒▒", "▓▓", "██"};
static const char *const ascii_shades[SHADES] = {"  ", "..", "++", "%%", "@@"};

static bool has_unicode(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *value = NULL;

    for (int i = 0; i < 3 && (!value || !*value); i++)
        value = getenv(names[i]);
    return value && (strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "UTF8") ||
                     strstr(value, "utf-8"));
}

/* Images side by side, below them what the network says of each. */
static void show_images(const struct network *net, const int *shown)
{
    const char *const *shades = has_unicode() ? unicode_shades : ascii_shades;
    const bool colour = isatty(STDOUT_FILENO);

    for (int s = 0; s < SHOWN; s++)
        printf("  image %3d, labelled %d    ", shown[s], (int)net->labels[shown[s]]);
    printf("\n\n");
    for (int y = 0; y < 8; y++) {
        for (int s = 0; s < SHOWN; s++) {
            printf("%*s", s == 0 ? 2 : GAP, "");
            for (int x = 0; x < 8; x++)
                printf("%s", shades[(int)(net->input[shown[s] * PIXELS + y * 8 + x] * (SHADES - 1) + 0.5f)]);
        }
        printf("\n");
    }
    printf("\n");
    for (int digit = 0; digit < DIGITS; digit++) {
        for (int s = 0; s < SHOWN; s++) {
            const float *row = net->output + shown[s] * DIGITS;
            const bool best = digit == largest(row, DIGITS);
            float least = row[0], most = row[largest(row, DIGITS)];
            int bar;

            for (int i = 1; i < DIGITS; i++)
                least = fminf(least, row[i]);
            bar = (int)((row[digit] - least) / (most - least) * BAR + 0.5f);
            printf("  %s%d %-*.*s %5.1f%s  ", colour && best ? "\033[1m" : "", digit, BAR, bar,
                   "################", (double)row[digit], colour && best ? "\033[0m" : "");
        }
        printf("\n");
    }
    printf("\n");
    for (int s = 0; s < SHOWN; s++) {
        const int found = largest(net->output + shown[s] * DIGITS, DIGITS);
        const int pytorch = largest(net->expected + shown[s] * DIGITS, DIGITS);

        printf("  read as %d, by PyTorch %d  ", found, pytorch);
    }
    printf("\n");
}

/* Two that are right, and the first one that is not. */
static void choose_images(const struct network *net, int *shown)
{
    shown[0] = 0;
    shown[1] = 1;
    shown[2] = 2;
    for (int i = net->count - 1; i > 2; i--)
        if (largest(net->output + i * DIGITS, DIGITS) != net->labels[i])
            shown[2] = i;
}

int main(int argc, char **argv)
{
    static float cnn_logits[IMAGES * DIGITS], mlp_logits[IMAGES * DIGITS];
    static float policy_logits[OBSERVATIONS * ACTIONS], act_logits[OBSERVATIONS * ACTIONS];
    char folder[2][4000];
    long flash[6];
    bool right = true;

    if (argc != 8) {
        fprintf(stderr,
                "usage: demo SPECS CNN_WEIGHTS CNN_CODE MLP_WEIGHTS MLP_CODE POLICY_WEIGHTS POLICY_CODE\n");
        return 2;
    }
    snprintf(folder[0], sizeof folder[0], "%s/digits", argv[1]);
    snprintf(folder[1], sizeof folder[1], "%s/cartpole", argv[1]);
    for (int i = 0; i < 6; i++)
        flash[i] = strtol(argv[i + 2], NULL, 10);

    const struct modc_reader test = open_file(folder[0], "test"), digits = open_file(folder[0], "expect");
    const struct modc_reader seen = open_file(folder[1], "observations"),
                             wanted = open_file(folder[1], "expect");
    const float *images = tensor(&test, "images", MODC_FLOAT32, IMAGES * PIXELS);
    const float *observations = tensor(&seen, "observation", MODC_FLOAT32, OBSERVATIONS * STATES);
    const float *cnn_expected = tensor(&digits, "cnn", MODC_FLOAT32, IMAGES * DIGITS);
    const float *mlp_expected = tensor(&digits, "mlp", MODC_FLOAT32, IMAGES * DIGITS);
    const float *policy_expected = tensor(&wanted, "logits", MODC_FLOAT32, OBSERVATIONS * ACTIONS);
    const float *value_expected = tensor(&wanted, "value", MODC_FLOAT32, OBSERVATIONS);
    const int64_t *labels = tensor(&test, "labels", MODC_INT64, IMAGES);
    struct network networks[] = {
        {"cnn", run_cnn, IMAGES, CNN_MAX_BATCH, PIXELS, DIGITS, images, cnn_expected, labels, 359, flash[0],
         flash[1], CNN_WORKSPACE_BYTES, cnn_logits},
        {"mlp", run_mlp, IMAGES, MLP_MAX_BATCH, PIXELS, DIGITS, images, mlp_expected, labels, 353, flash[2],
         flash[3], MLP_WORKSPACE_BYTES, mlp_logits},
        {"policy", run_policy, OBSERVATIONS, POLICY_MAX_BATCH, STATES, ACTIONS, observations, policy_expected,
         NULL, OBSERVATIONS, flash[4], flash[5], POLICY_WORKSPACE_BYTES, policy_logits},
        {"policy act", run_act, OBSERVATIONS, POLICY_ACT_MAX_BATCH, STATES, ACTIONS, observations,
         policy_expected, NULL, OBSERVATIONS, flash[4], flash[5], POLICY_ACT_WORKSPACE_BYTES, act_logits},
    };
    double value_error;
    int shown[SHOWN];

    start_models();
    printf("                             largest microseconds each  bytes of flash   bytes\n"
           "                               error  in batches  alone  weights   code  of RAM\n");
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        right &= show_network(&networks[i]);
    value_error = error_of(policy_value, value_expected, OBSERVATIONS);
    right &= value_error <= tolerance;
    printf("\n"
           "right    as the image is labelled; for the policy, the action that PyTorch chooses\n"
           "error    of all outputs against PyTorch's, relative to the largest of them;\n"
           "         of the policy's second output, value: %.1e%s\n"
           "code     as compiled here, with the variants for hooks and for training mode\n"
           "RAM      the workspace of a call; inputs, outputs and stack are the caller's\n"
           "act      a second entry of the policy: one observation a call, the same weights\n",
           value_error, value_error <= tolerance ? "" : " WRONG");
    printf("\nThree of the images, and the ten scores that the cnn gives each:\n\n");
    choose_images(&networks[0], shown);
    show_images(&networks[0], shown);
    return right ? 0 : 1;
}
