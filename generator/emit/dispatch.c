/* dispatch.c - the table of instruction sets, and the files that compile a model for them; see dispatch.h. */
#include "emit/dispatch.h"

#include "base/options.h"

const char isa_base[] = "x86-64";

const struct isa_row isa_rows[ISA_ROWS] = {
    {"x86-64-v3", "x86_64_v3",
     "defined __AVX2__ && defined __FMA__ && defined __BMI2__ && !defined __AVX512F__"},
    {"x86-64-v4", "x86_64_v4",
     "defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512CD__ && defined __AVX512DQ__ && defined __AVX512VL__"},
};

bool dispatch_has(const struct cx *cx, const struct plan *variant)
{
    return cx->options->dispatch && !variant->backend->apart;
}

const char *dispatch_path(struct cx *cx, const char *model, const struct isa_row *isa)
{
    return arena_format(&cx->arena, "%s_%s.c", model, isa->suffix);
}

const char *dispatch_flags(struct cx *cx, const char *isa)
{
    return arena_format(&cx->arena, "-march=%s", isa);
}

const char *dispatch_text(struct cx *cx, const char *model, const struct isa_row *isa, const char *spec)
{
    const char *path = dispatch_path(cx, model, isa), *flags = dispatch_flags(cx, isa->name);

    return arena_format(
        &cx->arena,
        "/* %s - written by modc from %s: the functions of %s.c once more, for machines with %s.\n"
        " * Compile it with %s; for other processors than x86-64 it is empty. */\n"
        "#include \"%s.h\"\n\n#ifdef MODC_X86_64\n#if !(%s)\n#error \"compile %s with %s\"\n#endif\n"
        "#define MODC_CODE %s_code_%s\n#include \"%s.c\"\n#endif\n",
        path, spec, model, isa->name, flags, model, isa->has, path, flags, model, isa->suffix, model);
}
