/*
 * Batches of images: whatever the number of ranks and loaders, each position of an epoch has the same sample with the
 * same pixels, which are those of the set's file changed by its own draws; labels and masks belong to them.
 */
#include <math.h>

#include "base/log.h"
#include "comm/core/layout.h"
#include "dense/data/image_source.h"
#include "dense/data/vary/mixup.h"
#include "support/image_bytes.h"
#include "train/batch/batch_order.h"

enum {
    SIDE = 6,
    PIXELS = SIDE * SIDE,
    TRAINED = 37,
    TESTED = 11,
    APART = 5,
    BATCH = 8,
    EVAL_BATCH = 6,
    EPOCHS = 3,
    SEED = 19,
    CLASSES = 10,
    MOST = 64
};

/* What stands at each position of an epoch, or of an evaluation. */
typedef struct seen {
    int64_t id[MOST];
    int32_t label[MOST];
    uint8_t split[MOST];
    float pixels[MOST][PIXELS];
    float share[MOST][CLASSES]; /* where images are mixed */
    int64_t rows;
} seen;

typedef struct source_case {
    const char *folder, *backend;
    int loaders;
    int64_t batch;
    double mixup;
    int parts;       /* that a step comes in */
    uint64_t memory; /* of a node; 0: enough */
    int per_node;    /* ranks; 0: all */
    int64_t samples[IMAGE_LEVELS];
    bool evaluate;
    seen epoch[EPOCHS], evaluation;
    uint64_t late_allocations;
    int64_t steps, eval_steps, loss_entries, eval_rows;
} source_case;

static uint8_t pixel(int image, int p)
{
    return (uint8_t)(image * 37 + p * 5 + image * p);
}

static void put_split(const char *folder, const char *split, int count, int first)
{
    uint8_t data[16 + MOST * PIXELS] = {0, 0, 8, 3};
    char path[FILE_PATH_MAX];
    image_put_number(data + 4, (uint32_t)count);
    image_put_number(data + 8, SIDE);
    image_put_number(data + 12, SIDE);
    for (int i = 0; i < count * PIXELS; ++i) {
        data[16 + i] = pixel(first + i / PIXELS, i % PIXELS);
    }
    ASSERT_OK(file_path(path, "%s/%s-images-idx3-ubyte", folder, split));
    put_file(path, data, 16 + (size_t)count * PIXELS);
    data[3] = 1;
    for (int i = 0; i < count; ++i) {
        data[8 + i] = (uint8_t)((first + i) % 10);
    }
    ASSERT_OK(file_path(path, "%s/%s-labels-idx1-ubyte", folder, split));
    put_file(path, data, 8 + (size_t)count);
}

static augment change(const image_set *set)
{
    return (augment){.height = set->height,
                     .width = set->width,
                     .channels = set->channels,
                     .crop_height = set->height,
                     .crop_width = set->width,
                     .pad = 2,
                     .flip = true,
                     .cutout = 2,
                     .mean = {0.4f},
                     .deviation = {0.3f}};
}

/* A rank's rows of a batch go to their positions. */
static weft_status keep(weft_hal *hal, const train_batch *batch, batch_share share, seen *to)
{
    const image_batch *b = batch->input;
    const train_targets *t = batch->targets;
    int32_t label[MOST];
    int64_t id[MOST];
    uint8_t mask[MOST];
    WEFT_CHECK(b->rows == share.count && t->rows == share.count, WEFT_ERR_INTERNAL, "%lld rows, expected %lld",
               (long long)b->rows, (long long)share.count);
    WEFT_TRY(tensor_download(&b->pixels, to->pixels[share.begin]));
    WEFT_TRY(tensor_download(&b->sample_id, id));
    WEFT_TRY(hal->mem.download(hal, label, t->label, (size_t)b->rows * sizeof *label));
    for (int64_t i = 0; i < b->rows; ++i) {
        WEFT_CHECK(label[i] == t->label_host[i] && id[i] == b->sample_id_host[i], WEFT_ERR_INTERNAL,
                   "device and host differ in row %lld", (long long)i);
        to->id[share.begin + i] = id[i];
        to->label[share.begin + i] = label[i];
        to->split[share.begin + i] = t->split_host[i];
        if (t->share_host != NULL) {
            memcpy(to->share[share.begin + i], t->share_host + i * CLASSES, sizeof to->share[0]);
            WEFT_CHECK(t->temperature == 1.0, WEFT_ERR_INTERNAL, "shares are of the classes as they are");
        }
    }
    for (int m = 0; m < TRAIN_SPLITS && t->mask[m] != NULL; ++m) {
        WEFT_TRY(hal->mem.download(hal, mask, t->mask[m], (size_t)b->rows));
        for (int64_t i = 0; i < b->rows; ++i) {
            WEFT_CHECK(mask[i] == (t->split_host[i] == m), WEFT_ERR_INTERNAL, "mask %d of row %lld", m, (long long)i);
        }
    }
    return WEFT_OK;
}

