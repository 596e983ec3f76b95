/*
 * clicks/model/click_cin.c: the compressed interaction network of xDeepFM. Layer k makes maps of those before it,
 * column by column of the vectors:
 *
 *     m_k[h, d] = sum over i, j of W_k[h, i, j] m_k-1[i, d] v_j[d]     m_0 = the fields' vectors
 *     logit    += sum over k, h of w[k, h] times the sum over d of m_k[h, d]
 *
 * Rows are pairs (sample, d), so a layer is a product of z = [m_k-1[i] v_j] with W_k. z has fields times maps columns:
 * it is made for some samples at a time, and made again by backward. Maps are not activated, which the paper found
 * best. Memory of a sample: width times (fields + maps of all layers), twice where it trains. J. Lian et al.: xDeepFM.
 * KDD 2018, arXiv 1803.05170.
 */
#include "base/integer/integers.h"
#include "clicks/model/click_part.h"
#include "train/activities.h"

enum { CIN_ROWS = 256 }; /* rows of z that a thread has at a time, about */

typedef struct cin_part {
    const click_model_desc *desc;
    param_store *params;
    int weight[CLICK_LAYERS_MOST]; /* [maps, maps before * fields] */
    int out;                       /* [1, maps of all layers] */
    weft_tensor field, dfield;     /* [samples * width, fields] the vectors, turned */
    weft_tensor map[CLICK_LAYERS_MOST];
    weft_tensor dmap[CLICK_LAYERS_MOST]; /* [rows of a block, maps] */
    weft_tensor sum, dsum;               /* [samples, maps of all layers] sums over d */
    weft_tensor z, dz;                   /* [rows of a block, most maps * fields] */
} cin_part;

static int64_t all_maps(const click_model_desc *desc)
{
    int64_t maps = 0;
    for (int k = 0; k < desc->cin.layers; ++k) {
        maps += desc->cin.size[k];
    }
    return maps;
}

/* Maps that layer k reads. */
static int64_t maps_before(const click_model_desc *desc, int k)
{
    return k == 0 ? desc->fields : desc->cin.size[k - 1];
}

static int64_t block_samples(const weft_hal *hal, const click_model_desc *desc)
{
    return smaller(larger(1, hal->threads * CIN_ROWS / desc->width), larger(1, desc->samples));
}

static int64_t columns_of_z(const click_model_desc *desc)
{
    int64_t most = 0;
    for (int k = 0; k < desc->cin.layers; ++k) {
        most = larger(most, maps_before(desc, k) * desc->fields);
    }
    return most;
}

static weft_status cin_declare(param_store *params, const click_model_desc *desc, void **self)
{
    const char *name = click_name_of(desc, "cin");
    cin_part *part = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&part, 1, WEFT_MEM_GENERAL));
    *self = part;
    part->desc = desc;
    part->params = params;
    for (int k = 0; k < desc->cin.layers; ++k) {
        const int64_t maps = desc->cin.size[k], in = maps_before(desc, k) * desc->fields;
        part->weight[k] = param_add_block(params, PARAM_GROUP_DECAY, maps, in);
        WEFT_TRY(param_add(params, part->weight[k], 0, 0, maps, in, param_glorot(in, maps), "%s.%d.weight", name, k));
    }
    if (desc->place.open) {
        return WEFT_OK;
    }
    const int64_t maps = all_maps(desc);
    part->out = param_add_block(params, PARAM_GROUP_DECAY, 1, maps);
    return param_add(params, part->out, 0, 0, 1, maps, param_fan_uniform(maps), "%s.out.weight", name);
}

/* A matrix of this part; with `trains` only where backward passes happen. */
static weft_status new_matrix(const cin_part *part, bool trains, int64_t rows, int64_t cols, weft_tensor *t)
{
    return tensor_create(part->params->hal, WEFT_DTYPE_F32, trains && !part->desc->training ? 0 : rows, cols,
                         WEFT_MEM_ACTIVATION, t);
}

