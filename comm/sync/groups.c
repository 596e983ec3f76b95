/* comm/sync/groups.c: digits, shuffles and crossings. Memory: rounds * P numbers, rounds = O(log P * log racks). */
#include "comm/sync/groups.h"

#include "base/alloc.h"
#include "base/philox.h"
#include "comm/comm_options.def"

enum { ATTEMPTS = 1000 };

typedef struct builder {
    const comm_topology *racks;
    int group;
    uint64_t seed;
    uint32_t attempt;
    sync_groups *groups;
    int *member, *order, *start; /* [P], [P], [racks + 1]: ranks rack by rank, a round's order, first of each rack */
    int *parent;                 /* [P] of the search for what is joined */
} builder;

/* ---- sizes ----------------------------------------------------------------------------------------------- */
/* The least s with g^s >= n. */
static int levels_of(int n, int g)
{
    int levels = 0;
    for (int64_t reach = 1; reach < n; reach *= g) {
        ++levels;
    }
    return levels;
}

static bool is_power(int n, int g)
{
    while (n % g == 0) {
        n /= g;
    }
    return n == 1;
}

/* Groups that n shuffled ranks are cut into. */
static int cut_count(int n, int g)
{
    int rest = n % g;
    int whole = n / g;
    bool own = rest > 1 && 2 * rest >= g;
    return whole + own > 0 ? whole + own : 1;
}

/* ---- one round ------------------------------------------------------------------------------------------- */
static void shuffle(const builder *b, int round, int set, int *item, int count)
{
    uint64_t id = (uint64_t)round * (uint64_t)(b->racks->sets + 1) + (uint64_t)set;
    for (int i = count - 1; i > 0; --i) {
        philox_block block = philox4x32(philox_counter((uint32_t)i, id, WEFT_RNG_SYNC, b->attempt), b->seed);
        int j = (int)(((uint64_t)block.word[0] * (uint64_t)(i + 1)) >> 32);
        int swap = item[i];
        item[i] = item[j];
        item[j] = swap;
    }
}

/* Consecutive runs of g; returns the first colour that is free. */
static int cut(const builder *b, const int *item, int count, int *color, int first)
{
    int groups = cut_count(count, b->group);
    for (int i = 0; i < count; ++i) {
        int c = i / b->group;
        color[item[i]] = first + (c < groups ? c : groups - 1);
    }
    return first + groups;
}

static int divide_by_digit(const builder *b, const int *item, int count, int digit, int *color, int first)
{
    int stride = 1;
    for (int d = 0; d < digit; ++d) {
        stride *= b->group;
    }
    for (int i = 0; i < count; ++i) {
        color[item[i]] = first + i / (stride * b->group) * stride + i % stride;
    }
    return first + count / b->group;
}

/* step: the round's place among those inside racks. */
static void inner_round(builder *b, int round, int step, int *color)
{
    int first = 0;
    for (int s = 0; s < b->racks->sets; ++s) {
        const int *member = b->member + b->start[s];
        int count = b->start[s + 1] - b->start[s];
        if (count > 1 && is_power(count, b->group)) {
            first = divide_by_digit(b, member, count, step % levels_of(count, b->group), color, first);
            continue;
        }
        for (int i = 0; i < count; ++i) {
            b->order[i] = member[i];
        }
        shuffle(b, round, s, b->order, count);
        first = cut(b, b->order, count, color, first);
    }
}

/* The racks dealt out one rank at a time, so that neighbours in the order come from different racks. */
static void crossing_round(builder *b, int round, int *color)
{
    int sets = b->racks->sets;
    int dealt = 0;
    int *turn = b->parent; /* [racks] work space */
    for (int s = 0; s < sets; ++s) {
        turn[s] = s;
        shuffle(b, round, s, b->member + b->start[s], b->start[s + 1] - b->start[s]);
    }
    shuffle(b, round, sets, turn, sets);
    for (int i = 0; dealt < b->racks->ranks; ++i) {
        for (int k = 0; k < sets; ++k) {
            int at = b->start[turn[k]] + i;
            if (at < b->start[turn[k] + 1]) {
                b->order[dealt++] = b->member[at];
            }
        }
    }
    cut(b, b->order, dealt, color, 0);
    for (int s = 0; s < sets; ++s) { /* ascending again: digits go by the place in the rack */
        topology_members(b->racks, s, b->member + b->start[s]);
    }
}

