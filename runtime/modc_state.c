/* modc_state.c - the parameters of a model: bind, load, save, pack, and what a load has to say.
 *
 * Everything works over the constant tables of struct modc_model. A load checks the whole file against the
 * tables before it copies the first byte, so that a failed one leaves the parameters as they were. */
#include "modc_integers.h"
#include "modc_places.h"

#include <string.h>

const char *modc_status_text(enum modc_status status)
{
    static const char *const texts[] = {
        [MODC_OK] = "ok",
        [MODC_STALE] = "parameters are not packed, changed since, or others were packed over them",
        [MODC_ALIGNMENT] = "a block or tensor is not aligned",
        [MODC_WORKSPACE] = "the workspace is too small",
        [MODC_SIZE] = "a size is out of range or does not agree with another",
        [MODC_POINTER] = "a needed pointer is NULL, or of memory that a GPU does not reach",
        [MODC_HOOK_SHAPE] = "a hook changed the dtype or shape of a value",
        [MODC_HOOK_ERROR] = "a hook returned an error",
        [MODC_INDEX] = "an index is out of range",
        [MODC_DIVISION] = "integer division by zero",
        [MODC_FILE] = "a file cannot be read or written",
        [MODC_FORMAT] = "not a safetensors file",
        [MODC_KEYS] = "the file does not fit the model",
        [MODC_NAME] = "no such module, parameter, buffer or entry",
        [MODC_READ_ONLY] = "the tensors lie in read-only memory",
        [MODC_MEMORY] = "out of memory",
        [MODC_ARGUMENT] = "an argument has a value that is not allowed",
        [MODC_CONSUMED] = "no forward call keeps what backward needs, or another call came after it",
        [MODC_NONFINITE] = "a gradient is NaN or infinite",
        [MODC_UNSUPPORTED] = "left out of this build, or not in this machine",
        [MODC_BUSY] =
            "a hook uses the context whose call it runs in, a stream is not at its end, or a result has not come",
        [MODC_GPU] = "the GPU, or what calls it, failed",
        [MODC_FULL] = "no sequence, no page of the cache, or no place in the queue, is free",
        [MODC_CLOSED] = "the queue was shut down",
    };

    return (unsigned)status < sizeof texts / sizeof texts[0] ? texts[status] : "unknown status";
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static bool in_state_dict(const struct modc_key *key)
{
    return (key->flags & (MODC_KEY_PARAMETER | MODC_KEY_PERSISTENT)) != 0;
}

static size_t key_count(const struct modc_key *key)
{
    size_t count = 1;

    for (int i = 0; i < key->ndim; i++)
        count *= (size_t)key->dims[i];
    return count;
}

size_t modc_key_bytes(const struct modc_key *key)
{
    return key_count(key) * modc_dtype_bytes(key->dtype);
}

/* What a tensor takes of a block. */
static size_t room_of(const struct modc_model *model, const struct modc_key *key)
{
    return (modc_key_bytes(key) + model->tensor_align - 1) / model->tensor_align * model->tensor_align;
}

size_t modc_key_block(const struct modc_model *model, int key)
{
    size_t block = 0;

    for (int i = 0; i < key - model->keys[key].tied; i++)
        block += model->keys[i].tied == 0 ? room_of(model, &model->keys[i]) : 0;
    return block;
}

/* The members of struct MODEL_params are `float *` and the like: read and written as bytes. */
static void *pointer_of(const struct modc_params *params, int key)
{
    void *pointer;

    memcpy(&pointer, (const char *)params + modc_key_pointer(key), sizeof pointer);
    return pointer;
}

static void set_pointer(struct modc_params *params, int key, const void *pointer)
{
    memcpy((char *)params + modc_key_pointer(key), &pointer, sizeof pointer);
}

void modc_fill_constant(const struct modc_key *key, void *out)
{
    size_t bytes = modc_dtype_bytes(key->dtype), count = key_count(key);
    unsigned char element[MODC_WIDEST] = {0}, *to = out;

    if (count == 0)
        return;
    if (key->init == MODC_INIT_VALUE && key->value != NULL)
        memcpy(out, key->value, count * bytes);
    if (key->init != MODC_INIT_CONSTANT)
        return;
    modc_store(element, key->dtype, key->a);
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * bytes, element, bytes);
}

/* ---- binding ------------------------------------------------------------------------------------------- */

static bool is_aligned(const void *block, size_t align)
{
    return (uintptr_t)block % (align > 0 ? align : 1) == 0;
}

