/* app/workload/saved_model.c: see app/workload/saved_model.h. */
#include "app/workload/saved_model.h"

#include <assert.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/setup/context.h"
#include "app/workload/app_catalog.h"
#include "app/workload/workload.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/log.h"
#include "io/json.h"
#include "io/text/path_name.h"
#include "table/table_options.def"
#include "train/checkpoint/checkpoint.h"

enum { JSON_MAX = 1 << 20 };

/* What makes a model what it is, whatever its kind: every form of it records these options, and a command may not
 * contradict them. The exceptions are the split and the target of the data that it was trained on, and those of its
 * kind (workload_ops.of_data), which are taken of other data where nobody asks for others. */
static const option_id recorded_of_all[] = {OPT_MODEL, OPT_LOSS, OPT_METRIC, OPT_SPLIT_INDEX, OPT_TARGET, OPTION_NONE};
static const option_id taken_of_data[] = {OPT_SPLIT_INDEX, OPT_TARGET, OPTION_NONE};

enum { RECORDED_MAX = 64 /* with the end of the list */ };

/* Every recorded option, of all kinds: whose a model is, its own record tells. */
typedef struct record_list {
    option_id id[RECORDED_MAX]; /* [count], then OPTION_NONE */
    int count;
} record_list;

static void add_ids(record_list *list, const option_id *id)
{
    for (; id != NULL && *id != OPTION_NONE; ++id) {
        assert(list->count < RECORDED_MAX - 1);
        list->id[list->count++] = *id;
    }
    list->id[list->count] = OPTION_NONE;
}

static record_list recorded(void)
{
    record_list list = {.count = 0};
    add_ids(&list, recorded_of_all);
    for (int i = 0; workload_list[i] != NULL; ++i) {
        add_ids(&list, workload_list[i]->recorded);
    }
    return list;
}

static bool is_of_inputs(option_id id)
{
    bool found = false;
    for (int i = 0; workload_list[i] != NULL; ++i) {
        found = found || option_id_listed(workload_list[i]->inputs, id);
    }
    return found;
}

static bool is_recorded(option_id id)
{
    const record_list list = recorded();
    return option_id_listed(list.id, id);
}

static bool same_value(const weft_options *a, const weft_options *b, option_id id)
{
    option_type type = option_row_in(a, id)->type;
    return type == OPTION_REAL ? option_real(a, id) == option_real(b, id)
                               : strcmp(option_value_text(a, id), option_value_text(b, id)) == 0;
}

/* ---- descriptions ---- */

static bool is_of_data(option_id id)
{
    bool found = option_id_listed(taken_of_data, id);
    for (int i = 0; workload_list[i] != NULL; ++i) {
        found = found || option_id_listed(workload_list[i]->of_data, id);
    }
    return found;
}

/* The first split is what all data have, and no target is named: a model of these asks for nothing. */
static weft_status note(saved_model *model, const char *origin, option_id id, const char *text)
{
    if (is_of_data(id) && strcmp(text, option_row_in(model->known, id)->default_text) == 0) {
        return WEFT_OK;
    }
    weft_status status = option_assign(model->known, option_row_in(model->known, id)->name, text);
    if (status == WEFT_ERR_USAGE) { /* nobody typed it */
        status = WEFT_ERR_DATA;
    }
    return status == WEFT_OK ? WEFT_OK : weft_fail_context(status, "%s: ", origin);
}

/* --loss auto followed the labels of the data: a run's record of them tells which. */
static weft_status note_loss(saved_model *model, const char *origin, const json_value *data)
{
    const json_value *classes = facts_value(data, FACT_CLASSES);
    if (option_choice(model->known, OPT_LOSS) != LOSS_AUTO || classes == NULL) {
        return WEFT_OK;
    }
    WEFT_CHECK(classes->kind == JSON_NUMBER && classes->integral && classes->integer >= 0, WEFT_ERR_DATA,
               "%s: the number of classes of the data is no number from 0 on", origin);
    return note(model, origin, OPT_LOSS, classes->integer > 0 ? "xent" : "bce");
}

/* The kind that is known, or else asked for. given: NULL where nobody asks. */
static const workload_ops *kind_of(const saved_model *model, const weft_options *given)
{
    return workload_of(given == NULL || option_is_set(model->known, OPT_MODEL) ? model->known : given);
}

