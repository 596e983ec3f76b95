/*
 * hal/cuda/kernels/top_k.cu: select_largest of hal/ops.def, exact, in one pass over a long vector, without a wait of
 * the host.
 *
 *    sample     every 64th run of 32 neighbours: a floor that half as many again as are wanted reach, by two histograms
 *    collect    what reaches it, tile by tile in order: a short list of candidates (the pass over the vector)
 *    digits     12, 10 and 9 bits: three histograms of the list find the k-th magnitude
 *    count      how many of each part of the list lie above it, and on it
 *    write      each part behind those before it: what lies above, and as many as are wanted of those that lie on it
 *
 * The floor is a guess that costs time alone: where fewer than k reach it, or more than there is room for (ties, most
 * elements zero), the last three steps read the vector itself, five passes in all, as they do where it is short or k a
 * large part of it. Kernels learn from the state which it is. Tiles lie in the list in the order in which their blocks
 * came, and a table says where; whatever that order was, what is written is the same.
 */
#include <assert.h>

#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_fold.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_team.h"

enum {
    TOP_LOADS = 4, /* of 16 bytes, a thread's in flight */
    TOP_VECTOR = 4,
    TOP_TILE = TOP_LOADS * TOP_VECTOR * CUDA_BLOCK,
    TOP_WINDOW = 2048,  /* elements of which a run of CUDA_WARP is sampled */
    TOP_SHARE = 1024,   /* elements of a block of `digits`, at least */
    TOP_WRITERS = 1024, /* blocks of `write`, at most */
    TOP_SPARE = 1 << 15, /* places of a list beside three for each of k */
    TOP_BINS = 4096,
    TOP_SAMPLE_STEPS = 2,
    TOP_STEPS = 5,
    TOP_FLOOR_SHIFT = 9 /* lower bits of a floor are 0 */
};

/* Of a magnitude's 31 bits, those that a step looks at: `width` from `shift` on. The first of the sample's steps, and
 * of the others, looks at the uppermost. */
struct top_step {
    int number, shift, width;
    bool first;
};

static const top_step TOP_STEP[TOP_STEPS] = {
    {0, 19, 12, true}, {1, TOP_FLOOR_SHIFT, 10, false}, {2, 19, 12, true}, {3, 9, 10, false}, {4, 0, 9, false}};

/* What a step found: the k-th magnitude's bits from its shift on, and how many of those that share them are wanted. */
struct top_place {
    uint32_t bits, wanted;
};

/* Begins as zeros. */
struct top_state {
    uint32_t found;            /* candidates */
    uint32_t ended[TOP_STEPS]; /* blocks */
    top_place place[TOP_STEPS];
    uint32_t bin[TOP_STEPS][TOP_BINS];
};

/* Elements of x or of the list. */
struct top_range {
    uint32_t begin, end;
};

struct top_call {
    const float *x; /* [n] */
    int64_t n, k;
    int64_t sample, sample_wanted; /* elements, and how many of them are to reach the floor */
    int64_t room;                  /* for candidates; 0: there is no list */
    int64_t tiles, tiles_of_warp;
    int lead; /* elements between x and the 16-byte border before it */
    top_state *state;
    top_range *tile;   /* [tiles] in the list */
    int32_t *index;    /* [room] the list */
    float *value;      /* [room] */
    uint64_t *warp;    /* [warps of `write`] counts: above << 32 | on it */
    uint64_t *block;   /* [blocks of `write`] their sums */
    int32_t *to_index; /* [k] */
    float *to_value;   /* [k] */
};

static __device__ inline uint32_t magnitude_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x7fffffffu;
}

/* Whether candidates are no use: the vector is read. */
static __device__ inline bool reads_all(const top_call &c)
{
    return c.state->found < c.k || c.state->found > c.room;
}

/* A warp's inclusive sums over its lanes. */
static __device__ inline uint32_t sum_to_lane(uint32_t own)
{
    for (int by = 1; by < CUDA_WARP; by *= 2) {
        const uint32_t other = __shfl_up_sync(CUDA_WHOLE_WARP, own, by);
        own += cuda_lane() >= by ? other : 0;
    }
    return own;
}

/* ---- sample and digits ------------------------------------------------------------------------------------------- */

/* Element i of the sample: runs lie at places that drift through their windows, so that no period of x meets them
 * all. */
static __device__ inline int64_t sampled(int64_t i)
{
    const uint32_t window = (uint32_t)i / CUDA_WARP;
    const uint32_t run = window * 0x9E3779B9u >> 26; /* of 64 */
    return (int64_t)(window * TOP_WINDOW + run * CUDA_WARP + (uint32_t)i % CUDA_WARP);
}

