/* modc.h - all that an emitted header needs: status codes, table types, the objects' common heads, hooks.
 *
 * The core (this header, modc_state.c, modc_hook.c) allocates nothing, prints nothing and keeps no globals.
 * What needs an operating system is in modc_host.c. */
#ifndef MODC_H
#define MODC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "modc_scales.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MODC_ABI 5
#define MODC_MAX_DIMS 8

/* Limits of what a report and a hook step hold without allocating. Whoever changes one defines it for every
 * file that includes this header. */
#if defined __ARM_ARCH_PROFILE && __ARM_ARCH_PROFILE == 'M'
#define MODC_SMALL 1
#else
#define MODC_SMALL 0
#endif
#ifndef MODC_REPORT_KEYS
#define MODC_REPORT_KEYS (MODC_SMALL ? 256 : 8192) /* keys that a report has a bit for; a multiple of 8 */
#endif
#ifndef MODC_REPORT_TEXT
#define MODC_REPORT_TEXT (MODC_SMALL ? 256 : 8192) /* bytes for the names of unexpected keys */
#endif
#ifndef MODC_MAX_HOOKS
#define MODC_MAX_HOOKS (MODC_SMALL ? 8 : 32) /* of one kind on one module of a context, or in one set */
#endif

#define MODC_OWNER_BYTES 8 /* at the end of a packed block: whose it is */
/* For emitted code: the length of an array, which is negative where the block has no room for both. */
#define MODC_PACKED_FITS(packed, bytes) (sizeof(packed) + MODC_OWNER_BYTES <= (bytes) ? 1 : -1)

/* Every block that the caller places (parameters, packed, workspace) starts at a multiple of this. */
#ifndef MODC_ALIGN
#if defined __ARM_ARCH_PROFILE && __ARM_ARCH_PROFILE == 'M'
#define MODC_ALIGN 8
#else
#define MODC_ALIGN 64
#endif
#endif

/* Before the type, where every compiler takes it: static MODC_ALIGNED char block[4096]; */
#if defined __GNUC__
#define MODC_ALIGNED __attribute__((aligned(MODC_ALIGN)))
#elif defined _MSC_VER
#define MODC_ALIGNED __declspec(align(MODC_ALIGN))
#else
#define MODC_ALIGNED
#endif

/* For emitted code: a constant, which NAN is not in newer headers of Microsoft's. Behind math.h. */
#if defined _MSC_VER
#define MODC_NAN (-(float)(INFINITY * 0.0f))
#else
#define MODC_NAN NAN
#endif

/* Tensors that the caller passes start at a multiple of their element: of its bytes, or for 8 bytes of this. */
struct modc_wide {
    char first;
    double second;
};
#define MODC_ALIGN_WIDE offsetof(struct modc_wide, second)

enum modc_status {
    MODC_OK,
    MODC_STALE,     /* parameters were not packed, changed since, or others were packed there: policy_pack */
    MODC_ALIGNMENT, /* a block does not start at a multiple of MODC_ALIGN, or a tensor at one of its element */
    MODC_WORKSPACE,  /* the block is smaller than the call needs */
    MODC_SIZE,       /* a size is negative or over its maximum, or sizes disagree */
    MODC_POINTER,    /* a needed pointer is NULL; or, of a model on a GPU, one of the host */
    MODC_HOOK_SHAPE, /* a hook changed the dtype or shape of a value */
    MODC_HOOK_ERROR, /* a hook, or the body of an Extern, returned an error of its own */
    MODC_INDEX,      /* an index is out of range */
    MODC_DIVISION,   /* integer division by zero */
    MODC_FILE,       /* a file cannot be read or written */
    MODC_FORMAT,     /* the bytes are not a safetensors file */
    MODC_KEYS,       /* keys are missing, unexpected, or of the wrong shape or dtype: see the report */
    MODC_NAME,       /* no such module, parameter, buffer or entry */
    MODC_READ_ONLY,  /* the tensors lie in read-only memory */
    MODC_MEMORY,     /* hosted builds: no memory */
    MODC_ARGUMENT,   /* an argument has a value that is not allowed */
    MODC_CONSUMED, /* backward: there was no forward that keeps for it, or another call or backward came after */
    MODC_NONFINITE,   /* a gradient is NaN or infinite */
    MODC_UNSUPPORTED, /* left out of this build, e.g. hooks: none; or not in this machine: modc_set_isa */
    MODC_BUSY,  /* a hook calls with the context whose call it runs in: it needs one of its own; or a stream
                         is not at its end; or what is waited for has not come */
    MODC_GPU,   /* a call of the GPU's runtime failed, or it did not start a kernel: modc_device_failed */
    MODC_FULL,  /* no sequence, or no page of the cache, is free; or no place in a queue */
    MODC_CLOSED /* the queue was shut down */
};

const char *modc_status_text(enum modc_status status);

enum modc_dtype {
    MODC_BOOL,
    MODC_UINT8,
    MODC_INT8,
    MODC_INT16,
    MODC_INT32,
    MODC_INT64,
    MODC_FLOAT16,
    MODC_BFLOAT16,
    MODC_FLOAT32,
    MODC_FLOAT64,
    MODC_COMPLEX64, /* two float, two double: the real and the imaginary part, as C99's float complex and C++'s std::complex<float> */
    MODC_COMPLEX128
};
#define MODC_WIDEST 16 /* bytes of an element of complex128 */
size_t modc_dtype_bytes(enum modc_dtype dtype);
/* The type of the parts of a complex one, which are twice as many; else the type itself. */
enum modc_dtype modc_dtype_part(enum modc_dtype dtype);

/* Elements of float16 and bfloat16, as their bits. */
#ifndef MODC_HALVES
#define MODC_HALVES
typedef uint16_t modc_half;
typedef uint16_t modc_bfloat16;
#endif

/* A tensor, dense and row-major (the last dimension is contiguous). */
struct modc_tensor {
    void *data;
    enum modc_dtype dtype;
    int ndim;
    int dims[MODC_MAX_DIMS];
};

/* ---- tables: constant, emitted once for each model --------------------------------------------------- */

/* PERSISTENT is implied for parameters. OPTIONAL: a strict load does without it (num_batches_tracked). */
enum { MODC_KEY_PARAMETER = 1, MODC_KEY_PERSISTENT = 2, MODC_KEY_OPTIONAL = 4, MODC_KEY_FROZEN = 8 };

enum modc_init_kind {
    MODC_INIT_CONSTANT, /* every element a */
    MODC_INIT_UNIFORM,  /* uniform_(a, b) of module-semantics 5.1a */
    MODC_INIT_NORMAL,   /* normal_(mean a, std b) */
    MODC_INIT_VALUE,    /* the bytes at value */
    MODC_INIT_ROW,      /* in a draw: row (int)b of the first dimension becomes a; the rest stays */
    MODC_INIT_WITHIN,   /* in a draw behind a NORMAL: that is drawn again for what is not from a to b, as
                           trunc_normal_ does */
    MODC_INIT_COPY,     /* in a draw: the values of the key that stands (int)b before it, of its shape */
    MODC_INIT_NORMS, /* in a draw: norms of the key that stands (int)b behind it, over all dimensions but a; -1: over all */
    MODC_INIT_UNIT, /* in a draw: the key and the one behind it are divided by their norms, which are at least a */
    MODC_INIT_POWER, /* in a draw behind a UNIT: a steps of the power method, for the key that stands (int)b behind it as
                           a matrix with dimension b of the UNIT in front; left vector, right vector */
    MODC_INIT_BASE, /* in a draw: the matrix of the key that stands (int)b behind it, completed by draws and made orthogonal;
                           that key becomes 0, and -1 on the diagonal */
    MODC_INIT_REFLECTIONS /* in a draw: reflections whose product has the key's directions */
};

/* One step of modc_reset. A key may be drawn often (MultiheadAttention's out_proj.bias: UNIFORM, then CONSTANT
 * 0; Embedding: NORMAL, then ROW). */
struct modc_draw {
    int key; /* -1 - key: what is drawn is dropped, as in PyTorch, where a module draws before it is tied */
    enum modc_init_kind init; /* not VALUE */
    double a, b;
};

