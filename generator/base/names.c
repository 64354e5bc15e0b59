/* names.c - the set of names behind "defined twice". Apart, since keys of YAML, names of a class and paths
 * in C all ask the same question; only membership is asked, so that no order of a hash table can reach the
 * output. */
#include "base/names.h"

#include <string.h>

#include "base/text.h"

static struct name_entry *find_slot(struct name_entry *slots, int capacity, const char *key)
{
    size_t mask = (size_t)capacity - 1; /* capacity is a power of two, and never full */
    size_t at = (size_t)text_hash(key, strlen(key)) & mask;

    while (slots[at].key && strcmp(slots[at].key, key) != 0)
        at = (at + 1) & mask;
    return &slots[at];
}

const struct name_entry *names_find(const struct names *names, const char *key)
{
    const struct name_entry *slot = names->capacity > 0 ? find_slot(names->slots, names->capacity, key)
                                                        : NULL;

    return slot && slot->key ? slot : NULL;
}

const struct name_entry *names_add(struct arena *arena, struct names *names, const char *key,
                                   const char *name, struct loc loc)
{
    if (2 * (names->count + 1) > names->capacity) {
        int capacity = names->capacity > 0 ? 2 * names->capacity : 8;
        struct name_entry *slots = ARENA_ARRAY(arena, capacity, struct name_entry);

        for (int i = 0; i < names->capacity; i++) {
            if (names->slots[i].key)
                *find_slot(slots, capacity, names->slots[i].key) = names->slots[i];
        }
        names->slots = slots;
        names->capacity = capacity;
    }

    struct name_entry *slot = find_slot(names->slots, names->capacity, key);

    if (slot->key)
        return slot;
    *slot = (struct name_entry){key, name, loc, names->count++};
    return NULL;
}
