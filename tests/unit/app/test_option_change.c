/* What another value of an option means to a resumed run, by kind of workload, and which options later fits on open
 * data keep. */
#include "app/train/option_change.h"
#include "app/workload/app_catalog.h"
#include "support/test.h"

static const workload_ops *kind_of(const char *data)
{
    for (int i = 0; workload_list[i] != NULL; ++i) {
        if (strcmp(workload_list[i]->data, data) == 0) {
            return workload_list[i];
        }
    }
    return NULL;
}

static weft_options *new_options(const char *name, const char *text)
{
    const option_command *train = NULL;
    weft_options *options = NULL;
    ASSERT_OK(option_command_find(app_catalog(), "train", &train));
    ASSERT_OK(option_create(train, &options));
    if (name != NULL) {
        ASSERT_OK(option_assign(options, name, text));
    }
    return options;
}

static option_id id_of(const char *name)
{
    option_id id = OPTION_NONE;
    weft_options *options = new_options(NULL, NULL);
    ASSERT_OK(option_lookup(options, name, &id));
    option_destroy(options);
    return id;
}

#define FREE    OPTION_CHANGES
#define NAMED   OPTION_DISTURBS
#define REFUSED OPTION_STAYS

static void test_resumed(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        option_change graphs, images;
    } known[] = {
        {"lr", REFUSED, REFUSED},        {"seed", REFUSED, REFUSED},
        {"model", REFUSED, REFUSED},     {"optimizer", REFUSED, REFUSED},
        {"normalize", REFUSED, FREE},    {"split-index", REFUSED, FREE},
        {"hidden", REFUSED, FREE},       {"dropout", REFUSED, FREE},
        {"batch-size", FREE, REFUSED},   {"augment", FREE, REFUSED},
        {"valid-images", FREE, REFUSED}, {"cache-memory", FREE, FREE},
        {"loader-threads", FREE, FREE},  {"network", FREE, FREE},
        {"gpu-direct", FREE, FREE},      {"partition", NAMED, FREE},
        {"balance", NAMED, FREE},        {"spmm", NAMED, FREE},
        {"sync", NAMED, NAMED},          {"allreduce", NAMED, NAMED},
        {"backend", NAMED, NAMED},       {"gradient-tracking", FREE, FREE},
        {"calibrate", FREE, FREE},       {"stall-timeout", FREE, FREE},
        {"recipe", FREE, FREE},          {"run-dir", FREE, FREE},
        {"max-hours", FREE, FREE},       {"checkpoint-every", FREE, FREE},
        {"threads", FREE, FREE},         {"data", FREE, FREE},
    };
    int wrong = 0;
    weft_options *options = new_options(NULL, NULL);
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        const option_id id = id_of(known[i].name);
        if (option_change_of(kind_of("graph"), options, id) != known[i].graphs ||
            option_change_of(kind_of("images"), options, id) != known[i].images) {
            print_error("--%s\n", known[i].name);
            wrong += 1;
        }
    }
    option_destroy(options);
    assert_int_equal(wrong, 0);
}

/* "": another value is fine. */
static const char *refused_by(const char *kind, const char *name, const char *text)
{
    weft_options *asked = new_options(NULL, NULL);
    weft_options *next = new_options(name, text);
    const app_context context = {.options = asked};
    const workload work = {.ops = kind_of(kind), .context = &context, .name = "data"};
    weft_error_clear();
    const weft_status status = option_check_refit(&work, asked, next);
    assert_true(status == WEFT_OK || status == WEFT_ERR_USAGE);
    option_destroy(asked);
    option_destroy(next);
    return weft_error_message();
}

static void test_refit(void **state)
{
    (void)state;
    static const char *const kept[][2] = {{"data", "other"},      {"normalize", "row"},   {"partition", "libra"},
                                          {"balance", "1.2"},     {"threads", "3"},       {"backend", "ref"},
                                          {"stall-timeout", "9"}, {"calibrate", "never"}, {"reorder", "cluster"}};
    static const char *const changed[][2] = {{"lr", "0.5"},    {"hidden", "8"}, {"seed", "9"},    {"model", "gat"},
                                             {"epochs", "3"},  {"runs", "2"},   {"run-dir", "x"}, {"sync", "topk"},
                                             {"spmm", "rows"}, {"force", "on"}, {"resume", "on"}, {"max-hours", "1"},
                                             {"lr", "1e-2"}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; ++i) {
        char flag[64];
        snprintf(flag, sizeof flag, "--%s %s", kept[i][0], kept[i][1]);
        assert_non_null(strstr(refused_by("graph", kept[i][0], kept[i][1]), flag));
    }
    for (size_t i = 0; i < sizeof changed / sizeof *changed; ++i) {
        assert_string_equal(refused_by("graph", changed[i][0], changed[i][1]), "");
    }
    assert_non_null(strstr(refused_by("images", "valid-images", "5"), "--valid-images 5"));
    assert_non_null(strstr(refused_by("images", "image-size", "8"), "--image-size 8"));
    assert_string_equal(refused_by("images", "batch-size", "8"), "");
}

/* Images that are set apart for validation are drawn by the seed: another seed is other data. */
static void test_seed_of_images(void **state)
{
    (void)state;
    weft_options *asked = new_options("valid-images", "5");
    weft_options *next = new_options("valid-images", "5");
    const app_context context = {.options = asked};
    const workload work = {.ops = kind_of("images"), .context = &context, .name = "data"};
    ASSERT_OK(option_check_refit(&work, asked, next));
    ASSERT_OK(option_assign(next, "seed", "9"));
    assert_int_equal(option_check_refit(&work, asked, next), WEFT_ERR_USAGE);
    assert_non_null(strstr(weft_error_message(), "--seed 9"));
    option_destroy(asked);
    option_destroy(next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_refit),
        cmocka_unit_test(test_seed_of_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
