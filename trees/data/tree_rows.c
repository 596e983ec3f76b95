/* trees/data/tree_rows.c: see trees/data/tree_rows.h. */
#include "trees/data/tree_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "table/row_order.h"
#include "table/table_options.def"
#include "train/batch/row_split.h"
#include "train/train_options.def"

enum { SPAN = 1 << 16, CHUNK = 1024, TAKEN_ROWS = 1 << 19 };

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* Whole numbers that float32 cannot tell apart. */
static void warn_of_merged(const table_field *f, const char *path)
{
    const double largest = fmax(fabs(f->least), fabs(f->most));
    if ((f->kind == TABLE_INTEGER || f->kind == TABLE_LONG) && f->least <= f->most && largest > 0x1p24) {
        log_warn(
            "%s: column '%.64s' has whole numbers as large as %.0f: trees read float32, in which those above 16777216 "
            "become one with their neighbours: if they only name the rows, leave the column out (" FLAG_DROP
            " %.64s), else subtract a base from them",
            path, f->name, largest, f->name);
    }
}

/* The words of a feature, which a model file must be able to hold. */
static weft_status copy_words(tree_rows *rows, int at, const char *path)
{
    const table_words *words = rows->table.schema.field[rows->field[at]].words;
    const int64_t count = words_count(words);
    const char **list = NULL;
    size_t bytes;
    char text[96];
    WEFT_CHECK(count <= TREE_CODES_MAX, WEFT_ERR_UNSUPPORTED,
               "%s: %s has %lld different words, and trees take up to %d: leave it out (" FLAG_DROP ")", path,
               schema_say(&rows->table.schema, rows->field[at], text), (long long)count, TREE_CODES_MAX);
    WEFT_TRY(rows->words != NULL ? WEFT_OK : WEFT_NEW_ZERO(&rows->words, rows->features, WEFT_MEM_TREES));
    WEFT_TRY(WEFT_NEW(&list, count, WEFT_MEM_WORKSPACE));
    weft_status status = WEFT_OK;
    for (int64_t i = 0; status == WEFT_OK && i < count; ++i) {
        list[i] = words_text(words, i, &bytes);
        status = name_list_admits(list[i]) ? WEFT_OK
                                           : weft_fail(WEFT_ERR_DATA,
                                                       "%s: %s: a word is no text: expected UTF-8 without "
                                                       "control characters",
                                                       path, schema_say(&rows->table.schema, rows->field[at], text));
    }
    status = status == WEFT_OK ? name_list_copy(list, count, &rows->words[at]) : status;
    weft_free(list);
    return status;
}

static weft_status add_feature(tree_rows *rows, int field, const char *path)
{
    const table_field *f = &rows->table.schema.field[field];
    char text[96];
    WEFT_CHECK(f->kind == TABLE_REAL || f->kind == TABLE_INTEGER || f->kind == TABLE_LONG || f->kind == TABLE_CATEGORY,
               WEFT_ERR_DATA,
               "%s: %s holds hashes of words: trees read numbers and words, so leave it out (" FLAG_DROP ")", path,
               schema_say(&rows->table.schema, field, text));
    warn_of_merged(f, path);
    const int at = rows->data.columns++;
    rows->field[at] = field;
    rows->column[at] = (tree_column){f->kind, rows->table.column[field].data};
    if (f->kind == TABLE_CATEGORY) {
        WEFT_TRY(copy_words(rows, at, path));
        rows->codes[at] = (tree_codes){.code = rows->table.column[field].data, .codes = (int32_t)rows->words[at].count};
        rows->column[at].data = &rows->codes[at];
    }
    return WEFT_OK;
}

/* Tells which columns a model leaves aside. */
static void tell_others(const table_schema *schema, int columns, const char *path)
{
    char text[96];
    int others = -columns;
    int64_t last = -1;
    for (int64_t i = 0; i < schema->count; ++i) {
        others += schema->field[i].role == TABLE_FEATURE;
        last = schema->field[i].role == TABLE_FEATURE ? i : last;
    }
    if (others > 0) {
        log_info("%s: the model reads %d columns by their names, and %d others not (the last column is %s)", path,
                 columns, others, schema_say(schema, last, text));
    }
}

