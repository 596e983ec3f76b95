/*
 * app/workload/workload.h: what a job asks of the kind of data and model that it works on: one table of functions a kind.
 *
 * Training (app/train/train_job.h), eval and predict take a workload through the same steps, and know no more of it:
 *
 *     workload_begin   nothing is open
 *     open             the data, as they lie on disk: name, hash, generated, labelled
 *     workload_decide  options that said "auto" have values
 *     plan             this rank's share of the data, and the memory for it: shares, balance, memory, inputs, outputs
 *     build            model, source, targets, held, forms: everything that epochs and a forward pass read      (not of a dry run)
 *     release          the data's files are given back
 *     ...              epochs, or a forward pass: of train_model, train_targets and held_rows alone
 *     workload_end
 *
 * Each step fills in the fields of `workload` that are named beside it. A kind is added by a folder beside this one that
 * fills a workload_ops, and a row of workload_list.
 */
#ifndef WEFT_APP_WORKLOAD_WORKLOAD_H
#define WEFT_APP_WORKLOAD_WORKLOAD_H

#include <stdio.h>

#include "app/predict/gather_rows.h"
#include "app/setup/choices.h"
#include "app/setup/context.h"
#include "app/setup/sync_setup.h"
#include "app/workload/memory_plan.h"
#include "app/workload/saved_model.h"
#include "base/file.h"
#include "base/trace/activity.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "train/checkpoint/checkpoint.h"
#include "train/source.h"

enum { WORKLOAD_SHARES = 4, WORKLOAD_NAMED_ROWS = 2000000 /* most rows that are answered for by name */ };

/* Folders of generated data in a run folder begin so, and digits follow: a killed job's are known by it. */
#define WORKLOAD_GENERATED "graph-"

/* Key, inside that of the data in run.json, of an array of texts: the names of classes, where they have some. */
#define WORKLOAD_CLASS_NAMES "class_names"

typedef struct workload workload;

/* What a training's options tell about its outcome (app/train/outcome.h). */
typedef struct train_habits {
    bool normed;        /* hidden layers end with a norm */
    bool normalized;    /* inputs are scaled */
    bool input_dropped; /* inputs pass dropout */
    bool old_gradients; /* gradients of earlier epochs are used */
} train_habits;

/* How surely a kind of workload recognises something as its own. */
typedef enum workload_claim { CLAIM_NO, CLAIM_POSSIBLE, CLAIM_CERTAIN } workload_claim;

typedef struct workload_claims {
    workload_claim model; /* of --model: its words are certain, "auto" is possible */
    workload_claim data;  /* of --data, as far as its name and a look at files of its folder tell */
} workload_claims;

/* An activity that a kind of workload brings to the closing table and to reports (app/activity/activity_table.h). */
typedef struct workload_activity {
    const weft_activity *activity; /* NULL ends a list */
    const char *colour;            /* class of its bars in reports, which app/report/page.c has */
    int place;                     /* rows of the table go up by it */
} workload_activity;

