/* gnn/links/link_set.c: see gnn/links/link_set.h. */
#include "gnn/links/link_set.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "gnn/links/link_files.h"

/* Parts of the list, in the order of its ids: each part's links, then its shared negatives. */
enum { KINDS = 2 * LINK_PARTS };

/* ---- the list of judged pairs ---- */

static weft_status list_reserve(link_list *l, int64_t more)
{
    if (l->count + more <= l->capacity) {
        return WEFT_OK;
    }
    const size_t room = (size_t)(2 * l->capacity + more + 64);
    WEFT_TRY(weft_realloc((void **)&l->a, room, sizeof *l->a, WEFT_MEM_GRAPH));
    WEFT_TRY(weft_realloc((void **)&l->b, room, sizeof *l->b, WEFT_MEM_GRAPH));
    WEFT_TRY(weft_realloc((void **)&l->target, room, sizeof *l->target, WEFT_MEM_GRAPH));
    WEFT_TRY(weft_realloc((void **)&l->split, room, sizeof *l->split, WEFT_MEM_GRAPH));
    WEFT_TRY(weft_realloc((void **)&l->group, room, sizeof *l->group, WEFT_MEM_GRAPH));
    WEFT_TRY(weft_realloc((void **)&l->id, room, sizeof *l->id, WEFT_MEM_GRAPH));
    l->capacity = (int64_t)room;
    return WEFT_OK;
}

/* Room was reserved. */
static void list_put(link_list *l, int64_t a, int64_t b, bool link, int split, uint64_t group)
{
    const int64_t i = l->count++;
    l->a[i] = (int32_t)a;
    l->b[i] = (int32_t)b;
    l->target[i] = link ? 1.0F : 0.0F;
    l->split[i] = (uint8_t)split;
    l->group[i] = group;
}

/* A link with `own` negatives behind it, or one that is shared. */
static weft_status list_add_drawn(link_set *set, const link_rows *known, int64_t own, int64_t anchor, int64_t other,
                                  int split)
{
    const int64_t negatives = own > 0 ? own : 1;
    link_list *l = &set->judged;
    WEFT_TRY(list_reserve(l, 1 + negatives));
    const uint64_t group = (uint64_t)l->count;
    list_put(l, anchor, other, true, split, group);
    for (int64_t k = 0; k < negatives; ++k) {
        list_put(l, anchor, link_negative(known, set->users, set->vertices, anchor, other, (uint32_t)k, 0, 0), false,
                 split, group);
    }
    return WEFT_OK;
}

/* A row's kind. Negatives of their own stand behind their link, so they are of its kind. */
static int kind_of(const link_list *l, int64_t i, bool own)
{
    return 2 * l->split[i] + (!own && l->target[i] == 0.0F ? 1 : 0);
}

/* Places do not depend on the number of ranks, because a kind's rows are in the order of the ranks. Collective. */
static weft_status number_rows(weft_comm *comm, bool own, link_list *l)
{
    int64_t mine[KINDS] = {0}, next[KINDS] = {0}, before = 0;
    int64_t *all = NULL;
    const int ranks = comm_size(comm);
    for (int64_t i = 0; i < l->count; ++i) {
        mine[kind_of(l, i, own)] += 1;
    }
    WEFT_TRY(comm_agree(comm, WEFT_NEW(&all, (int64_t)ranks * KINDS, WEFT_MEM_WORKSPACE)));
    weft_status status = comm_allgather(comm, mine, sizeof mine, all);
    for (int k = 0; k < KINDS && status == WEFT_OK; ++k) {
        for (int r = 0; r < ranks; ++r) {
            next[k] = r == comm_rank(comm) ? before : next[k];
            before += all[r * KINDS + k];
        }
    }
    for (int64_t i = 0; i < l->count && status == WEFT_OK; ++i) {
        l->id[i] = next[kind_of(l, i, own)]++;
    }
    l->total = before;
    weft_free(all);
    if (!own) {
        weft_free(l->group);
        l->group = NULL;
    }
    return status;
}

/* ---- training links ---- */

static weft_status begin(const weft_graph *graph, int64_t users, link_set *set)
{
    *set = (link_set){.vertices = graph->vertices, .users = users};
    WEFT_CHECK(users == 0 || (graph->symmetric && users < graph->vertices), WEFT_ERR_DATA,
               "%s: %lld users are asked for, of %lld vertices: users are the first of an undirected graph, and others "
               "follow",
               graph->name, (long long)users, (long long)graph->vertices);
    WEFT_CHECK(graph->source64 == NULL && graph->vertices <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "%s: links are of graphs of up to 2147483647 vertices, with sources of 32 bits", graph->name);
    return WEFT_OK;
}

