/* comm/halo/halo_side.c: see comm/halo/halo_side.h. */
#include "comm/halo/halo_side.h"

#include "base/alloc.h"

/* ---- lists of rows ----------------------------------------------------------------------------------------------- */
static int64_t run_start_of(const int32_t *row, int64_t rows)
{
    int64_t start = rows > 0 ? row[0] : -1;
    for (int64_t i = 0; i < rows && start >= 0; ++i) {
        start = row[i] == start + i ? start : -1;
    }
    return start;
}

static weft_status upload_index(halo_side *side, const int32_t *row)
{
    const size_t bytes = (size_t)side->rows * sizeof *row;
    if (bytes == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(side->hal->mem.alloc(side->hal, bytes, WEFT_MEM_COMM, (void **)&side->index));
    return side->hal->mem.upload(side->hal, side->index, row, bytes);
}

static weft_status upload_ids(halo_side *side, const int32_t *row, const int64_t *gid)
{
    weft_hal *hal = side->hal;
    int64_t *id = NULL;
    if (gid == NULL || side->rows == 0) {
        return WEFT_OK;
    }
    const size_t bytes = (size_t)side->rows * sizeof *id;
    WEFT_TRY(WEFT_NEW(&id, side->rows, WEFT_MEM_COMM));
    for (int64_t i = 0; i < side->rows; ++i) {
        id[i] = gid[row[i]];
    }
    weft_status status = hal->mem.alloc(hal, bytes, WEFT_MEM_COMM, (void **)&side->id);
    status = status == WEFT_OK ? hal->mem.upload(hal, side->id, id, bytes) : status;
    weft_free(id);
    return status;
}

weft_status halo_side_create(weft_hal *hal, int peers, const int64_t *offset, const int32_t *row, const int64_t *gid,
                             halo_side *side)
{
    *side = (halo_side){.hal = hal, .peers = peers, .rows = offset[peers], .most = offset[peers], .staged.host = true};
    WEFT_TRY(WEFT_NEW_ZERO(&side->piece, peers, WEFT_MEM_COMM));
    for (int p = 0; p < peers; ++p) {
        halo_piece *piece = &side->piece[p];
        piece->first = offset[p];
        piece->rows = piece->most = offset[p + 1] - offset[p];
        piece->run_start = run_start_of(row + piece->first, piece->rows);
    }
    WEFT_TRY(upload_index(side, row));
    return upload_ids(side, row, gid);
}

/* Rows of one piece, and their ids. */
static weft_status choose_rows(halo_side *side, halo_piece *piece, const int32_t *row, const int64_t *gid)
{
    weft_hal *hal = side->hal;
    piece->run_start = run_start_of(row, piece->rows);
    side->rows += piece->rows;
    if (piece->rows == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(hal->mem.upload(hal, side->index + piece->first, row, (size_t)piece->rows * sizeof *row));
    if (side->id == NULL) {
        return WEFT_OK;
    }
    for (int64_t i = 0; i < piece->rows; ++i) {
        side->host_id[piece->first + i] = gid[row[i]];
    }
    return hal->mem.upload(hal, side->id + piece->first, side->host_id + piece->first,
                           (size_t)piece->rows * sizeof *side->id);
}

weft_status halo_side_choose(halo_side *side, const int64_t *offset, const int32_t *row, const int64_t *gid)
{
    if (side->id != NULL && side->host_id == NULL) {
        WEFT_TRY(WEFT_NEW(&side->host_id, side->most, WEFT_MEM_COMM));
    }
    side->rows = 0;
    side->chosen = true;
    for (int p = 0; p < side->peers; ++p) {
        halo_piece *piece = &side->piece[p];
        piece->rows = offset[p + 1] - offset[p];
        WEFT_CHECK(piece->rows >= 0 && piece->rows <= piece->most, WEFT_ERR_INTERNAL,
                   "halo: %lld rows chosen for rank %d, which shares %lld", (long long)piece->rows, p,
                   (long long)piece->most);
        WEFT_TRY(choose_rows(side, piece, row + offset[p], gid));
    }
    return WEFT_OK;
}

void halo_side_free(halo_side *side)
{
    weft_hal *hal = side->hal;
    halo_buffer_free(hal, &side->packed);
    halo_buffer_free(hal, &side->coded);
    halo_buffer_free(hal, &side->staged);
    if (side->index != NULL) {
        hal->mem.free(hal, side->index);
    }
    if (side->id != NULL) {
        hal->mem.free(hal, side->id);
    }
    WEFT_FREE_ALL(side->host_id, side->piece);
}

/* ---- where rows lie in an exchange ------------------------------------------------------------------------------- */
static bool is_in_place(const halo_format *format, const halo_piece *piece, bool receives)
{
    const bool merges = receives && format->direction != HALO_FORWARD;
    return !merges && !halo_code_is_coded(&format->code) && piece->run_start >= 0 && format->x.ld == format->x.cols &&
           format->messages_reach;
}

/* Room for the rows of a side, packed and, where they differ, as messages carry them; kept for the next exchange. */
static weft_status reserve(halo_side *side, const halo_format *format, int64_t packed_rows, int64_t coded_rows)
{
    const int64_t packed_bytes = packed_rows * format->packed_bytes;
    const int64_t coded_bytes = coded_rows * format->row_bytes;
    const int64_t sent = coded_bytes > 0 ? coded_bytes : packed_bytes;
    WEFT_TRY(halo_buffer_reserve(side->hal, &side->packed, packed_bytes));
    WEFT_TRY(halo_buffer_reserve(side->hal, &side->coded, coded_bytes));
    return format->messages_reach ? WEFT_OK : halo_buffer_reserve(side->hal, &side->staged, sent);
}

static halo_list sent_list(halo_direction direction)
{
    return direction == HALO_FORWARD ? HALO_OWN : HALO_LEAVES;
}

static char *place_of(const halo_side *side, const halo_format *format, const halo_window *window, int peer,
                      bool receives)
{
    const halo_piece *piece = &side->piece[peer];
    if (piece->in_place || halo_format_bytes(format, piece->rows) == 0) {
        return NULL;
    }
    if (piece->shared) {
        return (receives ? halo_window_from : halo_window_to)(window, sent_list(format->direction), peer,
                                                              format->row_bytes);
    }
    return halo_code_is_coded(&format->code) ? side->coded.data + piece->coded_at * format->row_bytes
                                             : side->packed.data + piece->packed_at * format->packed_bytes;
}

weft_status halo_side_arrange(halo_side *side, const halo_format *format, const halo_window *window, bool receives)
{
    const bool is_coded = halo_code_is_coded(&format->code);
    int64_t packed = 0, coded = 0;
    int64_t most_packed = 0, most_coded = 0; /* with any choice of rows */
    for (int p = 0; p < side->peers; ++p) {
        halo_piece *piece = &side->piece[p];
        piece->shared = window != NULL && halo_window_reaches(window, p);
        piece->in_place = !piece->shared && is_in_place(format, piece, receives);
        piece->packed_at = packed;
        piece->coded_at = coded;
        const bool straight = piece->shared && !is_coded;
        packed += piece->in_place || straight ? 0 : piece->rows;
        coded += is_coded && !piece->shared ? piece->rows : 0;
        most_packed += (piece->in_place && !side->chosen) || straight ? 0 : piece->most;
        most_coded += is_coded && !piece->shared ? piece->most : 0;
    }
    WEFT_TRY(reserve(side, format, most_packed, most_coded));
    for (int p = 0; p < side->peers; ++p) {
        side->piece[p].message = place_of(side, format, window, p, receives);
    }
    return WEFT_OK;
}

char *halo_side_message(const halo_side *side, const halo_format *format, const halo_piece *piece)
{
    if (piece->in_place) {
        return (char *)format->x.data + piece->run_start * format->row_bytes;
    }
    return format->messages_reach || side->staged.data == NULL ? piece->message
                                                               : side->staged.data + piece->first * format->row_bytes;
}
