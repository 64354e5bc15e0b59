/* cuda_host_stream.c - streams, events and graphs: work runs when somebody waits for it, never before.
 *
 * So a missing wait shows as old values. Work of one stream runs in its order; that of several in one that the seed draws, as
 * far as events and the default stream allow. A clock for each stream, as vector clocks are, knows what is ordered before what:
 * accesses of two kernels that no event orders race, even where they ran in a harmless order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_host_room.h"

/* ---- what is ordered before what ---- */

struct clock {
    uint32_t at[CUDA_HOST_STREAMS]; /* by stream: how much of its work is before */
};

/* Which blocks are of which piece of work: blocks from `block` to the next entry's. */
struct piece {
    uint32_t block, at;
    int stream;
};
enum { PIECES = 1 << 16 };
static struct piece pieces[PIECES];
static int piece_count;
static struct clock host;
static const struct clock *current; /* of the stream whose work runs */

static void join(struct clock *clock, const struct clock *other)
{
    for (int i = 0; i < CUDA_HOST_STREAMS; i++)
        if (clock->at[i] < other->at[i])
            clock->at[i] = other->at[i];
}

bool cuda_host_ordered(uint32_t block)
{
    int low = 0, high = piece_count;

    while (low < high) {
        const int middle = (low + high) / 2;

        if (pieces[middle].block <= block)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 || current->at[pieces[low - 1].stream] >= pieces[low - 1].at;
}

/* ---- work, streams, events, graphs ---- */

enum kind { LAUNCH, COPY, FILL, RECORD, WAIT, CALL };

struct work {
    struct work *next;
    enum kind kind;
    uint64_t order;      /* of all work, in the order in which it was given */
    struct clock before; /* what the host had waited for by then */
    struct cuda_host_launch launch;
    void *to;
    const void *from; /* NULL: staged, behind this struct */
    size_t bytes;
    bool to_device, from_device, to_pinned, from_pinned;
    int value;
    cudaEvent_t event;
    uint64_t version; /* of the event */
    cudaStream_t recorded;
    cudaHostFn_t function;
    void *user;
    size_t behind; /* bytes behind this struct: arguments, or what is staged */
};

struct cuda_host_graph {
    struct work *first, **end;
};

struct cuda_host_stream {
    struct work *first, **end;
    struct clock clock;
    int index;
    bool blocking; /* it and the default stream wait for each other */
    struct cuda_host_graph *capture;
    bool spoiled; /* the capture */
};

struct cuda_host_event {
    uint64_t asked, done; /* versions: each record is one */
    cudaStream_t stream;  /* of the last record */
    struct clock clock;   /* of the last that is done */
};

static struct cuda_host_stream null_stream = {.end = &null_stream.first, .blocking = true};
static cudaStream_t streams[CUDA_HOST_STREAMS] = {&null_stream};
static uint64_t order;
static int captures;
static int pinned_copies; /* in streams: from or to pinned memory */
static cudaError_t broken;
static struct {
    int launches, number;
    cudaError_t error;
} failing;

void cuda_host_fail_launch(int number, cudaError_t error)
{
    failing.launches = 0;
    failing.number = number;
    failing.error = error;
}

cudaError_t cuda_host_broken(void)
{
    return broken;
}

void cuda_host_mend(void)
{
    broken = cudaSuccess;
}

static struct work *make_work(enum kind kind, size_t behind)
{
    struct work *work = calloc(1, sizeof *work + behind);

    if (!work)
        abort();
    work->kind = kind;
    work->behind = behind;
    return work;
}

static struct work *copy_of(const struct work *work)
{
    struct work *copy = make_work(work->kind, work->behind);

    memcpy(copy, work, sizeof *work + work->behind);
    copy->next = NULL;
    if (copy->kind == LAUNCH)
        copy->launch.arguments = copy + 1;
    return copy;
}

static void free_list(struct work *work)
{
    while (work) {
        struct work *next = work->next;

        free(work);
        work = next;
    }
}

static void move_bytes(const struct work *work)
{
    const void *from = work->from ? work->from : work + 1;

    if (work->from_device)
        cuda_host_check_copy(from, work->bytes, CUDA_HOST_READS);
    if (work->to_device)
        cuda_host_check_copy(work->to, work->bytes, CUDA_HOST_WRITES);
    memmove(work->to, from, work->bytes);
    if (work->to_device)
        cuda_host_check_moved(work->to, work->from_device ? from : NULL, work->bytes);
}

static void run_kernel(const struct work *work)
{
    if (++failing.launches == failing.number)
        broken = failing.error;
    if (broken == cudaSuccess)
        cuda_host_run(&work->launch);
}

static void run_first(cudaStream_t stream);

/* Runs the work of a stream that was given before `until`. */
static void run_before(cudaStream_t stream, uint64_t until)
{
    while (stream->first && stream->first->order < until)
        run_first(stream);
}

/* What the first work of a stream waits for is older than it, so this comes to an end. */
static void run_needed(cudaStream_t stream)
{
    const struct work *work = stream->first;

    if (stream == &null_stream) {
        for (int i = 1; i < CUDA_HOST_STREAMS; i++)
            if (streams[i] && streams[i]->blocking) {
                run_before(streams[i], work->order);
                join(&stream->clock, &streams[i]->clock);
            }
    } else if (stream->blocking) {
        run_before(&null_stream, work->order);
        join(&stream->clock, &null_stream.clock);
    }
    if (work->kind == WAIT) {
        while (work->event->done < work->version)
            run_first(work->recorded);
        join(&stream->clock, &work->event->clock);
    }
}

static void run_first(cudaStream_t stream)
{
    struct work *work;

    run_needed(stream);
    work = stream->first;
    stream->first = work->next;
    if (!stream->first)
        stream->end = &stream->first;
    pinned_copies -= work->to_pinned || work->from_pinned;
    join(&stream->clock, &work->before);
    stream->clock.at[stream->index]++;
    current = &stream->clock;
    if (piece_count == PIECES) { /* what is long ago counts as ordered */
        piece_count /= 2;
        memmove(pieces, pieces + piece_count, (size_t)piece_count * sizeof *pieces);
    }
    pieces[piece_count++] = (struct piece){cuda_host_now.block + 1, stream->clock.at[stream->index],
                                           stream->index};
    switch (work->kind) {
    case LAUNCH:
        run_kernel(work);
        break;
    case COPY:
        move_bytes(work);
        break;
    case FILL:
        cuda_host_check_copy(work->to, work->bytes, CUDA_HOST_WRITES);
        memset(work->to, work->value, work->bytes);
        cuda_host_check_moved(work->to, NULL, work->bytes);
        break;
    case RECORD:
        work->event->done = work->version;
        work->event->clock = stream->clock;
        break;
    case WAIT:
        break;
    case CALL:
        work->function(work->user);
        break;
    }
    free(work);
}

/* Now and then work of another stream goes first, as the seed draws it. */
static void settle(cudaStream_t stream)
{
    while (stream->first) {
        if (cuda_host_now.seed > 1 && cuda_host_drawn(2)) {
            const cudaStream_t other = streams[cuda_host_drawn(CUDA_HOST_STREAMS)];

            if (other && other->first && other != stream)
                run_first(other);
        }
        if (stream->first)
            run_first(stream);
    }
}

/* All streams, seed 1 from the last. */
void cuda_host_settle_all(void)
{
    for (int i = 0; i < CUDA_HOST_STREAMS; i++) {
        const cudaStream_t stream = streams[cuda_host_now.seed == 1 ? CUDA_HOST_STREAMS - 1 - i : i];

        if (stream)
            settle(stream);
    }
    for (int i = 0; i < CUDA_HOST_STREAMS; i++)
        if (streams[i])
            join(&host, &streams[i]->clock);
    piece_count = 0; /* all that was is before all that comes */
}

static cudaError_t found(void)
{
    return broken != cudaSuccess ? broken : cuda_host_reported() ? cudaErrorLaunchFailure : cudaSuccess;
}

static bool lives(cudaStream_t stream)
{
    if (stream == &null_stream)
        return true;
    for (int i = 1; i < CUDA_HOST_STREAMS; i++)
        if (streams[i] == stream)
            return true;
    return false;
}

/* Puts work into a stream, or into what it captures; the work is freed where that cannot be. */
static cudaError_t give(cudaStream_t stream, struct work *work)
{
    cudaError_t error = cudaSuccess;

    stream = stream ? stream : &null_stream;
    if (!lives(stream)) {
        error = cudaErrorInvalidResourceHandle;
    } else if (stream == &null_stream && captures > 0) {
        cuda_host_spoil_captures();
        error = cudaErrorStreamCaptureImplicit;
    } else if (stream->capture && stream->spoiled) {
        error = cudaErrorStreamCaptureInvalidated;
    }
    if (error != cudaSuccess) {
        free(work);
        return error;
    }
    if (stream->capture) {
        *stream->capture->end = work;
        stream->capture->end = &work->next;
        return cudaSuccess;
    }
    work->order = ++order;
    work->before = host;
    pinned_copies += work->to_pinned || work->from_pinned;
    *stream->end = work;
    stream->end = &work->next;
    return cudaSuccess;
}

/* ---- launches, copies ---- */

/* Kernels that were allowed more dynamic shared memory than is usual. */
static struct {
    const void *kernel;
    int bytes;
} allowed[256];
static int allowed_count;

cudaError_t cuda_host_attribute(const void *kernel, enum cudaFuncAttribute attribute, int value)
{
    cudaError_t error;
    int i = 0;

    if (cuda_host_refuses(&error))
        return error;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        value > CUDA_HOST_DYNAMIC_SHARED)
        return cuda_host_ends(cudaErrorInvalidValue);
    while (i < allowed_count && allowed[i].kernel != kernel)
        i++;
    if (i == (int)(sizeof allowed / sizeof *allowed))
        return cuda_host_ends(cudaErrorUnknown);
    allowed[i].kernel = kernel;
    allowed[i].bytes = value;
    if (i == allowed_count)
        allowed_count++;
    return cuda_host_ends(cudaSuccess);
}

