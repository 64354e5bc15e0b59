/* tensor_file.h - tensors of safetensors files: what a spec's values read, and what is said of files that cannot be read. Apart,
 * since values are evaluated in one room and weights embedded in another. */
#ifndef MODC_TENSOR_FILE_H
#define MODC_TENSOR_FILE_H

#include "base/diag.h"

struct modc_reader;
struct modc_report;

/* Maps a file that this run then depends on; the caller unmaps reader->bytes. False after an error at `loc`. */
bool tensor_file_open(struct cx *cx, struct loc loc, const char *path, struct modc_reader *reader);

/* Says why a file cannot be read; errno says what the system had against it. */
void tensor_file_unreadable(struct cx *cx, struct loc loc, const char *path);

/* Says in PyTorch's words what a report has of a file: its first line is the error, each further one a note. */
void tensor_file_say(struct cx *cx, struct loc loc, const char *path, const struct modc_report *report);

#endif
