/* cuda_host_check.c - what kernels do with memory: the checker, and the hooks through which it sees accesses.
 *
 * Emitted text that is compiled with -fsanitize=thread calls __tsan_read4 and the like for each access; these functions stand
 * here, and look up a shadow of device and shared memory: who wrote and read a word last, in which epoch (number of barriers) of
 * which block. Two accesses of a word, one of them a write, race unless the same thread did both, or a barrier of their block, or one
 * of their warp, is between them; accesses of two blocks in a launch always race; two atomics never do; accesses of two launches
 * race where no stream and no event orders them.
 *
 * This file is compiled without hooks. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_host_room.h"

bool cuda_host_checking;
static bool profiling;

/* ---- faults ---- */

enum { MOST_REPORTS = 20 };
static char first_fault[1024];
static int faults;
static const void *reported;

/* Where in the source pc is, by addr2line where that is installed. */
static void add_place(char *text, size_t room, const void *pc)
{
    char command[1024], where[256] = "";
    Dl_info info;
    FILE *pipe;

    if (!dladdr(pc, &info) || !info.dli_fname)
        return;
    snprintf(command, sizeof command, "addr2line -s -e '%s' %lx 2>/dev/null", info.dli_fname,
             (unsigned long)((const char *)pc - (const char *)info.dli_fbase - 1));
    pipe = popen(command, "r");
    if (!pipe)
        return;
    if (fgets(where, sizeof where, pipe) && where[0] != '?')
        snprintf(text, room, ", in %.*s", (int)strcspn(where, "\n "), where);
    pclose(pipe);
}

void cuda_host_report(const void *pc, const char *format, ...)
{
    char text[1024];
    size_t used;
    va_list list;

    if (faults++ >= MOST_REPORTS ||
        (faults > 1 && pc && pc == reported)) /* of a place that has many faults, the first */
        return;
    reported = pc;
    va_start(list, format);
    used = (size_t)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (cuda_host_running) {
        const struct cuda_host_launch *launch = cuda_host_now.launch;

        used += (size_t)snprintf(text + used, sizeof text - used,
                                 ": %s, thread %u,%u of block %u,%u, launched at %s:%d", launch->name,
                                 cuda_host.thread.x, cuda_host.thread.y, cuda_host.block.x, cuda_host.block.y,
                                 launch->file, launch->line);
    }
    if (pc && used < sizeof text && !getenv("CUDA_HOST_QUIET"))
        add_place(text + used, sizeof text - used, pc);
    if (faults == 1)
        snprintf(first_fault, sizeof first_fault, "%s", text);
    if (!getenv("CUDA_HOST_QUIET"))
        fprintf(stderr, "cuda_host: %s\n", text);
}

int cuda_host_reported(void)
{
    return faults;
}

int cuda_host_faults(void)
{
    const int count = faults;

    faults = 0;
    cuda_host_mend();
    return count;
}

const char *cuda_host_fault(void)
{
    return faults > 0 ? first_fault : "";
}

/* A program with faults that nobody asked for has failed, whatever it says itself. */
__attribute__((destructor)) static void end(void)
{
    if (faults == 0)
        return;
    if (!getenv("CUDA_HOST_QUIET"))
        fprintf(stderr, "cuda_host: %d fault%s\n", faults, faults > 1 ? "s" : "");
    fflush(NULL);
    _exit(CUDA_HOST_EXIT);
}

int cuda_host_checked(void)
{
    return cuda_host_checking;
}

/* ---- the shadow ---- */

struct record {
    uint32_t block, epoch, warp_epoch;
    uint16_t thread;
    uint8_t mask; /* bytes of the word */
    uint8_t kind; /* ATOMIC, SEVERAL */
};
enum { ATOMIC = 1, SEVERAL = 2 };
struct cell {
    struct record write, read;
    uint16_t readers[4]; /* of bytes that several threads have read: each one's, or MANY */
};
enum { MANY = UINT16_MAX };
enum known { OUTSIDE, UNWRITTEN, WRITTEN }; /* of each byte */

