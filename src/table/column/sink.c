/* table/column/sink.c: cells by kind; see table/column/sink.h. */
#include "table/column/sink.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "base/alloc.h"
#include "io/text/text_header.h"
#include "table/table_options.def"

enum { SHOWN = 40 };

/* ---- words for "no value" ---- */

static weft_status cut_missing(const char *list, table_sink *sink)
{
    const size_t bytes = strlen(list) + 1;
    double value;
    bool whole;
    WEFT_TRY(weft_malloc(bytes + 2 * (size_t)DECIMAL_PAD, 1, WEFT_MEM_WORKSPACE, (void **)&sink->words));
    memcpy(sink->words + DECIMAL_PAD, list, bytes);
    for (const char *at = sink->words + DECIMAL_PAD; *at != '\0';) {
        const size_t length = strcspn(at, ",");
        WEFT_CHECK(sink->missing_count < SINK_MISSING_MOST, WEFT_ERR_USAGE, FLAG_MISSING ": more than %d words",
                   SINK_MISSING_MOST);
        sink->missing[sink->missing_count++] = (sink_cell){.text = at, .bytes = length};
        sink->missing_marks |= sink_mark(at, length);
        sink->missing_number = sink->missing_number || decimal_read_slowly(at, length, '.', &value, &whole);
        at += length + (at[length] == ',');
    }
    return WEFT_OK;
}