/* draw_count of a model without draws: each key that is UNIFORM or NORMAL is drawn once, in their order. */
enum { MODC_DRAWS_OF_KEYS = -1 };

/* A parameter or buffer. The order is state_dict's (own parameters, own buffers with the non-persistent ones
 * at their place of registration, then the children), so `module` never falls. In this order their pointers follow the head of
 * struct MODEL_params, and the tensors each other in the parameter block: modc_key_pointer, modc_key_block. */
struct modc_key {
    const char *name; /* "trunk.0.weight" */
    int module;       /* index into modules of its owner */
    enum modc_dtype dtype;
    unsigned flags; /* MODC_KEY_... */
    int tied; /* so many keys before this one stands the first of its tie; 0: it is the first, or has none */
    enum modc_init_kind init; /* CONSTANT and VALUE: set by modc_reset, for buffers by modc_bind too;
                                 UNIFORM and NORMAL: what the draws of the model end with */
    double a, b;
    const void *value;
    int ndim;
    int dims[MODC_MAX_DIMS];
};

/* For emitted code: rows of keys, whose last arguments are `ndim, {dims}`.
 *
 *     MODC_PARAMETER("trunk.0.weight", POLICY_TRUNK_0, FLOAT32, UNIFORM(0.5), 2, {64, 4}),
 *
 * OPTIONAL and UNSAVED are buffers that a strict load does without, and that are not in the state_dict. MODC_TIED is the word
 * in front of a further one of a tie, with its distance from the first: MODC_TIED(PARAMETER, 3, "head.weight", ...). */
#define MODC_PARAMETER(...) MODC_TIED(PARAMETER, 0, __VA_ARGS__)
#define MODC_FROZEN(...) MODC_TIED(FROZEN, 0, __VA_ARGS__)
#define MODC_BUFFER(...) MODC_TIED(BUFFER, 0, __VA_ARGS__)
#define MODC_OPTIONAL(...) MODC_TIED(OPTIONAL, 0, __VA_ARGS__)
#define MODC_UNSAVED(...) MODC_TIED(UNSAVED, 0, __VA_ARGS__)
#define MODC_TIED(kind, distance, ...) MODC_ROW_OF_KEY(MODC_FLAGS_OF_##kind, distance, __VA_ARGS__)
#define MODC_ROW_OF_KEY(flags, distance, name, module, dtype, start, ...)                                    \
    {                                                                                                        \
        name, module, MODC_##dtype, flags, distance, MODC_START_##start, __VA_ARGS__                         \
    }
#define MODC_FLAGS_OF_PARAMETER MODC_KEY_PARAMETER
#define MODC_FLAGS_OF_FROZEN (MODC_KEY_PARAMETER | MODC_KEY_FROZEN)
#define MODC_FLAGS_OF_BUFFER MODC_KEY_PERSISTENT
#define MODC_FLAGS_OF_OPTIONAL (MODC_KEY_PERSISTENT | MODC_KEY_OPTIONAL)
#define MODC_FLAGS_OF_UNSAVED 0

/* What their elements begin with: UNIFORM(b) lies between -b and b, BETWEEN(a, b) between these. */
#define MODC_START_CONSTANT(a) MODC_INIT_CONSTANT, a, 0.0, NULL
#define MODC_START_UNIFORM(b) MODC_INIT_UNIFORM, -(b), b, NULL
#define MODC_START_BETWEEN(a, b) MODC_INIT_UNIFORM, a, b, NULL
#define MODC_START_NORMAL(mean, std) MODC_INIT_NORMAL, mean, std, NULL
#define MODC_START_VALUE(elements) MODC_INIT_VALUE, 0.0, 0.0, elements

/* As what integers with scales a weight is held: in the packed block by the spec's `storage:`, or in a file. */
struct modc_storage {
    int bits, group; /* of an integer: 8 or 4; how many of a row share a scale, 0: all */
    enum modc_dtype scale;
    bool gguf;       /* rounded as in GGUF files, else as torchao does */
    bool transposed; /* rows of outputs are the last dimension of the parameter */
};

/* note [integers]
 * Of each parameter that is packed as integers the block of parameters has, behind all tensors, room for the scales with which a file
 * had it: (rows, scales of a row) of their type, all bits 1 (NaN) where there are none. A load writes to the tensor what the integers
 * stand for, and the scales there. Packing and saving then find each integer again, since a number that is an integer times its scale
 * has no other; what was written since is no such number, and is rounded anew (packed, as far as the scale goes that it has a part
 * in) or saved as floats. */
struct modc_integers {
    int key; /* the first of its tie; rows of the table are in this order */
    bool
        apart; /* products have it by parts that share scales in ways of their own: no file can have it as integers */
    size_t scales; /* where in the block they lie */
    struct modc_storage storage;
};

/* For emitted code: rows of them.
 *
 *     MODC_INTEGERS(5, 6144, 4, 32, FLOAT16, SYMMETRIC, ROWS),
 */
#define MODC_INTEGERS(key, at, bits, group, scale, rounding, way)                                            \
    {                                                                                                        \
        key, MODC_APART_##way, at,                                                                           \
        {                                                                                                    \
            bits, group, MODC_##scale, MODC_IS_GGUF_##rounding, MODC_TRANSPOSED_##way                        \
        }                                                                                                    \
    }
#define MODC_IS_GGUF_SYMMETRIC false
#define MODC_IS_GGUF_GGUF true
#define MODC_APART_ROWS false
#define MODC_APART_COLUMNS false
#define MODC_APART_PARTS true
#define MODC_TRANSPOSED_ROWS false
#define MODC_TRANSPOSED_COLUMNS true
#define MODC_TRANSPOSED_PARTS false

struct modc_module {
    const char *path; /* "trunk.0"; the root is "" */
    const char *name; /* its name in the parent: "0" */
    const char *class_name;
    const char *extra_repr;
    int parent;  /* index, -1 for the root */
    int subtree; /* modules[i + 1 .. i + subtree] are its descendants: pre-order */
    bool folds;  /* prints like ModuleList: equal neighbours as one line */
};

/* An input or output of an entry; modc_shape finds its dimensions. */
struct modc_io {
    const char *name; /* an output's: as `modc run` names it */
    enum modc_dtype dtype;
    int ndim;
    int max_dims[MODC_MAX_DIMS]; /* at the maxima of the sizes */
    int size_of[MODC_MAX_DIMS]; /* index of the size that the dimension is, -1: constant, -2: an expression */
    bool constant;              /* an input's: backward makes no gradient of it */
};

struct modc_size {
    const char *name;
    int max;
};

struct modc_params;
struct modc_context;
struct modc_training;
struct modc_rollout_table;
struct modc_generation;
struct modc_extern_row;
struct modc_device;
struct modc_report;
struct modc_integer_code;
extern const struct modc_integer_code modc_integer_code;

enum { MODC_EVAL, MODC_TRAIN, MODC_MODES };

struct modc_entry {
    const char *name; /* "forward", "act" */
    int input_count, output_count;
    const struct modc_io *inputs, *outputs;
    const int *max_sizes; /* one for each size of the model: this entry's maxima */
    double macs;          /* multiply-adds of one call in eval mode at the maxima */
    /* Writes those dimensions of output `index` (or of input -1 - index) that are expressions; NULL: none is. */
    void (*shape)(const int *sizes, int index, int *dims);
    enum modc_status (*call)(struct modc_context *net, const int *sizes, const void *const *inputs,
                             void *const *outputs);
    /* Without backward NULL. Gradients of all outputs (NULL: zero) and inputs (NULL: not wanted); those that are not floating
     * are ignored. */
    enum modc_status (*backward)(struct modc_context *net, const int *sizes,
                                 const void *const *output_gradients, void *const *input_gradients);
    /* Bytes by mode, state included. 0: hooks: none, or without backward. */
    size_t workspace[MODC_MODES], fenced_workspace[MODC_MODES];
    size_t backward_workspace[2 * MODC_MODES]; /* by mode, then by mode with hooks */
};

