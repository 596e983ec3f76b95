/*
 * base/alloc.c: a 64-byte header in front of each block keeps its size and tag; blocks of 4 MiB and more come from
 * mmap, aligned to 2 MiB, and are advised to use huge pages.
 */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64 };
#define PAGE           ((size_t)4096)
#define HUGE_PAGE      ((size_t)2 << 20)
#define HUGE_THRESHOLD ((size_t)4 << 20)

typedef struct block_header {
    size_t bytes;     /* asked for */
    size_t map_bytes; /* length of the mapping, 0 when from the heap */
    void *map_base;   /* start of the mapping */
    weft_mem_tag *tag;
} block_header;

_Static_assert(sizeof(block_header) <= ALIGNMENT, "the header must fit in one alignment unit");

weft_mem_tag WEFT_MEM_GENERAL[1] = {{.text = "general"}};
weft_mem_tag WEFT_MEM_WORKSPACE[1] = {{.text = "workspace"}};

static weft_mem_tag total = {.text = "total"};
static atomic_uint_fast64_t fail_countdown;

static void raise_peak(weft_mem_tag *tag, uint64_t bytes)
{
    uint64_t peak = atomic_load(&tag->peak_bytes);
    while (bytes > peak && !atomic_compare_exchange_weak(&tag->peak_bytes, &peak, bytes)) {
    }
}

static void count_up(weft_mem_tag *tag, size_t bytes)
{
    uint64_t now = atomic_fetch_add(&tag->current_bytes, bytes) + bytes;
    raise_peak(tag, now);
    atomic_fetch_add(&tag->allocations, 1);
}

static int injected_failure(void)
{
    uint_fast64_t left = atomic_load(&fail_countdown);
    while (left > 0) {
        if (atomic_compare_exchange_weak(&fail_countdown, &left, left - 1)) {
            return left == 1;
        }
    }
    return 0;
}

/* Map `bytes` (header included) so that the user's part starts on a huge page boundary. */
static block_header *map_block(size_t bytes)
{
    size_t length = bytes + 2 * HUGE_PAGE;
    char *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        return NULL;
    }
    uintptr_t user = ((uintptr_t)base + ALIGNMENT + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    madvise((void *)user, bytes, MADV_HUGEPAGE);
    block_header *header = (block_header *)(user - ALIGNMENT);
    header->map_base = base;
    header->map_bytes = length;
    return header;
}

static block_header *heap_block(size_t bytes)
{
    void *base = NULL;
    if (posix_memalign(&base, ALIGNMENT, bytes + ALIGNMENT) != 0) {
        return NULL;
    }
    block_header *header = base;
    header->map_base = NULL;
    header->map_bytes = 0;
    return header;
}

weft_status weft_malloc(size_t count, size_t size, weft_mem_tag *tag, void **out)
{
    *out = NULL;
    size_t bytes;
    WEFT_CHECK(!__builtin_mul_overflow(count, size, &bytes) && bytes < SIZE_MAX / 2, WEFT_ERR_RESOURCE,
               "%zu x %zu bytes for %s cannot be addressed", count, size, tag->text);
    if (bytes == 0) {
        return WEFT_OK;
    }
    block_header *header = NULL;
    if (!injected_failure()) {
        header = bytes >= HUGE_THRESHOLD ? map_block(bytes) : heap_block(bytes);
    }
    WEFT_CHECK(header != NULL, WEFT_ERR_RESOURCE, "no memory for %zu bytes (%s)", bytes, tag->text);
    header->bytes = bytes;
    header->tag = tag;
    count_up(tag, bytes);
    count_up(&total, bytes);
    *out = (char *)header + ALIGNMENT;
    return WEFT_OK;
}

weft_status weft_calloc(size_t count, size_t size, weft_mem_tag *tag, void **out)
{
    WEFT_TRY(weft_malloc(count, size, tag, out));
    if (*out != NULL) {
        const block_header *header = (const block_header *)((char *)*out - ALIGNMENT);
        if (header->map_bytes == 0) { /* fresh mappings are zero already and stay untouched */
            memset(*out, 0, count * size);
        }
    }
    return WEFT_OK;
}

weft_status weft_realloc(void **block, size_t count, size_t size, weft_mem_tag *tag)
{
    void *fresh;
    WEFT_TRY(weft_malloc(count, size, tag, &fresh));
    if (*block != NULL && fresh != NULL) {
        const block_header *header = (const block_header *)((char *)*block - ALIGNMENT);
        size_t keep = header->bytes < count * size ? header->bytes : count * size;
        memcpy(fresh, *block, keep);
    }
    weft_free(*block);
    *block = fresh;
    return WEFT_OK;
}

weft_status weft_mem_take(size_t bytes, weft_mem_tag *tag)
{
    WEFT_CHECK(!injected_failure(), WEFT_ERR_RESOURCE, "no memory for %zu bytes (%s)", bytes, tag->text);
    count_up(tag, bytes);
    count_up(&total, bytes);
    return WEFT_OK;
}

void weft_mem_give_back(size_t bytes, weft_mem_tag *tag)
{
    atomic_fetch_sub(&tag->current_bytes, bytes);
    atomic_fetch_sub(&total.current_bytes, bytes);
}

void weft_free(void *block)
{
    if (block == NULL) {
        return;
    }
    block_header *header = (block_header *)((char *)block - ALIGNMENT);
    weft_mem_give_back(header->bytes, header->tag);
    if (header->map_bytes > 0) {
        munmap(header->map_base, header->map_bytes);
    } else {
        free(header);
    }
}

void weft_free_part(void *block, size_t begin, size_t end)
{
    block_header *header = (block_header *)((char *)block - ALIGNMENT);
    const size_t from = (begin + PAGE - 1) & ~(PAGE - 1), to = end & ~(PAGE - 1);
    if (header->map_bytes > 0 && from < to && madvise((char *)block + from, to - from, MADV_DONTNEED) == 0) {
        weft_mem_give_back(to - from, header->tag);
        header->bytes -= to - from;
    }
}

void weft_free_each(void *const *block, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        weft_free(block[i]);
    }
}

weft_mem_usage weft_mem_usage_of(const weft_mem_tag *tag)
{
    return (weft_mem_usage){.current_bytes = atomic_load(&tag->current_bytes),
                            .peak_bytes = atomic_load(&tag->peak_bytes),
                            .allocations = atomic_load(&tag->allocations)};
}

weft_mem_usage weft_mem_usage_total(void)
{
    return weft_mem_usage_of(&total);
}

uint64_t weft_mem_peak_restart(void)
{
    return atomic_exchange(&total.peak_bytes, atomic_load(&total.current_bytes));
}

void weft_mem_peak_resume(uint64_t earlier)
{
    raise_peak(&total, earlier);
}

void weft_alloc_fail_after(uint64_t n)
{
    atomic_store(&fail_countdown, n);
}
