/*
 * Second order on whole networks (support/second_net.h), beside closed forms: a linear map of the inputs changes no
 * answer of any step; the factors of one example make its Fisher matrix, and those of a deep linear network its
 * Gauss-Newton matrix; and traps of single precision and of rows that are no numbers. Derivatives come from complex
 * steps.
 */
#include "support/second_net.h"

static const int two_layers[] = {5, 4, 3}, three_layers[] = {4, 3, 5, 3};
static const second_kind kinds[] = {SECOND_INPUT, SECOND_KFAC};

/* ---- invariance -------------------------------------------------------------------------------------------------- */

/* Inputs x T + c, and first weights that give the same answers for them: T^-1 W, with T upper triangular. */
static void map_inputs(second_net *net)
{
    const int n = net->width[0], out = net->width[1];
    double *w = net->weight[0];
    double t[NET_WIDTH][NET_WIDTH] = {{0}};
    for (int i = 0; i < n; ++i) {
        for (int j = i; j < n; ++j) {
            t[i][j] = i == j ? 0.5 + i : 0.4 * j - 0.3 * i;
        }
    }
    for (int r = 0; r < net->rows; ++r) {
        double x[NET_WIDTH] = {0};
        for (int j = 0; j < n; ++j) {
            x[j] = 0.7 - 0.4 * j;
            for (int i = 0; i <= j; ++i) {
                x[j] += net->x[r][i] * t[i][j];
            }
        }
        memcpy(net->x[r], x, sizeof x);
    }
    for (int o = 0; o < out; ++o) {
        for (int i = n - 1; i >= 0; --i) {
            for (int j = i + 1; j < n; ++j) {
                w[i * out + o] -= t[i][j] * w[j * out + o];
            }
            w[i * out + o] /= t[i][i];
            w[n * out + o] -= (0.7 - 0.4 * i) * w[i * out + o];
        }
    }
}

/* Largest difference of answers after each step of a network and of the same on mapped inputs. */
static double difference_of_mapped(second_kind kind)
{
    static second_net net, mapped;
    double far = 0.0;
    net_make(&net, 2, two_layers, 11);
    net.kind = kind;
    net.damping = 1e-12;
    net.clip = 0.01;
    net.steps = NET_STEPS;
    mapped = net;
    map_inputs(&mapped);
    net_train(&net);
    net_train(&mapped);
    for (int s = 0; s < net.steps; ++s) {
        far = fmax(far, net_far(&mapped.answer[s][0][0], &net.answer[s][0][0], NET_ROWS * NET_WIDTH));
        assert_true(kind == SECOND_NONE || net.figures[s].clip < 1.0);
    }
    return far;
}

static void test_maps_of_inputs_change_no_answer(void **state)
{
    (void)state;
    assert_true(difference_of_mapped(SECOND_INPUT) < 1e-6);
    assert_true(difference_of_mapped(SECOND_KFAC) < 1e-6);
    assert_true(difference_of_mapped(SECOND_NONE) > 1e-2);
}

/* ---- exact matrices ---------------------------------------------------------------------------------------------- */

/* [out] derivative of answer o for row r by each weight of a layer, [in or in + 1, out]. */
static void derive(const second_net *net, int r, int o, int l, double *derivative)
{
    static net_state state;
    const double step = 1e-100;
    net_take_weights(net, &state);
    for (int i = 0; i < (net->width[l] + net->bias[l]) * net->width[l + 1]; ++i) {
        const double complex weight = state.weight[l][i];
        state.weight[l][i] += step * I;
        net_forward(net, &state, net->x[r]);
        derivative[i] = cimag(state.a[net->layers][o]) / step;
        state.weight[l][i] = weight;
    }
}

/* A (x) G of a layer against a matrix over pairs of weights. */
static void check_product(const second_net *net, int l, const double *matrix, double tolerance)
{
    const int n = net->width[l] + net->bias[l], out = net->width[l + 1], count = n * out;
    double most = 0.0;
    for (int i = 0; i < count * count; ++i) {
        most = fmax(most, fabs(matrix[i]));
    }
    for (int i = 0; i < count; ++i) {
        for (int j = 0; j < count; ++j) {
            const double product = net->a[l][i / out * n + j / out] * net->g[l][i % out * out + j % out];
            if (!(fabs(product - matrix[i * count + j]) <= tolerance * most)) {
                fail_msg("layer %d, %d, %d: %.15g, expected %.15g", l, i, j, product, matrix[i * count + j]);
            }
        }
    }
}