/* For emitted code: rows of entries, which read the constants of the header, and what their `call` and `backward` are; the
 * rows end with the maxima of sizes.
 *
 *     MODC_CALL(policy, act, (net, sizes[0], inputs[0], outputs[0]))
 *     MODC_ENTRY(act, 1, 1, 4480.0, NULL, NULL, MODC_HOOKED(POLICY_ACT), POLICY_ACT_MAX_BATCH),
 */
#define MODC_ENTRY(name, inputs, outputs, macs, shape, backward, workspaces, ...)                            \
    {                                                                                                        \
#name, inputs, outputs, name##_io, name##_io + (inputs),                                             \
            (const int[]){__VA_ARGS__ }, macs, shape, name##_call, backward, workspaces                      \
    }
#define MODC_PLAIN(m) MODC_WORKSPACES(m##_WORKSPACE_BYTES, m##_TRAIN_WORKSPACE_BYTES, 0, 0, 0, 0, 0, 0)
#define MODC_HOOKED(m)                                                                                       \
    MODC_WORKSPACES(m##_WORKSPACE_BYTES, m##_TRAIN_WORKSPACE_BYTES, m##_FENCED_WORKSPACE_BYTES,              \
                    m##_TRAIN_FENCED_WORKSPACE_BYTES, 0, 0, 0, 0)
#define MODC_SAVING(m)                                                                                       \
    MODC_WORKSPACES(m##_WORKSPACE_BYTES, m##_TRAIN_WORKSPACE_BYTES, 0, 0, m##_BACKWARD_WORKSPACE_BYTES,      \
                    m##_TRAIN_BACKWARD_WORKSPACE_BYTES, 0, 0)
#define MODC_SAVING_HOOKED(m)                                                                                \
    MODC_WORKSPACES(m##_WORKSPACE_BYTES, m##_TRAIN_WORKSPACE_BYTES, m##_FENCED_WORKSPACE_BYTES,              \
                    m##_TRAIN_FENCED_WORKSPACE_BYTES, m##_BACKWARD_WORKSPACE_BYTES,                          \
                    m##_TRAIN_BACKWARD_WORKSPACE_BYTES, m##_FENCED_BACKWARD_WORKSPACE_BYTES,                 \
                    m##_TRAIN_FENCED_BACKWARD_WORKSPACE_BYTES)
#define MODC_WORKSPACES(a, b, c, d, e, f, g, h)                                                              \
    {a, b}, {c, d},                                                                                          \
    {                                                                                                        \
        e, f, g, h                                                                                           \
    }
#define MODC_CALL(model, entry, arguments)                                                                   \
    static enum modc_status entry##_call(struct modc_context *base, const int *sizes,                        \
                                         const void *const *inputs, void *const *outputs)                    \
    {                                                                                                        \
        struct model *const net = (struct model *)(void *)base;                                              \
        (void)sizes;                                                                                         \
        (void)inputs;                                                                                        \
        (void)outputs;                                                                                       \
        return model##_##entry arguments;                                                                    \
    }
#define MODC_BACKWARD_CALL(model, entry, function, arguments)                                                \
    static enum modc_status entry##_backward_call(struct modc_context *base, const int *sizes,               \
                                                  const void *const *output_gradients,                       \
                                                  void *const *input_gradients)                              \
    {                                                                                                        \
        struct model *const net = (struct model *)(void *)base;                                              \
        (void)sizes;                                                                                         \
        (void)output_gradients;                                                                              \
        (void)input_gradients;                                                                               \
        return model##_##function arguments;                                                                 \
    }
#define MODC_TRAIN_CALLS(model, arguments)                                                                   \
    static enum modc_status training_init_call(struct modc_training *base, struct modc_context *net,         \
                                               void *block, size_t bytes)                                    \
    {                                                                                                        \
        return model##_training_init((struct model##_training *)(void *)base, (struct model *)(void *)net,   \
                                     block, bytes);                                                          \
    }                                                                                                        \
    static enum modc_status train_step_call(struct modc_training *base, const int *sizes,                    \
                                            const void *const *inputs, void *loss)                           \
    {                                                                                                        \
        struct model##_training *const training = (struct model##_training *)(void *)base;                   \
        (void)sizes;                                                                                         \
        (void)inputs;                                                                                        \
        return model##_train_step arguments;                                                                 \
    }
#define MODC_ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

/* Dimensions of output `index` of an entry (or of input -1 - index) for these sizes. */
static inline void modc_shape(const struct modc_entry *entry, const int *sizes, int index, int *dims)
{
    const struct modc_io *io = index < 0 ? &entry->inputs[-1 - index] : &entry->outputs[index];

    for (int d = 0; d < io->ndim; d++)
        dims[d] = io->size_of[d] < 0 ? io->max_dims[d] : sizes[io->size_of[d]];
    if (entry->shape != NULL)
        entry->shape(sizes, index, dims);
}

/* Models of generate --dispatch. MODC_X86_64: the files for further instruction sets have code in them; MODC_ISA: the name of
 * the set that all machines of this kind have. */
#if defined __x86_64__ && defined __GNUC__
#define MODC_X86_64 1
#endif
#if defined __x86_64__ || defined _M_X64
#define MODC_ISA "x86-64"
#elif defined __aarch64__
#define MODC_ISA "aarch64"
#else
#define MODC_ISA "any"
#endif
#if defined __GNUC__ && !defined _WIN32
#define MODC_HIDDEN                                                                                          \
    __attribute__((visibility("hidden"))) /* what files of one model share, and no other library sees */
#else
#define MODC_HIDDEN
#endif

/* The functions of a model as they were compiled for one instruction set. */
struct modc_isa {
    const char *name;   /* "x86-64-v3" */
    bool (*here)(void); /* whether this machine has it; NULL: it needs nothing more than the program itself */
    const void *code;   /* for emitted code: struct MODEL_code */
};

struct modc_dispatch {
    int count;
    const struct modc_isa *isas; /* the best one first, the last for every machine */
    size_t chosen;               /* offset in struct MODEL of a pointer to one of them: what calls run on */
};

struct modc_model {
    int abi;
    const char *name;
    uint64_t schema;            /* hash of keys, shapes and dtypes */
    size_t align, tensor_align; /* of blocks, and of tensors in those of parameters, state and gradients */
    size_t params_bytes, context_bytes;            /* sizeof struct MODEL_params, struct MODEL */
    size_t param_block, packed_block, state_block; /* bytes; state lies at the head of every workspace */
    int size_count, key_count, module_count, entry_count, state_count, draw_count;
    const struct modc_size *sizes;
    const struct modc_key *keys;
    const struct modc_module *modules;
    const struct modc_entry *entries;
    const struct modc_key *states; /* as keys, in the state block */
    const struct modc_draw *draws; /* modc_reset: in the order in which PyTorch draws */
    enum modc_status (*pack)(struct modc_params *params); /* fills params->packed; NULL: nothing is packed */
    /* Embedded weights (generate --weights), or NULL: binds every pointer and the packed block. */
    enum modc_status (*bind_embedded)(struct modc_params *params);
    /* Copies key `index` in PyTorch's layout out of the packed block, where it lies only there; or NULL. */
    enum modc_status (*unpack)(const struct modc_params *params, int index, void *out);
    /* How far a result may lie from PyTorch's, relative to the largest one, where an algorithm gives up some of the
     * 1e-5 of float32 (Winograd); 0: as the dtype says. */
    float rtol;
    int threads;      /* the spec's `threads`, where steps are split; 0: none is */
    size_t threading; /* offset of struct modc_threading in struct MODEL, where there is one */
    const struct modc_dispatch *dispatch; /* NULL: it is compiled once */
    int gradient_count;                   /* 0: no backward */
    const int *gradients; /* which keys the parameters are that are trained, in order; NULL: the first keys */
    size_t gradient_block; /* bytes that MODEL_training_init takes */
    size_t training_bytes,
        gradients_offset; /* sizeof struct MODEL_training, offset of its gradients; 0: `update: fused`
                                              * keeps none */
    /* With `training:`: of struct MODEL_training and of the entry loss. block: training_block bytes. */
    size_t training_block;
    enum modc_status (*training_init)(struct modc_training *training, struct modc_context *net, void *block,
                                      size_t bytes);
    enum modc_status (*train_step)(struct modc_training *training, const int *sizes,
                                   const void *const *inputs, void *loss);
    const struct modc_rollout_table *rollout; /* modc_rollout.h; NULL: none */
    const struct modc_generation *generation; /* modc_generation.h; NULL: none */
    /* What calls require of sizes, as the spec says it, and the first of these that `sizes` do not meet (-1: none); NULL. */
    const char *const *requirements;
    int (*unmet)(const int *sizes);
    /* Of Externs, modc_extern.h: the bodies that the program is linked with, and where struct MODEL has its own. */
    int extern_count;
    const struct modc_extern_row *externs;
    size_t extern_list;
    const struct modc_device *device; /* modc_device.h; NULL: the processor */
    int integer_count;                /* parameters that are packed as integers: note [integers] */
    const struct modc_integers *integers;
    const struct modc_integer_code
        *integer_code; /* &modc_integer_code where there are any: modc_integers.h */
};

