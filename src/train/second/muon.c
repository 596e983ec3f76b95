/* train/second/muon.c: see train/second/muon.h. */
#include "train/second/muon.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "train/activities.h"

/* Operations that take about 1 ms on a core: several times as long as a short all-gather between nodes. */
static const double SHARE_FROM = 1e8;

muon_options muon_options_default(const weft_hal *hal)
{
    return (muon_options){.rate = 1.0, .momentum = 0.95, .half = hal->native_bf16, .share_from = SHARE_FROM};
}

/* ---- the matrices ------------------------------------------------------------------------------------------------ */

/* Returns true if a named parameter lies in a block. */
static bool lies_in(const param_entry *entry, const param_block *block)
{
    return entry->offset >= block->offset && entry->offset < block->offset + block->rows * block->cols;
}

static muon_matrix matrix_of(const param_store *store, const train_map *map, const param_entry *entry)
{
    const param_block *block = &store->block[map->block];
    const int64_t place = entry->offset - block->offset;
    const double ratio = (double)entry->rows / (double)entry->cols; /* out / in where the map is transposed */
    return (muon_matrix){.block = map->block,
                         .row = place / block->cols,
                         .rows = entry->rows,
                         .col = place % block->cols,
                         .cols = entry->cols,
                         .factor = sqrt(fmax(1.0, map->transposed ? ratio : 1.0 / ratio))};
}

/* The named matrices of a map. */
static void add_map(train_muon *m, const train_map *map)
{
    const param_store *store = m->store;
    m->takes[map->block] = true;
    for (int e = 0; e < store->entries; ++e) {
        if (lies_in(&store->entry[e], &store->block[map->block])) {
            m->matrix[m->matrices++] = matrix_of(store, map, &store->entry[e]);
        }
    }
}

static weft_status list_matrices(train_muon *m, const train_model *model)
{
    const param_store *store = m->store;
    WEFT_CHECK(
        model->maps > 2, WEFT_ERR_USAGE,
        "muon orthogonalises the steps of hidden weight matrices, and this model has none: it has %d layer%s with "
        "such weights, and the first and the last keep the optimiser's rule; train a model with three layers or "
        "more, or without muon",
        model->maps, model->maps == 1 ? "" : "s");
    WEFT_TRY(WEFT_NEW_ZERO(&m->takes, store->blocks, WEFT_MEM_PARAMETER));
    WEFT_TRY(WEFT_NEW(&m->matrix, store->entries, WEFT_MEM_PARAMETER));
    WEFT_TRY(WEFT_NEW_ZERO(&m->batch, store->entries, WEFT_MEM_PARAMETER));
    for (int i = 1; i < model->maps - 1; ++i) {
        assert(!m->takes[model->map[i].block]);
        add_map(m, &model->map[i]);
    }
    assert(m->matrices > 0 && m->matrices <= store->entries);
    return WEFT_OK;
}

/* ---- who does what ----------------------------------------------------------------------------------------------- */

static double flops_of(const muon_matrix *matrix)
{
    return orthogonal_flops(&(orthogonal_shape){.count = 1, .rows = matrix->rows, .cols = matrix->cols});
}

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Matrices that cost most come first; of equal ones the first of the store. */
static int by_cost(const void *left, const void *right)
{
    const muon_matrix *a = left, *b = right;
    const double x = flops_of(a), y = flops_of(b);
    const int order = (x < y) - (x > y);
    const int place = a->block != b->block ? by_number(a->block, b->block)
                      : a->row != b->row   ? by_number(a->row, b->row)
                                           : by_number(a->col, b->col);
    return order != 0 ? order : place;
}

/* The order of `step`: shares of the ranks, and within them matrices of one shape together. */
static int by_owner(const void *left, const void *right)
{
    const muon_matrix *a = left, *b = right;
    const int owner = by_number(a->owner, b->owner), rows = by_number(a->rows, b->rows);
    const int cols = by_number(a->cols, b->cols);
    return owner != 0 ? owner : rows != 0 ? rows : cols != 0 ? cols : by_cost(left, right);
}

/* Longest processing time first: each matrix goes to the rank that has least to do. load [ranks]: zeros. */
static void share_out(train_muon *m, int ranks, double *load)
{
    qsort(m->matrix, (size_t)m->matrices, sizeof *m->matrix, by_cost);
    for (int i = 0; i < m->matrices; ++i) {
        int least = 0;
        for (int r = 1; r < ranks; ++r) {
            least = load[r] < load[least] ? r : least;
        }
        m->matrix[i].owner = least;
        load[least] += flops_of(&m->matrix[i]);
    }
}

static bool same_batch(const muon_matrix *a, const muon_matrix *b)
{
    return a->owner == b->owner && a->rows == b->rows && a->cols == b->cols;
}

