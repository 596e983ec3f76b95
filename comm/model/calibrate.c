/* comm/model/calibrate.c: timing, the two links, and the fit; the rest is in comm/model/calibrate_node.c. */
#include "comm/model/calibrate.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sample.h"
#include "comm/model/calibrate_internal.h"

/* Seconds that one figure may take, and the longest message worth waiting for, on one node and across a network. */
static const double node_budget = 0.004;
static const double network_budget = 0.04;
static const double longest_round = 0.2;

/* Vectors that the local work of a node's ranks is measured on, together, and at most of each: like the gradients that
 * matter, more than the caches of its sockets hold. */
enum { WORK_NODE_BYTES = 256 << 20, WORK_RANK_BYTES = 32 << 20 };

double calibrate_positive(double seconds)
{
    const double least = 1e-13; /* a byte at 10 TB/s */
    return isfinite(seconds) && seconds > least ? seconds : least;
}

/* ---- timing ------------------------------------------------------------------------------------------------- */
/* Ranks begin together: what one sent before the other began would take no time. */
static weft_status run_once(calibration *c, double *seconds)
{
    WEFT_TRY(comm_barrier(c->comm));
    double start = clock_seconds();
    WEFT_TRY(schedule_run(&c->schedule));
    *seconds = clock_seconds() - start;
    return WEFT_OK;
}

weft_status calibration_time(calibration *c, double *seconds)
{
    double sample[CALIBRATE_SAMPLES];
    WEFT_TRY(comm_agree(c->comm, schedule_end(&c->schedule)));
    WEFT_TRY(run_once(c, seconds)); /* warm */
    WEFT_TRY(run_once(c, seconds));
    WEFT_TRY(comm_allreduce(c->comm, seconds, 1, WEFT_DTYPE_F64, COMM_MAX));
    double wanted = c->budget / calibrate_positive(*seconds);
    int repeats = wanted < CALIBRATE_LEAST     ? CALIBRATE_LEAST
                  : wanted > CALIBRATE_SAMPLES ? CALIBRATE_SAMPLES
                                               : (int)wanted;
    for (int i = 0; i < repeats; ++i) {
        WEFT_TRY(run_once(c, &sample[i]));
    }
    WEFT_TRY(comm_allreduce(c->comm, sample, repeats, WEFT_DTYPE_F64, COMM_MAX));
    sample_sort(sample, repeats);
    *seconds = sample[repeats / 4];
    return WEFT_OK;
}

/* ---- links -------------------------------------------------------------------------------------------------- */
/* `rounds` times: every rank of the ring sends `bytes` to the next one. ring: [ranks]; ranks outside do nothing. */
static void build_shift(calibration *c, const int *ring, int ranks, int64_t bytes, int rounds)
{
    int me = 0;
    while (me < ranks && ring[me] != comm_rank(c->comm)) {
        ++me;
    }
    schedule_begin(&c->schedule, c->comm, COMM_LANE_CONTROL, "calibration of a link");
    for (int i = 0; i < rounds && me < ranks && ranks > 1; ++i) {
        schedule_round(&c->schedule, "calibration");
        schedule_receive(&c->schedule, ring[(me + ranks - 1) % ranks], c->right, bytes);
        schedule_send(&c->schedule, ring[(me + 1) % ranks], c->left, bytes);
    }
}

static weft_status measure_link(calibration *c, const int *ring, int ranks, comm_link *link)
{
    enum { POINTS = 5, SHORTEST = 1, LONGEST = 2 };
    static const int64_t sizes[POINTS] = {8, 32 << 10, 512 << 10, 4 << 20, CALIBRATE_LONGEST};
    static const int rounds[POINTS] = {8, 4, 2, 1, 1};
    double bytes[POINTS];
    double seconds[POINTS];
    int points = 0;
    double expected = 0.0; /* of a round of the next size: the latency stays, the rest grows with it */
    while (points < POINTS && (points <= SHORTEST || expected < longest_round)) {
        build_shift(c, ring, ranks, sizes[points], rounds[points]);
        WEFT_TRY(calibration_time(c, &seconds[points]));
        seconds[points] = calibrate_positive(seconds[points] / rounds[points]);
        bytes[points] = (double)sizes[points];
        if (++points < POINTS) {
            double ratio = (double)sizes[points] / (double)sizes[points - 1];
            expected = seconds[0] + ratio * fmax(seconds[points - 1] - seconds[0], 0.0);
        }
    }
    /* The ends: between them protocols change, and caches and the buckets of shaped networks help, which is not what
     * long vectors see. */
    for (int i = 0; points > SHORTEST + LONGEST && i < LONGEST; ++i) {
        bytes[SHORTEST + i] = bytes[points - LONGEST + i];
        seconds[SHORTEST + i] = seconds[points - LONGEST + i];
    }
    *link = link_fit(bytes, seconds, points < SHORTEST + LONGEST ? points : SHORTEST + LONGEST);
    return WEFT_OK;
}

