/*
 * hal/cuda/device/device_runtime_blas.c: the calls of cuda_blas.h, of the cuBLAS that belongs to the toolkit that this
 * program was built with. Of its interface what is needed is written down here, as it has stood since cuBLAS 11: no
 * header, nothing to link.
 */
#include <cuda_runtime_api.h>
#include <library_types.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "hal/cuda/device/cuda_blas.h"
#include "hal/cuda/device/device_library.h"

enum { BLAS_DONE = 0, BLAS_NO_MEMORY = 3 };   /* cublasStatus_t */
enum { BLAS_PLAIN = 0, BLAS_TRANSPOSED = 1 }; /* cublasOperation_t */
enum { BLAS_IN_F32 = 68, BLAS_IN_F64 = 70 };  /* cublasComputeType_t */
enum { BLAS_CHOOSES = -1 };                   /* cublasGemmAlgo_t */
enum { BLAS_SUMS_STAY_WIDE = 16 }; /* cublasMath_t: parts of 16-bit products are added before they are rounded */
enum { BLAS_WORKSPACE = 32 << 20, CUDA_MAJOR = CUDART_VERSION / 1000 };

typedef int blas_create(void **handle);
typedef int blas_destroy(void *handle);
typedef int blas_set_stream(void *handle, cudaStream_t stream);
typedef int blas_set_workspace(void *handle, void *workspace, size_t bytes);
typedef int blas_set_math(void *handle, int mode);
typedef int blas_gemm(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,
                      cudaDataType type_a, int lda, const void *b, cudaDataType type_b, int ldb, const void *beta,
                      void *c, cudaDataType type_c, int ldc, int compute, int algorithm);

struct cuda_blas {
    void *library, *handle, *workspace;
    blas_destroy *destroy;
    blas_gemm *gemm;
    bool bf16; /* the device multiplies it */
};

static void *open_library(void)
{
    char name[32];
    snprintf(name, sizeof name, "libcublas.so.%d", CUDA_MAJOR);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static int attribute_of_current(enum cudaDeviceAttr which)
{
    int device = 0;
    int value = 0;
    return cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value
                                                                                                                 : 0;
}

/* A handle on the stream. What fails is left out: products then are absent. */
static void open_handle(cuda_blas *blas, cuda_stream *stream)
{
    blas_create *create = NULL;
    blas_set_stream *set_stream = NULL;
    blas_set_workspace *set_workspace = NULL;
    blas_set_math *set_math = NULL;
    blas->library = open_library();
    const bool whole = blas->library != NULL && device_library_find(blas->library, "cublasCreate_v2", &create) &&
                       device_library_find(blas->library, "cublasDestroy_v2", &blas->destroy) &&
                       device_library_find(blas->library, "cublasSetStream_v2", &set_stream) &&
                       device_library_find(blas->library, "cublasSetWorkspace_v2", &set_workspace) &&
                       device_library_find(blas->library, "cublasSetMathMode", &set_math) &&
                       device_library_find(blas->library, "cublasGemmEx", &blas->gemm);
    if (!whole || create(&blas->handle) != BLAS_DONE) {
        blas->handle = NULL;
        return;
    }
    blas->bf16 = attribute_of_current(cudaDevAttrComputeCapabilityMajor) >= 8;
    bool ready = set_stream(blas->handle, (cudaStream_t)(void *)stream) == BLAS_DONE &&
                 set_math(blas->handle, BLAS_SUMS_STAY_WIDE) == BLAS_DONE;
    if (ready && weft_mem_take(BLAS_WORKSPACE, WEFT_MEM_WORKSPACE) == WEFT_OK) {
        if (cuda_device_alloc(&blas->workspace, BLAS_WORKSPACE) != CUDA_DONE) {
            weft_mem_give_back(BLAS_WORKSPACE, WEFT_MEM_WORKSPACE);
            blas->workspace = NULL;
        }
    }
    ready =
        ready && blas->workspace != NULL && set_workspace(blas->handle, blas->workspace, BLAS_WORKSPACE) == BLAS_DONE;
    if (!ready) {
        (void)blas->destroy(blas->handle);
        blas->handle = NULL;
    }
}

static cudaDataType type_of(weft_dtype dtype)
{
    return dtype == WEFT_DTYPE_F64    ? CUDA_R_64F
           : dtype == WEFT_DTYPE_BF16 ? CUDA_R_16BF
           : dtype == WEFT_DTYPE_F16  ? CUDA_R_16F
                                      : CUDA_R_32F;
}

static bool fits(const cuda_product *p)
{
    const int64_t numbers[] = {p->m, p->n, p->k, p->lda, p->ldb, p->ldc};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        if (numbers[i] > INT32_MAX || numbers[i] < 1) {
            return false;
        }
    }
    return true;
}

bool cuda_blas_takes(cuda_blas **blas, cuda_stream *stream, const cuda_product *product)
{
    if (*blas == NULL) {
        if (WEFT_NEW_ZERO(blas, 1, WEFT_MEM_GENERAL) != WEFT_OK) {
            return false;
        }
        open_handle(*blas, stream);
    }
    return (*blas)->handle != NULL && fits(product) && (product->from != WEFT_DTYPE_BF16 || (*blas)->bf16);
}

int cuda_blas_multiply(cuda_blas *blas, const cuda_product *product)
{
    const cuda_product *p = product;
    const bool wide = p->from == WEFT_DTYPE_F64;
    const float alpha = (float)p->alpha;
    const float beta = (float)p->beta;
    /* Its matrices lie by columns: to it rows of c are columns of the transposed product, of b and a in this order. */
    const int status =
        blas->gemm(blas->handle, p->trans_b ? BLAS_TRANSPOSED : BLAS_PLAIN, p->trans_a ? BLAS_TRANSPOSED : BLAS_PLAIN,
                   (int)p->n, (int)p->m, (int)p->k, wide ? (const void *)&p->alpha : &alpha, p->b, type_of(p->from),
                   (int)p->ldb, p->a, type_of(p->from), (int)p->lda, wide ? (const void *)&p->beta : &beta, p->c,
                   type_of(p->to), (int)p->ldc, wide ? BLAS_IN_F64 : BLAS_IN_F32, BLAS_CHOOSES);
    return status == BLAS_DONE ? CUDA_DONE : status == BLAS_NO_MEMORY ? CUDA_ERROR_MEMORY : CUDA_ERROR_UNKNOWN;
}

void cuda_blas_close(cuda_blas *blas)
{
    if (blas == NULL) {
        return;
    }
    if (blas->handle != NULL) {
        (void)blas->destroy(blas->handle);
    }
    if (blas->workspace != NULL) {
        (void)cuda_device_free(blas->workspace);
        weft_mem_give_back(BLAS_WORKSPACE, WEFT_MEM_WORKSPACE);
    }
    weft_free(blas); /* the library stays: its threads outlive handles */
}

size_t cuda_blas_workspace(void)
{
    return open_library() != NULL ? BLAS_WORKSPACE : 0;
}

void cuda_blas_library(char *text, size_t bytes)
{
    device_library_version(open_library(), "cuBLAS", "cublasGetProperty", text, bytes);
}
