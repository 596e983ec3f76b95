/* Cross-entropy towards shares of classes: its gradient against differences of it, and a label's share against the loss
 * of labels. */
#include <math.h>
#include <string.h>

#include "support/test.h"
#include "train/loop/share_loss.h"

enum { ROWS = 3, CLASSES = 4, CELLS = ROWS * CLASSES };

static const float logits_of[CELLS] = {1.5f, -0.5f, 0.25f, 2.0f, 0.0f, 3.0f, -2.0f, 1.0f, -1.0f, -1.0f, 4.0f, 0.5f};
static const float shares_of[CELLS] = {0.1f, 0.2f, 0.3f, 0.4f, 0.0f, 1.0f, 0.0f, 0.0f, 0.25f, 0.25f, 0.25f, 0.25f};

/* Returns the loss. [in, out] x: logits, then the gradient. */
static double run(const float *share, double temperature, double scale, float *x)
{
    weft_hal *hal;
    weft_tensor logits, loss;
    double sum = 0.0;
    const train_targets targets = {
        .rows = ROWS, .outputs = CLASSES, .loss = TRAIN_LOSS_XENT, .share_host = share, .temperature = temperature};
    ASSERT_OK(weft_hal_open("ref", 1, &hal));
    ASSERT_OK(tensor_create(hal, WEFT_DTYPE_F32, ROWS, CLASSES, WEFT_MEM_WORKSPACE, &logits));
    ASSERT_OK(tensor_create(hal, WEFT_DTYPE_F64, 1, 1, WEFT_MEM_WORKSPACE, &loss));
    ASSERT_OK(tensor_upload(&logits, x));
    ASSERT_OK(tensor_upload(&loss, &sum));
    ASSERT_OK(share_loss(&targets, scale, &loss, &logits));
    ASSERT_OK(tensor_download(&logits, x));
    ASSERT_OK(tensor_download(&loss, &sum));
    TENSOR_DESTROY_ALL(&logits, &loss);
    weft_hal_close(hal);
    return sum;
}

static double loss_beside(int cell, double step, double temperature)
{
    float x[CELLS];
    memcpy(x, logits_of, sizeof x);
    x[cell] += (float)step;
    return run(shares_of, temperature, 1.0, x);
}

static void test_gradient_is_that_of_the_loss(void **state)
{
    static const double temperatures[] = {0.5, 1.0, 4.0};
    enum { HALF = 7 }; /* steps of 2^-7 are exact in float */
    (void)state;
    for (int t = 0; t < 3; ++t) {
        float slope[CELLS];
        memcpy(slope, logits_of, sizeof slope);
        run(shares_of, temperatures[t], 0.5, slope);
        for (int i = 0; i < CELLS; ++i) {
            const double step = ldexp(1.0, -HALF);
            const double difference =
                (loss_beside(i, step, temperatures[t]) - loss_beside(i, -step, temperatures[t])) / (2.0 * step);
            assert_true(fabs(0.5 * difference - (double)slope[i]) < 2e-4);
        }
    }
}

/* At temperature 1 a whole share is a label: values of torch.nn.functional.cross_entropy, reduction="sum", and with
 * probabilities for targets; at 2 four times those of logits / 2. */
static void test_values_of_pytorch(void **state)
{
    float x[CELLS], whole[CELLS] = {0.0f};
    (void)state;
    whole[3] = whole[CLASSES + 1] = whole[2 * CLASSES + 2] = 1.0f;
    memcpy(x, logits_of, sizeof x);
    assert_true(fabs(run(whole, 1.0, 1.0, x) - 0.840122246) < 1e-5);
    memcpy(x, logits_of, sizeof x);
    assert_true(fabs(run(shares_of, 1.0, 1.0, x) - 5.290122246) < 1e-5);
    memcpy(x, logits_of, sizeof x);
    assert_true(fabs(run(shares_of, 2.0, 1.0, x) - 15.759764956) < 1e-5);
    assert_true(fabs((double)x[0] - 0.427516678) < 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_is_that_of_the_loss),
        cmocka_unit_test(test_values_of_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
