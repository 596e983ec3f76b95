/*
 * table/read/reader_libsvm.c: lines LABEL [qid:QUERY] INDEX:VALUE ..., as LIBSVM, XGBoost and LightGBM write sparse
 * rows. A '#' ends a line. Columns are the label, the query if lines have one, and the features: one for each index
 * from the least allowed to the greatest that occurs. An index that a line lacks is 0, or missing if that is asked for.
 * Indices ascend within a line.
 *
 * Features are columns of reals if they are few or mostly given, else a sparse block (table/sparse_block.h). The first
 * pass counts the entries of each line, so that the second one puts them in place on all threads.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "io/text/text_source.h"
#include "table/read/libsvm_line.h"
#include "table/read/table_reader.h"
#include "table/rows/row_source.h"
#include "table/table_options.def"

/* Facts of all lines that decide the columns. */
typedef struct svm_facts {
    int64_t least, most;      /* index */
    int64_t queries, rows;    /* lines with a query; lines */
    int64_t entries;          /* pairs INDEX:VALUE */
    int64_t fraction, failed; /* labels with a fraction; nonzero: this rank failed */
} svm_facts;
#define SVM_NO_FACTS ((svm_facts){.least = INT64_MAX, .most = -1})

typedef struct libsvm_reader {
    const char *path; /* of the first file */
    row_source *rows;
    int64_t base, columns;       /* index of the first feature; features */
    bool query, sparse, missing; /* cells that lines leave out are missing, not 0 */
    bool given;                  /* `start` belongs to the caller */
    int64_t first, count;        /* this rank's rows */
    int64_t *start;              /* [count + 1] entries of this rank's rows before each */
    svm_facts *facts;            /* [threads], while lines are looked at */
    table_sink *sink;            /* while they are read */
} libsvm_reader;

typedef weft_status (*line_fn)(libsvm_reader *r, row_piece *piece, int64_t row, svm_line *line);

static weft_status each_line(libsvm_reader *r, row_piece *piece, line_fn take)
{
    int64_t row = piece->row;
    for (const char *at = piece->text; at < piece->end && row < piece->last;) {
        const char *next = text_next_line(at, piece->end);
        svm_line line;
        if (text_at_end(at)) {
            at = next;
            continue;
        }
        if (row >= piece->first) {
            piece->at = at;
            WEFT_TRY(svm_line_begin(at, next - 1, &line));
            WEFT_TRY(take(r, piece, row, &line));
        }
        row++;
        at = next;
    }
    piece->at = NULL;
    return WEFT_OK;
}

/* ---- the columns ---- */

static weft_status look_at_line(libsvm_reader *r, row_piece *piece, int64_t row, svm_line *line)
{
    svm_facts *f = &r->facts[piece->thread];
    int64_t index;
    double value;
    bool more = true;
    f->rows++;
    f->queries += line->query.text != NULL;
    f->fraction += line->label != nearbyint(line->label);
    for (;;) {
        WEFT_TRY(svm_line_next(line, &index, &value, &more));
        if (!more) {
            return WEFT_OK;
        }
        r->start[row - r->first + 1]++;
        f->entries++;
        f->least = index < f->least ? index : f->least;
        f->most = index > f->most ? index : f->most;
    }
}

static weft_status look_at_lines(void *self, row_piece *piece)
{
    return each_line(self, piece, look_at_line);
}

static void add_facts(svm_facts *sum, const svm_facts *other)
{
    sum->least = other->least < sum->least ? other->least : sum->least;
    sum->most = other->most > sum->most ? other->most : sum->most;
    sum->queries += other->queries;
    sum->entries += other->entries;
    sum->rows += other->rows;
    sum->fraction += other->fraction;
    sum->failed += other->failed;
}

/* Facts of all ranks. */
static weft_status gather_facts(const table_exchange *exchange, weft_status status, svm_facts *facts)
{
    void *all;
    size_t *bytes_of;
    if (exchange == NULL) {
        return status;
    }
    facts->failed = status != WEFT_OK;
    WEFT_TRY(exchange->gather(exchange->self, facts, sizeof *facts, &all, &bytes_of));
    const svm_facts *of = all;
    svm_facts sum = of[0];
    for (int r = 1; r < exchange->ranks; r++) {
        add_facts(&sum, &of[r]);
    }
    *facts = sum;
    weft_free(all);
    weft_free(bytes_of);
    WEFT_TRY(status);
    WEFT_CHECK(facts->failed == 0, WEFT_ERR_DATA, "another rank could not read its lines");
    return WEFT_OK;
}

