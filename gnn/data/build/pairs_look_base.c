/* gnn/data/build/pairs_look_base.c: see gnn/data/build/pairs_look.h. */
#define PAIRS_LOOK pairs_look_base
#include "gnn/data/build/pairs_look_body.h"