/* ---- parameters: the head of every struct MODEL_params ------------------------------------------------ */

struct modc_state_hook;

struct modc_params {
    const struct modc_model *model; /* NULL until bound */
    char *
        block; /* that modc_bind was given; NULL: tensors lie elsewhere, and none has scales: note [integers] */
    uint64_t version;        /* counts every write by load, reset, optimisers and MODEL_changed */
    uint64_t buffer_version; /* counts forwards that wrote statistics of layers, in training mode */
    void *packed;
    const void *packed_owner; /* what stands at the end of the block; NULL: it is not looked at */
    uint64_t packed_version, packed_buffer_version; /* what the packed block was made from; 0: nothing */
    bool read_only;
    struct modc_state_hook *state_hooks; /* in running order */
};

/* Where struct MODEL_params has the pointer to the tensor of a key, and where MODEL_bind puts that in its block. */
static inline size_t modc_key_pointer(int key)
{
    return sizeof(struct modc_params) + (size_t)key * sizeof(void *);
}
size_t modc_key_block(const struct modc_model *model, int key);
size_t modc_key_bytes(const struct modc_key *key);

#include "modc_report.h"

enum { MODC_NON_STRICT = 0, MODC_STRICT = 1, MODC_ASSIGN = 2 };

/* Makes params (struct MODEL_params, model->params_bytes long, whatever it held) point into block, which has
 * at least model->param_block bytes. Buffers get their initial values; parameters keep the bytes of the
 * block. MODC_POINTER, MODC_ALIGNMENT, MODC_SIZE (block too small). */
enum modc_status modc_bind(struct modc_params *params, const struct modc_model *model, void *block,
                           size_t bytes);

/* Reads a safetensors file that lies in memory. Float types convert into each other, other types must agree. Weights that are
 * integers with scales there become the floats that they stand for; where the model packs them as such, these very integers and
 * scales are packed (note [integers]), and another storage is an error. Under any error nothing has changed; unexpected and missing keys are errors with MODC_STRICT only.
 * MODC_ASSIGN points params into bytes, which must then outlive params, instead of copying: no conversion, no integers,
 * and params is read-only from then on. report may be NULL. MODC_FORMAT, MODC_KEYS, MODC_READ_ONLY,
 * MODC_POINTER, and what a hook returned. */
enum modc_status modc_load_bytes(struct modc_params *params, const void *bytes, size_t length, unsigned flags,
                                 struct modc_report *report);

/* The same with memory for modc_reader_open_indexed, or NULL: many keys in an unusual order load faster, as by modc_load. */
enum modc_status modc_load_indexed(struct modc_params *params, const void *bytes, size_t length,
                                   unsigned flags, void *memory, size_t memory_bytes,
                                   struct modc_report *report);

/* Writes a safetensors file of every key of the state_dict; of weights that were loaded as integers, and not written since, the
 * integers and scales. *length is always set to its length, so out NULL
 * asks for it; a smaller capacity is MODC_SIZE and writes nothing. MODC_ALIGNMENT: weights are embedded, and out is at no
 * multiple of MODC_ALIGN_WIDE. */
enum modc_status modc_save_bytes(const struct modc_params *params, void *out, size_t capacity,
                                 size_t *length);

/* Fills params->packed (block of model->packed_block bytes; NULL: the block of the last time) from the
 * parameters. The block is theirs from then on: calls with others that were packed into it before are MODC_STALE. MODC_ALIGNMENT,
 * MODC_SIZE, MODC_POINTER. */
enum modc_status modc_pack(struct modc_params *params, void *block, size_t bytes);

/* Gives every parameter and buffer the value it has in PyTorch after torch.manual_seed(seed) and building the
 * model (float32, bit for bit; module-semantics 5.1a). Needs 3 KB of stack. MODC_READ_ONLY, MODC_POINTER. */
enum modc_status modc_reset(struct modc_params *params, uint64_t seed);

/* For emitted code: the scales of the parameter in whose memory w lies. */
struct modc_scales modc_scales_of(const struct modc_params *params, const void *w);

/* To be called after writing to a tensor of params, so that the packed block is made again. */
void modc_changed(struct modc_params *params);

/* Copies tensor `key` out in PyTorch's layout, unpacking it where it lies only packed: then out is at a multiple of its
 * element. MODC_INDEX, MODC_POINTER, MODC_ALIGNMENT. */
enum modc_status modc_get(const struct modc_params *params, int key, void *out);
/* The same by the tensor's key ("trunk.0.weight"). MODC_NAME. */
enum modc_status modc_get_by_key(const struct modc_params *params, const char *key, void *out);

/* Writes the parameters and buffers of `from` into `to`, which is bound to the same model or to one with the same keys
 * and shapes: floating tensors convert as PyTorch's copy_ does, the others have one type on both sides. Under any error
 * nothing has changed. MODC_POINTER (one is not bound, or a tensor that would convert lies only packed), MODC_ARGUMENT
 * (another model), MODC_READ_ONLY. */
enum modc_status modc_to(const struct modc_params *from, struct modc_params *to);

/* The tensor itself; data is NULL where it lies only packed. MODC_INDEX. */
enum modc_status modc_get_tensor(const struct modc_params *params, int key, struct modc_tensor *tensor);

/* State hooks. The caller owns the node, sets call and user, leaves the rest 0, and keeps it until it is
 * removed. An error that a hook returns ends the save or load with that status; nothing is changed then,
 * unless it came from a load post-hook that ran after the copying. */
enum modc_state_hook_kind {
    MODC_STATE_DICT_PRE,  /* before saving, parents first */
    MODC_STATE_DICT_POST, /* after saving, children first */
    MODC_LOAD_PRE,        /* before the file is read, parents first; may point bytes and length elsewhere */
    /* Children first, after the copying. Where a load would fail, before it: loaded is false, and what the
     * report still lists after the hooks decides. */
    MODC_LOAD_POST
};

struct modc_state_call {
    const struct modc_params *params;
    int module;
    const char *path;
    void *user;
    const void *bytes; /* load: the file. Post-hooks of state_dict: what was written, or NULL (length only) */
    size_t length;
    unsigned flags;             /* load: MODC_STRICT, MODC_ASSIGN */
    struct modc_report *report; /* load post-hooks; may be NULL */
    bool loaded;
};

struct modc_state_hook {
    enum modc_status (*call)(struct modc_state_call *call);
    void *user;
    enum modc_state_hook_kind kind;
    int module;
    struct modc_state_hook *next, **list; /* list: NULL while it is not registered */
};

/* MODC_INDEX (no such module), MODC_ARGUMENT (already registered), MODC_POINTER. */
enum modc_status modc_register_state_hook(struct modc_params *params, int module,
                                          enum modc_state_hook_kind kind, struct modc_state_hook *hook);
void modc_state_hook_remove(struct modc_state_hook *hook);

/* ---- looking around: iterators, lookup, printing ------------------------------------------------------- */

