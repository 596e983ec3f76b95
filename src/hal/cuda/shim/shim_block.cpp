/*
 * hal/cuda/shim/shim_block.cpp: see shim_block.h. A fiber is a stack and a place in it: switching saves the registers
 * that calls keep, without the system calls of swapcontext, and is told to the sanitizers of addresses and threads.
 */
#include "hal/cuda/shim/shim_block.h"

#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#define SHIM_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define SHIM_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHIM_ASAN 1
#elif __has_feature(thread_sanitizer)
#define SHIM_TSAN 1
#endif
#endif
#ifdef SHIM_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef SHIM_TSAN
#include <sanitizer/tsan_interface.h>
#define SHIM_UNSEEN __attribute__((no_sanitize("thread"))) /* calls that one fiber enters and another leaves */
#else
#define SHIM_UNSEEN
#endif

__thread shim_place shim_at;

/* *save = the top of this stack, with registers; go on at the top of the other. x86-64, System V. */
extern "C" void shim_switch(void **save, void *other);
asm(".text\n"
    ".globl shim_switch\n"
    ".type shim_switch, @function\n"
    "shim_switch:\n"
    "    pushq %rbp\n"
    "    pushq %rbx\n"
    "    pushq %r12\n"
    "    pushq %r13\n"
    "    pushq %r14\n"
    "    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n"
    "    popq %r14\n"
    "    popq %r13\n"
    "    popq %r12\n"
    "    popq %rbx\n"
    "    popq %rbp\n"
    "    ret\n"
    ".size shim_switch, . - shim_switch\n");

namespace
{

enum state { RUNS, WAITS_FOR_BLOCK, WAITS_FOR_WARP, ENDED };
enum { STACK = 64 << 10, KEPT_REGISTERS = 6 };

struct fiber {
    void *top; /* of the stack, while another one runs */
    char *stack;
    void *asan; /* its shadow stack, while another one runs */
    void *tsan; /* the thread that it is */
    state is;
    unsigned mask;            /* of the warp's lanes that it waits with */
    uint64_t word;            /* what it hands in */
    uint64_t seen[SHIM_WARP]; /* what all of them handed in */
    shim_place at;
};

/* The block that this host thread runs. */
struct team {
    fiber fibers[SHIM_MOST_THREADS];
    shim_index places[SHIM_MOST_THREADS]; /* in a block of this grid */
    void *scheduler; /* top of its stack, while a fiber runs */
    void *scheduler_asan;
    const void *scheduler_stack;
    size_t scheduler_bytes;
    void *scheduler_tsan;
    shim_kernel *kernel;
    unsigned threads, current;
    bool running;
    uint64_t random;

