/* Classes of a model and of other data: by name, by number where names are missing, and what is refused. */
#include "app/workload/class_match.h"
#include "base/alloc.h"
#include "base/log.h"
#include "support/test.h"

enum { MOST = 8 };

static const char *const abc[] = {"a", "b", "c"};

/* Each class of the data has one row. [out] class_of */
static weft_status match(const char *const *model, int64_t models, const char *const *data, int64_t datas,
                         int32_t class_of[MOST], int64_t *known)
{
    static const int64_t rows[MOST] = {1, 1, 1, 1, 1, 1, 1, 1};
    return class_match(&(class_side){"model", model, models}, &(class_side){"data", data, datas}, rows, "images",
                       class_of, known);
}

static void test_by_name(void **state)
{
    static const char *const others[] = {"c", "0new", "a"};
    static const char *const few[] = {"b"};
    static const char *const spelled[] = {"caf\xc3\xa9", "tea"};
    static const char *const decomposed[] = {"tea", "cafe\xcc\x81"};
    int32_t class_of[MOST];
    int64_t known;
    (void)state;
    ASSERT_OK(match(abc, 3, others, 3, class_of, &known));
    assert_int_equal(known, 2);
    assert_int_equal(class_of[0], 2);
    assert_int_equal(class_of[1], -1);
    assert_int_equal(class_of[2], 0);
    ASSERT_OK(match(abc, 3, few, 1, class_of, &known));
    assert_int_equal(class_of[0], 1);
    ASSERT_OK(match(spelled, 2, decomposed, 2, class_of, &known));
    assert_int_equal(class_of[0], 1);
    assert_int_equal(class_of[1], 0);
    ASSERT_OK(match(abc, 3, spelled, 2, class_of, &known));
    assert_int_equal(known, 0);
}

static void test_by_number(void **state)
{
    static const char *const words[] = {"x", "y", "z"};
    static const char *const twice[] = {"x", "x", ""};
    int32_t class_of[MOST];
    int64_t known;
    (void)state;
    ASSERT_OK(match(NULL, 3, NULL, 2, class_of, &known)); /* fewer than the model has */
    assert_int_equal(known, 2);
    assert_int_equal(class_of[1], 1);
    ASSERT_STATUS(match(NULL, 3, NULL, 4, class_of, &known), WEFT_ERR_DATA);
    ASSERT_MESSAGE("model: answers with 3 classes or tasks, and data has 4");
    ASSERT_OK(match(abc, 3, NULL, 2, class_of, &known));
    assert_int_equal(class_of[1], 1);
    ASSERT_OK(match(NULL, 3, words, 3, class_of, &known));
    assert_int_equal(class_of[2], 2);
    ASSERT_OK(match(abc, 3, twice, 3, class_of, &known)); /* names that tell nothing apart are none */
    assert_int_equal(class_of[2], 2);
    ASSERT_STATUS(match(NULL, 3, words, 2, class_of, &known), WEFT_ERR_DATA);
    ASSERT_MESSAGE("which is which?");
}

/* A class without a name is called by its number. */
static void test_names_that_are_numbers(void **state)
{
    static const char *const from_one[] = {"1", "2", "3"};
    static const char *const digits[] = {"0", "2"};
    static const char *const padded[] = {"00", "01", "02"};
    int32_t class_of[MOST];
    const int64_t rows[MOST] = {0, 5, 5, 0};
    int64_t known;
    (void)state;
    ASSERT_OK(class_match(&(class_side){"model", from_one, 3}, &(class_side){"data", NULL, 3}, rows, "images", class_of,
                          &known));
    assert_int_equal(known, 10);
    assert_int_equal(class_of[1], 0);
    assert_int_equal(class_of[2], 1);
    ASSERT_OK(match(NULL, 3, digits, 2, class_of, &known));
    assert_int_equal(class_of[0], 0);
    assert_int_equal(class_of[1], 2);
    ASSERT_OK(match(from_one, 3, NULL, 3, class_of, &known)); /* 0 is none of them: they count from elsewhere */
    assert_int_equal(class_of[0], 0);
    ASSERT_OK(match(padded, 3, NULL, 3, class_of, &known));
    assert_int_equal(class_of[2], 2);
}

static void test_training_starts_from_the_same_classes(void **state)
{
    static const char *const turned[] = {"b", "a", "c"};
    static const char *const others[] = {"x", "y", "z"};
    const class_side model = {"model", abc, 3};
    (void)state;
    ASSERT_OK(class_match_check_start(&model, &(class_side){"data", abc, 3}));
    ASSERT_OK(class_match_check_start(&model, &(class_side){"data", others, 3}));
    ASSERT_OK(class_match_check_start(&model, &(class_side){"data", NULL, 3}));
    ASSERT_STATUS(class_match_check_start(&model, &(class_side){"data", turned, 3}), WEFT_ERR_DATA);
    ASSERT_MESSAGE("model: class 1 is b, which has number 0 in data");
}

static void test_lists_are_cut(void **state)
{
    const char *many[400];
    char text[CLASS_LIST_BYTES];
    (void)state;
    for (int i = 0; i < 400; ++i) {
        many[i] = "some name";
    }
    assert_string_equal(class_side_list(&(class_side){"model", abc, 3}, text), "a, b, c");
    assert_string_equal(class_side_list(&(class_side){"model", NULL, 2}, text), "0, 1");
    class_side_list(&(class_side){"model", many, 400}, text);
    assert_true(strlen(text) < CLASS_LIST_BYTES && strcmp(text + strlen(text) - 5, ", ...") == 0);
    assert_false(class_side_is_named(&(class_side){"model", many, 400}));
}

static void test_every_allocation_may_fail(void **state)
{
    static const char *const others[] = {"c", "0new", "a"};
    int32_t class_of[MOST];
    int64_t known;
    weft_status status = WEFT_ERR_RESOURCE;
    (void)state;
    for (uint64_t n = 1; status == WEFT_ERR_RESOURCE || n < 20; ++n) {
        weft_alloc_fail_after(n);
        status = match(abc, 3, others, 3, class_of, &known);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        assert_int_equal(weft_mem_usage_total().current_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_name),
                                       cmocka_unit_test(test_by_number),
                                       cmocka_unit_test(test_names_that_are_numbers),
                                       cmocka_unit_test(test_training_starts_from_the_same_classes),
                                       cmocka_unit_test(test_lists_are_cut),
                                       cmocka_unit_test(test_every_allocation_may_fail)};
    log_set_level(LOG_QUIET);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
