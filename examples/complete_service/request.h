/* request.h - a request for a completion: what its JSON asks for, what the model has written so far, and that as JSON. Nothing here
 * knows HTTP. The names are those of OpenAI's API. */
#ifndef REQUEST_H
#define REQUEST_H

#include <jansson.h>
#include <pthread.h>

#include "modc_queue.h"
#include "talker.h"

#define MODEL "talker"

enum { MOST_CHOICES = 8, MOST_STOP = 4, MOST_BIASES = 300 };

/* Why there is no answer, as the error object says it. */
struct fault {
    int status; /* of HTTP */
    const char *code;
    char param[64], message[300];
};

/* Returns false. param: the option, or NULL. */
bool fault_say(struct fault *fault, int status, const char *code, const char *param, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
json_t *fault_json(const struct fault *fault);

struct written {
    int64_t id;
    float log_prob;
    size_t end; /* of the text that it completes */
};

/* What a sequence wrote. The worker of the queue adds to it; `told` and `told_bytes` are the reader's. */
struct choice {
    struct written *tokens;
    struct modc_alternative *top; /* `alternatives` for each token */
    char *text;
    size_t bytes, room, told_bytes;
    int count, told;
    bool ended, introduced, closed; /* introduced, closed: its first and last piece were told */
    enum modc_finish finish;
};

struct request {
    bool is_chat, is_stream, tells_usage, tells_log_probs, is_seeded;
    int alternatives; /* of each token, with log-probabilities */
    char id[48];
    json_int_t created;
    json_t *json; /* whose texts `stop` points to */
    const char *stop[MOST_STOP];
    struct modc_biased *biases; /* `logit_bias` */
    int64_t *biased;            /* their tokens */
    char *echo;                 /* the prompt's text, which the answer begins with; NULL: it does not */
    size_t echo_bytes;
    struct modc_generation_options options;
    int64_t option_lists[8];
    int64_t *ids; /* the prompt */
    int count, most;
    struct modc_queue *queue;
    uint64_t ticket;
    bool is_submitted;
    pthread_mutex_t mutex;
    pthread_cond_t news;
    int ended; /* choices */
    enum modc_status status;
    struct choice choices[MOST_CHOICES];
};

/* NULL: *fault says why. */
struct request *request_read(const char *body, size_t bytes, bool is_chat, struct fault *fault);

/* From now on the queue's worker writes it. number: for random numbers, where the request has no seed. */
bool request_submit(struct request *request, struct modc_queue *queue, uint64_t number, struct fault *fault);

/* Waits until there is more than was told, or (all) until all of it is there. False: not within a tenth of a second. */
bool request_wait(struct request *request, bool all);

/* The whole answer. NULL: the model failed. */
json_t *request_answer(struct request *request, struct fault *fault);

/* The next piece of a stream that is not told yet; NULL: there is none now. *done: there will be none. */
json_t *request_piece(struct request *request, bool *done);

/* Ends it in the queue, too. NULL is allowed. */
void request_free(struct request *request);

#endif
