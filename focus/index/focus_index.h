/*
 * focus/index/focus_index.h: the scores of a cheap network for many items, and what an expensive network said of some.
 *
 * The file only grows. It is a list of blocks, each with its length and checksums, so whatever kills a writer leaves an
 * index that is valid up to its last closed block:
 *
 *      | head | items 0 .. 4095 | items 4096 .. 5999 | answers of items 17, 93, ... | items 6000 .. | answers ...
 *
 *      head      JSON: networks and data that the index belongs to, names of classes
 *      items     columns: one of scores for each class, or of the K best classes and the rest; names of the items with
 *                checksums of their files; of moving things frame, box and track
 *      answers   the class that the expensive network gives an item: asked once, used by all later queries
 *
 * A score is the log-odds of a class, ln(p / (1 - p)), in 16 bits: code 0 is -32, code 65535 is +32, a step is 0.001.
 * Numbers are little endian. Readers map the file and check every length before they use it. One process writes at a
 * time (PATH.lock).
 *
 *      focus_index index;
 *      WEFT_TRY(focus_index_open("cats.idx", &index));
 *      uint16_t code = focus_index_code(&index, item, class);
 *      focus_index_close(&index);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/file.h"
#include "io/item_origin.h"
#include "io/name_list.h"

enum {
    FOCUS_HASH_BYTES = 33,           /* 32 hexadecimal digits and a NUL */
    FOCUS_ALL_CLASSES = 16,          /* networks of at most so many classes keep the scores of all of them */
    FOCUS_CLASSES_MAX = 65535,       /* classes of a network: their numbers have 16 bits */
    FOCUS_BLOCK_ITEMS = 4096,        /* items of a block */
    FOCUS_ITEMS_MAX = 2000000000,    /* items of an index */
    FOCUS_NAME_BYTES = FILE_PATH_MAX /* bytes of an item's name, with its NUL */
};

extern weft_mem_tag WEFT_MEM_FOCUS[1];

/* What an index belongs to. */
typedef struct focus_head {
    /* The cheap network, and the data where items have no names; "": items have names. */
    char cheap[FOCUS_HASH_BYTES], data[FOCUS_HASH_BYTES];
    /* Classes of the cheap network; scores of an item, which are all of them, or those of the `kept` likeliest. */
    int64_t classes, kept;
    /* Items are boxes of frames, which have names and tracks. */
    bool moving;
    /* [classes] names, or none. */
    name_list class_name;
} focus_head;

typedef struct focus_block focus_block;

typedef struct focus_index {
    file_map map;
    focus_head head;
    focus_block *block; /* [blocks] of items, in their order */
    int64_t blocks, capacity, items;
    int64_t tracks;                   /* of moving things; numbered in the order of their first items */
    int32_t *answer;                  /* [items] class by the expensive network; -1: it was not asked */
    int64_t answered;                 /* items that have an answer */
    char expensive[FOCUS_HASH_BYTES]; /* that network; "": there are no answers */
    int64_t bytes, dropped;           /* of closed blocks; of a last block that was never closed */
} focus_index;

/* Log-odds of a score; code of log-odds, which are cut at +-32. NaN has no code: the caller refuses it. */
double focus_log_odds(uint16_t code);
uint16_t focus_code(double log_odds);

/* [out] index: for focus_index_close, also after a failure. The file's unclosed end is left out with a warning.
 * WEFT_ERR_NOINPUT: there is no such file. WEFT_ERR_DATA: it is no index, of another version, or damaged; the message
 * names the block and its byte. */
weft_status focus_index_open(const char *path, focus_index *index);
void focus_index_close(focus_index *index);

/* Returns the code of a class of the cheap network. A class that is none of an item's kept ones has the code of all
 * that are left together, an upper bound, or the least kept one where that is smaller. */
uint16_t focus_index_code(const focus_index *index, int64_t item, int64_t class);
/* Returns the name of an item, or NULL where items have none; the index owns it. */
const char *focus_index_name(const focus_index *index, int64_t item);
/* Returns where an item comes from: zeros where items have no names, frame, box and track of moving things alone. */
item_origin focus_index_origin(const focus_index *index, int64_t item);

/* ---- writing ---- */

typedef struct focus_writer focus_writer;

/* Makes the file with its head. [out] writer: for focus_writer_close. WEFT_ERR_USAGE: the file exists, or another
 * process writes it; otherwise what file_fail_output says. */
weft_status focus_writer_create(const char *path, const focus_head *head, focus_writer **writer);
/* Goes on behind the last closed block of an index that was opened; an unclosed end is cut off. WEFT_ERR_USAGE: another
 * process writes it, or has written it since it was opened. */
weft_status focus_writer_append(const char *path, const focus_index *index, focus_writer **writer);
/* Adds an item. log_odds: [head->classes], none NaN. name: NULL where items have none. origin: of moving things with a
 * box, and a track that an item has already or the next number. Every FOCUS_BLOCK_ITEMS items a block is closed.
 * WEFT_ERR_DATA: a name that is empty or too long; WEFT_ERR_USAGE: the index is full. */
weft_status focus_writer_item(focus_writer *writer, const double *log_odds, const char *name,
                              const item_origin *origin);
/* Closes the block of the items that were added since the last one, if there are such. */
weft_status focus_writer_flush(focus_writer *writer);
/* Writes a block of answers of the network of this hash. item: [count] ascending. */
weft_status focus_writer_answers(focus_writer *writer, const char *expensive, const int64_t *item, const int32_t *class,
                                 int64_t count);
/* Returns the bytes of all closed blocks. */
int64_t focus_writer_bytes(const focus_writer *writer);
/* Items that were not flushed are lost. NULL is allowed. */
void focus_writer_close(focus_writer *writer);
