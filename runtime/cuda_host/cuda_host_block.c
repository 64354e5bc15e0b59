/* cuda_host_block.c - grids, blocks, threads and warps: the threads of a block are fibers.
 *
 * One runs until it reaches a barrier, a warp operation or its end; then the next one, in an order that the seed draws. A warp's
 * operation lets its lanes go on when the last one of the mask has come, a barrier when all threads of the block have. */
#define _GNU_SOURCE /* contexts */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_host_room.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#define CUDA_HOST_CONTEXTS /* slower, and everywhere: a system call for each switch */
#endif
#ifdef CUDA_HOST_CONTEXTS
#include <ucontext.h>
#endif

enum { WARP = CUDA_HOST_WARP, SLOT = CUDA_HOST_SLOT };
enum state { READY, AT_BARRIER, AT_WARP, DONE };

struct late { /* an asynchronous copy that is not waited for */
    void *to;
    const void *from;
    size_t bytes, given;
    int group;
};

struct fiber {
#ifdef CUDA_HOST_CONTEXTS
    ucontext_t context;
#else
    void *sp;
#endif
    enum state state;
    const void *at; /* where it waits */
    int line;       /* at a barrier: that of the text */
    unsigned mask;
    int predicate;
    struct cuda_host_extent index;
    struct late *late; /* in the order of groups */
    int late_count, late_room;
    int group; /* groups that are committed */
};

struct warp {
    unsigned arrived, alive;
    unsigned char in[WARP * SLOT], out[WARP * SLOT];
};

struct cuda_host_place cuda_host;
struct cuda_host_now cuda_host_now;
_Thread_local bool cuda_host_running;

static struct fiber fibers[CUDA_HOST_THREADS], scheduler;
static struct warp warps[CUDA_HOST_THREADS / WARP];
static unsigned char *stacks;
static int thread_count, barrier_total;
static bool abandoned;
static uint64_t state_of_draw;

void cuda_host_seed(uint64_t seed)
{
    cuda_host_now.seed = seed;
    state_of_draw = seed;
}

uint32_t cuda_host_drawn(uint32_t below)
{
    state_of_draw = state_of_draw * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state_of_draw >> 33) % below;
}

bool cuda_host_own(const unsigned char *p)
{
    const struct cuda_host_launch *launch = cuda_host_now.launch;
    const unsigned char *arguments = launch->arguments;

    return (p >= (unsigned char *)&cuda_host && p < (unsigned char *)(&cuda_host + 1)) ||
           (p >= (unsigned char *)warps && p < (unsigned char *)(warps + CUDA_HOST_THREADS / WARP)) ||
           (p >= stacks && p < stacks + (size_t)CUDA_HOST_THREADS * CUDA_HOST_STACK) ||
           (p >= arguments && p < arguments + launch->bytes);
}

/* ---- fibers ---- */

#ifdef CUDA_HOST_CONTEXTS

static void switch_to(struct fiber *from, struct fiber *to)
{
    swapcontext(&from->context, &to->context);
}

#else

void cuda_host_switch(void **from, void *to);
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl cuda_host_switch\n"
        ".hidden cuda_host_switch\n"
        "cuda_host_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\n"
        "mov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\n"
        "ret\n");
#else
__asm__(".text\n"
        ".globl cuda_host_switch\n"
        ".hidden cuda_host_switch\n"
        "cuda_host_switch:\n"
        "stp x19,x20,[sp,#-160]!\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\nstp x25,x26,[sp,#48]\n"
        "stp x27,x28,[sp,#64]\nstp x29,x30,[sp,#80]\nstp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\n"
        "stp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\n"
        "mov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
        "ldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\nldp x25,x26,[sp,#48]\nldp x27,x28,[sp,#64]\n"
        "ldp x29,x30,[sp,#80]\nldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\nldp d12,d13,[sp,#128]\n"
        "ldp d14,d15,[sp,#144]\nldp x19,x20,[sp],#160\n"
        "ret\n");
#endif

static void switch_to(struct fiber *from, struct fiber *to)
{
    cuda_host_switch(&from->sp, to->sp);
}

#endif

