/*
 * tune/search/sobol.h: Sobol's points, of which any 2^k that follow each other fill the unit cube evenly.
 *
 * S. Joe, F. Y. Kuo: Constructing Sobol sequences with better two-dimensional projections. SIAM Journal on Scientific
 * Computing 30(5), 2008: direction numbers new-joe-kuo-6.21201 of the first 21 dimensions.
 */
#pragma once

#include <stdint.h>

enum { SOBOL_DIMENSIONS = 21 };

/* Coordinate d < SOBOL_DIMENSIONS of point `index`, in units of 2^-32. */
uint32_t sobol_coordinate(uint32_t index, int d);
