/* gnn/smooth.c: see gnn/smooth.h. */
#include "gnn/smooth.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

#define MOST_SCALE 1000.0

typedef struct smoother {
    gnn_aggregator *aggregator;
    const train_targets *targets;
    int64_t rows, classes;
    weft_tensor from, to; /* [n_local, classes] */
    float *error, *start; /* [rows, classes], as `spread` */
    float *spread;        /* what an iteration gave */
} smoother;

static weft_status create(smoother *s)
{
    const gnn_aggregator *a = s->aggregator;
    const int64_t count = s->rows * s->classes;
    WEFT_TRY(WEFT_NEW(&s->error, count, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->start, count, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->spread, count, WEFT_MEM_WORKSPACE));
    WEFT_TRY(tensor_create(a->hal, a->dtype, a->n_local, s->classes, WEFT_MEM_WORKSPACE, &s->from));
    WEFT_TRY(tensor_create(a->hal, a->dtype, a->n_local, s->classes, WEFT_MEM_WORKSPACE, &s->to));
    WEFT_TRY(tensor_zero(&s->from));
    return tensor_zero(&s->to);
}

static void destroy(smoother *s)
{
    weft_free(s->error);
    weft_free(s->start);
    weft_free(s->spread);
    tensor_destroy(&s->from);
    tensor_destroy(&s->to);
}

static bool is_training(const smoother *s, int64_t row)
{
    return s->targets->split_host[row] == TRAIN_SPLIT_TRAIN;
}

static void softmax(float *row, int64_t classes)
{
    double most = -INFINITY, total = 0.0;
    for (int64_t c = 0; c < classes; ++c) {
        most = row[c] > most ? row[c] : most;
    }
    for (int64_t c = 0; c < classes; ++c) {
        total += exp(row[c] - most);
    }
    for (int64_t c = 0; c < classes; ++c) {
        row[c] = (float)(exp(row[c] - most) / total);
    }
}

/* values <- alpha S values + (1 - alpha) of those that came, within low .. high. */
static weft_status propagate(smoother *s, double alpha, int iterations, float low, float high, float *values)
{
    const int64_t count = s->rows * s->classes;
    assert(low < high && alpha >= 0.0 && alpha <= 1.0);
    weft_tensor from = tensor_view(&s->from, 0, s->rows, 0, s->classes);
    weft_tensor to = tensor_view(&s->to, 0, s->rows, 0, s->classes);
    memcpy(s->start, values, (size_t)count * sizeof *values);
    for (int i = 0; i < iterations; ++i) {
        WEFT_TRY(tensor_upload(&from, values));
        WEFT_TRY(gnn_aggregate(s->aggregator, false, &s->from, 0.0, &s->to));
        WEFT_TRY(tensor_download(&to, s->spread));
        for (int64_t k = 0; k < count; ++k) {
            const float value = (float)(alpha * s->spread[k] + (1.0 - alpha) * s->start[k]);
            values[k] = value < low ? low : value > high ? high : value;
        }
    }
    return WEFT_OK;
}

/* error = labels - y in training rows, 0 elsewhere; *mean: the sum of its magnitudes in a training row, on average. Collective. */
static weft_status find_errors(smoother *s, const float *y, double *mean)
{
    double sum = 0.0;
    memset(s->error, 0, (size_t)(s->rows * s->classes) * sizeof *s->error);
    for (int64_t row = 0; row < s->rows; ++row) {
        for (int64_t c = 0; is_training(s, row) && c < s->classes; ++c) {
            const int64_t at = row * s->classes + c;
            s->error[at] = (s->targets->label_host[row] == c ? 1.0F : 0.0F) - y[at];
            sum += fabs((double)s->error[at]);
        }
    }
    WEFT_TRY(comm_allreduce(s->aggregator->comm, &sum, 1, WEFT_DTYPE_F64, COMM_SUM));
    *mean = sum / (double)s->targets->counted[TRAIN_SPLIT_TRAIN];
    return WEFT_OK;
}

static void add_scaled_errors(const smoother *s, double mean, float *y)
{
    for (int64_t row = 0; row < s->rows; ++row) {
        const float *error = s->error + row * s->classes;
        double sum = 0.0;
        for (int64_t c = 0; c < s->classes; ++c) {
            sum += fabs((double)error[c]);
        }
        const double scale = mean > MOST_SCALE * sum ? 1.0 : mean / sum;
        for (int64_t c = 0; c < s->classes; ++c) {
            y[row * s->classes + c] += (float)(scale * error[c]);
        }
    }
}

static void take_labels(const smoother *s, float *y)
{
    for (int64_t row = 0; row < s->rows; ++row) {
        for (int64_t c = 0; is_training(s, row) && c < s->classes; ++c) {
            y[row * s->classes + c] = s->targets->label_host[row] == c ? 1.0F : 0.0F;
        }
    }
}

static weft_status run(smoother *s, const gnn_smoothing *how, float *y)
{
    double mean = 0.0;
    for (int64_t row = 0; row < s->rows; ++row) {
        softmax(y + row * s->classes, s->classes);
    }
    WEFT_TRY(find_errors(s, y, &mean));
    WEFT_TRY(propagate(s, how->correct_alpha, how->iterations, -1.0F, 1.0F, s->error));
    if (mean > 0.0) {
        add_scaled_errors(s, mean, y);
    }
    take_labels(s, y);
    WEFT_TRY(propagate(s, how->smooth_alpha, how->iterations, 0.0F, 1.0F, y));
    for (int64_t k = 0; k < s->rows * s->classes; ++k) {
        y[k] = logf(y[k] > FLT_MIN ? y[k] : FLT_MIN);
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
