/* emitted.c - names of emitted code; see emitted.h. */
#include "spec/emitted.h"

#include <string.h>

#include "base/text.h"
#include "spec/spec.h"

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

const char *const emitted_constants[] = {"MODULES",        "PARAM_BYTES", "PACKED_BYTES",  "EMBEDDED_BYTES",
                                         "GRADIENT_BYTES", "STATE_BYTES", "ROLLOUT_BYTES", "WINDOW_BYTES",
                                         "GRADIENTS",      NULL};

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
    return spec_c_name(cx, text.data);
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