static void leave(void)
{
    switch_to(&fibers[cuda_host_now.thread], &scheduler);
}

void cuda_host_abandon(void)
{
    abandoned = true;
    leave();
    abort();
}

static void fiber_main(void)
{
    struct fiber *fiber = &fibers[cuda_host_now.thread];

    cuda_host_now.launch->run((void *)cuda_host_now.launch->arguments);
    if (fiber->late_count > 0)
        cuda_host_report(NULL, "a thread ends before its asynchronous copies are waited for");
    fiber->state = DONE;
    warps[cuda_host_now.thread / WARP].alive &= ~(1u << cuda_host_now.thread % WARP);
    leave();
    abort();
}

static void start_fiber(int t)
{
    struct fiber *fiber = &fibers[t];
    unsigned char *stack = stacks + (size_t)t * CUDA_HOST_STACK;

#ifdef CUDA_HOST_CONTEXTS
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = stack;
    fiber->context.uc_stack.ss_size = CUDA_HOST_STACK;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, fiber_main, 0);
#else
    void **top = (void **)(void *)(stack + CUDA_HOST_STACK);

#if defined(__x86_64__)
    *--top = NULL; /* keeps the stack aligned as at a call */
    *--top = (void *)(uintptr_t)fiber_main;
    top -= 6;
    memset(top, 0, 6 * sizeof *top);
#else
    top -= 20;
    memset(top, 0, 20 * sizeof *top);
    top[11] = (void *)(uintptr_t)fiber_main;
#endif
    fiber->sp = top;
#endif
    fiber->state = READY;
    fiber->predicate = 0;
    fiber->late_count = fiber->group = 0;
}

static void enter(int t)
{
    cuda_host_now.thread = t;
    cuda_host.thread = fibers[t].index;
    switch_to(&scheduler, &fibers[t]);
}

/* ---- barriers and warps ---- */

static void wait_at_barrier(int predicate, int line, const void *pc)
{
    struct fiber *fiber = &fibers[cuda_host_now.thread];

    fiber->predicate = predicate != 0;
    fiber->state = AT_BARRIER;
    fiber->at = pc;
    fiber->line = line;
    leave();
}

void cuda_host_barrier(int line)
{
    wait_at_barrier(0, line, CUDA_HOST_HERE);
}

int cuda_host_barrier_count(int predicate, int line)
{
    wait_at_barrier(predicate, line, CUDA_HOST_HERE);
    return barrier_total;
}

int cuda_host_lane(void)
{
    return cuda_host_now.thread % WARP;
}

/* The last lane of a mask to come lets all go on. */
static void meet(unsigned mask, const void *pc)
{
    struct warp *warp = &warps[cuda_host_now.thread / WARP];
    const int lane = cuda_host_now.thread % WARP, first = cuda_host_now.thread - lane;

    if (!(mask >> lane & 1))
        cuda_host_report(pc, "a lane is not in the mask 0x%08x that it gives", mask);
    if (mask & ~warp->alive)
        cuda_host_report(pc, "the mask 0x%08x has lanes that have ended or do not exist (0x%08x)", mask,
                         mask & ~warp->alive);
    mask &= warp->alive;
    fibers[cuda_host_now.thread].mask = mask;
    fibers[cuda_host_now.thread].at = pc;
    warp->arrived |= 1u << lane;
    if ((warp->arrived & mask) != mask) {
        fibers[cuda_host_now.thread].state = AT_WARP;
        leave();
        return;
    }
    memcpy(warp->out, warp->in, sizeof warp->out);
    cuda_host_now.warp_epoch[cuda_host_now.thread / WARP]++;
    cuda_host_count_warp();
    for (int i = 0; i < WARP; i++) {
        if (!(mask >> i & 1))
            continue;
        if (fibers[first + i].mask != mask || (i != lane && fibers[first + i].at != pc))
            cuda_host_report(pc, "lanes %d and %d of a warp meet with other masks or in other places", lane,
                             i);
        fibers[first + i].state = READY;
    }
    warp->arrived &= ~mask;
}

void cuda_host_warp(unsigned mask)
{
    meet(mask, CUDA_HOST_HERE);
}

