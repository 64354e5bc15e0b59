/* printer.h - how kernels and calls of them are written for a machine: a row a device. What is written, the records say. */
#ifndef MODC_PRINTER_H
#define MODC_PRINTER_H

#include "emit/emit_kernel.h"
#include "plan/kernel.h"

typedef void nest_printer(struct cx *cx, struct text *out, const struct kernel *kernel,
                          const struct nest_scene *scene);

/* Where a call stands. */
struct call_place {
    const char *indent;
    const char *model;
    const char *run; /* CUDA: the macro that starts kernels there; see MODC_RUN in modc_device.h */
};

struct printer {
    const char *function; /* what the definition of a kernel begins with, up to its name */
    const char *alone;    /* the same of one that is not compiled into its callers */
    nest_printer *nests[NEST_KINDS];
    void (*call)(struct text *out, const struct call_place *place, const struct kernel *kernel,
                 const char *arguments);
};

const struct printer *printer_of(const struct backend *backend);

#endif
