/* comm/halo/halo_mixer.c: see comm/halo/halo_mixer.h. */
#include "comm/halo/halo_mixer.h"

#include <string.h>

#include "base/alloc.h"
#include "comm/comm.h"
#include "comm/halo/halo_buffer.h"

struct halo_mixer {
    weft_hal *hal;
    /* of one message, on the host */
    halo_mix_range *range;
    uint8_t *class;
    int32_t *order, *row;
    int64_t *id, *bucket;
    float *looked_at; /* rows that the host does not see elsewhere; NULL: it does */
    int32_t *own_row; /* the same of index and id */
    int64_t *own_id;
    /* of the exchange, in the order of its messages, on the device */
    halo_buffer index, ids;
};

weft_status halo_mixer_create(weft_hal *hal, int64_t rows, int64_t width, halo_mixer **mixer)
{
    weft_status status = WEFT_OK;
    halo_mixer *m = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&m, 1, WEFT_MEM_COMM), status, done);
    m->hal = hal;
    WEFT_TRY_GOTO(WEFT_NEW(&m->range, rows, WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->class, rows, WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->order, rows, WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->row, rows, WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->id, rows, WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->bucket, MIX_BUCKETS, WEFT_MEM_COMM), status, done);
    if (!hal_host_visible(hal)) {
        WEFT_TRY_GOTO(WEFT_NEW(&m->looked_at, rows * width, WEFT_MEM_COMM), status, done);
        WEFT_TRY_GOTO(WEFT_NEW(&m->own_row, rows, WEFT_MEM_COMM), status, done);
        WEFT_TRY_GOTO(WEFT_NEW(&m->own_id, rows, WEFT_MEM_COMM), status, done);
    }
    WEFT_TRY_GOTO(halo_buffer_reserve(hal, &m->index, rows * (int64_t)sizeof *m->row), status, done);
    WEFT_TRY_GOTO(halo_buffer_reserve(hal, &m->ids, rows * (int64_t)sizeof *m->id), status, done);
done:
    if (status != WEFT_OK) {
        halo_mixer_destroy(m);
        m = NULL;
    }
    *mixer = m;
    return status;
}

void halo_mixer_destroy(halo_mixer *mixer)
{
    if (mixer == NULL) {
        return;
    }
    halo_buffer_free(mixer->hal, &mixer->index);
    halo_buffer_free(mixer->hal, &mixer->ids);
    WEFT_FREE_ALL(mixer->range, mixer->class, mixer->order, mixer->row, mixer->id, mixer->bucket, mixer->looked_at,
                  mixer->own_row, mixer->own_id, mixer);
}

/* The lists of a message as the host sees them. */
static weft_status look_at_lists(const halo_mixer *m, const halo_mixed *rows, const int32_t **row, const int64_t **id)
{
    *row = rows->index;
    *id = rows->id;
    if (m->own_row == NULL) {
        return WEFT_OK;
    }
    *row = m->own_row;
    *id = m->own_id;
    WEFT_TRY(m->hal->mem.download(m->hal, m->own_row, rows->index, (size_t)rows->rows * sizeof *m->own_row));
    return m->hal->mem.download(m->hal, m->own_id, rows->id, (size_t)rows->rows * sizeof *m->own_id);
}

static int32_t *index_of(const halo_mixer *m, const halo_mixed *rows)
{
    return (int32_t *)(void *)m->index.data + rows->first;
}

static int64_t *ids_of(const halo_mixer *m, const halo_mixed *rows)
{
    return (int64_t *)(void *)m->ids.data + rows->first;
}

/* Rows and ids in the message's order, to the device. */
static weft_status upload_order(halo_mixer *m, const halo_mixed *rows, const int32_t *row, const int64_t *id)
{
    for (int64_t i = 0; i < rows->rows; ++i) {
        m->row[i] = row[m->order[i]];
        m->id[i] = id[m->order[i]];
    }
    WEFT_TRY(m->hal->mem.upload(m->hal, index_of(m, rows), m->row, (size_t)rows->rows * sizeof *m->row));
    return m->hal->mem.upload(m->hal, ids_of(m, rows), m->id, (size_t)rows->rows * sizeof *m->id);
}

static weft_status gather(const halo_mixer *m, const halo_mixed *rows, const int32_t *index)
{
    const hal_gather_rows_args args = {
        .x = rows->x, .index = hal_column_from(index, WEFT_DTYPE_I32, rows->rows), .y = rows->packed};
    return hal_gather_rows(m->hal, &args);
}

