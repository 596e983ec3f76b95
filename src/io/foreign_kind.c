/* io/foreign_kind.c: see io/foreign_kind.h. A new kind is a row. */
#include "io/foreign_kind.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define UNPACK    "unpack it first"
#define EDGES     "write its edges as text, one FROM TO a line (networkx: write_edgelist(g, PATH, data=False))"
#define TABLE     "write the table as CSV"
#define RUNS_CODE "which can run code when it is read"
#define PICKLE                                                                                                         \
    {                                                                                                                  \
        "a Python pickle, " RUNS_CODE, "save plain arrays with numpy.savez (Planetoid: scripts/convert_planetoid; "    \
                                       "CIFAR: take its binary version)"                                               \
    }
/* A line for a shell, whose file names are examples. */
#define TORCH                                                                                                          \
    "save a graph with weft.Graph (from Python) or numpy.savez; of a state dict of weights make safetensors: python "  \
    "-c "                                                                                                              \
    "\"import torch, safetensors.torch as s; s.save_file(torch.load('W.pt', weights_only=True), "                      \
    "'W.safetensors')\""
#define R_FILE                                                                                                         \
    {                                                                                                                  \
        "a file of R", TABLE " (write.csv), or a matrix with Matrix::writeMM"                                          \
    }
#define PNG "convert it to PNG"

typedef struct magic_row {
    foreign_kind kind;
    size_t at, bytes;
    const char *magic;
} magic_row;

/* A literal may hold zero bytes: its own length counts. */
#define MAGIC(at, magic) (at), sizeof(magic) - 1, (magic)

