/*
 * gnn/data/tables/table_labels.c: labels from text: one column of classes, as numbers or as words, or columns of tasks.
 *
 * Words are classes in the order of their bytes, and keep their names. Whether the first of many words is a header
 * shows the number of rows: with it there are as many as vertices, or one too many.
 */
#include <inttypes.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/read/reader_parts.h"
#include "gnn/data/tables/vertex_table.h"
#include "table/words.h"

static bool is_word(const text_field *field)
{
    double number;
    return !text_field_missing(field) && !text_field_number(field, &number);
}

/* A first line that names no role, above words: a row, if there are as many rows with it as vertices. */
static weft_status settle_header(vertex_table *t)
{
    text_header *h = &t->header;
    text_header all = *h;
    text_field field;
    table_lines with, below;
    const int64_t n = t->raw->vertices;
    const bool words = h->row == NULL || (text_header_sample(h, 0, &field) && is_word(&field));
    if (!h->named || h->columns != 1 || !words || text_header_is(h, 0, TEXT_LABEL)) {
        return WEFT_OK;
    }
    all.named = false; /* as if there were no header */
    WEFT_TRY(table_text_count(&all, &with));
    WEFT_TRY(table_text_count(h, &below));
    const bool row = n >= with.filled && n <= with.filled + with.blank;
    const bool header = n >= below.filled && n <= below.filled + below.blank;
    WEFT_CHECK(!row || !header || below.blank == below.blank_tail, WEFT_ERR_DATA,
               "%s: line %" PRId64
               ": is '%.40s' a class or the name of the column? With empty lines both would do: begin "
               "the file with a line: label",
               h->path, h->line, h->name[0]);
    if (!row || (header && n == below.filled)) {
        return WEFT_OK;
    }
    t->id = -1; /* what looked like the name of a column of ids is a class */
    return text_header_drop(h);
}

/* The column of labels, or all without another role: tasks. */
static weft_status choose_columns(vertex_table *t)
{
    int64_t column, plain;
    WEFT_TRY(text_header_find(&t->header, TEXT_LABEL, &column));
    if (column >= 0) {
        table_text_want(&t->text, column);
        return WEFT_OK;
    }
    plain = vertex_table_plain(t, &column);
    WEFT_CHECK(plain > 0 || t->header.row == NULL, WEFT_ERR_DATA,
               "%s: line %" PRId64 ": no column of labels: give it the name label, class, y or target", t->header.path,
               t->header.line);
    for (int64_t j = 0; j < t->header.columns; j++) {
        if (vertex_table_is_plain(t, j)) {
            table_text_want(&t->text, j);
        }
    }
    return WEFT_OK;
}

/* ---- words or numbers ---- */

static weft_status take_kind(void *self, const table_cell *cell)
{
    atomic_bool *words = self;
    if (is_word(&cell->field)) {
        atomic_store(words, true);
    }
    return WEFT_OK;
}

/* The first row shows what all are; where it has no label, one word anywhere. */
static weft_status find_kind(const vertex_table *t, bool *words)
{
    text_field field;
    int64_t label = 0;
    atomic_bool any;
    atomic_init(&any, false);
    *words = false;
    if (t->text.width != 1 || t->header.row == NULL) {
        return WEFT_OK;
    }
    while (t->text.place[label] < 0) {
        label++;
    }
    if (text_header_sample(&t->header, label, &field) && !text_field_missing(&field)) {
        *words = is_word(&field);
        return WEFT_OK;
    }
    WEFT_TRY(table_text_each(&t->text, t->raw->vertices, take_kind, &any));
    *words = atomic_load(&any);
    return WEFT_OK;
}

typedef struct words_to_classes {
    table_words *words;
    int64_t *label; /* [vertices] */
} words_to_classes;

/* The class of a word is its place in the order in which words came, until all are read. */
static weft_status add_word(const words_to_classes *to, int thread, const text_field *field, int64_t *label)
{
    char few[256], *word = few;
    const size_t most = (size_t)(field->end - field->text) + 1;
    int32_t code = -1;
    WEFT_TRY(most > sizeof few ? weft_malloc(most, 1, WEFT_MEM_WORKSPACE, (void **)&word) : WEFT_OK);
    const weft_status status = words_add(to->words, thread, word, text_copy_name(field, word, most), &code);
    weft_free(word != few ? word : NULL);
    *label = code;
    return status;
}

static weft_status take_class(void *self, const table_cell *cell)
{
    const words_to_classes *to = self;
    double number;
    to->label[cell->row] = -1;
    if (text_field_missing(&cell->field)) {
        return WEFT_OK;
    }
    if (!cell->quoted && text_field_number(&cell->field, &number)) {
        return table_cell_expected(cell, "a word, as above: words or numbers, or numbers in quotes among words");
    }
    return add_word(to, cell->thread, &cell->field, &to->label[cell->row]);
}

