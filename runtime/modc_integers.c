/* modc_integers.c - weights that files hold as integers with scales: which a file has, what they stand for, and how a model that packs
 * them finds these very integers again. Apart from modc_state.c, which loads and saves whatever tensors are. */
#include "modc_integers.h"

#include <string.h>

#include "modc_places.h"
#include "modc_simd.h"

/* ---- texts --------------------------------------------------------------------------------------------------- */

static const struct {
    enum modc_dtype dtype;
    const char *name;
} scale_types[] = {{MODC_FLOAT32, "float32"}, {MODC_FLOAT16, "float16"}, {MODC_BFLOAT16, "bfloat16"}};
enum { SCALE_TYPES = sizeof scale_types / sizeof scale_types[0], LEAST_GROUP = 8, MOST_GROUP = 4096 };

static enum modc_dtype usual_scale(int group)
{
    return group > 0 ? MODC_FLOAT16 : MODC_FLOAT32;
}

static char *add(char *out, const char *text)
{
    while (*text != '\0')
        *out++ = *text++;
    *out = '\0';
    return out;
}

void modc_storage_text(const struct modc_storage *storage, char out[MODC_STORAGE_TEXT])
{
    const char *before = "(";

    out = add(out, storage->bits == 8 ? "int8" : "int4");
    if (storage->group > 0) {
        char digits[12];
        int at = (int)sizeof digits - 1;

        digits[at] = '\0';
        for (int rest = storage->group; rest > 0; rest /= 10)
            digits[--at] = (char)('0' + rest % 10);
        out = add(add(out, "(group="), digits + at);
        before = ", ";
    }
    for (int i = 0; i < SCALE_TYPES && storage->scale != usual_scale(storage->group); i++) {
        if (scale_types[i].dtype == storage->scale) {
            out = add(add(add(out, before), "scale="), scale_types[i].name);
            before = ", ";
            break;
        }
    }
    if (storage->gguf) {
        out = add(add(out, before), "rounding=gguf");
        before = ", ";
    }
    out = add(out, *before == ',' ? ")" : "");
    add(out, storage->transposed ? " transposed" : "");
}

/* Whether *text begins with it, which is passed then. */
static bool pass(const char **text, const char *word)
{
    const char *at = *text;

    for (; *word != '\0'; word++, at++)
        if (*at != *word)
            return false;
    *text = at;
    return true;
}

static bool pass_group(const char **text, int *group)
{
    int value = 0;

    if (**text < '1')
        return false;
    for (; **text >= '0' && **text <= '9' && value <= MOST_GROUP; ++*text)
        value = 10 * value + (**text - '0');
    *group = value;
    return value >= LEAST_GROUP && value <= MOST_GROUP && value % LEAST_GROUP == 0;
}

static bool pass_scale(const char **text, enum modc_dtype *scale)
{
    for (int i = 0; i < SCALE_TYPES; i++) {
        if (pass(text, scale_types[i].name)) {
            *scale = scale_types[i].dtype;
            return true;
        }
    }
    return false;
}

/* What stands in parentheses; *text is behind the first of them. */
static bool pass_options(const char **text, struct modc_storage *storage)
{
    bool scale = false;

    do {
        if (pass(text, "group=")) {
            if (!pass_group(text, &storage->group))
                return false;
            storage->scale = scale ? storage->scale : usual_scale(storage->group);
        } else if (pass(text, "scale=")) {
            if (!pass_scale(text, &storage->scale))
                return false;
            scale = true;
        } else if (pass(text, "rounding=gguf")) {
            storage->gguf = true;
        } else if (!pass(text, "rounding=symmetric")) {
            return false;
        }
    } while (pass(text, ", "));
    return pass(text, ")");
}

bool modc_storage_parse(const char *text, struct modc_storage *storage)
{
    const bool four = pass(&text, "int4");

    memset(storage, 0, sizeof *storage);
    if (!four && !pass(&text, "int8"))
        return false;
    storage->bits = four ? 4 : 8;
    storage->group = four ? 32 : 0;
    storage->scale = usual_scale(storage->group);
    if (pass(&text, "(") && !pass_options(&text, storage))
        return false;
    storage->transposed = pass(&text, " transposed");
    return *text == '\0';
}

