/* trees/shap/shap_walk_avx2.c: shap_walk.h for the instruction set of its name. */
#define VISIT shap_visit_avx2
#include "trees/shap/shap_walk_body.h"