/* A range of addresses that is checked. */
struct region {
    unsigned char *from;
    size_t bytes;
    uint8_t *known;
    struct cell *cells; /* a word of four bytes each */
    bool shared;
};
enum { HEAP, STATIC, DYNAMIC, REGIONS };
static struct region regions[REGIONS];

extern unsigned char __start_cuda_shared[] __attribute__((weak)), __stop_cuda_shared[] __attribute__((weak));
extern unsigned char __start_cuda_device[] __attribute__((weak)), __stop_cuda_device[] __attribute__((weak));

/* What a launch asks of memory, and how many bytes of device memory it touches at all. */
static struct {
    size_t asked, touched, shared, barriers, warp_operations;
} traffic;
/* By block of the launch that runs: the epoch of its last fence. */
static uint32_t *fences;
static uint32_t fence_room;

static void make_region(struct region *region, unsigned char *from, size_t bytes, bool shared)
{
    region->from = from;
    region->bytes = bytes;
    region->shared = shared;
    if (cuda_host_checking) {
        region->known = cuda_host_reserve(bytes + 1);
        region->cells = cuda_host_reserve((bytes / 4 + 1) * sizeof *region->cells);
    }
}

static void make_regions(void)
{
    size_t bytes;
    unsigned char *heap = cuda_host_heap(&bytes);

    if (regions[HEAP].from)
        return;
    profiling = getenv("CUDA_HOST_PROFILE");
    make_region(&regions[HEAP], heap, bytes, false);
    make_region(&regions[STATIC], __start_cuda_shared,
                __start_cuda_shared ? (size_t)(__stop_cuda_shared - __start_cuda_shared) : 0, true);
    make_region(&regions[DYNAMIC], cuda_host_reserve(CUDA_HOST_DYNAMIC_SHARED), CUDA_HOST_DYNAMIC_SHARED,
                true);
}

unsigned char *cuda_host_dynamic(void)
{
    make_regions();
    return regions[DYNAMIC].from;
}

static struct region *region_of(const unsigned char *p)
{
    for (int i = 0; i < REGIONS; i++)
        if (p >= regions[i].from && (size_t)(p - regions[i].from) < regions[i].bytes)
            return &regions[i];
    return NULL;
}

/* Has another thread of the block read one of these bytes? Several have read bytes of the word. */
static bool others_read(const struct cell *cell, unsigned mask)
{
    for (int byte = 0; byte < 4; byte++)
        if ((mask & cell->read.mask) >> byte & 1 && cell->readers[byte] != cuda_host_now.thread)
            return true;
    return false;
}

/* Notes who reads the bytes, beside who has in the same stretch between barriers. */
static void note_readers(struct cell *cell, struct record *me)
{
    const bool again = cell->read.block == me->block && cell->read.epoch == me->epoch;

    for (int byte = 0; byte < 4; byte++) {
        const bool had = again && cell->read.mask >> byte & 1;

        if (me->mask >> byte & 1)
            cell->readers[byte] = had && cell->readers[byte] != me->thread ? MANY : me->thread;
    }
    if (!again)
        return;
    me->mask |= cell->read.mask;
    if (cell->read.thread != me->thread || cell->read.kind & SEVERAL)
        me->kind |= SEVERAL;
}

/* Does what a record says come into the way of an access of the same bytes now, that nothing orders behind it? */
static bool conflicts(const struct record *record, unsigned mask, bool atomic, bool shared)
{
    if (record->block == 0 || !(record->mask & mask) || (atomic && record->kind & ATOMIC))
        return false;
    if (record->block < cuda_host_now.first)
        return !shared && !cuda_host_ordered(record->block);
    if (record->block != cuda_host_now.block)
        return !shared;
    if (record->epoch != cuda_host_now.epoch)
        return false;
    if (record->kind & SEVERAL)
        return true;
    if (record->thread == cuda_host_now.thread)
        return false;
    return record->thread / CUDA_HOST_WARP != cuda_host_now.thread / CUDA_HOST_WARP ||
           record->warp_epoch == cuda_host_now.warp_epoch[cuda_host_now.thread / CUDA_HOST_WARP];
}

