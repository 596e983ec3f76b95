/*
 * hal/cpu/kernels_nn_body.h: losses and accuracy. Included once an instruction set by kernels_*.c; plain loops
 * that the compiler turns into vector code of that set. Statistics are kept in double. No include guard.
 */

/* ---- losses --------------------------------------------------------------------------------------------------- */

static void elu_forward(int64_t m, int64_t n, const float *x, int64_t ldx, float *y, int64_t ldy)
{
    for (int64_t i = 0; i < m; ++i) {
        const float *from = x + i * ldx;
        float *to = y + i * ldy;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            const float below = exp_negative(from[j] < 0.0F ? from[j] : 0.0F * from[j]) - 1.0F;
            to[j] = from[j] > 0.0F ? from[j] : below;
        }
    }
}

static void elu_backward(int64_t m, int64_t n, const float *dy, int64_t lddy, const float *y, int64_t ldy, float keep,
                         float *dx, int64_t lddx)
{
    for (int64_t i = 0; i < m; ++i) {
        const float *from = dy + i * lddy;
        const float *value = y + i * ldy;
        float *to = dx + i * lddx;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            to[j] = from[j] * (value[j] > 0.0F ? 1.0F : 1.0F + keep * value[j]);
        }
    }
}

/* log(1 + e) for e in [0, 1]: 2 artanh(e / (2 + e)), whose argument is at most 1 / 3. */
static inline float log1p_unit(float e)
{
    float z = e / (2.0F + e);
    float s = z * z;
    float p = 1.0F / 15.0F;
    p = p * s + 1.0F / 13.0F;
    p = p * s + 1.0F / 11.0F;
    p = p * s + 1.0F / 9.0F;
    p = p * s + 1.0F / 7.0F;
    p = p * s + 1.0F / 5.0F;
    p = p * s + 1.0F / 3.0F;
    return 2.0F * z * (1.0F + p * s);
}

/* Columns whose exponentials are kept; their number is padded to whole vectors, which narrow rows need most. */
enum { EXP_STRIP = 512, EXP_PAD = 16 };

static inline int64_t padded_columns(int64_t n)
{
    return (n + EXP_PAD - 1) / EXP_PAD * EXP_PAD;
}

/* room = x - highest, and -infinity in the padding. */
static void subtract_strip(int64_t n, const float *x, float highest, float *room)
{
    const vec nothing = (vec){0} - INFINITY;
    for (int64_t j = padded_columns(n) - EXP_PAD; j < padded_columns(n); j += LANES) {
        vec_store(room + j, nothing);
    }
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        vec_store(room + j, vec_load(x + j) - highest);
    }
    if (j < n) {
        vec_store_first(room + j, vec_load_first(x + j, n - j) - highest, n - j);
    }
}

/* room = exp(x - highest), zero in the padding; returns the sum. */
static float exp_strip(int64_t n, const float *x, float highest, float *room)
{
    const int64_t padded = padded_columns(n);
    vec sums = {0};
    subtract_strip(n, x, highest, room);
    for (int64_t j = 0; j < padded; j += LANES) {
#pragma omp simd
        for (int l = 0; l < LANES; ++l) {
            room[j + l] = exp_negative(room[j + l]);
        }
        sums += vec_load(room + j);
    }
    float part[LANES];
    vec_store(part, sums);
    UNROLL
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) {
            part[l] += part[l + half];
        }
    }
    return part[0];
}

/* to = factor * room */
static void scale_strip(int64_t n, const float *room, float factor, float *to)
{
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        vec_store(to + j, factor * vec_load(room + j));
    }
    if (j < n) {
        vec_store_first(to + j, factor * vec_load(room + j), n - j);
    }
}

/* Sixteen running maxima; the last sixteen columns overlap the ones before, which a maximum does not mind. */
static float row_max(int64_t n, const float *x)
{
    enum { MAXIMA = 16 };
    float best[MAXIMA];
    for (int l = 0; l < MAXIMA; ++l) {
        best[l] = l < n ? x[l] : x[0];
    }
    for (int64_t j = MAXIMA; j < n; j += MAXIMA) {
        const float *from = x + (j + MAXIMA <= n ? j : n - MAXIMA);
#pragma omp simd
        for (int l = 0; l < MAXIMA; ++l) {
            best[l] = from[l] > best[l] ? from[l] : best[l];
        }
    }
    for (int half = MAXIMA / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) {
            best[l] = best[l + half] > best[l] ? best[l + half] : best[l];
        }
    }
    return best[0];
}

static double row_mean(int64_t n, const float *x)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; ++j) {
        sum += (double)x[j];
    }
    return sum / (double)n;
}

/* The loss of one counted row; to: its gradient, or NULL. */
static double softmax_row(int64_t n, const float *x, int32_t label, float scale, float smoothing, float *to)
{
    float room[EXP_STRIP] __attribute__((aligned(64)));
    const float highest = row_max(n, x);
    double sum = 0.0;
    for (int64_t column = 0; column < n; column += EXP_STRIP) {
        const int64_t columns = n - column < EXP_STRIP ? n - column : EXP_STRIP;
        sum += (double)exp_strip(columns, x + column, highest, room);
    }
    double loss = log(sum) + (double)highest - (double)x[label];
    if (smoothing > 0.0F) {
        loss += (double)smoothing * ((double)x[label] - row_mean(n, x));
    }
    if (to == NULL) {
        return loss;
    }
    const float factor = (float)((double)scale / sum);
    for (int64_t column = 0; column < n; column += EXP_STRIP) {
        const int64_t columns = n - column < EXP_STRIP ? n - column : EXP_STRIP;
        if (n > EXP_STRIP) { /* a single strip is still there */
            exp_strip(columns, x + column, highest, room);
        }
        scale_strip(columns, room, factor, to + column);
    }
    if (smoothing > 0.0F) {
        float others = scale * smoothing / (float)n;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            to[j] -= others;
        }
        scale -= scale * smoothing;
    }
    to[label] -= scale;
    return loss;
}

