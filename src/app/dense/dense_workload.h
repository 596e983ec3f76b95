/*
 * app/dense/dense_workload.h: training of networks on images in batches, as a workload: a data set of images
 * (dense/data/image_set.h) and a network of the zoo or of a user's own (dense/net/net.h).
 */
#pragma once

#include "app/workload/workload.h"

extern const workload_ops dense_workload;
