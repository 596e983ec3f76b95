/* trees/grow/interactions.c: see trees/grow/interactions.h. */
#include "trees/grow/interactions.h"

#include <stdbool.h>
#include <string.h>

/* Has a group all columns of a path? */
static bool has_path(const uint8_t *has, const uint8_t *path, int columns)
{
    for (int c = 0; c < columns; ++c) {
        if (path[c] != 0 && has[c] == 0) {
            return false;
        }
    }
    return true;
}

void interactions_allow(const interaction_groups *groups, const uint8_t *path, int columns, const uint8_t *allowed,
                        uint8_t *use)
{
    if (groups->groups == 0 || memchr(path, 1, (size_t)columns) == NULL) {
        memcpy(use, allowed, (size_t)columns);
        return;
    }
    memcpy(use, path, (size_t)columns);
    for (int i = 0; i < groups->groups; ++i) {
        const uint8_t *has = groups->has + (int64_t)i * columns;
        const bool open = has_path(has, path, columns);
        for (int c = 0; open && c < columns; ++c) {
            use[c] |= has[c] != 0 && allowed[c] != 0;
        }
    }
}
