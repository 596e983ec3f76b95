/*
 * app/dense/text_workload.h: training of networks on texts, as a workload: texts of a table's column
 * (dense/data/texts/text_set.h) and a network of the zoo or of a user's own that begins with `embed`. All else is as
 * for images: a text is an image of one word a pixel.
 */
#pragma once

#include "app/workload/workload.h"

extern const workload_ops text_workload;
