/* tokenizer_regex.c - patterns of pre-tokenizers: no regular expressions in general, but alternatives of runs of characters of sets, as
 * tokenizers have them. Read as Oniguruma does in the package `tokenizers`. A pattern becomes a tree, then a graph. */
#include "tokenizer/tokenizer_reader.h"

#include <assert.h>
#include <string.h>

#include "modc_tokenizer.h"

/* ---- the tree ------------------------------------------------------------------------------------------------- */

enum part_kind { PART_SET, PART_ALL, PART_EITHER, PART_MAYBE, PART_LOOK };

struct part {
    enum part_kind kind;
    struct characters *set; /* SET, LOOK */
    uint32_t least, most;   /* SET */
    bool possessive, negative;
    struct part **parts; /* ALL: one behind the other; EITHER; MAYBE: one */
    int count;
};

#define UNBOUNDED UINT32_MAX

struct pattern {
    struct tokenizer_reader *r;
    const struct json *json;
    const char *path, *text, *end;
    bool fold, failed;
    int depth;
};

static bool regex_fail(struct pattern *p, const char *at, const char *what)
{
    if (!p->failed) {
        const size_t left = (size_t)(p->end - at);

        tokenizer_refuse(p->r, p->json, p->path, "%s: '%.*s%s'", what, (int)(left > 24 ? 24 : left), at,
                         left > 24 ? "..." : "");
        diag_hint(
            p->r->cx,
            "a pattern has alternatives of characters and classes, each with its count, groups that may be left "
            "out, and at the end what does not follow: \\s+(?!\\S)");
    }
    p->failed = true;
    return false;
}

static struct part *new_part(struct pattern *p, enum part_kind kind)
{
    struct part *part = ARENA_NEW(&p->r->cx->arena, struct part);

    part->kind = kind;
    part->least = part->most = 1;
    if (kind == PART_SET || kind == PART_LOOK)
        part->set = characters_new(&p->r->cx->arena);
    return part;
}

/* ---- characters ------------------------------------------------------------------------------------------------- */

static bool begins(const struct pattern *p, const char *word)
{
    const size_t length = strlen(word);

    return (size_t)(p->end - p->text) >= length && memcmp(p->text, word, length) == 0;
}

static bool skip(struct pattern *p, const char *word)
{
    if (!begins(p, word))
        return false;
    p->text += strlen(word);
    return true;
}

static uint32_t take_character(struct pattern *p)
{
    const unsigned char *s = (const unsigned char *)p->text;
    const int bytes = text_utf8_length(p->text);
    uint32_t c = bytes < 2 ? s[0] : s[0] & (0x7fu >> bytes);

    for (int i = 1; i < bytes; i++)
        c = c << 6 | (s[i] & 63u);
    p->text += bytes > 0 ? bytes : 1;
    return c;
}

/* With (?i: a letter is the other case, too; of ASCII's, s and k have a third form each. */
static bool add_folded(struct pattern *p, struct characters *set, uint32_t first, uint32_t last,
                       const char *at)
{
    characters_add(set, first, last);
    if (!p->fold)
        return true;
    if (last >= 0x80)
        return regex_fail(p, at, "letters that are not ASCII's, in upper and lower case");
    for (uint32_t c = first; c <= last; c++) {
        const uint32_t lower = c | 0x20;

        if (lower < 'a' || lower > 'z' || c < 'A')
            continue;
        characters_add(set, lower, lower);
        characters_add(set, lower - 0x20, lower - 0x20);
        if (lower == 's')
            characters_add(set, 0x17f, 0x17f);
        if (lower == 'k')
            characters_add(set, 0x212a, 0x212a);
    }
    return true;
}

static bool take_hex(struct pattern *p, int digits, uint32_t *c)
{
    static const char known[] = "0123456789abcdef0123456789ABCDEF";
    const char *begin = p->text;
    int count = 0;

    *c = 0;
    for (; count < digits && p->text < p->end; count++, p->text++) {
        const char *digit = *p->text ? strchr(known, *p->text) : NULL;

        if (!digit)
            break;
        *c = *c << 4 | (uint32_t)((digit - known) % 16);
    }
    return (count > 0 && *c < UNICODE_CHARACTERS) || regex_fail(p, begin, "expected hexadecimal digits");
}

