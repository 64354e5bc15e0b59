/* modc_optim.c - steps of an optimiser over all parameters, clipping of their gradients, averages of the parameters. The
 * kernels of a step belong to the model; what is here walks over tensors. */
#include "modc_optim.h"

#include "modc_device.h"

#include <math.h>
#include <string.h>

static const struct modc_key *key_of(const struct modc_training *training, int index)
{
    return &training->model->keys[modc_gradient_key(training->model, index)];
}

static size_t count_of(const struct modc_key *key)
{
    size_t count = 1;

    for (int i = 0; i < key->ndim; i++)
        count *= (size_t)key->dims[i];
    return count;
}

static const struct modc_device *device_of(const struct modc_training *training)
{
    return training->model->device;
}

/* The parameter of a gradient, in the memory where it is trained; NULL: it lies nowhere. */
static void *param_of(const struct modc_training *training, int index)
{
    const int key = modc_gradient_key(training->model, index);
    void *pointer;

    memcpy(&pointer,
           (const char *)training->net->params +
               modc_key_pointer(key + (device_of(training) != NULL ? training->model->key_count : 0)),
           sizeof pointer);
    return pointer;
}

/* The exponents of the elements that a word of 8 bytes has. */
static uint64_t exponents(enum modc_dtype dtype)
{
    switch (dtype) {
    case MODC_FLOAT64:
    case MODC_COMPLEX128:
        return 0x7ff0000000000000u;
    case MODC_FLOAT16:
        return 0x7c007c007c007c00u;
    case MODC_BFLOAT16:
        return 0x7f807f807f807f80u;
    default: /* float32, complex64 */
        return 0x7f8000007f800000u;
    }
}

/* Whether no element has an exponent of ones, as infinities and NaN have: 1 more runs over into the sign. */
static bool is_finite(const void *data, enum modc_dtype dtype, size_t count)
{
    const uint64_t exponent = exponents(dtype), one = exponent & ~(exponent << 1), sign = exponent + one;
    const size_t bytes = count * modc_dtype_bytes(dtype), words = bytes / sizeof one;
    uint64_t found = 0, word;

    for (size_t i = 0; i < words; i++) { /* counted, so that compilers make vectors of it */
        memcpy(&word, (const char *)data + i * sizeof word, sizeof word);
        found |= (word & exponent) + one;
    }
    word = 0;
    memcpy(&word, (const char *)data + words * sizeof word, bytes - words * sizeof word);
    return ((found | ((word & exponent) + one)) & sign) == 0;
}

/* Whether all parameters can be written, and now. */
static enum modc_status check_params(const struct modc_training *training)
{
    if (training->net->busy)
        return MODC_BUSY;
    if (training->net->params->read_only)
        return MODC_READ_ONLY;
    for (int i = 0; i < training->model->gradient_count; i++)
        if (param_of(training, i) == NULL)
            return MODC_POINTER;
    return MODC_OK;
}

/* Parameters were written: they are not what is packed. */
static void wrote(const struct modc_training *training)
{
    training->net->params->version++;
    if (device_of(training) != NULL)
        device_of(training)->wrote(training->net);
}

/* The same, and they are packed. */
static enum modc_status changed(const struct modc_training *training)
{
    struct modc_params *params = training->net->params;
    enum modc_status status = MODC_OK;

    wrote(training);
    if (params->packed != NULL)
        status = modc_pack(params, params->packed, params->model->packed_block);
    if (status == MODC_GPU) { /* the context tells it */
        const struct modc_mirror *mirror = modc_mirror_of(params);
        struct modc_cuda *cuda = modc_cuda_of(training->net);

        cuda->error = mirror->error;
        cuda->failed = mirror->failed;
        cuda->text = mirror->text;
    }
    return status;
}

/* ---- optimiser ----------------------------------------------------------------------------------------- */

static void fill(void *to, enum modc_dtype dtype, size_t count, double value)
{
    for (size_t i = 0; i < count; i++)
        modc_store((char *)to + i * modc_dtype_bytes(dtype), dtype, value);
}

/* The state of a parameter: a scalar's of a model on a device is the host's. */
void *modc_optimizer_state_at(const struct modc_optimizer *optimizer, int index, int state)
{
    const struct modc_optimizer_table *table = optimizer->table;
    const struct modc_optimizer_param *param = &table->params[index];

    if (table->updates != NULL && table->groups[param->group].states[state].scalar)
        return (double *)(void *)((char *)(uintptr_t)optimizer + table->scalar_states_at) +
               (size_t)index * MODC_MAX_STATES + state;
    return optimizer->block + param->states[state];
}

static bool is_complex(enum modc_dtype dtype)
{
    return modc_dtype_part(dtype) != dtype;
}

