/* pair_x86_64_v4.c - written by modc from pair.yaml: the functions of pair.c once more, for
 * machines with x86-64-v4.
 * Compile it with -march=x86-64-v4; for other processors than x86-64 it is empty. */
#include "pair.h"

#ifdef MODC_X86_64
#if !(defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512CD__ && defined __AVX512DQ__ \
    && defined __AVX512VL__)
#error "compile pair_x86_64_v4.c with -march=x86-64-v4"
#endif
#define MODC_CODE pair_code_x86_64_v4
#include "pair.c"
#endif
