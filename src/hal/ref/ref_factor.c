/*
 * hal/ref/ref_factor.c: factorisations of symmetric matrices as they are defined, without memory of their own: Cholesky
 * row by row, eigenvalues by cyclic Jacobi rotations (G. H. Golub, C. F. Van Loan: Matrix Computations, section 8.5), Q
 * and R by modified Gram-Schmidt, each column twice (L. Giraud, J. Langou, M. Rozloznik, J. van den Eshof: Rounding
 * error analysis of the classical Gram-Schmidt orthogonalization process. Numerische Mathematik 101, 2005,
 * doi:10.1007/s00211-005-0615-4).
 */
#include <assert.h>
#include <float.h>
#include <math.h>

#include "hal/ref/ref_backend.h"

enum { SWEEPS = 60 };

#define EPSILON (sizeof(real) == sizeof(float) ? (double)FLT_EPSILON : DBL_EPSILON)
#define REF_REALS
#define REF_BODY "hal/ref/ref_factor_body.h"
#include "hal/ref/ref_typed.h"
