/* modc_driver_context.c - what is there before a call: weights, context, hooks, threads, instruction set. */
#include "modc_driver.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By kind. */
const struct hook_kind modc_driver_hooks[HOOK_KINDS] = {
    [MODC_HOOK_FORWARD_PRE] = {"--pre-hooks", modc_register_forward_pre_hook},
    [MODC_HOOK_FORWARD] = {"--hooks", modc_register_forward_hook},
    [MODC_HOOK_BACKWARD_PRE] = {"--backward-pre-hooks", modc_register_full_backward_pre_hook},
    [MODC_HOOK_BACKWARD] = {"--backward-hooks", modc_register_full_backward_hook},
};

int modc_driver_prepare_weights(struct run *run)
{
    const struct modc_model *model = run->model;
    const char *path = run->options.weights;
    enum modc_status status = modc_params_create(model, &run->params);

    if (status != MODC_OK)
        return modc_driver_fail(EXIT_BUG, model->name, "%s", modc_status_text(status));
    if (path != NULL) {
        struct modc_report *report = modc_driver_zeroed(1, sizeof *report);

        status = modc_load(run->params, path, MODC_STRICT, report);
        if (status == MODC_FILE) {
            modc_driver_fail(EXIT_FILES, path, "%s", modc_driver_unreadable());
        } else if (status != MODC_OK) {
            modc_driver_print_report(path, report);
        }
        free(report);
        if (status != MODC_OK)
            return EXIT_FILES;
    } else if (model->bind_embedded != NULL) {
        memset(run->params, 0, model->params_bytes);
        status = model->bind_embedded(run->params);
    } else {
        status = modc_reset(run->params, run->options.seed);
    }
    if (status == MODC_OK && (path != NULL || model->bind_embedded == NULL))
        status = modc_pack(run->params, NULL, 0);
    return status == MODC_OK ? EXIT_OK
                             : modc_driver_fail(EXIT_BUG, model->name, "%s", modc_status_text(status));
}

enum { BUFFER_HEAD = 64 };

/* Memory for a value that lasts until the call ends. A device's is filled from the host's and read back into it. */
static enum modc_status new_buffer(struct scale *scale, const struct modc_device *device, size_t bytes,
                                   struct buffer **made)
{
    enum modc_status status = MODC_OK;
    void *block;

    if (posix_memalign(&block, 64, BUFFER_HEAD + bytes) != 0)
        return MODC_MEMORY;
    *made = block;
    (*made)->next = *scale->buffers;
    (*made)->on_device = NULL;
    *scale->buffers = *made;
    if (device != NULL)
        status = device->allocate(&(*made)->on_device, bytes);
    return status;
}

static enum modc_status run_scale(struct modc_hook_call *call)
{
    struct scale *scale = call->user;
    const struct {
        struct modc_tensor *tensors;
        int count;
    } changed[] = {[MODC_HOOK_FORWARD_PRE] = {call->inputs, call->input_count},
                   [MODC_HOOK_FORWARD] = {call->outputs, call->output_count},
                   [MODC_HOOK_BACKWARD_PRE] = {call->grad_outputs, call->grad_output_count},
                   [MODC_HOOK_BACKWARD] = {call->grad_inputs, call->grad_input_count}};
    struct modc_tensor *tensor = changed[scale->hook.kind].tensors;
    int count = changed[scale->hook.kind].count;

    for (; count > 0 && tensor->data == NULL; count--) /* of what has a gradient */
        tensor++;
    if (scale->identity || count == 0)
        return MODC_OK;

    const enum modc_dtype part = modc_dtype_part(tensor->dtype);
    size_t bytes = modc_tensor_bytes(tensor), each = modc_dtype_bytes(part);
    bool real = modc_converts(MODC_FLOAT32, part) && part != MODC_FLOAT64;
    double factor = real ? (double)(float)scale->factor : scale->factor;
    const struct modc_device *device = call->model->device;
    struct buffer *buffer;

    MODC_TRY(new_buffer(scale, device, bytes, &buffer));

    char *to = (char *)buffer + BUFFER_HEAD, *from = tensor->data;

    if (device != NULL) {
        MODC_TRY(device->copy(call->context, to, from, bytes));
        from = to;
    }

    for (size_t at = 0; at < bytes; at += each)
        modc_store(to + at, part, modc_number(from + at, part) * factor);
    tensor->data = to;
    if (device != NULL) {
        MODC_TRY(device->copy(call->context, buffer->on_device, to, bytes));
        tensor->data = buffer->on_device;
    }
    return MODC_OK;
}

