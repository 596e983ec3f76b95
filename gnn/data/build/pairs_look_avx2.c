/* gnn/data/build/pairs_look_avx2.c: see gnn/data/build/pairs_look.h. */
#define PAIRS_LOOK pairs_look_avx2
#include "gnn/data/build/pairs_look_body.h"
