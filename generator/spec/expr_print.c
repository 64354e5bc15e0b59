/* expr_print.c - expressions and statements as text: from the tree, for dumps, and as they were written, for comments. */
#include "spec/expr_parser.h"

#include <string.h>

#include "base/text.h"

const char *expr_op_text(enum expr_op op)
{
    static const char *const texts[] = {
        [OP_ADD] = "+",   [OP_SUB] = "-",         [OP_MUL] = "*",    [OP_DIV] = "/", [OP_FLOORDIV] = "//",
        [OP_MOD] = "%",   [OP_POW] = "**",        [OP_MATMUL] = "@", [OP_EQ] = "==", [OP_NE] = "!=",
        [OP_LT] = "<",    [OP_LE] = "<=",         [OP_GT] = ">",     [OP_GE] = ">=", [OP_BITAND] = "&",
        [OP_BITOR] = "|", [OP_BITXOR] = "^",      [OP_AND] = "and",  [OP_OR] = "or", [OP_NEG] = "-",
        [OP_POS] = "+",   [OP_INVERT] = "~",      [OP_NOT] = "not",  [OP_IS] = "is", [OP_IS_NOT] = "is not",
        [OP_IN] = "in",   [OP_NOT_IN] = "not in",
    };

    return texts[op];
}

/* The characters of a string; braces twice where `format`. */
static void print_characters(struct text *text, const char *string, bool format)
{
    for (const char *s = string; *s; s++) {
        if (*s == '\'' || *s == '\\')
            text_printf(text, "\\%c", *s);
        else if (format && (*s == '{' || *s == '}'))
            text_printf(text, "%c%c", *s, *s);
        else if (*s == '\n')
            text_add(text, "\\n");
        else if ((unsigned char)*s < 0x20 || *s == 0x7f)
            text_printf(text, "\\x%02x", (unsigned)(unsigned char)*s);
        else
            text_add_bytes(text, s, 1);
    }
}

static void print_string(struct text *text, const char *string)
{
    text_add(text, "'");
    print_characters(text, string, false);
    text_add(text, "'");
}

static void print_format(struct text *text, const struct expr *expr)
{
    text_add(text, "f'");
    for (int i = 0; i < expr->count; i++) {
        if (expr->items[i]->kind == EXPR_STRING && !expr->names[i]) {
            print_characters(text, expr->items[i]->text, true);
            continue;
        }
        text_add(text, "{");
        expr_print(text, expr->items[i]);
        text_printf(text, "%s}", expr->names[i] ? expr->names[i] : "");
    }
    text_add(text, "'");
}

static void print_loops(struct text *text, const struct expr *expr);

/* key: value, and what a `for` makes of such. */
static void print_pair(struct text *text, const struct expr *expr)
{
    const struct expr *pair = expr;

    while (pair->kind == EXPR_FOR)
        pair = pair->a;
    expr_print(text, pair->items[0]);
    text_add(text, ": ");
    expr_print(text, pair->items[1]);
    if (expr->kind == EXPR_FOR)
        print_loops(text, expr);
}

static void print_items(struct text *text, const struct expr *expr)
{
    for (int i = 0; i < expr->count; i++) {
        if (i > 0)
            text_add(text, ", ");
        if (expr->kind == EXPR_DICT && !expr->names[i]) {
            print_pair(text, expr->items[i]);
            continue;
        }
        if (expr->kind == EXPR_DICT) {
            print_string(text, expr->names[i]);
            text_add(text, ": ");
        } else if (expr->kind == EXPR_CALL && expr->names[i]) {
            text_printf(text, "%s=", expr->names[i]);
        }
        expr_print(text, expr->items[i]);
    }
}

static void print_operand(struct text *text, const struct expr *expr)
{
    bool operation = expr->kind == EXPR_BINARY || expr->kind == EXPR_CHAIN || expr->kind == EXPR_UNARY ||
                     expr->kind == EXPR_IF || expr->kind == EXPR_REPEAT || expr->kind == EXPR_FOR ||
                     expr->kind == EXPR_STAR || expr->kind == EXPR_LAMBDA;

    text_add(text, operation ? "(" : "");
    expr_print(text, expr);
    text_add(text, operation ? ")" : "");
}

/* The names behind a `for`. */
static void print_names(struct text *text, const struct expr *names)
{
    if (names->kind == EXPR_TUPLE && names->count > 1)
        print_items(text, names);
    else
        expr_print(text, names);
}

static void print_for(struct text *text, const struct expr *expr)
{
    const struct expr *element = expr->a;

    while (expr->tuple && element->kind == EXPR_FOR && element->tuple)
        element = element->a;
    print_operand(text, expr->tuple && element->kind == EXPR_FOR ? element->a : element);
    print_loops(text, expr);
}

