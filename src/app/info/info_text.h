/* app/info/info_text.h: a line of `weft info`, for its own files and those of the kinds of workload. */
#pragma once

#include <stdio.h>

#include "base/escape.h"

/* "name: text", escaped: a foreign text must not steer the terminal, nor a long one fill it. */
static inline void info_text(const char *name, const char *text)
{
    printf("%s: %s\n", escape_say(name).text, escape_short(text).text);
}
