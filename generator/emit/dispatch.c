/* dispatch.c - the table of instruction sets, and the files that compile a model for them; see dispatch.h. */
#include "emit/dispatch.h"

#include "base/options.h"
#include "plan/algorithm.h"

/* Of AArch64 the project's own flags may say more than a set does. */
const struct isa_machine isa_machines[] = {
    {"x86-64", "-march=x86-64", "#ifdef MODC_X86_64", "#ifdef MODC_X86_64", "^(x86_64|amd64|AMD64)$"},
    {"AArch64", NULL, "#ifdef __aarch64__", "#if defined __aarch64__ && !defined __ARM_FEATURE_DOTPROD",
     "^(aarch64|arm64|ARM64)$"},
};
const int isa_machine_count = COUNT(isa_machines);

#define HAS_V3 "defined __AVX2__ && defined __FMA__ && defined __BMI2__"
#define HAS_V4                                                                                               \
    "defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512CD__ && defined __AVX512DQ__ && defined __AVX512VL__"

static const struct isa_row rows[] = {
    {"x86-64-v3", "x86_64_v3", &isa_machines[0], "-march=x86-64-v3", HAS_V3 " && !defined __AVX512F__",
     false},
    {"x86-64-v3-vnni", "x86_64_v3_vnni", &isa_machines[0], "-march=x86-64-v3 -mavxvnni",
     HAS_V3 " && defined __AVXVNNI__ && !defined __AVX512F__", true},
    {"x86-64-v4", "x86_64_v4", &isa_machines[0], "-march=x86-64-v4", HAS_V4, false},
    {"x86-64-v4-vnni", "x86_64_v4_vnni", &isa_machines[0], "-march=x86-64-v4 -mavx512vnni",
     HAS_V4 " && defined __AVX512VNNI__", true},
    {"aarch64-dotprod", "aarch64_dotprod", &isa_machines[1], "-march=armv8.2-a+dotprod",
     "defined __ARM_FEATURE_DOTPROD", true},
};

bool dispatch_has(const struct cx *cx, const struct plan *variant)
{
    return cx->options->dispatch && !variant->backend->apart;
}

/* Some step multiplies bytes. */
static bool has_dots(const struct plan *plan)
{
    for (int i = 0; i < plan->variant_count; i++)
        for (int s = 0; s < plan->variants[i]->step_count; s++) {
            const struct algorithm *algorithm = plan->variants[i]->steps[s].algorithm;

            if (algorithm && algorithm->dots)
                return true;
        }
    return false;
}

int dispatch_rows(struct cx *cx, const struct plan *variant, const struct isa_row *const **found)
{
    const struct isa_row **list = ARENA_ARRAY(&cx->arena, COUNT(rows), const struct isa_row *);
    const bool dispatched = dispatch_has(cx, variant), dots = dispatched && has_dots(variant);
    int count = 0;

    for (int i = 0; dispatched && i < COUNT(rows); i++)
        if (dots || !rows[i].dots)
            list[count++] = &rows[i];
    *found = list;
    return count;
}

const char *dispatch_path(struct cx *cx, const char *model, const struct isa_row *isa)
{
    return arena_format(&cx->arena, "%s_%s.c", model, isa->suffix);
}

const char *dispatch_text(struct cx *cx, const char *model, const struct isa_row *isa, const char *spec)
{
    const char *path = dispatch_path(cx, model, isa);

    return arena_format(
        &cx->arena,
        "/* %s - written by modc from %s: the functions of %s.c once more, for machines with %s.\n"
        " * Compile it with %s; for other processors than %s it is empty. */\n"
        "#include \"%s.h\"\n\n%s\n#if !(%s)\n#error \"compile %s with %s\"\n#endif\n"
        "#define MODC_CODE %s_code_%s\n#include \"%s.c\"\n#endif\n",
        path, spec, model, isa->name, isa->flags, isa->machine->name, model, isa->machine->here, isa->has,
        path, isa->flags, model, isa->suffix, model);
}
