/* spec_reader.h - what the files that read a spec share: the reader, and values that stand behind many keys. Private to the
 * spec room.
 *
 * Every fault is said at its place and reading goes on behind it. What is wrong is left out or EXPR_BAD. */
#ifndef MODC_SPEC_READER_H
#define MODC_SPEC_READER_H

#include "base/names.h"
#include "spec/spec.h"
#include "spec/spec_yaml.h"

struct reader {
    struct cx *cx;
    struct spec *spec;
    bool complete; /* what is missing is really missing */
    bool has_version, has_model, has_inputs;
    bool inputs_good; /* all were understood: a size that none uses is unused */
    struct loc modules_loc, inputs_loc;
    struct names attributes;     /* of the root, in C: its modules and tensors */
    struct names values;         /* constants and sizes */
    struct names arguments;      /* in C: sizes and inputs */
    struct spec_patterns *texts; /* that are read */
};

/* ---- spec_names.c: what may be a name ---- */

bool spec_is_identifier(const char *name);
bool spec_check_identifier(struct reader *r, const char *name, struct loc loc);
/* Adds `name` to names that must differ. */
bool spec_check_unique(struct reader *r, struct names *names, const char *name, struct loc loc);
/* Adds `name` to names that must differ in C, where some of them are in upper case. False where the very name is
 * taken; names that only collide in C are said too, and both can be read on. */
bool spec_check_unique_in_c(struct reader *r, struct names *names, const char *name, struct loc loc);

/* ---- spec_values.c: values of one kind ---- */

/* `what` was expected at the key, something else was found. Says nothing about what is bad already. */
void spec_wrong_kind(struct reader *r, const struct node *key, const struct node *node, const char *what);
bool spec_is_mapping(struct reader *r, const struct node *key, const struct node *node, const char *what);
struct expr *spec_bad_expr(struct reader *r, const struct node *node);
/* An expression; lists in lines become LIST as lists in brackets do. */
struct expr *spec_read_expr(struct reader *r, const struct node *key, const struct node *node);
struct stmt **spec_read_statements(struct reader *r, const struct node *key, const struct node *node,
                                   int *count);
struct expr *spec_read_shape(struct reader *r, const struct node *key, const struct node *node);
/* Text of a scalar; NULL (said) for anything else. */
const char *spec_read_text(struct reader *r, const struct node *key, const struct node *node,
                           const char *what);
bool spec_read_bool(struct reader *r, const struct node *key, const struct node *node, bool otherwise);
/* A scalar, or a list of scalars: calls `add` for each. */
void spec_read_one_or_many(struct reader *r, const struct node *key, const struct node *node,
                           const char *what, void (*add)(struct reader *r, const char *text, struct loc loc));
/* The same into a list of texts with their places. */
void spec_read_texts(struct reader *r, const struct node *key, const struct node *node, const char *what,
                     struct spec_patterns *texts);
void spec_read_patterns(struct reader *r, const struct node *key, const struct node *node,
                        struct spec_patterns *patterns);
/* Says that `what` has no such key; `where` is one of the bits in spec.h. Returns what was meant, or "" where nothing is near. */
const char *spec_unknown_key(struct reader *r, const struct node *key, const char *what, unsigned where);

/* ---- spec_types.c: dtypes and devices ---- */

bool spec_is_dtype(const char *text);
/* PyTorch's own name of a dtype, or NULL after an error. */
const char *spec_read_dtype(struct reader *r, const char *text, struct loc loc, bool model);
/* The dtype of an input or tensor as a NAME. */
struct expr *spec_read_dtype_expr(struct reader *r, const struct node *key, const struct node *node);

/* ---- the keys of a spec, each with its value; spec_keys.c says which there are ---- */

typedef void spec_key_reader(struct reader *r, const struct node *key, const struct node *node);

/* Reads one key of the spec, whichever it is. */
spec_key_reader spec_read_key;

/* spec_types.c, spec_settings.c: what is one value */
spec_key_reader spec_read_dtypes, spec_read_devices;
spec_key_reader spec_read_version, spec_read_model, spec_read_freeze, spec_read_eval, spec_read_tie,
    spec_read_hooks, spec_read_pack, spec_read_winograd, spec_read_backward, spec_read_denormals,
    spec_read_activations, spec_read_ranges, spec_read_autocast, spec_read_state_dict, spec_read_storage,
    spec_read_threads, spec_read_checkpoint, spec_read_update, spec_read_tokenizer, spec_read_template;

/* spec_tensors.c: what has a name, a shape or a value */
spec_key_reader spec_read_constants, spec_read_sizes, spec_read_inputs;
/* The same of a class, whose attributes differ. */
void spec_read_class_constants(struct reader *r, struct spec_class *owner, struct names *names,
                               const struct node *key, const struct node *node);
struct spec_input spec_read_input(struct reader *r, const struct node *key, const struct node *node);
/* Reads `parameters:`, `buffers:` or `state:` of a class; false where the key is none of them. `names`: what theirs must
 * differ from. */
bool spec_read_tensor_section(struct reader *r, struct spec_class *owner, struct names *names,
                              const struct node *key, const struct node *node);

/* spec_modules.c: trees of modules, and what changes one that is there */
/* The value of `modules:`; its names are attributes of the class beside its tensors. */
void spec_read_class_modules(struct reader *r, struct spec_class *owner, struct names *names,
                             const struct node *key, const struct node *node);
spec_key_reader spec_read_set, spec_read_add;

/* spec_functions.c: what has a signature */
bool spec_is_forward(const struct node *key);
spec_key_reader spec_read_functions, spec_read_methods, spec_read_classes, spec_read_forward,
    spec_read_entries;

/* spec_training.c, spec_rollout.c, spec_generation.c */
spec_key_reader spec_read_training, spec_read_rollout, spec_read_generation;
/* When all is read: the inputs and the size that a model of rows has beside those of the text. */
void spec_finish_generation(struct reader *r);
spec_key_reader spec_read_grammars; /* spec_grammar.c */

#endif
