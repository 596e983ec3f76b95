/* table/column/schema.c: columns named, given roles and kinds, and widened by what their cells turn out to be. */
#include "table/schema.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/nearest.h"
#include "io/text/text_header.h"
#include "table/table_options.def"

enum { NAME_SHOWN = 64 };

weft_status schema_create(int64_t count, table_schema *schema)
{
    *schema = (table_schema){.count = count};
    WEFT_TRY(WEFT_NEW_ZERO(&schema->field, count, WEFT_MEM_TABLE));
    for (int64_t j = 0; j < count; j++) {
        schema->field[j] = (table_field){.kind = TABLE_UNSEEN, .least = DBL_MAX, .most = -DBL_MAX};
    }
    return WEFT_OK;
}

weft_status schema_name(table_schema *schema, int64_t column, const char *text, size_t bytes)
{
    char **name = &schema->field[column].name;
    WEFT_TRY(weft_malloc(bytes + 1, 1, WEFT_MEM_TABLE, (void **)name));
    memcpy(*name, text, bytes);
    (*name)[bytes] = '\0';
    return WEFT_OK;
}

void schema_free(table_schema *schema)
{
    for (int64_t j = 0; schema->field != NULL && j < schema->count; j++) {
        weft_free(schema->field[j].name);
        words_free(schema->field[j].words);
    }
    weft_free(schema->field);
    *schema = (table_schema){.field = NULL};
}

const char *schema_say(const table_schema *schema, int64_t column, char text[96])
{
    const char *name = column < schema->count ? schema->field[column].name : "";
    if (name[0] != '\0') {
        snprintf(text, 96, "column '%.*s'", NAME_SHOWN, name);
    } else {
        snprintf(text, 96, "column %" PRId64, column + 1);
    }
    return text;
}

int64_t schema_find(const table_schema *schema, table_role role)
{
    for (int64_t j = 0; j < schema->count; j++) {
        if (schema->field[j].role == role) {
            return j;
        }
    }
    return -1;
}

int64_t schema_row_bytes(const table_schema *schema)
{
    int64_t bytes = 0;
    for (int64_t j = 0; j < schema->count; j++) {
        bytes += schema->field[j].role == TABLE_DROPPED ? 0 : (int64_t)table_kind_bytes(schema->field[j].kind);
    }
    return bytes;
}

/* ---- columns by name ---- */

static weft_status fail_no_column(const char *path, const table_schema *schema, const char *flag, const char *word)
{
    const char **names = NULL;
    const char *near = NULL;
    const int count = schema->count < INT32_MAX ? (int)schema->count : INT32_MAX;
    if (WEFT_NEW(&names, count, WEFT_MEM_WORKSPACE) == WEFT_OK) {
        for (int j = 0; j < count; j++) {
            names[j] = schema->field[j].name;
        }
        near = nearest_word(word, names, count);
    }
    weft_status status =
        near != NULL ? weft_fail(WEFT_ERR_USAGE, "%s: %s: there is no column '%s'; did you mean '%.64s'?", path, flag,
                                 word, near)
        : strspn(word, "0123456789") == strlen(word)
            ? weft_fail(WEFT_ERR_USAGE, "%s: %s: there is no column '%s': columns have the numbers 1 to %" PRId64, path,
                        flag, word, schema->count)
            : weft_fail(WEFT_ERR_USAGE, "%s: %s: there is no column '%s' among %" PRId64 ", from '%.64s' to '%.64s'",
                        path, flag, word, schema->count, schema->field[0].name, schema->field[schema->count - 1].name);
    weft_free(names);
    return status;
}

/* The column of an exact name, else of one that differs in case, blanks and marks; -1: none. */
static int64_t column_named(const table_schema *schema, const char *word)
{
    for (int64_t j = 0; j < schema->count; j++) {
        if (strcmp(schema->field[j].name, word) == 0) {
            return j;
        }
    }
    for (int64_t j = 0; j < schema->count; j++) {
        if (text_same_name(schema->field[j].name, word)) {
            return j;
        }
    }
    return -1;
}

/* The column of a name, else of a number from 1; -1: none. */
static int64_t column_of(const table_schema *schema, const char *word)
{
    char *end;
    const int64_t named = column_named(schema, word);
    if (named >= 0) {
        return named;
    }
    const long long number = strtoll(word, &end, 10);
    return *word != '\0' && *end == '\0' && number >= 1 && number <= schema->count ? number - 1 : -1;
}

