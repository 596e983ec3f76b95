/* app/dense/info/info_images.h: what `weft info` tells of networks on images. */
#pragma once

#include "app/workload/workload.h"

/* See workload_ops.info: a network of the zoo by its name, or a file of one; in app/dense/info/info_network.c. */
weft_status dense_info(const workload_subject *subject, bool *known);

/* A line about the network whose weights these are; in app/dense/info/info_tensors.c. */
weft_status dense_info_tensors(safetensors_file *file, bool *known);
