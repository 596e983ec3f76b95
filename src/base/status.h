/*
 * base/status.h: failing, and handing failures up.
 *
 *   WEFT_CHECK(rows == n, WEFT_ERR_DATA, "%s: %ld rows, expected %ld", path, rows, n);   guards input, carries numbers
 *   WEFT_TRY(call(...));                       returns the status when nothing needs freeing
 *   WEFT_TRY_GOTO(call(...), status, done);    jumps to the one clean-up label
 *
 * `assert` guards our own logic; these guard the world.
 */
#pragma once

#include <stdarg.h>

#include "weft/status.h"

/* Record a message for this thread and return `code`. printf format. */
weft_status weft_fail(weft_status code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prefix the recorded message with context ("while reading x: ") and return `code`. */
weft_status weft_fail_context(weft_status code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prefix the recorded message with "NAME: " unless it names the file, or one below it, already; returns `code`. */
weft_status weft_fail_name(weft_status code, const char *name);

/* WEFT_ERR_PERMISSION, _NOINPUT or _IO for an errno value, with a message that names `what`. */
weft_status weft_fail_errno(int error_number, const char *what);

void weft_error_clear(void);

/* The code of the calling thread's last failure since weft_error_clear, WEFT_OK if none: for callers of functions that
 * answer yes or no and must not take a lack of memory for a no. */
weft_status weft_error_code(void);

#define WEFT_TRY(call)                                                                                                 \
    do {                                                                                                               \
        weft_status weft_try_status_ = (call);                                                                         \
        if (weft_try_status_ != WEFT_OK) {                                                                             \
            return weft_try_status_;                                                                                   \
        }                                                                                                              \
    } while (0)

#define WEFT_TRY_GOTO(call, status, label)                                                                             \
    do {                                                                                                               \
        (status) = (call);                                                                                             \
        if ((status) != WEFT_OK) {                                                                                     \
            goto label;                                                                                                \
        }                                                                                                              \
    } while (0)

#define WEFT_CHECK(condition, code, ...)                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)weft_fail((code), __VA_ARGS__);                                                                      \
            return (code); /* visibly not WEFT_OK */                                                                   \
        }                                                                                                              \
    } while (0)

#define WEFT_CHECK_GOTO(condition, status, label, code, ...)                                                           \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)weft_fail((code), __VA_ARGS__);                                                                      \
            (status) = (code);                                                                                         \
            goto label;                                                                                                \
        }                                                                                                              \
    } while (0)
