/* modc_python.c - calls of modc.Module without Python's frames; see modc_python.h. It knows no model: those of one library serve
 * the contexts of all. */
#include "modc_python.h"

#include <stdatomic.h>
#include <string.h>

static struct modc_python py;

void modc_python_begin(const struct modc_python *python)
{
    py = *python;
}

/* ---- objects --------------------------------------------------------------------------------------------- */

static struct modc_object *call_1(struct modc_object *function, struct modc_object *argument)
{
    return py.call(function, &argument, 1, NULL);
}

static struct modc_object *call_2(struct modc_object *function, struct modc_object *one,
                                  struct modc_object *two)
{
    struct modc_object *const arguments[] = {one, two};

    return py.call(function, arguments, 2, NULL);
}

/* Takes a reference, or an error: whether it is this object. */
static bool is(struct modc_object *found, const struct modc_object *wanted)
{
    if (found == NULL)
        py.clear_error();
    else
        py.release(found);
    return found == wanted;
}

/* Takes a reference, or an error: the number that it is; -1: none. */
static int64_t number_of(struct modc_object *found)
{
    int64_t number;

    if (found == NULL) {
        py.clear_error();
        return -1;
    }
    number = py.number(found);
    py.release(found);
    if (number == -1)
        py.clear_error();
    return number;
}

static void set_item(struct modc_object *tuple, int index, struct modc_object *borrowed)
{
    py.keep(borrowed);
    py.set_item(tuple, index, borrowed);
}

/* ---- tensors --------------------------------------------------------------------------------------------- */

/* False: nowhere that C can read, and PyTorch has set an error. */
static bool see_or_fail(struct modc_object *tensor, struct modc_python_view *view)
{
    return py.view(tensor, view) == 0;
}

static bool see(struct modc_object *tensor, struct modc_python_view *view)
{
    enum { CPU = 1 };

    if (!see_or_fail(tensor, view)) {
        py.clear_error();
        return false;
    }
    return view->device == CPU;
}

/* NULL: there are no elements. */
static void *address_in(const struct modc_python_view *view)
{
    for (int i = 0; i < view->ndim; i++) {
        if (view->dims[i] == 0)
            return NULL;
    }
    return (char *)view->data + view->offset;
}

static bool has_dims(const struct modc_python_kind *kind, int64_t ndim, const int64_t *dims)
{
    if (ndim != kind->ndim)
        return false;
    for (int i = 0; i < kind->ndim; i++) {
        if (dims[i] != kind->dims[i])
            return false;
    }
    return true;
}

static bool is_kind(const struct modc_python_view *view, const struct modc_python_kind *kind)
{
    return view->code == kind->code && view->bits == kind->bits && has_dims(kind, view->ndim, view->dims);
}

/* Whether elements lie one behind the other, rows first. */
static bool in_rows(int ndim, const int64_t *dims, const int64_t *strides)
{
    int64_t stride = 1;

    for (int i = ndim - 1; i >= 0; i--) {
        if (dims[i] == 0)
            return true;
        if (dims[i] != 1 && strides[i] != stride)
            return false;
        stride *= dims[i];
    }
    return true;
}

/* Where the elements of a tensor of the CPU lie, also if there are none; NULL: nowhere, and PyTorch has set an error. */
static void *address_of(struct modc_object *tensor)
{
    static char nowhere[64];
    struct modc_python_view view;
    struct modc_object *number;
    void *found;

    if (py.view != NULL) {
        if (!see_or_fail(tensor, &view))
            return NULL;
        found = address_in(&view);
    } else {
        number = call_1(py.data_ptr, tensor);
        if (number == NULL)
            return NULL;
        found = py.address(number);
        py.release(number);
    }
    return found != NULL ? found : nowhere;
}

/* Whether C can read the tensor where it lies. Not where it has no elements. */
static bool lies(const struct modc_python_call *call, struct modc_object *tensor, void **address)
{
    struct modc_python_view view;

    if (py.view != NULL) {
        if (!see(tensor, &view) || !in_rows(view.ndim, view.dims, view.strides))
            return false;
        *address = address_in(&view);
    } else {
        const int64_t number = is(call_1(py.is_contiguous, tensor), py.yes)
                                   ? number_of(call_1(py.data_ptr, tensor))
                                   : -1;

        if (number < 0)
            return false;
        *address = (void *)(intptr_t)number;
    }
    return *address != NULL && ((uintptr_t)*address & call->mask) == 0 &&
           is(call_1(py.is_neg, tensor), py.no) &&
           (!call->is_complex || is(call_1(py.is_conj, tensor), py.no));
}

