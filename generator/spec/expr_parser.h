/* expr_parser.h - tokens, and a parser that is one of them ahead: what the files that parse expressions and statements share.
 * Private to expr.c, expr_lex.c, expr_print.c, stmt.c and signature.c. */
#ifndef MODC_EXPR_PARSER_H
#define MODC_EXPR_PARSER_H

#include "spec/expr.h"

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_INT, TOKEN_FLOAT, TOKEN_STRING, TOKEN_SYMBOL };

struct token {
    enum token_kind kind;
    struct loc loc;
    size_t end;
    const char *text; /* NAME, STRING (escapes resolved), SYMBOL */
    int64_t integer;
    double number;
    bool huge;      /* INT: 2^63, which only a minus sign makes fit */
    bool imaginary; /* FLOAT: of 2j */
    struct format_part {
        const char *text; /* its own text, escapes resolved; NULL: an expression */
        size_t begin, end;
        const char *how; /* what stands behind its ':', or NULL */
    } * parts;           /* STRING: of f'...', else NULL */
    int part_count;
};

struct parser {
    struct cx *cx;
    const struct source *source;
    size_t at, stop; /* what is not yet a token */
    struct token token, last;
    bool module;    /* `N x Call` and `Call for NAMES in SEQUENCE` may be written */
    bool quiet;     /* faults are not said */
    bool in_target; /* parts of a tuple that is assigned to are looked at */
    bool failed;
    int depth;
};

/* ---- expr_lex.c: faults and tokens ---- */

struct parser parser_new(struct cx *cx, const struct source *source, size_t offset, size_t length);

/* Says the first fault of a text; true if this is it, so that a hint may follow. */
bool __attribute__((format(printf, 3, 4)))
parser_fail(struct parser *p, struct loc loc, const char *format, ...);

/* Ends a text whose fault was said. */
void parser_stop(struct parser *p);

/* The token as it stands in the text; for messages in quotes, or "the end". */
const char *parser_token_text(struct parser *p);
const char *parser_found(struct parser *p);

/* Takes one token and reads the next. */
void parser_next(struct parser *p);

bool parser_is_symbol(const struct parser *p, const char *symbol);
bool parser_is_name(const struct parser *p, const char *name);
bool parser_take_symbol(struct parser *p, const char *symbol);

/* Whether `word` stands behind the token. */
bool parser_next_is(const struct parser *p, const char *word);

/* What is never closed may go on behind a ' #'. */
void parser_hint_comment(struct parser *p);

/* Where the string whose quote is at `at` ends: behind its last quote, or where its line does, if it is never closed. */
size_t lex_string_end(const char *text, size_t at, size_t stop);

/* Blanks, line ends, comments, and a backslash that ends a line. */
size_t lex_skip_blanks(const char *text, size_t at, size_t stop);

/* ---- expr.c: trees ---- */

/* `a`, or `a, b` as a tuple. */
struct expr *parser_tuple(struct parser *p);
/* `a if b else c` or less: what may stand between commas. */
struct expr *parser_conditional(struct parser *p);

/* The names behind `for`: one, or several with commas, in brackets or not. */
struct expr *parser_names(struct parser *p);
/* The sequence behind `in`, the condition behind `if`. */
struct expr *parser_operation(struct parser *p);

struct expr *parser_bad(struct parser *p, struct loc loc);

/* Says what stands behind an expression where nothing more may be. */
void parser_expect_end(struct parser *p);
bool parser_close_bracket(struct parser *p, const char *open, struct loc open_loc, const char *close);

/* ---- signature.c ---- */

/* The arguments of a lambda, up to its ':'. */
void signature_parse_lambda(struct parser *p, struct signature *out);

struct lines;
/* A function in `column`, of which the parser is at its `def`. */
struct def def_parse(struct lines *lines, struct parser *p, size_t column);

/* ---- stmt.c: lines ---- */

/* A statement without a block; its first token is the parser's. */
struct stmt *stmt_parse_simple(struct parser *p);

/* Text that is read a line at a time. */
struct lines {
    struct cx *cx;
    const struct source *source;
    size_t at, stop;
    size_t columns[STMT_MAX_DEPTH + 2]; /* of the blocks that are open */
    int depth;
    bool faulty; /* a line does not stand where it may, which was said */
};

struct lines lines_new(struct cx *cx, const struct source *source, size_t offset, size_t length);
/* Goes on to the next line that has something. False: there is none. */
bool lines_next(struct lines *lines);
/* How far the text at lines->at stands to the right. */
size_t lines_column(const struct lines *lines);
/* Steps over what stands deeper, below a line that was not understood. */
void lines_skip(struct lines *lines, size_t column);
/* A parser of the line at lines->at, which is behind it then. */
struct parser lines_take(struct lines *lines);
/* The statements below a line in `column`, of which `what` is known; behind ':' on the line itself, where `p` is. */
struct stmt_block lines_block(struct lines *lines, struct parser *p, size_t column, const char *what);

#endif
