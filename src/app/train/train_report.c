/* app/train/train_report.c: see app/train/train_report.h. */
#include "app/train/train_report.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/train/advice.h"
#include "app/train/train_ranks.h"
#include "app/workload/workload_facts.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/number.h"
#include "io/json.h"
#include "train/activities.h"

enum { FIRST_EPOCHS_SHOWN = 5 };
#define LINE_EVERY_S 10.0

/* ---- lines ---- */

static double percent(double score)
{
    return number_plain(100.0 * score);
}

/* A score: shares in percent with `unit` behind them, errors as they are; NaN: `none`. */
typedef struct score_words {
    char text[24];
} score_words;

static score_words say_score(const train_report *report, double score, const char *unit, const char *none)
{
    score_words words = {""};
    if (isnan(score)) {
        snprintf(words.text, sizeof words.text, "%s", none);
    } else if (metric_kind_of(report->services->metric)->error) {
        snprintf(words.text, sizeof words.text, "%.6g", score);
    } else {
        snprintf(words.text, sizeof words.text, "%.2f%s", percent(score), unit);
    }
    return words;
}

static const char *best_word(const train_report *report)
{
    return metric_kind_of(report->services->metric)->error ? "Lowest" : "Highest";
}

double train_report_epochs_left(const fit_services *services, int run, double done)
{
    return (double)services->epochs * (services->runs - run) - done;
}

/* Until the end of the last run; `part` of an epoch beyond those reported is done, `done` epochs of the run in all. */
static clock_words time_left(const train_report *report, int run, double done, double part)
{
    assert(run < report->services->runs);
    double elapsed = clock_seconds() - report->started;
    double here = (double)report->done + part - report->begun;
    return clock_say(elapsed / here * train_report_epochs_left(report->services, run, done));
}

static void log_epoch(const train_report *report, const train_epoch *epoch)
{
    char scores[128] = "";
    if (epoch->evaluated) {
        const bool trains = report->work->targets->counted[TRAIN_SPLIT_TRAIN] > 0; /* rows that are not evaluated */
        snprintf(scores, sizeof scores, ", Train: %s, Valid: %s Test: %s",
                 say_score(report, epoch->score[0], "%", trains ? "not scored" : "none").text,
                 say_score(report, epoch->score[1], "%", "none").text,
                 say_score(report, epoch->score[2], "%", "none").text);
    }
    log_info("Run: %02d, Epoch: %02lld, Loss: %.4f%s, %.3f s/epoch, ETA %s", epoch->run + 1, (long long)epoch->epoch,
             epoch->loss, scores, epoch->epoch_s, time_left(report, epoch->run, (double)epoch->epoch, 0).text);
}

/* Where an epoch has many steps, and they take long. */
static weft_status on_step(void *self, const train_epoch *epoch)
{
    train_report *report = self;
    double now = clock_seconds();
    if (now - report->last_line >= LINE_EVERY_S) {
        const double part = (double)epoch->step / (double)epoch->steps;
        report->last_line = now;
        log_info("Run: %02d, Epoch: %02lld, Step: %lld/%lld, Loss: %.4f, ETA %s", epoch->run + 1,
                 (long long)epoch->epoch, (long long)epoch->step, (long long)epoch->steps, epoch->loss,
                 time_left(report, epoch->run, (double)(epoch->epoch - 1) + part, part).text);
    }
    return WEFT_OK;
}

/* Rank 0: the folder first, as its metrics.jsonl ends with the checkpoint then. */
static weft_status begin_files(train_report *report, const train_progress *from)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(run_dir_begin(report->dir, report->context, from));
    WEFT_TRY(file_path(path, "%s/metrics.jsonl", report->dir->path));
    if (from != NULL) {
        train_outcome_recall(&report->outcome, path);
    }
    train_events_begin(report->events, report->context, report->dir->path, from);
    return WEFT_OK;
}

