/* trees/loss/logistic_avx512.c: logistic.h for the instruction set of its name. */
#define LOGISTIC logistic_avx512
#include "trees/loss/logistic_body.h"
