/* modc_driver_inputs.c - tensors of inputs and outputs: their shapes by what a file has, the file's numbers or random ones. */
#include "modc_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "[batch, 4]", with "steps" in front for --sequence; a dimension that is an expression prints as its
 * maximum. */
static void expected_text(const struct run *run, const struct modc_io *io, char *out)
{
    int at = snprintf(out, NAME, "[%s", run->options.sequence ? io->ndim > 0 ? "steps, " : "steps" : "");

    for (int i = 0; i < io->ndim && at < NAME - 64; i++) {
        at += snprintf(out + at, (size_t)(NAME - at), "%s", i > 0 ? ", " : "");
        if (io->size_of[i] >= 0)
            at += snprintf(out + at, (size_t)(NAME - at), "%.40s", run->model->sizes[io->size_of[i]].name);
        else
            at += snprintf(out + at, (size_t)(NAME - at), "%s%d", io->size_of[i] == -2 ? "up to " : "",
                           io->max_dims[i]);
    }
    snprintf(out + at, (size_t)(NAME - at), "]");
}

/* Sets or checks the size that dimension `axis` of input `index` is. */
static int take_size(struct run *run, int index, int axis, uint64_t found)
{
    const struct modc_io *io = &run->entry->inputs[index];
    int size = io->size_of[axis], max = run->entry->max_sizes[size];
    const char *name = run->model->sizes[size].name, *file = run->options.inputs;

    if (found > (uint64_t)max)
        return modc_driver_fail(EXIT_FILES, file, "%s: dimension %d is %s = %llu, over its maximum %d",
                                io->name, axis, name, (unsigned long long)found, max);
    if (run->sizes[size] >= 0 && run->sizes[size] != (int)found)
        return modc_driver_fail(EXIT_FILES, file, "%s: dimension %d is %s = %llu, but %s has %s = %d",
                                io->name, axis, name, (unsigned long long)found,
                                run->entry->inputs[run->size_by[size]].name, name, run->sizes[size]);
    run->sizes[size] = (int)found;
    run->size_by[size] = index;
    return EXIT_OK;
}

static int check_input(struct run *run, int index, const struct modc_item *item)
{
    const struct modc_io *io = &run->entry->inputs[index];
    const char *file = run->options.inputs;
    int front = run->options.sequence ? 1 : 0;
    char expected[NAME], found[NAME];

    expected_text(run, io, expected);
    modc_driver_shape_text(item, found);
    if (item->dtype < 0 || !modc_converts(io->dtype, (enum modc_dtype)item->dtype))
        return modc_driver_fail(
            EXIT_FILES, file, "%s: expected dtype %s, found %s", io->name, modc_driver_dtype_name(io->dtype),
            item->dtype < 0 ? item->dtype_name : modc_driver_dtype_name((enum modc_dtype)item->dtype));
    if (item->ndim != io->ndim + front)
        return modc_driver_fail(EXIT_FILES, file, "%s: expected shape %s, found %s", io->name, expected,
                                found);
    if (front > 0) {
        if (item->dims[0] == 0 || item->dims[0] > 1000000000 ||
            (run->steps > 0 && item->dims[0] != (uint64_t)run->steps))
            return modc_driver_fail(EXIT_FILES, file,
                                    "%s: expected shape %s, found %s: the steps of all inputs must agree",
                                    io->name, expected, found);
        run->steps = (int)item->dims[0];
    }
    for (int i = 0; i < io->ndim; i++) {
        uint64_t dim = item->dims[i + front];

        if (io->size_of[i] >= 0) {
            int status = take_size(run, index, i, dim);

            if (status != EXIT_OK)
                return status;
        } else if (io->size_of[i] == -1 && dim != (uint64_t)io->max_dims[i]) {
            return modc_driver_fail(EXIT_FILES, file, "%s: expected shape %s, found %s", io->name, expected,
                                    found);
        }
    }
    return EXIT_OK;
}

/* Gives a tensor its shape for the sizes of this run, and memory. index as modc_shape takes
 * it. */
