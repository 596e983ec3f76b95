/* trees/boost/boost.c: see trees/boost/boost.h. */
#include "trees/boost/boost.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "trees/boost/dropped.h"
#include "trees/boost/leaf_renewal.h"
#include "trees/loss/rank_loss.h"

struct tree_boost {
    weft_comm *comm;
    weft_hal *hal;
    const tree_columns *data;
    const tree_targets *targets;
    tree_cuts cuts;
    tree_bins bins;
    tree_grower *grower;
    weft_forest forest;
    double drop, skip, rate;
    float base;                /* as in boost_options */
    float *margin;             /* [rows, outputs] */
    float *gradient, *hessian; /* [outputs, rows] */
    int32_t *leaf;             /* [rows] */
    double loss;               /* of this rank's rows before the last round */
};

/* Is it a threshold of which the bins of a column tell the sides? Above infinity are missing values alone. */
static bool cuts_tell(const tree_cuts *cuts, int column, float threshold)
{
    for (int32_t at = cuts->first[column]; at < cuts->first[column + 1]; ++at) {
        if (cuts->value[at] == threshold) {
            return true;
        }
    }
    return threshold == INFINITY;
}

/* Do a row's bins lead it where its numbers do? */
static bool cuts_tell_all(const tree_cuts *cuts, const weft_forest *forest)
{
    bool tell = true;
    for (int t = 0; t < forest->trees; ++t) {
        const weft_tree *tree = &forest->tree[t];
        for (int32_t n = 0; n < tree->nodes && tell; ++n) {
            const tree_node *node = &tree->node[n];
            tell = node->left < 0 || node->set_words != 0 || cuts_tell(cuts, node->feature, node->value);
        }
    }
    return tell;
}

static weft_status allocate(tree_boost *b, const boost_options *options)
{
    const bool tell = options->begun == NULL || cuts_tell_all(&b->cuts, options->begun);
    const tree_release release = tell ? options->release : (tree_release){0};
    const int64_t rows = b->data->rows, outputs = b->targets->outputs;
    WEFT_TRY(tree_bins_create(b->hal, b->data, &b->cuts, &release, &b->bins));
    WEFT_TRY(forest_create(b->data->columns, (int)outputs, &b->forest));
    WEFT_TRY(WEFT_NEW(&b->margin, rows * outputs, WEFT_MEM_TREES));
    WEFT_TRY(WEFT_NEW(&b->gradient, rows * outputs, WEFT_MEM_TREES));
    WEFT_TRY(WEFT_NEW(&b->hessian, rows * outputs, WEFT_MEM_TREES));
    return WEFT_NEW(&b->leaf, rows, WEFT_MEM_TREES);
}

weft_status boost_restart(tree_boost *b)
{
    forest_cut(&b->forest, 0);
    if (isnan(b->base)) {
        WEFT_TRY(tree_base(b->comm, b->targets, b->forest.base));
    } else {
        b->forest.base[0] = b->base;
    }
    for (int64_t i = 0; i < b->data->rows; ++i) {
        memcpy(b->margin + i * b->forest.outputs, b->forest.base, (size_t)b->forest.outputs * sizeof *b->margin);
    }
    return WEFT_OK;
}

static weft_status begin(tree_boost *b, const boost_options *options)
{
    WEFT_TRY(tree_cuts_find(b->comm, b->data, b->targets->counts, options->values, b->hal->threads, &b->cuts));
    WEFT_TRY(comm_agree(b->comm, allocate(b, options)));
    return grower_create(b->comm, b->data, &b->bins, &b->cuts, b->targets->counts, &options->growth, &b->grower);
}

weft_status boost_create(weft_comm *comm, weft_hal *hal, const tree_columns *data, const tree_targets *targets,
                         const boost_options *options, tree_boost **boost)
{
    tree_boost *b = NULL;
    *boost = NULL;
    WEFT_TRY(comm_agree(comm, WEFT_NEW_ZERO(&b, 1, WEFT_MEM_TREES)));
    b->comm = comm;
    b->hal = hal;
    b->data = data;
    b->targets = targets;
    b->drop = options->drop;
    b->skip = options->skip;
    b->rate = options->growth.rate;
    b->base = options->base;
    const weft_status status = begin(b, options);
    if (status != WEFT_OK) {
        boost_destroy(b);
        return status;
    }
    *boost = b;
    return WEFT_OK;
}

