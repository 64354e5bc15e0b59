/* schema.h - `modc schema`: a JSON Schema (draft 7) of specs, for editors: completion, hover texts, checks while
 * typing. specs/modc.schema.json is what it prints. */
#ifndef MODC_SCHEMA_H
#define MODC_SCHEMA_H

#include "base/text.h"

void schema_print(struct cx *cx, struct text *text);

#endif
