/*
 * app/predict/answers.h: the answers of a predictor for all rows of its data, scored, and as files:
 *
 *   predictions.npy, probabilities.npy    app/predict/predictions.h
 *   contributions.npy                     app/predict/contributions.h; where --contributions asks for it
 *   margins.npy, leaves.npy               float32 [n, margins] and int32 [n, parts of the model]; where --margins and
 *                                         --leaf-numbers ask for them
 *   embeddings.npy                        float32 [rows, width], in front of the last layer; where --embeddings asks
 *   scores.json, confusion.csv            app/predict/score_table.h
 *   answers.csv                           app/predict/answer_table.h; where rows or classes have names
 */
#pragma once

#include "app/predict/answer_table.h"
#include "app/predict/predictor.h"
#include "app/predict/score_table.h"

typedef struct answers {
    const predictor *of; /* opened and loaded; the answers live no longer */
    float *logits;       /* [rows of this rank, outputs]; probabilities once they were written */
    float *own;          /* the same, to free, where they are not the model's own matrix */
    score_table table;
    answer_table lines; /* rank 0, once they were written */
    char *row_numbers;  /* names of rows in `lines` that have no other */
} answers;

/* Answers all rows and scores them. Free with answers_free, also after a failure. Collective. */
weft_status answers_make(const predictor *p, answers *a);
/* The files, in a folder of rank 0's. Once. Collective. */
weft_status answers_write(answers *a, const char *folder);
/* Rank 0: the scores; of data without labels the lines of answers.csv, of kinds that show them. Returns true if it
 * printed something. */
bool answers_print(FILE *out, const answers *a, table_format format);
void answers_free(answers *a);