static weft_status one_epoch(weft_comm *comm, weft_hal *hal, source_case *c, const train_source *source, int epoch)
{
    train_batch batch;
    for (int64_t step = 0; step < source->steps; ++step) {
        train_pass pass = {.training = true, .seed = SEED, .epoch = (uint32_t)epoch + 1, .step = step};
        pass.parts = source->parts(source->self, step, c->parts > 1 ? c->parts : 1);
        for (; pass.part < pass.parts; ++pass.part) {
            const batch_plan plan = {.samples = TRAINED - APART, .batch = c->batch};
            const batch_turn turn = {.step = step, .part = pass.part, .parts = pass.parts};
            const batch_share share = batch_order_part(&plan, turn, comm_size(comm), comm_rank(comm));
            WEFT_TRY(source->batch(source->self, &pass, &batch));
            WEFT_CHECK(batch.targets->loss_entries == share.batch, WEFT_ERR_INTERNAL, "entries of a batch");
            WEFT_TRY(keep(hal, &batch, share, &c->epoch[epoch]));
        }
    }
    for (int64_t step = 0; step < source->eval_steps && c->evaluate; ++step) {
        const train_pass pass = {.seed = SEED, .epoch = (uint32_t)epoch + 1, .step = step};
        const batch_share share = batch_order_share(APART + TESTED, EVAL_BATCH, step, comm_size(comm), comm_rank(comm));
        WEFT_TRY(source->batch(source->self, &pass, &batch));
        WEFT_CHECK(batch.targets->counted[IMAGE_VALID] + batch.targets->counted[IMAGE_TEST] == share.batch,
                   WEFT_ERR_INTERNAL, "counted rows of an evaluation");
        WEFT_TRY(keep(hal, &batch, share, &c->evaluation));
    }
    return WEFT_OK;
}