weft_status schema_find_named(const char *path, const table_schema *schema, const char *flag, const char *word,
                              int64_t *column)
{
    *column = column_of(schema, word);
    return *column >= 0 ? WEFT_OK : fail_no_column(path, schema, flag, word);
}

static weft_status give_role(const char *path, table_schema *schema, const char *flag, const char *word,
                             table_role role)
{
    int64_t column;
    char name[96];
    if (word == NULL || word[0] == '\0') {
        return WEFT_OK;
    }
    WEFT_TRY(schema_find_named(path, schema, flag, word, &column));
    table_field *f = &schema->field[column];
    WEFT_CHECK(f->role == TABLE_FEATURE || f->role == role, WEFT_ERR_USAGE,
               "%s: %s: %s is the %s already: a column has one role", path, flag, schema_say(schema, column, name),
               table_role_word(f->role));
    f->role = role;
    f->kind = role == TABLE_WEIGHT     ? TABLE_REAL
              : role == TABLE_GROUP    ? TABLE_ID
              : role == TABLE_SPLIT_OF ? TABLE_SPLIT
                                       : f->kind;
    return WEFT_OK;
}

/* Does this for each item of a list: `role` for columns to drop, else `kind`. */
static weft_status give_list(const char *path, table_schema *schema, const char *flag, const char *list,
                             table_kind kind, table_role role)
{
    char word[256];
    int64_t column;
    for (const char *at = list; at != NULL && *at != '\0';) {
        /* A name may hold a comma: the whole list is tried as one name first. */
        const size_t length = at == list && column_of(schema, list) >= 0 ? strlen(list) : strcspn(at, ",");
        WEFT_CHECK(length < sizeof word, WEFT_ERR_USAGE, "%s: a name of %zu bytes; at most %zu", flag, length,
                   sizeof word - 1);
        memcpy(word, at, length);
        word[length] = '\0';
        at += length + (at[length] == ',');
        if (role == TABLE_DROPPED) {
            WEFT_TRY(give_role(path, schema, flag, word, role));
            continue;
        }
        WEFT_TRY(schema_find_named(path, schema, flag, word, &column));
        table_field *f = &schema->field[column];
        WEFT_CHECK(f->kind == TABLE_UNSEEN || f->kind == kind || f->role == TABLE_TARGET, WEFT_ERR_USAGE,
                   "%s: %s: column '%.64s' is %s already", path, flag, f->name, table_kind_word(f->kind));
        f->kind = kind;
        f->asked = true;
    }
    return WEFT_OK;
}

/* ---- names ---- */

typedef struct named_place {
    const char *name;
    int64_t column;
} named_place;

static int compare_names(const void *a, const void *b)
{
    const named_place *left = a, *right = b;
    const int order = strcmp(left->name, right->name);
    return order != 0 ? order : left->column < right->column ? -1 : left->column > right->column;
}

static weft_status check_names(const char *path, const table_schema *schema)
{
    named_place *sorted;
    weft_status status = WEFT_OK;
    WEFT_TRY(WEFT_NEW(&sorted, schema->count, WEFT_MEM_WORKSPACE));
    for (int64_t j = 0; j < schema->count; j++) {
        sorted[j] = (named_place){.name = schema->field[j].name, .column = j};
    }
    qsort(sorted, (size_t)schema->count, sizeof *sorted, compare_names);
    for (int64_t j = 1; j < schema->count && status == WEFT_OK; j++) {
        if (strcmp(sorted[j - 1].name, sorted[j].name) == 0) {
            status =
                weft_fail(WEFT_ERR_DATA,
                          "%s: columns %" PRId64 " and %" PRId64
                          " are both named '%.64s': rename one; if the first line is a row, say " FLAG_HEADER " no",
                          path, sorted[j - 1].column + 1, sorted[j].column + 1, sorted[j].name);
        }
    }
    weft_free(sorted);
    return status;
}

