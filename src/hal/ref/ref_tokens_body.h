/* hal/ref/ref_tokens_body.h: attention, embedding and mean of tokens as they are defined; ref_typed.h includes it for
 * each type. No include guard. */

/* Returns true if row i is no padding. */
static bool TYPED(is_token)(const hal_mat *key, int64_t i)
{
    const real *of = key->source;
    return of == NULL || of[i * key->ld] != (real)0.0;
}

/* One head of an image: its first row, its first column among queries, and the distances to keys and values. */
typedef struct TYPED(head_place) {
    const hal_mat *x, *key;
    int64_t first, tokens, column, width, n;
} TYPED(head_place);

/* A head of the image that row i belongs to; x: [rows, 3 n], its queries, keys and values. */
static TYPED(head_place)
    TYPED(place_of)(const hal_mat *x, const hal_mat *key, int64_t tokens, int64_t heads, int64_t i, int64_t head)
{
    const int64_t n = x->cols / 3, width = n / heads;
    return (TYPED(head_place)){.x = x,
                               .key = key,
                               .first = i / tokens * tokens,
                               .tokens = tokens,
                               .column = head * width,
                               .width = width,
                               .n = n};
}

/* Product of cells of rows i and j of x, from columns a and b on. */
static double TYPED(head_product)(const TYPED(head_place) * h, int64_t i, int64_t a, int64_t j, int64_t b)
{
    const cell *x = h->x->source;
    double sum = 0.0;
    for (int64_t c = 0; c < h->width; ++c) {
        sum += (double)LOAD(x[i * h->x->ld + h->column + a + c]) * (double)LOAD(x[j * h->x->ld + h->column + b + c]);
    }
    return sum;
}

/* The share of row j in what row i of the head attends to; the largest score and the sum of powers of row i. */
static double TYPED(head_share)(const TYPED(head_place) * h, int64_t i, int64_t j, double highest, double sum)
{
    const double score = TYPED(head_product)(h, i, 0, j, h->n) / sqrt((double)h->width);
    return exp(score - highest) / sum;
}

/* [out] highest, sum: what head_share divides by. Returns false if no row is a token. */
static bool TYPED(head_sum)(const TYPED(head_place) * h, int64_t i, double *highest, double *sum)
{
    *highest = -INFINITY;
    *sum = 0.0;
    for (int64_t j = h->first; j < h->first + h->tokens; ++j) {
        if (TYPED(is_token)(h->key, j)) {
            *highest = fmax(*highest, TYPED(head_product)(h, i, 0, j, h->n) / sqrt((double)h->width));
        }
    }
    for (int64_t j = h->first; j < h->first + h->tokens; ++j) {
        if (TYPED(is_token)(h->key, j)) {
            *sum += TYPED(head_share)(h, i, j, *highest, 1.0);
        }
    }
    return *sum > 0.0;
}

static void TYPED(attend_row)(const TYPED(head_place) * h, int64_t i, const hal_mat *to)
{
    const cell *x = h->x->source;
    cell *y = (cell *)to->data + i * to->ld + h->column;
    double highest, sum;
    const bool attends = TYPED(is_token)(h->key, i) && TYPED(head_sum)(h, i, &highest, &sum);
    for (int64_t c = 0; c < h->width; ++c) {
        double value = 0.0;
        for (int64_t j = h->first; attends && j < h->first + h->tokens; ++j) {
            if (TYPED(is_token)(h->key, j)) {
                value +=
                    TYPED(head_share)(h, i, j, highest, sum) * (double)LOAD(x[j * h->x->ld + h->column + 2 * h->n + c]);
            }
        }
        y[c] = STORE((real)value);
    }
}

weft_status TYPED(ref_attend_forward)(const hal_attend_forward_args *args)
{
    for (int64_t i = 0; i < args->y.rows; ++i) {
        for (int64_t head = 0; head < args->heads; ++head) {
            const TYPED(head_place) h = TYPED(place_of)(&args->x, &args->key, args->tokens, args->heads, i, head);
            TYPED(attend_row)(&h, i, &args->y);
        }
    }
    return WEFT_OK;
}

/* The gradient of a share by dy: dy[i] . v[j]. */
static double TYPED(share_gradient)(const TYPED(head_place) * h, const hal_mat *gradient, int64_t i, int64_t j)
{
    const cell *x = h->x->source;
    const cell *dy = gradient->source;
    double sum = 0.0;
    for (int64_t c = 0; c < h->width; ++c) {
        sum += (double)LOAD(dy[i * gradient->ld + h->column + c]) *
               (double)LOAD(x[j * h->x->ld + h->column + 2 * h->n + c]);
    }
    return sum;
}

/* The gradient of the score of rows i and j, before it is scaled; [out] share  of j. mean: of the gradients of the
 * shares of row i, weighted by them. */
static double TYPED(score_gradient)(const TYPED(head_place) * h, const hal_mat *dy, int64_t i, int64_t j, double *share)
{
    double highest, sum, mean = 0.0;
    *share = 0.0;
    if (!TYPED(is_token)(h->key, i) || !TYPED(is_token)(h->key, j) || !TYPED(head_sum)(h, i, &highest, &sum)) {
        return 0.0;
    }
    for (int64_t k = h->first; k < h->first + h->tokens; ++k) {
        if (TYPED(is_token)(h->key, k)) {
            mean += TYPED(head_share)(h, i, k, highest, sum) * TYPED(share_gradient)(h, dy, i, k);
        }
    }
    *share = TYPED(head_share)(h, i, j, highest, sum);
    return *share * (TYPED(share_gradient)(h, dy, i, j) - mean) / sqrt((double)h->width);
}

