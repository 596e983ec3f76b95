/* support/options.h: the options of the program, for tests that walk over all of them. */
#pragma once

#include "app/clicks/options/clicks_options.h"
#include "app/dense/options/dense_options.h"
#include "app/dense/options/text_options.h"
#include "app/gnn/options/gnn_options.h"
#include "app/options/app_options.h"
#include "app/trees/options/trees_options.h"
#include "app/workload/app_catalog.h"

/* each: the id of every option of every table, in their order. */
#define FOR_EVERY_OPTION(each)                                                                                         \
    for (int place_of_##each = 0, each = app_catalog()->id[0]; place_of_##each < app_catalog()->count;                 \
         each = app_catalog()->id[++place_of_##each < app_catalog()->count ? place_of_##each : 0])

static inline const option_row *option_row_of(option_id id)
{
    return option_row_at(app_catalog(), id);
}
