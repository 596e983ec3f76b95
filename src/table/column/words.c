/*
 * table/column/words.c: see table/words.h.
 *
 *   entries     blocks of 1024, 2048, 4096, ... entries, which never move: a thread that knows a code may read
 *               its entry
 *   texts       blocks of 256 KiB or more, behind each other
 *   indices     one of all words, under the lock, and one a thread: open addressing, a quarter to a half full
 *
 * A thread learns a code under the lock under which the entry was written, so it sees the whole entry.
 */
#include "table/words.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "table/column.h"

enum { FIRST_BITS = 10, BLOCKS = 22, TEXT_BLOCK = 256 << 10, SLOTS_FIRST = 64, SHORT = 8 };
#define WORDS_MOST INT64_C(2147483646)

typedef struct entry {
    const char *text;
    uint64_t key;
    size_t bytes;
} entry;

typedef struct text_block {
    struct text_block *before;
    size_t used, capacity;
    char text[];
} text_block;

/* A slot holds code + 1, 0 if it is free. A word of up to SHORT bytes is its own key, so that it is compared without
 * a look at its entry; the key of a longer one is its hash. */
typedef struct slot {
    uint64_t key;
    uint32_t code, bytes;
} slot;

typedef struct word_index {
    slot *slots;
    uint64_t capacity, used; /* capacity is a power of two, or 0 */
} word_index;

struct table_words {
    pthread_mutex_t lock;
    entry *block[BLOCKS];
    int64_t count;
    text_block *texts;
    int threads;
    word_index all;
    word_index of_thread[];
};

static entry *entry_of(const table_words *words, int64_t code)
{
    const uint64_t place = (uint64_t)code + (1U << FIRST_BITS);
    const int bits = 63 - __builtin_clzll(place);
    assert(bits - FIRST_BITS < BLOCKS);
    return words->block[bits - FIRST_BITS] + (place - (UINT64_C(1) << bits));
}

weft_status words_create(int threads, table_words **words)
{
    table_words *w;
    WEFT_TRY(weft_calloc(1, sizeof *w + (size_t)threads * sizeof *w->of_thread, WEFT_MEM_TABLE, (void **)&w));
    pthread_mutex_init(&w->lock, NULL); /* cannot fail on Linux with default attributes */
    w->threads = threads;
    *words = w;
    return WEFT_OK;
}

static void free_indices(table_words *words)
{
    weft_free(words->all.slots);
    words->all = (word_index){.slots = NULL};
    for (int t = 0; t < words->threads; t++) {
        weft_free(words->of_thread[t].slots);
        words->of_thread[t] = (word_index){.slots = NULL};
    }
}

void words_free(table_words *words)
{
    if (words == NULL) {
        return;
    }
    free_indices(words);
    for (int i = 0; i < BLOCKS; i++) {
        weft_free(words->block[i]);
    }
    for (text_block *block = words->texts; block != NULL;) {
        text_block *before = block->before;
        weft_free(block);
        block = before;
    }
    pthread_mutex_destroy(&words->lock);
    weft_free(words);
}

/* ---- indices ---- */

/* Words of one length up to SHORT have different keys. */
static uint64_t key_of(const char *text, size_t bytes)
{
    uint64_t key = 0;
    uint32_t first, last;
    if (bytes > SHORT) {
        return file_checksum(text, bytes, 0);
    }
    if (bytes == SHORT) {
        memcpy(&key, text, SHORT);
    } else if (bytes >= sizeof first) {
        memcpy(&first, text, sizeof first);
        memcpy(&last, text + bytes - sizeof last, sizeof last);
        key = (uint64_t)last << 32 | first;
    } else if (bytes > 0) {
        key = (uint64_t)(uint8_t)text[0] | (uint64_t)(uint8_t)text[bytes / 2] << 8 |
              (uint64_t)(uint8_t)text[bytes - 1] << 16;
    }
    return key;
}

