/*
 * What ranks send while trees grow: the core's counters beside the closed form of trees/grow/growth_work.h, of the tree
 * that was grown, to the byte and the message. Every rank is a node of its own, so nothing goes through shared memory.
 * Hessians are 1, so covers are counts of rows.
 */
#include "comm/core/layout.h"
#include "support/random.h"
#include "support/test.h"
#include "trees/grow/tree_grower.h"

enum { ROWS = 90000, COLUMNS = 7, MOST_RANKS = 8 };

static float value[COLUMNS][ROWS], gradient[ROWS];
static int32_t code[ROWS];

static void draw(void)
{
    static const int levels[COLUMNS] = {2, 9, 254, 1, 100, 3, 12}; /* one column has one value */
    uint64_t state = 3;
    for (int i = 0; i < ROWS; ++i) {
        for (int c = 0; c < COLUMNS; ++c) {
            value[c][i] = (float)floor(levels[c] * test_uniform(&state));
        }
        code[i] = (int32_t)(5.0 * test_uniform(&state));
        gradient[i] = (float)(value[1][i] > 4.0F ? 1.0 : -0.5) + value[2][i] / 300.0F +
                      (code[i] == 3 ? value[4][i] / 100.0F : 0.0F) + (float)test_uniform(&state);
    }
}

/* One tree on some ranks. */
typedef struct growing {
    tree_growth growth;
    int columns; /* behind those of numbers one of categories */
    int cells[COLUMNS + 1];
    weft_tree tree;              /* [out] of rank 0 */
    growth_work work;            /* [out] counted by rank 0 */
    comm_stats sent[MOST_RANKS]; /* [out] while it grew */
} growing;

static void add_stats(comm_stats *to, const weft_comm *comm, int sign)
{
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        const comm_stats s = comm_lane_stats(comm, (comm_lane)lane);
        to->bytes_sent += (uint64_t)sign * s.bytes_sent;
        to->messages_sent += (uint64_t)sign * s.messages_sent;
        to->shared_bytes += (uint64_t)sign * s.shared_bytes;
    }
}

static weft_status grow_rank(weft_comm *comm, void *argument)
{
    growing *g = argument;
    const int rank = comm_rank(comm), ranks = comm_size(comm);
    const int64_t first = (int64_t)ROWS * rank / ranks, rows = (int64_t)ROWS * (rank + 1) / ranks - first;
    tree_column column[COLUMNS + 1];
    int64_t *id = calloc((size_t)rows, sizeof *id);
    float *ones = calloc((size_t)rows, sizeof *ones);
    uint8_t *counts = calloc((size_t)rows, 1);
    int32_t *leaf = calloc((size_t)rows, sizeof *leaf);
    weft_hal *hal = NULL;
    tree_cuts cuts = {.columns = 0};
    tree_bins bins = {.cells = NULL};
    tree_grower *grower = NULL;
    weft_tree tree = {.node = NULL};
    weft_status status = WEFT_OK;
    for (int64_t i = 0; i < rows; ++i) {
        id[i] = first + i;
        ones[i] = 1.0F;
        counts[i] = 1;
    }
    for (int c = 0; c < COLUMNS; ++c) {
        column[c] = (tree_column){TABLE_REAL, value[c] + first};
    }
    const tree_codes codes = {.code = code + first, .codes = 5};
    column[COLUMNS] = (tree_column){TABLE_CATEGORY, &codes};
    const tree_columns data = {.rows = rows, .columns = g->columns, .column = column, .id = id};
    WEFT_TRY_GOTO(ranks > 1 ? comm_imitate_nodes(comm, 1) : WEFT_OK, status, done);
    WEFT_TRY_GOTO(weft_hal_open("cpu", 1 + rank % 2, &hal), status, done);
    WEFT_TRY_GOTO(tree_cuts_find(comm, &data, counts, 254, 1, &cuts), status, done);
    WEFT_TRY_GOTO(tree_bins_create(hal, &data, &cuts, &(tree_release){.column = NULL}, &bins), status, done);
    WEFT_TRY_GOTO(grower_create(comm, &data, &bins, &cuts, counts, &g->growth, &grower), status, done);
    add_stats(&g->sent[rank], comm, -1);
    WEFT_TRY_GOTO(grower_grow(grower, gradient + first, ones, 5, 0, &tree, leaf), status, done);
    add_stats(&g->sent[rank], comm, 1);
    if (rank == 0) {
        g->tree = tree;
        tree = (weft_tree){.node = NULL};
        g->work = *grower_work(grower);
        memcpy(g->cells, bins.cells, (size_t)g->columns * sizeof *g->cells);
    }
done:
    tree_destroy(&tree);
    grower_destroy(grower);
    tree_bins_destroy(&bins);
    tree_cuts_destroy(&cuts);
    weft_hal_close(hal);
    free(id);
    free(ones);
    free(counts);
    free(leaf);
    return status;
}

