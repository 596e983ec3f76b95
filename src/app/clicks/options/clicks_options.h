/* app/clicks/options/clicks_options.h: the ids of the options of jobs on clicks, as app/options/app_options.h has those
 * of all jobs. */
#pragma once

#include "app/options/app_options.h"
#include "clicks/click_choices.h"
#include "clicks/data/click_bags.h"
#include "clicks/data/click_scaling.h"
#include "embed/embed.h"

enum { CLICKS_TABLE = 4 };

#define OPTION_TABLE_FILE "app/clicks/options/clicks_table.def"
#define OPTION_TABLE_FROM OPTION_TABLE_FIRST(CLICKS_TABLE)
#define OPTION_TABLE_MARK OPT_BEFORE_CLICKS
#include "option/table_ids_body.h"

extern const option_table clicks_option_table;
