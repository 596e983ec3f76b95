/*
 * hal/cpu/sparse/shared_order.h: the order in which shared sums (spmm_shared.h) are made and read.
 *
 * As they are found, reads are anywhere in a strip that the caches do not hold. Here rows that read the same sources
 * stand side by side (label propagation over rows and partial sums: Raghavan, Albert, Kumara 2007,
 * doi:10.1103/PhysRevE.76.036106), and sources and partial sums have places in the order in which rows meet them.
 */
#pragma once

#include "hal/cpu/sparse/spmm.h"

/* Orders the rows of spmm->shared. [out] spmm->order, spmm->source. Row i is taken for the vertex of source i: where it
 * is of another one, results are the same, but reads are hardly nearer. Where there are more rows than sources, all
 * stays as it is. The same for the same rows. WEFT_ERR_RESOURCE: no memory. */
weft_status spmm_order_shared(hal_spmm *spmm);
