/* Lanes of a table of embeddings: by plain steps along given gradients, rows are those of a table whose batches follow
 * each other, in every mode; what lanes send is counted, and a table whose rows could leave has none. */
#include <string.h>

#include "embed/embed.h"
#include "embed/embed_key.h"
#include "support/random.h"
#include "support/test.h"

enum { SAMPLES = 20, FIELDS = 3, WIDTH = 5, STRIDE = WIDTH + 1, COLUMNS = FIELDS * STRIDE, STEPS = 12, LANES = 3 };
enum { BAGS = SAMPLES * FIELDS, KEYS = 2 * BAGS, IDS = 30 };

typedef struct lane_job {
    embed_mode mode;
    const uint8_t *mode_of;
    int lanes;                    /* 1: the table alone */
    float out[SAMPLES * COLUMNS]; /* of a pass at the end */
    embed_figures figures;
} lane_job;

typedef struct share {
    int64_t at[BAGS + 1];
    uint64_t key[KEYS];
    float gradient[SAMPLES * COLUMNS];
    embed_bags bags;
} share;

static void fill(share *s, int step, int rank, int ranks)
{
    uint64_t state = (uint64_t)step * 77 + 5;
    const int first = SAMPLES * rank / ranks, end = SAMPLES * (rank + 1) / ranks;
    int64_t keys = 0, bags = 0;
    for (int i = 0; i < SAMPLES; ++i) {
        for (int f = 0; f < FIELDS; ++f) {
            const uint32_t ids = 1 + test_random(&state) % 2;
            for (uint32_t k = 0; k < ids; ++k) {
                const uint64_t key = embed_key(f, test_random(&state) % IDS + (uint32_t)step);
                if (i >= first && i < end) {
                    s->key[keys++] = key;
                }
            }
            if (i >= first && i < end) {
                s->at[++bags] = keys;
            }
        }
        for (int j = 0; j < COLUMNS; ++j) {
            const float g = (float)(test_uniform(&state) - 0.5);
            if (i >= first && i < end) {
                s->gradient[(i - first) * COLUMNS + j] = g;
            }
        }
    }
    s->at[0] = 0;
    s->bags = (embed_bags){.samples = end - first, .fields = FIELDS, .at = s->at, .key = s->key};
}

static weft_status run(weft_comm *comm, void *argument)
{
    lane_job *j = argument;
    const int rank = comm_rank(comm), ranks = comm_size(comm);
    const embed_desc desc = {.fields = FIELDS,
                             .width = WIDTH,
                             .linear = true,
                             .rule = EMBED_SGD,
                             .spread = 0.1,
                             .seed = 3,
                             .admit_after = 1,
                             .mode = j->mode,
                             .mode_of = j->mode_of};
    float pooled[SAMPLES * COLUMNS];
    share *s = test_calloc(LANES, sizeof *s);
    embed_table *table = NULL, *lane[LANES] = {NULL};
    WEFT_TRY(embed_open(comm, &desc, KEYS, &table));
    lane[0] = table;
    for (int i = 0; i < (j->lanes > 1 ? j->lanes : 0); ++i) {
        WEFT_TRY(embed_open_lane(table, KEYS, &lane[i]));
    }
    WEFT_TRY(embed_clear(table, 9)); /* lanes read the store that comes */
    for (int step = 0; step < STEPS + j->lanes - 1;
         ++step) { /* batch `step` begins, and the one lanes - 1 before ends */
        const int old = step - j->lanes + 1;
        if (step < STEPS) {
            fill(&s[step % j->lanes], step, rank, ranks);
            WEFT_TRY(embed_forward(lane[step % j->lanes], &s[step % j->lanes].bags, true, pooled, COLUMNS));
        }
        if (old >= 0) {
            WEFT_TRY(embed_backward(lane[old % j->lanes], s[old % j->lanes].gradient, COLUMNS, 0.25));
        }
    }
    fill(s, STEPS / 2, rank, ranks);
    WEFT_TRY(embed_forward(table, &s->bags, false, pooled, COLUMNS));
    memcpy(j->out + (size_t)(SAMPLES * rank / ranks) * COLUMNS, pooled,
           (size_t)s->bags.samples * COLUMNS * sizeof *pooled);
    embed_figures figures;
    WEFT_TRY(embed_measure(table, &figures));
    if (rank == 0) {
        j->figures = figures;
    }
    embed_close(table);
    test_free(s);
    return WEFT_OK;
}

static void rows_are_those_of_one_batch_at_a_time(void **state)
{
    (void)state;
    static const uint8_t by_field[FIELDS] = {EMBED_DES, EMBED_REPLICATE, EMBED_DES};
    for (int ranks = 1; ranks <= 3; ++ranks) {
        for (int mode = 0; mode <= EMBED_MODES_COUNT; ++mode) {
            lane_job plain = {.mode = mode < EMBED_MODES_COUNT ? (embed_mode)mode : EMBED_ALL_TO_ALL,
                              .mode_of = mode < EMBED_MODES_COUNT ? NULL : by_field,
                              .lanes = 1};
            lane_job lanes = plain;
            lanes.lanes = LANES;
            ASSERT_OK(comm_thread_run(ranks, run, &plain));
            ASSERT_OK(comm_thread_run(ranks, run, &lanes));
            assert_int_equal(lanes.figures.rows, plain.figures.rows);
            assert_int_equal(lanes.figures.made, plain.figures.made);
            assert_int_equal(lanes.figures.waiting, plain.figures.waiting);
            assert_memory_equal(lanes.figures.sent, plain.figures.sent, sizeof plain.figures.sent);
            for (int i = 0; i < SAMPLES * COLUMNS; ++i) {
                ASSERT_NEAR(lanes.out[i], plain.out[i], 1e-6);
            }
            assert_true(plain.figures.rows > IDS);
        }
    }
}

static weft_status refuse(weft_comm *comm, void *argument)
{
    const embed_desc desc = {.fields = 1, .width = 2, .rule = EMBED_SGD, .spread = 0.1, .expire_after = 4};
    embed_table *table = NULL, *lane = NULL;
    (void)argument;
    WEFT_TRY(embed_open(comm, &desc, 4, &table));
    const weft_status status = embed_open_lane(table, 4, &lane);
    embed_close(table);
    assert_null(lane);
    return status;
}

static void rows_that_leave_are_refused(void **state)
{
    (void)state;
    assert_int_equal(comm_thread_run(2, refuse, NULL), WEFT_ERR_USAGE);
    assert_non_null(strstr(weft_error_message(), "4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_one_batch_at_a_time),
        cmocka_unit_test(rows_that_leave_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
