/* trees/loss/logistic_avx2.c: logistic.h for the instruction set of its name. */
#define LOGISTIC logistic_avx2
#include "trees/loss/logistic_body.h"