/* \p{L}, \P{L}, \p{^L}; p->text stands behind the p. */
static bool take_property(struct pattern *p, struct characters *set, bool inverted, const char *at)
{
    struct characters *own = characters_new(&p->r->cx->arena);
    const char *name = p->text;
    size_t length = 1;

    if (skip(p, "{")) {
        inverted ^= skip(p, "^");
        name = p->text;
        while (p->text < p->end && *p->text != '}')
            p->text++;
        length = (size_t)(p->text - name);
        if (!skip(p, "}"))
            return regex_fail(p, at, "the property does not end");
    } else {
        return regex_fail(p, at, "a property stands in braces, as \\p{L}");
    }
    for (const char *front = "Script="; length > 7 && strncmp(name, front, 7) == 0;) {
        name += 7;
        length -= 7;
    }
    if (!characters_add_property(own, name, length))
        return regex_fail(p, at, "this property is not known");
    if (inverted)
        characters_invert(own);
    characters_join(set, own);
    return true;
}

/* Behind a backslash: a class, or one character, which is in *c. False after an error. */
static bool take_escape(struct pattern *p, struct characters *set, bool *is_class, uint32_t *c)
{
    static const char letters[] = "rntfvae", values[] = "\r\n\t\f\v\a\033";
    static const struct {
        char letter;
        bool inverted;
        enum unicode_set set;
    } classes[] = {{'s', false, UNICODE_WHITE},
                   {'S', true, UNICODE_WHITE},
                   {'w', false, UNICODE_WORD},
                   {'W', true, UNICODE_WORD}};
    const char *at = p->text - 1;
    struct characters *own;
    char letter;

    if (p->text == p->end)
        return regex_fail(p, at, "nothing is escaped");
    letter = *p->text;
    *is_class = true;
    for (int i = 0; i < COUNT(classes); i++) {
        if (classes[i].letter != letter)
            continue;
        own = characters_new(&p->r->cx->arena);
        characters_add_set(own, classes[i].set);
        if (classes[i].inverted)
            characters_invert(own);
        characters_join(set, own);
        p->text++;
        return true;
    }
    if (letter == 'd' || letter == 'D') {
        own = characters_new(&p->r->cx->arena);
        characters_add_property(own, "Nd", 2);
        if (letter == 'D')
            characters_invert(own);
        characters_join(set, own);
        p->text++;
        return true;
    }
    if (letter == 'p' || letter == 'P') {
        p->text++;
        return take_property(p, set, letter == 'P', at);
    }
    *is_class = false;
    if (strchr(letters, letter)) {
        *c = (uint32_t)values[strchr(letters, letter) - letters];
        p->text++;
        return true;
    }
    if (skip(p, "x{"))
        return take_hex(p, 8, c) && (skip(p, "}") || regex_fail(p, at, "a brace is missing"));
    if (skip(p, "x"))
        return take_hex(p, 2, c);
    if (skip(p, "u"))
        return take_hex(p, 4, c);
    if ((letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
        (letter >= 'A' && letter <= 'Z'))
        return regex_fail(p, at, "this escape is not known");
    *c = take_character(p);
    return true;
}

static bool take_class(struct pattern *p, struct characters *set);

/* One member of a class: a character, a range, a class. */
static bool take_member(struct pattern *p, struct characters *set)
{
    const char *at = p->text;
    bool is_class = false;
    uint32_t first, last;

    if (begins(p, "[:"))
        return regex_fail(p, at, "this kind of class is not known");
    if (skip(p, "[")) {
        struct characters *own = characters_new(&p->r->cx->arena);

        if (++p->depth > 16)
            return regex_fail(p, at, "it is nested too deeply");
        if (!take_class(p, own))
            return false;
        p->depth--;
        characters_join(set, own);
        return true;
    }
    if (skip(p, "\\")) {
        if (!take_escape(p, set, &is_class, &first))
            return false;
    } else {
        first = take_character(p);
    }
    if (is_class)
        return true;
    last = first;
    if (begins(p, "-") && p->end - p->text > 1 && p->text[1] != ']') {
        p->text++;
        if (skip(p, "\\")) {
            if (!take_escape(p, set, &is_class, &last))
                return false;
        } else {
            last = take_character(p);
        }
        if (is_class || last < first)
            return regex_fail(p, at, "this is no range of characters");
    }
    return add_folded(p, set, first, last, at);
}

/* Behind the bracket. */
static bool take_class(struct pattern *p, struct characters *set)
{
    const char *at = p->text - 1;
    const bool inverted = skip(p, "^");
    struct characters *all = NULL; /* of what stands before && */
    bool first = true;

    for (;; first = false) {
        if (p->text >= p->end)
            return regex_fail(p, at, "the class does not end");
        if (!first && skip(p, "]"))
            break;
        if (skip(p, "&&")) {
            if (all)
                return regex_fail(p, at, "this kind of class is not known");
            all = ARENA_NEW(&p->r->cx->arena, struct characters);
            *all = *set;
            memset(set, 0, sizeof *set);
            continue;
        }
        if (!take_member(p, set))
            return false;
    }
    for (int i = 0; all && i < COUNT(set->bits); i++)
        set->bits[i] &= all->bits[i];
    if (inverted)
        characters_invert(set);
    return true;
}

/* ---- parts ------------------------------------------------------------------------------------------------------ */

static struct part *take_either(struct pattern *p);

static bool take_count(struct pattern *p, uint32_t *value)
{
    const char *begin = p->text;

    for (*value = 0; p->text < p->end && *p->text >= '0' && *p->text <= '9' && *value < 100000; p->text++)
        *value = *value * 10 + (uint32_t)(*p->text - '0');
    return p->text > begin;
}

/* {3}, {1,3}, {2,}: false: it is none. */
static bool take_counts(struct pattern *p, uint32_t *least, uint32_t *most)
{
    const char *begin = p->text;

    if (skip(p, "{") && take_count(p, least)) {
        *most = *least;
        if (skip(p, ",") && !take_count(p, most))
            *most = UNBOUNDED;
        if (skip(p, "}"))
            return true;
    }
    p->text = begin;
    return false;
}

/* What says how often a part stands, behind it. */
static struct part *take_quantifier(struct pattern *p, struct part *part)
{
    const char *at = p->text;
    struct part *maybe;
    uint32_t least = 1, most = 1;
    bool counts = false;

    if (skip(p, "?"))
        least = 0;
    else if (skip(p, "*"))
        least = 0, most = UNBOUNDED;
    else if (skip(p, "+"))
        most = UNBOUNDED;
    else if (!(counts = take_counts(p, &least, &most)))
        return part;
    if (begins(p, "?") || begins(p, "*") || (counts && begins(p, "+")) || least > most || most == 0) {
        regex_fail(p, at, "this count is not known");
        return NULL;
    }
    if (part->kind == PART_SET && part->least == 1 && part->most == 1 && !part->possessive) {
        part->least = least;
        part->most = most;
        part->possessive = skip(p, "+");
        return part;
    }
    if (least != 0 || most != 1 || begins(p, "+") || part->kind == PART_LOOK) {
        regex_fail(p, at, "a group that stands more than once");
        return NULL;
    }
    maybe = new_part(p, PART_MAYBE);
    ARENA_PUSH(&p->r->cx->arena, maybe->parts, maybe->count, part);
    return maybe;
}

/* A group, or what is looked at; behind the parenthesis. */
static struct part *take_group(struct pattern *p)
{
    const char *at = p->text - 1;
    const bool fold = p->fold;
    struct part *part, *look = NULL;

    if (skip(p, "?!") || skip(p, "?=")) {
        look = new_part(p, PART_LOOK);
        look->negative = p->text[-1] == '!';
    } else if (skip(p, "?i:")) {
        p->fold = true;
    } else if (!skip(p, "?:") && begins(p, "?")) {
        regex_fail(p, at, "this kind of group is not known");
        return NULL;
    }
    if (++p->depth > 16) {
        regex_fail(p, at, "it is nested too deeply");
        return NULL;
    }
    part = take_either(p);
    p->depth--;
    p->fold = fold;
    if (!part)
        return NULL;
    if (!skip(p, ")")) {
        regex_fail(p, at, "the group does not end");
        return NULL;
    }
    if (!look)
        return part;
    if (part->kind != PART_SET || part->least != 1 || part->most != 1) {
        regex_fail(p, at, "what is looked at is more than one character");
        return NULL;
    }
    look->set = part->set;
    return look;
}

static struct part *take_part(struct pattern *p)
{
    const char *at = p->text;
    struct part *part;
    bool is_class = false, good = true;
    uint32_t c = 0;

    if (skip(p, "("))
        return take_group(p);
    part = new_part(p, PART_SET);
    if (skip(p, "[")) {
        good = take_class(p, part->set);
    } else if (skip(p, "\\")) {
        good = take_escape(p, part->set, &is_class, &c) && (is_class || add_folded(p, part->set, c, c, at));
    } else if (skip(p, ".")) {
        characters_add(part->set, '\n', '\n');
        characters_invert(part->set);
    } else if (strchr("^$*+?{", *at) && *at) {
        good = regex_fail(p, at, "this is not known");
    } else {
        c = take_character(p);
        good = add_folded(p, part->set, c, c, at);
    }
    return good ? part : NULL;
}

/* Two letters that are one in another case: sharp s, and ligatures. */
static bool folds_together(const char *at, const char *end)
{
    static const char *const pairs[] = {"ss", "st", "ff", "fi", "fl"};

    for (int i = 0; i < COUNT(pairs); i++)
        if (end - at >= 2 && (at[0] | 0x20) == pairs[i][0] && (at[1] | 0x20) == pairs[i][1])
            return true;
    return false;
}

static struct part *take_all(struct pattern *p)
{
    struct part *all = new_part(p, PART_ALL);

    while (p->text < p->end && *p->text != '|' && *p->text != ')') {
        const char *at = p->text;
        struct part *part;

        if (p->fold && folds_together(at, p->end)) {
            regex_fail(p, at, "letters that are one in another case");
            return NULL;
        }
        part = take_part(p);
        part = part ? take_quantifier(p, part) : NULL;
        if (!part)
            return NULL;
        ARENA_PUSH(&p->r->cx->arena, all->parts, all->count, part);
    }
    return all->count == 1 ? all->parts[0] : all;
}

static struct part *take_either(struct pattern *p)
{
    struct part *either = new_part(p, PART_EITHER);

    do {
        struct part *part = take_all(p);

        if (!part)
            return NULL;
        ARENA_PUSH(&p->r->cx->arena, either->parts, either->count, part);
    } while (skip(p, "|"));
    return either->count == 1 ? either->parts[0] : either;
}

/* ---- the graph ------------------------------------------------------------------------------------------------ */

struct graph {
    struct tokenizer_reader *r;
    struct modc_node *nodes;
    const struct characters **sets; /* of nodes */
    int count;
};

enum { MOST_NODES = 1024 };

static int add_node(struct graph *g, struct modc_node node, const struct characters *set)
{
    int sets = g->count;

    ARENA_PUSH(&g->r->cx->arena, g->sets, sets, set);
    ARENA_PUSH(&g->r->cx->arena, g->nodes, g->count, node);
    return g->count - 1;
}

/* The node that a part begins with, behind which `next` stands. */
static int lay(struct graph *g, const struct part *part, int next)
{
    struct modc_node node = {.next = (int16_t)next};
    int other;

    if (g->count >= MOST_NODES)
        return next;
    switch (part->kind) {
    case PART_SET:
        node.op = part->possessive ? MODC_NODE_POSSESSIVE : MODC_NODE_SET;
        node.least = part->least;
        node.most = part->most;
        return add_node(g, node, part->set);
    case PART_LOOK:
        node.op = part->negative ? MODC_NODE_NOT_AHEAD : MODC_NODE_AHEAD;
        return add_node(g, node, part->set);
    case PART_ALL:
        for (int i = part->count - 1; i >= 0; i--)
            next = lay(g, part->parts[i], next);
        return next;
    case PART_MAYBE:
        node.op = MODC_NODE_EITHER;
        node.other = (int16_t)next;
        node.next = (int16_t)lay(g, part->parts[0], next);
        return add_node(g, node, NULL);
    default:
        other = lay(g, part->parts[part->count - 1], next);
        for (int i = part->count - 2; i >= 0; i--) {
            node.op = MODC_NODE_EITHER;
            node.other = (int16_t)other;
            node.next = (int16_t)lay(g, part->parts[i], next);
            other = add_node(g, node, NULL);
        }
        return other;
    }
}

/* The least number of characters that a part has. */
static uint64_t least_of(const struct part *part)
{
    uint64_t least = 0;

    switch (part->kind) {
    case PART_SET:
        return part->least;
    case PART_ALL:
        for (int i = 0; i < part->count; i++)
            least += least_of(part->parts[i]);
        return least;
    case PART_EITHER:
        least = least_of(part->parts[0]);
        for (int i = 1; i < part->count; i++)
            if (least_of(part->parts[i]) < least)
                least = least_of(part->parts[i]);
        return least;
    default:
        return 0;
    }
}

static void put_graph(struct graph *g, const int16_t *starts, int count, struct modc_stage *stage)
{
    stage->nodes = g->nodes;
    stage->node_count = g->count;
    stage->alternatives = starts;
    stage->alternative_count = count;
    for (int i = 0; i < g->count; i++)
        if (g->sets[i])
            tokenizer_add_set(g->r, g->sets[i], &g->nodes[i].set);
}

bool regex_read(struct tokenizer_reader *r, const struct json *pattern, const char *path, const char *text,
                size_t bytes, struct modc_stage *stage)
{
    struct pattern p = {r, pattern, path, text, text + bytes, false, false, 0};
    struct graph g = {.r = r};
    struct part *either = take_either(&p), whole = {.kind = PART_EITHER, .parts = &either, .count = 1};
    int16_t *starts;
    int end;

    if (either && p.text < p.end)
        regex_fail(&p, p.text, "this is not known");
    if (!either || p.failed)
        return false;
    if (either->kind == PART_EITHER)
        whole = *either;
    if (least_of(&whole) == 0)
        return tokenizer_refuse(r, pattern, path, "the pattern may match nothing at all");
    end = add_node(&g, (struct modc_node){.op = MODC_NODE_END}, NULL);
    starts = ARENA_ARRAY(&r->cx->arena, whole.count, int16_t);
    for (int i = 0; i < whole.count; i++)
        starts[i] = (int16_t)lay(&g, whole.parts[i], end);
    if (g.count >= MOST_NODES)
        return tokenizer_refuse(r, pattern, path, "the pattern is too long");
    put_graph(&g, starts, whole.count, stage);
    return true;
}

int regex_least(struct tokenizer_reader *r, const struct modc_stage *stage)
{
    uint32_t *from = ARENA_ARRAY(&r->cx->arena, stage->node_count, uint32_t), least = UINT16_MAX;

    for (int i = 0; i < stage->node_count; i++) { /* what follows a node was laid before it */
        const struct modc_node *node = &stage->nodes[i];
        const bool takes = node->op == MODC_NODE_SET || node->op == MODC_NODE_POSSESSIVE;

        assert(node->op == MODC_NODE_END || node->next < i);
        from[i] = node->op == MODC_NODE_END ? 0 : from[node->next] + (takes ? node->least : 0);
        if (node->op == MODC_NODE_EITHER && from[node->other] < from[i])
            from[i] = from[node->other];
    }
    for (int i = 0; i < stage->alternative_count; i++)
        if (from[stage->alternatives[i]] < least)
            least = from[stage->alternatives[i]];
    return least > 0 ? (int)least : 1;
}

void regex_of_sets(struct tokenizer_reader *r, const struct characters *const *sets, int count, bool runs,
                   struct modc_stage *stage)
{
    struct graph g = {.r = r};
    int16_t *starts = ARENA_ARRAY(&r->cx->arena, count, int16_t);
    const int end = add_node(&g, (struct modc_node){.op = MODC_NODE_END}, NULL);
    const struct modc_node node = {
        .op = MODC_NODE_SET, .least = 1, .most = runs ? UNBOUNDED : 1, .next = (int16_t)end};

    for (int i = 0; i < count; i++)
        starts[i] = (int16_t)add_node(&g, node, sets[i]);
    put_graph(&g, starts, count, stage);
}

/* The kinds that a match from a node on can begin with. */
static uint64_t first_of(const struct modc_stage *stage, int index)
{
    const struct modc_node *node = &stage->nodes[index];

    switch (node->op) {
    case MODC_NODE_END:
        return UINT64_MAX;
    case MODC_NODE_EITHER:
        return first_of(stage, node->next) | first_of(stage, node->other);
    case MODC_NODE_AHEAD:
    case MODC_NODE_NOT_AHEAD:
        return first_of(stage, node->next);
    default:
        return node->least > 0 ? node->set : node->set | first_of(stage, node->next);
    }
}

void regex_finish(struct tokenizer_reader *r, struct modc_stage *stage)
{
    uint64_t *firsts = ARENA_ARRAY(&r->cx->arena, stage->alternative_count, uint64_t);

    for (int i = 0; i < stage->alternative_count; i++)
        firsts[i] = first_of(stage, stage->alternatives[i]);
    stage->firsts = firsts;
}
