/*
 * support/allreduce_cases.h: the planned all-reduces on imitated nodes: every algorithm, half and wire type.
 *
 * Machines are imitated by telling the communicator that every 1, 2, 3 or all ranks are a node, with and without memory
 * that the ranks of a node share. Oracles: the closed
 * form of integer sums, double-precision sums, the whole for its two halves, the counters for the predicted bytes.
 */
#pragma once

#include "comm/core/wire.h"
#include "support/comm_cases.h"

static const comm_algorithm hier_algorithms[] = {
    COMM_ALGO_AUTO,  COMM_ALGO_RECURSIVE_DOUBLING, COMM_ALGO_HALVING_DOUBLING,
    COMM_ALGO_RING,  COMM_ALGO_FIXED_ORDER,        COMM_ALGO_TWO_LEVEL,
    COMM_ALGO_MASTER};
static const int hier_node_ranks[] = {1, 2, 3, 64};
enum { HIER_ALGORITHMS = sizeof hier_algorithms / sizeof hier_algorithms[0] };
enum { HIER_NODES = sizeof hier_node_ranks / sizeof hier_node_ranks[0], HIER_LONG = 30011 };

/* Run `fn` on a copy of the communicator for each size of nodes, with and without shared memory. */
static weft_status hier_each(weft_comm *comm, weft_status (*fn)(weft_comm *comm))
{
    for (int n = 1; n < 2 * HIER_NODES; ++n) { /* a rank by itself has nobody to share memory with */
        weft_comm *nodes = NULL;
        WEFT_TRY(comm_split(comm, 0, 0, &nodes));
        weft_status status = comm_imitate_nodes(nodes, hier_node_ranks[n / 2]);
        nodes->messages_only = n % 2 != 0;
        status = status == WEFT_OK ? fn(nodes) : status;
        comm_destroy(nodes);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}

static weft_status hier_run(weft_comm *comm, const comm_allreduce_desc *desc)
{
    comm_plan *plan = NULL;
    WEFT_TRY(comm_allreduce_plan(comm, desc, &plan));
    weft_status status = comm_post(plan);
    status = status == WEFT_OK ? comm_wait(plan) : status;
    comm_plan_destroy(plan);
    return status;
}

static bool hier_has_halves(comm_algorithm algorithm)
{
    return algorithm == COMM_ALGO_HALVING_DOUBLING || algorithm == COMM_ALGO_RING ||
           algorithm == COMM_ALGO_FIXED_ORDER || algorithm == COMM_ALGO_TWO_LEVEL;
}

static bool hier_encodes(comm_algorithm algorithm)
{
    return algorithm == COMM_ALGO_AUTO || algorithm == COMM_ALGO_FIXED_ORDER || algorithm == COMM_ALGO_TWO_LEVEL ||
           algorithm == COMM_ALGO_MASTER;
}

/* What runs does not depend on the nodes: one layout of them is enough. */
static bool hier_skipped(const weft_comm *comm, comm_algorithm algorithm)
{
    bool memory = algorithm == COMM_ALGO_AUTO || algorithm == COMM_ALGO_TWO_LEVEL;
    bool hierarchy = memory || algorithm == COMM_ALGO_MASTER;
    return (!hierarchy && comm_get_layout(comm)->nodes > 1) || (!memory && comm->messages_only);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */
static weft_status hier_values_on(weft_comm *comm)
{
    weft_status status = WEFT_OK;
    int size = comm_size(comm);
    const int64_t counts[] = {0, size - 1, 37, 1000};
    double *buffer = malloc(HIER_LONG * sizeof *buffer);
    for (int a = 0; a < HIER_ALGORITHMS; ++a) {
        if (hier_skipped(comm, hier_algorithms[a])) {
            continue;
        }
        for (int c = 0; c < 4; ++c) {
            for (int kind = 0; kind < 15; ++kind) {
                comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, hier_algorithms[a], (weft_dtype)(kind / 3),
                                                     (comm_op)(kind % 3), counts[c], buffer);
                /* Every type and every op once, on the longest; float32 sums on all. */
                bool wanted =
                    (desc.dtype == WEFT_DTYPE_F32 && desc.op == COMM_SUM) || (c == 3 && kind / 3 % 3 == kind % 3);
                if (!wanted || (desc.dtype == WEFT_DTYPE_U8 && desc.op == COMM_SUM)) {
                    continue;
                }
                WEFT_TRY_GOTO(case_one_allreduce(comm, &desc), status, done);
            }
        }
        comm_allreduce_desc desc =
            case_desc(COMM_LANE_GRADIENT, hier_algorithms[a], WEFT_DTYPE_F32, COMM_SUM, HIER_LONG, buffer);
        WEFT_TRY_GOTO(case_one_allreduce(comm, &desc), status, done);
    }
done:
    free(buffer);
    return status;
}

static weft_status hier_values(weft_comm *comm, void *argument)
{
    (void)argument;
    return hier_each(comm, hier_values_on);
}

/* ---- halves ------------------------------------------------------------------------------------------------------ */
static void hier_fill(int rank, float *x, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        x[i] = case_noise(rank, i);
    }
}

