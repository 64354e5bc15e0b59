/* graph_dump.c - graphs as text and as JSON. */
#include <string.h>

#include "graph/graph.h"

static void dump_detail(struct text *text, const struct op *op)
{
    if (op_rows[op->code]->dump)
        op_rows[op->code]->dump(text, op);
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
        text_printf(text, "{\"op\": \"%s\", \"label\": ", op_rows[op->code]->name);
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
    text_printf(text, " = %s", op_rows[op->code]->name);
    if (op->label && strcmp(op->label, op_rows[op->code]->name) != 0)
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

    program_each_mode((struct program *)program, dump_one, &dump);
    if (json)
        text_add(text, dump.count ? "]\n" : "[]\n");
}
