/* hal/cpu/fixed/fixed_strip_body.h: packing and sums of strips by vectors of LANES numbers; names are FIXED(name). No
 * include guard. */
typedef uint32_t FIXED(words) __attribute__((vector_size(4 * LANES)));
typedef uint32_t FIXED(words_anywhere) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t FIXED(whole) __attribute__((vector_size(4 * LANES)));
typedef float FIXED(real) __attribute__((vector_size(4 * LANES)));
typedef float FIXED(real_anywhere) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

KERNEL FIXED(words) FIXED(load)(const void *p)
{
    return *(const FIXED(words_anywhere) *)p;
}

KERNEL void FIXED(store)(void *p, FIXED(words) value)
{
    *(FIXED(words_anywhere) *)p = value;
}

/* low and high += the halves of the words; and the sums of the lower halves. */
#ifdef FIXED_PAIRS
#if LANES == 16
#define PAIRS _mm512_dpwssd_epi32
#define PAIR  __m512i
#else
#define PAIRS _mm256_dpwssd_epi32
#define PAIR  __m256i
#endif
KERNEL void FIXED(add)(FIXED(words) * low, FIXED(words) * high, FIXED(words) word)
{
    const FIXED(words) lower = (FIXED(words)){0} + 1U, upper = (FIXED(words)){0} + (1U << 16);
    *low = (FIXED(words))PAIRS((PAIR)*low, (PAIR)word, (PAIR)lower);
    *high = (FIXED(words))PAIRS((PAIR)*high, (PAIR)word, (PAIR)upper);
}

KERNEL FIXED(words) FIXED(lower_sum)(FIXED(words) low, FIXED(words) high)
{
    (void)high;
    return low;
}
#undef PAIRS
#undef PAIR
#else
KERNEL void FIXED(add)(FIXED(words) * low, FIXED(words) * high, FIXED(words) word)
{
    *low += word;
    *high += (FIXED(words))((FIXED(whole))word >> 16);
}

KERNEL FIXED(words) FIXED(lower_sum)(FIXED(words) low, FIXED(words) high)
{
    return low - (high << 16);
}
#endif

/* Rows of float32 of whole strips: both halves of a word at a time. */
KERNEL void FIXED(pack_row)(const float *x, float scale, const float *inverse, uint32_t *to, const int strip)
{
    const FIXED(real) bias = (FIXED(real)){0} + 0x1.8p23F;
    UNROLL
    for (int w = 0; w < strip / 2; w += LANES) {
        const int h = w + strip / 2;
        const FIXED(real) low =
            *(const FIXED(real_anywhere) *)(x + w) * scale * *(const FIXED(real_anywhere) *)(inverse + w) + bias;
        const FIXED(real) high =
            *(const FIXED(real_anywhere) *)(x + h) * scale * *(const FIXED(real_anywhere) *)(inverse + h) + bias;
        /* the lower bits of a moved number are those of the integer */
        FIXED(store)(to + w, ((FIXED(words))high << 16) | (((FIXED(words))low & 0xffffU) ^ (uint32_t)HALF));
    }
}

KERNEL void FIXED(pack)(const fixed_pass *pass, int64_t begin, int64_t end, const int strip)
{
    const int width = pass->width;
    float inverse[SPMM_STRIP];
    for (int j = 0; j < strip && !pass->integers; j++) {
        inverse[j] = j < width ? 1.0F / pass->end.quantum[j] : 0.0F;
    }
    for (int64_t row = begin; row < end; row++) {
        uint32_t *to = pass->packed + row * (strip / 2);
        if (!pass->integers && width == strip) {
            FIXED(pack_row)
            ((const float *)pass->x + row * pass->ldx, pass->pre != NULL ? pass->pre[row] : 1.0F, inverse, to, strip);
        } else if (!pass->integers) {
            float own[SPMM_STRIP] = {0};
            memcpy(own, (const float *)pass->x + row * pass->ldx, (size_t)width * sizeof *own);
            FIXED(pack_row)(own, pass->pre != NULL ? pass->pre[row] : 1.0F, inverse, to, strip);
        } else {
            int16_t own[SPMM_STRIP] = {0};
            memcpy(own, (const int16_t *)pass->x + row * pass->ldx, (size_t)width * sizeof *own);
            for (int w = 0; w < strip / 2; w++) {
                to[w] = word_of(own[w], own[w + strip / 2]);
            }
        }
    }
}

