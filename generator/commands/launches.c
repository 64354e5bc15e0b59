/* launches.c - see launches.h.
 *
 * How many threads a block has and what it shares stands in templates and in what emit prints, and so in the text: as nvcc does, this
 * reads `enum` for names of numbers, `__launch_bounds__`, `__shared__` and the bytes that a launch gives. */
#include "commands/launches.h"

#include <ctype.h>
#include <string.h>

#include "plan/kernel.h"

enum { WORD = 128 };

struct number {
    const char *name;
    int64_t value;
};

struct reader {
    struct cx *cx;
    const char *at; /* behind the token */
    char token[WORD];
    struct number *numbers;
    int number_count;
    struct launch *list;
    int count;
};

/* ---- tokens ----------------------------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *past_comment(const char *at)
{
    const char *end = strstr(at, "*/");

    return end ? end + 2 : at + strlen(at);
}

/* A word, a number or one character; "" at the end. */
static void next(struct reader *r)
{
    int length = 0;

    for (;;) {
        r->at += strspn(r->at, " \t\n\\");
        if (r->at[0] != '/' || r->at[1] != '*')
            break;
        r->at = past_comment(r->at);
    }
    do {
        r->token[length] = *r->at;
        length += *r->at != 0 && length < WORD - 1;
        r->at += *r->at != 0;
    } while (length > 0 && is_word(r->token[0]) && is_word(*r->at));
    r->token[length] = 0;
}

static bool is(const struct reader *r, const char *token)
{
    return strcmp(r->token, token) == 0;
}

static bool take(struct reader *r, const char *token)
{
    if (!is(r, token))
        return false;
    next(r);
    return true;
}

/* ---- constant expressions --------------------------------------------------------------------------------- */

static bool read_sum(struct reader *r, int64_t *value);

static bool read_factor(struct reader *r, int64_t *value)
{
    if (take(r, "("))
        return read_sum(r, value) && take(r, ")");
    *value = 0;
    if (isdigit((unsigned char)r->token[0])) {
        for (const char *digit = r->token; *digit; digit++) {
            if (*digit < '0' || *digit > '9' || __builtin_mul_overflow(*value, 10, value) ||
                __builtin_add_overflow(*value, *digit - '0', value))
                return false;
        }
        next(r);
        return true;
    }
    for (int i = r->number_count - 1; i >= 0; i--)
        if (is(r, r->numbers[i].name)) {
            *value = r->numbers[i].value;
            next(r);
            return true;
        }
    return false;
}

static bool read_product(struct reader *r, int64_t *value)
{
    if (!read_factor(r, value))
        return false;
    while (is(r, "*") || is(r, "/") || is(r, "%")) {
        const char operator= r->token[0];
        int64_t other;

        next(r);
        if (!read_factor(r, &other) || (operator!= '*' && other == 0) ||
            (operator== '*' && __builtin_mul_overflow(*value, other, value)))
            return false;
        if (operator!= '*')
            *value = operator== '/' ? *value / other : * value % other;
    }
    return true;
}

static bool read_sum(struct reader *r, int64_t *value)
{
    if (!read_product(r, value))
        return false;
    while (is(r, "+") || is(r, "-")) {
        const bool plus = is(r, "+");
        int64_t other;

        next(r);
        if (!read_product(r, &other) || (plus ? __builtin_add_overflow(*value, other, value)
                                              : __builtin_sub_overflow(*value, other, value)))
            return false;
    }
    return true;
}

/* ---- what is said ----------------------------------------------------------------------------------------- */

static const char *keep(const struct reader *r)
{
    return arena_copy(&r->cx->arena, r->token, strlen(r->token));
}

/* enum { A = 4, B }; behind the word enum. */
static void read_numbers(struct reader *r)
{
    int64_t value = 0;

    if (!take(r, "{"))
        return;
    while (r->token[0] && !is(r, "}")) {
        const char *name = keep(r);

        next(r);
        if (take(r, "=") && !read_sum(r, &value))
            return;
        ARENA_PUSH(&r->cx->arena, r->numbers, r->number_count, ((struct number){name, value}));
        value++;
        if (!take(r, ","))
            return;
    }
}

