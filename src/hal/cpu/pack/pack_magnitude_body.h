/*
 * hal/cpu/pack/pack_magnitude_body.h: the sum of magnitudes, the same additions in the same order on every instruction
 * set: 16 lanes of double precision, added up at the end. No include guard.
 */
static double sum_magnitudes(const float *x, int64_t begin, int64_t end, uint32_t *top)
{
    enum { LANES = 16 };
    double lane[LANES] = {0.0};
    int32_t most[LANES] = {0};
    int64_t i = begin;
    for (; end - i >= LANES; i += LANES) {
        for (int l = 0; l < LANES; ++l) {
            int32_t bits = (int32_t)hal_magnitude(x[i + l]);
            most[l] = bits > most[l] ? bits : most[l];
            lane[l] += (double)(x[i + l] < 0.0f ? -x[i + l] : x[i + l]);
        }
    }
    for (int l = 0; i < end; ++i, ++l) {
        int32_t bits = (int32_t)hal_magnitude(x[i]);
        most[l] = bits > most[l] ? bits : most[l];
        lane[l] += (double)(x[i] < 0.0f ? -x[i] : x[i]);
    }
    double sum = 0.0;
    *top = 0;
    for (int l = 0; l < LANES; ++l) {
        sum += lane[l];
        *top = (uint32_t)most[l] > *top ? (uint32_t)most[l] : *top;
    }
    return sum;
}
