/* trees/shap/shap_walk_body.h: the kernels of shap_walk.h, included once for each instruction set as VISIT. */
#include "trees/shap/shap_walk.h"

/* Half of the lanes; arrays of lanes are aligned to it. */
typedef double lanes __attribute__((vector_size(64), may_alias));
enum { HALVES = SHAP_LANES / 8 };

static inline lanes *lanes_of(double *array, int64_t row)
{
    return (lanes *)(void *)(array + row * SHAP_LANES);
}

/* met of the edge to a child; above: of the nearest edge above of its column. */
static inline void meet(const shap_walk *w, int32_t child, bool left, lanes *above)
{
    const weft_tree *tree = w->s->tree;
    const tree_node *node = &tree->node[tree->node[child].parent];
    const float *value = w->value + (int64_t)node->feature * SHAP_LANES;
    const float threshold = node->value;
    const int32_t missing = node->default_left, wanted = left, last = w->s->last[child];
    int32_t goes[SHAP_LANES];
    double met[SHAP_LANES] __attribute__((aligned(64)));
    for (int l = 0; l < SHAP_LANES; ++l) {
        const int32_t below = value[l] < threshold, none = value[l] != value[l];
        goes[l] = (below | (none & missing)) == wanted;
    }
    for (int l = 0; l < SHAP_LANES && node->set_words > 0; ++l) {
        goes[l] = tree_goes_left(tree, node, value[l]) == left;
    }
    for (int l = 0; l < SHAP_LANES; ++l) {
        met[l] = (double)goes[l];
    }
    for (int h = 0; h < HALVES; ++h) {
        above[h] = (lanes){0.0} + 1.0;
        if (last >= 0) {
            above[h] = lanes_of(w->met, last)[h];
        }
        lanes_of(w->met, child)[h] = above[h] * lanes_of(met, 0)[h];
    }
}

static inline void go_down(const shap_walk *w, int32_t child, const lanes *above, const lanes *from, lanes *to)
{
    const edge_table t = table_of(w->s, child);
    const lanes *met = lanes_of(w->met, child);
    for (int k = 0; k < w->s->points; ++k) {
        const double none = t.ratio[0][k], now = t.ratio[1][k], both = t.ratio[2][k];
        for (int h = 0; h < HALVES; ++h) {
            to[k * HALVES + h] = from[k * HALVES + h] * (none + above[h] * now + met[h] * both);
        }
    }
}

static inline void come_up(const shap_walk *w, int32_t child, const lanes *above, const lanes *s, lanes *sum)
{
    const edge_table t = table_of(w->s, child);
    const lanes *met = lanes_of(w->met, child);
    lanes *phi = lanes_of(w->phi, column_of_edge(w->s->tree, child));
    lanes added[HALVES];
    for (int h = 0; h < HALVES; ++h) {
        added[h] = phi[h];
    }
    for (int k = 0; k < w->s->points; ++k) {
        const double without = t.share[0][k], with = t.share[1][k];
        for (int h = 0; h < HALVES; ++h) {
            added[h] += (without + met[h] * with) * s[k * HALVES + h];
            sum[k * HALVES + h] += s[k * HALVES + h];
        }
    }
    for (int k = 0; k < w->s->points && w->s->last[child] >= 0; ++k) {
        const double without = t.above[0][k], with = t.above[1][k];
        for (int h = 0; h < HALVES; ++h) {
            added[h] -= (without + above[h] * with) * s[k * HALVES + h];
        }
    }
    for (int h = 0; h < HALVES; ++h) {
        phi[h] = added[h];
    }
}

/* d of the edge to a child, for the edges below it. */
static inline void note_edge(const shap_walk *w, int32_t child, int level, const lanes *above)
{
    const edge_table t = table_of(w->s, child);
    const lanes *met = lanes_of(w->met, child);
    lanes *d = lanes_of(w->edge, (int64_t)level * w->s->points);
    w->path[level] = column_of_edge(w->s->tree, child);
    for (int k = 0; k < w->s->points; ++k) {
        const double without = t.share[0][k] - t.above[0][k], with = t.share[1][k], once = t.above[1][k];
        for (int h = 0; h < HALVES; ++h) {
            d[k * HALVES + h] = without + met[h] * with - above[h] * once;
        }
    }
}

/* The pairs that the edge to `level` makes with those above. ds: [points] d S. */
static inline void pair_up(const shap_walk *w, int level, const lanes *ds)
{
    const int32_t column = w->path[level];
    for (int up = 1; up < level; ++up) {
        const int32_t other = w->path[up];
        const lanes *d = lanes_of(w->edge, (int64_t)up * w->s->points);
        if (other == column) {
            continue;
        }
        lanes *pair = lanes_of(w->pair, other < column ? shap_pair(other, column) : shap_pair(column, other));
        lanes added[HALVES];
        for (int h = 0; h < HALVES; ++h) {
            added[h] = pair[h];
        }
        for (int k = 0; k < w->s->points; ++k) {
            for (int h = 0; h < HALVES; ++h) {
                added[h] += d[k * HALVES + h] * ds[k * HALVES + h];
            }
        }
        for (int h = 0; h < HALVES; ++h) {
            pair[h] = added[h];
        }
    }
}

/* come_up with pairs; s becomes d S. */
static inline void come_up_with_pairs(const shap_walk *w, int level, lanes *s, lanes *sum)
{
    const lanes *d = lanes_of(w->edge, (int64_t)level * w->s->points);
    lanes *phi = lanes_of(w->phi, w->path[level]);
    for (int k = 0; k < w->s->points; ++k) {
        for (int h = 0; h < HALVES; ++h) {
            sum[k * HALVES + h] += s[k * HALVES + h];
            s[k * HALVES + h] *= d[k * HALVES + h];
            phi[h] += s[k * HALVES + h];
        }
    }
    pair_up(w, level, s);
}

void VISIT(const shap_walk *w, int32_t at, int level)
{
    const tree_node *node = &w->s->tree->node[at];
    const lanes *p = lanes_of(shap_level(w, level, 0), 0);
    lanes *sum = lanes_of(shap_level(w, level, 1), 0);
    for (int k = 0; k < w->s->points; ++k) {
        const double weight = node->left < 0 ? w->s->weight[k] * (double)node->value : 0.0;
        for (int h = 0; h < HALVES; ++h) {
            sum[k * HALVES + h] = weight * p[k * HALVES + h];
        }
    }
    for (int side = 0; side < 2 && node->left >= 0; ++side) {
        lanes above[HALVES];
        meet(w, node->left + side, side == 0, above);
        go_down(w, node->left + side, above, p, lanes_of(shap_level(w, level + 1, 0), 0));
        if (w->pair != NULL) {
            note_edge(w, node->left + side, level + 1, above);
        }
        VISIT(w, node->left + side, level + 1);
        if (w->pair != NULL) {
            come_up_with_pairs(w, level + 1, lanes_of(shap_level(w, level + 1, 1), 0), sum);
        } else {
            come_up(w, node->left + side, above, lanes_of(shap_level(w, level + 1, 1), 0), sum);
        }
    }
}
