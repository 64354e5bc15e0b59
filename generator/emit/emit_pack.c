/* emit_pack.c - arrays of constants, the packed structs and what fills them, weights that are embedded. */
#include "emit/emit_room.h"

#include <math.h>
#include <string.h>

#include "emit/template.h"
#include "modc.h"
#include "plan/weights.h"

static void add_hexadecimal(struct text *out, uint64_t word)
{
    char digits[2 + 16], *at = digits + sizeof digits;

    do
        *--at = "0123456789abcdef"[word % 16];
    while ((word /= 16) > 0);
    *--at = 'x';
    *--at = '0';
    text_add_bytes(out, at, (size_t)(digits + sizeof digits - at));
}

/* An initializer: what is not finite by names that are constants in every compiler, of halves the bits. */
static void print_number(struct emit *e, struct text *out, enum dtype dtype, union scalar value)
{
    extern const char *expr_number(struct cx *, enum dtype, double, int64_t);

    if (dtype_is_half(dtype)) {
        uint16_t bits;

        modc_store(&bits, (enum modc_dtype)dtype, value.f);
        add_hexadecimal(out, bits);
        return;
    }
    if (dtype_is_float(dtype) && !isfinite(value.f)) {
        text_add(out, isnan(value.f) ? "MODC_NAN" : value.f > 0 ? "INFINITY" : "-INFINITY");
        return;
    }
    text_add(out, expr_number(e->cx, dtype, dtype_is_float(dtype) ? value.f : 0,
                              dtype_is_float(dtype) ? 0 : value.i));
}

/* note [words]
 * 10 MB of random bytes take gcc 12 10.9 s and 1.1 GB as bytes in decimal, 6.4 s and 0.65 GB as words of 32 bits, 3.3 s and
 * 0.37 GB as words of 64; clang 14 6.9, 3.0 and 2.0 s. Texts would take 1.2 and 0.5 s, but MSVC cuts them at 64 KiB, ISO C at
 * 4095 bytes, and compilers warn where one has no room for its 0. */
static void add_words(struct text *out, const unsigned char *bytes, size_t length)
{
    enum { WORDS = 5 }; /* on a line */

    for (size_t i = 0; i * 8 < length; i++) {
        uint64_t word = 0;

        for (size_t k = 0; k < 8 && i * 8 + k < length; k++)
            word |= (uint64_t)bytes[i * 8 + k] << 8 * k;
        text_add(out, i % WORDS == 0 ? "\n    " : " ");
        add_hexadecimal(out, word);
        text_add(out, ",");
    }
}

/* A large one: the words of its bytes. */
static void print_words(struct emit *e, struct text *out, const char *name, const struct tensor *tensor)
{
    const int64_t length = constant_length(tensor);

    text_printf(
        out,
        "/* In words of little-endian machines, which compilers read sooner than numbers. */\n"
        "static MODC_ALIGNED const union {\n    uint64_t words[%lld];\n    %s values[%lld];\n} %s = {{",
        (long long)((length + 7) / 8), dtype_rows[tensor->dtype].c, (long long)tensor_count(tensor), name);
    add_words(out, (const unsigned char *)constant_bytes(&e->cx->arena, tensor), (size_t)length);
    text_add(out, "\n}};\n\n");
}

const char *array_values(struct emit *e, const char *name, const struct tensor *tensor)
{
    return constant_is_large(tensor) ? arena_format(&e->cx->arena, "%s.values", name) : name;
}

void print_array(struct emit *e, struct text *out, const char *name, const struct tensor *tensor)
{
    enum { LONGEST_NUMBER = 18 };
    int64_t count = tensor_count(tensor);
    size_t start;

    if (constant_is_large(tensor)) {
        print_words(e, out, name, tensor);
        return;
    }
    text_printf(out, "static MODC_ALIGNED const %s %s[%lld] = {\n   %s", dtype_rows[tensor->dtype].c, name,
                (long long)(count > 0 ? count : 1), count > 0 ? "" : " 0");
    start = out->length - 3;
    for (int64_t i = 0; i < count; i++) {
        if (out->length - start > EMITTED_WIDTH - LONGEST_NUMBER) {
            text_add(out, "\n   ");
            start = out->length - 3;
        }
        text_add(out, " ");
        print_number(e, out, tensor->dtype, tensor->data[i]);
        text_add(out, i + 1 < count ? "," : "");
    }
    text_add(out, "\n};\n\n");
}

