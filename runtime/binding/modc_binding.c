/* modc_binding.c - a model as a shared library; see modc_binding.h. Hosted: it allocates. */
#include "modc_binding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MODC_MODEL
#error "compile with -DMODC_MODEL=NAME_model"
#endif
extern const struct modc_model MODC_MODEL;
#ifdef MODC_TRAINING
#include MODC_HEADER
static const struct modc_optimizer_table *const table = &MODC_OPTIMIZER_TABLE;
#else
static const struct modc_optimizer_table *const table = NULL;
#endif

int modc_binding_version(void)
{
    return MODC_BINDING;
}

const struct modc_model *modc_binding_model(void)
{
    return &MODC_MODEL;
}

/* ---- text ---------------------------------------------------------------------------------------------- */

/* What was written into `out` of a text that may be longer. */
struct text {
    char *out;
    size_t capacity, length;
};

static void put(void *user, const char *bytes, size_t count)
{
    struct text *text = user;
    const size_t room = text->length < text->capacity ? text->capacity - text->length : 0;

    if (room > 0)
        memcpy(text->out + text->length, bytes, count < room ? count : room);
    text->length += count;
}

static size_t end(struct text *text)
{
    if (text->capacity > 0)
        text->out[text->length < text->capacity ? text->length : text->capacity - 1] = 0;
    return text->length;
}

static void say(struct text *text, const char *format, ...)
{
    char piece[256];
    va_list values;
    int count;

    va_start(values, format);
    count = vsnprintf(piece, sizeof piece, format, values);
    va_end(values);
    put(text, piece, (size_t)count);
}

/* A string of JSON. Bytes over 127 are UTF-8 already. */
static void say_string(struct text *text, const char *string)
{
    put(text, "\"", 1);
    for (; *string != 0; string++) {
        if (*string == '"' || *string == '\\')
            say(text, "\\%c", *string);
        else if ((unsigned char)*string < ' ')
            say(text, "\\u%04x", (unsigned)(unsigned char)*string);
        else
            put(text, string, 1);
    }
    put(text, "\"", 1);
}

static void say_name(struct text *text, const char *name, const char *value)
{
    say(text, "\"%s\":", name);
    say_string(text, value);
}

static void say_ints(struct text *text, const char *name, const int *values, int count)
{
    say(text, ",\"%s\":[", name);
    for (int i = 0; i < count; i++)
        say(text, "%s%d", i > 0 ? "," : "", values[i]);
    say(text, "]");
}

static const char *dtype_text(enum modc_dtype dtype)
{
    static const char *const names[] = {
        [MODC_BOOL] = "bool",       [MODC_UINT8] = "uint8",         [MODC_INT8] = "int8",
        [MODC_INT16] = "int16",     [MODC_INT32] = "int32",         [MODC_INT64] = "int64",
        [MODC_FLOAT16] = "float16", [MODC_BFLOAT16] = "bfloat16",   [MODC_FLOAT32] = "float32",
        [MODC_FLOAT64] = "float64", [MODC_COMPLEX64] = "complex64", [MODC_COMPLEX128] = "complex128",
    };

    return names[dtype];
}

static void say_keys(struct text *text, const char *name, const struct modc_key *keys, int count)
{
    say(text, ",\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        const struct modc_key *key = &keys[i];

        say(text, i > 0 ? ",{" : "{");
        say_name(text, "name", key->name);
        say(text, ",\"dtype\":\"%s\",\"module\":%d,\"flags\":%u,\"tied\":%d", dtype_text(key->dtype),
            key->module, key->flags, key->tied);
        say_ints(text, "shape", key->dims, key->ndim);
        say(text, "}");
    }
    say(text, "]");
}

