/* train/gradient_clip.c: see train/gradient_clip.h. */
#include "train/gradient_clip.h"

#include <math.h>

weft_status gradient_clip_create(const param_store *params, double most, gradient_clip *clip)
{
    *clip = (gradient_clip){.most = most};
    return most > 0.0 ? tensor_create(params->hal, WEFT_DTYPE_F64, 1, 2, WEFT_MEM_WORKSPACE, &clip->squares) : WEFT_OK;
}

void gradient_clip_destroy(gradient_clip *clip)
{
    tensor_destroy(&clip->squares);
}

static weft_tensor sum_at(const gradient_clip *clip, int64_t place)
{
    const weft_tensor view = tensor_view(&clip->squares, 0, 1, place, 1);
    return tensor_reshape(&view, 1, 1);
}

/* Rank 0's sum stands for all of the replicated gradients: another backend's would differ in its last bits. */
static weft_status measure(gradient_clip *clip, weft_comm *comm, const param_store *params, double *norm)
{
    double sums[2] = {0.0};
    weft_tensor replicated = sum_at(clip, 0), own = sum_at(clip, 1);
    WEFT_TRY(tensor_zero(&clip->squares));
    WEFT_TRY(tensor_sum_squares(&params->grad, &replicated));
    WEFT_TRY(params->own > 0 ? tensor_sum_squares(&params->own_grad, &own) : WEFT_OK);
    WEFT_TRY(tensor_download(&clip->squares, sums));
    sums[0] = comm_rank(comm) == 0 ? sums[0] : 0.0;
    WEFT_TRY(comm_allreduce(comm, sums, 2, WEFT_DTYPE_F64, COMM_SUM));
    *norm = sqrt(sums[0] + sums[1]);
    return WEFT_OK;
}

weft_status gradient_clip_apply(gradient_clip *clip, weft_comm *comm, param_store *params)
{
    double norm = 0.0;
    if (clip->most == 0.0) {
        return WEFT_OK;
    }
    for (int b = 0; b < params->trained_blocks; ++b) {
        if (params->block[b].rate == 0.0) {
            weft_tensor still = param_grad(params, b);
            WEFT_TRY(tensor_zero(&still));
        }
    }
    WEFT_TRY(measure(clip, comm, params, &norm));
    const double share = clip->most / (norm + 1e-6);
    if (!(share < 1.0)) {
        return WEFT_OK;
    }
    WEFT_TRY(tensor_axpby(share, &params->grad, 0.0, &params->grad));
    return params->own > 0 ? tensor_axpby(share, &params->own_grad, 0.0, &params->own_grad) : WEFT_OK;
}
