/* modc_hook.c - contexts, the float mode, and hooks: who registered what, and what runs around a module's call.
 *
 * The emitted fenced code brackets every module with modc_call_begin and modc_call_end, in backward with
 * modc_backward_call_begin and modc_backward_call_end; the fused code has none of this. Order, snapshots and always_call
 * are PyTorch's (module-semantics 1.1 to 1.6). */
#include "modc_device.h"

#include <string.h>
#if defined _MSC_VER
#include <intrin.h>
#endif

/* ---- contexts ------------------------------------------------------------------------------------------ */

static const struct modc_isa **chosen_isa(struct modc_context *net)
{
    return (const struct modc_isa **)(void *)((char *)net + net->model->dispatch->chosen);
}

/* The first that this machine has; there is one. */
static void choose_best(struct modc_context *net)
{
    const struct modc_isa *isa = net->model->dispatch->isas;

    while (isa->here != NULL && !isa->here())
        isa++;
    *chosen_isa(net) = isa;
}

enum modc_status modc_init(struct modc_context *net, const struct modc_model *model,
                           struct modc_params *params, void *workspace, size_t bytes)
{
    if (net == NULL || model == NULL || params == NULL || params->model == NULL ||
        (workspace == NULL && bytes > 0))
        return MODC_POINTER;
    if (params->model != model)
        return MODC_ARGUMENT;
    if ((uintptr_t)workspace % (model->align > 0 ? model->align : 1) != 0)
        return MODC_ALIGNMENT;
    if (bytes < model->state_block)
        return MODC_WORKSPACE;
    memset(net, 0, model->context_bytes);
    net->model = model;
    net->params = params;
    net->workspace = workspace;
    net->workspace_bytes = bytes;
    net->fault_module = -1;
    if (model->dispatch != NULL)
        choose_best(net);
    if (model->device == NULL)
        return modc_reset_state(net);

    const enum modc_status status = model->device->init(net);

    if (status != MODC_OK)
        net->model = NULL; /* nobody calls it */
    return status;
}

const struct modc_isa *modc_get_isa(const struct modc_context *net)
{
    const struct modc_dispatch *dispatch = net->model->dispatch;

    return dispatch != NULL
               ? *(const struct modc_isa *const *)(const void *)((const char *)net + dispatch->chosen)
               : NULL;
}

enum modc_status modc_set_isa(struct modc_context *net, const char *name)
{
    if (net == NULL || net->model == NULL)
        return MODC_POINTER;
    for (int i = 0; name != NULL && net->model->dispatch != NULL && i < net->model->dispatch->count; i++) {
        const struct modc_isa *isa = &net->model->dispatch->isas[i];

        if (!modc_same_text(isa->name, name))
            continue;
        if (isa->here != NULL && !isa->here())
            return MODC_UNSUPPORTED;
        *chosen_isa(net) = isa;
        return MODC_OK;
    }
    if (name != NULL)
        return MODC_NAME;
    if (net->model->dispatch != NULL)
        choose_best(net);
    return MODC_OK;
}

void modc_train(struct modc_context *net, bool mode)
{
    net->training = mode;
}

enum modc_status modc_seed(struct modc_context *net, uint64_t seed)
{
    if (net == NULL)
        return MODC_POINTER;
    if (net->busy)
        return MODC_BUSY;
    net->seed = seed;
    net->counter = 0;
    net->saved = 0; /* masks could not be drawn again */
    return MODC_OK;
}

/* Bytes from the start of a state to that of the next one. */
static size_t state_stride(const struct modc_model *model, int index)
{
    size_t bytes = modc_key_bytes(&model->states[index]), align = model->tensor_align;

    return (bytes > 0 ? bytes + align - 1 : align) / align * align;
}

void *modc_state(const struct modc_context *net, int index)
{
    char *tensor = net->workspace;

    for (int i = 0; i < index; i++)
        tensor += state_stride(net->model, i);
    return tensor;
}

enum modc_status modc_reset_state(struct modc_context *net)
{
    if (net == NULL || net->model == NULL)
        return MODC_POINTER;
    if (net->busy)
        return MODC_BUSY;

    const struct modc_model *model = net->model;
    char *tensor = net->workspace;

    if (model->device != NULL)
        return model->device->reset_state(net);
    for (int i = 0; i < model->state_count; i++) {
        modc_fill_constant(&model->states[i], tensor);
        tensor += state_stride(model, i);
    }
    net->saved = 0;
    return MODC_OK;
}

