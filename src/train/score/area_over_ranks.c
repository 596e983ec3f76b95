/* train/score/area_over_ranks.c: see train/score/area_over_ranks.h. */
#include "train/score/area_over_ranks.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "train/score/score_record.h"

enum {
    MARKS = 8,         /* label in bit 0, split above it */
    REPEATS_SHIFT = 3, /* of a packed record: how many rows it stands for, up to the score at bit 32 */
    REPEATS_MOST = 1 << 28,
    SAMPLES = 64 /* scores that each rank brings for the borders */
};

/* Exact sums of one split on one rank. */
typedef struct split_sums {
    int64_t positives, negatives;
    uint64_t area_low, area_high; /* twice the sum over scores, with the negatives below on this rank: 128 bits */
} split_sums;

/* ---- packed records ---------------------------------------------------------------------------------------------- */

static int64_t repeats_of(uint64_t record)
{
    return (int64_t)((record & 0xffffffffU) >> REPEATS_SHIFT);
}

/* Rows of each mark that have the score of sorted[i]. packed: records stand for several rows. [out] rows; returns the
 * place behind them. */
static int64_t count_score(const uint64_t *sorted, int64_t i, int64_t count, bool packed, int64_t rows[MARKS])
{
    const uint64_t score = sorted[i] >> 32;
    for (int m = 0; m < MARKS; ++m) {
        rows[m] = 0;
    }
    for (; i < count && sorted[i] >> 32 == score; ++i) {
        rows[sorted[i] & (MARKS - 1)] += packed ? repeats_of(sorted[i]) : 1;
    }
    return i;
}

/* Packs sorted records in place, without those of no split; returns how many are left. */
static int64_t pack(uint64_t *sorted, int64_t count)
{
    int64_t rows[MARKS], out = 0;
    for (int64_t i = 0; i < count;) {
        const uint64_t score = sorted[i] >> 32 << 32;
        i = count_score(sorted, i, count, false, rows);
        for (uint64_t m = 0; m < AREA_SPLITS << 1; ++m) {
            for (int64_t left = rows[m]; left > 0; left -= REPEATS_MOST) {
                const int64_t here = left < REPEATS_MOST ? left : REPEATS_MOST;
                sorted[out++] = score | (uint64_t)here << REPEATS_SHIFT | m;
            }
        }
    }
    return out;
}

/* Sums over packed records, sorted. */
static void add_up(const uint64_t *sorted, int64_t count, split_sums sums[AREA_SPLITS])
{
    unsigned __int128 area[AREA_SPLITS] = {0};
    int64_t rows[MARKS];
    for (int64_t i = 0; i < count;) {
        i = count_score(sorted, i, count, true, rows);
        for (int s = 0; s < AREA_SPLITS; ++s) {
            const int64_t negative = rows[2 * s], positive = rows[2 * s + 1];
            area[s] += (unsigned __int128)(uint64_t)positive * (uint64_t)(2 * sums[s].negatives + negative);
            sums[s].positives += positive;
            sums[s].negatives += negative;
        }
    }
    for (int s = 0; s < AREA_SPLITS; ++s) {
        sums[s].area_low = (uint64_t)area[s];
        sums[s].area_high = (uint64_t)(area[s] >> 64);
    }
}

/* ---- over ranks -------------------------------------------------------------------------------------------------- */

/* A score that one rank brings, and the records that it stands for. */
typedef struct sample {
    uint64_t record;
    double weight;
} sample;

static int by_record(const void *a, const void *b)
{
    const uint64_t x = ((const sample *)a)->record, y = ((const sample *)b)->record;
    return (x > y) - (x < y);
}

/* [out] border [P - 1]: rank p takes records up to border p, so that all take about equally many. Collective. */
static weft_status find_borders(weft_comm *comm, const uint64_t *sorted, int64_t count, uint64_t *border)
{
    const int ranks = comm_size(comm);
    sample mine[SAMPLES], *all = NULL;
    for (int64_t i = 0; i < SAMPLES; ++i) {
        const int64_t at = count > 0 ? (2 * i + 1) * count / (2 * SAMPLES) : 0;
        mine[i] = count > 0 ? (sample){sorted[at], (double)count / SAMPLES} : (sample){0, 0.0};
    }
    weft_status status = comm_agree(comm, WEFT_NEW(&all, (int64_t)ranks * SAMPLES, WEFT_MEM_WORKSPACE));
    WEFT_TRY_GOTO(status, status, done);
    WEFT_TRY_GOTO(comm_allgather(comm, mine, sizeof mine, all), status, done);
    double whole = 0.0, before = 0.0;
    for (int i = 0; i < ranks * SAMPLES; ++i) {
        whole += all[i].weight;
    }
    qsort(all, (size_t)ranks * SAMPLES, sizeof *all, by_record);
    int p = 0;
    for (int i = 0; i < ranks * SAMPLES; ++i) {
        before += all[i].weight;
        while (p < ranks - 1 && before >= whole * (p + 1) / ranks) {
            border[p++] = all[i].record | 0xffffffffU; /* records of one score stay together */
        }
    }
    while (p < ranks - 1) {
        border[p++] = UINT64_MAX;
    }
done:
    weft_free(all);
    return status;
}

