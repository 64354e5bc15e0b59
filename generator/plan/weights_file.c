/* weights_file.c - see weights_file.h. Apart from weights.c, which packs what it reads. */
#include "plan/weights_file.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/options.h"
#include "base/tensor_file.h"
#include "modc.h"
#include "modc_simd.h"
#include "plan/target.h"

#define ABOUT_KEY "modc.storage"

static const struct loc nowhere = {0};

struct opened {
    struct cx *cx;
    const struct plan *plan;
    const struct module_tree *tree;
    const char *path;
    const void *bytes;
    size_t length, memory_bytes;
    void *memory; /* of the reader */
    struct modc_reader reader;
    const char *about; /* lines of the metadata, or NULL */
    struct weights_file *file;
};

/* ---- scaled weights ----------------------------------------------------------------------------------------- */

int scaled_type(const struct storage *storage)
{
    return storage->scale == DTYPE_FLOAT32   ? MODC_SCALE_F32
           : storage->scale == DTYPE_FLOAT16 ? MODC_SCALE_F16
                                             : MODC_SCALE_BF16;
}

int scaled_integer(const struct scaled_weight *weight, int64_t row, int64_t step)
{
    if (weight->storage.bits == 8)
        return (signed char)weight->integers[row * weight->k + step];
    return (weight->integers[row * ((weight->k + 1) / 2) + step / 2] >> step % 2 * 4 & 15) - 8;
}

const char *scaled_scale(const struct scaled_weight *weight, int64_t row, int64_t step)
{
    const struct storage *storage = &weight->storage;
    const int64_t group = storage->group > 0 ? step / storage->group : 0;

    return weight->scales +
           (row * storage_groups(storage, weight->k) + group) * dtype_rows[storage->scale].bytes;
}

/* A file does not say what they are multiplied with. */
static struct storage as_held(const struct storage *storage)
{
    struct storage held = *storage;

    held.dynamic = false;
    return held;
}

struct scaled_weight scaled_round(struct cx *cx, const struct weights_use *use,
                                  const struct module_tensor *tensor, const float *floats)
{
    const struct storage held = as_held(use->storage), *storage = &held;
    const int64_t n = tensor->dims[use->transposed], k = tensor->dims[!use->transposed];
    const int64_t groups = storage_groups(storage, k), wide = storage->bits == 8 ? k : (k + 1) / 2;
    const int64_t head = storage_head(storage, k), panel = storage_panel(storage, k);
    const int size = dtype_rows[storage->scale].bytes;
    unsigned char *integers = arena_alloc(&cx->arena, (size_t)(n * wide) + 1);
    char *scales = arena_alloc(&cx->arena, (size_t)(n * groups * size) + 1);
    struct arena own = {0};
    char *one = arena_alloc(&own, (size_t)panel);

    for (int64_t first = 0; first < n; first += MODC_PANEL32) { /* a panel of rows at a time */
        const int64_t rows = n - first < MODC_PANEL32 ? n - first : MODC_PANEL32;
        const float *from = floats + first * (use->transposed ? 1 : k);

        modc_f32_pack_scaled((modc_int8 *)one, from, (int)rows, (int)k, (int)(use->transposed ? 1 : k),
                             (int)(use->transposed ? n : 1), storage->bits, storage_steps(storage),
                             (int)storage_group(storage, k), (enum modc_scale)scaled_type(storage),
                             storage->gguf ? MODC_GGUF : MODC_SYMMETRIC, (struct modc_scales){0});
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t g = 0; g < groups; g++)
                memcpy(scales + ((first + i) * groups + g) * size, one + (g * MODC_PANEL32 + i) * size,
                       (size_t)size);
            for (int64_t j = 0; j < k && storage->bits == 8; j++)
                integers[(first + i) * wide + j] = (unsigned char)one[head + j * MODC_PANEL32 + i];
            for (int64_t j = 0; j < 2 * wide && storage->bits < 8; j++) {
                const modc_int8 *word = (const modc_int8 *)one + head + (j / 8 * MODC_PANEL32 + i) * 4;
                const int whole = j < k ? modc_int4_get(word, (int)(j % 8)) : 0;

                integers[(first + i) * wide + j / 2] |= (unsigned char)((whole + 8) << j % 2 * 4);
            }
        }
    }
    arena_free(&own);
    return (struct scaled_weight){held, use->transposed, n, k, integers, scales};
}

