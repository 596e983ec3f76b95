/* embed/exchange/embed_table.c: see embed/embed.h and embed/exchange/embed_table.h; files are in embed_files.c. */
#include "embed/exchange/embed_table.h"

#include <assert.h>
#include <string.h>

#include "base/integer/integers.h"
#include "base/integer/mix.h"

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static embed_mode mode_of(const embed_desc *d, int field)
{
    return d->mode_of == NULL ? d->mode : (embed_mode)d->mode_of[field];
}

/* Of the modes of all fields, as a number that a double holds. */
static double modes_hash(const embed_desc *d)
{
    uint64_t hash = 0;
    for (int f = 0; f < d->fields; ++f) {
        hash = mix64(hash + (uint64_t)mode_of(d, f) + 1);
    }
    return (double)(hash >> 32);
}

static weft_status check_desc(weft_comm *comm, const embed_desc *d)
{
    const double mine[] = {d->fields,
                           d->width,
                           d->linear,
                           d->number,
                           d->rule,
                           d->epsilon,
                           d->beta1,
                           d->beta2,
                           d->l1,
                           d->l2,
                           d->spread,
                           (double)d->seed,
                           (double)d->admit_after,
                           d->admit_chance,
                           (double)d->expire_after,
                           d->expire_norm,
                           modes_hash(d),
                           d->squares,
                           d->weighted,
                           d->ahead,
                           d->nodes};
    enum { MEMBERS = sizeof mine / sizeof *mine };
    double least[2 * MEMBERS];
    for (int i = 0; i < MEMBERS; ++i) {
        least[i] = mine[i];
        least[MEMBERS + i] = -mine[i];
    }
    WEFT_TRY(comm_allreduce(comm, least, 2 * MEMBERS, WEFT_DTYPE_F64, COMM_MIN));
    for (int i = 0; i < MEMBERS; ++i) {
        WEFT_CHECK(least[i] == -least[MEMBERS + i], WEFT_ERR_INTERNAL,
                   "tables of embeddings differ between ranks: member %d is %g here and %g elsewhere", i, mine[i],
                   least[i] != mine[i] ? least[i] : -least[MEMBERS + i]);
    }
    return WEFT_OK;
}

bool embed_splits_columns(const embed_desc *d, int ranks)
{
    return ranks == 1 || (d->rule != EMBED_ROW_ADAGRAD && d->expire_norm == 0.0 && d->width + d->linear >= ranks);
}

/* The group of a mode that some field has; it is opened with the fields that it gets. */
static weft_status open_group(embed_table *t, const embed_desc *desc, embed_mode mode, int64_t most)
{
    table_group *group = &t->group[t->groups];
    for (int f = 0; f < desc->fields; ++f) {
        if (mode_of(desc, f) == mode) {
            t->place[f] = (field_place){t->groups, group->fields++};
        }
    }
    if (group->fields == 0) {
        return WEFT_OK;
    }
    embed_desc of_group = t->desc;
    of_group.fields = group->fields;
    of_group.mode = mode == EMBED_COLUMNS && comm_size(t->comm) == 1 ? EMBED_ALL_TO_ALL : mode;
    t->groups += 1;
    const bool adagrad = desc->rule == EMBED_ROW_ADAGRAD, norm = desc->expire_norm > 0.0;
    WEFT_CHECK(mode != EMBED_COLUMNS || embed_splits_columns(desc, comm_size(t->comm)), WEFT_ERR_USAGE,
               "rows of %d numbers%s cannot be split by columns among %d ranks: take another mode%s", t->stride,
               adagrad ? " that are updated by row-adagrad, a sum of squares for all,"
               : norm  ? " that leave by their norm, which no rank has,"
                       : "",
               comm_size(t->comm),
               adagrad ? ", or another rule"
               : norm  ? ", or no norm"
                       : ", or no more ranks than numbers");
    return embed_group_open(t->comm, &of_group, most, &group->rows);
}

