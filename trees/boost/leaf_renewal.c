/* trees/boost/leaf_renewal.c: see trees/boost/leaf_renewal.h. */
#include "trees/boost/leaf_renewal.h"

#include "trees/loss/leaf_quantiles.h"

/* [out] left[rows]: y - margin. [out] quantile[nodes]: zeros. */
static weft_status residuals(const tree_targets *targets, const float *margin, int32_t nodes, float **left,
                             float **quantile)
{
    WEFT_TRY(WEFT_NEW(left, targets->rows, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(quantile, nodes, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < targets->rows; ++i) {
        (*left)[i] = targets->counts[i] != 0 ? targets->y[i] - margin[i] : 0.0F;
    }
    return WEFT_OK;
}

weft_status boost_renew_leaves(weft_comm *comm, const tree_targets *targets, const float *margin, const int32_t *leaf,
                               double rate, weft_tree *tree)
{
    const double share = tree_loss_quantile(targets);
    float *left = NULL, *quantile = NULL;
    if (share == 0.0) {
        return WEFT_OK;
    }
    weft_status status;
    const weft_status local = residuals(targets, margin, tree->nodes, &left, &quantile);
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    const leaf_rows rows = {targets->rows, leaf, left, targets->weight, targets->counts};
    WEFT_TRY_GOTO(leaf_quantiles(comm, &rows, tree->nodes, share, quantile), status, done);
    for (int32_t n = 0; n < tree->nodes; ++n) {
        if (tree->node[n].left < 0) {
            tree->node[n].value = tree->node[n].weight = (float)(rate * (double)quantile[n]);
        }
    }
done:
    WEFT_FREE_ALL(left, quantile);
    return status;
}
