/* run.c - `modc run`: writes the model and the runtime into a folder, compiles them and executes the driver.
 *
 * note [kept programs]
 * With --keep, a file NAME.stamp beside the program says what it was made of: a hash of all sources and the words of
 * the compiler. While it is true nothing is compiled. Runs at the same time lock the stamp: to compile alone, and to
 * share while the program executes, so that nobody replaces it then. */
#define _POSIX_C_SOURCE 200809L

#include "commands/run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/terminal.h"
#include "commands/cache.h"
#include "commands/compiler.h"
#include "commands/options.h"
#include "commands/toolchain.h"
#include "emit/bundle.h"

static const struct loc nowhere = {0};

struct run {
    struct cx *cx;
    const struct options *options;
    const struct plan *plan;
    const char *folder; /* of sources and program */
    const char *bodies; /* the file of --extern among the sources; or NULL */
    int temporary;      /* folders to be removed: it and, of what is emulated, one in it */
    const char *program, *stamp;
    struct output_file *files; /* the model's, the runtime's, what of it serves a device */
    int own, common, count;    /* where each of these ends */
    struct toolchain toolchain;
    bool interrupted;
};

/* ---- before anything is compiled -------------------------------------------------------------------------- */

static bool check_read(struct cx *cx, const struct run_option *option)
{
    struct stat info;
    const char *reason = NULL;

    if (stat(option->value, &info) != 0)
        reason = strerror(errno);
    else if (S_ISDIR(info.st_mode))
        reason = strerror(EISDIR);
    else if (!S_ISREG(info.st_mode))
        reason = "it is not a file"; /* to open a pipe would wait for a writer */
    else if (access(option->value, R_OK) != 0)
        reason = strerror(errno);
    if (reason) {
        diag_error(cx, nowhere, "%s: cannot read '%s': %s", option->name, option->value, reason);
        source_hint_pipe(cx, option->value);
    }
    return !reason;
}

static bool check_write(struct cx *cx, const struct run_option *option)
{
    const char *slash = strrchr(option->value, '/');
    const char *folder = slash ? arena_copy(&cx->arena, option->value, (size_t)(slash - option->value) + 1)
                               : ".";
    struct stat info;
    int reason = 0;

    if (stat(option->value, &info) == 0 && S_ISDIR(info.st_mode))
        reason = EISDIR;
    else if (access(folder, W_OK | X_OK) != 0)
        reason = errno;
    if (reason != 0)
        diag_error(cx, nowhere, "%s: cannot write '%s': %s", option->name, option->value, strerror(reason));
    return reason == 0;
}

static int check_files(struct run *run)
{
    int status = EXIT_DONE;

    for (int i = 0; i < run->options->run_option_count; i++) {
        const struct run_option *option = &run->options->run_options[i];

        if ((option->reads && !check_read(run->cx, option)) ||
            (option->writes && !check_write(run->cx, option)))
            status = EXIT_FILE;
    }
    return status;
}

static int check_entry(struct run *run, const char *name)
{
    const struct program *program = run->plan->program;
    const char **names = ARENA_ARRAY(&run->cx->arena, program->entry_count + 1, const char *);
    struct text all = text_new(&run->cx->arena);

    for (int i = 0; i < program->entry_count; i++) {
        names[i] = program->entries[i].name;
        if (strcmp(names[i], name) == 0)
            return EXIT_DONE;
        text_printf(&all, "%s%s", i ? ", " : "", names[i]);
    }
    diag_error(run->cx, nowhere, "%s has no entry '%s'", run->plan->model, name);
    diag_hint_nearest(run->cx, name, names, program->entry_count);
    diag_hint(run->cx, "it has: %s", all.data);
    return EXIT_COMMAND_LINE;
}

/* The bodies of Externs are there, if there are Externs. */
static int check_bodies(struct run *run)
{
    const struct module_tree *tree = run->plan->program->tree;
    const struct extern_body *body = tree->extern_count > 0 ? tree->externs[0] : NULL;
    const struct run_option option = {.name = "--extern", .value = run->options->bodies, .reads = true};

    if (body && !option.value) {
        diag_error(run->cx, body->loc, "the body '%s' is yours to write: --extern FILE.c has it", body->name);
        diag_hint(run->cx,
                  "it includes %s.h and defines enum modc_status %s_extern_%s(struct modc_extern_call *call)",
                  tree->name, tree->name, body->name);
        return EXIT_COMMAND_LINE;
    }
    if (option.value && !body) {
        diag_error(run->cx, nowhere, "--extern: %s has no Extern", run->plan->model);
        return EXIT_COMMAND_LINE;
    }
    return !option.value || check_read(run->cx, &option) ? EXIT_DONE : EXIT_FILE;
}

