/* train/loop/value_loss.c: see train/loop/value_loss.h. */
#include "train/loop/value_loss.h"

#include <assert.h>
#include <math.h>

/* Returns the loss of an error. [out] slope: its derivative. */
static double loss_of(loss_choice kind, double error, double *slope)
{
    const double size = fabs(error);
    const bool square = kind == LOSS_SQUARED || (kind == LOSS_HUBER && size <= 1.0);
    assert(kind == LOSS_SQUARED || kind == LOSS_ABSOLUTE || kind == LOSS_HUBER);
    *slope = square ? error : (double)((error > 0.0) - (error < 0.0));
    return square ? 0.5 * error * error : size - (kind == LOSS_HUBER ? 0.5 : 0.0);
}

static double take_errors(const train_targets *t, loss_choice kind, double scale, float *answer)
{
    double sum = 0.0;
    for (int64_t i = 0; i < t->rows; ++i) {
        const bool counts = t->split_host[i] == TRAIN_SPLIT_TRAIN && !isnan(t->target_host[i]);
        const double error = counts ? (double)answer[i] - (double)t->target_host[i] : 0.0;
        double slope = 0.0;
        sum += loss_of(kind, error, &slope);
        answer[i] = (float)(scale * slope);
    }
    return sum;
}

weft_status value_loss(const train_targets *targets, loss_choice kind, double scale, weft_tensor *loss,
                       weft_tensor *answers)
{
    float *answer = NULL;
    double before = 0.0;
    assert(targets->loss == TRAIN_LOSS_VALUE && answers->cols == 1 && answers->dtype == WEFT_DTYPE_F32);
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW(&answer, targets->rows, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(tensor_download(answers, answer), status, done);
    WEFT_TRY_GOTO(tensor_download(loss, &before), status, done);
    const double sum = before + take_errors(targets, kind, scale, answer);
    WEFT_TRY_GOTO(tensor_upload(loss, &sum), status, done);
    status = tensor_upload(answers, answer);
done:
    weft_free(answer);
    return status;
}
