/*
 * base/trace/activity.c: a stack of running activities; time is booked to the top when the stack changes. A thread has a
 * row for each activity that it met, found by looking through them: there are few, and reading the clock costs more.
 */
#include "base/trace/activity.h"

#include <assert.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/trace/trace.h"

enum { STACK_DEPTH = 16 };

const weft_activity ACTIVITY_OTHER[1] = {{.text = "other"}};

typedef struct booked_row {
    const weft_activity *activity;
    activity_row booked;
} booked_row;

static _Thread_local booked_row rows[ACTIVITIES_MOST];
static _Thread_local int used;
static _Thread_local const weft_activity *stack[STACK_DEPTH];
static _Thread_local int depth;
static _Thread_local double last;
static _Thread_local double span_begin[STACK_DEPTH]; /* for the trace */

static activity_row *row_of(const weft_activity *activity)
{
    for (int i = 0; i < used; ++i) {
        if (rows[i].activity == activity) {
            return &rows[i].booked;
        }
    }
    assert(used < ACTIVITIES_MOST);
    rows[used] = (booked_row){.activity = activity};
    return &rows[used++].booked;
}

static const weft_activity *current(void)
{
    for (int i = 0; i < depth; ++i) {
        if (stack[i]->absorbs) {
            return stack[i];
        }
    }
    return depth > 0 ? stack[depth - 1] : ACTIVITY_OTHER;
}

static void book(void)
{
    double now = clock_seconds();
    if (last > 0) {
        row_of(current())->seconds += now - last;
    }
    last = now;
}

void activity_reset(void)
{
    used = 0;
    depth = 0;
    last = clock_seconds();
}

void activity_begin(const weft_activity *activity)
{
    assert(depth < STACK_DEPTH);
    book();
    span_begin[depth] = trace_begin();
    stack[depth++] = activity;
    row_of(activity)->calls += 1;
}

void activity_end(const weft_activity *activity)
{
    assert(depth > 0 && stack[depth - 1] == activity);
    book();
    depth -= 1;
    trace_end(span_begin[depth], TRACE_COMPUTE, activity->text, -1);
}

activity_row activity_get(const weft_activity *activity)
{
    book();
    return *row_of(activity);
}

const weft_activity *activity_booked(int i)
{
    return i < used ? rows[i].activity : NULL;
}
