/* app/setup/choices.c: see app/setup/choices.h. */
#include "app/setup/choices.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/setup/sync_setup.h"
#include "base/alloc.h"
#include "comm/coll/coll.h"

static bool chooses_allreduce(const app_context *context)
{
    return comm_size(context->comm) > 1 && option_is_auto(context->options, OPT_ALLREDUCE) &&
           !option_flag(context->options, OPT_REPRODUCIBLE);
}

static bool chooses_exchange(const app_context *context)
{
    const sync_mode mode = option_choice(context->options, OPT_SYNC);
    const bool topk = mode == SYNC_TOPK || (mode == SYNC_AUTO && option_flag(context->options, OPT_ALLOW_LOSSY));
    return comm_size(context->comm) > 1 && topk && option_is_auto(context->options, OPT_TOPK_EXCHANGE);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */
static comm_algorithm algorithm_named(const char *name, size_t length)
{
    for (int a = COMM_ALGO_AUTO + 1; coll_algorithm_of((comm_algorithm)a) != NULL; ++a) {
        const char *known = comm_algorithm_name((comm_algorithm)a);
        if (strlen(known) == length && strncmp(known, name, length) == 0) {
            return (comm_algorithm)a;
        }
    }
    return COMM_ALGO_AUTO;
}

static weft_status parse_allreduce(const char *name, size_t length, comm_algorithm *algorithm)
{
    *algorithm = algorithm_named(name, length);
    WEFT_CHECK(*algorithm != COMM_ALGO_AUTO, WEFT_ERR_USAGE,
               "--choices: allreduce=%.*s is none of --allreduce's algorithms", (int)length, name);
    return WEFT_OK;
}

/* EXCHANGE:DENSITY:ALGORITHM */
static weft_status parse_topk(const char *text, size_t length, sparse_choice *choice)
{
    char *behind = NULL;
    const size_t named = strcspn(text, ": ");
    *choice = (sparse_choice){.exchange = SPARSE_AUTO};
    for (int x = SPARSE_AUTO + 1; x <= SPARSE_ALL_GATHER; ++x) {
        const char *known = sparse_exchange_name((sparse_exchange)x);
        if (strlen(known) == named && strncmp(known, text, named) == 0) {
            choice->exchange = (sparse_exchange)x;
        }
    }
    if (choice->exchange != SPARSE_AUTO && text[named] == ':') {
        choice->dense_from = strtod(text + named + 1, &behind);
        if (behind < text + length && *behind == ':') {
            choice->allreduce = algorithm_named(behind + 1, length - (size_t)(behind + 1 - text));
        }
    }
    WEFT_CHECK(choice->allreduce != COMM_ALGO_AUTO && choice->dense_from >= 0.0 && choice->dense_from <= 1.0,
               WEFT_ERR_USAGE,
               "--choices: topk=%.*s has to be EXCHANGE:DENSITY:ALGORITHM, of --topk-exchange, from 0 to 1, of "
               "--allreduce",
               (int)length, text);
    return WEFT_OK;
}

/* Copies the code of this rank: number `rank` of those, or the only one. */
static weft_status take_code(const choice_kind *own, const char *codes, int length, int rank, int ranks,
                             char code[CHOICE_CODE_BYTES])
{
    int count = 0;
    for (const char *at = codes, *end = codes + length; at < end; ++count) {
        const int bytes = (int)strcspn(at, ", ");
        char each[CHOICE_CODE_BYTES];
        snprintf(each, sizeof each, "%.*s", bytes, at);
        WEFT_TRY(bytes < CHOICE_CODE_BYTES ? own->check(each) : own->check(""));
        if (count == 0 || count == rank) {
            memcpy(code, each, sizeof each);
        }
        at += bytes + (at + bytes < end);
    }
    WEFT_CHECK(count == 1 || count == ranks, WEFT_ERR_USAGE, "%d codes", count);
    return WEFT_OK;
}

static weft_status parse_own(const choice_kind *own, const char *codes, int length, int rank, int ranks,
                             char code[CHOICE_CODE_BYTES])
{
    const weft_status status = take_code(own, codes, length, rank, ranks, code);
    if (status == WEFT_OK) {
        return WEFT_OK;
    }
    char reason[256];
    snprintf(reason, sizeof reason, "%s", weft_error_message());
    return weft_fail(status, "--choices: %s=%.40s: one code is needed, or one for each of the %d ranks: %s", own->key,
                     codes, ranks, reason);
}

static weft_status parse_part(const char *text, size_t length, const choice_kind *own, int rank, int ranks,
                              run_choices *choices)
{
    const size_t key = strcspn(text, "= ");
    const char *value = text + key + 1;
    const size_t rest = key < length ? length - key - 1 : 0;
    if (rest > 0 && key == 9 && strncmp(text, "allreduce", key) == 0) {
        return parse_allreduce(value, rest, &choices->allreduce);
    }
    if (rest > 0 && key == 4 && strncmp(text, "topk", key) == 0) {
        return parse_topk(value, rest, &choices->topk);
    }
    if (rest > 0 && own != NULL && strlen(own->key) == key && strncmp(text, own->key, key) == 0) {
        return parse_own(own, value, (int)rest, rank, ranks, choices->own);
    }
    return weft_fail(
        WEFT_ERR_USAGE,
        "--choices: %.*s is none of allreduce=NAME, topk=EXCHANGE:DENSITY:NAME%s%s%s, as run.json of a run has them",
        (int)length, text, own != NULL ? " and " : "", own != NULL ? own->key : "", own != NULL ? "=CODES" : "");
}

static bool chooses_own(const app_context *context, const choice_kind *own)
{
    return own != NULL && option_is_auto(context->options, own->option);
}

weft_status choices_of(const app_context *context, const choice_kind *own, run_choices *choices)
{
    const char *text = option_text(context->options, OPT_CHOICES);
    *choices = (run_choices){.allreduce = COMM_ALGO_AUTO, .topk.exchange = SPARSE_AUTO};
    while (*text != '\0') {
        const size_t length = strcspn(text, " ");
        WEFT_TRY(parse_part(text, length, own, comm_rank(context->comm), comm_size(context->comm), choices));
        text += length;
        text += strspn(text, " ");
    }
    choices->allreduce = chooses_allreduce(context) ? choices->allreduce : COMM_ALGO_AUTO;
    choices->topk.exchange = chooses_exchange(context) ? choices->topk.exchange : SPARSE_AUTO;
    choices->own[0] = chooses_own(context, own) ? choices->own[0] : '\0';
    return WEFT_OK;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */
static size_t text_bytes(const weft_comm *comm)
{
    return 160 + (size_t)comm_size(comm) * CHOICE_CODE_BYTES;
}

weft_status choices_adopt(app_context *context, const char *text)
{
    return option_text(context->options, OPT_CHOICES)[0] != '\0'
               ? WEFT_OK
               : app_decide_shared(context->comm, context->decided, OPT_CHOICES, text);
}

/* The all-reduce of most of the gradient's buckets, which are of this length. */
static comm_algorithm allreduce_for(const app_context *context, const sync_options *sync, int64_t count)
{
    const comm_layout *layout = comm_get_layout(context->comm);
    const coll_place place = {.size = comm_size(context->comm),
                              .layout = layout,
                              .model = comm_get_model(context->comm),
                              .wire = layout->nodes == 1 ? COMM_WIRE_SAME : sync->wire,
                              .half = sync->overlap == OVERLAP_SPLIT ? COMM_REDUCE_SCATTER : COMM_WHOLE,
                              .shared_memory = true};
    return coll_choose_form(&place, count, (int64_t)sizeof(float))->id;
}

/* What is chosen for buckets of this many elements. device: gradients of all ranks are on devices. */
static size_t append_sync(const app_context *context, bool device, int64_t gradient_bytes, char *text)
{
    const sync_options sync = sync_options_of(context->options, SYNC_SHARDS_REGIONS);
    const int64_t bytes = gradient_bytes < sync.bucket_bytes ? gradient_bytes : sync.bucket_bytes;
    const int64_t count = bytes / (int64_t)sizeof(float);
    size_t used = 0;
    if (chooses_allreduce(context)) {
        used = (size_t)sprintf(text, "allreduce=%s", comm_algorithm_name(allreduce_for(context, &sync, count)));
    }
    if (chooses_exchange(context)) {
        const bool windowed = comm_get_layout(context->comm)->most > 1;
        const int64_t most = (int64_t)ceil(sync.topk.density * (double)count);
        const bool fits = device && sparse_fits_device(SPARSE_AUTO, sync.topk.select.method, sync.topk.values);
        const sparse_choice topk = sparse_choose(context->comm, fits, windowed, count, most, sync.topk.values);
        used +=
            (size_t)sprintf(text + used, "%stopk=%s:%.6g:%s", used > 0 ? " " : "", sparse_exchange_name(topk.exchange),
                            topk.dense_from, comm_algorithm_name(topk.allreduce));
    }
    return used;
}

/* codes: [P][CHOICE_CODE_BYTES]. One for all when they are alike. */
static void append_codes(const char *codes, int ranks, char *text)
{
    size_t used = 0;
    bool alike = true;
    for (int r = 1; r < ranks; ++r) {
        alike = alike && strcmp(codes, codes + (size_t)r * CHOICE_CODE_BYTES) == 0;
    }
    for (int r = 0; r < (alike ? 1 : ranks); ++r) {
        used += (size_t)sprintf(text + used, "%s%s", r > 0 ? "," : "", codes + (size_t)r * CHOICE_CODE_BYTES);
    }
}

/* codes, bytes: room for a gather of codes on rank 0; everybody's allocations have the same sizes. */
static weft_status compose(const app_context *context, const choice_kind *own, const char *code, int64_t gradient_bytes,
                           char *codes, int64_t *bytes, char *text)
{
    weft_comm *comm = context->comm;
    char mine[CHOICE_CODE_BYTES] = "";
    int32_t device = !hal_host_visible(context->hal);
    assert(strlen(code) < CHOICE_CODE_BYTES);
    snprintf(mine, sizeof mine, "%s", code);
    for (int r = 0; r < comm_size(comm); ++r) {
        bytes[r] = CHOICE_CODE_BYTES;
    }
    WEFT_TRY(comm_gatherv(comm, 0, mine, CHOICE_CODE_BYTES, codes, bytes));
    WEFT_TRY(comm_allreduce(comm, &device, 1, WEFT_DTYPE_I32, COMM_MIN));
    size_t used = append_sync(context, device != 0, gradient_bytes, text);
    if (comm_rank(comm) == 0 && chooses_own(context, own) && mine[0] != '\0') {
        used += (size_t)sprintf(text + used, "%s%s=", used > 0 ? " " : "", own->key);
        append_codes(codes, comm_size(comm), text + used);
    }
    assert(strlen(text) < text_bytes(comm));
    return WEFT_OK;
}

weft_status choices_keep(app_context *context, const choice_kind *own, const char *code, int64_t gradient_bytes)
{
    weft_comm *comm = context->comm;
    char *codes = NULL, *text = NULL;
    int64_t *bytes = NULL;
    if (option_text(context->options, OPT_CHOICES)[0] != '\0') {
        return WEFT_OK;
    }
    weft_status local = WEFT_NEW(&codes, comm_size(comm) * CHOICE_CODE_BYTES, WEFT_MEM_GENERAL);
    local = local == WEFT_OK ? WEFT_NEW(&bytes, comm_size(comm), WEFT_MEM_GENERAL) : local;
    local = local == WEFT_OK ? WEFT_NEW_ZERO(&text, text_bytes(comm), WEFT_MEM_GENERAL) : local;
    weft_status status = comm_agree(comm, local);
    if (local == WEFT_OK && status == WEFT_OK) {
        status = compose(context, own, code, gradient_bytes, codes, bytes, text);
        status = status == WEFT_OK ? app_decide_shared(comm, context->decided, OPT_CHOICES, text) : status;
    }
    WEFT_FREE_ALL(codes, bytes, text);
    return status;
}
