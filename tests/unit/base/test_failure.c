/* Failures of threads that work side by side: that of the lowest place reaches the caller with its message. */
#include <pthread.h>

#include "base/failure/failure.h"
#include "support/test.h"

static void test_none(void **state)
{
    (void)state;
    first_failure none = {.status = WEFT_OK};
    first_failure_note(&none, 0, WEFT_OK);
    assert_int_equal(first_failure_tell(&none), WEFT_OK);
}

enum { THREADS = 4, PLACES = 40 };
static first_failure failure;

static void *note_some(void *first)
{
    for (int place = PLACES - THREADS + *(int *)first; place >= 0; place -= THREADS) {
        first_failure_note(&failure, place,
                           place % 7 == 5 ? weft_fail(WEFT_ERR_DATA, "row %d \\ is bad", place) : WEFT_OK);
    }
    return NULL;
}

static void test_lowest(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        pthread_t thread[THREADS];
        int first[THREADS];
        failure = (first_failure){.status = WEFT_OK};
        for (int t = 0; t < THREADS; t++) {
            first[t] = t;
            assert_int_equal(pthread_create(&thread[t], NULL, note_some, &first[t]), 0);
        }
        for (int t = 0; t < THREADS; t++) {
            assert_int_equal(pthread_join(thread[t], NULL), 0);
        }
        weft_error_clear();
        assert_int_equal(first_failure_tell(&failure), WEFT_ERR_DATA);
        assert_int_equal(failure.place, 5);
        assert_non_null(strstr(weft_error_message(), "row 5 "));
    }
    char said[64];
    snprintf(said, sizeof said, "%s", weft_error_message());
    first_failure_note(&failure, 5, weft_fail(WEFT_ERR_IO, "later, at the same place"));
    assert_int_equal(first_failure_tell(&failure), WEFT_ERR_DATA);
    assert_string_equal(weft_error_message(), said); /* a message that is told again stays as it is */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_none), cmocka_unit_test(test_lowest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
