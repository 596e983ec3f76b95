/*
 * option/option_recipe.c: named sets of defaults (--recipe).
 *
 * A recipe is a list of options and texts that stand between the built-in defaults and every other source: whatever a
 * config file, the environment, the command line or a program says about one of its options wins, in whatever order the
 * two are given. Another recipe takes the place of the first one altogether.
 */
#include <string.h>

#include "base/text/append.h"
#include "option/option_internal.h"

weft_status option_use_recipe(weft_options *options)
{
    const option_catalog *catalog = options->command->catalog;
    const char *name = option_text(options, catalog->recipe);
    for (int place = 0; place < catalog->count; place++) {
        const option_id id = catalog->id[place];
        if (option_source_of(options, id) == OPTION_RECIPE) {
            WEFT_TRY(option_restore_default(options, id));
        }
    }
    for (const option_recipe_setting *s = catalog->recipes; s->recipe != NULL; s++) {
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
    WEFT_TRY(
        option_set(options, id, source > OPTION_DATA ? source : OPTION_DATA, option_row_in(options, id)->name, text));
    option_mark_decided(options, id);
    return WEFT_OK;
}

void option_describe_recipe(const option_catalog *catalog, const char *recipe, char text[OPTION_RECIPE_MAX])
{
    snprintf(text, OPTION_RECIPE_MAX, "%s =", recipe);
    for (const option_recipe_setting *s = catalog->recipes; s->recipe != NULL; s++) {
        if (strcmp(s->recipe, recipe) == 0) {
            text_append(text, OPTION_RECIPE_MAX, " --%s %s", option_row_at(catalog, s->id)->name, s->text);
        }
    }
}

bool option_recipe_listed(const option_catalog *catalog, const char **cursor, char text[OPTION_RECIPE_MAX])
{
    char name[OPTION_WORD_MAX];
    while (option_list_next(cursor, '|', name)) {
        option_describe_recipe(catalog, name, text);
        if (strstr(text, "--") != NULL) {
            return true;
        }
    }
    return false;
}
