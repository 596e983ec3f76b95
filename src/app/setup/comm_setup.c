/* app/setup/comm_setup.c: see app/setup/comm_setup.h. */
#include "app/setup/comm_setup.h"

#include <assert.h>
#include <stdio.h>

#include "app/setup/load_watch.h"
#include "base/log.h"
#include "comm/core/layout.h"
#include "comm/model/calibrate.h"
#include "comm/model/model_file.h"

/* Rank 0's, shared with all before anything depends on it. */
typedef struct model_source {
    comm_model model;
    int32_t found; /* the file holds a model of these nodes */
    int32_t keep;  /* a measured model is written to path */
    int32_t named; /* path is the user's */
    char path[FILE_PATH_MAX];
} model_source;

/* Where the model lies and whether it is there. Rank 0; nothing here ends a job. */
static void look_for_model(const weft_options *options, const model_key *key, calibrate_when when, model_source *source)
{
    const char *named = option_text(options, OPT_COMM_MODEL);
    weft_status status =
        named[0] != '\0' ? file_path(source->path, "%s", named) : model_default_path(key, source->path);
    source->keep = status == WEFT_OK;
    source->named = named[0] != '\0';
    if (status != WEFT_OK) {
        log_info("%s", weft_error_message());
        return;
    }
    if (when == CALIBRATE_ALWAYS) {
        return;
    }
    status = model_read(source->path, key, &source->model);
    source->found = status == WEFT_OK;
    if (status == WEFT_ERR_NOINPUT) {
        return;
    }
    if (status != WEFT_OK) {
        source->keep = !source->named;
        log_warn("communication model not used: %s; %s", weft_error_message(),
                 when == CALIBRATE_NEVER ? "fixed constants instead"
                 : source->keep          ? "measuring again"
                                         : "measuring for this job; --calibrate always replaces the file");
    }
}

static void keep_model(const model_source *source, const model_key *key)
{
    if (source->keep && model_write(source->path, key, &source->model) != WEFT_OK) {
        log_info("communication model not kept: %s", weft_error_message());
    }
}

static void describe(const app_context *context, const model_source *source)
{
    const comm_layout *layout = comm_get_layout(context->comm);
    const comm_model *m = &source->model;
    char network[96] = "";
    char node[96] = "";
    if (layout->nodes > 1) {
        snprintf(network, sizeof network, "network: %d nodes, %.3g us, %.3g GB/s", layout->nodes,
                 1e6 * m->inter.latency, 1e-9 / m->inter.seconds_per_byte);
    }
    if (layout->most > 1) {
        snprintf(node, sizeof node, "%snode: %.3g us, %.3g GB/s", layout->nodes > 1 ? "; " : "", 1e6 * m->intra.latency,
                 1e-9 / m->intra.seconds_per_byte);
    }
    if (source->found) {
        log_info("%s%s (from %s)", network, node, source->path);
    } else {
        log_info("%s%s (%s)", network, node, m->measured ? "measured" : "fixed constants");
    }
}

/* The nodes are those of the file, but is their network, and do its choices still win? */
static weft_status check_model(weft_comm *comm, model_source *source)
{
    const double most = 4.0; /* less may be noise, and still tells modes apart */
    double ratio = 1.0;
    bool hold = true;
    WEFT_TRY(comm_check_model(comm, &source->model, &ratio));
    WEFT_TRY(comm_check_timings(comm, &source->model, &hold));
    if (ratio > most || ratio < 1.0 / most) {
        log_warn("communication model not used: messages take %.3g times what %s says; measuring again", ratio,
                 source->path);
        source->found = 0;
    } else if (!hold) {
        log_warn(
            "communication model not used: another all-reduce is faster here than the one that %s says is fastest; "
            "measuring again",
            source->path);
        source->found = 0;
    }
    source->keep = source->found ? source->keep : !source->named;
    return WEFT_OK;
}

/* Measured anew: others of the rank that others hindered most. */
static weft_status measure_model(app_context *context, comm_model *model)
{
    load_watch watch;
    load_watch_begin(&watch);
    const weft_status status = comm_calibrate(context->comm, model);
    double others = load_watch_end(&watch, &context->placement);
    WEFT_TRY(status);
    WEFT_TRY(comm_allreduce(context->comm, &others, 1, WEFT_DTYPE_F64, COMM_MAX));
    model->others = others;
    return WEFT_OK;
}

/* A file that the user named is the user's. Rank 0 looks at its own CPUs while the others wait. */
static weft_status drop_loaded(app_context *context, model_source *source)
{
    if (comm_rank(context->comm) == 0 && !source->named && load_was_theirs(source->model.others, &context->placement)) {
        log_info("communication model was measured while others used %.1f CPUs: measured again", source->model.others);
        source->found = 0;
    }
    return comm_bcast(context->comm, 0, &source->found, (int64_t)sizeof source->found);
}

static weft_status find_model(app_context *context, const model_key *key, calibrate_when when, model_source *source)
{
    weft_comm *comm = context->comm;
    bool first = comm_rank(comm) == 0;
    source->model = comm_model_default();
    if (first) {
        look_for_model(context->options, key, when, source);
        weft_error_clear();
    }
    WEFT_TRY(comm_bcast(comm, 0, source, (int64_t)sizeof *source));
    assert(when != CALIBRATE_ALWAYS || !source->found); /* then no file was read */
    if (source->found && when == CALIBRATE_AUTO) {
        WEFT_TRY(drop_loaded(context, source));
    }
    if (source->found && when == CALIBRATE_AUTO) {
        WEFT_TRY(check_model(comm, source));
    }
    if (!source->found && when != CALIBRATE_NEVER) {
        WEFT_TRY(measure_model(context, &source->model));
        if (first) {
            keep_model(source, key);
            weft_error_clear();
        }
    }
    return WEFT_OK;
}

void comm_setup_extend_patience(const app_context *context, double seconds)
{
    comm_set_stall_timeout(context->comm, option_real(context->options, OPT_STALL_TIMEOUT) + seconds);
}

weft_status comm_setup_begin(app_context *context)
{
    weft_comm *comm = context->comm;
    const int ranks_per_node = (int)option_int(context->options, OPT_RANKS_PER_NODE);
    comm_setup_extend_patience(context, 0.0);
    return comm_size(comm) > 1 && ranks_per_node > 0 ? comm_imitate_nodes(comm, ranks_per_node) : WEFT_OK;
}

weft_status comm_setup(app_context *context, bool measure)
{
    weft_comm *comm = context->comm;
    const weft_options *options = context->options;
    calibrate_when when = measure ? option_choice(options, OPT_CALIBRATE) : CALIBRATE_NEVER;
    model_source source = {.found = 0};
    model_key key;
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    char described[sizeof key.machine];
    app_machine_text(context, described, sizeof described);
    weft_status status = model_key_of(comm, described, &key);
    status = status == WEFT_OK ? find_model(context, &key, when, &source) : status;
    model_key_free(&key);
    WEFT_TRY(status);
    comm_set_model(comm, &source.model);
    describe(context, &source);
    return WEFT_OK;
}
