/*
 * option/option_recipe.c: a recipe stands above the built-in defaults and below every other source, in whatever order
 * they come. What kipf must be is taken from the paper (section 5.2) and its public code, not from the table.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "option/option_internal.h"
#include "support/options.h"
#include "support/test.h"

static const struct {
    option_id id;
    const char *text;
} published[] = {
    {OPT_MODEL, "gcn"},         {OPT_LAYERS, "2"},          {OPT_HIDDEN, "16"}, {OPT_DROPOUT, "0.5"},
    {OPT_INPUT_DROPOUT, "0.5"}, {OPT_WEIGHT_DECAY, "5e-4"}, {OPT_LR, "0.01"},   {OPT_DECAY_LAYERS, "first"},
    {OPT_NORMALIZE, "row"},     {OPT_EPOCHS, "200"},        {OPT_NORM, "none"}, {OPT_PATIENCE, "0"},
};
enum { PUBLISHED = sizeof published / sizeof *published };

static weft_options *parse(char *first, char *second, char *third)
{
    char *argv[] = {"train", first, second, third};
    int argc = 1 + (first != NULL) + (second != NULL) + (third != NULL);
    const option_command *train = NULL;
    weft_options *options = NULL;
    ASSERT_OK(option_command_find(app_catalog(), "train", &train));
    ASSERT_OK(option_parse(train, argc, argv, &options));
    return options;
}

/* Every published value by the recipe, but `other`, which has `text` from `source`; OPTION_NONE: no other. */
static void check_kipf(const weft_options *options, option_id other, option_source source, const char *text)
{
    for (int i = 0; i < PUBLISHED; i++) {
        bool differs = published[i].id == other;
        assert_string_equal(option_value_text(options, published[i].id), differs ? text : published[i].text);
        assert_int_equal(option_source_of(options, published[i].id), differs ? source : OPTION_RECIPE);
        assert_int_equal(option_is_set(options, published[i].id), differs);
    }
}

/* Not one value left of any recipe. */
static void check_defaults(const weft_options *options)
{
    FOR_EVERY_OPTION(id)
    {
        if (id != OPT_RECIPE) {
            assert_int_equal(option_source_of(options, id), OPTION_DEFAULT);
            assert_string_equal(option_value_text(options, id), option_row_of(id)->default_text);
        }
    }
}

static void test_published_values(void **state)
{
    (void)state;
    weft_options *options = parse("--recipe=kipf", NULL, NULL);
    check_kipf(options, OPTION_NONE, OPTION_DEFAULT, NULL);
    assert_true(option_real(options, OPT_WEIGHT_DECAY) == 5e-4);
    option_destroy(options);
    options = parse("--recipe=default", NULL, NULL);
    check_defaults(options);
    option_destroy(options);
}

static void test_order_does_not_matter(void **state)
{
    (void)state;
    weft_options *options = parse("--lr=0.5", "--recipe=kipf", NULL);
    check_kipf(options, OPT_LR, OPTION_COMMAND_LINE, "0.5");
    option_destroy(options);
    options = parse("--recipe=kipf", "--lr=0.5", NULL);
    check_kipf(options, OPT_LR, OPTION_COMMAND_LINE, "0.5");
    option_destroy(options);
    setenv("WEFT_HIDDEN", "99", 1);
    options = parse("--recipe=kipf", NULL, NULL);
    check_kipf(options, OPT_HIDDEN, OPTION_ENVIRONMENT, "99");
    option_destroy(options);
    unsetenv("WEFT_HIDDEN");
    setenv("WEFT_RECIPE", "kipf", 1);
    options = parse("--hidden=98", NULL, NULL);
    check_kipf(options, OPT_HIDDEN, OPTION_COMMAND_LINE, "98");
    option_destroy(options);
    options = parse("--recipe=default", NULL, NULL); /* the stronger source wins for the recipe itself, too */
    check_defaults(options);
    option_destroy(options);
    unsetenv("WEFT_RECIPE");
}

static void test_config_file(void **state)
{
    (void)state;
    static const char *const texts[] = {"recipe = kipf\nlayers = 5\n", "layers = 5\n[training]\nrecipe = kipf\n"};
    const option_command *train = NULL;
    ASSERT_OK(option_command_find(app_catalog(), "train", &train));
    for (int i = 0; i < 2; i++) {
        weft_options *options = NULL;
        ASSERT_OK(option_parse_config(train, "t.conf", texts[i], strlen(texts[i]), &options));
        check_kipf(options, OPT_LAYERS, OPTION_FILE, "5");
        option_destroy(options);
    }
}

