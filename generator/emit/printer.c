/* printer.c - see printer.h. C is written by emit_loops.c and the files beside it. */
#include "emit/printer.h"

#include "emit/emit_kernel.h"
#include "emit/kernel.h"

/* ---- C ------------------------------------------------------------------------------------------------------ */

static void print_map(struct cx *cx, struct text *out, const struct kernel *k, const struct nest_scene *scene)
{
    emit_map_kernel(cx, out, k->name, k->comment, k->nest, k->loops, k->dag, k->takes_function, scene);
}

static void print_reduce(struct cx *cx, struct text *out, const struct kernel *k,
                         const struct nest_scene *scene)
{
    emit_reduce_kernel(cx, out, k->name, k->comment, k->nest, k->loops, k->reduce, k->dag, k->tail,
                       k->takes_head, k->takes_function, scene);
}

static void print_gather(struct cx *cx, struct text *out, const struct kernel *k,
                         const struct nest_scene *scene)
{
    emit_gather_kernel(cx, out, k->name, k->comment, k->nest, k->step, scene);
}

static void print_scatter(struct cx *cx, struct text *out, const struct kernel *k,
                          const struct nest_scene *scene)
{
    emit_scatter_kernel(cx, out, k->name, k->comment, k->nest, k->dag, k->step, scene);
}

static void print_scan(struct cx *cx, struct text *out, const struct kernel *k,
                       const struct nest_scene *scene)
{
    emit_scan_kernel(cx, out, k->name, k->comment, k->nest, k->line, k->dag, k->start, k->given, scene);
}

static void print_sort(struct cx *cx, struct text *out, const struct kernel *k,
                       const struct nest_scene *scene)
{
    emit_sort_kernel(cx, out, k->name, k->comment, k->nest, k->line, k->descending, scene);
}

static void print_random(struct cx *cx, struct text *out, const struct kernel *k,
                         const struct nest_scene *scene)
{
    emit_random_kernel(cx, out, k->name, k->comment, k->nest, k->tail,
                       k->function ? function_name(cx, k->function, false) : NULL, scene);
}

static void print_c_call(struct text *out, const struct call_place *place, const struct kernel *kernel,
                         const char *arguments)
{
    bool split = kernel->split.slices > 1;

    text_printf(out, "%s%s%s(%s%s);\n", place->indent, kernel->name, split ? "_split" : "",
                split ? "&net->threading, " : "", arguments);
}

/* ---- CUDA: the same loops, whose places are dealt out to threads; what C calls starts a kernel -------------------- */

static void print_cuda_call(struct text *out, const struct call_place *place, const struct kernel *kernel,
                            const char *arguments)
{
    text_printf(out, "%s%s(", place->indent, place->run);
    if (kernel->form == KERNEL_LIBRARY)
        text_add(out, kernel->name);
    else
        text_printf(out, "%s_%s", place->model, kernel->name);
    text_printf(out, ", %s);\n", arguments);
}

/* ---- the machines ------------------------------------------------------------------------------------------- */

static const struct printer printers[DEVICE_COUNT] = {
    [DEVICE_CPU] = {.function = "static MODC_KERNEL void",
                    .alone = "static MODC_KERNEL MODC_ALONE void",
                    .nests = {[NEST_MAP] = print_map,
                              [NEST_REDUCE] = print_reduce,
                              [NEST_GATHER] = print_gather,
                              [NEST_SCATTER] = print_scatter,
                              [NEST_SCAN] = print_scan,
                              [NEST_SORT] = print_sort,
                              [NEST_RANDOM] = print_random},
                    .call = print_c_call},
    [DEVICE_CUDA] = {.nests = {[NEST_MAP] = print_map,
                               [NEST_REDUCE] = print_reduce,
                               [NEST_GATHER] = print_gather,
                               [NEST_SCATTER] = print_scatter,
                               [NEST_SCAN] = print_scan,
                               [NEST_SORT] = print_sort,
                               [NEST_RANDOM] = print_random},
                     .call = print_cuda_call},
};

const struct printer *printer_of(const struct backend *backend)
{
    return &printers[backend_device(backend)];
}