/* Brings words into the order of their bytes, and classes with them. [out] list: [words], until words_free */
static weft_status sort_classes(const words_to_classes *to, int64_t vertices, const char ***list)
{
    const int64_t count = words_count(to->words);
    size_t length;
    int32_t *order;
    WEFT_TRY(words_sort(to->words, &order));
    for (int64_t v = 0; order != NULL && v < vertices; v++) {
        to->label[v] = to->label[v] < 0 ? -1 : order[to->label[v]];
    }
    weft_free(order);
    WEFT_TRY(WEFT_NEW(list, count, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < count; i++) {
        (*list)[i] = words_text(to->words, i, &length);
    }
    return WEFT_OK;
}

/* Words that mostly stand for a label that nobody knows. */
static void warn_of_missing_words(const char *path, const char *const *list, int64_t count)
{
    static const char *const missing[] = {"none", "nat", "unlabeled", "unlabelled", "?", "-", "."};
    for (int64_t i = 0; i < count; i++) {
        for (size_t k = 0; k < sizeof missing / sizeof *missing; k++) {
            if (strcasecmp(list[i], missing[k]) == 0) {
                log_warn(
                    "%s: '%s' is a class here: if it stands for a label that is missing, leave it empty, or write NA",
                    path, list[i]);
            }
        }
    }
}

static void tell_classes(const char *path, const char *const *list, int64_t classes, const raw_graph *raw)
{
    int64_t unlabelled = 0;
    for (int64_t v = 0; v < raw->vertices; v++) {
        unlabelled += raw->label[v] < 0;
    }
    log_info("%s: %" PRId64 " classes by name: 0 is '%.40s'%s%.40s%s", path, classes, list[0],
             classes > 1 ? ", the last is '" : "", classes > 1 ? list[classes - 1] : "", classes > 1 ? "'" : "");
    if (unlabelled > 0) {
        log_info("%s: rows without a label (empty or NA): %" PRId64, path, unlabelled);
    }
    if (classes > 2 && classes == raw->vertices - unlabelled) {
        log_warn("%s: every labelled vertex has a class of its own: are these names rather than classes?", path);
    }
}

/* Names that a store cannot hold are told with the file. */
static weft_status check_names(const char *path, const char *const *list, int64_t count)
{
    char *joined = NULL;
    size_t bytes;
    const weft_status status = name_list_join(path, list, count, &joined, &bytes);
    weft_free(joined);
    return status;
}

static weft_status read_words(const vertex_table *t, raw_graph *raw)
{
    const char *path = t->header.path, **list = NULL;
    words_to_classes to = {.words = NULL};
    int64_t count;
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW(&to.label, raw->vertices, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(words_create(omp_get_max_threads(), &to.words), status, done);
    WEFT_TRY_GOTO(table_text_each(&t->text, raw->vertices, take_class, &to), status, done);
    count = words_count(to.words);
    WEFT_TRY_GOTO(sort_classes(&to, raw->vertices, &list), status, done);
    WEFT_TRY_GOTO(check_names(path, list, count), status, done);
    WEFT_TRY_GOTO(reader_take_labels(path, to.label, false, raw), status, done);
    WEFT_CHECK_GOTO(raw->classes == count, status, done, WEFT_ERR_DATA,
                    "%s: %" PRId64 " classes have names here, and %" PRId64
                    " are asked for: the others would have none",
                    path, count, raw->classes);
    WEFT_TRY_GOTO(name_list_copy(list, raw->classes, &raw->class_names), status, done);
    tell_classes(path, list, count, raw);
    warn_of_missing_words(path, list, count);
done:
    weft_free(list);
    words_free(to.words);
    weft_free(to.label);
    return status;
}

static weft_status read_numbers(const vertex_table *t, bool from_one, raw_graph *raw)
{
    const char *expected = t->text.width == 1
                               ? "a finite number, as the classes above are (or words, for all classes)"
                               : "0, 1 or nan: several columns are tasks (one of classes is named label)";
    float *values;
    WEFT_TRY(table_text_floats(&t->text, raw->vertices, expected, true, WEFT_MEM_GRAPH, &values));
    const weft_status status = reader_take_real_labels(t->header.path, t->text.width, &values, from_one, raw);
    weft_free(values);
    return status;
}

/* The names of tasks, where a header has a different one for each. */
static weft_status name_tasks(const vertex_table *t, raw_graph *raw)
{
    const char **names = NULL;
    char *joined = NULL;
    size_t bytes;
    if (!t->header.named || raw->tasks == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&names, raw->tasks, WEFT_MEM_WORKSPACE));
    for (int64_t j = 0; j < t->header.columns; j++) {
        if (t->text.place[j] >= 0) {
            names[t->text.place[j]] = t->header.name[j];
        }
    }
    weft_status status = name_list_join(t->header.path, names, raw->tasks, &joined, &bytes);
    if (status == WEFT_OK) {
        WEFT_TRY_GOTO(name_list_copy(names, raw->tasks, &raw->class_names), status, done);
        status = name_list_check_distinct(t->header.path, &raw->class_names);
    }
    if (status == WEFT_ERR_DATA) { /* tasks without names of their own are no fault */
        name_list_free(&raw->class_names);
        weft_error_clear();
        status = WEFT_OK;
    }
done:
    weft_free(joined);
    weft_free(names);
    return status;
}

weft_status reader_text_labels(const char *path, bool from_one, raw_graph *raw)
{
    vertex_table t;
    bool words;
    WEFT_TRY(vertex_table_open(path, raw, &t));
    weft_status status;
    WEFT_TRY_GOTO(settle_header(&t), status, done);
    WEFT_TRY_GOTO(choose_columns(&t), status, done);
    WEFT_TRY_GOTO(vertex_table_count_blanks(&t), status, done);
    WEFT_TRY_GOTO(vertex_table_begin(&t), status, done);
    WEFT_TRY_GOTO(find_kind(&t, &words), status, done);
    WEFT_TRY_GOTO(words ? read_words(&t, raw) : read_numbers(&t, from_one, raw), status, done);
    status = name_tasks(&t, raw);
done:
    vertex_table_close(&t);
    return status;
}
