/* emitted.c - names of emitted code; see emitted.h. */
#include "base/emitted.h"

#include <ctype.h>
#include <string.h>

#include "base/c_names.h"
#include "base/templates.h"
#include "base/text.h"

/* Macros of headers of Windows: avoided as members and arguments, but no reason to refuse a model's name. */
static const char *const windows_words[] = {"far", "huge", "interface", "near", "pascal", "small"};

/* What macros of an emitted file begin with, where no `MODEL_` stands in front. */
static const char *const macro_stems[] = {"CONTEXT_OF_", "MACS_OF_", "RTOL_OF_", "TENSORS_OF_"};

static bool begins_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

/* A macro or a constant of the model or of the runtime: POLICY_PACKED_BYTES, MODC_LANES. */
static bool is_own_macro(struct cx *cx, const char *name)
{
    const char *model = cx->model ? text_upper(&cx->arena, cx->model) : "";

    for (size_t i = 0; i < sizeof macro_stems / sizeof *macro_stems; i++)
        if (begins_with(name, macro_stems[i]))
            return true;
    if (*model && begins_with(name, model) && name[strlen(model)] == '_' &&
        strcmp(name, text_upper(&cx->arena, name)) == 0)
        return true;
    return begins_with(name, "MODC_");
}

/* A function that functions of the model may call: policy_act_eval, policy_load. */
static bool is_own_function(const struct cx *cx, const char *name)
{
    const char *rest = cx->model && begins_with(name, cx->model) ? name + strlen(cx->model) : "";

    for (int i = 0; *rest == '_' && emitted_endings[i]; i++)
        if (text_ends_with(rest, emitted_endings[i]))
            return true;
    return *rest == '_' && emitted_function(rest + 1);
}

bool emitted_reserved(const char *name)
{
    return c_is_keyword(name) || c_is_macro(name) || c_is_type(name);
}

/* `name` with underscores behind it: with three where the name with one may be another of its kind, as __STDC__, _SIZE_T_ or what
 * the model has of a name with an underscore. Nobody ends a name with three. */
static const char *apart(struct cx *cx, const char *name, bool far)
{
    size_t length = strlen(name);

    while (far && length > 0 && name[length - 1] == '_')
        length--;
    return arena_format(&cx->arena, "%.*s%s", (int)length, name, far ? "___" : "_");
}

/* An identifier for any name; one that is `taken`, or a macro or keyword, gets underscores. */
static const char *identifier(struct cx *cx, const char *name, bool taken)
{
    const bool far = is_own_macro(cx, name) || (name[0] == '_' && c_is_macro(name));

    taken |= far || c_is_keyword(name) || c_is_macro(name);
    for (size_t i = 0; i < sizeof windows_words / sizeof *windows_words; i++)
        taken |= strcmp(name, windows_words[i]) == 0;
    if (taken)
        return apart(cx, name, far);

    bool begins = isalpha((unsigned char)name[0]) || name[0] == '_' || (name[0] & 0x80);
    char *result = arena_format(&cx->arena, "%s%s", begins ? "" : "_", name);

    for (char *c = result; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return result;
}

const char *emitted_name(struct cx *cx, const char *name)
{
    return identifier(cx, name, strcmp(name, "base") == 0); /* the head of emitted structs */
}

const char *emitted_upper(struct cx *cx, const char *name)
{
    return text_upper(&cx->arena, emitted_name(cx, name));
}

static const char *argument(struct cx *cx, const char *name)
{
    static const char *const locals[] = {
        "p",    "k",          "s",          "ws",        "net",       "status", "i",       "in",
        "out",  "buffers",    "float_mode", "gradients", "training",  "module", "counter", "gradient",
        "kept", "kept_slots", "zeros",      "given",     "optimizer", "memcpy", "memset",  "din",
        "dout", "behind",     "params",     "all_sizes", "made"};

    bool far = begins_with(name, "modc_") || is_own_function(cx, name),
         taken = far || c_is_type(name) || strstr(name, "_call") || strstr(name, "_shadow") ||
                 begins_with(name, "constant_");

    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++)
        taken |= strcmp(locals[i], name) == 0;
    return taken ? apart(cx, name, far) : identifier(cx, name, false);
}

