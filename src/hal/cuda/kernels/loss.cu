/*
 * hal/cuda/kernels/loss.cu: losses and counts of hal/ops.def. Rows write what they add to a loss, and a fold adds those
 * in one order: nothing comes to the host before somebody reads the operand.
 */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_fold.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_row.h"

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

/* Scratch memory: what each row has, then the fold's. */
template <typename fold_type, typename row_type> static size_t loss_bytes(int64_t rows)
{
    return (size_t)rows * sizeof(row_type) + cuda_fold_bytes<fold_type>();
}

template <typename fold_type, typename row_type>
static int take_scratch(cuda_queue *queue, int64_t rows, row_type **row, void **fold)
{
    void *scratch = nullptr;
    CUDA_TRY(cuda_queue_scratch(queue, (loss_bytes<fold_type, row_type>(rows)), &scratch));
    *row = static_cast<row_type *>(scratch);
    *fold = *row + rows;
    return CUDA_DONE;
}

/* ---- softmax cross-entropy --------------------------------------------------------------------------------------- */

/* A row's loss is times (log(sum) + rest): the fold takes logarithms, a thread a row. */
struct row_loss {
    double sum, rest, times;
};

struct loss_fold {
    typedef double value;
    const row_loss *row;
    double *loss;

    __device__ double zero() const
    {
        return 0.0;
    }
    __device__ void take(double &sum, int64_t i) const
    {
        sum += row[i].times * (log(row[i].sum) + row[i].rest);
    }
    __device__ void join(double &sum, double other) const
    {
        sum += other;
    }
    __device__ void finish(double sum) const
    {
        *loss += sum;
    }
};

/* What smoothing leaves of a label, and what it gives every class; the scale of gradients. */
struct softmax_weights {
    double scale, label, others;
    bool smooth;
};

/* Powers are of the row's type, sums of them double, and so is the label's probability: what is left of it after 1 is
 * taken away is what the others have, however little. dx may be x: lanes write what they alone read, but for a row's
 * first element, which all have read before they join. */
template <typename real, int HELD>
__global__ void __launch_bounds__(CUDA_BLOCK)
    softmax_kernel(cuda_row_team team, cuda_mat<real> x, const int32_t *label, const uint8_t *mask,
                   const float *of_row, cuda_mat<real> dx, softmax_weights weights, row_loss *row)
{
    const int64_t i = team.row();
    const bool there = i < x.rows;
    const bool counts = there && (mask == nullptr || mask[i] != 0);
    const int wanted = counts ? label[i] : -1;
    const double times = counts && of_row != nullptr ? (double)of_row[i] : 1.0;
    const double scale = times * weights.scale;
    cuda_lane_row<real, HELD> mine(team, x.at(counts ? i : 0, 0), counts ? x.cols : 0);
    real *to = dx.data != nullptr ? dx.at(i, 0) : nullptr;
    real highest = counts ? *x.at(i, 0) : (real)0;
    real chosen = 0;
    double sum = 0.0;
    double total = 0.0;
    mine.each([&](int j, real value) {
        highest = value > highest ? value : highest;
        chosen = j == wanted ? value : chosen;
    });
    highest = team.joined(cuda_larger(), highest);
    if (weights.smooth) {
        mine.each([&](int, real value) { total += (double)value; });
        total = weights.others * team.joined(cuda_sum(), total);
    }
    mine.each([&](int, real &value) {
        value = exp(value - highest);
        sum += (double)value;
    });
    sum = team.joined(cuda_sum(), sum);
    if (to != nullptr) {
        const real factor = (real)scale / (real)sum;
        const real less = (real)(scale * weights.others);
        mine.each([&](int j, real value) { to[j] = factor * (HELD > 0 ? value : exp(value - highest)) - less; });
        for (int64_t j = team.lane(); there && !counts && j < x.cols; j += team.lanes) {
            to[j] = (real)0;
        }
    }
    if (counts && team.lane() == (wanted & (team.lanes - 1))) {
        row[i] = {sum, (double)highest - weights.label * (double)chosen - total, times};
        if (to != nullptr) {
            const double probability = (double)exp(chosen - highest) / sum;
            to[wanted] = (real)(scale * (probability - weights.label - weights.others));
        }
    } else if (there && !counts && team.lane() == 0) {
        row[i] = {1.0, 0.0, 1.0};
    }
}

