/* train/checkpoint/keeper_state.c: see train/checkpoint/keeper_state.h. */
#include "train/checkpoint/keeper_state.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "comm/comm_options.def"
#include "train/train_options.def"

/* Where a piece stands: on the backend, or in host memory. */
typedef struct piece_place {
    weft_tensor *tensor; /* NULL: data */
    void *data;
} piece_place;

/* A rank's state as a list of pieces. */
typedef struct rank_state {
    int arrays, pieces;                     /* the first `arrays` are of replicas, and have files and a mean */
    checkpoint_file file[CHECKPOINT_FILES]; /* [arrays] */
    checkpoint_piece *piece;                /* [pieces] */
    piece_place *place;                     /* [pieces] */
    int64_t bytes;
    unsigned char *data; /* [bytes] */
    int64_t *sizes;      /* rank 0: [P, pieces] bytes of every rank's pieces */
    int64_t *counts;     /* [P] */
    int64_t largest;     /* rank 0: bytes of the largest state */
} rank_state;

static checkpoint_piece *add_piece(rank_state *s, int item_bytes, int64_t bytes, piece_place place)
{
    checkpoint_piece *piece = &s->piece[s->pieces];
    s->place[s->pieces] = place;
    s->pieces += 1;
    *piece = (checkpoint_piece){.item_bytes = item_bytes, .bytes = bytes};
    s->bytes += bytes;
    return piece;
}

static void add_tensor(rank_state *s, const char *prefix, const char *name, weft_tensor *tensor)
{
    int item = (int)weft_dtype_bytes(tensor->dtype);
    checkpoint_piece *piece = add_piece(s, item, tensor->cols * item, (piece_place){.tensor = tensor});
    snprintf(piece->name, sizeof piece->name, "%s%s", prefix, name);
}

static void add_buffers(rank_state *s, const char *prefix, const sync_buffer *buffer, int count, bool optional)
{
    for (int i = 0; i < count; ++i) {
        checkpoint_piece *piece = add_piece(s, 1, buffer[i].bytes, (piece_place){.data = buffer[i].data});
        piece->optional = optional;
        snprintf(piece->name, sizeof piece->name, "%s%s", prefix, buffer[i].name);
    }
}

/* One that has a file of its own. */
static void add_array(rank_state *s, checkpoint_file file, const char *name, weft_tensor *tensor)
{
    s->file[s->pieces] = file;
    add_tensor(s, "", name, tensor);
    s->arrays = s->pieces;
}

static const char *const slot_names[] = {"first", "second"};
_Static_assert(sizeof slot_names / sizeof *slot_names == OPTIMIZER_SLOTS &&
                   CHECKPOINT_FILES - FILE_FIRST == OPTIMIZER_SLOTS,
               "every slot of the optimiser has a name and a file");

/* kept: what the mode remembers; the lists of preconditioner and model follow it. Collective. */
static weft_status state_create(const kept_replica *k, const sync_buffer *kept, int count, rank_state *s)
{
    train_replica *r = k->replica;
    train_optimizer *optimizer = &r->optimizer;
    const train_preconditioner *p = r->preconditioner;
    const train_model *model = k->model;
    const sync_buffer *turned = NULL, *held = NULL;
    int turns = 0, holds = 0;
    if (p != NULL && p->state != NULL) {
        WEFT_TRY(p->state(p->self, &turned, &turns));
    }
    if (model->state != NULL) {
        WEFT_TRY(model->state(model->self, &held, &holds));
    }
    const bool averages = r->average.params != NULL;
    const int most = 6 + 2 * OPTIMIZER_SLOTS + count + turns + holds;
    WEFT_TRY(WEFT_NEW(&s->piece, most, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&s->place, most, WEFT_MEM_WORKSPACE));
    add_array(s, FILE_LAST, "parameters", &r->params->value);
    if (averages) {
        add_array(s, FILE_AVERAGE, "average", &r->average.value);
    }
    for (int i = 0; i < OPTIMIZER_SLOTS && i < optimizer->slots; ++i) {
        add_array(s, (checkpoint_file)(FILE_FIRST + i), slot_names[i], &optimizer->slot[i]);
    }
    if (r->owns) {
        add_tensor(s, "", "own", &r->params->own_value);
        if (averages) {
            add_tensor(s, "own_", "average", &r->average.own);
        }
        for (int i = 0; i < OPTIMIZER_SLOTS && i < optimizer->slots; ++i) {
            add_tensor(s, "own_", slot_names[i], &optimizer->own_slot[i]);
        }
        add_tensor(s, "own_", "best", k->best_own);
    }
    add_buffers(s, "", kept, count, false);
    add_buffers(s, "preconditioner.", turned, turns, false);
    add_buffers(s, "model.", held, holds, true);
    add_buffers(s, "", &k->guard, k->guard.bytes > 0, true);
    return weft_malloc((size_t)s->bytes, 1, WEFT_MEM_WORKSPACE, (void **)&s->data);
}

