/* io/text/path_name.h: what the text of a path, and what stands there, say. */
#pragma once

#include <stdbool.h>

/* Returns true if the text ends so, in these letters. */
bool path_ends(const char *path, const char *end);
/* Returns true if a folder is there, also behind a symbolic link. */
bool path_is_folder(const char *path);
