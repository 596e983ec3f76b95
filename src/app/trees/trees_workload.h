/* app/trees/trees_workload.h: boosted trees on tables as a kind of workload (app/workload/workload.h). */
#ifndef WEFT_APP_TREES_TREES_WORKLOAD_H
#define WEFT_APP_TREES_TREES_WORKLOAD_H

#include "app/workload/workload.h"

extern const workload_ops trees_workload;

#endif