static int check_options(struct run *run)
{
    int status = check_bodies(run);

    for (int i = 0; i < run->options->run_option_count && status == EXIT_DONE; i++)
        if (strcmp(run->options->run_options[i].name, "--entry") == 0)
            status = check_entry(run, run->options->run_options[i].value);
    return status != EXIT_DONE ? status : check_files(run);
}

/* ---- the folder ------------------------------------------------------------------------------------------- */

/* What the program is made of. */
static const char *make_stamp(const struct run *run)
{
    struct text text = text_new(&run->cx->arena);

    text_add(&text, "made by modc run from\n");
    for (int i = 0; i < run->count; i++)
        text_printf(&text, "%016llx %s\n",
                    (unsigned long long)text_hash(run->files[i].bytes, run->files[i].length),
                    run->files[i].path);
    for (int role = 0; role < (run->count > run->common ? TOOLCHAIN_ROLES : 1); role++) {
        const struct process *compiler = &run->toolchain.roles[role];

        for (int i = 0; compiler->words[i]; i++)
            text_printf(&text, "%s%s", i ? " " : "", compiler->words[i]);
        text_add(&text, "\n");
    }
    return text.data;
}

static int find_folder(struct run *run)
{
    const char *error = NULL;

    if (run->options->keep) {
        run->folder = run->options->keep;
        /* for the lock; the sources come when they are needed */
        if (!output_write(run->cx, run->folder, NULL, 0, &error)) {
            diag_error(run->cx, nowhere, "--keep: %s", error);
            return EXIT_FILE;
        }
    } else {
        run->folder = process_make_folder(run->cx, &error);
        if (!run->folder) {
            diag_error(run->cx, nowhere, "%s", error);
            return EXIT_FILE;
        }
        run->temporary++;
        if (run->toolchain.emulates) {
            if (!process_make_inner(run->cx, run->folder, bundle_emulation, &error)) {
                diag_error(run->cx, nowhere, "%s", error);
                return EXIT_FILE;
            }
            run->temporary++;
        }
    }
    run->program = arena_format(&run->cx->arena, "%s%s/%s", strchr(run->folder, '/') ? "" : "./", run->folder,
                                run->plan->model);
    run->stamp = arena_format(&run->cx->arena, "%s/%s.stamp", run->folder, run->plan->model);
    return EXIT_DONE;
}

static int write_sources(struct run *run)
{
    const char *error = NULL;

    if (output_write(run->cx, run->folder, run->files, run->count, &error))
        return EXIT_DONE;
    diag_error(run->cx, nowhere, "%s", error);
    return EXIT_FILE;
}

/* The files, and behind them that of --extern. */
static const struct output_file *with_bodies(struct run *run, const struct output_file *files, int *count)
{
    enum { MOST = 16 << 20 };
    struct output_file *all;
    const struct source *source;
    const char *error = NULL;

    if (!run->options->bodies)
        return files;
    source = source_read(run->cx, run->options->bodies, MOST, &error);
    if (!source) {
        diag_error(run->cx, nowhere, "--extern: cannot read '%s': %s", run->options->bodies, error);
        return NULL;
    }
    all = ARENA_ARRAY(&run->cx->arena, *count + 1, struct output_file);
    memcpy(all, files, (size_t)*count * sizeof *all);
    run->bodies = arena_format(&run->cx->arena, "%s_extern.c", run->plan->model);
    all[(*count)++] = (struct output_file){run->bodies, source->text, source->length, NULL};
    return all;
}

/* ---- compiling -------------------------------------------------------------------------------------------- */

static int run_compilers(struct run *run, struct process *list, int count)
{
    int failed = compiler_run(list, count);

    run->interrupted |= failed == COMPILER_TOLD_TO_END;
    return failed == COMPILER_FINE ? EXIT_DONE
           : failed >= 0           ? compiler_fault(run->cx, &list[failed], NULL)
                                   : EXIT_COMPILER;
}

/* Files that only the compilation needs. */
struct leftovers {
    const char **objects;
    int object_count;
    struct process *list; /* the processes and, behind them, the linker */
    const char *built;
    int count;
};