/* Between the halves: this rank's part is complete (equal to the whole's, before it is rounded for the wire), the parts
 * of all ranks make up the vector, and all else may be lost. */
static weft_status hier_check_owned(weft_comm *comm, const comm_allreduce_desc *desc, comm_plan *const half[2],
                                    const float *whole)
{
    int64_t begin[2] = {0, 0};
    int64_t count[2] = {0, 0};
    float *x = desc->buffer;
    for (int h = 0; h < 2; ++h) {
        comm_plan_owned(half[h], &begin[h], &count[h]);
    }
    CASE_CHECK(begin[0] == begin[1] && count[0] == count[1], "the halves own %lld and %lld from %lld and %lld",
               (long long)count[0], (long long)count[1], (long long)begin[0], (long long)begin[1]);
    CASE_CHECK(begin[0] >= 0 && count[0] >= 0 && begin[0] + count[0] <= desc->count, "owns %lld from %lld of %lld",
               (long long)count[0], (long long)begin[0], (long long)desc->count);
    double sums[2] = {(double)count[0], (double)begin[0] * (double)count[0] + (double)count[0] * (double)count[0] / 2};
    WEFT_TRY(comm_allreduce(comm, sums, 2, WEFT_DTYPE_F64, COMM_SUM));
    double all = (double)desc->count;
    CASE_CHECK(sums[0] == all && sums[1] == all * all / 2, "the ranks own %g of %g elements", sums[0], all);
    if (desc->wire == COMM_WIRE_SAME) {
        CASE_CHECK(case_same_bits(x + begin[0], whole + begin[0], (size_t)count[0] * sizeof *x),
                   "%s: what rank %d owns is not complete", comm_algorithm_name(desc->algorithm), comm_rank(comm));
    }
    for (int64_t i = 0; i < desc->count; ++i) {
        x[i] = i >= begin[0] && i < begin[0] + count[0] ? x[i] : NAN;
    }
    return WEFT_OK;
}

static weft_status hier_halves_of(weft_comm *comm, comm_allreduce_desc *desc, float *whole)
{
    weft_status status = WEFT_OK;
    comm_plan *half[2] = {NULL, NULL};
    size_t bytes = (size_t)desc->count * sizeof(float);
    hier_fill(comm_rank(comm), desc->buffer, desc->count);
    desc->half = COMM_WHOLE;
    WEFT_TRY(hier_run(comm, desc));
    memcpy(whole, desc->buffer, bytes);
    WEFT_TRY(case_same_on_all(comm, whole, (int64_t)bytes));
    for (int h = 0; h < 2; ++h) {
        desc->half = h == 0 ? COMM_REDUCE_SCATTER : COMM_ALL_GATHER;
        WEFT_TRY_GOTO(comm_allreduce_plan(comm, desc, &half[h]), status, done);
    }
    for (int repeat = 0; repeat < 2; ++repeat) {
        hier_fill(comm_rank(comm), desc->buffer, desc->count);
        WEFT_TRY_GOTO(comm_post(half[0]), status, done);
        WEFT_TRY_GOTO(comm_wait(half[0]), status, done);
        WEFT_TRY_GOTO(hier_check_owned(comm, desc, half, whole), status, done);
        WEFT_TRY_GOTO(comm_post(half[1]), status, done);
        WEFT_TRY_GOTO(comm_wait(half[1]), status, done);
        if (!case_same_bits(desc->buffer, whole, bytes)) {
            status = weft_fail(WEFT_ERR_INTERNAL, "%s of %lld as %s: the halves differ from the whole",
                               comm_algorithm_name(desc->algorithm), (long long)desc->count, wire_name(desc->wire));
            goto done;
        }
    }
done:
    comm_plan_destroy(half[0]);
    comm_plan_destroy(half[1]);
    return status;
}