/* The float32 copy of a parameter; NULL: it has none. */
static float *copy_of(const struct modc_optimizer *optimizer, int index)
{
    const size_t *copies = optimizer->table->copies;

    return copies == NULL || copies[index] == MODC_NO_COPY
               ? NULL
               : (float *)(void *)(optimizer->block + copies[index]);
}

static bool has_copy(const struct modc_optimizer *optimizer, int index) /* which may be NULL */
{
    return optimizer != NULL && copy_of(optimizer, index) != NULL;
}

enum modc_dtype modc_optimizer_dtype(const struct modc_optimizer *optimizer, int index)
{
    return copy_of(optimizer, index) != NULL ? MODC_FLOAT32 : key_of(optimizer->training, index)->dtype;
}

/* Complex states begin with the number in both parts, as in PyTorch. */
enum modc_status modc_optimizer_reset_state(struct modc_optimizer *optimizer, int index)
{
    const struct modc_optimizer_param *param = &optimizer->table->params[index];
    const struct modc_optimizer_group *group = &optimizer->table->groups[param->group];
    const struct modc_key *key = key_of(optimizer->training, index);
    const struct modc_device *device = device_of(optimizer->training);
    float *copy = copy_of(optimizer, index); /* zeroed it is of no parameter but 0 */

    for (int i = 0; i < group->state_count; i++) {
        const bool complex = is_complex(key->dtype);
        void *state = modc_optimizer_state_at(optimizer, index, i);
        const double initial = group->states[i].initial;

        if (group->states[i].scalar)
            fill(state, modc_dtype_part(key->dtype) == MODC_FLOAT64 ? MODC_FLOAT64 : MODC_FLOAT32, 1,
                 initial);
        else if (device != NULL)
            MODC_TRY(device->fill(optimizer->training->net, state,
                                  modc_dtype_part(modc_optimizer_dtype(optimizer, index)),
                                  count_of(key) * (complex ? 2 : 1), initial));
        else if (complex)
            fill(state, modc_dtype_part(key->dtype), 2 * count_of(key), initial);
        else
            fill(state, modc_optimizer_dtype(optimizer, index), count_of(key), initial);
    }
    if (copy != NULL && device != NULL)
        return device->zero(optimizer->training->net, copy, count_of(key) * sizeof *copy);
    if (copy != NULL)
        memset(copy, 0, count_of(key) * sizeof *copy);
    return MODC_OK;
}

/* Nothing has been done to the gradients yet. */
static void forget_factors(struct modc_optimizer *optimizer)
{
    optimizer->unscaled = optimizer->found = false;
    optimizer->unscale = 1;
    optimizer->clip = optimizer->table->clip == MODC_CLIP_VALUE ? optimizer->table->max_norm : 1;
}

enum modc_status modc_optimizer_init(struct modc_optimizer *optimizer,
                                     const struct modc_optimizer_table *table, struct modc_training *training,
                                     void *block, size_t bytes, modc_lr_lambda *lambda, void *user)
{
    struct modc_scheduling *scheduling = &optimizer->scheduling;

    if (optimizer == NULL || training == NULL || training->net == NULL || (block == NULL && table->block > 0))
        return MODC_POINTER;
    if (training->net->busy)
        return MODC_BUSY;
    if ((uintptr_t)block % training->model->align != 0)
        return MODC_ALIGNMENT;
    if (bytes < table->block)
        return MODC_SIZE;
    if (device_of(training) != NULL)
        MODC_TRY(device_of(training)->reach(training->net, block, "block"));
    *optimizer = (struct modc_optimizer){
        .table = table, .training = training, .block = block, .total_norm = (double)NAN};
    optimizer->scaler = table->scaler;
    forget_factors(optimizer);
    optimizer->steps = (double *)(void *)((char *)optimizer + table->steps_at);
    scheduling->scheduler = table->scheduler;
    scheduling->groups = (struct modc_group *)(void *)((char *)optimizer + table->groups_at);
    scheduling->state = (struct modc_schedule *)(void *)((char *)optimizer + table->schedules_at);
    scheduling->group_count = table->group_count;
    scheduling->momentum = table->momentum;
    scheduling->lambda = lambda;
    scheduling->user = user;
    if (table->block > 0 && device_of(training) != NULL)
        MODC_TRY(device_of(training)->zero(training->net, block, table->block));
    else if (table->block > 0)
        memset(block, 0, table->block);
    for (int i = 0; i < table->group_count; i++) {
        scheduling->groups[i].initial_lr = (double)NAN;
        for (int j = 0; j < MODC_MAX_HYPERS; j++)
            scheduling->groups[i].hyper[j] = j < table->hyper_count ? table->groups[i].hyper[j] : 0;
    }
    for (int i = 0; i < table->param_count; i++) {
        optimizer->steps[i] = 0;
        MODC_TRY(modc_optimizer_reset_state(optimizer, i));
    }
    modc_schedule_start(scheduling);
    return MODC_OK;
}

