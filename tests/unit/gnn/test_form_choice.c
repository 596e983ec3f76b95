/*
 * One form for all ranks: figures out of a table in place of a clock, ranks that contradict each other, that have
 * nothing to say, or that fail.
 */
#include "gnn/layers/aggregate.h"
#include "partition/partition.h"
#include "support/graphs.h"
#include "support/test.h"

enum { RANKS = 3, WIDTH = 8, ROLES = GNN_FORMS };

/* What each rank measures, and what has to come out of it on all of them. */
typedef struct table {
    double seconds[RANKS][HAL_SPMM_KINDS];
    double expected[RANKS][HAL_SPMM_KINDS];
    const char *letters; /* of all roles */
    int fails;           /* rank + 1 */
    int rounds[RANKS];   /* of turns that it wants; 0: it meets nobody */
    bool by_rule;
    hal_spmm_form picked;
    int tries, alone; /* of role 0, by each rank, and of role 1, by the one that has it */
    double summed[HAL_SPMM_KINDS];
} table;

static _Thread_local struct {
    const table *table;
    int rank, tries;
} here;

/* Ranks that are within make the turns of the one that wants most. */
static weft_status take_turns(const table *t, hal_spmm_turns *turns, bool alone)
{
    int most = t->rounds[here.rank], made = 0;
    bool more = most > 0;
    for (int rank = 0; rank < RANKS && !alone; rank++) {
        most = most > 0 && t->rounds[rank] > most ? t->rounds[rank] : most;
    }
    while (more) {
        turns->meet(turns, true);
        WEFT_CHECK(t->fails != here.rank + 1, WEFT_ERR_RESOURCE, "rank %d: no memory for turns", here.rank);
        made++;
        more = turns->meet(turns, made < t->rounds[here.rank]);
    }
    WEFT_CHECK(made == most || t->fails > 0, WEFT_ERR_INTERNAL, "rank %d took %d turns", here.rank, made);
    return WEFT_OK;
}

static weft_status fake_try(weft_hal *hal, const hal_csr *csr, const hal_spmm_request *request, hal_spmm_trial *trial)
{
    const table *t = here.table;
    *trial = (hal_spmm_trial){.seconds = {0}};
    here.tries++;
    WEFT_TRY(take_turns(t, request->turns, here.tries == 2 || t->letters != NULL));
    WEFT_CHECK(t->fails != here.rank + 1, WEFT_ERR_RESOURCE, "rank %d: no memory", here.rank);
    WEFT_CHECK(request->max_d == WIDTH && request->by_rule == t->by_rule && csr->rows == 2, WEFT_ERR_INTERNAL,
               "asked for another matrix");
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; form++) {
        trial->seconds[form] = t->seconds[here.rank][form];
        trial->expected[form] = t->expected[here.rank][form];
    }
    if (trial->seconds[HAL_SPMM_LISTS] > 0.0) { /* prepared on the way, as a whole run needs it */
        return hal->sparse.spmm_create(hal, csr, HAL_SPMM_LISTS, request->max_d, &trial->prepared[HAL_SPMM_LISTS]);
    }
    return WEFT_OK;
}