static weft_status measure(halo_mixer *m, const halo_mixed *rows, const int32_t *row)
{
    const int64_t width = rows->x.cols;
    if (m->looked_at != NULL) {
        WEFT_TRY(gather(m, rows, rows->index));
        WEFT_TRY(m->hal->mem.download(m->hal, m->looked_at, rows->packed.data,
                                      (size_t)(rows->rows * width) * sizeof *m->looked_at));
    }
    for (int64_t i = 0; i < rows->rows; ++i) {
        const float *x =
            m->looked_at != NULL ? m->looked_at + i * width : (const float *)rows->x.source + row[i] * rows->x.ld;
        m->range[i] = halo_mix_range_of(x, width);
    }
    return WEFT_OK;
}

/* The rows of a class in the packed matrix and in the message; both end behind them. */
static hal_mat packed_class(const halo_mixed *rows, int64_t count, int64_t *at)
{
    float *from = (float *)rows->packed.data + *at * rows->x.cols;
    *at += count;
    return hal_mat_of(from, WEFT_DTYPE_F32, count, rows->x.cols, rows->x.cols);
}

static hal_mat coded_class(const halo_mixed *rows, int class, int64_t count, int64_t *at)
{
    const int64_t bytes = hal_row_bytes(halo_mix_codecs[class], rows->x.cols);
    char *to = rows->message + *at;
    *at += count * bytes;
    return hal_mat_of(to, WEFT_DTYPE_U8, count, bytes, bytes);
}

weft_status halo_mixer_pack(halo_mixer *mixer, const halo_mixed *rows)
{
    halo_mixer *m = mixer;
    const int64_t header = halo_mix_header(rows->rows);
    const int64_t bytes = halo_mix_bytes(rows->rows, rows->x.cols, rows->mean_bits);
    const int32_t *row;
    const int64_t *id;
    int64_t count[MIX_CLASSES], packed_at = 0, coded_at = header;
    WEFT_TRY(look_at_lists(m, rows, &row, &id));
    WEFT_TRY(measure(m, rows, row));
    halo_mix_choose(m->range, rows->rows, rows->x.cols, rows->mean_bits, m->bucket, m->class);
    halo_mix_order(m->class, rows->rows, count, m->order);
    WEFT_TRY(upload_order(m, rows, row, id));
    WEFT_TRY(gather(m, rows, index_of(m, rows)));
    for (int c = 0; c < MIX_CLASSES; ++c) {
        const int64_t *class_ids = ids_of(m, rows) + packed_at;
        const hal_encode_rows_args code = {.x = packed_class(rows, count[c], &packed_at),
                                           .id = hal_column_from(class_ids, WEFT_DTYPE_I64, count[c]),
                                           .y = coded_class(rows, c, count[c], &coded_at),
                                           .codec = halo_mix_codecs[c],
                                           .rounding = rows->rounding};
        WEFT_TRY(count[c] > 0 ? hal_encode_rows(m->hal, &code) : WEFT_OK);
    }
    halo_mix_write(m->class, rows->rows, (uint8_t *)rows->host);
    memset(rows->host + coded_at, 0, (size_t)(bytes - coded_at));
    return rows->host == rows->message ? WEFT_OK
                                       : m->hal->mem.download_async(m->hal, rows->host + header, rows->message + header,
                                                                    (size_t)(coded_at - header));
}

weft_status halo_mixer_unpack(halo_mixer *mixer, const halo_mixed *rows, hal_scatter mode)
{
    halo_mixer *m = mixer;
    const int64_t header = halo_mix_header(rows->rows);
    const int64_t bytes = halo_mix_bytes(rows->rows, rows->x.cols, rows->mean_bits);
    const int32_t *row;
    const int64_t *id;
    int64_t count[MIX_CLASSES], packed_at = 0, coded_at = header;
    WEFT_TRY(halo_mix_read((const uint8_t *)rows->host, rows->rows, rows->x.cols, rows->mean_bits, m->class, count));
    halo_mix_order(m->class, rows->rows, count, m->order);
    WEFT_TRY(look_at_lists(m, rows, &row, &id));
    WEFT_TRY(upload_order(m, rows, row, id));
    WEFT_TRY(rows->host == rows->message ? WEFT_OK
                                         : m->hal->mem.upload_async(m->hal, rows->message + header, rows->host + header,
                                                                    (size_t)(bytes - header)));
    for (int c = 0; c < MIX_CLASSES; ++c) {
        const hal_decode_rows_args code = {.x = coded_class(rows, c, count[c], &coded_at),
                                           .y = packed_class(rows, count[c], &packed_at),
                                           .codec = halo_mix_codecs[c]};
        WEFT_TRY(count[c] > 0 ? hal_decode_rows(m->hal, &code) : WEFT_OK);
    }
    const hal_scatter_rows_args args = {.x = rows->packed,
                                        .index = hal_column_from(index_of(m, rows), WEFT_DTYPE_I32, rows->rows),
                                        .y = rows->x,
                                        .mode = mode};
    return hal_scatter_rows(m->hal, &args);
}
