/* app/predict/answers.c: see app/predict/answers.h. */
#include "app/predict/answers.h"

#include <assert.h>
#include <string.h>

#include "app/predict/contributions.h"
#include "app/predict/predictions.h"
#include "app/predict/run_threshold.h"
#include "base/log.h"

weft_status answers_make(const predictor *p, answers *a)
{
    const workload *work = p->work;
    const app_context *context = work->context;
    const train_targets *targets = work->targets;
    weft_tensor view;
    index_threshold threshold;
    *a = (answers){.of = p};
    WEFT_TRY(comm_agree(context->comm, threshold_asked(p->asked, p->model->path, &threshold)));
    threshold_warn_idle(p->asked, targets);
    weft_status status = predictor_answers(p, &view, &a->logits, &a->own);
    if (status == WEFT_OK) {
        status = score_table_make(context, targets, predictions_metric(p->options, targets->loss),
                                  option_choice(p->asked, OPT_SCORED_SPLIT), &threshold, &view, a->logits, &a->table);
    }
    if (status == WEFT_OK) {
        status = subgroups_make(work, option_text(p->asked, OPT_BY), a->logits, score_split_judged(a->table.split),
                                &a->table.indexes.threshold, &a->table.by);
    }
    tensor_destroy(&view);
    WEFT_TRY(status);
    a->table.model = p->model->path;
    a->table.data = work->name;
    a->table.kind = work->ops->data;
    a->table.rows = work->rows;
    a->table.hash = work->hash;
    a->table.names = &p->model->classes;
    memcpy(a->table.ceiling, work->ceiling, sizeof a->table.ceiling);
    a->table.class_name = a->table.classes > 0 ? work->class_name : NULL;
    if (!a->table.labelled) {
        log_info("%s has no labels%s: predictions only", work->name, work->labelled ? " with a split" : "");
    }
    return WEFT_OK;
}

/* ---- files ---- */

static weft_status write_table(const answers *a, const char *folder, const char *name, bool confusion)
{
    char path[FILE_PATH_MAX];
    file_writer writer;
    WEFT_TRY(file_path(path, "%s/%s", folder, name));
    WEFT_TRY(file_writer_open(path, &writer));
    if (confusion) {
        score_table_print_confusion(writer.stream, &a->table);
    } else {
        score_table_print(writer.stream, &a->table, TABLE_JSON);
    }
    return file_writer_commit(&writer);
}

static weft_status write_tables(const answers *a, const char *folder)
{
    WEFT_TRY(write_table(a, folder, "scores.json", false));
    return a->table.classes > 0 ? write_table(a, folder, "confusion.csv", true) : WEFT_OK;
}

/* Names of the rows; without names their numbers, in *numbers. */
static weft_status name_rows(const workload *work, const char **names, char **numbers)
{
    enum { NUMBER_BYTES = 21 };
    const int64_t rows = work->held.total;
    const bool named = workload_row_name(work, 0) != NULL;
    if (!named) {
        WEFT_TRY(WEFT_NEW(numbers, rows * NUMBER_BYTES, WEFT_MEM_WORKSPACE));
    }
    for (int64_t i = 0; i < rows; ++i) {
        char *number = named ? NULL : *numbers + i * NUMBER_BYTES;
        if (!named) {
            snprintf(number, NUMBER_BYTES, "%lld", (long long)i);
        }
        names[i] = named ? workload_row_name(work, i) : number;
    }
    return WEFT_OK;
}

static weft_status print_lines(answers *a, const char *folder, const char *path, const char *const *names)
{
    const workload *work = a->of->work;
    char probabilities[FILE_PATH_MAX];
    file_writer writer;
    WEFT_TRY(file_path(probabilities, "%s/probabilities.npy", folder));
    const answer_table_desc desc = {
        .model = a->of->model->path,
        .data = work->name,
        .kind = work->ops->data,
        .title = work->ops->row_title[a->row_numbers != NULL],
        .malformed = work->malformed,
        .probabilities = probabilities,
        .row_name = names,
        .class_name = a->of->model->classes.count == work->outputs ? a->of->model->classes.text : NULL,
        .top = (int)option_int(a->of->asked, OPT_TOP)};
    WEFT_TRY(answer_table_make(&desc, &a->lines));
    WEFT_TRY(file_writer_open(path, &writer));
    table_grid_print(writer.stream, &a->lines.head, &a->lines.lines, NULL, TABLE_CSV);
    return file_writer_commit(&writer);
}

