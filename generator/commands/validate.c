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

int validate_files(struct cx *cx, const struct plan *plan, const struct output_file *files, int count)
{
    const char *error = NULL;
    struct validation v = {.cx = cx, .folder = process_make_folder(cx, &error)};
    int all_count = count, status = EXIT_FILE;
    unsigned parts = bundle_parts(plan);
    struct output_file *all = bundle_runtime(cx, files, &all_count, parts | (parts ? BUNDLE_EMULATION : 0));

    if (!v.folder || !output_write(cx, v.folder, all, all_count, &error)) {
        diag_error(cx, nowhere, "%s", error);
    } else {
        for (int i = 0; i < count; i++) {
            for (int w = 0;
                 w < COUNT(widths) && text_ends_with(files[i].path, ".c") && (w == 0 || !files[i].flags); w++)
                add(&v, c_words, widths[w], &files[i]);
            if (text_ends_with(files[i].path, ".h")) {
                add(&v, c_words, "", &files[i]);
                add(&v, cxx_words, "", &files[i]);
            }
            if (text_ends_with(files[i].path, ".cu"))
                add(&v, cuda_words, arena_format(&cx->arena, "-I%s/cuda_host", v.folder), &files[i]);
        }
        progress_step("letting Clang read what was emitted ...");
        if (!process_run(v.list, v.count, process_cores())) {
            process_remove_folder();
            process_end();
        }
        status = judge(&v);
    }
    if (v.folder)
        process_remove_folder();
    return status;
}
