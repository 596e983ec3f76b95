/* base/text/append.h: texts that grow in an array of fixed length. What does not fit is cut off. */
#pragma once

#include <stddef.h>

/* Appends to the text that stands in text[bytes]. printf format. */
void text_append(char *text, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Appends an item of a list, behind ", " unless the text is empty. printf format. */
void text_append_item(char *text, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Appends a name like text_append_item. The first for which there is no room becomes "...", which ends the list:
 * further ones are left out. */
void text_append_name(char *text, size_t bytes, const char *name);
