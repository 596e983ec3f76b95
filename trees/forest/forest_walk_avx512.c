/* trees/forest/forest_walk_avx512.c: forest_walk.h, 16 rows at a time; those of a block take a step by turns, so that
 * their loads overlap. */
#include <immintrin.h>

#include "trees/forest/forest_walk.h"

enum { LANES = 16, PARTS = WALK_ROWS / LANES };
_Static_assert((int)WALK_FIRST == (int)LANES && (int)WALK_STARTS == 8 * (int)LANES, "go_top has a call for each level");

/* Which rows go right at a node of the top; all have its column. */
static inline __mmask16 goes_right(__m512 x, const walk_node *node, bool holes)
{
    const __m512 threshold = _mm512_set1_ps(node->threshold);
    return holes && (node->link & WALK_MISSING) != 0 ? _mm512_cmp_ps_mask(x, threshold, _CMP_NLT_UQ)
                                                     : _mm512_cmp_ps_mask(x, threshold, _CMP_GE_OQ);
}

static inline void go_turns(const walk_tree *tree, const float *value, bool holes, __m512i *at)
{
    for (int level = 0; level < tree->levels && level < WALK_TURNS; ++level) {
        const walk_node *node = tree->top + (1 << level) - 1;
        __mmask16 right[PARTS] = {0};
        for (int n = 0; n < 1 << level; ++n) {
            const float *x = value + (node[n].link & (WALK_COLUMNS - 1)) * WALK_ROWS;
            const __m512i here = _mm512_set1_epi32(n);
            for (int p = 0; p < PARTS; ++p) {
                const __mmask16 goes = goes_right(_mm512_loadu_ps(x + p * LANES), &node[n], holes);
                right[p] |= _mm512_mask_cmpeq_epi32_mask(goes, at[p], here);
            }
        }
        for (int p = 0; p < PARTS; ++p) {
            at[p] = _mm512_add_epi32(at[p], at[p]);
            at[p] = _mm512_mask_add_epi32(at[p], right[p], at[p], _mm512_set1_epi32(1));
        }
    }
}

/* Words of a table of 16, 32 or 64 at these places. */
static inline __m512i look_up(const void *table, int nodes, __m512i at)
{
    const __m512i *t = table;
    const __m512i first = _mm512_loadu_si512(t);
    if (nodes == LANES) {
        return _mm512_permutexvar_epi32(at, first);
    }
    const __m512i low = _mm512_permutex2var_epi32(first, at, _mm512_loadu_si512(t + 1));
    if (nodes == 2 * LANES) {
        return low;
    }
    const __m512i high = _mm512_permutex2var_epi32(_mm512_loadu_si512(t + 2), at, _mm512_loadu_si512(t + 3));
    return _mm512_mask_mov_epi32(low, _mm512_test_epi32_mask(at, _mm512_set1_epi32(2 * LANES)), high);
}

/* Values of 16 rows in their columns. row: their places in the block. */
static inline __m512 values_of(const float *value, __m512i link, __m512i row)
{
    const __m512i column = _mm512_and_si512(link, _mm512_set1_epi32(WALK_COLUMNS - 1));
    const __m512i place = _mm512_add_epi32(_mm512_mullo_epi32(column, _mm512_set1_epi32(WALK_ROWS)), row);
    return _mm512_i32gather_ps(place, value, sizeof(float));
}

static inline __mmask16 rows_right(__m512 x, __m512 threshold, __m512i link, bool holes)
{
    __mmask16 right = _mm512_cmp_ps_mask(x, threshold, _CMP_GE_OQ);
    if (holes) {
        right |=
            _mm512_mask_test_epi32_mask(_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), link, _mm512_set1_epi32(WALK_MISSING));
    }
    return right;
}

/* A level behind those of go_turns. nodes: of the level. */
static inline void go_level(const walk_tree *tree, const float *value, bool holes, int nodes, __m512i *at)
{
    const __m512i row = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int p = 0; p < PARTS; ++p) {
        const __m512 threshold = _mm512_castsi512_ps(look_up(tree->threshold + nodes - WALK_FIRST, nodes, at[p]));
        const __m512i link = look_up(tree->link + nodes - WALK_FIRST, nodes, at[p]);
        const __mmask16 right = rows_right(values_of(value + p * LANES, link, row), threshold, link, holes);
        at[p] = _mm512_add_epi32(at[p], at[p]);
        at[p] = _mm512_mask_add_epi32(at[p], right, at[p], _mm512_set1_epi32(1));
    }
}

static inline void go_top(const walk_tree *tree, const float *value, bool holes, __m512i *at)
{
    for (int p = 0; p < PARTS; ++p) {
        at[p] = _mm512_setzero_si512();
    }
    go_turns(tree, value, holes, at);
    if (tree->levels > WALK_TURNS) {
        go_level(tree, value, holes, LANES, at);
    }
    if (tree->levels > WALK_TURNS + 1) {
        go_level(tree, value, holes, 2 * LANES, at);
    }
    if (tree->levels > WALK_TURNS + 2) {
        go_level(tree, value, holes, 4 * LANES, at);
    }
    for (int p = 0; p < PARTS; ++p) {
        at[p] = _mm512_i32gather_epi32(at[p], tree->start, sizeof(int32_t));
    }
}

/* Returns which of 16 rows moved. row: their places in the block. */
static inline __mmask16 step_down(const walk_tree *tree, const float *value, bool holes, __m512i row, __m512i *at)
{
    const __m512i evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odds = _mm512_add_epi32(evens, _mm512_set1_epi32(1)), one = _mm512_set1_epi32(1);
    const __m512i low = _mm512_i32gather_epi64(_mm512_castsi512_si256(*at), tree->node, sizeof(walk_node));
    const __m512i high = _mm512_i32gather_epi64(_mm512_extracti64x4_epi64(*at, 1), tree->node, sizeof(walk_node));
    const __m512 threshold = _mm512_castsi512_ps(_mm512_permutex2var_epi32(low, evens, high));
    const __m512i link = _mm512_permutex2var_epi32(low, odds, high);
    const __m512i step = _mm512_srli_epi32(link, WALK_STEP_SHIFT);
    const __mmask16 right = rows_right(values_of(value, link, row), threshold, link, holes);
    *at = _mm512_add_epi32(*at, step);
    *at = _mm512_mask_add_epi32(*at, right, *at, one);
    return _mm512_test_epi32_mask(step, step);
}

static inline void go_down(const walk_tree *tree, const float *value, bool holes, __m512i *at)
{
    const __m512i row = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    unsigned moved = 1;
    for (int step = 0; step < tree->steps && moved != 0; ++step) {
        moved = 0;
        for (int p = 0; p < PARTS; ++p) {
            moved |= step_down(tree, value + p * LANES, holes, row, &at[p]);
        }
    }
}

void forest_walk_avx512(const walk_tree *tree, const float *value, bool holes, int32_t *at, float *sum)
{
    __m512i own[PARTS];
    if (holes) {
        go_top(tree, value, true, own);
        go_down(tree, value, true, own);
    } else {
        go_top(tree, value, false, own);
        go_down(tree, value, false, own);
    }
    for (int p = 0; p < PARTS; ++p) {
        const __m512 leaf = _mm512_i32gather_ps(own[p], tree->value, sizeof(float));
        _mm512_storeu_ps(sum + p * LANES, _mm512_add_ps(_mm512_loadu_ps(sum + p * LANES), leaf));
        _mm512_storeu_si512(at + p * LANES, own[p]);
    }
}