/* Everything that can refuse the job has been asked: from here on the run folder changes. */
static weft_status on_start(void *self, const train_progress *from)
{
    train_report *report = self;
    const app_context *context = report->context;
    weft_status status = WEFT_OK;
    if (from != NULL) {
        report->begun = from->step > 0 ? (double)from->step / (double)from->steps : 0.0;
        log_info("going on after %s%s", progress_say(from).text, from->run_ended ? ", the end of the run" : "");
    }
    if (comm_rank(context->comm) == 0) {
        status = begin_files(report, from);
    }
    return comm_agree(context->comm, status);
}

static void add_precondition(train_report *report, const train_epoch *epoch)
{
    const precondition_figures before = report->preconditioned;
    if (!epoch->preconditioned) {
        return;
    }
    report->preconditioned = epoch->precondition;
    report->preconditioned_s += epoch->epoch_s;
    for (size_t i = 0; i < sizeof before.seconds / sizeof *before.seconds; ++i) {
        report->preconditioned.seconds[i] += before.seconds[i];
        report->preconditioned.work[i] += before.work[i];
    }
}

static weft_status on_epoch(void *self, const train_epoch *epoch)
{
    train_report *report = self;
    placement_refresh(&report->context->placement);
    report->done += 1;
    report->measured += 1;
    report->exposed_s += epoch->comm_exposed_s;
    report->epoch_bytes += (double)epoch->comm_bytes;
    report->figures = epoch->figures;
    add_precondition(report, epoch);
    report->staleness = epoch->staleness > report->staleness ? epoch->staleness : report->staleness;
    bool first_time = report->done == 1 || (epoch->evaluated && !report->evaluated);
    report->evaluated = report->evaluated || epoch->evaluated;
    if (!first_time) {
        report->late_allocations += epoch->allocations;
    }
    if (report->work->ops->gather_epoch != NULL) {
        WEFT_TRY(report->work->ops->gather_epoch(report->work));
    }
    if (comm_rank(report->context->comm) != 0) {
        return WEFT_OK;
    }
    double now = clock_seconds();
    if (report->lines < FIRST_EPOCHS_SHOWN || now - report->last_line >= LINE_EVERY_S) {
        report->last_line = now;
        report->lines += 1;
        log_epoch(report, epoch);
    }
    outcome_watch(&report->outcome.losses, epoch->run, epoch->epoch, epoch->loss);
    activity_begin(ACTIVITY_WRITE);
    weft_status status = run_dir_write_epoch(report->dir, epoch);
    train_events_epoch(report->events, epoch);
    activity_end(ACTIVITY_WRITE);
    return status;
}

static weft_status on_run(void *self, int run, const train_run *result)
{
    const train_report *report = self;
    log_info("Run %02d: %s Valid: %s, Final Test: %s (epoch %lld of %lld, %s)", run + 1, best_word(report),
             say_score(report, result->best_valid, "", "none").text,
             say_score(report, result->final_test, "", "none").text, (long long)result->best_epoch,
             (long long)result->epochs, report->metric);
    return WEFT_OK;
}

train_observer train_report_observer(train_report *report, const train_observer *next)
{
    return (train_observer){
        .self = report, .on_start = on_start, .on_step = on_step, .on_epoch = on_epoch, .on_run = on_run, .next = next};
}

/* ---- the closing table ---- */

static comm_stats lane_of_job(const train_report *report, int lane)
{
    const comm_stats now = comm_lane_stats(report->context->comm, (comm_lane)lane);
    const comm_stats *before = &report->lanes_before[lane];
    return (comm_stats){.bytes_sent = now.bytes_sent - before->bytes_sent,
                        .messages_sent = now.messages_sent - before->messages_sent,
                        .shared_bytes = now.shared_bytes - before->shared_bytes,
                        .wait_seconds = now.wait_seconds - before->wait_seconds,
                        .busy_seconds = now.busy_seconds - before->busy_seconds};
}

