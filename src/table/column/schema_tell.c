/* table/column/schema_tell.c: a schema in words, a line for each column. */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "base/number.h"
#include "table/schema.h"
#include "table/table_options.def"

enum { MANY_WORDS = 1000 };

static void tell_field(const table_field *f)
{
    char range[96] = "", missing[48] = "", least[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX];
    if (f->kind == TABLE_CATEGORY && f->words != NULL) {
        snprintf(range, sizeof range, ", %" PRId64 " different words", words_count(f->words));
    } else if (f->least <= f->most) {
        snprintf(range, sizeof range, ", %s to %s", number_format_real(f->least, least),
                 number_format_real(f->most, most));
    }
    if (f->missing > 0) {
        snprintf(missing, sizeof missing, ", %" PRId64 " missing", f->missing);
    }
    log_info("  %-24.64s %-8s %s%s%s", f->name, f->role == TABLE_DROPPED ? "" : table_kind_word(f->kind),
             table_role_word(f->role), range, missing);
}

/* Words of which nearly every row has one of its own, where nobody asked for words. */
static void warn_of_words(const char *path, const table_field *f, int64_t rows)
{
    const int64_t words = f->words != NULL ? words_count(f->words) : 0;
    if (!f->asked && words > MANY_WORDS && words > (rows - f->missing) / 2 && f->role == TABLE_FEATURE) {
        log_warn("%s: column '%.64s' has %" PRId64 " different words in %" PRId64 " rows: " FLAG_DROP
                 " %.64s if it only names the rows, " FLAG_ID_COLUMN " %.64s to keep a hash of each",
                 path, f->name, words, rows, f->name, f->name);
    }
}

static void warn_of_target(const char *path, const table_schema *schema, int64_t rows)
{
    const int64_t column = schema_find(schema, TABLE_TARGET);
    if (column < 0) {
        log_warn("%s: no column is the target: " FLAG_TARGET " NAME says which column is to be predicted", path);
        return;
    }
    const table_field *f = &schema->field[column];
    const bool constant = f->kind == TABLE_CATEGORY ? words_count(f->words) == 1 : f->least == f->most;
    if (f->missing == rows) {
        log_warn("%s: no row has a value of the target '%.64s': the table can be predicted, not trained on", path,
                 f->name);
    } else if (constant) {
        log_warn("%s: the target '%.64s' has the same value in all rows: there is nothing to learn", path, f->name);
    }
    if (f->missing > 0 && f->missing < rows) {
        log_warn("%s: %" PRId64 " of %" PRId64 " rows have no value of the target '%.64s': training leaves them out",
                 path, f->missing, rows, f->name);
    }
}

void schema_tell(const char *path, const table_schema *schema, int64_t rows)
{
    const int64_t shown = schema->count <= SCHEMA_LINES ? schema->count : SCHEMA_LINES - 1;
    log_info("%s: %" PRId64 " rows of %" PRId64 " columns, %s", path, rows, schema->count,
             number_say_bytes((uint64_t)(rows * schema_row_bytes(schema))).text);
    for (int64_t j = 0; j < shown; j++) {
        tell_field(&schema->field[j]);
    }
    if (shown < schema->count) {
        log_info("  ... and %" PRId64 " more columns", schema->count - shown);
    }
    for (int64_t j = 0; j < schema->count; j++) {
        const table_field *f = &schema->field[j];
        warn_of_words(path, f, rows);
        if (f->missing == rows && rows > 0 && f->role != TABLE_DROPPED && f->role != TABLE_TARGET) {
            log_warn("%s: column '%.64s' has no value in any row", path, f->name);
        }
    }
    warn_of_target(path, schema, rows);
}