bool modc_storage_equal(const struct modc_storage *a, const struct modc_storage *b)
{
    return a->bits == b->bits && a->group == b->group && a->scale == b->scale && a->gguf == b->gguf &&
           a->transposed == b->transposed;
}

/* ---- what a file has ----------------------------------------------------------------------------------------- */

static bool is_float(enum modc_dtype dtype)
{
    return modc_converts(dtype, MODC_FLOAT32);
}

static bool is_held(const struct modc_reader *reader, const struct modc_key *key,
                    const struct modc_item *item)
{
    struct modc_item scale;

    if ((key->flags & MODC_KEY_PARAMETER) == 0 || !is_float(key->dtype))
        return false;
    return modc_reader_stored(reader, key->name, NULL, 0) > 0 ||
           ((item->dtype == MODC_INT8 || item->dtype == MODC_UINT8) &&
            modc_reader_find_joined(reader, key->name, MODC_SCALE_SUFFIX, &scale));
}

/* Bytes of a row of integers. */
static int64_t row_bytes(const struct modc_storage *storage, int64_t k)
{
    return storage->bits == 8 ? k : (k + 1) / 2;
}

static int integer_of(const struct modc_held *held, int64_t row, int64_t step)
{
    const unsigned char *own = held->integers + row * row_bytes(&held->storage, held->k);

    return held->storage.bits == 8 ? (signed char)own[step] : (own[step / 2] >> step % 2 * 4 & 15) - 8;
}

static float scale_of(const struct modc_held *held, int64_t row, int64_t step)
{
    const int64_t group = held->storage.group > 0 ? step / held->storage.group : 0;

    return (float)modc_number(held->scales + (row * held->groups + group) *
                                                 (int64_t)modc_dtype_bytes(held->storage.scale),
                              held->storage.scale);
}

/* The scales are finite; where one is so large that a product may not be, the products are looked at, too. */
static bool is_finite(const struct modc_held *held)
{
    static const float large = 2.6e36f; /* times 128 that is less than the largest float */

    for (int64_t i = 0; i < held->n; i++) {
        for (int64_t j = 0; j<held->k; j += held->storage.group> 0 ? held->storage.group : held->k) {
            const float scale = scale_of(held, i, j);
            const int64_t end = held->storage.group > 0 ? j + held->storage.group : held->k;

            if (scale - scale != 0.0f)
                return false;
            for (int64_t s = j; s < end && s < held->k && (scale > large || scale < -large); s++) {
                const float value = (float)integer_of(held, i, s) * scale;

                if (value - value != 0.0f)
                    return false;
            }
        }
    }
    return true;
}

static enum modc_integers_fault read_held(const struct modc_reader *reader, const struct modc_key *key,
                                          const struct modc_integers *own, const struct modc_item *item,
                                          struct modc_held *held, struct modc_item *wrong)
{
    char text[MODC_STORAGE_TEXT];
    const size_t length = modc_reader_stored(reader, key->name, text, sizeof text);
    struct modc_storage *storage = &held->storage;
    struct modc_item scale;
    int dims[2];

    *wrong = *item;
    memset(held, 0, sizeof *held);
    if (length >= sizeof text || (length > 0 && !modc_storage_parse(text, storage))) {
        memset(held, 0, sizeof *held);
        return MODC_INTEGERS_TEXT;
    }
    if (length == 0 && own == NULL)
        return MODC_INTEGERS_UNKNOWN;
    if (length == 0)
        *storage = own->storage;
    if (key->ndim != 2)
        return MODC_INTEGERS_MATRIX;
    if (own != NULL && own->apart)
        return MODC_INTEGERS_APART;
    if (own != NULL && !modc_storage_equal(&own->storage, storage))
        return MODC_INTEGERS_STORAGE;
    held->n = key->dims[storage->transposed];
    held->k = key->dims[!storage->transposed];
    held->groups = storage->group > 0 ? (held->k + storage->group - 1) / storage->group : 1;
    dims[0] = (int)held->n;
    dims[1] = (int)row_bytes(storage, held->k);
    if (item->dtype != (storage->bits == 8 ? MODC_INT8 : MODC_UINT8) || !modc_item_has_shape(item, 2, dims))
        return MODC_INTEGERS_WHOLE;
    if (!modc_reader_find_joined(reader, key->name, MODC_SCALE_SUFFIX, &scale))
        return MODC_INTEGERS_LONE;
    *wrong = scale;
    dims[1] = (int)held->groups;
    if (scale.dtype != (int)storage->scale || !modc_item_has_shape(&scale, storage->group > 0 ? 2 : 1, dims))
        return MODC_INTEGERS_SCALES;
    held->integers = item->data;
    held->scales = scale.data;
    return is_finite(held) ? MODC_INTEGERS_GOOD : MODC_INTEGERS_NUMBER;
}