static void make_tensor(struct run *run, const struct modc_io *io, int index, struct modc_named_tensor *named)
{
    struct modc_tensor *tensor = &named->tensor;
    int dims[MODC_MAX_DIMS] = {0}, front = run->options.sequence ? 1 : 0;
    size_t bytes;

    modc_shape(run->entry, run->sizes, index, dims);
    named->name = io->name;
    tensor->dtype = io->dtype;
    tensor->ndim = io->ndim + front;
    if (front > 0)
        tensor->dims[0] = run->steps;
    for (int i = 0; i < io->ndim; i++) /* sizes that leave less than nothing are refused by the call */
        tensor->dims[i + front] = dims[i] < 0 ? 0 : dims[i];
    bytes = modc_tensor_bytes(tensor);
    if (posix_memalign(&tensor->data, 64, bytes > 0 ? bytes : 64) != 0) {
        modc_driver_fail(EXIT_BUG, "modc", "out of memory");
        exit(EXIT_BUG);
    }
    memset(tensor->data, 0xff, bytes); /* NaN: what a call forgets to write shows */
}

/* The same for the gradient of an input or output, whose name is there already. */
static void make_gradient(struct run *run, const struct modc_io *io, int index,
                          struct modc_named_tensor *named)
{
    const char *name = named->name;

    make_tensor(run, io, index, named);
    named->name = name;
}

static const struct modc_io *find_io(const struct modc_io *ios, int count, const struct modc_item *item)
{
    for (int i = 0; i < count; i++) {
        if (modc_item_is(item, ios[i].name))
            return &ios[i];
    }
    return NULL;
}

static int find_size(const struct run *run, const struct modc_item *item)
{
    for (int i = 0; i < run->model->size_count; i++) {
        if (modc_item_is(item, run->model->sizes[i].name))
            return i;
    }
    return -1;
}

/* A tensor that no entry takes is most likely a wrong name. */
static int check_names(const struct run *run, const struct modc_reader *reader)
{
    struct modc_item item;

    for (size_t at = 0; modc_reader_next(reader, &at, &item);) {
        bool known = find_size(run, &item) >= 0;
        char name[NAME];

        for (int i = 0; i < run->model->entry_count; i++) {
            const struct modc_entry *entry = &run->model->entries[i];

            known = known || find_io(entry->inputs, entry->input_count, &item) != NULL;
        }
        modc_item_name(&item, name, sizeof name);
        for (int i = 0; i < run->entry->output_count && run->options.backward; i++)
            known = known || modc_item_is(&item, run->output_gradients[i].name);
        if (!known)
            return modc_driver_fail(EXIT_FILES, run->options.inputs, "%s: no input has this name", name);
    }
    return EXIT_OK;
}

static bool fits(const struct run *run)
{
    return run->model->unmet == NULL || run->model->unmet(run->sizes) < 0;
}

/* Sizes that nothing gave: at their maxima, of which the largest are halved until calls take them. */
static void choose_sizes(struct run *run)
{
    const int count = run->model->size_count;
    bool *chosen = modc_driver_zeroed((size_t)count, sizeof chosen[0]);
    int largest = 0;

    for (int i = 0; i < count; i++) {
        chosen[i] = run->sizes[i] < 0;
        if (chosen[i])
            run->sizes[i] = run->entry->max_sizes[i];
    }
    while (largest >= 0 && !fits(run)) {
        largest = -1;
        for (int i = 0; i < count; i++) {
            if (chosen[i] && run->sizes[i] > 1 && (largest < 0 || run->sizes[i] > run->sizes[largest]))
                largest = i;
        }
        if (largest >= 0)
            run->sizes[largest] /= 2;
    }
    free(chosen);
}

void modc_driver_take_sizes(const struct run *run, int step)
{
    for (int i = 0; i < run->model->size_count; i++) {
        if (run->sizes_by_step[i] != NULL)
            run->sizes[i] = run->sizes_by_step[i][step];
    }
}