/* Long enough for halving-doubling, or the ring, between nodes; and too short for either. */
static weft_status hier_halves_on(weft_comm *comm)
{
    static const int64_t counts[] = {13, HIER_LONG};
    weft_status status = WEFT_OK;
    float *whole = malloc(HIER_LONG * sizeof *whole);
    float *x = NULL;
    /* In memory that the node shares: nothing is staged. */
    WEFT_TRY_GOTO(comm_buffer_alloc(comm, HIER_LONG * sizeof *x, (void **)&x), status, done);
    for (int a = 1; a < HIER_ALGORITHMS; ++a) {
        if (!hier_has_halves(hier_algorithms[a]) || hier_skipped(comm, hier_algorithms[a])) {
            continue;
        }
        for (int c = 0; c < 2; ++c) {
            for (int wire = COMM_WIRE_SAME; wire <= COMM_WIRE_FP16; ++wire) {
                comm_allreduce_desc desc =
                    case_desc(COMM_LANE_GRADIENT, hier_algorithms[a], WEFT_DTYPE_F32, COMM_SUM, counts[c], x);
                desc.wire = (comm_wire)wire;
                if (wire == COMM_WIRE_SAME || hier_encodes(hier_algorithms[a])) {
                    WEFT_TRY_GOTO(hier_halves_of(comm, &desc, whole), status, done);
                }
            }
        }
    }
done:
    comm_buffer_free(comm, x);
    free(whole);
    return status;
}

static weft_status hier_halves(weft_comm *comm, void *argument)
{
    (void)argument;
    return hier_each(comm, hier_halves_on);
}

/* AUTO takes the same algorithm for both halves: together they are a sum, to rounding. */
static weft_status hier_auto_halves_on(weft_comm *comm)
{
    static const int64_t counts[] = {5, HIER_LONG};
    weft_status status = WEFT_OK;
    float *x = malloc(HIER_LONG * sizeof *x);
    for (int c = 0; c < 2; ++c) {
        comm_allreduce_desc desc =
            case_desc(COMM_LANE_GRADIENT, COMM_ALGO_AUTO, WEFT_DTYPE_F32, COMM_SUM, counts[c], x);
        for (int64_t i = 0; i < desc.count; ++i) {
            x[i] = (float)case_value(comm_rank(comm), i);
        }
        for (int h = 0; h < 2; ++h) {
            desc.half = h == 0 ? COMM_REDUCE_SCATTER : COMM_ALL_GATHER;
            WEFT_TRY_GOTO(hier_run(comm, &desc), status, done);
        }
        WEFT_TRY_GOTO(case_check_reduced(comm, &desc, 0), status, done);
    }
done:
    free(x);
    return status;
}

static weft_status hier_auto_halves(weft_comm *comm, void *argument)
{
    (void)argument;
    return hier_each(comm, hier_auto_halves_on);
}

/* ---- the wire ---------------------------------------------------------------------------------------------------- */
/* Half a unit in the last place of a value of this size in the wire's type, and of the smallest ones. */
static double hier_unit(comm_wire wire, double size)
{
    double relative = wire == COMM_WIRE_BF16 ? 0x1p-8 : 0x1p-11;
    double smallest = wire == COMM_WIRE_BF16 ? 0x1p-134 : 0x1p-25;
    return relative * size + smallest;
}

/* The bound of comm/coll/direct.h, of the sums of nodes where the nodes are summed first: there every node's sum may be
 * one that travels. */
static double hier_bound(const weft_comm *comm, const comm_allreduce_desc *desc, int64_t i, double *exact)
{
    comm_wire wire = desc->wire;
    const comm_layout *layout = comm_get_layout(comm);
    double sizes = 0.0;
    double total = 0.0;
    for (int r = 0; r < comm_size(comm); ++r) {
        double x = (double)case_noise(r, i);
        sizes += fabs(x);
        total += x;
    }
    *exact = total;
    double floats = sizes * comm_size(comm) * 0x1p-23; /* float32 additions in any order */
    double travels = sizes + floats;
    for (int r = 0; desc->algorithm == COMM_ALGO_FIXED_ORDER && r < comm_size(comm); ++r) {
        coll_range slice = coll_split(desc->count, comm_size(comm), r);
        bool owned = i >= slice.begin && i < slice.begin + slice.count;
        travels = owned ? sizes - fabs((double)case_noise(r, i)) : travels;
    }
    int senders = desc->algorithm == COMM_ALGO_FIXED_ORDER ? comm_size(comm) : layout->nodes;
    double sent = hier_unit(wire, travels) + senders * hier_unit(wire, 0.0);
    return sent + hier_unit(wire, fabs(total) + sent + floats) + floats;
}

