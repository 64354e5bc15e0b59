/* answer.c - what the model wrote as JSON: whole answers, and the pieces of streams. */
#include <string.h>

#include "request.h"

/* A token's own text, which may be half a character: as it can be shown, and its bytes. */
static json_t *token_text(int64_t id, json_t **numbers)
{
    char text[TALKER_TOKENIZER_TEXT + 16];
    size_t bytes = 0;

    if (numbers) {
        *numbers = json_array();
        talker_decode_text(&id, 1, MODC_KEEP_SPECIAL | MODC_RAW_BYTES, text, sizeof text, &bytes);
        for (size_t i = 0; i < bytes && i < sizeof text; i++)
            json_array_append_new(*numbers, json_integer((unsigned char)text[i]));
    }
    bytes = 0;
    talker_decode_text(&id, 1, MODC_KEEP_SPECIAL, text, sizeof text, &bytes);
    return json_stringn(text, bytes < sizeof text ? bytes : sizeof text);
}

static json_t *chat_token(int64_t id, float log_prob)
{
    json_t *bytes, *text = token_text(id, &bytes);

    return json_pack("{s:o, s:f, s:o}", "token", text, "logprob", (double)log_prob, "bytes", bytes);
}

static json_t *chat_log_probs(const struct request *r, const struct choice *c, int from, int until)
{
    json_t *content = json_array();

    for (int i = from; i < until; i++) {
        json_t *token = chat_token(c->tokens[i].id, c->tokens[i].log_prob), *top = json_array();

        for (int k = 0; k < r->alternatives; k++) {
            const struct modc_alternative *other = &c->top[i * r->alternatives + k];

            if (other->id >= 0)
                json_array_append_new(top, chat_token(other->id, other->log_prob));
        }
        json_object_set_new(token, "top_logprobs", top);
        json_array_append_new(content, token);
    }
    return json_pack("{s:o}", "content", content);
}

static int characters(const char *text, size_t bytes)
{
    int count = 0;

    for (size_t i = 0; i < bytes; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static json_t *completion_log_probs(const struct request *r, const struct choice *c, int from, int until)
{
    json_t *tokens = json_array(), *values = json_array(), *tops = json_array(), *offsets = json_array();

    for (int i = from; i < until; i++) {
        json_t *top = json_object();

        for (int k = 0; k < r->alternatives; k++) {
            const struct modc_alternative *other = &c->top[i * r->alternatives + k];
            json_t *text = token_text(other->id, NULL);

            if (other->id >= 0 &&
                !json_object_get(top, json_string_value(text))) /* halves of characters are alike */
                json_object_set_new(top, json_string_value(text), json_real((double)other->log_prob));
            json_decref(text);
        }
        json_array_append_new(tokens, token_text(c->tokens[i].id, NULL));
        json_array_append_new(values, json_real((double)c->tokens[i].log_prob));
        json_array_append_new(tops, top);
        json_array_append_new(offsets, json_integer(characters(c->text, i > 0 ? c->tokens[i - 1].end : 0)));
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "tokens", tokens, "token_logprobs", values, "top_logprobs", tops,
                     "text_offset", offsets);
}

static const char *finish_reason(const struct choice *c)
{
    return !c->ended                       ? NULL
           : c->finish == MODC_FINISH_EOS  ? "stop"
           : c->finish == MODC_FINISH_STOP ? "stop"
           : c->finish == MODC_FINISH_USER ? "abort"
                                           : "length";
}

/* Tokens that have text: an EOS has none, and is no part of the answer. */
static int shown(const struct choice *c)
{
    return c->count - (c->ended && c->finish == MODC_FINISH_EOS && c->count > 0);
}

/* Of one choice what was not told yet, which is told then. */
static json_t *choice_json(const struct request *r, int index, struct choice *c)
{
    const int until = shown(c);
    const char *message = r->is_stream ? "delta" : "message";
    json_t *log_probs = r->tells_log_probs && until > c->told
                            ? (r->is_chat ? chat_log_probs : completion_log_probs)(r, c, c->told, until)
                            : json_null();
    json_t *text = json_stringn(c->text + c->told_bytes, c->bytes - c->told_bytes), *choice;

    if (!r->is_chat)
        choice = json_pack("{s:i, s:o, s:o, s:s?}", "index", index, "text", text, "logprobs", log_probs,
                           "finish_reason", finish_reason(c));
    else
        choice = json_pack("{s:i, s:{s:s*, s:o}, s:o, s:s?}", "index", index, message, "role",
                           c->introduced ? NULL : "assistant", "content", text, "logprobs", log_probs,
                           "finish_reason", finish_reason(c));
    c->introduced = true;
    c->told = c->count;
    c->told_bytes = c->bytes;
    c->closed = c->ended;
    return choice;
}

static json_t *usage_json(const struct request *r)
{
    int count = 0;

    for (int i = 0; i < r->options.num_return_sequences; i++)
        count += r->choices[i].count;
    return json_pack("{s:i, s:i, s:i}", "prompt_tokens", r->count, "completion_tokens", count, "total_tokens",
                     r->count + count);
}

static json_t *envelope(const struct request *r, json_t *choices, json_t *usage)
{
    const char *object = !r->is_chat    ? "text_completion"
                         : r->is_stream ? "chat.completion.chunk"
                                        : "chat.completion";

    return json_pack("{s:s, s:s, s:I, s:s, s:o, s:o*}", "id", r->id, "object", object, "created", r->created,
                     "model", MODEL, "choices", choices, "usage", usage);
}

json_t *request_answer(struct request *r, struct fault *fault)
{
    json_t *choices = json_array(), *answer = NULL;

    pthread_mutex_lock(&r->mutex);
    if (r->status != MODC_OK)
        fault_say(fault, 500, NULL, NULL, "the model failed: %s", modc_status_text(r->status));
    for (int i = 0; i < r->options.num_return_sequences && r->status == MODC_OK; i++)
        json_array_append_new(choices, choice_json(r, i, &r->choices[i]));
    if (r->status == MODC_OK)
        answer = envelope(r, json_incref(choices), usage_json(r));
    pthread_mutex_unlock(&r->mutex);
    json_decref(choices);
    return answer;
}

/* Text that has come, or the end. Tokens whose text is held back wait for it. */
static bool has_piece(const struct request *r, const struct choice *c)
{
    return c->bytes > c->told_bytes || (c->ended && !c->closed) || (r->tells_log_probs && c->count > c->told);
}

json_t *request_piece(struct request *r, bool *done)
{
    const int count = r->options.num_return_sequences;
    json_t *piece = NULL;

    pthread_mutex_lock(&r->mutex);
    *done = r->ended == count;
    for (int i = 0; i < count && !piece; i++) {
        struct choice *c = &r->choices[i];

        if (c->finish == MODC_FINISH_FAULT && !c->closed) {
            struct fault fault;

            c->closed = true;
            fault_say(&fault, 500, NULL, NULL, "the model failed: %s", modc_status_text(r->status));
            piece = fault_json(&fault);
        } else if (has_piece(r, c)) {
            piece = envelope(r, json_pack("[o]", choice_json(r, i, c)), NULL);
        } else {
            c->told = c->count;
        }
    }
    if (!piece && *done && r->tells_usage) {
        piece = envelope(r, json_array(), usage_json(r));
        r->tells_usage = false;
    }
    if (piece)
        *done = false;
    pthread_mutex_unlock(&r->mutex);
    return piece;
}
