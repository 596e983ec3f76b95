/* app/gnn/bench/bench_spmm.h: weft bench spmm. */
#pragma once

#include "app/bench/bench.h"

enum { SPMM_DATA_MAX = 16, SPMM_DATA_BYTES = 1024 };

extern const bench_kind bench_spmm;

/* "a.weft,synth:reddit,scale=0.1,b.weft": graphs separated by commas; what holds a '=' belongs to the generated graph
 * before it. WEFT_ERR_USAGE when one is empty or there are too many. */
weft_status bench_data_parse(const char *text, char data[SPMM_DATA_MAX][SPMM_DATA_BYTES], int *count);
