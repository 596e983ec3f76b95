/*
 * A program of other kinds of work: its workload_list has cakes and pies, and nothing of graphs or images. The
 * catalogue, the choice of the kind and the closing table follow from the two tables; a model of one kind and data of
 * the other are refused, and so are data that both are certain of.
 */
#include <string.h>
#include <unistd.h>

#include "app/activity/activity_table.h"
#include "app/options/app_options.h"
#include "app/workload/app_catalog.h"
#include "app/workload/workload.h"
#include "base/log.h"
#include "comm/comm.h"
#include "support/test.h"
#include "train/activities.h"

enum { CAKES = 1, PIES = 9 };
enum { OPT_EGGS = OPTION_TABLE_FIRST(CAKES) };
enum { OPT_CRUST = OPTION_TABLE_FIRST(PIES), OPT_APPLES };

static const option_row cake_rows[] = {
    {"EGGS", "eggs", "", OPTION_INT, "cakes", "cakes", "N", "3", 0, 12, "", "in the dough"}};
static const option_row pie_rows[] = {
    {"CRUST", "crust", "", OPTION_CHOICE, "model", "pies|tarts", "", "thick", 0, 0, "thick|thin", "around the pie"},
    {"APPLES", "apples", "", OPTION_INT, "data", "pies", "N", "5", 1, 99, "", "in the pie"}};
static const option_section cake_sections[] = {{"cakes", "Cakes", "The dough.", NULL, "train,eval", OPTION_STAYS},
                                               {NULL, NULL, NULL, NULL, NULL, OPTION_CHANGES}};
static const option_addition cake_words[] = {{OPT_MODEL, "", "sponge|filled", "cakes: sponge or filled"},
                                             {OPTION_NONE, NULL, NULL, NULL}};
static const option_addition pie_words[] = {{OPT_MODEL, "", "apple|filled", "pies: apple or filled"},
                                            {OPT_RECIPE, "", "grandmother", "pies: grandmother is a thin one"},
                                            {OPTION_NONE, NULL, NULL, NULL}};
static const option_recipe_setting pie_recipes[] = {
    {"grandmother", OPT_CRUST, "thin"}, {"grandmother", OPT_LR, "0.5"}, {NULL, OPTION_NONE, NULL}};

static const option_table cake_table = {.number = CAKES,
                                        .traits = "cakes|batches",
                                        .rows = cake_rows,
                                        .count = 1,
                                        .sections = cake_sections,
                                        .additions = cake_words};
static const option_table pie_table = {.number = PIES,
                                       .traits = "pies|gradients",
                                       .rows = pie_rows,
                                       .count = 2,
                                       .additions = pie_words,
                                       .recipes = pie_recipes};

/* "auto" is possible, words of `own` are certain; of data a text that has the word in it. */
static workload_claims claims_of(const weft_options *options, const char *own, const char *data)
{
    const char *model = option_text(options, OPT_MODEL);
    return (workload_claims){.model = strcmp(model, "auto") == 0         ? CLAIM_POSSIBLE
                                      : option_list_has(own, '|', model) ? CLAIM_CERTAIN
                                                                         : CLAIM_NO,
                             .data = strstr(option_text(options, OPT_DATA), data) != NULL ? CLAIM_CERTAIN : CLAIM_NO};
}

static workload_claims cake_claims(const weft_options *options)
{
    return claims_of(options, "sponge|filled", "flour");
}

static workload_claims pie_claims(const weft_options *options)
{
    workload_claims claims = claims_of(options, "apple|filled", "fruit");
    if (strstr(option_text(options, OPT_DATA), "fruti") != NULL) { /* misspelt, perhaps */
        claims.data = CLAIM_POSSIBLE;
    }
    return claims;
}

static const weft_activity ACTIVITY_KNEAD[1] = {{.text = "knead", .kind = ACTIVITY_COMPUTES}};
static const workload_activity cake_activities[] = {{ACTIVITY_KNEAD, "knead", 65}, {NULL, NULL, 0}};
static const option_id none[] = {OPTION_NONE};

static const workload_ops cakes = {.options = &cake_table,
                                   .claims = cake_claims,
                                   .activities = cake_activities,
                                   .recorded = none,
                                   .inputs = none,
                                   .resumable = none,
                                   .data = "cake",
                                   .field = "cakes"};
static const workload_ops pies = {.options = &pie_table,
                                  .claims = pie_claims,
                                  .recorded = none,
                                  .inputs = none,
                                  .resumable = none,
                                  .data = "pie",
                                  .field = "pies"};

/* Listed against the order of their tables: help goes by the numbers, jobs that nobody claims are of the last. */
const workload_ops *const workload_list[] = {&pies, &cakes, NULL};

static weft_options *options_of(const char *model, const char *data)
{
    const option_command *train = NULL;
    weft_options *options = NULL;
    ASSERT_OK(option_command_find(app_catalog(), "train", &train));
    ASSERT_OK(option_create(train, &options));
    ASSERT_OK(option_assign(options, "model", model));
    ASSERT_OK(option_assign(options, "data", data));
    return options;
}

