/* names.h - a set of names, each with the place where it was first seen: finds duplicates in linear time. */
#ifndef MODC_NAMES_H
#define MODC_NAMES_H

#include "base/arena.h"
#include "base/diag.h"

struct name_entry {
    const char *key;  /* what must be unique: the name itself, or its form in C */
    const char *name; /* as the user wrote it */
    struct loc loc;
    int index;     /* how many were there before it */
    unsigned hash; /* of the key */
};

/* From so many names on a list has an index of them: before, to compare them is quicker. */
enum { NAMES_INDEXED_FROM = 16 };

/* Start with {0}. */
struct names {
    struct name_entry *entries; /* in the order in which they came */
    int count;
    int *slots, capacity; /* open addressing: 1 and the index of an entry; 0: free */
};

/* The entry that has this key already, which stays as it is; NULL where the key is new and was added. */
const struct name_entry *names_add(struct arena *arena, struct names *names, const char *key,
                                   const char *name, struct loc loc);

const struct name_entry *names_find(const struct names *names, const char *key);

#endif
