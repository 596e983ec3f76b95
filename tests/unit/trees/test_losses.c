/*
 * Losses of boosting: gradients are compared with finite differences of the losses, and quantiles of leaves with those
 * of sorted rows.
 */
#include "support/boost_ranks.h"
#include "trees/loss/leaf_quantiles.h"

static double loss_of(tree_loss loss, const double *margin, double y)
{
    double sum = 0.0;
    switch (loss) {
    case TREE_LOSS_SQUARED:
        return 0.5 * (margin[0] - y) * (margin[0] - y);
    case TREE_LOSS_LOGISTIC:
        return log(1.0 + exp(margin[0])) - y * margin[0];
    case TREE_LOSS_POISSON:
        return exp(margin[0]) - y * margin[0];
    case TREE_LOSS_ABSOLUTE:
        return fabs(margin[0] - y);
    case TREE_LOSS_QUANTILE:
        return fmax(0.8 * (y - margin[0]), 0.2 * (margin[0] - y));
    default:
        for (int k = 0; k < OUTPUTS; ++k) {
            sum += exp(margin[k]);
        }
        return log(sum) - margin[(int)y];
    }
}

static void finite_differences(void **state)
{
    (void)state;
    static const tree_loss losses[] = {TREE_LOSS_SQUARED, TREE_LOSS_LOGISTIC, TREE_LOSS_SOFTMAX,
                                       TREE_LOSS_POISSON, TREE_LOSS_ABSOLUTE, TREE_LOSS_QUANTILE};
    const float margin[OUTPUTS] = {0.7F, -1.2F, 0.3F}, y = 1.0F, weight = 2.5F;
    const uint8_t counts = 1;
    for (int i = 0; i < 6; ++i) {
        const int outputs = losses[i] == TREE_LOSS_SOFTMAX ? OUTPUTS : 1;
        const tree_targets targets = {losses[i], 1, outputs, &y, &weight, &counts, 0.8, NULL};
        float gradient[OUTPUTS], hessian[OUTPUTS];
        tree_gradients(&targets, margin, 1, gradient, hessian);
        const double whole[OUTPUTS] = {(double)margin[0], (double)margin[1], (double)margin[2]};
        ASSERT_NEAR(tree_loss_at(&targets, 0, margin), loss_of(losses[i], whole, 1.0), 1e-6);
        for (int k = 0; k < outputs; ++k) {
            double at[3][OUTPUTS], value[3];
            for (int side = 0; side < 3; ++side) {
                for (int j = 0; j < OUTPUTS; ++j) {
                    at[side][j] = (double)margin[j] + (j == k ? 1e-4 * (side - 1) : 0.0);
                }
                value[side] = loss_of(losses[i], at[side], 1.0);
            }
            const double twice = losses[i] == TREE_LOSS_SOFTMAX ? 2.0 : 1.0;
            ASSERT_NEAR(gradient[k], 2.5 * (value[2] - value[0]) / 2e-4, 1e-5);
            if (losses[i] == TREE_LOSS_ABSOLUTE || losses[i] == TREE_LOSS_QUANTILE) {
                assert_true(hessian[k] == weight); /* the losses have none */
                continue;
            }
            ASSERT_NEAR(hessian[k], twice * 2.5 * (value[2] - 2.0 * value[1] + value[0]) / 1e-8, 1e-5);
        }
    }
}

/* The least value at which the weights up to it are `share` of the leaf's, by looking at every pair of rows. */
static float quantile_of(int leaf, double part)
{
    double total = 0.0;
    float best = INFINITY;
    for (int i = 0; i < ROWS; ++i) {
        total += all.counts[i] != 0 && all.whole[i] == leaf ? (double)all.weight[i] : 0.0;
    }
    for (int i = 0; i < ROWS; ++i) {
        double below = 0.0;
        for (int j = 0; j < ROWS; ++j) {
            below += all.counts[j] != 0 && all.whole[j] == leaf && all.y[j] <= all.y[i] ? (double)all.weight[j] : 0.0;
        }
        best = all.counts[i] != 0 && all.whole[i] == leaf && below >= part * total ? fminf(best, all.y[i]) : best;
    }
    return best;
}

enum { LEAVES = 9 };

static weft_status find_quantiles(weft_comm *comm, void *argument)
{
    const training t = {.ranks = comm_size(comm), .dealing = 1};
    share *s = take_share(&t, comm_rank(comm));
    const leaf_rows of = {s->count, s->whole, s->y, s->weight, s->counts};
    float *quantile = argument, least[LEAVES + 1];
    for (int l = 0; l <= LEAVES; ++l) {
        least[l] = 77.0F;
    }
    const weft_status status = leaf_quantiles(comm, &of, LEAVES + 1, (double)quantile[LEAVES], least);
    if (comm_rank(comm) == 0) {
        memcpy(quantile, least, sizeof least);
    }
    free(s);
    return status;
}

static void quantiles_of_leaves(void **state)
{
    (void)state;
    static const double parts[] = {0.001, 0.25, 0.5, 0.9, 0.999};
    draw(TREE_LOSS_ABSOLUTE);
    for (int i = 0; i < ROWS; ++i) {
        all.whole[i] = i % LEAVES;
        all.y[i] = all.y[i] < -1.0F ? -0.0F : all.y[i]; /* ties, and zeros of either sign */
    }
    for (int q = 0; q < 5; ++q) {
        float quantile[LEAVES + 1] = {[LEAVES] = (float)parts[q]};
        ASSERT_OK(comm_thread_run(3, find_quantiles, quantile));
        for (int l = 0; l < LEAVES; ++l) {
            assert_true(quantile[l] == quantile_of(l, (double)(float)parts[q]));
        }
        assert_true(quantile[LEAVES] == 77.0F); /* a leaf without rows */
    }
}

static void exponential(void **state)
{
    (void)state;
    for (double x = -600.0; x < 600.0; x += 0.37) {
        ASSERT_NEAR(tree_exp(x) / exp(x), 1.0, 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finite_differences),
        cmocka_unit_test(quantiles_of_leaves),
        cmocka_unit_test(exponential),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
