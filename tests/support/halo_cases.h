/*
 * support/halo_cases.h: the halo exchange against brute force, on any number of ranks and any transport.
 *
 * Every rank knows the whole setting: vertex g has a root and replicas that are pure functions of g, and a value that
 * is a pure function of (g, column, rank). Expected rows are computed from that, not from any list that the exchange
 * uses.
 */
#pragma once

#include <math.h>
#include <time.h>

#include "comm/halo.h"
#include "support/comm_cases.h"
#include "support/fake_hal.h"

enum { HALO_VERTICES = 211, HALO_MAX_WIDTH = 16 };

/* How vertices are spread and numbered. */
typedef struct halo_setting {
    bool alone;    /* no replicas at all */
    bool shuffled; /* local rows in no order: nothing is a run */
    int64_t chunk; /* longest message, bytes; 0 = usual */
    bool chosen;   /* of the rows that are there, one in three stays away */
} halo_setting;

static uint32_t halo_hash(uint32_t a, uint32_t b)
{
    uint32_t x = a * 2654435761u + b * 2246822519u + 3266489917u;
    x ^= x >> 16;
    x *= 2246822519u;
    x ^= x >> 13;
    return x;
}

/* Rank 1 of four or more holds nothing at all; rank 2 of three or more is root of nothing. */
static int halo_root(int size, int g)
{
    int root = (int)(halo_hash((uint32_t)g, 1000u) % (uint32_t)size);
    while ((size >= 4 && root == 1) || (size >= 3 && root == 2)) {
        root = (root + 1) % size;
    }
    return root;
}

static bool halo_has_row(int size, const halo_setting *setting, int g, int rank)
{
    return !setting->alone && rank != halo_root(size, g) && !(size >= 4 && rank == 1) &&
           halo_hash((uint32_t)g, (uint32_t)rank) % 3 == 0;
}

/* Whose rows travel. */
static bool halo_replica(int size, const halo_setting *setting, int g, int rank)
{
    return halo_has_row(size, setting, g, rank) && !(setting->chosen && halo_hash((uint32_t)g, 9u) % 3 == 0);
}

/* One rank's rows and lists. */
typedef struct halo_local {
    int64_t n, max_width;       /* rows; elements of a row that the halo is made for */
    int vertex[HALO_VERTICES];  /* of each row */
    int row[HALO_VERTICES];     /* of each vertex, -1 = not here */
    int64_t gid[HALO_VERTICES]; /* vertex, as the exchange wants it */
    int64_t own_offset[65], leaf_offset[65];
    int32_t own_row[HALO_VERTICES * 8], leaf_row[HALO_VERTICES];
} halo_local;

static void halo_build(int rank, int size, const halo_setting *setting, halo_local *local)
{
    memset(local, 0, sizeof *local);
    local->max_width = HALO_MAX_WIDTH;
    for (int root = -1; root < size; ++root) { /* owned first, then replicas by root */
        for (int g = 0; g < HALO_VERTICES; ++g) {
            bool owned = halo_root(size, g) == rank;
            if (root < 0 ? owned : halo_root(size, g) == root && halo_has_row(size, setting, g, rank)) {
                local->vertex[local->n++] = g;
            }
        }
    }
    for (int64_t i = local->n - 1; setting->shuffled && i > 0; --i) {
        int64_t j = halo_hash((uint32_t)i, 77u + (uint32_t)rank) % (uint32_t)(i + 1);
        int swap = local->vertex[i];
        local->vertex[i] = local->vertex[j];
        local->vertex[j] = swap;
    }
    for (int g = 0; g < HALO_VERTICES; ++g) {
        local->row[g] = -1;
    }
    for (int i = 0; i < local->n; ++i) {
        local->row[local->vertex[i]] = i;
        local->gid[i] = local->vertex[i];
    }
    int64_t owns = 0;
    int64_t leaves = 0;
    for (int p = 0; p < size; ++p) {
        for (int g = 0; g < HALO_VERTICES; ++g) {
            if (halo_root(size, g) == rank && halo_replica(size, setting, g, p)) {
                local->own_row[owns++] = local->row[g];
            }
            if (halo_root(size, g) == p && halo_replica(size, setting, g, rank)) {
                local->leaf_row[leaves++] = local->row[g];
            }
        }
        local->own_offset[p + 1] = owns;
        local->leaf_offset[p + 1] = leaves;
    }
}

