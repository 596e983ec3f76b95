/* trees/forest/forest_words.h: the words of categories among a model's attributes. */
#pragma once

#include "io/json.h"
#include "trees/forest/forest_json.h"

/* attributes: an object, or NULL. [out] facts->words, of facts->columns columns. WEFT_ERR_DATA: a word is missing, or
 * the words of a column do not ascend. */
weft_status forest_words_read(const char *name, const json_value *attributes, forest_facts *facts);
