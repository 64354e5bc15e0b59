/* modc_extern.c - which body an Extern has in a context, and what a call of it is told. */
#include "modc.h"

static const struct modc_extern_row *find_row(const struct modc_model *model, const char *name)
{
    for (int i = 0; i < model->extern_count; i++)
        if (modc_same_text(model->externs[i].name, name))
            return &model->externs[i];
    return NULL;
}

/* Where the list of a context's own bodies begins. */
static struct modc_extern **own_list(struct modc_context *net)
{
    return (struct modc_extern **)(void *)((char *)net + net->model->extern_list);
}

static struct modc_extern *find_own(struct modc_context *net, const char *name)
{
    for (struct modc_extern *body = *own_list(net); body != NULL; body = body->next)
        if (modc_same_text(body->name, name))
            return body;
    return NULL;
}

static void take_off(struct modc_extern *body)
{
    struct modc_extern **at = body->list;

    while (*at != body)
        at = &(*at)->next;
    *at = body->next;
    body->next = NULL;
    body->list = NULL;
}

enum modc_status modc_set_extern(struct modc_context *net, const char *name, struct modc_extern *body)
{
    const struct modc_extern_row *row;
    struct modc_extern *before;

    if (net == NULL || net->model == NULL || name == NULL || (body != NULL && body->call == NULL))
        return MODC_POINTER;
    row = find_row(net->model, name);
    if (row == NULL)
        return MODC_NAME;
    before = find_own(net, name);
    if (body != NULL && body->list != NULL)
        return MODC_ARGUMENT;
    if (before != NULL)
        take_off(before);
    if (body == NULL)
        return row->call != NULL ? MODC_OK : MODC_UNSUPPORTED;
    body->name = row->name;
    body->list = own_list(net);
    body->next = *body->list;
    *body->list = body;
    return MODC_OK;
}

/* Parameters are read behind it: a body that wrote them ends the call. */
static enum modc_status run(struct modc_context *net, struct modc_extern_call *call, bool backward)
{
    const struct modc_extern *own = find_own(net, call->name);
    const struct modc_extern_row *row = find_row(net->model, call->name);
    enum modc_status (*body)(struct modc_extern_call *) = own != NULL ? backward ? own->backward : own->call
                                                          : backward  ? row->backward
                                                                      : row->call;
    const uint64_t version = net->params->version;
    enum modc_status status = MODC_UNSUPPORTED;

    call->context = net;
    call->model = net->model;
    call->path = net->model->modules[call->module].path;
    call->training = net->training;
    call->user = own != NULL ? own->user : NULL;
    if (body != NULL) {
        net->busy = true;
        status = body(call);
        net->busy = false;
    }
    if (status == MODC_OK && net->params->version != version)
        status = MODC_STALE;
    if (status != MODC_OK)
        net->fault_module = call->module;
    return status;
}

enum modc_status modc_call_extern(struct modc_context *net, const char *name, int module, int input_count,
                                  int output_count, const struct modc_const_tensor *inputs,
                                  const struct modc_tensor *outputs)
{
    struct modc_extern_call call = {.name = name,
                                    .module = module,
                                    .inputs = inputs,
                                    .input_count = input_count,
                                    .outputs = outputs,
                                    .output_count = output_count};

    return run(net, &call, false);
}

enum modc_status modc_call_extern_backward(struct modc_context *net, const char *name, int module,
                                           int input_count, int output_count,
                                           const struct modc_const_tensor *inputs,
                                           const struct modc_const_tensor *results,
                                           const struct modc_const_tensor *grad_outputs,
                                           const struct modc_tensor *grad_inputs)
{
    struct modc_extern_call call = {.name = name,
                                    .module = module,
                                    .inputs = inputs,
                                    .input_count = input_count,
                                    .output_count = output_count,
                                    .results = results,
                                    .grad_outputs = grad_outputs,
                                    .grad_inputs = grad_inputs};

    return run(net, &call, true);
}