static comm_halo_desc halo_desc_of(const halo_local *local)
{
    return (comm_halo_desc){local->n,           local->own_offset, local->own_row,
                            local->leaf_offset, local->leaf_row,   local->gid};
}

/* Now and then no number, which a sum and a maximum have to pass on. */
static double halo_value(int g, int64_t column, int rank)
{
    return halo_hash((uint32_t)g, (uint32_t)(77 * rank + column)) % 97 == 0
               ? (double)NAN
               : (double)case_noise(rank, g * 1000 + column);
}

/* What row g, column c of this rank must be afterwards; in float arithmetic when f32. */
static double halo_expected(const weft_comm *comm, const halo_setting *setting, halo_direction direction,
                            weft_dtype dtype, int g, int64_t c)
{
    int size = comm_size(comm);
    int root = halo_root(size, g);
    if (direction == HALO_FORWARD) {
        return halo_value(g, c, halo_replica(size, setting, g, comm_rank(comm)) ? root : comm_rank(comm));
    }
    double sum = halo_value(g, c, comm_rank(comm));
    for (int p = 0; root == comm_rank(comm) && p < size; ++p) {
        if (halo_replica(size, setting, g, p)) {
            double value = halo_value(g, c, p);
            if (direction == HALO_REVERSE_MAX) {
                sum = value > sum || isnan(value) ? value : sum;
            } else {
                sum = dtype == WEFT_DTYPE_F32 ? (double)((float)sum + (float)value) : sum + value;
            }
        }
    }
    return sum;
}

static weft_status halo_check_matrix(const weft_comm *comm, const halo_setting *setting, const halo_local *local,
                                     halo_direction direction, weft_dtype dtype, const double *x, int64_t ld,
                                     int64_t width)
{
    for (int64_t i = 0; i < local->n; ++i) {
        for (int64_t c = 0; c < ld; ++c) {
            double actual = case_load(x, dtype, i * ld + c);
            double expected = c < width ? halo_expected(comm, setting, direction, dtype, local->vertex[i], c) : -1.0;
            CASE_CHECK(actual == expected || (isnan(actual) && isnan(expected)),
                       "direction %d, width %lld, ld %lld: vertex %d column %lld is %.9g, not %.9g", (int)direction,
                       (long long)width, (long long)ld, local->vertex[i], (long long)c, actual, expected);
        }
    }
    return WEFT_OK;
}

/* Rows go to and come from ranks of the node through shared memory where the host sees them. */
static bool halo_through_memory(const weft_comm *comm, const weft_hal *hal, const halo_local *local, int peer,
                                int64_t row_bytes)
{
    const int *node_of = comm_get_layout(comm)->node_of;
    return node_of[peer] == node_of[comm_rank(comm)] && !comm->messages_only && hal_host_visible(hal) &&
           row_bytes <= local->max_width * (int64_t)sizeof(float);
}

