/* chat.c - the files of a chat template: Jinja, or JSON that holds it, and what says which texts special tokens are. */
#include "template/chat_parts.h"

#include <string.h>

#include "base/json.h"
#include "modc_tokenizer.h"
#include "tokenizer/tokenizer.h"

const char *const chat_special_names[CHAT_SPECIALS] = {"bos_token", "eos_token", "pad_token", "unk_token",
                                                       "sep_token", "cls_token", "mask_token"};

/* A text, or {content: text}; null: there is none. */
static void read_special(const struct json *token, struct chat_special *special)
{
    if (token->kind == JSON_NULL) {
        special->state = CHAT_SPECIAL_NONE;
        return;
    }
    if (token->kind == JSON_OBJECT)
        token = json_member(token, "content");
    if (token && token->kind == JSON_STRING)
        *special = (struct chat_special){CHAT_SPECIAL_TEXT, token->text, token->bytes};
}

/* Those that nothing said before. */
static void read_specials(const struct json *config, struct chat_special *special)
{
    for (int i = 0; config->kind == JSON_OBJECT && i < config->count; i++)
        for (int k = 0; k < CHAT_SPECIALS; k++)
            if (special[k].state == CHAT_SPECIAL_UNKNOWN &&
                json_is_text(&config->keys[i], chat_special_names[k]))
                read_special(&config->items[i], &special[k]);
}

/* What the tokenizer itself says. */
static void ask_tokenizer(const struct tokenizer *tokens, struct chat_special *special)
{
    const struct modc_tokenizer *t = tokens->table;
    const int64_t ids[] = {t->bos, t->eos, t->pad, t->unk};

    for (int i = 0; i < COUNT(ids); i++) {
        size_t bytes;
        const char *text = ids[i] < 0 ? NULL : modc_token_text(t, ids[i], &bytes);

        if (text && special[i].state == CHAT_SPECIAL_UNKNOWN)
            special[i] = (struct chat_special){CHAT_SPECIAL_TEXT, text, bytes};
    }
}

/* The tokenizer_config.json beside the template, which need not be there. */
static bool read_config(struct cx *cx, const struct source *source, struct chat_special *special)
{
    const char *path = source_beside(cx, source, "tokenizer_config.json"), *error = NULL;
    FILE *file = fopen(path, "rb");
    const struct source *text;
    const struct json *config;

    if (!file)
        return true;
    fclose(file);
    source_depend(cx, path);
    text = source_read(cx, path, CHAT_MAX_BYTES, &error);
    config = text ? json_read(cx, text) : NULL;
    if (config)
        read_specials(config, special);
    return config || !text;
}

/* The template of a JSON file: its chat_template, or of a list of them the one whose name is default. */
static const struct json *find_template(struct cx *cx, const struct source *source, const struct json *root)
{
    const struct json *member = json_member(root, "chat_template"), *found = member;

    if (!member) {
        diag_error(cx, diag_loc(cx, source, root->at, 1), "it has no chat_template");
        return NULL;
    }
    for (int i = 0; member->kind == JSON_LIST && i < member->count; i++) {
        const struct json *name = json_member(&member->items[i], "name");

        if (name && json_is_text(name, "default"))
            found = json_member(&member->items[i], "template");
    }
    if (found && found->kind == JSON_STRING)
        return found;
    diag_error(cx, diag_loc(cx, source, member->at, 1),
               "chat_template is a text, or a list of {name, template} with the name 'default' among them");
    return NULL;
}

/* A template in a file of JSON is a source of its own: its lines are those of the text. */
static const struct source *source_of(struct cx *cx, const struct source *file, const struct json *text)
{
    struct source *source = ARENA_NEW(&cx->arena, struct source);

    *source = (struct source){.name = arena_format(&cx->arena, "%s(chat_template)", file->name),
                              .text = text->text,
                              .length = text->bytes};
    return source;
}

const struct chat *chat_of_source(struct cx *cx, const struct source *source, const struct tokenizer *tokens)
{
    struct chat_special special[CHAT_SPECIALS] = {0};
    struct chat_statements statements = {0};
    struct chat_reader r = {.cx = cx, .source = source};
    struct chat *chat;
    const struct json *root, *text;

    if (text_ends_with(source->name, ".json")) {
        root = json_read(cx, source);
        text = root ? find_template(cx, source, root) : NULL;
        if (!text)
            return NULL;
        read_specials(root, special);
        r.source = source_of(cx, source, text);
    }
    if (!read_config(cx, source, special))
        return NULL;
    if (tokens)
        ask_tokenizer(tokens, special);
    if (!chat_lex(&r) || !chat_parse(&r, &statements))
        return NULL;
    chat = chat_lower(&r, &statements, special);
    if (chat) {
        chat->path = source->name;
        chat->hash = text_hash(source->text, source->length);
    }
    return chat;
}

const struct chat *chat_read(struct cx *cx, struct loc loc, const char *path, const struct tokenizer *tokens)
{
    const char *error = NULL;
    const struct source *source;

    source_depend(cx, path);
    source = source_read(cx, path, CHAT_MAX_BYTES, &error);
    if (source)
        return chat_of_source(cx, source, tokens);
    cx->unreadable = true;
    diag_error(cx, loc, "%s", error);
    return NULL;
}