enum modc_status modc_bind(struct modc_params *params, const struct modc_model *model, void *block,
                           size_t bytes)
{
    if (params == NULL || model == NULL || (block == NULL && model->param_block > 0))
        return MODC_POINTER;
    if (!is_aligned(block, model->align))
        return MODC_ALIGNMENT;
    if (bytes < model->param_block)
        return MODC_SIZE;

    char *tensor = block;

    memset(params, 0, model->params_bytes);
    params->model = model;
    params->version = 1;
    params->block = block;
    if (modc_integer_code_of(model) != NULL)
        modc_integer_code_of(model)->forget(params);
    for (int i = 0; i < model->key_count; i++) {
        const struct modc_key *key = &model->keys[i];

        if (key->tied > 0) {
            set_pointer(params, i, pointer_of(params, i - key->tied));
            continue;
        }
        set_pointer(params, i, tensor);
        if ((key->flags & MODC_KEY_PARAMETER) == 0)
            modc_fill_constant(key, tensor);
        tensor += room_of(model, key);
    }
    return MODC_OK;
}

enum modc_status modc_pack(struct modc_params *params, void *block, size_t bytes)
{
    if (params == NULL || params->model == NULL)
        return MODC_POINTER;

    const struct modc_model *model = params->model;

    if (model->pack == NULL)
        return MODC_OK;
    if (block != NULL) {
        if (!is_aligned(block, model->align))
            return MODC_ALIGNMENT;
        if (bytes < model->packed_block)
            return MODC_SIZE;
        params->packed = block;
        params->packed_version = 0;
        params->packed_owner = NULL;
    }
    if (params->packed == NULL)
        return MODC_POINTER;
    for (int i = 0; i < model->key_count; i++) {
        if (pointer_of(params, i) == NULL)
            return MODC_POINTER;
    }

    if (model->device == NULL) {
        char *end = (char *)params->packed + model->packed_block;

        params->packed_owner = params; /* if packing fails, the block is no others' either */
        memcpy(end - MODC_OWNER_BYTES, &params->packed_owner, sizeof params->packed_owner);
    }

    enum modc_status status = model->pack(params);

    if (status == MODC_OK) {
        params->packed_version = params->version;
        params->packed_buffer_version = params->buffer_version;
    }
    return status;
}

void modc_changed(struct modc_params *params)
{
    params->version++;
}

enum modc_status modc_get_tensor(const struct modc_params *params, int index, struct modc_tensor *tensor)
{
    if (params == NULL || params->model == NULL)
        return MODC_POINTER;
    if (index < 0 || index >= params->model->key_count)
        return MODC_INDEX;

    const struct modc_key *key = &params->model->keys[index];

    MODC_TRY(modc_settle(params));
    tensor->data = pointer_of(params, index);
    tensor->dtype = key->dtype;
    tensor->ndim = key->ndim;
    for (int i = 0; i < MODC_MAX_DIMS; i++)
        tensor->dims[i] = i < key->ndim ? key->dims[i] : 0;
    return MODC_OK;
}

enum modc_status modc_get(const struct modc_params *params, int index, void *out)
{
    struct modc_tensor tensor;
    enum modc_status status = modc_get_tensor(params, index, &tensor);

    if (status != MODC_OK)
        return status;

    const struct modc_model *model = params->model;
    size_t bytes = modc_key_bytes(&model->keys[index]);

    if (bytes == 0)
        return MODC_OK;
    if (tensor.data == NULL && !is_aligned(out, modc_dtype_align(tensor.dtype)))
        return MODC_ALIGNMENT;
    if (tensor.data == NULL)
        return model->unpack != NULL ? model->unpack(params, index, out) : MODC_POINTER;
    memcpy(out, tensor.data, bytes);
    return MODC_OK;
}

enum modc_status modc_get_by_key(const struct modc_params *params, const char *key, void *out)
{
    enum modc_status status;
    int index;

    if (params == NULL || params->model == NULL)
        return MODC_POINTER;
    status = modc_get_parameter(params->model, key, &index);
    if (status == MODC_NAME)
        status = modc_get_buffer(params->model, key, &index);
    return status == MODC_OK ? modc_get(params, index, out) : status;
}

/* ---- from one model to another ------------------------------------------------------------------------- */

/* Whether a key of one model is that of another, in another type perhaps. */
static bool same_key(const struct modc_key *from, const struct modc_key *to)
{
    bool same = from->ndim == to->ndim && from->tied == to->tied &&
                ((from->flags ^ to->flags) & MODC_KEY_PARAMETER) == 0 &&
                modc_converts(to->dtype, from->dtype);

    for (int i = 0; same && i < from->ndim; i++)
        same = from->dims[i] == to->dims[i];
    return same && modc_same_text(from->name, to->name);
}

