/* app/gnn/options/gnn_options.h: the ids of the options of graph jobs, as app/options/app_options.h has those of all
 * jobs. */
#ifndef WEFT_APP_GNN_GNN_OPTIONS_H
#define WEFT_APP_GNN_GNN_OPTIONS_H

#include "app/options/app_options.h"
#include "comm/halo.h"
#include "gnn/data/read/reader.h"
#include "gnn/dataset.h"
#include "gnn/layers/layer_plan.h"
#include "partition/reorder.h"
#include "train/layers/norm.h"

enum { GNN_TABLE = 1 };

enum {
    OPT_BEFORE_GNN = OPTION_TABLE_FIRST(GNN_TABLE) - 1,
#undef OPTION
#define OPTION(id, ...) OPT_##id,
#include "app/gnn/options/gnn_table.def"
#undef OPTION
};

#define CHOICES(type, LIST) type
#define WORDS(text)         void
#define OPTION              OPTION_CHOICE_TYPE
#include "app/gnn/options/gnn_table.def"
#undef OPTION
#undef WORDS
#undef CHOICES

extern const option_table gnn_option_table;

#endif
