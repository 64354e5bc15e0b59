/* fill.c - texts of the tables with holes, as extra_repr and messages are. */
#include <string.h>

#include "eval/eval.h"

/* The bracket that ends a [condition?text], and its question mark. NULL: it is a bracket of the text. */
static const char *choice_end(const char *format, size_t length, const char **question)
{
    int depth = 0;

    *question = NULL;
    for (size_t i = 0; i < length; i++) {
        depth += (format[i] == '[') - (format[i] == ']');
        if (format[i] == '?' && !*question)
            *question = format + i;
        if (depth == 0)
            return *question ? format + i : NULL;
    }
    return NULL;
}

static void repr_part(struct eval *eval, struct scope *scope, struct text *text, const char *format,
                      size_t length)
{
    struct arena *arena = &eval->cx->arena;

    for (size_t i = 0; i < length; i++) {
        const char *close, *question;

        if (format[i] == '{') {
            close = strchr(format + i, '}');

            size_t inner = (size_t)(close - (format + i)) - 1;
            bool quoted = inner > 2 && memcmp(close - 2, "!r", 2) == 0;
            struct ev value = eval_text(eval, scope,
                                        arena_copy(arena, format + i + 1, quoted ? inner - 2 : inner));

            text_add(text, value.kind == EV_STRING && !quoted ? value.text : ev_text(eval, &value));
            i += inner + 1;
        } else if (format[i] == '[' && (close = choice_end(format + i, length - i, &question))) {
            bool truth = false;
            struct ev value = eval_text(
                eval, scope, arena_copy(arena, format + i + 1, (size_t)(question - (format + i)) - 1));

            if (ev_get_bool(&value, &truth) && truth)
                repr_part(eval, scope, text, question + 1, (size_t)(close - question) - 1);
            i = (size_t)(close - format);
        } else {
            text_add_bytes(text, format + i, 1);
        }
    }
}

const char *eval_fill(struct eval *eval, struct scope *scope, const char *format)
{
    struct text text = text_new(&eval->cx->arena);

    if (format)
        repr_part(eval, scope, &text, format, strlen(format));
    return text.data;
}
