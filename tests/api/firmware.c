/* firmware.c - what firmware does with a model, and all that it has of a C library. Linked, never run. */
#include "modc.h"

extern const struct modc_model MODC_MODEL;
int main(void);
void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);

void *memcpy(void *to, const void *from, size_t bytes)
{
    return memmove(to, from, bytes);
}

void *memmove(void *to, const void *from, size_t bytes)
{
    volatile char *t = to;
    const volatile char *f = from;

    if ((uintptr_t)to < (uintptr_t)from)
        for (size_t i = 0; i < bytes; i++)
            t[i] = f[i];
    else
        while (bytes-- > 0)
            t[bytes] = f[bytes];
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    for (volatile char *t = to; bytes-- > 0; t++)
        *t = (char)value;
    return to;
}

#ifdef WITH_LIBM
int *__errno(void);

int *__errno(void) /* what newlib's libm wants of its libc */
{
    static int number;

    return &number;
}
#endif

/* Enough for every spec that is linked here. */
static MODC_ALIGNED char head[4096], block[1 << 20], packed[1 << 20], workspace[1 << 22], net[1024];
static MODC_ALIGNED char values[2][1 << 16];
static const unsigned char weights[1];

int main(void)
{
    const struct modc_model *model = &MODC_MODEL;
    struct modc_params *params = (struct modc_params *)(void *)head;
    struct modc_context *context = (struct modc_context *)(void *)net;
    const void *inputs[] = {values[0]};
    void *outputs[] = {values[1], values[1]};
    int sizes[4] = {1, 1, 1, 1};
    size_t length;
    struct modc_hook hook = {0};

    if (modc_bind(params, model, block, sizeof block) != MODC_OK ||
        modc_load_bytes(params, weights, sizeof weights, MODC_STRICT, NULL) != MODC_FORMAT ||
        modc_save_bytes(params, NULL, 0, &length) != MODC_OK ||
        modc_pack(params, packed, sizeof packed) != MODC_OK ||
        modc_init(context, model, params, workspace, sizeof workspace) != MODC_OK)
        return 1;
    if (modc_register_forward_hook(context, 0, &hook, 0) != MODC_UNSUPPORTED)
        return 2;
    return model->entries[0].call(context, sizes, inputs, outputs);
}
