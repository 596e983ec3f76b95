/* train/second/second_place.c: see train/second/second_place.h. */
#include "train/second/second_place.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"

bool second_place_parse(const char *text, second_place *place)
{
    static const char *const words[] = {SECOND_PLACES(CHOICE_NAME)};
    const size_t length = strcspn(text, ":");
    int kind = 0;
    while (kind <= SECOND_PLACE_AUTO && (strlen(words[kind]) != length || strncmp(text, words[kind], length) != 0)) {
        kind += 1;
    }
    *place = (second_place){.kind = (second_place_kind)kind, .share = 0.5};
    if (kind > SECOND_PLACE_AUTO || text[length] == '\0') {
        return kind <= SECOND_PLACE_AUTO;
    }
    return kind == SECOND_PLACE_HYBRID && number_parse_real(text + length + 1, &place->share) && place->share > 0.0 &&
           place->share < 1.0;
}

int second_place_workers(const second_place *place, int ranks)
{
    assert(place->kind != SECOND_PLACE_AUTO && ranks >= 1);
    if (ranks == 1 || place->kind == SECOND_PLACE_EVERYWHERE) {
        return 0;
    }
    if (place->kind == SECOND_PLACE_COMM_OPT) {
        return ranks;
    }
    int workers = 1;
    for (int n = 2; place->kind == SECOND_PLACE_HYBRID && n <= place->share * ranks; ++n) {
        workers = ranks % n == 0 ? n : workers;
    }
    return workers;
}

static double work_of(const second_task *task)
{
    return task->invert[SECOND_IN] + task->invert[SECOND_OUT] + task->turn;
}

/* The first of load[0], load[stride], ... with the least work. */
static int least_of(const double *load, int count, int stride)
{
    int least = 0;
    for (int i = 1; i < count; ++i) {
        least = load[i * stride] < load[least * stride] ? i : least;
    }
    return least;
}

/* load[g * workers] is the work of group g meanwhile. */
static void assign_groups(int groups, int workers, second_task *task, int tasks, double *load)
{
    for (int i = 0; i < tasks; ++i) {
        task[i].group = -1;
    }
    for (int done = 0; done < tasks; ++done) {
        int next = -1;
        for (int i = 0; i < tasks; ++i) {
            if (task[i].group < 0 && (next < 0 || work_of(&task[i]) > work_of(&task[next]))) {
                next = i;
            }
        }
        task[next].group = least_of(load, groups, workers);
        load[task[next].group * workers] += work_of(&task[next]);
    }
}

/* The sides of a group's layers, among its ranks, each of which turns all of its layers. */
static void assign_owners(int workers, int group, second_task *task, int tasks, double *load)
{
    for (int i = 0; i < SECOND_SIDES * tasks; ++i) {
        second_task *one = &task[i / SECOND_SIDES];
        if (one->group == group) {
            one->owner[i % SECOND_SIDES] = -1;
        }
    }
    for (;;) {
        int next = -1;
        double most = 0.0;
        for (int i = 0; i < SECOND_SIDES * tasks; ++i) {
            const second_task *one = &task[i / SECOND_SIDES];
            const double work = one->invert[i % SECOND_SIDES];
            if (one->group == group && one->owner[i % SECOND_SIDES] < 0 && (next < 0 || work > most)) {
                next = i;
                most = work;
            }
        }
        if (next < 0) {
            return;
        }
        const int rank = group * workers + least_of(load + (long)group * workers, workers, 1);
        task[next / SECOND_SIDES].owner[next % SECOND_SIDES] = rank;
        load[rank] += most;
    }
}

void second_place_assign(int ranks, int workers, second_task *task, int tasks, double *load)
{
    assert(workers >= 1 && ranks % workers == 0);
    const int groups = ranks / workers;
    memset(load, 0, (size_t)ranks * sizeof *load);
    assign_groups(groups, workers, task, tasks, load);
    memset(load, 0, (size_t)ranks * sizeof *load);
    for (int g = 0; g < groups; ++g) {
        assign_owners(workers, g, task, tasks, load);
    }
    for (int i = 0; i < tasks; ++i) {
        for (int r = 0; r < workers; ++r) {
            load[task[i].group * workers + r] += task[i].turn;
        }
    }
}
