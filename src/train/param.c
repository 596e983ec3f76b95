/* train/param.c: see train/param.h. */
#include "train/param.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/integer/integers.h"
#include "base/philox.h"
#include "comm/core/window.h"
#include "io/npy.h"
#include "train/input_moments.h"

weft_mem_tag WEFT_MEM_PARAMETER[1] = {{.text = "parameters"}};

static const double PI = 3.14159265358979323846;

enum { ALIGN_ELEMENTS = 16 };

void param_store_begin(param_store *store, weft_hal *hal, weft_dtype dtype)
{
    memset(store, 0, sizeof *store);
    store->hal = hal;
    store->dtype = dtype;
    static const param_group given[PARAM_GROUPS_GIVEN] = {
        [PARAM_GROUP_DECAY] = {.trained = true, .replicated = true, .decays = true, .lr_scale = 1.0},
        [PARAM_GROUP_NO_DECAY] = {.trained = true, .replicated = true, .lr_scale = 1.0},
        [PARAM_GROUP_STATE] = {.replicated = true},
        [PARAM_GROUP_LOCAL_STATE] = {.replicated = true, .local = true}};
    for (int g = 0; g < PARAM_GROUPS_GIVEN; ++g) {
        (void)param_add_group(store, &given[g]);
    }
}

int param_add_group(param_store *store, const param_group *group)
{
    assert(group->trained ? !group->local : group->replicated);
    if (store->short_of_memory || /* a group behind one that is missing would have its number */
        grow_array((void **)&store->group, sizeof *store->group, store->groups, &store->group_capacity,
                   WEFT_MEM_PARAMETER) != WEFT_OK) {
        store->short_of_memory = true;
        return -1;
    }
    store->group[store->groups] = *group;
    return store->groups++;
}

param_init param_constant(double value)
{
    return (param_init){.draw = PARAM_CONSTANT, .spread = value};
}

param_init param_glorot(int64_t fan_in, int64_t fan_out)
{
    return (param_init){.draw = PARAM_UNIFORM, .spread = sqrt(6.0 / (double)(fan_in + fan_out))};
}

param_init param_kaiming(int64_t fan_in)
{
    return (param_init){.draw = PARAM_NORMAL, .spread = sqrt(2.0 / (double)fan_in)};
}

param_init param_fan_uniform(int64_t fan_in)
{
    return (param_init){.draw = PARAM_UNIFORM, .spread = 1.0 / sqrt((double)fan_in)};
}

int param_add_block(param_store *store, int group, int64_t rows, int64_t cols)
{
    assert(group < store->groups || store->short_of_memory);
    if (group < 0 || store->short_of_memory ||
        grow_array((void **)&store->block, sizeof *store->block, store->blocks, &store->block_capacity,
                   WEFT_MEM_PARAMETER) != WEFT_OK) {
        store->short_of_memory = true;
        return -1;
    }
    const param_group *g = &store->group[group];
    int64_t elements = rows * cols;
    int64_t padded = (elements + ALIGN_ELEMENTS - 1) / ALIGN_ELEMENTS * ALIGN_ELEMENTS;
    int64_t *end = g->replicated ? &store->elements : &store->own;
    store->block[store->blocks] =
        (param_block){.group = group, .offset = *end, .rows = rows, .cols = cols, .rate = 1.0};
    *end += padded;
    if (g->replicated && g->trained) {
        assert(store->trained_blocks == store->blocks); /* the others come later */
        store->trained += padded;
        store->trained_blocks += 1;
    }
    store->has_local_state = store->has_local_state || g->local;
    store->weights += g->trained ? elements : 0;
    return store->blocks++;
}

static weft_status check_block(const param_store *store, int block)
{
    WEFT_CHECK(block >= 0, WEFT_ERR_RESOURCE, "no memory for the list of parameters");
    WEFT_CHECK(store->group[store->block[block].group].replicated, WEFT_ERR_INTERNAL,
               "block %d is a rank's own and has no name", block);
    return WEFT_OK;
}

static weft_status add_entry(param_store *store, const param_entry *entry, const char *format, va_list args)
{
    WEFT_TRY(grow_array((void **)&store->entry, sizeof *store->entry, store->entries, &store->entry_capacity,
                        WEFT_MEM_PARAMETER));
    param_entry *added = &store->entry[store->entries];
    *added = *entry;
    int length = vsnprintf(added->name, sizeof added->name, format, args);
    WEFT_CHECK(length < (int)sizeof added->name, WEFT_ERR_UNSUPPORTED, "%s...: a parameter's name has at most %d bytes",
               added->name, PARAM_NAME_BYTES - 1);
    store->entries += 1;
    return WEFT_OK;
}

