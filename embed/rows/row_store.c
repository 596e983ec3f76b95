/* embed/rows/row_store.c: opens a store, finds, reads and updates rows, and lets old ones go. */
#include "embed/rows/row_store.h"

#include <assert.h>
#include <math.h>

#include "base/integer/integers.h"
#include "base/isa.h"
#include "embed/rows/row_store_state.h"

weft_mem_tag WEFT_MEM_ROWS[1] = {{.text = "rows of embeddings"}};

enum {
    SLAB_BYTES = 16 << 20,
    SLABS_LEAST = 32,        /* of memory_most */
    SWEEP_BATCHES = 1 << 22, /* ages are kept modulo 2^24 and cut at 2^23 */
};

/* ---- open ---- */

static bool is_size(double x)
{
    return isfinite(x) && x >= 0.0;
}

static weft_status check(const embed_desc *d)
{
    const int64_t stride = (int64_t)d->width + d->linear;
    WEFT_CHECK(d->width >= 0 && stride >= 1 && stride <= ROW_STRIDE_MOST, WEFT_ERR_USAGE,
               "a row of embeddings of %lld numbers: 1 to %d", (long long)stride, ROW_STRIDE_MOST);
    WEFT_CHECK(d->number >= EMBED_F32 && d->number <= EMBED_BF16 && d->rule >= EMBED_SGD && d->rule <= EMBED_LAZY_ADAM,
               WEFT_ERR_USAGE, "rows of embeddings of kind %d with rule %d: there are no such", (int)d->number,
               (int)d->rule);
    WEFT_CHECK(is_size(d->epsilon) && is_size(d->l1) && is_size(d->l2) && is_size(d->spread), WEFT_ERR_USAGE,
               "embeddings: epsilon %g, l1 %g, l2 %g, spread %g: each is a finite number that is not negative",
               d->epsilon, d->l1, d->l2, d->spread);
    const double most = d->rule == EMBED_LAZY_ADAM ? 1.0 : INFINITY;
    WEFT_CHECK(d->beta1 >= 0.0 && d->beta1 < most && d->beta2 >= 0.0 && d->beta2 < most, WEFT_ERR_USAGE,
               "embeddings: beta %g and %g: not negative, and below 1 for lazy Adam", d->beta1, d->beta2);
    WEFT_CHECK(d->admit_after >= 0 && d->admit_after <= INT32_MAX, WEFT_ERR_USAGE,
               "embeddings: keys are admitted after %lld sightings: 0 to %d", (long long)d->admit_after, INT32_MAX);
    WEFT_CHECK(d->admit_chance == 0.0 || (d->admit_chance >= ROW_CHANCE_LEAST && d->admit_chance <= 1.0),
               WEFT_ERR_USAGE, "embeddings: a sighting admits a key with probability %g: %g to 1, or 0 for always",
               d->admit_chance, ROW_CHANCE_LEAST);
    WEFT_CHECK(is_size(d->expire_norm) && (d->expire_norm == 0.0 || d->expire_after > 0), WEFT_ERR_USAGE,
               "embeddings: rows of a norm below %g leave with those that are old, and none is: 0, or rows that expire",
               d->expire_norm);
    WEFT_CHECK(d->expire_after >= 0 && d->expire_after <= ROW_EXPIRE_MOST, WEFT_ERR_USAGE,
               "embeddings: rows expire after %lld batches: 0 (never) to %d", (long long)d->expire_after,
               ROW_EXPIRE_MOST);
    WEFT_CHECK(d->memory_most == 0 || d->memory_most >= ROW_MEMORY_LEAST, WEFT_ERR_USAGE,
               "embeddings: at most %lld bytes of memory: 0 (no limit) or at least %d", (long long)d->memory_most,
               ROW_MEMORY_LEAST);
    return WEFT_OK;
}

static row_rule rule_of(const embed_desc *d)
{
    const double epsilon = d->rule == EMBED_ADAGRAD ? 1e-10 : 1e-8; /* as PyTorch and FBGEMM have them */
    const bool adam = d->rule == EMBED_LAZY_ADAM;
    return (row_rule){.rule = d->rule,
                      .number = d->number,
                      .width = d->width,
                      .stride = d->width + d->linear,
                      .whole_width = d->width,
                      .whole_stride = d->width + d->linear,
                      .spread = (float)d->spread,
                      .seed = d->seed,
                      .epsilon = (float)(d->epsilon > 0.0 ? d->epsilon : epsilon),
                      .l1 = (float)d->l1,
                      .l2 = (float)d->l2,
                      .beta1 = adam && d->beta1 == 0.0 ? 0.9 : d->beta1,
                      .beta2 = adam && d->beta2 == 0.0 ? 0.999 : d->beta2};
}

