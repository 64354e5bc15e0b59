/* yaml_reader.h - the text of a spec on its way through libyaml, and what is said where libyaml refuses it. Private to
 * spec_yaml.c and yaml_faults.c. */
#ifndef MODC_YAML_READER_H
#define MODC_YAML_READER_H

#include <yaml.h>

#include "base/diag.h"

struct range {
    size_t begin, end;
};

struct yaml_reader {
    struct cx *cx;
    const struct source *source;
    struct source *unescaped; /* see struct node; NULL until needed */
    char *yaml;               /* the copy that libyaml reads, of the whole file */
    size_t begin, end;        /* the part that it reads: behind a byte order mark, before a cut */
    size_t *marks;            /* offset of every mark_step-th character, since libyaml counts characters */
    size_t mark_count;
    struct range *masked;
    int masked_count;
    bool complete, fatal;
    int node_count;
    yaml_parser_t parser;
};

/* Of the bytes from `begin` to `end`; of one where that is none. */
struct loc yaml_place(struct yaml_reader *r, size_t begin, size_t end);

/* The offset of libyaml's mark. */
size_t yaml_offset(const struct yaml_reader *r, yaml_mark_t mark);

/* ---- yaml_faults.c: see note [faults] in spec_yaml.c ---- */

/* Says the fault of the parser; then masks it or cuts the text. `done` is where the last event ended,
 * `flow` where the brackets begin that are open there. */
void yaml_fault_explain(struct yaml_reader *r, size_t done, size_t flow);

bool yaml_fault_is_masked(const struct yaml_reader *r, size_t at);
/* Makes one plain scalar of the range. False where it is masked already. */
bool yaml_fault_mask(struct yaml_reader *r, size_t begin, size_t end);
void yaml_fault_cut(struct yaml_reader *r, size_t at);
/* What YAML makes of text that begins with `c`; NULL where that is plain text. */
const char *yaml_fault_meaning(char c);
/* What to do about text at [at, end) that begins with a sign of YAML's own. */
void yaml_fault_hint(struct yaml_reader *r, size_t at, size_t end);

#endif
