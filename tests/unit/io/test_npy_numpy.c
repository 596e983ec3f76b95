/* .npy and .npz against NumPy itself: what it writes is read to the same bits, what we write it reads. Skipped without
 * it.
 */
#include <inttypes.h>
#include <sys/wait.h>

#include "io/npy.h"
#include "support/folder.h"

static int run_python(const char *folder, const char *action)
{
    char command[2 * FILE_PATH_MAX];
    snprintf(command, sizeof command, "python3 '%s/tests/support/numpy_arrays.py' '%s' %s", WEFT_SOURCE_DIR, folder,
             action);
    int code = system(command); /* NOLINT(cert-env33-c) */
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

typedef struct expected_array {
    char file[64], member[64], bytes_file[64], kind;
    int item_bytes, dims;
    int64_t shape[NPY_MAX_DIMS];
} expected_array;

/* One line of index.txt. */
static bool next_expected(FILE *index, expected_array *e)
{
    if (fscanf(index, "%63s %63s %63s %c %d %d", e->file, e->member, e->bytes_file, &e->kind, &e->item_bytes,
               &e->dims) != 6) {
        return false;
    }
    for (int d = 0; d < e->dims; d++) {
        assert_int_equal(fscanf(index, "%" SCNd64, &e->shape[d]), 1);
    }
    return true;
}

static void check_header(const expected_array *e, const npy_header *header)
{
    if (header->kind != e->kind || header->item_bytes != e->item_bytes || header->dims != e->dims) {
        fail_msg("%s[%s]: %c%d, %d dimensions", e->file, e->member, header->kind, header->item_bytes, header->dims);
    }
    for (int d = 0; d < e->dims; d++) {
        assert_int_equal(header->shape[d], e->shape[d]);
    }
}

static void test_numpy_arrays_are_read(void **state)
{
    FILE *index = fopen(in_folder(state, "index.txt"), "r");
    assert_non_null(index);
    static const char *const archives[] = {"stored.npz", "packed.npz", "stream.npz"};
    npz_file *npz[3];
    for (int i = 0; i < 3; i++) {
        ASSERT_OK(npz_open(in_folder(state, archives[i]), &npz[i]));
    }
    expected_array e;
    int count = 0;
    while (next_expected(index, &e)) {
        count++;
        if (strcmp(e.member, "-") == 0) {
            npy_map npy;
            ASSERT_OK(npy_map_open(in_folder(state, e.file), &npy));
            check_header(&e, &npy.header);
            npy_map_close(&npy);
            continue;
        }
        npz_file *from = e.file[0] == 'p' ? npz[1] : e.file[2] == 'o' ? npz[0] : npz[2];
        int i = npz_find(from, e.member);
        assert_true(i >= 0);
        npy_array array;
        ASSERT_OK(npz_read(from, i, &array));
        check_header(&e, &array.header);
        size_t bytes;
        uint8_t *expected = get_file(in_folder(state, e.bytes_file), &bytes);
        assert_int_equal(bytes, array.header.data_bytes);
        if (bytes > 0 && memcmp(expected, array.data, bytes) != 0) {
            fail_msg("%s[%s]: other values than NumPy's", e.file, e.member);
        }
        free(expected);
        npy_array_free(&array);
    }
    fclose(index);
    for (int i = 0; i < 3; i++) {
        npz_close(npz[i]);
    }
    assert_true(count > 1000);
}

static void test_objects_and_records_are_refused(void **state)
{
    npy_map npy;
    ASSERT_STATUS(npy_map_open(in_folder(state, "object.npy"), &npy), WEFT_ERR_DATA);
    ASSERT_MESSAGE("contains Python objects; convert with numpy.save of a plain array");
    ASSERT_STATUS(npy_map_open(in_folder(state, "record.npy"), &npy), WEFT_ERR_DATA);
    ASSERT_MESSAGE("structured");
    npz_file *npz;
    ASSERT_OK(npz_open(in_folder(state, "mixed.npz"), &npz));
    npy_array array;
    ASSERT_STATUS(npz_read(npz, npz_find(npz, "bad"), &array), WEFT_ERR_DATA);
    ASSERT_MESSAGE("mixed.npz[bad]");
    ASSERT_MESSAGE("contains Python objects");
    ASSERT_OK(npz_read(npz, npz_find(npz, "good"), &array));
    assert_int_equal(((int64_t *)array.data)[2], 2);
    npy_array_free(&array);
    npz_close(npz);
}

/* 0, 1, 2, ... in an element type. */
static void fill(char kind, int item_bytes, int count, uint8_t *out)
{
    for (int i = 0; i < count; i++) {
        static const uint16_t half[12] = {0,      0x3c00, 0x4000, 0x4200, 0x4400, 0x4500,
                                          0x4600, 0x4700, 0x4800, 0x4880, 0x4900, 0x4980};
        uint64_t bits = kind == 'b' ? i != 0 : (uint64_t)i;
        float single = (float)i;
        double real = i;
        if (kind == 'f') {
            const void *from = item_bytes == 2   ? (const void *)&half[i]
                               : item_bytes == 4 ? (const void *)&single
                                                 : (const void *)&real;
            memcpy(&bits, from, (size_t)item_bytes);
        }
        memcpy(out + i * item_bytes, &bits, (size_t)item_bytes);
    }
}

static void test_numpy_reads_what_is_written(void **state)
{
    static const struct {
        char kind;
        int item_bytes;
    } types[] = {{'f', 2}, {'f', 4}, {'f', 8}, {'i', 1}, {'i', 2}, {'i', 4},
                 {'i', 8}, {'u', 1}, {'u', 2}, {'u', 4}, {'u', 8}, {'b', 1}};
    static const int64_t shape[2] = {3, 4};
    static const int counts[3] = {1, 3, 12};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int dims = 0; dims < 3; dims++) {
            uint8_t data[12 * 8];
            char name[32];
            fill(types[t].kind, types[t].item_bytes, counts[dims], data);
            snprintf(name, sizeof name, "c_%c%d_%d.npy", types[t].kind, types[t].item_bytes, dims);
            ASSERT_OK(npy_write(in_folder(state, name), types[t].kind, types[t].item_bytes, dims, shape, data));
        }
    }
    static const int64_t matrix_shape[2] = {2, 3};
    static const int64_t empty_shape[2] = {0, 5};
    static const float matrix[6] = {0, 1, 2, 3, 4, 5};
    static const int64_t scalar = 42;
    npz_writer *npz;
    ASSERT_OK(npz_writer_open(in_folder(state, "c.npz"), &npz));
    ASSERT_OK(npz_writer_add(npz, "matrix", 'f', 4, 2, matrix_shape, matrix));
    ASSERT_OK(npz_writer_add(npz, "scalar", 'i', 8, 0, NULL, &scalar));
    ASSERT_OK(npz_writer_add(npz, "empty", 'f', 8, 2, empty_shape, NULL));
    ASSERT_OK(npz_writer_commit(npz));
    assert_int_equal(run_python(*state, "check"), 0);
}

int main(void)
{
    void *folder = NULL;
    if (folder_setup(&folder) != 0) {
        return 1;
    }
    int code = run_python(folder, "write");
    if (code != 0) {
        folder_teardown(&folder);
        printf("skipped: python3 with NumPy is not available (code %d)\n", code);
        return code == 77 || code == 127 ? 77 : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_numpy_arrays_are_read, folder),
        cmocka_unit_test_prestate(test_objects_and_records_are_refused, folder),
        cmocka_unit_test_prestate(test_numpy_reads_what_is_written, folder),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_teardown(&folder);
    return failed;
}
