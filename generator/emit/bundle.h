/* bundle.h - what lies around the emitted code: CMake files, and the runtime out of the table that is built into modc. */
#ifndef MODC_BUNDLE_H
#define MODC_BUNDLE_H

#include "plan/plan.h"

struct options;

/* A file of the runtime that needs an operating system, or serves those who have one. */
bool bundle_is_hosted(const char *name);

/* What of the runtime not everybody needs. */
enum bundle_part {
    BUNDLE_DRIVER = 1,   /* the driver of `modc run`, with its main */
    BUNDLE_CUDA = 2,     /* what models on CUDA are linked with */
    BUNDLE_EMULATION = 4 /* the stand-in for a GPU, in a folder of its own */
};
extern const char bundle_emulation[]; /* this folder, which has what stands for CUDA's header */

/* What the files of these plans are linked with. */
unsigned bundle_parts(const struct plan *plan);

/* `files` with the files of the runtime behind them, and those of the parts. Names have no folders, but that of the stand-in;
 * those that are there already are left out. */
struct output_file *bundle_runtime(struct cx *cx, const struct output_file *files, int *count,
                                   unsigned parts);

/* What NAME.cmake says: the library, with all dtypes of the model, and in a bundle the runtime, where no other target is
 * modc::runtime. */
const char *bundle_cmake(struct cx *cx, const struct plan *plan);

/* generate --bundle=arduino: a library, with the sources in src/ and a sketch in examples/. */
bool bundle_is_arduino(const struct options *options);
const char *bundle_sketch(struct cx *cx, const char *model); /* where the sketch is */

/* generate --bundle: with those files of the runtime that the target can compile, the licence that they are under, a
 * CMakeLists.txt, or what says it to Arduino, and a page that says how to compile the folder. */
struct output_file *bundle_folder(struct cx *cx, const struct output_file *files, int *count,
                                  const struct plan *plan);

/* CMakeLists.txt or library.properties, where the folder has one that is not modc's and that a bundle would take the place of; else
 * NULL. */
const char *bundle_would_replace(struct cx *cx, const char *folder);

#endif
