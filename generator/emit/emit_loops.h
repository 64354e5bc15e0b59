/* emit_loops.h - what the printers of loop nests share: the text of a kernel with its blocks and names, addresses of operands,
 * values at the place that the loops are at, and rows of vectors. Private to them: emit_map.c, emit_scan.c, emit_sort.c,
 * emit_reduce.c, emit_random.c.
 *
 * note [one text at every width]
 * Vector loops are written over MODC_LANES and hold at every width, 1 included. What is left of a row is one more vector
 * of which only a part is loaded and stored, so that an element has the same bits wherever it stands in a row. Small
 * constant rows, other types and other strides take scalar loops, which compilers unroll. */
#ifndef MODC_EMIT_LOOPS_H
#define MODC_EMIT_LOOPS_H

#include "emit/emit_kernel.h"
#include "emit/emit_names.h"

/* ---- emit_loops.c: the text of a kernel --------------------------------------------------------------- */

/* Braces, or the function's body. */
struct block {
    struct block *outer;
    struct text text;
    const char *head; /* "for (...)" */
    bool unrolled;    /* MODC_UNROLL stands before it */
    bool declared;    /* the last line is a declaration */
    int names;        /* how many were taken outside */
};

struct loops {
    struct cx *cx;
    struct arena *arena;
    const char *name;
    struct nest nest; /* normalised */
    struct identifiers names;
    const char **parameter; /* of each operand: "y", "x0", ... */
    const char **pointer;   /* the same, or the pointer to the row that the loops are at */
    bool *in_row;           /* pointer[i] includes the axes before the last */
    const char
        *index[MAX_DIMS]; /* where each axis is: a loop's variable, an expression, "0"; NULL: not inside */
    enum dtype *computed; /* with what each operand is computed; it is stored as the nest says */
    bool *loaded;         /* which operands have vectors in the innermost loop */
    const char **splat;   /* of each operand: the vector that holds its one value, or NULL */
    struct block *block;
    int depth;
    struct text helpers; /* functions above the kernel */
    const struct nest_scene *scene;
    const struct size *const *sizes; /* of the scene */
    int size_count;
    bool *used; /* by size->index */
    int used_count;
    enum dtype lanes;          /* of vectors */
    bool core;                 /* inlined into each call, which knows its sizes */
    const char *vectors;       /* how many at a time where the core is told; or NULL */
    const char *callee;        /* of a core: the functions that it takes as its last arguments; or NULL */
    const struct dim *threads; /* CUDA: how many places are dealt out; NULL: one */
    int block_size, each;      /* CUDA: threads of a block, and for each place; 0: the usual number, one */
};

const char *indent_text(const struct loops *k);