static tree_growth growth_of(int depth, int leaves, bool leaf_wise)
{
    return (tree_growth){.depth = depth,
                         .leaves = leaves,
                         .leaf_wise = leaf_wise,
                         .rate = 0.3,
                         .lambda = 1.0,
                         .min_hessian = 20.0,
                         .row_share = 1.0,
                         .column_share = 1.0,
                         .one_hot = 8};
}

static void assert_sent(const growing *g, const growth_work *work, int ranks)
{
    for (int r = 0; r < ranks; ++r) {
        const comm_cost cost = growth_cost(work, g->cells, g->columns, r, ranks);
        assert_int_equal(g->sent[r].bytes_sent, cost.bytes_sent);
        assert_int_equal(g->sent[r].messages_sent, cost.messages_sent);
        assert_int_equal(g->sent[r].shared_bytes, 0);
    }
}

static growth_work closed_form(const growing *g)
{
    growth_shape shape = {.rows = ROWS, .depth = g->growth.depth, .record_bytes = g->columns > COLUMNS ? 64 : 32};
    growth_work work = {.calls = 0};
    for (int c = 0; c < g->columns; ++c) {
        shape.cells += g->cells[c];
    }
    ASSERT_OK(growth_add_tree(&g->tree, &shape, &work));
    return work;
}

static void check(const tree_growth *growth, int columns, int least_nodes)
{
    static const int counts[] = {1, 2, 3, 4, MOST_RANKS};
    for (int i = 0; i < (TEST_RACES ? 3 : 5); ++i) {
        growing g = {.growth = *growth, .columns = columns};
        ASSERT_OK(comm_thread_run(counts[i], grow_rank, &g));
        const growth_work work = closed_form(&g);
        assert_true(g.tree.nodes >= least_nodes);
        assert_int_equal(g.work.calls, work.calls);
        assert_int_equal(g.work.call_bytes, work.call_bytes);
        assert_int_equal(g.work.scatters, work.scatters);
        assert_int_equal(g.work.numbers, work.numbers);
        assert_int_equal(g.work.built, work.built);
        assert_int_equal(g.work.scanned, work.scanned);
        assert_sent(&g, &work, counts[i]);
        tree_destroy(&g.tree);
    }
}

/* Nodes of more and of fewer rows than one number holds; children at the greatest depth have no histograms. */
static void by_levels(void **state)
{
    (void)state;
    const tree_growth growth = growth_of(6, 0, false);
    draw();
    check(&growth, COLUMNS, 50);
}

/* Best splits with their sets; fewer columns than ranks. */
static void with_categories(void **state)
{
    (void)state;
    const tree_growth growth = growth_of(4, 0, false);
    draw();
    check(&growth, COLUMNS + 1, 25);
}

/* Without a bound of leaves whatever gains is divided together. */
static void by_leaves_unbound(void **state)
{
    (void)state;
    const tree_growth growth = growth_of(5, 0, true);
    draw();
    check(&growth, COLUMNS, 50);
}

/* With a bound some nodes are divided in vain: what is sent is what the grower counts, on one rank as on many. */
static void by_leaves(void **state)
{
    (void)state;
    growing one = {.growth = growth_of(0, 60, true), .columns = COLUMNS}, many = one;
    draw();
    ASSERT_OK(comm_thread_run(1, grow_rank, &one));
    ASSERT_OK(comm_thread_run(3, grow_rank, &many));
    assert_int_equal(one.work.calls, many.work.calls);
    assert_int_equal(one.work.call_bytes, many.work.call_bytes);
    assert_int_equal(one.work.scatters, many.work.scatters);
    assert_int_equal(one.work.numbers, many.work.numbers);
    assert_sent(&many, &many.work, 3);
    tree_destroy(&one.tree);
    tree_destroy(&many.tree);
}

/* A batch that takes more than a reduce-scatter may goes in parts of whole nodes, the wide ones first. */
static void parts(void **state)
{
    (void)state;
    const int64_t cells = SCATTER_BYTES / 8 / 7; /* 7 numbers a bin fit */
    growth_work work = {.calls = 0};
    assert_int_equal(growth_scatter_most(cells), 7);
    growth_add_scatters(&work, 5, 9, cells); /* 2 2 2 | 2 2 1 1 1 | 1 1 1 1 1 1 */
    assert_int_equal(work.scatters, 3);
    assert_int_equal(work.numbers, 19);
    work = (growth_work){.calls = 0};
    growth_add_scatters(&work, 2, 3, SCATTER_BYTES); /* not even one node fits: one at a time, or two of one number */
    assert_int_equal(work.scatters, 4);
    growth_add_vector(&work, 3 * (EXCHANGE_BYTES / 8) + 1, 8);
    assert_int_equal(work.calls, 4);
    assert_int_equal(work.call_bytes, 3 * EXCHANGE_BYTES + 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_levels), cmocka_unit_test(with_categories),
                                       cmocka_unit_test(by_leaves_unbound), cmocka_unit_test(by_leaves),
                                       cmocka_unit_test(parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
