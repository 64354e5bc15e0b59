/* modc_rollout.h - experience that a collector records, and n-step returns of it. Models without `rollout:` do without it.
 * Nothing here allocates or prints.
 *
 * Emitted code has
 *     struct MODEL_rollout { pointers to the tensors, (batch, time, ...), nested as their keys };
 *     a struct modc_rollout_table, and MODEL_n_step(&rollout, batch, time), which walks over it
 * torchrl's MultiStep: with n steps and for step t of an episode that ends at step e, or at the last one recorded,
 *     k = min(n - 1, e - t)
 *     reward[t] = sum over j = 0 .. k of gamma^j reward[t + j]      what is under next comes from step t + k
 * but for next.done, next.terminated and next.truncated, which stay those of step t. */
#ifndef MODC_RUNTIME_ROLLOUT_H
#define MODC_RUNTIME_ROLLOUT_H

#include <string.h>

#include "modc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of a tensor. From MODC_ROLLOUT_ORIGINAL on they are made by n-step returns: NULL is not wanted. */
enum modc_rollout_role {
    MODC_ROLLOUT_STAYS,
    MODC_ROLLOUT_MOVES,
    MODC_ROLLOUT_REWARD,
    MODC_ROLLOUT_ORIGINAL,     /* the reward that was recorded */
    MODC_ROLLOUT_GAMMA,        /* gamma^(k + 1), float */
    MODC_ROLLOUT_STEPS,        /* k + 1, int64 */
    MODC_ROLLOUT_NONTERMINAL,  /* k > 0, where the mask says that the step counts */
    MODC_ROLLOUT_INDEX,        /* t + k, int64 */
    MODC_ROLLOUT_DONE_AT,      /* next.done of step t + k */
    MODC_ROLLOUT_TERMINATED_AT /* next.terminated of step t + k */
};

struct modc_rollout_tensor {
    const char *key; /* "next.observation" */
    size_t at;       /* of its pointer in struct MODEL_rollout */
    size_t bytes;    /* of a step */
    enum modc_dtype dtype;
    enum modc_rollout_role role;
    int ndim; /* dimensions behind (batch, time) */
    const int *dims;
    int reward; /* ORIGINAL: of which tensor */
    void (*sum)(void *rewards,
                int count); /* REWARD: n-step returns of an agent's episode; NULL: n_steps is 1 */
};

/* A row of a table, whose key is the path of a member of struct MODEL_rollout; its type and role are words: FLOAT32, STAYS. */
#define MODC_RECORD(model, path, bytes, dtype, role, ...)                                                    \
    {                                                                                                        \
#path, offsetof(struct model##_rollout, path), bytes, MODC_##dtype, MODC_ROLLOUT_##role, __VA_ARGS__ \
    }

struct modc_rollout_table {
    const struct modc_rollout_tensor *tensors;
    int count;
    size_t step_bytes; /* of all of them */
    size_t held_bytes; /* of a step as a window holds it */
    int n_steps;       /* 0: the model has no MultiStep, and neither n-step returns nor windows */
    double gamma;
    const float *gammas;        /* gamma^0 .. gamma^n_steps */
    int agents;                 /* ends of each step: windows of a row */
    int done, mask, terminated; /* -1: none */
};

/* Points all tensors of a struct MODEL_rollout into the block, which has to have MODEL_ROLLOUT_BYTES(batch, time).
 * MODC_POINTER, MODC_ALIGNMENT, MODC_SIZE: too small, or a negative extent. */
enum modc_status modc_rollout_bind(const struct modc_rollout_table *table, void *rollout, void *block,
                                   size_t bytes, int batch, int time);

/* Whether n-step returns can be made of it: MODC_SIZE (a negative extent, or too many steps for memory), MODC_POINTER (what they
 * read or move is not there), MODC_ALIGNMENT. */
enum modc_status modc_rollout_check(const struct modc_rollout_table *table, const void *rollout, int batch,
                                    int time);

