/*
 * app/gnn/scaling/scaling_device.h: GPUs for predictions, from figures instead of measurements: what an edge and a row
 * take, by the bytes and operations that they need and the rates of a card.
 *
 *     an edge   its row of x, in 32-byte sectors, and 4 bytes of its place for each strip of columns; from the
 *               second-level cache as far as a strip of x fits there, the rest from memory, side by side: the slower of
 *               the two
 *     a row     of the products: operations, and operands through memory once; libraries hide little of one behind the
 *               other where products are narrow, and where they are wide one of them is small
 *
 * Strips are as kernels/sparse.cu of the backend takes them.
 */
#pragma once

#include "app/gnn/scaling/scaling.h"
#include "app/options/option_choices.h"

typedef struct scaling_device {
    double memory;      /* bytes a second that long runs reach, not the data sheet's */
    double cache;       /* of the second level, reads */
    double cache_bytes; /* its size */
    double flops;       /* float32 operations a second in large products */
    double bus;         /* bytes a second between the device and pinned memory of the host */
    double launch;      /* seconds from one kernel to the next */
} scaling_device;

/* NULL: SCALING_MEASURED, which has no figures. */
const scaling_device *scaling_device_of(scaling_device_name name);

/* Seconds of an edge and column, by layer, in a matrix of `rows` rows of x. */
void scaling_device_edges(const scaling_device *device, const gnn_plan *plan, double rows, double *seconds);
/* Seconds of a row in the products of a layer, forward and backward. */
void scaling_device_rows(const scaling_device *device, const gnn_plan *plan, double *seconds);
