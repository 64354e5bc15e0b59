/* emit_chat.c - a chat template's steps as a function of C; what it calls stands in modc_template.h. */
#include "emit/emit_chat.h"

#include <string.h>

#include "emit/template.h"

/* Declarations have an empty line behind them, and in front of them where they do not begin a block. */
enum line { LINE_NONE, LINE_HEAD, LINE_DECLARATION, LINE_STATEMENT };

struct printer {
    struct text *out;
    const struct chat *chat;
    int indent;
    enum line last; /* in this block */
};

static const char *const index_names[] = {"i", "j", "k"};

/* ---- expressions ------------------------------------------------------------------------------------------------- */

/* How strongly operators of C bind. */
enum { CHOICE = 1, OR, AND, EQUAL, ORDER, SUM, PRODUCT, UNARY, POSTFIX };

static void print_expr(struct printer *p, const struct chat_expr *expr, int around);

/* Bytes as a literal: what is not printing, or might be read otherwise, in octal. */
static void print_literal(struct text *out, const char *bytes, size_t count)
{
    text_add(out, "\"");
    for (size_t i = 0; i < count; i++) {
        const unsigned char c = (unsigned char)bytes[i];

        if (c == '\n')
            text_add(out, "\\n");
        else if (c == '"' || c == '\\')
            text_printf(out, "\\%c", c);
        else if (c < 0x20 || c > 0x7e || (c == '?' && i > 0 && bytes[i - 1] == '?'))
            text_printf(out, "\\%03o", c);
        else
            text_printf(out, "%c", c);
    }
    text_add(out, "\"");
}

static void print_constant(struct printer *p, const struct chat_expr *expr)
{
    if (expr->kind == CHAT_TEXT) {
        text_add(p->out, "MODC_TEXT(");
        print_literal(p->out, expr->text, expr->bytes);
        text_add(p->out, ")");
    } else if (expr->kind == CHAT_BOOL) {
        text_add(p->out, expr->number ? "true" : "false");
    } else if (expr->number == 0x7fffffff) {
        text_add(p->out, "MODC_END");
    } else {
        text_printf(p->out, "%lld", (long long)expr->number);
    }
}

static int strength(const struct chat_expr *expr)
{
    static const struct {
        const char *sign;
        int strength;
    } signs[] = {{"||", OR},   {"&&", AND},   {"==", EQUAL}, {"!=", EQUAL}, {"<", ORDER},  {"<=", ORDER},
                 {">", ORDER}, {">=", ORDER}, {"+", SUM},    {"-", SUM},    {"%", PRODUCT}};

    for (int i = 0; expr->op == CHAT_OP_BINARY && i < COUNT(signs); i++)
        if (strcmp(expr->text, signs[i].sign) == 0)
            return signs[i].strength;
    if (expr->op == CHAT_OP_CHOICE)
        return CHOICE;
    if (expr->op == CHAT_OP_NOT && strength(expr->args[0]) == EQUAL && expr->args[0]->op != CHAT_OP_BINARY)
        return EQUAL; /* text.bytes == 0 */
    if (expr->op == CHAT_OP_FULL || expr->op == CHAT_OP_THERE)
        return EQUAL;
    if (expr->op == CHAT_OP_LITERAL && expr->kind == CHAT_INT && expr->number < 0)
        return UNARY;
    return expr->op == CHAT_OP_NOT ? UNARY : POSTFIX;
}

/* a && b; what the compiler would ask parentheses for has them. */
static void print_binary(struct printer *p, const struct chat_expr *expr, int own)
{
    const bool logic = own == OR || own == AND;

    for (int i = 0; i < 2; i++) {
        const int inner = strength(expr->args[i]);
        const bool mixed = (logic && inner != own && (inner == OR || inner == AND)) ||
                           (own == EQUAL && (inner == EQUAL || inner == ORDER));

        if (i == 1)
            text_printf(p->out, " %s ", expr->text);
        print_expr(p, expr->args[i], mixed ? POSTFIX : i == 0 ? own : own + 1);
    }
}

static void print_args(struct printer *p, const struct chat_expr *expr, const char *function, bool prompt)
{
    text_printf(p->out, "%s(%s", function, prompt ? "p" : "");
    for (int i = 0; i < expr->count; i++) {
        text_add(p->out, i > 0 || prompt ? ", " : "");
        print_expr(p, expr->args[i], 0);
    }
    text_add(p->out, ")");
}

static void print_join(struct printer *p, const struct chat_expr *expr)
{
    text_add(p->out, "MODC_JOIN(p");
    for (int i = 0; i < expr->count; i++) {
        text_add(p->out, ", ");
        print_expr(p, expr->list[i], 0);
    }
    text_add(p->out, ")");
}

