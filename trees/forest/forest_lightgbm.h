/*
 * trees/forest/forest_lightgbm.h: text models of LightGBM, versions 3 and 4, as forests.
 *
 * Nodes compare float32 with float32 here, and LightGBM double with double: x <= t becomes x < the least float32 above
 * t, so every float32 takes the way that it takes there. Leaves are rounded to float32, so a margin differs by 1e-7 of
 * the largest leaf a tree. Counts of rows are the covers of nodes. A set of categories goes left there and right here,
 * so those children change places.
 *
 * Refused by name: linear trees, random forests, objectives other than binary with sigmoid 1, multiclass, regression
 * and poisson, and zeros that are read as missing values where they do not go the way of zeros.
 */
#pragma once

#include "trees/forest/forest_json.h"

bool forest_is_lightgbm(const char *text, size_t bytes);
/* As forest_read (forest_json.h). */
weft_status forest_read_lightgbm(const char *name, const char *text, size_t bytes, weft_forest *forest,
                                 forest_facts *facts);
