/* emit_sketch.c - the example of a library for Arduino: a sketch that calls the model's first entry. */
#include "emit/emit_room.h"

#include "base/dim.h"
#include "base/emitted.h"

static void print_buffer(struct text *out, const struct value *value, const char *name)
{
    int64_t count = 1;

    for (int i = 0; i < value->ndim; i++)
        count *= dim_upper(value->dims[i]);
    text_printf(out, "    %s %s[%lld];\n", dtype_rows[value->dtype].c, name,
                (long long)(count > 0 ? count : 1));
}

/* In a struct, whose members meet no name of the sketch's. */
static void print_buffers(struct emit *e, struct text *out, const struct graph *graph)
{
    text_add(out, "/* Inputs and outputs, with room for the largest sizes. */\nstatic struct {\n");
    for (int i = 0; i < graph->input_count; i++)
        print_buffer(out, graph->inputs[i], c_argument(e->cx, graph->inputs[i]->name));
    for (int i = 0; i < graph->result_count; i++)
        print_buffer(out, graph->outputs[i], c_output(e->cx, graph, i));
    text_add(out, "} values;\n\n");
}

static void print_setup(struct emit *e, struct text *out)
{
    const char *m = e->m;

    text_add(out, "void setup()\n{\n    Serial.begin(115200);\n");
    if (e->weights)
        text_printf(out, "    say(\"weights\", %s_bind_embedded(&params));\n", m);
    else
        text_printf(
            out,
            "    /* Drawn weights; those of a file come with modc generate --weights FILE. */\n"
            "    say(\"bind\", %s_bind(&params, parameters, sizeof parameters));\n"
            "    say(\"reset\", %s_reset(&params, 0));\n    say(\"pack\", %s_pack(&params, packed, sizeof packed));\n",
            m, m, m);
    text_printf(out, "    say(\"init\", %s_init(&net, &params, workspace, sizeof workspace));\n}\n\n", m);
}

static void print_loop(struct emit *e, struct text *out, const struct entry *entry, const struct graph *graph)
{
    text_printf(out,
                "void loop()\n{\n    const unsigned long begin = micros();\n\n"
                "    say(\"%s\",\n        %s_%s(&net",
                entry->name, e->m, entry->name);
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, ", %s", max_constant(e, entry, i));
    for (int i = 0; i < graph->input_count; i++)
        text_printf(out, ", values.%s", c_argument(e->cx, graph->inputs[i]->name));
    for (int i = 0; i < graph->result_count; i++)
        text_printf(out, ", values.%s", c_output(e->cx, graph, i));
    text_add(out, "));\n    Serial.print(\"microseconds: \");\n    Serial.println(micros() - begin);\n"
                  "    delay(1000);\n}\n");
}

void print_sketch(struct emit *e, struct text *out)
{
    const struct entry *entry = &e->plan->program->entries[0];
    const struct graph *graph = entry_graph(entry);

    text_printf(out,
                "/* %s.ino - written by modc: calls %s_%s once a second, and says how long it takes. */\n"
                "#include <%s.h>\n\n"
                "static struct %s_params params;\nstatic struct %s net;\n",
                e->m, e->m, entry->name, e->m, e->m, e->m);
    if (!e->weights)
        text_printf(out,
                    "static MODC_ALIGNED char parameters[%s_PARAM_BYTES];\n"
                    "static MODC_ALIGNED char packed[%s_PACKED_BYTES];\n",
                    e->M, e->M);
    text_printf(out, "static MODC_ALIGNED char workspace[%s];\n\n",
                workspace_constant(e, entry, 0, EMITTED_FUSED));
    print_buffers(e, out, graph);
    text_add(out, "static void say(const char *what, enum modc_status status)\n{\n"
                  "    if (status != MODC_OK) {\n        Serial.print(what);\n        Serial.print(\": \");\n"
                  "        Serial.println(modc_status_text(status));\n    }\n}\n\n");
    print_setup(e, out);
    print_loop(e, out, entry, graph);
}