static train_figures figures_of_rank(const train_report *report)
{
    train_figures f = {0};
    activity_table_seconds(f.seconds);
    for (int a = 0; a < activity_table_rows(); ++a) {
        f.wall += f.seconds[a];
    }
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        const comm_stats stats = lane_of_job(report, lane);
        f.lane_bytes[lane] = (double)stats.bytes_sent;
        f.lane_messages[lane] = (double)stats.messages_sent;
        f.lane_busy[lane] = stats.busy_seconds;
        f.lane_waited[lane] = stats.wait_seconds;
        f.bytes += (double)stats.bytes_sent;
        f.messages += (double)stats.messages_sent;
        f.wait += stats.wait_seconds;
    }
    f.exposed = report->exposed_s;
    f.compute = train_compute_seconds(f.seconds);
    f.epoch_bytes = report->epoch_bytes;
    memcpy(f.second_work, report->preconditioned.work, sizeof f.second_work);
    f.group_bytes = (double)report->figures.bytes_sent;
    f.group_messages = (double)report->figures.messages_sent;
    f.bytes += f.group_bytes;
    f.messages += f.group_messages;
    const job_figures process = job_account_read(report->account);
    f.cpu = process.cpu_seconds;
    f.peak_rss = (double)process.peak_rss_bytes;
    f.allocated_peak = (double)process.allocated_peak_bytes;
    return f;
}

static weft_status spread_over_ranks(const train_report *report, const train_figures *mine, train_spread *s)
{
    weft_comm *comm = report->context->comm;
    const int64_t count = (int64_t)(sizeof(train_figures) / sizeof(double));
    s->min = s->avg = s->max = *mine;
    WEFT_TRY(comm_allreduce(comm, &s->min, count, WEFT_DTYPE_F64, COMM_MIN));
    WEFT_TRY(comm_allreduce(comm, &s->max, count, WEFT_DTYPE_F64, COMM_MAX));
    WEFT_TRY(comm_allreduce(comm, &s->avg, count, WEFT_DTYPE_F64, COMM_SUM));
    double *avg = (double *)&s->avg;
    for (int64_t i = 0; i < count; ++i) {
        avg[i] /= comm_size(comm);
    }
    return WEFT_OK;
}

/* A kind that is not trained by gradients has none to synchronise. */
static const char *sync_word(const train_report *report, sync_mode mode)
{
    return report->work->ops->fit != NULL ? "none" : sync_mode_name(mode);
}

static void print_communication(const train_report *report, const train_result *result, const train_spread *s)
{
    const sync_figures *f = &result->figures;
    if (comm_size(report->context->comm) == 1) {
        return;
    }
    printf("\n%-28s %9s %9s %9s\n", "sent per rank", "MB avg", "MB max", "messages");
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        if (s->max.lane_bytes[lane] > 0) {
            printf("%-28s %9.3f %9.3f %9.0f\n", comm_lane_name((comm_lane)lane), s->avg.lane_bytes[lane] / 1e6,
                   s->max.lane_bytes[lane] / 1e6, s->avg.lane_messages[lane]);
        }
    }
    if (s->max.group_messages > 0) {
        printf("%-28s %9.3f %9.3f %9.0f\n", "groups of the sync mode", s->avg.group_bytes / 1e6,
               s->max.group_bytes / 1e6, s->avg.group_messages);
    }
    printf("sync %s: communication exposed for %.3f s (avg), %.3f s (max)\n", sync_word(report, result->sync),
           s->avg.exposed, s->max.exposed);
    if (result->sync != SYNC_ALLREDUCE) {
        printf("density %.4g, distance between replicas %.3g, gap %.3g steps, staleness at most %lld\n", f->density,
               f->distance, f->gap, (long long)f->staleness);
    }
    if (report->staleness > 0) {
        printf("halo: rows of other ranks were up to %lld epochs old in training\n", (long long)report->staleness);
    }
}

