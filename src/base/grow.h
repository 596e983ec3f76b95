/* base/grow.h: arrays that take one more element. */
#pragma once

#include "base/alloc.h"

/* Room for one more element of an array of `count`, which doubles when it is full and may move. WEFT_ERR_RESOURCE: the
 * array stays as it was. */
weft_status grow_array(void **array, size_t item, int count, int *capacity, weft_mem_tag *tag);