enum modc_status modc_optimizer_start(struct modc_optimizer *optimizer,
                                      const struct modc_optimizer_table *table,
                                      struct modc_training *training, struct modc_context *net, void *block,
                                      size_t bytes)
{
    enum modc_status status = modc_training_init(training, net, block, bytes);
    size_t gradients;

    if (status != MODC_OK)
        return status;
    if (bytes < net->model->training_block) {
        training->net = NULL; /* nobody steps with it */
        net->trainer = NULL;
        return MODC_SIZE;
    }
    modc_train(net, true);
    gradients = net->model->gradient_block;
    return modc_optimizer_init(optimizer, table, training, (char *)block + gradients, bytes - gradients, NULL,
                               NULL);
}

static bool has_scaler(const struct modc_optimizer *optimizer)
{
    return optimizer->scaler.scale != 0;
}

/* *finite: whether all gradients that are there are. Of a device also the status of a check that has failed. */
static enum modc_status look_at_gradients(struct modc_training *training, bool *finite)
{
    const struct modc_device *device = device_of(training);
    double *numbers = device != NULL ? modc_numbers_on_host(training) : NULL;

    for (int i = 0; i < training->model->gradient_count && device != NULL; i++)
        numbers[i] = 1;
    if (device != NULL)
        MODC_TRY(device->numbers(training, (double)NAN, numbers));
    *finite = true;
    for (int i = 0; i < training->model->gradient_count && *finite; i++) {
        const struct modc_key *key = key_of(training, i);
        const void *gradient = modc_gradient_at(training, i);

        if (gradient != NULL)
            *finite = device != NULL ? numbers[i] == 0 : is_finite(gradient, key->dtype, count_of(key));
    }
    return MODC_OK;
}

/* Whether a step can be taken as a whole. With a scaler that is no question, and unscaling looks at the gradients; where that has
 * happened, a check of a device may have failed since. */
static enum modc_status check_step(const struct modc_optimizer *optimizer)
{
    const bool scaled = has_scaler(optimizer);
    bool finite = true;

    MODC_TRY(check_params(optimizer->training));
    if (!scaled || (optimizer->unscaled && device_of(optimizer->training) != NULL))
        MODC_TRY(look_at_gradients(optimizer->training, &finite));
    return finite || scaled ? MODC_OK : MODC_NONFINITE;
}

/* Of a parameter, in the optimiser's order; NULL behind them. Behind all its copy. */
static void find_states(const struct modc_optimizer *optimizer, int index, void *states[MODC_COPY + 1])
{
    const struct modc_optimizer_table *table = optimizer->table;
    const int count = table->groups[table->params[index].group].state_count;

    for (int j = 0; j < MODC_MAX_STATES; j++)
        states[j] = j < count ? modc_optimizer_state_at(optimizer, index, j) : NULL;
    states[MODC_COPY] = copy_of(optimizer, index);
}

/* The numbers of a parameter's group, and behind them those of copies. */
static void find_hypers(const struct modc_optimizer *optimizer, int index, double hyper[MODC_CLIP + 1])
{
    memcpy(hyper, optimizer->scheduling.groups[optimizer->table->params[index].group].hyper,
           sizeof(double) * MODC_MAX_HYPERS);
    hyper[MODC_UNSCALE] = optimizer->unscale;
    hyper[MODC_CLIP] = optimizer->clip;
}

static void update(struct modc_optimizer *optimizer, int index, const void *gradient)
{
    const struct modc_optimizer_param *param = &optimizer->table->params[index];
    void *states[MODC_COPY + 1];
    double hyper[MODC_CLIP + 1];

    find_states(optimizer, index, states);
    find_hypers(optimizer, index, hyper);
    optimizer->steps[index]++;
    param->update(param_of(optimizer->training, index), gradient, states, param->count, hyper,
                  optimizer->steps[index]);
}

/* ---- on a device ---- */

/* The scalars of a step, by gradient: on the host and in the device's memory. */
static double *scalars_of(const struct modc_optimizer *optimizer, int index)
{
    return (double *)(void *)((char *)(uintptr_t)optimizer + optimizer->table->scalars_at) +
           (size_t)index * MODC_MAX_SCALARS;
}

static double *device_scalars_of(const struct modc_optimizer *optimizer, int index)
{
    return (double *)(void *)(optimizer->block + optimizer->table->device_scalars) +
           (size_t)index * MODC_MAX_SCALARS;
}

/* Its scalar states as the step leaves them. */
static double *next_states_of(const struct modc_optimizer *optimizer, int index)
{
    return (double *)(void *)((char *)(uintptr_t)optimizer + optimizer->table->next_states_at) +
           (size_t)index * MODC_MAX_STATES;
}

static size_t scalar_count(const struct modc_optimizer *optimizer)
{
    return (size_t)MODC_MAX_SCALARS * (size_t)optimizer->table->param_count;
}