/* Sets *address, and gives a reference to what lies there: the tensor or a copy of it. */
static struct modc_object *readable(const struct modc_python_call *call, struct modc_object *tensor,
                                    const void **address)
{
    void *found;

    if (lies(call, tensor, &found)) {
        py.keep(tensor);
        *address = found;
        return tensor;
    }
    tensor = call_1(py.dense, tensor);
    *address = tensor != NULL ? address_of(tensor) : NULL;
    if (tensor != NULL && *address == NULL) {
        py.release(tensor);
        return NULL;
    }
    return tensor;
}

/* A new tensor as `template` is, and where its elements go. */
static struct modc_object *new_tensor(struct modc_object *template, void **address)
{
    struct modc_object *const tensor = call_1(py.empty_like, template);

    *address = tensor != NULL ? address_of(tensor) : NULL;
    if (tensor != NULL && *address == NULL) {
        py.release(tensor);
        return NULL;
    }
    return tensor;
}

/* ---- what is remembered of a model ------------------------------------------------------------------------ */

static int64_t version_of(struct modc_object *tensor)
{
    const void *const handle = (const char *)tensor + py.inside;

    if (py.inside == 0)
        return number_of(py.attribute(tensor, py.version));
    return py.has_no_version(handle) ? -1 : py.version_of(handle);
}

int64_t modc_python_versions(struct modc_object *const *tensors, int count)
{
    int64_t sum = 0;

    for (int i = 0; i < count; i++) {
        const int64_t version = version_of(tensors[i]);

        if (version < 0)
            return -1;
        sum += version;
    }
    return sum;
}

/* Without DLPack, only its address. */
static bool is_where_it_was(struct modc_object *tensor, const struct modc_python_kind *kind,
                            const void *address)
{
    struct modc_python_view view;

    if (py.inside != 0) {
        const void *const handle = (const char *)tensor + py.inside;
        const int64_t *dims, *strides;
        int64_t rank;
        void *data;

        return py.data_of(handle, &data) == 0 && data == address && py.rank_of(handle, &rank) == 0 &&
               py.dims_of(handle, &dims) == 0 && has_dims(kind, rank, dims) &&
               py.strides_of(handle, &strides) == 0 && in_rows(kind->ndim, dims, strides);
    }
    if (py.view == NULL)
        return number_of(call_1(py.data_ptr, tensor)) == (int64_t)(intptr_t)address;
    return see(tensor, &view) && is_kind(&view, kind) && in_rows(view.ndim, view.dims, view.strides) &&
           address_in(&view) == address;
}

int64_t modc_python_look_at(struct modc_python_look *look)
{
    const int count = look->parameters + look->buffers;
    int64_t version;

    for (int i = 0; i < look->items; i++) {
        if (py.dict_item(look->dicts[i], look->names[i]) != look->objects[i])
            return -1;
    }
    for (int i = 0; i < count; i++) {
        if (!is_where_it_was(look->tensors[i], &look->kinds[i], look->addresses[i]))
            return -1;
    }
    version = modc_python_versions(look->tensors, look->parameters);
    look->buffer_version = modc_python_versions(look->tensors + look->parameters, look->buffers);
    return look->buffer_version >= 0 ? version : -1;
}

/* ---- contexts -------------------------------------------------------------------------------------------- */

static atomic_flag busy = ATOMIC_FLAG_INIT; /* for a Python without a lock of its own */

static struct modc_python_context *take(const struct modc_python_call *call)
{
    struct modc_python_weights *const weights = call->weights;
    struct modc_python_context *context;
    struct modc_object *number;

    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
    }
    context = weights->free;
    if (context != NULL)
        weights->free = context->next;
    atomic_flag_clear_explicit(&busy, memory_order_release);
    if (context != NULL)
        return context;
    number = call_1(py.create, call->owner);
    if (number == NULL)
        return NULL;
    context = py.address(number);
    py.release(number);
    return context;
}

