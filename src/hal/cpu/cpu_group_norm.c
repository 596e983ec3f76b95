/*
 * hal/cpu/cpu_group_norm.c: group norm of images. An image is one thread's, so what forward gives and dx are the same
 * bits for any number of threads; sums over images are added in the order of the threads' pieces.
 */
#include <assert.h>

#include "hal/cpu/cpu_rows.h"
#include "hal/ref/ref_backend.h"

/* The rows of a piece, whose own rows are images. */
static hal_mat rows_of(const cpu_piece *piece, const hal_mat *mat, int64_t pixels)
{
    return hal_mat_rows(mat, piece->first * pixels, piece->rows * pixels);
}

static void forward_images(const cpu_piece *piece, const void *args)
{
    hal_gn_forward_args a = *(const hal_gn_forward_args *)args;
    a.x = rows_of(piece, &a.x, a.pixels);
    a.y = rows_of(piece, &a.y, a.pixels);
    a.saved = rows_of(piece, &a.saved, 1);
    (void)(a.x.dtype == WEFT_DTYPE_BF16 ? ref_gn_forward_bf16(&a) : ref_gn_forward_f32(&a));
}

static weft_status cpu_gn_forward(weft_hal *hal, const hal_gn_forward_args *a)
{
    assert(a->pixels > 0 && a->groups > 0 && a->y.rows % a->pixels == 0 && a->y.cols % a->groups == 0);
    const cpu_rows_job job = {
        .run = forward_images, .args = a, .rows = a->y.rows / a->pixels, .work = a->y.rows * a->y.cols};
    return cpu_rows(hal, &job, NULL);
}

static void backward_images(const cpu_piece *piece, const void *args)
{
    hal_gn_backward_args a = *(const hal_gn_backward_args *)args;
    float *own = piece->own;
    a.dy = rows_of(piece, &a.dy, a.pixels);
    a.x = rows_of(piece, &a.x, a.pixels);
    a.dx = rows_of(piece, &a.dx, a.pixels);
    a.saved = rows_of(piece, &a.saved, 1);
    a.dgamma.data = own;
    a.dbeta.data = own + a.dx.cols;
    (void)(a.x.dtype == WEFT_DTYPE_BF16 ? ref_gn_backward_bf16(&a) : ref_gn_backward_f32(&a));
}

static weft_status cpu_gn_backward(weft_hal *hal, const hal_gn_backward_args *a)
{
    assert(a->pixels > 0 && a->groups > 0 && a->dx.rows % a->pixels == 0 && a->dx.cols % a->groups == 0);
    const int64_t n = a->dx.cols;
    float *dgamma = a->dgamma.data, *dbeta = a->dbeta.data;
    cpu_parts_left left;
    const cpu_rows_job job = {.run = backward_images,
                              .args = a,
                              .rows = a->dx.rows / a->pixels,
                              .work = a->dx.rows * n,
                              .own_bytes = 2 * (size_t)n * sizeof(float)};
    WEFT_TRY(cpu_rows(hal, &job, &left));
    for (int part = 0; part < left.parts; ++part) {
        const float *own = (const float *)(const void *)(left.own + (size_t)part * left.stride);
        for (int64_t j = 0; j < n; ++j) {
            dgamma[j] += own[j];
            dbeta[j] += own[n + j];
        }
    }
    return WEFT_OK;
}

void cpu_group_norm_ops(hal_ops *ops)
{
    ops->gn_forward = cpu_gn_forward;
    ops->gn_backward = cpu_gn_backward;
}
