/* spec_names.c - what may be a name in a spec, and how it is called in C. Apart from the keys, since every section has names,
 * and other rooms ask for those in C. */
#include "spec/spec_reader.h"

#include <string.h>

/* Names in C --------------------------------------------------------------------------------------------- */

/* Keywords of C and C++, and words that standard headers or compilers define as macros. */
static const char c_words[] =
    " alignas alignof and and_eq asm assert atomic_cancel atomic_commit atomic_noexcept auto bitand "
    "bitor bool break case catch char char16_t char32_t char8_t class co_await co_return co_yield "
    "compl complex concept const const_cast consteval constexpr constinit continue decltype default "
    "delete do double dynamic_cast else enum errno explicit export extern false float for friend "
    "goto i386 if imaginary inline int linux long mutable namespace new noexcept "
    "noreturn not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert "
    "static_cast struct switch synchronized template this thread_local throw true try typedef typeid "
    "typename typeof typeof_unqual union unix unsigned using virtual void volatile wchar_t while xor "
    "xor_eq NULL EOF I ";

/* The head of emitted structs, and macros of headers of Windows: avoided as members and arguments, but no reason to refuse
 * a model's name. */
static const char member_words[] = " base far huge interface near pascal small ";

/* `word` is one of those in `list`, which has a blank around each. */
static bool is_listed(struct cx *cx, const char *list, const char *word)
{
    return !strchr(word, ' ') && strstr(list, arena_format(&cx->arena, " %s ", word));
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

const char *spec_c_name(struct cx *cx, const char *name)
{
    if (is_listed(cx, c_words, name) || is_listed(cx, member_words, name))
        return arena_format(&cx->arena, "%s_", name);

    char *result = arena_format(&cx->arena, "%s%s", is_letter(name[0]) || (name[0] & 0x80) ? "" : "_", name);

    for (char *c = result; *c; c++) {
        if (!is_letter(*c) && !is_digit(*c))
            *c = '_';
    }
    return result;
}

const char *spec_upper_c_name(struct cx *cx, const char *name)
{
    char *result = arena_string(&cx->arena, spec_c_name(cx, name));

    for (char *c = result; *c; c++) {
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    }
    return result;
}

bool spec_is_identifier(const char *name)
{
    if (!is_letter(name[0]))
        return false;
    for (; *name; name++) {
        if (!is_letter(*name) && !is_digit(*name))
            return false;
    }
    return true;
}

bool spec_check_identifier(struct reader *r, const char *name, struct loc loc)
{
    if (!spec_is_identifier(name)) {
        diag_error(r->cx, loc,
                   "'%s' is not a name: a name has letters, digits and underscores, and no digit first",
                   name);
        return false;
    }
    if (expr_is_keyword(name)) {
        diag_error(r->cx, loc, "'%s' is a word of the language and cannot be a name", name);
        return false;
    }
    return true;
}

bool spec_check_unique(struct reader *r, struct names *names, const char *name, struct loc loc)
{
    const struct name_entry *first = names_add(&r->cx->arena, names, name, name, loc);

    if (!first)
        return true;
    diag_error(r->cx, loc, "the name '%s' is taken", name);
    diag_note(r->cx, first->loc, "'%s' is defined here", name);
    return false;
}

bool spec_check_unique_in_c(struct reader *r, struct names *names, const char *name, struct loc loc)
{
    const char *key = spec_upper_c_name(r->cx, name);
    const struct name_entry *first = names_add(&r->cx->arena, names, key, name, loc);

    if (!first)
        return true;
    bool same = strcmp(first->name, name) == 0;

    if (same)
        diag_error(r->cx, loc, "the name '%s' is taken", name);
    else
        diag_error(r->cx, loc, "'%s' and '%s' give one name in C, %s", first->name, name, key);
    diag_note(r->cx, first->loc, "'%s' is defined here", first->name);
    return !same;
}

bool spec_check_model_name(struct cx *cx, const char *name, struct loc loc)
{
    struct reader r = {.cx = cx};
    const char *upper = spec_upper_c_name(cx, name);

    if (is_listed(cx, c_words, name))
        diag_error(cx, loc, "the model's name is the prefix of everything in C, where '%s' is a keyword",
                   name);
    else if (!spec_check_identifier(&r, name, loc))
        return false;
    else if (strncmp(upper, "MODC", 4) == 0 && (upper[4] == 0 || upper[4] == '_'))
        diag_error(cx, loc, "the prefix '%.4s' belongs to the runtime", name);
    else if (name[0] == '_')
        diag_error(cx, loc, "the model's name is a prefix in C, where names with '_' first are reserved");
    else
        return true;
    return false;
}
