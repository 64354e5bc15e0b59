/* modc_driver_results.c - what calls gave: to be written, and held against what is expected. */
#include "modc_driver.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void modc_driver_gather_results(struct run *run)
{
    const struct modc_model *model = run->model;
    int most = run->entry->output_count + run->entry->input_count + model->gradient_count;

    run->results = modc_driver_zeroed((size_t)most, sizeof run->results[0]);
    for (int i = 0; i < run->entry->output_count; i++)
        run->results[run->result_count++] = run->outputs[i];
    for (int i = 0; i < run->entry->input_count && run->options.backward; i++)
        if (run->input_gradients[i].tensor.data != NULL)
            run->results[run->result_count++] = run->input_gradients[i];
    run->named_from = run->result_count;
    for (int i = 0; i < model->gradient_count && run->options.backward; i++) {
        const struct modc_key *key = &model->keys[modc_gradient_key(model, i)];
        struct modc_named_tensor *named = &run->results[run->result_count];
        const void *data;

        if (modc_get_gradient(run->training, key->name, &data) != MODC_OK || data == NULL)
            continue;
        named->name = modc_driver_gradient_name(key->name);
        named->tensor.data = (void *)(uintptr_t)data; /* read alone */
        if (model->device != NULL) {                  /* the process ends soon, and gives it back */
            named->tensor.data = modc_driver_zeroed(modc_key_bytes(key), 1);
            (void)model->device->copy(run->net, named->tensor.data, data, modc_key_bytes(key));
        }
        named->tensor.dtype = key->dtype;
        named->tensor.ndim = key->ndim;
        memcpy(named->tensor.dims, key->dims, sizeof key->dims);
        run->result_count++;
    }
}

int modc_driver_write_tensors(const char *path, const struct modc_named_tensor *list, int count)
{
    size_t length = 0;
    enum modc_status status = modc_write_tensors(list, count, NULL, 0, &length);

    if (status == MODC_OK) {
        char *bytes = modc_driver_zeroed(length, 1);

        status = modc_write_tensors(list, count, bytes, length, &length);
        errno = 0;
        if (status == MODC_OK)
            status = modc_write_file(path, bytes, length);
        free(bytes);
    }
    if (status == MODC_OK)
        return EXIT_OK;
    return modc_driver_fail(EXIT_FILES, path, "%s",
                            status == MODC_FILE ? strerror(errno) : modc_status_text(status));
}

int modc_driver_write_outputs(const struct run *run)
{
    return modc_driver_write_tensors(run->options.outputs, run->results, run->result_count);
}

int modc_driver_write_modules(const struct run *run)
{
    struct modc_named_tensor *list = modc_driver_zeroed((size_t)run->model->module_count, sizeof list[0]);
    int count = 0, status;

    for (int i = 0; i < run->model->module_count; i++)
        if (run->kept[i].tensor.name != NULL)
            list[count++] = run->kept[i].tensor;
    status = modc_driver_write_tensors(run->options.modules, list, count);
    free(list);
    return status;
}

int modc_driver_write_ranges(const struct run *run)
{
    const int most = 2 * run->model->module_count;
    struct modc_named_tensor *list = modc_driver_zeroed((size_t)most, sizeof list[0]);
    int count = 0, status;

    for (int i = 0; i < most; i++) {
        struct range *range = i % 2 ? &run->ranges[i / 2].output : &run->ranges[i / 2].input;

        if (range->bounds[0] > range->bounds[1] || (i % 2 && run->ranges[i / 2].calls != 1))
            continue;
        list[count].name = range->name;
        list[count].tensor = (struct modc_tensor){
            .data = range->bounds, .dtype = MODC_FLOAT32, .ndim = 1, .dims = {2}};
        count++;
    }
    status = modc_driver_write_tensors(run->options.ranges, list, count);
    free(list);
    return status;
}

