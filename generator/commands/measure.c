/* measure.c - compiles a model with the user's compiler and looks at the objects; see measure.h.
 *
 * note [measuring]
 * Every function and every constant gets a section of its own, so that the sections that a program needs are those that a
 * linker keeps (--gc-sections): what can be reached from the functions that it calls. The deepest stack is the longest
 * path along references from code to code, with the frames that -fstack-usage says. References are in the object files
 * whatever the compiler is; what it inlined is in the frame of its caller. Calls through pointers are not seen but for
 * those of the runtime into the model (note `through_tables`): hooks add what they need themselves. */
#include "commands/measure.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "commands/compiler.h"
#include "commands/object.h"
#include "commands/options.h"
#include "commands/summary.h"
#include "emit/bundle.h"
#include "plan/target.h"

static const struct loc nowhere = {0};

/* A section of an object; what is not linked in has been left out by the linker. */
struct node {
    const struct object_section *section;
    int object;
    const char *function; /* that lies in it, or NULL */
    int64_t frame;        /* bytes of stack, without those of what it calls */
    int *uses;            /* nodes */
    int use_count;
    bool linked;
    enum { NEW, OPEN, DONE } state; /* of the search for the deepest path */
    int64_t depth;
    int next; /* node of the deepest call, or -1 */
};

struct unit { /* a source */
    const char *name;
    const char *object_path, *usage_path;
    struct object object;
    int first; /* of its nodes */
};

struct measure {
    struct cx *cx;
    const struct plan *plan;
    struct process compiler;
    const char *folder;
    struct unit *units;
    int unit_count;
    struct node *nodes;
    int node_count;
    const char **elsewhere; /* symbols that no unit defines */
    int elsewhere_count;
    bool sections, stacks,
        recursive; /* the compiler has sections of functions; says frames; a path has no end */
};

/* ---- compiling -------------------------------------------------------------------------------------------- */

static const char sections_words[] = "-ffunction-sections -fdata-sections -fno-lto";
static const char stack_word[] = "-fstack-usage";

static struct process compilation(struct measure *m, const char *source, const char *object, bool sections,
                                  bool stacks)
{
    struct process process = compiler_copy(m->cx, &m->compiler);

    if (sections)
        process_words(m->cx, &process, sections_words);
    if (stacks)
        process_word(m->cx, &process, stack_word);
    process_word(m->cx, &process, arena_format(&m->cx->arena, "-I%s", m->folder));
    process_word(m->cx, &process, "-c");
    process_word(m->cx, &process, "-o");
    process_word(m->cx, &process, object);
    process_word(m->cx, &process, arena_format(&m->cx->arena, "%s/%s", m->folder, source));
    process.said = arena_format(&m->cx->arena, "%s.said", object);
    return process;
}

/* What the compiler knows, on a file of nothing. False where modc was told to end. */
static bool probe(struct measure *m)
{
    static const char empty[] = "int modc_probe;\n";
    const struct output_file file = {"modc_probe.c", empty, sizeof empty - 1};
    const char *error = NULL, *object = arena_format(&m->cx->arena, "%s/modc_probe", m->folder);
    struct process list[2];

    for (int i = 0; i < 2; i++)
        list[i] = compilation(m, file.path, arena_format(&m->cx->arena, "%s-%d.o", object, i), true, i == 1);
    if (!output_write(m->cx, m->folder, &file, 1, &error) || !process_run(list, 2, process_cores()))
        return error != NULL;
    m->sections = process_succeeded(&list[0]);
    m->stacks = process_succeeded(&list[1]);
    return true;
}

static int compile(struct measure *m, const struct output_file *files, int count, bool *interrupted)
{
    struct arena *arena = &m->cx->arena;
    struct process *list = ARENA_ARRAY(arena, count + 1, struct process);
    int failed;

    for (int i = 0; i < count; i++) {
        const char *name = files[i].path;
        struct unit *unit = &m->units[m->unit_count];

        if (!text_ends_with(name, ".c") || (!target_of(m->cx)->hosted && bundle_is_hosted(name)))
            continue;
        *unit = (struct unit){.name = name,
                              .object_path = arena_format(arena, "%s/%s.o", m->folder, name),
                              .usage_path = arena_format(arena, "%s/%s.su", m->folder, name)};
        list[m->unit_count++] = compilation(m, name, unit->object_path, m->sections, m->stacks);
    }
    progress_step("compiling %s.c to measure it ...", m->plan->model);
    failed = compiler_run(list, m->unit_count);
    *interrupted = failed == COMPILER_TOLD_TO_END;
    if (failed < 0)
        return *interrupted ? EXIT_COMPILER : EXIT_DONE;
    return compiler_fault(
        m->cx, &list[failed],
        bundle_is_hosted(m->units[failed].name)
            ? "for firmware, which has no files and no malloc, say --target NAME or --target hosted=no"
            : NULL);
}

