/* train/loop/share_loss.c: see train/loop/share_loss.h. */
#include "train/loop/share_loss.h"

#include <assert.h>
#include <math.h>

#include "base/alloc.h"

/* Returns the loss of a row, over T^2. [in, out] x: [classes] logits, then scale * T * (softmax(x / T) - share). */
static double take_row(const float *share, double temperature, double scale, int64_t classes, float *x)
{
    double most = -INFINITY, sum = 0.0, loss = 0.0;
    for (int64_t c = 0; c < classes; ++c) {
        most = fmax(most, (double)x[c]);
    }
    for (int64_t c = 0; c < classes; ++c) {
        sum += exp(((double)x[c] - most) / temperature);
    }
    for (int64_t c = 0; c < classes; ++c) {
        const double log_p = ((double)x[c] - most) / temperature - log(sum);
        loss -= (double)share[c] * log_p;
        x[c] = (float)(scale * temperature * (exp(log_p) - (double)share[c]));
    }
    return loss;
}

weft_status share_loss(const train_targets *targets, double scale, weft_tensor *loss, weft_tensor *logits)
{
    const int64_t rows = targets->rows, classes = targets->outputs;
    const double t = targets->temperature;
    float *x = NULL;
    double sum = 0.0;
    weft_status status;
    assert(logits->dtype == WEFT_DTYPE_F32 && logits->cols == classes && t > 0.0);
    WEFT_TRY_GOTO(WEFT_NEW(&x, rows * classes, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(tensor_download(logits, x), status, done);
    WEFT_TRY_GOTO(tensor_download(loss, &sum), status, done);
    for (int64_t i = 0; i < rows; ++i) {
        sum += t * t * take_row(targets->share_host + i * classes, t, scale, classes, x + i * classes);
    }
    WEFT_TRY_GOTO(tensor_upload(loss, &sum), status, done);
    status = tensor_upload(logits, x);
done:
    weft_free(x);
    return status;
}
