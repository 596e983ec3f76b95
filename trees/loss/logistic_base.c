/* trees/loss/logistic_base.c: logistic.h for every x86-64. */
#define LOGISTIC logistic_base
#include "trees/loss/logistic_body.h"
