/*
 * app/tune/search_crew.h: which ranks train the next part of a trial.
 *
 * A seat is the ranks that train the first part of a trial together, one or several. A part that is longer is given to
 * 2, 4, 8, ... seats, which begin it when all of them are free. They are neighbours: `count` seats from a multiple of
 * `count`, so that seats of one part share a node where the smaller groups do.
 *
 *     crew_rest(&crew, seat)                          the seat is free
 *     crew_place(&crew, seat, 4, &order)              an order that the free seat asked for, for 4 seats
 *     crew_take(&crew, seat, &order)                  what the seat trains now; false: nothing yet
 *     crew_end(&crew, trial)                          the seats of this trial train no more, and will rest
 *
 * One order at a time waits for its seats, those of which the fewest train. Where one of them trains it waits for half
 * as many seats as it is to have, since a rank that waits is idle: an order for two seats then is given to one. An
 * order that cannot wait is given to the free seats around the one that asked. Nobody is held up for ever, since the
 * seats that are waited for only train.
 */
#pragma once

#include "app/tune/search_desk.h"

typedef struct crew_seat {
    bool free, given;
    bool trains;      /* it took its order and has not rested, nor has crew_end been called for the trial */
    desk_order order; /* where given, or trained */
} crew_seat;

typedef struct search_crew {
    crew_seat *seat; /* [seats] */
    int seats;
    int most;         /* seats that train one part, a power of two; the last seats may be fewer */
    desk_order order; /* that waits for seats [first, first + order.seats); order.seats 0: none does */
    int first;
} search_crew;

/* most: a power of two, at most seats. Seats behind the last whole group of a size train smaller parts. Free with
 * crew_close, also after a failure. */
weft_status crew_open(int seats, int most, search_crew *crew);
void crew_close(search_crew *crew);
void crew_rest(search_crew *crew, int seat);
/* count: seats that the order is to have; it gets up to as many, at least 1. seat: a free one, awaited by nobody. */
void crew_place(search_crew *crew, int seat, int64_t count, const desk_order *order);
/* [out] order: with its number of seats. */
bool crew_take(search_crew *crew, int seat, desk_order *order);
/* To be called before any seat of the trial rests, so that an order may wait for all of them. */
void crew_end(search_crew *crew, int trial);
/* Returns true if an order waits until this seat and others are free. */
bool crew_awaits(const search_crew *crew, int seat);
