/* embed/pool/bag_index.c: distinct keys of a batch; see the header. */
#include "embed/pool/bag_index.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "embed/pool/key_order.h"
#include "machine/thread_ranges.h"

void bag_index_free(bag_index *index)
{
    WEFT_FREE_ALL(index->key, index->times, index->place, index->at, index->bag, index->weight, index->word[0],
                  index->word[1]);
    *index = (bag_index){0};
}

static weft_status take(bag_index *index, int64_t positions)
{
    WEFT_TRY(WEFT_NEW(&index->key, positions, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&index->times, positions, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&index->place, positions, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&index->at, positions + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&index->bag, positions, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&index->weight, positions, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&index->word[0], positions, WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&index->word[1], positions, WEFT_MEM_WORKSPACE);
}

weft_status bag_index_reserve(bag_index *index, int64_t positions)
{
    if (positions <= index->capacity && index->at != NULL) {
        return WEFT_OK;
    }
    bag_index_free(index);
    const weft_status status = take(index, positions);
    if (status != WEFT_OK) {
        bag_index_free(index);
        return status;
    }
    index->capacity = positions;
    return WEFT_OK;
}

static int threads_for(int64_t positions)
{
    return split_threads(positions, omp_get_max_threads());
}

/* place [positions] becomes the bag of each position, until it becomes that of its key. */
static void list_bags(const embed_bags *bags, int64_t bag_count, int32_t *place)
{
#pragma omp parallel num_threads(threads_for(bags->at[bag_count]))
    OWN_ROWS(bag, bags->at, bag_count) {
        for (int64_t p = bags->at[bag]; p < bags->at[bag + 1]; ++p) {
            place[p] = (int32_t)bag;
        }
    }
}

/* Positions in the order of their keys: a word of each, and its key. */
typedef struct in_order {
    const uint64_t *word;
    uint64_t *key;
} in_order;

/* Returns true if sorted position i begins a key. */
static bool begins(const in_order *sorted, int64_t i)
{
    return i == 0 || sorted->key[i] != sorted->key[i - 1];
}

static int64_t count_keys(const in_order *sorted, int64_t first, int64_t last)
{
    int64_t keys = 0;
    for (int64_t i = first; i < last; ++i) {
        keys += begins(sorted, i);
    }
    return keys;
}

/* Sorted positions [first, last), before which `distinct` keys begin. weight: of positions, or NULL. */
static void fill_run(bag_index *index, const in_order *sorted, const float *weight, int64_t first, int64_t last,
                     int64_t distinct)
{
    for (int64_t i = first; i < last; ++i) {
        int32_t *place = &index->place[key_position(sorted->word[i])];
        if (begins(sorted, i)) {
            index->key[distinct] = sorted->key[i];
            index->at[distinct++] = i;
        }
        index->bag[i] = *place;
        *place = (int32_t)(distinct - 1);
        if (weight != NULL) {
            index->weight[i] = weight[key_position(sorted->word[i])];
        }
    }
}

static void fill_all(bag_index *index, const in_order *sorted, const embed_bags *bags, int64_t n)
{
    enum { RUNS_MOST = 256 };
    int64_t before[RUNS_MOST + 1] = {0};
    int runs = threads_for(n);
    runs = runs < RUNS_MOST ? runs : RUNS_MOST;
#pragma omp parallel for schedule(static) num_threads(runs)
    for (int64_t i = 0; i < n; ++i) {
        sorted->key[i] = bags->key[key_position(sorted->word[i])];
    }
#pragma omp parallel for schedule(static) num_threads(runs)
    for (int t = 0; t < runs; ++t) {
        before[t + 1] = count_keys(sorted, split_even(n, t, runs), split_even(n, t + 1, runs));
    }
    for (int t = 0; t < runs; ++t) {
        before[t + 1] += before[t];
    }
    index->distinct = before[runs];
    index->at[index->distinct] = n;
#pragma omp parallel for schedule(static) num_threads(runs)
    for (int t = 0; t < runs; ++t) {
        fill_run(index, sorted, bags->weight, split_even(n, t, runs), split_even(n, t + 1, runs), before[t]);
    }
#pragma omp parallel for schedule(static) num_threads(runs)
    for (int64_t i = 0; i < index->distinct; ++i) {
        index->times[i] = (int32_t)(index->at[i + 1] - index->at[i]);
    }
}

weft_status bag_index_fill(bag_index *index, const embed_bags *bags)
{
    int64_t bag_count = 0;
    WEFT_CHECK(bags->samples >= 0 && bags->fields >= 0 &&
                   !__builtin_mul_overflow(bags->samples, (int64_t)bags->fields, &bag_count) && bag_count <= INT32_MAX,
               WEFT_ERR_DATA, "a batch of %lld samples with %d fields has more than %d bags: take smaller batches",
               (long long)bags->samples, bags->fields, INT32_MAX);
    const int64_t n = bags->at[bag_count];
    WEFT_CHECK(n >= 0 && n <= INT32_MAX, WEFT_ERR_DATA,
               "a batch of %lld samples has %lld ids, %d at most: take smaller batches", (long long)bags->samples,
               (long long)n, INT32_MAX);
    WEFT_TRY(bag_index_reserve(index, n));
    index->positions = n;
    index->weighted = bags->weight != NULL;
    list_bags(bags, bag_count, index->place);
    const uint64_t *word = key_order(bags->key, n, index->word[0], index->word[1]);
    const in_order sorted = {.word = word, .key = index->word[word == index->word[0] ? 1 : 0]};
    fill_all(index, &sorted, bags, n);
    return WEFT_OK;
}
