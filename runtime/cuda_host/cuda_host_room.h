/* cuda_host_room.h - what the files of the stand-in share: cuda_host_memory.c (devices, memory, errors, calls that fail),
 * cuda_host_stream.c (streams, events, graphs: what runs when), cuda_host_block.c (grids, blocks, threads, warps) and
 * cuda_host_check.c (what kernels do with memory).
 *
 * note [one at a time]
 * Every call of the host takes a lock, and kernels run in the thread of whoever waits for them, with the lock held. So all state is
 * plain, but for what host threads ask while others compute: whether a kernel runs in this one, and its last error. */
#ifndef CUDA_HOST_ROOM_H
#define CUDA_HOST_ROOM_H

#include <stdbool.h>

#include "cuda_runtime.h"

enum {
    CUDA_HOST_WARP = 32,
    CUDA_HOST_THREADS = 1024,              /* of a block, at most */
    CUDA_HOST_STACK = 64 * 1024,           /* of a thread */
    CUDA_HOST_STATIC_SHARED = 48 * 1024,   /* of a block, without asking for more */
    CUDA_HOST_DYNAMIC_SHARED = 227 * 1024, /* at most, as on sm_90 */
    CUDA_HOST_ARGUMENTS = 4096,            /* bytes of a launch's arguments */
    CUDA_HOST_STREAMS = 64,                /* that are told apart, with the default one */
};

/* ---- cuda_host_block.c ---- */

/* Where the thread that runs is. Blocks are numbered over all launches and copies, so that a number says which of them, too. */
struct cuda_host_now {
    const struct cuda_host_launch *launch;
    int thread;            /* its number in the block */
    uint32_t block, first; /* of all, and the launch's first */
    uint32_t epoch;        /* barriers that the block has passed, and 1 */
    uint32_t warp_epoch[CUDA_HOST_THREADS / CUDA_HOST_WARP];
    uint64_t seed;
};
extern struct cuda_host_now cuda_host_now;
extern _Thread_local bool cuda_host_running; /* a kernel, in this thread of the host */

void cuda_host_run(const struct cuda_host_launch *launch);
/* The thread of a kernel cannot go on: its grid ends here. Does not return. */
void cuda_host_abandon(void) __attribute__((noreturn));
/* A number below `below`, drawn by the seed. */
uint32_t cuda_host_drawn(uint32_t below);
/* Is it memory that the stand-in itself reads and writes for a kernel, or the stack of one of its threads? */
bool cuda_host_own(const unsigned char *p);

/* ---- cuda_host_check.c ---- */

enum cuda_host_access {
    CUDA_HOST_READS,
    CUDA_HOST_WRITES,
    CUDA_HOST_CHANGES, /* an atomic */
    CUDA_HOST_BEGINS,  /* to write: nobody may read before it is waited for */
    CUDA_HOST_ACCESSES
};

extern bool cuda_host_checking; /* emitted text was compiled with the hooks */

/* pc: in the code that is at fault, behind the call; NULL: not known. */
void cuda_host_report(const void *pc, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cuda_host_reported(void); /* how many since cuda_host_faults() */
void cuda_host_check(const void *p, size_t bytes, enum cuda_host_access access, const void *pc);
/* What a kernel's threads see of shared memory: of a block that starts. */
void cuda_host_check_block(size_t dynamic);
void cuda_host_check_fences(uint32_t blocks); /* of a launch that starts */
void cuda_host_check_launched(void);          /* it has ended: its profile */
void cuda_host_count_barrier(void);
void cuda_host_count_warp(void);
/* A copy's or a fill's accesses to device memory. */
void cuda_host_check_copy(const void *p, size_t bytes, enum cuda_host_access access);
/* Device memory was given out, or taken back. */
void cuda_host_check_allocated(const void *p, size_t bytes, bool allocated);
/* As much of what is written at `from` is written at `to`; from NULL: all. */
void cuda_host_check_moved(const void *to, const void *from, size_t bytes);

/* The block of shared memory whose size launches give. */
unsigned char *cuda_host_dynamic(void);

/* ---- cuda_host_memory.c ---- */

void cuda_host_lock(void);
void cuda_host_unlock(void);
/* Begins a call that can fail: takes the lock; true: it fails, and the lock is released. */
bool cuda_host_refuses(cudaError_t *error);
/* Ends one. */
cudaError_t cuda_host_ends(cudaError_t error);
void *cuda_host_reserve(size_t bytes); /* of addresses; ends the process where there are none */
/* Memory of cuda_host_reserve becomes zeros, which take no room as far as pages go. */
void cuda_host_give_back(void *p, size_t bytes);
unsigned char *cuda_host_heap(size_t *bytes);
/* Does [p, p + bytes) lie in one allocation on the device? inside: at least p does. */
bool cuda_host_on_device(const void *p, size_t bytes, bool *inside);
bool cuda_host_released(const void *p); /* was it device memory? */
bool cuda_host_pinned(const void *p);
extern int cuda_host_objects; /* streams, events and graphs that live */

/* ---- cuda_host_stream.c ---- */

void cuda_host_settle_all(void); /* runs all that waits */
bool cuda_host_capturing(void);
void cuda_host_spoil_captures(void); /* something was called that a capture does not allow */
/* Is it ordered before what runs now, though no barrier of a block says so? */
bool cuda_host_ordered(uint32_t block);
/* An access of the host, outside of calls. */
void cuda_host_touched(const void *p, size_t bytes, bool writes, const void *pc);
/* What a kernel failed with: every call fails with it, until cuda_host_faults(). */
cudaError_t cuda_host_broken(void);
void cuda_host_mend(void);

#define CUDA_HOST_HERE __builtin_return_address(0)

#endif
