/* spec.h - the first room: YAML text to struct spec. Nothing right of here knows libyaml.
 *
 * spec_read checks what can be checked without knowing layers: keys, their kinds, duplicates, statements' and
 * expressions' syntax, C names. What expressions mean is the business of the evaluator, of module.c and of lowering. */
#ifndef MODC_SPEC_H
#define MODC_SPEC_H

#include "base/diag.h"
#include "base/emitted.h"
#include "base/text.h"
#include "spec/expr.h"

struct tokenizer; /* tokenizer/tokenizer.h */
struct chat;      /* template/chat.h */
struct modc_grammar;

struct spec_const { /* constants: name: expression */
    const char *name;
    struct loc loc;
    struct expr *value;
};

struct spec_size { /* sizes: name: maximum (an expression over constants) */
    const char *name;
    struct loc loc;
    struct expr *max;
};

struct spec_requirement { /* sizes: require: left <= right, or with another sign */
    struct loc loc;
    enum expr_op op; /* OP_LT to OP_GE */
    const struct expr *left, *right;
};

struct spec_input { /* inputs: name: [dims] or {shape, dtype} */
    const char *name;
    struct loc loc;
    struct expr *shape; /* LIST or TUPLE */
    struct expr *dtype; /* NAME, or NULL: the model's. Its text is PyTorch's own name: int64, not long */
    bool constant;      /* requires_grad: false */
};

/* A place where a module is written: a call (or REPEAT, FOR: only inside lists), a list, or a mapping. What is written
 * `blocks: 12 x Block(4)` is a list that holds the one REPEAT. */
enum spec_module_kind { SPEC_MODULE_CALL, SPEC_MODULE_LIST, SPEC_MODULE_MAP };

struct spec_module {
    enum spec_module_kind kind;
    const char *name; /* key in a mapping; NULL in a list */
    struct loc loc;
    struct loc text_loc; /* CALL: the text as the user wrote it, which emitted comments quote */
    const char *text;    /* CALL: the same on one line, without YAML's quotes and without comments */
    struct expr *call;
    struct spec_module **children;
    int count;
    bool sequential; /* MAP: a Sequential whose children have names, by `class: Sequential` */
};

/* Called, it threads its input through the children: a list, or a mapping that is a Sequential. `modules` may be NULL. */
bool spec_is_sequential(const struct spec_module *modules);

enum spec_tensor_kind { SPEC_PARAMETER, SPEC_BUFFER, SPEC_STATE };

struct spec_tensor { /* parameters:, buffers:, state: */
    enum spec_tensor_kind kind;
    const char *name;
    struct loc loc;
    struct expr *shape; /* of a value: what it must have, or NULL; BAD where the tensor was not understood */
    struct expr *init;  /* CALL or NAME; NULL: zeros */
    struct expr *value;
    struct expr *dtype; /* NULL: the model's */
    bool persistent;    /* default true */
    bool requires_grad; /* default true for parameters */
};

struct spec_function {              /* functions, forward, entries */
    const struct spec_class *class; /* that it was written in; NULL: none */
    enum def_kind kind;
    const char *name;
    struct loc loc;
    struct signature_arg *args;
    int arg_count;
    bool has_args; /* false: the model's `forward:`, which takes the inputs by name */
    struct stmt **statements;
    int count;
    struct spec_size *max; /* entries: lowered maxima; name and expression */
    int max_count;
};

struct spec_class {
    const char *name;
    struct loc loc;
    struct signature_arg *args;
    int arg_count;
    struct spec_module *modules;  /* LIST or MAP, or NULL: none */
    struct spec_tensor **tensors; /* in the order of the text */
    int tensor_count;
    int tensors_first;            /* how many of them stand before the modules */
    struct spec_const *constants; /* of a class; those of the model are the spec's */
    int constant_count;
    struct spec_function
        *forward; /* NULL: a list of modules, called in turn; or what it holds is used by others */
    bool faulty;  /* some of it could not be read, which was said */
    struct spec_function *
        *methods; /* further ones, called as self.NAME(...); those of its base behind its own */
    int method_count;
    struct spec_function *init;    /* __init__, whose arguments are those of the class; NULL: none */
    const struct spec_class *base; /* a class of the spec, or NULL */
    bool plain;                    /* no module: what it makes has attributes alone */
    const char *container; /* "Sequential" and the like: the base of torch.nn that holds modules; or NULL */
    const struct expr *base_expr; /* while classes are read */
    const char *extra_repr;       /* as in a formatted string of Python, with {expression}; NULL: none */
    struct loc extra_repr_loc;
};

