/* Words of a column: codes are places in the order of bytes, whatever the threads. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "support/test.h"
#include "table/words.h"

enum { WORDS = 5000, THREADS = 4 };

/* Word i of WORDS different ones, among them the empty word, bytes above 127 and prefixes of others. */
static size_t make_word(int i, char word[32])
{
    return i == 0 ? 0 : (size_t)snprintf(word, 32, i % 3 == 0 ? "\xc3\xa9%d" : "w%d", i);
}

static void test_codes(void **state)
{
    static int32_t code[THREADS * WORDS];
    static const int step[THREADS] = {1, 3, 7, 9}; /* without a divisor in common with WORDS */
    table_words *words;
    int32_t *order;
    (void)state;
    ASSERT_OK(words_create(THREADS, &words));
#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
    for (int t = 0; t < THREADS; t++) {
        char word[32] = "";
        for (int i = 0; i < WORDS; i++) {
            const int which = (i * step[t]) % WORDS; /* every thread meets all, in an order of its own */
            const size_t bytes = make_word(which, word);
            ASSERT_OK(words_add(words, t, word, bytes, &code[t * WORDS + which]));
        }
    }
    assert_int_equal(words_count(words), WORDS);
    ASSERT_OK(words_sort(words, &order));
    for (int i = 0; i < WORDS; i++) {
        char word[32] = "";
        size_t bytes;
        int32_t again;
        const size_t expected = make_word(i, word);
        for (int t = 0; t < THREADS; t++) {
            const int32_t last = order != NULL ? order[code[t * WORDS + i]] : code[t * WORDS + i];
            const char *found = words_text(words, last, &bytes);
            assert_int_equal(bytes, expected);
            assert_memory_equal(found, word, bytes);
        }
        ASSERT_OK(words_add(words, 0, word, expected, &again));
        assert_int_equal(again, order != NULL ? order[code[i]] : code[i]);
    }
    for (int i = 1; i < WORDS; i++) {
        size_t left, right;
        const char *a = words_text(words, i - 1, &left), *b = words_text(words, i, &right);
        const int difference = memcmp(a, b, left < right ? left : right);
        assert_true(difference < 0 || (difference == 0 && left < right));
    }
    weft_free(order);
    words_free(words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_codes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