/* Whether the packed block is still the one that these parameters were packed into. */
static bool owns_packed(const struct modc_params *params)
{
    const char *end = (const char *)params->packed + params->model->packed_block;
    const void *owner;

    if (params->packed_owner == NULL)
        return true;
    memcpy(&owner, end - MODC_OWNER_BYTES, sizeof owner);
    return owner == params->packed_owner;
}

enum modc_status modc_check(struct modc_context *net, size_t need, bool uses_packed, bool uses_buffers)
{
    if (net == NULL || net->model == NULL || net->params == NULL)
        return MODC_POINTER;
    if (net->busy)
        return MODC_BUSY;

    const struct modc_params *params = net->params;

    net->saved = 0;
    net->fault_module = -1;
    net->calls = NULL;
    if (net->workspace_bytes < need)
        return MODC_WORKSPACE;
    if (uses_packed &&
        (params->packed == NULL || params->packed_version != params->version || !owns_packed(params)))
        return MODC_STALE;
    if (uses_packed && uses_buffers && params->packed_buffer_version != params->buffer_version)
        return MODC_STALE;
    return net->model->device != NULL ? net->model->device->begin(net) : MODC_OK;
}

/* ---- the float mode ---- */

/* Nothing may move across a change of the mode: asm, since compilers take arithmetic for independent of it. */
#if defined __GNUC__ && defined __SSE__
enum { FLUSHES = 0x8040, FLAGS = 0x3f };

static uint64_t read_mode(void)
{
    unsigned mode;

    __asm__ volatile("stmxcsr %0" : "=m"(mode) : : "memory");
    return mode;
}

static void write_mode(uint64_t mode)
{
    const unsigned narrow = (unsigned)mode;

    __asm__ volatile("ldmxcsr %0" : : "m"(narrow) : "memory");
}
#elif defined __GNUC__ && defined __aarch64__
enum { FLUSHES = 1 << 24, FLAGS = 0 };

static uint64_t read_mode(void)
{
    uint64_t mode;

    __asm__ volatile("mrs %0, fpcr" : "=r"(mode) : : "memory");
    return mode;
}

static void write_mode(uint64_t mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
}
#elif defined __GNUC__ && defined __arm__ && defined __ARM_FP && !defined __SOFTFP__
#define FLAGS UINT64_C(0xf800009f) /* of comparisons too */
enum { FLUSHES = 1 << 24 };

static uint64_t read_mode(void)
{
    unsigned mode;

    __asm__ volatile("vmrs %0, fpscr" : "=r"(mode) : : "memory");
    return mode;
}

static void write_mode(uint64_t mode)
{
    __asm__ volatile("vmsr fpscr, %0" : : "r"((unsigned)mode) : "memory");
}
#elif defined _MSC_VER && defined _M_X64
enum { FLUSHES = 0x8040, FLAGS = 0x3f };

static uint64_t read_mode(void)
{
    return _mm_getcsr();
}

static void write_mode(uint64_t mode)
{
    _mm_setcsr((unsigned)mode);
}
#else
enum { FLUSHES = 0, FLAGS = 0 };

static uint64_t read_mode(void)
{
    return 0;
}

static void write_mode(uint64_t mode)
{
    (void)mode;
}
#endif

uint64_t modc_float_mode(void)
{
    return read_mode() & ~(uint64_t)FLAGS;
}

void modc_set_float_mode(uint64_t mode)
{
    write_mode((mode & ~(uint64_t)FLAGS) | (read_mode() & (uint64_t)FLAGS));
}

uint64_t modc_flush_denormals(void)
{
    const uint64_t before = modc_float_mode();

    modc_set_float_mode(before | FLUSHES);
    return before;
}

/* ---- faults of data ---- */

static int64_t integer_at(const void *data, enum modc_dtype dtype, int64_t at)
{
    switch (dtype) {
    case MODC_BOOL:
        return ((const bool *)data)[at];
    case MODC_UINT8:
        return ((const uint8_t *)data)[at];
    case MODC_INT8:
        return ((const int8_t *)data)[at];
    case MODC_INT16:
        return ((const int16_t *)data)[at];
    case MODC_INT32:
        return ((const int32_t *)data)[at];
    default:
        return ((const int64_t *)data)[at];
    }
}

static enum modc_status fault_at(struct modc_context *net, int module, int64_t index, int64_t value,
                                 enum modc_status status)
{
    net->fault_module = module;
    net->fault_index = index;
    net->fault_value = value;
    return status;
}

