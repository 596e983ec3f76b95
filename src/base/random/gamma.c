/* base/random/gamma.c: see base/random/gamma.h. */
#include "base/random/gamma.h"

#include <math.h>

#include "base/philox.h"

/* For a shape >= 1: G. Marsaglia, W. Tsang: A simple method for generating gamma variables. ACM TOMS 26(3), 2000,
 * doi:10.1145/358407.358414. Below 1, Gamma(shape + 1) times U^(1 / shape). */
double gamma_draw(double shape, uint64_t seed, uint32_t purpose, uint32_t epoch, uint64_t stream)
{
    const double raised = shape < 1.0 ? shape + 1.0 : shape;
    const double d = raised - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (uint32_t attempt = 1;; ++attempt) {
        const philox_block b = philox4x32(philox_counter(attempt, stream, purpose, epoch), seed);
        const double x = (double)philox_normal(b.word[0], b.word[1]), v = 1.0 + c * x;
        const double u = philox_uniform_double(b.word[2], b.word[3]);
        if (v > 0.0 && log(u) < 0.5 * x * x + d - d * v * v * v + d * log(v * v * v)) {
            const philox_block lower = philox4x32(philox_counter(0, stream, purpose, epoch), seed);
            const double root = philox_uniform_double(lower.word[0], lower.word[1]);
            return d * v * v * v * (shape < 1.0 ? pow(root, 1.0 / shape) : 1.0);
        }
    }
}
