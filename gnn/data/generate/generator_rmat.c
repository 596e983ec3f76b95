/*
 * gnn/data/generate/generator_rmat.c: R-MAT edges.
 *
 * Each draw walks `scale` levels of the adjacency matrix's quadtree, choosing a quadrant with probabilities a, b, c and
 * the rest. One 16-bit lane of Philox decides one level, so probabilities have a resolution of 2^-16. Unless sorted,
 * ids are shuffled: otherwise a vertex's id would tell its degree. Self-loops and repeats disappear, so the graph has
 * fewer edges than draws. D. Chakrabarti, Y. Zhan, C. Faloutsos: R-MAT: a recursive model for graph mining. SDM'04,
 * doi:10.1137/1.9781611972740.43
 */
#include <math.h>

#include "gnn/data/generate/generator_parts.h"

void rmat_model_init(const generator_spec *spec, rmat_model *model)
{
    double sums[3] = {spec->a, spec->a + spec->b, spec->a + spec->b + spec->c};
    *model = (rmat_model){.scale = (int)spec->scale,
                          .seed = (uint64_t)spec->seed,
                          .shuffled = spec->sorted == 0,
                          .draws = (int64_t)spec->edges / 2};
    for (int i = 0; i < 3; ++i) {
        model->threshold[i] = (uint32_t)lround(sums[i] * 65536.0);
    }
    model->order = permutation_make((uint64_t)1 << model->scale, model->seed, GENERATOR_RNG_ID, 0);
}

static edge_pair walk(const rmat_model *model, uint64_t e)
{
    uint32_t u = 0, v = 0;
    philox_block block = {{0, 0, 0, 0}};
    for (int level = 0; level < model->scale; ++level) {
        if (level % 8 == 0) {
            block = philox4x32(philox_counter((uint32_t)(level / 8), e, GENERATOR_RNG_EDGE, 0), model->seed);
        }
        uint32_t lane = philox_lane16(block, (unsigned)(level % 8));
        uint32_t low_high = lane >= model->threshold[0], high_low = lane >= model->threshold[1];
        uint32_t high_high = lane >= model->threshold[2];
        u = 2 * u + high_low;
        v = 2 * v + (low_high ^ high_low ^ high_high);
    }
    return (edge_pair){(int32_t)u, (int32_t)v};
}

static int rmat_draw(const void *self, int64_t first, int count, edge_pair *pairs)
{
    const rmat_model *model = self;
    int made = 0;
    for (int i = 0; i < count; ++i) {
        edge_pair pair = walk(model, (uint64_t)(first + i));
        if (pair.u == pair.v) {
            continue;
        }
        if (model->shuffled) {
            pair.u = (int32_t)permute(&model->order, (uint64_t)pair.u);
            pair.v = (int32_t)permute(&model->order, (uint64_t)pair.v);
        }
        pairs[made++] = pair;
    }
    return made;
}

edge_stream rmat_model_stream(const rmat_model *model)
{
    return (edge_stream){.draws = model->draws, .draw = rmat_draw, .self = model};
}
