/* app/gnn/divide/rank_weights.c: see app/gnn/divide/rank_weights.h. */
#include "app/gnn/divide/rank_weights.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/gnn/options/gnn_options.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/philox.h"
#include "partition/shares.h"

enum { ROWS = 32768, DEGREE = 16, WIDTH_MOST = 256, RUNS_LEAST = 3, RUNS_MOST = 64, WEIGHT_BYTES = 16 };
static const double enough_seconds = 0.3; /* of runs; of the first one alone: it needs no others */
static const double kept_slack = 0.1;     /* what rates differ by from job to job, and no more */

/* ---- numbers ----------------------------------------------------------------------------------------------------- */
weft_status rank_weights_parse(const char *text, int count, const char *whose, double *weight)
{
    double least = INFINITY, most = 0.0;
    int found = 0;
    for (const char *at = text; at != NULL; ++found) {
        const char *end = at;
        double value = 0.0;
        const bool number = number_scan_real(at, &end, &value) && (*end == ',' || *end == '\0');
        WEFT_CHECK(number && value > 0.0, WEFT_ERR_USAGE,
                   FLAG_RANK_WEIGHTS
                   " %s: \"%.*s\" is no number above 0: give equal, auto, or such a number for each %s, as in 3,1,1",
                   text, (int)strcspn(at, ","), at, whose);
        if (found < count) {
            weight[found] = value;
        }
        least = value < least ? value : least;
        most = value > most ? value : most;
        at = *end == ',' ? end + 1 : NULL;
    }
    WEFT_CHECK(found == count, WEFT_ERR_USAGE, FLAG_RANK_WEIGHTS " %s: %d number(s) for %d %s(s): give one for each",
               text, found, count, whose);
    WEFT_CHECK(most <= RANK_WEIGHTS_RANGE * least, WEFT_ERR_USAGE,
               FLAG_RANK_WEIGHTS " %s: %g is more than %g times %g: leave out a %s that is to do next to nothing", text,
               most, RANK_WEIGHTS_RANGE, least, whose);
    return WEFT_OK;
}

static double two_digits(double value)
{
    const double unit = pow(10.0, floor(log10(value)) - 1.0);
    return round(value / unit) * unit;
}

void rank_weights_round(int count, double *weight)
{
    double most = 0.0;
    for (int r = 0; r < count; ++r) {
        most = weight[r] > most ? weight[r] : most;
    }
    double least = INFINITY;
    for (int r = 0; r < count; ++r) {
        weight[r] = fmax(weight[r], most / RANK_WEIGHTS_RANGE);
        least = weight[r] < least ? weight[r] : least;
    }
    const bool alike = most < (1.0 + kept_slack) * least;
    for (int r = 0; r < count; ++r) {
        weight[r] = alike ? 1.0 : two_digits(weight[r] / least);
    }
}

