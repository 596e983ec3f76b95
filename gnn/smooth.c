/*
 * gnn/smooth.c: see gnn/smooth.h. All arithmetic on rows is the backend's. Two steps have no operation of their own and
 * are made of others, without rounding:
 *
 *     softmax(x)        the gradient of cross-entropy is p - onehot(label): with label 0 it is p in all columns but the
 *                       first, with label 1 in the first
 *     max(x, bound)     the largest of two pixels, x and bound, that stand side by side: a pooling; min(x, b) =
 *                       -max(-x, -b)
 */
#include "gnn/smooth.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "train/layers/linear.h"

#define MOST_SCALE 1000.0

typedef struct smoother {
    gnn_aggregator *aggregator;
    const train_targets *targets;
    int64_t rows, classes;
    weft_tensor from, to;  /* [n_local, classes]: an iteration reads one and writes the other */
    weft_tensor y, error;  /* [rows, classes]: answers, and what the training labels say is wrong with them */
    weft_tensor labels;    /* [rows, classes]: 1 at the class of each training row, else 0 */
    weft_tensor low, high; /* [rows, 2 classes]: values beside a bound */
    weft_tensor is_training, is_other; /* [rows, 1]: 1 or 0 */
    weft_tensor row_scale;             /* [rows, 1] */
    weft_tensor bound;                 /* [1, classes] */
    weft_tensor class_number;          /* [rows, 1] int32 */
    weft_tensor loss;                  /* [1, 1], not read */
    float *host;                       /* [rows, classes] */
} smoother;

static weft_status matrix(const smoother *s, weft_dtype dtype, int64_t rows, int64_t cols, weft_tensor *t)
{
    WEFT_TRY(tensor_create(s->aggregator->hal, dtype, rows, cols, WEFT_MEM_WORKSPACE, t));
    return tensor_zero(t);
}

static weft_status create(smoother *s)
{
    const weft_dtype real = s->aggregator->dtype;
    const int64_t rows = s->rows, classes = s->classes;
    assert(real == WEFT_DTYPE_F32 && rows == s->aggregator->n_owned && classes >= 1);
    WEFT_TRY(matrix(s, real, s->aggregator->n_local, classes, &s->from));
    WEFT_TRY(matrix(s, real, s->aggregator->n_local, classes, &s->to));
    WEFT_TRY(matrix(s, real, rows, classes, &s->y));
    WEFT_TRY(matrix(s, real, rows, classes, &s->error));
    WEFT_TRY(matrix(s, real, rows, classes, &s->labels));
    WEFT_TRY(matrix(s, real, rows, 2 * classes, &s->low));
    WEFT_TRY(matrix(s, real, rows, 2 * classes, &s->high));
    WEFT_TRY(matrix(s, real, rows, 1, &s->is_training));
    WEFT_TRY(matrix(s, real, rows, 1, &s->is_other));
    WEFT_TRY(matrix(s, real, rows, 1, &s->row_scale));
    WEFT_TRY(matrix(s, real, 1, classes, &s->bound));
    WEFT_TRY(matrix(s, WEFT_DTYPE_I32, rows, 1, &s->class_number));
    WEFT_TRY(matrix(s, WEFT_DTYPE_F64, 1, 1, &s->loss));
    return WEFT_NEW_ZERO(&s->host, rows * classes + rows + classes, WEFT_MEM_WORKSPACE);
}

static void destroy(smoother *s)
{
    weft_tensor *const all[] = {&s->from,  &s->to,           &s->y,           &s->error,    &s->labels,
                                &s->low,   &s->high,         &s->is_training, &s->is_other, &s->row_scale,
                                &s->bound, &s->class_number, &s->loss,        NULL};
    for (size_t i = 0; all[i] != NULL; ++i) {
        tensor_destroy(all[i]);
    }
    weft_free(s->host);
}

static bool is_training(const smoother *s, int64_t row)
{
    return s->targets->split_host[row] == TRAIN_SPLIT_TRAIN;
}

/* The labels of the training rows, and which rows those are. */
static weft_status upload_labels(smoother *s)
{
    for (int64_t row = 0; row < s->rows; ++row) {
        s->host[row] = is_training(s, row) ? 1.0F : 0.0F;
    }
    WEFT_TRY(tensor_upload(&s->is_training, s->host));
    for (int64_t row = 0; row < s->rows; ++row) {
        s->host[row] = is_training(s, row) ? 0.0F : 1.0F;
    }
    WEFT_TRY(tensor_upload(&s->is_other, s->host));
    memset(s->host, 0, (size_t)(s->rows * s->classes) * sizeof *s->host);
    for (int64_t row = 0; row < s->rows; ++row) {
        if (is_training(s, row) && s->targets->label_host[row] >= 0) {
            assert(s->targets->label_host[row] < s->classes);
            s->host[row * s->classes + s->targets->label_host[row]] = 1.0F;
        }
    }
    return tensor_upload(&s->labels, s->host);
}