const unsigned char *cuda_host_exchange(unsigned mask, const void *value, size_t bytes)
{
    struct warp *warp = &warps[cuda_host_now.thread / WARP];

    memcpy(warp->in + cuda_host_now.thread % WARP * SLOT, value, bytes);
    meet(mask, CUDA_HOST_HERE);
    return warp->out;
}

/* ---- asynchronous copies ---- */

void cuda_host_copy_later(void *to, const void *from, size_t bytes, size_t given)
{
    struct fiber *fiber = &fibers[cuda_host_now.thread];

    if (((uintptr_t)to | (uintptr_t)from) % bytes)
        cuda_host_report(CUDA_HOST_HERE, "an asynchronous copy of %zu bytes is not aligned to them", bytes);
    cuda_host_check(from, given, CUDA_HOST_READS, CUDA_HOST_HERE);
    cuda_host_check(to, bytes, CUDA_HOST_BEGINS, CUDA_HOST_HERE);
    if (fiber->late_count == fiber->late_room) {
        fiber->late_room = 2 * fiber->late_room + 8;
        fiber->late = realloc(fiber->late, (size_t)fiber->late_room * sizeof *fiber->late);
        if (!fiber->late)
            abort();
    }
    fiber->late[fiber->late_count++] = (struct late){to, from, bytes, given, fiber->group};
}

void cuda_host_copies_commit(void)
{
    fibers[cuda_host_now.thread].group++;
}

/* All groups that are committed but the last `pending` arrive. */
void cuda_host_copies_wait(int pending)
{
    struct fiber *fiber = &fibers[cuda_host_now.thread];
    int count = 0;

    for (; count < fiber->late_count && fiber->late[count].group < fiber->group - pending; count++) {
        const struct late *late = &fiber->late[count];

        memset(late->to, 0, late->bytes);
        memcpy(late->to, late->from, late->given);
        cuda_host_check(late->to, late->bytes, CUDA_HOST_WRITES, CUDA_HOST_HERE);
    }
    fiber->late_count -= count;
    memmove(fiber->late, fiber->late + count, (size_t)fiber->late_count * sizeof *fiber->late);
}

/* ---- blocks and grids ---- */