static bool equal_held(const struct modc_held *a, const struct modc_held *b)
{
    const size_t scales = (size_t)(a->n * a->groups) * modc_dtype_bytes(a->storage.scale);

    if (!modc_storage_equal(&a->storage, &b->storage) || a->n != b->n || a->k != b->k)
        return false;
    for (int64_t i = 0; i < a->n; i++) {
        for (int64_t j = 0; j < a->k; j++) {
            if (integer_of(a, i, j) != integer_of(b, i, j))
                return false;
        }
    }
    for (size_t i = 0; i < scales; i++) {
        if (a->scales[i] != b->scales[i])
            return false;
    }
    return true;
}

static void write_numbers(const struct modc_held *held, enum modc_dtype dtype, void *out)
{
    const int64_t row = held->storage.transposed ? 1 : held->k, step = held->storage.transposed ? held->n : 1;
    const size_t bytes = modc_dtype_bytes(dtype);
    float scale = 0.0f;

    for (int64_t i = 0; i < held->n; i++) {
        for (int64_t j = 0; j < held->k; j++) {
            if (j == 0 || (held->storage.group > 0 && j % held->storage.group == 0))
                scale = scale_of(held, i, j);

            const float value = (float)integer_of(held, i, j) * scale +
                                0.0f; /* as modc_multiple has it: no -0 */
            char *to = (char *)out + (size_t)(i * row + j * step) * bytes;

            if (dtype == MODC_FLOAT32)
                memcpy(to, &value, sizeof value);
            else
                modc_convert(to, dtype, &value, MODC_FLOAT32, 1);
        }
    }
}

/* ---- what a model has ---------------------------------------------------------------------------------------- */