static void print_table(const train_report *report, const train_spread *s)
{
    int ranks = comm_size(report->context->comm), threads = report->context->placement.threads;
    printf("\n%-28s %9s %9s %9s %7s\n", "activity (seconds)", "min", "avg", "max", "%");
    for (int a = 0; a < activity_table_rows(); ++a) {
        if (s->max.seconds[a] > 0) {
            printf("%-28s %9.3f %9.3f %9.3f %6.1f%%\n", activity_table()[a].activity->text, s->min.seconds[a],
                   s->avg.seconds[a], s->max.seconds[a], 100.0 * s->avg.seconds[a] / s->avg.wall);
        }
    }
    printf("%-28s %9.3f %9.3f %9.3f %6.1f%%\n", "total", s->min.wall, s->avg.wall, s->max.wall, 100.0);
    printf("\n%.0f%% CPU use with %d rank%s x %d thread%s\n", 100.0 * s->avg.cpu / s->avg.wall, ranks,
           ranks > 1 ? "s" : "", threads, threads > 1 ? "s" : "");
    printf("sent per rank: %.1f MB, %.0f messages (avg), %.1f MB (max); waited %.2f s (avg)\n", s->avg.bytes / 1e6,
           s->avg.messages, s->max.bytes / 1e6, s->avg.wait);
    printf("peak memory per rank: %.1f MB (avg), %.1f MB (max)\n", s->avg.peak_rss / 1e6, s->max.peak_rss / 1e6);
}

/* split: of TRAIN_SPLITS. */
static void print_score(const train_report *report, const char *name, double mean, double std, int split)
{
    static const char *const words[TRAIN_SPLITS] = {"training", "validation", "test"};
    const bool labelled = report->outcome.counted[split] > 0;
    if (isnan(mean) && labelled && report->outcome.metric == TRAIN_METRIC_ROCAUC) {
        printf("%s: no task has both labels in the %s split\n", name, words[split]);
    } else if (isnan(mean)) {
        printf("%s: no %s in the %s split\n", name, report->work->rows, words[split]);
    } else {
        printf("%s: %s ± %s\n", name, say_score(report, mean, "", "").text, say_score(report, std, "", "").text);
    }
}

/* What the best scores are of the best that there is. */
static void print_ceiling(const train_report *report, const train_result *result)
{
    const double *ceiling = report->work->ceiling;
    const int split = ceiling[2] > 0.0 ? 2 : 1; /* NaN where a split has not both labels */
    const double score = split == 2 ? result->test_mean : result->valid_mean;
    if (!(ceiling[split] > 0.0)) {
        return;
    }
    printf("      Ceiling: %.2f (ROC-AUC of what made the rows of the %s split)", percent(ceiling[split]),
           split == 2 ? "test" : "validation");
    if (report->outcome.metric == TRAIN_METRIC_ROCAUC && !isnan(score)) {
        printf(", of which %.2f%% are reached", percent(score / ceiling[split]));
    }
    printf("\n");
}

static void print_result(const train_report *report, const train_result *result)
{
    char best[32];
    printf("All runs (%d), %s:\n", result->runs, report->metric);
    snprintf(best, sizeof best, "%7s Valid", best_word(report));
    print_score(report, best, result->valid_mean, result->valid_std, 1);
    print_score(report, "   Final Test", result->test_mean, result->test_std, 2);
    print_ceiling(report, result);
    train_outcome_print(&report->outcome, report->context->options, result);
    if (result->epochs > result->resumed) {
        printf("epoch: %.4f s median (quartiles %.4f, %.4f; %lld epochs)\n", result->epoch_s_median, result->epoch_s_q1,
               result->epoch_s_q3, (long long)(result->epochs - result->resumed));
    }
}

/* ---- summary.json ---- */

static void write_runs(json_writer *json, const train_result *result)
{
    json_array(json, "run_results");
    for (int r = 0; r < result->runs; ++r) {
        json_object(json, NULL);
        json_int(json, "best_epoch", result->run[r].best_epoch);
        json_real(json, "valid", result->run[r].best_valid);
        json_real(json, "test", result->run[r].final_test);
        json_real(json, "loss", result->run[r].final_loss);
        json_end(json);
    }
    json_end(json);
}