static size_t allowed_shared(const void *kernel)
{
    for (int i = 0; i < allowed_count; i++)
        if (allowed[i].kernel == kernel)
            return (size_t)allowed[i].bytes;
    return CUDA_HOST_STATIC_SHARED;
}

static uint64_t volume(struct cuda_host_extent extent)
{
    return (uint64_t)extent.x * extent.y * extent.z;
}

cudaError_t cuda_host_enqueue(const struct cuda_host_launch *launch, cudaStream_t stream)
{
    struct work *work;
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (volume(launch->grid) == 0 || launch->grid.x > INT32_MAX || launch->grid.y > 65535 ||
        launch->grid.z > 65535 || volume(launch->block) == 0 || volume(launch->block) > CUDA_HOST_THREADS ||
        launch->block.z > 64)
        return cuda_host_ends(cudaErrorInvalidConfiguration);
    if (launch->shared > allowed_shared(launch->kernel) || launch->bytes > CUDA_HOST_ARGUMENTS)
        return cuda_host_ends(cudaErrorInvalidValue);
    work = make_work(LAUNCH, launch->bytes);
    work->launch = *launch;
    work->launch.arguments = work + 1;
    memcpy(work + 1, launch->arguments, launch->bytes);
    return cuda_host_ends(give(stream, work));
}

