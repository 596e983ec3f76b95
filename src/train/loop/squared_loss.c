/* train/loop/squared_loss.c: see train/loop/squared_loss.h. */
#include "train/loop/squared_loss.h"

#include <assert.h>
#include <math.h>

static double take_errors(const train_targets *t, double scale, float *answer)
{
    double sum = 0.0;
    for (int64_t i = 0; i < t->rows; ++i) {
        const bool counts = t->split_host[i] == TRAIN_SPLIT_TRAIN && !isnan(t->target_host[i]);
        const double error = counts ? (double)answer[i] - (double)t->target_host[i] : 0.0;
        sum += 0.5 * error * error;
        answer[i] = (float)(scale * error);
    }
    return sum;
}

weft_status squared_loss(const train_targets *targets, double scale, weft_tensor *loss, weft_tensor *answers)
{
    float *answer = NULL;
    double before = 0.0;
    assert(targets->loss == TRAIN_LOSS_VALUE && answers->cols == 1 && answers->dtype == WEFT_DTYPE_F32);
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW(&answer, targets->rows, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(tensor_download(answers, answer), status, done);
    WEFT_TRY_GOTO(tensor_download(loss, &before), status, done);
    const double sum = before + take_errors(targets, scale, answer);
    WEFT_TRY_GOTO(tensor_upload(loss, &sum), status, done);
    status = tensor_upload(answers, answer);
done:
    weft_free(answer);
    return status;
}
