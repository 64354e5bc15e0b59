/* modc_optim_host.c - state files of an optimiser by their path. Apart from modc_host.c, which serves models that nobody trains,
 * too. */
#include "modc_optim.h"

#include <stdlib.h>

static enum modc_status make_state(const void *optimizer, void *out, size_t capacity, size_t *length)
{
    return modc_optimizer_save_bytes(optimizer, out, capacity, length);
}

enum modc_status modc_optimizer_save(const struct modc_optimizer *optimizer, const char *path)
{
    return modc_write_made(path, make_state, optimizer);
}

enum modc_status modc_optimizer_load(struct modc_optimizer *optimizer, const char *path, const char **fault)
{
    const void *bytes;
    size_t length;
    enum modc_status status = modc_map(path, &bytes, &length);

    if (fault != NULL)
        *fault = NULL;
    if (status != MODC_OK)
        return status;

    size_t memory_bytes = modc_reader_index_bytes(bytes, length);
    void *memory = malloc(memory_bytes); /* what is NULL makes it slower */

    status = modc_optimizer_load_indexed(optimizer, bytes, length, memory, memory_bytes, fault);
    free(memory);
    modc_unmap(bytes, length);
    return status;
}
