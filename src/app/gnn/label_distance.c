/* app/gnn/label_distance.c: how far the labels of parts are from those of the graph, which a training of several ranks
 * prints: where they are far, modes of synchronisation with local updates lose accuracy. */
#include "app/gnn/gnn_job.h"
#include "base/alloc.h"
#include "base/log.h"
#include "train/batch/batch_deal.h"

/* part: of this rank's training vertices; whole: of all ranks', the sums of which follow. */
static void count_training(const train_labels *labels, int64_t *part, int64_t *whole)
{
    const train_targets *t = &labels->targets;
    for (int64_t i = 0; i < t->rows; ++i) {
        if (labels->split[i] == TRAIN_SPLIT_TRAIN && labels->label[i] >= 0 && labels->label[i] < t->outputs) {
            part[labels->label[i]] += 1;
            whole[labels->label[i]] += 1;
        }
    }
}

weft_status gnn_tell_label_distance(const workload *work)
{
    const gnn_job *job = work->self;
    weft_comm *comm = work->context->comm;
    const int64_t classes = job->labels.targets.outputs;
    int64_t *part = NULL, *whole = NULL;
    if (comm_size(comm) == 1 ||
        job->labels.targets.loss != TRAIN_LOSS_XENT) { /* alike on all ranks, also on an empty one */
        return WEFT_OK;
    }
    weft_status status = WEFT_OK, local = WEFT_NEW_ZERO(&part, classes, WEFT_MEM_WORKSPACE);
    local = local == WEFT_OK ? WEFT_NEW_ZERO(&whole, classes, WEFT_MEM_WORKSPACE) : local;
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    count_training(&job->labels, part, whole);
    WEFT_TRY_GOTO(comm_allreduce(comm, whole, classes, WEFT_DTYPE_I64, COMM_SUM), status, done);
    const double own = label_distance(part, whole, classes);
    double most = own, sum = own;
    WEFT_TRY_GOTO(comm_allreduce(comm, &most, 1, WEFT_DTYPE_F64, COMM_MAX), status, done);
    WEFT_TRY_GOTO(comm_allreduce(comm, &sum, 1, WEFT_DTYPE_F64, COMM_SUM), status, done);
    log_info("labels of the parts' training vertices: distance %.3f from those of the graph, %.3f at most",
             sum / comm_size(comm), most);
done:
    WEFT_FREE_ALL(part, whole);
    return status;
}