static weft_status halo_check_traffic(const weft_comm *comm, const weft_hal *hal, const halo_local *local,
                                      const comm_halo *halo, halo_direction direction, int64_t row_bytes,
                                      comm_stats before)
{
    const bool forward = direction == HALO_FORWARD;
    comm_stats after = comm_lane_stats(comm, COMM_LANE_HALO);
    const int64_t *offset = forward ? local->own_offset : local->leaf_offset;
    const int64_t *received = forward ? local->leaf_offset : local->own_offset;
    int64_t messages = 0;
    int64_t shared = 0;
    for (int p = 0; p < comm_size(comm); ++p) {
        int64_t bytes = (offset[p + 1] - offset[p]) * row_bytes;
        if (halo_through_memory(comm, hal, local, p, row_bytes)) {
            shared += bytes + (received[p + 1] - received[p]) * row_bytes;
        } else {
            messages += transfers_chunks(comm, bytes);
        }
    }
    int64_t rows = offset[comm_size(comm)];
    CASE_CHECK(comm_halo_rows(halo, direction) == rows, "%lld rows", (long long)comm_halo_rows(halo, direction));
    CASE_CHECK((int64_t)(after.bytes_sent - before.bytes_sent) == rows * row_bytes, "%llu bytes for %lld rows",
               (unsigned long long)(after.bytes_sent - before.bytes_sent), (long long)rows);
    CASE_CHECK((int64_t)(after.messages_sent - before.messages_sent) == messages, "%llu messages instead of %lld",
               (unsigned long long)(after.messages_sent - before.messages_sent), (long long)messages);
    CASE_CHECK((int64_t)(after.shared_bytes - before.shared_bytes) == shared, "%llu shared bytes instead of %lld",
               (unsigned long long)(after.shared_bytes - before.shared_bytes), (long long)shared);
    return WEFT_OK;
}

static weft_status halo_one_exchange(weft_comm *comm, weft_hal *hal, comm_halo *halo, const halo_setting *setting,
                                     const halo_local *local, halo_direction direction, weft_dtype dtype, int64_t ld,
                                     int64_t width)
{
    weft_status status = WEFT_OK;
    size_t elements = (size_t)(local->n * ld);
    size_t bytes = elements * weft_dtype_bytes(dtype);
    double *host = malloc(elements * sizeof *host + 1);
    void *device = NULL;
    comm_stats before = comm_lane_stats(comm, COMM_LANE_HALO);
    for (int64_t i = 0; i < local->n; ++i) {
        for (int64_t c = 0; c < ld; ++c) {
            double value = c < width ? halo_value(local->vertex[i], c, comm_rank(comm)) : -1.0;
            if (dtype == WEFT_DTYPE_F32) {
                ((float *)host)[i * ld + c] = (float)value;
            } else {
                host[i * ld + c] = value;
            }
        }
    }
    WEFT_TRY_GOTO(hal->mem.alloc(hal, bytes, WEFT_MEM_WORKSPACE, &device), status, done);
    if (bytes > 0) {
        WEFT_TRY_GOTO(hal->mem.upload(hal, device, host, bytes), status, done);
    }
    WEFT_TRY_GOTO(comm_halo_post(halo, direction, dtype, device, ld, width), status, done);
    WEFT_TRY_GOTO(comm_halo_wait(halo), status, done);
    if (bytes > 0) {
        WEFT_TRY_GOTO(hal->mem.download(hal, host, device, bytes), status, done);
    }
    WEFT_TRY_GOTO(halo_check_matrix(comm, setting, local, direction, dtype, host, ld, width), status, done);
    WEFT_TRY_GOTO(
        halo_check_traffic(comm, hal, local, halo, direction, width * (int64_t)weft_dtype_bytes(dtype), before), status,
        done);
done:
    hal->mem.free(hal, device);
    free(host);
    return status;
}