static const char *const done[CUDA_HOST_ACCESSES] = {[CUDA_HOST_READS] = "reads",
                                                     [CUDA_HOST_WRITES] = "writes",
                                                     [CUDA_HOST_CHANGES] = "changes",
                                                     [CUDA_HOST_BEGINS] = "copies over"};

/* Bytes that are allocated, and written where they are read. false: the access is none of memory. */
static bool check_known(struct region *region, size_t at, size_t bytes, enum cuda_host_access access,
                        const void *pc)
{
    for (size_t i = 0; i < bytes; i++) {
        uint8_t *known = &region->known[at + i];

        if (at + i >= region->bytes || *known == OUTSIDE) {
            cuda_host_report(pc, "%s %zu bytes %s", done[access], bytes,
                             cuda_host_released(region->from + at + i) ? "that were released"
                                                                       : "behind what is allocated");
            return false;
        }
        if (*known == UNWRITTEN && (access == CUDA_HOST_READS || access == CUDA_HOST_CHANGES))
            cuda_host_report(pc, "%s %zu bytes that nobody has written", done[access], bytes);
        *known = access == CUDA_HOST_BEGINS ? UNWRITTEN : WRITTEN;
    }
    return true;
}

static void say_race(const struct record *other, enum cuda_host_access access, const char *did, bool shared,
                     const void *pc)
{
    const bool earlier = other->block < cuda_host_now.first;

    cuda_host_report(pc, "%s what %s %s%s (%s memory)", done[access],
                     earlier                               ? "another launch or copy"
                     : other->block != cuda_host_now.block ? "another block"
                     : other->kind & SEVERAL               ? "several threads"
                                                           : "another thread",
                     did, earlier ? ", with no wait between" : ", with no barrier between",
                     shared ? "shared" : "global");
}

static void check_word(struct region *region, struct cell *cell, unsigned mask, enum cuda_host_access access,
                       const void *pc)
{
    const bool atomic = access == CUDA_HOST_CHANGES;
    struct record me = {.block = cuda_host_now.block,
                        .epoch = cuda_host_now.epoch,
                        .warp_epoch = cuda_host_now.warp_epoch[cuda_host_now.thread / CUDA_HOST_WARP],
                        .thread = (uint16_t)cuda_host_now.thread,
                        .mask = (uint8_t)mask,
                        .kind = atomic ? ATOMIC : 0};

    if (!region->shared && cell->write.block < cuda_host_now.first && cell->read.block < cuda_host_now.first)
        traffic.touched += 4;
    if (conflicts(&cell->write, mask, atomic, region->shared))
        say_race(&cell->write, access, "wrote", region->shared, pc);
    else if (access != CUDA_HOST_READS && conflicts(&cell->read, mask, false, region->shared) &&
             (!(cell->read.kind & SEVERAL) || cell->read.block != me.block || others_read(cell, mask)))
        say_race(&cell->read, access, "read", region->shared, pc);
    if (access != CUDA_HOST_READS) {
        cell->write = me;
        return;
    }
    note_readers(cell, &me);
    cell->read = me;
}

static void check_words(struct region *region, size_t at, size_t bytes, enum cuda_host_access access,
                        const void *pc)
{
    for (size_t word = at / 4; word <= (at + bytes - 1) / 4; word++) {
        const unsigned from = word * 4 < at ? (unsigned)(at - word * 4) : 0;
        const unsigned to = word * 4 + 4 > at + bytes ? (unsigned)(at + bytes - word * 4) : 4;

        check_word(region, &region->cells[word], ((1u << to) - 1) & ~((1u << from) - 1), access, pc);
    }
}

