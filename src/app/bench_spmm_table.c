/* app/bench_spmm_table.c: the table of `weft bench spmm` on stdout: Markdown, CSV or JSON. A wrong result has no rate.
 */
#include "app/bench_spmm.h"

#include <inttypes.h>
#include <math.h>

#include "base/json.h"

static const char *const form_names[] = {"auto", "rows", "blocks", "lists"};

double bench_rate(const bench_table *table, const bench_row *row)
{
    return row->valid && row->seconds.median > 0.0 ? (double)table->edges * (double)row->d / row->seconds.median * 1e-9
                                                   : (double)NAN;
}

static double percent_of_triad(const bench_table *table, const bench_row *row)
{
    return row->valid && row->seconds.median > 0.0 ? 100.0 * row->bytes / row->seconds.median / table->triad
                                                   : (double)NAN;
}

static void print_md(FILE *out, const bench_table *table)
{
    fprintf(out, "%s: %" PRId64 " vertices, %" PRId64 " edges; %s, %d threads; triad %.1f GB/s", table->graph,
            table->vertices, table->edges, table->backend, table->threads, table->triad * 1e-9);
    if (table->order_seconds >= 0.0) {
        fprintf(out, "; cluster order made in %.2f s", table->order_seconds);
    }
    fprintf(
        out,
        "\n\n| d | order | form | prepared MiB | build s | median s | quartiles | runs | Gelem/s | %% of triad | valid "
        "|\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < table->count; i++) {
        const bench_row *row = &table->row[i];
        bool chosen = row->wanted[0] == 'a';
        fprintf(out, "| %" PRId64 " | %s | %s%s | %.1f | %.3f | %.5f | %.5f-%.5f | %d | ", row->d, row->order,
                chosen ? "auto: " : "", form_names[row->info.form], (double)row->info.bytes / 1048576.0,
                row->info.build_seconds, row->seconds.median, row->seconds.q1, row->seconds.q3, row->seconds.count);
        if (row->valid) {
            fprintf(out, "%.2f | %.0f | yes |\n", bench_rate(table, row), percent_of_triad(table, row));
        } else {
            fprintf(out, "- | - | NO: error %.3g times its bound |\n", row->worst);
        }
    }
}

static void print_csv(FILE *out, const bench_table *table)
{
    fprintf(out,
            "graph,vertices,edges,threads,d,order,wanted,form,block_cols,prepared_bytes,build_seconds,"
            "seconds_median,seconds_q1,seconds_q3,n,gelem_per_s,bytes_model,percent_of_triad,order_seconds,valid\n");
    for (int i = 0; i < table->count; i++) {
        const bench_row *row = &table->row[i];
        fprintf(out,
                "%s,%" PRId64 ",%" PRId64 ",%d,%" PRId64 ",%s,%s,%s,%" PRId64 ",%" PRIu64 ",%.6g,%.9g,%.9g,%.9g,%d,",
                table->graph, table->vertices, table->edges, table->threads, row->d, row->order, row->wanted,
                form_names[row->info.form], row->info.block_cols, row->info.bytes, row->info.build_seconds,
                row->seconds.median, row->seconds.q1, row->seconds.q3, row->seconds.count);
        if (row->valid) {
            fprintf(out, "%.6g,%.9g,%.4g,", bench_rate(table, row), row->bytes, percent_of_triad(table, row));
        } else {
            fprintf(out, ",%.9g,,", row->bytes);
        }
        if (table->order_seconds >= 0.0) {
            fprintf(out, "%.6g", table->order_seconds);
        }
        fprintf(out, ",%s\n", row->valid ? "true" : "false");
    }
}

static void print_json(FILE *out, const bench_table *table)
{
    json_writer json = json_begin(out, true);
    json_object(&json, NULL);
    json_text(&json, "graph", table->graph);
    json_int(&json, "vertices", table->vertices);
    json_int(&json, "edges", table->edges);
    json_text(&json, "backend", table->backend);
    json_int(&json, "threads", table->threads);
    json_real(&json, "triad_bytes_per_s", table->triad);
    json_real(&json, "order_seconds", table->order_seconds >= 0.0 ? table->order_seconds : (double)NAN);
    json_array(&json, "rows");
    for (int i = 0; i < table->count; i++) {
        const bench_row *row = &table->row[i];
        json_object(&json, NULL);
        json_int(&json, "d", row->d);
        json_text(&json, "order", row->order);
        json_text(&json, "wanted", row->wanted);
        json_text(&json, "form", form_names[row->info.form]);
        json_int(&json, "block_cols", row->info.block_cols);
        json_int(&json, "prepared_bytes", (int64_t)row->info.bytes);
        json_real(&json, "build_seconds", row->info.build_seconds);
        json_real(&json, "seconds_median", row->seconds.median);
        json_real(&json, "seconds_q1", row->seconds.q1);
        json_real(&json, "seconds_q3", row->seconds.q3);
        json_int(&json, "n", row->seconds.count);
        json_real(&json, "gelem_per_s", bench_rate(table, row));
        json_real(&json, "bytes_model", row->bytes);
        json_real(&json, "percent_of_triad", percent_of_triad(table, row));
        json_bool(&json, "valid", row->valid);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    json_line_end(&json);
}

void bench_print(FILE *out, const bench_table *table, bench_format format)
{
    switch (format) {
    case BENCH_MD:
        print_md(out, table);
        break;
    case BENCH_CSV:
        print_csv(out, table);
        break;
    case BENCH_JSON:
        print_json(out, table);
        break;
    }
}
