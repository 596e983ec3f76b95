/* base/status.c: per-thread failure text. What arguments of a message hold is foreign, so the whole of it is escaped.
 */
#include "base/status.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"

enum { MESSAGE_BYTES = 2048 };

static _Thread_local char message[MESSAGE_BYTES];
static _Thread_local weft_status last_code;

const char *weft_status_name(weft_status status)
{
    switch (status) {
#define STATUS_NAME(name, value, text)                                                                                 \
    case name:                                                                                                         \
        return #name;
        WEFT_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    }
    return "WEFT_UNKNOWN";
}

const char *weft_status_text(weft_status status)
{
    switch (status) {
#define STATUS_TEXT(name, value, text)                                                                                 \
    case name:                                                                                                         \
        return text;
        WEFT_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "unknown status";
}

const char *weft_error_message(void)
{
    return message;
}

void weft_error_clear(void)
{
    message[0] = '\0';
    last_code = WEFT_OK;
}

weft_status weft_error_code(void)
{
    return last_code;
}

weft_status weft_fail(weft_status code, const char *format, ...)
{
    char raw[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    escape_text(message, sizeof message, raw);
    last_code = code;
    return code;
}

weft_status weft_fail_context(weft_status code, const char *format, ...)
{
    char raw[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    int used = vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    if (used >= 0 && used < MESSAGE_BYTES) {
        snprintf(raw + used, sizeof raw - (size_t)used, "%s", message);
    }
    escape_text(message, sizeof message, raw);
    last_code = code;
    return code;
}

/* "d" is not named by "bad": a name stands between blanks and marks. */
static bool is_named(const char *name)
{
    char shown[MESSAGE_BYTES];
    const size_t length = escape_text(shown, sizeof shown, name);
    for (const char *at = strstr(message, shown); at != NULL && length > 0; at = strstr(at + 1, shown)) {
        if ((at == message || at[-1] == ' ' || at[-1] == '/') && strchr(":/[ ,;", at[length]) != NULL) {
            return true;
        }
    }
    return false;
}

weft_status weft_fail_name(weft_status code, const char *name)
{
    return is_named(name) ? code : weft_fail_context(code, "%s: ", name);
}

weft_status weft_fail_errno(int error_number, const char *what)
{
    weft_status code = WEFT_ERR_IO;
    if (error_number == ENOENT || error_number == ENOTDIR) {
        code = WEFT_ERR_NOINPUT;
    } else if (error_number == EACCES || error_number == EPERM || error_number == EROFS) {
        code = WEFT_ERR_PERMISSION;
    } else if (error_number == ENOMEM) {
        code = WEFT_ERR_RESOURCE;
    }
    char text[256];
    const char *reason = strerror_r(error_number, text, sizeof text);
    const char *cure = error_number == EFBIG ? ": more than files may hold here; raise the limit (ulimit -f)" : "";
    return weft_fail(code, "%s: %s%s", what, reason, cure);
}
