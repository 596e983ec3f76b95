/* gnn/layers/fixed_range.c: see gnn/layers/fixed_range.h. */
#include "gnn/layers/fixed_range.h"

#include <math.h>
#include <stdint.h>

#include "base/alloc.h"
#include "tensor/tensor_fixed.h"

enum { SAMPLED_ROWS = 4096 }; /* of a rank, from end to end */

/* Of each column: numbers but 0, and those of them that are rounded coarsely. */
typedef struct column_counts {
    int64_t *numbers, *coarse; /* [columns] each, one array */
} column_counts;

static void count_row(const float *row, int64_t cols, const float *largest, const column_counts *counts)
{
    for (int64_t j = 0; j < cols; ++j) {
        const double quantum = (double)hal_fixed_quantum(largest[j], INT16_MAX), x = (double)row[j];
        const double error = fabs(nearbyint(x / quantum) * quantum - x);
        counts->numbers[j] += x != 0.0;
        counts->coarse[j] += error * 32.0 > fabs(x);
    }
}

static weft_status count(const weft_tensor *x, const float *largest, float *row, const column_counts *counts)
{
    const int64_t step = x->rows / SAMPLED_ROWS + 1;
    for (int64_t i = 0; i < x->rows; i += step) {
        const weft_tensor one = tensor_view(x, i, 1, 0, x->cols);
        WEFT_TRY(tensor_download(&one, row));
        count_row(row, x->cols, largest, counts);
    }
    return WEFT_OK;
}

static void find(const column_counts *counts, int64_t cols, gnn_fixed_range *range)
{
    for (int64_t j = 0; j < cols; ++j) {
        const double share = counts->numbers[j] > 0 ? (double)counts->coarse[j] / (double)counts->numbers[j] : 0.0;
        if (share > range->share) {
            *range = (gnn_fixed_range){.column = j, .share = share};
        }
    }
}

weft_status gnn_fixed_range_find(weft_comm *comm, const weft_tensor *x, gnn_fixed_range *range)
{
    const int64_t cols = x->cols;
    tensor_quanta quanta = {.host = NULL};
    column_counts counts = {.numbers = NULL};
    float *row = NULL;
    weft_status status = WEFT_OK;
    *range = (gnn_fixed_range){.column = -1};
    weft_status local = WEFT_NEW_ZERO(&counts.numbers, 2 * cols, WEFT_MEM_WORKSPACE);
    local = local == WEFT_OK ? WEFT_NEW_ZERO(&row, cols, WEFT_MEM_WORKSPACE) : local;
    local = local == WEFT_OK ? tensor_quanta_create(x->hal, cols, &quanta) : local;
    local = local == WEFT_OK ? tensor_quanta_measure(&quanta, x, NULL) : local;
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(comm_allreduce(comm, quanta.host, cols, WEFT_DTYPE_F32, COMM_MAX), status, done);
    counts.coarse = counts.numbers + cols;
    WEFT_TRY_GOTO(comm_agree(comm, count(x, quanta.host, row, &counts)), status, done);
    WEFT_TRY_GOTO(comm_allreduce(comm, counts.numbers, 2 * cols, WEFT_DTYPE_I64, COMM_SUM), status, done);
    find(&counts, cols, range);
done:
    tensor_quanta_destroy(&quanta);
    WEFT_FREE_ALL(counts.numbers, row);
    return status;
}
