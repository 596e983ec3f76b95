/* train/indexes/calibration.c: see train/indexes/calibration.h. */
#include "train/indexes/calibration.h"

#include "base/exact/exp_series.h"
#include "base/integer/integers.h"
#include "train/indexes/confusion.h"

/* ---- logits ------------------------------------------------------------------------------------------------------ */

enum { BLOCK = 256 /* levels */ };

/* Levels whose logit is intercept + slope * score. */
typedef struct logit_block {
    double p[BLOCK];    /* 1 / (1 + exp(-logit)) */
    double tail[BLOCK]; /* exp(-|logit|) */
} logit_block;

static void take_logits(const score_level *level, int64_t count, double intercept, double slope, logit_block *block)
{
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
        const double logit = intercept + slope * (double)level[i].score;
        const double e = exp_series(logit < 0.0 ? logit : -logit), one = 1.0 / (1.0 + e);
        block->p[i] = logit < 0.0 ? e * one : one;
        block->tail[i] = e;
    }
}

/* A sum of rows * log(1 + tail), where tails are from 0 to 1. Of single rows the numbers 1 + tail are multiplied, and
 * one logarithm is taken of hundreds; a small tail would be lost in 1 + tail. */
typedef struct log_sum {
    double sum, product;
} log_sum;

static void log_sum_add(log_sum *log_of, double rows, double tail)
{
    if (rows != 1.0 || tail < 1e-3) {
        log_of->sum += rows * log1p(tail);
        return;
    }
    log_of->product *= 1.0 + tail;
    if (log_of->product > 1e300) {
        log_of->sum += log(log_of->product);
        log_of->product = 1.0;
    }
}

static double log_sum_end(const log_sum *log_of)
{
    return log_of->sum + log(log_of->product);
}

/* ---- bins -------------------------------------------------------------------------------------------------------- */

/* A level belongs to the bin of its middle row. */
static void fill_bins(const score_levels *levels, int64_t rows, calibration_bin *all)
{
    int64_t before = 0;
    for (int64_t k = 0; k < levels->count; ++k) {
        const score_level *l = &levels->level[k];
        const int64_t here = score_level_rows(l);
        calibration_bin *bin = &all[CALIBRATION_BINS * (2 * before + here) / (2 * rows)];
        bin->rows += here;
        bin->positives += l->positives;
        bin->mean += (double)here * score_probability(l->score);
        before += here;
    }
}