static enum modc_status check_to(const struct modc_params *from, const struct modc_params *to)
{
    if (from == NULL || to == NULL || from->model == NULL || to->model == NULL)
        return MODC_POINTER;

    const struct modc_key *a = from->model->keys, *b = to->model->keys;

    if (from->model->key_count != to->model->key_count)
        return MODC_ARGUMENT;
    for (int i = 0; i < to->model->key_count; i++) {
        if (!same_key(&a[i], &b[i]))
            return MODC_ARGUMENT;
    }
    if (to->read_only)
        return MODC_READ_ONLY;
    for (int i = 0; i < to->model->key_count; i++) {
        bool packed = pointer_of(from, i) == NULL;

        if (pointer_of(to, i) == NULL ||
            (packed && (from->model->unpack == NULL || a[i].dtype != b[i].dtype)))
            return MODC_POINTER;
    }
    return MODC_OK;
}

enum modc_status modc_to(const struct modc_params *from, struct modc_params *to)
{
    enum modc_status status = check_to(from, to);

    if (status != MODC_OK)
        return status;
    MODC_TRY(modc_settle(from));
    MODC_TRY(modc_settle(to));
    for (int i = 0; i < to->model->key_count; i++) {
        const struct modc_key *source = &from->model->keys[i], *target = &to->model->keys[i];
        const void *tensor = pointer_of(from, i);
        void *out = pointer_of(to, i);

        if (target->tied > 0 || tensor == out)
            continue;
        if (tensor != NULL)
            modc_convert(out, target->dtype, tensor, source->dtype, key_count(source));
        else
            modc_get(from, i, out);
    }
    if (modc_integer_code_of(to->model) != NULL)
        modc_integer_code_of(to->model)->copy(from, to);
    to->version++;
    return MODC_OK;
}

/* ---- state hooks --------------------------------------------------------------------------------------- */

enum modc_status modc_register_state_hook(struct modc_params *params, int module,
                                          enum modc_state_hook_kind kind, struct modc_state_hook *hook)
{
    if (params == NULL || params->model == NULL || hook == NULL || hook->call == NULL)
        return MODC_POINTER;
    if (module < 0 || module >= params->model->module_count)
        return MODC_INDEX;
    if (hook->list != NULL)
        return MODC_ARGUMENT;

    struct modc_state_hook **end = &params->state_hooks;

    while (*end != NULL)
        end = &(*end)->next;
    *end = hook;
    hook->next = NULL;
    hook->list = &params->state_hooks;
    hook->module = module;
    hook->kind = kind;
    return MODC_OK;
}

void modc_state_hook_remove(struct modc_state_hook *hook)
{
    if (hook == NULL || hook->list == NULL)
        return;
    for (struct modc_state_hook **at = hook->list; *at != NULL; at = &(*at)->next) {
        if (*at == hook) {
            *at = hook->next; /* hook->next stays: a walk that stands here can go on */
            break;
        }
    }
    hook->list = NULL;
}

static enum modc_status run_module_hooks(enum modc_state_hook_kind kind, int module,
                                         struct modc_state_call *call)
{
    const struct modc_params *params = call->params;

    for (struct modc_state_hook *hook = params->state_hooks, *next; hook != NULL; hook = next) {
        next = hook->next;
        if (hook->kind != kind || hook->module != module)
            continue;
        call->module = module;
        call->path = params->model->modules[module].path;
        call->user = hook->user;

        enum modc_status status = hook->call(call);

        if (status != MODC_OK)
            return status;
    }
    return MODC_OK;
}

/* The first module below this one that a walk with children first visits. */
static int first_below(const struct modc_model *model, int module)
{
    while (model->modules[module].subtree > 0)
        module++;
    return module;
}

/* The module after this one in a walk with children first; -1 after the root. */
static int next_upwards(const struct modc_model *model, int module)
{
    int parent = model->modules[module].parent;
    int sibling = module + model->modules[module].subtree + 1;

    if (parent < 0)
        return -1;
    if (sibling > parent + model->modules[parent].subtree)
        return parent;
    return first_below(model, sibling);
}

static enum modc_status run_hooks(enum modc_state_hook_kind kind, struct modc_state_call *call)
{
    const struct modc_model *model = call->params->model;
    bool upwards = kind == MODC_STATE_DICT_POST || kind == MODC_LOAD_POST;
    enum modc_status status = MODC_OK;

    if (call->params->state_hooks == NULL)
        return MODC_OK;
    if (upwards) {
        for (int m = first_below(model, 0); m >= 0 && status == MODC_OK; m = next_upwards(model, m))
            status = run_module_hooks(kind, m, call);
    } else {
        for (int m = 0; m < model->module_count && status == MODC_OK; m++)
            status = run_module_hooks(kind, m, call);
    }
    return status;
}