    ~team()
    {
        for (fiber &f : fibers) {
            free(f.stack);
#ifdef SHIM_TSAN
            if (f.tsan != nullptr) {
                __tsan_destroy_fiber(f.tsan);
            }
#endif
        }
    }
};

/* Of this host thread, made by its first grid; a plain pointer, as what has a destructor is asked for by a call each
 * time. */
__thread team *here;

struct team_owner {
    ~team_owner()
    {
        delete here;
        here = nullptr;
    }
};

void enter_team()
{
    thread_local team_owner owner;
    if (here == nullptr) {
        (void)&owner; /* ends with the thread */
        here = new team{};
    }
}

[[noreturn]] void give_up(const char *what)
{
    fprintf(stderr, "shim of CUDA: block (%u, %u), thread %u: %s\n", shim_at.block.x, shim_at.block.y, here->current, what);
    abort();
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

/* start, and step further round each time, visits each of count once when the step shares no divisor with it. */
struct order {
    uint64_t step, start, count;

    uint64_t after(uint64_t at) const
    {
        return at + step < count ? at + step : at + step - count;
    }
};

uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint64_t draw()
{
    here->random = here->random * 6364136223846793005u + 1442695040888963407u;
    return here->random >> 33;
}

/* Of this grid: what WEFT_CUDA_SHIM_ORDER says, forward or reverse, or at random. */
enum wish { AT_RANDOM, FORWARD, REVERSE };

wish asked()
{
    const char *word = getenv("WEFT_CUDA_SHIM_ORDER");
    const bool forward = word != nullptr && strcmp(word, "forward") == 0;
    const bool reverse = word != nullptr && strcmp(word, "reverse") == 0;
    return forward ? FORWARD : reverse ? REVERSE : AT_RANDOM;
}

order order_of(uint64_t count, wish how)
{
    if (how != AT_RANDOM || count < 2) {
        return {how == REVERSE ? count - 1 : 1 % count, how == REVERSE ? count - 1 : 0, count};
    }
    uint64_t step = 1 + draw() % (count - 1);
    while (divisor(step, count) != 1) {
        step = step + 1 < count ? step + 1 : 1;
    }
    return {step, draw() % count, count};
}

/* ---- fibers ------------------------------------------------------------------------------------------------------ */

SHIM_UNSEEN void before_switch(void **keep, const void *stack, size_t bytes, void *tsan)
{
#if defined(SHIM_ASAN)
    (void)tsan;
    __sanitizer_start_switch_fiber(keep, stack, bytes);
#elif defined(SHIM_TSAN)
    (void)keep, (void)stack, (void)bytes;
    __tsan_switch_to_fiber(tsan, 0);
#else
    (void)keep, (void)stack, (void)bytes, (void)tsan;
#endif
}

SHIM_UNSEEN void after_switch(void *kept, const void **stack, size_t *bytes)
{
#ifdef SHIM_ASAN
    __sanitizer_finish_switch_fiber(kept, stack, bytes);
#else
    (void)kept, (void)stack, (void)bytes;
#endif
}

SHIM_UNSEEN void to_scheduler(state is)
{
    fiber &f = here->fibers[here->current];
    f.is = is;
    before_switch(is == ENDED ? nullptr : &f.asan, here->scheduler_stack, here->scheduler_bytes, here->scheduler_tsan);
    shim_switch(&f.top, here->scheduler);
    after_switch(f.asan, nullptr, nullptr);
}

[[noreturn]] SHIM_UNSEEN void fiber_main()
{
    after_switch(nullptr, &here->scheduler_stack, &here->scheduler_bytes);
    here->kernel->run_thread();
    to_scheduler(ENDED);
    abort(); /* an ended fiber is never run again */
}

void make_fiber(unsigned i)
{
    fiber &f = here->fibers[i];
    if (f.stack == nullptr) {
        f.stack = static_cast<char *>(aligned_alloc(64, STACK));
    }
    if (f.stack == nullptr) {
        give_up("no memory for its stack");
    }
#ifdef SHIM_TSAN
    f.tsan = f.tsan != nullptr ? f.tsan : __tsan_create_fiber(0);
    here->scheduler_tsan = __tsan_get_current_fiber();
#endif
    /* As if fiber_main had been about to be called: its address above the registers, the stack as calls align it. */
    void **top = reinterpret_cast<void **>(f.stack + STACK) - 2;
    *top = reinterpret_cast<void *>(fiber_main);
    memset(top - KEPT_REGISTERS, 0, KEPT_REGISTERS * sizeof *top);
    f.top = top - KEPT_REGISTERS;
    f.asan = nullptr;
    f.is = RUNS;
}

SHIM_UNSEEN void run_fiber(unsigned i)
{
    fiber &f = here->fibers[i];
    here->current = i;
    shim_at = f.at;
    before_switch(&here->scheduler_asan, f.stack, STACK, f.tsan);
    shim_switch(&here->scheduler, f.top);
    after_switch(here->scheduler_asan, nullptr, nullptr);
}

/* ---- meetings ---------------------------------------------------------------------------------------------------- */

/* The lanes of a mask go on, each with the words of all. */
void hand_out(unsigned first, unsigned mask)
{
    const unsigned left = here->threads - first, lanes = left < (unsigned)SHIM_WARP ? left : (unsigned)SHIM_WARP;
    uint64_t words[SHIM_WARP] = {0};
    for (unsigned lane = 0; lane < lanes; ++lane) {
        words[lane] = here->fibers[first + lane].word;
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
        fiber &f = here->fibers[first + lane];
        if ((mask >> lane & 1u) != 0) {
            memcpy(f.seen, words, sizeof words);
            f.is = RUNS;
        }
    }
}

/* Let the lanes of a warp go on whose whole mask has come. */
bool release_warp(unsigned first)
{
    bool released = false;
    for (unsigned i = first; i < first + SHIM_WARP && i < here->threads; ++i) {
        fiber &f = here->fibers[i];
        if (f.is != WAITS_FOR_WARP) {
            continue;
        }
        bool complete = true;
        for (unsigned lane = 0; lane < SHIM_WARP; ++lane) {
            if ((f.mask >> lane & 1u) == 0 || first + lane >= here->threads) {
                continue;
            }
            const fiber &other = here->fibers[first + lane];
            complete = complete && other.is == WAITS_FOR_WARP && other.mask == f.mask;
        }
        if (complete) {
            hand_out(first, f.mask);
            released = true;
        }
    }
    return released;
}

bool release_block()
{
    bool some = false;
    for (unsigned i = 0; i < here->threads; ++i) {
        if (here->fibers[i].is != WAITS_FOR_BLOCK && here->fibers[i].is != ENDED) {
            return false;
        }
        some = some || here->fibers[i].is == WAITS_FOR_BLOCK;
    }
    for (unsigned i = 0; i < here->threads; ++i) {
        here->fibers[i].is = here->fibers[i].is == WAITS_FOR_BLOCK ? RUNS : here->fibers[i].is;
    }
    return some;
}

bool release()
{
    bool released = false;
    for (unsigned first = 0; first < here->threads; first += SHIM_WARP) {
        released = release_warp(first) || released;
    }
    return released || release_block();
}

void run_team(const order &threads)
{
    do {
        uint64_t thread = threads.start;
        for (unsigned i = 0; i < here->threads; ++i, thread = threads.after(thread)) {
            if (here->fibers[thread].is == RUNS) {
                run_fiber((unsigned)thread);
            }
        }
    } while (release());
    for (unsigned i = 0; i < here->threads; ++i) {
        if (here->fibers[i].is != ENDED) {
            here->current = i;
            give_up("waits at a barrier that others of its block or warp never reach");
        }
    }
}

shim_index place_of(uint64_t i, shim_index shape)
{
    return {(unsigned)(i % shape.x), (unsigned)(i / shape.x % shape.y), (unsigned)(i / shape.x / shape.y)};
}

void run_block(shim_place at, bool barriers, wish how)
{
    const order threads = order_of(here->threads, how);
    uint64_t thread = threads.start;
    for (unsigned i = 0; i < here->threads; ++i, thread = threads.after(thread)) {
        at.thread = here->places[thread];
        if (barriers) {
            make_fiber((unsigned)thread);
            here->fibers[thread].at = at;
        } else {
            here->current = (unsigned)thread;
            shim_at = at;
            here->kernel->run_thread();
        }
    }
    if (barriers) {
        here->running = true;
        run_team(threads);
        here->running = false;
    }
}

} // namespace

void shim_run_grid(shim_kernel &kernel, shim_index grid, shim_index block, bool barriers)
{
    const uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z;
    const wish how = asked();
    enter_team();
    const order turns = order_of(blocks, how);
    here->kernel = &kernel;
    here->threads = block.x * block.y * block.z;
    for (unsigned i = 0; i < here->threads; ++i) {
        here->places[i] = place_of(i, block);
    }
    uint64_t turn = turns.start;
    for (uint64_t i = 0; i < blocks; ++i, turn = turns.after(turn)) {
        run_block({{0, 0, 0}, place_of(turn, grid), block, grid}, barriers, how);
    }
}

void shim_wait_block()
{
    if (!here->running) {
        give_up("waits at a barrier, and was launched as a kernel without any");
    }
    to_scheduler(WAITS_FOR_BLOCK);
}

const uint64_t *shim_wait_warp(unsigned mask, uint64_t word)
{
    fiber &f = here->fibers[here->current];
    if (!here->running) {
        give_up("meets its warp, and was launched as a kernel that does not");
    }
    if ((mask >> here->current % SHIM_WARP & 1u) == 0) {
        give_up("is no lane of the mask that it waits with");
    }
    f.word = word;
    f.mask = mask;
    to_scheduler(WAITS_FOR_WARP);
    return f.seen;
}