void scaled_numbers(const struct scaled_weight *weight, enum dtype dtype, char *to)
{
    const int64_t row_step = weight->transposed ? 1 : weight->k, step = weight->transposed ? weight->n : 1;
    const int size = dtype_rows[dtype].bytes;

    for (int64_t i = 0; i < weight->n; i++)
        for (int64_t j = 0; j < weight->k; j++) {
            const float scale = (float)scalar_load(weight->storage.scale, scaled_scale(weight, i, j)).f;
            const float value = (float)scaled_integer(weight, i, j) * scale +
                                0.0f; /* no -0, as the runtime has it */

            modc_store(to + (i * row_step + j * step) * size, (enum modc_dtype)dtype, (double)value);
        }
}

/* A number of the group that is not finite in float32; else 0. */
static double largest_number(const struct scaled_weight *weight, int64_t row, int64_t group)
{
    const int64_t first = group * storage_group(&weight->storage, weight->k);

    for (int64_t j = first; j < first + storage_group(&weight->storage, weight->k) && j < weight->k; j++) {
        const float value = (float)scaled_integer(weight, row, j) *
                            (float)scalar_load(weight->storage.scale, scaled_scale(weight, row, j)).f;

        if (!isfinite(value))
            return (double)value;
    }
    return 0.0;
}

const char *scaled_fault(struct cx *cx, const struct scaled_weight *weight)
{
    const int64_t groups = storage_groups(&weight->storage, weight->k);
    const int size = dtype_rows[weight->storage.scale].bytes;

    for (int64_t i = 0; i < weight->n * groups; i++) {
        double scale = scalar_load(weight->storage.scale, weight->scales + i * size).f;

        if (fabs(scale) > 2.6e36) /* 128 times that may be no float */
            scale = largest_number(weight, i / groups, i % groups);

        if (!isfinite(scale))
            return arena_format(&cx->arena, "%s in row %lld", isnan(scale) ? "NaN" : "an infinity",
                                (long long)(i / groups));
    }
    return NULL;
}

/* ---- what the file says ------------------------------------------------------------------------------------- */

/* The lines of its metadata, or NULL. The header was read before, so it is JSON. */
static const char *read_about(struct opened *o)
{
    struct source *source;
    const struct json *header, *own;
    char *text;

    text = arena_copy(&o->cx->arena, (const char *)o->bytes + 8, o->reader.header);
    if (!strstr(text, "\"" ABOUT_KEY "\""))
        return NULL;
    source = ARENA_NEW(&o->cx->arena, struct source);
    *source = (struct source){.name = o->path, .text = text, .length = o->reader.header};
    header = json_read(o->cx, source);
    own = header ? json_member(header, "__metadata__") : NULL;
    own = own ? json_member(own, ABOUT_KEY) : NULL;
    return own && own->kind == JSON_STRING ? own->text : NULL;
}

/* What its metadata say of a tensor; false: nothing, or (*wrong) what nobody can read. */
static bool find_about(struct opened *o, const char *path, struct scaled_weight *weight, const char **wrong)
{
    static const char mark[] = " transposed";
    const size_t length = strlen(path);
    const char *at = o->about;

    *wrong = NULL;
    while (at && !(strncmp(at, path, length) == 0 && strncmp(at + length, ": ", 2) == 0)) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (!at)
        return false;
    at += length + 2;

    char *text = arena_copy(&o->cx->arena, at, strcspn(at, "\n"));
    const char *said = arena_format(&o->cx->arena, "%s", text);

    weight->transposed = text_ends_with(text, mark);
    if (weight->transposed)
        text[strlen(text) - (sizeof mark - 1)] = '\0';
    if (storage_parse(text, &weight->storage) && storage_is_scaled(&weight->storage))
        return true;
    weight->storage.name = NULL;
    *wrong = said;
    return false;
}