/* It is free; nothing of the call is held any more. */
static void give(struct modc_python_context *context, int inputs)
{
    struct modc_python_weights *const weights = context->weights;

    for (int i = 0; i < inputs; i++) {
        struct modc_object *const held = context->held[i];

        context->held[i] = NULL;
        if (held != NULL)
            py.release(held);
    }
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
    }
    context->next = weights->free;
    weights->free = context;
    atomic_flag_clear_explicit(&busy, memory_order_release);
}

/* Ends what a graph of autograd had of it. The owner may be the last who knows the context. */
static void end_loan(struct modc_python_context *context)
{
    const struct modc_python_call *const call = context->lent;
    struct modc_object *const owner = call->owner;

    context->lent = NULL;
    give(context, call->inputs);
    py.release(owner);
}

static void destroy_loan(struct modc_object *capsule)
{
    struct modc_python_context *const context = py.capsule_context(capsule);

    if (context != NULL)
        end_loan(context);
}

/* ---- forward --------------------------------------------------------------------------------------------- */

static void fill(const struct modc_python_call *call, struct modc_python_context *context)
{
    context->filled = call;
    context->frame.sizes = call->sizes;
    modc_train(context->frame.net, call->mode);
}

static enum modc_status run(struct modc_python_context *context)
{
    struct modc_python_weights *const weights = context->weights;
    void *const thread = py.unlock();
    const enum modc_status status = weights->run(&context->frame);

    py.lock(thread);
    return status;
}

/* Raises what the call ended with. */
static struct modc_object *fail(const struct modc_python_call *call, struct modc_python_context *context,
                                enum modc_status status)
{
    context->status = status;
    return call_2(py.fail, call->owner, context->object);
}

/* Computes the outputs, a tuple, and holds what was read. On NULL the context is to be given back. */
static struct modc_object *compute(const struct modc_python_call *call, struct modc_python_context *context,
                                   struct modc_object *const *tensors, bool saving)
{
    struct modc_object *const outputs = py.tuple(call->outputs);
    enum modc_status status;
    bool is_ready = outputs != NULL;

    for (int i = 0; i < call->inputs && is_ready; i++) {
        context->held[i] = readable(call, tensors[call->positions[i]], &context->frame.inputs[i]);
        is_ready = context->held[i] != NULL;
    }
    for (int i = 0; i < call->outputs && is_ready; i++) {
        struct modc_object *const output = new_tensor(call->templates[i], &context->frame.outputs[i]);

        is_ready = output != NULL && py.set_item(outputs, i, output) == 0;
    }
    if (is_ready) {
        if (context->filled != call)
            fill(call, context);
        if (context->saving != saving) {
            modc_set_grad_enabled(context->frame.net, saving);
            context->saving = saving;
        }
        if (call->asks) {
            struct modc_object *const done = call_2(py.before, call->owner, context->object);

            is_ready = done != NULL;
            if (is_ready)
                py.release(done);
        }
    }
    if (is_ready) {
        status = run(context);
        if (status == MODC_STALE) {
            status = context->weights->renew(context->weights->params, false, false);
            status = status == MODC_OK ? run(context) : status;
        }
        if (status == MODC_OK)
            return outputs;
        fail(call, context, status);
    }
    if (outputs != NULL)
        py.release(outputs);
    return NULL;
}

static struct modc_object *evaluate(const struct modc_python_call *call, struct modc_object *const *tensors)
{
    struct modc_python_context *const context = take(call);
    struct modc_object *outputs;

    if (context == NULL)
        return NULL;
    outputs = compute(call, context, tensors, false);
    give(context, call->inputs);
    return outputs;
}

struct modc_object *modc_python_evaluate(struct modc_object *self, struct modc_object *const *arguments,
                                         intptr_t count)
{
    (void)self, (void)count;
    return evaluate(py.address(arguments[0]), arguments + 1);
}

