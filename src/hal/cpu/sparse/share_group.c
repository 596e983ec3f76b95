/* hal/cpu/sparse/share_group.c: see hal/cpu/sparse/share_group.h. */
#include "hal/cpu/sparse/share_group.h"

#include <assert.h>
#include <string.h>

#include "base/grow.h"
#include "base/integer/bits.h"

enum {
    LEADERS = 16, /* fullest masks that are tried */
    PAIRED = 8,   /* of which the first ones also by what two have in common */
    CANDIDATES = LEADERS + PAIRED * (PAIRED - 1) / 2,
    LEAST_LIST = 1024
};

/* A column that some rows of a partial sum lack. */
typedef struct lacking {
    uint64_t rows;
    int32_t column;
} lacking;

struct share_group {
    const share_search *search;
    int64_t table_capacity;
    uint64_t table_last; /* slots of the group's columns less one: a power of two less one */
    int32_t *slot;       /* [table_capacity] number of a column + 1, or 0 */
    int64_t columns, column_capacity;
    int32_t *column; /* [columns] in the order in which rows name them */
    uint64_t *mask;  /* [columns] rows that read it and have it in no partial sum */
    int32_t *live;   /* [lives] columns that two rows and more read: those of the matrix, then partial sums */
    uint64_t *live_mask;
    int64_t lives, live_sources;
    uint64_t sum_rows; /* rows of the group that are partial sums */
    uint64_t sum[SHARE_SUMS];
    lacking *lack;
    int lacks, lack_capacity;
    share_list twice; /* pairs of row and column: further entries of a row in the same column */
};

weft_status share_group_create(const share_search *search, share_group **group)
{
    WEFT_TRY(WEFT_NEW_ZERO(group, 1, WEFT_MEM_WORKSPACE));
    (*group)->search = search;
    return WEFT_OK;
}

void share_group_destroy(share_group *group)
{
    if (group != NULL) {
        WEFT_FREE_ALL(group->slot, group->column, group->mask, group->live, group->live_mask, group->lack,
                      group->twice.item, group);
    }
}

void share_found_free(share_found *found)
{
    WEFT_FREE_ALL(found->plus.item, found->minus.item, found->sum_columns.item);
    *found = (share_found){.plus.item = NULL};
}

/* Room for `more` items behind those that are there. */
static weft_status list_reserve(share_list *list, int64_t more)
{
    if (list->count + more <= list->capacity) {
        return WEFT_OK;
    }
    int64_t capacity = list->capacity > 0 ? list->capacity : LEAST_LIST;
    while (capacity < list->count + more) {
        capacity *= 2;
    }
    WEFT_TRY(weft_realloc((void **)&list->item, (size_t)capacity, sizeof *list->item, WEFT_MEM_WORKSPACE));
    list->capacity = capacity;
    return WEFT_OK;
}

static weft_status list_add(share_list *list, int32_t item)
{
    WEFT_TRY(list_reserve(list, 1));
    list->item[list->count++] = item;
    return WEFT_OK;
}

/* ---- the group as masks ------------------------------------------------------------------------------------------ */
static weft_status reserve_columns(share_group *g, int64_t entries)
{
    if (entries > g->column_capacity) {
        const size_t count = (size_t)entries;
        WEFT_FREE_ALL(g->column, g->mask, g->live, g->live_mask);
        g->column = g->live = NULL;
        g->mask = g->live_mask = NULL;
        g->column_capacity = 0;
        WEFT_TRY(WEFT_NEW(&g->column, count, WEFT_MEM_WORKSPACE));
        WEFT_TRY(WEFT_NEW(&g->live, count, WEFT_MEM_WORKSPACE));
        WEFT_TRY(WEFT_NEW(&g->mask, count, WEFT_MEM_WORKSPACE));
        WEFT_TRY(WEFT_NEW(&g->live_mask, count, WEFT_MEM_WORKSPACE));
        g->column_capacity = entries;
    }
    int64_t size = LEAST_LIST;
    while (size < 2 * entries) {
        size *= 2;
    }
    if (size > g->table_capacity) {
        weft_free(g->slot);
        g->slot = NULL;
        g->table_capacity = 0;
        WEFT_TRY(WEFT_NEW(&g->slot, size, WEFT_MEM_WORKSPACE));
        g->table_capacity = size;
    }
    g->table_last = (uint64_t)size - 1;
    memset(g->slot, 0, (size_t)size * sizeof *g->slot);
    return WEFT_OK;
}

/* The number of a column, which is new or known. */
static int64_t column_number(share_group *g, int32_t column)
{
    const uint64_t last = g->table_last;
    const int32_t *known = g->column;
    int32_t *slot = g->slot;
    uint64_t at = ((uint64_t)(uint32_t)column * UINT64_C(0x9E3779B97F4A7C15) >> 32) & last;
    for (; slot[at] != 0; at = (at + 1) & last) {
        if (known[slot[at] - 1] == column) {
            return slot[at] - 1;
        }
    }
    g->column[g->columns] = column;
    g->mask[g->columns] = 0;
    slot[at] = (int32_t)++g->columns;
    return g->columns - 1;
}

