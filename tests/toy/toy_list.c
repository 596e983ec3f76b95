/* tests/toy/toy_list.c: the kinds of workload of two programs: weft_toy has that of tests/toy/toy.c alone, and
 * weft_toy_beside, where TOY_BESIDE is defined, has weft's own as well. */
#ifdef TOY_BESIDE
#include "app/dense/dense_workload.h"
#include "app/dense/text_workload.h"
#include "app/gnn/gnn_workload.h"
#define BESIDE &text_workload, &dense_workload, &gnn_workload,
#else
#include "app/workload/workload.h"
#define BESIDE
#endif

extern const workload_ops toy_workload;
const workload_ops *const workload_list[] = {&toy_workload, BESIDE NULL};
