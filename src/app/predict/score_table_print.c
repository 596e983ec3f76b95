/* app/predict/score_table_print.c: the table as Markdown, CSV and JSON; see app/predict/score_table.h. */
#include <inttypes.h>
#include <math.h>

#include "app/predict/score_table.h"
#include "app/table/grid.h"
#include "io/json.h"

static const char *const split_names[TRAIN_SPLITS] = {"train", "valid", "test"};
static const char *const chosen_names[] = {
    [SCORE_TEST] = "test", [SCORE_VALID] = "valid", [SCORE_TRAIN] = "train", [SCORE_LABELLED] = "labelled"};

static const char *metric_text(const score_table *t)
{
    return metric_kind_of(t->metric)->text;
}

/* A score, or what stands for one that is not defined. */
static void print_number(FILE *out, double value, int digits, const char *undefined)
{
    if (isnan(value)) {
        fputs(undefined, out);
    } else {
        fprintf(out, "%.*f", digits, value);
    }
}

static index_table_desc indexes_of(const score_table *t)
{
    return (index_table_desc){&t->indexes, chosen_names[t->split],
                              t->class_name != NULL && t->classes == 2 ? t->class_name[1] : NULL};
}

static void print_interval(FILE *out, const index_value *v)
{
    print_number(out, v->value, 4, "-");
    if (!isnan(v->low)) {
        fprintf(out, " (%.4f to %.4f)", v->low, v->high);
    }
}

static void print_against(FILE *out, const score_table *t)
{
    const roc_difference *d = &t->against.areas;
    if (!t->against.made) {
        return;
    }
    fputs("\nAgainst ", out);
    table_print_text(out, t->against.model, TABLE_MD);
    fprintf(out, ", %" PRId64 " rows: AUC ", t->against.rows);
    print_interval(out, &d->area[0]);
    fputs(" and ", out);
    print_interval(out, &d->area[1]);
    fputs(", difference ", out);
    print_interval(out, &d->difference);
    if (isnan(d->p)) {
        fputs("; no test: two rows of either class are needed, and scores that do not part them", out);
    } else {
        fprintf(out, ", DeLong's test: p = %.3g", d->p);
    }
    fputs("\n", out);
}

static void print_indexes(FILE *out, const score_table *t, table_format format)
{
    const index_table_desc desc = indexes_of(t);
    if (!t->indexes.made) {
        return;
    }
    index_table_print(out, &desc, format);
    if (format == TABLE_CSV) {
        subgroups_print_csv(out, &t->by);
    } else {
        subgroups_print_md(out, &t->by, desc.split);
        print_against(out, t);
    }
}

/* ---- Markdown ---- */

static void print_label_md(FILE *out, const score_table *t, int64_t class)
{
    fprintf(out, "%" PRId64, class);
    if (t->class_name != NULL) {
        fputc(' ', out);
        table_print_text(out, t->class_name[class], TABLE_MD);
    }
}

static void print_figures_md(FILE *out, const score_figures *f)
{
    fprintf(out, " | %" PRId64 " | %.4f | %.4f | %.4f |\n", f->support, f->precision, f->recall, f->f1);
}

static void print_classes_md(FILE *out, const score_table *t)
{
    score_figures macro, micro;
    score_table_averages(t, &macro, &micro);
    fprintf(out, "\n| class (%s) | support | precision | recall | F1 |\n|---|---:|---:|---:|---:|\n",
            chosen_names[t->split]);
    for (int64_t c = 0; c < t->classes; ++c) {
        const score_figures f = score_table_class(t, c);
        fputs("| ", out);
        print_label_md(out, t, c);
        print_figures_md(out, &f);
    }
    fputs("| macro", out);
    print_figures_md(out, &macro);
    fputs("| micro", out);
    print_figures_md(out, &micro);
}

static void print_tasks_md(FILE *out, const score_table *t)
{
    fprintf(out, "\n| task (%s) | positive | negative | ROC-AUC |\n|---|---:|---:|---:|\n", chosen_names[t->split]);
    for (int64_t task = 0; task < t->tasks; ++task) {
        fprintf(out, "| %" PRId64 " | %" PRId64 " | %" PRId64 " | ", task, t->positive[task], t->negative[task]);
        print_number(out, t->auc[task], 4, "-");
        fputs(" |\n", out);
    }
    fputs("| mean | | | ", out);
    print_number(out, score_table_auc(t), 4, "-");
    fputs(" |\n", out);
}

