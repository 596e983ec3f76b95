/*
 * comm/model/calibrate_node.c: what a rank's own work costs while all ranks of the node do the same: meetings and
 * copies in shared memory, reducing, selecting, scattering.
 *
 * Local work is timed as steps of a schedule, because that is how algorithms run it.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "comm/core/window.h"
#include "comm/model/calibrate_internal.h"
#include "comm/sparse/select.h"
#include "hal/pack.h"

enum {
    MEETINGS = 16, /* of one schedule: a flag each */
    SEGMENT_MOST = 32 << 20,
    SEGMENT_LEAST = 64 << 10,
    NODE_BYTES = 64 << 20, /* of all segments of a node: many systems keep shared memory small */
    PART_SELECTED = 100
};

/* ---- shared memory ------------------------------------------------------------------------------------------ */
typedef struct meeting {
    comm_window *window;
    int flag;
} meeting;

static weft_status meeting_raise(void *argument, uint64_t post)
{
    const meeting *m = argument;
    window_raise(m->window, m->flag, post);
    return WEFT_OK;
}

static bool meeting_complete(void *argument, uint64_t post)
{
    const meeting *m = argument;
    for (int local = 0; local < window_ranks(m->window); ++local) {
        if (window_flag(m->window, local, m->flag) < post) {
            return false;
        }
    }
    return true;
}

/* A schedule that meets again starts at post 1, so each use of the window takes flags of its own. */
static void add_meeting(calibration *c, meeting *m, comm_window *window, int flag)
{
    *m = (meeting){window, flag};
    schedule_round(&c->schedule, "calibration");
    schedule_call(&c->schedule, meeting_raise, m);
    schedule_await(&c->schedule, comm_rank(c->comm), meeting_complete, m);
}

/* Half of the next rank's segment into the other half of this rank's own. */
static weft_status copy_from_neighbour(void *argument, uint64_t post)
{
    (void)post;
    comm_window *window = ((const meeting *)argument)->window;
    int ranks = window_ranks(window);
    int me = ((const meeting *)argument)->flag;
    int64_t half = window_segment_bytes(window, me) / 2;
    memcpy((char *)window_segment(window, me) + half, window_segment(window, (me + 1) % ranks), (size_t)half);
    return WEFT_OK;
}

static weft_status measure_window(calibration *c, comm_window *window, int64_t segment)
{
    meeting place[MEETINGS + 2];
    meeting copy = {window, comm_node_rank(c->comm)};
    double met = 0.0;
    double copied = 0.0;
    bool shares = window_ranks(window) > 1;
    memset(window_segment(window, copy.flag), 0, (size_t)segment);
    schedule_begin(&c->schedule, c->comm, COMM_LANE_CONTROL, "calibration of meetings in shared memory");
    for (int i = 0; i < MEETINGS && shares; ++i) {
        add_meeting(c, &place[i], window, i);
    }
    WEFT_TRY(calibration_time(c, &met));
    c->model->sync = calibrate_positive(met / MEETINGS);
    schedule_begin(&c->schedule, c->comm, COMM_LANE_CONTROL, "calibration of copies in shared memory");
    if (shares) {
        add_meeting(c, &place[MEETINGS], window, MEETINGS);
        schedule_call(&c->schedule, copy_from_neighbour, &copy);
        add_meeting(c, &place[MEETINGS + 1], window, MEETINGS + 1);
    }
    WEFT_TRY(calibration_time(c, &copied));
    /* Half the segment read and half of it written. */
    double rest = copied - 2.0 * c->model->sync;
    c->model->shared_per_byte = calibrate_positive((rest > 0.25 * copied ? rest : copied) / (double)segment);
    return WEFT_OK;
}

weft_status calibrate_shared(calibration *c)
{
    comm_window *window = NULL;
    int most = c->comm->layout->most;
    int64_t segment = NODE_BYTES / most;
    segment = segment > SEGMENT_MOST ? SEGMENT_MOST : segment < SEGMENT_LEAST ? SEGMENT_LEAST : segment;
    if (most < 2) {
        return WEFT_OK;
    }
    weft_status status = comm_agree(c->comm, comm_window_create(c->comm, segment, &window));
    if (status == WEFT_OK) {
        status = measure_window(c, window, segment);
    } else if (status == WEFT_ERR_RESOURCE) {
        status = WEFT_OK; /* no room in shared memory: algorithms find the same and do without */
        weft_error_clear();
    }
    comm_window_destroy(window);
    return status;
}

