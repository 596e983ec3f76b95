/* hal/shadow/shadow_memory.c: blocks between guard pages, opened only while an operation runs. */
#include "hal/shadow/shadow_memory.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/integer/search.h"
#include "base/log.h"

struct shadow_block {
    void *owned; /* from base/alloc.h */
    char *pages; /* first data page, after the guard */
    size_t page_bytes;
    char *data; /* what the caller got */
    size_t bytes;
    int protection; /* of the data pages now */
    int wanted;     /* by the operation that begins; closed between operations */
};

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static weft_status protect(shadow_block *block, int protection)
{
    if (block->protection == protection) {
        return WEFT_OK;
    }
    WEFT_CHECK(mprotect(block->pages, block->page_bytes, protection) == 0, WEFT_ERR_RESOURCE,
               "shadow: the protection of %zu bytes could not be changed (too many mappings: sysctl vm.max_map_count?)",
               block->page_bytes);
    block->protection = protection;
    return WEFT_OK;
}

/* While no operation runs. */
static int closed(const shadow_memory *memory)
{
    return memory->open ? PROT_READ | PROT_WRITE : PROT_NONE;
}

/* Index of the first block that starts after `data`. */
static int64_t blocks_up_to(const shadow_memory *memory, const void *data)
{
    int64_t place = 0;
    SEARCH_FIRST(place, memory->blocks, (uintptr_t)memory->block[at].data <= (uintptr_t)data);
    return place;
}

/* The block that `data` points into, or NULL. */
static shadow_block *block_of(const shadow_memory *memory, const void *data)
{
    int64_t i = blocks_up_to(memory, data) - 1;
    if (i < 0) {
        return NULL;
    }
    shadow_block *block = &memory->block[i];
    return (uintptr_t)data < (uintptr_t)block->data + block->bytes ? block : NULL;
}

static weft_status insert_block(shadow_memory *memory, const shadow_block *block)
{
    if (memory->blocks == memory->capacity) {
        int64_t capacity = memory->capacity > 0 ? 2 * memory->capacity : 64;
        WEFT_TRY(weft_realloc((void **)&memory->block, (size_t)capacity, sizeof *memory->block, WEFT_MEM_GENERAL));
        memory->capacity = capacity;
    }
    int64_t at = blocks_up_to(memory, block->data);
    memmove(&memory->block[at + 1], &memory->block[at], (size_t)(memory->blocks - at) * sizeof *memory->block);
    memory->block[at] = *block;
    memory->blocks += 1;
    return WEFT_OK;
}

/* Give the pages, guards included, back as the allocator knew them. */
static void release_block(shadow_block *block)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (mprotect(block->pages - page, block->page_bytes + 2 * page, PROT_READ | PROT_WRITE) != 0) {
        log_warn("shadow: %zu bytes stay protected and are not freed", block->page_bytes);
        return;
    }
    weft_free(block->owned);
}