static enum modc_status send_scalars(const struct modc_optimizer *optimizer)
{
    return device_of(optimizer->training)
        ->send(optimizer->training->net, device_scalars_of(optimizer, 0), scalars_of(optimizer, 0),
               scalar_count(optimizer));
}

/* Of the next step of a parameter. */
static void make_scalars(const struct modc_optimizer *optimizer, int index)
{
    const struct modc_optimizer_table *table = optimizer->table;
    const struct modc_optimizer_param *param = &table->params[index];
    double *next = next_states_of(optimizer, index), hyper[MODC_CLIP + 1];
    void *states[MODC_COPY + 1];

    find_states(optimizer, index, states);
    for (int j = 0; j < table->groups[param->group].state_count; j++)
        if (table->groups[param->group].states[j].scalar)
            states[j] = memcpy(&next[j], states[j], sizeof *next);
    find_hypers(optimizer, index, hyper);
    table->updates[index].scalars(hyper, optimizer->steps[index] + 1, states, scalars_of(optimizer, index));
}

/* Where it fails, the ones before it may have changed their parameters. */
static enum modc_status launch_update(const struct modc_optimizer *optimizer, int index, const void *gradient)
{
    const struct modc_optimizer_table *table = optimizer->table;
    const struct modc_optimizer_param *param = &table->params[index];
    const struct modc_training *training = optimizer->training;
    const struct modc_device *device = device_of(training);
    void *states[MODC_COPY + 1];
    enum modc_status status;

    find_states(optimizer, index, states);
    status = device->started(training->net,
                             table->updates[index].launch(device->stream(training->net),
                                                          param_of(training, index), gradient, states,
                                                          param->count, device_scalars_of(optimizer, index)),
                             "step");
    if (status != MODC_OK)
        wrote(training);
    return status;
}

/* The host counts a step that the device takes. */
static void count_step(struct modc_optimizer *optimizer, int index)
{
    const struct modc_optimizer_group *group =
        &optimizer->table->groups[optimizer->table->params[index].group];

    optimizer->steps[index]++;
    for (int j = 0; j < group->state_count; j++)
        if (group->states[j].scalar)
            memcpy(modc_optimizer_state_at(optimizer, index, j), &next_states_of(optimizer, index)[j],
                   sizeof(double));
}

/* The scalars of all parameters first, which are sent together. */
static enum modc_status take_device_step(struct modc_optimizer *optimizer)
{
    const struct modc_training *training = optimizer->training;
    bool any = false;

    for (int i = 0; i < optimizer->table->param_count; i++)
        if (modc_gradient_at(training, i) != NULL) {
            make_scalars(optimizer, i);
            any = true;
        }
    if (!any)
        return MODC_OK;
    MODC_TRY(send_scalars(optimizer));
    for (int i = 0; i < optimizer->table->param_count; i++)
        if (modc_gradient_at(training, i) != NULL) {
            MODC_TRY(launch_update(optimizer, i, modc_gradient_at(training, i)));
            count_step(optimizer, i);
        }
    return changed(training);
}

/* `update: fused`: of each parameter's scalars, MODC_LEFT_OUT. */
enum { UPDATED = 0, WITHOUT_GRADIENT = -1 };

static enum modc_status begin_on_device(const struct modc_optimizer *optimizer)
{
    for (int i = 0; i < optimizer->table->param_count; i++) {
        make_scalars(optimizer, i);
        scalars_of(optimizer, i)[MODC_LEFT_OUT] = WITHOUT_GRADIENT;
    }
    return send_scalars(optimizer);
}

enum modc_status modc_optimizer_launch(struct modc_optimizer *optimizer, int index, const void *gradient)
{
    const struct modc_training *training = optimizer->training;
    const struct modc_key *key = key_of(training, index);

    MODC_TRY(device_of(training)->judge(training->net, &device_scalars_of(optimizer, index)[MODC_LEFT_OUT],
                                        gradient, key->dtype, count_of(key)));
    return launch_update(optimizer, index, gradient);
}

/* What the device has done becomes what the host knows. */
static enum modc_status end_on_device(struct modc_optimizer *optimizer)
{
    const struct modc_training *training = optimizer->training;
    const enum modc_status status = device_of(training)->receive(training->net, scalars_of(optimizer, 0),
                                                                 device_scalars_of(optimizer, 0),
                                                                 sizeof(double) * scalar_count(optimizer));

    if (status == MODC_GPU)
        wrote(training);
    for (int i = 0; i < optimizer->table->param_count && status == MODC_OK; i++) {
        const double left_out = scalars_of(optimizer, i)[MODC_LEFT_OUT];

        optimizer->left_out |= left_out != UPDATED && left_out != WITHOUT_GRADIENT;
        if (left_out == UPDATED)
            count_step(optimizer, i);
    }
    return status;
}

/* ---- a step ---- */

