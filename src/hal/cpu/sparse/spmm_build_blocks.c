/*
 * hal/cpu/sparse/spmm_build_blocks.c: the BLOCKS and LISTS forms: sources cut into blocks of 2^shift, columns stored in 16
 * bits relative to their block, everything in the order in which the thread that owns the rows will read it.
 *
 *   BLOCKS  for each (part, block): rows + 1 offsets, then the columns row by row
 *   LISTS   for each (part, block): windows of up to 1,024 rows; in a window the rows with edges in this block, sorted
 *           by their number of edges, as runs of equal length. The kernel's inner loops then have the same trip count
 *           many times in a row (no mispredicted exits), several rows advance together, and rows without edges cost
 *           nothing. The first block lists all rows, because its sweep also applies beta and the diagonal.
 *
 * Both are built in two passes over the CSR, each part by the thread that will use it; no copy of the edges is made.
 * Memory: 2 bytes an edge, plus 4 a row and block (BLOCKS) or 2 a non-empty pair and 8 a run (LISTS).
 * The idea of sorting rows by length inside a window: Kreutzer, Hager, Wellein, Fehske, Bishop, "A unified sparse
 * matrix data format (SELL-C-sigma)", SIAM J. Sci. Comput. 36(5), 2014, doi:10.1137/130930352.
 */
#include <string.h>

#include "hal/cpu/sparse/spmm.h"

enum { COUNTERS = 1 << 18, MIN_WINDOW = 64, RADIX = 256, MAX_STEP = UINT16_MAX };

int spmm_block_shift(hal_spmm_form form, int64_t max_d)
{
    const int64_t room = (int64_t)cpu_l2_bytes() / (form == HAL_SPMM_BLOCKS ? 1 : 2);
    const int64_t fit = room / (spmm_strip(max_d) * (int64_t)sizeof(float));
    int shift = 13;
    while ((INT64_C(2) << shift) <= fit && (INT64_C(2) << shift) <= SPMM_MAX_BLOCK) {
        shift++;
    }
    return shift;
}

/* Block of a column among those held, or a negative or too large number. */
static int64_t block_of(const spmm_blocks *m, int32_t column)
{
    return ((int64_t)column >> m->shift) - m->first;
}

static uint16_t local_of(const spmm_blocks *m, int32_t column)
{
    return (uint16_t)(column & ((INT32_C(1) << m->shift) - 1));
}

static bool holds(const spmm_blocks *m, int64_t block)
{
    return block >= 0 && block < m->count;
}

static weft_status begin_blocks(hal_spmm *spmm, const hal_csr *csr, int64_t first, int64_t count)
{
    spmm_blocks *m = &spmm->by_block;
    m->first = first;
    m->count = count;
    m->shift = spmm_block_shift(spmm->form, spmm->max_d);
    for (int p = 0; p < spmm->parts; p++) {
        int64_t edges = csr->offset[spmm->split[p + 1]] - csr->offset[spmm->split[p]];
        WEFT_CHECK(
            edges < UINT32_MAX, WEFT_ERR_UNSUPPORTED,
            "%lld edges for one thread, the blocked aggregation forms hold 2^32: use more threads or the form rows",
            (long long)edges);
    }
    size_t chunks = (size_t)spmm->parts * (size_t)count + 1;
    WEFT_TRY(spmm_new(spmm, chunks, sizeof *m->chunk, (void **)&m->chunk));
    memset(m->chunk, 0, chunks * sizeof *m->chunk);
    return WEFT_OK;
}

/* chunk[i] holds the sizes of chunk i: turn them into starts. The last entry, zero, becomes the total. */
static void sizes_to_starts(spmm_chunk *chunk, int64_t chunks)
{
    spmm_chunk sum = {0, 0, 0};
    for (int64_t i = 0; i <= chunks; i++) {
        spmm_chunk size = chunk[i];
        chunk[i] = sum;
        sum.run += size.run;
        sum.row += size.row;
        sum.edge += size.edge;
    }
}

