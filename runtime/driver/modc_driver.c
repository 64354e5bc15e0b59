/* modc_driver.c - what the pieces of the driver share; see modc_driver.h. */
#include "modc_driver.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int modc_driver_fail(int status, const char *where, const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "%s: error: ", where);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return status;
}

void *modc_driver_zeroed(size_t count, size_t bytes)
{
    void *block = calloc(count > 0 ? count : 1, bytes);

    if (block == NULL) {
        modc_driver_fail(EXIT_BUG, "modc", "out of memory");
        exit(EXIT_BUG);
    }
    return block;
}

const char *modc_driver_gradient_name(const char *name)
{
    static const char front[] = "grad.";
    char *out = modc_driver_zeroed(sizeof front + strlen(name), 1);

    memcpy(out, front, sizeof front);
    strcpy(out + sizeof front - 1, name);
    return out;
}

static void write_stderr(void *user, const char *text, size_t length)
{
    (void)user;
    fwrite(text, 1, length, stderr);
}

void modc_driver_print_report(const char *path, const struct modc_report *report)
{
    fprintf(stderr, "%s: error: ", path);
    modc_report_print(report, write_stderr, NULL);
    fputc('\n', stderr);
    if (report->status == MODC_FORMAT && report->format == MODC_FORMAT_PICKLE)
        fprintf(stderr, "hint: python -m modc convert '%s' FILE.safetensors converts it\n", path);
}

const char *modc_driver_dtype_name(enum modc_dtype dtype)
{
    static const char *const names[] = {"bool",    "uint8",   "int8",      "int16",
                                        "int32",   "int64",   "float16",   "bfloat16",
                                        "float32", "float64", "complex64", "complex128"};

    return names[dtype];
}

void modc_driver_shape_text(const struct modc_item *item, char *out)
{
    int at = snprintf(out, NAME, "[");

    for (int i = 0; i < item->ndim && i < MODC_MAX_DIMS && at < NAME - 32; i++)
        at += snprintf(out + at, (size_t)(NAME - at), "%s%llu", i > 0 ? ", " : "",
                       (unsigned long long)item->dims[i]);
    snprintf(out + at, (size_t)(NAME - at), "%s]", item->ndim > MODC_MAX_DIMS ? ", ..." : "");
}

size_t modc_driver_count(const struct modc_tensor *tensor)
{
    return modc_tensor_bytes(tensor) / modc_dtype_bytes(tensor->dtype);
}

const char *modc_driver_unreadable(void)
{
    return errno == EINVAL ? "it is not a file" : strerror(errno);
}

int modc_driver_open_file(const char *path, struct modc_reader *reader)
{
    struct modc_report *report = modc_driver_zeroed(1, sizeof *report);
    const void *bytes = NULL;
    size_t length = 0;
    int status = EXIT_OK;

    if (modc_map(path, &bytes, &length) != MODC_OK) {
        status = modc_driver_fail(EXIT_FILES, path, "%s", modc_driver_unreadable());
    } else if (modc_reader_open(reader, bytes, length, report) != MODC_OK) {
        report->status = MODC_FORMAT;
        modc_driver_print_report(path, report);
        modc_unmap(bytes, length);
        status = EXIT_FILES;
    }
    free(report);
    return status;
}
