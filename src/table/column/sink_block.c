/*
 * table/column/sink_block.c: a rectangle of cells that a kernel has read, column after column, so that the kind of a
 * column is asked once for many cells and its values are stored behind each other. See table/column/sink.h.
 */
#include <assert.h>
#include <emmintrin.h>
#include <math.h>

#include "table/column/sink.h"

/* One column of a block, and facts about the cells that were taken. */
typedef struct column_part {
    const table_sink *sink;
    const char *text;
    const uint32_t *cell_place;
    const double *number;
    void *value;
    table_words *words; /* of a category */
    __m128d least, most;
    int64_t missing;
    weft_status status;
    int thread;
} column_part;

/* minsd and maxsd: from C's conditionals gcc makes moves through integer registers, three times as slow. */
static inline void note(column_part *part, double number)
{
    part->least = _mm_min_sd(_mm_set_sd(number), part->least);
    part->most = _mm_max_sd(_mm_set_sd(number), part->most);
}

/* Takes cell i, the value of which has this place in the column. Returns false to leave it to sink_put. */
typedef bool (*take_fn)(column_part *part, size_t i, uint8_t found, int64_t place);

static inline bool take_real(column_part *part, size_t i, uint8_t found, int64_t place)
{
    float value = NAN;
    if ((found & CELL_NUMBER) != 0) {
        note(part, part->number[i]);
        value = (float)part->number[i];
    } else if ((found & CELL_EMPTY) != 0) {
        part->missing++;
    } else {
        return false;
    }
    if (part->value != NULL) {
        ((float *)part->value)[place] = value;
    }
    return true;
}

static inline bool take_required(column_part *part, size_t i, uint8_t found, int64_t place)
{
    return (found & CELL_NUMBER) != 0 && take_real(part, i, found, place);
}

static inline bool take_integer(column_part *part, size_t i, uint8_t found, int64_t place)
{
    int32_t value = TABLE_NO_INTEGER;
    if ((found & CELL_WHOLE) != 0) {
        value = _mm_cvttsd_si32(_mm_set_sd(part->number[i])); /* TABLE_NO_INTEGER where int32 is too narrow */
        if (value == TABLE_NO_INTEGER) {
            return false;
        }
        note(part, part->number[i]);
    } else if ((found & CELL_EMPTY) != 0) {
        part->missing++;
    } else {
        return false;
    }
    if (part->value != NULL) {
        ((int32_t *)part->value)[place] = value;
    }
    return true;
}

static inline bool take_long(column_part *part, size_t i, uint8_t found, int64_t place)
{
    int64_t value = TABLE_NO_LONG;
    if ((found & CELL_WHOLE) != 0) {
        note(part, part->number[i]);
        value = (int64_t)part->number[i];
    } else if ((found & CELL_EMPTY) != 0) {
        part->missing++;
    } else {
        return false;
    }
    if (part->value != NULL) {
        ((int64_t *)part->value)[place] = value;
    }
    return true;
}

/* Returns true if the cell is a word that stands as it is. [out] begin, bytes: its text */
static inline bool is_word(const column_part *part, size_t i, uint8_t found, const char **begin, size_t *bytes)
{
    *begin = cell_begin(part->text, part->cell_place, i);
    *bytes = (size_t)(cell_end(part->text, part->cell_place, i, found) - *begin);
    return (found & CELL_BARE) != 0 && (part->sink->missing_marks & sink_mark(*begin, *bytes)) == 0;
}

static inline bool take_id(column_part *part, size_t i, uint8_t found, int64_t place)
{
    const char *begin;
    size_t bytes;
    const bool word = is_word(part, i, found, &begin, &bytes), empty = (found & CELL_EMPTY) != 0;
    part->missing += empty;
    if (part->value != NULL && (word || empty)) {
        ((uint64_t *)part->value)[place] = word ? sink_id(begin, bytes) : TABLE_NO_ID;
    }
    return word || empty;
}

static inline bool take_word(column_part *part, size_t i, uint8_t found, int64_t place)
{
    int32_t code = TABLE_NO_CODE;
    const char *begin;
    size_t bytes;
    const bool word = is_word(part, i, found, &begin, &bytes), empty = (found & CELL_EMPTY) != 0;
    part->missing += empty;
    if (!word && !empty) {
        return false;
    }
    if (word) {
        const weft_status status = words_add(part->words, part->thread, begin, bytes, &code);
        part->status = status != WEFT_OK ? status : part->status;
    }
    if (part->value != NULL) {
        ((int32_t *)part->value)[place] = code;
    }
    return true;
}

/* A dropped column: a cell in quotes is looked at all the same. */
static inline bool take_nothing(column_part *part, size_t i, uint8_t found, int64_t place)
{
    (void)part;
    (void)i;
    (void)place;
    return (found & (CELL_BARE | CELL_EMPTY)) != 0;
}

static inline __attribute__((always_inline)) int64_t take_column(column_part *part, const sink_block *block,
                                                                 int64_t column, int64_t first, take_fn take)
{
    const int64_t rows = block->rows, columns = block->columns;
    uint8_t *found = block->found + column;
    int64_t left = 0;
    for (int64_t row = 0; row < rows; row++) {
        const bool taken = take(part, (size_t)(row * columns + column), found[row * columns], first + row);
        found[row * columns] |= taken ? CELL_DONE : 0;
        left += !taken;
    }
    return left;
}

weft_status sink_put_block(table_sink *sink, int thread, const sink_block *block, int64_t *left)
{
    weft_status status = WEFT_OK;
    const int64_t first = block->row - sink->first;
    assert(first >= 0 && first + block->rows <= sink->count && thread < sink->threads);
    assert(block->column + block->columns <= sink->schema->count);
    *left = 0;
    for (int64_t j = 0; j < block->columns && status == WEFT_OK; j++) {
        const int64_t column = block->column + j;
        const sink_column *c = &sink->column[column];
        table_tally *tally = &sink->tally[thread * sink->schema->count + column];
        column_part part = {.sink = sink,
                            .text = block->text,
                            .cell_place = block->place,
                            .number = block->value,
                            .value = c->value,
                            .words = sink->schema->field[column].words,
                            .least = _mm_set_sd(tally->least),
                            .most = _mm_set_sd(tally->most),
                            .thread = thread};
        switch (c->quick) {
        case SINK_REALS:
            *left += take_column(&part, block, j, first, take_real);
            break;
        case SINK_REALS_REQUIRED:
            *left += take_column(&part, block, j, first, take_required);
            break;
        case SINK_INTEGERS:
            *left += take_column(&part, block, j, first, take_integer);
            break;
        case SINK_LONGS:
            *left += take_column(&part, block, j, first, take_long);
            break;
        case SINK_IDS:
            *left += take_column(&part, block, j, first, take_id);
            break;
        case SINK_WORDS:
            *left += take_column(&part, block, j, first, take_word);
            break;
        case SINK_NOTHING:
            *left += take_column(&part, block, j, first, take_nothing);
            break;
        default:
            *left += block->rows;
        }
        tally->missing += part.missing;
        tally->least = _mm_cvtsd_f64(part.least);
        tally->most = _mm_cvtsd_f64(part.most);
        status = part.status;
    }
    return status;
}
