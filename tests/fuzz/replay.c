/* replay.c - runs a fuzz target over files, one after the other: corpora and what was once found, with any compiler.
 *
 *     replay_TARGET FILE...      prints each name before its run, so that the last one is at fault */
#include "fuzz.h"

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        uint8_t *data = NULL;
        size_t size = 0, got;

        if (!file) {
            perror(argv[i]);
            return 1;
        }
        do {
            data = realloc(data, size + 65536);
            if (!data)
                abort();
            got = fread(data + size, 1, 65536, file);
            size += got;
        } while (got > 0);
        fclose(file);
        printf("%s\n", argv[i]);
        fflush(stdout);
        LLVMFuzzerTestOneInput(data, size);
        free(data);
    }
    return argc > 1 ? 0 : 1;
}
