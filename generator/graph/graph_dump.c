/* graph_dump.c - graphs as text and as JSON. */
#include <string.h>

#include "graph/graph.h"

static void dump_detail(struct text *text, const struct op *op)
{
    static const char *const roles[RECURRENT_INPUTS] = {
        "gates",        "weight",     "bias",  "state",  "cell",    "projected", "lengths",
        "input_weight", "input_bias", "saved", "states", "dstates", "dlast",     "dcell"};

    switch (op->code) {
    case GRAPH_OP_TENSOR:
        text_printf(text, " %s", op->tensor.tensor->path);
        break;
    case GRAPH_OP_VIEW:
        if (op->view.kind == VIEW_PERMUTE)
            for (int i = 0; i < op->inputs[0]->ndim; i++)
                text_printf(text, "%s%d", i ? ", " : " perm ", op->view.perm[i]);
        if (op->view.kind == VIEW_SLICE) {
            text_printf(text, " axis %d from ", op->view.axis);
            dim_print(text, op->view.start);
            text_add(text, " step ");
            dim_print(text, op->view.step);
        }
        if (op->view.kind == VIEW_WINDOW) {
            text_printf(text, " axis %d step ", op->view.axis);
            dim_print(text, op->view.step);
            text_add(text, " dilation ");
            dim_print(text, op->view.dilation);
        }
        break;
    case GRAPH_OP_REDUCE:
        text_add(text, " axes");
        for (int i = 0; i < op->inputs[0]->ndim; i++)
            if (op->reduce.axes[i])
                text_printf(text, " %d", i);
        break;
    case GRAPH_OP_CONV:
    case GRAPH_OP_POOL:
        text_printf(text, " kernel %dx%d stride %d,%d padding %d,%d%s", op->window.kernel[0],
                    op->window.kernel[1], op->window.stride[0], op->window.stride[1], op->window.padding[0],
                    op->window.padding[1], op->window.channels_last ? " channels last" : "");
        break;
    case GRAPH_OP_SOFTMAX:
        text_add(text, op->softmax.safe ? " safe" : "");
        break;
    case GRAPH_OP_ATTENTION:
        text_add(text, op->attention.safe ? " safe" : "");
        if (op->attention.causal)
            text_printf(text, " causal, %lld ahead", (long long)op->attention.ahead);
        break;
    case GRAPH_OP_RECURRENT:
    case GRAPH_OP_RECURRENT_GRADIENT:
        text_printf(text, "%s%s", op->recurrent.reverse ? " reverse" : "",
                    op->recurrent.saves ? " saves" : "");
        for (int i = op->code == GRAPH_OP_RECURRENT ? RECURRENT_BIAS : 0; i < RECURRENT_INPUTS; i++)
            text_printf(text, "%s%s", op->recurrent.has[i] ? " " : "", op->recurrent.has[i] ? roles[i] : "");
        break;
    case GRAPH_OP_FENCE:
        text_printf(text, " %s", op->fence.module->path[0] ? op->fence.module->path : "(model)");
        break;
    case GRAPH_OP_CALL:
        text_printf(text, " %s of %s", op->invoke.region->name, op->invoke.instance->path);
        if (op->invoke.count > 1)
            text_printf(text, " and %d more", op->invoke.count - 1);
        break;
    case GRAPH_OP_WRITE:
        text_printf(text, " %s", op->write.tensor->path);
        break;
    case GRAPH_OP_UPDATE:
        text_printf(text, " %s", op->gradient.tensor->path);
        break;
    case GRAPH_OP_GRADIENT:
        text_printf(text, " of %s%s", op->gradient.tensor->path,
                    op->gradient.present ? ": is there one" : "");
        break;
    case GRAPH_OP_GATHER:
        text_printf(text, " %s %d", op->gather.along ? "along" : "axis", op->gather.axis);
        break;
    case GRAPH_OP_SCATTER:
        text_printf(text, " %s %d", op->scatter.along ? "along" : "axis", op->scatter.axis);
        break;
    case GRAPH_OP_SCAN:
        text_printf(text, " axis %d%s%s", op->scan.axis, op->scan.reverse ? " reverse" : "",
                    op->scan.given ? " from" : "");
        break;
    case GRAPH_OP_SORT:
        text_printf(text, " axis %d%s", op->sort.axis, op->sort.descending ? " descending" : "");
        break;
    case GRAPH_OP_CTC:
        text_printf(text, " blank %lld%s", (long long)op->ctc.blank, op->ctc.gradient ? " gradient" : "");
        break;
    case GRAPH_OP_CHECK:
        if (op->check.kind != CHECK_INDEX)
            text_add(text, op->check.kind == CHECK_DIVISOR ? " not 0" : " true");
        else
            text_printf(text, " in [%s%s, %s)", op->check.negative ? "-" : "",
                        op->check.negative ? dim_text(text->arena, op->check.extent) : "0",
                        dim_text(text->arena, op->check.extent));
        break;
    default:
        break;
    }
    if (op->head) {
        text_add(text, " head ");
        dag_print(text, op->head);
    }
    if (op->dag) {
        text_add(text, " = ");
        dag_print(text, op->dag);
    }
    if (op->tail) {
        text_add(text, " tail ");
        dag_print(text, op->tail);
    }
}

