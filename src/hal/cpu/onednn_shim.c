/*
 * hal/cpu/onednn_shim.c: f32 matrix products by oneDNN, versions 2 and 3.
 *
 * What the versions disagree on is in the second section: descriptors are structs in version 2 and opaque in 3, and
 * operation descriptors are gone in 3.
 */
#include "hal/cpu/onednn_shim.h"

#ifdef WEFT_HAVE_ONEDNN

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <string.h>

/* What makes two products the same to the library. */
typedef struct gemm_key {
    int64_t m, n, k, lda, ldb, ldc;
    float beta;
    bool trans_a, trans_b, bias;
} gemm_key;

enum { A_MEMORY, B_MEMORY, C_MEMORY, BIAS_MEMORY, SCRATCH_MEMORY, MEMORIES };

typedef struct gemm_entry {
    gemm_key key;
    dnnl_primitive_t primitive;
    dnnl_memory_t memory[MEMORIES];
    size_t scratch_bytes;
} gemm_entry;

struct cpu_gemm_cache {
    int threads;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    gemm_entry *entry;
    int64_t entries, capacity;
    void *scratch;
    size_t scratch_bytes;
};

#define TRY_DNNL(call)                                                                                                 \
    do {                                                                                                               \
        dnnl_status_t try_dnnl_ = (call);                                                                              \
        if (try_dnnl_ != dnnl_success) {                                                                               \
            return try_dnnl_;                                                                                          \
        }                                                                                                              \
    } while (0)

/* ---- the two versions ------------------------------------------------------------------------------------------ */

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t owned_desc;
typedef const_dnnl_memory_desc_t read_desc;
#else
typedef dnnl_memory_desc_t owned_desc;
typedef const dnnl_memory_desc_t *read_desc;
#endif

static dnnl_status_t desc_create(owned_desc *desc, int64_t rows, int64_t cols, int64_t row_step, int64_t col_step)
{
    dnnl_dims_t dims = {rows, cols};
    dnnl_dims_t strides = {row_step, col_step};
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_memory_desc_create_with_strides(desc, 2, dims, dnnl_f32, strides);
#else
    return dnnl_memory_desc_init_by_strides(desc, 2, dims, dnnl_f32, strides);
#endif
}

static void desc_destroy(owned_desc *desc)
{
#if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_destroy(*desc);
#else
    (void)desc;
#endif
}

static read_desc desc_read(const owned_desc *desc)
{
#if DNNL_VERSION_MAJOR >= 3
    return *desc;
#else
    return desc;
#endif
}

static dnnl_status_t append_sum(dnnl_post_ops_t ops, float beta)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_post_ops_append_sum(ops, beta, 0, dnnl_f32);
#else
    return dnnl_post_ops_append_sum(ops, beta);
#endif
}

static dnnl_status_t matmul_desc_create(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const owned_desc *desc,
                                        bool bias, const_dnnl_primitive_attr_t attr)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_matmul_primitive_desc_create(out, engine, desc[A_MEMORY], desc[B_MEMORY],
                                             bias ? desc[BIAS_MEMORY] : NULL, desc[C_MEMORY], attr);
#else
    dnnl_matmul_desc_t matmul;
    TRY_DNNL(dnnl_matmul_desc_init(&matmul, &desc[A_MEMORY], &desc[B_MEMORY], bias ? &desc[BIAS_MEMORY] : NULL,
                                   &desc[C_MEMORY]));
    return dnnl_primitive_desc_create(out, &matmul, attr, engine, NULL);
#endif
}

/* ---- making a primitive ----------------------------------------------------------------------------------------- */

static dnnl_status_t attr_create(float beta, dnnl_primitive_attr_t *attr)
{
    TRY_DNNL(dnnl_primitive_attr_create(attr));
    TRY_DNNL(dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user));
    if (beta == 0.0F) {
        return dnnl_success;
    }
    dnnl_post_ops_t ops = NULL;
    TRY_DNNL(dnnl_post_ops_create(&ops));
    dnnl_status_t status = append_sum(ops, beta);
    if (status == dnnl_success) {
        status = dnnl_primitive_attr_set_post_ops(*attr, ops);
    }
    dnnl_post_ops_destroy(ops);
    return status;
}

