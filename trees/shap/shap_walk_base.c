/* trees/shap/shap_walk_base.c: shap_walk.h for every x86-64. */
#define VISIT shap_visit_base
#include "trees/shap/shap_walk_body.h"
