/* nest_form.h - how the loops of a map or a reduction run: over vectors or element by element, and how sums are cut. Said of a
 * nest in normal form; emit prints it.
 *
 * note [exact sums]
 * A float sum that runs over more than SUM_LIMIT elements in one accumulator would lose digits. So one of its loops is
 * cut into blocks: `part` sums a block, `sum` the parts. */
#ifndef MODC_NEST_FORM_H
#define MODC_NEST_FORM_H

#include "plan/nest.h"

enum { MOST_COLUMNS = 8 }; /* vectors of columns at a time, at most */

enum nest_way {
    NEST_ELEMENTS, /* one by one */
    NEST_ROWS,     /* vectors along the last axis; of a reduction it is reduced */
    NEST_COLUMNS,  /* of a reduction: vectors of outputs along the last axis */
    NEST_BLOCKS, /* of a reduction: on a GPU the threads of a block share what an output, or some outputs, is made of */
    NEST_BYTES, /* of a map: rows of bytes that are copied */
    NEST_ZEROS, /* of a map: rows of bytes that become 0 */
    NEST_TURNED /* of a map: a copy that transposes */
};

struct nest_form {
    enum nest_way way;
    bool core;        /* it is inlined into calls, which know its extents; see note [cores] in kernel.h */
    enum dtype lanes; /* of vectors; of a reduction element by element what is reduced */
    int turned;       /* TURNED: the axis along which the operand is contiguous */
    int streams;      /* of a reduction: how many vectors at a time, at most where `vectors` says how many */
    const struct dim *vectors; /* COLUMNS: an argument of a core; else NULL */
    int threads, outputs;      /* BLOCKS: of a block */
    int split;                 /* note [exact sums]: the axis that is cut into blocks; -1: none */
    int64_t block;             /* of so many elements; BLOCKS: all axes as one, 0: they are not cut */
};

/* vectors: whether the machine has them; else everything goes element by element, but for reductions of many by few, whose threads
 * share them. */
struct nest_form map_form(const struct nest *nest, const struct dag *dag, bool vectors);

/* What copies runs of elements as memcpy does; of bools, whose bytes may come from elsewhere, each is 0 or 1 then. */
const char *copy_of_elements(enum dtype dtype);

/* head, tail: as in a kernel's record. */
struct nest_form reduce_form(const struct nest *nest, enum reduce_kind kind, const struct dag *head,
                             const struct dag *tail, bool vectors);

/* The same for a core, which serves reductions of any extent: sums of columns are cut, however many rows there are. */
struct nest_form reduce_core_form(const struct nest *nest, enum reduce_kind kind, const struct dag *head,
                                  const struct dag *tail);

/* The tail of a reduction that has none: what is reduced as it is, but in the type of the output. */
const struct dag *reduce_tail(struct arena *arena, enum reduce_kind kind, const struct dag *head,
                              enum dtype output);

bool reduce_is_arg(enum reduce_kind kind);

/* Sums and products of integers wrap in 64 bits. */
bool reduce_wraps(enum reduce_kind kind, enum dtype element);

#endif