weft_status param_add(param_store *store, int block, int64_t row, int64_t col, int64_t rows, int64_t cols,
                      param_init init, const char *format, ...)
{
    WEFT_TRY(check_block(store, block));
    const param_block *b = &store->block[block];
    assert(row >= 0 && col >= 0 && row + rows <= b->rows && col + cols <= b->cols);
    const param_entry entry = {.offset = b->offset + row * b->cols + col,
                               .rows = rows,
                               .cols = cols,
                               .ld = b->cols,
                               .rank = 2,
                               .shape = {rows, cols},
                               .init = init};
    va_list args;
    va_start(args, format);
    weft_status status = add_entry(store, &entry, format, args);
    va_end(args);
    return status;
}

weft_status param_add_tensor(param_store *store, int block, int rank, const int64_t *shape, param_init init,
                             const char *format, ...)
{
    WEFT_TRY(check_block(store, block));
    const param_block *b = &store->block[block];
    param_entry entry = {
        .offset = b->offset, .rows = b->rows, .cols = b->cols, .ld = b->cols, .rank = rank, .init = init};
    WEFT_CHECK(rank >= 1 && rank <= PARAM_RANK_MAX, WEFT_ERR_UNSUPPORTED, "a parameter of %d dimensions: 1 to %d", rank,
               PARAM_RANK_MAX);
    const int64_t rows = rank > 1 ? shape[0] : 1;
    int64_t cols = 1;
    for (int d = 0; d < rank; ++d) {
        entry.shape[d] = shape[d];
        cols *= d > 0 || rank == 1 ? shape[d] : 1;
    }
    WEFT_CHECK(rows == b->rows && cols == b->cols, WEFT_ERR_INTERNAL,
               "a parameter of %lld x %lld in a block of %lld x %lld", (long long)rows, (long long)cols,
               (long long)b->rows, (long long)b->cols);
    va_list args;
    va_start(args, format);
    weft_status status = add_entry(store, &entry, format, args);
    va_end(args);
    return status;
}

static weft_status create_shared(const param_store *store, int64_t elements, weft_tensor *t)
{
    void *data = NULL;
    WEFT_TRY(comm_buffer_alloc(store->comm, elements * (int64_t)weft_dtype_bytes(store->dtype), &data));
    *t = (weft_tensor){
        .hal = store->hal, .dtype = store->dtype, .rows = 1, .cols = elements, .ld = elements, .data = data};
    return WEFT_OK;
}

static weft_status create_flat(const param_store *store, int64_t elements, weft_tensor *t)
{
    if (store->comm != NULL) {
        return create_shared(store, elements, t);
    }
    return tensor_create(store->hal, store->dtype, 1, elements, WEFT_MEM_PARAMETER, t);
}

/* [out] shared every rank's backend has memory that the host sees: windows are made by all ranks or by none.
 * Collective. */
static weft_status agree_shared(const param_store *store, weft_comm *comm, bool *shared)
{
    int32_t visible = hal_host_visible(store->hal);
    *shared = false;
    if (comm == NULL || comm_size(comm) == 1) {
        return WEFT_OK;
    }
    WEFT_TRY(comm_allreduce(comm, &visible, 1, WEFT_DTYPE_I32, COMM_MIN));
    *shared = visible != 0;
    return WEFT_OK;
}

weft_status param_store_commit(param_store *store, weft_comm *comm)
{
    bool shared = false;
    WEFT_TRY(agree_shared(store, comm, &shared));
    store->comm = shared ? comm : NULL;
    WEFT_CHECK(!store->short_of_memory, WEFT_ERR_RESOURCE, "no memory for the list of parameters");
    WEFT_TRY(create_flat(store, store->elements, &store->value));
    WEFT_TRY(create_flat(store, store->trained, &store->grad));
    WEFT_TRY(tensor_create(store->hal, store->dtype, 1, store->own, WEFT_MEM_PARAMETER, &store->own_value));
    WEFT_TRY(tensor_create(store->hal, store->dtype, 1, store->own, WEFT_MEM_PARAMETER, &store->own_grad));
    WEFT_TRY(tensor_zero(&store->value));
    WEFT_TRY(tensor_zero(&store->grad));
    WEFT_TRY(tensor_zero(&store->own_value));
    return tensor_zero(&store->own_grad);
}

