/* partition/partition_store.h: what the files of a partition share with its other users. */
#pragma once

#include "base/file.h"
#include "io/json.h"
#include "partition/partition.h"

/* The figures of a report as members of the open JSON object. */
void partition_report_json(json_writer *json, const partition_report *report);

/* STORE/partition-METHOD-K-SEED, or of a file STORE/partition-file-K-KEY. WEFT_ERR_NOINPUT, WEFT_ERR_DATA: the file is
 * absent, or no partition book. */
weft_status partition_folder(const char *store_path, const partition_options *options, char path[FILE_PATH_MAX]);

/* Give back what partition_load mapped. */
void partition_unmap(weft_partition *partition);