static void remove_leftovers(void *data)
{
    const struct leftovers *left = data;

    for (int i = 0; i < left->object_count; i++)
        unlink(left->objects[i]);
    for (int i = 0; i <= left->count; i++)
        unlink(left->list[i].said);
    unlink(left->built); /* there after a fault alone */
}

/* The words that compile a file of this folder to this object. */
static struct process object_process(const struct run *run, const struct output_file *file,
                                     const char *folder, const char *object)
{
    struct arena *arena = &run->cx->arena;
    const enum toolchain_role role = file->path == run->bodies ? TOOLCHAIN_HOST : toolchain_role(file);
    struct process own = compiler_copy(run->cx, &run->toolchain.roles[role]);

    own.said = arena_format(arena, "%s/%s.said", folder, file->path);
    compiler_flags(run->cx, &own, file);
    process_word(run->cx, &own, arena_format(arena, "-I%s", folder));
    if (run->toolchain.emulates && role != TOOLCHAIN_C)
        process_word(run->cx, &own, arena_format(arena, "-I%s/%s", folder, bundle_emulation));
    if (file->path == run->bodies) { /* what it includes lies where it does */
        const char *slash = strrchr(run->options->bodies, '/');

        process_word(run->cx, &own, "-I");
        process_word(run->cx, &own,
                     slash
                         ? arena_copy(arena, run->options->bodies, (size_t)(slash - run->options->bodies) + 1)
                         : ".");
    }
    process_word(run->cx, &own, "-DMODC_LIBM"); /* modc_reset.c: PyTorch's bits for float64 too */
    if (!cache_takes(file))
        process_word(run->cx, &own, arena_format(arena, "-DMODC_MODEL=%s_model", run->plan->model));
    process_word(run->cx, &own, "-c");
    process_word(run->cx, &own, "-o");
    process_word(run->cx, &own, object);
    process_word(run->cx, &own, arena_format(arena, "%s/%s", folder, file->path));
    return own;
}

enum { RUNTIME_PARTS = 2 }; /* what all models have, and what serves a device */

/* True: all objects are there. */
static bool open_caches(struct run *run, struct cache caches[RUNTIME_PARTS])
{
    const struct output_file *runtime = run->files + run->own;
    const int common = run->common - run->own, all = run->count - run->own;

    caches[0] = cache_open(run->cx, runtime, common, 0, &run->toolchain.roles[TOOLCHAIN_C], 1);
    caches[1] = all > common
                    ? cache_open(run->cx, runtime, all, common, run->toolchain.roles, TOOLCHAIN_LINKER)
                    : (struct cache){.fresh = caches[0].fresh, .file = -1};
    return caches[0].fresh && caches[1].fresh;
}

static void close_caches(struct run *run, struct cache caches[RUNTIME_PARTS], bool compiled)
{
    for (int i = 0; i < RUNTIME_PARTS; i++) {
        if (compiled && caches[i].folder && !caches[i].fresh)
            cache_keep(run->cx, &caches[i]);
        cache_close(&caches[i]);
    }
}

/* Every source on its own, on all cores, since the model takes as long as the whole runtime, if that is not in the cache. */
static int compile(struct run *run)
{
    struct arena *arena = &run->cx->arena;
    struct process *list = ARENA_ARRAY(arena, run->count + 1, struct process), *link;
    struct leftovers left = {.objects = ARENA_ARRAY(arena, run->count + 1, const char *), .list = list};
    const char **objects = ARENA_ARRAY(arena, run->count + 1, const char *); /* of all files */
    struct arena_guard guard = {.run = remove_leftovers, .data = &left};
    struct cache caches[RUNTIME_PARTS];
    bool fresh;
    int count = 0, object_count = 0, status;

    left.built = arena_format(arena, "%s.new-%ld", run->program, (long)getpid());
    fresh = open_caches(run, caches);
    for (int i = 0; i < run->count; i++) {
        const struct output_file *file = &run->files[i];
        const struct cache *cache = i < run->own || !cache_takes(file) ? NULL : &caches[i >= run->common];
        const char *object;

        if (toolchain_role(file) == TOOLCHAIN_ROLES)
            continue;
        if (cache && !cache->folder)
            cache = NULL;
        object = cache ? cache_object(run->cx, cache, file)
                       : arena_format(arena, "%s/%s.o", run->folder, file->path);
        objects[object_count++] = object;
        if (!cache)
            left.objects[left.object_count++] = object;
        if (!cache || !cache->fresh)
            list[count++] = object_process(run, file, cache ? cache->folder : run->folder, object);
    }
    link = &list[count];
    *link = compiler_copy(run->cx, &run->toolchain.roles[TOOLCHAIN_LINKER]);
    link->said = arena_format(arena, "%s.said", run->program);
    process_word(run->cx, link, "-o");
    process_word(run->cx, link, left.built);
    for (int i = 0; i < object_count; i++)
        process_word(run->cx, link, objects[i]);
    process_words(run->cx, link, run->toolchain.libraries);

    left.count = count;
    arena_guard(&guard);
    progress_step(fresh ? "compiling %s.c ..." : "compiling %s.c and the runtime ...", run->plan->model);
    status = run_compilers(run, list, count);
    if (status == EXIT_DONE)
        status = run_compilers(run, link, 1);
    close_caches(run, caches, status == EXIT_DONE);
    if (status == EXIT_DONE && access(left.built, F_OK) != 0) {
        diag_error(run->cx, nowhere, "the compiler '%s' made no program", link->words[0]);
        status = EXIT_COMPILER;
    } else if (status == EXIT_DONE && rename(left.built, run->program) != 0) {
        diag_error(run->cx, nowhere, "cannot write '%s': %s", run->program, strerror(errno));
        status = EXIT_FILE;
    }
    arena_unguard(true);
    return status;
}

