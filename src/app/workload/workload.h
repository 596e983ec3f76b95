/*
 * app/workload/workload.h: what a job asks of the kind of data and model that it works on: one table of functions a
 * kind.
 *
 * Training (app/train/train_job.h), eval and predict (app/predict/predictor.h) take a workload through the same steps,
 * and know no more of it:
 *
 *     workload_begin   nothing is open
 *     open             the data are open: name, hash, generated, labelled
 *     workload_decide  options that said "auto" have values
 *     adopt            a resumed run only: values that its checkpoint fixes
 *     plan             this rank's share of the data, and the memory for it: shares, balance, memory, inputs, outputs
 *     build            model, source, targets, held, forms: what a fit and a forward pass read (not of a dry run)
 *     release          the data's files are given back (not while they stay open for more fits)
 *     fit              the model is trained; NULL: by gradients
 *     save             the model's file
 *     unbuild          between two fits on open data: back to where workload_decide begins
 *     workload_end
 *
 * Each step fills in the fields of `workload` that are named beside it. A kind is added by a folder beside this one
 * that fills a workload_ops, and a row of workload_list; docs/howto-workload.md tells how.
 */
#pragma once

#include <stdio.h>

#include "app/facts/fact_list.h"
#include "app/setup/choices.h"
#include "app/setup/context.h"
#include "app/setup/second_outlook.h"
#include "app/setup/sync_setup.h"
#include "app/workload/held_rows.h"
#include "app/workload/memory_plan.h"
#include "app/workload/saved_model.h"
#include "base/file.h"
#include "base/trace/activity.h"
#include "io/item_origin.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "train/fit/fit.h"
#include "train/source.h"

enum { WORKLOAD_SHARES = 4, WORKLOAD_NAMED_ROWS = 2000000 /* most rows that are answered for by name */ };

/* Folders of generated data in a run folder begin so, and digits follow: a killed job's are known by it. */
#define WORKLOAD_GENERATED "data-"

/* A name of data with its NUL, which may be that of a folder. */
enum { WORKLOAD_NAME_BYTES = 256 };

/* Key, inside "data" of run.json, of an array of texts: the names of classes, where they have some. */
#define WORKLOAD_CLASS_NAMES "class_names"

typedef struct workload workload;

/* What a training's options tell about its outcome (app/train/outcome.h). */
typedef struct train_habits {
    bool normed;        /* hidden layers end with a norm */
    bool normalized;    /* inputs are scaled */
    bool input_dropped; /* inputs pass dropout */
    bool old_gradients; /* gradients of earlier epochs are used */
} train_habits;

/* How surely a kind of workload recognises something as its own; named: by an option that only this kind has. */
typedef enum workload_claim { CLAIM_NO, CLAIM_POSSIBLE, CLAIM_CERTAIN, CLAIM_NAMED } workload_claim;

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

/* A command that only one kind has. Its options are a row of option_commands, which has the same name. */
typedef struct workload_command {
    const char *name; /* NULL ends a list */
    weft_status (*run)(const weft_options *options);
    bool parallel; /* runs on all ranks of a job */
} workload_command;

/* A kind of `weft bench`. Its options are those of the command that stand in `uses`, and those that every bench
 * takes. */
typedef struct workload_bench {
    const char *name;              /* NULL ends a list */
    const char *measures;          /* in messages: "aggregation" */
    const struct bench_kind *kind; /* what measures it (app/bench/bench.h) */
    const option_id *uses;         /* up to OPTION_NONE */
} workload_bench;

/* What `weft info` was asked about. */
typedef enum workload_subject_kind {
    SUBJECT_NAME,   /* a name, before anything on disk is looked at */
    SUBJECT_PATH,   /* a file or folder that is there, and is nothing that all kinds have */
    SUBJECT_TENSORS /* a file of tensors, which is open */
} workload_subject_kind;