enum modc_status modc_optimizer_begin(struct modc_optimizer *optimizer)
{
    MODC_TRY(check_params(optimizer->training));
    optimizer->left_out = false;
    return optimizer->table->updates != NULL ? begin_on_device(optimizer) : MODC_OK;
}

void modc_optimizer_apply(struct modc_optimizer *optimizer, int index, const void *gradient)
{
    const struct modc_key *key = key_of(optimizer->training, index);

    if (is_finite(gradient, key->dtype, count_of(key)))
        update(optimizer, index, gradient);
    else
        optimizer->left_out = true;
}

enum modc_status modc_optimizer_end(struct modc_optimizer *optimizer)
{
    if (optimizer->table->updates != NULL)
        MODC_TRY(end_on_device(optimizer));
    MODC_TRY(changed(optimizer->training));
    return optimizer->left_out ? MODC_NONFINITE : MODC_OK;
}

static enum modc_status take_step(struct modc_optimizer *optimizer)
{
    bool any = false;

    if (optimizer->table->updates != NULL)
        return take_device_step(optimizer);
    for (int i = 0; i < optimizer->table->param_count; i++) {
        const void *gradient = modc_gradient_at(optimizer->training, i);

        if (gradient == NULL)
            continue;
        update(optimizer, i, gradient);
        any = true;
    }
    return any ? changed(optimizer->training) : MODC_OK;
}

/* A step for which check_step had nothing to say. */
static enum modc_status step(struct modc_optimizer *optimizer)
{
    if (has_scaler(optimizer)) {
        MODC_TRY(modc_optimizer_unscale(optimizer));
        optimizer->skipped = optimizer->found;
    }
    if (!optimizer->skipped)
        MODC_TRY(take_step(optimizer));
    if (!has_scaler(optimizer)) /* else at the scaler's update */
        forget_factors(optimizer);
    return MODC_OK;
}

enum modc_status modc_optimizer_step(struct modc_optimizer *optimizer)
{
    enum modc_status status = check_step(optimizer);

    return status == MODC_OK ? step(optimizer) : status;
}

enum modc_status modc_optimizer_update(struct modc_optimizer *optimizer)
{
    enum modc_status status = check_step(optimizer);

    if (status == MODC_OK && has_scaler(optimizer))
        status = modc_optimizer_unscale(optimizer);
    if (status == MODC_OK && !optimizer->found)
        status = modc_optimizer_clip(optimizer, NULL);
    if (status == MODC_OK)
        status = step(optimizer);
    if (status == MODC_OK && has_scaler(optimizer))
        status = modc_scaler_update(optimizer);
    if (optimizer->skipped)
        return status;
    return status == MODC_OK && optimizer->table->averages ? modc_average_update(optimizer) : status;
}

/* The index of a hyper-parameter; -1: there is none. */
static int find_hyper(const struct modc_optimizer *optimizer, int group, const char *name)
{
    for (int i = 0; i < optimizer->table->hyper_count && group >= 0 && group < optimizer->table->group_count;
         i++)
        if (modc_same_text(optimizer->table->hypers[i], name))
            return i;
    return -1;
}

enum modc_status modc_optimizer_get(const struct modc_optimizer *optimizer, int group, const char *name,
                                    double *value)
{
    int index = find_hyper(optimizer, group, name);

    if (index < 0)
        return MODC_NAME;
    *value = optimizer->scheduling.groups[group].hyper[index];
    return MODC_OK;
}

enum modc_status modc_optimizer_set(struct modc_optimizer *optimizer, int group, const char *name,
                                    double value)
{
    int index = find_hyper(optimizer, group, name);

    if (index < 0)
        return MODC_NAME;
    if ((optimizer->table->groups[group].fixed >> index & 1) != 0 && value != 0)
        return MODC_UNSUPPORTED;
    optimizer->scheduling.groups[group].hyper[index] = value;
    return MODC_OK;
}

/* ---- clipping ------------------------------------------------------------------------------------------ */

enum { STREAMS = 8 }; /* sums that an adder can work on at the same time */

/* The magnitude of an element. */
static double magnitude(const void *data, enum modc_dtype dtype, size_t i)
{
    const float *single = data;
    const double *wide = data;

    switch (dtype) {
    case MODC_FLOAT32:
        return fabs((double)single[i]);
    case MODC_FLOAT64:
        return fabs(wide[i]);
    case MODC_COMPLEX64:
        return hypot((double)single[2 * i], (double)single[2 * i + 1]);
    case MODC_COMPLEX128:
        return hypot(wide[2 * i], wide[2 * i + 1]);
    default:
        return fabs(modc_number((const char *)data + i * modc_dtype_bytes(dtype), dtype));
    }
}

static double sum_of(const double *streams)
{
    double sum = 0;

    for (int k = 0; k < STREAMS; k++)
        sum += streams[k];
    return sum;
}

