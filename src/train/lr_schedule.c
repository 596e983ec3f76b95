/* train/lr_schedule.c: see train/lr_schedule.h. */
#include "train/lr_schedule.h"

#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "train/train_options.def"

/* Before this epoch. */
static int64_t decays_so_far(const train_schedule *schedule, int64_t epoch)
{
    int64_t count = 0;
    if (schedule->decays == 0) {
        return (epoch - schedule->warmup) / schedule->step;
    }
    while (count < schedule->decays && schedule->decay[count] <= epoch) {
        count += 1;
    }
    return count;
}

/* The part of the cycle that is over at t of `total` epochs. A cycle after which less than its own length would be left
 * takes that too. */
static double part_of_cycle(const train_schedule *schedule, double t, int64_t total)
{
    int64_t begin = 0, length = schedule->cycle > 0 ? schedule->cycle : total;
    while (length > 0 && begin + 2 * length <= total && t >= (double)(begin + length)) {
        begin += length;
        length *= 2;
    }
    length = begin + 2 * length <= total ? length : total - begin;
    return length > 0 ? (t - (double)begin) / (double)length : 0.0;
}

double schedule_lr(const train_schedule *schedule, int64_t epoch, int64_t step, int64_t steps)
{
    if (epoch < schedule->warmup) {
        double done = (double)epoch + (double)(step + 1) / (double)steps;
        return schedule->base * done / (double)schedule->warmup;
    }
    double t = (double)(epoch - schedule->warmup) + (double)step / (double)steps;
    int64_t total = schedule->epochs - schedule->warmup;
    double fraction = total > 0 ? t / (double)total : 0.0;
    switch (schedule->kind) {
    case SCHEDULE_CONSTANT:
    case SCHEDULE_PLATEAU:
        return schedule->base;
    case SCHEDULE_STEP:
        return schedule->base * pow(schedule->gamma, (double)decays_so_far(schedule, epoch));
    case SCHEDULE_COSINE:
        return schedule->base * 0.5 * (1.0 + cos(3.14159265358979323846 * part_of_cycle(schedule, t, total)));
    case SCHEDULE_LINEAR:
        return schedule->base * (1.0 - fraction);
    case SCHEDULE_EXP:
        return schedule->base * pow(schedule->gamma, t);
    case SCHEDULE_POLY:
        return schedule->base * pow(1.0 - fraction, schedule->power);
    }
    return schedule->base;
}

void schedule_find_unreached(const train_schedule *schedule, char line[SCHEDULE_LINE_BYTES])
{
    const long long epochs = schedule->epochs;
    const long long decay = schedule->decays > 0 ? schedule->decay[0] : schedule->warmup + schedule->step;
    line[0] = '\0';
    if (schedule->warmup > epochs) {
        snprintf(line, SCHEDULE_LINE_BYTES,
                 FLAG_WARMUP " %lld: a run of %lld epoch(s) ends before its rate is " FLAG_LR
                             "; a shorter warm-up, or 0, suits it",
                 (long long)schedule->warmup, epochs);
    } else if (schedule->kind == SCHEDULE_STEP && decay >= epochs) {
        snprintf(line, SCHEDULE_LINE_BYTES,
                 FLAG_SCHEDULE " step: the first decay would come after epoch %lld, a run has %lld (" FLAG_SCHEDULE_STEP
                               ", " FLAG_SCHEDULE_AT ")",
                 decay, epochs);
    }
}

bool schedule_is_of_epochs(schedule_kind kind)
{
    return kind == SCHEDULE_COSINE || kind == SCHEDULE_LINEAR || kind == SCHEDULE_POLY;
}

weft_status schedule_read_decays(const char *text, train_schedule *schedule)
{
    const char *next = text;
    double last = 0;
    schedule->decays = 0;
    while (*next != '\0') {
        double epoch = 0;
        bool good = number_scan_real(next, &next, &epoch) && epoch > last && epoch <= 1e9 && epoch == floor(epoch);
        WEFT_CHECK(good && (*next == '\0' || (*next == ',' && next[1] != '\0')), WEFT_ERR_USAGE,
                   FLAG_SCHEDULE_AT " %s: expected rising numbers of epochs, such as 100,150", text);
        WEFT_CHECK(schedule->decays < SCHEDULE_DECAYS_MAX, WEFT_ERR_USAGE, FLAG_SCHEDULE_AT " %s: more than %d decays",
                   text, SCHEDULE_DECAYS_MAX);
        schedule->decay[schedule->decays++] = (int64_t)epoch;
        last = epoch;
        next += *next == ',';
    }
    return WEFT_OK;
}
