/* hal/cuda/cuda_sparse.c: prepares sparse matrices for kernels/sparse.cu, on the host. */
#include <assert.h>

#include "base/clock.h"
#include "hal/cuda/cuda_prepared.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_matrix.h"

/* Rows between which short ones may change places, so that those of a warp are equally long and still neighbours. */
enum { WINDOW = 4096 };

weft_status cuda_check_spmm(const hal_spmm_run_args *args)
{
    const hal_spmm *spmm = args->matrix;
    assert(spmm != NULL && args->out.cols == args->x.cols);
    WEFT_CHECK(args->out.cols <= spmm->max_d, WEFT_ERR_UNSUPPORTED, "spmm: %ld columns, prepared for at most %ld",
               (long)args->out.cols, (long)spmm->max_d);
    WEFT_CHECK(args->diag.data == NULL || spmm->rows <= spmm->cols, WEFT_ERR_UNSUPPORTED,
               "spmm: a diagonal term needs rows <= columns, not %ld > %ld", (long)spmm->rows, (long)spmm->cols);
    WEFT_CHECK(args->slice >= 0 && args->slice < (args->slices > 1 ? args->slices : 1), WEFT_ERR_INTERNAL,
               "spmm: slice %d of %d", args->slice, args->slices);
    return WEFT_OK;
}

static int64_t length_of(const hal_csr *csr, int64_t row)
{
    return csr->offset[row + 1] - csr->offset[row];
}

/* Short rows by length, window by window; the others as they come. */
static void sort_rows(const hal_csr *csr, const hal_spmm *spmm, int32_t *order)
{
    int32_t *next_short = order;
    int32_t *next_middle = order + spmm->shorts;
    int32_t *next_long = next_middle + spmm->middles;
    for (int64_t begin = 0; begin < csr->rows; begin += WINDOW) {
        const int64_t end = begin + WINDOW < csr->rows ? begin + WINDOW : csr->rows;
        int32_t place[CUDA_SHORT_ROW + 1] = {0};
        for (int64_t r = begin; r < end; ++r) {
            const int64_t length = length_of(csr, r);
            if (length < CUDA_SHORT_ROW) {
                place[length + 1] += 1;
            } else if (length <= CUDA_PIECE_EDGES) {
                *next_middle++ = (int32_t)r;
            } else {
                *next_long++ = (int32_t)r;
            }
        }
        for (int length = 0; length < CUDA_SHORT_ROW; ++length) {
            place[length + 1] += place[length];
        }
        for (int64_t r = begin; r < end; ++r) {
            const int64_t length = length_of(csr, r);
            if (length < CUDA_SHORT_ROW) {
                next_short[place[length]++] = (int32_t)r;
            }
        }
        next_short += place[CUDA_SHORT_ROW];
    }
}

static void count_rows(const hal_csr *csr, hal_spmm *spmm)
{
    for (int64_t r = 0; r < csr->rows; ++r) {
        const int64_t length = length_of(csr, r);
        spmm->shorts += length < CUDA_SHORT_ROW;
        spmm->longs += length > CUDA_PIECE_EDGES;
    }
    spmm->middles = csr->rows - spmm->shorts - spmm->longs;
}

static int64_t pieces_of(const hal_csr *csr, int64_t row)
{
    return (length_of(csr, row) + CUDA_PIECE_EDGES - 1) / CUDA_PIECE_EDGES;
}

static void cut_rows(const hal_csr *csr, const hal_spmm *spmm, const int32_t *longs, cuda_edges *piece)
{
    for (int64_t i = 0; i < spmm->longs; ++i) {
        const int64_t end = csr->offset[longs[i] + 1];
        for (int64_t at = csr->offset[longs[i]]; at < end; at += CUDA_PIECE_EDGES) {
            *piece++ = (cuda_edges){.begin = at, .count = end - at < CUDA_PIECE_EDGES ? end - at : CUDA_PIECE_EDGES};
        }
    }
}

