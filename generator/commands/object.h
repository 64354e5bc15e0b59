/* object.h - reads what a compiler wrote: the sections of an ELF object file, whatever machine it is for, and which
 * symbols each of them needs. */
#ifndef MODC_OBJECT_H
#define MODC_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* OTHER takes no memory of the program, or is of debuggers and unwinders. */
enum object_kind { OBJECT_TEXT, OBJECT_RODATA, OBJECT_DATA, OBJECT_BSS, OBJECT_OTHER };

struct object_section {
    enum object_kind kind;
    int64_t bytes;
    int *uses; /* symbols that it refers to */
    int use_count;
};

struct object_symbol {
    const char *name; /* "": none */
    int section;      /* that it lies in; -1: it is defined elsewhere, or is no place */
    bool function, global;
};

struct object {
    struct object_section *sections;
    struct object_symbol *symbols;
    int section_count, symbol_count;
    bool x86;
};

/* False where the bytes are no ELF object file, or a broken one. The object points into nothing of them. */
bool object_read(struct arena *arena, const void *bytes, size_t length, struct object *object);

#endif
