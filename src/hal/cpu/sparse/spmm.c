/*
 * hal/cpu/sparse/spmm.c: neighbour aggregation (sparse x dense) of the CPU backend: preparing and running.
 *
 * Six forms; the destinations are cut into parts of equal edges, one a thread, and every output row is written by one
 * thread in a fixed order, so results repeat bit for bit for a given number of threads.
 *
 *  ROWS    straight from x, row by row. Sources are listed as near (in the cache when the row comes) and far; far ones
 *          are prefetched into the second-level cache while near ones are added. Strips of up to 16 vectors, so that a
 *          far source is fetched in one piece; large outputs are written past the caches. 4 bytes an edge.
 *          Of edges with weights, ROWS is one list with a weight each (spmm_weighted.c).
 *          Rows that one thread would be too long at are cut into pieces (spmm_long_rows.h).
 *  BLOCKS  sources in blocks of 2^13 .. 2^16, columns in 16 bits. One strip of 32 columns of x at a time is packed to
 *          [cols, 32] with `pre` applied; a block's strip, as large as the second-level cache, stays in it or near it
 *          while all rows of a part sweep over it. One load and one store of an output strip a row and block.
 *  LISTS   as BLOCKS, with the rows of a block listed by their number of edges (spmm_build_lists.c), and a block's
 *          strip half as large: it pays less for a row and block, and its rows come in no order.
 *  TILES   LISTS, before which come the edges of rows that have eight or more in a tile, as many columns as the
 *          first-level cache holds of a strip (spmm_tiles.h): for graphs in an order that keeps neighbours together.
 *  SHARED  partial sums that rows have in common are made first, and read by all of them (spmm_shared.h): for graphs
 *          that are projections of groups.
 *  I16     LISTS, or BLOCKS, of rows of 16-bit fixed point, whose blocks hold four times as many
 *          (hal/cpu/fixed/fixed.h).
 *
 *          x [cols, d]          packed [cols, 32]             block 0   block 1   block 2
 *        +----+----+--+  strip   +----+            part 0   | rows -> | rows -> | rows -> |   thread 0
 *        |    | ## |  |  ----->  | ## | block 0    part 1   | rows -> | rows -> | rows -> |   thread 1
 *        |    | ## |  |   pre    | ## | block 1
 *        +----+----+--+          +----+            for strip: pack; barrier; for block: for row: registers += packed
 *
 * Cost of a run with E edges and width d. BLOCKS and LISTS: 4 E d bytes from the second-level cache, memory traffic of
 * about 2 d (cols + rows * blocks) * 4 bytes. ROWS: 4 E d bytes from wherever the sources are.
 *
 * Rates of the forms, and what brought them: docs/notes/aggregation.md.
 *
 * Strips and blocks are for the width that most columns are run at (hal_csr.usual_d): epochs that sum rows of 16
 * columns have blocks of twice as many sources, though features of 602 are summed once, in strips of 16 then.
 *
 * Narrow sources that lie in a wider matrix, as layers keep sums and sources side by side, cost more, by where in the
 * row they are: ROWS packs them side by side first, scaled, where each is read often enough to pay for it.
 *
 * Rows of bfloat16 are half of all that: sources are widened into the float32 registers that sum them, and BLOCKS and
 * LISTS pack them two to a word (spmm_paired), so that a strip is one cache line and needs a shift and a mask. With
 * `pre` their packed strip is float32. `auto` is measured in float32.
 *
 * Limits: columns are 32-bit; BLOCKS, LISTS and TILES split no row between threads and hold 2^32 edges a thread.
 *
 * Blocking of sources after Md, Misra, Ma et al., "DistGNN: Scalable Distributed Training for Large-Scale Graph Neural
 * Networks", SC 2021, doi:10.1145/3458817.3480856; the packed 16-bit form and the lists go further.
 */
#include "hal/cpu/sparse/spmm_long_rows.h"
#include "hal/cpu/sparse/spmm_marks.h"
#include "hal/cpu/sparse/spmm_shared.h"

#include <assert.h>
#include <omp.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/half.h"
#include "hal/table/op_table.h"

/* Edges a row and block, from which on I16 is BLOCKS. */
#define FILLED 8.0

/* Outputs larger than this leave the caches before they are read again: write them past the caches. */
enum { STREAM_BYTES = 64 << 20, LINE_BYTES = 64 };

