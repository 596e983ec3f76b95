/* app/gnn/gnn_job.h: what the files of the graph jobs share (app/gnn/gnn_workload.h). */
#pragma once

#include "app/gnn/data/graph_data.h"
#include "app/gnn/gnn_workload.h"
#include "app/gnn/job_forms.h"
#include "app/gnn/options/gnn_options.h"
#include "gnn/dataset.h"
#include "gnn/facts.h"
#include "gnn/gnn_model.h"
#include "gnn/links/link_model.h"
#include "gnn/links/link_ranking.h"

/* Everything that a workload of this kind holds; freed by its end(). */
typedef struct gnn_job {
    graph_data data;
    weft_graph facts;       /* of the graph, also once it is closed; no arrays, but names of classes */
    const float *weight;    /* of all edges, as the store has them; data.graph.weight is NULL where they do not count */
    gnn_facts counts;       /* of the store, once a decision needed them; features 0: not yet */
    name_list vertex_names; /* on rank 0, of a job that answers for them; text NULL: none */
    int32_t *class_of;      /* [classes of the store] classes of a trained model, or -1; NULL: as they are */
    bool weighted;          /* edges count by their weights */
    double density;         /* share of the features that are not 0, where features are held so */
    double read_share; /* of the edges those into rows that the loss reads, where the last layer computes those alone */
    gnn_config config;
    bool labels_needed;
    gnn_model model;
    gnn_aggregator smoother; /* or zeroed */
    train_labels labels;
    input_moments moments; /* of --normalize standard, once features are loaded */
    job_forms forms;       /* of the model's aggregation */
    bool lists_alone;      /* no other form of matrices fits into memory */
    bool predicts_links;   /* --task link: the fields below are in use */
    link_set links;
    link_decoder decoder;
    link_model link_model;
    link_ranking ranking; /* of --users, once training is over; users 0: none */
} gnn_job;

/* ---- app/gnn/gnn_check.c ---- */

/* Whether --data names a graph. */
workload_claim gnn_claim_data(const char *data);
/* Options against the data, each other and the backend, before the data are opened. Collective. */
weft_status gnn_check_options(const app_context *context);
/* Warns about decided options that the model has no use for. */
void gnn_warn_model(const weft_options *options);
/* Returns true if features stay in the host's memory of a job with devices because the options say so. */
bool gnn_asks_for_host(const app_context *context);
/* Logs how rows of vertices pass between the memory of devices and other ranks. */
void gnn_tell_road(const app_context *context);

/* ---- app/gnn/gnn_plan.c and app/gnn/gnn_build.c; slots as in workload_ops ---- */

/* What decided options ask for, and what a model of these labels answers with. */
train_loss gnn_loss_asked(const weft_options *options, const weft_graph *graph);
gnn_config gnn_config_of(const weft_options *options, const weft_graph *graph, int64_t outputs);
int64_t gnn_outputs_of(const weft_options *options, const weft_graph *graph);
weft_status gnn_plan_job(workload *work, const char *folder, int64_t outputs);
weft_status gnn_build(workload *work);
/* As in workload_ops. */
weft_status gnn_embeddings(const workload *work, held_rows *held, float **row, int64_t *width);
/* Prints how far the labels of parts are from those of the graph (label_distance.c). After the labels are loaded.
 * Collective. */
weft_status gnn_tell_label_distance(const workload *work);
weft_status gnn_smooth(workload *work, const weft_options *asked, float *logits);

/* weft predict-scaling; in app/gnn/predict_scaling.c. */
weft_status gnn_command_predict_scaling(const weft_options *options);

/* See workload_ops; in app/gnn/gnn_describe.c. */
void gnn_data_facts(const workload *work, fact_list *list);
const char *gnn_row_name(const workload *work, int64_t row);
void gnn_plan_facts(const workload *work, fact_list *list);
void gnn_print_plan(const workload *work, FILE *out);
void gnn_result_facts(const workload *work, fact_list *list);

/* In app/gnn/gnn_saved.c. */
/* --model; auto is sage. */
gnn_kind gnn_kind_asked(const weft_options *options);
const gnn_layer_ops *gnn_ops_asked(const weft_options *options);
weft_status gnn_show_moments(saved_model *model);
weft_status gnn_recognise(saved_model *model, const weft_options *given);
weft_status gnn_read_named(safetensors_file *file, saved_model *model, const weft_options *given);
weft_status gnn_write_named(const saved_model *model, const char *path, const safetensors_text *texts, int count);
