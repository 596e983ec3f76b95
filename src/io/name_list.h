/*
 * io/name_list.h: names of things that the program counts by number (classes, vertices), and their form on disk.
 *
 * A name is a text of UTF-8 without control characters. On disk the names stand behind each other, each followed by
 * '\n': name i is line i. In memory they are one block: pointers, then the texts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct name_list {
    char **text; /* [count] NUL-terminated; NULL: nothing has a name */
    int64_t count;
} name_list;

/* Whether a NUL-terminated text may be a name. */
bool name_list_admits(const char *text);

/* Read `count` lines out of text[bytes]. [out] names: for name_list_free. WEFT_ERR_DATA, with `origin` and the line:
 * too few or too many lines, an empty name, a control character, malformed UTF-8. */
weft_status name_list_parse(const char *origin, const char *text, size_t bytes, int64_t count, name_list *names);

/* Write the names as they stand on disk. [out] text: [*bytes], for weft_free. WEFT_ERR_DATA names the first that cannot
 * be written, as above. */
weft_status name_list_join(const char *origin, const char *const *names, int64_t count, char **text, size_t *bytes);

/* Copy [count] texts into a list of their own. */
weft_status name_list_copy(const char *const *texts, int64_t count, name_list *names);

/* Returns WEFT_ERR_DATA if two names are equal, and tells which. Costs a sort. */
weft_status name_list_check_distinct(const char *origin, const name_list *names);

void name_list_free(name_list *names);
