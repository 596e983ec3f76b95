/* app/trees/options/trees_options.c: the table of the options of boosted trees, with its recipe. */
#include "app/trees/options/trees_options.h"

#define OPTION_TABLE_FILE "app/trees/options/trees_table.def"
#include "option/table_rows_body.h"

static const option_section sections[] = {
    {"trees", "Trees", "How boosted trees are grown.", NULL, "train,eval,predict", OPTION_STAYS},
    {NULL, NULL, NULL, NULL, NULL, OPTION_CHANGES},
};

static const option_addition additions[] = {
    {OPT_DATA, "TABLE", "",
     "tables: a file .csv, .tsv, .libsvm, .npy or .npz, or a store that weft convert made of one"},
    {OPT_MODEL, "", "trees", "tables: trees, boosted one an epoch"},
    {OPT_RECIPE, "", "trees", "tables: auto = trees"},
    {OPTION_NONE, NULL, NULL, NULL},
};

static const option_recipe_setting recipes[] = {
    {"trees", OPT_EPOCHS, "100"}, {"trees", OPT_LR, "0.1"}, {NULL, OPTION_NONE, NULL}};

static const option_foreign_value values[] = {
    {OPT_MODEL, "xgboost,lightgbm,catboost,gbdt,gbm,gbtree,random-forest,decision-tree",
     "boosted trees are --model trees"},
    {OPTION_NONE, NULL, NULL},
};

const option_table trees_option_table = {
    .number = TREES_TABLE,
    .traits = "tables|rates|trees",
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .needs = needs,
    .sections = sections,
    .additions = additions,
    .recipes = recipes,
    .foreigns = trees_foreigns,
    .values = values,
};