static weft_status train(weft_comm *comm, weft_hal *hal, source_case *c, const image_source_options *options)
{
    image_source *source;
    WEFT_TRY(image_source_create(comm, hal, options, &source));
    const train_source *of = image_source_of(source);
    if (comm_rank(comm) == 0) {
        c->steps = of->steps;
        c->eval_steps = of->eval_steps;
        c->loss_entries = of->loss_entries;
    }
    int64_t eval_rows = of->eval_rows;
    weft_status status = comm_allreduce(comm, &eval_rows, 1, WEFT_DTYPE_I64, COMM_SUM);
    uint64_t before = 0;
    for (int e = 0; e < EPOCHS && status == WEFT_OK; ++e) {
        before = weft_mem_usage_total().allocations;
        status = comm_agree(comm, one_epoch(comm, hal, c, of, e));
    }
    if (comm_rank(comm) == 0) {
        c->eval_rows = eval_rows;
        c->late_allocations = weft_mem_usage_total().allocations - before; /* of all ranks, in one process */
    }
    WEFT_CHECK(image_source_wait_seconds(source) > 0, WEFT_ERR_INTERNAL, "no time passed");
    image_source_destroy(source);
    return comm_agree(comm, status); /* whatever others allocate comes after the count */
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    source_case *c = argument;
    const image_options options = {.threads = 1, .valid = APART, .seed = 4, .memory = c->memory};
    weft_hal *hal = NULL;
    image_set *set = NULL;
    WEFT_TRY(weft_hal_open(test_device(c->backend), 1, &hal));
    WEFT_TRY(c->per_node > 0 ? comm_imitate_nodes(comm, c->per_node) : WEFT_OK);
    weft_status status = image_set_open(comm, c->folder, &options, &set);
    if (status == WEFT_OK) {
        const image_source_options wanted = {.set = set,
                                             .augment = change(set),
                                             .batch = c->batch,
                                             .eval_batch = EVAL_BATCH,
                                             .mixup = c->mixup,
                                             .parts = c->parts,
                                             .loaders = c->loaders,
                                             .threads = 2};
        status = train(comm, hal, c, &wanted);
    }
    if (status == WEFT_OK) {
        image_use use = image_set_use(set);
        status = comm_allreduce(comm, use.samples, IMAGE_LEVELS, WEFT_DTYPE_I64, COMM_SUM);
        if (comm_rank(comm) == 0) {
            memcpy(c->samples, use.samples, sizeof use.samples);
        }
    }
    image_set_close(set);
    weft_hal_close(hal);
    return status;
}

static source_case *run_case(void **state, int ranks, int loaders, int64_t batch, const char *backend)
{
    source_case *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->folder = *state;
    c->backend = backend;
    c->loaders = loaders;
    c->batch = batch;
    c->evaluate = true;
    put_split(*state, "train", TRAINED, 0);
    put_split(*state, "t10k", TESTED, 100);
    ASSERT_OK(comm_thread_run(ranks, run_rank, c));
    return c;
}

/* From the files and the definitions alone. */
static void check_against_definition(const source_case *c)
{
    weft_comm *comm;
    image_set *set;
    uint8_t pixels[PIXELS];
    int32_t label;
    float out[PIXELS];
    const image_options options = {.threads = 1, .valid = APART, .seed = 4};
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_OK(image_set_open(comm, c->folder, &options, &set));
    const augment a = change(set);
    for (int e = 0; e < EPOCHS; ++e) {
        int count[TRAINED - APART] = {0};
        for (int i = 0; i < TRAINED - APART; ++i) {
            const int64_t id = c->epoch[e].id[i];
            assert_in_range(id, 0, TRAINED - APART - 1);
            count[id] += 1;
            assert_int_equal(c->epoch[e].split[i], IMAGE_TRAIN);
            ASSERT_OK(image_set_read(set, IMAGE_TRAIN, id, pixels, &label));
            assert_int_equal(c->epoch[e].label[i], label);
            augment_train(&a, SEED, (uint32_t)e + 1, id, pixels, out);
            assert_memory_equal(c->epoch[e].pixels[i], out, sizeof out);
        }
        for (int i = 0; i < TRAINED - APART; ++i) {
            assert_int_equal(count[i], 1);
        }
    }
    for (int i = 0; i < APART + TESTED; ++i) {
        const bool tested = i >= APART;
        assert_int_equal(c->evaluation.id[i], TRAINED - APART + i);
        assert_int_equal(c->evaluation.split[i], tested ? IMAGE_TEST : IMAGE_VALID);
        if (tested) {
            assert_int_equal(c->evaluation.label[i], (100 + i - APART) % 10);
            for (int p = 0; p < PIXELS; ++p) {
                ASSERT_NEAR(c->evaluation.pixels[i][p], (pixel(100 + i - APART, p) / 255.0 - 0.4) / 0.3, 1e-5);
            }
        }
    }
    image_set_close(set);
    comm_destroy(comm);
}

