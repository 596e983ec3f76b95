/* base/text/append.c: see base/text/append.h. */
#include "base/text/append.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
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

void text_append_name(char *text, size_t bytes, const char *name)
{
    static const char dots[] = "...";
    const size_t used = strlen(text), end = sizeof dots - 1;
    const bool fits = used + strlen(name) + sizeof ", , " + end <= bytes;
    if (used < end || strcmp(text + used - end, dots) != 0) {
        text_append_item(text, bytes, "%s", fits ? name : dots);
    }
}