/* An iterator over the tables, PyTorch's order:
 *
 *     struct modc_names it;
 *     modc_named_parameters(&it, model, 0, "", true, true);
 *     while (modc_next(&it))
 *         use(&model->keys[it.index]);
 */
struct modc_names {
    const struct modc_model *model;
    const char *prefix;
    int index;        /* of the key or module that modc_next found */
    const char *name; /* its name below the module that was given; "" for that module itself */
    int module, next, kind;
    bool recurse, remove_duplicate;
};

/* Each module of the tables is an instance of its own, so that remove_duplicate matters for keys alone. */
void modc_named_parameters(struct modc_names *it, const struct modc_model *model, int module,
                           const char *prefix, bool recurse, bool remove_duplicate);
void modc_named_buffers(struct modc_names *it, const struct modc_model *model, int module, const char *prefix,
                        bool recurse, bool remove_duplicate);
void modc_named_modules(struct modc_names *it, const struct modc_model *model, int module,
                        const char *prefix);
void modc_named_children(struct modc_names *it, const struct modc_model *model, int module);
bool modc_next(struct modc_names *it);
/* Writes prefix and name as PyTorch joins them, cut to capacity (with its 0 byte). Returns their length. */
size_t modc_names_text(const struct modc_names *it, char *out, size_t capacity);

/* By path ("trunk.0", "trunk.0.weight"); the root is "". MODC_NAME. */
enum modc_status modc_get_submodule(const struct modc_model *model, const char *path, int *module);
enum modc_status modc_get_parameter(const struct modc_model *model, const char *path, int *key);
enum modc_status modc_get_buffer(const struct modc_model *model, const char *path, int *key);
enum modc_status modc_get_entry(const struct modc_model *model, const char *name, int *entry);
bool modc_same_text(const char *a, const char *b); /* of names: the core does without strcmp */

/* print(model), byte for byte, without the newline that print adds. */
void modc_print(const struct modc_model *model, void (*write)(void *user, const char *text, size_t length),
                void *user);

/* ---- contexts: the head of every struct MODEL ---------------------------------------------------------- */

struct modc_hook;
struct modc_hook_set;
struct modc_call;

struct modc_context {
    const struct modc_model *model;
    struct modc_params *params;
    char *workspace; /* the state block is at its head */
    size_t workspace_bytes;
    bool training;
    bool busy; /* a hook of one of its calls runs */
    uint64_t seed, counter;
    struct modc_hook *hooks; /* in running order; NULL: the fused variant runs */
    const struct modc_hook_set *hook_set;
    struct modc_call *calls; /* the modules being called, innermost first; fenced variant only */
    int fault_module;        /* after an error status of a call: the module it happened in, or -1 */
    int64_t fault_index,
        fault_value; /* MODC_INDEX, MODC_DIVISION: position (row-major) and value; MODC_ARGUMENT: position */
    struct modc_training *trainer; /* NULL: no call keeps what backward needs */
    bool no_grad;                  /* modc_set_grad_enabled */
    bool saved_hooked;             /* what the workspace holds for backward is of a call with hooks */
    int saved; /* what the workspace holds for backward: 1 + 2 * the entry, + 1 where it trained; 0: nothing */
    uint64_t saved_version; /* of the parameters */
};

/* Makes net (struct MODEL, model->context_bytes long, whatever it held) a context in eval mode, with no hooks
 * and a fresh state block. MODC_POINTER, MODC_ARGUMENT (params of another model), MODC_ALIGNMENT,
 * MODC_WORKSPACE (no room for the state block). */
enum modc_status modc_init(struct modc_context *net, const struct modc_model *model,
                           struct modc_params *params, void *workspace, size_t bytes);
void modc_train(struct modc_context *net, bool mode);

/* What a call kept for backward is gone with them. MODC_POINTER, MODC_BUSY. */
enum modc_status modc_seed(struct modc_context *net, uint64_t seed); /* and counter 0 */
enum modc_status modc_reset_state(struct modc_context *net);
/* Where state number `index` of the context lies, from 0 to model->state_count - 1. */
void *modc_state(const struct modc_context *net, int index);

/* What calls of this context run on; NULL: the model is compiled once. */
const struct modc_isa *modc_get_isa(const struct modc_context *net);

/* Calls of this context run on the instruction set of this name from now on; NULL: on the best that the machine has, which
 * modc_init chooses. MODC_POINTER, MODC_NAME (the model is not compiled for it), MODC_UNSUPPORTED (this machine does not
 * have it). */
enum modc_status modc_set_isa(struct modc_context *net, const char *name);

/* ---- gradients: modc_gradient.c, models with `backward: true` ---------------------------------------------- */

/* At the head of struct MODEL_training, in front of struct MODEL_params gradients. Belongs to one context. */
struct modc_training {
    const struct modc_model *model;
    struct modc_context *net;
    struct modc_params *gradients; /* whose pointers lead to them; NULL, as what follows: none are kept */
    uint64_t *present; /* by gradient, in a cell of 8 bytes: 1 or 0 in its dtype, whether it is there */
    bool *wants;       /* by gradient: whether backward computes it */
};

/* From now on calls of the context keep what backward needs, in its workspace: it has to have the bytes of a
 * BACKWARD_WORKSPACE constant. No gradient is there yet, and all are wanted. block: model->gradient_block bytes, for the
 * gradients. MODC_POINTER, MODC_BUSY, MODC_ALIGNMENT, MODC_SIZE, MODC_UNSUPPORTED (a model without backward). */
enum modc_status modc_training_init(struct modc_training *training, struct modc_context *net, void *block,
                                    size_t bytes);

/* As torch.set_grad_enabled: while it is false calls of the context keep nothing for backward. */
void modc_set_grad_enabled(struct modc_context *net, bool enabled);

/* Gradients that are there: with set_to_none they are there no more, else they become 0. */
void modc_zero_grad(struct modc_training *training, bool set_to_none);

/* Which key the parameter is that has this gradient, by number; and the gradient, NULL where there is none. */
static inline int modc_gradient_key(const struct modc_model *model, int index)
{
    return model->gradients != NULL ? model->gradients[index] : index;
}

void *modc_gradient_at(const struct modc_training *training, int index);

/* Of the parameter with this key ("trunk.0.weight"): in PyTorch's layout; *gradient is NULL where there is none. MODC_NAME:
 * no parameter that is trained. MODC_UNSUPPORTED: `update: fused`. */
enum modc_status modc_get_gradient(const struct modc_training *training, const char *key,
                                   const void **gradient);

/* Whether backward computes the gradients of a parameter, or of all of a module ("trunk.0"; "": the model): from the next
 * backward on. Its memory stays. MODC_NAME, MODC_BUSY. */
enum modc_status modc_requires_grad(struct modc_training *training, const char *name, bool requires_grad);

/* For emitted code: the number, of the gradient's dtype, which is not 0 where the gradient is there. */
static inline const void *modc_present(const struct modc_training *training, int index)
{
    return &training->present[index];
}

/* Whether a call keeps what backward needs. */
static inline bool modc_saves(const struct modc_context *net)
{
    return net->trainer != NULL && !net->no_grad;
}

/* For emitted code. Before backward: whether the workspace still holds what forward kept, entry as in saved, and the
 * parameters are those of forward. MODC_POINTER, MODC_BUSY, MODC_CONSUMED, MODC_STALE. Behind it: the gradients that it gave, by
 * number, are there now, if they were wanted; given NULL: the first `count`. */
enum modc_status modc_backward_begin(struct modc_context *net, int entry);
void modc_backward_end(struct modc_context *net, const int *given, int count);

/* For rows of struct modc_isa: whether processor and operating system have all of it. Each is there on its machine alone. */
bool modc_has_x86_64_v3(void), modc_has_x86_64_v3_vnni(void);
bool modc_has_x86_64_v4(void), modc_has_x86_64_v4_vnni(void);
bool modc_has_aarch64_dotprod(void);

/* What an emitted call tests first; clears the fault. need: the variant's workspace bytes, state included.
 * MODC_POINTER, MODC_BUSY, MODC_WORKSPACE, MODC_STALE. */
