/*
 * bench/rows/des_savings.c: what equivalent substitution (arXiv 1909.04823) saves, counted beside its formulas.
 *
 *     des_savings [RANKS [IDS [SAMPLES]]]        8 ranks, 300 ids a sample, 256 samples a rank
 *
 * A line for each operator: bytes of a batch over all ranks, where ranks pull rows from a server and push gradients
 * (by formula: nothing here does so), and where owners of rows send sums: with ids that travel, and where every rank
 * reads the ids of all samples. Ranks are threads. Ids are uniform among a million, and no figure is printed unless
 * every byte that was counted is in the formula.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/integer/mix.h"
#include "embed/embed_key.h"
#include "embed/plan/embed_plan.h"

enum { STEPS = 2, IDS_OF_FIELD = 1000000, PRODUCTS_MOST = 4 };

/* An operator of the paper, and the sums over the rows of a sample that it needs. */
typedef struct operator_of {
    const char *name;
    int width;
    bool linear;
    embed_sums sums;
} operator_of;

static const operator_of operators[] = {
    {"LR", 0, true, {.rows = true}},
    {"FM, width 8", 8, true, {.rows = true, .squares = true}},
    {"FM, width 16", 16, true, {.rows = true, .squares = true}},
    {"DCN-v1, width 8, 2 crosses", 8, false, {.products = 3}},
    {"DCN-v1, width 16, 3 crosses", 16, false, {.products = 4}},
};
enum { OPERATORS = sizeof operators / sizeof *operators };

typedef struct job {
    int ids, samples; /* of a rank */
    const operator_of *of;
    bool whole; /* every rank reads the ids of all samples */
    int64_t sent, formula;
    embed_counts counts;
    int64_t columns;
} job;

typedef struct rank_data {
    int64_t *at;      /* [samples of all + 1] */
    uint64_t *key;    /* ids of all samples */
    int64_t *samples; /* [ranks] */
    float *weight, *dweight, *total;
} rank_data;

static weft_status allocate(const job *j, int ranks, int columns, rank_data *d)
{
    const int64_t all = (int64_t)j->samples * ranks;
    WEFT_TRY(WEFT_NEW(&d->at, all + 1, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&d->key, all * j->ids, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&d->samples, ranks, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&d->weight, (int64_t)(j->of->width + 1) * PRODUCTS_MOST, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&d->dweight, (int64_t)(j->of->width + 1) * PRODUCTS_MOST, WEFT_MEM_GENERAL));
    return WEFT_NEW_ZERO(&d->total, (int64_t)j->samples * columns, WEFT_MEM_GENERAL);
}

/* All samples of a step; rank r has those from r * samples on. */
static void draw(const job *j, int ranks, int step, rank_data *d)
{
    const int64_t all = (int64_t)j->samples * ranks;
    for (int64_t s = 0; s <= all; ++s) {
        d->at[s] = s * j->ids;
    }
    for (int64_t i = 0; i < all * j->ids; ++i) {
        d->key[i] = embed_key(0, mix64((uint64_t)(step * all * j->ids + i + 1)) % IDS_OF_FIELD);
    }
    for (int r = 0; r < ranks; ++r) {
        d->samples[r] = j->samples;
    }
}

