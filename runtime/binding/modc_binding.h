/* modc_binding.h - a model as a shared library, for languages that call C but do not read headers (Python's ctypes).
 *
 * The library is the model, the runtime and modc_binding.c, compiled with -fPIC -DMODC_MODEL=NAME_model: the runtime's own
 * functions (modc_params_create, modc_load, modc_train, modc_register_forward_hook, ...) are called as modc.h declares them.
 * Here is what stands in tables: a description of them as JSON, and calls of the functions that they point to. All entries,
 * keys and states are given by their numbers in the description, and are not checked. */
#ifndef MODC_BINDING_H
#define MODC_BINDING_H

#include "modc.h"
#include "modc_generation.h"
#include "modc_optim.h"
#include "modc_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MODC_BINDING 6 /* counts changes of this file; the first function may be asked before all others */
int modc_binding_version(void);

const struct modc_model *modc_binding_model(void);

/* The tables as JSON in UTF-8. Returns the length without the 0 byte that ends it; writes what fits into capacity. */
size_t modc_binding_describe(char *out, size_t capacity);

/* Where tensor `key` lies; NULL where it lies only packed. */
void *modc_binding_key(const struct modc_params *params, int key);

/* modc_pack, if the parameters changed since it was called last. Not from two threads at a time with the same params. */
enum modc_status modc_binding_refresh(struct modc_params *params);

/* The backward of an entry's call, as modc_entry.backward. */
enum modc_status modc_binding_backward(struct modc_context *net, int entry, const int *sizes,
                                       const void *const *output_gradients, void *const *input_gradients);

/* What the spec requires of sizes and these do not meet, in its words; NULL: they meet all. */
const char *modc_binding_unmet(const int *sizes);

/* Writes the dimensions of output `index` of an entry, or of input -1 - index. */
void modc_binding_shape(int entry, const int *sizes, int index, int *dims);

/* What a context says of its last error: module (-1: none), index and value. */
void modc_binding_fault(const struct modc_context *net, int64_t fault[3]);

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
 * freed by modc_params_destroy. modc_binding_point: they lie there from now on, and were changed. */
enum modc_status modc_binding_params_over(void *const *tensors, struct modc_params **params);
void modc_binding_point(struct modc_params *params, void *const *tensors);
/* What a context needs for backward, without memory for gradients of parameters; freed by modc_training_destroy. */
enum modc_status modc_binding_lend_create(struct modc_context *net, struct modc_training **training);
/* Others wrote to parameters, or to buffers, or to both: counts that, and packs again. As modc_binding_refresh. */
enum modc_status modc_binding_renew(struct modc_params *params, bool parameters, bool buffers);

/* ---- training: libraries of models with `training:` are compiled with -DMODC_TRAINING=NAME_training,
 * -DMODC_OPTIMIZER_TABLE=NAME_optimizer_table and -DMODC_HEADER='"NAME.h"' too ---- */

/* The optimiser of a training that modc_training_create made; NULL: the model has none. Its groups, clipping, files and averages are
 * functions of modc_optim.h. */
struct modc_optimizer *modc_binding_optimizer(struct modc_training *training);
/* As modc_optimizer_init made it, with the same lambda. */
enum modc_status modc_binding_optimizer_reset(struct modc_optimizer *optimizer);
/* The norm that the last clip found, how often averages were taken, the last epoch of the schedule, the scale of the loss, whether the last
 * step was left out; the lr that a group starts from (NaN: none is kept). */
void modc_binding_optimizer_state(const struct modc_optimizer *optimizer, double state[5]);
double modc_binding_initial_lr(const struct modc_optimizer *optimizer, int group);
enum modc_status modc_binding_schedule_step(struct modc_optimizer *optimizer, double metric);
/* For LambdaLR and MultiplicativeLR: the schedule is at its start with this function. NULL: 1. */
void modc_binding_schedule_lambda(struct modc_optimizer *optimizer, modc_lr_lambda *lambda);

/* ---- generation: of models with `generation:`, else MODC_UNSUPPORTED. Sequences, steps and batches are functions of modc_generation.h,
 * options those of modc_sampling.h ---- */

