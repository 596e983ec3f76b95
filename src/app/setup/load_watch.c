/* app/setup/load_watch.c: see app/setup/load_watch.h. */
#include "app/setup/load_watch.h"

#include <unistd.h>

#include "base/clock.h"

static const double much = 0.15; /* of the CPUs */
enum { LOOK_MICROSECONDS = 100000 };

void load_watch_begin(load_watch *watch)
{
    *watch = (load_watch){.look = host_look_begin("/"), .cpu_begin = clock_cpu_seconds()};
}

double load_watch_end(load_watch *watch, const placement *plan)
{
    if (watch->look == NULL) {
        return 0.0;
    }
    const double used = clock_cpu_seconds() - watch->cpu_begin;
    const int mine = (int)getpid();
    host_load seen;
    host_look_end(watch->look, "/", &plan->mask, &mine, 1, &seen);
    watch->look = NULL;
    if (seen.seconds <= 0.0 || !plan->pinned) {
        return 0.0;
    }
    const double others = seen.busy - used / seen.seconds;
    return (others > 0.0 ? others : 0.0) + seen.stolen;
}

/* Figures that were taken while others had so much are not to be believed on a quiet machine. */
static bool is_much(double others, const placement *plan)
{
    return others >= much * cpu_set_count(&plan->mask);
}

bool load_was_theirs(double others, const placement *plan)
{
    load_watch watch;
    if (!is_much(others, plan)) {
        return false;
    }
    load_watch_begin(&watch);
    (void)usleep(LOOK_MICROSECONDS);
    return watch.look != NULL && !is_much(load_watch_end(&watch, plan), plan);
}
