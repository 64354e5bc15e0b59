/* emit_scan.c - loop nests in which a value runs along a line: cumsum and its like. */
#include "emit/emit_loops.h"

#include <string.h>

struct loops begin_line(struct cx *cx, const char *name, struct nest nest, struct line line,
                        const struct dag *dag, const struct nest_scene *scene)
{
    int count = nest.operand_count;
    const struct dim **steps = ARENA_ARRAY(&cx->arena, count + 1, const struct dim *);

    memcpy(steps, line.steps, (size_t)count * sizeof *steps);
    steps[count] = line.length;
    return begin_kernel(cx, name, nest, dag, NULL, steps, count + 1, scene);
}

/* An element of the line, beside what the loops around are at. */
const char *line_element(struct loops *k, int operand, const char *index, const struct dim *step)
{
    const char *offset = operand_offset(k, operand),
               *place = dim_equals(step, 1) ? index : times_c(k, index, step);

    if (dim_equals(step, 0))
        place = *offset ? "" : "0";
    return arena_format(k->arena, "%s[%s%s%s]", k->pointer[operand], offset, *offset && *place ? " + " : "",
                        place);
}

static const char *line_value(struct loops *k, int operand, const char *index, const struct dim *step)
{
    return element_read(k->cx, operand_element(k, operand), line_element(k, operand, index, step));
}

/* What the dag makes of `before` and of the line's elements at `index`, those of operands from `first` on. */
static const char *value_at(struct loops *k, struct line line, const struct dag *dag, const char *before,
                            const char *index, int first)
{
    const char **inputs = ARENA_ARRAY(k->arena, dag->input_count + 1, const char *);
    struct text *names = before_text(k);
    struct expr_place place = {inputs, names, indent_text(k), &k->names, NULL};
    struct piece value;

    inputs[0] = before;
    for (int i = 1; i < dag->input_count; i++)
        inputs[i] = line_value(k, first + i - 1, index, line.steps[first + i - 1]);
    value = expr_scalar_piece(k->cx, dag, &place);
    declare_lines(k, names);
    return value.text;
}

static const char *scan_start(struct loops *k, struct line line, int start, bool given)
{
    return given ? line_value(k, 1, "0", line.steps[1]) : arena_format(k->arena, "%d", start);
}

void emit_scan_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                      struct nest nest, struct line line, const struct dag *dag, int start, bool given,
                      const struct nest_scene *scene)
{
    struct loops k = begin_line(cx, name, nest, line, dag, scene);
    int last = k.nest.ndim - 1;
    bool columns; /* rows run beside each other, as vectors; of what is stored rounded a sum would be, too */
    const char *type = dtype_rows[k.nest.operands[0].dtype].c, *sum_type, *end = dim_c(&k, line.length);

    if (given)
        compute_input(&k, 1, dag, 0);
    for (int j = 1; j < dag->input_count; j++)
        compute_input(&k, given + j, dag, j);
    compute_result(&k, dag);
    sum_type = dtype_rows[k.computed[0]].c;
    columns = scene->device == DEVICE_CPU && last >= 0 && stride_is(&k, 0, last, 1) &&
              !element_converts(operand_element(&k, 0));
    open_all_places(&k, last + !columns);

    const char *i = names_new(&k.names, "n"), *sum = names_new(&k.names, start ? "product" : "sum");

    if (!columns)
        declare(&k, "%s %s = %s;", sum_type, sum, scan_start(&k, line, start, given));
    if (line.reverse)
        open_block(&k, "for (int %s = %s - 1; %s >= 0; %s--)", i, end, i, i);
    else
        open_block(&k, "for (int %s = 0; %s < %s; %s++)", i, i, end, i);
    if (columns) {
        const char *before = names_new(&k.names, "before"), *row = names_new(&k.names, "row");
        const char *first = operand_offset(&k, 0), *step = dim_c_text(cx, line.steps[0], true);

        declare(&k, "%s *%s = %s%s%s + %s;", type, row, k.pointer[0], *first ? " + " : "", first,
                times_c(&k, i, line.steps[0]));
        if (line.reverse)
            declare(&k, "const %s *%s = %s < %s - 1 ? %s + %s : NULL;", type, before, i, end, row, step);
        else
            declare(&k, "const %s *%s = %s > 0 ? %s - %s : NULL;", type, before, i, row, step);
        open_loop(&k, last);

        const char *j = k.index[last];
        const char *held = arena_format(
            k.arena, "(%s ? %s : %s)", before,
            element_read(cx, operand_element(&k, 0), arena_format(k.arena, "%s[%s]", before, j)),
            scan_start(&k, line, start, given));
        const char *value = value_at(&k, line, dag, held, i, 1 + given);

        statement(&k, "%s[%s] = %s;", row, j, stored_value(&k, value));
        close_loop(&k, last);
    } else {
        const char *value = value_at(&k, line, dag, sum, i, 1 + given);

        statement(&k, "%s = %s;", sum, value);
        statement(&k, "%s = %s;", line_element(&k, 0, i, line.steps[0]), stored_value(&k, sum));
    }
    close_block(&k);
    close_all_places(&k, last + !columns);
    end_kernel(&k, out, comment, NULL);
}