/* The first row that fits counts. Magic words that could begin a text go on with bytes that no text has. */
static const magic_row magics[] = {
    {{"a bzip2 archive", UNPACK " (bunzip2 -k)"}, MAGIC(4, "1AY&SY")},
    {{"a bzip2 archive", UNPACK " (bunzip2 -k)"}, MAGIC(4, "\x17rE8P\x90")},
    {{"a zstd archive", UNPACK " (unzstd)"}, MAGIC(0, "\x28\xb5\x2f\xfd")},
    {{"an lz4 archive", UNPACK " (lz4 -d)"}, MAGIC(0, "\x04\x22\x4d\x18")},
    {{"an lzip archive", UNPACK " (lzip -dk)"}, MAGIC(0, "LZIP\1")},
    {{"an lzop archive", UNPACK " (lzop -d)"}, MAGIC(0, "\x89LZO\0")},
    {{"an .lzma archive", UNPACK " (unlzma -k)"}, MAGIC(0, "\x5d\0\0")},
    {{"a .Z archive", UNPACK " (uncompress -k)"}, MAGIC(0, "\x1f\x9d")},
    {{"a 7z archive", UNPACK " (7z x)"}, MAGIC(0, "7z\xbc\xaf\x27\x1c")},
    {{"a rar archive", UNPACK " (unrar x)"}, MAGIC(0, "Rar!\x1a\x07")},
    {{"a tar archive", UNPACK " (tar -xf)"}, MAGIC(257, "ustar")},
    {{"an HDF5 file", "save its arrays with numpy.savez, or as text"}, MAGIC(0, "\x89HDF\r\n\x1a\n")},
    {{"a MATLAB file (7.3)", "save its arrays with numpy.savez, or as text"}, MAGIC(0, "MATLAB 7.3 MAT-file")},
    {{"a MATLAB file",
      "load it with scipy.io.loadmat, and save its arrays with numpy.savez, or a matrix with scipy.io.mmwrite"},
     MAGIC(0, "MATLAB 5.0 MAT-file")},
    {{"a NetCDF file", "save its arrays with numpy.savez"}, MAGIC(0, "CDF\1")},
    {{"a NetCDF file", "save its arrays with numpy.savez"}, MAGIC(0, "CDF\2")},
    {{"a Parquet file", TABLE " (pandas.read_parquet, to_csv)"}, MAGIC(0, "PAR1\x15")},
    {{"an Arrow file", TABLE " (pandas.read_feather, to_csv)"}, MAGIC(0, "ARROW1\0")},
    {{"a Feather file", TABLE " (pandas.read_feather, to_csv)"}, MAGIC(0, "FEA1\0")},
    {{"an Avro file", TABLE}, MAGIC(0, "Obj\1")},
    {{"an SQLite database", TABLE " (sqlite3 -csv)"}, MAGIC(0, "SQLite format 3\0")},
    {{"an old Excel file", TABLE}, MAGIC(0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")},
    {R_FILE, MAGIC(0, "X\n\0\0\0")},
    {R_FILE, MAGIC(0, "RDX2\n")},
    {R_FILE, MAGIC(0, "RDX3\n")},
    {R_FILE, MAGIC(0, "RDA2\n")},
    {R_FILE, MAGIC(0, "RDA3\n")},
    {{"a file of torch.save, " RUNS_CODE, TORCH}, MAGIC(0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20")},
    {PICKLE, MAGIC(0, "\x80\x02")},
    {PICKLE, MAGIC(0, "\x80\x03")},
    {PICKLE, MAGIC(0, "\x80\x04")},
    {PICKLE, MAGIC(0, "\x80\x05")},
    {{"a single NumPy array", "features, labels and splits may be one; edges come as text, or in an .npz archive"},
     MAGIC(0, "\x93NUMPY")},
    {{"a GIF image", PNG}, MAGIC(0, "GIF87a")},
    {{"a GIF image", PNG}, MAGIC(0, "GIF89a")},
    {{"a TIFF image", PNG}, MAGIC(0, "II*\0")},
    {{"a TIFF image", PNG}, MAGIC(0, "MM\0*")},
    {{"a WebP image", PNG}, MAGIC(8, "WEBPVP8")},
    {{"an AVIF image", PNG}, MAGIC(4, "ftypavif")},
    {{"a HEIC image", PNG}, MAGIC(4, "ftyphei")},
    {{"a JPEG 2000 image", PNG}, MAGIC(4, "jP  \r\n")},
    {{"a PDF document", TABLE}, MAGIC(0, "%PDF-")},
    {{"text in UTF-16", "write it in UTF-8 (iconv -f UTF-16 -t UTF-8)"}, MAGIC(0, "\xff\xfe")},
    {{"text in UTF-16", "write it in UTF-8 (iconv -f UTF-16 -t UTF-8)"}, MAGIC(0, "\xfe\xff")},
    {{"a pointer of Git LFS, not the file itself", "fetch the file (git lfs pull)"},
     MAGIC(0, "version https://git-lfs")},
};

/* Texts: words that they begin with, behind comments, in any letter case; blanks are one blank. */
static const struct {
    foreign_kind kind;
    const char *word;
} texts[] = {
    {{"a GraphML file", EDGES}, "<graphml"},
    {{"a GEXF file", EDGES}, "<gexf"},
    {{"an HTML page", "the download gave a page (of an error, or to log in) instead of the file: fetch it again"},
     "<!doctype html"},
    {{"an HTML page", "the download gave a page (of an error, or to log in) instead of the file: fetch it again"},
     "<html"},
    {{"an XML file", EDGES}, "<?xml"},
    {{"a JSON file", EDGES}, "{"},
    {{"a JSON file", EDGES}, "["},
    {{"a GML file", EDGES}, "graph ["},
    {{"a GML file", EDGES}, "graph["},
    {{"a GML file", EDGES}, "creator \""},
    {{"a Pajek file", EDGES}, "*vertices"},
    {{"a Pajek file", EDGES}, "*network"},
    {{"a Graphviz file", EDGES}, "digraph"},
    {{"a Graphviz file", EDGES}, "strict graph"},
    {{"a Graphviz file", EDGES}, "strict digraph"},
    {{"a Graphviz file", EDGES}, "graph {"},
    {{"a Graphviz file", EDGES}, "graph{"},
    {{"a UCINET file", EDGES}, "dl n"},
};

static const foreign_kind torch_archive = {"an archive of torch.save, " RUNS_CODE, TORCH};
static const foreign_kind spreadsheet = {"a spreadsheet", TABLE};
static const foreign_kind weights = {"a file of weights (safetensors)", "a model takes it, data are other files"};
const foreign_kind foreign_arrays = {"an .npz archive of NumPy arrays",
                                     "edges with all that belongs to them, features, labels and splits may be one"};
const foreign_kind foreign_zip = {"a zip archive", UNPACK " (unzip)"};

static bool holds(const uint8_t *head, size_t bytes, const char *word)
{
    return memmem(head, bytes, word, strlen(word)) != NULL;
}

/* The names of the first members, which stand in the head, tell who wrote a zip archive. One without a member is none
 * of these: whoever reads arrays says what is wrong with it. */
static const foreign_kind *zip_kind(const uint8_t *head, size_t bytes)
{
    enum { NAME_LENGTH_AT = 26, NAME_AT = 30 };
    if (bytes <= NAME_AT || memcmp(head, "PK\3\4", 4) != 0) {
        return NULL;
    }
    const size_t length = (size_t)head[NAME_LENGTH_AT] | (size_t)head[NAME_LENGTH_AT + 1] << 8;
    if (holds(head, bytes, "data.pkl")) {
        return &torch_archive;
    }
    if (holds(head, bytes, "[Content_Types].xml") || holds(head, bytes, "xl/w")) {
        return &spreadsheet;
    }
    const bool array = length >= 4 && NAME_AT + length <= bytes && memcmp(head + NAME_AT + length - 4, ".npy", 4) == 0;
    return array ? &foreign_arrays : &foreign_zip;
}

/* Eight bytes of a length, small for such a file, and the JSON text that is so long. */
static const foreign_kind *weights_kind(const uint8_t *head, size_t bytes)
{
    static const uint8_t zeros[4];
    return bytes > 10 && memcmp(head + 4, zeros, 4) == 0 && memcmp(head + 8, "{\"", 2) == 0 ? &weights : NULL;
}

/* [out] text: in small letters, every run of blanks and ends of lines a blank, from the first line that is no comment
 * on. */
static void normalise(const uint8_t *head, size_t bytes, char text[FOREIGN_HEAD + 1])
{
    size_t used = 0;
    size_t at = bytes >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (bool comment = false; at < bytes && (comment || isspace(head[at]) || head[at] == '#'); at++) {
        comment = head[at] == '#' || (comment && head[at] != '\n');
    }
    for (; at < bytes && used < FOREIGN_HEAD; at++) {
        const bool blank = isspace(head[at]) != 0;
        if (!blank || used == 0 || text[used - 1] != ' ') {
            text[used++] = (char)(blank ? ' ' : tolower(head[at]));
        }
    }
    text[used] = '\0';
}

static const foreign_kind *text_kind(const uint8_t *head, size_t bytes)
{
    char text[FOREIGN_HEAD + 1];
    normalise(head, bytes, text);
    const bool xml = strncmp(text, "<?xml", 5) == 0;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strncmp(text, texts[i].word, strlen(texts[i].word)) == 0 ||
            (xml && texts[i].word[0] == '<' && strstr(text, texts[i].word) != NULL)) {
            return &texts[i].kind;
        }
    }
    return NULL;
}

const foreign_kind *foreign_kind_of(const uint8_t *head, size_t bytes)
{
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        const magic_row *row = &magics[i];
        if (bytes >= row->at + row->bytes && memcmp(head + row->at, row->magic, row->bytes) == 0) {
            return &row->kind;
        }
    }
    const foreign_kind *kind = zip_kind(head, bytes);
    kind = kind != NULL ? kind : weights_kind(head, bytes);
    return kind != NULL ? kind : text_kind(head, bytes);
}

weft_status foreign_kind_check(const char *path, const uint8_t *head, size_t bytes)
{
    const foreign_kind *kind = foreign_kind_of(head, bytes);
    return kind == NULL ? WEFT_OK : weft_fail(WEFT_ERR_DATA, "%s: is %s: %s", path, kind->what, kind->cure);
}
