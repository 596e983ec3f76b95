/*
 * table/column/sink_block.c: a rectangle of cells that a kernel has read, column after column, so that the kind of a
 * column is asked once for many cells and its values are stored behind each other. See table/column/sink.h.
 *
 * The numbers of a column are stored without a branch on a cell: a cell that is no number has NaN as its value, and
 * NaN becomes the missing value of every kind of number. Where the bits that all cells of the column have in common
 * say that one does not fit, its cells are looked at again, and those that do not fit are left to sink_put.
 */
#include <assert.h>
#include <emmintrin.h>
#include <math.h>
#include <string.h>

#include "table/column/sink.h"

enum { COLUMNS = 64 /* of which the common bits are found together */ };

/* One column of a block. The cells of two rows are `columns` apart in the arrays of the block. */
typedef struct column_part {
    const table_sink *sink;
    const sink_block *block;
    table_words *words; /* of a category */
    table_tally *tally;
    void *value;    /* of the first row of the block; NULL: facts alone are wanted */
    int64_t column; /* of the block */
    int64_t left;   /* cells that do not fit the column */
    int thread;
    uint8_t common; /* bits that all cells of the column have */
} column_part;

static inline size_t cell_of(const column_part *part, int64_t row)
{
    return (size_t)(row * part->block->columns + part->column);
}

static inline void leave(column_part *part, size_t cell)
{
    part->block->found[cell] |= CELL_LEFT;
    part->left++;
}

/* ---- numbers ---- */

/* Stores the values of two rows, or of the first of them. NaN becomes the missing value of the kind. */
static inline void store_pair(table_kind kind, void *value, int64_t row, __m128d pair, bool both)
{
    if (kind == TABLE_LONG) {
        const int64_t whole[2] = {_mm_cvttsd_si64(pair), _mm_cvttsd_si64(_mm_unpackhi_pd(pair, pair))};
        memcpy((int64_t *)value + row, whole, both ? sizeof whole : sizeof *whole);
        return;
    }
    const __m128i halves = kind == TABLE_REAL ? _mm_castps_si128(_mm_cvtpd_ps(pair)) : _mm_cvttpd_epi32(pair);
    const int64_t two = _mm_cvtsi128_si64(halves);
    memcpy((int32_t *)value + row, &two, both ? sizeof two : sizeof two / 2);
}

/* Bounds of every other value of some rows. */
typedef struct pair_bounds {
    __m128d least, most;
} pair_bounds;

static inline pair_bounds widen(pair_bounds b, __m128d pair)
{
    return (pair_bounds){_mm_min_pd(pair, b.least), _mm_max_pd(pair, b.most)}; /* the second operand if one is NaN */
}

/* Two values of a column, `columns` apart, and what they make of the bounds and of the count of values that are NaN. */
static inline __m128d take_pair(const double *number, int64_t columns, pair_bounds *bounds, __m128i *none)
{
    const __m128d pair = _mm_loadh_pd(_mm_load_sd(number), number + columns);
    *bounds = widen(*bounds, pair);
    *none = _mm_sub_epi64(*none, _mm_castpd_si128(_mm_cmpunord_pd(pair, pair)));
    return pair;
}

/* Stores and tallies all values of a column. Two pairs of rows have bounds each, so that none waits for the one before.
 * Returns the number of values that are NaN. */
static inline __attribute__((always_inline)) int64_t take_numbers(column_part *part, table_kind kind, bool stored)
{
    const int64_t rows = part->block->rows, columns = part->block->columns;
    const double *number = part->block->value + part->column;
    pair_bounds even = {_mm_set1_pd(part->tally->least), _mm_set1_pd(part->tally->most)}, odd = even;
    __m128i none = _mm_setzero_si128();
    int64_t row = 0;
    for (; row + 3 < rows; row += 4) {
        const __m128d first = take_pair(number, columns, &even, &none);
        const __m128d second = take_pair(number + 2 * columns, columns, &odd, &none);
        if (stored) {
            store_pair(kind, part->value, row, first, true);
            store_pair(kind, part->value, row + 2, second, true);
        }
        number += 4 * columns;
    }
    int64_t missing = _mm_cvtsi128_si64(none) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(none, none));
    for (; row < rows; row++) {
        const __m128d last = _mm_load1_pd(number);
        even = widen(even, last);
        missing += isnan(*number);
        if (stored) {
            store_pair(kind, part->value, row, last, false);
        }
        number += columns;
    }
    const __m128d least = _mm_min_pd(even.least, odd.least), most = _mm_max_pd(even.most, odd.most);
    part->tally->least = _mm_cvtsd_f64(_mm_min_sd(_mm_unpackhi_pd(least, least), least));
    part->tally->most = _mm_cvtsd_f64(_mm_max_sd(_mm_unpackhi_pd(most, most), most));
    return missing;
}

/* Leaves cells that lack a bit, that have the bit `no`, or that are beyond `kind`. Returns how many of them are NaN. */
static int64_t leave_others(column_part *part, table_kind kind, unsigned bit, unsigned no)
{
    int64_t none = 0;
    for (int64_t row = 0; row < part->block->rows; row++) {
        const size_t cell = cell_of(part, row);
        const double number = part->block->value[cell];
        const bool beyond = kind == TABLE_INTEGER && (number <= INT32_MIN || number > INT32_MAX);
        if ((part->block->found[cell] & (bit | no)) != bit || beyond) {
            leave(part, cell);
            none += isnan(number);
        }
    }
    return none;
}