enum modc_status modc_check(struct modc_context *net, size_t need, bool uses_packed, bool uses_buffers);

/* What emitted code asks before it reads at indices or divides: whether count integers lie in [lowest, end), or are not 0;
 * and of values that a function does not take: whether count bools are true. If not, the first that does not is the fault of
 * net. MODC_INDEX, MODC_DIVISION, MODC_ARGUMENT. */
enum modc_status modc_check_index(struct modc_context *net, int module, const void *index,
                                  enum modc_dtype dtype, int64_t count, int64_t lowest, int64_t end);
enum modc_status modc_check_divisor(struct modc_context *net, int module, const void *divisor,
                                    enum modc_dtype dtype, int64_t count);
enum modc_status modc_check_true(struct modc_context *net, int module, const void *mask,
                                 enum modc_dtype dtype, int64_t count);

/* ---- hooks ------------------------------------------------------------------------------------------- */

enum modc_hook_kind { MODC_HOOK_FORWARD_PRE, MODC_HOOK_FORWARD, MODC_HOOK_BACKWARD_PRE, MODC_HOOK_BACKWARD };

enum {
    MODC_PREPEND = 1,
    MODC_ALWAYS_CALL = 2, /* forward hooks: also when the call fails */
    MODC_WITH_KWARGS =
        4 /* forward pre-hooks and hooks; accepted: inputs has every tensor argument, however it was written */
};

/* What a hook sees. It may change values in place, or point data of an input (pre-hooks) or output (forward
 * hooks) at memory of its own that lasts until the model's call (with saves: its backward) ends, at a multiple of the
 * element (MODC_ALIGNMENT). Backward reads what it changed, and takes the gradient of that through to what it was; indices may
 * change within their range alone. Forward hooks leave the inputs as they are: backward may read them.
 *
 * Hooks in backward see gradients: those of the outputs, and full backward hooks those of the inputs as well, of the shapes and
 * types that these have. data is NULL where no gradient came to an output, and for all inputs where none of them has one; 0
 * stands for inputs without one beside others, and goes no further. Pre-hooks may change what they are given for the outputs
 * in these two ways, before the module's own backward runs; full backward hooks that for the inputs, when all that the module
 * read them for is done. Gradients of parameters are added behind the last hook.
 *
 * A hook returns to the call that it runs in. Until then the context is busy: its entries, backward, steps of its training and
 * what else would write to it are MODC_BUSY, and change nothing; a context of the hook's own, of the same parameters too, is not.
 * Hooks, the mode, grad_enabled, threads and instruction sets may be changed, for the next call. Who writes parameters in a hook,
 * by load, reset, a step of another context or modc_changed, ends the call with MODC_STALE: half of it would be of other weights. */
struct modc_hook_call {
    struct modc_context *context;
    const struct modc_model *model;
    int module;
    const char *path;
    void *user;
    struct modc_tensor *inputs; /* NULL in backward */
    int input_count;
    /* NULL in pre-hooks, in always_call hooks where the module did not finish, and in backward */
    struct modc_tensor *outputs;
    int output_count;
    /* NULL but in full backward hooks, and there for a module without inputs */
    struct modc_tensor *grad_inputs;
    int grad_input_count;
    struct modc_tensor *grad_outputs; /* NULL in forward */
    int grad_output_count;
};

/* The caller owns the node, sets call and user, leaves the rest 0, and keeps it until it is removed; a node
 * that a hook removes must last until the hooks of that module have run. */
struct modc_hook {
    enum modc_status (*call)(struct modc_hook_call *call);
    void *user;
    int module; /* -1: in a set, every module */
    enum modc_hook_kind kind;
    unsigned flags;
    struct modc_hook *next, **list; /* list: NULL while it is not registered */
};

/* Global hooks: run before a context's own, for every module. All zero at first. A set may belong to any
 * number of contexts (modc_attach); it must not change while one of them runs in another thread. */
struct modc_hook_set {
    struct modc_hook *hooks;
};

/* Registered while the module's hooks run, a hook runs from the next call on; removed then, it still runs in
 * this one. In a backward run the hooks that are registered then, behind a forward that found any hook.
 * MODC_INDEX (no such module), MODC_ARGUMENT (already registered; flags), MODC_MEMORY (over
 * MODC_MAX_HOOKS), MODC_POINTER, MODC_UNSUPPORTED (no entry of the model has a fenced variant; in backward: none with
 * backward). */
enum modc_status modc_register_forward_pre_hook(struct modc_context *net, int module, struct modc_hook *hook,
                                                unsigned flags);
enum modc_status modc_register_forward_hook(struct modc_context *net, int module, struct modc_hook *hook,
                                            unsigned flags);
enum modc_status modc_register_full_backward_pre_hook(struct modc_context *net, int module,
                                                      struct modc_hook *hook, unsigned flags);
enum modc_status modc_register_full_backward_hook(struct modc_context *net, int module,
                                                  struct modc_hook *hook, unsigned flags);
enum modc_status modc_register_module_forward_pre_hook(struct modc_hook_set *set, struct modc_hook *hook,
                                                       unsigned flags);
enum modc_status modc_register_module_forward_hook(struct modc_hook_set *set, struct modc_hook *hook,
                                                   unsigned flags);
enum modc_status modc_register_module_full_backward_pre_hook(struct modc_hook_set *set,
                                                             struct modc_hook *hook, unsigned flags);
enum modc_status modc_register_module_full_backward_hook(struct modc_hook_set *set, struct modc_hook *hook,
                                                         unsigned flags);
void modc_hook_remove(struct modc_hook *hook); /* again: does nothing */
/* NULL: none. MODC_POINTER, MODC_UNSUPPORTED. */
enum modc_status modc_attach(struct modc_context *net, const struct modc_hook_set *set);

/* What a call writes instead of a buffer until it has succeeded: an array as long as the buffer. */
#define MODC_SHADOW(shadow, tensor) memcpy(shadow, tensor, sizeof *(shadow))
#define MODC_COMMIT(shadow, tensor) memcpy(tensor, shadow, sizeof *(shadow))

/* Whether a call has to take the fenced variant. */
static inline bool modc_hooked(const struct modc_context *net)
{
    return net->hooks != NULL || (net->hook_set != NULL && net->hook_set->hooks != NULL);
}

/* For emitted code: a module being called in the fenced variant, between two boundaries, at which hooks run. Each is a line:
 *
 *     MODC_ENTER(net, trunk_0_call, POLICY_TRUNK_0, trunk_call_in[0]);
 *     trunk_0_linear(trunk_0.data, trunk_0_call_in[0].data, ...);
 *     MODC_LEAVE(net, trunk_0_call, trunk_0);
 *
 * Their last arguments are tensors: a local, a slot of another boundary, or {x, MODC_FLOAT32, 2, {batch, 4}}. What hooks made
 * of them is read through the slots: trunk_0_call_in, trunk_0_call_out. A hook that fails ends the function. modc_call_failed runs the always_call hooks of every module under way, innermost first, empties the list and
 * returns its argument; called again on the way out it does nothing more. In backward the same goes from the outputs, in
 * trunk_0_call_dout, to the inputs, in trunk_0_call_din: MODC_BACKWARD_ENTER and MODC_BACKWARD_LEAVE; modc_backward_failed
 * returns its argument, and the workspace holds nothing for backward then. The _NONE are for modules without tensors there. */
struct modc_call {
    struct modc_call *outer; /* forward */
    int module;
    bool backward; /* inputs and outputs are their gradients */
    struct modc_tensor *inputs, *outputs;
    int input_count, output_count;
};

enum modc_status modc_call_begin(struct modc_context *net, struct modc_call *call, int module,
                                 struct modc_tensor *inputs, int input_count);
enum modc_status modc_call_end(struct modc_context *net, struct modc_call *call, struct modc_tensor *outputs,
                               int output_count);
enum modc_status modc_call_failed(struct modc_context *net, enum modc_status status);
enum modc_status modc_backward_call_begin(struct modc_context *net, struct modc_call *call, int module,
                                          struct modc_tensor *outputs, int output_count);
