/* app/tune/search_job.c: see app/tune/search_job.h. Trials are in search_trial.c, what rank 0 decides in
 * search_desk.c, results in search_print.c. */
#include "app/tune/search_job.h"

#include <math.h>
#include <string.h>

#include "app/setup/signals.h"
#include "app/tune/search_state.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text/append.h"
#include "io/lock.h"
#include "machine/launcher.h"
#include "tune/space/space_read.h"

#define DEFAULT_FOLDER "weft-tune"

enum { BASE_BYTES = 1 << 15, REFUSED_MOST = 3 /* before any trial has trained: it is not the configuration */ };

/* ---- the space --------------------------------------------------------------------------------------------------- */

/* A trial would have one value of two, or the search and its trials would have different ones. */
static weft_status check_once(const search_state *s, const weft_options *options, const space_dimension *d,
                              option_id id)
{
    static const option_id of_search[] = {OPT_EPOCHS, OPT_EVAL_EVERY, OPT_RUNS,  OPT_SEED,    OPT_RUN_DIR, OPT_RESUME,
                                          OPT_CONFIG, OPT_MAX_HOURS,  OPT_FORCE, OPT_DRY_RUN, OPT_QUIET,   OPTION_NONE};
    WEFT_CHECK(!option_id_listed(of_search, id), WEFT_ERR_USAGE,
               "--%s is of the search, one for all trials: leave it out of [space]", d->name);
    WEFT_CHECK(!option_is_set(s->options, id), WEFT_ERR_USAGE,
               "--%s is searched and has the value %s as well: take it out of [space], or out of the options", d->name,
               option_value_text(s->options, id));
    for (const space_dimension *other = s->space.dimension; other < d; ++other) {
        option_id of_other;
        WEFT_TRY(option_lookup(options, other->name, &of_other));
        WEFT_CHECK(of_other != id, WEFT_ERR_USAGE, "[space]: %s and %s are one option: keep one of them", other->name,
                   d->name);
    }
    return WEFT_OK;
}

/* Every dimension is an option of weft train that nothing else sets, and its ends are values of it. */
static weft_status check_dimension(search_state *s, const space_dimension *d)
{
    const option_command *train = NULL;
    weft_options *options = NULL;
    char text[SPACE_TEXT_MAX];
    option_id id;
    WEFT_TRY(option_command_find(option_catalog_of(s->options), "train", &train));
    WEFT_TRY(option_create(train, &options));
    weft_status status = option_lookup(options, d->name, &id);
    status = status == WEFT_OK ? check_once(s, options, d, id) : status;
    s->searched[d - s->space.dimension] = status == WEFT_OK ? id : OPTION_NONE;
    status = status == WEFT_OK ? option_assign(options, d->name, space_value_text(d, d->low, text)) : status;
    status = status == WEFT_OK ? option_assign(options, d->name, space_value_text(d, d->high, text)) : status;
    for (int i = 0; i < d->choices && status == WEFT_OK; ++i) {
        status = option_assign(options, d->name, d->choice[i]);
    }
    option_destroy(options);
    return status == WEFT_OK ? status : weft_fail_context(status, "%s: ", option_argument(s->options, 0));
}

static weft_status read_file(const weft_options *options, search_space *space, char **rest, size_t *bytes)
{
    file_map map;
    WEFT_CHECK(option_argument_count(options) == 1, WEFT_ERR_USAGE,
               "name the space: weft tune SPACE.toml --data DATA, or recorded trainings by " FLAG_TABLE);
    const char *path = option_argument(options, 0);
    WEFT_TRY(file_map_open(path, &map));
    const weft_status status = space_read(path, (const char *)map.data, map.size, space, rest);
    *bytes = map.size;
    file_map_close(&map);
    WEFT_TRY(status);
    WEFT_CHECK(space->count > 0, WEFT_ERR_USAGE, "%s: [space] has no dimension: nothing is to be searched", path);
    return WEFT_OK;
}

/* Options of the file give way to those that were given. [out] all: option_destroy. */
static weft_status add_options(const weft_options *options, const char *text, size_t bytes, weft_options **all)
{
    weft_options *of_file = NULL;
    WEFT_TRY(option_parse_config(option_command_of(options), option_argument(options, 0), text, bytes, &of_file));
    weft_status status = option_copy(options, all);
    for (int i = 0; i < option_count(of_file) && status == WEFT_OK; ++i) {
        const option_id id = option_at(of_file, i);
        if (option_is_set(of_file, id) && !option_is_set(options, id)) {
            status = option_assign(*all, option_row_in(of_file, id)->name, option_value_text(of_file, id));
        }
    }
    option_destroy(of_file);
    return status;
}

