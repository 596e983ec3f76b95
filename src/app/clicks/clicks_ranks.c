/* app/clicks/clicks_ranks.c: what a dry run says of rows of embeddings on 2 to 1,024 ranks: bytes of a batch in each
 * mode, and memory. */
#include <stdio.h>

#include "app/clicks/clicks_job.h"
#include "base/log.h"
#include "embed/plan/embed_plan.h"
#include "embed/rows/row_store.h"

enum { PLAN_RANKS_MOST = 1024, USUAL_RANKS = 8 };

static const char *const mode_name[] = {EMBED_MODE_CHOICES(CHOICE_NAME)};

/* What a mode sends; "-": it cannot be. */
static number_words say_sent(int64_t bytes)
{
    return bytes == INT64_MAX ? (number_words){.text = "-"} : number_say_bytes((uint64_t)bytes);
}

number_words clicks_say_saving(double share)
{
    number_words words = {.text = "none"};
    if (share >= 0.0) {
        (void)snprintf(words.text, sizeof words.text, "%.2f %%", 100.0 * share);
    }
    return words;
}

/* A batch of rows that stand evenly among those that train. */
typedef struct sample_batch {
    int64_t samples;
    uint64_t *key; /* ids of all fields of the samples */
    float *weight; /* of each, where they have some */
    float *number; /* [numbers] scratch */
    int64_t *at;   /* [samples * fields + 1] */
} sample_batch;

static weft_status draw_sample(const workload *work, sample_batch *b)
{
    const clicks_job *job = work->self;
    const click_rows *rows = &job->rows;
    const int64_t train = rows->counted[TRAIN_SPLIT_TRAIN], fields = rows->fields;
    const int64_t batch = option_int(work->context->options, OPT_BATCH_SIZE);
    const click_scaling plain = {.kind = CLICK_SCALING_OFF};
    float target;
    b->samples = batch < train ? batch : train;
    const int64_t most = click_rows_most(rows, b->samples);
    WEFT_TRY(WEFT_NEW(&b->key, most, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->weight, most, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->number, rows->numbers, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&b->at, b->samples * fields + 1, WEFT_MEM_WORKSPACE));
    b->at[0] = 0;
    for (int64_t i = 0; i < b->samples; ++i) {
        const int64_t row = click_rows_train(rows, (int64_t)((double)train / (double)b->samples * (double)i));
        int64_t *at = b->at + i * fields;
        for (int f = 0; f < fields; ++f) {
            at[f + 1] = at[f] + click_rows_size(rows, row, f);
        }
        click_rows_read(rows, &plain, row, b->key + at[0], b->weight + at[0], b->number, &target);
    }
    return WEFT_OK;
}

static weft_status count_for(const clicks_job *job, const sample_batch *b, bag_index *index, embed_counts *counts)
{
    const int fields = job->rows.fields, ranks = counts->ranks;
    int64_t *at = NULL;
    weft_status status = WEFT_NEW(&at, b->samples * fields + 1, WEFT_MEM_WORKSPACE);
    for (int p = 0; p < ranks && status == WEFT_OK; ++p) {
        const int64_t first = b->samples * p / ranks, end = b->samples * (p + 1) / ranks;
        const int64_t begin = b->at[first * fields];
        for (int64_t i = 0; i <= (end - first) * fields; ++i) {
            at[i] = b->at[first * fields + i] - begin;
        }
        const embed_bags bags = {.samples = end - first,
                                 .fields = fields,
                                 .at = at,
                                 .key = b->key + begin,
                                 .weight = job->rows.weighted ? b->weight + begin : NULL};
        status = embed_counts_add(&bags, p, job->table_desc.seed, index, counts);
    }
    weft_free(at);
    return status;
}

/* What a line of the table is made of. */
typedef struct fields_plan {
    embed_counts *counts; /* [fields] */
    bool *shares;         /* [fields] all of them */
    uint8_t *mode_of;     /* [fields] */
} fields_plan;

