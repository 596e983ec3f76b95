/*
 * What goes over the wire, counted by ourselves. Without arguments: every rank's counters against the prediction. With
 * "ALGORITHM NODES HALF WIRE TIMES FILE" (each of the first four may be "any"; ALGORITHM may be "halo" or "share-..."):
 * plan every form of every all-reduce on imitated nodes, run those that match, and write what each counted to
 * FILE.<rank>, for tests/mpi/test_volume.sh, which compares it with Open MPI's own counters and with closed forms of
 * its own.
 *
 * ranks: 2 5
 */
#include "comm/halo.h"
#include "support/allreduce_cases.h"
#include "support/fake_hal.h"
#include "support/shares_cases.h"

/* Counts that 2, 3, 4, 7 and 8 divide, and halves of which they divide too: short and long by the default model. */
enum { WIDTH = 6, SHORT = 840, LONG = 840 * 64 /* less than a piece: messages stay whole */, MOST_FORMS = 512 };

typedef struct volume_form {
    comm_plan *plan;
    comm_allreduce_desc desc;
    weft_comm *comm;
    int node_ranks;
    bool messages_only;
} volume_form;

typedef struct volume_filter {
    const char *algorithm, *nodes, *half, *wire;
    int times;
} volume_filter;

/* Every rank shares its first rank + 1 rows with the next one, which keeps them behind its own. */
static weft_status ring_halo(weft_comm *comm, weft_hal *hal, comm_halo **halo)
{
    int rank = comm_rank(comm);
    int size = comm_size(comm);
    int64_t own_offset[65] = {0};
    int64_t leaf_offset[65] = {0};
    int32_t row[64];
    int32_t leaf[64];
    for (int i = 0; i < 64; ++i) {
        row[i] = i;
        leaf[i] = 64 + i;
    }
    for (int p = 0; p < size; ++p) {
        own_offset[p + 1] = own_offset[p] + (size > 1 && p == (rank + 1) % size ? rank + 1 : 0);
        leaf_offset[p + 1] = leaf_offset[p] + (size > 1 && p == (rank + size - 1) % size ? p + 1 : 0);
    }
    comm_halo_desc desc = {128, own_offset, row, leaf_offset, leaf, NULL};
    return comm_halo_create(comm, hal, &desc, WIDTH, halo);
}

static bool matches(const char *filter, const char *text)
{
    return strcmp(filter, "any") == 0 || strcmp(filter, text) == 0;
}

/* On one node: rows go through shared memory unless there is messages_only. */
static weft_status run_halo(weft_comm *comm, const char *algorithm, float *x, int times, FILE *out)
{
    weft_hal hal = fake_hal(false);
    comm_halo *halo = NULL;
    WEFT_TRY(ring_halo(comm, &hal, &halo));
    weft_status status = WEFT_OK;
    const comm_stats before = comm_lane_stats(comm, COMM_LANE_HALO);
    const int runs = matches(algorithm, "halo") ? times : 0;
    for (int t = 0; t < runs && status == WEFT_OK; ++t) {
        status = comm_halo_post(halo, HALO_FORWARD, WEFT_DTYPE_F32, x, WIDTH, WIDTH);
        status = status == WEFT_OK ? comm_halo_wait(halo) : status;
    }
    const comm_stats after = comm_lane_stats(comm, COMM_LANE_HALO);
    fprintf(out, "halo 0 whole float32 0 %d %llu %llu 0 %d\n", runs,
            (unsigned long long)(after.bytes_sent - before.bytes_sent),
            (unsigned long long)(after.messages_sent - before.messages_sent), comm->messages_only);
    comm_halo_destroy(halo);
    return status;
}

/* Gathers, sums and a broadcast of ragged shares: the second cut of support/shares_cases.h, from the middle rank. */
static weft_status run_shares(weft_comm *comm, int node_ranks, const volume_filter *filter, float *x, FILE *out)
{
    static const char *const names[] = {"share-gather", "share-scatter", "share-bcast"};
    int64_t count[SHARES_RANKS];
    shares_fill(1, comm_size(comm), count);
    const comm_shares_desc desc = {.lane = COMM_LANE_ROWS, .dtype = WEFT_DTYPE_F32, .count = count, .buffer = x};
    for (int op = 0; op < SHARES_OPS; ++op) {
        comm_plan *plan = NULL;
        WEFT_TRY(shares_plan(comm, op, comm_size(comm) / 2, &desc, &plan));
        const comm_stats before = comm_lane_stats(comm, COMM_LANE_ROWS);
        const int runs = matches(filter->algorithm, names[op]) && matches(filter->nodes, "any") ? filter->times : 0;
        weft_status status = WEFT_OK;
        for (int t = 0; t < runs && status == WEFT_OK; ++t) {
            status = shares_post(plan);
        }
        const comm_stats after = comm_lane_stats(comm, COMM_LANE_ROWS);
        const comm_cost cost = comm_plan_cost(plan);
        comm_plan_destroy(plan);
        WEFT_TRY(status);
        fprintf(out, "%s %d whole float32 0 %d %llu %llu %lld %d\n", names[op], node_ranks, runs,
                (unsigned long long)(after.bytes_sent - before.bytes_sent),
                (unsigned long long)(after.messages_sent - before.messages_sent), (long long)cost.inter_bytes,
                comm->messages_only);
    }
    return WEFT_OK;
}

