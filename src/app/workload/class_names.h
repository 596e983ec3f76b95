/*
 * app/workload/class_names.h: what the classes of a model are called, where its makers said so.
 *
 * run.json has them as an array of texts (WORKLOAD_CLASS_NAMES) of what describes the data; a .safetensors of weft
 * export as one metadata text each, "weft.class.0", "weft.class.1" and so on.
 */
#pragma once

#include "io/json.h"
#include "io/name_list.h"
#include "io/safetensors.h"

enum { CLASS_NAMES_MAX = 100000 };

/* data: the object of run.json, or NULL. origin: the file that is read, for messages. WEFT_ERR_DATA: names that are no
 * texts, or more than CLASS_NAMES_MAX. */
weft_status class_names_from_json(const char *origin, const json_value *data, name_list *names);
weft_status class_names_from_metadata(const char *origin, const safetensors_file *file, name_list *names);

/* The names as an array of a description of data. Nothing is written without names, or where they take more than
 * run.json should [CLASS_NAMES_JSON bytes]; a warning says so. */
enum { CLASS_NAMES_JSON = 700000 };
void class_names_to_json(json_writer *json, const char *const *names, int64_t count);

/* [out] texts: [names->count], which point into names and *keys. *keys: the caller's, for weft_free. */
weft_status class_names_to_metadata(const name_list *names, safetensors_text *texts, char **keys);
