/* io/npy_order.h: the order of bytes and elements of an array that was read whole or in pieces. */
#pragma once

#include "io/npy.h"

/* Turns the bytes of each of `count` elements of `width` bytes. */
void npy_swap_bytes(uint8_t *data, size_t count, size_t width);
/* Gives the array native byte order and C order. WEFT_ERR_RESOURCE: no memory for a matrix in C order. */
weft_status npy_array_order(npy_array *array);
