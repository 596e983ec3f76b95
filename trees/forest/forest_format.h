/* trees/forest/forest_format.h: what the reader and the writer of model files agree on. */
#pragma once

#include <float.h>

#include "trees/loss/tree_loss.h"

/* A threshold that stands for infinity, behind which only missing values go right. */
#define FOREST_ABOVE_ALL FLT_MAX
/* Attributes: their number follows. */
#define FOREST_BASE_KEY  "weft_base_"
#define FOREST_CLASS_KEY "weft_class_"
/* Column and code follow: weft_word_3_0. */
#define FOREST_WORD_KEY "weft_word_"

/* XGBoost's name of a loss. */
const char *forest_objective(tree_loss loss);
/* base_score is an answer, a probability for example, and trees add to margins. */
double forest_answer_of_margin(tree_loss loss, double margin);
double forest_margin_of_answer(tree_loss loss, double answer);
