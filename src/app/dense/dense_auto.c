/* app/dense/dense_auto.c: values for options of images that say "auto"; see app/dense/dense_job.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/dense/dense_job.h"
#include "app/setup/context.h"
#include "app/setup/second_setup.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/number.h"

/* Images beyond SMALL_SIDE are cut from anywhere in any size; below it a shift by some pixels is variation enough. Two
 * kernels of 5 with a pool behind each leave nothing of images below LENET_SIDE. */
enum { LENET_SIDE = 16, LENET_LARGEST = 32, SMALL_SIDE = 96 };

static weft_status decide_model(const image_set *set, weft_options *options)
{
    const bool lenet =
        set->channels == 1 && set->height <= LENET_LARGEST && set->height >= LENET_SIDE && set->width >= LENET_SIDE;
    const char *name = lenet ? "lenet" : set->height <= SMALL_SIDE ? "resnet-20" : "resnet-18";
    log_info("model %s (auto: images of %lld x %lld x %lld)", name, (long long)set->height, (long long)set->width,
             (long long)set->channels);
    return option_decide(options, OPT_MODEL, name);
}

static weft_status decide_augment(const image_set *set, bool training, weft_options *options)
{
    const char *name = set->channels == 1 ? "none" : set->height <= SMALL_SIDE ? "flip" : "crop";
    if (training) {
        log_info("training images: --augment %s (auto)", name);
    }
    return option_decide(options, OPT_AUGMENT, name);
}

/* Numbers with commas between them, and what ends them. Gives the length. */
static int append(char *text, size_t bytes, const float *values, int64_t count, const char *end)
{
    char number[NUMBER_TEXT_MAX];
    int used = 0;
    for (int64_t c = 0; c < count; ++c) {
        used += snprintf(text + used, bytes - (size_t)used, "%s%s", number_format_float(values[c], number),
                         c + 1 < count ? "," : end);
    }
    return used;
}

static weft_status decide_moments(weft_comm *comm, const image_set *set, weft_options *options)
{
    float mean[AUGMENT_CHANNELS_MAX], deviation[AUGMENT_CHANNELS_MAX];
    char text[DENSE_MOMENTS];
    WEFT_TRY(image_set_moments(comm, set, mean, deviation));
    const int used = append(text, sizeof text, mean, set->channels, "/");
    append(text + used, sizeof text - (size_t)used, deviation, set->channels, "");
    return option_decide(options, OPT_IMAGE_MOMENTS, text);
}

/* Lines of the file are told while they are known: what is kept of a network has its layers alone. A resumed run has a
 * network of its own. */
static weft_status check_file(const network *net, const image_set *set, const weft_options *options)
{
    network fitted = *net;
    if (option_flag(options, OPT_RESUME) || set->classes == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&fitted.layer, net->layers, WEFT_MEM_WORKSPACE));
    memcpy(fitted.layer, net->layer, (size_t)net->layers * sizeof *net->layer);
    fitted.words = set->words;
    weft_status status = net_fit(&fitted, (net_size){set->height, set->width, image_set_channels(set)}, set->classes);
    weft_free(fitted.layer);
    return status;
}

/* The layers of a network of the user's own, as its file has them now. A resumed run may have its own: no file is
 * missed here. */
static weft_status decide_network(weft_comm *comm, const image_set *set, weft_options *options)
{
    network net = {.layers = 0};
    char *line = NULL;
    weft_status status = WEFT_OK;
    if (comm_rank(comm) == 0) {
        status = net_read(option_text(options, OPT_MODEL), &net);
        status = status == WEFT_OK ? check_file(&net, set, options) : status;
        status = status == WEFT_OK ? net_warn_idle(&net) : status;
        status = status == WEFT_OK ? net_write_line(&net, &line) : status;
        net_destroy(&net);
    }
    if (status == WEFT_ERR_NOINPUT && option_flag(options, OPT_RESUME)) {
        weft_error_clear();
        status = WEFT_OK;
    }
    status = comm_agree(comm, status);
    status = status == WEFT_OK ? app_decide_shared(comm, options, OPT_NETWORK, line) : status;
    weft_free(line);
    return status;
}

static weft_status decide_precondition(weft_options *options)
{
    network net = {.layers = 0};
    second_images facts = {.weights = 0};
    const bool asked = option_choice(options, OPT_PRECONDITION) != SECOND_NONE;
    const weft_status status = asked ? dense_open_network(options, &net) : WEFT_OK;
    for (int i = 0; status == WEFT_OK && i < net.layers; ++i) {
        const net_layer *layer = &net.layer[i];
        facts.norms += layer->kind == NET_NORM ? 1 : 0;
        facts.weights += (layer->kind == NET_CONV && layer->groups == 1) || net_has_matrix(layer->kind) ? 1 : 0;
    }
    net_destroy(&net);
    return status == WEFT_OK ? second_setup_decide_images(options, &facts) : status;
}