/* Adds a warp's elements to their bins; those that share the first lane's, as equal numbers do, at once. */
static __device__ inline void add_to_bins(uint32_t *bins, uint32_t bin, bool counts)
{
    const uint32_t first = __shfl_sync(CUDA_WHOLE_WARP, bin, 0);
    const unsigned same = __ballot_sync(CUDA_WHOLE_WARP, counts && bin == first);
    if (cuda_lane() == 0 && same != 0) {
        atomicAdd(&bins[first], (uint32_t)__popc(same));
    }
    if (counts && bin != first) {
        atomicAdd(&bins[bin], 1u);
    }
}

/* The last block to come here returns true, and sees what all blocks wrote before. */
static __device__ inline bool ends_last(uint32_t *ended, int64_t blocks)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(ended, 1u) == (uint32_t)(blocks - 1);
        __threadfence();
    }
    __syncthreads();
    return last;
}

/* The bin that holds the `wanted`-th from the top, by one block. */
static __device__ inline void find_place(const top_step &step, const uint32_t *bins, const top_place &from,
                                         top_place *to)
{
    __shared__ uint32_t warps[CUDA_ROWS];
    const int own = (1 << step.width) / CUDA_BLOCK; /* bins of a thread, the first thread's on top */
    const int low = (1 << step.width) - ((int)threadIdx.x + 1) * own;
    uint32_t sum = 0;
    for (int i = 0; i < own; ++i) {
        sum += bins[low + (i + cuda_lane() / 2) % own]; /* lanes in different banks */
    }
    const uint32_t to_lane = sum_to_lane(sum);
    if (cuda_lane() == CUDA_WARP - 1) {
        warps[threadIdx.x / CUDA_WARP] = to_lane;
    }
    __syncthreads();
    uint32_t above = to_lane - sum;
    for (unsigned w = 0; w < threadIdx.x / CUDA_WARP; ++w) {
        above += warps[w];
    }
    if (above < from.wanted && from.wanted <= above + sum) {
        int at = low + own - 1;
        while (above + bins[at] < from.wanted) {
            above += bins[at--];
        }
        *to = {from.bits << step.width | (uint32_t)at, from.wanted - above};
    }
}

static __global__ void __launch_bounds__(CUDA_BLOCK) top_digits(top_call c, top_step step)
{
    __shared__ uint32_t bins[TOP_BINS];
    const bool samples = step.number < TOP_SAMPLE_STEPS;
    const bool lists = !samples && !reads_all(c);
    const float *__restrict__ from = lists ? c.value : c.x;
    const int64_t count = samples ? c.sample : lists ? c.state->found : c.n;
    const int64_t shares = (count + TOP_SHARE - 1) / TOP_SHARE;
    const int64_t blocks = shares < gridDim.x ? shares : gridDim.x;
    if (blockIdx.x >= blocks) {
        return;
    }
    top_place before = {0, (uint32_t)(samples ? c.sample_wanted : c.k)};
    if (!step.first) {
        before = c.state->place[step.number - 1];
    }
    for (int b = (int)threadIdx.x; b < 1 << step.width; b += CUDA_BLOCK) {
        bins[b] = 0;
    }
    __syncthreads();
    for (int64_t first = (int64_t)blockIdx.x * TOP_SHARE; first < count; first += blocks * TOP_SHARE) {
        float x[TOP_SHARE / CUDA_BLOCK];
        CUDA_UNROLL
        for (int j = 0; j < TOP_SHARE / CUDA_BLOCK; ++j) {
            const int64_t i = first + j * CUDA_BLOCK + threadIdx.x;
            const int64_t at = i < count ? i : count - 1; /* loads without branches are all under way at once */
            x[j] = from[samples ? sampled(at) : at];
        }
        CUDA_UNROLL
        for (int j = 0; j < TOP_SHARE / CUDA_BLOCK; ++j) {
            const bool there = first + j * CUDA_BLOCK + threadIdx.x < count;
            const uint32_t bits = magnitude_of(x[j]) >> step.shift;
            add_to_bins(bins, bits & ((1u << step.width) - 1), there && bits >> step.width == before.bits);
        }
    }
    __syncthreads();
    uint32_t *all = c.state->bin[step.number];
    for (int b = (int)threadIdx.x; b < 1 << step.width; b += CUDA_BLOCK) {
        if (bins[b] != 0) {
            atomicAdd(&all[b], bins[b]);
        }
    }
    if (!ends_last(&c.state->ended[step.number], blocks)) {
        return;
    }
    for (int b = (int)threadIdx.x; b < 1 << step.width; b += CUDA_BLOCK) {
        bins[b] = const_cast<const volatile uint32_t *>(all)[b]; /* not from a cache of this processor */
    }
    __syncthreads();
    find_place(step, bins, before, &c.state->place[step.number]);
}

