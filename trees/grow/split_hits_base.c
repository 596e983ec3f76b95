/* trees/grow/split_hits_base.c: split_hits.h for every processor. */
#define SPLIT_HITS split_hits_base
#include "trees/grow/split_hits_body.h"
