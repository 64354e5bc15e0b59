/* emit_chat.h - what `template:` adds to a model's files: its chat template as a function. */
#ifndef MODC_EMIT_CHAT_H
#define MODC_EMIT_CHAT_H

#include "base/text.h"
#include "template/chat.h"

/* MODEL_chat; m is the model's name. The header includes modc_template.h. */
void emit_chat_header(struct text *out, const char *m, const struct chat *chat);

/* MODEL_template.c */
const char *emit_chat_source(struct cx *cx, const char *m, const char *spec, const struct chat *chat);

#endif
