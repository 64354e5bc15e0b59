/* emit_tokenizer.c - a tokenizer's tables as constants of C; what they say stands in modc_tokenizer.h. */
#include "emit/emit_tokenizer.h"

#include <string.h>

#include "modc_tokenizer.h"

enum { COLUMNS = 100 }; /* where lines of numbers end */

struct printer {
    struct text *out;
    const struct tokenizer *own;
    const struct modc_tokenizer *t;
};

/* ---- arrays ------------------------------------------------------------------------------------------------- */

enum element { UINT8, UINT16, UINT32, INT32, INT64, DOUBLE };

static const char *const elements[] = {[UINT8] = "uint8_t", [UINT16] = "uint16_t", [UINT32] = "uint32_t",
                                       [INT32] = "int32_t", [INT64] = "int64_t",   [DOUBLE] = "double"};

static void print_element(struct text *line, enum element element, const void *data, int64_t i)
{
    switch (element) {
    case UINT8:
        text_printf(line, "%u", ((const uint8_t *)data)[i]);
        break;
    case UINT16:
        text_printf(line, "%u", ((const uint16_t *)data)[i]);
        break;
    case UINT32:
        text_printf(line, "%luu", (unsigned long)((const uint32_t *)data)[i]);
        break;
    case INT32:
        text_printf(line, "%ld", (long)((const int32_t *)data)[i]);
        break;
    case INT64:
        text_printf(line, "%lld", (long long)((const int64_t *)data)[i]);
        break;
    case DOUBLE:
        text_double(line, ((const double *)data)[i]);
        break;
    }
}

/* static const uint32_t starts[258] = {...}; under a comment: the first `count` of `room`. An array of nothing has one element, which
 * nobody reads. */
static void print_elements(struct printer *p, const char *name, enum element element, const void *data,
                           int64_t count, int64_t room, const char *what)
{
    struct text line = text_new(p->out->arena), word = text_new(p->out->arena);

    text_printf(p->out, "/* %s */\nstatic const %s %s[%lld] = {\n", what, elements[element], name,
                (long long)(room > 0 ? room : 1));
    for (int64_t i = 0; i < count; i++) {
        word.length = 0;
        print_element(&word, element, data, i);
        if (line.length > 0 && line.length + word.length > COLUMNS - 6) {
            text_printf(p->out, "    %s\n", line.data);
            line.length = 0;
        }
        text_printf(&line, "%s%s,", line.length > 0 ? " " : "", word.data);
    }
    text_printf(p->out, "    %s\n};\n\n", count > 0 ? line.data : "0");
}

static void print_array(struct printer *p, const char *name, enum element element, const void *data,
                        int64_t count, const char *what)
{
    print_elements(p, name, element, data, count, count, what);
}

/* Units of a trie; those at its end, of no use, are 0 without being said. */
static void print_trie(struct printer *p, const char *name, const uint32_t *units, int count,
                       const char *what)
{
    int used = count;

    while (used > 1 && units[used - 1] == 0)
        used--;
    print_elements(p, name, UINT32, units, used, count, what);
}

/* Bytes as a literal: what is not printing, or might be read otherwise, in octal. */
static void print_literal(struct text *out, const char *bytes, int count)
{
    text_add(out, "\"");
    for (int i = 0; i < count; i++) {
        const unsigned char c = (unsigned char)bytes[i];

        if (c < 0x20 || c > 0x7e || c == '"' || c == '\\' || c == '?')
            text_printf(out, "\\%03o", c);
        else
            text_printf(out, "%c", c);
    }
    text_add(out, "\"");
}