/* A number that is left is tallied here and by sink_put, which changes neither bound. */
static inline __attribute__((always_inline)) void take_kind(column_part *part, table_kind kind, unsigned bit,
                                                            unsigned no)
{
    const table_tally *tally = part->tally;
    int64_t missing = part->value != NULL ? take_numbers(part, kind, true) : take_numbers(part, kind, false);
    const bool beyond = kind == TABLE_INTEGER && (tally->least <= INT32_MIN || tally->most > INT32_MAX);
    if ((part->common & bit) == 0 || (no != 0 && missing > 0) || beyond) {
        missing -= leave_others(part, kind, bit, no);
    }
    part->tally->missing += missing;
}

/* ---- words ---- */

/* Returns true if the cell is a word that stands as it is. [out] begin, bytes: its text */
static inline bool is_word(const column_part *part, size_t cell, uint8_t found, const char **begin, size_t *bytes)
{
    *begin = sink_cell_begin(part->block, cell);
    *bytes = (size_t)(part->block->text + part->block->end[cell] - *begin);
    return (found & (CELL_BARE | CELL_EMPTY)) == CELL_BARE &&
           (part->sink->missing_marks & sink_mark(*begin, *bytes)) == 0;
}

/* Each word of a column, or its id. */
static inline __attribute__((always_inline)) weft_status take_words(column_part *part, table_kind kind)
{
    for (int64_t row = 0; row < part->block->rows; row++) {
        const size_t cell = cell_of(part, row);
        const uint8_t found = part->block->found[cell];
        const bool empty = (found & CELL_EMPTY) != 0;
        const char *begin;
        size_t bytes;
        int32_t code = TABLE_NO_CODE;
        uint64_t id = TABLE_NO_ID;
        if (!empty && !is_word(part, cell, found, &begin, &bytes)) {
            leave(part, cell);
            continue;
        }
        part->tally->missing += empty;
        if (!empty && kind == TABLE_CATEGORY) {
            WEFT_TRY(words_add(part->words, part->thread, begin, bytes, &code));
        } else if (!empty && part->value != NULL) {
            id = sink_id(begin, bytes);
        }
        if (part->value != NULL && kind == TABLE_CATEGORY) {
            ((int32_t *)part->value)[row] = code;
        } else if (part->value != NULL) {
            ((uint64_t *)part->value)[row] = id;
        }
    }
    return WEFT_OK;
}

/* ---- columns ---- */

static weft_status take_column(column_part *part, sink_quick quick)
{
    switch (quick) {
    case SINK_REALS:
        take_kind(part, TABLE_REAL, CELL_NUMBER, 0);
        break;
    case SINK_REALS_REQUIRED:
        take_kind(part, TABLE_REAL, CELL_NUMBER, CELL_EMPTY);
        break;
    case SINK_INTEGERS:
        take_kind(part, TABLE_INTEGER, CELL_WHOLE, 0);
        break;
    case SINK_LONGS:
        take_kind(part, TABLE_LONG, CELL_WHOLE, 0);
        break;
    case SINK_IDS:
        return take_words(part, TABLE_ID);
    case SINK_WORDS:
        return take_words(part, TABLE_CATEGORY);
    case SINK_NOTHING: /* a dropped column: a cell in quotes is looked at all the same */
        if ((part->common & CELL_BARE) == 0) {
            (void)leave_others(part, TABLE_UNSEEN, CELL_BARE, 0);
        }
        break;
    default:
        (void)leave_others(part, TABLE_UNSEEN, CELL_LEFT, 0);
    }
    return WEFT_OK;
}

/* Of columns first .. first + count - 1 of the block: the bits that all cells of a column have. */
static void find_common(const sink_block *block, int64_t first, int64_t count, uint8_t common[COLUMNS])
{
    uint64_t all[COLUMNS / SINK_AHEAD], bits;
    memset(all, 255, sizeof all);
    for (int64_t row = 0; row < block->rows; row++) {
        const uint8_t *found = block->found + row * block->columns + first;
        for (int64_t j = 0; j < count; j += SINK_AHEAD) {
            memcpy(&bits, found + j, sizeof bits);
            all[j / SINK_AHEAD] &= bits;
        }
    }
    memcpy(common, all, sizeof all);
}

weft_status sink_put_block(table_sink *sink, int thread, const sink_block *block, int64_t *left)
{
    uint8_t common[COLUMNS];
    assert(block->row >= sink->first && block->row - sink->first + block->rows <= sink->count);
    assert(thread < sink->threads && block->rows * block->columns <= SINK_CELLS);
    assert(block->column + block->columns <= sink->schema->count);
    *left = 0;
    sink_window_take(sink, thread, block->row, block->rows);
    for (int64_t j = 0; j < block->columns; j++) {
        const int64_t column = block->column + j, ahead = block->columns - j;
        const sink_column *c = &sink->column[column];
        if (j % COLUMNS == 0) {
            find_common(block, j, ahead < COLUMNS ? ahead : COLUMNS, common);
        }
        column_part part = {.sink = sink,
                            .block = block,
                            .words = sink->schema->field[column].words,
                            .tally = &sink->tally[thread * sink->schema->count + column],
                            .value = sink_slot(sink, thread, block->row, column),
                            .column = j,
                            .thread = thread,
                            .common = common[j % COLUMNS]};
        WEFT_TRY(take_column(&part, c->quick));
        *left += part.left;
    }
    return WEFT_OK;
}
