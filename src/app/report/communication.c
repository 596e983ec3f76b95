/* app/report/communication.c: what the ranks sent each other, on which lane, and how long they stood still for it. */
#include <math.h>
#include <string.h>

#include "app/report/sections.h"
#include "base/alloc.h"

static weft_status lane_row(report_text *out, const report_run *run, const json_value *sent, const char *lane,
                            int ranks)
{
    double *bytes = NULL;
    WEFT_TRY(report_rank_column(sent, lane, ranks, &bytes));
    report_spread s = report_spread_of(bytes, ranks);
    const json_value *lanes = json_find(run->summary, "lanes");
    double messages = strcmp(lane, "groups") == 0 ? report_number(run->summary, "group_sent_messages_avg")
                                                  : report_number(json_find(lanes, lane), "sent_messages_avg");
    text_cell(out, "%s", lane);
    text_cell(out, "%s", quantity_bytes(s.min).text);
    text_cell(out, "%s", quantity_bytes(s.mean).text);
    text_cell(out, "%s", quantity_bytes(s.max).text);
    text_cell(out, "%s", quantity_count(round(messages)).text);
    weft_free(bytes);
    return WEFT_OK;
}

static weft_status table_of_lanes(report_text *out, const report_run *run, int ranks)
{
    const json_value *sent = json_find(report_per_rank(run), "sent_bytes");
    if (sent == NULL || sent->kind != JSON_OBJECT || sent->child == NULL) {
        return WEFT_OK;
    }
    text_table_begin(out, "lrrrr", "sent per rank, whole job|least|mean|most|messages, mean");
    for (const json_value *lane = sent->child; lane != NULL; lane = lane->next) {
        WEFT_TRY(lane_row(out, run, sent, lane->key, ranks));
    }
    text_table_end(out);
    return WEFT_OK;
}

static weft_status say_waiting(report_text *out, const report_run *run, const report_figures *f, int ranks)
{
    double *exposed = NULL, *shared = NULL;
    const json_value *per_rank = report_per_rank(run);
    weft_status status = report_rank_column(per_rank, "comm_exposed_s", ranks, &exposed);
    WEFT_TRY_GOTO(status, status, done);
    WEFT_TRY_GOTO(report_rank_column(per_rank, "shared_bytes", ranks, &shared), status, done);
    report_spread e = report_spread_of(exposed, ranks), s = report_spread_of(shared, ranks);
    if (f->job_epochs > 0 && isfinite(e.mean)) {
        text_paragraph(out, "",
                       "Exposed communication, for which a rank stands still, evaluation included: %s of an "
                       "epoch (mean over the ranks), %s (most); %s in the whole job (mean).",
                       quantity_seconds(e.mean / f->job_epochs).text, quantity_seconds(e.max / f->job_epochs).text,
                       quantity_seconds(e.mean).text);
    }
    if (s.max > 0) {
        text_paragraph(out, "",
                       "Through memory that the ranks of a node share, in place of messages: %s per rank "
                       "(mean), %s (most).",
                       quantity_bytes(s.mean).text, quantity_bytes(s.max).text);
    }
done:
    weft_free(exposed);
    weft_free(shared);
    return status;
}

static void say_sync(report_text *out, const report_run *run)
{
    const char *sync = report_string(run->summary, "sync", report_option(run, "sync"));
    if (strcmp(sync, "allreduce") == 0) {
        text_paragraph(out, "", "Replicas are kept together by allreduce, which is exact.");
    } else if (sync[0] != '\0') {
        text_paragraph(out, "",
                       "Replicas are kept together by %s: density %s, distance between replicas %s, gap %s "
                       "steps, staleness at most %s.",
                       sync, quantity_real(report_number(run->summary, "sync_density")).text,
                       quantity_real(report_number(run->summary, "sync_distance")).text,
                       quantity_real(report_number(run->summary, "sync_gap")).text,
                       quantity_count(report_number(run->summary, "sync_staleness")).text);
    }
}

weft_status section_communication(report_text *out, const report_run *run, const report_figures *f)
{
    int ranks = report_rank_count(run);
    if (!(f->ranks > 1)) {
        return WEFT_OK;
    }
    text_heading(out, out->level, "Communication");
    say_sync(out, run);
    if (ranks == 0) {
        text_paragraph(out, "muted", "Bytes by lane and waiting time are written when a job ends well.");
        return WEFT_OK;
    }
    WEFT_TRY(say_waiting(out, run, f, ranks));
    return table_of_lanes(out, run, ranks);
}
