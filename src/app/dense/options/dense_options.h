/* app/dense/options/dense_options.h: the ids of the options of jobs on images, as app/options/app_options.h has those
 * of all jobs. */
#pragma once

#include "app/options/app_options.h"
#include "dense/data/image_set.h"
#include "dense/dense_choices.h"

enum { DENSE_TABLE = 2 };

#define OPTION_TABLE_FILE "app/dense/options/dense_table.def"
#define OPTION_TABLE_FROM OPTION_TABLE_FIRST(DENSE_TABLE)
#define OPTION_TABLE_MARK OPT_BEFORE_DENSE
#include "option/table_ids_body.h"

extern const option_table dense_option_table;
