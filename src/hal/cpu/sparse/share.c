/* hal/cpu/sparse/share.c: see hal/share.h. */
#include "hal/share.h"

#include "base/alloc.h"

#ifdef WEFT_SHARED_SUMS
#include "hal/cpu/sparse/share_file.h"

/* What smaller matrices share is found as quickly as it is read. */
enum { KEPT_EDGES = 1 << 22 };

weft_status hal_share_find(const hal_csr *csr, bool signs, int threads, const char *keep, hal_shared_rows *rows)
{
    const share_search search = {.kernels = spmm_kernels_of(hal_isa_best()), .signs = signs, .threads = threads};
    const bool kept = keep != NULL && csr->rows > 0 && csr->offset[csr->rows] >= KEPT_EDGES;
    bool found = false;
    *rows = (hal_shared_rows){.sums = 0};
    WEFT_TRY(kept ? share_file_read(keep, csr, signs, rows, &found) : WEFT_OK);
    if (!found) {
        WEFT_TRY(share_rows_find(csr, &search, rows));
    }
    if (!found && kept) {
        share_file_write(keep, csr, signs, rows);
    }
    return WEFT_OK;
}

weft_status hal_share_sample(const hal_csr *csr, bool signs, int threads, double *share)
{
    const share_search search = {.kernels = spmm_kernels_of(hal_isa_best()), .signs = signs, .threads = threads};
    return share_rows_sample(csr, &search, share);
}
#else
weft_status hal_share_find(const hal_csr *csr, bool signs, int threads, const char *keep, hal_shared_rows *rows)
{
    (void)csr;
    (void)signs;
    (void)threads;
    (void)keep;
    *rows = (hal_shared_rows){.sums = 0};
    return weft_fail(WEFT_ERR_UNSUPPORTED, "this build has no shared sums: take another form of aggregation, or "
                                           "build with -DWEFT_SHARED_SUMS=ON");
}

weft_status hal_share_sample(const hal_csr *csr, bool signs, int threads, double *share)
{
    (void)csr;
    (void)signs;
    (void)threads;
    *share = 0.0;
    return WEFT_OK;
}
#endif

void hal_shared_rows_free(hal_shared_rows *rows)
{
    WEFT_FREE_ALL(rows->level, rows->plus_start, rows->minus_start, rows->plus, rows->minus);
    *rows = (hal_shared_rows){.sums = 0};
}