static weft_status look_at_own(libsvm_reader *r, const table_exchange *exchange, svm_facts *sum)
{
    const int threads = row_source_threads(r->rows);
    const int rank = exchange != NULL ? exchange->rank : 0, ranks = exchange != NULL ? exchange->ranks : 1;
    const svm_facts none = SVM_NO_FACTS;
    WEFT_TRY(row_source_count(r->rows, exchange));
    const int64_t rows = row_source_rows(r->rows);
    r->first = table_first_row(rows, rank, ranks);
    r->count = table_first_row(rows, rank + 1, ranks) - r->first;
    WEFT_TRY(WEFT_NEW_ZERO(&r->start, r->count + 1, WEFT_MEM_TABLE));
    WEFT_TRY(WEFT_NEW(&r->facts, threads, WEFT_MEM_WORKSPACE));
    for (int t = 0; t < threads; t++) {
        r->facts[t] = none;
    }
    const weft_status status = row_source_read(r->rows, r->first, r->count, look_at_lines, r);
    for (int64_t i = 0; i < r->count; i++) {
        r->start[i + 1] += r->start[i];
    }
    for (int t = 0; t < threads; t++) {
        add_facts(sum, &r->facts[t]);
    }
    weft_free(r->facts);
    r->facts = NULL;
    return status;
}

/* Facts of all lines, of all ranks. */
static weft_status look_through(libsvm_reader *r, const table_exchange *exchange, svm_facts *sum)
{
    *sum = SVM_NO_FACTS;
    const weft_status status = look_at_own(r, exchange, sum);
    return gather_facts(exchange, status, sum);
}

/* Decides between a sparse block and columns. */
static weft_status choose_block(const char *path, const table_request *request, const svm_facts *facts,
                                libsvm_reader *r)
{
    const table_sparse_choice asked = request->sparse;
    const double cells = (double)facts->rows * (double)r->columns;
    const double given = cells > 0 ? (double)facts->entries / cells : 1;
    const bool fits = r->columns <= SPARSE_DENSE_MOST;
    WEFT_CHECK(asked != TABLE_SPARSE_NO || fits, WEFT_ERR_UNSUPPORTED,
               "%s: indices up to %" PRId64 ": at most %d columns are made of a LIBSVM file; " FLAG_SPARSE
               " yes keeps the given cells alone, or number the features that occur often enough anew",
               path, facts->most, SPARSE_DENSE_MOST);
    WEFT_CHECK(!r->missing || (asked != TABLE_SPARSE_YES && fits), WEFT_ERR_UNSUPPORTED,
               "%s: " FLAG_ABSENT " missing makes columns, of at most %d features, and indices go up to %" PRId64
               ": leave it out, or " FLAG_SPARSE " yes",
               path, SPARSE_DENSE_MOST, facts->most);
    const bool dense =
        r->missing || (!request->keeps_given && (r->columns <= SPARSE_NARROW || (fits && given * SPARSE_FILL >= 1)));
    r->sparse = r->columns > 0 && (asked == TABLE_SPARSE_YES || (asked == TABLE_SPARSE_AUTO && !dense));
    if (r->sparse) {
        log_info("%s: %" PRId64 " features, of which rows give %.3g %%: kept as a sparse block of %" PRId64
                 " entries%s",
                 path, r->columns, 100 * given, facts->entries, fits ? "; " FLAG_SPARSE " no makes columns" : "");
        return WEFT_OK;
    }
    if (given < 1) {
        log_info("%s: lines give %.3g %% of their features: the others are read as %s", path, 100 * given,
                 r->missing ? "missing values, as XGBoost does"
                            : "0, as LightGBM does (XGBoost reads them as missing values: " FLAG_ABSENT " missing)");
    }
    weft_free(r->start);
    r->start = NULL;
    return WEFT_OK;
}

static weft_status choose_columns(const char *path, const table_request *request, const svm_facts *facts,
                                  libsvm_reader *r)
{
    WEFT_CHECK(facts->rows > 0, WEFT_ERR_DATA, "%s: holds no row", path);
    WEFT_CHECK(facts->queries == 0 || facts->queries == facts->rows, WEFT_ERR_DATA,
               "%s: %" PRId64 " of %" PRId64 " lines have a query (qid:), the others none", path, facts->queries,
               facts->rows);
    r->query = facts->queries > 0;
    r->missing = request->absent == TABLE_ABSENT_MISSING;
    r->base = request->index_base >= 0 ? request->index_base : facts->least == 0 ? 0 : 1;
    WEFT_CHECK(facts->least >= r->base, WEFT_ERR_DATA,
               "%s: an index of %" PRId64 ", and " FLAG_INDEX_BASE " says that they begin at %" PRId64, path,
               facts->least, r->base);
    WEFT_CHECK(facts->most < INT64_MAX, WEFT_ERR_DATA, "%s: an index of %" PRId64, path, facts->most);
    r->columns = facts->most < 0 ? 0 : facts->most - r->base + 1;
    if (request->index_base < 0) {
        log_info("%s: indices begin at %" PRId64, path, r->base);
    }
    return choose_block(path, request, facts, r);
}

