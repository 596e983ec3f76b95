/* trees/forest/forest_walk_base.c: forest_walk.h for every x86-64. */
#define WALK forest_walk_base
#include "trees/forest/forest_walk_body.h"
