/*
 * app/setup/choices.h: what was chosen by measuring and changes the order of sums, in words: --choices.
 *
 *      --choices "allreduce=shared topk=hierarchical:0.08:ring spmm=l-------,r-------"
 *
 *      topk: the exchange, the density from which a dense all-reduce is faster, and which all-reduce that is
 *      the last: what the kind of workload chose, under its own key: a code for each rank, or one for all
 *
 * A choice is fixed for the run once it is made, and stands in the options as if somebody had typed it: in run.json
 * and in every checkpoint. A run that is resumed with as many ranks and threads takes what its checkpoint says, so it
 * has the same bits. Options that are named (--allreduce, --topk-exchange, --reproducible, the kind's own) are not
 * listed and never overruled.
 */
#pragma once

#include "app/setup/context.h"
#include "comm/sparse/sparse.h"

enum { CHOICE_CODE_BYTES = 1056 }; /* of a rank's code with its NUL: a letter for each of 1,024 columns */

/* A choice that a kind of workload makes by measuring, written as a code. Only the kind reads its codes. A code holds
 * no blanks and no commas. */
typedef struct choice_kind {
    const char *key;
    option_id option;                       /* nothing is chosen where it is not "auto" */
    weft_status (*check)(const char *code); /* WEFT_ERR_USAGE says what a code is made of */
} choice_kind;

typedef struct run_choices {
    comm_algorithm allreduce;    /* COMM_ALGO_AUTO: none is listed */
    sparse_choice topk;          /* .exchange SPARSE_AUTO: none is listed */
    char own[CHOICE_CODE_BYTES]; /* this rank's code of the kind; "": none is listed */
} run_choices;

/* The choices that --choices lists for this rank, but for those whose option is named. own: what the kind chooses;
 * NULL: nothing. WEFT_ERR_USAGE says what is wrong and what would be right, with the same words on every rank. */
weft_status choices_of(const app_context *context, const choice_kind *own, run_choices *choices);

/* The text of a checkpoint on rank 0 (NULL: none) becomes --choices unless that is given. Collective. */
weft_status choices_adopt(app_context *context, const char *text);

/* Writes the choices of this job into --choices: the all-reduce for vectors of gradient_bytes, and each rank's code of
 * the kind. code: this rank's; "" on rank 0 if the kind chose nothing. Collective. */
weft_status choices_keep(app_context *context, const choice_kind *own, const char *code, int64_t gradient_bytes);
