/*
 * train/second/second_wide.c: the input side of constant columns by a sample of its rows: of thousands of columns, and
 * of columns whose products are summed over edges, where the sample holds sums of rows.
 *
 *      A = U U^T with U [n, r], the sampled rows as columns over the root of their number
 *      (A + gamma I)^-1 g = (g - U K^-1 U^T g) / gamma        K = gamma I + U^T U [r, r]
 *
 * Once a run: 2 r^2 n flops for K; r n numbers are all-reduced, of which each rank has the columns of its rows. A step
 * costs 4 r n out flops, where the inverse of A would take n^2 numbers and n^3 flops.
 *
 *   M. Woodbury: Inverting modified matrices. Princeton University, Statistical Research Group, memorandum 42, 1950.
 */
#include "train/second/second_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/half.h"

/* Memory of U on the host, zeros at first: that of `rows` where the host sees it. */
static weft_status begin_columns(train_second *s, second_layer *layer)
{
    const size_t elements = (size_t)(layer->side[SECOND_IN].n * layer->sample);
    const size_t element = weft_dtype_bytes(s->params->dtype);
    if (layer->columns != NULL) {
        return WEFT_OK;
    }
    if (!hal_host_visible(s->hal)) {
        return weft_calloc(elements, element, WEFT_MEM_WORKSPACE, &layer->columns);
    }
    assert(layer->rows.ld == layer->rows.cols);
    WEFT_TRY(s->hal->stream.sync(s->hal));
    memset(layer->rows.data, 0, elements * element);
    layer->columns = layer->rows.data;
    return WEFT_OK;
}

/* U is on the backend, and its memory on the host is free. */
static weft_status end_columns(second_layer *layer)
{
    const bool shared = layer->columns == layer->rows.data;
    const weft_status status = shared ? WEFT_OK : tensor_upload(&layer->rows, layer->columns);
    weft_free(shared ? NULL : layer->columns);
    layer->columns = NULL;
    return status;
}

weft_status second_wide_take(train_second *s, second_layer *layer, const weft_tensor *rows, const int64_t *place)
{
    const int64_t n = layer->side[SECOND_IN].n, r = layer->sample;
    const double scale = 1.0 / sqrt((double)r);
    void *host = NULL;
    WEFT_TRY(begin_columns(s, layer));
    WEFT_TRY(weft_malloc((size_t)(rows->rows * n), weft_dtype_bytes(rows->dtype), WEFT_MEM_WORKSPACE, &host));
    weft_status status = tensor_download(rows, host);
    for (int64_t i = 0; status == WEFT_OK && i < rows->rows; ++i) {
        for (int64_t c = 0; c < n; ++c) {
            const double x = rows->dtype == WEFT_DTYPE_BF16 ? (double)bf16_to_float(((uint16_t *)host)[i * n + c])
                                                            : second_number(s, host, i * n + c);
            second_put(s, layer->columns, c * r + place[i], scale * x);
        }
    }
    weft_free(host);
    return status;
}

/* The rows of this rank that are in places [first, first + count) of the sample; -1: another rank's. */
static void find_rows(const train_second *s, int64_t first, int64_t count, int64_t *row)
{
    for (int64_t j = 0; j < count; ++j) {
        row[j] = -1;
    }
    for (int64_t p = 0; p < s->picks; ++p) {
        if (s->place[p] >= first && s->place[p] < first + count) {
            row[s->place[p] - first] = s->pick[p];
        }
    }
}

/* Columns [first, first + count) of U, of sums that the model makes. row: memory of `count`. */
static weft_status take_sums(train_second *s, second_layer *layer, int64_t first, int64_t count, int64_t *row)
{
    const double scale = 1.0 / sqrt((double)layer->sample);
    find_rows(s, first, count, row);
    WEFT_TRY(layer->map->sums(layer->map->sums_self, row, count, &layer->direction));
    WEFT_TRY(tensor_download(&layer->direction, s->host[0]));
    for (int64_t i = 0; i < layer->in; ++i) {
        for (int64_t j = 0; j < count; ++j) {
            const double x = second_number(s, s->host[0], i * layer->out + j);
            second_put(s, layer->columns, i * layer->sample + first + j, scale * x);
        }
    }
    return WEFT_OK;
}

/* All columns of U. Collective. */
static weft_status take_all_sums(train_second *s, second_layer *layer)
{
    int64_t *row = NULL;
    assert(!layer->map->joined && !layer->map->transposed && layer->direction.cols == layer->out);
    weft_status status = comm_agree(s->comm, WEFT_NEW(&row, layer->out, WEFT_MEM_WORKSPACE));
    for (int64_t first = 0; status == WEFT_OK && first < layer->sample; first += layer->out) {
        const int64_t left = layer->sample - first;
        status = comm_agree(s->comm, take_sums(s, layer, first, left < layer->out ? left : layer->out, row));
    }
    weft_free(row);
    return status;
}

weft_status second_wide_gather(train_second *s, second_layer *layer)
{
    second_side *in = &layer->side[SECOND_IN];
    const int64_t elements = in->n * layer->sample;
    double squares = 0.0;
    WEFT_TRY(comm_agree(s->comm, begin_columns(s, layer)));
    WEFT_TRY(layer->summed ? take_all_sums(s, layer) : WEFT_OK);
    WEFT_TRY(comm_allreduce(s->comm, layer->columns, elements, s->params->dtype, COMM_SUM));
    for (int64_t i = 0; i < elements; ++i) {
        const double u = second_number(s, layer->columns, i);
        squares += u * u;
    }
    in->mean = squares / (double)in->n;
    in->held = isfinite((float)squares); /* else the next look at the rows tries anew */
    in->lost = false;
    s->figures.refused += in->held ? 0 : 1;
    return end_columns(layer);
}

weft_status second_wide_invert(train_second *s, second_layer *layer, bool *good)
{
    second_side *in = &layer->side[SECOND_IN];
    weft_tensor packed = second_view(&s->work[0], s->params->dtype, 1, second_packed(layer->sample));
    const hal_gram_args gram = {.x = tensor_mat(&layer->rows), .packed = tensor_mat(&packed), .alpha = 1.0};
    second_find_damping(s, layer);
    layer->gamma = layer->damping * in->mean;
    WEFT_TRY(hal_gram(s->hal, &gram));
    return second_invert(s, &packed, layer->gamma, 0.0, &in->matrix, good);
}

weft_status second_wide_turn(train_second *s, second_layer *layer)
{
    const weft_dtype dtype = s->params->dtype;
    weft_tensor sums = second_view(&s->work[0], dtype, layer->sample, layer->out);
    weft_tensor solved = second_view(&s->work[1], dtype, layer->sample, layer->out);
    assert(!layer->map->transposed);
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &layer->rows, .b = &layer->gradient, .trans_a = true}, &sums));
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &layer->side[SECOND_IN].matrix, .b = &sums}, &solved));
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &layer->rows, .b = &solved}, &layer->direction));
    return tensor_axpby(1.0 / layer->gamma, &layer->gradient, -1.0 / layer->gamma, &layer->direction);
}
