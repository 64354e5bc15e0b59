/* modc_optim_state.c - the optimiser, its schedule and its averages as a safetensors file.
 *
 * note [state files]
 *     optimizer                        U8: the class, "AdamW"
 *     param_groups.0.params            U8: the keys of its parameters, each ended by a line feed
 *     param_groups.0.lr, ...           F64; betas has two
 *     param_groups.0.amsgrad, ...      BOOL: as the step was written
 *     param_groups.0.initial_lr        F64, where a schedule has begun
 *     state.KEY.step, .exp_avg, ...    as PyTorch's state_dict names them; a parameter that had no step has none
 *     scheduler.0.last_epoch, ...      I64 and F64; scheduler.1 and so on are those that it holds
 *     ema.n_averaged, ema.module.KEY   as in torch.optim.swa_utils.AveragedModel
 *     master.KEY                       F32: the copy of a parameter of 16 bits; one that had no step has none
 *     scaler.scale, ...                as GradScaler's state_dict names them: F32, F64 and I64
 * The table of the model lists them. python/modc/optim.py turns the file into PyTorch's state_dict and back. */
#include "modc_device.h"
#include "modc_optim.h"

#include <math.h>
#include <string.h>

static const struct modc_key *key_of(const struct modc_optimizer *optimizer, int index)
{
    const struct modc_model *model = optimizer->training->model;

    return &model->keys[modc_gradient_key(model, index)];
}

static struct modc_tensor vector_of(void *data, enum modc_dtype dtype, int count)
{
    struct modc_tensor tensor = {data, dtype, count > 0, {count}};

    return tensor;
}

/* A number of a schedule, by its field. */
static void *schedule_field(struct modc_schedule *schedule, int field)
{
    switch (field) {
    case MODC_T_CUR:
        return &schedule->cycle;
    case MODC_T_I:
        return &schedule->length;
    case MODC_BEST:
        return &schedule->best;
    case MODC_NUM_BAD_EPOCHS:
        return &schedule->bad_epochs;
    case MODC_COOLDOWN_COUNTER:
        return &schedule->cooldown;
    default:
        return &schedule->last_epoch;
    }
}

static struct modc_tensor scaler_tensor(const struct modc_optimizer *optimizer, int field)
{
    struct modc_scaler *scaler = (struct modc_scaler *)(uintptr_t)&optimizer->scaler;

    switch (field) {
    case MODC_SCALE:
        return vector_of(&scaler->scale, MODC_FLOAT32, 0);
    case MODC_GROWTH_FACTOR:
        return vector_of(&scaler->growth_factor, MODC_FLOAT64, 0);
    case MODC_BACKOFF_FACTOR:
        return vector_of(&scaler->backoff_factor, MODC_FLOAT64, 0);
    case MODC_GROWTH_INTERVAL:
        return vector_of(&scaler->growth_interval, MODC_INT64, 0);
    default:
        return vector_of(&scaler->growth_tracker, MODC_INT64, 0);
    }
}

static const struct modc_optimizer_state *state_of(const struct modc_optimizer *optimizer,
                                                   const struct modc_saved *saved)
{
    return &optimizer->table->groups[optimizer->table->params[saved->index].group].states[saved->item];
}

/* What an entry of the table is in memory. STEP, which is a double, goes by its own way. */
static struct modc_tensor tensor_of(const struct modc_optimizer *optimizer, const struct modc_saved *saved)
{
    const struct modc_optimizer_param *param = &optimizer->table->params[saved->index];
    struct modc_group *groups = optimizer->scheduling.groups;
    struct modc_tensor tensor = {NULL, MODC_FLOAT32, 0, {0}};
    const struct modc_key *key;