/* ---- frames ----------------------------------------------------------------------------------------------- */

/* A line of GCC, `file.c:12:5:name<TAB>48<TAB>static`, or of Clang, which has no column; *column: there was one. */
static bool read_usage(struct cx *cx, const char *line, size_t length, const char **name, int64_t *bytes,
                       bool *column)
{
    char *text = arena_copy(&cx->arena, line, length), *tab = strchr(text, '\t'), *colon, *at, *end;

    if (!tab)
        return false;
    *tab = 0;
    colon = strrchr(text, ':');
    *bytes = strtoll(tab + 1, &end, 10);
    if (!colon || end == tab + 1 || *bytes < 0)
        return false;
    *name = colon + 1;
    *column = false;
    for (at = colon; at > text && isdigit((unsigned char)at[-1]); at--)
        continue;
    if (at > text && at < colon && at[-1] == ':') {
        const char *number = at - 1;

        while (number > text && isdigit((unsigned char)number[-1]))
            number--;
        *column = number < at - 1 && number > text && number[-1] == ':';
    }
    return true;
}

/* Whether a line about `name` is about this symbol: "put.constprop" stands for put.constprop.0. */
static bool is_about(const char *name, const char *symbol)
{
    size_t length = strlen(name);

    return strncmp(name, symbol, length) == 0 && (!symbol[length] || symbol[length] == '.');
}

/* The parts of a function that are seldom reached lie apart, in its own frame. */
static bool is_cold(const char *symbol)
{
    return strstr(symbol, ".cold") != NULL;
}

static void note_frame(struct measure *m, struct unit *unit, const char *name, int64_t bytes, bool column)
{
    /* Clang leaves out the address to return to, which a call on x86 pushes. */
    if (unit->object.x86 && !column)
        bytes += 8;
    for (int i = 0; i < unit->object.symbol_count; i++) {
        const struct object_symbol *symbol = &unit->object.symbols[i];

        if (symbol->function && symbol->section >= 0 && is_about(name, symbol->name) &&
            !is_cold(symbol->name)) {
            struct node *node = &m->nodes[unit->first + symbol->section];

            node->frame = bytes > node->frame ? bytes : node->frame;
        }
    }
}

/* False: the compiler wrote no such file. */
static bool read_frames(struct measure *m, struct unit *unit)
{
    const char *error = NULL;
    const struct source *usage = source_read(m->cx, unit->usage_path, (size_t)1 << 24, &error);

    if (!usage)
        return false;
    for (const char *line = usage->text; *line;) {
        size_t length = strcspn(line, "\n");
        const char *name;
        int64_t bytes;
        bool column;

        if (read_usage(m->cx, line, length, &name, &bytes, &column))
            note_frame(m, unit, name, bytes, column);
        line += length + (line[length] == '\n');
    }
    return true;
}

/* ---- what is reached -------------------------------------------------------------------------------------- */

/* The node that defines a global symbol, or -1. */
static int find_global(const struct measure *m, const char *name)
{
    for (int u = 0; u < m->unit_count; u++) {
        const struct object *object = &m->units[u].object;

        for (int i = 0; i < object->symbol_count; i++)
            if (object->symbols[i].global && object->symbols[i].section >= 0 &&
                strcmp(object->symbols[i].name, name) == 0)
                return m->units[u].first + object->symbols[i].section;
    }
    return -1;
}

/* The runtime calls what the model's table points to: `modc_pack` this function of the model. */
static const struct {
    const char *from, *to; /* `to` stands behind the model's name */
} through_tables[] = {{"modc_pack", "_pack_all"}, {"modc_get", "_unpack"}, {"modc_save_bytes", "_unpack"}};

