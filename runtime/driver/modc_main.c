/* modc_main.c - the driver: runs one entry of one model on tensors from files. It is what `modc run` builds,
 * and serves vectors and benchmarks, through struct modc_model alone: compiled with -DMODC_MODEL=NAME_model, with
 * the other files of its folder, the runtime and the model. Only this file asks for the model's name.
 *
 * Messages go to stderr, results to stdout. Exit status: 0 done, 2 the command line, 3 a file, its shapes or
 * the indices in it, 4 numbers differ, 6 a fault of modc itself, 7 there is no device that the model runs on. */
#include "modc_driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MODC_MODEL
#error "compile with -DMODC_MODEL=NAME_model"
#endif
extern const struct modc_model MODC_MODEL;

static int find_entry(struct run *run)
{
    const struct modc_model *model = run->model;
    const char *name = run->options.steps > 0       ? "loss"
                       : run->options.entry != NULL ? run->options.entry
                                                    : "forward";
    int index = 0;

    if (run->options.steps > 0 && model->train_step == NULL)
        return modc_driver_fail(EXIT_USAGE, model->name, "the spec has no 'training'");

    if (modc_get_entry(model, name, &index) != MODC_OK &&
        (run->options.entry != NULL || model->entry_count == 0)) {
        modc_driver_fail(EXIT_USAGE, "modc", "%s has no entry '%s'", model->name, name);
        for (int i = 0; i < model->entry_count; i++)
            fprintf(stderr, "%s %s", i == 0 ? "hint: it has" : ",", model->entries[i].name);
        fputc('\n', stderr);
        return EXIT_USAGE;
    }
    run->entry = &model->entries[index];
    run->sizes = modc_driver_zeroed((size_t)model->size_count, sizeof run->sizes[0]);
    run->size_by = modc_driver_zeroed((size_t)model->size_count, sizeof run->size_by[0]);
    run->sizes_by_step = modc_driver_zeroed((size_t)model->size_count, sizeof run->sizes_by_step[0]);
    run->inputs = modc_driver_zeroed((size_t)run->entry->input_count, sizeof run->inputs[0]);
    run->outputs = modc_driver_zeroed((size_t)run->entry->output_count, sizeof run->outputs[0]);
    run->in = modc_driver_zeroed(2 * (size_t)run->entry->input_count, sizeof run->in[0]);
    run->out = modc_driver_zeroed(2 * (size_t)run->entry->output_count, sizeof run->out[0]);
    if (!run->options.backward)
        return EXIT_OK;
    if (run->entry->backward == NULL)
        return modc_driver_fail(EXIT_USAGE, model->name, "it was generated without gradients");
    run->output_gradients = modc_driver_zeroed((size_t)run->entry->output_count,
                                               sizeof run->output_gradients[0]);
    run->input_gradients = modc_driver_zeroed((size_t)run->entry->input_count,
                                              sizeof run->input_gradients[0]);
    run->out_gradients = modc_driver_zeroed(2 * (size_t)run->entry->output_count,
                                            sizeof run->out_gradients[0]);
    run->in_gradients = modc_driver_zeroed(2 * (size_t)run->entry->input_count, sizeof run->in_gradients[0]);
    for (int i = 0; i < run->entry->output_count; i++)
        run->output_gradients[i].name = modc_driver_gradient_name(run->entry->outputs[i].name);
    for (int i = 0; i < run->entry->input_count; i++)
        run->input_gradients[i].name = modc_driver_gradient_name(run->entry->inputs[i].name);
    return EXIT_OK;
}

static int find_device(const struct run *run)
{
    const struct modc_device *device = run->model->device;
    const char *text = "";

    if (device == NULL || device->find(&text) == MODC_OK)
        return EXIT_OK;
    modc_driver_fail(EXIT_DEVICE, run->model->name, "there is no GPU for it: %s", text);
    fprintf(stderr, "hint: modc run --emulate runs it on this processor\n");
    return EXIT_DEVICE;
}

/* Everything that reads comes before everything that writes; the clock comes last, because its calls go on
 * with the state that the asked ones left. */
