/* request.c - reads requests; what comes from a client is checked here, before the model sees it. */
#include "request.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- faults -------------------------------------------------------------------------------------------------- */

bool fault_say(struct fault *fault, int status, const char *code, const char *param, const char *format, ...)
{
    va_list list;

    fault->status = status;
    fault->code = code;
    snprintf(fault->param, sizeof fault->param, "%s", param ? param : "");
    va_start(list, format);
    vsnprintf(fault->message, sizeof fault->message, format, list);
    va_end(list);
    return false;
}

json_t *fault_json(const struct fault *fault)
{
    const char *type = fault->status < 500 ? "invalid_request_error" : "server_error";

    return json_pack("{s:{s:s, s:s, s:s?, s:s?}}", "error", "message", fault->message, "type", type, "param",
                     fault->param[0] ? fault->param : NULL, "code", fault->code);
}

/* ---- options --------------------------------------------------------------------------------------------------- */

enum kind { NUMBER, INTEGER, FLAG, TEXT, OBJECT, ANY };
enum { COMPLETION = 1, CHAT = 2, BOTH = 3 };

struct option {
    const char *name;
    enum kind kind;
    int routes;
    double least, most;
};

static const struct option options[] = {
    {"model", TEXT, BOTH, 0, 0},
    {"prompt", ANY, COMPLETION, 0, 0},
    {"messages", ANY, CHAT, 0, 0},
    {"max_tokens", INTEGER, BOTH, 1, TALKER_CONTEXT},
    {"max_completion_tokens", INTEGER, CHAT, 1, TALKER_CONTEXT},
    {"temperature", NUMBER, BOTH, 0, 2},
    {"top_p", NUMBER, BOTH, 0, 1},
    {"n", INTEGER, BOTH, 1, MOST_CHOICES},
    {"stop", ANY, BOTH, 0, 0},
    {"seed", INTEGER, BOTH, -0x1p63, 0x1p63},
    {"presence_penalty", NUMBER, BOTH, -2, 2},
    {"frequency_penalty", NUMBER, BOTH, -2, 2},
    {"logit_bias", OBJECT, BOTH, 0, 0},
    {"echo", FLAG, COMPLETION, 0, 0},
    {"response_format", OBJECT, BOTH, 0, 0},
    {"tools", ANY, CHAT, 0, 0},
    {"tool_choice", ANY, CHAT, 0, 0},
    {"logprobs", INTEGER, COMPLETION, 0, 5},
    {"logprobs", FLAG, CHAT, 0, 0},
    {"top_logprobs", INTEGER, CHAT, 0, MODC_MAX_TOP},
    {"stream", FLAG, BOTH, 0, 0},
    {"stream_options", OBJECT, BOTH, 0, 0},
    {"user", TEXT, BOTH, 0, 0},
};

static const char *const kinds[] = {"a number", "an integer", "true or false", "a text", "an object"};

static bool is_kind(const json_t *value, enum kind kind)
{
    return kind == NUMBER    ? json_is_number(value)
           : kind == INTEGER ? json_is_integer(value)
           : kind == FLAG    ? json_is_boolean(value)
           : kind == TEXT    ? json_is_string(value)
           : kind == OBJECT  ? json_is_object(value)
                             : true;
}

static bool check_option(const char *name, const json_t *value, int route, struct fault *fault)
{
    const struct option *row = NULL;

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strcmp(options[i].name, name) == 0 && (options[i].routes & route))
            row = &options[i];
    if (!row)
        return fault_say(fault, 400, "unknown_parameter", name, "there is no option '%s' here", name);
    if (json_is_null(value))
        return true; /* as if it was not there */
    if (!is_kind(value, row->kind))
        return fault_say(fault, 400, "invalid_type", name, "'%s' is %s", name, kinds[row->kind]);
    if ((row->kind == NUMBER || row->kind == INTEGER) &&
        !(json_number_value(value) >= row->least && json_number_value(value) <= row->most))
        return fault_say(fault, 400, "invalid_value", name, "'%s' is from %g to %g", name, row->least,
                         row->most);
    return true;
}