/* The primitive and its memory objects, which get their pointers when it runs. */
static dnnl_status_t entry_from_desc(const cpu_gemm_cache *cache, const owned_desc *desc,
                                     dnnl_primitive_desc_t primitive, gemm_entry *entry)
{
    TRY_DNNL(dnnl_primitive_create(&entry->primitive, primitive));
    for (int i = 0; i < SCRATCH_MEMORY; ++i) {
        if (i != BIAS_MEMORY || entry->key.bias) {
            TRY_DNNL(dnnl_memory_create(&entry->memory[i], desc_read(&desc[i]), cache->engine, DNNL_MEMORY_NONE));
        }
    }
    read_desc scratch = dnnl_primitive_desc_query_md(primitive, dnnl_query_scratchpad_md, 0);
    entry->scratch_bytes = dnnl_memory_desc_get_size(scratch);
    if (entry->scratch_bytes > 0) {
        TRY_DNNL(dnnl_memory_create(&entry->memory[SCRATCH_MEMORY], scratch, cache->engine, DNNL_MEMORY_NONE));
    }
    return dnnl_success;
}

static dnnl_status_t entry_create(const cpu_gemm_cache *cache, gemm_entry *entry)
{
    const gemm_key *key = &entry->key;
    owned_desc desc[SCRATCH_MEMORY];
    memset(desc, 0, sizeof desc);
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t primitive = NULL;
    dnnl_status_t status =
        desc_create(&desc[A_MEMORY], key->m, key->k, key->trans_a ? 1 : key->lda, key->trans_a ? key->lda : 1);
    if (status == dnnl_success) {
        status = desc_create(&desc[B_MEMORY], key->k, key->n, key->trans_b ? 1 : key->ldb, key->trans_b ? key->ldb : 1);
    }
    if (status == dnnl_success) {
        status = desc_create(&desc[C_MEMORY], key->m, key->n, key->ldc, 1);
    }
    if (status == dnnl_success) {
        status = desc_create(&desc[BIAS_MEMORY], 1, key->n, key->n, 1);
    }
    if (status == dnnl_success) {
        status = attr_create(key->beta, &attr);
    }
    if (status == dnnl_success) {
        status = matmul_desc_create(&primitive, cache->engine, desc, key->bias, attr);
    }
    if (status == dnnl_success) {
        status = entry_from_desc(cache, desc, primitive, entry);
    }
    if (primitive != NULL) {
        dnnl_primitive_desc_destroy(primitive);
    }
    if (attr != NULL) {
        dnnl_primitive_attr_destroy(attr);
    }
    for (int i = 0; i < SCRATCH_MEMORY; ++i) {
        desc_destroy(&desc[i]);
    }
    return status;
}

static void entry_destroy(gemm_entry *entry)
{
    for (int i = 0; i < MEMORIES; ++i) {
        if (entry->memory[i] != NULL) {
            dnnl_memory_destroy(entry->memory[i]);
        }
    }
    if (entry->primitive != NULL) {
        dnnl_primitive_destroy(entry->primitive);
    }
}

/* ---- the cache -------------------------------------------------------------------------------------------------- */

weft_status onednn_create(int threads, cpu_gemm_cache **out)
{
    *out = NULL;
    cpu_gemm_cache *cache = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&cache, 1, WEFT_MEM_GENERAL));
    cache->threads = threads;
    if (dnnl_engine_create(&cache->engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&cache->stream, cache->engine, dnnl_stream_default_flags) != dnnl_success) {
        onednn_destroy(cache);
        return weft_fail(WEFT_ERR_RESOURCE, "%s: its engine could not be created", onednn_version());
    }
    *out = cache;
    return WEFT_OK;
}

void onednn_destroy(cpu_gemm_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    for (int64_t i = 0; i < cache->entries; ++i) {
        entry_destroy(&cache->entry[i]);
    }
    if (cache->stream != NULL) {
        dnnl_stream_destroy(cache->stream);
    }
    if (cache->engine != NULL) {
        dnnl_engine_destroy(cache->engine);
    }
    weft_free(cache->entry);
    weft_free(cache->scratch);
    weft_free(cache);
}