static void write_activities(json_writer *json, const train_spread *s)
{
    json_object(json, "activity_s_avg");
    for (int a = 0; a < activity_table_rows(); ++a) {
        if (s->max.seconds[a] > 0) {
            json_real(json, activity_table()[a].activity->text, s->avg.seconds[a]);
        }
    }
    json_end(json);
}

static void write_communication(json_writer *json, const train_report *report, const train_result *result)
{
    const sync_figures *f = &result->figures;
    const train_spread *s = &report->spread;
    json_text(json, "sync", sync_word(report, result->sync));
    json_bool(json, "gradient_tracking", result->tracking == SYNC_TRACKING_ON);
    json_bool(json, "second_moments_averaged", result->tracking == SYNC_TRACKING_MOMENTS);
    json_real(json, "comm_exposed_s_avg", s->avg.exposed);
    json_real(json, "comm_exposed_s_max", s->max.exposed);
    json_real(json, "sync_density", f->density);
    json_real(json, "sync_distance", f->distance);
    json_real(json, "sync_gap", f->gap);
    json_int(json, "sync_staleness", f->staleness);
    json_int(json, "halo_staleness", report->staleness);
    json_real(json, "group_sent_bytes_avg", s->avg.group_bytes);
    json_real(json, "group_sent_messages_avg", s->avg.group_messages);
    json_object(json, "lanes");
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        json_object(json, comm_lane_name((comm_lane)lane));
        json_real(json, "sent_bytes_avg", s->avg.lane_bytes[lane]);
        json_real(json, "sent_messages_avg", s->avg.lane_messages[lane]);
        json_real(json, "busy_s_avg", s->avg.lane_busy[lane]);
        json_real(json, "waited_s_avg", s->avg.lane_waited[lane]);
        json_end(json);
    }
    json_end(json);
}

/* Rank 0's figures of second order, and the own work of all ranks. */
static void write_precondition(json_writer *json, const train_report *report)
{
    const precondition_figures *p = &report->preconditioned;
    if (report->preconditioned_s > 0.0) {
        json_object(json, "second_order");
        json_real(json, "clip", p->clip);
        json_real(json, "damping", p->damping);
        json_int(json, "refused", p->refused);
        json_real(json, "factors_s", p->seconds[0]);
        json_real(json, "inverses_s", p->seconds[1]);
        json_real(json, "steps_s", p->seconds[2]);
        json_real(json, "share", (p->seconds[0] + p->seconds[1] + p->seconds[2]) / report->preconditioned_s);
        for (int i = 0; i < 3; ++i) {
            static const char *const names[3][2] = {{"factors_cpu_s_avg", "factors_cpu_s_max"},
                                                    {"inverses_cpu_s_avg", "inverses_cpu_s_max"},
                                                    {"steps_cpu_s_avg", "steps_cpu_s_max"}};
            json_real(json, names[i][0], report->spread.avg.second_work[i]);
            json_real(json, names[i][1], report->spread.max.second_work[i]);
        }
        json_end(json);
    }
}

/* Of two classes. */
static void write_test_auc(json_writer *json, const score_table *table)
{
    if (table->indexes.made && table->split == SCORE_TEST) {
        json_real(json, "test_auc", table->indexes.area.value);
    }
}

static void write_ceiling(json_writer *json, const double ceiling[TRAIN_SPLITS])
{
    static const char *const names[TRAIN_SPLITS] = {"train_ceiling", "valid_ceiling", "test_ceiling"};
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        if (ceiling[s] > 0.0) {
            json_real(json, names[s], ceiling[s]);
        }
    }
}

