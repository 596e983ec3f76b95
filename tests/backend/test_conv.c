/*
 * backend/test_conv.c: what convolutions run on, and what is refused. Every layer of ResNet-20 (K. He et al., CVPR
 * 2016, DOI 10.1109/CVPR.2016.90, CIFAR-10) and ResNet-50 must find an implementation that is neither a product of
 * matrices nor the reference.
 */
#include "base/isa.h"
#include "hal/hal.h"
#include "support/test.h"

/* Square images and kernels with padding of half a kernel. */
static hal_conv_shape square(int64_t size, int64_t in, int64_t out, int64_t kernel, int64_t stride)
{
    return (hal_conv_shape){.height = size,
                            .width = size,
                            .in = in,
                            .out = out,
                            .groups = 1,
                            .kernel = {kernel, kernel},
                            .stride = {stride, stride},
                            .dilation = {1, 1},
                            .pad = {{kernel / 2, kernel / 2}, {kernel / 2, kernel / 2}},
                            .training = true,
                            .backward_data = in != 3};
}

static void check_fast(weft_hal *hal, hal_conv_shape shape, int64_t images)
{
    hal_conv *conv = NULL;
    if (shape.dtype == WEFT_DTYPE_F32 && hal->native_bf16) { /* the same of bfloat16 */
        hal_conv_shape half = shape;
        half.dtype = WEFT_DTYPE_BF16;
        check_fast(hal, half, images);
    }
    ASSERT_OK(hal->image.conv_create(hal, &shape, &images, 1, &conv));
    const hal_conv_info info = hal->image.conv_info(hal, conv);
    if (info.slow || info.forward[0] == '\0' || info.backward_weights[0] == '\0' ||
        (info.backward_data[0] != '\0') != shape.backward_data) {
        fail_msg("%ldx%ld/%ld %ld-%ld@%ld %s: forward \"%s\", backward data \"%s\", weights \"%s\"",
                 (long)shape.kernel[0], (long)shape.kernel[1], (long)shape.stride[0], (long)shape.in, (long)shape.out,
                 (long)shape.height, weft_dtype_name(shape.dtype), info.forward, info.backward_data,
                 info.backward_weights);
    }
    hal->image.conv_destroy(hal, conv);
}

/* ResNet-20: 16, 32 and 64 channels at 32, 16 and 8 pixels; between them stride 2, once beside the shortcut's 1 x 1. */
static void check_resnet_20(weft_hal *hal)
{
    check_fast(hal, square(32, 3, 16, 3, 1), 128);
    for (int64_t stage = 0; stage < 3; ++stage) {
        const int64_t size = 32 >> stage;
        const int64_t channels = (int64_t)16 << stage;
        check_fast(hal, square(size, channels, channels, 3, 1), 128);
        if (stage < 2) {
            check_fast(hal, square(size, channels, 2 * channels, 3, 2), 128);
            check_fast(hal, square(size, channels, 2 * channels, 1, 2), 128);
        }
    }
}

/* ResNet-50: bottlenecks of 1 x 1, 3 x 3 (with the stage's stride) and 1 x 1. */
static void check_resnet_50(weft_hal *hal)
{
    check_fast(hal, square(224, 3, 64, 7, 2), 8);
    for (int64_t stage = 0; stage < 4; ++stage) {
        const int64_t size = 56 >> stage;
        const int64_t before = stage == 0 ? 56 : 2 * size;
        const int64_t stride = stage == 0 ? 1 : 2;
        const int64_t middle = (int64_t)64 << stage;
        const int64_t in = stage == 0 ? 64 : 2 * middle;
        check_fast(hal, square(before, in, middle, 1, 1), 8);
        check_fast(hal, square(before, in, 4 * middle, 1, stride), 8);
        check_fast(hal, square(before, middle, middle, 3, stride), 8);
        check_fast(hal, square(size, 4 * middle, middle, 1, 1), 8);
        check_fast(hal, square(size, middle, middle, 3, 1), 8);
        check_fast(hal, square(size, middle, 4 * middle, 1, 1), 8);
    }
}

static void test_residual_networks_are_fast(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    if (strcmp(weft_hal_library(), "none") == 0 || hal_isa_best() < HAL_ISA_AVX512) {
        print_message("skipped: the library's NHWC convolutions are known for AVX-512\n");
        return;
    }
    ASSERT_OK(weft_hal_open("cpu", 2, &hal));
    check_resnet_20(hal);
    check_resnet_50(hal);
    weft_hal_close(hal);
}

