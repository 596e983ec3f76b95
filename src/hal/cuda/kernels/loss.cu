/*
 * hal/cuda/kernels/loss.cu: losses and counts of hal/ops.def. Rows write what they add to a loss, and a fold adds those in one
 * order: nothing comes to the host before somebody reads the operand.
 */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_fold.h"
#include "hal/cuda/kernels/cuda_kernels.h"

/* Sums of what rows added: a loss in double, and two counts. */
struct tally {
    double loss;
    int64_t hits, entries;
};

struct tally_fold {
    typedef tally value;
    const tally *row;
    double *loss;                /* each may be NULL */
    int64_t *hits, *entries;

    __device__ tally zero() const
    {
        return {0.0, 0, 0};
    }
    __device__ void take(tally &sum, int64_t i) const
    {
        join(sum, row[i]);
    }
    __device__ void join(tally &sum, const tally &other) const
    {
        sum.loss += other.loss;
        sum.hits += other.hits;
        sum.entries += other.entries;
    }
    __device__ void finish(const tally &sum) const
    {
        if (loss != nullptr) {
            *loss += sum.loss;
        }
        if (hits != nullptr) {
            *hits += sum.hits;
        }
        if (entries != nullptr) {
            *entries += sum.entries;
        }
    }
};

/* Scratch memory: a tally a row, then the fold's. */
static int take_scratch(cuda_queue *queue, int64_t rows, tally **row, void **fold)
{
    void *scratch = nullptr;
    CUDA_TRY(cuda_queue_scratch(queue, (size_t)rows * sizeof(tally) + cuda_fold_bytes<tally_fold>(), &scratch));
    *row = static_cast<tally *>(scratch);
    *fold = *row + rows;
    return CUDA_DONE;
}

/* The largest of a row's numbers over the lanes of a warp, and the sum. */
static __device__ inline double warp_largest(double x)
{
    for (int half = CUDA_WARP / 2; half > 0; half /= 2) {
        const double other = __shfl_xor_sync(0xffffffffu, x, half);
        x = other > x ? other : x;
    }
    return x;
}

static __device__ inline double warp_total(double x)
{
    for (int half = CUDA_WARP / 2; half > 0; half /= 2) {
        x += __shfl_xor_sync(0xffffffffu, x, half);
    }
    return x;
}

/* ---- softmax cross-entropy ------------------------------------------------------------------------------------------- */

template <typename real>
__global__ void softmax_kernel(cuda_mat<real> x, const int32_t *label, const uint8_t *mask, cuda_mat<real> dx,
                               double scale, double smoothing, tally *row)
{
    const int64_t i = cuda_row();
    const int64_t n = x.cols;
    const double others = smoothing / (double)n; /* what smoothing gives every class */
    double sum = 0.0;
    double total = 0.0;
    if (i >= x.rows) {
        return;
    }
    const bool counts = mask == nullptr || mask[i] != 0;
    double highest = (double)*x.at(i, 0);
    for (int64_t j = cuda_lane(); j < n; j += CUDA_WARP) {
        const double value = (double)*x.at(i, j);
        highest = value > highest ? value : highest;
    }
    highest = warp_largest(highest);
    for (int64_t j = cuda_lane(); j < n; j += CUDA_WARP) {
        sum += exp((double)*x.at(i, j) - highest);
        total += (double)*x.at(i, j);
    }
    sum = warp_total(sum);
    total = warp_total(total);
    if (cuda_lane() == 0) {
        double loss = 0.0;
        if (counts) {
            loss = log(sum) + highest - (1.0 - smoothing) * (double)*x.at(i, label[i]);
            loss -= smoothing > 0.0 ? others * total : 0.0;
        }
        row[i] = {loss, 0, 0};
    }
    __syncwarp(); /* dx may be x, whose label's element was read */
    for (int64_t j = cuda_lane(); dx.data != nullptr && j < n; j += CUDA_WARP) {
        const double probability = exp((double)*x.at(i, j) - highest) / sum;
        const double wanted = counts && label[i] == j ? 1.0 - smoothing : 0.0;
        *dx.at(i, j) = counts ? (real)(scale * (probability - wanted - others)) : (real)0;
    }
}

template <typename real> static int softmax_xent(cuda_queue *queue, const hal_softmax_xent_args *a)
{
    tally *row = nullptr;
    void *fold = nullptr;
    CUDA_TRY(take_scratch(queue, a->x.rows, &row, &fold));
    CUDA_TRY(cuda_launch_teams(queue, cuda_rows(a->x.rows), softmax_kernel<real>, cuda_mat_of<real>(a->x),
                               cuda_data<const int32_t>(a->label), cuda_data<const uint8_t>(a->mask),
                               cuda_mat_of<real>(a->dx), a->scale, a->smoothing, row));
    return cuda_fold_in(queue, tally_fold{row, cuda_data<double>(a->loss), nullptr, nullptr}, a->x.rows, fold);
}