/* ---- saving -------------------------------------------------------------------------------------------- */

/* Twice as many tensors as keys: behind them the scales of those that are saved as integers. */
struct saving {
    const struct modc_params *params;
    unsigned char
        integers[MODC_SMALL ? 32 : 1024]; /* bit k % 8 of byte k / 8: row k of the table is saved so */
};

/* The row of what is saved as integers; NULL: it is saved as it is. */
static const struct modc_integers *saved_integers(const struct saving *saving, int key)
{
    const struct modc_model *model = saving->params->model;
    const struct modc_integers *row = model->integer_count > 0
                                          ? modc_integer_code_of(model)->row_of(model, key)
                                          : NULL;
    const size_t at = row != NULL ? (size_t)(row - model->integers) : 0;

    if (row == NULL)
        return NULL;
    if (at / 8 < sizeof saving->integers)
        return (saving->integers[at / 8] >> at % 8 & 1) != 0 ? row : NULL;
    return modc_integer_code_of(model)->has(saving->params, row) ? row : NULL;
}

static void find_saved_integers(struct saving *saving)
{
    const struct modc_model *model = saving->params->model;

    memset(saving->integers, 0, sizeof saving->integers);
    for (int i = 0; i < model->integer_count && (size_t)i / 8 < sizeof saving->integers; i++)
        if (modc_integer_code_of(model)->has(saving->params, &model->integers[i]))
            saving->integers[i / 8] |= (unsigned char)(1u << i % 8);
}

static void get_key(const struct modc_writer *writer, int index, struct modc_named_tensor *named)
{
    const struct saving *saving = writer->user;
    const struct modc_model *model = saving->params->model;
    const bool scales = index >= model->key_count;
    const int key = scales ? index - model->key_count : index;
    const struct modc_integers *row;

    if (!in_state_dict(&model->keys[key]))
        return;
    row = saved_integers(saving, key);
    if (scales && row == NULL)
        return;
    named->name = model->keys[key].name;
    if (row != NULL)
        modc_integer_code_of(model)->tensor(saving->params, row, scales, &named->tensor);
    else
        modc_get_tensor(saving->params, key, &named->tensor);
}

static enum modc_status copy_key(const struct modc_writer *writer, int index, void *out)
{
    const struct saving *saving = writer->user;
    const struct modc_model *model = saving->params->model;
    const int keys = model->key_count;
    const struct modc_integers *row = saved_integers(saving, index < keys ? index : index - keys);
    struct modc_tensor tensor;

    if (row == NULL)
        return modc_get(saving->params, index, out);
    if (index < keys) {
        modc_integer_code_of(model)->get(saving->params, row, out);
        return MODC_OK;
    }
    modc_integer_code_of(model)->tensor(saving->params, row, true, &tensor);
    memcpy(out, tensor.data, modc_tensor_bytes(&tensor));
    return MODC_OK;
}

static const char *suffix_of_key(const struct modc_writer *writer, int index)
{
    const struct saving *saving = writer->user;

    return index < saving->params->model->key_count ? "" : MODC_SCALE_SUFFIX;
}

static bool stored_key(const struct modc_writer *writer, int index, struct modc_storage *storage)
{
    const struct saving *saving = writer->user;
    const struct modc_integers *row = index < saving->params->model->key_count ? saved_integers(saving, index)
                                                                               : NULL;

    if (row != NULL)
        *storage = row->storage;
    return row != NULL;
}

enum modc_status modc_save_bytes(const struct modc_params *params, void *out, size_t capacity, size_t *length)
{
    if (params == NULL || params->model == NULL || length == NULL)
        return MODC_POINTER;
    if (params->model->unpack != NULL && !is_aligned(out, MODC_ALIGN_WIDE))
        return MODC_ALIGNMENT;

    MODC_TRY(modc_settle(params));

    struct saving saving;
    struct modc_writer writer = {2 * params->model->key_count,
                                 &saving,
                                 get_key,
                                 copy_key,
                                 suffix_of_key,
                                 modc_integer_code_of(params->model) != NULL ? stored_key : NULL};
    struct modc_state_call call = {params, 0, "", NULL, NULL, 0, 0, NULL, false};
    enum modc_status status = run_hooks(MODC_STATE_DICT_PRE, &call);

    saving.params = params;
    find_saved_integers(&saving);
    if (status == MODC_OK)
        status = modc_writer_run(&writer, out, capacity, length);
    if (status != MODC_OK)
        return status;
    call.bytes = out;
    call.length = *length;
    return run_hooks(MODC_STATE_DICT_POST, &call);
}

