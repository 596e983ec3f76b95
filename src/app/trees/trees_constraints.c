/* app/trees/trees_constraints.c: what options demand of columns by their names. */
#include "app/trees/trees_job.h"
#include "trees/grow/constraints.h"

weft_status trees_constrain(workload *work)
{
    trees_job *job = work->self;
    const weft_options *o = work->context->options;
    const tree_rows *rows = &job->rows;
    tree_growth *growth = &job->options.growth;
    char **name = NULL;
    WEFT_FREE_ALL(job->direction, job->group);
    job->direction = NULL;
    job->group = NULL;
    WEFT_TRY(WEFT_NEW(&name, rows->data.columns, WEFT_MEM_WORKSPACE));
    for (int c = 0; c < rows->data.columns; ++c) {
        name[c] = trees_column_name(job, c);
    }
    weft_status status = constraints_directions(FLAG_TREE_MONOTONE, option_text(o, OPT_TREE_MONOTONE), &rows->data,
                                                name, &job->direction);
    status = status == WEFT_OK ? constraints_groups(FLAG_TREE_INTERACTIONS, option_text(o, OPT_TREE_INTERACTIONS),
                                                    rows->data.columns, name, &job->group, &growth->interactions)
                               : status;
    growth->direction = job->direction;
    weft_free(name);
    return status;
}
