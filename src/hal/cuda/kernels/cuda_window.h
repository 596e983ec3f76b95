/* hal/cuda/kernels/cuda_window.h: which pixels a kernel element joins, as hal/ref/ref_image.c defines it. Pixels are
 * below 2^31. */
#pragma once

#include "hal/cuda/kernels/cuda_launch.h"

/* Of convolution or pooling. [2]: rows, columns. */
struct cuda_window {
    int size[2], made[2]; /* of the input and output images */
    int kernel[2], stride[2], dilation[2], pad[2];

    /* The input pixel that element (ky, kx) reads at an output pixel; -1 in the padding. */
    __device__ int64_t read(int64_t image, int oy, int ox, int ky, int kx) const
    {
        const int y = oy * stride[0] - pad[0] + ky * dilation[0];
        const int x = ox * stride[1] - pad[1] + kx * dilation[1];
        return y < 0 || x < 0 || y >= size[0] || x >= size[1] ? -1 : (image * size[0] + y) * size[1] + x;
    }
    /* The output pixel at which the element reads this input pixel; -1 for none. */
    __device__ int64_t reader(int64_t image, int iy, int ix, int ky, int kx) const
    {
        const int y = iy + pad[0] - ky * dilation[0];
        const int x = ix + pad[1] - kx * dilation[1];
        const bool meets = y >= 0 && x >= 0 && y % stride[0] == 0 && x % stride[1] == 0;
        return !meets || y / stride[0] >= made[0] || x / stride[1] >= made[1]
                   ? -1
                   : (image * made[0] + y / stride[0]) * made[1] + x / stride[1];
    }
};

/* A pixel's place. */
struct cuda_pixel {
    int64_t image;
    int y, x;
};

static __device__ inline cuda_pixel cuda_pixel_of(int64_t row, const int (&size)[2])
{
    const unsigned at = (unsigned)row;
    const unsigned width = (unsigned)size[1];
    const unsigned height = (unsigned)size[0];
    return {(int64_t)(at / width / height), (int)(at / width % height), (int)(at % width)};
}