static int lies_in_constants(struct dl_phdr_info *object, size_t bytes, void *data)
{
    const uintptr_t p = (uintptr_t)data;

    (void)bytes;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const uintptr_t from = (uintptr_t)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);

        if (object->dlpi_phdr[i].p_type == PT_LOAD && !(object->dlpi_phdr[i].p_flags & PF_W) && p >= from &&
            p < from + object->dlpi_phdr[i].p_memsz)
            return 1;
    }
    return 0;
}

/* __constant__, or a static constant inside a function of the device, which lies among the program's. One of the host's is
 * none; that, nvcc says. */
static bool is_constant(const unsigned char *p)
{
    static uintptr_t known; /* most are of one page */

    if (__start_cuda_device && p >= __start_cuda_device && p < __stop_cuda_device)
        return true;
    if (region_of(p))
        return false;
    if (known == 0 || (uintptr_t)p / 4096 != known) {
        if (!dl_iterate_phdr(lies_in_constants, (void *)p))
            return false;
        known = (uintptr_t)p / 4096;
    }
    return true;
}

void cuda_host_check(const void *p, size_t bytes, enum cuda_host_access access, const void *pc)
{
    struct region *region;
    size_t at;

    if (!cuda_host_checking || !cuda_host_running || bytes == 0 || cuda_host_own(p) ||
        (is_constant(p) && access == CUDA_HOST_READS))
        return;
    region = region_of(p);
    if (!region) {
        cuda_host_report(pc, "%s %zu bytes of %s memory", done[access], bytes,
                         is_constant(p) ? "constant" : "host");
        cuda_host_abandon(); /* as on a device; the instruction might end the process */
    }
    at = (size_t)((const unsigned char *)p - region->from);
    if (!check_known(region, at, bytes, access, pc))
        return;
    *(region->shared ? &traffic.shared : &traffic.asked) += bytes;
    check_words(region, at, bytes, access, pc);
}

void cuda_host_check_block(size_t dynamic)
{
    struct region *fixed = &regions[STATIC], *given = &regions[DYNAMIC];

    make_regions();
    if (cuda_host_checking || cuda_host_now.block == cuda_host_now.first) { /* NaN */
        if (fixed->bytes > 0)
            memset(fixed->from, 0xFF, fixed->bytes);
        memset(given->from, 0xFF, dynamic);
    }
    if (!cuda_host_checking)
        return;
    if (fixed->bytes > 0)
        memset(fixed->known, UNWRITTEN, fixed->bytes);
    memset(given->known, OUTSIDE, given->bytes);
    memset(given->known, UNWRITTEN, dynamic);
}

void cuda_host_check_copy(const void *p, size_t bytes, enum cuda_host_access access)
{
    struct region *region = &regions[HEAP];

    if (!cuda_host_checking)
        return;
    make_regions();
    cuda_host_now.first = ++cuda_host_now.block;
    cuda_host_now.thread = 0;
    cuda_host_now.epoch = 1;
    check_words(region, (size_t)((const unsigned char *)p - region->from), bytes, access, NULL);
}

void cuda_host_check_allocated(const void *p, size_t bytes, bool allocated)
{
    struct region *region = &regions[HEAP];

    size_t at;

    make_regions();
    if (!cuda_host_checking)
        return;
    at = (size_t)((const unsigned char *)p - region->from);
    if (allocated) {
        memset(region->known + at, UNWRITTEN, bytes);
    } else {
        cuda_host_give_back(region->known + at, bytes);
        cuda_host_give_back(region->cells + at / 4, (bytes + 3) / 4 * sizeof *region->cells);
    }
}

void cuda_host_check_moved(const void *to, const void *from, size_t bytes)
{
    struct region *region = &regions[HEAP];
    uint8_t *known = cuda_host_checking ? region->known + ((const unsigned char *)to - region->from) : NULL;

    if (known && from)
        memmove(known, region->known + ((const unsigned char *)from - region->from), bytes);
    else if (known)
        memset(known, WRITTEN, bytes);
}

void cuda_host_forget(const void *p, size_t bytes)
{
    bool inside;

    cuda_host_lock();
    if (cuda_host_on_device(p, bytes, &inside))
        cuda_host_check_allocated(p, bytes, true);
    else
        cuda_host_report(NULL, "%zu bytes that are to be forgotten are none of device memory", bytes);
    cuda_host_unlock();
}

