/* emit_sort.c - loop nests that put lines in order. */
#include "emit/emit_loops.h"

/* " * step", where that is not 1. */
const char *times_step(struct loops *k, const struct dim *step)
{
    return dim_equals(step, 1) ? "" : arena_format(k->arena, " * %s", dim_c_text(k->cx, step, true));
}

/* The functions that a sort needs: which of two stands first, and how a heap gets in order below a place. */
static void sort_helpers(struct loops *k, struct line line, bool descending, const char *sizes,
                         const char *pass)
{
    enum dtype dtype = k->nest.operands[1].dtype;
    const struct element held = operand_element(k, 1);
    const char *type = dtype_rows[dtype].c, *y = times_step(k, line.steps[0]),
               *x = times_step(k, line.steps[1]);
    const char *next = *y ? arena_format(k->arena, "(below + 1)%s", y) : "below + 1";
    const bool device = k->scene->device == DEVICE_CUDA;
    struct text *out = &k->helpers;

    text_printf(out, "/* Whether x[a] stands behind x[b]%s; equal ones as they are. */\n",
                dtype_is_float(dtype) ? ", NaN above all" : "");
    text_printf(out, "%s int %s_behind(const %s *x, int64_t a, int64_t b%s)\n{\n",
                device ? "static __device__" : "static inline", k->name, type, sizes);
    text_printf(out, "    const %s u = %s, v = %s;\n\n", dtype_rows[held.computed].c,
                element_read(k->cx, held, arena_format(k->arena, "x[a%s]", x)),
                element_read(k->cx, held, arena_format(k->arena, "x[b%s]", x)));
    text_printf(out, "    if (u %s v)\n        return 1;\n    if (u %s v)\n        return 0;\n",
                descending ? "<" : ">", descending ? ">" : "<");
    if (dtype_is_float(dtype))
        text_printf(out, "    if ((u != u) != (v != v))\n        return %s != %s;\n", descending ? "v" : "u",
                    descending ? "v" : "u");
    text_add(out, "    return a > b;\n}\n\n");
    text_add(out, "/* Puts y[at] where it belongs in the heap below, of n: what stands last is above. */\n");
    text_printf(out, "static %svoid %s_sift(int64_t *y, const %s *x, int at, int n%s)\n{\n",
                device ? "__device__ " : "", k->name, type, sizes);
    text_printf(out, "    const int64_t held = y[at%s];\n\n", y);
    text_add(out, "    for (int below = 2 * at + 1; below < n; below = 2 * at + 1) {\n");
    text_printf(out,
                "        if (below + 1 < n && %s_behind(x, y[%s], y[below%s]%s))\n            below++;\n",
                k->name, next, y, pass);
    text_printf(out, "        if (!%s_behind(x, y[below%s], held%s))\n            break;\n", k->name, y,
                pass);
    text_printf(out, "        y[at%s] = y[below%s];\n        at = below;\n    }\n    y[at%s] = held;\n}\n\n",
                y, y, y);
}

void emit_sort_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                      struct nest nest, struct line line, bool descending, const struct nest_scene *scene)
{
    struct loops k = begin_line(cx, name, nest, line, NULL, scene);
    struct text declared = text_new(k.arena), passed = text_new(k.arena);
    bool *needed = ARENA_ARRAY(k.arena, k.used_count + 1, bool);

    if (dtype_is_half(k.computed[1]))
        k.computed[1] = DTYPE_FLOAT32;
    dim_mark_sizes(line.steps[1], needed);
    dim_mark_sizes(line.steps[0], needed);
    for (int i = 0; i < scene->size_count; i++) {
        if (!needed[scene->sizes[i]->index])
            continue;
        text_printf(&declared, ", int %s", size_identifier(scene->sizes[i]));
        text_printf(&passed, ", %s", size_identifier(scene->sizes[i]));
    }
    sort_helpers(&k, line, descending, declared.data, passed.data);
    open_all_places(&k, k.nest.ndim);

    const char *y = names_new(&k.names, "order"), *x = names_new(&k.names, "row"),
               *n = names_new(&k.names, "n");
    const char *i = names_new(&k.names, "i"), *first = names_new(&k.names, "first"),
               *step = times_step(&k, line.steps[0]);

    declare(&k, "int64_t *const %s = %s;", y, address(&k, 0));
    declare(&k, "const %s *const %s = %s;", dtype_rows[k.nest.operands[1].dtype].c, x, address(&k, 1));
    declare(&k, "const int %s = %s;", n, dim_c(&k, line.length));
    open_block(&k, "for (int %s = 0; %s < %s; %s++)", i, i, n, i);
    statement(&k, "%s[%s%s] = %s;", y, i, step, i);
    close_block(&k);
    open_block(&k, "for (int %s = %s / 2 - 1; %s >= 0; %s--)", i, n, i, i);
    statement(&k, "%s_sift(%s, %s, %s, %s%s);", name, y, x, i, n, passed.data);
    close_block(&k);
    open_block(&k, "for (int %s = %s - 1; %s > 0; %s--)", i, n, i, i);
    declare(&k, "const int64_t %s = %s[0];", first, y);
    statement(&k, "%s[0] = %s[%s%s];", y, y, i, step);
    statement(&k, "%s[%s%s] = %s;", y, i, step, first);
    statement(&k, "%s_sift(%s, %s, 0, %s%s);", name, y, x, i, passed.data);
    close_block(&k);
    close_all_places(&k, k.nest.ndim);
    end_kernel(&k, out, comment, NULL);
}
