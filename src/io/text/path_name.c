/* io/text/path_name.c: see io/text/path_name.h. */
#include "io/text/path_name.h"

#include <string.h>
#include <sys/stat.h>

bool path_ends(const char *path, const char *end)
{
    const size_t length = strlen(path), ending = strlen(end);
    return length >= ending && strcmp(path + length - ending, end) == 0;
}

bool path_is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}