/* All forms on one communicator; without shared memory those that may use it. */
static weft_status plan_forms(weft_comm *comm, int node_ranks, float *x, volume_form *form, int *forms)
{
    for (int i = 0; i < HIER_ALGORITHMS * 18; ++i) {
        comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, hier_algorithms[i / 18], WEFT_DTYPE_F32, COMM_SUM,
                                             i % 2 == 0 ? SHORT : LONG, x);
        desc.half = (comm_half)(i / 2 % 3);
        desc.wire = (comm_wire)(i / 6 % 3);
        if (desc.algorithm == COMM_ALGO_AUTO || (comm->messages_only && desc.algorithm != COMM_ALGO_TWO_LEVEL) ||
            (desc.half != COMM_WHOLE && !hier_has_halves(desc.algorithm)) ||
            (desc.wire != COMM_WIRE_SAME && !hier_encodes(desc.algorithm))) {
            continue;
        }
        CASE_CHECK(*forms < MOST_FORMS, "%d forms", *forms);
        form[*forms] =
            (volume_form){.desc = desc, .comm = comm, .node_ranks = node_ranks, .messages_only = comm->messages_only};
        WEFT_TRY(comm_allreduce_plan(comm, &desc, &form[*forms].plan));
        ++*forms;
    }
    return WEFT_OK;
}

/* Run one form if it is wanted, and write: algorithm, ranks a node, half, wire, count, runs, bytes and messages of this
 * rank, bytes predicted through the busiest node's link, whether nodes share no memory. Forms run different numbers of
 * times, so that the sum over all of them tells one from another. */
static weft_status run_form(const volume_form *form, const volume_filter *filter, int index, FILE *out)
{
    static const char *const half_names[] = {"whole", "reduce-scatter", "all-gather"};
    const comm_allreduce_desc *desc = &form->desc;
    char nodes[16];
    snprintf(nodes, sizeof nodes, "%d", form->node_ranks);
    bool wanted = matches(filter->algorithm, comm_algorithm_name(desc->algorithm)) && matches(filter->nodes, nodes) &&
                  matches(filter->half, half_names[desc->half]) && matches(filter->wire, wire_name(desc->wire));
    int runs = wanted ? filter->times * (1 + index % 5) : 0;
    coll_allreduce args = coll_arguments(form->comm, desc->buffer, desc->count, desc->dtype, desc->op);
    args.half = desc->half;
    args.wire = desc->wire;
    coll_place place = coll_place_of(&args);
    comm_cost cost = coll_algorithm_of(desc->algorithm)->cost(&place, desc->count, 4);
    comm_stats before = comm_lane_stats(form->comm, desc->lane);
    for (int t = 0; t < runs; ++t) {
        WEFT_TRY(comm_post(form->plan));
        WEFT_TRY(comm_wait(form->plan));
    }
    comm_stats after = comm_lane_stats(form->comm, desc->lane);
    fprintf(out, "%s %d %s %s %lld %d %llu %llu %lld %d\n", comm_algorithm_name(desc->algorithm), form->node_ranks,
            half_names[desc->half], wire_name(desc->wire), (long long)desc->count, runs,
            (unsigned long long)(after.bytes_sent - before.bytes_sent),
            (unsigned long long)(after.messages_sent - before.messages_sent), (long long)cost.inter_bytes,
            form->messages_only);
    return WEFT_OK;
}

static weft_status measure(weft_comm *comm, const volume_filter *filter, FILE *out)
{
    weft_status status = WEFT_OK;
    weft_comm *nodes[2 * HIER_NODES] = {NULL};
    volume_form *form = calloc(MOST_FORMS, sizeof *form);
    float *x = calloc(LONG, sizeof *x);
    int forms = 0;
    for (int n = 0; n < 2 * HIER_NODES; ++n) {
        WEFT_TRY_GOTO(comm_split(comm, 0, 0, &nodes[n]), status, done);
        WEFT_TRY_GOTO(comm_imitate_nodes(nodes[n], hier_node_ranks[n / 2]), status, done);
        nodes[n]->messages_only = n % 2 != 0;
        WEFT_TRY_GOTO(plan_forms(nodes[n], hier_node_ranks[n / 2], x, form, &forms), status, done);
    }
    for (int n = 0; n < 2 * HIER_NODES; ++n) {
        WEFT_TRY_GOTO(run_shares(nodes[n], hier_node_ranks[n / 2], filter, x, out), status, done);
    }
    for (int n = 0; n < 2; ++n) {
        comm->messages_only = n == 1;
        WEFT_TRY_GOTO(run_halo(comm, filter->algorithm, x, filter->times, out), status, done);
    }
    for (int f = 0; f < forms; ++f) {
        WEFT_TRY_GOTO(run_form(&form[f], filter, f, out), status, done);
    }
done:
    for (int f = 0; f < forms; ++f) {
        comm_plan_destroy(form[f].plan);
    }
    for (int n = 2 * HIER_NODES - 1; n >= 0; --n) {
        comm_destroy(nodes[n]);
    }
    free(form);
    free(x);
    return status;
}

static weft_status measure_to_file(weft_comm *comm, char **argv)
{
    volume_filter filter = {argv[1], argv[2], argv[3], argv[4], (int)strtol(argv[5], NULL, 10)};
    char path[200];
    snprintf(path, sizeof path, "%s.%d", argv[6], comm_rank(comm));
    FILE *out = fopen(path, "w");
    CASE_CHECK(out != NULL, "cannot write %s", path);
    weft_status status = measure(comm, &filter, out);
    CASE_CHECK(fclose(out) == 0 || status != WEFT_OK, "cannot write %s", path);
    return status;
}

int main(int argc, char **argv)
{
    weft_comm *comm = NULL;
    weft_status status = comm_create_mpi(&comm);
    if (status == WEFT_OK) {
        status = argc == 7 ? measure_to_file(comm, argv) : case_stats(comm, NULL);
    }
    if (status != WEFT_OK) {
        fprintf(stderr, "%s: %s\n", weft_status_name(status), weft_error_message());
        comm_abort(comm, status);
    }
    comm_destroy(comm);
    return 0;
}