/* ---- local work --------------------------------------------------------------------------------------------- */
/* Passes in a row that take longer than a turn of the scheduler: where ranks share cores, their work takes that much
 * longer. */
enum { MOST_PASSES = 64 };
static const double turns_of_scheduler = 0.02; /* seconds */

typedef struct compute {
    int64_t elements;
    float *from, *to; /* [elements] */
    selector *selector;
    int32_t *index; /* [elements / PART_SELECTED] */
    float *value;
    int64_t found;
} compute;

static weft_status reduce_once(void *argument, uint64_t post)
{
    (void)post;
    compute *work = argument;
    hal_pack_reduce(WEFT_DTYPE_F32, HAL_SUM, work->to, work->from, work->to, work->elements);
    return WEFT_OK;
}

static weft_status select_once(void *argument, uint64_t post)
{
    (void)post;
    compute *work = argument;
    const int64_t k = work->elements / PART_SELECTED;
    return selector_run(work->selector, work->from, work->elements, k, k, work->index, work->value, &work->found);
}

static weft_status scatter_once(void *argument, uint64_t post)
{
    (void)post;
    compute *work = argument;
    for (int64_t i = 0; i < work->found; ++i) {
        work->to[work->index[i]] += work->value[i];
    }
    return WEFT_OK;
}

static weft_status time_passes(calibration *c, schedule_fn fn, compute *work, int passes, double *seconds)
{
    schedule_begin(&c->schedule, c->comm, COMM_LANE_CONTROL, "calibration of local work");
    schedule_round(&c->schedule, "calibration");
    for (int i = 0; i < passes; ++i) {
        schedule_call(&c->schedule, fn, work);
    }
    WEFT_TRY(calibration_time(c, seconds));
    *seconds /= passes;
    return WEFT_OK;
}

static weft_status time_call(calibration *c, schedule_fn fn, compute *work, double *seconds)
{
    WEFT_TRY(time_passes(c, fn, work, 1, seconds)); /* the slowest rank's, so all take as many */
    const double passes = ceil(turns_of_scheduler / calibrate_positive(*seconds));
    return time_passes(c, fn, work, passes < MOST_PASSES ? (int)passes : MOST_PASSES, seconds);
}

static weft_status measure_compute(calibration *c, compute *work)
{
    double seconds = 0.0;
    WEFT_TRY(time_call(c, reduce_once, work, &seconds));
    c->model->reduce_per_byte = calibrate_positive(seconds / (double)(work->elements * (int64_t)sizeof *work->to));
    WEFT_TRY(time_call(c, select_once, work, &seconds));
    c->model->select_per_element = calibrate_positive(seconds / (double)work->elements);
    WEFT_TRY(time_call(c, scatter_once, work, &seconds));
    c->model->scatter_per_element = calibrate_positive(seconds / (double)work->found);
    return WEFT_OK;
}

weft_status calibrate_compute(calibration *c)
{
    static const select_options exact = {.method = SELECT_RADIX, .threads = 1};
    compute work = {.elements = c->bytes / (int64_t)sizeof(float),
                    .from = (float *)(void *)c->left,
                    .to = (float *)(void *)c->right};
    weft_status status = selector_create(&exact, work.elements, &work.selector);
    status = status == WEFT_OK ? WEFT_NEW(&work.index, work.elements / PART_SELECTED, WEFT_MEM_COMM) : status;
    status = status == WEFT_OK ? WEFT_NEW(&work.value, work.elements / PART_SELECTED, WEFT_MEM_COMM) : status;
    WEFT_TRY_GOTO(comm_agree(c->comm, status), status, done);
    status = measure_compute(c, &work);
done:
    selector_destroy(work.selector);
    WEFT_FREE_ALL(work.index, work.value);
    return status;
}