static weft_status cin_create(void *self)
{
    cin_part *part = self;
    const click_model_desc *desc = part->desc;
    const weft_hal *hal = part->params->hal;
    const int64_t rows = desc->samples * desc->width, block = block_samples(hal, desc) * desc->width;
    WEFT_TRY(new_matrix(part, false, rows, desc->fields, &part->field));
    WEFT_TRY(new_matrix(part, true, rows, desc->fields, &part->dfield));
    for (int k = 0; k < desc->cin.layers; ++k) {
        WEFT_TRY(new_matrix(part, false, rows, desc->cin.size[k], &part->map[k]));
        WEFT_TRY(new_matrix(part, true, block, desc->cin.size[k], &part->dmap[k]));
    }
    WEFT_TRY(new_matrix(part, false, desc->samples, all_maps(desc), &part->sum));
    WEFT_TRY(new_matrix(part, true, desc->samples, all_maps(desc), &part->dsum));
    WEFT_TRY(new_matrix(part, false, block, columns_of_z(desc), &part->z));
    return new_matrix(part, true, block, columns_of_z(desc), &part->dz);
}

static int64_t cin_bytes(const weft_hal *hal, const click_model_desc *desc)
{
    const int64_t rows = desc->samples * desc->width, block = block_samples(hal, desc) * desc->width;
    const int64_t maps = all_maps(desc), both = desc->training ? 2 : 1;
    return (both * (rows * desc->fields + desc->samples * maps + block * columns_of_z(desc)) + rows * maps +
            (desc->training ? block * maps : 0)) *
           (int64_t)sizeof(float);
}

/* ---- a block of samples ------------------------------------------------------------------------------------------ */

/* Samples [first, first + samples) of a pass. */
typedef struct cin_block {
    cin_part *part;
    const click_pass *pass;
    int64_t first, samples;
} cin_block;

/* Rows of the block in a matrix over all samples, or in one of the block's own. */
static weft_tensor rows_of(const cin_block *block, const weft_tensor *t)
{
    const int64_t width = block->part->desc->width;
    return tensor_view(t, block->first * width, block->samples * width, 0, t->cols);
}

static weft_tensor own_rows(const cin_block *block, const weft_tensor *t, int64_t cols)
{
    weft_tensor own = tensor_view(t, 0, block->samples * block->part->desc->width, 0, cols);
    own.ld = cols; /* without gaps, as the kernels have them */
    return own;
}

static weft_tensor map_before(const cin_block *block, int k)
{
    return rows_of(block, k == 0 ? &block->part->field : &block->part->map[k - 1]);
}

static click_outer outer_of(const cin_block *block, int k)
{
    const weft_tensor map = map_before(block, k), field = rows_of(block, &block->part->field);
    return (click_outer){.maps = map.cols,
                         .fields = field.cols,
                         .map = map.data,
                         .field = field.data,
                         .z = block->part->z.data,
                         .dz = block->part->dz.data};
}

static void run_outer(const void *args, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    click_kernels_get()->outer(args, begin, end);
}

static void run_outer_backward(const void *args, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    click_kernels_get()->outer_backward(args, begin, end);
}

static weft_status block_forward(const cin_block *block)
{
    cin_part *part = block->part;
    for (int k = 0; k < part->desc->cin.layers; ++k) {
        const click_outer outer = outer_of(block, k);
        const weft_tensor weight = param_value(part->params, part->weight[k]);
        const weft_tensor z = own_rows(block, &part->z, outer.maps * outer.fields);
        weft_tensor map = rows_of(block, &part->map[k]);
        click_each_sample(part->params->hal, z.rows, run_outer, &outer);
        WEFT_TRY(tensor_gemm(&(tensor_product){.a = &z, .b = &weight, .trans_b = true}, &map));
    }
    return WEFT_OK;
}

/* dmap[(s, d), h] (+)= dsum[s, h of layer k] */
static void add_sums(const cin_block *block, int k, int64_t first_map, bool adds)
{
    const cin_part *part = block->part;
    const int64_t maps = part->desc->cin.size[k], width = part->desc->width;
    for (int64_t r = 0; r < block->samples * width; ++r) {
        const float *restrict dsum =
            (const float *)part->dsum.data + (block->first + r / width) * part->dsum.ld + first_map;
        float *restrict to = (float *)part->dmap[k].data + r * maps;
        for (int64_t h = 0; h < maps; ++h) {
            to[h] = (adds ? to[h] : 0.0F) + dsum[h];
        }
    }
}