weft_status spmm_new(hal_spmm *spmm, size_t count, size_t size, void **out)
{
    WEFT_TRY(weft_malloc(count, size, WEFT_MEM_MATRIX, out));
    spmm->bytes += count * size;
    return WEFT_OK;
}

void spmm_free(hal_spmm *spmm)
{
    if (spmm == NULL) {
        return;
    }
    WEFT_FREE_ALL(spmm->split, spmm->long_rows.row, spmm->long_rows.first, spmm->long_rows.sum, spmm->by_row.start,
                  spmm->by_row.far, spmm->by_row.near, spmm->weighted.offset, spmm->weighted.column,
                  spmm->weighted.value, spmm->by_block.chunk, spmm->by_block.column, spmm->by_block.row_start,
                  spmm->by_block.run, spmm->by_block.row_id, spmm->tiles.chunk, spmm->tiles.column, spmm->tiles.run,
                  spmm->tiles.row_id, spmm->first_band, spmm->shared.level, spmm->shared.start, spmm->shared.column,
                  spmm->shared_split, spmm->source, spmm->order, spmm->marked_end, spmm->packed, spmm->sum, spmm);
}

const spmm_kernels *spmm_kernels_of(hal_isa isa)
{
    static const spmm_kernels *const kernels[HAL_ISAS] = {&spmm_kernels_base, &spmm_kernels_avx2, &spmm_kernels_avx512};
    return kernels[isa];
}

static void split_rows(hal_spmm *spmm, const hal_csr *csr)
{
    for (int p = 0; p < spmm->parts; p++) {
        spmm->split[p + 1] = 0;
        if (csr->rows > 0) {
            spmm->split[p + 1] = hal_split_csr(csr->offset, csr->rows, spmm->parts, p).end;
        }
    }
    spmm->split[0] = 0;
}

static weft_status make_packed(hal_spmm *spmm, int64_t columns)
{
    return spmm_new(spmm, (size_t)(spmm->places * columns), sizeof *spmm->packed, (void **)&spmm->packed);
}

bool spmm_reuses_rows(const hal_csr *csr)
{
    return csr->value == NULL && csr->rows > 0 && csr->offset[csr->rows] >= SPMM_ROWS_REUSED * csr->cols;
}

weft_status spmm_pack_rows(hal_spmm *spmm)
{
    assert(spmm->form == HAL_SPMM_ROWS && spmm->packed == NULL);
    return make_packed(spmm, spmm_rows_packed(spmm->max_d));
}

weft_status spmm_begin(weft_hal *hal, const hal_csr *csr, hal_spmm_form form, int64_t max_d, hal_spmm **out)
{
    weft_status status = WEFT_OK;
    hal_spmm *spmm = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&spmm, 1, WEFT_MEM_MATRIX), status, done);
    spmm->rows = csr->rows;
    spmm->cols = csr->cols;
    spmm->edges = csr->rows > 0 ? csr->offset[csr->rows] : 0;
    spmm->max_d = max_d;
    spmm->usual_d = spmm_usual(csr, max_d);
    spmm->places = csr->cols;
    spmm->parts = hal->threads;
    spmm->form = form;
    spmm->kernels = spmm_kernels_of(cpu_state_of(hal)->isa);
    spmm->bytes = sizeof *spmm;
    WEFT_TRY_GOTO(spmm_new(spmm, (size_t)spmm->parts + 1, sizeof *spmm->split, (void **)&spmm->split), status, done);
    split_rows(spmm, csr);
    if (spmm_is_blocked(form)) {
        const int strip = spmm_strip(spmm->usual_d);
        const int packed = form == HAL_SPMM_I16 ? strip / 2 : strip; /* words of two columns */
        spmm->blocks = spmm_block_count(csr->cols, spmm_block_shift(form, spmm->usual_d));
        spmm->marked_blocks = spmm->blocks;
        WEFT_TRY_GOTO(spmm_takes_marks(form) ? spmm_mark(spmm, csr) : WEFT_OK, status, done);
        WEFT_TRY_GOTO(make_packed(spmm, packed), status, done);
        WEFT_TRY_GOTO(spmm_new(spmm, (size_t)(spmm->rows * strip), sizeof *spmm->sum, (void **)&spmm->sum), status,
                      done);
    }
done:
    if (status != WEFT_OK) {
        spmm_free(spmm);
        spmm = NULL;
    }
    *out = spmm;
    return status;
}

