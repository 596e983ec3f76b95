/* machine/cache.h: the user's cache folder, where measurements are kept between jobs. */
#pragma once

#include "base/file.h"

/* $XDG_CACHE_HOME/weft/NAME or ~/.cache/weft/NAME. WEFT_ERR_NOINPUT when the environment names neither folder. */
weft_status cache_path(const char *name, char path[FILE_PATH_MAX]);
/* Make the folders of a path. */
weft_status cache_make_parent(const char *path);