enum modc_status modc_backward_call_end(struct modc_context *net, struct modc_call *call,
                                        struct modc_tensor *inputs, int input_count);
enum modc_status modc_backward_failed(struct modc_context *net, enum modc_status status);

/* Ends the function: with MODC_POINTER, say, where the condition does not hold; with the status of a call, unless that is
 * MODC_OK. What a failed call means for hooks is said before. */
#define MODC_NEED(condition, word)                                                                           \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            return MODC_##word;                                                                              \
    } while (0)
#define MODC_TRY(call)                                                                                       \
    do {                                                                                                     \
        const enum modc_status modc_status_ = (call);                                                        \
        if (modc_status_ != MODC_OK)                                                                         \
            return modc_status_;                                                                             \
    } while (0)
#define MODC_TRY_HOOKED(call)                                                                                \
    do {                                                                                                     \
        const enum modc_status modc_status_ = (call);                                                        \
        if (modc_status_ != MODC_OK)                                                                         \
            return modc_call_failed(&net->base, modc_status_);                                               \
    } while (0)
#define MODC_TRY_BACKWARD(call)                                                                              \
    do {                                                                                                     \
        const enum modc_status modc_status_ = (call);                                                        \
        if (modc_status_ != MODC_OK)                                                                         \
            return modc_backward_failed(&net->base, modc_status_);                                           \
    } while (0)

