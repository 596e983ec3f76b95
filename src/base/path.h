/* base/path.h: what the text of a path, and what stands there, say. */
#ifndef WEFT_BASE_PATH_H
#define WEFT_BASE_PATH_H

#include <stdbool.h>

/* Returns true if the text ends so, in these letters. */
bool path_ends(const char *path, const char *end);
/* Returns true if a folder is there, also behind a symbolic link. */
bool path_is_folder(const char *path);

#endif
