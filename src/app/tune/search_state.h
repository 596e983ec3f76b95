/* app/tune/search_state.h: what the files of app/search share. */
#pragma once

#include "app/train/train_job.h"
#include "app/tune/search_link.h"
#include "app/tune/search_objective.h"

enum { SEARCH_TEAMS = 31 };

typedef struct search_state {
    const weft_options *options; /* of weft tune */
    app_context world;
    search_space space;
    search_objectives objectives;
    option_id searched[SPACE_DIMENSIONS_MAX + 1]; /* the dimensions, up to OPTION_NONE */
    bool population;                              /* --scheduler pbt */
    char folder[FILE_PATH_MAX];
    search_desk desk; /* rank 0 */
    link_server *server;
    weft_comm *team[SEARCH_TEAMS]; /* [teams] this rank's seat, and the 2, 4, 8, ... seats that train longer parts */
    int teams, seats;
    weft_comm *group; /* the one of them that trains now */
    search_link link; /* the seat's first rank */
    double deadline;  /* clock_seconds(), of --max-hours; 0: none */
    double told_at;   /* the table of trials */

    /* ---- the job whose data are open ---- */
    train_job *job;          /* NULL: none */
    weft_options *job_began; /* with these options; it reads them as long as it lives */
    app_context context;
    train_observer observer;
    int opened, fits;    /* by groups that this rank leads: data opened, and parts of trainings */
    int refused;         /* trials in a row whose options were refused; less than 0: one has trained */
    double open_seconds; /* of these openings */
    double busy_seconds; /* of all parts that this rank trained */
    double idle;         /* share of the ranks' time without a part; rank 0, at the end */

    /* ---- the part of a trial that trains now ---- */
    desk_order order;
    int64_t told;     /* epochs that are over */
    uint32_t lower;   /* of the last report: see desk_news */
    train_epoch last; /* epoch of this part; all 0: there was none */
    double epoch_s;   /* of training, over the epochs of this part */
    int64_t epochs;   /* of them */
    bool last_step;   /* the step that comes is the epoch's last */
    bool stops;       /* the group's first rank: the desk wants no more of it */
    bool interrupted; /* a signal or the deadline asked to stop */
} search_state;

/* The first rank of a seat asks for work, that of the group that trains reports, and rank 0 of all writes results. */
static inline bool search_asks(const search_state *s)
{
    return comm_rank(s->team[0]) == 0;
}

static inline bool search_leads(const search_state *s)
{
    return comm_rank(s->group) == 0;
}

static inline bool search_speaks(const search_state *s)
{
    return comm_rank(s->world.comm) == 0;
}

/* Sets s->observer. s does not move any more. */
void search_listen(search_state *s);
/* Trains the part of a trial that s->order says. [out] failed: why the trial will never go on, DESK_WORDS bytes, ""
 * where nothing failed. Any other failure is one of the search. Collective. (app/tune/search_trial.c) */
weft_status search_train(search_state *s, const double *values, char failed[DESK_WORDS]);
/* Gives the open data back. Collective. */
void search_close_job(search_state *s);
enum { SEARCH_NO_FOLDER = -1 };
/* [out] options: of weft train, for a configuration; option_destroy. trial: whose folder is written, or
 * SEARCH_NO_FOLDER. */
weft_status search_trial_options(const search_state *s, int trial, uint64_t seed, const double *values,
                                 weft_options **options);

/* Rank 0 (app/tune/search_print.c): a table of the leading trials on the log, every 30 s; files of the result; what
 * stdout has. */
void search_tell(search_state *s, bool now);
/* A score as it was measured; the epoch that a scheduler's resource is; "paused"; "lr 0.01, hidden 32". */
double search_measured(const search_state *s, double score);
/* An objective of a trial as it was measured, where the first one was best; NaN: no report. */
double search_figure(const search_state *s, int trial, int k);
int64_t search_epoch_of(const search_state *s, int64_t resource);
const char *search_state_name(int state);
int search_count_state(const search_state *s, sched_state state); /* trials in this state */
void search_say_values(const search_state *s, int trial, char *text, size_t bytes);
/* ",0.01,,32": cells of a row, empty where a dimension is not active. values [dimensions] */
void search_write_values(const search_state *s, const double *values, FILE *out);
typedef struct search_ranked {
    int trial;
    double best;
} search_ranked;
/* [out] order: [trials] those with a score, the best first; returns how many. */
int search_rank_trials(const search_state *s, search_ranked *order);
/* search.json, for weft report (app/tune/search_page.c); front: app/tune/search_front.h. */
typedef struct search_front search_front;
weft_status search_write_page(search_state *s, const search_front *front);
void search_begin_drawing(json_writer *json, const char *kind, const char *title, const char *x, const char *y);
void search_end_drawing(json_writer *json);
/* All options of a trial as a config file; the folder of its run is the reader's to choose. */
weft_status search_write_options(const search_state *s, int trial, const char *path);
/* optuna.log (app/tune/search_optuna.c). */
weft_status search_write_optuna(const search_state *s);
weft_status search_write(search_state *s); /* and prints */
