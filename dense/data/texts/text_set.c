/* dense/data/texts/text_set.c: see dense/data/texts/text_set.h. */
#include "dense/data/texts/text_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/log.h"
#include "dense/data/texts/text_options.def"
#include "dense/data/texts/vocabulary.h"
#include "table/table_options.def"
#include "train/batch/row_split.h"

enum { ROW_NAME_BYTES = 24, NO_TEXT = -1, USUAL_MOST = TEXT_LENGTH_AUTO_MOST, TOLD_BYTES = 40 };

/* What samples are made of. */
typedef struct text_store {
    int64_t texts, length;
    int64_t *at;   /* [texts + 1] words of a text: id[at[text]] up to id[at[text + 1]] */
    int32_t *id;   /* [at[texts]] */
    int32_t *text; /* [samples] of each sample, or NO_TEXT: it has no words */
    char (*name)[ROW_NAME_BYTES];
} text_store;

/* A table that is being read. */
typedef struct reading {
    const text_request *request;
    bool trained;
    weft_table table;
    int64_t column, target; /* target: -1: there is none */
    int32_t *label;         /* [rows] or -1 */
    uint8_t *split;         /* [rows] */
    int64_t *uses;          /* [texts] of the rows that train */
    vocabulary *words;
    image_set *set;
    text_store *store;
} reading;

static const char *path_of(const reading *r)
{
    return r->request->path[0];
}

/* ---- columns ---------------------------------------------------------------------------------------------------- */

/* The text column is one of words, whatever its cells look like; other columns that ask for words stay so. */
static weft_status open_table(reading *r)
{
    table_request request = r->request->table;
    char names[1024];
    const char *column = r->request->column[0] != '\0' ? r->request->column : "text";
    const char *more = request.category != NULL ? request.category : "";
    const int length = snprintf(names, sizeof names, "%s%s%s", column, more[0] != '\0' ? "," : "", more);
    WEFT_CHECK(length < (int)sizeof names, WEFT_ERR_USAGE, FLAG_CATEGORY " %.40s...: at most %d bytes of names", more,
               (int)sizeof names);
    request.category = names;
    request.categories_by = FLAG_TEXT_COLUMN;
    request.sparse = TABLE_SPARSE_NO;
    request.unread = true;
    WEFT_TRY(table_open(r->request->path, r->request->paths, &request, NULL, &r->table));
    WEFT_TRY(schema_find_named(path_of(r), &r->table.schema, FLAG_TEXT_COLUMN, column, &r->column));
    r->target = schema_find(&r->table.schema, TABLE_TARGET);
    WEFT_CHECK(r->table.schema.field[r->column].kind == TABLE_CATEGORY, WEFT_ERR_DATA,
               "%s: column '%s' holds %s and no texts", path_of(r), r->table.schema.field[r->column].name,
               table_kind_word(r->table.schema.field[r->column].kind));
    WEFT_CHECK(r->target != r->column, WEFT_ERR_USAGE,
               "%s: column '%s' is the text and the target: " FLAG_TARGET " names another", path_of(r),
               r->table.schema.field[r->column].name);
    return r->table.rows > 0 ? WEFT_OK : weft_fail(WEFT_ERR_DATA, "%s: has no rows", path_of(r));
}

static weft_status name_classes(reading *r, int64_t classes)
{
    WEFT_CHECK(classes > 0 && classes <= IMAGE_CLASSES_MAX, WEFT_ERR_DATA,
               "%s: %lld different labels; 1 to %d can be classes", path_of(r), (long long)classes, IMAGE_CLASSES_MAX);
    r->set->classes = classes;
    return image_set_name_classes(r->set, classes);
}

static int64_t first_row_of(const int32_t *code, int64_t rows, int64_t wanted)
{
    int64_t row = 0;
    while (row + 1 < rows && code[row] != wanted) {
        ++row;
    }
    return row;
}

