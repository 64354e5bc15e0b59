/* bundle.h - the runtime as files, out of the table that is built into modc. */
#ifndef MODC_BUNDLE_H
#define MODC_BUNDLE_H

#include "base/text.h"

/* `files` with the files of the runtime behind them, without folders in their names; the driver (with its main) only
 * if asked for. Names that are there already are left out. */
struct output_file *bundle_runtime(struct cx *cx, const struct output_file *files, int *count, bool driver);

#endif
