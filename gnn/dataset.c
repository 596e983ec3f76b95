/* gnn/dataset.c: see gnn/dataset.h. */
#include "gnn/dataset.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/integer/integers.h"
#include "base/log.h"
#include "gnn/data/convert_options.def"
#include "hal/pack.h"
#include "train/train_options.def"

enum { PIECE_BYTES = 8 << 20 };

/* ---- features ---- */

/* Owned rows in the order of the store, which is read once from front to back: shared ones and the others each stand
 * so, unless a locality order moved them. */
typedef struct row_walk {
    const weft_part *part;
    int64_t next[2], end[2];
} row_walk;

static row_walk walk_rows(const weft_part *part)
{
    return (row_walk){.part = part, .next = {0, part->n_shared}, .end = {part->n_shared, part->n_owned}};
}

static bool next_row(row_walk *walk, int64_t *row)
{
    const int64_t *gid = walk->part->gid;
    const bool left[2] = {walk->next[0] < walk->end[0], walk->next[1] < walk->end[1]};
    if (!left[0] && !left[1]) {
        return false;
    }
    const int run = !left[0] || (left[1] && gid[walk->next[1]] < gid[walk->next[0]]);
    *row = walk->next[run]++;
    return true;
}

/* By the sum of the row, or by its Euclidean length; a row of zeros stays. */
static void scale_row(float *row, int64_t cols, bool by_length)
{
    double sum = 0;
    for (int64_t c = 0; c < cols; ++c) {
        sum += by_length ? (double)row[c] * (double)row[c] : (double)row[c];
    }
    sum = by_length ? sqrt(sum) : sum;
    float factor = sum != 0.0 ? (float)(1.0 / sum) : 0.0f;
    for (int64_t c = 0; c < cols; ++c) {
        row[c] *= factor;
    }
}

/* Mean and deviation of each column over the owned rows of every rank; two sweeps for accuracy. room [cols]: for a row
 * that stands sparse. */
static weft_status measure_columns(weft_comm *comm, const weft_graph *graph, const weft_part *part, float *room,
                                   input_moments *moments)
{
    int64_t cols = graph->features;
    double *mean = moments->mean, *deviation = moments->deviation;
    const double n = (double)graph->vertices;
    int64_t i;
    row_walk walk = walk_rows(part);
    while (next_row(&walk, &i)) {
        const float *row = graph_feature_row(graph, part->gid[i], room);
        for (int64_t c = 0; c < cols; ++c) {
            mean[c] += (double)row[c];
        }
    }
    WEFT_TRY(comm_allreduce(comm, mean, cols, WEFT_DTYPE_F64, COMM_SUM));
    for (int64_t c = 0; c < cols; ++c) {
        mean[c] /= n;
    }
    walk = walk_rows(part);
    while (next_row(&walk, &i)) {
        const float *row = graph_feature_row(graph, part->gid[i], room);
        for (int64_t c = 0; c < cols; ++c) {
            double d = (double)row[c] - mean[c];
            deviation[c] += d * d;
        }
    }
    WEFT_TRY(comm_allreduce(comm, deviation, cols, WEFT_DTYPE_F64, COMM_SUM));
    for (int64_t c = 0; c < cols; ++c) {
        double variance = deviation[c] / n;
        deviation[c] = variance > 1e-12 ? sqrt(variance) : 0.0;
    }
    return WEFT_OK;
}

/* [out] factor: [columns] 1 / deviation; 0 of a constant column. */
static void invert_deviations(const input_moments *moments, double *factor)
{
    for (int64_t c = 0; c < moments->columns; ++c) {
        factor[c] = moments->deviation[c] > 0.0 ? 1.0 / moments->deviation[c] : 0.0;
    }
}

static void scale_columns(const double *mean, const double *factor, float *row, int64_t cols)
{
    for (int64_t c = 0; c < cols; ++c) {
        row[c] = (float)(((double)row[c] - mean[c]) * factor[c]);
    }
}

/* Host rows [count, cols] (f32) into rows [begin, begin + count) of x, in x's type; other: room for them, where that is
 * not float32. */
static weft_status store_rows(weft_tensor *x, int64_t begin, int64_t count, const float *rows, void *other)
{
    const void *host = x->dtype == WEFT_DTYPE_F32 ? rows : other;
    if (x->dtype == WEFT_DTYPE_BF16) {
        hal_pack_encode(WEFT_DTYPE_BF16, rows, other, count * x->cols);
    } else if (x->dtype == WEFT_DTYPE_F64) {
        for (int64_t i = 0; i < count * x->cols; ++i) {
            ((double *)other)[i] = (double)rows[i];
        }
    }
    weft_tensor view = tensor_view(x, begin, count, 0, x->cols);
    return tensor_upload(&view, host);
}

