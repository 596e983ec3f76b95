/*
 * app/setup/choices.h: what was chosen by measuring and changes the order of sums, in words: --choices.
 *
 *      --choices "allreduce=shared topk=hierarchical:0.08:ring spmm=l-------,r-------"
 *
 *      topk: the exchange, the density from which a dense all-reduce is faster, and which
 *      spmm: a code a rank, or one for all (gnn_forms)
 *
 * Once chosen it is fixed for the run, and stands in the options as if somebody had typed it: in run.json and in every
 * checkpoint. A run that is resumed with as many ranks and threads takes what its checkpoint says, so it has the same
 * bits; options that are named (--allreduce, --topk-exchange, --spmm, --reproducible) are not listed and never
 * overruled.
 */
#ifndef WEFT_APP_SETUP_CHOICES_H
#define WEFT_APP_SETUP_CHOICES_H

#include "app/setup/context.h"
#include "comm/sparse/sparse.h"

enum { CHOICES_FORMS = 8 }; /* letters of a rank's code */

typedef struct run_choices {
    comm_algorithm allreduce;      /* COMM_ALGO_AUTO: none is listed */
    sparse_choice topk;            /* .exchange SPARSE_AUTO: none is listed */
    char forms[CHOICES_FORMS + 1]; /* this rank's code; "": none is listed */
} run_choices;

/* The text for this rank; parts whose option is named are left out. WEFT_ERR_USAGE says what is wrong and what would be
 * right, the same on every rank. */
weft_status choices_parse(const char *text, int rank, int ranks, run_choices *choices);
weft_status choices_of(const app_context *context, run_choices *choices);

/* Rank 0's `text` (NULL: none), of a checkpoint, becomes --choices unless that is given. Collective. */
weft_status choices_adopt(app_context *context, const char *text);

/* What was chosen becomes --choices: forms: this rank's code, and the all-reduce for vectors of this many bytes.
 * Collective. */
weft_status choices_keep(app_context *context, const char *forms, int64_t gradient_bytes);

#endif