/* Layer k: the gradient of its weights, of the maps before it, and of the fields. */
static weft_status layer_backward(const cin_block *block, int k)
{
    cin_part *part = block->part;
    click_outer outer = outer_of(block, k);
    const weft_tensor weight = param_value(part->params, part->weight[k]);
    const weft_tensor z = own_rows(block, &part->z, outer.maps * outer.fields);
    const weft_tensor dmap = own_rows(block, &part->dmap[k], part->desc->cin.size[k]);
    weft_tensor dz = own_rows(block, &part->dz, z.cols), dweight = param_grad(part->params, part->weight[k]);
    const weft_tensor dfield = rows_of(block, &part->dfield);
    click_each_sample(part->params->hal, z.rows, run_outer, &outer);
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &dmap, .b = &z, .trans_a = true, .beta = block->first > 0 ? 1.0 : 0.0},
                         &dweight));
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &dmap, .b = &weight}, &dz));
    outer.dfield = dfield.data;
    /* Of the first layer both sides are the fields: the maps' side goes through memory of the block. */
    outer.dmap = k > 0 ? part->dmap[k - 1].data : part->z.data;
    click_each_sample(part->params->hal, z.rows, run_outer_backward, &outer);
    return WEFT_OK;
}

static weft_status block_backward(const cin_block *block)
{
    cin_part *part = block->part;
    int64_t first_map = all_maps(part->desc);
    for (int k = part->desc->cin.layers - 1; k >= 0; --k) {
        first_map -= part->desc->cin.size[k];
        add_sums(block, k, first_map, k + 1 < part->desc->cin.layers);
        WEFT_TRY(layer_backward(block, k));
    }
    const weft_tensor through_maps = own_rows(block, &part->z, part->desc->fields);
    weft_tensor dfield = rows_of(block, &part->dfield);
    return tensor_axpby(1.0, &through_maps, 1.0, &dfield);
}

static weft_status each_block(cin_part *part, const click_pass *pass, weft_status (*run)(const cin_block *block))
{
    const int64_t most = block_samples(part->params->hal, part->desc);
    for (int64_t first = 0; first < pass->samples; first += most) {
        const cin_block block = {
            .part = part, .pass = pass, .first = first, .samples = smaller(most, pass->samples - first)};
        WEFT_TRY(run(&block));
    }
    return WEFT_OK;
}

/* ---- a pass ------------------------------------------------------------------------------------------------------ */

/* What the driver hands to threads. */
typedef struct cin_rows {
    const cin_part *part;
    const click_pass *pass;
} cin_rows;

static void turn(const void *args, int64_t begin, int64_t end, int thread)
{
    const cin_rows *rows = args;
    const int64_t fields = rows->part->desc->fields, width = rows->part->desc->width;
    (void)thread;
    for (int64_t s = begin; s < end; ++s) {
        const float *x = (const float *)rows->pass->x.data + s * rows->pass->x.ld;
        float *to = (float *)rows->part->field.data + s * width * fields;
        for (int64_t f = 0; f < fields; ++f) {
            for (int64_t d = 0; d < width; ++d) {
                to[d * fields + f] = x[f * width + d];
            }
        }
    }
}

static void turn_back(const void *args, int64_t begin, int64_t end, int thread)
{
    const cin_rows *rows = args;
    const int64_t fields = rows->part->desc->fields, width = rows->part->desc->width;
    (void)thread;
    for (int64_t s = begin; s < end; ++s) {
        float *dx = (float *)rows->pass->dx.data + s * rows->pass->dx.ld;
        const float *from = (const float *)rows->part->dfield.data + s * width * fields;
        for (int64_t f = 0; f < fields; ++f) {
            for (int64_t d = 0; d < width; ++d) {
                dx[f * width + d] += from[d * fields + f];
            }
        }
    }
}

static void sum_maps(const void *args, int64_t begin, int64_t end, int thread)
{
    const cin_rows *rows = args;
    const cin_part *part = rows->part;
    const int64_t width = part->desc->width;
    (void)thread;
    for (int64_t s = begin; s < end; ++s) {
        float *sum = (float *)part->sum.data + s * part->sum.ld;
        for (int k = 0; k < part->desc->cin.layers; sum += part->desc->cin.size[k], ++k) {
            const int64_t maps = part->desc->cin.size[k];
            const float *map = (const float *)part->map[k].data + s * width * maps;
            for (int64_t d = 0; d < width; ++d, map += maps) {
                for (int64_t h = 0; h < maps; ++h) {
                    sum[h] = (d > 0 ? sum[h] : 0.0F) + map[h];
                }
            }
        }
    }
}