static const struct modc_integers *row_of(const struct modc_model *model, int key)
{
    const int first = key - model->keys[key].tied;
    int low = 0, high = model->integer_count;

    while (low < high) {
        const int middle = low + (high - low) / 2;

        if (model->integers[middle].key < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low < model->integer_count && model->integers[low].key == first ? &model->integers[low] : NULL;
}

static const void *tensor_of(const struct modc_params *params, int key)
{
    const void *tensor;

    memcpy(&tensor, (const char *)params + modc_key_pointer(key), sizeof tensor);
    return tensor;
}

/* Rows of outputs, steps of each, scales of each. */
static struct modc_held extents(const struct modc_params *params, const struct modc_integers *row)
{
    const struct modc_key *key = &params->model->keys[row->key];
    struct modc_held held;

    memset(&held, 0, sizeof held);
    held.storage = row->storage;
    held.n = key->dims[row->storage.transposed];
    held.k = key->dims[!row->storage.transposed];
    held.groups = row->storage.group > 0 ? (held.k + row->storage.group - 1) / row->storage.group : 1;
    return held;
}

/* Where its scales are, and how many bytes; NULL: there is no room for any. */
static void *room_of(const struct modc_params *params, const struct modc_integers *row, size_t *bytes)
{
    const struct modc_held held = extents(params, row);

    *bytes = (size_t)(held.n * held.groups) * modc_dtype_bytes(row->storage.scale);
    return params->block == NULL || row->apart ? NULL : params->block + row->scales;
}

static void keep(struct modc_params *params, const struct modc_integers *row, const void *scales)
{
    size_t bytes;
    void *room = room_of(params, row, &bytes);

    if (room == NULL || bytes == 0)
        return;
    if (scales != NULL)
        memcpy(room, scales, bytes);
    else
        memset(room, 0xff, bytes);
}

static void keep_scales(struct modc_params *params, int key, const struct modc_held *held)
{
    const struct modc_integers *row = row_of(params->model, key);

    if (row != NULL)
        keep(params, row, held != NULL ? held->scales : NULL);
}

static void forget_scales(struct modc_params *params)
{
    for (int i = 0; i < params->model->integer_count; i++)
        keep(params, &params->model->integers[i], NULL);
}

static void copy_scales(const struct modc_params *from, struct modc_params *to)
{
    for (int i = 0; i < to->model->integer_count; i++) {
        const struct modc_integers *row = &to->model->integers[i], *own = row_of(from->model, row->key);
        const bool same = own != NULL && !own->apart && modc_storage_equal(&own->storage, &row->storage);
        size_t bytes;

        if (from != to)
            keep(to, row, same ? room_of(from, own, &bytes) : NULL);
    }
}

struct modc_scales modc_scales_of(const struct modc_params *params, const void *w)
{
    const struct modc_model *model = params->model;
    const bool device = model->device != NULL;
    struct modc_scales scales = {NULL, 0, 1, 1, 1, false};

    for (int i = 0; i < model->integer_count && params->block != NULL; i++) {
        const struct modc_integers *row = &model->integers[i];
        const struct modc_key *key = &model->keys[row->key];
        const uintptr_t first = (uintptr_t)tensor_of(params, row->key + (device ? model->key_count : 0));
        const struct modc_held held = extents(params, row);

        if (row->apart || (uintptr_t)w < first || (uintptr_t)w - first >= modc_key_bytes(key))
            continue;
        scales.first = (device ? (const char *)modc_mirror_of(params)->block : params->block) + row->scales;
        scales.at = (int64_t)(((uintptr_t)w - first) / sizeof(float));
        scales.width = key->dims[1];
        scales.group = row->storage.group > 0 ? row->storage.group : (int)held.k;
        scales.groups = (int)held.groups;
        scales.transposed = row->storage.transposed;
        break;
    }
    return scales;
}

/* ---- what a model saves -------------------------------------------------------------------------------------- */

/* The integer of a parameter's element, or that there is none. */
static bool find_integer(const struct modc_held *held, const float *w, int64_t i, int64_t j, int *whole)
{
    const bool turned = held->storage.transposed;

    return modc_multiple(w[turned ? j * held->n + i : i * held->k + j], scale_of(held, i, j),
                         held->storage.bits, whole);
}

static bool has_integers(const struct modc_params *params, const struct modc_integers *row)
{
    struct modc_held held = extents(params, row);
    const float *w = tensor_of(params, row->key);
    size_t bytes;
    int whole;

    held.scales = room_of(params, row, &bytes);
    if (held.scales == NULL || w == NULL || bytes == 0 || held.k == 0)
        return false;
    for (int64_t i = 0; i < held.n; i++) {
        for (int64_t j = 0; j < held.k; j++) {
            if (!find_integer(&held, w, i, j, &whole))
                return false;
        }
    }
    return true;
}

static void tensor_in_file(const struct modc_params *params, const struct modc_integers *row, bool scales,
                           struct modc_tensor *tensor)
{
    const struct modc_held held = extents(params, row);
    size_t bytes;

    memset(tensor, 0, sizeof *tensor);
    tensor->data = scales ? room_of(params, row, &bytes) : NULL;
    tensor->dtype = scales ? row->storage.scale : row->storage.bits == 8 ? MODC_INT8 : MODC_UINT8;
    tensor->ndim = scales && row->storage.group == 0 ? 1 : 2;
    tensor->dims[0] = (int)held.n;
    if (tensor->ndim == 2)
        tensor->dims[1] = (int)(scales ? held.groups : row_bytes(&row->storage, held.k));
}

static void get_integers(const struct modc_params *params, const struct modc_integers *row, void *out)
{
    struct modc_held held = extents(params, row);
    const int64_t wide = row_bytes(&row->storage, held.k);
    const float *w = tensor_of(params, row->key);
    unsigned char *to = out;
    size_t bytes;

    held.scales = room_of(params, row, &bytes);
    for (int64_t i = 0; i < held.n; i++) {
        for (int64_t j = 0; j < (held.storage.bits == 8 ? wide : 2 * wide); j++) {
            int whole = 0;

            if (j < held.k)
                find_integer(&held, w, i, j, &whole);
            if (held.storage.bits == 8)
                to[i * wide + j] = (unsigned char)whole;
            else if (j % 2 == 0)
                to[i * wide + j / 2] = (unsigned char)(whole + 8);
            else
                to[i * wide + j / 2] = (unsigned char)(to[i * wide + j / 2] | (whole + 8) << 4);
        }
    }
}

/* ---- what a report says ------------------------------------------------------------------------------------- */

static void print_storage(const struct modc_printer *printer, const struct modc_storage *storage)
{
    char text[MODC_STORAGE_TEXT];

    modc_storage_text(storage, text);
    modc_print_text(printer, text);
}

/* "I8 torch.Size([2, 3])" */
static void print_found(const struct modc_printer *printer, const struct modc_fault *fault)
{
    modc_print_text(printer, fault->found_dtype);
    modc_print_text(printer, " ");
    modc_print_size(printer, fault->found_ndim, fault->found_dims);
}

/* What is wrong with integers, and what to do. */
static void print_integers(const struct modc_printer *printer, const struct modc_report *report,
                           const struct modc_fault *fault)
{
    const struct modc_integers *own = row_of(report->model, fault->key);
    const char *name = report->model->keys[fault->key].name;
    struct modc_storage plain;

    modc_print_text(printer, "integers mismatch for ");
    modc_print_text(printer, name);
    modc_print_text(printer, ": ");
    switch (fault->integers) {
    case MODC_INTEGERS_GOOD:
        break;
    case MODC_INTEGERS_STORAGE:
        modc_print_text(printer, "checkpoint has it as ");
        print_storage(printer, &fault->storage);
        modc_print_text(printer, ", current model as ");
        print_storage(printer, &own->storage);
        plain = fault->storage;
        plain.transposed = own->storage.transposed;
        if (modc_storage_equal(&plain, &own->storage)) {
            modc_print_text(printer, ".");
            break;
        }
        plain.transposed = false;
        modc_print_text(printer, ". `storage: {");
        modc_print_text(printer, name);
        modc_print_text(printer, ": ");
        print_storage(printer, &plain);
        modc_print_text(printer,
                        "}` in the spec takes it as it is; `modc quantize` rounds floats to the model's.");
        break;
    case MODC_INTEGERS_APART:
        modc_print_text(printer,
                        "current model multiplies by parts of it that share scales in other ways: load its "
                        "floats.");
        break;
    case MODC_INTEGERS_UNKNOWN:
        modc_print_text(printer, "nothing says how they were rounded, neither \"" MODC_STORAGE_KEY
                                 "\" in the metadata of checkpoint nor `storage` of current model.");
        break;
    case MODC_INTEGERS_TEXT:
        modc_print_text(printer, "\"" MODC_STORAGE_KEY
                                 "\" in the metadata of checkpoint says what is no storage of integers.");
        break;
    case MODC_INTEGERS_MATRIX:
        modc_print_text(printer, "checkpoint has it as ");
        print_storage(printer, &fault->storage);
        modc_print_text(printer, ", which is for matrices.");
        break;
    case MODC_INTEGERS_WHOLE:
    case MODC_INTEGERS_SCALES:
        modc_print_text(printer, "checkpoint has it as ");
        print_storage(printer, &fault->storage);
        modc_print_text(printer, fault->integers == MODC_INTEGERS_WHOLE ? ", whose integers cannot be "
                                                                        : ", whose scales cannot be ");
        print_found(printer, fault);
        modc_print_text(printer, ".");
        break;
    case MODC_INTEGERS_LONE:
        modc_print_text(printer, "checkpoint has no ");
        modc_print_text(printer, name);
        modc_print_text(printer, MODC_SCALE_SUFFIX " beside them.");
        break;
    case MODC_INTEGERS_NUMBER:
        modc_print_text(printer, name);
        modc_print_text(printer, MODC_SCALE_SUFFIX " has what is not finite, or makes numbers that are not.");
        break;
    }
}

const struct modc_integer_code modc_integer_code = {
    .is_held = is_held,
    .read = read_held,
    .equal = equal_held,
    .numbers = write_numbers,
    .keep = keep_scales,
    .forget = forget_scales,
    .copy = copy_scales,
    .row_of = row_of,
    .has = has_integers,
    .tensor = tensor_in_file,
    .get = get_integers,
    .print = print_integers,
};