/* ---- collect ----------------------------------------------------------------------------------------------------- */

struct alignas(16) top_vector {
    float at[TOP_VECTOR];
};

/* A tile begins on a border of 16 bytes; what of it lies outside of x is 0. */
static __device__ inline void load_tile(const top_call &c, int64_t first, top_vector (&v)[TOP_LOADS])
{
    const int64_t own = first + (int64_t)threadIdx.x * TOP_VECTOR;
    if (first >= 0 && first + TOP_TILE <= c.n) {
        CUDA_UNROLL
        for (int j = 0; j < TOP_LOADS; ++j) {
            v[j] = *reinterpret_cast<const top_vector *>(c.x + own + j * CUDA_BLOCK * TOP_VECTOR);
        }
        return;
    }
    CUDA_UNROLL
    for (int j = 0; j < TOP_LOADS; ++j) {
        CUDA_UNROLL
        for (int e = 0; e < TOP_VECTOR; ++e) {
            const int64_t i = own + j * CUDA_BLOCK * TOP_VECTOR + e;
            v[j].at[e] = i >= 0 && i < c.n ? c.x[i] : 0.0f;
        }
    }
}

/* A block a tile. A byte of `counts` is for one load: a warp's are at most 128. */
static __global__ void __launch_bounds__(CUDA_BLOCK) top_collect(top_call c)
{
    static_assert(TOP_LOADS * CUDA_ROWS == CUDA_WARP, "a warp sums up what all warps found in all loads");
    __shared__ uint32_t before[TOP_LOADS][CUDA_ROWS]; /* places of the list, of this load and warp */
    const uint32_t floor = c.state->place[TOP_SAMPLE_STEPS - 1].bits << TOP_FLOOR_SHIFT;
    const int64_t first = (int64_t)blockIdx.x * TOP_TILE - c.lead;
    const int warp = (int)threadIdx.x / CUDA_WARP;
    top_vector v[TOP_LOADS];
    load_tile(c, first, v); /* while the floor is under way */
    if (floor == 0) {
        return; /* everything reaches it */
    }
    uint32_t counts = 0;
    CUDA_UNROLL
    for (int j = 0; j < TOP_LOADS; ++j) {
        CUDA_UNROLL
        for (int e = 0; e < TOP_VECTOR; ++e) {
            counts += magnitude_of(v[j].at[e]) >= floor ? 1u << 8 * j : 0;
        }
    }
    const uint32_t to_lane = sum_to_lane(counts);
    if (cuda_lane() == CUDA_WARP - 1) {
        CUDA_UNROLL
        for (int j = 0; j < TOP_LOADS; ++j) {
            before[j][warp] = to_lane >> 8 * j & 255;
        }
    }
    __syncthreads();
    if (warp == 0) {
        uint32_t *own = &before[0][0] + cuda_lane();
        const uint32_t sum = sum_to_lane(*own);
        const uint32_t all = __shfl_sync(CUDA_WHOLE_WARP, sum, CUDA_WARP - 1);
        uint32_t begin = 0;
        if (cuda_lane() == 0 && all > 0) {
            begin = atomicAdd(&c.state->found, all);
        }
        begin = __shfl_sync(CUDA_WHOLE_WARP, begin, 0);
        if (cuda_lane() == 0) {
            c.tile[blockIdx.x] = {begin, begin + all};
        }
        *own = begin + sum - *own;
    }
    __syncthreads();
    const uint32_t room = (uint32_t)c.room;
    const int32_t own = (int32_t)(first + threadIdx.x * TOP_VECTOR);
    CUDA_UNROLL
    for (int j = 0; j < TOP_LOADS; ++j) {
        uint32_t at = before[j][warp] + ((to_lane - counts) >> 8 * j & 255);
        CUDA_UNROLL
        for (int e = 0; e < TOP_VECTOR; ++e) {
            if (magnitude_of(v[j].at[e]) >= floor && at < room) {
                c.index[at] = own + j * CUDA_BLOCK * TOP_VECTOR + e;
                c.value[at++] = v[j].at[e];
            }
        }
    }
}

/* ---- count and write --------------------------------------------------------------------------------------------- */

/* Of the vector a tile is as many elements; its last tiles may be short or empty. */
static __device__ inline top_range range_of(const top_call &c, bool all, int64_t tile)
{
    if (!all) {
        return c.tile[tile];
    }
    const int64_t begin = tile * TOP_TILE;
    const int64_t end = begin + TOP_TILE;
    return {(uint32_t)(begin < c.n ? begin : c.n), (uint32_t)(end < c.n ? end : c.n)};
}