static void test_one_example_has_its_fisher_matrix(void **state)
{
    (void)state;
    static second_net net, before;
    static double matrix[NET_MATRIX * NET_MATRIX];
    net_make(&net, 2, two_layers, 3);
    net.kind = SECOND_KFAC;
    net.rows = 1;
    before = net;
    net_train(&net);
    for (int l = 0; l < net.layers; ++l) {
        const int count = (net.width[l] + 1) * net.width[l + 1];
        double gradient[NET_MATRIX] = {0}, derivative[NET_MATRIX];
        net_rows answer;
        net_run(&before, answer, NULL, NULL);
        for (int o = 0; o < net.width[net.layers]; ++o) {
            derive(&before, 0, o, l, derivative);
            for (int i = 0; i < count; ++i) {
                gradient[i] += derivative[i] * (answer[0][o] - before.target[0][o]);
            }
        }
        for (int i = 0; i < count * count; ++i) {
            matrix[i] = gradient[i / count] * gradient[i % count];
        }
        check_product(&net, l, matrix, 1e-10);
    }
}

/*
 * The Gauss-Newton matrix of a linear network under squared loss is the mean of J^T J over examples, J the derivative
 * of the answers. Every example stands there once for each answer o, with a target that is off by sqrt(answers) in
 * answer o alone: the mean of d^T d is then the identity, as it is in the Gaussian distribution of targets.
 */
static void test_linear_network_has_its_gauss_newton_matrix(void **state)
{
    (void)state;
    static second_net net, before;
    static double matrix[NET_MATRIX * NET_MATRIX];
    net_make(&net, 3, three_layers, 17);
    net.kind = SECOND_KFAC;
    net.activation = NET_LINEAR;
    net.bias[1] = net.bias[2] = false;
    const int answers = net.width[net.layers];
    net_rows answer;
    for (int r = 0; r < net.rows; ++r) {
        memcpy(net.x[r], net.x[r - r % answers], sizeof net.x[r]);
    }
    net_run(&net, answer, NULL, NULL);
    for (int r = 0; r < net.rows; ++r) {
        for (int o = 0; o < answers; ++o) {
            net.target[r][o] = answer[r][o] - (r % answers == o ? sqrt(answers) : 0.0);
        }
    }
    before = net;
    net_train(&net);
    for (int l = 0; l < net.layers; ++l) {
        const int count = (net.width[l] + net.bias[l]) * net.width[l + 1];
        double derivative[NET_MATRIX];
        memset(matrix, 0, sizeof matrix);
        for (int r = 0; r < net.rows * answers; ++r) {
            derive(&before, r / answers, r % answers, l, derivative);
            for (int i = 0; i < count * count; ++i) {
                matrix[i] += derivative[i / count] * derivative[i % count] / net.rows;
            }
        }
        check_product(&net, l, matrix, 1e-8);
    }
}

/* ---- parts, ranks, types ----------------------------------------------------------------------------------------- */

static void check_equal_steps(const second_net *net, const second_net *other, double tolerance)
{
    for (int s = 0; s < net->steps; ++s) {
        const double far = net_far(&other->step[s][0][0], &net->step[s][0][0], NET_WEIGHTS);
        if (!(far <= tolerance)) {
            fail_msg("step %d of kind %d, %d ranks, %d parts: off by %g", s, net->kind, other->ranks, other->parts,
                     far);
        }
    }
}

/* Parts of a batch and ranks count with one weight; all ranks take the same bits, even if they round differently. */
static void test_parts_and_ranks_are_one_batch(void **state)
{
    (void)state;
    static second_net one, some;
    for (int i = 0; i < 16; ++i) {
        net_make(&one, 3, three_layers, 23);
        one.kind = kinds[i % 2];
        one.rows_have_ids = i / 2 % 2 == 0;
        one.clip = 0.01;
        one.steps = 3;
        one.rows = 41; /* parts and ranks are not of one size */
        some = one;
        some.parts = 1 + i / 4 % 3;
        some.ranks = 1 + i % NET_RANKS;
        some.backend = i >= 8 ? "cpu" : "ref";
        some.other_backend = i >= 8 ? "ref" : NULL;
        net_train(&one);
        net_train(&some);
        assert_true(some.equal);
        check_equal_steps(&one, &some, 1e-9);
    }
}

/* Products of bfloat16 rows are summed in float32: the factors are those of the rounded rows. */
static void test_bf16_rows_have_float32_sums(void **state)
{
    (void)state;
    static second_net net;
    net_make(&net, 1, (int[]){6, 4}, 29);
    net.kind = SECOND_KFAC;
    net.dtype = WEFT_DTYPE_F32;
    net.rows_are_bf16 = true;
    net.bias[0] = false;
    net_train(&net);
    for (int i = 0; i < 36; ++i) {
        double sum = 0.0;
        for (int r = 0; r < net.rows; ++r) {
            const float a = bf16_to_float(bf16_from_float((float)net.x[r][i / 6]));
            const float b = bf16_to_float(bf16_from_float((float)net.x[r][i % 6]));
            sum += (double)a * (double)b / net.rows;
        }
        assert_true(fabs(sum - net.a[0][i]) < 1e-6);
    }
}

/* Rows that are all alike have one eigenvalue; rounding makes others negative, larger than the damping. No step may go
 * up the loss: P . g is above 0. */
