/* app/clicks/clicks_workload.h: models of clicks over rows of embeddings, as a kind of workload
 * (app/workload/workload.h). */
#pragma once

#include "app/workload/workload.h"

extern const workload_ops clicks_workload;