static void print_needed(struct printer *p, const struct chat_expr *expr)
{
    text_add(p->out, "modc_needed(p, ");
    print_expr(p, expr->args[0], 0);
    text_add(p->out, ", ");
    print_literal(p->out, expr->text, strlen(expr->text));
    text_add(p->out, ")");
}

/* What a function of the runtime gives. */
static const char *function_of(struct printer *p, const struct chat_expr *expr, bool *prompt)
{
    *prompt = true;
    switch (expr->op) {
    case CHAT_OP_AT:
        return expr->text ? expr->text : "modc_turn_at";
    case CHAT_OP_PART:
        return "modc_split_part";
    case CHAT_OP_KEPT:
        return "modc_keep";
    case CHAT_OP_MADE:
        return arena_format(p->out->arena, "modc_%s", expr->text);
    default:
        break;
    }
    *prompt = false;
    switch (expr->op) {
    case CHAT_OP_SLICE:
        return "modc_turns_slice";
    case CHAT_OP_REVERSED:
        return "modc_turns_reversed";
    case CHAT_OP_LENGTH:
        return "modc_characters";
    case CHAT_OP_MODULO:
        return "modc_modulo";
    default:
        return expr->text;
    }
}

static void print_plain(struct printer *p, const struct chat_expr *expr, int own)
{
    bool prompt;
    const char *function;

    switch (expr->op) {
    case CHAT_OP_LITERAL:
        print_constant(p, expr);
        break;
    case CHAT_OP_ABSENT:
        text_add(p->out, "MODC_NO_TEXT");
        break;
    case CHAT_OP_VARIABLE:
        text_add(p->out, expr->variable->name);
        break;
    case CHAT_OP_OPTION:
        text_printf(p->out, "p->%s", expr->text);
        break;
    case CHAT_OP_INDEX:
        text_add(p->out, index_names[expr->loop->depth]);
        break;
    case CHAT_OP_FIELD:
        print_expr(p, expr->args[0], POSTFIX);
        text_printf(p->out, "->%s", expr->text);
        break;
    case CHAT_OP_COUNT:
    case CHAT_OP_FULL:
    case CHAT_OP_THERE:
        print_expr(p, expr->args[0], POSTFIX);
        text_add(p->out, expr->op == CHAT_OP_COUNT  ? ".count"
                         : expr->op == CHAT_OP_FULL ? ".bytes > 0"
                                                    : ".data != NULL");
        break;
    case CHAT_OP_JOIN:
        print_join(p, expr);
        break;
    case CHAT_OP_NEEDED:
        print_needed(p, expr);
        break;
    case CHAT_OP_USED:
        text_add(p->out, "p->used");
        break;
    case CHAT_OP_BINARY:
        print_binary(p, expr, own);
        break;
    case CHAT_OP_NOT:
        if (own == EQUAL) {
            print_expr(p, expr->args[0]->args[0], POSTFIX);
            text_add(p->out, expr->args[0]->op == CHAT_OP_FULL ? ".bytes == 0" : ".data == NULL");
            break;
        }
        text_add(p->out, "!");
        print_expr(p, expr->args[0], UNARY);
        break;
    case CHAT_OP_CHOICE:
        print_expr(p, expr->args[0], OR);
        text_add(p->out, " ? ");
        print_expr(p, expr->args[1], OR);
        text_add(p->out, " : ");
        print_expr(p, expr->args[2], CHOICE);
        break;
    default:
        function = function_of(p, expr, &prompt);
        print_args(p, expr, function, prompt);
        break;
    }
}

static void print_expr(struct printer *p, const struct chat_expr *expr, int around)
{
    const int own = strength(expr);

    text_add(p->out, own < around ? "(" : "");
    print_plain(p, expr, own);
    text_add(p->out, own < around ? ")" : "");
}

/* ---- steps -------------------------------------------------------------------------------------------------------- */

static void print_steps(struct printer *p, const struct chat_steps *steps);

static void begin_line(struct printer *p)
{
    text_printf(p->out, "%*s", 4 * p->indent, "");
}

/* The same of a line of another sort than the one before. */
static void begin(struct printer *p, enum line line)
{
    if (p->last != LINE_NONE && p->last != line)
        text_add(p->out, "\n");
    p->last = line;
    begin_line(p);
}

static const char *type_of(const struct chat_variable *variable)
{
    static const char *const types[] = {
        [CHAT_BOOL] = "bool ",
        [CHAT_INT] = "int ",
        [CHAT_TEXT] = "struct modc_text ",
        [CHAT_TURN] = "const struct modc_turn *",
        [CHAT_TURNS] = "struct modc_turn_list ",
        [CHAT_USED] = "size_t ",
    };

    return types[variable->kind];
}