/* Tells ctx which outputs have no gradient, and that gradients of several may be None. */
static bool tell(const struct modc_python_call *call, struct modc_object *ctx, struct modc_object *outputs)
{
    struct modc_object *fixed;
    bool done;

    if (call->outputs > 1 && py.set_attribute(ctx, py.materialize_grads, py.no) != 0)
        return false;
    if (call->fixed == NULL)
        return true;
    fixed = py.tuple(py.length(call->fixed));
    if (fixed == NULL)
        return false;
    for (int i = 0; i < py.length(call->fixed); i++)
        set_item(fixed, i, py.item(outputs, (intptr_t)py.number(py.item(call->fixed, i))));
    done = py.set_attribute(ctx, py.non_differentiable, fixed) == 0;
    py.release(fixed);
    return done;
}

struct modc_object *modc_python_forward(struct modc_object *self, struct modc_object *const *arguments,
                                        intptr_t count)
{
    struct modc_object *const ctx = arguments[0];
    struct modc_python_call *const call = py.address(arguments[1]);
    struct modc_python_context *const context = take(call);
    struct modc_object *outputs, *capsule;
    bool done;

    (void)self, (void)count;
    if (context == NULL)
        return NULL;
    context->version = call->weights->version;
    outputs = compute(call, context, arguments + 2, true);
    if (outputs == NULL) {
        give(context, call->inputs);
        return NULL;
    }
    context->lent = call;
    context->input_version = modc_python_versions(context->held, call->inputs);
    py.keep(call->owner);
    capsule = py.capsule(context, NULL, destroy_loan);
    if (capsule == NULL || py.set_capsule_context(capsule, context) != 0) {
        end_loan(context);
        done = false;
    } else {
        done = py.set_attribute(ctx, py.loan, capsule) == 0 && tell(call, ctx, outputs);
    }
    if (capsule != NULL)
        py.release(capsule);
    if (!done) {
        py.release(outputs);
        return NULL;
    }
    return outputs;
}

/* ---- backward -------------------------------------------------------------------------------------------- */

static bool is_same(struct modc_object *one, struct modc_object *two)
{
    const intptr_t count = py.length(one);

    if (count != py.length(two))
        return false;
    for (intptr_t i = 0; i < count; i++) {
        if (py.item(one, i) != py.item(two, i))
            return false;
    }
    return true;
}

static const struct modc_python_adjoint *adjoint_of(struct modc_python_call *call, struct modc_object *ctx)
{
    struct modc_object *const needs = py.attribute(ctx, py.needs_input_grad);
    const struct modc_python_adjoint *adjoint = call->adjoint;

    if (needs == NULL)
        return NULL;
    if (adjoint == NULL || !is_same(adjoint->needs, needs)) {
        struct modc_object *const number = call_2(py.adjoint, call->owner, needs);

        adjoint = number != NULL ? py.address(number) : NULL;
        call->adjoint = adjoint;
        if (number != NULL)
            py.release(number);
    }
    py.release(needs);
    return adjoint;
}

/* New tensors for the gradients that are wanted, in a tuple with None for the others. */
static struct modc_object *new_gradients(const struct modc_python_call *call,
                                         struct modc_python_context *context,
                                         const struct modc_python_adjoint *adjoint)
{
    struct modc_binding_frame *const frame = &context->frame;
    const int count = (int)py.length(adjoint->needs);
    struct modc_object *const made = py.tuple(count);

    if (made == NULL)
        return NULL;
    if (context->adjoint != adjoint) {
        context->adjoint = adjoint;
        memset(frame->input_gradients, 0, (size_t)call->inputs * sizeof *frame->input_gradients);
    }
    memset(frame->gradients, 0, (size_t)call->gradients * sizeof *frame->gradients);
    for (int i = 0; i < count; i++)
        set_item(made, i, py.none);
    for (int i = 0; i < adjoint->count; i++) {
        void **const array = i < adjoint->inputs ? frame->input_gradients : frame->gradients;
        struct modc_object *const tensor = new_tensor(adjoint->templates[i], &array[adjoint->indices[i]]);

        if (tensor == NULL || py.set_item(made, adjoint->places[i], tensor) != 0) {
            py.release(made);
            return NULL;
        }
    }
    return made;
}

/* The gradients of outputs as C reads them, in a tuple. */
static struct modc_object *given_gradients(const struct modc_python_call *call,
                                           struct modc_python_context *context,
                                           struct modc_object *const *gradients)
{
    struct modc_object *const kept = py.tuple(call->outputs);

