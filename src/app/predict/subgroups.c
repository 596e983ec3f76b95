/* app/predict/subgroups.c: see app/predict/subgroups.h. */
#include "app/predict/subgroups.h"

#include <inttypes.h>
#include <string.h>

#include "app/predict/index_table.h"
#include "base/number.h"
#include "base/text/append.h"

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

typedef struct asked_column {
    char name[NEAREST_WORD_MAX];
    double limit[SUBGROUP_LIMITS_MAX];
    int limits;
} asked_column;

static weft_status add_limit(const char *item, const char *text, const char *end, asked_column *asked)
{
    const char *stop = NULL;
    double value = 0.0;
    WEFT_CHECK(asked->limits < SUBGROUP_LIMITS_MAX, WEFT_ERR_USAGE, FLAG_BY " %s: more than %d limits", item,
               SUBGROUP_LIMITS_MAX);
    WEFT_CHECK(number_scan_real(text, &stop, &value) && stop == end, WEFT_ERR_USAGE,
               FLAG_BY " %s: '%.*s' is no number: limits stand behind ':', as in age:65,75", item, (int)(end - text),
               text);
    WEFT_CHECK(asked->limits == 0 || value > asked->limit[asked->limits - 1], WEFT_ERR_USAGE,
               FLAG_BY " %s: limits must rise", item);
    asked->limit[asked->limits++] = value;
    return WEFT_OK;
}

/* item: NAME or NAME:LIMIT,LIMIT. */
static weft_status read_item(const char *item, asked_column *asked)
{
    const char *colon = strrchr(item, ':');
    const size_t bytes = colon != NULL ? (size_t)(colon - item) : strlen(item);
    WEFT_CHECK(bytes > 0 && bytes < sizeof asked->name, WEFT_ERR_USAGE,
               FLAG_BY " %s: expected NAME or NAME:LIMIT,LIMIT, with a name of less than %zu bytes", item,
               sizeof asked->name);
    *asked = (asked_column){.limits = 0};
    memcpy(asked->name, item, bytes);
    for (const char *at = colon; at != NULL && *at != '\0';) {
        const char *end = at + 1 + strcspn(at + 1, ",");
        WEFT_TRY(add_limit(item, at + 1, end, asked));
        at = end;
    }
    return WEFT_OK;
}

/* [out] asked: [*count]. */
static weft_status read_text(const char *text, asked_column *asked, int *count)
{
    char item[512];
    *count = 0;
    while (*text != '\0') {
        const size_t bytes = strcspn(text, ";");
        WEFT_CHECK(*count < SUBGROUP_COLUMNS_MAX && bytes < sizeof item, WEFT_ERR_USAGE,
                   FLAG_BY ": more than %d columns, or too long a text", SUBGROUP_COLUMNS_MAX);
        (void)snprintf(item, sizeof item, "%.*s", (int)bytes, text);
        WEFT_TRY(read_item(item, &asked[(*count)++]));
        text += bytes + (text[bytes] == ';');
    }
    return WEFT_OK;
}

