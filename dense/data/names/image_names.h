/*
 * dense/data/names/image_names.h: what the name of a file says in a set of images: split, class, or that it is none. A
 * part of image_list.c.
 *
 *      data/train/bee/wings/7.jpg        split train, class bee
 *      bee/7.jpg                         class bee, where no name of the set has a split
 *
 * Words of splits are train, training; val, valid, validation; test, testing, in capitals or not. The split is the
 * deepest folder of such a name that has a class below it; all folders below the class belong to the class.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parts of a name; they point into it. */
typedef struct image_words {
    int32_t split;     /* of train/model.h */
    const char *word;  /* the split's folder, */
    size_t word_bytes; /* its length */
    const char *class; /* CLASS/.../FILE */
    size_t class_bytes;
} image_words;

/* Returns the split that a folder's name means, or -1. */
int image_word_split(const char *word, size_t bytes);
/* Returns the words that a folder's name may have been meant for ("val", "val or test"); NULL: it is like none. */
const char *image_word_meant(const char *word, size_t bytes);

/* Returns true if the last part of a name ends as images do that are read: .jpg, .jpeg, .png. */
bool image_name_is_read(const char *name);
/* Returns the ending of an image of a kind that is not read (".bmp"), from a fixed list; NULL: it is no such image. */
const char *image_name_foreign(const char *name);
/* Returns true for texts and tables about images, and for what systems leave behind: hidden files, Thumbs.db,
 * __MACOSX. */
bool image_name_lies_beside(const char *name);

/* Returns false if no folder of the name is a split with a class below. rooted: the split is the first folder, else the
 * deepest. */
bool image_name_in_split(const char *name, bool rooted, image_words *words);
/* The class is the first folder behind the first `root` bytes. Returns false if there is none. */
bool image_name_in_class(const char *name, size_t root, image_words *words);