static weft_status add_entry(cpu_gemm_cache *cache, const gemm_key *key, gemm_entry **out)
{
    if (cache->entries == cache->capacity) {
        int64_t capacity = cache->capacity > 0 ? 2 * cache->capacity : 16;
        WEFT_TRY(weft_realloc((void **)&cache->entry, (size_t)capacity, sizeof *cache->entry, WEFT_MEM_GENERAL));
        cache->capacity = capacity;
    }
    gemm_entry *entry = &cache->entry[cache->entries];
    memset(entry, 0, sizeof *entry);
    entry->key = *key;
    dnnl_status_t status = entry_create(cache, entry);
    if (status != dnnl_success) {
        entry_destroy(entry);
        return weft_fail(WEFT_ERR_RESOURCE, "%s: no product of %ld x %ld x %ld (status %d)", onednn_version(),
                         (long)key->m, (long)key->n, (long)key->k, (int)status);
    }
    if (entry->scratch_bytes > cache->scratch_bytes) {
        weft_free(cache->scratch);
        cache->scratch = NULL;
        cache->scratch_bytes = 0;
        weft_status scratch = weft_malloc(entry->scratch_bytes, 1, WEFT_MEM_WORKSPACE, &cache->scratch);
        if (scratch != WEFT_OK) {
            entry_destroy(entry);
            return scratch;
        }
        cache->scratch_bytes = entry->scratch_bytes;
    }
    cache->entries += 1;
    *out = entry;
    return WEFT_OK;
}

static bool same_key(const gemm_key *a, const gemm_key *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc &&
           a->beta == b->beta && a->trans_a == b->trans_a && a->trans_b == b->trans_b && a->bias == b->bias;
}

static weft_status find_entry(cpu_gemm_cache *cache, const cpu_product *gemm, gemm_entry **out)
{
    gemm_key key = {.m = gemm->m,
                    .n = gemm->n,
                    .k = gemm->k,
                    .lda = gemm->lda,
                    .ldb = gemm->ldb,
                    .ldc = gemm->ldc,
                    .beta = (float)gemm->beta,
                    .trans_a = gemm->trans_a,
                    .trans_b = gemm->trans_b,
                    .bias = gemm->bias != NULL};
    for (int64_t i = 0; i < cache->entries; ++i) {
        if (same_key(&cache->entry[i].key, &key)) {
            *out = &cache->entry[i];
            return WEFT_OK;
        }
    }
    return add_entry(cache, &key, out);
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

static dnnl_status_t execute(cpu_gemm_cache *cache, gemm_entry *entry, const cpu_product *gemm)
{
    static const int argument[MEMORIES] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS,
                                           DNNL_ARG_SCRATCHPAD};
    /* The library's interface has no const; it only reads these. */
    void *pointer[MEMORIES] = {(void *)(uintptr_t)gemm->a, (void *)(uintptr_t)gemm->b, gemm->c,
                               (void *)(uintptr_t)gemm->bias, cache->scratch};
    dnnl_exec_arg_t args[MEMORIES];
    int count = 0;
    for (int i = 0; i < MEMORIES; ++i) {
        if (entry->memory[i] != NULL) {
            TRY_DNNL(dnnl_memory_set_data_handle(entry->memory[i], pointer[i]));
            args[count++] = (dnnl_exec_arg_t){argument[i], entry->memory[i]};
        }
    }
    TRY_DNNL(dnnl_primitive_execute(entry->primitive, cache->stream, count, args));
    return dnnl_stream_wait(cache->stream);
}

weft_status onednn_gemm(cpu_gemm_cache *cache, const cpu_product *gemm)
{
    int before = omp_get_max_threads(); /* the library takes the process's number of threads */
    if (before != cache->threads) {
        omp_set_num_threads(cache->threads);
    }
    gemm_entry *entry = NULL;
    weft_status status = find_entry(cache, gemm, &entry);
    if (status == WEFT_OK && entry != NULL && execute(cache, entry, gemm) != dnnl_success) {
        status = weft_fail(WEFT_ERR_INTERNAL, "%s: a product of %ld x %ld x %ld failed", onednn_version(),
                           (long)gemm->m, (long)gemm->n, (long)gemm->k);
    }
    if (before != cache->threads) {
        omp_set_num_threads(before);
    }
    return status;
}

const char *onednn_version(void)
{
    static _Thread_local char text[32];
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, sizeof text, "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
    return text;
}

#else

weft_status onednn_create(int threads, cpu_gemm_cache **cache)
{
    (void)threads;
    *cache = NULL;
    return WEFT_OK;
}

void onednn_destroy(cpu_gemm_cache *cache)
{
    (void)cache;
}

weft_status onednn_gemm(cpu_gemm_cache *cache, const cpu_product *gemm)
{
    (void)cache;
    (void)gemm;
    return weft_fail(WEFT_ERR_UNSUPPORTED, "this build has no oneDNN");
}

const char *onednn_version(void)
{
    return "none";
}

#endif