static link_rows rows_of_rank(weft_comm *comm, const weft_graph *graph)
{
    const int ranks = comm_size(comm), rank = comm_rank(comm);
    int64_t border[2];
    for (int side = 0; side < 2; ++side) {
        const int64_t edge = (int64_t)((double)graph->edges * (double)(rank + side) / (double)ranks);
        border[side] = rank + side == 0 ? 0 : rank + side == ranks ? graph->vertices : graph_row_of(graph, edge);
    }
    return (link_rows){.begin = border[0],
                       .rows = border[1] - border[0],
                       .offset = graph->offset + border[0],
                       .source = graph->source32 != NULL ? graph->source32 + graph->offset[border[0]] : NULL};
}

static link_deal deal(const weft_graph *graph, const link_shares *shares, int64_t row, int64_t column)
{
    return link_deal_of(shares, !graph->symmetric, row, column);
}

/* Edges of this rank's rows join users with others. */
static weft_status check_users(const weft_graph *graph, const link_rows *full, int64_t users)
{
    for (int64_t v = full->begin; users > 0 && v < full->begin + full->rows; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            WEFT_CHECK((v < users) != (graph->source32[e] < users), WEFT_ERR_DATA,
                       "%s: an edge joins vertices %lld and %lld, which are %s, as the first %lld vertices are users",
                       graph->name, (long long)graph->source32[e], (long long)v, v < users ? "both users" : "no users",
                       (long long)users);
        }
    }
    return WEFT_OK;
}

/* Counts, or with `fill` takes, training links and the edges that messages pass along. */
static void walk_training(const weft_graph *graph, const link_shares *shares, const link_rows *full, bool fill,
                          link_set *set)
{
    int64_t links = 0, edges = 0;
    for (int64_t v = full->begin; v < full->begin + full->rows; ++v) {
        if (fill) {
            set->offset[v - full->begin] = edges;
        }
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph->source32[e];
            const link_deal of = deal(graph, shares, v, u);
            if (of.part != LINK_TRAIN) {
                continue;
            }
            const bool link = u != v && of.anchor == v;
            if (fill) {
                set->source[edges] = (int32_t)u;
            }
            if (fill && link) {
                set->anchor[links] = (int32_t)v;
                set->other[links] = (int32_t)u;
            }
            edges += 1;
            links += link;
        }
    }
    if (fill) {
        set->offset[full->rows] = edges;
    }
    set->positives = links;
    set->rows = (link_rows){full->begin, full->rows, set->offset, set->source};
    if (!fill) {
        set->found = edges; /* for the allocation */
    }
}

static weft_status take_training(const weft_graph *graph, const link_shares *shares, const link_rows *full,
                                 link_set *set)
{
    walk_training(graph, shares, full, false, set);
    WEFT_TRY(WEFT_NEW(&set->anchor, set->positives, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&set->other, set->positives, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&set->offset, full->rows + 1, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&set->source, set->found, WEFT_MEM_GRAPH));
    walk_training(graph, shares, full, true, set);
    set->found = 0;
    return WEFT_OK;
}

static weft_status count_training(weft_comm *comm, const weft_graph *graph, link_set *set)
{
    int64_t *all = NULL;
    WEFT_TRY(comm_agree(comm, WEFT_NEW(&all, comm_size(comm), WEFT_MEM_WORKSPACE)));
    weft_status status = comm_allgather(comm, &set->positives, sizeof set->positives, all);
    for (int r = 0; r < comm_size(comm) && status == WEFT_OK; ++r) {
        set->first += r < comm_rank(comm) ? all[r] : 0;
        set->total += all[r];
    }
    weft_free(all);
    WEFT_TRY(status);
    WEFT_CHECK(set->total > 0, WEFT_ERR_DATA,
               "%s: no edge is left to train on, self-loops aside: give train a larger share", graph->name);
    return WEFT_OK;
}

