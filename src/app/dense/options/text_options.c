/* app/dense/options/text_options.c: the table of the options of texts, with its recipe and words of other programs. */
#include "app/dense/options/text_options.h"

#define OPTION_TABLE_FILE "app/dense/options/text_table.def"
#include "option/table_rows_body.h"

static const option_section sections[] = {
    {"texts", "Texts", "Texts of a table, for networks that read words.", NULL, "train,eval,predict", OPTION_STAYS},
    {NULL, NULL, NULL, NULL, NULL, OPTION_CHANGES},
};

static const option_addition additions[] = {
    {OPT_DATA, "", "", "texts: a table with a column of texts (--text-column)"},
    {OPT_MODEL, "", "encoder-tiny|encoder-small",
     "texts: encoder-tiny, encoder-small, or a network of your own, my.net (docs/networks.md)"},
    {OPT_RECIPE, "", "texts", "texts: auto = texts, a few epochs of AdamW"},
    {OPTION_NONE, NULL, NULL, NULL},
};

static const option_recipe_setting recipes[] = {
    {"texts", OPT_EPOCHS, "5"},          {"texts", OPT_OPTIMIZER, "adamw"}, {"texts", OPT_LR, "0.0005"},
    {"texts", OPT_WEIGHT_DECAY, "0.01"}, {"texts", OPT_SCHEDULE, "linear"}, {"texts", OPT_WARMUP, "1"},
    {"texts", OPT_BATCH_SIZE, "32"},     {NULL, OPTION_NONE, NULL},
};

static const option_foreign foreigns[] = {
    {"tokenizer,tokenizer-name,spm,bpe,wordpiece",
     "texts are cut into words at blanks and punctuation; --vocabulary N is how many have rows of their own"},
    {NULL, NULL},
};

static const option_foreign_value values[] = {
    {OPT_MODEL,
     "bert,bert-base,bert-base-uncased,distilbert,roberta,albert,electra,t5,gpt2,gpt,llama,lstm,gru,rnn,transformer,"
     "textcnn,fasttext",
     "there is no network of that name: networks on texts are encoder-tiny, encoder-small, or a file of layers "
     "(docs/networks.md)"},
    {OPTION_NONE, NULL, NULL},
};

const option_table text_option_table = {
    .number = TEXT_TABLE,
    .traits = "texts|tables|images|networks|batches|gradients",
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .needs = needs,
    .sections = sections,
    .additions = additions,
    .recipes = recipes,
    .foreigns = foreigns,
    .values = values,
};