/* Ranks 2 i and 2 i + 1 of the ring send to each other. */
static void build_exchange(calibration *c, const int *ring, int ranks, int64_t bytes)
{
    int me = 0;
    while (me < ranks && ring[me] != comm_rank(c->comm)) {
        ++me;
    }
    schedule_begin(&c->schedule, c->comm, COMM_LANE_CONTROL, "calibration of a link both ways");
    if (me < ranks && (me ^ 1) < ranks) {
        schedule_round(&c->schedule, "calibration");
        schedule_receive(&c->schedule, ring[me ^ 1], c->right, bytes);
        schedule_send(&c->schedule, ring[me ^ 1], c->left, bytes);
    }
}

/* An exchange beside a shift of as many bytes, the most that are worth waiting for. */
static weft_status measure_paired(calibration *c, const int *ring, int ranks)
{
    double shifted = 0.0;
    double exchanged = 0.0;
    int64_t bytes = CALIBRATE_LONGEST;
    while (bytes > 64 << 10 && (double)bytes * c->model->inter.seconds_per_byte > longest_round) {
        bytes /= 2;
    }
    build_shift(c, ring, ranks, bytes, 1);
    WEFT_TRY(calibration_time(c, &shifted));
    build_exchange(c, ring, ranks, bytes);
    WEFT_TRY(calibration_time(c, &exchanged));
    c->model->paired_per_byte = calibrate_positive((exchanged - shifted) / (double)bytes);
    return WEFT_OK;
}

comm_link link_fit(const double *bytes, const double *seconds, int points)
{
    /* Least squares of (latency + slope * bytes - seconds) / seconds. */
    double w = 0.0;
    double wx = 0.0;
    double wxx = 0.0;
    double wy = 0.0;
    double wxy = 0.0;
    for (int i = 0; i < points; ++i) {
        double y = calibrate_positive(seconds[i]);
        double weight = 1.0 / (y * y);
        w += weight;
        wx += weight * bytes[i];
        wxx += weight * bytes[i] * bytes[i];
        wy += weight * y;
        wxy += weight * bytes[i] * y;
    }
    double determinant = w * wxx - wx * wx;
    double slope = (w * wxy - wx * wy) / determinant;
    double latency = (wxx * wy - wx * wxy) / determinant;
    if (!(determinant > 0.0 && slope > 0.0 && latency > 0.0)) {
        /* Noise: no line with a positive slope. The ends still tell something. */
        latency = seconds[0];
        slope = (seconds[points - 1] - seconds[0]) / bytes[points - 1];
    }
    return (comm_link){calibrate_positive(latency), calibrate_positive(slope)};
}

/* One rank of each node. *ring: [nodes], the caller's. Collective. */
static weft_status ring_of_nodes(weft_comm *comm, int **ring)
{
    const comm_layout *layout = comm->layout;
    weft_status local = WEFT_NEW(ring, layout->nodes, WEFT_MEM_COMM);
    for (int j = 0; local == WEFT_OK && j < layout->nodes; ++j) {
        (*ring)[j] = layout->member[layout->first[j]];
    }
    return comm_agree(comm, local);
}

static weft_status measure_inter(calibration *c)
{
    int *ring = NULL;
    weft_status status = ring_of_nodes(c->comm, &ring);
    c->budget = network_budget;
    int nodes = c->comm->layout->nodes;
    status = status == WEFT_OK ? measure_link(c, ring, nodes, &c->model->inter) : status;
    /* Two nodes shift by exchanging: there the links tell all of it. */
    if (status == WEFT_OK && nodes > 2) {
        status = measure_paired(c, ring, nodes);
    }
    weft_free(ring);
    return status;
}

static weft_status measure_intra(calibration *c)
{
    const comm_layout *layout = c->comm->layout;
    int node = layout->node_of[comm_rank(c->comm)];
    c->budget = node_budget;
    return measure_link(c, layout->member + layout->first[node], comm_node_size(c->comm), &c->model->intra);
}

/* ---- all of it ---------------------------------------------------------------------------------------------- */
/* Floats of all magnitudes between 2^-16 and 1, so that a selection has work to do. */
static void fill_noise(char *buffer, int64_t bytes)
{
    float *x = (float *)(void *)buffer;
    uint32_t state = 2463534242u;
    for (int64_t i = 0; i < bytes / (int64_t)sizeof *x; ++i) {
        state ^= state << 13; /* Marsaglia's xorshift: data to work on, not a result */
        state ^= state >> 17;
        state ^= state << 5;
        uint32_t bits = (state & 0x807fffffu) | ((111u + (state >> 23) % 16u) << 23);
        memcpy(&x[i], &bits, sizeof bits);
    }
}