/* `out` is `out_` in C, and so `out_` is `out__`. */
const char *c_argument(struct cx *cx, const char *name)
{
    const char *own = argument(cx, name);
    size_t length = strlen(name);
    char *stem = arena_string(&cx->arena, name);

    while (length > 0 && name[length - 1] == '_')
        length--;
    stem[length] = 0;
    return length > 0 && strcmp(own, name) == 0 && strcmp(argument(cx, stem), stem) != 0
               ? arena_format(&cx->arena, "%s_", name)
               : own;
}

const char *c_local(struct cx *cx, const char *name)
{
    return c_is_keyword(name) && !c_is_keyword_of_c(name) && !c_is_type(name) ? name : argument(cx, name);
}

/* What functions of tables have of their own, which take sizes as an array. */
static bool is_of_tables(const char *name)
{
    return strcmp(name, "sizes") == 0 || strcmp(name, "dims") == 0 || strcmp(name, "index") == 0;
}

/* What kernels have of their own, beside what only their templates name: parameters, and what is said of these. */
static bool is_of_kernels(const char *name)
{
    static const char *const words[] = {
        "batch0", "batch1", "before",     "bias",    "bias_input", "cell",      "channel", "columns",
        "count",  "dcell",  "dcell_last", "dhidden", "dlast",      "dstate",    "dsum",    "dy",
        "first",  "gates",  "inputs",     "last",    "ldy",        "lengths",   "lines",   "row",
        "scale",  "slice",  "slopes",     "state",   "states",     "threshold", "w_input",
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return islower((unsigned char)name[0]) &&
           !name[1 + strspn(name + 1, "0123456789")]; /* x0, v, e1; the variables of loops */
}

const char *emitted_size(struct cx *cx, const char *name)
{
    const char *own = c_argument(cx, name);
    const bool taken = is_of_tables(own) || is_of_kernels(own) || template_argument(own) ||
                       template_calls(own);

    return taken ? arena_format(&cx->arena, "%s_", own) : own;
}

/* ---- names that every model has -------------------------------------------------------------------------------- */

const char *const emitted_functions[] = {
    "attach", "bind", "bind_all", "bind_embedded", "changed", "chat", "code", "code_of", "create",
    "decode_text", "decoder_init", "destroy", "device", "download", "encode_text", "eval", "generation",
    "generator_init", "get", "get_gradient", "init", "isa", "load", "load_bytes", "model", "named_buffers",
    "named_parameters", "pack", "pack_all", "packed_fits", "print", "register_forward_hook",
    "register_forward_pre_hook", "reset", "reset_state", "save", "save_bytes", "schedule_step", "seed",
    "set_executor", "set_extern", "set_grad_enabled", "set_isa", "set_threads", "token_id", "token_text",
    "tokenizer", "train", "training_load_bytes", "training_save_bytes", "unpack", "weights",
    /* of later versions */
    "apply", "backward", "buffers", "children", "clip", "extra_repr", "get_buffer", "get_parameter",
    "get_submodule", "load_state_dict", "loss", "loss_backward", "loss_scale", "modules", "n_step",
    "named_children", "named_modules", "options", "parameters", "register_full_backward_hook",
    "register_full_backward_pre_hook", "requires_grad_", "rollout", "rollout_bind", "rollout_table",
    "set_stream", "share", "state_dict", "step", "step_skipped", "sync", "to", "train_step", "training",
    "training_init", "training_load", "training_save", "window_flush", "window_init", "window_push",
    "window_ready", "window_set", "zero_grad", NULL};

const char *const emitted_constants[] = {"MODULES",        "PARAM_BYTES",          "PACKED_BYTES",
                                         "EMBEDDED_BYTES", "GRADIENT_BYTES",       "STATE_BYTES",
                                         "ROLLOUT_BYTES",  "WINDOW_BYTES",         "GRADIENTS",
                                         "SCHEMA",         "TOKENIZER_VOCABULARY", "TOKENIZER_BOS",
                                         "TOKENIZER_EOS",  "TOKENIZER_PAD",        "TOKENIZER_UNK",
                                         "TOKENIZER_TEXT", "TOKENIZER_BYTES",      "CONTEXT",
                                         "SEQUENCES",      "GENERATOR_BYTES"};

enum { OF_GENERATION = 3 };

int emitted_constant_count(bool writes)
{
    const int count = (int)(sizeof(emitted_constants) / sizeof(*emitted_constants));

    return writes ? count : count - OF_GENERATION;
}

const char *const emitted_endings[] = {"_eval",
                                       "_train",
                                       "_eval_fenced",
                                       "_train_fenced",
                                       "_eval_saving",
                                       "_train_saving",
                                       "_eval_backward",
                                       "_train_backward",
                                       "_eval_saving_fenced",
                                       "_train_saving_fenced",
                                       "_eval_backward_fenced",
                                       "_train_backward_fenced",
                                       "_backward",
                                       "_fenced",
                                       "_fenced_backward",
                                       "_train_fenced_backward",
                                       NULL};

bool emitted_function(const char *name)
{
    if (begins_with(name, "extern_")) /* bodies of the user's */
        return true;
    for (int i = 0; emitted_functions[i]; i++)
        if (strcmp(emitted_functions[i], name) == 0)
            return true;
    return false;
}

bool emitted_struct(const char *name)
{
    return strcmp(name, "params") == 0 || strcmp(name, "packed") == 0 || strcmp(name, "state") == 0 ||
           strcmp(name, "code") == 0 || strcmp(name, "rollout") == 0 || strcmp(name, "window") == 0 ||
           strcmp(name, "training") == 0;
}

const char *emitted_flat(struct cx *cx, const char *path)
{
    struct text text = text_new(&cx->arena);

    for (const char *at = path; *at; at++) {
        const bool begins = at == path || (cx->numbered && at[-1] == '.');

        if (begins && *at >= '0' && *at <= '9')
            text_add(&text, "_");
        text_printf(&text, "%c", *at == '.' ? '_' : *at);
    }
    return emitted_name(cx, text.data);
}

const char *emitted_module(struct cx *cx, const char *path)
{
    const char *flat = emitted_flat(cx, path[0] ? path : "root");

    return text_upper(&cx->arena, flat[0] == '_' ? flat + 1 : flat);
}

const char *emitted_gradient(struct cx *cx, const char *path)
{
    return arena_format(&cx->arena, "GRADIENT_%s", emitted_module(cx, path));
}

const char *emitted_max(struct cx *cx, const char *entry, const char *size)
{
    return text_upper(&cx->arena,
                      arena_format(&cx->arena, "%s%sMAX_%s", entry ? entry : "", entry ? "_" : "", size));
}

const char *emitted_workspace(struct cx *cx, const char *entry, bool training, enum emitted_variant variant)
{
    static const char *const kinds[EMITTED_VARIANTS] = {
        [EMITTED_FUSED] = "",
        [EMITTED_FENCED] = "FENCED_",
        [EMITTED_SAVING] = "BACKWARD_",
        [EMITTED_SAVING_FENCED] = "FENCED_BACKWARD_",
    };
    bool forward = strcmp(entry, "forward") == 0;

    return text_upper(&cx->arena, arena_format(&cx->arena, "%s%s%s%sWORKSPACE_BYTES", forward ? "" : entry,
                                               forward ? "" : "_", training ? "TRAIN_" : "", kinds[variant]));
}