static weft_status cin_forward(void *self, const click_pass *pass)
{
    cin_part *part = self;
    const cin_rows rows = {.part = part, .pass = pass};
    weft_hal *hal = part->params->hal;
    for (int k = 0; k < part->desc->cin.layers; ++k) {
        WEFT_TRY(train_need(pass->pass, part->weight[k]));
    }
    click_each_sample(hal, pass->samples, turn, &rows);
    ACTIVITY_TRY(ACTIVITY_INTERACT, each_block(part, pass, block_forward));
    click_each_sample(hal, pass->samples, sum_maps, &rows);
    if (part->desc->place.open) {
        return WEFT_OK;
    }
    WEFT_TRY(train_need(pass->pass, part->out));
    const weft_tensor out = param_value(part->params, part->out);
    const weft_tensor sum = tensor_view(&part->sum, 0, pass->samples, 0, part->sum.cols);
    weft_tensor logits = pass->logits;
    return tensor_gemm(&(tensor_product){.a = &sum, .b = &out, .trans_b = true, .beta = 1.0}, &logits);
}

/* Gradients of the weights of sums, and of the sums. */
static weft_status out_backward(const cin_part *part, const click_pass *pass)
{
    const weft_tensor out = param_value(part->params, part->out);
    const weft_tensor sum = tensor_view(&part->sum, 0, pass->samples, 0, part->sum.cols);
    weft_tensor dsum = tensor_view(&part->dsum, 0, pass->samples, 0, part->sum.cols);
    weft_tensor dout = param_grad(part->params, part->out);
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &pass->logits, .b = &sum, .trans_a = true}, &dout));
    WEFT_TRY(train_ready(pass->pass, part->out));
    return tensor_gemm(&(tensor_product){.a = &pass->logits, .b = &out}, &dsum);
}

static weft_status cin_backward(void *self, const click_pass *pass, double beta)
{
    cin_part *part = self;
    weft_tensor dx = pass->dx;
    WEFT_TRY(beta == 0.0 ? tensor_zero(&dx) : WEFT_OK);
    WEFT_TRY(part->desc->place.open ? WEFT_OK : out_backward(part, pass));
    WEFT_TRY(tensor_zero(&part->dfield));
    for (int k = 0; k < part->desc->cin.layers && pass->samples == 0; ++k) {
        weft_tensor dweight = param_grad(part->params, part->weight[k]);
        WEFT_TRY(tensor_zero(&dweight));
    }
    ACTIVITY_TRY(ACTIVITY_INTERACT, each_block(part, pass, block_backward));
    for (int k = part->desc->cin.layers - 1; k >= 0; --k) {
        WEFT_TRY(train_ready(pass->pass, part->weight[k]));
    }
    click_each_sample(part->params->hal, pass->samples, turn_back, &(cin_rows){.part = part, .pass = pass});
    return WEFT_OK;
}

static void cin_last(const void *self, int64_t samples, weft_tensor *y, weft_tensor *dy)
{
    const cin_part *part = self;
    *y = tensor_view(&part->sum, 0, samples, 0, part->sum.cols);
    *dy = tensor_view(&part->dsum, 0, part->dsum.rows > 0 ? samples : 0, 0, part->dsum.cols);
}

static void cin_destroy(void *self)
{
    cin_part *part = self;
    if (part == NULL) {
        return;
    }
    for (int k = 0; k < part->desc->cin.layers; ++k) {
        TENSOR_DESTROY_ALL(&part->map[k], &part->dmap[k]);
    }
    TENSOR_DESTROY_ALL(&part->field, &part->dfield, &part->sum, &part->dsum, &part->z, &part->dz);
    weft_free(part);
}

const click_part_ops CLICK_CIN_PART = {.declare = cin_declare,
                                       .create = cin_create,
                                       .forward = cin_forward,
                                       .backward = cin_backward,
                                       .destroy = cin_destroy,
                                       .last = cin_last,
                                       .bytes = cin_bytes};