static weft_status hier_wire_on(weft_comm *comm)
{
    weft_status status = WEFT_OK;
    static const int64_t counts[] = {1, 5003};
    float *x = malloc(5003 * sizeof *x);
    for (int kind = 0; kind < 4 * HIER_ALGORITHMS; ++kind) {
        comm_allreduce_desc desc =
            case_desc(COMM_LANE_GRADIENT, hier_algorithms[kind / 4], WEFT_DTYPE_F32, COMM_SUM, counts[kind % 2], x);
        desc.wire = kind / 2 % 2 == 0 ? COMM_WIRE_BF16 : COMM_WIRE_FP16;
        if (!hier_encodes(desc.algorithm) || hier_skipped(comm, desc.algorithm)) {
            continue;
        }
        hier_fill(comm_rank(comm), x, desc.count);
        WEFT_TRY_GOTO(hier_run(comm, &desc), status, done);
        WEFT_TRY_GOTO(case_same_on_all(comm, x, desc.count * (int64_t)sizeof *x), status, done);
        int64_t rounded = 0;
        for (int64_t i = 0; i < desc.count; ++i) {
            double exact = 0.0;
            double bound = hier_bound(comm, &desc, i, &exact);
            rounded += fabs((double)x[i] - exact) > 1e-5 * fabs(exact);
            if (!(fabs((double)x[i] - exact) <= bound)) {
                status = weft_fail(WEFT_ERR_INTERNAL, "%s of %lld as %s: element %lld is %.9g, exact %.9g, bound %.3g",
                                   comm_algorithm_name(desc.algorithm), (long long)desc.count, wire_name(desc.wire),
                                   (long long)i, (double)x[i], exact, bound);
                goto done;
            }
        }
        /* It really travelled short: or nothing needed to travel. */
        bool alone =
            comm_size(comm) == 1 || (comm_get_layout(comm)->nodes == 1 && desc.algorithm != COMM_ALGO_FIXED_ORDER);
        bool as_expected = desc.count < 5003 || (alone ? rounded < desc.count / 50 : rounded > desc.count / 2);
        if (!as_expected) {
            status = weft_fail(WEFT_ERR_INTERNAL, "%s as %s: %lld of %lld elements are rounded",
                               comm_algorithm_name(desc.algorithm), wire_name(desc.wire), (long long)rounded,
                               (long long)desc.count);
            goto done;
        }
    }
done:
    free(x);
    return status;
}

static weft_status hier_wire(weft_comm *comm, void *argument)
{
    (void)argument;
    return hier_each(comm, hier_wire_on);
}

