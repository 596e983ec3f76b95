/* Which ranks train a part of a trial: blocks of free neighbours; one order waits for seats; nobody is given two. */
#include "app/tune/search_crew.h"
#include "base/philox.h"
#include "support/test.h"

static desk_order numbered(int trial)
{
    return (desk_order){.trial = trial};
}

static void expect(search_crew *crew, int seat, int trial, int seats)
{
    desk_order order;
    assert_true(crew_take(crew, seat, &order));
    assert_int_equal(order.trial, trial);
    assert_int_equal(order.seats, seats);
    assert_false(crew_take(crew, seat, &order));
}

static void test_an_order_waits_for_neighbours(void **state)
{
    (void)state;
    search_crew crew;
    desk_order order;
    ASSERT_OK(crew_open(8, 4, &crew));
    crew_rest(&crew, 0);
    crew_place(&crew, 0, 1, &(desk_order){.trial = 7});
    expect(&crew, 0, 7, 1);
    crew_rest(&crew, 5);
    crew_rest(&crew, 6);
    order = numbered(8);
    crew_place(&crew, 5, 6, &order); /* 4 seats: 4 to 7, of which two are free */
    assert_true(crew_awaits(&crew, 4) && crew_awaits(&crew, 7) && !crew_awaits(&crew, 3));
    assert_false(crew_take(&crew, 5, &order));
    crew_rest(&crew, 3);
    order = numbered(9);
    crew_place(&crew, 3, 4, &order); /* another one waits already */
    expect(&crew, 3, 9, 1);
    crew_rest(&crew, 4);
    crew_rest(&crew, 7);
    for (int seat = 4; seat < 8; seat++) {
        expect(&crew, seat, 8, 4);
    }
    crew_close(&crew);
}

static void test_free_neighbours_begin_at_once(void **state)
{
    (void)state;
    search_crew crew;
    desk_order order = numbered(1);
    ASSERT_OK(crew_open(6, 2, &crew));
    for (int seat = 0; seat < 6; seat++) {
        crew_rest(&crew, seat);
    }
    crew_place(&crew, 3, 2, &order);
    expect(&crew, 0, 1, 2); /* the first block of the most free seats */
    expect(&crew, 1, 1, 2);
    order = numbered(2);
    crew_place(&crew, 3, INT64_MAX / 4, &order);
    expect(&crew, 2, 2, 2);
    expect(&crew, 3, 2, 2);
    crew_close(&crew);
}

/* Where neighbours train, a part waits for half as many seats as it could have, and one for two seats does not wait. */
static void test_an_order_waits_for_half_where_seats_train(void **state)
{
    (void)state;
    search_crew crew;
    desk_order order;
    ASSERT_OK(crew_open(4, 4, &crew));
    for (int seat = 0; seat < 4; seat++) {
        order = numbered(seat);
        crew_rest(&crew, seat);
        crew_place(&crew, seat, 1, &order);
        expect(&crew, seat, seat, 1);
    }
    order = numbered(4);
    crew_rest(&crew, 1);
    crew_place(&crew, 1, 2, &order); /* seat 0 trains */
    expect(&crew, 1, 4, 1);
    order = numbered(5);
    crew_rest(&crew, 3);
    crew_place(&crew, 3, 6, &order); /* 4 seats, of which three train: two neighbours of which one does */
    assert_true(crew_awaits(&crew, 2) && crew_awaits(&crew, 3) && !crew_awaits(&crew, 0));
    crew_rest(&crew, 2);
    expect(&crew, 2, 5, 2);
    expect(&crew, 3, 5, 2);
    order = numbered(6);
    crew_end(&crew, 5); /* seat 3 will rest as well, and is waited for */
    crew_rest(&crew, 2);
    crew_place(&crew, 2, 2, &order);
    assert_true(crew_awaits(&crew, 3));
    crew_rest(&crew, 3);
    expect(&crew, 2, 6, 2);
    expect(&crew, 3, 6, 2);
    crew_close(&crew);
}

enum { SEATS = 16, ROUNDS = 20000 };

/* Seats begin and end parts in a random order. Each order is taken by as many seats as it says, which are neighbours,
 * and when no more orders come nobody is left waiting. */
static void try_crew(int seats)
{
    search_crew crew;
    int trains[SEATS], left[ROUNDS] = {0}, block[ROUNDS], orders = 0, busy = 0;
    desk_order order;
    ASSERT_OK(crew_open(seats, 8, &crew));
    for (int i = 0; i < SEATS; i++) {
        trains[i] = -1;
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const philox_block draw = philox4x32(philox_counter(round, 0, WEFT_RNG_SEARCH, 0), 1);
        const int seat = (int)(draw.word[0] % (uint32_t)seats);
        if (trains[seat] >= 0) {
            trains[seat] = -1;
            busy--;
        }
        crew_rest(&crew, seat);
        while (!crew_take(&crew, seat, &order)) {
            if (crew_awaits(&crew, seat) || orders == ROUNDS) {
                order.seats = 0;
                break;
            }
            order = numbered(orders);
            crew_place(&crew, seat, 1 << draw.word[1] % 5, &order);
            orders++;
        }
        if (order.seats > 0) {
            const int first = seat - seat % order.seats;
            assert_true(first + order.seats <= seats);
            if (left[order.trial] == 0) {
                left[order.trial] = order.seats;
                block[order.trial] = first;
            }
            assert_int_equal(block[order.trial], first);
            left[order.trial]--;
            trains[seat] = order.trial;
            busy++;
        }
    }
    int open = 0;
    for (int i = 0; i < orders; i++) {
        open += left[i];
    }
    assert_true(orders > ROUNDS / 16 && busy <= seats && open <= seats); /* what is not taken is of the last orders */
    crew_close(&crew);
}

static void test_random_crews(void **state)
{
    (void)state;
    try_crew(SEATS);
    try_crew(13); /* the last five are no whole block of eight */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_order_waits_for_neighbours), cmocka_unit_test(test_free_neighbours_begin_at_once),
        cmocka_unit_test(test_an_order_waits_for_half_where_seats_train), cmocka_unit_test(test_random_crews)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
