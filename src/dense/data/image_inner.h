/*
 * dense/data/image_inner.h: a data set of images further down in a folder that is none itself. A part of image_set.c.
 *
 *      torchvision's root    MNIST/raw/train-images-idx3-ubyte, cifar-10-batches-bin/data_batch_1.bin
 *      an unpacked archive   imagenette2/train/CLASS/NAME.jpg
 *
 * Two levels are looked at. Loose images, and folders of classes alone, are nobody's inner set: any folder may hold such.
 */
#ifndef WEFT_DENSE_DATA_IMAGE_INNER_H
#define WEFT_DENSE_DATA_IMAGE_INNER_H

#include <stdbool.h>

#include "base/file.h"

/* [out] found: the path of the one set below `path`; "": there is none. WEFT_ERR_DATA: there are several, which are named, or files
 * in Python's pickle format, which is not read. */
weft_status image_inner_find(const char *path, char found[FILE_PATH_MAX]);
/* Returns true if image_inner_find would find or refuse something. */
bool image_inner_exists(const char *path);

#endif