weft_status embed_open(weft_comm *comm, const embed_desc *desc, int64_t most, embed_table **table)
{
    embed_table *t = NULL;
    *table = NULL;
    WEFT_TRY(check_desc(comm, desc));
    weft_status status = WEFT_NEW_ZERO(&t, 1, WEFT_MEM_ROWS);
    status = status == WEFT_OK ? WEFT_NEW(&t->place, desc->fields, WEFT_MEM_ROWS) : status;
    status = comm_agree(comm, status);
    if (status == WEFT_OK) {
        t->comm = comm;
        t->desc = *desc;
        t->desc.mode_of = NULL;
        t->stride = desc->width + desc->linear;
    }
    for (int m = 0; m < EMBED_MODES_COUNT && status == WEFT_OK; ++m) {
        status = open_group(t, desc, (embed_mode)m, most);
    }
    if (status != WEFT_OK) {
        embed_close(t);
        return status;
    }
    *table = t;
    return WEFT_OK;
}

weft_status embed_open_lane(embed_table *t, int64_t most, embed_table **lane)
{
    embed_desc desc = t->desc;
    uint8_t *mode_of = NULL;
    *lane = NULL;
    WEFT_CHECK(desc.expire_after == 0, WEFT_ERR_USAGE,
               "rows that no batch of %lld named leave, also those of batches that are under way: keep all rows",
               (long long)desc.expire_after);
    WEFT_CHECK(t->lanes < EMBED_LANES_MOST, WEFT_ERR_RESOURCE, "%d lanes of a table of embeddings are open: no more",
               t->lanes);
    WEFT_TRY(comm_agree(t->comm, WEFT_NEW(&mode_of, desc.fields, WEFT_MEM_ROWS)));
    for (int f = 0; f < desc.fields; ++f) {
        mode_of[f] = (uint8_t)t->group[t->place[f].group].rows->desc.mode;
    }
    desc.mode_of = mode_of;
    desc.ahead = false;
    desc.seed = t->group->rows->seed; /* by which rows have owners */
    const weft_status status = embed_open(t->comm, &desc, most, lane);
    weft_free(mode_of);
    WEFT_TRY(status);
    assert((*lane)->groups == t->groups);
    for (int g = 0; g < t->groups; ++g) {
        embed_group_share((*lane)->group[g].rows, t->group[g].rows);
    }
    t->lane[t->lanes++] = *lane;
    return WEFT_OK;
}

void embed_close(embed_table *t)
{
    if (t != NULL) {
        for (int i = 0; i < t->lanes; ++i) {
            embed_close(t->lane[i]);
        }
        for (int g = 0; g < EMBED_MODES_COUNT; ++g) {
            table_group *group = &t->group[g];
            embed_group_close(group->rows);
            for (int i = 0; i < 2; ++i) {
                bag_store_free(&group->part[i].own);
            }
            weft_free(group->number);
        }
        WEFT_FREE_ALL(t->place, t);
    }
}

weft_status embed_clear(embed_table *t, uint64_t seed)
{
    for (int g = 0; g < t->groups; ++g) {
        WEFT_TRY(embed_group_clear(t->group[g].rows, seed));
    }
    t->desc.seed = seed;
    return WEFT_OK;
}

enum { FIGURES_SENT = 7, FIGURES = FIGURES_SENT + EMBED_MODES_COUNT };

/* This rank's figures of a table's groups, onto those of others. */
static void add_figures(const embed_table *t, int64_t sum[FIGURES], int64_t *bytes)
{
    for (int g = 0; g < t->groups; ++g) {
        const embed_figures own = embed_group_figures(t->group[g].rows);
        const int64_t part[FIGURES_SENT] = {own.rows,    own.waiting, own.made,   own.refused,
                                            own.expired, own.reread,  own.between};
        for (int i = 0; i < FIGURES_SENT; ++i) {
            sum[i] += part[i];
        }
        for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
            sum[FIGURES_SENT + m] += own.sent[m];
        }
        *bytes += own.bytes;
    }
}

