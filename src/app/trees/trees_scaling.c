/*
 * app/trees/trees_scaling.c: seconds of a tree on 1 to 128 ranks, which a dry run prints.
 *
 * A few trees are grown on the first rows of this rank, for a second or two, and their parts are timed. What a tree of
 * all rows computes and sends is counted from the shape of these trees (trees/grow/growth_work.h):
 *
 *      seconds = rows / P * (sums + division + rest of a row)  +  nodes * scan / P       this machine's rates
 *              + rounds * latency + bytes * seconds a byte                               comm/core/cost.h
 *
 * Every rank is a node of its own, with the threads of this one. What it leaves out: ranks that share a processor's
 * caches, memory or cores, rows that are dealt unevenly, and trees of more rows that have more nodes.
 */
#include <math.h>
#include <stdio.h>

#include "app/trees/trees_job.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "comm/comm_options.def"
#include "comm/core/layout.h"
#include "comm/model/model_file.h"

enum { SAMPLE_ROWS = 1 << 18, LEAST_ROUNDS = 2, MOST_ROUNDS = 6, RANKS_MOST = 128 };

#define ENOUGH_SECONDS 1.0 /* of rounds, behind which no more are begun */

/* Rounds on the first rows of this rank, alone. */
typedef struct sample {
    tree_columns data;
    tree_targets targets;
    float *y;        /* [rows] */
    uint8_t *counts; /* [rows] */
    weft_comm *self;
    tree_boost *boost;
    int rounds;
    double round; /* seconds of a round, beside those that `seconds` has */
    growth_seconds seconds;
    growth_work work; /* of `seconds` */
} sample;

static weft_status open_sample(const workload *work, sample *s)
{
    const trees_job *job = work->self;
    const tree_rows *rows = &job->rows;
    s->data = rows->data;
    s->data.rows = rows->data.rows < SAMPLE_ROWS ? rows->data.rows : SAMPLE_ROWS;
    WEFT_TRY(WEFT_NEW_ZERO(&s->y, s->data.rows, WEFT_MEM_TREES));
    WEFT_TRY(WEFT_NEW(&s->counts, s->data.rows, WEFT_MEM_TREES));
    for (int64_t i = 0; i < s->data.rows; ++i) {
        s->y[i] = rows->numbers ? rows->labels.target[i] : (float)rows->labels.label[i];
        s->counts[i] = rows->labels.split[i] == TRAIN_SPLIT_TRAIN;
    }
    s->targets = (tree_targets){.loss = job->loss == TREE_LOSS_RANK ? TREE_LOSS_SQUARED : job->loss,
                                .rows = s->data.rows,
                                .outputs = job->loss == TREE_LOSS_SOFTMAX ? (int)work->outputs : 1,
                                .y = s->y,
                                .counts = s->counts,
                                .quantile = 0.5};
    WEFT_TRY(comm_create_self(&s->self));
    WEFT_TRY(boost_create(s->self, work->context->hal, &s->data, &s->targets, &job->options, &s->boost));
    return boost_restart(s->boost);
}

static void close_sample(sample *s)
{
    boost_destroy(s->boost);
    comm_destroy(s->self);
    WEFT_FREE_ALL(s->y, s->counts);
}

/* One round: what it took, and what it did. */
static weft_status time_round(sample *s, double *round, growth_seconds *seconds, growth_work *work)
{
    const tree_grower *grower = boost_grower(s->boost);
    const growth_work before = *grower_work(grower);
    const growth_seconds spent = *grower_seconds(grower);
    const double begun = clock_seconds();
    WEFT_TRY(boost_round(s->boost, 1));
    const growth_work *all = grower_work(grower);
    const growth_seconds *now = grower_seconds(grower);
    *round = clock_seconds() - begun;
    *work = (growth_work){.summed = all->summed - before.summed,
                          .divided = all->divided - before.divided,
                          .scanned = all->scanned - before.scanned};
    *seconds = (growth_seconds){
        .sums = now->sums - spent.sums, .division = now->division - spent.division, .scans = now->scans - spent.scans};
    return WEFT_OK;
}

/* The fastest round: others, as the first that touches all memory, and those that other programs disturb, say less. */
static weft_status time_rounds(sample *s)
{
    double least = INFINITY, spent = 0.0;
    for (; s->rounds < LEAST_ROUNDS || (s->rounds < MOST_ROUNDS && spent < ENOUGH_SECONDS); ++s->rounds) {
        double round = 0.0;
        growth_seconds seconds;
        growth_work work;
        WEFT_TRY(time_round(s, &round, &seconds, &work));
        spent += round;
        if (round < least) {
            least = round;
            s->seconds = seconds;
            s->work = work;
        }
    }
    s->round = fmax(least - s->seconds.sums - s->seconds.division - s->seconds.scans, 0.0);
    return WEFT_OK;
}

/* What the trees of the sample would do on so many rows, in all rounds. Nodes that growth by leaves divides in vain are
 * not in the trees, so their share is that of the sample. */