static weft_status choose_columns(tree_rows *rows, const tree_rows_options *options, const char *path)
{
    const table_schema *schema = &rows->table.schema;
    for (int c = 0; c < options->columns; ++c) {
        int at = 0;
        while (at < (int)schema->count &&
               (schema->field[at].role != TABLE_FEATURE || strcmp(schema->field[at].name, options->column[c]) != 0)) {
            ++at;
        }
        WEFT_CHECK(at < (int)schema->count, WEFT_ERR_DATA, "%s: has no column '%s', which the model reads", path,
                   options->column[c]);
        WEFT_TRY(add_feature(rows, at, path));
    }
    tell_others(schema, options->columns, path);
    return WEFT_OK;
}

/* tree_columns.hold of a table whose columns stand by halves. */
static weft_status hold_column(void *owner, int column, int *together)
{
    tree_rows *rows = owner;
    const int half = table_half(&rows->table, rows->field[column]);
    int end = column;
    WEFT_TRY(rows->column[column].kind != TREE_BINNED ? table_hold(&rows->table, rows->field[column]) : WEFT_OK);
    for (int c = 0; c < rows->data.columns; ++c) {
        const int own = table_half(&rows->table, rows->field[c]);
        end += c == end && (own == 0 || own == half);
        if (own > 0 && rows->column[c].kind != TREE_BINNED) {
            rows->column[c].data = rows->table.column[rows->field[c]].data;
        }
    }
    *together = end - column;
    return WEFT_OK;
}

static weft_status take_columns(tree_rows *rows, const tree_rows_options *options, const char *path)
{
    const table_schema *schema = &rows->table.schema;
    const int64_t most = schema->count > options->columns ? schema->count : options->columns;
    WEFT_CHECK(rows->table.sparse.columns == 0, WEFT_ERR_UNSUPPORTED,
               "%s: holds given cells alone, and trees read columns: convert it with " FLAG_SPARSE " no", path);
    WEFT_TRY(WEFT_NEW_ZERO(&rows->field, most, WEFT_MEM_TREES));
    WEFT_TRY(WEFT_NEW_ZERO(&rows->column, most, WEFT_MEM_TREES));
    WEFT_TRY(WEFT_NEW_ZERO(&rows->codes, most, WEFT_MEM_TREES));
    rows->features = (int)most;
    if (options->column != NULL) {
        WEFT_TRY(choose_columns(rows, options, path));
    }
    for (int i = 0; options->column == NULL && i < (int)schema->count; ++i) {
        WEFT_TRY(schema->field[i].role == TABLE_FEATURE ? add_feature(rows, i, path) : WEFT_OK);
    }
    WEFT_CHECK(rows->data.columns > 0, WEFT_ERR_DATA, "%s: has no column to learn from beside the target", path);
    rows->data.rows = rows->table.count;
    rows->data.column = rows->column;
    rows->data.hold = rows->table.halves != NULL ? hold_column : NULL;
    rows->data.owner = rows;
    rows->data.first = rows->table.first;
    return WEFT_OK;
}

/* Adds the numbers of a column to the hash of the rows, and refuses infinite ones. */
static weft_status hash_column(tree_rows *rows, int c, const char *path, uint64_t *hash)
{
    float value[CHUNK];
    char text[96];
    for (int64_t first = 0; first < rows->data.rows; first += CHUNK) {
        const int64_t count = rows->data.rows - first < CHUNK ? rows->data.rows - first : CHUNK;
        tree_column_read(&rows->column[c], first, count, value);
        for (int64_t i = 0; i < count; ++i) {
            WEFT_CHECK(!isinf(value[i]), WEFT_ERR_DATA,
                       "%s: row %lld, %s: infinite: trees compare numbers, so leave the cell empty", path,
                       (long long)(rows->table.first + first + i),
                       schema_say(&rows->table.schema, rows->field[c], text));
            *hash += table_hash_number(rows->table.first + first + i, c, value[i]);
        }
    }
    return WEFT_OK;
}