/* NULL where it is not there, or null. */
static const json_t *get(const struct request *r, const char *name)
{
    const json_t *value = json_object_get(r->json, name);

    return json_is_null(value) ? NULL : value;
}

static bool read_stop(struct request *r, struct fault *fault)
{
    const json_t *stop = get(r, "stop");
    const size_t count = json_is_array(stop) ? json_array_size(stop) : stop ? 1 : 0;

    if (count > MOST_STOP)
        return fault_say(fault, 400, "invalid_value", "stop", "'stop' has at most %d texts", MOST_STOP);
    for (size_t i = 0; i < count; i++) {
        const json_t *text = json_is_array(stop) ? json_array_get(stop, i) : stop;

        if (!json_is_string(text))
            return fault_say(fault, 400, "invalid_type", "stop", "'stop' is a text or a list of texts");
        if (json_string_length(text) == 0 || json_string_length(text) > MODC_MAX_STOP)
            return fault_say(fault, 400, "invalid_value", "stop", "a text of 'stop' has 1 to %d bytes",
                             MODC_MAX_STOP);
        r->stop[i] = json_string_value(text);
    }
    r->options.stop = r->stop;
    r->options.stop_count = (int)count;
    return true;
}

static bool no_memory(struct fault *fault)
{
    return fault_say(fault, 503, "overloaded", NULL, "there is no memory for it");
}

/* {"42": -100, ...}: of tokens by their ids. */
static bool read_biases(struct request *r, struct fault *fault)
{
    json_t *biases = json_object_get(r->json, "logit_bias"), *value;
    const char *name;
    int count = 0;

    if (!get(r, "logit_bias") || json_object_size(biases) == 0)
        return true;
    if (json_object_size(biases) > MOST_BIASES)
        return fault_say(fault, 400, "invalid_value", "logit_bias", "'logit_bias' has at most %d tokens",
                         MOST_BIASES);
    r->biases = calloc(json_object_size(biases), sizeof *r->biases);
    r->biased = calloc(json_object_size(biases), sizeof *r->biased);
    if (!r->biases || !r->biased)
        return no_memory(fault);
    json_object_foreach(biases, name, value)
    {
        char *end;
        const long id = strtol(name, &end, 10);

        if (*name < '0' || *name > '9' || *end || id >= TALKER_TOKENIZER_VOCABULARY)
            return fault_say(fault, 400, "invalid_value", "logit_bias",
                             "names in 'logit_bias' are ids of tokens, from 0 to %d",
                             TALKER_TOKENIZER_VOCABULARY - 1);
        if (!json_is_number(value) || !(json_number_value(value) >= -100 && json_number_value(value) <= 100))
            return fault_say(fault, 400, "invalid_value", "logit_bias",
                             "values of 'logit_bias' are numbers from -100 to 100");
        r->biased[count] = id;
        r->biases[count] = (struct modc_biased){{&r->biased[count], 1}, (float)json_number_value(value)};
        count++;
    }
    r->options.sequence_bias = r->biases;
    r->options.sequence_bias_count = count;
    return true;
}

/* What is written matches a grammar of the model: that of the schema's name, whatever schema the client has under it. */
static bool read_format(struct request *r, struct fault *fault)
{
    const json_t *format = get(r, "response_format");
    const char *type = json_string_value(json_object_get(format, "type")), *name = type;
    char known[160] = "";
    size_t length = 0;

    if (!format || (type && strcmp(type, "text") == 0))
        return true;
    if (!type || (strcmp(type, "json_object") != 0 && strcmp(type, "json_schema") != 0))
        return fault_say(fault, 400, "invalid_value", "response_format",
                         "the type of 'response_format' is text, json_object or json_schema");
    if (strcmp(type, "json_schema") == 0)
        name = json_string_value(json_object_get(json_object_get(format, "json_schema"), "name"));
    if (!name)
        return fault_say(fault, 400, "invalid_type", "response_format",
                         "'json_schema' of 'response_format' is an object with a 'name'");
    r->options.grammar = modc_generation_grammar(&talker_generation, name);
    if (r->options.grammar)
        return true;
    for (int i = 0; i < talker_generation.grammar_count && length < sizeof known; i++)
        length += (size_t)snprintf(known + length, sizeof known - length, "%s%s", i ? ", " : "",
                                   talker_generation.grammars[i]->name);
    return fault_say(fault, 400, "invalid_value", "response_format",
                     "the model was built without a grammar '%.60s': it has %s", name,
                     length > 0 ? known : "none");
}

