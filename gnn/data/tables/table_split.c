/*
 * gnn/data/tables/table_split.c: a split from text, by the names of its columns, and lists of vertices.
 *
 *   one column       train, valid (val, validation, dev), test, none; or 0, 1, 2, and -1 or 255 = none; empty or NA =
 *                    none
 *   several          0 and 1 (true and false) under names of parts, in any order; three columns without a header are
 *                    train, valid and test
 *
 * A column of 0 and 1 alone that no name gives a part is a mask of a part that nobody knows, and is refused.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text/append.h"
#include "gnn/data/read/reader_parts.h"
#include "gnn/data/tables/vertex_table.h"

/* ---- fields ---- */

/* The field in single or double quotes or none; false: too long for a word. */
static bool plain_field(const text_field *field, char word[16])
{
    text_field inner = *field;
    const size_t length = (size_t)(field->end - field->text);
    if (length >= 2 && *field->text == '\'' && field->end[-1] == '\'') {
        inner.text++;
        inner.end--;
    }
    return text_copy_field(&inner, word, 16) < 15;
}

static int part_of_number(int64_t number)
{
    return number >= 0 && number < READER_PARTS    ? (int)number
           : number == -1 || number == READER_NONE ? READER_NONE
                                                   : -1;
}

/* The part that a word or a number means; -1 = none that is known. */
static int part_of(const text_field *field, bool *number)
{
    static const struct {
        const char *word;
        int part;
    } known[] = {{"train", READER_TRAIN}, {"training", READER_TRAIN}, {"valid", READER_VALID},
                 {"val", READER_VALID},   {"dev", READER_VALID},      {"validation", READER_VALID},
                 {"test", READER_TEST},   {"testing", READER_TEST},   {"none", READER_NONE}};
    char word[16];
    int64_t value;
    const bool fits = plain_field(field, word);
    const text_field plain = {.text = word, .end = word + strlen(word)};
    *number = text_field_whole(fits ? &plain : field, &value);
    if (*number) {
        return part_of_number(value);
    }
    for (size_t i = 0; fits && i < sizeof known / sizeof *known; i++) {
        if (strcasecmp(known[i].word, word) == 0) {
            return known[i].part;
        }
    }
    return fits && text_field_missing(&plain) ? READER_NONE : -1;
}

/* 1 or 0 of a mask; -1: neither. */
static int flag_of(const text_field *field)
{
    static const char *const set[] = {"true", "t"};
    static const char *const clear[] = {"false", "f"};
    char word[16];
    int64_t value;
    const bool fits = plain_field(field, word);
    const text_field plain = {.text = word, .end = word + strlen(word)};
    if (text_field_whole(fits ? &plain : field, &value)) {
        return value == 0 || value == 1 ? (int)value : -1;
    }
    for (size_t i = 0; fits && i < sizeof set / sizeof *set; i++) {
        if (strcasecmp(word, set[i]) == 0 || strcasecmp(word, clear[i]) == 0) {
            return strcasecmp(word, set[i]) == 0;
        }
    }
    return -1;
}

/* ---- rows ---- */

typedef struct split_rows {
    uint8_t *split;
    int part[READER_PARTS]; /* of masks: the parts of the wanted columns */
    atomic_bool one, other; /* a number 1; anything but the numbers 0 and 1 */
} split_rows;

static weft_status take_part(void *self, const table_cell *cell)
{
    split_rows *s = self;
    bool number;
    const int part = part_of(&cell->field, &number);
    if (part < 0) {
        return table_cell_expected(cell,
                                   flag_of(&cell->field) >= 0
                                       ? "train, valid, test or none; of masks, the header says which part each is: "
                                         "train_mask, valid_mask, test_mask"
                                       : "train, valid, test or none");
    }
    if (number && part == READER_VALID) {
        atomic_store_explicit(&s->one, true, memory_order_relaxed);
    } else if (!number || part != READER_TRAIN) {
        atomic_store_explicit(&s->other, true, memory_order_relaxed);
    }
    s->split[cell->row] = (uint8_t)part;
    return WEFT_OK;
}

/* The masks of one row come one after the other, by one thread. */
static weft_status take_mask(void *self, const table_cell *cell)
{
    split_rows *s = self;
    uint8_t *split = &s->split[cell->row];
    const int flag = flag_of(&cell->field), part = s->part[cell->place];
    if (flag < 0) {
        return table_cell_expected(cell, "0 or 1, true or false, in each column of a part");
    }
    WEFT_CHECK(flag == 0 || *split == READER_NONE, WEFT_ERR_DATA,
               "a vertex of two parts, %s and %s: at most one 1 in a row", reader_part_names[*split],
               reader_part_names[part]);
    *split = flag == 1 ? (uint8_t)part : *split;
    return WEFT_OK;
}