/* Where the search for a word begins. */
static uint64_t first_slot(const word_index *index, uint64_t key, size_t bytes)
{
    const uint64_t mixed = (key ^ bytes << 56) * UINT64_C(0x9e3779b97f4a7c15);
    return (mixed ^ mixed >> 32) & (index->capacity - 1);
}

static void put_slot(word_index *index, uint64_t key, size_t bytes, int64_t code)
{
    uint64_t at = first_slot(index, key, bytes);
    while (index->slots[at].code != 0) {
        at = (at + 1) & (index->capacity - 1);
    }
    index->slots[at] = (slot){.key = key, .code = (uint32_t)code + 1, .bytes = (uint32_t)bytes};
    index->used++;
}

/* Room for one more word; a full index is made anew, twice as large. */
static weft_status grow_index(word_index *index)
{
    word_index grown = {.capacity = index->capacity == 0 ? SLOTS_FIRST : 2 * index->capacity};
    if (2 * (index->used + 1) <= index->capacity) {
        return WEFT_OK;
    }
    WEFT_TRY(weft_calloc(grown.capacity, sizeof *grown.slots, WEFT_MEM_TABLE, (void **)&grown.slots));
    for (uint64_t i = 0; i < index->capacity; i++) {
        if (index->slots[i].code != 0) {
            const slot *old = &index->slots[i];
            put_slot(&grown, old->key, old->bytes, (int64_t)old->code - 1);
        }
    }
    weft_free(index->slots);
    *index = grown;
    return WEFT_OK;
}

/* Long words of one key may differ. A call of its own, so that short words are looked up in few registers. */
static __attribute__((noinline)) bool is_text(const table_words *words, int64_t code, const char *text, size_t bytes)
{
    return memcmp(entry_of(words, code)->text, text, bytes) == 0;
}

/* Returns the code of a word, or -1 if the index does not have it. */
static inline int64_t look_up(const table_words *words, const word_index *index, uint64_t key, const char *text,
                              size_t bytes)
{
    if (index->capacity == 0) {
        return -1;
    }
    for (uint64_t at = first_slot(index, key, bytes);; at = (at + 1) & (index->capacity - 1)) {
        const slot *found = &index->slots[at];
        const int64_t code = (int64_t)found->code - 1;
        if (code < 0 ||
            (found->key == key && found->bytes == bytes && (bytes <= SHORT || is_text(words, code, text, bytes)))) {
            return code;
        }
    }
}

/* ---- adding ---- */

static weft_status copy_text(table_words *words, const char *text, size_t bytes, const char **copy)
{
    text_block *block = words->texts;
    if (block == NULL || block->capacity - block->used <= bytes) {
        const size_t capacity = bytes >= TEXT_BLOCK ? bytes + 1 : TEXT_BLOCK;
        WEFT_TRY(weft_malloc(sizeof *block + capacity, 1, WEFT_MEM_TABLE, (void **)&block));
        *block = (text_block){.before = words->texts, .capacity = capacity};
        words->texts = block;
    }
    *copy = block->text + block->used;
    if (bytes > 0) {
        memcpy(block->text + block->used, text, bytes);
    }
    block->text[block->used + bytes] = '\0';
    block->used += bytes + 1;
    return WEFT_OK;
}

