/* Models of every kind find their workload, and a workload that never began can be ended. */
#include <string.h>

#include "app/workload/workload.h"
#include "dense/net/zoo.h"
#include "gnn/layers/layer_plan.h"
#include "support/options.h"
#include "support/test.h"

static void test_every_model_has_a_workload(void **state)
{
    (void)state;
    static const struct {
        const char *model, *data, *kind;
    } known[] = {
        {"auto", "g.weft", "graph"},        {"sage", "g.weft", "graph"},       {"gcn", "g.weft", "graph"},
        {"mlp", "g.weft", "graph"},         {"auto", "synth:reddit", "graph"}, {"auto", "synth:images", "images"},
        {"mlp", "synth:images", "images"},  {"lenet", "folder", "images"},     {"resnet-50", "folder", "images"},
        {"own/my.net", "folder", "images"}, {"trees", "t.csv", "tables"},      {"deepfm", "t.csv", "clicks"},
        {"lr", "t.weft", "clicks"},
    };
    const option_command *train = NULL;
    ASSERT_OK(option_command_find(app_catalog(), "train", &train));
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        weft_options *options = NULL;
        ASSERT_OK(option_create(train, &options));
        ASSERT_OK(option_assign(options, "model", known[i].model));
        ASSERT_OK(option_assign(options, "data", known[i].data));
        assert_string_equal(workload_of(options)->data, known[i].kind);
        option_destroy(options);
    }
}

#define WORD_OF(value, word) word,

/* The words of --model are those of the kinds, and no others. */
static void test_models_are_known(void **state)
{
    (void)state;
    static const char *const others[] = {"auto", "trees", CLICK_MODELS(WORD_OF) GNN_KINDS(WORD_OF)};
    const char *words = option_row_of(OPT_MODEL)->choices;
    const char *cursor = words;
    char word[OPTION_WORD_MAX];
    while (option_list_next(&cursor, '|', word)) {
        bool known = net_zoo_has(word);
        for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
            known = known || strcmp(others[i], word) == 0;
        }
        if (!known) {
            fail_msg("--model %s: nobody knows it", word);
        }
    }
    for (int i = 0; net_zoo_name(i) != NULL; ++i) {
        assert_true(option_list_has(words, '|', net_zoo_name(i)));
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
        assert_true(option_list_has(words, '|', others[i]));
    }
}

static void test_nothing_to_end(void **state)
{
    (void)state;
    workload work = {.ops = NULL};
    workload_abandon(&work);
    workload_end(&work);
    assert_null(work.self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_model_has_a_workload),
        cmocka_unit_test(test_models_are_known),
        cmocka_unit_test(test_nothing_to_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
