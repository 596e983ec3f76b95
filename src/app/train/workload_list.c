/* app/train/workload_list.c: the kinds of workload that this program has; see app/workload/workload.h. The last kind is
 * the one of jobs that no kind claims. */
#include "app/clicks/clicks_workload.h"
#include "app/dense/dense_workload.h"
#include "app/dense/text_workload.h"
#include "app/gnn/gnn_workload.h"
#include "app/trees/trees_workload.h"

const workload_ops *const workload_list[] = {&clicks_workload, &trees_workload, &text_workload,
                                             &dense_workload,  &gnn_workload,   NULL};
