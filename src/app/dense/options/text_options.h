/* app/dense/options/text_options.h: the ids of the options of jobs on texts, as app/options/app_options.h has those of
 * all jobs. */
#pragma once

#include "app/options/app_options.h"

enum { TEXT_TABLE = 5 };

#define OPTION_TABLE_FILE "app/dense/options/text_table.def"
#define OPTION_TABLE_FROM OPTION_TABLE_FIRST(TEXT_TABLE)
#define OPTION_TABLE_MARK OPT_BEFORE_TEXTS
#include "option/table_ids_body.h"

extern const option_table text_option_table;
