/* elementwise.h - functions of torch.nn.functional and torch that are one line each: value, derivative and, where there is one,
 * module. What a line becomes is a DAG of dag.h. */
#ifndef MODC_ELEMENTWISE_H
#define MODC_ELEMENTWISE_H

#include "base/diag.h"
#include "ops/dag.h"

/* note [elementwise lines]
 * `forward` is an expression over the arguments, PyTorch's functions among the primitives, `where(c, a, b)`, the other
 * lines of the table, and inf, pi. `x` is the first argument, whatever its name. The first `tensors` arguments are
 * tensors (broadcast against each other), the others numbers known while generating; what depends on numbers alone is
 * computed in double, and `where` over a known condition leaves one branch. exp_up(x) and exp_down(x) are exp(x) times 2^32
 * and 2^-32, which are no denormals where exp(x) is one, or finite where it is not. `backward` gives the gradient of the first
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

/* What the numbers of a line have to be, by its name; NULL ends. */
struct elementwise_check {
    const char *line, *condition, *message;
};
extern const struct elementwise_check elementwise_checks[];

const struct elementwise_row *elementwise_find(const char *name);
const struct elementwise_row *elementwise_module(const char *class_name);

/* Why a line cannot be taken of tensors of that type: "relu is not defined for bool"; NULL where it can. */
const char *elementwise_refuses(struct cx *cx, const struct elementwise_row *row, enum dtype dtype);

/* Why a line cannot be taken with these numbers, which are complete: "alpha cannot be 0 for CELU"; NULL where it can. */
const char *elementwise_refuses_numbers(struct cx *cx, const struct elementwise_row *row,
                                        const double *numbers);

/* The DAG of a line over `tensors` inputs that have type `dtype`, with the numbers given by position. float16 and
 * bfloat16 are computed in float32 and rounded at the end. Integers become float32 where the line asks for
 * floating numbers (cast to the default dtype before where it is another). Faults of the table are asserts. What is asked for
 * again may be the same one, which nobody changes. */
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
