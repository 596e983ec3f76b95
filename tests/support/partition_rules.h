/*
 * support/partition_rules.h: vertex-cuts of others, by the rules that their authors published, written out the obvious
 * way: what Weft's own are held against. Each takes the pairs of a graph, u < v, in the order of rows, and gives every
 * pair a part.
 *
 *   dbh    a pair goes where the end of lower degree is hashed to.
 *          C. Xie, L. Yan, W.-J. Li, Z. Zhang: Distributed power-law graph computing. NIPS 2014.
 *   hdrf   pairs in a random order; the part with the highest
 *            [u is there] (2 - share(u)) + [v is there] (2 - share(v)) + 1.1 (most - pairs) / (1 + most - fewest),
 *          share(u): u's degree so far over that of both.
 *          F. Petroni et al.: HDRF: stream-based partitioning for power-law graphs. CIKM 2015,
 *          doi:10.1145/2806416.2806424.
 *   2ps-l  twice over the pairs, the end in the smaller cluster joins the other's, clusters up to a tenth of a part's
 *          degrees; clusters to parts, the largest first to the emptiest; pairs whose ends have one part go there; the
 *          others to that of the two with the higher score; 1.05 of the mean at most.
 *          R. Mayer, K. Orujzade, H.-A. Jacobsen: Out-of-core edge partitioning at linear run-time. ICDE 2022, arXiv
 *          2203.12721.
 *   ne     part after part grows from a random vertex: of its border the vertex with the fewest neighbours outside
 *          comes in, and all pairs within core and border belong to the part, until it has its share.
 *          C. Zhang, F. Wei, Q. Liu, Z. G. Tang, Z. Li: Graph edge partitioning via neighborhood heuristic. KDD 2017,
 *          doi:10.1145/3097983.3098033.
 */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "partition/cover/edge_pairs.h"
#include "partition/partition.h"
#include "support/labelled_graphs.h"

/* Pairs as two arrays, and the pairs of each vertex. */
typedef struct rule_graph {
    int64_t vertices, pairs;
    int32_t *u, *v;    /* [pairs] */
    int64_t *first;    /* [vertices + 1] */
    int64_t *incident; /* [2 pairs] pairs of a vertex */
} rule_graph;

static inline rule_graph rule_graph_of(const pair_list *list)
{
    rule_graph g = {.vertices = list->vertices, .pairs = list->pairs};
    g.u = malloc(((size_t)g.pairs + 1) * sizeof *g.u);
    g.v = malloc(((size_t)g.pairs + 1) * sizeof *g.v);
    g.first = calloc((size_t)g.vertices + 2, sizeof *g.first);
    g.incident = malloc((2 * (size_t)g.pairs + 1) * sizeof *g.incident);
    for (int64_t u = 0; u < g.vertices; ++u) {
        for (int64_t i = list->offset[u]; i < list->offset[u + 1]; ++i) {
            g.u[i] = (int32_t)u;
            g.v[i] = list->other[i];
            ++g.first[u + 2];
            ++g.first[g.v[i] + 2];
        }
    }
    for (int64_t v = 0; v < g.vertices; ++v) {
        g.first[v + 2] += g.first[v + 1];
    }
    for (int64_t i = 0; i < g.pairs; ++i) {
        g.incident[g.first[g.u[i] + 1]++] = i;
        g.incident[g.first[g.v[i] + 1]++] = i;
    }
    return g;
}

static inline void rule_graph_free(rule_graph *g)
{
    free(g->u);
    free(g->v);
    free(g->first);
    free(g->incident);
}

static inline int64_t rule_degree(const rule_graph *g, int64_t v)
{
    return g->first[v + 1] - g->first[v];
}

static inline void rule_shuffle(int64_t *item, int64_t count, draw_stream *random)
{
    for (int64_t i = count - 1; i > 0; --i) {
        const uint64_t word = (uint64_t)draw_next(random) << 32 | draw_next(random);
        const int64_t j = (int64_t)(word % (uint64_t)(i + 1));
        const int64_t kept = item[i];
        item[i] = item[j];
        item[j] = kept;
    }
}

