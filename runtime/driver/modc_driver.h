/* modc_driver.h - what the pieces of the driver (modc_main.c) know of a run. A function that several of them call is
 * named modc_driver_ although nobody else sees it: a model may have any other name. */
#ifndef MODC_DRIVER_H
#define MODC_DRIVER_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "modc_device.h"

enum { EXIT_OK = 0, EXIT_USAGE = 2, EXIT_FILES = 3, EXIT_DIFFER = 4, EXIT_BUG = 6, EXIT_DEVICE = 7 };
enum {
    MAX_HOOKS = 64,
    MAX_PROMPTS = 256,
    MAX_SETTINGS = 64,
    NAME = 256,
    HOOK_KINDS = MODC_HOOK_BACKWARD + 1
};

struct hook_option {
    const char *text;
    enum modc_hook_kind kind;
};

struct prompt_option {
    const char *text;
    bool ids; /* it is a list of them */
};

struct options {
    const char *weights, *inputs, *outputs, *modules, *ranges, *state, *expect, *entry,
        *isa; /* isa NULL: the best one */
    bool train, time, sequence, backward;
    uint64_t seed;
    double rtol, atol; /* negative: not given */
    long repeat;       /* 0: not given */
    long steps;        /* 0: none */
    int threads;       /* 0: not given */
    struct hook_option hooks[MAX_HOOKS];
    int hook_count;
    struct prompt_option prompts[MAX_PROMPTS]; /* --generate, --tokens */
    int prompt_count;
    bool chat;
    const char *system;                 /* --system; or NULL */
    const char *settings[MAX_SETTINGS]; /* --option */
    int setting_count;
};

struct hook_kind {
    const char *option;
    enum modc_status (*add)(struct modc_context *net, int module, struct modc_hook *hook, unsigned flags);
};

/* A hook of the command line: the identity, or one that multiplies a module's first tensor. */
struct scale {
    struct modc_hook hook;
    bool identity;
    double factor;
    struct buffer **buffers;
};

/* What a module returned last, first tensor, for --modules. */
struct kept {
    struct modc_hook hook;
    struct modc_named_tensor tensor; /* of name NULL: it returned nothing yet */
    size_t room;
};

/* From where to where numbers are, for --ranges; nothing yet where least is above most. */
struct range {
    float bounds[2];
    char *name; /* its own */
};
struct ranges {
    struct modc_hook before, behind;
    struct range input,
        output; /* first tensors, of float32; a module that is called twice returns what has no one range */
    int calls;
    float *copy; /* of a device */
};

/* Memory that hooks gave values; lives until the call ends. */
struct buffer {
    struct buffer *next;
    void *on_device; /* or NULL: it lies behind this */
};

struct run {
    const struct modc_model *model;
    const struct modc_entry *entry;
    struct options options;
    struct modc_params *params;
    struct modc_context *net;
    struct modc_executor *pool; /* or NULL */
    struct scale scales[MAX_HOOKS];
    struct kept *kept;     /* --modules: by module; else NULL */
    struct ranges *ranges; /* --ranges: the same */
    struct buffer *buffers;
    int steps;           /* --sequence: calls in a row; otherwise 1 */
    int *sizes;          /* of the model; -1: not known yet */
    int *size_by;        /* which input gave it, or -1 */
    int **sizes_by_step; /* by size: what the inputs' file says of it by its name; NULL: nothing */
    struct modc_named_tensor *inputs, *outputs; /* with the steps in front, if there are any */
    /* outputs and, with --backward, gradients of inputs and of parameters */
    struct modc_named_tensor *results;
    int result_count, named_from;   /* from there on the names are their own */
    struct modc_training *training; /* --backward */
    void *gradient_block;
    struct modc_named_tensor *output_gradients, *input_gradients;
    const void **out_gradients; /* of one call; with room for as many pointers of a device, as all of these */
    void **in_gradients;
    double largest_gradient; /* of those that are expected */
    const void **in;         /* of one call */
    void **out;
};

/* ---- modc_driver.c ---- */

/* Prints "where: error: ..." and returns status. */
int modc_driver_fail(int status, const char *where, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* Without memory the program ends. */
void *modc_driver_zeroed(size_t count, size_t bytes);
/* "grad.weight"; the caller frees it. */
const char *modc_driver_gradient_name(const char *name);
const char *modc_driver_dtype_name(enum modc_dtype dtype);
/* "[3, 5]", into NAME bytes. */
void modc_driver_shape_text(const struct modc_item *item, char *out);
/* The elements of a tensor. */
size_t modc_driver_count(const struct modc_tensor *tensor);
/* Why modc_map or modc_load gave MODC_FILE just now. */
const char *modc_driver_unreadable(void);
/* Maps a file and checks that it is safetensors. On success the caller unmaps reader->bytes. */
int modc_driver_open_file(const char *path, struct modc_reader *reader);
/* Prints what is wrong with a file. */
void modc_driver_print_report(const char *path, const struct modc_report *report);

/* ---- the steps of a run, in their order; all return an exit status ---- */

/* modc_driver_options.c */
int modc_driver_parse_options(struct options *o, int count, char **arguments);
bool modc_driver_parse_real(const char *text, double *out);

/* modc_driver_inputs.c: sizes and steps become known; inputs, outputs and their gradients are there. */
int modc_driver_prepare_inputs(struct run *run);
/* run->sizes as the file has them for this step. */
void modc_driver_take_sizes(const struct run *run, int step);

/* modc_driver_context.c */
extern const struct hook_kind modc_driver_hooks[HOOK_KINDS]; /* by enum modc_hook_kind */
int modc_driver_prepare_weights(struct run *run);
int modc_driver_prepare_context(struct run *run);
int modc_driver_choose_isa(struct run *run);
int modc_driver_start_threads(struct run *run);

/* modc_driver_calls.c: the calls that are asked for; then those of --time, with one line about them. */
int modc_driver_call(struct run *run);
int modc_driver_measure(struct run *run);
/* Says what a call ended with, and where. */
int modc_driver_call_failed(const struct run *run, enum modc_status status);

/* modc_driver_generate.c: continues the prompts, or answers lines, in place of calls. */
int modc_driver_generate(struct run *run);
int modc_driver_chat(struct run *run);

/* modc_driver_results.c: outputs and, with --backward, the gradients that there are. */
void modc_driver_gather_results(struct run *run);
int modc_driver_write_tensors(const char *path, const struct modc_named_tensor *list, int count);
int modc_driver_write_outputs(const struct run *run);
int modc_driver_write_modules(const struct run *run);
int modc_driver_write_ranges(const struct run *run);
int modc_driver_write_state(const struct run *run);
/* EXIT_DIFFER where numbers are too far from those of --expect. */
int modc_driver_check_expected(struct run *run);

#endif
