/* names.c - the set of names behind "defined twice". Apart, since keys of YAML, names of a class and paths
 * in C all ask the same question; only membership is asked, so that no order of a hash table can reach the
 * output. */
#include "base/names.h"

#include <string.h>

#include "base/text.h"

static unsigned hash_of(const char *key)
{
    return (unsigned)text_hash(key, strlen(key));
}

/* The slot of the key, or the free one where it would stand. */
static int *find_slot(const struct names *names, const char *key, unsigned hash)
{
    const unsigned mask = (unsigned)names->capacity - 1; /* capacity is a power of two, and never full */
    unsigned at = hash & mask;

    while (names->slots[at] > 0) {
        const struct name_entry *entry = &names->entries[names->slots[at] - 1];

        if (entry->hash == hash && strcmp(entry->key, key) == 0)
            break;
        at = (at + 1) & mask;
    }
    return &names->slots[at];
}

const struct name_entry *names_find(const struct names *names, const char *key)
{
    const int at = names->count > 0 ? *find_slot(names, key, hash_of(key)) : 0;

    return at > 0 ? &names->entries[at - 1] : NULL;
}

static void make_room(struct arena *arena, struct names *names)
{
    names->capacity = names->capacity > 0 ? 2 * names->capacity : 8;
    names->slots = ARENA_ARRAY(arena, names->capacity, int);
    for (int i = 0; i < names->count; i++)
        *find_slot(names, names->entries[i].key, names->entries[i].hash) = i + 1;
}

const struct name_entry *names_add(struct arena *arena, struct names *names, const char *key,
                                   const char *name, struct loc loc)
{
    const unsigned hash = hash_of(key);
    int *slot;

    if (2 * (names->count + 1) > names->capacity)
        make_room(arena, names);
    slot = find_slot(names, key, hash);
    if (*slot > 0)
        return &names->entries[*slot - 1];

    const struct name_entry entry = {key, name, loc, names->count, hash};

    ARENA_PUSH(arena, names->entries, names->count, entry);
    *slot = names->count;
    return NULL;
}
