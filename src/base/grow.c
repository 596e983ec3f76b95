/* base/grow.c: see base/grow.h. */
#include "base/grow.h"

enum { FIRST_ROOM = 16 };

weft_status grow_array(void **array, size_t item, int count, int *capacity, weft_mem_tag *tag)
{
    if (count < *capacity) {
        return WEFT_OK;
    }
    int more = *capacity > 0 ? 2 * *capacity : FIRST_ROOM;
    WEFT_TRY(weft_realloc(array, (size_t)more, item, tag));
    *capacity = more;
    return WEFT_OK;
}