static inline int64_t *rule_order(int64_t count, uint64_t seed)
{
    draw_stream random = {.key = seed};
    int64_t *order = malloc(((size_t)count + 1) * sizeof *order);
    for (int64_t i = 0; i < count; ++i) {
        order[i] = i;
    }
    rule_shuffle(order, count, &random);
    return order;
}

static inline int rule_emptiest(const int64_t *load, int parts)
{
    int best = 0;
    for (int p = 1; p < parts; ++p) {
        best = load[p] < load[best] ? p : best;
    }
    return best;
}

/* ---- dbh --------------------------------------------------------------------------------------------------------- */

static inline int rule_hash(int64_t v, int parts, uint64_t seed)
{
    const philox_block word = philox4x32((philox_block){{(uint32_t)v, (uint32_t)(v >> 32), 0, 0}}, seed);
    return (int)(word.word[0] % (uint32_t)parts);
}

static inline void rule_dbh(const rule_graph *g, int parts, uint64_t seed, uint16_t *part)
{
    for (int64_t i = 0; i < g->pairs; ++i) {
        const int64_t u = g->u[i], v = g->v[i];
        part[i] = (uint16_t)rule_hash(rule_degree(g, u) <= rule_degree(g, v) ? u : v, parts, seed);
    }
}

/* ---- hdrf -------------------------------------------------------------------------------------------------------- */

static inline void rule_hdrf(const rule_graph *g, int parts, uint64_t seed, uint16_t *part)
{
    int64_t *order = rule_order(g->pairs, seed), *load = calloc((size_t)parts, sizeof *load);
    int64_t *degree = calloc((size_t)g->vertices + 1, sizeof *degree);
    bool *held = calloc((size_t)(g->vertices * parts) + 1, sizeof *held);
    for (int64_t k = 0; k < g->pairs; ++k) {
        const int64_t u = g->u[order[k]], v = g->v[order[k]];
        int64_t most = load[0], fewest = load[0];
        for (int p = 1; p < parts; ++p) {
            most = load[p] > most ? load[p] : most;
            fewest = load[p] < fewest ? load[p] : fewest;
        }
        ++degree[u];
        ++degree[v];
        const double share = (double)degree[u] / (double)(degree[u] + degree[v]);
        int best = 0;
        double highest = -1;
        for (int p = 0; p < parts; ++p) {
            const double score = (held[u * parts + p] ? 2 - share : 0) + (held[v * parts + p] ? 1 + share : 0) +
                                 1.1 * (double)(most - load[p]) / (double)(1 + most - fewest);
            if (score > highest) {
                best = p;
                highest = score;
            }
        }
        part[order[k]] = (uint16_t)best;
        held[u * parts + best] = held[v * parts + best] = true;
        ++load[best];
    }
    free(held);
    free(degree);
    free(load);
    free(order);
}

/* ---- 2ps-l ------------------------------------------------------------------------------------------------------- */

typedef struct rule_cluster {
    int64_t volume, name;
} rule_cluster;

static inline int rule_larger_first(const void *a, const void *b)
{
    const rule_cluster *x = a, *y = b;
    return x->volume != y->volume ? (x->volume < y->volume) - (x->volume > y->volume)
                                  : (x->name > y->name) - (x->name < y->name);
}

static inline void rule_join_clusters(const rule_graph *g, int64_t most, int64_t *cluster, int64_t *volume)
{
    for (int64_t i = 0; i < g->pairs; ++i) {
        int64_t small = g->u[i], large = g->v[i];
        if (volume[cluster[small]] > most || volume[cluster[large]] > most) {
            continue;
        }
        if (volume[cluster[small]] - rule_degree(g, small) > volume[cluster[large]] - rule_degree(g, large)) {
            small = g->v[i];
            large = g->u[i];
        }
        if (volume[cluster[large]] + rule_degree(g, small) <= most) {
            volume[cluster[small]] -= rule_degree(g, small);
            volume[cluster[large]] += rule_degree(g, small);
            cluster[small] = cluster[large];
        }
    }
}

