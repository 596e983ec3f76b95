/* clicks/synth/made_rows_avx512.c: made_rows.h for the instruction set of its name. */
#define MADE_ROW made_row_avx512
#include "clicks/synth/made_rows_body.h"