/* A NaN of one rank, an infinity, and a value past fp16 reach everybody. */
static weft_status hier_special(weft_comm *comm, void *argument)
{
    (void)argument;
    int last = comm_size(comm) - 1;
    bool alone = last == 0;
    for (int wire = COMM_WIRE_BF16; wire <= COMM_WIRE_FP16; ++wire) {
        bool mine = comm_rank(comm) == last;
        float x[4] = {mine ? NAN : 1.0f, mine ? -INFINITY : 1.0f, mine ? 70000.0f : 0.0f, 0.5f};
        comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_FIXED_ORDER, WEFT_DTYPE_F32, COMM_SUM, 4, x);
        desc.wire = (comm_wire)wire;
        WEFT_TRY(hier_run(comm, &desc));
        CASE_CHECK(isnan(x[0]), "a NaN arrives as %g", (double)x[0]);
        CASE_CHECK(isinf(x[1]) && x[1] < 0, "minus infinity arrives as %g", (double)x[1]);
        bool overflows = wire == COMM_WIRE_FP16 && !alone;
        CASE_CHECK(overflows ? isinf(x[2]) : fabsf(x[2] - 70000.0f) <= 70000.0f * 0x1p-8f, "70000 arrives as %g",
                   (double)x[2]);
        CASE_CHECK(x[3] == 0.5f * (float)comm_size(comm), "halves sum to %g", (double)x[3]);
    }
    return WEFT_OK;
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */
static weft_status hier_refused(weft_comm *comm, void *argument)
{
    (void)argument;
    double x[8] = {0};
    comm_plan *plan = NULL;
    comm_allreduce_desc bad[6];
    for (int i = 0; i < 6; ++i) {
        bad[i] = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_FIXED_ORDER, WEFT_DTYPE_F32, COMM_SUM, 8, x);
        bad[i].wire = i >= 3 ? COMM_WIRE_BF16 : COMM_WIRE_SAME;
    }
    bad[0].algorithm = COMM_ALGO_RECURSIVE_DOUBLING;
    bad[0].half = COMM_REDUCE_SCATTER;
    bad[1].algorithm = COMM_ALGO_MASTER;
    bad[1].half = COMM_ALL_GATHER;
    bad[2].algorithm = COMM_ALGO_RECURSIVE_DOUBLING;
    bad[2].wire = COMM_WIRE_FP16;
    bad[3].dtype = WEFT_DTYPE_F64;
    bad[4].op = COMM_MAX;
    bad[5].algorithm = COMM_ALGO_RING;
    for (int i = 0; i < 6; ++i) {
        weft_status status = comm_allreduce_plan(comm, &bad[i], &plan);
        CASE_CHECK(status == WEFT_ERR_UNSUPPORTED && plan == NULL, "form %d gives %s", i, weft_status_name(status));
    }
    return WEFT_OK;
}

/* Ranks that ask for different halves or wires are told. */
static weft_status hier_mismatch(weft_comm *comm, void *argument)
{
    (void)argument;
    float x[8] = {0};
    comm_plan *plan = NULL;
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    for (int i = 0; i < 3; ++i) {
        comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_FIXED_ORDER, WEFT_DTYPE_F32, COMM_SUM, 8, x);
        bool odd = comm_rank(comm) == 1;
        desc.half = i == 0 && odd ? COMM_ALL_GATHER : COMM_WHOLE;
        desc.wire = i == 1 && odd ? COMM_WIRE_BF16 : COMM_WIRE_SAME;
        desc.name = i == 2 && odd ? "bucket 1" : "bucket 0";
        weft_status status = comm_allreduce_plan(comm, &desc, &plan);
        CASE_CHECK(status == WEFT_ERR_INTERNAL && plan == NULL, "form %d gives %s", i, weft_status_name(status));
        const char *expected[] = {"rank 1 \"all-gather", "bf16 on the wire", "bucket 1"};
        CASE_CHECK(strstr(weft_error_message(), expected[i]) != NULL, "%s", weft_error_message());
    }
    return WEFT_OK;
}

/* ---- bytes: the prediction against the counters ------------------------------------------------------------------ */
/* Of two-level, when the vectors lie in shared memory: the rank of a shard reads it n times, writes the sum, and then
 * writes it to the others. */
static int64_t hier_shared_bytes(const weft_comm *comm, const comm_allreduce_desc *desc)
{
    const comm_layout *layout = comm_get_layout(comm);
    int64_t n = comm_node_size(comm);
    int local = comm_node_rank(comm);
    if (n == 1 || local >= layout->least || comm->messages_only) {
        return 0;
    }
    int64_t shard = 4 * (desc->count / layout->least + (local < desc->count % layout->least));
    return desc->half == COMM_REDUCE_SCATTER ? (n + 1) * shard
           : desc->half == COMM_ALL_GATHER   ? (n - 1) * shard
                                             : 2 * n * shard;
}