static row_slabs slabs_of(const embed_desc *d)
{
    const int64_t stride = d->width + d->linear;
    const bool halves = d->number == EMBED_BF16;
    row_slabs slabs = {.row_bytes = {[ROW_NUMBERS] = stride * (halves ? 2 : 4),
                                     [ROW_LOWER] = halves ? stride * 2 : 0,
                                     [ROW_STATE] = 4 * (int64_t)row_rule_state(d->rule, d->width, d->linear)}};
    row_slabs_open(&slabs, d->memory_most == 0 ? SLAB_BYTES : smaller(SLAB_BYTES, d->memory_most / SLABS_LEAST));
    return slabs;
}

weft_status row_store_open(const embed_desc *desc, row_store **store)
{
    static const row_kernels *const kernels[HAL_ISAS] = {
        [HAL_ISA_BASE] = &row_kernels_base, [HAL_ISA_AVX2] = &row_kernels_avx2, [HAL_ISA_AVX512] = &row_kernels_avx512};
    *store = NULL;
    WEFT_TRY(check(desc));
    row_store *s = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&s, 1, WEFT_MEM_ROWS));
    s->desc = *desc;
    s->rule = rule_of(desc);
    s->slabs = slabs_of(desc);
    s->kernels = kernels[hal_isa_best()];
    const weft_status status = row_lookup_open(desc->seed, &s->index);
    if (status != WEFT_OK) {
        row_store_close(s);
        return status;
    }
    *store = s;
    return WEFT_OK;
}

weft_status row_store_open_part(const embed_desc *desc, int first, int last, row_store **store)
{
    embed_desc part = *desc;
    assert(first >= 0 && first < last && last <= desc->width + desc->linear && desc->rule != EMBED_ROW_ADAGRAD);
    WEFT_TRY(check(desc));
    part.linear = last > desc->width;
    part.width = last - first - part.linear;
    WEFT_TRY(row_store_open(&part, store));
    (*store)->rule.first = first;
    (*store)->rule.whole_width = desc->width;
    (*store)->rule.whole_stride = desc->width + desc->linear;
    return WEFT_OK;
}

void row_store_close(row_store *store)
{
    if (store != NULL) {
        row_lookup_close(&store->index);
        row_slabs_close(&store->slabs);
        WEFT_FREE_ALL(store->fresh.place, store->fresh.key, store->fresh.mark, store->fresh.made,
                      store->fresh.made_key);
        weft_free(store);
    }
}

int row_store_stride(const row_store *store)
{
    return store->rule.stride;
}

/* ---- find ---- */

/* What one sighting of a batch does to a key; *fresh counts those that are to be judged. */
static int64_t sight(const row_store *store, uint64_t key, row_slot *slot, int32_t times, int64_t *fresh)
{
    const uint64_t what = row_what(slot);
    if (slot->mark == 0) {
        *fresh += 1;
        return ROW_ABSENT;
    }
    if (what < ROW_WAITING) {
        slot->mark = row_mark(what, store->batch);
        return (int64_t)what - 1;
    }
    const uint64_t count = what - ROW_WAITING;
    if (row_store_admits(store, key, count)) {
        slot->mark = row_mark(what, store->batch);
        *fresh += 1;
        return ROW_DUE;
    }
    const uint64_t more = (uint64_t)smaller((int64_t)count + times, (int64_t)ROW_COUNT_MOST);
    slot->mark = row_mark(ROW_WAITING + more, store->batch);
    return ROW_NONE;
}

static int64_t find_only(const row_slot *slot)
{
    return slot->mark != 0 && row_what(slot) < ROW_WAITING ? (int64_t)row_what(slot) - 1 : ROW_NONE;
}