static void test_negative_eigenvalues_count_as_zero(void **state)
{
    (void)state;
    static second_net net;
    for (int i = 0; i < 20; ++i) {
        net_make(&net, 1, (int[]){6, 4}, 31 + (uint64_t)i);
        net.kind = SECOND_KFAC;
        net.backend = i % 2 == 0 ? "cpu" : "ref";
        net.dtype = WEFT_DTYPE_F32;
        net.damping = 1e-12;
        net.astray = 0.1;
        for (int r = 1; r < net.rows; ++r) {
            memcpy(net.x[r], net.x[0], sizeof net.x[r]);
        }
        net_train(&net);
        double dot = 0.0;
        for (int w = 0; w < NET_MATRIX; ++w) {
            assert_true(isfinite(net.step[0][0][w]));
            dot += net.step[0][0][w] * net.gradient[0][0][w];
        }
        assert_true(dot > 0.0 && net.figures[0].refused == 0);
    }
}

/* ---- zeros, and rows that are no numbers ------------------------------------------------------------------------- */

/* A hidden layer without output: its successor sees zeros, and it sees no gradient. */
static void test_dead_layers_take_no_step(void **state)
{
    (void)state;
    static second_net net;
    for (int i = 0; i < 2; ++i) {
        net_make(&net, 2, two_layers, 37);
        net.kind = kinds[i];
        net.activation = NET_RELU;
        net.bias[1] = false;
        net.clip = 0.01;
        net.steps = 3;
        for (int o = 0; o < net.width[1]; ++o) {
            net.weight[0][net.width[0] * net.width[1] + o] = -100.0;
        }
        net_train(&net);
        for (int s = 0; s < net.steps; ++s) {
            assert_true(net.figures[s].clip == 1.0 && net.figures[s].refused == 0);
            for (int w = 0; w < NET_WEIGHTS; ++w) {
                assert_true(net.step[s][w / NET_MATRIX][w % NET_MATRIX] == 0.0);
            }
        }
    }
}

/* The steps without the spoiled one's rows: that step's inverse is the one before, and its rows are not averaged in. */
static void test_rows_that_are_no_numbers_are_left_out(void **state)
{
    (void)state;
    static const double spoils[] = {NAN, INFINITY, 1e30}; /* the last one's square is no float32 */
    static second_net whole, spoiled;
    for (int i = 0; i < 12; ++i) {
        net_make(&whole, 2, two_layers, 41);
        whole.kind = kinds[i % 2];
        whole.dtype = WEFT_DTYPE_F32;
        whole.ranks = 1 + i % 3;
        whole.steps = 2;
        spoiled = whole;
        spoiled.steps = 3;
        spoiled.spoiled_step = 1;
        spoiled.spoil = spoils[i / 4];
        spoiled.spoiled_layer = i / 2 % 2;
        spoiled.spoils_gradient = i % 4 == 3;
        net_train(&whole);
        net_train(&spoiled);
        assert_true(spoiled.equal && spoiled.figures[0].refused == 0);
        assert_int_equal(spoiled.figures[1].refused, 1);
        assert_int_equal(spoiled.figures[2].refused, 1);
        assert_memory_equal(whole.step[0], spoiled.step[0], sizeof whole.step[0]);
        for (int w = 0; w < 3 * NET_WEIGHTS; ++w) {
            assert_true(isfinite((&spoiled.step[0][0][0])[w]));
        }
        const int other = 1 - spoiled.spoiled_layer; /* whose rows are as they were */
        assert_memory_equal(whole.step[1][other], spoiled.step[1][other], sizeof whole.step[1][other]);
    }
}

static void test_scaled_losses_are_refused(void **state)
{
    (void)state;
    weft_hal *hal;
    weft_comm *comm;
    param_store params;
    train_second *second;
    train_map map = {.bias = -1};
    ASSERT_OK(weft_hal_open("ref", 1, &hal));
    param_store_begin(&params, hal, WEFT_DTYPE_F32);
    map.block = param_add_block(&params, PARAM_GROUP_DECAY, 2, 2);
    ASSERT_OK(param_store_commit(&params, NULL));
    const train_model model = {.name = "half", .params = &params, .map = &map, .maps = 1, .scaled = true};
    const second_options options = {.kind = SECOND_INPUT, .factors = 1, .interval = 1};
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_STATUS(second_create(comm, &model, &options, &second), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("float16");
    comm_destroy(comm);
    param_store_destroy(&params);
    weft_hal_close(hal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps_of_inputs_change_no_answer),
        cmocka_unit_test(test_one_example_has_its_fisher_matrix),
        cmocka_unit_test(test_linear_network_has_its_gauss_newton_matrix),
        cmocka_unit_test(test_parts_and_ranks_are_one_batch),
        cmocka_unit_test(test_bf16_rows_have_float32_sums),
        cmocka_unit_test(test_negative_eigenvalues_count_as_zero),
        cmocka_unit_test(test_dead_layers_take_no_step),
        cmocka_unit_test(test_rows_that_are_no_numbers_are_left_out),
        cmocka_unit_test(test_scaled_losses_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
