/*
 * hal/cuda/device/device_runtime_dnn.c: the calls of cuda_dnn.h, of the cuDNN that the machine has: 9, or 8. Of its
 * interface what is needed is written down here, as it stands in both: no header, nothing to link. 9 calls most of it
 * deprecated.
 *
 * Numbers of states differ between the two but for 0, success; what one means the library says itself.
 */
#include <assert.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "hal/cuda/device/cuda_dnn.h"
#include "hal/cuda/device/device_library.h"

enum { DNN_DONE = 0 };                                              /* cudnnStatus_t */
enum { DNN_F32 = 0, DNN_F16 = 2, DNN_BF16 = 9 };                    /* cudnnDataType_t */
enum { DNN_NHWC = 1 };                                              /* cudnnTensorFormat_t */
enum { DNN_CROSS_CORRELATION = 1 };                                 /* cudnnConvolutionMode_t: kernels are not turned */
enum { DNN_MATH_TENSOR = 1, DNN_MATH_FMA = 3 /* never in tf32 */ }; /* cudnnMathType_t */
enum { DNN_DETERMINISTIC = 1 };                                     /* cudnnDeterminism_t */
enum { DNN_RESULTS = 16 };                                          /* algorithms of a pass are fewer */

/* cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t: one layout. */
typedef struct dnn_result {
    int algorithm, status;
    float time;
    size_t workspace;
    int determinism, math;
    int reserved[3];
} dnn_result;

/* Of the three passes: two operands, the convolution, what comes out. */
typedef int dnn_rules(void *handle, void *a, void *b, void *convolution, void *c, int most, int *count,
                      dnn_result *result);
typedef int dnn_bytes(void *handle, void *a, void *b, void *convolution, void *c, int algorithm, size_t *bytes);
typedef int dnn_run(void *handle, const void *alpha, void *a_is, const void *a, void *b_is, const void *b,
                    void *convolution, int algorithm, void *workspace, size_t bytes, const void *beta, void *c_is,
                    void *c);
typedef int dnn_create(void **object);
typedef int dnn_destroy(void *object);
typedef int dnn_set_stream(void *handle, cudaStream_t stream);
typedef int dnn_set_tensor(void *tensor, int format, int type, int images, int channels, int height, int width);
typedef int dnn_set_filter(void *filter, int type, int format, int out, int in, int height, int width);
typedef int dnn_set_convolution(void *convolution, int pad_y, int pad_x, int stride_y, int stride_x, int dilation_y,
                                int dilation_x, int mode, int type_of_sums);
typedef int dnn_set_number(void *convolution, int number);
typedef const char *dnn_text(int status);
typedef size_t dnn_version(void);

#define DNN_CALLS(X)                                                                                                   \
    X(dnn_create, cudnnCreate)                                                                                         \
    X(dnn_destroy, cudnnDestroy)                                                                                       \
    X(dnn_set_stream, cudnnSetStream)                                                                                  \
    X(dnn_text, cudnnGetErrorString)                                                                                   \
    X(dnn_create, cudnnCreateTensorDescriptor)                                                                         \
    X(dnn_destroy, cudnnDestroyTensorDescriptor)                                                                       \
    X(dnn_set_tensor, cudnnSetTensor4dDescriptor)                                                                      \
    X(dnn_create, cudnnCreateFilterDescriptor)                                                                         \
    X(dnn_destroy, cudnnDestroyFilterDescriptor)                                                                       \
    X(dnn_set_filter, cudnnSetFilter4dDescriptor)                                                                      \
    X(dnn_create, cudnnCreateConvolutionDescriptor)                                                                    \
    X(dnn_destroy, cudnnDestroyConvolutionDescriptor)                                                                  \
    X(dnn_set_convolution, cudnnSetConvolution2dDescriptor)                                                            \
    X(dnn_set_number, cudnnSetConvolutionGroupCount)                                                                   \
    X(dnn_set_number, cudnnSetConvolutionMathType)                                                                     \
    X(dnn_rules, cudnnGetConvolutionForwardAlgorithm_v7)                                                               \
    X(dnn_rules, cudnnGetConvolutionBackwardDataAlgorithm_v7)                                                          \
    X(dnn_rules, cudnnGetConvolutionBackwardFilterAlgorithm_v7)                                                        \
    X(dnn_bytes, cudnnGetConvolutionForwardWorkspaceSize)                                                              \
    X(dnn_bytes, cudnnGetConvolutionBackwardDataWorkspaceSize)                                                         \
    X(dnn_bytes, cudnnGetConvolutionBackwardFilterWorkspaceSize)                                                       \
    X(dnn_run, cudnnConvolutionForward)                                                                                \
    X(dnn_run, cudnnConvolutionBackwardData)                                                                           \
    X(dnn_run, cudnnConvolutionBackwardFilter)

