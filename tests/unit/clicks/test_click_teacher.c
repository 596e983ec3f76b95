/*
 * Rows that are made are those of their definition, as a script computed them in double precision; ids have the
 * frequencies of the closed form, a quarter of the rows are clicks, labels have the probabilities of the logits, and
 * every instruction set gives the same bits. What describes such data is read, and refused, as it says.
 */
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "clicks/synth/made_rows.h"
#include "train/score/area_over_ranks.h"
#include "train/score/score_record.h"

enum { ROWS = 300000, RANKED = 20000 };

static click_teacher *teacher_of(const char *data)
{
    click_spec spec;
    click_teacher *t = malloc(sizeof *t);
    assert_non_null(t);
    ASSERT_OK(click_spec_parse(data, &spec));
    ASSERT_OK(click_teacher_make(&spec, 1, t));
    return t;
}

/* tests/golden/make_golden_clicks.py; `drawn`: the row is a click if its logit is above this. */
static void golden(void **state)
{
    static const struct {
        int64_t row;
        int32_t id[5];
        float number[3], logit, drawn;
    } rows[] = {
        {0, {1, 1, 4, 1, 40}, {-1.290014F, 1.303392F, 1.535941F}, 0.730939F, 0.110329F},
        {1, {2, 2, 5, 166, 212}, {0.369837F, 0.539093F, 0.327211F}, -4.178701F, -0.499651F},
        {123456789012, {1, 1, 57, 23, 472}, {-0.976731F, -0.533353F, 1.064628F}, 5.537806F, 2.156871F},
    };
    (void)state;
    click_teacher *t = teacher_of("synth:clicks,fields=5,ids=1k,numbers=3,seed=7");
    click_made_row made;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        click_teacher_row(t, rows[i].row, &made);
        assert_memory_equal(made.id, rows[i].id, sizeof rows[i].id);
        for (int j = 0; j < 3; ++j) {
            assert_true(fabsf(made.number[j] - rows[i].number[j]) < 1e-5F);
        }
        assert_true(fabsf(made.logit - t->offset - rows[i].logit) < 1e-5F);
        assert_int_equal(made.clicked, made.logit > rows[i].drawn);
    }
    free(t);
}

static void instruction_sets(void **state)
{
    static made_rows_kernel *const kernels[HAL_ISAS] = {made_row_base, made_row_avx2, made_row_avx512};
    (void)state;
    click_teacher *t = teacher_of("synth:clicks,fields=37,ids=1G,numbers=70,seed=3");
    click_made_row *made = calloc(HAL_ISAS, sizeof *made);
    assert_non_null(made);
    for (int64_t row = 0; row < 3000; ++row) {
        for (int isa = 0; isa <= (int)hal_isa_best(); ++isa) {
            kernels[isa](t, MADE_DATA, row * 1000003, &made[isa]);
            assert_memory_equal(&made[isa], &made[0], sizeof *made);
        }
    }
    free(made);
    free(t);
}

/* ---- frequencies ------------------------------------------------------------------------------------------------- */

/* Sum of k^-1.05 over [first, end): terms, then the integral with the correction of its ends. */
static double mass(double first, double end)
{
    double sum = 0.0;
    while (first < end && first < 2000.0) {
        sum += pow(first, -1.05);
        first += 1.0;
    }
    const double area = 20.0 * (pow(first, -0.05) - pow(end, -0.05));
    return first < end ? sum + area + 0.5 * (pow(first, -1.05) - pow(end, -1.05)) : sum;
}

/* Deviation of counts from expected ones in units of a chi-square's own: few bins are beyond 5. */
static double deviation_of(const double *count, const double *expected, int bins)
{
    double square = 0.0;
    for (int b = 0; b < bins; ++b) {
        square += (count[b] - expected[b]) * (count[b] - expected[b]) / expected[b];
    }
    return (square - bins + 1) / sqrt(2.0 * (bins - 1));
}

static void every_id(const click_teacher *t, int field, double *const *count)
{
    double expected[1000];
    const double all = mass(1, t->size[field] + 1);
    for (int k = 0; k < t->size[field]; ++k) {
        expected[k] = ROWS * pow(k + 1.0, -1.05) / all;
        assert_true(expected[k] > 5.0);
    }
    const double deviation = deviation_of(count[field], expected, t->size[field]);
    assert_true(fabs(deviation) < 4.0);
}

static void frequencies(void **state)
{
    (void)state;
    click_teacher *t = teacher_of("synth:clicks,fields=4,ids=1k,numbers=13");
    double *count[4], shown[20] = {0}, clicked[20] = {0}, share = 0.0;
    click_made_row made;
    for (int f = 0; f < 4; ++f) {
        count[f] = calloc((size_t)t->size[f], sizeof(double));
        assert_non_null(count[f]);
    }
    assert_int_equal(t->size[0], 4);
    assert_int_equal(t->size[3], 1000);
    for (int64_t row = 0; row < ROWS; ++row) {
        click_teacher_row(t, row, &made);
        for (int f = 0; f < 4; ++f) {
            assert_true(made.id[f] >= 1 && made.id[f] <= t->size[f]);
            count[f][made.id[f] - 1] += 1.0;
        }
        share += made.clicked;
        const double p = 1.0 / (1.0 + exp(-(double)made.logit));
        shown[(int)(20.0 * p)] += p;
        clicked[(int)(20.0 * p)] += made.clicked;
    }
    assert_true(fabs(share / ROWS - 0.25) < 0.002);
    for (int b = 0; b < 20; ++b) {
        assert_true(fabs(clicked[b] - shown[b]) < 5.0 * sqrt(shown[b]));
    }
    for (int f = 0; f < 4; ++f) {
        every_id(t, f, count);
        free(count[f]);
    }
    free(t);
}