/* ---- loading: which key a tensor of the file is -------------------------------------------------------- */

/* The first key of this module or a later one. */
static int first_key(const struct modc_model *model, int module)
{
    int low = 0, high = model->key_count;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (model->keys[middle].module < module)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether text begins with start followed by a dot. */
static bool begins(const char *text, size_t length, const char *start, size_t *used)
{
    size_t i = 0;

    for (; start[i] != '\0'; i++) {
        if (i == length || text[i] != start[i])
            return false;
    }
    *used = i + 1;
    return i < length && text[i] == '.';
}

/* The child that a number names, where all children have as many modules below them: they stand in even steps. -1: not so. */
static int numbered_child(const struct modc_model *model, int parent, const char *text, size_t length)
{
    const int last = parent + model->modules[parent].subtree,
              step = last > parent ? model->modules[parent + 1].subtree + 1 : 1;
    int child = parent + 1;

    for (size_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
        const int number = (child - parent - 1) / step * 10 + (text[i] - '0');

        if (number > (last - parent) / step)
            return -1;
        child = parent + 1 + number * step;
    }
    return child <= last && model->modules[child].parent == parent ? child : -1;
}

/* Finds the key with the item's name but for what stands behind it (NULL: nothing), or -1; *module becomes the module that
 * load_state_dict would look for it in. Goes down the tree by path, so that a file of n keys takes n times the children on the way, not n
 * squared; those of a list of equal modules are found by their number. */
static int find_key_of(const struct modc_model *model, const struct modc_item *item, const char *suffix,
                       int *module)
{
    enum { LONGEST_ESCAPED = MODC_SMALL ? 128 : 1024 };
    char decoded[LONGEST_ESCAPED];
    const char *rest = item->name;
    size_t length = item->name_length, used = 0;
    bool escaped = false;

    *module = 0;
    for (size_t i = 0; i < length; i++)
        escaped = escaped || rest[i] == '\\';
    if (escaped) {
        rest = decoded;
        length = modc_item_name(item, decoded, sizeof decoded);
        length = length < sizeof decoded ? length : sizeof decoded - 1;
    }
    for (int parent = 0, child = 1, end = model->modules[0].subtree; child <= end;) {
        const int guess = child == parent + 1 ? numbered_child(model, parent, rest, length) : -1;

        if (guess > 0 && begins(rest, length, model->modules[guess].name, &used))
            child = guess;
        if (begins(rest, length, model->modules[child].name, &used)) {
            rest += used;
            length -= used;
            *module = parent = child;
            end = child + model->modules[child].subtree;
            child++;
        } else {
            child += model->modules[child].subtree + 1;
        }
    }

    int key = first_key(model, *module);

    for (; key < model->key_count && model->keys[key].module == *module; key++) {
        if (in_state_dict(&model->keys[key]) && modc_item_is_joined(item, model->keys[key].name, suffix))
            return key;
    }
    return -1;
}

static int find_key(const struct modc_model *model, const struct modc_item *item, int *module)
{
    return find_key_of(model, item, NULL, module);
}

/* ---- loading: checks ----------------------------------------------------------------------------------- */

struct load {
    struct modc_params *params;
    const struct modc_model *model;
    unsigned flags;
    struct modc_reader reader;
    struct modc_report *report; /* may be NULL */
    int faults, missing, unexpected;
    void *memory; /* for modc_reader_open_indexed, or NULL */
    size_t memory_bytes;
};

/* Keeps the first faults in state_dict order. NULL: it is not among them, or there is no report. */
static struct modc_fault *add_fault(struct load *load, enum modc_fault_kind kind, int key, int other,
                                    const struct modc_item *item)
{
    struct modc_report *report = load->report;
    int i = load->faults < MODC_REPORT_FAULTS ? load->faults : MODC_REPORT_FAULTS;

    load->faults++;
    if (report == NULL)
        return NULL;
    report->fault_count = load->faults;
    while (i > 0 && report->faults[i - 1].key > key)
        i--;
    if (i == MODC_REPORT_FAULTS)
        return NULL;
    for (int k = MODC_REPORT_FAULTS - 1; k > i; k--)
        report->faults[k] = report->faults[k - 1];

    struct modc_fault *fault = &report->faults[i];

    fault->kind = kind;
    fault->key = key;
    fault->other = other;
    fault->found_dtype = item->dtype_name;
    fault->found_ndim = item->ndim;
    for (int k = 0; k < MODC_MAX_DIMS; k++)
        fault->found_dims[k] = item->dims[k];
    return fault;
}

static bool same_shape(const struct modc_key *key, const struct modc_item *item)
{
    if (key->ndim == 0 && item->ndim == 1)
        return item->dims[0] == 1; /* files of PyTorch before 0.4 */
    return modc_item_has_shape(item, key->ndim, key->dims);
}

static bool same_dtype(const struct load *load, const struct modc_key *key, const struct modc_item *item)
{
    if (item->dtype == (int)key->dtype)
        return true;
    return (load->flags & MODC_ASSIGN) == 0 && item->dtype >= 0 &&
           modc_converts(key->dtype, (enum modc_dtype)item->dtype);
}

/* Whether the item is integers with scales, of a key with floats. */
static bool is_held(const struct load *load, int index, const struct modc_item *item)
{
    const struct modc_integer_code *code = modc_integer_code_of(load->model);

    return code != NULL && (load->flags & MODC_ASSIGN) == 0 &&
           code->is_held(&load->reader, &load->model->keys[index], item);
}

/* Whether it is the scales of an item that is. */
static bool is_scales(const struct load *load, const struct modc_item *item)
{
    struct modc_item integers;
    int module, key = find_key_of(load->model, item, MODC_SCALE_SUFFIX, &module);

    return key >= 0 && modc_reader_find(&load->reader, load->model->keys[key].name, &integers) &&
           is_held(load, key, &integers);
}

static enum modc_integers_fault read_held(const struct load *load, int index, const struct modc_item *item,
                                          struct modc_held *held, struct modc_item *wrong)
{
    const struct modc_integer_code *code = modc_integer_code_of(load->model);

    return code->read(&load->reader, &load->model->keys[index], code->row_of(load->model, index), item, held,
                      wrong);
}

static void check_held(struct load *load, int index, const struct modc_item *item)
{
    struct modc_held held;
    struct modc_item wrong;
    const enum modc_integers_fault why = read_held(load, index, item, &held, &wrong);
    struct modc_fault *fault = why != MODC_INTEGERS_GOOD
                                   ? add_fault(load, MODC_FAULT_INTEGERS, index, index, &wrong)
                                   : NULL;

    if (fault != NULL) {
        fault->integers = why;
        fault->storage = held.storage;
    }
}

static void check_item(struct load *load, int index, const struct modc_item *item)
{
    const struct modc_key *key = &load->model->keys[index];

    if (is_held(load, index, item))
        check_held(load, index, item);
    else if (!same_shape(key, item))
        add_fault(load, MODC_FAULT_SHAPE, index, index, item);
    else if (!same_dtype(load, key, item))
        add_fault(load, MODC_FAULT_DTYPE, index, index, item);
    else if ((load->flags & MODC_ASSIGN) != 0 && !is_aligned(item->data, modc_dtype_align(key->dtype)))
        add_fault(load, MODC_FAULT_ALIGNMENT, index, index, item);
}

/* Whether two tensors of the file have the same bits once they are what the key holds. */
static bool equal_as(const struct modc_key *key, const struct modc_item *a, const struct modc_item *b)
{
    enum { CHUNK = 32 };
    unsigned char x[CHUNK * 16], y[CHUNK * 16];
    size_t count = key_count(key), bytes = modc_dtype_bytes(key->dtype);
    size_t a_bytes = modc_dtype_bytes((enum modc_dtype)a->dtype);
    size_t b_bytes = modc_dtype_bytes((enum modc_dtype)b->dtype);

    for (size_t at = 0; at < count; at += CHUNK) {
        size_t n = count - at < CHUNK ? count - at : CHUNK;

        modc_convert(x, key->dtype, (const char *)a->data + at * a_bytes, (enum modc_dtype)a->dtype, n);
        modc_convert(y, key->dtype, (const char *)b->data + at * b_bytes, (enum modc_dtype)b->dtype, n);
        for (size_t i = 0; i < n * bytes; i++) {
            if (x[i] != y[i])
                return false;
        }
    }
    return true;
}

/* Finds a key of the tie before `end` that is in the file; -1: none. */
static int find_tied(const struct load *load, int owner, int end, struct modc_item *item)
{
    for (int i = owner; i < end; i++) {
        const struct modc_key *key = &load->model->keys[i];

        if (i - key->tied == owner && in_state_dict(key) && modc_reader_find(&load->reader, key->name, item))
            return i;
    }
    return -1;
}

/* Whether two keys of a tie have one value, where one is integers; what is said of them by themselves counts as that. */
static bool same_held(const struct load *load, int a, const struct modc_item *first, int b,
                      const struct modc_item *second)
{
    struct modc_held held, other;
    struct modc_item wrong;

    if (!is_held(load, a, first) || !is_held(load, b, second))
        return false;
    return read_held(load, a, first, &held, &wrong) != MODC_INTEGERS_GOOD ||
           read_held(load, b, second, &other, &wrong) != MODC_INTEGERS_GOOD ||
           modc_integer_code_of(load->model)->equal(&held, &other);
}

static void check_ties(struct load *load)
{
    const struct modc_model *model = load->model;

    for (int i = 0; i < model->key_count; i++) {
        const struct modc_key *key = &model->keys[i];
        struct modc_item item, first;

        if (key->tied == 0 || !modc_reader_find(&load->reader, key->name, &item))
            continue;

        int other = find_tied(load, i - key->tied, i, &first);

        if (other >= 0 && (is_held(load, i, &item) || is_held(load, other, &first))) {
            if (!same_held(load, other, &first, i, &item))
                add_fault(load, MODC_FAULT_TIE, other, i, &item);
            continue;
        }
        if (other < 0 || !same_shape(key, &item) || !same_shape(key, &first) ||
            !same_dtype(load, key, &item) || !same_dtype(load, key, &first))
            continue;
        if (!equal_as(key, &first, &item))
            add_fault(load, MODC_FAULT_TIE, other, i, &item);
    }
}

/* Keys of which neither the file has one nor another of their tie, in walks over the file that have a bit each for so many. */
static void find_missing(struct load *load)
{
    enum { WINDOW = MODC_SMALL ? 256 : 32768 };
    const struct modc_model *model = load->model;
    unsigned char seen[WINDOW / 8]; /* by the first key of the tie */
    struct modc_item item;

    for (int from = 0; from < model->key_count; from += WINDOW) {
        memset(seen, 0, sizeof seen);
        for (size_t at = 0; modc_reader_next(&load->reader, &at, &item);) {
            int module, key = find_key(model, &item, &module),
                        first = key < 0 ? -1 : key - model->keys[key].tied;

            if (first >= from && first - from < WINDOW)
                seen[(first - from) / 8] |= (unsigned char)(1u << (first - from) % 8);
        }
        for (int i = from; i < model->key_count; i++) {
            const struct modc_key *key = &model->keys[i];
            const int bit = i - key->tied - from;

            if (bit < 0 || bit >= WINDOW || !in_state_dict(key) || (key->flags & MODC_KEY_OPTIONAL) != 0 ||
                (seen[bit / 8] >> bit % 8 & 1) != 0)
                continue;
            load->missing++;
            if (load->report != NULL && i < MODC_REPORT_KEYS)
                load->report->missing[i / 8] |= (unsigned char)(1u << i % 8);
        }
    }
}

/* Writes the unexpected names in PyTorch's order, by module and then as in the file, until the text is
 * full. */
static void list_unexpected(struct load *load)
{
    struct modc_report *report = load->report;
    struct modc_batch batch;
    struct modc_item item;

    modc_batch_start(&batch);
    for (int seen = 0; seen < load->unexpected; seen += MODC_BATCH) {
        size_t at = 0;
        int module;

        for (size_t before = 0; modc_reader_next(&load->reader, &at, &item); before = at) {
            if (find_key(load->model, &item, &module) < 0 && !is_scales(load, &item))
                modc_batch_offer(&batch, (struct modc_place){(uint64_t)module, 0, before});
        }
        for (int i = 0; i < batch.count; i++) {
            size_t room = MODC_REPORT_TEXT - report->text_length, length = room;

            at = batch.places[i].at;
            if (modc_reader_next(&load->reader, &at, &item))
                length = modc_item_name(&item, report->text + report->text_length, room);
            if (length + 1 > room)
                return;
            report->text_length += length + 1;
            report->unexpected_held++;
        }
        modc_batch_next(&batch);
    }
}

/* Compares the whole file with the tables; changes nothing but the report and the counts. */
static void check_file(struct load *load)
{
    const struct modc_model *model = load->model;
    struct modc_item item;
    int needed = 0, found = 0, tied = 0;

    for (size_t at = 0; modc_reader_next(&load->reader, &at, &item);) {
        int module, key = find_key(model, &item, &module);

        if (key < 0) {
            load->unexpected += !is_scales(load, &item);
            continue;
        }
        check_item(load, key, &item);
        found += (model->keys[key].flags & MODC_KEY_OPTIONAL) == 0;
    }
    for (int i = 0; i < model->key_count; i++) {
        const struct modc_key *key = &model->keys[i];

        needed += in_state_dict(key) && (key->flags & MODC_KEY_OPTIONAL) == 0;
        tied += key->tied > 0;
    }
    if (tied > 0)
        check_ties(load);
    if (found < needed)
        find_missing(load);
    if (load->report != NULL) {
        load->report->missing_count = load->missing;
        load->report->unexpected_count = load->unexpected;
        if (load->unexpected > 0)
            list_unexpected(load);
    }
}

/* ---- loading: the copy --------------------------------------------------------------------------------- */

static void copy_item(struct load *load, int index, const struct modc_item *item)
{
    const struct modc_model *model = load->model;
    const struct modc_key *key = &model->keys[index];

    if (is_held(load, index, item)) {
        struct modc_held held;
        struct modc_item wrong;

        read_held(load, index, item, &held, &wrong); /* it was checked */
        modc_integer_code_of(model)->numbers(&held, key->dtype, pointer_of(load->params, index));
        modc_integer_code_of(model)->keep(load->params, index, &held);
        return;
    }
    if (modc_integer_code_of(model) != NULL)
        modc_integer_code_of(model)->keep(load->params, index, NULL);
    if ((load->flags & MODC_ASSIGN) == 0) {
        modc_convert(pointer_of(load->params, index), key->dtype, item->data, (enum modc_dtype)item->dtype,
                     key_count(key));
        return;
    }
    for (int i = index - key->tied; i < model->key_count; i++) {
        if (i - model->keys[i].tied == index - key->tied)
            set_pointer(load->params, i, item->data);
    }
}

static void copy_file(struct load *load)
{
    struct modc_item item;

    for (size_t at = 0; modc_reader_next(&load->reader, &at, &item);) {
        int module, key = find_key(load->model, &item, &module);

        if (key >= 0)
            copy_item(load, key, &item);
    }
    if ((load->flags & MODC_ASSIGN) != 0)
        load->params->read_only = true;
    load->params->version++;
}

static bool lacks_pointers(const struct modc_params *params)
{
    for (int i = 0; i < params->model->key_count; i++) {
        if (pointer_of(params, i) == NULL)
            return true;
    }
    return false;
}

static bool refuses(const struct load *load)
{
    int missing = load->report != NULL ? load->report->missing_count : load->missing;
    int unexpected = load->report != NULL ? load->report->unexpected_count : load->unexpected;

    return load->faults > 0 || ((load->flags & MODC_STRICT) != 0 && (missing > 0 || unexpected > 0));
}

static enum modc_status load_file(struct load *load, const void *bytes, size_t length)
{
    struct modc_state_call call = {load->params, 0, "", NULL, bytes, length, load->flags, NULL, false};
    enum modc_status status = run_hooks(MODC_LOAD_PRE, &call);

    if (status == MODC_OK)
        status = modc_reader_open_indexed(&load->reader, call.bytes, call.length, load->memory,
                                          load->memory_bytes, load->report);
    if (status != MODC_OK)
        return status;
    check_file(load);
    call.report = load->report;
    if (refuses(load)) {
        status = run_hooks(MODC_LOAD_POST, &call);
        if (status != MODC_OK)
            return status;
        if (refuses(load))
            return MODC_KEYS;
        copy_file(load);
        return MODC_OK;
    }
    copy_file(load);
    call.loaded = true;
    return run_hooks(MODC_LOAD_POST, &call);
}

enum modc_status modc_load_indexed(struct modc_params *params, const void *bytes, size_t length,
                                   unsigned flags, void *memory, size_t memory_bytes,
                                   struct modc_report *report)
{
    enum modc_status status;
    struct load load;

    memset(&load, 0, sizeof load);
    if (report != NULL)
        memset(report, 0, sizeof *report);
    if (params == NULL || params->model == NULL || bytes == NULL) {
        status = MODC_POINTER;
    } else if ((flags & ~(unsigned)(MODC_STRICT | MODC_ASSIGN)) != 0) {
        status = MODC_ARGUMENT;
    } else if ((flags & MODC_ASSIGN) == 0 && params->read_only) {
        status = MODC_READ_ONLY;
    } else if ((flags & MODC_ASSIGN) == 0 && lacks_pointers(params)) {
        status = MODC_POINTER;
    } else {
        load.params = params;
        load.model = params->model;
        load.flags = flags;
        load.memory = memory;
        load.memory_bytes = memory_bytes;
        load.report = report;
        if (report != NULL) {
            report->model = params->model;
            report->strict = (flags & MODC_STRICT) != 0;
        }
        status = modc_settle(params);
        if (status == MODC_OK)
            status = load_file(&load, bytes, length);
    }
    if (report != NULL)
        report->status = status;
    return status;
}

enum modc_status modc_load_bytes(struct modc_params *params, const void *bytes, size_t length, unsigned flags,
                                 struct modc_report *report)
{
    return modc_load_indexed(params, bytes, length, flags, NULL, 0, report);
}
