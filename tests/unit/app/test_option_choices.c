/*
 * Every choice of every option: the word that a user types gives the enumerator of that name, and no option has choices
 * that nothing ties. A new row is tested by being there.
 */
#include <ctype.h>

#include "gnn/data/write/writer.h"
#include "support/options.h"
#include "support/test.h"

typedef struct choice {
    const char *value_name, *word; /* "SYNC_TOPK", "topk" */
    int value;
} choice;

/* choices_of_SYNC: the enumeration's list once more, with the compiler's values; empty for words that are texts. */
#define ENTRY(value, word)  {#value, word, value},
#define CHOICES(type, LIST) LIST(ENTRY)
#define WORDS(text)
#define LISTED_FLAG(id, choices)
#define LISTED_INT(id, choices)
#define LISTED_REAL(id, choices)
#define LISTED_TEXT(id, choices)
#define LISTED_CHOICE(id, ...) static const choice choices_of_##id[] = {__VA_ARGS__{NULL, NULL, 0}};
#define LISTED_SIZE(id, choices)
#define LISTED_TIME(id, choices)
#define LISTED_INTLIST(id, choices)
#define OPTION(id, name, aliases, type, section, serves, unit, default_text, min, max, choices, help)                  \
    LISTED_##type(id, choices)
#include "app/clicks/options/clicks_table.def"
#include "app/dense/options/dense_table.def"
#include "app/dense/options/text_table.def"
#include "app/gnn/options/gnn_table.def"
#include "app/options/app_options.def"
#include "app/trees/options/trees_table.def"
#undef LISTED_CHOICE

/* What was just listed, by the option's row in its table. */
#define LISTED_CHOICE(id, ...) [OPT_##id & (OPTION_TABLE_ROWS - 1)] = choices_of_##id,
static const choice *const listed[][OPTION_TABLE_ROWS] = {
    [0] =
        {
#include "app/options/app_options.def"
        },
    [GNN_TABLE] =
        {
#include "app/gnn/options/gnn_table.def"
        },
    [DENSE_TABLE] =
        {
#include "app/dense/options/dense_table.def"
        },
    [TREES_TABLE] =
        {
#include "app/trees/options/trees_table.def"
        },
    [TEXT_TABLE] =
        {
#include "app/dense/options/text_table.def"
        },
    [CLICKS_TABLE] =
        {
#include "app/clicks/options/clicks_table.def"
        },
};
#undef OPTION

static const choice *choices_of(option_id id)
{
    return listed[id >> OPTION_TABLE_SHIFT][id & (OPTION_TABLE_ROWS - 1)];
}

static const option_command *user_of(option_id id)
{
    for (const option_command *command = app_catalog()->commands; command->name != NULL; command++) {
        if (option_applies(command, id)) {
            return command;
        }
    }
    fail_msg("no command takes option %s", option_row_of(id)->name);
    return NULL;
}

/* "divide-shuffle" names SYNC_DIVIDE_SHUFFLE: what follows the prefix, in capitals. */
static void check_name(const choice *c)
{
    char capitals[OPTION_WORD_MAX] = "_";
    for (size_t i = 0; c->word[i] != '\0'; i++) {
        capitals[i + 1] = (char)(c->word[i] == '-' ? '_' : toupper((unsigned char)c->word[i]));
    }
    size_t all = strlen(c->value_name), end = strlen(capitals);
    if (all <= end || strcmp(c->value_name + all - end, capitals) != 0) {
        fail_msg("the word \"%s\" stands beside %s", c->word, c->value_name);
    }
}

static void check_choice(option_id id, const choice *c)
{
    weft_options *options = NULL;
    check_name(c);
    ASSERT_OK(option_create(user_of(id), &options));
    ASSERT_OK(option_assign(options, option_row_of(id)->name, c->word));
    assert_int_equal(option_choice_index(options, id), c->value);
    assert_string_equal(option_value_text(options, id), c->word);
    option_destroy(options);
}

static void test_words_give_the_enumerators_of_their_names(void **state)
{
    (void)state;
    int enumerations = 0;
    FOR_EVERY_OPTION(id)
    {
        char word[OPTION_WORD_MAX];
        const char *cursor = option_row_of(id)->choices;
        const choice *c = choices_of(id);
        assert_int_equal(c != NULL, option_row_of(id)->type == OPTION_CHOICE);
        if (c == NULL || c->word == NULL) {
            continue;
        }
        for (; option_list_next(&cursor, '|', word); c++) {
            assert_non_null(c->word);
            assert_string_equal(word, c->word);
            check_choice(id, c);
        }
        assert_null(c->word);
        enumerations++;
    }
    assert_in_range(enumerations, 25, app_catalog()->count);
}

/* Of choices that are texts: each names a row of the table that is searched for it. */
static bool is_writer(const char *word)
{
    for (int i = 0; writer_format_at(i) != NULL; i++) {
        if (strcmp(writer_format_at(i)->name, word) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_recipe(const char *word)
{
    for (const option_recipe_setting *s = app_catalog()->recipes; s->recipe != NULL; s++) {
        if (strcmp(s->recipe, word) == 0) {
            return true;
        }
    }
    return false;
}

static void test_words_without_enumeration_are_rows_of_tables(void **state)
{
    (void)state;
    FOR_EVERY_OPTION(id)
    {
        const option_row *row = option_row_of(id);
        char word[OPTION_WORD_MAX];
        if (choices_of(id) == NULL || choices_of(id)->word != NULL) {
            continue;
        }
        for (const char *cursor = row->choices; option_list_next(&cursor, '|', word);) {
            bool known = id == OPT_TO       ? strcmp(word, "store") == 0 || is_writer(word)
                         : id == OPT_RECIPE ? option_list_has("auto|default", '|', word) || is_recipe(word)
                                            : id == OPT_METHOD || id == OPT_PARTITION; /* tests/unit/partition */
            if (!known) {
                fail_msg("--%s %s names nothing", row->name, word);
            }
        }
    }
    for (int i = 0; writer_format_at(i) != NULL; i++) {
        assert_true(option_list_has(option_row_of(OPT_TO)->choices, '|', writer_format_at(i)->name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_give_the_enumerators_of_their_names),
        cmocka_unit_test(test_words_without_enumeration_are_rows_of_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
