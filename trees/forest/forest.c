/* trees/forest/forest.c: see trees/forest/forest.h. */
#include "trees/forest/forest.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/grow.h"
#include "base/integer/integers.h"
#include "base/isa.h"
#include "trees/forest/forest_walk.h"

weft_status forest_create(int columns, int outputs, weft_forest *forest)
{
    assert(outputs >= 1 && outputs <= FOREST_OUTPUTS_MAX);
    *forest = (weft_forest){.columns = columns, .outputs = outputs};
    return WEFT_NEW_ZERO(&forest->base, outputs, WEFT_MEM_TREES);
}

void tree_destroy(weft_tree *tree)
{
    WEFT_FREE_ALL(tree->node, tree->word);
    *tree = (weft_tree){0};
}

/* Words that a tree with this many has room for: a power of two, so that sets are added in linear time. */
static size_t room_for(int32_t words)
{
    size_t room = words > 0 ? 8 : 0;
    while (room < (size_t)words) {
        room *= 2;
    }
    return room;
}

weft_status tree_add_set(weft_tree *tree, int32_t codes, tree_node *node)
{
    const int32_t words = codes / 32 + (codes % 32 != 0 || codes == 0);
    WEFT_CHECK(tree->words <= INT32_MAX - words, WEFT_ERR_UNSUPPORTED,
               "a tree's sets of categories take more than %d words", INT32_MAX);
    const size_t room = room_for(tree->words + words);
    WEFT_TRY(room == room_for(tree->words)
                 ? WEFT_OK
                 : weft_realloc((void **)&tree->word, room, sizeof *tree->word, WEFT_MEM_TREES));
    memset(tree->word + tree->words, 0, (size_t)words * sizeof *tree->word);
    node->set = tree->words;
    node->set_words = words;
    tree->words += words;
    return WEFT_OK;
}

static weft_status copy_tree(const weft_tree *from, weft_tree *to)
{
    *to = (weft_tree){.nodes = from->nodes, .words = from->words};
    WEFT_TRY(WEFT_NEW(&to->node, to->nodes, WEFT_MEM_TREES));
    memcpy(to->node, from->node, (size_t)to->nodes * sizeof *to->node);
    if (from->words > 0) {
        WEFT_TRY(WEFT_NEW(&to->word, room_for(to->words), WEFT_MEM_TREES));
        memcpy(to->word, from->word, (size_t)to->words * sizeof *to->word);
    }
    return WEFT_OK;
}

void forest_cut(weft_forest *forest, int trees)
{
    while (forest->trees > trees) {
        tree_destroy(&forest->tree[--forest->trees]);
    }
}

void forest_destroy(weft_forest *forest)
{
    forest_cut(forest, 0);
    WEFT_FREE_ALL(forest->base, forest->tree);
    *forest = (weft_forest){0};
}

weft_status forest_add(weft_forest *forest, weft_tree *tree)
{
    WEFT_TRY(
        grow_array((void **)&forest->tree, sizeof *forest->tree, forest->trees, &forest->capacity, WEFT_MEM_TREES));
    forest->tree[forest->trees++] = *tree;
    *tree = (weft_tree){0};
    return WEFT_OK;
}

