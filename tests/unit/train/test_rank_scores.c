/* Mean reciprocal rank and hits of positives among negatives against their definition, with ties, own and shared
 * negatives, on 1, 2 and 5 ranks, of which one has no row. */
#include <math.h>

#include "support/test.h"
#include "train/model.h"
#include "train/score/rank_scores.h"

enum { GROUPS = 60, NEGATIVES = 4, ROWS = GROUPS * (1 + NEGATIVES) };

typedef struct rank_case {
    float score[ROWS];
    uint8_t mark[ROWS];
    uint64_t group[ROWS];
    bool grouped;
    int hits_at;
    double told[TRAIN_SPLITS];
} rank_case;

/* A group is a positive and its negatives; few scores, so that many are equal. Group g is of split g % 4, 3: none. */
static void fill(rank_case *c)
{
    for (int i = 0; i < ROWS; ++i) {
        const int group = i / (1 + NEGATIVES);
        c->score[i] = (float)((i * 7919 + group * 104729) % 13);
        c->mark[i] = (uint8_t)((group % 4) << 1 | (i % (1 + NEGATIVES) == 0));
        c->group[i] = (uint64_t)group;
    }
}

static bool is_positive(const rank_case *c, int i)
{
    return (c->mark[i] & 1) != 0;
}

static double expected(const rank_case *c, int split)
{
    double sum = 0.0, positives = 0.0;
    for (int p = 0; p < ROWS; ++p) {
        int above = 0, equal = 0, not_below = 0, all = 0;
        if (!is_positive(c, p) || c->mark[p] >> 1 != split) {
            continue;
        }
        for (int i = 0; i < ROWS; ++i) {
            const bool against =
                !is_positive(c, i) && c->mark[i] >> 1 == split && (!c->grouped || c->group[i] == c->group[p]);
            above += against && c->score[i] > c->score[p];
            equal += against && c->score[i] == c->score[p];
            not_below += against && c->score[i] >= c->score[p];
            all += against;
        }
        const double rank = 1.0 + above + 0.5 * equal;
        const bool hit = c->grouped ? rank <= c->hits_at : all < c->hits_at || not_below < c->hits_at;
        sum += c->hits_at == 0 ? 1.0 / rank : hit ? 1.0 : 0.0;
        positives += 1.0;
    }
    return sum / positives;
}

/* Rank r of several has the groups from GROUPS r^2 / P^2 on: the first has few or none. */
static int group_of(int rank, int size)
{
    return GROUPS * rank * rank / (size * size) / 4 * 4;
}

static weft_status score_rank(weft_comm *comm, void *argument)
{
    rank_case *c = argument;
    const int rank = comm_rank(comm), size = comm_size(comm);
    const int begin = (1 + NEGATIVES) * group_of(rank, size);
    const int end = rank + 1 == size ? ROWS : (1 + NEGATIVES) * group_of(rank + 1, size);
    double told[TRAIN_SPLITS];
    const ranked_answers rows = {.rows = end - begin,
                                 .score = c->score + begin,
                                 .mark = c->mark + begin,
                                 .group = c->grouped && end > begin ? c->group + begin : NULL,
                                 .hits_at = c->hits_at};
    WEFT_TRY(rank_scores(comm, &rows, told));
    if (rank == 0) {
        memcpy(c->told, told, sizeof told);
    }
    return WEFT_OK;
}

static void test_scores_are_their_definition(void **state)
{
    (void)state;
    static const int ranks[] = {1, 2, 5}, places[] = {0, 1, 2, 3, 20, 1000};
    for (int grouped = 0; grouped < 2; ++grouped) {
        for (size_t k = 0; k < sizeof places / sizeof *places; ++k) {
            rank_case c = {.grouped = grouped != 0, .hits_at = places[k]};
            fill(&c);
            for (size_t r = 0; r < sizeof ranks / sizeof *ranks; ++r) {
                ASSERT_OK(comm_thread_run(ranks[r], score_rank, &c));
                for (int s = 0; s < TRAIN_SPLITS; ++s) {
                    assert_true(fabs(c.told[s] - expected(&c, s)) < 1e-12);
                }
            }
        }
    }
}

static void test_a_split_without_negatives_has_no_score(void **state)
{
    (void)state;
    rank_case c = {.grouped = false};
    fill(&c);
    for (int i = 0; i < ROWS; ++i) {
        c.mark[i] |= c.mark[i] >> 1 == 1; /* all of the second split are positive */
    }
    ASSERT_OK(comm_thread_run(2, score_rank, &c));
    assert_true(isnan(c.told[1]) && !isnan(c.told[0]) && !isnan(c.told[2]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scores_are_their_definition),
                                       cmocka_unit_test(test_a_split_without_negatives_has_no_score)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