static weft_status halo_exchanges(weft_comm *comm, weft_hal *hal, const halo_setting *setting)
{
    static const int64_t widths[] = {1, 5, HALO_MAX_WIDTH, 0, 5};
    weft_status status = WEFT_OK;
    int64_t usual = comm->chunk_bytes;
    halo_local *local = malloc(sizeof *local);
    comm_halo *halo = NULL;
    halo_setting all = *setting;
    all.chosen = false;
    halo_build(comm_rank(comm), comm_size(comm), &all, local);
    comm_halo_desc desc = halo_desc_of(local);
    comm->chunk_bytes = setting->chunk > 0 ? setting->chunk : usual;
    WEFT_TRY_GOTO(comm_halo_create(comm, hal, &desc, HALO_MAX_WIDTH, &halo), status, done);
    if (setting->chosen) {
        WEFT_TRY_GOTO(halo_one_exchange(comm, hal, halo, &all, local, HALO_FORWARD, WEFT_DTYPE_F32, 5, 5), status,
                      done);
        halo_build(comm_rank(comm), comm_size(comm), setting, local);
        WEFT_TRY_GOTO(comm_halo_choose(halo, &desc), status, done);
    }
    for (int k = 0; k < 5 * 2 * 2 * 3; ++k) {
        int64_t width = widths[k / 12];
        int64_t ld = width + (k / 6 % 2) * 3;
        WEFT_TRY_GOTO(halo_one_exchange(comm, hal, halo, setting, local, (halo_direction)(k % 3),
                                        k / 3 % 2 == 0 ? WEFT_DTYPE_F32 : WEFT_DTYPE_F64, ld, width),
                      status, done);
    }
done:
    comm_halo_destroy(halo);
    comm->chunk_bytes = usual;
    free(local);
    return status;
}

/* Every layout of rows, with whole messages and cut ones. */
static weft_status halo_settings_of(weft_comm *comm, weft_hal *hal)
{
    static const halo_setting settings[] = {{.chunk = 0},
                                            {.shuffled = true},
                                            {.alone = true},
                                            {.shuffled = true, .chunk = 40},
                                            {.chunk = 24},
                                            {.chosen = true},
                                            {.shuffled = true, .chosen = true}};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; ++i) {
        WEFT_TRY(halo_exchanges(comm, hal, &settings[i]));
    }
    return WEFT_OK;
}