struct cuda_dnn {
#define FIELD(type, name) type *name;
    DNN_CALLS(FIELD)
    void *handle; /* NULL: there is no library, or none for this card */
    bool bf16;    /* the device multiplies it */
    bool refused; /* something that was prepared: told once */
};

/* ---- the library ------------------------------------------------------------------------------------------------- */

typedef struct dnn_release {
    int major;
    const char *part[4]; /* the first knows the version */
} dnn_release;

static const dnn_release releases[] = {{9, {"graph", "ops", "cnn"}},
                                       {8, {"ops_infer", "cnn_infer", "ops_train", "cnn_train"}}};

static void *open_one(const char *part, int major)
{
    char name[48];
    snprintf(name, sizeof name, "libcudnn%s%s.so.%d", part[0] != '\0' ? "_" : "", part, major);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* Opens the first `parts` of its parts too: the library does so at the first call that needs one, and 8 aborts the
 * program where it is not there or of another version. */
static void *open_library(int parts)
{
    for (size_t i = 0; i < sizeof releases / sizeof *releases; ++i) {
        void *library = open_one("", releases[i].major);
        bool whole = library != NULL;
        for (int p = 0; whole && p < parts && releases[i].part[p] != NULL; ++p) {
            whole = open_one(releases[i].part[p], releases[i].major) != NULL;
        }
        if (whole) {
            return library;
        }
        if (library != NULL && parts > 1) {
            log_warn("cuDNN %d is left out, as it is not whole: %s (LD_LIBRARY_PATH names folders of libraries)",
                     releases[i].major, dlerror());
        }
    }
    return NULL;
}

/* 100 * major + minor: 906, 911; 0 if it does not say. */
static int version_of(void *library)
{
    dnn_version *version = NULL;
    if (!device_library_find(library, "cudnnGetVersion", &version)) {
        return 0;
    }
    const size_t number = version(); /* 8907, 90600 */
    return (int)(number >= 10000 ? number / 100 : number / 1000 * 100 + number % 1000 / 100);
}

/* 10 * major + minor of the current device's compute capability; 0 if it does not say. */
static int capability(void)
{
    int device = 0;
    int major = 0;
    int minor = 0;
    const bool told = cudaGetDevice(&device) == cudaSuccess &&
                      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
                      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess;
    return told ? 10 * major + minor : 0;
}

/* Whether a call was answered with success; else it is logged. */
static bool done(const cuda_dnn *dnn, const char *call, int status)
{
    if (status != DNN_DONE) {
        log_debug("cuDNN: %s says %d, %s", call, status, dnn->cudnnGetErrorString(status));
    }
    return status == DNN_DONE;
}

#define DONE(dnn, call, ...) done(dnn, #call, (dnn)->call(__VA_ARGS__))

/* A handle on the stream. What fails is left out: convolutions then are absent. */
static void open_handle(cuda_dnn *dnn, cuda_stream *stream)
{
    enum { FIRST_WITHOUT_OLD = 911, OLDEST = 75 }; /* releases from 9.11 on know no cards before sm_75 */
    void *library = cuda_dnn_wanted() ? open_library(4) : NULL;
    const int version = library != NULL ? version_of(library) : 0;
    const int card = capability();
    bool whole = version > 0 && card > 0;
#define FIND(type, name) whole = whole && device_library_find(library, #name, &dnn->name);
    DNN_CALLS(FIND)
    if (!whole || (version >= FIRST_WITHOUT_OLD && card < OLDEST) || !DONE(dnn, cudnnCreate, &dnn->handle)) {
        dnn->handle = NULL;
        return;
    }
    dnn->bf16 = card >= 80;
    if (!DONE(dnn, cudnnSetStream, dnn->handle, (cudaStream_t)(void *)stream)) {
        (void)dnn->cudnnDestroy(dnn->handle);
        dnn->handle = NULL;
    }
}

void cuda_dnn_close(cuda_dnn *dnn)
{
    if (dnn != NULL && dnn->handle != NULL) {
        (void)dnn->cudnnDestroy(dnn->handle);
    }
    weft_free(dnn); /* the library stays: its threads outlive handles */
}

void cuda_dnn_library(char *text, size_t bytes)
{
    void *library = cuda_dnn_wanted() ? open_library(1) : NULL;
    const int version = library != NULL ? version_of(library) : 0;
    if (version > 0) {
        snprintf(text, bytes, "cuDNN %d.%d", version / 100, version % 100);
    } else {
        snprintf(text, bytes, library != NULL ? "a cuDNN of unknown version" : "no cuDNN");
    }
}

/* ---- one convolution --------------------------------------------------------------------------------------------- */

enum dnn_operand { DNN_X, DNN_FILTER, DNN_Y, DNN_OPERANDS };

/* What may make a pass. FFTs are left out, whose sums lose digits, and what adds in any order (0 and 3 of the backward
 * passes). */
typedef struct dnn_algorithm {
    int number; /* cudnnConvolution{Fwd,BwdData,BwdFilter}Algo_t */
    bool winograd;
    const char *name;
} dnn_algorithm;

enum { DNN_ALGORITHMS = 5 };

typedef struct dnn_pass {
    enum dnn_operand a, b, c;
    const char *call;
    dnn_algorithm algorithm[DNN_ALGORITHMS]; /* as far as they have names */
} dnn_pass;

static const dnn_pass passes[CUDA_CONV_PASSES] = {
    [CUDA_CONV_FORWARD] = {DNN_X,
                           DNN_FILTER,
                           DNN_Y,
                           "cudnnConvolutionForward",
                           {{0, false, "cuDNN implicit product"},
                            {1, false, "cuDNN implicit product, prepared"},
                            {2, false, "cuDNN product"},
                            {6, true, "cuDNN Winograd"},
                            {7, true, "cuDNN Winograd in steps"}}},
    [CUDA_CONV_DATA] = {DNN_FILTER,
                        DNN_Y,
                        DNN_X,
                        "cudnnConvolutionBackwardData",
                        {{1, false, "cuDNN implicit product"},
                         {4, true, "cuDNN Winograd"},
                         {5, true, "cuDNN Winograd in steps"}}},
    [CUDA_CONV_WEIGHTS] = {DNN_X,
                           DNN_Y,
                           DNN_FILTER,
                           "cudnnConvolutionBackwardFilter",
                           {{1, false, "cuDNN implicit product"}, {5, true, "cuDNN Winograd in steps"}}},
};

struct cuda_dnn_conv {
    cuda_dnn *dnn;
    void *operand[DNN_OPERANDS]; /* descriptors */
    bool winograd;               /* may be taken */
    weft_dtype dtype;
    struct {
        void *convolution;              /* descriptor */
        const dnn_algorithm *algorithm; /* NULL: not made */
        size_t workspace;
    } pass[CUDA_CONV_PASSES];
};

static int type_of(weft_dtype dtype)
{
    return dtype == WEFT_DTYPE_BF16 ? DNN_BF16 : dtype == WEFT_DTYPE_F16 ? DNN_F16 : DNN_F32;
}

static bool describe_operands(cuda_dnn_conv *conv, const hal_conv_shape *s, const int64_t made[2], int64_t images)
{
    const cuda_dnn *dnn = conv->dnn;
    const int type = type_of(s->dtype);
    return DONE(dnn, cudnnCreateTensorDescriptor, &conv->operand[DNN_X]) &&
           DONE(dnn, cudnnCreateTensorDescriptor, &conv->operand[DNN_Y]) &&
           DONE(dnn, cudnnCreateFilterDescriptor, &conv->operand[DNN_FILTER]) &&
           DONE(dnn, cudnnSetTensor4dDescriptor, conv->operand[DNN_X], DNN_NHWC, type, (int)images, (int)s->in,
                (int)s->height, (int)s->width) &&
           DONE(dnn, cudnnSetTensor4dDescriptor, conv->operand[DNN_Y], DNN_NHWC, type, (int)images, (int)s->out,
                (int)made[0], (int)made[1]) &&
           DONE(dnn, cudnnSetFilter4dDescriptor, conv->operand[DNN_FILTER], type, DNN_NHWC, (int)s->out,
                (int)(s->in / s->groups), (int)s->kernel[0], (int)s->kernel[1]);
}

static bool describe_convolution(cuda_dnn_conv *conv, const hal_conv_shape *s, cuda_conv_pass pass)
{
    const cuda_dnn *dnn = conv->dnn;
    void **to = &conv->pass[pass].convolution;
    return DONE(dnn, cudnnCreateConvolutionDescriptor, to) &&
           DONE(dnn, cudnnSetConvolution2dDescriptor, *to, (int)s->pad[0][0], (int)s->pad[1][0], (int)s->stride[0],
                (int)s->stride[1], (int)s->dilation[0], (int)s->dilation[1], DNN_CROSS_CORRELATION, DNN_F32) &&
           DONE(dnn, cudnnSetConvolutionGroupCount, *to, (int)s->groups) &&
           DONE(dnn, cudnnSetConvolutionMathType, *to, s->dtype == WEFT_DTYPE_F32 ? DNN_MATH_FMA : DNN_MATH_TENSOR);
}

static const dnn_algorithm *find_algorithm(cuda_conv_pass pass, int number)
{
    for (int i = 0; i < DNN_ALGORITHMS && passes[pass].algorithm[i].name != NULL; ++i) {
        if (passes[pass].algorithm[i].number == number) {
            return &passes[pass].algorithm[i];
        }
    }
    return NULL;
}

/* The library's rules name algorithms without tensor cores with another way to multiply than was asked for: it is what
 * the descriptor has to say then. Float32 stays what it is. */
static bool takes_math(const cuda_dnn_conv *conv, cuda_conv_pass pass, const dnn_result *result)
{
    return conv->dtype == WEFT_DTYPE_F32 ||
           DONE(conv->dnn, cudnnSetConvolutionMathType, conv->pass[pass].convolution, result->math);
}

static bool asks_bytes(const cuda_dnn_conv *conv, cuda_conv_pass pass, int algorithm, size_t *bytes)
{
    const cuda_dnn *dnn = conv->dnn;
    dnn_bytes *const ask[CUDA_CONV_PASSES] = {dnn->cudnnGetConvolutionForwardWorkspaceSize,
                                              dnn->cudnnGetConvolutionBackwardDataWorkspaceSize,
                                              dnn->cudnnGetConvolutionBackwardFilterWorkspaceSize};
    const dnn_pass *p = &passes[pass];
    return done(dnn, p->call,
                ask[pass](dnn->handle, conv->operand[p->a], conv->operand[p->b], conv->pass[pass].convolution,
                          conv->operand[p->c], algorithm, bytes));
}

/* The first of what the library's rules name, best first, that may be taken. */
static void choose(cuda_dnn_conv *conv, cuda_conv_pass pass)
{
    const cuda_dnn *dnn = conv->dnn;
    dnn_rules *const ask[CUDA_CONV_PASSES] = {dnn->cudnnGetConvolutionForwardAlgorithm_v7,
                                              dnn->cudnnGetConvolutionBackwardDataAlgorithm_v7,
                                              dnn->cudnnGetConvolutionBackwardFilterAlgorithm_v7};
    const dnn_pass *p = &passes[pass];
    dnn_result result[DNN_RESULTS];
    int count = 0;
    memset(result, 0, sizeof result);
    if (!done(dnn, p->call,
              ask[pass](dnn->handle, conv->operand[p->a], conv->operand[p->b], conv->pass[pass].convolution,
                        conv->operand[p->c], DNN_RESULTS, &count, result))) {
        return;
    }
    for (int i = 0; i < count && i < DNN_RESULTS; ++i) {
        const dnn_algorithm *algorithm = find_algorithm(pass, result[i].algorithm);
        size_t bytes = 0;
        if (result[i].status == DNN_DONE && result[i].determinism == DNN_DETERMINISTIC && algorithm != NULL &&
            (conv->winograd || !algorithm->winograd) && takes_math(conv, pass, &result[i]) &&
            asks_bytes(conv, pass, algorithm->number, &bytes) && bytes <= CUDA_DNN_WORKSPACE) {
            conv->pass[pass].algorithm = algorithm;
            conv->pass[pass].workspace = bytes;
            return;
        }
    }
    log_debug("cuDNN: %s: none of %d ways is deterministic and takes %d MiB at most", p->call, count,
              CUDA_DNN_WORKSPACE >> 20);
}

static bool takes_type(const cuda_dnn *dnn, weft_dtype dtype)
{
    return dtype == WEFT_DTYPE_F32 || dtype == WEFT_DTYPE_F16 || (dtype == WEFT_DTYPE_BF16 && dnn->bf16);
}

void cuda_dnn_prepare(cuda_dnn **dnn, cuda_stream *stream, const hal_conv_shape *shape, const int64_t made[2],
                      int64_t images, cuda_dnn_conv **conv)
{
    *conv = NULL;
    if (*dnn == NULL) {
        if (WEFT_NEW_ZERO(dnn, 1, WEFT_MEM_GENERAL) != WEFT_OK) {
            return;
        }
        open_handle(*dnn, stream);
    }
    if ((*dnn)->handle == NULL || !takes_type(*dnn, shape->dtype) || !cuda_dnn_describes(shape, made, images) ||
        WEFT_NEW_ZERO(conv, 1, WEFT_MEM_GENERAL) != WEFT_OK) {
        return;
    }
    const bool asked[CUDA_CONV_PASSES] = {true, shape->training && shape->backward_data, shape->training};
    bool any = false;
    (*conv)->dnn = *dnn;
    (*conv)->dtype = shape->dtype;
    (*conv)->winograd = shape->winograd && shape->dtype == WEFT_DTYPE_F32;
    const bool described = describe_operands(*conv, shape, made, images);
    for (int pass = 0; pass < CUDA_CONV_PASSES; ++pass) {
        if (described && asked[pass] && describe_convolution(*conv, shape, (cuda_conv_pass)pass)) {
            choose(*conv, (cuda_conv_pass)pass);
        }
        any = any || (*conv)->pass[pass].algorithm != NULL;
    }
    if (!any) {
        cuda_dnn_release(*conv);
        *conv = NULL;
    }
}

void cuda_dnn_release(cuda_dnn_conv *conv)
{
    if (conv == NULL) {
        return;
    }
    for (int i = 0; i < DNN_OPERANDS; ++i) {
        if (conv->operand[i] != NULL) {
            (void)(i == DNN_FILTER ? conv->dnn->cudnnDestroyFilterDescriptor(conv->operand[i])
                                   : conv->dnn->cudnnDestroyTensorDescriptor(conv->operand[i]));
        }
    }
    for (int pass = 0; pass < CUDA_CONV_PASSES; ++pass) {
        if (conv->pass[pass].convolution != NULL) {
            (void)conv->dnn->cudnnDestroyConvolutionDescriptor(conv->pass[pass].convolution);
        }
    }
    weft_free(conv);
}

const char *cuda_dnn_name(const cuda_dnn_conv *conv, cuda_conv_pass pass)
{
    return conv != NULL && conv->pass[pass].algorithm != NULL ? conv->pass[pass].algorithm->name : NULL;
}

bool cuda_dnn_is_winograd(const cuda_dnn_conv *conv, cuda_conv_pass pass)
{
    return cuda_dnn_name(conv, pass) != NULL && conv->pass[pass].algorithm->winograd;
}

size_t cuda_dnn_workspace(const cuda_dnn_conv *conv, cuda_conv_pass pass)
{
    return cuda_dnn_name(conv, pass) != NULL ? conv->pass[pass].workspace : 0;
}

int cuda_dnn_run(cuda_dnn_conv *conv, cuda_conv_pass pass, const void *a, const void *b, void *c, bool add,
                 void *workspace)
{
    cuda_dnn *dnn = conv->dnn;
    dnn_run *const run[CUDA_CONV_PASSES] = {dnn->cudnnConvolutionForward, dnn->cudnnConvolutionBackwardData,
                                            dnn->cudnnConvolutionBackwardFilter};
    const dnn_pass *p = &passes[pass];
    assert(conv->pass[pass].algorithm != NULL);
    const float one = 1.0F;
    const float beta = add ? 1.0F : 0.0F;
    const int status =
        run[pass](dnn->handle, &one, conv->operand[p->a], a, conv->operand[p->b], b, conv->pass[pass].convolution,
                  conv->pass[pass].algorithm->number, conv->pass[pass].workspace > 0 ? workspace : NULL,
                  conv->pass[pass].workspace, &beta, conv->operand[p->c], c);
    if (status == DNN_DONE) {
        return CUDA_DONE;
    }
    const int code = cuda_device_last_error();
    (dnn->refused ? log_debug : log_warn)(
        "cuDNN: %s (%s) says %d, %s: what it refuses is made without it from here on, slower; another release of cuDNN "
        "may do it, and WEFT_CUDNN=off does without any",
        p->call, conv->pass[pass].algorithm->name, status, dnn->cudnnGetErrorString(status));
    dnn->refused = true;
    conv->pass[pass].algorithm = NULL;
    return code != CUDA_DONE ? code : CUDA_REFUSED;
}
