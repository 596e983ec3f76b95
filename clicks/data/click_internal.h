/* clicks/data/click_internal.h: what the files of clicks/data share. */
#pragma once

#include "clicks/data/click_rows.h"
#include "embed/embed_key.h"

/* Keys of a word, and of the hash of a word that a column of ids holds. bits: click_rows_options.hash_bits. */
uint64_t click_key_of_word(int field, const char *word, size_t bytes, int bits);
uint64_t click_key_of_id(int field, uint64_t id, int bits);

/* Splits the cells of a field, and makes the keys of their ids. Local, the same on all ranks. */
weft_status click_bag_take(click_rows *rows, int field, const char *path, const char *separator);
/* Logs what the bags of an open table are. */
void click_bags_tell(const click_rows *rows, const char *path);
/* Fields and numbers of an open table. Local, the same on all ranks. */
weft_status click_columns_take(click_rows *rows, const char *path, const click_rows_options *options);
/* Labels, splits and lists of rows. Local, the same on all ranks. */
weft_status click_labels_take(click_rows *rows, const char *path, int paths, const click_rows_options *options);