/* Says which ends are on the device; false: one of them goes over what is allocated. */
static bool find_ends(const void *to, const void *from, size_t bytes, bool *to_device, bool *from_device)
{
    const bool to_whole = cuda_host_on_device(to, bytes, to_device);
    const bool from_whole = cuda_host_on_device(from, bytes, from_device);

    if ((!*to_device || to_whole) && (!*from_device || from_whole))
        return true;
    cuda_host_report(NULL, "a copy of %zu bytes goes over what is allocated", bytes);
    return false;
}

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                        cudaStream_t stream)
{
    static const struct {
        bool to, from;
    } sides[] = {[cudaMemcpyHostToDevice] = {true, false},
                 [cudaMemcpyDeviceToHost] = {false, true},
                 [cudaMemcpyDeviceToDevice] = {true, true},
                 [cudaMemcpyHostToHost] = {false, false}};
    struct work *work;
    bool to_device, from_device;

    if (bytes == 0)
        return cudaSuccess;
    if (!to || !from || kind > cudaMemcpyDefault || !find_ends(to, from, bytes, &to_device, &from_device))
        return cudaErrorInvalidValue;
    if (kind != cudaMemcpyDefault && (sides[kind].to != to_device || sides[kind].from != from_device))
        return cudaErrorInvalidValue;
    const bool to_pinned = !to_device && cuda_host_pinned(to),
               from_pinned = !from_device && cuda_host_pinned(from);
    /* Memory that can be paged out is read before the call returns. */
    const bool staged = !from_device && !from_pinned;

    if (stream && stream->capture && (staged || (!to_device && !to_pinned))) {
        stream->spoiled = true;
        return cudaErrorStreamCaptureUnsupported;
    }
    work = make_work(COPY, staged ? bytes : 0);
    work->to = to;
    work->from = staged ? NULL : from;
    work->bytes = bytes;
    work->to_device = to_device;
    work->from_device = from_device;
    work->to_pinned = to_pinned;
    work->from_pinned = from_pinned;
    if (staged)
        memcpy(work + 1, from, bytes);
    return give(stream, work);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    return cuda_host_ends(copy(to, from, bytes, kind, stream));
}