static int find_function(const struct measure *m, const char *name)
{
    for (int i = 0; i < m->node_count; i++)
        if (m->nodes[i].function && strcmp(m->nodes[i].function, name) == 0)
            return i;
    return -1;
}

static void connect(struct measure *m)
{
    struct arena *arena = &m->cx->arena;

    for (int u = 0; u < m->unit_count; u++) {
        const struct object *object = &m->units[u].object;
        int *places = ARENA_ARRAY(arena, object->symbol_count + 1, int);

        for (int i = 0; i < object->symbol_count; i++) {
            const struct object_symbol *symbol = &object->symbols[i];

            places[i] = symbol->section >= 0 ? m->units[u].first + symbol->section
                                             : find_global(m, symbol->name);
            if (symbol->function && symbol->section >= 0 && !m->nodes[places[i]].function)
                m->nodes[places[i]].function = symbol->name;
        }
        for (int s = 0; s < object->section_count; s++) {
            struct node *node = &m->nodes[m->units[u].first + s];

            for (int k = 0; k < object->sections[s].use_count; k++) {
                int symbol = object->sections[s].uses[k], to = places[symbol];

                if (to < 0)
                    to = -1 - symbol; /* by its name in this object */
                ARENA_PUSH(arena, node->uses, node->use_count, to);
            }
        }
    }
    for (int i = 0; i < COUNT(through_tables); i++) {
        int from = find_function(m, through_tables[i].from);
        int to = find_function(m, arena_format(arena, "%s%s", m->plan->model, through_tables[i].to));

        if (from >= 0 && to >= 0)
            ARENA_PUSH(arena, m->nodes[from].uses, m->nodes[from].use_count, to);
    }
}

static void note_elsewhere(struct measure *m, const char *name)
{
    /* the weights are counted already; some symbols belong to the format */
    if (!name[0] || name[0] == '$' || strcmp(name, "_GLOBAL_OFFSET_TABLE_") == 0 ||
        strcmp(name, arena_format(&m->cx->arena, "%s_weights", m->plan->model)) == 0)
        return;
    for (int i = 0; i < m->elsewhere_count; i++)
        if (strcmp(m->elsewhere[i], name) == 0)
            return;
    ARENA_PUSH(&m->cx->arena, m->elsewhere, m->elsewhere_count, name);
}

static void link_from(struct measure *m, int root)
{
    int *waiting = NULL, count = 0;

    ARENA_PUSH(&m->cx->arena, waiting, count, root);
    while (count > 0) {
        struct node *node = &m->nodes[waiting[--count]];

        if (node->linked)
            continue;
        node->linked = true;
        for (int i = 0; i < node->use_count; i++) {
            if (node->uses[i] < 0)
                note_elsewhere(m, m->units[node->object].object.symbols[-1 - node->uses[i]].name);
            else if (!m->nodes[node->uses[i]].linked)
                ARENA_PUSH(&m->cx->arena, waiting, count, node->uses[i]);
        }
    }
}

/* Bytes of stack below a call of this code. */
static int64_t deepest(struct measure *m, int index)
{
    struct node *node = &m->nodes[index];

    if (node->state != NEW) {
        m->recursive |= node->state == OPEN;
        return node->depth;
    }
    node->state = OPEN;
    node->next = -1;
    for (int i = 0; i < node->use_count; i++) {
        int to = node->uses[i];

        if (to >= 0 && to != index && m->nodes[to].section->kind == OBJECT_TEXT) {
            int64_t depth = deepest(m, to);

            if (depth > node->depth) {
                node->depth = depth;
                node->next = to;
            }
        }
    }
    node->depth += node->frame;
    node->state = DONE;
    return node->depth;
}

/* ---- objects ---------------------------------------------------------------------------------------------- */

