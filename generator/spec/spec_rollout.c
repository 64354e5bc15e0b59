/* spec_rollout.c - the section `rollout:`: records, which may nest, beside a few settings. */
#include "spec/spec_reader.h"

#include <stddef.h>
#include <string.h>

#include "base/emitted.h"

static bool is_in_mapping(const struct node *node, const char *name)
{
    for (int i = 0; i < node->count; i++)
        if (strcmp(node->keys[i]->value, name) == 0)
            return true;
    return false;
}

/* The parts of a dotted key are names, which are members of structs in C. */
static bool check_record_key(struct reader *r, const char *text, struct loc loc)
{
    for (;; text++) {
        size_t length = strcspn(text, ".");

        if (!spec_check_identifier(r, arena_copy(&r->cx->arena, text, length), loc))
            return false;
        text += length;
        if (!*text)
            return true;
    }
}

/* A shape, or {shape, dtype}; what else is a mapping has records whose keys begin with this one. */
static void read_record(struct reader *r, const char *path, const struct node *key, const struct node *node)
{
    struct spec_record record = {.key = path, .loc = key->loc};

    if (node->kind == NODE_MAP && !is_in_mapping(node, "shape")) {
        for (int i = 0; i < node->count; i++)
            read_record(r, arena_format(&r->cx->arena, "%s.%s", path, node->keys[i]->value), node->keys[i],
                        node->items[i]);
        if (node->count == 0)
            diag_error(r->cx, key->loc, "'%s' records nothing", path);
        return;
    }
    if (!check_record_key(r, key->value, key->loc))
        return;
    if (node->kind == NODE_MAP) {
        for (int i = 0; i < node->count; i++) {
            const struct node *part = node->keys[i];

            if (strcmp(part->value, "shape") == 0)
                record.shape = spec_read_shape(r, part, node->items[i]);
            else if (strcmp(part->value, "dtype") == 0)
                record.dtype = spec_read_dtype_expr(r, part, node->items[i]);
            else
                spec_unknown_key(r, part, "a record", SPEC_IN_RECORD);
        }
    } else if (node_is_empty(node)) {
        spec_wrong_kind(r, key, node, "the shape of a step, as [4]; [] is one number");
    } else {
        record.shape = spec_read_shape(r, key, node);
    }
    if (!record.shape)
        record.shape = spec_bad_expr(r, node);
    ARENA_PUSH(&r->cx->arena, r->spec->rollout->records, r->spec->rollout->record_count, record);
}

/* next and next.reward cannot both be records. */
static void check_records(struct reader *r, const struct spec_rollout *rollout)
{
    struct names names = {0};

    for (int i = 0; i < rollout->record_count; i++) {
        const struct spec_record *record = &rollout->records[i];

        if (!spec_check_unique_in_c(r, &names, emitted_flat(r->cx, record->key), record->loc))
            continue;
        for (int j = 0; j < rollout->record_count; j++) {
            size_t length = strlen(record->key);

            if (strncmp(record->key, rollout->records[j].key, length) == 0 &&
                rollout->records[j].key[length] == '.') {
                diag_error(r->cx, record->loc, "'%s' is a record, and has records below it", record->key);
                diag_note(r->cx, rollout->records[j].loc, "'%s' is one", rollout->records[j].key);
                break;
            }
        }
    }
}

const struct spec_rollout_setting spec_rollout_settings[] = {
    {"multi_step", offsetof(struct spec_rollout, multi_step), true},
    {"reward_keys", offsetof(struct spec_rollout, rewards), false},
    {"done_key", offsetof(struct spec_rollout, done), true},
    {"mask_key", offsetof(struct spec_rollout, mask), true},
    {"info", offsetof(struct spec_rollout, info), false},
    {NULL, 0, false},
};

const struct spec_patterns *spec_rollout_keys(const struct spec_rollout *rollout,
                                              const struct spec_rollout_setting *setting)
{
    return (const struct spec_patterns *)(const void *)((const char *)rollout + setting->at);
}

/* What is no shape, behind a word that is nearly a setting. */
static bool is_setting_misspelt(struct reader *r, const struct node *key, const struct node *node)
{
    const char **known = NULL;
    int count = 0;

    for (const struct spec_rollout_setting *setting = spec_rollout_settings; setting->name; setting++)
        ARENA_PUSH(&r->cx->arena, known, count, setting->name);
    if (node->kind != NODE_SCALAR || node_is_empty(node) || strchr("[(", node->value[0]) ||
        !diag_nearest(key->value, known, count))
        return false;
    diag_error(r->cx, key->loc, "'rollout' has no key '%s', and '%s' is no shape of a record", key->value,
               node->value);
    diag_hint_nearest(r->cx, key->value, known, count);
    return true;
}

void spec_read_rollout(struct reader *r, const struct node *key, const struct node *node)
{
    struct spec_rollout *rollout = ARENA_NEW(&r->cx->arena, struct spec_rollout);

    if (!spec_is_mapping(r, key, node, "a mapping of keys to the shapes of a step"))
        return;
    rollout->loc = key->loc;
    r->spec->rollout = rollout;
    for (int i = 0; i < node->count; i++) {
        const struct node *part = node->keys[i];
        const struct spec_rollout_setting *setting = spec_rollout_settings;

        while (setting->name && strcmp(setting->name, part->value) != 0)
            setting++;
        if (!setting->name) {
            if (!is_setting_misspelt(r, part, node->items[i]))
                read_record(r, part->value, part, node->items[i]);
        } else if (!setting->one || spec_read_text(r, part, node->items[i], "one key")) {
            spec_read_texts(r, part, node->items[i], "a key or a list of them",
                            (struct spec_patterns *)(void *)((char *)rollout + setting->at));
        }
    }
    check_records(r, rollout);
    if (rollout->record_count == 0 && r->complete && !diag_said(r->cx, key->loc))
        diag_error(r->cx, key->loc, "'rollout' records nothing");
}