/* ---- columns ---- */

static bool names_are_flags(const text_header *h)
{
    bool flags = true;
    for (int64_t j = 0; j < h->columns; j++) {
        const text_field name = {.text = h->name[j], .end = h->name[j] + strlen(h->name[j])};
        flags = flags && flag_of(&name) >= 0;
    }
    return flags;
}

/* A first line that is itself a part, over words, or three masks: the first row of a file without a header. */
static weft_status settle_header(vertex_table *t)
{
    text_header *h = &t->header;
    text_field field;
    bool number;
    if (h->named && h->columns == READER_PARTS && names_are_flags(h)) {
        return text_header_drop(h);
    }
    if (!h->named || h->columns != 1) {
        return WEFT_OK;
    }
    const text_field name = {.text = h->name[0], .end = h->name[0] + strlen(h->name[0])};
    const bool mask = text_header_sample(h, 0, &field) && flag_of(&field) >= 0;
    if (part_of(&name, &number) < 0 || (mask && strcasecmp(h->name[0], "none") != 0)) {
        return WEFT_OK;
    }
    t->id = -1;
    return text_header_drop(h);
}

static weft_status want_parts(vertex_table *t, const int64_t column[READER_PARTS], int parts, int wanted[READER_PARTS])
{
    char missing[48] = "";
    for (int part = 0; part < READER_PARTS; part++) {
        if (column[part] >= 0) {
            wanted[t->text.width] = part;
            table_text_want(&t->text, column[part]);
        } else {
            text_append(missing, sizeof missing, "%s%s", missing[0] != '\0' ? " and " : "", reader_part_names[part]);
        }
    }
    if (parts < READER_PARTS) {
        log_warn("%s: no column says %s: vertices that are in no other part are in none", t->header.path, missing);
    }
    return WEFT_OK;
}

static weft_status refuse_columns(const text_header *h)
{
    return weft_fail(WEFT_ERR_DATA,
                     "%s: line %" PRId64 ": %" PRId64
                     " columns%s: which are the split? Expected one named split, columns "
                     "named train, valid and test, or one column alone",
                     h->path, h->line, h->columns, h->named ? "" : " without names");
}

/* Which columns are read: *masks, of the parts `wanted`, or one of words or numbers. */
static weft_status choose_columns(vertex_table *t, bool *masks, int wanted[READER_PARTS])
{
    static const text_role roles[READER_PARTS] = {TEXT_TRAIN, TEXT_VALID, TEXT_TEST};
    text_header *h = &t->header;
    int64_t split, plain, part[READER_PARTS];
    int parts = 0;
    WEFT_TRY(text_header_find(h, TEXT_SPLIT, &split));
    for (int i = 0; i < READER_PARTS; i++) {
        WEFT_TRY(text_header_find(h, roles[i], &part[i]));
        parts += part[i] >= 0;
    }
    *masks = (!h->named && h->columns == READER_PARTS) || parts > 0;
    WEFT_CHECK(split < 0 || parts == 0, WEFT_ERR_DATA,
               "%s: line %" PRId64 ": the column '%.40s' and columns of parts are there: leave one or the others out",
               h->path, h->line, h->name[split < 0 ? 0 : split]);
    if (*masks && parts == 0) {
        part[0] = 0;
        part[1] = 1;
        part[2] = 2;
        parts = READER_PARTS;
    }
    if (*masks) {
        return want_parts(t, part, parts, wanted);
    }
    const bool alone = split < 0 && (h->named ? vertex_table_plain(t, &plain) : h->columns) == 1;
    if (split < 0 && !alone) {
        return h->columns == 0 ? WEFT_OK : refuse_columns(h); /* an empty file lacks rows */
    }
    table_text_want(&t->text, split >= 0 ? split : h->named ? plain : 0);
    return WEFT_OK;
}

/* Numbers under a name that is no split's may be folds of a cross-validation. */
static void tell_numbers(const vertex_table *t)
{
    for (int64_t j = 0; t->header.named && j < t->header.columns; j++) {
        if (t->text.place[j] >= 0 && t->header.name[j][0] != '\0' && !text_header_is(&t->header, j, TEXT_SPLIT)) {
            log_warn("%s: the numbers of column '%.40s' are taken for parts: 0 = train, 1 = valid, 2 = test",
                     t->header.path, t->header.name[j]);
        }
    }
}

