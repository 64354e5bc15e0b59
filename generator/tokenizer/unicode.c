/* unicode.c - sets of characters, of the tables that a script has written. */
#include "tokenizer/unicode.h"

#include <string.h>

struct characters *characters_new(struct arena *arena)
{
    return ARENA_NEW(arena, struct characters);
}

void characters_add(struct characters *set, uint32_t first, uint32_t last)
{
    for (uint32_t c = first; c <= last; c++)
        set->bits[c / 32] |= 1u << c % 32;
}

void characters_join(struct characters *set, const struct characters *other)
{
    for (int i = 0; i < COUNT(set->bits); i++)
        set->bits[i] |= other->bits[i];
}

void characters_invert(struct characters *set)
{
    for (int i = 0; i < COUNT(set->bits); i++)
        set->bits[i] = ~set->bits[i];
}

bool characters_have(const struct characters *set, uint32_t character)
{
    return (set->bits[character / 32] >> character % 32 & 1) != 0;
}

uint32_t characters_next(const struct characters *set, uint32_t from)
{
    while (from < UNICODE_CHARACTERS && !characters_have(set, from))
        from = set->bits[from / 32] >> from % 32 == 0 ? (from | 31) + 1 : from + 1;
    return from;
}

void characters_add_set(struct characters *set, enum unicode_set which)
{
    const struct unicode_ranges *ranges = &unicode_sets[which];

    for (int i = 0; i < ranges->count; i += 2)
        characters_add(set, ranges->list[i], ranges->list[i + 1] - 1);
}

/* In the order of their numbers in unicode_categories. */
static const char *const category_names[] = {
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn",
};

static const struct {
    const char *name;
    enum unicode_set set;
} scripts[] = {
    {"Han", UNICODE_HAN},
    {"Hiragana", UNICODE_HIRAGANA},
    {"Katakana", UNICODE_KATAKANA},
    {"Hangul", UNICODE_HANGUL},
};

bool characters_add_property(struct characters *set, const char *name, size_t length)
{
    bool found = false;

    for (int i = 0; i < COUNT(scripts); i++) {
        if (strlen(scripts[i].name) == length && strncmp(scripts[i].name, name, length) == 0) {
            characters_add_set(set, scripts[i].set);
            return true;
        }
    }
    for (int i = 0; i < unicode_category_count; i++) {
        const uint32_t from = unicode_categories[i] >> 8;
        const uint32_t until = i + 1 < unicode_category_count ? unicode_categories[i + 1] >> 8
                                                              : UNICODE_CHARACTERS;

        if (length < 1 || length > 2 ||
            strncmp(category_names[unicode_categories[i] & 255], name, length) != 0)
            continue;
        characters_add(set, from, until - 1);
        found = true;
    }
    return found;
}
