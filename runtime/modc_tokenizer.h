/* modc_tokenizer.h - text to ids of tokens and back, as the `tokenizers` package does it. Models without `tokenizer:` do without it.
 * Nothing here allocates, prints or keeps globals.
 *
 * Emitted code has a constant struct modc_tokenizer, made of a tokenizer.json. A text passes through it so:
 *     added tokens that stand in it are cut out; what lies between them is normalised; stages cut that into pieces;
 *     the model makes tokens of each piece; ids of the template stand around them
 * Texts are UTF-8. A byte that is none counts as a character of its own, like U+FFFD; byte-level BPE encodes it as it is. */
#ifndef MODC_RUNTIME_TOKENIZER_H
#define MODC_RUNTIME_TOKENIZER_H

#include "modc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what callers use --------------------------------------------------------------------------------------- */

/* Of encoding and decoding; 0 is what `tokenizers` does when it is asked for nothing else. */
enum {
    MODC_NO_TEMPLATE =
        1, /* encode: without the tokens that stand around every text (add_special_tokens=False) */
    MODC_ALL_TEXT = 2,     /* encode: special tokens in the text are text, too: it is not to be trusted */
    MODC_KEEP_SPECIAL = 4, /* decode: special tokens are text (skip_special_tokens=False) */
    MODC_RAW_BYTES = 8     /* decode: bytes that are no UTF-8 stay, else U+FFFD stands for them */
};

/* A token's bytes in the text that was encoded: from `start` to before `end`. Those of the template have 0, 0. */
struct modc_span {
    uint32_t start, end;
};

/* Where ids go. spans: NULL, or as many. */
struct modc_tokens {
    int64_t *ids;
    struct modc_span *spans;
    int room;
    int count; /* that there are, which may be more than have room */
};

struct modc_tokenizer;

/* The bytes of workspace with which a text of so many bytes can always be encoded: NAME_TOKENIZER_BYTES. */
size_t modc_encode_bytes(const struct modc_tokenizer *t, size_t bytes);

/* MODC_SIZE: there are more tokens than `room` (those that fit are there, count says how many all are), or the text has 2^31 bytes;
 * MODC_WORKSPACE: too little, which may be so below modc_encode_bytes; MODC_ALIGNMENT: it starts at no multiple of MODC_ALIGN. */
enum modc_status modc_encode(const struct modc_tokenizer *t, const char *text, size_t bytes, unsigned flags,
                             struct modc_tokens *tokens, void *workspace, size_t workspace_bytes);

/* The text of so many ids; those that are no token have none. *bytes: its length. A 0 stands behind it where there is room.
 * MODC_SIZE: it has more than `room` bytes, of which those that fit are there. */
enum modc_status modc_decode(const struct modc_tokenizer *t, const int64_t *ids, int count, unsigned flags,
                             char *out, size_t room, size_t *bytes);

/* The same token by token, as they come: what is not yet a whole character is held back. Begin with modc_decoder_init; the
 * members are the runtime's. */
struct modc_decoder {
    const struct modc_tokenizer *t;
    unsigned flags;
    int held, stripped; /* bytes that are held; of what is left out in front, how much was */
    bool begun;         /* a token came */
    unsigned char hold[8];
    int64_t waiting; /* a token of which a part is not out, or -1 */
};

void modc_decoder_init(struct modc_decoder *decoder, const struct modc_tokenizer *t, unsigned flags);

/* Text that the token completes: at most NAME_TOKENIZER_TEXT bytes. MODC_SIZE: `room` is less than *bytes, and nothing has changed. */
enum modc_status modc_decoder_push(struct modc_decoder *decoder, int64_t id, char *out, size_t room,
                                   size_t *bytes);

/* What is held, when no more tokens come; then a new text may begin. */
enum modc_status modc_decoder_end(struct modc_decoder *decoder, char *out, size_t room, size_t *bytes);

/* The token that is written so in tokenizer.json (bytes of byte-level BPE: as themselves), or -1. */
int64_t modc_token_id(const struct modc_tokenizer *t, const char *token, size_t bytes);

/* How it is written, without a 0 behind; NULL: no token has this id. */
const char *modc_token_text(const struct modc_tokenizer *t, int64_t id, size_t *bytes);

/* Whether decoding leaves it out. */
bool modc_token_is_special(const struct modc_tokenizer *t, int64_t id);

/* ---- the tables ----------------------------------------------------------------------------------------------- */

enum { MODC_MAX_KINDS = 64, MODC_MAX_STAGES = 8, MODC_MAX_STEPS = 16 };