    for (int i = 0; i < call->outputs && kept != NULL; i++) {
        const void **const address = &context->frame.output_gradients[i];
        struct modc_object *read = py.none;

        if (gradients[i] == py.none) {
            *address = NULL;
            py.keep(read);
        } else {
            read = readable(call, gradients[i], address);
        }
        if (read == NULL || py.set_item(kept, i, read) != 0) {
            py.release(kept);
            return NULL;
        }
    }
    return kept;
}

static struct modc_object *differentiate(struct modc_python_call *call, struct modc_python_context *context,
                                         struct modc_object *ctx, struct modc_object *const *gradients)
{
    const struct modc_python_adjoint *const adjoint = adjoint_of(call, ctx);
    struct modc_object *const given = adjoint != NULL ? given_gradients(call, context, gradients) : NULL;
    struct modc_object *made = given != NULL ? new_gradients(call, context, adjoint) : NULL;

    if (made != NULL) {
        void *const thread = py.unlock();
        const enum modc_status status = context->weights->run_backward(&context->frame);

        py.lock(thread);
        if (status != MODC_OK) {
            py.release(made);
            made = fail(call, context, status);
        }
        for (int i = adjoint->inputs; i < adjoint->count && made != NULL && context->frame.absent > 0; i++) {
            if (context->frame.gradients[adjoint->indices[i]] == NULL)
                set_item(made, adjoint->places[i], py.none);
        }
    }
    if (given != NULL)
        py.release(given);
    return made;
}

struct modc_object *modc_python_backward(struct modc_object *self, struct modc_object *const *arguments,
                                         intptr_t count)
{
    struct modc_object *const ctx = arguments[0];
    struct modc_python_context *context;
    struct modc_object *capsule, *made;
    struct modc_python_call *call;

    (void)self;
    if (is(py.call(py.is_grad_enabled, NULL, 0, NULL), py.yes))
        return py.call(py.once, arguments, (size_t)count, NULL);
    capsule = py.attribute(ctx, py.loan);
    if (capsule == NULL)
        return NULL;
    context = py.capsule_context(capsule);
    if (context == NULL) {
        py.release(capsule);
        return call_1(py.over, ctx);
    }
    call = context->lent;
    if (modc_python_versions(call->look->tensors, call->look->parameters) != context->version ||
        modc_python_versions(context->held, call->inputs) != context->input_version) {
        const bool of_input = modc_python_versions(context->held, call->inputs) != context->input_version;

        py.release(capsule);
        return call_1(py.changed, of_input ? py.yes : py.no);
    }
    py.set_capsule_context(capsule, NULL);
    made = differentiate(call, context, ctx, arguments + 1);
    end_loan(context);
    py.release(capsule);
    return made;
}

/* ---- calls as they were before ---------------------------------------------------------------------------- */

/* Whether an argument is as it was. */
static bool fits(const struct modc_python_argument *was, struct modc_object *argument)
{
    const struct modc_python_kind *const kind = &was->kind;
    struct modc_object *type, *shape;
    struct modc_python_view view;
    int equal;

    if (was->literal != NULL)
        return argument == was->literal;
    type = py.type_of(argument);
    py.release(type); /* which the argument has, too */
    if (type != py.tensor && type != py.parameter)
        return false;
    if (py.view != NULL)
        return see(argument, &view) && is_kind(&view, kind);
    shape = py.attribute(argument, py.shape);
    equal = shape != NULL ? py.compare(shape, kind->shape, 2 /* Py_EQ */) : -1;
    if (shape != NULL)
        py.release(shape);
    if (equal < 0)
        py.clear_error();
    return equal == 1 && is(py.attribute(argument, py.dtype), kind->dtype) &&
           is(py.attribute(argument, py.layout), kind->layout) &&
           is(py.attribute(argument, py.is_cpu), py.yes);
}