static void test_batches_are_the_same_for_all_ranks(void **state)
{
    source_case *one = run_case(state, 1, 0, BATCH, "cpu");
    assert_int_equal(one->steps, 4);
    assert_int_equal(one->eval_steps, 3);
    assert_int_equal(one->loss_entries, TRAINED - APART);
    assert_int_equal(one->eval_rows, APART + TESTED);
    assert_int_equal(one->late_allocations, 0);
    check_against_definition(one);
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for (int loaders = 0; loaders <= 3; loaders += ranks == 4 ? 3 : 1) {
            source_case *c = run_case(state, ranks, loaders, BATCH, ranks == 3 ? "shadow:ref" : "cpu");
            assert_memory_equal(c->epoch, one->epoch, sizeof one->epoch);
            assert_memory_equal(&c->evaluation, &one->evaluation, sizeof one->evaluation);
            assert_int_equal(c->eval_rows, APART + TESTED);
            assert_int_equal(c->late_allocations, 0);
            free(c);
        }
    }
    /* the order of an epoch does not depend on the batches; with these some ranks have no row */
    source_case *small = run_case(state, 4, 1, 3, "cpu");
    assert_int_equal(small->steps, 11);
    assert_memory_equal(small->epoch, one->epoch, sizeof one->epoch);
    free(small);
    free(one);
}

/* Memories that hold a part of the images each: the same batches, every image decoded once as long as there is a place
 * for it. */
static void test_nodes_fetch_from_each_other(void **state)
{
    static const char made[] = "synth:images,n=37,test=11,size=6,channels=1,classes=10";
    static const struct {
        int ranks, per_node, loaders;
        uint64_t memory;
        int64_t placed; /* images that some memory has */
    } cases[] = {{2, 1, 0, 1000, 48}, {4, 1, 0, 520, 48}, {4, 1, 2, 520, 48},     {4, 2, 1, 1040, 48},
                 {3, 1, 1, 260, 15},  {4, 3, 0, 520, 12}, {3, 2, 1, 1 << 20, 48}, {4, 2, 1, 100, 0}};
    source_case *one = calloc(1, sizeof *one);
    (void)state;
    assert_non_null(one);
    *one = (source_case){.folder = made, .backend = "cpu", .batch = BATCH, .evaluate = true};
    ASSERT_OK(comm_thread_run(1, run_rank, one));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        source_case *c = calloc(1, sizeof *c);
        assert_non_null(c);
        *c = (source_case){.folder = made,
                           .backend = i == 2 ? "shadow:ref" : "cpu",
                           .batch = BATCH,
                           .evaluate = true,
                           .loaders = cases[i].loaders,
                           .memory = cases[i].memory,
                           .per_node = cases[i].per_node};
        ASSERT_OK(comm_thread_run(cases[i].ranks, run_rank, c));
        assert_memory_equal(c->epoch, one->epoch, sizeof one->epoch);
        assert_memory_equal(&c->evaluation, &one->evaluation, sizeof one->evaluation);
        const int64_t asked = EPOCHS * (TRAINED + TESTED);
        const int64_t got = c->samples[IMAGE_FROM_MEMORY] + c->samples[IMAGE_FROM_NODES];
        if (cases[i].memory < 1 << 20 && cases[i].placed > 0) {
            assert_int_equal(got + c->samples[IMAGE_FROM_SOURCE], asked + cases[i].placed); /* these to fill memories */
            assert_true(c->samples[IMAGE_FROM_NODES] > asked / 12);
        } else {
            assert_int_equal(c->samples[IMAGE_FROM_NODES], 0);
        }
        if (cases[i].placed == TRAINED + TESTED && cases[i].memory < 1 << 20) {
            assert_int_equal(got, asked);
            assert_int_equal(c->samples[IMAGE_FROM_SOURCE], TRAINED + TESTED);
        }
        free(c);
    }
    free(one);
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

/* Row i of an epoch is the mixture of its image and of that of its partner in the batch, each changed by its own draws,
 * and so are its shares. */
