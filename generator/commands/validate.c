/* validate.c - generate --validate; see validate.h. Every .c is read once for each vector width that the text chooses
 * from, every header also as C++, every .cu with the header of the stand-in for a GPU. */
#include "commands/validate.h"

#include <string.h>

#include "base/terminal.h"
#include "commands/compiler.h"
#include "commands/options.h"
#include "commands/process.h"
#include "emit/bundle.h"

static const struct loc nowhere = {0};

static const char c_words[] =
    "clang -fsyntax-only -x c -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes "
    "-Wvla -Wconversion -Werror";
static const char cxx_words[] =
    "clang -fsyntax-only -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror";

static const char cuda_words[] = /* sizes of launches and indices of threads are unsigned */
    "clang -fsyntax-only -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror";

static const char *const widths[] = {
    "",
    "-DMODC_LANES=1",
#ifdef __x86_64__
    "-mavx2 -mfma",
    "-mavx512f",
#endif
};

struct validation {
    struct cx *cx;
    const char *folder;
    int folders; /* with that of the stand-in for a GPU in it */
    struct process *list;
    int count;
};

/* A header is read as included: Clang calls functions unused where a header is the main file. */
static void add(struct validation *v, const char *words, const char *more, const struct output_file *file)
{
    const char *path = file->path;
    bool header = text_ends_with(path, ".h");
    struct arena *arena = &v->cx->arena;
    struct process process = {0};

    process_words(v->cx, &process, words);
    process_words(v->cx, &process, more);
    compiler_flags(v->cx, &process, file);
    process_word(v->cx, &process, arena_format(arena, "-I%s", v->folder));
    if (header)
        process_word(v->cx, &process, "-include");
    process_word(v->cx, &process, arena_format(arena, "%s/%s", v->folder, path));
    if (header)
        process_word(v->cx, &process, "/dev/null");
    process.said = arena_format(arena, "%s/said-%d", v->folder, v->count);
    ARENA_PUSH(arena, v->list, v->count, process);
}

static int judge(struct validation *v)
{
    for (int i = 0; i < v->count; i++) {
        const struct process *process = &v->list[i];
        struct text words = text_new(&v->cx->arena);

        if (process_succeeded(process))
            continue;
        if (process->error != 0) {
            diag_error(v->cx, nowhere, "--validate needs clang, which cannot be started: %s",
                       strerror(process->error));
            return EXIT_COMPILER;
        }
        for (int k = 0; process->words[k]; k++)
            text_printf(&words, "%s%s", k ? " " : "", process->words[k]);
        diag_error(v->cx, nowhere,
                   "a fault of modc itself: Clang refuses what was emitted; nothing was written");
        diag_hint(v->cx, "please report it with the spec; the command was: %s", words.data);
        process_quote(v->cx, process);
        return EXIT_FAULT;
    }
    return EXIT_DONE;
}

static bool write_files(struct validation *v, const struct plan *plan, const struct output_file *files,
                        int count)
{
    unsigned parts = bundle_parts(plan);
    const char *error = NULL;

    v->folder = process_make_folder(v->cx, &error);
    v->folders += v->folder != NULL;
    if (parts && !error) {
        v->folders += process_make_inner(v->cx, v->folder, bundle_emulation, &error) != NULL;
        parts |= BUNDLE_EMULATION;
    }
    files = bundle_runtime(v->cx, files, &count, parts);
    if (!error && output_write(v->cx, v->folder, files, count, &error))
        return true;
    diag_error(v->cx, nowhere, "%s", error);
    return false;
}

static void remove_files(struct validation *v)
{
    for (; v->folders > 0; v->folders--)
        process_remove_folder();
}

int validate_files(struct cx *cx, const struct plan *plan, const struct output_file *files, int count)
{
    struct validation v = {.cx = cx};
    int status = EXIT_FILE;

    if (write_files(&v, plan, files, count)) {
        for (int i = 0; i < count; i++) {
            for (int w = 0;
                 w < COUNT(widths) && text_ends_with(files[i].path, ".c") && (w == 0 || !files[i].flags); w++)
                add(&v, c_words, widths[w], &files[i]);
            if (text_ends_with(files[i].path, ".h")) {
                add(&v, c_words, "", &files[i]);
                add(&v, cxx_words, "", &files[i]);
            }
            if (text_ends_with(files[i].path, ".cu"))
                add(&v, cuda_words, arena_format(&cx->arena, "-I%s/%s", v.folder, bundle_emulation),
                    &files[i]);
        }
        progress_step("letting Clang read what was emitted ...");
        if (!process_run(v.list, v.count, process_cores())) {
            remove_files(&v);
            process_end();
        }
        status = judge(&v);
    }
    remove_files(&v);
    return status;
}