static double squares(const void *data, enum modc_dtype dtype, size_t count)
{
    double streams[STREAMS] = {0};
    size_t i = 0;

    if (is_complex(dtype)) {
        dtype = modc_dtype_part(dtype);
        count *= 2;
    }
    if (dtype == MODC_FLOAT32) {
        const float *x = data;

        for (; i + STREAMS <= count; i += STREAMS)
            for (int k = 0; k < STREAMS; k++)
                streams[k] += (double)x[i + (size_t)k] * (double)x[i + (size_t)k];
        for (; i < count; i++)
            streams[0] += (double)x[i] * (double)x[i];
        return sum_of(streams);
    }
    for (; i < count; i++) {
        double x = magnitude(data, dtype, i);

        streams[i % STREAMS] += x * x;
    }
    return sum_of(streams);
}

/* As torch's vector_norm over parts of a vector: `norm` is what they gave so far, x one of its magnitudes. 2 is sums of
 * squares; inf and -inf are kept, 0 counts. */
static double join(double norm, double x, double type)
{
    if (type == (double)INFINITY)
        return x > norm || isnan(x) ? x : norm;
    if (type == -(double)INFINITY)
        return x < norm || isnan(x) ? x : norm;
    if (type == 0)
        return norm + (x != 0);
    return norm + (type == 2 ? x * x : type == 1 ? x : pow(x, type));
}

static double neutral(double type)
{
    return type == -(double)INFINITY ? (double)INFINITY : 0;
}

static double whole_norm(double norm, double type)
{
    if (type == 0 || isinf(type) || type == 1)
        return norm;
    return type == 2 ? sqrt(norm) : pow(norm, 1 / type);
}

static double norm_of(const void *data, enum modc_dtype dtype, size_t count, double type)
{
    double norm = neutral(type);

    if (type == 2)
        return sqrt(squares(data, dtype, count));
    for (size_t i = 0; i < count; i++)
        norm = join(norm, magnitude(data, dtype, i), type);
    return whole_norm(norm, type);
}

static void scale(void *data, enum modc_dtype dtype, size_t count, double by)
{
    if (is_complex(dtype)) {
        dtype = modc_dtype_part(dtype);
        count *= 2;
    }
    if (dtype == MODC_FLOAT32) {
        float *x = data;

        for (size_t i = 0; i < count; i++)
            x[i] *= (float)by;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char *at = (char *)data + i * modc_dtype_bytes(dtype);

        modc_store(at, dtype, modc_number(at, dtype) * by);
    }
}

static enum modc_status scale_gradient(const struct modc_training *training, void *gradient,
                                       const struct modc_key *key, double by)
{
    if (device_of(training) != NULL)
        return device_of(training)->scale(training->net, gradient, key->dtype, count_of(key), by);
    scale(gradient, key->dtype, count_of(key), by);
    return MODC_OK;
}

/* The norm of what a float32 copy's gradient is: widened, and multiplied in float32. */
static double wide_norm_of(const void *data, enum modc_dtype dtype, size_t count, double type, double by)
{
    double norm = neutral(type);

    for (size_t i = 0; i < count; i++)
        norm = join(norm, (double)((float)magnitude(data, dtype, i) * (float)by), type);
    return whole_norm(norm, type);
}

/* optimizer: whose copies' gradients stay as they are, with a factor for the step; or NULL. */
static enum modc_status clip_norm(struct modc_training *training, struct modc_optimizer *optimizer,
                                  double max_norm, double norm_type, bool error_if_nonfinite, double *total)
{
    double norm = neutral(norm_type), factor;
    const struct modc_device *device = device_of(training);
    double *numbers = device != NULL ? modc_numbers_on_host(training) : NULL;
    bool any = false;

    for (int i = 0; i < training->model->gradient_count && device != NULL; i++)
        numbers[i] = has_copy(optimizer, i) ? optimizer->unscale : 1;
    if (device != NULL)
        MODC_TRY(device->numbers(training, norm_type, numbers));
    for (int i = 0; i < training->model->gradient_count; i++) {
        const struct modc_key *key = key_of(training, i);
        const void *gradient = modc_gradient_at(training, i);

        if (gradient == NULL)
            continue;
        norm = join(norm,
                    device != NULL ? numbers[i]
                    : has_copy(optimizer, i)
                        ? wide_norm_of(gradient, key->dtype, count_of(key), norm_type, optimizer->unscale)
                        : norm_of(gradient, key->dtype, count_of(key), norm_type),
                    norm_type);
        any = true;
    }
    norm = any ? whole_norm(norm, norm_type) : 0;
    if (total != NULL)
        *total = norm;
    if (error_if_nonfinite && !isfinite(norm))
        return MODC_NONFINITE;
    factor = max_norm / (norm + 1e-6);
    if (optimizer != NULL)
        optimizer->clip = factor < 1 ? factor : 1;
    if (factor >= 1)
        return MODC_OK;
    for (int i = 0; i < training->model->gradient_count; i++) {
        const struct modc_key *key = key_of(training, i);
        void *gradient = modc_gradient_at(training, i);

        if (gradient != NULL && !has_copy(optimizer, i))
            MODC_TRY(scale_gradient(training, gradient, key, factor));
    }
    return MODC_OK;
}