/* Chat templates of modc take turns alone. */
static bool check_tools(const struct request *r, struct fault *fault)
{
    const json_t *tools = get(r, "tools"), *choice = get(r, "tool_choice");

    if (tools && !json_is_array(tools))
        return fault_say(fault, 400, "invalid_type", "tools", "'tools' is a list of tools");
    if (json_array_size(tools) > 0)
        return fault_say(fault, 400, "unsupported_value", "tools",
                         "the model's chat template takes no tools, so it would not see them");
    if (choice && (!json_is_string(choice) || strcmp(json_string_value(choice), "none") != 0))
        return fault_say(fault, 400, "unsupported_value", "tool_choice",
                         "'tool_choice' is \"none\" here: the model's chat template takes no tools");
    return true;
}

static bool read_options(struct request *r, struct fault *fault)
{
    struct modc_option_memory memory = {r->option_lists, sizeof r->option_lists, 0};
    struct modc_generation_options *o = &r->options;
    const json_t *value;

    if (talker_options(o, &memory) != MODC_OK)
        return fault_say(fault, 500, NULL, NULL, "the model's options are wrong");
    o->include_stop_str_in_output = false;
    if ((value = get(r, "model")) && strcmp(json_string_value(value), MODEL) != 0)
        return fault_say(fault, 404, "model_not_found", "model", "there is no model '%.100s'",
                         json_string_value(value));
    if ((value = get(r, "max_tokens")) || (value = get(r, "max_completion_tokens")))
        o->max_new_tokens = (int)json_integer_value(value);
    if ((value = get(r, "temperature")))
        o->temperature = (float)json_number_value(value);
    if ((value = get(r, "top_p")) && o->temperature != 0)
        o->top_p = (float)json_number_value(value);
    if ((value = get(r, "n")))
        o->num_return_sequences = (int)json_integer_value(value);
    if ((value = get(r, "presence_penalty")))
        o->presence_penalty = (float)json_number_value(value);
    if ((value = get(r, "frequency_penalty")))
        o->frequency_penalty = (float)json_number_value(value);
    if ((value = get(r, "seed"))) {
        o->seed = (uint64_t)json_integer_value(value);
        r->is_seeded = true;
    }
    if ((value = get(r, "logprobs"))) {
        r->tells_log_probs = r->is_chat ? json_is_true(value) : true;
        r->alternatives = r->is_chat ? 0 : (int)json_integer_value(value);
    }
    if ((value = get(r, "top_logprobs"))) {
        if (!r->tells_log_probs)
            return fault_say(fault, 400, "invalid_value", "top_logprobs",
                             "'top_logprobs' needs 'logprobs': true");
        r->alternatives = (int)json_integer_value(value);
    }
    o->logprobs = r->tells_log_probs ? MODC_LOGPROBS_RESPONSE : 0;
    o->top_logprobs = r->alternatives;
    r->is_stream = json_is_true(get(r, "stream"));
    if ((value = get(r, "stream_options"))) {
        if (!r->is_stream)
            return fault_say(fault, 400, "invalid_value", "stream_options",
                             "'stream_options' needs 'stream': true");
        r->tells_usage = json_is_true(json_object_get(value, "include_usage"));
    }
    return read_stop(r, fault) && read_biases(r, fault) && read_format(r, fault) && check_tools(r, fault);
}

/* ---- prompts ---------------------------------------------------------------------------------------------------- */

static bool too_long(struct fault *fault, const char *param, int count)
{
    return fault_say(fault, 400, "context_length_exceeded", param,
                     "the model reads and writes at most %d tokens, and the prompt has %d", TALKER_CONTEXT,
                     count);
}