int modc_driver_write_state(const struct run *run)
{
    enum modc_status status = modc_save(run->params, run->options.state);

    if (status == MODC_OK)
        return EXIT_OK;
    return modc_driver_fail(EXIT_FILES, run->options.state, "%s",
                            status == MODC_FILE ? strerror(errno) : modc_status_text(status));
}

static double default_rtol(enum modc_dtype dtype)
{
    switch (modc_dtype_part(dtype)) {
    case MODC_FLOAT64:
        return 1e-12;
    case MODC_FLOAT16:
        return 1.0 / 512; /* two units in the last place of the largest value */
    case MODC_BFLOAT16:
        return 1.0 / 64;
    case MODC_FLOAT32:
        return 1e-5;
    default:
        return 0.0;
    }
}

/* The distance of two numbers: NaN equals NaN, an infinity equals itself, both are infinitely far from
 * others. */
static double distance(double got, double want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0.0 : (double)INFINITY;
    return got == want ? 0.0 : fabs(got - want);
}

struct difference {
    double largest; /* finite expected value, absolute */
    double error;   /* the largest distance */
    size_t at;
    double got, want;
};

/* Element k of a tensor as a number; complex ones have two. int64 goes through double only to be printed. */
static double part_of(const char *data, enum modc_dtype dtype, size_t k)
{
    dtype = modc_dtype_part(dtype);
    return modc_number(data + k * modc_dtype_bytes(dtype), dtype);
}

static struct difference compare(const struct modc_tensor *got, const char *want, enum modc_dtype want_dtype)
{
    struct difference d = {0.0, 0.0, 0, 0.0, 0.0};
    size_t parts = modc_dtype_part(got->dtype) != got->dtype ? 2 : 1, count = modc_driver_count(got) * parts;
    size_t each = modc_dtype_bytes(got->dtype);
    bool exact = !modc_converts(MODC_FLOAT32, modc_dtype_part(got->dtype));

    for (size_t k = 0; k < count; k++) {
        double x = part_of(got->data, got->dtype, k), y = part_of(want, want_dtype, k),
               error = distance(x, y);

        if (exact && error == 0.0 && memcmp((const char *)got->data + k * each, want + k * each, each) != 0)
            error = 1.0; /* int64 that differ below a double */
        if (!isnan(y) && !isinf(y) && fabs(y) > d.largest)
            d.largest = fabs(y);
        if (error > d.error) {
            d.error = error;
            d.at = k / parts;
            d.got = x;
            d.want = y;
        }
    }
    return d;
}

/* "[3, 1]": the indices of element `at`. */
static void place_text(const struct modc_tensor *tensor, size_t at, char *out)
{
    int index[MODC_MAX_DIMS + 1] = {0}, length = snprintf(out, NAME, "[");

    for (int i = tensor->ndim - 1; i >= 0; i--) {
        size_t dim = tensor->dims[i] > 0 ? (size_t)tensor->dims[i] : 1;

        index[i] = (int)(at % dim);
        at /= dim;
    }
    for (int i = 0; i < tensor->ndim; i++)
        length += snprintf(out + length, (size_t)(NAME - length), "%s%d", i > 0 ? ", " : "", index[i]);
    snprintf(out + length, (size_t)(NAME - length), "]");
}

