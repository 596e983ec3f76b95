/* Every choice of --model belongs to a kind of workload, and a workload that never began can be ended. */
#include <string.h>

#include "app/workload/workload.h"
#include "support/test.h"

static void test_every_model_has_a_workload(void **state)
{
    (void)state;
    const option_command *train = NULL;
    weft_options *options = NULL;
    char choices[256];
    char *rest = choices;
    int count = 0;
    ASSERT_OK(option_command_find(&app_catalog, "train", &train));
    ASSERT_OK(option_create(train, &options));
    snprintf(choices, sizeof choices, "%s", option_row_of(OPT_MODEL)->choices);
    for (const char *name = strsep(&rest, "|"); name != NULL; name = strsep(&rest, "|")) {
        ASSERT_OK(option_assign(options, "model", name));
        const workload_ops *ops = workload_of(options);
        assert_non_null(ops);
        assert_non_null(ops->data);
        assert_non_null(ops->rows);
        ++count;
    }
    assert_true(count >= 3);
    option_destroy(options);
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
        cmocka_unit_test(test_nothing_to_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