static weft_status write_summary(const train_report *report, const train_result *result, const train_rank *ranks)
{
    const workload *work = report->work;
    const train_spread *s = &report->spread;
    char path[FILE_PATH_MAX];
    file_writer writer;
    WEFT_TRY(file_path(path, "%s/summary.json", report->dir->path));
    WEFT_TRY(file_writer_open(path, &writer));
    json_writer json = json_begin(writer.stream, true);
    json_object(&json, NULL);
    json_int(&json, "schema", RUN_FILE_SCHEMA);
    json_int(&json, "runs", result->runs);
    json_text(&json, "metric", metric_kind_of(report->services->metric)->word);
    json_real(&json, "test_mean", result->test_mean);
    json_real(&json, "test_std", result->test_std);
    write_test_auc(&json, &report->outcome.table);
    json_real(&json, "valid_mean", result->valid_mean);
    json_real(&json, "valid_std", result->valid_std);
    write_ceiling(&json, work->ceiling);
    json_real(&json, "epoch_s_median", result->epoch_s_median);
    json_real(&json, "epoch_s_q1", result->epoch_s_q1);
    json_real(&json, "epoch_s_q3", result->epoch_s_q3);
    json_int(&json, "epochs", result->epochs);
    json_int(&json, "peak_rss_bytes", (int64_t)s->max.peak_rss);
    json_int(&json, "predicted_peak_bytes", (int64_t)work->memory.peak);
    json_int(&json, "allocated_peak_bytes", (int64_t)s->max.allocated_peak);
    json_int(&json, "allocations_after_first_epoch", (int64_t)report->late_allocations);
    json_int(&json, "ranks", comm_size(report->context->comm));
    json_int(&json, "threads_per_rank", report->context->placement.threads);
    json_real(&json, "replica_drift", result->drift);
    if (result->scaling.scale > 0.0) {
        json_real(&json, "loss_scale", result->scaling.scale);
        json_int(&json, "skipped_steps", result->scaling.skipped);
    }
    json_int(&json, "parameters", workload_parameters(work));
    json_real(&json, "replication_factor", work->replication);
    json_real(&json, "sent_bytes_avg", s->avg.bytes);
    json_real(&json, "cpu_use", s->avg.cpu / s->avg.wall);
    json_real(&json, "seconds", s->max.wall);
    json_real(&json, "startup_s", report->started - report->job_started);
    write_communication(&json, report, result);
    write_activities(&json, s);
    write_precondition(&json, report);
    write_runs(&json, result);
    train_outcome_write(&json, &report->outcome, report->context->options, result);
    score_table_write_indexes(&json, &report->outcome.table);
    train_advice_write(&json, report);
    workload_write_result(work, &json);
    if (work->ops->drawings != NULL) {
        json_array(&json, "drawings");
        work->ops->drawings(work, &json);
        json_end(&json);
    }
    train_ranks_write(&json, work->ops, ranks, comm_size(report->context->comm), report->measured);
    json_end(&json);
    json_line_end(&json);
    return file_writer_commit(&writer);
}

weft_status train_report_close(train_report *report, const train_result *result)
{
    const train_figures mine = figures_of_rank(report);
    train_rank *ranks = NULL;
    WEFT_TRY(spread_over_ranks(report, &mine, &report->spread));
    WEFT_TRY(train_load_gather(&report->load, report->context));
    if (report->work->ops->gather_figures != NULL) {
        WEFT_TRY(report->work->ops->gather_figures(report->work));
    }
    WEFT_TRY(train_ranks_gather(report, &mine, &ranks));
    weft_status status = WEFT_OK;
    if (comm_rank(report->context->comm) == 0) {
        status = write_summary(report, result, ranks);
    }
    weft_free(ranks);
    return comm_agree(report->context->comm, status);
}

void train_report_print(const train_report *report, const train_result *result)
{
    print_result(report, result);
    print_table(report, &report->spread);
    print_communication(report, result, &report->spread);
    workload_print_closing(report->work, stdout);
    train_advice_print(report);
    printf("run folder: %s\n", escape_say(report->dir->path).text);
    fflush(stdout);
}
