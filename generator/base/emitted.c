/* emitted.c - names of emitted code; see emitted.h. */
#include "base/emitted.h"

#include <ctype.h>
#include <string.h>

#include "base/templates.h"
#include "base/text.h"

/* Keywords of C and C++, and words that standard headers or compilers define as macros. */
static const char c_words[] =
    " alignas alignof and and_eq asm assert atomic_cancel atomic_commit atomic_noexcept auto bitand "
    "bitor bool break case catch char char16_t char32_t char8_t class co_await co_return co_yield "
    "compl complex concept const const_cast consteval constexpr constinit continue decltype default "
    "delete do double dynamic_cast else enum errno explicit export extern false float for friend "
    "goto i386 if imaginary inline int linux long mutable namespace new noexcept "
    "noreturn not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert "
    "static_cast struct switch synchronized template this thread_local throw true try typedef typeid "
    "typename typeof typeof_unqual union unix unsigned using virtual void volatile wchar_t while xor "
    "xor_eq NULL EOF I ";

/* The head of emitted structs, and macros of headers of Windows: avoided as members and arguments, but no reason to refuse
 * a model's name. */
static const char member_words[] = " base far huge interface near pascal small ";

/* `word` is one of those in `list`, which has a blank around each. */
static bool is_listed(struct cx *cx, const char *list, const char *word)
{
    return !strchr(word, ' ') && strstr(list, arena_format(&cx->arena, " %s ", word));
}

bool emitted_keyword(struct cx *cx, const char *name)
{
    return is_listed(cx, c_words, name);
}

const char *emitted_name(struct cx *cx, const char *name)
{
    if (emitted_keyword(cx, name) || is_listed(cx, member_words, name))
        return arena_format(&cx->arena, "%s_", name);

    bool begins = isalpha((unsigned char)name[0]) || name[0] == '_' || (name[0] & 0x80);
    char *result = arena_format(&cx->arena, "%s%s", begins ? "" : "_", name);

    for (char *c = result; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return result;
}

const char *emitted_upper(struct cx *cx, const char *name)
{
    return text_upper(&cx->arena, emitted_name(cx, name));
}

const char *c_argument(struct cx *cx, const char *name)
{
    static const char *const locals[] = {
        "p",          "k",          "s",         "ws",        "net",    "status",  "i",        "in",
        "out",        "buffers",    "sizes",     "dims",      "index",  "inputs",  "outputs",  "params",
        "base",       "float_mode", "gradients", "training",  "module", "counter", "gradient", "kept",
        "kept_slots", "zeros",      "given",     "optimizer", "memcpy", "memset"};

    bool taken = strstr(name, "_call") || strstr(name, "_shadow") || strstr(name, "constant_") == name;

    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++)
        taken |= strcmp(locals[i], name) == 0;
    return taken ? arena_format(&cx->arena, "%s_", name) : emitted_name(cx, name);
}

const char *emitted_size(struct cx *cx, const char *name)
{
    const char *own = c_argument(cx, name);

    return template_uses(own) ? arena_format(&cx->arena, "%s_", own) : own;
}

/* ---- names that every model has -------------------------------------------------------------------------------- */

static const char *const functions[] = {
    "attach", "bind", "bind_all", "bind_embedded", "changed", "code", "code_of", "create", "destroy", "eval",
    "get", "init", "isa", "load", "load_bytes", "model", "named_buffers", "named_parameters", "pack",
    "pack_all", "packed_fits", "print", "register_forward_hook", "register_forward_pre_hook", "reset",
    "reset_state", "save", "save_bytes", "seed", "set_executor", "set_isa", "set_threads", "train", "unpack",
    "weights",
    /* of later versions */
    "apply", "backward", "buffers", "children", "clip", "extra_repr", "get_buffer", "get_parameter",
    "get_submodule", "load_state_dict", "loss", "loss_backward", "modules", "n_step", "named_children",
    "named_modules", "parameters", "register_full_backward_hook", "register_full_backward_pre_hook",
    "requires_grad_", "rollout", "rollout_bind", "rollout_table", "set_stream", "share", "state_dict", "step",
    "sync", "to", "train_step", "training", "training_init", "training_load", "training_save", "window_flush",
    "window_init", "window_push", "window_ready", "window_set", "zero_grad", NULL};

const char *const emitted_constants[] = {
    "MODULES",     "PARAM_BYTES",   "PACKED_BYTES", "EMBEDDED_BYTES", "GRADIENT_BYTES",
    "STATE_BYTES", "ROLLOUT_BYTES", "WINDOW_BYTES", "GRADIENTS",      "SCHEMA",
    NULL};

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
                                       NULL};

bool emitted_function(const char *name)
{
    for (int i = 0; functions[i]; i++)
        if (strcmp(functions[i], name) == 0)
            return true;
    return false;
}

bool emitted_struct(const char *name)
{
    return strcmp(name, "params") == 0 || strcmp(name, "packed") == 0 || strcmp(name, "state") == 0 ||
           strcmp(name, "code") == 0 || strcmp(name, "rollout") == 0 || strcmp(name, "window") == 0;
}

const char *emitted_flat(struct cx *cx, const char *path)
{
    struct text text = text_new(&cx->arena);

    if (path[0] >= '0' && path[0] <= '9')
        text_add(&text, "_");
    for (; *path; path++)
        text_printf(&text, "%c", *path == '.' ? '_' : *path);
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
