/* module_ranges.c - `ranges`: a file that says of inputs, and of what modules return, from where to where their numbers are. */
#include <math.h>
#include <string.h>

#include "base/tensor_file.h"
#include "base/text.h"
#include "modc.h"
#include "module/module_paths.h"
#include "spec/spec.h"

/* Nothing has no place in integers. */
static bool check_ranges(struct cx *cx, const struct module_tree *tree)
{
    const struct spec *spec = tree->spec;

    if (!spec->calibrated) {
        diag_error(cx, spec->ranges_loc, "'ranges' are for `activations: calibrated`");
        diag_hint(cx, "leave them out, or say that too");
    } else if (!spec->ranges && spec->ranges_loc.source) {
        return false; /* that it is no path was said */
    } else if (!spec->ranges) {
        diag_error(cx, spec->activations_loc,
                   "'activations: calibrated' needs `ranges`, a file of what was measured");
        diag_hint(cx,
                  "modc quantize SPEC --weights FILE --inputs FILE --ranges ranges.safetensors writes one");
    } else if (tree->dtype != DTYPE_FLOAT32 || tree->complex) {
        diag_error(cx, spec->activations_loc,
                   "'activations: calibrated' is for the dtype float32, not for %s",
                   dtype_rows[tree->complex ? dtype_of_parts(tree->dtype) : tree->dtype].name);
    } else if (spec->pack == SPEC_OFF) {
        diag_error(cx, spec->activations_loc, "with `pack: none` no weights are packed as integers");
        diag_hint(cx, "leave one of the two out");
    } else if (spec->backward || spec->training) {
        diag_error(
            cx, spec->activations_loc,
            "'activations: calibrated' is for inference: what trains needs all bits of what it computes");
        diag_hint(cx,
                  "train in float32, with torch.fake_quantize_per_tensor_affine where that is to know of it");
    } else if (spec->autocast) {
        diag_error(cx, spec->activations_loc, "under 'autocast' products are of 16 bits, not of integers");
        diag_hint(cx, "leave one of the two out");
    } else {
        return true;
    }
    return false;
}

static bool is_input(const struct module_tree *tree, const char *name)
{
    for (int i = 0; i < tree->spec->input_count; i++)
        if (strcmp(tree->spec->inputs[i].name, name) == 0)
            return true;
    return false;
}

/* Or what one is given. */
static bool is_module(const struct module_tree *tree, const char *name)
{
    for (int i = 1; i < tree->module_count; i++) {
        const char *path = tree->modules[i]->path;
        const size_t length = strlen(path);

        if (strncmp(path, name, length) == 0 && (!name[length] || strcmp(name + length, RANGE_INPUT) == 0))
            return true;
    }
    return false;
}

static void say_unknown(struct cx *cx, const struct module_tree *tree, const char *path, const char *name)
{
    const char **known = NULL;
    int count = 0;

    for (int i = 0; i < tree->spec->input_count; i++)
        ARENA_PUSH(&cx->arena, known, count, tree->spec->inputs[i].name);
    for (int i = 1; i < tree->module_count; i++)
        ARENA_PUSH(&cx->arena, known, count, tree->modules[i]->path);
    diag_error(cx, tree->spec->ranges_loc, "%s has a range of '%s', which is no input and no module", path,
               name);
    diag_hint_nearest(cx, name, known, count);
}

/* One of the file's; false after an error. */
static bool add_range(struct cx *cx, struct module_tree *tree, const char *path, const struct modc_item *item)
{
    const size_t length = modc_item_name(item, NULL, 0);
    char *name = arena_alloc(&cx->arena, length + 1);
    const enum modc_dtype dtype = (enum modc_dtype)item->dtype;
    struct module_range range = {.name = name};

    modc_item_name(item, name, length + 1);
    if (!is_input(tree, name) && !is_module(tree, name)) {
        if (!tree->partial)
            say_unknown(cx, tree, path, name);
        return false;
    }
    if (item->dtype < 0 || !modc_converts(MODC_FLOAT32, dtype) || item->ndim != 1 || item->dims[0] != 2) {
        diag_error(cx, tree->spec->ranges_loc,
                   "%s: the range of '%s' is no two floats, the least and the largest", path, name);
        return false;
    }
    range.least = (float)modc_number(item->data, dtype);
    range.most = (float)modc_number((const char *)item->data + item->bytes / 2, dtype);
    if (!isfinite(range.least) || !isfinite(range.most) || range.least > range.most ||
        !isfinite(range.most - range.least)) {
        diag_error(cx, tree->spec->ranges_loc, "%s: '%s' cannot be from %g to %g", path, name,
                   (double)range.least, (double)range.most);
        diag_hint(cx, "a range is finite, the least in front of the largest");
        return false;
    }
    range.steps = steps_of_range((double)range.least, (double)range.most);
    ARENA_PUSH(&cx->arena, tree->ranges, tree->range_count, range);
    return true;
}

void module_read_ranges(struct cx *cx, struct module_tree *tree)
{
    const struct spec *spec = tree->spec;
    struct modc_reader reader;
    struct modc_item item;
    const char *path;

    if ((!spec->calibrated && !spec->ranges) || !check_ranges(cx, tree))
        return;
    path = source_beside(cx, spec->ranges_loc.source, spec->ranges);
    if (!tensor_file_open(cx, spec->ranges_loc, path, &reader)) {
        diag_hint(cx, "modc quantize SPEC --weights FILE --inputs FILE --ranges %s writes it", path);
        return;
    }
    for (size_t at = 0; modc_reader_next(&reader, &at, &item);)
        if (!add_range(cx, tree, path, &item) && diag_errors(cx) > 0)
            break;
    modc_unmap(reader.bytes, reader.length);
    tree->calibrated = true;
}
