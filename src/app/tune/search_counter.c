/* app/tune/search_counter.c: see app/tune/search_counter.h. */
#include "app/tune/search_counter.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { WAIT_SECONDS = 5 /* less than ranks have patience for each other */ };

weft_status counter_open(search_desk *desk, int seats, int most, search_counter *counter)
{
    *counter = (search_counter){.desk = desk};
    (void)pthread_mutex_init(&counter->mutex, NULL);
    (void)pthread_cond_init(&counter->news, NULL);
    (void)pthread_cond_init(&counter->disk, NULL);
    return crew_open(seats, most, &counter->crew);
}

void counter_close(search_counter *counter)
{
    (void)pthread_mutex_destroy(&counter->mutex);
    (void)pthread_cond_destroy(&counter->news);
    (void)pthread_cond_destroy(&counter->disk);
    crew_close(&counter->crew);
}

weft_status counter_failed(const search_counter *counter)
{
    return counter->failed == WEFT_OK ? WEFT_OK : weft_fail(counter->failed, "%s", counter->words);
}

void counter_hold(search_counter *counter)
{
    (void)pthread_mutex_lock(&counter->mutex);
}

void counter_release(search_counter *counter)
{
    (void)pthread_mutex_unlock(&counter->mutex);
}

/* Keeps the first failure and wakes every seat that waits for work or for the disk. */
static weft_status note(search_counter *counter, weft_status status)
{
    if (status != WEFT_OK && counter->failed == WEFT_OK) {
        counter->failed = status;
        (void)snprintf(counter->words, sizeof counter->words, "%s", weft_error_message());
        (void)pthread_cond_broadcast(&counter->news);
        (void)pthread_cond_broadcast(&counter->disk);
    }
    return status;
}

/* ---- the journal ------------------------------------------------------------------------------------------------- */

/* Waits for the disk in the place of all that wait now. */
static weft_status sync_for_all(search_counter *counter)
{
    journal *j = counter->desk->journal;
    WEFT_TRY(journal_write(j));
    const int64_t written = journal_lines(j);
    counter->syncing = true;
    (void)pthread_mutex_unlock(&counter->mutex);
    const weft_status status = journal_sync(j);
    (void)pthread_mutex_lock(&counter->mutex);
    counter->syncing = false;
    counter->synced = status == WEFT_OK ? written : counter->synced;
    (void)pthread_cond_broadcast(&counter->disk);
    return status;
}

/* All lines so far are on the disk. Others may be answered meanwhile. */
static weft_status commit(search_counter *counter)
{
    const int64_t lines = journal_lines(counter->desk->journal);
    while (counter->synced < lines && counter->failed == WEFT_OK) {
        if (counter->syncing) {
            (void)pthread_cond_wait(&counter->disk, &counter->mutex);
        } else {
            WEFT_TRY(note(counter, sync_for_all(counter)));
        }
    }
    return counter_failed(counter);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* A part that is so many times as long as the first one is for as many seats. */
static int64_t seats_for(const search_counter *counter, const desk_order *order)
{
    return (order->until - order->from) / desk_first_part(counter->desk);
}

/* Asks the desk until the seat has work, or there is none for it now: then the order is over, or it waits. */
static weft_status find_work(search_counter *counter, int seat, desk_order *order)
{
    *order = (desk_order){.waits = true};
    crew_rest(&counter->crew, seat);
    while (!crew_take(&counter->crew, seat, order) && !crew_awaits(&counter->crew, seat)) {
        desk_order next;
        WEFT_TRY(note(counter, desk_next(counter->desk, &next)));
        if (next.over || next.waits) {
            *order = next;
            return WEFT_OK;
        }
        crew_place(&counter->crew, seat, seats_for(counter, &next), &next);
    }
    if (order->seats > 1) {
        (void)pthread_cond_broadcast(&counter->news); /* the other seats */
    }
    return WEFT_OK;
}

static weft_status next_within(search_counter *counter, int seat, bool leaves, desk_order *order)
{
    struct timespec until;
    bool late = false;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_SECONDS;
    while (true) {
        WEFT_TRY(counter_failed(counter));
        if (leaves || counter->ends) {
            counter->ends = true;
            order->over = !crew_take(&counter->crew, seat, order);
            (void)pthread_cond_broadcast(&counter->news);
            return WEFT_OK;
        }
        WEFT_TRY(find_work(counter, seat, order));
        if (!order->waits || late) {
            return WEFT_OK;
        }
        late = pthread_cond_timedwait(&counter->news, &counter->mutex, &until) != 0;
    }
}

weft_status counter_next(search_counter *counter, int seat, bool leaves, desk_order *order, double *values)
{
    const search_desk *desk = counter->desk;
    *order = (desk_order){.over = false};
    (void)pthread_mutex_lock(&counter->mutex);
    weft_status status = next_within(counter, seat, leaves, order);
    if (status == WEFT_OK && !order->over && !order->waits) {
        memcpy(values, desk->trial[order->trial].values, (size_t)desk->space->count * sizeof *values);
        status = commit(counter);
    }
    (void)pthread_mutex_unlock(&counter->mutex);
    return status;
}

/* A trial that pauses or stops writes a checkpoint, or removes it, so its line comes first. One that was trained to the
 * end has nothing left to do for this search, and its line waits for the next commit: without it the last epochs are
 * trained once more, with the same score. */
weft_status counter_report(search_counter *counter, const desk_news *news, bool *stops)
{
    (void)pthread_mutex_lock(&counter->mutex);
    weft_status status = counter_failed(counter);
    status = status == WEFT_OK ? note(counter, desk_report(counter->desk, news, stops)) : status;
    if (status == WEFT_OK && *stops && sched_trial_at(counter->desk->sched, news->trial)->state != SCHED_COMPLETED) {
        status = commit(counter);
    }
    (void)pthread_cond_broadcast(&counter->news);
    (void)pthread_mutex_unlock(&counter->mutex);
    return status;
}

/* The next commit, or the end of the search, brings the line to the disk: without it seconds are lost, or a trial that
 * failed fails once more. */
weft_status counter_end(search_counter *counter, const desk_ended *ended, const char *failed)
{
    (void)pthread_mutex_lock(&counter->mutex);
    weft_status status = counter_failed(counter);
    status = status == WEFT_OK ? note(counter, desk_end(counter->desk, ended, failed)) : status;
    crew_end(&counter->crew, ended->trial);
    (void)pthread_cond_broadcast(&counter->news);
    (void)pthread_mutex_unlock(&counter->mutex);
    return status;
}
