/*
 * dense/data/image_set.h: a data set of labelled images, opened: any sample of any split by its number.
 *
 *      image_set *set;
 *      WEFT_TRY(image_set_open(comm, "mnist/", &options, &set));
 *      WEFT_TRY(image_set_read(set, IMAGE_TEST, 7, pixels, &label));       uint8 [height, width, channels]
 *
 * The names of files tell the format of a path:
 *
 *      idx        train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-...    a folder; MNIST and its like
 *      cifar      data_batch_*.bin, test_batch.bin; train.bin, test.bin         a folder; CIFAR-10, CIFAR-100
 *      folders    train/CLASS/NAME.jpg, {val,test}/CLASS/NAME.png; or CLASS/NAME.jpg alone    a folder
 *      tar        the same names in one archive                                 .tar, .tar.gz, .tar.xz
 *      loose      NAME.jpg, NAME.png: images without classes, to be answered    a folder, or one file
 *      synth      synth:images,n=..,size=..                                     made from a seed
 *
 * A folder that holds one of these two levels further down stands for it (image_inner.c).
 *
 * All samples have one size. IDX and CIFAR files are mapped, or unpacked, which a node keeps once; images of folders
 * and tars, and made ones, are decoded when they are first asked for and kept once a node, as many as fit `memory`; a
 * set that is read once (image_options.once) keeps none.
 * Files are wrong until checked: what they say about sizes decides no allocation, and errors name file, record, value,
 * limit and cure.
 */
#pragma once

#include "base/option_words.h"
#include "comm/comm.h"
#include "io/item_origin.h"
#include "train/model.h"

#define IMAGE_FORMATS(X)                                                                                               \
    X(IMAGE_FORMAT_AUTO, "auto")                                                                                       \
    X(IMAGE_FORMAT_IDX, "idx")                                                                                         \
    X(IMAGE_FORMAT_CIFAR, "cifar")                                                                                     \
    X(IMAGE_FORMAT_FOLDERS, "folders")                                                                                 \
    X(IMAGE_FORMAT_TAR, "tar")                                                                                         \
    X(IMAGE_FORMAT_LOOSE, "loose")                                                                                     \
    X(IMAGE_FORMAT_SYNTH, "synth")
typedef enum image_format { IMAGE_FORMATS(CHOICE_VALUE) } image_format;

extern weft_mem_tag WEFT_MEM_IMAGE[1]; /* what batches are made of, and batches */

/* The splits of train/model.h by name. */
enum { IMAGE_TRAIN, IMAGE_VALID, IMAGE_TEST };

enum {
    IMAGE_NAME_BYTES = 256 /* a name of a folder, with its NUL */,
    IMAGE_CLASSES_MAX = 1 << 16,
    IMAGE_SIDE_MAX = 1 << 15
};

typedef struct image_options {
    image_format format; /* AUTO: by its looks */
    /* Size that images with a file each are resized to; 0: the size that all of them have. */
    int64_t height, width;
    /* Channels that images with a file each are brought to: 1 or 3; 0: 1 if all are grey, else 3. */
    int64_t channels;
    /* [paths] files and folders of images without classes at several places; else NULL. */
    const char *const *path;
    int paths;
    bool trained;         /* for a trained model: training images may be missing, and need not be of every class */
    bool scores_training; /* for a trained model: evaluations go over training images, too */
    /* Samples will be read about once: decoded ones are not kept in memory, unless cache_folder names a folder or the
     * archive is packed. */
    bool once;
    int64_t valid; /* training images set apart for validation where the data have none; drawn by `seed` */
    uint64_t seed;
    uint64_t memory;          /* most bytes of pixels to hold on a node; 0: half of what it has */
    const char *memory_flag;  /* the option that bounds memory, for messages; NULL: --cache-memory */
    const char *cache_folder; /* on the node's disk, keeps pixels for this job and others; NULL: none */
    uint64_t cache_disk;      /* most bytes in that folder; 0: the free bytes, less a tenth of the disk */
    /* Folder of weft predict whose answers become the classes of all images; NULL: none. */
    const char *teacher;
    double temperature; /* above 0: image_set_shares gives its probabilities at that temperature */
    /* Classes to tell apart, "car,truck,other", where the last may stand for all that the images have beside; NULL:
     * all. */
    const char *choose;
    bool learnt; /* choose is a trained model's, whose classes these images need not have */
    int threads; /* >= 1 that look at images while opening */
    /* [known_count] boxes that are known to move, as image_set_origin gave them; with motion. NULL: they are found. */
    const item_origin *known;
    int64_t known_count;
    bool motion; /* files are frames of a still camera, and samples what moves in them (image_moving.h) */
    bool strict; /* a malformed file of an image is an error, not left out */
    const struct text_request *text; /* samples are texts of a table (dense/data/texts/text_set.h); NULL: images */
} image_options;