/* The tensor of a size: one number, or with --sequence one for each step. */
static int read_size(struct run *run, int size, const struct modc_item *item)
{
    const char *file = run->options.inputs, *name = run->model->sizes[size].name;
    const int front = run->options.sequence ? 1 : 0, max = run->entry->max_sizes[size];
    const uint64_t steps = front > 0 && item->ndim == 1 ? item->dims[0] : 1;
    char found[NAME];
    int64_t *values;

    modc_driver_shape_text(item, found);
    if (item->dtype != MODC_INT64)
        return modc_driver_fail(EXIT_FILES, file, "%s: a size is int64, found %s", name,
                                item->dtype < 0 ? item->dtype_name
                                                : modc_driver_dtype_name((enum modc_dtype)item->dtype));
    if (item->ndim != front || steps == 0 || steps > 1000000000 ||
        (run->steps > 0 && steps != (uint64_t)run->steps))
        return modc_driver_fail(EXIT_FILES, file, "%s: a size is %s, found shape %s", name,
                                front > 0 ? "one number for each step" : "one number", found);
    run->steps = (int)steps;
    values = modc_driver_zeroed(steps, sizeof values[0]);
    run->sizes_by_step[size] = modc_driver_zeroed(steps, sizeof(int));
    modc_convert(values, MODC_INT64, item->data, MODC_INT64, steps);
    for (uint64_t i = 0; i < steps; i++) {
        if (values[i] < 0 || values[i] > max) {
            int status = modc_driver_fail(EXIT_FILES, file, "%s: %lld is not between 0 and its maximum %d",
                                          name, (long long)values[i], max);

            free(values);
            return status;
        }
        run->sizes_by_step[size][i] = (int)values[i];
    }
    free(values);
    if (run->sizes[size] >= 0 && run->sizes[size] != run->sizes_by_step[size][0])
        return modc_driver_fail(EXIT_FILES, file, "%s is %d, but %s has %s = %d", name,
                                run->sizes_by_step[size][0], run->entry->inputs[run->size_by[size]].name,
                                name, run->sizes[size]);
    run->sizes[size] = run->sizes_by_step[size][0];
    return EXIT_OK;
}

static int read_sizes(struct run *run, const struct modc_reader *reader)
{
    struct modc_item item;
    int status = EXIT_OK;

    for (size_t at = 0; status == EXIT_OK && modc_reader_next(reader, &at, &item);) {
        const int size = find_size(run, &item);

        if (size >= 0)
            status = read_size(run, size, &item);
    }
    return status;
}

/* Tensors of all steps lie in one, so they have one shape: a size that differs between steps is none of their dimensions. */
static int check_steps(const struct run *run, const struct modc_io *io, int index)
{
    int first[MODC_MAX_DIMS] = {0}, dims[MODC_MAX_DIMS] = {0};

    for (int step = 0; step < run->steps; step++) {
        modc_driver_take_sizes(run, step);
        modc_shape(run->entry, run->sizes, index, step == 0 ? first : dims);
        for (int i = 0; step > 0 && i < io->ndim; i++) {
            if (first[i] != dims[i])
                return modc_driver_fail(
                    EXIT_FILES, run->options.inputs,
                    "%s: dimension %d would be %d in step 0 and %d in step %d: with --sequence it stays the same",
                    io->name, i, first[i], dims[i], step);
        }
    }
    modc_driver_take_sizes(run, 0);
    return EXIT_OK;
}

static int check_all_steps(const struct run *run)
{
    int status = EXIT_OK;

    for (int i = 0; i < run->entry->input_count && status == EXIT_OK; i++)
        status = check_steps(run, &run->entry->inputs[i], -1 - i);
    for (int i = 0; i < run->entry->output_count && status == EXIT_OK; i++)
        status = check_steps(run, &run->entry->outputs[i], i);
    return status;
}

static int read_inputs(struct run *run, const struct modc_reader *reader)
{
    const struct modc_entry *entry = run->entry;
    const char *file = run->options.inputs;
    int front = run->options.sequence ? 1 : 0, status = check_names(run, reader);

    for (int i = 0; i < entry->input_count && status == EXIT_OK; i++) {
        struct modc_item item;

        if (!modc_reader_find(reader, entry->inputs[i].name, &item))
            status = modc_driver_fail(EXIT_FILES, file, "%s: there is no tensor for this input",
                                      entry->inputs[i].name);
        else
            status = check_input(run, i, &item);
    }
    if (status == EXIT_OK)
        status = read_sizes(run, reader);
    choose_sizes(run);
    if (run->steps == 0)
        run->steps = 1;
    if (status == EXIT_OK)
        status = check_all_steps(run);
    for (int i = 0; i < entry->input_count && status == EXIT_OK; i++) {
        struct modc_named_tensor *named = &run->inputs[i];
        struct modc_item item;
        char found[NAME];

        make_tensor(run, &entry->inputs[i], -1 - i, named);
        if (!modc_reader_find(reader, named->name, &item))
            continue; /* cannot be */
        modc_driver_shape_text(&item, found);
        for (int k = 0; k < named->tensor.ndim; k++) {
            if (item.dims[k] != (uint64_t)named->tensor.dims[k] && status == EXIT_OK)
                status = modc_driver_fail(EXIT_FILES, file,
                                          "%s: dimension %d must be %d for these sizes, found %s",
                                          named->name, k - front, named->tensor.dims[k], found);
        }
        if (status == EXIT_OK)
            modc_convert(named->tensor.data, named->tensor.dtype, item.data, (enum modc_dtype)item.dtype,
                         modc_driver_count(&named->tensor));
    }
    return status;
}

