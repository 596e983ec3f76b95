/* hal/ref/ref_dense.c: products as they are defined; see hal/hal.h. */
#include "hal/ref/ref_backend.h"

weft_status ref_gemm_mixed(const hal_gemm_args *args)
{
    const hal_mat *a = &args->a;
    const hal_mat *b = &args->b;
    const int64_t terms = args->trans_a ? a->rows : a->cols;
    EACH_ELEMENT(c) {
        double sum = 0.0;
        for (int64_t p = 0; p < terms; ++p) {
            const double left = args->trans_a ? ref_load(a, p, i) : ref_load(a, i, p);
            sum += left * (args->trans_b ? ref_load(b, j, p) : ref_load(b, p, j));
        }
        const double old = args->beta == 0.0 ? 0.0 : args->beta * ref_load(&args->c, i, j);
        const double bias = args->bias.source != NULL ? ref_load(&args->bias, 0, j) : 0.0;
        ref_store(&args->c, i, j, args->alpha * sum + old + bias);
    }
    return WEFT_OK;
}