static weft_status step_of(weft_comm *comm, job *j, embed_table *table, rank_data *d, int step)
{
    const int rank = comm_rank(comm), ranks = comm_size(comm), columns = (int)j->columns;
    embed_sums sums = j->of->sums;
    sums.weight = d->weight;
    draw(j, ranks, step, d);
    const embed_bags all = {.samples = (int64_t)j->samples * ranks, .fields = 1, .at = d->at, .key = d->key};
    const embed_bags own = {
        .samples = j->samples, .fields = 1, .at = d->at, .key = d->key + (int64_t)rank * j->samples * j->ids};
    const int64_t before = (int64_t)comm_lane_stats(comm, COMM_LANE_ROWS).bytes_sent;
    WEFT_TRY(embed_sums_forward(table, &sums, j->whole ? &all : &own, j->whole ? d->samples : NULL, true, d->total,
                                columns));
    WEFT_TRY(embed_sums_backward(table, d->total, columns, 0.01, sums.products > 0 ? d->dweight : NULL));
    int64_t sent = (int64_t)comm_lane_stats(comm, COMM_LANE_ROWS).bytes_sent - before;
    WEFT_TRY(comm_allreduce(comm, &sent, 1, WEFT_DTYPE_I64, COMM_SUM));
    bag_index index = {.positions = 0};
    embed_counts counts;
    const weft_status status = embed_counts_share(comm, &own, 0, 1, &index, &counts);
    bag_index_free(&index);
    WEFT_TRY(status);
    if (rank == 0) {
        j->counts = counts;
        j->sent = sent;
        j->formula = embed_mode_bytes(EMBED_DES, &j->counts, j->of->width + j->of->linear, j->columns, j->whole);
    }
    return WEFT_OK;
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    job *j = argument;
    rank_data d = {0};
    embed_table *table = NULL;
    const embed_desc desc = {
        .fields = 1, .width = j->of->width, .linear = j->of->linear, .spread = 0.1, .seed = 1, .mode = EMBED_DES};
    const int64_t keys = (int64_t)j->ids * j->samples * (j->whole ? comm_size(comm) : 1);
    WEFT_TRY(embed_open(comm, &desc, keys, &table));
    const int64_t columns = embed_sums_columns(table, &j->of->sums);
    if (comm_rank(comm) == 0) {
        j->columns = columns;
    }
    weft_status status = comm_agree(comm, allocate(j, comm_size(comm), (int)columns, &d));
    for (int step = 0; step < STEPS && status == WEFT_OK; ++step) {
        status = step_of(comm, j, table, &d, step);
    }
    WEFT_FREE_ALL(d.at, d.key, d.samples, d.weight, d.dweight, d.total);
    embed_close(table);
    return status;
}

static int number(char **argument, int count, int at, int otherwise)
{
    const int given = at < count ? atoi(argument[at]) : otherwise;
    return given > 0 ? given : otherwise;
}

int main(int count, char **argument)
{
    const int ranks = number(argument, count, 1, 8), ids = number(argument, count, 2, 300);
    const int samples = number(argument, count, 3, 256);
    printf(
        "%d ranks, %d ids a sample, %d samples a rank; bytes of a batch over all ranks; where ids are sent, they count "
        "in pull + push, too\n",
        ranks, ids, samples);
    printf("%-28s %12s %14s %9s %14s %9s\n", "operator", "pull + push", "des, ids sent", "saves", "ids everywhere",
           "saves");
    for (int i = 0; i < OPERATORS; ++i) {
        int64_t server = 0, sent[2];
        for (int whole = 0; whole < 2; ++whole) {
            job j = {.ids = ids, .samples = samples, .of = &operators[i], .whole = whole != 0};
            j.columns = j.of->sums.rows * (j.of->width + j.of->linear) + j.of->sums.squares + j.of->sums.products;
            if (comm_thread_run(ranks, run_rank, &j) != WEFT_OK) {
                fprintf(stderr, "%s\n", weft_error_message());
                return 1;
            }
            if (j.sent != j.formula) {
                fprintf(stderr, "%s: %lld bytes were sent, %lld by the formula\n", j.of->name, (long long)j.sent,
                        (long long)j.formula);
                return 1;
            }
            /* A server is asked by key, and told gradients by key. */
            const int64_t keys = whole == 0 ? 2 * j.counts.distinct * (int64_t)sizeof(uint64_t) : 0;
            server = embed_server_bytes(&j.counts, j.of->width + j.of->linear) + (whole == 0 ? keys : 0);
            sent[whole] = j.sent;
            if (whole == 0) {
                printf("%-28s %12lld %14lld %7.2f %%", j.of->name, (long long)(server - keys), (long long)sent[0],
                       100.0 * (1.0 - (double)sent[0] / (double)server));
            } else {
                printf(" %14lld %7.2f %%\n", (long long)sent[1], 100.0 * (1.0 - (double)sent[1] / (double)server));
            }
        }
    }
    return 0;
}
