/* modc_host.h - hosted builds: what modc_host.c does with files, maps and memory. modc.h includes it, where firmware leaves these
 * functions alone. */
#ifndef MODC_HOST_H
#define MODC_HOST_H

#include "modc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Over modc_load_indexed and modc_save_bytes; a failed save leaves the old file. MODC_FILE (errno says more);
 * load refuses MODC_ASSIGN (MODC_ARGUMENT): map the file and use modc_load_bytes. */
enum modc_status modc_load(struct modc_params *params, const char *path, unsigned flags,
                           struct modc_report *report);
enum modc_status modc_save(const struct modc_params *params, const char *path);

/* The file's bytes, read-only, until modc_unmap. MODC_FILE; errno is EINVAL where it is a folder, a pipe, a device or a socket, none
 * of which is opened. */
enum modc_status modc_map(const char *path, const void **bytes, size_t *length);
void modc_unmap(const void *bytes, size_t length);
/* Writes a file at once: under a name of its own first, which takes the file's place when it is on the disk. Where there was a file
 * it keeps its mode; a symbolic link stays one. A device or a pipe is written as it is. MODC_FILE: then there is the old file as it
 * was, or the new one where its folder alone could not be brought to the disk. */
enum modc_status modc_write_file(const char *path, const void *bytes, size_t length);
/* The same of what `make` writes, as modc_save_bytes does: it is asked for its length first. MODC_MEMORY, and what make returned. */
typedef enum modc_status modc_make_file(const void *of, void *out, size_t capacity, size_t *length);
enum modc_status modc_write_made(const char *path, modc_make_file *make, const void *of);

/* struct MODEL_params with its parameter block and packed block in one allocation, bound; no weights. */
enum modc_status modc_params_create(const struct modc_model *model, struct modc_params **params);
/* The same over a parameter block of the caller's, which outlives them, bound as by modc_bind. */
enum modc_status modc_params_create_over(const struct modc_model *model, void *block, size_t bytes,
                                         struct modc_params **params);
void modc_params_destroy(struct modc_params *params); /* only of these two; NULL is allowed */

/* struct MODEL with a workspace of its own, initialised; workspace 0: enough for every entry and variant. */
enum modc_status modc_create(const struct modc_model *model, struct modc_params *params, size_t workspace,
                             struct modc_context **net);
void modc_destroy(struct modc_context *net);
size_t modc_workspace(const struct modc_model *model); /* the largest of all entries and variants */

/* struct MODEL_training with its block in one allocation, initialised: with `training:` as MODEL_training_init does, else as
 * modc_training_init. To be destroyed before its context, which then keeps nothing for backward. */
enum modc_status modc_training_create(struct modc_context *net, struct modc_training **training);
void modc_training_destroy(struct modc_training *training);

#ifdef __cplusplus
}
#endif
#endif