typedef struct workload_subject {
    workload_subject_kind kind;
    const char *what;          /* the argument */
    bool check;                /* --check */
    safetensors_file *tensors; /* of SUBJECT_TENSORS */
} workload_subject;

/* Values of a column of the data for rows of this rank, in the order of work->targets. */
typedef struct workload_column {
    float *value;    /* [targets->rows] a number, or the place of a word; NaN: missing */
    name_list words; /* none: the column holds numbers */
} workload_column;

/* How answers are to be explained. */
typedef struct explain_request {
    bool pairs;              /* what inputs add together, too */
    bool against;            /* against rows of a background, in the place of what the model itself knows of its data */
    const char *background;  /* data of the kind; "": rows of the data at hand */
    int64_t background_rows; /* at most so many of them, drawn by the seed */
    uint64_t seed;
} explain_request;

/* Further numbers of a trained model's answers. */
typedef enum workload_detail {
    DETAIL_MARGINS, /* float32: sums before they become answers */
    DETAIL_LEAVES,  /* int32: where a row ends in each part of the model */
    WORKLOAD_DETAILS
} workload_detail;

/* A kind of workload. Statuses are agreed between the ranks where a function is collective. */
typedef struct workload_ops {
    /* The kind's options, sections, commands, recipes and words. Its traits say which options serve jobs of this
     * kind. */
    const option_table *options;
    /* Whether model and data of the options are of this kind. Every kind is asked, in the order of workload_list. Not
     * collective. */
    workload_claims (*claims)(const weft_options *options);
    const workload_activity *activities;
    /* Options of this kind that make a model what it is, up to OPTION_NONE: every form of a saved model records them,
     * and a command that uses the model may not contradict them. */
    const option_id *recorded;
    /* Options, among the recorded, that say how inputs are scaled or numbered, up to OPTION_NONE. */
    const option_id *inputs;
    /* Options, among the recorded, that say what of the data is learnt, up to OPTION_NONE: taken of other data where
     * nobody asks for others, which a command may, and no part of the model's arithmetic. NULL: none. */
    const option_id *of_data;
    /* Options of sections that a resumed run must take as they were (option_section), which it need not, up to
     * OPTION_NONE. */
    const option_id *resumable;
    /* Says how a training's options explain its outcome. NULL: normed and normalized. */
    train_habits (*habits)(const weft_options *options);
    const char *data;    /* what it trains on, in messages and as the kind of data in run.json: a "table" */
    const char *field;   /* what its networks are on, in messages: "graphs" */
    const char *rows;    /* what a row of that is: "vertices" */
    const char *accepts; /* what its data are on disk, for "is not a ..." */
    const char *split_cure,
        *test_cure;         /* what gives data the validation or test split that they lack, in messages; open may
                                         * set others in the workload */
    const char *label_cure; /* where scores without labels are none; NULL: they are left out */
    fact_column share[WORKLOAD_SHARES]; /* what the figures of `shares` are in summary.json; no key: no such figure */
    sync_shards shards;                 /* what a rank's share of the rows is */
    const choice_kind *choice;          /* what build chooses by measuring; NULL: nothing */

    size_t self_bytes; /* of work->self, which begins as zeros */
    /* Finds or generates the data that --data names, and checks them. folder: a folder for generated data, which open
     * makes if it is needed. Collective. */
    weft_status (*open)(workload *work, const char *folder);
    /* A run is resumed: options that are open take the values of its checkpoint. ck: on rank 0; NULL on the others, and
     * where training begins anew. After decide. Collective. NULL: nothing is open. */
    weft_status (*adopt)(const app_context *context, const checkpoint *ck);
    /* [out] rows: [work->classes] labelled rows of each class in all of the data. Not collective. NULL: no classes. */
    void (*count_classes)(const workload *work, int64_t *rows);
    /* The data's classes become those of a trained model: class_of [work->classes] is the model's class of each, or -1,
     * which is no label. names: [classes] of the model, or NULL. 0 classes: the data have no labels from now on. After
     * open. Not collective, the same on every rank. */
    weft_status (*relabel)(workload *work, const int32_t *class_of, int64_t classes, char *const *names);
    /* Gives values to the options that say "auto", and logs the reasons. training: false for a trained model, whose
     * inputs stay as they are unless its makers or the user say otherwise. Collective. */
    weft_status (*decide)(workload *work, weft_options *options, bool training);
    /* Returns false if messages take so little of an epoch that measuring links costs more than it saves. After decide.
     * Not collective, the same on every rank. NULL: links are measured. */
    bool (*needs_links)(const workload *work);
    /*
     * Finds this rank's share of the data and the memory that it needs. outputs: number of answers of a trained model,
     * used where the data have no labels or no split; targets are then unlabelled. 0: labels are needed. WEFT_ERR_DATA:
     * the data lack something, with the command that adds it; WEFT_ERR_RESOURCE: the job cannot fit. Collective.
     */
    weft_status (*plan)(workload *work, const char *folder, int64_t outputs);
    /* Makes the model, its input and its targets. Collective. */
    weft_status (*build)(workload *work);
    /* [out] by_class[targets->outputs]: adds this rank's share of the labelled training rows of each class. After
     * build. NULL: the targets hold all training rows themselves. */
    void (*count_training)(const workload *work, int64_t *by_class);
    /*
     * Trains the model that build made (train/fit/fit.h has runs, best epoch and checkpoints for any kind). Afterwards
     * work->model->forward answers for the batches of work->source; the model needs no parameters and no backward, and
     * the source no training steps. [out] result: result->run is the caller's. WEFT_STOPPED: ended early after a
     * checkpoint. Collective. NULL: trained by gradients, by the loop of train/loop/loop.h.
     */
    weft_status (*fit)(workload *work, const fit_services *services, train_result *result);
    /* With fit: work->start may be a model of this kind, which fit goes on from. */
    bool continues;
    /*
     * The trained model's file: its name in a run folder. A checkpoint's folder has one of the same name, with the best
     * model so far (fit_method.save). NULL: weights.npz, the parameters of `model`; then save and load are NULL, too.
     *
     * save: writes the file at `path`, which is rank 0's (NULL on the others). Collective.
     *
     * load: after build, the model becomes that of the file's bytes, which every rank has. path: for messages.
     * WEFT_ERR_DATA: the bytes are damaged, or of other inputs or outputs. Not collective.
     */
    const char *model_file;
    const char *const *model_head; /* first bytes of such files under other names, ends with NULL; NULL: none */
    weft_status (*save)(const workload *work, const char *path);
    weft_status (*load)(workload *work, const char *path, const void *bytes, size_t count);
    /* Improves a trained model's answers by the training labels; asked: options of the command. logits: [rows of this
     * rank, outputs], in and out. Only where work->smooths was set before plan. Collective. NULL: this kind cannot. */
    weft_status (*smooth)(workload *work, const weft_options *asked, float *logits);
    /* The flag that asks for smooth, and the options that act only with it, up to OPTION_NONE. NULL without smooth. */
    const option_id *smooth_options;
    /*
     * What each input adds to the answers of one step of the evaluation. [out] contribution: [rows, outputs, inputs +
     * 1] in the kind's memory, valid until the next call; the last number of an answer is its value without any input,
     * and the sum of the inputs + 1 numbers is what forward answers, to rounding. With how->pairs it is [rows, outputs,
     * inputs + 1, inputs + 1]: equal to its transpose, rows add up to the numbers above. [out] rows: of the step, on
     * this rank. WEFT_ERR_UNSUPPORTED: the kind does not explain in this way. Collective. NULL: this kind cannot.
     */
    weft_status (*explain)(const workload *work, const explain_request *how, int64_t step, const float **contribution,
                           int64_t *rows);
    /* Returns what an input is called. After plan, on every rank. NULL, as input_values, without explain. */
    const char *(*input_name)(const workload *work, int64_t input);
    /* [out] value: [held.count] of an input, NaN where it is missing. After build. Not collective. */
    weft_status (*input_values)(const workload *work, int64_t input, float *value);
    /* [out] word: [held.count, width] words of 4 bytes, the caller's (weft_free). After load. Not collective. NULL:
     * answers of this kind have no such numbers. */
    weft_status (*detail)(const workload *work, workload_detail which, void **word, int64_t *width);
    /* The rows in front of the last layer, of the last forward pass of an evaluation. [out] held: which rows these are;
     * row: [held->count, width], the caller's (weft_free). WEFT_ERR_UNSUPPORTED: this model has none. Not collective,
     * the same on every rank. NULL: models of this kind have none. */
    weft_status (*embeddings)(const workload *work, held_rows *held, float **row, int64_t *width);
    /* Drawings of the trained model for summary.json: elements of an array (docs/formats.md). Rank 0. NULL: none. */
    void (*drawings)(const workload *work, json_writer *json);
    /*
     * A column of the data by its name or number, whatever the model reads of it. [out] column: of this rank's rows,
     * for workload_column_free, also after a failure. WEFT_ERR_USAGE: there is no such column, or it holds neither
     * numbers nor words. After build. Not collective, the same on every rank. NULL: such data have no columns.
     */
    weft_status (*column)(const workload *work, const char *flag, const char *name, workload_column *column);
    /* The data's files are not read any more; generated data are removed. Collective. NULL: the data stay as they are
     * until the end. */
    weft_status (*release)(workload *work);
    /* Frees what decide, plan and build made; the data stay open, and so does whatever depends on them alone. Only
     * where work->keeps. Not collective. NULL: this kind opens its data for one fit. */
    void (*unbuild)(workload *work);
    /* Returns true if another value of this option asks for other data than those that are open, beside the options of
     * general and data. NULL: there are no others. */
    bool (*needs_other_data)(const workload *work, option_id id);
    /* Like release, for a job that ends, as far as this rank can alone; also after release. NULL: the kind leaves
     * nothing on the disk. */
    void (*abandon)(workload *work);
    void (*end)(workload *work); /* frees what work->self holds; after abandon */

    /* Rows about the data for run.json and `weft info`, also after release; name, hash and names of classes are told by
     * others. FACT_CLASSES says how many classes the labels have, 0 if they are tasks; numbers have no such row. */
    void (*data_facts)(const workload *work, fact_list *list);
    /* Returns what a row that is answered for is called, e.g. its file, or NULL if rows have no names. On rank 0, of a
     * job that is `trained`, for at most WORKLOAD_NAMED_ROWS rows unless shows_answers. NULL: rows have no names. */
    const char *(*row_name)(const workload *work, int64_t row);
    /* Returns where such a row comes from, on rank 0. NULL: rows have no files. */
    item_origin (*row_origin)(const workload *work, int64_t row);
    const char *row_title[2]; /* headings of such names, and of numbers in their place */
    bool shows_answers;       /* weft predict prints the answers where there are no scores */
    bool answers_some;        /* plan and build heed work->only, after unbuild too */
    /* Groups of rows about this rank's share and the model, which --dry-run prints, a line a group. After plan. */
    void (*plan_facts)(const workload *work, fact_list *list);
    /* Lines of the plan that rows cannot say, printed behind them. After plan. NULL: none. */
    void (*print_plan)(const workload *work, FILE *out);
    /* Figures of all ranks for epoch_facts, after each epoch. Collective. NULL: these are of one rank. */
    weft_status (*gather_epoch)(const workload *work);
    /* Groups of figures of this rank since the last call, or those that gather_epoch made: each is an object in a line
     * of metrics.jsonl. NULL: none. */
    void (*epoch_facts)(const workload *work, fact_list *list);
    /* Figures of all ranks for result_facts and closing_facts, once training is over. Collective. NULL: none. */
    weft_status (*gather_figures)(const workload *work);
    /* Groups of rows for summary.json. After plan. NULL: none. */
    void (*result_facts)(const workload *work, fact_list *list);
    /* Groups of the result that are also printed below the closing table. NULL: none. */
    void (*closing_facts)(const workload *work, fact_list *list);

    /* ---- models on disk (app/workload/saved_model.h); one rank ---- */

    /* From the weights themselves, or the file of the kind's own (model->own): layers, inputs, outputs, and options by
     * saved_model_show. given: options of the command, which say what files and weights do not. WEFT_ERR_DATA: no model
     * of this kind, or description and weights contradict each other. */
    weft_status (*recognise)(saved_model *model, const weft_options *given);
    /* What means and deviations beside the weights show of the scaling of inputs, by saved_model_show. NULL:
     * nothing. */
    weft_status (*show_moments)(saved_model *model);
    /* The weights under the names of another program; what those names tell, by saved_model_show. given: as above.
     * WEFT_ERR_DATA: a tensor that no model of this kind has. NULL, like write_named: models of this kind are no
     * weights. */
    weft_status (*read_named)(safetensors_file *file, saved_model *model, const weft_options *given);
    /* A recognised model under those names. texts: [count] metadata. */
    weft_status (*write_named)(const saved_model *model, const char *path, const safetensors_text *texts, int count);
    /* A recognised model as a file of ONNX. NULL: models of this kind have no such form. */
    weft_status (*write_onnx)(const saved_model *model, const char *path);
    /* The rows that a recognised model keeps beside its weights, as arrays of NumPy: FILE.npy, and their keys in
     * `keys`. NULL: it keeps none. */
    weft_status (*write_rows)(const saved_model *model, const char *path, const char *keys);

    /* ---- commands; one process, unless a command is parallel ---- */

    const workload_command *commands; /* of this kind alone; NULL: none */
    const workload_bench *benches;    /* NULL: none */
    /* Print what the subject is, if the kind knows it. [out] known. Kinds are asked in the order of workload_list.
     * NULL: the kind knows nothing. */
    weft_status (*info)(const workload_subject *subject, bool *known);
    /* Name number i that info knows, for messages; NULL behind the last. NULL: there are none. */
    const char *(*info_name)(int i);
    /* Make what `weft convert` was asked for, if the kind takes its input. [out] takes. Kinds are asked in the order of
     * workload_list; one whose readers judge any file stands last. NULL: the kind converts nothing. */
    weft_status (*convert)(const weft_options *options, bool *takes);
    void (*print_formats)(FILE *out); /* lines of `weft convert --help=formats`; NULL: none */
    /* Library number i that the kind's rooms call: its name, and its version in text; NULL behind the last. NULL:
     * none. */
    const char *(*library)(int i, char *text, size_t bytes);
} workload_ops;

