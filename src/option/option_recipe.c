/*
 * option/option_recipe.c: named sets of defaults (--recipe).
 *
 * A recipe is a list of options and texts that stand between the built-in defaults and every other source: whatever a
 * config file, the environment, the command line or a program says about one of its options wins, in whatever order the
 * two are given. Another recipe takes the place of the first one altogether.
 */
#include <string.h>

#include "option/option_internal.h"

typedef struct recipe_setting {
    const char *recipe;
    option_id id;
    const char *text;
} recipe_setting;

static const recipe_setting settings[] = {
    /* Against learning by heart, where batch norm fits a hundred labels in four epochs. */
    {"few-labels", OPT_NORM, "none"},
    {"few-labels", OPT_INPUT_DROPOUT, "-1"},
    {"few-labels", OPT_WEIGHT_DECAY, "5e-4"},
    /* Labels enough for batch norm, but more features than training vertices. */
    {"wide-features", OPT_INPUT_DROPOUT, "-1"},
    {"wide-features", OPT_WEIGHT_DECAY, "5e-4"},
    /*
     * T. Kipf, M. Welling: Semi-supervised classification with graph convolutional networks. ICLR 2017,
     * arXiv 1609.02907, section 5.2: two layers, 16 wide, for 140 labels and 1,433 sparse features. 200 epochs without
     * early stopping, as in later comparisons.
     */
    {"kipf", OPT_MODEL, "gcn"},
    {"kipf", OPT_LAYERS, "2"},
    {"kipf", OPT_HIDDEN, "16"},
    {"kipf", OPT_NORM, "none"},
    {"kipf", OPT_DROPOUT, "0.5"},
    {"kipf", OPT_INPUT_DROPOUT, "0.5"},
    {"kipf", OPT_NORMALIZE, "row"},
    {"kipf", OPT_LR, "0.01"},
    {"kipf", OPT_WEIGHT_DECAY, "5e-4"},
    {"kipf", OPT_DECAY_LAYERS, "first"},
    {"kipf", OPT_EPOCHS, "200"},
    {"kipf", OPT_PATIENCE, "0"},
    {NULL, OPT_COUNT, NULL},
};

weft_status option_use_recipe(weft_options *options)
{
    const char *name = option_text(options, OPT_RECIPE);
    for (int id = 0; id < OPT_COUNT; id++) {
        if (option_source_of(options, (option_id)id) == OPTION_RECIPE) {
            WEFT_TRY(option_restore_default(options, (option_id)id));
        }
    }
    for (const recipe_setting *s = settings; s->recipe != NULL; s++) {
        if (strcmp(s->recipe, name) == 0) {
            WEFT_TRY(option_set(options, s->id, OPTION_RECIPE, name, s->text));
        }
    }
    return WEFT_OK;
}

weft_status option_decide(weft_options *options, option_id id, const char *text)
{
    option_source source = option_source_of(options, id);
    WEFT_TRY(option_restore_default(options, id));
    return option_set(options, id, source > OPTION_DATA ? source : OPTION_DATA, option_row_of(id)->name, text);
}

void option_describe_recipe(const char *recipe, char text[OPTION_RECIPE_MAX])
{
    size_t at = (size_t)snprintf(text, OPTION_RECIPE_MAX, "%s =", recipe);
    for (const recipe_setting *s = settings; s->recipe != NULL && at < OPTION_RECIPE_MAX; s++) {
        if (strcmp(s->recipe, recipe) == 0) {
            at += (size_t)snprintf(text + at, OPTION_RECIPE_MAX - at, " --%s %s", option_row_of(s->id)->name, s->text);
        }
    }
}

bool option_recipe_listed(const char **cursor, char text[OPTION_RECIPE_MAX])
{
    char name[OPTION_WORD_MAX];
    while (option_list_next(cursor, '|', name)) {
        option_describe_recipe(name, text);
        if (strstr(text, "--") != NULL) {
            return true;
        }
    }
    return false;
}
