/*
 * app/gnn/divide/rank_weights.h: how much of the graph each rank of a job gets: --rank-weights.
 *
 * Where ranks differ in speed, as one with a GPU and one without do, the epoch waits for the slowest: parts of one size
 * leave the others idle. Weights are numbers that are given, or the rates that the ranks measure, all at the same time,
 * with the aggregation that epochs spend most of their time in: a matrix of fixed size, the job's width, on the backend
 * that will compute. Rates differ from job to job by a few percent, so weights have two digits, and a partition that is
 * kept serves if its shares are near enough.
 */
#pragma once

#include "app/gnn/options/gnn_options.h"
#include "app/setup/context.h"
#include "partition/partition.h"

/* The largest weight over the smallest, at most: with less than a thousandth of the work a rank is in the way. */
#define RANK_WEIGHTS_RANGE 1000.0

/* [out] weight [count]: of a list of numbers. whose: what there are `count` of, "rank". WEFT_ERR_USAGE says what is
 * wrong, and what would be right. Pure. */
weft_status rank_weights_parse(const char *text, int count, const char *whose, double *weight);

/* weight [count]: rates, of which at least one is above 0, by the slowest, in two digits; all 1 where they differ by
 * less than a tenth. Pure. */
void rank_weights_round(int count, double *weight);

/*
 * What the option says of a division into so many parts, which are the ranks of the job, or those of a dry run.
 * [out] share [parts] (weft_free), NULL: parts are equal; slack: as partition_options has it. width: columns that
 * epochs aggregate; 0: none. What is measured is logged, and becomes the option's value. Collective.
 */
weft_status rank_weights_find(const app_context *context, int parts, int64_t width, double **share, double *slack);

/* The same for `weft partition`, whose parts are no ranks: nothing is measured. Not collective. */
weft_status rank_weights_of_parts(const weft_options *options, int parts, double **share);