weft_status row_store_touch(row_store *store, const uint64_t *key, const int32_t *times, int64_t n, bool training,
                            int64_t *row)
{
    int64_t fresh = 0;
    if (training) {
        store->batch += 1;
        if (store->batch - store->swept >= SWEEP_BATCHES) {
            (void)row_store_expire(store);
        }
    }
    if (n == 0) {
        return WEFT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(row_threads(n)) reduction(+ : fresh)
    for (int64_t first = 0; first < n; first += ROW_BLOCK) {
        row_slot *slot[ROW_BLOCK];
        const int block = (int)smaller(n - first, ROW_BLOCK);
        row_lookup_find(&store->index, key + first, block, slot);
        for (int i = 0; i < block; ++i) {
            row[first + i] =
                training ? sight(store, key[first + i], slot[i], times[first + i], &fresh) : find_only(slot[i]);
        }
    }
    return fresh == 0 ? WEFT_OK : row_store_admit(store, key, times, n, fresh, row);
}

/* ---- read, update ---- */

void row_store_read(const row_store *store, const int64_t *row, int64_t n, float *out, int64_t ld)
{
#pragma omp parallel num_threads(row_threads(n))
    {
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t first = split_even(n, t, threads), last = split_even(n, t + 1, threads);
        store->kernels->read(&store->rule, &store->slabs, row + first, last - first, out + first * ld, ld);
    }
}

void row_store_update(row_store *store, const int64_t *row, int64_t n, const float *gradient, int64_t ld, double rate)
{
    store->rule.rate = (float)rate;
#pragma omp parallel num_threads(row_threads(n))
    {
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t first = split_even(n, t, threads), last = split_even(n, t + 1, threads);
        store->kernels->update(&store->rule, &store->slabs, row + first, last - first, last - first,
                               gradient + first * ld, ld);
    }
}

void row_store_update_by(row_store *store, const int64_t *row, int64_t n, row_gradients *gradients, const void *context,
                         double rate)
{
    const int64_t stride = store->rule.stride, many = ROW_GRADIENTS / stride;
    assert(many > 0);
    store->rule.rate = (float)rate;
#pragma omp parallel num_threads(row_threads(n))
    {
        float gradient[ROW_GRADIENTS];
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t last = split_even(n, t + 1, threads);
        for (int64_t first = split_even(n, t, threads); first < last; first += many) {
            const int64_t block = smaller(last - first, many);
            gradients(context, first, first + block, gradient);
            store->kernels->update(&store->rule, &store->slabs, row + first, block, last - first, gradient, stride);
        }
    }
}

/* ---- age ---- */

typedef struct sweep {
    row_store *store;
    int64_t rows, waiting; /* that leave */
} sweep;

/* Returns true if the numbers of a row, which the last batch did not name, have a small norm. */
static bool is_small(const row_store *store, int64_t row, int64_t age)
{
    float number[ROW_STRIDE_MOST];
    double squares = 0.0;
    if (store->desc.expire_norm == 0.0 || age == 0) {
        return false;
    }
    store->kernels->read(&store->rule, &store->slabs, &row, 1, number, store->rule.stride);
    for (int j = 0; j < store->rule.stride; ++j) {
        squares += (double)number[j] * number[j];
    }
    return squares < store->desc.expire_norm * store->desc.expire_norm;
}

static bool is_old(row_slot *slot, void *context)
{
    sweep *s = context;
    const int64_t batch = s->store->batch, age = row_age(slot, batch), most = s->store->desc.expire_after;
    const bool has_row = row_what(slot)<ROW_WAITING, old = most> 0 && age >= most;
    if (!old && !(has_row && is_small(s->store, (int64_t)row_what(slot) - 1, age))) {
        if (age > ROW_EXPIRE_MOST) {
            slot->mark = row_mark(row_what(slot), batch - ROW_EXPIRE_MOST);
        }
        return false;
    }
    if (has_row) {
        row_slabs_give_back(&s->store->slabs, (int64_t)row_what(slot) - 1);
        s->rows += 1;
    } else {
        s->waiting += 1;
    }
    return true;
}

int64_t row_store_expire(row_store *store)
{
    int64_t rows = 0, waiting = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : rows, waiting)
    for (int s = 0; s < ROW_STRIPES; ++s) {
        sweep part = {.store = store};
        row_lookup_sweep(&store->index, s, is_old, &part);
        rows += part.rows;
        waiting += part.waiting;
    }
    store->swept = store->batch;
    store->slabs.rows -= rows;
    store->slabs.lowest = rows > 0 ? 0 : store->slabs.lowest;
    store->waiting -= waiting;
    store->expired += rows;
    return rows;
}

/* ---- figures ---- */

void row_store_count_from(row_store *store, row_counts counts)
{
    store->made = counts.made;
    store->refused = counts.refused;
    store->expired = counts.expired;
}

row_figures row_store_figures(const row_store *store)
{
    int64_t used = 0, limit = 0;
    for (int s = 0; s < ROW_STRIPES; ++s) {
        used += store->index.stripe[s].used;
        limit += row_stripe_limit(store->index.stripe[s].capacity);
    }
    return (row_figures){.rows = store->slabs.rows,
                         .waiting = store->waiting,
                         .made = store->made,
                         .refused = store->refused,
                         .expired = store->expired,
                         .batches = store->batch,
                         .row_bytes = row_slabs_row_bytes(&store->slabs),
                         .capacity = smaller(store->slabs.capacity, limit),
                         .load = (double)used / (double)row_lookup_slots(&store->index),
                         .bytes = row_store_held(store)};
}

int64_t row_store_bytes(const embed_desc *desc, int64_t rows)
{
    const row_slabs slabs = slabs_of(desc);
    return rows * row_slabs_row_bytes(&slabs) + rows / 8 + row_lookup_expected(rows) * (int64_t)sizeof(row_slot);
}
