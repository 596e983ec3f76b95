/* What operations leave in the trace: a span a round, told apart by whether its messages cross nodes, with its bytes.
 */
#include "base/file.h"
#include "base/trace/trace.h"
#include "io/json.h"
#include "io/trace_file.h"
#include "support/comm_cases.h"
#include "support/folder.h"
#include "support/test.h"

enum { RANKS = 4, COUNT = 4000 };

typedef struct traced_job {
    int ranks_per_node;
    uint64_t bytes[RANKS]; /* sent by the operation, as the lane counts them */
} traced_job;

static weft_status run_ring(weft_comm *comm, void *argument)
{
    traced_job *job = argument;
    float *x = calloc(COUNT, sizeof *x);
    comm_plan *plan = NULL;
    const comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_RING, WEFT_DTYPE_F32, COMM_SUM, COUNT, x);
    weft_status status = comm_imitate_nodes(comm, job->ranks_per_node);
    status = status == WEFT_OK ? comm_allreduce_plan(comm, &desc, &plan) : status;
    status = status == WEFT_OK ? comm_post(plan) : status;
    status = status == WEFT_OK ? comm_wait(plan) : status;
    job->bytes[comm_rank(comm)] = comm_lane_stats(comm, COMM_LANE_GRADIENT).bytes_sent;
    comm_plan_destroy(plan);
    free(x);
    return status;
}

typedef struct tally {
    int spans;
    int64_t bytes;
} tally;

static tally count(const json_value *events, const char *name, const char *category)
{
    tally found = {0, 0};
    for (const json_value *event = events->child; event != NULL; event = event->next) {
        const json_value *cat = json_find(event, "cat");
        if (cat != NULL && strcmp(cat->text, category) == 0 && strcmp(json_find(event, "name")->text, name) == 0) {
            const json_value *args = json_find(event, "args");
            ++found.spans;
            found.bytes += args != NULL ? json_find(args, "bytes")->integer : 0;
        }
    }
    return found;
}

/* The ring of 4: three rounds a half. Nodes of 2 in rank order: ranks 1 and 3 send to the other node, 0 and 2 hear from
 * it, so every rank's rounds are on the network; one node of 4: none is. */
static void check_ring(void **state, int ranks_per_node, const char *category, const char *other)
{
    traced_job job = {.ranks_per_node = ranks_per_node};
    const char *path = in_folder(state, "trace.json");
    ASSERT_OK(trace_open(0));
    ASSERT_OK(comm_thread_run(RANKS, run_ring, &job));
    ASSERT_OK(trace_write(path, 0, 0));
    trace_close();
    char *text = NULL;
    size_t bytes = 0;
    json_document *document = NULL;
    ASSERT_OK(file_read_text(path, 1 << 20, &text, &bytes));
    ASSERT_OK(json_parse(path, text, bytes, &document));
    const json_value *events = json_find(json_root(document), "traceEvents");
    tally scatter = count(events, "reduce-scatter", category);
    tally gather = count(events, "all-gather", category);
    int64_t sent = 0;
    for (int r = 0; r < RANKS; ++r) {
        sent += (int64_t)job.bytes[r];
    }
    assert_int_equal(scatter.spans, RANKS * (RANKS - 1));
    assert_true(gather.spans >= RANKS * (RANKS - 1)); /* agreements that gather have spans of that name too */
    assert_int_equal(scatter.bytes, sent / 2);
    assert_int_equal(count(events, "reduce-scatter", other).spans, 0);
    assert_true(count(events, "submit", "sync").spans >= RANKS);
    assert_true(count(events, "wait", "sync").spans >= RANKS);
    json_free(document);
    weft_free(text);
}

static void test_inter(void **state)
{
    check_ring(state, 2, "inter", "intra");
}

static void test_intra(void **state)
{
    check_ring(state, RANKS, "intra", "inter");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_inter, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_intra, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
