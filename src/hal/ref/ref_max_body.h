/*
 * hal/ref/ref_max_body.h: included by ref_max.c once for each type of rows, `cell`, whose sums are of `real`. LOAD
 * makes a real of a cell, STORE rounds one to a cell. No include guard.
 */

weft_status TYPED(ref_max_forward)(const hal_max_forward_args *args)
{
    const int64_t *offset = args->offset.source;
    const int32_t *column = args->column.source;
    const uint8_t *elsewhere = args->elsewhere.source;
    const cell *x = args->x.source;
    cell *out = args->out.data;
    for (int64_t r = 0; r < args->out.rows; ++r) {
        const bool waits = elsewhere != NULL && elsewhere[r] != 0;
        for (int64_t j = 0; j < args->out.cols; ++j) {
            const bool none = offset[r] == offset[r + 1];
            real most = none && !waits ? (real)0 : -(real)INFINITY;
            for (int64_t e = offset[r]; e < offset[r + 1]; ++e) {
                assert(column[e] >= 0 && column[e] < args->x.rows);
                const real value = LOAD(AT(x, column[e], j));
                most = value > most || isnan(value) ? value : most;
            }
            AT(out, r, j) = STORE(most);
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_max_ties)(const hal_max_ties_args *args)
{
    const int64_t *offset = args->offset.source;
    const int32_t *column = args->column.source;
    const cell *x = args->x.source;
    const cell *y = args->y.source;
    const real *counts = args->count.source;
    const int64_t once = args->x.rows - (counts != NULL ? args->count.rows : 0);
    real *ties = args->ties.data;
    for (int64_t r = 0; r < args->ties.rows; ++r) {
        for (int64_t j = 0; j < args->ties.cols; ++j) {
            double count = 0.0;
            for (int64_t e = offset[r]; e < offset[r + 1]; ++e) {
                assert(column[e] >= 0 && column[e] < args->x.rows);
                const bool ties_here = LOAD(AT(x, column[e], j)) == LOAD(AT(y, r, j));
                const double times = column[e] < once ? 1.0 : (double)counts[(column[e] - once) * args->count.ld + j];
                count += ties_here ? times : 0.0;
            }
            AT(ties, r, j) = (real)count;
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_max_share)(const hal_max_share_args *args)
{
    const real *ties = args->ties.source;
    cell *dy = args->dy.data;
    EACH_ELEMENT(dy) {
        const real count = AT(ties, i, j);
        cell *to = &AT(dy, i, j);
        *to = STORE(count > (real)0 ? LOAD(*to) / count : (real)0);
    }
    return WEFT_OK;
}

weft_status TYPED(ref_max_backward)(const hal_max_backward_args *args)
{
    const int64_t *offset = args->offset.source;
    const int32_t *column = args->column.source;
    const cell *x = args->x.source;
    const cell *y = args->y.source;
    const cell *dy = args->dy.source;
    cell *dx = args->dx.data;
    for (int64_t r = 0; r < args->dx.rows; ++r) {
        for (int64_t j = 0; j < args->dx.cols; ++j) {
            double sum = 0.0;
            for (int64_t e = offset[r]; e < offset[r + 1]; ++e) {
                assert(column[e] >= 0 && column[e] < args->y.rows);
                const bool shares = LOAD(AT(y, column[e], j)) == LOAD(AT(x, r, j));
                sum += shares ? (double)LOAD(AT(dy, column[e], j)) : 0.0;
            }
            AT(dx, r, j) = STORE((real)sum);
        }
    }
    return WEFT_OK;
}
