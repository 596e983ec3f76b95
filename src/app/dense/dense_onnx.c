/* app/dense/dense_onnx.c: weft export RUN --out FILE.onnx of a network on images. */
#include "app/dense/dense_job.h"
#include "dense/onnx/onnx_network.h"

/* The network with the sizes of its layers, and what its pixels are normalised by. WEFT_ERR_USAGE: the model does not
 * say which images it is for. */
static weft_status fit_network(const saved_model *model, network *net, float *mean, float *deviation)
{
    const weft_options *known = model->known;
    net_size size = {.channels = dense_means_of(known)};
    WEFT_CHECK(!option_is_auto(known, OPT_IMAGE_SIZE) && !option_is_auto(known, OPT_IMAGE_MOMENTS), WEFT_ERR_USAGE,
               "%s: it does not say which images its network is for, as run folders and checkpoints do: export one of "
               "these",
               model->path);
    WEFT_TRY(dense_check_moments(known));
    WEFT_TRY(dense_size_of(known, &size.height, &size.width));
    WEFT_TRY(dense_open_network(known, net));
    net->words = dense_words_of(known);
    WEFT_TRY(net_fit(net, size, model->outputs));
    dense_moments_of(known, mean, deviation);
    return WEFT_OK;
}

weft_status dense_write_onnx(const saved_model *model, const char *path)
{
    float mean[AUGMENT_CHANNELS_MAX], deviation[AUGMENT_CHANNELS_MAX];
    network net = {.layers = 0};
    weft_status status = fit_network(model, &net, mean, deviation);
    if (status == WEFT_OK) {
        const onnx_model onnx = {.net = &net, .weights = &model->weights, .mean = mean, .deviation = deviation};
        status = onnx_network_write(&onnx, path);
    }
    net_destroy(&net);
    return status;
}
