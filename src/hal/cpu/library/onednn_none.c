/* hal/cpu/library/onednn_none.c: a build without oneDNN. */
#include "hal/cpu/library/onednn.h"

#ifndef WEFT_HAVE_ONEDNN

static weft_status refuse(void)
{
    return weft_fail(WEFT_ERR_UNSUPPORTED, "this build has no oneDNN");
}

weft_status onednn_open(int threads, onednn **library)
{
    (void)threads;
    *library = NULL;
    return WEFT_OK;
}

void onednn_close(onednn *library)
{
    (void)library;
}

weft_status onednn_gemm(onednn *library, const cpu_product *product)
{
    (void)library, (void)product;
    return refuse();
}

weft_status onednn_conv_create(onednn *library, const hal_conv *common, bool backward_weights, onednn_conv **conv,
                               hal_conv_info *info)
{
    (void)library, (void)common, (void)backward_weights, (void)info;
    *conv = NULL;
    return WEFT_OK;
}

void onednn_conv_destroy(onednn_conv *conv)
{
    (void)conv;
}

weft_status onednn_conv_forward(const onednn_conv *conv, int size, const void *x, const float *weight,
                                const float *bias, void *y)
{
    (void)conv, (void)size, (void)x, (void)weight, (void)bias, (void)y;
    return refuse();
}

weft_status onednn_conv_backward_data(const onednn_conv *conv, int size, const void *dy, const float *weight, void *dx)
{
    (void)conv, (void)size, (void)dy, (void)weight, (void)dx;
    return refuse();
}

weft_status onednn_conv_backward_weights(const onednn_conv *conv, int size, const void *x, const void *dy,
                                         float *dweight, float *dbias, bool adds)
{
    (void)conv, (void)size, (void)x, (void)dy, (void)dweight, (void)dbias, (void)adds;
    return refuse();
}

const char *onednn_version(void)
{
    return "none";
}

#endif
