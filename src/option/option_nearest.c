/* option/option_nearest.c: the nearest name among a command's options. */
#include <string.h>

#include "base/nearest.h"
#include "option/option_internal.h"

const char *option_nearest_name(const option_catalog *catalog, const option_command *command, const char *word,
                                char found[OPTION_WORD_MAX])
{
    char names[OPTION_NAMES_MAX][OPTION_WORD_MAX];
    const char *pointers[OPTION_NAMES_MAX];
    int count = option_collect_names(catalog, command, names);
    for (int i = 0; i < count; i++) {
        pointers[i] = names[i];
    }
    const char *near = nearest_word(word, pointers, count);
    if (near == NULL) {
        return NULL;
    }
    memcpy(found, near, strlen(near) + 1); /* a row of `names` fits */
    return found;
}
