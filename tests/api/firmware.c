/* firmware.c - what firmware does with a model, and all that it has of a C library. Linked, never run. */
#include HEADER

#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define OF(name) JOIN(MODEL, name)
#define BYTES_OF(name) JOIN(CAPITALS, name)

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

static struct OF(_params) params;
static struct MODEL net;
static MODC_ALIGNED char block[BYTES_OF(_PARAM_BYTES)], packed[BYTES_OF(_PACKED_BYTES)];
static MODC_ALIGNED char workspace[BYTES_OF(_WORKSPACE_BYTES)];
static MODC_ALIGNED char values[2][1 << 16];
static const unsigned char file[1];

/* What --target counts, and what the emitted header says. */
typedef char structs_are_counted[sizeof params + sizeof net == STRUCTS ? 1 : -1];
typedef char blocks_are_aligned[MODC_ALIGN == 8 ? 1 : -1];

int main(void)
{
    const struct modc_model *model = &OF(_model);
    const void *inputs[] = {values[0]};
    void *outputs[] = {values[1], values[1]};
    int sizes[4] = {1, 1, 1, 1};
    size_t length;
    struct modc_hook hook = {0};

    if (modc_bind(&params.base, model, block, sizeof block) != MODC_OK ||
        modc_load_bytes(&params.base, file, sizeof file, MODC_STRICT, NULL) != MODC_FORMAT ||
        modc_save_bytes(&params.base, NULL, 0, &length) != MODC_OK ||
        modc_pack(&params.base, packed, sizeof packed) != MODC_OK ||
        modc_init(&net.base, model, &params.base, workspace, sizeof workspace) != MODC_OK)
        return 1;
    if (modc_register_forward_hook(&net.base, 0, &hook, 0) != MODC_UNSUPPORTED)
        return 2;
    return model->entries[0].call(&net.base, sizes, inputs, outputs);
}
