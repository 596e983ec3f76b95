/* app/workload/workload.c: see app/workload/workload.h. */
#include "app/workload/workload.h"

#include "base/clock.h"

const workload_ops *workload_of(const weft_options *options)
{
    const workload_ops *const *ops = workload_list;
    while (ops[1] != NULL && !(*ops)->takes(options)) {
        ++ops;
    }
    return *ops;
}

weft_status workload_begin(const workload_ops *ops, const app_context *context, workload *work)
{
    *work = (workload){.ops = ops, .context = context, .process = clock_rss_bytes(), .balance = 1.0};
    return comm_agree(context->comm, ops->begin(work));
}

weft_status workload_decide(workload *work, app_context *context, bool training)
{
    weft_options *copy = NULL;
    weft_status status = comm_agree(context->comm, option_copy(context->options, &copy));
    status = status == WEFT_OK ? work->ops->decide(work, copy, training) : status;
    if (status == WEFT_OK) {
        context->decided = copy;
        context->options = copy;
    } else {
        option_destroy(copy);
    }
    return status;
}

void workload_abandon(workload *work)
{
    if (work->self != NULL) {
        work->ops->abandon(work);
    }
}

void workload_end(workload *work)
{
    if (work->self != NULL) {
        work->ops->abandon(work);
        work->ops->end(work);
    }
    *work = (workload){.ops = NULL};
}