/* ---- kept programs ---------------------------------------------------------------------------------------- */

/* Where a file system cannot lock, runs at the same time are the user's affair. */
static void lock(int file, short type)
{
    struct flock wish = {.l_type = type, .l_whence = SEEK_SET};

    while (fcntl(file, F_SETLKW, &wish) != 0 && errno == EINTR)
        continue;
}

static bool is_fresh(const struct run *run, int file, const char *stamp)
{
    size_t length = strlen(stamp);
    char *found = arena_alloc(&run->cx->arena, length + 1);

    return access(run->program, X_OK) == 0 && pread(file, found, length + 1, 0) == (ssize_t)length &&
           memcmp(found, stamp, length) == 0;
}

static int update_program(struct run *run, int file, const char *stamp)
{
    size_t length = strlen(stamp);
    int status;

    if (ftruncate(file, 0) != 0) {
        diag_error(run->cx, nowhere, "cannot write '%s': %s", run->stamp, strerror(errno));
        return EXIT_FILE;
    }
    status = write_sources(run);
    if (status == EXIT_DONE)
        status = compile(run);
    if (status == EXIT_DONE && pwrite(file, stamp, length, 0) != (ssize_t)length) {
        diag_error(run->cx, nowhere, "cannot write '%s': %s", run->stamp, strerror(errno));
        status = EXIT_FILE;
    }
    return status;
}

/* See note [kept programs]. The lock ends with modc, or when *file is closed. */
static int find_program(struct run *run, int *file)
{
    const char *stamp = make_stamp(run);
    int status = EXIT_DONE;

    *file = open(run->stamp, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*file < 0) {
        diag_error(run->cx, nowhere, "cannot write '%s': %s", run->stamp, strerror(errno));
        return EXIT_FILE;
    }
    lock(*file, F_RDLCK);
    if (is_fresh(run, *file, stamp))
        return EXIT_DONE;
    lock(*file, F_UNLCK); /* two that both turn a shared lock into their own would wait for each other */
    lock(*file, F_WRLCK);
    if (!is_fresh(run, *file, stamp))
        status = update_program(run, *file, stamp);
    lock(*file, F_RDLCK);
    return status;
}

/* ---- executing -------------------------------------------------------------------------------------------- */

/* A status that the driver ends with, and has said why. */
static bool is_own(int status)
{
    static const int own[] = {EXIT_DONE, EXIT_COMMAND_LINE, EXIT_FILE, EXIT_DIFFER, EXIT_FAULT, EXIT_DEVICE};

    for (int i = 0; i < COUNT(own); i++)
        if (own[i] == status)
            return true;
    return false;
}

/* False: it looks as closely as it can. */
static bool hint_closer(struct run *run)
{
    if (strcmp(run->options->emulate, "check") == 0)
        return false;
    diag_hint(run->cx, "--emulate=check looks closer");
    return true;
}

static void say_death(struct run *run, int signal)
{
    diag_error(run->cx, nowhere, "the program died: %s", strsignal(signal));
    if (run->toolchain.emulates)
        hint_closer(run);
}

