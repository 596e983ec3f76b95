/* partition/given/given_array.h: arrays of integers in .npy files, read a piece at a time. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* take is called for every element in order; the first failure ends the reading. The array has one dimension of
 * `count`. WEFT_ERR_DATA: another shape or type. */
weft_status given_array_read(const char *path, int64_t count,
                             weft_status (*take)(void *self, int64_t element, int64_t value), void *self);