/* __launch_bounds__(256) NAME( */
static void read_kernel(struct reader *r)
{
    struct launch launch = {.kernel = "", .sized = true};

    if (!take(r, "(") || !read_sum(r, &launch.threads))
        return;
    while (r->token[0] && !is(r, ")"))
        next(r);
    next(r);
    while (r->token[0] && !is(r, "(")) {
        launch.kernel = keep(r);
        next(r);
    }
    ARENA_PUSH(&r->cx->arena, r->list, r->count, launch);
}

/* Bytes of one; 0: it is none that kernels share. */
static int type_bytes(const char *type)
{
    for (int i = 0; i < DTYPE_COUNT; i++)
        if (strcmp(dtype_rows[i].c, type) == 0)
            return dtype_rows[i].bytes;
    return strcmp(type, "int") == 0 || strcmp(type, "unsigned") == 0 ? 4 : 0;
}

/* NAME[2][16 + 4], OTHER; of elements of so many bytes. */
static bool read_arrays(struct reader *r, int bytes, int64_t align, int64_t *shared)
{
    do {
        int64_t length = bytes, extent;

        while (is_word(r->token[0]))
            next(r);
        while (take(r, "["))
            if (!read_sum(r, &extent) || !take(r, "]") || __builtin_mul_overflow(length, extent, &length))
                return false;
        *shared = (*shared + align - 1) / align * align + length;
    } while (take(r, ","));
    return is(r, ";");
}

/* Behind __shared__. */
static void read_shared(struct reader *r)
{
    struct launch *launch = r->count > 0 ? &r->list[r->count - 1] : NULL;
    struct text type = text_new(&r->cx->arena);
    int64_t align = 0;

    if (take(r, "__align__"))
        (void)(take(r, "(") && read_sum(r, &align) && take(r, ")"));
    do {
        text_printf(&type, "%s%s", type.length > 0 ? " " : "", r->token);
        next(r);
    } while (strcmp(type.data, "struct") == 0);
    if (!launch)
        return;
    if (align < type_bytes(type.data))
        align = type_bytes(type.data);
    launch->sized &= align > 0 && read_arrays(r, type_bytes(type.data), align, &launch->shared);
}

/* MODC_LAUNCH(kernel, grid, block, shared, ... */
static void read_launch(struct reader *r)
{
    struct launch *launch = NULL;
    int64_t shared;

    if (!take(r, "("))
        return;
    for (int i = 0; i < r->count; i++)
        if (is(r, r->list[i].kernel))
            launch = &r->list[i];
    for (int depth = 0, commas = 0; launch && r->token[0] && commas < 3; next(r)) {
        depth += is(r, "(") - is(r, ")");
        commas += depth == 0 && is(r, ",");
    }
    if (!launch)
        return;
    if (read_sum(r, &shared))
        launch->shared += shared;
    else
        launch->sized = false;
}

struct launch *launches_read(struct cx *cx, const char *text, int *count)
{
    static const struct {
        const char *word;
        void (*read)(struct reader *r);
    } rows[] = {{"enum", read_numbers},
                {"__launch_bounds__", read_kernel},
                {"__shared__", read_shared},
                {"MODC_LAUNCH", read_launch}};
    struct reader r = {.cx = cx, .at = text};

    for (next(&r); r.token[0];) {
        int row = 0;

        while (row < COUNT(rows) && !is(&r, rows[row].word))
            row++;
        next(&r);
        if (row < COUNT(rows))
            rows[row].read(&r);
    }
    *count = r.count;
    return r.list;
}

/* ---- how many --------------------------------------------------------------------------------------------- */

static int64_t started(const struct kernel_calls *calls)
{
    int64_t count = 0;

    for (int i = 0; i < calls->count; i++)
        count += calls->list[i].kernel->form != KERNEL_LIBRARY;
    return count;
}

int64_t launches_count(const struct plan *plan, const struct variant *variant, enum part part)
{
    int64_t count = 0;

    for (int s = variant_first(variant, part); s < variant_end(variant, part); s++) {
        const struct step *step = &variant->steps[s];
        const struct op *op = step->op;

        count += started(&step->packings) + started(&step->calls);
        if (op->code == GRAPH_OP_CALL)
            count += op->invoke.count *
                     launches_count(plan, plan_variant(plan, op->invoke.region->graph), call_part_of(op));
    }
    return count;
}