/* Waits for a stream, as the host does. */
static cudaError_t wait_for(cudaStream_t stream)
{
    settle(stream);
    join(&host, &stream->clock);
    return found();
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    error = copy(to, from, bytes, kind, NULL);
    return cuda_host_ends(error == cudaSuccess ? wait_for(&null_stream) : error);
}

static cudaError_t fill(void *to, int value, size_t bytes, cudaStream_t stream)
{
    struct work *work;
    bool inside;

    if (bytes == 0)
        return cudaSuccess;
    if (!cuda_host_on_device(to, bytes, &inside)) {
        if (inside)
            cuda_host_report(NULL, "%zu bytes that are filled go over what is allocated", bytes);
        return cudaErrorInvalidValue;
    }
    work = make_work(FILL, 0);
    work->to = to;
    work->value = value;
    work->bytes = bytes;
    return give(stream, work);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    return cuda_host_ends(fill(to, value, bytes, stream));
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    error = fill(to, value, bytes, NULL);
    return cuda_host_ends(error == cudaSuccess ? wait_for(&null_stream) : error);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *user)
{
    struct work *work;
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (!function)
        return cuda_host_ends(cudaErrorInvalidValue);
    work = make_work(CALL, 0);
    work->function = function;
    work->user = user;
    return cuda_host_ends(give(stream, work));
}

/* Pinned memory that a copy on its way reads or writes is not the host's. */
void cuda_host_touched(const void *p, size_t bytes, bool writes, const void *pc)
{
    const unsigned char *at = p;

    for (int i = 0; i < CUDA_HOST_STREAMS && pinned_copies > 0; i++)
        for (const struct work *work = streams[i] ? streams[i]->first : NULL; work; work = work->next) {
            const unsigned char *to = work->to, *from = work->from;

            if (work->to_pinned && at < to + work->bytes && to < at + bytes)
                cuda_host_report(pc, "the host %s %zu bytes that a copy on its way is to write",
                                 writes ? "writes" : "reads", bytes);
            else if (writes && work->from_pinned && at < from + work->bytes && from < at + bytes)
                cuda_host_report(pc, "the host writes %zu bytes that a copy on its way is to read", bytes);
        }
}