enum spec_change_kind { SPEC_SET, SPEC_ADD };

struct spec_change { /* set: and add: */
    enum spec_change_kind kind;
    const char *path; /* "blocks.3.norm1"; never the root's */
    struct loc loc;
    struct spec_module *module;
};

struct spec_tie { /* tie: {path: source}: keys of parameters; the first shares the tensor of the second */
    const char *path, *source;
    struct loc loc, source_loc;
};

/* Over paths of parameters or modules; of a rollout these themselves, and keys of records. */
struct spec_patterns {
    const char **list;
    struct loc *locs;
    int count;
};

struct storage;

/* As what weights are packed: those of products, or the parameters that a pattern names. */
struct spec_storage {
    const char *pattern;        /* NULL: all that no pattern names */
    const char *dtype;          /* "float32" */
    const struct storage *kind; /* base/storage.h; NULL: as the dtype is computed with */
    struct loc loc, value_loc;
};

struct spec_group { /* one of groups: parameters with values of their own */
    struct loc loc;
    struct spec_patterns params;
    const char **names; /* arguments of the optimiser */
    struct loc *locs;
    struct expr **values;
    int count;
};

struct spec_training {
    struct loc loc;
    struct spec_input *inputs; /* what only the loss needs */
    int input_count;
    struct stmt **loss; /* statements, or */
    int loss_count;
    /* the short form, a CALL: the loss takes the model's output and an input `target` */
    struct expr *criterion;
    struct loc loss_loc;
    struct expr *optimizer, *clip, *scheduler, *ema, *master, *scaler; /* NULL: none */
    struct spec_group *groups;
    int group_count;
};

struct spec_record { /* rollout: what is recorded of each step */
    const char *key; /* "next.observation" */
    struct loc loc;
    struct expr *shape; /* LIST or TUPLE */
    struct expr *dtype; /* NULL: bool where rollout.h says so, else the model's */
};

struct spec_rollout {
    struct loc loc;
    struct spec_record *records; /* in the order of the text */
    int record_count;
    /* At most one of multi_step (the path of a module), done and mask. None: the only MultiStep, next.reward, next.done,
     * collector.mask where it is recorded. */
    struct spec_patterns multi_step, rewards, done, mask, info;
};

/* Its settings by their names, which are no records. */
struct spec_rollout_setting {
    const char *name; /* NULL behind the last */
    size_t at;        /* of its struct spec_patterns */
    bool one;         /* it takes one key, not a list */
};
extern const struct spec_rollout_setting spec_rollout_settings[];
const struct spec_patterns *spec_rollout_keys(const struct spec_rollout *rollout,
                                              const struct spec_rollout_setting *setting);

/* generation: a text generator. Beside what it says, the spec has inputs of its rows then: spec_generation.c. */
struct spec_option { /* generation: defaults: name: value */
    const char *name;
    struct loc loc;
    struct expr *value;
};

/* generation: grammars: name: regex, or {regex: text}, or {schema: file, depth: number} */
struct spec_grammar {
    const char *name;
    struct loc loc;
    const char *regex, *schema; /* one of both is NULL; a path beside the file of its place */
    struct loc text_loc;
    int depth;                   /* of a schema; 0: nothing is said */
    const struct source *source; /* of a regex, where it stands as it is; or NULL */
    size_t offset;
    struct modc_grammar *table; /* what became of it: spec_make_grammars */
};

struct spec_generation {
    struct loc loc;
    struct expr *context, *sequences, *page; /* never NULL in a whole spec */
    struct expr *eos, *pad;                  /* NULL: the tokenizer's, or none */
    struct expr *start; /* the id that stands in front of what a decoder writes; NULL: pad */
    bool invariant;
    const char *cache;   /* dtype in which keys and values are kept; NULL: the model's */
    const char *encoder; /* the entry that reads a source; NULL: none */
    struct loc encoder_loc;
    struct spec_option *defaults;
    int default_count;
    struct spec_grammar *grammars;
    int grammar_count;
    int first_input, first_size; /* those of its own */
};

enum spec_toggle { SPEC_DEFAULT, SPEC_OFF, SPEC_ON };

