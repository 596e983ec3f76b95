/* app/setup/table_setup.c: see app/setup/table_setup.h. */
#include "app/setup/table_setup.h"

table_request app_table_request(const weft_options *options)
{
    return (table_request){
        .target = option_text(options, OPT_TARGET),
        .weight = option_text(options, OPT_WEIGHT_COLUMN),
        .group = option_text(options, OPT_GROUP_COLUMN),
        .split = option_text(options, OPT_SPLIT_COLUMN),
        .category = option_text(options, OPT_CATEGORY),
        .id = option_text(options, OPT_ID_COLUMN),
        .real = option_text(options, OPT_REAL),
        .drop = option_text(options, OPT_DROP),
        .missing = option_text(options, OPT_MISSING),
        .format = option_text(options, OPT_TABLE_FORMAT),
        .header = option_choice(options, OPT_HEADER),
        .quote = option_choice(options, OPT_QUOTE),
        .decimal = option_choice(options, OPT_DECIMAL),
        .sparse = option_choice(options, OPT_SPARSE),
        .index_base = option_int(options, OPT_INDEX_BASE),
    };
}
