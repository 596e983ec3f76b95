/*
 * comm/core/progress_watch.c: the watchdog over what is posted.
 *
 * Whoever drives looks here while nothing moves. An operation that stands still for the stall timeout spoils the
 * engine. Ranks begin to wait at different times, so the first to give up calls the others (comm/core/inquest.h), and
 * who stands still as well gives up at once: all that can answer are heard within a moment, and the job ends after one
 * timeout, not after one for every rank in a row.
 *
 * Time in which nobody drove (a rank that computed, or was stopped for a while) does not count.
 */
#include <stdio.h>

#include "base/clock.h"
#include "comm/core/comm_internal.h"
#include "comm/core/progress_internal.h"

/* Waits of an epoch are over before the first question; a rank that gave up listens for longer than both together. */
static const double call_after_s = 0.2;
static const double call_every_s = 0.05;

void progress_set_stall_timeout(comm_progress *engine, double seconds)
{
    atomic_store_explicit(&engine->stall_seconds, seconds, memory_order_relaxed);
}

double progress_stall_timeout(comm_progress *engine)
{
    return atomic_load_explicit(&engine->stall_seconds, memory_order_relaxed);
}

double progress_still_seconds(const comm_progress *engine)
{
    return engine->still_since > 0.0 ? clock_seconds() - engine->still_since : 0.0;
}

void progress_set_called(comm_progress *engine, transport *t)
{
    engine->called = t;
}

/* Everything that is posted ends with it: to wait for each in turn would only put off the end. */
static void engine_stalled(comm_progress *engine, const comm_operation *op, double now, bool called)
{
    char place[OPERATION_MESSAGE_BYTES];
    op->describe(op, place, sizeof place);
    weft_fail(WEFT_ERR_STALL, "no progress for %.3g s%s: rank %d, lane %s, %s, %s", now - op->still_since,
              called ? ", and another rank gave up" : "", comm_rank(op->comm), comm_lane_name(op->lane), op->name,
              place);
    engine->still_since = op->still_since;
    char message[OPERATION_MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s", weft_error_message());
    engine_fail(engine, WEFT_ERR_STALL, message);
}

/* Notes which operations moved; the one that has stood still for longest, or NULL. unwatched: seconds in which nobody
 * drove, which do not count. */
static const comm_operation *longest_still(comm_progress *engine, double now, double unwatched)
{
    const comm_operation *longest = NULL;
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        for (comm_operation *op = engine->lane[lane].first; op != NULL; op = op->next) {
            if (op->moved || op->still_since <= 0.0) {
                op->moved = false;
                op->still_since = now;
            } else {
                op->still_since += unwatched;
                longest = longest == NULL || op->still_since < longest->still_since ? op : longest;
            }
        }
    }
    return longest;
}

/* Whether another rank gave up; asked now and then, and only by those who stand still themselves. */
static bool engine_called(comm_progress *engine, double still, double now)
{
    if (engine->called == NULL || still < call_after_s || now - engine->asked_at < call_every_s) {
        return false;
    }
    engine->asked_at = now;
    return engine->called->ops->called(engine->called, COMM_LANE_ALARM);
}

void engine_watch(comm_progress *engine)
{
    double limit = progress_stall_timeout(engine);
    if (limit <= 0.0) {
        return;
    }
    double now = clock_seconds();
    double gap = now - engine->looked_at;
    engine->looked_at = now;
    const comm_operation *op = longest_still(engine, now, gap > limit / 4.0 ? gap : 0.0);
    if (op == NULL) {
        return;
    }
    bool called = engine_called(engine, now - op->still_since, now);
    if (called || now - op->still_since > limit) {
        engine_stalled(engine, op, now, called);
    }
}