/* A caller who wants the weights alone is told of the scaling of their inputs. */
static bool wants(option_id id, bool alone)
{
    return !alone || is_of_inputs(id);
}

static const char *name_of(const saved_model *model, option_id id)
{
    return option_row_in(model->known, id)->name;
}

static weft_status read_run(saved_model *model, const char *path, const json_value *root, bool alone)
{
    const json_value *options = json_find(root, "options");
    WEFT_CHECK(options != NULL && options->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: no options: not a run's record",
               path);
    const record_list list = recorded();
    for (int i = 0; i < list.count; ++i) {
        const json_value *option = wants(list.id[i], alone) ? json_find(options, name_of(model, list.id[i])) : NULL;
        const char *text = NULL;
        if (option != NULL) {
            WEFT_TRY(json_get_text(path, option, "value", &text));
            WEFT_TRY(note(model, path, list.id[i], text));
        }
    }
    if (alone) {
        return WEFT_OK;
    }
    bool older;
    const json_value *data = facts_data_of(root, &older);
    WEFT_TRY(class_names_from_json(path, data, &model->classes));
    return note_loss(model, path, data);
}

static weft_status describe_by_run(saved_model *model, bool alone)
{
    char path[FILE_PATH_MAX];
    json_document *document = NULL;
    const json_value *root = NULL;
    const char *slash = strrchr(model->path, '/');
    int folder = slash != NULL ? (int)(slash - model->path) + 1 : 0;
    WEFT_TRY(file_path(path, "%.*srun.json", folder, model->path));
    if (!file_exists(path)) {
        return WEFT_OK;
    }
    weft_status status = json_read_object(path, JSON_MAX, &document, &root);
    status = status == WEFT_OK ? read_run(model, path, root, alone) : status;
    json_free(document);
    if (alone && status == WEFT_ERR_DATA) { /* of another program, perhaps: the weights need no record */
        log_warn("%s: what it says of the inputs of %s is left out", weft_error_message(), model->path);
        weft_error_clear();
        status = WEFT_OK;
    }
    return status;
}

static weft_status describe_by_metadata(saved_model *model, const safetensors_file *file, bool alone)
{
    const record_list list = recorded();
    for (int i = 0; i < list.count; ++i) {
        char key[64];
        snprintf(key, sizeof key, "weft.%s", name_of(model, list.id[i]));
        const char *text = wants(list.id[i], alone) ? safetensors_metadata(file, key) : NULL;
        if (text != NULL) {
            WEFT_TRY(note(model, model->path, list.id[i], text));
        }
    }
    WEFT_TRY(input_moments_read_metadata(model->path, file, &model->weights.moments));
    return alone ? WEFT_OK : class_names_from_metadata(model->path, file, &model->classes);
}

/* ---- weights ---- */

/* All arrays but those of keys, under the names that they have in the file. */
static weft_status read_numbers(saved_model *model, safetensors_file *file)
{
    for (int i = 0; i < safetensors_count(file); ++i) {
        const safetensors_entry *entry = safetensors_entry_at(file, i);
        float *values = NULL;
        if (strchr(entry->dtype, 'F') != NULL) {
            WEFT_TRY(weights_add(&model->weights, model->path, entry->name, entry->dims, entry->shape, &values));
            WEFT_TRY(safetensors_read_f32(file, i, values));
        }
    }
    return WEFT_OK;
}

/* After the description, which may name the kind. */
static weft_status read_named(saved_model *model, safetensors_file *file, const weft_options *given)
{
    const char *told = given == NULL ? safetensors_metadata(file, "weft.model") : NULL;
    WEFT_TRY(told != NULL ? note(model, model->path, OPT_MODEL, told) : WEFT_OK);
    const workload_ops *ops = kind_of(model, given);
    if (ops->read_named == NULL && given == NULL) {
        return read_numbers(model, file);
    }
    WEFT_CHECK(ops->read_named != NULL, WEFT_ERR_DATA, "%s: safetensors files hold no models on %s", model->path,
               ops->field);
    return ops->read_named(file, model, given != NULL ? given : model->known);
}