static weft_status read_rows(share_group *g, const share_matrix *m, const int32_t *row, int count)
{
    int64_t entries = 0;
    for (int i = 0; i < count; ++i) {
        entries += m->offset[row[i] + 1] - m->offset[row[i]];
    }
    WEFT_TRY(reserve_columns(g, entries));
    g->columns = g->twice.count = 0;
    g->lacks = 0;
    g->sum_rows = 0;
    for (int i = 0; i < count; ++i) {
        const uint64_t bit = UINT64_C(1) << i;
        g->sum_rows |= row[i] >= m->targets ? bit : 0;
        for (int64_t e = m->offset[row[i]]; e < m->offset[row[i] + 1]; ++e) {
            uint64_t *mask = &g->mask[column_number(g, m->column[e])];
            if ((*mask & bit) != 0) {
                WEFT_TRY(list_add(&g->twice, i));
                WEFT_TRY(list_add(&g->twice, m->column[e]));
            }
            *mask |= bit;
        }
    }
    return WEFT_OK;
}

static void put_live(share_group *g, const share_matrix *m, bool sums)
{
    for (int64_t i = 0; i < g->columns; ++i) {
        if ((g->mask[i] & (g->mask[i] - 1)) != 0 && (g->column[i] >= m->sources) == sums) {
            g->live[g->lives] = (int32_t)i;
            g->live_mask[g->lives++] = g->mask[i];
        }
    }
}

static void list_live(share_group *g, const share_matrix *m)
{
    g->lives = 0;
    put_live(g, m, false);
    g->live_sources = g->lives;
    put_live(g, m, true);
}

/* The columns that are live still, in their order: masks only lose rows. */
static void keep_live(share_group *g)
{
    int64_t kept = 0, sources = 0;
    for (int64_t i = 0; i < g->lives; ++i) {
        const uint64_t mask = g->mask[g->live[i]];
        g->live[kept] = g->live[i];
        g->live_mask[kept] = mask;
        kept += (mask & (mask - 1)) != 0;
        sources += i < g->live_sources && (mask & (mask - 1)) != 0;
    }
    g->lives = kept;
    g->live_sources = sources;
}

/* ---- the best partial sum ---------------------------------------------------------------------------------------- */
/* What rows `m` save by sharing a column that rows `mask` read. */
static int64_t column_gain(uint64_t m, uint64_t mask)
{
    return 2 * (int64_t)bits_count(m & mask) - (int64_t)bits_count(m) - 1;
}

/* May rows m share this column? */
static bool may_share(const share_group *g, uint64_t m, uint64_t mask, bool is_sum)
{
    const uint64_t lacking_rows = m & ~mask;
    return lacking_rows == 0 || (g->search->signs && !(is_sum && (lacking_rows & g->sum_rows) != 0));
}

static int64_t gain_of(const share_group *g, uint64_t m)
{
    const int64_t rows = bits_count(m);
    const int64_t first = g->search->signs ? g->live_sources : 0;
    int64_t gain = g->search->kernels->share_gain(g->live_mask, first, m);
    for (int64_t i = first; i < g->lives; ++i) {
        const int64_t more = column_gain(m, g->live_mask[i]);
        gain += more > 0 && may_share(g, m, g->live_mask[i], true) ? more : 0;
    }
    return gain - rows - 1;
}

/* The fullest masks, all different, fullest first. Returns their number. */
static int find_leaders(const share_group *g, uint64_t leader[LEADERS])
{
    int rows[LEADERS];
    int count = 0;
    for (int64_t i = 0; i < g->lives; ++i) {
        const uint64_t mask = g->live_mask[i];
        const int full = bits_count(mask);
        if (count == LEADERS && full <= rows[LEADERS - 1]) {
            continue;
        }
        int at = count;
        while (at > 0 && rows[at - 1] < full) {
            --at;
        }
        bool known = at >= LEADERS;
        for (int k = at - 1; k >= 0 && rows[k] == full && !known; --k) {
            known = leader[k] == mask;
        }
        if (known) {
            continue;
        }
        count += count < LEADERS;
        memmove(leader + at + 1, leader + at, (size_t)(count - 1 - at) * sizeof *leader);
        memmove(rows + at + 1, rows + at, (size_t)(count - 1 - at) * sizeof *rows);
        leader[at] = mask;
        rows[at] = full;
    }
    return count;
}

static int64_t best_sum(const share_group *g, uint64_t *best)
{
    uint64_t candidate[CANDIDATES];
    int count = find_leaders(g, candidate);
    const int pairs = count < PAIRED ? count : PAIRED;
    for (int a = 0; a < pairs; ++a) {
        for (int b = a + 1; b < pairs; ++b) {
            const uint64_t both = candidate[a] & candidate[b];
            if ((both & (both - 1)) != 0) {
                candidate[count++] = both;
            }
        }
    }
    int64_t most = 0;
    for (int i = 0; i < count; ++i) {
        const int64_t gain = gain_of(g, candidate[i]);
        if (gain > most) {
            most = gain;
            *best = candidate[i];
        }
    }
    return most;
}