/* Gradients of row i as a query, and as a key and a value of all rows of its image; `count` columns from c on. */
static void TYPED(attend_row_backward)(const TYPED(head_place) * h, const hal_mat *gradient, int64_t i, int64_t c,
                                       int64_t count, const hal_mat *to)
{
    const cell *x = h->x->source;
    const cell *dy = gradient->source;
    cell *dx = (cell *)to->data + i * to->ld + h->column + c;
    double query[ATTEND_COLUMNS] = {0.0}, key[ATTEND_COLUMNS] = {0.0}, value[ATTEND_COLUMNS] = {0.0};
    for (int64_t j = h->first; j < h->first + h->tokens; ++j) {
        const cell *other = x + j * h->x->ld + h->column + c;
        double share;
        const double as_query = TYPED(score_gradient)(h, gradient, i, j, &share);
        const double as_key = TYPED(score_gradient)(h, gradient, j, i, &share);
        for (int64_t k = 0; k < count; ++k) {
            query[k] += as_query * (double)LOAD(other[h->n + k]);
            key[k] += as_key * (double)LOAD(other[k]);
            value[k] += share * (double)LOAD(dy[j * gradient->ld + h->column + c + k]);
        }
    }
    for (int64_t k = 0; k < count; ++k) {
        dx[k] = STORE((real)query[k]);
        dx[h->n + k] = STORE((real)key[k]);
        dx[2 * h->n + k] = STORE((real)value[k]);
    }
}

weft_status TYPED(ref_attend_backward)(const hal_attend_backward_args *args)
{
    const int64_t width = args->dy.cols / args->heads;
    for (int64_t i = 0; i < args->dy.rows; ++i) {
        for (int64_t head = 0; head < args->heads; ++head) {
            const TYPED(head_place) h = TYPED(place_of)(&args->x, &args->key, args->tokens, args->heads, i, head);
            for (int64_t c = 0; c < width; c += ATTEND_COLUMNS) {
                const int64_t count = width - c < ATTEND_COLUMNS ? width - c : ATTEND_COLUMNS;
                TYPED(attend_row_backward)(&h, &args->dy, i, c, count, &args->dx);
            }
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_lookup_forward)(const hal_lookup_forward_args *args)
{
    const real *id = args->id.source;
    const real *table = args->table.source;
    cell *y = args->y.data;
    EACH_ELEMENT(y) {
        const int64_t row = (int64_t)AT(id, i, 0);
        assert(row >= 0 && row < args->table.rows);
        AT(y, i, j) = STORE(AT(table, row, j));
    }
    return WEFT_OK;
}

weft_status TYPED(ref_lookup_backward)(const hal_lookup_backward_args *args)
{
    const real *id = args->id.source;
    const cell *dy = args->dy.source;
    real *dtable = args->dtable.data;
    EACH_ELEMENT(dtable) {
        AT(dtable, i, j) = (real)0.0;
    }
    for (int64_t i = 0; i < args->dy.rows; ++i) {
        const int64_t row = (int64_t)AT(id, i, 0);
        assert(row >= 0 && row < args->dtable.rows);
        for (int64_t j = 0; row > 0 && j < args->dy.cols; ++j) {
            AT(dtable, row, j) += LOAD(AT(dy, i, j));
        }
    }
    return WEFT_OK;
}

/* Rows of an image that are no padding. */
static int64_t TYPED(tokens_of)(const hal_mat *key, int64_t image, int64_t tokens)
{
    int64_t count = 0;
    for (int64_t i = image * tokens; i < (image + 1) * tokens; ++i) {
        count += TYPED(is_token)(key, i);
    }
    return count;
}

weft_status TYPED(ref_token_mean_forward)(const hal_token_mean_forward_args *args)
{
    const cell *x = args->x.source;
    cell *y = args->y.data;
    for (int64_t image = 0; image < args->y.rows; ++image) {
        const int64_t count = TYPED(tokens_of)(&args->key, image, args->tokens);
        for (int64_t j = 0; j < args->y.cols; ++j) {
            double sum = 0.0;
            for (int64_t i = image * args->tokens; i < (image + 1) * args->tokens; ++i) {
                sum += TYPED(is_token)(&args->key, i) ? (double)LOAD(AT(x, i, j)) : 0.0;
            }
            AT(y, image, j) = STORE((real)(count > 0 ? sum / (double)count : 0.0));
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_token_mean_backward)(const hal_token_mean_backward_args *args)
{
    const cell *dy = args->dy.source;
    cell *dx = args->dx.data;
    for (int64_t image = 0; image < args->dy.rows; ++image) {
        const int64_t count = TYPED(tokens_of)(&args->key, image, args->tokens);
        for (int64_t i = image * args->tokens; i < (image + 1) * args->tokens; ++i) {
            const bool token = TYPED(is_token)(&args->key, i);
            for (int64_t j = 0; j < args->dx.cols; ++j) {
                AT(dx, i, j) = STORE((real)(token ? (double)LOAD(AT(dy, image, j)) / (double)count : 0.0));
            }
        }
    }
    return WEFT_OK;
}
