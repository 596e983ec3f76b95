/* gnn/links/link_ranking.c: see gnn/links/link_ranking.h. */
#include "gnn/links/link_ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/integer/integers.h"

typedef struct test_link {
    int32_t user, item;
} test_link;

typedef struct ranked_item {
    float score;
    int32_t item;
} ranked_item;

static int by_user(const void *a, const void *b)
{
    const test_link *x = a, *y = b;
    return x->user != y->user ? (x->user > y->user) - (x->user < y->user) : (x->item > y->item) - (x->item < y->item);
}

/* Links of test of all ranks by user and item. [out] all: the caller's. Collective. */
static weft_status gather_links(weft_comm *comm, const link_set *set, test_link **all, int64_t *count)
{
    const link_list *l = &set->judged;
    test_link *mine = NULL;
    size_t *bytes = NULL;
    int64_t own = 0;
    WEFT_TRY(comm_agree(comm, WEFT_NEW(&mine, l->count, WEFT_MEM_WORKSPACE)));
    for (int64_t i = 0; i < l->count; ++i) {
        if (l->split[i] == LINK_TEST && l->target[i] > 0.0F) {
            const bool first = l->a[i] < set->users;
            mine[own++] = (test_link){first ? l->a[i] : l->b[i], first ? l->b[i] : l->a[i]};
        }
    }
    weft_status status = comm_allgather_bytes(comm, mine, (size_t)own * sizeof *mine, (void **)all, &bytes);
    *count = 0;
    for (int r = 0; r < comm_size(comm) && status == WEFT_OK; ++r) {
        *count += (int64_t)(bytes[r] / sizeof **all);
    }
    if (status == WEFT_OK && *count > 0) {
        qsort(*all, (size_t)*count, sizeof **all, by_user);
    }
    WEFT_FREE_ALL(mine, bytes);
    return status;
}

/* Users are scored by the block, in one product of matrices. */
enum { BLOCK = 64 };

typedef struct scorer {
    const link_ends *ends;
    int64_t items;
    weft_tensor item, user, product; /* [items, d], [BLOCK, d], [BLOCK, items] */
    float *row;                      /* [max(items, BLOCK), d] */
    float *score;                    /* [BLOCK, items] */
} scorer;

uint64_t link_ranking_bytes(int64_t items, int64_t width)
{
    const int64_t numbers = larger(items, BLOCK) * width + BLOCK * items; /* on the host, and again on the backend */
    return 2 * sizeof(float) * (uint64_t)numbers;
}

static void copy_row(const link_ends *ends, int64_t vertex, float *row)
{
    memcpy(row, ends->row + ends->place[vertex] * ends->width, (size_t)ends->width * sizeof *row);
}

/* Free with scorer_destroy, also after a failure. */
static weft_status scorer_create(weft_hal *hal, const link_set *set, const link_ends *ends, scorer *s)
{
    const int64_t items = set->vertices - set->users, width = ends->width;
    *s = (scorer){.ends = ends, .items = items};
    WEFT_TRY(WEFT_NEW(&s->row, larger(items, BLOCK) * width, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->score, BLOCK * items, WEFT_MEM_WORKSPACE));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, items, width, WEFT_MEM_WORKSPACE, &s->item));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, BLOCK, width, WEFT_MEM_WORKSPACE, &s->user));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, BLOCK, items, WEFT_MEM_WORKSPACE, &s->product));
    for (int64_t i = 0; i < items; ++i) {
        copy_row(ends, set->users + i, s->row + i * width);
    }
    return tensor_upload(&s->item, s->row);
}

static void scorer_destroy(scorer *s)
{
    TENSOR_DESTROY_ALL(&s->item, &s->user, &s->product);
    WEFT_FREE_ALL(s->row, s->score);
}

/* s->score becomes [users, items]. link: one of each user, at begin[user]; users <= BLOCK. */
static weft_status score_users(scorer *s, const test_link *link, const int64_t *begin, int64_t users)
{
    const int64_t width = s->ends->width;
    for (int64_t u = 0; u < users; ++u) {
        copy_row(s->ends, link[begin[u]].user, s->row + u * width);
    }
    weft_tensor user = tensor_view(&s->user, 0, users, 0, width);
    weft_tensor product = tensor_view(&s->product, 0, users, 0, s->items);
    WEFT_TRY(tensor_upload(&user, s->row));
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &user, .b = &s->item, .trans_b = true}, &product));
    return tensor_download(&product, s->score);
}

