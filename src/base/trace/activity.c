/*
 * base/trace/activity.c: a stack of running activities; time is booked to the top when the stack changes. A thread has
 * a row for each activity that it met, found by looking through them: there are few, and reading the clock costs more.
 */
#include "base/trace/activity.h"

#include <assert.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/trace/trace.h"

const weft_activity ACTIVITY_OTHER[1] = {{.text = "other"}};

static _Thread_local activity_book book;

static activity_row *row_of(const weft_activity *activity)
{
    for (int i = 0; i < book.rows; ++i) {
        if (book.row[i].activity == activity) {
            return &book.row[i].booked;
        }
    }
    assert(book.rows < ACTIVITIES_MOST);
    book.row[book.rows] = (activity_booking){.activity = activity};
    return &book.row[book.rows++].booked;
}

static const weft_activity *current(void)
{
    for (int i = 0; i < book.depth; ++i) {
        if (book.stack[i]->absorbs) {
            return book.stack[i];
        }
    }
    return book.depth > 0 ? book.stack[book.depth - 1] : ACTIVITY_OTHER;
}

static void book_time(void)
{
    double now = clock_seconds();
    if (book.last > 0) {
        row_of(current())->seconds += now - book.last;
    }
    book.last = now;
}

void activity_reset(void)
{
    book.rows = 0;
    book.depth = 0;
    book.last = clock_seconds();
}

void activity_put_aside(activity_book *outer)
{
    *outer = book;
    activity_reset();
}

void activity_take_up(const activity_book *outer)
{
    book = *outer;
}

void activity_begin(const weft_activity *activity)
{
    assert(book.depth < ACTIVITIES_DEEP);
    book_time();
    book.span_begin[book.depth] = trace_begin();
    book.stack[book.depth++] = activity;
    row_of(activity)->calls += 1;
}

void activity_end(const weft_activity *activity)
{
    assert(book.depth > 0 && book.stack[book.depth - 1] == activity);
    book_time();
    book.depth -= 1;
    trace_end(book.span_begin[book.depth], TRACE_COMPUTE, activity->text, -1);
}

activity_row activity_get(const weft_activity *activity)
{
    book_time();
    return *row_of(activity);
}

const weft_activity *activity_booked(int i)
{
    return i < book.rows ? book.row[i].activity : NULL;
}
