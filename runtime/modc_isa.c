/* modc_isa.c - whether this machine has an instruction set: what models of generate --dispatch ask when a context is made.
 * Apart, so that no other model has it in it; where there is nothing to choose from it is empty. */
#include "modc.h"

#ifdef MODC_X86_64
#include <cpuid.h>

/* note [levels]
 * x86-64-v3 and -v4 as the System V ABI lists them, all of it: compilers may use any instruction of a level. That the
 * operating system keeps the wider registers is for XCR0 to say. __builtin_cpu_supports does not know the levels in every
 * compiler. */
enum {
    V2_1C = 1 << 0 | 1 << 9 | 1 << 13 | 1 << 19 | 1 << 20 |
            1 << 23,        /* SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT */
    V2_EXTENDED_C = 1 << 0, /* LAHF */
    V3_1C = 1 << 12 | 1 << 22 | 1 << 27 | 1 << 28 | 1 << 29, /* FMA, MOVBE, OSXSAVE, AVX, F16C */
    V3_7B = 1 << 3 | 1 << 5 | 1 << 8,                        /* BMI1, AVX2, BMI2 */
    V3_EXTENDED_C = 1 << 5,                                  /* LZCNT */
    V3_XCR0 = 0x6,                                           /* xmm, ymm */
    V4_XCR0 = 0xe0                                           /* zmm and masks */
};
#define V4_7B (1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) /* AVX512F, DQ, CD, BW, VL */

static bool has(unsigned found, unsigned wanted)
{
    return (found & wanted) == wanted;
}

static int find_level(void)
{
    unsigned a, b, c, d, extended_c, features_b, xcr0, high;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, V2_1C | V3_1C))
        return 1;
    if (!__get_cpuid(0x80000001, &a, &b, &extended_c, &d) || !has(extended_c, V2_EXTENDED_C | V3_EXTENDED_C))
        return 1;
    if (!__get_cpuid_count(7, 0, &a, &features_b, &c, &d) || !has(features_b, V3_7B))
        return 1;
    __asm__("xgetbv" : "=a"(xcr0), "=d"(high) : "c"(0)); /* OSXSAVE is there */
    if (!has(xcr0, V3_XCR0))
        return 1;
    return has(features_b, V4_7B) && has(xcr0, V4_XCR0) ? 4 : 3;
}

/* Found once, since CPUID takes microseconds in a virtual machine. Threads that ask at the same time write the same. */
static int level(void)
{
    static int known;
    int found = __atomic_load_n(&known, __ATOMIC_RELAXED);

    if (found == 0) {
        found = find_level();
        __atomic_store_n(&known, found, __ATOMIC_RELAXED);
    }
    return found;
}

bool modc_has_x86_64_v3(void)
{
    return level() >= 3;
}

bool modc_has_x86_64_v4(void)
{
    return level() >= 4;
}
#endif