/* Whether these are its arguments; sets `tensors` to those among them. */
static bool is_for(const struct modc_python_call *call, bool grad, struct modc_object *const *arguments,
                   int count, struct modc_object *names, struct modc_object **tensors)
{
    const int named = names != NULL ? (int)py.length(names) : 0;

    if (call->argument_count != count + named || call->name_count != named ||
        (call->apply != NULL ? !grad : grad && call->look->trained > 0))
        return false;
    for (int i = 0; i < named; i++) {
        if (py.item(names, i) != call->names[i])
            return false;
    }
    for (int i = 0; i < count + named; i++) {
        const struct modc_python_argument *const was = &call->arguments[i];

        if (!fits(was, arguments[i]))
            return false;
        if (was->literal != NULL)
            continue;
        if (grad && call->apply == NULL && !is(py.attribute(arguments[i], py.requires_grad), py.no))
            return false;
        *tensors++ = arguments[i];
    }
    return true;
}

static bool is_trained_as_before(const struct modc_python_look *look)
{
    for (int i = 0; i < look->parameters; i++) {
        if (look->wants == NULL || !is(py.attribute(look->tensors[i], py.requires_grad), look->wants[i]))
            return false;
    }
    return true;
}

/* Lets C compute with what the tensors hold now. */
static bool is_renewed(struct modc_python_weights *weights, const struct modc_python_look *look,
                       int64_t version)
{
    const bool parameters = weights->version != version;
    const bool buffers = weights->buffer_version != look->buffer_version || weights->writes != look->writes;

    if (parameters || buffers) {
        if (weights->renew(weights->params, parameters, buffers) != MODC_OK)
            return false;
        weights->version = version;
        weights->buffer_version = look->buffer_version;
        weights->writes = look->writes;
    }
    return true;
}

/* Under autograd, where something is trained. */
static struct modc_object *apply(const struct modc_python_call *call, struct modc_object *const *tensors)
{
    memcpy(call->applied + 1, tensors, (size_t)call->tensors * sizeof *tensors);
    return py.call(call->apply, call->applied, (size_t)(1 + call->tensors + call->trained), NULL);
}

/* The call that has these arguments, with its tensors, and a reference to its owner; NULL: there is none. All of Python that is
 * asked here may let other threads in, who forget calls. */
static struct modc_python_call *find(const struct modc_python_state *state,
                                     struct modc_object *const *arguments, int count,
                                     struct modc_object *names, struct modc_object **tensors)
{
    struct modc_python_call *call;
    int64_t version;
    bool grad;

    if (state->first == NULL || !is(py.call(py.is_autocast_enabled, NULL, 0, NULL), py.no))
        return NULL;
    grad = is(py.call(py.is_grad_enabled, NULL, 0, NULL), py.yes);
    call = state->first;
    if (call != NULL)
        py.keep(call->owner);
    while (call != NULL && !is_for(call, grad, arguments, count, names, tensors)) {
        struct modc_python_call *const next = call->next; /* NULL, where it is forgotten */

        if (next != NULL)
            py.keep(next->owner);
        py.release(call->owner);
        call = next;
    }
    if (call == NULL)
        return NULL;
    version = modc_python_look_at(call->look);
    if (version >= 0 && (!grad || is_trained_as_before(call->look)) &&
        is_renewed(call->weights, call->look, version))
        return call;
    py.release(call->owner);
    return NULL;
}

struct modc_object *modc_python_quick(struct modc_object *self, struct modc_object *const *arguments,
                                      intptr_t count, struct modc_object *names)
{
    const struct modc_python_state *const state = py.address(py.item(self, 0));
    struct modc_object *tensors[MODC_PYTHON_ARGUMENTS], *owner, *outputs, *result = NULL;
    struct modc_python_call *const call = find(state, arguments, (int)count, names, tensors);

    if (call == NULL) {
        struct modc_object *const method = py.attribute(state->object, py.run);

        if (method != NULL) {
            result = py.call(method, arguments, (size_t)count, names);
            py.release(method);
        }
        return result;
    }
    owner = call->owner;
    outputs = call->apply != NULL ? apply(call, tensors) : evaluate(call, tensors);
    if (outputs != NULL && call->writes) /* what it wrote itself, it knows */
        call->weights->writes = ++call->look->writes;
    if (outputs != NULL && call->single) {
        result = py.item(outputs, 0);
        py.keep(result);
    } else if (outputs != NULL) {
        result = call_2(py.made, owner, outputs);
    }
    if (outputs != NULL)
        py.release(outputs);
    py.release(owner);
    return result;
}
