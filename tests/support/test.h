/*
 * support/test.h: what every test includes: cmocka with its prerequisites and checks on weft_status that print the
 * message.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/status.h"

/* With the address sanitizer, where the largest cases take minutes and find nothing that smaller ones do not. */
#if defined(__SANITIZE_ADDRESS__)
enum { TEST_SANITIZED = 1 };
#else
enum { TEST_SANITIZED = 0 };
#endif

/* By the second compiler, whose arithmetic is looked at: memory and allocations are the same by the first. */
#if defined(__clang__)
enum { TEST_SECOND_COMPILER = 1 };
#else
enum { TEST_SECOND_COMPILER = 0 };
#endif

/* With the thread sanitizer, which looks for data races: what is computed is the same elsewhere. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_RACES_SOUGHT 1
#endif
#endif
#if defined(TEST_RACES_SOUGHT)
enum { TEST_RACES = 1 };
#else
enum { TEST_RACES = 0 };
#endif

/* Whether the backend cuda is the imitated device, on which kernels run by the CPU. */
#if WEFT_CUDA_IMITATED
enum { TEST_IMITATED = 1 };
#else
enum { TEST_IMITATED = 0 };
#endif

/* What a test opens: where WEFT_TEST_DEVICE names a backend (cuda), that one instead of the imitated device. */
static inline const char *test_device(const char *backend)
{
    const char *device = getenv("WEFT_TEST_DEVICE");
    return device != NULL && strncmp(backend, "shadow", 6) == 0 ? device : backend;
}

/* What to open where a device that is tested is to do the work itself. */
static inline const char *test_any_device(const char *backend)
{
    return getenv("WEFT_TEST_DEVICE") != NULL ? "shadow" : backend;
}

/* The call must succeed; its message is printed otherwise. */
#define ASSERT_OK(call)                                                                                                \
    do {                                                                                                               \
        weft_status assert_status_ = (call);                                                                           \
        if (assert_status_ != WEFT_OK) {                                                                               \
            fail_msg("%s: %s: %s", #call, weft_status_name(assert_status_), weft_error_message());                     \
        }                                                                                                              \
    } while (0)

/* The call must fail with this status. */
#define ASSERT_STATUS(call, expected)                                                                                  \
    do {                                                                                                               \
        weft_status assert_status_ = (call);                                                                           \
        if (assert_status_ != (expected)) {                                                                            \
            fail_msg("%s: %s instead of %s: %s", #call, weft_status_name(assert_status_), weft_status_name(expected),  \
                     weft_error_message());                                                                            \
        }                                                                                                              \
    } while (0)

/* The last message must mention this text (a file, a row, a cure). */
#define ASSERT_MESSAGE(text)                                                                                           \
    do {                                                                                                               \
        if (strstr(weft_error_message(), (text)) == NULL) {                                                            \
            fail_msg("message does not mention \"%s\": %s", (text), weft_error_message());                             \
        }                                                                                                              \
    } while (0)

#define ASSERT_NEAR(actual, expected, tolerance)                                                                       \
    do {                                                                                                               \
        double assert_a_ = (double)(actual), assert_b_ = (double)(expected);                                           \
        double assert_d_ = assert_a_ > assert_b_ ? assert_a_ - assert_b_ : assert_b_ - assert_a_;                      \
        if (!(assert_d_ <= (double)(tolerance))) {                                                                     \
            fail_msg("%s = %.9g, expected %.9g within %g", #actual, assert_a_, assert_b_, (double)(tolerance));        \
        }                                                                                                              \
    } while (0)
