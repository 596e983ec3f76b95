/* clicks/model/click_sums.c: see clicks/model/click_sums.h. */
#include "clicks/model/click_sums.h"

void click_sums_forward(const float *total, int64_t ld, int width, bool fm, int64_t samples, float *logit)
{
    for (int64_t i = 0; i < samples; ++i) {
        const float *t = total + i * ld;
        float square = 0.0F;
        for (int j = 0; j < width && fm; ++j) {
            square += t[j] * t[j];
        }
        logit[i] = t[width] + (fm ? 0.5F * (square - t[width + 1]) : 0.0F);
    }
}

void click_sums_backward(const float *total, int64_t ld, int width, bool fm, int64_t samples, const float *dlogit,
                         float *dtotal)
{
    for (int64_t i = 0; i < samples; ++i) {
        float *d = dtotal + i * ld;
        for (int j = 0; j < width; ++j) {
            d[j] = fm ? dlogit[i] * total[i * ld + j] : 0.0F;
        }
        d[width] = dlogit[i];
        if (fm) {
            d[width + 1] = -0.5F * dlogit[i];
        }
    }
}