    switch (saved->kind) {
    case MODC_SAVED_CONSTANT:
        return vector_of((void *)(uintptr_t)saved->value, saved->dtype, saved->count);
    case MODC_SAVED_HYPER:
        return vector_of(&groups[saved->index].hyper[saved->item], MODC_FLOAT64, saved->count);
    case MODC_SAVED_INITIAL_LR:
        return vector_of(&groups[saved->index].initial_lr, MODC_FLOAT64, 0);
    case MODC_SAVED_SCHEDULE:
        return vector_of(schedule_field(&optimizer->scheduling.state[saved->index], saved->item),
                         saved->item == MODC_BEST ? MODC_FLOAT64 : MODC_INT64, 0);
    case MODC_SAVED_AVERAGED:
        return vector_of((void *)(uintptr_t)&optimizer->averaged, MODC_INT64, 0);
    case MODC_SAVED_SCALER:
        return scaler_tensor(optimizer, saved->item);
    case MODC_SAVED_STEP:
        return tensor;
    default:
        break;
    }
    key = key_of(optimizer, saved->index);
    tensor.dtype = modc_optimizer_dtype(optimizer, saved->index);
    tensor.ndim = key->ndim;
    memcpy(tensor.dims, key->dims, sizeof tensor.dims);
    tensor.data = saved->kind == MODC_SAVED_AVERAGE ? optimizer->block + param->average
                  : saved->kind == MODC_SAVED_COPY
                      ? optimizer->block + optimizer->table->copies[saved->index]
                      : modc_optimizer_state_at(optimizer, saved->index, saved->item);
    if (saved->kind == MODC_SAVED_STATE && state_of(optimizer, saved)->scalar)
        tensor = vector_of(tensor.data,
                           modc_dtype_part(key->dtype) == MODC_FLOAT64 ? MODC_FLOAT64 : MODC_FLOAT32, 0);
    return tensor;
}

/* ---- saving -------------------------------------------------------------------------------------------- */

static bool is_there(const struct modc_optimizer *optimizer, const struct modc_saved *saved)
{
    switch (saved->kind) {
    case MODC_SAVED_STEP:
    case MODC_SAVED_STATE:
        return optimizer->table->eager || optimizer->steps[saved->index] > 0;
    case MODC_SAVED_COPY:
        return optimizer->steps[saved->index] > 0;
    case MODC_SAVED_INITIAL_LR:
        return !isnan(optimizer->scheduling.groups[saved->index].initial_lr);
    default:
        return true;
    }
}

static void get(const struct modc_writer *writer, int index, struct modc_named_tensor *named)
{
    const struct modc_optimizer *optimizer = writer->user;
    const struct modc_saved *saved = &optimizer->table->saved[index];

    named->tensor = tensor_of(optimizer, saved);
    named->name = is_there(optimizer, saved) ? saved->name : NULL;
}

/* Whether it is a tensor of the device's memory. */
static bool is_on_device(const struct modc_optimizer *optimizer, const struct modc_saved *saved)
{
    return optimizer->table->updates != NULL &&
           (saved->kind == MODC_SAVED_AVERAGE || saved->kind == MODC_SAVED_COPY ||
            (saved->kind == MODC_SAVED_STATE && !state_of(optimizer, saved)->scalar));
}

static enum modc_status copy(const struct modc_writer *writer, int index, void *out)
{
    const struct modc_optimizer *optimizer = writer->user;
    const struct modc_saved *saved = &optimizer->table->saved[index];
    struct modc_tensor tensor = tensor_of(optimizer, saved);

    if (saved->kind == MODC_SAVED_STEP)
        modc_store(out, MODC_FLOAT32, optimizer->steps[saved->index]);
    else if (modc_tensor_bytes(&tensor) > 0 && is_on_device(optimizer, saved))
        return optimizer->training->model->device->copy(optimizer->training->net, out, tensor.data,
                                                        modc_tensor_bytes(&tensor));
    else if (modc_tensor_bytes(&tensor) > 0)
        memcpy(out, tensor.data, modc_tensor_bytes(&tensor));
    return MODC_OK;
}

