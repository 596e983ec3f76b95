/*
 * table/column/sink_block.c: a rectangle of cells that a kernel has read, column after column, so that the kind of a
 * column is asked once for many cells and its values are stored behind each other. See table/column/sink.h.
 */
#include <assert.h>
#include <math.h>

#include "base/file.h"
#include "table/column/sink.h"

/* One column of a block. The tally is a copy, so that it stands in registers. */
typedef struct column_part {
    const table_sink *sink;
    const char *text;
    const uint32_t *cell_place;
    const double *number;
    void *value;
    table_words *words; /* of a category */
    table_tally tally;
    weft_status status;
    int thread;
} column_part;

/* Takes cell i, the value of which has this place in the column. Returns false to leave it to sink_put. */
typedef bool (*take_fn)(column_part *part, size_t i, uint8_t found, int64_t place);

static inline bool take_real(column_part *part, size_t i, uint8_t found, int64_t place)
{
    const bool empty = (found & CELL_EMPTY) != 0;
    if (!empty && (found & CELL_NUMBER) == 0) {
        return false;
    }
    if (empty) {
        part->tally.missing++;
    } else {
        sink_note(&part->tally, part->number[i]);
    }
    if (part->value != NULL) {
        ((float *)part->value)[place] = empty ? NAN : (float)part->number[i];
    }
    return true;
}

static inline bool take_integer(column_part *part, size_t i, uint8_t found, int64_t place)
{
    const bool empty = (found & CELL_EMPTY) != 0;
    const double number = part->number[i];
    if (!empty && ((found & CELL_WHOLE) == 0 || number <= INT32_MIN || number > INT32_MAX)) {
        return false;
    }
    if (empty) {
        part->tally.missing++;
    } else {
        sink_note(&part->tally, number);
    }
    if (part->value != NULL) {
        ((int32_t *)part->value)[place] = empty ? TABLE_NO_INTEGER : (int32_t)number;
    }
    return true;
}

static inline bool take_word(column_part *part, size_t i, uint8_t found, int64_t place)
{
    int32_t code = TABLE_NO_CODE;
    const char *begin = cell_begin(part->text, part->cell_place, i);
    const size_t bytes = (size_t)(cell_end(part->text, part->cell_place, i, found) - begin);
    if ((found & CELL_EMPTY) != 0) {
        part->tally.missing++;
    } else if ((found & CELL_BARE) == 0 || (part->sink->missing_marks & sink_mark(begin, bytes)) != 0) {
        return false;
    } else {
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
                            .tally = *tally,
                            .thread = thread};
        switch (c->quick) {
        case SINK_REALS:
            *left += take_column(&part, block, j, first, take_real);
            break;
        case SINK_INTEGERS:
            *left += take_column(&part, block, j, first, take_integer);
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
        *tally = part.tally;
        status = part.status;
    }
    return status;
}