/* Calls visit(i, there, x) for the elements x of a warp's tiles in order, a lane one of 32 neighbours, or none: not
 * `there`. */
template <typename Visit> static __device__ inline void visit_tiles(const top_call &c, bool all, Visit visit)
{
    const float *__restrict__ from = all ? c.x : c.value;
    const int64_t first_tile = cuda_row() * c.tiles_of_warp;
    const int64_t last_tile = first_tile + c.tiles_of_warp < c.tiles ? first_tile + c.tiles_of_warp : c.tiles;
    for (int64_t tile = first_tile; tile < last_tile; ++tile) {
        const top_range range = range_of(c, all, tile);
        for (int64_t first = range.begin; first < range.end; first += TOP_LOADS * CUDA_WARP) {
            float x[TOP_LOADS];
            CUDA_UNROLL
            for (int j = 0; j < TOP_LOADS; ++j) {
                const int64_t i = first + j * CUDA_WARP + cuda_lane();
                x[j] = i < range.end ? from[i] : 0.0f;
            }
            CUDA_UNROLL
            for (int j = 0; j < TOP_LOADS; ++j) {
                const int64_t i = first + j * CUDA_WARP + cuda_lane();
                visit(i, i < range.end, x[j]);
            }
        }
    }
}

struct top_sum {
    typedef uint64_t value;

    __device__ void join(uint64_t &sum, uint64_t other) const
    {
        sum += other;
    }
};

static __global__ void __launch_bounds__(CUDA_BLOCK) top_count(top_call c)
{
    const uint32_t kth = c.state->place[TOP_STEPS - 1].bits;
    uint64_t own = 0;
    visit_tiles(c, reads_all(c), [&](int64_t, bool there, float x) {
        const uint32_t magnitude = magnitude_of(x);
        own += there && magnitude > kth ? (uint64_t)1 << 32 : there && magnitude == kth ? 1 : 0;
    });
    for (int by = CUDA_WARP / 2; by > 0; by /= 2) {
        own += __shfl_xor_sync(CUDA_WHOLE_WARP, own, by);
    }
    if (cuda_lane() == 0) {
        c.warp[cuda_row()] = own;
    }
    own = cuda_join_block(top_sum{}, cuda_lane() == 0 ? own : 0);
    if (threadIdx.x == 0) {
        c.block[blockIdx.x] = own;
    }
}