enum modc_status modc_clip_grad_norm(struct modc_training *training, double max_norm, double norm_type,
                                     bool error_if_nonfinite, double *total)
{
    return clip_norm(training, NULL, max_norm, norm_type, error_if_nonfinite, total);
}

/* optimizer: whose copies' gradients stay as they are; or NULL. */
static enum modc_status clip_value(struct modc_training *training, const struct modc_optimizer *optimizer,
                                   double value)
{
    for (int i = 0; i < training->model->gradient_count; i++)
        if (is_complex(key_of(training, i)->dtype))
            return MODC_UNSUPPORTED;
    for (int i = 0; i < training->model->gradient_count; i++) {
        enum modc_dtype dtype = key_of(training, i)->dtype;
        size_t count = count_of(key_of(training, i)), size = modc_dtype_bytes(dtype);
        char *gradient = has_copy(optimizer, i) ? NULL : modc_gradient_at(training, i);

        if (gradient != NULL && device_of(training) != NULL) {
            MODC_TRY(device_of(training)->clamp(training->net, gradient, dtype, count, value));
            continue;
        }
        for (size_t k = 0; gradient != NULL && k < count; k++) {
            double x = modc_number(gradient + k * size, dtype);

            if (x > value)
                modc_store(gradient + k * size, dtype, value);
            if (x < -value)
                modc_store(gradient + k * size, dtype, -value);
        }
    }
    return MODC_OK;
}

enum modc_status modc_clip_grad_value(struct modc_training *training, double value)
{
    return clip_value(training, NULL, value);
}

enum modc_status modc_optimizer_clip(struct modc_optimizer *optimizer, double *total)
{
    const struct modc_optimizer_table *table = optimizer->table;

    if (table->clip == MODC_CLIP_NORM) {
        const enum modc_status status = clip_norm(optimizer->training, optimizer, table->max_norm,
                                                  table->norm_type, table->error_if_nonfinite,
                                                  &optimizer->total_norm);

        if (total != NULL)
            *total = optimizer->total_norm;
        return status;
    }
    return table->clip == MODC_CLIP_VALUE ? clip_value(optimizer->training, optimizer, table->max_norm)
                                          : MODC_OK;
}

/* ---- the scale of the loss ------------------------------------------------------------------------------ */

enum modc_status modc_optimizer_unscale(struct modc_optimizer *optimizer)
{
    struct modc_training *training = optimizer->training;
    bool finite;
    float inverse;

    if (!has_scaler(optimizer))
        return MODC_UNSUPPORTED;
    if (optimizer->unscaled)
        return MODC_OK;
    MODC_TRY(look_at_gradients(training, &finite));
    inverse = (float)(1 / (double)optimizer->scaler.scale);
    for (int i = 0; i < training->model->gradient_count; i++) {
        const struct modc_key *key = key_of(training, i);
        void *gradient = modc_gradient_at(training, i);

        if (gradient != NULL && !has_copy(optimizer, i))
            MODC_TRY(scale_gradient(training, gradient, key, (double)inverse));
    }
    optimizer->found = !finite;
    optimizer->unscale = (double)inverse;
    optimizer->unscaled = true;
    return MODC_OK;
}

enum modc_status modc_scaler_update(struct modc_optimizer *optimizer)
{
    struct modc_scaler *scaler = &optimizer->scaler;

    if (!has_scaler(optimizer))
        return MODC_UNSUPPORTED;
    if (optimizer->found) {
        const float backed = (float)((double)scaler->scale * scaler->backoff_factor);

        scaler->scale = backed;
        scaler->growth_tracker = 0;
    } else if (++scaler->growth_tracker == scaler->growth_interval) {
        const float grown = (float)((double)scaler->scale * scaler->growth_factor);

        if (isfinite(grown))
            scaler->scale = grown;
        scaler->growth_tracker = 0;
    }
    forget_factors(optimizer);
    return MODC_OK;
}

enum modc_status modc_send_loss_scale(struct modc_training *training, float scale, enum modc_dtype dtype,
                                      const void **gradient)
{
    double *const cell = modc_numbers_of(training);
    uint64_t word = 0;

    modc_store(&word, dtype, (double)scale);
    *gradient = cell;
    return device_of(training)->send(training->net, cell, &word, 1);
}

float modc_loss_scale(const struct modc_optimizer *optimizer)
{
    return has_scaler(optimizer) ? optimizer->scaler.scale : 1.0f;
}

