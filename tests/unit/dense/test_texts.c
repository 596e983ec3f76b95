/*
 * Words of texts, their numbers, and tables of texts as samples: words against lists that are written out, the order of
 * a vocabulary, what is cut, empty or no UTF-8, splits, classes of words and of numbers, a trained model's words.
 */
#include <stdio.h>
#include <unistd.h>

#include "comm/comm.h"
#include "dense/data/texts/text_set.h"
#include "dense/data/texts/text_words.h"
#include "dense/data/texts/vocabulary.h"
#include "support/test.h"

static void check_words(const char *text, size_t bytes, const char *wanted, int64_t malformed)
{
    char found[512] = "";
    text_scan scan = text_scan_of(text, bytes);
    while (text_next(&scan)) {
        const size_t used = strlen(found);
        snprintf(found + used, sizeof found - used, "[%s]", scan.bytes > 0 ? scan.word : "LONG");
    }
    assert_string_equal(found, wanted);
    assert_int_equal(scan.malformed, malformed);
}

static void test_words(void **state)
{
    (void)state;
    char longest[TEXT_WORD_MAX + 1], wanted[TEXT_WORD_MAX + 3];
    memset(longest, 'x', sizeof longest);
    check_words("Don't panic, it's 2026!", 23, "[don't][panic][it's][2026]", 0);
    check_words("'a' b'' c", 9, "[a][b][c]", 0);
    check_words("  ", 2, "", 0);
    check_words("", 0, "", 0);
    check_words("na\xc3\xafve caf\xc3\xa9s\xe2\x80\x94one", 20, "[na\xc3\xafve][caf\xc3\xa9s][one]", 0);
    check_words("a\xff\x62 \xc3", 5, "[a][b]", 2); /* a byte that is none, and half a letter */
    check_words("a\0b", 3, "[a][b]", 0);
    /* A smile, the euro, an arrow, a product, a wide exclamation mark and a heart with its selector stand apart. */
    const char *const signs = "a\xf0\x9f\x98\x80"
                              "b\xe2\x82\xac"
                              "c\xe2\x86\x92"
                              "d\xc3\x97"
                              "e\xef\xbc\x81"
                              "f\xe2\x9d\xa4\xef\xb8\x8f";
    check_words(signs, strlen(signs), "[a][b][c][d][e][f]", 0);
    /* An o with a stroke, a Greek word, one of Hindi with its marks, and letters of East Asia are words. */
    const char *const letters =
        "\xc3\xb8 \xce\xbb\xcf\x8c \xe0\xa4\xb9\xe0\xa4\xbf \xef\xbd\x81 \xe4\xba\xba\xe3\x80\x85";
    check_words(letters, strlen(letters),
                "[\xc3\xb8][\xce\xbb\xcf\x8c][\xe0\xa4\xb9\xe0\xa4\xbf][\xef\xbd\x81][\xe4\xba\xba\xe3\x80\x85]", 0);
    check_words("snake_case x-y", 14, "[snake_case][x][y]", 0);
    snprintf(wanted, sizeof wanted, "[%.*s]", TEXT_WORD_MAX, longest);
    check_words(longest, TEXT_WORD_MAX, wanted, 0);
    check_words(longest, TEXT_WORD_MAX + 1, "[LONG]", 0);
}

static void test_vocabulary(void **state)
{
    (void)state;
    vocabulary *v = NULL, *again = NULL;
    vocabulary_found found;
    char *text = NULL;
    int32_t id[3];
    ASSERT_OK(vocabulary_create(&v));
    ASSERT_OK(vocabulary_learn(v, "b a b c", 7, 2));
    ASSERT_OK(vocabulary_learn(v, "D a c", 5, 1));
    ASSERT_OK(vocabulary_choose(v, 3)); /* b 4, a 3, c 3, d 1 */
    ASSERT_OK(vocabulary_text(v, &text));
    assert_string_equal(text, "b a c");
    assert_int_equal(vocabulary_size(v), 5);
    assert_int_equal(vocabulary_size_of_text(text), 5);
    assert_int_equal(vocabulary_size_of_text(""), 0);
    ASSERT_OK(vocabulary_parse("--words", text, &again));
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(vocabulary_read(i == 0 ? v : again, "C d b, a", 8, 3, id, &found), 3);
        assert_int_equal(id[0], 4);
        assert_int_equal(id[1], VOCABULARY_UNKNOWN);
        assert_int_equal(id[2], 2);
        assert_int_equal(found.words, 4);
        assert_int_equal(found.unknown, 1);
    }
    vocabulary_free(v);
    vocabulary_free(again);
    weft_free(text);
    static const char *const bad[] = {"a b a", "A", "a  b", "x,y", " a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_int_equal(vocabulary_parse("--words", bad[i], &v), WEFT_ERR_DATA);
        assert_null(v);
    }
}