/* home [vertices]: by cluster, its part. */
static inline void rule_place_clusters(const rule_graph *g, int parts, const int64_t *volume, int *home)
{
    rule_cluster *sorted = malloc(((size_t)g->vertices + 1) * sizeof *sorted);
    int64_t *load = calloc((size_t)parts, sizeof *load);
    for (int64_t c = 0; c < g->vertices; ++c) {
        sorted[c] = (rule_cluster){volume[c], c};
    }
    qsort(sorted, (size_t)g->vertices, sizeof *sorted, rule_larger_first);
    for (int64_t c = 0; c < g->vertices; ++c) {
        const int p = rule_emptiest(load, parts);
        home[sorted[c].name] = p;
        load[p] += sorted[c].volume;
    }
    free(load);
    free(sorted);
}

/* Of the parts of both clusters that with the higher score; hashed where one is full, else the emptiest. */
static inline int rule_two_phase_part(const rule_graph *g, int parts, int64_t i, const int64_t *cluster,
                                      const int64_t *volume, const int *home, const bool *held, const int64_t *load,
                                      int64_t most)
{
    const int64_t end[2] = {g->u[i], g->v[i]};
    const int choice[2] = {home[cluster[end[0]]], home[cluster[end[1]]]};
    if (load[choice[0]] >= most || load[choice[1]] >= most) {
        const int hashed = (int)(end[rule_degree(g, end[0]) > rule_degree(g, end[1]) ? 0 : 1] % parts);
        return load[hashed] < most ? hashed : rule_emptiest(load, parts);
    }
    double score[2] = {0, 0};
    for (int c = 0; c < 2; ++c) {
        for (int k = 0; k < 2; ++k) {
            if (held[end[k] * parts + choice[c]]) {
                score[c] +=
                    2 - (double)rule_degree(g, end[k]) / (double)(rule_degree(g, end[0]) + rule_degree(g, end[1]));
                score[c] += choice[k] == choice[c] ? (double)volume[cluster[end[k]]] /
                                                         (double)(volume[cluster[end[0]]] + volume[cluster[end[1]]])
                                                   : 0;
            }
        }
    }
    return choice[score[1] >= score[0] ? 1 : 0];
}

static inline void rule_two_phase(const rule_graph *g, int parts, uint64_t seed, uint16_t *part)
{
    (void)seed;
    const int64_t most = (int64_t)(1.05 * (double)g->pairs / parts) + 1;
    int64_t *cluster = malloc(((size_t)g->vertices + 1) * sizeof *cluster), *load = calloc((size_t)parts, sizeof *load);
    int64_t *volume = malloc(((size_t)g->vertices + 1) * sizeof *volume);
    int *home = malloc(((size_t)g->vertices + 1) * sizeof *home);
    bool *held = calloc((size_t)(g->vertices * parts) + 1, sizeof *held);
    for (int64_t v = 0; v < g->vertices; ++v) {
        cluster[v] = v;
        volume[v] = rule_degree(g, v);
    }
    for (int pass = 0; pass < 2; ++pass) {
        rule_join_clusters(g, g->pairs / (5 * (int64_t)parts), cluster, volume);
    }
    rule_place_clusters(g, parts, volume, home);
    for (int phase = 0; phase < 2; ++phase) {
        for (int64_t i = 0; i < g->pairs; ++i) {
            const int at_u = home[cluster[g->u[i]]], at_v = home[cluster[g->v[i]]];
            if ((at_u == at_v) != (phase == 0)) {
                continue;
            }
            const int to = phase == 0 && load[at_u] < most
                               ? at_u
                               : rule_two_phase_part(g, parts, i, cluster, volume, home, held, load, most);
            part[i] = (uint16_t)to;
            held[g->u[i] * (int64_t)parts + to] = held[g->v[i] * (int64_t)parts + to] = true;
            ++load[to];
        }
    }
    free(held);
    free(home);
    free(volume);
    free(load);
    free(cluster);
}

