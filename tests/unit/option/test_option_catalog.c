/*
 * The room alone, with the catalogue of another program: nothing in it depends on weft's own options. Boats have a
 * table; so do fishing boats and ferries, two kinds of trip with options, a section and words of their own.
 */
#include "base/alloc.h"
#include "option/option_internal.h"
#include "support/test.h"

enum { FISHING = 3, FERRY = 7 };

enum { OPT_SPEED = OPTION_OWN_COUNT, OPT_STYLE, OPT_MANNER, OPT_CREW };
enum { OPT_NETS = OPTION_TABLE_FIRST(FISHING), OPT_DEPTH };
enum { OPT_CARS = OPTION_TABLE_FIRST(FERRY) };

static const option_row rows[] = {
#define OPTION OPTION_ROW
#include "option/general_options.def"
#undef OPTION
    {"SPEED", "speed", "pace", OPTION_INT, "sailing", "", "KN", "5", 0, 40, "", "knots over ground"},
    {"STYLE", "style", "", OPTION_CHOICE, "sailing", "", "", "reach", 0, 0, "beat|reach|run", "point of sail"},
    {"MANNER", "manner", "", OPTION_CHOICE, "sailing", "", "", "calm", 0, 0, "calm|race", "a set of defaults"},
    {"CREW", "crew", "", OPTION_INT, "sailing", "freight|catch", "N", "2", 1, 9, "", "hands on deck"},
};

static const option_section sections[] = {
    {"general", "General", "All.", NULL, NULL, OPTION_CHANGES},
    {"sailing", "Sailing", "The boat.", "knots", NULL, OPTION_STAYS},
    {NULL, NULL, NULL, NULL, NULL, OPTION_CHANGES},
};

static const option_command commands[] = {
    {NULL, "sail", "cross the bay", "[PORT]", 0, 1, "general,sailing,*", ""},
    {NULL, "moor", "stay in port", "", 0, 0, "general", ""},
    {NULL, NULL, NULL, NULL, 0, 0, NULL, NULL},
};

static const option_foreign foreigns[] = {{"throttle", "there is no engine"}, {NULL, NULL}};
static const option_synonym synonyms[] = {{OPT_STYLE, "downwind,before-the-wind", "run"}, {OPTION_NONE, NULL, NULL}};
static const option_recipe_setting recipes[] = {{"race", OPT_SPEED, "12"}, {NULL, OPTION_NONE, NULL}};

static const option_table boats = {.number = 0,
                                   .rows = rows,
                                   .count = sizeof rows / sizeof *rows,
                                   .sections = sections,
                                   .commands = commands,
                                   .foreigns = foreigns,
                                   .synonyms = synonyms,
                                   .recipes = recipes};

/* ---- a kind: fishing ---- */

static const option_row fishing_rows[] = {
    {"NETS", "nets", "trawls", OPTION_INT, "fishing", "catch", "N", "1", 0, 8, "", "nets behind the boat"},
    {"DEPTH", "depth", "", OPTION_REAL, "sailing", "catch", "M", "10", 0, 100, "", "of the nets"},
};
static const option_section fishing_sections[] = {
    {"fishing", "Fishing", "The catch.", NULL, "sail", OPTION_DISTURBS},
    {"angling", "Angling", "With a rod.", NULL, "moor", OPTION_CHANGES},
    {NULL, NULL, NULL, NULL, NULL, OPTION_CHANGES},
};
static const option_command fishing_commands[] = {
    {NULL, "sort", "sort the catch", "", 0, 0, "general,fishing", ""},
    {NULL, NULL, NULL, NULL, 0, 0, NULL, NULL},
};
static const option_need fishing_needs[] = {{OPT_DEPTH, OPT_NETS, "1|2"}, {OPTION_NONE, OPTION_NONE, NULL}};
static const option_addition fishing_words[] = {
    {OPT_STYLE, "", "drift|reach", "fishing boats drift"},
    {OPT_MANNER, "", "haul", "haul: nets of fishing boats are full"},
    {OPTION_NONE, NULL, NULL, NULL},
};
static const option_recipe_setting fishing_recipes[] = {
    {"haul", OPT_SPEED, "3"}, {"haul", OPT_NETS, "4"}, {NULL, OPTION_NONE, NULL}};
static const option_foreign fishing_foreigns[] = {{"bait", "nets need no bait"}, {NULL, NULL}};

