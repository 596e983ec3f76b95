/* tune/search/part_gain.c: see tune/search/part_gain.h. */
#include "tune/search/part_gain.h"

#include <math.h>

#include "base/sample.h"

/* [out] later [told]: the next value of the same trial, -1: none. last [trials]: scratch. */
static void find_later(const search_history *history, int told, int *last, int *later)
{
    for (int t = 0; t < history->trials; t++) {
        last[t] = -1;
    }
    for (int i = told - 1; i >= 0; i--) {
        later[i] = last[history->news[i].trial];
        last[history->news[i].trial] = i;
    }
}

/* The largest share below `below`; 0: none. */
static double share_below(const search_history *history, int told, double below)
{
    double share = 0.0;
    for (int i = 0; i < told; i++) {
        const double s = history->news[i].share;
        share = s < below && s > share ? s : share;
    }
    return share;
}

/* The median gain from a share, whose larger ones have theirs; NaN: nobody went on. found [told]: scratch. */
static double gain_from(const search_history *history, int told, double share, const int *later, const double *gain,
                        double *found)
{
    const search_news *news = history->news;
    int count = 0;
    for (int i = 0; i < told; i++) {
        if (news[i].share == share && later[i] >= 0 && isfinite(news[later[i]].value)) {
            found[count++] = news[i].value - news[later[i]].value + gain[later[i]];
        }
    }
    sample_sort(found, count);
    return count > 0 ? sample_quantile(found, count, 0.5) : (double)NAN;
}

weft_status part_gains(const search_history *history, int told, double *gain)
{
    int *last = NULL, *later = NULL;
    double *found = NULL, larger = 0.0;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(WEFT_NEW(&last, history->trials, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&later, told, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&found, told, WEFT_MEM_WORKSPACE), status, done);
    find_later(history, told, last, later);
    for (int i = 0; i < told; i++) {
        gain[i] = 0.0;
    }
    double share = 1.0;
    while ((share = share_below(history, told, share)) > 0.0) {
        const double median = gain_from(history, told, share, later, gain, found);
        larger = isnan(median) ? larger : median;
        for (int i = 0; i < told; i++) {
            gain[i] = history->news[i].share == share ? larger : gain[i];
        }
    }
done:
    WEFT_FREE_ALL(last, later, found);
    return status;
}
