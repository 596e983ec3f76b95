/*
 * Fuzz target: what rows of a matrix share, out of a file. The first byte chooses: changes of the file's bytes, or of
 * its arrays before they are hashed and written; then changes of 11 bytes each: the array, a place of two bytes, and
 * eight bytes that go there. The file is none, or a product by what it says stays within its arrays.
 * Seeds: tests/fuzz/make_seeds DIR.
 * needs: shared sums
 */
#include <dirent.h>

#include "fuzz/fuzz_support.h"
#include "hal/cpu/sparse/share_file.h"
#include "hal/cpu/sparse/spmm_shared.h"

enum { ROWS = 40, COLUMNS = 44, STRIP = 16, CHANGE_BYTES = 11, CHANGES = 16, ARRAYS = 5, STATED_LIMIT = 64 << 20 };

static int64_t offset[ROWS + 1];
static int32_t column[ROWS * COLUMNS];
static const hal_csr matrix = {.rows = ROWS, .cols = COLUMNS, .offset = offset, .column = column};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    for (int r = 0; r < ROWS; r++) {
        offset[r + 1] = offset[r];
        for (int c = 0; c < COLUMNS; c++) {
            const int twenty = c / 20;
            if (c == r || (twenty == 0 && r < 30 && r + c != 20) || (twenty == 1 && r % 3 != 0)) {
                column[offset[r + 1]++] = c;
            }
        }
    }
    return 0;
}

/* Eight bytes of an array; sizes are those that were found. */
static void change(hal_shared_rows *m, const uint8_t *record)
{
    const size_t rows = (size_t)(m->sums + m->targets);
    void *const array[ARRAYS] = {m->level, m->plus_start, m->minus_start, m->plus, m->minus};
    const size_t words[ARRAYS] = {(size_t)m->levels + 1, rows + 1, rows + 1, (size_t)m->plus_start[rows] / 2,
                                  (size_t)m->minus_start[rows] / 2};
    const int i = record[0] % ARRAYS;
    const bool last = (i == 1 || i == 2) && words[i] > 0; /* the totals are the sizes of what is written */
    const size_t count = words[i] - last;
    if (count > 0) {
        memcpy((unsigned char *)array[i] + 8 * ((size_t)(record[1] + 256 * record[2]) % count), record + 3, 8);
    }
}

static void change_file(const char *folder, const uint8_t *record)
{
    char path[FILE_PATH_MAX];
    DIR *entries = opendir(folder);
    for (const struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            FILE *file = fopen(path, "r+be");
            if (file == NULL || fseek(file, 8L * (record[1] + 256L * (record[2] % 8)), SEEK_SET) != 0 ||
                fwrite(record + 3, 1, 8, file) != 8 || fclose(file) != 0) {
                abort();
            }
        }
    }
    closedir(entries);
}

static void multiply(hal_shared_rows *found)
{
    hal_spmm spmm = {.bytes = 0};
    if (spmm_join_shared(&spmm, found) != WEFT_OK) {
        abort();
    }
    const spmm_shared_rows *m = &spmm.shared;
    float *packed = calloc((size_t)(m->sources + m->sums) * STRIP, sizeof *packed);
    float *out = calloc((size_t)m->targets * STRIP, sizeof *out);
    if (packed == NULL || out == NULL) {
        abort();
    }
    for (int l = 0; l < m->levels; l++) {
        const spmm_pass sums = {.x = packed, .width = STRIP, .out = packed + m->sources * STRIP, .ldo = STRIP};
        spmm_kernels_base.shared(m, STRIP, m->level[l], m->level[l + 1], 0, &sums);
    }
    const spmm_pass rows = {.x = packed, .width = STRIP, .out = out, .ldo = STRIP};
    spmm_kernels_base.shared(m, STRIP, m->sums, m->sums + m->targets, m->sums, &rows);
    free(packed);
    free(out);
    WEFT_FREE_ALL(spmm.shared.level, spmm.shared.start, spmm.shared.column);
}

static const share_search search = {.kernels = &spmm_kernels_base, .signs = true, .threads = 1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *folder;
    hal_shared_rows rows, read;
    bool found = false;
    folder = folder != NULL ? folder : fuzz_folder();
    if (size == 0 || share_rows_find(&matrix, &search, &rows) != WEFT_OK) {
        return 0;
    }
    const bool of_file = data[0] % 2 != 0;
    for (size_t at = 1; !of_file && at + CHANGE_BYTES <= size && at < CHANGES * CHANGE_BYTES; at += CHANGE_BYTES) {
        change(&rows, data + at);
    }
    share_file_write(folder, &matrix, true, &rows);
    for (size_t at = 1; of_file && at + CHANGE_BYTES <= size && at < CHANGES * CHANGE_BYTES; at += CHANGE_BYTES) {
        change_file(folder, data + at);
    }
    if (share_file_read(folder, &matrix, true, &read, &found) != WEFT_OK) {
        abort();
    }
    if (found) {
        multiply(&read);
    }
    hal_shared_rows_free(&read);
    hal_shared_rows_free(&rows);
    fuzz_check_memory(STATED_LIMIT);
    return 0;
}