/* ---- taking it --------------------------------------------------------------------------------------------------- */
static weft_status note_lack(share_group *g, uint64_t rows, int32_t column)
{
    WEFT_TRY(grow_array((void **)&g->lack, sizeof *g->lack, g->lacks, &g->lack_capacity, WEFT_MEM_WORKSPACE));
    g->lack[g->lacks++] = (lacking){.rows = rows, .column = column};
    return WEFT_OK;
}

/* Columns that are worth while leave the rows' masks, and go to *found unless it is NULL. */
static weft_status take_sum(share_group *g, uint64_t m, share_found *found)
{
    int32_t columns = 0;
    for (int64_t i = 0; i < g->lives; ++i) {
        uint64_t *mask = &g->mask[g->live[i]];
        if (column_gain(m, *mask) <= 0 || !may_share(g, m, *mask, i >= g->live_sources)) {
            continue;
        }
        const int32_t column = g->column[g->live[i]];
        if (found != NULL && (m & ~*mask) != 0) {
            WEFT_TRY(note_lack(g, m & ~*mask, column));
        }
        *mask &= ~m;
        WEFT_TRY(found != NULL ? list_add(&found->plus, column) : WEFT_OK);
        ++columns;
    }
    assert(columns > 0);
    return found != NULL ? list_add(&found->sum_columns, columns) : WEFT_OK;
}

/* ---- what is left of the rows ------------------------------------------------------------------------------------ */
static void count_bits(uint64_t mask, int64_t *count)
{
    for (; mask != 0; mask &= mask - 1) {
        ++count[__builtin_ctzll(mask)];
    }
}

static void put_bits(uint64_t mask, int32_t item, int32_t *to, int64_t *next)
{
    for (; mask != 0; mask &= mask - 1) {
        to[next[__builtin_ctzll(mask)]++] = item;
    }
}

/* next[i]: where the entries of row i begin. Returns the number of all. */
static int64_t begin_rows(const int64_t *count, int rows, int64_t *next)
{
    int64_t sum = 0;
    for (int i = 0; i < rows; ++i) {
        next[i] = sum;
        sum += count[i];
    }
    return sum;
}

static weft_status put_plus(const share_group *g, int rows, int sums, share_list *list, int64_t *count)
{
    int64_t next[SHARE_ROWS];
    for (int64_t i = 0; i < g->columns; ++i) {
        count_bits(g->mask[i], count);
    }
    for (int64_t i = 0; i < g->twice.count; i += 2) {
        ++count[g->twice.item[i]];
    }
    for (int k = 0; k < sums; ++k) {
        count_bits(g->sum[k], count);
    }
    const int64_t all = begin_rows(count, rows, next);
    WEFT_TRY(list_reserve(list, all));
    int32_t *to = list->item + list->count;
    for (int64_t i = 0; i < g->columns; ++i) {
        put_bits(g->mask[i], g->column[i], to, next);
    }
    for (int64_t i = 0; i < g->twice.count; i += 2) {
        to[next[g->twice.item[i]]++] = g->twice.item[i + 1];
    }
    for (int k = 0; k < sums; ++k) {
        put_bits(g->sum[k], -1 - k, to, next);
    }
    list->count += all;
    return WEFT_OK;
}

static weft_status put_minus(const share_group *g, int rows, share_list *list, int64_t *count)
{
    int64_t next[SHARE_ROWS];
    for (int i = 0; i < g->lacks; ++i) {
        count_bits(g->lack[i].rows, count);
    }
    const int64_t all = begin_rows(count, rows, next);
    WEFT_TRY(list_reserve(list, all));
    for (int i = 0; i < g->lacks; ++i) {
        put_bits(g->lack[i].rows, g->lack[i].column, list->item + list->count, next);
    }
    list->count += all;
    return WEFT_OK;
}

weft_status share_group_solve(share_group *g, const share_matrix *m, const int32_t *row, int count, share_found *found,
                              int *sums, int64_t *saved, int64_t *plus, int64_t *minus)
{
    assert(count >= 2 && count <= SHARE_ROWS);
    *sums = 0;
    *saved = 0;
    WEFT_TRY(read_rows(g, m, row, count));
    list_live(g, m);
    for (; *sums < SHARE_SUMS; ++*sums) {
        uint64_t rows = 0;
        const int64_t gain = best_sum(g, &rows);
        if (gain < SHARE_LEAST_GAIN) {
            break;
        }
        *saved += gain;
        g->sum[*sums] = rows;
        WEFT_TRY(take_sum(g, rows, found));
        keep_live(g);
    }
    if (found == NULL) {
        return WEFT_OK;
    }
    memset(plus, 0, (size_t)count * sizeof *plus);
    memset(minus, 0, (size_t)count * sizeof *minus);
    WEFT_TRY(put_plus(g, count, *sums, &found->plus, plus));
    return put_minus(g, count, &found->minus, minus);
}
