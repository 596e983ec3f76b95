/*
 * What goes over the wire, counted by ourselves. Without arguments: every rank's counters against the prediction. With
 * "ALGORITHM COUNT TIMES" (ALGORITHM may be "halo"): plan everything, run one kind TIMES times and print each rank's
 * counters, for tests/mpi/test_volume.sh, which compares them with Open MPI's own and with closed forms of its own.
 *
 * ranks: 2 7
 */
#include "comm/halo.h"
#include "support/comm_cases.h"
#include "support/fake_hal.h"

enum { WIDTH = 6 };

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
    comm_halo_desc desc = {128, own_offset, row, leaf_offset, leaf};
    return comm_halo_create(comm, hal, &desc, WIDTH, halo);
}

static weft_status run_kind(const char *kind, comm_plan **plans, comm_halo *halo, float *x, int times)
{
    for (int t = 0; t < times; ++t) {
        if (strcmp(kind, "halo") == 0) {
            WEFT_TRY(comm_halo_post(halo, HALO_FORWARD, WEFT_DTYPE_F32, x, WIDTH, WIDTH));
            WEFT_TRY(comm_halo_wait(halo));
        }
        for (int a = 1; a < CASE_ALGORITHMS; ++a) {
            if (strcmp(kind, comm_algorithm_name(case_algorithms[a])) == 0) {
                WEFT_TRY(comm_post(plans[a]));
                WEFT_TRY(comm_wait(plans[a]));
            }
        }
    }
    return WEFT_OK;
}

static weft_status measure(weft_comm *comm, const char *kind, int64_t count, int times)
{
    weft_status status = WEFT_OK;
    weft_hal hal = fake_hal(false);
    comm_plan *plans[CASE_ALGORITHMS] = {NULL};
    comm_halo *halo = NULL;
    comm_stats gradient, rows;
    float *x = calloc((size_t)count + 128 * WIDTH, sizeof *x);
    for (int a = 1; a < CASE_ALGORITHMS; ++a) {
        comm_allreduce_desc desc =
            case_desc(COMM_LANE_GRADIENT, case_algorithms[a], WEFT_DTYPE_F32, COMM_SUM, count, x);
        WEFT_TRY_GOTO(comm_allreduce_plan(comm, &desc, &plans[a]), status, done);
    }
    WEFT_TRY_GOTO(ring_halo(comm, &hal, &halo), status, done);
    WEFT_TRY_GOTO(run_kind(kind, plans, halo, x, times), status, done);
    gradient = comm_lane_stats(comm, COMM_LANE_GRADIENT);
    rows = comm_lane_stats(comm, COMM_LANE_HALO);
    printf("counted %d %llu %llu\n", comm_rank(comm), (unsigned long long)(gradient.bytes_sent + rows.bytes_sent),
           (unsigned long long)(gradient.messages_sent + rows.messages_sent));
done:
    for (int a = 1; a < CASE_ALGORITHMS; ++a) {
        comm_plan_destroy(plans[a]);
    }
    comm_halo_destroy(halo);
    free(x);
    return status;
}

int main(int argc, char **argv)
{
    weft_comm *comm = NULL;
    weft_status status = comm_create_mpi(&comm);
    if (status == WEFT_OK) {
        status = argc == 4 ? measure(comm, argv[1], strtoll(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10))
                           : case_stats(comm, NULL);
    }
    if (status != WEFT_OK) {
        fprintf(stderr, "%s: %s\n", weft_status_name(status), weft_error_message());
        comm_abort(comm, status);
    }
    comm_destroy(comm);
    return 0;
}