static weft_status make_schema(const char *path, const table_request *request, const svm_facts *facts,
                               const libsvm_reader *r, table_schema *schema)
{
    char name[32];
    const int64_t before = 1 + r->query, columns = r->sparse ? 0 : r->columns;
    WEFT_TRY(schema_create(before + columns, schema));
    WEFT_TRY(schema_name(schema, 0, "label", 5));
    WEFT_TRY(r->query ? schema_name(schema, 1, "qid", 3) : WEFT_OK);
    for (int64_t j = 0; j < columns; j++) {
        snprintf(name, sizeof name, "f%" PRId64, j + r->base);
        WEFT_TRY(schema_name(schema, before + j, name, strlen(name)));
    }
    table_request asked = *request;
    asked.target = request->target != NULL && request->target[0] != '\0' ? request->target : "label";
    asked.group = request->group != NULL && request->group[0] != '\0' ? request->group : r->query ? "qid" : NULL;
    WEFT_TRY(schema_apply(path, &asked, false, schema));
    for (int64_t j = 0; j < schema->count; j++) {
        table_field *f = &schema->field[j];
        if (f->kind == TABLE_UNSEEN) {
            f->kind = j == 0 && facts->fraction == 0 ? TABLE_INTEGER : TABLE_REAL;
        }
    }
    return WEFT_OK;
}

static void close_libsvm(void *self)
{
    libsvm_reader *r = self;
    if (r != NULL) {
        row_source_close(r->rows);
        weft_free(r->facts);
        if (!r->given) {
            weft_free(r->start);
        }
        weft_free(r);
    }
}

static weft_status open_libsvm(const char *const *paths, int count, const table_request *request, void **self)
{
    libsvm_reader *r;
    int64_t *begin = NULL;
    weft_status status;
    (void)request;
    WEFT_TRY(WEFT_NEW_ZERO(&r, 1, WEFT_MEM_TABLE));
    r->path = paths[0];
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&begin, count, WEFT_MEM_WORKSPACE), status, done);
    const row_layout layout = {.marks = {.separator = ' '}, .begin = begin};
    WEFT_TRY_GOTO(row_source_open(paths, count, &layout, &r->rows), status, done);
    *self = r;
    r = NULL;
done:
    weft_free(begin);
    close_libsvm(r);
    return status;
}

static weft_status begin_libsvm(void *self, const table_request *request, const table_exchange *exchange,
                                table_schema *schema, int64_t *rows)
{
    libsvm_reader *r = self;
    svm_facts facts;
    WEFT_TRY(look_through(r, exchange, &facts));
    WEFT_TRY(choose_columns(r->path, request, &facts, r));
    *rows = row_source_rows(r->rows);
    return make_schema(r->path, request, &facts, r, schema);
}

/* ---- the cells ---- */

static weft_status put_absent(const libsvm_reader *r, int thread, int64_t row, int64_t from, int64_t to)
{
    const sink_cell empty = {.text = "", .bytes = 0};
    for (int64_t j = from; j < to; j++) {
        const int64_t column = 1 + r->query + j;
        WEFT_TRY(r->missing ? sink_put(r->sink, thread, row, column, &empty)
                            : sink_put_number(r->sink, thread, row, column, 0));
    }
    return WEFT_OK;
}

/* The next pair of a line: its feature is `least` or a later one. */
static weft_status next_feature(const libsvm_reader *r, svm_line *line, int64_t least, int64_t *feature, double *value,
                                bool *more)
{
    int64_t index = 0;
    WEFT_TRY(svm_line_next(line, &index, value, more));
    *feature = index - r->base;
    WEFT_CHECK(!*more || (*feature >= least && *feature < r->columns), WEFT_ERR_DATA,
               "index %" PRId64 " does not ascend: the indices of a line ascend, each once", index);
    return WEFT_OK;
}

