/* gnn/data/read/reader_formats.h: the rows of the format table, one file each (reader_NAME.c). */
#pragma once

#include "gnn/data/read/reader.h"

extern const reader_format reader_dgl_reddit;
extern const reader_format reader_gnn_benchmark;
extern const reader_format reader_graphsaint;
extern const reader_format reader_heterophilous;
extern const reader_format reader_ogb;
extern const reader_format reader_ogb_binary;
extern const reader_format reader_pyg;
extern const reader_format reader_scipy;
extern const reader_format reader_weft_npz;

extern const reader_format reader_edge_list;
extern const reader_format reader_matrix_market;
extern const reader_format reader_metis;