/* Device memory with these bytes in it; NULL for none. */
static weft_status keep(weft_hal *hal, hal_spmm *spmm, void **device, const void *host, size_t bytes)
{
    if (bytes == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(hal->mem.alloc(hal, bytes, WEFT_MEM_MATRIX, device));
    spmm->bytes += bytes;
    return hal->mem.upload(hal, *device, host, bytes);
}

static weft_status keep_offsets(weft_hal *hal, const hal_csr *csr, hal_spmm *spmm)
{
    const size_t count = (size_t)csr->rows + 1;
    weft_status status = WEFT_OK;
    int32_t *narrow = NULL;
    spmm->wide = spmm->entries > INT32_MAX;
    if (spmm->wide) {
        return keep(hal, spmm, &spmm->offset, csr->offset, count * sizeof *csr->offset);
    }
    WEFT_TRY(WEFT_NEW(&narrow, (int64_t)count, WEFT_MEM_MATRIX));
    for (size_t r = 0; r < count; ++r) {
        narrow[r] = (int32_t)csr->offset[r];
    }
    status = keep(hal, spmm, &spmm->offset, narrow, count * sizeof *narrow);
    weft_free(narrow);
    return status;
}

static weft_status keep_classes(weft_hal *hal, const hal_csr *csr, hal_spmm *spmm)
{
    weft_status status = WEFT_OK;
    int32_t *order = NULL;
    cuda_edges *piece = NULL;
    count_rows(csr, spmm);
    WEFT_TRY_GOTO(WEFT_NEW(&order, csr->rows, WEFT_MEM_MATRIX), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&spmm->first_piece, spmm->longs + 1, WEFT_MEM_MATRIX), status, done);
    sort_rows(csr, spmm, order);
    const int32_t *longs = order + spmm->shorts + spmm->middles;
    for (int64_t i = 0; i < spmm->longs; ++i) {
        const int64_t own = pieces_of(csr, longs[i]);
        spmm->first_piece[i + 1] = spmm->first_piece[i] + own;
        spmm->most_pieces = own > spmm->most_pieces ? own : spmm->most_pieces;
    }
    const int64_t pieces = spmm->first_piece[spmm->longs];
    WEFT_TRY_GOTO(WEFT_NEW(&piece, pieces, WEFT_MEM_MATRIX), status, done);
    cut_rows(csr, spmm, longs, piece);
    WEFT_TRY_GOTO(keep(hal, spmm, (void **)&spmm->order, order, (size_t)csr->rows * sizeof *order), status, done);
    WEFT_TRY_GOTO(keep(hal, spmm, (void **)&spmm->piece, piece, (size_t)pieces * sizeof *piece), status, done);
    WEFT_TRY_GOTO(keep(hal, spmm, (void **)&spmm->piece_of_long, spmm->first_piece,
                       (size_t)(spmm->longs + 1) * sizeof *spmm->first_piece),
                  status, done);
done:
    WEFT_FREE_ALL(order, piece);
    return status;
}

void cuda_spmm_destroy(weft_hal *hal, hal_spmm *spmm)
{
    if (spmm == NULL) {
        return;
    }
    for (int l = 0; spmm->level != NULL && l <= spmm->levels; ++l) {
        cuda_spmm_destroy(hal, spmm->level[l]);
    }
    hal->mem.free(hal, spmm->strip);
    hal->mem.free(hal, spmm->offset);
    hal->mem.free(hal, spmm->column);
    hal->mem.free(hal, spmm->value);
    hal->mem.free(hal, spmm->order);
    hal->mem.free(hal, spmm->piece);
    hal->mem.free(hal, spmm->piece_of_long);
    WEFT_FREE_ALL(spmm->first_piece, spmm->level, spmm);
}