static void check_mixtures(const source_case *mixed, const source_case *plain)
{
    for (int e = 0; e < EPOCHS; ++e) {
        const seen *m = &mixed->epoch[e], *p = &plain->epoch[e];
        for (int i = 0; i < TRAINED - APART; ++i) {
            const int step = i / BATCH, first = step * BATCH;
            const int images = TRAINED - APART - first < BATCH ? TRAINED - APART - first : BATCH;
            const mixup mix = mixup_draw(mixed->mixup, SEED, (uint32_t)e + 1, step, images);
            const int other = first + (int)permute(&mix.partner, (uint64_t)(i - first));
            assert_int_equal(m->id[i], p->id[i]);
            assert_int_equal(m->label[i], p->label[i]);
            for (int k = 0; k < PIXELS; ++k) {
                ASSERT_NEAR(m->pixels[i][k], mix.share * p->pixels[i][k] + (1 - mix.share) * p->pixels[other][k], 1e-5);
            }
            for (int c = 0; c < CLASSES; ++c) {
                const double share = (c == p->label[i] ? mix.share : 0) + (c == p->label[other] ? 1 - mix.share : 0);
                ASSERT_NEAR(m->share[i][c], share, 1e-6);
            }
        }
    }
    assert_memory_equal(&mixed->evaluation, &plain->evaluation, sizeof plain->evaluation);
}

/* Mixtures are the same for all ranks, loaders and parts, also where other nodes keep the images. */
static void test_images_are_mixed_in_their_batch(void **state)
{
    static const char made[] = "synth:images,n=37,test=11,size=6,channels=1,classes=10";
    static const source_case cases[] = {
        {.loaders = 0}, {.loaders = 2}, {.parts = 3}, {.loaders = 1, .memory = 520, .per_node = 1}};
    source_case *one = calloc(1, sizeof *one);
    (void)state;
    assert_non_null(one);
    *one = (source_case){.folder = made, .backend = "cpu", .batch = BATCH, .evaluate = true};
    ASSERT_OK(comm_thread_run(1, run_rank, one));
    for (int ranks = 1; ranks <= 3; ++ranks) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
            source_case *c = calloc(1, sizeof *c);
            assert_non_null(c);
            *c = cases[i];
            c->folder = made;
            c->backend = ranks == 3 ? "shadow:ref" : "cpu";
            c->batch = BATCH;
            c->evaluate = true;
            c->mixup = 0.8;
            ASSERT_OK(comm_thread_run(ranks, run_rank, c));
            check_mixtures(c, one);
            assert_int_equal(c->late_allocations, 0);
            free(c);
        }
    }
    free(one);
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

static weft_status jump(weft_comm *comm, void *argument)
{
    source_case *c = argument;
    const image_options options = {.threads = 1};
    weft_hal *hal = NULL;
    image_set *set = NULL;
    image_source *source = NULL;
    train_batch batch;
    weft_status status;
    WEFT_TRY_GOTO(weft_hal_open("cpu", 1, &hal), status, done);
    WEFT_TRY_GOTO(image_set_open(comm, c->folder, &options, &set), status, done);
    const image_source_options wanted = {
        .set = set, .augment = change(set), .batch = 10, .drop_last = true, .loaders = c->loaders, .threads = 1};
    WEFT_TRY_GOTO(image_source_create(comm, hal, &wanted, &source), status, done);
    const train_source *of = image_source_of(source);
    c->steps = of->steps;
    c->loss_entries = of->loss_entries;
    /* forwards, backwards, another epoch and seed: never what comes next */
    static const train_pass passes[] = {{.training = true, .seed = 1, .epoch = 4, .step = 2},
                                        {.training = true, .seed = 1, .epoch = 4, .step = 0},
                                        {.training = true, .seed = 2, .epoch = 1, .step = 1},
                                        {.step = 1},
                                        {.training = true, .seed = 1, .epoch = 4, .step = 2}};
    for (int i = 0; i < 5; ++i) {
        WEFT_TRY_GOTO(of->batch(of->self, &passes[i], &batch), status, done);
        const image_batch *b = batch.input;
        seen *to = &c->epoch[i == 0 ? 0 : 1];
        memcpy(to->id, b->sample_id_host, (size_t)b->rows * sizeof *to->id);
        WEFT_TRY_GOTO(tensor_download(&b->pixels, to->pixels), status, done);
        const permutation order = batch_order(TRAINED, passes[i].seed, passes[i].epoch);
        for (int64_t row = 0; row < b->rows && passes[i].training; ++row) {
            WEFT_CHECK_GOTO(to->id[row] == (int64_t)permute(&order, (uint64_t)(passes[i].step * 10 + row)), status,
                            done, WEFT_ERR_INTERNAL, "sample of row %lld", (long long)row);
        }
    }
done:
    image_source_destroy(source);
    image_set_close(set);
    weft_hal_close(hal);
    return status;
}