enum modc_status modc_check_index(struct modc_context *net, int module, const void *index,
                                  enum modc_dtype dtype, int64_t count, int64_t lowest, int64_t end)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t value = integer_at(index, dtype, i);

        if (value < lowest || value >= end)
            return fault_at(net, module, i, value, MODC_INDEX);
    }
    return MODC_OK;
}

static enum modc_status check_zeros(struct modc_context *net, int module, const void *data,
                                    enum modc_dtype dtype, int64_t count, enum modc_status status)
{
    for (int64_t i = 0; i < count; i++)
        if (integer_at(data, dtype, i) == 0)
            return fault_at(net, module, i, 0, status);
    return MODC_OK;
}

enum modc_status modc_check_divisor(struct modc_context *net, int module, const void *divisor,
                                    enum modc_dtype dtype, int64_t count)
{
    return check_zeros(net, module, divisor, dtype, count, MODC_DIVISION);
}

enum modc_status modc_check_true(struct modc_context *net, int module, const void *mask,
                                 enum modc_dtype dtype, int64_t count)
{
    return check_zeros(net, module, mask, dtype, count, MODC_ARGUMENT);
}

/* ---- registration -------------------------------------------------------------------------------------- */

static bool is_backward(enum modc_hook_kind kind)
{
    return kind == MODC_HOOK_BACKWARD_PRE || kind == MODC_HOOK_BACKWARD;
}

/* Whether hooks of this kind ever run. */
static bool has_fenced(const struct modc_model *model, enum modc_hook_kind kind)
{
    for (int i = 0; i < model->entry_count; i++) {
        const struct modc_entry *entry = &model->entries[i];

        for (int mode = 0; mode < MODC_MODES; mode++) {
            if ((is_backward(kind) ? entry->backward_workspace[MODC_MODES + mode]
                                   : entry->fenced_workspace[mode]) > 0)
                return true;
        }
    }
    return false;
}

static enum modc_status add_hook(struct modc_hook **list, int module, enum modc_hook_kind kind,
                                 struct modc_hook *hook, unsigned flags)
{
    unsigned allowed = MODC_PREPEND | (is_backward(kind) ? 0u : MODC_WITH_KWARGS) |
                       (kind == MODC_HOOK_FORWARD ? MODC_ALWAYS_CALL : 0u);
    int count = 0;

    if (hook == NULL || hook->call == NULL)
        return MODC_POINTER;
    if (hook->list != NULL || (flags & ~allowed) != 0)
        return MODC_ARGUMENT;

    struct modc_hook **end = list;

    for (; *end != NULL; end = &(*end)->next)
        count += (*end)->kind == kind && (*end)->module == module;
    if (count >= MODC_MAX_HOOKS)
        return MODC_MEMORY;
    if ((flags & MODC_PREPEND) != 0)
        end = list;
    hook->module = module;
    hook->kind = kind;
    hook->flags = flags;
    hook->list = list;
    hook->next = *end;
    *end = hook;
    return MODC_OK;
}

static enum modc_status add_to_context(struct modc_context *net, int module, enum modc_hook_kind kind,
                                       struct modc_hook *hook, unsigned flags)
{
    if (net == NULL || net->model == NULL)
        return MODC_POINTER;
    if (!has_fenced(net->model, kind))
        return MODC_UNSUPPORTED;
    if (module < 0 || module >= net->model->module_count)
        return MODC_INDEX;
    return add_hook(&net->hooks, module, kind, hook, flags);
}

enum modc_status modc_register_forward_pre_hook(struct modc_context *net, int module, struct modc_hook *hook,
                                                unsigned flags)
{
    return add_to_context(net, module, MODC_HOOK_FORWARD_PRE, hook, flags);
}

enum modc_status modc_register_forward_hook(struct modc_context *net, int module, struct modc_hook *hook,
                                            unsigned flags)
{
    return add_to_context(net, module, MODC_HOOK_FORWARD, hook, flags);
}

enum modc_status modc_register_full_backward_pre_hook(struct modc_context *net, int module,
                                                      struct modc_hook *hook, unsigned flags)
{
    return add_to_context(net, module, MODC_HOOK_BACKWARD_PRE, hook, flags);
}

enum modc_status modc_register_full_backward_hook(struct modc_context *net, int module,
                                                  struct modc_hook *hook, unsigned flags)
{
    return add_to_context(net, module, MODC_HOOK_BACKWARD, hook, flags);
}

