/*
 * hal/cpu/sparse/share_kernel_body.h: the kernels of shared sums (spmm_shared.h), which spmm_kernel_body.h includes
 * once for each instruction set.
 */

/* Least hash of `count` columns: the same for two rows as likely as their columns are in common. */
static uint32_t kernel_share_hash(const int32_t *column, int64_t count, uint32_t seed)
{
    uint32_t least = UINT32_MAX;
    for (int64_t i = 0; i < count; i++) {
        uint32_t hash = ((uint32_t)column[i] + seed * 0x9E3779B9U) * 0x85EBCA6BU;
        hash = (hash ^ hash >> 15) * 0xC2B2AE35U;
        hash ^= hash >> 16;
        least = hash < least ? hash : least;
    }
    return least;
}

/* Sum over masks of max(0, 2 p - q - 1), p of the q rows of m in the mask: share_group.h. */
static int64_t kernel_share_gain(const uint64_t *mask, int64_t count, uint64_t m)
{
    const int64_t least = (int64_t)__builtin_popcountll(m) + 1;
    int64_t gain = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t more = 2 * (int64_t)__builtin_popcountll(mask[i] & m) - least;
        gain += more > 0 ? more : 0;
    }
    return gain;
}

KERNEL void shared_prefetch(const float *x, const int32_t *column, const int vectors)
{
    const float *row = x + (int64_t)*column * (vectors * LANES);
    UNROLL
    for (int v = 0; v < vectors; v += LANES_PER_LINE_STEP) {
        __builtin_prefetch(row + v * LANES, 0, 3);
    }
}

/* Asks for a row of out, which will be written. */
KERNEL void row_wanted(const spmm_pass *pass, int64_t row, const int vectors)
{
    const size_t cell = pass->narrow_out ? sizeof(uint16_t) : sizeof(float);
    const char *out = (const char *)pass->out + (size_t)row * (size_t)pass->ldo * cell;
    UNROLL
    for (int v = 0; v < vectors; v += LANES_PER_LINE_STEP) {
        __builtin_prefetch(out + (size_t)(v * LANES) * cell, 1, 3);
    }
}

KERNEL void shared_strip(const spmm_shared_rows *m, int64_t begin, int64_t end, int64_t first_out,
                         const spmm_pass *pass, const int vectors)
{
    const float *x = pass->x;
    int64_t e = m->start[2 * begin];
    const bool exact = pass->width == vectors * LANES;
    TAIL tails[MAX_VECTORS];
    set_tails(tails, vectors, pass->width);
    for (int64_t row = begin; row < end; row++) {
        VEC acc[MAX_VECTORS];
        UNROLL
        for (int v = 0; v < vectors; v++) {
            acc[v] = vec_zero();
        }
        for (const int64_t added = m->start[2 * row + 1]; e < added; e++) {
            const float *source = x + (int64_t)m->column[e] * (vectors * LANES);
            shared_prefetch(x, m->column + e + SPMM_SHARED_READS, vectors);
            UNROLL
            for (int v = 0; v < vectors; v++) {
                acc[v] += vec_load(source + v * LANES);
            }
        }
        for (const int64_t subtracted = m->start[2 * row + 2]; e < subtracted; e++) {
            const float *source = x + (int64_t)m->column[e] * (vectors * LANES);
            shared_prefetch(x, m->column + e + SPMM_SHARED_READS, vectors);
            UNROLL
            for (int v = 0; v < vectors; v++) {
                acc[v] -= vec_load(source + v * LANES);
            }
        }
        const int64_t out = row - first_out;
        if (pass->order != NULL && row + SPMM_SHARED_ROWS < end) {
            row_wanted(pass, pass->order[out + SPMM_SHARED_ROWS], vectors);
        }
        put_row(pass, pass->order != NULL ? pass->order[out] : out, acc, vectors, exact, tails);
    }
}

#define SHARED_OF(strip)                                                                                               \
    static void shared_##strip(const spmm_shared_rows *m, int64_t begin, int64_t end, int64_t first_out,               \
                               const spmm_pass *pass)                                                                  \
    {                                                                                                                  \
        shared_strip(m, begin, end, first_out, pass, strip / LANES);                                                   \
    }
SHARED_OF(16)
SHARED_OF(32)
#undef SHARED_OF

static void kernel_shared(const spmm_shared_rows *m, int strip, int64_t begin, int64_t end, int64_t first_out,
                          const spmm_pass *pass)
{
    (strip == 16 ? shared_16 : shared_32)(m, begin, end, first_out, pass);
}
