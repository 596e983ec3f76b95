/* hal/core/spmm_choice.c: from what the forms of a matrix cost to the matrix in one of them (hal/hal.h). */
#include "hal/hal.h"

static const double alike = 1.05; /* what repetitions differ by */

/* 0 (AUTO) when all are 0. */
static int least_of(const double cost[HAL_SPMM_KINDS])
{
    int least = HAL_SPMM_AUTO;
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; form++) {
        if (cost[form] > 0.0 && (least == HAL_SPMM_AUTO || cost[form] < cost[least])) {
            least = form;
        }
    }
    return least;
}

hal_spmm_form hal_spmm_pick(const double seconds[HAL_SPMM_KINDS], const double expected[HAL_SPMM_KINDS])
{
    const int best = least_of(seconds);
    const int favourite = least_of(expected);
    if (best == HAL_SPMM_AUTO && favourite == HAL_SPMM_AUTO) {
        return HAL_SPMM_ROWS;
    }
    if (best == HAL_SPMM_AUTO) {
        return (hal_spmm_form)favourite;
    }
    const bool as_good = seconds[favourite] > 0.0 && seconds[favourite] <= alike * seconds[best];
    return (hal_spmm_form)(as_good ? favourite : best);
}

void hal_spmm_trial_end(weft_hal *hal, hal_spmm_trial *trial)
{
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; form++) {
        if (trial->prepared[form] != NULL) {
            hal->sparse.spmm_destroy(hal, trial->prepared[form]);
            trial->prepared[form] = NULL;
        }
    }
}

weft_status hal_spmm_take(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm_trial *trial, hal_spmm_form form,
                          hal_spmm **spmm)
{
    *spmm = trial->prepared[form];
    trial->prepared[form] = NULL;
    hal_spmm_trial_end(hal, trial);
    return *spmm != NULL ? WEFT_OK : hal->sparse.spmm_create(hal, csr, form, max_d, spmm);
}
