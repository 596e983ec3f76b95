/*
 * comm/sync/significance.c: one pass over the accumulator and the parameters; a second over what was taken.
 *
 * Entries are 8 bytes, dense values 4: at half of the elements the dense form is no longer.
 */
#include "comm/sync/significance.h"

#include <math.h>
#include <string.h>

static const double budget_step = 0.005;

int64_t significance_take(const float *w, float *acc, int64_t count, double theta, void *payload)
{
    significance_entry *entry = payload;
    float relative = (float)theta;
    int64_t limit = (count + 1) / 2;
    int64_t taken = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (fabsf(acc[i]) <= relative * fabsf(w[i])) {
            continue;
        }
        if (taken + 1 >= limit) {
            memcpy(payload, acc, (size_t)count * sizeof *acc);
            memset(acc, 0, (size_t)count * sizeof *acc);
            return SIGNIFICANCE_DENSE;
        }
        entry[taken++] = (significance_entry){(int32_t)i, acc[i]};
    }
    for (int64_t k = 0; k < taken; ++k) {
        acc[entry[k].index] = 0;
    }
    return taken;
}

weft_status significance_apply(float *w, int64_t count, int64_t entries, const void *payload)
{
    if (entries == SIGNIFICANCE_DENSE) {
        const float *value = payload;
        for (int64_t i = 0; i < count; ++i) {
            w[i] += value[i];
        }
        return WEFT_OK;
    }
    const significance_entry *entry = payload;
    for (int64_t k = 0; k < entries; ++k) {
        WEFT_CHECK(entry[k].index >= 0 && entry[k].index < count, WEFT_ERR_INTERNAL,
                   "an update for element %d of a bucket of %lld", entry[k].index, (long long)count);
        w[entry[k].index] += entry[k].value;
    }
    return WEFT_OK;
}

double significance_theta(significance_threshold *threshold, const sync_asp_options *options, double lr)
{
    if (options->policy == ASP_LEARNING_RATE) {
        threshold->first_lr = threshold->first_lr > 0 ? threshold->first_lr : lr;
        threshold->theta =
            threshold->first_lr > 0 ? options->threshold * (lr / threshold->first_lr) : options->threshold;
    }
    return threshold->theta;
}

void significance_note(significance_threshold *threshold, const sync_asp_options *options, uint64_t bytes,
                       double seconds)
{
    if (options->policy != ASP_BANDWIDTH) {
        return;
    }
    double budget = options->bandwidth * seconds;
    double most = options->threshold > 1.0 ? options->threshold : 1.0;
    double step = (double)bytes > 1.1 * budget ? budget_step : (double)bytes < 0.9 * budget ? -budget_step : 0.0;
    threshold->theta = fmin(fmax(threshold->theta + step, 0.0), most);
}
