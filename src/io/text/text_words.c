/* io/text/text_words.c: see io/text/text_words.h. A set is a pool of texts and a table of places in it, at most half full. */
#include "io/text/text_words.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

enum { SLOTS_FIRST = 64, POOL_FIRST = 1024, FEW = 256 };

typedef struct word_set {
    char *pool; /* NUL-terminated words, one behind the other */
    size_t bytes, capacity;
    size_t *slot; /* [slots] where a word begins in the pool, + 1; 0: free */
    size_t slots, count;
} word_set;

struct text_words {
    word_set all;
    const char **list; /* [all.count] */
};

/* ---- sets ---- */

static void free_set(word_set *set)
{
    weft_free(set->pool);
    weft_free(set->slot);
    *set = (word_set){.pool = NULL};
}

/* The slot of a word, or the free one where it belongs. */
static size_t *find_slot(const word_set *set, const char *word, size_t length)
{
    size_t at = (size_t)XXH3_64bits(word, length) & (set->slots - 1);
    while (set->slot[at] != 0 && strcmp(set->pool + set->slot[at] - 1, word) != 0) {
        at = (at + 1) & (set->slots - 1);
    }
    return &set->slot[at];
}

static weft_status grow_slots(word_set *set)
{
    word_set larger = {.pool = set->pool, .slots = set->slots == 0 ? SLOTS_FIRST : 2 * set->slots};
    WEFT_TRY(WEFT_NEW_ZERO(&larger.slot, larger.slots, WEFT_MEM_WORKSPACE));
    for (size_t i = 0; i < set->slots; i++) {
        if (set->slot[i] != 0) {
            const char *word = set->pool + set->slot[i] - 1;
            *find_slot(&larger, word, strlen(word)) = set->slot[i];
        }
    }
    weft_free(set->slot);
    set->slot = larger.slot;
    set->slots = larger.slots;
    return WEFT_OK;
}

static weft_status make_room(word_set *set, size_t bytes)
{
    if (set->capacity - set->bytes < bytes) {
        size_t capacity = set->capacity == 0 ? POOL_FIRST : 2 * set->capacity;
        capacity = capacity - set->bytes < bytes ? set->bytes + bytes : capacity;
        WEFT_TRY(weft_realloc((void **)&set->pool, capacity, 1, WEFT_MEM_WORKSPACE));
        set->capacity = capacity;
    }
    return 2 * (set->count + 1) > set->slots ? grow_slots(set) : WEFT_OK;
}

/* The word is put behind the pool's last, where it stays if it is new. */
static weft_status add_word(word_set *set, const text_field *field)
{
    const size_t most = (size_t)(field->end - field->text) + 1;
    WEFT_TRY(make_room(set, most));
    char *word = set->pool + set->bytes;
    const size_t length = text_copy_name(field, word, most);
    size_t *slot = find_slot(set, word, length);
    if (*slot == 0) {
        *slot = set->bytes + 1;
        set->bytes += length + 1;
        set->count++;
    }
    return WEFT_OK;
}

/* ---- a column ---- */

static bool take_word(void *self, text_piece *piece, int64_t row, int64_t place, const text_field *field)
{
    word_set *sets = self;
    double number;
    (void)row;
    (void)place;
    if (text_field_missing(field)) {
        return true;
    }
    if (!field->quoted && text_field_number(field, &number)) {
        return text_expected_field(piece, field,
                                   "a word, as above: words or numbers, or numbers in quotes among words");
    }
    const weft_status status = add_word(&sets[piece->thread], field);
    return status == WEFT_OK || text_fail(piece, status);
}

static weft_status merge(word_set *sets, int count, word_set *all)
{
    for (int t = 0; t < count; t++) {
        for (size_t at = 0; at < sets[t].bytes;) {
            const char *word = sets[t].pool + at;
            const size_t length = strlen(word);
            const text_field field = {.text = word, .end = word + length};
            WEFT_TRY(add_word(all, &field));
            at += length + 1;
        }
        free_set(&sets[t]);
    }
    return WEFT_OK;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static weft_status sort_words(text_words *words)
{
    const word_set *all = &words->all;
    WEFT_TRY(WEFT_NEW(&words->list, all->count, WEFT_MEM_WORKSPACE));
    const char *word = all->pool;
    for (size_t i = 0; i < all->count; i++) {
        words->list[i] = word;
        word += strlen(word) + 1;
    }
    if (all->count > 1) {
        qsort(words->list, all->count, sizeof *words->list, compare);
    }
    return WEFT_OK;
}

weft_status text_words_read(const text_columns *columns, text_words **words)
{
    const int threads = omp_get_max_threads();
    word_set *sets = NULL;
    text_words *found = NULL;
    int64_t rows;
    weft_status status;
    *words = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&found, 1, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&sets, threads, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(text_columns_each(columns, sets, take_word, &rows), status, done);
    WEFT_TRY_GOTO(merge(sets, threads, &found->all), status, done);
    WEFT_TRY_GOTO(sort_words(found), status, done);
    *words = found;
    found = NULL;
done:
    for (int t = 0; sets != NULL && t < threads; t++) {
        free_set(&sets[t]);
    }
    weft_free(sets);
    text_words_free(found);
    return status;
}

void text_words_free(text_words *words)
{
    if (words != NULL) {
        free_set(&words->all);
        weft_free(words->list);
        weft_free(words);
    }
}

int64_t text_words_count(const text_words *words)
{
    return (int64_t)words->all.count;
}

const char *const *text_words_list(const text_words *words)
{
    return words->list;
}

static int64_t find_word(const text_words *words, const char *wanted)
{
    size_t low = 0, high = words->all.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(words->list[middle], wanted);
        if (order == 0) {
            return (int64_t)middle;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return -1;
}

weft_status text_words_find(const text_words *words, const text_field *field, int64_t *number)
{
    char few[FEW], *word = few;
    const size_t most = (size_t)(field->end - field->text) + 1;
    WEFT_TRY(most > sizeof few ? weft_malloc(most, 1, WEFT_MEM_WORKSPACE, (void **)&word) : WEFT_OK);
    text_copy_name(field, word, most);
    *number = find_word(words, word);
    if (word != few) {
        weft_free(word);
    }
    return WEFT_OK;
}