/* Whether this step says what the variable is from its beginning on. */
static bool begins_with(const struct chat_step *step, const struct chat_variable *variable)
{
    return step->kind == CHAT_STEP_SET && step->variable == variable && !variable->first;
}

static void print_declarations(struct printer *p, const struct chat_step *step)
{
    for (int i = 0; i < step->declared_count; i++) {
        const struct chat_variable *variable = step->declared[i];

        if (begins_with(step, variable))
            continue;
        begin(p, LINE_DECLARATION);
        text_printf(p->out, "%s%s", type_of(variable), variable->name);
        if (variable->first) {
            text_add(p->out, " = ");
            print_expr(p, variable->first, 0);
        }
        text_add(p->out, ";\n");
    }
}

static bool is_declared_here(const struct chat_step *step)
{
    for (int i = 0; i < step->declared_count; i++)
        if (begins_with(step, step->declared[i]))
            return true;
    return false;
}

/* x = x + 1 */
static bool counts_on(const struct chat_step *step)
{
    const struct chat_expr *const *args = step->expr->args;

    return step->expr->op == CHAT_OP_BINARY && step->expr->text[0] == '+' &&
           args[0]->op == CHAT_OP_VARIABLE && args[0]->variable == step->variable &&
           args[1]->op == CHAT_OP_LITERAL && args[1]->number == 1;
}

static void print_set(struct printer *p, const struct chat_step *step)
{
    const struct chat_variable *variable = step->variable;

    begin(p, is_declared_here(step) ? LINE_DECLARATION : LINE_STATEMENT);
    if (is_declared_here(step))
        text_printf(p->out, "%s%s", variable->writes == 1 && variable->kind != CHAT_TURN ? "const " : "",
                    type_of(variable));
    if (counts_on(step)) {
        text_printf(p->out, "%s++;\n", variable->name);
        return;
    }
    text_printf(p->out, "%s = ", variable->name);
    print_expr(p, step->expr, 0);
    text_add(p->out, ";\n");
}

static void print_put(struct printer *p, const struct chat_expr *expr)
{
    begin(p, LINE_STATEMENT);
    if (expr->op == CHAT_OP_MADE) {
        print_args(p, expr, arena_format(p->out->arena, "modc_put_%s", expr->text), true);
    } else {
        text_add(p->out, "modc_put(p, ");
        print_expr(p, expr, 0);
        text_add(p->out, ")");
    }
    text_add(p->out, ";\n");
}

/* C leaves the braces out around one line. */
static bool is_one_line(const struct chat_steps *steps)
{
    const struct chat_step *step = steps->count == 1 ? steps->list[0] : NULL;

    return step && step->declared_count == 0 && step->kind != CHAT_STEP_IF && step->kind != CHAT_STEP_FOR &&
           step->kind != CHAT_STEP_SPAN;
}

static void print_body(struct printer *p, const struct chat_steps *steps)
{
    p->indent++;
    p->last = LINE_NONE;
    print_steps(p, steps);
    p->last = LINE_STATEMENT;
    p->indent--;
}

/* What `else if` asks; NULL: there is none. */
static const struct chat_step *else_if(const struct chat_step *step)
{
    const struct chat_step *other = step->other.count == 1 ? step->other.list[0] : NULL;

    return other && other->kind == CHAT_STEP_IF && other->declared_count == 0 ? other : NULL;
}

/* One of its branches is more than a line: then all have braces. */
static bool wants_braces(const struct chat_step *step)
{
    for (; step; step = else_if(step))
        if (!is_one_line(&step->body) ||
            (step->other.count > 0 && !else_if(step) && !is_one_line(&step->other)))
            return true;
    return false;
}

static void print_if(struct printer *p, const struct chat_step *step)
{
    const bool braces = wants_braces(step);

    begin(p, LINE_STATEMENT);
    for (;; step = else_if(step)) {
        text_add(p->out, "if (");
        print_expr(p, step->expr, 0);
        text_add(p->out, braces ? ") {\n" : ")\n");
        print_body(p, &step->body);
        if (step->other.count == 0)
            break;
        begin_line(p);
        text_add(p->out, braces ? "} else" : "else");
        if (!else_if(step)) {
            text_add(p->out, braces ? " {\n" : "\n");
            print_body(p, &step->other);
            break;
        }
        text_add(p->out, " ");
    }
    if (braces) {
        begin_line(p);
        text_add(p->out, "}\n");
    }
}

