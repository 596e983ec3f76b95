/* embed/plan/embed_trial.c: see embed/plan/embed_trial.h. */
#include "embed/plan/embed_trial.h"

#include <assert.h>
#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/integer/integers.h"

static const double worth = 0.95; /* of the time of all-to-all: a mode that takes more does not replace it */

typedef struct trial_run {
    weft_comm *comm;
    const embed_trial_desc *how;
    embed_table *table;
    embed_mode mode;
    float *number; /* [samples, columns] sums, then zeros as their gradient */
    int64_t columns;
} trial_run;

/* Of pooled rows. */
static int64_t pooled_columns(const embed_desc *desc)
{
    return (int64_t)desc->fields * (desc->width + desc->linear) + desc->squares;
}

static int64_t bytes_sent(const weft_comm *comm)
{
    return (int64_t)comm_lane_stats(comm, COMM_LANE_ROWS).bytes_sent;
}

static bool sums_keys(const trial_run *r)
{
    return r->how->sums != NULL && r->mode == EMBED_DES;
}

static weft_status pass(const trial_run *r, const embed_bags *bags)
{
    const int64_t ld = r->columns;
    WEFT_TRY(sums_keys(r) ? embed_sums_forward(r->table, r->how->sums, bags, NULL, true, r->number, ld)
                          : embed_forward(r->table, bags, true, r->number, ld));
    for (int64_t i = 0; i < bags->samples * ld; ++i) {
        r->number[i] = 0.0F;
    }
    return sums_keys(r) ? embed_sums_backward(r->table, r->number, ld, 0.1, NULL)
                        : embed_backward(r->table, r->number, ld, 0.1);
}

static weft_status time_batch(const trial_run *r, int i, double *seconds)
{
    embed_bags bags;
    WEFT_TRY(r->how->batch(r->how->self, i, &bags));
    WEFT_TRY(comm_barrier(r->comm));
    const double begin = clock_seconds();
    WEFT_TRY(pass(r, &bags));
    *seconds = clock_seconds() - begin;
    return comm_allreduce(r->comm, seconds, 1, WEFT_DTYPE_F64, COMM_MAX);
}

static weft_status go_through(trial_run *r, embed_trial *trial)
{
    const int m = (int)r->mode;
    int64_t before = 0;
    trial->seconds[m] = INFINITY;
    for (int i = 0; i < r->how->batches; ++i) {
        double seconds;
        WEFT_TRY(time_batch(r, i, &seconds));
        before = i == 0 ? bytes_sent(r->comm) : before;
        trial->seconds[m] = i > 0 && seconds < trial->seconds[m] ? seconds : trial->seconds[m];
    }
    trial->sent[m] = bytes_sent(r->comm) - before;
    return comm_allreduce(r->comm, &trial->sent[m], 1, WEFT_DTYPE_I64, COMM_SUM);
}

static weft_status try_mode(trial_run *r, const embed_desc *desc, embed_mode mode, embed_trial *trial)
{
    embed_desc d = *desc;
    d.mode = r->mode = mode;
    d.squares = d.squares && !sums_keys(r); /* they are among the sums */
    WEFT_TRY(embed_open(r->comm, &d, r->how->most, &r->table));
    r->columns = sums_keys(r) ? embed_sums_columns(r->table, r->how->sums) : pooled_columns(desc);
    trial->columns = mode == EMBED_DES ? r->columns : trial->columns;
    weft_status status = WEFT_NEW(&r->number, larger(r->how->samples * r->columns, 1), WEFT_MEM_WORKSPACE);
    status = comm_agree(r->comm, status);
    status = status == WEFT_OK ? go_through(r, trial) : status;
    weft_free(r->number);
    r->number = NULL;
    embed_close(r->table);
    return status;
}

/* What the timed batches have, and what the modes send of it by their formulas. */
static weft_status count_batches(const trial_run *r, const embed_desc *desc, embed_trial *trial)
{
    const int timed = r->how->batches - 1, stride = desc->width + desc->linear;
    bag_index index = {.positions = 0};
    embed_counts *sum = &trial->counts;
    weft_status status = WEFT_OK;
    for (int i = 1; i <= timed && status == WEFT_OK; ++i) {
        embed_bags bags;
        embed_counts one;
        WEFT_TRY_GOTO(r->how->batch(r->how->self, i, &bags), status, done);
        WEFT_TRY_GOTO(embed_counts_share(r->comm, &bags, desc->seed, &index, &one), status, done);
        one.weighted = desc->weighted;
        for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
            trial->formula[m] += embed_mode_bytes((embed_mode)m, &one, stride, trial->columns, false);
        }
        *sum = (embed_counts){one.ranks,
                              sum->samples + one.samples,
                              sum->distinct + one.distinct,
                              sum->distinct_away + one.distinct_away,
                              sum->keys_away + one.keys_away,
                              one.weighted};
    }
    *sum = (embed_counts){
        sum->ranks,    sum->samples / timed, sum->distinct / timed, sum->distinct_away / timed, sum->keys_away / timed,
        desc->weighted};
done:
    bag_index_free(&index);
    return status;
}

weft_status embed_try_modes(weft_comm *comm, const embed_desc *desc, const embed_trial_desc *how, embed_trial *trial)
{
    trial_run r = {.comm = comm, .how = how};
    assert(how->batches >= 2);
    *trial = (embed_trial){.columns = pooled_columns(desc)};
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        trial->seconds[m] = NAN;
        WEFT_TRY(how->tries[m] ? try_mode(&r, desc, (embed_mode)m, trial) : WEFT_OK);
    }
    double least = worth * trial->seconds[EMBED_ALL_TO_ALL];
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        if (trial->seconds[m] < least || (isnan(least) && !isnan(trial->seconds[m]))) {
            trial->fastest = (embed_mode)m;
            least = trial->seconds[m];
        }
    }
    return count_batches(&r, desc, trial);
}