/* Rows that are read before their pages are given back. */
static int64_t rows_a_piece(const weft_graph *graph)
{
    return 1 + PIECE_BYTES / (graph->features * (int64_t)sizeof(float));
}

/* Rows on their way to x: of the shared ones and of the others, consecutive each. */
typedef struct row_piece {
    float *rows;
    int64_t begin, count;
} row_piece;

/* mean, factor: [f], of GNN_SCALE_STANDARD. */
static weft_status copy_rows(const weft_graph *graph, const weft_part *part, gnn_feature_scaling scaling,
                             const double *mean, const double *factor, float *room, void *other, int64_t room_rows,
                             weft_tensor *x)
{
    const int64_t cols = graph->features, piece_rows = room_rows / 2;
    row_piece pieces[2] = {{.rows = room}, {.rows = room + piece_rows * cols, .begin = part->n_shared}};
    row_walk walk = walk_rows(part);
    log_progress progress = log_progress_begin("load features", "rows", (double)part->n_owned);
    for (int64_t i, done = 0; next_row(&walk, &i);) {
        row_piece *piece = &pieces[i >= part->n_shared];
        float *row = piece->rows + piece->count++ * cols;
        const float *stored = graph_feature_row(graph, part->gid[i], row);
        if (stored != row) {
            memcpy(row, stored, (size_t)cols * sizeof *row);
        }
        if (scaling == GNN_SCALE_ROW || scaling == GNN_SCALE_LENGTH) {
            scale_row(row, cols, scaling == GNN_SCALE_LENGTH);
        } else if (scaling == GNN_SCALE_STANDARD) {
            scale_columns(mean, factor, row, cols);
        }
        if (piece->count == piece_rows) {
            WEFT_TRY(store_rows(x, piece->begin, piece->count, piece->rows, other));
            piece->begin += piece->count;
            piece->count = 0;
            graph_release_pages(graph);
            log_progress_update(&progress, (double)(done += piece_rows));
        }
    }
    for (int p = 0; p < 2; ++p) {
        WEFT_TRY(store_rows(x, pieces[p].begin, pieces[p].count, pieces[p].rows, other));
    }
    graph_release_pages(graph);
    log_progress_end(&progress);
    return WEFT_OK;
}

/* Means and deviations of the columns: those that the model brings, or measured on this graph. */
static weft_status find_moments(weft_comm *comm, const weft_graph *graph, const weft_part *part, input_moments *moments)
{
    if (moments->columns > 0) {
        assert(moments->columns == graph->features);
        return WEFT_OK;
    }
    float *room = NULL;
    weft_status status = input_moments_create(graph->features, moments);
    status = status == WEFT_OK ? WEFT_NEW(&room, graph->features, WEFT_MEM_WORKSPACE) : status;
    status = comm_agree(comm, status);
    status = status == WEFT_OK ? measure_columns(comm, graph, part, room, moments) : status;
    weft_free(room);
    return status;
}

weft_status gnn_load_features(weft_comm *comm, const weft_graph *graph, const weft_part *part,
                              gnn_feature_scaling scaling, input_moments *moments, weft_tensor *x)
{
    weft_status status = WEFT_OK;
    int64_t cols = graph->features;
    const bool standard = scaling == GNN_SCALE_STANDARD;
    assert(cols >= 1 && x->cols == cols && x->rows >= part->n_owned);
    const int64_t room_rows = 2 * smaller((1 + rows_a_piece(graph)) / 2, larger(part->n_owned, 1));
    float *room = NULL;
    void *other = NULL;
    double *factor = NULL;
    WEFT_TRY(standard ? find_moments(comm, graph, part, moments) : WEFT_OK);
    WEFT_TRY_GOTO(WEFT_NEW(&room, room_rows * cols, WEFT_MEM_WORKSPACE), status, done);
    if (x->dtype != WEFT_DTYPE_F32) {
        const size_t bytes = weft_dtype_bytes(x->dtype);
        WEFT_TRY_GOTO(weft_malloc((size_t)(room_rows / 2 * cols), bytes, WEFT_MEM_WORKSPACE, &other), status, done);
    }
    if (standard) {
        WEFT_TRY_GOTO(WEFT_NEW(&factor, cols, WEFT_MEM_WORKSPACE), status, done);
        invert_deviations(moments, factor);
    }
    status = copy_rows(graph, part, scaling, standard ? moments->mean : NULL, factor, room, other, room_rows, x);
done:
    WEFT_FREE_ALL(room, other, factor);
    return comm_agree(comm, status);
}