enum modc_status modc_optimizer_save_bytes(const struct modc_optimizer *optimizer, void *out, size_t capacity,
                                           size_t *length)
{
    struct modc_writer writer = {optimizer->table->saved_count, optimizer, get, copy, NULL, NULL};

    if (optimizer->training->net->busy)
        return MODC_BUSY;
    return modc_writer_run(&writer, out, capacity, length);
}

/* ---- loading ------------------------------------------------------------------------------------------- */

/* The index-th number of an item. */
static double number_at(const struct modc_item *item, int index)
{
    enum modc_dtype dtype = (enum modc_dtype)item->dtype;

    return modc_number((const char *)item->data + (size_t)index * modc_dtype_bytes(dtype), dtype);
}

/* A hyper-parameter that lines were left out for has to be 0 in the file too. */
static bool fits_hyper(const struct modc_optimizer *optimizer, const struct modc_saved *saved,
                       const struct modc_item *item)
{
    unsigned fixed = optimizer->table->groups[saved->index].fixed;

    for (int i = 0; i < (saved->count > 0 ? saved->count : 1); i++)
        if ((fixed >> (saved->item + i) & 1) != 0 && number_at(item, i) != 0)
            return false;
    return true;
}

/* The scale is a number that gradients can be divided by, in float32; counts are no less than 0. */
static bool fits_scaler(int field, double number)
{
    return field == MODC_SCALE ? (float)number > 0 && isfinite((float)number) : number >= 0;
}

static bool fits(const struct modc_optimizer *optimizer, const struct modc_saved *saved,
                 const struct modc_item *item)
{
    struct modc_tensor tensor = tensor_of(optimizer, saved);
    enum modc_dtype dtype = (enum modc_dtype)item->dtype;

    if (item->dtype < 0 || !modc_item_has_shape(item, tensor.ndim, tensor.dims))
        return false;
    switch (saved->kind) {
    case MODC_SAVED_CONSTANT:
        return dtype == saved->dtype &&
               (item->bytes == 0 || memcmp(item->data, saved->value, item->bytes) == 0);
    case MODC_SAVED_HYPER:
        return modc_converts(MODC_FLOAT64, dtype) && fits_hyper(optimizer, saved, item);
    case MODC_SAVED_STEP:
        return (modc_converts(MODC_FLOAT64, dtype) || dtype == MODC_INT64) && number_at(item, 0) >= 0 &&
               isfinite(number_at(item, 0));
    case MODC_SAVED_SCHEDULE:
        return modc_converts(tensor.dtype, dtype) && (saved->item != MODC_T_I || number_at(item, 0) > 0);
    case MODC_SAVED_AVERAGED:
        return modc_converts(tensor.dtype, dtype) && number_at(item, 0) >= 0;
    case MODC_SAVED_SCALER:
        return modc_converts(tensor.dtype, dtype) && fits_scaler(saved->item, number_at(item, 0));
    default:
        return modc_converts(tensor.dtype, dtype);
    }
}

static bool is_state(const struct modc_saved *saved)
{
    return saved->kind == MODC_SAVED_STEP || saved->kind == MODC_SAVED_STATE;
}

/* Whether a file may do without an entry: states of a parameter without steps, copies, which begin with the parameter then, and
 * where no schedule has begun. */
static bool may_miss(const struct modc_saved *saved)
{
    return is_state(saved) || saved->kind == MODC_SAVED_INITIAL_LR || saved->kind == MODC_SAVED_COPY;
}

