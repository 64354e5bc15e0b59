/* chat_lowerer.h - what chat_lower.c, which follows statements, and chat_value.c, which follows expressions, share, with chat_made.c.
 *
 * note [values] A template is run with what is known while generating: `tools` is none, so `if tools` is no question of C's. What
 * a name is at a place follows from the statements in front of it; where branches meet that made it differently it is a variable of
 * C, of one kind, or a text that may be absent where it is a text in one branch and none, false or undefined in another. A loop's
 * body begins with what any statement of the template may have made of a namespace's members: statements are followed again until
 * that no longer changes. */
#ifndef MODC_TEMPLATE_CHAT_LOWERER_H
#define MODC_TEMPLATE_CHAT_LOWERER_H

#include "template/chat_parts.h"

struct modc_text; /* modc_template.h */

struct value {
    enum chat_kind kind;
    bool known;                   /* BOOL, INT, TEXT: expr is a literal */
    bool may_lack;                /* TEXT, TURN: absent, where it is `lack` */
    enum chat_kind lack;          /* UNDEFINED, NONE, or BOOL: false */
    bool made;                    /* TEXT: it may lie in the workspace's front */
    bool natural;                 /* INT: never negative; TURNS: all of them, of which there is one */
    const struct chat_expr *expr; /* PARTS: a PART without its number */
    const char *name;             /* UNDEFINED, FUNCTION, NAMESPACE: of it */
    const void *scope;            /* NAMESPACE: where it was made */
    const struct loop *loop;
    const struct diag_item *said; /* REFUSED: `count` of them */
    struct value *items;          /* LIST */
    int count;
};

struct loop {
    struct chat_step *step;
    const struct chat_expr *turns;
    bool filtered; /* for ... if: nobody knows how many come */
};

/* A body of a loop or of {% generation %}, or the template. */
struct scope {
    const struct scope *outer;
    const void *key; /* its statement; NULL: the template */
    struct loop *loop;
    const char *target; /* of the loop */
    int loops;          /* around what is in it */
};

/* A name of a scope that is set, or a member of a namespace. */
struct slot {
    const void *scope;
    int loops;
    const char *name, *member;
    struct chat_variable *variable;
    struct value all; /* whatever it was ever set to */
    bool is_set;      /* it was */
};

struct entry {
    bool set;
    struct value value;
};

/* A turn's text that an if has asked for. */
struct present {
    const struct chat_variable *turn;
    const char *field;
};

struct state {
    struct entry *entries; /* of slots */
    int count;
    struct present *present;
    int present_count;
    bool dead; /* nobody comes here */
};

/* A variable of C. */
struct c_name {
    const char *name;
    const struct scope *scope;
};

struct lowerer {
    struct chat_reader *r;
    const struct chat_special *special;
    struct slot *slots;
    int slot_count;
    struct state state;
    const struct scope *scope;
    bool changed; /* slots are otherwise than when this pass began */
    struct chat *chat;
    struct c_name *names;
    int name_count;
};

/* ---- making values: chat_made.c ---- */

struct chat_expr *chat_expr_new(struct lowerer *l, enum chat_op op, enum chat_kind kind);

/* Of arguments, of which the last may be NULL. */
struct chat_expr *chat_made_of(struct lowerer *l, enum chat_op op, enum chat_kind kind, const char *text,
                               const struct chat_expr *a, const struct chat_expr *b,
                               const struct chat_expr *c);
const struct chat_expr *chat_literal_text(struct lowerer *l, const char *text, size_t bytes);
const struct chat_expr *chat_literal_number(struct lowerer *l, enum chat_kind kind, int64_t number);
const struct chat_expr *chat_variable_expr(struct lowerer *l, struct chat_variable *variable,
                                           enum chat_kind kind);
const struct chat_expr *chat_choice(struct lowerer *l, enum chat_kind kind, const struct chat_expr *asked,
                                    const struct chat_expr *then, const struct chat_expr *other);
struct value chat_runtime(enum chat_kind kind, const struct chat_expr *expr);
struct value chat_known_text(struct lowerer *l, const char *text, size_t bytes);
struct value chat_known_bool(struct lowerer *l, bool is);
struct value chat_known_int(struct lowerer *l, int64_t number);

/* Says what is wrong at a node; BAD. */
struct value chat_refuse(struct lowerer *l, const struct chat_node *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
struct value chat_wrong_kind(struct lowerer *l, const struct chat_node *at, const char *expected,
                             struct value found);
struct value chat_undefined(struct lowerer *l, const struct chat_node *at, struct value value);

/* What they are. */
const char *chat_kind_name(struct value value);
struct modc_text chat_text_of(struct value value); /* of a known one */
bool chat_is_bad(struct value value);
bool chat_is_same(struct value a, struct value b); /* known to be */
bool chat_is_lack(struct value value);             /* what a text may be where it is absent */

/* What a value is that is one or the other. */
struct value chat_either(struct value a, struct value b);

/* What they are used as; NULL after an error. A text is there, or the call fails. */
const struct chat_expr *chat_text_expr(struct lowerer *l, struct value value, const struct chat_node *node);
const struct chat_expr *chat_number_expr(struct lowerer *l, struct value value, const struct chat_node *node);

/* Whether a text, or a turn, is there that may not be. */
struct value chat_there(struct lowerer *l, struct value value);
struct value chat_truth_of(struct lowerer *l, struct value value);
struct value chat_not(struct lowerer *l, struct value value); /* of a BOOL */

/* As a text that {{ }} shows; NULL after an error. */
const struct chat_expr *chat_shown(struct lowerer *l, struct value value, const struct chat_node *node);

/* As one of a kind of C; of a TEXT what is none, false or undefined is absent. */
const struct chat_expr *chat_expr_as(struct lowerer *l, struct value value, enum chat_kind kind);

/* ---- following expressions: chat_value.c ---- */

struct value chat_value(struct lowerer *l, const struct chat_node *node);
struct value chat_truth(struct lowerer *l, const struct chat_node *node); /* BOOL, or BAD */

/* ---- following statements: chat_lower.c ---- */

/* What a name is. */
struct value chat_lookup(struct lowerer *l, const char *name);

/* A member of a namespace. */
struct value chat_member(struct lowerer *l, struct value space, const char *name);

#endif