/* One job's workload. */
struct workload {
    const workload_ops *ops;
    const app_context *context; /* the job's */
    void *self;                 /* the kind's own */
    uint64_t process;           /* resident bytes before anything was loaded */

    char name[WORKLOAD_NAME_BYTES], hash[33]; /* of the data */
    bool generated;                           /* the data were made for this job alone */
    bool smooths;                             /* the caller will call ops->smooth; set before plan */
    bool keeps;                               /* the data stay open over several fits; set before open */
    /* The model whose weights a training starts from, or NULL. Options of ops->inputs that are "auto" follow it. */
    const saved_model *start;
    /* [in] Before build: the moments of a trained model; without any, those of the data at hand are measured. [out]
     * After build: the moments in use, as long as the workload lives; or NULL. */
    const input_moments *moments;
    const char *const *path; /* [paths] --data at several places, of a trained model; NULL: one place */
    int paths;
    /* [known_count] parts of frames that the rows are, where the caller knows them, the same on every rank; set before
     * open, only where ops->row_origin. NULL: the kind finds its rows. */
    const item_origin *known;
    int64_t known_count;
    bool trained;                    /* the caller has a trained model; set before open */
    const saved_model *answers_with; /* that model; NULL in training. Set before open */
    bool answers;                    /* its answers are wanted, not its scores alone; set before open */
    bool scores_training;            /* answers for training rows are wanted, too; set before open */
    /* [only_count] ids of the rows that are answered for, ascending, the same on every rank; NULL: all rows of an
     * evaluation. Set before plan, and only where ops->answers_some; the caller's, and unchanged while it is built. */
    const int64_t *only;
    int64_t only_count;
    const char *rows;                   /* what is answered for, as in ops, of these data and options */
    bool labelled;                      /* the data say what to answer with */
    int64_t classes;                    /* of labels that are classes; 0: labels are tasks, or there are none */
    const char *const *class_name;      /* [classes] of the data; NULL: no names */
    const char *split_cure, *test_cure; /* as in ops, of these data */
    const char *guess_cure; /* what else makes scores no better than a guess; after gather_figures; "": nothing */
    int64_t malformed;      /* rows of the data that were left out */

