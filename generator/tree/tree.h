/* tree.h - the module tree as data: modules, their tensors, their paths. module.h makes it; ops and graphs point into it. */
#ifndef MODC_TREE_H
#define MODC_TREE_H

#include "base/diag.h"
#include "base/dim.h"
#include "base/dtype.h"
#include "base/names.h"
#include "base/steps.h"
#include "base/storage.h"

struct binding;
struct elementwise_row;
struct layer_row;
struct generation;
struct rollout;
struct chat;
struct tokenizer;
struct spec;
struct spec_class;
struct tensor;
struct value;
struct training;

/* What a state keeps of rows: note [rows] in graph.h. A row for each token of each page; for each sequence one that calls replace; or what
 * each sequence is written from. */
enum module_cache { CACHE_NONE, CACHE_TOKENS, CACHE_SEQUENCES, CACHE_SOURCE };

enum module_tensor_kind { MODULE_PARAMETER, MODULE_BUFFER, MODULE_STATE };

enum init_kind {
    INIT_CONSTANT, /* a */
    INIT_UNIFORM,  /* from a to b */
    INIT_NORMAL,   /* mean a, std b */
    INIT_WITHIN,   /* the same, drawn again until it is from low to high */
    INIT_VALUE,
    /* Steps of draws alone. Norms, over all but dimension a (-1: over all), of `of`; `of` and the key behind it divided by their
     * norms, at least a, for a matrix with dimension b in front; a steps of the power method for `of`. */
    INIT_NORMS,
    INIT_UNIT,
    INIT_POWER,
    INIT_BASE,       /* an orthogonal matrix of `of`, completed by draws; `of` becomes -1 on its diagonal */
    INIT_REFLECTIONS /* of the tensor itself: those whose product is orthogonal, by which it becomes a triangle */
};

/* Whether random numbers are drawn for it. */
bool init_draws(enum init_kind kind);

/* How `orthogonal` makes an orthogonal matrix of any. */
enum orthogonal_map { ORTHOGONAL_EXPONENTIAL, ORTHOGONAL_CAYLEY, ORTHOGONAL_HOUSEHOLDER };

/* What computes a parameter: a function of torch.nn.utils.parametrizations, or an older one of torch.nn.utils. */
struct parametrization {
    const char *text;    /* "weight_norm(dim=0)" */
    struct module *list; /* whose call gives it; NULL: an older one */
    const char *body;    /* of an older one: statements over the names of the module */
    struct module_tensor *original;
    struct module_tensor *norm;         /* of a weight_norm */
    struct module_tensor *left, *right; /* the vectors of a spectral_norm */
    struct module *made;                /* of a class of the spec; or NULL */
    bool orthogonal;
    enum orthogonal_map map;
    struct module_tensor *base; /* of an orthogonal one: what its matrix is multiplied with; or NULL */
    int64_t dim, iterations;    /* iterations: of the power method, initially */
    double eps;
    struct parametrization *further; /* what computes it of that, in turn; or NULL */
};

struct module_tensor {
    enum module_tensor_kind kind;
    const char *name; /* "weight" */
    const char *path; /* "trunk.0.weight" */
    struct loc loc;
    struct module *owner;
    enum dtype dtype;
    int ndim;
    int64_t dims[MAX_DIMS]; /* sizes at their maxima */
    const struct dim *shape[MAX_DIMS];
    bool persistent, optional;
    bool requires_grad; /* with freeze: */
    const struct storage
        *storage;   /* as what it is packed as a product's weight; NULL: as it is computed with */
    int storage_at; /* which of the spec's `storage` says so, and where */
    struct loc storage_loc;
    bool
        stored; /* a pattern of `storage` names it, so that what looks rows of it up reads them packed, too */
    bool none;  /* an empty slot (bias=False): has no key */
    /* some statement writes it (buffers in training mode, state); of layers' known by the graphs */
    bool written;
    bool written_in_eval;                    /* not in training mode alone */
    enum module_cache cache;                 /* of a state */
    bool faulty;                             /* a fault of it was said: its value is bad */
    int moment;                              /* of an __init__: as that of a module */
    struct parametrization *parametrization; /* it is none, and this computes what its name means */
    bool moved; /* the original of one: it is drawn where the other one would be */
    enum init_kind init;
    double a, b, low, high;
    int64_t zero_row;           /* drawn, then this row is 0; -1: none */
    const struct tensor *value; /* INIT_VALUE */
    struct value
        *computed; /* while the tree is built: its elements, known or not; note [tensors of __init__] */
    int key;       /* index among the model's keys (parameters and buffers) or states; -1: constant */
    /* module_paths.c, note [ties]. source: the one that the spec ties it to, or NULL; first: itself, where it is not
     * tied. */
    struct module_tensor *source, *first;
    bool tied; /* to others, or others to it */
    /* A non-persistent buffer with a value that nothing writes is a constant of the emitted code. */
    bool is_constant;
};

