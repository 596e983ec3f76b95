/* app/gnn/form_record.c: see app/gnn/form_record.h. */
#include "app/gnn/form_record.h"

#include <assert.h>
#include <string.h>

#include "base/text/append.h"
#include "base/version.h"
#include "io/json.h"
#include "machine/cache.h"

#define FORMS_FORMAT "weft-forms 4"

enum { RECORD_MOST_BYTES = 1 << 16, CHECK_BYTES = FORM_KEY_BYTES + 2048 };
static const double most_seconds = 1e6;
static const int32_t most_trials = 3;
static const double close_by = 1.15; /* times the seconds of the chosen form: seen to turn round from hour to hour */
static const double loses = 1.3;     /* times what was told: another form would have been taken */
static const double quicker = 0.9;   /* less may be noise */

weft_status form_record_path(const char *key, char path[FILE_PATH_MAX])
{
    char text[FORM_KEY_BYTES + 256], hash[33], name[64];
    const int length = snprintf(text, sizeof text, "%s|%s|%s", FORMS_FORMAT, version_program(), key);
    assert(length > 0 && (size_t)length < sizeof text);
    file_hash(text, (size_t)length, hash);
    snprintf(name, sizeof name, "forms-%.16s.json", hash);
    return cache_path(name, path);
}

static void check_of(const char *key, const form_record *record, char check[33])
{
    char text[CHECK_BYTES];
    snprintf(text, sizeof text, "%s|%s|%s|%s|%d|%a", FORMS_FORMAT, version_program(), key, record->forms,
             (int)record->trials, record->epoch);
    for (int role = 0; role < GNN_FORMS; ++role) {
        for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; ++form) {
            text_append(text, sizeof text, "|%a", record->seconds[role][form]);
        }
    }
    if (record->others > 0.0) {
        text_append(text, sizeof text, "|others %a", record->others);
    }
    assert(strlen(text) + 1 < sizeof text); /* nothing was cut off */
    file_hash(text, strlen(text), check);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */
static weft_status read_role(const char *path, const json_value *list, int role, double seconds[HAL_SPMM_KINDS])
{
    int form = HAL_SPMM_ROWS;
    WEFT_CHECK(list->kind == JSON_ARRAY, WEFT_ERR_DATA, "%s: \"seconds\": entry %d must be an array", path, role);
    for (const json_value *at = list->child; at != NULL; at = at->next, ++form) {
        WEFT_CHECK(form < HAL_SPMM_KINDS && at->kind == JSON_NUMBER && at->number >= 0.0 && at->number <= most_seconds,
                   WEFT_ERR_DATA, "%s: \"seconds\": entry %d must be %d numbers from 0 to %g", path, role,
                   (int)HAL_SPMM_KINDS - 1, most_seconds);
        seconds[form] = at->number;
    }
    WEFT_CHECK(form == HAL_SPMM_KINDS, WEFT_ERR_DATA, "%s: \"seconds\": entry %d has %d numbers instead of %d", path,
               role, form - 1, (int)HAL_SPMM_KINDS - 1);
    return WEFT_OK;
}

static weft_status read_seconds(const char *path, const json_value *root, form_record *record)
{
    const json_value *list = json_find(root, "seconds");
    int role = 0;
    WEFT_CHECK(list != NULL && list->kind == JSON_ARRAY, WEFT_ERR_DATA, "%s: \"seconds\" must be an array", path);
    for (const json_value *at = list->child; at != NULL; at = at->next, ++role) {
        WEFT_CHECK(role < GNN_FORMS, WEFT_ERR_DATA, "%s: \"seconds\" has more than %d entries", path, (int)GNN_FORMS);
        WEFT_TRY(read_role(path, at, role, record->seconds[role]));
    }
    WEFT_CHECK(role == GNN_FORMS, WEFT_ERR_DATA, "%s: \"seconds\" has %d entries instead of %d", path, role,
               (int)GNN_FORMS);
    return WEFT_OK;
}

static bool are_letters(const char *forms)
{
    int count = 0;
    while (count < GNN_FORMS && gnn_form_is_letter(forms[count])) {
        ++count;
    }
    return count == GNN_FORMS && forms[count] == '\0';
}