/* A training that is resumed in the middle gets the batches of one that was not. */
/* ---- shards ------------------------------------------------------------------------------------------------------ */

static int32_t label_of(const void *self, int64_t sample)
{
    return image_set_label(self, IMAGE_TRAIN, sample);
}

/* Every row belongs to `owner`, with the label and, where nothing is varied, the pixels of its image. */
static weft_status check_rows(const image_set *set, const batch_deal *deal, const train_batch *batch, int owner)
{
    const image_batch *b = batch->input;
    float pixels[MOST][PIXELS];
    WEFT_TRY(tensor_download(&b->pixels, pixels));
    for (int64_t i = 0; i < b->rows; ++i) {
        int64_t at = deal->first[owner];
        uint8_t raw[PIXELS];
        int32_t label;
        while (at < deal->first[owner + 1] && deal->sample[at] != b->sample_id_host[i]) {
            ++at;
        }
        WEFT_CHECK(at < deal->first[owner + 1], WEFT_ERR_INTERNAL, "image %lld is not of rank %d",
                   (long long)b->sample_id_host[i], owner);
        WEFT_TRY(image_set_read(set, IMAGE_TRAIN, b->sample_id_host[i], raw, &label));
        WEFT_CHECK(label == batch->targets->label_host[i], WEFT_ERR_INTERNAL, "label %d", (int)label);
        for (int p = 0; p < PIXELS; ++p) {
            WEFT_CHECK(fabsf(pixels[i][p] - (float)raw[p] / 255.0F) < 1e-6F, WEFT_ERR_INTERNAL, "pixel %d", p);
        }
    }
    return WEFT_OK;
}

static weft_status take_shards(weft_comm *comm, const image_set *set, const batch_deal *deal, const train_source *of)
{
    int64_t taken[MOST] = {0};
    train_batch batch;
    for (int64_t at = 0; at < EPOCHS * of->steps; ++at) {
        const train_pass pass = {
            .training = true, .seed = SEED, .epoch = (uint32_t)(at / of->steps) + 1, .step = at % of->steps};
        WEFT_TRY(of->batch(of->self, &pass, &batch));
        WEFT_TRY(check_rows(set, deal, &batch, comm_rank(comm)));
        for (int64_t i = 0; i < batch.targets->rows; ++i) {
            taken[((const image_batch *)batch.input)->sample_id_host[i]] += 1;
        }
    }
    for (int64_t step = 0; step < of->probe_steps; ++step) {
        WEFT_TRY(of->probe(of->self, step, &batch));
        WEFT_CHECK(batch.targets->rows > 0 && batch.targets->rows <= of->probe_rows, WEFT_ERR_INTERNAL, "rows");
        WEFT_TRY(check_rows(set, deal, &batch, (int)(step % comm_size(comm))));
    }
    WEFT_TRY(comm_allreduce(comm, taken, MOST, WEFT_DTYPE_I64, COMM_SUM));
    for (int64_t i = 0; i < set->count[IMAGE_TRAIN]; ++i) {
        WEFT_CHECK(taken[i] == EPOCHS, WEFT_ERR_INTERNAL, "image %lld: %lld times", (long long)i, (long long)taken[i]);
    }
    return WEFT_OK;
}

