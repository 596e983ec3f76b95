/* embed/pool/bag_index.c: distinct keys of a batch; see the header. */
#include "embed/pool/bag_index.h"

#include <string.h>

#include "base/alloc.h"
#include "embed/pool/key_sort.h"
#include "machine/thread_ranges.h"

void bag_index_free(bag_index *index)
{
    WEFT_FREE_ALL(index->key, index->times, index->place, index->at, index->bag, index->weight, index->pair[0],
                  index->pair[1]);
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
    WEFT_TRY(weft_malloc((size_t)positions, sizeof(key_pair), WEFT_MEM_WORKSPACE, &index->pair[0]));
    return weft_malloc((size_t)positions, sizeof(key_pair), WEFT_MEM_WORKSPACE, &index->pair[1]);
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

/* Position p of bag b becomes the value p << 32 | b. */
static void list_pairs(const embed_bags *bags, int64_t bag_count, key_pair *pair)
{
#pragma omp parallel num_threads(threads_for(bags->at[bag_count]))
    OWN_ROWS(bag, bags->at, bag_count) {
        for (int64_t p = bags->at[bag]; p < bags->at[bag + 1]; ++p) {
            pair[p] = (key_pair){.key = bags->key[p], .value = p << 32 | bag};
        }
    }
}

/* Whether sorted pair i begins a key. */
static int begins(const key_pair *pair, int64_t i)
{
    return i == 0 || pair[i].key != pair[i - 1].key;
}

static int64_t count_keys(const key_pair *pair, int64_t first, int64_t last)
{
    int64_t keys = 0;
    for (int64_t i = first; i < last; ++i) {
        keys += begins(pair, i);
    }
    return keys;
}

/* Sorted pairs [first, last), before which `distinct` keys begin. weight: of positions, or NULL. */
static void fill_run(bag_index *index, const key_pair *pair, const float *weight, int64_t first, int64_t last,
                     int64_t distinct)
{
    for (int64_t i = first; i < last; ++i) {
        if (begins(pair, i)) {
            index->key[distinct] = pair[i].key;
            index->at[distinct++] = i;
        }
        index->place[pair[i].value >> 32] = (int32_t)(distinct - 1);
        index->bag[i] = (int32_t)(pair[i].value & INT32_MAX);
        if (weight != NULL) {
            index->weight[i] = weight[pair[i].value >> 32];
        }
    }
}

static void fill_all(bag_index *index, const key_pair *pair, const float *weight, int64_t n)
{
    enum { RUNS_MOST = 256 };
    int64_t before[RUNS_MOST + 1] = {0};
    int runs = threads_for(n);
    runs = runs < RUNS_MOST ? runs : RUNS_MOST;
#pragma omp parallel for schedule(static) num_threads(runs)
    for (int t = 0; t < runs; ++t) {
        before[t + 1] = count_keys(pair, split_even(n, t, runs), split_even(n, t + 1, runs));
    }
    for (int t = 0; t < runs; ++t) {
        before[t + 1] += before[t];
    }
    index->distinct = before[runs];
    index->at[index->distinct] = n;
#pragma omp parallel for schedule(static) num_threads(runs)
    for (int t = 0; t < runs; ++t) {
        fill_run(index, pair, weight, split_even(n, t, runs), split_even(n, t + 1, runs), before[t]);
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
    list_pairs(bags, bag_count, index->pair[0]);
    fill_all(index, key_sort(index->pair[0], index->pair[1], n), bags->weight, n);
    return WEFT_OK;
}