static enum modc_status add_to_set(struct modc_hook_set *set, enum modc_hook_kind kind,
                                   struct modc_hook *hook, unsigned flags)
{
    if (set == NULL)
        return MODC_POINTER;
    if ((flags & MODC_PREPEND) != 0)
        return MODC_ARGUMENT; /* as in PyTorch: global hooks have none */
    return add_hook(&set->hooks, -1, kind, hook, flags);
}

enum modc_status modc_register_module_forward_pre_hook(struct modc_hook_set *set, struct modc_hook *hook,
                                                       unsigned flags)
{
    return add_to_set(set, MODC_HOOK_FORWARD_PRE, hook, flags);
}

enum modc_status modc_register_module_forward_hook(struct modc_hook_set *set, struct modc_hook *hook,
                                                   unsigned flags)
{
    return add_to_set(set, MODC_HOOK_FORWARD, hook, flags);
}

enum modc_status modc_register_module_full_backward_pre_hook(struct modc_hook_set *set,
                                                             struct modc_hook *hook, unsigned flags)
{
    return add_to_set(set, MODC_HOOK_BACKWARD_PRE, hook, flags);
}

enum modc_status modc_register_module_full_backward_hook(struct modc_hook_set *set, struct modc_hook *hook,
                                                         unsigned flags)
{
    return add_to_set(set, MODC_HOOK_BACKWARD, hook, flags);
}

void modc_hook_remove(struct modc_hook *hook)
{
    if (hook == NULL || hook->list == NULL)
        return;
    for (struct modc_hook **at = hook->list; *at != NULL; at = &(*at)->next) {
        if (*at == hook) {
            *at = hook->next;
            break;
        }
    }
    hook->list = NULL;
    hook->next = NULL;
}

enum modc_status modc_attach(struct modc_context *net, const struct modc_hook_set *set)
{
    if (net == NULL || net->model == NULL)
        return MODC_POINTER;
    if (set != NULL && !has_fenced(net->model, MODC_HOOK_FORWARD))
        return MODC_UNSUPPORTED;
    net->hook_set = set;
    return MODC_OK;
}

/* ---- calling ------------------------------------------------------------------------------------------- */

/* The hooks of one step as they were when it started: one added meanwhile does not run, one removed does. */
struct snapshot {
    const struct modc_hook *hooks[2 * MODC_MAX_HOOKS];
    int count;
};

static void collect(struct snapshot *snapshot, const struct modc_hook *list, int module,
                    enum modc_hook_kind kind)
{
    for (const struct modc_hook *hook = list; hook != NULL; hook = hook->next) {
        if (hook->kind == kind && (hook->module == module || hook->module < 0))
            snapshot->hooks[snapshot->count++] = hook;
    }
}

static void take_snapshot(struct snapshot *snapshot, const struct modc_context *net, int module,
                          enum modc_hook_kind kind)
{
    snapshot->count = 0;
    if (net->hook_set != NULL)
        collect(snapshot, net->hook_set->hooks, module, kind);
    collect(snapshot, net->hooks, module, kind);
}

/* Changes whenever a dtype or dimension of one tensor does, or a pointer becomes or stops being NULL: each
 * step is a bijection. */
static uint64_t shape_hash(const struct modc_tensor *tensors, int count)
{
    uint64_t hash = 14695981039346656037u;

    for (int i = 0; i < count; i++) {
        const struct modc_tensor *t = &tensors[i];
        uint64_t head = (uint64_t)t->dtype << 32 ^ (uint64_t)(uint32_t)t->ndim << 1 ^ (t->data != NULL);

        hash = (hash ^ head) * 1099511628211u;
        for (int k = 0; k < t->ndim && k < MODC_MAX_DIMS; k++)
            hash = (hash ^ (uint32_t)t->dims[k]) * 1099511628211u;
    }
    return hash;
}

static bool are_aligned(const struct modc_tensor *tensors, int count)
{
    for (int i = 0; i < count; i++)
        if ((uintptr_t)tensors[i].data % modc_dtype_align(tensors[i].dtype) != 0)
            return false;
    return true;
}

/* While it runs the context is busy: its workspace holds the call that goes on behind. That reads the parameters too, so that
 * a hook that wrote them ends it. */
