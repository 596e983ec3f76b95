/*
 * app/gnn/form_record.h: what a job measured of the forms of its aggregation matrices, kept for the next one like it.
 *
 * A file $XDG_CACHE_HOME/weft/forms-HASH.json (or below ~/.cache), HASH being that of the key:
 *
 *      {"format": "weft-forms 4", "weft": "0.1.0",
 *       "key": "parts 9f3c... on 2 ranks of 1 nodes, AMD EPYC, L2 1024 KiB, L3 32768 KiB, 1 threads, cpu, width 16 of
 *       64, ...",
 *       "forms": "l-------",                  letters of the roles (gnn/layers/form_choice.h)
 *       "seconds": [[0.31, 0, 0.22, 0, 0], ...], by role: rows, blocks, lists, tiles, shared, of all ranks;
 *                                             0: not timed; the least of all trials
 *       "trials": 1,                          jobs that have timed the forms
 *       "epoch_s": 0.47,                      aggregation of an epoch on the slowest rank; left out: not known yet
 *       "others_cpus": 0.6,                   that others used while the forms were timed; left out: none
 *       "check": "5d1e..."}                   XXH3 of all that
 *
 * A file of another key, another version, or a damaged one is none: the job measures. Rank 0 reads and writes.
 */
#pragma once

#include "base/file.h"
#include "gnn/layers/form_choice.h"

enum { FORM_KEY_BYTES = 512 };

typedef struct form_record {
    char forms[GNN_FORMS + 1];
    double seconds[GNN_FORMS][HAL_SPMM_KINDS];
    int32_t trials;
    double epoch;  /* seconds; 0: not known yet */
    double others; /* CPUs' worth that other programs had while the forms were timed */
} form_record;

/* WEFT_ERR_NOINPUT when the environment names no cache folder. */
weft_status form_record_path(const char *key, char path[FILE_PATH_MAX]);
/* WEFT_ERR_NOINPUT: there is none. WEFT_ERR_DATA: damaged, or of something else; *record is untouched. */
weft_status form_record_read(const char *path, const char *key, form_record *record);
/* Whole or not at all; makes the folders of the path. */
weft_status form_record_write(const char *path, const char *key, const form_record *record);

/* Forms came so near to each other that a processor shared with others may have decided, and few jobs have timed them:
 * the next one does too. */
bool form_record_is_close(const form_record *record);
/* *record, which may be that of no trial, becomes that of one more: the least seconds of all, and the forms that those
 * choose. What an epoch took is forgotten where a form changes. */
void form_record_add(form_record *record, const gnn_form_figures *trial);

/* What an epoch's aggregation says of the record: nothing new; it is quicker than told, or first known: tell it; the
 * choice loses what it won by: measure again. */
typedef enum form_verdict { FORM_STANDS, FORM_TELLS, FORM_LOSES } form_verdict;
form_verdict form_record_judge(const form_record *record, double epoch);
