/* template.c - the fuzz target of chat templates: any bytes as a template. What is refused is said; what is read is printed as C. */
#include "fuzz.h"

#include "base/options.h"
#include "emit/emit_chat.h"
#include "template/chat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size, 1);
    struct source source = {.name = "fuzz/template.jinja", .text = text, .length = size};
    struct options options = {0};
    struct cx cx = {.options = &options};
    const struct chat *chat = chat_of_source(&cx, &source, NULL);

    if (!chat == (diag_errors(&cx) == 0)) {
        fprintf(stderr, "it does not hold that what is refused is said\n");
        abort();
    }
    if (chat)
        fputs(emit_chat_source(&cx, "fuzz", "fuzz.yaml", chat), fuzz_sink());
    diag_print(&cx, fuzz_sink(), DIAG_PLAIN);
    arena_free(&cx.arena);
    free(text);
    return 0;
}
