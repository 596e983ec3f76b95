/* Models of clicks against their formulas in double (support/click_shadow.h), a published run of DLRM, and themselves
 * on other numbers of ranks. The table of embeddings is the reference of support/embed_reference.h. */
#include "support/click_formulas.h"

/* ---- against the formulas ---------------------------------------------------------------------------------------- */

static void check_kind(click_kind kind, int64_t numbers, bool bags, const char *backend)
{
    click_model_desc desc = small_desc(kind);
    desc.numbers = numbers;
    desc.bags = bags;
    check_formulas(&desc, backend);
}

static void test_formulas(void **state)
{
    (void)state;
    for (int kind = 0; kind < CLICK_KINDS; ++kind) {
        check_kind((click_kind)kind, 3, true, "cpu");
        check_kind((click_kind)kind, 3, false, "cpu");
        check_kind((click_kind)kind, 0, true, "cpu");
        check_kind((click_kind)kind, 3, true, "ref");
    }
}

/* ---- a published run --------------------------------------------------------------------------------------------- */

static void set_values(param_store *store, const char *name, const double *value, int64_t count)
{
    for (int e = 0; e < store->entries; ++e) {
        if (strcmp(store->entry[e].name, name) == 0) {
            assert_int_equal(store->entry[e].rows * store->entry[e].cols, count);
            for (int64_t i = 0; i < count; ++i) {
                ((float *)store->value.data)[store->entry[e].offset + i] = (float)value[i];
            }
            return;
        }
    }
    fail_msg("no parameter %s", name);
}
#define SET(store, name, ...)                                                                                          \
    set_values(store, name, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static void set_rows(embed_table *table, int field, int ids, const double *value)
{
    for (int id = 0; id < ids; ++id) {
        memcpy(embed_reference_row(&table->reference, embed_key(field, (uint64_t)id)), value + (ptrdiff_t)2 * id,
               2 * sizeof *value);
    }
}

typedef struct printed_batch {
    float number[8];
    int64_t at[7];
    uint64_t id[9];
    double target[2], loss;
} printed_batch;

/* The README of facebookresearch/dlrm prints three batches with all numbers; losses are those of the same numbers, five
 * digits each, in PyTorch. */
static const printed_batch PRINTED[3] = {{{.69647F, .28614F, .22685F, .55131F, .71947F, .42311F, .98076F, .68483F},
                                          {0, 1, 3, 4, 5, 6, 7},
                                          {1, 0, 1, 0, 1, 1, 0},
                                          {.55679, .15896},
                                          0.451891},
                                         {{.36179F, .22826F, .29371F, .63098F, .0921F, .4337F, .43086F, .49369F},
                                          {0, 1, 4, 5, 7, 8, 9},
                                          {1, 0, 2, 3, 1, 1, 2, 1, 1},
                                          {.15307, .69553},
                                          0.402002},
                                         {{.60306F, .54507F, .34276F, .30412F, .41702F, .6813F, .87546F, .51042F},
                                          {0, 1, 4, 5, 6, 7, 8},
                                          {2, 0, 1, 2, 1, 2, 1, 1},
                                          {.31877, .69197},
                                          0.275457}};

static void set_printed(bench *b)
{
    param_store *store = b->train->params;
    set_rows(b->table, 0, 4, (const double[]){.05438, -.11105, .42513, .34167, -.1426, -.45641, -.19523, -.10181});
    set_rows(b->table, 1, 3, (const double[]){.23667, .57199, -.16638, .30316, .10759, .22136});
    set_rows(b->table, 2, 3, (const double[]){-.49338, -.14301, -.36649, -.22139, 0.0, 0.0});
    SET(store, "bottom.0.weight", .51313, .66662, .10591, .13089, .32198, .66156, .84651, .55326, .85445, .38484,
        .31679, .35426);
    SET(store, "bottom.0.bias", .17108, .82911, .33867);
    SET(store, "bottom.1.weight", .55237, .57855, .52153, .00269, .98835, .90534);
    SET(store, "bottom.1.bias", .20764, .29249);
    SET(store, "top.0.weight", .52001, .90191, .98363, .25754, .56436, .80697, .39437, .73107, .16107, .6007, .86586,
        .98352, .07937, .42835, .20454, .45064, .54776, .09333, .29686, .92758, .569, .45741, .75353, .74186, .04858,
        .7087, .83924, .16594, .781, .28654, .30647, .66526);
    SET(store, "top.0.bias", .11139, .66487, .88786, .69631);
    SET(store, "top.1.weight", .44033, .43821, .7651, .56564, .0849, .58267, .81484, .33707);
    SET(store, "top.1.bias", .92758, .75072);
    SET(store, "top.out.weight", .57406, .75164);
    SET(store, "bias", .07915);
}

/* Mean squared error of probabilities, then SGD of all parameters. Returns the loss. */
static double printed_step(bench *b, const click_batch *batch, const double *target, double rate)
{
    param_store *store = b->train->params;
    weft_tensor logits;
    double loss = 0.0;
    ASSERT_OK(pass_forward(b, batch, true, &logits));
    for (int i = 0; i < 2; ++i) {
        float *z = (float *)logits.data + i;
        const double p = 1.0 / (1.0 + exp(-(double)*z)), error = p - target[i];
        loss += error * error / 2.0;
        *z = (float)(error * p * (1.0 - p));
    }
    ASSERT_OK(pass_backward(b, batch, &logits));
    for (int64_t i = 0; i < store->trained; ++i) {
        ((float *)store->value.data)[i] -= (float)rate * ((const float *)store->grad.data)[i];
    }
    return loss;
}

static void test_printed_run(void **state)
{
    (void)state;
    const train_schedule schedule = {.kind = SCHEDULE_CONSTANT, .base = 0.01, .epochs = 1};
    const click_model_desc desc = {.kind = CLICK_DLRM,
                                   .fields = 3,
                                   .numbers = 4,
                                   .width = 2,
                                   .samples = 2,
                                   .mlp = {2, {4, 2}},
                                   .bottom = {2, {3, 2}},
                                   .training = true,
                                   .schedule = &schedule,
                                   .steps = 1};
    bench b;
    weft_comm *comm = NULL;
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_OK(bench_open(&b, comm, "cpu", 1, &desc, 0.1));
    set_printed(&b);
    for (int i = 0; i < 3; ++i) {
        /* Printed by table; bags are in the order of samples. */
        const printed_batch *p = &PRINTED[i];
        int64_t at[7] = {0};
        uint64_t key[9];
        for (int bag = 0; bag < 6; ++bag) {
            const int field = bag % 3, sample = bag / 3, from = field * 2 + sample;
            at[bag + 1] = at[bag];
            for (int64_t k = p->at[from]; k < p->at[from + 1]; ++k) {
                key[at[bag + 1]++] = embed_key(field, p->id[k]);
            }
        }
        const click_batch batch = {
            .bags = {.samples = 2, .fields = 3, .at = at, .key = key}, .numbers = 4, .number = p->number};
        ASSERT_NEAR(printed_step(&b, &batch, p->target, schedule.base), p->loss, 2e-6);
    }
    const double *row = embed_reference_row(&b.table->reference, embed_key(0, 0));
    ASSERT_NEAR(row[0], .0543, 1e-5);
    ASSERT_NEAR(row[1], -.1112, 1e-5);
    row = embed_reference_row(&b.table->reference, embed_key(2, 1));
    ASSERT_NEAR(row[0], -.36664, 1e-5);
    ASSERT_NEAR(row[1], -.22164, 1e-5);
    double *value = values_of(b.train->params);
    const click_shadow names = {.store = b.train->params, .value = value};
    ASSERT_NEAR(shadow_of(&names, "top", -1, ".out.weight")[0], .57379, 1e-5);
    ASSERT_NEAR(shadow_of(&names, "top", -1, ".out.weight")[1], .7514, 1e-5);
    ASSERT_NEAR(*shadow_of(&names, "bias", -1, ""), .07908, 1e-5);
    free(value);
    bench_close(&b);
    comm_destroy(comm);
}

/* ---- memory, dropout, bfloat16 and refusals ---------------------------------------------------------------------- */

static void test_memory(void **state)
{
    (void)state;
    weft_comm *comm = NULL;
    ASSERT_OK(comm_create_self(&comm));
    for (int variant = 0; variant < 4 * CLICK_KINDS; ++variant) {
        click_model_desc desc = small_desc((click_kind)(variant / 4));
        desc.bf16 = variant % 2 == 1;
        desc.training = variant % 4 < 2;
        click_bench_memory(comm, &desc);
    }
    comm_destroy(comm);
}

/* Rounding to 8 bits of each activation; the same model without. */
static void test_bfloat16(void **state)
{
    (void)state;
    static const click_kind kinds[] = {CLICK_DEEPFM, CLICK_DLRM};
    weft_comm *comm = NULL;
    ASSERT_OK(comm_create_self(&comm));
    for (int k = 0; k < 2; ++k) {
        bench b[2];
        stream s;
        weft_tensor logits[2];
        click_model_desc desc = small_desc(kinds[k]);
        stream_take(&s, &desc, 0, 40);
        for (int narrow = 0; narrow < 2; ++narrow) {
            desc.bf16 = narrow == 1;
            ASSERT_OK(bench_open(&b[narrow], comm, "cpu", 2, &desc, 0.5));
            ASSERT_OK(pass_forward(&b[narrow], &s.batch, true, &logits[narrow]));
        }
        bool differs = false;
        for (int i = 0; i < 40; ++i) {
            const double wide = ((const float *)logits[0].data)[i], narrow = ((const float *)logits[1].data)[i];
            ASSERT_NEAR(narrow, wide, 0.05);
            differs = differs || narrow != wide;
        }
        assert_true(differs);
        for (int narrow = 0; narrow < 2; ++narrow) {
            ASSERT_OK(pass_backward(&b[narrow], &s.batch, &logits[narrow]));
        }
        double off = 0.0, all = 0.0;
        for (int64_t i = 0; i < b[0].train->params->trained; ++i) {
            const double g = ((const float *)b[0].train->params->grad.data)[i];
            off += pow(g - (double)((const float *)b[1].train->params->grad.data)[i], 2.0);
            all += g * g;
        }
        assert_true(sqrt(off / all) < 0.03);
        bench_close(&b[0]);
        bench_close(&b[1]);
    }
    comm_destroy(comm);
}

/* A mask of half of the values changes answers in training and not in evaluation. */
static void test_dropout(void **state)
{
    (void)state;
    weft_comm *comm = NULL;
    weft_tensor logits;
    bench b;
    stream s;
    click_model_desc desc = small_desc(CLICK_WIDE_DEEP);
    float answer[3][8];
    desc.dropout = 0.5;
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_OK(bench_open(&b, comm, "cpu", 2, &desc, 0.5));
    stream_take(&s, &desc, 0, 8);
    for (int i = 0; i < 3; ++i) {
        ASSERT_OK(pass_forward(&b, &s.batch, i < 2, &logits));
        memcpy(answer[i], logits.data, sizeof answer[i]);
    }
    assert_memory_equal(answer[0], answer[1], sizeof answer[0]);
    assert_memory_not_equal(answer[0], answer[2], sizeof answer[0]);
    double *value = values_of(b.train->params);
    for (int i = 0; i < 8; ++i) {
        double one[8] = {0};
        one[i] = 1.0;
        ASSERT_NEAR(answer[2][i], weighted(&b, &s, value, one), 3e-6);
    }
    free(value);
    bench_close(&b);
    comm_destroy(comm);
}

static void test_refusals(void **state)
{
    (void)state;
    weft_comm *comm = NULL;
    bench b;
    click_sizes sizes;
    click_model_desc desc = small_desc(CLICK_DLRM);
    ASSERT_OK(comm_create_self(&comm));
    desc.bottom.size[1] = 6;
    ASSERT_STATUS(bench_open(&b, comm, "cpu", 1, &desc, 0.1), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("the last size of --bottom is 6, and --width is 5");
    bench_close(&b);
    desc = small_desc(CLICK_DEEPFM);
    desc.mlp.layers = 0;
    ASSERT_STATUS(bench_open(&b, comm, "cpu", 1, &desc, 0.1), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("deepfm: --mlp");
    bench_close(&b);
    ASSERT_STATUS(bench_open(&b, comm, "shadow:ref", 1, &(click_model_desc){.kind = CLICK_LR, .fields = 1}, 0.1),
                  WEFT_ERR_UNSUPPORTED);
    bench_close(&b);
    desc = small_desc(CLICK_PARTS);
    desc.own = (click_kind_row){.linear = false};
    ASSERT_STATUS(bench_open(&b, comm, "cpu", 1, &desc, 0.1), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("parts: nobody has named the parts");
    bench_close(&b);
    ASSERT_OK(click_read_parts("--parts", "", &desc.own));
    assert_true(desc.own.linear && !desc.own.fm && !desc.own.part[CLICK_PART_DEEP]);
    static const char *const no_parts[] = {"linear", "fm,",     ",fm",          "fm,,deep",
                                           "fmdeep", "fm deep", "deep,fm,deep", ","};
    for (size_t i = 0; i < sizeof no_parts / sizeof *no_parts; ++i) {
        ASSERT_STATUS(click_read_parts("--parts", no_parts[i], &desc.own), WEFT_ERR_USAGE);
        ASSERT_MESSAGE("--parts");
    }
    ASSERT_OK(click_read_sizes("--mlp", "400,1048576", &sizes));
    assert_int_equal(sizes.layers, 2);
    assert_int_equal(sizes.size[1], 1048576);
    ASSERT_OK(click_read_sizes("--mlp", "", &sizes));
    assert_int_equal(sizes.layers, 0);
    static const char *const wrong[] = {
        "0", "-1", "1,", ",1", "1,,2", "1.5", "x", "1048577", "1 2", "1e9", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        ASSERT_STATUS(click_read_sizes("--mlp", wrong[i], &sizes), WEFT_ERR_USAGE);
        ASSERT_MESSAGE("--mlp");
    }
    comm_destroy(comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_formulas),     cmocka_unit_test(test_printed_run),
                                       cmocka_unit_test(click_bench_ranks), cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_bfloat16),     cmocka_unit_test(test_dropout),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests_name("click_model", tests, NULL, NULL);
}
