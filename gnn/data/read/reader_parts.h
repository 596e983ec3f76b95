/*
 * gnn/data/read/reader_parts.h: what readers share, whatever files they read: edges collected, labels and splits made
 * uniform, features streamed. `name` is the file, or file[array], for messages; raw->vertices is known wherever rows
 * are counted.
 */
#pragma once

#include "gnn/data/build/csr_build.h"
#include "gnn/data/read/reader_npz.h"

enum {
    READER_TRAIN,
    READER_VALID,
    READER_TEST,
    READER_PARTS,
    READER_NONE = 255,
    READER_STEMS = 4,
    READER_PIECE = 1 << 16
};

extern const char *const reader_part_names[READER_PARTS]; /* "train", "valid", "test" */
/* Names of a part in files and arrays, the NULL-terminated list of each: "valid", "val", "validation". */
extern const char *const reader_part_stems[READER_PARTS][READER_STEMS];

/* ---- edges ---- */
/* 1 to 2^31 - 1 vertices, or an error. */
weft_status reader_check_vertices(const char *name, int64_t vertices);

/* raw->vertices and raw->arcs, edges u -> v, from a matrix that scipy.sparse.save_npz wrote (COO, CSR or CSC), entry
 * (u, v). */
weft_status reader_npz_scipy(const reader_npz *npz, raw_graph *raw);
/* raw->arcs from an array [2, e] of sources and destinations. */
weft_status reader_npz_edge_index(const reader_npz *npz, const char *name, raw_graph *raw);
/* A text of at most 15 characters in a scalar of bytes or characters; anything else is an error. */
weft_status reader_npz_text(const reader_npz *npz, const char *name, char text[16]);

/* ---- features ---- */
void reader_drop_features(raw_graph *raw);
/* raw->features and fill_features from an array [vertices, f] of an .npz / from a mapped .npy file. */
weft_status reader_stream_features(const char *path, const char *name, raw_graph *raw);
weft_status reader_map_features(const char *path, raw_graph *raw);
/* Sparse features become what a store holds: columns that ascend in each row, each once, and no zeros. `input` is for
 * messages. WEFT_ERR_DATA: entries of one place add up to more than float32 holds. */
weft_status reader_settle_sparse(const char *input, raw_graph *raw);
/* Rows row .. row + rows - 1 [rows, columns] must be finite. */
weft_status reader_check_finite(const char *name, int64_t row, int64_t rows, int64_t columns, const float *values);

/* ---- labels ---- */
/* raw->label and classes from values [vertices]; -1 = unlabelled. from_one: in files of no fixed convention labels
 * 1..C, each of which occurs, mean 0..C-1, and the log says so. raw->asked_classes keeps ids as they are. */
weft_status reader_take_labels(const char *name, const int64_t *values, bool from_one, raw_graph *raw);
/* raw->classes from raw->label, with a word about what looks unlike classes; may count labels from 0. minus: the input
 * wrote -1 itself. WEFT_ERR_DATA: -1 and 1 alone, no label, or one that raw->asked_classes does not allow. */
weft_status reader_judge_labels(const char *name, bool from_one, bool minus, raw_graph *raw);
/* values [vertices, columns], NaN = unlabelled: one column is classes; more are binary tasks, and *values is taken
 * over into raw->target (NULL afterwards). */
weft_status reader_take_real_labels(const char *name, int64_t columns, float **values, bool from_one, raw_graph *raw);
/* An array [vertices] or [vertices, 1] of classes, or [vertices, tasks]. */
weft_status reader_take_label_array(const char *name, const npy_array *array, raw_graph *raw);

/* ---- splits ---- */
/* `splits` vectors in which no vertex has a part. */
weft_status reader_new_splits(raw_graph *raw, int64_t splits);
/* Vertex v of split k gets a part; an error when it has one. */
weft_status reader_put_part(const char *name, raw_graph *raw, int64_t k, int64_t v, int part);
/* Lists FOLDER/{train,valid,test}.{csv.gz,csv,txt,npy}: returns true if one of them is there; reads all three. */
bool reader_has_split_lists(const char *folder);
weft_status reader_split_lists(const char *folder, raw_graph *raw);

