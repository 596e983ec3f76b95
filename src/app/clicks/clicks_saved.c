/* app/clicks/clicks_saved.c: models of clicks on disk: weights.npz for what is dense, files of rows beside it. */
#include <string.h>

#include "app/clicks/clicks_job.h"
#include "base/file.h"
#include "base/log.h"
#include "clicks/data/click_names.h"
#include "embed/pool/key_sort.h"
#include "io/npy.h"

click_kind clicks_kind_of(const weft_options *options)
{
    const char *model = option_text(options, OPT_MODEL);
#define WORD(value, text) text,
    static const char *const word[] = {CLICK_MODELS(WORD)};
#undef WORD
    int kind = 0;
    while (kind < CLICK_KINDS && strcmp(word[kind], model) != 0) {
        ++kind;
    }
    return clicks_has_net(options) ? CLICK_PARTS : (click_kind)kind;
}

/* Nothing but the record of a run tells what its columns are. */
weft_status clicks_recognise(saved_model *model, const weft_options *given)
{
    name_list fields, numbers;
    (void)given;
    WEFT_CHECK(option_is_set(model->known, OPT_CLICK_COLUMNS), WEFT_ERR_DATA,
               "%s: its record does not say which columns it reads: name the run folder, or run.json must stand beside "
               "the weights",
               model->path);
    const weft_status status =
        click_names_parse(FLAG_CLICK_COLUMNS, option_text(model->known, OPT_CLICK_COLUMNS), &fields, &numbers);
    model->layers = 1;
    model->inputs = 0; /* columns are found by their names; means are of those of numbers */
    model->outputs = 1;
    name_list_free(&fields);
    name_list_free(&numbers);
    WEFT_TRY(status);
    return saved_model_show(model, OPT_LOSS, "bce");
}

/* ---- export ------------------------------------------------------------------------------------------------------ */

/* Rows of a model on their way into a file. */
typedef struct row_export {
    char folder[FILE_PATH_MAX];
    const char *prefix;
    embed_files files;
    file_writer *writer;
} row_export;

static weft_status put_keys(const uint64_t *key, const float *number, int64_t rows, void *context)
{
    (void)number;
    return file_write(((row_export *)context)->writer, key, (size_t)rows * sizeof *key);
}

static weft_status put_numbers(const uint64_t *key, const float *number, int64_t rows, void *context)
{
    (void)key;
    const row_export *x = context;
    const int64_t stride = x->files.width + x->files.linear;
    return file_write(x->writer, number, (size_t)(rows * stride) * sizeof *number);
}

static weft_status write_keys(void *self, file_writer *writer)
{
    row_export *x = self;
    x->writer = writer;
    return embed_files_visit(x->folder, x->prefix, put_keys, x);
}

static weft_status write_numbers(void *self, file_writer *writer)
{
    row_export *x = self;
    x->writer = writer;
    return embed_files_visit(x->folder, x->prefix, put_numbers, x);
}

static weft_status look_at_rows(const saved_model *model, row_export *x)
{
    bool best = false;
    WEFT_TRY(saved_model_folder(model, x->folder, &best));
    x->prefix = best ? CLICKS_BEST_ROWS : CLICKS_ROWS;
    WEFT_TRY(embed_files_look(x->folder, x->prefix, &x->files));
    const uint64_t mark = weights_mark(&model->weights);
    WEFT_CHECK(
        x->files.mark == mark || x->files.mark == 0 || mark == 0, WEFT_ERR_DATA,
        "%s: the rows beside these weights were not trained together with them: take weights and rows of one run "
        "or checkpoint",
        model->path);
    return WEFT_OK;
}