static weft_status count_work(const sample *s, const tree_growth *growth, int64_t rows, growth_work *work)
{
    const growth_work *grown = grower_work(boost_grower(s->boost));
    const weft_forest *forest = boost_forest(s->boost);
    const int *cells = boost_bins(s->boost)->cells;
    growth_shape shape = {
        .rows = rows, .depth = growth->depth, .record_bytes = grower_record_bytes(boost_grower(s->boost))};
    for (int c = 0; c < s->data.columns; ++c) {
        shape.cells += cells[c];
    }
    for (int t = 0; t < forest->trees; ++t) {
        WEFT_TRY(growth_add_tree(&forest->tree[t], &shape, work));
    }
    if (growth->leaf_wise) {
        work->numbers = llrint((double)work->numbers * (double)grown->built / (double)work->built);
        work->calls = grown->calls;
        work->call_bytes = grown->call_bytes;
        work->scatters = grown->scatters;
        work->scanned = grown->scanned;
    }
    work->summed = llrint((double)grown->summed * (double)rows / (double)s->data.rows);
    work->divided = llrint((double)grown->divided * (double)rows / (double)s->data.rows);
    return WEFT_OK;
}

static double rate_of(double seconds, int64_t count)
{
    return count > 0 ? seconds / (double)count : 0.0;
}

/* The model of a file, of this communicator if it has links between nodes, or the fixed constants. [out] whose: in
 * words. */
static comm_model model_of(const app_context *context, const char **whose)
{
    const char *path = option_text(context->options, OPT_COMM_MODEL);
    comm_model model =
        comm_get_layout(context->comm)->nodes > 1 ? *comm_get_model(context->comm) : comm_model_default();
    if (path[0] != '\0' && model_read(path, NULL, &model) != WEFT_OK) {
        log_warn(FLAG_COMM_MODEL " is not taken: %s", weft_error_message());
        weft_error_clear();
    }
    *whose = model.measured ? "measured" : "assumed: " FLAG_COMM_MODEL " FILE has those of a cluster";
    return model;
}

/* The largest share of the columns that a rank keeps. */
static double widest_share(int columns, int ranks)
{
    return columns > 0 ? ceil((double)columns / ranks) / columns : 0.0;
}

static void print_table(const sample *s, const growth_work *work, int64_t rows, const comm_model *model, FILE *out)
{
    const int *cells = boost_bins(s->boost)->cells;
    const double per_row = s->round * (double)rows / (double)s->data.rows +
                           (rate_of(s->seconds.sums, s->work.summed) * (double)work->summed +
                            rate_of(s->seconds.division, s->work.divided) * (double)work->divided) /
                               s->rounds;
    const double scans = rate_of(s->seconds.scans, s->work.scanned) * (double)work->scanned / s->rounds;
    double alone = 0.0;
    fprintf(out, "  ranks  computing  messages   seconds  speed-up   sent by a rank  messages\n");
    for (int ranks = 1; ranks <= RANKS_MOST; ranks *= 2) {
        const comm_cost cost = growth_cost(work, cells, s->data.columns, 0, ranks);
        const double computing = per_row / ranks + scans * widest_share(s->data.columns, ranks);
        const double seconds = computing + comm_model_seconds(model, &cost) / s->rounds;
        alone = ranks == 1 ? seconds : alone;
        fprintf(out, "  %5d %10.4f %8.1f%% %9.4f %9.2f %16s %9lld\n", ranks, computing,
                100.0 * (seconds - computing) / seconds, seconds, alone / seconds,
                number_say_bytes((uint64_t)(cost.bytes_sent / s->rounds)).text,
                (long long)cost.messages_sent / s->rounds);
    }
}

static weft_status print_scaling(const workload *work, sample *s, FILE *out)
{
    const trees_job *job = work->self;
    const int64_t rows = job->rows.table.rows;
    const char *whose;
    growth_work all = {.calls = 0};
    WEFT_TRY(open_sample(work, s));
    WEFT_TRY(time_rounds(s));
    WEFT_TRY(count_work(s, &job->options.growth, rows, &all));
    const comm_model model = model_of(work->context, &whose);
    fprintf(out,
            "a round of trees on all %lld rows, by the fastest of %d on %lld of them with %d threads a rank, a rank a "
            "node, and "
            "links of %s a second and %.0f us (%s):\n",
            (long long)rows, s->rounds, (long long)s->data.rows, work->context->hal->threads,
            number_say_bytes((uint64_t)(1.0 / model.inter.seconds_per_byte)).text, 1e6 * model.inter.latency, whose);
    print_table(s, &all, rows, &model, out);
    return WEFT_OK;
}

void trees_print_scaling(const workload *work, FILE *out)
{
    sample s = {.self = NULL};
    if (work->trained || ((const trees_job *)work->self)->rows.data.rows == 0) {
        return;
    }
    if (print_scaling(work, &s, out) != WEFT_OK) {
        log_warn("seconds of a round are not told: %s", weft_error_message());
        weft_error_clear();
    }
    close_sample(&s);
}