static weft_status create_roles(weft_comm *comm, weft_hal *hal, const table *t)
{
    static const int64_t offset[] = {0, 2, 3};
    static const int32_t column[] = {0, 1, 1};
    const hal_csr csr = {.rows = 2, .cols = 2, .offset = offset, .column = column};
    const gnn_forms_asked asked = {.letters = t->letters, .by_rule = t->by_rule, .max_width = WIDTH};
    bool has[ROLES];
    gnn_form_choice choice;
    for (int role = 0; role < ROLES; ++role) {
        has[role] = role == 0 || (role == 1 && here.rank == 1); /* a role that one rank alone has */
    }
    WEFT_TRY(gnn_forms_begin(comm, hal, &asked, has, &choice));
    for (int role = 0; role < ROLES; ++role) {
        hal_spmm *spmm = NULL;
        weft_status status = gnn_form_create(&choice, role, WEFT_OK, has[role] ? &csr : NULL, &spmm);
        if (t->fails > 0) {
            WEFT_CHECK(status == WEFT_ERR_RESOURCE && spmm == NULL, WEFT_ERR_INTERNAL, "rank %d goes on", here.rank);
            weft_error_clear();
            return WEFT_OK;
        }
        WEFT_TRY(status);
        WEFT_CHECK((spmm != NULL) == has[role], WEFT_ERR_INTERNAL, "role %d: a matrix too many or too few", role);
        if (spmm != NULL) {
            const hal_spmm_form form = hal->sparse.spmm_info(hal, spmm).form;
            hal->sparse.spmm_destroy(hal, spmm);
            WEFT_CHECK(role > 0 || form == t->picked, WEFT_ERR_INTERNAL, "rank %d took form %d, not %d", here.rank,
                       (int)form, (int)t->picked);
        }
    }
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; ++form) {
        WEFT_CHECK(choice.figures.seconds[0][form] == t->summed[form], WEFT_ERR_INTERNAL, "form %d: %g s", form,
                   choice.figures.seconds[0][form]);
    }
    WEFT_CHECK(here.tries == t->tries + (here.rank == 1 ? t->alone : 0), WEFT_ERR_INTERNAL, "rank %d tried %d times",
               here.rank, here.tries);
    return WEFT_OK;
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    weft_hal *hal = NULL;
    here.table = argument;
    here.rank = comm_rank(comm);
    here.tries = 0;
    comm_set_stall_timeout(comm, 100.0);
    WEFT_TRY(comm_agree(comm, weft_hal_open("cpu", 1, &hal)));
    hal->sparse.spmm_try = fake_try;
    weft_status status = create_roles(comm, hal, argument);
    weft_hal_close(hal);
    return status;
}

static void test_one_choice(void **state)
{
    (void)state;
    static table tables[] = {
        /* Two of three took lists by themselves, the third would lose more. */
        {.seconds = {{0, 1.0, 0, 5.0}, {0, 2.0, 0, 1.5}, {0, 2.5, 0, 2.0}},
         .picked = HAL_SPMM_ROWS,
         .rounds = {2, 1, 3},
         .tries = 1,
         .alone = 1,
         .summed = {0, 5.5, 0, 8.5}},
        /* Noise on one rank does not decide. */
        {.seconds = {{0, 1.0, 0, 0.5}, {0, 1.0, 0, 0.5}, {0, 1.0, 0, 1.25}},
         .picked = HAL_SPMM_LISTS,
         .tries = 1,
         .alone = 1,
         .summed = {0, 3.0, 0, 2.25}},
        /* The quickest form of one rank was not tried by the next. */
        {.seconds = {{0, 2.0, 0.5, 3.0}, {0, 2.0, 0, 3.0}, {0, 2.0, 0.5, 3.0}},
         .picked = HAL_SPMM_ROWS,
         .tries = 1,
         .alone = 1,
         .summed = {0, 6.0, 0, 9.0}},
        /* One rank alone has edges enough. */
        {.seconds = {{0}, {0, 3.0, 2.0, 4.0}, {0}},
         .expected = {{0, 1.0, 0, 9.0}, {0, 1.0, 0, 9.0}, {0, 1.0, 0, 9.0}},
         .picked = HAL_SPMM_BLOCKS,
         .rounds = {0, 4, 0},
         .tries = 1,
         .alone = 1,
         .summed = {0, 3.0, 2.0, 4.0}},
        /* None has: the rule, of all edges together. */
        {.expected = {{0, 5.0, 0, 6.0}, {0, 5.0, 0, 6.0}, {0, 9.0, 0, 6.0}},
         .by_rule = true,
         .picked = HAL_SPMM_LISTS,
         .tries = 1,
         .alone = 1},
        /* One of two roles is named. */
        {.seconds = {{0, 1.0, 2.0, 3.0}, {0, 1.0, 2.0, 3.0}, {0, 1.0, 2.0, 3.0}},
         .letters = "b-------",
         .rounds = {3, 2, 5},
         .picked = HAL_SPMM_BLOCKS,
         .alone = 1},
        /* Named: nobody tries. */
        {.seconds = {{0, 1.0, 2.0, 3.0}, {0, 1.0, 2.0, 3.0}, {0, 1.0, 2.0, 3.0}},
         .letters = "bb------",
         .picked = HAL_SPMM_BLOCKS},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const uint64_t live = weft_mem_usage_total().current_bytes;
        ASSERT_OK(comm_thread_run(RANKS, run_rank, &tables[i]));
        assert_int_equal(weft_mem_usage_total().current_bytes, live);
    }
}

