/* app/train/train_ranks.c: see app/train/train_ranks.h. */
#include "app/train/train_ranks.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static train_rank row_of(const train_report *report, const train_figures *mine)
{
    train_rank row = {.figures = *mine};
    memcpy(row.shares, report->work->shares, sizeof row.shares);
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        row.shared_bytes += (double)comm_lane_stats(report->context->comm, (comm_lane)lane).shared_bytes;
    }
    memcpy(row.host, report->context->host, sizeof row.host);
    return row;
}

weft_status train_ranks_gather(const train_report *report, const train_figures *mine, train_rank **rows)
{
    weft_comm *comm = report->context->comm;
    int ranks = comm_size(comm);
    int64_t *bytes = NULL;
    const train_rank row = row_of(report, mine);
    *rows = NULL;
    weft_status status = WEFT_NEW(&bytes, ranks, WEFT_MEM_WORKSPACE);
    if (status == WEFT_OK && comm_rank(comm) == 0) {
        status = WEFT_NEW(rows, ranks, WEFT_MEM_WORKSPACE);
    }
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    for (int r = 0; r < ranks; ++r) {
        bytes[r] = (int64_t)sizeof row;
    }
    status = comm_gatherv(comm, 0, &row, (int64_t)sizeof row, *rows, bytes);
done:
    weft_free(bytes);
    if (status != WEFT_OK) {
        weft_free(*rows);
        *rows = NULL;
    }
    return status;
}

enum { PER_SECOND = 1000000, WHOLE = 1 };

/* A column of doubles, rounded to 1 / per_unit, that stand at `offset` in each row. */
static void write_column(json_writer *json, const char *key, const train_rank *rows, int ranks, size_t offset,
                         double per_unit)
{
    assert(offset + sizeof(double) <= sizeof *rows && offset % sizeof(double) == 0);
    json_array(json, key);
    for (int r = 0; r < ranks; ++r) {
        double value;
        memcpy(&value, (const char *)&rows[r] + offset, sizeof value);
        json_real(json, NULL, round(value * per_unit) / per_unit);
    }
    json_end(json);
}

static void write_count(json_writer *json, const char *key, const train_rank *rows, int ranks, size_t offset)
{
    assert(offset + sizeof(int64_t) <= sizeof *rows);
    json_array(json, key);
    for (int r = 0; r < ranks; ++r) {
        int64_t value;
        memcpy(&value, (const char *)&rows[r] + offset, sizeof value);
        json_int(json, NULL, value);
    }
    json_end(json);
}

static bool any(const train_rank *rows, int ranks, size_t offset)
{
    for (int r = 0; r < ranks; ++r) {
        double value;
        memcpy(&value, (const char *)&rows[r] + offset, sizeof value);
        if (value > 0) {
            return true;
        }
    }
    return false;
}

static void write_activities(json_writer *json, const train_rank *rows, int ranks)
{
    json_object(json, "activity_s");
    for (int a = 0; a < activity_table_rows(); ++a) {
        size_t offset = offsetof(train_rank, figures.seconds) + (size_t)a * sizeof(double);
        if (any(rows, ranks, offset)) {
            write_column(json, activity_table()[a].activity->text, rows, ranks, offset, PER_SECOND);
        }
    }
    json_end(json);
}

static void write_lanes(json_writer *json, const train_rank *rows, int ranks)
{
    json_object(json, "sent_bytes");
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        size_t offset = offsetof(train_rank, figures.lane_bytes) + (size_t)lane * sizeof(double);
        if (any(rows, ranks, offset)) {
            write_column(json, comm_lane_name((comm_lane)lane), rows, ranks, offset, WHOLE);
        }
    }
    if (any(rows, ranks, offsetof(train_rank, figures.group_bytes))) {
        write_column(json, "groups", rows, ranks, offsetof(train_rank, figures.group_bytes), WHOLE);
    }
    json_end(json);
}

static void write_shares(json_writer *json, const workload_ops *ops, const train_rank *rows, int ranks)
{
    facts_write_columns(ops->share, WORKLOAD_SHARES, json);
    for (size_t i = 0; i < WORKLOAD_SHARES && ops->share[i].key != NULL; ++i) {
        write_count(json, ops->share[i].key, rows, ranks, offsetof(train_rank, shares) + i * sizeof(int64_t));
    }
}

void train_ranks_write(json_writer *json, const workload_ops *ops, const train_rank *rows, int ranks, int64_t epochs)
{
    json_object(json, "per_rank");
    json_int(json, "epochs", epochs);
    json_array(json, "host");
    for (int r = 0; r < ranks; ++r) {
        json_text(json, NULL, rows[r].host);
    }
    json_end(json);
    write_shares(json, ops, rows, ranks);
    write_column(json, "peak_rss_bytes", rows, ranks, offsetof(train_rank, figures.peak_rss), WHOLE);
    write_column(json, "allocated_peak_bytes", rows, ranks, offsetof(train_rank, figures.allocated_peak), WHOLE);
    write_column(json, "wall_s", rows, ranks, offsetof(train_rank, figures.wall), PER_SECOND);
    write_column(json, "cpu_s", rows, ranks, offsetof(train_rank, figures.cpu), PER_SECOND);
    write_column(json, "comm_wait_s", rows, ranks, offsetof(train_rank, figures.wait), PER_SECOND);
    write_column(json, "comm_exposed_s", rows, ranks, offsetof(train_rank, figures.exposed), PER_SECOND);
    write_column(json, "epoch_sent_bytes", rows, ranks, offsetof(train_rank, figures.epoch_bytes), WHOLE);
    write_column(json, "shared_bytes", rows, ranks, offsetof(train_rank, shared_bytes), WHOLE);
    write_lanes(json, rows, ranks);
    write_activities(json, rows, ranks);
    json_end(json);
}
