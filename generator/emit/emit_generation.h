/* emit_generation.h - what `generation:` adds to a model's files: the table of its generator, and functions under its name. */
#ifndef MODC_EMIT_GENERATION_H
#define MODC_EMIT_GENERATION_H

#include "emit/emit_room.h"

/* MODEL_generation, its constants and functions, of a program that generates. The header includes modc_generation.h. */
void emit_generation_header(struct emit *e, struct text *out);
void emit_generation_source(struct emit *e, struct text *out);

#endif