/* Through shared memory where there is some; by messages alone; and both, on nodes of two and three ranks. */
static weft_status halo_all_settings(weft_comm *comm, weft_hal *hal)
{
    WEFT_TRY(halo_settings_of(comm, hal));
    for (int ranks = 1; ranks <= 3; ++ranks) {
        weft_comm *nodes = NULL;
        WEFT_TRY(comm_split(comm, 0, 0, &nodes));
        weft_status status = comm_imitate_nodes(nodes, ranks);
        nodes->messages_only = ranks == 1;
        status = status == WEFT_OK ? halo_settings_of(nodes, hal) : status;
        comm_destroy(nodes);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}

static weft_status halo_case_host_memory(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_hal hal = fake_hal(false);
    return halo_all_settings(comm, &hal);
}

static weft_status halo_case_distant_memory(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_hal hal = fake_hal(true);
    return halo_settings_of(comm, &hal);
}

/* A halo takes the memory that its head states, and exchanges none. Checked only where ranks do not share the
 * allocator's counters. */
static weft_status halo_exchanges_without_allocation(weft_comm *comm)
{
    const halo_setting setting = {.shuffled = true};
    weft_status status = WEFT_OK;
    weft_hal hal = fake_hal(false);
    halo_local *local = malloc(sizeof *local);
    comm_halo *halo = NULL;
    uint64_t allocations = 0, bytes = weft_mem_usage_total().current_bytes;
    float *x = calloc((size_t)HALO_VERTICES * HALO_MAX_WIDTH, sizeof *x);
    halo_build(comm_rank(comm), comm_size(comm), &setting, local);
    comm_halo_desc desc = halo_desc_of(local);
    const int64_t rows = local->own_offset[comm_size(comm)] + local->leaf_offset[comm_size(comm)];
    const uint64_t most =
        (uint64_t)rows * (HALO_MAX_WIDTH * sizeof(float) + sizeof(int32_t) + sizeof(int64_t)) + (1 << 14);
    WEFT_TRY_GOTO(comm_halo_create(comm, &hal, &desc, HALO_MAX_WIDTH, &halo), status, done);
    allocations = weft_mem_usage_total().allocations;
    bytes = weft_mem_usage_total().current_bytes - bytes;
    for (int k = 0; k < 10; ++k) {
        WEFT_TRY_GOTO(comm_halo_post(halo, (halo_direction)(k % 3), WEFT_DTYPE_F32, x, HALO_MAX_WIDTH, 1 + k), status,
                      done);
        WEFT_TRY_GOTO(comm_halo_wait(halo), status, done);
    }
    allocations = weft_mem_usage_total().allocations - allocations;
    if (strcmp(comm_transport_name(comm), "thread") != 0 && (allocations != 0 || bytes > most)) {
        status = weft_fail(
            WEFT_ERR_INTERNAL, "%lld rows take %llu bytes, at most %llu; ten exchanges allocate %llu times",
            (long long)rows, (unsigned long long)bytes, (unsigned long long)most, (unsigned long long)allocations);
    }
done:
    comm_halo_destroy(halo);
    free(local);
    free(x);
    return status;
}

/* The usual way and by messages alone. */
static weft_status halo_case_no_allocation(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_status status = halo_exchanges_without_allocation(comm);
    comm->messages_only = true;
    status = status == WEFT_OK ? halo_exchanges_without_allocation(comm) : status;
    comm->messages_only = false;
    return status;
}

static weft_status halo_refused(weft_comm *comm, weft_hal *hal, const halo_local *local, const char *text)
{
    comm_halo *halo = NULL;
    comm_halo_desc desc = halo_desc_of(local);
    weft_status status = comm_halo_create(comm, hal, &desc, 4, &halo);
    CASE_CHECK(status == WEFT_ERR_INTERNAL && halo == NULL, "a wrong list gives %s", weft_status_name(status));
    CASE_CHECK(strstr(weft_error_message(), text) != NULL, "\"%s\" is not in \"%s\"", text, weft_error_message());
    return WEFT_OK;
}

static weft_status halo_case_wrong_lists(weft_comm *comm, void *argument)
{
    (void)argument;
    const halo_setting setting = {0};
    int rank = comm_rank(comm);
    int size = comm_size(comm);
    weft_hal hal = fake_hal(false);
    weft_status status = WEFT_OK;
    comm_halo *halo = NULL;
    comm_halo_desc desc;
    float x[4];
    halo_local *local = malloc(sizeof *local);
    if (size < 2) {
        goto done;
    }
    /* Rank 0 shares with the last rank one row less than that expects. */
    halo_build(rank, size, &setting, local);
    local->own_offset[size] -= rank == 0;
    WEFT_TRY_GOTO(halo_refused(comm, &hal, local, "which expects"), status, done);
    /* A row that does not exist; a replica listed twice; a rank that is its own peer. */
    halo_build(rank, size, &setting, local);
    if (rank == 0) {
        local->own_row[0] = (int32_t)local->n;
    }
    WEFT_TRY_GOTO(halo_refused(comm, &hal, local, "own_row[0]"), status, done);
    halo_build(rank, size, &setting, local);
    if (rank == 0) {
        local->leaf_row[1] = local->leaf_row[0];
    }
    WEFT_TRY_GOTO(halo_refused(comm, &hal, local, "leaf_row twice"), status, done);
    halo_build(rank, size, &setting, local);
    if (rank == 0) {
        local->own_offset[1] = 1;
    }
    WEFT_TRY_GOTO(halo_refused(comm, &hal, local, "at peer 0 of rank 0"), status, done);
    /* Too wide, or a type without arithmetic: refused at once, and the halo still works. */
    halo_build(rank, size, &setting, local);
    local->max_width = 4;
    desc = halo_desc_of(local);
    WEFT_TRY_GOTO(comm_halo_create(comm, &hal, &desc, 4, &halo), status, done);
    if (comm_halo_post(halo, HALO_FORWARD, WEFT_DTYPE_F32, x, 5, 5) != WEFT_ERR_INTERNAL ||
        comm_halo_post(halo, HALO_FORWARD, WEFT_DTYPE_I64, x, 4, 4) != WEFT_ERR_UNSUPPORTED ||
        comm_halo_post(halo, HALO_REVERSE, WEFT_DTYPE_I16, x, 4, 4) != WEFT_ERR_UNSUPPORTED) {
        status = weft_fail(WEFT_ERR_INTERNAL, "a wrong post is taken");
        goto done;
    }
    WEFT_TRY_GOTO(halo_one_exchange(comm, &hal, halo, &setting, local, HALO_REVERSE, WEFT_DTYPE_F32, 4, 4), status,
                  done);
done:
    comm_halo_destroy(halo);
    free(local);
    return status;
}

/* Halo and gradients at once, each on its lane, in another order of waits on every rank. */
static weft_status halo_case_with_gradients(weft_comm *comm, void *argument)
{
    (void)argument;
    const halo_setting setting = {0};
    enum { WIDTH = 4 };
    weft_status status = WEFT_OK;
    weft_hal hal = fake_hal(false);
    comm_halo *halo = NULL;
    comm_plan *plan = NULL;
    float gradient[333];
    float *x = malloc(sizeof(float) * HALO_VERTICES * WIDTH);
    halo_local *local = malloc(sizeof *local);
    comm_allreduce_desc reduce = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_RING, WEFT_DTYPE_F32, COMM_SUM, 333, gradient);
    halo_build(comm_rank(comm), comm_size(comm), &setting, local);
    comm_halo_desc desc = halo_desc_of(local);
    WEFT_TRY_GOTO(comm_halo_create(comm, &hal, &desc, WIDTH, &halo), status, done);
    WEFT_TRY_GOTO(comm_allreduce_plan(comm, &reduce, &plan), status, done);
    for (int repeat = 0; repeat < 20; ++repeat) {
        halo_direction direction = (halo_direction)(repeat % 2);
        for (int i = 0; i < 333; ++i) {
            gradient[i] = (float)case_value(comm_rank(comm), i);
        }
        for (int64_t i = 0; i < local->n * WIDTH; ++i) {
            x[i] = (float)halo_value(local->vertex[i / WIDTH], i % WIDTH, comm_rank(comm));
        }
        WEFT_TRY_GOTO(comm_post(plan), status, done);
        WEFT_TRY_GOTO(comm_halo_post(halo, direction, WEFT_DTYPE_F32, x, WIDTH, WIDTH), status, done);
        if ((comm_rank(comm) + repeat) % 3 == 0) {
            WEFT_TRY_GOTO(comm_wait(plan), status, done);
        }
        WEFT_TRY_GOTO(comm_halo_wait(halo), status, done);
        WEFT_TRY_GOTO(comm_wait(plan), status, done);
        WEFT_TRY_GOTO(halo_check_matrix(comm, &setting, local, direction, WEFT_DTYPE_F32, (double *)x, WIDTH, WIDTH),
                      status, done);
        WEFT_TRY_GOTO(case_check_reduced(comm, &reduce, 0), status, done);
    }
done:
    comm_plan_destroy(plan);
    comm_halo_destroy(halo);
    free(local);
    free(x);
    return status;
}