    int64_t shares[WORKLOAD_SHARES]; /* of this rank, as ops->share says */
    double balance;                  /* work of the rank that has most / mean; 1: even */
    double replication;              /* ranks that hold a row, on average; 0 of one rank */
    const char
        *divider;   /* the method that divides the rows among the ranks, by --partition; NULL: there is no choice */
    bool elsewhere; /* the plan is for another number of ranks: nothing can be built after it */
    memory_plan memory;
    second_outlook second;   /* bytes and price of --precondition */
    int64_t inputs, outputs; /* of the model: figures a row */

    train_model *model;           /* without parameters where ops->fit trains it */
    train_source source;          /* batches of epochs and evaluations */
    double ceiling[TRAIN_SPLITS]; /* ROC-AUC that no model exceeds on the labelled rows of each split; 0: unknown */
    const train_targets *targets; /* right answers of this rank's rows of an evaluation, in the order of its batches */
    held_rows held;               /* global ids of those rows */
    /* What build chose by measuring on this rank, as a code that another build takes (ops->choice); "": nothing. */
    char choice[CHOICE_CODE_BYTES];
};

/* NULL at the end. A program defines its own: weft's is app/train/workload_list.c. The last kind is the one of jobs
 * that no kind claims. */
extern const workload_ops *const workload_list[];
/* The kind of a job with these options: of the kinds that claim the model most surely, the one that claims the data
 * most surely. Of several that are equally sure the last is given, and workload_begin refuses the job if they are
 * certain. */