/* A number of a table, as the spec has it. */
void print_double(struct emit *e, struct text *out, double number)
{
    if (isfinite(number))
        text_double(out, number);
    else
        print_number(e, out, DTYPE_FLOAT64, (union scalar){.f = number});
}

/* Elements of an array that fills whole lines of plan->align bytes, so that a struct has one layout whatever MODC_ALIGN
 * is, up to that. */
static int64_t whole_lines(const struct emit *e, int64_t count, enum dtype dtype)
{
    int bytes = dtype_rows[dtype].bytes;

    return plan_aligned(e->plan, (count > 0 ? count : 1) * bytes) / bytes;
}

const char *packed_struct(struct emit *e, const struct pack_group *group)
{
    return arena_format(&e->cx->arena, "%s_%s%spacked", e->m, group->name, group->name[0] ? "_" : "");
}

void print_packed_structs(struct emit *e, struct text *out)
{
    for (int g = 1; g <= e->plan->group_count; g++) {
        const struct pack_group *group = e->plan->groups[g % e->plan->group_count]; /* the model's last */

        if (group->bytes == 0)
            continue;
        text_printf(out, "/* %s */\nstruct %s {\n",
                    group->name[0] ? text_in_comment(&e->cx->arena, group->root->signature)
                                   : "What the kernels read",
                    packed_struct(e, group));
        if (e->plan->backend->apart && g == e->plan->group_count && e->plan->param_bytes > 0)
            text_printf(out, "    MODC_ALIGNED char parameters[%lld]; /* as they lie in their own block */\n",
                        (long long)e->plan->param_bytes);
        for (int i = 0; i < group->entry_count; i++) {
            const struct packed *entry = group->entries[i];

            if (!entry->read)
                continue;
            text_printf(out, "    MODC_ALIGNED %s %s[%lld]; /* %s */\n", dtype_rows[entry->dtype].c,
                        entry->name, (long long)whole_lines(e, entry->count, entry->dtype),
                        text_in_comment(&e->cx->arena, entry->comment));
        }
        for (int i = 0; i < group->child_count; i++) {
            const struct pack_child *child = &group->children[i];

            if (child->group->bytes == 0)
                continue;
            text_printf(out, "    struct %s %s", packed_struct(e, child->group), child->member);
            if (child->count > 0)
                text_printf(out, "[%d]", child->count);
            text_add(out, ";\n");
        }
        for (int i = 0; e->plan->backend->apart && g == e->plan->group_count && i < e->plan->constant_count;
             i++) {
            const struct tensor *tensor = e->plan->constants[i]->constant;

            text_printf(out, "    MODC_ALIGNED %s %s[%lld]; /* a constant */\n", dtype_rows[tensor->dtype].c,
                        e->plan->constant_names[i],
                        (long long)whole_lines(e, tensor_count(tensor), tensor->dtype));
        }
        text_add(out, "};\n\n");
    }
    if (e->plan->backend->apart && e->plan->groups[0]->bytes > 0)
        text_printf(out,
                    "#define PACKED_OF(params) ((struct %s *)(params)->packed)\n\n"
                    "typedef char %s_packed_fits[sizeof(struct %s) <= %s_PACKED_BYTES ? 1 : -1];\n\n",
                    packed_struct(e, e->plan->groups[0]), e->m, packed_struct(e, e->plan->groups[0]), e->M);
    else if (e->plan->groups[0]->bytes > 0)
        text_printf(out, "typedef char %s_packed_fits[MODC_PACKED_FITS(struct %s, %s_PACKED_BYTES)];\n\n",
                    e->m, packed_struct(e, e->plan->groups[0]), e->M);
    if (e->tree->state_count > 0) {
        text_printf(out, "struct %s_state {\n", e->m);
        for (int i = 0; i < e->tree->state_count; i++) {
            const struct module_tensor *tensor = e->tree->states[i];

            text_printf(out, "    MODC_ALIGNED %s %s[%lld]; /* %s */\n", dtype_rows[tensor->dtype].c,
                        emitted_flat(e->cx, tensor->path),
                        (long long)whole_lines(e, module_tensor_parts(tensor), dtype_part(tensor->dtype)),
                        tensor_shape_text(e->cx, tensor));
        }
        text_add(out, "};\n\n");
    }
}

