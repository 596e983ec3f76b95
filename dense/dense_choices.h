/* dense/dense_choices.h: what options of image networks may say (base/option_words.h). */
#pragma once

#include "base/option_words.h"

#define DENSE_AUGMENTS(X)                                                                                              \
    X(DENSE_AUGMENT_AUTO, "auto")                                                                                      \
    X(DENSE_AUGMENT_NONE, "none")                                                                                      \
    X(DENSE_AUGMENT_SHIFT, "shift")                                                                                    \
    X(DENSE_AUGMENT_FLIP, "flip")                                                                                      \
    X(DENSE_AUGMENT_CUTOUT, "cutout")                                                                                  \
    X(DENSE_AUGMENT_CROP, "crop")
typedef enum dense_augment { DENSE_AUGMENTS(CHOICE_VALUE) } dense_augment;

#define DENSE_NORMS_OVER(X) X(DENSE_NORM_ALL, "all") X(DENSE_NORM_OWN, "own")
typedef enum dense_norm_over { DENSE_NORMS_OVER(CHOICE_VALUE) } dense_norm_over;

#define DENSE_CONVOLUTIONS(X)                                                                                          \
    X(DENSE_CONVOLUTION_AUTO, "auto")                                                                                  \
    X(DENSE_CONVOLUTION_DIRECT, "direct")                                                                              \
    X(DENSE_CONVOLUTION_WINOGRAD, "winograd")
typedef enum dense_convolution { DENSE_CONVOLUTIONS(CHOICE_VALUE) } dense_convolution;