static void print_ceilings(FILE *out, const score_table *t)
{
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        if (t->ceiling[s] > 0.0) {
            fprintf(out, "\n%s: no model exceeds a ROC-AUC of %.4f, that of what made the rows", split_names[s],
                    t->ceiling[s]);
            if (t->metric == TRAIN_METRIC_ROCAUC && !isnan(t->score[s])) {
                fprintf(out, "; %.2f%% of it are reached", 100.0 * t->score[s] / t->ceiling[s]);
            }
            fputs("\n", out);
        }
    }
}

static void print_md(FILE *out, const score_table *t)
{
    if (!t->labelled) {
        return;
    }
    fprintf(out, "| split | %s | %s |\n|---|---:|---:|\n", t->rows, metric_text(t));
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        fprintf(out, "| %s | %" PRId64 " | ", split_names[s], t->counted[s]);
        print_number(out, t->score[s], 4, "-");
        fputs(" |\n", out);
    }
    print_ceilings(out, t);
    if (t->counted[TRAIN_SPLIT_TRAIN] > 0 && isnan(t->score[TRAIN_SPLIT_TRAIN]) && t->classes > 0) {
        fprintf(out, "\nThe training %s were not scored: --split train scores them.\n", t->rows);
    }
    if (t->classes > 0) {
        print_classes_md(out, t);
    } else if (t->tasks > 0) {
        print_tasks_md(out, t);
    }
    print_indexes(out, t, TABLE_MD);
}

/* ---- CSV: one table, a kind of row in the first column ---- */

static void print_label_csv(FILE *out, const score_table *t, int64_t class)
{
    if (t->class_name != NULL) {
        table_print_text(out, t->class_name[class], TABLE_CSV);
    } else {
        fprintf(out, "%" PRId64, class);
    }
}

static void print_figures_csv(FILE *out, const score_figures *f)
{
    fprintf(out, ",%" PRId64 ",,%.6f,%.6f,%.6f\n", f->support, f->precision, f->recall, f->f1);
}

static void print_classes_csv(FILE *out, const score_table *t)
{
    score_figures macro, micro;
    score_table_averages(t, &macro, &micro);
    for (int64_t c = 0; c < t->classes; ++c) {
        const score_figures f = score_table_class(t, c);
        fputs("class,", out);
        print_label_csv(out, t, c);
        print_figures_csv(out, &f);
    }
    fputs("average,macro", out);
    print_figures_csv(out, &macro);
    fputs("average,micro", out);
    print_figures_csv(out, &micro);
}

static void print_csv(FILE *out, const score_table *t)
{
    fprintf(out, "kind,name,%s,score,precision,recall,f1\n", t->rows);
    for (int s = 0; t->labelled && s < TRAIN_SPLITS; ++s) {
        fprintf(out, "split,%s,%" PRId64 ",", split_names[s], t->counted[s]);
        print_number(out, t->score[s], 6, "");
        fputs(",,,\n", out);
    }
    if (t->classes > 0) {
        print_classes_csv(out, t);
    }
    for (int64_t task = 0; task < t->tasks; ++task) {
        fprintf(out, "task,%" PRId64 ",%" PRId64 ",", task, t->positive[task] + t->negative[task]);
        print_number(out, t->auc[task], 6, "");
        fputs(",,,\n", out);
    }
    print_indexes(out, t, TABLE_CSV);
}

/* ---- JSON ---- */

static void write_figures(json_writer *json, const score_figures *f)
{
    json_int(json, "support", f->support);
    json_real(json, "precision", f->precision);
    json_real(json, "recall", f->recall);
    json_real(json, "f1", f->f1);
    json_end(json);
}

static void write_classes(json_writer *json, const score_table *t)
{
    score_figures macro, micro;
    score_table_averages(t, &macro, &micro);
    json_array(json, "classes");
    for (int64_t c = 0; c < t->classes; ++c) {
        score_figures f = score_table_class(t, c);
        json_object(json, NULL);
        json_int(json, "class", c);
        if (t->class_name != NULL) {
            json_text(json, "name", t->class_name[c]);
        }
        write_figures(json, &f);
    }
    json_end(json);
    json_object(json, "macro");
    write_figures(json, &macro);
    json_object(json, "micro");
    write_figures(json, &micro);
}