int cuda_run_softmax_xent(cuda_queue *queue, const hal_softmax_xent_args *a)
{
    return cuda_empty(a->x) ? CUDA_DONE : CUDA_BY_REAL(a->x.dtype, softmax_xent, queue, a);
}

/* ---- binary cross-entropy -------------------------------------------------------------------------------------------- */

template <typename real>
__global__ void bce_kernel(cuda_mat<real> x, cuda_mat<float> target, const uint8_t *mask, cuda_mat<real> dx,
                           double scale, tally *row)
{
    const int64_t i = cuda_row();
    double loss = 0.0;
    double entries = 0.0;
    if (i >= x.rows) {
        return;
    }
    for (int64_t j = cuda_lane(); j < x.cols; j += CUDA_WARP) {
        const double logit = (double)*x.at(i, j);
        const double wanted = (double)*target.at(i, j);
        const bool counts = (mask == nullptr || mask[i] != 0) && wanted == wanted;
        if (counts) {
            loss += (logit > 0.0 ? logit : 0.0) - logit * wanted + log1p(exp(-fabs(logit)));
            entries += 1.0;
        }
        if (dx.data != nullptr) {
            *dx.at(i, j) = counts ? (real)(scale * (1.0 / (1.0 + exp(-logit)) - wanted)) : (real)0;
        }
    }
    loss = warp_total(loss);
    entries = warp_total(entries);
    if (cuda_lane() == 0) {
        row[i] = {loss, 0, (int64_t)entries};
    }
}

template <typename real> static int bce_logits(cuda_queue *queue, const hal_bce_logits_args *a)
{
    tally *row = nullptr;
    void *fold = nullptr;
    CUDA_TRY(take_scratch(queue, a->x.rows, &row, &fold));
    CUDA_TRY(cuda_launch_teams(queue, cuda_rows(a->x.rows), bce_kernel<real>, cuda_mat_of<real>(a->x),
                               cuda_mat_of<float>(a->target), cuda_data<const uint8_t>(a->mask),
                               cuda_mat_of<real>(a->dx), a->scale, row));
    return cuda_fold_in(queue, tally_fold{row, cuda_data<double>(a->loss), nullptr, cuda_data<int64_t>(a->count)},
                        a->x.rows, fold);
}

int cuda_run_bce_logits(cuda_queue *queue, const hal_bce_logits_args *a)
{
    return cuda_empty(a->x) ? CUDA_DONE : CUDA_BY_REAL(a->x.dtype, bce_logits, queue, a);
}

/* ---- accuracy --------------------------------------------------------------------------------------------------------- */

/* A thread a row: the definition's loop, in which NaNs never win and the lowest index does. */
template <typename real>
__global__ void accuracy_kernel(cuda_mat<real> x, const int32_t *label, const uint8_t *mask, tally *row)
{
    for (int64_t i = cuda_first(); i < x.rows; i += cuda_stride()) {
        int64_t best = 0;
        const bool counts = mask == nullptr || mask[i] != 0;
        for (int64_t j = 1; counts && j < x.cols; ++j) {
            best = *x.at(i, j) > *x.at(i, best) ? j : best;
        }
        row[i] = {0.0, counts && best == label[i] ? 1 : 0, counts ? 1 : 0};
    }
}

template <typename real> static int accuracy(cuda_queue *queue, const hal_accuracy_args *a)
{
    tally *row = nullptr;
    void *fold = nullptr;
    int64_t *counts = cuda_data<int64_t>(a->counts);
    CUDA_TRY(take_scratch(queue, a->x.rows, &row, &fold));
    CUDA_TRY(cuda_launch(queue, cuda_lines(queue, a->x.rows), accuracy_kernel<real>, cuda_mat_of<real>(a->x),
                         cuda_data<const int32_t>(a->label), cuda_data<const uint8_t>(a->mask), row));
    return cuda_fold_in(queue, tally_fold{row, nullptr, counts, counts + 1}, a->x.rows, fold);
}

int cuda_run_accuracy(cuda_queue *queue, const hal_accuracy_args *a)
{
    return cuda_empty(a->x) ? CUDA_DONE : CUDA_BY_REAL(a->x.dtype, accuracy, queue, a);
}