static int register_hook(struct run *run, int index)
{
    static const char kind[] = "scale:";
    const struct hook_option *option = &run->options.hooks[index];
    struct scale *scale = &run->scales[index];
    const char *equals = strrchr(option->text, '=');
    char path[NAME] = "";
    int module = 0;

    scale->hook.call = run_scale;
    scale->hook.user = scale;
    scale->buffers = &run->buffers;
    scale->identity = strcmp(option->text, "fence") == 0;
    if (!scale->identity) {
        if (equals == NULL || (size_t)(equals - option->text) >= sizeof path ||
            strncmp(equals + 1, kind, sizeof kind - 1) != 0 ||
            !modc_driver_parse_real(equals + sizeof kind, &scale->factor))
            return modc_driver_fail(EXIT_USAGE, "modc", "a hook is 'fence' or MODULE=scale:NUMBER, not '%s'",
                                    option->text);
        memcpy(path, option->text, (size_t)(equals - option->text));
        if (modc_get_submodule(run->model, path, &module) != MODC_OK)
            return modc_driver_fail(EXIT_USAGE, "modc", "%s has no module '%s'", run->model->name, path);
    }

    enum modc_status status = modc_driver_hooks[option->kind].add(run->net, module, &scale->hook, 0);

    return status == MODC_OK
               ? EXIT_OK
               : modc_driver_fail(EXIT_USAGE, "modc", "%s: %s", modc_driver_hooks[option->kind].option,
                                  modc_status_text(status));
}

/* Copies the first tensor that there is. */
static enum modc_status run_keep(struct modc_hook_call *call)
{
    struct kept *kept = call->user;
    const struct modc_device *device = call->model->device;
    const struct modc_tensor *tensor = call->outputs;

    if (call->output_count == 0 || tensor->data == NULL)
        return MODC_OK;

    const size_t bytes = modc_tensor_bytes(tensor);
    void *to = kept->tensor.tensor.data;

    if (bytes > kept->room || to == NULL) {
        free(to);
        to = modc_driver_zeroed(bytes, 1);
        kept->room = bytes;
    }
    kept->tensor.tensor = *tensor;
    kept->tensor.tensor.data = to;
    kept->tensor.name = call->path;
    if (device != NULL)
        return device->copy(call->context, to, tensor->data, bytes);
    memcpy(to, tensor->data, bytes);
    return MODC_OK;
}

/* The model's own outputs are those of --outputs. */
static enum modc_status keep_modules(struct run *run)
{
    run->kept = modc_driver_zeroed((size_t)run->model->module_count, sizeof run->kept[0]);
    for (int i = 1; i < run->model->module_count; i++) {
        run->kept[i].hook.call = run_keep;
        run->kept[i].hook.user = &run->kept[i];
        MODC_TRY(modc_register_forward_hook(run->net, i, &run->kept[i].hook, 0));
    }
    return MODC_OK;
}

/* With something that is no number it is from -infinity to infinity. */
static enum modc_status see_range(struct modc_hook_call *call, struct ranges *ranges, struct range *range,
                                  const struct modc_tensor *tensors, int count)
{
    const struct modc_device *device = call->model->device;
    const float *from = count > 0 ? tensors->data : NULL;
    size_t numbers;

    if (from == NULL || tensors->dtype != MODC_FLOAT32)
        return MODC_OK;
    numbers = modc_tensor_bytes(tensors) / sizeof *from;
    if (device != NULL) {
        free(ranges->copy);
        ranges->copy = modc_driver_zeroed(numbers + 1, sizeof *from);
        MODC_TRY(device->copy(call->context, ranges->copy, from, numbers * sizeof *from));
        from = ranges->copy;
    }
    for (size_t i = 0; i < numbers; i++) {
        const bool number = !isnan(from[i]);

        range->bounds[0] = fminf(range->bounds[0], number ? from[i] : -INFINITY);
        range->bounds[1] = fmaxf(range->bounds[1], number ? from[i] : INFINITY);
    }
    return MODC_OK;
}

static enum modc_status see_input(struct modc_hook_call *call)
{
    struct ranges *ranges = call->user;

    return see_range(call, ranges, &ranges->input, call->inputs, call->input_count);
}

static enum modc_status see_output(struct modc_hook_call *call)
{
    struct ranges *ranges = call->user;