typedef struct image_set {
    char name[IMAGE_NAME_BYTES]; /* for logs: the last part of the path */
    char hash[33];               /* of the contents; of files of an image each: of names, sizes and classes */
    image_format format;
    int64_t height, width, channels; /* 1: grey, 3: red, green, blue; of texts: words, 1, bytes of a word's number */
    int64_t words;                   /* of texts: numbers that words have, from 0; 0: samples are images */
    char *vocabulary;                /* of texts: the words that have numbers (dense/data/texts/vocabulary.h) */
    int64_t classes;                 /* 0: loose ones, all of them to test; every label is 0 */
    char **class_name;               /* [classes] texts; NULL: classes have no names */
    int64_t count[TRAIN_SPLITS];     /* samples */
    int64_t labelled[TRAIN_SPLITS];  /* samples with a class that the model knows; the others have label -1 */
    bool scores_training;            /* as in the options */
    int64_t malformed;               /* images that were left out */
    struct image_store *store;       /* the room's own: image_store.h */
} image_set;

/* The place that a sample came from: this node's memory or disk, another node, or its file (or generator). */
typedef enum image_level {
    IMAGE_FROM_MEMORY,
    IMAGE_FROM_DISK,
    IMAGE_FROM_NODES,
    IMAGE_FROM_SOURCE,
    IMAGE_LEVELS
} image_level;

/* Samples and bytes that a rank has read since its set was opened. */
typedef struct image_use {
    int64_t samples[IMAGE_LEVELS];
    uint64_t source_bytes; /* read of folders and plain tars, looking at them when they are opened included */
} image_use;

/*
 * Open a data set. Collective; all ranks see the same files, and their contents are compared.
 * WEFT_ERR_NOINPUT: nothing is there, or a training file is missing. WEFT_ERR_DATA: malformed, or of no known layout.
 * WEFT_ERR_USAGE: a bad specification of synth, or options that do not fit. WEFT_ERR_RESOURCE: too large for memory.
 */
weft_status image_set_open(weft_comm *comm, const char *path, const image_options *options, image_set **set);
/* Close before comm is destroyed. Collective if a node has several ranks. NULL is allowed. */
void image_set_close(image_set *set);
/* Returns true if image_set_open would find images there, or says why not or why nobody can look, by the looks of the
 * path alone. Not collective. */
bool image_set_looks_like(const char *path);

/* Bytes of a sample: height * width * channels. */
int64_t image_set_bytes(const image_set *set);
/* Channels that a network reads: of texts 1, the number of a word. */
int64_t image_set_channels(const image_set *set);

/*
 * One sample. index: 0 .. count[split] - 1. [out] pixels uint8 [height, width, channels], label 0 .. classes - 1.
 * Any thread, beside others. Only images that are decoded one by one can fail (WEFT_ERR_IO; WEFT_ERR_DATA with strict);
 * without strict one that is found malformed now is mid-grey, and the first ones are told in the log.
 */
weft_status image_set_read(const image_set *set, int split, int64_t index, uint8_t *pixels, int32_t *label);
/* Returns the label of a sample without reading its pixels; -1: a class that the model does not know
 * (image_set_relabel). */
int32_t image_set_label(const image_set *set, int split, int64_t index);
/* Returns the name of a sample's file, below the path of the set; the set owns the text. NULL: the sample has no file
 * of its own. */
const char *image_set_file(const image_set *set, int split, int64_t index);

/* Where a sample comes from; sum 0: it has no file of its own. */
item_origin image_set_origin(const image_set *set, int split, int64_t index);

/*
 * Samples of an evaluation, in its order: validation, test and, with scores_training, training images.
 * [out] split, index: of the sample at a position 0 .. image_set_evaluated - 1.
 */
int64_t image_set_evaluated(const image_set *set);
void image_set_evaluated_at(const image_set *set, int64_t position, int *split, int64_t *index);

/*
 * Shares of the classes that a sample is taught by (image_options.teacher, with a temperature): image_set_has_shares
 * says whether there are any. [out] share: [set->classes], which add up to 1. Any thread.
 */
bool image_set_has_shares(const image_set *set);
double image_set_temperature(const image_set *set);
void image_set_shares(const image_set *set, int split, int64_t index, float *share);

/* [out] by_class: [set->classes] samples of all splits. */
void image_set_count_classes(const image_set *set, int64_t *by_class);
/* The set's classes become a model's: class_of [set->classes] is the model's class of each, or -1. names: [classes], or
 * NULL; copied. With 0 classes the images have none from now on. WEFT_ERR_RESOURCE. */
weft_status image_set_relabel(image_set *set, const int32_t *class_of, int64_t classes, char *const *names);

/*
 * Samples that no node could hold all of are spread over the nodes' memories when a set is opened, each at a home
 * (image_fetch.h). The rank that answers for one which `reader` has not in its own memory; -1: nobody need, or can.
 * reader -1: the one that answers, whoever asks. Any thread.
 */
bool image_set_is_spread(const image_set *set);
int image_set_server(const image_set *set, int split, int64_t index, int reader);
/* image_set_serve: reads pixels for another rank, like image_set_read, but does not count them as used by this rank.
 * image_set_note_fetched: counts a sample that came from another node. */
weft_status image_set_serve(const image_set *set, int split, int64_t index, uint8_t *pixels);
void image_set_note_fetched(const image_set *set);

/* Returns the counts of this rank. Any thread. */
image_use image_set_use(const image_set *set);

/* [out] mean, deviation [channels]: of the pixels of the training images as numbers 0 .. 1, exact sums over at most
 * 65536 of them. A deviation of 0 becomes 1. Collective, the same on all ranks. */
weft_status image_set_moments(weft_comm *comm, const image_set *set, float *mean, float *deviation);