/* A step of what __init__ draws, or sets after it drew: how the tensor begins by it. note [draws] in module_draws.c */
struct module_draw {
    struct module_tensor *tensor;
    const struct module_tensor *from; /* it takes the values of this one; NULL: those of init */
    const struct module_tensor *of;   /* see enum init_kind */
    enum init_kind init;
    double a, b, low, high;
    int64_t zero_row;
    int moment; /* of an __init__, when it ran */
};

/* What the user supplies for Externs of this name, in C. */
struct extern_body {
    const char *name;
    struct loc loc; /* of the first */
    bool backward;  /* some of them say that it has one */
};

struct module {
    struct module *parent;
    const char *name, *path;
    const char *class_name;
    struct loc loc, name_loc; /* of the constructor; of the name where it has one */
    const char *text;         /* the spec's own words: "Conv2d(1, 16, 3, padding=1)" */
    int index;                /* pre-order */
    int subtree;              /* number of descendants */

    /* Exactly one of the three: a row of the layer table, a line of the elementwise table, a class of the spec (the
     * root is one). */
    const struct layer_row *layer;
    const struct elementwise_row *elementwise;
    const struct spec_class *spec_class;
    const struct extern_body *body; /* of an Extern; else NULL */

    struct binding *args; /* constructor arguments, defaults filled in */
    int arg_count;
    struct binding *constants; /* of its class: attributes that are known while generating */
    int constant_count;
    int moment;             /* so many were made before it */
    struct module **before; /* those below it that were made before it, since its arguments held them */
    int before_count;
    struct module_draw *resets; /* what its __init__ draws again, or sets, of tensors that are there */
    int reset_count;
    bool drawn; /* its initial values are in the order of draws */
    struct module **children;
    int child_count;
    const char **absent; /* names under `modules:` whose value is None */
    int absent_count;
    struct module_tensor **tensors; /* parameters, then buffers, then state; empty slots included */
    int tensor_count;
    struct names child_index, tensor_index; /* see NAMES_INDEXED_FROM; of all of them, or not to be asked */
    enum dtype
        dtype; /* where it is `typed`: of the tensors that it and the parts of its own make, whose row says none */
    bool typed;
    const char *extra_repr;
    const char *signature; /* spec classes: class, arguments, and what set and add changed below:
                            * "Block(4, 2) with norm: Identity()"; equal for instances that may share a region */
    int instances;         /* so many modules below the root have it */
    bool faulty;           /* a fault of it was said: its value is bad, and so is a call */
    bool is_slice; /* of statements alone: a list of children of another one, which has no call of its own */
    bool given;    /* made of a constructor that an argument of its parent is */
    bool computes; /* the `parametrizations` of its parent */
    bool copied;   /* what copy.deepcopy made, with all below it */
    const struct module *copy_of; /* the sibling before it, with whose values it begins; NULL: its own */
    bool array;                   /* a child of an `N x Call` list: emitted as an element of an array */
    int step;                     /* which change of the spec (set, add) its words stem from; -1: none */
    bool added;                   /* `add` put it behind the children that its parent made */
    bool changed; /* it is what the change brought here, so its words are not those of its parent's class */
    bool always_eval; /* eval: [...] fixes it and all below in evaluation mode */
    bool checkpoint;  /* checkpoint: [...] names it, or a module around it */
    /* with backward: several calls or statements of one graph use its parameters; found while lowering */
    bool shared;
    int calls; /* how often the entries call it, counted while lowering; 0: warned about */
    /* note [lazy modules]: the row of the spec's words; NULL: it was never lazy */
    const struct layer_row *lazy;
    bool resolved;  /* its first call is known */
    int64_t extent; /* what the first call gave it */
    struct loc first_call;
};