/* Flags of a token. */
enum {
    MODC_TOKEN_WHOLE = 1,   /* a piece that is written so is this token alone */
    MODC_TOKEN_SPECIAL = 2, /* decoding leaves it out */
    MODC_TOKEN_ADDED = 4,   /* stands beside the model's vocabulary */
    MODC_TOKEN_BYTE = 8,    /* <0x0A>: the byte */
    MODC_TOKEN_NONE = 16,   /* an id between others that is none */
    MODC_TOKEN_RENAMED = 32 /* what is decoded is what normalisers made of it: its bytes in added_normal */
};

/* A token that is looked for in the text itself. */
struct modc_added {
    uint32_t at, length; /* in added_bytes */
    int32_t id;
    uint8_t flags;
};
enum { MODC_ADDED_LSTRIP = 1, MODC_ADDED_RSTRIP = 2, MODC_ADDED_WORD = 4, MODC_ADDED_SPECIAL = 8 };

/* Sorted by their bytes. */
struct modc_added_set {
    const struct modc_added *list;
    int count;
    uint32_t first[8]; /* a bit for each byte that one begins with */
};

/* note [kinds]
 * Characters are told apart no further than the patterns of a tokenizer do: each has one of at most 64 kinds, and a set of
 * characters is a bit for each kind. Two tables find a kind: kind_pages by code point / 128, then the character in its page. */

/* A pattern as a graph: what `next` leads to, else what stands beside it. */
enum modc_node_op {
    MODC_NODE_END,
    MODC_NODE_SET, /* from least to most characters of the set, as many as there are; fewer if what follows wants it */
    MODC_NODE_POSSESSIVE, /* the same, never fewer */
    MODC_NODE_EITHER,     /* next, else other */
    MODC_NODE_AHEAD,      /* a character of the set follows */
    MODC_NODE_NOT_AHEAD   /* none does */
};

struct modc_node {
    uint64_t set;
    uint32_t least, most;
    int16_t next, other;
    uint8_t op;
};

enum modc_stage_kind {
    MODC_STAGE_SPLIT,
    MODC_STAGE_SPACE,    /* a space in front of a piece that has none */
    MODC_STAGE_METASPACE /* spaces become `mark`, which stands in front of a piece, too */
};
enum modc_behavior {
    MODC_ISOLATED,
    MODC_REMOVED,
    MODC_CONTIGUOUS,
    MODC_WITH_PREVIOUS,
    MODC_WITH_NEXT,
    MODC_KEPT /* what matches; what lies between goes */
};
enum modc_prepend { MODC_PREPEND_NEVER, MODC_PREPEND_FIRST, MODC_PREPEND_ALWAYS };

/* How pieces are cut into smaller ones. A pattern is a list of alternatives, or the bytes of `mark`. */
struct modc_stage {
    enum modc_stage_kind kind;
    enum modc_behavior behavior;
    const struct modc_node *nodes;
    const int16_t *alternatives;
    const uint64_t *firsts; /* of each alternative: the kinds that it can begin with */
    int alternative_count, node_count;
    const char *mark;
    int mark_bytes;
    enum modc_prepend prepend;
};

/* note [clusters]
 * SentencePiece's map of characters (the normalizer Precompiled). Where a cluster, as Unicode has them, is at most 5 bytes, what it
 * begins with is looked for, and all of it becomes what is found; else, and in longer ones, each character is looked for. */
enum modc_cluster_part { /* syllables of Hangul are known by their numbers, joiners by theirs */
                         MODC_CLUSTER_CONTROL,
                         MODC_CLUSTER_EXTEND,
                         MODC_CLUSTER_SPACING,
                         MODC_CLUSTER_PREPEND,
                         MODC_CLUSTER_PICTURE,
                         MODC_CLUSTER_LEAD,
                         MODC_CLUSTER_VOWEL,
                         MODC_CLUSTER_TRAIL,
                         MODC_CLUSTER_CONSONANT,
                         MODC_CLUSTER_LINKER,
                         MODC_CLUSTER_PARTS
};
struct modc_charsmap {
    const uint32_t *trie; /* note [double arrays]: of what becomes others; its values are in `texts` */
    const char *texts;    /* each with a 0 behind */
    int units, text_bytes;
    uint64_t kinds[MODC_CLUSTER_PARTS];
};

/* note [plain characters]
 * Most texts are mostly ASCII, of which steps that go by characters make the same wherever it stands between ASCII. A step that begins a row
 * of such steps has a table of what all of these, plain_steps, make of a byte: a byte, MODC_PLAIN_GONE, or MODC_PLAIN_NOT: that depends,
 * and is left to the steps. */
