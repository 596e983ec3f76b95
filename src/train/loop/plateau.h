/*
 * train/loop/plateau.h: a learning rate that decays where the scores of a run get no better.
 *
 * Where more than `patience` evaluations in a row were no better than the best, the rate is multiplied by gamma, as
 * torch.optim.lr_scheduler.ReduceLROnPlateau does with a threshold and a cool-down of 0. Scores are the same on all
 * ranks, so the rate is.
 */
#pragma once

#include "train/checkpoint/checkpoint.h"
#include "train/lr_schedule.h"

/* Returns what a schedule's rates are multiplied by after the decays that scores made; 1 for all but plateau. */
double plateau_factor(const train_schedule *schedule, const train_plateau *plateau);
/* An evaluation behind epoch `epoch`, from 1, gave `score`; less: smaller ones are better. Evaluations within the
 * warm-up are not counted, nor is a score that is no number. */
void plateau_hear(const train_schedule *schedule, int64_t epoch, double score, bool less, train_plateau *plateau);
