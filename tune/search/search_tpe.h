/* tune/search/search_tpe.h: the densities that tree-structured Parzen estimators compare, for tests. */
#pragma once

#include "tune/search/parzen.h"

/* Of the history as it is now; they belong to the searcher. */
weft_status search_tpe_densities(searcher *s, parzen **good, parzen **others);
