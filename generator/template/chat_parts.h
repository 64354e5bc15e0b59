/* chat_parts.h - what the files of chat templates share: tokens, the tree of a template, special tokens. */
#ifndef MODC_TEMPLATE_CHAT_PARTS_H
#define MODC_TEMPLATE_CHAT_PARTS_H

#include "base/text.h"
#include "template/chat.h"

/* ---- tokens: chat_lex.c ------------------------------------------------------------------------------------------ */

enum chat_token_kind {
    CHAT_TOKEN_END,
    CHAT_TOKEN_DATA, /* text outside of braces */
    CHAT_TOKEN_PUT,  /* {{ */
    CHAT_TOKEN_PUT_END,
    CHAT_TOKEN_BLOCK, /* {% */
    CHAT_TOKEN_BLOCK_END,
    CHAT_TOKEN_NAME,
    CHAT_TOKEN_TEXT,
    CHAT_TOKEN_INT,
    CHAT_TOKEN_SIGN
};

struct chat_token {
    enum chat_token_kind kind;
    size_t at, end;   /* in the source */
    const char *text; /* DATA, TEXT: the value; NAME, SIGN: as it is written */
    size_t bytes;
    int64_t number;
};

/* What all of them work on. */
struct chat_reader {
    struct cx *cx;
    const struct source *source;
    struct chat_token *tokens; /* the last is END */
    int token_count;
    bool failed; /* nothing more is read */
};

/* False, always. */
bool chat_fail(struct chat_reader *r, size_t at, size_t end, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The whole template as tokens, with the blanks taken away that Jinja takes away under trim_blocks and lstrip_blocks. */
bool chat_lex(struct chat_reader *r);

/* ---- the tree: chat_parse.c -------------------------------------------------------------------------------------- */

enum chat_node_kind {
    CHAT_NODE_TEXT,
    CHAT_NODE_INT,
    CHAT_NODE_CONST, /* text: true, false, none */
    CHAT_NODE_NAME,
    CHAT_NODE_LIST,   /* args */
    CHAT_NODE_NOT,    /* a */
    CHAT_NODE_MINUS,  /* a */
    CHAT_NODE_BINARY, /* text: the operator, "and" and "not in" among them; a, b */
    CHAT_NODE_CHOICE, /* a if b else c; c may be NULL */
    CHAT_NODE_MEMBER, /* a.text, a['text'] */
    CHAT_NODE_ITEM,   /* a[b] */
    CHAT_NODE_SLICE,  /* a[args[0]:args[1]:args[2]], each may be NULL */
    CHAT_NODE_CALL,   /* a(args) */
    CHAT_NODE_FILTER, /* a | text(args) */
    CHAT_NODE_TEST    /* a is text(args) */
};

struct chat_node {
    enum chat_node_kind kind;
    size_t at, end;
    const char *text;
    size_t bytes;
    int64_t number;
    struct chat_node *a, *b, *c;
    struct chat_node **args;
    const char **keywords; /* of args; NULL: it has none */
    int count;
};

enum chat_statement_kind {
    CHAT_PUT_DATA,
    CHAT_PUT_VALUE,
    CHAT_IF,
    CHAT_FOR,
    CHAT_SET,
    CHAT_GENERATION,
    CHAT_BREAK,
    CHAT_CONTINUE
};

struct chat_statements {
    struct chat_statement *list;
    int count;
};

struct chat_statement {
    enum chat_statement_kind kind;
    size_t at, end;
    const char *text; /* DATA; FOR, SET: the name */
    size_t bytes;
    const char *member;      /* SET: of a namespace, or NULL */
    struct chat_node *value; /* PUT, IF, SET; FOR: the list */
    struct chat_node *test;  /* FOR: or NULL */
    struct chat_statements body, other;
};

bool chat_parse(struct chat_reader *r, struct chat_statements *statements);

/* ---- special tokens: chat.c ----------------------------------------------------------------------------------------- */

enum chat_special_state { CHAT_SPECIAL_UNKNOWN, CHAT_SPECIAL_NONE, CHAT_SPECIAL_TEXT };

struct chat_special {
    enum chat_special_state state;
    const char *text;
    size_t bytes;
};

enum { CHAT_SPECIALS = 7 };
extern const char *const chat_special_names[CHAT_SPECIALS]; /* "bos_token" */

/* ---- meaning: chat_lower.c, chat_value.c, chat_made.c ----------------------------------------------------------------------------- */

/* NULL after errors. */
struct chat *chat_lower(struct chat_reader *r, const struct chat_statements *statements,
                        const struct chat_special *special);

/* The contrary of a bool. */
const struct chat_expr *chat_contrary(struct arena *arena, const struct chat_expr *expr);

/* Takes away what nobody reads, joins texts, and says where variables begin: chat_settle.c. */
void chat_settle(struct arena *arena, struct chat *chat);

#endif