weft_status cuda_spmm_rows(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm **out)
{
    weft_status status = WEFT_OK;
    hal_spmm *spmm = NULL;
    *out = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&spmm, 1, WEFT_MEM_MATRIX));
    spmm->rows = csr->rows;
    spmm->cols = csr->cols;
    spmm->entries = csr->offset[csr->rows];
    spmm->max_d = max_d;
    WEFT_TRY_GOTO(keep_offsets(hal, csr, spmm), status, done);
    WEFT_TRY_GOTO(keep(hal, spmm, (void **)&spmm->column, csr->column, (size_t)spmm->entries * sizeof *csr->column),
                  status, done);
    if (csr->value != NULL) {
        WEFT_TRY_GOTO(keep(hal, spmm, (void **)&spmm->value, csr->value, (size_t)spmm->entries * sizeof *csr->value),
                      status, done);
    }
    WEFT_TRY_GOTO(keep_classes(hal, csr, spmm), status, done);
    *out = spmm;
    spmm = NULL;
done:
    cuda_spmm_destroy(hal, spmm);
    return status;
}

/* The forms of the cpu backend answer to its caches; here every form is rows, but for shared sums, which read less. */
static weft_status spmm_create(weft_hal *hal, const hal_csr *csr, hal_spmm_form form, int64_t max_d, hal_spmm **out)
{
    const double start = clock_seconds();
    const bool shares = form == HAL_SPMM_SHARED && csr->value == NULL && csr->rows > 0;
    *out = NULL;
    WEFT_CHECK(csr->rows <= INT32_MAX, WEFT_ERR_UNSUPPORTED, "spmm: %ld rows; backend cuda takes at most %ld",
               (long)csr->rows, (long)INT32_MAX);
    WEFT_TRY(shares ? cuda_spmm_shared(hal, csr, max_d, out) : cuda_spmm_rows(hal, csr, max_d, out));
    (*out)->build_seconds = clock_seconds() - start;
    return WEFT_OK;
}

static hal_spmm_info spmm_info(weft_hal *hal, const hal_spmm *spmm)
{
    (void)hal;
    return (hal_spmm_info){.form = spmm->level != NULL ? HAL_SPMM_SHARED : HAL_SPMM_ROWS,
                           .block_cols = spmm->cols,
                           .bytes = spmm->bytes,
                           .build_seconds = spmm->build_seconds,
                           .reads = spmm->reads,
                           .sums = spmm->sums};
}

/* A long row has more edges than one piece, so a piece has more than half as many on average. */
static int64_t most_pieces(int64_t edges)
{
    return 2 * edges / CUDA_PIECE_EDGES;
}

static uint64_t spmm_bytes(const weft_hal *hal, int64_t rows, int64_t entries, bool weighted)
{
    (void)hal;
    const uint64_t offset = entries > INT32_MAX ? sizeof(int64_t) : sizeof(int32_t);
    const uint64_t entry = sizeof(int32_t) + (weighted ? sizeof(float) : 0);
    const uint64_t long_edges = sizeof(cuda_edges) + sizeof(int64_t); /* of a piece, which may be a row's only one */
    return ((uint64_t)rows + 1) * offset + (uint64_t)entries * entry + (uint64_t)rows * sizeof(int32_t) +
           (uint64_t)most_pieces(entries) * long_edges + sizeof(int64_t);
}

size_t cuda_scratch_of_spmm(const cuda_queue *queue, const hal_scratch_shape *shape)
{
    const int64_t row = shape->edges < shape->sources ? shape->edges : shape->sources;
    return cuda_scratch_spmm(most_pieces(shape->edges), (row + CUDA_PIECE_EDGES - 1) / CUDA_PIECE_EDGES, shape->sources,
                             shape->cols, queue->cache, shape->dtype);
}

void cuda_sparse_ops(hal_sparse_ops *ops)
{
    *ops = (hal_sparse_ops){.spmm_create = spmm_create,
                            .spmm_destroy = cuda_spmm_destroy,
                            .spmm_info = spmm_info,
                            .spmm_bytes = spmm_bytes};
}