static bool read_objects(struct measure *m)
{
    for (int u = 0; u < m->unit_count; u++) {
        struct unit *unit = &m->units[u];
        const char *error = NULL;
        const struct source *bytes = source_read(m->cx, unit->object_path, (size_t)1 << 30, &error);

        if (!bytes || !object_read(&m->cx->arena, bytes->text, bytes->length, &unit->object))
            return false;
        unit->first = m->node_count;
        m->node_count += unit->object.section_count;
    }
    m->nodes = ARENA_ARRAY(&m->cx->arena, m->node_count + 1, struct node);
    for (int u = 0; u < m->unit_count; u++)
        for (int s = 0; s < m->units[u].object.section_count; s++)
            m->nodes[m->units[u].first + s] = (struct node){.section = &m->units[u].object.sections[s],
                                                            .object = u};
    for (int u = 0; u < m->unit_count && m->stacks; u++)
        m->stacks = read_frames(m, &m->units[u]);
    connect(m);
    return true;
}

/* ---- printing --------------------------------------------------------------------------------------------- */

static const char *command(const struct measure *m)
{
    struct text text = text_new(&m->cx->arena);

    for (int i = 0; m->compiler.words[i]; i++)
        text_printf(&text, "%s%s", i ? " " : "", m->compiler.words[i]);
    return text.data;
}

static void print_row(struct measure *m, struct text *out, const char *name,
                      const int64_t bytes[OBJECT_OTHER], int64_t whole)
{
    text_printf(out, "  %-24s", name);
    for (int kind = 0; kind < OBJECT_OTHER; kind++)
        text_printf(out, " %9s", summary_number(m->cx, (double)bytes[kind]));
    text_printf(out, " %9s\n", summary_number(m->cx, (double)whole));
}

/* Each unit that is linked, and all of them. */
static void print_code(struct measure *m, struct text *out, int64_t all[OBJECT_OTHER])
{
    int64_t all_whole = 0;

    text_add(out, "\n");
    text_styled(out, STYLE_BOLD, arena_format(&m->cx->arena, "code by %s", command(m)));
    text_printf(out, "\n  %-24s %9s %9s %9s %9s %9s\n", "", "text", "rodata", "data", "bss",
                m->sections ? "not used" : "");
    for (int u = 0; u < m->unit_count; u++) {
        int64_t bytes[OBJECT_OTHER] = {0}, unused = 0;
        bool linked = false;

        for (int i = 0; i < m->units[u].object.section_count; i++) {
            const struct node *node = &m->nodes[m->units[u].first + i];

            if (node->section->kind == OBJECT_OTHER)
                continue;
            linked |= node->linked;
            if (node->linked)
                bytes[node->section->kind] += node->section->bytes;
            else if (node->section->kind != OBJECT_BSS)
                unused += node->section->bytes;
        }
        if (!linked)
            continue;
        print_row(m, out, m->units[u].name, bytes, unused);
        for (int kind = 0; kind < OBJECT_OTHER; kind++)
            all[kind] += bytes[kind];
        all_whole += unused;
    }
    print_row(m, out, "in all", all, all_whole);
}

enum { LONGEST_PATH = 54, LAST_COLUMN = 100 };

/* "policy_forward > linear_4_to_64", or its ends where it is long. */
static const char *path_text(const struct measure *m, int root)
{
    struct text text = text_new(&m->cx->arena);
    int last = root;

    for (int at = root; at >= 0; at = m->nodes[at].next) {
        text_printf(&text, "%s%s", at == root ? "" : " > ",
                    m->nodes[at].function ? m->nodes[at].function : "?");
        last = at;
    }
    if (text.length <= LONGEST_PATH)
        return text.data;
    return arena_format(&m->cx->arena, "%s > ... > %s",
                        m->nodes[root].function ? m->nodes[root].function : "?",
                        m->nodes[last].function ? m->nodes[last].function : "?");
}

static void print_elsewhere(const struct measure *m, struct text *out)
{
    size_t start;

    if (m->elsewhere_count == 0)
        return;
    text_add(out, "not measured, since it comes from elsewhere:\n ");
    start = out->length - 1;
    for (int i = 0; i < m->elsewhere_count; i++) {
        if (out->length - start + strlen(m->elsewhere[i]) > LAST_COLUMN - 2) {
            text_add(out, "\n ");
            start = out->length - 1;
        }
        text_printf(out, " %s%s", m->elsewhere[i], i + 1 < m->elsewhere_count ? "," : "");
    }
    text_add(out, "\n");
}

/* ---- all of it -------------------------------------------------------------------------------------------- */

