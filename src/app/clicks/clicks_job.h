/* app/clicks/clicks_job.h: what the files of app/clicks share. */
#pragma once

#include "app/clicks/clicks_workload.h"
#include "app/clicks/options/clicks_options.h"
#include "base/number.h"
#include "clicks/data/click_source.h"
#include "clicks/model/click_model.h"
#include "train/labels.h"
#include "train/lr_schedule.h"

/* Files of rows begin so: rows-00000-of-00002.rows. */
#define CLICKS_ROWS      "rows"
#define CLICKS_BEST_ROWS "best-rows"

/* What a worker thread has of its own; its rows are a lane of the job's table. */
typedef struct worker_parts {
    weft_hal *hal;
    click_source *source;
    click_model *model;
} worker_parts;

/* Everything that a workload of this kind holds; freed by its end(). */
typedef struct clicks_job {
    char folder[FILE_PATH_MAX];        /* for generated data and the best rows; beside the run's results */
    char *store;                       /* a store that the job made of its files, for all ranks to map; NULL: none */
    name_list field_name, number_name; /* of a trained model */
    name_list bag_name;                /* columns whose cells hold several ids */
    char *words; /* list of columns that are read as words; NULL: none beside those of the options */
    click_rows rows;
    click_net net; /* of --model FILE.net */
    click_model_desc desc;
    click_scaling scaling;
    train_schedule schedule; /* of the rows of embeddings */
    embed_desc table_desc;
    uint8_t *mode_of; /* [rows.fields] embed_mode of each, where table_desc.mode_of says so */
    embed_table *table;
    click_model *model;
    train_beside beside;
    char start[FILE_PATH_MAX]; /* folder of the rows that every run begins with; "": none has a row */
    bool start_best;
    click_source *source;
    train_workers workers; /* threads that train side by side; none: count 0 */
    worker_parts *parts;   /* [workers.count] */
    bool kept;             /* files of the best rows stand in `folder` */
    train_labels answers;  /* right answers for the rows that this rank evaluates */
    int64_t *held_id;      /* [answers.targets.rows] */
    embed_figures figures;
    bool refusal_told; /* that ids found no room */
    char guess[256];   /* what may make scores no better than a guess */
} clicks_job;

/* See workload_ops; in app/clicks/clicks_build.c. */
weft_status clicks_plan(workload *work, const char *folder, int64_t outputs);
weft_status clicks_build(workload *work);

/* Worker threads of --workers; in app/clicks/clicks_workers.c. */
/* Returns how many, of which each has a model and batches of its own; 0: none beside the rank itself. */
int clicks_workers(const workload *work);
/* WEFT_ERR_USAGE: workers beside something that promises the same bits, or rows that leave. Local, the same on all
 * ranks. */
weft_status clicks_check_workers(const workload *work);
/* Fills in job->workers, once there are table and model; source: options of the job's own. Collective. */
weft_status clicks_open_workers(workload *work, const click_source_options *source);
void clicks_close_workers(clicks_job *job);

extern const choice_kind clicks_mode_choice;
/* In app/clicks/clicks_modes.c. Modes of columns that are named; local. */
weft_status clicks_read_modes(workload *work);
/* Settles modes that are auto; collective, between source and table. */
weft_status clicks_choose_mode(workload *work);
/* In app/clicks/clicks_ranks.c. The bytes of the modes and memory on 2 to 1,024 ranks. */
void clicks_print_modes(const workload *work, FILE *out);
number_words clicks_say_saving(double share);

/* The files of rows, through the training loop and the predictor; in app/clicks/clicks_beside.c. */
train_beside clicks_beside(clicks_job *job);
/* Removes rows that were kept for the best evaluation. Rank 0. */
void clicks_forget_best(clicks_job *job);

/* Rows that are made (clicks/synth); in app/clicks/clicks_made.c. */
/* WEFT_ERR_USAGE: the description of the rows has a mistake, or an option says how files are read. Not collective. */
weft_status clicks_check_made(const workload *work, const char *data);
/* Fills in work->ceiling. logit: [targets.rows] of what made the rows. Collective. */
weft_status clicks_find_ceiling(workload *work, const float *logit);

/* In app/clicks/clicks_saved.c. */
weft_status clicks_recognise(saved_model *model, const weft_options *given);
weft_status clicks_write_named(const saved_model *model, const char *path, const safetensors_text *texts, int count);
weft_status clicks_write_rows(const saved_model *model, const char *path, const char *keys);
/* The kind of model that --model names, CLICK_PARTS for a network of the user's own; CLICK_KINDS: none. */
click_kind clicks_kind_of(const weft_options *options);

/* Networks of the user's own; in app/clicks/clicks_net.c. */
/* Returns true if --model is a text of layers for a table. */
bool clicks_has_net(const weft_options *options);
/* Reads the layers on rank 0 into the option that keeps them. Collective. */
weft_status clicks_decide_net(weft_comm *comm, weft_options *options);
/* [out] net: fitted to the columns of the data. For click_net_free, also after a failure. */
weft_status clicks_open_net(const workload *work, click_net *net);