static void write_tasks(json_writer *json, const score_table *t)
{
    json_array(json, "tasks");
    for (int64_t task = 0; task < t->tasks; ++task) {
        json_object(json, NULL);
        json_int(json, "task", task);
        json_int(json, "positive", t->positive[task]);
        json_int(json, "negative", t->negative[task]);
        json_real(json, "rocauc", t->auc[task]);
        json_end(json);
    }
    json_end(json);
    json_real(json, "rocauc_mean", score_table_auc(t));
}

static void write_against(json_writer *json, const score_comparison *against)
{
    const roc_difference *d = &against->areas;
    if (!against->made) {
        return;
    }
    json_object(json, "against");
    json_text(json, "model", against->model);
    json_int(json, "rows", against->rows);
    index_write_value(json, "auc", d->area[0]);
    index_write_value(json, "auc_against", d->area[1]);
    index_write_value(json, "difference", d->difference);
    json_real(json, "se", d->se);
    json_real(json, "z", d->z);
    json_real(json, "p", d->p);
    json_end(json);
}

void score_table_write_indexes(json_writer *json, const score_table *t)
{
    const index_table_desc desc = indexes_of(t);
    if (!t->indexes.made) {
        return;
    }
    json_object(json, "indexes");
    json_text(json, "split", desc.split);
    json_text(json, "positive", desc.positive != NULL ? desc.positive : "1");
    index_write(json, &t->indexes, true);
    subgroups_write(json, &t->by);
    write_against(json, &t->against);
    json_end(json);
}

void score_table_print_brief(FILE *out, const score_table *t)
{
    const index_table_desc desc = indexes_of(t);
    if (t->indexes.made) {
        index_table_print_brief(out, &desc);
    }
}

/* What training towards these answers asks for. */
static void write_identity(json_writer *json, const score_table *t)
{
    if (t->hash == NULL) {
        return;
    }
    json_text(json, "data_hash", t->hash);
    if (t->names->text != NULL) {
        json_array(json, "class_names");
        for (int64_t c = 0; c < t->names->count; ++c) {
            json_text(json, NULL, t->names->text[c]);
        }
        json_end(json);
    }
}

static void print_json(FILE *out, const score_table *t)
{
    json_writer json = json_begin(out, true);
    json_object(&json, NULL);
    json_int(&json, "schema", 1);
    json_text(&json, "model", t->model);
    json_text(&json, t->kind, t->data);
    write_identity(&json, t);
    if (t->labelled) {
        json_text(&json, "metric", metric_kind_of(t->metric)->word);
        for (int s = 0; s < TRAIN_SPLITS; ++s) {
            json_object(&json, split_names[s]);
            json_int(&json, t->rows, t->counted[s]);
            json_real(&json, "score", t->score[s]);
            if (t->ceiling[s] > 0.0) {
                json_real(&json, "ceiling", t->ceiling[s]);
            }
            json_end(&json);
        }
        json_text(&json, "split", chosen_names[t->split]);
    }
    if (t->classes > 0) {
        write_classes(&json, t);
    } else if (t->tasks > 0) {
        write_tasks(&json, t);
    }
    score_table_write_indexes(&json, t);
    json_end(&json);
    json_line_end(&json);
}

void score_table_print(FILE *out, const score_table *table, table_format format)
{
    switch (format) {
    case TABLE_MD:
        print_md(out, table);
        break;
    case TABLE_CSV:
        print_csv(out, table);
        break;
    case TABLE_JSON:
        print_json(out, table);
        break;
    }
}

void score_table_print_confusion(FILE *out, const score_table *table)
{
    fputs("label", out);
    for (int64_t c = 0; c < table->classes; ++c) {
        fputc(',', out);
        print_label_csv(out, table, c);
    }
    fputc('\n', out);
    for (int64_t row = 0; row < table->classes; ++row) {
        print_label_csv(out, table, row);
        for (int64_t c = 0; c < table->classes; ++c) {
            fprintf(out, ",%" PRId64, table->confusion[row * table->classes + c]);
        }
        fputc('\n', out);
    }
}
