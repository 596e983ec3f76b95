/* app/setup/table_setup.h: how a table is read, by the options of its columns. */
#pragma once

#include "app/options/app_options.h"
#include "table/table.h"

/* Files of a table: those of --data, or `path` of a trained model, then those of validation and test rows. */
typedef struct table_places {
    const char *own[3];
    uint8_t part[3]; /* the split of each file's rows, where there are several */
    const char *const *path;
    int paths;
} table_places;

/* [out] places: not to be moved; texts are the options' and the caller's. paths: 0, or a trained model's places.
 * training: files of validation and test rows are looked for. WEFT_ERR_USAGE: there is no table; WEFT_ERR_UNSUPPORTED:
 * such files beside a store. */
weft_status app_table_places(const weft_options *options, const char *const *path, int paths, bool training,
                             table_places *places);
/* The split of each file's rows for a reader of the places; NULL: files say nothing of it. */
const uint8_t *app_table_parts(const table_places *places, bool training);

/* Texts belong to the options. */
table_request app_table_request(const weft_options *options);