static void zero_row(int64_t n, float *to)
{
    for (int64_t j = 0; j < n; ++j) {
        to[j] = 0.0F;
    }
}

static bool row_counts(const uint8_t *mask, int64_t i)
{
    return mask == NULL || mask[i] != 0;
}

static cpu_loss softmax_xent(int64_t m, int64_t n, const float *x, int64_t ldx, const int32_t *label,
                             const uint8_t *mask, const float *weight, float scale, float smoothing, float *dx,
                             int64_t lddx)
{
    cpu_loss loss = {0.0, 0};
    for (int64_t i = 0; i < m; ++i) {
        float *to = dx != NULL ? dx + i * lddx : NULL;
        if (row_counts(mask, i)) {
            const float times = weight != NULL ? weight[i] : 1.0F;
            loss.sum += (double)times * softmax_row(n, x + i * ldx, label[i], times * scale, smoothing, to);
            loss.count += 1;
        } else if (to != NULL) {
            zero_row(n, to);
        }
    }
    return loss;
}

/* The loss of one counted row; unlabelled targets are NaN. */
static cpu_loss bce_row(int64_t n, const float *x, const float *target)
{
    double sum = 0.0;
    int64_t count = 0;
#pragma omp simd reduction(+ : sum, count)
    for (int64_t j = 0; j < n; ++j) {
        float wanted = target[j];
        float size = x[j] < 0.0F ? -x[j] : x[j];
        float value = (x[j] < 0.0F ? 0.0F : x[j]) - x[j] * wanted + log1p_unit(exp_negative(-size));
        sum += (double)(wanted == wanted ? value : 0.0F);
        count += wanted == wanted ? 1 : 0;
    }
    return (cpu_loss){sum, count};
}

static void bce_row_gradient(int64_t n, const float *x, const float *target, float scale, float *to)
{
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        float wanted = target[j];
        float power = exp_negative(x[j] < 0.0F ? x[j] : -x[j]);
        float sigmoid = (x[j] < 0.0F ? power : 1.0F) / (1.0F + power);
        float slope = scale * (sigmoid - wanted);
        to[j] = wanted == wanted ? slope : 0.0F;
    }
}

static cpu_loss bce_logits(int64_t m, int64_t n, const float *x, int64_t ldx, const float *target, int64_t ldt,
                           const uint8_t *mask, float scale, float *dx, int64_t lddx)
{
    cpu_loss loss = {0.0, 0};
    for (int64_t i = 0; i < m; ++i) {
        float *to = dx != NULL ? dx + i * lddx : NULL;
        if (row_counts(mask, i)) {
            cpu_loss row = bce_row(n, x + i * ldx, target + i * ldt);
            loss.sum += row.sum;
            loss.count += row.count;
            if (to != NULL) {
                bce_row_gradient(n, x + i * ldx, target + i * ldt, scale, to);
            }
        } else if (to != NULL) {
            zero_row(n, to);
        }
    }
    return loss;
}

/* The label is the argmax when nothing exceeds its logit and nothing before it equals it. As nothing is above a NaN, a
 * first one is the argmax, and a later one never. */
static bool label_wins(int64_t n, const float *x, int32_t label)
{
    if (label < 0 || label >= n) {
        return false;
    }
    float own = x[label];
    int32_t beaten = 0;
    if (own != own || x[0] != x[0]) {
        return label == 0;
    }
#pragma omp simd reduction(+ : beaten)
    for (int64_t j = 0; j < n; ++j) {
        beaten += x[j] > own ? 1 : 0;
    }
    for (int64_t j = 0; j < label && beaten == 0; ++j) {
        beaten += x[j] == own ? 1 : 0;
    }
    return beaten == 0;
}

static void accuracy(int64_t m, int64_t n, const float *x, int64_t ldx, const int32_t *label, const uint8_t *mask,
                     int64_t *count)
{
    for (int64_t i = 0; i < m; ++i) {
        if (row_counts(mask, i)) {
            count[0] += label_wins(n, x + i * ldx, label[i]) ? 1 : 0;
            count[1] += 1;
        }
    }
}

/* ---- shares of attention over tokens ---- */

/* Every row of x[m, n] becomes its softmax. */
static void softmax_rows(int64_t m, int64_t n, float *x, int64_t ldx)
{
    for (int64_t i = 0; i < m; ++i) {
        float *row = x + i * ldx;
        const float highest = row_max(n, row);
        float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < n; ++j) {
            row[j] = exp_negative(row[j] - highest);
            sum += row[j];
        }
        const float inverse = 1.0F / sum;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            row[j] *= inverse;
        }
    }
}

/* Gradients dx[m, n] of shares become those of what softmax_rows read, times scale. */
static void softmax_slopes(int64_t m, int64_t n, const float *share, int64_t lds, float scale, float *dx, int64_t lddx)
{
    for (int64_t i = 0; i < m; ++i) {
        const float *of = share + i * lds;
        float *row = dx + i * lddx;
        float mean = 0.0F;
#pragma omp simd reduction(+ : mean)
        for (int64_t j = 0; j < n; ++j) {
            mean += of[j] * row[j];
        }
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            row[j] = of[j] * (row[j] - mean) * scale;
        }
    }
}