/* A kind of workload. Statuses are agreed between the ranks where a function is collective. */
typedef struct workload_ops {
    /* The kind's options, sections, commands, recipes and words. Its traits say which options serve jobs of this kind. */
    const option_table *options;
    /* Whether model and data of the options are of this kind. Every kind is asked, in the order of workload_list. Not
     * collective. */
    workload_claims (*claims)(const weft_options *options);
    const workload_activity *activities;
    /* Options of this kind that make a model what it is, up to OPTION_NONE: every form of a saved model records them, and a
     * command that uses the model may not contradict them. */
    const option_id *recorded;
    /* Options, among the recorded, that say how inputs are scaled, up to OPTION_NONE. */
    const option_id *inputs;
    /* Options of sections that a resumed run must take as they were (option_section), which it need not, up to OPTION_NONE. */
    const option_id *resumable;
    /* Says how a training's options explain its outcome. NULL: normed and normalized. */
    train_habits (*habits)(const weft_options *options);
    const char *data;    /* what it trains on, in messages and as a key of run.json: "graph" */
    const char *field;   /* what its networks are on, in messages: "graphs" */
    const char *rows;    /* what a row of that is: "vertices" */
    const char *accepts; /* what its data are on disk, for "is not a ..." */
    const char *split_cure,
        *test_cure;         /* what gives data the validation or test split that they lack, in messages; open may
                                         * set others in the workload */
    const char *label_cure; /* where scores without labels are none; NULL: they are left out */
    const char *share_names[WORKLOAD_SHARES]; /* keys of `shares` in summary.json; NULL: no such figure */
    sync_shards shards;                       /* what a rank's share of the rows is */

    /* work->self, empty. Not collective. */
    weft_status (*begin)(workload *work);
    /* --data, found or generated, and checked. folder: takes what is generated, and is made if need be. Collective. */
    weft_status (*open)(workload *work, const char *folder);
    /* A run is resumed: options that are open take the values of its checkpoint. ck: on rank 0; NULL on the others, and where
     * training begins anew. After decide. Collective. NULL: nothing is open. */
    weft_status (*adopt)(const app_context *context, const checkpoint *ck);
    /* [out] rows: [work->classes] labelled rows of each class in all of the data. Not collective. */
    void (*count_classes)(const workload *work, int64_t *rows);
    /* The data's classes become those of a trained model: class_of [work->classes] is the model's class of each, or -1, which
     * is no label. names: [classes] of the model, or NULL. 0 classes: the data have no labels from now on. After open. Not
     * collective, the same on every rank. */
    weft_status (*relabel)(workload *work, const int32_t *class_of, int64_t classes, char *const *names);
    /* Values for the options that say "auto", logged with their reason. training: false for a trained model, whose inputs
     * stay as they are unless its makers or the user say otherwise. Collective. */
    weft_status (*decide)(workload *work, weft_options *options, bool training);
    /*
     * Find this rank's share and what it needs. outputs: what a trained model answers with where the data have no labels,
     * or no split of them: targets then hold none; 0: labels are needed. WEFT_ERR_DATA: the data lack something, with the
     * command that adds it; WEFT_ERR_RESOURCE: the job cannot fit. Collective.
     */
    weft_status (*plan)(workload *work, const char *folder, int64_t outputs);
    /* The model, its input and its targets. Collective. */
    weft_status (*build)(workload *work);
    /* [out] by_class[targets->outputs] grows by this rank's share of the labelled training rows, where targets have none of
     * them because they are not evaluated. After build. NULL: targets have them. */
    void (*count_training)(const workload *work, int64_t *by_class);
    /* Improve a trained model's answers by the training labels; asked: of the command. logits: [rows of this rank, outputs]; what
     * comes out is used as logits are. Only where work->smooths was set before plan. Collective. NULL: this kind cannot. */
    weft_status (*smooth)(workload *work, const weft_options *asked, float *logits);
    /* The data are not read any more; what was generated is removed. Collective. */
    weft_status (*release)(workload *work);
    /* The same for a job that ends, as far as this rank can alone; also after release. */
    void (*abandon)(workload *work);
    void (*end)(workload *work); /* frees work->self; after abandon */

    /* What run.json tells of the data, also after release: keys of an open object. */
    void (*describe_data)(const workload *work, json_writer *json);
    /* Returns what a row that is answered for is called, e.g. its file, or NULL if rows have no names. On rank 0, of a job that is
     * `trained`, for at most WORKLOAD_NAMED_ROWS rows of a graph. */
    const char *(*row_name)(const workload *work, int64_t row);
    const char *row_title[2]; /* headings of such names, and of numbers in their place */
    bool shows_answers;       /* weft predict prints the answers where there are no scores */
    /* The share and the model in words, as --dry-run prints them. After plan. */
    void (*describe_plan)(const workload *work, FILE *out);
    /* The kind's own keys of a line of metrics.jsonl: figures of this rank since the line before. NULL: none. */
    void (*describe_epoch)(const workload *work, json_writer *json);
    /* Figures of all ranks for summarise and print_figures, once training is over. Collective. NULL: none. */
    weft_status (*gather_figures)(const workload *work);
    /* The kind's own keys of summary.json. After plan. */
    void (*summarise)(const workload *work, json_writer *json);
    /* The same in words, below the closing table. NULL: none. */
    void (*print_figures)(const workload *work, FILE *out);

    /* ---- models on disk (app/workload/saved_model.h); one rank ---- */

    /* From the weights themselves: layers, inputs, outputs, and options by saved_model_show. given: options of the
     * command, which say what neither files nor weights do. WEFT_ERR_DATA: no model of this kind, or description and
     * weights contradict each other. */
    weft_status (*recognise)(saved_model *model, const weft_options *given);
    /* What means and deviations beside the weights show of the scaling of inputs, by saved_model_show. NULL: nothing. */
    weft_status (*show_moments)(saved_model *model);
    /* The weights under the names of another program; what those names tell, by saved_model_show. given: as above.
     * WEFT_ERR_DATA: a tensor that no model of this kind has. */
    weft_status (*read_named)(safetensors_file *file, saved_model *model, const weft_options *given);
    /* A recognised model under those names. texts: [count] metadata. */
    weft_status (*write_named)(const saved_model *model, const char *path, const safetensors_text *texts, int count);
} workload_ops;

