/*
 * app/predict/against.h: --against: two models on the same rows, or a model and a column of the data, such as a
 * clinical score.
 *
 * The other model answers first and is closed again; its scores wait on the ranks that made them. Once the table's
 * model has answered, rank 0 gathers 16 bytes a row of either model, and matches the rows by their ids.
 */
#pragma once

#include "app/predict/predictor.h"
#include "app/predict/score_table.h"

/* A row that a model scored, on the rank that holds it. */
typedef struct against_row {
    int64_t id;
    float score;
    int32_t label; /* 0 or 1 */
} against_row;

typedef struct against_scores {
    char model[FILE_PATH_MAX]; /* or "column:NAME" */
    against_row *row;          /* [count] of this rank; NULL: of a column */
    int64_t count;
} against_scores;

/*
 * Answers of the model of --against for the data of --data; nothing without that option, and nothing for a column.
 * asked: options of the command. WEFT_ERR_USAGE: the model has other than two classes. Free with against_free, also
 * after a failure. Collective.
 */
weft_status against_answer(app_context *context, const weft_options *asked, against_scores *scores);
/*
 * DeLong's test of the judged rows of `table`, of a column those that have a value. logits: of the table's model.
 * WEFT_ERR_USAGE: there is no such column of numbers. WEFT_ERR_DATA: the models answer for different rows, or name the
 * classes the other way round. Collective.
 */
weft_status against_compare(const predictor *p, const float *logits, const against_scores *scores, score_table *table);
void against_free(against_scores *scores);
