/* peer_ort.c - ONNX Runtime as a peer, through its C API.
 *
 * The Python package has the library and no header. Its API is a table of functions, to whose end alone new ones are
 * added, so a function is a number; ORT_SLOTS below are those that are needed. peer_ort_open fails where the library does
 * not know that version of the table, and common.py compares the numbers that come out. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORT_TABLE = 8 }; /* the first version of the table with all of these */

/* Positions in the table. */
enum ort_slot {
    GET_ERROR_MESSAGE = 2,
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_SESSION_OPTIONS = 10,
    SET_GRAPH_OPTIMIZATION_LEVEL = 23,
    SET_INTRA_OP_THREADS = 24,
    SET_INTER_OP_THREADS = 25,
    CREATE_TENSOR_WITH_DATA = 49,
    CREATE_CPU_MEMORY_INFO = 69,
    RUN_WITH_BINDING = 133,
    CREATE_IO_BINDING = 134,
    BIND_INPUT = 136,
    BIND_OUTPUT = 137
};

enum { LOG_ERRORS = 3, OPTIMIZE_ALL = 99, DEVICE_ALLOCATOR = 0, MEMORY_DEFAULT = 0, MOST = 16 };

typedef void (*any_function)(void);

/* What OrtGetApiBase returns. */
struct ort_base {
    const any_function *(*table)(uint32_t version);
    const char *(*version)(void);
};

typedef void *(*run_function)(void *session, const void *options, const char *const *input_names,
                              const void *const *inputs, size_t input_count, const char *const *output_names,
                              size_t output_count, void **outputs);
typedef void *(*run_bound_function)(void *session, const void *options, const void *binding);

struct peer_ort {
    const any_function *table;
    void *session, *binding;
    run_function run;
    run_bound_function run_bound;
    const char *const *names; /* of the inputs, then of the outputs */
    void *values[2 * MOST];   /* likewise */
    size_t input_count, output_count;
    char error[512];
};

/* A function that gives a status is NULL where all went well. */
static int failed(struct peer_ort *peer, void *status)
{
    if (status == NULL)
        return 0;
    snprintf(peer->error, sizeof peer->error, "%s",
             ((const char *(*)(const void *))peer->table[GET_ERROR_MESSAGE])(status));
    return 1;
}

const char *peer_ort_version(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    const struct ort_base *(*base)(void) = NULL;

    if (handle != NULL)
        *(void **)&base = dlsym(handle, "OrtGetApiBase");
    return base != NULL ? base()->version() : NULL;
}

struct ort_tensor {
    const char *name;
    void *data;
    size_t bytes;
    const int64_t *dims;
    size_t ndim;
    int type; /* ONNX's number: 1 float32, 7 int64, 9 bool */
};

static int make_values(struct peer_ort *peer, const struct ort_tensor *tensors)
{
    const any_function *table = peer->table;
    void *memory = NULL;
    int bad = failed(peer, ((void *(*)(int, int, void **))table[CREATE_CPU_MEMORY_INFO])(
                               DEVICE_ALLOCATOR, MEMORY_DEFAULT, &memory));

    for (size_t i = 0; i < peer->input_count + peer->output_count && !bad; i++) {
        const struct ort_tensor *t = &tensors[i];

        bad = failed(peer, ((void *(*)(const void *, void *, size_t, const int64_t *, size_t, int,
                                       void **))table[CREATE_TENSOR_WITH_DATA])(
                               memory, t->data, t->bytes, t->dims, t->ndim, t->type, &peer->values[i]));
    }
    return bad;
}

static int bind_values(struct peer_ort *peer)
{
    typedef void *(*bind_function)(void *binding, const char *name, const void *value);
    const any_function *table = peer->table;
    int bad = failed(peer,
                     ((void *(*)(void *, void **))table[CREATE_IO_BINDING])(peer->session, &peer->binding));

    for (size_t i = 0; i < peer->input_count + peer->output_count && !bad; i++) {
        int slot = i < peer->input_count ? BIND_INPUT : BIND_OUTPUT;

        bad = failed(peer, ((bind_function)table[slot])(peer->binding, peer->names[i], peer->values[i]));
    }
    return bad;
}

/* A session with one thread and all optimisations, whose tensors are those of the caller. What is wrong is in
 * peer_ort_error. NULL: no memory, or not a library of ONNX Runtime. */
struct peer_ort *peer_ort_open(const char *library, const char *model, const struct ort_tensor *tensors,
                               size_t input_count, size_t output_count)
{
    struct peer_ort *peer = calloc(1, sizeof *peer);
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL), *env = NULL, *options = NULL;
    const struct ort_base *(*base)(void) = NULL;
    const char **names = calloc(input_count + output_count, sizeof *names);

    if (handle != NULL)
        *(void **)&base = dlsym(handle, "OrtGetApiBase");
    if (peer == NULL || names == NULL || base == NULL || input_count > MOST || output_count > MOST)
        return NULL;
    for (size_t i = 0; i < input_count + output_count; i++)
        names[i] = tensors[i].name;
    peer->names = names;
    peer->input_count = input_count;
    peer->output_count = output_count;
    peer->table = base()->table(ORT_TABLE);
    if (peer->table == NULL) {
        snprintf(peer->error, sizeof peer->error, "it has no API of version %d", ORT_TABLE);
        return peer;
    }

    const any_function *table = peer->table;

    peer->run = (run_function)table[RUN];
    peer->run_bound = (run_bound_function)table[RUN_WITH_BINDING];
    if (failed(peer, ((void *(*)(int, const char *, void **))table[CREATE_ENV])(LOG_ERRORS, "bench", &env)) ||
        failed(peer, ((void *(*)(void **))table[CREATE_SESSION_OPTIONS])(&options)) ||
        failed(peer, ((void *(*)(void *, int))table[SET_INTRA_OP_THREADS])(options, 1)) ||
        failed(peer, ((void *(*)(void *, int))table[SET_INTER_OP_THREADS])(options, 1)) ||
        failed(peer, ((void *(*)(void *, int))table[SET_GRAPH_OPTIMIZATION_LEVEL])(options, OPTIMIZE_ALL)) ||
        failed(peer, ((void *(*)(void *, const char *, const void *, void **))table[CREATE_SESSION])(
                         env, model, options, &peer->session)) ||
        make_values(peer, tensors))
        return peer;
    bind_values(peer);
    return peer;
}

const char *peer_ort_error(const struct peer_ort *peer)
{
    return peer->error;
}

/* Run, with names and values in each call. */
int peer_ort_call(void *user)
{
    struct peer_ort *peer = user;

    return failed(peer, peer->run(peer->session, NULL, peer->names, (const void *const *)peer->values,
                                  peer->input_count, peer->names + peer->input_count, peer->output_count,
                                  peer->values + peer->input_count));
}

/* RunWithBinding, with names and values bound before. */
int peer_ort_call_bound(void *user)
{
    struct peer_ort *peer = user;

    return failed(peer, peer->run_bound(peer->session, NULL, peer->binding));
}
