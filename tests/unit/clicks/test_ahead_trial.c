/* Rows of the next batch travel in turns, and then as the faster turns had it, on all ranks alike. */
#include <time.h>

#include "clicks/model/ahead_trial.h"
#include "support/comm_run.h"
#include "support/test.h"

enum { RANKS = 3, BATCHES = (AHEAD_TURNS + 2) * AHEAD_TURN };

typedef struct course {
    bool slow[2]; /* batches take 20 ms on rank 1 without rows that travel, and with them */
    bool measures;
    bool ahead[RANKS][BATCHES];
} course;

static weft_status go(weft_comm *comm, void *argument)
{
    course *c = argument;
    const int rank = comm_rank(comm);
    ahead_trial trial = {.measures = c->measures};
    for (int i = 0; i < BATCHES; ++i) {
        bool *ahead = &c->ahead[rank][i];
        WEFT_TRY(ahead_trial_next(&trial, comm, ahead));
        const bool measured = c->measures && i < AHEAD_TURNS * AHEAD_TURN;
        if (measured && rank == 1 && c->slow[*ahead]) {
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        }
        WEFT_TRY(comm_barrier(comm));
    }
    return WEFT_OK;
}

static void check(bool slow_without, bool slow_with, bool measures, bool kept)
{
    static course c;
    c = (course){.slow = {slow_without, slow_with}, .measures = measures};
    ASSERT_OK(comm_thread_run(RANKS, go, &c));
    for (int r = 0; r < RANKS; ++r) {
        for (int i = 0; i < BATCHES; ++i) {
            const int turn = i / AHEAD_TURN;
            assert_int_equal(c.ahead[r][i], measures && turn < AHEAD_TURNS ? turn % 2 == 1 : kept);
        }
    }
}

static void test_faster_turns_win(void **state)
{
    (void)state;
    check(false, true, true, false);
    check(true, false, true, true);
}

static void test_without_trial_they_travel(void **state)
{
    (void)state;
    check(false, false, false, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faster_turns_win),
        cmocka_unit_test(test_without_trial_they_travel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