static void divide_by_sum(double *weight, int count)
{
    double sum = 0.0;
    for (int r = 0; r < count; ++r) {
        sum += weight[r];
    }
    assert(sum > 0.0);
    for (int r = 0; r < count; ++r) {
        weight[r] /= sum;
    }
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */
/* Each row has neighbours anywhere: the same graph on every rank. */
static weft_status make_graph(int64_t **offset, int32_t **column)
{
    WEFT_TRY(WEFT_NEW(offset, ROWS + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(column, ROWS * DEGREE, WEFT_MEM_WORKSPACE));
    for (int64_t v = 0; v <= ROWS; ++v) {
        (*offset)[v] = v * DEGREE;
    }
    for (int64_t e = 0; e < ROWS * DEGREE; e += 4) {
        const philox_block block = philox4x32(philox_counter(0, (uint64_t)e, WEFT_RNG_PARTITION, 0), 1);
        for (int i = 0; i < 4; ++i) {
            (*column)[e + i] = (int32_t)(block.word[i] % ROWS);
        }
    }
    return WEFT_OK;
}

static weft_status new_matrix(weft_hal *hal, int64_t width, void **data)
{
    WEFT_TRY(hal->mem.alloc(hal, (size_t)(ROWS * width) * sizeof(float), WEFT_MEM_WORKSPACE, data));
    return hal->mem.zero(hal, *data, (size_t)(ROWS * width) * sizeof(float));
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of runs until they have taken long enough. */
static weft_status time_runs(weft_hal *hal, const hal_spmm_run_args *args, double *seconds)
{
    double run[RUNS_MOST], sum = 0.0;
    int runs = 0;
    for (int i = -1; i < RUNS_MOST && (runs < RUNS_LEAST || sum < enough_seconds); ++i) {
        const double start = clock_seconds();
        WEFT_TRY(hal_spmm_run(hal, args));
        WEFT_TRY(hal->stream.sync(hal));
        const double taken = clock_seconds() - start;
        if (i < 0 && taken >= enough_seconds) {
            *seconds = taken;
            return WEFT_OK;
        }
        if (i >= 0) { /* the first one warms up */
            run[runs++] = taken;
            sum += taken;
        }
    }
    assert(runs > 0 && runs <= RUNS_MOST);
    qsort(run, (size_t)runs, sizeof run[0], by_size);
    *seconds = run[runs / 2];
    return WEFT_OK;
}

static weft_status prepare(weft_hal *hal, const hal_csr *csr, int64_t width, hal_spmm_form form, hal_spmm **matrix)
{
    const hal_spmm_request request = {.max_d = width};
    hal_spmm_trial trial;
    if (form != HAL_SPMM_AUTO) {
        return hal->sparse.spmm_create(hal, csr, form, width, matrix);
    }
    WEFT_TRY(hal->sparse.spmm_try(hal, csr, &request, &trial));
    return hal_spmm_take(hal, csr, width, &trial, hal_spmm_pick(trial.seconds, trial.expected), matrix);
}

/* [out] rate  elements that are added in a second */
static weft_status measure(const app_context *context, int64_t width, double *rate)
{
    weft_hal *hal = context->hal;
    weft_status status = WEFT_OK;
    int64_t *offset = NULL;
    int32_t *column = NULL;
    void *x = NULL, *out = NULL;
    hal_spmm_run_args args = {.beta = 0.0};
    double seconds = 0.0;
    WEFT_TRY_GOTO(make_graph(&offset, &column), status, done);
    const hal_csr csr = {.rows = ROWS, .cols = ROWS, .offset = offset, .column = column};
    WEFT_TRY_GOTO(prepare(hal, &csr, width, option_choice(context->options, OPT_SPMM), &args.matrix), status, done);
    WEFT_TRY_GOTO(new_matrix(hal, width, &x), status, done);
    WEFT_TRY_GOTO(new_matrix(hal, width, &out), status, done);
    args.x = hal_mat_of(x, WEFT_DTYPE_F32, ROWS, width, width);
    args.out = hal_mat_of(out, WEFT_DTYPE_F32, ROWS, width, width);
    WEFT_TRY_GOTO(time_runs(hal, &args, &seconds), status, done);
    *rate = (double)ROWS * DEGREE * (double)width / seconds;
done:
    hal->mem.free(hal, x);
    hal->mem.free(hal, out);
    if (args.matrix != NULL) {
        hal->sparse.spmm_destroy(hal, args.matrix);
    }
    WEFT_FREE_ALL(column, offset);
    return status;
}

/* "7.9 1", or with commas. [out] text [count * WEIGHT_BYTES] */
static void say_weights(const double *weight, int count, char between, char *text)
{
    size_t used = 0;
    for (int r = 0; r < count; ++r) {
        used += (size_t)snprintf(text + used, WEIGHT_BYTES, "%.3g", weight[r]);
        if (r + 1 < count) {
            text[used++] = between;
        }
    }
    assert(used < (size_t)count * WEIGHT_BYTES);
}

/* What was measured stands in the options as if somebody had typed it, and is told. Collective. */
static weft_status tell(const app_context *context, const double *weight, int count)
{
    weft_status status = WEFT_OK;
    char *text = NULL;
    WEFT_TRY(comm_agree(context->comm, WEFT_NEW_ZERO(&text, (int64_t)count * WEIGHT_BYTES, WEFT_MEM_GENERAL)));
    say_weights(weight, count, ' ', text);
    log_info("rank weights (auto, measured): %s", text);
    say_weights(weight, count, ',', text);
    if (context->decided != NULL) {
        status = app_decide_shared(context->comm, context->decided, OPT_RANK_WEIGHTS, text);
    }
    weft_free(text);
    return status;
}

/* weight [ranks]. Collective. */
static weft_status measure_all(const app_context *context, int64_t width, double *weight)
{
    weft_comm *comm = context->comm;
    double rate = 0.0;
    width = width < 1 ? 1 : width > WIDTH_MOST ? WIDTH_MOST : width;
    WEFT_TRY(comm_barrier(comm)); /* ranks that share a machine find what they will find in epochs */
    WEFT_TRY(comm_agree(comm, measure(context, width, &rate)));
    WEFT_TRY(comm_allgather(comm, &rate, (int64_t)sizeof rate, weight));
    log_debug("rank %d adds %.3g elements a second", comm_rank(comm), rate);
    rank_weights_round(comm_size(comm), weight);
    return tell(context, weight, comm_size(comm));
}

/* ---- both -------------------------------------------------------------------------------------------------------- */
static void advise(const app_context *context)
{
    if (context->mixed) {
        log_info("ranks compute on different backends (%s): " FLAG_RANK_WEIGHTS
                 " auto gives each as much of the graph as it has time for",
                 context->backends);
    }
}

weft_status rank_weights_find(const app_context *context, int parts, int64_t width, double **share, double *slack)
{
    const char *text = option_text(context->options, OPT_RANK_WEIGHTS);
    const bool measured = strcmp(text, "auto") == 0;
    double *weight = NULL;
    *share = NULL;
    *slack = 0.0;
    if (strcmp(text, "equal") == 0) {
        advise(context);
        return WEFT_OK;
    }
    WEFT_TRY(partition_check_shares(option_text(context->options, OPT_PARTITION)));
    if (measured && parts != comm_size(context->comm)) {
        log_warn(FLAG_RANK_WEIGHTS " auto measures ranks that are there: of %d that are not, all are taken to be alike",
                 parts);
        return WEFT_OK;
    }
    if (measured && parts == 1) {
        return WEFT_OK;
    }
    WEFT_TRY(comm_agree(context->comm, WEFT_NEW(&weight, parts, WEFT_MEM_PARTITION)));
    weft_status status =
        measured ? measure_all(context, width, weight) : rank_weights_parse(text, parts, "rank", weight);
    if (status != WEFT_OK) {
        weft_free(weight);
        return status;
    }
    divide_by_sum(weight, parts);
    *share = weight;
    *slack = measured ? kept_slack : 0.0;
    if (shares_unequal(weight, parts) == NULL) {
        weft_free(weight);
        *share = NULL;
    }
    return WEFT_OK;
}

weft_status rank_weights_of_parts(const weft_options *options, int parts, double **share)
{
    const char *text = option_text(options, OPT_RANK_WEIGHTS);
    *share = NULL;
    if (strcmp(text, "equal") == 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(strcmp(text, "auto") != 0, WEFT_ERR_USAGE,
               FLAG_RANK_WEIGHTS
               " auto measures the ranks of a training: give a number for each part here, as in 3,1,1");
    WEFT_TRY(WEFT_NEW(share, parts, WEFT_MEM_PARTITION));
    const weft_status status = rank_weights_parse(text, parts, "part", *share);
    if (status != WEFT_OK) {
        weft_free(*share);
        *share = NULL;
        return status;
    }
    divide_by_sum(*share, parts);
    return WEFT_OK;
}
