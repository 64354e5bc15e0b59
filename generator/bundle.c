/* bundle.c - the runtime as files; see bundle.h. */
#include "bundle.h"

#include <string.h>

#include "embedded.h"

struct output_file *bundle_runtime(struct cx *cx, const struct output_file *files, int *count, bool driver)
{
    static const char folder[] = "runtime/";
    struct output_file *all = ARENA_ARRAY(&cx->arena, *count + embedded_file_count + 1, struct output_file);
    int given = *count;

    if (given > 0)
        memcpy(all, files, (size_t)given * sizeof *all);
    for (int i = 0; i < embedded_file_count; i++) {
        const struct embedded_file *own = &embedded_files[i];
        const char *name = own->name + strlen(folder);
        bool there = false;

        if (strncmp(own->name, folder, strlen(folder)) != 0 || (!driver && strcmp(name, "modc_main.c") == 0))
            continue;
        for (int j = 0; j < given; j++)
            there |= strcmp(all[j].path, name) == 0;
        if (!there)
            all[(*count)++] = (struct output_file){name, own->bytes, own->length};
    }
    return all;
}