static unsigned common_divisor(unsigned a, unsigned b)
{
    while (b > 0) {
        const unsigned rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* The order of `count` things: the first, and how many further the next is. */
static void draw_order(uint32_t count, uint32_t *first, uint32_t *step)
{
    *first = cuda_host_now.seed == 0 ? 0 : count - 1;
    *step = cuda_host_now.seed == 0 ? 1 : count - 1;
    if (cuda_host_now.seed > 1) {
        *first = cuda_host_drawn(count);
        *step = 1 + cuda_host_drawn(count);
    }
    if (common_divisor(count, *step) != 1)
        *step = 1;
}

/* The place of a report that a thread did not make itself. */
static void stand_at(int t)
{
    cuda_host_now.thread = t;
    cuda_host.thread = fibers[t].index;
}

/* No thread can go on. true: they meet at a barrier, and can now. */
static bool meet_at_barrier(void)
{
    int ended = 0, waiting = 0, first = -1, in_warp = -1, total = 0;

    for (int t = 0; t < thread_count; t++) {
        const struct fiber *fiber = &fibers[t];

        ended += fiber->state == DONE;
        if (fiber->state == AT_WARP)
            in_warp = in_warp < 0 ? t : in_warp;
        if (fiber->state != AT_BARRIER)
            continue;
        total += fiber->predicate;
        waiting++;
        if (first < 0) {
            first = t;
        } else if (fiber->at != fibers[first].at && fiber->line != fibers[first].line) {
            stand_at(t);
            cuda_host_report(fiber->at, "threads of a block wait at other barriers");
        }
    }
    if (in_warp >= 0) {
        stand_at(in_warp);
        if (waiting > 0)
            cuda_host_report(fibers[in_warp].at,
                             "threads wait at a barrier for others that wait for lanes of their warps");
        else
            cuda_host_report(fibers[in_warp].at, "lanes wait for others of the mask 0x%08x, which never come",
                             fibers[in_warp].mask);
        return false;
    }
    if (waiting == 0)
        return false;
    if (ended > 0) {
        stand_at(first);
        cuda_host_report(fibers[first].at, "a barrier that %d of %d threads reach: the others have ended",
                         waiting, thread_count);
    }
    barrier_total = total;
    cuda_host_now.epoch++;
    cuda_host_count_barrier();
    for (int t = 0; t < thread_count; t++)
        if (fibers[t].state == AT_BARRIER)
            fibers[t].state = READY;
    return true;
}

/* Threads that wait for each other in vain are left where they are: their stacks hold nothing that must be released. */
static void run_block(size_t dynamic)
{
    cuda_host_now.block++;
    cuda_host_now.epoch = 1;
    cuda_host_check_block(dynamic);
    for (int t = 0; t < thread_count; t++)
        start_fiber(t);
    for (int w = 0; w * WARP < thread_count; w++) {
        const int lanes = thread_count - w * WARP;

        warps[w].arrived = 0;
        warps[w].alive = lanes >= WARP ? 0xffffffffu : (1u << lanes) - 1;
        cuda_host_now.warp_epoch[w] = 1;
    }
    do {
        for (bool moved = true; moved;) {
            uint32_t t, step;

            moved = false;
            draw_order((uint32_t)thread_count, &t, &step);
            for (int i = 0; i < thread_count; i++, t = (t + step) % (uint32_t)thread_count)
                while (fibers[t].state == READY) {
                    moved = true;
                    enter((int)t);
                    if (abandoned)
                        return;
                }
        }
    } while (meet_at_barrier());
}

/* A GPU has a mode of its own, whatever the host's is. What this thread has is given back, and set again by it. */
static uint64_t set_float_mode(bool flushes)
{
#if defined(__x86_64__)
    enum { FLUSHES = 0x8040 }; /* results and operands */
    const unsigned before = __builtin_ia32_stmxcsr();

    __builtin_ia32_ldmxcsr(flushes ? before | FLUSHES : before & ~(unsigned)FLUSHES);
    return before;
#elif defined(__aarch64__)
    const uint64_t flag = 1u << 24;
    uint64_t before;

    __asm__ volatile("mrs %0, fpcr" : "=r"(before) : : "memory");
    __asm__ volatile("msr fpcr, %0" : : "r"(flushes ? before | flag : before & ~flag) : "memory");
    return before;
#else
    (void)flushes;
    return 0;
#endif
}

static void give_float_mode(uint64_t mode)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr((unsigned)mode);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
#else
    (void)mode;
#endif
}

void cuda_host_run(const struct cuda_host_launch *launch)
{
    const struct cuda_host_extent grid = launch->grid, block = launch->block;
    const uint32_t blocks = grid.x * grid.y * grid.z;
    const uint64_t mode = set_float_mode(launch->flushes);
    uint32_t b, step;

    if (!stacks)
        stacks = cuda_host_reserve((size_t)CUDA_HOST_THREADS * CUDA_HOST_STACK);
    cuda_host.grid_dim = grid;
    cuda_host.block_dim = block;
    cuda_host.dynamic = cuda_host_dynamic();
    thread_count = (int)(block.x * block.y * block.z);
    cuda_host_now.launch = launch;
    cuda_host_now.first = cuda_host_now.block + 1;
    abandoned = false;
    for (unsigned t = 0; t < (unsigned)thread_count; t++)
        fibers[t].index = (struct cuda_host_extent){t % block.x, t / block.x % block.y,
                                                    t / (block.x * block.y)};
    cuda_host_check_fences(blocks);
    cuda_host_running = true;
    draw_order(blocks, &b, &step);
    for (uint32_t i = 0; i < blocks && !abandoned; i++, b = (uint32_t)(((uint64_t)b + step) % blocks)) {
        cuda_host.block = (struct cuda_host_extent){b % grid.x, b / grid.x % grid.y, b / (grid.x * grid.y)};
        run_block(launch->shared);
    }
    cuda_host_running = false;
    cuda_host_check_launched();
    give_float_mode(mode);
}
