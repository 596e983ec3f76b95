#include "tune/search/searcher_internal.h"
void search_sobol(const searcher *s, double *values) { search_draws d = search_draws_of(s); search_random(s->space, &d, values); }
