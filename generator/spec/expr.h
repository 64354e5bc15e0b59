/* expr.h - the expressions and statements inside a spec: Python's grammar, as far as the design takes it.
 *
 * The parser knows no names: it turns text into trees in which every node keeps its place. Precedence and
 * associativity are Python's (conditional < or < and < not < comparison < | < ^ < & < shift < + - < * / // % @ <
 * unary < ** < await-less primary). */
#ifndef MODC_EXPR_H
#define MODC_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

enum expr_kind {
    EXPR_BAD,       /* a fault was said; silences what follows */
    EXPR_NONE,      /* None, null */
    EXPR_BOOL,      /* True False true false: integer is 0 or 1 */
    EXPR_INT,       /* integer */
    EXPR_FLOAT,     /* number; 1e-12 is one, inf and nan are NAMEs */
    EXPR_IMAGINARY, /* number: of 2j */
    EXPR_STRING,    /* text, escapes resolved */
    EXPR_NAME,      /* text */
    EXPR_TUPLE,     /* items; (), (a,), a, b */
    EXPR_LIST,      /* items */
    EXPR_DICT, /* items under names: {'a': x}; where a name is NULL the item is a TUPLE of key and value, or a FOR of such */
    EXPR_FORMAT, /* f'...': items, of which STRINGs are its own text; names[i] says how, as '02d', or NULL */
    EXPR_STAR,   /* *a, and with `tuple` **a; only in EXPR_CALL, the first also in EXPR_TUPLE and EXPR_LIST */
    EXPR_CALL,   /* a is the callee; items are arguments, names[i] is NULL for a positional one */
    EXPR_ATTR,   /* a.text; name_loc is the place of text */
    EXPR_INDEX,  /* a[items...]; `tuple` says whether a comma stood inside */
    EXPR_SLICE,  /* a:b:c, each may be NULL; only inside EXPR_INDEX */
    EXPR_ELLIPSIS, /* ... */
    EXPR_UNARY,    /* op a */
    EXPR_BINARY,   /* a op b; one comparison too */
    EXPR_CHAIN,    /* a < b < c: items, with chain[i] between items i and i + 1 */
    EXPR_IF,       /* a if b else c */
    EXPR_LAMBDA,   /* lambda args: a */
    EXPR_WALRUS,   /* text := a */
    EXPR_REPEAT,   /* a x b: `12 x Block(256)`, `N x Call`; a is the count. Only from expr_parse_module */
    EXPR_FOR, /* a for c in b: c is the target, a NAME or nested TUPLEs; items are the conditions behind an `if`.
                    * With `tuple` a is the next `for` of the same comprehension. [a for c in b] is an EXPR_LIST of it */
};

enum expr_op {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_FLOORDIV,
    OP_MOD,
    OP_POW,
    OP_MATMUL,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_BITAND,
    OP_BITOR,
    OP_BITXOR,
    OP_IS,
    OP_IS_NOT,
    OP_IN,
    OP_NOT_IN,
    OP_AND,
    OP_OR, /* these and `not`: known while generating only */
    OP_NEG,
    OP_POS,
    OP_INVERT,
    OP_NOT,
};

struct signature_arg;
struct signature;

struct expr {
    enum expr_kind kind;
    enum expr_op op;
    struct loc loc; /* the whole expression */
    int64_t integer;
    double number;
    const char *text;
    struct loc name_loc; /* ATTR: the name; BINARY and UNARY: the operator, CHAIN: the first */
    enum expr_op *chain;
    struct expr *a, *b, *c;
    struct expr **items;
    const char **names; /* CALL: keyword of each item, or NULL; DICT */
    struct loc *name_locs;
    struct signature_arg *args; /* LAMBDA */
    int count;                  /* of items */
    int arg_count;
    bool tuple;
    unsigned end; /* where its text ends, in bytes of loc.source: loc itself stays within one line */
    int height;   /* of this tree; at most EXPR_MAX_DEPTH, so that walking it may recurse */
};

#define EXPR_MAX_DEPTH 200
#define EXPR_MAX_COUNT 2000000 /* in a spec, with all that they are made of: half a gigabyte */

enum stmt_kind {
    STMT_ASSIGN,
    STMT_AUGMENT,
    STMT_RETURN,
    STMT_EXPR,
    STMT_PASS, /* also an annotation without a value */
    STMT_DEL,  /* value: a NAME, or a TUPLE of them */
    STMT_ASSERT,
    STMT_RAISE,
    STMT_BREAK,
    STMT_CONTINUE,
    STMT_IF,    /* a block for each condition, `else` last */
    STMT_FOR,   /* blocks: its body, `else` */
    STMT_WHILE, /* value: the condition; its body, `else` */
    STMT_WITH,  /* a block */
    STMT_TRY,   /* blocks: its body, then those of `except`, `else`, `finally` */
    STMT_DEF,   /* a function in statements: targets: its name; signature; its body */
    STMT_IMPORT /* value: a NAME, the module up to its first dot */
};

/* Statements that run together: the whole of a function, or what is indented below `if`, `for` or `with`. */
struct stmt_block {
    struct stmt **list;
    int count;
    struct expr *condition; /* of STMT_IF; NULL: else. Of `except`: the types; NULL: all */
    const char *word;       /* of STMT_TRY, behind the first: "except", "else", "finally" */
    const char *name;       /* of `except E as name`, or NULL */
};

