/* trees/grow/split_hits_avx512.c: split_hits.h for the instruction set of its name. */
#define SPLIT_HITS split_hits_avx512
#include "trees/grow/split_hits_body.h"
