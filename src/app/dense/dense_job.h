/* app/dense/dense_job.h: what the files of app/dense/dense_workload.h share. */
#pragma once

#include "app/dense/dense_workload.h"
#include "app/dense/options/dense_options.h"
#include "app/dense/options/text_options.h"
#include "base/number.h"
#include "dense/data/vary/augment.h"
#include "dense/engine/dense_model.h"
#include "dense/net/zoo.h"
#include "train/batch/batch_order.h"
#include "train/labels.h"

enum {
    DENSE_SIZES = HAL_CONV_SIZES,
    DENSE_MOMENTS = 2 * AUGMENT_CHANNELS_MAX * (NUMBER_TEXT_MAX + 1) /* bytes of --image-moments */
};

/* What the batches cost; a row of doubles, so that it is reduced as one. */
typedef struct dense_input {
    double samples[IMAGE_LEVELS], source_bytes; /* as in image_use */
    double wait_s;                              /* that the caller stood still for batches */
} dense_input;

/* Everything that a workload of this kind holds; freed by its end(). */
typedef struct dense_job {
    image_set *set;
    int64_t channels;            /* that the images were brought to as they were opened; 0: what their files have */
    image_use used;              /* of the set, by models before this one */
    char moments[DENSE_MOMENTS]; /* --image-moments auto of these images, once it was decided; "": not yet */
    network net;
    uint64_t process; /* resident bytes before the plan of second order measures rates */
    augment augment;
    batch_deal deal;             /* shards of the ranks; no ranks: there are none */
    batch_plan batches;          /* of training */
    int64_t images[DENSE_SIZES]; /* numbers of images that batches of this rank have */
    int sizes;
    int64_t evaluated; /* images of an evaluation, over all ranks */
    dense_config config;
    dense_model model;
    image_source *source;
    dense_input told;     /* figures of this rank that metrics.jsonl has so far */
    dense_input all;      /* figures of all ranks, once they are gathered */
    double wait_s_max;    /* seconds of the rank that waited longest, once they are gathered */
    train_labels answers; /* right answers for the images that this rank evaluates */
    int64_t *held_id;     /* [answers.targets.rows] ids of these images */
} dense_job;

/* See workload_ops; in app/dense/dense_plan.c and app/dense/dense_build.c. */
weft_status dense_plan(workload *work, const char *folder, int64_t outputs);
weft_status dense_build(workload *work);
void dense_count_training(const workload *work, int64_t *by_class);

/* Deals the training images to the ranks by --shard-by and prints each rank's label distance; job->deal stays empty
 * where there are no shards or one rank. In app/dense/dense_deal.c. Collective. */
weft_status dense_deal(workload *work);

/* WEFT_ERR_USAGE: options that contradict each other about what a training image teaches; in
 * app/dense/dense_workload.c. */
weft_status dense_check_lessons(const weft_options *options);

/* Values for options that say "auto"; in app/dense/dense_auto.c. */
weft_status dense_auto_decide(weft_comm *comm, const image_set *set, bool training, weft_options *options);
/* The network of these options: of the zoo, or of a user's own, by its kept layers or else its file. [out] net  for
 * net_destroy, also after a failure. WEFT_ERR_USAGE: layers beside a name of the zoo; others: net_open. */
weft_status dense_open_network(const weft_options *options, network *net);
/* --image-size; 0 where it is "auto". WEFT_ERR_USAGE: it is none. */
weft_status dense_size_of(const weft_options *options, int64_t *height, int64_t *width);
/* Means in --image-moments: the channels that they are for. */
int64_t dense_means_of(const weft_options *options);
/* --image-moments of any number of channels: WEFT_ERR_USAGE where it is none. */
weft_status dense_check_moments(const weft_options *options);
/* mean and deviation: [dense_means_of], of --image-moments that dense_check_moments takes and that is not "auto". */
void dense_moments_of(const weft_options *options, float *mean, float *deviation);
/* Numbers that the words of the options have, --words; 0: there are none, the network is one on images. */
int64_t dense_words_of(const weft_options *options);
/* What images go through, after that. trained: the moments are a trained model's. WEFT_ERR_USAGE: moments that are
 * none, or of other channels. */
weft_status dense_augment_of(const image_set *set, const weft_options *options, bool trained, augment *a);

/* See workload_ops; in app/dense/dense_workload.c. */
void dense_count_classes(const workload *work, int64_t *rows);
weft_status dense_relabel(workload *work, const int32_t *class_of, int64_t classes, char *const *names);
weft_status dense_adopt(const app_context *context, const checkpoint *ck);
void dense_unbuild(workload *work);
void dense_end(workload *work);
/* The classes of an open set become the workload's. */
void dense_note_classes(workload *work);

/* See workload_ops; in app/dense/dense_describe.c. */
void dense_data_facts(const workload *work, fact_list *list);
const char *dense_row_name(const workload *work, int64_t row);
item_origin dense_row_origin(const workload *work, int64_t row);
void dense_plan_facts(const workload *work, fact_list *list);
void dense_epoch_facts(const workload *work, fact_list *list);
weft_status dense_gather_figures(const workload *work);
void dense_result_facts(const workload *work, fact_list *list);
void dense_closing_facts(const workload *work, fact_list *list);

/* In app/dense/dense_saved.c. */
weft_status dense_recognise(saved_model *model, const weft_options *given);
weft_status dense_read_named(safetensors_file *file, saved_model *model, const weft_options *given);
weft_status dense_write_named(const saved_model *model, const char *path, const safetensors_text *texts, int count);
/* In app/dense/dense_onnx.c. */
weft_status dense_write_onnx(const saved_model *model, const char *path);
