/* embedded.h - templates/, runtime/ and the licence as text inside modc, so that the program needs no files of its own. The build
 * writes the table (cmake/embed.c). */
#ifndef MODC_EMBEDDED_H
#define MODC_EMBEDDED_H

#include <stddef.h>

struct embedded_file {
    const char *name;  /* from the root of the repository: "templates/c/gemm_panel.c", "runtime/modc.h" */
    const char *bytes; /* a 0 stands behind them, which `length` does not count */
    size_t length;
};

/* Sorted by name, as strcmp does. */
extern const struct embedded_file embedded_files[];
extern const int embedded_file_count;

#endif