static weft_status run_shards(weft_comm *comm, void *argument)
{
    const source_case *c = argument;
    const image_options options = {.threads = 1, .memory = c->memory};
    const deal_rule rule = {DEAL_LABEL, 0.7};
    weft_hal *hal = NULL;
    image_set *set = NULL;
    image_source *source = NULL;
    batch_deal deal;
    WEFT_TRY(weft_hal_open(test_device("cpu"), 1, &hal));
    WEFT_TRY(c->per_node > 0 ? comm_imitate_nodes(comm, c->per_node) : WEFT_OK);
    WEFT_TRY(image_set_open(comm, c->folder, &options, &set));
    const deal_samples samples = {set->count[IMAGE_TRAIN], set->classes, label_of, set};
    WEFT_TRY(batch_deal_make(&rule, &samples, comm_size(comm), 1, &deal));
    const image_source_options wanted = {.set = set,
                                         .augment = {.height = SIDE,
                                                     .width = SIDE,
                                                     .channels = 1,
                                                     .crop_height = SIDE,
                                                     .crop_width = SIDE,
                                                     .deviation = {1.0F}},
                                         .batch = BATCH,
                                         .deal = &deal,
                                         .probes = true,
                                         .loaders = c->loaders,
                                         .threads = 1};
    weft_status status = image_source_create(comm, hal, &wanted, &source);
    status = status == WEFT_OK ? take_shards(comm, set, &deal, image_source_of(source)) : status;
    image_source_destroy(source);
    batch_deal_destroy(&deal);
    image_set_close(set);
    weft_hal_close(hal);
    return status;
}

/* Ranks take their own images alone, each once an epoch, also where other nodes keep them; probes are of their
 * owners. */
static void test_ranks_take_their_shards(void **state)
{
    source_case c = {.folder = "synth:images,n=37,test=11,size=6,channels=1,classes=10"};
    (void)state;
    ASSERT_OK(comm_thread_run(3, run_shards, &c));
    c.per_node = 1;
    c.memory = 700;
    c.loaders = 1;
    ASSERT_OK(comm_thread_run(3, run_shards, &c));
}

static void test_any_step_may_be_asked_for(void **state)
{
    source_case *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->folder = *state;
    put_split(*state, "train", TRAINED, 0);
    put_split(*state, "t10k", TESTED, 100);
    for (c->loaders = 0; c->loaders <= 2; ++c->loaders) {
        ASSERT_OK(comm_thread_run(1, jump, c));
        assert_int_equal(c->steps, 3);
        assert_int_equal(c->loss_entries, 30);
        assert_memory_equal(&c->epoch[0], &c->epoch[1], sizeof c->epoch[0]);
    }
    free(c);
}

/* Every part of an epoch whose last batch has fewer images than parts are asked for: all images, once. */
static weft_status take_parts(weft_comm *comm, void *argument)
{
    source_case *c = argument;
    const image_options options = {.threads = 1};
    weft_hal *hal = NULL;
    image_set *set = NULL;
    image_source *source = NULL;
    train_batch batch;
    int times[TRAINED] = {0};
    weft_status status;
    WEFT_TRY_GOTO(weft_hal_open("cpu", 1, &hal), status, done);
    WEFT_TRY_GOTO(image_set_open(comm, c->folder, &options, &set), status, done);
    const image_source_options wanted = {
        .set = set, .augment = change(set), .batch = 7, .parts = 4, .loaders = c->loaders, .threads = 1};
    WEFT_TRY_GOTO(image_source_create(comm, hal, &wanted, &source), status, done);
    const train_source *of = image_source_of(source);
    for (train_pass pass = {.training = true, .seed = 1, .epoch = 1}; pass.step < of->steps; ++pass.step) {
        pass.parts = of->parts(of->self, pass.step, 4);
        WEFT_CHECK_GOTO(pass.parts == (pass.step < 5 ? 4 : 2), status, done, WEFT_ERR_INTERNAL, "parts");
        for (pass.part = 0; pass.part < pass.parts; ++pass.part) {
            WEFT_TRY_GOTO(of->batch(of->self, &pass, &batch), status, done);
            const image_batch *b = batch.input;
            for (int64_t row = 0; row < b->rows; ++row) {
                times[b->sample_id_host[row]] += 1;
            }
        }
    }
    for (int i = 0; i < TRAINED; ++i) {
        WEFT_CHECK_GOTO(times[i] == 1, status, done, WEFT_ERR_INTERNAL, "image %d came %d times", i, times[i]);
    }
done:
    image_source_destroy(source);
    image_set_close(set);
    weft_hal_close(hal);
    return status;
}