static weft_status read_root(const char *path, const json_value *root, const char *key, form_record *record)
{
    const char *forms = NULL;
    char check[33];
    int64_t trials = 0;
    form_record read = {.epoch = 0.0};
    WEFT_TRY(json_expect_text(path, root, "format", FORMS_FORMAT));
    WEFT_TRY(json_expect_text(path, root, "weft", version_program()));
    WEFT_TRY(json_expect_text(path, root, "key", key));
    WEFT_TRY(json_get_text(path, root, "forms", &forms));
    WEFT_CHECK(are_letters(forms), WEFT_ERR_DATA, "%s: \"forms\" must be %d first letters of %s, or -", path,
               (int)GNN_FORMS, CHOICE_WORDS(HAL_SPMM_MADE));
    memcpy(read.forms, forms, GNN_FORMS);
    WEFT_TRY(read_seconds(path, root, &read));
    WEFT_TRY(json_get_int(path, root, "trials", 1, most_trials, &trials));
    read.trials = (int32_t)trials;
    if (json_find(root, "epoch_s") != NULL) {
        WEFT_TRY(json_get_amount(path, root, "epoch_s", most_seconds, "seconds", &read.epoch));
    }
    if (json_find(root, "others_cpus") != NULL) {
        WEFT_TRY(json_get_amount(path, root, "others_cpus", 1e6, "CPUs", &read.others));
    }
    check_of(key, &read, check);
    WEFT_TRY(json_expect_text(path, root, "check", check));
    *record = read;
    return WEFT_OK;
}

weft_status form_record_read(const char *path, const char *key, form_record *record)
{
    json_document *document = NULL;
    const json_value *root = NULL;
    WEFT_TRY(json_read_object(path, RECORD_MOST_BYTES, &document, &root));
    weft_status status = read_root(path, root, key, record);
    json_free(document);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */
weft_status form_record_write(const char *path, const char *key, const form_record *record)
{
    file_writer writer;
    char check[33];
    check_of(key, record, check);
    WEFT_TRY(cache_make_parent(path));
    WEFT_TRY(file_writer_open(path, &writer));
    json_writer json = json_begin(writer.stream, false);
    json_object(&json, NULL);
    json_text(&json, "format", FORMS_FORMAT);
    json_text(&json, "weft", version_program());
    json_text(&json, "key", key);
    json_text(&json, "forms", record->forms);
    json_array(&json, "seconds");
    for (int role = 0; role < GNN_FORMS; ++role) {
        json_array(&json, NULL);
        for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; ++form) {
            json_real(&json, NULL, record->seconds[role][form]);
        }
        json_end(&json);
    }
    json_end(&json);
    json_int(&json, "trials", record->trials);
    if (record->epoch > 0.0) {
        json_real(&json, "epoch_s", record->epoch);
    }
    if (record->others > 0.0) {
        json_real(&json, "others_cpus", record->others);
    }
    json_text(&json, "check", check);
    json_end(&json);
    json_line_end(&json);
    return file_writer_commit(&writer);
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */
bool form_record_is_close(const form_record *record)
{
    bool close = false;
    for (int role = 0; role < GNN_FORMS; ++role) {
        const double *seconds = record->seconds[role];
        const hal_spmm_form chosen = gnn_form_of(record->forms[role], HAL_SPMM_AUTO);
        for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; ++form) {
            close = close || (chosen != HAL_SPMM_AUTO && form != (int)chosen && seconds[form] > 0.0 &&
                              seconds[form] <= close_by * seconds[chosen]);
        }
    }
    return close && record->trials < most_trials;
}

void form_record_add(form_record *record, const gnn_form_figures *trial)
{
    static const double no_rule[HAL_SPMM_KINDS] = {0.0};
    const form_record before = *record;
    memcpy(record->forms, trial->taken, sizeof record->forms);
    ++record->trials;
    for (int role = 0; role < GNN_FORMS; ++role) {
        bool both = false;
        for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_KINDS; ++form) {
            const double old = before.seconds[role][form], now = trial->seconds[role][form];
            both = both || (old > 0.0 && now > 0.0);
            record->seconds[role][form] = old > 0.0 && (now == 0.0 || old < now) ? old : now;
        }
        if (both) {
            record->forms[role] = gnn_form_letter(hal_spmm_pick(record->seconds[role], no_rule));
        }
    }
    record->epoch = memcmp(record->forms, before.forms, sizeof before.forms) == 0 ? before.epoch : 0.0;
}

/* ---- judging ----------------------------------------------------------------------------------------------------- */
form_verdict form_record_judge(const form_record *record, double epoch)
{
    if (epoch <= 0.0) {
        return FORM_STANDS;
    }
    if (record->epoch == 0.0 || epoch < quicker * record->epoch) {
        return FORM_TELLS;
    }
    return epoch > loses * record->epoch ? FORM_LOSES : FORM_STANDS;
}
