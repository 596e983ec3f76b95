/*
 * Shared sums in another order are the same sums: columns and rows are permuted, levels still read lower levels, each
 * row comes to its own columns, and rows of a community stand together.
 */
#include <stdlib.h>

#include "hal/cpu/sparse/share_order.h"
#include "support/graphs.h"
#include "support/test.h"

enum { GROUPS = 6, MEMBERS = 90, POSTS = GROUPS * MEMBERS, USERS = 40 };

static int64_t group_of(int64_t post)
{
    return post % GROUPS;
}

/* Users of each community comment on posts of theirs, and sometimes of another one. */
static test_graph forum(void)
{
    test_edges edges = {0};
    uint64_t state = 3;
    for (int user = 0; user < GROUPS * USERS; ++user) {
        int64_t post[24];
        for (int i = 0; i < 24; ++i) {
            const bool away = i == 23 && user % 4 == 0;
            const int64_t group = away ? (int64_t)(test_random(&state) % GROUPS) : user % GROUPS;
            post[i] = test_random(&state) % MEMBERS * GROUPS + group;
        }
        for (int i = 0; i < 24; ++i) {
            for (int j = 0; j < 24; ++j) {
                if (post[i] != post[j]) {
                    test_edge(&edges, post[i], post[j]);
                }
            }
        }
    }
    return test_graph_build(POSTS, &edges, true, false);
}

static void add_columns(const hal_shared_rows *m, const int32_t *source, int64_t row, int times, int *count)
{
    for (int64_t e = m->plus_start[row]; e < m->plus_start[row + 1]; ++e) {
        if (m->plus[e] < m->sources) {
            count[source[m->plus[e]]] += times;
        } else {
            assert_true(row >= m->sums || m->plus[e] - m->sources < row);
            add_columns(m, source, m->plus[e] - m->sources, times, count);
        }
    }
    for (int64_t e = m->minus_start[row]; e < m->minus_start[row + 1]; ++e) {
        assert_true(row >= m->sums || m->minus[e] < m->sources);
        if (m->minus[e] < m->sources) {
            count[source[m->minus[e]]] -= times;
        } else {
            add_columns(m, source, m->minus[e] - m->sources, -times, count);
        }
    }
}

static void check_rows(const weft_graph *g, const hal_shared_rows *m, const int32_t *source, const int32_t *target)
{
    for (int64_t i = 0; i < POSTS; ++i) {
        int count[POSTS] = {0};
        add_columns(m, source, m->sums + i, 1, count);
        for (int64_t e = g->offset[target[i]]; e < g->offset[target[i] + 1]; ++e) {
            --count[g->source32[e]];
        }
        for (int c = 0; c < POSTS; ++c) {
            assert_int_equal(count[c], 0);
        }
    }
}

static void check_permutation(const int32_t *order)
{
    int seen[POSTS] = {0};
    for (int i = 0; i < POSTS; ++i) {
        assert_true(order[i] >= 0 && order[i] < POSTS && seen[order[i]]++ == 0);
    }
}

/* Neighbours in the order that are of one community: all but the borders, where every sixth would be by chance. */
static int together(const int32_t *order)
{
    int count = 0;
    for (int i = 1; i < POSTS; ++i) {
        count += group_of(order[i]) == group_of(order[i - 1]);
    }
    return count;
}

static void test_order(void **state)
{
    (void)state;
    test_graph graph = forum();
    const hal_csr csr = {.rows = POSTS, .cols = POSTS, .offset = graph.offset, .column = graph.source};
    int32_t source[POSTS], target[POSTS];
    hal_shared_rows m;
    ASSERT_OK(hal_share_find(&csr, true, 2, NULL, &m));
    assert_true(m.sums > 10 && m.levels >= 2);
    const int64_t reads = m.plus_start[m.sums + POSTS] + m.minus_start[m.sums + POSTS];
    ASSERT_OK(share_rows_order(&m, source, target));
    assert_int_equal(m.plus_start[m.sums + POSTS] + m.minus_start[m.sums + POSTS], reads);
    check_permutation(source);
    check_permutation(target);
    check_rows(&graph.graph, &m, source, target);
    assert_true(10 * together(source) > 8 * POSTS && 10 * together(target) > 8 * POSTS);
    hal_shared_rows_free(&m);
    test_graph_free(&graph);
}

/* Rows and columns without entries have places too. */
static void test_empty(void **state)
{
    (void)state;
    const int64_t offset[] = {0, 0, 2, 2};
    const int32_t column[] = {0, 3};
    const hal_csr csr = {.rows = 3, .cols = 5, .offset = offset, .column = column};
    int32_t source[5], target[3];
    hal_shared_rows m;
    ASSERT_OK(hal_share_find(&csr, true, 1, NULL, &m));
    ASSERT_OK(share_rows_order(&m, source, target));
    assert_int_equal(m.sums, 0);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(m.plus_start[i + 1] - m.plus_start[i], target[i] == 1 ? 2 : 0);
    }
    hal_shared_rows_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_empty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
