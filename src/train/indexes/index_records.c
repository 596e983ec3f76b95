/* train/indexes/index_records.c: see train/indexes/index_records.h. */
#include "train/indexes/index_records.h"

#include "base/alloc.h"
#include "train/score/score_record.h"

bool binary_targets(const train_targets *targets)
{
    return targets->labelled && ((targets->loss == TRAIN_LOSS_XENT && targets->outputs == 2) ||
                                 (targets->loss == TRAIN_LOSS_BCE && targets->outputs == 1));
}

/* Adding 0 makes one score of the two zeros. */
float binary_score(const train_targets *t, const float *logits, int64_t row)
{
    const float *answer = logits + row * t->outputs;
    return (t->loss == TRAIN_LOSS_XENT ? (float)((double)answer[1] - (double)answer[0]) : answer[0]) + 0.0F;
}

int binary_label(const train_targets *t, int64_t row)
{
    if (t->loss == TRAIN_LOSS_XENT) {
        return t->label_host[row] < 0 ? -1 : t->label_host[row];
    }
    return isnan(t->target_host[row]) ? -1 : t->target_host[row] > 0.5F;
}

/* This rank's rows. */
typedef struct own_rows {
    uint64_t *record; /* [targets->rows] */
    float *value;     /* the same; NULL: rows have none */
    int64_t count;
    int64_t *bytes; /* [P] of the records of each rank */
    bool finite;
} own_rows;

static weft_status reserve_own(weft_comm *comm, const train_targets *t, bool valued, own_rows *own)
{
    WEFT_TRY(WEFT_NEW(&own->record, t->rows, WEFT_MEM_WORKSPACE));
    WEFT_TRY(valued ? WEFT_NEW(&own->value, t->rows, WEFT_MEM_WORKSPACE) : WEFT_OK);
    return WEFT_NEW(&own->bytes, comm_size(comm), WEFT_MEM_WORKSPACE);
}

static void fill_own(const train_targets *t, const float *logits, unsigned splits, const float *value, own_rows *own)
{
    own->finite = true;
    for (int64_t i = 0; i < t->rows; ++i) {
        const int label = binary_label(t, i);
        const uint64_t split = t->split_host[i] < TRAIN_SPLITS ? t->split_host[i] : TRAIN_SPLITS;
        if (label >= 0 && (splits >> split & 1U) != 0) {
            const float score = binary_score(t, logits, i);
            own->finite = own->finite && isfinite(score);
            if (value != NULL) {
                own->value[own->count] = value[i];
            }
            own->record[own->count++] = score_record(score, label) | split << 1;
        }
    }
}

static weft_status reserve_all(const own_rows *own, int ranks, bool valued, index_records *r)
{
    for (int i = 0; i < ranks; ++i) {
        r->count += own->bytes[i] / (int64_t)sizeof *r->record;
    }
    WEFT_TRY(WEFT_NEW(&r->record, r->count, WEFT_MEM_WORKSPACE));
    WEFT_TRY(valued ? WEFT_NEW(&r->value, r->count, WEFT_MEM_WORKSPACE) : WEFT_OK);
    return WEFT_NEW(&r->spare, 2 * r->count, WEFT_MEM_WORKSPACE);
}

static weft_status gather(weft_comm *comm, bool valued, own_rows *own, index_records *r)
{
    const int ranks = comm_size(comm);
    const int64_t bytes = own->count * (int64_t)sizeof *own->record;
    const bool first = comm_rank(comm) == 0;
    int64_t infinite = !own->finite;
    WEFT_TRY(comm_allreduce(comm, &infinite, 1, WEFT_DTYPE_I64, COMM_SUM));
    r->finite = infinite == 0;
    WEFT_TRY(comm_allgather(comm, &bytes, sizeof bytes, own->bytes));
    WEFT_TRY(comm_agree(comm, first ? reserve_all(own, ranks, valued, r) : WEFT_OK));
    return comm_gatherv(comm, 0, own->record, bytes, r->record, own->bytes);
}

/* A value takes half the bytes of a record. */
static weft_status gather_values(weft_comm *comm, own_rows *own, index_records *r)
{
    for (int i = 0; i < comm_size(comm); ++i) {
        own->bytes[i] /= 2;
    }
    return comm_gatherv(comm, 0, own->value, own->count * (int64_t)sizeof *own->value, r->value, own->bytes);
}

weft_status index_records_gather(weft_comm *comm, const train_targets *targets, const float *logits, unsigned splits,
                                 bool valued, const float *value, index_records *records)
{
    own_rows own = {.count = 0};
    weft_status status;
    const weft_status local = reserve_own(comm, targets, valued, &own);
    *records = (index_records){.count = 0};
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    fill_own(targets, logits, splits, value, &own);
    WEFT_TRY_GOTO(gather(comm, valued, &own, records), status, done);
    status = valued ? gather_values(comm, &own, records) : WEFT_OK;
done:
    WEFT_FREE_ALL(own.record, own.value, own.bytes);
    return status;
}

void index_records_free(index_records *r)
{
    WEFT_FREE_ALL(r->record, r->value, r->spare);
    *r = (index_records){.count = 0};
}

weft_status index_records_levels(const index_records *r, int split, const int32_t *part, int32_t number,
                                 score_levels *levels)
{
    int64_t count = 0;
    for (int64_t i = 0; i < r->count; ++i) {
        if (index_record_in(r->record[i], split) && (part == NULL || part[i] == number)) {
            r->spare[count++] = r->record[i] & ~(uint64_t)6;
        }
    }
    return score_levels_make(r->spare, r->spare + count, count, levels);
}