/* out of the raw sums of a row; every column exists and no diagonal is added. */
KERNEL void FIXED(put_whole)(const fixed_pass *pass, int64_t row, const FIXED(words) * low, const FIXED(words) * high,
                             const int vectors)
{
    const fixed_end *end = &pass->end;
    const float post = end->post != NULL ? end->post[row] : 1.0F;
    float *out = end->out + row * end->ldo;
    UNROLL
    for (int v = 0; v < 2 * vectors; v++) {
        const FIXED(words) sum =
            v < vectors ? FIXED(lower_sum)(low[v % vectors], high[v % vectors]) : high[v % vectors];
        const FIXED(real) quantum = *(const FIXED(real_anywhere) *)(end->quantum + v * LANES);
        FIXED(real) y = __builtin_convertvector((FIXED(whole))sum, FIXED(real)) * quantum * post;
        y = end->adds ? y + *(const FIXED(real_anywhere) *)(out + v * LANES) : y;
        *(FIXED(real_anywhere) *)(out + v * LANES) = y;
    }
}

KERNEL void FIXED(put)(const fixed_pass *pass, int64_t row, const FIXED(words) * low, const FIXED(words) * high,
                       const int vectors)
{
    int32_t sum[SPMM_STRIP];
    if (pass->width == 2 * vectors * LANES && !pass->integers && pass->end.diag == NULL) {
        FIXED(put_whole)(pass, row, low, high, vectors);
        return;
    }
    UNROLL
    for (int v = 0; v < vectors; v++) {
        FIXED(store)(sum + v * LANES, FIXED(lower_sum)(low[v], high[v]));
        FIXED(store)(sum + (vectors + v) * LANES, high[v]);
    }
    put_sums(pass, row, sum);
}

/* The raw sums of a row that comes later, which may not exist: a hint. They are read and written once a block, so they
 * shall not drive its sources out of the second-level cache. */
KERNEL void FIXED(prefetch)(const fixed_pass *pass, int64_t row, const int strip)
{
    const uintptr_t at = (uintptr_t)pass->sum + (uintptr_t)row * (uintptr_t)strip * sizeof *pass->sum;
    UNROLL
    for (int line = 0; line < strip / 16; line++) {
        __builtin_prefetch((const void *)(at + 64 * (uintptr_t)line), 1, 0); /* NOLINT(performance-no-int-to-ptr) */
    }
}

/* low and high += the rows of the sources. A product of pairs takes five cycles, so EDGES_AT_ONCE edges have sums of
 * their own. */
