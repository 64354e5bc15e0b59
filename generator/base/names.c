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

/* Where it stands, or where it would. */
static struct name_entry *find_slot(struct name_entry *slots, int capacity, const char *key, unsigned hash)
{
    unsigned mask = (unsigned)capacity - 1; /* capacity is a power of two, and never full */
    unsigned at = hash & mask;

    while (slots[at].key && (slots[at].hash != hash || strcmp(slots[at].key, key) != 0))
        at = (at + 1) & mask;
    return &slots[at];
}

const struct name_entry *names_find(const struct names *names, const char *key)
{
    const struct name_entry *slot;

    if (names->count == 0)
        return NULL;
    slot = find_slot(names->slots, names->capacity, key, hash_of(key));
    return slot->key ? slot : NULL;
}

const struct name_entry *names_add(struct arena *arena, struct names *names, const char *key,
                                   const char *name, struct loc loc)
{
    const unsigned hash = hash_of(key);

    if (2 * (names->count + 1) > names->capacity) {
        int capacity = names->capacity > 0 ? 2 * names->capacity : 8;
        struct name_entry *slots = ARENA_ARRAY(arena, capacity, struct name_entry);

        for (int i = 0; i < names->capacity; i++) {
            const struct name_entry *old = &names->slots[i];

            if (old->key)
                *find_slot(slots, capacity, old->key, old->hash) = *old;
        }
        names->slots = slots;
        names->capacity = capacity;
    }

    struct name_entry *slot = find_slot(names->slots, names->capacity, key, hash);

    if (slot->key)
        return slot;
    *slot = (struct name_entry){key, name, loc, names->count++, hash};
    return NULL;
}
