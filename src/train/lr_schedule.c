/* train/lr_schedule.c: see train/lr_schedule.h. */
#include "train/lr_schedule.h"

#include <math.h>

double schedule_lr(const train_schedule *schedule, int64_t epoch)
{
    if (epoch < schedule->warmup) {
        return schedule->base * (double)(epoch + 1) / (double)schedule->warmup;
    }
    int64_t t = epoch - schedule->warmup;
    int64_t total = schedule->epochs - schedule->warmup;
    double fraction = total > 0 ? (double)t / (double)total : 0.0;
    switch (schedule->kind) {
    case SCHEDULE_CONSTANT:
        return schedule->base;
    case SCHEDULE_STEP:
        return schedule->base * pow(schedule->gamma, floor((double)t / (double)schedule->step));
    case SCHEDULE_COSINE:
        return schedule->base * 0.5 * (1.0 + cos(3.14159265358979323846 * fraction));
    case SCHEDULE_LINEAR:
        return schedule->base * (1.0 - fraction);
    case SCHEDULE_EXP:
        return schedule->base * pow(schedule->gamma, (double)t);
    }
    return schedule->base;
}