static void state_destroy(rank_state *s)
{
    WEFT_FREE_ALL(s->piece, s->place, s->data, s->sizes, s->counts);
}

/* Returns how many elements the arrays of a file have: running statistics have no moments. */
static int64_t elements_of(const param_store *params, checkpoint_file file)
{
    return file >= FILE_FIRST ? params->trained : params->elements;
}

static weft_status state_fill(rank_state *s)
{
    unsigned char *next = s->data;
    for (int i = 0; i < s->pieces; ++i) {
        if (s->place[i].tensor != NULL) {
            WEFT_TRY(tensor_download(s->place[i].tensor, next));
        } else if (s->piece[i].bytes > 0) {
            memcpy(next, s->place[i].data, (size_t)s->piece[i].bytes);
        }
        next += s->piece[i].bytes;
    }
    return WEFT_OK;
}

static weft_status state_spill(const kept_replica *k, const rank_state *s)
{
    const train_model *model = k->model;
    const unsigned char *next = s->data;
    for (int i = 0; i < s->pieces; ++i) {
        if (s->place[i].tensor != NULL) {
            WEFT_TRY(tensor_upload(s->place[i].tensor, next));
        } else if (s->piece[i].bytes > 0) {
            memcpy(s->place[i].data, next, (size_t)s->piece[i].bytes);
        }
        next += s->piece[i].bytes;
    }
    WEFT_TRY(replica_restored(k->replica));
    return model->restored != NULL ? model->restored(model->self) : WEFT_OK;
}

/* Rank 0 learns how long everybody's pieces are. Collective. */
static weft_status learn_sizes(weft_comm *comm, rank_state *s)
{
    weft_status status = WEFT_OK;
    int64_t *mine = NULL;
    int ranks = comm_size(comm);
    int64_t row = (int64_t)s->pieces * (int64_t)sizeof *mine;
    status = WEFT_NEW(&mine, s->pieces, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&s->counts, ranks, WEFT_MEM_WORKSPACE) : status;
    if (status == WEFT_OK && comm_rank(comm) == 0) {
        status = WEFT_NEW(&s->sizes, (int64_t)ranks * s->pieces, WEFT_MEM_WORKSPACE);
    }
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    for (int i = 0; i < s->pieces; ++i) {
        mine[i] = s->piece[i].bytes;
    }
    for (int q = 0; q < ranks; ++q) {
        s->counts[q] = row;
    }
    WEFT_TRY_GOTO(comm_gatherv(comm, 0, mine, row, s->sizes, s->counts), status, done);
    s->largest = s->bytes;
    for (int q = 0; s->sizes != NULL && q < ranks; ++q) {
        int64_t sum = 0;
        for (int i = 0; i < s->pieces; ++i) {
            sum += s->sizes[(int64_t)q * s->pieces + i];
        }
        s->largest = sum > s->largest ? sum : s->largest;
    }
done:
    weft_free(mine);
    return status;
}

/* The pieces of rank q, as rank 0 knows them. Their bytes together. */
static int64_t pieces_of(const rank_state *s, int q, checkpoint_piece *piece)
{
    int64_t bytes = 0;
    for (int i = 0; i < s->pieces; ++i) {
        piece[i] = s->piece[i];
        piece[i].bytes = s->sizes[(int64_t)q * s->pieces + i];
        bytes += piece[i].bytes;
    }
    return bytes;
}

/* ---- out ---------------------------------------------------------------------------------------------------- */

static int64_t numbers_of(const rank_state *s, weft_dtype dtype)
{
    int64_t bytes = 0;
    for (int i = 0; i < s->arrays; ++i) {
        bytes += s->piece[i].bytes;
    }
    return bytes / (int64_t)weft_dtype_bytes(dtype);
}