struct spec {
    const struct source *source;
    const struct source **sources; /* this one and all that it extends, one through the other */
    int source_count;
    const char *model; /* "model" where that failed */
    struct loc model_loc;
    const char **dtypes; /* at least one: float32 where none is given */
    struct loc *dtype_locs;
    int dtype_count;
    const char **devices;
    struct loc *device_locs;
    int device_count;
    struct spec_const *constants;
    int constant_count;
    struct spec_size *sizes;
    int size_count;
    struct spec_requirement *requirements; /* of sizes */
    int requirement_count;
    struct spec_input *inputs;
    int input_count;
    struct spec_class **classes;
    int class_count;
    struct spec_function **functions;
    int function_count;
    struct spec_class root;         /* the model itself: modules, tensors, forward */
    struct spec_function **entries; /* without forward */
    int entry_count;
    struct spec_change *changes; /* in the order in which they apply */
    int change_count;
    struct spec_tie *ties;
    int tie_count;
    struct spec_patterns freeze, eval;
    enum spec_toggle hooks, pack, state_dict, winograd;
    bool packs_once, embeds, dsp, small; /* no keys: what is built decides it */
    bool flushes;                        /* denormals: flush */
    const char *autocast;                /* bfloat16 or float16; NULL: none */
    struct loc autocast_loc;
    bool backward;                      /* gradients are wanted */
    struct loc backward_loc;            /* of `backward: true` */
    struct spec_training *training;     /* NULL: none */
    struct spec_rollout *rollout;       /* NULL: none */
    struct spec_generation *generation; /* NULL: none */
    const char *tokenizer; /* the path of a tokenizer.json, beside the file of its place; NULL: none */
    struct loc tokenizer_loc;
    const struct tokenizer *tokens; /* what was read there; main.c's */
    const char *template;           /* the same of a chat template */
    struct loc template_loc;
    const struct chat *chat;
    struct spec_patterns checkpoint;
    bool fused; /* update: fused */
    struct loc update_loc;
    struct spec_storage *storages; /* as what weights are packed; none: as the model computes */
    int storage_count;
    bool dynamic;    /* activations: int8 */
    bool calibrated; /* activations: calibrated, with `ranges` */
    struct loc activations_loc;
    const char *ranges; /* the path of a safetensors file, beside the file of its place; NULL: none */
    struct loc ranges_loc;
    int threads; /* default 1 */
    struct loc threads_loc;

    /* Parts could not be read, which was said. A name that is not known may be one of theirs. */
    bool partial;
};

#define SPEC_MAX_BYTES ((size_t)16 << 20)
#define SPEC_MAX_NESTING 64

/* Reads and checks a spec file and those that it extends. Never NULL; after faults (said through diag) what was readable is there. */
struct spec *spec_read(struct cx *cx, const struct source *source);

/* Makes automata of its grammars, for the tokenizer that was read. */
void spec_make_grammars(struct cx *cx, struct spec *spec);

/* Whether a model can be called so; else why not is said. */
bool spec_check_model_name(struct cx *cx, const char *name, struct loc loc);

void spec_dump(struct text *text, const struct spec *spec, bool json);

/* ---- the keys, for the schema and the language reference ---------------------------------------------------- */

/* Where a key may stand; bits. */
enum {
    SPEC_IN_MODEL = 1,
    SPEC_IN_CLASS = 2,
    SPEC_IN_INPUT = 4,
    SPEC_IN_PARAMETER = 8,
    SPEC_IN_BUFFER = 16,
    SPEC_IN_STATE = 32,
    SPEC_IN_ENTRY = 64,
    SPEC_IN_TRAINING = 128,
    SPEC_IN_GROUP = 256,   /* beside the arguments of the optimiser */
    SPEC_IN_ROLLOUT = 512, /* beside the records */
    SPEC_IN_RECORD = 1024,
    SPEC_IN_GENERATION = 2048,
    SPEC_IN_GRAMMAR = 4096,
    SPEC_IN_TENSOR = SPEC_IN_PARAMETER | SPEC_IN_BUFFER | SPEC_IN_STATE
};

