/* train/input_moments.c: see train/input_moments.h. */
#include "train/input_moments.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "train/param.h"

enum { TEXT_MAX = SAFETENSORS_HEADER_MAX / 4 * 3 }; /* bytes of a header; the rest is for names and shapes of tensors */

weft_status input_moments_create(int64_t columns, input_moments *moments)
{
    *moments = (input_moments){.columns = 0};
    WEFT_TRY(WEFT_NEW_ZERO(&moments->mean, 2 * columns, WEFT_MEM_PARAMETER));
    moments->columns = columns;
    moments->deviation = moments->mean + columns;
    return WEFT_OK;
}

void input_moments_destroy(input_moments *moments)
{
    weft_free(moments->mean);
    *moments = (input_moments){.columns = 0};
}

weft_status input_moments_copy(const input_moments *moments, input_moments *copy)
{
    WEFT_TRY(input_moments_create(moments->columns, copy));
    memcpy(copy->mean, moments->mean, 2 * (size_t)moments->columns * sizeof *copy->mean);
    return WEFT_OK;
}

weft_status input_moments_share(weft_comm *comm, input_moments *moments)
{
    int64_t columns = moments->columns;
    WEFT_TRY(comm_bcast(comm, 0, &columns, sizeof columns));
    if (columns == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(comm_agree(comm, comm_rank(comm) == 0 ? WEFT_OK : input_moments_create(columns, moments)));
    return comm_bcast(comm, 0, moments->mean, 2 * columns * (int64_t)sizeof *moments->mean);
}

static weft_status check(const char *path, const input_moments *moments)
{
    for (int64_t c = 0; c < moments->columns; ++c) {
        const double mean = moments->mean[c], deviation = moments->deviation[c];
        WEFT_CHECK(isfinite(mean) && isfinite(deviation) && deviation >= 0, WEFT_ERR_DATA,
                   "%s: features are standardised by a mean and a deviation, which in column %" PRId64
                   " are %g and %g: expected finite numbers, the deviation 0 or more",
                   path, c, number_plain(mean), number_plain(deviation));
    }
    return WEFT_OK;
}

/* ---- .npz ---- */

bool input_moments_has_name(const char *name)
{
    return strcmp(name, INPUT_MOMENTS_MEAN) == 0 || strcmp(name, INPUT_MOMENTS_DEVIATION) == 0;
}

/* [columns], or [1, columns] as some programs save vectors. */
static weft_status read_array(const char *path, npz_file *npz, int member, int64_t columns, double *values)
{
    npy_array array = {0};
    WEFT_TRY(npz_read(npz, member, &array));
    const npy_header *header = &array.header;
    weft_status status = WEFT_OK;
    WEFT_CHECK_GOTO(header->kind == 'f' && (header->item_bytes == 8 || header->item_bytes == 4) &&
                        header->count == columns && header->dims >= 1 && header->shape[header->dims - 1] == columns,
                    status, done, WEFT_ERR_DATA, "%s: %s has %" PRId64 " elements, expected %" PRId64 " float64", path,
                    npz_name(npz, member), header->count, columns);
    for (int64_t c = 0; c < columns; ++c) {
        values[c] = header->item_bytes == 8 ? ((const double *)array.data)[c] : (double)((const float *)array.data)[c];
    }
done:
    npy_array_free(&array);
    return status;
}

weft_status input_moments_read(const char *path, npz_file *npz, input_moments *moments)
{
    const int mean = npz_find(npz, INPUT_MOMENTS_MEAN);
    const int deviation = npz_find(npz, INPUT_MOMENTS_DEVIATION);
    npy_header header = {0};
    *moments = (input_moments){.columns = 0};
    if (mean < 0 && deviation < 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(mean >= 0 && deviation >= 0, WEFT_ERR_DATA, "%s: of %s and %s one is missing", path, INPUT_MOMENTS_MEAN,
               INPUT_MOMENTS_DEVIATION);
    WEFT_TRY(npz_read_header(npz, mean, &header));
    WEFT_CHECK(header.count > 0, WEFT_ERR_DATA, "%s: %s is empty", path, INPUT_MOMENTS_MEAN);
    weft_status status = input_moments_create(header.count, moments);
    status = status == WEFT_OK ? read_array(path, npz, mean, header.count, moments->mean) : status;
    status = status == WEFT_OK ? read_array(path, npz, deviation, header.count, moments->deviation) : status;
    status = status == WEFT_OK ? check(path, moments) : status;
    if (status != WEFT_OK) {
        input_moments_destroy(moments);
    }
    return status;
}

weft_status input_moments_add(const input_moments *moments, npz_writer *npz)
{
    if (moments->columns == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(npz_writer_add(npz, INPUT_MOMENTS_MEAN, 'f', 8, 1, &moments->columns, moments->mean));
    return npz_writer_add(npz, INPUT_MOMENTS_DEVIATION, 'f', 8, 1, &moments->columns, moments->deviation);
}

/* ---- metadata of .safetensors ---- */

static int64_t count_numbers(const char *text)
{
    int64_t count = 1;
    for (; *text != '\0'; ++text) {
        count += *text == ',';
    }
    return count;
}

static weft_status scan(const char *path, const char *key, const char *text, int64_t columns, double *values)
{
    const char *at = text;
    for (int64_t c = 0; c < columns; ++c) {
        const char *end = at;
        const bool number = number_scan_real(at, &end, &values[c]) && *end == (c + 1 < columns ? ',' : '\0');
        WEFT_CHECK(number, WEFT_ERR_DATA,
                   "%s: %s, number %" PRId64 " of %" PRId64
                   ": expected numbers with commas between them, as many in %s as in %s",
                   path, key, c + 1, columns, INPUT_MOMENTS_KEY_MEAN, INPUT_MOMENTS_KEY_DEV);
        at = *end != '\0' ? end + 1 : end;
    }
    return WEFT_OK;
}

weft_status input_moments_read_metadata(const char *path, const safetensors_file *file, input_moments *moments)
{
    const char *mean = safetensors_metadata(file, INPUT_MOMENTS_KEY_MEAN);
    const char *deviation = safetensors_metadata(file, INPUT_MOMENTS_KEY_DEV);
    *moments = (input_moments){.columns = 0};
    if (mean == NULL && deviation == NULL) {
        return WEFT_OK;
    }
    WEFT_CHECK(mean != NULL && deviation != NULL, WEFT_ERR_DATA, "%s: of %s and %s one is missing", path,
               INPUT_MOMENTS_KEY_MEAN, INPUT_MOMENTS_KEY_DEV);
    const int64_t columns = count_numbers(mean);
    weft_status status = input_moments_create(columns, moments);
    status = status == WEFT_OK ? scan(path, INPUT_MOMENTS_KEY_MEAN, mean, columns, moments->mean) : status;
    status = status == WEFT_OK ? scan(path, INPUT_MOMENTS_KEY_DEV, deviation, columns, moments->deviation) : status;
    status = status == WEFT_OK ? check(path, moments) : status;
    if (status != WEFT_OK) {
        input_moments_destroy(moments);
    }
    return status;
}

/* Appends numbers with commas between them, and the end of a text. Returns where the next one begins. */
static char *print_numbers(const double *values, int64_t columns, char *at)
{
    char number[NUMBER_TEXT_MAX];
    for (int64_t c = 0; c < columns; ++c) {
        const size_t length = strlen(number_format_real(values[c], number));
        memcpy(at, number, length);
        at += length;
        *at++ = c + 1 < columns ? ',' : '\0';
    }
    return at;
}

weft_status input_moments_to_metadata(const char *path, const input_moments *moments, safetensors_text *texts,
                                      int *count, char **numbers)
{
    *count = 0;
    *numbers = NULL;
    if (moments->columns == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(weft_malloc(2 * (size_t)moments->columns, NUMBER_TEXT_MAX, WEFT_MEM_WORKSPACE, (void **)numbers));
    char *second = print_numbers(moments->mean, moments->columns, *numbers);
    const char *end = print_numbers(moments->deviation, moments->columns, second);
    if (end - *numbers > TEXT_MAX) {
        log_warn("%s: means and deviations of %" PRId64
                 " columns of features have no room in the header of a .safetensors and are "
                 "left out; the run folder and weights.npz have them",
                 path, moments->columns);
        return WEFT_OK;
    }
    texts[(*count)++] = (safetensors_text){INPUT_MOMENTS_KEY_MEAN, *numbers};
    texts[(*count)++] = (safetensors_text){INPUT_MOMENTS_KEY_DEV, second};
    return WEFT_OK;
}