/* Rank 0's, where rows or classes have names. */
static weft_status write_lines(answers *a, const char *folder)
{
    const workload *work = a->of->work;
    const int64_t rows = work->held.total;
    char path[FILE_PATH_MAX];
    const char **names = NULL;
    const bool classes = a->of->model->classes.text != NULL && a->of->model->classes.count == work->outputs;
    if (rows == 0 || (workload_row_name(work, 0) == NULL && !classes)) {
        return WEFT_OK;
    }
    if (rows > WORKLOAD_NAMED_ROWS && !work->ops->shows_answers) {
        log_info("no answers.csv: %lld %s are more than %d; predictions.npy has them", (long long)rows, work->rows,
                 WORKLOAD_NAMED_ROWS);
        return WEFT_OK;
    }
    WEFT_TRY(file_path(path, "%s/answers.csv", folder));
    weft_status status = WEFT_NEW(&names, rows, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? name_rows(work, names, &a->row_numbers) : status;
    status = status == WEFT_OK ? print_lines(a, folder, path, names) : status;
    weft_free(names);
    return status;
}

static weft_status write_contributions(const answers *a, const char *folder)
{
    contributions c;
    weft_status status = contributions_make(a->of, &(explain_request){.pairs = false}, &c);
    status = status == WEFT_OK ? contributions_write(&c, folder) : status;
    contributions_free(&c);
    return status;
}

/* What else --margins and --leaf-numbers ask for. */
static const struct {
    option_id flag;
    workload_detail which;
    const char *file;
    char kind; /* of npy_header */
} details[] = {{OPT_MARGINS, DETAIL_MARGINS, "margins.npy", 'f'}, {OPT_ROW_LEAVES, DETAIL_LEAVES, "leaves.npy", 'i'}};

static weft_status write_details(const answers *a, const char *folder)
{
    const workload *work = a->of->work;
    for (size_t i = 0; i < sizeof details / sizeof *details; ++i) {
        int64_t shape[2] = {0, 0};
        void *word = NULL;
        if (!option_flag(a->of->asked, details[i].flag)) {
            continue;
        }
        WEFT_CHECK(work->ops->detail != NULL, WEFT_ERR_UNSUPPORTED, "--%s: models on %s have none: leave it out",
                   option_row_in(a->of->asked, details[i].flag)->name, work->ops->field);
        weft_status status =
            comm_agree(work->context->comm, work->ops->detail(work, details[i].which, &word, &shape[1]));
        status = status == WEFT_OK ? predictions_write_array(work->context, folder, details[i].file, details[i].kind,
                                                             &work->held, word, 2, shape)
                                   : status;
        weft_free(word);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}

static weft_status write_embeddings(const answers *a, const char *folder)
{
    const workload *work = a->of->work;
    held_rows held;
    float *row = NULL;
    int64_t shape[2] = {0, 0};
    WEFT_CHECK(work->ops->embeddings != NULL, WEFT_ERR_UNSUPPORTED,
               "--embeddings: models on %s give none: leave it out", work->ops->field);
    weft_status status = comm_agree(work->context->comm, work->ops->embeddings(work, &held, &row, &shape[1]));
    status = status == WEFT_OK
                 ? predictions_write_array(work->context, folder, "embeddings.npy", 'f', &held, row, 2, shape)
                 : status;
    weft_free(row);
    return status;
}

weft_status answers_write(answers *a, const char *folder)
{
    const workload *work = a->of->work;
    const app_context *context = work->context;
    const bool first = comm_rank(context->comm) == 0;
    assert(a->logits != NULL || work->held.count == 0);
    WEFT_TRY(predictions_write(context, folder, &work->held, work->targets, a->logits));
    WEFT_TRY(predictions_write_probabilities(context, folder, &work->held, work->targets, a->logits));
    if (option_flag(a->of->asked, OPT_CONTRIBUTIONS)) {
        WEFT_TRY(write_contributions(a, folder));
    }
    WEFT_TRY(write_details(a, folder));
    WEFT_TRY(option_flag(a->of->asked, OPT_EMBEDDINGS) ? write_embeddings(a, folder) : WEFT_OK);
    weft_status status = first ? write_tables(a, folder) : WEFT_OK;
    status = first && status == WEFT_OK ? write_lines(a, folder) : status;
    return comm_agree(context->comm, status);
}

/* ---- on paper ---- */

bool answers_print(FILE *out, const answers *a, table_format format)
{
    const bool lines = !a->table.labelled && a->lines.lines.rows > 0 && a->of->work->ops->shows_answers;
    if (lines) {
        table_grid_print(out, &a->lines.head, &a->lines.lines, NULL, format);
    } else {
        score_table_print(out, &a->table, format);
    }
    return a->table.labelled || lines;
}

void answers_free(answers *a)
{
    score_table_destroy(&a->table);
    answer_table_destroy(&a->lines);
    WEFT_FREE_ALL(a->row_numbers, a->own);
    *a = (answers){.of = NULL};
}