static void print_line(FILE *out, const clicks_job *job, const fields_plan *plan)
{
    const int stride = job->table_desc.width + job->table_desc.linear, fields = job->rows.fields;
    const embed_counts counts = embed_counts_sum(plan->counts, fields, NULL, EMBED_ALL_TO_ALL);
    const int64_t rows = click_rows_ids(&job->rows) / counts.ranks + 1;
    embed_sums sums;
    const int64_t columns = click_model_sums(&job->desc, &sums) ? stride + sums.squares
                                                                : (int64_t)fields * stride + job->table_desc.squares;
    const embed_mode least = embed_mode_cheapest(&counts, stride, columns, false);
    (void)embed_modes_cheapest(plan->counts, fields, stride, plan->shares, plan->mode_of);
    const int64_t by_field = embed_modes_bytes(plan->counts, fields, plan->mode_of, stride, job->table_desc.squares);
    const bool differ = by_field < embed_mode_bytes(least, &counts, stride, columns, false);
    fprintf(out, "  %5d", counts.ranks);
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        fprintf(out, " %12s", say_sent(embed_mode_bytes((embed_mode)m, &counts, stride, columns, false)).text);
    }
    fprintf(out, " %12s %10s %12s  %s\n", number_say_bytes((uint64_t)by_field).text,
            clicks_say_saving(embed_des_saving(&counts, stride, columns)).text,
            number_say_bytes((uint64_t)row_store_bytes(&job->table_desc, rows)).text,
            differ ? "by field" : mode_name[least]);
}

/* Bytes of each field in each mode. */
static void print_fields(FILE *out, const clicks_job *job, const fields_plan *plan)
{
    const int stride = job->table_desc.width + job->table_desc.linear;
    (void)embed_modes_cheapest(plan->counts, job->rows.fields, stride, plan->shares, plan->mode_of);
    fprintf(out, "  the same of each column of ids on %d ranks:\n", plan->counts->ranks);
    for (int f = 0; f < job->rows.fields; ++f) {
        fprintf(out, "  %-20.40s", job->rows.field_name.text[f]);
        for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
            const int64_t bytes = embed_mode_bytes((embed_mode)m, &plan->counts[f], stride, stride, false);
            fprintf(out, " %12s", say_sent(bytes).text);
        }
        fprintf(out, "  %s\n", mode_name[plan->mode_of[f]]);
    }
}

static void print_head(FILE *out, int64_t samples)
{
    fprintf(out, "rows of embeddings, bytes sent in a batch of %lld rows over all ranks:\n  ranks", (long long)samples);
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        fprintf(out, " %12s", mode_name[m]);
    }
    fprintf(out, " %12s %10s %12s  least\n", "by field", "des saves", "rows a rank");
}

static weft_status count_on(const clicks_job *job, const sample_batch *b, int ranks, bag_index *index,
                            fields_plan *plan)
{
    const int stride = job->table_desc.width + job->table_desc.linear;
    const bool splits = embed_splits_columns(&job->table_desc, ranks);
    for (int f = 0; f < job->rows.fields; ++f) {
        plan->counts[f] = (embed_counts){.ranks = ranks, .stride = splits ? stride : 0};
    }
    return count_for(job, b, index, plan->counts);
}

static weft_status print_table(FILE *out, const workload *work, const sample_batch *b, bag_index *index,
                               fields_plan *plan)
{
    const clicks_job *job = work->self;
    const int own = comm_size(work->context->comm);
    print_head(out, b->samples);
    for (int ranks = 2; ranks <= PLAN_RANKS_MOST; ranks *= 2) {
        WEFT_TRY(count_on(job, b, ranks, index, plan));
        print_line(out, job, plan);
    }
    fprintf(out,
            "  by field: each column of ids in the mode that sends least of it; des saves: of the numbers that ranks "
            "would pull from a server of rows and push to it; rows a rank: memory, of all-to-all and des\n");
    WEFT_TRY(count_on(job, b, own > 1 ? own : USUAL_RANKS, index, plan));
    print_fields(out, job, plan);
    return WEFT_OK;
}

static weft_status open_plan(int fields, fields_plan *plan)
{
    WEFT_TRY(WEFT_NEW(&plan->counts, fields, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&plan->shares, fields, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&plan->mode_of, fields, WEFT_MEM_WORKSPACE));
    for (int f = 0; f < fields; ++f) {
        plan->shares[f] = true;
    }
    return WEFT_OK;
}

void clicks_print_modes(const workload *work, FILE *out)
{
    const clicks_job *job = work->self;
    sample_batch b = {.samples = 0};
    bag_index index = {.positions = 0};
    fields_plan plan = {.counts = NULL};
    weft_status status = work->trained ? WEFT_OK : draw_sample(work, &b);
    status = status == WEFT_OK ? open_plan(job->rows.fields, &plan) : status;
    if (status == WEFT_OK && b.samples > 0) {
        status = print_table(out, work, &b, &index, &plan);
    }
    if (status != WEFT_OK) {
        log_warn("bytes of rows are not told: %s", weft_error_message());
        weft_error_clear();
    }
    bag_index_free(&index);
    WEFT_FREE_ALL(b.key, b.weight, b.number, b.at, plan.counts, plan.shares, plan.mode_of);
}