const workload_ops *workload_of(const weft_options *options);

/* WEFT_ERR_NOINPUT: no kind knows the data, with what each accepts. */
weft_status workload_refuse_data(const char *data);

/* Nothing is open. context lives longer than the workload. End with workload_end, also after a failure. WEFT_ERR_USAGE:
 * the data belong to another kind than the model, or two kinds are certain that the data are theirs. */
weft_status workload_begin(const workload_ops *ops, const app_context *context, workload *work);
/* context->options become a copy of what they were without "auto"; the copy is the context's, which is the workload's
 * own. Collective. */
weft_status workload_decide(workload *work, app_context *context, bool training);
/* The data's files are given back, if the kind has such. Collective. */
weft_status workload_release(workload *work);
/* Whatever the job came to, nothing generated stays on the disk. Harmless before workload_begin, and twice. */
void workload_abandon(workload *work);
/* The same, and frees what it holds. */
void workload_end(workload *work);
/* The name of a row that is answered for, or NULL; see row_name. */
const char *workload_row_name(const workload *work, int64_t row);
/* Where it comes from, zeros where that is not known; see row_origin. */
item_origin workload_row_origin(const workload *work, int64_t row);
void workload_column_free(workload_column *column);
/* Numbers that the model was trained to have; 0 before build, and of a model without parameters. */
int64_t workload_parameters(const workload *work);
