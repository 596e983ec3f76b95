/*
 * app/predict/contributions.h: what inputs add to the answers for all rows of the data, and as files:
 *
 *   contributions.npy  float32 [n, outputs, inputs + 1]; last what a row of which nothing is known answers
 *   interactions.npy   float32 [n, outputs, inputs + 1, inputs + 1]; where pairs are asked for
 */
#pragma once

#include "app/predict/predictor.h"

typedef struct contributions {
    const workload *work;
    float *share; /* [rows of this rank, outputs, inputs + 1] */
    float *pair;  /* [rows of this rank, outputs, inputs + 1, inputs + 1]; NULL: not asked for */
} contributions;

/* p: opened and loaded, and lives longer. Free with contributions_free, also after a failure. WEFT_ERR_UNSUPPORTED: the
 * model does not say. Collective. */
weft_status contributions_make(const predictor *p, const explain_request *how, contributions *c);
/* The files, in a folder of rank 0's. Collective. */
weft_status contributions_write(const contributions *c, const char *folder);
void contributions_free(contributions *c);