static bool encode(struct request *r, const char *text, size_t bytes, unsigned flags, const char *param,
                   struct fault *fault)
{
    const size_t workspace = TALKER_TOKENIZER_BYTES(bytes);
    void *block = aligned_alloc(64, (workspace + 63) / 64 * 64);
    struct modc_tokens tokens = {.ids = r->ids, .room = TALKER_CONTEXT - 1};
    enum modc_status status = block ? talker_encode_text(text, bytes, flags, &tokens, block, workspace)
                                    : MODC_MEMORY;

    free(block);
    r->count = tokens.count;
    if (status == MODC_SIZE)
        return too_long(fault, param, tokens.count);
    if (status != MODC_OK)
        return no_memory(fault);
    return tokens.count > 0 || fault_say(fault, 400, "invalid_value", param, "'%s' is empty", param);
}

static bool read_ids(struct request *r, const json_t *list, struct fault *fault)
{
    const size_t count = json_array_size(list);

    if (count == 0)
        return fault_say(fault, 400, "invalid_value", "prompt", "'prompt' is empty");
    if (count >= TALKER_CONTEXT)
        return too_long(fault, "prompt", (int)count);
    for (size_t i = 0; i < count; i++) {
        const json_t *id = json_array_get(list, i);

        if (!json_is_integer(id))
            return fault_say(fault, 400, "invalid_type", "prompt", "'prompt' is a text or a list of ids");
        if (json_integer_value(id) < 0 || json_integer_value(id) >= TALKER_TOKENIZER_VOCABULARY)
            return fault_say(fault, 400, "invalid_value", "prompt", "ids of 'prompt' are from 0 to %d",
                             TALKER_TOKENIZER_VOCABULARY - 1);
        r->ids[i] = json_integer_value(id);
    }
    r->count = (int)count;
    return true;
}

/* The prompt as the answer repeats it: as it was sent, or what its ids say. */
static bool read_echo(struct request *r, const json_t *prompt, struct fault *fault)
{
    const size_t room = json_is_string(prompt) ? json_string_length(prompt) + 1
                                               : (size_t)r->count * TALKER_TOKENIZER_TEXT + 1;

    if (!json_is_true(get(r, "echo")))
        return true;
    if (r->tells_log_probs)
        return fault_say(fault, 400, "unsupported_value", "echo",
                         "'echo' does not go with 'logprobs': those of a prompt are not computed");
    r->echo = malloc(room);
    if (!r->echo)
        return no_memory(fault);
    r->echo_bytes = room - 1;
    if (json_is_string(prompt))
        memcpy(r->echo, json_string_value(prompt), room - 1);
    else if (talker_decode_text(r->ids, r->count, MODC_KEEP_SPECIAL, r->echo, room, &r->echo_bytes) !=
             MODC_OK)
        return fault_say(fault, 500, NULL, "echo", "the prompt has no text");
    return true;
}

static bool read_prompt(struct request *r, struct fault *fault)
{
    const json_t *prompt = get(r, "prompt");

    if (!json_is_array(prompt) && !json_is_string(prompt))
        return fault_say(fault, 400, "invalid_type", "prompt", "'prompt' is a text or a list of ids");
    return (json_is_array(prompt)
                ? read_ids(r, prompt, fault)
                : encode(r, json_string_value(prompt), json_string_length(prompt), 0, "prompt", fault)) &&
           read_echo(r, prompt, fault);
}

static struct modc_text text_of(const json_t *value)
{
    return json_is_string(value) ? (struct modc_text){json_string_value(value), json_string_length(value)}
                                 : MODC_NO_TEXT;
}

/* Texts only: a text, or a list of one part of type text. */
static bool read_turn(struct modc_turn *turn, const json_t *message, struct fault *fault)
{
    const json_t *content = json_object_get(message, "content");

    if (json_array_size(content) == 1)
        content = json_object_get(json_array_get(content, 0), "text");
    *turn = (struct modc_turn){.role = text_of(json_object_get(message, "role")),
                               .content = text_of(content),
                               .name = text_of(json_object_get(message, "name"))};
    return (turn->role.data && turn->content.data) ||
           fault_say(fault, 400, "invalid_value", "messages",
                     "each of 'messages' is an object with 'role' and 'content', which are texts");
}

