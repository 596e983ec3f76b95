/* hal/cpu/sparse/share_file.c: see hal/cpu/sparse/share_file.h. */
#include "hal/cpu/sparse/share_file.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"

static const char share_magic[8] = {'w', 'e', 'f', 't', 's', 'h', 'r', '1'};

/* The beginning of a file; numbers as this machine writes them. */
typedef struct share_head {
    char magic[8];
    uint64_t matrix; /* hash of the matrix */
    int64_t targets, sources, sums, levels, plus, minus;
    uint64_t check; /* hash of all that follows */
} share_head;

static uint64_t hash_matrix(const hal_csr *csr, bool signs)
{
    const int64_t size[] = {csr->rows, csr->cols};
    uint64_t hash = file_checksum(size, sizeof size, signs ? 0 : 1);
    hash = file_checksum(csr->offset, (size_t)(csr->rows + 1) * sizeof *csr->offset, hash);
    return file_checksum(csr->column, (size_t)csr->offset[csr->rows] * sizeof *csr->column, hash);
}

static weft_status path_of(const char *folder, uint64_t matrix, char path[FILE_PATH_MAX])
{
    return file_path(path, "%s/shared-%016" PRIx64 ".bin", folder, matrix);
}

/* The arrays of a file in their order. */
enum { LEVELS, PLUS_START, MINUS_START, PLUS, MINUS, ARRAYS };

static void sizes_of(const share_head *head, size_t bytes[ARRAYS])
{
    const size_t rows = (size_t)(head->sums + head->targets);
    bytes[LEVELS] = ((size_t)head->levels + 1) * sizeof(int64_t);
    bytes[PLUS_START] = bytes[MINUS_START] = (rows + 1) * sizeof(int64_t);
    bytes[PLUS] = (size_t)head->plus * sizeof(int32_t);
    bytes[MINUS] = (size_t)head->minus * sizeof(int32_t);
}

