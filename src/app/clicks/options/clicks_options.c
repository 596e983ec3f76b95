/* app/clicks/options/clicks_options.c: the table of the options of clicks, with its recipe and words of other
 * programs. */
#include "app/clicks/options/clicks_options.h"

#define OPTION_TABLE_FILE "app/clicks/options/clicks_table.def"
#include "option/table_rows_body.h"

static const option_section sections[] = {
    {"clicks", "Clicks", "Models of clicks, and rows of embeddings for ids.", NULL, "train,eval,predict", OPTION_STAYS},
    {NULL, NULL, NULL, NULL, NULL, OPTION_CHANGES},
};

static const option_addition additions[] = {
    {OPT_DATA, "", "", "clicks: a table, or generated rows, e.g. synth:clicks,rows=2M"},
    {OPT_MODEL, "", "lr|fm|wide-deep|deepfm|dcn|dcn-v2|dlrm|xdeepfm|parts",
     "tables of clicks: lr, fm, wide-deep, deepfm, dcn, dcn-v2, dlrm, xdeepfm, parts of your own choice "
     "(--click-parts), or a file of layers, my.net"},
    {OPT_RECIPE, "", "clicks", "tables of clicks: auto = clicks, few epochs of large batches"},
    {OPTION_NONE, NULL, NULL, NULL},
};

/* More epochs fit the ids that were seen, not those that come. */
static const option_recipe_setting recipes[] = {
    {"clicks", OPT_EPOCHS, "2"},
    {"clicks", OPT_BATCH_SIZE, "1024"},
    {"clicks", OPT_LR, "0.002"},
    {NULL, OPTION_NONE, NULL},
};

static const option_foreign_value values[] = {
    {OPT_MODEL, "autoint,din,dien,nfm,afm,pnn,ffm,wdl,two-tower,ncf,neumf,bst,mmoe",
     "there is no model of that name: models of clicks are lr, fm, wide-deep, deepfm, dcn, dcn-v2, dlrm, xdeepfm, or "
     "parts of your own choice (--click-parts)"},
    {OPTION_NONE, NULL, NULL},
};

static const option_synonym synonyms[] = {
    {OPT_MODEL, "dcn-v1,dcnv1", "dcn"},
    {OPT_MODEL, "dcnv2,dcn-mix", "dcn-v2"},
    {OPT_MODEL, "wide&deep,widedeep", "wide-deep"},
    {OPTION_NONE, NULL, NULL},
};

const option_table clicks_option_table = {
    .number = CLICKS_TABLE,
    .traits = "clicks|tables|networks|batches|gradients",
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .needs = needs,
    .sections = sections,
    .additions = additions,
    .recipes = recipes,
    .synonyms = synonyms,
    .values = values,
};
