/* tune/search/sobol.c: see tune/search/sobol.h. Points are in the order of the Gray code of their index. */
#include "tune/search/sobol.h"

enum { DEGREE_MAX = 7, BITS = 32 };

/* Of each dimension but the first: the degree of its polynomial, the coefficients between the first and the last as
 * bits, and the first direction numbers. */
static const struct {
    uint8_t degree, coefficients, first[DEGREE_MAX];
} joe_kuo[SOBOL_DIMENSIONS - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
};

/* v_i = v_{i-s} ^ (v_{i-s} >> s) ^ those v_{i-k} whose coefficient is 1, in units of 2^-32. */
static void directions(int d, uint32_t v[BITS])
{
    const int degree = d > 0 ? joe_kuo[d - 1].degree : BITS;
    for (int i = 0; i < degree; i++) {
        v[i] = (d > 0 ? (uint32_t)joe_kuo[d - 1].first[i] : 1u) << (BITS - 1 - i);
    }
    for (int i = degree; i < BITS; i++) {
        v[i] = v[i - degree] ^ (v[i - degree] >> degree);
        for (int k = 1; k < degree; k++) {
            v[i] ^= (joe_kuo[d - 1].coefficients >> (degree - 1 - k) & 1) != 0 ? v[i - k] : 0u;
        }
    }
}

uint32_t sobol_coordinate(uint32_t index, int d)
{
    uint32_t v[BITS] = {0}, x = 0;
    directions(d, v);
    for (uint32_t gray = index ^ index >> 1, i = 0; gray != 0; gray >>= 1, i++) {
        x ^= (gray & 1) != 0 ? v[i] : 0u;
    }
    return x;
}