/* Rank 0, before MPI starts. */
static weft_status read_options(const weft_options *options, weft_options **all)
{
    search_space space = {0};
    char *rest = NULL;
    size_t bytes = 0;
    weft_status status = read_file(options, &space, &rest, &bytes);
    status = status == WEFT_OK ? add_options(options, rest, bytes, all) : status;
    space_free(&space);
    weft_free(rest);
    return status;
}

static weft_status read_space(search_state *s)
{
    char *rest = NULL;
    size_t bytes = 0;
    WEFT_TRY(read_file(s->options, &s->space, &rest, &bytes));
    weft_free(rest);
    for (int i = 0; i < s->space.count; ++i) {
        WEFT_TRY(check_dimension(s, &s->space.dimension[i]));
    }
    s->searched[s->space.count] = OPTION_NONE;
    s->population = option_choice(s->options, OPT_SCHEDULER) == SCHED_PBT;
    return WEFT_OK;
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

/* All options on which scores depend, as they were given. */
static weft_status name_base(const search_state *s, char *text)
{
    static const option_id aside[] = {OPT_RUN_DIR, OPT_RESUME,  OPT_MAX_HOURS, OPT_FORCE,  OPT_QUIET,
                                      OPT_VERBOSE, OPT_THREADS, OPT_PIN,       OPTION_NONE};
    const option_command *train = NULL;
    WEFT_TRY(option_command_find(option_catalog_of(s->options), "train", &train));
    text[0] = '\0';
    for (int i = 0; i < option_count(s->options); ++i) {
        const option_id id = option_at(s->options, i);
        if (option_is_set(s->options, id) && option_applies(train, id) && !option_id_listed(aside, id)) {
            text_append(text, BASE_BYTES, "%s=%s\n", option_row_in(s->options, id)->name,
                        option_value_text(s->options, id));
        }
    }
    return WEFT_OK;
}

/* [out] text: the file's, with a NUL behind; weft_free. */
static weft_status read_text(const char *path, char **text)
{
    file_map map;
    WEFT_TRY(file_map_open(path, &map));
    const weft_status status = WEFT_NEW_ZERO(text, map.size + 1, WEFT_MEM_GENERAL);
    if (status == WEFT_OK) {
        memcpy(*text, map.data, map.size);
    }
    file_map_close(&map);
    return status;
}

/* Rank 0. */
static weft_status open_desk(search_state *s)
{
    char path[FILE_PATH_MAX], *base = NULL, *text = NULL;
    const bool resume = option_flag(s->options, OPT_RESUME);
    WEFT_TRY(file_path(path, "%s/trials.jsonl", s->folder));
    WEFT_CHECK(resume || !file_exists(path), WEFT_ERR_USAGE,
               "%s: has a search already: --resume goes on with it, or name another folder by --run-dir", s->folder);
    WEFT_TRY(folder_make(s->folder));
    WEFT_TRY(WEFT_NEW(&base, BASE_BYTES, WEFT_MEM_GENERAL));
    weft_status status = name_base(s, base);
    status = status == WEFT_OK ? read_text(option_argument(s->options, 0), &text) : status;
    const desk_subject subject = {.base = base, .text = text};
    status = status == WEFT_OK
                 ? desk_open(s->options, s->objectives.count, &s->space, s->folder, &subject, resume, &s->desk)
                 : status;
    WEFT_FREE_ALL(base, text);
    return status;
}

/* Parts of a training are what has ranks of its own. */
static weft_status check_elastic(const weft_options *o)
{
    const sched_kind kind = option_choice(o, OPT_SCHEDULER);
    const bool parts = kind == SCHED_ASHA || kind == SCHED_PASHA || kind == SCHED_HYPERBAND;
    WEFT_CHECK(parts || !option_flag(o, OPT_ELASTIC), WEFT_ERR_USAGE,
               FLAG_ELASTIC " is for trials that pause and go on, and " FLAG_SCHEDULER
                            " %s trains each in one go: leave "
                            "it out, or take " FLAG_SCHEDULER " asha",
               option_text(o, OPT_SCHEDULER));
    return WEFT_OK;
}

static weft_status check_objectives(const search_state *s)
{
    const weft_options *o = s->options;
    WEFT_CHECK(!option_flag(o, OPT_ELASTIC) || !objectives_take_time(&s->objectives), WEFT_ERR_USAGE,
               FLAG_OBJECTIVES
               ": epoch_s does not compare between trials of different numbers of ranks: leave it or " FLAG_ELASTIC
               " out");
    if (s->objectives.count > 1 && option_choice(o, OPT_SCHEDULER) != SCHED_KIND_FIFO && search_speaks(s)) {
        log_info("trials go on by '%s' alone, and the front is of those trained to the end: " FLAG_SCHEDULER
                 " fifo trains all of them",
                 objective_name(&s->objectives, 0));
    }
    return WEFT_OK;
}

static weft_status begin(search_state *s)
{
    const char *folder = option_text(s->options, OPT_RUN_DIR);
    const double hours = option_real(s->options, OPT_MAX_HOURS);
    WEFT_TRY(file_path(s->folder, "%s", folder[0] != '\0' ? folder : DEFAULT_FOLDER));
    WEFT_CHECK(option_int(s->options, OPT_RUNS) == 1 || option_choice(s->options, OPT_SCHEDULER) == SCHED_KIND_FIFO,
               WEFT_ERR_USAGE,
               FLAG_RUNS " %lld: trains every configuration with so many seeds to the end, and " FLAG_SCHEDULER
                         " %s ends trials one by one: take " FLAG_SCHEDULER " fifo, or leave it out",
               (long long)option_int(s->options, OPT_RUNS), option_text(s->options, OPT_SCHEDULER));
    WEFT_CHECK(!option_flag(s->options, OPT_DRY_RUN), WEFT_ERR_USAGE,
               "--dry-run is for weft train: try one configuration there");
    WEFT_TRY(objectives_parse(option_text(s->options, OPT_OBJECTIVES), &s->objectives));
    WEFT_TRY(check_elastic(s->options));
    WEFT_TRY(check_objectives(s));
    s->deadline = hours > 0.0 ? clock_seconds() + 3600.0 * hours : 0.0;
    weft_status status = read_space(s);
    status = status == WEFT_OK ? desk_check(s->options, &s->space) : status;
    return comm_agree(s->world.comm, status);
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

/* The seat's order, and the configuration. leaves: see counter_next. Collective over the seat. */
static weft_status share_order(search_state *s, bool leaves, double *values)
{
    weft_comm *seat = s->team[0];
    WEFT_TRY(comm_agree(seat, search_asks(s) ? link_next(&s->link, leaves, &s->order, values) : WEFT_OK));
    WEFT_TRY(comm_bcast(seat, 0, &s->order, sizeof s->order));
    return s->order.over || s->order.waits ? WEFT_OK
                                           : comm_bcast(seat, 0, values, s->space.count * (int64_t)sizeof *values);
}

static weft_status train_part(search_state *s, const double *values)
{
    char failed[DESK_WORDS];
    const double start = clock_seconds();
    WEFT_TRY(search_train(s, values, failed));
    weft_status status = WEFT_OK;
    if (search_leads(s)) {
        const desk_ended ended = {s->order.trial, comm_size(s->group), clock_seconds() - start};
        status = link_end(&s->link, &ended, failed[0] != '\0' ? failed : NULL);
    }
    if (search_leads(s) && failed[0] != '\0') {
        log_warn("trial %d: %s", s->order.trial, failed);
    }
    WEFT_TRY(comm_agree(s->group, status));
    s->busy_seconds += clock_seconds() - start;
    WEFT_CHECK(s->refused < REFUSED_MOST, WEFT_ERR_USAGE, "the first %d trials are refused, the last one so: %s",
               REFUSED_MOST, failed);
    return WEFT_OK;
}

/* Data are open for one group of ranks, which is another one where several seats train together. */
static weft_status one_part(search_state *s, const double *values)
{
    int team = 0;
    while (1 << team < s->order.seats) {
        ++team;
    }
    if (team > 0) {
        search_close_job(s);
    }
    s->group = s->team[team];
    const weft_status status = train_part(s, values);
    if (team > 0) {
        search_close_job(s);
    }
    s->group = s->team[0];
    return status;
}

/* A seat that is asked to stop leaves with its next question, unless it was given a part meanwhile, for which others
 * count on it. */
static weft_status all_parts(search_state *s, double *values)
{
    int64_t leaves = 0;
    while (true) {
        WEFT_TRY(share_order(s, leaves != 0, values));
        if (s->order.over) {
            return leaves == 0 ? WEFT_OK
                               : weft_fail(WEFT_STOPPED,
                                           "the search was asked to stop; to go on: the same command with --resume");
        }
        WEFT_TRY(s->order.waits ? WEFT_OK : one_part(s, values));
        leaves = s->interrupted || signals_asked(NULL);
        WEFT_TRY(comm_allreduce(s->team[0], &leaves, 1, WEFT_DTYPE_I64, COMM_MAX));
    }
}

/* After a failure: the other seats begin no other part. The failure keeps its message. */
static void leave(search_state *s, double *values)
{
    char why[FILE_PATH_MAX];
    desk_order ignored;
    (void)snprintf(why, sizeof why, "%s", weft_error_message());
    if (search_asks(s)) {
        (void)link_next(&s->link, true, &ignored, values);
    }
    (void)weft_fail(WEFT_ERR_INTERNAL, "%s", why);
}

/* Seats that were done wait here for those that are not. */
static weft_status train_trials(search_state *s)
{
    double *values = NULL;
    link_place place = {.port = 0};
    const int most = 1 << (s->teams - 1);
    weft_status status = WEFT_OK;
    if (search_speaks(s)) {
        status = link_serve(&s->desk, s->seats, most, s->world.nodes <= 1, &s->server, &place);
    }
    WEFT_TRY(comm_agree(s->world.comm, status));
    WEFT_TRY(comm_bcast(s->world.comm, 0, &place, sizeof place));
    const int seat = comm_rank(s->world.comm) / comm_size(s->team[0]);
    status = search_asks(s) ? link_open(s->server, &place, seat, s->space.count, &s->link) : WEFT_OK;
    status = status == WEFT_OK ? WEFT_NEW(&values, s->space.count + 1, WEFT_MEM_GENERAL) : status;
    status = comm_agree(s->world.comm, status);
    const bool begins = status == WEFT_OK;
    status = begins ? all_parts(s, values) : status;
    if (begins && status != WEFT_OK && status != WEFT_STOPPED) {
        leave(s, values);
    }
    weft_free(values);
    search_close_job(s);
    link_close(&s->link);
    return comm_agree(s->world.comm, status);
}

/* A trial that will not go on needs no checkpoint. */
static void drop_checkpoint(const search_state *s, int trial)
{
    char path[FILE_PATH_MAX];
    const sched_state state = sched_trial_at(s->desk.sched, trial)->state;
    if (state == SCHED_RUNNING || state == SCHED_PAUSED || desk_trial_path(s->folder, trial, "ckpt", path) != WEFT_OK) {
        return;
    }
    if (file_exists(path) && folder_remove(path) != WEFT_OK) {
        log_warn("the checkpoint of a trial that is over stays: %s", weft_error_message());
        weft_error_clear();
    }
}

static weft_status write_results(search_state *s)
{
    for (int i = 0; i < s->desk.trials; ++i) {
        drop_checkpoint(s, i);
    }
    return search_write(s);
}

/* began: clock_seconds() when trials began. */
static weft_status add_up(search_state *s, double began)
{
    double sum[4] = {(double)s->opened, (double)s->fits, s->open_seconds, s->busy_seconds};
    const double all = (clock_seconds() - began) * comm_size(s->world.comm);
    WEFT_TRY(comm_allreduce(s->world.comm, sum, 4, WEFT_DTYPE_F64, COMM_SUM));
    s->opened = (int)sum[0];
    s->fits = (int)sum[1];
    s->open_seconds = sum[2];
    s->idle = fmax(1.0 - sum[3] / all, 0.0);
    return WEFT_OK;
}

static weft_status search(search_state *s)
{
    char why[256];
    const double began = clock_seconds();
    const weft_status trained = train_trials(s);
    (void)snprintf(why, sizeof why, "%s", weft_error_message());
    const weft_status served = search_speaks(s) ? link_finish(s->server) : WEFT_OK;
    s->server = NULL;
    WEFT_TRY(trained == WEFT_OK || trained == WEFT_STOPPED ? comm_agree(s->world.comm, served) : trained);
    WEFT_TRY(add_up(s, began));
    WEFT_TRY(comm_agree(s->world.comm, search_speaks(s) ? write_results(s) : WEFT_OK));
    return trained == WEFT_OK ? trained : weft_fail(trained, "%s", why);
}

/* [out] fits: there is a group of so many ranks, and none has parts of nodes. Ranks behind the last whole group train
 * smaller parts. Collective. */
static weft_status check_size(weft_comm *world, int size, bool *fits)
{
    const int ranks = comm_size(world), node = comm_node_size(world);
    const bool even = node == ranks || (size >= node ? size % node == 0 : node % size == 0);
    int64_t all = even && size <= ranks;
    WEFT_TRY(comm_allreduce(world, &all, 1, WEFT_DTYPE_I64, COMM_MIN));
    *fits = all != 0;
    return WEFT_OK;
}

/* The seats, and with --elastic groups of 2, 4, 8, ... of them. */
static weft_status make_teams(search_state *s, int size)
{
    weft_comm *world = s->world.comm;
    const bool elastic = option_flag(s->options, OPT_ELASTIC);
    bool fits = true;
    for (int own = size; fits; own *= 2) {
        WEFT_TRY(comm_split(world, comm_rank(world) / own, comm_rank(world), &s->team[s->teams]));
        s->teams += 1;
        WEFT_TRY(elastic ? check_size(world, 2 * own, &fits) : WEFT_OK);
        fits = fits && elastic;
    }
    WEFT_CHECK(!elastic || s->teams > 1, WEFT_ERR_USAGE,
               FLAG_ELASTIC
               ": of %d ranks in groups of %d no two groups could train together without parts of a node: start more "
               "ranks, an even number on each node, or leave it out",
               comm_size(world), size);
    s->group = s->team[0];
    return WEFT_OK;
}

/* Ranks that follow each other, on one node where a node has as many. */
static weft_status make_groups(search_state *s)
{
    weft_comm *world = s->world.comm;
    const int ranks = comm_size(world), asked = (int)option_int(s->options, OPT_RANKS_PER_TRIAL);
    const int least = option_flag(s->options, OPT_ELASTIC) ? 1 : ranks;
    const int size = asked > 0 ? asked : least, node = comm_node_size(world);
    WEFT_CHECK(ranks % size == 0, WEFT_ERR_USAGE, FLAG_RANKS_PER_TRIAL " %d: %d ranks are no multiple of it", size,
               ranks);
    WEFT_TRY(
        comm_agree(world, size >= node || node % size == 0
                              ? WEFT_OK
                              : weft_fail(WEFT_ERR_USAGE,
                                          FLAG_RANKS_PER_TRIAL " %d: the %d ranks of a node are no multiple of it, and "
                                                               "ranks of one trial should share a node",
                                          size, node)));
    s->seats = ranks / size;
    return make_teams(s, size);
}

/* One program at a time writes into the folder. Rank 0 holds the lock. */
static weft_status run_locked(search_state *s)
{
    char path[FILE_PATH_MAX];
    file_lock *lock = NULL;
    weft_status status = WEFT_OK;
    if (search_speaks(s)) {
        status = folder_make(s->folder);
        status = status == WEFT_OK ? file_path(path, "%s/" SEARCH_LOCK_NAME, s->folder) : status;
        status = status == WEFT_OK ? file_lock_take(path, NULL, &lock) : status;
    }
    WEFT_TRY(comm_agree(s->world.comm, status));
    status = comm_agree(s->world.comm, search_speaks(s) ? open_desk(s) : WEFT_OK);
    status = status == WEFT_OK ? search(s) : status;
    desk_close(&s->desk);
    file_lock_release(lock);
    return status;
}

weft_status search_job_run(const weft_options *options)
{
    search_state s = {.options = options};
    weft_options *all = NULL;
    search_listen(&s);
    signals_open();
    weft_status status = launcher_rank() == 0 ? read_options(options, &all) : WEFT_OK;
    if (status == WEFT_OK) {
        status = app_context_open(all != NULL ? all : options, &s.world);
        s.options = s.world.options;
    }
    status = status == WEFT_OK ? begin(&s) : status;
    status = status == WEFT_OK ? make_groups(&s) : status;
    status = status == WEFT_OK ? run_locked(&s) : status;
    if (status == WEFT_STOPPED) {
        log_warn("%s", weft_error_message());
    } else if (status != WEFT_OK) {
        app_context_fail(&s.world, status);
    }
    space_free(&s.space);
    for (int i = 0; i < s.teams; ++i) {
        comm_destroy(s.team[i]);
    }
    app_context_close(&s.world);
    option_destroy(all);
    return status;
}
