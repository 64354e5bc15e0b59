/* steps.c - counts what modc does, for tests/support/growth.py: comparisons, which is what scans and searches are made of. The
 * same run gives the same number on every machine, unlike seconds. Linked with a modc whose comparisons clang reports, as
 * libFuzzer has it done. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static uint64_t steps;

#define COUNTS(name, type)                                                                                   \
    void __sanitizer_cov_trace_##name(type a, type b);                                                       \
    void __sanitizer_cov_trace_##name(type a, type b)                                                        \
    {                                                                                                        \
        (void)a, (void)b;                                                                                    \
        steps++;                                                                                             \
    }
COUNTS(cmp1, uint8_t)
COUNTS(cmp2, uint16_t)
COUNTS(cmp4, uint32_t)
COUNTS(cmp8, uint64_t)
COUNTS(const_cmp1, uint8_t)
COUNTS(const_cmp2, uint16_t)
COUNTS(const_cmp4, uint32_t)
COUNTS(const_cmp8, uint64_t)

void __sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases);
void __sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases)
{
    (void)value, (void)cases;
    steps++;
}

/* What libc compares: as many bytes as it may have to look at. */
void __sanitizer_weak_hook_memcmp(void *caller, const void *a, const void *b, size_t count, int result);
void __sanitizer_weak_hook_memcmp(void *caller, const void *a, const void *b, size_t count, int result)
{
    (void)caller, (void)a, (void)b, (void)result;
    steps += count;
}

void __sanitizer_weak_hook_strcmp(void *caller, const char *a, const char *b, int result);
void __sanitizer_weak_hook_strcmp(void *caller, const char *a, const char *b, int result)
{
    (void)caller, (void)result;
    do
        steps++;
    while (*a == *b++ && *a++ != '\0');
}

__attribute__((destructor)) static void say(void)
{
    printf("%llu steps\n", (unsigned long long)steps);
}
