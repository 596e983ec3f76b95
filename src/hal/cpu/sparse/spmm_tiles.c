/* hal/cpu/sparse/spmm_tiles.c: see hal/cpu/sparse/spmm_tiles.h. */
#include "hal/cpu/sparse/spmm_tiles.h"

#include <stdlib.h>
#include <string.h>

int spmm_tile_shift(int64_t usual_d)
{
    const int64_t fit = (int64_t)(cpu_l1_bytes() * 3 / 4) / (spmm_strip(usual_d) * (int64_t)sizeof(float));
    int shift = 6;
    while ((INT64_C(2) << shift) <= fit && (INT64_C(2) << shift) < SPMM_MIN_BLOCK) {
        shift++;
    }
    return shift;
}

int64_t spmm_tiled_edges(const hal_csr *csr, int64_t row, int shift, uint32_t *count)
{
    int64_t edges = 0;
    for (int64_t e = csr->offset[row]; e < csr->offset[row + 1]; e++) {
        count[csr->column[e] >> shift]++;
    }
    for (int64_t e = csr->offset[row]; e < csr->offset[row + 1]; e++) {
        edges += count[csr->column[e] >> shift] >= SPMM_TILE_EDGES;
    }
    for (int64_t e = csr->offset[row]; e < csr->offset[row + 1]; e++) {
        count[csr->column[e] >> shift] = 0;
    }
    return edges;
}

weft_status spmm_tiles_begin(hal_spmm *spmm)
{
    spmm_blocks *m = &spmm->tiles;
    m->window = spmm->by_block.window;
    m->shift = spmm_tile_shift(spmm->usual_d);
    m->column_step = INT64_C(1) << m->shift;
    WEFT_TRY(spmm_new(spmm, (size_t)spmm->parts + 1, sizeof *spmm->first_band, (void **)&spmm->first_band));
    spmm->first_band[0] = 0;
    for (int p = 0; p < spmm->parts; p++) {
        const int64_t rows = spmm->split[p + 1] - spmm->split[p];
        spmm->first_band[p + 1] = spmm->first_band[p] + (rows + m->window - 1) / m->window;
    }
    m->count = spmm->first_band[spmm->parts];
    WEFT_TRY(spmm_new(spmm, (size_t)m->count + 1, sizeof *m->chunk, (void **)&m->chunk));
    memset(m->chunk, 0, (size_t)(m->count + 1) * sizeof *m->chunk);
    return WEFT_OK;
}

/* ---- scratch ----------------------------------------------------------------------------------------------------- */
static int64_t most_edges_of_window(const hal_csr *csr, int64_t begin, int64_t end, int64_t window)
{
    int64_t most = 0;
    for (int64_t row = begin; row < end; row += window) {
        const int64_t last = row + window < end ? row + window : end;
        const int64_t edges = csr->offset[last] - csr->offset[row];
        most = edges > most ? edges : most;
    }
    return most;
}

