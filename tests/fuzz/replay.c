/* replay.c - runs a fuzz target over files, one after the other: corpora and what was once found, with any compiler. A corpus
 * is a tar archive (tests/support/fuzz.sh), whose files are run.
 *
 *     replay_TARGET FILE...      prints each name before its run, so that the last one is at fault */
#include "fuzz.h"

enum { BLOCK = 512, SIZE_AT = 124, SIZE_DIGITS = 12, KIND_AT = 156 };

/* A whole file. Ends the program where it cannot be read. */
static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t got;

    *size = 0;
    if (!file) {
        perror(path);
        exit(1);
    }
    do {
        data = realloc(data, *size + 65536);
        if (!data)
            abort();
        got = fread(data + *size, 1, 65536, file);
        *size += got;
    } while (got > 0);
    fclose(file);
    return data;
}

static void run(const char *name, const uint8_t *data, size_t size)
{
    printf("%s\n", name);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
}

/* The files of an archive; how many there were, -1 where it is broken. */
static int run_archive(const uint8_t *data, size_t size)
{
    int count = 0;
    size_t at = 0;

    while (at + BLOCK <= size && data[at] != 0) {
        char name[101] = {0}, digits[SIZE_DIGITS + 1] = {0};
        size_t length;

        memcpy(name, data + at, sizeof name - 1);
        memcpy(digits, data + at + SIZE_AT, SIZE_DIGITS);
        length = strtoul(digits, NULL, 8);
        if (length > size - at - BLOCK)
            return -1;
        if (data[at + KIND_AT] == '0') {
            run(name, data + at + BLOCK, length);
            count++;
        }
        at += BLOCK + (length + BLOCK - 1) / BLOCK * BLOCK;
    }
    return at + BLOCK <= size ? count : -1; /* a block of zeros ends it */
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *ending = strrchr(argv[i], '.');
        size_t size;
        uint8_t *data = read_file(argv[i], &size);

        if (!ending || strcmp(ending, ".tar") != 0) {
            run(argv[i], data, size);
        } else if (run_archive(data, size) <= 0) {
            printf("%s is no archive of inputs\n", argv[i]);
            return 1;
        }
        free(data);
    }
    return argc > 1 ? 0 : 1;
}