/* ---- sparse features ---- */

static void count_numbers_of_rows(const weft_graph *graph, const weft_part *part, int64_t *offset)
{
    const int64_t piece = rows_a_piece(graph);
    row_walk walk = walk_rows(part);
    offset[0] = 0;
    for (int64_t i, seen = 0; next_row(&walk, &i); ++seen) {
        offset[i + 1] = graph_feature_numbers(graph, part->gid[i], NULL, NULL);
        if (seen % piece == piece - 1) {
            graph_release_pages(graph);
        }
    }
    for (int64_t i = 0; i < part->n_owned; ++i) {
        offset[i + 1] += offset[i];
    }
}

/* What scale_row makes of a row, from its numbers alone: zeros add nothing to its sum. */
static weft_status load_sparse(weft_hal *hal, const weft_graph *graph, const weft_part *part,
                               gnn_feature_scaling scaling, tensor_features *features)
{
    weft_status status = WEFT_OK;
    const int64_t cols = graph->features;
    int64_t *offset = NULL;
    int32_t *column = NULL;
    float *value = NULL;
    WEFT_TRY_GOTO(WEFT_NEW(&offset, part->n_owned + 1, WEFT_MEM_WORKSPACE), status, done);
    log_progress progress = log_progress_begin("load features", "rows", 2.0 * (double)part->n_owned);
    count_numbers_of_rows(graph, part, offset);
    log_progress_update(&progress, (double)part->n_owned);
    WEFT_TRY_GOTO(WEFT_NEW(&column, offset[part->n_owned], WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&value, offset[part->n_owned], WEFT_MEM_WORKSPACE), status, done);
    const int64_t piece = rows_a_piece(graph);
    row_walk walk = walk_rows(part);
    for (int64_t i, seen = 0; next_row(&walk, &i); ++seen) {
        if (seen % piece == piece - 1) {
            graph_release_pages(graph);
            log_progress_update(&progress, (double)(part->n_owned + seen));
        }
        graph_feature_numbers(graph, part->gid[i], column + offset[i], value + offset[i]);
        if (scaling != GNN_SCALE_NONE) {
            scale_row(value + offset[i], offset[i + 1] - offset[i], scaling == GNN_SCALE_LENGTH);
        }
    }
    graph_release_pages(graph);
    log_progress_end(&progress);
    const hal_csr csr = {.rows = part->n_owned, .cols = cols, .offset = offset, .column = column};
    status = tensor_features_create(hal, &csr, value, WEFT_MEM_FEATURE, features);
done:
    WEFT_FREE_ALL(offset, column, value);
    return status;
}

weft_status gnn_load_sparse_features(weft_comm *comm, weft_hal *hal, const weft_graph *graph, const weft_part *part,
                                     gnn_feature_scaling scaling, tensor_features *features)
{
    assert(scaling != GNN_SCALE_STANDARD && graph->features >= 1);
    return comm_agree(comm, load_sparse(hal, graph, part, scaling, features));
}

/* ---- labels ---- */

bool gnn_labels_are_numbers(const weft_graph *graph)
{
    int64_t v = 0;
    if (graph->target == NULL || graph->tasks != 1) {
        return false;
    }
    while (v < graph->vertices && (isnan(graph->target[v]) || graph->target[v] == 0.0F || graph->target[v] == 1.0F)) {
        v += 1;
    }
    return v < graph->vertices;
}