/* More words than the table has places at first. */
static void test_many_words(void **state)
{
    (void)state;
    vocabulary *v = NULL;
    vocabulary_found found;
    char word[16];
    int32_t id = 0;
    ASSERT_OK(vocabulary_create(&v));
    for (int i = 0; i < 5000; ++i) {
        snprintf(word, sizeof word, "w%d", i);
        ASSERT_OK(vocabulary_learn(v, word, strlen(word), 5000 - i));
    }
    ASSERT_OK(vocabulary_choose(v, 4000));
    for (int i = 0; i < 5000; i += 7) {
        snprintf(word, sizeof word, "w%d", i);
        assert_int_equal(vocabulary_read(v, word, strlen(word), 1, &id, &found), 1);
        assert_int_equal(id, i < 4000 ? VOCABULARY_FIRST + i : VOCABULARY_UNKNOWN);
    }
    vocabulary_free(v);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static weft_comm *comm;

static int open_self(void **state)
{
    (void)state;
    ASSERT_OK(comm_create_self(&comm));
    return 0;
}

static int close_self(void **state)
{
    (void)state;
    comm_destroy(comm);
    return 0;
}

static weft_status open_text(const char *content, const text_request *asked, bool trained, image_set **set)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/weft-test-texts-%ld.csv", (long)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
    const char *paths[] = {path};
    text_request request = *asked;
    request.path = paths;
    request.paths = 1;
    request.table.index_base = -1;
    request.column = request.column != NULL ? request.column : "";
    request.words = request.words != NULL ? request.words : "";
    request.vocabulary = request.vocabulary > 0 ? request.vocabulary : 100;
    const image_options options = {.text = &request, .trained = trained, .threads = 1};
    const weft_status status = image_set_open(comm, path, &options, set);
    unlink(path);
    return status;
}

static void check_sample(const image_set *set, int split, int64_t index, const int32_t *id, int32_t label)
{
    uint8_t pixels[3 * 64];
    int32_t got;
    ASSERT_OK(image_set_read(set, split, index, pixels, &got));
    assert_int_equal(got, label);
    for (int64_t i = 0; i < set->height; ++i) {
        assert_int_equal(pixels[3 * i] | pixels[3 * i + 1] << 8 | pixels[3 * i + 2] << 16, id[i]);
    }
}

#define SPLIT_TABLE                                                                                                    \
    "text,label,split\n"                                                                                               \
    "\"one two, two\nthree\",yes,train\n"                                                                              \
    "two,no,train\n"                                                                                                   \
    "four two,yes,test\n"                                                                                              \
    ",no,valid\n"                                                                                                      \
    "one one one one one one,no,train\n"

static void test_table(void **state)
{
    (void)state;
    image_set *set;
    ASSERT_OK(open_text(SPLIT_TABLE, &(text_request){.length = 5}, false, &set));
    assert_string_equal(set->vocabulary, "one two three"); /* 7, 3, 1; four stands in no training text */
    assert_int_equal(set->words, 5);
    assert_int_equal(set->height, 5);
    assert_int_equal(image_set_channels(set), 1);
    assert_int_equal(set->classes, 2);
    assert_string_equal(set->class_name[0], "no");
    assert_int_equal(set->count[IMAGE_TRAIN], 3);
    check_sample(set, IMAGE_TRAIN, 0, (const int32_t[]){2, 3, 3, 4, 0}, 1);
    check_sample(set, IMAGE_TRAIN, 2, (const int32_t[]){2, 2, 2, 2, 2}, 0); /* cut */
    check_sample(set, IMAGE_TEST, 0, (const int32_t[]){1, 3, 0, 0, 0}, 1);
    check_sample(set, IMAGE_VALID, 0, (const int32_t[]){1, 0, 0, 0, 0}, 0); /* no words */
    image_set_close(set);
    ASSERT_OK(open_text(SPLIT_TABLE, &(text_request){.length = 0}, false, &set));
    assert_int_equal(set->height, 6); /* the longest training text */
    image_set_close(set);
}

/* All rows are answered in their order, with the model's words. */
static void test_trained(void **state)
{
    (void)state;
    image_set *set;
    const text_request asked = {.length = 3, .words = "two one"};
    ASSERT_OK(open_text("review,stars\none,3\ntwo zwei,1\none two,5\n",
                        &(text_request){.length = 3, .words = "two one", .column = "review", .table.target = "stars"},
                        true, &set));
    assert_int_equal(set->count[IMAGE_TEST], 3);
    assert_int_equal(set->classes, 3);
    assert_string_equal(set->class_name[2], "5");
    check_sample(set, IMAGE_TEST, 1, (const int32_t[]){2, 1, 0}, 0);
    check_sample(set, IMAGE_TEST, 2, (const int32_t[]){3, 2, 0}, 2);
    assert_string_equal(image_set_file(set, IMAGE_TEST, 2), "2");
    image_set_close(set);
    ASSERT_OK(open_text("text\none\ntwo\n", &asked, true, &set));
    assert_int_equal(set->classes, 0);
    assert_int_equal(set->count[IMAGE_TEST], 2);
    image_set_close(set);
}

static void test_refusals(void **state)
{
    (void)state;
    image_set *set;
    const text_request plain = {.length = 3};
    assert_int_equal(open_text("review,label\na,x\nb,y\n", &plain, false, &set), WEFT_ERR_USAGE);  /* no text */
    assert_int_equal(open_text("text,other\na,x\nb,y\n", &plain, false, &set), WEFT_ERR_USAGE);    /* no target */
    assert_int_equal(open_text("text,label\na,0.5\nb,1.5\n", &plain, false, &set), WEFT_ERR_DATA); /* no classes */
    assert_int_equal(open_text("text,label\na,x\nb,y\n", &plain, true, &set), WEFT_ERR_USAGE);     /* no words */
    assert_int_equal(open_text("text,label\na,x\n", &(text_request){.length = 3, .words = "A"}, true, &set),
                     WEFT_ERR_DATA);
    assert_null(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words), cmocka_unit_test(test_vocabulary), cmocka_unit_test(test_many_words),
        cmocka_unit_test(test_table), cmocka_unit_test(test_trained),    cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, open_self, close_self);
}
