/* clicks/model/click_sizes.h: whether the sizes of a model fit together. */
#pragma once

#include "clicks/model/click_model.h"

/* word: the model's name for messages. WEFT_ERR_USAGE names the option and the cure. */
weft_status click_check_desc(const click_model_desc *desc, const char *word);