/* Real or complex. */
static bool is_floating(const struct modc_io *io)
{
    return modc_converts(MODC_FLOAT32, modc_dtype_part(io->dtype));
}

/* Numbers in [-1, 1). */
static void fill_random(const struct modc_tensor *tensor, uint64_t *state)
{
    const enum modc_dtype part = modc_dtype_part(tensor->dtype);
    const size_t each = modc_dtype_bytes(part);

    for (size_t at = 0; at < modc_tensor_bytes(tensor); at += each) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        modc_store((char *)tensor->data + at, part, (double)(*state >> 11) / 4503599627370496.0 - 1.0);
    }
}

/* Random numbers for floats, 0 for the others, which may be indices. */
static void make_inputs(struct run *run)
{
    const struct modc_entry *entry = run->entry;
    uint64_t state = run->options.seed * 2 + 0x9e3779b97f4a7c15u;

    run->steps = 1;
    choose_sizes(run);
    for (int i = 0; i < entry->input_count; i++) {
        struct modc_tensor *tensor = &run->inputs[i].tensor;

        make_tensor(run, &entry->inputs[i], -1 - i, &run->inputs[i]);
        if (is_floating(&entry->inputs[i]))
            fill_random(tensor, &state);
        else
            memset(tensor->data, 0, modc_tensor_bytes(tensor));
    }
    for (int i = 0; i < entry->output_count && run->options.backward; i++) {
        if (!is_floating(&entry->outputs[i]))
            continue;
        make_gradient(run, &entry->outputs[i], i, &run->output_gradients[i]);
        fill_random(&run->output_gradients[i].tensor, &state);
    }
}

/* grad.<output>; an absent one is zero. */
static int read_gradients(struct run *run, const struct modc_reader *reader)
{
    const struct modc_entry *entry = run->entry;
    const char *file = run->options.inputs;

    for (int i = 0; i < entry->output_count; i++) {
        struct modc_named_tensor *named = &run->output_gradients[i];
        struct modc_item item;
        char found[NAME];

        if (!is_floating(&entry->outputs[i]))
            continue;
        make_gradient(run, &entry->outputs[i], i, named);
        memset(named->tensor.data, 0, modc_tensor_bytes(&named->tensor));
        if (!modc_reader_find(reader, named->name, &item))
            continue;
        modc_driver_shape_text(&item, found);
        if (!modc_item_has_shape(&item, named->tensor.ndim, named->tensor.dims) || item.dtype < 0 ||
            !modc_converts(named->tensor.dtype, (enum modc_dtype)item.dtype))
            return modc_driver_fail(EXIT_FILES, file,
                                    "%s: expected the shape and a floating type of the output, found %s %s",
                                    named->name, item.dtype_name, found);
        modc_convert(named->tensor.data, named->tensor.dtype, item.data, (enum modc_dtype)item.dtype,
                     modc_driver_count(&named->tensor));
    }
    return EXIT_OK;
}

int modc_driver_prepare_inputs(struct run *run)
{
    struct modc_reader reader;
    int status = EXIT_OK;

    for (int i = 0; i < run->model->size_count; i++)
        run->sizes[i] = run->size_by[i] = -1;
    if (run->options.inputs == NULL) {
        make_inputs(run);
    } else {
        status = modc_driver_open_file(run->options.inputs, &reader);
        if (status != EXIT_OK)
            return status;
        status = read_inputs(run, &reader);
        if (status == EXIT_OK && run->options.backward)
            status = read_gradients(run, &reader);
        modc_unmap(reader.bytes, reader.length);
    }
    for (int i = 0; i < run->entry->output_count && status == EXIT_OK; i++)
        make_tensor(run, &run->entry->outputs[i], i, &run->outputs[i]);
    for (int i = 0; i < run->entry->input_count && status == EXIT_OK && run->options.backward; i++)
        if (is_floating(&run->entry->inputs[i]) && !run->entry->inputs[i].constant)
            make_gradient(run, &run->entry->inputs[i], -1 - i, &run->input_gradients[i]);
    return status;
}
