/* gnn/layers/fixed_range.c: see gnn/layers/fixed_range.h. */
#include "gnn/layers/fixed_range.h"

#include <math.h>

#include "base/alloc.h"
#include "tensor/tensor_fixed.h"

/* squares: [2 * x->cols], the second half of which are the sums of squares of this rank's rows. */
static weft_status measure(const weft_tensor *x, tensor_quanta *largest, double *squares)
{
    weft_tensor stats = {.data = NULL};
    weft_status status = tensor_quanta_create(x->hal, x->cols, largest);
    status = status == WEFT_OK ? tensor_quanta_measure(largest, x, NULL) : status;
    status = status == WEFT_OK ? tensor_create(x->hal, WEFT_DTYPE_F64, 2, x->cols, WEFT_MEM_WORKSPACE, &stats) : status;
    status = status == WEFT_OK
                 ? hal_bn_stats(x->hal, &(hal_bn_stats_args){.x = tensor_mat(x), .stats = tensor_mat(&stats)})
                 : status;
    status = status == WEFT_OK ? tensor_download(&stats, squares) : status;
    tensor_destroy(&stats);
    return status;
}

weft_status gnn_fixed_range_find(weft_comm *comm, const weft_tensor *x, int64_t rows, gnn_fixed_range *range)
{
    const int64_t cols = x->cols;
    tensor_quanta largest = {.host = NULL};
    double *squares = NULL;
    *range = (gnn_fixed_range){.column = -1};
    weft_status status = WEFT_NEW_ZERO(&squares, 2 * cols, WEFT_MEM_WORKSPACE);
    status = comm_agree(comm, status == WEFT_OK ? measure(x, &largest, squares) : status);
    status = status == WEFT_OK ? comm_allreduce(comm, largest.host, cols, WEFT_DTYPE_F32, COMM_MAX) : status;
    status = status == WEFT_OK ? comm_allreduce(comm, squares, 2 * cols, WEFT_DTYPE_F64, COMM_SUM) : status;
    for (int64_t j = 0; status == WEFT_OK && largest.host != NULL && j < cols; ++j) {
        const double root = sqrt(squares[cols + j] / (double)(rows > 0 ? rows : 1));
        const double ratio = root > 0.0 ? (double)largest.host[j] / root : 0.0;
        if (ratio > range->ratio) {
            *range = (gnn_fixed_range){.column = j, .ratio = ratio};
        }
    }
    tensor_quanta_destroy(&largest);
    weft_free(squares);
    return status;
}