static void test_catalogue(void **state)
{
    (void)state;
    const option_catalog *catalog = app_catalog();
    const option_command *command = NULL;
    ASSERT_OK(option_catalog_check(catalog));
    assert_ptr_equal(app_catalog(), catalog);
    assert_int_equal(option_find_any(catalog, "eggs"), OPT_EGGS);
    assert_int_equal(option_find_any(catalog, "crust"), OPT_CRUST);
    assert_int_equal(option_find_any(catalog, "hidden"), OPTION_NONE);
    assert_int_equal(option_find_any(catalog, "image-size"), OPTION_NONE);
    assert_string_equal(option_row_at(catalog, OPT_MODEL)->choices, "auto|sponge|filled|apple");
    assert_string_equal(option_row_at(catalog, OPT_RECIPE)->choices, "auto|default|grandmother");
    ASSERT_STATUS(option_command_find(catalog, "partition", &command), WEFT_ERR_USAGE);
    ASSERT_OK(option_command_find(catalog, "eval", &command));
    assert_true(option_applies(command, OPT_EGGS) && option_applies(command, OPT_CRUST));
    ASSERT_OK(option_command_find(catalog, "bench", &command));
    assert_false(option_applies(command, OPT_EGGS));
    assert_int_equal(catalog->kinds, 2);
    assert_string_equal(catalog->traits[0], "cakes|batches");
}

static void test_recipe_of_a_kind(void **state)
{
    (void)state;
    weft_options *options = options_of("apple", "fruit");
    ASSERT_OK(option_assign(options, "recipe", "grandmother"));
    assert_string_equal(option_text(options, OPT_CRUST), "thin");
    assert_true(option_real(options, OPT_LR) == 0.5);
    option_destroy(options);
}

/* The surest claim of the model counts, then that of the data, then the place in the list. */
static void test_kind_of_a_job(void **state)
{
    (void)state;
    static const struct {
        const char *model, *data;
        const workload_ops *kind;
        weft_status begun;
        const char *message;
    } cases[] = {
        {"auto", "fruit", &pies, WEFT_OK, ""},
        {"auto", "flour", &cakes, WEFT_OK, ""},
        {"filled", "fruit", &pies, WEFT_OK, ""},
        {"filled", "flour", &cakes, WEFT_OK, ""},
        {"apple", "sand", &pies, WEFT_OK, ""},
        {"auto", "sand", &cakes, WEFT_OK, ""},
        {"apple", "fruit-flour", &pies, WEFT_OK, ""},
        {"sponge", "fruit-flour", &cakes, WEFT_OK, ""},
        {"sponge", "fruit", &cakes, WEFT_ERR_USAGE,
         "--data fruit is for networks on pies, and --model sponge is one on cakes"},
        {"auto", "fruti", &pies, WEFT_OK, ""},
        {"apple", "fruti", &pies, WEFT_OK, ""},
        {"sponge", "fruti", &cakes, WEFT_ERR_USAGE,
         "--data fruti is for networks on pies, and --model sponge is one on cakes"},
        {"apple", "fruti-flour", &pies, WEFT_ERR_USAGE,
         "--data fruti-flour is for networks on cakes, and --model apple is one on pies"},
        {"auto", "fruit-flour", &cakes, WEFT_ERR_USAGE,
         "--data fruit-flour is data for networks on pies and for networks on cakes: name the network by --model"},
        {"filled", "fruit-flour", &cakes, WEFT_ERR_USAGE, "name the network by --model, one that only one of them has"},
    };
    weft_comm *comm = NULL;
    ASSERT_OK(comm_create_self(&comm));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        weft_options *options = options_of(cases[i].model, cases[i].data);
        const app_context context = {.comm = comm, .options = options};
        workload work;
        assert_ptr_equal(workload_of(options), cases[i].kind);
        ASSERT_STATUS(workload_begin(cases[i].kind, &context, &work), cases[i].begun);
        if (cases[i].begun != WEFT_OK) {
            ASSERT_MESSAGE(cases[i].message);
        }
        workload_end(&work);
        option_destroy(options);
    }
    comm_destroy(comm);
}

/* Options that serve no job of the kind are named with the jobs that they are for. */
static void test_options_without_use(void **state)
{
    (void)state;
    char line[1024] = "";
    weft_options *options = options_of("auto", "flour");
    FILE *stream = tmpfile();
    assert_non_null(stream);
    ASSERT_OK(option_assign(options, "apples", "9"));
    ASSERT_OK(option_assign(options, "crust", "thin"));
    ASSERT_OK(option_assign(options, "eggs", "4"));
    ASSERT_OK(option_assign(options, "batch-size", "32"));
    ASSERT_OK(option_assign(options, "lr", "0.2"));
    const int before = dup(STDERR_FILENO);
    dup2(fileno(stream), STDERR_FILENO);
    option_warn_unserved(options, cakes.options->traits, cakes.field);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(stream);
    assert_true(fread(line, 1, sizeof line - 1, stream) > 0);
    fclose(stream);
    assert_non_null(strstr(line, "--lr 0.2 (program) has no effect on cakes: it is for gradients"));
    assert_non_null(strstr(line, "--apples 9 (program) has no effect on cakes: it is for pies"));
    assert_non_null(strstr(line, "--crust thin (program) has no effect on cakes: it is for pies or tarts"));
    assert_null(strstr(line, "--eggs"));
    assert_null(strstr(line, "--batch-size"));
    option_destroy(options);
}

static void test_closing_table(void **state)
{
    (void)state;
    const int knead = activity_table_row(ACTIVITY_KNEAD);
    assert_int_equal(activity_table_rows(), 14); /* those of every job, and one */
    assert_int_equal(knead, activity_table_row(ACTIVITY_LINEAR) + 1);
    assert_string_equal(activity_table()[knead].colour, "knead");
    assert_true(activity_table()[knead].of_kind && !activity_table()[knead - 1].of_kind);
    for (int a = 1; a < activity_table_rows(); ++a) {
        assert_true(activity_table()[a].place > activity_table()[a - 1].place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catalogue),     cmocka_unit_test(test_recipe_of_a_kind),
        cmocka_unit_test(test_kind_of_a_job), cmocka_unit_test(test_options_without_use),
        cmocka_unit_test(test_closing_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
