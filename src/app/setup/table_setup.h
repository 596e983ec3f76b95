/* app/setup/table_setup.h: how a table is read, by the options of its columns. */
#pragma once

#include "app/options/app_options.h"
#include "table/table.h"

/* Texts belong to the options. */
table_request app_table_request(const weft_options *options);
