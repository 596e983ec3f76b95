/*
 * train/input_moments.h: mean and deviation of each input column, which standardise the inputs of a model.
 *
 * They belong to the model, as its parameters do: a training measures them once, and whoever uses the model later takes
 * them from its files instead of measuring the data at hand. Numbers are doubles, so that a resumed training has the
 * same bits.
 *
 *     weights.npz             float64 arrays "feature.mean" and "feature.deviation", [columns], beside the parameters
 *     a checkpoint            the same two arrays in features.npz
 *     a .safetensors          metadata "weft.feature-mean" and "weft.feature-deviation": numbers with commas between
 *                             them
 *
 * A standardised value is (value - mean) / deviation; a column of deviation 0 was constant, and becomes 0.
 */
#pragma once

#include "comm/comm.h"
#include "io/npy.h"
#include "io/safetensors.h"

#define INPUT_MOMENTS_MEAN      "feature.mean"
#define INPUT_MOMENTS_DEVIATION "feature.deviation"
#define INPUT_MOMENTS_FILE      "features.npz" /* in a checkpoint */
#define INPUT_MOMENTS_KEY_MEAN  "weft.feature-mean"
#define INPUT_MOMENTS_KEY_DEV   "weft.feature-deviation"

enum { INPUT_MOMENTS_TEXTS = 2 };

/* All zero = none. */
typedef struct input_moments {
    int64_t columns;
    double *mean, *deviation; /* [columns], one allocation that `mean` begins */
} input_moments;

/* Zeros. columns: 1 or more. Free with input_moments_destroy. */
weft_status input_moments_create(int64_t columns, input_moments *moments);
void input_moments_destroy(input_moments *moments);
/* [out] copy: for input_moments_destroy. */
weft_status input_moments_copy(const input_moments *moments, input_moments *copy);
/* Rank 0's moments, or none, on every rank. Collective. */
weft_status input_moments_share(weft_comm *comm, input_moments *moments);

/* Returns true if an .npz array of this name holds moments, and is no parameter. */
bool input_moments_has_name(const char *name);
/* [out] moments: none where the file has neither array. WEFT_ERR_DATA: one of the two is missing, lengths differ, or a
 * number is not finite or a deviation negative. */
weft_status input_moments_read(const char *path, npz_file *npz, input_moments *moments);
weft_status input_moments_read_metadata(const char *path, const safetensors_file *file, input_moments *moments);
/* Adds both arrays; nothing where there are none. */
weft_status input_moments_add(const input_moments *moments, npz_writer *npz);
/* [out] texts: INPUT_MOMENTS_TEXTS entries, whose values point into *numbers (for weft_free); *count: how many are set:
 * 0 where there are no moments, or more columns than the header of a .safetensors has room for, which a warning names.
 * */
weft_status input_moments_to_metadata(const char *path, const input_moments *moments, safetensors_text *texts,
                                      int *count, char **numbers);