/* The first entry of the table that the file has otherwise, or not; "": the file has more; NULL: it fits. */
static const char *first_fault(const struct modc_optimizer *optimizer, const struct modc_reader *reader)
{
    const struct modc_optimizer_table *table = optimizer->table;
    size_t found = 0;
    struct modc_item item;
    bool before = false;

    for (int i = 0; i < table->saved_count; i++) {
        const struct modc_saved *saved = &table->saved[i];
        bool there = modc_reader_find(reader, saved->name, &item), state = is_state(saved);

        if (there ? !fits(optimizer, saved, &item) : !may_miss(saved))
            return saved->name;
        if (state && i > 0 && is_state(saved - 1) && saved->index == saved[-1].index && there != before)
            return there ? saved[-1].name : saved->name; /* a state is there as a whole, or not */
        before = there;
        found += there;
    }
    return found < reader->count ? "" : NULL;
}

/* Converted piece by piece, into the device's memory. */
static enum modc_status send(const struct modc_optimizer *optimizer, const struct modc_tensor *tensor,
                             const struct modc_item *item, size_t count)
{
    const size_t each = modc_dtype_bytes(tensor->dtype),
                 given = modc_dtype_bytes((enum modc_dtype)item->dtype);
    double piece[128];

    for (size_t at = 0, some; at < count; at += some) {
        some = count - at < sizeof piece / each ? count - at : sizeof piece / each;
        MODC_TRY(modc_convert(piece, tensor->dtype, (const char *)item->data + at * given,
                              (enum modc_dtype)item->dtype, some));
        MODC_TRY(optimizer->training->model->device->copy(
            optimizer->training->net, (char *)tensor->data + at * each, piece, some * each));
    }
    return MODC_OK;
}

static enum modc_status take(struct modc_optimizer *optimizer, const struct modc_saved *saved,
                             const struct modc_item *item)
{
    struct modc_tensor tensor = tensor_of(optimizer, saved);
    size_t count = modc_tensor_bytes(&tensor) / modc_dtype_bytes(tensor.dtype);

    if (saved->kind == MODC_SAVED_CONSTANT)
        return MODC_OK;
    if (saved->kind == MODC_SAVED_STEP) {
        optimizer->steps[saved->index] = number_at(item, 0);
        return MODC_OK;
    }
    if (saved->kind == MODC_SAVED_STATE && !optimizer->table->counted)
        optimizer->steps[saved->index] = 1; /* or more: what counts is that it is not the first */
    return is_on_device(optimizer, saved)
               ? send(optimizer, &tensor, item, count)
               : modc_convert(tensor.data, tensor.dtype, item->data, (enum modc_dtype)item->dtype, count);
}

enum modc_status modc_optimizer_load_indexed(struct modc_optimizer *optimizer, const void *bytes,
                                             size_t length, void *memory, size_t memory_bytes,
                                             const char **fault)
{
    const struct modc_optimizer_table *table = optimizer->table;
    enum modc_status status;
    struct modc_reader reader;
    const char *first;

    if (fault != NULL)
        *fault = NULL;
    if (optimizer->training->net->busy)
        return MODC_BUSY;
    status = modc_reader_open_indexed(&reader, bytes, length, memory, memory_bytes, NULL);
    if (status != MODC_OK)
        return status;
    first = first_fault(optimizer, &reader);
    if (fault != NULL)
        *fault = first;
    if (first != NULL)
        return MODC_KEYS;
    for (int i = 0; i < table->group_count; i++)
        optimizer->scheduling.groups[i].initial_lr = (double)NAN;
    for (int i = 0; i < table->param_count; i++) {
        optimizer->steps[i] = 0;
        MODC_TRY(modc_optimizer_reset_state(optimizer, i));
    }
    for (int i = 0; i < table->saved_count && status == MODC_OK; i++) {
        struct modc_item item;

        if (modc_reader_find(&reader, table->saved[i].name, &item))
            status = take(optimizer, &table->saved[i], &item);
    }
    return status;
}

enum modc_status modc_optimizer_load_bytes(struct modc_optimizer *optimizer, const void *bytes, size_t length,
                                           const char **fault)
{
    return modc_optimizer_load_indexed(optimizer, bytes, length, NULL, 0, fault);
}