const char *group_params(struct emit *e, const struct pack_group *group)
{
    return group->name[0]
               ? arena_format(&e->cx->arena, "%s_%s", e->m, group->name)
               : arena_format(&e->cx->arena, e->plan->backend->apart ? "%s_tensors" : "%s_params", e->m);
}

const char *module_path_c(struct emit *e, const struct module *root, const struct module *module)
{
    struct module_tensor probe = {.owner = (struct module *)module, .name = "x"};
    char *text = arena_string(&e->cx->arena, tensor_member(e->cx, root, &probe));

    text[strlen(text) - 2] = 0; /* without ".x" */
    return text;
}

/* Whether anything of the group is made of parameters, not of constants alone. */
static bool reads_params(const struct pack_group *group)
{
    for (int i = 0; i < group->child_count; i++)
        if (group->children[i].group->bytes > 0)
            return true;
    for (int i = 0; i < group->entry_count; i++)
        for (int c = 0; c < group->entries[i]->calls.count; c++) {
            const struct kernel_call *call = &group->entries[i]->calls.list[c];

            for (int o = 0; o < call->operand_count; o++)
                if (call->operands[o].kind == OPERAND_TENSOR)
                    return true;
        }
    return false;
}

/* On a GPU parameters and constants come into its memory first. */
static void print_uploads(struct emit *e, struct text *out)
{
    text_add(out, "    MODC_TRY(modc_upload(params));\n");
    for (int i = 0; i < e->plan->constant_count; i++)
        text_printf(out, "    MODC_TRY(modc_upload_constant(params, PACKED_OF(params)->%s, %s, %lld));\n",
                    e->plan->constant_names[i], e->plan->constant_names[i],
                    (long long)constant_length(e->plan->constants[i]->constant));
}

/* Whether it asks for the scales that weights came with. */
static bool reads_scales(const struct pack_group *group)
{
    for (int i = 0; i < group->child_count; i++)
        if (group->children[i].group->bytes > 0 && reads_scales(group->children[i].group))
            return true;
    for (int i = 0; i < group->entry_count; i++)
        if (storage_is_scaled(group->entries[i]->storage))
            return true;
    return false;
}

/* From the signature to the first entry. */
static void print_pack_head(struct emit *e, struct text *out, const struct pack_group *group)
{
    const bool apart = e->plan->backend->apart, reads = reads_params(group);
    const char *unused = apart ? "MODC_UNUSED " : "";

    if (group->name[0]) {
        text_printf(out, "static %s pack_%s(const struct %s *p, struct %s *k%s%s)\n{\n",
                    apart ? "enum modc_status" : "void", group->name, group_params(e, group),
                    packed_struct(e, group), group->work_bytes > 0 ? ", char *ws" : "",
                    apart                 ? ", struct modc_params *params"
                    : reads_scales(group) ? ", const struct modc_params *params"
                                          : "");
        if (!reads)
            text_add(out, "    (void)p; /* all of it is made of constants */\n");
        if (apart)
            text_add(out, "    (void)params;\n");
        return;
    }
    text_printf(out, "static enum modc_status %s_pack_all(struct modc_params *params)\n{\n", e->m);
    if (reads && apart)
        text_printf(
            out,
            "    const struct %s_tensors *p = &((const struct %s_params *)(const void *)params)->device;\n",
            e->m, e->m);
    else if (reads)
        text_printf(out, "    const struct %s_params *p = (const void *)params;\n", e->m);
    text_printf(out, "    struct %s *k %s= params->packed;\n", packed_struct(e, group), unused);
    if (group->work_bytes > 0)
        text_add(out, "    char *ws = (char *)(k + 1); /* what lies here is for packing alone */\n");
    text_add(out, "\n");
    if (apart)
        print_uploads(e, out);
}

