/* app/dense/options/dense_options.c: the table of the options of images, with its recipe and words of other
 * programs. */
#include "app/dense/options/dense_options.h"

#define OPTION_TABLE_FILE "app/dense/options/dense_table.def"
#include "option/table_rows_body.h"

static const option_section sections[] = {
    {"images", "Images", "Batches of images.", NULL, "train,bench,eval,predict,focus", OPTION_STAYS},
    {NULL, NULL, NULL, NULL, NULL, OPTION_CHANGES},
};

/* What images add to the options of all jobs. */
static const option_addition additions[] = {
    {OPT_DATA, "IMAGES", "",
     "images: a folder of MNIST, CIFAR, train/CLASS/*.jpg or CLASS/*.jpg, a tar of such, or generated ones, e.g. "
     "synth:images"},
    {OPT_MODEL, "FILE.net",
     "lenet|mlp|resnet-9|resnet-20|resnet-32|resnet-44|resnet-56|resnet-18|resnet-50|wide-resnet-28-1|wide-resnet-28-2|"
     "wide-resnet-28-4|wide-resnet-28-8|wide-resnet-28-10|alexnet|vgg-11|vgg-16|mobilenet-v1|mobilenet-v2|densenet-121|"
     "convnext-tiny",
     "images: lenet, mlp, resnet-20, -32, -44, -56, -9, -18, -50, wide-resnet-28-K, alexnet, vgg-11, -16, "
     "mobilenet-v1, "
     "-v2, densenet-121, convnext-tiny, or a network of your own (docs/networks.md); auto by their size"},
    {OPT_RECIPE, "", "images", "images: auto = images, for batches of 128 and less"},
    {OPTION_NONE, NULL, NULL, NULL},
};

/* Networks on images; batches of 128 and less. */
static const option_recipe_setting recipes[] = {
    {"images", OPT_EPOCHS, "20"},         {"images", OPT_OPTIMIZER, "sgd"},
    {"images", OPT_LR, "0.05"},           {"images", OPT_MOMENTUM, "0.9"},
    {"images", OPT_WEIGHT_DECAY, "5e-4"}, {"images", OPT_SCHEDULE, "linear"},
    {"images", OPT_WARMUP, "2"},          {NULL, OPTION_NONE, NULL},
};

static const option_foreign foreigns[] = {
    {"minibatch,mini-batch,batch-num,num-batches",
     "--batch-size B is the number of images of a step; graphs are trained in full batch"},
    {"num-workers,num-loader-workers,data-workers,prefetch-factor,pin-memory,persistent-workers,"
     "dataloader-num-workers",
     "--loader-threads N of each rank prepare images beside the training; --threads N are those that compute, mpirun "
     "-np the ranks"},
    {"augmentation,augmentations,data-augmentation,transform,transforms,auto-augment,autoaugment,randaugment,"
     "cutmix,random-crop,random-flip,hflip,crop,flip",
     "--augment none|shift|flip|cutout|crop varies training images, --random-erase P and --mixup ALPHA besides"},
    {"imgsz,img-size,imsize,image-resolution,resolution,input-size,crop-size,crop-pct",
     "--image-size HEIGHTxWIDTH is what images are scaled to"},
    {"drop-last,shuffle,no-shuffle,random-sampler,bucket-sampler",
     "images are shuffled anew every epoch by --seed, and the last batch may be short: every image counts once"},
    {"per-device-train-batch-size,train-batch-size",
     "--batch-size B is the samples of a step over all ranks together: ranks times those of a device"},
    {"eval-batch-size,test-batch-size,val-batch-size,batch-size-test,per-device-eval-batch-size",
     "--batch-size B serves evaluation too, and changes no score"},
    {NULL, NULL},
};

static const option_foreign_value values[] = {
    {OPT_MODEL,
     "vgg,vgg13,vgg19,densenet,mobilenet,mobilenet-v3,efficientnet,"
     "efficientnet-b0,inception,inception-v3,googlenet,squeezenet,shufflenet,resnext,resnext50,convnext,vit,swin,unet,"
     "u-net,yolo,yolov5,yolov8,resnet-34,resnet-101,resnet-152,resnet-110,cnn,simplecnn",
     "there is no network of that name: weft train --help=model lists those that there are, and a file of layers is "
     "another (docs/networks.md)"},
    {OPTION_NONE, NULL, NULL},
};

static const option_synonym synonyms[] = {
    {OPT_MODEL, "lenet5,lenet-5", "lenet"},
    {OPT_MODEL, "wrn-28-1", "wide-resnet-28-1"},
    {OPT_MODEL, "wrn-28-10", "wide-resnet-28-10"},
    {OPTION_NONE, NULL, NULL},
};

const option_table dense_option_table = {
    .number = DENSE_TABLE,
    .traits = "images|networks|batches|gradients",
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .needs = needs,
    .sections = sections,
    .additions = additions,
    .recipes = recipes,
    .synonyms = synonyms,
    .foreigns = foreigns,
    .values = values,
};
