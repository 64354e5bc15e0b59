/* sarif.c - see sarif.h. Apart from diag.c, which says in which order faults come, and which.
 *
 * note [rules]
 * A rule is a message without what it is about: "Linear has no argument 'out_feature'" is one of the rule has-no-argument. So a
 * reader of logs can count and silence a kind of fault, and each new message is a new rule by itself. */
#include "base/sarif.h"

#include <ctype.h>
#include <string.h>

#include "base/names.h"

/* "%s has no argument '%s'" -> "has-no-argument" */
static const char *rule_id(struct arena *arena, const char *format)
{
    enum { MOST = 60 };
    struct text id = text_new(arena);
    bool between = false;

    for (const char *c = format; *c && id.length < MOST; c++) {
        if (*c == '%') { /* %s, %.*s, %lld, %d%% */
            c += strspn(c + 1, "-+ #0123456789.*lhzjt") + 1;
            between = true;
            if (!*c)
                break;
        } else if (isalnum((unsigned char)*c)) {
            text_printf(&id, "%s%c", between && id.length > 0 ? "-" : "", tolower((unsigned char)*c));
            between = false;
        } else {
            between = true;
        }
    }
    return id.length > 0 ? id.data : "other";
}

/* A path as a URI: relative to where modc ran, or file:///. */
static void add_uri(struct text *out, const char *path)
{
    struct text uri = text_new(out->arena);

    text_add(&uri, path[0] == '/' ? "file://" : "");
    for (const char *c = path; *c; c++) {
        if (isalnum((unsigned char)*c) || strchr("-._~/", *c))
            text_printf(&uri, "%c", *c);
        else
            text_printf(&uri, "%%%02X", (unsigned)(unsigned char)*c);
    }
    text_add(out, "{\"uri\":");
    text_json_string(out, uri.data);
    text_add(out, "}");
}

static void add_region(struct text *out, struct loc loc)
{
    text_printf(out, "{\"startLine\":%d,\"startColumn\":%d,\"endLine\":%d,\"endColumn\":%d}", loc.line,
                loc.column, loc.line, loc.column + loc.length);
}

static void add_place(struct text *out, struct loc loc)
{
    text_add(out, "\"physicalLocation\":{\"artifactLocation\":");
    add_uri(out, loc.source->name);
    text_add(out, ",\"region\":");
    add_region(out, loc);
    text_add(out, "}");
}

static void add_message(struct text *out, const char *text)
{
    text_add(out, "\"message\":{\"text\":");
    text_json_string(out, text);
    text_add(out, "}");
}

static void add_related(struct text *out, int id, struct loc loc, const char *text)
{
    text_printf(out, "%s{\"id\":%d,", id > 1 ? "," : "", id);
    add_place(out, loc);
    text_add(out, ",");
    add_message(out, text);
    text_add(out, "}");
}

/* Notes with a place, then how modc came to the file. */
static void add_all_related(struct text *out, const struct sarif_result *result)
{
    struct text list = text_new(out->arena);
    const struct source *source = result->items[0].loc.source;
    int id = 0;

    for (int i = 1; i < result->count; i++)
        if (result->items[i].level == DIAG_NOTE && result->items[i].loc.source)
            add_related(&list, ++id, result->items[i].loc, result->items[i].text);
    for (const struct loc *from = source ? source->from : NULL; from; from = from->source->from)
        add_related(&list, ++id, *from, "extended here");
    if (id > 0)
        text_printf(out, ",\"relatedLocations\":[%s]", list.data);
}

/* Whether the place of the fault is the word itself, and nothing else. */
static bool is_word(struct loc loc, const char *word)
{
    size_t length = strlen(word);

    return loc.source && (size_t)loc.length == length && loc.offset + length <= loc.source->length &&
           memcmp(loc.source->text + loc.offset, word, length) == 0;
}

static void add_fixes(struct text *out, const struct sarif_result *result)
{
    const struct loc loc = result->items[0].loc;
    bool first = true;

    for (int i = 1; i < result->count; i++) {
        const struct diag_item *hint = &result->items[i];

        if (!hint->instead || !is_word(loc, hint->word))
            continue;
        text_add(out, first ? ",\"fixes\":[{\"description\":{\"text\":" : ",{\"description\":{\"text\":");
        text_json_string(out, hint->text);
        text_add(out, "},\"artifactChanges\":[{\"artifactLocation\":");
        add_uri(out, loc.source->name);
        text_add(out, ",\"replacements\":[{\"deletedRegion\":");
        add_region(out, loc);
        text_add(out, ",\"insertedContent\":{\"text\":");
        text_json_string(out, hint->instead);
        text_add(out, "}}]}]}");
        first = false;
    }
    text_add(out, first ? "" : "]");
}

static void add_result(struct text *out, const struct sarif_result *result, const char *id, int rule)
{
    const struct diag_item *fault = &result->items[0];
    struct text message = text_new(out->arena);

    text_add(&message, fault->text);
    for (int i = 1; i < result->count; i++)
        if (result->items[i].level == DIAG_HINT || !result->items[i].loc.source)
            text_printf(&message, "\n%s: %s", result->items[i].level == DIAG_HINT ? "hint" : "note",
                        result->items[i].text);
    text_printf(out, "{\"ruleId\":\"%s\",\"ruleIndex\":%d,\"level\":\"%s\",", id, rule,
                fault->level == DIAG_ERROR     ? "error"
                : fault->level == DIAG_WARNING ? "warning"
                                               : "note");
    add_message(out, message.data);
    if (fault->loc.source) {
        text_add(out, ",\"locations\":[{");
        add_place(out, fault->loc);
        text_add(out, "}]");
    }
    add_all_related(out, result);
    add_fixes(out, result);
    text_add(out, "}");
}

void sarif_print(struct text *out, const struct sarif_result *results, int count, const char *more,
                 bool failed)
{
    struct arena *arena = out->arena;
    struct text rules = text_new(arena), list = text_new(arena);
    struct names ids = {0};

    for (int i = 0; i < count; i++) {
        const char *id = rule_id(arena, results[i].items[0].format);
        const struct name_entry *known = names_add(arena, &ids, id, id, results[i].items[0].loc);

        if (!known) {
            text_printf(&rules, "%s{\"id\":\"%s\",\"shortDescription\":{\"text\":", ids.count > 1 ? "," : "",
                        id);
            text_json_string(&rules, results[i].items[0].format);
            text_add(&rules, "}}");
        }
        text_add(&list, i > 0 ? ",\n" : "\n");
        add_result(&list, &results[i], id, known ? known->index : ids.count - 1);
    }
    text_printf(
        out,
        "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{"
        "\"tool\":{\"driver\":{\"name\":\"modc\",\"rules\":[%s]}},\"columnKind\":\"unicodeCodePoints\","
        "\"invocations\":[{\"executionSuccessful\":%s",
        rules.data ? rules.data : "", failed ? "false" : "true");
    if (more) {
        text_add(out, ",\"toolExecutionNotifications\":[{\"level\":\"note\",");
        add_message(out, more);
        text_add(out, "}]");
    }
    text_printf(out, "}],\"results\":[%s]}]}\n", list.data ? list.data : "");
}
