/* trees/shap/quadrature.h: points of Gauss and Legendre on [0, 1]. */
#pragma once

/* [out] point, weight: [count]; polynomials of degree 2 count - 1 are integrated exactly. count is at least 1. */
void quadrature_find(int count, double *point, double *weight);