    ranges->calls++;
    return see_range(call, ranges, &ranges->output, call->outputs, call->output_count);
}

static char *range_name(const char *path, const char *suffix)
{
    char *name = modc_driver_zeroed(strlen(path) + strlen(suffix) + 1, 1);

    strcpy(name, path);
    return strcat(name, suffix);
}

static enum modc_status see_ranges(struct run *run)
{
    run->ranges = modc_driver_zeroed((size_t)run->model->module_count, sizeof run->ranges[0]);
    for (int i = 1; i < run->model->module_count; i++) {
        struct ranges *own = &run->ranges[i];
        const char *path = run->model->modules[i].path;

        own->input.bounds[0] = own->output.bounds[0] = INFINITY;
        own->input.bounds[1] = own->output.bounds[1] = -INFINITY;
        own->input.name = range_name(path, ":input");
        own->output.name = range_name(path, "");
        own->before.call = see_input;
        own->behind.call = see_output;
        own->before.user = own->behind.user = own;
        MODC_TRY(modc_register_forward_pre_hook(run->net, i, &own->before, 0));
        MODC_TRY(modc_register_forward_hook(run->net, i, &own->behind, 0));
    }
    return MODC_OK;
}

int modc_driver_prepare_context(struct run *run)
{
    enum modc_status status = modc_create(run->model, run->params, 0, &run->net);

    if (status != MODC_OK)
        return modc_driver_fail(EXIT_BUG, run->model->name, "%s", modc_status_text(status));
    modc_seed(run->net, run->options.seed);
    modc_train(run->net, run->options.train);
    if (run->options.backward || run->options.steps > 0) {
        bool steps = run->options.steps > 0;
        size_t bytes = steps ? run->model->training_block : run->model->gradient_block;

        run->training = modc_driver_zeroed(1, run->model->training_bytes);
        if (run->model->device != NULL ? run->model->device->allocate(&run->gradient_block, bytes) != MODC_OK
                                       : posix_memalign(&run->gradient_block, 64, bytes) != 0)
            return modc_driver_fail(EXIT_BUG, "modc", "out of memory");
        status = (steps ? run->model->training_init : modc_training_init)(run->training, run->net,
                                                                          run->gradient_block, bytes);
        if (status != MODC_OK)
            return modc_driver_fail(EXIT_BUG, run->model->name, "%s", modc_status_text(status));
    }
    if (run->options.modules != NULL && (status = keep_modules(run)) != MODC_OK)
        return modc_driver_fail(EXIT_USAGE, "modc", "--modules: %s", modc_status_text(status));
    if (run->options.ranges != NULL && (status = see_ranges(run)) != MODC_OK)
        return modc_driver_fail(EXIT_USAGE, "modc", "--ranges: %s", modc_status_text(status));
    for (int i = 0; i < run->options.hook_count; i++) {
        int result = register_hook(run, i);

        if (result != EXIT_OK)
            return result;
    }
    return EXIT_OK;
}

int modc_driver_start_threads(struct run *run)
{
    int threads = run->options.threads;
    enum modc_status status;
    long processors = 1;

#if defined _SC_NPROCESSORS_ONLN
    processors = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    if (run->model->threads == 0) {
        if (threads > 1)
            fprintf(stderr, "modc: note: no step of %s is split, so that it runs on one thread\n",
                    run->model->name);
        return EXIT_OK;
    }
    if (threads == 0) {
        threads = run->model->threads < MODC_POOL_THREADS ? run->model->threads : MODC_POOL_THREADS;
        if (processors >= 1 && processors < threads)
            threads = (int)processors;
    }
    status = modc_pool_create(threads, &run->pool);
    if (status == MODC_OK)
        status = modc_set_executor(run->net, run->pool);
    if (status != MODC_OK)
        return modc_driver_fail(EXIT_BUG, run->model->name, "%d threads: %s", threads,
                                modc_status_text(status));
    return EXIT_OK;
}

int modc_driver_choose_isa(struct run *run)
{
    const char *name = run->options.isa;
    enum modc_status status;

    if (name == NULL || strcmp(name, "best") == 0)
        return EXIT_OK;
    status = modc_set_isa(run->net, name);
    if (status == MODC_OK)
        return EXIT_OK;
    return modc_driver_fail(EXIT_USAGE, "modc",
                            status == MODC_UNSUPPORTED ? "--dispatch %s: this machine does not have it"
                                                       : "--dispatch %s: %s is not compiled for it",
                            name, run->model->name);
}
