/* expr.c - the fuzz target of the parser of expressions and statements. The first byte says what is to be parsed. What
 * is printed of a tree that is not very deep (printing adds brackets) must be read back as the same tree. */
#include "spec/expr.h"
#include "base/text.h"
#include "commands/options.h"
#include "fuzz.h"

/* NULL: not to be read back. */
typedef const char *parse_and_print(struct cx *cx, const struct source *source);

static bool is_deep(const struct expr *expr)
{
    return expr && expr->height > EXPR_MAX_DEPTH / 4;
}

static bool is_deep_statement(const struct stmt *stmt)
{
    bool deep = is_deep(stmt->value) || is_deep(stmt->message);

    for (int i = 0; i < stmt->target_count; i++)
        deep |= is_deep(stmt->targets[i]);
    for (int i = 0; i < stmt->block_count; i++) {
        deep |= is_deep(stmt->blocks[i].condition);
        for (int k = 0; k < stmt->blocks[i].count; k++)
            deep |= is_deep_statement(stmt->blocks[i].list[k]);
    }
    return deep;
}

static const char *print(struct cx *cx, const struct expr *expr)
{
    struct text text = text_new(&cx->arena);

    expr_source(cx, expr);
    expr_print(&text, expr);
    return is_deep(expr) ? NULL : text.data;
}

static const char *expression(struct cx *cx, const struct source *source)
{
    return print(cx, expr_parse(cx, source, 0, source->length));
}

static const char *module(struct cx *cx, const struct source *source)
{
    return print(cx, expr_parse_module(cx, source, 0, source->length));
}

static const char *statement(struct cx *cx, const struct source *source)
{
    struct text text = text_new(&cx->arena);
    const struct stmt *stmt = stmt_parse(cx, source, 0, source->length);

    stmt_source(cx, stmt);
    stmt_print(&text, stmt);
    return stmt->block_count > 0 || is_deep_statement(stmt) ? NULL
                                                            : text.data; /* blocks are printed as lines */
}

static const char *block(struct cx *cx, const struct source *source)
{
    struct text text = text_new(&cx->arena);
    int count = 0;
    struct stmt **statements = stmt_parse_block(cx, source, 0, source->length, &count);
    bool deep = false;

    for (int i = 0; i < count; i++) {
        deep |= is_deep_statement(statements[i]);
        stmt_print(&text, statements[i]);
        text_add(&text, "\n");
    }
    return deep ? NULL : text.data;
}

/* Functions have no printer. */
static const char *defs(struct cx *cx, const struct source *source)
{
    int count;

    def_begins(source, 0, source->length);
    def_parse_all(cx, source, 0, source->length, &count);
    return NULL;
}

/* A signature has no printer. */
static const char *signature(struct cx *cx, const struct source *source)
{
    struct signature out;

    signature_parse(cx, source, 0, source->length, &out);
    return NULL;
}

static parse_and_print *const kinds[] = {expression, module, statement, block, signature, defs};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* As a spec is, before its text gets here. */
static bool is_utf8(const char *text, size_t length)
{
    while (length > 0) {
        size_t bytes = *text ? (size_t)text_utf8_length(text) : 0;

        if (bytes == 0)
            return false;
        text += bytes;
        length -= bytes;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct options options = {.command = COMMAND_CHECK};

    if (size == 0)
        return 0;

    parse_and_print *parse = kinds[data[0] % KINDS];
    char *text = fuzz_copy(data + 1, size - 1, 1);
    struct source source = {.name = "f", .text = text, .length = size - 1};
    struct cx cx = {.options = &options};
    const char *printed = is_utf8(text, size - 1) ? parse(&cx, &source) : NULL;

    if (printed && diag_errors(&cx) == 0) {
        struct source again = {.name = "printed", .text = printed, .length = strlen(printed)};
        const char *second = parse(&cx, &again);

        if (diag_errors(&cx) > 0 || strcmp(printed, second) != 0) {
            diag_print(&cx, stderr, false);
            fprintf(stderr, "first:  %s\nsecond: %s\n", printed, second);
            abort();
        }
    }
    diag_print(&cx, fuzz_sink(), size % 2);
    arena_free(&cx.arena);
    free(text);
    return 0;
}