/* What each call requires of its sizes: `left op right`, which is gap >= 0. */
struct requirement {
    struct loc loc;
    const char *op; /* "<=" */
    const struct dim *left, *right, *gap;
};

/* "past + tokens <= 128" */
const char *requirement_text(struct arena *arena, const struct requirement *requirement);

/* Of an input, or of the first tensor that a module returns or is given: it is an integer of these steps. */
#define RANGE_INPUT ":input"
struct module_range {
    const char *name; /* of the input; the module's path; that with RANGE_INPUT behind it */
    float least, most;
    struct steps steps;
};

struct module_tree {
    struct spec *spec;
    const char *name; /* prefix of what is emitted: the model's; of a second dtype with that behind it */
    int variant;      /* index into spec->dtypes */
    struct module *root;
    struct module **modules; /* pre-order */
    int module_count;
    /* parameters and buffers in state_dict order, non-persistent buffers included */
    struct module_tensor **keys;
    int key_count;
    struct module_tensor **states;
    int state_count;
    /* in the order in which the equivalent __init__ draws: notes [draws] and [set and add] */
    struct module_draw *draws;
    int draw_count;
    struct module **lazy,
        **resolved; /* note [lazy modules]: all, and those whose first call is known, by that */
    int lazy_count, resolved_count;
    struct extern_body **externs; /* in order */
    int extern_count;
    struct size *sizes;
    int size_count;
    bool *sizes_used; /* by a statement, a shape or a value; requirements do not count */
    struct requirement *requirements;
    int requirement_count;
    struct binding *constants; /* in order; values */
    int constant_count;
    const struct training *training;   /* training.h; NULL: none */
    const struct rollout *rollout;     /* rollout.h; NULL: none */
    const struct tokenizer *tokenizer; /* tokenizer.h; NULL: none */
    const struct chat *chat;           /* chat.h; NULL: none */
    bool complex;                      /* what has no type of its own is complex, of parts that are `dtype` */
    bool one_row; /* of a sequence in a call: modules carry something from one row to the next */
    const struct generation *generation; /* generation.h; NULL: none */
    enum dtype dtype;
    bool narrow;     /* some parameter has a storage */
    bool calibrated; /* activations: calibrated, by these ranges */
    struct module_range *ranges;
    int range_count;
    bool partial; /* as spec.h's; or some module or tensor is faulty */
};

struct module *module_child(const struct module *module, const char *name);
struct module_tensor *module_find_tensor(const struct module *module, const char *name);

/* Whether copy.deepcopy made it, or what it is a part of. */
bool module_is_copied(const struct module *module);

int64_t module_tensor_count(const struct module_tensor *tensor);

/* The same as graphs and emitted code count: the parts of complex ones. */
int64_t module_tensor_parts(const struct module_tensor *tensor);

/* What graphs have in its place: itself, or of a complex one the pairs of its parts. Returns the number of dimensions. */
int module_tensor_shown(struct arena *arena, const struct module_tensor *tensor, enum dtype *dtype,
                        const struct dim *dims[MAX_DIMS]);

/* The tensor whose initial value this one has: the end of its ties, or itself. */
struct module_tensor *module_tensor_origin(struct module_tensor *tensor);

/* Its range; NULL: none. */
const struct module_range *module_range(const struct module_tree *tree, const char *name);

/* A path relative to a module: "blocks.0.norm.weight" in blocks.0 -> "norm.weight". */
const char *relative_path(const struct module *root, const char *path);

#endif
