/* weights.h - `generate --weights`: a safetensors file becomes the bytes that the emitted code embeds: the packed block,
 * as MODEL_pack would make it, and in PyTorch's layout only the tensors that the packed block cannot give back; with
 * `state_dict: none`, those of them that a kernel reads.
 *
 * What is embedded lies in read-only memory: params->read_only is set, so modc_load and modc_reset refuse, and a call in
 * training mode that writes buffers has to return MODC_READ_ONLY. */
#ifndef MODC_WEIGHTS_H
#define MODC_WEIGHTS_H

#include "plan/plan.h"

struct embedded_weights {
    const void
        *bytes; /* packed block, raw tensors, large constants; every part at a multiple of plan->align */
    size_t length;
    /* by key: offset of the tensor in PyTorch's layout, or -1: it lies only packed, or is left out */
    int64_t *raw;
    /* by key: the entry that is its permutation (of group 0, or of a child), or NULL */
    const struct packed **packed;
    int64_t *packed_at; /* by key: offset of that entry in the packed block, -1 otherwise */
    /* by index of plan->constants, as far as it goes: the offset of one that is no text of the emitted code, or -1 */
    int64_t *constants;
    int constant_count;
};

/* A constant as the machine has it; how many bytes these are, and whether they are too many to be told as numbers: a number takes
 * four times its bytes as text, and a compiler 3 us. */
const char *constant_bytes(struct arena *arena, const struct tensor *tensor);
int64_t constant_length(const struct tensor *tensor);
bool constant_is_large(const struct tensor *tensor);

/* Where a constant of the plan lies in the bytes; -1: it does not. */
int64_t weights_constant(const struct embedded_weights *weights, int constant);

/* NULL after a fault that was said (*status is EXIT_FILE then): missing or unexpected keys, shapes, types. */
struct embedded_weights *weights_embed(struct cx *cx, const struct plan *plan, const char *path, int *status);

/* As what entries of a plan hold a parameter that they round; of a tie its first. */
struct weights_use {
    const struct storage *storage; /* NULL: as nothing */
    bool transposed;               /* of integers: rows of outputs are its last dimension */
    bool
        apart; /* of integers: entries have their scales of other parts of it, so that no file has them all */
};

/* By key. */
const struct weights_use *weights_uses(struct cx *cx, const struct plan *plan);

/* The plan embeds them, and gets the kernels that give back what lies only packed. */
void weights_attach(struct cx *cx, struct plan *plan, const struct embedded_weights *weights);

/* --weights-as c: they are an array of C, else what the assembler takes in. */
bool weights_are_array(const struct cx *cx);

/* Whether `module` is to `instance` what `part` is to that instance of the group's class in which it lies. */
bool is_moved(struct cx *cx, const struct pack_group *group, const struct module *instance,
              const struct module *part, const struct module *module);

/* Bytes that would be embedded: packed block and the tensors that it cannot give back. */
int64_t weights_length(struct cx *cx, const struct plan *plan);

#endif