static enum modc_status run_hook(struct modc_context *net, const struct modc_call *call,
                                 const struct modc_hook *hook)
{
    struct modc_hook_call record = {.context = net,
                                    .model = net->model,
                                    .module = call->module,
                                    .path = net->model->modules[call->module].path,
                                    .user = hook->user};
    uint64_t before = shape_hash(call->inputs, call->input_count) ^
                      shape_hash(call->outputs, call->output_count) * 3;
    uint64_t version = net->params->version;
    enum modc_status status;

    *(call->backward ? &record.grad_inputs : &record.inputs) = call->inputs;
    *(call->backward ? &record.grad_input_count : &record.input_count) = call->input_count;
    *(call->backward ? &record.grad_outputs : &record.outputs) = call->outputs;
    *(call->backward ? &record.grad_output_count : &record.output_count) = call->output_count;
    net->busy = true;
    status = hook->call(&record);
    net->busy = false;
    if (status != MODC_OK)
        return status;
    if (net->params->version != version)
        return MODC_STALE;

    uint64_t after = shape_hash(call->inputs, call->input_count) ^
                     shape_hash(call->outputs, call->output_count) * 3;

    if (before != after)
        return MODC_HOOK_SHAPE;
    return are_aligned(call->inputs, call->input_count) && are_aligned(call->outputs, call->output_count)
               ? MODC_OK
               : MODC_ALIGNMENT;
}

/* Runs the always_call hooks of a call that failed, but for those of `called`; their errors are dropped. */
static void run_always(struct modc_context *net, const struct modc_call *call, const struct snapshot *called)
{
    struct snapshot step;

    take_snapshot(&step, net, call->module, MODC_HOOK_FORWARD);
    for (int i = 0; i < step.count; i++) {
        bool skip = (step.hooks[i]->flags & MODC_ALWAYS_CALL) == 0;

        for (int k = 0; called != NULL && k < called->count; k++)
            skip = skip || called->hooks[k] == step.hooks[i];
        if (!skip)
            (void)run_hook(net, call, step.hooks[i]);
    }
}

/* Up to the first that fails. */
static enum modc_status run_step(struct modc_context *net, const struct modc_call *call,
                                 enum modc_hook_kind kind)
{
    struct snapshot step;

    take_snapshot(&step, net, call->module, kind);
    for (int i = 0; i < step.count; i++) {
        enum modc_status status = run_hook(net, call, step.hooks[i]);

        if (status != MODC_OK) {
            net->fault_module = call->module;
            return status;
        }
    }
    return MODC_OK;
}

enum modc_status modc_call_begin(struct modc_context *net, struct modc_call *call, int module,
                                 struct modc_tensor *inputs, int input_count)
{
    *call = (struct modc_call){
        .outer = net->calls, .module = module, .inputs = inputs, .input_count = input_count};
    net->calls = call;
    return run_step(net, call, MODC_HOOK_FORWARD_PRE);
}

enum modc_status modc_call_end(struct modc_context *net, struct modc_call *call, struct modc_tensor *outputs,
                               int output_count)
{
    struct snapshot step;
    enum modc_status status = MODC_OK;

    call->outputs = outputs;
    call->output_count = output_count;
    take_snapshot(&step, net, call->module, MODC_HOOK_FORWARD);
    for (int i = 0; i < step.count && status == MODC_OK; i++) {
        status = run_hook(net, call, step.hooks[i]);
        if (status != MODC_OK) {
            net->fault_module = call->module;
            step.count = i + 1; /* these have been called */
            run_always(net, call, &step);
        }
    }
    net->calls = call->outer;
    return status;
}

enum modc_status modc_call_failed(struct modc_context *net, enum modc_status status)
{
    while (net->calls != NULL) {
        const struct modc_call *call = net->calls;

        net->calls = call->outer;
        run_always(net, call, NULL);
    }
    return status;
}

enum modc_status modc_backward_call_begin(struct modc_context *net, struct modc_call *call, int module,
                                          struct modc_tensor *outputs, int output_count)
{
    *call = (struct modc_call){
        .module = module, .backward = true, .outputs = outputs, .output_count = output_count};
    return run_step(net, call, MODC_HOOK_BACKWARD_PRE);
}

enum modc_status modc_backward_call_end(struct modc_context *net, struct modc_call *call,
                                        struct modc_tensor *inputs, int input_count)
{
    call->inputs = inputs;
    call->input_count = input_count;
    return run_step(net, call, MODC_HOOK_BACKWARD);
}

enum modc_status modc_backward_failed(struct modc_context *net, enum modc_status status)
{
    net->saved = 0;
    return status;
}
