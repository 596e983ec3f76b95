/*
 * hal/cpu/gemm/gemm_pairs_avx512bf16.c: sums of products of bfloat16, two terms an instruction; see cpu_pair_kernels.
 */
#include "hal/cpu/gemm/pairs_tile.h"

enum {
    CELLS = 32, /* bfloat16 of a register: columns that are packed at once */
    LINE_BYTES = 64,
    STREAMS = 8 /* pairs of rows that are read side by side: as many streams as the hardware follows */
};

_Static_assert((int)PAIR_B_PANEL == (int)CELLS, "one load a row");

/* Cells at .. at + 31 of two rows side by side, row by row in each lane; zeros behind the last of `cols` and for no
 * row. */
static inline void pair_cells(const uint16_t *const row[2], int64_t at, int64_t cols, __m512i pairs[2])
{
    static const uint16_t order[2][CELLS] = {{0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                              8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47},
                                             {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
                                              24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63}};
    const __mmask32 there = cols - at >= CELLS ? ~(__mmask32)0 : ((__mmask32)1 << (cols - at)) - 1;
    const __m512i first = _mm512_maskz_loadu_epi16(there, row[0] + at);
    const __m512i second = row[1] != NULL ? _mm512_maskz_loadu_epi16(there, row[1] + at) : _mm512_setzero_si512();
    for (int half = 0; half < 2; ++half) {
        pairs[half] = _mm512_permutex2var_epi16(first, _mm512_loadu_si512(order[half]), second);
    }
}

static void pack_a(int64_t pairs, int64_t cols, const uint16_t *const *row, uint32_t *packed)
{
    const int64_t panels = (cols + PAIR_A_PANEL - 1) / PAIR_A_PANEL;
    for (int64_t begin = 0; begin < pairs; begin += STREAMS) {
        const int64_t end = begin + STREAMS < pairs ? begin + STREAMS : pairs;
        for (int64_t at = 0; at < cols; at += CELLS) {
            uint32_t *to = packed + at * pairs;
            for (int64_t p = begin; p < end; ++p) {
                __m512i both[2];
                pair_cells(row + 2 * p, at, cols, both);
                for (int64_t i = 0; i < CELLS / PAIR_A_PANEL && at / PAIR_A_PANEL + i < panels; ++i) {
                    const __m256i panel =
                        i % 2 == 0 ? _mm512_castsi512_si256(both[i / 2]) : _mm512_extracti64x4_epi64(both[i / 2], 1);
                    _mm256_storeu_si256((__m256i *)(void *)(to + (i * pairs + p) * PAIR_A_PANEL), panel);
                }
            }
        }
    }
}

static void pack_b(int64_t pairs, int64_t cols, const uint16_t *const *row, uint32_t *packed)
{
    for (int64_t begin = 0; begin < pairs; begin += STREAMS) {
        const int64_t end = begin + STREAMS < pairs ? begin + STREAMS : pairs;
        for (int64_t at = 0; at < cols; at += CELLS) {
            uint32_t *to = packed + at * pairs;
            for (int64_t p = begin; p < end; ++p) {
                __m512i both[2];
                pair_cells(row + 2 * p, at, cols, both);
                _mm512_storeu_si512(to + p * PAIR_B_PANEL, both[0]);
                _mm512_storeu_si512(to + p * PAIR_B_PANEL + PAIR_LANES, both[1]);
            }
        }
    }
}

static __mmask16 lanes_there(int64_t columns)
{
    return (__mmask16)(columns >= PAIR_LANES ? 0xffffU : (1U << (columns > 0 ? columns : 0)) - 1U);
}

static void fetch_row(const uint16_t *row, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += LINE_BYTES) {
        _mm_prefetch((const char *)row + at, _MM_HINT_T1);
    }
}

/* A panel of B stays in the first-level cache while those of A pass. */
static void multiply(int64_t m, int64_t n, int64_t pairs, const uint32_t *a, const uint32_t *b, bool adds, float *c,
                     int64_t ldc, const cpu_pair_ahead *ahead)
{
    const int64_t tiles = (m + PAIR_A_PANEL - 1) / PAIR_A_PANEL * ((n + PAIR_B_PANEL - 1) / PAIR_B_PANEL);
    int64_t tile = 0;
    int64_t fetched = 0;
    for (int64_t j = 0; j < n; j += PAIR_B_PANEL) {
        const __mmask16 there[PAIR_TILE_LANES] = {lanes_there(n - j), lanes_there(n - j - PAIR_LANES)};
        for (int64_t i = 0; i < m; i += PAIR_A_PANEL) {
            const int64_t rows = m - i < PAIR_A_PANEL ? m - i : PAIR_A_PANEL;
            for (tile += 1; fetched < ahead->rows * tile / tiles; ++fetched) {
                fetch_row(ahead->a[fetched], ahead->a_bytes);
                fetch_row(ahead->b[fetched], ahead->b_bytes);
            }
            pairs_multiply_tile(pairs, a + i * pairs, (pair_steps){.row = 1, .term = PAIR_A_PANEL}, b + j * pairs, adds,
                                rows, there, c + i * ldc + j, ldc);
        }
    }
}

const cpu_pair_kernels cpu_pairs_avx512bf16 = {.pack_a = pack_a, .pack_b = pack_b, .multiply = multiply};
