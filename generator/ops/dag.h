/* dag.h - the one elementwise language: typed expression DAGs over a small set of primitives.
 *
 * `map`, and the heads and tails that are fused into other ops, carry such a DAG. Fusion joins DAGs; the printers of
 * emit_expr.c write them as scalar and vector C. elementwise.h gives functions of PyTorch as such DAGs. */
#ifndef MODC_DAG_H
#define MODC_DAG_H

#include "base/dim.h"
#include "base/dtype.h"

/* name in lines of elementwise.c and in dumps, number of arguments */
#define PRIM_LIST(X)                                                                                         \
    X(LOAD, "load", 0)             /* element of input `input` */                                            \
    X(CONST, "const", 0)           /* number or integer, by dtype */                                         \
    X(DIM, "dim", 0)               /* the current value of a dimension */                                    \
    X(CAST, "cast", 1)             /* to dtype */                                                            \
    X(BITS, "bits", 1)             /* the same bits as a number of another type that is as wide */           \
    X(GCD, "gcd", 2)               /* integers only */                                                       \
    X(MUL_HIGH, "mul_high", 2)     /* int32: a b / 2^31 to nearest, ties up; -2^31 by itself is 2^31 - 1 */  \
    X(SHIFT_NEAR, "shift_near", 2) /* int32: a / 2^(b modulo 32) to nearest, ties away from 0 */             \
    X(RESCALE, "rescale",                                                                                    \
      3) /* int32: shift_near(mul_high(x, multiplier), shift), in the form of note [rescaling] in */         \
         /* runtime/modc_simd_scalar.h */                                                                    \
    X(ADD, "add", 2)                                                                                         \
    X(SUB, "sub", 2)                                                                                         \
    X(MUL, "mul", 2)                                                                                         \
    X(DIV, "div", 2) /* floating only */                                                                     \
    X(FLOORDIV, "floordiv", 2)                                                                               \
    X(MOD, "mod", 2) /* sign of the divisor */                                                               \
    X(POW, "pow", 2)                                                                                         \
    X(MIN, "minimum", 2) /* NaN if either is */                                                              \
    X(MAX, "maximum", 2)                                                                                     \
    X(NEG, "neg", 1)                                                                                         \
    X(ABS, "abs", 1)                                                                                         \
    X(EXP, "exp", 1)                                                                                         \
    X(EXP_UP, "exp_up", 1)     /* 2^32 exp(x): a normal number where x * exp(x) is one */                    \
    X(EXP_DOWN, "exp_down", 1) /* 2^-32 exp(x): finite where 1 / exp(x) is no 0 */                           \
    X(EXPM1, "expm1", 1)                                                                                     \
    X(LOG, "log", 1)                                                                                         \
    X(LOG1P, "log1p", 1)                                                                                     \
    X(TANH, "tanh", 1)                                                                                       \
    X(ERF, "erf", 1)                                                                                         \
    X(SQRT, "sqrt", 1)                                                                                       \
    X(RSQRT, "rsqrt", 1)                                                                                     \
    X(COPYSIGN, "copysign", 2) /* the size of a with the sign of b */                                        \
    X(LGAMMA, "lgamma", 1)     /* from here to GAMMAINCC functions of runtime/modc_special.h */              \
    X(DIGAMMA, "digamma", 1)                                                                                 \
    X(ERFCX, "erfcx", 1)                                                                                     \
    X(ERFINV, "erfinv", 1)                                                                                   \
    X(NDTR, "ndtr", 1)                                                                                       \
    X(NDTRI, "ndtri", 1)                                                                                     \
    X(LOG_NDTR, "log_ndtr", 1)                                                                               \
    X(I0E, "i0e", 1)                                                                                         \
    X(I1E, "i1e", 1)                                                                                         \
    X(K0E, "k0e", 1)                                                                                         \
    X(K1E, "k1e", 1)                                                                                         \
    X(BESSEL_J0, "bessel_j0", 1)                                                                             \
    X(BESSEL_J1, "bessel_j1", 1)                                                                             \
    X(BESSEL_Y0, "bessel_y0", 1)                                                                             \
    X(BESSEL_Y1, "bessel_y1", 1)                                                                             \
    X(AIRY_AI, "airy_ai", 1)                                                                                 \
    X(FIXED, "fixed", 1) /* float64 above 0: round(2^31 x / 2^fixed_power(x)), from 2^30 on and */           \
    X(FIXED_POWER, "fixed_power",                                                                            \
      1) /* below 2^31, 0 of what is below 2^-32: note [steps] in base/steps.h */                            \
    X(ZETA, "zeta", 2)                                                                                       \
    X(GAMMAINC, "gammainc", 2)                                                                               \
    X(GAMMAINCC, "gammaincc", 2)                                                                             \
    X(SIN, "sin", 1)                                                                                         \
    X(COS, "cos", 1)                                                                                         \
    X(FLOOR, "floor", 1)                                                                                     \
    X(AS_FLOAT16, "as_float16", 1)   /* of a float32: rounded to what the type has, note [halves] in */      \
    X(AS_BFLOAT16, "as_bfloat16", 1) /* plan/plan_halves.h */                                                \
    X(ISNAN, "isnan", 1)                                                                                     \
    X(EQ, "eq", 2)                                                                                           \
    X(NE, "ne", 2)                                                                                           \
    X(LT, "lt", 2)                                                                                           \
    X(LE, "le", 2)                                                                                           \
    X(GT, "gt", 2)                                                                                           \
    X(GE, "ge", 2)                                                                                           \
    X(AND, "and", 2) /* bool and integers, bitwise */                                                        \
    X(OR, "or", 2)                                                                                           \
    X(XOR, "xor", 2)                                                                                         \
    X(NOT, "not", 1)                                                                                         \
    X(SELECT, "where", 3) /* bool, a, b */

