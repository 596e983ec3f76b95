/*
 * app/explain/explanation.h: what inputs add to the answers for all rows of the data, in figures of all ranks.
 *
 * The importance of an input is the mean over all rows of the magnitude of what it adds, summed over the answers of a
 * row. Drawings show one answer, the one that inputs move most, and rows that are evenly spread over the data.
 */
#pragma once

#include "app/predict/contributions.h"

/* Inputs in drawings, among them those of pairs; and rows in them. */
enum { EXPLAIN_DRAWN = 20, EXPLAIN_PAIRED = 8, EXPLAIN_SAMPLE = 300 };

typedef struct explanation {
    const workload *work;
    const explain_request *how;
    contributions parts;
    double *importance; /* [inputs] */
    double total;       /* of all inputs */
    int64_t *leading;   /* [count] inputs, the most important first */
    int count, drawn;   /* drawn: those of them in drawings */
    int64_t output;     /* the answer in drawings */
    int64_t sampled;    /* rows in drawings, the first row of the data first */
    double *value;      /* [sampled, drawn] of the leading inputs */
    double *share;      /* [sampled, drawn + 2] what they add, what all others add, and the answer without any */
    int paired;         /* the leading inputs of `pair`; 0: pairs are not asked for */
    double *pair;       /* [paired, paired] mean magnitude of what two inputs add together, and one by itself */
} explanation;

/* p: opened and loaded, and lives longer, as how does. top: inputs in `leading`, at most. The same on every rank. Free
 * with explanation_free, also after a failure. Collective. */
weft_status explanation_make(const predictor *p, const explain_request *how, int top, explanation *e);
void explanation_free(explanation *e);
