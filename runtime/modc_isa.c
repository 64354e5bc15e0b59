/* modc_isa.c - whether this machine has an instruction set: what models of generate --dispatch ask when a context is made.
 * Apart, so that no other model has it in it; where there is nothing to choose from it is empty. */
#include "modc.h"

/* note [levels]
 * x86-64-v3 and -v4 as the System V ABI lists them, all of it: compilers may use any instruction of a level. That the
 * operating system keeps the wider registers is for XCR0 to say. __builtin_cpu_supports does not know the levels in every
 * compiler. VNNI are the products of bytes: of registers of 256 bits in AVX's encoding, which processors without AVX-512 have,
 * and of all in that of AVX-512. Of AArch64 it is Armv8.2 with the dot products. */

#ifdef MODC_X86_64
#include <cpuid.h>

enum {
    V2_1C = 1 << 0 | 1 << 9 | 1 << 13 | 1 << 19 | 1 << 20 |
            1 << 23,        /* SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT */
    V2_EXTENDED_C = 1 << 0, /* LAHF */
    V3_1C = 1 << 12 | 1 << 22 | 1 << 27 | 1 << 28 | 1 << 29, /* FMA, MOVBE, OSXSAVE, AVX, F16C */
    V3_7B = 1 << 3 | 1 << 5 | 1 << 8,                        /* BMI1, AVX2, BMI2 */
    V3_EXTENDED_C = 1 << 5,                                  /* LZCNT */
    V3_XCR0 = 0x6,                                           /* xmm, ymm */
    V4_XCR0 = 0xe0,                                          /* zmm and masks */
    VNNI_V3_71A = 1 << 4,                                    /* AVX-VNNI */
    VNNI_V4_7C = 1 << 11                                     /* AVX512_VNNI */
};
#define V4_7B (1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) /* AVX512F, DQ, CD, BW, VL */

enum { KNOWN = 1, HAS_V3 = 2, HAS_V3_VNNI = 4, HAS_V4 = 8, HAS_V4_VNNI = 16 };

static bool has(unsigned found, unsigned wanted)
{
    return (found & wanted) == wanted;
}

static unsigned find_sets(void)
{
    unsigned a, b, c, d, extended_c, features_b, features_c, leaves, xcr0, high, sets = KNOWN | HAS_V3;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, V2_1C | V3_1C))
        return KNOWN;
    if (!__get_cpuid(0x80000001, &a, &b, &extended_c, &d) || !has(extended_c, V2_EXTENDED_C | V3_EXTENDED_C))
        return KNOWN;
    if (!__get_cpuid_count(7, 0, &leaves, &features_b, &features_c, &d) || !has(features_b, V3_7B))
        return KNOWN;
    __asm__("xgetbv" : "=a"(xcr0), "=d"(high) : "c"(0)); /* OSXSAVE is there */
    if (!has(xcr0, V3_XCR0))
        return KNOWN;
    if (leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && has(a, VNNI_V3_71A))
        sets |= HAS_V3_VNNI;
    if (has(features_b, V4_7B) && has(xcr0, V4_XCR0))
        sets |= has(features_c, VNNI_V4_7C) ? HAS_V4 | HAS_V4_VNNI : HAS_V4;
    return sets;
}

/* Found once, since CPUID takes microseconds in a virtual machine. Threads that ask at the same time write the same. */
static bool is_here(unsigned set)
{
    static unsigned known;
    unsigned found = __atomic_load_n(&known, __ATOMIC_RELAXED);

    if (found == 0) {
        found = find_sets();
        __atomic_store_n(&known, found, __ATOMIC_RELAXED);
    }
    return has(found, set);
}

bool modc_has_x86_64_v3(void)
{
    return is_here(HAS_V3);
}

bool modc_has_x86_64_v3_vnni(void)
{
    return is_here(HAS_V3_VNNI);
}

bool modc_has_x86_64_v4(void)
{
    return is_here(HAS_V4);
}

bool modc_has_x86_64_v4_vnni(void)
{
    return is_here(HAS_V4_VNNI);
}
#endif

#ifdef __aarch64__
#ifdef __linux__
#include <sys/auxv.h>

bool modc_has_aarch64_dotprod(void)
{
    const unsigned long all = 1ul << 7 | 1ul << 8 | 1ul << 12 |
                              1ul << 20; /* CRC32, ATOMICS, ASIMDRDM, ASIMDDP */

    return (getauxval(AT_HWCAP) & all) == all;
}
#else
/* Compilers know of systems that run on nothing less. */
bool modc_has_aarch64_dotprod(void)
{
    return false;
}
#endif
#endif