static const char *describe(struct printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const char *describe(struct printer *p, const char *format, ...)
{
    va_list args;
    const char *text;

    va_start(args, format);
    text = arena_vformat(p->out->arena, format, args);
    va_end(args);
    return text;
}

/* ---- tables ------------------------------------------------------------------------------------------------- */

static void print_tokens(struct printer *p)
{
    const struct modc_tokenizer *t = p->t;
    const int count = t->vocabulary;

    print_array(
        p, "token_bytes", UINT8, t->bytes, t->starts[count],
        describe(p, "The %d tokens, one behind the other: %u bytes.", count, (unsigned)t->starts[count]));
    print_array(p, "token_starts", UINT32, t->starts, count + 1, "Where each of them begins.");
    print_array(p, "token_flags", UINT8, t->flags, count,
                "What each of them is: MODC_TOKEN_WHOLE and so on.");
    print_trie(p, "token_trie", t->trie, t->trie_units, "The model's tokens by their bytes: a double array.");
}

static void print_model(struct printer *p)
{
    const struct modc_tokenizer *t = p->t;

    if (t->byte_ids)
        print_array(p, "byte_ids", INT32, t->byte_ids, 256, "The token of each byte.");
    if (t->joints)
        print_array(p, "joints", UINT8, t->joints, (int64_t)1 << (t->joint_bits - 3),
                    "A bit for each hash of two characters that stand beside each other in a token.");
    if (t->lefts)
        print_array(p, "merge_lefts", UINT16, t->lefts, t->vocabulary,
                    "Bytes of the left part of the merge that makes each token; 0: none does.");
    if (t->ranks)
        print_array(p, "merge_ranks", UINT32, t->ranks, t->vocabulary,
                    "The place of each of these merges in their order.");
    if (t->split_starts) {
        const uint32_t count = t->split_starts[t->vocabulary];

        print_array(p, "merge_starts", UINT32, t->split_starts, t->vocabulary + 1,
                    describe(p, "Where the merges that make each token begin: %u.", (unsigned)count));
        print_array(p, "merge_lefts", UINT16, t->split_lefts, count, "Bytes of the left part of each merge.");
        print_array(p, "merge_ranks", UINT32, t->split_ranks, count, "Its place in the order of merges.");
    }
    if (t->scores)
        print_array(p, "scores", DOUBLE, t->scores, t->vocabulary, "The score of each token.");
}

static void print_added(struct printer *p, const char *name, const struct modc_added_set *set,
                        const char *what)
{
    if (set->count == 0)
        return;
    text_printf(
        p->out,
        "/* %s: where their bytes are, how many, id, flags. */\nstatic const struct modc_added %s[%d] = {\n",
        what, name, set->count);
    for (int i = 0; i < set->count; i++) {
        const struct modc_added *added = &set->list[i];

        text_printf(p->out, "    {%lu, %lu, %ld, %u}, /* ", (unsigned long)added->at,
                    (unsigned long)added->length, (long)added->id, added->flags);
        for (uint32_t k = 0; k < added->length && k < 48; k++) {
            const char c = p->t->added_bytes[added->at + k];

            text_printf(p->out, "%c",
                        c < 0x20 || c > 0x7e || c == '*' || c == '/' || c == '\\' || c == '?' ? '.' : c);
        }
        text_add(p->out, " */\n");
    }
    text_add(p->out, "};\n\n");
}

static void print_mapping(struct printer *p, const char *name, const struct modc_mapping *mapping)
{
    const char *prefix = describe(p, "%s_", name);

    if (mapping->count == 0)
        return;
    print_array(p, describe(p, "%sfrom", prefix), UINT32, mapping->from, mapping->count,
                describe(p, "Characters that become others (%s): %d.", name, mapping->count));
    print_array(p, describe(p, "%sat", prefix), UINT16, mapping->at, mapping->count + 1,
                "Where what each becomes begins.");
    print_array(p, describe(p, "%sto", prefix), UINT32, mapping->to, mapping->at[mapping->count],
                "What they become.");
}

static void name_mapping(struct printer *p, const char *name, const struct modc_mapping *mapping)
{
    if (mapping->count > 0)
        text_printf(p->out, "    .%s = {%s_from, %s_at, %s_to, %d},\n", name, name, name, name,
                    mapping->count);
}

static void print_unicode(struct printer *p)
{
    const struct modc_unicode *unicode = p->t->unicode;

    if (!unicode)
        return;
    print_mapping(p, "canonical", &unicode->canonical);
    print_mapping(p, "compatible", &unicode->compatible);
    print_mapping(p, "lower", &unicode->lower);
    if (unicode->class_count > 0) {
        print_array(p, "class_from", UINT32, unicode->class_from, unicode->class_count,
                    "Characters that have a combining class.");
        print_array(p, "class_of", UINT8, unicode->class_of, unicode->class_count, "Which.");
    }
    if (unicode->pair_count > 0)
        print_array(p, "composed", UINT32, unicode->pairs, 3 * (int64_t)unicode->pair_count,
                    "Two characters, and the one that they make.");
    text_add(p->out, "static const struct modc_unicode unicode = {\n");
    name_mapping(p, "canonical", &unicode->canonical);
    name_mapping(p, "compatible", &unicode->compatible);
    name_mapping(p, "lower", &unicode->lower);
    if (unicode->class_count > 0)
        text_printf(p->out,
                    "    .class_from = class_from,\n    .class_of = class_of,\n    .class_count = %d,\n",
                    unicode->class_count);
    if (unicode->pair_count > 0)
        text_printf(p->out, "    .pairs = composed,\n    .pair_count = %d,\n", unicode->pair_count);
    text_add(p->out, "};\n\n");
}

/* What rows of normalisers make of ASCII, each under the number of the first. */
static void print_plain(struct printer *p)
{
    for (int i = 0; i < p->t->step_count; i++)
        if (p->t->steps[i].plain)
            print_array(p, describe(p, "plain_%d", i), UINT8, p->t->steps[i].plain, 256,
                        "What normalisers make of each byte that is a plain character.");
}

/* Maps of characters, each under the number of its step. */
static void print_charsmaps(struct printer *p)
{
    static const char *const parts[MODC_CLUSTER_PARTS] = {"CONTROL",   "EXTEND", "SPACING", "PREPEND",
                                                          "PICTURE",   "LEAD",   "VOWEL",   "TRAIL",
                                                          "CONSONANT", "LINKER"};

    for (int i = 0; i < p->t->step_count; i++) {
        const struct modc_charsmap *map = p->t->steps[i].charsmap;

        if (!map)
            continue;
        print_trie(p, describe(p, "charsmap_trie_%d", i), map->trie, map->units,
                   "What SentencePiece makes of characters: those that become others.");
        print_array(p, describe(p, "charsmap_texts_%d", i), UINT8, map->texts, map->text_bytes,
                    "What they become, each with a 0 behind.");
        text_printf(p->out,
                    "static const struct modc_charsmap charsmap_%d = {\n    .trie = charsmap_trie_%d,\n"
                    "    .texts = (const char *)charsmap_texts_%d,\n    .units = %d,\n    .text_bytes = %d,\n"
                    "    .kinds = {\n",
                    i, i, i, map->units, map->text_bytes);
        for (int k = 0; k < MODC_CLUSTER_PARTS; k++)
            text_printf(p->out, "        [MODC_CLUSTER_%s] = 0x%llxu,\n", parts[k],
                        (unsigned long long)map->kinds[k]);
        text_add(p->out, "    },\n};\n\n");
    }
}

static void print_kinds(struct printer *p)
{
    enum { PAGE = 128, PAGES = 0x110000 / PAGE };

    if (!p->t->kinds)
        return;
    print_array(p, "kinds", UINT8, p->t->kinds, (int64_t)p->own->kind_pages * PAGE,
                describe(p, "Kinds of characters, as far as its patterns tell them apart: %d pages of %d.",
                         p->own->kind_pages, PAGE));
    print_array(p, "kind_pages", UINT16, p->t->kind_pages, PAGES, "The page of each 128 characters.");
}

/* ---- the struct --------------------------------------------------------------------------------------------- */

static const char *yes(bool value)
{
    return value ? "true" : "false";
}

static void print_whole(struct printer *p, const char *name, int64_t value)
{
    if (value != 0)
        text_printf(p->out, "    .%s = %lld,\n", name, (long long)value);
}

static void print_flag(struct printer *p, const char *name, bool value)
{
    if (value)
        text_printf(p->out, "    .%s = %s,\n", name, yes(value));
}

static void print_text(struct printer *p, const char *name, const char *bytes, int count)
{
    if (!bytes)
        return;
    text_printf(p->out, "    .%s = ", name);
    print_literal(p->out, bytes, count);
    text_printf(p->out, ",\n    .%s_bytes = %d,\n", name, count);
}

static void print_nodes(struct printer *p, const struct modc_stage *stage)
{
    static const char *const ops[] = {
        [MODC_NODE_END] = "END",       [MODC_NODE_SET] = "SET",     [MODC_NODE_POSSESSIVE] = "POSSESSIVE",
        [MODC_NODE_EITHER] = "EITHER", [MODC_NODE_AHEAD] = "AHEAD", [MODC_NODE_NOT_AHEAD] = "NOT_AHEAD",
    };
    struct text *out = p->out;

    text_add(out, "         .nodes = (const struct modc_node[]){\n");
    for (int i = 0; i < stage->node_count; i++) {
        const struct modc_node *node = &stage->nodes[i];

        text_printf(out, "             {0x%llxu, %lu, %luu, %d, %d, MODC_NODE_%s},\n",
                    (unsigned long long)node->set, (unsigned long)node->least, (unsigned long)node->most,
                    node->next, node->other, ops[node->op]);
    }
    text_add(out, "         },\n         .alternatives = (const int16_t[]){");
    for (int i = 0; i < stage->alternative_count; i++)
        text_printf(out, "%s%d", i ? ", " : "", stage->alternatives[i]);
    text_add(out, "},\n         .firsts = (const uint64_t[]){\n");
    for (int i = 0; i < stage->alternative_count; i++)
        text_printf(out, "             0x%llxu,\n", (unsigned long long)stage->firsts[i]);
    text_printf(out, "         },\n         .alternative_count = %d,\n         .node_count = %d,\n",
                stage->alternative_count, stage->node_count);
}

/* A pattern that a step replaces by. */
static void print_pattern(struct printer *p, const struct modc_stage *pattern)
{
    text_add(p->out, "         .pattern = &(const struct modc_stage){\n");
    print_nodes(p, pattern);
    text_add(p->out, "         },\n");
}

static void print_step(struct printer *p, const struct modc_step *step)
{
    static const char *const kinds[] = {
        [MODC_STEP_NFC] = "NFC",
        [MODC_STEP_NFD] = "NFD",
        [MODC_STEP_NFKC] = "NFKC",
        [MODC_STEP_NFKD] = "NFKD",
        [MODC_STEP_STRIP] = "STRIP",
        [MODC_STEP_LOWERCASE] = "LOWERCASE",
        [MODC_STEP_REPLACE] = "REPLACE",
        [MODC_STEP_CLEAN] = "CLEAN",
        [MODC_STEP_STRIP_ACCENTS] = "STRIP_ACCENTS",
        [MODC_STEP_PREPEND] = "PREPEND",
        [MODC_STEP_HAN] = "HAN",
        [MODC_STEP_CHARSMAP] = "CHARSMAP",
    };
    struct text *out = p->out;

    text_printf(out, "{.kind = MODC_STEP_%s,\n         .growth = %d,\n", kinds[step->kind], step->growth);
    if (step->from) {
        text_add(out, "         .from = ");
        print_literal(out, step->from, step->from_bytes);
        text_printf(out, ",\n         .from_bytes = %d,\n", step->from_bytes);
    }
    if (step->to) {
        text_add(out, "         .to = ");
        print_literal(out, step->to, step->to_bytes);
        text_printf(out, ",\n         .to_bytes = %d,\n", step->to_bytes);
    }
    if (step->pattern)
        print_pattern(p, step->pattern);
    if (step->charsmap)
        text_printf(out, "         .charsmap = &charsmap_%d,\n", (int)(step - p->t->steps));
    if (step->plain)
        text_printf(out, "         .plain = plain_%d,\n         .plain_steps = %d,\n",
                    (int)(step - p->t->steps), step->plain_steps);
    if (step->flags)
        text_printf(out, "         .flags = %u,\n", step->flags);
    if (step->kinds)
        text_printf(out, "         .kinds = 0x%llxu,\n", (unsigned long long)step->kinds);
    if (step->more_kinds)
        text_printf(out, "         .more_kinds = 0x%llxu,\n", (unsigned long long)step->more_kinds);
    text_add(out, "        }");
}

static void print_stage(struct printer *p, const struct modc_stage *stage)
{
    static const char *const kinds[] = {"SPLIT", "SPACE", "METASPACE"};
    static const char *const behaviors[] = {"ISOLATED",      "REMOVED",   "CONTIGUOUS",
                                            "WITH_PREVIOUS", "WITH_NEXT", "KEPT"};
    static const char *const prepends[] = {"NEVER", "FIRST", "ALWAYS"};
    struct text *out = p->out;

    text_printf(out, "        {.kind = MODC_STAGE_%s,\n         .behavior = MODC_%s,\n", kinds[stage->kind],
                behaviors[stage->behavior]);
    if (stage->nodes)
        print_nodes(p, stage);
    if (stage->mark) {
        text_add(out, "         .mark = ");
        print_literal(out, stage->mark, stage->mark_bytes);
        text_printf(out, ",\n         .mark_bytes = %d,\n", stage->mark_bytes);
    }
    if (stage->kind == MODC_STAGE_METASPACE)
        text_printf(out, "         .prepend = MODC_PREPEND_%s,\n", prepends[stage->prepend]);
    text_add(out, "        },\n");
}

static void print_set(struct printer *p, const char *name, const char *list, const struct modc_added_set *set)
{
    if (set->count == 0)
        return;
    text_printf(p->out, "    .%s = {%s, %d, {", name, list, set->count);
    for (int i = 0; i < 8; i++)
        text_printf(p->out, "%s0x%lxu", i ? ", " : "", (unsigned long)set->first[i]);
    text_add(p->out, "}},\n");
}

static void print_ids(struct printer *p, const char *name, const int64_t *ids, int count)
{
    if (count == 0)
        return;
    text_printf(p->out, "    .%s = (const int64_t[]){", name);
    for (int i = 0; i < count; i++)
        text_printf(p->out, "%s%lld", i ? ", " : "", (long long)ids[i]);
    text_printf(p->out, "},\n    .%s_count = %d,\n", name, count);
}

static void print_model_members(struct printer *p)
{
    static const char *const models[] = {"MODC_BPE", "MODC_WORDPIECE", "MODC_UNIGRAM", "MODC_WORDLEVEL"};
    const struct modc_tokenizer *t = p->t;
    struct text *out = p->out;

    text_printf(
        out,
        "    .vocabulary = %d,\n    .bytes = token_bytes,\n    .starts = token_starts,\n    .flags = token_flags,\n"
        "    .trie = token_trie,\n    .trie_units = %d,\n    .longest = %d,\n    .model = %s,\n",
        t->vocabulary, t->trie_units, t->longest, models[t->model]);
    print_flag(p, "byte_level", t->byte_level);
    print_flag(p, "fuse_unknown", t->fuse_unknown);
    print_flag(p, "leaves_out", t->leaves_out);
    text_printf(out, "    .unknown = %ld,\n%s%s%s%s", (long)t->unknown,
                t->byte_ids ? "    .byte_ids = byte_ids,\n" : "",
                t->joints ? describe(p, "    .joints = joints,\n    .joint_bits = %d,\n", t->joint_bits) : "",
                t->lefts ? "    .lefts = merge_lefts,\n" : "", t->ranks ? "    .ranks = merge_ranks,\n" : "");
    if (t->split_starts)
        text_add(
            out,
            "    .split_starts = merge_starts,\n    .split_lefts = merge_lefts,\n    .split_ranks = merge_ranks,\n");
    print_text(p, "prefix", t->prefix, t->prefix_bytes);
    print_text(p, "suffix", t->suffix, t->suffix_bytes);
    print_whole(p, "most_characters", t->most_characters);
    if (t->scores) {
        text_add(out, "    .scores = scores,\n    .unknown_score = ");
        text_double(out, t->unknown_score);
        text_add(out, ",\n");
    }
}

static void print_text_members(struct printer *p)
{
    const struct modc_tokenizer *t = p->t;
    struct text *out = p->out;

    print_set(p, "added", "added", &t->added);
    print_set(p, "added_normal", "added_normal", &t->added_normal);
    if (t->added.count + t->added_normal.count > 0)
        text_add(out, "    .added_bytes = (const char *)added_bytes,\n");
    if (t->kinds)
        text_printf(
            out,
            "    .word_kinds = 0x%llxu,\n    .space_kinds = 0x%llxu,\n    .kinds = kinds,\n    .kind_pages = kind_pages,\n",
            (unsigned long long)t->word_kinds, (unsigned long long)t->space_kinds);
    if (t->stage_count > 0)
        text_add(out, "    .stages = {\n");
    for (int i = 0; i < t->stage_count; i++)
        print_stage(p, &t->stages[i]);
    if (t->stage_count > 0)
        text_printf(out, "    },\n    .stage_count = %d,\n", t->stage_count);
    if (t->step_count > 0)
        text_add(out, "    .steps = {\n");
    for (int i = 0; i < t->step_count; i++) {
        text_add(out, "        ");
        print_step(p, &t->steps[i]);
        text_add(out, ",\n");
    }
    if (t->step_count > 0)
        text_printf(out, "    },\n    .step_count = %d,\n", t->step_count);
    if (t->unicode)
        text_add(out, "    .unicode = &unicode,\n");
    print_whole(p, "letter_rate", t->letter_rate);
    print_whole(p, "workspace_rate", t->workspace_rate);
    print_whole(p, "workspace_rest", t->workspace_rest);
    print_ids(p, "before", t->before, t->before_count);
    print_ids(p, "behind", t->behind, t->behind_count);
    print_flag(p, "trims", t->trims);
    print_flag(p, "trims_prefix", t->trims_prefix);
}

static void print_decoding_members(struct printer *p)
{
    const struct modc_tokenizer *t = p->t;

    if (t->decode_replace.from_bytes > 0) {
        text_add(p->out, "    .decode_replace = ");
        print_step(p, &t->decode_replace);
        text_add(p->out, ",\n");
    }
    print_flag(p, "decode_bytes", t->decode_bytes);
    print_flag(p, "decode_byte_tokens", t->decode_byte_tokens);
    print_text(p, "decode_strip", t->decode_strip, t->decode_strip_bytes);
    print_whole(p, "decode_strip_count", t->decode_strip_count);
    print_text(p, "decode_mark", t->decode_mark, t->decode_mark_bytes);
    print_flag(p, "decode_mark_first", t->decode_mark_first);
    print_text(p, "decode_prefix", t->decode_prefix, t->decode_prefix_bytes);
    print_flag(p, "decode_cleanup", t->decode_cleanup);
    print_text(p, "decode_suffix", t->decode_suffix, t->decode_suffix_bytes);
    if (t->decode_join)
        text_add(p->out, "    .decode_join = \" \",\n");
    if (t->order)
        text_add(p->out, "    .order = &order,\n");
    text_printf(
        p->out,
        "    .decode_token_bytes = %d,\n    .bos = %lld,\n    .eos = %lld,\n    .pad = %lld,\n    .unk = %lld,\n",
        t->decode_token_bytes, (long long)t->bos, (long long)t->eos, (long long)t->pad, (long long)t->unk);
}

/* The file without its folder: the same bytes wherever it lies. */
static const char *file_name(const struct tokenizer *tokenizer)
{
    const char *slash = strrchr(tokenizer->path, '/');

    return slash ? slash + 1 : tokenizer->path;
}

static void print_order(struct printer *p)
{
    const struct modc_token_order *order = p->t->order;

    if (!order)
        return;
    print_array(p, "order_ids", UINT32, order->ids, order->count,
                "For grammars: tokens sorted by what they are behind others.");
    print_array(p, "order_shared", UINT8, order->shared, order->count,
                "Bytes that each of these shares with the one before it.");
    print_array(p, "order_more", UINT8, order->more, order->count, "How many it has behind those.");
    print_array(p, "order_bytes", UINT8, order->bytes, p->own->order_bytes, "These.");
    text_printf(
        p->out,
        "static const struct modc_token_order order = {\n    .ids = order_ids,\n    .shared = order_shared,\n"
        "    .more = order_more,\n    .bytes = order_bytes,\n    .count = %d,\n};\n\n",
        order->count);
}

static void print_tables(struct printer *p)
{
    print_tokens(p);
    print_model(p);
    print_order(p);
    if (p->own->added_bytes > 0)
        print_array(p, "added_bytes", UINT8, p->t->added_bytes, p->own->added_bytes,
                    "Tokens that are looked for in texts, one behind the other.");
    print_added(p, "added", &p->t->added, "Those that are looked for in the text as it is, sorted");
    print_added(p, "added_normal", &p->t->added_normal,
                "Those that are looked for behind normalisers, sorted");
    print_unicode(p);
    print_charsmaps(p);
    print_plain(p);
    print_kinds(p);
}

const char *emit_tokenizer_source(struct cx *cx, const char *m, const char *spec,
                                  const struct tokenizer *tokenizer)
{
    struct text out = text_new(&cx->arena);
    struct printer printer = {&out, tokenizer, tokenizer->table}, *p = &printer;

    text_printf(&out,
                "/* %s_tokenizer.c - written by modc from %s, which %s names.\n"
                " * Change these, not this file. It is yours, under any terms. */\n#include \"%s.h\"\n\n",
                m, file_name(tokenizer), spec, m);
    print_tables(p);
    text_printf(&out, "const struct modc_tokenizer %s_tokenizer = {\n    .name = ", m);
    print_literal(&out, file_name(tokenizer), (int)strlen(file_name(tokenizer)));
    text_add(&out, ",\n");
    print_model_members(p);
    print_text_members(p);
    print_decoding_members(p);
    text_add(&out, "};\n");
    return out.data;
}

void emit_tokenizer_header(struct text *out, const char *m, const char *M, const struct tokenizer *tokenizer)
{
    const struct modc_tokenizer *t = tokenizer->table;
    const struct {
        const char *name;
        int64_t id;
    } ids[] = {{"BOS", t->bos}, {"EOS", t->eos}, {"PAD", t->pad}, {"UNK", t->unk}};

    text_printf(out, "/* Text to ids of tokens and back (%s_tokenizer.c, modc_tokenizer.h): %s, %s. */\n", m,
                tokenizer->model, file_name(tokenizer));
    text_printf(out,
                "extern const struct modc_tokenizer %s_tokenizer;\n\n#define %s_TOKENIZER_VOCABULARY %d\n", m,
                M, t->vocabulary);
    for (int i = 0; i < COUNT(ids); i++)
        if (ids[i].id >= 0)
            text_printf(out, "#define %s_TOKENIZER_%s %lld\n", M, ids[i].name, (long long)ids[i].id);
    text_printf(
        out,
        "#define %s_TOKENIZER_TEXT %d /* bytes of text that a token completes at most */\n"
        "/* Of workspace, for a text of so many bytes. */\n"
        "#define %s_TOKENIZER_BYTES(bytes) ((size_t)(bytes)*%d + %d)\n\n"
        "/* %s_encode_text, %s_decode_text, %s_decoder_init, %s_token_id, %s_token_text; see modc_tokenizer.h. */\n"
        "MODC_TOKENIZER_FUNCTIONS(%s)\n\n",
        M, t->decode_token_bytes, M, t->workspace_rate, t->workspace_rest, m, m, m, m, m, m);
}
