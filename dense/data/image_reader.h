/*
 * dense/data/image_reader.h: a reader opens one layout of image data sets. A new layout is a file with an image_reader
 * and a row in image_set.c.
 *
 * A reader fills in an image_set and its store (image_store.h): how many samples each split has, their labels, and a
 * function that makes a sample. Its files are wrong until checked.
 */
#pragma once

#include "base/file.h"
#include "dense/data/image_hash.h"
#include "dense/data/image_set.h"
#include "dense/data/image_store.h"
#include "io/name_list.h"

typedef struct image_reader {
    image_format format;
    /* Returns true if a path looks like this layout. Cheap, and never fails. */
    bool (*matches)(const char *path);
    /* Fill in everything of a zeroed set but its name, its format and the images set apart; set->store is there.
     * Everything that the reader took is closed with the set, also when open fails. options->memory is above 0, the
     * part of a rank, and the same on all ranks. Collective for readers that divide the work. */
    weft_status (*open)(weft_comm *comm, const char *path, const image_options *options, image_set *set);
} image_reader;

extern const image_reader image_reader_idx;
extern const image_reader image_reader_cifar;
extern const image_reader image_reader_folders;
extern const image_reader image_reader_classes; /* folders of classes without splits */
extern const image_reader image_reader_tar;
extern const image_reader image_reader_loose;
extern const image_reader image_reader_synth;
extern const image_reader image_reader_text; /* of image_options.text: dense/data/texts/text_set.h */

/* Finds a data set of images further down in a folder that is none itself (image_inner.c). [out] found: the path of the
 * one set below `path`; "": there is none. WEFT_ERR_DATA: there are several, which are named, or files in Python's
 * pickle format, which is not read. */
weft_status image_inner_find(const char *path, char found[FILE_PATH_MAX]);
/* Returns true if image_inner_find would find or refuse something. */
bool image_inner_exists(const char *path);

/* Allocates the set's class names: [classes] of IMAGE_NAME_BYTES. */
weft_status image_set_name_classes(image_set *set, int64_t classes);

/* Reads the lines of a text that hold something, without blanks at their ends, in composed letters. [out] names: for
 * name_list_free. */
weft_status image_names_read(const char *path, name_list *names);

/*
 * Names the classes of a set whose labels are numbers without a meaning of their own. The lines of FOLDER/classes.txt
 * or FOLDER/labels.txt name them from 0, or from 1 where no label is 0 and there are as many names. Without names,
 * labels 1 to C become classes 0 to C - 1, called "1" to "C"; not for a trained model, which may know more classes than
 * these data have. The log says which it was. The parts' labels are as in the files before; test labels are of the file
 * `tests`. WEFT_ERR_DATA: a test label that no training image has.
 */
weft_status image_name_labels(const char *folder, const char *tests, bool trained, image_set *set);

/* The name of the option that bounds the memory of images, for messages. */
const char *image_memory_flag(const image_options *options);