void print_pack_functions(struct emit *e, struct text *out)
{
    for (int g = 1; g <= e->plan->group_count; g++) {
        const struct pack_group *group = e->plan->groups[g % e->plan->group_count];

        struct text body = text_new(&e->cx->arena);

        if (group->bytes == 0)
            continue;
        for (int i = 0; i < group->entry_count; i++)
            text_add(&body, kernel_pack(e->cx, e->plan, group->entries[i]));
        for (int i = 0; i < group->child_count; i++) {
            const struct pack_child *child = &group->children[i];
            const char *work = child->group->work_bytes > 0 ? ", ws" : "";

            if (child->group->bytes == 0)
                continue;
            const bool apart = e->plan->backend->apart;
            const char *begin = apart ? "MODC_TRY(" : "";
            const char *end = apart ? ", params))" : reads_scales(child->group) ? ", params)" : ")";

            if (child->count > 0) {
                const char *list = module_path_c(e, group->root, child->first->parent);

                text_printf(&body,
                            "    for (int i = 0; i < %d; i++)\n        %spack_%s(&p->%s[i], &k->%s[i]%s%s;\n",
                            child->count, begin, child->group->name, list, child->member, work, end);
            } else {
                text_printf(&body, "    %spack_%s(&p->%s, &k->%s%s%s;\n", begin, child->group->name,
                            module_path_c(e, group->root, child->first), child->member, work, end);
            }
        }
        print_pack_head(e, out, group);
        text_add(out, body.data);
        text_add(out, !e->plan->backend->apart ? group->name[0] ? "}\n\n" : "    return MODC_OK;\n}\n\n"
                      : group->name[0]         ? "    return MODC_OK;\n}\n\n"
                                               : "    return modc_uploaded(params);\n}\n\n");
    }
}

/* Where the packed struct of an instance of the group holds an entry of this tensor: "" or "blocks[3].". */
static const char *entry_inside(struct emit *e, const struct pack_group *group, const struct module *instance,
                                const struct packed *entry, const struct module_tensor *tensor)
{
    for (int i = 0; i < group->entry_count; i++)
        if (group->entries[i] == entry)
            return "";
    for (int i = 0; i < group->child_count; i++) {
        const struct pack_child *child = &group->children[i];
        const struct module *part = child->count > 0 ? child->first->parent : child->first;

        for (const struct module *module = tensor->owner; module && module->parent; module = module->parent)
            if (is_moved(e->cx, group, instance, part, child->count > 0 ? module->parent : module))
                return arena_format(&e->cx->arena, child->count > 0 ? "%s[%s].%s" : "%s.%.0s%s",
                                    child->member, module->name,
                                    entry_inside(e, child->group, module, entry, tensor));
    }
    return "";
}