static weft_status new_columns(hal_spmm *spmm, int64_t edges)
{
    uint16_t **column = &spmm->by_block.column;
    WEFT_TRY(spmm_new(spmm, (size_t)edges + SPMM_SLACK, sizeof **column, (void **)column));
    memset(*column + edges, 0, SPMM_SLACK * sizeof **column);
    return WEFT_OK;
}

/* ---- BLOCKS ----------------------------------------------------------------------------------------------------- */

static void blocks_count(hal_spmm *spmm, const hal_csr *csr, int part)
{
    spmm_blocks *m = &spmm->by_block;
    const int64_t begin = spmm->split[part];
    const int64_t rows = spmm->split[part + 1] - begin;
    uint32_t *start = m->row_start + (begin + part) * m->count;
    memset(start, 0, (size_t)((rows + 1) * m->count) * sizeof *start);
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t e = csr->offset[begin + row]; e < csr->offset[begin + row + 1]; e++) {
            int64_t block = block_of(m, csr->column[e]);
            if (holds(m, block)) {
                start[block * (rows + 1) + row + 1]++;
            }
        }
    }
    for (int64_t block = 0; block < m->count; block++) {
        uint32_t *of = start + block * (rows + 1);
        for (int64_t row = 0; row < rows; row++) {
            of[row + 1] += of[row];
        }
        m->chunk[part * m->count + block] = (spmm_chunk){.row = rows + 1, .edge = of[rows]};
    }
}

static void blocks_fill(hal_spmm *spmm, const hal_csr *csr, int part, int64_t *cursor)
{
    spmm_blocks *m = &spmm->by_block;
    for (int64_t block = 0; block < m->count; block++) {
        cursor[block] = m->chunk[part * m->count + block].edge;
    }
    for (int64_t e = csr->offset[spmm->split[part]]; e < csr->offset[spmm->split[part + 1]]; e++) {
        int64_t block = block_of(m, csr->column[e]);
        if (holds(m, block)) {
            m->column[cursor[block]++] = local_of(m, csr->column[e]);
        }
    }
}

weft_status spmm_build_blocks(hal_spmm *spmm, const hal_csr *csr, int64_t first, int64_t count)
{
    spmm_blocks *m = &spmm->by_block;
    const int parts = spmm->parts;
    int64_t *cursor = NULL;
    int64_t starts;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(begin_blocks(spmm, csr, first, count), status, done);
    WEFT_CHECK_GOTO(!__builtin_mul_overflow(spmm->rows + parts, count, &starts), status, done, WEFT_ERR_RESOURCE,
                    "%lld rows x %lld blocks of row offsets cannot be addressed: use the form rows",
                    (long long)spmm->rows, (long long)count);
    WEFT_TRY_GOTO(spmm_new(spmm, (size_t)starts, sizeof *m->row_start, (void **)&m->row_start), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&cursor, (size_t)parts * (size_t)count, WEFT_MEM_WORKSPACE), status, done);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int p = 0; p < parts; p++) {
        blocks_count(spmm, csr, p);
    }
    sizes_to_starts(m->chunk, parts * count);
    WEFT_TRY_GOTO(new_columns(spmm, m->chunk[parts * count].edge), status, done);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int p = 0; p < parts; p++) {
        blocks_fill(spmm, csr, p, cursor + p * count);
    }
done:
    weft_free(cursor);
    return status;
}

/* ---- LISTS ------------------------------------------------------------------------------------------------------ */

/* One thread's scratch while its windows are listed. */
typedef struct list_builder {
    const hal_csr *csr;
    spmm_blocks *m;
    int64_t blocks;       /* of the whole matrix */
    spmm_chunk *cursor;   /* [count] next free place, or the size so far, of each block's chunk */
    int64_t *last_window; /* [count] window of the chunk's last run */
    uint32_t *edges;      /* [count, window] edges of each row in each block; then where they go */
    uint32_t *key, *swap; /* [window] row << 0 sorted by edges */
    bool fill;            /* second pass: write */
} list_builder;