/* MODEL_n_step: n-step returns in place. As modc_rollout_check, and MODC_ARGUMENT: the model has no MultiStep. */
enum modc_status modc_n_step(const struct modc_rollout_table *table, const void *rollout, int batch,
                             int time);

/* ---- windows: the same for steps that come a few at a time ------------------------------------------------ */

/* Holds the last n steps of each row; a step comes out when n others stand behind it, whatever pieces they came in. Begin with
 * modc_window_init; the members are the runtime's. */
struct modc_window {
    const struct modc_rollout_table *table;
    unsigned char *block;
    int batch, n_steps;
    int first, held; /* where the oldest step is, and how many there are */
    int64_t passed;  /* steps that came out */
};

/* block: MODEL_WINDOW_BYTES(batch). n_steps is the model's. MODC_POINTER, MODC_SIZE, MODC_ARGUMENT: no MultiStep. */
enum modc_status modc_window_init(struct modc_window *window, const struct modc_rollout_table *table,
                                  int batch, void *block, size_t bytes);

/* From 1 to the model's n_steps: MODC_ARGUMENT. With fewer the next push puts out what is more; with more it holds back. */
enum modc_status modc_window_set(struct modc_window *window, int n_steps);

/* How many steps of each row a push of so many would put out. */
int modc_window_ready(const struct modc_window *window, int time);

/* Takes the steps of `in` (batch, time), and puts steps out: `out` becomes (batch, *count), of which it has room for `room`. What
 * is NULL there is left out; `out` may be NULL where nothing comes out. MODC_POINTER: what `out` has, a reward or next.done is
 * not in `in`; MODC_SIZE: no room, or a negative extent. Then nothing has changed. */
enum modc_status modc_window_push(struct modc_window *window, const void *in, int time, void *out, int room,
                                  int *count);

/* Puts out all steps that are held, with the rewards that there are, as behind the last step of a rollout. */
enum modc_status modc_window_flush(struct modc_window *window, void *out, int room, int *count);

/* ---- the functions of a model ---------------------------------------------------------------------------- */

/* What emitted headers have of these under the model's name; see MODC_FUNCTIONS in modc.h. Windows: with MultiStep. */
#define MODC_ROLLOUT_FUNCTIONS(model)                                                                        \
    static inline enum modc_status model##_rollout_bind(struct model##_rollout *rollout, void *block,        \
                                                        size_t bytes, int batch, int time)                   \
    {                                                                                                        \
        return modc_rollout_bind(&model##_rollout_table, rollout, block, bytes, batch, time);                \
    }
#define MODC_WINDOW_FUNCTIONS(model)                                                                         \
    static inline enum modc_status model##_window_init(struct model##_window *window, int batch,             \
                                                       void *block, size_t bytes)                            \
    {                                                                                                        \
        return modc_window_init(&window->base, &model##_rollout_table, batch, block, bytes);                 \
    }                                                                                                        \
    static inline enum modc_status model##_window_set(struct model##_window *window, int n_steps)            \
    {                                                                                                        \
        return modc_window_set(&window->base, n_steps);                                                      \
    }                                                                                                        \
    static inline int model##_window_ready(const struct model##_window *window, int time)                    \
    {                                                                                                        \
        return modc_window_ready(&window->base, time);                                                       \
    }                                                                                                        \
    static inline enum modc_status model##_window_push(struct model##_window *window,                        \
                                                       const struct model##_rollout *in, int time,           \
                                                       struct model##_rollout *out, int room, int *count)    \
    {                                                                                                        \
        return modc_window_push(&window->base, in, time, out, room, count);                                  \
    }                                                                                                        \
    static inline enum modc_status model##_window_flush(struct model##_window *window,                       \
                                                        struct model##_rollout *out, int room, int *count)   \
    {                                                                                                        \
        return modc_window_flush(&window->base, out, room, count);                                           \
    }

#ifdef __cplusplus
}
#endif
#endif
