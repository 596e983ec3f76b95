/* app/focus/focus_network.c: see app/focus/focus_network.h. */
#include "app/focus/focus_network.h"

#include <inttypes.h>
#include <string.h>

#include "app/workload/class_match.h"
#include "base/log.h"
#include "base/number.h"

/* Two sums of 64 bits make the hash. */
static void mix(uint64_t sum[2], const void *data, size_t bytes)
{
    for (uint64_t i = 0; i < 2; ++i) {
        sum[i] = file_checksum(data, bytes, sum[i] + i);
    }
}

static void mix_text(uint64_t sum[2], const char *text)
{
    mix(sum, text, strlen(text) + 1);
}

void focus_network_hash(const predictor *p, char hash[FOCUS_HASH_BYTES])
{
    const saved_model *m = p->model;
    const option_id *recorded = workload_of(p->options)->recorded, *of_data = workload_of(p->options)->of_data;
    uint64_t sum[2] = {1, 2};
    mix_text(sum, option_text(p->options, OPT_MODEL));
    for (int i = 0; recorded != NULL && recorded[i] != OPTION_NONE; ++i) {
        if (!option_id_listed(of_data, recorded[i])) {
            mix_text(sum, option_value_text(p->options, recorded[i]));
        }
    }
    for (int64_t i = 0; i < m->classes.count; ++i) {
        mix_text(sum, m->classes.text[i]);
    }
    for (int i = 0; i < m->weights.count; ++i) {
        const train_weight *weight = &m->weights.item[i];
        mix_text(sum, weight->name);
        mix(sum, weight->values, (size_t)(weight->rows * weight->cols) * sizeof *weight->values);
    }
    if (m->own != NULL) {
        mix(sum, m->own, m->own_bytes);
    }
    snprintf(hash, FOCUS_HASH_BYTES, "%016" PRIx64 "%016" PRIx64, sum[0], sum[1]);
}

weft_status focus_network_check(const predictor *p)
{
    const train_targets *targets = p->work->targets;
    const workload_ops *ops = p->work->ops;
    WEFT_CHECK(
        ops->answers_some, WEFT_ERR_UNSUPPORTED,
        "%s: models on %s answer for all of their data at once, so that an index saves nothing: use weft predict",
        p->model->path, ops->field);
    WEFT_CHECK(targets->loss == TRAIN_LOSS_XENT, WEFT_ERR_UNSUPPORTED,
               "%s: does not answer with one class for each of the %s, so there is no index of its classes",
               p->model->path, ops->rows);
    WEFT_CHECK(targets->outputs <= FOCUS_CLASSES_MAX, WEFT_ERR_UNSUPPORTED,
               "%s: has %lld classes; an index has at most %d", p->model->path, (long long)targets->outputs,
               FOCUS_CLASSES_MAX);
    return WEFT_OK;
}

static int64_t find_name(const name_list *names, const char *name)
{
    for (int64_t i = 0; names->text != NULL && i < names->count; ++i) {
        if (strcmp(names->text[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static bool has_class(const name_list *names, int64_t classes, const char *name)
{
    int64_t number = -1;
    return names->text != NULL ? find_name(names, name) >= 0
                               : number_parse_int(name, &number) && number >= 0 && number < classes;
}

weft_status focus_network_indexed(const name_list *indexed, int64_t classes, const char *of, const name_list *expensive,
                                  int64_t all, const char *name, int64_t *class)
{
    int64_t others = -1, unknown = 0;
    for (int64_t i = 0; indexed->text != NULL && i < indexed->count; ++i) {
        const bool known = has_class(expensive, all, indexed->text[i]);
        unknown += !known;
        others = known ? others : i;
    }
    if (unknown == 1 && find_name(indexed, name) < 0 && has_class(expensive, all, name)) {
        log_info("%s: does not tell %s from others: it is looked for in %s", of, name, indexed->text[others]);
        *class = others;
        return WEFT_OK;
    }
    return focus_network_class(indexed, classes, of, name, class);
}

weft_status focus_network_class(const name_list *names, int64_t classes, const char *of, const char *name,
                                int64_t *class)
{
    char list[CLASS_LIST_BYTES];
    const bool named = names->text != NULL;
    const class_side side = {of, named ? (const char *const *)names->text : NULL, classes};
    *class = find_name(names, name);
    if (*class >= 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(!named && number_parse_int(name, class) && *class >= 0 && *class < classes, WEFT_ERR_USAGE,
               FLAG_FOCUS_CLASS " %s: is no class of %s: it knows %s", name, of, class_side_list(&side, list));
    return WEFT_OK;
}