/* About as many training links as are in valid, or in test where valid has none. */
static weft_status sample_training(weft_comm *comm, int64_t own, link_set *set)
{
    int64_t judged[LINK_PARTS] = {0};
    const link_list *l = &set->judged;
    for (int64_t i = 0; i < l->count; ++i) {
        judged[l->split[i]] += l->target[i] > 0.0F;
    }
    WEFT_TRY(comm_allreduce(comm, judged, LINK_PARTS, WEFT_DTYPE_I64, COMM_SUM));
    const int64_t like = judged[LINK_VALID] > 0 ? judged[LINK_VALID] : judged[LINK_TEST];
    const double share = (double)like / (double)set->total;
    weft_status status = WEFT_OK;
    for (int64_t i = 0; i < set->positives && status == WEFT_OK; ++i) {
        const philox_block b =
            philox4x32(philox_counter(1, (uint64_t)(set->first + i), (uint32_t)WEFT_RNG_LINKS, 1), 0);
        if (philox_uniform_double(b.word[0], b.word[1]) < share) {
            status = list_add_drawn(set, &set->rows, own, set->anchor[i], set->other[i], LINK_TRAIN);
        }
    }
    return comm_agree(comm, status);
}

/* ---- drawn ---- */

static weft_status judge_drawn(const weft_graph *graph, const link_shares *shares, const link_rows *full, int64_t own,
                               link_set *set)
{
    for (int64_t v = full->begin; v < full->begin + full->rows; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph->source32[e];
            const link_deal of = deal(graph, shares, v, u);
            if (u != v && of.part != LINK_TRAIN && of.anchor == v) {
                WEFT_TRY(list_add_drawn(set, full, own, v, u, of.part));
            }
        }
    }
    return WEFT_OK;
}

weft_status link_set_draw(weft_comm *comm, const weft_graph *graph, const link_shares *shares, int64_t own,
                          link_set *set)
{
    WEFT_TRY(begin(graph, shares->users, set));
    const link_rows full = rows_of_rank(comm, graph);
    weft_status status = check_users(graph, &full, shares->users);
    status = status == WEFT_OK ? take_training(graph, shares, &full, set) : status;
    status = status == WEFT_OK ? judge_drawn(graph, shares, &full, own, set) : status;
    WEFT_TRY(comm_agree(comm, status));
    WEFT_TRY(count_training(comm, graph, set));
    WEFT_TRY(sample_training(comm, own, set));
    return number_rows(comm, own > 0, &set->judged);
}

/* ---- files ---- */

/* Rank 0's pairs on every rank. Collective. */
static weft_status share_pairs(weft_comm *comm, link_pairs *pairs)
{
    int64_t count[3] = {pairs->pairs, pairs->negatives, pairs->own};
    const bool first = comm_rank(comm) == 0;
    WEFT_TRY(comm_bcast(comm, 0, count, sizeof count));
    pairs->pairs = count[0];
    pairs->negatives = count[1];
    pairs->own = count[2];
    weft_status status = first ? WEFT_OK : WEFT_NEW(&pairs->end, 2 * count[0], WEFT_MEM_GRAPH);
    status = first || status != WEFT_OK ? status : WEFT_NEW(&pairs->negative_end, 2 * count[1], WEFT_MEM_GRAPH);
    WEFT_TRY(comm_agree(comm, status));
    WEFT_TRY(comm_bcast(comm, 0, pairs->end, 2 * count[0] * (int64_t)sizeof *pairs->end));
    return comm_bcast(comm, 0, pairs->negative_end, 2 * count[1] * (int64_t)sizeof *pairs->negative_end);
}

/* This rank's share of `count` things that stand in a file. */
static int64_t share_begin(const weft_comm *comm, int64_t count, int rank)
{
    return (int64_t)((double)count * (double)rank / (double)comm_size(comm));
}

static weft_status judge_pairs(weft_comm *comm, const weft_graph *graph, const link_pairs *pairs, int split,
                               int64_t own, link_set *set)
{
    const link_rows known = {0, graph->vertices, graph->offset, graph->source32};
    const int rank = comm_rank(comm);
    link_list *l = &set->judged;
    for (int64_t i = share_begin(comm, pairs->pairs, rank); i < share_begin(comm, pairs->pairs, rank + 1); ++i) {
        const bool turns = set->users > 0 && pairs->end[2 * i + 1] > pairs->end[2 * i]; /* the anchor is v */
        const int64_t u = pairs->end[2 * i + turns], v = pairs->end[2 * i + 1 - turns];
        set->found += link_rows_have(&known, v, u);
        if (pairs->negatives == 0) {
            WEFT_TRY(list_add_drawn(set, &known, own, v, u, split));
            continue;
        }
        WEFT_TRY(list_reserve(l, 1 + pairs->own));
        const uint64_t group = (uint64_t)l->count;
        list_put(l, u, v, true, split, group);
        for (int64_t k = i * pairs->own; k < (i + 1) * pairs->own; ++k) {
            list_put(l, pairs->negative_end[2 * k], pairs->negative_end[2 * k + 1], false, split, group);
        }
    }
    const int64_t shared = pairs->own > 0 ? 0 : pairs->negatives;
    for (int64_t i = share_begin(comm, shared, rank); i < share_begin(comm, shared, rank + 1); ++i) {
        WEFT_TRY(list_reserve(l, 1));
        list_put(l, pairs->negative_end[2 * i], pairs->negative_end[2 * i + 1], false, split, 0);
    }
    return WEFT_OK;
}