void param_store_borrow(param_store *store, const param_store *from)
{
    assert(store->elements == from->elements && store->dtype == from->dtype && store->own == 0);
    store->value = tensor_view(&from->value, 0, 1, 0, from->elements);
    store->value.hal = store->hal;
}

static void destroy_flat(const param_store *store, weft_tensor *t)
{
    if (store->comm != NULL && t->data != NULL) {
        comm_buffer_free(store->comm, t->data);
    }
    tensor_destroy(t);
}

void param_store_destroy(param_store *store)
{
    destroy_flat(store, &store->grad);
    destroy_flat(store, &store->value);
    TENSOR_DESTROY_ALL(&store->own_grad, &store->own_value);
    WEFT_FREE_ALL(store->group, store->block, store->entry);
    store->group = NULL;
    store->block = NULL;
    store->entry = NULL;
    store->groups = store->group_capacity = 0;
    store->blocks = store->block_capacity = 0;
    store->entries = store->entry_capacity = 0;
}

static weft_tensor block_of(const weft_tensor *flat, const param_block *block)
{
    weft_tensor view = tensor_view(flat, 0, 1, block->offset, block->rows * block->cols);
    view.rows = block->rows;
    view.cols = block->cols;
    view.ld = block->cols;
    return view;
}

static bool is_own(const param_store *store, int block)
{
    return !store->group[store->block[block].group].replicated;
}

weft_tensor param_value(const param_store *store, int block)
{
    return block_of(is_own(store, block) ? &store->own_value : &store->value, &store->block[block]);
}

weft_tensor param_grad(const param_store *store, int block)
{
    return block_of(is_own(store, block) ? &store->own_grad : &store->grad, &store->block[block]);
}

