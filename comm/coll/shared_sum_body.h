/*
 * comm/coll/shared_sum_body.h: sums of float32 vectors in a fixed order; included once for each instruction set with
 *   VECTOR, VECTOR_LOAD, VECTOR_ADD, VECTOR_STORE, VECTOR_STREAM   the type and its operations (unaligned but STREAM)
 *   SHARED_SUM                                                     the function's name
 *
 * Two operands and up to two results, the common case, go straight through. More operands are added block by block in
 * the first-level cache: as many streams as operands at once would be more than the prefetchers follow.
 *
 * Streaming stores bypass the caches. They are weakly ordered: a fence ends them before a flag may be raised.
 */
enum { LANES = (int)(sizeof(VECTOR) / sizeof(float)), SUM_BLOCK = 1024 };

static void sum_pair(float *to, float *also, const float *left, const float *right, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        VECTOR sum = VECTOR_ADD(VECTOR_LOAD(left + i), VECTOR_LOAD(right + i));
        VECTOR_STORE(to + i, sum);
        VECTOR_STORE(also + i, sum);
    }
    for (; i < count; ++i) {
        float sum = left[i] + right[i];
        to[i] = sum;
        also[i] = sum;
    }
}

static void sum_one(float *to, const float *left, const float *right, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        VECTOR_STORE(to + i, VECTOR_ADD(VECTOR_LOAD(left + i), VECTOR_LOAD(right + i)));
    }
    for (; i < count; ++i) {
        to[i] = left[i] + right[i];
    }
}

/* Elements until `to` is aligned for streaming. */
static int64_t head_of(const float *to)
{
    return (int64_t)((-(uintptr_t)to % sizeof(VECTOR)) / sizeof(float));
}

static void stream_pair(float *to, float *also, const float *left, const float *right, int64_t count)
{
    int64_t head = head_of(to);
    head = head < count ? head : count;
    int64_t whole = head + (count - head) / LANES * LANES;
    sum_pair(to, also, left, right, head);
    for (int64_t i = head; i < whole; i += LANES) {
        VECTOR sum = VECTOR_ADD(VECTOR_LOAD(left + i), VECTOR_LOAD(right + i));
        VECTOR_STREAM(to + i, sum);
        VECTOR_STREAM(also + i, sum);
    }
    sum_pair(to + whole, also + whole, left + whole, right + whole, count - whole);
}

static void stream_copy(float *to, const float *from, int64_t count)
{
    int64_t head = head_of(to);
    head = head < count ? head : count;
    int64_t whole = head + (count - head) / LANES * LANES;
    memcpy(to, from, (size_t)head * sizeof *to);
    for (int64_t i = head; i < whole; i += LANES) {
        VECTOR_STREAM(to + i, VECTOR_LOAD(from + i));
    }
    memcpy(to + whole, from + whole, (size_t)(count - whole) * sizeof *to);
}

static void sum_blocks(void *const *to, int tos, const void *const *from, int froms, int64_t begin, int64_t end,
                       bool stream)
{
    float sum[SUM_BLOCK];
    for (int64_t at = begin; at < end; at += SUM_BLOCK) {
        int64_t block = end - at < SUM_BLOCK ? end - at : SUM_BLOCK;
        sum_one(sum, (const float *)from[0] + at, (const float *)from[1] + at, block);
        for (int q = 2; q < froms; ++q) {
            sum_one(sum, sum, (const float *)from[q] + at, block);
        }
        for (int t = 0; t < tos; ++t) {
            float *out = (float *)to[t] + at;
            if (stream) {
                stream_copy(out, sum, block);
            } else {
                memcpy(out, sum, (size_t)block * sizeof *sum);
            }
        }
    }
}

void SHARED_SUM(void *const *to, int tos, const void *const *from, int froms, int64_t begin, int64_t end, bool stream)
{
    const float *left = (const float *)from[0] + begin;
    const float *right = (const float *)from[1] + begin;
    float *out = (float *)to[0] + begin;
    float *also = (float *)to[tos - 1] + begin;
    if (froms == 2 && tos == 1 && !stream) {
        sum_one(out, left, right, end - begin);
    } else if (froms == 2 && tos == 2 && !stream) {
        sum_pair(out, also, left, right, end - begin);
    } else if (froms == 2 && tos == 2 && head_of(out) == head_of(also)) {
        stream_pair(out, also, left, right, end - begin);
    } else {
        sum_blocks(to, tos, from, froms, begin, end, stream);
    }
    if (stream) {
        _mm_sfence();
    }
}