static weft_status read_safetensors(saved_model *model, const weft_options *given, bool alone)
{
    safetensors_file *file = NULL;
    WEFT_TRY(safetensors_open(model->path, &file));
    weft_status status = describe_by_metadata(model, file, alone);
    status = status == WEFT_OK ? read_named(model, file, given) : status;
    safetensors_close(file);
    return status;
}

/* ---- files of a kind's own ---- */

enum { OWN_MAX = 1 << 30, HEAD_BYTES = 16 }; /* bytes of such a file, and of its beginning */

/* Does the file begin with one of these texts? */
static bool begins_with(const char *path, const char *const *head)
{
    char text[HEAD_BYTES];
    struct stat facts;
    int fd = -1;
    if (head == NULL || file_open(path, &fd, &facts) != WEFT_OK) {
        return false;
    }
    const ssize_t bytes = file_read_at(fd, 0, text, sizeof text);
    (void)close(fd);
    while (*head != NULL && (bytes < (ssize_t)strlen(*head) || memcmp(text, *head, strlen(*head)) != 0)) {
        ++head;
    }
    return *head != NULL;
}

static bool has_name(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash != NULL ? slash + 1 : path, name) == 0;
}

weft_status saved_model_folder(const saved_model *model, char folder[FILE_PATH_MAX], bool *best)
{
    const char *slash = strrchr(model->path, '/');
    *best = strcmp(slash != NULL ? slash + 1 : model->path, "best.npz") == 0;
    return slash != NULL ? file_path(folder, "%.*s", (int)(slash - model->path), model->path) : file_path(folder, ".");
}

bool saved_model_has_run_name(const char *path)
{
    bool has = has_name(path, "weights.npz");
    for (int i = 0; workload_list[i] != NULL && !has; ++i) {
        has = workload_list[i]->model_file != NULL && has_name(path, workload_list[i]->model_file);
    }
    return has;
}

/* Returns the kind whose model is the file of this name or with such a beginning, or NULL. */
static const workload_ops *kind_of_file(const char *path)
{
    for (int i = 0; workload_list[i] != NULL; ++i) {
        const char *own = workload_list[i]->model_file;
        if (own != NULL && (has_name(path, own) || begins_with(path, workload_list[i]->model_head))) {
            return workload_list[i];
        }
    }
    return NULL;
}

/* [out] path: the model of some kind in this folder; *found: there is one. */
static weft_status find_own(const char *folder, char path[FILE_PATH_MAX], bool *found)
{
    *found = false;
    for (int i = 0; workload_list[i] != NULL && !*found; ++i) {
        const char *own = workload_list[i]->model_file;
        if (own != NULL) {
            WEFT_TRY(file_path(path, "%s/%s", folder, own));
            *found = file_exists(path);
        }
    }
    return WEFT_OK;
}

/* Whoever starts a training from weights cannot use such a model. */
static weft_status read_own(saved_model *model, bool alone)
{
    WEFT_CHECK(!alone, WEFT_ERR_DATA, "%s: is a whole model, which has no weights to start from", model->path);
    return file_read_text(model->path, OWN_MAX, &model->own, &model->own_bytes);
}

/* ---- checkpoints ---- */

static weft_status describe_by_checkpoint(saved_model *model, const checkpoint *ck, bool alone)
{
    const record_list list = recorded();
    for (int i = 0; i < list.count; ++i) {
        const char *text = wants(list.id[i], alone) ? checkpoint_option(ck, name_of(model, list.id[i])) : NULL;
        if (text != NULL) {
            WEFT_TRY(note(model, checkpoint_path(ck), list.id[i], text));
        }
    }
    return WEFT_OK;
}

/* Its best parameters so far, or those after its last epoch. */
static weft_status read_opened(saved_model *model, const checkpoint *ck, bool best, bool alone)
{
    bool found = false;
    if (checkpoint_content(ck)[0] != '\0') {
        WEFT_TRY(find_own(checkpoint_path(ck), model->path, &found));
        WEFT_CHECK(found, WEFT_ERR_DATA,
                   "%s: holds the state of a training of %s, and no model of a kind that is known", checkpoint_path(ck),
                   checkpoint_content(ck));
        WEFT_TRY(read_own(model, alone));
        return describe_by_checkpoint(model, ck, alone);
    }
    WEFT_TRY(file_path(model->path, "%s/best.npz", checkpoint_path(ck)));
    if (!best || !file_exists(model->path)) {
        WEFT_TRY(file_path(model->path, "%s/last.npz", checkpoint_path(ck)));
    }
    WEFT_TRY(weights_read_npz(model->path, &model->weights));
    WEFT_TRY(checkpoint_moments(ck, &model->weights.moments));
    return describe_by_checkpoint(model, ck, alone);
}