/* Is it a column that a trained model reads? */
static bool is_read(const table_request *request, const table_field *field)
{
    for (int k = 0; k < TABLE_READS; k++) {
        const name_list *names = request->reads[k];
        for (int64_t i = 0; names != NULL && i < names->count; i++) {
            if (strcmp(names->text[i], field->name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* A score of an answer against what it was made of says nothing. */
static weft_status check_target(const char *path, const table_request *request, const table_schema *schema)
{
    char name[96];
    const int64_t target = schema_find(schema, TABLE_TARGET);
    WEFT_CHECK(target < 0 || !is_read(request, &schema->field[target]), WEFT_ERR_USAGE,
               "%s: " FLAG_TARGET
               ": the model reads %s, which is no target for it: name another column, or leave " FLAG_TARGET " out",
               path, schema_say(schema, target, name));
    return WEFT_OK;
}

/* The column that a trained model learned to predict; -1: there is none. */
static int64_t learned_column(const table_request *request, const table_schema *schema)
{
    const int64_t column = request->learned != NULL ? column_named(schema, request->learned) : -1;
    const table_field *field = column >= 0 ? &schema->field[column] : NULL;
    return field != NULL && field->role == TABLE_FEATURE && !is_read(request, field) ? column : -1;
}

/* The one column whose name means a role, of those that no model reads; two such columns are none. */
static int64_t named_column(const table_request *request, const table_schema *schema, text_role role)
{
    int64_t column = -1;
    for (int64_t j = 0; j < schema->count; j++) {
        const table_field *field = &schema->field[j];
        if (field->role == TABLE_FEATURE && text_name_is(field->name, role) && !is_read(request, field)) {
            if (column >= 0) {
                return -1;
            }
            column = j;
        }
    }
    return column;
}

static void find_target(const char *path, const table_request *request, table_schema *schema)
{
    const bool learned = request->learned != NULL;
    const int64_t target = learned ? learned_column(request, schema) : named_column(request, schema, TEXT_LABEL);
    if (schema_find(schema, TABLE_TARGET) >= 0) {
        return;
    }
    if (target >= 0) {
        schema->field[target].role = TABLE_TARGET;
        log_info("%s: column '%.64s' is the target, %s", path, schema->field[target].name,
                 learned ? "as the model learned it" : "by its name");
    } else if (learned) {
        log_info("%s: has no column '%.64s', which the model learned: no row has a label; " FLAG_TARGET
                 " names another column",
                 path, request->learned);
    }
}

static void find_by_names(const char *path, const table_request *request, table_schema *schema)
{
    find_target(path, request, schema);
    const int64_t split = named_column(request, schema, TEXT_SPLIT);
    if ((request->split == NULL || request->split[0] == '\0') && split >= 0 &&
        schema->field[split].kind == TABLE_UNSEEN) {
        schema->field[split].maybe_split = true;
    }
    if (request->unread) {
        return;
    }
    const int64_t weight = named_column(request, schema, TEXT_WEIGHT);
    if (schema_find(schema, TABLE_WEIGHT) < 0 && weight >= 0) {
        log_warn("%s: column '%.64s' is a feature; if it weighs the rows, say " FLAG_WEIGHT_COLUMN " %.64s", path,
                 schema->field[weight].name, schema->field[weight].name);
    }
    const int64_t id = named_column(request, schema, TEXT_ID);
    if (id >= 0) {
        log_warn("%s: column '%.64s' is a feature; if it only names the rows, say " FLAG_DROP " %.64s", path,
                 schema->field[id].name, schema->field[id].name);
    }
}

/* A store holds names as UTF-8, and shows bytes that are none as a question mark. */
static void warn_of_bytes(const char *path, const table_schema *schema)
{
    for (int64_t j = 0; j < schema->count; j++) {
        uint32_t code;
        int bytes = 1;
        for (const char *at = schema->field[j].name; *at != '\0' && bytes > 0; at += bytes) {
            bytes = utf8_length(at, &code);
        }
        if (bytes == 0) {
            log_warn("%s: the name of column %" PRId64
                     " is not UTF-8, and changes in the store: iconv -f latin1 -t utf8 "
                     "may be what the file needs",
                     path, j + 1);
            return;
        }
    }
}

weft_status schema_apply_stored(const char *path, const table_request *request, table_schema *schema)
{
    int64_t target = -1;
    const int64_t stored = schema_find(schema, TABLE_TARGET);
    WEFT_TRY(give_list(path, schema, FLAG_DROP, request->drop, TABLE_UNSEEN, TABLE_DROPPED));
    WEFT_TRY(give_role(path, schema, FLAG_SPLIT_BY, request->order, TABLE_ORDER));
    if (request->target != NULL && request->target[0] != '\0') {
        WEFT_TRY(schema_find_named(path, schema, FLAG_TARGET, request->target, &target));
        WEFT_CHECK(target == stored, WEFT_ERR_USAGE,
                   "%s: " FLAG_TARGET
                   " %s: the store was made with %s for a target: weft convert makes one with another",
                   path, request->target, stored < 0 ? "no column" : schema->field[stored].name);
        return check_target(path, request, schema);
    }
    target = learned_column(request, schema);
    if (stored >= 0 && (target >= 0 || is_read(request, &schema->field[stored]))) {
        schema->field[stored].role = TABLE_FEATURE;
    }
    if (target >= 0) {
        schema->field[target].role = TABLE_TARGET;
        log_info("%s: column '%.64s' is the target, as the model learned it", path, schema->field[target].name);
    }
    return WEFT_OK;
}

weft_status schema_apply(const char *path, const table_request *request, bool named, table_schema *schema)
{
    assert(schema->count > 0);
    WEFT_TRY(named ? check_names(path, schema) : WEFT_OK);
    WEFT_TRY(give_list(path, schema, FLAG_DROP, request->drop, TABLE_UNSEEN, TABLE_DROPPED));
    WEFT_TRY(give_role(path, schema, FLAG_TARGET, request->target, TABLE_TARGET));
    WEFT_TRY(check_target(path, request, schema));
    WEFT_TRY(give_role(path, schema, FLAG_WEIGHT_COLUMN, request->weight, TABLE_WEIGHT));
    WEFT_TRY(give_role(path, schema, FLAG_GROUP_COLUMN, request->group, TABLE_GROUP));
    WEFT_TRY(give_role(path, schema, FLAG_SPLIT_COLUMN, request->split, TABLE_SPLIT_OF));
    WEFT_TRY(give_role(path, schema, FLAG_SPLIT_BY, request->order, TABLE_ORDER));
    const char *by = request->categories_by != NULL ? request->categories_by : FLAG_CATEGORY;
    WEFT_TRY(give_list(path, schema, by, request->category, TABLE_CATEGORY, TABLE_FEATURE));
    WEFT_TRY(give_list(path, schema, FLAG_ID_COLUMN, request->id, TABLE_ID, TABLE_FEATURE));
    WEFT_TRY(give_list(path, schema, FLAG_REAL, request->real, TABLE_REAL, TABLE_FEATURE));
    if (named) {
        warn_of_bytes(path, schema);
        find_by_names(path, request, schema);
    }
    return WEFT_OK;
}

int schema_split_of(const char *text, size_t bytes)
{
    char word[16];
    if (bytes == 0 || bytes >= sizeof word) {
        return -1;
    }
    memcpy(word, text, bytes);
    word[bytes] = '\0';
    return text_name_is(word, TEXT_TRAIN)   ? 0
           : text_name_is(word, TEXT_VALID) ? 1
           : text_name_is(word, TEXT_TEST)  ? 2
           : text_same_name(word, "none")   ? TABLE_NO_SPLIT
                                            : -1;
}

/* ---- facts about all rows ---- */

void schema_add_tally(table_tally *sum, const table_tally *other)
{
    sum->missing += other->missing;
    sum->least = other->least < sum->least ? other->least : sum->least;
    sum->most = other->most > sum->most ? other->most : sum->most;
    sum->word = sum->word || other->word;
    sum->fraction = sum->fraction || other->fraction;
    sum->wide = sum->wide || other->wide;
    sum->no_split = sum->no_split || other->no_split;
}

/* The kind that holds all cells of a column. */
static table_kind kind_for(const table_field *f, const table_tally *t)
{
    switch (f->kind) {
    case TABLE_UNSEEN:
        return t->word               ? f->maybe_split && !t->no_split ? TABLE_SPLIT : TABLE_CATEGORY
               : t->fraction         ? TABLE_REAL
               : t->wide             ? TABLE_LONG
               : t->least <= t->most ? TABLE_INTEGER
                                     : TABLE_UNSEEN;
    case TABLE_INTEGER:
        return t->fraction ? TABLE_REAL : t->wide ? TABLE_LONG : TABLE_INTEGER;
    case TABLE_LONG:
        return t->fraction ? TABLE_REAL : TABLE_LONG;
    default:
        return f->kind;
    }
}

weft_status schema_take(const char *path, table_schema *schema, const table_tally *tally, bool *widened)
{
    *widened = false;
    for (int64_t j = 0; j < schema->count; j++) {
        table_field *f = &schema->field[j];
        const table_kind kind = kind_for(f, &tally[j]);
        f->missing = tally[j].missing;
        f->least = tally[j].least;
        f->most = tally[j].most;
        if (kind == f->kind || f->role == TABLE_DROPPED) {
            continue;
        }
        if (f->kind == TABLE_INTEGER || f->kind == TABLE_LONG) {
            log_info("%s: column '%.64s' is %s, not %s as its first rows are", path, f->name, table_kind_word(kind),
                     table_kind_word(f->kind));
        }
        f->role = kind == TABLE_SPLIT ? TABLE_SPLIT_OF : f->role;
        f->kind = kind;
        *widened = true;
    }
    return WEFT_OK;
}