#define MODC_SLOTS(slots) (slots), (int)(sizeof(slots) / sizeof *(slots))
#define MODC_ENTER(net, name, number, ...)                                                                   \
    struct modc_tensor name##_in[] = {__VA_ARGS__};                                                          \
    struct modc_call name;                                                                                   \
    MODC_TRY_HOOKED(modc_call_begin(&(net)->base, &name, number, MODC_SLOTS(name##_in)))
#define MODC_LEAVE(net, name, ...)                                                                           \
    struct modc_tensor name##_out[] = {__VA_ARGS__};                                                         \
    MODC_TRY_HOOKED(modc_call_end(&(net)->base, &name, MODC_SLOTS(name##_out)))
#define MODC_BACKWARD_ENTER(net, name, number, ...)                                                          \
    struct modc_tensor name##_dout[] = {__VA_ARGS__};                                                        \
    struct modc_call name;                                                                                   \
    MODC_TRY_BACKWARD(modc_backward_call_begin(&(net)->base, &name, number, MODC_SLOTS(name##_dout)))
#define MODC_BACKWARD_LEAVE(net, name, ...)                                                                  \
    struct modc_tensor name##_din[] = {__VA_ARGS__};                                                         \
    MODC_TRY_BACKWARD(modc_backward_call_end(&(net)->base, &name, MODC_SLOTS(name##_din)))
#define MODC_ENTER_NONE(net, name, number)                                                                   \
    struct modc_call name;                                                                                   \
    MODC_TRY_HOOKED(modc_call_begin(&(net)->base, &name, number, NULL, 0))
#define MODC_LEAVE_NONE(net, name) MODC_TRY_HOOKED(modc_call_end(&(net)->base, &name, NULL, 0))
#define MODC_BACKWARD_ENTER_NONE(net, name, number)                                                          \
    struct modc_call name;                                                                                   \
    MODC_TRY_BACKWARD(modc_backward_call_begin(&(net)->base, &name, number, NULL, 0))
#define MODC_BACKWARD_LEAVE_NONE(net, name)                                                                  \
    MODC_TRY_BACKWARD(modc_backward_call_end(&(net)->base, &name, NULL, 0))

#include "modc_extern.h"
#include "modc_safetensors.h"

/* ---- numbers ------------------------------------------------------------------------------------------- */

size_t modc_dtype_align(enum modc_dtype dtype);
size_t modc_tensor_bytes(const struct modc_tensor *tensor);

/* One element, which need not be aligned. Storing rounds float types through float32 as PyTorch does, cuts
 * for integers, and takes everything but 0 as true; a complex number is its real part. */
double modc_number(const void *from, enum modc_dtype dtype);
void modc_store(void *to, enum modc_dtype dtype, double value);

/* Writes the initial value of a key of kind CONSTANT or VALUE; of another kind: nothing. */
void modc_fill_constant(const struct modc_key *key, void *out);

/* Whether modc_convert takes these types: equal ones, or two float types. */
bool modc_converts(enum modc_dtype to, enum modc_dtype from);
/* out and in do not overlap; neither needs to be aligned. Bools come out as 0 or 1. MODC_ARGUMENT: modc_converts is false. */
enum modc_status modc_convert(void *out, enum modc_dtype out_dtype, const void *in, enum modc_dtype in_dtype,
                              size_t count);

/* How the calling thread computes with floating point: rounding, and whether denormal numbers are flushed to 0. Flags of
 * exceptions are no part of it. 0 on machines that have no such mode, where setting it does nothing. */
uint64_t modc_float_mode(void);
void modc_set_float_mode(uint64_t mode);

/* For emitted code (denormals: flush), as torch.set_flush_denormal(True): from now on what a computation of this thread
 * reads or gives is 0 where it is denormal; on x86 with SSE, on ARM with an FPU, elsewhere nothing happens. Returns the mode
 * from before. */
uint64_t modc_flush_denormals(void);

/* ---- threads: modc_threads.c, hosted builds of models with `threads: N` ---------------------------------- */

/* Computes slice number `slice` of a step of the model, whose operands are in `call`. Slices write to memory of their own
 * and may run in any order, each in any thread, once: they compute in the float mode of the thread of the call. */
typedef void modc_slice(const void *call, int slice);

/* What runs slices at the same time: a pool of the runtime, or the caller's own. */
struct modc_executor {
    void *self;  /* for the caller's use */
    int threads; /* how many it has, that of the call included */
    /* Runs function(call, i) for each i from 0 to slices - 1, on at most `threads` threads (2 or more), and returns when
     * all have ended. Several contexts may call it at the same time. */
    void (*run)(void *self, int threads, int slices, modc_slice *function, const void *call);
};

/* In struct MODEL, behind its context; modc_init clears it: no executor. */
struct modc_threading {
    const struct modc_executor *executor; /* NULL: the thread of the call runs everything */
    int threads;                          /* the most that a call may use; 0: as many as there are */
};

/* What calls of this context run on, until another one is set; NULL: one thread. The executor belongs to the caller and
 * may serve any number of contexts. Results are the same bits with every executor. MODC_POINTER, MODC_UNSUPPORTED (no step
 * of the model is split: the spec has no `threads`, or its steps are too small). */
enum modc_status modc_set_executor(struct modc_context *net, const struct modc_executor *executor);

/* At most so many threads in each call of this context, from now on. MODC_POINTER, MODC_ARGUMENT (less than 1),
 * MODC_UNSUPPORTED as above. */
enum modc_status modc_set_threads(struct modc_context *net, int threads);

/* For emitted code: one step. NULL: on the thread of the call. */
void modc_split(const struct modc_threading *threading, int slices, modc_slice *function, const void *call);

/* A pool of `threads` threads, that of the call included, 1 to MODC_POOL_THREADS. Its threads wait in a loop for some 50 us
 * after a call and then sleep, with all signals blocked. A context that finds the pool busy, in a call of another thread,
 * runs all slices itself, and so does the child of a fork. MODC_ARGUMENT, MODC_MEMORY (no memory, or no more threads),
 * MODC_UNSUPPORTED (a compiler without GNU atomics). */
enum { MODC_POOL_THREADS = 32 };
enum modc_status modc_pool_create(int threads, struct modc_executor **pool);
/* When no context uses it any more. Only of modc_pool_create; NULL is allowed. */
void modc_pool_destroy(struct modc_executor *pool);

#include "modc_host.h"

/* ---- the functions of a model ---------------------------------------------------------------------------- */

/* What emitted headers have of the functions above, under the model's name and with its types, where PyTorch has methods:
 * policy_train(&net, true) is modc_train(&net.base, true). */
#define MODC_FUNCTIONS(model)                                                                                \
    static inline enum modc_status model##_bind(struct model##_params *params, void *block, size_t bytes)    \
    {                                                                                                        \
        return modc_bind(&params->base, &model##_model, block, bytes);                                       \
    }                                                                                                        \
    static inline enum modc_status model##_load_bytes(struct model##_params *params, const void *bytes,      \
                                                      size_t length, unsigned flags,                         \
                                                      struct modc_report *report)                            \
    {                                                                                                        \
        return modc_load_bytes(&params->base, bytes, length, flags, report);                                 \
    }                                                                                                        \
    static inline enum modc_status model##_save_bytes(const struct model##_params *params, void *out,        \
                                                      size_t capacity, size_t *length)                       \
    {                                                                                                        \
        return modc_save_bytes(&params->base, out, capacity, length);                                        \
    }                                                                                                        \
    static inline enum modc_status model##_pack(struct model##_params *params, void *block, size_t bytes)    \
    {                                                                                                        \
        return modc_pack(&params->base, block, bytes);                                                       \
    }                                                                                                        \
    static inline enum modc_status model##_reset(struct model##_params *params, uint64_t seed)               \
    {                                                                                                        \
        return modc_reset(&params->base, seed);                                                              \
    }                                                                                                        \
    static inline void model##_changed(struct model##_params *params)                                        \
    {                                                                                                        \
        modc_changed(&params->base);                                                                         \
    }                                                                                                        \
    static inline enum modc_status model##_to(const struct model##_params *params, struct modc_params *to)   \
    {                                                                                                        \
        return modc_to(&params->base, to);                                                                   \
    }                                                                                                        \
    static inline enum modc_status model##_get(const struct model##_params *params, const char *key,         \
                                               void *out)                                                    \
    {                                                                                                        \
        return modc_get_by_key(&params->base, key, out);                                                     \
    }                                                                                                        \
    static inline void model##_named_parameters(struct modc_names *it, const char *prefix, bool recurse)     \
    {                                                                                                        \
        modc_named_parameters(it, &model##_model, 0, prefix, recurse, true);                                 \
    }                                                                                                        \
    static inline void model##_named_buffers(struct modc_names *it, const char *prefix, bool recurse)        \
    {                                                                                                        \
        modc_named_buffers(it, &model##_model, 0, prefix, recurse, true);                                    \
    }                                                                                                        \
    static inline enum modc_status model##_init(struct model *net, struct model##_params *params,            \
                                                void *workspace, size_t bytes)                               \
    {                                                                                                        \
        return modc_init(&net->base, &model##_model, &params->base, workspace, bytes);                       \
    }                                                                                                        \
    static inline void model##_train(struct model *net, bool mode)                                           \
    {                                                                                                        \
        modc_train(&net->base, mode);                                                                        \
    }                                                                                                        \
    static inline void model##_eval(struct model *net)                                                       \
    {                                                                                                        \
        modc_train(&net->base, false);                                                                       \
    }                                                                                                        \
    static inline enum modc_status model##_seed(struct model *net, uint64_t seed)                            \
    {                                                                                                        \
        return modc_seed(&net->base, seed);                                                                  \
    }                                                                                                        \
    static inline void model##_print(void (*write)(void *user, const char *text, size_t length), void *user) \
    {                                                                                                        \
        modc_print(&model##_model, write, user);                                                             \
    }

/* Models with state. */
#define MODC_STATE_FUNCTIONS(model)                                                                          \
    static inline enum modc_status model##_reset_state(struct model *net)                                    \
    {                                                                                                        \
        return modc_reset_state(&net->base);                                                                 \
    }

/* Hosted builds. The workspace of a context that was created is its own, by malloc. */
#define MODC_HOSTED_FUNCTIONS(model)                                                                         \
    static inline enum modc_status model##_load(struct model##_params *params, const char *path,             \
                                                unsigned flags, struct modc_report *report)                  \
    {                                                                                                        \
        return modc_load(&params->base, path, flags, report);                                                \
    }                                                                                                        \
    static inline enum modc_status model##_save(const struct model##_params *params, const char *path)       \
    {                                                                                                        \
        return modc_save(&params->base, path);                                                               \
    }                                                                                                        \
    static inline enum modc_status model##_create(struct model##_params *params, struct model **net)         \
    {                                                                                                        \
        struct modc_context *base = NULL;                                                                    \
        enum modc_status status = modc_create(&model##_model, &params->base, 0, &base);                      \
                                                                                                             \
        *net = (struct model *)(void *)base;                                                                 \
        return status;                                                                                       \
    }                                                                                                        \
    static inline void model##_destroy(struct model *net)                                                    \
    {                                                                                                        \
        if (net)                                                                                             \
            modc_destroy(&net->base);                                                                        \
    }

/* Models with hooks. module: a constant of the header. */
#define MODC_HOOK_FUNCTIONS(model)                                                                           \
    MODC_HOOK_FUNCTION(model, forward_pre)                                                                   \
    MODC_HOOK_FUNCTION(model, forward)                                                                       \
    static inline enum modc_status model##_attach(struct model *net, const struct modc_hook_set *set)        \
    {                                                                                                        \
        return modc_attach(&net->base, set);                                                                 \
    }
#define MODC_BACKWARD_HOOK_FUNCTIONS(model)                                                                  \
    MODC_HOOK_FUNCTION(model, full_backward_pre)                                                             \
    MODC_HOOK_FUNCTION(model, full_backward)
#define MODC_HOOK_FUNCTION(model, kind)                                                                      \
    static inline enum modc_status model##_register_##kind##_hook(struct model *net, int module,             \
                                                                  struct modc_hook *hook, unsigned flags)    \
    {                                                                                                        \
        return modc_register_##kind##_hook(&net->base, module, hook, flags);                                 \
    }

/* Models of which steps are split: `threads`. */
#define MODC_THREAD_FUNCTIONS(model)                                                                         \
    static inline enum modc_status model##_set_executor(struct model *net,                                   \
                                                        const struct modc_executor *executor)                \
    {                                                                                                        \
        return modc_set_executor(&net->base, executor);                                                      \
    }                                                                                                        \
    static inline enum modc_status model##_set_threads(struct model *net, int threads)                       \
    {                                                                                                        \
        return modc_set_threads(&net->base, threads);                                                        \
    }

/* Models of generate --dispatch: the name of what calls of the context run on, and another choice. */
#define MODC_ISA_FUNCTIONS(model)                                                                            \
    static inline const char *model##_isa(const struct model *net)                                           \
    {                                                                                                        \
        return net->isa->name;                                                                               \
    }                                                                                                        \
    static inline enum modc_status model##_set_isa(struct model *net, const char *name)                      \
    {                                                                                                        \
        return modc_set_isa(&net->base, name);                                                               \
    }

/* Models with backward: all, those that keep gradients, those without `training:` (see modc_optim.h). */
#define MODC_BACKWARD_FUNCTIONS(model)                                                                       \
    static inline void model##_set_grad_enabled(struct model *net, bool enabled)                             \
    {                                                                                                        \
        modc_set_grad_enabled(&net->base, enabled);                                                          \
    }                                                                                                        \
    static inline enum modc_status model##_requires_grad_(struct model##_training *training,                 \
                                                          const char *name, bool requires_grad)              \
    {                                                                                                        \
        return modc_requires_grad(&training->base, name, requires_grad);                                     \
    }
#define MODC_GRADIENT_FUNCTIONS(model)                                                                       \
    static inline void model##_zero_grad(struct model##_training *training, bool set_to_none)                \
    {                                                                                                        \
        modc_zero_grad(&training->base, set_to_none);                                                        \
    }                                                                                                        \
    static inline enum modc_status model##_get_gradient(const struct model##_training *training,             \
                                                        const char *key, const void **gradient)              \
    {                                                                                                        \
        return modc_get_gradient(&training->base, key, gradient);                                            \
    }
#define MODC_TRAINING_FUNCTIONS(model)                                                                       \
    static inline enum modc_status model##_training_init(struct model##_training *training,                  \
                                                         struct model *net, void *block, size_t bytes)       \
    {                                                                                                        \
        return modc_training_init(&training->base, &net->base, block, bytes);                                \
    }

#ifdef __cplusplus
}
#endif
#endif