void boost_destroy(tree_boost *b)
{
    if (b != NULL) {
        grower_destroy(b->grower);
        forest_destroy(&b->forest);
        tree_bins_destroy(&b->bins);
        tree_cuts_destroy(&b->cuts);
        WEFT_FREE_ALL(b->margin, b->gradient, b->hessian, b->leaf, b);
    }
}

static void add_leaves(tree_boost *b, const weft_tree *tree, int output)
{
    const int outputs = b->forest.outputs;
#pragma omp parallel for schedule(static) num_threads(b->hal->threads)
    for (int64_t i = 0; i < b->data->rows; ++i) {
        b->margin[i * outputs + output] += tree->node[b->leaf[i]].value;
    }
}

/* Adds a tree for each output. keep: margins take their leaves. */
static weft_status grow_trees(tree_boost *b, uint64_t seed, bool keep)
{
    const int64_t rows = b->data->rows;
    const tree_targets *t = b->targets;
    if (t->loss == TREE_LOSS_RANK) {
        WEFT_TRY(rank_gradients(b->comm, t->groups, b->margin, t->weight, b->gradient, b->hessian));
        b->loss = t->groups->loss;
    } else {
        b->loss = tree_gradients(t, b->margin, b->hal->threads, b->gradient, b->hessian);
    }
    for (int k = 0; k < b->forest.outputs; ++k) {
        weft_tree tree = {0};
        weft_status status = grower_grow(b->grower, b->gradient + k * rows, b->hessian + k * rows, seed,
                                         b->forest.trees, &tree, b->leaf);
        status =
            status == WEFT_OK ? boost_renew_leaves(b->comm, b->targets, b->margin, b->leaf, b->rate, &tree) : status;
        if (status == WEFT_OK) {
            if (keep) {
                add_leaves(b, &tree, k);
            }
            status = comm_agree(b->comm, forest_add(&b->forest, &tree));
        }
        tree_destroy(&tree);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}

/* A round that leaves some of the earlier ones out. */
static weft_status grow_with_dropped(tree_boost *b, uint64_t seed, uint8_t *out)
{
    const int rounds = b->forest.trees / b->forest.outputs;
    const int count = dropped_draw(b->drop, b->skip, seed, rounds, out);
    if (count == 0) {
        return grow_trees(b, seed, true);
    }
    const double loss = b->targets->loss == TREE_LOSS_RANK
                            ? 0.0
                            : tree_gradients(b->targets, b->margin, b->hal->threads, b->gradient, b->hessian);
    WEFT_TRY(comm_agree(b->comm, dropped_margins(&b->forest, b->data, out, rounds, b->hal->threads, b->margin)));
    WEFT_TRY(grow_trees(b, seed, false));
    b->loss = b->targets->loss == TREE_LOSS_RANK ? b->loss : loss; /* of all trees, not of those that were left */
    dropped_scale(&b->forest, out, rounds, count, b->rate);
    return comm_agree(b->comm, forest_margins(&b->forest, b->data, 0, b->forest.trees, b->hal->threads, b->margin));
}

weft_status boost_round(tree_boost *b, uint64_t seed)
{
    uint8_t *out = NULL;
    if (!(b->drop > 0.0)) {
        return grow_trees(b, seed, true);
    }
    WEFT_TRY(comm_agree(b->comm, WEFT_NEW(&out, b->forest.trees / b->forest.outputs, WEFT_MEM_WORKSPACE)));
    const weft_status status = grow_with_dropped(b, seed, out);
    weft_free(out);
    return status;
}

static weft_status take_forest(tree_boost *b, const weft_forest *forest)
{
    assert(forest->columns == b->forest.columns && forest->outputs == b->forest.outputs);
    forest_destroy(&b->forest);
    WEFT_TRY(forest_copy(forest, forest->trees, &b->forest));
    return forest_margins(&b->forest, b->data, 0, forest->trees, b->hal->threads, b->margin);
}

weft_status boost_resume(tree_boost *b, const weft_forest *forest)
{
    return comm_agree(b->comm, take_forest(b, forest));
}

const tree_grower *boost_grower(const tree_boost *b)
{
    return b->grower;
}

const tree_bins *boost_bins(const tree_boost *b)
{
    return &b->bins;
}

const weft_forest *boost_forest(const tree_boost *b)
{
    return &b->forest;
}

const float *boost_margins(const tree_boost *b)
{
    return b->margin;
}

float *boost_take_margins(tree_boost *b)
{
    float *margin = b->margin;
    b->margin = NULL;
    return margin;
}

double boost_loss(const tree_boost *b)
{
    return b->loss;
}