bool modc_step_skipped(const struct modc_optimizer *optimizer)
{
    return optimizer->skipped;
}

/* ---- averages ------------------------------------------------------------------------------------------ */

static void average(void *averages, const void *params, enum modc_dtype dtype, size_t count, double decay)
{
    size_t size;

    if (is_complex(dtype)) {
        dtype = modc_dtype_part(dtype);
        count *= 2;
    }
    size = modc_dtype_bytes(dtype);
    if (dtype == MODC_FLOAT32) {
        float *to = averages;
        const float *from = params;

        for (size_t i = 0; i < count; i++)
            to[i] = (float)decay * to[i] + (float)(1 - decay) * from[i];
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char *to = (char *)averages + i * size;

        modc_store(to, dtype,
                   decay * modc_number(to, dtype) +
                       (1 - decay) * modc_number((const char *)params + i * size, dtype));
    }
}

/* *kept: the copy, which has become another where the program has written the parameter; of those without one the parameter. */
static enum modc_status find_kept(const struct modc_optimizer *optimizer, int index, void **kept)
{
    const struct modc_training *training = optimizer->training;
    const struct modc_key *key = key_of(training, index);
    const size_t size = modc_dtype_bytes(key->dtype);
    float *copy = copy_of(optimizer, index);
    const char *param = param_of(training, index);

    *kept = copy != NULL ? copy : param_of(training, index);
    if (copy == NULL)
        return MODC_OK;
    if (device_of(training) != NULL)
        return device_of(training)->renew(training->net, copy, param, key->dtype, count_of(key));
    for (size_t i = 0; i < count_of(key); i++) {
        uint16_t rounded;

        modc_store(&rounded, key->dtype, (double)copy[i]);
        if (memcmp(&rounded, param + i * size, size) != 0)
            copy[i] = (float)modc_number(param + i * size, key->dtype);
    }
    return MODC_OK;
}

static enum modc_status check_averages(const struct modc_optimizer *optimizer)
{
    return optimizer->table->averages ? check_params(optimizer->training) : MODC_UNSUPPORTED;
}

enum modc_status modc_average_update(struct modc_optimizer *optimizer)
{
    const struct modc_optimizer_table *table = optimizer->table;
    const struct modc_device *device = device_of(optimizer->training);
    struct modc_context *net = optimizer->training->net;
    enum modc_status status = check_averages(optimizer);

    for (int i = 0; i < table->param_count && status == MODC_OK; i++) {
        const struct modc_key *key = key_of(optimizer->training, i);
        const enum modc_dtype dtype = modc_optimizer_dtype(optimizer, i);
        char *to = optimizer->block + table->params[i].average;
        void *from;

        status = find_kept(optimizer, i, &from);
        if (status == MODC_OK && device != NULL)
            status = optimizer->averaged == 0
                         ? device->move(net, to, from, count_of(key) * modc_dtype_bytes(dtype))
                         : device->average(net, to, from, dtype, count_of(key), table->decay);
        else if (status == MODC_OK && optimizer->averaged == 0)
            memcpy(to, from, count_of(key) * modc_dtype_bytes(dtype));
        else if (status == MODC_OK)
            average(to, from, dtype, count_of(key), table->decay);
    }
    optimizer->averaged += status == MODC_OK;
    return status;
}

/* What is kept of a parameter and its average; a parameter with a copy becomes its rounding. */
static enum modc_status swap_average(const struct modc_optimizer *optimizer, int index)
{
    const struct modc_training *training = optimizer->training;
    const struct modc_device *device = device_of(training);
    const struct modc_key *key = key_of(training, index);
    const enum modc_dtype dtype = modc_optimizer_dtype(optimizer, index);
    const size_t bytes = count_of(key) * modc_dtype_bytes(dtype);
    unsigned char *a = (unsigned char *)optimizer->block + optimizer->table->params[index].average, *b;
    void *kept;

    MODC_TRY(find_kept(optimizer, index, &kept));
    b = kept;
    if (device != NULL)
        MODC_TRY(device->swap(training->net, a, b, bytes));
    for (size_t k = 0; k < bytes && device == NULL; k++) {
        unsigned char byte = a[k];

        a[k] = b[k];
        b[k] = byte;
    }
    if (!has_copy(optimizer, index))
        return MODC_OK;
    if (device != NULL)
        return device->round(training->net, param_of(training, index), key->dtype, kept, count_of(key));
    return modc_convert(param_of(training, index), key->dtype, kept, dtype, count_of(key));
}

enum modc_status modc_average_swap(struct modc_optimizer *optimizer)
{
    enum modc_status status = check_averages(optimizer);

    for (int i = 0; i < optimizer->table->param_count && status == MODC_OK && optimizer->averaged > 0; i++)
        status = swap_average(optimizer, i);
    return status == MODC_OK ? changed(optimizer->training) : status;
}
