/* The room alone, with another program's catalogue: nothing in it depends on weft's own options. */
#include "base/alloc.h"
#include "option/option_internal.h"
#include "support/test.h"

enum { OPT_SPEED = OPTION_OWN_COUNT, OPT_STYLE, OPT_MANNER, ROWS };

static const option_row rows[ROWS] = {
#define OPTION(id, name, aliases, type, section, unit, default_text, min, max, choices, help)                          \
    {#id, &name[2], aliases, OPTION_##type, section, unit, default_text, min, max, choices, help},
#include "option/general_options.def"
#undef OPTION
    {"SPEED", "speed", "pace", OPTION_INT, "sailing", "KN", "5", 0, 40, "", "knots over ground"},
    {"STYLE", "style", "", OPTION_CHOICE, "sailing", "", "reach", 0, 0, "beat|reach|run", "point of sail"},
    {"MANNER", "manner", "", OPTION_CHOICE, "sailing", "", "calm", 0, 0, "calm|race", "a set of defaults"},
};

static const option_section sections[] = {
    {"general", "General", "All.", NULL, OPTION_CHANGE_FREE, false},
    {"sailing", "Sailing", "The boat.", "knots", OPTION_CHANGE_FREE, false},
    {NULL, NULL, NULL, NULL, OPTION_CHANGE_FREE, false},
};

static const option_catalog catalog;

static const option_command commands[] = {
    {&catalog, "sail", "cross the bay", "[PORT]", 0, 1, "general,sailing", ""},
    {NULL, NULL, NULL, NULL, 0, 0, NULL, NULL},
};

static const option_command bare = {&catalog, "", "", "", 0, 0, "general", ""};
static const option_foreign foreigns[] = {{"throttle", "there is no engine"}, {NULL, NULL}};
static const option_synonym synonyms[] = {{OPT_STYLE, "downwind,before-the-wind", "run"}, {OPTION_NONE, NULL, NULL}};
static const option_recipe_setting recipes[] = {{"race", OPT_SPEED, "12"}, {NULL, OPTION_NONE, NULL}};

static bool is_argument(const option_command *command, const char *name)
{
    return command == commands && strcmp(name, "port") == 0;
}

static option_id of_argument(const weft_options *options, const char *argument)
{
    (void)options;
    return argument[0] == '5' ? OPT_SPEED : OPTION_NONE;
}

static const option_catalog catalog = {.rows = rows,
                                       .count = ROWS,
                                       .sections = sections,
                                       .commands = commands,
                                       .bare = &bare,
                                       .foreigns = foreigns,
                                       .synonyms = synonyms,
                                       .recipe = OPT_MANNER,
                                       .recipes = recipes,
                                       .is_argument = is_argument,
                                       .of_argument = of_argument};

static void test_values_and_recipe(void **state)
{
    (void)state;
    weft_options *options = NULL, *copy = NULL;
    void *blob = NULL;
    size_t bytes = 0;
    char *argv[] = {"sail", "Kiel", "--style", "run", "--manner=race"};
    ASSERT_OK(option_parse_arguments(commands, 5, argv, &options));
    assert_int_equal(option_int(options, OPT_SPEED), 12);
    assert_int_equal(option_choice_index(options, OPT_STYLE), 2);
    assert_string_equal(option_argument(options, 0), "Kiel");
    ASSERT_OK(option_copy(options, &copy));
    assert_int_equal(option_int(copy, OPT_SPEED), 12);
    option_destroy(copy);
    ASSERT_OK(option_pack(options, &blob, &bytes));
    weft_free(blob);
    option_destroy(options);
}

/* Recorded is the catalogue's own word; the same choice in two words is no contradiction. */
static void test_words_for_choices(void **state)
{
    (void)state;
    weft_options *options = NULL;
    char *argv[] = {"sail", "Kiel", "--style=downwind", "--style=before-the-wind", "--style=run"};
    ASSERT_OK(option_parse_arguments(commands, 5, argv, &options));
    assert_int_equal(option_choice_index(options, OPT_STYLE), 2);
    assert_string_equal(option_value_text(options, OPT_STYLE), "run");
    option_destroy(options);
}

static void check_refused(const char *argument, const char *message)
{
    char text[64];
    char *argv[] = {"sail", "Kiel", text};
    weft_options *options = NULL;
    snprintf(text, sizeof text, "%s", argument);
    ASSERT_STATUS(option_parse_arguments(commands, 3, argv, &options), WEFT_ERR_USAGE);
    ASSERT_MESSAGE(message);
}

static void test_refusals_speak_of_the_catalogue(void **state)
{
    (void)state;
    check_refused("--throttle", "there is no engine");
    check_refused("--spede", "did you mean --speed?");
    check_refused("--port", "takes it as an argument");
    check_refused("--speed=41", "between 0 and 40");
    check_refused("--manner=downwind", "must be one of calm, race");
    check_refused("5kn", "did you mean --speed 5kn?");
    check_refused("style", "did you mean --style?");
    ASSERT_OK(option_check_topic(commands, "knots"));
    ASSERT_STATUS(option_check_topic(commands, "formats"), WEFT_ERR_USAGE);
}

/* What another table packed is refused, not misread. */
static void test_tables_must_be_the_same(void **state)
{
    (void)state;
    option_catalog shorter = catalog;
    weft_options *options = NULL, *received = NULL;
    void *blob = NULL;
    size_t bytes = 0;
    shorter.count = ROWS - 1;
    ASSERT_OK(option_create(commands, &options));
    ASSERT_OK(option_pack(options, &blob, &bytes));
    ASSERT_STATUS(option_unpack(&shorter, blob, bytes, &received), WEFT_ERR_LAUNCH);
    weft_free(blob);
    option_destroy(options);
}

static void test_pages_hold_every_row(void **state)
{
    (void)state;
    void (*const print[])(const option_catalog *, FILE *) = {option_print_man, option_print_markdown,
                                                             option_print_completion};
    for (size_t i = 0; i < sizeof print / sizeof *print; i++) {
        char *text = NULL;
        size_t bytes = 0;
        FILE *stream = open_memstream(&text, &bytes);
        assert_non_null(stream);
        print[i](&catalog, stream);
        fclose(stream);
        for (int id = 0; id < ROWS; id++) {
            if (strchr(rows[id].name, '-') == NULL) { /* man pages write minus signs */
                assert_non_null(strstr(text, rows[id].name));
            }
        }
        assert_null(strstr(text, "hidden-channels"));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_and_recipe),
        cmocka_unit_test(test_words_for_choices),
        cmocka_unit_test(test_refusals_speak_of_the_catalogue),
        cmocka_unit_test(test_tables_must_be_the_same),
        cmocka_unit_test(test_pages_hold_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
