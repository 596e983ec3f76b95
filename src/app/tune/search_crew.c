/* app/tune/search_crew.c: see app/tune/search_crew.h. */
#include "app/tune/search_crew.h"

#include <assert.h>

weft_status crew_open(int seats, int most, search_crew *crew)
{
    assert(most >= 1 && most <= seats);
    *crew = (search_crew){.seats = seats, .most = most};
    return WEFT_NEW_ZERO(&crew->seat, seats, WEFT_MEM_SEARCH);
}

void crew_close(search_crew *crew)
{
    weft_free(crew->seat);
    *crew = (search_crew){.seats = 0};
}

static int count_free(const search_crew *crew, int first, int count)
{
    int found = 0;
    for (int i = first; i < first + count; ++i) {
        found += crew->seat[i].free;
    }
    return found;
}

static void give(search_crew *crew, int first, int count, desk_order order)
{
    order.seats = count;
    for (int i = first; i < first + count; ++i) {
        assert(crew->seat[i].free && !crew->seat[i].given);
        crew->seat[i] = (crew_seat){.given = true, .order = order};
    }
}

bool crew_awaits(const search_crew *crew, int seat)
{
    return crew->order.seats > 0 && seat >= crew->first && seat < crew->first + crew->order.seats;
}

void crew_end(search_crew *crew, int trial)
{
    for (int i = 0; i < crew->seats; ++i) {
        crew->seat[i].trains = crew->seat[i].trains && crew->seat[i].order.trial != trial;
    }
}

void crew_rest(search_crew *crew, int seat)
{
    crew->seat[seat].trains = false;
    crew->seat[seat].free = !crew->seat[seat].given;
    const int count = crew->order.seats;
    if (crew_awaits(crew, seat) && count_free(crew, crew->first, count) == count) {
        crew->order.seats = 0;
        give(crew, crew->first, count, crew->order);
    }
}

/* Seats that train, or will as soon as they take what they were given. */
static int count_busy(const search_crew *crew, int first, int count)
{
    int found = 0;
    for (int i = first; i < first + count; ++i) {
        found += crew->seat[i].given || crew->seat[i].trains;
    }
    return found;
}

/* The block of `count` seats of which the fewest are busy, the first of equal ones. */
static int find_block(const search_crew *crew, int count)
{
    int best = 0, least = crew->seats + 1;
    for (int first = 0; first + count <= crew->seats; first += count) {
        const int found = count_busy(crew, first, count);
        if (found < least) {
            best = first;
            least = found;
        }
    }
    return best;
}

/* Returns true if all of them are there and free, and no order waits for one of them. */
static bool are_free(const search_crew *crew, int first, int count)
{
    if (first + count > crew->seats) {
        return false;
    }
    for (int i = first; i < first + count; ++i) {
        if (!crew->seat[i].free || crew_awaits(crew, i)) {
            return false;
        }
    }
    return true;
}

/* The largest block of free seats, of up to `count`, that has this one. */
static void give_around(search_crew *crew, int seat, int count, const desk_order *order)
{
    while (count > 1 && !are_free(crew, seat - seat % count, count)) {
        count /= 2;
    }
    give(crew, seat - seat % count, count, *order);
}

/* The largest power of two of up to `count` seats that a part may have. */
static int power_of(const search_crew *crew, int64_t count)
{
    int seats = 1;
    while (seats < crew->most && 2 * (int64_t)seats <= count) {
        seats *= 2;
    }
    return seats;
}

/* The order begins when seats [first, first + count) are free. */
static void give_or_wait(search_crew *crew, int first, int count, const desk_order *order)
{
    if (count_free(crew, first, count) == count) {
        give(crew, first, count, *order);
        return;
    }
    crew->order = *order;
    crew->order.seats = count;
    crew->first = first;
}

void crew_place(search_crew *crew, int seat, int64_t count, const desk_order *order)
{
    const int most = power_of(crew, count);
    const int seats = count_busy(crew, find_block(crew, most), most) == 0 ? most : power_of(crew, count / 2);
    assert(crew->seat[seat].free && !crew_awaits(crew, seat));
    if (seats == 1 || crew->order.seats > 0) {
        give_around(crew, seat, most, order);
    } else {
        give_or_wait(crew, find_block(crew, seats), seats, order);
    }
}

bool crew_take(search_crew *crew, int seat, desk_order *order)
{
    if (!crew->seat[seat].given) {
        return false;
    }
    *order = crew->seat[seat].order;
    crew->seat[seat] = (crew_seat){.trains = true, .order = *order};
    return true;
}
