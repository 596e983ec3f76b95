/*
 * app/focus/focus_plan.h: weft focus plan: what cheap networks cost at ingest and queries cost then, on labelled
 * samples.
 *
 * All networks answer for two samples of what queries count, items or tracks of moving things: N that are drawn
 * uniformly set thresholds as a query does; runs of consecutive ones, which set none, say what recall and precision
 * came of them and how many would reach the expensive network. Beside the cheap networks stand plans without any: the
 * expensive network on everything, and on every s-th item, whose answer stands for the items up to the next one; runs
 * of consecutive items say how often that is right. Of moving things it is every s-th frame, with all that moves there,
 * and the tracks that no such frame shows are missed.
 */
#pragma once

#include "app/predict/predictor.h"
#include "app/table/grid.h"

enum { FOCUS_PLANS_MAX = 32, FOCUS_PLAN_NAME_BYTES = 96 };

/* clang-format off */
#define FOCUS_PLAN_ROW(C)                                                                                              \
    C(TEXT, plan, true) C(TEXT, network, true) C(REAL, agreement, true) C(REAL, ingest_mflop, true)                    \
    C(REAL, ingest_ms, true) C(REAL, query_runs, true) C(REAL, recall, true) C(REAL, precision, true)                  \
    C(REAL, seconds, true) C(BOOL, meets, true) C(BOOL, front, true) C(BOOL, chosen, true)
/* clang-format on */
TABLE_ROW(focus_plan_row, FOCUS_PLAN_ROW);

typedef struct focus_plan {
    char cheap[FILE_PATH_MAX]; /* names of the networks in `row`, each with its NUL */
    focus_plan_row row[FOCUS_PLANS_MAX];
    int count;
    int64_t items, units; /* of the data; what queries count of them: as many, or tracks */
    int64_t labels;       /* items that the expensive network ran on for the plan */
    int classes;          /* that the figures are means of */
} focus_plan;

/*
 * Networks of --cheap, separated by commas, and --expensive on --data; p: used for one after the other, the last one
 * stays open for the caller to close. [out] plan: on rank 0. WEFT_ERR_USAGE: an option is missing, or a network has no
 * class for one of the expensive network's: of its name, or of all others (--classes of the training). Collective.
 */
weft_status focus_plan_make(app_context *context, const weft_options *asked, predictor *p, focus_plan *plan);

/* The plan as CSV: a line for each row. WEFT_ERR_RESOURCE. */
weft_status focus_plan_print(FILE *out, const focus_plan *plan);
/* Writes front.csv and plan.json into the folder `focus` of the expensive network's run folder, in the place of an
 * earlier plan. [out] folder: "" where the network has no run folder, and nothing is written. Rank 0. */
weft_status focus_plan_write(const focus_plan *plan, const char *run, char folder[FILE_PATH_MAX]);
