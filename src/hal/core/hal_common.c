/* hal/core/hal_common.c: types and work splitting shared by all backends. */
#include <assert.h>
#include <math.h>

#include "base/integer/search.h"
#include "hal/hal.h"

weft_mem_tag WEFT_MEM_MATRIX[1] = {{.text = "prepared matrices"}};

size_t weft_dtype_bytes(weft_dtype dtype)
{
    switch (dtype) {
    case WEFT_DTYPE_F32:
    case WEFT_DTYPE_I32:
        return 4;
    case WEFT_DTYPE_F64:
    case WEFT_DTYPE_I64:
        return 8;
    case WEFT_DTYPE_U8:
    case WEFT_DTYPE_I8:
        return 1;
    case WEFT_DTYPE_BF16:
    case WEFT_DTYPE_F16:
    case WEFT_DTYPE_I16:
        return 2;
    }
    return 0;
}

const char *weft_dtype_name(weft_dtype dtype)
{
    switch (dtype) {
    case WEFT_DTYPE_F32:
        return "float32";
    case WEFT_DTYPE_F64:
        return "float64";
    case WEFT_DTYPE_I32:
        return "int32";
    case WEFT_DTYPE_I64:
        return "int64";
    case WEFT_DTYPE_U8:
        return "uint8";
    case WEFT_DTYPE_BF16:
        return "bfloat16";
    case WEFT_DTYPE_F16:
        return "float16";
    case WEFT_DTYPE_I8:
        return "int8";
    case WEFT_DTYPE_I16:
        return "int16";
    }
    return "unknown";
}

hal_mat hal_mat_rows(const hal_mat *mat, int64_t row, int64_t rows)
{
    assert(mat->data == NULL || (row >= 0 && rows >= 0 && row + rows <= mat->rows));
    hal_mat part = *mat;
    if (mat->data != NULL) {
        part.source = (const char *)mat->source + (size_t)(row * mat->ld) * weft_dtype_bytes(mat->dtype);
        part.rows = rows;
    }
    return part;
}

hal_mat hal_mat_cols(const hal_mat *mat, int64_t col, int64_t cols)
{
    assert(mat->data == NULL || (col >= 0 && cols >= 0 && col + cols <= mat->cols));
    hal_mat part = *mat;
    if (mat->data != NULL) {
        part.source = (const char *)mat->source + (size_t)col * weft_dtype_bytes(mat->dtype);
        part.cols = cols;
    }
    return part;
}

hal_span hal_split_rows(int64_t rows, int parts, int i)
{
    int64_t share = rows / parts;
    int64_t rest = rows % parts;
    int64_t begin = share * i + (i < rest ? i : rest);
    return (hal_span){begin, begin + share + (i < rest ? 1 : 0)};
}

/* First row whose work (entries before it, plus one a row so that empty rows count) reaches the target. */
static int64_t row_at_work(const int64_t *offset, int64_t rows, int64_t target)
{
    int64_t place = 0;
    SEARCH_FIRST(place, rows, offset[at] + at < target);
    return place;
}

hal_span hal_split_csr(const int64_t *offset, int64_t rows, int parts, int i)
{
    int64_t work = offset[rows] + rows;
    return (hal_span){i == 0 ? 0 : row_at_work(offset, rows, work / parts * i),
                      i == parts - 1 ? rows : row_at_work(offset, rows, work / parts * (i + 1))};
}

double hal_lars_ratio(const hal_lars_args *args)
{
    const double *norms = args->norms.source;
    double w = norms != NULL ? sqrt(norms[0]) : 0.0;
    double g = norms != NULL ? sqrt(norms[1]) : 0.0;
    return w > 0 && g > 0 ? args->trust * w / (g + args->weight_decay * w + args->epsilon) : 1.0;
}