static void print_loops(struct text *text, const struct expr *expr)
{
    for (const struct expr *loop = expr; loop; loop = loop->tuple ? loop->a : NULL) {
        text_add(text, " for ");
        print_names(text, loop->c);
        text_add(text, " in ");
        print_operand(text, loop->b);
        for (int i = 0; i < loop->count; i++) {
            text_add(text, " if ");
            print_operand(text, loop->items[i]);
        }
    }
}

static void print_slice(struct text *text, const struct expr *expr)
{
    if (expr->a)
        expr_print(text, expr->a);
    text_add(text, ":");
    if (expr->b)
        expr_print(text, expr->b);
    if (expr->c) {
        text_add(text, ":");
        expr_print(text, expr->c);
    }
}

static void print_attribute(struct text *text, const struct expr *expr)
{
    if (expr->a->kind == EXPR_INT) /* 2.T is no number */
        text_printf(text, "(%lld)", (long long)expr->a->integer);
    else
        print_operand(text, expr->a);
    text_printf(text, ".%s", expr->text);
}

/* What has brackets: around its items, or behind `a`. */
static void print_bracketed(struct text *text, const struct expr *expr, const char *open, const char *close)
{
    if (expr->kind == EXPR_CALL || expr->kind == EXPR_INDEX)
        print_operand(text, expr->a);
    text_add(text, open);
    print_items(text, expr);
    text_add(text, close);
}

static void print_operation(struct text *text, const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_UNARY:
        text_printf(text, "%s%s", expr_op_text(expr->op), expr->op == OP_NOT ? " " : "");
        print_operand(text, expr->a);
        break;
    case EXPR_BINARY:
        print_operand(text, expr->a);
        text_printf(text, " %s ", expr_op_text(expr->op));
        print_operand(text, expr->b);
        break;
    case EXPR_CHAIN:
        for (int i = 0; i < expr->count; i++) {
            if (i > 0)
                text_printf(text, " %s ", expr_op_text(expr->chain[i - 1]));
            print_operand(text, expr->items[i]);
        }
        break;
    case EXPR_IF:
        print_operand(text, expr->a);
        text_add(text, " if ");
        print_operand(text, expr->b);
        text_add(text, " else ");
        print_operand(text, expr->c);
        break;
    case EXPR_REPEAT:
        print_operand(text, expr->a);
        text_add(text, " x ");
        print_operand(text, expr->b);
        break;
    default:
        print_for(text, expr);
        break;
    }
}

static void print_lambda(struct text *text, const struct expr *expr)
{
    text_add(text, "lambda");
    for (int i = 0; i < expr->arg_count; i++) {
        const struct signature_arg *arg = &expr->args[i];

        text_printf(text, "%s%s%s", i > 0 ? ", " : " ",
                    arg->gather == GATHER_TUPLE  ? "*"
                    : arg->gather == GATHER_DICT ? "**"
                                                 : "",
                    arg->name);
        if (arg->value) {
            text_add(text, "=");
            expr_print(text, arg->value);
        }
    }
    text_add(text, ": ");
    expr_print(text, expr->a);
}

void expr_print(struct text *text, const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_BAD:
        text_add(text, "<bad>");
        break;
    case EXPR_NONE:
        text_add(text, "None");
        break;
    case EXPR_BOOL:
        text_add(text, expr->integer ? "True" : "False");
        break;
    case EXPR_INT:
        text_printf(text, "%lld", (long long)expr->integer);
        break;
    case EXPR_FLOAT:
        text_double(text, expr->number);
        break;
    case EXPR_IMAGINARY:
        text_double(text, expr->number);
        text_add(text, "j");
        break;
    case EXPR_STRING:
        print_string(text, expr->text);
        break;
    case EXPR_FORMAT:
        print_format(text, expr);
        break;
    case EXPR_STAR:
        text_add(text, expr->tuple ? "**" : "*");
        print_operand(text, expr->a);
        break;
    case EXPR_NAME:
        text_add(text, expr->text);
        break;
    case EXPR_ELLIPSIS:
        text_add(text, "...");
        break;
    case EXPR_TUPLE:
        print_bracketed(text, expr, "(", expr->count == 1 ? ",)" : ")");
        break;
    case EXPR_LIST:
        print_bracketed(text, expr, "[", "]");
        break;
    case EXPR_DICT:
        print_bracketed(text, expr, "{", "}");
        break;
    case EXPR_CALL:
        print_bracketed(text, expr, "(", ")");
        break;
    case EXPR_INDEX:
        print_bracketed(text, expr, "[", expr->tuple && expr->count == 1 ? ",]" : "]");
        break;
    case EXPR_ATTR:
        print_attribute(text, expr);
        break;
    case EXPR_SLICE:
        print_slice(text, expr);
        break;
    case EXPR_LAMBDA:
        print_lambda(text, expr);
        break;
    case EXPR_WALRUS:
        text_printf(text, "(%s := ", expr->text);
        expr_print(text, expr->a);
        text_add(text, ")");
        break;
    case EXPR_UNARY:
    case EXPR_BINARY:
    case EXPR_CHAIN:
    case EXPR_IF:
    case EXPR_REPEAT:
    case EXPR_FOR:
        print_operation(text, expr);
        break;
    }
}

