/* emit_params.c - struct MODEL_params, nested as the module tree; and what the printers of a model share. */
#include "emit/emit_room.h"

#include <ctype.h>
#include <string.h>

#include "base/options.h"
#include "emit/template.h"

/* A spec's file without its folder: the same bytes wherever it lies. */
static const char *file_name(const struct source *source)
{
    const char *slash = strrchr(source->name, '/');

    return slash ? slash + 1 : strcmp(source->name, "-") == 0 ? "a spec" : source->name;
}

const char *spec_name(const struct emit *e)
{
    return file_name(e->plan->program->settings.source);
}

/* With --line-numbers: where the module, or what a row of the layer table made it for, stands in a spec. Else "". */
const char *spec_line(const struct emit *e, const struct module *module)
{
    while (module->loc.source && module->loc.source->name[0] == '<' && module->parent)
        module = module->parent;
    if (!e->cx->options->line_numbers || !module->loc.source)
        return "";
    return arena_format(&e->cx->arena, "   %s:%d", file_name(module->loc.source), module->loc.line);
}

const char *shape_of(struct cx *cx, const struct value *value)
{
    return shape_text(&cx->arena, value->ndim, value->dims);
}

const char *tensor_shape_text(struct cx *cx, const struct module_tensor *tensor)
{
    return shape_text(&cx->arena, tensor->ndim, tensor->shape);
}

/* POLICY_TRUNK_0; the root is POLICY_ROOT. */
const char *module_constant(struct emit *e, const struct module *module)
{
    return arena_format(&e->cx->arena, "%s_%s", e->M, emitted_module(e->cx, module->path));
}

bool has_tensors(const struct module *module)
{
    for (int i = 0; i < module->tensor_count; i++)
        if (module->tensors[i]->key >= 0 && module->tensors[i]->kind != MODULE_STATE)
            return true;
    for (int i = 0; i < module->child_count; i++)
        if (has_tensors(module->children[i]))
            return true;
    return false;
}

/* Classes that a region is made of have named structs, so that functions can take them. */
static const char *struct_name(struct emit *e, const struct module *module)
{
    for (int i = 1; module->signature && module->parent && i < e->plan->group_count; i++)
        if (strcmp(e->plan->groups[i]->root->signature, module->signature) == 0)
            return arena_format(&e->cx->arena, "%s_%s", e->m, e->plan->groups[i]->name);
    return NULL;
}

/* One of an array, or a part of one: the struct's text stands for all of them. */
static bool is_element(const struct module *module)
{
    while (module && !module->array)
        module = module->parent;
    return module;
}

/* Whether backward makes gradients of it and others write it, so that struct MODEL_params is the type of gradients too. */
static bool is_trained(const struct emit *e, const struct module_tensor *tensor)
{
    return e->plan->program->settings.backward && tensor->kind == MODULE_PARAMETER;
}

/* Pointers of one type of which the same is to be said, a line: "float *weight, *bias; (2, 64), (2)". */
struct member_line {
    const char *type, *note;
    struct text names, shapes;
};

struct member_lines {
    struct member_line *list;
    int count;
};

static const char *member_note(struct emit *e, const struct module_tensor *tensor)
{
    const unsigned written = plan_written(e->plan, tensor);

    return arena_format(&e->cx->arena, "%s%s%s",
                        written & WRITTEN_IN_EVAL ? "; written by forward"
                        : written                 ? "; written in training mode"
                                                  : "",
                        tensor->first != tensor && !is_element(tensor->owner) ? "; always " : "",
                        tensor->first != tensor && !is_element(tensor->owner) ? tensor->first->path : "");
}

static struct member_lines members_of(struct emit *e, const struct module *module, int indent)
{
    const size_t more = strlen("struct { ") + strlen(module->name ? module->name : "") +
                        strlen(" *, ; } ;/*,  */"),
                 room = EMITTED_WIDTH - (size_t)indent - more;
    struct arena *arena = &e->cx->arena;
    struct member_lines lines = {0};