static int expect_output(const struct run *run, const struct modc_named_tensor *named,
                         const struct modc_item *item)
{
    const struct modc_tensor *tensor = &named->tensor;
    const char *file = run->options.expect;
    char found[NAME], expected[NAME], place[NAME];
    struct modc_item own = {NULL, 0, NULL, 0, tensor->ndim, {0}, NULL, 0};

    for (int i = 0; i < tensor->ndim; i++)
        own.dims[i] = (uint64_t)tensor->dims[i];
    modc_driver_shape_text(item, found);
    modc_driver_shape_text(&own, expected);
    if (!modc_item_has_shape(item, tensor->ndim, tensor->dims))
        return modc_driver_fail(EXIT_FILES, file, "%s: the output has shape %s, found %s", named->name,
                                expected, found);
    if (item->dtype < 0 || !modc_converts(tensor->dtype, (enum modc_dtype)item->dtype))
        return modc_driver_fail(EXIT_FILES, file, "%s: the output has dtype %s, found %s", named->name,
                                modc_driver_dtype_name(tensor->dtype), item->dtype_name);

    struct difference d = compare(tensor, item->data, (enum modc_dtype)item->dtype);
    double rtol = run->options.rtol >= 0.0
                      ? run->options.rtol
                      : fmax(default_rtol(tensor->dtype),
                             modc_dtype_part(tensor->dtype) == MODC_FLOAT32 ? run->model->rtol : 0.0);
    double atol = run->options.atol >= 0.0 ? run->options.atol : 0.0;

    if (strncmp(named->name, "grad.", 5) ==
        0) { /* ten times that, of no less than a hundredth of the largest gradient */
        rtol *= run->options.rtol >= 0.0 ? 1.0 : 10.0;
        d.largest = fmax(d.largest, run->largest_gradient / 100.0);
    }

    bool good = d.error == 0.0 || d.error <= rtol * d.largest + atol;

    place_text(tensor, d.at, place);
    printf("%s: largest error %.3g, relative %.3g, at %s", named->name, d.error,
           d.largest > 0.0 ? d.error / d.largest
           : d.error > 0.0 ? (double)INFINITY
                           : 0.0,
           place);
    if (d.error > 0.0)
        printf(": %.9g, expected %.9g", d.got, d.want);
    printf("%s\n", good ? "" : " (differs)");
    return good ? EXIT_OK : EXIT_DIFFER;
}

/* The largest finite number of those gradients. */
static double largest_of(const struct run *run, const struct modc_reader *reader)
{
    double largest = 0.0;
    struct modc_item item;

    for (int i = run->entry->output_count; i < run->result_count; i++) {
        if (!modc_reader_find(reader, run->results[i].name, &item) || item.dtype < 0)
            continue;
        for (size_t k = 0; k < item.bytes / modc_dtype_bytes(modc_dtype_part((enum modc_dtype)item.dtype));
             k++) {
            double value = fabs(part_of(item.data, (enum modc_dtype)item.dtype, k));

            largest = isfinite(value) && value > largest ? value : largest;
        }
    }
    return largest;
}

/* Outputs that the file does not have are not compared; a tensor that is no output is an error, and so is a
 * file without any output: nothing would have been checked. */
static int expect_outputs(struct run *run, const struct modc_reader *reader)
{
    struct modc_item item;
    int status = EXIT_OK, found = 0;

    for (size_t at = 0; modc_reader_next(reader, &at, &item);) {
        bool known = false;
        char name[NAME];

        for (int i = 0; i < run->result_count; i++)
            known = known || modc_item_is(&item, run->results[i].name);
        modc_item_name(&item, name, sizeof name);
        if (!known)
            return modc_driver_fail(EXIT_FILES, run->options.expect, "%s: %s has no output of this name",
                                    name, run->entry->name);
    }
    run->largest_gradient = largest_of(run, reader);
    for (int i = 0; i < run->result_count; i++) {
        if (!modc_reader_find(reader, run->results[i].name, &item))
            continue;

        int result = expect_output(run, &run->results[i], &item);

        if (result == EXIT_FILES)
            return result;
        status = result != EXIT_OK ? result : status;
        found++;
    }
    return found > 0 ? status
                     : modc_driver_fail(EXIT_FILES, run->options.expect, "there is no output of %s in it",
                                        run->entry->name);
}

int modc_driver_check_expected(struct run *run)
{
    struct modc_reader reader;
    int status = modc_driver_open_file(run->options.expect, &reader);

    if (status != EXIT_OK)
        return status;
    status = expect_outputs(run, &reader);
    modc_unmap(reader.bytes, reader.length);
    return status;
}
