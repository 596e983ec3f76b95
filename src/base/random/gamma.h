/* base/random/gamma.h: draws of a gamma distribution, keyed as all random numbers are (base/philox.h). */
#pragma once

#include <stdint.h>

/*
 * Returns a draw of Gamma(shape, 1), which may underflow to 0 for a shape far below 1. shape > 0; purpose: a stream of
 * base/philox.h, of which the draw takes the blocks of (stream, epoch).
 */
double gamma_draw(double shape, uint64_t seed, uint32_t purpose, uint32_t epoch, uint64_t stream);