static const char *scale_name(struct opened *o, const char *path)
{
    return arena_format(&o->cx->arena, "%s_scale", path);
}

static bool refuse(struct opened *o)
{
    diag_hint(o->cx, "`modc quantize` writes such files; docs/language.md says how they are made");
    return false;
}

/* Of a parameter whose tensor in the file may be integers; false after a fault. */
static bool find_scaled(struct opened *o, const struct module_tensor *tensor, const struct weights_use *use,
                        struct scaled_weight *weight)
{
    struct cx *cx = o->cx;
    struct modc_item item, scale;
    const char *wrong, *scale_path = scale_name(o, tensor->path);
    const bool there = modc_reader_find(&o->reader, tensor->path, &item);
    const bool integers = there && (item.dtype == MODC_INT8 || item.dtype == MODC_UINT8);
    const bool said = find_about(o, tensor->path, weight, &wrong);
    const bool scaled = modc_reader_find(&o->reader, scale_path, &scale);

    if (wrong) {
        diag_error(cx, nowhere, "%s: its metadata say '%s' of %s, which is no storage of integers", o->path,
                   wrong, tensor->path);
        return refuse(o);
    }
    if (!there || (!integers && !said))
        return true;
    if (!said && !scaled) /* the reader refuses its type */
        return true;
    if (!said && !storage_is_scaled(use->storage)) {
        diag_error(cx, nowhere, "%s: %s is %s with scales, and nothing says how they were rounded", o->path,
                   tensor->path, item.dtype_name);
        diag_hint(cx, "`storage:` of the spec says it: {%s: %s}", tensor->path,
                  item.dtype == MODC_INT8 ? "int8" : "int4(group=32)");
        return false;
    }
    if (!said) {
        weight->storage = as_held(use->storage);
        weight->transposed = use->transposed;
    }

    const char *stored = storage_text(&cx->arena, &weight->storage);

    if (tensor->ndim != 2) {
        diag_error(cx, nowhere, "%s: %s is held as %s, which is for matrices: the model's is %s", o->path,
                   tensor->path, stored, shape_text(&cx->arena, tensor->ndim, tensor->shape));
        return refuse(o);
    }
    if (item.dtype != (weight->storage.bits == 8 ? MODC_INT8 : MODC_UINT8)) {
        diag_error(cx, nowhere, "%s: %s is held as %s, whose integers are %s, not %s", o->path, tensor->path,
                   stored, weight->storage.bits == 8 ? "I8" : "U8, two in a byte", item.dtype_name);
        return refuse(o);
    }
    if (!scaled) {
        diag_error(cx, nowhere, "%s: %s is held as %s, and there is no %s", o->path, tensor->path, stored,
                   scale_path);
        return refuse(o);
    }
    if (scale.dtype != (int)weight->storage.scale) {
        diag_error(cx, nowhere, "%s: %s is held as %s, whose scales are %s, not %s", o->path, tensor->path,
                   stored, dtype_rows[weight->storage.scale].name, scale.dtype_name);
        return refuse(o);
    }
    weight->n = tensor->dims[weight->transposed];
    weight->k = tensor->dims[!weight->transposed];
    return true;
}