/* ---- what kernels call ---- */

void cuda_host_read(const void *p, size_t bytes)
{
    cuda_host_check(p, bytes, CUDA_HOST_READS, CUDA_HOST_HERE);
}

void cuda_host_atomic(const void *p, size_t bytes)
{
    cuda_host_check(p, bytes, CUDA_HOST_CHANGES, CUDA_HOST_HERE);
}

void cuda_host_check_fences(uint32_t blocks)
{
    memset(&traffic, 0, sizeof traffic);
    if (!cuda_host_checking)
        return;
    if (blocks > fence_room) {
        free(fences);
        fence_room = blocks;
        fences = malloc(fence_room * sizeof *fences);
        if (!fences)
            abort();
    }
    memset(fences, 0, blocks * sizeof *fences);
}

void cuda_host_fence(void)
{
    if (cuda_host_checking)
        fences[cuda_host_now.block - cuda_host_now.first] = cuda_host_now.epoch;
}

/* What another block wrote is there if that block went past a fence since; that it did so before now, whoever reads knows by an
 * atomic, which kernels cannot be asked for. */
void cuda_host_fresh(const void *p, size_t bytes)
{
    struct region *region = cuda_host_checking && cuda_host_running ? region_of(p) : NULL;
    size_t at;

    if (!region || region->shared) {
        cuda_host_check(p, bytes, CUDA_HOST_READS, CUDA_HOST_HERE);
        return;
    }
    at = (size_t)((const unsigned char *)p - region->from);
    if (!check_known(region, at, bytes, CUDA_HOST_READS, CUDA_HOST_HERE))
        return;
    traffic.asked += bytes;
    for (size_t word = at / 4; word <= (at + bytes - 1) / 4; word++) {
        const struct record *write = &region->cells[word].write;

        if (write->block < cuda_host_now.first)
            cuda_host_report(CUDA_HOST_HERE, "reads as fresh what no block of this launch wrote");
        else if (write->block != cuda_host_now.block &&
                 fences[write->block - cuda_host_now.first] < write->epoch)
            cuda_host_report(CUDA_HOST_HERE, "reads what another block wrote, with no fence behind");
        else if (write->block == cuda_host_now.block)
            check_words(region, at, bytes, CUDA_HOST_READS, CUDA_HOST_HERE);
    }
}

/* ---- profile ---- */

void cuda_host_count_barrier(void)
{
    traffic.barriers++;
}

void cuda_host_count_warp(void)
{
    traffic.warp_operations++;
}

void cuda_host_check_launched(void)
{
    const struct cuda_host_launch *launch = cuda_host_now.launch;

    if (!profiling)
        return;
    fprintf(
        stderr,
        "cuda_host: %s: %u,%u,%u blocks of %u threads: %zu bytes of device memory, %zu asked (%.1f times), %zu of shared "
        "memory, %zu barriers, %zu warp operations\n",
        launch->name, launch->grid.x, launch->grid.y, launch->grid.z,
        launch->block.x * launch->block.y * launch->block.z, traffic.touched, traffic.asked,
        traffic.touched ? (double)traffic.asked / (double)traffic.touched : 0.0, traffic.shared,
        traffic.barriers, traffic.warp_operations);
}

/* ---- the hooks of -fsanitize=thread and -fsanitize=alignment ---- */

static void accessed(const void *p, size_t bytes, enum cuda_host_access kind, const void *pc)
{
    if (cuda_host_running)
        cuda_host_check(p, bytes, kind, pc);
    else
        cuda_host_touched(p, bytes, kind != CUDA_HOST_READS, pc);
}

static void aligned(const void *p, size_t bytes, const void *pc)
{
    if (cuda_host_running && (uintptr_t)p % bytes) {
        cuda_host_report(pc, "reads or writes a vector of %zu bytes at an address that is no multiple",
                         bytes);
        cuda_host_abandon(); /* the instruction would end the process */
    }
}

