/* tests/toy/toy_list.c: the kinds of workload of two programs: weft_toy has that of tests/toy/toy.h alone, and
 * weft_toy_beside, where TOY_BESIDE is defined, has weft's own as well. */
#include "toy/toy.h"
#ifdef TOY_BESIDE
#include "app/dense/dense_workload.h"
#include "app/gnn/gnn_workload.h"

const workload_ops *const workload_list[] = {&toy_workload, &dense_workload, &gnn_workload, NULL};
#else
const workload_ops *const workload_list[] = {&toy_workload, NULL};
#endif