static const option_table fishing = {.number = FISHING,
                                     .traits = "catch|water",
                                     .rows = fishing_rows,
                                     .count = 2,
                                     .needs = fishing_needs,
                                     .sections = fishing_sections,
                                     .commands = fishing_commands,
                                     .additions = fishing_words,
                                     .recipes = fishing_recipes,
                                     .foreigns = fishing_foreigns};

/* ---- another: ferries ---- */

static const option_row ferry_rows[] = {
    {"CARS", "cars", "", OPTION_INT, "sailing", "freight", "N", "0", 0, 200, "", "cars on board"},
};
static const option_table ferry = {.number = FERRY, .traits = "freight|water", .rows = ferry_rows, .count = 1};

static bool is_argument(const option_command *command, const char *name)
{
    return strcmp(command->name, "sail") == 0 && strcmp(name, "port") == 0;
}

static option_id of_argument(const weft_options *options, const char *argument)
{
    (void)options;
    return argument[0] == '5' ? OPT_SPEED : OPTION_NONE;
}

static option_catalog catalog = {.recipe = OPT_MANNER, .is_argument = is_argument, .of_argument = of_argument};

static int assemble(void **state)
{
    static const option_table *const tables[] = {&boats, &fishing, &ferry};
    (void)state;
    return option_assemble(&catalog, tables, 3) == WEFT_OK && option_catalog_check(&catalog) == WEFT_OK ? 0 : -1;
}

/* ---- one table after the other ---- */

static void test_assembled(void **state)
{
    (void)state;
    const int own = (int)(sizeof rows / sizeof *rows);
    assert_int_equal(catalog.count, own + 3);
    assert_int_equal(option_place(&catalog, OPT_SPEED), OPT_SPEED);
    assert_int_equal(option_place(&catalog, OPT_DEPTH), own + 1);
    assert_int_equal(option_place(&catalog, OPT_CARS), own + 2);
    assert_int_equal(catalog.id[own + 2], OPT_CARS);
    assert_int_equal(option_place(&catalog, OPT_CARS + 1), -1);
    assert_int_equal(option_place(&catalog, OPTION_TABLE_FIRST(5)), -1);
    assert_int_equal(option_place(&catalog, OPTION_NONE), -1);
    assert_string_equal(option_row_at(&catalog, OPT_NETS)->name, "nets");
    assert_string_equal(catalog.commands[0].sections, "general,sailing,fishing");
    assert_string_equal(catalog.commands[1].sections, "general");
    assert_string_equal(catalog.commands[2].name, "sort");
    assert_int_equal(option_section_find(&catalog, "fishing")->change, OPTION_DISTURBS);
    assert_string_equal(option_row_at(&catalog, OPT_STYLE)->choices, "beat|reach|run|drift");
    assert_string_equal(option_row_at(&catalog, OPT_STYLE)->help, "point of sail; fishing boats drift");
    assert_string_equal(option_row_at(&catalog, OPT_MANNER)->choices, "calm|race|haul");
    assert_int_equal(catalog.needs[0].id, OPT_DEPTH);
    assert_null(catalog.needs[1].choices);
    assert_string_equal(rows[OPT_STYLE].choices, "beat|reach|run"); /* the table itself stays */
}