static int say_kernels(struct run *run)
{
    diag_error(run->cx, nowhere, "the emulated GPU found faults in what %s does there", run->plan->model);
    if (!hint_closer(run))
        diag_hint(run->cx,
                  "a fault of modc itself, if it is in no body of an Extern: please report it with the spec");
    return EXIT_KERNELS;
}

static int execute(struct run *run, const struct run_option *options, int count)
{
    struct process program = {0};

    process_word(run->cx, &program, run->program);
    if (run->options->command == COMMAND_CHAT)
        process_word(run->cx, &program, "--chat");
    for (int i = 0; i < count; i++) {
        const struct run_option *option = &options[i];

        process_word(run->cx, &program,
                     option->value ? arena_format(&run->cx->arena, "%s=%s", option->name, option->value)
                                   : option->name);
    }
    progress_end();
    diag_print(run->cx, stderr, run->options->diagnostics); /* warnings, before the program says something */
    run->cx->item_count = 0;
    fflush(stdout);
    fflush(stderr);
    if (!process_run(&program, 1, 1)) {
        run->interrupted = true;
        return EXIT_COMPILER;
    }
    if (program.error != 0)
        diag_error(run->cx, nowhere, "'%s' cannot be started: %s", run->program, strerror(program.error));
    else if (program.signal != 0)
        say_death(run, program.signal);
    else if (run->toolchain.emulates && program.status == EXIT_KERNELS)
        return say_kernels(run);
    else if (is_own(program.status))
        return program.status;
    else /* a sanitizer's, for one */
        diag_error(run->cx, nowhere, "the program ended with status %d", program.status);
    return EXIT_COMPILER;
}

/* Which compilers, and with whatever they compile the files of the runtime behind the model's. */
static int find_tools(struct run *run, const struct output_file *files)
{
    struct cx *cx = run->cx;
    unsigned parts = bundle_parts(run->plan);
    int status = EXIT_DONE;

    if (!parts)
        run->toolchain = toolchain_of_c(cx);
    else if (run->options->emulate)
        run->toolchain = toolchain_of_emulation(cx, strcmp(run->options->emulate, "check") == 0);
    else
        status = toolchain_of_cuda(cx, run->plan->program->settings.flushes, &run->toolchain);
    if (run->toolchain.emulates)
        parts |= BUNDLE_EMULATION;
    run->common = run->own;
    run->files = bundle_runtime(cx, files, &run->common, BUNDLE_DRIVER);
    run->count = run->common;
    if (parts)
        run->files = bundle_runtime(cx, run->files, &run->count, parts);
    return status;
}

/* The program is there then. file: of the lock on one that is kept, or -1. */
static int build(struct run *run, const struct output_file *files, int *file)
{
    int status = check_options(run);

    *file = -1;
    if (status != EXIT_DONE)
        return status;
    files = with_bodies(run, files, &run->own);
    if (!files)
        return EXIT_FILE;
    status = find_tools(run, files);
    if (status == EXIT_DONE)
        status = find_folder(run);
    if (status == EXIT_DONE && !run->temporary)
        status = find_program(run, file);
    else if (status == EXIT_DONE)
        status = write_sources(run);
    if (status == EXIT_DONE && run->temporary)
        status = compile(run);
    return status;
}

int run_model(struct cx *cx, const struct plan *plan, const struct output_file *files, int count)
{
    struct run run = {.cx = cx, .options = cx->options, .plan = plan, .own = count};
    int file, status = build(&run, files, &file);

    if (status == EXIT_DONE)
        status = execute(&run, run.options->run_options, run.options->run_option_count);
    if (file >= 0)
        close(file);
    run_close(&run);
    return status;
}

struct run *run_open(struct cx *cx, const struct plan *plan, const struct output_file *files, int count,
                     int *status)
{
    struct run *run = ARENA_NEW(&cx->arena, struct run);
    int file;

    *run = (struct run){.cx = cx, .options = cx->options, .plan = plan, .own = count};
    *status = build(run, files, &file);
    assert(file < 0 && "nothing is kept");
    if (*status == EXIT_DONE)
        return run;
    run_close(run);
    return NULL;
}

const char *run_folder(const struct run *run)
{
    return run->folder;
}

int run_call(struct run *run, const struct run_option *options, int count)
{
    return execute(run, options, count);
}

void run_close(struct run *run)
{
    for (; run->temporary > 0; run->temporary--)
        process_remove_folder();
    if (run->interrupted)
        process_end();
}
