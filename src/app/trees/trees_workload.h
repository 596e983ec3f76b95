/* app/trees/trees_workload.h: boosted trees on tables as a kind of workload (app/workload/workload.h). */
#pragma once

#include "app/workload/workload.h"

extern const workload_ops trees_workload;
