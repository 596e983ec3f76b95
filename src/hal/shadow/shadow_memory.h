/*
 * hal/shadow/shadow_memory.h: host memory that behaves like a device's.
 *
 *      guard page | slack  |  block (end on a 64-byte border of the page's end)  | guard page
 *
 * A block's pages are PROT_NONE except while an operation of the backend runs: readable when it is an input, writable
 * when it is an output. A host access faults, a write to an input faults, and running past the end meets the guard
 * page. New blocks are filled with 0xff bytes, which are NaNs, so that what was never uploaded shows.
 *
 * Open memory is for tests of messages that go straight from a device and to it: its pages stay as they are, between
 * the same guards.
 */
#pragma once

#include "hal/hal.h"
#include "hal/table/op_table.h"

typedef struct shadow_block shadow_block;

typedef struct shadow_memory {
    shadow_block *block; /* sorted by address */
    int64_t blocks, capacity;
    bool open;
    void *open_block[HAL_MOST_OPERANDS]; /* data of the blocks that an operation opened */
    int64_t opened;
} shadow_memory;

typedef enum shadow_access {
    SHADOW_READ,
    SHADOW_UPDATE, /* read and written */
    SHADOW_FRESH   /* written without being read: poisoned first, unless the same operation reads it elsewhere */
} shadow_access;

/* An operand: rows of row_bytes each, stride bytes apart. */
typedef struct shadow_use {
    const char *name;
    const void *data;
    size_t rows, row_bytes, stride;
    shadow_access access;
} shadow_use;

weft_status shadow_alloc(shadow_memory *memory, size_t bytes, weft_mem_tag *tag, void **device);
/* NULL is allowed; a pointer that is no block's start is an error of the caller, reported in the log. */
void shadow_free(shadow_memory *memory, void *device);
/* Frees what is left; returns the number of blocks that were. */
int64_t shadow_free_all(shadow_memory *memory);

/* Whether each operand lies inside one block. */
weft_status shadow_check(const shadow_memory *memory, const char *op, const shadow_use *use, int uses);
/* Open the blocks of an operation's operands, checked as above, for what it does to each; those of the operation before
 * that it does not use are closed. */
weft_status shadow_begin(shadow_memory *memory, const char *op, const shadow_use *use, int uses);
/* Close what the last operation has left open. */
void shadow_end(shadow_memory *memory);