/* Offsets that rise from 0 and columns in range: a wrong one would write outside of the prepared arrays. */
static weft_status check_csr(const hal_csr *csr, int threads)
{
    WEFT_CHECK(csr->rows >= 0 && csr->cols >= 0 && csr->cols <= (int64_t)INT32_MAX + 1, WEFT_ERR_UNSUPPORTED,
               "aggregation matrix of %lld x %lld: columns are limited to 2^31", (long long)csr->rows,
               (long long)csr->cols);
    if (csr->rows == 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(csr->offset[0] == 0, WEFT_ERR_DATA, "row 0 of the aggregation matrix starts at %lld instead of 0",
               (long long)csr->offset[0]);
    int64_t bad = csr->rows;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : bad)
    for (int64_t row = 0; row < csr->rows; row++) {
        if (csr->offset[row + 1] < csr->offset[row]) {
            bad = row < bad ? row : bad;
        }
    }
    WEFT_CHECK(bad == csr->rows, WEFT_ERR_DATA,
               "row %lld of the aggregation matrix ends before it starts (%lld < %lld)", (long long)bad,
               (long long)csr->offset[bad + 1], (long long)csr->offset[bad]);
    const int64_t edges = csr->offset[csr->rows];
    int64_t bad_edge = edges;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : bad_edge)
    for (int64_t e = 0; e < edges; e++) {
        if (csr->column[e] < 0 || csr->column[e] >= csr->cols) {
            bad_edge = e < bad_edge ? e : bad_edge;
        }
    }
    WEFT_CHECK(bad_edge == edges, WEFT_ERR_DATA, "entry %lld of the aggregation matrix is column %d of %lld",
               (long long)bad_edge, (int)csr->column[bad_edge], (long long)csr->cols);
    return WEFT_OK;
}

/* The data of ROWS: of the swept matrix, with weights or without. */
static weft_status build_swept(hal_spmm *spmm, const hal_csr *csr)
{
    hal_csr swept;
    int64_t *offset = NULL;
    weft_status status = spmm_cut_rows(spmm, csr, &swept, &offset);
    if (status == WEFT_OK) {
        split_rows(spmm, &swept);
        spmm->rows = swept.rows;
        status = swept.value != NULL ? spmm_build_weighted(spmm, &swept) : spmm_build_rows(spmm, &swept);
        spmm->rows = csr->rows;
    }
    weft_free(offset);
    return status;
}

/* Most rows have edges in most blocks: in their own order they find their sums sooner than listed ones do. */
static bool fills_blocks(const hal_spmm *spmm)
{
    return (double)spmm->edges >= FILLED * (double)spmm->blocks * (double)spmm->rows;
}

weft_status spmm_prepare(weft_hal *hal, const hal_csr *csr, hal_spmm_form form, int64_t max_d, hal_spmm **out)
{
    hal_spmm *spmm = NULL;
    weft_status status = WEFT_OK;
    assert(form != HAL_SPMM_AUTO);
    WEFT_TRY_GOTO(spmm_begin(hal, csr, form, max_d, &spmm), status, done);
    if (form == HAL_SPMM_ROWS) {
        WEFT_TRY_GOTO(build_swept(spmm, csr), status, done);
        WEFT_TRY_GOTO(spmm_reuses_rows(csr) ? spmm_pack_rows(spmm) : WEFT_OK, status, done);
    } else if (form == HAL_SPMM_SHARED) {
        WEFT_TRY_GOTO(spmm_build_shared(spmm, csr, hal->keep_folder), status, done);
    } else if (form == HAL_SPMM_BLOCKS || (form == HAL_SPMM_I16 && fills_blocks(spmm))) {
        WEFT_TRY_GOTO(spmm_build_blocks(spmm, csr, 0, spmm->blocks), status, done);
    } else {
        WEFT_TRY_GOTO(spmm_build_lists(spmm, csr, 0, spmm->blocks), status, done);
    }
done:
    if (status != WEFT_OK) {
        spmm_free(spmm);
        spmm = NULL;
    }
    *out = spmm;
    return status;
}

static weft_status check_matrix(const weft_hal *hal, const hal_csr *csr, int64_t max_d)
{
    WEFT_CHECK(max_d >= 0, WEFT_ERR_UNSUPPORTED, "aggregation of width %lld", (long long)max_d);
    return check_csr(csr, hal->threads);
}