weft_status embed_measure(const embed_table *t, embed_figures *figures)
{
    int64_t sum[FIGURES] = {0}, bytes = 0;
    add_figures(t, sum, &bytes);
    for (int i = 0; i < t->lanes; ++i) {
        add_figures(t->lane[i], sum, &bytes);
    }
    WEFT_TRY(comm_allreduce(t->comm, sum, FIGURES, WEFT_DTYPE_I64, COMM_SUM));
    WEFT_TRY(comm_allreduce(t->comm, &bytes, 1, WEFT_DTYPE_I64, COMM_MAX));
    *figures = (embed_figures){.rows = sum[0],
                               .waiting = sum[1],
                               .made = sum[2],
                               .refused = sum[3],
                               .expired = sum[4],
                               .reread = sum[5],
                               .between = sum[6],
                               .bytes = bytes};
    memcpy(figures->sent, sum + FIGURES_SENT, sizeof figures->sent);
    return WEFT_OK;
}

/* ---- parts of a batch -------------------------------------------------------------------------------------------- */

/* A group's columns of a sample, and whether squares stand behind them. */
static int64_t group_columns(const embed_table *t, const table_group *group)
{
    return (int64_t)group->fields * t->stride + t->desc.squares;
}

/* The bags of each group's fields, into part `which` of the groups. */
static weft_status part_bags(embed_table *t, const embed_bags *bags, int which)
{
    int64_t keys[EMBED_MODES_COUNT] = {0};
    for (int64_t b = 0; b < bags->samples * bags->fields; ++b) {
        keys[t->place[b % bags->fields].group] += bags->at[b + 1] - bags->at[b];
    }
    for (int g = 0; g < t->groups; ++g) {
        table_part *to = &t->group[g].part[which];
        const int fields = t->group[g].fields;
        WEFT_TRY(bag_store_reserve(&to->own, t->desc.weighted, bags->samples * fields, keys[g]));
        to->own.at[0] = 0;
        to->bags = (embed_bags){.samples = bags->samples,
                                .fields = fields,
                                .at = to->own.at,
                                .key = to->own.key,
                                .weight = bags->weight == NULL ? NULL : to->own.weight,
                                .batch = bags->batch};
    }
    for (int64_t s = 0; s < bags->samples; ++s) {
        for (int f = 0; f < bags->fields; ++f) {
            const int64_t first = bags->at[s * bags->fields + f], last = bags->at[s * bags->fields + f + 1];
            table_part *to = &t->group[t->place[f].group].part[which];
            int64_t *at = to->own.at + s * to->bags.fields + t->place[f].place;
            at[1] = at[0] + last - first;
            for (int64_t k = first; k < last; ++k) {
                to->own.key[at[0] + k - first] = bags->key[k];
            }
            for (int64_t k = first; k < last && bags->weight != NULL; ++k) {
                to->own.weight[at[0] + k - first] = bags->weight[k];
            }
        }
    }
    return WEFT_OK;
}

/* The parts of a batch, which were made ahead or are made now, and room for its sums. */
static weft_status take_parts(embed_table *t, const embed_bags *bags)
{
    const bool made = bags->batch != 0 && bags->batch == t->ahead;
    t->ahead = 0;
    t->now = made ? !t->now : t->now;
    WEFT_TRY(made ? WEFT_OK : part_bags(t, bags, t->now));
    for (int g = 0; g < t->groups; ++g) {
        table_group *group = &t->group[g];
        WEFT_TRY(embed_take_floats(&group->number, &group->numbers, bags->samples * group_columns(t, group)));
    }
    return WEFT_OK;
}

/* Sums of groups go to their columns; those of squares are added up. */
static void join_columns(const embed_table *t, int64_t samples, float *pooled, int64_t ld)
{
    const int64_t stride = t->stride;
#pragma omp parallel for schedule(static)
    for (int64_t s = 0; s < samples; ++s) {
        float *to = pooled + s * ld;
        float squares = 0;
        for (int f = 0; f < t->desc.fields; ++f) {
            const table_group *group = &t->group[t->place[f].group];
            memcpy(to + f * stride, group->number + s * group_columns(t, group) + t->place[f].place * stride,
                   (size_t)stride * sizeof *to);
        }
        for (int g = 0; g < t->groups && t->desc.squares; ++g) {
            const int64_t columns = group_columns(t, &t->group[g]);
            squares += t->group[g].number[(s + 1) * columns - 1];
            to[t->desc.fields * stride] = squares;
        }
    }
}

