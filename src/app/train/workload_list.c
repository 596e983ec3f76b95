/* app/train/workload_list.c: the kinds of workload that this program has; see app/workload/workload.h. */
#include "app/gnn/gnn_workload.h"

const workload_ops *const workload_list[] = {&gnn_workload, NULL};
