/* machine/cache.c: see machine/cache.h. */
#include "machine/cache.h"

#include <stdlib.h>
#include <string.h>

weft_status cache_path(const char *name, char path[FILE_PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    const bool has_cache =
        cache != NULL && cache[0] == '/'; /* a relative one must be ignored: XDG base directories 0.8 */
    WEFT_CHECK(has_cache || (home != NULL && home[0] == '/'), WEFT_ERR_NOINPUT,
               "no cache folder: neither XDG_CACHE_HOME nor HOME is set to a folder");
    return has_cache ? file_path(path, "%s/weft/%s", cache, name) : file_path(path, "%s/.cache/weft/%s", home, name);
}

weft_status cache_make_parent(const char *path)
{
    char folder[FILE_PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path) {
        return WEFT_OK;
    }
    WEFT_TRY(file_path(folder, "%.*s", (int)(slash - path), path));
    return file_exists(folder) ? WEFT_OK : folder_make(folder);
}