/* Rank 0 sends to all others and hears from nobody, so nothing but their reading holds it back. One of them unpacks
 * late: it must still find the rows of its exchange. */
static weft_status halo_case_slow_reader(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { ROWS = 50, WIDTH = 3, EXCHANGES = 9 };
    weft_status status = WEFT_OK;
    weft_hal hal = fake_hal(false);
    comm_halo *halo = NULL;
    const int rank = comm_rank(comm), size = comm_size(comm);
    int64_t own_offset[65] = {0}, leaf_offset[65] = {0};
    int32_t own_row[64 * ROWS], leaf_row[ROWS];
    float x[ROWS * WIDTH];
    for (int p = 0; p < size; ++p) {
        own_offset[p + 1] = rank == 0 ? (int64_t)p * ROWS : 0;
        leaf_offset[p + 1] = rank == 0 ? 0 : ROWS;
    }
    for (int i = 0; i < size * ROWS; ++i) {
        own_row[i] = i % ROWS;
        leaf_row[i % ROWS] = i % ROWS;
    }
    const comm_halo_desc desc = {ROWS, own_offset, own_row, leaf_offset, leaf_row, NULL};
    WEFT_TRY_GOTO(comm_halo_create(comm, &hal, &desc, WIDTH, &halo), status, done);
    for (int k = 0; k < EXCHANGES; ++k) {
        for (int i = 0; i < ROWS * WIDTH; ++i) {
            x[i] = rank == 0 ? (float)(1000 * k + i) : -1.0f;
        }
        WEFT_TRY_GOTO(comm_halo_post(halo, HALO_FORWARD, WEFT_DTYPE_F32, x, WIDTH, WIDTH), status, done);
        if (rank == size - 1 && k % 3 == 1) {
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        }
        WEFT_TRY_GOTO(comm_halo_wait(halo), status, done);
        for (int i = 0; i < ROWS * WIDTH && status == WEFT_OK; ++i) {
            if (x[i] != (float)(1000 * k + i)) {
                status = weft_fail(WEFT_ERR_INTERNAL, "exchange %d brings %g, not %d", k, (double)x[i], 1000 * k + i);
            }
        }
        WEFT_TRY_GOTO(status, status, done);
    }
done:
    comm_halo_destroy(halo);
    return status;
}