/* ---- ne ---------------------------------------------------------------------------------------------------------- */

/* A heap of (neighbours outside, vertex), of which old entries are passed over. */
typedef struct rule_entry {
    int64_t outside, vertex;
} rule_entry;

typedef struct rule_growth {
    const rule_graph *g;
    uint16_t *part;
    int now;
    int64_t size, share;
    int64_t *outside; /* [vertices] of those in the border */
    uint8_t *is_in;   /* [vertices] 1: border, 2: core */
    int64_t *left;    /* [vertices] pairs without a part */
    rule_entry *heap;
    int64_t entries, room;
} rule_growth;

static inline bool rule_before(rule_entry a, rule_entry b)
{
    return a.outside != b.outside ? a.outside < b.outside : a.vertex < b.vertex;
}

static inline void rule_push(rule_growth *grow, int64_t v)
{
    const rule_entry entry = {grow->outside[v], v};
    if (grow->entries == grow->room) {
        grow->room = 2 * grow->room + 1024;
        grow->heap = realloc(grow->heap, (size_t)grow->room * sizeof *grow->heap);
    }
    int64_t at = grow->entries++;
    for (; at > 0 && rule_before(entry, grow->heap[(at - 1) / 2]); at = (at - 1) / 2) {
        grow->heap[at] = grow->heap[(at - 1) / 2];
    }
    grow->heap[at] = entry;
}

static inline rule_entry rule_pop(rule_growth *grow)
{
    const rule_entry top = grow->heap[0], last = grow->heap[--grow->entries];
    int64_t at = 0;
    for (int64_t child = 1; child < grow->entries; child = 2 * at + 1) {
        child += child + 1 < grow->entries && rule_before(grow->heap[child + 1], grow->heap[child]) ? 1 : 0;
        if (!rule_before(grow->heap[child], last)) {
            break;
        }
        grow->heap[at] = grow->heap[child];
        at = child;
    }
    grow->heap[at] = last;
    return top;
}

/* v comes into the border: its pairs with core and border are the part's, while it has room. */
static inline void rule_border(rule_growth *grow, int64_t v)
{
    const rule_graph *g = grow->g;
    grow->is_in[v] = 1;
    grow->outside[v] = 0;
    for (int64_t k = g->first[v]; k < g->first[v + 1]; ++k) {
        const int64_t i = g->incident[k], w = g->u[i] == v ? g->v[i] : g->u[i];
        if (grow->part[i] != PARTITION_NO_PART) {
            continue;
        }
        if (grow->is_in[w] == 0) {
            ++grow->outside[v];
            continue;
        }
        if (grow->size < grow->share) {
            grow->part[i] = (uint16_t)grow->now;
            ++grow->size;
            --grow->left[v];
            --grow->left[w];
        }
        --grow->outside[w];
        if (grow->is_in[w] == 1) {
            rule_push(grow, w);
        }
    }
    rule_push(grow, v);
}

static inline int64_t rule_next_core(rule_growth *grow)
{
    while (grow->entries > 0) {
        const rule_entry top = rule_pop(grow);
        if (grow->is_in[top.vertex] == 1 && grow->outside[top.vertex] == top.outside) {
            return top.vertex;
        }
    }
    return -1;
}

static inline void rule_grow(rule_growth *grow, const int64_t *order)
{
    const rule_graph *g = grow->g;
    int64_t next = 0;
    while (grow->size < grow->share) {
        int64_t x = rule_next_core(grow);
        for (; x < 0 && next < g->vertices; ++next) {
            if (grow->is_in[order[next]] == 0 && grow->left[order[next]] > 0) {
                rule_border(grow, order[next]);
                x = order[next];
            }
        }
        if (x < 0) {
            return; /* all pairs have a part */
        }
        grow->is_in[x] = 2;
        for (int64_t k = g->first[x]; k < g->first[x + 1] && grow->size < grow->share; ++k) {
            const int64_t i = g->incident[k], y = g->u[i] == x ? g->v[i] : g->u[i];
            if (grow->part[i] == PARTITION_NO_PART && grow->is_in[y] == 0) {
                rule_border(grow, y);
            }
        }
    }
}

