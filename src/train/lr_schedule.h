/*
 * train/lr_schedule.h: the learning rate of a step.
 *
 * A run is a line from 0 to `epochs`, and step s of the S steps of epoch e begins at e + s / S of it: where an epoch is
 * one step the rate changes from epoch to epoch, else from step to step. The plateau schedule follows scores in
 * place of epochs: the loop multiplies its rates by plateau_factor (train/loop/plateau.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/option_words.h"
#include "base/status.h"

/* t: epochs since the end of the warm-up, T = epochs - warmup */
#define SCHEDULE_KINDS(X)                                                                                              \
    X(SCHEDULE_CONSTANT, "constant")                                                                                   \
    X(SCHEDULE_STEP, "step")       /* base * gamma^(decays so far) */                                                  \
    X(SCHEDULE_COSINE, "cosine")   /* base * (1 + cos(pi t / T)) / 2, t and T of the cycle if there are any */         \
    X(SCHEDULE_LINEAR, "linear")   /* base * (1 - t / T); after a warm-up also called one-cycle */                     \
    X(SCHEDULE_EXP, "exp")         /* base * gamma^t */                                                                \
    X(SCHEDULE_POLY, "poly")       /* base * (1 - t / T)^power */                                                      \
    X(SCHEDULE_PLATEAU, "plateau") /* base * gamma^(decays so far) */
typedef enum schedule_kind { SCHEDULE_KINDS(CHOICE_VALUE) } schedule_kind;

enum { SCHEDULE_DECAYS_MAX = 16 };

typedef struct train_schedule {
    schedule_kind kind;
    double base; /* learning rate */
    double gamma, power;
    int64_t patience; /* plateau: evaluations in a row without a better score that do not yet make a decay */
    int64_t step;     /* step: epochs between two decays, from the end of the warm-up, */
    int64_t decay[SCHEDULE_DECAYS_MAX];
    int decays; /* unless this list has any: epochs of the run that are over at a decay, rising */
    /* cosine: epochs of the first cycle; each of the next is twice as long, and the last one is as long as is left. 0:
     * the run is one cycle. I. Loshchilov, F. Hutter: SGDR: stochastic gradient descent with warm restarts. ICLR 2017,
     * arXiv 1608.03983. */
    int64_t cycle;
    int64_t warmup; /* epochs of linear warm-up, whose last step has the rate base */
    int64_t epochs; /* of the run */
} train_schedule;

/* Returns the learning rate of step `step` of an epoch of `steps` steps. step and epoch count from 0. */
double schedule_lr(const train_schedule *schedule, int64_t epoch, int64_t step, int64_t steps);
/* [out] line: says which part of the schedule the run is too short for: the warm-up does not end, or no decay comes; ""
 * if the run reaches everything. */
enum { SCHEDULE_LINE_BYTES = 160 };
void schedule_find_unreached(const train_schedule *schedule, char line[SCHEDULE_LINE_BYTES]);
/* Returns true if the rates of a schedule depend on the number of epochs of the run. */
bool schedule_is_of_epochs(schedule_kind kind);
/* "100,150" into decay[decays]; nothing from an empty text. WEFT_ERR_USAGE: no list of rising numbers above 0, or too
 * long. */
weft_status schedule_read_decays(const char *text, train_schedule *schedule);