static const char *const stmt_words[] = {
    [STMT_RETURN] = "return",     [STMT_PASS] = "pass",
    [STMT_DEL] = "del",           [STMT_ASSERT] = "assert",
    [STMT_RAISE] = "raise",       [STMT_BREAK] = "break",
    [STMT_CONTINUE] = "continue", [STMT_FOR] = "for",
    [STMT_WITH] = "with",         [STMT_IF] = "",
    [STMT_WHILE] = "while",       [STMT_TRY] = "try",
    [STMT_DEF] = "def",           [STMT_IMPORT] = "import",
};

/* The word that begins the block of a statement. */
static const char *block_word(const struct stmt *stmt, int i)
{
    if (stmt->kind == STMT_IF)
        return i == 0 ? "if" : stmt->blocks[i].condition ? "elif" : "else";
    return i == 0 ? stmt_words[stmt->kind] : stmt->blocks[i].word ? stmt->blocks[i].word : "else";
}

static void print_line(struct text *text, const struct stmt *stmt)
{
    const char *word = stmt->kind < COUNT(stmt_words) ? stmt_words[stmt->kind] : NULL;

    if (word)
        text_printf(text, "%s%s", word, stmt->value && word[0] ? " " : "");
    if (stmt->kind == STMT_DEF && stmt->target_count > 0) {
        text_printf(text, " %s(", stmt->targets[0]->text);
        for (int i = 0; i < stmt->signature->count; i++)
            text_printf(text, "%s%s", i > 0 ? ", " : "", stmt->signature->args[i].name);
        text_add(text, ")");
        return;
    }
    for (int i = 0; i < stmt->target_count && stmt->kind != STMT_FOR; i++) {
        expr_print(text, stmt->targets[i]);
        text_printf(text, " %s= ", stmt->kind == STMT_AUGMENT ? expr_op_text(stmt->op) : "");
    }
    if (stmt->kind == STMT_FOR && stmt->target_count > 0) {
        print_names(text, stmt->targets[0]);
        text_add(text, " in ");
    }
    if (stmt->value)
        expr_print(text, stmt->value);
    if (stmt->message) {
        text_add(text, ", ");
        expr_print(text, stmt->message);
    }
}

static void print_depth(struct text *text, const struct stmt *stmt, int depth)
{
    if (stmt->block_count == 0)
        print_line(text, stmt);
    for (int i = 0; i < stmt->block_count; i++) {
        const struct stmt_block *block = &stmt->blocks[i];

        if (i > 0)
            text_printf(text, "\n%*s%s%s", 4 * depth, "", block_word(stmt, i), block->condition ? " " : "");
        else if (stmt->kind == STMT_IF)
            text_add(text, "if ");
        else
            print_line(text, stmt);
        if (block->condition)
            expr_print(text, block->condition);
        text_add(text, ":");
        for (int k = 0; k < block->count; k++) {
            text_printf(text, "\n%*s", 4 * depth + 4, "");
            print_depth(text, block->list[k], depth + 1);
        }
    }
}

void stmt_print(struct text *text, const struct stmt *stmt)
{
    print_depth(text, stmt, 0);
}

/* A part of a source on one line: comments go, line ends and the blanks around them become one blank, or
 * none beside a bracket. */
static const char *one_line(struct cx *cx, const struct source *source, size_t begin, size_t end)
{
    struct text out = text_new(&cx->arena);
    const char *text = source->text;

    for (size_t at = begin; at < end;) {
        char c = text[at];

        if (c == '"' || c == '\'') {
            for (size_t close = lex_string_end(text, at, end); at < close; at++)
                text_add_bytes(&out, text[at] == '\n' || text[at] == '\r' ? " " : text + at, 1);
            continue;
        }

        size_t behind = lex_skip_blanks(text, at, end);
        bool line_ends = false;

        for (size_t i = at; i < behind; i++)
            line_ends |= text[i] == '\n' || text[i] == '\r' || text[i] == '#';
        if (behind == at || !line_ends) {
            behind = behind == at ? at + 1 : behind;
            text_add_bytes(&out, text + at, behind - at);
        } else if (out.length > 0 && !strchr("([", out.data[out.length - 1]) && behind < end &&
                   !strchr(")]", text[behind])) {
            text_add(&out, " ");
        }
        at = behind;
    }
    return out.data;
}

const char *expr_source(struct cx *cx, const struct expr *expr)
{
    return one_line(cx, expr->loc.source, expr->loc.offset, expr->end);
}

const char *stmt_source(struct cx *cx, const struct stmt *stmt)
{
    return one_line(cx, stmt->loc.source, stmt->loc.offset, stmt->end);
}
