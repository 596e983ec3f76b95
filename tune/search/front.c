/* tune/search/front.c: see tune/search/front.h. */
#include "tune/search/front.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static bool beats(const double *a, const double *b, int objectives)
{
    bool better = false;
    for (int k = 0; k < objectives; k++) {
        if (a[k] > b[k]) {
            return false;
        }
        better = better || a[k] < b[k];
    }
    return better;
}

/* Returns true if a point that has no rank yet, or has this one, beats point i. */
static bool is_beaten(const double *points, int count, int objectives, const int *rank, int level, int i)
{
    for (int j = 0; j < count; j++) {
        if ((rank[j] < 0 || rank[j] == level) &&
            beats(points + (int64_t)j * objectives, points + (int64_t)i * objectives, objectives)) {
            return true;
        }
    }
    return false;
}

void front_ranks(const double *points, int count, int objectives, int *rank)
{
    int left = count;
    for (int i = 0; i < count; i++) {
        rank[i] = -1;
    }
    for (int level = 0; left > 0; level++) {
        for (int i = 0; i < count; i++) {
            if (rank[i] < 0 && !is_beaten(points, count, objectives, rank, level, i)) {
                rank[i] = level;
                left--;
            }
        }
    }
}

/* ---- volume ------------------------------------------------------------------------------------------------------ */

typedef struct front_point {
    double at[OBJECTIVES_MOST];
} front_point;

static int compare_at(const front_point *a, const front_point *b, int k)
{
    return (a->at[k] > b->at[k]) - (a->at[k] < b->at[k]);
}

static int by_first(const void *a, const void *b)
{
    return compare_at(a, b, 0);
}

static int by_second(const void *a, const void *b)
{
    return compare_at(a, b, 1);
}

static int by_third(const void *a, const void *b)
{
    return compare_at(a, b, 2);
}

static int by_fourth(const void *a, const void *b)
{
    return compare_at(a, b, 3);
}

/* The volume over the first `objectives` coordinates. room: scratch of `count` points for each objective. */
static double volume_below(front_point *point, int count, int objectives, const double *reference, front_point *room)
{
    static int (*const order[OBJECTIVES_MOST])(const void *, const void *) = {by_first, by_second, by_third, by_fourth};
    const int last = objectives - 1;
    double sum = 0.0;
    if (count == 0) {
        return 0.0;
    }
    qsort(point, (size_t)count, sizeof *point, order[last]);
    if (last == 0) {
        return reference[0] - point[0].at[0];
    }
    /* Between two neighbours along the last objective the slice is what the points up to there dominate. */
    for (int i = 0; i < count; i++) {
        const double height = (i + 1 < count ? point[i + 1].at[last] : reference[last]) - point[i].at[last];
        if (height > 0.0) {
            memcpy(room, point, ((size_t)i + 1) * sizeof *point);
            sum += height * volume_below(room, i + 1, last, reference, room + count);
        }
    }
    return sum;
}

weft_status front_volume(const double *points, int count, int objectives, const double *reference, double *volume)
{
    assert(objectives >= 1 && objectives <= OBJECTIVES_MOST);
    front_point *point = NULL;
    int inside = 0;
    *volume = 0.0;
    WEFT_TRY(WEFT_NEW(&point, ((size_t)count + 1) * OBJECTIVES_MOST, WEFT_MEM_WORKSPACE));
    for (int i = 0; i < count; i++) {
        bool below = true;
        for (int k = 0; k < objectives; k++) {
            point[inside].at[k] = points[(int64_t)i * objectives + k];
            below = below && point[inside].at[k] <= reference[k];
        }
        inside += below;
    }
    *volume = volume_below(point, inside, objectives, reference, point + inside);
    weft_free(point);
    return WEFT_OK;
}
