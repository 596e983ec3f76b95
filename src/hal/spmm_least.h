/* hal/spmm_least.h: which sparse matrices are worth a measurement of their forms (hal/hal.h, spmm_try). */
#pragma once

/* Entries; backends measure nothing of a smaller matrix, and take the form that a rule expects to be the best. */
enum { HAL_SPMM_LEAST = 1 << 18 };