/* Shapes that nothing fits, each named with its figure. */
static void test_shapes_are_checked(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    hal_conv *conv = NULL;
    const int64_t images[HAL_CONV_SIZES + 1] = {2};
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    hal_conv_shape shape = square(3, 6, 8, 5, 1);
    shape.pad[0][0] = shape.pad[0][1] = 0;
    ASSERT_STATUS(hal->image.conv_create(hal, &shape, images, 1, &conv), WEFT_ERR_UNSUPPORTED);
    ASSERT_MESSAGE("a kernel of 5 x 5 finds no place in images of 3 x 3 pixels and their padding");
    shape = square(3, 6, 8, 3, 1);
    shape.groups = 4;
    ASSERT_STATUS(hal->image.conv_create(hal, &shape, images, 1, &conv), WEFT_ERR_UNSUPPORTED);
    ASSERT_MESSAGE("4 groups do not divide 6 and 8 channels");
    shape = square(3, 6, 8, 3, 0);
    ASSERT_STATUS(hal->image.conv_create(hal, &shape, images, 1, &conv), WEFT_ERR_UNSUPPORTED);
    ASSERT_MESSAGE("a stride of 0, 0");
    shape = square(3, 6, 8, 3, 1);
    ASSERT_STATUS(hal->image.conv_create(hal, &shape, images, HAL_CONV_SIZES + 1, &conv), WEFT_ERR_INTERNAL);
    assert_null(conv);
    hal_pool_shape pool = {.height = 40, .width = 40, .kernel = {17, 16}, .stride = {1, 1}};
    ASSERT_STATUS(hal_pool_check(&pool), WEFT_ERR_UNSUPPORTED);
    ASSERT_MESSAGE("the maximum over 17 x 16 pixels; at most 256");
    pool.average = true;
    ASSERT_OK(hal_pool_check(&pool));
    pool.pad[1][1] = 16;
    ASSERT_STATUS(hal_pool_check(&pool), WEFT_ERR_UNSUPPORTED);
    weft_hal_close(hal);
}

/* Other numbers of images than it was prepared for, a bias that it does not expect, norms where there are none or
 * others. */
static void test_calls_are_checked(void **state)
{
    (void)state;
    static const char *const resources[] = {"ref", "cpu"};
    static float x[3 * 16 * 4], y[3 * 16 * 4], bias[4];
    for (int r = 0; r < 2; ++r) {
        weft_hal *hal = NULL;
        hal_conv *conv = NULL;
        const int64_t images[] = {1, 2};
        hal_conv_shape shape = square(4, 4, 4, 3, 1);
        ASSERT_OK(weft_hal_open(resources[r], 1, &hal));
        ASSERT_OK(hal->image.conv_create(hal, &shape, images, 2, &conv));
        hal_conv_forward_args args = {
            .x = hal_mat_of(x, WEFT_DTYPE_F32, 48, 4, 4), .y = hal_mat_of(y, WEFT_DTYPE_F32, 48, 4, 4), .conv = conv};
        ASSERT_STATUS(hal_conv_forward(hal, &args), WEFT_ERR_INTERNAL);
        ASSERT_MESSAGE("conv_forward: 3 images, which the convolution was not prepared for");
        args.x.rows = args.y.rows = 32;
        args.bias = hal_row_of(bias, WEFT_DTYPE_F32, 4);
        ASSERT_STATUS(hal_conv_forward(hal, &args), WEFT_ERR_INTERNAL);
        ASSERT_MESSAGE("conv_forward: the convolution was prepared without a bias");
        args.bias.data = NULL;
        args.norm.gamma = hal_row_of(bias, WEFT_DTYPE_F32, 4);
        ASSERT_STATUS(hal_conv_forward(hal, &args), WEFT_ERR_INTERNAL);
        ASSERT_MESSAGE("conv_forward: the convolution was prepared without a norm");
        args.norm.gamma.data = NULL;
        args.y.rows = 31;
        ASSERT_STATUS(hal_conv_forward(hal, &args), WEFT_ERR_INTERNAL);
        hal->image.conv_destroy(hal, conv);
        shape.norm = true;
        ASSERT_OK(hal->image.conv_create(hal, &shape, images, 2, &conv));
        args.y.rows = 32;
        args.conv = conv;
        ASSERT_STATUS(hal_conv_forward(hal, &args), WEFT_ERR_INTERNAL);
        ASSERT_MESSAGE("conv_forward: the convolution was prepared with a norm");
        args.norm.mean = args.norm.rstd = args.norm.gamma = args.norm.beta = hal_row_of(bias, WEFT_DTYPE_F32, 3);
        ASSERT_STATUS(hal_conv_forward(hal, &args), WEFT_ERR_INTERNAL);
        ASSERT_MESSAGE("conv_forward: a norm of 3 channels for a convolution of 4");
        hal->image.conv_destroy(hal, conv);
        weft_hal_close(hal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_residual_networks_are_fast),
                                       cmocka_unit_test(test_shapes_are_checked),
                                       cmocka_unit_test(test_calls_are_checked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
