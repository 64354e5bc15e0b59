/* compiler.c - the user's compilers; see compiler.h. */
#define _POSIX_C_SOURCE 200809L

#include "commands/compiler.h"

#include <stdlib.h>
#include <string.h>

#include "commands/options.h"

static const struct loc nowhere = {0};

struct process compiler_of(struct cx *cx, const char *variable, const char *name, const char *flags_variable,
                           const char *flags)
{
    const char *own = getenv(variable), *own_flags = getenv(flags_variable);
    struct process compiler = {.from = arena_format(&cx->arena, "$%s and $%s", variable, flags_variable)};

    process_words(cx, &compiler, own ? own : "");
    if (!compiler.words)
        process_word(cx, &compiler, name);
    process_words(cx, &compiler, own_flags ? own_flags : flags);
    return compiler;
}

struct process compiler_words(struct cx *cx, const char *cc, const char *flags)
{
    return compiler_of(cx, "CC", cc, "CFLAGS", flags);
}

struct process compiler_copy(struct cx *cx, const struct process *compiler)
{
    struct process process = {.from = compiler->from};

    for (int i = 0; compiler->words[i]; i++)
        process_word(cx, &process, compiler->words[i]);
    return process;
}

void compiler_flags(struct cx *cx, struct process *process, const struct output_file *file)
{
#ifdef __x86_64__
    static const char here[] = "x86-64";
#elif defined __aarch64__
    static const char here[] = "AArch64";
#else
    static const char here[] = "";
#endif

    if (file->flags && strcmp(file->machine, here) == 0)
        process_words(cx, process, file->flags);
}

int compiler_run(struct process *list, int count)
{
    if (!process_run(list, count, process_cores()))
        return COMPILER_TOLD_TO_END;
    for (int i = 0; i < count; i++)
        if (!process_succeeded(&list[i]))
            return i;
    return COMPILER_FINE;
}

int compiler_fault(struct cx *cx, const struct process *process, const char *hint)
{
    const char *name = process->words[0];

    if (process->error != 0) {
        diag_error(cx, nowhere, "the compiler '%s' cannot be started: %s", name, strerror(process->error));
        diag_hint(cx, "%s say which one is used", process->from);
        return EXIT_COMPILER;
    }
    if (process->signal != 0)
        diag_error(cx, nowhere, "the compiler '%s' died: %s", name, strsignal(process->signal));
    else
        diag_error(cx, nowhere, "the compiler '%s' failed with status %d", name, process->status);
    if (hint)
        diag_hint(cx, "%s", hint);
    process_quote(cx, process);
    return EXIT_COMPILER;
}
