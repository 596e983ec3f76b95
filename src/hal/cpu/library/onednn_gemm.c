/* hal/cpu/library/onednn_gemm.c: matrix products of f32 or bfloat16, by the library's matmul primitive; one is kept for
 * each shape. */
#include "hal/cpu/library/onednn.h"

#ifdef WEFT_HAVE_ONEDNN

#include <assert.h>
#include <string.h>

#include "hal/cpu/library/onednn_context.h"

/* What makes two products the same to the library. */
typedef struct gemm_key {
    int64_t m, n, k, lda, ldb, ldc;
    float beta;
    bool trans_a, trans_b, bias;
    bool narrow, narrow_c; /* a and b are of bfloat16; so is c */
} gemm_key;

typedef struct gemm_entry {
    gemm_key key;
    onednn_step step;
} gemm_entry;

struct onednn_gemms {
    gemm_entry *entry;
    int64_t entries, capacity;
};

void onednn_gemms_destroy(onednn_gemms *gemms)
{
    if (gemms == NULL) {
        return;
    }
    for (int64_t i = 0; i < gemms->entries; ++i) {
        onednn_step_destroy(&gemms->entry[i].step);
    }
    WEFT_FREE_ALL(gemms->entry, gemms);
}

/* ---- making a primitive ----------------------------------------------------------------------------------------- */

typedef struct gemm_desc {
    owned_desc a, b, c, bias;
} gemm_desc;

static dnnl_status_t describe(const gemm_key *key, gemm_desc *d)
{
    const dnnl_data_type_t type = key->narrow ? dnnl_bf16 : dnnl_f32, type_c = key->narrow_c ? dnnl_bf16 : dnnl_f32;
    TRY_DNNL(desc_by_strides(&d->a, type, key->m, key->k, key->trans_a ? 1 : key->lda, key->trans_a ? key->lda : 1));
    TRY_DNNL(desc_by_strides(&d->b, type, key->k, key->n, key->trans_b ? 1 : key->ldb, key->trans_b ? key->ldb : 1));
    TRY_DNNL(desc_by_strides(&d->c, type_c, key->m, key->n, key->ldc, 1));
    return desc_by_strides(&d->bias, dnnl_f32, 1, key->n, key->n, 1);
}

static weft_status step_from_desc(onednn *library, const gemm_key *key, const gemm_desc *d,
                                  const_dnnl_primitive_desc_t primitive, onednn_step *step)
{
    WEFT_TRY(onednn_step_create(library, primitive, step));
    WEFT_TRY(onednn_step_argument(library, step, DNNL_ARG_SRC, desc_read(&d->a)));
    WEFT_TRY(onednn_step_argument(library, step, DNNL_ARG_WEIGHTS, desc_read(&d->b)));
    WEFT_TRY(onednn_step_argument(library, step, DNNL_ARG_DST, desc_read(&d->c)));
    return key->bias ? onednn_step_argument(library, step, DNNL_ARG_BIAS, desc_read(&d->bias)) : WEFT_OK;
}

static weft_status step_create(onednn *library, const gemm_key *key, onednn_step *step)
{
    gemm_desc d;
    memset(&d, 0, sizeof d);
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t primitive = NULL;
    dnnl_status_t made = describe(key, &d);
    if (made == dnnl_success) {
        made = onednn_attr_create(key->beta, false, &attr);
    }
    if (made == dnnl_success) {
        made = matmul_desc_create(&primitive, library->engine, &d.a, &d.b, key->bias ? &d.bias : NULL, &d.c, attr);
    }
    weft_status status = made == dnnl_success
                             ? step_from_desc(library, key, &d, primitive, step)
                             : weft_fail(WEFT_ERR_RESOURCE, "%s: no product of %ld x %ld x %ld (status %d)",
                                         onednn_version(), (long)key->m, (long)key->n, (long)key->k, (int)made);
    if (primitive != NULL) {
        dnnl_primitive_desc_destroy(primitive);
    }
    if (attr != NULL) {
        dnnl_primitive_attr_destroy(attr);
    }
    desc_destroy(&d.a);
    desc_destroy(&d.b);
    desc_destroy(&d.c);
    desc_destroy(&d.bias);
    return status;
}

/* ---- the table of shapes ---------------------------------------------------------------------------------------- */

static weft_status add_entry(onednn *library, const gemm_key *key, const gemm_entry **out)
{
    if (library->gemms == NULL) {
        WEFT_TRY(WEFT_NEW_ZERO(&library->gemms, 1, WEFT_MEM_GENERAL));
    }
    onednn_gemms *gemms = library->gemms;
    if (gemms->entries == gemms->capacity) {
        int64_t capacity = gemms->capacity > 0 ? 2 * gemms->capacity : 16;
        WEFT_TRY(weft_realloc((void **)&gemms->entry, (size_t)capacity, sizeof *gemms->entry, WEFT_MEM_GENERAL));
        gemms->capacity = capacity;
    }
    gemm_entry *entry = &gemms->entry[gemms->entries];
    *entry = (gemm_entry){.key = *key};
    int before = onednn_enter(library);
    weft_status status = step_create(library, key, &entry->step);
    onednn_leave(library, before);
    if (status != WEFT_OK) {
        onednn_step_destroy(&entry->step);
        return status;
    }
    gemms->entries += 1;
    *out = entry;
    return WEFT_OK;
}

static bool same_key(const gemm_key *a, const gemm_key *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc &&
           a->beta == b->beta && a->trans_a == b->trans_a && a->trans_b == b->trans_b && a->bias == b->bias &&
           a->narrow == b->narrow && a->narrow_c == b->narrow_c;
}

static weft_status find_entry(onednn *library, const gemm_key *key, const gemm_entry **out)
{
    for (int64_t i = 0; library->gemms != NULL && i < library->gemms->entries; ++i) {
        if (same_key(&library->gemms->entry[i].key, key)) {
            *out = &library->gemms->entry[i];
            return WEFT_OK;
        }
    }
    return add_entry(library, key, out);
}

weft_status onednn_gemm(onednn *library, const cpu_product *g)
{
    const gemm_key key = {.m = g->m,
                          .n = g->n,
                          .k = g->k,
                          .lda = g->lda,
                          .ldb = g->ldb,
                          .ldc = g->ldc,
                          .beta = (float)g->beta,
                          .trans_a = g->trans_a,
                          .trans_b = g->trans_b,
                          .bias = g->bias != NULL,
                          .narrow = g->narrow_a,
                          .narrow_c = g->narrow_c};
    assert(g->narrow_a == g->narrow_b && (g->narrow_a || !g->narrow_c));
    const gemm_entry *entry = NULL;
    WEFT_TRY(find_entry(library, &key, &entry));
    return onednn_step_run(library, &entry->step,
                           (void *[]){onednn_reads(g->a), onednn_reads(g->b), g->c, onednn_reads(g->bias)});
}

#endif