static __global__ void __launch_bounds__(CUDA_BLOCK) top_write(top_call c)
{
    const top_place kth = c.state->place[TOP_STEPS - 1];
    const bool all = reads_all(c);
    const unsigned lower = (1u << cuda_lane()) - 1;
    uint64_t before = 0;
    for (int64_t b = threadIdx.x; b < blockIdx.x; b += CUDA_BLOCK) {
        before += c.block[b];
    }
    before = cuda_join_block(top_sum{}, before);
    for (int64_t w = cuda_row() / CUDA_ROWS * CUDA_ROWS; w < cuda_row(); ++w) {
        before += c.warp[w];
    }
    uint32_t above = (uint32_t)(before >> 32);
    uint32_t equal = (uint32_t)before;
    visit_tiles(c, all, [&](int64_t i, bool there, float x) {
        const uint32_t magnitude = magnitude_of(x);
        const bool is_above = there && magnitude > kth.bits;
        const bool is_equal = there && magnitude == kth.bits;
        const unsigned aboves = __ballot_sync(CUDA_WHOLE_WARP, is_above);
        const unsigned equals = __ballot_sync(CUDA_WHOLE_WARP, is_equal);
        const uint32_t tie = equal + (uint32_t)__popc(equals & lower);
        if (is_above || (is_equal && tie < kth.wanted)) {
            const uint32_t to = above + (uint32_t)__popc(aboves & lower) + (tie < kth.wanted ? tie : kth.wanted);
            c.to_index[to] = all ? (int32_t)i : c.index[i];
            c.to_value[to] = x;
        }
        above += (uint32_t)__popc(aboves);
        equal += (uint32_t)__popc(equals);
    });
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

/* A list has room for a quarter of the vector at most: the largest k that has one, below 0 for none. */
static int64_t most_listed(int64_t n)
{
    return n / 4 >= TOP_SPARE ? (n / 4 - TOP_SPARE) / 3 : -1;
}

/* Half as many again as are wanted are to reach the floor, and 8192, 128 of the sample, so that chance hides few of
 * them; and there is room for twice as many. */
static void plan_list(top_call *c)
{
    const int64_t aim = c->k + c->k / 2 + (1 << 13);
    if (c->k > most_listed(c->n)) {
        return; /* the list would save little */
    }
    c->room = 3 * c->k + TOP_SPARE;
    c->sample = c->n / TOP_WINDOW * CUDA_WARP;
    c->sample_wanted = aim * c->sample / c->n + 1;
}

/* The next `count` elements of scratch memory at `*bytes`, on a border of 256. Without memory bytes are added up
 * alone. */
template <typename T> static T *carve(void *scratch, size_t *bytes, int64_t count)
{
    T *const at = scratch != nullptr ? reinterpret_cast<T *>(static_cast<char *>(scratch) + *bytes) : nullptr;
    *bytes += ((size_t)count * sizeof(T) + 255) / 256 * 256;
    return at;
}

static size_t carve_all(top_call *c, void *scratch, int64_t writers)
{
    size_t bytes = 0;
    c->state = carve<top_state>(scratch, &bytes, 1);
    c->tile = carve<top_range>(scratch, &bytes, c->room > 0 ? c->tiles : 0);
    c->index = carve<int32_t>(scratch, &bytes, c->room);
    c->value = carve<float>(scratch, &bytes, c->room);
    c->warp = carve<uint64_t>(scratch, &bytes, writers * CUDA_ROWS);
    c->block = carve<uint64_t>(scratch, &bytes, writers);
    return bytes;
}

static int run_steps(cuda_queue *queue, const top_call &c, int begin, int end, int64_t elements)
{
    const int64_t shares = cuda_pieces(elements, TOP_SHARE);
    const int64_t most = (int64_t)queue->processors * 8;
    for (int s = begin; s < end; ++s) {
        CUDA_TRY(cuda_launch_teams(queue, {shares < most ? shares : most, CUDA_BLOCK}, top_digits, c, TOP_STEP[s]));
    }
    return CUDA_DONE;
}

/* Lists, and who writes how much, of c's n, k and lead. Returns the blocks that write. */
static int64_t plan_call(top_call *c)
{
    c->tiles = cuda_pieces(c->n + c->lead, TOP_TILE);
    plan_list(c);
    const int64_t wanted = cuda_pieces(c->tiles, CUDA_ROWS);
    const int64_t writers = wanted < TOP_WRITERS ? wanted : (int64_t)TOP_WRITERS;
    c->tiles_of_warp = cuda_pieces(c->tiles, writers * CUDA_ROWS);
    return writers;
}

/* Of a vector at the worst address; and of fewer where they, and not all, have a list. */
size_t cuda_scratch_select(int64_t elements, int64_t selected)
{
    top_call c = {};
    const int64_t listed = most_listed(elements);
    c.n = elements;
    c.k = listed >= 0 && listed < selected ? listed : selected;
    c.lead = TOP_VECTOR - 1;
    return elements > 0 ? carve_all(&c, nullptr, plan_call(&c)) : 0;
}

int cuda_run_select_largest(cuda_queue *queue, const hal_select_largest_args *a)
{
    top_call c = {};
    void *scratch = nullptr;
    if (cuda_empty(a->index)) {
        return CUDA_DONE;
    }
    c.x = cuda_data<const float>(a->x);
    c.n = a->x.cols;
    c.k = a->index.cols;
    c.to_index = cuda_data<int32_t>(a->index);
    c.to_value = cuda_data<float>(a->value);
    c.lead = (int)(reinterpret_cast<uintptr_t>(c.x) / sizeof(float) % TOP_VECTOR);
    const int64_t writers = plan_call(&c);
    const size_t bytes = carve_all(&c, nullptr, writers);
    assert(bytes <= cuda_scratch_select(c.n, c.k));
    CUDA_TRY(cuda_queue_scratch(queue, bytes, &scratch));
    (void)carve_all(&c, scratch, writers);
    CUDA_TRY(cuda_fill(queue->stream, c.state, 0, sizeof *c.state));
    if (c.room > 0) {
        CUDA_TRY(run_steps(queue, c, 0, TOP_SAMPLE_STEPS, c.sample));
        CUDA_TRY(cuda_launch_teams(queue, {c.tiles, CUDA_BLOCK}, top_collect, c));
    }
    CUDA_TRY(run_steps(queue, c, TOP_SAMPLE_STEPS, TOP_STEPS, c.n));
    CUDA_TRY(cuda_launch_teams(queue, {writers, CUDA_BLOCK}, top_count, c));
    return cuda_launch_teams(queue, {writers, CUDA_BLOCK}, top_write, c);
}