static weft_status check_labels(const weft_graph *graph, train_loss loss)
{
    WEFT_CHECK(graph->label != NULL || graph->target != NULL, WEFT_ERR_DATA,
               "%s has no labels: training needs label.npy or target.npy (docs/formats.md)", graph->name);
    WEFT_CHECK(graph->split != NULL, WEFT_ERR_DATA,
               "%s has no train/valid/test split: convert it again with " FLAG_SPLIT " FILE or " FLAG_RANDOM_SPLIT
               " 60/20/20",
               graph->name);
    const bool numbers = gnn_labels_are_numbers(graph);
    WEFT_CHECK(numbers == (loss == TRAIN_LOSS_VALUE), WEFT_ERR_USAGE,
               numbers ? "%s has labels that are numbers: use " FLAG_LOSS " squared, absolute or huber"
                       : "%s has no labels that are numbers: " FLAG_LOSS " xent is for classes, bce for binary tasks",
               graph->name);
    if (numbers) {
        return WEFT_OK;
    }
    WEFT_CHECK(loss == TRAIN_LOSS_BCE || graph->label != NULL, WEFT_ERR_USAGE,
               "%s has %lld binary tasks: use " FLAG_LOSS " bce", graph->name, (long long)graph->tasks);
    WEFT_CHECK(loss == TRAIN_LOSS_XENT || graph->target != NULL || graph->classes == 2, WEFT_ERR_USAGE,
               FLAG_LOSS " bce needs binary tasks or two classes, %s has %lld classes: use " FLAG_LOSS " xent",
               graph->name, (long long)graph->classes);
    return WEFT_OK;
}

static int32_t class_at(const weft_graph *graph, const int32_t *class_of, int64_t vertex)
{
    const int32_t label = graph->label[vertex];
    return class_of != NULL && label >= 0 ? class_of[label] : label;
}

static void take_labels(train_labels *labels, const weft_graph *graph, const weft_part *part, const int32_t *class_of)
{
    const int64_t outputs = labels->targets.outputs;
    for (int64_t i = 0; i < part->n_owned; ++i) {
        const int64_t vertex = part->gid[i];
        labels->split[i] = graph->split[vertex];
        if (labels->label != NULL) {
            labels->label[i] = class_at(graph, class_of, vertex);
        } else if (graph->target != NULL) {
            memcpy(labels->target + i * outputs, graph->target + vertex * outputs, (size_t)outputs * sizeof(float));
        } else {
            const int32_t label = class_at(graph, class_of, vertex);
            labels->target[i] = label < 0 ? NAN : (float)label;
        }
    }
}

/* A row without any label counts nowhere; its split becomes "none" so that every op agrees on that. */
static void count_rows(train_labels *labels)
{
    train_targets *t = &labels->targets;
    uint8_t *split = labels->split;
    for (int64_t i = 0; i < t->rows; ++i) {
        int64_t labelled = 0;
        if (labels->label != NULL) {
            labelled = labels->label[i] >= 0;
        } else {
            for (int64_t c = 0; c < t->outputs; ++c) {
                labelled += !isnan(labels->target[i * t->outputs + c]);
            }
        }
        if (labelled == 0 || split[i] >= TRAIN_SPLITS) {
            split[i] = TRAIN_SPLIT_NONE;
            continue;
        }
        t->counted[split[i]] += 1;
        t->loss_entries += split[i] == 0 ? labelled : 0;
    }
}

static weft_status load_local(train_labels *labels, weft_hal *hal, const weft_graph *graph, const weft_part *part,
                              const int32_t *class_of)
{
    WEFT_TRY(check_labels(graph, labels->targets.loss));
    WEFT_TRY(labels_create(labels, WEFT_MEM_FEATURE));
    take_labels(labels, graph, part, class_of);
    count_rows(labels);
    return labels_upload(labels, hal);
}

weft_status gnn_load_labels(weft_comm *comm, weft_hal *hal, const weft_graph *graph, const weft_part *part,
                            train_loss loss, const int32_t *class_of, train_labels *labels)
{
    const int64_t tasks = graph->target != NULL ? graph->tasks : 1;
    *labels = (train_labels){
        .targets = {.rows = part->n_owned, .loss = loss, .outputs = loss == TRAIN_LOSS_XENT ? graph->classes : tasks}};
    train_targets *t = &labels->targets;
    WEFT_TRY(comm_agree(comm, load_local(labels, hal, graph, part, class_of)));
    WEFT_TRY(comm_allreduce(comm, t->counted, TRAIN_SPLITS, WEFT_DTYPE_I64, COMM_SUM));
    return comm_allreduce(comm, &t->loss_entries, 1, WEFT_DTYPE_I64, COMM_SUM);
}

weft_status gnn_read_rows(const train_targets *targets, uint8_t **read)
{
    *read = NULL;
    WEFT_CHECK(targets->rows == 0 || targets->split_host != NULL, WEFT_ERR_INTERNAL, "a training without a split");
    WEFT_TRY(WEFT_NEW(read, targets->rows, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < targets->rows; ++i) {
        (*read)[i] = targets->split_host[i] == TRAIN_SPLIT_TRAIN;
    }
    return WEFT_OK;
}
