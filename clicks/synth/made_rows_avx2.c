/* clicks/synth/made_rows_avx2.c: made_rows.h for the instruction set of its name. */
#define MADE_ROW made_row_avx2
#include "clicks/synth/made_rows_body.h"
