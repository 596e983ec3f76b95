/* Memory that batches take beside rows, as the allocator counts it, is what a plan says (embed/plan/embed_plan.h). */
#include "embed/embed.h"
#include "embed/embed_key.h"
#include "embed/plan/embed_plan.h"
#include "embed/rows/row_store.h"
#include "support/test.h"

enum { LARGE = 4000 /* keys of a rank's batch, all of which differ */ };

typedef struct taken {
    bool ahead;
    int64_t bytes, planned; /* of all ranks, beside rows */
} taken;

static int64_t bytes_now(void)
{
    const uint64_t rows = weft_mem_usage_of(WEFT_MEM_ROWS).current_bytes,
                   work = weft_mem_usage_of(WEFT_MEM_WORKSPACE).current_bytes,
                   comm = weft_mem_usage_of(WEFT_MEM_COMM).current_bytes;
    return (int64_t)(rows + work + comm);
}

static weft_status take_memory(weft_comm *comm, void *argument)
{
    taken *t = argument;
    const embed_desc desc = {.fields = 1, .width = 15, .linear = true, .rule = EMBED_SGD, .seed = 5, .ahead = t->ahead};
    const int rank = comm_rank(comm), ranks = comm_size(comm);
    embed_table *table = NULL;
    embed_figures figures;
    int64_t *at = test_calloc(LARGE + 1, sizeof *at);
    uint64_t *key = test_calloc(LARGE, sizeof *key);
    float *total = test_calloc((size_t)LARGE * 16, sizeof *total);
    for (int i = 0; i < LARGE; ++i) {
        at[i + 1] = i + 1;
        key[i] = embed_key(0, (uint64_t)i * (uint64_t)ranks + (uint64_t)rank);
    }
    WEFT_TRY(comm_barrier(comm));
    const int64_t before = bytes_now();
    WEFT_TRY(comm_barrier(comm));
    WEFT_TRY(embed_open(comm, &desc, LARGE, &table));
    for (uint64_t step = 1; step <= 3; ++step) { /* ids travel ahead of all but the first */
        const embed_bags bags = {.samples = LARGE, .fields = 1, .at = at, .key = key, .batch = step},
                         next = {.samples = LARGE, .fields = 1, .at = at, .key = key, .batch = step + 1};
        WEFT_TRY(embed_forward(table, &bags, true, total, 16));
        WEFT_TRY(t->ahead ? embed_ahead(table, &next) : WEFT_OK);
        WEFT_TRY(embed_backward(table, total, 16, 0.1));
    }
    WEFT_TRY(embed_measure(table, &figures));
    WEFT_TRY(comm_barrier(comm));
    const int64_t after = bytes_now();
    WEFT_TRY(comm_barrier(comm));
    if (rank == 0) {
        t->bytes = after - before - ranks * figures.bytes;
        t->planned = ranks * embed_batch_bytes(&desc, ranks, LARGE, LARGE);
    }
    embed_close(table);
    test_free(at);
    test_free(key);
    test_free(total);
    return WEFT_OK;
}

/* What batches take is what a plan says, but for room that is not touched: arrays grow by half more, and each rank
 * might own all keys of a message. */
static void memory_is_planned(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 2; ++ranks) {
        taken t[2] = {{.ahead = false}, {.ahead = true}};
        for (int i = 0; i < ranks; ++i) { /* nothing travels ahead on one rank */
            ASSERT_OK(comm_thread_run(ranks, take_memory, &t[i]));
            assert_in_range(t[i].bytes, t[i].planned, 2 * t[i].planned);
        }
        assert_true(ranks == 1 || (t[1].bytes - t[0].bytes >= t[1].planned - t[0].planned &&
                                   t[1].bytes - t[0].bytes < 2 * (t[1].planned - t[0].planned)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_is_planned)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
