/* app/cli/convert_table.c: weft convert INPUT --target COLUMN --out STORE: a table store from files. */
#include <assert.h>
#include <omp.h>

#include "app/cli/command.h"
#include "app/setup/table_setup.h"
#include "table/table.h"

static const option_id column_options[] = {
    OPT_TARGET,    OPT_WEIGHT_COLUMN, OPT_GROUP_COLUMN, OPT_SPLIT_COLUMN, OPT_SPLIT_BY,     OPT_CATEGORY,
    OPT_ID_COLUMN, OPT_REAL,          OPT_DROP,         OPT_MISSING,      OPT_TABLE_FORMAT, OPT_HEADER,
    OPT_QUOTE,     OPT_DECIMAL,       OPT_SPARSE,       OPT_INDEX_BASE,   OPT_ABSENT};
enum { COLUMN_OPTIONS = sizeof column_options / sizeof *column_options };

bool app_is_table(const weft_options *options)
{
    for (int i = 0; i < COLUMN_OPTIONS; i++) {
        if (option_is_set(options, column_options[i])) {
            return true;
        }
    }
    return false;
}

/* Options of a kind of workload say how its own stores are made. */
static weft_status refuse_options_of_kinds(const weft_options *options)
{
    const option_command *command = option_command_of(options);
    int column = 0;
    while (!option_is_set(options, column_options[column])) {
        column++;
        assert(column < COLUMN_OPTIONS); /* app_is_table found one */
    }
    for (int i = 0; i < option_count(options); i++) {
        const option_id id = option_at(options, i);
        const bool of_a_kind = id >= OPTION_TABLE_FIRST(1);
        WEFT_CHECK(!of_a_kind || !option_applies(command, id) || !option_is_set(options, id), WEFT_ERR_USAGE,
                   "--%s does not say how a table is read, and --%s makes one: leave one of them out",
                   option_row_in(options, id)->name, option_row_in(options, column_options[column])->name);
    }
    return WEFT_OK;
}

weft_status app_convert_table(const weft_options *options)
{
    const char *input = option_argument(options, 0);
    const table_request request = app_table_request(options);
    WEFT_TRY(refuse_options_of_kinds(options));
    WEFT_CHECK(!table_is_store(input), WEFT_ERR_USAGE, "%s: is a table store already", input);
    if (option_int(options, OPT_THREADS) > 0) {
        omp_set_num_threads((int)option_int(options, OPT_THREADS));
    }
    return table_convert(&input, 1, &request, (int64_t)option_size(options, OPT_MEMORY), option_text(options, OPT_OUT),
                         option_flag(options, OPT_FORCE));
}