/* A program may change its mind: nothing of the first recipe stays. */
static void test_program(void **state)
{
    (void)state;
    const option_command *train = NULL;
    weft_options *options = NULL;
    ASSERT_OK(option_command_find(app_catalog(), "train", &train));
    ASSERT_OK(option_create(train, &options));
    ASSERT_OK(option_assign(options, "epochs", "7"));
    ASSERT_OK(option_assign(options, "recipe", "kipf"));
    check_kipf(options, OPT_EPOCHS, OPTION_PROGRAM, "7");
    ASSERT_OK(option_assign(options, "epochs", "200"));
    ASSERT_OK(option_assign(options, "recipe", "default"));
    assert_string_equal(option_value_text(options, OPT_MODEL), option_row_of(OPT_MODEL)->default_text);
    assert_int_equal(option_source_of(options, OPT_MODEL), OPTION_DEFAULT);
    assert_int_equal(option_source_of(options, OPT_EPOCHS), OPTION_PROGRAM);
    assert_int_equal(option_assign(options, "recipe", "kipff"), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("did you mean kipf?");
    option_destroy(options);
}

static void test_other_ranks_get_it(void **state)
{
    (void)state;
    void *blob = NULL;
    size_t bytes = 0;
    weft_options *options = parse("--dropout=0.25", "--recipe=kipf", NULL), *copy = NULL;
    ASSERT_OK(option_pack(options, &blob, &bytes));
    ASSERT_OK(option_unpack(app_catalog(), blob, bytes, &copy));
    check_kipf(copy, OPT_DROPOUT, OPTION_COMMAND_LINE, "0.25");
    assert_string_equal(option_text(copy, OPT_RECIPE), "kipf");
    option_destroy(copy);
    option_destroy(options);
    weft_free(blob);
}

/* auto is decided later: until then everything is as built in; then as if somebody had asked for it. */
static void test_decision(void **state)
{
    (void)state;
    weft_options *options = parse("--hidden=9", NULL, NULL), *copy = NULL;
    assert_string_equal(option_text(options, OPT_RECIPE), "auto");
    ASSERT_OK(option_copy(options, &copy));
    ASSERT_OK(option_decide(copy, OPT_RECIPE, "few-labels"));
    assert_string_equal(option_text(copy, OPT_NORM), "none");
    assert_int_equal(option_source_of(copy, OPT_NORM), OPTION_RECIPE);
    assert_int_equal(option_source_of(copy, OPT_RECIPE), OPTION_DATA);
    assert_false(option_is_set(copy, OPT_RECIPE));
    assert_int_equal(option_int(copy, OPT_HIDDEN), 9);
    assert_int_equal(option_source_of(copy, OPT_HIDDEN), OPTION_COMMAND_LINE);
    ASSERT_OK(option_decide(copy, OPT_RECIPE, "default"));
    assert_string_equal(option_text(copy, OPT_NORM), "batch");
    assert_int_equal(option_source_of(copy, OPT_NORM), OPTION_DEFAULT);
    assert_string_equal(option_text(options, OPT_RECIPE), "auto"); /* the original keeps its question */
    option_destroy(copy);
    option_destroy(options);
    /* Somebody's "auto" stays somebody's: a command line that goes on with the run repeats what it became. */
    options = parse("--recipe=kipf", "--normalize=auto", NULL);
    ASSERT_OK(option_decide(options, OPT_NORMALIZE, "length"));
    check_kipf(options, OPT_NORMALIZE, OPTION_COMMAND_LINE, "length");
    option_destroy(options);
}

/* What --print-config prints asks for the same again; the recipe's values stand beside it, as comments. */
static void test_config_template(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    weft_options *again = NULL;
    weft_options *options = parse("--recipe=kipf", "--hidden=77", "--run-dir= # my \"run\"");
    FILE *out = open_memstream(&text, &bytes);
    option_print_config(out, options);
    fclose(out);
    assert_non_null(strstr(text, "\nrecipe = kipf\n"));
    assert_non_null(strstr(text, "\n#model = gcn\n"));
    assert_non_null(strstr(text, "\n#weight-decay = 5e-4\n"));
    ASSERT_OK(option_parse_config(option_command_of(options), "template", text, bytes, &again));
    FOR_EVERY_OPTION(id)
    {
        assert_string_equal(option_value_text(again, id), option_value_text(options, id));
        assert_int_equal(option_is_set(again, id), option_is_set(options, id));
    }
    option_destroy(again);
    option_destroy(options);
    free(text);
}

static void test_descriptions(void **state)
{
    (void)state;
    char text[OPTION_RECIPE_MAX];
    const char *cursor = option_row_of(OPT_RECIPE)->choices;
    int count = 0, recipes = 0;
    while (option_recipe_listed(app_catalog(), &cursor, text)) {
        assert_true(strlen(text) + 1 < OPTION_RECIPE_MAX && strstr(text, "--") != NULL);
        count++;
    }
    for (const option_recipe_setting *setting = app_catalog()->recipes; setting->recipe != NULL; setting++) {
        recipes += setting == app_catalog()->recipes || strcmp(setting->recipe, setting[-1].recipe) != 0;
    }
    assert_int_equal(count, recipes); /* auto and default are no lists */
    option_describe_recipe(app_catalog(), "kipf", text);
    for (int i = 0; i < PUBLISHED; i++) {
        char words[OPTION_WORD_MAX * 2];
        snprintf(words, sizeof words, " --%s %s", option_row_of(published[i].id)->name, published[i].text);
        assert_non_null(strstr(text, words));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_values),   cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_config_file),        cmocka_unit_test(test_program),
        cmocka_unit_test(test_other_ranks_get_it), cmocka_unit_test(test_decision),
        cmocka_unit_test(test_config_template),    cmocka_unit_test(test_descriptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