/* Keys and numbers of the rows as rows.key and rows.value, integers first, then the weights under their names. */
weft_status clicks_write_named(const saved_model *model, const char *path, const safetensors_text *texts, int count)
{
    enum { ROWS = 2 };
    const train_weights *weights = &model->weights;
    row_export x = {.writer = NULL};
    safetensors_item *items = NULL;
    WEFT_TRY(look_at_rows(model, &x));
    WEFT_TRY(WEFT_NEW_ZERO(&items, weights->count + ROWS, WEFT_MEM_WORKSPACE));
    items[0] = (safetensors_item){
        .name = "rows.key", .dims = 1, .shape = {x.files.rows}, .write = write_keys, .self = &x, .integers = true};
    items[1] = (safetensors_item){.name = "rows.value",
                                  .dims = 2,
                                  .shape = {x.files.rows, x.files.width + x.files.linear},
                                  .write = write_numbers,
                                  .self = &x};
    weights_items(weights, items + ROWS);
    const weft_status status = safetensors_write(path, items, weights->count + ROWS, texts, count);
    weft_free(items);
    return status;
}

/* ---- rows as arrays of NumPy ------------------------------------------------------------------------------------- */

/* Rows of all files: keys as they come, each with the place of its row. */
typedef struct row_arrays {
    int64_t stride, rows;
    key_pair *pair, *other; /* [rows] */
    float *number;          /* [rows, stride] */
} row_arrays;

static weft_status collect(const uint64_t *key, const float *number, int64_t rows, void *context)
{
    row_arrays *a = context;
    for (int64_t i = 0; i < rows; ++i) {
        a->pair[a->rows + i] = (key_pair){key[i], a->rows + i};
    }
    memcpy(a->number + a->rows * a->stride, number, (size_t)(rows * a->stride) * sizeof *number);
    a->rows += rows;
    return WEFT_OK;
}

/* Keys, or the rows, in the order of `pair`. */
static weft_status put_sorted(const row_arrays *a, bool keys, file_writer *writer)
{
    for (int64_t i = 0; i < a->rows; ++i) {
        WEFT_TRY(
            keys ? file_write(writer, &a->pair[i].key, sizeof a->pair[i].key)
                 : file_write(writer, a->number + a->pair[i].value * a->stride, (size_t)a->stride * sizeof *a->number));
    }
    return WEFT_OK;
}

static weft_status write_array(const row_arrays *a, bool keys, const char *path)
{
    const int64_t shape[] = {a->rows, a->stride};
    file_writer writer;
    WEFT_TRY(npy_writer_begin(path, keys ? 'u' : 'f', keys ? 8 : 4, keys ? 1 : 2, shape, &writer));
    const weft_status status = put_sorted(a, keys, &writer);
    if (status != WEFT_OK) {
        file_writer_discard(&writer);
        return status;
    }
    return file_writer_commit(&writer);
}

/* Rows by rising keys. The rows stand in memory meanwhile. */
weft_status clicks_write_rows(const saved_model *model, const char *path, const char *keys)
{
    row_export x = {.writer = NULL};
    WEFT_TRY(look_at_rows(model, &x));
    row_arrays a = {.stride = x.files.width + x.files.linear};
    weft_status status = WEFT_NEW(&a.pair, x.files.rows, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&a.other, x.files.rows, WEFT_MEM_WORKSPACE) : status;
    status = status == WEFT_OK ? WEFT_NEW(&a.number, x.files.rows * a.stride, WEFT_MEM_WORKSPACE) : status;
    status = status == WEFT_OK ? embed_files_visit(x.folder, x.prefix, collect, &a) : status;
    if (status == WEFT_OK && key_sort(a.pair, a.other, a.rows) == a.other) {
        key_pair *sorted = a.other;
        a.other = a.pair;
        a.pair = sorted;
    }
    status = status == WEFT_OK ? write_array(&a, true, keys) : status;
    status = status == WEFT_OK ? write_array(&a, false, path) : status;
    if (status == WEFT_OK) {
        log_info("%s, %s: %lld rows of %lld numbers by rising keys, from %s", path, keys, (long long)a.rows,
                 (long long)a.stride, x.folder);
    }
    WEFT_FREE_ALL(a.pair, a.other, a.number);
    return status;
}
