/* io/zip/crc32.c: see io/zip/crc32.h. */
#include "io/zip/crc32.h"

#include <assert.h>
#include <immintrin.h>
#include <zlib.h>

/* Bytes of a register, and of the four that are folded side by side. Below 256 bytes zlib's function is as fast. */
enum { LANE = 16, LANES = 4, STEP = LANE * LANES, WORTH_IT = 256 };

/* Powers of x modulo the polynomial, in its order of bits: they move a half of a register forward by STEP or by LANE
 * bytes. */
#define FORWARD_STEP_LOW  0x0154442bd4ULL
#define FORWARD_STEP_HIGH 0x01c6e41596ULL
#define FORWARD_LANE_LOW  0x01751997d0ULL
#define FORWARD_LANE_HIGH 0x00ccaa009eULL

/* The register that stands `forward` before `next`, added to it. */
__attribute__((target("sse4.1,pclmul"))) static inline __m128i fold(__m128i lane, __m128i forward, __m128i next)
{
    const __m128i low = _mm_clmulepi64_si128(lane, forward, 0x00);
    const __m128i high = _mm_clmulepi64_si128(lane, forward, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* bytes: a multiple of LANE, at least STEP. */
__attribute__((target("sse4.1,pclmul"))) static uint32_t crc_folded(uint32_t crc, const unsigned char *data,
                                                                    size_t bytes)
{
    assert(bytes >= STEP && bytes % LANE == 0);
    const __m128i step = _mm_set_epi64x((long long)FORWARD_STEP_HIGH, (long long)FORWARD_STEP_LOW);
    const __m128i one = _mm_set_epi64x((long long)FORWARD_LANE_HIGH, (long long)FORWARD_LANE_LOW);
    __m128i lane[LANES];
    for (int i = 0; i < LANES; i++) {
        lane[i] = _mm_loadu_si128((const __m128i *)data + i);
    }
    lane[0] = _mm_xor_si128(lane[0], _mm_cvtsi32_si128((int)~crc));
    size_t at = STEP;
    for (; at + STEP <= bytes; at += STEP) {
        for (int i = 0; i < LANES; i++) {
            lane[i] = fold(lane[i], step, _mm_loadu_si128((const __m128i *)(data + at) + i));
        }
    }
    __m128i sum = lane[0];
    for (int i = 1; i < LANES; i++) {
        sum = fold(sum, one, lane[i]);
    }
    for (; at < bytes; at += LANE) {
        sum = fold(sum, one, _mm_loadu_si128((const __m128i *)(data + at)));
    }
    /* These bytes have the checksum of all; ~0 stands for a register that is zero. */
    unsigned char rest[LANE];
    _mm_storeu_si128((__m128i *)rest, sum);
    return (uint32_t)crc32_z(0xffffffffUL, rest, LANE);
}

uint32_t zip_crc32(uint32_t crc, const void *data, size_t bytes)
{
    const unsigned char *next = data;
    if (bytes >= WORTH_IT && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) {
        const size_t whole = bytes - bytes % LANE;
        crc = crc_folded(crc, next, whole);
        next += whole;
        bytes -= whole;
    }
    return bytes > 0 ? (uint32_t)crc32_z(crc, next, bytes) : crc;
}