static weft_status measure_all(calibration *c)
{
    const comm_layout *layout = c->comm->layout;
    c->model->paired_per_byte = calibrate_positive(0.0);
    if (layout->nodes > 1) {
        WEFT_TRY(measure_inter(c));
    }
    if (layout->most > 1) {
        WEFT_TRY(measure_intra(c));
    }
    if (layout->nodes == 1) {
        c->model->inter = c->model->intra;
    }
    c->budget = node_budget;
    WEFT_TRY(calibrate_shared(c));
    WEFT_TRY(calibrate_compute(c));
    return layout->nodes == 1 ? calibrate_allreduces(c) : WEFT_OK;
}

static void copy_counters(comm_counters *to, const comm_counters *from)
{
    atomic_store(&to->bytes_sent, atomic_load(&from->bytes_sent));
    atomic_store(&to->messages_sent, atomic_load(&from->messages_sent));
    atomic_store(&to->shared_bytes, atomic_load(&from->shared_bytes));
    atomic_store(&to->busy_ns, atomic_load(&from->busy_ns));
    atomic_store(&to->wait_ns, atomic_load(&from->wait_ns));
}

void calibration_save(const weft_comm *comm, comm_counters *before)
{
    copy_counters(before, &comm->counters[COMM_LANE_CONTROL]);
}

void calibration_restore(weft_comm *comm, const comm_counters *before)
{
    copy_counters(&comm->counters[COMM_LANE_CONTROL], before);
}

/* Room for messages, and a schedule that counts for nothing. */
static weft_status calibration_begin(calibration *c, comm_counters *before)
{
    calibration_save(c->comm, before);
    weft_status status = WEFT_NEW(&c->left, c->bytes, WEFT_MEM_COMM);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&c->right, c->bytes, WEFT_MEM_COMM) : status;
    WEFT_TRY(comm_agree(c->comm, status));
    fill_noise(c->left, c->bytes);
    return WEFT_OK;
}

static void calibration_end(calibration *c, const comm_counters *before)
{
    schedule_free(&c->schedule);
    WEFT_FREE_ALL(c->left, c->right);
    calibration_restore(c->comm, before);
}

/* Messages need CALIBRATE_LONGEST of it. */
static int64_t work_bytes(const comm_layout *layout)
{
    const int64_t share = WORK_NODE_BYTES / layout->most;
    const int64_t bytes = share < WORK_RANK_BYTES ? share : WORK_RANK_BYTES;
    return bytes > CALIBRATE_LONGEST ? bytes : CALIBRATE_LONGEST;
}

weft_status comm_calibrate(weft_comm *comm, comm_model *model)
{
    double start = clock_seconds();
    calibration c = {.comm = comm, .model = model, .bytes = work_bytes(comm->layout)};
    comm_counters before;
    *model = comm_model_default();
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    weft_status status = calibration_begin(&c, &before);
    status = status == WEFT_OK ? measure_all(&c) : status;
    if (status == WEFT_OK) {
        model->measured = true;
        /* Every figure is a maximum over all ranks already; one rank's bits for all. */
        status = comm_bcast(comm, 0, model, (int64_t)sizeof *model);
    }
    calibration_end(&c, &before);
    log_debug("communication measured in %.3f s", clock_seconds() - start);
    return status;
}

weft_status comm_check_model(weft_comm *comm, const comm_model *model, double *ratio)
{
    /* What is far faster than predicted may have come out of a cache: a longer message decides. */
    static const int64_t sizes[] = {512 << 10, 4 << 20};
    calibration c = {.comm = comm, .budget = node_budget, .bytes = sizes[1]};
    comm_counters before;
    double seconds = 0.0;
    int *ring = NULL;
    *ratio = 1.0;
    if (comm->layout->nodes == 1) {
        return WEFT_OK;
    }
    weft_status status = calibration_begin(&c, &before);
    status = status == WEFT_OK ? ring_of_nodes(comm, &ring) : status;
    for (int i = 0; status == WEFT_OK && i < 2 && (i == 0 || *ratio < 0.5); ++i) {
        build_shift(&c, ring, comm->layout->nodes, sizes[i], 1);
        status = calibration_time(&c, &seconds);
        *ratio = seconds / (model->inter.latency + (double)sizes[i] * model->inter.seconds_per_byte);
    }
    weft_free(ring);
    calibration_end(&c, &before);
    return status;
}
