/* service.c - a small service with OpenAI's routes over a model of modc: HTTP by libmicrohttpd, a thread for each connection; all of them
 * share one queue, whose worker continues their prompts together.
 *
 *     service [--port N] [--queue N] [--weights FILE]      on 127.0.0.1; port 0 is one that is free
 */
#define _GNU_SOURCE /* POLLRDHUP */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "request.h"

enum { MOST_BODY = 1 << 18, CONNECTIONS = 256, IDLE = 120 /* seconds */ };

static MODC_ALIGNED char param_block[TALKER_PARAM_BYTES], packed[TALKER_PACKED_BYTES],
    workspace[TALKER_WORKSPACE_BYTES], block[TALKER_GENERATOR_BYTES];
static struct talker_params params;
static struct talker net;
static struct modc_generator gen;
static struct modc_queue *queue;

/* Requests that are not answered yet, and how many there were. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static int busy;
static uint64_t number;

/* One request of HTTP and its answer. */
struct exchange {
    struct MHD_Connection *connection;
    char *body;
    size_t bytes;
    bool too_large;
    struct request *request;
    char *piece; /* of a stream: "data: ...\n\n", of which `sent` bytes went */
    size_t piece_bytes, sent;
    bool done;
};

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static enum MHD_Result answer(struct MHD_Connection *connection, int status, struct MHD_Response *response)
{
    enum MHD_Result result;

    if (!response)
        return MHD_NO;
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    result = MHD_queue_response(connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return result;
}

/* Takes the JSON. */
static enum MHD_Result answer_json(struct MHD_Connection *connection, int status, json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    struct MHD_Response *response;

    json_decref(json);
    if (!text)
        return MHD_NO;
    response = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (response)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    return answer(connection, status, response);
}

static enum MHD_Result answer_fault(struct MHD_Connection *connection, const struct fault *fault)
{
    return answer_json(connection, fault->status, fault_json(fault));
}

/* Nobody will read the answer. */
static bool is_gone(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection,
                                                                   MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd of = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};

    return poll(&of, 1, 0) > 0 && (of.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

/* Server-sent events, as the model writes. */
static ssize_t read_stream(void *user, uint64_t position, char *out, size_t most)
{
    struct exchange *e = user;
    size_t bytes;

    (void)position;
    if (e->sent == e->piece_bytes) {
        json_t *piece = NULL;
        char *text;

        free(e->piece);
        e->piece = NULL;
        e->sent = e->piece_bytes = 0;
        if (e->done)
            return MHD_CONTENT_READER_END_OF_STREAM;
        while (!(piece = request_piece(e->request, &e->done)) && !e->done)
            if (!request_wait(e->request, false) && is_gone(e->connection))
                return MHD_CONTENT_READER_END_WITH_ERROR;
        text = piece ? json_dumps(piece, JSON_COMPACT) : strdup("[DONE]");
        json_decref(piece);
        if (!text || asprintf(&e->piece, "data: %s\n\n", text) < 0)
            e->piece = NULL;
        free(text);
        if (!e->piece)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        e->piece_bytes = strlen(e->piece);
    }
    bytes = e->piece_bytes - e->sent < most ? e->piece_bytes - e->sent : most;
    memcpy(out, e->piece + e->sent, bytes);
    e->sent += bytes;
    return (ssize_t)bytes;
}

static enum MHD_Result complete(struct exchange *e, bool is_chat)
{
    struct fault fault;
    json_t *json;

    e->request = request_read(e->body ? e->body : "", e->bytes, is_chat, &fault);
    pthread_mutex_lock(&mutex);
    const uint64_t own = ++number;

    pthread_mutex_unlock(&mutex);
    if (!e->request || !request_submit(e->request, queue, own, &fault))
        return answer_fault(e->connection, &fault);
    if (e->request->is_stream) {
        struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1 << 14,
                                                                          read_stream, e, NULL);

        if (response) {
            MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
            MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
        }
        return answer(e->connection, MHD_HTTP_OK, response);
    }
    while (!request_wait(e->request, true))
        if (is_gone(e->connection)) {
            fault_say(&fault, 499, NULL, NULL, "nobody reads this"); /* when it was sent, the request ends */
            return answer_fault(e->connection, &fault);
        }
    json = request_answer(e->request, &fault);
    return json ? answer_json(e->connection, MHD_HTTP_OK, json) : answer_fault(e->connection, &fault);
}

/* ---- routes ------------------------------------------------------------------------------------------------------- */

static json_t *model_json(void)
{
    return json_pack("{s:s, s:s, s:i, s:s}", "id", MODEL, "object", "model", "created", 0, "owned_by",
                     "modc");
}

static enum MHD_Result health(struct exchange *e)
{
    struct modc_queue_state state;

    modc_queue_get_state(queue, &state);
    return answer_json(e->connection, state.batching_enabled ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                       json_pack("{s:s, s:i, s:i, s:I, s:I}", "status",
                                 state.batching_enabled ? "ok" : "ends", "running", state.running, "waiting",
                                 state.queue_size, "calls", (json_int_t)state.calls, "tokens",
                                 (json_int_t)state.tokens));
}

static enum MHD_Result models(struct exchange *e)
{
    return answer_json(e->connection, MHD_HTTP_OK,
                       json_pack("{s:s, s:[o]}", "object", "list", "data", model_json()));
}

static enum MHD_Result model(struct exchange *e)
{
    return answer_json(e->connection, MHD_HTTP_OK, model_json());
}

static enum MHD_Result completions(struct exchange *e)
{
    return complete(e, false);
}

static enum MHD_Result chat_completions(struct exchange *e)
{
    return complete(e, true);
}

static const struct route {
    const char *method, *url;
    enum MHD_Result (*call)(struct exchange *e);
} routes[] = {
    {"GET", "/health", health},
    {"GET", "/v1/models", models},
    {"GET", "/v1/models/" MODEL, model},
    {"POST", "/v1/completions", completions},
    {"POST", "/v1/chat/completions", chat_completions},
};

static enum MHD_Result find_route(struct exchange *e, const char *method, const char *url)
{
    struct fault fault;
    const struct route *found = NULL;

    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
        if (strcmp(routes[i].url, url) == 0)
            found = &routes[i];
    if (!found)
        fault_say(&fault, MHD_HTTP_NOT_FOUND, "not_found", NULL, "there is no '%.100s'", url);
    else if (strcmp(found->method, method) != 0)
        fault_say(&fault, MHD_HTTP_METHOD_NOT_ALLOWED, NULL, NULL, "'%s' takes %s", url, found->method);
    else if (e->too_large)
        fault_say(&fault, MHD_HTTP_CONTENT_TOO_LARGE, NULL, NULL, "a body has at most %d bytes", MOST_BODY);
    else
        return found->call(e);
    return answer_fault(e->connection, &fault);
}

/* libmicrohttpd calls it when the headers are there, with each part of the body, and at its end. */
static enum MHD_Result serve(void *user, struct MHD_Connection *connection, const char *url,
                             const char *method, const char *version, const char *data, size_t *bytes,
                             void **own)
{
    struct exchange *e = *own;

    (void)user;
    (void)version;
    if (!e) {
        *own = e = calloc(1, sizeof *e);
        if (!e)
            return MHD_NO;
        e->connection = connection;
        pthread_mutex_lock(&mutex);
        busy++;
        pthread_mutex_unlock(&mutex);
        return MHD_YES;
    }
    if (*bytes == 0)
        return find_route(e, method, url);
    if (!e->body)
        e->body = malloc(MOST_BODY);
    if (!e->body)
        return MHD_NO;
    e->too_large |= *bytes > MOST_BODY - e->bytes; /* the rest is read, and left out */
    if (!e->too_large) {
        memcpy(e->body + e->bytes, data, *bytes);
        e->bytes += *bytes;
    }
    *bytes = 0;
    return MHD_YES;
}

static void finish(void *user, struct MHD_Connection *connection, void **own,
                   enum MHD_RequestTerminationCode code)
{
    struct exchange *e = *own;

    (void)user;
    (void)connection;
    (void)code;
    if (!e)
        return;
    request_free(e->request); /* cancels what nobody waits for */
    free(e->piece);
    free(e->body);
    free(e);
    *own = NULL;
    pthread_mutex_lock(&mutex);
    busy--;
    pthread_cond_signal(&idle);
    pthread_mutex_unlock(&mutex);
}

/* ---- the program --------------------------------------------------------------------------------------------------- */

static enum modc_status start_model(const char *weights, int waiting)
{
    struct modc_queue_settings settings;

    MODC_TRY(talker_bind(&params, param_block, sizeof param_block));
    MODC_TRY(weights ? talker_load(&params, weights, MODC_STRICT, NULL) : talker_reset(&params, 1));
    MODC_TRY(talker_pack(&params, packed, sizeof packed));
    MODC_TRY(talker_init(&net, &params, workspace, sizeof workspace));
    MODC_TRY(talker_generator_init(&gen, &net, block, sizeof block));
    modc_queue_defaults(&settings);
    settings.max_queue = waiting;
    settings.max_return_sequences = MOST_CHOICES;
    MODC_TRY(modc_queue_create(&gen, &settings, NULL, 0, &queue));
    return modc_queue_start(queue);
}

static int fail(const char *what)
{
    fprintf(stderr, "service: %s\n", what);
    return 1;
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *weights = NULL;
    int port = 8080, waiting = 64, got;
    struct MHD_Daemon *daemon;
    enum modc_status status;
    sigset_t ends;

    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && strcmp(argv[i], "--port") == 0)
            port = atoi(argv[i + 1]);
        else if (i + 1 < argc && strcmp(argv[i], "--queue") == 0)
            waiting = atoi(argv[i + 1]);
        else if (i + 1 < argc && strcmp(argv[i], "--weights") == 0)
            weights = argv[i + 1];
        else
            return fail("it takes --port N, --queue N and --weights FILE");
    }
    address.sin_port = htons((uint16_t)port);

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* in all threads that begin now, too */
    status = start_model(weights, waiting);
    if (status != MODC_OK)
        return fail(modc_status_text(status));
    daemon = MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
                                  MHD_USE_ITC | MHD_USE_ERROR_LOG,
                              0, NULL, NULL, serve, NULL, MHD_OPTION_SOCK_ADDR, &address,
                              MHD_OPTION_NOTIFY_COMPLETED, finish, NULL, MHD_OPTION_CONNECTION_LIMIT,
                              (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE,
                              MHD_OPTION_END);
    if (!daemon)
        return fail("it cannot listen there");
    printf("listening on http://127.0.0.1:%d\n",
           (int)MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);

    sigwait(&ends, &got);
    printf("ending\n");
    close(MHD_quiesce_daemon(daemon)); /* nobody connects any more */
    modc_queue_shutdown(queue, true);  /* what is there is written to its end, more is refused */
    pthread_mutex_lock(&mutex);
    while (busy > 0)
        pthread_cond_wait(&idle, &mutex);
    pthread_mutex_unlock(&mutex);
    MHD_stop_daemon(daemon);
    modc_queue_destroy(queue);
    printf("ended\n");
    return 0;
}