/* The functions that a program calls, as the header's first comment shows it. */
static const char **find_roots(struct measure *m, bool embedded, int *count)
{
    const struct program *program = m->plan->program;
    struct arena *arena = &m->cx->arena;
    const char **roots = NULL;

    *count = 0;
    for (int i = 0; i < program->entry_count; i++)
        ARENA_PUSH(arena, roots, *count,
                   arena_format(arena, "%s_%s", m->plan->model, program->entries[i].name));
    if (embedded) {
        ARENA_PUSH(arena, roots, *count, arena_format(arena, "%s_bind_embedded", m->plan->model));
    } else {
        ARENA_PUSH(arena, roots, *count, "modc_bind");
        ARENA_PUSH(arena, roots, *count, target_of(m->cx)->hosted ? "modc_load" : "modc_load_bytes");
        if (plan_packed_block(m->plan) > 0)
            ARENA_PUSH(arena, roots, *count, "modc_pack");
    }
    ARENA_PUSH(arena, roots, *count, "modc_init");
    ARENA_PUSH(arena, roots, *count,
               arena_format(arena, "%s_model", m->plan->model)); /* what all of these are given */
    return roots;
}

static void print_measures(struct measure *m, struct text *out, struct memory *memory)
{
    struct memory_code sums = {.stack_of = ""};
    int64_t code[OBJECT_OTHER] = {0};
    int count;
    const char **roots = find_roots(m, memory->embedded, &count);

    for (int i = 0; i < count; i++) {
        int root = find_global(m, roots[i]);

        if (root >= 0)
            link_from(m, root);
    }
    print_code(m, out, code);
    if (m->stacks) {
        text_styled(out, STYLE_BOLD, "stack");
        text_printf(out, "%*s\n", 38, "bytes");
    }
    for (int i = 0; i < count && m->stacks; i++) {
        int root = find_global(m, roots[i]);
        int64_t depth;

        if (root < 0 || m->nodes[root].section->kind != OBJECT_TEXT)
            continue;
        depth = deepest(m, root);
        text_printf(out, "  %-32s %9s  %s\n", roots[i], summary_number(m->cx, (double)depth),
                    path_text(m, root));
        if (depth > sums.stack) {
            sums.stack = depth;
            sums.stack_of = roots[i];
        }
    }
    sums.text = code[OBJECT_TEXT];
    sums.rodata = code[OBJECT_RODATA];
    sums.data = code[OBJECT_DATA];
    sums.bss = code[OBJECT_BSS];
    memory_add_code(m->cx, memory, &sums);
    if (!m->stacks)
        text_printf(out, "stack: not measured, since the compiler knows no %s\n", stack_word);
    else if (m->recursive)
        text_add(out, "some functions call themselves: their stack is counted once\n");
    if (m->stacks && m->plan->program->entries[0].graphs[0][1])
        text_add(out, "hooks add the stack that they take themselves\n");
    print_elsewhere(m, out);
}

int measure_model(struct cx *cx, struct text *out, const struct plan *plan, const struct output_file *files,
                  int count, struct memory *memory)
{
    const struct target *target = target_of(cx);
    const char *error = NULL;
    struct measure m = {.cx = cx, .plan = plan, .folder = process_make_folder(cx, &error)};
    bool interrupted = false;
    int status = EXIT_FILE;

    if (!m.folder) {
        diag_error(cx, nowhere, "%s", error);
        return EXIT_FILE;
    }
    m.compiler = compiler_words(cx, target->compiler,
                                target->hosted ? "-O3 -march=native"
                                               : arena_format(&cx->arena, "-Os %s", target->flags));
    files = bundle_runtime(cx, files, &count, bundle_parts(plan));
    m.units = ARENA_ARRAY(&cx->arena, count + 1, struct unit);
    if (!output_write(cx, m.folder, files, count, &error)) {
        diag_error(cx, nowhere, "%s", error);
    } else if (!probe(&m)) {
        interrupted = true;
    } else {
        status = compile(&m, files, count, &interrupted);
        if (status == EXIT_DONE && read_objects(&m))
            print_measures(&m, out, memory);
        else if (status == EXIT_DONE)
            text_printf(out, "\ncode and stack: not measured, since '%s' writes no ELF files\n", command(&m));
    }
    process_remove_folder();
    if (interrupted)
        process_end();
    return status;
}
