/* app/setup/table_setup.c: see app/setup/table_setup.h. */
#include "app/setup/table_setup.h"

#include "io/data_options.def"
#include "table/table_options.def"

table_request app_table_request(const weft_options *options)
{
    const char *target = option_text(options, OPT_TARGET);
    const bool learned = option_source_of(options, OPT_TARGET) == OPTION_DATA; /* nobody asks: a saved model knows */
    return (table_request){
        .target = learned ? NULL : target,
        .learned = learned ? target : NULL,
        .weight = option_text(options, OPT_WEIGHT_COLUMN),
        .group = option_text(options, OPT_GROUP_COLUMN),
        .split = option_text(options, OPT_SPLIT_COLUMN),
        .order = option_text(options, OPT_SPLIT_BY),
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
        .absent = option_choice(options, OPT_ABSENT),
        .index_base = option_int(options, OPT_INDEX_BASE),
    };
}

weft_status app_table_places(const weft_options *o, const char *const *path, int paths, bool training,
                             table_places *places)
{
    const char *const data = option_text(o, OPT_DATA);
    static const option_id extra[] = {OPT_VALID_FILE, OPT_TEST_FILE};
    *places = (table_places){.own = {data}, .path = path, .paths = paths};
    WEFT_CHECK(data[0] != '\0' || paths > 0, WEFT_ERR_USAGE, "%s is missing: name a table", FLAG_DATA);
    if (paths > 0) {
        return WEFT_OK;
    }
    places->path = places->own;
    places->paths = 1;
    for (int i = 0; i < 2 && training; ++i) {
        const char *file = option_text(o, extra[i]);
        if (file[0] != '\0') {
            WEFT_CHECK(!table_is_store(data) && !table_is_store(file), WEFT_ERR_UNSUPPORTED,
                       "%s %s: rows of a store are its own: a column named split in it says which validate and test",
                       i == 0 ? FLAG_VALID_FILE : FLAG_TEST_FILE, file);
            places->part[places->paths] = (uint8_t)(i + 1);
            places->own[places->paths++] = file;
        }
    }
    return WEFT_OK;
}

const uint8_t *app_table_parts(const table_places *places, bool training)
{
    return places->paths > 1 && training ? places->part : NULL;
}