/* Sum of the replicas' arrays, in rank order, in double. */
static void add_arrays(weft_dtype dtype, const unsigned char *data, double *sum, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        sum[i] += dtype == WEFT_DTYPE_F64 ? ((const double *)(const void *)data)[i]
                                          : (double)((const float *)(const void *)data)[i];
    }
}

static void mean_to(weft_dtype dtype, const double *sum, int ranks, unsigned char *data, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        double mean = sum[i] / ranks;
        if (dtype == WEFT_DTYPE_F64) {
            ((double *)(void *)data)[i] = mean;
        } else {
            ((float *)(void *)data)[i] = (float)mean;
        }
    }
}

/* One rank's state comes to rank 0, which writes it down and adds its arrays up. */
static weft_status gather_rank(const kept_replica *k, rank_state *s, int q, const char *folder, checkpoint_piece *piece,
                               unsigned char *from, double *sum, weft_status *written)
{
    char path[FILE_PATH_MAX];
    weft_comm *comm = k->comm;
    weft_dtype dtype = k->replica->params->dtype;
    int64_t bytes = piece != NULL ? pieces_of(s, q, piece) : 0;
    for (int p = 0; p < comm_size(comm); ++p) {
        s->counts[p] = p == q ? bytes : 0;
    }
    WEFT_TRY(comm_gatherv(comm, 0, s->data, comm_rank(comm) == q ? s->bytes : 0, from, s->counts));
    if (folder == NULL || from == NULL || sum == NULL) {
        return WEFT_OK;
    }
    add_arrays(dtype, from, sum, numbers_of(s, dtype));
    if (*written == WEFT_OK) {
        *written = checkpoint_rank_path(path, folder, q);
        *written = *written == WEFT_OK ? checkpoint_write_rank(path, piece, s->pieces, from) : *written;
    }
    return WEFT_OK;
}

/* Files of ranks; rank 0's data become the mean of all. */
static weft_status gather_ranks(const kept_replica *k, rank_state *s, const char *folder, weft_status *written)
{
    weft_status status = WEFT_OK;
    checkpoint_piece *piece = NULL;
    unsigned char *from = NULL;
    double *sum = NULL;
    weft_dtype dtype = k->replica->params->dtype;
    int64_t numbers = numbers_of(s, dtype);
    WEFT_TRY(learn_sizes(k->comm, s));
    if (folder != NULL) {
        status = WEFT_NEW(&piece, s->pieces, WEFT_MEM_WORKSPACE);
        status = status == WEFT_OK ? weft_malloc((size_t)s->largest, 1, WEFT_MEM_WORKSPACE, (void **)&from) : status;
        status = status == WEFT_OK ? WEFT_NEW_ZERO(&sum, numbers, WEFT_MEM_WORKSPACE) : status;
    }
    WEFT_TRY_GOTO(comm_agree(k->comm, status), status, done);
    log_progress progress = log_progress_begin("checkpoint", "ranks", comm_size(k->comm));
    for (int q = 0; q < comm_size(k->comm); ++q) {
        WEFT_TRY_GOTO(gather_rank(k, s, q, folder, piece, from, sum, written), status, done);
        log_progress_update(&progress, q + 1);
    }
    log_progress_end(&progress);
    if (sum != NULL && s->data != NULL) {
        mean_to(dtype, sum, comm_size(k->comm), s->data, numbers);
    }
done:
    WEFT_FREE_ALL(piece, from, sum);
    return status;
}

static weft_status write_named(const char *folder, checkpoint_file file, const param_store *params, const void *flat,
                               int64_t elements)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/%s", folder, checkpoint_file_names[file]));
    return checkpoint_write_named(path, params, flat, elements);
}

/* Parameters and moments by name, from the state's data; then the best parameters, which take its place. */
static weft_status write_arrays(const kept_replica *k, rank_state *s, const char *folder, bool best)
{
    const param_store *params = k->replica->params;
    unsigned char *next = s->data;
    for (int i = 0; i < s->arrays; ++i) {
        WEFT_TRY(write_named(folder, s->file[i], params, next, elements_of(params, s->file[i])));
        next += s->piece[i].bytes;
    }
    if (!best) {
        return WEFT_OK;
    }
    WEFT_TRY(tensor_download(k->best, s->data));
    return write_named(folder, FILE_BEST, params, s->data, params->elements);
}

/* Returns true if a checkpoint has files of ranks. */
static bool ranks_differ(const kept_replica *k)
{
    return replica_differs(k->replica) || k->model->state != NULL;
}