/* The template's text of the turns. NULL: *fault says why. */
static char *make_text(const struct modc_turn *turns, int count, size_t *bytes, struct fault *fault)
{
    const time_t seconds = time(NULL);
    struct tm local;
    struct modc_date now;
    struct modc_chat chat = {.add_generation_prompt = true, .now = &now};
    char *text = NULL;
    enum modc_status status;

    localtime_r(&seconds, &local);
    now = MODC_DATE_OF(&local);
    status = talker_chat(turns, count, &chat, NULL, 0, bytes);

    while (status == MODC_SIZE ||
           (status == MODC_WORKSPACE && chat.workspace_needed > chat.workspace_bytes)) {
        const size_t room = *bytes + 1;

        free(text);
        free(chat.workspace);
        chat.workspace_bytes = chat.workspace_needed;
        chat.workspace = malloc(chat.workspace_bytes + 1);
        text = malloc(room);
        status = text && chat.workspace ? talker_chat(turns, count, &chat, text, room, bytes) : MODC_MEMORY;
    }
    if (status == MODC_ARGUMENT)
        fault_say(fault, 400, "invalid_value", "messages", "%.*s", (int)chat.refusal.bytes,
                  chat.refusal.data);
    else if (status != MODC_OK)
        no_memory(fault);
    free(chat.workspace);
    if (status == MODC_OK)
        return text;
    free(text);
    return NULL;
}

static bool read_messages(struct request *r, struct fault *fault)
{
    const json_t *messages = get(r, "messages");
    const size_t count = json_array_size(messages);
    struct modc_turn *turns = calloc(count + 1, sizeof *turns);
    char *text = NULL;
    size_t bytes;
    bool fine = turns != NULL || no_memory(fault);

    if (fine && count == 0)
        fine = fault_say(fault, 400, "invalid_type", "messages", "'messages' is a list of messages");
    for (size_t i = 0; i < count && fine; i++)
        fine = read_turn(&turns[i], json_array_get(messages, i), fault);
    if (fine)
        fine = (text = make_text(turns, (int)count, &bytes, fault)) != NULL;
    if (fine) /* the template has its own tokens at the ends */
        fine = encode(r, text, bytes, MODC_NO_TEMPLATE, "messages", fault);
    free(turns);
    free(text);
    return fine;
}

/* ---- requests --------------------------------------------------------------------------------------------------- */

static bool make_choices(struct request *r, struct fault *fault)
{
    const int length = modc_generation_length(&r->options, r->count);

    r->most = (length < TALKER_CONTEXT ? length : TALKER_CONTEXT) - r->count;
    for (int i = 0; i < r->options.num_return_sequences; i++) {
        struct choice *c = &r->choices[i];
        const size_t most = (size_t)r->most;

        c->room = most * TALKER_TOKENIZER_TEXT + r->echo_bytes + 1;
        c->tokens = calloc(most, sizeof *c->tokens);
        c->top = calloc(most * (size_t)r->alternatives + 1, sizeof *c->top);
        c->text = malloc(c->room);
        if (!c->tokens || !c->top || !c->text)
            return no_memory(fault);
        memcpy(c->text, r->echo ? r->echo : "", r->echo_bytes);
        c->bytes = r->echo_bytes;
    }
    return true;
}

static bool read_all(struct request *r, const char *body, size_t bytes, struct fault *fault)
{
    json_error_t error;
    const char *name;
    json_t *value;

    r->json = json_loadb(body, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!r->json)
        return fault_say(fault, 400, "invalid_json", NULL, "line %d, column %d: %s", error.line, error.column,
                         error.text);
    if (!json_is_object(r->json))
        return fault_say(fault, 400, "invalid_json", NULL, "the body is an object");
    json_object_foreach(r->json, name, value) if (!check_option(name, value, r->is_chat ? CHAT : COMPLETION,
                                                                fault)) return false;
    r->ids = calloc(TALKER_CONTEXT, sizeof *r->ids);
    return (r->ids || no_memory(fault)) && read_options(r, fault) &&
           (r->is_chat ? read_messages(r, fault) : read_prompt(r, fault)) && make_choices(r, fault);
}

struct request *request_read(const char *body, size_t bytes, bool is_chat, struct fault *fault)
{
    struct request *r = calloc(1, sizeof *r);

