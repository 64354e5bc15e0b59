/* elementwise.h - the one elementwise language: typed expression DAGs over a small set of primitives.
 *
 * `map`, and the heads and tails that are fused into other ops, carry such a DAG. Fusion joins DAGs; the printers of
 * emit_expr.c write them as scalar and vector C. A line of elementwise.c gives a function of torch.nn.functional, its
 * derivative and, where there is one, its module. */
#ifndef MODC_ELEMENTWISE_H
#define MODC_ELEMENTWISE_H

#include "base/dim.h"
#include "base/dtype.h"
#include "spec/expr.h"

/* name in elementwise.c and dumps, number of arguments */
#define PRIM_LIST(X)                                                                                         \
    X(LOAD, "load", 0)   /* element of input `input` */                                                      \
    X(CONST, "const", 0) /* number or integer, by dtype */                                                   \
    X(DIM, "dim", 0)     /* the current value of a dimension */                                              \
    X(CAST, "cast", 1)   /* to dtype */                                                                      \
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
    X(EXPM1, "expm1", 1)                                                                                     \
    X(LOG, "log", 1)                                                                                         \
    X(LOG1P, "log1p", 1)                                                                                     \
    X(TANH, "tanh", 1)                                                                                       \
    X(ERF, "erf", 1)                                                                                         \
    X(SQRT, "sqrt", 1)                                                                                       \
    X(RSQRT, "rsqrt", 1)                                                                                     \
    X(SIN, "sin", 1)                                                                                         \
    X(COS, "cos", 1)                                                                                         \
    X(FLOOR, "floor", 1)                                                                                     \
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
    int count;
    int result;
    int input_count; /* inputs 0 .. input_count - 1 may be loaded; a load of a further one counts it too */
};

/* Computed by a polynomial or more: exp, log, tanh, erf, sin, cos, pow and the like. */
bool prim_is_long(enum prim prim);

struct dag *dag_new(struct arena *arena, int input_count);

/* Adds a node unless an equal one is there; constant operands are computed at once. Returns its index. */
int dag_add(struct arena *arena, struct dag *dag, struct dag_node node);
int dag_load(struct arena *arena, struct dag *dag, int input, enum dtype dtype);
int dag_const(struct arena *arena, struct dag *dag, enum dtype dtype, double number);
int dag_integer(struct arena *arena, struct dag *dag, enum dtype dtype, int64_t integer);
/* Operands have one type, which is the result's but for comparisons, ISNAN (bool) and CAST; the condition of SELECT is
 * bool. Unused operands are given as -1 or 0. */
int dag_prim(struct arena *arena, struct dag *dag, enum prim prim, enum dtype dtype, int a, int b, int c);
int dag_cast(struct arena *arena, struct dag *dag, int node, enum dtype dtype);

/* Copies `from` into `dag` with its input i read as node inputs[i]; returns the node of its result. */
int dag_inline(struct arena *arena, struct dag *dag, const struct dag *from, const int *inputs);

/* Drops the nodes that the result does not need; indices change. */
void dag_trim(struct arena *arena, struct dag *dag);

/* Which inputs the result needs, by index. */
bool *dag_loads(struct arena *arena, const struct dag *dag);

/* The gradient of load `input` of `dag`, by its primitives: over its inputs, then the upstream gradient g, which has the
 * result's type. NULL: nothing flows there. At kinks PyTorch's values: minimum and maximum of equal operands get a half each,
 * abs has 0 at 0, floor has none. */
struct dag *dag_gradient(struct arena *arena, const struct dag *dag, int input);

/* y = x of that type: what a copy and an absent tail are. */
struct dag *dag_identity(struct arena *arena, enum dtype dtype);
bool dag_is_identity(const struct dag *dag);

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

/* ---- functions: one line each ----------------------------------------------------------------------------- */

/* note [elementwise lines]
 * `forward` is an expression over the arguments, PyTorch's functions among the primitives, `where(c, a, b)`, the other
 * lines of the table, and inf, pi. `x` is the first argument, whatever its name. The first `tensors` arguments are
 * tensors (broadcast against each other), the others numbers known while generating; what depends on numbers alone is
 * computed in double, and `where` over a known condition leaves one branch. `backward` gives the gradient of the first
 * argument from its value, the result y and the upstream gradient g; gradients of further tensors follow in their
 * order, behind "; d_NAME = ". NULL: nothing flows back. PyTorch's values at kinks are written out.
 * A line with `module` is that class of torch.nn too: its arguments are the numbers, then `inplace` if said. */
struct elementwise_row {
    const char *name; /* torch.nn.functional's or torch's */
    const char *args; /* "input, negative_slope=0.01"; PyTorch's names */
    int tensors;
    const char *forward;
    const char *backward;
    const char *module; /* "LeakyReLU", or NULL */
    const char *repr;   /* its extra_repr, with {name} holes */
    unsigned flags;
};

enum {
    ELEMENTWISE_INPLACE = 1,      /* has inplace=False as last argument */
    ELEMENTWISE_FLOAT = 2,        /* integers and bool become the default dtype */
    ELEMENTWISE_METHOD = 4,       /* a method of torch.Tensor too */
    ELEMENTWISE_TORCH = 8,        /* found as torch.NAME (else torch.nn.functional's) */
    ELEMENTWISE_FUNCTIONAL = 16,  /* torch.nn.functional's, where it is torch.NAME too */
    ELEMENTWISE_HIDDEN = 32,      /* for other lines and bodies: a spec cannot name it */
    ELEMENTWISE_ROUNDING = 64,    /* integers are returned as they are */
    ELEMENTWISE_ONLY_FLOAT = 128, /* PyTorch refuses integers and bool: see elementwise_refuses */
    ELEMENTWISE_NO_BOOL = 256,    /* PyTorch refuses bool */
};

extern const struct elementwise_row elementwise_rows[];
extern const int elementwise_row_count;

const struct elementwise_row *elementwise_find(const char *name);
const struct elementwise_row *elementwise_module(const char *class_name);

/* Why a line cannot be taken of tensors of that type: "relu is not defined for bool"; NULL where it can. */
const char *elementwise_refuses(struct cx *cx, const struct elementwise_row *row, enum dtype dtype);

/* Why a line cannot be taken with these numbers, which are complete: "alpha cannot be 0 for CELU"; NULL where it can. */
const char *elementwise_refuses_numbers(struct cx *cx, const struct elementwise_row *row,
                                        const double *numbers);

/* The DAG of a line over `tensors` inputs that have type `dtype`, with the numbers given by position. float16 and
 * bfloat16 are computed in float32 and rounded at the end. Integers become float32 where the line asks for
 * floating numbers (cast to the default dtype before where it is another). Faults of the table are asserts. */
struct dag *elementwise_dag(struct cx *cx, const struct elementwise_row *row, enum dtype dtype,
                            const double *numbers);

/* The DAG of the gradient of argument `tensor`: inputs are the tensors of the line, then its result y, then the
 * upstream gradient g, all of type `dtype` (floating). NULL: nothing flows there. */
struct dag *elementwise_gradient(struct cx *cx, const struct elementwise_row *row, enum dtype dtype,
                                 const double *numbers, int tensor);

/* A name in the text of an expression that is no line of the table, and the node that it means. */
struct elementwise_name {
    const char *name;
    int node;
};

/* The node of `text`, an expression of note [elementwise lines] over these names, whose numbers are computed in `dtype`. */
int elementwise_expr(struct cx *cx, struct dag *dag, enum dtype dtype, const char *text,
                     const struct elementwise_name *names, int count);

#endif
