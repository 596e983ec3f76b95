/*
 * hal/cpu/sparse/spmm_shared.h: the form SHARED: sums of sources that many rows read are made once and read by all.
 *
 *      strip by strip of up to 32 columns:
 *          packed [cols + sums, strip]  =  x * pre  |  partial sums of level 1  |  level 2  |  ...
 *          out [rows, strip]            =  plus columns of packed  -  minus columns
 *
 * sources, sums and rows in the order of shared_order.h,
 * with a barrier after each level. The form pays where a graph is a projection of groups, posts joined by a common user
 * or products by a common buyer, whose rows read 5 to 13 times fewer sources; on other graphs it saves nothing, which a
 * sample tells (hal/share.h). Sums of integers are exact in every form; other sums have other bits than the plain
 * forms', with smaller errors, because chains are shorter.
 *
 * Memory: 4 bytes a read that is left, 20 a row, 4 a source, and a packed strip of sources and partial sums.
 */
#pragma once

#include "hal/cpu/sparse/spmm.h"

/* spmm->shared: what a row adds and what it subtracts stand side by side, in the memory of `found`, whose levels and
 * plus entries become its own.
 * WEFT_ERR_RESOURCE: what there is of it is the caller's, as after a success. */
weft_status spmm_join_shared(hal_spmm *spmm, hal_shared_rows *found);
/* Prepares the data of the form; spmm is begun. keep: folder in which it is kept (hal/share.h), or NULL. */
weft_status spmm_build_shared(hal_spmm *spmm, const hal_csr *csr, const char *keep);
void spmm_run_shared(const hal_spmm *spmm, const spmm_call *args);
