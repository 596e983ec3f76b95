/* app/options/foreign_words.h: the words of other programs that table 0 has; each list ends with words == NULL. */
#pragma once

#include "option/option.h"

extern const option_foreign app_foreigns[];
extern const option_foreign_value app_foreign_values[];
extern const option_foreign app_foreign_commands[];
extern const option_synonym app_synonyms[];
