/*
 * hal/cpu/sparse/spmm_build_lists.c: the LISTS form, and TILES, which is LISTS of the edges that no tile holds.
 *
 *  LISTS   for each (part, block): windows of up to 1,024 rows; in a window the rows with edges in this block, sorted
 *          by their number of edges, as runs of equal length. The kernel's inner loops then have the same trip count
 *          many times in a row (no mispredicted exits), several rows advance together, and rows without edges cost
 *          nothing. The last block lists all rows, because its sweep also applies beta and the diagonal; the first one
 *          too, because its sweep begins the sums, where no tile does.
 *  TILES   the same, of windows of up to 2,048 rows, behind the lists of tiles (spmm_tiles.h)
 *
 * Built in two passes over the CSR, each part by the thread that will use it; no copy of the edges is made, but by
 * TILES one of a window's. Memory: 2 bytes an edge, plus 2 a non-empty pair and 8 a run. The idea of sorting rows by
 * length inside a window: Kreutzer, Hager, Wellein, Fehske, Bishop, "A unified sparse matrix data format
 * (SELL-C-sigma)", SIAM J. Sci. Comput. 36(5), 2014, doi:10.1137/130930352.
 */
#include <string.h>

#include "hal/cpu/sparse/spmm_marks.h"
#include "hal/cpu/sparse/spmm_tiles.h"

enum { COUNTERS = 1 << 18, MIN_WINDOW = 64 };

/* One thread's scratch while its windows are listed. */
typedef struct list_builder {
    const hal_spmm *spmm;
    const hal_csr *csr;
    const int32_t *place;   /* [cols] of the packed strip; NULL: as columns are numbered */
    spmm_run_writer writer; /* [window] */
    spmm_tile_builder tiles;
    bool tiled;          /* some edges are in tiles, which come first */
    int64_t blocks;      /* of the whole matrix */
    spmm_run_place *end; /* [count] of each block's chunk */
    uint32_t *edges;     /* [count, window] edges of each row in each block; then where they go */
} list_builder;

/* Of the rows of a window those that are marked, or those that are not. */
typedef struct list_rows {
    int64_t first, count; /* rows of the window */
    int64_t window;
    bool unmarked;
} list_rows;

/* Runs and row ids of one block and window; edges[] of listed rows become places relative to the chunk. */
static void list_block(list_builder *b, int64_t block, uint32_t *edges, list_rows rows, int64_t base)
{
    const int64_t number = b->writer.m->first + block;
    const bool ends = number == b->blocks - 1 || number == b->spmm->marked_blocks - 1;
    const bool all = (number == 0 && !b->tiled) || ends;
    int64_t listed = 0;
    for (int64_t i = 0; i < rows.count; i++) {
        if ((all || edges[i] > 0) && spmm_leaves_row(b->spmm, b->csr, rows.first + i) == rows.unmarked) {
            b->writer.id[listed++] = (uint32_t)i;
        }
    }
    b->writer.unmarked = rows.unmarked;
    spmm_runs_sort(&b->writer, listed, edges);
    spmm_runs_put(&b->writer, listed, NULL, rows.window, base, &b->end[block], edges);
}

static int32_t place_of(const list_builder *b, int32_t column)
{
    return b->place != NULL ? b->place[column] : column;
}

static void list_window(list_builder *b, const spmm_chunk *start, spmm_edge_view view, list_rows all)
{
    const int64_t rows = all.count;
    spmm_blocks *m = b->writer.m;
    memset(b->edges, 0, (size_t)(m->count * m->window) * sizeof *b->edges);
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t e = view.offset[row]; e < view.offset[row + 1]; e++) {
            int64_t block = spmm_block_of(m, place_of(b, view.column[e]));
            if (spmm_holds(m, block)) {
                b->edges[block * m->window + row]++;
            }
        }
    }
    for (int64_t block = 0; block < m->count; block++) {
        list_block(b, block, b->edges + block * m->window, all, start[block].edge);
        if (b->spmm->marked) {
            all.unmarked = true;
            list_block(b, block, b->edges + block * m->window, all, start[block].edge);
            all.unmarked = false;
        }
    }
    if (!b->writer.fill) {
        return;
    }
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t e = view.offset[row]; e < view.offset[row + 1]; e++) {
            const int32_t column = place_of(b, view.column[e]);
            int64_t block = spmm_block_of(m, column);
            if (spmm_holds(m, block)) {
                uint32_t place = b->edges[block * m->window + row]++;
                m->column[start[block].edge + place] = spmm_local_of(m, column);
            }
        }
    }
}