weft_status reader_text_split(const char *path, raw_graph *raw)
{
    vertex_table t;
    split_rows s = {.split = NULL};
    bool masks;
    WEFT_TRY(reader_new_splits(raw, 1));
    s.split = raw->split;
    atomic_init(&s.one, false);
    atomic_init(&s.other, false);
    WEFT_TRY(vertex_table_open(path, raw, &t));
    weft_status status;
    WEFT_TRY_GOTO(settle_header(&t), status, done);
    WEFT_TRY_GOTO(choose_columns(&t, &masks, s.part), status, done);
    WEFT_TRY_GOTO(masks ? WEFT_OK : vertex_table_count_blanks(&t), status, done);
    WEFT_TRY_GOTO(vertex_table_begin(&t), status, done);
    WEFT_TRY_GOTO(table_text_each(&t.text, raw->vertices, masks ? take_mask : take_part, &s), status, done);
    WEFT_CHECK_GOTO(
        masks || !atomic_load(&s.one) || atomic_load(&s.other), status, done, WEFT_ERR_DATA,
        "%s: holds 0 and 1 alone: a mask of one part; which? Name the column train_mask, valid_mask or test_mask; "
        "a split without test vertices is written in words (train, valid)",
        path);
    if (!masks && atomic_load(&s.one)) {
        tell_numbers(&t);
    }
done:
    vertex_table_close(&t);
    return status;
}

/* ---- lists ---- */

typedef struct list_rows {
    const raw_graph *raw;
    int64_t *index;
    int64_t room; /* of index: rows when they were counted */
} list_rows;

static weft_status take_vertex(void *self, const table_cell *cell)
{
    const list_rows *list = self;
    const bool named = list->raw->ids.count > 0; /* a number is checked with the shape of all parts */
    int64_t *index = &list->index[cell->row];
    WEFT_CHECK(cell->row < list->room, WEFT_ERR_IO, "a list of vertices grew while it was read");
    if (named ? vertex_table_find(list->raw, &cell->field, index) : text_field_whole(&cell->field, index)) {
        return WEFT_OK;
    }
    return table_cell_expected(cell, named ? "the id of a vertex in the edges" : "a whole number");
}

/* A first line that names a vertex is none of names of columns. */
static weft_status settle_list_header(vertex_table *t)
{
    const text_header *h = &t->header;
    int64_t vertex;
    if (!h->named || h->columns != 1 || t->raw->ids.count == 0) {
        return WEFT_OK;
    }
    const text_field name = {.text = h->name[0], .end = h->name[0] + strlen(h->name[0])};
    return vertex_table_find(t->raw, &name, &vertex) ? text_header_drop(&t->header) : WEFT_OK;
}

/* [out] column: that of ids, or the only one beside an index. */
static weft_status choose_list(const vertex_table *t, int64_t *column)
{
    const text_header *h = &t->header;
    const bool alone = h->columns - (h->index == 0) == 1;
    *column = t->id >= 0 ? t->id : h->columns - 1;
    WEFT_CHECK(t->id >= 0 || alone || h->columns == 0, WEFT_ERR_DATA,
               "%s: line %" PRId64 ": %" PRId64 " fields where 1 is expected: a vertex a line, or a column named id",
               h->path, h->line, h->columns);
    return WEFT_OK;
}

weft_status reader_text_list(const char *path, const raw_graph *raw, int64_t *count, int64_t **index)
{
    vertex_table t;
    table_lines lines;
    int64_t column;
    *index = NULL;
    WEFT_TRY(vertex_table_open(path, raw, &t));
    weft_status status;
    WEFT_TRY_GOTO(settle_list_header(&t), status, done);
    WEFT_TRY_GOTO(choose_list(&t, &column), status, done);
    WEFT_TRY_GOTO(table_text_count(&t.header, &lines), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(index, lines.filled, WEFT_MEM_GENERAL), status, done);
    list_rows list = {.raw = raw, .index = *index, .room = lines.filled};
    status = table_text_column(&t.text, column, take_vertex, &list, count);
done:
    if (status != WEFT_OK) {
        weft_free(*index);
        *index = NULL;
    }
    vertex_table_close(&t);
    return status;
}
