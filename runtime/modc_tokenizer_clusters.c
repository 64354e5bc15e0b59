/* modc_tokenizer_clusters.c - which characters of a text are one cluster, for maps that go by clusters (note [clusters]): extended
 * grapheme clusters of Unicode's annex 29. Pairs of regional indicators are left out: two of them are longer than what is looked for. */
#include "modc_tokenizer_parts.h"

enum { NON_JOINER = 0x200c, JOINER = 0x200d, HANGUL = 0xac00, HANGUL_COUNT = 11172, TRAIL_COUNT = 28 };

/* What a character is in a syllable of Hangul. */
enum sound { NO_SOUND, LEAD, VOWEL, TRAIL, OPEN_SYLLABLE, SYLLABLE };

/* A cluster as far as it has come: its last character, and what that stands behind. */
struct cluster {
    const struct modc_charsmap *map;
    uint32_t last;
    uint64_t kind;
    enum { NO_PICTURE, PICTURE, JOINED_PICTURE } picture;
    enum { NO_CONSONANT, CONSONANT, LINKED_CONSONANT } consonant;
};

static enum sound sound_of(const struct modc_charsmap *map, uint32_t character, uint64_t kind)
{
    if (character - HANGUL < HANGUL_COUNT)
        return (character - HANGUL) % TRAIL_COUNT == 0 ? OPEN_SYLLABLE : SYLLABLE;
    if (kind & map->kinds[MODC_CLUSTER_LEAD])
        return LEAD;
    return kind & map->kinds[MODC_CLUSTER_VOWEL]   ? VOWEL
           : kind & map->kinds[MODC_CLUSTER_TRAIL] ? TRAIL
                                                   : NO_SOUND;
}

static bool are_one_syllable(enum sound before, enum sound behind)
{
    switch (before) {
    case LEAD:
        return behind == LEAD || behind == VOWEL || behind == OPEN_SYLLABLE || behind == SYLLABLE;
    case VOWEL:
    case OPEN_SYLLABLE:
        return behind == VOWEL || behind == TRAIL;
    case TRAIL:
    case SYLLABLE:
        return behind == TRAIL;
    default:
        return false;
    }
}

static void take(struct cluster *own, uint32_t character, uint64_t kind)
{
    const bool extends = (kind & own->map->kinds[MODC_CLUSTER_EXTEND]) != 0;

    if (kind & own->map->kinds[MODC_CLUSTER_PICTURE])
        own->picture = PICTURE;
    else if (own->picture == PICTURE && character == JOINER)
        own->picture = JOINED_PICTURE;
    else if (own->picture != PICTURE || !extends)
        own->picture = NO_PICTURE;
    if (kind & own->map->kinds[MODC_CLUSTER_CONSONANT])
        own->consonant = CONSONANT;
    else if (own->consonant != NO_CONSONANT && (kind & own->map->kinds[MODC_CLUSTER_LINKER]))
        own->consonant = LINKED_CONSONANT;
    else if (character != JOINER && (!extends || character == NON_JOINER))
        own->consonant = NO_CONSONANT;
    own->last = character;
    own->kind = kind;
}

/* Whether a character belongs to the cluster that stands before it. */
static bool goes_on(const struct cluster *own, uint32_t character, uint64_t kind)
{
    const struct modc_charsmap *map = own->map;

    if ((own->kind | kind) & map->kinds[MODC_CLUSTER_CONTROL])
        return own->last == '\r' && character == '\n';
    return (kind & (map->kinds[MODC_CLUSTER_EXTEND] | map->kinds[MODC_CLUSTER_SPACING])) ||
           character == JOINER || (own->kind & map->kinds[MODC_CLUSTER_PREPEND]) ||
           (own->consonant == LINKED_CONSONANT && (kind & map->kinds[MODC_CLUSTER_CONSONANT])) ||
           (own->picture == JOINED_PICTURE && (kind & map->kinds[MODC_CLUSTER_PICTURE])) ||
           are_one_syllable(sound_of(map, own->last, own->kind), sound_of(map, character, kind));
}

size_t modc_cluster(const struct modc_tokenizer *t, const struct modc_charsmap *map, const unsigned char *s,
                    size_t bytes)
{
    struct cluster own = {.map = map};
    uint32_t character;
    size_t at = (size_t)modc_character(s, bytes, &character);

    take(&own, character, modc_kind(t, character));
    while (at < bytes) {
        const size_t count = (size_t)modc_character(s + at, bytes - at, &character);
        const uint64_t kind = modc_kind(t, character);

        if (!goes_on(&own, character, kind))
            break;
        take(&own, character, kind);
        at += count;
    }
    return at;
}