/* ---- streams ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    cudaError_t error;
    int i = 1;

    if (cuda_host_refuses(&error))
        return error;
    while (i < CUDA_HOST_STREAMS && streams[i])
        i++;
    if (flags > cudaStreamNonBlocking)
        return cuda_host_ends(cudaErrorInvalidValue);
    if (i == CUDA_HOST_STREAMS || !(streams[i] = calloc(1, sizeof **stream)))
        return cuda_host_ends(cudaErrorMemoryAllocation);
    streams[i]->end = &streams[i]->first;
    streams[i]->index = i;
    streams[i]->blocking = flags == cudaStreamDefault;
    streams[i]->clock.at[i] = host.at[i]; /* goes on where another that was called so ended */
    cuda_host_objects++;
    *stream = streams[i];
    return cuda_host_ends(cudaSuccess);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

static void free_graph(struct cuda_host_graph *graph)
{
    free_list(graph->first);
    free(graph);
    cuda_host_objects--;
}

static void end_capture(cudaStream_t stream)
{
    stream->capture = NULL;
    stream->spoiled = false;
    captures--;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (!stream || !lives(stream))
        return cuda_host_ends(cudaErrorInvalidResourceHandle);
    settle(stream);
    join(&host, &stream->clock); /* stricter than CUDA would be a clock that nobody keeps */
    if (stream->capture) {
        free_graph(stream->capture);
        end_capture(stream);
    }
    streams[stream->index] = NULL;
    free(stream);
    cuda_host_objects--;
    return cuda_host_ends(cudaSuccess);
}

/* A stream that may be waited for; else says why not. */
static cudaError_t may_wait(cudaStream_t *stream)
{
    *stream = *stream ? *stream : &null_stream;
    if (!lives(*stream))
        return cudaErrorInvalidResourceHandle;
    if ((*stream)->capture) {
        (*stream)->spoiled = true;
        return cudaErrorStreamCaptureUnsupported;
    }
    if (*stream == &null_stream && captures > 0) {
        cuda_host_spoil_captures();
        return cudaErrorStreamCaptureImplicit;
    }
    return cudaSuccess;
}

/* A wait that was made to fail has waited: nothing is left that would write to the caller's memory. */
static cudaError_t has_waited(cudaStream_t stream, cudaError_t error)
{
    cuda_host_lock();
    if (may_wait(&stream) == cudaSuccess)
        settle(stream);
    cuda_host_unlock();
    return error;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return has_waited(stream, error);
    error = may_wait(&stream);
    return cuda_host_ends(error == cudaSuccess ? wait_for(stream) : error);
}

/* Something happens with each question, so that who asks again and again comes to an end. */
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    error = may_wait(&stream);
    if (error == cudaSuccess && stream->first) {
        run_first(stream);
        cuda_host_unlock(); /* not an error that stays */
        return cudaErrorNotReady;
    }
    return cuda_host_ends(error == cudaSuccess ? wait_for(stream) : error);
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (captures > 0) {
        cuda_host_spoil_captures();
        return cuda_host_ends(cudaErrorStreamCaptureUnsupported);
    }
    cuda_host_settle_all();
    return cuda_host_ends(found());
}

