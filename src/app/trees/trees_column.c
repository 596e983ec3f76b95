/* app/trees/trees_column.c: a column of a job's table by its name (workload_ops.column). */
#include "app/trees/trees_job.h"
#include "table/table_options.def"

static weft_status copy_words(const table_words *words, name_list *list)
{
    const int64_t count = words_count(words);
    const char **text = NULL;
    size_t bytes;
    WEFT_TRY(WEFT_NEW(&text, count, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < count; ++i) {
        text[i] = words_text(words, i, &bytes);
    }
    const weft_status status = name_list_copy(text, count, list);
    weft_free(text);
    return status;
}

bool trees_keeps_numbers(const workload *work)
{
    return work->keeps || option_text(work->context->options, OPT_BY)[0] != '\0';
}

weft_status trees_column(const workload *work, const char *flag, const char *name, workload_column *column)
{
    const weft_table *table = &((const trees_job *)work->self)->rows.table;
    int64_t at = -1;
    *column = (workload_column){.value = NULL};
    WEFT_TRY(schema_find_named(work->name, &table->schema, flag, name, &at));
    const table_field *f = &table->schema.field[at];
    WEFT_CHECK(f->role != TABLE_DROPPED, WEFT_ERR_USAGE,
               "%s: %s: column '%.64s' is left out (" FLAG_DROP "), so its values are not there", work->name, flag,
               f->name);
    WEFT_CHECK(f->kind == TABLE_REAL || f->kind == TABLE_INTEGER || f->kind == TABLE_LONG || f->kind == TABLE_CATEGORY,
               WEFT_ERR_USAGE, "%s: %s: column '%.64s' is of kind %s: expected numbers or words", work->name, flag,
               f->name, table_kind_word(f->kind));
    WEFT_TRY(WEFT_NEW(&column->value, table->count, WEFT_MEM_WORKSPACE));
    const tree_codes codes = {.code = table->column[at].data};
    const bool words = f->kind == TABLE_CATEGORY;
    const tree_column values = {f->kind, words ? (const void *)&codes : table->column[at].data};
    tree_column_read(&values, 0, table->count, column->value);
    return words ? copy_words(f->words, &column->words) : WEFT_OK;
}