/* The newest good checkpoint at `path`; a training that goes on may remove it as it is read. */
static weft_status read_checkpoint(saved_model *model, const char *path, bool best, bool alone)
{
    weft_status status = WEFT_ERR_NOINPUT;
    for (int tries = 0; status == WEFT_ERR_NOINPUT && tries < CHECKPOINT_TRIES; ++tries) {
        checkpoint *ck = NULL;
        weft_error_clear();
        WEFT_TRY(checkpoint_open(path, &ck));
        status = read_opened(model, ck, best, alone);
        checkpoint_close(ck);
    }
    return status;
}

/* ---- what the user named ---- */

static weft_status read_file(saved_model *model, const weft_options *given, bool alone)
{
    if (path_ends(model->path, ".safetensors")) {
        return read_safetensors(model, given, alone);
    }
    if (kind_of_file(model->path) != NULL) {
        WEFT_TRY(read_own(model, alone));
        return describe_by_run(model, alone);
    }
    WEFT_TRY(weights_read_npz(model->path, &model->weights));
    return describe_by_run(model, alone);
}

/* A run that has not ended has no weights.npz: its newest checkpoint knows the best ones so far. */
static weft_status read_model(saved_model *model, const char *path, const weft_options *given, bool alone)
{
    const bool folder = path_is_folder(path);
    char record[FILE_PATH_MAX];
    WEFT_TRY(file_path(model->path, folder ? "%s/weights.npz" : "%s", path));
    bool found = !folder || file_exists(model->path);
    if (!found) {
        WEFT_TRY(find_own(path, model->path, &found));
    }
    if (found) {
        return read_file(model, given, alone);
    }
    WEFT_TRY(file_path(record, "%s/run.json", path));
    return read_checkpoint(model, path, file_exists(record), alone);
}

/* ---- names of classes ---- */

static weft_status name_by_record(saved_model *model, const char *record)
{
    bool older;
    json_document *document = NULL;
    const json_value *root = NULL;
    WEFT_TRY(json_read_object(record, JSON_MAX, &document, &root));
    weft_status status = class_names_from_json(record, facts_data_of(root, &older), &model->classes);
    json_free(document);
    return status;
}

static weft_status name_by_metadata(saved_model *model)
{
    safetensors_file *file = NULL;
    WEFT_TRY(safetensors_open(model->path, &file));
    weft_status status = class_names_from_metadata(model->path, file, &model->classes);
    safetensors_close(file);
    return status;
}

/* The record of the run that a file belongs to: beside it, or two folders above a checkpoint's. */
static weft_status find_record(const char *path, char record[FILE_PATH_MAX])
{
    char whole[PATH_MAX];
    char *folder = realpath(path, whole) != NULL ? strrchr(whole, '/') : NULL;
    if (folder == NULL) {
        return file_path(record, "%s", "");
    }
    *folder = '\0';
    char *above = strrchr(whole, '/');
    if (above != NULL) {
        *above = '\0';
        const bool in_checkpoint = path_ends(whole, "/ckpt");
        *above = '/';
        if (in_checkpoint) {
            whole[above - whole - (ptrdiff_t)strlen("/ckpt")] = '\0';
        }
    }
    return file_path(record, "%s/run.json", whole);
}

/* The names that come with the weights, unless they were read with a description. */
static weft_status name_classes(saved_model *model)
{
    char record[FILE_PATH_MAX];
    if (model->classes.text != NULL) {
        return WEFT_OK;
    }
    if (path_ends(model->path, ".safetensors")) {
        return name_by_metadata(model);
    }
    WEFT_TRY(find_record(model->path, record));
    return record[0] != '\0' && file_exists(record) ? name_by_record(model, record) : WEFT_OK;
}

/* ---- what the options of the command add ---- */

