/* gnn/pyg_names.h: tensors of networks that people write themselves, under the names of PyTorch Geometric's models
 * (gnn/pyg.h). */
#pragma once

#include "io/safetensors.h"

/* Bytes for the names of the first tensors of a file. */
enum { PYG_NAMES_BYTES = 256 };

/* The kinds of PyG's models that a file has the tensors of, as one bit each. */
enum { PYG_SAGE = 1, PYG_GCN = 2, PYG_GAT = 4, PYG_GATV2 = 8, PYG_MLP = 16, PYG_GIN = 32, PYG_SGC = 64 };
unsigned pyg_kinds(const safetensors_file *file);

/*
 * Renames tensors until their names are those of one of PyG's models, where that can be done without a doubt; else the
 * names stay as they are in the file, and pyg_kinds is not one bit.
 *
 *   module.convs.0.bias                     a part that all names begin with is left out: what DataParallel,
 *                                           torch.compile and Lightning put there (module., _orig_mod., model., one in
 *                                           the other), or a name of one's own
 *   conv1.bias, conv2.bias                  layers of one kind in the order of their numbers: convs.0.bias,
 *                                           convs.1.bias; also gcn1, layers.0 and other words
 *   bn1.weight, norm.0.weight               normalisations in the same way, beside such layers: norms.0.module.weight
 *   lin1.weight, lin2.weight                linear maps alone: lins.0.weight, lins.1.weight
 *   conv1.lin.weight, conv1.lin.bias        one SGConv: lin.weight, lin.bias
 *
 * A log line tells what was read as what. WEFT_ERR_RESOURCE.
 */
weft_status pyg_find_names(safetensors_file *file, const char *path);

/* The names of the first tensors in the file, and how many more there are; written into text, which is returned. */
const char *pyg_first_names(const safetensors_file *file, char text[PYG_NAMES_BYTES]);
