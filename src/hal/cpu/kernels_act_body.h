/*
 * hal/cpu/kernels_act_body.h: what dropout draws. Included once an instruction set by kernels_*.c. No include guard.
 *
 * The mask of element (row, column) is lane column % 8 of the Philox block (row id, column / 8) of base/philox.h.
 * Blocks are drawn DRAW_LANES at once, one (row, block) pair a vector lane, so that narrow matrices fill the vectors as
 * well as wide ones: the pairs of a group of rows stand in one flat list, whose pattern is the same for every group.
 *
 *   rows 0..R-1 of a group, B blocks a row:   pair p = row p / B, block p % B   ->  lane[8 p .. 8 p + 7]
 *
 * 16-bit lanes of a group go to a small buffer (first-level cache), the loop of kernels_cell_body.h compares and
 * scales.
 *
 * The including file defines draw_vec (DRAW_LANES 64-bit lanes, the low halves in use) and draw_load, draw_set,
 * draw_add, draw_multiply (32 x 32 -> 64 bits), draw_high, draw_xor, draw_or_id and draw_store. J. Salmon, M. Moraes,
 * R. Dror, D. Shaw: Parallel random numbers: as easy as 1, 2, 3. SC'11, doi:10.1145/2063384.2063405
 */

enum { DRAW_PAIRS = 512, DRAW_COLUMNS = 8 * DRAW_PAIRS };

/* One group of rows of one strip of columns. */
typedef struct draw_group {
    int64_t blocks;             /* of a row */
    int64_t rows;               /* of a full group */
    uint64_t block[DRAW_PAIRS]; /* the pattern: block and row of each pair */
    uint64_t row[DRAW_PAIRS];
} draw_group;

static void draw_group_begin(draw_group *group, int64_t column, int64_t columns)
{
    group->blocks = (columns + 7) / 8;
    group->rows = DRAW_PAIRS / group->blocks;
    int64_t pair = 0;
    for (int64_t r = 0; r < group->rows; ++r) {
        for (int64_t b = 0; b < group->blocks; ++b, ++pair) {
            group->block[pair] = (uint64_t)(column / 8 + b);
            group->row[pair] = (uint64_t)r;
        }
    }
    for (; pair < DRAW_PAIRS; ++pair) { /* fill the last vector; row 0 always exists */
        group->block[pair] = 0;
        group->row[pair] = 0;
    }
}

/* lane[8 * DRAW_LANES]: the blocks of DRAW_LANES counters (base/philox.h), of words in low halves. */
static inline void draw_blocks(draw_vec c0, draw_vec c1, draw_vec c2, draw_vec c3, uint64_t seed, uint16_t *lane)
{
    const draw_vec m0 = draw_set(PHILOX_M0);
    const draw_vec m1 = draw_set(PHILOX_M1);
    uint32_t k0 = (uint32_t)seed;
    uint32_t k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        draw_vec p0 = draw_multiply(c0, m0);
        draw_vec p1 = draw_multiply(c2, m1);
        c0 = draw_xor(draw_high(p1), c1, draw_set(k0));
        c2 = draw_xor(draw_high(p0), c3, draw_set(k1));
        c1 = p1;
        c3 = p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    draw_store(lane, c0, c1, c2, c3);
}

/* lane[8 * rows * blocks] for rows first .. first + rows - 1. */
static void draw_lanes(const draw_group *group, const hal_dropout *dropout, int64_t first, int64_t rows, uint16_t *lane)
{
    const int64_t *row_id = dropout->row_id.source;
    draw_vec purpose = draw_set((uint64_t)dropout->purpose << 16);
    draw_vec base = draw_set((uint64_t)(dropout->row_base + first));
    for (int64_t pair = 0; pair < rows * group->blocks; pair += DRAW_LANES) {
        draw_vec id = draw_add(base, draw_load(group->row + pair));
        if (row_id != NULL) {
            uint64_t ids[DRAW_LANES];
            for (int i = 0; i < DRAW_LANES; ++i) {
                uint64_t r = group->row[pair + i];
                ids[i] = (uint64_t)row_id[first + (r < (uint64_t)rows ? (int64_t)r : 0)];
            }
            id = draw_load(ids);
        }
        draw_blocks(draw_load(group->block + pair), id, draw_or_id(purpose, id), draw_set(dropout->epoch),
                    dropout->seed, lane + 8 * pair);
    }
}
