/*
 * hal/cpu/sparse/spmm_trial.h: forms of one matrix timed against each other on the machine that will run them.
 *
 * A matrix of at most SPMM_WHOLE_EDGES edges is prepared in every form and run whole. Of a larger one each form runs on a
 * sample first, in its own unit of work: ROWS on a run of rows, BLOCKS and LISTS on whole blocks, packing apart; forms
 * that come near the quickest are then prepared and run whole, the others are not built. Forms take turns, round by
 * round, and of each the least time counts: what else the machine does hits all of them, and only adds time.
 *
 * Operands stand beside another matrix of their width, as a layer's do: side by side with nothing between them, far rows
 * cost ROWS a fifth less than in training. Between two samples the sources are written anew, as by the layer before, so
 * that a sample does not find in the caches what the whole matrix would not.
 */
#ifndef WEFT_HAL_CPU_SPARSE_SPMM_TRIAL_H
#define WEFT_HAL_CPU_SPARSE_SPMM_TRIAL_H

#include "hal/cpu/sparse/spmm.h"

enum { SPMM_FORMS = HAL_SPMM_LISTS + 1, SPMM_WHOLE_EDGES = 1 << 23 };

/* The form with the least seconds[form], 0 being one that was not tried; `expected` when that is as good up to what
 * repetitions differ by, so that one matrix gets one form in every run. Not all are 0. */
hal_spmm_form spmm_pick(const double seconds[SPMM_FORMS], hal_spmm_form expected);

/* [out] *spmm: the matrix prepared in the form that was picked; spmm_free. csr has edges, max_d >= 1.
 * WEFT_ERR_RESOURCE when there is no room for operands or forms. */
weft_status spmm_trial_run(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm_form expected, hal_spmm **spmm);

#endif
