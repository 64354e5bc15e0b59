/* eval_pool.c - memory of what lives as long as a call: its arguments, and the names of a row's body. Of a long spec it would be
 * most of all memory, which takes longer to touch for the first time than to use again. */
#include <string.h>

#include "eval/evaluator.h"

enum { POOL_UNIT = 128, POOL_CLASSES = 64 };

/* Blocks that nobody uses, by size in units; each begins with the next one. */
struct eval_pool {
    void *free[POOL_CLASSES];
};

struct eval_pool *eval_pool_new(struct arena *arena)
{
    return ARENA_NEW(arena, struct eval_pool);
}

static size_t units_of(size_t bytes)
{
    return (bytes + POOL_UNIT - 1) / POOL_UNIT;
}

void *eval_take(struct eval *eval, size_t bytes)
{
    const size_t units = units_of(bytes);
    void *block;

    if (!eval->pool || units >= POOL_CLASSES)
        return arena_alloc(&eval->cx->arena, bytes);
    block = eval->pool->free[units];
    if (!block)
        return arena_alloc(&eval->cx->arena, units * POOL_UNIT);
    memcpy(&eval->pool->free[units], block, sizeof block);
    return memset(block, 0, units * POOL_UNIT);
}

void eval_give(struct eval *eval, void *block, size_t bytes)
{
    const size_t units = units_of(bytes);

    if (!eval->pool || !block || units == 0 || units >= POOL_CLASSES)
        return;
    memcpy(block, &eval->pool->free[units], sizeof block);
    eval->pool->free[units] = block;
}
