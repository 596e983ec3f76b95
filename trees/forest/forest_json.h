/*
 * trees/forest/forest_json.h: forests as files that XGBoost reads, and forests that XGBoost wrote.
 *
 * The form is XGBoost's JSON model of versions 1.7 to 3: one object with learner.gradient_booster.model.trees, whose
 * arrays have one element a node. What that form has no place for stands in learner.attributes, texts that XGBoost
 * keeps: the base margins to the last bit, the names of classes, and the words of categories.
 *
 * Models of the booster dart are read too: leaves take the weights of their trees. So are LightGBM's text models
 * (forest_lightgbm.h).
 */
#pragma once

#include <stdio.h>

#include "io/name_list.h"
#include "trees/forest/forest.h"
#include "trees/loss/tree_loss.h"

/* What a model is beside its trees. */
typedef struct forest_facts {
    tree_loss loss;
    double quantile; /* of TREE_LOSS_QUANTILE */
    char **column;   /* [columns] names; NULL: the file has none */
    int columns;
    name_list *words;  /* [columns] of code 0, 1, ... of a column of categories; NULL: the file has none */
    char **class_name; /* [classes] in the order of the outputs, both classes under logistic; NULL: the file has none */
    int classes;
} forest_facts;

/* Writes to a stream; its errors stay there. */
void forest_write(const weft_forest *forest, const forest_facts *facts, FILE *out);
/*
 * [out] forest, facts: for forest_destroy and forest_facts_free, also after a failure. name: for messages.
 * WEFT_ERR_DATA: what is wrong with which tree: damaged, cyclic, or with lengths that disagree. WEFT_ERR_UNSUPPORTED: a
 * booster, an objective or a kind of split that this program does not know.
 */
weft_status forest_read(const char *name, const char *text, size_t bytes, weft_forest *forest, forest_facts *facts);
void forest_facts_free(forest_facts *facts);