static bool is_missing(const table_sink *sink, const sink_cell *cell)
{
    if (cell->bytes == 0) {
        return true;
    }
    for (int i = 0; i < sink->missing_count; i++) {
        const sink_cell *word = &sink->missing[i];
        if (word->bytes == cell->bytes && strncasecmp(word->text, cell->text, cell->bytes) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- a pass ---- */

static sink_quick quick_way(const table_sink *sink, const table_field *f)
{
    static const sink_quick ways[TABLE_KIND_COUNT + 1] = {[TABLE_REAL] = SINK_REALS,
                                                          [TABLE_INTEGER] = SINK_INTEGERS,
                                                          [TABLE_LONG] = SINK_LONGS,
                                                          [TABLE_CATEGORY] = SINK_WORDS,
                                                          [TABLE_ID] = SINK_IDS};
    if (f->role == TABLE_DROPPED) {
        return SINK_NOTHING;
    }
    if (f->take != NULL) {
        return SINK_CLOSELY;
    }
    const bool number = f->kind != TABLE_CATEGORY && f->kind != TABLE_ID;
    return number && (sink->missing_number || f->role == TABLE_WEIGHT) ? SINK_CLOSELY
           : f->required && f->kind == TABLE_REAL                      ? SINK_REALS_REQUIRED
                                                                       : ways[f->kind];
}

weft_status sink_create(table_schema *schema, const char *missing, char point, int threads, int64_t first,
                        int64_t count, void *const *value, table_sink *sink)
{
    assert(threads > 0 && first >= 0 && count >= 0);
    weft_status status;
    *sink = (table_sink){.schema = schema, .threads = threads, .first = first, .count = count, .point = point};
    WEFT_TRY_GOTO(cut_missing(missing != NULL ? missing : TABLE_MISSING_WORDS, sink), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&sink->column, schema->count, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&sink->tally, threads * schema->count, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t j = 0; j < schema->count; j++) {
        table_field *f = &schema->field[j];
        sink_column *c = &sink->column[j];
        c->kind = f->kind;
        c->value = value != NULL ? value[j] : NULL;
        c->bytes = c->value != NULL ? (int64_t)table_kind_bytes(c->kind) : 0;
        c->quick = quick_way(sink, f);
        if (f->kind == TABLE_CATEGORY && f->words == NULL && f->role != TABLE_DROPPED) {
            WEFT_TRY_GOTO(words_create(threads, &f->words), status, done);
        }
    }
    for (int64_t i = 0; i < threads * schema->count; i++) {
        sink->tally[i] = TABLE_TALLY_NONE;
    }
    status = sink_open_windows(sink);
done:
    if (status != WEFT_OK) {
        sink_free(sink);
    }
    return status;
}

void sink_free(table_sink *sink)
{
    sink_close_windows(sink);
    weft_free(sink->column);
    weft_free(sink->tally);
    weft_free(sink->words);
    sink->column = NULL;
    sink->tally = NULL;
    sink->words = NULL;
}

void sink_sum(const table_sink *sink, table_tally *tally)
{
    const int64_t columns = sink->schema->count;
    for (int64_t j = 0; j < columns; j++) {
        tally[j] = TABLE_TALLY_NONE;
        for (int t = 0; t < sink->threads; t++) {
            schema_add_tally(&tally[j], &sink->tally[t * columns + j]);
        }
    }
}

/* ---- faults ---- */

static weft_status refuse(const table_sink *sink, int64_t column, const sink_cell *cell, const char *why)
{
    char name[96];
    return weft_fail(WEFT_ERR_DATA, "%s: '%.*s' %s", schema_say(sink->schema, column, name),
                     cell->bytes > SHOWN ? SHOWN : (int)cell->bytes, cell->text, why);
}

/* A cell of a column whose reader has no options: says what is expected. */
static weft_status refuse_expected(const table_sink *sink, int64_t column, const sink_cell *cell)
{
    const char *expected = sink->schema->field[column].expected;
    const int length = cell->bytes > SHOWN ? SHOWN : (int)cell->bytes;
    double value;
    bool whole;
    char name[96];
    if (decimal_read_slowly(cell->text, cell->bytes, ',', &value, &whole)) {
        return weft_fail(WEFT_ERR_DATA, "%s: '%.*s': a comma within a number: decimal commas? Numbers are written 0.5",
                         schema_say(sink->schema, column, name), length, cell->text);
    }
    return length > 0 ? weft_fail(WEFT_ERR_DATA, "%s: '%.*s': expected %s", schema_say(sink->schema, column, name),
                                  length, cell->text, expected)
                      : weft_fail(WEFT_ERR_DATA, "%s: an empty field: expected %s",
                                  schema_say(sink->schema, column, name), expected);
}

static weft_status refuse_word(const table_sink *sink, int64_t column, const sink_cell *cell)
{
    char why[400];
    const char *name = sink->schema->field[column].name;
    const int length = cell->bytes > SHOWN ? SHOWN : (int)cell->bytes;
    if (sink->schema->field[column].expected != NULL) {
        return refuse_expected(sink, column, cell);
    }
    if (sink->schema->field[column].role == TABLE_WEIGHT) {
        return refuse(sink, column, cell, "is no weight: a finite number, 0 or above");
    }
    snprintf(why, sizeof why,
             "is no finite number, and the first rows of the column are numbers: " FLAG_MISSING
             " %.*s if it stands for a missing value, " FLAG_CATEGORY " '%.64s' if the column holds words, " FLAG_DROP
             " '%.64s' to leave the column out",
             length, cell->text, name, name);
    return refuse(sink, column, cell, why);
}

/* ---- cells ---- */

static void put_missing(const table_sink *sink, table_tally *tally, void *slot, int64_t column)
{
    tally->missing++;
    if (slot != NULL) {
        table_fill_missing(sink->column[column].kind, slot, 0, 1);
    }
}

/* [out] value: a whole number beyond 2^53, which no double holds. */
static bool read_long(const sink_cell *cell, int64_t *value)
{
    char text[24];
    if (cell->bytes >= sizeof text) {
        return false;
    }
    memcpy(text, cell->text, cell->bytes);
    text[cell->bytes] = '\0';
    const char *at = text;
    return text_scan_int(&at, value) && *at == '\0' && *value != TABLE_NO_LONG;
}

static weft_status put_real(const table_sink *sink, float *slot, int64_t column, const sink_cell *cell, double value)
{
    const float narrow = (float)value;
    if (!isfinite(narrow)) {
        return refuse(sink, column, cell, "is beyond the range of float32, 3.4e38: scale the column, or drop it");
    }
    if (sink->schema->field[column].role == TABLE_WEIGHT && narrow < 0) {
        return refuse_word(sink, column, cell);
    }
    if (slot != NULL) {
        *slot = narrow;
    }
    return WEFT_OK;
}

/* A whole number, into a column that may turn out to be of another kind. */
static weft_status put_whole(table_kind kind, table_tally *tally, void *slot, const sink_cell *cell, double value)
{
    int64_t exact = (int64_t)(fabs(value) < 9e18 ? value : 0);
    if (fabs(value) >= 9007199254740992.0 && (cell->text == NULL || !read_long(cell, &exact))) {
        tally->fraction = true; /* no int64: the column is real */
        return WEFT_OK;
    }
    const bool narrow = exact > INT32_MIN && exact <= INT32_MAX;
    tally->wide = tally->wide || !narrow;
    if (slot != NULL && kind == TABLE_INTEGER && narrow) {
        *(int32_t *)slot = (int32_t)exact;
    } else if (slot != NULL && kind == TABLE_LONG) {
        *(int64_t *)slot = exact;
    }
    return WEFT_OK;
}

static weft_status put_value(const table_sink *sink, table_tally *tally, void *slot, int64_t column,
                             const sink_cell *cell, double value, bool whole)
{
    sink_note(tally, value);
    if (sink->column[column].kind == TABLE_REAL) {
        return put_real(sink, slot, column, cell, value);
    }
    if (!whole) {
        tally->fraction = true;
        return WEFT_OK;
    }
    return put_whole(sink->column[column].kind, tally, slot, cell, value);
}

static weft_status put_number(const table_sink *sink, table_tally *tally, void *slot, int64_t column,
                              const sink_cell *cell)
{
    double value;
    bool whole;
    const bool first = sink->missing_number && is_missing(sink, cell);
    if (!first && decimal_read(cell->text, cell->bytes, sink->point, &value, &whole)) {
        return put_value(sink, tally, slot, column, cell, value, whole);
    }
    const table_field *f = &sink->schema->field[column];
    if ((first || is_missing(sink, cell)) && f->role != TABLE_WEIGHT && !f->required) {
        put_missing(sink, tally, slot, column);
        return WEFT_OK;
    }
    if (sink->column[column].kind != TABLE_UNSEEN) {
        return refuse_word(sink, column, cell);
    }
    tally->word = true;
    tally->no_split = tally->no_split || schema_split_of(cell->text, cell->bytes) < 0;
    return WEFT_OK;
}

static weft_status put_split(const table_sink *sink, table_tally *tally, uint8_t *slot, int64_t column,
                             const sink_cell *cell)
{
    const int part = is_missing(sink, cell) ? TABLE_NO_SPLIT : schema_split_of(cell->text, cell->bytes);
    if (part < 0) {
        return refuse(sink, column, cell,
                      "is none of the words train, valid, test and none: " FLAG_CATEGORY " makes the column a feature");
    }
    tally->missing += part == TABLE_NO_SPLIT;
    if (slot != NULL) {
        *slot = (uint8_t)part;
    }
    return WEFT_OK;
}

static weft_status hand_over(const table_sink *sink, int thread, int64_t row, int64_t column, const sink_cell *cell)
{
    const table_field *f = &sink->schema->field[column];
    char name[96];
    const weft_status status = f->take(f->self, thread, row, column, cell);
    return status == WEFT_ERR_DATA ? weft_fail_context(status, "%s: ", schema_say(sink->schema, column, name)) : status;
}

weft_status sink_put(table_sink *sink, int thread, int64_t row, int64_t column, const sink_cell *cell)
{
    const sink_column *c = &sink->column[column];
    table_tally *tally = &sink->tally[thread * sink->schema->count + column];
    void *slot = sink_slot(sink, thread, row, column);
    assert(row >= sink->first && row - sink->first < sink->count && thread < sink->threads);
    if (sink->schema->field[column].role == TABLE_DROPPED) {
        return WEFT_OK;
    }
    if (sink->schema->field[column].take != NULL) {
        return hand_over(sink, thread, row, column, cell);
    }
    if (c->kind == TABLE_SPLIT) {
        return put_split(sink, tally, slot, column, cell);
    }
    if (c->kind != TABLE_CATEGORY && c->kind != TABLE_ID) {
        return put_number(sink, tally, slot, column, cell);
    }
    if (is_missing(sink, cell)) {
        put_missing(sink, tally, slot, column);
        return WEFT_OK;
    }
    if (c->kind == TABLE_CATEGORY) {
        int32_t code;
        WEFT_TRY(words_add(sink->schema->field[column].words, thread, cell->text, cell->bytes, &code));
        if (slot != NULL) {
            *(int32_t *)slot = code;
        }
    } else if (slot != NULL) {
        *(uint64_t *)slot = sink_id(cell->text, cell->bytes);
    }
    return WEFT_OK;
}

/* Text of a number, for columns of words. */
static weft_status put_as_word(table_sink *sink, int thread, int64_t row, int64_t column, double value)
{
    char text[DECIMAL_PAD + 32 + DECIMAL_PAD];
    const int length = value == nearbyint(value) && fabs(value) < 1e15
                           ? snprintf(text + DECIMAL_PAD, 32, "%.0f", value)
                           : snprintf(text + DECIMAL_PAD, 32, "%.9g", value);
    const sink_cell cell = {.text = text + DECIMAL_PAD, .bytes = (size_t)length};
    return sink_put(sink, thread, row, column, &cell);
}

weft_status sink_put_number(table_sink *sink, int thread, int64_t row, int64_t column, double value)
{
    const sink_column *c = &sink->column[column];
    table_tally *tally = &sink->tally[thread * sink->schema->count + column];
    void *slot = sink_slot(sink, thread, row, column);
    char shown[32];
    if (sink->schema->field[column].role == TABLE_DROPPED) {
        return WEFT_OK;
    }
    if (isnan(value) && sink->schema->field[column].role != TABLE_WEIGHT) {
        put_missing(sink, tally, slot, column);
        return WEFT_OK;
    }
    if (isfinite(value) && (c->kind == TABLE_CATEGORY || c->kind == TABLE_ID || c->kind == TABLE_SPLIT)) {
        return put_as_word(sink, thread, row, column, value);
    }
    if (isfinite((float)value) && (value >= 0.0 || sink->schema->field[column].role != TABLE_WEIGHT)) {
        const sink_cell none = {.text = NULL}; /* nothing refuses it, so nobody shows it */
        return put_value(sink, tally, slot, column, &none, value, value == nearbyint(value));
    }
    snprintf(shown, sizeof shown, "%g", value);
    const sink_cell cell = {.text = shown, .bytes = strlen(shown)};
    return isfinite(value) ? put_value(sink, tally, slot, column, &cell, value, value == nearbyint(value))
                           : refuse_word(sink, column, &cell);
}