/* A line of the innermost block. Declarations stand in groups with blank lines around. */
void declare(struct loops *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
void declare_lines(struct loops *k, const struct text *lines); /* that are ready, each a declaration */
void statement(struct loops *k, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What stands between is in the block: braces where it is more than one line, or its head is. */
void open_block(struct loops *k, const char *head, ...) __attribute__((format(printf, 2, 3)));
void close_block(struct loops *k);
void close_blocks(struct loops *k, int count);

const char *dim_c(struct loops *k, const struct dim *dim);
const char *times_c(struct loops *k, const char *index, const struct dim *dim); /* index * dim */

/* Names of the parameters between operands and sizes; NULL: none. On a GPU the first points to both numbers in its memory, and the
 * second is how many calls before the next they were drawn in. */
struct random_names {
    const char *seed, *counter, *stream;
};

void list_parameter(struct text *parameters, const char *type, const char *name);

/* `a` and `b` may be NULL; `steps`: what else has sizes. */
struct loops begin_kernel(struct cx *cx, const char *name, struct nest nest, const struct dag *a,
                          const struct dag *b, const struct dim *const *steps, int step_count,
                          const struct nest_scene *scene);
void end_kernel(struct loops *k, struct text *out, const char *comment, const struct random_names *random);

/* ---- emit_loops.c: loops and addresses ---------------------------------------------------------------- */

bool stride_is(const struct loops *k, int operand, int axis, int64_t stride);
int64_t axis_upper(const struct loops *k, int axis);
/* Whether the index is known to be 0: nothing moves along the axis, or it has one element if any. */
bool stays(const struct loops *k, int axis);

const char *loop_name(struct loops *k);
void open_loop(struct loops *k, int axis);
void close_loop(struct loops *k, int axis);

/* The loops over some axes, around what is done at each place of the result, which may be done in any order: on a GPU one loop,
 * which is dealt out to threads. Called once in a kernel. */
void open_places(struct loops *k, const int *axes, int count);
void close_places(struct loops *k, const int *axes, int count);
void open_all_places(struct loops *k, int count); /* of the first axes */
void close_all_places(struct loops *k, int count);

/* CUDA: how many places some axes have; the type that counts them; a name for that number, which is an axis's own where there is but
 * one; declares where each axis is at the place of that number. */
const struct dim *places_of(struct loops *k, const int *axes, int count);
const char *place_type(const struct dim *places);
const char *place_name(struct loops *k, const char *type, int count, const char *name);
void declare_places(struct loops *k, const char *at, const char *type, const int *axes, int count);

/* The sum of index * stride over the axes whose index is known: "" for 0. */
const char *offset_text(struct loops *k, int operand, int first, int last);
const char *operand_offset(struct loops *k, int operand);
const char *address(struct loops *k, int operand);
const char *element(struct loops *k, int operand);

/* What is read through an operand is converted to what the dag takes as its input, what is written from its result; without these
 * they are computed as they are stored. */
void compute_input(struct loops *k, int operand, const struct dag *dag, int input);
void compute_result(struct loops *k, const struct dag *dag);
struct element operand_element(const struct loops *k, int operand);
const char *element_value(struct loops *k, int operand);
const char *stored_value(struct loops *k, const char *value); /* of the result */

/* ---- emit_loops.c: values ----------------------------------------------------------------------------- */

/* A dag over operands of the nest: input i is operand first + i, or, where `reduced` is set, input 0 is that text and
 * input i operand first + i - 1. */
struct value_source {
    const struct dag *dag;
    int first;
    const char *reduced;
    const char *function; /* that computes it, or NULL */
};

int operand_of(const struct value_source *source, int input);
struct text *before_text(struct loops *k);

/* Names that it needs are declared in the block. */
struct piece scalar_value(struct loops *k, const struct value_source *source);

/* The same by the source's function. */
struct piece scalar_call(struct loops *k, const struct value_source *source);

/* "modc_f32 (*F)(modc_f32 x0, modc_f32 x1)": the parameter of a core that takes what the dag computes in one type. */
const char *function_type(struct loops *k, const char *name, const struct dag *dag, const char *type);

/* ---- emit_row.c: vectors ------------------------------------------------------------------------------ */

const char *vector_type(const struct loops *k);
const char *width_name(const struct loops *k);
int widest(const struct loops *k);

/* Of the result at the current place; part: so many of its elements, NULL all. */
void store_vector(struct loops *k, const char *value, const char *part);

/* The vector of a source at the current place along `axis`; `count`: how many of its elements there are, NULL all. */
const char *vector_value(struct loops *k, const struct value_source *source, int axis, const char *count);

/* Gives a source without a function one of its own, where its text is long and would stand in several places: "head", of what the kernel
 * "reduces". */
void make_function(struct loops *k, struct value_source *source, const char *suffix, const char *verb);

/* A row that vectors run along: elements start .. stop - 1 of an axis. `body` prints what happens to `streams` vectors
 * from index[axis] on, or to one of which `part` says how many elements there are (NULL: all). */
struct row {
    int axis, streams;
    const char *start, *stop;
    int64_t count; /* -1: known at run time only */
    int64_t upper; /* what it is at most */
    void (*body)(struct loops *k, void *data, int streams, const char *part);
    void *data;
};

struct row whole_row(struct loops *k, int axis, int streams);

/* How many vectors these are, as C. */
const char *streams_text(const struct loops *k, int streams);

/* The length of an axis as a word, which is declared where it is none yet. */
const char *length_word(struct loops *k, int axis);

/* One loop where the count is a multiple of every step; else loops with ever smaller steps, then the part. */
void vector_row(struct loops *k, const struct row *row);

/* Pointers to the row that the loops outside are at, for operands that are found by several of them; and behind the block
 * of the rows. */
void declare_rows(struct loops *k);
void forget_rows(struct loops *k);
void mark_loaded(struct loops *k, const struct value_source *source);

/* Vectors of inputs that have one value in the whole row, as soon as the loops know where it is. */
void declare_splats(struct loops *k, int axis);

/* ---- emit_scan.c: what runs along a line -------------------------------------------------------------- */

struct loops begin_line(struct cx *cx, const char *name, struct nest nest, struct line line,
                        const struct dag *dag, const struct nest_scene *scene);

/* An element of the line, beside what the loops around are at. */
const char *line_element(struct loops *k, int operand, const char *index, const struct dim *step);

#endif