static uint64_t hash_arrays(const hal_shared_rows *m, const size_t bytes[ARRAYS])
{
    const void *const array[ARRAYS] = {m->level, m->plus_start, m->minus_start, m->plus, m->minus};
    uint64_t hash = 0;
    for (int i = 0; i < ARRAYS; i++) {
        hash = file_checksum(array[i], bytes[i], hash);
    }
    return hash;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */
/* Numbers of a head that a file of this size can have. */
static bool head_fits(const share_head *head, const hal_csr *csr, size_t file_bytes)
{
    const int64_t most = (int64_t)(file_bytes / sizeof(int32_t));
    if (memcmp(head->magic, share_magic, sizeof head->magic) != 0 || head->targets != csr->rows ||
        head->sources != csr->cols) {
        return false;
    }
    if (head->sums < 0 || head->levels < 0 || head->plus < 0 || head->minus < 0 || head->sums > most ||
        head->levels > most || head->plus > most || head->minus > most || head->levels > head->sums) {
        return false;
    }
    size_t bytes[ARRAYS], all = sizeof *head;
    sizes_of(head, bytes);
    for (int i = 0; i < ARRAYS; i++) {
        all += bytes[i];
    }
    return all == file_bytes;
}

static bool ascends(const int64_t *start, int64_t count, int64_t last)
{
    bool good = start[0] == 0 && start[count] == last;
    for (int64_t i = 0; i < count && good; i++) {
        good = start[i] <= start[i + 1];
    }
    return good;
}

/* Columns of rows [begin, end) are below `limit`. */
static bool columns_below(const int64_t *start, const int32_t *column, int64_t begin, int64_t end, int64_t limit)
{
    bool good = true;
    for (int64_t e = start[begin]; e < start[end]; e++) {
        good = good && column[e] >= 0 && column[e] < limit;
    }
    return good;
}

/* A partial sum reads sources and sums of lower levels, and subtracts sources; a row of the matrix reads all. */
static bool rows_are_sound(const hal_shared_rows *m, int64_t plus, int64_t minus)
{
    const int64_t rows = m->sums + m->targets;
    bool good = ascends(m->level, m->levels, m->sums) && ascends(m->plus_start, rows, plus) &&
                ascends(m->minus_start, rows, minus);
    for (int l = 0; l < m->levels && good; l++) {
        good = columns_below(m->plus_start, m->plus, m->level[l], m->level[l + 1], m->sources + m->level[l]) &&
               columns_below(m->minus_start, m->minus, m->level[l], m->level[l + 1], m->sources);
    }
    return good && columns_below(m->plus_start, m->plus, m->sums, rows, m->sources + m->sums) &&
           columns_below(m->minus_start, m->minus, m->sums, rows, m->sources + m->sums);
}

static bool is_sound(const share_head *head, const hal_shared_rows *m)
{
    size_t bytes[ARRAYS];
    sizes_of(head, bytes);
    return head->check == hash_arrays(m, bytes) && rows_are_sound(m, head->plus, head->minus);
}

static weft_status copy_arrays(const share_head *head, const uint8_t *from, hal_shared_rows *m)
{
    size_t bytes[ARRAYS];
    void **to[ARRAYS] = {(void **)&m->level, (void **)&m->plus_start, (void **)&m->minus_start, (void **)&m->plus,
                         (void **)&m->minus};
    sizes_of(head, bytes);
    *m = (hal_shared_rows){
        .targets = head->targets, .sources = head->sources, .sums = head->sums, .levels = (int)head->levels};
    for (int i = 0; i < ARRAYS; i++) {
        const size_t behind = i == PLUS ? bytes[MINUS] + HAL_SHARED_SPARE * sizeof(int32_t) : sizeof(int32_t);
        const size_t spare = i >= PLUS ? behind : 0; /* as found: an array is never empty */
        WEFT_TRY(weft_malloc(bytes[i] + spare, 1, WEFT_MEM_MATRIX, to[i]));
        memcpy(*to[i], from, bytes[i]);
        from += bytes[i];
    }
    return WEFT_OK;
}

weft_status share_file_read(const char *folder, const hal_csr *csr, bool signs, hal_shared_rows *rows, bool *found)
{
    char path[FILE_PATH_MAX];
    file_map map = {.data = NULL};
    share_head head;
    weft_status status = WEFT_OK;
    const uint64_t matrix = hash_matrix(csr, signs);
    *found = false;
    *rows = (hal_shared_rows){.sums = 0};
    if (path_of(folder, matrix, path) != WEFT_OK || !file_exists(path) || file_map_open(path, &map) != WEFT_OK) {
        weft_error_clear();
        return WEFT_OK;
    }
    if (map.size >= sizeof head) {
        memcpy(&head, map.data, sizeof head);
        *found = head.matrix == matrix && (signs || head.minus == 0) && head_fits(&head, csr, map.size);
        status = *found ? copy_arrays(&head, map.data + sizeof head, rows) : WEFT_OK;
        *found = *found && status == WEFT_OK && file_map_check(path, &map) == WEFT_OK && is_sound(&head, rows);
    }
    file_map_close(&map);
    if (!*found) {
        hal_shared_rows_free(rows);
        log_info("%s: damaged, or of another version: what rows share is found again", path);
    }
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */
static weft_status write_all(const char *path, const share_head *head, const hal_shared_rows *m)
{
    const void *const array[ARRAYS] = {m->level, m->plus_start, m->minus_start, m->plus, m->minus};
    file_writer writer;
    size_t bytes[ARRAYS];
    weft_status status = WEFT_OK;
    sizes_of(head, bytes);
    WEFT_TRY(file_writer_open(path, &writer));
    WEFT_TRY_GOTO(file_write(&writer, head, sizeof *head), status, done);
    for (int i = 0; i < ARRAYS; i++) {
        WEFT_TRY_GOTO(bytes[i] > 0 ? file_write(&writer, array[i], bytes[i]) : WEFT_OK, status, done);
    }
    status = file_writer_commit(&writer);
done:
    if (status != WEFT_OK) {
        file_writer_discard(&writer);
    }
    return status;
}

void share_file_write(const char *folder, const hal_csr *csr, bool signs, const hal_shared_rows *m)
{
    char path[FILE_PATH_MAX];
    size_t bytes[ARRAYS];
    const int64_t rows = m->sums + m->targets;
    share_head head = {.matrix = hash_matrix(csr, signs),
                       .targets = m->targets,
                       .sources = m->sources,
                       .sums = m->sums,
                       .levels = m->levels,
                       .plus = m->plus_start[rows],
                       .minus = m->minus_start[rows]};
    memcpy(head.magic, share_magic, sizeof head.magic);
    sizes_of(&head, bytes);
    head.check = hash_arrays(m, bytes);
    if (path_of(folder, head.matrix, path) != WEFT_OK || write_all(path, &head, m) != WEFT_OK) {
        log_info("what rows share is not kept for the next job: %s", weft_error_message());
        weft_error_clear();
    }
}
