/* depfile.h - `generate --depfile`: for make and the like, which files the emitted ones are made from. */
#ifndef MODC_DEPFILE_H
#define MODC_DEPFILE_H

#include "base/text.h"
#include "spec/spec.h"

/* The file that --depfile names: `files`, or what --deptarget names, depend on the spec, on all that it extends, and on
 * --weights. What is extended may also go away without make complaining. The paths are those that modc uses, from the
 * current folder. NULL, after saying so, where it is a file that is read or written besides. */
const struct output_file *depfile_make(struct cx *cx, const struct spec *spec,
                                       const struct output_file *files, int count);

#endif