/* Files of what the model keeps beside its parameters, which every rank writes into rank 0's folder, or reads from
 * there. */
static weft_status beside_folder(const kept_replica *k, const char *folder, char path[FILE_PATH_MAX])
{
    weft_status status = folder != NULL ? file_path(path, "%s", folder) : WEFT_OK;
    WEFT_TRY(comm_agree(k->comm, status));
    return comm_bcast(k->comm, 0, path, FILE_PATH_MAX);
}

static weft_status write_beside(const kept_replica *k, const char *folder, bool best)
{
    const train_beside *beside = k->model->beside;
    char path[FILE_PATH_MAX] = "";
    uint64_t mark = 0;
    if (beside == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(beside_folder(k, folder, path));
    WEFT_TRY(best ? comm_agree(k->comm, beside->save_best(beside->self, path)) : WEFT_OK);
    /* Parameters in the file are the means of replicas that differ. */
    WEFT_TRY(ranks_differ(k) ? WEFT_OK : param_mark(k->replica->params, k->comm, &mark));
    return comm_agree(k->comm, beside->save(beside->self, path, mark));
}

/* best: it becomes the kept one. The parameters of the checkpoint that belong to it are in place. */
static weft_status read_beside(const kept_replica *k, const checkpoint *ck, bool best)
{
    const train_beside *beside = k->model->beside;
    char path[FILE_PATH_MAX] = "";
    uint64_t mark;
    if (beside == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(beside_folder(k, ck != NULL ? ck->path : NULL, path));
    WEFT_TRY(param_mark(k->replica->params, k->comm, &mark));
    WEFT_TRY(comm_agree(k->comm, beside->load(beside->self, path, best, mark)));
    return best ? comm_agree(k->comm, beside->keep_best(beside->self, mark)) : WEFT_OK;
}

weft_status kept_replica_gather(kept_replica *k, const char *folder, bool best, weft_status *written)
{
    weft_status status = WEFT_OK;
    rank_state s = {0};
    const sync_buffer *kept = NULL;
    int count = 0;
    *written = WEFT_OK;
    WEFT_TRY(replica_state(k->replica, &kept, &count));
    status = state_create(k, kept, count, &s);
    status = status == WEFT_OK ? state_fill(&s) : status;
    WEFT_TRY_GOTO(comm_agree(k->comm, status), status, done);
    if (ranks_differ(k)) {
        WEFT_TRY_GOTO(gather_ranks(k, &s, folder, written), status, done);
    }
    if (folder != NULL && *written == WEFT_OK) {
        *written = write_arrays(k, &s, folder, best);
    }
    const weft_status beside = write_beside(k, folder, best);
    if (folder != NULL && *written == WEFT_OK) {
        *written = beside; /* the same on all ranks */
    }
done:
    state_destroy(&s);
    return status;
}

/* ---- back --------------------------------------------------------------------------------------------------- */

static weft_status read_moment(const checkpoint *ck, checkpoint_file file, const param_store *params, void *flat)
{
    char path[FILE_PATH_MAX];
    WEFT_CHECK(ck->has[file], WEFT_ERR_DATA,
               "%s: no %s: it belongs to another " FLAG_OPTIMIZER ", " FLAG_MOMENTUM " or " FLAG_EMA, ck->path,
               checkpoint_file_names[file]);
    WEFT_TRY(file_path(path, "%s/%s", ck->path, checkpoint_file_names[file]));
    return checkpoint_read_named(path, params, flat, elements_of(params, file));
}

/* A mode that keeps the velocity itself writes no moments; another mode then begins with none. */
static weft_status read_or_begin_moment(const kept_replica *k, const checkpoint *ck, checkpoint_file file, void *flat)
{
    const param_store *params = k->replica->params;
    const char *mode = sync_mode_name(sync_running(k->replica->sync));
    if (ck->has[file] || file == FILE_AVERAGE || strcmp(ck->sync, mode) == 0) {
        return read_moment(ck, file, params, flat);
    }
    log_warn("%s: no %s, which " FLAG_SYNC " %s kept itself: the optimiser's momentum begins anew with %s", ck->path,
             checkpoint_file_names[file], ck->sync, mode);
    memset(flat, 0, (size_t)params->trained * weft_dtype_bytes(params->dtype));
    return WEFT_OK;
}

/* Moments that are the same on all ranks. */
static weft_status share_moments(kept_replica *k, const checkpoint *ck, rank_state *s)
{
    unsigned char *next = s->data;
    for (int i = 0; i < s->arrays; next += s->piece[i].bytes, ++i) {
        if (i == 0) {
            continue; /* the parameters are in place */
        }
        weft_status status = ck != NULL ? read_or_begin_moment(k, ck, s->file[i], next) : WEFT_OK;
        WEFT_TRY(comm_agree(k->comm, status));
        WEFT_TRY(comm_bcast(k->comm, 0, next, s->piece[i].bytes));
        WEFT_TRY(tensor_upload(s->place[i].tensor, next));
    }
    return WEFT_OK;
}

/* Rank 0 reads a rank's file and sends it there. */
static weft_status scatter_rank(const kept_replica *k, rank_state *s, int q, const checkpoint *ck,
                                checkpoint_piece *piece, unsigned char *from, int64_t *receives)
{
    char path[FILE_PATH_MAX];
    weft_status status = WEFT_OK;
    int me = comm_rank(k->comm);
    memset(s->counts, 0, (size_t)comm_size(k->comm) * sizeof *s->counts);
    memset(receives, 0, (size_t)comm_size(k->comm) * sizeof *receives);
    if (ck != NULL && piece != NULL) {
        s->counts[q] = pieces_of(s, q, piece);
        status = checkpoint_rank_path(path, ck->path, q);
        status = status == WEFT_OK ? checkpoint_read_rank(path, piece, s->pieces, from) : status;
    }
    WEFT_TRY(comm_agree(k->comm, status));
    receives[0] = me == q ? s->bytes : 0;
    return comm_alltoallv(k->comm, from, s->counts, s->data, receives);
}

/* Whether every rank's file is as long as what its rank remembers now: what a mode holds back may lie by nodes, and as
 * many ranks may stand on others. Ranks with parameters of their own have to fit. Collective. */
static weft_status agree_on_fit(const kept_replica *k, const rank_state *s, const checkpoint *ck,
                                checkpoint_piece *piece, bool *fits)
{
    char path[FILE_PATH_MAX];
    weft_status status = WEFT_OK;
    *fits = true;
    for (int q = 0; ck != NULL && piece != NULL && q < ck->ranks && status == WEFT_OK && *fits; ++q) {
        pieces_of(s, q, piece);
        status = checkpoint_rank_path(path, ck->path, q);
        status = status == WEFT_OK ? checkpoint_rank_fits(path, piece, s->pieces, fits) : status;
    }
    WEFT_TRY(comm_agree(k->comm, status));
    WEFT_TRY(comm_bcast(k->comm, 0, fits, (int64_t)sizeof *fits));
    *fits = *fits || k->replica->owns;
    if (ck != NULL && !*fits) {
        log_warn("the checkpoint's ranks lay on other nodes, or " FLAG_SYNC " %s had other options: going on from the "
                 "mean of its replicas; what mode, preconditioner or model remembered is dropped",
                 ck->sync);
    }
    return WEFT_OK;
}

static weft_status scatter_ranks(kept_replica *k, const checkpoint *ck, rank_state *s)
{
    bool fits = false;
    weft_status status = WEFT_OK;
    checkpoint_piece *piece = NULL;
    unsigned char *from = NULL;
    int64_t *receives = NULL;
    WEFT_TRY(learn_sizes(k->comm, s));
    status = WEFT_NEW(&receives, comm_size(k->comm), WEFT_MEM_WORKSPACE);
    if (ck != NULL && status == WEFT_OK) {
        status = WEFT_NEW(&piece, s->pieces, WEFT_MEM_WORKSPACE);
        status = status == WEFT_OK ? weft_malloc((size_t)s->largest, 1, WEFT_MEM_WORKSPACE, (void **)&from) : status;
    }
    WEFT_TRY_GOTO(comm_agree(k->comm, status), status, done);
    WEFT_TRY_GOTO(agree_on_fit(k, s, ck, piece, &fits), status, done);
    for (int q = 0; q < comm_size(k->comm) && fits; ++q) {
        WEFT_TRY_GOTO(scatter_rank(k, s, q, ck, piece, from, receives), status, done);
    }
    status = fits ? state_spill(k, s) : share_moments(k, ck, s);
    if (status == WEFT_ERR_DATA && fits && ck != NULL) {
        status = weft_fail_context(status, "%s: ", ck->path);
    }
done:
    WEFT_FREE_ALL(piece, from, receives);
    return status;
}

/* Whether the files of ranks fit this job, and the steps of the optimiser; the same on all ranks. */
static weft_status agree_on_form(const kept_replica *k, const checkpoint *ck, int64_t form[2])
{
    static const char *const tracked[] = {"", " and gradient tracking"};
    const comm_sync *sync = k->replica->sync;
    const char *mode = sync_mode_name(sync_running(sync));
    const bool tracks = sync_running_tracking(sync) == SYNC_TRACKING_ON;
    weft_status status = WEFT_OK;
    form[0] = form[1] = 0;
    if (ck != NULL) {
        bool same = ck->ranks == comm_size(k->comm) && strcmp(ck->sync, mode) == 0 && ck->tracking == tracks;
        form[0] = ck->has_ranks && same;
        form[1] = ck->optimizer_steps;
        if (k->replica->owns && form[0] == 0) {
            status = weft_fail(
                WEFT_ERR_USAGE,
                "%s: of %d ranks with " FLAG_SYNC
                " %s%s, each with parameters of its own: go on with as many and the same, not %d with %s%s",
                ck->path, ck->ranks, ck->sync, tracked[ck->tracking], comm_size(k->comm), mode, tracked[tracks]);
        } else if (ck->has_ranks && !same) {
            log_warn("the checkpoint is of %d ranks with " FLAG_SYNC
                     " %s%s: going on from the mean of its replicas on %d with %s%s; what mode, preconditioner or "
                     "model remembered is dropped",
                     ck->ranks, ck->sync, tracked[ck->tracking], comm_size(k->comm), mode, tracked[tracks]);
        } else if (ck->has[FILE_FIRST] && k->replica->optimizer.slots == 0) {
            log_warn("the checkpoint is of " FLAG_SYNC
                     " %s: the velocity of its optimiser is dropped, as %s begins one of its own",
                     ck->sync, mode);
        }
    }
    WEFT_TRY(comm_agree(k->comm, status));
    return comm_bcast(k->comm, 0, form, 2 * (int64_t)sizeof *form);
}

static weft_status scatter(kept_replica *k, const checkpoint *ck)
{
    weft_status status = WEFT_OK;
    rank_state s = {0};
    int64_t form[2];
    const sync_buffer *kept = NULL;
    int count = 0;
    WEFT_TRY(replica_state(k->replica, &kept, &count));
    status = state_create(k, kept, count, &s);
    WEFT_TRY_GOTO(comm_agree(k->comm, status), status, done);
    WEFT_TRY_GOTO(agree_on_form(k, ck, form), status, done);
    status = form[0] != 0 ? scatter_ranks(k, ck, &s) : share_moments(k, ck, &s);
    k->replica->optimizer.step = form[1];
    k->replica->average.any = k->replica->average.params != NULL && form[1] > 0;
done:
    state_destroy(&s);
    return status;
}

/* A run that is over and stays so leaves nothing to the next one: its best parameters are its result, of which a rank's
 * own are in its file. */
weft_status kept_replica_restore(kept_replica *k, const checkpoint *ck, const train_progress *progress)
{
    param_store *params = k->replica->params;
    const bool best = progress->result[progress->run].best_epoch > 0;
    if (best) {
        WEFT_TRY(checkpoint_load_shared(k->comm, ck, CHECKPOINT_BEST, params));
        WEFT_TRY(read_beside(k, ck, true));
        WEFT_TRY(tensor_axpby(1.0, &params->value, 0.0, k->best));
    }
    WEFT_TRY(checkpoint_load_shared(k->comm, ck, CHECKPOINT_LAST, params));
    WEFT_TRY(read_beside(k, ck, false));
    return progress->run_ended && !k->replica->owns ? WEFT_OK : scatter(k, ck);
}

void kept_replica_describe(const kept_replica *k, checkpoint_facts *facts)
{
    const train_replica *replica = k->replica;
    facts->sync = sync_mode_name(sync_running(replica->sync));
    facts->tracking = sync_running_tracking(replica->sync) == SYNC_TRACKING_ON;
    facts->dtype = replica->params->dtype;
    facts->has_ranks = ranks_differ(k);
    facts->beside = k->model->beside != NULL;
    facts->optimizer_steps = replica->optimizer.step;
}
