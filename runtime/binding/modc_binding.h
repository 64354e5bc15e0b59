/* modc_binding.h - a model as a shared library, for languages that call C but do not read headers (Python's ctypes).
 *
 * The library is the model, the runtime and modc_binding.c, compiled with -fPIC -DMODC_MODEL=NAME_model: the runtime's own
 * functions (modc_params_create, modc_load, modc_train, modc_register_forward_hook, ...) are called as modc.h declares them.
 * Here is what stands in tables: a description of them as JSON, and calls of the functions that they point to. All entries,
 * keys and states are given by their numbers in the description, and are not checked. */
#ifndef MODC_BINDING_H
#define MODC_BINDING_H

#include "modc.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MODC_BINDING 3 /* counts changes of this file; the first function may be asked before all others */
int modc_binding_version(void);

const struct modc_model *modc_binding_model(void);

/* The tables as JSON in UTF-8. Returns the length without the 0 byte that ends it; writes what fits into capacity. */
size_t modc_binding_describe(char *out, size_t capacity);

/* Where tensor `key` lies; NULL where it lies only packed. */
void *modc_binding_key(const struct modc_params *params, int key);

/* modc_pack, if the parameters changed since it was called last. Not from two threads at a time with the same params. */
enum modc_status modc_binding_refresh(struct modc_params *params);

/* One call of an entry, and its backward: as modc_entry.call and modc_entry.backward. */
enum modc_status modc_binding_call(struct modc_context *net, int entry, const int *sizes,
                                   const void *const *inputs, void *const *outputs);
enum modc_status modc_binding_backward(struct modc_context *net, int entry, const int *sizes,
                                       const void *const *output_gradients, void *const *input_gradients);

/* What the spec requires of sizes and these do not meet, in its words; NULL: they meet all. */
const char *modc_binding_unmet(const int *sizes);

/* Writes the dimensions of output `index` of an entry, or of input -1 - index. */
void modc_binding_shape(int entry, const int *sizes, int index, int *dims);

/* What a context says of its last error: module (-1: none), index and value. */
void modc_binding_fault(const struct modc_context *net, int64_t fault[3]);
/* The version that every write of the parameters counts. */
uint64_t modc_binding_version_of(const struct modc_params *params);

/* One step of a model with `training:`, as modc_model.train_step. */
enum modc_status modc_binding_train_step(struct modc_training *training, const int *sizes,
                                         const void *const *inputs, void *loss);
/* A hook in memory of its own, registered: `call` is a function of the caller's language. flags as modc.h has them. */
enum modc_status modc_binding_hook_create(struct modc_context *net, int module, enum modc_hook_kind kind,
                                          unsigned flags,
                                          enum modc_status (*call)(struct modc_hook_call *call), void *user,
                                          struct modc_hook **hook);
void modc_binding_hook_destroy(struct modc_hook *hook);

/* Text of print(model) and of what a load reports: the length without the 0 byte, as modc_binding_describe. */
size_t modc_binding_print(char *out, size_t capacity);

/* modc_params_create_over of this model; where its weights are embedded, bound to those and read-only. */
enum modc_status modc_binding_params_create(void *block, size_t bytes, struct modc_params **params);
bool modc_binding_read_only(const struct modc_params *params);
/* modc_load or modc_load_bytes (path NULL) with a report of its own, which is to be destroyed; NULL where there is no memory. */
enum modc_status modc_binding_load(struct modc_params *params, const char *path, const void *bytes,
                                   size_t length, unsigned flags, struct modc_report **report);
/* What it found: {"missing": [numbers of keys], "unexpected": [names]}, and PyTorch's text. */
size_t modc_binding_report(const struct modc_report *report, char *out, size_t capacity);
size_t modc_binding_report_print(const struct modc_report *report, char *out, size_t capacity);
void modc_binding_report_destroy(struct modc_report *report);

/* Tensors that lie where the caller has them, as those of another library's model: nothing is copied.
 *
 * Parameters over `tensors`, one for each key, at multiples of their element; what they hold is kept, buffers too. They are
 * freed by modc_params_destroy. modc_binding_point: they lie there from now on, and were changed. modc_binding_wrote_buffers:
 * somebody else wrote to buffers, which is no change for a backward to come. */
enum modc_status modc_binding_params_over(void *const *tensors, struct modc_params **params);
void modc_binding_point(struct modc_params *params, void *const *tensors);
void modc_binding_wrote_buffers(struct modc_params *params);
/* What a context needs for backward, without memory for gradients of parameters; freed by modc_training_destroy. */
enum modc_status modc_binding_lend_create(struct modc_context *net, struct modc_training **training);
/* Backward that writes gradients of parameters to `gradients`, in the order of the description; NULL: not wanted. Those that
 * there are none of are NULL then. */
enum modc_status modc_binding_backward_to(struct modc_context *net, int entry, const int *sizes,
                                          const void *const *output_gradients, void *const *input_gradients,
                                          void **gradients);

#ifdef __cplusplus
}
#endif
#endif