static weft_status decide_size(const image_set *set, weft_options *options)
{
    char text[2 * NUMBER_TEXT_MAX];
    snprintf(text, sizeof text, "%lldx%lld", (long long)set->height, (long long)set->width);
    return option_decide(options, OPT_IMAGE_SIZE, text);
}

/* Arrays of pixels, and made ones, are never scaled: a size that they do not have would be recorded as the model's,
 * which images to be answered are brought to. */
static weft_status check_size(const image_set *set, bool training, const weft_options *options)
{
    int64_t height, width;
    WEFT_TRY(dense_size_of(options, &height, &width));
    if (height == set->height && width == set->width) {
        return WEFT_OK;
    }
    WEFT_CHECK(!training, WEFT_ERR_USAGE,
               FLAG_IMAGE_SIZE " %lldx%lld: the images of %s are %lldx%lld, and only those of folders and archives are "
                               "brought to another size: leave it out, or put the images into folders train/CLASS/",
               (long long)height, (long long)width, set->name, (long long)set->height, (long long)set->width);
    log_warn(FLAG_IMAGE_SIZE " %lldx%lld: the images of %s are %lldx%lld, and are taken as they are", (long long)height,
             (long long)width, set->name, (long long)set->height, (long long)set->width);
    return WEFT_OK;
}

/* What images without classes leave open. */
static weft_status decide_loose(const image_set *set, bool training, weft_options *options)
{
    WEFT_CHECK(!training, WEFT_ERR_DATA,
               "%s: images without classes, which nothing can be learned from: put them into folders train/CLASS/",
               set->name);
    WEFT_CHECK(!option_is_auto(options, OPT_IMAGE_MOMENTS), WEFT_ERR_USAGE,
               "the model does not say what its images were normalised by: give its run folder, or " FLAG_IMAGE_MOMENTS
               " and " FLAG_IMAGE_SIZE);
    return option_decide(options, OPT_LOSS, "xent");
}

weft_status dense_auto_decide(weft_comm *comm, const image_set *set, bool training, weft_options *options)
{
    if (set->classes == 0) {
        WEFT_TRY(decide_loose(set, training, options));
    }
    if (!option_is_auto(options, OPT_IMAGE_SIZE)) {
        WEFT_TRY(check_size(set, training, options));
    }
    WEFT_CHECK(!training || option_choice(options, OPT_LOSS) < LOSS_BCE, WEFT_ERR_USAGE,
               FLAG_LOSS " %s: networks on images have cross-entropy; leave it out", option_text(options, OPT_LOSS));
    if (training && option_is_auto(options, OPT_RECIPE)) {
        log_info("recipe images (auto)");
        WEFT_TRY(option_decide(options, OPT_RECIPE, "images"));
    }
    if (option_is_auto(options, OPT_MODEL)) {
        WEFT_TRY(decide_model(set, options));
    }
    if (net_is_file(option_text(options, OPT_MODEL)) && option_text(options, OPT_NETWORK)[0] == '\0') {
        WEFT_TRY(decide_network(comm, set, options));
    }
    WEFT_TRY(training ? decide_precondition(options) : WEFT_OK);
    if (option_is_auto(options, OPT_AUGMENT)) {
        WEFT_TRY(decide_augment(set, training, options));
    }
    if (option_is_auto(options, OPT_IMAGE_SIZE)) {
        WEFT_TRY(decide_size(set, options));
    }
    if (!option_is_auto(options, OPT_IMAGE_MOMENTS)) {
        return WEFT_OK;
    }
    if (!training) { /* they belong to the model */
        log_warn("the model does not say what its images were normalised by: the means and deviations of %s are "
                 "measured and taken, which are right only if it was trained on those; else give " FLAG_IMAGE_MOMENTS,
                 set->name);
    }
    return decide_moments(comm, set, options);
}

weft_status dense_open_network(const weft_options *options, network *net)
{
    const char *model = option_text(options, OPT_MODEL);
    const char *layers = option_text(options, OPT_NETWORK);
    *net = (network){.layers = 0};
    if (layers[0] == '\0') {
        return net_open(model, net);
    }
    WEFT_CHECK(net_is_file(model), WEFT_ERR_USAGE, "%s has the layers of a file .net, and %s is %s: leave one out",
               FLAG_NETWORK, FLAG_MODEL, model);
    return net_parse_line(layers, model, net);
}

/* "0.1,0.2" up to `stop` into values[count]. */
static bool read_numbers(const char **text, char stop, float *values, int64_t count)
{
    for (int64_t c = 0; c < count; ++c) {
        double value = 0.0;
        const char *end = NULL;
        if (!number_scan_real(*text, &end, &value) || *end != (c + 1 < count ? ',' : stop)) {
            return false;
        }
        values[c] = (float)value;
        *text = *end != '\0' ? end + 1 : end;
    }
    return true;
}