/* A name that was cut might be that of another class: it is refused. */
static weft_status label_words(reading *r)
{
    const table_field *field = &r->table.schema.field[r->target];
    const int32_t *code = r->table.column[r->target].data;
    WEFT_TRY(name_classes(r, words_count(field->words)));
    for (int64_t c = 0; c < r->set->classes; ++c) {
        size_t bytes = 0;
        const char *text = words_text(field->words, c, &bytes);
        WEFT_CHECK(bytes < IMAGE_NAME_BYTES, WEFT_ERR_DATA,
                   "%s: row %lld: column '%s' has a label of %zu bytes, '%.*s...'; a class has a name of at most %d: "
                   "shorten it",
                   path_of(r), (long long)first_row_of(code, r->table.rows, c), field->name, bytes,
                   (int)utf8_fitting(text, TOLD_BYTES), text, IMAGE_NAME_BYTES - 1);
        snprintf(r->set->class_name[c], IMAGE_NAME_BYTES, "%s", text);
    }
    memcpy(r->label, code, (size_t)r->table.rows * sizeof *code);
    return WEFT_OK;
}

static int by_value(const void *left, const void *right)
{
    const int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

static int32_t place_of(const int32_t *sorted, int64_t count, int32_t value)
{
    const int32_t *found = bsearch(&value, sorted, (size_t)count, sizeof value, by_value);
    return (int32_t)(found - sorted);
}

/* Whole numbers are classes in their order. sorted: [rows] */
static weft_status label_numbers(reading *r, int32_t *sorted)
{
    const int32_t *value = r->table.column[r->target].data;
    int64_t count = 0, classes = 0;
    for (int64_t i = 0; i < r->table.rows; ++i) {
        if (value[i] != TABLE_NO_INTEGER) {
            sorted[count++] = value[i];
        }
    }
    qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    for (int64_t i = 0; i < count; ++i) {
        if (classes == 0 || sorted[classes - 1] != sorted[i]) {
            sorted[classes++] = sorted[i];
        }
    }
    WEFT_TRY(name_classes(r, classes));
    for (int64_t c = 0; c < classes; ++c) {
        snprintf(r->set->class_name[c], IMAGE_NAME_BYTES, "%d", sorted[c]);
    }
    for (int64_t i = 0; i < r->table.rows; ++i) {
        r->label[i] = value[i] != TABLE_NO_INTEGER ? place_of(sorted, classes, value[i]) : -1;
    }
    return WEFT_OK;
}

static weft_status take_labels(reading *r)
{
    WEFT_TRY(WEFT_NEW(&r->label, r->table.rows, WEFT_MEM_IMAGE));
    if (r->target < 0) {
        WEFT_CHECK(r->trained, WEFT_ERR_USAGE, "%s: no column is the target: name it by " FLAG_TARGET, path_of(r));
        memset(r->label, 0, (size_t)r->table.rows * sizeof *r->label);
        return WEFT_OK;
    }
    const table_field *field = &r->table.schema.field[r->target];
    WEFT_CHECK(field->kind == TABLE_CATEGORY || field->kind == TABLE_INTEGER, WEFT_ERR_DATA,
               "%s: column '%s' holds %s: classes are words or whole numbers; " FLAG_CATEGORY " %s makes words of them",
               path_of(r), field->name, table_kind_word(field->kind), field->name);
    if (field->kind == TABLE_CATEGORY) {
        return label_words(r);
    }
    int32_t *sorted = NULL;
    WEFT_TRY(WEFT_NEW(&sorted, r->table.rows, WEFT_MEM_WORKSPACE));
    const weft_status status = label_numbers(r, sorted);
    weft_free(sorted);
    return status;
}

static weft_status take_splits(reading *r)
{
    const int64_t rows = r->table.rows, column = schema_find(&r->table.schema, TABLE_SPLIT_OF);
    const text_request *request = r->request;
    const row_split drawn = row_split_make(rows, request->valid, request->test, 0);
    int64_t unlabelled = 0;
    WEFT_CHECK(schema_find(&r->table.schema, TABLE_ORDER) < 0, WEFT_ERR_UNSUPPORTED,
               FLAG_SPLIT_BY ": rows of texts are split by a column of the words train, valid and test, or drawn");
    WEFT_TRY(WEFT_NEW(&r->split, rows, WEFT_MEM_IMAGE));
    for (int64_t i = 0; i < rows; ++i) {
        r->split[i] = request->part != NULL ? row_split_of_file(request->part, r->table.file_row, request->paths, i)
                      : column >= 0         ? ((const uint8_t *)r->table.column[column].data)[i]
                      : r->trained          ? (uint8_t)IMAGE_TEST
                                            : row_split_drawn(&drawn, i);
        if (r->label[i] < 0) {
            unlabelled += 1;
            r->split[i] = r->trained ? r->split[i] : TRAIN_SPLIT_NONE;
        }
    }
    if (r->trained && request->part == NULL && column < 0) {
        log_info("%s: all rows count as test rows, as no column says the split", path_of(r));
    }
    if (unlabelled > 0) {
        log_warn("%s: %lld rows without a label %s", path_of(r), (long long)unlabelled,
                 r->trained ? "are answered, and not scored" : "are left out");
    }
    return WEFT_OK;
}

/* ---- words ------------------------------------------------------------------------------------------------------ */

static weft_status learn_words(reading *r)
{
    const table_words *texts = r->table.schema.field[r->column].words;
    const int32_t *code = r->table.column[r->column].data;
    WEFT_TRY(WEFT_NEW_ZERO(&r->uses, words_count(texts), WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < r->table.rows; ++i) {
        if (code[i] >= 0 && r->split[i] == IMAGE_TRAIN) {
            r->uses[code[i]] += 1;
        }
    }
    if (r->request->words[0] != '\0') {
        return vocabulary_parse(FLAG_WORDS, r->request->words, &r->words);
    }
    WEFT_CHECK(!r->trained, WEFT_ERR_USAGE, "the model does not say which words it knows: give its run folder");
    WEFT_TRY(vocabulary_create(&r->words));
    for (int64_t t = 0; t < words_count(texts); ++t) {
        size_t bytes = 0;
        const char *text = words_text(texts, t, &bytes);
        WEFT_TRY(r->uses[t] > 0 ? vocabulary_learn(r->words, text, bytes, r->uses[t]) : WEFT_OK);
    }
    return vocabulary_choose(r->words, r->request->vocabulary);
}

/* Sums over the rows that are read, for the log. */
typedef struct word_sums {
    int64_t longest;               /* words of the longest text that trains */
    int64_t cut, empty, malformed; /* texts that are longer, that have no words, with bytes that are no UTF-8 */
    int64_t first_cut, first_empty, first_malformed; /* rows */
    double words, unknown;
} word_sums;

static void note(int64_t *count, int64_t *first, int64_t row)
{
    *first = *count == 0 ? row : *first;
    *count += 1;
}

static weft_status measure_length(reading *r, word_sums *sums)
{
    const table_words *texts = r->table.schema.field[r->column].words;
    for (int64_t t = 0; t < words_count(texts); ++t) {
        size_t bytes = 0;
        vocabulary_found found;
        const char *text = words_text(texts, t, &bytes);
        (void)vocabulary_read(r->words, text, bytes, 0, NULL, &found);
        sums->longest = r->uses[t] > 0 && found.words > sums->longest ? found.words : sums->longest;
    }
    const int64_t usual = sums->longest < USUAL_MOST ? sums->longest : USUAL_MOST;
    r->store->length = r->request->length > 0 ? r->request->length : usual > 0 ? usual : 1;
    return WEFT_OK;
}

static weft_status number_texts(reading *r, vocabulary_found *found)
{
    const table_words *texts = r->table.schema.field[r->column].words;
    text_store *store = r->store;
    int32_t *id = NULL;
    store->texts = words_count(texts);
    WEFT_TRY(WEFT_NEW(&store->at, store->texts + 1, WEFT_MEM_IMAGE));
    WEFT_TRY(WEFT_NEW(&id, store->length, WEFT_MEM_WORKSPACE));
    int64_t all = 0;
    for (int64_t t = 0; t < store->texts; ++t) {
        size_t bytes = 0;
        const char *text = words_text(texts, t, &bytes);
        store->at[t] = all;
        all += vocabulary_read(r->words, text, bytes, store->length, id, &found[t]);
    }
    store->at[store->texts] = all;
    weft_free(id);
    WEFT_TRY(WEFT_NEW(&store->id, all, WEFT_MEM_IMAGE));
    for (int64_t t = 0; t < store->texts; ++t) {
        size_t bytes = 0;
        vocabulary_found again;
        const char *text = words_text(texts, t, &bytes);
        (void)vocabulary_read(r->words, text, bytes, store->at[t + 1] - store->at[t], store->id + store->at[t], &again);
    }
    return WEFT_OK;
}

static void sum_rows(const reading *r, const vocabulary_found *found, word_sums *sums)
{
    const int32_t *code = r->table.column[r->column].data;
    for (int64_t i = 0; i < r->table.rows; ++i) {
        if (r->split[i] == TRAIN_SPLIT_NONE) {
            continue;
        }
        const vocabulary_found none = {.words = 0};
        const vocabulary_found *of = code[i] >= 0 ? &found[code[i]] : &none;
        sums->words += (double)of->words;
        sums->unknown += (double)of->unknown;
        if (of->words > r->store->length) {
            note(&sums->cut, &sums->first_cut, i);
        }
        if (of->words == 0) {
            note(&sums->empty, &sums->first_empty, i);
        }
        if (of->malformed > 0) {
            note(&sums->malformed, &sums->first_malformed, i);
        }
    }
}

static void tell_words(const reading *r, const word_sums *sums)
{
    const char *path = path_of(r);
    log_info("%s: texts of at most %lld words; a vocabulary of %lld, %.2f %% of the words are not in it", path,
             (long long)r->store->length, (long long)(vocabulary_size(r->words) - VOCABULARY_FIRST),
             sums->words > 0 ? 100.0 * sums->unknown / sums->words : 0.0);
    if (sums->cut > 0) {
        log_warn("%s: %lld texts are cut behind %lld words, row %lld first: " FLAG_TEXT_LENGTH " reads more", path,
                 (long long)sums->cut, (long long)r->store->length, (long long)sums->first_cut);
    }
    if (sums->empty > 0) {
        log_warn("%s: %lld texts have no words, row %lld first: each is one unknown word", path, (long long)sums->empty,
                 (long long)sums->first_empty);
    }
    if (sums->malformed > 0) {
        log_warn("%s: %lld texts hold bytes that are no UTF-8, row %lld first: they separate words", path,
                 (long long)sums->malformed, (long long)sums->first_malformed);
    }
}

static weft_status take_words(reading *r)
{
    vocabulary_found *found = NULL;
    word_sums sums = {.longest = 0};
    WEFT_TRY(learn_words(r));
    WEFT_TRY(measure_length(r, &sums));
    WEFT_TRY(WEFT_NEW_ZERO(&found, words_count(r->table.schema.field[r->column].words), WEFT_MEM_WORKSPACE));
    const weft_status status = number_texts(r, found);
    if (status == WEFT_OK) {
        sum_rows(r, found, &sums);
        tell_words(r, &sums);
    }
    weft_free(found);
    return status;
}

/* ---- samples ---------------------------------------------------------------------------------------------------- */

static void write_word(uint8_t *cell, int32_t id)
{
    for (int b = 0; b < TEXT_CELL; ++b) {
        cell[b] = (uint8_t)((uint32_t)id >> (8 * b));
    }
}

static weft_status make_sample(void *self, int64_t number, uint8_t *pixels)
{
    const text_store *store = self;
    const int32_t text = store->text[number];
    const int64_t first = text >= 0 ? store->at[text] : 0, end = text >= 0 ? store->at[text + 1] : 0;
    memset(pixels, 0, (size_t)(store->length * TEXT_CELL));
    if (first == end) {
        write_word(pixels, VOCABULARY_UNKNOWN);
    }
    for (int64_t i = first; i < end; ++i) {
        write_word(pixels + (i - first) * TEXT_CELL, store->id[i]);
    }
    return WEFT_OK;
}

static const char *name_of_sample(void *self, int64_t number)
{
    return ((const text_store *)self)->name[number];
}

static void close_store(void *self)
{
    text_store *store = self;
    WEFT_FREE_ALL(store->at, store->id, store->text, store->name, store);
}

/* The rows of each split, in their order. */
static weft_status take_samples(reading *r)
{
    const int32_t *code = r->table.column[r->column].data;
    image_part *part = r->set->store->part;
    int64_t number = 0;
    WEFT_TRY(WEFT_NEW(&r->store->text, r->table.rows, WEFT_MEM_IMAGE));
    WEFT_TRY(r->trained ? WEFT_NEW(&r->store->name, r->table.rows, WEFT_MEM_IMAGE) : WEFT_OK);
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        int64_t count = 0;
        for (int64_t i = 0; i < r->table.rows; ++i) {
            count += r->split[i] == s;
        }
        WEFT_TRY(WEFT_NEW(&part[s].label, count, WEFT_MEM_IMAGE));
        part[s].owned = part[s].label;
        for (int64_t i = 0; i < r->table.rows; ++i) {
            if (r->split[i] == s) {
                part[s].label[part[s].count++] = r->label[i];
                r->store->text[number] = code[i];
                if (r->store->name != NULL) {
                    snprintf(r->store->name[number], ROW_NAME_BYTES, "%lld", (long long)i);
                }
                number += 1;
            }
        }
    }
    return WEFT_OK;
}

static void hash_set(const reading *r)
{
    const text_store *store = r->store;
    image_set *set = r->set;
    image_hash_mix(set->hash, &store->length, sizeof store->length);
    image_hash_mix(set->hash, store->at, (size_t)(store->texts + 1) * sizeof *store->at);
    image_hash_mix(set->hash, store->id, (size_t)store->at[store->texts] * sizeof *store->id);
    int64_t first = 0;
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        const image_part *part = &set->store->part[s];
        image_hash_mix(set->hash, part->label, (size_t)part->count * sizeof *part->label);
        image_hash_mix(set->hash, store->text + first, (size_t)part->count * sizeof *store->text);
        first += part->count;
    }
}

