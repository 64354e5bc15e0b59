/* template.h - fills the holes of a template. Knows no ops.
 *
 * A template is plain C. T_NAME is the function's name, and the head of the names of its helpers (T_NAME_tile); T_PARTS is
 * in the same way the name under which another template was filled, whose functions this one calls; every other T_word is
 * a hole that the caller gives. T_V(f) and T_S(f) are the vector and the scalar function f of modc_simd.h. Of a pointer of
 * the kernel T_of_NAME is the stored type; T_OF(NAME, f) loads and stores vectors through it, T_MOST(NAME, f) those of which some
 * lanes are there, as T_PARTS_f does where nothing is converted; T_GET(NAME, value) is a stored value as it is computed with,
 * T_PUT(NAME, value) the other way round, both the value alone where the types are equal; T_converts_NAME is 1 where they are not.
 * T_EPILOGUE(value, row, column) and T_EPILOGUE_V are the fused tail, T_SCORE(value, row, column) what scores go through. Where the hole is not 0, T_IF(hole, a, b) is the text a, else b; T_MORE(hole, a, ...) is `, a` ..., else nothing. Lines `#if`, `#elif`,
 * `#else`, `#endif` whose condition has a T_ word are decided here; others stay. The comment at the head of a template is
 * for its readers and is not printed.
 *
 * note [sizes in templates]. A size of the spec is a parameter of the kernels that need it, under the name that it has in the
 * spec. Where a template calls something of its own so, the template gives way: its word gets an underscore, in that kernel
 * alone. So a template may take any new word, and no model's text changes. Only what holes and wrappers say of a template by
 * name (its parameters, the indices of operands) cannot: emitted_size knows these words. */
#ifndef MODC_TEMPLATE_H
#define MODC_TEMPLATE_H

#include "base/templates.h"
#include "base/text.h"

#define EMITTED_WIDTH 100 /* columns of a line of emitted code */

struct filling {
    const char *name; /* "T_m" */
    const char
        *text; /* a number, an identifier, or an expression (which gets parentheses); in capitals: code */
};

/* A pointer of the kernel. */
struct fill_pointer {
    const char *name, *type; /* "x"; "modc_bfloat16" */
    const char *vector;      /* what its vector functions begin with: "modc_f32", "modc_bfloat16" */
    const char *get, *put;   /* functions of one value; NULL: it is stored as it is computed with */
};

struct fill {
    const char *name;    /* of the kernel */
    const char *parts;   /* T_PARTS, or NULL */
    const char *comment; /* T_COMMENT, a line of its own: what stands over the kernel; NULL: nothing */
    const char *vector;  /* "modc_f32" */
    const struct filling *holes;
    int count;
    const struct fill_pointer *pointers;
    int pointer_count;
    const char *const *sizes; /* parameters that are sizes of the spec: note [sizes in templates] */
    int size_count;
    /* The tail of one value, or of a vector of values, of which the first `count` are there; NULL: all are. */
    const char *(*epilogue)(void *data, bool vector, const char *value, const char *row, const char *column,
                            const char *count);
    /* The last factor of a RESCALE in the tail, as the tail reads it: note [rescaling] in modc_simd_scalar.h. */
    const char *(*factor)(void *data, const char *row, const char *column);
    /* What a score goes through in front of a softmax. */
    const char *(*score)(void *data, const char *value, const char *row, const char *column);
    void *data;
};

/* All of a file, in lines of at most EMITTED_WIDTH columns: what prints lines need not look. */
const char *emit_fit(struct arena *arena, const char *text);

void template_fill(struct cx *cx, struct text *out, const char *template_text, const struct fill *fill);

#endif
