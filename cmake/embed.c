/* embed.c - build step: writes the table of generator/base/embedded.h. Apart, since it runs before modc exists.
 *
 *     modc_embed OUT.c ROOT NAME...      files ROOT/NAME, which appear under NAME */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void fail(const char *what, const char *path)
{
    fprintf(stderr, "modc_embed: cannot %s ", what);
    perror(path);
    exit(1);
}

/* Numbers, not string literals: those may have at most 4095 characters in C11. */
static void write_bytes(FILE *out, FILE *in, int index, const char *path)
{
    int byte, count = 0;

    fprintf(out, "\nstatic const char file_%d[] = {", index);
    while ((byte = getc(in)) != EOF) {
        fprintf(out, "%s%d,", count % 24 == 0 ? "\n    " : "", byte < 128 ? byte : byte - 256);
        count++;
    }
    if (ferror(in))
        fail("read", path);
    fprintf(out, "\n    0 /* %s */\n};\n", path);
}

int main(int argc, char **argv)
{
    FILE *out;

    if (argc < 3) {
        fprintf(stderr, "usage: modc_embed OUT.c ROOT NAME...\n");
        return 2;
    }
    qsort(argv + 3, (size_t)(argc - 3), sizeof *argv, by_name);
    out = fopen(argv[1], "wb");
    if (!out)
        fail("write", argv[1]);
    fprintf(out, "/* Written by cmake/embed.c. */\n#include \"base/embedded.h\"\n");
    for (int i = 3; i < argc; i++) {
        size_t length = strlen(argv[2]) + strlen(argv[i]) + 2;
        char *path = malloc(length);
        FILE *in;

        if (!path)
            fail("hold the name of", argv[i]);
        snprintf(path, length, "%s/%s", argv[2], argv[i]);
        in = fopen(path, "rb");
        if (!in)
            fail("read", path);
        write_bytes(out, in, i - 3, argv[i]);
        fclose(in);
        free(path);
    }
    fprintf(out, "\nconst struct embedded_file embedded_files[] = {\n");
    for (int i = 3; i < argc; i++)
        fprintf(out, "    {\"%s\", file_%d, sizeof file_%d - 1},\n", argv[i], i - 3, i - 3);
    fprintf(out, "    {NULL, NULL, 0}};\n\nconst int embedded_file_count = %d;\n", argc - 3);
    if (fclose(out) != 0)
        fail("write", argv[1]);
    return 0;
}