static void dump_values(struct text *text, struct value *const *values, int count)
{
    for (int i = 0; i < count; i++)
        text_printf(text, "%s%%%d", i ? ", " : "", values[i]->id);
}

static void dump_op(struct text *text, const struct op *op, bool json)
{
    struct arena *arena = text->arena;
    const struct module_call *call = op->call;

    if (json) {
        struct text detail = text_new(arena);

        dump_detail(&detail, op);
        text_printf(text, "{\"op\": \"%s\", \"label\": ", op_rows[op->code].name);
        text_json_string(text, op->label ? op->label : "");
        text_add(text, ", \"detail\": ");
        text_json_string(text, detail.data);
        text_add(text, ", \"module\": ");
        text_json_string(text, call ? call->module->path : "");
        text_add(text, ", \"inputs\": [");
        for (int i = 0; i < op->input_count; i++)
            text_printf(text, "%s%d", i ? ", " : "", op->inputs[i]->id);
        text_add(text, "], \"outputs\": [");
        for (int i = 0; i < op->output_count; i++) {
            const struct value *value = op->outputs[i];

            text_printf(text,
                        "%s{\"id\": %d, \"dtype\": \"%s\", \"prepared\": %s, \"shape\": ", i ? ", " : "",
                        value->id, dtype_rows[value->dtype].name, value->prepared ? "true" : "false");
            text_json_string(text, shape_text(arena, value->ndim, value->dims));
            text_add(text, "}");
        }
        text_add(text, "]}");
        return;
    }
    text_add(text, "  ");
    dump_values(text, op->outputs, op->output_count);
    text_printf(text, " = %s", op_rows[op->code].name);
    if (op->label && strcmp(op->label, op_rows[op->code].name) != 0)
        text_printf(text, ".%s", op->label);
    if (op->input_count > 0) {
        text_add(text, " ");
        dump_values(text, op->inputs, op->input_count);
    }
    dump_detail(text, op);
    text_add(text, "  :");
    for (int i = 0; i < op->output_count; i++)
        text_printf(text, " %s %s%s", dtype_rows[op->outputs[i]->dtype].name,
                    shape_text(arena, op->outputs[i]->ndim, op->outputs[i]->dims),
                    op->outputs[i]->prepared ? " prepared" : "");
    if (call && call->module->path[0])
        text_printf(text, "  # %s", call->module->path);
    text_add(text, "\n");
}

void graph_dump(struct text *text, const struct graph *graph, bool json)
{
    const char *mode = graph->training ? "train" : "eval";
    const char *fenced = graph->saves    ? (graph->fenced ? "saving, fenced" : "saving")
                         : graph->fenced ? "fenced"
                                         : "fused";

    if (json) {
        text_printf(text,
                    "{\"graph\": \"%s\", \"region\": %s, \"mode\": \"%s\", \"variant\": \"%s\", \"ops\": [\n",
                    graph->name, graph->region ? "true" : "false", mode, fenced);
        for (int i = 0; i < graph->op_count; i++) {
            text_add(text, i ? ",\n" : "");
            dump_op(text, graph->ops[i], true);
        }
        text_add(text, "], \"pack\": [");
        for (int i = 0; i < graph->pack_count; i++) {
            text_add(text, i ? ",\n" : "");
            dump_op(text, graph->pack_ops[i], true);
        }
        text_add(text, "], \"outputs\": [");
        for (int i = 0; i < graph->output_count; i++)
            text_printf(text, "%s%d", i ? ", " : "", graph->outputs[i]->id);
        text_add(text, "]}");
        return;
    }
    text_printf(text, "%s %s, %s, %s\n", graph->region ? "region" : "entry", graph->name, mode, fenced);
    for (int i = 0; i < graph->pack_count; i++) {
        text_add(text, "  pack");
        dump_op(text, graph->pack_ops[i], false);
    }
    for (int i = 0; i < graph->op_count; i++)
        dump_op(text, graph->ops[i], false);
    text_add(text, "  return ");
    dump_values(text, graph->outputs, graph->output_count);
    text_add(text, "\n");
}

struct dump {
    struct text *text;
    bool json;
    int count;
};

static void dump_one(struct graph *graph, void *data)
{
    struct dump *dump = data;

    if (dump->json)
        text_add(dump->text, dump->count++ ? ",\n" : "[");
    else if (dump->count++)
        text_add(dump->text, "\n");
    graph_dump(dump->text, graph, dump->json);
}

void program_dump(struct text *text, const struct program *program, bool json)
{
    struct dump dump = {text, json, 0};

    program_each((struct program *)program, dump_one, &dump);
    if (json)
        text_add(text, dump.count ? "]\n" : "[]\n");
}