    if (!r) {
        no_memory(fault);
        return NULL;
    }
    r->is_chat = is_chat;
    r->created = (json_int_t)time(NULL);
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->news, NULL);
    if (read_all(r, body, bytes, fault))
        return r;
    request_free(r);
    return NULL;
}

/* On the queue's worker: no allocation, nothing that waits for long. */
static int listen_to(void *user, int row, const struct modc_event *event)
{
    struct request *r = user;
    struct choice *c = &r->choices[row];

    pthread_mutex_lock(&r->mutex);
    if (event->text && c->bytes + (size_t)event->bytes <= c->room) {
        memcpy(c->text + c->bytes, event->text, (size_t)event->bytes);
        c->bytes += (size_t)event->bytes;
    }
    if (event->token >= 0 && c->count < r->most) {
        for (int i = 0; i < event->top_count && i < r->alternatives; i++)
            c->top[c->count * r->alternatives + i] = event->top[i];
        c->tokens[c->count++] = (struct written){event->token, event->log_prob, c->bytes};
    }
    if (event->finish != MODC_FINISH_NONE) {
        c->finish = event->finish;
        c->ended = true;
        r->ended++;
        if (event->finish == MODC_FINISH_FAULT)
            r->status = event->status;
    }
    pthread_cond_signal(&r->news);
    pthread_mutex_unlock(&r->mutex);
    return 0;
}

bool request_submit(struct request *r, struct modc_queue *queue, uint64_t number, struct fault *fault)
{
    const struct modc_queue_item item = {.ids = r->ids,
                                         .count = r->count,
                                         .options = &r->options,
                                         .number = r->is_seeded ? 0 : number * MOST_CHOICES,
                                         .listener = listen_to,
                                         .user = r};
    char message[200];
    enum modc_status status;

    snprintf(r->id, sizeof r->id, "%s-%llu", r->is_chat ? "chatcmpl" : "cmpl", (unsigned long long)number);
    r->queue = queue;
    status = modc_queue_submit(queue, &item, 0, &r->ticket, message, sizeof message);
    r->is_submitted = status == MODC_OK;
    if (status == MODC_FULL)
        return fault_say(fault, 503, "overloaded", NULL, "too many requests wait: try again later");
    if (status == MODC_CLOSED)
        return fault_say(fault, 503, "shutting_down", NULL, "the service ends");
    return status == MODC_OK || fault_say(fault, 400, "invalid_value", NULL, "%s",
                                          message[0] ? message : modc_status_text(status));
}

static bool has_news(const struct request *r, bool all)
{
    const int count = r->options.num_return_sequences;

    if (all || r->ended == count)
        return r->ended == count;
    for (int i = 0; i < count; i++)
        if (r->choices[i].told < r->choices[i].count || (r->choices[i].ended && !r->choices[i].closed))
            return true;
    return false;
}

bool request_wait(struct request *r, bool all)
{
    struct timespec then;
    int status = 0;
    bool there;

    clock_gettime(CLOCK_REALTIME, &then);
    then.tv_nsec += 100000000;
    then.tv_sec += then.tv_nsec / 1000000000;
    then.tv_nsec %= 1000000000;
    pthread_mutex_lock(&r->mutex);
    while (!has_news(r, all) && status == 0)
        status = pthread_cond_timedwait(&r->news, &r->mutex, &then);
    there = has_news(r, all);
    pthread_mutex_unlock(&r->mutex);
    return there;
}

void request_free(struct request *r)
{
    struct modc_queue_result result = {.queued = 0};

    if (!r)
        return;
    if (r->is_submitted) { /* until it has ended, the worker calls listen_to */
        modc_queue_cancel(r->queue, r->ticket);
        modc_queue_wait(r->queue, r->ticket, MODC_FOREVER, &result);
    }
    for (int i = 0; i < MOST_CHOICES; i++) {
        free(r->choices[i].tokens);
        free(r->choices[i].top);
        free(r->choices[i].text);
    }
    pthread_cond_destroy(&r->news);
    pthread_mutex_destroy(&r->mutex);
    json_decref(r->json);
    free(r->biases);
    free(r->biased);
    free(r->echo);
    free(r->ids);
    free(r);
}
