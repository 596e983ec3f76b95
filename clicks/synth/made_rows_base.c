/* clicks/synth/made_rows_base.c: made_rows.h for the instruction set of its name. */
#define MADE_ROW made_row_base
#include "clicks/synth/made_rows_body.h"