    for (int i = 0; i < module->tensor_count; i++) {
        const struct module_tensor *tensor = module->tensors[i];
        const bool changes = plan_written(e->plan, tensor) || is_trained(e, tensor);
        const char *type = arena_format(arena, "%s%s", changes ? "" : "const ", dtype_rows[tensor->dtype].c),
                   *note = member_note(e, tensor), *name = emitted_name(e->cx, tensor->name),
                   *shape = tensor_shape_text(e->cx, tensor);
        struct member_line *last = lines.count > 0 ? &lines.list[lines.count - 1] : NULL;

        if (tensor->key < 0 || tensor->kind == MODULE_STATE)
            continue;
        if (!last || strcmp(last->type, type) != 0 || strcmp(last->note, note) != 0 ||
            strlen(type) + last->names.length + strlen(name) + last->shapes.length + strlen(shape) +
                    strlen(note) >
                room) {
            ARENA_PUSH(arena, lines.list, lines.count,
                       ((struct member_line){type, note, text_new(arena), text_new(arena)}));
            last = &lines.list[lines.count - 1];
        }
        text_printf(&last->names, "%s*%s", last->names.length ? ", " : "", name);
        text_printf(&last->shapes, "%s%s", last->shapes.length ? ", " : "", shape);
    }
    return lines;
}

/* close: what stands between the last name and the comment. */
static void print_line(struct text *out, const struct member_line *line, const char *close)
{
    text_printf(out, "%s %s;%s /* %s%s */\n", line->type, line->names.data, close, line->shapes.data,
                line->note);
}

/* The struct of a module that has no others inside, as few lines as it takes; false: it has. */
static bool print_leaf(struct emit *e, struct text *out, const struct module *module, int indent)
{
    const struct member_lines lines = members_of(e, module, indent);
    const char *close = arena_format(&e->cx->arena, " } %s;", c_path(e->cx, module->name));

    for (int i = 0; i < module->child_count; i++)
        if (has_tensors(module->children[i]))
            return false;
    for (int i = 0; i < lines.count; i++) {
        text_printf(out, "%*s%s", indent, "", i ? "         " : "struct { ");
        print_line(out, &lines.list[i], i + 1 < lines.count ? "" : close);
    }
    return true;
}

static void print_members(struct emit *e, struct text *out, const struct module *module, int indent)
{
    const struct member_lines lines = members_of(e, module, indent);

    for (int i = 0; i < lines.count; i++) {
        text_printf(out, "%*s", indent, "");
        print_line(out, &lines.list[i], "");
    }
    for (int i = 0; i < module->child_count; i++) {
        const struct module *child = module->children[i];
        bool array = module_is_array(child), elements = module_is_array(module);
        const char *named;

        if (!has_tensors(child) || (elements && i > 0))
            continue;
        if (elements) { /* printed as the element type of the array by the parent */
            print_members(e, out, child, indent);
            return;
        }
        named = array ? struct_name(e, child->children[0]) : struct_name(e, child);
        if (!array && !named && print_leaf(e, out, child, indent))
            continue;
        if (named) {
            text_printf(out, "%*sstruct %s %s", indent, "", named, c_path(e->cx, child->name));
        } else {
            text_printf(out, "%*sstruct {\n", indent, "");
            print_members(e, out, child, indent + 4);
            text_printf(out, "%*s} %s", indent, "", c_path(e->cx, child->name));
        }
        if (array)
            text_printf(out, "[%d]", child->child_count);
        text_add(out, ";\n");
    }
}

void print_params(struct emit *e, struct text *out)
{
    for (int i = 1; i < e->plan->group_count; i++) {
        const struct pack_group *group = e->plan->groups[i];

        if (!has_tensors(group->root))
            continue;
        text_printf(out, "/* %s */\nstruct %s_%s {\n", text_in_comment(&e->cx->arena, group->root->signature),
                    e->m, group->name);
        print_members(e, out, group->root, 4);
        text_add(out, "};\n\n");
    }
    if (e->plan->backend->apart) {
        text_printf(out, "/* Nested as the module tree; in PyTorch's layout. */\nstruct %s_tensors {\n%s",
                    e->m, e->tree->key_count > 0 ? "" : "    char none;\n");
        print_members(e, out, e->tree->root, 4);
        text_printf(
            out,
            "};\n\n/* `base` and `mirror` are the runtime's. What is written to `host` by hand: see note [mirror] in modc_device.h. */\n"
            "struct %s_params {\n    struct modc_params base;\n",
            e->m);
        if (e->tree->key_count > 0)
            text_printf(out, "    struct %s_tensors host, device;\n", e->m);
        text_add(out, "    struct modc_mirror mirror;\n};\n\n");
        return;
    }
    text_printf(
        out,
        "/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */\nstruct %s_params {\n"
        "    struct modc_params base;\n",
        e->m);
    print_members(e, out, e->tree->root, 4);
    text_add(out, "};\n\n");
}
