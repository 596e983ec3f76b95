/* tests/toy/toy.h: linear models of tables as a kind of workload (app/workload/workload.h). */
#ifndef WEFT_TESTS_TOY_TOY_H
#define WEFT_TESTS_TOY_TOY_H

#include "app/workload/workload.h"

extern const workload_ops toy_workload;

#endif