static weft_status check_given(const saved_model *model, const weft_options *given)
{
    const record_list list = recorded();
    for (int i = 0; i < list.count; ++i) {
        option_id id = list.id[i];
        const char *name = name_of(model, id);
        bool asked = !is_of_data(id) && option_applies(option_command_of(given), id) && option_is_set(given, id);
        WEFT_CHECK(!asked || !option_is_set(model->known, id) || same_value(given, model->known, id), WEFT_ERR_USAGE,
                   "--%s %s (%s): %s was made with %s %s: leave --%s out", name,
                   escape_short(option_value_text(given, id)).text, option_source_text(option_source_of(given, id)),
                   model->path, name, escape_short(option_value_text(model->known, id)).text, name);
    }
    return WEFT_OK;
}

/* A description that says otherwise belongs to other weights. */
weft_status saved_model_show(saved_model *model, option_id id, const char *text)
{
    bool told = option_is_set(model->known, id);
    WEFT_CHECK(!told || strcmp(option_value_text(model->known, id), text) == 0, WEFT_ERR_DATA,
               "%s: the weights are those of %s %s, but their description says %s", model->path, name_of(model, id),
               text, option_value_text(model->known, id));
    return note(model, model->path, id, text);
}

static weft_status create(const weft_options *given, saved_model **model)
{
    const option_command *train = NULL;
    WEFT_TRY(option_command_find(given != NULL ? option_catalog_of(given) : app_catalog(), "train", &train));
    WEFT_TRY(WEFT_NEW_ZERO(model, 1, WEFT_MEM_GENERAL));
    return option_create(train, &(*model)->known);
}

