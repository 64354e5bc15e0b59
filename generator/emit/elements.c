/* elements.c - functions of elements as C: those that the texts of kernels call, in the forms in which they are called. Apart from
 * kernel.c, because a function is printed once, whatever kernels call it. */
#include "emit/elements.h"

#include "emit/emit_kernel.h"
#include "emit/emit_names.h"

struct kernel_texts *kernel_texts_new(struct cx *cx, const struct plan *plan)
{
    struct kernel_texts *texts = ARENA_NEW(&cx->arena, struct kernel_texts);

    texts->cx = cx;
    texts->plan = plan;
    texts->launchers = text_new(&cx->arena);
    texts->called = ARENA_ARRAY(&cx->arena, plan->function_count + 1, struct forms);
    texts->printed = ARENA_ARRAY(&cx->arena, plan->function_count + 1, struct forms);
    return texts;
}

/* "modc_f32 x0, modc_f32 x1" */
static const char *function_parameters(struct cx *cx, const struct element_function *function, bool vector)
{
    struct text text = text_new(&cx->arena);

    for (int i = 0; i < function->input_count; i++)
        text_printf(&text, "%s%s x%d", i ? ", " : "",
                    vector ? vector_prefix(function->computed) : dtype_rows[function->inputs[i]].c, i);
    return text.data;
}

static const char *function_type(const struct element_function *function, bool vector)
{
    return vector ? vector_prefix(function->computed) : dtype_rows[function->computed].c;
}

const char *function_name(struct cx *cx, const struct element_function *function, bool vector)
{
    if (function->runtime)
        return arena_format(&cx->arena, "%s%s_%s", vector_prefix(function->computed), vector ? "" : "s",
                            function->name);
    return arena_format(&cx->arena, "%s_%s", function->name, vector ? "v" : "s");
}

static void print_function(struct cx *cx, struct text *out, const struct element_function *function,
                           bool vector)
{
    const char **inputs = ARENA_ARRAY(&cx->arena, function->input_count + 1, const char *), *result;
    struct text before = text_new(&cx->arena);

    for (int i = 0; i < function->input_count; i++)
        inputs[i] = arena_format(&cx->arena, "x%d", i);
    result = vector ? expr_vector(cx, function->dag, function->computed, inputs, &before, "    ")
                    : expr_scalar(cx, function->dag, inputs, &before, "    ");
    text_printf(out, "MODC_INLINE %s %s(%s)\n{\n%s%s    return %s;\n}\n\n", function_type(function, vector),
                function_name(cx, function, vector), function_parameters(cx, function, vector), before.data,
                before.length ? "\n" : "", result);
}

static int function_number(const struct plan *plan, const struct element_function *function)
{
    int number = 0;

    while (plan->functions[number] != function)
        number++;
    return number;
}

const char *kernel_functions(struct kernel_texts *texts)
{
    struct cx *cx = texts->cx;
    const struct plan *plan = texts->plan;
    struct text out = text_new(&cx->arena);

    for (int i = 0; i < plan->function_count; i++) {
        const struct element_function *function = plan->functions[i];
        const struct forms called = function->runtime ? (struct forms){0} : texts->called[i];
        struct forms *printed = &texts->printed[i];

        if ((called.scalar && !printed->scalar) || (called.vector && !printed->vector))
            text_printf(&out, "/* %s */\n", function->comment);
        if (called.scalar && !printed->scalar)
            print_function(cx, &out, function, false);
        if (called.vector && !printed->vector)
            print_function(cx, &out, function, true);
        printed->scalar |= called.scalar;
        printed->vector |= called.vector;
    }
    return out.data;
}

/* Notes that the function is called in these forms. */
void call_function(struct kernel_texts *texts, const struct element_function *function, struct forms forms)
{
    struct forms *called = &texts->called[function_number(texts->plan, function)];

    called->scalar |= forms.scalar;
    called->vector |= forms.vector;
}

void keep_forms(struct kernel_texts *texts, const struct kernel *core, struct forms forms)
{
    ARENA_PUSH(&texts->cx->arena, texts->cores, texts->core_count, ((struct core_forms){core, forms}));
}

struct forms core_forms(const struct kernel_texts *texts, const struct kernel *core)
{
    for (int i = 0; i < texts->core_count; i++)
        if (texts->cores[i].core == core)
            return texts->cores[i].takes;
    return (struct forms){0};
}