/* Own or shared is one choice for both parts, as scores are of one kind. */
static weft_status settle_own(const char *folder, const link_pairs *valid, const link_pairs *test, int64_t *own)
{
    const bool given = valid->negatives + test->negatives > 0;
    const bool both = valid->pairs == 0 || test->pairs == 0 || (valid->own > 0) == (test->own > 0);
    const bool all = (valid->pairs == 0 || valid->negatives > 0) && (test->pairs == 0 || test->negatives > 0);
    WEFT_CHECK(!given || (both && all), WEFT_ERR_DATA,
               "%s: valid.npz and test.npz differ in having negatives: both have edge_neg, or target_node_neg, or none",
               folder);
    *own = given ? (valid->own > test->own ? valid->own : test->own) : *own;
    return WEFT_OK;
}

weft_status link_set_read(weft_comm *comm, const weft_graph *graph, const char *folder, int64_t users, int64_t own,
                          link_set *set)
{
    const link_shares all_train = {.share = {1.0, 0.0, 0.0}, .users = users};
    link_pairs valid = {.pairs = 0}, test = {.pairs = 0};
    WEFT_TRY(begin(graph, users, set));
    const link_rows full = rows_of_rank(comm, graph);
    const bool first = comm_rank(comm) == 0;
    weft_status status = check_users(graph, &full, users);
    status = status == WEFT_OK ? take_training(graph, &all_train, &full, set) : status;
    status = status == WEFT_OK && first ? link_files_read(folder, graph->vertices, &valid, &test) : status;
    status = status == WEFT_OK && first ? settle_own(folder, &valid, &test, &own) : status;
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(comm_bcast(comm, 0, &own, sizeof own), status, done);
    WEFT_TRY_GOTO(share_pairs(comm, &valid), status, done);
    WEFT_TRY_GOTO(share_pairs(comm, &test), status, done);
    status = judge_pairs(comm, graph, &valid, LINK_VALID, own, set);
    status = status == WEFT_OK ? judge_pairs(comm, graph, &test, LINK_TEST, own, set) : status;
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(comm_allreduce(comm, &set->found, 1, WEFT_DTYPE_I64, COMM_SUM), status, done);
    WEFT_TRY_GOTO(count_training(comm, graph, set), status, done);
    WEFT_TRY_GOTO(sample_training(comm, own, set), status, done);
    status = number_rows(comm, own > 0, &set->judged);
done:
    link_pairs_free(&valid);
    link_pairs_free(&test);
    return status;
}

weft_status link_set_ask(weft_comm *comm, const weft_graph *graph, const char *path, link_set *set)
{
    link_pairs asked = {.pairs = 0};
    WEFT_TRY(begin(graph, 0, set));
    weft_status status = comm_rank(comm) == 0 ? link_file_pairs(path, graph->vertices, &asked) : WEFT_OK;
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(share_pairs(comm, &asked), status, done);
    const int rank = comm_rank(comm);
    const int64_t from = share_begin(comm, asked.pairs, rank), to = share_begin(comm, asked.pairs, rank + 1);
    status = list_reserve(&set->judged, to - from);
    for (int64_t i = from; i < to && status == WEFT_OK; ++i) {
        list_put(&set->judged, asked.end[2 * i], asked.end[2 * i + 1], true, LINK_TEST, 0);
    }
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    status = number_rows(comm, false, &set->judged);
done:
    link_pairs_free(&asked);
    return status;
}

void link_set_destroy(link_set *set)
{
    link_list *l = &set->judged;
    WEFT_FREE_ALL(set->anchor, set->other, set->offset, set->source, l->a, l->b, l->target, l->split, l->group, l->id);
    *set = (link_set){.vertices = 0};
}
