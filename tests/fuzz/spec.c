/* spec.c - the fuzz target of the first room: YAML, keys, statements, and all messages about them. */
#include "spec/spec.h"
#include "commands/options.h"
#include "fuzz.h"
#include "spec/spec_yaml.h"

/* Twice: the nodes alone too, since spec_read looks only at what its keys name. */
static void read_nodes(struct cx *cx, const struct node *node)
{
    if (!node)
        return;
    node_quoted_line(cx, node);
    for (int i = 0; i < node->count; i++) {
        if (node->kind == NODE_MAP)
            read_nodes(cx, node->keys[i]);
        read_nodes(cx, node->items[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct options options = {.command = COMMAND_CHECK};
    char *text = fuzz_copy(data, size, 1);
    struct source source = {.name = "f.yaml", .text = text, .length = size};
    bool complete;

    for (int json = 0; json < 2; json++) {
        struct cx cx = {.options = &options};
        struct text out = text_new(&cx.arena);

        if (json)
            read_nodes(&cx, node_read(&cx, &source, &complete));
        else
            spec_dump(&out, spec_read(&cx, &source), size % 2 == 0);
        diag_print(&cx, fuzz_sink(), json);
        arena_free(&cx.arena);
    }
    free(text);
    return 0;
}
