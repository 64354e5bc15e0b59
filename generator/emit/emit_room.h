/* emit_room.h - what the files of the last room share while one model is printed. Private to them. */
#ifndef MODC_EMIT_ROOM_H
#define MODC_EMIT_ROOM_H

#include "emit/kernel.h"
#include "plan/target.h"

/* A parameter of a region's function: what each part takes is a list of them, of which its body uses some. */
struct region_parameter {
    const char *type, *name; /* "const float *", "x" */
    bool used;
};

/* The functions of a variant, by part; those of regions are printed before what calls them. */
struct printed {
    const struct variant *variant;
    const char *bodies[PARTS];
    struct uses *uses[PARTS];                   /* what these name */
    struct region_parameter *parameters[PARTS]; /* of a region */
    int counts[PARTS];
};

struct emit {
    struct cx *cx;
    const struct plan *plan;
    const struct module_tree *tree;
    const struct target *target;
    const char *m, *M; /* the model's name, and in capitals */
    const struct embedded_weights *weights;
    struct uses *uses;   /* of the function that is being printed */
    bool unpacks;        /* some tensors lie only packed */
    struct text tensors; /* macros: those of each function */
    struct text steps;   /* CUDA: kernels of the optimiser */
    struct kernel_texts *kernels;
    bool *quoted;            /* by index: modules whose words of the spec stand in a comment */
    struct printed *printed; /* those that have functions of their own */
    int printed_count;
};

/* ---- emit_params.c ---- */

const char *spec_name(
    const struct emit *e); /* the spec's file without its folder: the same bytes wherever it lies */
const char *spec_line(const struct emit *e, const struct module *module); /* with --line-numbers; else "" */
const char *shape_of(struct cx *cx, const struct value *value);
const char *tensor_shape_text(struct cx *cx, const struct module_tensor *tensor);
const char *module_constant(struct emit *e,
                            const struct module *module); /* POLICY_TRUNK_0; the root is POLICY_ROOT */
bool has_tensors(const struct module *module);
void print_params(struct emit *e, struct text *out);

/* ---- emit_signature.c ---- */

const struct graph *entry_graph(const struct entry *entry);
/* "past + tokens <= 128", over arguments of an entry */
const char *requirement_c_text(struct emit *e, const struct requirement *requirement);
void print_sizes(struct emit *e,
                 struct text *out); /* sizes that entries take: all of the model's, in order */
void print_arguments(struct emit *e, struct text *out, const struct graph *graph);
void pass_arguments(struct emit *e, struct text *out, const struct graph *graph);
bool is_constant_input(const struct value *value);
bool has_gradient(const struct graph *graph, const struct value *value);

/* Whether it is a loss whose gradient is the scale. */
bool is_scaled(const struct emit *e, const struct graph *graph);
void pass_second_arguments(struct emit *e, struct text *out, const struct variant *variant);
void print_second_arguments(struct emit *e, struct text *out, const struct variant *variant);
void print_backward_arguments(struct emit *e, struct text *out, const struct graph *graph);
bool saves(enum emitted_variant kind);
const struct variant *entry_variant(const struct emit *e, const struct entry *entry, int training,
                                    enum emitted_variant kind);
const char *workspace_constant(struct emit *e, const struct entry *entry, int training,
                               enum emitted_variant kind);
const char *macs_constant(struct emit *e, const struct entry *entry); /* MACS_OF_FORWARD */
const char *max_constant(struct emit *e, const struct entry *entry, int size);
int64_t at_least_one(const struct emit *e, int64_t bytes);
int64_t variant_bytes(const struct emit *e, const struct variant *variant);
bool has_backward(const struct emit *e);
bool has_gradients(const struct emit *e); /* they are kept: `update: fused` has a step as a whole */
bool has_optimizer(const struct emit *e);
bool is_dispatched(const struct emit *e);
const struct entry *loss_entry(const struct emit *e);

/* ---- emit_header.c ---- */

void print_header(struct emit *e, struct text *out);
const char *backward_name(struct emit *e,
                          const struct entry *entry); /* backward of forward, act_backward of act */

/* ---- emit_sketch.c ---- */

void print_sketch(struct emit *e, struct text *out); /* of a model with an entry */

/* ---- emit_pack.c ---- */

void print_array(struct emit *e, struct text *out, const char *name, const struct tensor *tensor);

/* What its elements are called: of a large array, which is made of words, those of its values. */
const char *array_values(struct emit *e, const char *name, const struct tensor *tensor);
void print_double(struct emit *e, struct text *out, double number);
const char *packed_struct(struct emit *e, const struct pack_group *group);
const char *group_params(struct emit *e, const struct pack_group *group);
const char *module_path_c(struct emit *e, const struct module *root, const struct module *module);
void print_packed_structs(struct emit *e, struct text *out);
void print_pack_functions(struct emit *e, struct text *out);
bool print_unpack(struct emit *e, struct text *out); /* false: nobody needs it */
void print_embedded(struct emit *e, struct text *out);
/* What embeds the weights: the file that is compiled, and the text of either kind. */
const char *weights_source(struct cx *cx, const char *model);
const char *weights_assembly(struct emit *e);
struct text weights_array(struct emit *e);

/* ---- emit_function.c ---- */

/* Those of the variant, or of the one that serves it. */
const struct printed *printed_of(const struct emit *e, const struct variant *variant);
void print_variant(struct emit *e, struct text *out, const struct variant *variant);
/* Of a part, with what it names. */
void print_body(struct emit *e, struct printed *printed, enum part part);
const char *part_function(struct emit *e, const struct variant *variant, enum part part);
const char *block_name(struct emit *e, const struct variant *variant,
                       bool kept); /* of memory that places are in */
void print_guarded(struct text *out, const char *indent, const char *condition, const char *statements);

/* ---- emit_region.c ---- */

void print_region(struct emit *e, struct text *out, const struct variant *variant);
void print_region_call(struct emit *e, struct text *out, const struct variant *variant,
                       const struct step *step);

/* What is emitted for a module's number: a constant, or in a region behind that of its own module. */
const char *module_number(struct emit *e, const struct variant *variant, const struct module *module);

/* Where a slot lies for a variant: with the parameters, in the state, in a shadow, or where its caller says. */
const char *slot_pointer(struct emit *e, const struct variant *variant, const struct module_tensor *tensor);

/* ---- emit_entry.c ---- */

void print_code(struct emit *e, struct text *out);
void print_choice(struct emit *e, struct text *out);
void print_entry(struct emit *e, struct text *out, const struct entry *entry);
void print_backward(struct emit *e, struct text *out, const struct entry *entry);
void print_backward_call(struct emit *e, struct text *out, const struct entry *entry);
void print_train_step(struct emit *e, struct text *out);

/* ---- emit_rows.c ---- */

void print_values(struct emit *e, struct text *out); /* initial values that tables point to */
/* The one of MultiStep's powers of gamma; NULL: there is none. */
const char *gammas_name(struct emit *e, const struct rollout *rollout);
bool lists_gradients(const struct emit *e); /* the keys that have one are not just the first ones */
void print_row_tables(struct emit *e, struct text *out); /* keys, states, draws, modules, gradients */
int count_draws(const struct emit *e);                   /* rows of the table of draws */

/* ---- emit_tables.c ---- */

void print_tables(struct emit *e, struct text *out);

#endif