/* best: [at], falling; *held of them. An item that is not above the last of `at` is left out. */
static void put(ranked_item *best, int *held, int at, ranked_item next)
{
    if (*held == at && !(next.score > best[at - 1].score)) {
        return;
    }
    int place = *held < at ? (*held)++ : at - 1;
    for (; place > 0 && next.score > best[place - 1].score; --place) {
        best[place] = best[place - 1];
    }
    best[place] = next;
}

/* The first `at` items that training does not join to the user. score: [items]. Returns how many there are. */
static int rank_items(const link_set *set, const float *score, int64_t user, int at, ranked_item *best)
{
    const int64_t row = user - set->rows.begin;
    int64_t known = set->rows.offset[row];
    int held = 0;
    for (int64_t item = set->users; item < set->vertices; ++item) {
        while (known < set->rows.offset[row + 1] && set->rows.source[known] < item) {
            ++known;
        }
        if (known == set->rows.offset[row + 1] || set->rows.source[known] != item) {
            put(best, &held, at, (ranked_item){score[item - set->users], (int32_t)item});
        }
    }
    return held;
}

/* link: [count] of one user, by item. */
static void judge(const test_link *link, int64_t count, const ranked_item *best, int held, double *recall, double *ndcg)
{
    double gain = 0.0, most = 0.0;
    int64_t hits = 0;
    for (int place = 0; place < held; ++place) {
        const test_link wanted = {link[0].user, best[place].item};
        if (bsearch(&wanted, link, (size_t)count, sizeof *link, by_user) != NULL) {
            gain += 1.0 / log2(2.0 + (double)place);
            hits += 1;
        }
        most += place < count ? 1.0 / log2(2.0 + (double)place) : 0.0;
    }
    *recall = (double)hits / (double)count;
    *ndcg = most > 0.0 ? gain / most : 0.0;
}

/* begin: [users + 1] first link of each user that has some. room: [BLOCK, at]. Adds to sums users, recall and NDCG. */
static weft_status judge_users(const link_set *set, scorer *s, const test_link *link, const int64_t *begin,
                               int64_t users, int at, ranked_item *room, double sums[3])
{
    double score[BLOCK][2];
    for (int64_t first = 0; first < users; first += BLOCK) {
        const int64_t count = smaller(BLOCK, users - first);
        const int64_t *own = begin + first;
        WEFT_TRY(score_users(s, link, own, count));
#pragma omp parallel for schedule(static)
        for (int64_t u = 0; u < count; ++u) {
            ranked_item *best = room + u * at;
            const int held = rank_items(set, s->score + u * s->items, link[own[u]].user, at, best);
            judge(link + own[u], own[u + 1] - own[u], best, held, &score[u][0], &score[u][1]);
        }
        for (int64_t u = 0; u < count; ++u) {
            sums[0] += 1.0;
            sums[1] += score[u][0];
            sums[2] += score[u][1];
        }
    }
    return WEFT_OK;
}

/* Users of this rank's rows; begin: [count + 1], filled. Returns how many. */
static int64_t find_users(const link_set *set, const test_link *link, int64_t count, int64_t *begin)
{
    int64_t users = 0;
    for (int64_t i = 0; i < count;) {
        int64_t end = i + 1;
        while (end < count && link[end].user == link[i].user) {
            ++end;
        }
        if (link[i].user >= set->rows.begin && link[i].user < set->rows.begin + set->rows.rows) {
            begin[users++] = i;
            begin[users] = end; /* rows are neighbours, so the next user begins there */
        }
        i = end;
    }
    return users;
}

weft_status link_ranking_make(weft_comm *comm, weft_hal *hal, const link_set *set, const link_ends *ends, int at,
                              link_ranking *ranking)
{
    test_link *link = NULL;
    int64_t count = 0, *begin = NULL;
    ranked_item *room = NULL;
    scorer scores = {.items = 0};
    double sums[3] = {0.0, 0.0, 0.0};
    weft_status status = gather_links(comm, set, &link, &count);
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    status = WEFT_NEW(&begin, count + 1, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&room, (int64_t)BLOCK * at, WEFT_MEM_WORKSPACE) : status;
    status = status == WEFT_OK ? scorer_create(hal, set, ends, &scores) : status;
    status = status == WEFT_OK
                 ? judge_users(set, &scores, link, begin, find_users(set, link, count, begin), at, room, sums)
                 : status;
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(comm_allreduce(comm, sums, 3, WEFT_DTYPE_F64, COMM_SUM), status, done);
    *ranking = (link_ranking){.at = at,
                              .users = (int64_t)sums[0],
                              .recall = sums[0] > 0.0 ? sums[1] / sums[0] : 0.0,
                              .ndcg = sums[0] > 0.0 ? sums[2] / sums[0] : 0.0};
done:
    scorer_destroy(&scores);
    WEFT_FREE_ALL(link, begin, room);
    return status;
}
