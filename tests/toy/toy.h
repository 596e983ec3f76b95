/* tests/toy/toy.h: linear models of tables as a kind of workload (app/workload/workload.h). */
#pragma once

#include "app/workload/workload.h"

extern const workload_ops toy_workload;
