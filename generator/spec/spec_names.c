/* spec_names.c - what may be a name in a spec. Apart from the keys, since every section has names. */
#include "spec/spec_reader.h"

#include <string.h>

#include "base/c_names.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
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
    const char *key = emitted_upper(r->cx, name);
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
    const char *upper = emitted_upper(cx, name);

    if (emitted_reserved(name))
        diag_error(cx, loc, "the model's name is the prefix of everything in C, where '%s' is a %s", name,
                   c_is_keyword(name) ? "keyword"
                   : c_is_type(name)  ? "type"
                                      : "macro, or reserved for one");
    else if (c_is_header(name))
        diag_error(cx, loc, "the model's name is that of its header, and '%s.h' is one of C or of the system",
                   name);
    else if (c_is_library(name))
        diag_error(
            cx, loc,
            "the model's name is the prefix of everything in C, where functions of the library begin with '%s_'",
            name);
    else if (!spec_check_identifier(&r, name, loc))
        return false;
    else if (strncmp(upper, "MODC", 4) == 0 && (upper[4] == 0 || upper[4] == '_'))
        diag_error(cx, loc, "the prefix '%.4s' belongs to the runtime", name);
    else if (name[0] == '_')
        diag_error(cx, loc, "the model's name is a prefix in C, where names with '_' first are reserved");
    else
        return true;
    if (name[0] != '_' && strncmp(upper, "MODC", 4) != 0)
        diag_hint(cx, "another name does, as %s_net", name);
    return false;
}
