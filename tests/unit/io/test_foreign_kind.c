/* What files are that no reader takes: first bytes as their formats' documents have them, and texts that are none of
 * them. */
#include <string.h>

#include "io/foreign_kind.h"
#include "io/npy.h"
#include "io/text/foreign_file.h"
#include "support/folder.h"

/* A string literal and its length, zero bytes and all, filled up to `bytes` with zeros. */
typedef struct sample {
    const char *what;
    const char *head;
    size_t length;
} sample;
#define HEAD(text) (text), sizeof(text) - 1

static const sample samples[] = {
    {"bzip2", HEAD("BZh91AY&SY\x12\x34")},
    {"bzip2", HEAD("BZh9\x17rE8P\x90\0\0\0\0")},
    {"zstd", HEAD("\x28\xb5\x2f\xfd\x24\x08")},
    {"lz4", HEAD("\x04\x22\x4d\x18\x64")},
    {"lzma", HEAD("\x5d\0\0\x80\0\xff\xff")},
    {".Z", HEAD("\x1f\x9d\x90")},
    {"7z", HEAD("7z\xbc\xaf\x27\x1c\0\4")},
    {"rar", HEAD("Rar!\x1a\x07\x01\0")},
    {"HDF5", HEAD("\x89HDF\r\n\x1a\n\0")},
    {"MATLAB", HEAD("MATLAB 5.0 MAT-file, Platform: GLNXA64")},
    {"Parquet", HEAD("PAR1\x15\x04\x15")},
    {"Arrow", HEAD("ARROW1\0\0")},
    {"SQLite", HEAD("SQLite format 3\0\x10")},
    {"R", HEAD("X\n\0\0\0\3\0\4\2\0")},
    {"R", HEAD("RDX3\nX\n\0\0\0\3")},
    {"torch.save", HEAD("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.")},
    {"torch.save", HEAD("PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0archive/data.pkl")},
    {"spreadsheet", HEAD("PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x13\0\0\0[Content_Types].xml")},
    {"zip", HEAD("PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0d\0\0\0train/a/1.png")},
    {".npz", HEAD("PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0x.npy")},
    {"pickle", HEAD("\x80\x04\x95\x10")},
    {"single NumPy array", HEAD("\x93NUMPY\1\0")},
    {"GIF", HEAD("GIF89a\1\0")},
    {"WebP", HEAD("RIFF\x24\0\0\0WEBPVP8 ")},
    {"UTF-16", HEAD("\xff\xfe"
                    "0\0,\0")},
    {"UTF-16", HEAD("\xfe\xff\0"
                    "0")},
    {"Git LFS", HEAD("version https://git-lfs.github.com/spec/v1\n")},
    {"safetensors", HEAD("\x40\0\0\0\0\0\0\0{\"w\":{}}")},
    {"GraphML", HEAD("<?xml version=\"1.0\"?>\n<GraphML xmlns=\"x\">")},
    {"GEXF", HEAD("\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- it -->\n<gexf>")},
    {"XML", HEAD("<?xml version=\"1.0\"?>\n<svg>")},
    {"HTML", HEAD("\n <!DOCTYPE HTML><html>")},
    {"JSON", HEAD("{\"nodes\": []}")},
    {"JSON", HEAD("[[0, 1]]")},
    {"GML", HEAD("# made by hand\nCreator \"it\"\ngraph\n[\n")},
    {"GML", HEAD("graph\n[\n  node\n")},
    {"Pajek", HEAD("*Vertices 3\n")},
    {"Graphviz", HEAD("digraph G {")},
};

static void test_kinds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; ++i) {
        uint8_t head[FOREIGN_HEAD] = {0};
        memcpy(head, samples[i].head, samples[i].length);
        const foreign_kind *kind = foreign_kind_of(head, samples[i].length);
        if (kind == NULL || strstr(kind->what, samples[i].what) == NULL) {
            fail_msg("%s is taken for %s", samples[i].what, kind != NULL ? kind->what : "nothing known");
        }
        ASSERT_STATUS(foreign_kind_check("it", head, samples[i].length), WEFT_ERR_DATA);
        ASSERT_MESSAGE("it: is ");
        ASSERT_MESSAGE(kind->cure);
    }
    uint8_t tar[512] = "edges.csv";
    memcpy(tar + 257, "ustar", 6);
    assert_non_null(strstr(foreign_kind_of(tar, sizeof tar)->what, "tar"));
}

/* Texts that are read, some of which begin like names of formats. */
static void test_texts_are_none(void **state)
{
    static const char *const texts[] = {
        "",
        "0 1\n",
        "# graph [\n0 1\n",
        "PAR1,PAR2\n1,2\n",
        "RDX2,x\n",
        "BZhang,1\n",
        "Rar,x\n",
        "%%MatrixMarket matrix coordinate pattern general\n",
        "source,target\n0,1\n",
        "graph,label\n",
        "LZIP,x\n",
        "X\n1\n2\n",
        "4 4\n2\n1 3\n",
        "\"a\",\"b\"\n",
        "ORC,GIF\n",
        "version,1\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        const foreign_kind *kind = foreign_kind_of((const uint8_t *)texts[i], strlen(texts[i]));
        if (kind != NULL) {
            fail_msg("\"%s\" is taken for %s", texts[i], kind->what);
        }
        assert_int_equal(foreign_kind_check("it", (const uint8_t *)texts[i], strlen(texts[i])), WEFT_OK);
    }
}

/* Every beginning of every sample, of none of which more is read than there is. */
static void test_short_heads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; ++i) {
        for (size_t bytes = 0; bytes < samples[i].length; ++bytes) {
            uint8_t *exact = malloc(bytes + 1);
            assert_non_null(exact);
            memcpy(exact + 1, samples[i].head, bytes);
            (void)foreign_kind_of(exact + 1, bytes);
            free(exact);
        }
    }
}

static void test_files(void **state)
{
    static const uint8_t empty_gzip[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    npz_file *npz;
    const char *path = in_folder(state, "it");
    put_file(path, "0 1\n", 4);
    ASSERT_OK(foreign_file_refuse(path));
    put_file(path, "", 0);
    ASSERT_STATUS(foreign_file_refuse(path), WEFT_ERR_DATA);
    ASSERT_MESSAGE("it: is empty");
    put_file(path, empty_gzip, sizeof empty_gzip);
    ASSERT_STATUS(foreign_file_refuse(path), WEFT_ERR_DATA);
    ASSERT_MESSAGE("it: is empty");
    put_file(path, empty_gzip, sizeof empty_gzip - 4);
    ASSERT_STATUS(foreign_file_refuse(path), WEFT_ERR_DATA);
    ASSERT_MESSAGE("it: the compressed data are cut off");
    put_file(path, "\x89HDF\r\n\x1a\n", 8);
    ASSERT_STATUS(foreign_file_refuse(path), WEFT_ERR_DATA);
    ASSERT_MESSAGE("it: is an HDF5 file: ");
    ASSERT_STATUS(npz_open(path, &npz), WEFT_ERR_DATA);
    ASSERT_MESSAGE("it: is an HDF5 file: ");
    ASSERT_STATUS(foreign_file_refuse(in_folder(state, "absent")), WEFT_ERR_NOINPUT);
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_texts_are_none),
        cmocka_unit_test(test_short_heads),
        cmocka_unit_test_setup_teardown(test_files, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