static int run_all(struct run *run)
{
    int status = find_entry(run);

    if (status == EXIT_OK)
        status = find_device(run);
    const bool writes = run->options.prompt_count > 0 || run->options.chat;

    if (status == EXIT_OK && !writes)
        status = modc_driver_prepare_inputs(run);
    if (status == EXIT_OK)
        status = modc_driver_prepare_weights(run);
    if (status == EXIT_OK)
        status = modc_driver_prepare_context(run);
    if (status == EXIT_OK)
        status = modc_driver_choose_isa(run);
    if (status == EXIT_OK)
        status = modc_driver_start_threads(run);
    if (status == EXIT_OK && writes)
        status = run->options.chat ? modc_driver_chat(run) : modc_driver_generate(run);
    if (status == EXIT_OK && !writes)
        status = modc_driver_call(run);
    if (status == EXIT_OK && !writes)
        modc_driver_gather_results(run);
    if (status == EXIT_OK && !writes && run->options.outputs != NULL)
        status = modc_driver_write_outputs(run);
    if (status == EXIT_OK && !writes && run->options.modules != NULL)
        status = modc_driver_write_modules(run);
    if (status == EXIT_OK && !writes && run->options.ranges != NULL)
        status = modc_driver_write_ranges(run);
    if (status == EXIT_OK && run->options.state != NULL)
        status = modc_driver_write_state(run);
    if (status != EXIT_OK || writes)
        return status;

    int differ = run->options.expect != NULL ? modc_driver_check_expected(run) : EXIT_OK;

    if (run->options.time && (differ == EXIT_OK || differ == EXIT_DIFFER))
        status = modc_driver_measure(run);
    return differ != EXIT_OK ? differ : status;
}

static void free_gradients(struct run *run)
{
    for (int i = 0; run->output_gradients != NULL && i < run->entry->output_count; i++) {
        free(run->output_gradients[i].tensor.data);
        free((void *)(uintptr_t)run->output_gradients[i].name);
    }
    for (int i = 0; run->input_gradients != NULL && i < run->entry->input_count; i++) {
        free(run->input_gradients[i].tensor.data);
        free((void *)(uintptr_t)run->input_gradients[i].name);
    }
    for (int i = run->named_from; i < run->result_count; i++)
        free((void *)(uintptr_t)run->results[i].name);
    free(run->results);
    free(run->output_gradients);
    free(run->input_gradients);
    free(run->out_gradients);
    free(run->in_gradients);
    free(run->training);
    if (run->gradient_block != NULL && run->model->device != NULL)
        run->model->device->release(run->gradient_block);
    else
        free(run->gradient_block);
}

static void free_all(struct run *run)
{
    for (int i = 0; run->entry != NULL && i < run->entry->input_count; i++)
        free(run->inputs[i].tensor.data);
    for (int i = 0; run->entry != NULL && i < run->entry->output_count; i++)
        free(run->outputs[i].tensor.data);
    free_gradients(run);
    for (int i = 0; run->sizes_by_step != NULL && i < run->model->size_count; i++)
        free(run->sizes_by_step[i]);
    free(run->sizes_by_step);
    free(run->sizes);
    free(run->size_by);
    free(run->inputs);
    free(run->outputs);
    free(run->in);
    free(run->out);
    for (int i = 0; run->kept != NULL && i < run->model->module_count; i++)
        free(run->kept[i].tensor.tensor.data);
    modc_destroy(run->net);
    free(run->kept);
    for (int i = 0; run->ranges != NULL && i < run->model->module_count; i++) {
        free(run->ranges[i].copy);
        free(run->ranges[i].input.name);
        free(run->ranges[i].output.name);
    }
    free(run->ranges);
    modc_pool_destroy(run->pool);
    modc_params_destroy(run->params);
}

int main(int count, char **arguments)
{
    struct run *run = modc_driver_zeroed(1, sizeof *run);
    int status;

    run->model = &MODC_MODEL;
    if (run->model->abi != MODC_ABI)
        status = modc_driver_fail(EXIT_BUG, run->model->name, "it was written for another modc runtime");
    else
        status = modc_driver_parse_options(&run->options, count, arguments);
    if (status == EXIT_OK)
        status = run_all(run);
    free_all(run);
    free(run);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK)
        status = modc_driver_fail(EXIT_FILES, "stdout", "%s", strerror(errno));
    return status;
}