/* A field of a thousand million ids, by powers of two. */
static void far_ids(void **state)
{
    (void)state;
    click_teacher *t = teacher_of("synth:clicks,fields=1,ids=1G,numbers=0");
    double count[30] = {0}, expected[30];
    click_made_row made;
    const double all = mass(1, 1e9 + 1);
    for (int64_t row = 0; row < ROWS; ++row) {
        click_teacher_row(t, row, &made);
        count[31 - __builtin_clz((unsigned)made.id[0])] += 1.0;
    }
    for (int b = 0; b < 30; ++b) {
        expected[b] = ROWS * mass(ldexp(1, b), fmin(ldexp(2, b), 1e9 + 1)) / all;
    }
    const double deviation = deviation_of(count, expected, 30);
    assert_true(fabs(deviation) < 4.0);
    free(t);
}

/* How many ids of a field differ, counted in rows. */
static void distinct_ids(void **state)
{
    enum { SIZE = 50000, MANY = 40000 };
    (void)state;
    click_teacher *t = teacher_of("synth:clicks,fields=2,ids=50k,numbers=0");
    uint8_t *seen = calloc(SIZE + 1, 1);
    int64_t distinct = 0;
    click_made_row made;
    assert_non_null(seen);
    for (int64_t row = 0; row < MANY; ++row) {
        click_teacher_row(t, row, &made);
        distinct += seen[made.id[1]] == 0;
        seen[made.id[1]] = 1;
    }
    assert_true(fabs((double)click_teacher_distinct(t, 1, MANY) / (double)distinct - 1.0) < 0.02);
    assert_int_equal(click_teacher_distinct(t, 0, MANY), t->size[0]);
    assert_int_equal(click_teacher_distinct(t, 1, 1), 1);
    free(seen);
    free(t);
}

/* The ceiling by its definition: the share of pairs of a click and none that the logits put in order. */
static void ceiling(void **state)
{
    (void)state;
    click_teacher *t = teacher_of("synth:clicks");
    uint64_t *record = calloc(RANKED, sizeof *record);
    float *click = calloc(RANKED, sizeof *click), *none = calloc(RANKED, sizeof *none);
    int64_t clicks = 0, others = 0;
    double ordered = 0.0;
    click_made_row made;
    assert_true(record != NULL && click != NULL && none != NULL);
    for (int64_t row = 0; row < RANKED; ++row) {
        click_teacher_row(t, row, &made);
        record[row] = score_record(made.logit, made.clicked);
        if (made.clicked) {
            click[clicks++] = made.logit;
        } else {
            none[others++] = made.logit;
        }
    }
    for (int64_t i = 0; i < clicks; ++i) {
        int64_t below = 0, equal = 0;
        for (int64_t j = 0; j < others; ++j) {
            below += none[j] < click[i];
            equal += none[j] == click[i];
        }
        ordered += (double)below + 0.5 * (double)equal;
    }
    weft_comm *comm = NULL;
    double areas[AREA_SPLITS];
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_OK(area_over_ranks(comm, record, RANKED, areas));
    comm_destroy(comm);
    const double area = areas[0];
    assert_true(fabs(area - ordered / ((double)clicks * (double)others)) < 1e-9);
    assert_true(area > 0.9 && area < 0.99);
    free(record);
    free(click);
    free(none);
    free(t);
}

/* ---- descriptions ------------------------------------------------------------------------------------------------ */

static void descriptions(void **state)
{
    static const char *const refused[] = {
        "synth:clicks,rows=0",        "synth:clicks,rows=1.5",
        "synth:clicks,rows=1e6",      "synth:clicks,ids=3",
        "synth:clicks,ids=2G",        "synth:clicks,fields=257",
        "synth:clicks,row=5",         "synth:clicks,rows",
        "synth:clicks,rows=20,rows",  "synth:clicks,",
        "synth:clicks,seed=-1",       "synth:clicks,rows=M",
        "synth:clicks,seed=1,seed=1", "synth:clicks,rows=10000G",
        "synth:clicks,rows=20 000",   "synth:clickstream",
    };
    click_spec spec;
    (void)state;
    ASSERT_OK(click_spec_parse("synth:clicks,rows=2.5M,fields=1,ids=20k,numbers=0,seed=4294967295", &spec));
    assert_int_equal(spec.rows, 2500000);
    assert_int_equal(spec.ids, 20000);
    assert_int_equal(spec.numbers, 0);
    assert_int_equal(spec.seed, UINT32_MAX);
    assert_int_equal(click_spec_size(&spec, 0), 20000);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
        assert_int_equal(click_spec_parse(refused[i], &spec), WEFT_ERR_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden),       cmocka_unit_test(instruction_sets), cmocka_unit_test(frequencies),
        cmocka_unit_test(far_ids),      cmocka_unit_test(distinct_ids),     cmocka_unit_test(ceiling),
        cmocka_unit_test(descriptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