enum { MODC_PLAIN_GONE = 0x80, MODC_PLAIN_NOT = 0xff };

enum modc_step_kind {
    MODC_STEP_NFC,
    MODC_STEP_NFD,
    MODC_STEP_NFKC,
    MODC_STEP_NFKD,
    MODC_STEP_LOWERCASE,
    MODC_STEP_STRIP,         /* flags: 1 in front, 2 behind */
    MODC_STEP_STRIP_ACCENTS, /* some characters go */
    MODC_STEP_REPLACE,       /* from -> to; in texts and in tokens that are decoded */
    MODC_STEP_PREPEND,       /* to */
    MODC_STEP_CLEAN,         /* control characters go, what is white becomes a space */
    MODC_STEP_HAN,           /* a space on both sides of each ideograph */
    MODC_STEP_CHARSMAP       /* clusters of characters, or characters, become texts */
};
struct modc_step {
    enum modc_step_kind kind;
    const char *from, *to;
    int from_bytes, to_bytes;
    const struct modc_stage *pattern;     /* REPLACE: what matches it, instead of from */
    const struct modc_charsmap *charsmap; /* CHARSMAP */
    unsigned flags;
    int growth;           /* bytes that a byte becomes at most, beside to_bytes */
    const uint8_t *plain; /* note [plain characters]: 256, or NULL */
    int plain_steps;
    uint64_t kinds,
        more_kinds; /* of characters: STRIP what is white; ACCENTS, CLEAN what goes, HAN; CLEAN what becomes a space */
};

/* Characters that become others, sorted. */
struct modc_mapping {
    const uint32_t *from; /* `count` */
    const uint16_t *at;   /* count + 1: where its characters begin in `to` */
    const uint32_t *to;
    int count;
};

/* What normalisers know of characters. NULL where none of a tokenizer's asks for it. */
struct modc_unicode {
    struct modc_mapping canonical, compatible, lower;
    const uint32_t *class_from; /* characters that have a combining class, sorted */
    const uint8_t *class_of;
    int class_count;
    const uint32_t *pairs; /* first, second, composed; sorted */
    int pair_count;
};

enum modc_token_model { MODC_BPE, MODC_WORDPIECE, MODC_UNIGRAM, MODC_WORDLEVEL };

/* note [merges]
 * A merge is found by what it makes: the bytes of two neighbours, one behind the other, are looked up as a token. It is one where
 * the left part has as many bytes as one of the merges that make this token. How merges are ordered:
 *     lefts: one merge for each token at most, by ranks, or (NULL) by id
 *     split_starts: several, each with its rank
 *     neither: every way to split a token is one, by the token's id, then by the parts' ids */
/* note [affixes]
 * In BPE with a prefix of what goes on and a suffix of what ends a piece, tokens are written with them: a piece is taken with its suffix
 * behind its last character, and what does not begin the piece is looked up behind the prefix, which no token has twice. */
/* note [joints]
 * Some tokenizers have a whole text as one piece. It is cut where no merge can reach: between two characters that stand beside each
 * other in no token. A bit for a hash of both says that they may: one of 2^joint_bits, so many that an eighth is set at most, but 2^20. */
#define MODC_JOINT_HASH(first, second) ((first)*0x9e3779b1u ^ (second)*0x85ebca6bu)
#define MODC_JOINT(first, second, bits)                                                                      \
    ((MODC_JOINT_HASH(first, second) ^ MODC_JOINT_HASH(first, second) >> 15) & ((1u << (bits)) - 1))
enum { MODC_JOINT_BITS = 12, MODC_JOINT_BITS_MOST = 20 };

/* Tokens that are text, of 255 bytes at most, sorted by what they are behind others: each shares so many bytes with the one before it,
 * and has so many more. modc_grammar.h walks over them. */
struct modc_token_order {
    const uint32_t *ids;
    const uint8_t *shared, *more; /* of each */
    const uint8_t *bytes;         /* those that are not shared, one behind the other */
    int count;
};

struct modc_tokenizer {
    const char *name;
    int vocabulary;         /* ids are below it */
    const uint8_t *bytes;   /* of the tokens, one behind the other */
    const uint32_t *starts; /* vocabulary + 1 */
    const uint8_t *flags;
    const uint32_t *trie; /* note [double arrays]: the model's tokens by their bytes */
    int trie_units;
    int longest; /* bytes of the model's longest token */