/* Adds the words of categories, which all ranks have: one of them calls. */
static void hash_words(const tree_rows *rows, uint64_t *hash)
{
    for (int c = 0; rows->words != NULL && c < rows->data.columns; ++c) {
        uint64_t x = UINT64_C(0xCBF29CE484222325) + (uint64_t)c;
        for (int64_t i = 0; i < rows->words[c].count; ++i) {
            for (const char *at = rows->words[c].text[i]; *at != '\0'; ++at) {
                x = (x ^ (uint8_t)*at) * UINT64_C(0x100000001B3);
            }
            x = (x ^ 0xff) * UINT64_C(0x100000001B3);
        }
        *hash += rows->words[c].count > 0 ? x : 0;
    }
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

/* A whole number of the target; INT64_MIN: missing. */
static weft_status class_number(const tree_rows *rows, int64_t target, int64_t row, const char *path, int64_t *number)
{
    const table_column *c = &rows->table.column[target];
    float value = 0.0F;
    char text[96];
    tree_column_read(&(tree_column){c->kind, c->data}, row, 1, &value);
    WEFT_CHECK(isnan(value) || (value == floorf(value) && fabsf(value) < SPAN), WEFT_ERR_DATA,
               "%s: row %lld, %s: %g is no class: expected words, or whole numbers of less than %d; " FLAG_LOSS
               " squared predicts numbers",
               path, (long long)(rows->table.first + row), schema_say(&rows->table.schema, target, text), (double)value,
               SPAN);
    *number = isnan(value) ? INT64_MIN : (int64_t)value;
    return WEFT_OK;
}

/* The labels of rows up to `row` are taken: in a training, which reads no target again, every few rows their cells go,
 * so that targets and labels of all rows stand in memory at no time. */
static void give_back(tree_rows *rows, int64_t target, int64_t row)
{
    const int64_t end = row + 1;
    if (!rows->keeps_target && end % TAKEN_ROWS == 0) {
        table_release_rows(&rows->table, target, end);
    }
}

static weft_status take_words(tree_rows *rows, int64_t target)
{
    const table_words *words = rows->table.schema.field[target].words;
    const int32_t *code = rows->table.column[target].data;
    const char **text = NULL;
    const int64_t count = words_count(words);
    size_t bytes;
    WEFT_CHECK(count <= TREE_CLASSES_MAX, WEFT_ERR_DATA,
               "the target has %lld different words: at most %d classes are told apart", (long long)count,
               TREE_CLASSES_MAX);
    for (int64_t i = 0; i < rows->data.rows; ++i) {
        rows->labels.label[i] = code[i];
        give_back(rows, target, i);
    }
    WEFT_TRY(WEFT_NEW(&text, count, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < count; ++i) {
        text[i] = words_text(words, i, &bytes);
    }
    const weft_status status = name_list_copy(text, count, &rows->classes);
    weft_free(text);
    return status;
}

/* met: [2 * SPAN] which numbers some rank has. Names the classes, and sets labels. */
static weft_status name_numbers(tree_rows *rows, int64_t target, const char *path, const uint8_t *met, int32_t *place)
{
    char text[TREE_CLASSES_MAX][16];
    const char *name[TREE_CLASSES_MAX];
    int classes = 0;
    for (int n = 0; n < 2 * SPAN; ++n) {
        if (met[n] != 0) {
            WEFT_CHECK(classes < TREE_CLASSES_MAX, WEFT_ERR_DATA,
                       "%s: the target has more than %d different numbers: too many classes; " FLAG_LOSS
                       " squared predicts them as numbers",
                       path, TREE_CLASSES_MAX);
            place[n] = classes;
            (void)snprintf(text[classes], sizeof text[classes], "%d", n - SPAN);
            name[classes] = text[classes];
            ++classes;
        }
    }
    for (int64_t i = 0; i < rows->data.rows; ++i) {
        int64_t number = 0;
        WEFT_TRY(class_number(rows, target, i, path, &number));
        rows->labels.label[i] = number == INT64_MIN ? -1 : place[number + SPAN];
        give_back(rows, target, i);
    }
    return name_list_copy(name, classes, &rows->classes);
}

static weft_status take_numbers(weft_comm *comm, tree_rows *rows, int64_t target, const char *path)
{
    uint8_t *met = NULL;
    int32_t *place = NULL;
    weft_status status;
    weft_status local = WEFT_NEW_ZERO(&met, 2 * SPAN, WEFT_MEM_WORKSPACE);
    local = local == WEFT_OK ? WEFT_NEW(&place, 2 * SPAN, WEFT_MEM_WORKSPACE) : local;
    for (int64_t i = 0; local == WEFT_OK && i < rows->data.rows; ++i) {
        int64_t number = 0;
        local = class_number(rows, target, i, path, &number);
        if (local == WEFT_OK && number != INT64_MIN) {
            met[number + SPAN] = 1;
        }
    }
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(comm_allreduce(comm, met, 2 * SPAN, WEFT_DTYPE_U8, COMM_MAX), status, done);
    status = name_numbers(rows, target, path, met, place);
done:
    WEFT_FREE_ALL(met, place);
    return status;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* [out] numbers: the target is not classes. Collective. */
static weft_status choose_aim(weft_comm *comm, const tree_rows *rows, int64_t target, tree_aim aim, const char *path,
                              bool *numbers)
{
    const table_column *c = &rows->table.column[target];
    int64_t fractions = 0;
    float value[CHUNK];
    WEFT_CHECK(c->kind != TABLE_CATEGORY || aim != TREE_AIM_NUMBERS, WEFT_ERR_DATA,
               "%s: the target holds words, which are classes: leave " FLAG_LOSS " out, or name a column of numbers",
               path);
    *numbers = aim == TREE_AIM_NUMBERS;
    if (aim != TREE_AIM_AUTO || c->kind != TABLE_REAL) {
        return WEFT_OK;
    }
    for (int64_t first = 0; first < rows->data.rows; first += CHUNK) {
        const int64_t count = rows->data.rows - first < CHUNK ? rows->data.rows - first : CHUNK;
        tree_column_read(&(tree_column){c->kind, c->data}, first, count, value);
        for (int64_t i = 0; i < count; ++i) {
            fractions += isfinite(value[i]) && value[i] != floorf(value[i]);
        }
    }
    WEFT_TRY(comm_allreduce(comm, &fractions, 1, WEFT_DTYPE_I64, COMM_SUM));
    *numbers = fractions > 0;
    return WEFT_OK;
}

static weft_status take_values(tree_rows *rows, int64_t target, const char *path)
{
    const table_column *c = &rows->table.column[target];
    char text[96];
    tree_column_read(&(tree_column){c->kind, c->data}, 0, rows->data.rows, rows->labels.target);
    for (int64_t i = 0; i < rows->data.rows; ++i) {
        WEFT_CHECK(!isinf(rows->labels.target[i]), WEFT_ERR_DATA, "%s: row %lld, %s: infinite: leave the cell empty",
                   path, (long long)(rows->table.first + i), schema_say(&rows->table.schema, target, text));
    }
    return WEFT_OK;
}

static bool has_target(const tree_rows *rows, int64_t i)
{
    return rows->numbers ? !isnan(rows->labels.target[i]) : rows->labels.label[i] >= 0;
}

/* ---- splits ------------------------------------------------------------------------------------------------------ */

/* Groups are drawn by what is equal for their rows, so that each is of one split. */
static uint8_t drawn_group(const tree_rows_options *options, uint64_t group)
{
    const uint64_t mixed = (group ^ group >> 31) * UINT64_C(0x9E3779B97F4A7C15);
    const double place = ldexp((double)((mixed ^ mixed >> 29) * UINT64_C(0xBF58476D1CE4E5B9) >> 11), -53);
    return place < options->test ? 2 : place < options->test + options->valid ? 1 : TRAIN_SPLIT_TRAIN;
}

/* Keys of the rows that have a target. */
static weft_status order_keys(const tree_rows *rows, int64_t column, uint64_t **key, int64_t *count)
{
    *count = 0;
    WEFT_TRY(WEFT_NEW(key, rows->data.rows, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < rows->data.rows; ++i) {
        if (has_target(rows, i)) {
            (*key)[(*count)++] = row_order_key(&rows->table.column[column], i);
        }
    }
    return WEFT_OK;
}

static weft_status find_order(weft_comm *comm, const table_exchange *exchange, const tree_rows *rows,
                              const tree_rows_options *options, int64_t column, row_order *order)
{
    uint64_t *key = NULL;
    int64_t count;
    weft_status status = comm_agree(comm, order_keys(rows, column, &key, &count));
    if (status == WEFT_OK) {
        status = row_order_find(exchange, key, count, options->valid, options->test, order);
    }
    weft_free(key);
    if (status == WEFT_OK && !options->trained) {
        row_order_tell(order, &rows->table, column);
    }
    return status;
}

static weft_status take_splits(weft_comm *comm, const table_exchange *exchange, tree_rows *rows,
                               const tree_rows_options *options, int paths)
{
    row_order order;
    int64_t ordered;
    const int64_t column = schema_find(&rows->table.schema, TABLE_SPLIT_OF);
    const int64_t all = rows->table.rows;
    const row_split drawn = row_split_make(all, options->valid, options->test, options->seed);
    WEFT_CHECK(options->part == NULL || column < 0, WEFT_ERR_DATA,
               "column '%s' says the split of each row, and so do files of their own: " FLAG_DROP " it",
               column < 0 ? "" : rows->table.schema.field[column].name);
    WEFT_TRY(row_order_column(&rows->table.schema, options->part != NULL, &ordered));
    WEFT_TRY(ordered >= 0 ? find_order(comm, exchange, rows, options, ordered, &order) : WEFT_OK);
    for (int64_t i = 0; i < rows->data.rows; ++i) {
        const int64_t row = rows->data.first + i;
        const uint8_t split = ordered >= 0 ? row_order_split(&order, row_order_key(&rows->table.column[ordered], i))
                              : options->part != NULL
                                  ? row_split_of_file(options->part, rows->table.file_row, paths, row)
                              : column >= 0         ? ((const uint8_t *)rows->table.column[column].data)[i]
                              : rows->group != NULL ? drawn_group(options, rows->group[i])
                                                    : row_split_drawn(&drawn, row);
        rows->labels.split[i] = has_target(rows, i) ? split : TRAIN_SPLIT_NONE;
    }
    return WEFT_OK;
}

static weft_status take_weights(tree_rows *rows, const char *path)
{
    const int64_t column = schema_find(&rows->table.schema, TABLE_WEIGHT);
    if (column < 0) {
        return WEFT_OK;
    }
    const table_column *c = &rows->table.column[column];
    WEFT_TRY(WEFT_NEW(&rows->weight, rows->data.rows, WEFT_MEM_TREES));
    WEFT_CHECK(c->kind != TABLE_CATEGORY && c->kind != TABLE_ID && c->kind != TABLE_SPLIT, WEFT_ERR_DATA,
               "%s: the column of weights holds words", path);
    tree_column_read(&(tree_column){c->kind, c->data}, 0, rows->data.rows, rows->weight);
    for (int64_t i = 0; i < rows->data.rows; ++i) {
        WEFT_CHECK(rows->weight[i] >= 0.0F && isfinite(rows->weight[i]), WEFT_ERR_DATA,
                   "%s: row %lld: a weight of %g: expected a number of 0 or above", path,
                   (long long)(rows->table.first + i), (double)rows->weight[i]);
    }
    return WEFT_OK;
}

/* Sums over all ranks: rows of each class, labelled rows of each split, and the hash. */
static weft_status count_all(weft_comm *comm, tree_rows *rows, uint64_t hash)
{
    WEFT_TRY(comm_agree(comm, WEFT_NEW_ZERO(&rows->counted, rows->classes.count, WEFT_MEM_TREES)));
    for (int64_t i = 0; i < rows->data.rows; ++i) {
        int32_t label = -1;
        if (rows->numbers) {
            memcpy(&label, &rows->labels.target[i], sizeof label);
        } else {
            label = rows->labels.label[i];
        }
        hash +=
            (uint64_t)((int64_t)label + 2) * (uint64_t)(2 * (rows->data.first + i) + 1) * UINT64_C(0x9E3779B97F4A7C15);
        if (!rows->numbers && label >= 0) {
            rows->counted[label] += 1;
        }
    }
    rows->hash = hash;
    WEFT_TRY(comm_allreduce(comm, rows->counted, rows->classes.count, WEFT_DTYPE_I64, COMM_SUM));
    return labels_count(&rows->labels, comm, &rows->hash);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static weft_status take_target(weft_comm *comm, tree_rows *rows, int64_t target, const char *path)
{
    const table_kind kind = rows->table.column[target].kind;
    weft_status status = WEFT_OK;
    if (rows->numbers) {
        status = take_values(rows, target, path);
    } else if (kind == TABLE_CATEGORY) {
        status = take_words(rows, target);
    } else {
        status = take_numbers(comm, rows, target, path);
    }
    return comm_agree(comm, status);
}

/* Labels of the rows, of which none has a target until they are taken. */
static weft_status begin_labels(tree_rows *rows)
{
    rows->labels.targets = (train_targets){.rows = rows->data.rows,
                                           .outputs = rows->numbers ? 1 : 2,
                                           .loss = rows->numbers ? TRAIN_LOSS_VALUE : TRAIN_LOSS_XENT};
    WEFT_TRY(labels_create(&rows->labels, WEFT_MEM_TREES));
    for (int64_t i = 0; i < rows->data.rows && !rows->aimed; ++i) {
        if (rows->numbers) {
            rows->labels.target[i] = NAN;
        } else {
            rows->labels.label[i] = -1;
        }
    }
    return WEFT_OK;
}

static weft_status take_rows(weft_comm *comm, tree_rows *rows, const tree_rows_options *options, const char *path)
{
    const tree_aim aim = options->aim;
    uint64_t hash = 0;
    const int64_t target = schema_find(&rows->table.schema, TABLE_TARGET);
    weft_status status = take_columns(rows, options, path);
    for (int c = rows->data.columns - 1, together; status == WEFT_OK && c >= 0; --c) {
        status = tree_columns_hold(&rows->data, c, &together);
        status = status == WEFT_OK ? hash_column(rows, c, path, &hash) : status;
    }
    WEFT_TRY(comm_agree(comm, status));
    if (comm_rank(comm) == 0) {
        hash_words(rows, &hash);
    }
    rows->aimed = target >= 0;
    rows->numbers = aim == TREE_AIM_NUMBERS;
    if (rows->aimed) {
        WEFT_CHECK(rows->table.column[target].kind <= TABLE_CATEGORY, WEFT_ERR_DATA,
                   "%s: the target is neither words nor numbers", path);
        WEFT_TRY(choose_aim(comm, rows, target, aim, path, &rows->numbers));
    }
    const int64_t group = schema_find(&rows->table.schema, TABLE_GROUP);
    rows->group = group >= 0 ? rows->table.column[group].data : NULL;
    WEFT_TRY(comm_agree(comm, begin_labels(rows)));
    WEFT_TRY(rows->aimed ? take_target(comm, rows, target, path) : WEFT_OK);
    rows->hash = hash;
    return comm_agree(comm, take_weights(rows, path));
}

weft_status tree_rows_open(weft_comm *comm, const char *const *path, int paths, const tree_rows_options *options,
                           tree_rows *rows)
{
    const table_exchange exchange = {
        .self = comm, .rank = comm_rank(comm), .ranks = comm_size(comm), .gather = comm_allgather_bytes};
    *rows = (tree_rows){.keeps_target = options->trained};
    WEFT_TRY(table_open(path, paths, &options->request, &exchange, &rows->table));
    WEFT_TRY(take_rows(comm, rows, options, path[0]));
    WEFT_TRY(take_splits(comm, &exchange, rows, options, paths));
    if (!options->trained && rows->aimed) {
        table_release(&rows->table, schema_find(&rows->table.schema, TABLE_TARGET)); /* labels have it */
    }
    return count_all(comm, rows, rows->hash);
}

void tree_rows_release(tree_rows *rows, int column, const tree_binned *binned)
{
    table_release(&rows->table, rows->field[column]);
    rows->column[column] = (tree_column){TREE_BINNED, binned};
}

void tree_rows_forget(tree_rows *rows)
{
    for (int c = 0; c < rows->data.columns; ++c) {
        rows->column[c].data = rows->column[c].kind == TREE_BINNED ? NULL : rows->column[c].data;
    }
}

void tree_rows_close(tree_rows *rows)
{
    labels_destroy(&rows->labels);
    name_list_free(&rows->classes);
    for (int c = 0; c < rows->features; ++c) {
        weft_free((void *)rows->codes[c].become);
        if (rows->words != NULL) {
            name_list_free(&rows->words[c]);
        }
    }
    WEFT_FREE_ALL(rows->codes, rows->words, rows->field, rows->column, rows->counted, rows->weight);
    table_close(&rows->table);
    *rows = (tree_rows){0};
}

weft_status tree_rows_relabel(tree_rows *rows, const int32_t *class_of, int64_t classes, char *const *names)
{
    name_list known = {0};
    int64_t *counted = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&counted, classes, WEFT_MEM_TREES));
    if (names != NULL) {
        WEFT_TRY(name_list_copy((const char *const *)names, classes, &known));
    }
    for (int64_t i = 0; i < rows->classes.count; ++i) {
        if (class_of[i] >= 0) {
            counted[class_of[i]] += rows->counted[i];
        }
    }
    for (int64_t i = 0; i < rows->data.rows; ++i) {
        const int32_t label = rows->labels.label[i];
        rows->labels.label[i] = label >= 0 ? class_of[label] : -1;
        rows->labels.split[i] = rows->labels.label[i] >= 0 ? rows->labels.split[i] : TRAIN_SPLIT_NONE;
    }
    weft_free(rows->counted);
    name_list_free(&rows->classes);
    rows->counted = counted;
    rows->classes = known;
    rows->classes.count = classes;
    return WEFT_OK;
}

/* [out] become: for weft_free, the place of each word of the table among those of the model. Returns how many the model
 * lacks. */
static int64_t match_words(const name_list *own, const name_list *model, int32_t *become)
{
    int64_t at = 0, unknown = 0;
    for (int64_t i = 0; i < own->count; ++i) {
        while (at < model->count && strcmp(model->text[at], own->text[i]) < 0) {
            ++at;
        }
        const bool same = at < model->count && strcmp(model->text[at], own->text[i]) == 0;
        become[i] = same ? (int32_t)at : TABLE_NO_CODE;
        unknown += !same;
    }
    return unknown;
}

weft_status tree_rows_recode(tree_rows *rows, const char *name, const name_list *words)
{
    char text[96];
    for (int c = 0; c < rows->data.columns; ++c) {
        const bool own = rows->column[c].kind == TABLE_CATEGORY;
        const bool model = words != NULL && words[c].count > 0;
        const int at = own ? (int)((const tree_codes *)rows->column[c].data - rows->codes) : -1;
        int32_t *become = NULL;
        const table_field *field = &rows->table.schema.field[rows->field[c]];
        (void)schema_say(&rows->table.schema, rows->field[c], text);
        WEFT_CHECK(own || !model || field->missing == rows->table.rows, WEFT_ERR_DATA,
                   "%s: %s holds numbers, and the model reads words there such as '%s': " FLAG_CATEGORY
                   " reads numbers as words",
                   name, text, words[c].text[0]);
        WEFT_CHECK(!own || model, WEFT_ERR_DATA, "%s: %s holds words, and the model reads numbers there", name, text);
        if (own) {
            WEFT_TRY(WEFT_NEW(&become, rows->words[at].count, WEFT_MEM_TREES));
            const int64_t unknown = match_words(&rows->words[at], &words[c], become);
            weft_free((void *)rows->codes[at].become);
            rows->codes[at].become = become;
            rows->codes[at].codes = (int32_t)words[c].count;
            if (unknown > 0) {
                log_info("%s: %s: %lld words that the model does not know are read as missing", name, text,
                         (long long)unknown);
            }
        }
    }
    return WEFT_OK;
}