weft_status dense_size_of(const weft_options *options, int64_t *height, int64_t *width)
{
    const char *text = option_text(options, OPT_IMAGE_SIZE);
    char *cross = NULL;
    *height = *width = 0;
    if (option_is_auto(options, OPT_IMAGE_SIZE)) {
        return WEFT_OK;
    }
    *height = *width = strtol(text, &cross, 10);
    if (*cross == 'x') {
        *width = strtol(cross + 1, &cross, 10);
    }
    WEFT_CHECK(*cross == '\0' && *height >= 1 && *height <= IMAGE_SIDE_MAX && *width >= 1 && *width <= IMAGE_SIDE_MAX,
               WEFT_ERR_USAGE, "%s '%s': a height and a width from 1 to %d, such as 224x224", FLAG_IMAGE_SIZE, text,
               IMAGE_SIDE_MAX);
    return WEFT_OK;
}

int64_t dense_means_of(const weft_options *options)
{
    int64_t means = 1;
    for (const char *at = option_text(options, OPT_IMAGE_MOMENTS); *at != '\0' && *at != '/'; ++at) {
        means += *at == ',';
    }
    return means;
}

weft_status dense_check_moments(const weft_options *options)
{
    const char *text = option_text(options, OPT_IMAGE_MOMENTS), *rest = text;
    const int64_t means = dense_means_of(options);
    float mean[AUGMENT_CHANNELS_MAX], deviation[AUGMENT_CHANNELS_MAX];
    if (option_is_auto(options, OPT_IMAGE_MOMENTS)) {
        return WEFT_OK;
    }
    bool good = means <= AUGMENT_CHANNELS_MAX && read_numbers(&rest, '/', mean, means) &&
                read_numbers(&rest, '\0', deviation, means);
    for (int64_t c = 0; good && c < means; ++c) {
        good = deviation[c] > 0.0F;
    }
    WEFT_CHECK(good, WEFT_ERR_USAGE,
               "%s '%s': %lld means, '/', and as many deviations above 0, with commas between them", FLAG_IMAGE_MOMENTS,
               text, (long long)means);
    return WEFT_OK;
}

void dense_moments_of(const weft_options *options, float *mean, float *deviation)
{
    const char *rest = option_text(options, OPT_IMAGE_MOMENTS);
    const int64_t means = dense_means_of(options);
    (void)(read_numbers(&rest, '/', mean, means) && read_numbers(&rest, '\0', deviation, means));
}

static weft_status read_moments(const weft_options *options, bool trained, augment *a)
{
    const char *text = option_text(options, OPT_IMAGE_MOMENTS);
    const int64_t means = dense_means_of(options);
    const bool fits = means == augment_channels(a) || strchr(text, '/') == NULL;
    WEFT_CHECK(
        fits || !trained, WEFT_ERR_USAGE,
        "the model was trained on images of %lld channel(s) (%s %s), and these have %lld: give images of as many, "
        "such as .png or .jpg, which are brought to them, or a model for these",
        (long long)means, FLAG_IMAGE_MOMENTS, text, (long long)a->channels);
    WEFT_CHECK(fits, WEFT_ERR_USAGE,
               "%s '%s' is for images of %lld channel(s), and these have %lld: give as many means and deviations, or "
               "leave it out",
               FLAG_IMAGE_MOMENTS, text, (long long)means, (long long)a->channels);
    WEFT_TRY(dense_check_moments(options));
    dense_moments_of(options, a->mean, a->deviation);
    bool of_pixels = true;
    for (int64_t c = 0; c < means; ++c) {
        of_pixels = of_pixels && a->mean[c] >= 0.0F && a->mean[c] <= 1.0F && a->deviation[c] <= 1.0F;
    }
    WEFT_CHECK(
        of_pixels || trained, WEFT_ERR_USAGE,
        "%s '%s': pixels are numbers from 0 to 1, so means are, too, and deviations at most 1: divide those of 0 "
        "to 255 by 255, or leave it out",
        FLAG_IMAGE_MOMENTS, text);
    return WEFT_OK;
}

weft_status dense_augment_of(const image_set *set, const weft_options *options, bool trained, augment *a)
{
    const dense_augment kind = option_choice(options, OPT_AUGMENT);
    *a = (augment){.height = set->height,
                   .width = set->width,
                   .channels = set->channels,
                   .crop_height = set->height,
                   .crop_width = set->width,
                   .numbers = set->words > 0,
                   .erase = (float)option_real(options, OPT_RANDOM_ERASE)};
    if (kind == DENSE_AUGMENT_SHIFT || kind == DENSE_AUGMENT_FLIP || kind == DENSE_AUGMENT_CUTOUT) {
        a->pad = set->height / 8;
        a->flip = kind != DENSE_AUGMENT_SHIFT;
        a->cutout = kind == DENSE_AUGMENT_CUTOUT ? set->height / 4 : 0;
    }
    if (kind == DENSE_AUGMENT_CROP) {
        a->resized_crop = true;
        a->flip = true;
        a->area_least = 0.08F;
    }
    return read_moments(options, trained, a);
}