static inline void rule_ne(const rule_graph *g, int parts, uint64_t seed, uint16_t *part)
{
    int64_t *order = rule_order(g->vertices, seed);
    rule_growth grow = {.g = g, .part = part, .share = g->pairs / parts + 1};
    grow.outside = calloc((size_t)g->vertices + 1, sizeof *grow.outside);
    grow.is_in = malloc((size_t)g->vertices + 1);
    grow.left = malloc(((size_t)g->vertices + 1) * sizeof *grow.left);
    for (int64_t i = 0; i < g->pairs; ++i) {
        part[i] = PARTITION_NO_PART;
    }
    for (int64_t v = 0; v < g->vertices; ++v) {
        grow.left[v] = rule_degree(g, v);
    }
    for (grow.now = 0; grow.now < parts - 1; ++grow.now) {
        memset(grow.is_in, 0, (size_t)g->vertices + 1);
        grow.entries = grow.size = 0;
        rule_grow(&grow, order);
    }
    for (int64_t i = 0; i < g->pairs; ++i) {
        part[i] = part[i] == PARTITION_NO_PART ? (uint16_t)(parts - 1) : part[i];
    }
    free(grow.heap);
    free(grow.left);
    free(grow.is_in);
    free(grow.outside);
    free(order);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

typedef struct partition_rule {
    const char *name;
    void (*run)(const rule_graph *g, int parts, uint64_t seed, uint16_t *part);
} partition_rule;

static const partition_rule partition_rules[] = {
    {"dbh", rule_dbh}, {"hdrf", rule_hdrf}, {"2ps-l", rule_two_phase}, {"ne", rule_ne}};
enum { PARTITION_RULES = sizeof partition_rules / sizeof partition_rules[0] };

static inline const partition_rule *partition_rule_find(const char *name)
{
    for (int r = 0; r < PARTITION_RULES; ++r) {
        if (strcmp(partition_rules[r].name, name) == 0) {
            return &partition_rules[r];
        }
    }
    return NULL;
}

/* Figures as partition_report has them; vertices without pairs are held once, by nobody's part. */
typedef struct rule_figures {
    double replication_factor, edge_balance, vertex_balance;
    double largest; /* vertices of the largest part over n / parts */
} rule_figures;

static inline rule_figures rule_measure(const rule_graph *g, int parts, const uint16_t *part)
{
    int64_t *held = calloc((size_t)parts, sizeof *held), *edges = calloc((size_t)parts, sizeof *edges);
    int64_t *seen = calloc((size_t)parts, sizeof *seen); /* the last vertex, plus 1 */
    int64_t all = 0, isolated = 0, most = 0, most_edges = 0;
    for (int64_t v = 0; v < g->vertices; ++v) {
        isolated += rule_degree(g, v) == 0 ? 1 : 0;
        for (int64_t k = g->first[v]; k < g->first[v + 1]; ++k) {
            const int p = part[g->incident[k]];
            held[p] += seen[p] != v + 1 ? 1 : 0;
            seen[p] = v + 1;
        }
    }
    for (int64_t i = 0; i < g->pairs; ++i) {
        ++edges[part[i]];
    }
    for (int p = 0; p < parts; ++p) {
        all += held[p];
        most = held[p] > most ? held[p] : most;
        most_edges = edges[p] > most_edges ? edges[p] : most_edges;
    }
    free(seen);
    free(edges);
    free(held);
    return (rule_figures){.replication_factor = (double)(all + isolated) / (double)g->vertices,
                          .edge_balance = (double)most_edges * parts / (double)g->pairs,
                          .vertex_balance = (double)most * parts / (double)all,
                          .largest = (double)most * parts / (double)g->vertices};
}
