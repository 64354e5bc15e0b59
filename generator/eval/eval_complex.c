/* eval_complex.c - what there is of complex tensors: values of torch.fft and the like, whose real and imaginary parts are pairs of
 * a real tensor. Functions of them are rows "complex.NAME"; there is no arithmetic yet. */
#include "eval/evaluator.h"

#include <string.h>

struct ev eval_complex_part(struct eval *eval, struct loc loc, struct value *pairs, bool imaginary)
{
    const struct ev index = ev_int(eval, loc, imaginary);

    return ev_tensor(loc, eval_select(eval, pairs, pairs->ndim - 1, &index));
}

void eval_complex_fault(struct eval *eval, struct loc loc, const char *what)
{
    diag_error(eval->cx, loc, "'%s' of complex tensors is not supported yet by this version of modc", what);
    diag_hint(eval->cx,
              "torch.view_as_real(z) is a real tensor of pairs, torch.view_as_complex(x) makes one of them "
              "complex; abs, angle, conj, real and imag are there");
}

bool eval_complex_call(struct eval *eval, struct ev *callee, const struct call *call)
{
    const char *name = callee->text;
    bool complex = callee->items && callee->items->kind == EV_COMPLEX; /* of a method the first */
    struct ev own;

    for (int i = 0; i < call->count; i++)
        complex |= call->args[i].kind == EV_COMPLEX;
    if (!complex || callee->spec_function ||
        (callee->function && (callee->function->flags & FUNCTION_COMPLEX)))
        return true;
    if (!eval_find_function(arena_format(&eval->cx->arena, "complex.%s", name), FUNCTION_COMPLEX, callee->loc,
                            &own)) {
        eval_complex_fault(eval, call->loc, name);
        return false;
    }
    callee->function = own.function;
    callee->elementwise = NULL;
    return true;
}