/* Means and deviations are there because the features were standardised. */
static weft_status show_scaling(saved_model *model, const workload_ops *ops)
{
    const int64_t columns = model->weights.moments.columns;
    if (columns == 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(model->inputs == 0 || model->inputs == columns, WEFT_ERR_DATA,
               "%s: means and deviations of %lld features, and the weights are for %lld", model->path,
               (long long)columns, (long long)model->inputs);
    return ops->show_moments != NULL ? ops->show_moments(model) : WEFT_OK;
}

/* A whole model alone does not say its kind to the options, and another kind would look for weights in it. */
static weft_status check_kind(const saved_model *model, const workload_ops *ops)
{
    const workload_ops *own = model->own != NULL ? kind_of_file(model->path) : NULL;
    WEFT_CHECK(own == NULL || ops->model_file != NULL, WEFT_ERR_USAGE,
               "%s: is a model on %s, and was taken for one on %s: --model says what it is", model->path, own->field,
               ops->field);
    return WEFT_OK;
}

weft_status saved_model_open(const char *path, const weft_options *given, saved_model **model)
{
    WEFT_TRY(create(given, model));
    WEFT_TRY(read_model(*model, path, given, false));
    WEFT_TRY(name_classes(*model));
    const workload_ops *ops = kind_of(*model, given);
    WEFT_TRY(check_kind(*model, ops));
    WEFT_TRY(ops->recognise(*model, given));
    WEFT_TRY(show_scaling(*model, ops));
    return check_given(*model, given);
}

weft_status saved_model_open_weights(const char *path, const weft_options *given, saved_model **model)
{
    WEFT_TRY(create(given, model));
    WEFT_TRY(read_model(*model, path, given, true));
    WEFT_TRY(name_classes(*model));
    return given != NULL ? show_scaling(*model, kind_of(*model, given)) : WEFT_OK;
}

bool saved_model_agrees(const saved_model *model, const weft_options *options)
{
    const record_list list = recorded();
    for (int i = 0; i < list.count; ++i) {
        const option_id id = list.id[i];
        if (!is_of_data(id) && !is_of_inputs(id) && option_is_set(model->known, id) &&
            !same_value(model->known, options, id)) {
            return false;
        }
    }
    return true;
}

void saved_model_close(saved_model *model)
{
    if (model != NULL) {
        weights_destroy(&model->weights);
        weft_free(model->own);
        option_destroy(model->known);
        name_list_free(&model->classes);
        weft_free(model);
    }
}

static weft_status share_own(weft_comm *comm, saved_model *m)
{
    WEFT_TRY(comm_agree(comm, comm_rank(comm) == 0 ? WEFT_OK : WEFT_NEW(&m->own, m->own_bytes, WEFT_MEM_GENERAL)));
    return comm_bcast(comm, 0, m->own, (int64_t)m->own_bytes);
}

weft_status saved_model_share(weft_comm *comm, saved_model **model)
{
    bool first = comm_rank(comm) == 0;
    weft_options *received = NULL;
    weft_status status = first ? WEFT_OK : WEFT_NEW_ZERO(model, 1, WEFT_MEM_GENERAL);
    WEFT_TRY(comm_agree(comm, status));
    saved_model *m = *model;
    WEFT_TRY(comm_bcast(comm, 0, m->path, (int64_t)sizeof m->path));
    WEFT_TRY(comm_bcast(comm, 0, &m->layers, (int64_t)sizeof m->layers));
    WEFT_TRY(comm_bcast(comm, 0, &m->inputs, (int64_t)sizeof m->inputs));
    WEFT_TRY(comm_bcast(comm, 0, &m->outputs, (int64_t)sizeof m->outputs));
    WEFT_TRY(comm_bcast(comm, 0, &m->own_bytes, (int64_t)sizeof m->own_bytes));
    WEFT_TRY(app_share_options(comm, app_catalog(), m->known, &received));
    m->known = received != NULL ? received : m->known;
    return m->own_bytes > 0 ? share_own(comm, m) : weights_share(comm, &m->weights);
}

weft_status saved_model_options(const saved_model *model, const weft_options *given, weft_options **options)
{
    weft_status status = WEFT_OK;
    const option_command *train = option_command_of(model->known);
    WEFT_TRY(option_create(train, options));
    for (int i = 0; i < option_count(given); ++i) {
        const option_id id = option_at(given, i);
        bool known = is_recorded(id) && option_is_set(model->known, id);
        const bool other = option_applies(option_command_of(given), id) && option_is_set(given, id);
        if (is_of_data(id) && known && !other) { /* no wish: the data may have no such */
            WEFT_TRY_GOTO(option_decide(*options, id, option_value_text(model->known, id)), status, done);
            continue;
        }
        known = known && !is_of_data(id);
        const weft_options *from = known ? model->known : given;
        if (option_applies(train, id) && option_applies(option_command_of(from), id) && option_is_set(from, id) &&
            option_allowed_from(id, OPTION_FILE)) {
            WEFT_TRY_GOTO(option_assign(*options, name_of(model, id), option_value_text(from, id)), status, done);
        }
    }
done:
    if (status != WEFT_OK) {
        option_destroy(*options);
        *options = NULL;
    }
    return status;
}

static bool concerns(const workload_ops *ops, const saved_model *model, option_id id)
{
    return option_serves(option_row_in(model->known, id), ops->options->traits);
}

weft_status saved_model_export(const saved_model *model, const char *path)
{
    weft_status status = WEFT_OK;
    const workload_ops *ops = workload_of(model->known);
    safetensors_text *texts = NULL;
    const record_list list = recorded();
    char keys[RECORDED_MAX][64], *class_keys = NULL, *numbers = NULL;
    int count = 0, moments = 0;
    WEFT_TRY_GOTO(WEFT_NEW(&texts, list.count + 1 + INPUT_MOMENTS_TEXTS + model->classes.count, WEFT_MEM_GENERAL),
                  status, done);
    texts[count++] = (safetensors_text){"format", "pt"};
    for (int i = 0; i < list.count; ++i) {
        if (option_is_set(model->known, list.id[i]) && concerns(ops, model, list.id[i])) {
            snprintf(keys[i], sizeof keys[i], "weft.%s", name_of(model, list.id[i]));
            texts[count++] = (safetensors_text){keys[i], option_value_text(model->known, list.id[i])};
        }
    }
    WEFT_TRY_GOTO(class_names_to_metadata(&model->classes, texts + count, &class_keys), status, done);
    count += (int)model->classes.count;
    WEFT_TRY_GOTO(input_moments_to_metadata(path, &model->weights.moments, texts + count, &moments, &numbers), status,
                  done);
    count += moments;
    WEFT_CHECK_GOTO(ops->write_named != NULL, status, done, WEFT_ERR_UNSUPPORTED,
                    "%s: safetensors files hold no models on %s", model->path, ops->field);
    status = ops->write_named(model, path, texts, count);
done:
    WEFT_FREE_ALL(class_keys, numbers, texts);
    return status;
}