static void test_a_short_batch_has_fewer_parts(void **state)
{
    source_case *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->folder = *state;
    put_split(*state, "train", TRAINED, 0);
    put_split(*state, "t10k", TESTED, 100);
    for (c->loaders = 0; c->loaders <= 2; ++c->loaders) {
        ASSERT_OK(comm_thread_run(1, take_parts, c));
    }
    free(c);
}

static weft_status refuse(weft_comm *comm, void *argument)
{
    const image_options options = {.threads = 1};
    weft_hal *hal = NULL;
    image_set *set = NULL;
    image_source *source = NULL;
    weft_status status;
    WEFT_TRY_GOTO(weft_hal_open("cpu", 1, &hal), status, done);
    WEFT_TRY_GOTO(image_set_open(comm, argument, &options, &set), status, done);
    const image_source_options wanted = {.set = set, .augment = change(set), .batch = 0, .threads = 1};
    status = image_source_create(comm, hal, &wanted, &source);
done:
    image_set_close(set);
    weft_hal_close(hal);
    return status;
}

static void test_no_batch_is_refused(void **state)
{
    put_split(*state, "train", TRAINED, 0);
    ASSERT_STATUS(comm_thread_run(2, refuse, *state), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("batches of 0 images");
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

static weft_status make_only(weft_comm *comm, void *argument)
{
    const bool made = strncmp(argument, "synth:", 6) == 0;
    const image_options options = {.threads = 1, .memory = made ? 1000 : 0};
    weft_hal *hal = NULL;
    image_set *set = NULL;
    image_source *source = NULL;
    weft_status status = weft_hal_open("shadow:ref", 1, &hal);
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(made ? comm_imitate_nodes(comm, 1) : WEFT_OK, status, done);
    WEFT_TRY_GOTO(image_set_open(comm, argument, &options, &set), status, done);
    const image_source_options wanted = {
        .set = set, .augment = change(set), .mixup = 0.4, .batch = BATCH, .loaders = 2, .threads = 1};
    status = image_source_create(comm, hal, &wanted, &source);
    image_source_destroy(source);
done:
    image_set_close(set);
    weft_hal_close(hal);
    return status;
}

/* Each once, on one of two ranks: both end with that, and nothing is left. */
static void fail_each(char *path)
{
    const uint64_t before = weft_mem_usage_total().allocations;
    ASSERT_OK(comm_thread_run(2, make_only, path));
    const uint64_t all = weft_mem_usage_total().allocations - before;
    for (uint64_t n = 1; n <= all; ++n) {
        weft_alloc_fail_after(n);
        const weft_status status = comm_thread_run(2, make_only, path);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        assert_int_equal(weft_mem_usage_total().current_bytes, 0);
    }
}

static void test_every_allocation_may_fail(void **state)
{
    char made[] = "synth:images,n=37,size=6,channels=1,classes=10";
    put_split(*state, "train", TRAINED, 0);
    fail_each(*state);
    fail_each(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_batches_are_the_same_for_all_ranks, folder_setup, folder_teardown),
        cmocka_unit_test(test_nodes_fetch_from_each_other),
        cmocka_unit_test(test_images_are_mixed_in_their_batch),
        cmocka_unit_test(test_ranks_take_their_shards),
        cmocka_unit_test_setup_teardown(test_any_step_may_be_asked_for, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_a_short_batch_has_fewer_parts, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_no_batch_is_refused, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_every_allocation_may_fail, folder_setup, folder_teardown),
    };
    log_set_level(LOG_QUIET);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