/* A generator over a context, which is the generator's from now on, and outlives it. It has this machine's clock, for max_time. */
enum modc_status modc_binding_generator_create(struct modc_context *net, struct modc_generator **gen);
void modc_binding_generator_destroy(struct modc_generator *gen);
/* What was wrong with options, of the last call. */
const char *modc_binding_generator_message(const struct modc_generator *gen);

/* Options in memory of their own, at first those of the model's `defaults:`. Texts and lists of values are copied. The message is
 * modc_generation_set's. */
enum modc_status modc_binding_options_create(struct modc_generation_options **options);
enum modc_status modc_binding_options_set(struct modc_generation_options *options, const char *name,
                                          const char *value, char *message, size_t room);
void modc_binding_options_destroy(struct modc_generation_options *options);
/* num_return_sequences, num_beams, skip_special_tokens, include_stop_str_in_output, pad_token_id, the first eos_token_id (-1: none). */
void modc_binding_options_about(const struct modc_generation_options *options, int64_t about[6]);

/* modc_generator_write, with memory for beams; prompts have offsets. */
enum modc_status modc_binding_write(struct modc_generator *gen, const struct modc_prompts *prompts,
                                    const struct modc_generation_options *options, struct modc_responses *out,
                                    modc_listener *listener, void *user);
/* A queue over a generator, with a worker of its own; modc_queue.h has its settings, and functions over what modc_binding_queue_of gives:
 * wait, cancel, flush, get_state. */
struct modc_binding_queue;
enum modc_status modc_binding_queue_create(struct modc_generator *gen,
                                           const struct modc_queue_settings *settings, char *message,
                                           size_t room, struct modc_binding_queue **queue);
struct modc_queue *modc_binding_queue_of(struct modc_binding_queue *queue);
/* As modc_queue_submit, with options, and without a listener: what the item does is news, under the caller's id. *ticket: also told by
 * its news, which may come first. */
enum modc_status modc_binding_queue_submit(struct modc_binding_queue *queue,
                                           const struct modc_queue_item *item, uint64_t id, bool streams,
                                           double timeout, uint64_t *ticket, char *message, size_t room);

/* An event, of which items that stream have each, others the last alone. ended: it is the item's last, whose ticket can be waited for.
 * Until the next one is taken. */
struct modc_binding_news {
    uint64_t id, ticket;
    int row; /* -1: the queue is closed, and all news were taken */
    enum modc_finish finish;
    enum modc_status status;
    int64_t token;
    float log_prob;
    int bytes;
    const char *text;
    bool ended;
};

/* The next one, for which it waits: of one thread. */
void modc_binding_queue_next(struct modc_binding_queue *queue, struct modc_binding_news *news);

/* As modc_queue_shutdown. */
void modc_binding_queue_close(struct modc_binding_queue *queue, bool finish);
/* Behind close; nobody takes news any more. */
void modc_binding_queue_destroy(struct modc_binding_queue *queue);

/* With the model's tokenizer, as modc_encode and modc_decode. spans may be NULL. */
enum modc_status modc_binding_encode(const char *text, size_t bytes, unsigned flags, int64_t *ids,
                                     struct modc_span *spans, int room, int *count);
enum modc_status modc_binding_decode(const int64_t *ids, int count, unsigned flags, char *out, size_t room,
                                     size_t *bytes);
/* With the model's template, as NAME_chat; chat's workspace is made here. message: what the template refuses with MODC_ARGUMENT. */
enum modc_status modc_binding_chat(const struct modc_turn *turns, int count, struct modc_chat *chat,
                                   char *out, size_t room, size_t *bytes, char *message, size_t message_room);

/* All that a call takes, and a backward of tensors of others, in one argument: some languages take long for each. The arrays are
 * as those of modc_entry.call and modc_entry.backward. gradients: where backward writes those of parameters, in the order of the
 * description; NULL: not wanted, and behind it NULL where there is none. absent: how many of those that were wanted there are
 * none of. */
struct modc_binding_frame {
    struct modc_context *net;
    const int *sizes;
    const void **inputs;
    void **outputs;
    const void **output_gradients;
    void **input_gradients;
    void **gradients;
    int entry, absent;
};
enum modc_status modc_binding_run(const struct modc_binding_frame *frame);
enum modc_status modc_binding_run_backward(struct modc_binding_frame *frame);

#ifdef __cplusplus
}
#endif
#endif