/* ---- tables of text, whose columns are found by their names (gnn/data/tables) ---- */
/* raw->feature and features; raw->label and classes, or target and tasks, and class_names where classes are words;
 * raw->split. */
weft_status reader_text_features(const char *path, raw_graph *raw);
weft_status reader_text_labels(const char *path, bool from_one, raw_graph *raw);
weft_status reader_text_split(const char *path, raw_graph *raw);
/* Vertices, one a line, by number (not checked) or name. [out] index: [*count], weft_free */
weft_status reader_text_list(const char *path, const raw_graph *raw, int64_t *count, int64_t **index);
/* Tables with a row for each edge, all columns are read. [out] values: [edges, *columns]; pair: [edges, 2], the
 * numbers in two columns; weft_free, NULL on failure */
weft_status reader_text_edge_floats(const char *path, int64_t edges, int64_t *columns, float **values);
weft_status reader_text_edge_ends(const char *path, int64_t edges, int64_t **pair);

/* FOLDER/STEM with one of the endings .csv.gz, .csv, .txt, .npy: the first that exists, or false. */
bool reader_find_table(const char *folder, const char *stem, char path[FILE_PATH_MAX]);

/* ---- files of their own (.npy, .npz, .csv, .csv.gz, folders) ---- */
/* What the options name, in place of what the input had; row counts are checked against raw->vertices. */
weft_status reader_attach(const convert_options *options, raw_graph *raw);

weft_status reader_split_codes(const char *path, raw_graph *raw);
/* WEFT_ERR_USAGE unless "A/B/C" are shares, and a warning where their sum is neither 100 nor 1: before a large graph is
 * read. */
weft_status reader_split_check_shares(const char *text);
/* [out] share: [READER_PARTS] of "60/20/20", which add up to 1; total: their sum as written. flag: for messages. */
weft_status reader_shares_read(const char *flag, const char *text, double *share, double *total);
weft_status reader_split_draw(const char *shares, uint64_t seed, raw_graph *raw);

/* ---- text ---- */
/* Open `path`, give raw->arcs, let `parse` fill it, log the rate. parse sets raw->vertices. */
weft_status reader_text_read(const char *path, size_t line_max,
                             weft_status (*parse)(const char *path, text_source *source, raw_graph *raw),
                             raw_graph *raw);

/* raw->split from FOLDER/split/NAME/{train,valid,test}.csv.gz; no such folder: none. Of several, raw->split_name
 * chooses, else WEFT_ERR_DATA. raw->both_ways from NAME. With raw->split_elsewhere no list is read. */
weft_status reader_ogb_split(const char *folder, raw_graph *raw);

/* ---- the store ---- */
/* Keeps split `index` alone; -1: all. WEFT_ERR_USAGE: there is no such. */
weft_status reader_keep_split(const char *input, int index, raw_graph *raw);
/* Features of `raw`, in whichever form they stand, become those of the arrays, which point to them. */
void reader_place_features(raw_graph *raw, graph_arrays *a);
/* Returns true if the rows of --features are a function of the graph, not of a file. */
bool reader_makes_features(const convert_options *options);
/* Features that are made of the graph `a`. [out] made: for features_free, behind the last use of `a` */
struct features_made;
weft_status reader_make_features(const convert_options *options, graph_arrays *a, struct features_made **made);
/* Says what was written; `loops`: self-loops of the input. */
void reader_log_graph(const char *store, int64_t loops, const graph_arrays *a);
/* raw's edges are given up. WEFT_ERR_DATA names a vertex whose edges lack their reverse where raw->stores_both says
 * that all are there and none are added. */
weft_status reader_csr_make(const char *input, raw_graph *raw, bool add_reverse, bool keep_self_loops, csr_graph *graph,
                            bool *symmetric);
