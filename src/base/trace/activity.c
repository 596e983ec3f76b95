/*
 * base/trace/activity.c: a stack of running activities; time is booked to the top when the stack changes. Preparation and
 * evaluation absorb what runs inside them, so that the other rows tell what a training step costs.
 */
#include "base/trace/activity.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/trace/trace.h"

enum { STACK_DEPTH = 16 };

static _Thread_local activity_row rows[ACTIVITY_COUNT];
static _Thread_local weft_activity stack[STACK_DEPTH];
static _Thread_local int depth;
static _Thread_local double last;
static _Thread_local double span_begin[STACK_DEPTH]; /* for the trace */

static const char *const texts[ACTIVITY_COUNT] = {
#define ACTIVITY_TEXT(name, text) text,
    WEFT_ACTIVITY_LIST(ACTIVITY_TEXT)
#undef ACTIVITY_TEXT
};

static bool absorbs(weft_activity activity)
{
    return activity == ACTIVITY_PREPARE || activity == ACTIVITY_EVALUATE;
}

static weft_activity current(void)
{
    for (int i = 0; i < depth; ++i) {
        if (absorbs(stack[i])) {
            return stack[i];
        }
    }
    return depth > 0 ? stack[depth - 1] : ACTIVITY_OTHER;
}

static void book(void)
{
    double now = clock_seconds();
    weft_activity top = current();
    if (last > 0) {
        rows[top].seconds += now - last;
    }
    last = now;
}

void activity_reset(void)
{
    memset(rows, 0, sizeof rows);
    depth = 0;
    last = clock_seconds();
}

void activity_begin(weft_activity activity)
{
    assert(depth < STACK_DEPTH);
    book();
    span_begin[depth] = trace_begin();
    stack[depth++] = activity;
    rows[activity].calls += 1;
}

void activity_end(weft_activity activity)
{
    assert(depth > 0 && stack[depth - 1] == activity);
    book();
    depth -= 1;
    trace_end(span_begin[depth], TRACE_COMPUTE, texts[activity], -1);
}

activity_row activity_get(weft_activity activity)
{
    book();
    return rows[activity];
}

const char *activity_text(weft_activity activity)
{
    return activity < ACTIVITY_COUNT ? texts[activity] : "unknown";
}
