/* app/dense/options/dense_options.h: the ids of the options of jobs on images, as app/options/app_options.h has those
 * of all jobs. */
#ifndef WEFT_APP_DENSE_DENSE_OPTIONS_H
#define WEFT_APP_DENSE_DENSE_OPTIONS_H

#include "app/options/app_options.h"
#include "dense/data/image_set.h"
#include "dense/dense_choices.h"

enum { DENSE_TABLE = 2 };

enum {
    OPT_BEFORE_DENSE = OPTION_TABLE_FIRST(DENSE_TABLE) - 1,
#undef OPTION
#define OPTION(id, ...) OPT_##id,
#include "app/dense/options/dense_table.def"
#undef OPTION
};

#define CHOICES(type, LIST) type
#define WORDS(text)         void
#define OPTION              OPTION_CHOICE_TYPE
#include "app/dense/options/dense_table.def"
#undef OPTION
#undef WORDS
#undef CHOICES

extern const option_table dense_option_table;

#endif
