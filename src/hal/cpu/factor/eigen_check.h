/*
 * hal/cpu/factor/eigen_check.h: do eigenvalues and eigenvectors belong to their matrix? A library may say that it
 * succeeded and leave numbers that are not finite or not accurate.
 */
#pragma once

#include "hal/hal.h"

/* Returns true if V^T (D (V x)) = A x and V^T (V x) = x hold for a vector x of signs, up to the rounding of A's type.
 * a[n,n]: lower triangle; vectors[n,n]: V, one a row; values[n]: D; work: 3 n doubles. An error
 * orthogonal to x passes. About 6 n^2 operations. */
bool eigen_stands(const hal_mat *a, const hal_mat *vectors, const hal_mat *values, double *work);