weft_status spmm_tile_builder_new(hal_spmm *spmm, const hal_csr *csr, int part, spmm_tile_builder *b)
{
    spmm_blocks *m = &spmm->tiles;
    const int64_t tiles = spmm_block_count(csr->cols, m->shift);
    const int64_t edges = most_edges_of_window(csr, spmm->split[part], spmm->split[part + 1], m->window);
    const int64_t pairs = edges / SPMM_TILE_EDGES;
    b->csr = csr;
    b->writer.m = m;
    WEFT_TRY(WEFT_NEW(&b->writer.id, m->window, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->writer.swap, m->window, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&b->in_tile, tiles, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&b->pairs_in, tiles, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->met, tiles, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->listed, tiles, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->tile, pairs, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->row, pairs, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->edges, pairs, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->grouped, pairs, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->first_pair, m->window + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->rest_offset, m->window + 1, WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&b->rest_column, edges + 1, WEFT_MEM_WORKSPACE); /* one is written past the end, and over again */
}

void spmm_tile_builder_free(spmm_tile_builder *b)
{
    WEFT_FREE_ALL(b->writer.id, b->writer.swap, b->in_tile, b->pairs_in, b->met, b->listed, b->tile, b->row, b->edges,
                  b->grouped, b->first_pair, b->rest_offset, b->rest_column);
}

/* ---- splitting --------------------------------------------------------------------------------------------------- */
static void add_pair(spmm_tile_builder *b, int32_t tile, int64_t local)
{
    if (b->pairs_in[tile]++ == 0) {
        b->listed[b->listed_count++] = tile;
    }
    b->tile[b->pairs] = tile;
    b->row[b->pairs] = (uint16_t)local;
    b->edges[b->pairs++] = b->in_tile[tile];
}

/* Tiles that hold enough edges of a row become pairs; its other edges are left. */
static void split_row(spmm_tile_builder *b, int64_t row, int64_t local)
{
    const int32_t *column = b->csr->column;
    const int shift = b->writer.m->shift;
    const int64_t first = b->csr->offset[row], last = b->csr->offset[row + 1];
    int64_t met = 0;
    int64_t rest = b->rest_offset[local];
    for (int64_t e = first; e < last; e++) {
        const int32_t tile = column[e] >> shift;
        if (b->in_tile[tile]++ == 0) {
            b->met[met++] = tile;
        }
    }
    for (int64_t e = first; e < last; e++) {
        b->rest_column[rest] = column[e];
        rest += b->in_tile[column[e] >> shift] < SPMM_TILE_EDGES;
    }
    for (int64_t i = 0; i < met; i++) {
        if (b->in_tile[b->met[i]] >= SPMM_TILE_EDGES) {
            add_pair(b, b->met[i], local);
        }
        b->in_tile[b->met[i]] = 0;
    }
    b->rest_offset[local + 1] = rest;
    b->first_pair[local + 1] = b->pairs;
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Pairs by tile, in order of rows. [out] pairs_in: where those of a tile end. */
static void group_pairs(spmm_tile_builder *b)
{
    uint32_t start = 0;
    qsort(b->listed, (size_t)b->listed_count, sizeof *b->listed, by_number);
    for (int64_t i = 0; i < b->listed_count; i++) {
        const uint32_t count = b->pairs_in[b->listed[i]];
        b->pairs_in[b->listed[i]] = start;
        start += count;
    }
    for (int64_t pair = 0; pair < b->pairs; pair++) {
        b->grouped[b->pairs_in[b->tile[pair]]++] = (uint32_t)pair;
    }
}

static void list_pairs(spmm_tile_builder *b, int64_t base)
{
    uint32_t start = 0;
    group_pairs(b);
    for (int64_t i = 0; i < b->listed_count; i++) {
        const int32_t tile = b->listed[i];
        const uint32_t count = b->pairs_in[tile] - start;
        memcpy(b->writer.id, b->grouped + start, count * sizeof *b->grouped);
        spmm_runs_sort(&b->writer, count, b->edges);
        spmm_runs_put(&b->writer, count, b->row, tile, base, &b->place, b->edges);
        start = b->pairs_in[tile];
        b->pairs_in[tile] = 0;
    }
}

/* Columns of a row's pairs, to where edges[] says. */
static void put_columns(spmm_tile_builder *b, int64_t row, int64_t local, int64_t base)
{
    const spmm_blocks *m = b->writer.m;
    const int32_t *column = b->csr->column;
    for (int64_t pair = b->first_pair[local]; pair < b->first_pair[local + 1]; pair++) {
        b->in_tile[b->tile[pair]] = (uint32_t)pair + 1;
    }
    for (int64_t e = b->csr->offset[row]; e < b->csr->offset[row + 1]; e++) {
        const uint32_t pair = b->in_tile[column[e] >> m->shift];
        if (pair > 0) {
            m->column[base + b->edges[pair - 1]++] = spmm_local_of(m, column[e]);
        }
    }
    for (int64_t pair = b->first_pair[local]; pair < b->first_pair[local + 1]; pair++) {
        b->in_tile[b->tile[pair]] = 0;
    }
}

spmm_edge_view spmm_tiles_split(spmm_tile_builder *b, int64_t band, int64_t begin, int64_t rows)
{
    spmm_chunk *chunk = &b->writer.m->chunk[band];
    b->listed_count = b->pairs = 0;
    b->first_pair[0] = b->rest_offset[0] = 0;
    for (int64_t local = 0; local < rows; local++) {
        split_row(b, begin + local, local);
    }
    b->place = (spmm_run_place){.next = b->writer.fill ? *chunk : (spmm_chunk){0, 0, 0}};
    const int64_t base = b->place.next.edge;
    list_pairs(b, base);
    if (!b->writer.fill) {
        *chunk = b->place.next;
    }
    for (int64_t local = 0; b->writer.fill && local < rows; local++) {
        put_columns(b, begin + local, local, base);
    }
    return (spmm_edge_view){.offset = b->rest_offset, .column = b->rest_column};
}