static weft_status read_set(reading *r)
{
    WEFT_TRY(open_table(r));
    WEFT_TRY(take_labels(r));
    WEFT_TRY(take_splits(r));
    WEFT_TRY(take_words(r));
    WEFT_TRY(take_samples(r));
    WEFT_TRY(vocabulary_text(r->words, &r->set->vocabulary));
    r->set->words = vocabulary_size(r->words);
    r->set->height = r->store->length;
    r->set->width = 1;
    r->set->channels = TEXT_CELL;
    hash_set(r);
    return WEFT_OK;
}

static weft_status open_texts(weft_comm *comm, const char *path, const image_options *options, image_set *set)
{
    (void)comm;
    (void)path;
    reading r = {.request = options->text, .trained = options->trained, .set = set};
    WEFT_TRY(WEFT_NEW_ZERO(&r.store, 1, WEFT_MEM_GENERAL));
    set->store->self = r.store;
    set->store->make = make_sample;
    set->store->name = options->trained ? name_of_sample : NULL;
    set->store->close = close_store;
    set->store->stored = true;
    const weft_status status = read_set(&r);
    table_close(&r.table);
    vocabulary_free(r.words);
    WEFT_FREE_ALL(r.label, r.split, r.uses);
    return status;
}

static bool matches(const char *path)
{
    (void)path;
    return false; /* options ask for it */
}

const image_reader image_reader_text = {.format = IMAGE_FORMAT_AUTO, .matches = matches, .open = open_texts};
