/* app/trees/trees_drawings.c: drawings of a forest for reports: which columns its splits ask. */
#include "app/explain/drawing_json.h"
#include "app/trees/trees_job.h"

enum { SHOWN = 20 };

/* Adds up over the splits of each column. gain, cover: [columns]. */
static void add_splits(const weft_forest *forest, double *gain, double *cover)
{
    for (int t = 0; t < forest->trees; ++t) {
        for (int32_t n = 0; n < forest->tree[t].nodes; ++n) {
            const tree_node *node = &forest->tree[t].node[n];
            if (node->left >= 0) {
                gain[node->feature] += (double)node->gain;
                cover[node->feature] += node->hessian;
            }
        }
    }
}

static void draw(const workload *work, json_writer *json, const char *title, const double *value)
{
    const int columns = ((const trees_job *)work->self)->forest.columns;
    const char *name[SHOWN];
    double shown[SHOWN];
    int64_t leading[SHOWN];
    const int count = drawing_leading(value, columns, SHOWN, leading);
    for (int i = 0; i < count; ++i) {
        name[i] = trees_input_name(work, leading[i]);
        shown[i] = value[leading[i]];
    }
    drawing_json_bars(json, title, name, shown, count);
}

void trees_drawings(const workload *work, json_writer *json)
{
    const weft_forest *forest = &((const trees_job *)work->self)->forest;
    double *sum = NULL;
    if (WEFT_NEW_ZERO(&sum, 2 * (int64_t)forest->columns, WEFT_MEM_WORKSPACE) != WEFT_OK) {
        weft_error_clear(); /* a report without these drawings is one, too */
        return;
    }
    add_splits(forest, sum, sum + forest->columns);
    draw(work, json, "Importance by gain: by how much the splits of a column lower the loss", sum);
    draw(work, json, "Importance by cover: the hessians of the rows that a column's splits ask", sum + forest->columns);
    weft_free(sum);
}