static weft_status op_try(weft_hal *hal, const hal_csr *csr, const hal_spmm_request *request, hal_spmm_trial *trial)
{
    *trial = (hal_spmm_trial){.seconds = {0}};
    WEFT_TRY(check_matrix(hal, csr, request->max_d));
    return csr->value != NULL ? WEFT_OK : spmm_try(hal, csr, request, trial); /* rows alone hold values */
}

static weft_status prepare_auto(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm **out)
{
    hal_spmm_trial trial = {.seconds = {0}};
    WEFT_TRY(spmm_try(hal, csr, &(hal_spmm_request){.max_d = max_d, .dense = true}, &trial));
    return hal_spmm_take(hal, csr, max_d, &trial, hal_spmm_pick(trial.seconds, trial.expected), out);
}

static weft_status op_create(weft_hal *hal, const hal_csr *csr, hal_spmm_form form, int64_t max_d, hal_spmm **out)
{
    double started = clock_seconds();
    *out = NULL;
    WEFT_TRY(check_matrix(hal, csr, max_d));
    WEFT_CHECK(
        csr->value == NULL || form == HAL_SPMM_AUTO || form == HAL_SPMM_ROWS, WEFT_ERR_UNSUPPORTED,
        "blocks, lists, tiles, shared sums and i16 of an aggregation matrix hold no weights of edges: take rows");
    form = csr->value != NULL ? HAL_SPMM_ROWS : form;
    WEFT_TRY(form == HAL_SPMM_AUTO ? prepare_auto(hal, csr, max_d, out) : spmm_prepare(hal, csr, form, max_d, out));
    (*out)->build_seconds = clock_seconds() - started;
    return WEFT_OK;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

static size_t cell_bytes(bool narrow)
{
    return narrow ? sizeof(uint16_t) : sizeof(float);
}

spmm_pass spmm_pass_of(const spmm_call *args, int64_t column, int width)
{
    const char *x = (const char *)args->x + (size_t)column * cell_bytes(args->narrow);
    return (spmm_pass){.x = x,
                       .ldx = args->ldx,
                       .narrow = args->narrow,
                       .width = width,
                       .pre = args->pre,
                       .post = args->post,
                       .diag = args->diag,
                       .self = x,
                       .ldself = args->ldx,
                       .narrow_self = args->narrow && args->diag != NULL,
                       .beta = (float)args->beta,
                       .out = (char *)args->out + (size_t)column * cell_bytes(args->narrow_out),
                       .ldo = args->ldo,
                       .narrow_out = args->narrow_out};
}

/* Whole lines, never read by this pass, and more of them than the caches keep. */
static bool streams(const hal_spmm *spmm, const spmm_call *args, const spmm_pass *pass)
{
    const int64_t line = LINE_BYTES / (int64_t)sizeof(float);
    return !pass->narrow_out && !pass->narrow_self && args->beta == 0.0 &&
           spmm->rows * args->d * (int64_t)sizeof(float) > STREAM_BYTES && args->ldo % line == 0 &&
           pass->width % line == 0 && (uintptr_t)pass->out % LINE_BYTES == 0;
}

/* Where a slice starts among `units` of work, which follow one another. */
static int64_t slice_start(const spmm_call *args, int64_t units, int slice)
{
    return args->slices > 1 ? units * slice / args->slices : units * slice;
}

int64_t spmm_first_row(const hal_spmm *spmm, const spmm_call *args, int part, int slice)
{
    const int64_t rows = spmm->split[part + 1] - spmm->split[part];
    return spmm->split[part] + slice_start(args, rows, slice);
}

/* Copies a row of bfloat16: of a whole strip in line, as a call takes longer than a row. */
static void copy_halves(const uint16_t *from, int width, uint16_t *to)
{
    if (width == SPMM_STRIP) {
        memcpy(to, from, SPMM_STRIP * sizeof *to);
    } else if (width == SPMM_STRIP_NARROW) {
        memcpy(to, from, SPMM_STRIP_NARROW * sizeof *to);
    } else {
        memcpy(to, from, (size_t)width * sizeof *to);
    }
}

/* Columns of bfloat16 as spmm_paired says, those of ROWS in order; columns past the width become zeros. */
static void pack_halves(const hal_spmm *spmm, const spmm_pass *pass, int strip, int64_t begin, int64_t end)
{
    const bool paired = spmm->form != HAL_SPMM_ROWS && spmm_paired(strip, spmm->kernels->lanes);
    const int half = strip / 2;
    for (int64_t place = begin; place < end; place++) {
        const int64_t row = spmm_source_of(spmm, place);
        if (row < 0) {
            continue;
        }
        const uint16_t *x = (const uint16_t *)pass->x + row * pass->ldx;
        uint16_t *to = (uint16_t *)spmm->packed + place * strip;
        if (!paired) {
            copy_halves(x, pass->width, to);
            if (pass->width < strip) {
                memset(to + pass->width, 0, (size_t)(strip - pass->width) * sizeof *to);
            }
            continue;
        }
        uint16_t from[SPMM_STRIP] = {0};
        copy_halves(x, pass->width, from);
        for (int i = 0; i < half; i++) {
            to[2 * i] = from[i];
            to[2 * i + 1] = from[half + i];
        }
    }
}

static void pack_widened_halves(const hal_spmm *spmm, const spmm_pass *pass, int strip, int64_t begin, int64_t end)
{
    for (int64_t place = begin; place < end; place++) {
        const int64_t row = spmm_source_of(spmm, place);
        if (row < 0) {
            continue;
        }
        const uint16_t *from = (const uint16_t *)pass->x + row * pass->ldx;
        float *to = spmm->packed + place * strip;
        const float scale = pass->pre != NULL ? pass->pre[row] : 1.0F;
        for (int i = 0; i < pass->width; i++) {
            to[i] = bf16_to_float(from[i]) * scale;
        }
        for (int i = pass->width; i < strip; i++) {
            to[i] = 0.0F;
        }
    }
}

/* Asks for a row of float32 that is packed soon, where they are packed in another order than they lie in. */
static void ask_for_source(const hal_spmm *spmm, const spmm_pass *pass, int64_t place, int64_t end)
{
    if (spmm->source == NULL || place >= end || spmm->source[place] < 0) {
        return;
    }
    const float *row = (const float *)pass->x + spmm->source[place] * pass->ldx;
    for (int i = 0; i < pass->width; i += LINE_BYTES / (int)sizeof *row) {
        __builtin_prefetch(row + i, 0, 3);
    }
}

void spmm_pack_wide(const hal_spmm *spmm, const spmm_pass *pass, int strip, int part)
{
    const hal_span own = hal_split_rows(spmm->places, spmm->parts, part);
    if (pass->narrow) {
        pack_widened_halves(spmm, pass, strip, own.begin, own.end);
        return;
    }
    for (int64_t place = own.begin; place < own.end; place++) {
        const int64_t row = spmm_source_of(spmm, place);
        if (row < 0) {
            continue;
        }
        ask_for_source(spmm, pass, place + SPMM_SOURCES_AHEAD, own.end);
        const float *from = (const float *)pass->x + row * pass->ldx;
        float *to = spmm->packed + place * strip;
        const float scale = pass->pre != NULL ? pass->pre[row] : 1.0F;
        if (pass->width == SPMM_STRIP) {
            for (int i = 0; i < SPMM_STRIP; i++) {
                to[i] = from[i] * scale;
            }
            continue;
        }
        for (int i = 0; i < pass->width; i++) {
            to[i] = from[i] * scale;
        }
        for (int i = pass->width; i < strip; i++) {
            to[i] = 0.0F;
        }
    }
}

/* Copies a part's share of a strip to [cols, strip]. Scaled sources become float32: they are not rounded again. */
static void pack_strip(const hal_spmm *spmm, const spmm_pass *pass, int strip, int part)
{
    if (pass->narrow && pass->pre == NULL) {
        const hal_span own = hal_split_rows(spmm->places, spmm->parts, part);
        pack_halves(spmm, pass, strip, own.begin, own.end);
    } else {
        spmm_pack_wide(spmm, pass, strip, part);
    }
}

/* Columns from `column` on of the packed sources, rows of ld. */
static void read_packed(const hal_spmm *spmm, int64_t column, int64_t ld, spmm_pass *pass)
{
    pass->narrow = pass->narrow && pass->pre == NULL;
    pass->x = (const char *)spmm->packed + (size_t)column * cell_bytes(pass->narrow);
    pass->ldx = ld;
    pass->pre = NULL;
}

/* Narrow sources with something else between them, read many times, cost up to three times as much as side by side
 * (head comment); scaled once they need no line of scales each. */
static bool packs_rows(const hal_spmm *spmm, const spmm_call *args)
{
    return spmm->packed != NULL && args->d <= SPMM_ROWS_PACKED && 2 * args->ldx >= 3 * args->d;
}

static void run_rows(const hal_spmm *spmm, const spmm_call *args)
{
    const spmm_kernels *k = spmm->kernels;
    const int64_t widest = (int64_t)k->lanes * k->max_vectors;
    const int64_t strips = (args->d + widest - 1) / widest;
    const int64_t line = LINE_BYTES / (int64_t)sizeof(float);
    const int64_t share = ((args->d + strips - 1) / strips + line - 1) / line * line; /* equal strips of whole lines */
    const int64_t step = share < widest ? share : widest;
    const bool packs = packs_rows(spmm, args);
    assert(args->d <= spmm->max_d);
    if (packs && args->slice == 0) {
        const spmm_pass pass = spmm_pass_of(args, 0, (int)args->d);
#pragma omp parallel for num_threads(spmm->parts) schedule(static, 1)
        for (int part = 0; part < spmm->parts; part++) {
            pack_strip(spmm, &pass, (int)args->d, part);
        }
    }
#pragma omp parallel for num_threads(spmm->parts) schedule(static, 1)
    for (int part = 0; part < spmm->parts; part++) {
        int64_t at = spmm_first_row(spmm, args, part, args->slice);
        const int64_t end = spmm_first_row(spmm, args, part, args->slice + 1);
        for (spmm_span span; spmm_next_span(spmm, args, &at, end, &span);) {
            spmm_rows m = spmm->by_row;
            m.start += span.moved;
            for (int64_t column = 0; column < args->d; column += step) {
                int width = (int)(args->d - column < step ? args->d - column : step);
                spmm_pass pass = spmm_pass_of(&span.call, column, width);
                pass.stream = streams(spmm, &span.call, &pass);
                if (packs) {
                    read_packed(spmm, column, args->d, &pass);
                }
                k->rows(&m, span.begin, span.end, &pass);
            }
        }
    }
}

/* Blocks [begin, end) of a strip. last: of the run. */
static void sweep_blocks(const hal_spmm *spmm, spmm_pass pass, int strip, int part, int64_t begin, int64_t end,
                         int64_t last)
{
    const spmm_blocks *m = &spmm->by_block;
    const char *x = pass.x;
    for (int64_t b = begin; b < end; b++) {
        const spmm_chunk *chunk = &m->chunk[part * m->count + b];
        pass.x = x + (size_t)(((m->first + b) << m->shift) * strip) * cell_bytes(pass.narrow);
        pass.first = m->first + b == 0 && !spmm_is_tiled(spmm);
        pass.last = m->first + b == last;
        if (spmm->form == HAL_SPMM_BLOCKS) {
            spmm->kernels->blocks(m->row_start + chunk->row, m->column + chunk->edge, strip, spmm->split[part],
                                  spmm_swept_end(spmm, part, pass.marked_rows), &pass);
        } else {
            spmm->kernels->lists(m, chunk, strip, spmm->split[part], &pass);
        }
    }
}

/* Tiles of bands [begin, end): the sums of a band, which begin here, stay in the second-level cache. */
static void sweep_tiles(const hal_spmm *spmm, spmm_pass pass, int strip, int part, int64_t begin, int64_t end)
{
    const spmm_blocks *m = &spmm->tiles;
    pass.first = pass.last = false;
    for (int64_t band = begin; band < end; band++) {
        const int64_t row = spmm->split[part] + (band - spmm->first_band[part]) * m->window;
        const int64_t left = spmm->split[part + 1] - row;
        const int64_t rows = left < m->window ? left : m->window;
        memset(pass.sum + row * strip, 0, (size_t)(rows * strip) * sizeof *pass.sum);
        spmm->kernels->lists(m, &m->chunk[band], strip, row, &pass);
    }
}

/* A strip's units of work: blocks, and of TILES before them as many shares of a part's bands. */
static int64_t shares_of(const hal_spmm *spmm)
{
    return spmm_is_tiled(spmm) ? spmm->by_block.count : 0;
}

static void sweep_units(const hal_spmm *spmm, const spmm_pass *pass, int strip, int part, int64_t begin, int64_t end,
                        int64_t last)
{
    const int64_t shares = shares_of(spmm);
    const int64_t tiled = end < shares ? end : shares;
    if (shares > 0 && begin < tiled) {
        const int64_t first = spmm->first_band[part];
        const int64_t bands = spmm->first_band[part + 1] - first;
        sweep_tiles(spmm, *pass, strip, part, first + bands * begin / shares, first + bands * tiled / shares);
        begin = tiled;
    }
    sweep_blocks(spmm, *pass, strip, part, begin - shares, end - shares, last);
}

/* x is already a packed strip: its rows are whole lines side by side. */
static bool is_packed(const hal_spmm *spmm, const spmm_call *args, int strip)
{
    return spmm->source == NULL && !args->narrow && args->d == strip && args->ldx == strip && args->pre == NULL &&
           (uintptr_t)args->x % LINE_BYTES == 0;
}

/* The work is a sequence of (strip, unit): a slice may end between two units, the sums and the packed strip wait. */
static void run_packed(const hal_spmm *spmm, const spmm_call *args)
{
    const int64_t blocks = spmm_run_blocks(spmm, args->part);
    const int64_t last_block = args->part == HAL_SPMM_MARKED_COLS ? blocks - 1 : spmm->blocks - 1; /* samples: later */
    const int64_t of_strip = shares_of(spmm) + blocks;
    const int64_t widest = spmm_strip(spmm->usual_d);
    const int64_t units = of_strip * ((args->d + widest - 1) / widest);
    const int64_t end = slice_start(args, units, args->slice + 1);
#pragma omp parallel num_threads(spmm->parts)
    {
        const int first = omp_get_thread_num();
        const int team = omp_get_num_threads();
        int64_t next;
        for (int64_t unit = slice_start(args, units, args->slice); unit < end; unit = next) {
            const int64_t begin = unit % of_strip;
            const int64_t column = unit / of_strip * widest;
            const int64_t last = end - unit < of_strip - begin ? begin + end - unit : of_strip;
            int width = (int)(args->d - column < widest ? args->d - column : widest);
            int strip = spmm_strip(width);
            spmm_pass pass = spmm_pass_of(args, column, width);
            pass.sum = spmm->sum;
            pass.marked_rows = args->part == HAL_SPMM_MARKED_ROWS;
            if (!is_packed(spmm, args, strip)) {
                for (int part = first; begin == 0 && part < spmm->parts; part += team) {
                    pack_strip(spmm, &pass, strip, part);
                }
                read_packed(spmm, 0, strip, &pass);
#pragma omp barrier
            }
            for (int part = first; part < spmm->parts; part += team) {
                pass.order = spmm->order;
                pass.left_end = spmm->split[part + 1];
                sweep_units(spmm, &pass, strip, part, begin, last, last_block);
            }
#pragma omp barrier
            next = unit + last - begin;
        }
    }
}

void spmm_run_float(const hal_spmm *spmm, const spmm_call *args)
{
    if (spmm_is_weighted(spmm)) {
        spmm_run_weighted(spmm, args);
    } else if (spmm->form == HAL_SPMM_ROWS) {
        run_rows(spmm, args);
    } else if (spmm->form == HAL_SPMM_SHARED) {
        spmm_run_shared(spmm, args);
    } else {
        run_packed(spmm, args);
    }
    if (args->slice + 1 >= args->slices) {
        spmm_put_long_rows(spmm, args);
    }
}

weft_status cpu_spmm_run(weft_hal *hal, const hal_spmm_run_args *args)
{
    (void)hal;
    const hal_spmm *spmm = args->matrix;
    weft_dtype dtype;
    WEFT_TRY(hal_op_type(HAL_OP_spmm_run, args, &dtype));
    const spmm_call call = {.d = args->out.cols,
                            .wide = dtype == WEFT_DTYPE_F64,
                            .x = args->x.source,
                            .ldx = args->x.ld,
                            .narrow = args->x.dtype == WEFT_DTYPE_BF16,
                            .narrow_out = args->out.dtype == WEFT_DTYPE_BF16,
                            .pre = args->pre.source,
                            .post = args->post.source,
                            .diag = args->diag.source,
                            .beta = args->beta,
                            .out = args->out.data,
                            .ldo = args->out.ld,
                            .part = args->part,
                            .slice = args->slice,
                            .slices = args->slices};
    assert(args->out.rows == spmm->rows && args->x.rows == spmm->cols && args->x.cols == call.d);
    WEFT_CHECK(spmm->form != HAL_SPMM_I16, WEFT_ERR_UNSUPPORTED,
               "an aggregation matrix of the form i16 sums rows of 16-bit fixed point, not of %s",
               weft_dtype_name(args->x.dtype));
    WEFT_CHECK(call.d <= spmm->max_d, WEFT_ERR_UNSUPPORTED, "aggregation of width %lld, prepared for %lld",
               (long long)call.d, (long long)spmm->max_d);
    WEFT_CHECK(call.diag == NULL || spmm->rows <= spmm->cols, WEFT_ERR_UNSUPPORTED,
               "a diagonal needs rows <= columns, not %lld x %lld", (long long)spmm->rows, (long long)spmm->cols);
    WEFT_CHECK(args->part == HAL_SPMM_ALL_EDGES || spmm->marked, WEFT_ERR_INTERNAL,
               "a run along marked edges of a matrix without marks");
    WEFT_CHECK(args->slice >= 0 && args->slice < (args->slices > 1 ? args->slices : 1), WEFT_ERR_INTERNAL,
               "slice %d of %d of an aggregation", args->slice, args->slices);
    if (spmm->rows == 0 || call.d <= 0) {
        return WEFT_OK;
    }
    if (call.wide) {
        spmm_run_double(spmm, &call);
    } else {
        spmm_run_float(spmm, &call);
    }
    return WEFT_OK;
}

static void op_destroy(weft_hal *hal, hal_spmm *spmm)
{
    (void)hal;
    spmm_free(spmm);
}

/* All reads are of the packed strip. */
static void tell_shared(const hal_spmm *spmm, hal_spmm_info *info)
{
    const spmm_shared_rows *m = &spmm->shared;
    const int64_t rows = m->sums + m->targets;
    const int64_t strip = spmm_strip(spmm->usual_d);
    info->set_bytes = (uint64_t)(spmm->cols + m->sums) * (uint64_t)strip * sizeof(float);
    info->reads = rows > 0 ? m->start[2 * rows] : 0;
    info->sums = m->sums;
}

/* What a thread reads again and again: a block's strip and a tile's, or what ROWS' modelled cache holds. */
static void tell_set(const hal_spmm *spmm, hal_spmm_info *info)
{
    if (spmm->form == HAL_SPMM_ROWS) {
        const int64_t slots = spmm_cache_slots(spmm->max_d);
        const int64_t held = slots < spmm->cols ? slots : spmm->cols;
        info->set_bytes = (uint64_t)held * (uint64_t)spmm_cache_width(spmm->max_d) * sizeof(float);
        info->far_edges = spmm->by_row.start[spmm->split[spmm->parts]].far;
        return;
    }
    if (spmm->form == HAL_SPMM_SHARED) {
        tell_shared(spmm, info);
        return;
    }
    const int64_t brought = spmm->parts * spmm->cols; /* by each thread, block by block */
    const int64_t held = info->block_cols < spmm->cols ? info->block_cols : spmm->cols;
    info->set_bytes = (uint64_t)held * spmm_strip_bytes(spmm->form, spmm->usual_d);
    info->far_edges = brought < spmm->edges ? brought : spmm->edges;
    if (spmm_is_tiled(spmm)) {
        const int64_t tile = spmm->tiles.column_step;
        info->tile_bytes =
            (uint64_t)(tile < spmm->cols ? tile : spmm->cols) * (uint64_t)spmm_strip(spmm->usual_d) * sizeof(float);
        info->tile_edges = spmm->tiles.chunk[spmm->tiles.count].edge;
    }
}

static hal_spmm_info op_info(weft_hal *hal, const hal_spmm *spmm)
{
    (void)hal;
    const bool blocked = spmm_is_blocked(spmm->form);
    hal_spmm_info info = {.form = spmm->form,
                          .block_cols = blocked ? INT64_C(1) << spmm->by_block.shift : spmm->cols,
                          .bytes = spmm->bytes,
                          .marked = spmm->marked,
                          .build_seconds = spmm->build_seconds};
    if (!spmm_is_weighted(spmm)) {
        tell_set(spmm, &info);
    }
    return info;
}

void cpu_sparse_ops(hal_sparse_ops *ops)
{
    *ops = (hal_sparse_ops){
        .spmm_create = op_create, .spmm_try = op_try, .spmm_destroy = op_destroy, .spmm_info = op_info};
}