enum prim {
#define X(id, name, arity) PRIM_##id,
    PRIM_LIST(X)
#undef X
        PRIM_COUNT
};

struct prim_row {
    const char *name;
    int arity;
};
extern const struct prim_row prim_rows[PRIM_COUNT];

struct dag_node {
    enum prim prim;
    enum dtype dtype;
    int args[3]; /* earlier nodes */
    int input;   /* LOAD */
    double number;
    int64_t integer;
    const struct dim *dim;
};

/* Nodes in an order in which arguments come first; equal nodes are one node. */
struct dag {
    struct dag_node *nodes;
    int count, room;
    int result;
    int input_count; /* inputs 0 .. input_count - 1 may be loaded; a load of a further one counts it too */
    bool spare;      /* who replaces it may take its memory: one op alone has it; see passes/fuse.c */
};

bool prim_is_comparison(enum prim prim);

/* Computed by a polynomial or more: exp, log, tanh, erf, sin, cos, pow and the like. */
bool prim_is_long(enum prim prim);

/* Computed by runtime/modc_special.h: floating numbers one by one. */
bool prim_is_special(enum prim prim);

struct dag *dag_new(struct arena *arena, int input_count);

/* Adds a node unless an equal one is there; constant operands are computed at once. Returns its index. */
int dag_add(struct arena *arena, struct dag *dag, struct dag_node node);
int dag_load(struct arena *arena, struct dag *dag, int input, enum dtype dtype);
int dag_const(struct arena *arena, struct dag *dag, enum dtype dtype, double number);
int dag_integer(struct arena *arena, struct dag *dag, enum dtype dtype, int64_t integer);
/* Operands have one type, which is the result's but for comparisons, ISNAN (bool), CAST and BITS; the condition of SELECT is
 * bool. Unused operands are given as -1 or 0. */
int dag_prim(struct arena *arena, struct dag *dag, enum prim prim, enum dtype dtype, int a, int b, int c);
int dag_cast(struct arena *arena, struct dag *dag, int node, enum dtype dtype);

/* Copies `from` into `dag` with its input i read as node inputs[i]; returns the node of its result. */
int dag_inline(struct arena *arena, struct dag *dag, const struct dag *from, const int *inputs);

/* Drops the nodes that the result does not need; indices change. */
void dag_trim(struct arena *arena, struct dag *dag);

/* By node: 0 where the result does not need it; else how often it is an argument, plus one for the result itself. */
int *dag_count_uses(struct arena *arena, const struct dag *dag);

/* Which inputs the result needs, by index. */
bool *dag_loads(struct arena *arena, const struct dag *dag);

/* The gradient of load `input` of `dag`, by its primitives: over its inputs, then the upstream gradient g, which has the
 * result's type. NULL: nothing flows there. At kinks PyTorch's values: minimum and maximum of equal operands get a half each,
 * abs has 0 at 0, floor has none. */
struct dag *dag_gradient(struct arena *arena, const struct dag *dag, int input);

/* y = x of that type: what a copy and an absent tail are. */
struct dag *dag_identity(struct arena *arena, enum dtype dtype);
bool dag_is_identity(const struct dag *dag);

/* Whether the result is 0, all bits of it. */
bool dag_is_zero(const struct dag *dag);

/* Are they the same nodes in the same order? */
bool dag_equal(const struct dag *a, const struct dag *b);

/* The value of the DAG for one element; inputs as numbers (integers of up to 64 bits in .i). */
union scalar {
    double f;
    int64_t i;
};
union scalar dag_eval(const struct dag *dag, const union scalar *inputs, const int64_t *sizes);

/* The same with room for dag->count scalars, for loops over elements. */
union scalar dag_eval_in(const struct dag *dag, const union scalar *inputs, const int64_t *sizes,
                         union scalar *values);

/* note [defined arithmetic]
 * Integers wrap; bool adds as `or` and multiplies as `and`. // and % of integers floor, by 0 they give 0 here (a status
 * at run time), of floating numbers they are torch.floor_divide and torch.remainder. A float is cast to an integer by
 * truncating it to int64 (saturating, NaN is 0) and wrapping that; to bool as != 0. pow of integers with a negative
 * exponent is 0 but for bases 1 and -1. */
union scalar prim_eval(enum prim prim, enum dtype result, enum dtype operands, const union scalar *args);

/* `number` rounded to what the type can hold. */
double dtype_round(enum dtype dtype, double number);
int64_t dtype_wrap(enum dtype dtype, int64_t integer); /* bool and integers */
union scalar dtype_convert(enum dtype from, enum dtype to, union scalar value);

void dag_print(struct text *text, const struct dag *dag); /* for dumps: maximum(x0, 0.0) */

#endif
