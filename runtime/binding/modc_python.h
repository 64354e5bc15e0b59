/* modc_python.h - calls of modc.Module without Python's frames: a call that is as an earlier one, its forward and its backward
 * inside autograd.
 *
 * The package prepares tables of what does not change between calls, and keeps all that they point to. Objects of Python are
 * borrowed where nothing else is said. Functions of its C API come by address, since nothing here is compiled or linked with it;
 * what is rare is done by functions of the package. All here is called with the interpreter's lock held. */
#ifndef MODC_PYTHON_H
#define MODC_PYTHON_H

#include "modc_binding.h"

#ifdef __cplusplus
extern "C" {
#endif

struct modc_object; /* PyObject */

/* What DLPack says of a tensor (dlpack.h 1.0, DLTensor). */
struct modc_python_view {
    void *data;
    int32_t device, device_number, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    const int64_t *dims, *strides;
    uint64_t offset;
};

/* Of Python and of PyTorch. */
struct modc_python {
    /* functions of the C API: PyDict_GetItemWithError, PyObject_GetAttr, PyObject_SetAttr, PyObject_Vectorcall, PyObject_Type,
     * PyObject_RichCompareBool, PyLong_AsLongLong, PyLong_AsVoidPtr, PyTuple_New, PyTuple_SetItem, PyTuple_GetItem, PyTuple_Size,
     * PyCapsule_New, PyCapsule_GetContext, PyCapsule_SetContext, Py_IncRef, Py_DecRef, PyErr_Clear, PyEval_SaveThread,
     * PyEval_RestoreThread */
    struct modc_object *(*dict_item)(struct modc_object *dict, struct modc_object *name);
    struct modc_object *(*attribute)(struct modc_object *object, struct modc_object *name);
    int (*set_attribute)(struct modc_object *object, struct modc_object *name, struct modc_object *value);
    struct modc_object *(*call)(struct modc_object *function, struct modc_object *const *arguments,
                                size_t count, struct modc_object *names);
    struct modc_object *(*type_of)(struct modc_object *object);
    int (*compare)(struct modc_object *left, struct modc_object *right, int how);
    long long (*number)(struct modc_object *object);
    void *(*address)(struct modc_object *object);
    struct modc_object *(*tuple)(intptr_t count);
    int (*set_item)(struct modc_object *tuple, intptr_t index,
                    struct modc_object *item); /* keeps item's reference */
    struct modc_object *(*item)(struct modc_object *tuple, intptr_t index);
    intptr_t (*length)(struct modc_object *tuple);
    struct modc_object *(*capsule)(void *pointer, const char *name,
                                   void (*destroy)(struct modc_object *capsule));
    void *(*capsule_context)(struct modc_object *capsule);
    int (*set_capsule_context)(struct modc_object *capsule, void *context);
    void (*keep)(struct modc_object *object);
    void (*release)(struct modc_object *object);
    void (*clear_error)(void);
    void *(*unlock)(void);
    void (*lock)(void *thread);

    int (*view)(struct modc_object *tensor,
                struct modc_python_view *view); /* of __dlpack_c_exchange_api__; or NULL */
    /* functions of PyTorch's C and C++ interfaces: aoti_torch_get_data_ptr, _get_dim, _get_sizes, _get_strides,
     * at::native::is_inference, at::TensorBase::_version. A handle, an at::Tensor, lies in each object of Python: `inside` bytes
     * from its start; 0: they are not to be used */
    int (*data_of)(const void *handle, void **data);
    int (*rank_of)(const void *handle, int64_t *rank);
    int (*dims_of)(const void *handle, const int64_t **dims);
    int (*strides_of)(const void *handle, const int64_t **strides);
    bool (*has_no_version)(const void *handle);
    int64_t (*version_of)(const void *handle);
    size_t inside;

    struct modc_object *none, *yes, *no, *tensor, *parameter; /* two classes */
    /* names of attributes */
    struct modc_object *version, *requires_grad, *shape, *dtype, *layout, *is_cpu, *needs_input_grad, *loan,
        *materialize_grads, *non_differentiable, *run;
    /* of torch.Tensor: methods; and functions of torch */
    struct modc_object *data_ptr, *is_contiguous, *is_neg, *is_conj, *empty_like, *is_grad_enabled,
        *is_autocast_enabled;
    /* functions of the package:
     * create(owner): the address of a new context of a call's library; before(owner, context): seeds it, attaches hooks;
     * fail(owner, context): raises what the call ended with; dense(tensor): as C reads it, a copy;
     * made(owner, outputs): the result of the user's forward; adjoint(owner, needs): the address of a modc_python_adjoint;
     * once(ctx, *gradients): backward, for what shall be differentiated again; over(ctx), changed(of_input): raise what
     * autograd would say */
    struct modc_object *create, *before, *fail, *dense, *made, *adjoint, *once, *over, *changed;
};
/* To be called first. */
void modc_python_begin(const struct modc_python *python);

/* How a tensor was, for DLPack or as attributes. */
struct modc_python_kind {
    struct modc_object *shape, *dtype, *layout;
    const int64_t *dims;
    int ndim, code, bits;
};

/* What is remembered of a model: dicts[i][names[i]] is objects[i]; tensors, parameters first, lie at addresses. */
struct modc_python_look {
    struct modc_object *const *dicts, *const *names, *const *objects;
    struct modc_object *const *tensors;
    struct modc_object *const *wants; /* requires_grad of the parameters; NULL: not known yet */
    const struct modc_python_kind *kinds;
    void *const *addresses;
    int items, parameters, buffers, trained;
    int64_t buffer_version; /* what the versions of the buffers add up to, the last time */
    int64_t writes;         /* calls that may have written to buffers, which no version tells */
};
/* What the versions of the parameters add up to; -1: something is not as it was. */
int64_t modc_python_look_at(struct modc_python_look *look);
/* The same of the versions alone; -1: tensors of torch.inference_mode have none. */
int64_t modc_python_versions(struct modc_object *const *tensors, int count);

struct modc_python_context;

/* Of a library, for the tensors of one model: its functions, its contexts that are free, what it computes with. */
struct modc_python_weights {
    enum modc_status (*run)(const struct modc_binding_frame *frame);
    enum modc_status (*run_backward)(struct modc_binding_frame *frame);
    enum modc_status (*renew)(struct modc_params *params, bool parameters, bool buffers);
    struct modc_params *params;
    struct modc_python_context *free;
    int64_t version, buffer_version, writes; /* of what lies packed */
};

/* What a backward makes: of each gradient, its number in C, its place behind ctx and a tensor of its shape. */
struct modc_python_adjoint {
    struct modc_object *needs; /* a tuple: ctx.needs_input_grad */
    const int *indices, *places;
    struct modc_object *const *templates;
    int inputs, count; /* how many are of inputs; the others are of parameters */
};

/* An argument of the user's forward. */
struct modc_python_argument {
    struct modc_object *literal; /* it is this object; NULL: a tensor */
    struct modc_python_kind kind;
};
#define MODC_PYTHON_ARGUMENTS 16 /* that modc_python_quick takes */

/* Calls of a variant with tensors of these shapes. */
struct modc_python_call {
    struct modc_python_weights *weights;
    struct modc_python_look *look;
    struct modc_object *owner;
    const int *sizes;
    const int *positions;                      /* of the library's inputs, among the tensors of the call */
    struct modc_object *const *templates;      /* of its outputs */
    struct modc_object *fixed;                 /* numbers of outputs without gradients, a tuple; or NULL */
    const struct modc_python_adjoint *adjoint; /* that the last backward had */
    uintptr_t mask;                            /* bits of an address that have to be 0 */
    int inputs, outputs, gradients;
    bool mode, is_complex, asks; /* asks: create's context is seeded or has hooks */

    /* for modc_python_quick */
    struct modc_python_call *next; /* NULL: there is none, or this one is forgotten */
    const struct modc_python_argument *arguments;
    struct modc_object *const *names; /* of the last of them */
    struct modc_object *
        *applied; /* arguments of autograd's apply: the address of this, tensors, trained parameters */
    struct modc_object *apply; /* NULL: nothing is kept for a backward */
    int argument_count, name_count, tensors, trained;
    bool writes, single;
};

/* A context of the model, and of which call it is. */
struct modc_python_context {
    struct modc_binding_frame frame;
    struct modc_python_context *next;
    struct modc_python_weights *weights;
    const struct modc_python_call *filled;     /* whose sizes and mode it has */
    const struct modc_python_adjoint *adjoint; /* that its arrays are for */
    struct modc_object **held;                 /* inputs as C reads them */
    struct modc_python_call *lent;             /* to a graph of autograd */
    struct modc_object *object;                /* what the package calls it */
    int64_t version, input_version;
    int status; /* that the last call ended with, for `fail` */
    bool saving;
};

/* Methods of builtin functions, METH_FASTCALL. forward: (ctx, address of the call, *tensors, *trained parameters); evaluate:
 * (address of the call, *tensors). Both give a tuple. backward: (ctx, *gradients). */
struct modc_object *modc_python_forward(struct modc_object *self, struct modc_object *const *arguments,
                                        intptr_t count);
struct modc_object *modc_python_evaluate(struct modc_object *self, struct modc_object *const *arguments,
                                         intptr_t count);
struct modc_object *modc_python_backward(struct modc_object *self, struct modc_object *const *arguments,
                                         intptr_t count);

/* Calls of one module, by which modc_python_quick finds what it is called with. */
struct modc_python_state {
    struct modc_object *object; /* whose method `run` takes all other calls */
    struct modc_python_call *first;
};
/* METH_FASTCALL | METH_KEYWORDS, with a tuple as self, whose first item is the address of a state: the user's forward. */
struct modc_object *modc_python_quick(struct modc_object *self, struct modc_object *const *arguments,
                                      intptr_t count, struct modc_object *names);

#ifdef __cplusplus
}
#endif
#endif