/* Those of all keys; what is tied to others is what they are. */
static bool find_all_scaled(struct opened *o, const struct weights_use *uses, bool *any)
{
    o->about = read_about(o);
    for (int i = 0; i < o->tree->key_count; i++) {
        const struct module_tensor *tensor = o->tree->keys[i];
        struct scaled_weight found = {0}, *own = &o->file->scaled[tensor->first->key];

        if (tensor->kind != MODULE_PARAMETER || !dtype_is_float(tensor->dtype))
            continue;
        if (!find_scaled(o, tensor, &uses[tensor->first->key], &found))
            return false;
        if (!found.storage.name)
            continue;
        if (own->storage.name &&
            (!storage_equal(&own->storage, &found.storage) || own->transposed != found.transposed)) {
            diag_error(o->cx, nowhere, "%s: %s is held as %s%s, and %s, which it is tied to, as %s%s",
                       o->path, tensor->path, storage_text(&o->cx->arena, &found.storage),
                       found.transposed ? " transposed" : "", tensor->first->path,
                       storage_text(&o->cx->arena, &own->storage), own->transposed ? " transposed" : "");
            return refuse(o);
        }
        *own = found;
        *any = true;
    }
    return true;
}

/* ---- the tables of the model, as far as loading reads them -------------------------------------------------- */

struct tables {
    struct modc_model model;
    int *at; /* by key: which of theirs it is; behind it is that of its scales */
};

static struct modc_key table_key(struct opened *o, const struct module_tensor *own)
{
    struct modc_key key = {.name = own->path,
                           .dtype = (enum modc_dtype)own->dtype,
                           .ndim = own->ndim,
                           .module = own->owner->index,
                           .init = MODC_INIT_CONSTANT,
                           .a = own->a};

    for (int d = 0; d < own->ndim; d++)
        key.dims[d] = (int)own->dims[d];
    if (own->kind == MODULE_PARAMETER)
        key.flags |= MODC_KEY_PARAMETER;
    if (own->persistent)
        key.flags |= MODC_KEY_PERSISTENT;
    if (own->optional)
        key.flags |= MODC_KEY_OPTIONAL;
    if (own->init == INIT_VALUE) {
        key.init = MODC_INIT_VALUE;
        key.value = constant_bytes(&o->cx->arena, own->value);
    }
    return key;
}

/* The integers, and behind them the scales. */
static void scaled_keys(struct opened *o, const struct module_tensor *own, const struct scaled_weight *weight,
                        struct modc_key *keys)
{
    const int64_t wide = weight->storage.bits == 8 ? weight->k : (weight->k + 1) / 2;

    keys[0] = (struct modc_key){.name = own->path,
                                .dtype = weight->storage.bits == 8 ? MODC_INT8 : MODC_UINT8,
                                .ndim = 2,
                                .dims = {(int)weight->n, (int)wide},
                                .module = own->owner->index,
                                .flags = MODC_KEY_PARAMETER};
    keys[1] = (struct modc_key){
        .name = scale_name(o, own->path),
        .dtype = (enum modc_dtype)weight->storage.scale,
        .ndim = weight->storage.group > 0 ? 2 : 1,
        .dims = {(int)weight->n, (int)storage_groups(&weight->storage, weight->k)},
        .module = own->owner->index,
        .flags = MODC_KEY_PARAMETER,
    };
    if (keys[1].ndim == 1)
        keys[1].dims[1] = 0;
}

static struct modc_module *table_modules(struct opened *o)
{
    struct modc_module *modules = ARENA_ARRAY(&o->cx->arena, o->tree->module_count, struct modc_module);

    for (int i = 0; i < o->tree->module_count; i++) {
        const struct module *own = o->tree->modules[i];

        modules[i] = (struct modc_module){.path = own->path,
                                          .name = own->name ? own->name : "",
                                          .class_name = own->class_name,
                                          .extra_repr = "",
                                          .parent = own->parent ? own->parent->index : -1,
                                          .subtree = own->subtree};
    }
    return modules;
}

static struct tables *make_tables(struct opened *o)
{
    struct arena *arena = &o->cx->arena;
    struct tables *tables = ARENA_NEW(arena, struct tables);
    struct modc_key *keys = ARENA_ARRAY(arena, 2 * o->tree->key_count + 1, struct modc_key);
    int count = 0;