static void say_tensors(struct text *text, const char *name, const struct modc_io *list, int count)
{
    say(text, ",\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        say(text, i > 0 ? ",{" : "{");
        say_name(text, "name", list[i].name);
        say(text, ",\"dtype\":\"%s\",\"constant\":%s", dtype_text(list[i].dtype),
            list[i].constant ? "true" : "false");
        say_ints(text, "max", list[i].max_dims, list[i].ndim);
        say_ints(text, "size_of", list[i].size_of, list[i].ndim);
        say(text, "}");
    }
    say(text, "]");
}

static void say_entries(struct text *text, const struct modc_model *model)
{
    say(text, ",\"entries\":[");
    for (int i = 0; i < model->entry_count; i++) {
        const struct modc_entry *entry = &model->entries[i];
        const bool hooks = entry->fenced_workspace[MODC_EVAL] != 0;

        say(text, i > 0 ? ",{" : "{");
        say_name(text, "name", entry->name);
        say(text, ",\"backward\":%s,\"hooks\":%s,\"macs\":%.17g", entry->backward != NULL ? "true" : "false",
            hooks ? "true" : "false", entry->macs);
        say_ints(text, "max_sizes", entry->max_sizes, model->size_count);
        say_tensors(text, "inputs", entry->inputs, entry->input_count);
        say_tensors(text, "outputs", entry->outputs, entry->output_count);
        say(text, "}");
    }
    say(text, "]");
}

static void say_modules(struct text *text, const struct modc_model *model)
{
    say(text, ",\"modules\":[");
    for (int i = 0; i < model->module_count; i++) {
        say(text, i > 0 ? ",{" : "{");
        say_name(text, "path", model->modules[i].path);
        say(text, ",");
        say_name(text, "class", model->modules[i].class_name);
        say(text, ",");
        say_name(text, "extra_repr", model->modules[i].extra_repr);
        say(text, ",\"parent\":%d}", model->modules[i].parent);
    }
    say(text, "]");
}

/* params of a group are numbers of gradients. */
static void say_optimizer(struct text *text)
{
    static const char *const schedulers[] = {
        [MODC_LAMBDA] = "LambdaLR",
        [MODC_MULTIPLICATIVE] = "MultiplicativeLR",
        [MODC_STEP] = "StepLR",
        [MODC_MULTI_STEP] = "MultiStepLR",
        [MODC_CONSTANT] = "ConstantLR",
        [MODC_LINEAR] = "LinearLR",
        [MODC_EXPONENTIAL] = "ExponentialLR",
        [MODC_POLYNOMIAL] = "PolynomialLR",
        [MODC_COSINE] = "CosineAnnealingLR",
        [MODC_RESTARTS] = "CosineAnnealingWarmRestarts",
        [MODC_CYCLIC] = "CyclicLR",
        [MODC_ONE_CYCLE] = "OneCycleLR",
        [MODC_PLATEAU] = "ReduceLROnPlateau",
        [MODC_SEQUENTIAL] = "SequentialLR",
        [MODC_CHAINED] = "ChainedScheduler",
    };

    say(text, ",\"optimizer\":{\"name\":\"%s\",\"averages\":%s,\"fused\":%s,\"hypers\":[", table->name,
        table->averages ? "true" : "false", MODC_MODEL.gradients_offset == 0 ? "true" : "false");
    for (int i = 0; i < table->hyper_count; i++)
        say(text, "%s\"%s\"", i > 0 ? "," : "", table->hypers[i]);
    say(text, "],\"groups\":[");
    for (int g = 0; g < table->group_count; g++) {
        const char *comma = "";

        say(text, "%s[", g > 0 ? "," : "");
        for (int i = 0; i < table->param_count; i++) {
            if (table->params[i].group == g) {
                say(text, "%s%d", comma, i);
                comma = ",";
            }
        }
        say(text, "]");
    }
    say(text, "],\"schedulers\":[");
    for (int i = 0; table->scheduler != NULL && i < table->scheduler->nodes; i++)
        say(text, "%s\"%s\"", i > 0 ? "," : "", schedulers[table->scheduler[i].kind]);
    say(text, "]}");
}

static void say_generation(struct text *text, const struct modc_generation *generation)
{
    const struct modc_tokenizer *tokenizer = generation->tokenizer;

    say(text, ",\"generation\":{\"vocabulary\":%d,\"context\":%d,\"sequences\":%d,\"encoder\":%s",
        generation->vocabulary, generation->context, generation->sequences,
        generation->encoder >= 0 ? "true" : "false");
    say(text, ",\"source\":%d,\"start\":%lld,\"pad\":%lld,\"eos\":[", generation->source,
        (long long)generation->start, (long long)generation->pad);
    for (int i = 0; i < generation->eos.count; i++)
        say(text, "%s%lld", i > 0 ? "," : "", (long long)generation->eos.ids[i]);
    say(text, "],\"tokenizer\":%s,\"template\":%s", tokenizer != NULL ? "true" : "false",
        tokenizer != NULL && generation->chat != NULL ? "true" : "false");
    say(text,
        ",\"event_bytes\":%d,\"prompts_bytes\":%d,\"responses_bytes\":%d,\"turn_bytes\":%d,\"chat_bytes\":%d",
        (int)sizeof(struct modc_event), (int)sizeof(struct modc_prompts), (int)sizeof(struct modc_responses),
        (int)sizeof(struct modc_turn), (int)sizeof(struct modc_chat));
    say(text,
        ",\"settings_bytes\":%d,\"item_bytes\":%d,\"result_bytes\":%d,\"state_bytes\":%d,\"news_bytes\":%d}",
        (int)sizeof(struct modc_queue_settings), (int)sizeof(struct modc_queue_item),
        (int)sizeof(struct modc_queue_result), (int)sizeof(struct modc_queue_state),
        (int)sizeof(struct modc_binding_news));
}

size_t modc_binding_describe(char *out, size_t capacity)
{
    const struct modc_model *model = &MODC_MODEL;
    struct text text = {out, capacity, 0};

    say(&text, "{\"abi\":%d,", model->abi);
    say_name(&text, "name", model->name);
    say(&text, ",\"schema\":\"%016llx\",\"align\":%llu,\"param_block\":%llu,\"packed_block\":%llu",
        (unsigned long long)model->schema, (unsigned long long)model->align,
        (unsigned long long)model->param_block, (unsigned long long)model->packed_block);
    say(&text, ",\"rtol\":%.9g,\"threads\":%d,\"training\":%s,\"embedded\":%s", (double)model->rtol,
        model->threads, model->train_step != NULL ? "true" : "false",
        model->bind_embedded != NULL ? "true" : "false");
    say(&text, ",\"hook_bytes\":%d,\"tensor_bytes\":%d,\"extern_bytes\":%d",
        (int)sizeof(struct modc_hook_call), (int)sizeof(struct modc_tensor),
        (int)sizeof(struct modc_extern_call));
    say(&text, ",\"externs\":[");
    for (int i = 0; i < model->extern_count; i++) {
        put(&text, ",", i > 0);
        say_string(&text, model->externs[i].name);
    }
    say(&text, "]");
    say(&text, ",\"sizes\":[");
    for (int i = 0; i < model->size_count; i++) {
        say(&text, i > 0 ? ",{" : "{");
        say_name(&text, "name", model->sizes[i].name);
        say(&text, ",\"max\":%d}", model->sizes[i].max);
    }
    say(&text, "]");
    say_keys(&text, "keys", model->keys, model->key_count);
    say_keys(&text, "states", model->states, model->state_count);
    say(&text, ",\"gradients\":[");
    for (int i = 0; i < model->gradient_count; i++)
        say(&text, "%s%d", i > 0 ? "," : "", modc_gradient_key(model, i));
    say(&text, "]");
    say_modules(&text, model);
    say_entries(&text, model);
    if (table != NULL)
        say_optimizer(&text);
    if (model->generation != NULL)
        say_generation(&text, model->generation);
    say(&text, "}");
    return end(&text);
}

size_t modc_binding_print(char *out, size_t capacity)
{
    struct text text = {out, capacity, 0};

    modc_print(&MODC_MODEL, put, &text);
    return end(&text);
}

/* ---- parameters ---------------------------------------------------------------------------------------- */

void *modc_binding_key(const struct modc_params *params, int key)
{
    struct modc_tensor tensor;

    return modc_get_tensor(params, key, &tensor) == MODC_OK ? tensor.data : NULL;
}

enum modc_status modc_binding_refresh(struct modc_params *params)
{
    const bool fresh = params->packed_version == params->version && params->packed_owner == params &&
                       params->packed_buffer_version == params->buffer_version;

    return fresh ? MODC_OK : modc_pack(params, NULL, 0);
}

enum modc_status modc_binding_params_create(void *block, size_t bytes, struct modc_params **params)
{
    enum modc_status status = modc_params_create_over(&MODC_MODEL, block, bytes, params);

    if (status != MODC_OK || MODC_MODEL.bind_embedded == NULL)
        return status;
    status = MODC_MODEL.bind_embedded(*params);
    if (status != MODC_OK) {
        modc_params_destroy(*params);
        *params = NULL;
    }
    return status;
}

bool modc_binding_read_only(const struct modc_params *params)
{
    return params->read_only;
}

enum modc_status modc_binding_load(struct modc_params *params, const char *path, const void *bytes,
                                   size_t length, unsigned flags, struct modc_report **report)
{
    struct modc_report *made = calloc(1, sizeof *made);

    *report = made;
    if (made == NULL)
        return MODC_MEMORY;
    return path != NULL ? modc_load(params, path, flags, made)
                        : modc_load_bytes(params, bytes, length, flags, made);
}

size_t modc_binding_report(const struct modc_report *report, char *out, size_t capacity)
{
    const struct modc_model *model = report->model;
    struct text text = {out, capacity, 0};
    const char *name = report->text, *comma = "";

    say(&text, "{\"missing\":[");
    for (int i = 0; model != NULL && i < model->key_count && i < MODC_REPORT_KEYS; i++) {
        if ((report->missing[i / 8] >> i % 8 & 1) != 0) {
            say(&text, "%s%d", comma, i);
            comma = ",";
        }
    }
    say(&text, "],\"unexpected\":[");
    for (int i = 0; i < report->unexpected_held; i++, name += strlen(name) + 1) {
        if (i > 0)
            put(&text, ",", 1);
        say_string(&text, name);
    }
    say(&text, "]}");
    return end(&text);
}

size_t modc_binding_report_print(const struct modc_report *report, char *out, size_t capacity)
{
    struct text text = {out, capacity, 0};

    if (report->model != NULL)
        modc_report_print(report, put, &text);
    return end(&text);
}

void modc_binding_report_destroy(struct modc_report *report)
{
    free(report);
}

/* ---- calls --------------------------------------------------------------------------------------------- */

void modc_binding_shape(int entry, const int *sizes, int index, int *dims)
{
    modc_shape(&MODC_MODEL.entries[entry], sizes, index, dims);
}

const char *modc_binding_unmet(const int *sizes)
{
    const struct modc_model *model = &MODC_MODEL;
    const int unmet = model->unmet != NULL ? model->unmet(sizes) : -1;

    return unmet >= 0 ? model->requirements[unmet] : NULL;
}

enum modc_status modc_binding_backward(struct modc_context *net, int entry, const int *sizes,
                                       const void *const *output_gradients, void *const *input_gradients)
{
    return MODC_MODEL.entries[entry].backward(net, sizes, output_gradients, input_gradients);
}

enum modc_status modc_binding_train_step(struct modc_training *training, const int *sizes,
                                         const void *const *inputs, void *loss)
{
    return MODC_MODEL.train_step(training, sizes, inputs, loss);
}

void modc_binding_fault(const struct modc_context *net, int64_t fault[3])
{
    fault[0] = net->fault_module;
    fault[1] = net->fault_index;
    fault[2] = net->fault_value;
}

/* ---- hooks --------------------------------------------------------------------------------------------- */

enum modc_status modc_binding_hook_create(struct modc_context *net, int module, enum modc_hook_kind kind,
                                          unsigned flags,
                                          enum modc_status (*call)(struct modc_hook_call *call), void *user,
                                          struct modc_hook **hook)
{
    static enum modc_status (*const adds[])(struct modc_context * net, int module, struct modc_hook *hook,
                                            unsigned flags) = {
        [MODC_HOOK_FORWARD_PRE] = modc_register_forward_pre_hook,
        [MODC_HOOK_FORWARD] = modc_register_forward_hook,
        [MODC_HOOK_BACKWARD_PRE] = modc_register_full_backward_pre_hook,
        [MODC_HOOK_BACKWARD] = modc_register_full_backward_hook,
    };
    struct modc_hook *made = calloc(1, sizeof *made);
    enum modc_status status;

    if (made == NULL)
        return MODC_MEMORY;
    made->call = call;
    made->user = user;
    status = adds[kind](net, module, made, flags);
    if (status != MODC_OK) {
        free(made);
        return status;
    }
    *hook = made;
    return MODC_OK;
}

void modc_binding_hook_destroy(struct modc_hook *hook)
{
    modc_hook_remove(hook);
    free(hook);
}

/* ---- tensors of others --------------------------------------------------------------------------------- */

static size_t rounded(size_t bytes, size_t align)
{
    return (bytes + align - 1) / align * align;
}

static void point(struct modc_params *params, int key, void *tensor)
{
    memcpy((char *)params + modc_key_pointer(key), &tensor, sizeof tensor);
}

enum modc_status modc_binding_params_over(void *const *tensors, struct modc_params **params)
{
    const struct modc_model *model = &MODC_MODEL;
    const size_t align = model->align > MODC_ALIGN ? model->align : MODC_ALIGN;
    const size_t bytes = rounded(model->param_block, align);
    void *passing = NULL; /* that the pointers lead to for a moment; only buffers in it are written */
    enum modc_status status;

    if (bytes > 0) {
        passing = aligned_alloc(align, bytes);
        if (passing == NULL)
            return MODC_MEMORY;
    }
    status = modc_params_create_over(model, passing, bytes, params);
    if (status == MODC_OK)
        modc_binding_point(*params, tensors);
    free(passing);
    return status;
}

void modc_binding_point(struct modc_params *params, void *const *tensors)
{
    for (int k = 0; k < MODC_MODEL.key_count; k++)
        point(params, k, tensors[k]);
    params->block = NULL;
    modc_changed(params);
}

enum modc_status modc_binding_lend_create(struct modc_context *net, struct modc_training **training)
{
    const struct modc_model *model = &MODC_MODEL;
    const size_t head = rounded(model->training_bytes, MODC_ALIGN);
    const size_t count = (size_t)model->gradient_count;
    struct modc_training *made;
    char *all;

    if (model->training_bytes == 0 || model->gradients_offset == 0)
        return MODC_UNSUPPORTED;
    if (net->busy)
        return MODC_BUSY;
    all = aligned_alloc(MODC_ALIGN, rounded(head + 9 * count, MODC_ALIGN));
    if (all == NULL)
        return MODC_MEMORY;
    memset(all, 0, head + 9 * count);
    made = (struct modc_training *)(void *)all;
    made->model = model;
    made->net = net;
    made->gradients = (struct modc_params *)(void *)(all + model->gradients_offset);
    made->gradients->model = model;
    made->present = (uint64_t *)(void *)(all + head);
    made->wants = (bool *)(void *)(all + head + 8 * count);
    net->trainer = made;
    net->saved = 0;
    *training = made;
    return MODC_OK;
}

enum modc_status modc_binding_renew(struct modc_params *params, bool parameters, bool buffers)
{
    if (parameters)
        modc_changed(params);
    if (buffers) /* which is no change for a backward to come */
        params->buffer_version++;
    return modc_binding_refresh(params);
}

enum modc_status modc_binding_run(const struct modc_binding_frame *frame)
{
    return MODC_MODEL.entries[frame->entry].call(frame->net, frame->sizes, frame->inputs, frame->outputs);
}

enum modc_status modc_binding_run_backward(struct modc_binding_frame *frame)
{
    struct modc_training *training = frame->net->trainer;
    enum modc_status status;

    modc_zero_grad(training, true);
    frame->absent = 0;
    for (int i = 0; i < MODC_MODEL.gradient_count; i++) {
        training->wants[i] = frame->gradients[i] != NULL;
        point(training->gradients, modc_gradient_key(&MODC_MODEL, i), frame->gradients[i]);
    }
    status = MODC_MODEL.entries[frame->entry].backward(frame->net, frame->sizes, frame->output_gradients,
                                                       frame->input_gradients);
    for (int i = 0; i < MODC_MODEL.gradient_count; i++) {
        void *const found = modc_gradient_at(training, i);

        frame->absent += frame->gradients[i] != NULL && found == NULL ? 1 : 0;
        frame->gradients[i] = found;
    }
    return status;
}

/* ---- training ------------------------------------------------------------------------------------------- */

struct modc_optimizer *modc_binding_optimizer(struct modc_training *training)
{
#ifdef MODC_TRAINING
    return &((struct MODC_TRAINING *)(void *)training)->optimizer.base;
#else
    (void)training;
    return NULL;
#endif
}

enum modc_status modc_binding_optimizer_reset(struct modc_optimizer *optimizer)
{
    return modc_optimizer_init(optimizer, table, optimizer->training, optimizer->block, table->block,
                               optimizer->scheduling.lambda, optimizer->scheduling.user);
}

void modc_binding_optimizer_state(const struct modc_optimizer *optimizer, double state[5])
{
    state[0] = optimizer->total_norm;
    state[1] = (double)optimizer->averaged;
    state[2] = table->scheduler != NULL ? (double)optimizer->scheduling.state->last_epoch : 0;
    state[3] = (double)modc_loss_scale(optimizer);
    state[4] = modc_step_skipped(optimizer);
}

double modc_binding_initial_lr(const struct modc_optimizer *optimizer, int group)
{
    return optimizer->scheduling.groups[group].initial_lr;
}

enum modc_status modc_binding_schedule_step(struct modc_optimizer *optimizer, double metric)
{
    return modc_schedule_step(&optimizer->scheduling, metric);
}

void modc_binding_schedule_lambda(struct modc_optimizer *optimizer, modc_lr_lambda *lambda)
{
    optimizer->scheduling.lambda = lambda;
    for (int g = 0; g < table->group_count; g++)
        optimizer->scheduling.groups[g].hyper[MODC_LR] = table->groups[g].hyper[MODC_LR];
    modc_schedule_start(&optimizer->scheduling);
}