static weft_status hier_stats_of(weft_comm *comm, const comm_allreduce_desc *desc)
{
    coll_allreduce args = coll_arguments(comm, desc->buffer, desc->count, desc->dtype, desc->op);
    args.wire = desc->wire;
    args.half = desc->half;
    coll_place place = coll_place_of(&args);
    comm_cost cost = coll_algorithm_of(desc->algorithm)->cost(&place, desc->count, 4);
    comm_stats before = comm_lane_stats(comm, desc->lane);
    WEFT_TRY(hier_run(comm, desc));
    comm_stats after = comm_lane_stats(comm, desc->lane);
    int64_t bytes = (int64_t)(after.bytes_sent - before.bytes_sent);
    int64_t messages = (int64_t)(after.messages_sent - before.messages_sent);
    CASE_CHECK(bytes == cost.bytes_sent && messages == cost.messages_sent,
               "%s of %lld, half %d, %s, on %d of %d: %lld bytes in %lld messages, predicted %lld in %lld",
               comm_algorithm_name(desc->algorithm), (long long)desc->count, (int)desc->half, wire_name(desc->wire),
               comm_rank(comm), comm_size(comm), (long long)bytes, (long long)messages, (long long)cost.bytes_sent,
               (long long)cost.messages_sent);
    int64_t shared = (int64_t)(after.shared_bytes - before.shared_bytes);
    CASE_CHECK(desc->algorithm != COMM_ALGO_TWO_LEVEL || shared == hier_shared_bytes(comm, desc),
               "two-level of %lld, half %d: %lld bytes in shared memory, not %lld", (long long)desc->count,
               (int)desc->half, (long long)shared, (long long)hier_shared_bytes(comm, desc));
    /* Every rank predicts the same path, and something happens on it unless there is nothing to do. */
    double path[2] = {comm_model_seconds(comm_get_model(comm), &cost), 0.0};
    path[1] = -path[0];
    WEFT_TRY(comm_allreduce(comm, path, 2, WEFT_DTYPE_F64, COMM_MAX));
    CASE_CHECK(path[0] == -path[1], "%s of %lld: ranks predict %g to %g seconds", comm_algorithm_name(desc->algorithm),
               (long long)desc->count, -path[1], path[0]);
    CASE_CHECK((path[0] > 0.0) == (desc->count > 0 && comm_size(comm) > 1), "%s of %lld: %g seconds predicted",
               comm_algorithm_name(desc->algorithm), (long long)desc->count, path[0]);
    return WEFT_OK;
}

static weft_status hier_stats_on(weft_comm *comm)
{
    static const int64_t counts[] = {0, 3, 1000, HIER_LONG};
    weft_status status = WEFT_OK;
    float *x = NULL;
    WEFT_TRY_GOTO(comm_buffer_alloc(comm, HIER_LONG * sizeof *x, (void **)&x), status, done);
    for (int a = 1; a < HIER_ALGORITHMS; ++a) {
        for (int c = 0; c < 4; ++c) {
            for (int form = 0; form < 9; ++form) {
                comm_allreduce_desc desc =
                    case_desc(COMM_LANE_SHADOW, hier_algorithms[a], WEFT_DTYPE_F32, COMM_SUM, counts[c], x);
                desc.half = (comm_half)(form / 3);
                desc.wire = (comm_wire)(form % 3);
                if ((desc.half != COMM_WHOLE && !hier_has_halves(desc.algorithm)) ||
                    (desc.wire != COMM_WIRE_SAME && !hier_encodes(desc.algorithm))) {
                    continue;
                }
                WEFT_TRY_GOTO(hier_stats_of(comm, &desc), status, done);
            }
        }
    }
done:
    comm_buffer_free(comm, x);
    return status;
}

static weft_status hier_stats(weft_comm *comm, void *argument)
{
    (void)argument;
    return hier_each(comm, hier_stats_on);
}

/* ---- bits: what does not depend on where in the vector an element lies ------------------------------------------- */
/* The same data once at the start of a vector and once `shift` elements later, through one plan each of equal length.
 */
static weft_status hier_position_of(weft_comm *comm, comm_algorithm algorithm, bool stable)
{
    enum { COUNT = 4099, SHIFT = 1013 };
    weft_status status = WEFT_OK;
    float *x[2] = {malloc(COUNT * sizeof(float)), malloc(COUNT * sizeof(float))};
    bool same = true;
    for (int i = 0; i < 2; ++i) {
        comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, algorithm, WEFT_DTYPE_F32, COMM_SUM, COUNT, x[i]);
        for (int64_t k = 0; k < COUNT; ++k) {
            x[i][k] = case_noise(comm_rank(comm), k + (int64_t)i * SHIFT);
        }
        WEFT_TRY_GOTO(hier_run(comm, &desc), status, done);
    }
    same = case_same_bits(x[0] + SHIFT, x[1], (COUNT - SHIFT) * sizeof(float));