/* Tensors that lie only packed, back in PyTorch's layout. False: there are none, or nobody asks for them. */
bool print_unpack(struct emit *e, struct text *out)
{
    struct text cases = text_new(&e->cx->arena);

    if (!e->plan->program->settings.state_dict)
        return false;
    for (int i = 0; e->weights && i < e->tree->key_count; i++) {
        const struct module_tensor *tensor = e->tree->keys[i];
        const struct packed *entry = e->weights->packed[i];

        if (e->weights->raw[i] >= 0 || tensor->first != tensor)
            continue;
        for (int tied = i; tied < e->tree->key_count; tied++)
            if (e->tree->keys[tied]->first == tensor)
                text_printf(&cases, "    case %d: /* %s */\n", tied, e->tree->keys[tied]->path);
        text_printf(&cases, "%s        return MODC_OK;\n",
                    kernel_unpack(e->cx, e->plan, entry,
                                  entry_inside(e, e->plan->groups[0], e->tree->root, entry, tensor)));
    }
    if (cases.length > 0)
        text_printf(
            out,
            "static enum modc_status %s_unpack(const struct modc_params *params, int index, void *out)\n{\n"
            "    const struct %s *k = params->packed;\n\n    switch (index) {\n%s    default:\n"
            "        return MODC_NAME;\n    }\n}\n\n",
            e->m, packed_struct(e, e->plan->groups[0]), cases.data);
    return cases.length > 0;
}

void print_embedded(struct emit *e, struct text *out)
{
    const struct embedded_weights *weights = e->weights;

    if (!weights)
        return;
    text_printf(out,
                "static enum modc_status %s_bind_all(struct modc_params *base)\n{\n"
                "    struct %s_params *p = (struct %s_params *)(void *)base;\n\n",
                e->m, e->m, e->m);
    text_printf(
        out,
        "    memset(p, 0, sizeof *p);\n    base->model = &%s_model;\n    base->version = 1;\n    base->packed_version = 1;\n"
        "    base->read_only = true;\n    base->packed = (void *)(uintptr_t)%s_weights;\n",
        e->m, e->m);
    for (int i = 0; i < e->tree->key_count; i++) {
        const struct module_tensor *tensor = e->tree->keys[i];

        if (weights->raw[i] >= 0)
            text_printf(out, "    p->%s = (void *)((uintptr_t)%s_weights + %lld);\n",
                        tensor_member(e->cx, e->tree->root, tensor), e->m, (long long)weights->raw[i]);
    }
    text_printf(out,
                "    return MODC_OK;\n}\n\nenum modc_status %s_bind_embedded(struct %s_params *params)\n{\n"
                "    return %s_bind_all(&params->base);\n}\n\n",
                e->m, e->m, e->m);
}

const char *weights_source(struct cx *cx, const char *model)
{
    return arena_format(&cx->arena, "%s_weights.%s", model, weights_are_array(cx) ? "c" : "S");
}

/* No build tool sees what .incbin reads: the hash is there so that this file changes when the weights do. */
const char *weights_assembly(struct emit *e)
{
    return arena_format(
        &e->cx->arena,
        "/* %s_weights.S - written by modc; found through -I. The weights have the hash %016llx. */\n"
        "#if defined __APPLE__\n#define SYMBOL _%s_weights\n    .section __TEXT,__const\n"
        "#else\n#define SYMBOL %s_weights\n    .section .rodata\n#endif\n"
        "    .global SYMBOL\n    .balign %d\nSYMBOL:\n    .incbin \"%s_weights.bin\"\n"
        "#if defined __ELF__\n    .section .note.GNU-stack, \"\", %%progbits\n#endif\n",
        e->m, (unsigned long long)text_hash_large(e->weights->bytes, e->weights->length), e->m, e->m,
        e->plan->align, e->m);
}

struct text weights_array(struct emit *e)
{
    struct text out = text_new(&e->cx->arena);
    size_t count = (e->weights->length + 7) / 8;

    text_printf(&out,
                "/* %s - written by modc: the weights of %s, in words of little-endian machines. */\n"
                "#include \"modc.h\"\n\n"
                "extern const uint64_t %s_weights[];\n"
                "MODC_ALIGNED const uint64_t %s_weights[%zu] = {",
                weights_source(e->cx, e->m), e->m, e->m, e->m, count > 0 ? count : 1);
    add_words(&out, e->weights->bytes, e->weights->length);
    text_add(&out, count > 0 ? "\n};\n" : "0};\n");
    return out;
}
