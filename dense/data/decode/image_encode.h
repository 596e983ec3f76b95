/* dense/data/decode/image_encode.h: pixels as a JPEG file in memory. */
#pragma once

#include "dense/data/decode/image_decode.h"

/* pixels: [shape->height, shape->width, 3]. quality: 1 to 100. [out] encoded: [bytes], for weft_free, also after a
 * failure. name: for messages. WEFT_ERR_RESOURCE. */
weft_status image_encode_jpeg(const char *name, const uint8_t *pixels, const image_shape *shape, int quality,
                              uint8_t **encoded, size_t *bytes);