/* Under the lock. */
static weft_status add_word(table_words *words, uint64_t key, const char *text, size_t bytes, int64_t *code)
{
    *code = look_up(words, &words->all, key, text, bytes);
    if (*code >= 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(bytes < UINT32_MAX, WEFT_ERR_DATA, "a word of %zu bytes", bytes);
    WEFT_CHECK(words->count < WORDS_MOST, WEFT_ERR_DATA, "a column of more than %lld different words",
               (long long)WORDS_MOST);
    const uint64_t place = (uint64_t)words->count + (1U << FIRST_BITS);
    const int bits = 63 - __builtin_clzll(place);
    entry **block = &words->block[bits - FIRST_BITS];
    if (*block == NULL) {
        WEFT_TRY(weft_malloc((size_t)1 << bits, sizeof **block, WEFT_MEM_TABLE, (void **)block));
    }
    WEFT_TRY(grow_index(&words->all));
    entry *e = entry_of(words, words->count);
    WEFT_TRY(copy_text(words, text, bytes, &e->text));
    e->key = key;
    e->bytes = bytes;
    *code = words->count++;
    put_slot(&words->all, key, bytes, *code);
    return WEFT_OK;
}

/* A word that is new to this thread. */
static __attribute__((noinline)) weft_status learn_word(table_words *words, word_index *own, uint64_t key,
                                                        const char *text, size_t bytes, int32_t *code)
{
    int64_t found;
    pthread_mutex_lock(&words->lock);
    weft_status status = add_word(words, key, text, bytes, &found);
    pthread_mutex_unlock(&words->lock);
    WEFT_TRY(status);
    WEFT_TRY(grow_index(own));
    put_slot(own, key, bytes, found);
    *code = (int32_t)found;
    return WEFT_OK;
}

weft_status words_add(table_words *words, int thread, const char *text, size_t bytes, int32_t *code)
{
    assert(thread >= 0 && thread < words->threads);
    word_index *own = &words->of_thread[thread];
    const uint64_t key = key_of(text, bytes);
    *code = (int32_t)look_up(words, own, key, text, bytes);
    return *code >= 0 ? WEFT_OK : learn_word(words, own, key, text, bytes, code);
}

int64_t words_count(const table_words *words)
{
    return words->count;
}

const char *words_text(const table_words *words, int64_t code, size_t *bytes)
{
    assert(code >= 0 && code < words->count);
    const entry *e = entry_of(words, code);
    *bytes = e->bytes;
    return e->text;
}

/* ---- order ---- */

typedef struct sorted_word {
    entry word;
    int32_t code;
} sorted_word;

static int compare_words(const void *a, const void *b)
{
    const entry *left = &((const sorted_word *)a)->word, *right = &((const sorted_word *)b)->word;
    const size_t shorter = left->bytes < right->bytes ? left->bytes : right->bytes;
    const int order = shorter > 0 ? memcmp(left->text, right->text, shorter) : 0;
    return order != 0 ? order : left->bytes < right->bytes ? -1 : left->bytes > right->bytes;
}

static bool is_sorted(const table_words *words)
{
    for (int64_t i = 1; i < words->count; i++) {
        const sorted_word pair[2] = {{.word = *entry_of(words, i - 1)}, {.word = *entry_of(words, i)}};
        if (compare_words(&pair[0], &pair[1]) > 0) {
            return false;
        }
    }
    return true;
}

/* The index of all words with their new codes; threads learn theirs again. */
static weft_status index_anew(table_words *words)
{
    free_indices(words);
    for (int64_t i = 0; i < words->count; i++) {
        WEFT_TRY(grow_index(&words->all));
        const entry *e = entry_of(words, i);
        put_slot(&words->all, e->key, e->bytes, i);
    }
    return WEFT_OK;
}

weft_status words_sort(table_words *words, int32_t **order)
{
    sorted_word *sorted = NULL;
    *order = NULL;
    if (is_sorted(words)) {
        return WEFT_OK;
    }
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW(order, words->count, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&sorted, words->count, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t i = 0; i < words->count; i++) {
        sorted[i] = (sorted_word){.word = *entry_of(words, i), .code = (int32_t)i};
    }
    qsort(sorted, (size_t)words->count, sizeof *sorted, compare_words);
    for (int64_t i = 0; i < words->count; i++) {
        (*order)[sorted[i].code] = (int32_t)i;
        *entry_of(words, i) = sorted[i].word;
    }
    status = index_anew(words);
done:
    weft_free(sorted);
    if (status != WEFT_OK) {
        weft_free(*order);
        *order = NULL;
    }
    return status;
}
