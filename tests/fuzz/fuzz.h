/* fuzz.h - what the fuzz targets share. A target is a file of this folder: it takes any bytes and does with them what
 * modc does, so that sanitizers, assertions, leaks and limits on time and memory speak. libFuzzer drives it (preset
 * fuzz); replay.c runs it over files. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns 0, as libFuzzer wants it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy of its own size, so that a sanitizer sees what reads behind it, with `tail` bytes of 0. To be freed. */
static inline char *fuzz_copy(const uint8_t *data, size_t size, size_t tail)
{
    char *copy = calloc(1, size + tail > 0 ? size + tail : 1);

    if (!copy)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

/* Where output goes that is only made to see that it can be made. */
static inline FILE *fuzz_sink(void)
{
    static FILE *sink;

    if (!sink)
        sink = fopen("/dev/null", "w");
    if (!sink)
        abort();
    return sink;
}

#endif
