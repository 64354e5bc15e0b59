/* emit_names.h - identifiers inside one emitted kernel, and what emit_expr.c and emit_line.c give to loop nests. */
#ifndef MODC_EMIT_NAMES_H
#define MODC_EMIT_NAMES_H

#include "emit/emit_kernel.h"

/* The identifiers that a kernel has in use. Sizes come first, so that nothing else hides one. */
struct identifiers {
    struct arena *arena;
    const char **taken;
    int count;
};

void names_take(struct identifiers *names, const char *name);

/* `wish` if it is free, else wish2, wish3, ...; taken from now on. */
const char *names_new(struct identifiers *names, const char *wish);

/* The C identifier of a size, and a dim over these; `tight`: as an operand of * / %. */
const char *size_identifier(const struct size *size);
const char *dim_c_text(struct cx *cx, const struct dim *dim, bool tight);

/* How strongly the outermost operator of a text binds, as in C's grammar. */
enum rank {
    RANK_PRIMARY,
    RANK_UNARY,
    RANK_PRODUCT,
    RANK_SUM,
    RANK_COMPARE,
    RANK_BITS,
    RANK_LOGIC,
    RANK_CHOICE
};

struct piece {
    const char *text;
    enum rank rank;
};

/* expr_scalar and expr_vector with names of the kernel's own. Nodes are named in `before` where they are used more
 * than once or a line would grow too long. */
struct expr_place {
    const char *const *inputs;
    struct text *before;
    const char *indent;
    struct identifiers *names;
    const bool *scalars; /* in vector text: inputs that are one number for all lanes; NULL: none is */
};
struct piece expr_scalar_piece(struct cx *cx, const struct dag *dag, const struct expr_place *place);
const char *expr_vector_lanes(struct cx *cx, const struct dag *dag, enum dtype lanes,
                              const struct expr_place *place);

/* An element whose type in memory is not that of arithmetic (emit_element.c): whether it is so; what functions of vectors through
 * a pointer begin with, "modc_f32", "modc_bfloat16"; the functions that read and write one value, NULL where nothing is
 * converted; and the value that is read at a place, or that is written for one. */
bool element_converts(struct element element);
const char *vector_prefix(enum dtype computed);
const char *element_vector(struct element element);
const char *element_get(struct cx *cx, struct element element);
const char *element_put(struct cx *cx, struct element element);
const char *element_read(struct cx *cx, struct element element, const char *place);
const char *element_written(struct cx *cx, struct element element, const char *value);

/* Adds a line of C, which must have no line break; where it is too long, it goes on below the parenthesis that is open. */
void emit_line(struct text *text, const char *line);
void emit_lines(struct text *text, const char *lines);

/* A comment of such lines. */
void emit_comment(struct text *out, const char *comment);

/* The text of a piece as an operand of an operator: in parentheses unless it binds as strongly as `rank`. */
const char *piece_text(struct arena *arena, struct piece piece, enum rank rank);

#endif