static weft_status read_features(libsvm_reader *r, int thread, int64_t row, svm_line *line)
{
    int64_t feature, next = 0; /* the first column that has no value yet */
    double value;
    bool more = true;
    for (;;) {
        WEFT_TRY(next_feature(r, line, next, &feature, &value, &more));
        if (!more) {
            return put_absent(r, thread, row, next, r->columns);
        }
        WEFT_TRY(put_absent(r, thread, row, next, feature));
        WEFT_TRY(sink_put_number(r->sink, thread, row, 1 + r->query + feature, value));
        next = feature + 1;
    }
}

static weft_status read_entries(libsvm_reader *r, int64_t row, svm_line *line)
{
    const sink_sparse *out = &r->sink->sparse;
    const int64_t *start = &r->start[row - r->first];
    int64_t feature, next = 0, entry = start[0];
    double value;
    bool more = true;
    for (;; entry++) {
        WEFT_TRY(next_feature(r, line, next, &feature, &value, &more));
        WEFT_CHECK(more ? entry < start[1] : entry == start[1], WEFT_ERR_DATA, "the file changed while it was read");
        if (!more) {
            return WEFT_OK;
        }
        WEFT_CHECK(isfinite((float)value), WEFT_ERR_DATA,
                   "index %" PRId64 ": '%g' is beyond the range of float32, 3.4e38: scale the feature",
                   feature + r->base, value);
        if (out->index != NULL) {
            sink_put_entry(out, entry - out->start[0], feature, (float)value);
        }
        next = feature + 1;
    }
}

static weft_status read_line(libsvm_reader *r, row_piece *piece, int64_t row, svm_line *line)
{
    WEFT_TRY(sink_put_number(r->sink, piece->thread, row, 0, line->label));
    if (r->query) {
        WEFT_TRY(sink_put(r->sink, piece->thread, row, 1, &line->query));
    }
    return r->sparse ? read_entries(r, row, line) : read_features(r, piece->thread, row, line);
}

static weft_status read_lines(void *self, row_piece *piece)
{
    return each_line(self, piece, read_line);
}

static table_sparse give_block(void *self)
{
    libsvm_reader *r = self;
    r->given = r->sparse;
    return r->sparse ? (table_sparse){.columns = r->columns,
                                      .base = r->base,
                                      .start = r->start,
                                      .index_bytes = sparse_index_bytes(r->columns)}
                     : (table_sparse){.columns = 0};
}

static int64_t file_row_libsvm(const void *self, int file)
{
    return row_source_file_row(((const libsvm_reader *)self)->rows, file);
}

static int64_t memory_libsvm(const void *self)
{
    const libsvm_reader *r = self;
    return row_source_memory(r->rows) + row_source_threads(r->rows) * (int64_t)sizeof(svm_facts);
}

static weft_status read_libsvm(void *self, int64_t first, int64_t count, table_sink *sink)
{
    libsvm_reader *r = self;
    assert(sink->schema->count == 1 + r->query + (r->sparse ? 0 : r->columns));
    assert(!r->sparse || (first >= r->first && first + count <= r->first + r->count));
    r->sink = sink;
    const weft_status status = row_source_read(r->rows, first, count, read_lines, r);
    r->sink = NULL;
    return status;
}

/* The first line that is not empty: a number, and pairs of which there is one at least. */
static bool is_libsvm(const reader_head *head)
{
    const char *end = memchr(head->text, '\n', head->bytes);
    char copy[READER_HEAD + TEXT_PAD] = "";
    svm_line line;
    int64_t index;
    double value;
    bool more = false;
    const size_t bytes = end != NULL ? (size_t)(end - head->text) : head->bytes;
    if (bytes >= READER_HEAD && end != NULL) {
        return false;
    }
    memcpy(copy, head->text, bytes);
    const weft_status begun = svm_line_begin(copy, copy + bytes, &line);
    const bool good =
        begun == WEFT_OK && (line.query.text != NULL || svm_line_next(&line, &index, &value, &more) == WEFT_OK);
    weft_error_clear();
    return good && (more || line.query.text != NULL);
}

const table_reader table_reader_libsvm = {
    .name = "libsvm",
    .description =
        "lines LABEL [qid:QUERY] INDEX:VALUE ..., as LIBSVM, XGBoost and LightGBM write them; also .gz and .xz",
    .recognise = is_libsvm,
    .open = open_libsvm,
    .begin = begin_libsvm,
    .sparse = give_block,
    .file_row = file_row_libsvm,
    .memory = memory_libsvm,
    .read = read_libsvm,
    .close = close_libsvm,
};