weft_status param_set_values(param_store *store, const double *values)
{
    if (store->dtype == WEFT_DTYPE_F64) {
        return tensor_upload(&store->value, values);
    }
    float *narrow = NULL;
    WEFT_TRY(WEFT_NEW(&narrow, store->elements, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < store->elements; ++i) {
        narrow[i] = (float)values[i];
    }
    weft_status status = tensor_upload(&store->value, narrow);
    weft_free(narrow);
    return status;
}

/* Two uniform numbers make a normal one: G. Box, M. Muller, Ann. Math. Stat. 29(2), 1958,
 * doi:10.1214/aoms/1177706645. */
static double normal(const philox_block *draw, int pair)
{
    double radius = sqrt(-2.0 * log(1.0 - (double)philox_uniform(draw->word[2 * pair])));
    return radius * cos(2.0 * PI * (double)philox_uniform(draw->word[2 * pair + 1]));
}

static double initial_value(const param_entry *entry, int number, int64_t row, int64_t col, uint64_t seed)
{
    uint64_t element = (uint64_t)(row * entry->cols + col);
    philox_block draw;
    switch (entry->init.draw) {
    case PARAM_CONSTANT:
        return entry->init.spread;
    case PARAM_UNIFORM:
        draw = philox4x32(philox_counter((uint32_t)number, element / 4, WEFT_RNG_INIT, 0), seed);
        return entry->init.spread * (2.0 * (double)philox_uniform(draw.word[element % 4]) - 1.0);
    case PARAM_NORMAL:
        draw = philox4x32(philox_counter((uint32_t)number, element / 2, WEFT_RNG_INIT, 0), seed);
        return entry->init.spread * normal(&draw, (int)(element % 2));
    }
    return 0.0;
}

/* The parameter's matrix in the flat buffer of values. */
static weft_tensor entry_values(const param_store *store, const param_entry *entry)
{
    weft_tensor view = tensor_view(&store->value, 0, 1, entry->offset, entry->cols);
    view.rows = entry->rows;
    view.ld = entry->ld;
    return view;
}

/* values, narrow: room for the parameter's elements. */
static weft_status draw_entry(param_store *store, int number, uint64_t seed, double *values, float *narrow)
{
    const param_entry *entry = &store->entry[number];
    const bool wide = store->dtype == WEFT_DTYPE_F64;
    weft_tensor view = entry_values(store, entry);
    for (int64_t i = 0; i < entry->rows * entry->cols; ++i) {
        const double value = initial_value(entry, number, i / entry->cols, i % entry->cols, seed);
        values[i] = value;
        narrow[i] = (float)value;
    }
    return tensor_upload(&view, wide ? (const void *)values : narrow);
}

/* One parameter at a time, because a whole network in double precision would be the peak of a training's memory. */
weft_status param_initialise(param_store *store, uint64_t seed)
{
    double *values = NULL;
    float *narrow = NULL;
    int64_t most = 0;
    for (int number = 0; number < store->entries; ++number) {
        const int64_t count = store->entry[number].rows * store->entry[number].cols;
        most = count > most ? count : most;
    }
    weft_status status = WEFT_NEW(&values, most, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&narrow, most, WEFT_MEM_WORKSPACE) : status;
    status = status == WEFT_OK ? tensor_zero(&store->value) : status;
    for (int number = 0; number < store->entries && status == WEFT_OK; ++number) {
        status = draw_entry(store, number, seed, values, narrow);
    }
    WEFT_FREE_ALL(narrow, values);
    return status;
}

/* Elements of the flat buffer from a parameter's first to its last. */
static int64_t extent_of(const param_entry *entry)
{
    return entry->rows > 0 && entry->cols > 0 ? (entry->rows - 1) * entry->ld + entry->cols : 0;
}

/* raw: [extent_of], as the store has it; matrix: [rows, cols] without gaps. */
static weft_status entry_download(const param_store *store, const param_entry *entry, void *raw, float *matrix)
{
    const weft_tensor run = tensor_view(&store->value, 0, 1, entry->offset, extent_of(entry));
    const float *narrow = raw;
    const double *wide = raw;
    WEFT_TRY(tensor_download(&run, raw));
    for (int64_t row = 0; row < entry->rows; ++row) {
        for (int64_t col = 0; col < entry->cols; ++col) {
            const int64_t at = row * entry->ld + col;
            matrix[row * entry->cols + col] = store->dtype == WEFT_DTYPE_F64 ? (float)wide[at] : narrow[at];
        }
    }
    return WEFT_OK;
}

/* Room for the largest parameter, as the store has it and as float32. */
static weft_status entry_buffers(const param_store *store, void **raw, float **matrix)
{
    int64_t most = 0;
    for (int number = 0; number < store->entries; ++number) {
        most = larger(most, extent_of(&store->entry[number]));
    }
    WEFT_TRY(weft_malloc((size_t)most, weft_dtype_bytes(store->dtype), WEFT_MEM_WORKSPACE, raw));
    return WEFT_NEW(matrix, most, WEFT_MEM_WORKSPACE);
}

uint64_t param_mark_more(uint64_t mark, const float *values, int64_t count)
{
    mark = file_checksum(values, (size_t)count * sizeof *values, mark);
    return mark == 0 ? 1 : mark;
}

static weft_status mark_entries(const param_store *store, uint64_t *mark)
{
    weft_status status = WEFT_OK;
    void *raw = NULL;
    float *matrix = NULL;
    WEFT_TRY_GOTO(entry_buffers(store, &raw, &matrix), status, done);
    for (int number = 0; number < store->entries; ++number) {
        const param_entry *entry = &store->entry[number];
        WEFT_TRY_GOTO(entry_download(store, entry, raw, matrix), status, done);
        *mark = param_mark_more(*mark, matrix, entry->rows * entry->cols);
    }
done:
    WEFT_FREE_ALL(raw, matrix);
    return status;
}

weft_status param_mark(const param_store *store, weft_comm *comm, uint64_t *mark)
{
    *mark = 0;
    WEFT_TRY(comm_agree(comm, comm_rank(comm) == 0 ? mark_entries(store, mark) : WEFT_OK));
    return comm_bcast(comm, 0, mark, sizeof *mark);
}

/* One parameter at a time: a job that ends with much memory in use needs no more than its largest one. */
weft_status param_save(const param_store *store, const input_moments *moments, const char *path)
{
    weft_status status = WEFT_OK;
    npz_writer *npz = NULL;
    void *raw = NULL;
    float *matrix = NULL;
    WEFT_TRY_GOTO(entry_buffers(store, &raw, &matrix), status, done);
    WEFT_TRY_GOTO(npz_writer_open(path, &npz), status, done);
    for (int number = 0; number < store->entries; ++number) {
        const param_entry *entry = &store->entry[number];
        WEFT_TRY_GOTO(entry_download(store, entry, raw, matrix), status, done);
        WEFT_TRY_GOTO(npz_writer_add(npz, entry->name, 'f', 4, entry->rank, entry->shape, matrix), status, done);
    }
    WEFT_TRY_GOTO(moments != NULL ? input_moments_add(moments, npz) : WEFT_OK, status, done);
    status = npz_writer_commit(npz);
    npz = NULL;
done:
    if (npz != NULL) {
        npz_writer_discard(npz);
    }
    WEFT_FREE_ALL(matrix, raw);
    return status;
}
