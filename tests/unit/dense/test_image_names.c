/* What names say of an image: its split and class, or that it is none. */
#include "dense/data/image_set.h"
#include "dense/data/names/image_names.h"
#include "support/test.h"

static void assert_says(const char *name, bool rooted, int split, const char *class)
{
    image_words words;
    if (class == NULL) {
        assert_false(image_name_in_split(name, rooted, &words));
        return;
    }
    assert_true(image_name_in_split(name, rooted, &words));
    assert_int_equal(words.split, split);
    assert_int_equal(words.class_bytes, strlen(class));
    assert_memory_equal(words.class, class, strlen(class));
}

static void test_splits_and_classes(void **state)
{
    (void)state;
    assert_says("train/bee/1.png", true, IMAGE_TRAIN, "bee");
    assert_says("Training/bee/1.png", true, IMAGE_TRAIN, "bee");
    assert_says("VAL/bee/wings/left/1.png", true, IMAGE_VALID, "bee");
    assert_says("validation/bee/1.png", true, IMAGE_VALID, "bee");
    assert_says("testing/bee/1.png", true, IMAGE_TEST, "bee");
    assert_says("train/test/val/1.png", true, IMAGE_TRAIN, "test"); /* of a folder the place tells */
    assert_says("dev/bee/1.png", true, -1, NULL);
    assert_says("train/1.png", true, -1, NULL);
    assert_says("./data/../set/train/bee/1.png", false, IMAGE_TRAIN, "bee");
    assert_says("home/test/set/train/bee/1.png", false, IMAGE_TRAIN, "bee");
    assert_says("set/train/test/1.png", false, IMAGE_TRAIN, "test"); /* no class would be left below test */
    assert_says("set/train/bee/images/1.png", false, IMAGE_TRAIN, "bee");
    assert_says("train/bee/../1.png", false, -1, NULL);
    assert_says("train/.cache/1.png", false, -1, NULL);
    assert_says("train/__MACOSX/1.png", false, -1, NULL);
    assert_says("train//1.png", false, -1, NULL);
    assert_says("", false, -1, NULL);
}

static void test_classes_alone(void **state)
{
    image_words words;
    (void)state;
    assert_true(image_name_in_class("set/bee/images/1.png", 4, &words));
    assert_int_equal(words.split, IMAGE_TRAIN);
    assert_int_equal(words.class_bytes, 3);
    assert_false(image_name_in_class("set/1.png", 4, &words));
    assert_false(image_name_in_class("set/../1.png", 4, &words));
}

static void test_words_that_were_meant(void **state)
{
    static const struct {
        const char *word, *meant;
    } known[] = {{"dev", "val"},      {"Eval", "val or test"}, {"tset", "test"},
                 {"trian", "train"},  {"train2017", "train"},  {"test_images", "test"},
                 {"holdout", "test"}, {"annotations", NULL},   {"cats", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        const char *meant = image_word_meant(known[i].word, strlen(known[i].word));
        if (known[i].meant == NULL) {
            assert_null(meant);
        } else {
            assert_string_equal(meant, known[i].meant);
        }
    }
}

static void test_kinds_of_files(void **state)
{
    (void)state;
    assert_true(image_name_is_read("a/b.JPEG"));
    assert_false(image_name_is_read("a/.png"));
    assert_string_equal(image_name_foreign("a/b.WebP"), ".webp");
    assert_string_equal(image_name_foreign("b.tif"), ".tif");
    assert_null(image_name_foreign("a/b.png"));
    assert_null(image_name_foreign("a.bmp/b"));
    assert_true(image_name_lies_beside("train/a/README"));
    assert_true(image_name_lies_beside("a/.git/x"));
    assert_false(image_name_lies_beside("a/x.webp"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_splits_and_classes), cmocka_unit_test(test_classes_alone),
                                       cmocka_unit_test(test_words_that_were_meant),
                                       cmocka_unit_test(test_kinds_of_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
