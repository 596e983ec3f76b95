/* app/gnn/options/gnn_options.h: the ids of the options of graph jobs, as app/options/app_options.h has those of all
 * jobs. */
#pragma once

#include "app/options/app_options.h"
#include "comm/halo.h"
#include "gnn/data/read/reader.h"
#include "gnn/dataset.h"
#include "gnn/layers/layer_plan.h"
#include "gnn/links/link_decoder.h"
#include "gnn/links/link_words.h"
#include "partition/reorder.h"
#include "train/layers/norm.h"

enum { GNN_TABLE = 1 };

#define OPTION_TABLE_FILE "app/gnn/options/gnn_table.def"
#define OPTION_TABLE_FROM OPTION_TABLE_FIRST(GNN_TABLE)
#define OPTION_TABLE_MARK OPT_BEFORE_GNN
#include "option/table_ids_body.h"

extern const option_table gnn_option_table;