weft_status shadow_alloc(shadow_memory *memory, size_t bytes, weft_mem_tag *tag, void **device)
{
    *device = NULL;
    if (bytes == 0) {
        return WEFT_OK;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    WEFT_CHECK(bytes <= (size_t)INT64_MAX - 8 * page, WEFT_ERR_RESOURCE, "shadow: %zu bytes are too many", bytes);
    shadow_block block = {.bytes = bytes, .page_bytes = round_up(bytes, page), .protection = PROT_READ | PROT_WRITE};
    WEFT_TRY(weft_malloc(block.page_bytes + 3 * page, 1, tag, &block.owned));
    block.pages = (char *)round_up((uintptr_t)block.owned, page) + page;
    block.data = block.pages + block.page_bytes - round_up(bytes, 64);
    memset(block.pages, 0xff, block.page_bytes);
    weft_status status = WEFT_OK;
    if (mprotect(block.pages - page, block.page_bytes + 2 * page, PROT_NONE) != 0) {
        status = weft_fail(WEFT_ERR_RESOURCE, "shadow: %zu bytes could not be protected", block.page_bytes);
    } else {
        block.protection = PROT_NONE;
        block.wanted = closed(memory);
        status = protect(&block, closed(memory));
        status = status == WEFT_OK ? insert_block(memory, &block) : status;
    }
    if (status != WEFT_OK) {
        release_block(&block);
        return status;
    }
    *device = block.data;
    return WEFT_OK;
}

void shadow_free(shadow_memory *memory, void *device)
{
    if (device == NULL) {
        return;
    }
    shadow_block *block = block_of(memory, device);
    if (block == NULL || block->data != device) {
        log_warn("shadow: %p is freed but was not allocated here (or was freed before)", device);
        return;
    }
    release_block(block);
    int64_t at = block - memory->block;
    memory->blocks -= 1;
    memmove(block, block + 1, (size_t)(memory->blocks - at) * sizeof *block);
}

int64_t shadow_free_all(shadow_memory *memory)
{
    int64_t left = memory->blocks;
    for (int64_t i = 0; i < left; ++i) {
        release_block(&memory->block[i]);
    }
    weft_free(memory->block);
    memset(memory, 0, sizeof *memory);
    return left;
}

static size_t extent(const shadow_use *use)
{
    return use->rows == 0 || use->row_bytes == 0 ? 0 : (use->rows - 1) * use->stride + use->row_bytes;
}

static weft_status check_block(const shadow_memory *memory, const char *op, const shadow_use *use)
{
    const shadow_block *block = block_of(memory, use->data);
    WEFT_CHECK(block != NULL, WEFT_ERR_INTERNAL, "shadow: %s of %s is %p, not memory of this device", use->name, op,
               use->data);
    size_t offset = (size_t)((uintptr_t)use->data - (uintptr_t)block->data);
    WEFT_CHECK(extent(use) <= block->bytes - offset, WEFT_ERR_INTERNAL,
               "shadow: %s of %s takes %zu bytes at offset %zu of a block of %zu", use->name, op, extent(use), offset,
               block->bytes);
    return WEFT_OK;
}

weft_status shadow_check(const shadow_memory *memory, const char *op, const shadow_use *use, int uses)
{
    for (int i = 0; i < uses; ++i) {
        if (extent(&use[i]) > 0) {
            WEFT_TRY(check_block(memory, op, &use[i]));
        }
    }
    return WEFT_OK;
}

/* Close what is open, but for blocks that the operation that begins wants too. */
static void close_blocks(shadow_memory *memory)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < memory->opened; ++i) {
        shadow_block *block = block_of(memory, memory->open_block[i]);
        if (block->wanted != closed(memory)) {
            memory->open_block[kept++] = block->data;
        } else if (protect(block, closed(memory)) != WEFT_OK) {
            log_warn("%s", weft_error_message());
        }
    }
    memory->opened = kept;
}

static weft_status open_block(shadow_memory *memory, shadow_block *block)
{
    if (block->protection == closed(memory) && block->wanted != closed(memory)) {
        memory->open_block[memory->opened++] = block->data;
    }
    return protect(block, block->wanted);
}

static bool overlaps(const shadow_use *a, const shadow_use *b)
{
    uintptr_t a_begin = (uintptr_t)a->data;
    uintptr_t b_begin = (uintptr_t)b->data;
    return a_begin < b_begin + extent(b) && b_begin < a_begin + extent(a);
}

/* Fill an output with NaNs, row by row: what lies between the rows belongs to somebody else. */
static void poison(const shadow_memory *memory, const shadow_use *use)
{
    const shadow_block *block = block_of(memory, use->data);
    char *data = block->data + ((uintptr_t)use->data - (uintptr_t)block->data);
    for (size_t row = 0; row < use->rows; ++row) {
        memset(data + row * use->stride, 0xff, use->row_bytes);
    }
}

/* The block of an operand; NULL: it has no bytes. */
static shadow_block *block_used(const shadow_memory *memory, const shadow_use *use)
{
    return extent(use) > 0 ? block_of(memory, use->data) : NULL;
}

static void poison_fresh(const shadow_memory *memory, const shadow_use *use, int uses)
{
    for (int i = 0; i < uses; ++i) {
        bool fresh = use[i].access == SHADOW_FRESH && extent(&use[i]) > 0;
        for (int j = 0; j < uses && fresh; ++j) {
            fresh = j == i || !overlaps(&use[i], &use[j]);
        }
        if (fresh) {
            poison(memory, &use[i]);
        }
    }
}

weft_status shadow_begin(shadow_memory *memory, const char *op, const shadow_use *use, int uses)
{
    weft_status status = shadow_check(memory, op, use, uses);
    assert(uses <= HAL_MOST_OPERANDS);
    for (int i = 0; status == WEFT_OK && i < uses; ++i) {
        shadow_block *block = block_used(memory, &use[i]);
        if (block != NULL) {
            block->wanted |= use[i].access == SHADOW_READ ? PROT_READ : PROT_READ | PROT_WRITE;
        }
    }
    close_blocks(memory);
    for (int i = 0; status == WEFT_OK && i < uses; ++i) {
        shadow_block *block = block_used(memory, &use[i]);
        status = block != NULL ? open_block(memory, block) : WEFT_OK;
    }
    for (int i = 0; i < uses; ++i) {
        shadow_block *block = block_used(memory, &use[i]);
        if (block != NULL) {
            block->wanted = closed(memory);
        }
    }
    WEFT_TRY(status);
    poison_fresh(memory, use, uses);
    return WEFT_OK;
}

void shadow_end(shadow_memory *memory)
{
    close_blocks(memory);
}