/* Rows of one block and window by ascending number of edges (stable); returns how many are listed. */
static int64_t sorted_rows(const list_builder *b, const uint32_t *edges, int64_t rows, bool all)
{
    uint32_t *from = b->key;
    uint32_t *to = b->swap;
    int64_t listed = 0;
    uint32_t most = 0;
    for (int64_t i = 0; i < rows; i++) {
        if (all || edges[i] > 0) {
            from[listed++] = (uint32_t)i;
            most = edges[i] > most ? edges[i] : most;
        }
    }
    int passes = 0;
    for (int digit = 0; digit < 32 && most >> digit > 0; digit += 8, passes++) {
        int64_t place[RADIX + 1] = {0};
        for (int64_t i = 0; i < listed; i++) {
            place[(edges[from[i]] >> digit & (RADIX - 1)) + 1]++;
        }
        for (int v = 0; v < RADIX; v++) {
            place[v + 1] += place[v];
        }
        for (int64_t i = 0; i < listed; i++) {
            to[place[edges[from[i]] >> digit & (RADIX - 1)]++] = from[i];
        }
        uint32_t *other = from;
        from = to;
        to = other;
    }
    if (passes % 2 == 1) {
        memcpy(b->key, from, (size_t)listed * sizeof *from);
    }
    return listed;
}

static void put_run(list_builder *b, int64_t block, uint32_t edges, int64_t rows, int64_t window)
{
    int64_t advance = window - b->last_window[block];
    b->last_window[block] = window;
    for (; advance > MAX_STEP; advance -= MAX_STEP) {
        if (b->fill) {
            b->m->run[b->cursor[block].run] = (spmm_run){.edges = 0, .rows = 0, .advance = MAX_STEP};
        }
        b->cursor[block].run++;
    }
    if (b->fill) {
        b->m->run[b->cursor[block].run] =
            (spmm_run){.edges = edges, .rows = (uint16_t)rows, .advance = (uint16_t)advance};
    }
    b->cursor[block].run++;
}

/* Runs and row ids of one block and window; edges[] of listed rows become places relative to the chunk. */
static void list_block(list_builder *b, int64_t block, uint32_t *edges, int64_t rows, int64_t window, int64_t base)
{
    const int64_t number = b->m->first + block;
    const bool all = number == 0 || number == b->blocks - 1;
    int64_t listed = sorted_rows(b, edges, rows, all);
    spmm_chunk *cursor = &b->cursor[block];
    for (int64_t i = 0; i < listed;) {
        const uint32_t length = edges[b->key[i]];
        const int64_t begin = i;
        for (; i < listed && edges[b->key[i]] == length; i++) {
            if (b->fill) {
                b->m->row_id[cursor->row + i] = (uint16_t)b->key[i];
            }
        }
        put_run(b, block, length, i - begin, window);
    }
    cursor->row += listed;
    for (int64_t i = 0; i < listed; i++) {
        const uint32_t length = edges[b->key[i]];
        edges[b->key[i]] = (uint32_t)(cursor->edge - base);
        cursor->edge += length;
    }
}

static void list_window(list_builder *b, const spmm_chunk *start, int64_t begin, int64_t rows, int64_t window)
{
    const hal_csr *csr = b->csr;
    spmm_blocks *m = b->m;
    memset(b->edges, 0, (size_t)(m->count * m->window) * sizeof *b->edges);
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t e = csr->offset[begin + row]; e < csr->offset[begin + row + 1]; e++) {
            int64_t block = block_of(m, csr->column[e]);
            if (holds(m, block)) {
                b->edges[block * m->window + row]++;
            }
        }
    }
    for (int64_t block = 0; block < m->count; block++) {
        list_block(b, block, b->edges + block * m->window, rows, window, start[block].edge);
    }
    if (!b->fill) {
        return;
    }
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t e = csr->offset[begin + row]; e < csr->offset[begin + row + 1]; e++) {
            int64_t block = block_of(m, csr->column[e]);
            if (holds(m, block)) {
                uint32_t place = b->edges[block * m->window + row]++;
                m->column[start[block].edge + place] = local_of(m, csr->column[e]);
            }
        }
    }
}

