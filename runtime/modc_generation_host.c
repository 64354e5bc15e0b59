/* modc_generation_host.c - generators with memory of their own; see modc_generation.h. Apart from modc_host.c, which serves models that do not
 * write, too. */
#include "modc_threads_parts.h"

#include "modc_device.h"
#include "modc_generation.h"

#include <stdlib.h>

/* A generator that was created. */
struct made {
    struct modc_generator gen; /* first */
    void *pinned;              /* its block, where the device has it */
};

static double seconds_now(void *user)
{
    (void)user;
    return (double)modc_now() * 1e-9;
}

static size_t block_bytes(const struct modc_generation *t)
{
    return MODC_GENERATOR_BYTES(t->rows, t->logits, t->sequences, t->context, t->per, t->vocabulary,
                                t->token_bytes,
                                modc_dtype_bytes(t->model->entries[t->entry].outputs[0].dtype), t->encoded);
}

void modc_generator_destroy(struct modc_generator *gen)
{
    struct made *made = (struct made *)(void *)gen;

    if (made != NULL && made->pinned != NULL)
        made->gen.table->model->device->release_host(made->pinned);
    free(made);
}

enum modc_status modc_generator_create(const struct modc_generation *table, struct modc_context *net,
                                       struct modc_generator **gen)
{
    const struct modc_device *device = table != NULL ? table->model->device : NULL;
    enum modc_status status = MODC_OK;
    struct made *made;
    void *block;
    size_t bytes;

    if (table == NULL || net == NULL || gen == NULL)
        return MODC_POINTER;
    *gen = NULL;
    bytes = block_bytes(table);
    made = malloc(sizeof *made + (device == NULL ? MODC_ALIGN + bytes : 0));
    if (made == NULL)
        return MODC_MEMORY;
    made->gen.table = table;
    made->pinned = NULL;
    block = made + 1;
    block = (char *)block + (MODC_ALIGN - (uintptr_t)block % MODC_ALIGN) % MODC_ALIGN;
    if (device != NULL) {
        status = device->allocate_host(&made->pinned, bytes);
        block = made->pinned;
    }
    if (status == MODC_OK)
        status = modc_generator_init(&made->gen, table, net, block, bytes);
    if (status != MODC_OK) {
        made->gen.table = table;
        modc_generator_destroy(&made->gen);
        return status;
    }
    made->gen.clock = seconds_now;
    *gen = &made->gen;
    return MODC_OK;
}
