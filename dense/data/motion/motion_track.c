/* dense/data/motion/motion_track.c: see dense/data/motion/motion_track.h. */
#include "dense/data/motion/motion_track.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { OPEN_MAX = MOTION_BOXES_MAX * (MOTION_GAP + 1) }; /* tracks whose last box is at most MOTION_GAP frames old */

typedef struct open_track {
    motion_box last;
    double speed_x, speed_y; /* pixels a frame */
} open_track;

typedef struct pair {
    double overlap;
    int track, box; /* places in `open`, and among the boxes of the frame */
} pair;

typedef struct tracker {
    open_track open[OPEN_MAX];
    int count;
    pair *pair; /* [OPEN_MAX * MOTION_BOXES_MAX] */
    int64_t tracks;
} tracker;

static double shared(double low, double length, double other_low, double other_length)
{
    const double from = low > other_low ? low : other_low;
    const double end = low + length, other_end = other_low + other_length;
    const double to = end < other_end ? end : other_end;
    return to > from ? to - from : 0.0;
}

/* Intersection over union of a box and the place where a track would be in its frame. */
static double overlap_of(const open_track *t, const motion_box *box)
{
    const double frames = (double)(box->frame - t->last.frame);
    const double left = (double)t->last.left + t->speed_x * frames, top = (double)t->last.top + t->speed_y * frames;
    const double both =
        shared(left, t->last.width, box->left, box->width) * shared(top, t->last.height, box->top, box->height);
    const double all = (double)t->last.width * t->last.height + (double)box->width * box->height - both;
    return both / all;
}

static int best_first(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (x->overlap != y->overlap) {
        return x->overlap < y->overlap ? 1 : -1;
    }
    return x->track != y->track ? (x->track > y->track) - (x->track < y->track) : (x->box > y->box) - (x->box < y->box);
}

/* Speeds are of the boxes' centres. */
static void go_on(open_track *t, motion_box *box)
{
    const double frames = (double)(box->frame - t->last.frame);
    t->speed_x = ((double)(box->left - t->last.left) + (double)(box->width - t->last.width) / 2.0) / frames;
    t->speed_y = ((double)(box->top - t->last.top) + (double)(box->height - t->last.height) / 2.0) / frames;
    box->track = t->last.track;
    t->last = *box;
}

/* Tracks that are over leave. */
static void close_old(tracker *s, int32_t frame)
{
    int kept = 0;
    for (int i = 0; i < s->count; ++i) {
        if (frame - s->open[i].last.frame <= MOTION_GAP) {
            s->open[kept++] = s->open[i];
        }
    }
    s->count = kept;
}

/* The boxes of one frame. */
static void take_frame(tracker *s, motion_box *box, int count)
{
    bool used[OPEN_MAX] = {false};
    int pairs = 0;
    for (int t = 0; t < s->count; ++t) {
        for (int b = 0; b < count; ++b) {
            const double overlap = overlap_of(&s->open[t], &box[b]);
            if (overlap >= MOTION_OVERLAP) {
                s->pair[pairs++] = (pair){overlap, t, b};
            }
        }
    }
    qsort(s->pair, (size_t)pairs, sizeof *s->pair, best_first);
    for (int i = 0; i < pairs; ++i) {
        const pair *p = &s->pair[i];
        if (!used[p->track] && box[p->box].track < 0) {
            used[p->track] = true;
            go_on(&s->open[p->track], &box[p->box]);
        }
    }
    for (int b = 0; b < count; ++b) {
        if (box[b].track < 0) {
            box[b].track = (int32_t)s->tracks++;
            s->open[s->count++] = (open_track){.last = box[b]};
        }
    }
}

weft_status motion_track(motion_box *box, int64_t count, const int32_t *scene, int64_t *tracks)
{
    tracker *s = NULL;
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&s, 1, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&s->pair, OPEN_MAX * MOTION_BOXES_MAX, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && box[next].frame == box[i].frame; ++next) {
            box[next].track = -1;
        }
        close_old(s, box[i].frame);
        if (i > 0 && scene[box[i].frame] != scene[box[i - 1].frame]) {
            s->count = 0;
        }
        take_frame(s, box + i, (int)(next - i));
    }
    *tracks = s->tracks;
done:
    if (s != NULL) {
        weft_free(s->pair);
    }
    weft_free(s);
    return status;
}