/* Gives matrices their places in `step`, and makes batches of them. Returns the elements of all. */
static int64_t lay_out(train_muon *m)
{
    int64_t at = 0;
    qsort(m->matrix, (size_t)m->matrices, sizeof *m->matrix, by_owner);
    for (int i = 0; i < m->matrices; ++i) {
        muon_matrix *one = &m->matrix[i];
        if (i == 0 || !same_batch(one - 1, one)) {
            m->batch[m->batches++] = (orthogonal_shape){.rows = one->rows, .cols = one->cols};
        }
        m->batch[m->batches - 1].count += 1;
        one->at = at;
        at += one->rows * one->cols;
    }
    return at;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

/* hal NULL: only sizes. */
static weft_status allocate(train_muon *m, weft_hal *hal, int ranks, double *load)
{
    const param_store *store = m->store;
    share_out(m, ranks, load);
    const int64_t elements = lay_out(m);
    m->step = (weft_tensor){.dtype = store->dtype, .rows = 1, .cols = elements, .ld = elements};
    WEFT_TRY(orthogonal_create(hal, store->dtype, m->options.half && store->dtype == WEFT_DTYPE_F32, m->batch,
                               m->batches, &m->work));
    if (hal == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(tensor_create(hal, store->dtype, 1, elements, WEFT_MEM_PARAMETER, &m->step));
    return m->comm == NULL
               ? WEFT_OK
               : weft_malloc((size_t)elements, weft_dtype_bytes(store->dtype), WEFT_MEM_PARAMETER, &m->step_host);
}

/* count [ranks]: zeros. */
static weft_status plan_gather(train_muon *m, int64_t *count)
{
    for (int i = 0; i < m->matrices; ++i) {
        count[m->matrix[i].owner] += m->matrix[i].rows * m->matrix[i].cols;
    }
    const comm_shares_desc desc = {.lane = COMM_LANE_CONTROL,
                                   .dtype = m->store->dtype,
                                   .count = count,
                                   .buffer = m->step_host,
                                   .name = "orthogonal steps"};
    return comm_allgather_plan(m->comm, &desc, &m->gather);
}

/* Returns true if the work of a step is worth a message. */
static bool pays(const train_muon *m, int ranks)
{
    double flops = 0.0;
    for (int i = 0; i < m->matrices; ++i) {
        flops += flops_of(&m->matrix[i]);
    }
    return ranks > 1 && flops >= m->options.share_from;
}

/* What a rank prepares by itself, on `ranks` ranks whose replicas are equal. [out] shared: they share the matrices, as
 * all of them decide it. */
static weft_status prepare(train_muon *m, const train_model *model, weft_hal *hal, weft_comm *equal, int ranks,
                           bool *shared)
{
    double *load = NULL;
    WEFT_TRY(list_matrices(m, model));
    *shared = pays(m, ranks);
    m->comm = *shared ? equal : NULL;
    const int owners = *shared ? ranks : 1;
    WEFT_TRY(WEFT_NEW_ZERO(&load, owners, WEFT_MEM_PARAMETER));
    const weft_status status = allocate(m, hal, owners, load);
    weft_free(load);
    return status;
}

static uint64_t bytes_of(const train_muon *m, bool shared);

weft_status muon_plan_bytes(const train_model *outline, const muon_options *options, int ranks, uint64_t *bytes)
{
    train_muon m = {.options = *options, .store = outline->params};
    bool shared = false;
    const weft_status status = prepare(&m, outline, NULL, NULL, ranks, &shared);
    *bytes = bytes_of(&m, shared);
    muon_destroy(&m);
    return status;
}

static weft_status update(void *self, const weft_tensor *velocity, double lr);

weft_status muon_create(const train_model *model, const muon_options *options, weft_comm *equal, train_muon *m)
{
    int64_t *count = NULL;
    bool shared = false;
    *m = (train_muon){.options = *options, .store = model->params};
    weft_status status = prepare(m, model, model->params->hal, equal, equal != NULL ? comm_size(equal) : 1, &shared);
    const weft_status local =
        status == WEFT_OK && m->comm != NULL ? WEFT_NEW_ZERO(&count, comm_size(m->comm), WEFT_MEM_PARAMETER) : status;
    status = equal != NULL ? comm_agree(equal, local) : local;
    if (status == WEFT_OK && count != NULL) {
        status = plan_gather(m, count);
    }
    m->rule = (optimizer_matrices){.self = m, .takes = m->takes, .update = update};
    weft_free(count);
    return status;
}

void muon_destroy(train_muon *m)
{
    comm_plan_destroy(m->gather);
    orthogonal_destroy(&m->work);
    tensor_destroy(&m->step);
    WEFT_FREE_ALL(m->step_host, m->takes, m->matrix, m->batch);
    memset(m, 0, sizeof *m);
}

static uint64_t bytes_of(const train_muon *m, bool shared)
{
    const orthogonal_work *w = &m->work;
    const uint64_t copies = shared ? 2 : 1;
    const uint64_t wide = copies * (uint64_t)m->step.cols + (uint64_t)(w->square.cols + w->turned.cols + w->next.cols);
    const uint64_t half = (uint64_t)(w->half_square.cols + w->half_turned.cols + w->half_x.cols);
    return wide * weft_dtype_bytes(m->store->dtype) + half * weft_dtype_bytes(WEFT_DTYPE_BF16);
}

uint64_t muon_bytes(const train_muon *m)
{
    return bytes_of(m, m->step_host != NULL);
}

/* ---- an update --------------------------------------------------------------------------------------------------- */

/* The elements of a block in a vector as long as the gradient. */
static weft_tensor block_in(const train_muon *m, const weft_tensor *vector, int b)
{
    const param_block *block = &m->store->block[b];
    const weft_tensor flat = tensor_view(vector, 0, 1, block->offset, block->rows * block->cols);
    return tensor_reshape(&flat, block->rows, block->cols);
}

static weft_tensor matrix_in(const train_muon *m, const weft_tensor *vector, const muon_matrix *matrix)
{
    const weft_tensor block = block_in(m, vector, matrix->block);
    return tensor_view(&block, matrix->row, matrix->rows, matrix->col, matrix->cols);
}

/* The place of a matrix in `step`. */
static weft_tensor step_of(const train_muon *m, const muon_matrix *matrix)
{
    const weft_tensor flat = tensor_view(&m->step, 0, 1, matrix->at, matrix->rows * matrix->cols);
    return tensor_reshape(&flat, matrix->rows, matrix->cols);
}

static bool is_mine(const train_muon *m, const muon_matrix *matrix)
{
    return m->comm == NULL || matrix->owner == comm_rank(m->comm);
}

/* All velocities, which every rank keeps; and what this rank orthogonalises, in its place in `step`. */
static weft_status move_velocity(train_muon *m, const weft_tensor *velocity)
{
    const double momentum = m->options.momentum;
    for (int b = 0; b < m->store->trained_blocks; ++b) {
        if (m->takes[b]) {
            const weft_tensor g = param_grad(m->store, b);
            weft_tensor v = block_in(m, velocity, b);
            WEFT_TRY(tensor_axpby(1.0, &g, momentum, &v));
        }
    }
    for (int i = 0; i < m->matrices; ++i) {
        const muon_matrix *matrix = &m->matrix[i];
        if (is_mine(m, matrix)) {
            const weft_tensor v = matrix_in(m, velocity, matrix), g = matrix_in(m, &m->store->grad, matrix);
            weft_tensor to = step_of(m, matrix);
            WEFT_TRY(tensor_axpby(momentum, &v, 0.0, &to));
            WEFT_TRY(tensor_axpby(1.0, &g, 1.0, &to));
        }
    }
    return WEFT_OK;
}

static weft_status orthogonalise_mine(train_muon *m)
{
    const muon_matrix *first = m->matrix;
    for (int i = 0; i < m->batches; ++i) {
        const orthogonal_shape *batch = &m->batch[i];
        weft_tensor x = tensor_view(&m->step, 0, 1, first->at, batch->count * batch->rows * batch->cols);
        WEFT_TRY(is_mine(m, first) ? orthogonalise(&m->work, batch, &x) : WEFT_OK);
        first += batch->count;
    }
    return WEFT_OK;
}

static weft_status share(train_muon *m)
{
    if (m->comm == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(tensor_download(&m->step, m->step_host));
    WEFT_TRY(comm_post(m->gather));
    WEFT_TRY(comm_wait(m->gather));
    return tensor_upload(&m->step, m->step_host);
}

static weft_status update_values(train_muon *m, double lr)
{
    for (int i = 0; i < m->matrices; ++i) {
        const muon_matrix *matrix = &m->matrix[i];
        const param_group *group = &m->store->group[m->store->block[matrix->block].group];
        const double rate = lr * m->options.rate * group->lr_scale;
        const double decay = group->decays ? m->options.weight_decay : 0.0;
        const weft_tensor step = step_of(m, matrix);
        weft_tensor w = matrix_in(m, &m->store->value, matrix);
        WEFT_TRY(tensor_axpby(-rate * matrix->factor, &step, 1.0 - rate * decay, &w));
    }
    return WEFT_OK;
}

/* Adds the seconds since *from to `sum`, and starts anew. */
static void count_seconds(double *sum, double *from)
{
    const double now = clock_seconds();
    *sum += now - *from;
    *from = now;
}

static weft_status update_timed(train_muon *m, const weft_tensor *velocity, double lr)
{
    double from = clock_seconds();
    WEFT_TRY(move_velocity(m, velocity));
    count_seconds(&m->seconds.velocity, &from);
    WEFT_TRY(orthogonalise_mine(m));
    count_seconds(&m->seconds.products, &from);
    WEFT_TRY(share(m));
    count_seconds(&m->seconds.share, &from);
    WEFT_TRY(update_values(m, lr));
    count_seconds(&m->seconds.update, &from);
    return WEFT_OK;
}

static weft_status update(void *self, const weft_tensor *velocity, double lr)
{
    activity_begin(ACTIVITY_SECOND);
    const weft_status status = update_timed(self, velocity, lr);
    activity_end(ACTIVITY_SECOND);
    return status;
}