struct stmt {
    enum stmt_kind kind;
    struct loc loc; /* of its first line */
    struct expr *
        *targets; /* NAME, nested TUPLE, ATTR (self.x) or INDEX: of ASSIGN as many as there are `=`, of
                            * AUGMENT and FOR one */
    int target_count;
    enum expr_op op;             /* AUGMENT: += -= *= /= //= **= @= &= |= ^= %= */
    struct expr *value;          /* RETURN without a value: NULL. FOR: what it goes over; IF: NULL */
    struct expr *message;        /* ASSERT: what stands behind the comma, or NULL */
    struct signature *signature; /* DEF */
    struct stmt_block *blocks;
    int block_count;
    size_t end; /* where its text ends, in bytes of loc.source: with blocks, that of its first line */
};

#define STMT_MAX_DEPTH 20 /* blocks in blocks, as in Python */

/* The whole of `text[offset, offset + length)` of `source` as one expression. On a fault: diag_error, EXPR_BAD. */
struct expr *expr_parse(struct cx *cx, const struct source *source, size_t offset, size_t length);

/* The same, where a module is written: also `N x Call` and `Call for NAMES in SEQUENCE`. */
struct expr *expr_parse_module(struct cx *cx, const struct source *source, size_t offset, size_t length);

/* One statement, never NULL. After a fault, which was said, its value is EXPR_BAD; where the fault stands behind the
 * '=', the target is there, so that its names are known to be bad, else the kind is STMT_EXPR. */
struct stmt *stmt_parse(struct cx *cx, const struct source *source, size_t offset, size_t length);

/* The same for text of which a fault was said already, by YAML: says no further one. */
struct stmt *stmt_parse_refused(struct cx *cx, const struct source *source, size_t offset, size_t length);

/* Statements a line (block text): blank lines and comments are skipped; brackets continue a line, and what stands deeper
 * below a line that ends with ':' belongs to it. */
struct stmt **stmt_parse_block(struct cx *cx, const struct source *source, size_t offset, size_t length,
                               int *count);

struct signature_arg {
    const char *name;
    struct loc loc;
    struct expr *value; /* default, or NULL */
    bool keyword;       /* stands behind a `*`: given by name alone */
    enum gather {
        GATHER_NONE,
        GATHER_TUPLE, /* *args: all further arguments without a name */
        GATHER_DICT   /* **kwargs: all further arguments with names */
    } gather;
};

/* `Block(dim, heads, *, dropout=0.0)` as a key: name and arguments. A bare `Block` has none. False after a fault. */
struct signature {
    const char *name;
    struct loc loc;
    struct signature_arg *args;
    int count;
    bool has_args; /* parentheses were written: `act()` has them, `act` not */
};
bool signature_parse(struct cx *cx, const struct source *source, size_t offset, size_t length,
                     struct signature *out);

/* A function as Python writes it: `def forward(self, x: Tensor) -> Tensor:` with its statements below. */
struct def {
    enum def_kind {
        DEF_FUNCTION, /* or a method */
        DEF_PROPERTY,
        DEF_STATIC,
        DEF_CLASS, /* its first argument is the class */
        DEF_SETTER /* what nobody calls */
    } kind;
    struct signature signature; /* without `self` */
    struct stmt_block body;
    bool good; /* false: a fault in the signature was said */
};
/* Whether `def` begins the text, behind blank lines and comments. */
bool def_begins(const struct source *source, size_t offset, size_t length);
/* The functions of a block text, which has nothing else. */
struct def *def_parse_all(struct cx *cx, const struct source *source, size_t offset, size_t length,
                          int *count);

/* A class as Python writes it: `class Block(nn.Module):` with its functions and attributes below. */
struct class_text {
    const char *name;
    struct loc loc;
    struct expr **bases;
    int base_count;
    struct def *defs;
    int def_count;
    struct stmt **attributes; /* NAME = value; of a dataclass NAME alone, with a value that is NULL */
    int attribute_count;
    bool dataclass;
    bool good;
};
/* Whether `class` begins the text, behind blank lines, comments and decorators. */
bool class_begins(const struct source *source, size_t offset, size_t length);
/* The classes of a block text, its functions and constants: each of these is a class without a name that has it alone. */
struct class_text *class_parse_all(struct cx *cx, const struct source *source, size_t offset, size_t length,
                                   int *count);

const char *expr_op_text(enum expr_op op);

/* The name is a word of Python's grammar (`in`, `lambda`, `True`, ...), or `null`, `true`, `false`. */
bool expr_is_keyword(const char *name);

/* As Python would read it back, with parentheses around every operand that is an operation itself: for dumps. */
struct text;
void expr_print(struct text *text, const struct expr *expr);
/* One with blocks in several lines. */
void stmt_print(struct text *text, const struct stmt *stmt);

/* The source text that the expression was written as, on one line: for the comments in emitted code. */
const char *expr_source(struct cx *cx, const struct expr *expr);
const char *stmt_source(struct cx *cx, const struct stmt *stmt);

#endif
