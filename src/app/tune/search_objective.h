/*
 * app/tune/search_objective.h: what trials of a search are measured by: --objectives, names of figures of metrics.jsonl
 * and summary.json. Schedulers go by the first one. Values are turned so that the larger one is the better one.
 */
#pragma once

#include "app/train/train_job.h"
#include "tune/search/front.h"

typedef struct search_objectives {
    int count;                 /* 1 to OBJECTIVES_MOST */
    int kind[OBJECTIVES_MOST]; /* rows of the table in search_objective.c */
} search_objectives;

/* WEFT_ERR_USAGE: a name that there is not, or twice; with the list of names. */
weft_status objectives_parse(const char *text, search_objectives *objectives);
const char *objective_name(const search_objectives *objectives, int k);
/* Returns true if the figure depends on how many ranks train and how fast. */
bool objectives_take_time(const search_objectives *objectives);
/*
 * The figures after an epoch. mean_epoch_s: of the epochs of this part. [out] values [count]; a figure that became no
 * number is -infinity, the worst. lower: a bit for each objective of which the lower figure is the better one.
 * WEFT_ERR_DATA: jobs of this kind have no such figure, with the cure.
 */
weft_status objectives_measure(const search_objectives *objectives, const train_job *job, const train_epoch *epoch,
                               double mean_epoch_s, double *values, uint32_t *lower);
