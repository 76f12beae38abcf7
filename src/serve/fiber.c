/* SPDX-License-Identifier: MIT */
/* Fibers, on the C library's contexts.
 *
 * A context begins a fiber.  After that it is left and entered with _setjmp() and _longjmp(), which
 * make no system calls: swapcontext() makes one to set the signal mask, which is the same for all.
 * Checked variants of longjmp() refuse to enter another stack, so this file does without them. */
#undef _FORTIFY_SOURCE
#include "serve/fiber.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* AddressSanitizer knows of other stacks only through swapcontext(). */
#if defined(__SANITIZE_ADDRESS__)
#define KNOWS_STACKS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KNOWS_STACKS
#endif
#endif

struct serve_fiber {
    ucontext_t own;
#ifdef KNOWS_STACKS
    ucontext_t resumer;
#else
    jmp_buf paused;
    jmp_buf resumer;
    bool has_begun;
#endif
    void (*run)(void *context);
    void *context;
    void *memory; /* the guard page, and the stack above it */
    size_t size;
};

/* makecontext() passes ints only, so a pointer comes in two halves. */
static void fiber_main(unsigned high, unsigned low)
{
    struct serve_fiber *fiber = (struct serve_fiber *)(((uintptr_t)high << 16 << 16) | low);

    for (;;) {
        fiber->run(fiber->context);
        serve_fiber_pause(fiber);
    }
}

/* A function of its own: the compiler optimizes a caller of getcontext() less, since that may
 * return twice. */
static void fill_context(ucontext_t *context)
{
    getcontext(context);
}

static bool make_stack(struct serve_fiber *fiber)
{
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, guard + SERVE_FIBER_STACK_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return false;
    fiber->memory = memory;
    fiber->size = guard + SERVE_FIBER_STACK_SIZE;
    fiber->own.uc_stack.ss_sp = (char *)memory + guard;
    fiber->own.uc_stack.ss_size = SERVE_FIBER_STACK_SIZE;
    return mprotect(memory, guard, PROT_NONE) == 0;
}

struct serve_fiber *serve_fiber_new(void (*run)(void *context), void *context)
{
    struct serve_fiber *fiber = calloc(1, sizeof *fiber);
    uintptr_t self = (uintptr_t)fiber;

    if (!fiber)
        return NULL;
    fill_context(&fiber->own);
    fiber->run = run;
    fiber->context = context;
    if (!make_stack(fiber)) {
        serve_fiber_free(fiber);
        return NULL;
    }
    makecontext(&fiber->own, (void (*)(void))fiber_main, 2, (unsigned)(self >> 16 >> 16),
                (unsigned)self);
    return fiber;
}

void serve_fiber_free(struct serve_fiber *fiber)
{
    if (fiber && fiber->memory)
        munmap(fiber->memory, fiber->size);
    free(fiber);
}

#ifdef KNOWS_STACKS

void serve_fiber_resume(struct serve_fiber *fiber)
{
    swapcontext(&fiber->resumer, &fiber->own);
}

void serve_fiber_pause(struct serve_fiber *fiber)
{
    swapcontext(&fiber->own, &fiber->resumer);
}

#else

void serve_fiber_resume(struct serve_fiber *fiber)
{
    if (_setjmp(fiber->resumer) != 0)
        return;
    if (fiber->has_begun)
        _longjmp(fiber->paused, 1);
    fiber->has_begun = true;
    setcontext(&fiber->own);
}

void serve_fiber_pause(struct serve_fiber *fiber)
{
    if (_setjmp(fiber->paused) == 0)
        _longjmp(fiber->resumer, 1);
}

#endif
