/* modc_driver_options.c - the command line of the driver. */
#include "modc_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "options:\n"
    "  --weights FILE    safetensors with the state_dict (else: embedded weights, or drawn from the seed)\n"
    "  --inputs FILE     one tensor for each input (else: random ones, at the maxima of the sizes)\n"
    "  --outputs FILE    writes one tensor for each output\n"
    "  --modules FILE    writes what each module returned last, its first tensor, by its path\n"
    "  --ranges FILE     writes from where to where what each module is given and returns is\n"
    "  --state FILE      writes the state_dict after the calls\n"
    "  --expect FILE     compares the outputs that the file has\n"
    "  --entry NAME      which entry to call (else: forward)\n"
    "  --train           training mode\n"
    "  --backward        gradients too: inputs may have grad.OUTPUT (else: zero), outputs get grad.INPUT and grad.KEY\n"
    "  --steps N         N steps of training on the same batch; the output is the loss of the last one\n"
    "  --seed N          of initial weights, dropout and random inputs (else: 0)\n"
    "  --sequence        inputs have one dimension more in front: as many calls, whose outputs are stacked\n"
    "  --repeat N        calls N times (with --time: measures N times)\n"
    "  --time            prints how long a call takes\n"
    "  --threads N       runs on N threads (else: those of the spec, as far as there are processors)\n"
    "  --dispatch NAME   runs on this instruction set (else: on the best that the machine has)\n"
    "  --rtol X --atol X tolerances, relative to the largest expected value and absolute\n"
    "  --hooks MODULE=scale:X, --pre-hooks MODULE=scale:X\n"
    "                    multiplies a module's first output, or input, by X\n"
    "  --backward-hooks MODULE=scale:X, --backward-pre-hooks MODULE=scale:X\n"
    "                    multiplies the gradient of a module's first input, or output, by X\n"
    "  --generate TEXT, --tokens IDS\n"
    "                    continues a prompt, for which the model has `generation:`; several are a batch\n"
    "  --option NAME=VALUE\n"
    "                    of that: max_new_tokens=64, temperature=0.8, ...\n"
    "  --hooks fence     a hook that does nothing, so that the fenced variant runs\n";

bool modc_driver_parse_real(const char *text, double *out)
{
    char *end;

    errno = 0;
    *out = strtod(text, &end);
    return *text != '\0' && *end == '\0' && errno == 0;
}

static bool parse_whole(const char *text, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

/* Takes one option with its value. False: the value is wrong, or there is no such option. */
static bool set_option(struct options *o, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **text;
    } texts[] = {{"--weights", &o->weights}, {"--inputs", &o->inputs}, {"--outputs", &o->outputs},
                 {"--state", &o->state},     {"--expect", &o->expect}, {"--entry", &o->entry},
                 {"--dispatch", &o->isa},    {"--system", &o->system}, {"--modules", &o->modules},
                 {"--ranges", &o->ranges}};
    uint64_t number;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].text = value;
            return true;
        }
    }
    for (size_t i = 0; i < HOOK_KINDS; i++) {
        if (strcmp(name, modc_driver_hooks[i].option) != 0)
            continue;
        if (o->hook_count == MAX_HOOKS)
            return false;
        o->hooks[o->hook_count++] = (struct hook_option){value, (enum modc_hook_kind)i};
        return true;
    }
    if (strcmp(name, "--generate") == 0 || strcmp(name, "--tokens") == 0) {
        if (o->prompt_count == MAX_PROMPTS)
            return false;
        o->prompts[o->prompt_count++] = (struct prompt_option){value, name[2] == 't'};
        return true;
    }
    if (strcmp(name, "--option") == 0) {
        if (o->setting_count == MAX_SETTINGS)
            return false;
        o->settings[o->setting_count++] = value;
        return true;
    }
    if (strcmp(name, "--seed") == 0)
        return parse_whole(value, &o->seed);
    if (strcmp(name, "--rtol") == 0)
        return modc_driver_parse_real(value, &o->rtol) && o->rtol >= 0.0;
    if (strcmp(name, "--atol") == 0)
        return modc_driver_parse_real(value, &o->atol) && o->atol >= 0.0;
    if (strcmp(name, "--repeat") == 0 && parse_whole(value, &number) && number > 0 && number <= 1000000000u) {
        o->repeat = (long)number;
        return true;
    }
    if (strcmp(name, "--steps") == 0 && parse_whole(value, &number) && number > 0 && number <= 1000000000u) {
        o->steps = (long)number;
        return true;
    }
    if (strcmp(name, "--threads") == 0 && parse_whole(value, &number) && number > 0 &&
        number <= MODC_POOL_THREADS) {
        o->threads = (int)number;
        return true;
    }
    return false;
}

int modc_driver_parse_options(struct options *o, int count, char **arguments)
{
    static const char *const with_value[] = {"--weights",  "--inputs",         "--outputs",
                                             "--state",    "--expect",         "--entry",
                                             "--hooks",    "--pre-hooks",      "--seed",
                                             "--rtol",     "--atol",           "--repeat",
                                             "--threads",  "--dispatch",       "--steps",
                                             "--generate", "--tokens",         "--option",
                                             "--system",   "--backward-hooks", "--backward-pre-hooks",
                                             "--modules",  "--ranges"};
    const size_t known = sizeof with_value / sizeof with_value[0];

    memset(o, 0, sizeof *o);
    o->rtol = o->atol = -1.0;
    for (int i = 1; i < count; i++) {
        char name[32];
        const char *text = arguments[i], *equals = strchr(text, '=');
        size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text), k = 0;

        if (length >= sizeof name)
            return modc_driver_fail(EXIT_USAGE, "modc", "no option %s\n%s", text, usage);
        memcpy(name, text, length);
        name[length] = '\0';
        while (k < known && strcmp(name, with_value[k]) != 0)
            k++;
        if (k == known) {
            bool *flag = strcmp(text, "--train") == 0      ? &o->train
                         : strcmp(text, "--time") == 0     ? &o->time
                         : strcmp(text, "--sequence") == 0 ? &o->sequence
                         : strcmp(text, "--backward") == 0 ? &o->backward
                         : strcmp(text, "--chat") == 0     ? &o->chat
                                                           : NULL;

            if (flag == NULL)
                return modc_driver_fail(EXIT_USAGE, "modc", "no option %s\n%s", text, usage);
            *flag = true;
            continue;
        }
        if (equals == NULL && i + 1 == count)
            return modc_driver_fail(EXIT_USAGE, "modc", "%s needs a value", name);

        const char *value = equals != NULL ? equals + 1 : arguments[++i];

        if (!set_option(o, name, value))
            return modc_driver_fail(EXIT_USAGE, "modc", "%s cannot be '%s'", name, value);
    }
    return EXIT_OK;
}
