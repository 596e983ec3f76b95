/* train/lr_schedule.h: the learning rate of an epoch. */
#ifndef WEFT_TRAIN_LR_SCHEDULE_H
#define WEFT_TRAIN_LR_SCHEDULE_H

#include <stdint.h>

#include "base/option_words.h"

#define SCHEDULE_KINDS(X)                                                                                              \
    X(SCHEDULE_CONSTANT, "constant")                                                                                   \
    X(SCHEDULE_STEP, "step")     /* base * gamma^(t / step) */                                                         \
    X(SCHEDULE_COSINE, "cosine") /* base * (1 + cos(pi t / T)) / 2 */                                                  \
    X(SCHEDULE_LINEAR, "linear") /* base * (1 - t / T) */                                                              \
    X(SCHEDULE_EXP, "exp")       /* base * gamma^t */
typedef enum schedule_kind { SCHEDULE_KINDS(CHOICE_VALUE) } schedule_kind;

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