/* Records between borders. */
typedef struct spread {
    uint64_t *border;           /* [P - 1] */
    int64_t *sent, *got, *ones; /* [P] bytes */
    uint64_t *record, *spare;   /* what came, and room to sort it */
    int64_t count;
} spread;

static weft_status open_spread(int ranks, spread *s)
{
    WEFT_TRY(WEFT_NEW(&s->border, ranks, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&s->sent, ranks, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->got, ranks, WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&s->ones, ranks, WEFT_MEM_WORKSPACE);
}

static void close_spread(spread *s)
{
    WEFT_FREE_ALL(s->border, s->sent, s->got, s->ones, s->record, s->spare);
}

static void count_sent(const uint64_t *sorted, int64_t count, int ranks, spread *s)
{
    int p = 0;
    for (int64_t i = 0; i < count; ++i) {
        while (p < ranks - 1 && sorted[i] > s->border[p]) {
            ++p;
        }
        s->sent[p] += (int64_t)sizeof *sorted;
    }
    for (int q = 0; q < ranks; ++q) {
        s->ones[q] = (int64_t)sizeof *s->got;
    }
}

static weft_status send_records(weft_comm *comm, const uint64_t *sorted, int64_t count, spread *s)
{
    const int ranks = comm_size(comm);
    WEFT_TRY(find_borders(comm, sorted, count, s->border));
    count_sent(sorted, count, ranks, s);
    WEFT_TRY(comm_alltoallv(comm, s->sent, s->ones, s->got, s->ones));
    for (int p = 0; p < ranks; ++p) {
        s->count += s->got[p] / (int64_t)sizeof *s->record;
    }
    const weft_status local = WEFT_NEW(&s->record, s->count, WEFT_MEM_WORKSPACE);
    WEFT_TRY(comm_agree(comm, local == WEFT_OK ? WEFT_NEW(&s->spare, s->count, WEFT_MEM_WORKSPACE) : local));
    return comm_alltoallv(comm, sorted, s->sent, s->record, s->got);
}

/* The area from the sums of all ranks, all [P * AREA_SPLITS]. */
static double area_of(const split_sums *all, int ranks, int split)
{
    unsigned __int128 area = 0;
    uint64_t positives = 0, negatives = 0;
    for (int p = 0; p < ranks; ++p) {
        const split_sums *s = &all[(int64_t)p * AREA_SPLITS + split];
        area += ((unsigned __int128)s->area_high << 64) + s->area_low;
        area += (unsigned __int128)(uint64_t)s->positives * (2 * negatives);
        positives += (uint64_t)s->positives;
        negatives += (uint64_t)s->negatives;
    }
    return positives > 0 && negatives > 0 ? 0.5 * (double)area / (double)positives / (double)negatives : NAN;
}

static weft_status add_over_ranks(weft_comm *comm, const split_sums *own, double area[AREA_SPLITS])
{
    const int ranks = comm_size(comm);
    split_sums *all = NULL;
    weft_status status = comm_agree(comm, WEFT_NEW(&all, (int64_t)ranks * AREA_SPLITS, WEFT_MEM_WORKSPACE));
    status = status == WEFT_OK ? comm_allgather(comm, own, AREA_SPLITS * (int64_t)sizeof *own, all) : status;
    for (int s = 0; s < AREA_SPLITS && status == WEFT_OK; ++s) {
        area[s] = area_of(all, ranks, s);
    }
    weft_free(all);
    return status;
}

weft_status area_over_ranks(weft_comm *comm, uint64_t *record, int64_t count, double area[AREA_SPLITS])
{
    const int ranks = comm_size(comm);
    split_sums own[AREA_SPLITS] = {{0}};
    spread s = {.count = 0};
    uint64_t *spare = NULL;
    weft_status status, local = WEFT_NEW(&spare, count, WEFT_MEM_WORKSPACE);
    local = local == WEFT_OK ? open_spread(ranks, &s) : local;
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    uint64_t *sorted = score_records_sort(record, spare, count);
    const int64_t packed = pack(sorted, count);
    if (ranks == 1) {
        add_up(sorted, packed, own);
    } else {
        WEFT_TRY_GOTO(send_records(comm, sorted, packed, &s), status, done);
        add_up(score_records_sort(s.record, s.spare, s.count), s.count, own);
    }
    status = add_over_ranks(comm, own, area);
done:
    close_spread(&s);
    weft_free(spare);
    return status;
}
