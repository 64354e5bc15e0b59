/* pair_x86_64_v3.c - written by modc from pair.yaml: the functions of pair.c once more, for
 * machines with x86-64-v3.
 * Compile it with -march=x86-64-v3; for other processors than x86-64 it is empty. */
#include "pair.h"

#ifdef MODC_X86_64
#if !(defined __AVX2__ && defined __FMA__ && defined __BMI2__ && !defined __AVX512F__)
#error "compile pair_x86_64_v3.c with -march=x86-64-v3"
#endif
#define MODC_CODE pair_code_x86_64_v3
#include "pair.c"
#endif
