/* app/gnn/divide/command_partition.h: weft partition. */
#pragma once

#include "app/options/app_options.h"
#include "partition/partition.h"

/* The command. Called on every rank, before MPI is started. */
weft_status gnn_command_partition(const weft_options *options);

/* What the options of the command ask for; the method's name lives as long as the options. */
partition_options gnn_partition_options(const weft_options *options);