/* No rank is left waiting for one that failed, and nothing stays. */
static void test_failing_rank(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * RANKS; i++) { /* before any turn, and after its first */
        table t = {.seconds = {{0, 1.0, 0, 5.0}, {0, 1.0, 0, 5.0}, {0, 1.0, 0, 5.0}}, .fails = i / 2 + 1};
        for (int rank = 0; rank < RANKS && i % 2 == 1; rank++) {
            t.rounds[rank] = rank + 2;
        }
        const uint64_t live = weft_mem_usage_total().current_bytes;
        ASSERT_OK(comm_thread_run(RANKS, run_rank, &t));
        assert_int_equal(weft_mem_usage_total().current_bytes, live);
    }
}

/* ---- the same through an aggregator ------------------------------------------------------------------------------ */

static weft_status contradict(weft_hal *hal, const hal_csr *csr, const hal_spmm_request *request, hal_spmm_trial *trial)
{
    (void)hal, (void)csr, (void)request;
    *trial = (hal_spmm_trial){.seconds = {0}};
    trial->seconds[HAL_SPMM_ROWS] = here.rank == 0 ? 1.0 : 8.0;
    trial->seconds[HAL_SPMM_LISTS] = here.rank == 0 ? 8.0 : 1.0;
    return WEFT_OK;
}

typedef struct divided {
    test_graph graph;
    weft_partition partition;
    halo_overlap overlap;
    char forms[RANKS][GNN_FORMS + 1];
} divided;

static weft_status create_aggregator(weft_comm *comm, void *argument)
{
    divided *d = argument;
    weft_hal *hal = NULL;
    weft_part part = {0};
    gnn_aggregator a = {.hal = NULL};
    here.rank = comm_rank(comm);
    comm_set_stall_timeout(comm, 100.0);
    weft_status status = weft_hal_open("cpu", 1, &hal);
    status = status == WEFT_OK ? part_extract(&d->graph.graph, &d->partition, here.rank, NULL, PART_SHARED_FIRST, &part)
                               : status;
    status = comm_agree(comm, status);
    if (status == WEFT_OK) {
        const gnn_aggregator_options options = {.forms.max_width = WIDTH, .overlap = d->overlap};
        hal->sparse.spmm_try = contradict;
        status = gnn_aggregator_create(comm, hal, WEFT_DTYPE_F32, &part, &options, &a);
        gnn_aggregator_forms(&a, d->forms[here.rank]);
    }
    gnn_aggregator_destroy(&a);
    part_destroy(&part);
    weft_hal_close(hal);
    return status;
}

/* Whole and cut in four, of edges that go one way: both directions, all roles. */
static void test_aggregators(void **state)
{
    (void)state;
    static const struct {
        halo_overlap overlap;
        const char *forms;
    } cases[] = {{HALO_OVERLAP_OFF, "l---l---"}, {HALO_OVERLAP_ON, "llllllll"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        divided d = {.graph = test_graph_random(200, 900, false, 3), .overlap = cases[i].overlap};
        const partition_options cut = {.method = "random", .parts = RANKS, .seed = 1, .balance = 1.1, .threads = 1};
        partition_report report;
        ASSERT_OK(partition_compute(&d.graph.graph, &cut, &d.partition, &report));
        ASSERT_OK(comm_thread_run(RANKS, create_aggregator, &d));
        for (int rank = 0; rank < RANKS; rank++) {
            assert_string_equal(d.forms[rank], cases[i].forms);
        }
        partition_destroy(&d.partition);
        test_graph_free(&d.graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_choice), cmocka_unit_test(test_failing_rank),
                                       cmocka_unit_test(test_aggregators)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
