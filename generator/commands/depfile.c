/* depfile.c - the rules of a depfile; see depfile.h. */
#include "commands/depfile.h"

#include <string.h>

#include "commands/options.h"

static const struct loc nowhere = {0};

/* A path as make reads it, and Ninja too. */
static void add_path(struct text *text, const char *path)
{
    for (const char *c = path; *c; c++) {
        if (*c == ' ' || *c == '\t') { /* backslashes in front of a blank would be read as escapes */
            for (const char *back = c; back > path && back[-1] == '\\'; back--)
                text_add(text, "\\");
            text_add(text, "\\");
        } else if (*c == '#' || *c == ':') {
            text_add(text, "\\");
        } else if (*c == '$') {
            text_add(text, "$");
        }
        text_add_bytes(text, c, 1);
    }
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Both paths name one file, which need not be there yet. */
static bool is_file(struct cx *cx, const char *path, const char *other)
{
    const char *name = last_name(path), *other_name = last_name(other);

    return source_same(path, other) ||
           (strcmp(name, other_name) == 0 &&
            source_same(arena_format(&cx->arena, "%.*s.", (int)(name - path), path),
                        arena_format(&cx->arena, "%.*s.", (int)(other_name - other), other)));
}

const struct output_file *depfile_make(struct cx *cx, const struct spec *spec,
                                       const struct output_file *files, int count)
{
    const struct options *options = cx->options;
    struct output_file *file = ARENA_NEW(&cx->arena, struct output_file);
    struct text text = text_new(&cx->arena);
    bool taken = options->weights && is_file(cx, options->depfile, options->weights);

    for (int i = 0; i < count; i++) {
        const char *path = arena_format(&cx->arena, "%s/%s", options->out_dir, files[i].path);

        taken |= is_file(cx, options->depfile, path);
        if (options->deptarget)
            continue;
        text_add(&text, i > 0 ? " \\\n" : "");
        add_path(&text, path);
    }
    if (options->deptarget)
        add_path(&text, options->deptarget);
    text_add(&text, ":");
    for (int i = 0; i < spec->source_count; i++) {
        const char *name = spec->sources[i]->name;

        if (strcmp(name, "-") == 0)
            continue;
        taken |= is_file(cx, options->depfile, name);
        text_add(&text, " \\\n  ");
        add_path(&text, name);
    }
    for (int i = 0; i < cx->read_count; i++) {
        taken |= is_file(cx, options->depfile, cx->read[i]);
        text_add(&text, " \\\n  ");
        add_path(&text, cx->read[i]);
    }
    if (options->weights) {
        text_add(&text, " \\\n  ");
        add_path(&text, options->weights);
    }
    text_add(&text, "\n");
    for (int i = 1; i < spec->source_count; i++) {
        text_add(&text, "\n");
        add_path(&text, spec->sources[i]->name);
        text_add(&text, ":\n");
    }
    for (int i = 0; i < cx->read_count; i++) {
        text_add(&text, "\n");
        add_path(&text, cx->read[i]);
        text_add(&text, ":\n");
    }
    if (taken) {
        diag_error(cx, nowhere, "--depfile cannot be '%s', which is read or written besides",
                   options->depfile);
        return NULL;
    }
    *file = (struct output_file){options->depfile, text.data, text.length};
    return file;
}