void __tsan_init(void);
void __tsan_init(void)
{
    cuda_host_checking = true;
}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

void __tsan_vptr_update(void **table, void *value);
void __tsan_vptr_update(void **table, void *value)
{
    (void)table;
    (void)value;
}

#define HOOK(name, is_aligned, bytes, kind)                                                                  \
    void name(void *p);                                                                                      \
    void name(void *p)                                                                                       \
    {                                                                                                        \
        if (is_aligned)                                                                                      \
            aligned(p, bytes, CUDA_HOST_HERE);                                                               \
        accessed(p, bytes, kind, CUDA_HOST_HERE);                                                            \
    }
#define HOOKS(bytes)                                                                                         \
    HOOK(__tsan_read##bytes, true, bytes, CUDA_HOST_READS)                                                   \
    HOOK(__tsan_write##bytes, true, bytes, CUDA_HOST_WRITES)                                                 \
    HOOK(__tsan_unaligned_read##bytes, false, bytes, CUDA_HOST_READS)                                        \
    HOOK(__tsan_unaligned_write##bytes, false, bytes, CUDA_HOST_WRITES)                                      \
    void __tsan_read_write##bytes(void *p);                                                                  \
    void __tsan_read_write##bytes(void *p)                                                                   \
    {                                                                                                        \
        aligned(p, bytes, CUDA_HOST_HERE);                                                                   \
        accessed(p, bytes, CUDA_HOST_READS, CUDA_HOST_HERE);                                                 \
        accessed(p, bytes, CUDA_HOST_WRITES, CUDA_HOST_HERE);                                                \
    }                                                                                                        \
    void __tsan_unaligned_read_write##bytes(void *p);                                                        \
    void __tsan_unaligned_read_write##bytes(void *p)                                                         \
    {                                                                                                        \
        accessed(p, bytes, CUDA_HOST_READS, CUDA_HOST_HERE);                                                 \
        accessed(p, bytes, CUDA_HOST_WRITES, CUDA_HOST_HERE);                                                \
    }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

void __tsan_read_range(void *p, unsigned long bytes);
void __tsan_read_range(void *p, unsigned long bytes)
{
    accessed(p, bytes, CUDA_HOST_READS, CUDA_HOST_HERE);
}

void __tsan_write_range(void *p, unsigned long bytes);
void __tsan_write_range(void *p, unsigned long bytes)
{
    accessed(p, bytes, CUDA_HOST_WRITES, CUDA_HOST_HERE);
}

void *__tsan_memcpy(void *to, const void *from, unsigned long bytes);
void *__tsan_memcpy(void *to, const void *from, unsigned long bytes)
{
    accessed(from, bytes, CUDA_HOST_READS, CUDA_HOST_HERE);
    accessed(to, bytes, CUDA_HOST_WRITES, CUDA_HOST_HERE);
    return memcpy(to, from, bytes);
}

void *__tsan_memmove(void *to, const void *from, unsigned long bytes);
void *__tsan_memmove(void *to, const void *from, unsigned long bytes)
{
    accessed(from, bytes, CUDA_HOST_READS, CUDA_HOST_HERE);
    accessed(to, bytes, CUDA_HOST_WRITES, CUDA_HOST_HERE);
    return memmove(to, from, bytes);
}

void *__tsan_memset(void *to, int value, unsigned long bytes);
void *__tsan_memset(void *to, int value, unsigned long bytes)
{
    accessed(to, bytes, CUDA_HOST_WRITES, CUDA_HOST_HERE);
    return memset(to, value, bytes);
}

void __ubsan_handle_type_mismatch_v1(void *data, void *p);
void __ubsan_handle_type_mismatch_v1(void *data, void *p)
{
    (void)data;
    (void)p;
    if (cuda_host_running) {
        cuda_host_report(CUDA_HOST_HERE,
                         "reads or writes a vector at an address that is no multiple of its bytes");
        cuda_host_abandon();
    }
}