/* ---- softmax ----------------------------------------------------------------------------------------------------- */

/* gradient = softmax(x) - onehot(class_number); class_number: the same class in every row. */
static weft_status softmax_less_class(smoother *s, int32_t number, const weft_tensor *x, weft_tensor *gradient)
{
    int32_t *numbers = (int32_t *)(void *)s->host;
    for (int64_t row = 0; row < s->rows; ++row) {
        numbers[row] = number;
    }
    WEFT_TRY(tensor_upload(&s->class_number, numbers));
    const tensor_loss_rows rows = {.scale = 1.0};
    return tensor_softmax_xent(x, s->class_number.data, &rows, &s->loss, gradient);
}

/* y = softmax(logits), row by row */
static weft_status softmax(smoother *s, const float *logits)
{
    weft_tensor x = tensor_view(&s->from, 0, s->rows, 0, s->classes);
    weft_tensor other = tensor_view(&s->to, 0, s->rows, 0, s->classes);
    WEFT_TRY(tensor_upload(&x, logits));
    if (s->classes == 1) {
        for (int64_t row = 0; row < s->rows; ++row) {
            s->host[row] = 1.0F;
        }
        return tensor_upload(&s->y, s->host);
    }
    WEFT_TRY(softmax_less_class(s, 0, &x, &s->y));
    WEFT_TRY(softmax_less_class(s, 1, &x, &other));
    const weft_tensor first = tensor_view(&other, 0, s->rows, 0, 1);
    weft_tensor to = tensor_view(&s->y, 0, s->rows, 0, 1);
    return tensor_axpby(1.0, &first, 0.0, &to);
}

/* ---- propagation ------------------------------------------------------------------------------------------------- */

/* The right half of `pair` = value */
static weft_status set_bound(smoother *s, float value, const weft_tensor *pair)
{
    weft_tensor half = tensor_view(pair, 0, s->rows, s->classes, s->classes);
    for (int64_t c = 0; c < s->classes; ++c) {
        s->host[c] = value;
    }
    WEFT_TRY(tensor_upload(&s->bound, s->host));
    return linear_set_rows(&s->bound, &s->bound, &half);
}

/* y = max(left half of pair, right half), element by element */
static weft_status larger_half(const smoother *s, const weft_tensor *pair, weft_tensor *y)
{
    const weft_tensor pixels = tensor_reshape(pair, 2 * s->rows, s->classes);
    const hal_pool_shape shape = {.height = 1, .width = 2, .kernel = {1, 2}, .stride = {1, 2}};
    return s->rows == 0 ? WEFT_OK
                        : hal_pool_forward(y->hal, &(hal_pool_forward_args){
                                                       .x = tensor_mat(&pixels), .y = tensor_mat(y), .shape = shape});
}

/* x(0) = matrix;  x(i + 1) = min(max(alpha S x(i) + (1 - alpha) x(0), low), high);  matrix = x(iterations) */
static weft_status propagate(smoother *s, double alpha, int iterations, const float bounds[2], weft_tensor *start)
{
    assert(bounds[0] < bounds[1] && alpha >= 0.0 && alpha <= 1.0);
    weft_tensor x = tensor_view(&s->from, 0, s->rows, 0, s->classes);
    weft_tensor sum = tensor_view(&s->to, 0, s->rows, 0, s->classes);
    weft_tensor left = tensor_view(&s->low, 0, s->rows, 0, s->classes);
    weft_tensor negative = tensor_view(&s->high, 0, s->rows, 0, s->classes);
    WEFT_TRY(set_bound(s, bounds[0], &s->low));
    WEFT_TRY(set_bound(s, -bounds[1], &s->high));
    WEFT_TRY(tensor_axpby(1.0, start, 0.0, &x));
    for (int i = 0; i < iterations; ++i) {
        WEFT_TRY(gnn_aggregate(s->aggregator, false, &s->from, 0.0, &s->to));
        WEFT_TRY(tensor_axpby(alpha, &sum, 0.0, &left));
        WEFT_TRY(tensor_axpby(1.0 - alpha, start, 1.0, &left));
        WEFT_TRY(larger_half(s, &s->low, &sum));
        WEFT_TRY(tensor_axpby(-1.0, &sum, 0.0, &negative));
        WEFT_TRY(larger_half(s, &s->high, &sum));
        WEFT_TRY(tensor_axpby(-1.0, &sum, 0.0, &x));
    }
    return tensor_axpby(1.0, &x, 0.0, start);
}

