/* train/loop/class_weights.c: see train/loop/class_weights.h. */
#include "train/loop/class_weights.h"

#include "base/alloc.h"
#include "base/number.h"
#include "train/train_options.def"

weft_status class_weights_read(const char *text, int64_t classes, double *of_class)
{
    const char *next = text;
    int64_t count = 0;
    double sum = 0.0;
    while (*next != '\0') {
        double weight = 0.0;
        const bool good = number_scan_real(next, &next, &weight) && weight >= 0.0 && weight <= 1e9;
        WEFT_CHECK(good && (*next == '\0' || (*next == ',' && next[1] != '\0')), WEFT_ERR_USAGE,
                   FLAG_CLASS_WEIGHTS " %s: expected numbers from 0 to 1e9, one a class, such as 1,4.5,2; or balanced",
                   text);
        if (count < classes) {
            of_class[count] = weight;
        }
        count += 1;
        sum += weight;
        next += *next == ',';
    }
    WEFT_CHECK(count == classes, WEFT_ERR_USAGE,
               FLAG_CLASS_WEIGHTS
               " %s: %lld weights, and the data have %lld classes: give one for each, in their order",
               text, (long long)count, (long long)classes);
    WEFT_CHECK(sum > 0.0, WEFT_ERR_USAGE, FLAG_CLASS_WEIGHTS " %s: with all weights 0 no row counts", text);
    return WEFT_OK;
}

void class_weights_balance(const int64_t *count, int64_t classes, double *of_class)
{
    int64_t rows = 0, occur = 0;
    for (int64_t c = 0; c < classes; ++c) {
        rows += count[c];
        occur += count[c] > 0;
    }
    for (int64_t c = 0; c < classes; ++c) {
        of_class[c] = count[c] > 0 ? (double)rows / ((double)occur * (double)count[c]) : 1.0;
    }
}

void class_weights_destroy(class_weights *w)
{
    tensor_destroy(&w->device);
    weft_free(w->host);
    *w = (class_weights){.of_class = NULL};
}

/* The largest batch so far sets the room. */
static weft_status make_room(class_weights *w, weft_hal *hal, int64_t rows)
{
    if (rows <= w->device.rows) {
        return WEFT_OK;
    }
    tensor_destroy(&w->device);
    weft_free(w->host);
    w->host = NULL;
    WEFT_TRY(WEFT_NEW(&w->host, rows, WEFT_MEM_WORKSPACE));
    return tensor_create(hal, WEFT_DTYPE_F32, rows, 1, WEFT_MEM_WORKSPACE, &w->device);
}

static weft_status weigh(class_weights *w, weft_hal *hal, const train_targets *t, double *sum)
{
    WEFT_TRY(make_room(w, hal, t->rows));
    *sum = 0.0;
    for (int64_t i = 0; i < t->rows; ++i) {
        const bool counts = t->label_host[i] >= 0 && t->split_host[i] == TRAIN_SPLIT_TRAIN;
        const double weight = counts ? w->of_class[t->label_host[i]] : 0.0;
        w->host[i] = (float)weight;
        *sum += (double)w->host[i];
    }
    weft_tensor rows = tensor_view(&w->device, 0, t->rows, 0, 1);
    return t->rows > 0 ? tensor_upload(&rows, w->host) : WEFT_OK;
}

weft_status class_weights_apply(class_weights *w, weft_comm *comm, weft_hal *hal, const train_targets *targets,
                                tensor_loss_rows *rows)
{
    double sums[2] = {0.0, 0.0}; /* of weights, and of ranks that have no room */
    if (w->of_class == NULL) {
        return WEFT_OK;
    }
    const weft_status status = weigh(w, hal, targets, &sums[0]);
    sums[1] = status != WEFT_OK ? 1.0 : 0.0;
    WEFT_TRY(comm_allreduce(comm, sums, 2, WEFT_DTYPE_F64, COMM_SUM));
    WEFT_TRY(sums[1] > 0.0 ? comm_agree(comm, status) : WEFT_OK);
    w->sum = sums[0];
    rows->weight = targets->rows > 0 ? w->device.data : NULL;
    rows->scale *= w->sum > 0.0 ? (double)targets->loss_entries / w->sum : 0.0;
    return WEFT_OK;
}