static void part_columns(const embed_table *t, int64_t samples, const float *dpooled, int64_t ld)
{
    const int64_t stride = t->stride;
#pragma omp parallel for schedule(static)
    for (int64_t s = 0; s < samples; ++s) {
        const float *from = dpooled + s * ld;
        for (int f = 0; f < t->desc.fields; ++f) {
            const table_group *group = &t->group[t->place[f].group];
            memcpy(group->number + s * group_columns(t, group) + t->place[f].place * stride, from + f * stride,
                   (size_t)stride * sizeof *from);
        }
        for (int g = 0; g < t->groups && t->desc.squares; ++g) {
            const int64_t columns = group_columns(t, &t->group[g]);
            t->group[g].number[(s + 1) * columns - 1] = from[t->desc.fields * stride];
        }
    }
}

/* ---- a batch ----------------------------------------------------------------------------------------------------- */

weft_status embed_forward(embed_table *t, const embed_bags *bags, bool training, float *pooled, int64_t ld)
{
    if (t->groups == 1) {
        return embed_group_forward(t->group->rows, bags, training, pooled, ld);
    }
    WEFT_TRY(comm_agree(t->comm, take_parts(t, bags)));
    for (int g = 0; g < t->groups; ++g) {
        table_group *group = &t->group[g];
        const embed_bags *part = &group->part[t->now].bags;
        WEFT_TRY(embed_group_forward(group->rows, part, training, group->number, group_columns(t, group)));
    }
    join_columns(t, bags->samples, pooled, ld);
    return WEFT_OK;
}

bool embed_looks_ahead(const embed_table *t)
{
    bool looks = false;
    for (int g = 0; g < t->groups; ++g) {
        looks = looks || embed_group_looks_ahead(t->group[g].rows);
    }
    return looks;
}

weft_status embed_ahead(embed_table *t, const embed_bags *bags)
{
    if (t->groups == 1) {
        return embed_group_ahead(t->group->rows, bags);
    }
    t->ahead = 0;
    WEFT_TRY(comm_agree(t->comm, part_bags(t, bags, !t->now)));
    t->ahead = bags->batch;
    for (int g = 0; g < t->groups; ++g) {
        WEFT_TRY(embed_group_ahead(t->group[g].rows, &t->group[g].part[!t->now].bags));
    }
    return WEFT_OK;
}

weft_status embed_ahead_rows(embed_table *t)
{
    for (int g = 0; g < t->groups; ++g) {
        WEFT_TRY(embed_group_ahead_rows(t->group[g].rows));
    }
    return WEFT_OK;
}

weft_status embed_backward(embed_table *t, const float *dpooled, int64_t ld, double rate)
{
    if (t->groups == 1) {
        return embed_group_backward(t->group->rows, dpooled, ld, rate);
    }
    part_columns(t, t->group->part[t->now].bags.samples, dpooled, ld);
    for (int g = 0; g < t->groups; ++g) {
        table_group *group = &t->group[g];
        WEFT_TRY(embed_group_backward(group->rows, group->number, group_columns(t, group), rate));
    }
    return WEFT_OK;
}

/* ---- sums of samples --------------------------------------------------------------------------------------------- */

int embed_sums_columns(const embed_table *t, const embed_sums *sums)
{
    return embed_group_sums_columns(t->group->rows, sums);
}

weft_status embed_sums_forward(embed_table *t, const embed_sums *sums, const embed_bags *bags,
                               const int64_t *samples_of, bool training, float *total, int64_t ld)
{
    WEFT_CHECK(t->groups == 1 && t->group->rows->desc.mode == EMBED_DES, WEFT_ERR_INTERNAL,
               "sums of samples need a table of mode des");
    return embed_group_sums_forward(t->group->rows, sums, bags, samples_of, training, total, ld);
}

weft_status embed_sums_backward(embed_table *t, const float *dtotal, int64_t ld, double rate, float *dweight)
{
    return embed_group_sums_backward(t->group->rows, dtotal, ld, rate, dweight);
}
