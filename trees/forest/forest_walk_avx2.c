/* trees/forest/forest_walk_avx2.c: forest_walk.h for the instruction set of its name. */
#define WALK forest_walk_avx2
#include "trees/forest/forest_walk_body.h"
