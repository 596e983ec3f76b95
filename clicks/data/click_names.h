/* clicks/data/click_names.h: names of columns as a text that options and records hold: "user,item;price". A backslash
 * stands in front of a comma, a semicolon or a backslash of a name. */
#pragma once

#include "io/name_list.h"

/* [out] text: for weft_free. */
weft_status click_names_join(const name_list *fields, const name_list *numbers, char **text);
/* [out] fields, numbers: for name_list_free, also after a failure. WEFT_ERR_USAGE: flag and what is wrong. */
weft_status click_names_parse(const char *flag, const char *text, name_list *fields, name_list *numbers);
