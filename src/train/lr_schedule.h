/* train/lr_schedule.h: the learning rate of an epoch. */
#ifndef WEFT_TRAIN_LR_SCHEDULE_H
#define WEFT_TRAIN_LR_SCHEDULE_H

#include <stdint.h>

typedef enum schedule_kind { /* order of --schedule's choices */
                             SCHEDULE_CONSTANT,
                             SCHEDULE_STEP,   /* base * gamma^(t / step) */
                             SCHEDULE_COSINE, /* base * (1 + cos(pi t / T)) / 2 */
                             SCHEDULE_LINEAR, /* base * (1 - t / T) */
                             SCHEDULE_EXP     /* base * gamma^t */
} schedule_kind;

typedef struct train_schedule {
    schedule_kind kind;
    double base; /* learning rate */
    double gamma;
    int64_t step;   /* epochs between two decays */
    int64_t warmup; /* epochs of linear warm-up: (e + 1) / warmup of base */
    int64_t epochs; /* of the run */
} train_schedule;

/* epoch counts from 0; t above counts from the end of the warm-up, T = epochs - warmup. */
double schedule_lr(const train_schedule *schedule, int64_t epoch);

#endif