    tables->at = ARENA_ARRAY(arena, o->tree->key_count + 1, int);
    for (int i = 0; i < o->tree->key_count; i++) {
        const struct module_tensor *own = o->tree->keys[i];
        const int first = own->first->key;
        const struct scaled_weight *scaled = &o->file->scaled[first];
        const int parts = scaled->storage.name ? 2 : 1;

        tables->at[i] = count;
        if (parts == 2)
            scaled_keys(o, own, scaled, keys + count);
        else
            keys[count] = table_key(o, own);
        for (int part = 0; part < parts; part++, count++) {
            keys[count].tied = tables->at[i] - tables->at[first];
            if (keys[count].tied == 0)
                tables->model.param_block += (size_t)plan_aligned(o->plan,
                                                                  (int64_t)modc_key_bytes(&keys[count]));
        }
    }
    tables->model.abi = MODC_ABI;
    tables->model.name = o->plan->model;
    tables->model.align = HOSTED_ALIGN;
    tables->model.tensor_align = (size_t)o->plan->align;
    tables->model.params_bytes = modc_key_pointer(count);
    tables->model.key_count = count;
    tables->model.keys = keys;
    tables->model.module_count = o->tree->module_count;
    tables->model.modules = table_modules(o);
    return tables;
}

static char *aligned_block(struct arena *arena, size_t bytes)
{
    char *block = arena_alloc(arena, bytes + HOSTED_ALIGN);

    return block + (HOSTED_ALIGN - (uintptr_t)block % HOSTED_ALIGN) % HOSTED_ALIGN;
}

/* ---- what was loaded ---------------------------------------------------------------------------------------- */

static bool take_loaded(struct opened *o, const struct tables *tables, const struct modc_params *params)
{
    for (int i = 0; i < o->tree->key_count; i++) {
        const struct module_tensor *tensor = o->tree->keys[i];
        struct scaled_weight *scaled = &o->file->scaled[i];
        char *to = o->file->tensors + o->plan->param_offsets[i];
        const char *parts[2], *fault;

        if (tensor->first != tensor)
            continue;
        memcpy(&parts[0], (const char *)params + modc_key_pointer(tables->at[i]), sizeof parts[0]);
        if (!scaled->storage.name) {
            if (parts[0] != to)
                memcpy(to, parts[0], modc_key_bytes(&tables->model.keys[tables->at[i]]));
            continue;
        }
        memcpy(&parts[1], (const char *)params + modc_key_pointer(tables->at[i] + 1), sizeof parts[1]);
        scaled->integers = (const unsigned char *)parts[0];
        scaled->scales = parts[1];
        fault = scaled_fault(o->cx, scaled);
        if (fault) {
            diag_error(o->cx, nowhere, "%s: %s has %s", o->path, scale_name(o, tensor->path), fault);
            diag_hint(o->cx, "weights that are not finite have no integers");
            return false;
        }
        scaled_numbers(scaled, tensor->dtype, to);
    }
    return true;
}

static bool load(struct opened *o, bool any_scaled)
{
    struct arena *arena = &o->cx->arena;
    struct tables *tables = make_tables(o);
    struct modc_params *params = arena_alloc(arena, tables->model.params_bytes);
    struct modc_report *report = ARENA_NEW(arena, struct modc_report);
    char *block = o->file->tensors;
    enum modc_status status;

    if (any_scaled)
        block = aligned_block(arena, tables->model.param_block);
    status = modc_bind(params, &tables->model, block, tables->model.param_block);
    assert(status == MODC_OK);
    status = modc_load_indexed(params, o->bytes, o->length, MODC_STRICT, o->memory, o->memory_bytes, report);
    if (status == MODC_OK)
        return take_loaded(o, tables, params);
    tensor_file_say(o->cx, nowhere, o->path, report);
    return false;
}