    enum modc_token_model model;
    bool byte_level;         /* pieces are bytes, else characters */
    bool fuse_unknown;       /* neighbours that are unknown are one token */
    bool leaves_out;         /* what is in no vocabulary and has no unknown token */
    int32_t unknown;         /* -1: none */
    const int32_t *byte_ids; /* 256: of bytes; NULL: none. -1: not in the vocabulary */
    const uint8_t *joints;   /* note [joints]; NULL: pieces are not cut */
    int joint_bits;
    const uint16_t *lefts;
    const uint32_t *ranks;
    const uint32_t *split_starts; /* vocabulary + 1 */
    const uint16_t *split_lefts;
    const uint32_t *split_ranks;
    const char *prefix; /* WordPiece, BPE: of what goes on in a piece */
    const char *suffix; /* BPE: of what ends one; NULL: nothing has one. note [affixes] */
    int prefix_bytes, suffix_bytes, most_characters;
    const double *scores; /* Unigram */
    double unknown_score;

    struct modc_added_set added, added_normal; /* found in the text as it is, and as it is normalised */
    const char *added_bytes;
    uint64_t word_kinds, space_kinds; /* what lstrip, rstrip and single_word ask for */

    const uint8_t *kinds; /* note [kinds] */
    const uint16_t *kind_pages;
    struct modc_stage stages[MODC_MAX_STAGES];
    int stage_count;
    struct modc_step steps[MODC_MAX_STEPS]; /* normalisers */
    int step_count;
    const struct modc_unicode *unicode;
    int letter_rate;                    /* characters of normal forms, for each byte of text */
    int workspace_rate, workspace_rest; /* bytes for each one of text, and beside them: modc_encode_bytes */

    const int64_t *before, *behind; /* the template */
    int before_count, behind_count;
    bool trims, trims_prefix; /* spans leave spaces out, but for the one that was put in front */

    /* decoding */
    struct modc_step decode_replace; /* in each token; from_bytes 0: none */
    bool decode_bytes;               /* characters stand for bytes, as in byte-level BPE */
    bool decode_byte_tokens;
    const char *decode_strip; /* a character that is left out in front */
    int decode_strip_bytes, decode_strip_count;
    const char *decode_mark; /* Metaspace: is a space, but none in the first token where decode_mark_first */
    int decode_mark_bytes;
    bool decode_mark_first;
    const char *decode_prefix; /* WordPiece: what has none begins with a space */
    int decode_prefix_bytes;
    bool decode_cleanup;
    const char *decode_suffix; /* BPE: is a space, but in the last token */
    int decode_suffix_bytes;
    const char *decode_join;              /* between tokens */
    int decode_token_bytes;               /* that one becomes at most */
    const struct modc_token_order *order; /* NULL: the model has no grammars */

    int64_t bos, eos, pad, unk; /* -1: the file names none */
};

/* For a kind of character: its bit. */
#define MODC_KIND(kind) ((uint64_t)1 << (kind))

/* ---- the functions of a model ------------------------------------------------------------------------------- */

/* What emitted headers have of these under the model's name. */
#define MODC_TOKENIZER_FUNCTIONS(model)                                                                      \
    static inline enum modc_status model##_encode_text(const char *text, size_t bytes, unsigned flags,       \
                                                       struct modc_tokens *tokens, void *workspace,          \
                                                       size_t workspace_bytes)                               \
    {                                                                                                        \
        return modc_encode(&model##_tokenizer, text, bytes, flags, tokens, workspace, workspace_bytes);      \
    }                                                                                                        \
    static inline enum modc_status model##_decode_text(const int64_t *ids, int count, unsigned flags,        \
                                                       char *out, size_t room, size_t *bytes)                \
    {                                                                                                        \
        return modc_decode(&model##_tokenizer, ids, count, flags, out, room, bytes);                         \
    }                                                                                                        \
    static inline void model##_decoder_init(struct modc_decoder *decoder, unsigned flags)                    \
    {                                                                                                        \
        modc_decoder_init(decoder, &model##_tokenizer, flags);                                               \
    }                                                                                                        \
    static inline int64_t model##_token_id(const char *token, size_t bytes)                                  \
    {                                                                                                        \
        return modc_token_id(&model##_tokenizer, token, bytes);                                              \
    }                                                                                                        \
    static inline const char *model##_token_text(int64_t id, size_t *bytes)                                  \
    {                                                                                                        \
        return modc_token_text(&model##_tokenizer, id, bytes);                                               \
    }

#ifdef __cplusplus
}
#endif
#endif