done:
    free(x[0]);
    free(x[1]);
    WEFT_TRY(status);
    CASE_CHECK(same == stable, "%s on %d ranks, %d nodes: %s bits at another place", comm_algorithm_name(algorithm),
               comm_size(comm), comm_get_layout(comm)->nodes, same ? "the same" : "other");
    return WEFT_OK;
}

static weft_status hier_position_on(weft_comm *comm)
{
    static const comm_algorithm stable[] = {COMM_ALGO_RECURSIVE_DOUBLING, COMM_ALGO_HALVING_DOUBLING,
                                            COMM_ALGO_FIXED_ORDER};
    if (comm_get_layout(comm)->nodes == 1) {
        for (int a = 0; a < 3; ++a) {
            WEFT_TRY(hier_position_of(comm, stable[a], true));
        }
        WEFT_TRY(hier_position_of(comm, COMM_ALGO_RING, comm_size(comm) <= 2));
    }
    /* Hierarchical ones are as stable as what runs between the nodes; doubling on a power of two of them. */
    const comm_layout *layout = comm_get_layout(comm);
    if ((layout->nodes & (layout->nodes - 1)) == 0) {
        WEFT_TRY(hier_position_of(comm, COMM_ALGO_TWO_LEVEL, true));
        WEFT_TRY(hier_position_of(comm, COMM_ALGO_MASTER, true));
    }
    return WEFT_OK;
}

static weft_status hier_position(weft_comm *comm, void *argument)
{
    (void)argument;
    return hier_each(comm, hier_position_on);
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */
enum { RECORD = 12 };

/* Of two records the one that comes later by its bytes. */
static void keep_later(void *into, const void *other, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += RECORD) {
        if (memcmp((char *)into + at, (const char *)other + at, RECORD) < 0) {
            memcpy((char *)into + at, (const char *)other + at, RECORD);
        }
    }
}

static void fill_records(int rank, char *record, int64_t records)
{
    for (int64_t i = 0; i < records * RECORD; ++i) {
        record[i] = (char)(i % RECORD == 0 ? (rank + i / RECORD) % 3 : (rank * 7 + i) % 11);
    }
}

/* Records of the caller's own, of which a plan takes fewer and fewer. */
static weft_status hier_merged_on(weft_comm *comm)
{
    enum { MOST = 50 };
    char x[MOST * RECORD], all[MOST * RECORD], other[MOST * RECORD];
    weft_status status = WEFT_OK;
    comm_plan *plan = NULL;
    comm_allreduce_desc desc =
        case_desc(COMM_LANE_GRADIENT, COMM_ALGO_RECURSIVE_DOUBLING, WEFT_DTYPE_U8, COMM_MAX, sizeof x, x);
    desc.merge = keep_later;
    WEFT_TRY(comm_allreduce_plan(comm, &desc, &plan));
    for (int records = MOST; records >= 0 && status == WEFT_OK; records -= 25) {
        fill_records(comm_rank(comm), x, MOST);
        fill_records(0, all, MOST);
        for (int r = 1; r < comm_size(comm); ++r) {
            fill_records(r, other, MOST);
            keep_later(all, other, records * RECORD);
        }
        status = comm_plan_shorten(plan, records * RECORD);
        status = status == WEFT_OK ? comm_post(plan) : status;
        status = status == WEFT_OK ? comm_wait(plan) : status;
        if (status == WEFT_OK && memcmp(x, all, (size_t)records * RECORD) != 0) {
            status = weft_fail(WEFT_ERR_INTERNAL, "%d records are merged wrongly", records);
        }
    }
    comm_plan_destroy(plan);
    desc.algorithm = COMM_ALGO_RING;
    CASE_CHECK(status != WEFT_OK || comm_allreduce_plan(comm, &desc, &plan) == WEFT_ERR_UNSUPPORTED,
               "a ring merges, and it cannot");
    return status;
}

static weft_status hier_merged(weft_comm *comm, void *argument)
{
    (void)argument;
    return hier_each(comm, hier_merged_on);
}

static const comm_case allreduce_cases[] = {
    {"values", hier_values},     {"halves", hier_halves},   {"auto_halves", hier_auto_halves}, {"wire", hier_wire},
    {"special", hier_special},   {"refused", hier_refused}, {"mismatch", hier_mismatch},       {"stats", hier_stats},
    {"position", hier_position}, {"merged", hier_merged},
};
enum { ALLREDUCE_CASES = sizeof allreduce_cases / sizeof allreduce_cases[0] };
