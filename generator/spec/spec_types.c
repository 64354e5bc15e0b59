/* spec_types.c - dtypes and devices: which PyTorch has, which a model or a tensor may have, and the keys that name them. */
#include "spec/spec_reader.h"

#include <string.h>

static const struct dtype_row {
    const char *name, *own; /* PyTorch's own name; NULL: modc does not have it */
    bool model;             /* may be the dtype of a model */
} dtypes[] = {{"float64", "float64", true},
              {"float32", "float32", true},
              {"float16", "float16", true},
              {"bfloat16", "bfloat16", true},
              {"complex64", "complex64", true},
              {"complex128", "complex128", true},
              {"int64", "int64", false},
              {"int32", "int32", false},
              {"int16", "int16", false},
              {"int8", "int8", false},
              {"uint8", "uint8", false},
              {"bool", "bool", false},
              {"double", "float64", true},
              {"float", "float32", true},
              {"half", "float16", true},
              {"cfloat", "complex64", true},
              {"cdouble", "complex128", true},
              {"long", "int64", false},
              {"int", "int32", false},
              {"short", "int16", false},
              {"complex32", NULL, false},
              {"chalf", NULL, false},
              {"uint16", NULL, false},
              {"uint32", NULL, false},
              {"uint64", NULL, false},
              {"float8_e4m3fn", NULL, false},
              {"float8_e5m2", NULL, false},
              {"float8_e4m3fnuz", NULL, false},
              {"float8_e5m2fnuz", NULL, false},
              {"float8_e8m0fnu", NULL, false},
              {"float4_e2m1fn_x2", NULL, false},
              {"quint8", NULL, false},
              {"qint8", NULL, false},
              {"qint32", NULL, false},
              {"quint4x2", NULL, false},
              {"quint2x4", NULL, false},
              {"bits8", NULL, false},
              {"bits16", NULL, false}};

const char *spec_read_dtype(struct reader *r, const char *text, struct loc loc, bool model)
{
    static const char *const model_list = "float64, float32, float16, bfloat16, complex64, complex128";
    const char *const *known;
    int count;

    if (strncmp(text, "torch.", 6) == 0)
        text += 6;
    for (int i = 0; i < COUNT(dtypes); i++) {
        const struct dtype_row *row = &dtypes[i];

        if (strcmp(row->name, text) != 0)
            continue;
        if (row->own && (row->model || !model))
            return row->own;
        if (row->own)
            diag_error(r->cx, loc, "a model computes in %s, not in %s", model_list, text);
        else
            diag_error(r->cx, loc, "PyTorch has the dtype '%s', modc has %s%s", text, model_list,
                       model ? "" : ", int64, int32, int16, int8, uint8, bool");
        return NULL;
    }
    diag_error(r->cx, loc, "there is no dtype '%s'", text);
    known = spec_dtypes(r->cx, model, &count);
    diag_hint_nearest(r->cx, text, known, count);
    return NULL;
}

const char *const *spec_dtypes(struct cx *cx, bool model, int *count)
{
    const char **names = NULL;

    *count = 0;
    for (int i = 0; i < COUNT(dtypes); i++)
        if (dtypes[i].own && (dtypes[i].model || !model))
            ARENA_PUSH(&cx->arena, names, *count, dtypes[i].name);
    return names;
}

static void add_dtype(struct reader *r, const char *text, struct loc loc)
{
    struct spec *spec = r->spec;
    const char *dtype = spec_read_dtype(r, text, loc, true);
    int locs = spec->dtype_count;

    if (!dtype)
        return;
    for (int i = 0; i < spec->dtype_count; i++) {
        if (strcmp(spec->dtypes[i], dtype) == 0) {
            diag_error(r->cx, loc, "the dtype %s is given twice", dtype);
            diag_note(r->cx, spec->dtype_locs[i], "first given here");
            return;
        }
    }
    ARENA_PUSH(&r->cx->arena, spec->dtype_locs, locs, loc);
    ARENA_PUSH(&r->cx->arena, spec->dtypes, spec->dtype_count, dtype);
}

static const char *const devices[] = {"cpu", "cuda", "cpu:0", "cuda:0"};

const char *const *spec_devices(int *count)
{
    *count = COUNT(devices);
    return devices;
}

const char *spec_device(struct cx *cx, const char *text, struct loc loc)
{
    static const char *const others[] = {"xpu",    "ipu",   "mtia",   "mps",    "meta",   "xla",
                                         "hpu",    "ve",    "hip",    "vulkan", "opencl", "metal",
                                         "opengl", "ideep", "mkldnn", "lazy"};
    const char *device = strcmp(text, "cuda:0") == 0 ? "cuda" : strcmp(text, "cpu:0") == 0 ? "cpu" : text;
    const char *pytorch = NULL;

    if (strcmp(device, "cpu") == 0 || strcmp(device, "cuda") == 0)
        return device;
    for (int i = 0; i < COUNT(others); i++) {
        size_t length = strlen(others[i]);

        if (strncmp(text, others[i], length) == 0 && (text[length] == 0 || text[length] == ':'))
            pytorch = others[i];
    }
    if (pytorch) {
        diag_error(cx, loc, "PyTorch has the device '%s', modc has cpu and cuda", pytorch);
    } else if (strncmp(text, "cuda:", 5) == 0) {
        diag_error(cx, loc, "the device '%s' is chosen when the model runs; a spec says cuda", text);
    } else {
        diag_error(cx, loc, "there is no device '%s': modc has cpu and cuda", text);
        if (strcmp(text, "gpu") == 0)
            diag_hint(cx, "did you mean 'cuda'?");
        else
            diag_hint_nearest(cx, text, devices, COUNT(devices));
    }
    return NULL;
}

static void add_device(struct reader *r, const char *text, struct loc loc)
{
    struct spec *spec = r->spec;
    const char *device = spec_device(r->cx, text, loc);
    int locs = spec->device_count;

    if (!device)
        return;
    for (int i = 0; i < spec->device_count; i++) {
        if (strcmp(spec->devices[i], device) == 0) {
            diag_error(r->cx, loc, "the device %s is given twice", device);
            diag_note(r->cx, spec->device_locs[i], "first given here");
            return;
        }
    }
    ARENA_PUSH(&r->cx->arena, spec->device_locs, locs, loc);
    ARENA_PUSH(&r->cx->arena, spec->devices, spec->device_count, device);
}

struct expr *spec_read_dtype_expr(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = spec_read_text(r, key, node, "a dtype");
    const char *dtype = text ? spec_read_dtype(r, text, node->loc, false) : NULL;
    struct expr *expr = spec_bad_expr(r, node);

    if (dtype) {
        expr->kind = EXPR_NAME;
        expr->text = dtype;
    }
    return expr;
}

void spec_read_dtypes(struct reader *r, const struct node *key, const struct node *node)
{
    spec_read_one_or_many(r, key, node, "a dtype or a list of them", add_dtype);
}

void spec_read_devices(struct reader *r, const struct node *key, const struct node *node)
{
    spec_read_one_or_many(r, key, node, "a device or a list of them", add_device);
}

bool spec_is_dtype(const char *text)
{
    if (strncmp(text, "torch.", 6) == 0)
        text += 6;
    for (int i = 0; i < COUNT(dtypes); i++)
        if (strcmp(dtypes[i].name, text) == 0)
            return true;
    return false;
}