/* First pass (fill = false): chunk[] of this part become sizes. Second pass: its data are written. */
static void list_part(list_builder *b, const hal_spmm *spmm, int part)
{
    spmm_blocks *m = b->m;
    spmm_chunk *chunk = m->chunk + part * m->count;
    for (int64_t block = 0; block < m->count; block++) {
        b->cursor[block] = b->fill ? chunk[block] : (spmm_chunk){0, 0, 0};
        b->last_window[block] = 0;
    }
    const int64_t end = spmm->split[part + 1];
    int64_t window = 0;
    for (int64_t row = spmm->split[part]; row < end; row += m->window, window++) {
        list_window(b, chunk, row, end - row < m->window ? end - row : m->window, window);
    }
    if (!b->fill) {
        memcpy(chunk, b->cursor, (size_t)m->count * sizeof *chunk);
    }
}

static int64_t window_rows(int64_t blocks)
{
    int64_t window = SPMM_WINDOW;
    while (window > MIN_WINDOW && window * blocks > COUNTERS) {
        window /= 2;
    }
    return window;
}

static void free_builders(list_builder *builder, int parts)
{
    for (int p = 0; builder != NULL && p < parts; p++) {
        weft_free(builder[p].cursor);
        weft_free(builder[p].last_window);
        weft_free(builder[p].edges);
        weft_free(builder[p].key);
        weft_free(builder[p].swap);
    }
    weft_free(builder);
}

static weft_status new_builders(hal_spmm *spmm, const hal_csr *csr, list_builder **out)
{
    spmm_blocks *m = &spmm->by_block;
    const int parts = spmm->parts;
    weft_status status = WEFT_OK;
    list_builder *builder = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&builder, parts, WEFT_MEM_WORKSPACE), status, done);
    for (int p = 0; p < parts; p++) {
        list_builder *b = &builder[p];
        b->csr = csr;
        b->m = m;
        b->blocks = spmm->blocks;
        WEFT_TRY_GOTO(WEFT_NEW(&b->cursor, m->count, WEFT_MEM_WORKSPACE), status, done);
        WEFT_TRY_GOTO(WEFT_NEW(&b->last_window, m->count, WEFT_MEM_WORKSPACE), status, done);
        WEFT_TRY_GOTO(WEFT_NEW(&b->edges, m->count * m->window, WEFT_MEM_WORKSPACE), status, done);
        WEFT_TRY_GOTO(WEFT_NEW(&b->key, m->window, WEFT_MEM_WORKSPACE), status, done);
        WEFT_TRY_GOTO(WEFT_NEW(&b->swap, m->window, WEFT_MEM_WORKSPACE), status, done);
    }
done:
    if (status != WEFT_OK) {
        free_builders(builder, parts);
        builder = NULL;
    }
    *out = builder;
    return status;
}

weft_status spmm_build_lists(hal_spmm *spmm, const hal_csr *csr, int64_t first, int64_t count)
{
    spmm_blocks *m = &spmm->by_block;
    const int parts = spmm->parts;
    list_builder *builder = NULL;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(begin_blocks(spmm, csr, first, count), status, done);
    m->window = window_rows(count);
    WEFT_TRY_GOTO(new_builders(spmm, csr, &builder), status, done);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int p = 0; p < parts; p++) {
        list_part(&builder[p], spmm, p);
    }
    sizes_to_starts(m->chunk, parts * count);
    const spmm_chunk total = m->chunk[parts * count];
    WEFT_TRY_GOTO(spmm_new(spmm, (size_t)total.run, sizeof *m->run, (void **)&m->run), status, done);
    WEFT_TRY_GOTO(spmm_new(spmm, (size_t)total.row + SPMM_SLACK, sizeof *m->row_id, (void **)&m->row_id), status, done);
    WEFT_TRY_GOTO(new_columns(spmm, total.edge), status, done);
    memset(m->row_id + total.row, 0, SPMM_SLACK * sizeof *m->row_id);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int p = 0; p < parts; p++) {
        builder[p].fill = true;
        list_part(&builder[p], spmm, p);
    }
done:
    free_builders(builder, parts);
    return status;
}
