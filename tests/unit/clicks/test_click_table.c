/* The table of embeddings under models of clicks: against the reference on one to three parties, and losses of all
 * models on them. */
#include "support/click_bench.h"
#include "support/embed_reference.h"

enum { ROUNDS = 25, SHARE = 8, FIELDS = 4, WIDTH = 5, STRIDE = WIDTH + 1 };

/* Rows begin in the reference as they do in the table, which tells of a row through a bag of one key. */
static weft_status copy_rows(embed_table *table, embed_reference *reference)
{
    for (int f = 0; f < FIELDS; ++f) {
        for (uint64_t id = 0; id < IDS; ++id) {
            const uint64_t key[1] = {embed_key(f, id)};
            int64_t at[FIELDS + 1] = {0};
            float pooled[FIELDS * STRIDE];
            for (int g = f; g < FIELDS; ++g) {
                at[g + 1] = 1;
            }
            const embed_bags bags = {.samples = 1, .fields = FIELDS, .at = at, .key = key};
            WEFT_TRY(embed_forward(table, &bags, true, pooled, FIELDS * STRIDE));
            double *row = embed_reference_row(reference, key[0]);
            for (int j = 0; j < STRIDE; ++j) {
                row[j] = (double)pooled[f * STRIDE + j];
            }
        }
    }
    return WEFT_OK;
}

/* What the two make of the same bags; then both are updated by the same gradients. */
static weft_status compare_round(embed_table *table, embed_reference *reference, int rank, int round)
{
    static const click_model_desc desc = {.fields = FIELDS, .numbers = 0};
    stream s;
    float pooled[2][SHARE * FIELDS * STRIDE], gradient[SHARE * FIELDS * STRIDE];
    const int64_t ld = (int64_t)FIELDS * STRIDE;
    uint64_t state = (uint64_t)(round * 8 + rank) + 77;
    stream_take(&s, &desc, (int64_t)(round * 8 + rank) * SHARE, (round + rank) % 7 == 0 ? 0 : SHARE);
    WEFT_TRY(embed_forward(table, &s.batch.bags, true, pooled[0], ld));
    WEFT_TRY(embed_reference_forward(reference, &s.batch.bags, true, pooled[1], ld));
    for (int64_t i = 0; i < s.batch.bags.samples * ld; ++i) {
        WEFT_CHECK(fabsf(pooled[0][i] - pooled[1][i]) <= 2e-5F, WEFT_ERR_INTERNAL,
                   "round %d, rank %d, number %lld: %.9g, of the reference %.9g", round, rank, (long long)i,
                   (double)pooled[0][i], (double)pooled[1][i]);
        gradient[i] = (float)(test_uniform(&state) - 0.5);
    }
    WEFT_TRY(embed_backward(table, gradient, ld, 0.05));
    return embed_reference_backward(reference, gradient, ld, 0.05);
}

static weft_status compare_rank(weft_comm *comm, void *argument)
{
    const embed_desc desc = {.fields = FIELDS,
                             .width = WIDTH,
                             .linear = true,
                             .rule = *(const embed_rule *)argument,
                             .spread = 0.5,
                             .seed = 19};
    embed_reference reference = {.comm = comm, .desc = desc};
    embed_table *table = NULL;
    WEFT_TRY(embed_open(comm, &desc, KEYS_MOST, &table));
    weft_status status = copy_rows(table, &reference);
    for (int round = 0; round < ROUNDS && status == WEFT_OK; ++round) {
        status = comm_agree(comm, compare_round(table, &reference, comm_rank(comm), round));
    }
    embed_close(table);
    embed_reference_close(&reference);
    return status;
}

static void test_reference(void **state)
{
    (void)state;
    for (int parties = 1; parties <= 3; ++parties) {
        static const embed_rule rules[] = {EMBED_SGD, EMBED_ROW_ADAGRAD, EMBED_ADAGRAD};
        for (int r = 0; r < 3; ++r) {
            embed_rule rule = rules[r];
            ASSERT_OK(comm_thread_run(parties, compare_rank, &rule));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference), cmocka_unit_test(click_bench_ranks)};
    return cmocka_run_group_tests_name("click_table", tests, NULL, NULL);
}