/* First pass (fill = false): chunk[] of this part become sizes. Second pass: its data are written. */
static void list_part(list_builder *b, const hal_spmm *spmm, int part)
{
    spmm_blocks *m = b->writer.m;
    spmm_chunk *chunk = m->chunk + part * m->count;
    for (int64_t block = 0; block < m->count; block++) {
        b->end[block] = (spmm_run_place){.next = b->writer.fill ? chunk[block] : (spmm_chunk){0, 0, 0}};
    }
    const int64_t end = spmm->split[part + 1];
    int64_t window = 0;
    for (int64_t row = spmm->split[part]; row < end; row += m->window, window++) {
        const int64_t rows = end - row < m->window ? end - row : m->window;
        spmm_edge_view view = {.offset = b->csr->offset + row, .column = b->csr->column};
        if (b->tiled) {
            view = spmm_tiles_split(&b->tiles, spmm->first_band[part] + window, row, rows);
        }
        list_window(b, chunk, view, (list_rows){.first = row, .count = rows, .window = window});
    }
    for (int64_t block = 0; !b->writer.fill && block < m->count; block++) {
        chunk[block] = b->end[block].next;
    }
}

static int64_t window_rows(int64_t most, int64_t blocks)
{
    int64_t window = most;
    while (window > MIN_WINDOW && window * blocks > COUNTERS) {
        window /= 2;
    }
    return window;
}

static void free_builders(list_builder *builder, int parts)
{
    for (int p = 0; builder != NULL && p < parts; p++) {
        spmm_tile_builder_free(&builder[p].tiles);
        WEFT_FREE_ALL(builder[p].end, builder[p].edges, builder[p].writer.id, builder[p].writer.swap);
    }
    weft_free(builder);
}

static weft_status new_builders(hal_spmm *spmm, const hal_csr *csr, const int32_t *place, list_builder **out)
{
    spmm_blocks *m = &spmm->by_block;
    const int parts = spmm->parts;
    weft_status status = WEFT_OK;
    list_builder *builder = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&builder, parts, WEFT_MEM_WORKSPACE), status, done);
    for (int p = 0; p < parts; p++) {
        list_builder *b = &builder[p];
        b->spmm = spmm;
        b->csr = csr;
        b->place = place;
        b->writer.m = m;
        b->blocks = spmm->blocks;
        b->tiled = spmm_is_tiled(spmm);
        WEFT_TRY_GOTO(WEFT_NEW(&b->end, m->count, WEFT_MEM_WORKSPACE), status, done);
        WEFT_TRY_GOTO(WEFT_NEW(&b->edges, m->count * m->window, WEFT_MEM_WORKSPACE), status, done);
        WEFT_TRY_GOTO(WEFT_NEW(&b->writer.id, m->window, WEFT_MEM_WORKSPACE), status, done);
        WEFT_TRY_GOTO(WEFT_NEW(&b->writer.swap, m->window, WEFT_MEM_WORKSPACE), status, done);
        WEFT_TRY_GOTO(b->tiled ? spmm_tile_builder_new(spmm, csr, p, &b->tiles) : WEFT_OK, status, done);
    }
done:
    if (status != WEFT_OK) {
        free_builders(builder, parts);
        builder = NULL;
    }
    *out = builder;
    return status;
}

/* Room for what the first pass has counted. */
static weft_status new_lists(hal_spmm *spmm, spmm_blocks *m, int64_t chunks)
{
    spmm_sizes_to_starts(m->chunk, chunks);
    const spmm_chunk total = m->chunk[chunks];
    WEFT_TRY(spmm_new(spmm, (size_t)total.run, sizeof *m->run, (void **)&m->run));
    WEFT_TRY(spmm_new(spmm, (size_t)total.row + SPMM_SLACK, sizeof *m->row_id, (void **)&m->row_id));
    memset(m->row_id + total.row, 0, SPMM_SLACK * sizeof *m->row_id);
    return spmm_new_columns(spmm, total.edge, &m->column);
}

weft_status spmm_build_lists(hal_spmm *spmm, const hal_csr *csr, int64_t first, int64_t count)
{
    spmm_blocks *m = &spmm->by_block;
    const int parts = spmm->parts;
    const bool tiled = spmm_is_tiled(spmm);
    list_builder *builder = NULL;
    int32_t *place = NULL;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(spmm_new_places(spmm, &place), status, done);
    WEFT_TRY_GOTO(spmm_begin_blocks(spmm, csr, first, count), status, done);
    m->window = window_rows(tiled ? SPMM_BAND : SPMM_WINDOW, count);
    m->row_step = m->window;
    WEFT_TRY_GOTO(tiled ? spmm_tiles_begin(spmm) : WEFT_OK, status, done);
    WEFT_TRY_GOTO(new_builders(spmm, csr, place, &builder), status, done);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int p = 0; p < parts; p++) {
        list_part(&builder[p], spmm, p);
    }
    WEFT_TRY_GOTO(new_lists(spmm, m, parts * count), status, done);
    WEFT_TRY_GOTO(tiled ? new_lists(spmm, &spmm->tiles, spmm->tiles.count) : WEFT_OK, status, done);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int p = 0; p < parts; p++) {
        builder[p].writer.fill = builder[p].tiles.writer.fill = true;
        list_part(&builder[p], spmm, p);
    }
done:
    free_builders(builder, parts);
    weft_free(place);
    return status;
}
