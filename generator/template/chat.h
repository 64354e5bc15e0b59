/* chat.h - a chat template, as a file of Jinja has it, as steps that C can take: which texts are put one behind the other for the
 * turns of a conversation. What is not known here is refused, with its place in the template. */
#ifndef MODC_TEMPLATE_CHAT_H
#define MODC_TEMPLATE_CHAT_H

#include "base/diag.h"

#include <stdint.h>

struct tokenizer; /* tokenizer/tokenizer.h */

/* What a value is in C. The others are known while generating. */
enum chat_kind {
    CHAT_UNDEFINED,
    CHAT_NONE,
    CHAT_BOOL,  /* bool */
    CHAT_INT,   /* int */
    CHAT_TEXT,  /* struct modc_text */
    CHAT_TURN,  /* const struct modc_turn * */
    CHAT_TURNS, /* struct modc_turn_list */
    CHAT_LIST,  /* of the template's own values */
    CHAT_PARTS, /* of text.split(...) */
    CHAT_LOOP,
    CHAT_NAMESPACE,
    CHAT_FUNCTION,
    CHAT_USED,    /* size_t: bytes of the workspace */
    CHAT_REFUSED, /* it was set to what is not known here, which is said where somebody asks for it */
    CHAT_MIXED,   /* of several kinds, as a call goes */
    CHAT_BAD      /* something was said about it */
};

enum chat_op {
    CHAT_OP_LITERAL,  /* text, bytes; number: of BOOL, INT */
    CHAT_OP_ABSENT,   /* a text that is not there */
    CHAT_OP_VARIABLE, /* variable */
    CHAT_OP_OPTION,   /* text: a member of struct modc_prompt */
    CHAT_OP_INDEX,    /* of the step of a loop */
    CHAT_OP_FIELD,    /* a turn's text, of the name `text` */
    CHAT_OP_AT,       /* turns, number: a turn; `text` is the runtime's function, or NULL */
    CHAT_OP_SLICE,    /* turns, from, until */
    CHAT_OP_REVERSED, /* turns */
    CHAT_OP_COUNT,    /* turns: number */
    CHAT_OP_JOIN,     /* texts: text */
    CHAT_OP_CUT,      /* text, or with what is cut off; `text` is the runtime's function */
    CHAT_OP_MADE, /* the same of what is made in the workspace; `text`: modc_TEXT, or modc_put_TEXT where it is put */
    CHAT_OP_PART,   /* text, separator, number */
    CHAT_OP_NEEDED, /* a text that may be absent; `text`: why not */
    CHAT_OP_KEPT,   /* the old text, the new one */
    CHAT_OP_LENGTH, /* of a text, in characters */
    CHAT_OP_THERE,  /* of a text that may be absent: bool */
    CHAT_OP_HAS,    /* turns, number: whether there is one; `text` is the runtime's function */
    CHAT_OP_FULL,   /* of a text: bool */
    CHAT_OP_ASKED,  /* two texts: bool; `text` is the runtime's function */
    CHAT_OP_BINARY, /* `text` is C's operator */
    CHAT_OP_NOT,
    CHAT_OP_USED,   /* bytes of the workspace */
    CHAT_OP_MODULO, /* of numbers that may be negative */
    CHAT_OP_CHOICE  /* a bool, what it is then, what else */
};

/* An expression without effects; it may make the call fail, so what it does not reach is not computed. */
struct chat_expr {
    enum chat_op op;
    enum chat_kind kind;
    int64_t number;
    const char *text;
    size_t bytes;
    const struct chat_expr *args[3]; /* JOIN: `list` */
    const struct chat_expr **list;
    int count;
    struct chat_variable *variable;
    const struct chat_step *loop;
    int weight; /* how much C it is */
};

struct chat_variable {
    const char *name; /* in C */
    enum chat_kind kind;
    const void *scope;             /* that of the step in which it is; NULL: the template */
    const struct chat_expr *first; /* what it is before it is set; NULL: that is never asked for */
    bool is_turn;                  /* that a loop is at */
    int reads, writes;             /* in steps other than those that set it; steps that set it */
};

enum chat_step_kind {
    CHAT_STEP_PUT,
    CHAT_STEP_IF,
    CHAT_STEP_FOR,
    CHAT_STEP_SET,
    CHAT_STEP_REFUSE,
    CHAT_STEP_SPAN, /* what the assistant says */
    CHAT_STEP_BREAK,
    CHAT_STEP_CONTINUE
};

struct chat_steps {
    struct chat_step **list;
    int count;
    bool makes; /* of a loop's: texts in the workspace that nobody needs behind a step of the loop */
};

struct chat_step {
    enum chat_step_kind kind;
    const struct chat_expr *expr; /* PUT, SET, REFUSE: its value; IF: what it asks; FOR: turns */
    struct chat_steps body, other;
    struct chat_variable *variable;  /* SET; FOR: the turn */
    struct chat_variable *used;      /* FOR: of the workspace, in front of it */
    struct chat_variable **declared; /* variables that are first needed in this step, and stay behind it */
    int declared_count;
    int depth;         /* FOR: loops around it */
    const void *scope; /* FOR, SPAN: of what is in it */
};

struct chat {
    const char *path;
    uint64_t hash; /* of the file */
    struct chat_steps steps;
    struct chat_variable *messages;
    bool spans; /* it says what the assistant says */
};

#define CHAT_MAX_BYTES ((size_t)1 << 20)

/* NULL after errors: at their places in the template, or at `loc` where it cannot be read. `tokens` may be NULL. */
const struct chat *chat_read(struct cx *cx, struct loc loc, const char *path, const struct tokenizer *tokens);

/* The same of a text that was read. */
const struct chat *chat_of_source(struct cx *cx, const struct source *source, const struct tokenizer *tokens);

#endif