/* What stands behind a key. */
enum spec_value {
    SPEC_VALUE_VERSION,
    SPEC_VALUE_NAME,
    SPEC_VALUE_DTYPES,     /* that a model computes in: one or a list */
    SPEC_VALUE_DEVICES,    /* one or a list */
    SPEC_VALUE_CONSTANTS,  /* name: expression */
    SPEC_VALUE_SIZES,      /* name: maximum; require: what calls meet */
    SPEC_VALUE_MAXIMA,     /* name: maximum */
    SPEC_VALUE_INPUTS,     /* name: shape, or keys of SPEC_IN_INPUT */
    SPEC_VALUE_FUNCTIONS,  /* signature: statements; or a text of `def`s */
    SPEC_VALUE_CLASSES,    /* signature: keys of SPEC_IN_CLASS */
    SPEC_VALUE_MODULES,    /* a list of modules, or name: module */
    SPEC_VALUE_PARAMETERS, /* name: keys of SPEC_IN_PARAMETER; these three in the order of the bits */
    SPEC_VALUE_BUFFERS,
    SPEC_VALUE_STATES,
    SPEC_VALUE_STATEMENTS,
    SPEC_VALUE_ENTRIES,     /* signature: statements, or keys of SPEC_IN_ENTRY */
    SPEC_VALUE_PATTERNS,    /* one or a list */
    SPEC_VALUE_REPLACED,    /* path: module */
    SPEC_VALUE_TIES,        /* path: path */
    SPEC_VALUE_TOGGLE,      /* none, on */
    SPEC_VALUE_SWITCH,      /* off, on */
    SPEC_VALUE_DENORMALS,   /* keep, flush */
    SPEC_VALUE_ACTIVATIONS, /* int8, calibrated, none */
    SPEC_VALUE_WHOLE,       /* an integer from 1 */
    SPEC_VALUE_TEXT,
    SPEC_VALUE_SHAPE, /* a list of dimensions */
    SPEC_VALUE_DTYPE,
    SPEC_VALUE_STORAGE, /* as what weights are packed, or path: the same */
    SPEC_VALUE_CACHE,   /* one that keys and values are kept in */
    SPEC_VALUE_INIT,    /* of torch.nn.init, without its tensor */
    SPEC_VALUE_EXPRESSION,
    SPEC_VALUE_BOOL,
    SPEC_VALUE_TRAINING, /* keys of SPEC_IN_TRAINING */
    SPEC_VALUE_LOSS,     /* statements, or a call of a loss */
    SPEC_VALUE_GROUPS,   /* a list of mappings with keys of SPEC_IN_GROUP */
    SPEC_VALUE_ROLLOUT, /* keys of SPEC_IN_ROLLOUT, and records: key: shape, keys of SPEC_IN_RECORD, or more records */
    SPEC_VALUE_KEY,        /* of a record */
    SPEC_VALUE_KEYS,       /* one or a list */
    SPEC_VALUE_INFO,       /* the same of gather_index, done_at_gather_index, terminated_at_gather_index */
    SPEC_VALUE_GENERATION, /* keys of SPEC_IN_GENERATION */
    SPEC_VALUE_IDS,        /* an integer or a list of them */
    SPEC_VALUE_OPTIONS,    /* name: value */
    SPEC_VALUE_GRAMMARS,   /* name: regular expression, or keys of SPEC_IN_GRAMMAR */
    SPEC_VALUE_UPDATE,     /* separate, fused */
    SPEC_VALUE_OPTIMIZER,  /* calls */
    SPEC_VALUE_CLIP,
    SPEC_VALUE_SCHEDULER,
    SPEC_VALUE_SCALER,
    SPEC_VALUE_AUTOCAST, /* bfloat16, float16 */
    SPEC_VALUE_MASTER,   /* float32 */
    SPEC_VALUE_LATER     /* not supported yet by this version */
};

struct spec_key {
    unsigned where;
    const char *name;
    enum spec_value value;
    const char *doc;     /* one line, without a full stop */
    const char *example; /* of the value, on one line of YAML */
};

/* In the order in which one reads about them; NULL behind the last. `forward` stands for itself with arguments too. */
const struct spec_key *spec_key(int index);

/* The dtypes that a model computes in, or (false) that a tensor may have, with PyTorch's aliases. */
const char *const *spec_dtypes(struct cx *cx, bool model, int *count);

/* A model has a variant for each of its dtypes on each of its devices; the first device has the first numbers. */
static inline int spec_variants(const struct spec *spec)
{
    return spec->dtype_count * spec->device_count;
}

static inline const char *spec_variant_dtype(const struct spec *spec, int variant)
{
    return spec->dtypes[variant % spec->dtype_count];
}

static inline const char *spec_variant_device(const struct spec *spec, int variant)
{
    return spec->devices[variant / spec->dtype_count];
}

/* A device as the spec keeps it, "cuda" of cuda:0; NULL: it is none, which was said at the place. */
const char *spec_device(struct cx *cx, const char *text, struct loc loc);

/* The devices that a model may be made for. */
const char *const *spec_devices(int *count);

#endif
