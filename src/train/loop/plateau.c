/* train/loop/plateau.c: see train/loop/plateau.h. */
#include "train/loop/plateau.h"

#include <math.h>

double plateau_factor(const train_schedule *schedule, const train_plateau *plateau)
{
    return schedule->kind == SCHEDULE_PLATEAU ? pow(schedule->gamma, (double)plateau->decays) : 1.0;
}

void plateau_hear(const train_schedule *schedule, int64_t epoch, double score, bool less, train_plateau *plateau)
{
    if (schedule->kind != SCHEDULE_PLATEAU || epoch <= schedule->warmup || isnan(score)) {
        return;
    }
    const bool better = plateau->heard == 0 || (less ? score < plateau->best : score > plateau->best);
    plateau->heard += 1;
    plateau->best = better ? score : plateau->best;
    plateau->bad = better ? 0 : plateau->bad + 1;
    if (plateau->bad > schedule->patience) {
        plateau->bad = 0;
        plateau->decays += 1;
    }
}