/* Two halos under way at once, waited for in another order on every rank. */
static weft_status halo_case_two_at_once(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { WIDTH = 4, HALOS = 2 };
    weft_status status = WEFT_OK;
    weft_hal hal = fake_hal(false);
    comm_halo *halo[HALOS] = {NULL};
    const halo_setting setting = {.shuffled = true};
    float *x[HALOS] = {malloc(sizeof(float) * HALO_VERTICES * WIDTH), malloc(sizeof(float) * HALO_VERTICES * WIDTH)};
    halo_local *local = malloc(sizeof *local);
    halo_build(comm_rank(comm), comm_size(comm), &setting, local);
    const comm_halo_desc desc = halo_desc_of(local);
    for (int h = 0; h < HALOS; ++h) {
        WEFT_TRY_GOTO(comm_halo_create(comm, &hal, &desc, WIDTH, &halo[h]), status, done);
    }
    for (int repeat = 0; repeat < 20; ++repeat) {
        for (int h = 0; h < HALOS; ++h) {
            for (int64_t i = 0; i < local->n * WIDTH; ++i) {
                x[h][i] = (float)halo_value(local->vertex[i / WIDTH], i % WIDTH, comm_rank(comm));
            }
            WEFT_TRY_GOTO(comm_halo_post(halo[h], (halo_direction)h, WEFT_DTYPE_F32, x[h], WIDTH, WIDTH), status, done);
        }
        for (int k = 0; k < HALOS; ++k) {
            const int h = (k + comm_rank(comm) + repeat / 2) % HALOS;
            WEFT_TRY_GOTO(comm_halo_wait(halo[h]), status, done);
            WEFT_TRY_GOTO(halo_check_matrix(comm, &setting, local, (halo_direction)h, WEFT_DTYPE_F32, (double *)x[h],
                                            WIDTH, WIDTH),
                          status, done);
        }
    }
done:
    for (int h = 0; h < HALOS; ++h) {
        comm_halo_destroy(halo[h]);
        free(x[h]);
    }
    free(local);
    return status;
}

static const comm_case halo_cases[] = {
    {"host_memory", halo_case_host_memory},       {"distant_memory", halo_case_distant_memory},
    {"no_allocation", halo_case_no_allocation},   {"wrong_lists", halo_case_wrong_lists},
    {"with_gradients", halo_case_with_gradients}, {"slow_reader", halo_case_slow_reader},
    {"two_at_once", halo_case_two_at_once},
};
enum { HALO_CASES = sizeof halo_cases / sizeof halo_cases[0] };
