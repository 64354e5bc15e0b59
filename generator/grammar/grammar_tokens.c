/* grammar_tokens.c - which states of a grammar a tokenizer's tokens come to, and from which of these they can finish a text.
 *
 * note [tries]
 * To a grammar two tokens are one where their bytes are of the same classes: all tokens are a tree of classes, which has far fewer nodes
 * than they have bytes. */
#include "grammar/grammar.h"

#include <string.h>

#include "modc_grammar.h"
#include "tokenizer/tokenizer.h"

struct node {
    int first, next; /* child, sibling; 0: none */
    int id;          /* of a token that ends here; -1 */
    uint8_t class;
};

struct search {
    struct cx *cx;
    struct modc_grammar *g;
    uint8_t *flags;
    struct node *nodes;
    int node_count;
    int *reached; /* states, in the order in which they were */
    int count;
    int *from; /* of each state: the one that it was reached from, 0: none, and by which token */
    int64_t *by;
    bool *known;
};

/* ---- note [tries] --------------------------------------------------------------------------------------------------- */

static int child_of(struct search *s, int parent, uint8_t class)
{
    const struct node node = {.id = -1, .class = class, .next = s->nodes[parent].first};
    int at = s->nodes[parent].first;

    while (at != 0 && s->nodes[at].class != class)
        at = s->nodes[at].next;
    if (at != 0)
        return at;
    ARENA_PUSH(&s->cx->arena, s->nodes, s->node_count, node);
    s->nodes[parent].first = s->node_count - 1;
    return s->node_count - 1;
}

static void make_trie(struct search *s)
{
    const struct modc_token_order *order = s->g->tokenizer->order;
    const struct node root = {.id = -1};
    const uint8_t *bytes = order->bytes;
    int path[MODC_GRAMMAR_TOKEN + 1] = {0};

    ARENA_PUSH(&s->cx->arena, s->nodes, s->node_count, root);
    for (int i = 0; i < order->count; i++) {
        int depth = order->shared[i];

        for (int k = 0; k < order->more[i]; k++, depth++)
            path[depth + 1] = child_of(s, path[depth], s->g->class_of[*bytes++]);
        s->nodes[path[depth]].id = (int)order->ids[i];
    }
}

/* ---- states --------------------------------------------------------------------------------------------------------- */

static void reach(struct search *s, int state, int from, int64_t by)
{
    if (s->known[state])
        return;
    s->known[state] = true;
    s->from[state] = from;
    s->by[state] = by;
    s->reached[s->count++] = state;
}

/* Tokens that go on from a state, by the children of a node. open: whether one of them leads to a state that is open; else all that
 * they lead to are reached. */
static bool follow(struct search *s, int node, int state, int start, bool open)
{
    for (int at = s->nodes[node].first; at != 0; at = s->nodes[at].next) {
        const int next = s->g->next[state * s->g->classes + s->nodes[at].class];

        if (next == 0)
            continue;
        if (s->nodes[at].id >= 0 && !open)
            reach(s, next, start, s->nodes[at].id);
        if (s->nodes[at].id >= 0 && open && (s->flags[next] & MODC_GRAMMAR_OPEN))
            return true;
        if (follow(s, at, next, start, open))
            return true;
    }
    return false;
}

/* By the first token, which may decode differently. Returns whether one leads to an open state. */
static bool follow_first(struct search *s, bool open)
{
    for (int id = 0; id < s->g->tokenizer->vocabulary; id++) {
        const uint32_t after = modc_grammar_advance(s->g, MODC_GRAMMAR_BEGIN, id);
        const int state = (int)(after & 0xffff);

        if (state == 0 || after == MODC_GRAMMAR_BEGIN)
            continue;
        if (!open)
            reach(s, state, 0, id);
        else if (s->flags[state] & MODC_GRAMMAR_OPEN)
            return true;
    }
    return false;
}

/* From the end on: mostly one round, since what comes later is looked at first. */
static void find_open(struct search *s)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = s->count - 1; i >= 0; i--) {
            const int state = s->reached[i];

            if (s->flags[state] & MODC_GRAMMAR_OPEN)
                continue;
            if ((s->flags[state] & MODC_GRAMMAR_ENDS) || follow(s, 0, state, state, true)) {
                s->flags[state] |= MODC_GRAMMAR_OPEN;
                changed = true;
            }
        }
    }
}

/* The text of the tokens by which the last state was reached. */
static const char *text_to(const struct search *s, int state)
{
    const int most = s->count;
    int64_t *ids = ARENA_ARRAY(&s->cx->arena, most, int64_t);
    char text[200];
    size_t bytes = 0;
    int at = most;

    for (; state != 0; state = s->from[state])
        ids[--at] = s->by[state];
    modc_decode(s->g->tokenizer, ids + at, most - at, 0, text, sizeof text - 1, &bytes);
    return arena_copy(&s->cx->arena, text, bytes < sizeof text ? bytes : sizeof text - 1);
}

static void say_why(const struct search *s, struct loc loc)
{
    diag_error(s->cx, loc, "the tokens of '%s' can write no text of the grammar '%s'", s->g->tokenizer->name,
               s->g->name);
    if (s->count == 0)
        diag_hint(s->cx,
                  "none begins one: text is what the tokens are decoded to, with the spaces between them");
    else
        diag_hint(
            s->cx,
            "none can finish one that goes on behind '%s': text is what the tokens are decoded to, with the "
            "spaces between them",
            text_to(s, s->reached[s->count - 1]));
}

bool grammar_open_states(struct cx *cx, struct modc_grammar *grammar, const struct tokenizer *tokenizer,
                         struct loc loc)
{
    struct search search = {.cx = cx, .g = grammar}, *s = &search;
    bool fine;

    grammar->tokenizer = tokenizer->table;
    s->flags = ARENA_ARRAY(&cx->arena, grammar->states, uint8_t);
    memcpy(s->flags, grammar->flags, (size_t)grammar->states);
    s->reached = ARENA_ARRAY(&cx->arena, grammar->states, int);
    s->from = ARENA_ARRAY(&cx->arena, grammar->states, int);
    s->by = ARENA_ARRAY(&cx->arena, grammar->states, int64_t);
    s->known = ARENA_ARRAY(&cx->arena, grammar->states, bool);
    if (tokenizer->table->order)
        make_trie(s);
    follow_first(s, false);
    for (int i = 0; i < s->count && s->node_count > 0; i++)
        follow(s, 0, s->reached[i], s->reached[i], false);
    if (s->node_count > 0)
        find_open(s);
    grammar->flags = s->flags;
    fine = (s->flags[MODC_GRAMMAR_BEGIN] & MODC_GRAMMAR_ENDS) || follow_first(s, true);
    if (!fine)
        say_why(s, loc);
    return fine;
}