/* ---- correct ----------------------------------------------------------------------------------------------------- */

/* sums [rows, 1] = sum over classes of |error|; |e| = relu(e) + relu(-e) */
static weft_status sum_magnitudes(smoother *s, weft_tensor *sums)
{
    const hal_dropout none = {.probability = 0.0F};
    weft_tensor magnitude = tensor_view(&s->from, 0, s->rows, 0, s->classes);
    weft_tensor negative = tensor_view(&s->to, 0, s->rows, 0, s->classes);
    WEFT_TRY(tensor_act_forward(&s->error, true, &none, &magnitude));
    WEFT_TRY(tensor_axpby(-1.0, &s->error, 0.0, &negative));
    WEFT_TRY(tensor_act_forward(&negative, true, &none, &negative));
    WEFT_TRY(tensor_axpby(1.0, &negative, 1.0, &magnitude));
    for (int64_t c = 0; c < s->classes; ++c) {
        s->host[c] = 1.0F;
    }
    WEFT_TRY(tensor_upload(&s->bound, s->host));
    return tensor_head_dot(&magnitude, &s->bound, sums);
}

/* error = labels - y in training rows, 0 elsewhere; mean = (sum over training rows of |error|) / training rows.
 * Collective. */
static weft_status find_errors(smoother *s, double *mean)
{
    double sum = 0.0;
    WEFT_TRY(tensor_scale_rows(&s->is_training, &s->y, &s->error));
    WEFT_TRY(tensor_axpby(1.0, &s->labels, -1.0, &s->error));
    WEFT_TRY(sum_magnitudes(s, &s->row_scale));
    WEFT_TRY(tensor_download(&s->row_scale, s->host));
    for (int64_t row = 0; row < s->rows; ++row) {
        sum += (double)s->host[row];
    }
    WEFT_TRY(comm_allreduce(s->aggregator->comm, &sum, 1, WEFT_DTYPE_F64, COMM_SUM));
    *mean = sum / (double)s->targets->counted[TRAIN_SPLIT_TRAIN];
    return WEFT_OK;
}

/* y += scale * error, row by row;  scale = mean / (sum over classes of |error|), or 1 where that is above MOST_SCALE */
static weft_status add_scaled_errors(smoother *s, double mean)
{
    WEFT_TRY(sum_magnitudes(s, &s->row_scale));
    WEFT_TRY(tensor_download(&s->row_scale, s->host));
    for (int64_t row = 0; row < s->rows; ++row) {
        const double sum = (double)s->host[row];
        s->host[row] = mean > MOST_SCALE * sum ? 1.0F : (float)(mean / sum);
    }
    WEFT_TRY(tensor_upload(&s->row_scale, s->host));
    return tensor_head_scale(&s->row_scale, false, &s->error, 1.0, &s->y);
}

/* ---- smooth ------------------------------------------------------------------------------------------------------ */

/* y = labels in training rows */
static weft_status take_labels(smoother *s)
{
    WEFT_TRY(tensor_scale_rows(&s->is_other, &s->y, &s->y));
    return tensor_axpby(1.0, &s->labels, 1.0, &s->y);
}

static weft_status run(smoother *s, const gnn_smoothing *how, float *logits)
{
    static const float errors[2] = {-1.0F, 1.0F}, shares[2] = {0.0F, 1.0F};
    double mean = 0.0;
    WEFT_TRY(upload_labels(s));
    WEFT_TRY(softmax(s, logits));
    WEFT_TRY(find_errors(s, &mean));
    WEFT_TRY(propagate(s, how->correct_alpha, how->iterations, errors, &s->error));
    WEFT_TRY(mean > 0.0 ? add_scaled_errors(s, mean) : WEFT_OK);
    WEFT_TRY(take_labels(s));
    WEFT_TRY(propagate(s, how->smooth_alpha, how->iterations, shares, &s->y));
    WEFT_TRY(tensor_download(&s->y, logits));
    for (int64_t k = 0; k < s->rows * s->classes; ++k) {
        logits[k] = logf(logits[k] > FLT_MIN ? logits[k] : FLT_MIN);
    }
    return WEFT_OK;
}

weft_status gnn_correct_and_smooth(gnn_aggregator *a, const train_targets *targets, const gnn_smoothing *smoothing,
                                   float *logits)
{
    smoother s = {.aggregator = a, .targets = targets, .rows = targets->rows, .classes = targets->outputs};
    weft_status status = comm_agree(a->comm, create(&s));
    status = status == WEFT_OK ? run(&s, smoothing, logits) : status;
    destroy(&s);
    return status;
}