weft_status forest_copy(const weft_forest *from, int trees, weft_forest *to)
{
    assert(trees <= from->trees);
    WEFT_TRY(forest_create(from->columns, from->outputs, to));
    memcpy(to->base, from->base, (size_t)from->outputs * sizeof *to->base);
    for (int t = 0; t < trees; ++t) {
        weft_tree tree = {0};
        weft_status status = copy_tree(&from->tree[t], &tree);
        status = status == WEFT_OK ? forest_add(to, &tree) : status;
        tree_destroy(&tree);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}

int32_t tree_leaf(const weft_tree *tree, const float *value)
{
    int32_t at = 0;
    while (tree->node[at].left >= 0) {
        const tree_node *node = &tree->node[at];
        at = node->left + (tree_goes_left(tree, node, value[node->feature]) ? 0 : 1);
    }
    return at;
}

/* ---- answers of many rows ---------------------------------------------------------------------------------------- */

static void free_nodes(forest_nodes *nodes)
{
    WEFT_FREE_ALL(nodes->first, nodes->depth, nodes->left, nodes->feature, nodes->threshold, nodes->value,
                  nodes->missing);
}

static void put_node(const tree_node *from, int32_t root, int32_t at, forest_nodes *to)
{
    const bool leaf = from->left < 0;
    to->left[at] = leaf ? at : root + from->left;
    to->feature[at] = leaf ? 0 : from->feature;
    to->threshold[at] = leaf ? NAN : from->value;
    to->value[at] = from->value;
    to->missing[at] = !leaf && !from->default_left;
}

/* Children stand behind their parents, so one pass finds the depths. */
static weft_status put_tree(const weft_tree *tree, int number, forest_nodes *to)
{
    int *depth = NULL;
    const int32_t root = to->first[number];
    WEFT_TRY(WEFT_NEW_ZERO(&depth, tree->nodes, WEFT_MEM_WORKSPACE));
    to->depth[number] = 0;
    for (int32_t n = 0; n < tree->nodes; ++n) {
        const int32_t left = tree->node[n].left;
        put_node(&tree->node[n], root, root + n, to);
        if (left >= 0) {
            depth[left] = depth[left + 1] = depth[n] + 1;
        }
        to->depth[number] = (int)larger(to->depth[number], depth[n]);
    }
    weft_free(depth);
    return WEFT_OK;
}

/* Trees first .. end - 1. */
static weft_status put_nodes(const weft_forest *forest, int first, int end, forest_nodes *to)
{
    int64_t nodes = 0;
    WEFT_TRY(WEFT_NEW(&to->first, end - first + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&to->depth, end - first, WEFT_MEM_WORKSPACE));
    for (int t = first; t < end; ++t) {
        nodes += forest->tree[t].nodes;
    }
    WEFT_CHECK(nodes <= INT32_MAX, WEFT_ERR_UNSUPPORTED, "a forest of %lld nodes: at most %d are answered by",
               (long long)nodes, INT32_MAX);
    WEFT_TRY(WEFT_NEW(&to->left, nodes, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&to->feature, nodes, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&to->threshold, nodes, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&to->value, nodes, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&to->missing, nodes, WEFT_MEM_WORKSPACE));
    to->first[0] = 0;
    for (int t = first; t < end; ++t) {
        to->first[t - first + 1] = to->first[t - first] + forest->tree[t].nodes;
        WEFT_TRY(put_tree(&forest->tree[t], t - first, to));
    }
    return WEFT_OK;
}

/* A pass over rows, by trees first .. end - 1. */
typedef struct forest_pass {
    const weft_forest *forest;
    const tree_columns *data;
    forest_nodes nodes;
    forest_walk *walk;
    int first, end;
    float *margin; /* [rows, outputs]; NULL: */
    int32_t *leaf; /* [rows, trees] */
} forest_pass;

/* [out] value: [columns][WALK_ROWS], zeros behind the rows. Returns whether one of them is NaN. */
static bool read_block(const tree_columns *data, int64_t begin, int64_t rows, float *value)
{
    bool holes = false;
    for (int c = 0; c < data->columns; ++c) {
        float *own = value + (int64_t)c * WALK_ROWS;
        memset(own + rows, 0, (size_t)(WALK_ROWS - rows) * sizeof *own);
        tree_column_read(&data->column[c], begin, rows, own);
        for (int i = 0; i < WALK_ROWS; ++i) {
            holes = holes || own[i] != own[i];
        }
    }
    return holes;
}

/* The leaves of a block of rows in a tree with sets of categories, which have no place in forest_nodes. */
static void walk_sets(const weft_tree *tree, int32_t root, const float *value, int32_t at[WALK_ROWS])
{
    for (int i = 0; i < WALK_ROWS; ++i) {
        const tree_node *node = tree->node;
        while (node->left >= 0) {
            const bool left = tree_goes_left(tree, node, value[(int64_t)node->feature * WALK_ROWS + i]);
            node = tree->node + node->left + (left ? 0 : 1);
        }
        at[i] = root + (int32_t)(node - tree->node);
    }
}

/* at: the leaves of a tree, of rows from `begin` on. */
static void take_leaves(const forest_pass *pass, int tree, int64_t begin, int64_t rows, const int32_t at[WALK_ROWS])
{
    const int outputs = pass->forest->outputs, trees = pass->forest->trees;
    for (int64_t i = 0; i < rows && pass->margin != NULL; ++i) {
        pass->margin[(begin + i) * outputs + tree % outputs] += pass->nodes.value[at[i]];
    }
    for (int64_t i = 0; i < rows && pass->margin == NULL; ++i) {
        pass->leaf[(begin + i) * trees + tree] = at[i] - pass->nodes.first[tree - pass->first];
    }
}

static void run_block(const forest_pass *pass, int64_t begin, int64_t rows, float *value)
{
    const weft_forest *forest = pass->forest;
    const int64_t outputs = forest->outputs;
    int32_t at[WALK_ROWS];
    const bool holes = read_block(pass->data, begin, rows, value);
    for (int64_t i = 0; pass->margin != NULL && pass->first == 0 && i < rows; ++i) {
        memcpy(pass->margin + (begin + i) * outputs, forest->base, (size_t)outputs * sizeof *forest->base);
    }
    for (int t = pass->first; t < pass->end; ++t) {
        if (forest->tree[t].words > 0) {
            walk_sets(&forest->tree[t], pass->nodes.first[t - pass->first], value, at);
        } else {
            pass->walk(&pass->nodes, t - pass->first, value, holes, at);
        }
        take_leaves(pass, t, begin, rows, at);
    }
}

static forest_walk *const walks[HAL_ISAS] = {
    [HAL_ISA_BASE] = forest_walk_base, [HAL_ISA_AVX2] = forest_walk_avx2, [HAL_ISA_AVX512] = forest_walk_avx512};

static weft_status run_pass(forest_pass *pass, int threads)
{
    float *scratch = NULL;
    const tree_columns *data = pass->data;
    const int64_t blocks = (data->rows + WALK_ROWS - 1) / WALK_ROWS, stride = (int64_t)WALK_ROWS * data->columns;
    weft_status status = WEFT_OK;
    assert(data->columns == pass->forest->columns);
    pass->walk = walks[hal_isa_best()];
    WEFT_TRY_GOTO(put_nodes(pass->forest, pass->first, pass->end, &pass->nodes), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&scratch, threads * stride, WEFT_MEM_WORKSPACE), status, done);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int part = 0; part < threads; ++part) {
        for (int64_t block = blocks * part / threads; block < blocks * (part + 1) / threads; ++block) {
            const int64_t begin = block * WALK_ROWS;
            run_block(pass, begin, data->rows - begin < WALK_ROWS ? data->rows - begin : WALK_ROWS,
                      scratch + part * stride);
        }
    }
done:
    weft_free(scratch);
    free_nodes(&pass->nodes);
    return status;
}

weft_status forest_margins(const weft_forest *forest, const tree_columns *data, int first, int end, int threads,
                           float *margin)
{
    forest_pass pass = {.forest = forest, .data = data, .first = first, .end = end, .margin = margin};
    assert(first >= 0 && first <= end && end <= forest->trees);
    return run_pass(&pass, threads);
}

weft_status forest_leaves(const weft_forest *forest, const tree_columns *data, int threads, int32_t *leaf)
{
    forest_pass pass = {.forest = forest, .data = data, .end = forest->trees, .leaf = leaf};
    return run_pass(&pass, threads);
}
