/* base/text/append.c: see base/text/append.h. */
#include "base/text/append.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void append(char *text, size_t bytes, const char *format, va_list arguments)
{
    const size_t used = strlen(text);
    assert(used < bytes);
    vsnprintf(text + used, bytes - used, format, arguments);
}

void text_append(char *text, size_t bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(text, bytes, format, arguments);
    va_end(arguments);
}

void text_append_item(char *text, size_t bytes, const char *format, ...)
{
    va_list arguments;
    if (text[0] != '\0') {
        text_append(text, bytes, ", ");
    }
    va_start(arguments, format);
    append(text, bytes, format, arguments);
    va_end(arguments);
}