/* [out] asked: [*count] what data of this kind can be parted by; none where nothing is asked for. */
static weft_status read_asked(const workload *work, const char *text, asked_column *asked, int *count)
{
    WEFT_TRY(read_text(text, asked, count));
    if (*count == 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(work->ops->column != NULL, WEFT_ERR_USAGE, FLAG_BY " %s: %s have no columns: leave it out", text,
               work->ops->field);
    WEFT_CHECK(!work->targets->labelled || binary_targets(work->targets), WEFT_ERR_USAGE,
               FLAG_BY " %s: groups have indexes of two classes, and %s has other targets: leave it out", text,
               work->name);
    return WEFT_OK;
}

/* Free with workload_column_free, also after a failure. Collective. */
static weft_status open_column(const workload *work, const asked_column *asked, workload_column *column)
{
    weft_status status = work->ops->column(work, FLAG_BY, asked->name, column);
    if (status == WEFT_OK && column->words.count > 0 && asked->limits > 0) {
        status =
            weft_fail(WEFT_ERR_USAGE, FLAG_BY " %s: limits are for numbers, and the column holds words", asked->name);
    }
    return comm_agree(work->context->comm, status);
}

weft_status subgroups_check(const workload *work, const char *text)
{
    asked_column asked[SUBGROUP_COLUMNS_MAX];
    int count;
    WEFT_TRY(read_asked(work, text, asked, &count));
    for (int c = 0; c < count; ++c) {
        workload_column column;
        const weft_status status = open_column(work, &asked[c], &column);
        workload_column_free(&column);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static weft_status make_column(const workload *work, const asked_column *asked, const float *logits, int judged,
                               const index_threshold *threshold, subgroup_column *result)
{
    workload_column column;
    weft_status status = open_column(work, asked, &column);
    (void)snprintf(result->name, sizeof result->name, "%s", asked->name);
    if (status == WEFT_OK) {
        const bool words = column.words.count > 0;
        const index_rule rule = {words ? column.words.text : NULL, column.words.count, asked->limit, asked->limits};
        status = index_groups_make(work->context->comm, work->targets, logits, column.value, &rule, judged, threshold,
                                   &result->groups);
        status = status == WEFT_OK ? status : weft_fail_context(status, FLAG_BY " %s: ", asked->name);
    }
    workload_column_free(&column);
    return status;
}

weft_status subgroups_make(const workload *work, const char *text, const float *logits, int judged,
                           const index_threshold *threshold, subgroups *result)
{
    asked_column asked[SUBGROUP_COLUMNS_MAX];
    int count;
    *result = (subgroups){.columns = 0};
    WEFT_TRY(read_asked(work, text, asked, &count));
    for (; work->targets->labelled && result->columns < count; ++result->columns) {
        WEFT_TRY(
            make_column(work, &asked[result->columns], logits, judged, threshold, &result->column[result->columns]));
    }
    return WEFT_OK;
}

void subgroups_free(subgroups *groups)
{
    for (int c = 0; c < SUBGROUP_COLUMNS_MAX; ++c) {
        index_groups_free(&groups->column[c].groups);
    }
    groups->columns = 0;
}

/* ---- for people and programs ------------------------------------------------------------------------------------- */

static void print_cell(FILE *out, double value, int digits)
{
    if (!isnan(value)) {
        fprintf(out, "%.*f", digits, value);
    }
}

static void print_row_md(FILE *out, const index_group *group)
{
    const binary_indexes *x = &group->indexes;
    const double cell[] = {x->area.value,        x->area.low,          x->area.high,
                           x->sensitivity.value, x->specificity.value, x->accuracy.value,
                           x->f1.value,          x->calibration.brier, x->calibration.slope.value};
    fputs("| ", out);
    table_print_text(out, group->name, TABLE_MD);
    fprintf(out, " | %" PRId64 " | %" PRId64 " |", x->rows, x->positives);
    for (size_t i = 0; i < sizeof cell / sizeof *cell; ++i) {
        fputc(' ', out);
        print_cell(out, cell[i], 4);
        fputs(" |", out);
    }
    fputc('\n', out);
}

static bool has_note(const index_group *group, const char *note)
{
    for (int i = 0; i < group->indexes.notes; ++i) {
        if (group->indexes.note[i] == note) {
            return true;
        }
    }
    return false;
}

/* A line for each note, with the groups that have it; at the first of these. */
static void print_notes(FILE *out, const index_groups *groups)
{
    for (int g = 0; g < groups->count; ++g) {
        for (int i = 0; i < groups->group[g].indexes.notes; ++i) {
            const char *note = groups->group[g].indexes.note[i];
            char names[512] = "";
            bool told = false;
            for (int h = 0; h < groups->count; ++h) {
                told = told || (h < g && has_note(&groups->group[h], note));
                if (has_note(&groups->group[h], note)) {
                    text_append_item(names, sizeof names, "%s", groups->group[h].name);
                }
            }
            if (!told) {
                fputs("\nNote on ", out);
                table_print_text(out, names, TABLE_MD);
                fprintf(out, ": %s.\n", note);
            }
        }
    }
}

void subgroups_print_md(FILE *out, const subgroups *groups, const char *split)
{
    for (int c = 0; c < groups->columns; ++c) {
        const subgroup_column *column = &groups->column[c];
        fputs("\n| ", out);
        table_print_text(out, column->name, TABLE_MD);
        fprintf(out,
                " (%s) | rows | positive | AUC | 95 %% from | to | sensitivity | specificity | accuracy | F1 |"
                " Brier score | slope |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
                split);
        for (int g = 0; g < column->groups.count; ++g) {
            print_row_md(out, &column->groups.group[g]);
        }
        print_notes(out, &column->groups);
    }
}

static void print_row_csv(FILE *out, const char *column, const index_group *group)
{
    const binary_indexes *x = &group->indexes;
    const double cell[] = {x->area.value, x->precision.value, x->sensitivity.value, x->f1.value};
    char name[NEAREST_WORD_MAX + INDEX_GROUP_BYTES];
    (void)snprintf(name, sizeof name, "%s %s", column, group->name);
    fputs("group,", out);
    table_print_text(out, name, TABLE_CSV);
    fprintf(out, ",%" PRId64, x->rows);
    for (size_t i = 0; i < sizeof cell / sizeof *cell; ++i) {
        fputc(',', out);
        print_cell(out, cell[i], 6);
    }
    fputc('\n', out);
}

void subgroups_print_csv(FILE *out, const subgroups *groups)
{
    for (int c = 0; c < groups->columns; ++c) {
        for (int g = 0; g < groups->column[c].groups.count; ++g) {
            print_row_csv(out, groups->column[c].name, &groups->column[c].groups.group[g]);
        }
    }
}

void subgroups_write(json_writer *json, const subgroups *groups)
{
    if (groups->columns == 0) {
        return;
    }
    json_array(json, "by");
    for (int c = 0; c < groups->columns; ++c) {
        const subgroup_column *column = &groups->column[c];
        json_object(json, NULL);
        json_text(json, "column", column->name);
        json_array(json, "groups");
        for (int g = 0; g < column->groups.count; ++g) {
            json_object(json, NULL);
            json_text(json, "group", column->groups.group[g].name);
            index_write(json, &column->groups.group[g].indexes, false);
            json_end(json);
        }
        json_end(json);
        json_end(json);
    }
    json_end(json);
}
