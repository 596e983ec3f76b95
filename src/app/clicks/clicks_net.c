/* app/clicks/clicks_net.c: networks of the user's own for tables of clicks: --model FILE.net. Networks on images have
 * files of that name, too, so data tell which of the two a file is for. */
#include <string.h>
#include <sys/stat.h>

#include "app/clicks/clicks_job.h"
#include "base/file.h"

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text), bytes = strlen(end);
    return length > bytes && strcmp(text + length - bytes, end) == 0;
}

/* A store of a table, a file that is neither picture nor archive, or rows that are made. */
static bool is_table(const char *data)
{
    static const char *const others[] = {".tar", ".tar.gz", ".tar.xz", ".tgz", ".jpg", ".jpeg", ".png"};
    struct stat facts;
    if (click_spec_is(data) || table_is_store(data)) {
        return true;
    }
    bool other = false;
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        other = other || ends_in(data, others[i]);
    }
    return !other && stat(data, &facts) == 0 && S_ISREG(facts.st_mode);
}

bool clicks_has_net(const weft_options *options)
{
    return ends_in(option_text(options, OPT_MODEL), ".net") &&
           (option_text(options, OPT_CLICK_LAYERS)[0] != '\0' || is_table(option_text(options, OPT_DATA)));
}

weft_status clicks_decide_net(weft_comm *comm, weft_options *options)
{
    char *line = NULL;
    weft_status status = WEFT_OK;
    if (!clicks_has_net(options) || option_text(options, OPT_CLICK_LAYERS)[0] != '\0') {
        return WEFT_OK;
    }
    if (comm_rank(comm) == 0) {
        status = click_net_read_line(option_text(options, OPT_MODEL), &line);
    }
    if (status == WEFT_ERR_NOINPUT && option_flag(options, OPT_RESUME)) {
        weft_error_clear(); /* a run that goes on has its layers */
        status = WEFT_OK;
    }
    status = comm_agree(comm, status);
    status = status == WEFT_OK ? app_decide_shared(comm, options, OPT_CLICK_LAYERS, line) : status;
    weft_free(line);
    return status;
}

weft_status clicks_open_net(const workload *work, click_net *net)
{
    const clicks_job *job = work->self;
    const weft_options *o = work->context->options;
    const click_net_data data = {
        .width = (int)option_int(o, OPT_CLICK_WIDTH), .field = &job->rows.field_name, .number = &job->rows.number_name};
    click_net_free(net);
    WEFT_TRY(click_net_parse_line(option_text(o, OPT_CLICK_LAYERS), option_text(o, OPT_MODEL), net));
    return click_net_fit(net, &data);
}