/* ---- the cycle ------------------------------------------------------------------------------------------- */
static int root_of(const int *parent, int i)
{
    while (parent[i] != i) {
        i = parent[i];
    }
    return i;
}

/* Whether the cycle joins all ranks. `order` holds the first rank seen of each group. */
static bool joins_all(builder *b)
{
    int ranks = b->racks->ranks;
    int roots = ranks;
    for (int r = 0; r < ranks; ++r) {
        b->parent[r] = r;
    }
    for (int t = 0; t < b->groups->rounds; ++t) {
        const int *color = b->groups->color + (ptrdiff_t)t * ranks;
        for (int r = 0; r < ranks; ++r) {
            b->order[r] = -1;
        }
        for (int r = 0; r < ranks; ++r) {
            int first = b->order[color[r]];
            if (first < 0) {
                b->order[color[r]] = r;
            } else if (root_of(b->parent, r) != root_of(b->parent, first)) {
                b->parent[root_of(b->parent, r)] = root_of(b->parent, first);
                --roots;
            }
        }
    }
    return roots == 1;
}

static weft_status draw(builder *b)
{
    sync_groups *groups = b->groups;
    for (b->attempt = 0; b->attempt < ATTEMPTS; ++b->attempt) {
        for (int t = 0; t < groups->rounds; ++t) {
            int *color = groups->color + (ptrdiff_t)t * groups->ranks;
            bool crosses = groups->period > 0 && t % groups->period == groups->period - 1;
            if (crosses) {
                crossing_round(b, t, color);
            } else {
                inner_round(b, t, groups->period > 0 ? t % groups->period : t, color);
            }
        }
        if (joins_all(b)) {
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_INTERNAL, "%d shuffles of %d ranks in groups of %d leave some apart", groups->rounds,
                     groups->ranks, b->group);
}

static void count_rounds(const builder *b)
{
    sync_groups *groups = b->groups;
    int sets = b->racks->sets;
    int g = b->group;
    if (sets == 1) {
        int levels = levels_of(groups->ranks, g);
        groups->exact = is_power(groups->ranks, g) || cut_count(groups->ranks, g) == 1;
        groups->rounds = is_power(groups->ranks, g) ? levels : groups->exact ? 1 : 2 * levels;
        groups->rounds = groups->rounds > 0 ? groups->rounds : 1;
        return;
    }
    int inner = 0;
    for (int s = 0; s < sets; ++s) {
        int levels = levels_of(b->start[s + 1] - b->start[s], g);
        inner = levels > inner ? levels : inner;
    }
    groups->period = inner + 1;
    groups->rounds = groups->period * 2 * levels_of(sets, g);
}

static weft_status build(builder *b)
{
    int ranks = b->racks->ranks;
    int sets = b->racks->sets;
    WEFT_TRY(WEFT_NEW_ZERO(&b->groups, 1, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW(&b->member, ranks, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW(&b->order, ranks, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW(&b->parent, ranks, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW_ZERO(&b->start, (size_t)sets + 1, WEFT_MEM_COMM));
    for (int s = 0; s < sets; ++s) {
        b->start[s + 1] = b->start[s] + topology_members(b->racks, s, b->member + b->start[s]);
    }
    b->groups->ranks = ranks;
    count_rounds(b);
    WEFT_TRY(WEFT_NEW(&b->groups->color, (size_t)b->groups->rounds * (size_t)ranks, WEFT_MEM_COMM));
    return draw(b);
}

weft_status groups_create(const comm_topology *racks, int group, uint64_t seed, sync_groups **groups)
{
    builder b = {.racks = racks, .group = group, .seed = seed};
    *groups = NULL;
    WEFT_CHECK(group >= 2, WEFT_ERR_USAGE, "groups of %d ranks: " FLAG_GROUP_SIZE " is at least 2", group);
    weft_status status = build(&b);
    if (status == WEFT_OK) {
        *groups = b.groups;
        b.groups = NULL;
    }
    groups_destroy(b.groups);
    WEFT_FREE_ALL(b.member, b.order, b.parent, b.start);
    return status;
}

void groups_destroy(sync_groups *groups)
{
    if (groups != NULL) {
        WEFT_FREE_ALL(groups->color, groups);
    }
}