/* Assembles other tables into a catalogue that is thrown away. */
static void refuse_tables(const option_table *first, const option_table *second, const char *message)
{
    static option_catalog other;
    const option_table *const tables[] = {first, second};
    other = (option_catalog){.recipe = OPT_MANNER, .is_argument = is_argument, .of_argument = of_argument};
    weft_status status = option_assemble(&other, tables, 2);
    status = status == WEFT_OK ? option_catalog_check(&other) : status;
    assert_int_equal(status, WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE(message);
}

static void test_tables_that_do_not_fit(void **state)
{
    (void)state;
    static const option_row twice[] = {
        {"PACE", "pace", "", OPTION_INT, "sailing", "", "N", "1", 0, 8, "", "another speed"}};
    static const option_row alias[] = {
        {"HASTE", "haste", "speed", OPTION_INT, "sailing", "", "N", "1", 0, 8, "", "another speed"}};
    static const option_row nowhere[] = {{"ROWS", "rows", "", OPTION_INT, "rowing", "", "N", "1", 0, 8, "", "of oars"}};
    static const option_addition lost[] = {{OPT_CARS, "", "", "and lorries"}, {OPTION_NONE, NULL, NULL, NULL}};
    static const option_command homeless[] = {{NULL, "row", "by hand", "", 0, 0, "general,rowing", ""},
                                              {NULL, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    refuse_tables(&boats, &(option_table){.number = 0, .rows = twice, .count = 1}, "two tables have number 0");
    refuse_tables(&boats, &(option_table){.number = OPTION_TABLES_MAX, .rows = twice, .count = 1},
                  "numbers go from 0 to 15");
    refuse_tables(&boats, &(option_table){.number = 2, .rows = twice, .count = 1},
                  "weft sail: SPEED and PACE are both called --pace");
    refuse_tables(&boats, &(option_table){.number = 2, .rows = alias, .count = 1},
                  "weft sail: SPEED and HASTE are both called --speed");
    refuse_tables(&boats, &(option_table){.number = 2, .rows = nowhere, .count = 1}, "no command takes --rows");
    refuse_tables(&boats, &(option_table){.number = 2, .additions = lost}, "which there is not");
    refuse_tables(&boats, &(option_table){.number = 2, .commands = homeless},
                  "takes section rowing, which there is not");
    refuse_tables(&boats, &(option_table){.number = 2, .rows = twice, .count = OPTION_ROWS_MAX}, "at most 640");
}

static void test_whom_options_serve(void **state)
{
    (void)state;
    char text[OPTION_JOBS_MAX], range[OPTION_RANGE_MAX];
    const option_row *crew = option_row_at(&catalog, OPT_CREW), *nets = option_row_at(&catalog, OPT_NETS);
    assert_true(option_serves(nets, fishing.traits) && !option_serves(nets, ferry.traits));
    assert_true(option_serves(crew, fishing.traits) && option_serves(crew, ferry.traits));
    assert_true(option_serves(option_row_at(&catalog, OPT_SPEED), ""));
    assert_false(option_serves(crew, ""));
    assert_string_equal(option_jobs_text(crew, text), "freight or catch");
    option_describe_range(&catalog, nets, range);
    assert_string_equal(range, "default 1; 0 to 8; for catch");
    option_describe_range(&catalog, crew, range); /* both kinds have a use for it: nothing to say */
    assert_string_equal(range, "default 2; 1 to 9");
}

/* The options of a kind from every source, and on other ranks. */
static void test_options_of_a_kind(void **state)
{
    (void)state;
    weft_options *options = NULL, *copy = NULL;
    void *blob = NULL;
    size_t bytes = 0;
    static const char config[] = "[fishing]\nnets = 2\n[sailing]\ndepth = 7\ncars = 30\n[angling]\n";
    char *argv[] = {"sail", "--manner", "haul", "--depth=50", "--cars", "9", "--style", "drift"};
    ASSERT_OK(option_parse_arguments(&catalog.commands[0], 8, argv, &options));
    assert_int_equal(option_int(options, OPT_NETS), 4);
    assert_int_equal(option_source_of(options, OPT_NETS), OPTION_RECIPE);
    assert_int_equal(option_int(options, OPT_SPEED), 3);
    assert_int_equal(option_int(options, OPT_CARS), 9);
    assert_true(option_real(options, OPT_DEPTH) == 50);
    assert_int_equal(option_choice_index(options, OPT_STYLE), 3);
    ASSERT_OK(option_pack(options, &blob, &bytes));
    ASSERT_OK(option_unpack(&catalog, blob, bytes, &copy));
    for (int place = 0; place < option_count(options); place++) {
        const option_id id = option_at(options, place);
        assert_string_equal(option_value_text(copy, id), option_value_text(options, id));
        assert_int_equal(option_source_of(copy, id), option_source_of(options, id));
    }
    weft_free(blob);
    option_destroy(copy);
    option_destroy(options);
    ASSERT_OK(option_parse_config(&catalog.commands[0], "t.conf", config, sizeof config - 1, &options));
    assert_int_equal(option_int(options, OPT_NETS), 2);
    assert_int_equal(option_int(options, OPT_CARS), 30);
    option_destroy(options);
}

static char *printed(void (*print)(FILE *out, const void *of), const void *of)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    print(stream, of);
    fclose(stream);
    return text;
}

static void print_help(FILE *out, const void *of)
{
    option_print_help(out, of, NULL);
}

static void print_config(FILE *out, const void *of)
{
    option_print_config(out, of);
}

static void print_markdown(FILE *out, const void *of)
{
    option_print_markdown(of, out);
}

static void test_pages_of_a_kind(void **state)
{
    (void)state;
    weft_options *options = NULL;
    char *help = printed(print_help, &catalog.commands[0]);
    assert_non_null(strstr(help, "Fishing options [fishing]: The catch.\n  --nets N  "));
    assert_non_null(strstr(help, "(default 1; 0 to 8; for catch; also"));
    assert_non_null(strstr(help, "haul = --speed 3 --nets 4"));
    free(help);
    ASSERT_OK(option_create(&catalog.commands[0], &options));
    ASSERT_OK(option_assign(options, "nets", "5"));
    char *config = printed(print_config, options);
    assert_non_null(strstr(config, "\n[fishing]\n\n# nets behind the boat\n"
                                   "# N; default 1; 0 to 8; for catch; also trawls\nnets = 5\n"));
    option_destroy(options);
    free(config);
    char *markdown = printed(print_markdown, &catalog);
    assert_non_null(strstr(markdown, "\n## Fishing: section `fishing`\n\nThe catch. Used by `sail`, `sort`.\n"));
    assert_non_null(strstr(markdown, "| `--depth` | M | default 10; 0 to 100; for catch |  | of the nets |\n"));
    free(markdown);
}

static void test_values_and_recipe(void **state)
{
    (void)state;
    weft_options *options = NULL, *copy = NULL;
    void *blob = NULL;
    size_t bytes = 0;
    char *argv[] = {"sail", "Kiel", "--style", "run", "--manner=race"};
    ASSERT_OK(option_parse_arguments(&catalog.commands[0], 5, argv, &options));
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
    ASSERT_OK(option_parse_arguments(&catalog.commands[0], 5, argv, &options));
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
    ASSERT_STATUS(option_parse_arguments(&catalog.commands[0], 3, argv, &options), WEFT_ERR_USAGE);
    ASSERT_MESSAGE(message);
}

static void test_refusals_speak_of_the_catalogue(void **state)
{
    (void)state;
    check_refused("--throttle", "there is no engine");
    check_refused("--bait", "nets need no bait");
    check_refused("--netts", "did you mean --nets?");
    check_refused("--spede", "did you mean --speed?");
    check_refused("--port", "takes it as an argument");
    check_refused("--speed=41", "between 0 and 40");
    check_refused("--manner=downwind", "must be one of calm, race, haul");
    check_refused("5kn", "did you mean --speed 5kn?");
    check_refused("style", "did you mean --style?");
    ASSERT_OK(option_check_topic(&catalog.commands[0], "knots"));
    ASSERT_STATUS(option_check_topic(&catalog.commands[0], "formats"), WEFT_ERR_USAGE);
}

/* What a program of other tables packed is refused, not misread. */
static void test_tables_must_be_the_same(void **state)
{
    (void)state;
    static option_catalog fewer;
    static const option_table *const tables[] = {&boats, &fishing};
    weft_options *options = NULL, *received = NULL;
    void *blob = NULL;
    size_t bytes = 0;
    fewer = (option_catalog){.recipe = OPT_MANNER, .is_argument = is_argument, .of_argument = of_argument};
    ASSERT_OK(option_assemble(&fewer, tables, 2));
    ASSERT_OK(option_create(&catalog.commands[0], &options));
    ASSERT_OK(option_pack(options, &blob, &bytes));
    ASSERT_STATUS(option_unpack(&fewer, blob, bytes, &received), WEFT_ERR_LAUNCH);
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
        for (int place = 0; place < catalog.count; place++) {
            if (strchr(catalog.rows[place].name, '-') == NULL) { /* man pages write minus signs */
                assert_non_null(strstr(text, catalog.rows[place].name));
            }
        }
        assert_null(strstr(text, "hidden-channels"));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assembled),
        cmocka_unit_test(test_tables_that_do_not_fit),
        cmocka_unit_test(test_whom_options_serve),
        cmocka_unit_test(test_options_of_a_kind),
        cmocka_unit_test(test_pages_of_a_kind),
        cmocka_unit_test(test_values_and_recipe),
        cmocka_unit_test(test_words_for_choices),
        cmocka_unit_test(test_refusals_speak_of_the_catalogue),
        cmocka_unit_test(test_tables_must_be_the_same),
        cmocka_unit_test(test_pages_hold_every_row),
    };
    return cmocka_run_group_tests(tests, assemble, NULL);
}