/* One job's workload. */
struct workload {
    const workload_ops *ops;
    const app_context *context; /* the job's */
    void *self;                 /* the kind's own */
    uint64_t process;           /* resident bytes before anything was loaded */

    char name[64], hash[33]; /* of the data */
    bool generated;          /* for this job alone */
    bool smooths;            /* its maker will call ops->smooth */
    /* The model whose weights a training starts from, which options of saved_model_inputs follow where they are "auto"; or NULL. */
    const saved_model *start;
    /* [in] The moments of a trained model, before build; without any, those of the data at hand are measured. [out] The moments in
     * use, after build, as long as the workload lives; or NULL. */
    const input_moments *moments;
    const char *const *path; /* of a job that is trained: --data at several places, [paths]; NULL: one */
    int paths;
    bool trained;                       /* its maker has a trained model: set before open, with */
    bool scores_training;               /* whether the answers for training rows are wanted, too */
    bool labelled;                      /* they say what to answer with */
    int64_t classes;                    /* of labels that are classes; 0: they are tasks, or there are none */
    const char *const *class_name;      /* [classes] of the data; NULL: no names */
    const char *split_cure, *test_cure; /* as in ops, of these data */
    int64_t malformed;                  /* rows of them that were left out */

    int64_t shares[WORKLOAD_SHARES]; /* of this rank, as ops->share_names says */
    double balance;                  /* work of the rank that has most / mean; 1: even */
    double replication;              /* ranks that hold a row, on average; 0 of one rank */
    const char *divider; /* the method that divides the rows among the ranks, by --partition; "auto" at first */
    bool elsewhere;      /* the plan is for another number of ranks: nothing can be built after it */
    memory_plan memory;
    int64_t inputs, outputs; /* of the model: figures a row */

    train_model *model;
    train_source source;           /* what epochs go through */
    const train_targets *targets;  /* of this rank's rows: the answers of a forward pass */
    held_rows held;                /* which of all rows they are */
    char forms[CHOICES_FORMS + 1]; /* what was chosen by measuring, a code that build takes again; "": nothing */
};

/* NULL at the end. A program defines its own: weft's is app/train/workload_list.c. The last kind is the one of jobs that no
 * kind claims. */
extern const workload_ops *const workload_list[];
/* The kind of a job with these options: of the kinds that claim the model most surely, the one that claims the data most
 * surely. Of several that are equally sure the last is given, and workload_begin refuses the job if they are certain. */
const workload_ops *workload_of(const weft_options *options);

/* WEFT_ERR_NOINPUT: no kind knows the data, with what each accepts. */
weft_status workload_refuse_data(const char *data);

/* Nothing is open. context lives longer than the workload. End with workload_end, also after a failure. WEFT_ERR_USAGE: the data
 * belong to another kind than the model, or two kinds are certain that the data are theirs. */
weft_status workload_begin(const workload_ops *ops, const app_context *context, workload *work);
/* context->options become a copy of what they were without "auto"; the copy is the context's, which is the workload's
 * own. Collective. */
weft_status workload_decide(workload *work, app_context *context, bool training);
/* Whatever the job came to, nothing generated stays on the disk. Harmless before workload_begin, and twice. */
void workload_abandon(workload *work);
/* The same, and frees what it holds. */
void workload_end(workload *work);

#endif
