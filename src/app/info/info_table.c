/* app/info/info_table.c: weft info of a table store: rows, and a line for each column. */
#include <inttypes.h>
#include <stdio.h>

#include "app/info/info.h"
#include "base/escape.h"
#include "base/number.h"
#include "table/table.h"

static void print_sparse(const weft_table *table)
{
    const table_sparse *s = &table->sparse;
    if (s->columns > 0) {
        const int64_t entries = s->start[table->rows] - s->start[0];
        printf("sparse features: %" PRId64 ", numbered from %" PRId64 "\nentries: %" PRId64 ", %.3g a row\n",
               s->columns, s->base, entries, (double)entries / (double)table->rows);
    }
}

static void print_field(const table_field *f)
{
    char least[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX];
    printf("column %s: %s, %s", escape_say(f->name).text, table_kind_word(f->kind), table_role_word(f->role));
    if (f->words != NULL) {
        printf(", %" PRId64 " words", words_count(f->words));
    } else if (f->least <= f->most) {
        printf(", %s to %s", number_format_real(f->least, least), number_format_real(f->most, most));
    }
    if (f->missing > 0) {
        printf(", %" PRId64 " missing", f->missing);
    }
    printf("\n");
}

weft_status info_table(const char *store, bool check)
{
    weft_table table;
    const table_request request = {.sparse = TABLE_SPARSE_AUTO, .index_base = -1};
    WEFT_TRY(table_open(&store, 1, &request, NULL, &table));
    printf("rows: %" PRId64 "\ncolumns: %" PRId64 "\nbytes a row: %" PRId64 "\nhash: %s\n", table.rows,
           table.schema.count, schema_row_bytes(&table.schema), table.hash);
    print_sparse(&table);
    for (int64_t j = 0; j < table.schema.count; j++) {
        print_field(&table.schema.field[j]);
    }
    const weft_status status = check ? table_verify(&table) : WEFT_OK;
    if (check && status == WEFT_OK) {
        printf("checked: checksums and codes hold\n");
    }
    table_close(&table);
    return status;
}