/* ---- events ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (flags & ~(unsigned)cudaEventDisableTiming)
        return cuda_host_ends(cudaErrorInvalidValue);
    *event = calloc(1, sizeof **event);
    if (!*event)
        return cuda_host_ends(cudaErrorMemoryAllocation);
    cuda_host_objects++;
    return cuda_host_ends(cudaSuccess);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

/* Runs the stream of its last record as far as that. */
static void settle_event(cudaEvent_t event)
{
    while (event->done < event->asked)
        run_first(event->stream);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (!event)
        return cuda_host_ends(cudaErrorInvalidResourceHandle);
    cuda_host_settle_all(); /* who waits for it knows it by its address */
    free(event);
    cuda_host_objects--;
    return cuda_host_ends(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    struct work *work;
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (!event || (stream && stream->capture)) /* forks of a capture: no emitted code has them */
        return cuda_host_ends(event ? cudaErrorStreamCaptureUnsupported : cudaErrorInvalidResourceHandle);
    work = make_work(RECORD, 0);
    work->event = event;
    work->version = event->asked + 1;
    error = give(stream, work);
    if (error == cudaSuccess) {
        event->asked++;
        event->stream = stream ? stream : &null_stream;
    }
    return cuda_host_ends(error);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    struct work *work;
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (!event || flags != 0)
        return cuda_host_ends(event ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    if (stream && stream->capture) {
        stream->spoiled = true;
        return cuda_host_ends(cudaErrorStreamCaptureIsolation);
    }
    if (event->done == event->asked && event->asked == 0)
        return cuda_host_ends(cudaSuccess); /* nobody recorded it */
    work = make_work(WAIT, 0);
    work->event = event;
    work->version = event->asked;
    work->recorded = event->stream;
    return cuda_host_ends(give(stream, work));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (!event)
        return cuda_host_ends(cudaErrorInvalidResourceHandle);
    settle_event(event);
    join(&host, &event->clock);
    return cuda_host_ends(found());
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (!event)
        return cuda_host_ends(cudaErrorInvalidResourceHandle);
    if (event->done < event->asked) {
        run_first(event->stream);
        cuda_host_unlock();
        return cudaErrorNotReady;
    }
    join(&host, &event->clock);
    return cuda_host_ends(found());
}

/* ---- graphs ---- */

bool cuda_host_capturing(void)
{
    return captures > 0;
}

void cuda_host_spoil_captures(void)
{
    for (int i = 0; i < CUDA_HOST_STREAMS; i++)
        if (streams[i] && streams[i]->capture)
            streams[i]->spoiled = true;
}

static struct cuda_host_graph *make_graph(const struct work *from)
{
    struct cuda_host_graph *graph = calloc(1, sizeof *graph);

    if (!graph)
        abort();
    graph->end = &graph->first;
    for (; from; from = from->next) {
        *graph->end = copy_of(from);
        graph->end = &(*graph->end)->next;
    }
    cuda_host_objects++;
    return graph;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (mode > cudaStreamCaptureModeRelaxed)
        return cuda_host_ends(cudaErrorInvalidValue);
    if (stream && !lives(stream))
        return cuda_host_ends(cudaErrorInvalidResourceHandle);
    if (!stream || stream->capture)
        return cuda_host_ends(cudaErrorStreamCaptureUnsupported);
    stream->capture = make_graph(NULL);
    captures++;
    return cuda_host_ends(cudaSuccess);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    cudaError_t error;
    bool spoiled;

    *graph = NULL;
    if (cuda_host_refuses(&error))
        return error;
    if (!stream || !lives(stream) || !stream->capture)
        return cuda_host_ends(cudaErrorStreamCaptureUnmatched);
    spoiled = stream->spoiled;
    if (spoiled)
        free_graph(stream->capture);
    else
        *graph = stream->capture;
    end_capture(stream);
    return cuda_host_ends(spoiled ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    *status = !stream || !stream->capture ? cudaStreamCaptureStatusNone
              : stream->spoiled           ? cudaStreamCaptureStatusInvalidated
                                          : cudaStreamCaptureStatusActive;
    return cuda_host_ends(cudaSuccess);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    cudaError_t error;

    *exec = NULL;
    if (cuda_host_refuses(&error))
        return error;
    if (!graph || flags != 0)
        return cuda_host_ends(cudaErrorInvalidValue);
    *exec = make_graph(graph->first);
    return cuda_host_ends(cudaSuccess);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (!exec)
        return cuda_host_ends(cudaErrorInvalidValue);
    for (const struct work *work = exec->first; work && error == cudaSuccess; work = work->next)
        error = give(stream, copy_of(work));
    return cuda_host_ends(error);
}

static cudaError_t destroy_graph(struct cuda_host_graph *graph)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (!graph)
        return cuda_host_ends(cudaErrorInvalidValue);
    free_graph(graph);
    return cuda_host_ends(cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    return destroy_graph(graph);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    return destroy_graph(exec);
}