static void print_for(struct printer *p, const struct chat_step *step)
{
    const char *i = index_names[step->depth], *turns = step->expr->variable->name;

    begin(p, LINE_STATEMENT);
    text_printf(p->out, "for (int %s = 0; %s < %s.count; %s++) {\n", i, i, turns, i);
    p->indent++;
    p->last = LINE_NONE;
    if (step->variable->reads > 0) {
        begin(p, LINE_DECLARATION);
        text_printf(p->out, "const struct modc_turn *%s = modc_turn_at(p, %s, %s);\n", step->variable->name,
                    turns, i);
    }
    if (step->body.makes) {
        begin(p, LINE_STATEMENT);
        text_printf(p->out, "p->used = %s; /* what was joined for the turn before is no longer needed */\n",
                    step->used->name);
    }
    print_steps(p, &step->body);
    p->indent--;
    p->last = LINE_STATEMENT;
    begin_line(p);
    text_add(p->out, "}\n");
}

static void print_line(struct printer *p, const char *line)
{
    begin(p, LINE_STATEMENT);
    text_printf(p->out, "%s\n", line);
}

static void print_step(struct printer *p, const struct chat_step *step)
{
    print_declarations(p, step);
    switch (step->kind) {
    case CHAT_STEP_PUT:
        print_put(p, step->expr);
        break;
    case CHAT_STEP_IF:
        print_if(p, step);
        break;
    case CHAT_STEP_FOR:
        print_for(p, step);
        break;
    case CHAT_STEP_SET:
        print_set(p, step);
        break;
    case CHAT_STEP_REFUSE:
        begin(p, LINE_STATEMENT);
        text_add(p->out, "return modc_refuse(p, ");
        print_expr(p, step->expr, 0);
        text_add(p->out, ", bytes);\n");
        break;
    case CHAT_STEP_SPAN:
        print_line(p, "modc_span_begin(p);");
        print_steps(p, &step->body);
        print_line(p, "modc_span_end(p);");
        break;
    case CHAT_STEP_BREAK:
        print_line(p, "break;");
        break;
    case CHAT_STEP_CONTINUE:
        print_line(p, "continue;");
        break;
    }
}

static void print_steps(struct printer *p, const struct chat_steps *steps)
{
    for (int i = 0; i < steps->count; i++)
        print_step(p, steps->list[i]);
}

/* The file without its folder: the same bytes wherever it lies. */
static const char *file_name(const struct chat *chat)
{
    const char *slash = strrchr(chat->path, '/');

    return slash ? slash + 1 : chat->path;
}

static bool ends_call(const struct chat_steps *steps)
{
    return steps->count > 0 && steps->list[steps->count - 1]->kind == CHAT_STEP_REFUSE;
}

const char *emit_chat_source(struct cx *cx, const char *m, const char *spec, const struct chat *chat)
{
    struct text out = text_new(&cx->arena);
    struct printer printer = {&out, chat, 1, LINE_HEAD}, *p = &printer;

    text_printf(
        &out,
        "/* %s_template.c - written by modc from %s, which %s names.\n"
        " * Change these, not this file. It is yours, under any terms. */\n#include \"%s.h\"\n\n"
        "enum modc_status %s_chat(const struct modc_turn *turns, int count, struct modc_chat *chat, char *out, "
        "size_t room, size_t *bytes)\n{\n"
        "    struct modc_prompt prompt, *p = &prompt;\n",
        m, file_name(chat), spec, m, m);
    if (chat->messages->reads > 0)
        text_printf(&out, "    %sstruct modc_turn_list %s = {turns, count, 1};\n",
                    chat->messages->writes == 0 ? "const " : "", chat->messages->name);
    text_add(&out, "\n    if (modc_prompt_begin(p, turns, count, chat, out, room) != MODC_OK)\n"
                   "        return modc_prompt_end(p, bytes);\n");
    print_steps(p, &chat->steps);
    if (!ends_call(&chat->steps))
        print_line(p, "return modc_prompt_end(p, bytes);");
    text_add(&out, "}\n");
    return emit_fit(&cx->arena, out.data);
}

void emit_chat_header(struct text *out, const char *m, const struct chat *chat)
{
    text_printf(
        out,
        "/* Turns of a conversation to the text that the model was trained on (%s_template.c, modc_template.h): %s%s. */\n"
        "enum modc_status %s_chat(const struct modc_turn *turns, int count, struct modc_chat *chat, char *out, "
        "size_t room, size_t *bytes);\n\n",
        m, file_name(chat), chat->spans ? ", with the spans of what the assistant says" : "", m);
}