static void make_bins(const score_levels *levels, int64_t rows, index_calibration *c)
{
    calibration_bin all[CALIBRATION_BINS] = {{0}};
    fill_bins(levels, rows, all);
    for (int b = 0; b < CALIBRATION_BINS; ++b) {
        if (all[b].rows > 0) {
            all[b].mean /= (double)all[b].rows;
            all[b].share = wilson_share(all[b].positives, all[b].rows);
            c->bin[c->bins++] = all[b];
        }
    }
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static void sum_scores(const score_levels *levels, int64_t rows, index_calibration *c)
{
    logit_block block;
    log_sum tails = {.product = 1.0};
    for (int64_t first = 0; first < levels->count; first += BLOCK) {
        const int64_t count = smaller(BLOCK, levels->count - first);
        take_logits(levels->level + first, count, 0.0, 1.0, &block);
        for (int64_t i = 0; i < count; ++i) {
            const score_level *l = &levels->level[first + i];
            const double p = block.p[i], other = 1.0 - p, score = (double)l->score;
            c->brier += (double)l->positives * other * other + (double)l->negatives * p * p;
            c->log_loss += (double)l->positives * fmax(-score, 0.0) + (double)l->negatives * fmax(score, 0.0);
            log_sum_add(&tails, (double)score_level_rows(l), block.tail[i]);
        }
    }
    c->brier /= (double)rows;
    c->log_loss = (c->log_loss + log_sum_end(&tails)) / (double)rows;
}

static void part_brier(const score_levels *levels, int64_t rows, index_calibration *c)
{
    const double share = (double)levels->positives / (double)rows;
    for (int b = 0; b < c->bins; ++b) {
        const calibration_bin *bin = &c->bin[b];
        const double weight = (double)bin->rows / (double)rows, off = bin->mean - bin->share.value;
        c->reliability += weight * off * off;
        c->resolution += weight * (bin->share.value - share) * (bin->share.value - share);
    }
    c->uncertainty = share * (1.0 - share);
    c->within = c->brier - (c->reliability - c->resolution + c->uncertainty);
}

/* ---- slope and intercept ----------------------------------------------------------------------------------------- */

enum { FIT_STEPS = 100, FIT_HALVINGS = 40 };
#define FIT_TOLERANCE 1e-12

typedef struct logistic_fit {
    double intercept, slope;
    double gradient[2], hessian[3]; /* hessian: of both intercepts, of intercept and slope, of both slopes */
    double loss;
} logistic_fit;

/* Loss of the fit with its derivatives. */
static void measure_fit(const score_levels *levels, logistic_fit *f)
{
    logit_block block;
    log_sum tails = {.product = 1.0};
    *f = (logistic_fit){.intercept = f->intercept, .slope = f->slope};
    for (int64_t first = 0; first < levels->count; first += BLOCK) {
        const int64_t count = smaller(BLOCK, levels->count - first);
        take_logits(levels->level + first, count, f->intercept, f->slope, &block);
        for (int64_t i = 0; i < count; ++i) {
            const score_level *l = &levels->level[first + i];
            const double x = (double)l->score, eta = f->intercept + f->slope * x, p = block.p[i];
            const double rows = (double)score_level_rows(l), off = rows * p - (double)l->positives;
            const double curve = rows * p * (1.0 - p);
            f->loss += rows * fmax(eta, 0.0) - (double)l->positives * eta;
            f->gradient[0] += off;
            f->gradient[1] += off * x;
            f->hessian[0] += curve;
            f->hessian[1] += curve * x;
            f->hessian[2] += curve * x * x;
            log_sum_add(&tails, rows, block.tail[i]);
        }
    }
    f->loss += log_sum_end(&tails);
}

static double determinant_of(const logistic_fit *f)
{
    return f->hessian[0] * f->hessian[2] - f->hessian[1] * f->hessian[1];
}

/* Newton's step. [out] step: of intercept and slope. Returns false if the loss has no curvature. */
static bool newton_step(const logistic_fit *f, bool alone, double *step)
{
    if (alone) {
        step[0] = -f->gradient[0] / f->hessian[0];
        step[1] = 0.0;
        return f->hessian[0] > 0.0;
    }
    const double determinant = determinant_of(f);
    step[0] = -(f->hessian[2] * f->gradient[0] - f->hessian[1] * f->gradient[1]) / determinant;
    step[1] = -(f->hessian[0] * f->gradient[1] - f->hessian[1] * f->gradient[0]) / determinant;
    return determinant > FIT_TOLERANCE * f->hessian[0] * f->hessian[2];
}

/* Goes on from *f. Returns true once a step is nothing beside the place. */
static bool fit_logistic(const score_levels *levels, bool alone, logistic_fit *f)
{
    measure_fit(levels, f);
    for (int i = 0; i < FIT_STEPS; ++i) {
        double step[2], share = 1.0;
        logistic_fit next;
        if (!newton_step(f, alone, step)) {
            return false;
        }
        if (fabs(step[0]) <= 1e-10 * (1.0 + fabs(f->intercept)) && fabs(step[1]) <= 1e-10 * (1.0 + fabs(f->slope))) {
            return true;
        }
        for (int half = 0; half < FIT_HALVINGS; ++half, share *= 0.5) {
            next = (logistic_fit){.intercept = f->intercept + share * step[0], .slope = f->slope + share * step[1]};
            measure_fit(levels, &next);
            if (next.loss <= f->loss + FIT_TOLERANCE * fabs(f->loss)) {
                break;
            }
        }
        *f = next;
    }
    return false;
}

static index_value fitted(double value, double variance)
{
    const double half = INDEX_NORMAL_QUANTILE * sqrt(variance);
    return (index_value){value, value - half, value + half};
}

/* Returns true if some score has all rows of one class on its one side, and all of the other on the other: the slope
 * has no bound then. */
static bool is_parted(const score_levels *levels)
{
    int64_t first[2] = {levels->count, levels->count}, last[2] = {-1, -1}; /* levels that have rows of a class */
    for (int64_t k = 0; k < levels->count; ++k) {
        const int64_t rows[2] = {levels->level[k].negatives, levels->level[k].positives};
        for (int c = 0; c < 2; ++c) {
            first[c] = rows[c] > 0 && k < first[c] ? k : first[c];
            last[c] = rows[c] > 0 ? k : last[c];
        }
    }
    return last[0] <= first[1] || last[1] <= first[0];
}

static void fit_calibration(const score_levels *levels, index_calibration *c)
{
    logistic_fit f = {.intercept = 0.0, .slope = 1.0};
    if (levels->positives == 0 || levels->negatives == 0) {
        return;
    }
    if (fit_logistic(levels, true, &f)) { /* a good place for both to begin at */
        c->intercept_alone = fitted(f.intercept, 1.0 / f.hessian[0]);
    } else {
        f = (logistic_fit){.intercept = log((double)levels->positives / (double)levels->negatives), .slope = 0.0};
    }
    if (!is_parted(levels) && fit_logistic(levels, false, &f)) {
        const double determinant = determinant_of(&f);
        c->intercept = fitted(f.intercept, f.hessian[2] / determinant);
        c->slope = fitted(f.slope, f.hessian[0] / determinant);
    }
}

void calibration_of(const score_levels *levels, index_calibration *result)
{
    const int64_t rows = levels->positives + levels->negatives;
    const index_value none = {NAN, NAN, NAN};
    *result = (index_calibration){.slope = none, .intercept = none, .intercept_alone = none};
    if (rows == 0) {
        result->brier = result->reliability = result->resolution = result->uncertainty = NAN;
        result->within = result->log_loss = NAN;
        return;
    }
    make_bins(levels, rows, result);
    sum_scores(levels, rows, result);
    part_brier(levels, rows, result);
    fit_calibration(levels, result);
}