template <typename real, int HELD> static int softmax_rows(cuda_queue *queue, const hal_softmax_xent_args *a)
{
    row_loss *row = nullptr;
    void *fold = nullptr;
    const cuda_row_team team = cuda_row_team_of(cuda_pieces(a->x.cols, CUDA_HELD));
    const softmax_weights weights = {a->scale, 1.0 - a->smoothing, a->smoothing / (double)a->x.cols, a->smoothing > 0.0};
    CUDA_TRY(take_scratch<loss_fold>(queue, a->x.rows, &row, &fold));
    CUDA_TRY(cuda_launch_teams(queue, cuda_team_grid(team, a->x.rows), softmax_kernel<real, HELD>, team,
                               cuda_mat_of<real>(a->x), cuda_data<const int32_t>(a->label),
                               cuda_data<const uint8_t>(a->mask), cuda_data<const float>(a->weight),
                               cuda_mat_of<real>(a->dx), weights, row));
    return cuda_fold_in(queue, loss_fold{row, cuda_data<double>(a->loss)}, a->x.rows, fold);
}

template <typename real> static int softmax_xent(cuda_queue *queue, const hal_softmax_xent_args *a)
{
    return a->x.cols <= CUDA_HELD * CUDA_WARP ? softmax_rows<real, CUDA_HELD>(queue, a) : softmax_rows<real, 0>(queue, a);
}

CUDA_OP(softmax_xent, CUDA_BY_REAL, x, softmax_xent, x)

/* ---- binary cross-entropy ---------------------------------------------------------------------------------------- */

/* Of a logit's probability and its complement the smaller is made, and the other from it: neither loses digits. */
template <typename real>
__global__ void __launch_bounds__(CUDA_BLOCK)
    bce_kernel(cuda_row_team team, cuda_mat<real> x, cuda_mat<float> target, const uint8_t *mask, cuda_mat<real> dx,
               double scale, tally *row)
{
    const int64_t i = team.row();
    const bool there = i < x.rows;
    const bool row_counts = there && (mask == nullptr || mask[i] != 0);
    double loss = 0.0;
    int entries = 0;
    for (int64_t j = team.lane(); there && j < x.cols; j += team.lanes) {
        const real logit = *x.at(i, j);
        const real wanted = (real)*target.at(i, j);
        const bool counts = row_counts && wanted == wanted;
        const real power = exp(-fabs(logit));
        const real least = power / ((real)1 + power);
        if (counts) {
            loss += (double)((logit > 0 ? logit : (real)0) - logit * wanted) + (double)log1p(power);
            entries += 1;
        }
        if (dx.data != nullptr) {
            const real gradient = logit > 0 ? ((real)1 - wanted) - least : least - wanted;
            *dx.at(i, j) = counts ? (real)scale * gradient : (real)0;
        }
    }
    loss = team.joined(cuda_sum(), loss);
    entries = team.joined(cuda_sum(), entries);
    if (there && team.lane() == 0) {
        row[i] = {loss, 0, entries};
    }
}

template <typename real> static int bce_logits(cuda_queue *queue, const hal_bce_logits_args *a)
{
    tally *row = nullptr;
    void *fold = nullptr;
    CUDA_TRY(take_scratch<tally_fold>(queue, a->x.rows, &row, &fold));
    const cuda_row_team team = cuda_row_team_of(cuda_pieces(a->x.cols, CUDA_HELD));
    CUDA_TRY(cuda_launch_teams(queue, cuda_team_grid(team, a->x.rows), bce_kernel<real>, team, cuda_mat_of<real>(a->x),
                               cuda_mat_of<float>(a->target), cuda_data<const uint8_t>(a->mask),
                               cuda_mat_of<real>(a->dx), a->scale, row));
    return cuda_fold_in(queue, tally_fold{row, cuda_data<double>(a->loss), nullptr, cuda_data<int64_t>(a->count)},
                        a->x.rows, fold);
}

CUDA_OP(bce_logits, CUDA_BY_REAL, x, bce_logits, x)

/* ---- accuracy ---------------------------------------------------------------------------------------------------- */

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
    CUDA_TRY(take_scratch<tally_fold>(queue, a->x.rows, &row, &fold));
    CUDA_TRY(cuda_launch(queue, cuda_lines(queue, a->x.rows), accuracy_kernel<real>, cuda_mat_of<real>(a->x),
                         cuda_data<const int32_t>(a->label), cuda_data<const uint8_t>(a->mask), row));
    return cuda_fold_in(queue, tally_fold{row, nullptr, counts, counts + 1}, a->x.rows, fold);
}

CUDA_OP(accuracy, CUDA_BY_REAL, x, accuracy, x)

size_t cuda_scratch_loss(int64_t rows)
{
    const size_t loss = loss_bytes<loss_fold, row_loss>(rows);
    const size_t counts = loss_bytes<tally_fold, tally>(rows);
    return loss > counts ? loss : counts;
}