KERNEL void FIXED(sum_edges)(const uint32_t *x, const uint16_t *column, uint32_t edges, FIXED(words) * low,
                             FIXED(words) * high, const int strip)
{
    enum { MOST = SPMM_STRIP / 2 / LANES };
    const int vectors = strip / 2 / LANES;
    FIXED(words) lows[EDGES_AT_ONCE][MOST], highs[EDGES_AT_ONCE][MOST];
    UNROLL
    for (int i = 0; i < EDGES_AT_ONCE; i++) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            lows[i][v] = i == 0 ? low[v] : (FIXED(words)){0};
            highs[i][v] = i == 0 ? high[v] : (FIXED(words)){0};
        }
    }
    uint32_t k = 0;
    for (; k + EDGES_AT_ONCE <= edges; k += EDGES_AT_ONCE) {
        UNROLL
        for (int i = 0; i < EDGES_AT_ONCE; i++) {
            const uint32_t *source = x + (size_t)column[k + (uint32_t)i] * (size_t)(strip / 2);
            UNROLL
            for (int v = 0; v < vectors; v++) {
                FIXED(add)(&lows[i][v], &highs[i][v], FIXED(load)(source + v * LANES));
            }
        }
    }
    for (; k < edges; k++) {
        const uint32_t *source = x + (size_t)column[k] * (size_t)(strip / 2);
        UNROLL
        for (int v = 0; v < vectors; v++) {
            FIXED(add)(&lows[0][v], &highs[0][v], FIXED(load)(source + v * LANES));
        }
    }
    UNROLL
    for (int v = 0; v < vectors; v++) {
        low[v] = lows[0][v];
        high[v] = highs[0][v];
        UNROLL
        for (int i = 1; i < EDGES_AT_ONCE; i++) {
            low[v] += lows[i][v];
            high[v] += highs[i][v];
        }
    }
}

/* A row's sums over the sources of a block go on where the last block left them, and stay there or are written out. */
KERNEL void FIXED(sum_row)(const fixed_pass *pass, int64_t row, const uint16_t *column, uint32_t edges, const int strip,
                           const bool last)
{
    enum { MOST = SPMM_STRIP / 2 / LANES };
    const int vectors = strip / 2 / LANES;
    const uint32_t bias = (uint32_t)HALF * edges;
    int32_t *sum = pass->sum + row * strip;
    FIXED(words) low[MOST], high[MOST];
    UNROLL
    for (int v = 0; v < vectors; v++) {
        low[v] = (pass->first ? (FIXED(words)){0} : FIXED(load)(sum + v * LANES)) - bias;
        high[v] = pass->first ? (FIXED(words)){0} : FIXED(load)(sum + (vectors + v) * LANES);
    }
    for (uint32_t k = 0; k < edges; k += 32) {
        __builtin_prefetch(column + k + SPMM_PREFETCH_COLUMNS, 0, 3);
    }
    FIXED(sum_edges)(pass->packed, column, edges, low, high, strip);
    if (last) {
        FIXED(put)(pass, row, low, high, vectors);
        return;
    }
    UNROLL
    for (int v = 0; v < vectors; v++) {
        FIXED(store)(sum + v * LANES, low[v]);
        FIXED(store)(sum + (vectors + v) * LANES, high[v]);
    }
}

KERNEL void FIXED(lists)(const spmm_blocks *m, const spmm_chunk *chunk, int64_t begin, const fixed_pass *pass,
                         const int strip, const bool last)
{
    const uint16_t *column = m->column + chunk[0].edge;
    const uint16_t *row_id = m->row_id + chunk[0].row;
    int64_t window = begin;
    for (int64_t r = chunk[0].run; r < chunk[1].run; r++) {
        const uint32_t edges = m->run[r].edges;
        window += m->run[r].advance * m->row_step;
        for (uint32_t i = 0; i < m->run[r].rows; i++, row_id++) {
            FIXED(prefetch)(pass, window + row_id[SPMM_PREFETCH_LISTED], strip);
            FIXED(sum_row)(pass, window + row_id[0], column, edges, strip, last);
            column += edges;
        }
    }
}

/* All rows of a part, in their order. */
KERNEL void FIXED(blocks)(const uint32_t *start, const uint16_t *column, int64_t begin, int64_t end,
                          const fixed_pass *pass, const int strip, const bool last)
{
    for (int64_t row = begin; row < end; row++, start++) {
        const uint32_t edges = start[1] - start[0];
        if (edges > 0 || pass->first || last) {
            FIXED(prefetch)(pass, row + SPMM_PREFETCH_ROWS, strip);
            FIXED(sum_row)(pass, row, column + start[0], edges, strip, last);
        }
    }
}