bool weights_read(struct cx *cx, const struct plan *plan, const char *path, const struct weights_use *uses,
                  struct weights_file *file)
{
    struct arena *arena = &cx->arena;
    struct opened o = {.cx = cx, .plan = plan, .tree = plan->program->tree, .path = path, .file = file};
    bool any_scaled = false, good;

    file->tensors = aligned_block(arena, (size_t)plan->param_bytes);
    file->scaled = ARENA_ARRAY(arena, o.tree->key_count + 1, struct scaled_weight);
    errno = 0;
    if (modc_map(path, &o.bytes, &o.length) != MODC_OK) {
        tensor_file_unreadable(cx, nowhere, path);
        return false;
    }
    o.memory_bytes = modc_reader_index_bytes(o.bytes, o.length);
    o.memory = arena_alloc(arena, o.memory_bytes);
    good = modc_reader_open_indexed(&o.reader, o.bytes, o.length, o.memory, o.memory_bytes, NULL) !=
               MODC_OK ||
           find_all_scaled(&o, uses, &any_scaled);
    good = good && load(&o, any_scaled);
    modc_unmap(o.bytes, o.length);
    return good;
}

/* ---- writing ------------------------------------------------------------------------------------------------ */

/* `text` behind the first `at` bytes of the header of a file, which is made whole again. */
static char *with_metadata(struct arena *arena, const char *bytes, size_t *length, size_t at,
                           const char *text)
{
    const size_t added = (strlen(text) + 7) / 8 * 8;
    char *out = arena_alloc(arena, *length + added);
    uint64_t header = added;

    for (int i = 0; i < 8; i++)
        header += (uint64_t)(unsigned char)bytes[i] << 8 * i;
    for (int i = 0; i < 8; i++)
        out[i] = (char)(header >> 8 * i & 255);
    memcpy(out + 8, bytes + 8, at);
    memset(out + 8 + at, ' ', added);
    memcpy(out + 8 + at, text, strlen(text));
    memcpy(out + 8 + at + added, bytes + 8 + at, *length - 8 - at);
    *length += added;
    return out;
}

const char *weights_file_bytes(struct cx *cx, struct arena *arena, const struct weights_tensor *tensors,
                               int count, size_t *length)
{
    static const char has[] = "{\"__metadata__\":{";
    struct modc_named_tensor *list = ARENA_ARRAY(arena, count + 1, struct modc_named_tensor);
    struct text about = text_new(arena);
    char *bytes;

    for (int i = 0; i < count; i++) {
        list[i].name = tensors[i].name;
        list[i].tensor.data = (void *)(uintptr_t)tensors[i].bytes;
        list[i].tensor.dtype = (enum modc_dtype)tensors[i].dtype;
        list[i].tensor.ndim = tensors[i].ndim;
        for (int d = 0; d < tensors[i].ndim; d++)
            list[i].tensor.dims[d] = (int)tensors[i].dims[d];
        if (tensors[i].about)
            text_printf(&about, "%s%s: %s", about.length ? "\\n" : "", tensors[i].name, tensors[i].about);
    }
    if (modc_write_tensors(list, count, NULL, 0, length) != MODC_OK) {
        diag_error(cx, nowhere, "the file would be larger than files can be");
        return NULL;
    }
    bytes = arena_alloc(arena, *length + 1);
    if (modc_write_tensors(list, count, bytes, *length, length) != MODC_OK)
        assert(!"it was counted before");
    if (about.length == 0)
        return bytes;
    if (strncmp(bytes + 8, has, sizeof has - 1) == 0)
        return with_metadata(arena, bytes, length, sizeof has - 1,
                             arena_format(arena, "\"" ABOUT_KEY "\":\"%s\",", about.data));
    return with_metadata(
        arena, bytes, length, 1,
        arena_format(arena, "\"__metadata__\":{\"" ABOUT_KEY "\":\"%s\"}%s", about.data, count ? "," : ""));
}
