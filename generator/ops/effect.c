/* effect.c - ops that do something beside their results: checks, boundaries, calls, bodies of
 * the user's, the end of a call, updates. */
#include <string.h>

#include "base/text.h"
#include "ops/rows.h"
#include "tree/tree.h"

/* The maker has set the outputs. */
static const char *given_infer(struct cx *cx, struct op *op)
{
    (void)cx, (void)op;
    return NULL;
}

static const char *bound_broken(struct cx *cx, const struct op *op)
{
    (void)cx;
    if (op->input_count != 1 || op->output_count != 0)
        return "it looks at one value, and makes none";
    return op->check.kind == CHECK_INDEX && !op->check.extent ? "its bound is not there" : NULL;
}

static void check_dump(struct text *text, const struct op *op)
{
    if (op->check.kind != CHECK_INDEX)
        text_add(text, op->check.kind == CHECK_DIVISOR ? " not 0" : " true");
    else
        text_printf(text, " in [%s%s, %s)", op->check.negative ? "-" : "",
                    op->check.negative ? dim_text(text->arena, op->check.extent) : "0",
                    dim_text(text->arena, op->check.extent));
}

const struct op_row op_row_check = {.name = "check",
                                    .broken = bound_broken,
                                    .infer = given_infer,
                                    .accepts = dense_accepts,
                                    .dump = check_dump,
                                    .acts = true,
                                    .stays = true,
                                    .fails = true};

static const char *fence_broken(struct cx *cx, const struct op *op)
{
    (void)cx;
    return op->output_count == op->input_count && op->fence.seen >= 0 && op->fence.seen <= op->input_count
               ? NULL
               : "it has not a result for each of its values";
}

static const char *fence_infer(struct cx *cx, struct op *op)
{
    (void)cx;
    for (int i = 0; i < op->input_count; i++) {
        op->outputs[i]->dtype = op->inputs[i]->dtype;
        op->outputs[i]->ndim = op->inputs[i]->ndim;
        memcpy(op->outputs[i]->dims, op->inputs[i]->dims, sizeof op->inputs[i]->dims);
    }
    return NULL;
}

static void fence_dump(struct text *text, const struct op *op)
{
    text_printf(text, " %s", op->fence.module->path[0] ? op->fence.module->path : "(model)");
}

const struct op_row op_row_fence = {.name = "fence",
                                    .broken = fence_broken,
                                    .infer = fence_infer,
                                    .accepts = dense_accepts,
                                    .dump = fence_dump,
                                    .acts = true,
                                    .stays = true,
                                    .fails = true};

static void call_dump(struct text *text, const struct op *op)
{
    static const char *const parts[] = {"", ", forward", ", backward", ", commit"};

    text_printf(text, " %s of %s%s", op->label, op->invoke.instance->path, parts[op->invoke.part]);
    if (op->invoke.count > 1)
        text_printf(text, " and %d more", op->invoke.count - 1);
}

const struct op_row op_row_call = {
    .name = "call", .infer = given_infer, .accepts = dense_accepts, .dump = call_dump};

const struct op_row op_row_yield = {
    .name = "yield", .infer = given_infer, .lent = true, .stays = true, .parts = true};
const struct op_row op_row_commit = {.name = "commit", .infer = given_infer, .stays = true, .parts = true};

static const char *external_broken(struct cx *cx, const struct op *op)
{
    const int forward = op->external.inputs + op->external.results;
    (void)cx;

    if (!op->external.module || !op->external.module->body)
        return "its body is of no Extern";
    if (!op->external.backward)
        return op->external.inputs == op->input_count && op->external.results == op->output_count
                   ? NULL
                   : "it has not the values that it counts";
    return op->input_count > forward && op->output_count > 0 ? NULL : "no gradient comes to it, or goes";
}

static void external_dump(struct text *text, const struct op *op)
{
    text_printf(text, " %s%s", op->external.module->body->name, op->external.backward ? ", backward" : "");
}

const struct op_row op_row_external = {.name = "extern",
                                       .broken = external_broken,
                                       .infer = given_infer,
                                       .accepts = dense_accepts,
                                       .dump = external_dump,
                                       .order = OP_ORDER_DENSE,
                                       .acts = true,
                                       .stays = true,
                                       .fails = true};

static void update_dump(struct text *text, const struct op *op)
{
    text_printf(text, " %s", op->gradient.tensor->path);
}

const struct op_row op_row_update = {
    .name = "update", .infer = given_infer, .accepts = dense_accepts, .dump = update_dump, .acts = true};
